package db_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// sent returns the messages in the outbox, as its relay reads them.
func sent(t testing.TB, pool *pgxpool.Pool) []db.Message {
	t.Helper()
	return lease(t, db.NewOutbox(pool), uuid.New(), "")
}

func TestReplay(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dbtest.Dead("a", 1)
	maps.Copy(letter.Headers, map[string]string{
		"traceparent": "00-1", "x-attempt": "1", "x-tenant": "t", "x-death": "[map[]]", "x-first-death-queue": "q",
		"x-last-death-reason": "rejected", "x-origin-queue": "q", "x-origin-exchange": "e", "x-origin-routing-key": "k",
		"x-error-class": "invalid", "x-conveyor-version": "1", "x-conveyor-death": "1", "x-delivery-count": "3", "x-acquired-count": "3",
		"CC": "[a]", "BCC": "[b]", "x-opt-delivery-delay": "1", strings.Repeat("k", 200): "too long a name",
	})
	id := dbtest.Archive(t, pool, letter)[0]
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
	again := dbtest.Dead("b", 3)
	again.Letter, again.Body, again.Exchange, again.RoutingKey, again.Reason = id, letter.Body, "", "x", "not JSON either"
	require.NoError(t, s.Archive(t.Context(), again))
	require.Equal(t, []string{"open"}, dbtest.LetterStates(t, pool))
	l, err = s.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{l.Deaths, l.Replays})
	require.Equal(t, []string{"scraped", "kijiji", "m-a", "not JSON either"},
		[]string{l.Exchange, l.RoutingKey, l.MessageID, l.Reason}, "where it came from first stays")

	// A message that claims to be a letter's replay is one when the body is that letter's.
	again.Body = []byte("other")
	require.NoError(t, s.Archive(t.Context(), again))
	require.Len(t, dbtest.LetterStates(t, pool), 2)
	again.Letter = 1 << 60
	again.Key = "c"
	require.NoError(t, s.Archive(t.Context(), again))
	require.Len(t, dbtest.LetterStates(t, pool), 3)
}

