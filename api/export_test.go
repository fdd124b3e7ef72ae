package api

import (
	"context"
	"time"
)

// Wake has the workflow of a tenant look for messages, as a request does that has stored one.
func (w *Wakes) Wake(ctx context.Context, tenant string) { w.wake(ctx, tenant) }

// Hold sets for how long an event waits for room, and its body is waited for.
func (h *Webhooks) Hold(wait, within time.Duration) { h.wait, h.within = wait, within }
