//go:build cluster

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// What is lost with the primary, when commits wait for no replica, is what the replica had not received: nothing that
// was acknowledged before that. Adverts flow meanwhile; what was lost of them comes back when they are published again,
// as scrapers do. Each case makes the replica later.
func TestLossOfAsynchronousCommits(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name  string
		long  bool // of the long form only
		later func(ctx context.Context, standby string) error
	}{
		{"a fast link", true, func(context.Context, string) error { return nil }},
		{"a link of 200 ms", false, func(ctx context.Context, standby string) error {
			return w.Slow(ctx, standby, slowBy, 0)
		}},
		{"a replica cut off for 3 s", true, func(ctx context.Context, standby string) error {
			return errors.Join(w.Cut(ctx, standby), pause(ctx, 3*time.Second))
		}},
	} {
		if c.long && !*long {
			continue
		}
		if !t.Run(c.name, func(t *testing.T) { w.lose(t, c.later) }) {
			return
		}
	}
}

// lossFlow is how long writes and adverts flow before the replica becomes late, and after.
const lossFlow = 3 * time.Second

// lose has the replica promoted while rows are written and adverts flow, and holds what was lost against what the
// primary had said before.
func (w *world) lose(t *testing.T, later func(ctx context.Context, standby string) error) {
	w.becomesWhole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	old, next := w.Primary(), w.standby()
	rows, adverts, lag := w.writeRows(ctx, t), w.writeAdverts(ctx), w.watchLag(ctx, t, old)
	do(pause(ctx, lossFlow))
	do(later(ctx, next))
	do(pause(ctx, lossFlow))
	do(w.Cut(ctx, old)) // what it has sent, and not the replica received, is lost with it
	cut := time.Now()
	written, seen := rows(), lag()
	do(w.Heal(ctx, next)) // nothing passes from the primary to it any more
	do(w.Promote(ctx))
	published := adverts()

	kept := w.keptRows(ctx, t)
	var lost []row
	for _, r := range written {
		if r.acked.Before(cut) && !kept[r.n] {
			lost = append(lost, r)
		}
	}
	safe, behind := seen.safe()
	first := "–"
	if len(lost) > 0 {
		first = cut.Sub(lost[0].acked).Round(time.Millisecond).String()
	}
	t.Logf("of %d acknowledged rows %d are lost, the first from %s before the cut; the primary had said that the replica "+
		"was %s and %d bytes behind", len(written), len(lost), first, cut.Sub(safe).Round(time.Millisecond), behind)
	said := w.Behind()
	t.Logf("the driver says: %+v", said)
	if said.Primary != old || said.For < 0 {
		t.Errorf("the driver does not know how far the replica of %s was behind: %+v", old, said)
	}
	if len(lost) > 0 && lost[0].acked.Before(said.At.Add(-said.For)) {
		t.Errorf("row %d is lost, and was acknowledged %s before the last moment at which the driver takes all for safe",
			lost[0].n, said.At.Add(-said.For).Sub(lost[0].acked))
	}
	for _, r := range lost {
		if r.acked.Before(safe) {
			t.Errorf("row %d is lost, and was acknowledged %s before the cut; the replica had everything until %s before it",
				r.n, cut.Sub(r.acked), cut.Sub(safe))
			break
		}
	}

	do(w.Heal(ctx, old))
	do(w.Revive(ctx, old))
	w.becomesWhole(t)
	gone := w.settle(ctx, t, published)
	t.Logf("of %d adverts %d are no listings a while after the promotion", len(published), len(gone))
	for _, id := range gone {
		do(w.publish(ctx, id))
	}
	for _, id := range gone {
		w.listed(t, id, recoverWithin)
	}
}

// A row was written, and acknowledged at a time.
type row struct {
	n     int
	acked time.Time
}

const (
	sqlRowsTable = `CREATE TABLE IF NOT EXISTS test_rows (n bigint PRIMARY KEY)`
	sqlRowsEmpty = `TRUNCATE test_rows`
	sqlRowsWrite = `INSERT INTO test_rows VALUES ($1)`
	sqlRowsRead  = `SELECT n FROM test_rows`
)

