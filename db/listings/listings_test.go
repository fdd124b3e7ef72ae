package listings_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func ptr[T any](v T) *T { return &v }

func refOf(id string) listing.Ref { return listing.Ref{Platform: "kijiji", PlatformID: id} }

// runOf is the workflow run of an advert.
func runOf(ref listing.Ref) listing.Run {
	return listing.Run{WorkflowID: "listing/" + ref.String(), RunID: "run-1"}
}

// arrival is a scraped message with a title, scraped some minutes after the start.
func arrival(ref listing.Ref, title string, minutes int) dblistings.Arrival {
	raw := listing.Raw{Ref: ref, URL: "https://k.example/" + ref.PlatformID, ScrapedAt: dbtest.After(minutes), Title: title}
	payload, err := json.Marshal(raw)
	if err != nil {
		panic(err)
	}
	sum, err := hex.DecodeString(listing.ContentHash(raw))
	if err != nil {
		panic(err)
	}
	return dblistings.Arrival{Ref: ref, URL: raw.URL, Payload: payload, ContentHash: sum, ScrapedAt: raw.ScrapedAt}
}

// normalized is a listing that can be published.
func normalized(ref listing.Ref) listing.Listing {
	return listing.Listing{
		Ref: ref, URL: "https://k.example/" + ref.PlatformID, ScrapedAt: dbtest.Start, Title: "4 ½ à louer", RentCents: 125_000,
		Bedrooms: 2, ImageURLs: []string{"http://i.example/1.jpg", "http://i.example/2.jpg"},
	}
}

// payload is that of a revision, of its first pass.
func payload(revision int64) listing.Payload { return listing.Payload{Revision: revision} }

// told returns the names of the events in the outbox, in the order of writing.
func told(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox ORDER BY id")
}

// receive stores one arrival.
func receive(t testing.TB, s *dblistings.Listings, a dblistings.Arrival) dblistings.Receipt {
	t.Helper()

	got, err := s.Receive(t.Context(), []dblistings.Arrival{a}, a.ScrapedAt)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, a.Ref.ID(), got[0].ID)
	return got[0]
}

// publish brings a listing to its end as its workflow does: load, then publish.
func publish(t testing.TB, s *dblistings.Listings, l listing.Listing, revision int64, minutes int) []listing.Image {
	t.Helper()

	require.NoError(t, s.SaveNormalized(t.Context(), l, payload(revision), dbtest.After(minutes)))
	v, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	pending, err := s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(minutes))
	require.NoError(t, err)
	return pending
}

// imported stores and publishes an advert, and returns its listing.
func imported(t testing.TB, s *dblistings.Listings, id string) listing.Listing {
	t.Helper()

	l := normalized(refOf(id))
	receive(t, s, arrival(l.Ref, l.Title, 0))
	publish(t, s, l, 1, 0)
	return l
}

// late is the number of a revision that was scraped some minutes after the start, and arrived after a newer one.
func late(minutes int) int64 { return -dbtest.After(minutes).UnixMicro() }

