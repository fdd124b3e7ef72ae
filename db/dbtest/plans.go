package dbtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// GenericPlan is the plan of a statement for any arguments.
func GenericPlan(ctx context.Context, t testing.TB, conn *pgx.Conn, name, text string) string {
	t.Helper()

	sd, err := conn.Prepare(ctx, name, text)
	require.NoError(t, err)
	nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(sd.ParamOIDs)), ",")
	rows, _ := conn.Query(ctx, fmt.Sprintf("EXPLAIN EXECUTE %q(%s)", name, nulls))
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

// Explained is a step of a plan that was executed, and those below it.
type Explained struct {
	Rows    int `json:"Actual Rows"`
	Loops   int `json:"Actual Loops"`
	Removed int `json:"Rows Removed by Filter"`
	Plans   []Explained
}

// Most is the largest number of rows that one step has looked at.
func (e Explained) Most() int {
	n := (e.Rows + e.Removed) * max(1, e.Loops)
	for _, p := range e.Plans {
		n = max(n, p.Most())
	}
	return n
}

// CustomPlan is the plan of a statement for these arguments.
func CustomPlan(ctx context.Context, t testing.TB, tx pgx.Tx, text string, args ...any) string {
	t.Helper()

	rows, _ := tx.Query(ctx, "EXPLAIN "+text, args...)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, text)
	return strings.Join(lines, "\n")
}
