package outreach

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
)

// A campaign of which a message waits again has not ended: a result may come after a lease has run out and the campaign
// has finished without its message. One that was canceled drops the message. n is what changes in its counts.
const (
	sqlCampaignWaits      = `CASE WHEN n.waiting > 0 AND c.state = 'done' THEN 'running' ELSE c.state END`
	sqlCampaignUnfinished = `CASE WHEN n.waiting > 0 AND c.state IN ('done', 'canceled') THEN NULL ELSE c.finished_at END`

	// A campaign that runs is paused, but not for what Meta dates before its last change, once its messages are written.
	sqlCampaignHeld = `c.state = 'running' AND n.held_at >= CASE WHEN c.written_at IS NULL OR c.updated_at > now()
            THEN '-infinity' ELSE date_trunc('second', c.updated_at) END`
)

// sqlOptOutLatest keeps the time of the latest of a person's wishes for no more messages: an older wish for more does
// not undo it. One that was imported, or came by the API, stays as it is.
const sqlOptOutLatest = `ON CONFLICT (tenant, digest) DO UPDATE SET at = excluded.at
    WHERE o.source = 'message' AND o.at < excluded.at`

// sqlMessageEffects follows from changes of messages, in the same statement: done has a row for each; digests are the
// two forms in which an opt-out of the recipient is stored. Whoever changes messages locks them in the order of their
// numbers, and campaigns and senders, each in the order of theirs, after them. A limit of the API also holds a sender
// that a person has paused until a time: it makes the pause longer, or, where that is over, makes the sender an active
// one that waits. Nothing is sent in a pause: what is accepted then was sent before, and ends none. What is told late,
// by Meta's time in whole seconds, holds a sender for what is left of the pause, and stops no tenant, and pauses no
// campaign, that was changed since. What was changed by a clock ahead of Postgres' may have been changed before.
const sqlMessageEffects = `turns AS (
    SELECT c.id FROM campaigns c WHERE c.id IN (SELECT campaign FROM done) ORDER BY c.id FOR NO KEY UPDATE
), counted AS (
    UPDATE campaigns c SET waiting = c.waiting + n.waiting, unknown = c.unknown + n.unknown, sent = c.sent + n.sent,
        delivered = c.delivered + n.delivered, read = c.read + n.read, failed = c.failed + n.failed,
        state = CASE WHEN ` + sqlCampaignHeld + ` THEN 'paused' ELSE ` + sqlCampaignWaits + ` END,
        finished_at = ` + sqlCampaignUnfinished + `,
        reason = CASE WHEN ` + sqlCampaignHeld + ` THEN n.means ELSE c.reason END
    FROM turns t JOIN (
        SELECT campaign,
            sum((now IN ('queued', 'sending'))::int - (was IN ('queued', 'sending'))::int) AS waiting,
            sum((now = 'unknown')::int - (was = 'unknown')::int) AS unknown,
            sum((now = 'sent')::int - (was = 'sent')::int) AS sent,
            sum((now = 'delivered')::int - (was = 'delivered')::int) AS delivered,
            sum((now = 'read')::int - (was = 'read')::int) AS read,
            sum((now = 'failed')::int - (was = 'failed')::int) AS failed,
            max(said_at) FILTER (WHERE hold_all) AS held_at, max(means) FILTER (WHERE hold_all) AS means
        FROM done GROUP BY campaign) n ON n.campaign = t.id
    WHERE c.id = t.id
), pauses AS (
    SELECT sender, max(least(said_at, now()) + pause) AS until, max(holds) AS holds, max(means) AS means
    FROM done WHERE pause > '0' AND said_at + pause > now() GROUP BY sender
), lines AS (
    SELECT s.id FROM senders s
    WHERE s.id IN (SELECT sender FROM pauses) OR s.holds > 0 AND (s.paused_until > now()) IS NOT TRUE
        AND s.id IN (SELECT sender FROM done WHERE outcome = 'accepted')
    ORDER BY s.id FOR NO KEY UPDATE
), paused AS (
    UPDATE senders s SET holds = CASE WHEN p.until IS NULL THEN 0 ELSE coalesce(p.holds, greatest(s.holds, 1)) END,
        paused_until = greatest(s.paused_until, p.until),
        state = CASE WHEN s.paused_until <= now() THEN 'active' ELSE s.state END,
        reason = CASE WHEN s.paused_until > CASE s.state WHEN 'paused' THEN now() ELSE p.until END THEN s.reason
            ELSE coalesce(p.means, '') END
    FROM lines l LEFT JOIN pauses p ON p.sender = l.id
    WHERE s.id = l.id AND (s.state = 'active' OR s.state = 'paused' AND s.paused_until IS NOT NULL)
), stopped AS (
    UPDATE tenants t SET state = 'stopped', stopped_reason = d.means, updated_at = $3
    FROM (
        SELECT tenant, max(means) AS means, max(said_at) AS at FROM done WHERE outcome = 'stop_tenant'
        GROUP BY tenant) d
    WHERE t.id = d.tenant AND t.state = 'active'
        AND (d.at >= date_trunc('second', t.updated_at) OR t.updated_at > now())
), opted AS (
    INSERT INTO opt_outs AS o (tenant, digest, source, at)
    SELECT tenant, digest, 'message', max(said_at) FROM done d
    WHERE opts_out AND digest <> '' AND NOT EXISTS (
        SELECT FROM opt_ins i WHERE i.tenant = d.tenant AND i.digest = ANY (d.digests) AND i.at > d.said_at)
    GROUP BY tenant, digest ORDER BY 1, 2
    ` + sqlOptOutLatest + `
), told AS (
    INSERT INTO outbox (message_id, lane, exchange, routing_key, type, body, created_at)
    SELECT event_id, ` + db.SQLTenantLane + ` || tenant, $1, $2, '', event, $3 FROM done
    WHERE event IS NOT NULL AND was <> now
    ON CONFLICT (message_id) DO NOTHING
)`

