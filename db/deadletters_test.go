package db_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// dead is a dead letter of scraped.kijiji that died some minutes after the start.
func dead(key string, minutes int) db.DeadLetter {
	return db.DeadLetter{
		Key: key, Route: listing.StageRoute(listing.StageNormalize, "kijiji"), MessageID: "m-" + key,
		Headers: map[string]string{"mine": "kept", "x-error": "not JSON"}, Body: []byte("<" + key + ">"),
		Reason: "not JSON", Class: "invalid", At: dbtest.After(minutes),
	}
}

// archived stores letters and returns their numbers.
func archived(t testing.TB, pool *pgxpool.Pool, letters ...db.DeadLetter) []int64 {
	t.Helper()

	require.NoError(t, db.NewDeadLetters(pool, nil).Archive(t.Context(), letters...))
	ids := dbtest.Query[int64](t, pool, "SELECT id FROM dead_letters ORDER BY id")
	return ids[len(ids)-len(letters):]
}

// sent returns the messages in the outbox, as its relay reads them.
func sent(t testing.TB, pool *pgxpool.Pool) []db.Message {
	t.Helper()
	return lease(t, db.NewOutbox(pool), uuid.New(), "")
}

func letterStates(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, "SELECT state FROM dead_letters ORDER BY id")
}

func TestReplay(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dead("a", 1)
	for name, value := range map[string]string{
		"traceparent": "00-1", "x-attempt": "1", "x-tenant": "t", "x-death": "[map[]]", "x-first-death-queue": "q",
		"x-last-death-reason": "rejected", "x-origin-queue": "q", "x-origin-exchange": "e", "x-origin-routing-key": "k",
		"x-error-class": "invalid", "x-conveyor-version": "1", "x-conveyor-death": "1", "x-delivery-count": "3", "x-acquired-count": "3",
		"CC": "[a]", "BCC": "[b]", "x-opt-delivery-delay": "1", strings.Repeat("k", 200): "too long a name",
	} {
		letter.Headers[name] = value
	}
	id := archived(t, pool, letter)[0]
	got, err := s.Replay(t.Context(), id, false, "Ginette", dbtest.After(2))
	require.NoError(t, err)
	require.Equal(t, db.Replayed{ID: id, Queue: "scraped.kijiji", Replays: 1}, got)
	m := sent(t, pool)
	require.Len(t, m, 1)
	require.Equal(t, []string{"", "scraped.kijiji", "m-a", "<a>", "dead-letters"},
		[]string{m[0].Exchange, m[0].RoutingKey, m[0].PublishAs, string(m[0].Body), m[0].Lane})
	require.Equal(t, map[string]string{
		"mine": "kept", "traceparent": "00-1", "x-attempt": "1", "x-tenant": "t", contract.DeadLetterHeader: fmt.Sprint(id),
	}, m[0].Headers)
	l, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "replayed", l.State)
	require.Equal(t, dbtest.After(2), l.ReplayedAt.UTC())
	require.Equal(t, &db.LetterReplay{}, l.Replay, "on its way")
	require.Len(t, l.Deeds, 1)
	require.Equal(t, "Ginette", l.Deeds[0].Actor)
	require.Equal(t, "dead_letter.replayed", l.Deeds[0].Action)

	// It dies again: under another key, in another place, but it says which letter it is.
	again := dead("b", 3)
	again.Letter, again.Body, again.Exchange, again.RoutingKey, again.Reason = id, letter.Body, "", "x", "not JSON either"
	require.NoError(t, s.Archive(t.Context(), again))
	require.Equal(t, []string{"open"}, letterStates(t, pool))
	l, err = s.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{l.Deaths, l.Replays})
	require.Equal(t, []string{"scraped", "kijiji", "m-a", "not JSON either"},
		[]string{l.Exchange, l.RoutingKey, l.MessageID, l.Reason}, "where it came from first stays")

	// A message that claims to be a letter's replay is one when the body is that letter's.
	again.Body = []byte("other")
	require.NoError(t, s.Archive(t.Context(), again))
	require.Len(t, letterStates(t, pool), 2)
	again.Letter = 1 << 60
	again.Key = "c"
	require.NoError(t, s.Archive(t.Context(), again))
	require.Len(t, letterStates(t, pool), 3)
}