func TestReceive(t *testing.T) {
	t.Parallel()

	type step struct {
		title   string
		minutes int  // when it was scraped
		settle  bool // bring the current revision to its end first
		want    dblistings.Receipt
	}
	for _, tt := range []struct {
		name                       string
		steps                      []step
		scrapes                    int64
		revisions                  []int64
		title                      string
		status                     string
		firstMinutes, lastMinutes  int
		payloadMinutes, wantEvents int
	}{
		{
			"a new advert", []step{{"a", 5, false, dblistings.Receipt{Revision: 1}}},
			1, []int64{1}, "a", "scraped", 5, 5, 5, 0,
		},
		{
			"the same again, still on its way",
			[]step{{"a", 5, false, dblistings.Receipt{Revision: 1}}, {"a", 6, false, dblistings.Receipt{Revision: 1}}},
			2, []int64{1}, "a", "scraped", 5, 6, 5, 0,
		},
		{
			"unchanged is settled on arrival",
			[]step{{"a", 5, false, dblistings.Receipt{Revision: 1}}, {"a", 6, true, dblistings.Receipt{Revision: 1, Settled: true}}},
			2, []int64{1}, "a", "duplicate", 5, 6, 5, 0,
		},
		{
			"a change is work again",
			[]step{{"a", 5, false, dblistings.Receipt{Revision: 1}}, {"b", 6, true, dblistings.Receipt{Revision: 2}}},
			2, []int64{1, 2}, "b", "scraped", 5, 6, 6, 0,
		},
		{
			"a change back is a revision of its own",
			[]step{
				{"a", 5, false, dblistings.Receipt{Revision: 1}}, {"b", 6, true, dblistings.Receipt{Revision: 2}},
				{"a", 7, true, dblistings.Receipt{Revision: 3}},
			},
			3, []int64{1, 2, 3}, "a", "scraped", 5, 7, 7, 0,
		},
		{
			"an older message with other content is kept and changes nothing",
			[]step{{"b", 5, false, dblistings.Receipt{Revision: 1}}, {"a", 4, true, dblistings.Receipt{Revision: 1, Settled: true}}},
			2, []int64{late(4), 1}, "b", "duplicate", 4, 5, 5, 0,
		},
		{
			"other content from between two scrapes that agree is kept once and changes nothing",
			[]step{
				{"a", 1, false, dblistings.Receipt{Revision: 1}}, {"a", 9, false, dblistings.Receipt{Revision: 1}},
				{"b", 5, true, dblistings.Receipt{Revision: 1, Settled: true}}, {"b", 5, true, dblistings.Receipt{Revision: 1, Settled: true}},
				{"b", 6, true, dblistings.Receipt{Revision: 1, Settled: true}},
			},
			5, []int64{late(5), 1}, "a", "duplicate", 1, 9, 1, 0,
		},
		{
			"a message delivered twice",
			[]step{{"a", 5, false, dblistings.Receipt{Revision: 1}}, {"a", 5, false, dblistings.Receipt{Revision: 1}}},
			2, []int64{1}, "a", "scraped", 5, 5, 5, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s, ref := dblistings.NewListings(pool), refOf("1")
			revision := int64(0)
			for _, step := range tt.steps {
				if step.settle {
					require.NoError(t, s.SaveDuplicate(t.Context(), ref, revision, refOf("2").ID(), nil, runOf(ref), dbtest.Start))
				}
				got := receive(t, s, arrival(ref, step.title, step.minutes))
				step.want.ID = ref.ID()
				require.Equal(t, step.want, got)
				revision = got.Revision
			}
			var (
				scrapes                int64
				title, status          string
				first, last, payloadAt time.Time
			)
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT scrapes, payload->>'title', status, first_scraped_at,
				last_scraped_at, payload_at FROM raw_listings`).Scan(&scrapes, &title, &status, &first, &last, &payloadAt))
			require.Equal(t, tt.scrapes, scrapes)
			require.Equal(t, tt.title, title)
			require.Equal(t, tt.status, status)
			require.Equal(t, []time.Time{dbtest.After(tt.firstMinutes), dbtest.After(tt.lastMinutes), dbtest.After(tt.payloadMinutes)},
				[]time.Time{first.UTC(), last.UTC(), payloadAt.UTC()})
			require.Equal(t, tt.revisions, dbtest.Query[int64](t, pool,
				"SELECT revision FROM raw_listing_revisions ORDER BY revision"))
			require.Empty(t, told(t, pool))
		})
	}
}

func TestReceiveOneAdvertTwiceInABatch(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, one, two := dblistings.NewListings(pool), refOf("1"), refOf("2")
	got, err := s.Receive(t.Context(), []dblistings.Arrival{
		arrival(one, "a", 1), arrival(two, "x", 1), arrival(one, "b", 2), arrival(one, "b", 3),
	}, dbtest.After(4))
	require.NoError(t, err)
	require.Equal(t, []dblistings.Receipt{
		{ID: one.ID(), Revision: 1}, {ID: two.ID(), Revision: 1}, {ID: one.ID(), Revision: 2}, {ID: one.ID(), Revision: 2},
	}, got)
	require.Equal(t, []string{"a", "b"}, dbtest.Query[string](t, pool, `SELECT payload->>'title' FROM raw_listing_revisions
		WHERE listing_id = $1 ORDER BY revision`, one.ID()))
	require.Equal(t, []int64{3}, dbtest.Query[int64](t, pool, "SELECT scrapes FROM raw_listings WHERE id = $1", one.ID()))
}

// TestReceiveConcurrently: two bridges that store the same adverts in different orders wait for one another and never
// deadlock.
func TestReceiveConcurrently(t *testing.T) {
	t.Parallel()

	const adverts, bridges, rounds = 300, 4, 5
	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	var work sync.WaitGroup
	errs, seed := make([]error, bridges), servicetest.Seed(t)
	for i := range bridges {
		work.Go(func() {
			dice := rand.New(rand.NewPCG(seed, uint64(i)))
			for round := range rounds {
				batch := make([]dblistings.Arrival, adverts)
				for k, n := range dice.Perm(adverts) {
					batch[k] = arrival(refOf(fmt.Sprint(n)), fmt.Sprint("v", round), round)
				}
				if _, err := s.Receive(t.Context(), batch, dbtest.After(round)); err != nil {
					errs[i] = err
				}
			}
		})
	}
	work.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, int64(adverts), dbtest.Count(t, pool, "raw_listings WHERE scrapes = $1", bridges*rounds))
	require.Equal(t, int64(adverts),
		dbtest.Count(t, pool, "raw_listings WHERE payload->>'title' = $1", fmt.Sprint("v", rounds-1)))
	require.Zero(t, dbtest.Count(t, pool, `raw_listings r WHERE revision <>
		(SELECT count(*) FROM raw_listing_revisions v WHERE v.listing_id = r.id AND revision > 0)`))
}

// TestReceiveNewConcurrently: two bridges that both see a new advert first store it once, and neither fails.
func TestReceiveNewConcurrently(t *testing.T) {
	t.Parallel()

	const adverts, bridges, rounds = 40, 4, 15
	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for round := range rounds {
		batch := make([]dblistings.Arrival, adverts)
		for n := range batch {
			batch[n] = arrival(refOf(fmt.Sprintf("%d-%d", round, n)), "x", 1)
		}
		errs := make(chan error, bridges)
		for range bridges {
			go func() {
				_, err := s.Receive(t.Context(), batch, dbtest.After(1))
				errs <- err
			}()
		}
		for range bridges {
			require.NoError(t, <-errs)
		}
	}
	require.Equal(t, int64(adverts*rounds), dbtest.Count(t, pool, "raw_listings WHERE scrapes = $1", bridges))
}

// TestReceiveBadJSON: JSON that Go accepts and Postgres does not can never be stored, so it must not be tried again.
func TestReceiveBadJSON(t *testing.T) {
	t.Parallel()

	deep := func(n int) string {
		b := make([]byte, 0, 2*n)
		for range n {
			b = append(b, '[')
		}
		for range n {
			b = append(b, ']')
		}
		return string(b)
	}
	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for i, tt := range []struct {
		name, extra string
		class       fault.Class
	}{
		{"half of a surrogate pair", `"\ud800"`, fault.Invalid},
		{"the other half alone", `"\udc00x"`, fault.Invalid},
		{"an escaped NUL", `"\u0000"`, fault.Invalid},
		{"a number without end", `1e999999`, fault.Invalid},
		{"a nesting that exhausts the stack", deep(200_000), fault.Invalid},
		{"a large number", `1e400`, ""},
		{"a nesting as deep as Go takes", deep(9_000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := arrival(refOf(fmt.Sprint("bad-", i)), "x", 1)
			a.Payload = append(a.Payload[:len(a.Payload)-1], `,"extra":`+tt.extra+`}`...)
			good := arrival(refOf(fmt.Sprint("good-", i)), "x", 1)
			_, err := s.Receive(t.Context(), []dblistings.Arrival{good, a}, dbtest.After(1))
			dbtest.RequireClass(t, tt.class, err)
			stored := int64(0)
			if tt.class == "" {
				stored = 2
			}
			require.Equal(t, stored, dbtest.Count(t, pool, "raw_listings WHERE id IN ($1, $2)", a.Ref.ID(), good.Ref.ID()))
		})
	}
}

func TestReceiveWithPostgresAway(t *testing.T) {
	t.Parallel()

	pool, err := db.Open(t.Context(), "postgres://nobody@127.0.0.1:1/nothing", 1)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = dblistings.NewListings(pool).Receive(t.Context(), []dblistings.Arrival{arrival(refOf("1"), "x", 1)}, dbtest.Start)
	dbtest.RequireClass(t, fault.Transient, err)
}

func TestReceiveStaged(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, ref := dblistings.NewListings(pool), refOf("1")
	l := normalized(ref)
	staged := func(title string, minutes int) dblistings.Receipt {
		t.Helper()
		a := arrival(ref, "staged "+title, minutes)
		l.Title = title
		got, err := s.ReceiveStaged(t.Context(), a, 0, l, dbtest.After(minutes))
		require.NoError(t, err)
		return got
	}
	state := func() (revision int64, title, payload string) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT revision, normalized->>'title', payload->>'title'
			FROM raw_listings`).Scan(&revision, &title, &payload))
		return revision, title, payload
	}
	id := ref.ID()
	receive(t, s, arrival(ref, "raw", 5))

	require.Equal(t, dblistings.Receipt{ID: id, Revision: 1}, staged("of our scrape", 5), "keeps the raw payload")
	revision, title, payload := state()
	require.Equal(t, []any{int64(1), "of our scrape", "raw"}, []any{revision, title, payload})

	require.Equal(t, dblistings.Receipt{ID: id, Settled: true, Overtaken: true}, staged("an older one", 4), "changes nothing")
	_, title, _ = state()
	require.Equal(t, "of our scrape", title)

	require.Equal(t, dblistings.Receipt{ID: id, Revision: 2}, staged("a newer one", 6), "is a new revision")
	require.Equal(t, dblistings.Receipt{ID: id, Revision: 2}, staged("a newer one", 6), "delivered twice is one revision")
	revision, title, payload = state()
	require.Equal(t, []any{int64(2), "a newer one", "staged a newer one"}, []any{revision, title, payload})
	require.Equal(t, []string{"raw", "staged a newer one"}, dbtest.Query[string](t, pool,
		"SELECT payload->>'title' FROM raw_listing_revisions ORDER BY revision"))

	// A rescrape that found nothing new must not make the staged form of the first scrape an old one.
	other := refOf("2")
	receive(t, s, arrival(other, "raw", 5))
	receive(t, s, arrival(other, "raw", 7))
	got, err := s.ReceiveStaged(t.Context(), arrival(other, "staged", 5), 0, normalized(other), dbtest.After(8))
	require.NoError(t, err)
	require.Equal(t, dblistings.Receipt{ID: other.ID(), Revision: 1}, got)

	// An advert that our scrapers never saw.
	third := refOf("3")
	got, err = s.ReceiveStaged(t.Context(), arrival(third, "staged", 5), 0, normalized(third), dbtest.After(8))
	require.NoError(t, err)
	require.Equal(t, dblistings.Receipt{ID: third.ID(), Revision: 1}, got)
	require.Equal(t, int64(1), dbtest.Count(t, pool, "raw_listing_revisions WHERE listing_id = $1", third.ID()))
	v, err := s.Load(t.Context(), third.ID())
	require.NoError(t, err)
	require.Equal(t, "4 ½ à louer", v.Listing.Title)
	require.Empty(t, v.Published)
}

