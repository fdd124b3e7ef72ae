package outreach

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Webhooks are the deliveries of Meta's webhooks. Each is stored before it is answered, and applied to the messages
// that it reports on once.
type Webhooks struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
	key   *OptOutKey
}

// NewWebhooks returns the deliveries kept in pool. Opt-outs that are hashed by key are found, too.
func NewWebhooks(pool *pgxpool.Pool, key *OptOutKey) *Webhooks {
	return &Webhooks{pool: pool, added: db.NewWaker(pool), key: key}
}

const sqlWebhookStore = `/* sqlWebhookStore */
INSERT INTO webhook_events (digest, received_at, statuses, messages, body) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (digest) DO NOTHING`

const sqlWebhookStored = `/* sqlWebhookStored */ SELECT id FROM webhook_events WHERE digest = $1`

// Store keeps the body of a delivery with the numbers of statuses and of messages in it. A body that is stored already
// is the same delivery again: its ID is returned, and nothing changes.
func (s *Webhooks) Store(ctx context.Context, body []byte, statuses, messages int, now time.Time) (
	id int64, err error,
) {
	digest := sha256.Sum256(body)
	b := new(pgx.Batch)
	b.Queue(sqlWebhookStore, digest[:], now, statuses, messages, body)
	b.Queue(sqlWebhookStored, digest[:]).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	err = db.SystemWrite(ctx, s.pool, b)
	return id, fault.Wrap(err, "store webhook")
}

// A WebhookEvent is a stored delivery.
type WebhookEvent struct {
	ID         int64
	ReceivedAt time.Time
	Body       []byte
}

const sqlWebhookWaiting = `/* sqlWebhookWaiting */
SELECT id, received_at, body FROM webhook_events WHERE applied_at IS NULL AND id > $1 ORDER BY id LIMIT $2`

// Waiting returns up to n deliveries after one that were not applied, the oldest first.
func (s *Webhooks) Waiting(ctx context.Context, after int64, n int) ([]WebhookEvent, error) {
	events, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[WebhookEvent], sqlWebhookWaiting, after, n)
	return events, fault.Wrap(err, "read webhooks")
}

const sqlWebhookBacklog = `/* sqlWebhookBacklog */
SELECT count(*), coalesce(extract(epoch FROM greatest($2 - min(received_at), '0')), 0)::float8 FROM (
    SELECT received_at FROM webhook_events WHERE applied_at IS NULL ORDER BY id LIMIT $1) w`

// Backlog counts the deliveries that were not applied, up to most, and says how many seconds ago the oldest came.
func (s *Webhooks) Backlog(ctx context.Context, most int, now time.Time) (waiting int64, oldest float64, err error) {
	type backlog struct {
		N      int64
		Oldest float64
	}
	w, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[backlog], sqlWebhookBacklog, most, now))
	return w.N, w.Oldest, fault.Wrap(err, "count webhooks")
}

const sqlWebhookTake = `/* sqlWebhookTake */
UPDATE webhook_events SET applied_at = $2, error = $3, body = CASE $3 WHEN '' THEN '' ELSE body END
WHERE id = $1 AND applied_at IS NULL`

// Fail marks a delivery that cannot be read as done, with the reason. Its body is kept.
func (s *Webhooks) Fail(ctx context.Context, id int64, reason string, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlWebhookTake, id, now, db.Storable(reason))
	return fault.Wrap(db.SystemWrite(ctx, s.pool, b), "mark webhook %d", id)
}

// A report finds its message by Meta's ID, or by ours. Ours names a message and not a request: what Meta says of an
// earlier request of it, which is known, is not taken for the one that is under way. Any sender may write it into a
// request, so the report counts only where it is about the message's own sender. Messages of the tenant of a sender $3
// to those whom WhatsApp called $4 are found, too.
const sqlReportFind = `/* sqlReportFind */
SELECT m.id, m.tenant, coalesce(m.campaign, '00000000-0000-0000-0000-000000000000'), m.state, m.attempts,
    m.lease_until IS NOT NULL, coalesce(m.wamid, ''), m.sent_at, m.delivered_at, m.read_at, m.failed_at,
    ARRAY(SELECT a.wamid FROM message_attempts a WHERE a.message = m.id AND a.wamid IS NOT NULL),
    coalesce((SELECT s.phone_number_id FROM senders s WHERE s.id = m.sender), ''), m.recipient, m.digest,
    coalesce(m.wa_user, ''), coalesce(m.wa_user_was, '')
FROM messages m
WHERE m.id = ANY ($2::uuid[] || ARRAY(SELECT id FROM messages WHERE wamid = ANY ($1))
    || ARRAY(SELECT t.id FROM unnest($3::text[], $4::text[]) AS c(number, was)
        JOIN senders s ON s.phone_number_id = c.number JOIN messages t ON t.wa_user = c.was AND t.tenant = s.tenant))
ORDER BY m.id FOR UPDATE OF m`

