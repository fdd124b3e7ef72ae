package dbtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
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
	got, _ := fault.Of(err)
	require.Equal(t, want, got, "got %v", err)
}

// Exec runs statements.
func Exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}
