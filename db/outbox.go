package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Outbox keeps the messages to be published. The other stores write them, in the transaction of the change that a
// message announces; the relay of package bridge leases, publishes and marks them.
type Outbox struct{ pool *pgxpool.Pool }

// NewOutbox returns the outbox kept in pool.
func NewOutbox(pool *pgxpool.Pool) *Outbox { return &Outbox{pool} }

// A Message is one row of the outbox.
type Message struct {
	ID         int64     // the row's number: order of writing, with gaps
	MessageID  uuid.UUID // the event's ID, and its AMQP MessageId
	Lane       string    // lanes are published in turns: a platform, or a kind of message
	Exchange   string
	RoutingKey string
	Type       string // AMQP type; "" = none
	Body       []byte // JSON; any bytes in the replay of a dead letter
	CreatedAt  time.Time
	PublishAs  string            // AMQP MessageId where it is not MessageID; "" = it is
	Headers    map[string]string // AMQP headers

	// The trace of the transaction that wrote it, as W3C headers; "" when that was not traced. Only Lease sets them.
	TraceParent, TraceState string
}

const sqlOutboxAdd = `
INSERT INTO outbox (message_id, lane, exchange, routing_key, type, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (message_id) DO NOTHING`

// outboxAdd queues m into the transaction of the change that it announces. A message ID that is stored already is not
// written again.
func outboxAdd(b *pgx.Batch, m Message) {
	b.Queue(sqlOutboxAdd, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Type, m.Body, m.CreatedAt)
}

// The lanes that have something pending come from a loose index scan, and each one's rows are locked inside the
// LATERAL: ranking all pending rows first costs 500 times as much at a million rows, and locks them for one relay.
// Lanes after the cursor come first, then the rest, or the first names of the alphabet would always win. Nothing here
// sorts, so that the scan ends with the batch and does not visit every lane. The window keeps that order; it reads the
// sizes of bodies from their headers, not the bodies. What is locked beyond the cut is free again when the statement
// ends. BETWEEN is an equality that the planner does not see through: with "=" it may walk the primary key, and with
// that every published row.
const sqlOutboxLease = `
WITH RECURSIVE later AS (
    (SELECT lane, 1 AS turn FROM outbox WHERE published_at IS NULL AND lane > $1 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT o.lane, t.turn + 1 FROM later t CROSS JOIN LATERAL (
        SELECT lane FROM outbox WHERE published_at IS NULL AND lane > t.lane ORDER BY lane LIMIT 1) o
), earlier AS (
    (SELECT lane, 1000000000 AS turn FROM outbox WHERE published_at IS NULL AND lane <= $1 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT o.lane, t.turn + 1 FROM earlier t CROSS JOIN LATERAL (
        SELECT lane FROM outbox WHERE published_at IS NULL AND lane > t.lane AND lane <= $1
        ORDER BY lane LIMIT 1) o
), due AS (
    SELECT o.id, t.turn, o.size
    FROM (SELECT lane, turn FROM later UNION ALL SELECT lane, turn FROM earlier) t
    CROSS JOIN LATERAL (
        SELECT id, octet_length(body) AS size FROM outbox
        WHERE lane BETWEEN t.lane AND t.lane AND published_at IS NULL
            AND (leased_until IS NULL OR leased_until < $2)
        ORDER BY lane, id
        LIMIT $3
        FOR UPDATE SKIP LOCKED
    ) o
    LIMIT $4
), fitting AS (
    SELECT id, turn
    FROM (SELECT id, turn, size, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM due) d
    WHERE total - size < $7
)
UPDATE outbox o SET lease_token = $5, leased_until = $6
FROM fitting f WHERE o.id = f.id
RETURNING o.id, o.message_id, o.lane, o.exchange, o.routing_key, o.type, o.body, o.created_at, o.publish_as, o.headers,
    o.traceparent, o.tracestate, f.turn`

