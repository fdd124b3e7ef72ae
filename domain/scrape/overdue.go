package scrape

import "time"

// A Progress is how far the scraper of a platform has come.
type Progress struct {
	State    string // one of the states above
	Delay    time.Duration
	Cooldown time.Duration
	LastPage time.Time   // when a page was read last; zero before the first one
	Started  []time.Time // when the cycles that are known began, in any order
}

// With counts searches that are not paused: the slowest of all delays, and the shortest of their rests, after which a
// page is read.
func (p Progress) With(searches []Pace) Progress {
	for i, s := range searches {
		p.Delay = max(p.Delay, s.Delay)
		if i == 0 || s.Cooldown < p.Cooldown {
			p.Cooldown = s.Cooldown
		}
	}
	return p
}

// Overdue is how long no page was read, beyond the scraper's own pauses: 0 or more. Before the first page it counts
// from the start of the earliest cycle. It is 0 for a scraper that is disabled or paused, or has not begun.
func (p Progress) Overdue(now time.Time) time.Duration {
	if p.State == Disabled || p.State == Paused {
		return 0
	}
	since := p.LastPage
	if since.IsZero() {
		for _, at := range p.Started {
			if since.IsZero() || at.Before(since) {
				since = at
			}
		}
	}
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since)-p.Delay-p.Cooldown)
}