// A subject is a message that reports are about.
type subject struct {
	id, of    uuid.UUID // of: its campaign
	tenant    string
	was, now  campaign.Status
	attempts  int
	leased    bool // a request is under way, which attempts does not count yet
	wamid     string
	sent      *time.Time
	delivered *time.Time
	read      *time.Time
	failed    *time.Time
	earlier   []string // wamids of its requests
	number    string   // Meta's ID of its sender
	recipient string   // empty: it was forgotten, with wamids, which have its number in them
	digest    []byte   // of its recipient; empty where there is none any more
	user      string   // what WhatsApp calls the recipient, with sqlMoved
	had       []string // user IDs that it had before, the latest last
	lost      int      // of had, those that it has lost since it was read

	verdict campaign.Verdict // of its failure
	text    string
	changed bool
}

func scanSubject(row pgx.CollectableRow) (s subject, err error) {
	var had string
	err = row.Scan(&s.id, &s.tenant, &s.of, &s.was, &s.attempts, &s.leased, &s.wamid, &s.sent, &s.delivered, &s.read,
		&s.failed, &s.earlier, &s.number, &s.recipient, &s.digest, &s.user, &had)
	s.now, s.had = s.was, strings.Fields(had)
	return s, err
}

// is says whether r is about the last request of s.
func (s *subject) is(r campaign.Report) bool {
	if s.wamid != "" {
		return s.wamid == r.WAMID
	}
	return s.id == r.Message && !slices.Contains(s.earlier, r.WAMID)
}

// hear applies r to s and reports whether its state has changed. The time of a state that is reported late counts too.
func (s *subject) hear(r campaign.Report) (changed bool) {
	if s.was == campaign.MessageSkipped {
		return false
	}
	at := map[campaign.Status]**time.Time{
		campaign.MessageSent: &s.sent, campaign.MessageDelivered: &s.delivered, campaign.MessageRead: &s.read,
		campaign.MessageFailed: &s.failed,
	}[r.Status]
	if at == nil {
		return false
	}
	if *at == nil {
		*at, s.changed = &r.At, true
	}
	if s.wamid == "" && s.recipient != "" {
		s.wamid, s.changed = r.WAMID, true
	}
	if r.User != "" && s.user != r.User && s.recipient != "" && !strings.HasPrefix(s.user, sqlMoved) {
		s.call(r.User)
	}
	next := s.now.Apply(r.Status)
	if next == s.now {
		return false
	}
	s.now, s.changed = next, true
	if next == campaign.MessageFailed {
		s.verdict, s.text = r.Verdict, db.Storable(said(r.Error, r.Verdict.Means))
	}
	return true
}

// before are the user IDs that it had, as they are stored: the latest of them, as long as a row of an index may be.
func (s *subject) before() string {
	const most = 2000 // bytes
	had := strings.Join(s.had, " ")
	for len(had) > most {
		_, had, _ = strings.Cut(had, " ")
	}
	return had
}

// call notes that WhatsApp calls the recipient user by now.
func (s *subject) call(user string) {
	if s.user != "" {
		s.had, s.lost = append(s.had, strings.TrimPrefix(s.user, sqlMoved)), s.lost+1
		user = sqlMoved + user
	}
	s.user, s.changed = user, true
}

// n is the number of the request that s is about.
func (s *subject) n() int {
	if s.leased {
		return s.attempts + 1
	}
	return s.attempts
}

