package db_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// What the databases and the log take is not free, and is asked for now and then only.
func TestDisk(t *testing.T) {
	t.Parallel()

	pool, now := dbtest.New(t), time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	size := int64(1) << 50
	own, err := db.Open(t.Context(), dbtest.Direct(t, pool), 2)
	require.NoError(t, err)
	t.Cleanup(own.Close)
	d := db.NewDisk(own, size, clock)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	free := d.Free(gone)
	require.Less(t, free, size-1<<20, "who asked first is gone, and others count on the answer")
	require.Positive(t, free)
	asked := own.Stat().AcquireCount()
	now = now.Add(29 * time.Second)
	require.Equal(t, free, d.Free(t.Context()))
	require.Equal(t, asked, own.Stat().AcquireCount(), "it is not asked again so soon")
	now = now.Add(time.Second)
	d.Free(t.Context())
	require.Greater(t, own.Stat().AcquireCount(), asked)
	free = d.Free(t.Context())
	own.Close()
	now = now.Add(30 * time.Second)
	require.Equal(t, free, d.Free(t.Context()), "it does not answer")
	require.EqualValues(t, math.MaxInt64, db.NewDisk(own, size, clock).Free(t.Context()), "nothing is known")

	d = db.NewDisk(pool, size, clock)
	var asking errgroup.Group
	for range 4 {
		asking.Go(func() error {
			if d.Free(t.Context()) == math.MaxInt64 {
				return errors.New("one that was asked for with the first did not wait for its answer")
			}
			return nil
		})
	}
	require.NoError(t, asking.Wait())
	require.Negative(t, db.NewDisk(pool, 1<<20, clock).Free(t.Context()))
}

// A server that takes longer to sum its files than anybody waits for is heard all the same, by those that ask later.
func TestDiskOfASlowServer(t *testing.T) {
	t.Parallel()

	pool, now := dbtest.New(t), time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	config, slow := pool.Config(), slow{asked: make(chan struct{}), answer: make(chan struct{})}
	config.ConnConfig.Tracer = slow
	own, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(own.Close)
	d := db.NewDisk(own, 1<<50, func() time.Time { return now })
	require.EqualValues(t, math.MaxInt64, d.Free(t.Context()), "nothing is known yet")
	<-slow.asked
	require.EqualValues(t, math.MaxInt64, d.Free(t.Context()), "it is asked once at a time")
	close(slow.answer)
	require.Eventually(t, func() bool { return d.Free(t.Context()) < 1<<50 }, servicetest.Patience(), time.Millisecond)
	require.Positive(t, d.Free(t.Context()))
}

// slow is a tracer by which a statement that sums files is not answered before it may be.
type slow struct{ asked, answer chan struct{} }

func (s slow) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "sqlDiskTaken") {
		close(s.asked)
		select {
		case <-s.answer:
		case <-ctx.Done(): // it is not answered
		}
	}
	return ctx
}

func (slow) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
