package outreach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sqlCampaignReopen = `/* sqlCampaignReopen */
UPDATE campaigns SET state = 'running', finished_at = NULL, updated_at = $3
WHERE tenant = $1 AND id = $2 AND state = 'done'`

// sqlMessageAgain queues messages that have failed again, with all their attempts: those of picked, with what
// sqlMessageFailed selects. The wamids of their requests stay with their attempts, so that what Meta still says of
// them is not taken for the next one's; the attempt of a worker that died after a webhook had settled its message was
// not counted yet. A message of which it is known that it arrived has failed in part: it is not sent again, nor is one
// whose recipient was forgotten.
const (
	sqlMessageFailed = `id, campaign, wamid, coalesce(written_at, failed_at) AS at,
        greatest(now(), least(failed_at, now()) + ($4::interval[])[array_position($3, class)]) AS due_at,
        attempts + (lease_until IS NOT NULL)::int AS n
    FROM messages
    WHERE tenant = $1 AND state = 'failed' AND class = ANY ($3::text[]) AND delivered_at IS NULL AND read_at IS NULL
        AND recipient <> ''`

	sqlMessageAgain = `named AS (
    INSERT INTO message_attempts (tenant, message, n, at, took_ms, outcome, wamid)
    SELECT $1, id, n, at, 0, 'unknown', wamid FROM picked WHERE wamid IS NOT NULL
    ON CONFLICT (message, n) DO UPDATE SET wamid = excluded.wamid
), again AS (
    UPDATE messages m SET state = 'queued', attempts = p.n, spent = 0, wamid = NULL, lease = NULL, lease_until = NULL,
        written_at = NULL, sent_at = NULL, failed_at = NULL, class = '', code = NULL, error = '',
        due_at = p.due_at
    FROM picked p WHERE m.tenant = $1 AND m.id = p.id
    RETURNING m.id
)`
)

// A letter that is being replayed is left to that: it holds the letter, and waits for the message.
const sqlCampaignRetry = `/* sqlCampaignRetry */
WITH picked AS (
    SELECT ` + sqlMessageFailed + ` AND campaign = $2 AND id > $5
    ORDER BY id LIMIT $6 FOR UPDATE
), ` + sqlMessageAgain + `, resolved AS (
    UPDATE dead_letters SET state = 'resolved' WHERE id = ANY (ARRAY(
        SELECT id FROM dead_letters
        WHERE tenant = $1 AND message_id = ANY (ARRAY(SELECT id::text FROM again)) AND message_id <> ''
            AND state IN ('open', 'replayed')
        FOR UPDATE SKIP LOCKED))
), counted AS (
    UPDATE campaigns SET failed = failed - n, waiting = waiting + n
    FROM (SELECT count(*) AS n FROM again) a WHERE tenant = $1 AND id = $2 AND n > 0
)
SELECT id FROM again`

// requeueBatch is how many messages one transaction queues again.
const requeueBatch = 1000

// RetryFailed queues those failed messages of a campaign again that may be retried unchanged (campaign.Class.MayRetry),
// each with all its attempts, due when its class allows it (RetryAfter), and returns how many. A campaign that is done
// runs again; one that is a draft, queued or canceled is fault.Conflict. An error may come after some were queued: a
// repeated call takes the rest.
func (s *Campaigns) RetryFailed(ctx context.Context, tenant string, id uuid.UUID, by string, now time.Time) (
	n int, err error,
) {
	var last uuid.UUID
	classes, waits := retriable()
	for {
		var ids []uuid.UUID
		err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
			if last == uuid.Nil {
				c, err := campaignOf(ctx, tx, tenant, id)
				if err != nil {
					return err
				}
				if c.State == campaign.Canceled || c.StartedAt == nil {
					return fault.Newf(fault.Conflict, "campaign %s is %s: it has no messages to retry", id, c.State)
				}
				err = db.AuditTx(ctx, tx, db.AuditEntry{
					At: now, Actor: by, Action: "campaign.retried", Subject: campaignSubject(id),
					Detail: map[string]any{"tenant": tenant},
				})
				if err != nil {
					return err
				}
			}
			ids, err = db.Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlCampaignRetry, tenant, id, classes, waits, last, requeueBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			if _, err = tx.Exec(ctx, sqlCampaignReopen, tenant, id, now); err != nil {
				return err
			}
			c, err := campaignOf(ctx, tx, tenant, id) // it is locked by now, and may have been canceled before
			if err == nil && c.State == campaign.Canceled {
				err = fault.Newf(fault.Conflict, "campaign %s is canceled", id)
			}
			return err
		})
		if err != nil {
			return n, fmt.Errorf("retry messages of campaign: %w", err)
		}
		n += len(ids)
		if len(ids) < requeueBatch {
			return n, nil
		}
		last = slices.MaxFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(string(a[:]), string(b[:])) })
	}
}

