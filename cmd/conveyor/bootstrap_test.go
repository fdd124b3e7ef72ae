package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/blob"
)

// An empty folder is marked where no file was ever stored, and not where files should be in it.
func TestMarkFiles(t *testing.T) {
	t.Parallel()

	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "blobs")
	files, err := blob.Open(ctx, dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	h := &house{pool: dbtest.New(t), blobs: files, log: slog.New(slog.DiscardHandler)}
	for range 2 {
		require.NoError(t, h.markFiles(ctx))
		require.NoError(t, files.Mounted())
	}
	now := time.Now()
	require.NoError(t, db.NewTenants(h.pool).Create(ctx, db.Tenant{
		ID: "acme", Name: "Acme", Tier: campaign.Standard, CreatedAt: now,
	}, "me"))
	_, err = dboutreach.NewUploads(h.pool).Create(ctx, dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "people.csv", Blob: "uploads/1", Bytes: 1, SHA256: []byte{1},
		CreatedBy: "me", CreatedAt: now,
	})
	require.NoError(t, err)
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.Mkdir(dir, 0o750))
	require.NoError(t, h.markFiles(ctx))
	require.Error(t, files.Mounted(), "it is not mounted")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	require.NoError(t, h.markFiles(ctx))
	require.NoError(t, files.Mounted())
}
