package scrape

import (
	"cmp"
	"slices"
	"time"
)

// A scraper reads each search of a site in two lanes. All of them share its requests: one at a time, their delay apart.
// The fast lane looks at the newest search pages every few minutes. The slow lane goes through all of them, and learns
// what has changed and what is gone. Requests that both leave over go to adverts that were not visited for long.

// A Step is what a scraper uses its next request for.
type Step string

// The steps, the most urgent first.
const (
	LookStep    Step = "look"    // at the newest search pages, the first one to begin with
	VisitStep   Step = "visit"   // the next of the visits that wait
	VerifyStep  Step = "verify"  // an advert that the search no longer shows: its own page says whether it is gone
	RevisitStep Step = "revisit" // the advert that was not visited for longest
	PageStep    Step = "page"    // the next search page of the cycle, or its end
)

// A Moment is everything that decides a scraper's next step, in the middle of a cycle.
type Moment struct {
	Now     time.Time
	LookAt  time.Time // when the next look is due; zero = never
	Waiting int       // visits that wait: new, changed or returned adverts
	Missing bool      // an advert waits to be verified; only after the last search page
	Oldest  time.Time // when the advert that was not visited for longest was visited; zero = there is none
	Again   int       // re-visits since the search page
	Until   time.Time // re-visits are within the budget until then: Course.Until
}

// Next returns the next step. A look comes first: it is one request or few, and finds what is worth most. A search page
// is followed by one re-visit at least, or a site whose search alone takes the whole budget would never have any.
func (m Moment) Next() Step {
	switch {
	case !m.LookAt.IsZero() && !m.Now.Before(m.LookAt):
		return LookStep
	case m.Waiting > 0:
		return VisitStep
	case m.Missing:
		return VerifyStep
	case !m.Oldest.IsZero() && m.Now.Sub(m.Oldest) >= StaleAfter && (m.Again < 1 || m.Now.Before(m.Until)):
		return RevisitStep
	}
	return PageStep
}

// Chores are what a scraper may do besides its search pages, in the middle of a cycle.
type Chores struct {
	LookAt   time.Time // when the next look is due, of any search; zero = never
	Look     Lane      // the search that it is at
	OtherAt  time.Time // when another search needs its next page; zero = no cycle of another is open
	Missing  *Visit    // an advert that this cycle and the one before did not see, and that was not visited in this one
	Oldest   *Visit    // the advert that was not visited for longest; nil = none for StaleAfter
	OldestAt time.Time
	Started  time.Time // the cycle
	Target   time.Duration
	Pages    int // search pages that had adverts before
	Total    int // adverts of the search, as the site states; -1 = it does not
	MaxPages int
}

// Moment returns the moment on page, the search page that was read last, with so many visits that wait and re-visits
// since the page. onPage is how many adverts it showed; last says that it is the last one, when what is missing is
// known. Re-visits end when any search needs its next page.
func (c Chores) Moment(now time.Time, page, onPage int, last bool, waiting, again int) Moment {
	pages := page
	if !last {
		pages = ExpectedPages(c.Pages, c.Total, onPage, c.MaxPages)
	}
	course := Course{Started: c.Started, Page: page, Pages: pages, Target: c.Target}
	m := Moment{Now: now, LookAt: c.LookAt, Waiting: waiting, Missing: last && c.Missing != nil, Again: again,
		Until: course.Until()}
	if !c.OtherAt.IsZero() && c.OtherAt.Before(m.Until) {
		m.Until = c.OtherAt
	}
	if c.Oldest != nil {
		m.Oldest = c.OldestAt
	}
	return m
}

// A Course is how far a cycle has come, against the time that it should take.
type Course struct {
	Started time.Time
	Page    int           // the search page that was read last
	Pages   int           // search pages that there are, as far as is known
	Target  time.Duration // of the whole cycle
}

// Until is when the next search page is to be read for the cycle to end in time: what is left until then is the budget
// of re-visits. It lies in the past for a cycle that is late, as one with many new adverts is.
func (c Course) Until() time.Time {
	page := max(c.Page, 1)
	return c.Started.Add(time.Duration(float64(c.Target) * float64(page) / float64(max(c.Pages, page))))
}

// ExpectedPages is how many search pages a cycle has: as many as had adverts in the cycle before, or as the total that
// the site states takes (-1 = it states none) with so many adverts on a page, at most max.
func ExpectedPages(before, total, onPage, most int) int {
	pages := before
	if total > 0 && onPage > 0 {
		pages = max(pages, (total+onPage-1)/onPage)
	}
	return min(pages, most)
}

