package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/domain/search/searchtest"
)

// The index in Postgres is held to the same assertions as OpenSearch.
func TestSearchEngine(t *testing.T) {
	t.Parallel()
	searchtest.EngineTest(t, func(t *testing.T) (search.Engine, searchtest.Store) {
		t.Helper()
		pool := dbtest.New(t)
		pages := db.NewPages(pool)
		return db.NewSearchIndex(pool), func(ctx context.Context, docs []search.Document) (out []search.Page, err error) {
			incoming := make([]search.Incoming, len(docs))
			for i, d := range docs {
				incoming[i] = search.Incoming{Document: d, StatusCode: 200}
			}
			stored, err := pages.Store(ctx, incoming, time.Now())
			if err != nil {
				return nil, err
			}
			for i, d := range docs {
				out = append(out, search.Page{ID: stored[i].ID, Revision: stored[i].Revision, Document: d})
			}
			return out, nil
		}
	})
}
