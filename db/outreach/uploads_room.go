package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sqlUploadCopied = `/* sqlUploadCopied */
UPDATE uploads SET copy_bytes = $3
WHERE tenant = $1 AND id = $2 AND state IN ('held', 'received', 'splitting', 'running')`

// Copied counts the decoded copy of an upload that is open, of so many bytes, for Room. It comes before Planned. One
// for which there is no room is contact.ErrRoom: others took it while the copy was made.
func (s *Uploads) Copied(ctx context.Context, tenant string, id uuid.UUID, bytes int64) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, tenant); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlUploadCopied, tenant, id, bytes)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		left, err := uploadsRoom(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if left != nil && *left < 0 {
			return contact.ErrRoom
		}
		return nil
	})
	return uploadFault(err, "count the copy of", id)
}

const (
	sqlUploadsRoom = `/* sqlUploadsRoom */ SELECT ` + sqlRoom

	sqlRoom = `max_bytes - (
    SELECT coalesce(sum(CASE WHEN blob <> '' THEN bytes + refused_bytes ELSE 0 END
        + CASE WHEN id = $2 THEN 0 ELSE copy_bytes END), 0)::bigint
    FROM uploads WHERE tenant = $1)
FROM tenants WHERE id = $1`
)

// uploadsRoom is Room with all copies, in a transaction.
func uploadsRoom(ctx context.Context, tx pgx.Tx, tenant string) (left *int64, err error) {
	err = tx.QueryRow(ctx, sqlUploadsRoom, tenant, uuid.Nil).Scan(&left)
	return left, err
}

// Room is how many bytes of files, copies and refused rows a tenant may add to those that it has: below 0 when it has
// too many, nil = no limit. The copy of one upload, which is made anew, does not count; uuid.Nil = all do. An unknown
// tenant has no limit.
func (s *Uploads) Room(ctx context.Context, tenant string, anew uuid.UUID) (*int64, error) {
	left, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[*int64], sqlUploadsRoom, tenant, anew))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("count bytes of uploads: %w", err)
	}
	return left, nil
}

const sqlUploadImport = `/* sqlUploadImport */
SELECT ` + sqlUploadFirst + `plan` + sqlUploadRest + `, CASE WHEN plan IS NULL THEN (SELECT ` + sqlRoom + `) END,
    (SELECT max_contacts - contacts FROM tenants WHERE id = $1)
FROM uploads WHERE tenant = $1 AND id = $2`

// Import returns an upload as its import needs it: until it has a plan with its options, the Room for its copy, and how
// many contacts its tenant may add. An unknown upload is fault.Gone.
func (s *Uploads) Import(ctx context.Context, tenant string, id uuid.UUID) (contact.Import, error) {
	type row struct {
		Upload
		Room *int64
		Left *int64
	}
	u, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[row], sqlUploadImport, tenant, id))
	if err != nil {
		return contact.Import{}, uploadFault(err, "read", id)
	}
	i := contact.Import{
		Progress: contact.Progress{
			State: string(u.State), Error: u.Error, Chunks: u.Chunks, Stored: u.Stored, Rows: u.RowsRead, Valid: u.Valid,
			Invalid: u.Invalid, Duplicate: u.Duplicate, New: u.New, Updated: u.Updated, Skipped: u.Skipped,
		},
		Tenant: tenant, ID: id, File: u.Blob, Copy: u.Copy, Bytes: u.Bytes,
	}
	if u.Plan != nil {
		return i, fault.Wrap(json.Unmarshal(u.Plan, &i.Plan), "read plan of upload %s", id)
	}
	i.Room, i.Left, i.Records = u.Room, u.Left, u.Known == KnownFail
	return i, fault.Wrap(json.Unmarshal(u.Options, &i.Options), "read options of upload %s", id)
}

const sqlUploadReading = `/* sqlUploadReading */
UPDATE uploads SET readings = readings + 1 WHERE tenant = $1 AND id = $2 RETURNING readings`

// BeginReading counts a reading of an upload's file by its import that begins, and returns how many have begun in a
// row and not ended, this one included. An unknown upload is fault.Gone. EndReading ends it, and so does a replay of
// the upload.
func (s *Uploads) BeginReading(ctx context.Context, tenant string, id uuid.UUID) (begun int, err error) {
	begun, err = db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int], sqlUploadReading, tenant, id))
	return begun, uploadFault(err, "begin to read", id)
}

const sqlUploadReadingEnd = `/* sqlUploadReadingEnd */
UPDATE uploads SET readings = 0 WHERE tenant = $1 AND id = $2 AND readings > 0`

// EndReading says that the reader of an upload's file lives. It may be repeated.
func (s *Uploads) EndReading(ctx context.Context, tenant string, id uuid.UUID) error {
	b := new(pgx.Batch)
	b.Queue(sqlUploadReadingEnd, tenant, id)
	err := db.TenantWrite(ctx, s.pool, tenant, b)
	return uploadFault(err, "end reading of", id)
}

// The oldest are enough: a few that died, and those that are at it.
const sqlUploadPreview = `/* sqlUploadPreview */
UPDATE uploads SET previews = (previews || $3::timestamptz)[:15]
WHERE tenant = $1 AND id = $2
RETURNING (SELECT count(*) + 1 FROM unnest(previews) p WHERE p <= $4), cardinality(previews)`

// BeginPreview counts a preview of an upload's file that begins, and returns how many have begun in a row and died,
// this one included: they have not ended within the time that one may take. open is how many have begun and not ended,
// this one and those that died included, up to 15: the others are at it now, in any number of processes, or died just
// now. An unknown upload is fault.Gone. EndPreview ends them all, and so does a replay of the upload.
func (s *Uploads) BeginPreview(ctx context.Context, tenant string, id uuid.UUID, now time.Time, within time.Duration) (
	begun, open int, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlUploadPreview, tenant, id, now, now.Add(-within)).Scan(&begun, &open)
	})
	return begun, open, uploadFault(err, "begin to preview", id)
}

const sqlUploadPreviewEnd = `/* sqlUploadPreviewEnd */
UPDATE uploads SET previews = '{}' WHERE tenant = $1 AND id = $2 AND previews <> '{}'`

// EndPreview says that a process that looked into an upload's file lives. It may be repeated.
func (s *Uploads) EndPreview(ctx context.Context, tenant string, id uuid.UUID) error {
	b := new(pgx.Batch)
	b.Queue(sqlUploadPreviewEnd, tenant, id)
	err := db.TenantWrite(ctx, s.pool, tenant, b)
	return uploadFault(err, "end preview of", id)
}
