package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

var transport = flag.String("transport", string(scrape.HTTP), "transport for the demo site's pages: browser or http")

// scraping makes a world whose scrapers are at a demo site of so many adverts on Kijiji's half, half as many on
// Kangalou's, that changes only by hand. A cycle begins when it is asked for, but for the first. The scrapers' workflows
// run; workers do not.
func scraping(t *testing.T, adverts int, settings ...string) *world {
	t.Helper()

	w := newWorldAround(t, demosite.New(demosite.Options{Adverts: adverts, Frozen: true}),
		"CONVEYOR_SCRAPE_TRANSPORT="+*transport, "CONVEYOR_SCRAPE_DELAY=0s", "CONVEYOR_SCRAPE_COOLDOWN=24h",
		"CONVEYOR_IMAGES=false")
	w.alter(dbtest.KeepTold)
	w.env = append(w.env, "CONVEYOR_SCRAPE="+demosite.Searches(w.siteURL))
	w.env = append(w.env, settings...)
	w.run("bootstrap")
	w.start("bridge")
	w.start("api")
	w.ready()
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	return w
}

// halves are the platforms that the demo site has.
var halves = []string{demosite.Kijiji, demosite.Kangalou}

func (w *world) platform(name string) (p apilistings.Platform) {
	w.t.Helper()
	require.Equal(w.t, http.StatusOK, w.get("/platforms/"+name, &p))
	return p
}

// ended waits until cycle n of a platform has ended, and returns it.
func (w *world) ended(name string, n int64) apilistings.PlatformCycle {
	w.t.Helper()

	var p apilistings.Platform
	w.eventually(fmt.Sprintf("cycle %d of %s has ended", n, name), func() bool {
		p = w.platform(name)
		return p.Last != nil && p.Last.Cycle >= n
	})
	require.Equal(w.t, n, p.Last.Cycle)
	return *p.Last
}

// cycle asks for the next cycle of a platform that rests, and returns it when it has ended.
func (w *world) cycle(name string) apilistings.PlatformCycle {
	w.t.Helper()

	n := w.platform(name).Last.Cycle + 1
	require.Equal(w.t, http.StatusAccepted, w.send(http.MethodPost, "/platforms/"+name+"/scrape", ""))
	return w.ended(name, n)
}

// adverts are those that a half shows.
func (w *world) adverts(name string) []demosite.Advert {
	w.t.Helper()

	all, err := w.site.Adverts(name)
	require.NoError(w.t, err)
	return slices.DeleteFunc(all, func(a demosite.Advert) bool { return a.State != demosite.Active })
}

// visits says how often the detail page of each advert of a half was asked for, and of all together.
func (w *world) visits(name string) (by map[string]int, sum int) {
	w.t.Helper()

	all, err := w.site.Adverts(name)
	require.NoError(w.t, err)
	by = map[string]int{}
	for _, a := range all {
		if n := len(w.site.Hits(a.URL)); n > 0 {
			by[a.ID] = n
			sum += n
		}
	}
	return by, sum
}

// patch changes an advert of the site.
func (w *world) patch(name, id string, c demosite.Change) demosite.Advert {
	w.t.Helper()

	a, err := w.site.Patch(name, id, c)
	require.NoError(w.t, err)
	return a
}

func (w *world) breaks(f demosite.Fault) {
	w.t.Helper()
	require.NoError(w.t, w.site.Break(f))
}

// at lets f know of each request from now on; nil ends that.
func (w *world) at(f func(*http.Request)) {
	if f == nil {
		w.door.Store(nil)
		return
	}
	w.door.Store(&f)
}

func listingID(platform, id string) string {
	return listing.Ref{Platform: platform, PlatformID: id}.ID().String()
}

// shown is a listing with its history, as GET /listings/{id} has it.
type shown struct {
	Listing apilistings.ListingSummary `json:"listing"`
	Images  []apilistings.ImageDetail  `json:"images"`
	History []apilistings.HistoryEvent `json:"history"`
	Audit   apilistings.Audit          `json:"audit"`
}

func (w *world) listing(platform, id string) (s shown) {
	w.t.Helper()
	require.Equal(w.t, http.StatusOK, w.get("/listings/"+listingID(platform, id), &s), "%s/%s", platform, id)
	return s
}