// Who opts out by a report is stored with those who write it, in turn.
const sqlReportApply = `/* sqlReportApply */
WITH heard AS (
    SELECT * FROM unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[],
        $10::timestamptz[], $11::timestamptz[], $12::text[], $13::int[], $14::text[], $15::interval[], $16::bool[],
        $17::text[], $18::text[], $19::text[], $20::text[])
        AS r(id, was, now, wamid, sent_at, delivered_at, read_at, failed_at, class, code, error, pause, hold_all,
            means, outcome, wa_user, wa_user_was)
), done AS (
    UPDATE messages m SET state = r.now, wamid = nullif(r.wamid, ''),
        wa_user = nullif(r.wa_user, ''), wa_user_was = coalesce(nullif(r.wa_user_was, ''), m.wa_user_was),
        sent_at = r.sent_at, delivered_at = r.delivered_at, read_at = r.read_at, failed_at = r.failed_at,
        class = CASE WHEN r.now = r.was THEN m.class ELSE r.class END,
        code = CASE WHEN r.now = r.was THEN m.code ELSE nullif(r.code, 0) END,
        error = CASE WHEN r.now = r.was THEN m.error ELSE r.error END
    FROM heard r WHERE m.id = ANY ($4) AND m.id = r.id
    RETURNING m.tenant, m.campaign, m.sender, m.digest, ARRAY[m.digest] AS digests,
        r.was, r.now, r.pause, NULL::int AS holds, r.hold_all, false AS opts_out,
        r.failed_at AS said_at, r.means, r.outcome, NULL::bytea AS event, NULL::uuid AS event_id
), ` + sqlMessageEffects + `
SELECT count(*), $1::text, $2::text FROM done`

// An Applied says what a delivery has changed.
type Applied struct {
	Again   bool // it was applied before: this was nothing
	Found   int  // reports on messages of ours
	Changed int  // messages that came to another state
	Opted   int  // requests for no more messages
	Unknown int  // those, and requests for more, of people whom nothing tells as yet
}

const (
	// What people write goes before statuses, however many wait: some of it stops messages that are about to be sent. Two
	// appliers never wait for each other.
	sqlWebhookNext = `/* sqlWebhookNext */
SELECT id, statuses + messages FROM webhook_events WHERE applied_at IS NULL
ORDER BY messages = 0, id LIMIT $1 FOR UPDATE SKIP LOCKED`

	sqlWebhookBodies = `/* sqlWebhookBodies */
SELECT id, received_at, body FROM webhook_events WHERE id = ANY ($1) ORDER BY id`

	sqlWebhookTakeAll = `/* sqlWebhookTakeAll */
UPDATE webhook_events w SET applied_at = $2, error = t.error, body = CASE t.error WHEN '' THEN '' ELSE w.body END
FROM unnest($1::bigint[], $3::text[]) AS t(id, error) WHERE w.id = t.id`
)

// maxNext is how many deliveries one transaction applies at most.
const maxNext = 200

// A Batch says what deliveries have changed.
type Batch struct {
	Applied
	Received   []time.Time // when each of the deliveries came; empty: none waited
	Unreadable int         // of them, wholly or in part: they are marked, and their bodies are kept
	Reports    int         // that they had
}

// ApplyNext applies the oldest deliveries that wait, those with messages of people before others, some of them with up
// to most reports and messages together, or one with more: read says what is in each, and its error, that a delivery
// is unreadable but for that. All is in one transaction, so each is applied once, whatever else is applied meanwhile.
func (s *Webhooks) ApplyNext(ctx context.Context, most int, now time.Time,
	read func(WebhookEvent) ([]campaign.Report, []campaign.Inbound, error)) (out Batch, err error) {
	key, err := s.key.pads(ctx)
	if err != nil {
		return out, err
	}
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		out = Batch{}
		events, err := next(ctx, tx, most)
		if err != nil || len(events) == 0 {
			return err
		}
		var reports []campaign.Report
		var inbound []campaign.Inbound
		ids, reasons := make([]int64, len(events)), make([]string, len(events))
		for i, e := range events {
			ids[i], out.Received = e.ID, append(out.Received, e.ReceivedAt)
			r, m, err := read(e)
			if err != nil {
				reasons[i] = db.Storable(err.Error())
				out.Unreadable++
			}
			reports, inbound = append(reports, r...), append(inbound, m...)
		}
		out.Reports = len(reports)
		taken := new(pgx.Batch)
		taken.Queue(sqlMessagePlan)
		taken.Queue(sqlWebhookTakeAll, ids, now, reasons)
		return s.apply(ctx, tx, key, taken, reports, inbound, now, &out.Applied)
	})
	if err != nil {
		return Batch{}, fmt.Errorf("apply webhooks: %w", db.Refused(err))
	}
	if out.Changed > 0 {
		s.added.Wake(ctx)
	}
	return out, nil
}

