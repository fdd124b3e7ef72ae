package db

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Outbox keeps the messages to be published. The other stores write them, in the transaction of the change that a
// message announces; the relay of package bridge leases, publishes and marks them.
type Outbox struct {
	pool   *pgxpool.Pool
	listen *pgxpool.Config // nil: as the pool connects
}

// NewOutbox returns the outbox kept in pool.
func NewOutbox(pool *pgxpool.Pool) *Outbox { return &Outbox{pool: pool} }

// ListenAt makes Wait connect to url, which is a session with the server: the pool's url may be that of a pooler, which
// forgets who listens. It is called before Wait.
func (o *Outbox) ListenAt(url string) error {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read DATABASE_LISTEN_URL: %w", err)
	}
	limited(conf)
	o.listen = conf
	return nil
}

// A Message is one row of the outbox.
type Message struct {
	ID         int64     // the row's number: order of writing, with gaps
	MessageID  uuid.UUID // the event's ID, and its AMQP MessageId
	Lane       string    // lanes are published in turns: a platform, a tenant (tenant/acme), or a kind of message
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

const sqlOutboxAdd = `/* sqlOutboxAdd */
INSERT INTO outbox (message_id, lane, exchange, routing_key, type, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (message_id) DO NOTHING`

// OutboxAdd queues m into the transaction of the change that it announces. A message ID that is stored already is not
// written again.
func OutboxAdd(b *pgx.Batch, m Message) {
	b.Queue(sqlOutboxAdd, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Type, m.Body, m.CreatedAt)
}

// The lanes that have something pending come from a loose index scan, and each one's rows are locked inside the
// LATERAL: ranking all pending rows first costs 500 times as much at a million rows, and locks them for one relay.
// Lanes after the cursor come first, then the rest, or the first names of the alphabet would always win. Nothing here
// sorts, so that the scan ends with the batch and does not visit every lane. The window keeps that order; it reads the
// sizes of bodies from their headers, not the bodies. What is locked beyond the cut is free again when the statement
// ends. Messages that wait after a refusal have a later due_at, which is in the index: they are never visited, however
// many there are, and ORDER BY names it so that no other index gives the order. Those of a lane that were never refused
// come in the order of writing.
const sqlOutboxLease = `/* sqlOutboxLease */
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
        WHERE lane = t.lane AND published_at IS NULL AND due_at <= now()
            AND (leased_until IS NULL OR leased_until < now())
        ORDER BY lane, due_at, id
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ) o
    LIMIT $3
), fitting AS (
    SELECT id, turn
    FROM (SELECT id, turn, size, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM due) d
    WHERE total - size < $4
)
UPDATE outbox o SET lease_token = $5, leased_until = now() + $6::interval
FROM fitting f WHERE o.id = f.id
RETURNING o.id, o.message_id, o.lane, o.exchange, o.routing_key, o.type, o.body, o.created_at, o.publish_as, o.headers,
    o.traceparent, o.tracestate, f.turn`

// Lease claims up to max due messages, at most perLane of each lane, starting with the lane after cursor, for ttl by
// the clock of Postgres: those of two relays may differ by more than that. The message with which their bodies reach
// maxBytes is the last one: at least one is claimed, whatever its size. No two callers ever hold the same message; a
// lease that runs out makes its messages due again. The slice is in the lanes' turns, the cursor for the next call
// being its last lane, and then in the order of writing.
func (o *Outbox) Lease(ctx context.Context, token uuid.UUID, cursor string, perLane, max, maxBytes int,
	ttl time.Duration) ([]Message, error) {
	type leased struct {
		Message
		Turn int64
	}
	got, err := Rows(ctx, o.pool, pgx.RowToStructByPos[leased], sqlOutboxLease, cursor, perLane, max, maxBytes, token, ttl)
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

const sqlOutboxExtend = `/* sqlOutboxExtend */
UPDATE outbox SET leased_until = now() + $3::interval
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// Extend keeps leased messages for another ttl from now, for a relay that must wait for the broker. It returns how many
// of them this token still held.
func (o *Outbox) Extend(ctx context.Context, token uuid.UUID, ids []int64, ttl time.Duration) (int64, error) {
	tag, err := o.pool.Exec(ctx, sqlOutboxExtend, ids, token, ttl)
	return tag.RowsAffected(), fault.Wrap(err, "keep %d leased messages", len(ids))
}

// A row is kept for its message ID, which a repeated change must not write again; its body is with the broker. No page
// of a crawl is told of twice, for a result counts once, so these rows, which are the large ones, are not kept at all.
const sqlOutboxPublished = `/* sqlOutboxPublished */
WITH gone AS (
    DELETE FROM outbox
    WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL AND lane = ` + SQLCrawlLane + ` RETURNING id
), kept AS (
    UPDATE outbox SET published_at = $3, lease_token = NULL, leased_until = NULL, body = ''
    WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL AND lane <> ` + SQLCrawlLane + ` RETURNING id
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM kept)`

// Published marks messages that the broker has confirmed: of most the row stays without its body until Purge, and those
// of crawled pages are deleted. It returns how many of them this token still held: fewer than asked means that a lease
// ran out and another relay may send the same message IDs again.
func (o *Outbox) Published(ctx context.Context, token uuid.UUID, ids []int64, now time.Time) (held int64, err error) {
	err = o.pool.QueryRow(ctx, sqlOutboxPublished, ids, token, now).Scan(&held)
	return held, fault.Wrap(err, "mark %d messages published", len(ids))
}

const sqlOutboxRelease = `/* sqlOutboxRelease */
UPDATE outbox SET lease_token = NULL, leased_until = NULL, last_error = $3
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// Release ends the leases of messages of which it is not known whether the broker has them: they may be leased again at
// once.
func (o *Outbox) Release(ctx context.Context, token uuid.UUID, ids []int64, reason string) error {
	_, err := o.pool.Exec(ctx, sqlOutboxRelease, ids, token, Storable(reason))
	return fault.Wrap(err, "release %d messages", len(ids))
}

// How long a message waits at least and at most that the broker left without an answer.
const (
	silentLeast = 30 * time.Second
	silentMost  = 10 * time.Minute
)

const sqlOutboxPutOff = `/* sqlOutboxPutOff */
UPDATE outbox SET lease_token = NULL, leased_until = NULL, last_error = $3,
    due_at = CASE WHEN $6 OR last_error = $3
        THEN now() + least(greatest(greatest(due_at, created_at) - created_at, $4::interval), $5::interval)
        ELSE due_at END
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL`

// PutOff ends the leases of messages that the broker left without an answer, as it does where one of their queues has
// lost its majority: each try reaches the others again, and holds up what is in the same batch. They are due again
// after half a minute, and then after about as long as they had waited before, up to ten minutes. Unless others of
// their batch had an answer, it may be the whole broker that is away: they are due at once, the first time.
func (o *Outbox) PutOff(ctx context.Context, token uuid.UUID, ids []int64, reason string, others bool) error {
	_, err := o.pool.Exec(ctx, sqlOutboxPutOff, ids, token, Storable(reason), silentLeast, silentMost, others)
	return fault.Wrap(err, "put off %d messages", len(ids))
}

// A Refusal is a message that the broker returned or refused, and why.
type Refusal struct {
	ID     int64
	Reason string
}

const sqlOutboxRefuse = `/* sqlOutboxRefuse */
UPDATE outbox o SET lease_token = NULL, leased_until = NULL, last_error = r.reason, refusals = refusals + 1,
    due_at = now() + ($4::interval[])[least(refusals + 1, cardinality($4))]
FROM unnest($1::bigint[], $2::text[]) AS r(id, reason)
WHERE o.id = r.id AND o.lease_token = $3 AND o.published_at IS NULL`

const sqlOutboxGiveUp = `/* sqlOutboxGiveUp */
DELETE FROM outbox
WHERE id = ANY($1) AND lease_token = $2 AND published_at IS NULL AND $3 > 0 AND refusals + 1 >= $3
RETURNING id, message_id, lane, exchange, routing_key, type, body, created_at, publish_as, headers, traceparent,
    tracestate`

// Refuse ends the leases of messages that the broker returned or refused: they are not due again for as long as
// fault.RefusalWaits says. A message that is refused for the most-th time (0: there is no such time) leaves the outbox
// in the same transaction and is a dead letter of the queue "outbox" and of class blocked, whose replay is published
// to the same exchange and key. The replay of a dead letter opens that letter again. Refuse returns the IDs of those
// it gave up; a lease that ran out changes nothing.
func (o *Outbox) Refuse(ctx context.Context, token uuid.UUID, refusals []Refusal, most int, now time.Time) (
	givenUp []int64, err error,
) {
	ids, reasons, why := make([]int64, len(refusals)), make([]string, len(refusals)), map[int64]string{}
	for i, r := range refusals {
		ids[i], reasons[i] = r.ID, Storable(r.Reason)
		why[r.ID] = r.Reason
	}
	err = Tx(ctx, o.pool, func(tx pgx.Tx) error {
		lost, err := Rows(ctx, tx, pgx.RowToStructByPos[Message], sqlOutboxGiveUp, ids, token, most)
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlOutboxRefuse, ids, reasons, token, fault.RefusalWaits)
		givenUp = givenUp[:0]
		for _, m := range lost {
			letter := unpublished(m, fmt.Sprintf("refused by the broker %d times: %s", most, why[m.ID]), now)
			DeadLetterAdd(b, letter)
			givenUp = append(givenUp, m.ID)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	return givenUp, fault.Wrap(err, "put off %d refused messages", len(ids))
}

// outboxQueue is the queue of dead letters that could not be published.
const outboxQueue = "outbox"

// unpublished is the dead letter of a message that was given up. One for the default exchange has its key as its queue;
// an event of a tenant is that tenant's.
func unpublished(m Message, reason string, now time.Time) DeadLetter {
	out := DeadLetter{
		Key:       "outbox/" + m.MessageID.String(),
		Route:     contract.Route{Exchange: m.Exchange, RoutingKey: m.RoutingKey, Queue: outboxQueue},
		MessageID: cmp.Or(m.PublishAs, m.MessageID.String()), Headers: m.Headers, Body: m.Body, Reason: reason,
		Class: string(fault.Blocked), At: now,
	}
	switch m.Exchange {
	case "":
		out.Queue = m.RoutingKey
	case contract.ExchangeListingEvents:
		var e contract.Event
		if json.Unmarshal(m.Body, &e) == nil {
			out.Tenant = e.Tenant
		}
	}
	out.Letter, _ = strconv.ParseInt(m.Headers[contract.DeadLetterHeader], 10, 64) // 0 when it is no replay
	return out
}

const sqlOutboxPurge = `/* sqlOutboxPurge */
DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE published_at < $1 ORDER BY published_at LIMIT $2 FOR UPDATE SKIP LOCKED
)`

// Purge deletes up to max messages published before t and returns how many it deleted.
func (o *Outbox) Purge(ctx context.Context, t time.Time, max int) (int64, error) {
	tag, err := o.pool.Exec(ctx, sqlOutboxPurge, t, max)
	return tag.RowsAffected(), fault.Wrap(err, "purge outbox")
}

// WakeEvery is the least time between two wake-ups of relays by one store. A relay that was woken looks for messages
// for at least as long, so that none of those written meanwhile waits for its poll.
const WakeEvery = 25 * time.Millisecond

// A Waker tells relays that something was added to the outbox.
type Waker struct {
	pool   *pgxpool.Pool
	limit  *rate.Limiter
	within time.Duration // wakeTimeout
}

// NewWaker returns a waker of the relays of the outbox in pool.
func NewWaker(pool *pgxpool.Pool) Waker {
	return Waker{pool, rate.NewLimiter(rate.Every(WakeEvery), 1), wakeTimeout}
}

// Limit sets how often relays are woken at most, and for how long that is tried.
func (w *Waker) Limit(every, within time.Duration) {
	w.limit, w.within = rate.NewLimiter(rate.Every(every), 1), within
}

// A NOTIFY in the transactions that write messages would make their commits take turns: Postgres holds a lock of the
// whole cluster from there until the commit is on disk. This transaction does not wait for the disk.
const sqlOutboxWake = `/* sqlOutboxWake */
SELECT set_config('synchronous_commit', 'off', true), pg_notify('outbox', '')`

// Wake is called after the commit of a message, and heeds no cancellation of ctx. Its failure costs only time, for
// relays poll.
func (w Waker) Wake(ctx context.Context) {
	if !w.limit.Allow() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.within)
	defer cancel()
	_, _ = w.pool.Exec(ctx, sqlOutboxWake)
}

// wakeTimeout is how long a writer waits at most, for a connection of its pool mostly. By then relays have polled.
const wakeTimeout = 250 * time.Millisecond

// Wait sends to added, without waiting for the receiver, whenever a writer says that something was added to the
// outbox. It opens a connection of its own, beside the pool, and returns when that breaks or ctx ends, always with an
// error.
func (o *Outbox) Wait(ctx context.Context, added chan<- struct{}) error {
	conf := o.listen
	if conf == nil {
		conf = o.pool.Config()
	}
	one := conf.ConnConfig.Copy()
	if conf.BeforeConnect != nil {
		if err := conf.BeforeConnect(ctx, one); err != nil {
			return fmt.Errorf("listen to outbox: %w", err)
		}
	}
	// It waits, so there is nothing to cancel.
	one.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	conn, err := pgx.ConnectConfig(ctx, one)
	if err != nil {
		return fmt.Errorf("listen to outbox: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN outbox"); err != nil {
		return fmt.Errorf("listen to outbox: %w", err)
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("listen to outbox: %w", err)
		}
		select {
		case added <- struct{}{}:
		default: // one wake-up is enough
		}
	}
}

// OutboxEvent puts data about a platform's advert into an envelope.
func OutboxEvent(name, platform string, id uuid.UUID, data any, now time.Time) (Message, error) {
	return OutboxEnvelope(contract.Event{
		EventID: id.String(), EventName: name, TS: now.UTC(), Platform: platform,
	}, id, platform, data)
}

// SQLTenantLane begins the name of a tenant's lane in the outbox: a tenant may be called as another lane is.
const SQLTenantLane = `'tenant/'`

// TenantEvent puts data about something of a tenant into an envelope. Each tenant has a lane.
func TenantEvent(name, tenant string, id uuid.UUID, data any, now time.Time) (Message, error) {
	return OutboxEnvelope(contract.Event{
		EventID: id.String(), EventName: name, TS: now.UTC(), Tenant: tenant,
	}, id, strings.Trim(SQLTenantLane, "'")+tenant, data)
}

// OutboxEnvelope completes an event with its data and addresses it to the events' exchange, never to that of the work
// queues, where it would be consumed as work.
func OutboxEnvelope(e contract.Event, id uuid.UUID, lane string, data any) (Message, error) {
	var err error
	if e.Data, err = JSON(data); err != nil {
		return Message{}, fmt.Errorf("write event %s: %w", e.EventName, err)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return Message{}, fmt.Errorf("write event %s: %w", e.EventName, err)
	}
	return Message{
		MessageID: id, Lane: lane, Exchange: contract.ExchangeListingEvents, RoutingKey: e.EventName, Body: body,
		CreatedAt: e.TS,
	}, nil
}

// SQLCrawlLane is the outbox's lane of crawled pages, which are deleted as soon as they are published.
const SQLCrawlLane = `'crawl'`
