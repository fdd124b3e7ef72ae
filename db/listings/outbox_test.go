package listings_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// TestWaitIsWoken: writers tell relays of messages after their commit, one and all of them, but no more often than they
// may.
func TestWaitIsWoken(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := dbtest.Outbox(t, pool)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	added, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- o.Wait(ctx, added) }()
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, `pg_stat_activity
			WHERE query = 'LISTEN outbox' AND state = 'idle' AND datname = current_database()`) == 1 // it listens by now
	}, servicetest.Patience(), 5*time.Millisecond)
	direct, err := pgx.Connect(ctx, dbtest.Direct(t, pool)) // sees each signal
	require.NoError(t, err)
	defer direct.Close(context.WithoutCancel(ctx))
	_, err = direct.Exec(ctx, "LISTEN outbox")
	require.NoError(t, err)
	n := 0
	write := func(s *dblistings.Listings) {
		n++
		require.NoError(t, s.HandOver(t.Context(), listing.Handover{
			Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, Revision: int64(n), Exchange: "listings",
			RoutingKey: "listings.ready", Bodies: [][]byte{[]byte("{}")},
		}, listing.Run{}, dbtest.Start))
	}
	woken := func() {
		t.Helper()
		select {
		case <-added:
		case <-time.After(servicetest.Patience()):
			t.Fatal("Wait did not report the message")
		}
	}
	s := dblistings.NewListings(pool)
	s.WakeRelays(time.Hour, time.Hour)
	for range 100 {
		write(s)
	}
	woken()
	_, err = pool.Exec(ctx, "SELECT pg_notify('outbox', 'end')")
	require.NoError(t, err)
	signals := 0
	for said := ""; said != "end"; signals++ {
		waiting, end := context.WithTimeout(ctx, servicetest.Patience())
		got, err := direct.WaitForNotification(waiting)
		end()
		require.NoError(t, err)
		said = got.Payload
	}
	require.NoError(t, direct.Close(ctx))
	require.Equal(t, 2, signals, "one for a hundred messages in less than an hour, and ours")
	woken() // by ours

	s = dblistings.NewListings(pool)
	s.WakeRelays(db.WakeEvery, time.Hour)
	for range 2 {
		write(s)
		woken()
		<-time.After(2 * db.WakeEvery)
	}
	require.Equal(t, int64(n), dbtest.Count(t, pool, "outbox"))
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, "pg_stat_activity WHERE query = 'LISTEN outbox' AND datname = current_database()") == 0
	}, servicetest.Patience(), 5*time.Millisecond, "no connection that listens goes back to the pool")
}