// TestStagedFollowsThePayload: whether an advert came normalized is said of the payload that is kept.
func TestStagedFollowsThePayload(t *testing.T) {
	t.Parallel()

	s, ref := dblistings.NewListings(dbtest.New(t)), refOf("1")
	scraped := func(title string, minutes int) { receive(t, s, arrival(ref, title, minutes)) }
	staged := func(title string, minutes int) {
		t.Helper()
		_, err := s.ReceiveStaged(t.Context(), arrival(ref, "staged "+title, minutes), 0, normalized(ref), dbtest.After(minutes))
		require.NoError(t, err)
	}
	for _, tt := range []struct {
		name     string
		receive  func(title string, minutes int)
		title    string
		minutes  int
		revision int64
		staged   bool
	}{
		{"scraped", scraped, "raw", 5, 1, false},
		{"the normalized form of that scrape keeps its payload", staged, "of it", 5, 1, false},
		{"a newer normalized form", staged, "newer", 6, 2, true},
		{"the same again", staged, "newer", 6, 2, true},
		{"another normalized form of the same scrape", staged, "corrected", 6, 2, true},
		{"an older scrape changes nothing", scraped, "late", 5, 2, true},
		{"an older normalized form changes nothing", staged, "late", 5, 2, true},
		{"scraped again", scraped, "raw", 7, 3, false},
		{"scraped once more, without a change", scraped, "raw", 8, 3, false},
		{"normalized by another team again", staged, "newest", 9, 4, true},
	} {
		tt.receive(tt.title, tt.minutes)
		p, err := s.Raw(t.Context(), ref.ID())
		require.NoError(t, err)
		require.Equal(t, tt.staged, p.Staged, tt.name)
		require.Equal(t, tt.revision, p.Revision, tt.name)
		a, err := s.Advert(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, tt.staged, a.Staged, tt.name)
	}
}

