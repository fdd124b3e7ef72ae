package outreach

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// What looks up messages does so by the index that gives their order, whatever the planner believes of the table when
// it makes a plan; and the plan is kept, for making it costs more than the statement. The settings hold until the end
// of the transaction.
const sqlMessagePlan = `/* sqlMessagePlan */
SELECT set_config(name, value, true)
FROM unnest(ARRAY['jit', 'enable_seqscan', 'enable_bitmapscan', 'enable_mergejoin', 'enable_sort', 'plan_cache_mode'],
    ARRAY['off', 'off', 'off', 'off', 'off', 'force_generic_plan']) AS s(name, value)`

// sqlMessageSenders are the senders of a tenant by which something may be sent now.
const sqlMessageSenders = `/* sqlMessageSenders */
    SELECT s.id, s.holds FROM senders s JOIN tenants t ON t.id = s.tenant
    WHERE s.tenant = $1 AND t.state = 'active' AND s.state <> 'stopped'
        AND (s.state = 'active' OR s.paused_until IS NOT NULL)
        AND (s.paused_until IS NULL OR s.paused_until <= now())`

// sqlMessageRoom is how many messages a tenant may still send on this day (UTC); null = any number.
const sqlMessageRoom = `/* sqlMessageRoom */
    SELECT greatest(t.max_messages_day - coalesce(d.n, 0), 0) AS room, (now() AT TIME ZONE 'UTC')::date + 1 AS next
    FROM tenants t LEFT JOIN message_days d ON d.tenant = t.id AND d.day = (now() AT TIME ZONE 'UTC')::date
    WHERE t.id = $1 AND t.max_messages_day IS NOT NULL`

// No more than 10,000 messages are counted: where the tenant may send more than that, and fewer than wait, the campaign
// counts as one whose first attempts are more.
const sqlCampaignDay = `/* sqlCampaignDay */
WITH quota AS (` + sqlMessageRoom + `)
SELECT room, next::timestamp AT TIME ZONE 'UTC', EXISTS (
    SELECT FROM messages WHERE tenant = $1 AND campaign = $2 AND NOT tried AND state = 'queued'),
    room < c.waiting AND EXISTS (
    SELECT FROM messages WHERE tenant = $1 AND campaign = $2 AND NOT tried AND state = 'queued'
    OFFSET least(room, 10000))
FROM quota, campaigns c WHERE c.tenant = $1 AND c.id = $2`

// A Day is what a campaign has left of the MaxMessagesDay of its tenant.
type Day struct {
	Left  int64     // messages that the tenant may send on this day
	Next  time.Time // when the next one begins
	First bool      // it has messages that wait for their first attempt, which counts; further ones do not
	Over  bool      // more of those than Left, as far as they are counted
}

// Day returns what a campaign has left of the day; nil = its tenant has no limit.
func (s *Messages) Day(ctx context.Context, tenant string, id uuid.UUID) (*Day, error) {
	rows, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToAddrOfStructByPos[Day], sqlCampaignDay, tenant, id)
	if err != nil || len(rows) == 0 {
		return nil, fault.Wrap(err, "read the day of campaign %s", id)
	}
	return rows[0], nil
}