// A result counts only under the lease that its message was sent under. Where a webhook was faster, its state stays. A
// message whose lease has run out, so that it is unknown and the attempt is counted, is settled by a late result. Other
// messages to a recipient that is left alone wait too. Of a recipient that was forgotten meanwhile nothing is written
// that has the phone in it.
const sqlMessageRecord = `/* sqlMessageRecord */
WITH said AS (
    SELECT * FROM unnest($6::uuid[], $7::text[], $8::interval[], $9::text[], $10::text[], $11::text[], $12::int[],
        $13::text[], $14::int[], $15::timestamptz[], $16::int[], $17::bool[], $18::interval[], $19::int[], $20::bool[],
        $21::bool[], $22::text[], $23::bytea[], $24::uuid[])
        AS r(id, state, wait, wamid, outcome, class, code, error, http_status, at, took_ms, spends, pause, holds,
            hold_all, opts_out, means, event, event_id)
), held AS (
    SELECT id, state, state IN ('sending', 'unknown') AS open, (lease_until IS NOT NULL)::int AS fresh FROM messages
    WHERE tenant = $4 AND id = ANY ($6) AND lease = $5
    ORDER BY id FOR UPDATE
), done AS (
    UPDATE messages m SET
        state = CASE WHEN h.open THEN r.state ELSE m.state END,
        lease = NULL, lease_until = NULL, written_at = NULL,
        attempts = m.attempts + h.fresh, spent = m.spent + r.spends::int,
        due_at = CASE WHEN h.open AND r.state = 'queued' THEN now() + r.wait ELSE m.due_at END,
        wamid = CASE WHEN m.recipient <> '' THEN coalesce(m.wamid, nullif(r.wamid, '')) END,
        sent_at = CASE WHEN r.state = 'sent' THEN coalesce(m.sent_at, now()) ELSE m.sent_at END,
        failed_at = CASE WHEN h.open AND r.state = 'failed' THEN now() ELSE m.failed_at END,
        class = CASE WHEN h.open THEN r.class ELSE m.class END,
        code = CASE WHEN h.open THEN nullif(r.code, 0) ELSE m.code END,
        error = CASE WHEN h.open THEN r.error ELSE m.error END
    FROM held h JOIN said r ON r.id = h.id
    WHERE m.tenant = $4 AND m.id = ANY ($6) AND m.id = h.id
    RETURNING m.id, m.tenant, m.campaign, m.sender, m.digest,
        ARRAY[m.digest, opt_out_keyed(m.digest, $25, $26)] AS digests,
        m.attempts AS n, h.state AS was, m.state AS now, r.wait,
        CASE WHEN m.recipient <> '' THEN r.wamid END AS wamid, r.outcome, r.class, r.code, r.error, r.http_status, r.at,
        r.took_ms, r.pause, r.holds, r.hold_all, r.opts_out, now() AS said_at, r.means,
        CASE WHEN m.recipient <> '' THEN r.event
            ELSE convert_to((convert_from(r.event, 'UTF8')::jsonb #- '{data,wamid}')::text, 'UTF8') END AS event,
        r.event_id
), tried AS (
    INSERT INTO message_attempts AS a (tenant, message, n, at, took_ms, outcome, class, http_status, code, wamid, error)
    SELECT tenant, id, n, at, took_ms, outcome, class, nullif(http_status, 0), nullif(code, 0), nullif(wamid, ''), error
    FROM done
    ON CONFLICT (message, n) DO UPDATE SET took_ms = excluded.took_ms, outcome = excluded.outcome,
        class = excluded.class, http_status = excluded.http_status, code = excluded.code, wamid = excluded.wamid,
        error = excluded.error
), delayed AS (
    UPDATE messages m SET due_at = greatest(m.due_at, now() + p.wait)
    FROM (
        SELECT q.id, max(d.wait) AS wait FROM done d CROSS JOIN LATERAL (
            SELECT id FROM messages
            WHERE digest = d.digest AND tenant = $4 AND sender = d.sender AND state = 'queued' AND id <> ALL ($6)
            LIMIT 100 FOR UPDATE SKIP LOCKED) q
        WHERE d.outcome = 'delay_recipient' GROUP BY q.id) p
    WHERE m.tenant = $4 AND m.id = p.id
), ` + sqlMessageEffects + `
SELECT count(*) FROM done`

