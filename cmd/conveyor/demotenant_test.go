package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// The demo is made once, and again where its key was lost. It is made for the demo site only.
func TestDemoTenant(t *testing.T) {
	t.Parallel()
	ctx, dir, site := t.Context(), filepath.Join(t.TempDir(), "demo"), "127.0.0.1:8090"
	c, err := settings()
	require.NoError(t, err)
	c.Images.Demo, c.WhatsApp.URL = true, "https://graph.facebook.com"
	key := func(fill byte) string {
		return "local:" + base64.StdEncoding.EncodeToString(append(make([]byte, 31), fill))
	}
	c.Outreach.SecretKeys = key(1)
	h := &house{config: c, pool: dbtest.New(t)}
	made, err := h.makeDemo(ctx, site, dir)
	require.NoError(t, err)
	require.Zero(t, made)
	require.NoDirExists(t, dir)
	tenants, senders := db.NewTenants(h.pool), dboutreach.NewSenders(h.pool)
	_, err = tenants.Get(ctx, demoTenant)
	require.True(t, is(err, fault.Gone))

	h.config.WhatsApp.URL = "http://" + site + cloudPath
	token := func() string {
		t.Helper()
		box, err := h.config.Outreach.Box()
		require.NoError(t, err)
		sealed, err := senders.Token(ctx, demoTenant, demoSender)
		require.NoError(t, err)
		plain, err := box.Open(dboutreach.SenderPurpose(demoSender), sealed.Key, sealed.Box)
		require.NoError(t, err)
		return string(plain)
	}
	for range 2 {
		made, err = h.makeDemo(ctx, site, dir)
		require.NoError(t, err)
		require.Equal(t, demoToken, token())
	}
	h.config.Outreach.SecretKeys = key(2)
	_, err = h.makeDemo(ctx, site, dir)
	require.NoError(t, err)
	require.Equal(t, demoToken, token())
	tenant, err := tenants.Get(ctx, demoTenant)
	require.NoError(t, err)
	require.Equal(t, campaign.Standard, tenant.Tier)
	entries, _, err := db.NewAuditLog(h.pool).List(ctx, db.AuditFilter{}, nil, 10)
	require.NoError(t, err)
	require.Len(t, entries, 3, "tenant, sender, token")

	var plan dboutreach.Plan
	text, err := os.ReadFile(made.campaign)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &plan))
	require.NoError(t, plan.Template.Check(true))
	require.NoError(t, plan.Audience.Check())
	require.NoError(t, os.WriteFile(made.contacts, []byte("mine"), 0o600))
	_, err = h.makeDemo(ctx, site, dir)
	require.NoError(t, err)
	text, err = os.ReadFile(made.contacts)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
}
