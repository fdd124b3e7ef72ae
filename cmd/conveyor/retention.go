package main

import (
	"context"
	"errors"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The concrete stores and tools of retention implement the interfaces of its activities.
var (
	_ activities.RetentionStore = (*db.Retention)(nil)
	_ activities.RetentionFiles = (*blob.Store)(nil)
	_ activities.ForgetStore    = (*db.Retention)(nil)
	_ activities.ListingRuns    = (*launch.Launch)(nil)
	_ activities.ErasureStore   = (*db.Erasures)(nil)
	_ activities.TenantRuns     = (*launch.Launch)(nil)
)

// retention deletes what is old enough, and what an operator wants forgotten.
func (h *house) retention() system {
	store, erasures := db.NewRetention(h.pool), db.NewErasures(h.pool)
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			return []workers.Row{{Queue: workflows.QueueListings, Activities: []any{
					&activities.Retention{Store: store, Files: h.blobs, Keep: h.config.Retention.Limits(), Now: time.Now},
					&activities.Forgetting{Store: store, Runs: h.launch, Start: h.launch, Now: time.Now},
					&activities.Erasing{Store: erasures, Runs: h.launch, Now: time.Now},
				}}}, h.tend(workflows.QueueListings, "starting erasures", time.Minute, func(ctx context.Context) error {
					return h.startErasures(ctx, erasures)
				})
		},
		backlog: func(b *telemetry.Backlog) { b.Partitions = store.Partitions },
		parts:   []api.Part{api.Forget{Store: store, Launch: h.launch}},
	}
}

// startErasures starts the workflows of erasures that were requested while Temporal was away, or were ended by hand.
func (h *house) startErasures(ctx context.Context, store *db.Erasures) error {
	open, err := store.Open(ctx, time.Now().Add(-time.Minute))
	return errors.Join(err, startEach(ctx, open, h.launch.Erase))
}
