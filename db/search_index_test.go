package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/search"
)

// requireExact compares the index with one that is built anew of the pages: the same documents, and of each segment's
// terms the same living postings.
func (l library) requireExact(t *testing.T) {
	t.Helper()

	ctx := t.Context()
	counts, err := l.Counts(ctx)
	require.NoError(t, err)
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Equal(t, counts.Pages, stats.Pages, "documents")
	var wrong int
	require.NoError(t, l.pool.QueryRow(ctx,
		"SELECT count(*) FROM pages WHERE doc IS NULL OR doc_revision <> revision").Scan(&wrong))
	require.Zero(t, wrong, "pages whose version is not in the index")
}

func TestSearchCompact(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", rng.IntN(80)), "page", fmt.Sprintf("word%d word%d", i, i/2), i))
		for {
			more, err := l.index.Compact(ctx)
			require.NoError(t, err)
			if !more {
				break
			}
		}
		full, err := l.index.Full(ctx)
		require.NoError(t, err)
		require.False(t, full)
	}
	l.requireExact(t)
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Less(t, stats.Segments, 24)
	var orphans int
	require.NoError(t, l.pool.QueryRow(ctx,
		"SELECT count(*) FROM search_postings WHERE segment NOT IN (SELECT id FROM search_segments)").Scan(&orphans))
	require.Zero(t, orphans)
}

var _ = []any{context.Background, strings.Repeat, errgroup.Group{}, db.InboxKey, search.MaxLimit}
