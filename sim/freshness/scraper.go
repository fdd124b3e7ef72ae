package freshness

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/mtlrent/conveyor/domain/scrape"
)

// A Result is how fresh a scraper was. Latencies are from the publication of an advert to its first visit, without the
// adverts of the first two days, in which the scraper got to know the site.
type Result struct {
	Days     int           `json:"days"`
	Requests int           `json:"requests"`
	Looks    int           `json:"look_requests"`
	Search   int           `json:"search_requests"`
	Visits   int           `json:"visits"`
	New      int           `json:"new_adverts"` // noticed
	P50      time.Duration `json:"latency_p50"`
	P95      time.Duration `json:"latency_p95"`
	Most     time.Duration `json:"latency_max"`
	Oldest   time.Duration `json:"oldest_visit"` // the age of the oldest visit, at the end
	Cycle    time.Duration `json:"cycle"`        // the last one
	Cycles   int           `json:"cycles"`
	Gone     int           `json:"gone"`             // adverts found to be gone
	Verified int           `json:"verified"`         // visits to adverts that the search did not show
	Wrong    int           `json:"wrongly_archived"` // adverts found to be gone that were not
}

// record is what the scraper remembers of an advert.
type record struct {
	scrape.Memory
	known  bool
	seen   int // cycle
	missed int
}

// scraper reads a site by the rules of package scrape. What the database keeps in production is kept here.
type scraper struct {
	Result
	pace    scrape.Pace
	site    *site
	now     time.Time
	learned time.Time // latencies count from then
	adverts []record  // by ID
	visited []visit   // the oldest first; those that were visited again since are passed over
	latency []time.Duration
	lookAt  time.Time
	cycle   int
	started time.Time
	pages   int // that had adverts before
	ids     map[int]bool
}

type visit struct {
	id int
	at time.Time
}

// Simulate scrapes a site for so many days. The same seed gives the same result.
func Simulate(c Churn, p scrape.Pace, days int, seed uint64) Result {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &scraper{
		pace: p, now: start, site: newSite(c, rand.New(rand.NewPCG(seed, 1)), start), learned: start.Add(48 * time.Hour),
		ids: map[int]bool{},
	}
	r.Days = days
	for end := start.AddDate(0, 0, days); r.now.Before(end); {
		r.scrape()
		r.cool()
	}
	if v, ok := r.oldest(); ok {
		r.Oldest = r.now.Sub(v.at)
	}
	slices.Sort(r.latency)
	if n := len(r.latency); n > 0 {
		r.P50, r.P95, r.Most = r.latency[n/2], r.latency[n*95/100], r.latency[n-1]
	}
	return r.Result
}

// request takes a turn of the site.
func (r *scraper) request() {
	r.Requests++
	r.now = r.now.Add(r.pace.Delay)
	r.site.until(r.now)
}

// scrape goes through one cycle.
func (r *scraper) scrape() {
	r.cycle++
	r.Cycles++
	r.started = r.now
	last := false
	page := 0
	for !last && page < r.pace.MaxPages {
		page++
		r.request()
		r.Search++
		if page == 1 {
			r.lookAt = r.now.Add(r.pace.Look)
		}
		var ids []int
		ids, last = r.site.page(page)
		rest, _ := r.show(ids)
		r.pages = max(r.pages, page)
		r.work(page, len(ids), last, rest)
	}
	if last {
		r.pages = page
		r.judge()
	}
	r.Cycle = r.now.Sub(r.started)
}

// work does what is due until the next search page.
func (r *scraper) work(page, onPage int, last bool, rest []scrape.Visit) {
	var missing []int
	for again := 0; ; {
		todo := scrape.Chores{Started: r.started, Target: r.pace.Cycle, Pages: r.pages, Total: len(r.site.list),
			MaxPages: r.pace.MaxPages}
		if r.pace.Look > 0 {
			todo.LookAt = r.lookAt
		}
		old, ok := r.oldest()
		if ok {
			todo.Oldest, todo.OldestAt = &scrape.Visit{}, old.at
		}
		if last && len(rest) == 0 {
			if missing == nil {
				missing = r.missing()
			}
			if len(missing) > 0 {
				todo.Missing = &scrape.Visit{}
			}
		}
		switch todo.Moment(r.now, page, onPage, last, len(rest), again).Next() {
		case scrape.LookStep:
			rest = r.look(rest)
		case scrape.VisitStep:
			r.visit(number(rest[0]))
			rest = rest[1:]
		case scrape.VerifyStep:
			r.Verified++
			r.visit(missing[0])
			missing = missing[1:]
		case scrape.RevisitStep:
			again++
			r.visit(old.id)
		default:
			return
		}
	}
}

