// Package dbtest gives each test a migrated Postgres database of its own.
package dbtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// template is migrated once and copied for every test, which takes a tenth of the time.
var template = "conveyor_test_" + db.SchemaID()

// prepared says whether this process has seen that the template is up to date.
var prepared struct {
	sync.Mutex
	done bool
}

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
	prepare(t, admin, server, app)
	lock(t, admin, "pg_advisory_lock_shared")

	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	// The other strategy writes each page of the template to the log: three times the work on a server without fsync.
	_, err = admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template))
	require.NoError(t, err)
	lock(t, admin, "pg_advisory_unlock_shared")
	pool := open(t, on(t, app, name), 10)
	t.Cleanup(func() {
		pool.Close()
		ctx := context.WithoutCancel(ctx)
		conn, err := pgx.Connect(ctx, server)
		require.NoError(t, err)
		defer conn.Close(ctx)
		for range 5 { // a session that a pooler was opening meanwhile is seen by the next look only
			var pg *pgconn.PgError
			if err = drop(ctx, conn, name); !errors.As(err, &pg) || pg.Code != "55006" { // object_in_use
				break
			}
		}
		require.NoError(t, err)
	})
	return pool
}

// lock takes the lock of the template, or lets go of it.
func lock(t testing.TB, admin *pgx.Conn, function string) {
	t.Helper()

	_, err := admin.Exec(t.Context(), fmt.Sprintf("SELECT %s(hashtext($1))", function), template)
	require.NoError(t, err)
}

// drop ends the sessions of a database and drops it. FORCE would fail for the owner while the server itself vacuums a
// table there.
func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = $1 AND backend_type = 'client backend'`, name)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "DROP DATABASE "+name)
	return err
}

// open opens a database as the application does: through PgBouncer where that is among the services.
func open(t testing.TB, url string, conns int32) *pgxpool.Pool {
	t.Helper()

	var options []db.Option
	if os.Getenv("DATABASE_LISTEN_URL") != "" {
		options = append(options, db.Pooled)
	}
	pool, err := db.Open(t.Context(), url, conns, options...)
	require.NoError(t, err)
	return pool
}

// Direct is the address of a pool's database on the server itself, for the application's role: DATABASE_LISTEN_URL.
func Direct(t testing.TB, pool *pgxpool.Pool) string {
	t.Helper()

	return on(t, cmp.Or(os.Getenv("DATABASE_LISTEN_URL"), servicetest.Address(t, "DATABASE_URL")),
		pool.Config().ConnConfig.Database)
}

// Outbox is the outbox of a pool's database, which listens at its server.
func Outbox(t testing.TB, pool *pgxpool.Pool) *db.Outbox {
	t.Helper()

	o := db.NewOutbox(pool)
	require.NoError(t, o.ListenAt(Direct(t, pool)))
	return o
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

// KeepTold are statements of the owner after which the table told keeps each message that is written to the outbox
// (message_id, routing_key, body): the outbox itself has no bodies of what is published.
const KeepTold = `
CREATE TABLE told (message_id uuid PRIMARY KEY, routing_key text, body bytea);
CREATE FUNCTION keep_told() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO told VALUES (NEW.message_id, NEW.routing_key, NEW.body);
    RETURN NULL;
END $$;
CREATE TRIGGER keep_told AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION keep_told()`

// Part opens a pool's database for a role that has what these parts of the application need, and no more.
func Part(t testing.TB, pool *pgxpool.Pool, parts ...string) *pgxpool.Pool {
	t.Helper()

	ctx := t.Context()
	role := "part-" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	name := pgx.Identifier{role}.Sanitize()
	Alter(t, pool, "CREATE ROLE "+name+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		owner, err := pgx.Connect(ctx, Owner(t, pool))
		require.NoError(t, err)
		defer owner.Close(ctx)
		for _, of := range []string{"SCHEMA public", "ALL TABLES IN SCHEMA public", "ALL SEQUENCES IN SCHEMA public",
			"ALL FUNCTIONS IN SCHEMA public"} {
			_, err := owner.Exec(ctx, "REVOKE ALL ON "+of+" FROM "+name)
			require.NoError(t, err)
		}
		_, err = owner.Exec(ctx, "DROP ROLE "+name)
		require.NoError(t, err)
	})
	migrating, err := db.Open(ctx, Owner(t, pool), 2)
	require.NoError(t, err)
	defer migrating.Close()
	options := []db.MigrateOption{db.GrantTo(pool.Config().ConnConfig.User)}
	for _, part := range parts {
		options = append(options, db.GrantPart(part, role))
	}
	require.NoError(t, db.Migrate(ctx, migrating, options...))
	u, err := url.Parse(on(t, servicetest.Address(t, "DATABASE_URL"), pool.Config().ConnConfig.Database))
	require.NoError(t, err)
	u.User = url.UserPassword(role, "x")
	own := open(t, u.String(), 10)
	t.Cleanup(own.Close)
	return own
}

// prepare makes the template and brings it up to date, unless this process has done so. A database with connections
// cannot be copied: nobody copies it meanwhile.
func prepare(t testing.TB, admin *pgx.Conn, server, app string) {
	t.Helper()

	prepared.Lock()
	defer prepared.Unlock()
	if prepared.done {
		return
	}
	lock(t, admin, "pg_advisory_lock")
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
	pool.Close() // twice does nothing
	lock(t, admin, "pg_advisory_unlock")
	prepared.done = true
}

// on is server's URL with another database.
func on(t testing.TB, server, name string) string {
	t.Helper()

	u, err := url.Parse(server)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}
