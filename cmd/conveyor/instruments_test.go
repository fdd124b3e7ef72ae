package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

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

// No role starts where Postgres does not keep tenants apart for it, and none waits for Postgres.
func TestCheckDatabaseRole(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	h := &house{pool: pool}
	var super string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1").Scan(&super))
	require.NoError(t, h.checkDatabaseRole(t.Context(), pool.Config().ConnConfig.User))
	require.ErrorContains(t, h.checkDatabaseRole(t.Context(), super), "row-level security is off")
	away, err := db.Open(t.Context(), "postgres://conveyor@127.0.0.1:1/conveyor", 1)
	require.NoError(t, err)
	t.Cleanup(away.Close)
	h.pool = away
	require.NoError(t, h.checkDatabaseRole(t.Context(), super))
}