// Each sender's transactional messages, and those of each running campaign, come from a scan of their own: what is
// paused is never looked at, however much of it waits. Those of campaigns are taken in turns. What is locked beyond the
// cut is free again when the statement ends, and locked rows are skipped, so no two callers ever hold the same message.
// A lease lasts from its writing on: now() is before the wait for the day. $8 and $9 are the pads of the key of
// opt-outs: a caller that does not know yet that there is one gets nothing.
const sqlMessageClaim = `/* sqlMessageClaim */
WITH open AS (` + sqlMessageSenders + `
        AND ($3::uuid IS NULL OR s.id = $3) AND ($9::bytea IS NOT NULL OR NOT EXISTS (SELECT FROM opt_out_key))
), quota AS (` + sqlMessageRoom + `
), due AS (
    SELECT m.id, m.digest, m.email_digest, m.due_at, o.holds, 0 AS turn
    FROM open o CROSS JOIN LATERAL (
        SELECT id, digest, email_digest, due_at FROM messages
        WHERE tenant = $1 AND sender = o.id AND tried = $7 AND state = 'queued' AND campaign IS NULL AND due_at <= now()
        ORDER BY tenant, sender, tried, due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED) m
    UNION ALL
    SELECT m.id, m.digest, m.email_digest, m.due_at, o.holds,
        row_number() OVER (PARTITION BY c.id ORDER BY m.due_at, m.id)
    FROM open o JOIN campaigns c ON c.tenant = $1 AND c.sender = o.id AND c.state = 'running'
    CROSS JOIN LATERAL (
        SELECT id, digest, email_digest, due_at FROM messages
        WHERE tenant = $1 AND campaign = c.id AND tried = $7 AND state = 'queued' AND due_at <= now()
        ORDER BY campaign, tried, due_at, id LIMIT least($2, (SELECT room FROM quota WHERE NOT $7))
        FOR UPDATE SKIP LOCKED) m
), fitting AS (
    SELECT id, digest, email_digest, holds, turn FROM (
        SELECT d.*, row_number() OVER (PARTITION BY turn = 0 ORDER BY turn, due_at, id) AS place FROM due d) p
    WHERE turn = 0 OR place <= coalesce((SELECT room FROM quota WHERE NOT $7), place)
    ORDER BY turn, due_at, id LIMIT $2
), picked AS (
    SELECT f.*, EXISTS (SELECT FROM opt_outs o WHERE o.tenant = $1 AND o.digest = ANY (ARRAY[f.digest, f.email_digest,
        opt_out_keyed(f.digest, $8, $9), opt_out_keyed(f.email_digest, $8, $9)])) AS opted
    FROM fitting f
), taken AS (
    UPDATE messages m SET written_at = CASE WHEN NOT p.opted THEN now() END,
        class = CASE WHEN p.opted THEN $6 ELSE m.class END,
        state = CASE WHEN p.opted THEN 'skipped' ELSE 'sending' END,
        lease = CASE WHEN NOT p.opted THEN $4::uuid END,
        lease_until = CASE WHEN NOT p.opted THEN clock_timestamp() + $5::interval END
    FROM picked p
    WHERE m.tenant = $1 AND m.id = ANY (ARRAY(SELECT id FROM picked)) AND m.id = p.id
    RETURNING m.id, m.campaign, m.sender, m.recipient, m.body, m.attempts, m.spent, m.state, p.holds, p.turn, m.due_at
), turns AS (
    SELECT id FROM campaigns WHERE tenant = $1 AND id IN (SELECT campaign FROM taken WHERE state = 'skipped')
    ORDER BY id FOR NO KEY UPDATE
), counted AS (
    UPDATE campaigns c SET waiting = c.waiting - n, skipped = c.skipped + n
    FROM turns t JOIN (SELECT campaign, count(*) AS n FROM taken WHERE state = 'skipped' GROUP BY campaign) s
        ON s.campaign = t.id
    WHERE c.tenant = $1 AND c.id = t.id
), spent AS (
    INSERT INTO message_days AS d (tenant, day, n)
    SELECT $1, (now() AT TIME ZONE 'UTC')::date, count(*) FROM taken, quota
    WHERE state = 'sending' AND campaign IS NOT NULL AND NOT $7 AND room IS NOT NULL HAVING count(*) > 0
    ON CONFLICT (tenant) DO UPDATE SET day = excluded.day,
        n = CASE d.day WHEN excluded.day THEN d.n ELSE 0 END + excluded.n
)
SELECT id, coalesce(campaign, '00000000-0000-0000-0000-000000000000'), sender, recipient, body, attempts, spent, holds,
    due_at, turn
FROM taken WHERE state = 'sending'`

