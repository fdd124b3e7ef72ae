package db_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
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
