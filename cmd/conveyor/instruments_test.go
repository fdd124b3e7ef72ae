package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// Requests that hold all connections lock no caller out: keys and GET /ready have connections of their own.
func TestDoorConnections(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	c, err := settings()
	require.NoError(t, err)
	busy, err := db.Open(t.Context(), pool.Config().ConnString(), 1)
	require.NoError(t, err)
	t.Cleanup(busy.Close)
	taken, err := busy.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(taken.Release)
	h := &house{
		config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry(), pool: busy, doorPool: pool,
		redis: redis.NewClient(&redis.Options{}),
	}
	t.Cleanup(func() { _ = h.redis.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	guard, err := h.guard(ctx)
	require.NoError(t, err)
	_, err = guard.Locked(ctx)
	require.NoError(t, err)
	require.NoError(t, h.checks()["postgres"](ctx))
}

// No role runs where Postgres does not keep tenants apart for it, and none waits for Postgres.
func TestCheckDatabaseRole(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	h := &house{pool: pool}
	var super string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1").Scan(&super))
	own := pool.Config().ConnConfig.User
	known, err := h.checkDatabaseRole(t.Context(), own)
	require.NoError(t, err)
	require.True(t, known)
	_, err = h.checkDatabaseRole(t.Context(), super)
	require.ErrorContains(t, err, "row-level security is off")

	conf := pool.Config() // of a Postgres that comes back when it has been asked three times
	dial, asked := conf.ConnConfig.DialFunc, new(atomic.Int64)
	conf.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if asked.Add(1) <= 3 {
			return nil, errors.New("it is away")
		}
		return dial(ctx, network, address)
	}
	h.pool, err = pgxpool.NewWithConfig(t.Context(), conf)
	require.NoError(t, err)
	t.Cleanup(h.pool.Close)
	known, err = h.checkDatabaseRole(t.Context(), super)
	require.NoError(t, err)
	require.False(t, known)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.ErrorContains(t, h.checkDatabaseRoleUntilKnown(ctx, super, time.Millisecond), "row-level security is off")
	require.Greater(t, asked.Load(), int64(3))
	require.NoError(t, h.checkDatabaseRoleUntilKnown(ctx, own, time.Millisecond))
}
