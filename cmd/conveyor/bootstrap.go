package main

import (
	"context"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/launch"
)

type migrateCmd struct{}

func (migrateCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.migrate(ctx) })
}

// migrate applies the migrations that the database does not have yet.
// It connects as the owner of the tables, which need not be the role that uses them.
func (h *house) migrate(ctx context.Context) error {
	if h.config.Postgres.MigrateURL == "" {
		return db.Migrate(ctx, h.pool)
	}
	pool, err := db.Open(ctx, h.config.Postgres.MigrateURL, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	return db.Migrate(ctx, pool)
}

type bootstrapCmd struct{}

func (bootstrapCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.bootstrap(ctx) })
}

// bootstrap creates what must exist in Temporal, and then what each system needs there.
func (h *house) bootstrap(ctx context.Context) error {
	b := launch.Bootstrap{
		Namespace: h.namespace, Retention: h.config.Temporal.Retention, ImageInterval: h.config.Images.Interval,
		StaleEvery: h.config.Listings.StaleEvery,
	}
	if err := b.Apply(ctx, h.temporal); err != nil {
		return err
	}
	for _, s := range h.systems() {
		if s.bootstrap == nil {
			continue
		}
		if err := s.bootstrap(ctx); err != nil {
			return err
		}
	}
	return nil
}