func TestRawAndLoad(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	_, err := s.Raw(t.Context(), refOf("none").ID())
	dbtest.RequireClass(t, fault.Gone, err)
	_, err = s.Load(t.Context(), refOf("none").ID())
	dbtest.RequireClass(t, fault.Gone, err)

	receive(t, s, arrival(refOf("1"), "x", 1))
	p, err := s.Raw(t.Context(), refOf("1").ID())
	require.NoError(t, err)
	require.Equal(t, int64(1), p.Revision)
	require.Contains(t, string(p.Body), `"title": "x"`)
	require.False(t, p.Staged)
	_, err = s.Load(t.Context(), refOf("1").ID())
	dbtest.RequireClass(t, fault.Gone, err)
}

// What no try can write must not be tried again.
func TestSaveWhatJSONCannotWrite(t *testing.T) {
	t.Parallel()

	l := normalized(refOf("1"))
	l.Bathrooms = math.NaN()
	err := dblistings.NewListings(nil).SaveNormalized(t.Context(), l, payload(1), dbtest.Start)
	dbtest.RequireClass(t, fault.Invalid, err)
}

// TestTwice runs each step of the pipeline twice with the same input, as a worker that is killed before it could
// report does: one row, one event, one line of history.
func TestTwice(t *testing.T) {
	t.Parallel()

	ref := refOf("1")
	l := normalized(ref)
	rejection := &listing.Rejection{Reasons: []listing.Reason{
		{Field: "price", Code: "missing", Message: "no price is stated"},
		{Field: "title", Code: "missing", Message: "no title"},
	}}
	for _, tt := range []struct {
		name        string
		step        func(*dblistings.Listings) error
		status      string
		settled     bool
		events      []string
		listings    int64
		history     int64
		deadLetters int64
	}{
		{"SaveNormalized", func(s *dblistings.Listings) error {
			return s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(1))
		}, "normalized", false, []string{contract.ListingNormalized}, 0, 0, 0},
		{"Reject", func(s *dblistings.Listings) error {
			return s.Reject(t.Context(), listing.Raw{Ref: ref}, listing.Payload{Revision: 1, Body: []byte(`{}`)}, rejection, runOf(ref), dbtest.After(1))
		}, "rejected", true, []string{contract.ListingRejected}, 0, 0, 1},
		{"SaveDuplicate", func(s *dblistings.Listings) error {
			return s.SaveDuplicate(t.Context(), ref, 1, refOf("2").ID(), rejection.Reasons, runOf(ref), dbtest.Start)
		}, "duplicate", true, nil, 0, 0, 0},
		{"Publish", func(s *dblistings.Listings) error {
			_, err := s.Publish(t.Context(), listing.Publication{Version: listing.Version{Listing: l, Revision: 1}},
				runOf(ref), dbtest.After(1))
			return err
		}, "imported", true, []string{contract.ListingPublished}, 1, 1, 0},
		{"HandOver", func(s *dblistings.Listings) error {
			return s.HandOver(t.Context(), listing.Handover{
				Ref: ref, Revision: 1, Exchange: "listings", RoutingKey: "listings.ready", Bodies: [][]byte{[]byte(`{}`)},
				Status: "normalized",
			}, runOf(ref), dbtest.After(1))
		}, "normalized", true, []string{"listings.ready"}, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			receive(t, s, arrival(ref, "x", 1))
			for range 2 {
				require.NoError(t, tt.step(s))
			}
			require.Equal(t, []string{tt.status}, dbtest.Query[string](t, pool, "SELECT status FROM raw_listings"))
			require.Equal(t, []bool{tt.settled}, dbtest.Query[bool](t, pool, "SELECT revision = settled_revision FROM raw_listings"))
			require.ElementsMatch(t, tt.events, told(t, pool))
			require.Equal(t, tt.listings, dbtest.Count(t, pool, "listings"))
			require.Equal(t, tt.history, dbtest.Count(t, pool, "listing_events"))
			require.Equal(t, tt.deadLetters, dbtest.Count(t, pool, "dead_letters"))
		})
	}
}

