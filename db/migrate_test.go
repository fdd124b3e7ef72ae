package db_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// next are the migrations of a test, as if a release had added them.
func next(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// A reader holds a table for long, a migration wants to change it, and writers go on: those that wait behind the
// migration pass when it gives way, and it is tried again.
func TestMigrationLetsWritersPass(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), owned(t, dbtest.New(t))
	_, err := pool.Exec(ctx, "CREATE TABLE busy (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz)")
	require.NoError(t, err)
	reader, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = reader.Rollback(context.WithoutCancel(ctx)) }() // or a failure would wait for it
	_, err = reader.Exec(ctx, "SELECT count(*) FROM busy")
	require.NoError(t, err)

	writing, stop := context.WithCancel(ctx)
	defer stop()
	var written atomic.Int64
	var writers, migrating errgroup.Group
	writers.Go(func() error {
		for writing.Err() == nil {
			if _, err := pool.Exec(ctx, "INSERT INTO busy (at) VALUES (now())"); err != nil {
				return err
			}
			written.Add(1)
		}
		return nil
	})
	var mu sync.Mutex
	var lines []string
	progress := db.Progress(func(_ context.Context, line string, _ ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})
	tries := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(lines)
	}
	migrating.Go(func() error {
		return db.Migrate(ctx, pool, progress, db.GiveWayAfter(500*time.Millisecond), db.From(next(map[string]string{
			"9001_column.sql": "-- +goose Up\nALTER TABLE busy ADD COLUMN note text NOT NULL DEFAULT '';\n",
		})))
	})
	require.Eventually(t, func() bool { // a writer waits behind the migration
		return dbtest.Count(t, pool, "pg_locks WHERE NOT granted AND relation = 'busy'::regclass") == 2
	}, servicetest.Patience(), 5*time.Millisecond)
	before := written.Load()
	require.Eventually(t, func() bool { return written.Load() > before+1 }, servicetest.Patience(), 5*time.Millisecond)
	require.Eventually(t, func() bool { return tries() > 1 }, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, reader.Rollback(ctx))
	require.NoError(t, migrating.Wait())
	stop()
	require.NoError(t, writers.Wait())
	last := len(lines) - 1
	require.Equal(t, "migration applied", lines[last])
	for _, line := range lines[:last] {
		require.Equal(t, "a migration waits for the lock of a table and is tried again", line)
	}
}

// A migration waits three seconds for a lock, and for as long as it must where it blocks nobody.
func TestMigrationHasALockTimeout(t *testing.T) {
	t.Parallel()

	pool := owned(t, dbtest.New(t))
	const seen = "SELECT current_setting('lock_timeout') AS setting;\n"
	require.NoError(t, db.Migrate(t.Context(), pool, db.From(next(map[string]string{
		"9001_usual.sql":      "-- +goose Up\nCREATE TABLE seen AS " + seen,
		"9002_concurrent.sql": "-- +goose NO TRANSACTION\n-- +goose Up\nINSERT INTO seen " + seen,
	}))))
	require.Equal(t, []string{"3s", "0"}, dbtest.Query[string](t, pool, "SELECT setting FROM seen ORDER BY ctid"))
}

// An index that is built CONCURRENTLY waits for an old transaction as long as it must, and blocks nobody.
func TestIndexWaitsForOldTransactions(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), owned(t, dbtest.New(t))
	_, err := pool.Exec(ctx, "CREATE TABLE busy (id bigint)")
	require.NoError(t, err)
	old, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = old.Rollback(context.WithoutCancel(ctx)) }() // or a failure would wait for it
	_, err = old.Exec(ctx, "INSERT INTO busy VALUES (1)")
	require.NoError(t, err)
	var migrating errgroup.Group
	migrating.Go(func() error {
		return db.Migrate(ctx, pool, db.GiveWayAfter(time.Millisecond), db.From(next(map[string]string{
			"9001_index.sql": "-- +goose NO TRANSACTION\n-- +goose Up\n" +
				"CREATE INDEX CONCURRENTLY IF NOT EXISTS busy_id ON busy (id);\n",
		})))
	})
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, "pg_stat_progress_create_index WHERE relid = 'busy'::regclass AND phase LIKE 'waiting for writers%'") == 1
	}, servicetest.Patience(), 5*time.Millisecond)
	for range 100 {
		_, err := pool.Exec(ctx, "INSERT INTO busy VALUES (2)")
		require.NoError(t, err)
	}
	require.False(t, valid(t, pool, "busy_id"))
	require.NoError(t, old.Commit(ctx))
	require.NoError(t, migrating.Wait())
	require.True(t, valid(t, pool, "busy_id"))
}