// settled waits until every advert that was scraped is brought to its end, and every message and event is out.
func (w *world) settled() {
	w.t.Helper()

	w.eventually("all that was scraped is settled", func() bool {
		return one[int](w, `SELECT (SELECT count(*) FROM outbox WHERE published_at IS NULL) +
			(SELECT count(*) FROM raw_listings WHERE settled_revision < revision)`) == 0
	})
}

// told is how many messages or events there were of an advert, by routing key: "kijiji" is its platform's queue.
func (w *world) told(key, platform, id string) int {
	w.t.Helper()
	return one[int](w, `SELECT count(*) FROM told WHERE routing_key = $1
		AND $2 IN (convert_from(body, 'UTF8')::jsonb->>'platform_id', convert_from(body, 'UTF8')::jsonb->'data'->>'listing_id')`,
		key, map[bool]string{true: id, false: listingID(platform, id)}[key == platform])
}

// priced are the adverts of a half that state a price.
func (w *world) priced(name string) []demosite.Advert {
	w.t.Helper()
	return slices.DeleteFunc(w.adverts(name), func(a demosite.Advert) bool { return a.PriceCents == nil })
}

// Adverts of both halves become listings without a file being fed, and follow their adverts from then on: through a new
// price, an edit, a bump, a removal and a return. An unchanged advert is not asked for again.
func TestScrapedAdvertsLiveAndDie(t *testing.T) {
	t.Parallel()

	w := scraping(t, 44, "CONVEYOR_IMAGES=true")
	w.start("worker")
	for _, name := range halves {
		c := w.ended(name, 1)
		n := len(w.adverts(name))
		require.True(t, c.Complete, c.Note)
		require.Equal(t, []int{2, n, n, 0, 0, 0}, []int{c.Pages, c.Seen, c.New, c.Skipped, c.Failed, c.Gone}, name)
		require.Equal(t, "cooling", w.platform(name).State)
	}
	w.settled()
	duplicates := 0
	for _, name := range halves {
		var page apilistings.ListingPage
		require.Equal(t, http.StatusOK, w.get("/listings?limit=100&platform="+name, &page))
		require.NotEmpty(t, page.Items)
		rents := map[string]int64{}
		for _, l := range page.Items {
			rents[l.PlatformID] = l.RentCents
		}
		for _, a := range w.adverts(name) {
			require.Equal(t, 1, w.told(name, name, a.ID), "one message a visit")
			switch one[string](w, "SELECT status FROM raw_listings WHERE platform = $1 AND platform_id = $2", name, a.ID) {
			case "imported":
				require.NotNil(t, a.PriceCents)
				require.Equal(t, *a.PriceCents, rents[a.ID], a.URL)
				require.Equal(t, 1, w.told(contract.ListingPublished, name, a.ID), "one event a version")
			case "duplicate":
				duplicates++
			default:
				require.Nil(t, a.PriceCents, "%s is not a listing", a.URL)
			}
		}
	}
	require.LessOrEqual(t, duplicates, 6, "the site's homes are mostly different ones")
	pictured := w.priced(demosite.Kangalou)[0]
	w.eventually("images are attached", func() bool {
		s := w.listing(demosite.Kangalou, pictured.ID)
		return len(s.Images) > 0 && !slices.ContainsFunc(s.Images, func(i apilistings.ImageDetail) bool { return i.State != "attached" })
	})

	// Nothing has changed: nothing is visited.
	for _, name := range halves {
		_, before := w.visits(name)
		c := w.cycle(name)
		_, after := w.visits(name)
		require.Equal(t, before, after, "detail pages of an unchanged site")
		require.True(t, c.Complete, c.Note)
		require.Equal(t, []int{2, len(w.adverts(name)), 0, 0, 0}, []int{c.Pages, c.Skipped, c.New, c.Changed, c.Stale})
	}

	for _, name := range halves {
		w.follows(name)
	}
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters WHERE class <> 'invalid'"))
}

