package outreach

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sqlMessageRecipient = `/* sqlMessageRecipient */
SELECT recipient, coalesce(wamid, (
    SELECT a.wamid FROM message_attempts a
    WHERE a.tenant = $1 AND a.message = $2 AND a.wamid IS NOT NULL ORDER BY a.n DESC LIMIT 1), '')
FROM messages WHERE tenant = $1 AND id = $2`

// Recipient returns the number that a message is for, and Meta's ID of the last request that it accepted, which has the
// number in it, with an audit record; "" where the person was forgotten.
func (s *Messages) Recipient(ctx context.Context, tenant string, id uuid.UUID, by string, now time.Time) (
	to, wamid string, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlMessageRecipient, tenant, id).Scan(&to, &wamid); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "message.recipient_shown", messageSubject(id), by, now, nil))
	})
	return to, wamid, db.Gone(fault.Wrap(err, "read recipient of message %s", id), "there is no message %s", id)
}

func messageSubject(id uuid.UUID) string { return "message/" + id.String() }

// A letter that is being replayed is left to that, as in sqlCampaignRetry.
const sqlMessageLetters = `/* sqlMessageLetters */
UPDATE dead_letters SET state = 'resolved' WHERE id = ANY (ARRAY(
    SELECT id FROM dead_letters
    WHERE message_id = $2 AND message_id <> '' AND tenant = $1 AND state IN ('open', 'replayed')
    FOR UPDATE SKIP LOCKED))`

// Retry queues a failed message again, with all its attempts and an audit record, and returns it. One that is on its
// way stays as it is. One that may not be sent again, or that did not fail, is fault.Conflict.
func (s *Messages) Retry(ctx context.Context, tenant string, id uuid.UUID, by string, now time.Time) (
	m MessageRow, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if err := messageReopen(ctx, tx, tenant, id, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlMessageLetters, tenant, id.String()); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "message.retried", messageSubject(id), by, now, nil))
	})
	if err != nil {
		return m, fmt.Errorf("retry message: %w", err)
	}
	m, _, err = s.Get(ctx, tenant, id)
	return m, err
}

// A MessageErrors counts the messages of a campaign with one cause.
type MessageErrors struct {
	State campaign.Status // failed or skipped
	Class campaign.Class
	Code  int // Meta's; 0 = none
	N     int64
	Error string // of one of them
}

// messagesCounted is how many messages of a state are counted by their causes.
const messagesCounted = 10_000

const sqlMessageErrors = `/* sqlMessageErrors */
SELECT s.state, m.class, coalesce(m.code, 0), count(*), max(m.error)
FROM unnest(ARRAY['failed', 'skipped']) s(state) CROSS JOIN LATERAL (
    SELECT class, code, error FROM messages
    WHERE tenant = $1 AND campaign = $2 AND state = s.state ORDER BY campaign, state, id LIMIT $3) m
GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC, 2, 3`

// Causes counts the failed and the skipped messages of a campaign by their causes: the first 10,000 of each.
func (s *Messages) Causes(ctx context.Context, tenant string, id uuid.UUID) ([]MessageErrors, error) {
	out, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[MessageErrors], sqlMessageErrors, tenant, id,
		messagesCounted)
	return out, fault.Wrap(err, "count failed messages of campaign %s", id)
}

// A TenantShare is what a tenant has of the sending now.
type TenantShare struct {
	Tenant    string
	Name      string
	Tier      campaign.Tier
	State     db.TenantState
	Campaigns int64 // that run
	Paused    int64 // campaigns
	Waiting   int64 // messages of those that run
	Today     int64 // messages of this day, UTC; 0 where it has no limit
	MaxPerDay *int64
}

const sqlTenantShares = `/* sqlTenantShares */
SELECT t.id, t.name, t.tier, t.state, count(*) FILTER (WHERE c.state = 'running'),
    count(*) FILTER (WHERE c.state = 'paused'), coalesce(sum(c.waiting) FILTER (WHERE c.state = 'running'), 0)::bigint,
    coalesce(max(d.n), 0), t.max_messages_day
FROM campaigns c JOIN tenants t ON t.id = c.tenant
LEFT JOIN message_days d ON d.tenant = t.id AND d.day = ($1::timestamptz AT TIME ZONE 'UTC')::date
WHERE c.state IN ('running', 'paused')
GROUP BY t.id ORDER BY 7 DESC, t.id LIMIT 200`

// Shares returns the tenants with campaigns that run or are paused, those with the most waiting messages first: at most
// 200.
func (s *Messages) Shares(ctx context.Context, now time.Time) ([]TenantShare, error) {
	out, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[TenantShare], sqlTenantShares, now)
	return out, fault.Wrap(err, "read shares of tenants")
}
