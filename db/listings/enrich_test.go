package listings_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

func TestEnrichment(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	gas := listing.Fact{Field: "heating", Value: "gas", From: "description", Text: "au gaz"}
	roof := listing.Fact{Field: "amenity", Value: "rooftop", From: "model", Text: "toit-terrasse"}

	of, err := s.Enriching(t.Context(), l.ID())
	require.NoError(t, err)
	require.Nil(t, of.Stored)
	require.Equal(t, l.Title, of.Listing.Title)
	require.EqualValues(t, 1, of.Revision)
	_, err = s.Enriching(t.Context(), refOf("unknown").ID())
	dbtest.RequireClass(t, fault.Gone, err)

	events := func() int64 { return dbtest.Count(t, pool, "outbox WHERE routing_key = 'listings.enriched'") }
	require.NoError(t, s.SaveEnrichment(t.Context(), of, listing.Enrichment{Question: []byte("q")}, dbtest.After(1)))
	require.Zero(t, events(), "nothing is known yet")
	detail, err := s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	require.Empty(t, detail.Enrichment.Facts)
	require.Nil(t, detail.Rent, "it is nowhere")

	e := listing.Enrichment{
		Facts: []listing.Fact{gas}, Places: []listing.Nearby{{Kind: "metro", Name: "Jarry", Metres: 420}},
		Attribution: "© the city", Question: []byte("q"),
	}
	for range 2 { // a step that runs twice
		require.NoError(t, s.SaveEnrichment(t.Context(), of, e, dbtest.After(2)))
	}
	require.EqualValues(t, 1, events())
	of, err = s.Enriching(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, &e, of.Stored)

	e.Model = []listing.Fact{roof}
	require.NoError(t, s.SaveEnrichment(t.Context(), of, e, dbtest.After(3)))
	require.EqualValues(t, 2, events())
	var told contract.Event
	body := dbtest.Query[[]byte](t, pool, "SELECT body FROM outbox WHERE routing_key = 'listings.enriched' ORDER BY id DESC LIMIT 1")
	require.NoError(t, json.Unmarshal(body[0], &told))
	var data contract.EnrichedData
	require.NoError(t, json.Unmarshal(told.Data, &data))
	require.Equal(t, contract.EnrichedData{
		ListingID: l.ID().String(), PlatformID: "1", Revision: 1, URL: l.URL, Enrichment: contract.Enrichment{
			Facts:  []contract.Fact{{Field: "amenity", Value: "rooftop", From: "model"}, {Field: "heating", Value: "gas", From: "description"}},
			Places: []contract.Nearby{{Kind: "metro", Name: "Jarry", Metres: 420}}, Attribution: "© the city",
		},
	}, data)

	// The answer is known to every advert with the same question, and stays while the question does.
	answer, err := s.ModelAnswer(t.Context(), []byte("q"))
	require.NoError(t, err)
	require.Equal(t, e.Model, answer)
	answer, err = s.ModelAnswer(t.Context(), []byte("another"))
	require.NoError(t, err)
	require.Nil(t, answer)
	e.Model = nil
	require.NoError(t, s.SaveEnrichment(t.Context(), of, e, dbtest.After(4)))
	detail, err = s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, []listing.Fact{roof, gas}, detail.Enrichment.All())
	require.Equal(t, dbtest.After(4), detail.Enrichment.UpdatedAt.UTC())
	e.Question = []byte("another")
	require.NoError(t, s.SaveEnrichment(t.Context(), of, e, dbtest.After(5)))

	// A frozen worker's older version changes and tells nothing.
	of.Revision = 0
	before := events()
	require.NoError(t, s.SaveEnrichment(t.Context(), of, listing.Enrichment{}, dbtest.After(6)))
	detail, err = s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, []listing.Fact{gas}, detail.Enrichment.All())
	require.Equal(t, before, events())

	// Nor does one of an advert that was deleted meanwhile.
	of.Revision, of.Listing.Ref = 2, refOf("deleted")
	require.NoError(t, s.SaveEnrichment(t.Context(), of, e, dbtest.After(7)))
	require.EqualValues(t, 1, dbtest.Count(t, pool, "listing_enrichments"))
	require.Equal(t, before, events())
}

