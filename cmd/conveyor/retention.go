package main

import (
	"context"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// retention deletes what is old enough, and what an operator wants forgotten.
func (h *house) retention() system {
	store, erasures := db.NewRetention(h.pool), dboutreach.NewErasures(h.pool, h.optOuts)
	forgets := dblistings.NewForgets(h.pool)
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			return []workers.Row{{Queue: workflows.QueueListings, Activities: []any{
					&activities.Retention{Store: store, Files: h.blobs, Keep: h.config.Retention.Limits(), Now: time.Now},
					&activities.Forgetting{Store: forgets, Runs: h.launch, Start: h.launch, Now: time.Now},
					&activities.Erasing{Store: erasures, Runs: h.launch, Now: time.Now},
				}}}, resume[string]{
					queue: workflows.QueueListings, doing: "starting erasures", every: time.Minute,
					list: func(ctx context.Context, _ string, _ int) ([]string, error) {
						return erasures.Open(ctx, time.Now().Add(-time.Minute))
					},
					start: h.launch.Erase,
				}.tend(h)
		},
		backlog: func(b *telemetry.Backlog) { b.Partitions = store.Partitions },
		parts:   []api.Part{apilistings.Forget{Store: forgets, Launch: h.launch}},
	}
}