// follows changes adverts of a half and checks that their listings follow.
func (w *world) follows(name string) {
	w.t.Helper()

	t := w.t
	imported := slices.DeleteFunc(w.priced(name), func(a demosite.Advert) bool {
		return one[string](w, "SELECT status FROM raw_listings WHERE platform = $1 AND platform_id = $2", name, a.ID) != "imported"
	})
	price, edit, bump, removed := imported[0], imported[1], imported[len(imported)-1], imported[3]
	before, _ := w.visits(name)
	cheaper := *price.PriceCents - 5000
	w.patch(name, price.ID, demosite.Change{PriceCents: &cheaper})
	w.patch(name, edit.ID, demosite.Change{Title: new("Appartement de coin, refait à neuf")})
	w.patch(name, bump.ID, demosite.Change{Bump: true})
	w.patch(name, removed.ID, demosite.Change{Removed: new(true)})
	c := w.cycle(name)
	require.Equal(t, []int{2, 0, 0}, []int{c.Changed, c.New, c.Gone}, name)
	after, _ := w.visits(name)
	require.Equal(t, before[price.ID]+1, after[price.ID])
	require.Equal(t, before[edit.ID]+1, after[edit.ID])
	require.Equal(t, before[bump.ID], after[bump.ID], "a bump is no change")
	w.settled()
	got := w.listing(name, price.ID)
	require.Equal(t, cheaper, got.Listing.RentCents)
	require.Equal(t, []string{"created", "price"}, kinds(got.History))
	require.Equal(t, []int64{*price.PriceCents, cheaper}, []int64{*got.History[1].OldRentCents, *got.History[1].NewRentCents})
	require.Equal(t, "Appartement de coin, refait à neuf", w.listing(name, edit.ID).Listing.Title)

	// One cycle without it is no proof, two are.
	w.stale()
	require.Equal(t, "active", w.listing(name, removed.ID).Listing.Status)
	c = w.cycle(name)
	require.Equal(t, 1, c.Gone, name)
	w.stale()
	got = w.listing(name, removed.ID)
	require.Equal(t, "archived", got.Listing.Status)
	require.Equal(t, 1, w.told(contract.ListingArchived, name, removed.ID))

	// It comes back as the same listing, with its history.
	w.patch(name, removed.ID, demosite.Change{Removed: new(false)})
	c = w.cycle(name)
	require.Equal(t, []int{1, 0, 0}, []int{c.Returned, c.New, c.Changed}, name)
	w.eventually("it is a listing again", func() bool { return w.listing(name, removed.ID).Listing.Status == "active" })
	require.Equal(t, []string{"created", "status", "status"}, kinds(w.listing(name, removed.ID).History))
	w.settled()

	// An advert that goes between its card and its page is gone at once.
	fresh, err := w.site.Publish(name)
	require.NoError(t, err)
	w.patch(name, price.ID, demosite.Change{PriceCents: price.PriceCents})
	w.at(func(r *http.Request) {
		if r.URL.Path == fresh.URL { // which stands above the other
			_, _ = w.site.Patch(name, price.ID, demosite.Change{Removed: new(true)})
		}
	})
	c = w.cycle(name)
	w.at(nil)
	require.Equal(t, []int{1, 0, 1}, []int{c.New, c.Changed, c.Gone}, name)
	w.stale()
	require.Equal(t, "archived", w.listing(name, price.ID).Listing.Status)
}

func kinds(history []apilistings.HistoryEvent) (out []string) {
	for _, h := range history {
		out = append(out, h.Kind)
	}
	return out
}

// stale runs the check for stale listings to its end.
func (w *world) stale() {
	w.t.Helper()

	require.Equal(w.t, http.StatusAccepted, w.send(http.MethodPost, "/staleness/run", ""))
	require.NoError(w.t, w.temporal.GetWorkflow(w.ctx(), "staleness-by-hand", "").Get(w.ctx(), nil))
}

