package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/access"
)

// Refusals from any number of addresses are a few entries, and wait for a database that is away.
func TestRefusalsAreFew(t *testing.T) {
	t.Parallel()
	pool, away := dbtest.New(t), dbtest.New(t)
	away.Close()
	ctx, now := t.Context(), time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	var r tally
	require.NoError(t, r.save(ctx, db.NewAuditLog(away)), "there is nothing to write")
	for n := range 1000 {
		for range 2 {
			r.refusal(now, credentialsRefused, fmt.Sprintf("192.0.%d.%d", n/200, n%200), "unknown_key", "list-keys", access.Caller{})
		}
	}
	for range 3 {
		require.Error(t, r.save(ctx, db.NewAuditLog(away)))
	}
	r.refusal(now, credentialsRefused, "192.0.2.7", "unknown_key", "list-keys", access.Caller{}) // meanwhile
	for range 3 {
		require.NoError(t, r.save(ctx, db.NewAuditLog(pool)))
	}
	var entries, all, alone int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*), sum((detail->>'count')::int),
		sum((detail->>'count')::int) FILTER (WHERE remote <> '') FROM audit`).Scan(&entries, &all, &alone))
	require.Equal(t, maxRefused+2, entries)
	require.Equal(t, 2001, all)
	require.Equal(t, 2*maxRefused+1, alone)
}

// A caller that comes from ever more addresses makes no more entries, and is counted whole.
func TestReadsAreFew(t *testing.T) {
	t.Parallel()
	now, caller := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC), access.Caller{Name: "shop", KeyID: "k"}
	var r tally
	for n := range 3 * maxReaders {
		r.read(now, MessageShown, "acme", "get-message", caller, db.Origin{Remote: fmt.Sprint("2001:db8::", n), KeyID: "k"})
	}
	entries, counted := r.take(), 0
	require.Len(t, entries, maxReaders+1)
	for _, e := range entries {
		counted += e.Detail.(*tallyCount).Count
		require.Equal(t, "shop", e.Actor)
	}
	require.Equal(t, 3*maxReaders, counted)
	require.Empty(t, r.take())
}