// Claim leases messages that are due: transactional ones first, by their age, then those of the tenant's running
// campaigns in turns. It takes nothing of a tenant that is stopped, nor of a sender that is stopped or paused. A
// message whose recipient has opted out meanwhile is skipped, and not among the claims. First tries of campaigns count
// against the tenant's MaxMessagesDay: it takes no more than there are left of it. A quota that the caller does not
// know of yet counts too, but not what others take of it at the same moment. When it returns, the claims are on the
// disk, and their requests may be written: a worker that dies from then on leaves messages that are unknown. So it is
// called for as many as are written at once, not for all that wait for their turn.
func (s *Messages) Claim(ctx context.Context, t campaign.Take) (claims []campaign.Claim, err error) {
	var sender *uuid.UUID
	if t.Sender != uuid.Nil {
		sender = &t.Sender
	}
	pads, err := s.key.pads(ctx)
	if err != nil {
		return nil, err
	}
	type claimed struct {
		campaign.Claim
		turn int64
	}
	var got []claimed
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan)
	if !t.Tried && !t.Unlimited {
		b.Queue(sqlMessageDay, t.Tenant) // first, so that the claim sees what others have taken of the day
	}
	q := b.Queue(sqlMessageClaim, t.Tenant, t.Max, sender, t.Token, t.Lease, campaign.ClassOptedOut, t.Tried,
		pads.Inner, pads.Outer)
	q.Query(func(rows pgx.Rows) error {
		got, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c claimed, err error) {
			return c, row.Scan(&c.ID, &c.Campaign, &c.Sender, &c.Recipient, &c.Body, &c.Attempts, &c.Spent, &c.Holds,
				&c.QueuedAt, &c.turn)
		})
		return err
	})
	if err := db.TenantWrite(ctx, s.pool, t.Tenant, b); err != nil {
		return nil, fmt.Errorf("claim messages of %s: %w", t.Tenant, err)
	}
	slices.SortFunc(got, func(a, b claimed) int {
		if a.turn != b.turn {
			return int(a.turn - b.turn)
		}
		return a.QueuedAt.Compare(b.QueuedAt)
	})
	for _, c := range got {
		claims = append(claims, c.Claim)
	}
	return claims, nil
}

// Those that were queued last, the newest first: an older one does not wait for a core, but for its rate or its sender.
// Neither does one behind an older one of its sender, which are sent in their order: by a backlog of its own a tenant
// would slow down the imports of all.
const sqlMessageSingleWaits = `/* sqlMessageSingleWaits */
SELECT EXISTS (
    SELECT FROM (
        SELECT DISTINCT tenant, sender FROM (
            SELECT tenant, sender, state, due_at FROM messages
            WHERE campaign IS NULL AND queued_at > now() - $1::interval
            ORDER BY queued_at DESC, id DESC LIMIT $2) latest
        WHERE state = 'queued' AND due_at <= now()) m
    JOIN senders s ON s.id = m.sender JOIN tenants t ON t.id = m.tenant
    WHERE t.state = 'active' AND s.state = 'active' AND (s.paused_until IS NULL OR s.paused_until <= now())
        AND NOT EXISTS (
            SELECT FROM messages WHERE tenant = m.tenant AND sender = m.sender AND NOT tried AND state = 'queued'
                AND campaign IS NULL AND due_at <= now() - $3::interval))`

// Of how many messages, and of what time, SingleWaits looks at the state.
const (
	singleLatest = 2 * time.Second
	singleMost   = 500
	singleBehind = 10 * time.Second // is longer than one waits for a core
)

// SingleWaits says whether a transactional message of any tenant was queued within two seconds, is due, has a sender
// that sends and has no backlog, and was not claimed yet.
func (s *Messages) SingleWaits(ctx context.Context) (bool, error) {
	waits, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowTo[bool], sqlMessageSingleWaits,
		singleLatest, singleMost, singleBehind))
	return waits, fault.Wrap(err, "look for messages that wait")
}