// A site that refuses is left alone for as long as it asks, and longer each time; the other one does not notice.
func TestASiteThatRefusesIsLeftAlone(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := scraping(t, 44)
	w.start("worker")
	for _, name := range halves {
		w.ended(name, 1)
	}
	require.Equal(t, http.StatusOK,
		w.send(http.MethodPatch, "/platforms/kangalou", `{"cooldown_between_cycles_seconds":0.5}`))
	asked := w.log()

	const pause = 30 * time.Second
	w.breaks(demosite.Fault{Platform: demosite.Kijiji, Kind: "429", RetryAfter: pause, Times: 1})
	w.breaks(demosite.Fault{Platform: demosite.Kijiji, Kind: "captcha", Times: 1})
	require.Equal(t, http.StatusAccepted, w.send(http.MethodPost, "/platforms/kijiji/scrape", ""))
	p := w.blocked(demosite.Kijiji, 1)
	require.Equal(t, "429", p.Blocked.Reason)
	require.Regexp(t, `^asks again in \d+s, after refusal 1 in a row \(429\)$`, p.Next)
	require.WithinRange(t, *p.Blocked.Until, asked.times(demosite.Kijiji)[0].Add(pause), time.Now().Add(pause))

	fresh, err := w.site.Publish(demosite.Kangalou)
	require.NoError(t, err)
	p = w.blocked(demosite.Kijiji, 2)
	require.Equal(t, "captcha", p.Blocked.Reason)
	c := w.ended(demosite.Kijiji, 2)
	require.True(t, c.Complete, c.Note)
	require.Equal(t, 2, c.Refusals)
	times := asked.times(demosite.Kijiji)
	require.Len(t, times, 4, "two refusals, two search pages")
	require.GreaterOrEqual(t, times[1].Sub(times[0]), pause)
	require.GreaterOrEqual(t, times[2].Sub(times[1]), 8*time.Second, "10 s, a fifth less at the least")
	others := slices.DeleteFunc(asked.times(demosite.Kangalou), func(at time.Time) bool {
		return at.Before(times[0]) || at.After(times[1])
	})
	require.Greater(t, len(others), 2, "the other was asked while the first was left alone")
	w.eventually("and goes on", func() bool { return w.told(demosite.Kangalou, demosite.Kangalou, fresh.ID) == 1 })
	p = w.platform(demosite.Kijiji)
	require.Nil(t, p.Blocked, "the first success resets it")
	require.Equal(t, "cooling", p.State)

	// A detail page that is refused is asked for again; nothing else is.
	fresh, err = w.site.Publish(demosite.Kijiji)
	require.NoError(t, err)
	w.breaks(demosite.Fault{Platform: demosite.Kijiji, Kind: "403", Times: 1, Pages: "detail"})
	c = w.cycle(demosite.Kijiji)
	require.Equal(t, []int{1, 1, 0}, []int{c.Refusals, c.New, c.Failed})
	again := asked.times(demosite.Kijiji)[len(times):]
	require.Len(t, again, 4, "two search pages, a detail page twice")
	require.GreaterOrEqual(t, again[2].Sub(again[1]), 4*time.Second)
	require.Equal(t, 1, w.told(demosite.Kijiji, demosite.Kijiji, fresh.ID))
}

// blocked waits for the n-th refusal in a row.
func (w *world) blocked(name string, n int) (p apilistings.Platform) {
	w.t.Helper()

	w.eventually(fmt.Sprintf("%s is blocked, %d", name, n), func() bool {
		p = w.platform(name)
		return p.State == scrape.Blocked && p.Blocked.Refusals == n
	})
	return p
}

// A requests is when the pages of each half were asked for.
type requests struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (r *requests) times(name string) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.at[name])
}

// log writes down the requests to the site from now on.
func (w *world) log() *requests {
	log := &requests{at: map[string][]time.Time{}}
	w.at(func(r *http.Request) {
		log.mu.Lock()
		defer log.mu.Unlock()
		name := platformOf(r)
		log.at[name] = append(log.at[name], time.Now())
	})
	return log
}

// platformOf is the half whose page is asked for, "" for anything else of the site.
func platformOf(r *http.Request) string {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/b-"), strings.HasPrefix(path, "/v-"):
		return demosite.Kijiji
	case strings.HasPrefix(path, "/fr/"):
		return demosite.Kangalou
	}
	return ""
}

func isDetail(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v-") || strings.HasPrefix(r.URL.Path, "/fr/appartement/")
}