// as opens the database of pool for another role.
func as(t *testing.T, pool *pgxpool.Pool, user *url.Userinfo) *pgxpool.Pool {
	t.Helper()

	u, err := url.Parse(dbtest.Direct(t, pool))
	require.NoError(t, err)
	u.User = user
	p, err := db.Open(t.Context(), u.String(), 3)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// owned opens the database of pool for the role that owns its tables: that of DATABASE_MIGRATE_URL, if there is one.
func owned(t *testing.T, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()

	owner := os.Getenv("DATABASE_MIGRATE_URL")
	if owner == "" {
		return pool
	}
	u, err := url.Parse(owner)
	require.NoError(t, err)
	return as(t, pool, u.User)
}

// roles opens a database for the role that migrates and for that of the application: those of the services, or two of
// its own where there is only one.
func roles(t *testing.T) (migrating, working *pgxpool.Pool) {
	t.Helper()

	ctx, pool := t.Context(), dbtest.New(t)
	if migrating := owned(t, pool); migrating != pool {
		return migrating, pool
	}
	id := strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	owner, app := "owner_"+id, "app-"+id // the second needs quotes
	var database string
	require.NoError(t, pool.QueryRow(ctx, "SELECT current_database()").Scan(&database))
	t.Cleanup(func() {
		for _, role := range []string{owner, app} {
			name := pgx.Identifier{role}.Sanitize()
			_, err := pool.Exec(context.WithoutCancel(ctx), "DROP OWNED BY "+name+" CASCADE; DROP ROLE "+name)
			require.NoError(t, err)
		}
	})
	for _, s := range []string{
		"CREATE ROLE " + owner + " LOGIN PASSWORD 'x'", `CREATE ROLE "` + app + `" LOGIN PASSWORD 'x'`,
		"DROP SCHEMA public CASCADE", "CREATE SCHEMA public AUTHORIZATION " + owner,
		fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s", database, owner),
	} {
		_, err := pool.Exec(ctx, s)
		require.NoError(t, err, s)
	}
	return as(t, pool, url.UserPassword(owner, "x")), as(t, pool, url.UserPassword(app, "x"))
}

// What an interrupted CREATE INDEX CONCURRENTLY leaves behind is built again, and not taken for the index.
func TestUnfinishedIndexIsBuiltAgain(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), owned(t, dbtest.New(t))
	_, err := pool.Exec(ctx, "CREATE TABLE busy (id bigint)")
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "INSERT INTO busy VALUES (1), (1)")
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "CREATE UNIQUE INDEX CONCURRENTLY busy_id ON busy (id)")
	require.ErrorContains(t, err, "could not create unique index")
	require.False(t, valid(t, pool, "busy_id"))
	_, err = pool.Exec(ctx, "DELETE FROM busy")
	require.NoError(t, err)
	require.NoError(t, db.Migrate(ctx, pool, db.From(next(map[string]string{
		"9001_index.sql": "-- +goose NO TRANSACTION\n-- +goose Up\n" +
			"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS busy_id ON busy (id);\n",
	}))))
	require.True(t, valid(t, pool, "busy_id"))
}

func valid(t *testing.T, pool *pgxpool.Pool, index string) (valid bool) {
	t.Helper()

	err := pool.QueryRow(t.Context(), `SELECT coalesce(bool_and(indisvalid), false) FROM pg_index
		WHERE indexrelid = to_regclass($1)`, index).Scan(&valid)
	require.NoError(t, err)
	return valid
}