// A person writes from the number that WhatsApp has: it is kept where it is not the contact's. A contact that others
// change at the moment gets it by its next message.
const sqlContactsWaID = `/* sqlContactsWaID */
UPDATE contacts c SET wa_id = w.wa_id FROM unnest($2::text[], $3::text[]) AS w(key, wa_id)
WHERE c.tenant = $1 AND c.key = w.key AND c.wa_id <> w.wa_id AND c.id = ANY (ARRAY(
    SELECT o.id FROM contacts o JOIN unnest($2::text[], $3::text[]) AS n(key, wa_id) ON o.key = n.key
    WHERE o.tenant = $1 AND o.wa_id <> n.wa_id ORDER BY o.key FOR NO KEY UPDATE OF o SKIP LOCKED))`

// The dead letter of a message that was given up. Its results may be recorded twice: the second time changes nothing.
const sqlMessageDead = `/* sqlMessageDead */
INSERT INTO dead_letters AS d (tenant, fingerprint, queue, exchange, routing_key, message_id, body, reason, class,
    workflow_id, first_at, last_at)
SELECT $1, sha256(convert_to('message/' || m.id || '/' || m.attempts, 'UTF8')),
    CASE WHEN m.attempts > 1 THEN $7 ELSE $4 END, '', '', m.id::text,
    convert_to(jsonb_build_object('message', m.id, 'campaign', m.campaign, 'attempts', m.attempts)::text, 'UTF8'),
    m.error, $5, $6, $3, $3
FROM unnest($2::uuid[]) AS g(id) JOIN messages m ON m.tenant = $1 AND m.id = g.id AND m.state = 'failed'
ON CONFLICT (fingerprint) DO NOTHING`

// Record stores what became of leased messages in one transaction and one round trip: their states, the attempts, the
// time of the next ones, the events message.status, the counts of campaigns; pauses of senders and campaigns, the
// stop of the tenant and opt-outs, where the verdicts say so; and a dead letter for each message that was given up. A
// result under a lease that was lost changes nothing; so Record may be repeated. What was sent is recorded without the
// key of opt-outs, too: an opt-out that nobody could compare with a wish for more counts.
func (s *Messages) Record(ctx context.Context, tenant string, token uuid.UUID, results []campaign.Result,
	now time.Time) (out campaign.Recorded, err error) {
	if len(results) == 0 {
		return out, nil
	}
	args, givenUp, err := recordArgs(tenant, token, results, now)
	if err != nil {
		return out, err
	}
	pads, _ := s.key.pads(ctx) // none where there is an error
	args = append(args, pads.Inner, pads.Outer)
	b := new(pgx.Batch)
	b.Queue(sqlMessagePlan)
	b.Queue(sqlMessageRecord, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Stored) })
	if keys, numbers := elsewhere(results); len(keys) > 0 { // behind messages, as whoever forgets a person
		b.Queue(sqlContactsWaID, tenant, keys, numbers)
	}
	if len(givenUp) > 0 {
		b.Queue(sqlMessageDead, tenant, givenUp, now, campaign.QueueDispatch, "transient",
			campaign.DispatchWorkflowID(tenant), campaign.QueueRetry)
	}
	err = db.TenantWrite(ctx, s.pool, tenant, b)
	if db.Violates(err, db.UniqueViolation, "messages_wamid") {
		return s.recordEach(ctx, tenant, token, results, now)
	}
	if err != nil {
		return campaign.Recorded{}, fmt.Errorf("record %d messages of %s: %w", len(results), tenant, err)
	}
	out.Lost = len(results) - out.Stored
	s.added.Wake(ctx)
	return out, nil
}