// TestStepsOnAnOldRevision: a step that is late must not settle a revision that arrived meanwhile.
func TestStepsOnAnOldRevision(t *testing.T) {
	t.Parallel()

	ref := refOf("1")
	for _, tt := range []struct {
		name string
		step func(*dblistings.Listings) error
	}{
		{"SaveNormalized", func(s *dblistings.Listings) error {
			return s.SaveNormalized(t.Context(), normalized(ref), payload(1), dbtest.After(3))
		}},
		{"Reject", func(s *dblistings.Listings) error {
			return s.Reject(t.Context(), listing.Raw{Ref: ref}, listing.Payload{Revision: 1, Body: []byte(`{}`)}, &listing.Rejection{}, runOf(ref), dbtest.After(3))
		}},
		{"SaveDuplicate", func(s *dblistings.Listings) error {
			return s.SaveDuplicate(t.Context(), ref, 1, refOf("2").ID(), nil, runOf(ref), dbtest.Start)
		}},
		{"Publish", func(s *dblistings.Listings) error {
			_, err := s.Publish(t.Context(), listing.Publication{
				Version: listing.Version{Listing: normalized(ref), Revision: 1}},
				runOf(ref), dbtest.After(3))
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			receive(t, s, arrival(ref, "a", 1))
			receive(t, s, arrival(ref, "b", 2))
			require.NoError(t, tt.step(s))
			require.Equal(t, []string{"scraped"}, dbtest.Query[string](t, pool, "SELECT status FROM raw_listings"))
			require.Equal(t, dblistings.Receipt{ID: ref.ID(), Revision: 2}, receive(t, s, arrival(ref, "b", 3)), "work is left")
		})
	}
}

// A newer revision that arrives between two steps of an older one is neither settled nor overwritten by it.
func TestANewerRevisionBetweenTheSteps(t *testing.T) {
	t.Parallel()

	ref := refOf("1")
	tests := []struct {
		name          string
		before, after int // steps of revision 1 before and after the newer one arrives: normalize, import
	}{
		{"before normalize", 0, 2},
		{"before import", 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			steps := []func(){
				func() {
					require.NoError(t, s.SaveNormalized(t.Context(), normalized(ref), payload(1), dbtest.After(2)))
				},
				func() {
					v, err := s.Load(t.Context(), ref.ID())
					require.NoError(t, err)
					require.EqualValues(t, 1, v.Revision)
					_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(ref), dbtest.After(3))
					require.NoError(t, err)
				},
			}
			receive(t, s, arrival(ref, "a", 1))
			for _, step := range steps[:tt.before] {
				step()
			}
			receive(t, s, arrival(ref, "b", 2))
			for _, step := range steps[tt.before:] {
				step()
			}
			require.Equal(t, int64(1), dbtest.Count(t, pool, "listings WHERE revision = 1"))
			require.Equal(t, dblistings.Receipt{ID: ref.ID(), Revision: 2}, receive(t, s, arrival(ref, "b", 3)), "work is left")
		})
	}
}

// A worker that was frozen and wakes up late undoes nothing of a newer version.
func TestALatePublish(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	old := listing.Publication{Version: listing.Version{Listing: l, Revision: 1, Published: "active"}}
	old.Listing.ImageURLs = []string{"https://a.example/old.jpg"}
	old.Listing.RentCents++
	newer := l
	newer.ImageURLs = []string{"https://a.example/new.jpg"}
	receive(t, s, arrival(l.Ref, "b", 10))
	publish(t, s, newer, 2, 11)
	_, err := s.Publish(t.Context(), old, runOf(l.Ref), dbtest.After(12))
	require.NoError(t, err)
	require.Equal(t, []string{"https://a.example/new.jpg"},
		dbtest.Query[string](t, pool, "SELECT url FROM listing_images WHERE state = 'pending'"))
	require.Zero(t, dbtest.Count(t, pool, "listing_events WHERE kind = 'price'"))
	require.Equal(t, []int64{2}, dbtest.Query[int64](t, pool, "SELECT revision FROM listings"))
	require.Equal(t, []string{"created", "updated"}, changes(t, pool), "it tells nothing either")
	old.Published = "archived"
	_, err = s.Publish(t.Context(), old, runOf(l.Ref), dbtest.After(13))
	require.NoError(t, err)
	require.Len(t, changes(t, pool), 2)
}

func TestPublishHistory(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	history := func() []dblistings.HistoryEvent {
		d, err := s.Detail(t.Context(), l.ID())
		require.NoError(t, err)
		for i := range d.History {
			d.History[i].At, d.History[i].ListingID = time.Time{}, uuid.Nil
		}
		return d.History
	}
	created := dblistings.HistoryEvent{Kind: "created", Revision: 1, NewRentCents: ptr(int64(125_000)), NewStatus: ptr("active")}
	require.Equal(t, []dblistings.HistoryEvent{created}, history())

	// The same version again causes no event.
	publish(t, s, l, 1, 1)
	require.Equal(t, []string{contract.ListingNormalized, contract.ListingPublished}, told(t, pool))

	// Another price.
	receive(t, s, arrival(l.Ref, "b", 2))
	l.RentCents = 130_000
	publish(t, s, l, 2, 2)
	publish(t, s, l, 2, 2)
	raised := dblistings.HistoryEvent{
		Kind: "price", Revision: 2, OldRentCents: ptr(int64(125_000)), NewRentCents: ptr(int64(130_000)),
	}
	require.Equal(t, []dblistings.HistoryEvent{created, raised}, history())

	// Another title is no price change.
	receive(t, s, arrival(l.Ref, "c", 3))
	l.Title = "5 ½ à louer"
	publish(t, s, l, 3, 3)
	require.Equal(t, []dblistings.HistoryEvent{created, raised}, history())
	require.Equal(t, []string{"created", "updated", "updated"}, changes(t, pool))
	require.Equal(t, []string{"", "rent_cents 125000 130000", "title \"4 ½ à louer\" \"5 ½ à louer\""},
		dbtest.Query[string](t, pool, `SELECT coalesce((SELECT string_agg(concat_ws(' ', c->'field'->>0, c->'from', c->'to'), ', ')
			FROM jsonb_array_elements(convert_from(body, 'UTF8')::jsonb->'data'->'changes') c), '')
		FROM outbox WHERE routing_key = $1 ORDER BY id`, contract.ListingPublished))
}

