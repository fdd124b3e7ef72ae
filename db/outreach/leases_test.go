package outreach_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A lease lasts from when it is written: what its transaction waits for before is no part of it.
func TestLeasesLastFromTheirWriting(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	// behind has a lease wait for a row that another transaction holds, and returns the time at which that ended.
	behind := func(hold string, take func(context.Context) error) (ended time.Time) {
		tx, err := m.pool.Begin(ctx)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(ctx) }()
		_, err = tx.Exec(ctx, "SELECT set_config('conveyor.tenant', 'acme', true)")
		require.NoError(t, err)
		tag, err := tx.Exec(ctx, hold)
		require.NoError(t, err)
		require.Positive(t, tag.RowsAffected())
		taken := make(chan error, 1)
		go func() { taken <- take(ctx) }()
		require.Eventually(t, func() bool {
			return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
		}, servicetest.Patience(), 5*time.Millisecond)
		require.NoError(t, tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&ended))
		require.NoError(t, tx.Commit(ctx))
		require.NoError(t, <-taken)
		return ended
	}
	lasts := func(table string, ended time.Time) {
		t.Helper()
		until := ended.Add(time.Hour).Format(time.RFC3339Nano)
		require.Equal(t, []string{"true"}, m.lines(t, "SELECT max(lease_until) >= '"+until+"' FROM "+table))
	}

	now := time.Now()
	id := m.draft(t, "spring")
	_, err := m.campaigns.Schedule(ctx, "acme", id, now, "zoe", now)
	require.NoError(t, err)
	ended := behind("SELECT FROM tenants WHERE id = 'acme' FOR UPDATE", func(ctx context.Context) error {
		reserved, err := m.campaigns.Reserve(ctx, "acme", id, now, now.Add(time.Hour))
		require.True(t, reserved)
		return err
	})
	lasts("campaigns", ended)

	m.exec(t, "UPDATE tenants SET max_messages_day = 10")
	m.running(t, "a", m.sender, 2)
	m.exec(t, "INSERT INTO message_days (tenant, day, n) VALUES ('acme', (now() AT TIME ZONE 'UTC')::date, 0)")
	ended = behind("UPDATE message_days SET n = 1", func(ctx context.Context) error {
		claims, err := m.Claim(ctx, campaign.Take{Tenant: "acme", Max: 10, Token: uuid.New(), Lease: time.Hour})
		require.Len(t, claims, 2)
		return err
	})
	lasts("messages", ended)
}
