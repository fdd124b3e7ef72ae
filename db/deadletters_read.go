package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// LetterStates are the states of a dead letter: open needs an operator's decision; replayed has not died since.
var LetterStates = []string{"open", "replayed", "resolved", "discarded"}

// A LetterFilter says which dead letters are meant. An empty string or slice and a zero time do not filter; of several
// values any will do.
type LetterFilter struct {
	State      []string // of LetterStates
	Queue      []string
	Class      []string // of fault
	Platform   []string // whose adverts, and images of adverts, they are
	Tenant     string   // whose they are
	OfNone     bool     // those of no tenant; Tenant does not count then
	Reason     string   // is contained in the reason, in capitals or not
	WorkflowID string
	Since      time.Time // the last death, inclusive
	Until      time.Time // the last death, inclusive
}

// args are $1 to $9 of sqlLetterFilter.
func (f LetterFilter) args() []any {
	var platforms []string // the queues of their adverts, and what the IDs of their workflows begin with
	for _, p := range f.Platform {
		platforms = append(platforms, contract.QueueScraped(p), listing.Ref{Platform: p}.WorkflowID())
	}
	tenant := Stated(f.Tenant)
	if f.OfNone {
		tenant = new("")
	}
	return []any{
		Among(f.State), Among(f.Queue), Among(f.Class), platforms, Stated(f.Reason), Stated(f.WorkflowID),
		Stated(f.Since), Stated(f.Until), tenant,
	}
}

const sqlLetterFilter = `CASE WHEN $1::text[] IS NULL THEN true WHEN cardinality($1) = 1 THEN state = $1[1] ELSE state = ANY ($1) END
    AND CASE WHEN $2::text[] IS NULL THEN true WHEN cardinality($2) = 1 THEN queue = $2[1] ELSE queue = ANY ($2) END
    AND ($3::text[] IS NULL OR class = ANY ($3))
    AND ($4::text[] IS NULL OR queue = ANY ($4)
        OR EXISTS (SELECT FROM unnest($4::text[]) AS start WHERE starts_with(workflow_id, start)))
    AND ($5::text IS NULL OR position(lower($5) IN lower(reason)) > 0)
    AND ($6::text IS NULL OR workflow_id = $6)
    AND ($7::timestamptz IS NULL OR last_at >= $7)
    AND ($8::timestamptz IS NULL OR last_at <= $8)
    AND ($9::text IS NULL OR tenant = $9)`

// A LetterSummary is a dead letter in a list: neither body nor headers, where people's data may stand.
type LetterSummary struct {
	ID         int64
	State      string // of LetterStates
	Queue      string // that it was consumed from, and that a replay goes to
	Tenant     string // whose it is; "" = of none
	Exchange   string // that it was first published to; empty is the default exchange
	RoutingKey string
	MessageID  string // set by the sender, if any
	Class      string // of the last fault: invalid, gone, …
	Reason     string // of the last death; cut to 500 characters in lists
	WorkflowID string
	RunID      string // the run that it died in last
	FirstAt    time.Time
	LastAt     time.Time
	Deaths     int // times it was archived
	Replays    int
	ReplayedAt *time.Time // the last time
	Bytes      int        // of the body
}

// SQLLetterSummary are the columns of a list of letters, as LetterSummary has them.
const SQLLetterSummary = `id, state, queue, tenant, exchange, routing_key, message_id, class,
    left(reason, 500), workflow_id, run_id, first_at, last_at, deaths, replays, replayed_at, octet_length(body)`

const sqlLetterList = `/* sqlLetterList */
SELECT ` + SQLLetterSummary + ` FROM dead_letters WHERE ` + sqlLetterFilter + `
    AND ($10::bigint IS NULL OR (last_at, id) < ($11::timestamptz, $10::bigint))
ORDER BY last_at DESC, id DESC LIMIT $12`

// List returns up to limit dead letters after a position (nil begins), those that died last first, and the position to
// go on from: nil when these were the last. A text that Postgres cannot read, for a NUL in it, is fault.Invalid.
func (s *DeadLetters) List(ctx context.Context, f LetterFilter, after *IDPosition, limit int) (
	[]LetterSummary, *IDPosition, error,
) {
	id, at := after.args()
	found, err := Rows(ctx, s.pool, pgx.RowToStructByPos[LetterSummary],
		sqlLetterList, append(f.args(), id, at, limit+1)...)
	found, next := CutPage(found, limit, func(l LetterSummary) IDPosition { return IDPosition{l.LastAt, l.ID} })
	return found, next, Refused(fault.Wrap(err, "list dead letters"))
}

