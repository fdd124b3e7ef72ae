package listings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// TestReplayedListing: a letter of an advert that was replayed is resolved when its run ends well, and the same letter
// when it is rejected again.
func TestReplayedListing(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, letters := dblistings.NewListings(pool), db.NewDeadLetters(pool, nil)
	l := normalized(refOf("1"))
	receive(t, s, arrival(l.Ref, "x", 1))
	reject := func(minutes int) {
		require.NoError(t, s.Reject(t.Context(), listing.Raw{Ref: l.Ref}, listing.Payload{Revision: 1, Body: []byte(`{"a":1}`)}, &listing.Rejection{
			Reasons: []listing.Reason{{Field: "price", Code: "missing", Message: "no price"}},
		}, runOf(l.Ref), dbtest.After(minutes)))
	}
	reject(1)
	id := dbtest.Query[int64](t, pool, "SELECT id FROM dead_letters")[0]
	for n := range 2 {
		got, err := letters.Replay(t.Context(), id, false, "Ginette", dbtest.After(2))
		require.NoError(t, err)
		require.Equal(t, n+1, got.Replays)
		require.Equal(t, []string{"replayed"}, dbtest.LetterStates(t, pool))
		_, err = pool.Exec(t.Context(), "UPDATE outbox SET published_at = now()")
		require.NoError(t, err)
		if n == 0 {
			reject(3)
			require.Equal(t, []string{"open"}, dbtest.LetterStates(t, pool))
		}
	}
	publish(t, s, l, 1, 4)
	require.Equal(t, []string{"resolved"}, dbtest.LetterStates(t, pool))
	require.Equal(t, []int64{2}, dbtest.Query[int64](t, pool, "SELECT deaths::bigint FROM dead_letters"))
}

// TestDeadLetterOfAStagedListing: a listing that another team normalized is replayed to the queue it arrived on.
func TestDeadLetterOfAStagedListing(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	ref := refOf("1")
	_, err := s.ReceiveStaged(t.Context(), arrival(ref, "x", 1), 0, normalized(ref), dbtest.After(1))
	require.NoError(t, err)
	p, err := s.Raw(t.Context(), ref.ID())
	require.NoError(t, err)
	require.NoError(t, s.Reject(t.Context(), listing.Raw{Ref: ref}, p,
		&listing.Rejection{Reasons: []listing.Reason{{Message: "too large"}}}, runOf(ref), dbtest.After(1)))
	require.Equal(t, []string{"listings.normalized listings listings.normalized"},
		dbtest.Query[string](t, pool, "SELECT queue || ' ' || exchange || ' ' || routing_key FROM dead_letters"))
	publish(t, s, normalized(ref), 1, 2)
	require.Equal(t, []string{"resolved"}, dbtest.LetterStates(t, pool))
}

// TestReplayedImage: a replay is another chance for a failed image, where the advert has it now, and none for one that
// the advert no longer shows.
func TestReplayedImage(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	first := listing.Image{URL: "http://i.example/1.jpg"}
	require.NoError(t, s.FailImage(t.Context(), l.Ref, first, fault.Gone, "status 404", runOf(l.Ref), dbtest.After(1)))
	revise(t, s, l, 2, "2.jpg", "1.jpg")
	want, err := s.WantImage(t.Context(), l.ID(), first, true, dbtest.After(2))
	require.NoError(t, err)
	require.True(t, want.Pending)
	require.Equal(t, []string{"http://i.example/2.jpg", "http://i.example/1.jpg"},
		dbtest.Query[string](t, pool, "SELECT url FROM listing_images ORDER BY sort_order"), "the newer order stays")

	require.NoError(t, s.FailImage(t.Context(), l.Ref, first, fault.Gone, "status 404", runOf(l.Ref), dbtest.After(3)))
	revise(t, s, l, 3, "2.jpg")
	want, err = s.WantImage(t.Context(), l.ID(), first, true, dbtest.After(4))
	require.NoError(t, err)
	require.False(t, want.Pending)
	require.Equal(t, "dropped", states(t, s, l)["1.jpg"])
	require.Equal(t, []string{"resolved"}, dbtest.LetterStates(t, pool), "the advert does not show it any more")
}

// TestManyLetters: no two pages show the same letter, and a filter is replayed in batches.
func TestManyLetters(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	_, err := pool.Exec(t.Context(), `INSERT INTO dead_letters
		(fingerprint, queue, exchange, routing_key, body, reason, class, workflow_id, state, first_at, last_at)
		SELECT sha256(n::text::bytea), 'scraped.' || CASE WHEN n % 100 = 0 THEN 'kangalou' ELSE 'kijiji' END, 'scraped', 'k',
			convert_to(repeat('x', 300), 'UTF8'), 'price: missing ' || n, 'invalid', 'listing/kijiji/' || n,
			CASE WHEN n % 10 = 0 THEN 'open' ELSE 'resolved' END, $1, $1::timestamptz + n * interval '1 second'
		FROM generate_series(1, 12000) n`, dbtest.Start)
	require.NoError(t, err)
	dbtest.Alter(t, pool, "ANALYZE dead_letters")
	for _, f := range []db.LetterFilter{
		{State: []string{"open"}}, {}, {State: []string{"open"}, Queue: []string{"scraped.kangalou"}}, {WorkflowID: "listing/kijiji/77"},
	} {
		seen := map[int64]bool{}
		var after *db.IDPosition
		for range 5 {
			page, next, err := s.List(t.Context(), f, after, 100)
			require.NoError(t, err)
			for _, l := range page {
				require.False(t, seen[l.ID])
				seen[l.ID] = true
			}
			if after = next; after == nil {
				break
			}
		}
		n, err := s.Count(t.Context(), f)
		require.NoError(t, err)
		require.Len(t, seen, min(n, 500))
	}
	n, err := s.ReplayAll(t.Context(), db.LetterFilter{}, 1050, "Ginette", dbtest.After(60))
	require.NoError(t, err)
	require.Equal(t, 1050, n.Sent)
}