// The cost to the Temporal server of a cycle over an unchanged site is a feature: there is one a minute, day and night.
// It is the same for any number of adverts, and grows by the search page.
func TestAQuietCycleCostsAtMostFourteenStateTransitions(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := scraping(t, 44)
	w.start("worker")
	w.ended(demosite.Kijiji, 1)
	require.Equal(t, http.StatusOK,
		w.send(http.MethodPatch, "/platforms/kijiji", `{"cooldown_between_cycles_seconds":0.5}`))
	var pages int
	w.eventually("a quiet cycle has ended that cost at most 14 state transitions: none of its tasks was tried again", func() bool {
		for run := ""; ; { // from the newest back to the first
			h := w.history("scrape/kijiji", run)
			types := map[enums.EventType]int{}
			for _, e := range h.GetEvents() {
				types[e.GetEventType()]++
			}
			if types[enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW] == 1 && types[enums.EVENT_TYPE_TIMER_FIRED] == 1 &&
				types[enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED] == 0 { // no operator changed it
				pages = types[enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED]
				d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), "scrape/kijiji", run)
				require.NoError(t, err)
				if d.GetWorkflowExecutionInfo().GetStateTransitionCount() <= 14 {
					return true
				}
			}
			run = h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
			if run == "" {
				return false
			}
		}
	})
	require.Equal(t, 2, pages, "search pages")
}

// Suspect pages are an alarm, never an empty success: nothing is taken for gone, nothing is lost.
func TestASuspectSiteIsAnAlarm(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := scraping(t, 44)
	ch := w.broker.Channel()
	_, err := ch.QueueDeclare("suspects", false, true, false, false, nil)
	require.NoError(t, err)
	require.NoError(t, ch.QueueBind("suspects", contract.PlatformSuspect, "listings.events", false, nil))
	w.start("worker")
	for _, name := range halves {
		w.ended(name, 1)
	}
	for _, name := range halves {
		for _, kind := range []string{"empty", "shape", "half"} {
			w.breaks(demosite.Fault{Platform: name, Kind: kind, Pages: "search"})
			w.suspect(name, w.cycle(name))
			reason := w.suspect(name, w.cycle(name))
			w.settled()
			events := w.drain("suspects")
			require.Len(t, events, 1, "%s, %s: %s", name, kind, reason)
			var e contract.Event
			var data contract.PlatformData
			require.NoError(t, json.Unmarshal(events[0].Body, &e))
			require.NoError(t, json.Unmarshal(e.Data, &data))
			require.Equal(t, contract.PlatformData{Cycle: w.platform(name).Last.Cycle - 1, Page: 1, Reason: reason}, data)
			require.Zero(t, one[int](w, "SELECT count(*) FROM platform_adverts WHERE gone_at IS NOT NULL OR missed > 0"))

			w.site.Mend(name)
			c := w.cycle(name)
			require.True(t, c.Complete, c.Note)
			require.Equal(t, len(w.adverts(name)), c.Skipped, "nothing was forgotten")
			require.Equal(t, "cooling", w.platform(name).State)
		}
		w.breaks(demosite.Fault{Platform: name, Kind: "cut", Times: 1, Pages: "search"})
		c := w.cycle(name)
		require.True(t, c.Complete, "a connection that is cut is tried again: %s", c.Note)
		w.halfAnAdvert(name)
	}
	require.Empty(t, w.drain("suspects"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM raw_listings WHERE gone_at IS NOT NULL"))

	// Three in a row are the site's trouble and not an advert's.
	for range 4 {
		_, err := w.site.Publish(demosite.Kijiji)
		require.NoError(t, err)
	}
	w.breaks(demosite.Fault{Platform: demosite.Kijiji, Kind: "shape", Pages: "detail"})
	_, before := w.visits(demosite.Kijiji)
	c := w.cycle(demosite.Kijiji)
	require.Contains(t, w.suspect(demosite.Kijiji, c), "detail pages: ")
	_, after := w.visits(demosite.Kijiji)
	require.Equal(t, 3, after-before, "the others are spared")
	w.site.Mend("")
	require.Equal(t, 1, w.cycle(demosite.Kijiji).New)
	w.hourLater()
	require.Equal(t, 3, w.cycle(demosite.Kijiji).New)
	w.settled()
	require.Equal(t, len(w.adverts(demosite.Kijiji)), one[int](w,
		"SELECT count(*) FROM raw_listings WHERE platform = 'kijiji' AND settled_revision = revision"))
}

// suspect checks that a cycle was stopped by a suspect page, and returns the reason.
func (w *world) suspect(name string, c apilistings.PlatformCycle) string {
	w.t.Helper()

	require.False(w.t, c.Complete)
	p := w.platform(name)
	require.Equal(w.t, "suspect", p.State)
	require.Contains(w.t, c.Note, "suspect on page 1: ")
	return p.Suspect.Reason
}

// halfAnAdvert is an advert whose page comes only in part, once: it is not stored, and not forgotten either.
func (w *world) halfAnAdvert(name string) {
	w.t.Helper()

	fresh, err := w.site.Publish(name)
	require.NoError(w.t, err)
	w.breaks(demosite.Fault{Platform: name, Kind: "half", Times: 1, Pages: "detail"})
	c := w.cycle(name)
	require.Equal(w.t, []int{1, 0, 0}, []int{c.Failed, c.New, c.Gone}, name)
	require.EqualValues(w.t, 1, w.platform(name).Adverts.Failed)
	require.Zero(w.t, w.told(name, name, fresh.ID))
	c = w.cycle(name)
	require.Equal(w.t, []int{0, 0}, []int{c.Failed, c.New}, "not at once: it may be the advert's own trouble")
	w.hourLater()
	c = w.cycle(name)
	require.Equal(w.t, []int{0, 1}, []int{c.Failed, c.New}, name)
	require.Equal(w.t, 1, w.told(name, name, fresh.ID))
	require.Zero(w.t, w.platform(name).Adverts.Failed)
}

// hourLater moves back the times at which adverts are tried again, as if an hour had passed.
func (w *world) hourLater() {
	w.t.Helper()

	_, err := w.db.Exec(w.ctx(), "UPDATE platform_adverts SET retry_at = retry_at - interval '1 hour'")
	require.NoError(w.t, err)
}

// A site that does not want robots is asked for its robots.txt and for nothing else.
func TestRobotsAreKeptOut(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	var mu sync.Mutex
	asked := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		_, _ = rw.Write([]byte("User-agent: *\nDisallow: /b-\nDisallow: /fr/recherche\n"))
	}))
	t.Cleanup(site.Close)
	w := scraping(t, 2, "CONVEYOR_SCRAPE="+demosite.Searches(site.URL),
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(site.URL, "http://"))
	w.start("worker")
	for _, name := range halves {
		c := w.ended(name, 1)
		require.Contains(t, w.suspect(name, c), "robots.txt of the site does not allow")
		w.cycle(name)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int{"/robots.txt": asked["/robots.txt"]}, asked)
	require.LessOrEqual(t, asked["/robots.txt"], 2, "it is remembered")
}

