package db

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// AuditLog records the actions of callers. Rows are only ever added: the database refuses to change them, and to delete
// them in their first 90 days.
type AuditLog struct{ pool *pgxpool.Pool }

// NewAuditLog returns the audit kept in pool.
func NewAuditLog(pool *pgxpool.Pool) *AuditLog { return &AuditLog{pool} }

// An AuditEntry records one action of an operator.
type AuditEntry struct {
	At      time.Time
	Actor   string // name of the API key, or subject of the token
	Action  string // noun.past-tense: dead_letter.replayed
	Subject string // that it was done to: dead-letter/12
	Detail  any    // JSON; nil is {}. Never secrets or personal data
	Origin  Origin // zero: that of the context
}

// An Origin is the request that an action came by.
type Origin struct {
	Remote    string // address of the caller
	RequestID string // as in the header X-Request-Id of the response
	KeyID     string // of the caller's API key; empty for tokens and without authentication
}

type originKey struct{}

// WithOrigin is a context whose audit entries have the origin o.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is the origin of ctx; zero outside of a request.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Args are the columns remote, request_id and key_id.
func (o Origin) Args() []any {
	return []any{Storable(o.Remote), Storable(o.RequestID), Storable(o.KeyID)}
}

const sqlAuditAdd = `/* sqlAuditAdd */
INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// AuditAdd queues an entry into the transaction of the action that it records, with the origin of ctx.
func AuditAdd(ctx context.Context, b *pgx.Batch, d AuditEntry) {
	detail := []byte("{}")
	if d.Detail != nil {
		var err error
		if detail, err = json.Marshal(d.Detail); err != nil {
			panic(err) // texts, numbers and times
		}
		if string(detail) == "null" { // a map that is nil
			detail = []byte("{}")
		}
	}
	origin := cmp.Or(d.Origin, OriginOf(ctx))
	args := []any{d.At, Storable(d.Actor), d.Action, Storable(d.Subject), detail}
	b.Queue(sqlAuditAdd, append(args, origin.Args()...)...)
}

// Record stores entries for actions that have no transaction of their own, such as the start of a workflow: all of them
// or none.
func (s *AuditLog) Record(ctx context.Context, entries ...AuditEntry) error {
	b := new(pgx.Batch)
	for _, d := range entries {
		AuditAdd(ctx, b, d)
	}
	return fault.Wrap(Write(ctx, s.pool, b), "record %d actions", len(entries))
}

// An AuditFilter says which entries of the audit are meant. An empty string or slice and a zero time do not filter; of
// several values any will do.
type AuditFilter struct {
	Subject string
	Actor   []string
	Action  []string
	Since   time.Time // inclusive
	Until   time.Time // inclusive
}

// An AuditRow is an entry of the audit as it is stored.
type AuditRow struct {
	ID        int64
	At        time.Time
	Actor     string
	Action    string
	Subject   string
	Remote    string // address of the caller
	RequestID string // X-Request-Id of the response
	KeyID     string // of the caller's API key
	Detail    json.RawMessage
}

// The time of a position stands alone, too: a comparison of rows does not say which months they are in.
const sqlAuditList = `/* sqlAuditList */
SELECT id, at, actor, action, subject, remote, request_id, key_id, detail FROM audit
WHERE ($1::text IS NULL OR subject = $1)
    AND CASE WHEN $2::text[] IS NULL THEN true WHEN cardinality($2) = 1 THEN actor = $2[1] ELSE actor = ANY ($2) END
    AND ($3::text[] IS NULL OR action = ANY ($3))
    AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at <= $5)
    AND ($6::bigint IS NULL OR at <= $7::timestamptz AND (at, id) < ($7, $6))
ORDER BY at DESC, id DESC LIMIT $8`

// List returns up to limit entries after a position (nil begins), the newest first, and the position to go on from: nil
// when these were the last. A text that Postgres cannot read, for a NUL in it, is fault.Invalid.
func (s *AuditLog) List(ctx context.Context, f AuditFilter, after *IDPosition, limit int) (
	[]AuditRow, *IDPosition, error,
) {
	id, at := after.args()
	found, err := Rows(ctx, s.pool, pgx.RowToStructByPos[AuditRow],
		sqlAuditList, Stated(f.Subject), Among(f.Actor), Among(f.Action), Stated(f.Since), Stated(f.Until), id, at, limit+1)
	found, next := CutPage(found, limit, func(r AuditRow) IDPosition { return IDPosition{r.At, r.ID} })
	return found, next, Refused(fault.Wrap(err, "list audit"))
}

// AuditTx records an action in a transaction that is open.
func AuditTx(ctx context.Context, tx pgx.Tx, e AuditEntry) error {
	b := new(pgx.Batch)
	AuditAdd(ctx, b, e)
	return tx.SendBatch(ctx, b).Close()
}
