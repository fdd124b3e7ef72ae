package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// A role warns at its start where Postgres does not keep tenants apart for it, and waits for no Postgres.
func TestWarnOfDatabaseRole(t *testing.T) {
	t.Parallel()
	pool, log := dbtest.New(t), new(bytes.Buffer)
	h := &house{pool: pool, log: slog.New(slog.NewTextHandler(log, nil))}
	var super string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1").Scan(&super))
	h.warnOfDatabaseRole(t.Context(), pool.Config().ConnConfig.User)
	require.Empty(t, log.String())
	h.warnOfDatabaseRole(t.Context(), super)
	require.Contains(t, log.String(), "row-level security is off")
	log.Reset()
	away, err := db.Open(t.Context(), "postgres://conveyor@127.0.0.1:1/conveyor", 1)
	require.NoError(t, err)
	t.Cleanup(away.Close)
	h.pool = away
	h.warnOfDatabaseRole(t.Context(), super)
	require.Empty(t, log.String())
}
