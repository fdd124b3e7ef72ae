package db_test

import (
	"fmt"
	"slices"
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
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// fill adds n pending messages for a lane.
func fill(t testing.TB, pool *pgxpool.Pool, lane string, n int) {
	t.Helper()

	_, err := pool.Exec(t.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
		SELECT gen_random_uuid(), $1, 'listings.events', 'listings.published', '{}', $3 FROM generate_series(1, $2)`,
		lane, n, dbtest.Start)
	require.NoError(t, err)
}

// leaseBytes is where a lease ends although more waits.
const leaseBytes = 16 << 20

// lease takes up to 500 messages, 50 a lane, of leaseBytes, for half a minute.
func lease(t testing.TB, o *db.Outbox, token uuid.UUID, cursor string) []db.Message {
	t.Helper()

	got, err := o.Lease(t.Context(), token, cursor, 50, 500, leaseBytes, 30*time.Second)
	require.NoError(t, err)
	return got
}

// wind makes leases and waits as if d had passed: they end by the clock of Postgres.
func wind(t testing.TB, pool *pgxpool.Pool, d time.Duration) {
	t.Helper()

	_, err := pool.Exec(t.Context(), "UPDATE outbox SET leased_until = leased_until - $1::interval, due_at = due_at - $1::interval", d)
	require.NoError(t, err)
}

// refusals are refusals of messages, all for one reason.
func refusals(ids []int64, reason string) []db.Refusal {
	out := make([]db.Refusal, len(ids))
	for i, id := range ids {
		out[i] = db.Refusal{ID: id, Reason: reason}
	}
	return out
}

// ids are the numbers of messages.
func ids(ms []db.Message) []int64 {
	out := make([]int64, len(ms))
	for i, m := range ms {
		out[i] = m.ID
	}
	return out
}

// lanes returns the lanes of ms in their turns.
func lanes(ms []db.Message) (out []string) {
	for _, m := range ms {
		out = append(out, m.Lane)
	}
	return slices.Compact(out)
}

func TestLeaseIsDisjoint(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	for i := range 20 {
		fill(t, pool, fmt.Sprintf("t%02d", i), 100)
	}
	var (
		mu   sync.Mutex
		all  []int64
		work sync.WaitGroup
	)
	for range 4 {
		work.Go(func() {
			for range 2 {
				got, err := o.Lease(t.Context(), uuid.New(), "", 50, 250, leaseBytes, time.Minute)
				assert.NoError(t, err)
				mu.Lock()
				all = append(all, ids(got)...)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	require.GreaterOrEqual(t, len(all), 1900, "no lease waits for a row that another holds")
	all = append(all, ids(lease(t, o, uuid.New(), ""))...) // a row that two met at once may be left over
	require.Equal(t, 2000, len(all))
	slices.Sort(all)
	require.Equal(t, 2000, len(slices.Compact(all)), "no message twice")
}

func TestLeaseIsFair(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	for i := range 25 {
		fill(t, pool, fmt.Sprintf("t%02d", 24-i), 60) // written against the alphabet
	}
	fill(t, pool, "heavy", 3000)
	name := func(i int) string { return fmt.Sprintf("t%02d", i) }

	token := uuid.New()
	first := lease(t, o, token, "")
	require.Len(t, first, 500)
	want := []string{"heavy"}
	for i := range 9 {
		want = append(want, name(i))
	}
	require.Equal(t, want, lanes(first), "50 of each, in turns")
	require.True(t, slices.IsSorted(ids(first[:50])), "in the order of writing")

	second := lease(t, o, uuid.New(), first[len(first)-1].Lane)
	want = want[:0]
	for i := range 10 {
		want = append(want, name(9+i))
	}
	require.Equal(t, want, lanes(second), "the turn goes on after the last lane")

	third := lease(t, o, uuid.New(), second[len(second)-1].Lane)
	want = []string{"t19", "t20", "t21", "t22", "t23", "t24", "heavy"}
	for i := range 15 {
		want = append(want, name(i))
	}
	require.Equal(t, want, lanes(third), "and around: the remainder of the lanes that had their turn")
	require.Len(t, third, 7*50+15*10)
}

func TestLeaseExpires(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	fill(t, pool, "a", 3)
	dead, heir := uuid.New(), uuid.New()
	got := lease(t, o, dead, "")
	require.Len(t, got, 3)
	wind(t, pool, 25*time.Second)
	require.Empty(t, lease(t, o, heir, ""))
	wind(t, pool, 6*time.Second)
	again := lease(t, o, heir, "")
	require.Equal(t, got, again, "the same messages under the same message IDs")

	n, err := o.Published(t.Context(), dead, ids(got), dbtest.After(1))
	require.NoError(t, err)
	require.Zero(t, n, "a lost lease marks nothing")
	given, err := o.Refuse(t.Context(), dead, refusals(ids(got), "too late"), 1, dbtest.After(9))
	require.NoError(t, err)
	require.Empty(t, given)
	require.NoError(t, o.Release(t.Context(), dead, ids(got), "too late"))
	n, err = o.Published(t.Context(), heir, ids(got)[:2], dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, int64(2), n)
	n, err = o.Published(t.Context(), heir, ids(got), dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, int64(1), n, "one that is marked is not marked again")
	require.Equal(t, []string{"", "", ""}, dbtest.Query[string](t, pool, "SELECT convert_from(body, 'UTF8') FROM outbox"))
	require.Zero(t, dbtest.Count(t, pool, "outbox WHERE refusals > 0 OR last_error <> ''"))
	wind(t, pool, time.Hour)
	require.Empty(t, lease(t, o, heir, ""))
}

func TestRelease(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	fill(t, pool, "a", 2)
	token := uuid.New()
	got := lease(t, o, token, "")
	given, err := o.Refuse(t.Context(), token, refusals(ids(got)[:1], "no queue is bound"), 31, dbtest.After(2))
	require.NoError(t, err)
	require.Empty(t, given)
	require.NoError(t, o.Release(t.Context(), token, ids(got)[1:], "connection closed"))
	require.Equal(t, []int64{1, 0}, dbtest.Query[int64](t, pool, "SELECT refusals::bigint FROM outbox ORDER BY id"))
	require.Equal(t, []string{"no queue is bound", "connection closed"},
		dbtest.Query[string](t, pool, "SELECT last_error FROM outbox ORDER BY id"))

	again := lease(t, o, token, "")
	require.Equal(t, got[1:], again, "the unknown one at once, the refused one not yet")
	wind(t, pool, time.Minute)
	require.Equal(t, ids(got), ids(lease(t, o, token, "")))
}

// TestRefuseWaitsLonger: each refusal of a message costs it the next of the waits, and those after the last cost that.
func TestRefuseWaitsLonger(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	fill(t, pool, "a", 1)
	last := fault.RefusalWaits[len(fault.RefusalWaits)-1]
	for n, wait := range append(slices.Clone(fault.RefusalWaits), last, last) {
		token := uuid.New()
		got := lease(t, o, token, "")
		require.Len(t, got, 1, "refusal %d", n)
		_, err := o.Refuse(t.Context(), token, refusals(ids(got), "no queue is bound"), 0, dbtest.Start)
		require.NoError(t, err)
		wind(t, pool, wait-10*time.Second)
		require.Empty(t, lease(t, o, uuid.New(), ""), "refusal %d", n+1)
		wind(t, pool, 10*time.Second)
	}
}

// TestPutOff: a message that the broker leaves without an answer waits for as long as it has waited, at least half a minute
// and at most ten, and is never given up.
func TestPutOff(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	fill(t, pool, "a", 1)
	for _, tt := range []struct{ waited, waits time.Duration }{
		{0, 30 * time.Second}, {20 * time.Second, 30 * time.Second}, {5 * time.Minute, 5 * time.Minute}, {3 * time.Hour, 10 * time.Minute},
	} {
		_, err := pool.Exec(t.Context(), `UPDATE outbox SET created_at = now() - $1::interval,
			due_at = CASE $1::interval WHEN '0' THEN '-infinity' ELSE now() END`, tt.waited)
		require.NoError(t, err)
		token := uuid.New()
		got := lease(t, o, token, "")
		require.Len(t, got, 1)
		require.NoError(t, o.PutOff(t.Context(), uuid.New(), ids(got), "another's lease", true))
		require.NoError(t, o.PutOff(t.Context(), token, ids(got), "the broker does not answer", true))
		require.Equal(t, int64(1), dbtest.Count(t, pool, `outbox WHERE refusals = 0 AND last_error = 'the broker does not answer'
			AND lease_token IS NULL AND due_at - now() BETWEEN $1::interval - '10s'::interval AND $1::interval`, tt.waits), tt.waited)
	}
}

// TestPutOffTogether: where nothing of a batch had an answer, a message is put off from its second silence in a row on.
func TestPutOffTogether(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	fill(t, pool, "a", 1)
	silent := func() {
		t.Helper()
		token := uuid.New()
		got := lease(t, o, token, "")
		require.Len(t, got, 1)
		require.NoError(t, o.PutOff(t.Context(), token, ids(got), "the broker does not answer", false))
	}
	silent()
	token := uuid.New()
	got := lease(t, o, token, "")
	require.Len(t, got, 1, "it is due at once")
	require.NoError(t, o.Release(t.Context(), token, ids(got), "connection refused"))
	silent()
	silent()
	require.Empty(t, lease(t, o, uuid.New(), ""))
}

// TestRefusedTooOften: a message that is refused for the last time is a dead letter with its exchange, key and reason;
// its replay goes there again, and when that is refused too, it is the same letter. The replay of a letter that died in
// a queue opens that one.
func TestRefusedTooOften(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o, s := dbtest.Outbox(t, pool), db.NewDeadLetters(pool, nil)
	ids0 := dbtest.Archive(t, pool, dbtest.Dead("a", 1))
	_, err := s.Replay(t.Context(), ids0[0], false, "Ginette", dbtest.Start)
	require.NoError(t, err)
	fill(t, pool, "a", 2)
	refuse := func(most int) (given []int64) {
		token := uuid.New()
		given, err := o.Refuse(t.Context(), token, refusals(ids(lease(t, o, token, "")), "no queue is bound for it"), most, dbtest.After(2))
		require.NoError(t, err)
		wind(t, pool, time.Hour)
		return given
	}
	require.Empty(t, refuse(2))
	require.Equal(t, int64(3), dbtest.Count(t, pool, "outbox WHERE refusals = 1 AND due_at <= now()"))
	require.Len(t, refuse(2), 3)
	require.Zero(t, dbtest.Count(t, pool, "outbox"))
	require.Equal(t, int64(2), dbtest.Count(t, pool, `dead_letters WHERE state = 'open' AND queue = 'outbox' AND class = 'blocked'
		AND exchange = 'listings.events' AND routing_key = 'listings.published' AND convert_from(body, 'UTF8') = '{}'
		AND reason = 'refused by the broker 2 times: no queue is bound for it' AND message_id <> '' AND deaths = 1`))
	require.Equal(t, int64(1), dbtest.Count(t, pool, "dead_letters WHERE state = 'open' AND queue <> 'outbox' AND deaths = 2"),
		"the letter that was replayed is open again")

	n, err := s.ReplayAll(t.Context(), db.LetterFilter{Queue: []string{"outbox"}}, 10, "Ginette", dbtest.After(3))
	require.NoError(t, err)
	require.Equal(t, 2, n.Sent)
	require.Equal(t, int64(2), dbtest.Count(t, pool, `outbox WHERE exchange = 'listings.events' AND routing_key = 'listings.published'
		AND publish_as <> '' AND headers->>'x-conveyor-dead-letter' <> ''`))
	require.Len(t, refuse(1), 2)
	require.Equal(t, int64(2), dbtest.Count(t, pool, "dead_letters WHERE state = 'open' AND queue = 'outbox' AND deaths = 2 AND replays = 1"))
	require.Equal(t, int64(3), dbtest.Count(t, pool, "dead_letters"))
}

// TestLeasePassesOverWaiting: messages that wait after a refusal are not visited, however many there are.
func TestLeasePassesOverWaiting(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at, refusals, due_at)
		SELECT gen_random_uuid(), 'a', 'listings.events', 'listings.published', '{}', $1, 5, now() + interval '1 hour'
		FROM generate_series(1, 20000)`, dbtest.Start)
	require.NoError(t, err)
	fill(t, pool, "a", 60)
	for _, before := range []string{"SELECT", "ANALYZE outbox"} { // the planner does not know the table yet, and does
		dbtest.Alter(t, pool, before)
		var plans []struct{ Plan dbtest.Explained }
		require.NoError(t, pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+dbtest.Statements(t)["sqlOutboxLease"],
			"", 50, 500, leaseBytes, uuid.New(), time.Duration(0)).Scan(&plans))
		require.Equal(t, 50, plans[0].Plan.Rows)
		require.Less(t, plans[0].Plan.Most(), 200, "rows that one step looked at")
	}
}

