package outreach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Messages are the messages of all tenants, and the queue of those that are to be sent: a worker claims some whose
// requests it writes at once (Claim), and stores what became of them (Record). What it cannot send it gives back
// (Release), and what a dead worker held becomes unknown (Expire). Leases and waits go by the clock of Postgres. A
// message of another tenant is fault.Gone, as one that does not exist is.
type Messages struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
	key   *OptOutKey
}

// NewMessages returns the messages kept in pool. Opt-outs that are hashed by key are found, too.
func NewMessages(pool *pgxpool.Pool, key *OptOutKey) *Messages {
	return &Messages{pool: pool, added: db.NewWaker(pool), key: key}
}

// A NewMessage is a transactional message.
type NewMessage struct {
	ID        uuid.UUID // campaign.TransactionalID where the caller has an idempotency key; else one made anew
	Sender    uuid.UUID
	Recipient string // E.164
	Body      campaign.Body
}

// A MessageRow is a message as it is stored.
type MessageRow struct {
	ID          uuid.UUID
	Campaign    *uuid.UUID // nil: it is transactional
	Contact     *int64
	Sender      uuid.UUID
	Kind        string
	State       campaign.Status
	Recipient   string
	Body        campaign.Body // zero in lists
	Attempts    int
	Class       campaign.Class // of the last error, or why it was skipped
	Code        int            // of the last error, Meta's; 0 = none
	Error       string
	DueAt       time.Time // while it is queued: not sent before
	QueuedAt    time.Time
	SentAt      *time.Time
	DeliveredAt *time.Time
	ReadAt      *time.Time
	FailedAt    *time.Time
}

const sqlMessageColumns = `id, campaign, contact, sender, kind, state, recipient, attempts, class, coalesce(code, 0),
    error, due_at, queued_at, sent_at, delivered_at, read_at, failed_at`

func scanMessage(row pgx.CollectableRow) (m MessageRow, err error) {
	return m, row.Scan(&m.ID, &m.Campaign, &m.Contact, &m.Sender, &m.Kind, &m.State, &m.Recipient, &m.Attempts, &m.Class,
		&m.Code, &m.Error, &m.DueAt, &m.QueuedAt, &m.SentAt, &m.DeliveredAt, &m.ReadAt, &m.FailedAt)
}

// A tenant that has a quota has its count locked, so that no two messages are the last one. The day is that of
// Postgres' clock, as in Claim: two clocks around midnight would begin the count anew each time.
const sqlMessageDay = `/* sqlMessageDay */
INSERT INTO message_days AS d (tenant, day, n)
SELECT id, (now() AT TIME ZONE 'UTC')::date, 0 FROM tenants WHERE id = $1 AND max_messages_day IS NOT NULL
ON CONFLICT (tenant) DO UPDATE SET day = excluded.day, n = CASE d.day WHEN excluded.day THEN d.n ELSE 0 END`

const sqlMessageRoomLeft = `/* sqlMessageRoomLeft */
SELECT d.n < t.max_messages_day FROM tenants t JOIN message_days d ON d.tenant = t.id
WHERE t.id = $1 AND t.max_messages_day IS NOT NULL`

const sqlMessagePut = `/* sqlMessagePut */
WITH added AS (
INSERT INTO messages (id, tenant, sender, kind, state, class, recipient, digest, email_digest, body, due_at, queued_at)
SELECT $2, $1, s.id, 'transactional', CASE WHEN o.opted THEN 'skipped' ELSE 'queued' END,
    CASE WHEN o.opted THEN $7 ELSE '' END, $4, $5, p.email_digest, $6, now(), $8
FROM senders s
CROSS JOIN LATERAL (
    SELECT coalesce((SELECT c.email_digest FROM contacts c WHERE c.tenant = $1 AND c.key = $9), '') AS email_digest) p
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM opt_outs WHERE tenant = $1 AND digest = ANY (ARRAY[$5, p.email_digest,
        opt_out_keyed($5, $10, $11), opt_out_keyed(p.email_digest, $10, $11)])) AS opted) o
WHERE s.tenant = $1 AND s.id = $3 AND (o.opted OR NOT EXISTS (
    SELECT FROM tenants t JOIN message_days d ON d.tenant = t.id WHERE t.id = $1 AND d.n >= t.max_messages_day))
ON CONFLICT (id) DO NOTHING RETURNING state
)
UPDATE message_days SET n = n + 1 WHERE tenant = $1 AND EXISTS (SELECT FROM added WHERE state = 'queued')
    AND EXISTS (SELECT FROM tenants WHERE id = $1 AND max_messages_day IS NOT NULL)`