// Untrusted content of one message must not keep the relay from sending the rest.
func TestReplayFitsIntoAFrame(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dead("a", 1)
	letter.MessageID, letter.Queue = strings.Repeat("\xff", 255), strings.Repeat("\xff", 255)
	for n := range 2000 {
		letter.Headers[fmt.Sprint(n)] = strings.Repeat("x", 40)
	}
	id := archived(t, pool, letter)[0]
	_, err := s.Replay(t.Context(), id, false, "Ginette", dbtest.After(2))
	require.NoError(t, err)
	m := sent(t, pool)[0]
	require.Equal(t, map[string]string{contract.DeadLetterHeader: fmt.Sprint(id)}, m.Headers)
	require.LessOrEqual(t, len(m.PublishAs), 255)
	require.LessOrEqual(t, len(m.RoutingKey), 255)
}

// TestReplayOnce: however many ask, at the same time or later, a letter goes out once until it dies again.
func TestReplayOnce(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	id := archived(t, pool, dead("a", 1))[0]
	var mu sync.Mutex
	var work sync.WaitGroup
	won := 0
	for range 8 {
		work.Go(func() {
			_, err := s.Replay(t.Context(), id, true, "Ginette", dbtest.After(2))
			if class, _ := fault.Of(err); err != nil && class != fault.Conflict {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	work.Wait()
	require.Equal(t, 1, won)
	require.Equal(t, int64(1), dbtest.Count(t, pool, "outbox"))
	require.Equal(t, int64(1), dbtest.Count(t, pool, "audit"))

	for _, force := range []bool{false, true} {
		_, err := s.Replay(t.Context(), id, force, "Ginette", dbtest.After(3))
		dbtest.RequireClass(t, fault.Conflict, err)
		require.ErrorContains(t, err, "waits to be sent")
	}
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET published_at = $1", dbtest.After(3))
	require.NoError(t, err)
	_, err = s.Replay(t.Context(), id, false, "Ginette", dbtest.After(4))
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "2026-11-20T14:02:00Z and has not died since")
	got, err := s.Replay(t.Context(), id, true, "Ginette", dbtest.After(4))
	require.NoError(t, err)
	require.Equal(t, 2, got.Replays)
	_, err = s.Replay(t.Context(), 999, true, "Ginette", dbtest.After(4))
	dbtest.RequireClass(t, fault.Gone, err)
}

// TestReplayAllAtOnce: two concurrent replays of the same letters replay each of them once.
func TestReplayAllAtOnce(t *testing.T) {
	t.Parallel()

	const n = 750
	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letters := make([]db.DeadLetter, n)
	for i := range letters {
		letters[i] = dead(fmt.Sprint(i), i)
	}
	archived(t, pool, letters...)
	var mu sync.Mutex
	var work sync.WaitGroup
	total := 0
	for range 4 {
		work.Go(func() {
			got, err := s.ReplayAll(t.Context(), db.LetterFilter{Queue: []string{"scraped.kijiji"}}, n, "Ginette", dbtest.After(2))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += got
		})
	}
	work.Wait()
	require.Equal(t, n, total)
	require.Equal(t, int64(n), dbtest.Count(t, pool, "outbox"))
	require.Equal(t, int64(n), dbtest.Count(t, pool, "audit"))
	require.Equal(t, int64(n), dbtest.Count(t, pool, "dead_letters WHERE state = 'replayed' AND replays = 1"))
}

func TestReplayAllLeavesTheRest(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	image, nowhere := dead("i", 3), dead("n", 4)
	image.Queue, nowhere.Queue = "images.pending", ""
	ids := archived(t, pool, dead("a", 1), dead("b", 2), image, nowhere)
	n, err := s.ReplayAll(t.Context(), db.LetterFilter{State: []string{"discarded"}, Queue: []string{"scraped.kijiji"}}, 1, "Ginette", dbtest.After(9))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"replayed", "open", "open", "open"}, letterStates(t, pool), "the oldest, and open ones only")
	n, err = s.ReplayAll(t.Context(), db.LetterFilter{}, 100, "Ginette", dbtest.After(9))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"replayed", "replayed", "replayed", "open"}, letterStates(t, pool))

	_, err = s.Replay(t.Context(), ids[3], true, "Ginette", dbtest.After(9))
	dbtest.RequireClass(t, fault.Conflict, err)
}