// next locks the oldest deliveries that wait and are not locked, and returns those whose parts are most or fewer.
func next(ctx context.Context, tx pgx.Tx, most int) ([]WebhookEvent, error) {
	rows, _ := tx.Query(ctx, sqlWebhookNext, maxNext) // ForEachRow reports its error
	var ids []int64
	var id int64
	var parts, sum int
	if _, err := pgx.ForEachRow(rows, []any{&id, &parts}, func() error {
		if sum += parts; sum <= most || len(ids) == 0 {
			ids = append(ids, id)
		}
		return nil
	}); err != nil || len(ids) == 0 {
		return nil, err
	}
	return db.Rows(ctx, tx, pgx.RowToStructByPos[WebhookEvent], sqlWebhookBodies, ids)
}

// Apply is ApplyRead of a delivery of which everything was read.
func (s *Webhooks) Apply(ctx context.Context, id int64, reports []campaign.Report, inbound []campaign.Inbound,
	now time.Time) (out Applied, err error) {
	return s.ApplyRead(ctx, id, reports, inbound, nil, now)
}

// ApplyRead applies the reports of a delivery to their messages, forwards only, with the events message.status, and
// stores the opt-outs among the inbound messages; all in one transaction, once. Reports on messages that are not of
// this system are passed over. Where something else of the delivery is unread, it is marked, and its body is kept.
func (s *Webhooks) ApplyRead(ctx context.Context, id int64, reports []campaign.Report, inbound []campaign.Inbound,
	unread error, now time.Time) (out Applied, err error) {
	reason := ""
	if unread != nil {
		reason = db.Storable(unread.Error())
	}
	key, err := s.key.pads(ctx)
	if err != nil {
		return out, err
	}
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		out = Applied{}
		taken := new(pgx.Batch)
		taken.Queue(sqlMessagePlan)
		taken.Queue(sqlWebhookTake, id, now, reason).Exec(func(tag pgconn.CommandTag) error {
			out.Again = tag.RowsAffected() == 0
			return nil
		})
		return s.apply(ctx, tx, key, taken, reports, inbound, now, &out)
	})
	if err != nil {
		return Applied{}, fmt.Errorf("apply webhook %d: %w", id, db.Refused(err))
	}
	if out.Changed > 0 {
		s.added.Wake(ctx)
	}
	return out, nil
}

// apply sends what marks deliveries as applied, with the lock of the messages that their reports are about, and then
// what follows from them.
func (s *Webhooks) apply(ctx context.Context, tx pgx.Tx, key contact.Pads, taken *pgx.Batch,
	reports []campaign.Report, inbound []campaign.Inbound, now time.Time, out *Applied) error {
	var found []subject
	wamids, ids := []string{}, []uuid.UUID{}
	for _, r := range reports {
		wamids = append(wamids, r.WAMID)
		if r.Message != uuid.Nil {
			ids = append(ids, r.Message)
		}
	}
	numbers, before := []string{}, []string{}
	for _, m := range inbound {
		if m.WasUser != "" && m.User != "" {
			numbers = append(numbers, m.PhoneNumberID, m.PhoneNumberID)
			before = append(before, m.WasUser, sqlMoved+m.WasUser)
		}
	}
	told := tellUsers(reports, inbound)
	told.queueTurns(taken)
	taken.Queue(sqlReportFind, wamids, ids, numbers, before).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanSubject)
		return err
	})
	var known users
	told.queueKnown(taken, &known)
	if err := tx.SendBatch(ctx, taken).Close(); err != nil || out.Again {
		return err
	}
	b := new(pgx.Batch)
	db.RememberTrace(ctx, b)
	if err := hear(b, found, reports, known, now, out); err != nil {
		return err
	}
	// A report may bring the ID by which a message says what it answers.
	if b.Len() > 0 && len(inbound)+len(known.kept) > 0 {
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		b = new(pgx.Batch)
	}
	wishes, kept, err := asked(ctx, tx, inbound, found, known, out)
	if err != nil {
		return err
	}
	again, _, err := asked(ctx, tx, known.kept, found, known, new(Applied)) // they were counted, as known or as unknown
	if err != nil {
		return err
	}
	for i := range again {
		again[i].opted = &out.Opted
	}
	queueKept(b, kept)
	queueWishes(b, slices.Concat(wishes, again, refused(found)), key)
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, b).Close()
}

