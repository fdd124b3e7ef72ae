package outreach

import "time"

// Hold sets for how long an event waits for room, and its body is waited for.
func (h *Webhooks) Hold(wait, within time.Duration) { h.wait, h.within = wait, within }