// An operator's setting holds from the next request on, in every worker, and for workers and settings that come later.
func TestOperatorsDriveScrapers(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const delay = 400 * time.Millisecond
	w := scraping(t, 20, "CONVEYOR_SCRAPE_DELAY="+delay.String())
	asked := w.log()
	worker := w.start("worker")
	act := func(action string) int { return w.send(http.MethodPost, "/platforms/kijiji/"+action, "") }
	set := func(body string) int { return w.send(http.MethodPatch, "/platforms/kijiji", body) }

	// Pause and resume, in the middle of a page.
	w.eventually("adverts are visited", func() bool { _, n := w.visits(demosite.Kijiji); return n >= 3 })
	require.Equal(t, http.StatusAccepted, act("pause"))
	require.Equal(t, "paused", w.platform(demosite.Kijiji).State)
	require.Equal(t, "nothing until it is resumed", w.platform(demosite.Kijiji).Next)
	require.Equal(t, http.StatusConflict, act("scrape"))
	w.eventually("nothing more is asked", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), "scrape/kijiji", "")
		return err == nil && len(d.GetPendingActivities()) == 0
	})
	by, sum := w.visits(demosite.Kijiji)
	require.Less(t, sum, 20)
	require.Len(t, by, sum)
	require.Equal(t, sum, w.platform(demosite.Kijiji).Current.New, "the cycle is open")

	// It is taken up where it stopped. The pace holds, also from one worker to the next.
	require.Equal(t, http.StatusAccepted, act("resume"))
	w.eventually("it goes on", func() bool { _, n := w.visits(demosite.Kijiji); return n > sum+2 })
	worker.stop(t)
	worker = w.start("worker")
	c := w.ended(demosite.Kijiji, 1)
	require.True(t, c.Complete, c.Note)
	require.Equal(t, 20, c.New)
	by, sum = w.visits(demosite.Kijiji)
	require.Len(t, by, 20)
	require.LessOrEqual(t, sum, 21, "one may have been on its way when the worker was stopped")
	apart(t, asked.times(demosite.Kijiji), delay, 20+2)

	// Another pace, without a restart, kept across a restart of the worker and another bootstrap.
	require.Equal(t, http.StatusUnprocessableEntity, set(`{"delay_between_requests_seconds":-1}`))
	require.Equal(t, http.StatusUnprocessableEntity, set(`{"max_pages_per_cycle":0}`))
	require.Equal(t, http.StatusOK, set(`{"delay_between_requests_seconds":1.5,"max_pages_per_cycle":7}`))
	w.run("bootstrap")
	worker.kill()
	w.start("worker")
	for range 3 {
		_, err := w.site.Publish(demosite.Kijiji)
		require.NoError(t, err)
	}
	asked = w.log()
	require.Equal(t, 3, w.cycle(demosite.Kijiji).New)
	apart(t, asked.times(demosite.Kijiji), 1500*time.Millisecond, 1+3)
	p := w.platform(demosite.Kijiji)
	require.Equal(t, apilistings.PlatformSettings{
		Enabled: true, DelaySeconds: 1.5, MaxPages: 7, CooldownSeconds: 86400, LookSeconds: 300, CycleSeconds: 7200,
	}, p.Settings)
	require.InDelta(t, delay.Seconds(), p.Configured.DelaySeconds, 0)

	// A request that waits for its turn learns of a shorter delay; max pages end a cycle early, so such a cycle cannot
	// tell which adverts are gone.
	require.Equal(t, http.StatusOK, set(`{"delay_between_requests_seconds":3600,"max_pages_per_cycle":1}`))
	for range 25 {
		_, err := w.site.Publish(demosite.Kijiji)
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusAccepted, act("scrape"))
	w.eventually("the cycle has begun", func() bool {
		p := w.platform(demosite.Kijiji)
		return p.State == "scraping" && p.NextRequestAt != nil && p.NextRequestAt.After(time.Now().Add(time.Minute))
	})
	require.Equal(t, http.StatusOK, set(`{"delay_between_requests_seconds":0}`))
	c = w.ended(demosite.Kijiji, 3)
	require.False(t, c.Complete)
	require.Equal(t, "stopped after 1 pages, the most", c.Note)
	require.Equal(t, 1, c.Pages)
	require.Zero(t, one[int](w, "SELECT count(*) FROM platform_adverts WHERE missed > 0"))

	require.Equal(t, http.StatusOK, set(`{"reset":true}`))
	require.Equal(t, p.Configured, w.platform(demosite.Kijiji).Settings)
	require.Equal(t, http.StatusOK, set(`{"enabled":false}`))
	require.Equal(t, "disabled", w.platform(demosite.Kijiji).State)
	require.Equal(t, http.StatusConflict, act("scrape"))
	require.Equal(t, http.StatusNotFound, w.send(http.MethodPost, "/platforms/craigslist/scrape", ""))
	require.GreaterOrEqual(t, one[int](w, "SELECT count(*) FROM audit WHERE subject = 'platform/kijiji'"), 8)
}

