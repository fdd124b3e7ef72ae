// Package dbtest gives each test a migrated Postgres database of its own.
package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// template is migrated once and copied for every test, which takes a tenth of the time.
var template = "conveyor_test_" + db.SchemaID()

// New returns a pool on a fresh database, dropped when the test ends. Without a server the test fails with the
// command that starts one.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()

	server := servicetest.Address(t, "DATABASE_URL")
	ctx := t.Context()
	admin, err := pgx.Connect(ctx, server)
	require.NoError(t, err)
	defer admin.Close(context.WithoutCancel(ctx))
	// A database with connections cannot be copied, so one process at a time migrates or copies the template.
	_, err = admin.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", template)
	require.NoError(t, err)
	prepare(t, admin, server)

	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err = admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template))
	require.NoError(t, err)
	_, err = admin.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", template)
	require.NoError(t, err)
	pool, err := db.Open(ctx, on(t, server, name), 10)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Close()
		ctx := context.WithoutCancel(ctx)
		conn, err := pgx.Connect(ctx, server)
		require.NoError(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
	})
	return pool
}

// prepare makes the template and brings it up to date.
func prepare(t testing.TB, admin *pgx.Conn, server string) {
	t.Helper()

	ctx := t.Context()
	var made bool
	require.NoError(t, admin.QueryRow(ctx,
		"SELECT exists(SELECT FROM pg_database WHERE datname = $1)", template).Scan(&made))
	if !made {
		_, err := admin.Exec(ctx, "CREATE DATABASE "+template)
		require.NoError(t, err)
	}
	pool, err := db.Open(ctx, on(t, server, template), 2)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, db.Migrate(ctx, pool))
}

// on is server's URL with another database.
func on(t testing.TB, server, name string) string {
	t.Helper()

	u, err := url.Parse(server)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}
