package crawl

import "time"

// KnownFrom makes what is known of a run's URLs come from a server that was started at a time.
func (s *Crawls) KnownFrom(run int64, started time.Time) { s.known.of(run).from.server = &started }