// hear queues into b what reports make of the messages that they are about, and what is known of their recipients.
func hear(b *pgx.Batch, found []subject, reports []campaign.Report, known users, now time.Time, out *Applied) error {
	byWAMID, byID := make(map[string]*subject, len(found)), make(map[uuid.UUID]*subject, len(found))
	for i := range found {
		m := &found[i]
		if byID[m.id] = m; m.wamid != "" {
			byWAMID[m.wamid] = m
		}
	}
	numbers := map[string]map[string]string{} // of WhatsApp, by tenants and keys of contacts
	for _, r := range reports {
		m := byWAMID[r.WAMID]
		if m == nil {
			if m = byID[r.Message]; m == nil || !m.is(r) {
				continue
			}
		}
		if m.number != r.PhoneNumberID {
			continue
		}
		out.Found++
		if campaign.Elsewhere(m.recipient, r.WaID) {
			if numbers[m.tenant] == nil {
				numbers[m.tenant] = map[string]string{}
			}
			numbers[m.tenant][contact.Key(m.recipient, "")] = r.WaID
		}
		changed := m.hear(r)
		if m.wamid != "" {
			byWAMID[m.wamid] = m
		}
		if !changed {
			continue
		}
		e, err := messageStatus(m.tenant, m.id, m.of, m.now, m.n(), r.At, now, reported{m.wamid, m.verdict, m.text})
		if err != nil {
			return err
		}
		db.OutboxAdd(b, e)
	}
	for _, tenant := range slices.Sorted(maps.Keys(numbers)) {
		keys := slices.Sorted(maps.Keys(numbers[tenant]))
		ids := make([]string, len(keys))
		for i, key := range keys {
			ids[i] = numbers[tenant][key]
		}
		b.Queue(sqlContactsWaID, tenant, keys, ids) // contacts that others have locked are skipped
	}
	for i := range found {
		known.follow(&found[i])
	}
	changed := slices.DeleteFunc(slices.Clone(found), func(s subject) bool { return !s.changed })
	for _, m := range changed {
		if m.now != m.was {
			out.Changed++
		}
	}
	if len(changed) > 0 {
		b.Queue(sqlReportApply, reportArgs(changed, now)...)
	}
	return nil
}

// reportArgs are the arguments of sqlReportApply: the messages by columns.
func reportArgs(list []subject, now time.Time) []any {
	slices.SortFunc(list, func(a, b subject) int { return bytes.Compare(a.id[:], b.id[:]) })
	n := len(list)
	var (
		ids             = make([]uuid.UUID, n)
		was, is, wamids = make([]string, n), make([]string, n), make([]string, n)
		classes, errors = make([]string, n), make([]string, n)
		means, outcomes = make([]string, n), make([]string, n)
		users, had      = make([]string, n), make([]string, n)
		sent, delivered = make([]*time.Time, n), make([]*time.Time, n)
		read, fails     = make([]*time.Time, n), make([]*time.Time, n)
		codes           = make([]int32, n)
		pauses          = make([]time.Duration, n)
		holdAll         = make([]bool, n)
	)
	for i, m := range list {
		ids[i], was[i], is[i], wamids[i] = m.id, string(m.was), string(m.now), db.Storable(m.wamid)
		users[i], had[i] = db.Storable(m.user), db.Storable(m.before())
		sent[i], delivered[i], read[i], fails[i] = m.sent, m.delivered, m.read, m.failed
		if m.now == m.was || m.now != campaign.MessageFailed {
			continue
		}
		r := campaign.Result{Verdict: m.verdict}
		classes[i], codes[i], errors[i] = string(m.verdict.Class), int32(m.verdict.Code), m.text
		pauses[i], holdAll[i] = r.Pause(), m.verdict.HoldsAll
		means[i], outcomes[i] = m.verdict.Means, string(m.verdict.Outcome)
	}
	return []any{contract.ExchangeListingEvents, contract.MessageStatus, now, ids, was, is, wamids, sent, delivered, read,
		fails, classes, codes, errors, pauses, holdAll, means, outcomes, users, had}
}
