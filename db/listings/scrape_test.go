package listings_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

var kijiji = scrape.Settings{
	URL: "http://127.0.0.1/b-apartments-condos/montreal/c37l1700281", Enabled: true,
	Pace: scrape.Pace{Transport: scrape.HTTP, Delay: 9 * time.Second, MaxPages: 5, Cooldown: time.Minute},
}

var kijijiSearch = scrape.Search{Platform: "kijiji", Name: scrape.DefaultSearch}

// scraped is a platform with a store, and a clock that goes on by hand.
type scraped struct {
	*dblistings.Platforms
	pool *pgxpool.Pool
	now  time.Time
}

func scraper(t *testing.T) *scraped {
	t.Helper()

	pool := dbtest.New(t)
	s := &scraped{dblistings.NewPlatforms(pool), pool, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, s.Configure(t.Context(), "kijiji", kijiji, s.now))
	return s
}

func (s *scraped) begin(t *testing.T) scrape.Plan {
	t.Helper()

	plan, err := s.Begin(t.Context(), "kijiji", s.now)
	require.NoError(t, err)
	return plan
}

func (s *scraped) get(t *testing.T) dblistings.Platform {
	t.Helper()

	p, err := s.Get(t.Context(), "kijiji", s.now)
	require.NoError(t, err)
	return p
}

// page notes a search page with these adverts, "id" or "id=fingerprint", and returns why each must be visited.
func (s *scraped) page(t *testing.T, cycle int64, page int, cards ...string) []string {
	t.Helper()

	s.now = s.now.Add(time.Millisecond)
	r := scrape.Results{Total: len(cards)}
	for _, c := range cards {
		r.Cards = append(r.Cards, card(c))
	}
	visits, err := s.Seen(t.Context(), kijijiSearch, cycle, page, r, s.now)
	require.NoError(t, err)
	out := []string{}
	for _, v := range visits {
		out = append(out, v.PlatformID+" "+v.Why)
	}
	return out
}

func card(s string) scrape.Card {
	var id, print string
	if n, _ := fmt.Sscanf(s, "%10s %s", &id, &print); n < 2 {
		id, print = s, "a"
	}
	return scrape.Card{PlatformID: id, URL: "http://127.0.0.1/v-apartments-condos/montreal/x/" + id, Fingerprint: print}
}

// found stores a visit to an advert.
func (s *scraped) found(t *testing.T, cycle int64, c, why string, rent int64) {
	t.Helper()

	require.NoError(t, s.Found(t.Context(), cycle, s.find(t, c, why, rent)))
}

func (s *scraped) find(t *testing.T, c, why string, rent int64) scrape.FoundAdvert {
	t.Helper()

	visit := scrape.Visit{Card: card(c), Why: why}
	m := contract.ScrapedListing{Platform: "kijiji", PlatformID: visit.PlatformID, URL: visit.URL, ScrapedAt: s.now,
		Title: "Beau 4½", Price: contract.ScrapedPrice{AmountCents: &rent, Type: "FIXED"}}
	body, err := json.Marshal(m)
	require.NoError(t, err)
	return scrape.FoundAdvert{Visit: visit, Payload: body, Raw: listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: visit.PlatformID}, URL: m.URL, ScrapedAt: m.ScrapedAt, Title: m.Title,
		Price: listing.RawPrice(m.Price)}}
}

func (s *scraped) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return dbtest.Query[int](t, s.pool, sql, args...)[0]
}

func TestCyclesOfAPlatform(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	require.Equal(t, "waiting", s.get(t).State)
	plan := s.begin(t)
	require.Equal(t, scrape.Plan{Go: true, Cycle: 1, Page: 1}, plan)
	require.Equal(t, plan, s.begin(t), "an open cycle is not begun again")
	s.page(t, 1, 2, "1000000001")
	require.Equal(t, 2, s.begin(t).Page, "taken up where it was")
	require.Equal(t, "goes on with cycle 1, page 2", s.get(t).Next)

	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	require.NoError(t, s.End(t.Context(), "kijiji", 1, "again", s.now.Add(time.Hour)), "an end is once")
	p := s.get(t)
	require.Equal(t, "cooling", p.State)
	require.Equal(t, "begins cycle 2 in 1m0s", p.Next)
	require.True(t, p.Last.Complete)
	require.Equal(t, scrape.Plan{Wait: time.Minute}, s.begin(t))
	s.now = s.now.Add(time.Minute)
	require.Equal(t, int64(2), s.begin(t).Cycle)

	_, err := s.Get(t.Context(), "unknown", s.now)
	dbtest.RequireClass(t, fault.Gone, err)
	plan, err = s.Begin(t.Context(), "unknown", s.now)
	require.NoError(t, err)
	require.Zero(t, plan, "a platform that is not configured waits")
}