// sqlMessageGivenBack gives back the messages of held, whose requests were surely not written. Where a lease has run
// out meanwhile, its message is unknown and has an attempt, which was none. What they took of the tenant's day, first
// tries of campaigns, may be sent by others. The day is locked before campaigns, as by Claim: the last statement runs
// before those that nothing reads.
const sqlMessageGivenBack = `back AS (
    UPDATE messages m SET state = 'queued', lease = NULL, lease_until = NULL, written_at = NULL,
        attempts = m.attempts - h.unknown, class = CASE h.unknown WHEN 1 THEN '' ELSE m.class END
    FROM held h WHERE m.tenant = $1 AND m.id = h.id
    RETURNING m.id, m.campaign, m.attempts AS before, h.unknown, (h.written_at AT TIME ZONE 'UTC')::date AS day
), untried AS (
    DELETE FROM message_attempts a USING back b
    WHERE a.tenant = $1 AND a.message = b.id AND a.n = b.before + 1 AND b.unknown = 1
), turns AS (
    SELECT id FROM campaigns WHERE tenant = $1 AND id IN (SELECT campaign FROM back WHERE unknown = 1)
    ORDER BY id FOR NO KEY UPDATE
), counted AS (
    UPDATE campaigns c SET waiting = c.waiting + n.waiting, unknown = c.unknown - n.waiting,
        state = ` + sqlCampaignWaits + `, finished_at = ` + sqlCampaignUnfinished + `
    FROM turns t JOIN (SELECT campaign, sum(unknown) AS waiting FROM back GROUP BY campaign) n ON n.campaign = t.id
    WHERE c.tenant = $1 AND c.id = t.id
)
UPDATE message_days d SET n = greatest(d.n - b.n, 0)
FROM (SELECT day, count(*) AS n FROM back WHERE campaign IS NOT NULL AND before = 0 GROUP BY day) b
WHERE d.tenant = $1 AND d.day = b.day`

const sqlMessageRelease = `/* sqlMessageRelease */
WITH held AS (
    SELECT id, written_at, (state = 'unknown')::int AS unknown FROM messages
    WHERE tenant = $1 AND id = ANY ($2) AND lease = $3 AND state IN ('sending', 'unknown')
    ORDER BY id FOR UPDATE
), ` + sqlMessageGivenBack

// Release gives leased messages back whose requests were not written, for sure, also those that are unknown since their
// lease has run out. They may be claimed again at once, and do not count against the tenant's MaxMessagesDay.
func (s *Messages) Release(ctx context.Context, tenant string, token uuid.UUID, ids []uuid.UUID) error {
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan)
	b.Queue(sqlMessageRelease, tenant, ids, token)
	return fault.Wrap(db.TenantWrite(ctx, s.pool, tenant, b), "give back %d messages of %s", len(ids), tenant)
}

const sqlMessageReleaseRest = `/* sqlMessageReleaseRest */
WITH held AS (
    SELECT id, written_at, (state = 'unknown')::int AS unknown FROM messages
    WHERE tenant = $1 AND lease = ANY ($2) AND id <> ALL ($3)
        AND (state = 'sending' OR state = 'unknown' AND class = 'unknown')
    ORDER BY id FOR UPDATE
), ` + sqlMessageGivenBack

// ReleaseRest gives back what is leased under tokens, also what is unknown since its lease has run out, but for the
// messages in hand: a claim may have been stored whose answer was lost, so that nobody knows of its messages.
func (s *Messages) ReleaseRest(ctx context.Context, tenant string, tokens, inHand []uuid.UUID) error {
	b := new(pgx.Batch)
	b.Queue(sqlMessageReleaseRest, tenant, tokens, inHand)
	return fault.Wrap(db.TenantWrite(ctx, s.pool, tenant, b), "give back messages of %s", tenant)
}