// A listing is published together with its enrichment: once, and not by a worker that was frozen.
func TestPublishEnriched(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := normalized(refOf("1"))
	receive(t, s, arrival(l.Ref, l.Title, 0))
	require.NoError(t, s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(0)))
	first, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.Nil(t, first.Enriched)
	gas := listing.Enrichment{
		Facts:  []listing.Fact{{Field: "heating", Value: "gas", From: "description", Text: "au gaz"}},
		Places: []listing.Nearby{}, Question: []byte{},
	}
	oil := gas
	oil.Facts = []listing.Fact{{Field: "heating", Value: "oil", From: "description", Text: "au mazout"}}
	publish := func(v listing.Version, e *listing.Enrichment) {
		_, err := s.Publish(t.Context(), listing.Publication{Version: v, Enrichment: e}, runOf(l.Ref), dbtest.After(1))
		require.NoError(t, err)
	}
	for range 2 { // a step that runs twice
		publish(first, &gas)
	}
	require.Equal(t, []string{"listings.normalized", "listings.published"},
		dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox ORDER BY id"))
	told := func() (out []*contract.Enrichment) { // by listings.published
		for _, body := range dbtest.Query[[]byte](t, pool, "SELECT body FROM outbox WHERE routing_key = 'listings.published' ORDER BY id") {
			var e contract.Event
			require.NoError(t, json.Unmarshal(body, &e))
			var data contract.ListingData
			require.NoError(t, json.Unmarshal(e.Data, &data))
			out = append(out, data.Enrichment)
		}
		return out
	}
	known := func(heating string) *contract.Enrichment {
		return &contract.Enrichment{
			Facts: []contract.Fact{{Field: "heating", Value: heating, From: "description"}}, Places: []contract.Nearby{},
		}
	}
	require.Equal(t, []*contract.Enrichment{known("gas")}, told())
	v, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, &gas, v.Enriched)
	require.EqualValues(t, 1, v.EnrichedOf)
	of, err := s.Enriching(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, v.Enriching(), of)

	events := func() int64 { return dbtest.Count(t, pool, "outbox WHERE routing_key = 'listings.enriched'") }
	publish(v, &oil) // a replay by better rules
	require.EqualValues(t, 1, events())
	v, err = s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	publish(v, &gas) // and one by those from before
	require.EqualValues(t, 2, events(), "what returns is told as well")

	first.Revision = 0
	publish(first, &oil)
	publish(v, nil)
	require.EqualValues(t, 2, events())
	detail, err := s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, gas.Facts, detail.Enrichment.Facts)

	// What another version does not change is not told again.
	for i, e := range []listing.Enrichment{gas, oil} {
		l.Title += "!"
		l.ScrapedAt = dbtest.After(10 + i)
		receive(t, s, arrival(l.Ref, l.Title, 10+i))
		require.NoError(t, s.SaveNormalized(t.Context(), l, payload(int64(2+i)), dbtest.After(10+i)))
		v, err = s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		publish(v, &e)
	}
	require.Equal(t, []*contract.Enrichment{known("gas"), nil, known("oil")}, told())
	require.EqualValues(t, 2, events())
}

// However many processes ask at once, a day has so many questions.
func TestTakeQuestion(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			ok, err := s.TakeQuestion(t.Context(), 5, dbtest.Start)
			require.NoError(t, err) //nolint:testifylint // ends this goroutine only, and fails the test
			if ok {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 5, taken.Load())
	ok, err := s.TakeQuestion(t.Context(), 5, dbtest.Start.AddDate(0, 0, 1))
	require.NoError(t, err)
	require.True(t, ok, "a new day")
	ok, err = s.TakeQuestion(t.Context(), 0, dbtest.Start.AddDate(0, 0, 2))
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = s.TakeQuestion(t.Context(), 5, dbtest.Start.AddDate(0, 3, 0))
	require.NoError(t, err)
	require.True(t, ok)
}

func TestRentCompared(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	add := func(id, where string, rent int64, kind string) listing.Listing {
		l := normalized(refOf(id))
		l.RentCents, l.PropertyType = rent, kind
		receive(t, s, arrival(l.Ref, id, 0))
		require.NoError(t, s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(1)))
		v, err := s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		p := listing.Publication{Version: v, Neighbourhood: where}
		_, err = s.Publish(t.Context(), p, runOf(l.Ref), dbtest.After(1))
		require.NoError(t, err)
		return l
	}
	places := dbtest.Query[string](t, pool, `SELECT key FROM neighbourhoods WHERE borough = (
		SELECT borough FROM neighbourhoods WHERE borough <> '' GROUP BY 1 HAVING count(*) > 2 ORDER BY 1 LIMIT 1) ORDER BY key LIMIT 2`)
	mine := add("mine", places[0], 110_000, "condo")
	compared := func() *listing.RentComparison {
		d, err := s.Detail(t.Context(), mine.ID())
		require.NoError(t, err)
		return d.Rent
	}
	for i := range listing.MinRentSample - 1 {
		add(fmt.Sprintf("near%d", i), places[0], int64(100_000+i*1000), "apartment")
	}
	add("room", places[0], 50_000, "room")
	require.Nil(t, compared(), "one too few: rooms are not homes")

	for i := range 4 {
		add(fmt.Sprintf("far%d", i), places[1], 200_000, "apartment")
	}
	borough := dbtest.Query[string](t, pool, "SELECT borough FROM neighbourhoods WHERE key = $1", places[0])[0]
	want := &listing.RentComparison{Scope: "borough", Place: borough, Sample: 13, MedianCents: 106_000, Percent: 4}
	require.Equal(t, want, compared())

	add("near", places[0], 100_000, "")
	want = &listing.RentComparison{Scope: "neighbourhood", Place: places[0], Sample: 10, MedianCents: 103_000, Percent: 7}
	require.Equal(t, want, compared())

	join := func(home listing.Ref, shown string, ids ...string) {
		dbtest.Exec(t, pool, fmt.Sprintf("INSERT INTO homes VALUES ('%s', '%s', NULL, now(), now())", home.ID(), refOf(shown).ID()))
		for _, id := range ids {
			dbtest.Exec(t, pool, fmt.Sprintf("INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at) "+
				"VALUES ('%s', '%s', '{}', 1, now())", refOf(id).ID(), home.ID()))
		}
	}
	add("again", places[0], 104_500, "apartment")
	join(refOf("near4"), "again", "near4", "again") // 104,000 before
	want.MedianCents = 103_000
	require.Equal(t, want, compared(), "a home counts once")
	add("also", places[0], 111_000, "condo")
	join(mine.Ref, "mine", "mine", "also")
	require.Equal(t, want, compared(), "another advert of its home is no other home")

	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'archived' WHERE id = $1", refOf("near").ID())
	require.NoError(t, err)
	require.Equal(t, "borough", compared().Scope, "what is not offered does not count")

	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
	require.NoError(t, err)
	plan := dbtest.GenericPlan(t.Context(), t, conn.Conn(), "compared", dbtest.Statements(t)["sqlRentCompared"])
	require.NotRegexp(t, `Seq Scan on (listings|home_members|homes)\b`, plan)
}
