package main

import (
	"context"
	"errors"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apisearch "github.com/mtlrent/conveyor/api/search"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/opensearch"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// search is the indexer of crawled pages.
func (h *house) search() system {
	c, store := h.config.Search, dbsearch.NewPages(h.pool)
	queue := bridge.Search{
		Ours: c.Ours, Most: h.config.Outbox.Crawled, Store: store, Launch: h.launch, Prefetch: c.Prefetch,
		Consumers: c.Consumers, TaskQueue: workflows.QueueSearch,
	}
	index := h.index
	engines := map[string]search.Engine{} // all that pages are written to
	if c.Engine == search.EnginePostgres {
		engines[search.EnginePostgres] = index
	}
	if c.URL != "" {
		engines[search.EngineOpenSearch] = must(opensearch.New(c.URL))
	}
	return system{
		parts: []api.Part{apisearch.Search{
			Engines: engines, Use: c.Engine, Store: store, Launch: h.launch, Audit: db.NewAuditLog(h.pool),
		}},
		activities: func(context.Context) ([]workers.Row, func()) {
			searching := &activities.Searching{
				Inbox: store, Pages: pages{store}, Removals: store, Engines: engines, Index: index,
				Metrics: telemetry.NewSearch(h.registry), Now: time.Now,
			}
			return []workers.Row{{Queue: workflows.QueueSearch, Activities: []any{searching}}},
				h.tend(workflows.QueueSearch, "tending the inbox of pages", 10*time.Minute, func(ctx context.Context) error {
					return errors.Join(h.tendInbox(ctx, store), tendIndex(ctx, index, h.launch.CompactIndex))
				})
		},
		queues:  queue.Queues(),
		backlog: func(b *telemetry.Backlog) { b.Segments = index.Segments },
		searchable: func(ctx context.Context) (int64, error) {
			if c.Engine == search.EnginePostgres { // its Stats count words too
				return index.Docs(ctx)
			}
			s, err := engines[c.Engine].Stats(ctx)
			return int64(s.Pages), err
		},
	}
}

// tendInbox deletes messages that were refused a day ago, each of which is a dead letter, and stores those that were
// left for as long: their bridge died before their workflow began, and their messages came again in other batches.
func (h *house) tendInbox(ctx context.Context, store *dbsearch.Pages) error {
	const old, most = 24 * time.Hour, 300
	before := time.Now().Add(-old)
	if _, err := store.Sweep(ctx, before, 10*most); err != nil {
		return err
	}
	return h.storeLeft(ctx, store, before, most)
}

func (h *house) storeLeft(ctx context.Context, store *dbsearch.Pages, before time.Time, most int) error {
	keys, err := store.Left(ctx, before, most)
	if err != nil || len(keys) == 0 {
		return err
	}
	_, err = h.launch.IndexPages(ctx, keys, nil)
	return err
}

// tendIndex has segments merged that no batch of pages asks to merge: those of a re-index or of a deletion. Deletions
// leave some where another engine answers, too, until the index has none of its pages any more.
func tendIndex(ctx context.Context, index *dbsearch.SearchIndex, compact func(context.Context) error) error {
	if full, err := index.Full(ctx); err != nil || !full {
		return err
	}
	return compact(ctx)
}

// pages are the pages in Postgres, as activities see them.
type pages struct{ *dbsearch.Pages }

// DeleteSite implements activities.PageStore.
func (p pages) DeleteSite(
	ctx context.Context, site string, most int, remove func(ctx context.Context, ids []int64) error,
) (int, error) {
	return p.Delete(ctx, dbsearch.PagesWhere{Site: site}, most, remove)
}