// changes returns the kind of change that each listings.published event names.
func changes(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, `SELECT convert_from(body, 'UTF8')::jsonb->'data'->>'change' FROM outbox
		WHERE routing_key = $1 ORDER BY id`, contract.ListingPublished)
}

// TestPublishArchived: an advert that comes back unchanged is visible again, each time with an event and a line of
// history, although neither its revision nor its words are new.
func TestPublishArchived(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	for n := range 2 {
		archive(t, s, 1)
		v, err := s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		require.Equal(t, "archived", v.Published)
		require.False(t, receive(t, s, arrival(l.Ref, l.Title, n)).Settled, "an advert that is back is not settled on arrival")
		for range 2 { // a step that runs twice publishes once
			_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(10+n))
			require.NoError(t, err)
		}
		require.Equal(t, []string{"active"}, dbtest.Query[string](t, pool, "SELECT status FROM listings"))
		require.Equal(t, int64(n+1), dbtest.Count(t, pool, "listing_events WHERE kind = 'status' AND old_status = 'archived'"))
		require.Len(t, changes(t, pool), n+2)
		require.Equal(t, "returned", changes(t, pool)[n+1])
	}
	require.True(t, receive(t, s, arrival(l.Ref, l.Title, 15)).Settled)
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'claimed'")
	require.NoError(t, err)
	receive(t, s, arrival(l.Ref, "b", 20))
	l.Title = "Autre"
	publish(t, s, l, 2, 20)
	require.Equal(t, []string{"claimed"}, dbtest.Query[string](t, pool, "SELECT status FROM listings"), "its owner keeps it")
}

// TestPublishWhatNoColumnTakes: values of another team's stage that no column takes are refused for good.
func TestPublishWhatNoColumnTakes(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for i, tt := range []struct {
		name   string
		change func(*listing.Listing)
	}{
		{"an area beyond int", func(l *listing.Listing) { l.AreaSqFt = 1 << 40 }},
		{"more rooms than numeric(4,1)", func(l *listing.Listing) { l.Rooms = 12_345 }},
		{"fewer than no bedrooms", func(l *listing.Listing) { l.Bedrooms = -1 }},
		{"no rent", func(l *listing.Listing) { l.RentCents = 0 }},
		{"a NUL in the title", func(l *listing.Listing) { l.Title = "a\x00b" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ref := refOf(fmt.Sprint(i))
			receive(t, s, arrival(ref, "x", 1))
			l := normalized(ref)
			tt.change(&l)
			_, err := s.Publish(t.Context(), listing.Publication{Version: listing.Version{Listing: l, Revision: 1}},
				runOf(ref), dbtest.After(1))
			dbtest.RequireClass(t, fault.Invalid, err)
			require.Zero(t, dbtest.Count(t, pool, "listings WHERE id = $1", ref.ID()))
		})
	}
}

// TestDeadLetterOfAListing: a later run that ends well resolves the dead letter.
func TestDeadLetterOfAListing(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		end  func(*testing.T, *dblistings.Listings, listing.Listing)
	}{
		{"published later", func(t *testing.T, s *dblistings.Listings, l listing.Listing) { publish(t, s, l, 1, 2) }},
		{"found to be a duplicate later", func(t *testing.T, s *dblistings.Listings, l listing.Listing) {
			require.NoError(t, s.SaveDuplicate(t.Context(), l.Ref, 1, refOf("2").ID(), nil, runOf(l.Ref), dbtest.Start))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			l := normalized(refOf("1"))
			receive(t, s, arrival(l.Ref, "x", 1))
			require.NoError(t, s.Reject(t.Context(), listing.Raw{Ref: l.Ref}, listing.Payload{Revision: 1, Body: []byte(`{"a":1}`)}, &listing.Rejection{
				Reasons: []listing.Reason{{Field: "price", Code: "missing", Message: "no price"}},
			}, runOf(l.Ref), dbtest.After(1)))
			states := func() []string { return dbtest.Query[string](t, pool, "SELECT state FROM dead_letters") }
			require.Equal(t, []string{"open"}, states())
			require.Equal(t, []string{"price: no price"}, dbtest.Query[string](t, pool, "SELECT reason FROM dead_letters"))
			tt.end(t, s, l)
			require.Equal(t, []string{"resolved"}, states())
			require.Equal(t, []int64{1}, dbtest.Query[int64](t, pool, "SELECT settled_revision FROM raw_listings"))
		})
	}
}

func TestHandOver(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, ref := dblistings.NewListings(pool), refOf("1")
	receive(t, s, arrival(ref, "x", 1))
	h := listing.Handover{
		Ref: ref, Revision: 1, Exchange: "listings", RoutingKey: "images.pending",
		Bodies: [][]byte{[]byte(`{"n":1}`), []byte(`{"n":2}`)},
	}
	require.NoError(t, s.HandOver(t.Context(), h, runOf(ref), dbtest.After(1)))
	require.Equal(t, []string{"images.pending", "images.pending"}, told(t, pool))
	require.Equal(t, []string{"scraped"}, dbtest.Query[string](t, pool, "SELECT status FROM raw_listings"),
		"without a status it stays")

	replay := runOf(ref)
	replay.RunID = "run-2"
	require.NoError(t, s.HandOver(t.Context(), h, replay, dbtest.After(2)))
	require.Len(t, told(t, pool), 4, "a replay hands it over again")

	h.Pass = 1
	for range 2 {
		require.NoError(t, s.HandOver(t.Context(), h, replay, dbtest.After(3)))
	}
	require.Len(t, told(t, pool), 6, "so does one that joins a run, once")
}