// apart checks that requests, of which there were at least n, came in their turns. One may be late, and the next not.
func apart(t *testing.T, times []time.Time, delay time.Duration, n int) {
	t.Helper()

	require.GreaterOrEqual(t, len(times), n)
	took := times[len(times)-1].Sub(times[0])
	require.GreaterOrEqual(t, took, time.Duration(len(times)-1)*delay-delay/2, "%d requests", len(times))
}

// Kill -9 of the worker while it asks for a page: the next one goes on with that page. Nothing that was done is done
// again, nothing is left out, and no event is published twice.
func TestAKilledScraperGoesOnWithTheNextAdvert(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := scraping(t, 44)
	var worker atomic.Pointer[process]
	victim, details, kills := demosite.Kijiji, 0, 0
	var mu sync.Mutex
	w.at(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if platformOf(r) != victim || !isDetail(r) {
			return
		}
		if details++; details == 10 || details == 25 {
			worker.Load().kill()
			kills++
		}
	})
	for _, name := range halves {
		require.Equal(t, http.StatusAccepted, w.send(http.MethodPost, "/platforms/"+name+"/pause", ""))
	}
	worker.Store(w.start("worker"))
	for _, name := range halves {
		mu.Lock()
		victim, details, kills = name, 0, 0
		mu.Unlock()
		require.Equal(t, http.StatusAccepted, w.send(http.MethodPost, "/platforms/"+name+"/resume", ""))
		n := len(w.adverts(name))
		for range n / 20 { // as often as it is killed
			<-worker.Load().end
			worker.Store(w.start("worker"))
		}
		c := w.ended(name, 1)
		require.Equal(t, []int{2, n, n}, []int{c.Pages, c.Seen, c.New}, "%+v", c)
		require.Empty(t, c.Note)
		by, sum := w.visits(name)
		require.Len(t, by, n)
		require.Equal(t, n+kills, sum, "the one on its way is asked for again")
		for _, a := range w.adverts(name) {
			require.LessOrEqual(t, by[a.ID], 2)
			require.Equal(t, 1, w.told(name, name, a.ID), "a message a visit that was stored")
		}
	}
	w.settled()
	require.Equal(t, len(w.adverts(demosite.Kijiji))+len(w.adverts(demosite.Kangalou)),
		one[int](w, "SELECT count(*) FROM raw_listings WHERE scrapes = 1 AND revision = 1"))
	require.Equal(t, one[int](w, "SELECT count(*) FROM listings"),
		one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'"))
}

