package main

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
)

// A file is imported as its preview showed it: the region that its tenant was given in between is not asked for.
func TestImportOfThePreviewsRegion(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	store, tenants := dboutreach.NewUploads(pool), db.NewTenants(pool)
	u, err := store.Create(ctx, dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "a.csv", Blob: "uploads/1", Bytes: 1, SHA256: []byte{1}, CreatedBy: "me",
		CreatedAt: time.Now(), State: dboutreach.UploadHeld, Options: []byte("{}"),
	})
	require.NoError(t, err)
	_, err = tenants.Change(ctx, "acme", "me", time.Now(), func(t *db.Tenant) { t.Region = "CA" })
	require.NoError(t, err)
	i, err := uploads{store, tenants, nil}.Import(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.Empty(t, i.Options.Region)
}
