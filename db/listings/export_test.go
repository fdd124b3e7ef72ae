package listings

import "time"

// WakeRelays sets how often a store wakes relays at most, and for how long it tries to.
func (s *Listings) WakeRelays(every, within time.Duration) {
	s.added.Limit(every, within)
}

// FailOver has a matcher find another server than the one that it has read from.
func (m *SavedMatcher) FailOver() { m.server = m.server.Add(-time.Hour) }

// Bound has a matcher write a few candidates in a transaction and by a statement, and wait so long for locks.
func (m *SavedMatcher) Bound(candidates, told int, wait time.Duration) {
	m.candidates, m.told, m.wait = candidates, told, wait
}

// Written is written.
var Written = written
