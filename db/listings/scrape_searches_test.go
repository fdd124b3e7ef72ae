package listings_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

var rooms = scrape.Search{Platform: "kijiji", Name: "rooms"}

func (s *scraped) entry(action string) db.AuditEntry {
	return db.AuditEntry{At: s.now, Actor: "ann", Action: action, Subject: "platform/kijiji"}
}

// put adds the search "rooms", or changes it.
func (s *scraped) put(t *testing.T, p dblistings.SearchPut) (created bool) {
	t.Helper()

	p.URL = "http://127.0.0.1/b-room-rental-roommate/montreal/c36l1700281" + p.URL
	created, err := s.PutSearch(t.Context(), rooms, p, s.entry("platform.search_put"))
	require.NoError(t, err)
	return created
}

// shows stores that the first page of a search shows these adverts, and returns why each must be visited.
func (s *scraped) shows(t *testing.T, of scrape.Search, cycle int64, ids ...string) []string {
	t.Helper()

	r := scrape.Results{Total: len(ids)}
	for _, id := range ids {
		r.Cards = append(r.Cards, card(id))
	}
	visits, err := s.Seen(t.Context(), of, cycle, 1, r, s.now)
	require.NoError(t, err)
	out := []string{}
	for _, v := range visits {
		out = append(out, v.PlatformID+" "+v.Why)
	}
	return out
}

func (s *scraped) end(t *testing.T, cycle int64) {
	t.Helper()
	require.NoError(t, s.End(t.Context(), "kijiji", cycle, "", s.now))
}

func TestSearchesOfAPlatform(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	require.True(t, s.put(t, dblistings.SearchPut{SearchSettings: dblistings.SearchSettings{
		Delay: new(20 * time.Second), Cooldown: new(time.Hour), MaxPages: new(2)}}))
	require.Equal(t, scrape.Plan{Go: true, Cycle: 1, Page: 1}, s.begin(t), "both begin, the one of the settings first")
	require.Equal(t, []string{"1000000001 new", "1000000002 new"}, s.shows(t, kijijiSearch, 1, "1000000001", "1000000002"))
	require.Equal(t, scrape.Plan{Go: true, Search: "rooms", Cycle: 2, Page: 1}, s.begin(t), "they take turns")
	s.found(t, 1, "1000000002", scrape.New, 90_000)
	require.Equal(t, []string{"1000000003 new"}, s.shows(t, rooms, 2, "1000000002", "1000000003"), "an advert of both is visited once")
	s.found(t, 2, "1000000003", scrape.New, 90_000)

	p := s.get(t)
	require.Len(t, p.Searches, 2)
	r := p.Searches[1]
	require.Equal(t, []any{"rooms", "scraping", 20.0, 2, 2}, []any{r.Name, r.State, r.Settings.DelaySeconds, r.Settings.MaxPages, r.Current.Seen})
	require.Equal(t, 20*time.Second, *r.Own.Delay)
	require.Nil(t, r.Own.Look)
	require.EqualValues(t, 1, p.Current.Cycle)

	// After a request a search's own delay passes, whoever is next.
	first, err := s.Turn(t.Context(), rooms, 0, s.now)
	require.NoError(t, err)
	second, err := s.Turn(t.Context(), kijijiSearch, 0, s.now)
	require.NoError(t, err)
	third, err := s.Turn(t.Context(), rooms, 0, s.now)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{20 * time.Second, 9 * time.Second},
		[]time.Duration{second.At.Sub(first.At), third.At.Sub(second.At)})
	require.Equal(t, r.URL, first.Settings.URL)

	s.end(t, 1)
	s.end(t, 2)
	require.Equal(t, "begins cycle 3 in 1m0s", s.get(t).Next)
	require.Equal(t, scrape.Plan{Wait: time.Minute}, s.begin(t), "the cooldown of the other is an hour")

	s.put(t, dblistings.SearchPut{Paused: true})
	s.now = s.now.Add(2 * time.Hour)
	require.Equal(t, scrape.Plan{Go: true, Cycle: 3, Page: 1}, s.begin(t))
	require.Equal(t, "paused", s.get(t).Searches[1].State)
	require.Equal(t, "scraping", s.get(t).State)
	turn, err := s.Turn(t.Context(), rooms, 0, s.now)
	require.NoError(t, err)
	require.Equal(t, scrape.Paused, turn.Stopped)
}

// A search whose address changes, or that is removed, leaves nothing behind but what others show.
func TestSearchesAreForgotten(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.put(t, dblistings.SearchPut{})
	s.begin(t)
	s.shows(t, kijijiSearch, 1, "1000000001", "1000000002")
	s.shows(t, rooms, 2, "1000000002", "1000000003")
	ids := func() []string {
		return dbtest.Query[string](t, s.pool, "SELECT platform_id FROM platform_adverts ORDER BY 1")
	}
	require.False(t, s.put(t, dblistings.SearchPut{URL: "?of=laval"}))
	require.Equal(t, []string{"1000000001", "1000000002"}, ids())
	require.EqualValues(t, 2, s.get(t).Adverts.Known)
	require.Equal(t, "another search", s.get(t).Searches[1].Last.Note)
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Now: true}, s.entry("platform.scrape_wanted")))
	s.begin(t)
	s.shows(t, rooms, 3, "1000000004")

	remove := func() error { return s.RemoveSearch(t.Context(), rooms, s.entry("platform.search_removed")) }
	require.NoError(t, remove())
	require.Equal(t, []string{"1000000001", "1000000002"}, ids())
	dbtest.RequireClass(t, fault.Gone, remove())
	turn, err := s.Turn(t.Context(), rooms, 0, s.now)
	require.NoError(t, err)
	require.Equal(t, scrape.Disabled, turn.Stopped)
	s.shows(t, rooms, 3, "1000000001")
	require.Zero(t, s.count(t, "SELECT count(*) FROM platform_sightings WHERE search = 'rooms'"), "a page that was on its way")

	err = s.RemoveSearch(t.Context(), kijijiSearch, s.entry("platform.search_removed"))
	dbtest.RequireClass(t, fault.Conflict, err)
	for n := range scrape.MaxSearches - 1 {
		of := scrape.Search{Platform: "kijiji", Name: fmt.Sprint("s", n)}
		_, err := s.PutSearch(t.Context(), of, dblistings.SearchPut{URL: "http://127.0.0.1/x"}, s.entry("platform.search_put"))
		require.NoError(t, err)
	}
	_, err = s.PutSearch(t.Context(), rooms, dblistings.SearchPut{URL: "http://127.0.0.1/x"}, s.entry("platform.search_put"))
	dbtest.RequireClass(t, fault.Conflict, err)
	_, err = s.PutSearch(t.Context(), scrape.Search{Platform: "none", Name: "x"}, dblistings.SearchPut{}, s.entry("platform.search_put"))
	dbtest.RequireClass(t, fault.Gone, err)
}

