// Package freshness simulates how soon a scraper notices what happens on a site, on a clock of its own: a year takes
// seconds. What a scraper does next is decided by package scrape, as in production; the site and the requests are
// made up.
package freshness

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Churn is what happens on a site.
type Churn struct {
	Adverts int     // at any time, about
	OnPage  int     // adverts on a search page
	New     int     // adverts a day; as many are removed
	Changed float64 // share of the adverts that are edited a day
	Bumped  float64 // share of the adverts that move to the top of the search a day
}

// advert is one on the site.
type advert struct {
	born    time.Time
	removed bool
	version int // of its card
}

// site shows adverts, the newest first, and changes while it is read.
type site struct {
	Churn
	dice    *rand.Rand
	now     time.Time
	adverts []advert // by ID
	list    []int    // IDs of those that are shown, the newest last
	next    [4]time.Time
}

func newSite(c Churn, dice *rand.Rand, now time.Time) *site {
	s := &site{Churn: c, dice: dice, now: now}
	for range c.Adverts {
		s.publish()
	}
	for i := range s.next {
		s.next[i] = now.Add(s.wait(i))
	}
	return s
}

func (s *site) publish() {
	s.list = append(s.list, len(s.adverts))
	s.adverts = append(s.adverts, advert{born: s.now})
}

// wait is the time until the next of one kind: new, removed, changed, bumped.
func (s *site) wait(kind int) time.Duration {
	all := float64(s.Adverts)
	daily := [4]float64{float64(s.New), float64(s.New), s.Changed * all, s.Bumped * all}[kind]
	if daily <= 0 {
		return 100 * 365 * 24 * time.Hour
	}
	return time.Duration(s.dice.ExpFloat64() / daily * float64(24*time.Hour))
}

// until lets happen what happens until then.
func (s *site) until(then time.Time) {
	for {
		kind := 0
		for i := range s.next {
			if s.next[i].Before(s.next[kind]) {
				kind = i
			}
		}
		if s.next[kind].After(then) {
			s.now = then
			return
		}
		s.now = s.next[kind]
		s.next[kind] = s.now.Add(s.wait(kind))
		s.happen(kind)
	}
}

func (s *site) happen(kind int) {
	if kind == 0 {
		s.publish()
		return
	}
	if len(s.list) == 0 {
		return
	}
	at := s.dice.IntN(len(s.list))
	id := s.list[at]
	switch kind {
	case 1:
		s.adverts[id].removed = true
		s.list = slices.Delete(s.list, at, at+1)
	case 2:
		s.adverts[id].version++
	case 3:
		s.list = append(slices.Delete(s.list, at, at+1), id)
	}
}

// page returns the IDs on the n-th search page, 1 being the first, and whether it is the last one.
func (s *site) page(n int) (ids []int, last bool) {
	from, to := min((n-1)*s.OnPage, len(s.list)), min(n*s.OnPage, len(s.list))
	for i := from; i < to; i++ {
		ids = append(ids, s.list[len(s.list)-1-i])
	}
	return ids, to == len(s.list)
}

// NineThousand is a large site of rentals: adverts stay for a month, and one in fifty is edited, and bumped, each day.
var NineThousand = Churn{Adverts: 9_000, OnPage: 40, New: 300, Changed: 0.02, Bumped: 0.02}