func TestConcurrentBeginsGetOneCycle(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			plan, err := s.Begin(t.Context(), "kijiji", s.now)
			if err != nil || plan.Cycle > 1 {
				t.Errorf("plan %+v, %v", plan, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM platform_cycles`))
}

func TestVisitsThatAreDue(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	require.Equal(t, []string{"1000000002 new", "1000000001 new"}, s.page(t, 1, 1, "1000000002", "1000000001"))
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	require.Equal(t, []string{"1000000002 new"}, s.page(t, 1, 1, "1000000002", "1000000001"), "one is done")
	s.found(t, 1, "1000000002", scrape.New, 90_000)
	require.Empty(t, s.page(t, 1, 1, "1000000002", "1000000001"))
	require.Equal(t, []string{"1000000001 changed"}, s.page(t, 1, 1, "1000000002", "1000000001 b"))
	s.found(t, 1, "1000000001 b", scrape.Changed, 95_000)
	require.Empty(t, s.page(t, 1, 1, "1000000002", "1000000001 b"))

	require.Nil(t, s.chores(t, 1).Oldest)
	s.now = s.now.Add(6 * time.Hour)
	require.Empty(t, s.page(t, 1, 1, "1000000002", "1000000001 b"), "re-visits are for the budget")
	require.Equal(t, "1000000002", s.chores(t, 1).Oldest.PlatformID)
	s.found(t, 1, "1000000002", scrape.Stale, 90_000)
	require.Equal(t, "1000000001", s.chores(t, 1).Oldest.PlatformID)
	require.Equal(t, 2, s.count(t, `SELECT count(*) FROM raw_listings`))
	require.Equal(t, 3, s.count(t, `SELECT count(*) FROM raw_listing_revisions`))
	require.Equal(t, 4, s.count(t, `SELECT count(*) FROM outbox WHERE exchange = 'scraped' AND routing_key = 'kijiji'`))
	require.Equal(t, 0, s.count(t, `SELECT sum(scrapes) FROM raw_listings`), "the bridge counts messages")
	c := s.get(t).Current
	require.Equal(t, []int{2, 2, 1, 1, 0}, []int{c.Seen, c.New, c.Changed, c.Stale, c.Skipped})
}

// An advert that arrived lately in another way need not be visited again to be known.
func TestAdvertsOfTheScraperBeforeUs(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	f := s.find(t, "1000000001", "", 90_000)
	arrival, err := dblistings.NewArrival(f.Raw, f.Payload)
	require.NoError(t, err)
	_, err = dblistings.NewListings(s.pool).Receive(t.Context(), []dblistings.Arrival{arrival}, s.now)
	require.NoError(t, err)
	s.begin(t)
	s.now = s.now.Add(5 * time.Hour)
	require.Empty(t, s.page(t, 1, 1, "1000000001"))
	require.Equal(t, []string{"1000000001 changed"}, s.page(t, 1, 1, "1000000001 b"))
	s.now = s.now.Add(time.Hour)
	require.Equal(t, "1000000001", s.chores(t, 1).Oldest.PlatformID)
}

func TestFoundIsOnce(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	s.page(t, 1, 1, "1000000001")
	for range 3 {
		s.found(t, 1, "1000000001", scrape.New, 90_000)
	}
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM outbox`))
	require.Equal(t, 1, s.get(t).Current.New)

	// The message arrives at the bridge: nothing is counted or revised twice, and there is work to do.
	f := s.find(t, "1000000001", "", 90_000)
	arrival, err := dblistings.NewArrival(f.Raw, f.Payload)
	require.NoError(t, err)
	receipts, err := dblistings.NewListings(s.pool).Receive(t.Context(), []dblistings.Arrival{arrival}, s.now.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, dblistings.Receipt{ID: f.Raw.ID(), Revision: 1}, receipts[0])
	require.Equal(t, 1, s.count(t, `SELECT scrapes FROM raw_listings`))
}