// maxLookPages is how many search pages a look reads at most. What is new behind them is found by the slow lane.
const maxLookPages = 10

// LookOn says whether a look goes on after page n, which showed so many adverts that were not known. It goes no further
// than to the last page that had adverts before: in the first cycle all behind that is new.
func LookOn(n, unknown int, last bool, before int) bool {
	return unknown > 0 && !last && n < min(maxLookPages, before)
}

// ranks are the reasons for a visit in the order of the visits.
var ranks = map[string]int{New: 1, Returned: 2, Changed: 3, Missing: 4, Stale: 5}

// SortVisits orders visits by their reason: new, returned, changed, missing, stale. Visits of one reason stay in their
// order.
func SortVisits(visits []Visit) {
	slices.SortStableFunc(visits, func(a, b Visit) int { return cmp.Compare(ranks[a.Why], ranks[b.Why]) })
}

// Merge adds visits that a look found to those that wait, each advert once, in the order of SortVisits.
func Merge(found, waiting []Visit) []Visit {
	all := slices.Clone(found)
	for _, v := range waiting {
		if !slices.ContainsFunc(found, func(f Visit) bool { return f.PlatformID == v.PlatformID }) {
			all = append(all, v)
		}
	}
	SortVisits(all)
	return all
}

// A Memory is what a scraper remembers of an advert that a search page shows.
type Memory struct {
	VisitedAt   time.Time // zero = never
	Fingerprint string    // of its card at that visit
	Gone        bool
	RetryAt     time.Time // no visit before
}

// Reason returns why an advert must be visited whose card is now c, and "" when it need not be. An advert that did not
// change is no reason, except where the search states all of it, for its visit then costs no request.
func (m Memory) Reason(c Card, now time.Time) string {
	switch {
	case now.Before(m.RetryAt):
		return ""
	case m.Gone:
		return Returned
	case m.VisitedAt.IsZero():
		return New
	case m.Fingerprint != c.Fingerprint:
		return Changed
	case c.Advert != nil && now.Sub(m.VisitedAt) >= StaleAfter:
		return Stale
	}
	return ""
}

// A Load is what a scraper has to do, by which Forecast tells how fresh it keeps what it knows.
type Load struct {
	Pace
	Adverts int // that are not gone
	Pages   int // search pages of a cycle
	Fresh   int // visits of a cycle to adverts that are new, changed, back or missing
}

// An Outlook is how a scraper divides its requests, and what follows from that. Numbers are of requests a day.
type Outlook struct {
	Cycle    time.Duration // that a cycle takes
	Age      time.Duration // of the oldest visit to an advert that does not change
	Requests int           // all of them
	Looks    int           // of the fast lane
	Search   int           // search pages of the slow lane
	Fresh    int           // visits to adverts that are new, changed, back or missing
	Revisits int           // visits to others
}

// leastGap is taken for the time of a request where the delay is shorter: pages take time to load.
const leastGap = 200 * time.Millisecond

// Forecast returns the outlook of a load, by the rules of Moment and Course.
func Forecast(l Load) (o Outlook) {
	gap := max(l.Delay, leastGap).Seconds()
	pages := float64(min(max(l.Pages, 1), max(l.MaxPages, 1)))
	left := 1.0 // share of the requests that the fast lane leaves
	if l.Look > 0 {
		left = max(0.1, 1-gap/l.Look.Seconds())
	}
	base := (pages + float64(l.Fresh)) * gap / left
	spare := max(pages, (l.Cycle.Seconds()-base)*left/gap)
	// No advert is visited twice within StaleAfter: where there are few, cycles are shorter than their target.
	rest := l.Cooldown.Seconds() + base
	few := float64(l.Adverts) * rest / max(StaleAfter.Seconds()-float64(l.Adverts)*gap/left, 1)
	if few < 0 || float64(l.Adverts)*gap/left >= StaleAfter.Seconds() {
		few = spare
	}
	again := min(spare, few)
	cycle := base + again*gap/left
	day := 24 * time.Hour.Seconds() / (cycle + l.Cooldown.Seconds()) // cycles
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	o.Cycle, o.Age = seconds(cycle), StaleAfter
	if again > 0 {
		o.Age = max(StaleAfter, seconds(float64(l.Adverts)/again*(cycle+l.Cooldown.Seconds())))
	}
	if l.Look > 0 {
		o.Looks = int(24 * time.Hour / l.Look)
	}
	o.Search, o.Fresh, o.Revisits = int(pages*day), int(float64(l.Fresh)*day), int(again*day)
	o.Requests = o.Looks + o.Search + o.Fresh + o.Revisits
	return o
}