// Several processes that migrate at once do the work once.
func TestMigrationsTakeTurns(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), owned(t, dbtest.New(t))
	var all errgroup.Group
	for range 3 {
		all.Go(func() error {
			return db.Migrate(ctx, pool, db.From(next(map[string]string{
				"9001_a.sql": "-- +goose Up\nCREATE TABLE a (id int);\n",
				"9002_b.sql": "-- +goose Up\nALTER TABLE a ADD COLUMN b int;\n",
			})))
		})
	}
	require.NoError(t, all.Wait())
}

// The application works as a role that owns nothing: it reads and writes every table, and cannot change the schema, the
// audit or the list of migrations.
func TestApplicationRole(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	owner, app := migrating.Config().ConnConfig.User, working.Config().ConnConfig.User
	for range 2 { // it may be repeated
		require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(app)))
	}
	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(app), db.From(next(map[string]string{
		"9001_a.sql": "-- +goose Up\nCREATE TABLE later (id bigint GENERATED ALWAYS AS IDENTITY, a int);\n",
	}))))
	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(owner)))

	allowed := []string{
		"INSERT INTO later (a) VALUES (1)", "UPDATE later SET a = 2", "DELETE FROM later",
		"UPDATE listings SET title = ''", "DELETE FROM outbox", "SELECT count(*) FROM goose_db_version", "NOTIFY outbox",
		"INSERT INTO audit (at, actor, action, subject) VALUES (now(), 'a', 'b', 'c')", "SELECT count(*) FROM audit",
		"SELECT pg_advisory_xact_lock(1)", "SELECT * FROM dead_letters FOR UPDATE", "LISTEN outbox",
	}
	for _, s := range allowed {
		_, err := working.Exec(ctx, s)
		require.NoError(t, err, s)
	}
	for _, s := range []string{
		"UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit", "DELETE FROM goose_db_version",
		"TRUNCATE listings", "DROP TABLE listings", "ALTER TABLE listings ADD a int", "CREATE TABLE t (a int)",
		"GRANT ALL ON audit TO PUBLIC",
	} {
		_, err := working.Exec(ctx, s)
		if s == "GRANT ALL ON audit TO PUBLIC" {
			var open bool // Postgres only warns
			require.NoError(t, migrating.QueryRow(ctx,
				"SELECT has_table_privilege($1, 'audit', 'DELETE')", app).Scan(&open))
			require.False(t, open)
			continue
		}
		require.Error(t, err, s)
	}
}

// Functions that run as the owner of the tables are for the application alone: another role that may look at the schema
// could drop history by them. A new one has to be taken from PUBLIC by its migration, and named in the grants.
func TestFunctionsOfTheOwnerAreForTheApplication(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	app := working.Config().ConnConfig.User
	functions := func() []string {
		return dbtest.Query[string](t, migrating, `SELECT oid::regprocedure::text FROM pg_proc
			WHERE prosecdef AND pronamespace = current_schema()::regnamespace ORDER BY 1`)
	}
	may := func(role, function string) bool {
		return dbtest.Query[bool](t, migrating, "SELECT has_function_privilege($1::text, $2::text, 'EXECUTE')", role, function)[0]
	}

	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(app)))

	// A role that may do everything else stands for another that reaches the schema.
	_, err := migrating.Exec(ctx, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM "+pgx.Identifier{app}.Sanitize())
	require.NoError(t, err)
	for _, call := range []string{
		"partitions_expire('audit', now(), '', 10)", "crawl_partitions_expire(now())", "audit_expire(now(), 10)",
		"partitions_make('audit', now())", "partitions_state()",
	} {
		_, err := working.Exec(ctx, "SELECT "+call)
		require.ErrorContains(t, err, "permission denied for function", call)
		_, err = migrating.Exec(ctx, "SELECT "+call)
		require.NoError(t, err, "as the owner")
	}

	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(app)))
	require.Greater(t, len(functions()), 8)
	for _, f := range functions() {
		require.False(t, may("public", f), "%s runs as the owner: take it from PUBLIC in its migration", f)
		require.True(t, may(app, f), "%s runs as the owner, and is not in the grants of the application", f)
	}
	require.NoError(t, db.NewRetention(working).MakePartitions(ctx, time.Now().AddDate(0, 5, 0)))
}
