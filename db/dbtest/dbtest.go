// Package dbtest gives each test a migrated Postgres database of its own.
package dbtest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
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

// New returns a pool on a fresh database, dropped when the test ends. It connects as the application does, which may
// not own its tables: see Owner. Without a server the test fails with the command that starts one.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()

	app := servicetest.Address(t, "DATABASE_URL")
	server := owner(app)
	ctx := t.Context()
	admin, err := pgx.Connect(ctx, server)
	require.NoError(t, err)
	defer admin.Close(context.WithoutCancel(ctx))
	// A database with connections cannot be copied, so one process at a time migrates or copies the template.
	_, err = admin.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", template)
	require.NoError(t, err)
	prepare(t, admin, server, app)

	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err = admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template))
	require.NoError(t, err)
	_, err = admin.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", template)
	require.NoError(t, err)
	pool, err := db.Open(ctx, on(t, app, name), 10)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Close()
		ctx := context.WithoutCancel(ctx)
		conn, err := pgx.Connect(ctx, server)
		require.NoError(t, err)
		defer conn.Close(ctx)
		// FORCE would fail for the owner while the server itself vacuums a table there.
		_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = $1 AND backend_type = 'client backend'`, name)
		require.NoError(t, err)
		_, err = conn.Exec(ctx, "DROP DATABASE "+name)
		require.NoError(t, err)
	})
	return pool
}

// owner is the address of the server for the role that owns databases and tables.
func owner(app string) string { return cmp.Or(os.Getenv("DATABASE_MIGRATE_URL"), app) }

// Owner is the address of a pool's database for the role that owns its tables and may change them.
func Owner(t testing.TB, pool *pgxpool.Pool) string {
	t.Helper()

	return on(t, owner(servicetest.Address(t, "DATABASE_URL")), pool.Config().ConnConfig.Database)
}

// Alter runs a statement as the owner of the tables of a pool's database, such as ANALYZE or one that changes a table.
func Alter(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()

	ctx := t.Context()
	conn, err := pgx.Connect(ctx, Owner(t, pool))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, args...)
	require.NoError(t, err, sql)
}

// prepare makes the template and brings it up to date.
func prepare(t testing.TB, admin *pgx.Conn, server, app string) {
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
	user, err := pgx.ParseConfig(app)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(ctx, pool, db.GrantTo(user.User)))
}

// on is server's URL with another database.
func on(t testing.TB, server, name string) string {
	t.Helper()

	u, err := url.Parse(server)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}