func TestGoneAndBack(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	cycle := func(cards ...string) []string {
		plan := s.begin(t)
		require.True(t, plan.Go)
		visits := s.page(t, plan.Cycle, 1, cards...)
		require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
		s.now = s.now.Add(time.Minute)
		return visits
	}
	gone := func(id string) int {
		return s.count(t, `SELECT count(*) FROM raw_listings WHERE platform_id = $1 AND gone_at IS NOT NULL`, id)
	}
	cycle("1000000001", "1000000002")
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	s.found(t, 1, "1000000002", scrape.New, 90_000)

	cycle("1000000001")
	require.Zero(t, gone("1000000002"), "once is not enough")
	plan := s.begin(t)
	require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "blocked", s.now))
	s.now = s.now.Add(time.Minute)
	require.Zero(t, gone("1000000002"), "no advert is missing from a cycle that is not complete")
	cycle("1000000001")
	require.Equal(t, 1, gone("1000000002"))
	require.Equal(t, dblistings.PlatformAdverts{Known: 1, Gone: 1}, s.get(t).Adverts)
	require.Equal(t, 1, s.get(t).Last.Gone)

	require.Equal(t, []string{"1000000002 returned"}, cycle("1000000001", "1000000002"))
	s.found(t, 5, "1000000002", scrape.Returned, 90_000)
	require.Zero(t, gone("1000000002"), "the same advert is back")
	require.Empty(t, cycle("1000000001", "1000000002"))

	// Its page says that it was removed while the search still shows it.
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}
	for range 2 {
		require.NoError(t, s.Gone(t.Context(), ref, 6, "removed", s.now))
	}
	require.Equal(t, 1, gone("1000000001"))
	require.Empty(t, cycle("1000000001", "1000000002"), "not visited for an hour")
	s.now = s.now.Add(time.Hour)
	require.Equal(t, []string{"1000000001 returned"}, cycle("1000000001", "1000000002"))
	require.NoError(t, s.Gone(t.Context(), ref, 8, "removed", s.now))
	cycle("1000000002")
	require.Equal(t, []string{"1000000001 returned"}, cycle("1000000001", "1000000002"), "it was away for a cycle")
}