// When a version arrived is known until it is at its end, so that a replay is not taken for a slow advert.
func TestLoadReceivedAt(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	l := normalized(refOf("1"))
	_, err := s.Receive(t.Context(), []dblistings.Arrival{arrival(refOf("1"), "x", 1)}, dbtest.After(2))
	require.NoError(t, err)
	require.NoError(t, s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(3)))
	v, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, dbtest.After(2), v.ReceivedAt)

	_, err = s.Publish(t.Context(), listing.Publication{Version: v}, listing.Run{}, dbtest.After(4))
	require.NoError(t, err)
	again, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.Zero(t, again.ReceivedAt)

	// A newer one has arrived, and the older is on its way still.
	_, err = s.Receive(t.Context(), []dblistings.Arrival{arrival(refOf("1"), "y", 5)}, dbtest.After(6))
	require.NoError(t, err)
	again, err = s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.Zero(t, again.ReceivedAt)
}

// A staged message is of the stored scrape though its stage keeps fewer digits of a time than we do.
func TestStagedWithFewerDigits(t *testing.T) {
	t.Parallel()

	at := dbtest.Start.Add(123_567 * time.Microsecond)
	for _, tt := range []struct {
		name      string
		at        time.Time
		revision  int64 // that the message names
		want      int64 // revision afterwards
		overtaken bool
	}{
		{"all digits", at, 0, 2, false},
		{"milliseconds", at.Truncate(time.Millisecond), 0, 2, false},
		{"milliseconds, rounded up", at.Round(time.Millisecond), 0, 2, false},
		{"seconds", at.Truncate(time.Second), 0, 2, false},
		{"a newer scrape", at.Add(2 * time.Millisecond), 0, 3, false},
		{"an older scrape", at.Add(-2 * time.Millisecond), 0, 2, true},
		{"no digits that fit, and the revision", at.Add(-time.Hour), 2, 2, false},
		{"a newer time, and the revision", at.Add(time.Minute), 2, 2, false},
		{"the revision before", at.Add(-time.Minute), 1, 2, true},
		{"the revision before, at the time of this one", at.Round(time.Millisecond), 1, 2, true},
		{"a newer scrape by a stage that copies an old revision", at.Add(time.Minute), 1, 3, false},
		{"a revision that is not stored", at.Add(-time.Minute), 9, 2, true},
		{"a revision that is not stored, of this scrape", at, 9, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, ref := dblistings.NewListings(dbtest.New(t)), refOf("1")
			receive(t, s, arrival(ref, "a", -60))
			a := arrival(ref, "b", 0)
			a.ScrapedAt = at
			require.EqualValues(t, 2, receive(t, s, a).Revision)
			staged := arrival(ref, "staged", 0)
			staged.ScrapedAt = tt.at
			got, err := s.ReceiveStaged(t.Context(), staged, tt.revision, normalized(ref), dbtest.After(90))
			require.NoError(t, err)
			require.Equal(t, tt.overtaken, got.Overtaken)
			require.Equal(t, tt.overtaken, got.Settled)
			advert, err := s.Advert(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, tt.want, advert.Revision)
			require.Equal(t, tt.want == 3, advert.Staged)
			require.Equal(t, tt.overtaken, advert.NormalizedRevision == 0)
		})
	}
}

// A message of a sender whose clock is ahead counts as scraped when it arrived: honest messages after it are newer.
func TestAScrapeFromTheFuture(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, ref := dblistings.NewListings(pool), refOf("1")
	get := func(a dblistings.Arrival, minutes int) int64 {
		got, err := s.Receive(t.Context(), []dblistings.Arrival{a}, dbtest.After(minutes))
		require.NoError(t, err)
		return got[0].Revision
	}
	require.EqualValues(t, 1, get(arrival(ref, "ahead", 59), 0))
	p, err := s.Raw(t.Context(), ref.ID())
	require.NoError(t, err)
	require.Equal(t, dbtest.Start, p.ScrapedAt)
	require.EqualValues(t, 2, get(arrival(ref, "honest", 1), 1))
	require.EqualValues(t, 3, get(arrival(ref, "honest and ahead", 62), 3))
	require.EqualValues(t, 4, get(arrival(ref, "honest again", 4), 4))
	require.Equal(t, []time.Time{dbtest.After(4)}, dbtest.Query[time.Time](t, pool, "SELECT last_scraped_at AT TIME ZONE 'UTC' FROM raw_listings"))

	staged := refOf("2")
	_, err = s.ReceiveStaged(t.Context(), arrival(staged, "ahead", 59), 0, normalized(staged), dbtest.After(0))
	require.NoError(t, err)
	got, err := s.ReceiveStaged(t.Context(), arrival(staged, "honest", 1), 0, normalized(staged), dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, dblistings.Receipt{ID: staged.ID(), Revision: 2}, got)
	v, err := s.Load(t.Context(), staged.ID())
	require.NoError(t, err)
	require.Equal(t, dbtest.After(1), v.Listing.ScrapedAt)
}