// A fault on our side is not blamed on an advert: a session at the database that ends while a visit takes its turn
// costs a try, and not the advert ten minutes.
func TestALostSessionIsNoFailedVisit(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := scraping(t, 20)
	w.alter(`
		CREATE SEQUENCE turns;
		CREATE FUNCTION lose_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('turns') = 5 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER turn BEFORE UPDATE OF next_request_at ON platforms FOR EACH ROW WHEN (NEW.name = 'kijiji')
			EXECUTE FUNCTION lose_session()`)
	w.start("worker")
	c := w.ended(demosite.Kijiji, 1)
	require.Greater(t, one[int](w, "SELECT last_value FROM turns"), 5)
	require.Equal(t, []int{0, 20}, []int{c.Failed, c.New}, "%+v", c)
	require.True(t, c.Complete, c.Note)
}

// A new advert does not wait for the cycle that is under way: a look at the newest search page finds it, and it is
// visited next. Counted in requests, for those are the platform's delay apart at least, on any machine.
func TestANewAdvertIsFoundWhileACycleIsUnderWay(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const delay, look = 100 * time.Millisecond, 2 * time.Second
	w := scraping(t, 600, "CONVEYOR_SCRAPE_DELAY="+delay.String(), "CONVEYOR_SCRAPE_LOOK="+look.String())
	var mu sync.Mutex
	var asked []string // paths of Kijiji's half
	w.at(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/v-") || strings.HasPrefix(r.URL.Path, "/b-") {
			asked = append(asked, r.URL.Path)
		}
	})
	w.start("worker")
	w.eventually("the first cycle is under way", func() bool {
		p := w.platform(demosite.Kijiji)
		return p.Current != nil && p.Current.New > 10
	})
	a, err := w.site.Publish(demosite.Kijiji)
	require.NoError(t, err)
	mu.Lock()
	before := len(asked)
	mu.Unlock()
	w.eventually("the new advert is visited", func() bool { return w.hits(a.URL) > 0 })
	mu.Lock()
	wait := slices.Index(asked[before:], a.URL)
	mu.Unlock()
	require.LessOrEqual(t, wait, int(look/delay)+2, "requests before that of the new advert")
	p := w.platform(demosite.Kijiji)
	require.Nil(t, p.Last, "the first cycle is under way still")
	require.Less(t, p.Current.Seen, 500, "and has not seen the whole site")
}