// Untrusted content of one message must not keep the relay from sending the rest.
func TestReplayFitsIntoAFrame(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dbtest.Dead("a", 1)
	letter.MessageID, letter.Queue = strings.Repeat("\xff", 255), strings.Repeat("\xff", 255)
	for n := range 2000 {
		letter.Headers[fmt.Sprint(n)] = strings.Repeat("x", 40)
	}
	id := dbtest.Archive(t, pool, letter)[0]
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
	id := dbtest.Archive(t, pool, dbtest.Dead("a", 1))[0]
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
		letters[i] = dbtest.Dead(fmt.Sprint(i), i)
	}
	dbtest.Archive(t, pool, letters...)
	var mu sync.Mutex
	var work sync.WaitGroup
	total := 0
	for range 4 {
		work.Go(func() {
			got, err := s.ReplayAll(t.Context(), db.LetterFilter{Queue: []string{"scraped.kijiji"}}, n, "Ginette", dbtest.After(2))
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			total += got.Sent
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
	image, nowhere := dbtest.Dead("i", 3), dbtest.Dead("n", 4)
	image.Queue, nowhere.Queue = "images.pending", ""
	ids := dbtest.Archive(t, pool, dbtest.Dead("a", 1), dbtest.Dead("b", 2), image, nowhere)
	n, err := s.ReplayAll(t.Context(), db.LetterFilter{State: []string{"discarded"}, Queue: []string{"scraped.kijiji"}}, 1, "Ginette", dbtest.After(9))
	require.NoError(t, err)
	require.Equal(t, 1, n.Sent)
	require.Equal(t, []string{"replayed", "open", "open", "open"}, dbtest.LetterStates(t, pool), "the oldest, and open ones only")
	n, err = s.ReplayAll(t.Context(), db.LetterFilter{}, 100, "Ginette", dbtest.After(9))
	require.NoError(t, err)
	require.Equal(t, 2, n.Sent)
	require.Equal(t, []string{"replayed", "replayed", "replayed", "open"}, dbtest.LetterStates(t, pool))

	_, err = s.Replay(t.Context(), ids[3], true, "Ginette", dbtest.After(9))
	dbtest.RequireClass(t, fault.Conflict, err)
}

// TestReplayOver: a letter of what is over by now keeps what is known of its earlier replay.
func TestReplayOver(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	var over error
	s := db.NewDeadLetters(pool, db.Reopeners{"message_dispatch": {
		Of: func(context.Context, pgx.Tx, string, uuid.UUID, time.Time) error { return over },
	}})
	letter := dbtest.Dead("a", 1)
	letter.Tenant, letter.Queue, letter.MessageID = "acme", "message_dispatch", uuid.NewString()
	ids := dbtest.Archive(t, pool, letter)
	_, err := s.Replay(t.Context(), ids[0], false, "Ginette", dbtest.After(2))
	require.NoError(t, err)
	before, err := s.Get(t.Context(), ids[0])
	require.NoError(t, err)
	require.NotNil(t, before.ReplayedAt)
	letter.At = dbtest.After(3)
	require.NoError(t, s.Archive(t.Context(), letter))

	over = fault.Newf(fault.Conflict, "it is over")
	done, err := s.ReplayAll(t.Context(), db.LetterFilter{}, 10, "Ginette", dbtest.After(4))
	require.NoError(t, err)
	require.Equal(t, db.LettersReplayed{Over: 1}, done)
	l, err := s.Get(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, "resolved", l.State)
	require.Equal(t, 1, l.Replays)
	require.Equal(t, before.ReplayedAt, l.ReplayedAt)
}

func TestDiscard(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	ids := dbtest.Archive(t, pool, dbtest.Dead("a", 1), dbtest.Dead("b", 1), dbtest.Dead("c", 1))
	for _, id := range ids {
		_, err := s.Replay(t.Context(), id, false, "Ginette", dbtest.After(2))
		require.NoError(t, err)
	}
	token := uuid.New()
	leased := lease(t, db.NewOutbox(pool), token, "")
	require.Len(t, leased, 3)

	require.NoError(t, db.NewOutbox(pool).Release(t.Context(), token, []int64{leased[0].ID}, "connection closed"))
	dbtest.Exec(t, pool, "UPDATE outbox SET leased_until = now() - interval '1 second' WHERE id = $1", leased[2].ID)
	for _, id := range append(ids, ids...) {
		require.NoError(t, s.Discard(t.Context(), id, "Guy\x00", dbtest.After(3)))
	}
	require.Equal(t, []string{"discarded", "discarded", "discarded"}, dbtest.LetterStates(t, pool))
	require.Equal(t, []int64{leased[1].ID}, dbtest.Query[int64](t, pool, "SELECT id FROM outbox"),
		"an unsent replay is withdrawn, also of a relay that died, one that is being sent is not")
	require.Equal(t, []string{"Guy\ufffd", "Guy\ufffd", "Guy\ufffd"},
		dbtest.Query[string](t, pool, "SELECT actor FROM audit WHERE action = 'dead_letter.discarded'"), "twice is once")
	l, err := s.Get(t.Context(), ids[0])
	require.NoError(t, err)
	var was struct{ Was string }
	require.NoError(t, json.Unmarshal(l.Deeds[1].Detail, &was))
	require.Equal(t, "replayed", was.Was)
	dbtest.RequireClass(t, fault.Gone, s.Discard(t.Context(), 999, "Guy", dbtest.After(3)))

	require.NoError(t, s.Archive(t.Context(), dbtest.Dead("a", 4)))
	require.Equal(t, []string{"open", "discarded", "discarded"}, dbtest.LetterStates(t, pool), "a letter that dies again is open again")
}

// TestArchiveTwice: one death is one death, though its message was not acked.
func TestArchiveTwice(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	letter := dbtest.Dead("a", 1)
	letter.Headers[contract.DeathHeader] = "one"
	ids := dbtest.Archive(t, pool, letter)
	require.NoError(t, s.Discard(t.Context(), ids[0], "Guy", dbtest.After(2)))
	require.NoError(t, s.Archive(t.Context(), letter, letter))
	require.Equal(t, []string{"discarded"}, dbtest.LetterStates(t, pool))
	letter.Headers[contract.DeathHeader] = "two"
	require.NoError(t, s.Archive(t.Context(), letter, letter))
	require.Equal(t, []string{"open"}, dbtest.LetterStates(t, pool))
	require.Equal(t, []int64{2}, dbtest.Query[int64](t, pool, "SELECT deaths::bigint FROM dead_letters"))
}