func TestDiscard(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	ids := archived(t, pool, dead("a", 1), dead("b", 1))
	for _, id := range ids {
		_, err := s.Replay(t.Context(), id, false, "Ginette", dbtest.After(2))
		require.NoError(t, err)
	}
	leased := lease(t, db.NewOutbox(pool), uuid.New(), "")
	require.Len(t, leased, 2)

	_, err := pool.Exec(t.Context(), "UPDATE outbox SET lease_token = NULL WHERE id = $1", leased[0].ID)
	require.NoError(t, err)
	for _, id := range append(ids, ids...) {
		require.NoError(t, s.Discard(t.Context(), id, "Guy\x00", dbtest.After(3)))
	}
	require.Equal(t, []string{"discarded", "discarded"}, letterStates(t, pool))
	require.Equal(t, []int64{leased[1].ID}, dbtest.Query[int64](t, pool, "SELECT id FROM outbox"),
		"an unsent replay is withdrawn, one that is being sent is not")
	require.Equal(t, []string{"Guy\ufffd", "Guy\ufffd"},
		dbtest.Query[string](t, pool, "SELECT actor FROM audit WHERE action = 'dead_letter.discarded'"), "twice is once")
	l, err := s.Get(t.Context(), ids[0])
	require.NoError(t, err)
	var was struct{ Was string }
	require.NoError(t, json.Unmarshal(l.Deeds[1].Detail, &was))
	require.Equal(t, "replayed", was.Was)
	dbtest.RequireClass(t, fault.Gone, s.Discard(t.Context(), 999, "Guy", dbtest.After(3)))

	require.NoError(t, s.Archive(t.Context(), dead("a", 4)))
	require.Equal(t, []string{"open", "discarded"}, letterStates(t, pool), "a letter that dies again is open again")
}

// TestArchiveTwice: one death is one death, though its message was not acked.
func TestArchiveTwice(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dead("a", 1)
	letter.Headers[contract.DeathHeader] = "one"
	ids := archived(t, pool, letter)
	require.NoError(t, s.Discard(t.Context(), ids[0], "Guy", dbtest.After(2)))
	require.NoError(t, s.Archive(t.Context(), letter, letter))
	require.Equal(t, []string{"discarded"}, letterStates(t, pool))
	letter.Headers[contract.DeathHeader] = "two"
	require.NoError(t, s.Archive(t.Context(), letter, letter))
	require.Equal(t, []string{"open"}, letterStates(t, pool))
	require.Equal(t, []int64{2}, dbtest.Query[int64](t, pool, "SELECT deaths::bigint FROM dead_letters"))
}

// TestReplayedListing: a letter of an advert that was replayed is resolved when its run ends well, and the same letter
// when it is rejected again.
func TestReplayedListing(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s, letters := db.NewListings(pool), db.NewDeadLetters(pool, nil)
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
		require.Equal(t, []string{"replayed"}, letterStates(t, pool))
		_, err = pool.Exec(t.Context(), "UPDATE outbox SET published_at = now()")
		require.NoError(t, err)
		if n == 0 {
			reject(3)
			require.Equal(t, []string{"open"}, letterStates(t, pool))
		}
	}
	publish(t, s, l, 1, 4)
	require.Equal(t, []string{"resolved"}, letterStates(t, pool))
	require.Equal(t, []int64{2}, dbtest.Query[int64](t, pool, "SELECT deaths::bigint FROM dead_letters"))
}

// TestDeadLetterOfAStagedListing: a listing that another team normalized is replayed to the queue it arrived on.
func TestDeadLetterOfAStagedListing(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewListings(pool)
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
	require.Equal(t, []string{"resolved"}, letterStates(t, pool))
}

// TestReplayedImage: a replay is another chance for a failed image, where the advert has it now, and none for one that
// the advert no longer shows.
func TestReplayedImage(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewListings(pool)
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
	require.Equal(t, []string{"resolved"}, letterStates(t, pool), "the advert does not show it any more")
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
		var after *db.LetterPosition
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
	require.Equal(t, 1050, n)
}
