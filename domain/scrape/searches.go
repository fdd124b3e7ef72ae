package scrape

import "time"

// DefaultSearch is the search of a platform that its settings name. It is there as long as the platform is.
const DefaultSearch = "default"

// MaxSearches is how many searches a platform has at most.
const MaxSearches = 20

// A Search names one of a platform's searches. All of them share the requests to the site, and what is remembered of
// its adverts.
type Search struct{ Platform, Name string }

// A Lane is a search of a platform, as far as it decides what the scraper does next.
type Lane struct {
	Search  string
	Paused  bool      // by an operator
	RetryAt time.Time // its proxy failed: no request before; zero = it did not
	LookAt  time.Time // when the next look is due; zero = never
	CycleAt time.Time // when the next cycle is due; zero = now
	Cycle   int64     // the one under way, or else the last one; 0 = there was none
	Open    bool      // the cycle is under way
	Course            // of that cycle
}

// rests says that the search gets no request now.
func (l Lane) rests(now time.Time) bool { return l.Paused || now.Before(l.RetryAt) }

// planned is the search as a Plan names it.
func (l Lane) planned() string {
	if l.Search == DefaultSearch {
		return ""
	}
	return l.Search
}

// Due says whether a cycle of the search is to begin.
func (l Lane) Due(now time.Time) bool { return !l.Open && !l.rests(now) && !now.Before(l.CycleAt) }

// pageAt is when the next search page of the cycle is to be read. The first one is late at once.
func (l Lane) pageAt() time.Time {
	if l.Page == 0 {
		return l.Started
	}
	return l.Until()
}

// before says that l is to read its next page before o: it needs it sooner, or has waited longer, or has read fewer.
func (l Lane) before(o Lane) bool {
	at, other := l.pageAt(), o.pageAt()
	return at.Before(other) || at.Equal(other) && l.Page < o.Page
}

// NextPage returns the search whose cycle is to go on: the one that needs its next page the soonest. It is false when
// there is none but except, which is left out.
func NextPage(lanes []Lane, except string, now time.Time) (next Lane, ok bool) {
	for _, l := range lanes {
		if l.Open && l.Search != except && !l.rests(now) && (!ok || l.before(next)) {
			next, ok = l, true
		}
	}
	return next, ok
}

// OtherPage is when a search other than this one needs its next page, to go on or to begin a cycle; zero = none does.
func OtherPage(lanes []Lane, search string, now time.Time) (at time.Time) {
	if l, ok := NextPage(lanes, search, now); ok {
		at = l.pageAt()
	}
	for _, l := range lanes {
		if l.Search == search || l.Open || l.Paused {
			continue
		}
		due := l.CycleAt
		if l.RetryAt.After(due) {
			due = l.RetryAt
		}
		if due.IsZero() {
			due = now
		}
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at
}

// NextLook returns the search at whose newest pages the next look is, and when it is due; zero = never.
func NextLook(lanes []Lane) (next Lane, at time.Time) {
	for _, l := range lanes {
		if l.Paused || l.LookAt.IsZero() {
			continue
		}
		due := l.LookAt
		if l.RetryAt.After(due) {
			due = l.RetryAt
		}
		if at.IsZero() || due.Before(at) {
			next, at = l, due
		}
	}
	return next, at
}

// Decide returns the next step of a scraper that nobody has stopped, after all cycles that are due have begun. The site
// gets no request before blocked, but an open cycle goes on: its page waits for that.
func Decide(lanes []Lane, blocked, now time.Time) Plan {
	if l, ok := NextPage(lanes, "", now); ok {
		return Plan{Go: true, Search: l.planned(), Cycle: l.Cycle, Page: max(l.Page, 1)}
	}
	look, at := NextLook(lanes)
	if !at.IsZero() && blocked.After(at) {
		at = blocked
	}
	if !at.IsZero() && !at.After(now) {
		return Plan{Look: true, Search: look.planned(), Cycle: look.Cycle}
	}
	for _, l := range lanes {
		if l.Paused {
			continue
		}
		due := l.RetryAt
		if !l.Open && l.CycleAt.After(due) {
			due = l.CycleAt
		}
		if blocked.After(due) {
			due = blocked
		}
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	if at.IsZero() {
		return Plan{} // all are paused
	}
	return Plan{Wait: max(at.Sub(now), time.Second)}
}
