package db

import (
	"time"

	"golang.org/x/time/rate"
)

// WakeRelays sets how often a store wakes relays at most, and for how long it tries to.
func (s *Listings) WakeRelays(every, within time.Duration) {
	s.added.limit, s.added.within = rate.NewLimiter(rate.Every(every), 1), within
}

// KnownFrom makes what is known of a run's URLs come from a server that was started at a time.
func (s *Crawls) KnownFrom(run int64, started time.Time) { s.known.of(run).from.server = &started }

// GiveWayAfter sets for how long a migration waits for the lock of a table.
func GiveWayAfter(d time.Duration) MigrateOption { return func(m *migrator) { m.wait = d } }