const sqlLetterCount = `/* sqlLetterCount */ SELECT count(*) FROM dead_letters WHERE ` + sqlLetterFilter

// Count returns how many dead letters f means.
func (s *DeadLetters) Count(ctx context.Context, f LetterFilter) (n int, err error) {
	if err := s.pool.QueryRow(ctx, sqlLetterCount, f.args()...).Scan(&n); err != nil {
		return 0, Refused(fmt.Errorf("count dead letters: %w", err))
	}
	return n, nil
}

// A Letter is all there is of one dead letter. Headers and Body are as they came and may hold people's data.
type Letter struct {
	LetterSummary
	Headers map[string]string
	Body    []byte
	Replay  *LetterReplay // nil: never replayed, or long ago
	Deeds   []LetterDeed  // oldest first
}

// A LetterReplay says how far the last replay has come.
type LetterReplay struct {
	SentAt *time.Time // when the broker confirmed it for its queue; nil while it waits to be sent
	Error  string     // why it could not be sent so far; it is retried
}

// A LetterDeed is one replay or discard of a dead letter.
type LetterDeed struct {
	At     time.Time
	Actor  string
	Action string
	Detail json.RawMessage
}

const sqlLetterOne = `/* sqlLetterOne */
SELECT ` + SQLLetterSummary + `, reason, headers, body FROM dead_letters WHERE id = $1`

const sqlLetterReplayState = `/* sqlLetterReplayState */
SELECT o.published_at, CASE WHEN o.published_at IS NULL THEN o.last_error ELSE '' END
FROM dead_letters d JOIN outbox o ON o.message_id = d.replay_id WHERE d.id = $1`

const sqlLetterDeeds = `/* sqlLetterDeeds */
SELECT at, actor, action, detail FROM audit WHERE subject = 'dead-letter/' || $1::bigint ORDER BY id`

// Get returns one dead letter. An unknown one is fault.Gone.
func (s *DeadLetters) Get(ctx context.Context, id int64) (l Letter, err error) {
	type row struct {
		LetterSummary
		Whole   string
		Headers map[string]string
		Body    []byte
	}
	b := new(pgx.Batch)
	b.Queue(sqlLetterOne, id).Query(func(rows pgx.Rows) error {
		r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[row])
		l.LetterSummary, l.Headers, l.Body = r.LetterSummary, r.Headers, r.Body
		l.Reason = r.Whole
		return err
	})
	b.Queue(sqlLetterReplayState, id).Query(func(rows pgx.Rows) error {
		r, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[LetterReplay])
		if len(r) > 0 {
			l.Replay = r[0]
		}
		return err
	})
	b.Queue(sqlLetterDeeds, id).Query(func(rows pgx.Rows) (err error) {
		l.Deeds, err = pgx.CollectRows(rows, pgx.RowToStructByPos[LetterDeed])
		return err
	})
	err = s.pool.SendBatch(ctx, b).Close()
	return l, letterFault(err, "read", id)
}

func letterFault(err error, verb string, id int64) error {
	return Gone(fault.Wrap(err, "%s dead letter %d", verb, id), "there is no dead letter %d", id)
}

// A LetterGroup is the dead letters of one queue and class whose reasons differ in numbers and IDs only.
type LetterGroup struct {
	Queue   string
	Class   string
	Reason  string // with … in place of numbers and IDs; cut to 200 characters
	Letters int64
	FirstAt time.Time // first death of any
	LastAt  time.Time
	Newest  int64 // number of the one that died last
}

// MostGrouped is how many dead letters are looked at for their groups: those that died last.
const MostGrouped = 10_000

// The digits go with the letters that they stand among: an ID in hexadecimal is one number.
const sqlLetterGroups = `/* sqlLetterGroups */
SELECT queue, class, regexp_replace(left(reason, 200), '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '…', 'g') AS why, count(*),
    min(first_at), max(last_at), (array_agg(id ORDER BY last_at DESC, id DESC))[1]
FROM (
    SELECT id, queue, class, reason, first_at, last_at FROM dead_letters WHERE ` + sqlLetterFilter + `
    ORDER BY last_at DESC, id DESC LIMIT $10) d
GROUP BY queue, class, why ORDER BY count(*) DESC, max(last_at) DESC LIMIT 200`

// Groups returns the groups of the dead letters that f means, the largest first: at most 200.
func (s *DeadLetters) Groups(ctx context.Context, f LetterFilter) ([]LetterGroup, error) {
	groups, err := Rows(ctx, s.pool, pgx.RowToStructByPos[LetterGroup], sqlLetterGroups, append(f.args(), MostGrouped)...)
	return groups, Refused(fault.Wrap(err, "group dead letters"))
}
