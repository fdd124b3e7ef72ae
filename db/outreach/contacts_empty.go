package outreach

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
)

const sqlContactEmpty = `/* sqlContactEmpty */
UPDATE contacts SET updated_at = $5,
    email = CASE WHEN 'email' = ANY ($3::text[]) THEN '' ELSE email END,
    email_digest = CASE WHEN 'email' = ANY ($3) THEN '' ELSE email_digest END,
    name = CASE WHEN 'name' = ANY ($3) THEN '' ELSE name END,
    given_name = CASE WHEN 'given_name' = ANY ($3) THEN '' ELSE given_name END,
    family_name = CASE WHEN 'family_name' = ANY ($3) THEN '' ELSE family_name END,
    locale = CASE WHEN 'locale' = ANY ($3) THEN '' ELSE locale END,
    fields = fields - $4::text[]
WHERE tenant = $1 AND id = $2 AND ('email' = ANY ($3::text[]) AND email <> '' OR 'name' = ANY ($3) AND name <> ''
    OR 'given_name' = ANY ($3) AND given_name <> '' OR 'family_name' = ANY ($3) AND family_name <> ''
    OR 'locale' = ANY ($3) AND locale <> '' OR fields ?| $4::text[])`

// contactEmpty empties fields of a contact that has a phone, or other ones than the address, and says whether that has
// changed it. Where the address that it loses has opted out, its phone does: the wish was the person's.
func contactEmpty(ctx context.Context, tx pgx.Tx, tenant string, id int64, empty []string, pads contact.Pads,
	now time.Time) (changed bool, err error) {
	custom := []string{}
	for _, field := range empty {
		if name, ok := strings.CutPrefix(field, contact.FieldCustom); ok {
			custom = append(custom, name)
		}
	}
	if slices.Contains(empty, contact.FieldEmail) {
		var digest, email []byte
		var phone, address string
		if err := tx.QueryRow(ctx, sqlPersonDigest, tenant, id).Scan(&digest, &email, &phone, &address); err != nil {
			return false, err
		}
		if len(email) > 0 {
			out, err := db.Rows(ctx, tx, pgx.RowToStructByPos[OptOut], sqlPersonOptOut, tenant,
				[][]byte{email, pads.Keyed(email)})
			if err != nil {
				return false, err
			}
			if len(out) > 0 {
				if _, err := tx.Exec(ctx, sqlOptOutsAdd, tenant, [][]byte{digest}, out[0].Source, now, pads.Inner,
					pads.Outer); err != nil {
					return false, err
				}
			}
		}
	}
	tag, err := tx.Exec(ctx, sqlContactEmpty, tenant, id, empty, custom, now)
	return tag.RowsAffected() > 0, err
}
