package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/launch"
)

type migrateCmd struct{}

func (migrateCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.migrate(ctx) })
}

// migrate applies the migrations that the database does not have yet, as the role of DATABASE_MIGRATE_URL, and grants
// the role of DATABASE_URL what the other roles of conveyor need, and those of CONVEYOR_DATABASE_ROLES what theirs do.
func (h *house) migrate(ctx context.Context) error {
	owner := h.pool
	// Through a pooler the lock of the process that migrates, and its settings, would be another's.
	if url := cmp.Or(h.config.Postgres.MigrateURL, h.config.Postgres.ListenURL); url != "" {
		var err error
		if owner, err = db.Open(ctx, url, 2); err != nil {
			return fmt.Errorf("DATABASE_MIGRATE_URL, or else DATABASE_LISTEN_URL: %w", err)
		}
		defer owner.Close()
	}
	options := []db.MigrateOption{db.GrantTo(h.pool.Config().ConnConfig.User), db.Progress(h.log.InfoContext)}
	for _, part := range h.config.Postgres.Roles {
		queue, role, _ := strings.Cut(part, "=")
		options = append(options, db.GrantPart(queue, role))
	}
	return db.Migrate(ctx, owner, options...)
}

type bootstrapCmd struct{}

func (bootstrapCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.bootstrap(ctx) })
}

// bootstrap creates what must exist in Temporal, marks the folder of files, and then creates what each system needs.
func (h *house) bootstrap(ctx context.Context) error {
	b := launch.Bootstrap{
		Namespace: h.namespace, Retention: h.config.Temporal.Retention, ImageInterval: h.config.Images.Interval,
		StaleEvery: h.config.Listings.StaleEvery, ExpireEvery: h.config.Retention.Every, Log: h.log,
	}
	if err := b.Apply(ctx, h.temporal); err != nil {
		return err
	}
	if err := h.markFiles(ctx); err != nil {
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

// markFiles marks the folder of files. An empty one in whose place the files were is not mounted, or has lost them:
// with a mark it would be written to.
func (h *house) markFiles(ctx context.Context) error {
	if away := h.blobs.Mounted(); away != nil {
		stored, err := db.NewRetention(h.pool).AnyFile(ctx)
		if err != nil {
			return err
		}
		if stored {
			h.log.WarnContext(ctx, "the folder of files is not marked: it is empty, and files were stored before. Mount it; "+
				"where they are lost, make the file .conveyor in it", "err", away)
			return nil
		}
	}
	return h.blobs.Mark()
}