func TestArchiveWhatIsGone(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	listings := dblistings.NewListings(s.pool)
	s.begin(t)
	s.page(t, 1, 1, "1000000001", "1000000002")
	for _, id := range []string{"1000000001", "1000000002"} {
		s.found(t, 1, id, scrape.New, 90_000)
		publish(t, listings, normalized(listing.Ref{Platform: "kijiji", PlatformID: id}), 1, 0)
	}
	require.NoError(t, s.Gone(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}, 1, "removed", s.now))
	s.now = s.now.Add(time.Minute)
	_, n, err := listings.ArchiveStale(t.Context(), s.now.Add(-48*time.Hour), listing.Cursor{}, tenOfAll, s.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM listings WHERE status = 'archived' AND platform_id = '1000000001'`))

	// It comes back just as it was: its unchanged revision must be published again.
	f := s.find(t, "1000000001", scrape.Returned, 90_000)
	require.NoError(t, s.Found(t.Context(), 1, f))
	arrival, err := dblistings.NewArrival(f.Raw, f.Payload)
	require.NoError(t, err)
	receipts, err := listings.Receive(t.Context(), []dblistings.Arrival{arrival}, s.now)
	require.NoError(t, err)
	require.True(t, receipts[0].Archived)
	require.Equal(t, 0, s.count(t, `SELECT count(*) FROM raw_listings WHERE gone_at IS NOT NULL`))
}

func TestTurnsAreADelayApart(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	turn := func(atLeast time.Duration) scrape.Turn {
		got, err := s.Turn(t.Context(), kijijiSearch, atLeast, s.now)
		require.NoError(t, err)
		return got
	}
	began := s.now
	require.True(t, turn(0).At.Equal(began))
	require.True(t, turn(0).At.Equal(began.Add(9*time.Second)))
	require.True(t, turn(30*time.Second).At.Equal(began.Add(18*time.Second)))
	require.True(t, turn(0).At.Equal(began.Add(48*time.Second)), "robots.txt asks for more")

	entry := db.AuditEntry{At: s.now, Actor: "ann", Action: "platform.set", Subject: "platform/kijiji"}
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Delay: new(time.Second)}, entry))
	require.True(t, turn(0).At.Equal(began.Add(time.Second)), "a shorter delay counts at once")
	require.NoError(t, s.Configure(t.Context(), "kijiji", kijiji, s.now))
	require.Equal(t, 1.0, s.get(t).Settings.DelaySeconds, "the setting of an operator survives a restart")
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Reset: true}, entry))
	require.Equal(t, 9.0, s.get(t).Settings.DelaySeconds)

	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Paused: new(true)}, entry))
	require.Equal(t, scrape.Paused, turn(0).Stopped)
	require.False(t, s.begin(t).Go)
	err := s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Now: true}, entry)
	dbtest.RequireClass(t, fault.Conflict, err)
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Paused: new(false), Enabled: new(false)}, entry))
	require.Equal(t, scrape.Disabled, turn(0).Stopped)
	require.Equal(t, "nothing until it is enabled", s.get(t).Next)
	require.Equal(t, 4, s.count(t, `SELECT count(*) FROM audit WHERE actor = 'ann'`), "a rejected change has no audit entry")
	_, err = s.Turn(t.Context(), scrape.Search{Platform: "unknown", Name: scrape.DefaultSearch}, 0, s.now)
	dbtest.RequireClass(t, fault.Gone, err)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	refused := func(asked time.Duration) time.Duration {
		until, err := s.Refused(t.Context(), "kijiji", 1, "429", asked, 0.5, s.now)
		require.NoError(t, err)
		return until.Sub(s.now)
	}
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		require.Equal(t, want*time.Second, refused(time.Second))
	}
	require.Equal(t, time.Hour, refused(time.Hour), "longer, when the site says so")
	p := s.get(t)
	require.Equal(t, "blocked", p.State)
	require.Equal(t, "asks again in 1h0m0s, after refusal 9 in a row (429)", p.Next)
	require.Equal(t, 9, p.Current.Refusals)
	turn, err := s.Turn(t.Context(), kijijiSearch, 0, s.now)
	require.NoError(t, err)
	require.True(t, turn.At.Equal(s.now.Add(time.Hour)))

	s.now = s.now.Add(time.Hour)
	due, err := s.Due(t.Context(), "kijiji", 1, []scrape.Visit{{Card: card("1000000001")}}, s.now)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, 9, s.get(t).Blocked.Refusals, "finding the visits that are left is no success")
	s.page(t, 1, 1, "1000000001")
	require.Nil(t, s.get(t).Blocked, "the first success ends it")
	require.Equal(t, 5*time.Second, refused(0))
}

func TestSuspects(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	events := func() int { return s.count(t, `SELECT count(*) FROM outbox WHERE routing_key = 'platform.suspect'`) }
	empty := func(page, total int, wrong string) string {
		s.now = s.now.Add(time.Second)
		reason, err := s.NoResults(t.Context(), kijijiSearch, 1, page, total, wrong, s.now)
		require.NoError(t, err)
		return reason
	}
	suspect := func(of string) {
		v := scrape.Suspicion{Of: of, Reason: "another", Cycle: 1, Page: 1}
		require.NoError(t, s.Suspect(t.Context(), "kijiji", v, s.now))
	}
	for range 2 {
		require.Empty(t, empty(1, 0, ""), "there never was anything")
	}
	require.NotEmpty(t, empty(1, -1, "the site says there is more"))
	suspect(scrape.SearchPages)
	require.Equal(t, 1, events(), "published once")
	require.Equal(t, "suspect", s.get(t).State)
	s.page(t, 1, 1, "1000000001")
	require.Equal(t, "scraping", s.get(t).State, "until a page is read again")

	require.Empty(t, empty(2, -1, ""), "it never had anything")
	s.page(t, 1, 2, "1000000002")
	require.Empty(t, empty(2, 2, ""), "the page before holds all that there is")
	s.page(t, 1, 2, "1000000002")
	require.NotEmpty(t, empty(2, 9, ""))
	require.Equal(t, 2, events())
	s.page(t, 1, 1, "1000000001")
	require.Empty(t, empty(2, -1, ""), "a list that has grown shorter is an alarm once")
	for range 2 {
		require.Contains(t, empty(1, -1, ""), "had some before", "page 1 is never without")
	}

	suspect(scrape.DetailPages)
	s.page(t, 1, 1, "1000000001")
	suspect(scrape.DetailPages)
	s.page(t, 1, 1, "1000000001")
	require.Equal(t, "suspect", s.get(t).State, "a search page says nothing of detail pages")
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	require.Nil(t, s.get(t).Suspect)

	require.NoError(t, s.Trouble(t.Context(), "kijiji", "no browser", s.now))
	require.Equal(t, "tries again: no browser", s.get(t).Next)
	first := s.now
	s.now = s.now.Add(24 * time.Hour)
	require.NoError(t, s.Trouble(t.Context(), "kijiji", "no proxy", s.now))
	trouble := s.get(t).Trouble
	require.Equal(t, "no proxy", trouble.Reason)
	require.Equal(t, first, trouble.Since.UTC())
	s.page(t, 1, 1, "1000000001")
	require.Nil(t, s.get(t).Trouble)
}

func TestMostAdvertsMissingAtOnce(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprint(1_000_000_000+i))
	}
	for i, cards := range [][]string{all, all[:5], all[:5], all[:5], all[:20], all[:20]} {
		plan := s.begin(t)
		s.page(t, plan.Cycle, 1, cards...)
		require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
		s.now = s.now.Add(time.Minute)
		p := s.get(t)
		switch i {
		case 1, 2, 3:
			require.Equal(t, "25 adverts are missing at once and 5 are left", p.Suspect.Reason)
			require.Equal(t, p.Suspect.Reason, p.Last.Note)
			require.False(t, p.Last.Complete)
			require.Zero(t, p.Adverts.Gone)
		case 4:
			require.Nil(t, p.Suspect, "most are back")
		case 5:
			require.EqualValues(t, 10, p.Adverts.Gone)
		}
	}
}

// From a cycle that saw far fewer adverts than the site states no advert is missing.
func TestACycleThatSawTooLittle(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	for range 3 {
		plan := s.begin(t)
		_, err := s.Seen(t.Context(), kijijiSearch, plan.Cycle, 1, scrape.Results{Cards: []scrape.Card{card("1000000001")}, Total: 9},
			s.now)
		require.NoError(t, err)
		require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
		s.now = s.now.Add(time.Minute)
	}
	require.Equal(t, "saw 1 of 9 adverts", s.get(t).Last.Note)
	require.False(t, s.get(t).Last.Complete)
}

// A changed search starts over: adverts that only the old one showed are not missing from it.
func TestAnotherSearch(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	plan := s.begin(t)
	s.page(t, plan.Cycle, 1, "1000000001")
	other := kijiji
	other.URL += "2"
	require.NoError(t, s.Configure(t.Context(), "kijiji", other, s.now))
	require.Zero(t, s.get(t).Adverts)
	require.Equal(t, "another search", s.get(t).Last.Note)
	for range 3 {
		plan = s.begin(t)
		require.Equal(t, 1, plan.Page)
		s.page(t, plan.Cycle, 1, "1000000002")
		require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
		s.now = s.now.Add(time.Minute)
	}
	require.Equal(t, dblistings.PlatformAdverts{Known: 1}, s.get(t).Adverts)
}

func TestAdvertsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	s.page(t, 1, 1, "1000000001")
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}
	for _, wait := range []time.Duration{10, 20, 40, 80, 160, 320, 360, 360} {
		require.NoError(t, s.Failed(t.Context(), ref, 1, "page not recognized", s.now))
		s.now = s.now.Add(wait*time.Minute - time.Second)
		require.Empty(t, s.page(t, 1, 1, "1000000001"))
		s.now = s.now.Add(time.Second)
		require.Equal(t, []string{"1000000001 new"}, s.page(t, 1, 1, "1000000001"))
	}
	p := s.get(t)
	require.EqualValues(t, 1, p.Adverts.Failed)
	require.Equal(t, 8, p.Current.Failed)
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	require.Zero(t, s.get(t).Adverts.Failed)
}

// A platform from before its adverts were counted as they are written is counted by the next bootstrap, once.
func TestAdvertsAreCountedAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	s.page(t, 1, 1, "1000000001", "1000000002", "1000000003")
	require.NoError(t, s.Failed(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}, 1, "x", s.now))
	require.NoError(t, s.Gone(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "1000000003"}, 1, "removed", s.now))
	want := dblistings.PlatformAdverts{Known: 2, Failed: 1, Gone: 1}
	require.Equal(t, want, s.get(t).Adverts)
	for _, before := range []string{"counted = false, adverts_known = 0, adverts_failed = 0, adverts_gone = 0",
		"counted = true"} {
		_, err := s.pool.Exec(t.Context(), "UPDATE platforms SET "+before)
		require.NoError(t, err)
		require.NoError(t, s.Configure(t.Context(), "kijiji", kijiji, s.now))
		require.Equal(t, want, s.get(t).Adverts)
	}
	_, err := s.pool.Exec(t.Context(), "UPDATE platforms SET adverts_known = 99")
	require.NoError(t, err)
	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	require.Equal(t, want, s.get(t).Adverts, "the end of a cycle counts again")
}

// What an open cycle has seen is counted as it is seen, and a page that is stored again counts nothing twice.
func TestAnOpenCycleCountsWhatItSees(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	s.page(t, 1, 1, "1000000001", "1000000002")
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	s.now = s.now.Add(time.Minute)
	plan := s.begin(t)
	for range 3 {
		s.page(t, plan.Cycle, 1, "1000000001", "1000000002", "1000000003")
	}
	s.page(t, plan.Cycle, 2, "1000000003", "1000000004")
	c := s.get(t).Current
	require.Equal(t, []int{4, 1}, []int{c.Seen, c.Skipped})
	require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
	c = s.get(t).Last
	require.Equal(t, []int{4, 1}, []int{c.Seen, c.Skipped})
}

// A building is visited as one advert, and its units are the adverts that are stored and published. One that its page no
// longer shows is gone, and all are when the building is; what comes back is offered again.
func TestUnitsOfABuilding(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.begin(t)
	const building = "1000000001"
	require.Equal(t, []string{building + " new", "1000000002 new"}, s.page(t, 1, 1, building, "1000000002"))
	found := func(cycle int64, units ...string) {
		t.Helper()
		s.now = s.now.Add(time.Second)
		f := s.find(t, building, "new", 100_000)
		f.Payload = nil
		for _, id := range units {
			u := s.find(t, building+"-"+id, "new", 100_000)
			u.Raw.PlatformID = building + "-" + id
			u.Payload = []byte(`{"platform":"kijiji","platform_id":"` + u.Raw.PlatformID + `"}`)
			f.Units = append(f.Units, scrape.FoundUnit{Raw: u.Raw, Payload: u.Payload})
		}
		require.NoError(t, s.Found(t.Context(), cycle, f))
		require.NoError(t, s.Found(t.Context(), cycle, f), "it may be repeated")
	}
	offered := func() []string {
		t.Helper()
		return dbtest.Query[string](t, s.pool, "SELECT platform_id FROM raw_listings WHERE gone_at IS NULL ORDER BY 1")
	}
	found(1, "1", "2")
	s.found(t, 1, "1000000002", "new", 100_000)
	require.Equal(t, []string{building + "-1", building + "-2", "1000000002"}, offered())
	require.Equal(t, 3, s.count(t, "SELECT count(*)::int FROM outbox WHERE exchange = 'scraped'"), "a message a unit, once")
	require.Empty(t, s.page(t, 1, 1, building, "1000000002"), "the building was visited")
	require.Equal(t, 2, s.get(t).Current.New, "a visit counts once, however many units there are")

	dbtest.Exec(t, s.pool, "UPDATE raw_listings SET status = 'rejected' WHERE platform_id = '"+building+"-1'")
	require.Equal(t, 1, s.get(t).Current.Rejected)

	found(1, "2", "3")
	require.Equal(t, []string{building + "-2", building + "-3", "1000000002"}, offered(), "unit 1 is let")
	found(1, "1", "2", "3")
	require.Len(t, offered(), 4, "unit 1 is offered again")

	s.now = s.now.Add(time.Second)
	ref := listing.Ref{Platform: "kijiji", PlatformID: building}
	require.NoError(t, s.Gone(t.Context(), ref, 1, "removed", s.now))
	require.Equal(t, []string{"1000000002"}, offered())
	require.Zero(t, s.count(t, "SELECT count(*)::int FROM platform_units"))
	found(1, "1", "2")
	require.Len(t, offered(), 3)

	// Missing from two complete cycles.
	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	for cycle := int64(2); cycle <= 3; cycle++ {
		s.now = s.now.Add(time.Hour)
		require.Equal(t, cycle, s.begin(t).Cycle)
		s.page(t, cycle, 1, "1000000002")
		require.NoError(t, s.End(t.Context(), "kijiji", cycle, "", s.now))
	}
	require.Equal(t, []string{"1000000002"}, offered())
	require.Zero(t, s.count(t, "SELECT count(*)::int FROM platform_units"))

	// Another search forgets the building, and its units with it.
	s.now = s.now.Add(time.Hour)
	cycle := s.begin(t).Cycle
	s.page(t, cycle, 1, building)
	found(cycle, "1")
	other := kijiji
	other.URL += "?x"
	require.NoError(t, s.Configure(t.Context(), "kijiji", other, s.now))
	require.Zero(t, s.count(t, "SELECT count(*)::int FROM platform_units"))
	require.Contains(t, offered(), building+"-1")
}