func TestWaitingAndPurge(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	waiting, err := o.Waiting(t.Context(), dbtest.After(7))
	require.NoError(t, err)
	require.Zero(t, waiting)

	fill(t, pool, "a", 10)
	token := uuid.New()
	got := lease(t, o, token, "")
	_, err = o.Published(t.Context(), token, ids(got)[:4], dbtest.After(1))
	require.NoError(t, err)
	_, err = o.Published(t.Context(), token, ids(got)[4:6], dbtest.After(5))
	require.NoError(t, err)
	_, err = o.Refuse(t.Context(), token, refusals(ids(got)[6:7], "no queue"), 0, dbtest.After(5))
	require.NoError(t, err)
	waiting, err = o.Waiting(t.Context(), dbtest.After(7))
	require.NoError(t, err)
	require.Equal(t, backlog.Outbox{Pending: 4, Refused: 1, OldestAgeSeconds: dbtest.After(7).Sub(dbtest.Start).Seconds()}, waiting)

	for _, want := range []int64{3, 1, 0} { // at most 3 at once; the younger and the pending ones stay
		n, err := o.Purge(t.Context(), dbtest.After(5), 3)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, int64(6), dbtest.Count(t, pool, "outbox"))
}

// A tenant that is called as a lane of the outbox is has another one: its events stay, and are no pages of a crawl.
func TestTenantsHaveLanesOfTheirOwn(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o, token, b := dbtest.Outbox(t, pool), uuid.New(), new(pgx.Batch)
	for _, tenant := range []string{"crawl", "dead-letters", "drafts"} {
		m, err := db.TenantEvent(contract.MessageStatus, tenant, uuid.New(), nil, dbtest.Start)
		require.NoError(t, err)
		require.Equal(t, "tenant/"+tenant, m.Lane)
		db.OutboxAdd(b, m)
	}
	require.NoError(t, db.Write(t.Context(), pool, b))
	held, err := o.Published(t.Context(), token, ids(lease(t, o, token, "")), dbtest.Start)
	require.NoError(t, err)
	require.EqualValues(t, 3, held)
	require.EqualValues(t, 3, dbtest.Count(t, pool, "outbox WHERE published_at IS NOT NULL"), "a repeated change finds them")
}