// An advert that its platform has removed comes back by a newer scrape, and not by a message of before or a late one.
func TestWhatIsGoneStaysGone(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s, platforms := dblistings.NewListings(pool), dblistings.NewPlatforms(pool)
	l := imported(t, s, "1")
	ref := l.Ref
	arrive := func(title string, minutes int, stale bool) dblistings.Receipt {
		t.Helper()
		a := arrival(ref, title, minutes)
		a.Stale = stale
		got, err := s.Receive(ctx, []dblistings.Arrival{a}, dbtest.After(600))
		require.NoError(t, err)
		return got[0]
	}
	withheld := func(revision int64) bool {
		t.Helper()
		require.NoError(t, s.SaveNormalized(ctx, l, payload(revision), dbtest.After(600)))
		v, err := s.Load(ctx, ref.ID())
		require.NoError(t, err)
		if v.Withheld(dbtest.After(20)) {
			require.NoError(t, s.Withhold(ctx, v, runOf(ref), dbtest.After(600)))
			return true
		}
		_, err = s.Publish(ctx, listing.Publication{Version: v}, runOf(ref), dbtest.After(600))
		require.NoError(t, err)
		return false
	}
	require.NoError(t, platforms.Gone(ctx, ref, 1, "removed", dbtest.After(10)))
	archive(t, s, 1)

	settled := dblistings.Receipt{ID: ref.ID(), Revision: 1, Settled: true}
	require.Equal(t, settled, arrive(l.Title, 5, false), "a message from before its removal")
	require.Equal(t, dblistings.Receipt{ID: ref.ID(), Revision: 2}, arrive("edited", 6, false), "a change from before its removal")
	require.True(t, withheld(2))
	require.Equal(t, []string{"created"}, changes(t, pool))
	require.Equal(t, []string{"archived imported"}, dbtest.Query[string](t, pool,
		"SELECT l.status || ' ' || r.status FROM listings l JOIN raw_listings r USING (id)"))
	settled.Revision = 2
	require.Equal(t, settled, arrive("edited", 11, true), "a message from after its removal that is too old itself")
	require.Equal(t, dblistings.Receipt{ID: ref.ID(), Revision: 3}, arrive("edited again", 12, true))
	require.True(t, withheld(3), "nor does a change that is too old")

	require.Equal(t, dblistings.Receipt{ID: ref.ID(), Revision: 3, Archived: true}, arrive("edited again", 30, false))
	require.False(t, withheld(3))
	require.Equal(t, []string{"created", "returned"}, changes(t, pool))
	settled.Revision = 3
	require.Equal(t, settled, arrive("edited again", 31, false))

	// One that was never published is withheld with what is needed to publish it when it is scraped again.
	l = normalized(refOf("2"))
	ref = l.Ref
	require.EqualValues(t, 1, arrive("x", 40, false).Revision)
	require.NoError(t, platforms.Gone(ctx, ref, 1, "removed", dbtest.After(41)))
	require.True(t, withheld(1))
	require.Zero(t, dbtest.Count(t, pool, "listings WHERE id = $1", ref.ID()))
	require.Equal(t, int64(1), dbtest.Count(t, pool, "raw_listings WHERE id = $1 AND settled_revision = revision", ref.ID()))
	require.True(t, arrive("x", 40, false).Settled)
	require.True(t, arrive("x", 42, false).Archived)
	require.False(t, withheld(1))
	require.Equal(t, []string{"created", "returned", "created"}, changes(t, pool))
}

// A result that returns at one revision, after rules were changed and changed back, is told each time; the same result
// once more is not.
func TestAResultThatReturns(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	normalize := func(rent int64) {
		t.Helper()
		p, err := s.Raw(ctx, l.ID())
		require.NoError(t, err)
		l.RentCents = rent
		require.NoError(t, s.SaveNormalized(ctx, l, p, dbtest.After(1)))
	}
	for _, rent := range []int64{130_000, 125_000, 130_000, 125_000} {
		for range 2 { // a worker dies before it can report its steps
			normalize(rent)
			v, err := s.Load(ctx, l.ID())
			require.NoError(t, err)
			for range 2 { // one that was frozen, too
				_, err = s.Publish(ctx, listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(1))
				require.NoError(t, err)
			}
		}
	}
	require.Equal(t, []string{"created", "updated", "updated", "updated", "updated"}, changes(t, pool))
	require.Equal(t, []int64{130_000, 125_000, 130_000, 125_000}, dbtest.Query[int64](t, pool,
		"SELECT new_rent_cents FROM listing_events WHERE kind = 'price' ORDER BY id"))
	require.Equal(t, int64(5), dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ListingNormalized))

	// Refused by a rule, taken by another, refused by the first again.
	refuse := func() {
		t.Helper()
		p, err := s.Raw(ctx, l.ID())
		require.NoError(t, err)
		require.NoError(t, s.Reject(ctx, listing.Raw{Ref: l.Ref}, p, &listing.Rejection{
			Reasons: []listing.Reason{{Field: "price", Code: "missing", Message: "no price"}},
		}, runOf(l.Ref), dbtest.After(2)))
	}
	refuse()
	refuse()
	publish(t, s, l, 1, 3)
	refuse()
	require.Equal(t, int64(2), dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ListingRejected))
}

// The IDs of events are those of earlier releases, so that a step which one release began and another repeats is told
// once.
func TestEventIDsStay(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	l := imported(t, dblistings.NewListings(pool), "1")
	doc := l
	doc.ScrapedAt = time.Time{}
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	var want []string
	for _, name := range []string{contract.ListingNormalized, contract.ListingPublished} {
		want = append(want, uuid.NewSHA1(l.ID(), append([]byte(name+"\x001\x00"), sum[:]...)).String())
	}
	require.Equal(t, want, dbtest.Query[string](t, pool, "SELECT message_id::text FROM outbox ORDER BY id"))
}