// retriable are the classes of messages that may be sent again unchanged, and how long after their failure.
func retriable() (classes []campaign.Class, waits []time.Duration) {
	for _, c := range campaign.Classes {
		if c.MayRetry() {
			classes, waits = append(classes, c), append(waits, c.RetryAfter())
		}
	}
	return classes, waits
}

const (
	// A message of a campaign that was canceled stays.
	sqlMessageReopen = `/* sqlMessageReopen */
WITH picked AS (
    SELECT ` + sqlMessageFailed + ` AND id = $2
        AND NOT EXISTS (
            SELECT FROM campaigns c WHERE c.tenant = $1 AND c.id = messages.campaign AND c.state = 'canceled')
    FOR UPDATE
), ` + sqlMessageAgain + `, counted AS (
    UPDATE campaigns c SET failed = failed - 1, waiting = waiting + 1, updated_at = $5,
        finished_at = CASE state WHEN 'done' THEN NULL ELSE finished_at END,
        state = CASE state WHEN 'done' THEN 'running' ELSE state END
    FROM picked p WHERE c.tenant = $1 AND c.id = p.campaign
)
SELECT id FROM again`

	// Messages, and then their campaigns, each in the order of their IDs: as whoever claims, records or retries many.
	sqlMessagesHold = `/* sqlMessagesHold */
WITH held AS (
    SELECT campaign FROM messages WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
)
SELECT id FROM campaigns WHERE id = ANY (ARRAY(SELECT campaign FROM held)) ORDER BY id FOR NO KEY UPDATE`

	sqlMessageStands = `/* sqlMessageStands */ SELECT state, class FROM messages WHERE tenant = $1 AND id = $2`
)

// Reopeners are those of files, messages and campaigns.
func Reopeners() db.Reopeners {
	return db.Reopeners{
		contact.QueueJobs: {Of: uploadReopen}, contact.QueueChunks: {Of: uploadReopen},
		contact.QueuePersistence: {Of: uploadReopen},
		campaign.QueueDispatch:   {Of: messageReopen, Hold: sqlMessagesHold},
		campaign.QueueRetry:      {Of: messageReopen, Hold: sqlMessagesHold},
		campaign.QueueCampaigns:  {Of: campaignReopen},
	}
}

// messageReopen queues a message that was given up again, with all its attempts. Its workflows are started by those
// that tend messages and campaigns. One that is on its way already stays as it is; one that may not be sent again is
// fault.Conflict.
func messageReopen(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, now time.Time) error {
	classes, waits := retriable()
	again, err := db.Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlMessageReopen, tenant, id, classes, waits, now)
	if err != nil || len(again) > 0 {
		return err
	}
	var state campaign.Status
	var class campaign.Class
	switch err := tx.QueryRow(ctx, sqlMessageStands, tenant, id).Scan(&state, &class); {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Newf(fault.Gone, "there is no message %s", id)
	case err != nil:
		return err
	case state == campaign.MessageQueued || state == campaign.MessageSending:
		return nil
	case class != campaign.ClassNone:
		return fault.Newf(fault.Conflict, "message %s is %s (%s): it is not sent again", id, state, class)
	}
	return fault.Newf(fault.Conflict, "message %s is %s: it is not sent again", id, state)
}

const sqlCampaignAgain = `/* sqlCampaignAgain */
UPDATE campaigns SET state = 'queued', scheduled_at = $3, not_after = NULL, started_at = NULL, frozen_at = NULL,
    frozen = NULL, finished_at = NULL, reason = '', updated_at = $3
WHERE tenant = $1 AND id = $2 AND state = 'canceled' AND written_at IS NULL
    AND NOT EXISTS (SELECT FROM messages WHERE tenant = $1 AND campaign = $2)
RETURNING id`

// campaignReopen queues a campaign that was abandoned, before any of its messages was written. One that waits or runs
// already stays as it is.
func campaignReopen(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, now time.Time) error {
	again, err := db.Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlCampaignAgain, tenant, id, now)
	if err != nil || len(again) > 0 {
		return err
	}
	c, err := campaignOf(ctx, tx, tenant, id)
	if err == nil && (c.State == campaign.Canceled || c.State == campaign.Done) {
		err = fault.Newf(fault.Conflict, "campaign %s is %s: it is not started again", id, c.State)
	}
	return err
}
