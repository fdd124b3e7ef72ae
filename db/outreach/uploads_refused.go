package outreach

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
)

// What rows take in memory bounds a page: each may have a megabyte, and one that was stored by a version before has as
// many cells as delimiters. They are chosen by their numbers and read one by one, so that Postgres unpacks those of the
// page only.
const sqlUploadRefused = `/* sqlUploadRefused */
WITH RECURSIVE chosen AS (
    SELECT ARRAY(
        SELECT row FROM upload_errors
        WHERE tenant = $1 AND upload = $2 AND row > $3
            AND ($5::text IS NULL OR problems @> jsonb_build_array(jsonb_build_object('code', $5::text)))
        ORDER BY row LIMIT $4 + 1
    ) AS rows
), page AS (
    SELECT 0 AS n, 0::bigint AS bytes, 0::bigint AS row, 0::bigint AS line, NULL::jsonb AS problems,
        NULL::text[] AS record
    UNION ALL
    SELECT p.n + 1, p.bytes + 16 * cardinality(e.record) + octet_length(e.record::text),
        e.row, e.line, e.problems, e.record
    FROM page p CROSS JOIN LATERAL (
        SELECT row, line, problems, record FROM upload_errors
        WHERE tenant = $1 AND upload = $2 AND row = (SELECT rows[p.n + 1] FROM chosen) LIMIT 1
    ) e
    WHERE p.n < $4 AND p.bytes < $6
)
SELECT row, line, problems, record, (SELECT cardinality(rows) FROM chosen) > (SELECT max(n) FROM page)
FROM page WHERE n > 0 ORDER BY row`

// What a page of refused rows has at most, but for its last row, in bytes of memory about.
const (
	errorsBytes  = 8 << 20
	refusedBytes = 1 << 20 // any number of callers at once
)

// Errors returns up to limit rows that were refused, with their Number, Line, Problems and Record, after a number (0
// begins) in the order of the file, and the number to go on from: nil when these were the last of what is stored so
// far. There are fewer where rows are large.
func (s *Uploads) Errors(ctx context.Context, tenant string, id uuid.UUID, after int64, limit int) (
	[]contact.Row, *int64, error,
) {
	return s.refusals(ctx, tenant, id, "", after, limit, errorsBytes)
}

// Refused is as Errors for rows that were refused with a code, or with any (""), and pages with fewer bytes.
func (s *Uploads) Refused(ctx context.Context, tenant string, id uuid.UUID, code string, after int64, limit int) (
	[]contact.Row, *int64, error,
) {
	return s.refusals(ctx, tenant, id, code, after, limit, refusedBytes)
}

func (s *Uploads) refusals(ctx context.Context, tenant string, id uuid.UUID, code string, after int64, limit,
	enough int) ([]contact.Row, *int64, error) {
	type refusal struct {
		Row, Line int64
		Problems  []contact.Problem
		Record    []string
		More      bool // after the last one
	}
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[refusal], sqlUploadRefused, tenant, id, after,
		limit, db.Stated(code), enough)
	if err != nil {
		return nil, nil, uploadFault(err, "read errors of", id)
	}
	var next *int64
	rows := make([]contact.Row, len(list))
	for i, r := range list {
		rows[i] = contact.Row{Number: r.Row, Line: r.Line, Problems: r.Problems, Record: r.Record}
		if r.More {
			next = new(r.Row)
		}
	}
	return rows, next, nil
}

// A RefusedReason counts the rows of an upload with one problem.
type RefusedReason struct {
	Field string // "" = the whole record
	Code  string // a Code of package contact
	N     int64
}

// refusedCounted is how many rows are counted by their reasons.
const refusedCounted = 10_000

const sqlUploadReasons = `/* sqlUploadReasons */
SELECT coalesce(p.field, ''), p.code, count(*)
FROM (SELECT problems FROM upload_errors WHERE tenant = $1 AND upload = $2 ORDER BY row LIMIT $3) e
CROSS JOIN LATERAL jsonb_to_recordset(e.problems) AS p(field text, code text)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 100`

// Reasons counts the first 10,000 refused rows of an upload by their problems, the most frequent first. A row may have
// several.
func (s *Uploads) Reasons(ctx context.Context, tenant string, id uuid.UUID) ([]RefusedReason, error) {
	out, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[RefusedReason], sqlUploadReasons, tenant, id,
		refusedCounted)
	if err != nil {
		return nil, uploadFault(err, "count errors of", id)
	}
	return out, nil
}

// An errorRow is a row of upload_errors.
type errorRow struct {
	Row      int64             `json:"row"`
	Line     int64             `json:"line"`
	Problems []contact.Problem `json:"problems"`
	Record   []string          `json:"record"`
	Persons  []uuid.UUID       `json:"persons"`
}

// refusedMost is how many bytes are kept of the refused rows of an upload: as many as two million ordinary rows have.
// They count for the Room of their tenant, too.
const refusedMost = 512 << 20

// listed are the refused rows that are kept: the first of the upload, until they have refusedMost bytes or their tenant
// has no Room. Those after them are counted only.
func (p *persisting) listed(ctx context.Context) (rows []errorRow, bytes int64, err error) {
	if len(p.errors) == 0 || p.upload.Unlisted > 0 {
		return nil, 0, nil
	}
	left := max(refusedMost-p.upload.RefusedBytes, 0)
	room, err := uploadsRoom(ctx, p.tx, p.upload.Tenant)
	if err != nil {
		return nil, 0, err
	}
	if room != nil {
		left = min(left, max(*room, 0))
	}
	slices.SortStableFunc(p.errors, func(a, b errorRow) int { return cmp.Compare(a.Row, b.Row) })
	for i, e := range p.errors {
		if bytes+e.bytes() > left {
			return p.errors[:i], bytes, nil
		}
		bytes += e.bytes()
	}
	return p.errors, bytes, nil
}

// bytes is about what a row takes.
func (e errorRow) bytes() int64 {
	n := 100
	for _, cell := range e.Record {
		n += len(cell) + 4
	}
	for _, why := range e.Problems {
		n += len(why.Field) + len(why.Code) + len(why.Message) + 50
	}
	return int64(n)
}
