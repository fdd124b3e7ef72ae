package outreach

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Of each tenant no more are ready than it may start: hundreds of one do not keep out those of others.
const sqlCampaignReady = `/* sqlCampaignReady */
SELECT id, tenant, scheduled_at FROM (
    SELECT c.id, c.tenant, c.scheduled_at,
        row_number() OVER (PARTITION BY c.tenant ORDER BY c.scheduled_at, c.id) AS place
    FROM campaigns c JOIN tenants t ON t.id = c.tenant AND t.state = 'active'
    WHERE c.state = 'queued' AND c.scheduled_at <= least($1, now())
        AND (c.lease_until IS NULL OR c.lease_until <= least($1, now()))
) r
WHERE place <= $2 ORDER BY scheduled_at, id LIMIT $3`

// Ready returns the campaigns of all tenants whose time has come and whose start nobody has reserved: at most
// campaign.SelectFrom, and of each tenant campaign.SelectPerTenant, the earliest first. campaign.Select chooses among
// them.
func (s *Campaigns) Ready(ctx context.Context, now time.Time) ([]campaign.Ready, error) {
	ready, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[campaign.Ready], sqlCampaignReady, now,
		campaign.SelectPerTenant, campaign.SelectFrom)
	return ready, fault.Wrap(err, "read ready campaigns")
}

// sqlCampaignMoves is a condition on campaigns: not_after is put off while it waits. A process of the release before
// changes not_after alone, as a person says. Null is that of a campaign from before there was not_after_ours.
const sqlCampaignMoves = `not_after_moves AND (not_after_ours IS NULL OR not_after = not_after_ours)`

// A lease lasts by the clock of Postgres, from its writing on: now() is before what its transaction has waited for. It
// is over when both clocks say so; what waits, waits by the earlier one.
const sqlCampaignLease = `/* sqlCampaignLease */
UPDATE campaigns SET lease_until = clock_timestamp() + ($3::timestamptz - $2), waited_at = NULL,
    not_after = CASE WHEN ` + sqlCampaignMoves + ` AND waited_at BETWEEN c.now - $4::interval AND c.now
        THEN not_after + (c.now - waited_at) ELSE not_after END,
    not_after_ours = CASE WHEN ` + sqlCampaignMoves + ` AND waited_at BETWEEN c.now - $4::interval AND c.now
        THEN not_after + (c.now - waited_at) ELSE not_after_ours END
FROM (SELECT least($2, now()) AS now) c
WHERE id = ANY ($1) AND state = 'queued' AND (lease_until IS NULL OR lease_until <= c.now)
RETURNING id`

// Lease reserves the start of campaigns until a time, and returns those that it got: a scheduler starts no others. A
// campaign whose scheduler did not come to start it is ready again then. One that Wait has noted has waited until now.
func (s *Campaigns) Lease(ctx context.Context, ids []uuid.UUID, now, until time.Time) ([]uuid.UUID, error) {
	got, err := db.SystemRows(ctx, s.pool, pgx.RowTo[uuid.UUID], sqlCampaignLease, ids, now, until, campaign.TurnGap)
	return got, fault.Wrap(err, "reserve %d campaigns", len(ids))
}

const sqlCampaignsWait = `/* sqlCampaignsWait */
UPDATE campaigns c SET waited_at = k.now, not_after = k.latest, not_after_ours = k.latest
FROM (
    SELECT id, since, q.now,
        CASE WHEN since >= q.now - $2::interval THEN not_after + (q.now - since) ELSE not_after END AS latest
    FROM (
        SELECT q.id, q.not_after, greatest(q.waited_at, q.scheduled_at) AS since, least($1, now()) AS now
        FROM campaigns q JOIN tenants t ON t.id = q.tenant AND t.state = 'active'
        WHERE q.state = 'queued' AND q.scheduled_at <= least($1, now()) AND ` + sqlCampaignMoves + `
            AND (q.lease_until IS NULL OR q.lease_until <= least($1, now()))
        ORDER BY q.id FOR NO KEY UPDATE OF q SKIP LOCKED
    ) q
) k
WHERE c.id = k.id AND k.since < k.now`

// Wait notes that the campaigns whose time has come, and whose start nobody has reserved, wait for their turn behind
// others, and puts off by as much the latest time of those of ScheduleWithin. The time since they were last seen so
// counts where it is at most campaign.TurnGap: in a longer one the scheduler was away, or the tenant was stopped. It
// may be repeated.
func (s *Campaigns) Wait(ctx context.Context, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlCampaignsWait, now, campaign.TurnGap)
	return fault.Wrap(db.SystemWrite(ctx, s.pool, b), "put off the latest times of campaigns that wait")
}

const (
	sqlCampaignTurn = `/* sqlCampaignTurn */ SELECT state = 'active' FROM tenants WHERE id = $1 FOR NO KEY UPDATE`

	sqlCampaignReserve = `/* sqlCampaignReserve */
UPDATE campaigns SET lease_until = clock_timestamp() + ($4::timestamptz - $3)
WHERE tenant = $1 AND id = $2 AND state = 'queued' AND scheduled_at <= least($3, now())
    AND (lease_until IS NULL OR lease_until <= least($3, now()))
    AND $5 > (SELECT count(*) FROM campaigns
        WHERE tenant = $1 AND (state = 'running' OR state = 'queued' AND lease_until > least($3, now())))`
)

// Reserve reserves the start of a queued campaign until a time, as Lease does, and reports whether it did: its time has
// come, its tenant is active, and fewer than campaign.SelectPerTenant of the tenant's run or are reserved. Calls for
// one tenant take turns, so however many there are at once, no more than that are started by them. The schedule starts
// the others.
func (s *Campaigns) Reserve(ctx context.Context, tenant string, id uuid.UUID, now, until time.Time) (
	reserved bool, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		active := false
		err := tx.QueryRow(ctx, sqlCampaignTurn, tenant).Scan(&active)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !active {
			return nil
		}
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlCampaignReserve, tenant, id, now, until, campaign.SelectPerTenant)
		reserved = tag.RowsAffected() == 1
		return err
	})
	return reserved, fault.Wrap(err, "reserve the start of campaign %s", id)
}

const sqlCampaignsOpen = `/* sqlCampaignsOpen */
SELECT id, tenant FROM campaigns WHERE started_at IS NOT NULL AND finished_at IS NULL AND id > $1 ORDER BY id LIMIT $2`

// An OpenCampaign is one that has begun and not ended: it needs its workflow.
type OpenCampaign struct {
	ID     uuid.UUID
	Tenant string
}

// Open returns up to n campaigns of all tenants that have begun and not ended, after one (zero = from the first).
func (s *Campaigns) Open(ctx context.Context, after uuid.UUID, n int) ([]OpenCampaign, error) {
	open, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[OpenCampaign], sqlCampaignsOpen, after, n)
	return open, fault.Wrap(err, "read open campaigns")
}