// look reads the newest search pages.
func (r *scraper) look(rest []scrape.Visit) []scrape.Visit {
	r.lookAt = r.now.Add(r.pace.Look)
	for n := 1; ; n++ {
		r.request()
		r.Looks++
		ids, last := r.site.page(n)
		found, unknown := r.show(ids)
		rest = scrape.Merge(found, rest)
		if !scrape.LookOn(n, unknown, last, min(r.pages, r.pace.MaxPages)) {
			return rest
		}
	}
}

// cool waits for the next cycle, with the looks that are due meanwhile.
func (r *scraper) cool() {
	due := r.now.Add(r.pace.Cooldown)
	for r.now.Before(due) {
		if r.pace.Look <= 0 || r.lookAt.After(due) {
			r.now = due
			r.site.until(r.now)
			return
		}
		if r.lookAt.After(r.now) {
			r.now = r.lookAt
			r.site.until(r.now)
		}
		for _, v := range r.look(nil) {
			r.visit(number(v))
		}
	}
}

// show remembers what a search page shows and returns the visits that are due.
func (r *scraper) show(ids []int) (visits []scrape.Visit, unknown int) {
	for _, id := range ids {
		for id >= len(r.adverts) {
			r.adverts = append(r.adverts, record{})
		}
		a := &r.adverts[id]
		if !a.known || a.Gone {
			unknown++
		}
		a.known, a.seen, a.missed = true, r.cycle, 0
		c := scrape.Card{PlatformID: strconv.Itoa(id), Fingerprint: r.print(id)}
		if why := a.Reason(c, r.now); why != "" {
			visits = append(visits, scrape.Visit{Card: c, Why: why})
		}
		if !a.Gone {
			r.ids[id] = true
		}
	}
	scrape.SortVisits(visits)
	return visits, unknown
}

func (r *scraper) print(id int) string { return strconv.Itoa(r.site.adverts[id].version) }

func number(v scrape.Visit) int {
	n, _ := strconv.Atoi(v.PlatformID) // as show has written it
	return n
}

// visit loads an advert's page.
func (r *scraper) visit(id int) {
	r.request()
	r.Visits++
	a, is := &r.adverts[id], r.site.adverts[id]
	if is.removed {
		r.gone(id)
		return
	}
	if a.VisitedAt.IsZero() && is.born.After(r.learned) {
		r.New++
		r.latency = append(r.latency, r.now.Sub(is.born))
	}
	a.VisitedAt, a.Fingerprint, a.Gone = r.now, r.print(id), false
	r.ids[id] = true
	r.visited = append(r.visited, visit{id, r.now})
}

func (r *scraper) gone(id int) {
	r.Gone++
	if !r.site.adverts[id].removed {
		r.Wrong++
	}
	r.adverts[id].Gone = true
	r.adverts[id].RetryAt = r.now.Add(scrape.GoneWait)
	delete(r.ids, id)
}

// oldest is the advert that was not visited for longest.
func (r *scraper) oldest() (v visit, ok bool) {
	for ; len(r.visited) > 0; r.visited = r.visited[1:] {
		v := r.visited[0]
		if a := r.adverts[v.id]; !a.Gone && a.VisitedAt.Equal(v.at) {
			return v, true
		}
	}
	return visit{}, false
}

// missing are the adverts to be verified at the end of a cycle, in the order of their IDs.
func (r *scraper) missing() []int {
	ids := []int{}
	for id := range r.ids {
		if a := r.adverts[id]; a.missed > 0 && a.seen < r.cycle && a.VisitedAt.Before(r.started) && !a.VisitedAt.IsZero() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// judge ends a cycle that reached the last search page.
func (r *scraper) judge() {
	seen, missing := 0, 0
	for id := range r.ids {
		switch a := r.adverts[id]; {
		case a.seen >= r.cycle:
			seen++
		case a.missed == 0:
			missing++
		}
	}
	if verdict, _ := scrape.Judge(seen, len(r.site.list), missing); verdict != scrape.Complete {
		return
	}
	for id := range r.ids {
		a := &r.adverts[id]
		if a.seen >= r.cycle {
			continue
		}
		a.missed++
		if scrape.IsGone(a.missed, a.VisitedAt, r.started) {
			r.gone(id)
		}
	}
}