// BenchmarkLease leases and marks batches of an outbox of about 100,000 pending messages of 1,000 lanes, one of which
// has nine tenths of them.
func BenchmarkLease(b *testing.B) {
	pool := dbtest.New(b)
	o := dbtest.Outbox(b, pool)
	refill := func(n int) {
		_, err := pool.Exec(b.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
			SELECT gen_random_uuid(), CASE WHEN n % 10 = 0 THEN 't' || (n / 10) % 999 ELSE 'heavy' END, 'listings.events',
				'listings.published', convert_to(repeat('x', 500), 'UTF8'), $1
			FROM generate_series(1, $2) n`, dbtest.Start, n)
		require.NoError(b, err)
	}
	refill(100_000)
	dbtest.Alter(b, pool, "VACUUM ANALYZE outbox")
	cursor, messages := "", 0
	for n := 0; b.Loop(); n++ {
		if n%40 == 39 {
			b.StopTimer()
			refill(20_000)
			b.StartTimer()
		}
		token := uuid.New()
		got := lease(b, o, token, cursor)
		if len(got) == 0 {
			b.Fatal("the outbox ran empty")
		}
		cursor = got[len(got)-1].Lane
		messages += len(got)
		_, err := o.Published(b.Context(), token, ids(got), dbtest.Start)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(messages)/float64(b.N), "messages/op")
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}

// TestLeaseIsBoundedByBytes: large messages come in slices that fit into memory, each lane still has its turn, and one
// that is larger than a slice is leased by itself.
func TestLeaseIsBoundedByBytes(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	grow := func(lane string, bytes int) {
		_, err := pool.Exec(t.Context(), "UPDATE outbox SET body = convert_to(repeat('x', $2), 'UTF8') WHERE lane = $1", lane, bytes)
		require.NoError(t, err)
	}
	fill(t, pool, "large", 50)
	grow("large", 1<<20)
	fill(t, pool, "small", 5)
	fill(t, pool, "vast", 2)
	grow("vast", leaseBytes+1)

	type slice struct {
		messages int
		lanes    []string
	}
	var got []slice
	seen, cursor := map[int64]bool{}, ""
	for {
		ms := lease(t, o, uuid.New(), cursor)
		if len(ms) == 0 {
			break
		}
		for _, m := range ms {
			require.False(t, seen[m.ID], "twice")
			seen[m.ID] = true
		}
		got = append(got, slice{len(ms), lanes(ms)})
		cursor = ms[len(ms)-1].Lane
	}
	require.Equal(t, []slice{
		{16, []string{"large"}}, {6, []string{"small", "vast"}}, {16, []string{"large"}}, {1, []string{"vast"}},
		{16, []string{"large"}}, {2, []string{"large"}},
	}, got)
	require.Len(t, seen, 57)
}