// recordEach stores results one by one, without the wamid that another message has: an API that gives one to two
// messages must not keep the others from being recorded.
func (s *Messages) recordEach(ctx context.Context, tenant string, token uuid.UUID, results []campaign.Result,
	now time.Time) (out campaign.Recorded, err error) {
	for _, r := range results {
		if len(results) == 1 {
			r.WAMID = ""
		}
		one, err := s.Record(ctx, tenant, token, []campaign.Result{r}, now)
		if err != nil {
			return out, err
		}
		out.Stored, out.Lost = out.Stored+one.Stored, out.Lost+one.Lost
	}
	return out, nil
}

// elsewhere are the keys of recipients that WhatsApp has under other numbers, and these.
func elsewhere(results []campaign.Result) (keys, numbers []string) {
	for _, r := range results {
		if r.WaID != "" {
			keys, numbers = append(keys, contact.Key(r.Recipient, "")), append(numbers, r.WaID)
		}
	}
	return keys, numbers
}

// recordArgs are the arguments of sqlMessageRecord: the results by columns.
func recordArgs(tenant string, token uuid.UUID, results []campaign.Result, now time.Time) (
	args []any, givenUp []uuid.UUID, err error,
) {
	n := len(results)
	var (
		ids, eventIDs              = make([]uuid.UUID, n), make([]uuid.UUID, n)
		states, wamids, outcomes   = make([]string, n), make([]string, n), make([]string, n)
		classes, errors, means     = make([]string, n), make([]string, n), make([]string, n)
		waits, pauses              = make([]time.Duration, n), make([]time.Duration, n)
		codes, https, tooks, holds = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
		ats                        = make([]time.Time, n)
		spends, holdAll, optsOut   = make([]bool, n), make([]bool, n), make([]bool, n)
		events                     = make([][]byte, n)
	)
	for i, r := range results {
		state, wait := r.Next()
		ids[i], states[i], waits[i], wamids[i] = r.ID, string(state), wait, db.Storable(r.WAMID)
		outcomes[i], classes[i], codes[i] = string(r.Outcome), string(r.Class), int32(r.Code)
		errors[i], means[i] = db.Storable(said(r.Error, r.Means)), r.Means
		https[i], ats[i], tooks[i] = int32(r.Status), r.At, int32(r.Took.Milliseconds())
		spends[i], pauses[i], holds[i] = r.Spends, r.Pause(), int32(r.Holds+1)
		holdAll[i], optsOut[i] = r.HoldsAll, r.OptsOut
		if r.GivenUp() {
			givenUp = append(givenUp, r.ID)
		}
		if state == campaign.MessageQueued {
			continue
		}
		m, err := messageStatus(tenant, r.ID, r.Campaign, state, r.Attempts+1, now, now,
			reported{wamids[i], r.Verdict, errors[i]})
		if err != nil {
			return nil, nil, err
		}
		events[i], eventIDs[i] = m.Body, m.MessageID
	}
	return []any{contract.ExchangeListingEvents, contract.MessageStatus, now, tenant, token, ids, states, waits, wamids,
		outcomes, classes, codes, errors, https, ats, tooks, spends, pauses, holds, holdAll, optsOut, means, events,
		eventIDs}, givenUp, nil
}

// said is what the API says of an error, or what it means.
func said(text, means string) string {
	if text == "" {
		return means
	}
	return text
}

// reported is what is known of the state of a message.
type reported struct {
	wamid   string
	verdict campaign.Verdict
	text    string
}

// messageStatus is the event of a message's n-th request that came to a state at a time.
func messageStatus(tenant string, id, of uuid.UUID, state campaign.Status, n int, at, now time.Time, r reported) (
	db.Message, error,
) {
	data := contract.MessageData{
		MessageID: id.String(), Kind: campaign.KindTransactional, Status: string(state), At: at.UTC(), WAMID: r.wamid,
	}
	if of != uuid.Nil {
		data.Kind, data.CampaignID = campaign.KindCampaign, of.String()
	}
	if state == campaign.MessageFailed || state == campaign.MessageUnknown {
		data.Class, data.Code, data.Error = string(r.verdict.Class), r.verdict.Code, r.text
	}
	return db.TenantEvent(contract.MessageStatus, tenant, campaign.EventID(id, state, n), data, now)
}