// The lease of a message that becomes unknown stays: a worker that was only slow still says what became of it.
const sqlMessageExpire = `/* sqlMessageExpire */
WITH ended AS (
    SELECT id FROM messages
    WHERE state = 'sending' AND lease_until < now()
    ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED
), lost AS (
    UPDATE messages m SET state = 'unknown', class = $2, attempts = m.attempts + 1, lease_until = NULL
    FROM ended e WHERE m.id = e.id
    RETURNING m.id, m.tenant, m.campaign, m.attempts, m.written_at
), tried AS (
    INSERT INTO message_attempts (tenant, message, n, at, took_ms, outcome, class, error)
    SELECT tenant, id, attempts, written_at, least(extract(epoch FROM now() - written_at) * 1000, 2147483647), $3, $2,
        $4
    FROM lost
), turns AS (
    SELECT id FROM campaigns WHERE id IN (SELECT campaign FROM lost) ORDER BY id FOR NO KEY UPDATE
), counted AS (
    UPDATE campaigns c SET waiting = c.waiting - n, unknown = c.unknown + n
    FROM turns t JOIN (SELECT campaign, count(*) AS n FROM lost GROUP BY campaign) l ON l.campaign = t.id
    WHERE c.id = t.id
)
SELECT id, tenant, coalesce(campaign, '00000000-0000-0000-0000-000000000000'), attempts
FROM lost ORDER BY tenant`

// Expired counts the messages of a tenant whose lease has ended. They are unknown: a webhook settles them.
type Expired struct {
	Tenant   string
	Messages int64
}

// Expire ends up to n leases that have run out, of all tenants, with the events message.status of their messages, which
// are unknown now: their requests may have been written.
func (s *Messages) Expire(ctx context.Context, n int, now time.Time) (out []Expired, err error) {
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		out = nil
		var ended []endedLease
		b := new(pgx.Batch)
		b.Queue(sqlMessagePlan)
		b.Queue(sqlMessageExpire, n, lostWithWorker.Class, lostWithWorker.Outcome, lostWithWorker.Means).Query(
			func(rows pgx.Rows) (err error) {
				ended, err = pgx.CollectRows(rows, pgx.RowToStructByPos[endedLease])
				return err
			})
		if err := tx.SendBatch(ctx, b).Close(); err != nil || len(ended) == 0 {
			return err
		}
		b = new(pgx.Batch)
		for _, e := range ended {
			if len(out) == 0 || out[len(out)-1].Tenant != e.Tenant {
				out = append(out, Expired{Tenant: e.Tenant})
			}
			out[len(out)-1].Messages++
			m, err := messageStatus(e.Tenant, e.ID, e.Campaign, campaign.MessageUnknown, e.Attempts, now, now,
				reported{verdict: lostWithWorker, text: lostWithWorker.Means})
			if err != nil {
				return err
			}
			db.OutboxAdd(b, m)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, fmt.Errorf("end leases of messages: %w", err)
	}
	if len(out) > 0 {
		s.added.Wake(ctx)
	}
	return out, nil
}

// An endedLease is a message whose lease has run out.
type endedLease struct {
	ID       uuid.UUID
	Tenant   string
	Campaign uuid.UUID
	Attempts int
}

// lostWithWorker is the verdict on a message whose worker did not come back.
var lostWithWorker = campaign.Verdict{
	Outcome: campaign.Unknown, Class: campaign.ClassUnknown,
	Means: "the worker ended before it had an answer; a webhook may still report whether the message was accepted",
}

