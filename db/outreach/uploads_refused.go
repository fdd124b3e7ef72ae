package outreach

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
)

const sqlUploadRefused = `/* sqlUploadRefused */
SELECT row, line, problems, record FROM upload_errors
WHERE tenant = $1 AND upload = $2 AND row > $3
    AND ($5::text IS NULL OR problems @> jsonb_build_array(jsonb_build_object('code', $5::text)))
ORDER BY row LIMIT $4`

// Refused returns up to limit rows that were refused, with a code or with any (""), as Errors does.
func (s *Uploads) Refused(ctx context.Context, tenant string, id uuid.UUID, code string, after int64, limit int) (
	[]contact.Row, *int64, error,
) {
	return s.refusals(ctx, tenant, id, sqlUploadRefused, after, limit, db.Stated(code))
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