// Lease claims up to max pending messages, at most perLane of each lane, starting with the lane after cursor, until
// now+ttl. The message with which their bodies reach maxBytes is the last one: at least one is claimed, whatever its
// size. No two callers ever hold the same message; a lease that runs out makes its messages due again. The slice is in
// the lanes' turns, the cursor for the next call being its last lane, and then in the order of writing.
func (o *Outbox) Lease(ctx context.Context, token uuid.UUID, cursor string, perLane, max, maxBytes int,
	now time.Time, ttl time.Duration) ([]Message, error) {
	// CollectRows reports the error.
	rows, _ := o.pool.Query(ctx, sqlOutboxLease, cursor, now, perLane, max, token, now.Add(ttl), maxBytes)
	type leased struct {
		Message
		Turn int64
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[leased])
	if err != nil {
		return nil, fmt.Errorf("lease outbox: %w", err)
	}
	slices.SortFunc(got, func(a, b leased) int { return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.ID, b.ID)) })
	ms := make([]Message, len(got))
	for i, m := range got {
		ms[i] = m.Message
	}
	return ms, nil
}

const sqlOutboxExtend = `
UPDATE outbox SET leased_until = $3 WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// Extend keeps leased messages until then, for a relay that must wait for the broker. It returns how many of them
// this token still held.
func (o *Outbox) Extend(ctx context.Context, token uuid.UUID, ids []int64, until time.Time) (int64, error) {
	tag, err := o.pool.Exec(ctx, sqlOutboxExtend, ids, token, until)
	if err != nil {
		return 0, fmt.Errorf("keep %d leased messages: %w", len(ids), err)
	}
	return tag.RowsAffected(), nil
}

const sqlOutboxPublished = `
UPDATE outbox SET published_at = $3, lease_token = NULL, leased_until = NULL
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// Published marks messages that the broker has confirmed. It returns how many of them this token still held: fewer
// than asked means that a lease ran out and another relay may send the same message IDs again.
func (o *Outbox) Published(ctx context.Context, token uuid.UUID, ids []int64, now time.Time) (int64, error) {
	tag, err := o.pool.Exec(ctx, sqlOutboxPublished, ids, token, now)
	if err != nil {
		return 0, fmt.Errorf("mark %d messages published: %w", len(ids), err)
	}
	return tag.RowsAffected(), nil
}

const sqlOutboxRelease = `
UPDATE outbox SET lease_token = NULL, last_error = $4, refusals = refusals + ($5::interval[] IS NOT NULL)::int,
    leased_until = $3::timestamptz + coalesce(($5::interval[])[least(refusals + 1, cardinality($5))], interval '0')
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// Release ends the leases of messages that could not be published. refused says that the broker returned or refused
// them: then they are not leased again for as long as fault.RefusalWaits says. Otherwise they may be leased again at
// once.
func (o *Outbox) Release(ctx context.Context, token uuid.UUID, ids []int64, now time.Time, reason string,
	refused bool) error {
	var waits []time.Duration
	if refused {
		waits = fault.RefusalWaits
	}
	if _, err := o.pool.Exec(ctx, sqlOutboxRelease, ids, token, now, reason, waits); err != nil {
		return fmt.Errorf("release %d messages: %w", len(ids), err)
	}
	return nil
}

const sqlOutboxPurge = `
DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE published_at < $1 ORDER BY published_at LIMIT $2 FOR UPDATE SKIP LOCKED
)`

// Purge deletes up to max messages published before t and returns how many it deleted.
func (o *Outbox) Purge(ctx context.Context, t time.Time, max int) (int64, error) {
	tag, err := o.pool.Exec(ctx, sqlOutboxPurge, t, max)
	if err != nil {
		return 0, fmt.Errorf("purge outbox: %w", err)
	}
	return tag.RowsAffected(), nil
}

// Wait sends to added, without waiting for the receiver, whenever something was added to the outbox. It holds a
// connection and returns when that breaks or ctx ends, always with an error.
func (o *Outbox) Wait(ctx context.Context, added chan<- struct{}) error {
	conn, err := o.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("listen to outbox: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "LISTEN outbox"); err != nil {
		return fmt.Errorf("listen to outbox: %w", err)
	}
	defer func() { // a connection that still listens must not go back to the pool
		_ = conn.Conn().Close(context.WithoutCancel(ctx))
	}()
	for {
		if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
			return fmt.Errorf("listen to outbox: %w", err)
		}
		select {
		case added <- struct{}{}:
		default: // one wake-up is enough
		}
	}
}