const sqlMessageSame = `/* sqlMessageSame */
SELECT ` + sqlMessageColumns + `, sender = $3 AND recipient = $4 AND body = $5::jsonb FROM messages
WHERE tenant = $1 AND id = $2`

// Put queues a transactional message and returns it: skipped where its recipient has opted out. A repeated call with
// the same ID is the same message, which may have been sent meanwhile; one with another sender, recipient or body is
// fault.Conflict. One beyond the tenant's MaxMessagesDay is fault.Limited until the next day, UTC. A sender that
// the tenant does not have and a body that Meta would not take are fault.Invalid.
func (s *Messages) Put(ctx context.Context, tenant string, m NewMessage, now time.Time) (row MessageRow, err error) {
	if err := m.Body.Check(false); err != nil {
		return row, err
	}
	pads, err := s.key.pads(ctx)
	if err != nil {
		return row, err
	}
	key := contact.Key(m.Recipient, "")
	digest := contact.Digest(tenant, key)
	same, recipient := false, db.Storable(m.Recipient)
	b := new(pgx.Batch)
	room := true
	b.Queue(sqlMessageDay, tenant)
	b.Queue(sqlMessageRoomLeft, tenant).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&room}, func() error { return nil })
		return err
	})
	b.Queue(sqlMessagePut, tenant, m.ID, m.Sender, recipient, digest[:], m.Body, campaign.ClassOptedOut, now,
		db.Storable(key), pads.Inner, pads.Outer)
	b.Queue(sqlMessageSame, tenant, m.ID, m.Sender, recipient, m.Body).Query(func(rows pgx.Rows) error {
		row, err = pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) (MessageRow, error) {
			return scanMessage(andScan{r, []any{&same}})
		})
		return err
	})
	err = db.TenantWrite(ctx, s.pool, tenant, b)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && !room:
		next := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		return row, &fault.Error{Class: fault.Limited, After: next.Sub(now), Err: fmt.Errorf(
			"max_messages_day: the messages of this day are used up; the next ones may be sent from %s on", next.Format(time.RFC3339))}
	case errors.Is(err, pgx.ErrNoRows):
		return row, fault.Newf(fault.Invalid, "sender: there is no sender %s", m.Sender)
	case err != nil:
		return row, fmt.Errorf("queue message: %w", err)
	case !same:
		return MessageRow{}, fault.Newf(fault.Conflict,
			"message %s was queued before with another sender, recipient or body", m.ID)
	}
	return row, nil
}

const sqlMessageGet = `/* sqlMessageGet */
SELECT ` + sqlMessageColumns + `, body FROM messages WHERE tenant = $1 AND id = $2`

const sqlMessageAttempts = `/* sqlMessageAttempts */
SELECT n, at, took_ms, outcome, class, coalesce(http_status, 0), coalesce(code, 0), error
FROM message_attempts WHERE tenant = $1 AND message = $2 ORDER BY n`

// An Attempt is one request to send a message.
type Attempt struct {
	N       int // from 1
	At      time.Time
	TookMS  int
	Outcome campaign.Outcome
	Class   campaign.Class
	Status  int // of HTTP; 0 = no answer
	Code    int // Meta's; 0 = none
	Error   string
}

// Get returns a message with its attempts, the first one first. The times of its states are in the message.
func (s *Messages) Get(ctx context.Context, tenant string, id uuid.UUID) (m MessageRow, attempts []Attempt, err error) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		m, err = db.Row(ctx, tx, func(r pgx.CollectableRow) (m MessageRow, err error) {
			var body campaign.Body
			m, err = scanMessage(andScan{r, []any{&body}})
			m.Body = body
			return m, err
		}, sqlMessageGet, tenant, id)
		if err != nil {
			return err
		}
		attempts, err = db.Rows(ctx, tx, pgx.RowToStructByPos[Attempt], sqlMessageAttempts, tenant, id)
		return err
	})
	return m, attempts, db.Gone(fault.Wrap(err, "read message"), "there is no message %s", id)
}

// A MessagePosition is a message's place among those of a campaign.
type MessagePosition struct {
	State campaign.Status
	ID    uuid.UUID
}