// A suspicion about the pages of one search outlasts good pages of another.
func TestSearchesAreSuspectedApart(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.put(t, dblistings.SearchPut{})
	s.begin(t)
	s.shows(t, kijijiSearch, 1, "1000000001")
	_, err := s.NoResults(t.Context(), rooms, 2, 1, -1, "no adverts on a page that is not the last", s.now)
	require.NoError(t, err)
	require.Equal(t, "search rooms: no adverts on a page that is not the last", s.get(t).Suspect.Reason)
	s.shows(t, kijijiSearch, 1, "1000000001")
	require.NotNil(t, s.get(t).Suspect)
	s.shows(t, rooms, 2, "1000000002")
	require.Nil(t, s.get(t).Suspect)
}

// A search whose proxy fails waits, with its open cycle, while the others go on.
func TestSearchesFailApart(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.put(t, dblistings.SearchPut{})
	s.begin(t)
	require.NoError(t, s.Unreached(t.Context(), rooms, "proxy: no route", s.now.Add(time.Minute), s.now))
	require.Equal(t, "proxy: no route", s.get(t).Searches[1].Trouble.Reason)
	first := s.now
	require.NoError(t, s.Unreached(t.Context(), rooms, "proxy: refused", s.now.Add(time.Minute), s.now.Add(time.Second)))
	trouble := s.get(t).Searches[1].Trouble
	require.Equal(t, "proxy: refused", trouble.Reason)
	require.Equal(t, first, trouble.Since.UTC())
	require.NoError(t, s.Unreached(t.Context(), rooms, "proxy: no route", s.now.Add(time.Minute), s.now))
	require.Equal(t, scrape.Plan{Go: true, Cycle: 1, Page: 1}, s.begin(t))
	s.shows(t, kijijiSearch, 1, "1000000001")
	s.end(t, 1)
	require.Equal(t, scrape.Plan{Wait: time.Minute}, s.begin(t))
	s.now = s.now.Add(time.Minute)
	require.Equal(t, scrape.Plan{Go: true, Search: "rooms", Cycle: 2, Page: 1}, s.begin(t))
	s.shows(t, rooms, 2, "1000000002")
	require.Nil(t, s.get(t).Searches[1].Trouble)
}

// Two searches show adverts, miss them, and visit some, at random: an advert is gone exactly when scrape.IsGone says so
// of the search that misses it the least.
func TestGoneOfTwoSearches(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	s.put(t, dblistings.SearchPut{})
	dice := rand.New(rand.NewPCG(15, 1))
	const adverts = 8
	type known struct {
		missed  map[scrape.Search]int
		visited time.Time
		gone    bool
	}
	model := map[string]*known{}
	gone := 0
	for round := range 40 {
		s.now = s.now.Add(2 * time.Minute)
		for range 2 {
			plan := s.begin(t)
			require.True(t, plan.Go, "round %d: %+v", round, plan)
			of := kijijiSearch
			if plan.Search != "" {
				of = rooms
			}
			started := s.now
			var shown []string
			for n := range adverts {
				id := fmt.Sprint(1000000001 + n)
				if of == kijijiSearch && n == 0 || dice.IntN(3) == 0 { // a search that shows none is suspect
					shown = append(shown, id)
				}
			}
			s.now = s.now.Add(time.Second)
			s.shows(t, of, plan.Cycle, shown...)
			seen := map[string]bool{}
			for _, id := range shown {
				seen[id] = true
				if model[id] == nil {
					model[id] = &known{missed: map[scrape.Search]int{}}
				}
				model[id].missed[of] = 0
				if model[id].gone || dice.IntN(2) == 0 { // what is back is visited
					s.found(t, plan.Cycle, id, scrape.New, 90_000)
					model[id].visited, model[id].gone = s.now, false
				}
			}
			s.end(t, plan.Cycle)
			for id, k := range model {
				if _, shows := k.missed[of]; !shows || seen[id] || k.gone {
					continue
				}
				k.missed[of]++
				least := scrape.GoneForSure
				for _, n := range k.missed {
					least = min(least, n)
				}
				if scrape.IsGone(least, k.visited, started) {
					k.gone = true
					gone++
				}
			}
			var want []string
			for id, k := range model {
				if k.gone {
					want = append(want, id)
				}
			}
			got := dbtest.Query[string](t, s.pool, "SELECT platform_id FROM platform_adverts WHERE gone_at IS NOT NULL")
			require.ElementsMatch(t, want, got, "round %d, %s", round, of.Name)
		}
	}
	require.Greater(t, gone, 10, "some went")
}
