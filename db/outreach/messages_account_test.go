package outreach_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// What a tenant sends with is its own.
func TestMessageAccount(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	s, id := dboutreach.NewMessages(pool, nil), uuid.New()
	sealed := db.Sealed{Key: "k", Box: []byte("sealed")}
	require.NoError(t, dboutreach.NewSenders(pool).Add(ctx, dboutreach.Sender{
		ID: id, Tenant: "acme", Name: "Support", PhoneNumberID: "101", BusinessAccountID: "7", PerSecond: 5, CreatedAt: dbtest.At(0),
	}, sealed, "me"))
	for tenant, senders := range map[string]int{"acme": 1, "umbrella": 0} {
		got, err := s.Account(ctx, tenant)
		require.NoError(t, err)
		require.Equal(t, campaign.Account{Tier: campaign.Standard, Senders: senders, Unlimited: true}, got)
	}
	dbtest.ExecAll(t, pool, "UPDATE tenants SET max_messages_day = 4 WHERE id = 'umbrella'")
	got, err := s.Account(ctx, "umbrella")
	require.NoError(t, err)
	require.False(t, got.Unlimited)
	line, err := s.Line(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, dboutreach.Line{PhoneNumberID: "101", PerSecond: 5, Token: sealed}, line)

	_, err = s.Account(ctx, "nobody")
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = s.Line(ctx, "umbrella", id)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}