// writeRows writes one row after the other until the connection fails, which ended ends.
func (w *world) writeRows(ctx context.Context, t *testing.T) (ended func() []row) {
	t.Helper()
	conn, err := pgx.Connect(ctx, w.Var("DATABASE_MIGRATE_URL"))
	require.NoError(t, err)
	for _, sql := range []string{sqlRowsTable, sqlRowsEmpty} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var list []row
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			if _, err := conn.Exec(ctx, sqlRowsWrite, n); err != nil {
				return
			}
			list = append(list, row{n, time.Now()})
			if pause(ctx, time.Millisecond) != nil {
				return
			}
		}
	}()
	return func() []row {
		cancel()
		<-done
		_ = conn.Close(context.WithoutCancel(ctx))
		return list
	}
}

func (w *world) keptRows(ctx context.Context, t *testing.T) map[int]bool {
	t.Helper()
	conn, err := pgx.Connect(ctx, w.Var("DATABASE_MIGRATE_URL")+"&connect_timeout=2")
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, _ := conn.Query(ctx, sqlRowsRead) // CollectRows reports its error
	list, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	kept := map[int]bool{}
	for _, n := range list {
		kept[n] = true
	}
	return kept
}

// writeAdverts publishes an advert every 50 ms until ended, and returns their IDs.
func (w *world) writeAdverts(ctx context.Context) (ended func() []string) {
	ctx, cancel := context.WithCancel(ctx)
	var list []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, 50*time.Millisecond) == nil {
			w.last++
			if w.publish(ctx, w.id()) == nil {
				list = append(list, w.id())
			}
		}
	}()
	return func() []string { cancel(); <-done; return list }
}

// A sample is what the primary says of its log: how far it is written, and how far the replica has it.
type sample struct {
	at            time.Time // before it was asked
	written, sent int64
}

type samples []sample

// safe is the last time until which everything that was acknowledged had arrived at the replica, as the samples tell,
// and how many bytes it was behind at last.
func (s samples) safe() (at time.Time, behind int64) {
	if len(s) == 0 {
		return time.Time{}, 0
	}
	last := s[len(s)-1]
	for _, one := range slices.Backward(s) {
		if one.written <= last.sent {
			return one.at, last.written - last.sent
		}
	}
	return time.Time{}, last.written - last.sent
}

const sqlLag = `
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, pg_wal_lsn_diff(flush_lsn, '0/0')::bigint
FROM pg_stat_replication`

// watchLag asks the primary all the time until it does not answer.
func (w *world) watchLag(ctx context.Context, t *testing.T, primary string) (ended func() samples) {
	t.Helper()
	conn, err := pgx.Connect(ctx, w.SuperURL(primary))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	var list samples
	var done sync.WaitGroup
	done.Go(func() {
		for pause(ctx, 10*time.Millisecond) == nil {
			s := sample{at: time.Now()}
			if err := conn.QueryRow(ctx, sqlLag).Scan(&s.written, &s.sent); err != nil {
				return
			}
			list = append(list, s)
		}
	})
	return func() samples {
		cancel()
		done.Wait()
		_ = conn.Close(context.WithoutCancel(ctx))
		return list
	}
}

const sqlAbsent = `
SELECT advert FROM unnest($1::text[]) advert
WHERE NOT EXISTS (SELECT FROM raw_listings WHERE platform_id = advert AND status = 'imported')`

// settle waits until no more adverts become listings, and returns those that have not.
func (w *world) settle(ctx context.Context, t *testing.T, published []string) (absent []string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, w.Var("DATABASE_URL"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for since, before := time.Now(), -1; time.Since(since) < settleQuiet; {
		rows, _ := conn.Query(ctx, sqlAbsent, published) // CollectRows reports its error
		if absent, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		if len(absent) != before {
			since, before = time.Now(), len(absent)
		}
		if len(absent) == 0 || pause(ctx, 200*time.Millisecond) != nil {
			return absent
		}
	}
	return absent
}

// settleQuiet is how long nothing changes before adverts count as lost: retries come sooner.
const settleQuiet = 30 * time.Second
