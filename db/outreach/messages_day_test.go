package outreach_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A tenant sends as many messages on a day as it may: transactional ones are refused beyond it, those of campaigns wait
// for the next day.
func TestMaxMessagesDay(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.exec(t, "UPDATE tenants SET max_messages_day = 4 WHERE id = 'acme'")
	m.put(t, "a", "+15145550101")
	m.put(t, "a", "+15145550101")
	m.put(t, "b", "+15145550102")
	m.running(t, "c", m.sender, 5)
	token, claims := m.claim(t, 10)
	require.Len(t, claims, 2+2)
	m.record(t, token, campaign.Verdict{Outcome: campaign.Accepted, Class: campaign.ClassNone}, claims...)
	_, claims = m.claim(t, 10)
	require.Empty(t, claims)
	require.Equal(t, []string{"4"}, m.lines(t, "SELECT n FROM message_days"))

	refused := dboutreach.NewMessage{ID: campaign.TransactionalID("acme", "d"), Sender: m.sender, Recipient: "+15145550103", Body: text("d")}
	late := time.Now().UTC().Truncate(24 * time.Hour).Add(23 * time.Hour)
	_, err := m.Put(t.Context(), "acme", refused, late)
	class, after := fault.Of(err)
	require.Equal(t, fault.Limited, class, err)
	require.Equal(t, time.Hour, after)
	m.put(t, "b", "+15145550102") // was queued before

	waiting, err := m.Waiting(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Greater(t, waiting[0].Wait, time.Duration(0))
	require.LessOrEqual(t, waiting[0].Wait, 24*time.Hour)
	tenants := func() []string {
		list, err := m.Tenants(t.Context(), "", 10)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, tenants(), "there is nothing to wake it for")
	m.exec(t, "UPDATE messages SET attempts = 1 WHERE state = 'queued' AND id = (SELECT min(id::text)::uuid FROM messages WHERE state = 'queued')")
	require.Equal(t, []string{"acme"}, tenants(), "a further try takes nothing of the day")
	m.exec(t, "UPDATE messages SET attempts = 0 WHERE state = 'queued'")

	m.exec(t, "UPDATE message_days SET day = day - 1")
	require.Equal(t, []string{"acme"}, tenants())
	_, err = m.Put(t.Context(), "acme", refused, time.Now())
	require.NoError(t, err)
	_, claims = m.claim(t, 10)
	require.Len(t, claims, 1+3)
	require.Equal(t, []string{"4"}, m.lines(t, "SELECT n FROM message_days"))

	// What another takes of the day while a claim begins is not there for it.
	m.exec(t, "UPDATE message_days SET n = 3")
	tx, err := m.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', 'acme', true)")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE message_days SET n = 4")
	require.NoError(t, err)
	m.running(t, "f", m.sender, 2)
	var work errgroup.Group
	work.Go(func() (err error) {
		claims, err = m.Claim(t.Context(), campaign.Take{Tenant: "acme", Max: 10, Token: uuid.New(), Lease: time.Hour})
		return err
	})
	require.Eventually(t, func() bool {
		return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, work.Wait())
	require.Empty(t, claims)
	require.Equal(t, []string{"4"}, m.lines(t, "SELECT n FROM message_days"))

	// A quota that was set during a slice counts.
	m.exec(t, "UPDATE message_days SET n = 3")
	claims, err = m.Claim(t.Context(), campaign.Take{
		Tenant: "acme", Max: 10, Token: uuid.New(), Lease: time.Hour, Unlimited: true,
	})
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.Equal(t, []string{"4"}, m.lines(t, "SELECT n FROM message_days"))

	m.exec(t, "UPDATE tenants SET max_messages_day = NULL")
	m.put(t, "e", "+15145550104")
	require.Equal(t, []string{"4"}, m.lines(t, "SELECT n FROM message_days"))
}

// batched counts the statements of batches.
type batched struct{ n atomic.Int64 }

func (*batched) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*batched) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (*batched) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (b *batched) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { b.n.Add(1) }
func (*batched) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)       {}

// A claim of a tenant without a quota does nothing for one.
func TestClaimWithoutQuota(t *testing.T) {
	t.Parallel()

	m, count := newMailing(t), &batched{}
	pool, err := db.Open(t.Context(), dbtest.Direct(t, m.pool), 1, func(c *pgxpool.Config) { c.ConnConfig.Tracer = count })
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	claiming := dboutreach.NewMessages(pool, nil)
	claim := func(unlimited bool) int64 {
		m.put(t, uuid.NewString(), "+15145550101")
		count.n.Store(0)
		claims, err := claiming.Claim(t.Context(), campaign.Take{
			Tenant: "acme", Max: 10, Token: uuid.New(), Lease: time.Hour, Unlimited: unlimited,
		})
		require.NoError(t, err)
		require.Len(t, claims, 1)
		return count.n.Load()
	}
	require.Equal(t, claim(false)-1, claim(true))
}