// Messages wait by kind for the oldest to be due, for the pause of their sender to end, and for their campaign to run.
// They are looked at once a day at least: a pause until the year 9999 is longer than a time.Duration.
const sqlMessageWaiting = `/* sqlMessageWaiting */
WITH open AS (
    SELECT s.id, s.paused_until FROM senders s JOIN tenants t ON t.id = s.tenant
    WHERE s.tenant = $1 AND t.state = 'active' AND s.state <> 'stopped'
        AND (s.state = 'active' OR s.paused_until IS NOT NULL)
), quota AS (` + sqlMessageRoom + `
), due AS (
    SELECT o.id AS sender, k.tried, true AS transactional, greatest(m.due_at, o.paused_until) AS at
    FROM open o CROSS JOIN unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
        SELECT due_at FROM messages
        WHERE tenant = $1 AND sender = o.id AND tried = k.tried AND state = 'queued' AND campaign IS NULL
        ORDER BY tenant, sender, tried, due_at, id LIMIT 1) m
    UNION ALL
    SELECT o.id, k.tried, false, greatest(m.due_at, o.paused_until,
        (SELECT next::timestamp AT TIME ZONE 'UTC' FROM quota WHERE room = 0 AND NOT k.tried))
    FROM open o JOIN campaigns c ON c.tenant = $1 AND c.sender = o.id AND c.state = 'running'
    CROSS JOIN unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
        SELECT due_at FROM messages WHERE tenant = $1 AND campaign = c.id AND tried = k.tried AND state = 'queued'
        ORDER BY campaign, tried, due_at, id LIMIT 1) m
)
SELECT sender, tried, transactional, least(greatest(min(at) - now(), '0'), '1 day'::interval) AS wait FROM due
GROUP BY sender, tried, transactional ORDER BY wait, transactional DESC, sender, tried`

// Waiting says which senders of a tenant have messages that may be claimed, now or later, those of the soonest first.
// It is empty where no message waits but those that a person holds back, by a pause without end or a stop.
func (s *Messages) Waiting(ctx context.Context, tenant string) (out []campaign.Waiting, err error) {
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan)
	b.Queue(sqlMessageWaiting, tenant).Query(func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[campaign.Waiting])
		return err
	})
	err = db.TenantWrite(ctx, s.pool, tenant, b)
	return out, fault.Wrap(err, "look for messages of %s", tenant)
}

// First tries of campaigns wait for the next day where the messages of this one are used up.
const sqlMessageTenants = `/* sqlMessageTenants */
SELECT t.id FROM tenants t
LEFT JOIN message_days d ON d.tenant = t.id AND d.day = (now() AT TIME ZONE 'UTC')::date
WHERE t.state = 'active' AND t.id > $1 AND (
    EXISTS (SELECT FROM senders s CROSS JOIN unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
        SELECT 1 FROM messages m
        WHERE m.tenant = s.tenant AND m.sender = s.id AND m.tried = k.tried AND m.state = 'queued'
            AND m.campaign IS NULL AND m.due_at <= now()
        ORDER BY m.tenant, m.sender, m.tried, m.due_at, m.id LIMIT 1) m
        WHERE s.tenant = t.id AND s.state <> 'stopped' AND (s.state = 'active' OR s.paused_until IS NOT NULL)
            AND (s.paused_until IS NULL OR s.paused_until <= now()))
    OR EXISTS (SELECT FROM campaigns c JOIN senders s ON s.id = c.sender
        CROSS JOIN unnest(ARRAY[false, true]) AS k(tried) CROSS JOIN LATERAL (
        SELECT 1 FROM messages m
        WHERE m.campaign = c.id AND m.tried = k.tried AND m.state = 'queued' AND m.due_at <= now()
            AND (k.tried OR t.max_messages_day IS NULL OR coalesce(d.n, 0) < t.max_messages_day)
        ORDER BY m.campaign, m.tried, m.due_at, m.id LIMIT 1) m
        WHERE c.tenant = t.id AND c.state = 'running' AND s.state <> 'stopped'
            AND (s.state = 'active' OR s.paused_until IS NOT NULL)
            AND (s.paused_until IS NULL OR s.paused_until <= now())))
ORDER BY t.id LIMIT $2`

// Tenants returns up to n active tenants after one ("" = from the first) that have messages to send now: each needs its
// workflow Dispatch.
func (s *Messages) Tenants(ctx context.Context, after string, n int) (ids []string, err error) {
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan) // it is asked each second or two, mostly in vain, and a plan costs many times the look
	b.Queue(sqlMessageTenants, after, n).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	err = db.SystemWrite(ctx, s.pool, b)
	return ids, fault.Wrap(err, "look for tenants with messages")
}
