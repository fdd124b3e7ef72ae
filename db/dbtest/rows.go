package dbtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Start is when these tests begin.
var Start = time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)

// After is some minutes later than Start.
func After(minutes int) time.Time { return Start.Add(time.Duration(minutes) * time.Minute) }

// Query runs one SELECT and returns its rows as one value each.
func Query[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) []T {
	t.Helper()

	rows, _ := pool.Query(context.WithoutCancel(t.Context()), sql, args...)
	got, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return got
}

// Count returns how many rows a table has that satisfy a condition.
func Count(t testing.TB, pool *pgxpool.Pool, where string, args ...any) int64 {
	t.Helper()
	return Query[int64](t, pool, "SELECT count(*) FROM "+where, args...)[0]
}

// RequireClass checks the fault class of err; "" is success.
func RequireClass(t testing.TB, want fault.Class, err error) {
	t.Helper()
	require.Equal(t, want, fault.ClassOf(err), "got %v", err)
}

// Exec runs statements.
func Exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// Locked holds a table, so that whatever reads it waits; waiting is until so many do.
func Locked(t testing.TB, pool *pgxpool.Pool, table string) (waiting func(n int), release func()) {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), Owner(t, pool))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	waiting = func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			var got int
			err := tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks
				WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&got)
			return err == nil && got == n
		}, servicetest.Patience(), 5*time.Millisecond)
	}
	return waiting, func() { require.NoError(t, tx.Rollback(t.Context())) }
}

// Unreferred lets rows of saved searches refer to nothing.
func Unreferred(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()

	Alter(t, pool, `DO $$
		DECLARE c record;
		BEGIN
			FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint
				WHERE contype = 'f' AND conrelid::regclass::text ~ '^saved_'
			LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP;
		END $$`)
}

// Aged fails where an age, by the clock of Postgres, is not that of what was so many seconds old at some time since.
func Aged(t testing.TB, want, got float64, since time.Time) {
	t.Helper()

	require.GreaterOrEqual(t, got, want-1)
	require.LessOrEqual(t, got, want+time.Since(since).Seconds()+1)
}

// ManyListings makes listings of which all have the words tout and l'index, half have moitie, one in 1,000 lacks
// presque, and one in 5,000 has piscine.
const ManyListings = `
WITH raw AS (
    INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, first_scraped_at, last_scraped_at,
        payload_at, revised_at)
    SELECT md5(n::text)::uuid, 'kijiji', n::text, '', '{}', '', now(), now(), now(), now()
    FROM generate_series(1, $1::int) n RETURNING id, platform_id::int AS n
)
INSERT INTO listings (id, platform, platform_id, revision, url, title, description, rent_cents, bedrooms, details,
    details_hash, published_at, updated_at, words)
SELECT id, 'kijiji', n::text, 1, '', '', '', 1, n % 5, '{}', '', now() - n * interval '1 minute', now(),
    (''':'' tout:1A' || CASE WHEN n % 2 = 0 THEN ' moitie:2B' ELSE '' END
    || CASE WHEN n % 1000 > 0 THEN ' presque:3B' ELSE '' END
    || CASE WHEN n % 5000 = 7 THEN ' piscine:4B' ELSE '' END || ' mot' || n % 300 || ':5B')::tsvector
FROM raw`

// Seen returns the numbers that a SELECT over the rows of all tenants finds.
func Seen(t testing.TB, pool *pgxpool.Pool, sql string) []int64 {
	t.Helper()
	return ofAll(t, pool, pgx.RowTo[int64], sql)
}

// Lines are the rows that a SELECT over the rows of all tenants finds, each as its values with a space between.
func Lines(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	return ofAll(t, pool, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return strings.TrimSpace(fmt.Sprintln(values...)), err
	}, sql, args...)
}

// ExecAll runs a statement over the rows of all tenants.
func ExecAll(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	ofAll(t, pool, func(pgx.CollectableRow) (any, error) { return nil, nil }, sql, args...)
}

// ofAll runs a statement in a transaction that sees the rows of all tenants, and returns what it returns.
func ofAll[T any](t testing.TB, pool *pgxpool.Pool, to pgx.RowToFunc[T], sql string, args ...any) (found []T) {
	t.Helper()

	b := new(pgx.Batch)
	b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, to)
		return err
	})
	require.NoError(t, pool.SendBatch(t.Context(), b).Close(), sql)
	return found
}
