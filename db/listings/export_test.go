package listings

import "time"

// WakeRelays sets how often a store wakes relays at most, and for how long it tries to.
func (s *Listings) WakeRelays(every, within time.Duration) {
	s.added.Limit(every, within)
}
