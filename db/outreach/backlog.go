package outreach

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// The oldest chunk of each tenant whose files are being imported is the first in an index. Files that nothing has
// looked at yet count as in sqlChunksBacklog: while no worker splits them, uploads are refused because of them.
const sqlChunksWaiting = `/* sqlChunksWaiting */
WITH open AS (
    SELECT tenant, count(*) AS n, sum(1 + bytes / $3) FILTER (WHERE state = 'received' AND chunks = 0) AS unread,
        min(received_at) FILTER (WHERE state = 'received' AND chunks = 0) AS at
    FROM uploads WHERE swept_at IS NULL AND state IN ('received', 'splitting', 'running') GROUP BY tenant
), oldest AS (
    SELECT min(least(o.at, c.created_at)) AS at FROM open o LEFT JOIN LATERAL (
        SELECT created_at FROM upload_chunks WHERE tenant = o.tenant AND state IN ('pending', 'parsed')
        ORDER BY created_at LIMIT 1) c ON true
), counted AS (
    SELECT count(*) AS n, coalesce(sum(rows), 0) AS rows
    FROM (SELECT rows FROM upload_chunks WHERE state IN ('pending', 'parsed') LIMIT $1) c
), known AS (
    SELECT coalesce(sum(n), 0) AS files, coalesce(sum(unread), 0) AS unread FROM open
)
SELECT k.files::bigint, least(c.n + k.unread, $1)::bigint, c.rows::bigint,
    coalesce(extract(epoch FROM greatest($2 - o.at, '0')), 0)::float8
FROM counted c, oldest o, known k`

// Waiting counts what is to be imported, up to backlog.MostChunks, and says how long the oldest chunk has waited.
func (s *Uploads) Waiting(ctx context.Context, now time.Time) (backlog.ImportCount, error) {
	out, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[backlog.ImportCount], sqlChunksWaiting,
		backlog.MostChunks, now, chunkBytes))
	return out, fault.Wrap(err, "count chunks")
}

// The messages of campaigns are counted there, and their oldest is the first in an index; transactional ones are
// counted up to a limit for each tier, and those that are held up to one of their own, not to hide the others. Where a
// campaign, a sender or a tenant is paused or stopped, no message of a campaign is looked at. A campaign of which
// none is due waits for nothing that can be done: its next attempts are later, or the messages of the day are used
// up.
const sqlMessagesWaiting = `/* sqlMessagesWaiting */
WITH via AS (
    SELECT s.id, s.tenant, t.tier, t.state = 'active' AND s.state <> 'stopped'
        AND (s.state = 'active' OR s.paused_until IS NOT NULL)
        AND (s.paused_until IS NULL OR s.paused_until <= now()) AS open,
        coalesce(d.n >= t.max_messages_day, false) AS used
    FROM senders s JOIN tenants t ON t.id = s.tenant
        LEFT JOIN message_days d ON d.tenant = t.id AND d.day = (now() AT TIME ZONE 'UTC')::date
), alone AS (
    SELECT g.tier, g.open, a.due_at
    FROM (SELECT DISTINCT tier, open FROM via) g CROSS JOIN LATERAL (
        SELECT m.due_at
        FROM via v CROSS JOIN unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
            SELECT due_at FROM messages
            WHERE tenant = v.tenant AND sender = v.id AND tried = k.tried AND state = 'queued' AND campaign IS NULL
                AND due_at <= now()
            ORDER BY tenant, sender, tried, due_at, id LIMIT $1) m
        WHERE v.tier = g.tier AND v.open = g.open LIMIT $1) a
), counted AS (
    SELECT tier, 'transactional' AS kind, open, count(*) AS n, min(due_at) AS oldest FROM alone GROUP BY tier, open
    UNION ALL
    SELECT v.tier, 'campaign', v.open AND c.state = 'running',
        coalesce(sum(c.waiting) FILTER (WHERE m.due_at IS NOT NULL OR NOT v.open OR c.state <> 'running'), 0)::bigint,
        min(m.due_at)
    FROM campaigns c JOIN via v ON v.id = c.sender LEFT JOIN LATERAL (
        SELECT min(f.due_at) AS due_at FROM unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
            SELECT due_at FROM messages
            WHERE tenant = c.tenant AND campaign = c.id AND tried = k.tried AND state = 'queued' AND due_at <= now()
                AND (k.tried OR NOT v.used)
            ORDER BY campaign, tried, due_at, id LIMIT 1) f) m ON v.open AND c.state = 'running'
    WHERE c.state IN ('running', 'paused') GROUP BY 1, 3
)
SELECT tier, kind, open, n, coalesce(extract(epoch FROM greatest(now() - oldest, '0')), 0)::float8 FROM counted`

const sqlMessagesUnknown = `/* sqlMessagesUnknown */
SELECT count(*) FROM (
    SELECT FROM messages WHERE state = 'unknown' AND class = 'unknown' AND due_at < now() - '1 hour'::interval
    LIMIT $1) m`

// Backlog counts the messages that are to be sent, by tier and kind, and those that are unknown.
func (s *Messages) Backlog(ctx context.Context) (out backlog.MessagesWaiting, err error) {
	return s.backlog(ctx, backlog.MostMessages)
}

func (s *Messages) backlog(ctx context.Context, most int) (out backlog.MessagesWaiting, err error) {
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan)
	b.Queue(sqlMessagesWaiting, most).Query(func(rows pgx.Rows) error {
		found := map[[2]string]backlog.MessageWait{}
		var m backlog.MessageWait
		var open bool
		_, err := pgx.ForEachRow(rows, []any{&m.Tier, &m.Kind, &open, &m.Waiting, &m.OldestAgeSeconds}, func() error {
			if open {
				found[[2]string{m.Tier, m.Kind}] = m
			} else {
				out.Held += m.Waiting
			}
			return nil
		})
		for _, tier := range campaign.Tiers {
			for _, kind := range []string{campaign.KindTransactional, campaign.KindCampaign} {
				n := found[[2]string{string(tier), kind}]
				n.Tier, n.Kind = string(tier), kind
				out.Waiting = append(out.Waiting, n)
			}
		}
		return err
	})
	b.Queue(sqlMessagesUnknown, most).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Unknown) })
	err = db.SystemWrite(ctx, s.pool, b)
	return out, fault.Wrap(err, "count messages")
}

// Late counts the deliveries that were not applied, up to backlog.MostWebhooks.
func (s *Webhooks) Late(ctx context.Context, now time.Time) (out backlog.WebhookCount, err error) {
	out.Waiting, out.OldestAgeSeconds, err = s.Backlog(ctx, backlog.MostWebhooks, now)
	return out, err
}
