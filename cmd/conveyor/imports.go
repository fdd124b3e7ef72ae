package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/activities"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/pressure"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

const (
	// importFiles is how many files a worker splits at once: each is a stream that takes a CPU.
	importFiles = 2
	// importGrace is how long the workflow of an upload may take to be started by those that store or replay it.
	importGrace = 5 * time.Second
)

// imports is the import of uploaded files of contacts.
func (h *house) imports() system {
	c, store := h.config.Imports, dboutreach.NewUploads(h.pool)
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			metrics, all := telemetry.NewImports(h.registry), uploads{store, h.blobs}
			yields := &activities.ImportYields{
				Others: dboutreach.NewMessages(h.pool, h.optOuts), Short: pressure.NewCPU(time.Now).Short, Now: time.Now,
			}
			cores := activities.NewCores()
			return []workers.Row{
					{Queue: workflows.QueueUploadJobs, Slots: importFiles, Activities: []any{&activities.Imports{
						Uploads: all, Readings: all, Split: all, Ends: all, Files: h.blobs, Cores: cores, Yields: yields,
						Metrics: metrics, Now: time.Now,
					}}},
					{Queue: workflows.QueueUploadChunks, Slots: c.Chunks, Activities: []any{&activities.ImportChunks{
						Uploads: all, Chunks: store, Files: h.blobs, Cores: cores, Yields: yields, Metrics: metrics,
						Now: time.Now,
					}}},
					{Queue: workflows.QueueImportPersistence, Slots: c.Stores, Activities: []any{&activities.ImportPersistence{
						Uploads: all, Chunks: store, Ends: all, Files: h.blobs, Copies: h.blobs, Yields: yields, Metrics: metrics,
						Now: time.Now,
					}}},
				}, resume[dboutreach.UnsweptUpload]{
					queue: workflows.QueueUploadJobs, doing: "starting imports", every: 10 * time.Second, most: 200,
					list: func(ctx context.Context, after dboutreach.UnsweptUpload, most int) ([]dboutreach.UnsweptUpload, error) {
						return store.Unswept(ctx, time.Now().Add(-importGrace), &after, most)
					},
					start: func(ctx context.Context, u dboutreach.UnsweptUpload) error {
						return h.launch.StartImport(ctx, u.Tenant, u.ID)
					},
				}.tend(h)
		},
		backlog: func(b *telemetry.Backlog) {
			b.Imports = func(ctx context.Context) (backlog.ImportCount, error) { return store.Waiting(ctx, time.Now()) }
		},
	}
}

// uploads are the uploads in Postgres, as activities see them.
type uploads struct {
	*dboutreach.Uploads
	files *blob.Store
}

// Planned implements activities.ImportSplits.
func (s uploads) Planned(ctx context.Context, tenant string, id uuid.UUID, plan contact.Plan, copied string,
	now time.Time) error {
	data, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if copied != "" {
		bytes, err := s.files.Bytes(ctx, copied)
		if err == nil {
			err = s.Copied(ctx, tenant, id, bytes)
		}
		if errors.Is(err, contact.ErrRoom) {
			err = cmp.Or(s.forget(ctx, tenant, id), err)
		}
		if err != nil {
			return err
		}
	}
	return s.Uploads.Planned(ctx, tenant, id, data, copied, now)
}

// forget deletes the copy of an upload that no row counts.
func (s uploads) forget(ctx context.Context, tenant string, id uuid.UUID) error {
	u, err := s.Get(ctx, tenant, id)
	if err != nil || u.Copy != "" {
		return err
	}
	return s.files.ForgetCopy(ctx, u.Blob)
}

// Finish implements activities.ImportUploads.
func (s uploads) Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) error {
	_, err := s.Uploads.Finish(ctx, tenant, id, now)
	return err
}

// Cancel implements activities.ImportEnds.
func (s uploads) Cancel(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) error {
	_, err := s.Uploads.Cancel(ctx, tenant, id, actor, now)
	return err
}