// A filter of classes or codes looks at the 10,000 messages after the position, of the states that are asked for: one
// that few of them pass would read all there are. The last of them is among the rows whether it passes or not, for the
// list goes on after it.
const (
	sqlMessagesOfCampaign = `/* sqlMessagesOfCampaign */
SELECT ` + sqlMessageColumns + `, true, false FROM ` + sqlMessagesOfCampaignAfter + ` LIMIT $6`

	sqlMessagesOfCampaignSome = `/* sqlMessagesOfCampaignSome */
SELECT ` + sqlMessageColumns + `, passes, place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY state, id) AS place,
        ($7::text[] IS NULL OR class = ANY ($7))
        AND ($8::text[] IS NULL OR coalesce(code, 0) = ANY ($8::int[])) AS passes
    FROM ` + sqlMessagesOfCampaignAfter + ` LIMIT 10000
) next
WHERE passes OR place = 10000 ORDER BY state, id LIMIT $6`

	sqlMessagesOfCampaignAfter = `messages
WHERE tenant = $1 AND campaign = $2
    AND CASE WHEN $3::text[] IS NULL THEN true WHEN cardinality($3) = 1 THEN state = $3[1] ELSE state = ANY ($3) END
    AND ($5::uuid IS NULL OR (state, id) > ($4::text, $5::uuid))
ORDER BY state, id`
)

// A MessageFilter says which messages to return: any of the values of a field, and all for none.
type MessageFilter struct {
	State []campaign.Status
	Class []campaign.Class // of the last error
	Code  []string         // numbers, of the last error; 0 = those without one
}

// OfCampaign returns up to n messages of a campaign after a position, without their bodies, and the position to go on
// from: nil when these were the last. They are in the order of their states' names. Classes and codes are asked of the
// next 10,000 only, as in List.
func (s *Messages) OfCampaign(ctx context.Context, tenant string, id uuid.UUID, f MessageFilter,
	after *MessagePosition, n int) ([]MessageRow, *MessagePosition, error) {
	var last *uuid.UUID
	var lastState *string
	if after != nil {
		last, lastState = &after.ID, new(string(after.State))
	}
	text, args := sqlMessagesOfCampaign, []any{tenant, id, db.Among(f.State), lastState, last, n + 1}
	if len(f.Class)+len(f.Code) > 0 {
		text, args = sqlMessagesOfCampaignSome, append(args, db.Among(f.Class), db.Among(f.Code))
	}
	rows, err := db.TenantRows(ctx, s.pool, tenant, scanFiltered, text, args...)
	found, next := db.CutLooked(rows, n, func(m MessageRow) MessagePosition { return MessagePosition{m.State, m.ID} })
	return found, next, fault.Wrap(err, "list messages of campaign %s", id)
}

// A filter looks at the 10,000 messages after the position: one that few of them pass would read all there are of the
// tenant. The last of them is among the rows whether it passes or not, for the list goes on after it.
const (
	sqlMessagesDirect = `/* sqlMessagesDirect */
SELECT ` + sqlMessageColumns + `, true, false FROM ` + sqlMessagesDirectAfter + ` LIMIT $4`

	sqlMessagesDirectSome = `/* sqlMessagesDirectSome */
SELECT ` + sqlMessageColumns + `, passes, place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY queued_at DESC, id DESC) AS place,
        ($5::text[] IS NULL OR state = ANY ($5)) AND ($6::text[] IS NULL OR class = ANY ($6))
        AND ($7::text[] IS NULL OR coalesce(code, 0) = ANY ($7::int[])) AS passes
    FROM ` + sqlMessagesDirectAfter + ` LIMIT 10000
) newest
WHERE passes OR place = 10000 ORDER BY queued_at DESC, id DESC LIMIT $4`

	sqlMessagesDirectAfter = `messages
WHERE tenant = $1 AND campaign IS NULL AND ($3::uuid IS NULL OR (queued_at, id) < ($2::timestamptz, $3::uuid))
ORDER BY queued_at DESC, id DESC`
)

func scanFiltered(row pgx.CollectableRow) (r db.Looked[MessageRow], err error) {
	r.Row, err = scanMessage(andScan{row, []any{&r.Passes, &r.Last}})
	return r, err
}

// List returns up to n messages of a tenant that are of no campaign after a position, without their bodies, the newest
// first, and the position to go on from: nil when these were the last. A filter is asked of the next 10,000 only: where
// fewer than n of them pass, the position is that of the last of them.
func (s *Messages) List(ctx context.Context, tenant string, f MessageFilter, after *db.Position, n int) (
	[]MessageRow, *db.Position, error,
) {
	id, at := after.Keys()
	text, args := sqlMessagesDirect, []any{tenant, at, id, n + 1}
	if len(f.State)+len(f.Class)+len(f.Code) > 0 {
		text, args = sqlMessagesDirectSome, append(args, db.Among(f.State), db.Among(f.Class), db.Among(f.Code))
	}
	rows, err := db.TenantRows(ctx, s.pool, tenant, scanFiltered, text, args...)
	found, next := db.CutLooked(rows, n, func(m MessageRow) db.Position { return db.Position{At: m.QueuedAt, ID: m.ID} })
	return found, next, fault.Wrap(err, "list messages")
}
