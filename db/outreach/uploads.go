package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Uploads are the files of contacts, their chunks, and the rows that were refused. Every method but Backlog is of one
// tenant; what is another's is fault.Gone.
type Uploads struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
}

// NewUploads returns the uploads kept in pool.
func NewUploads(pool *pgxpool.Pool) *Uploads { return &Uploads{pool, db.NewWaker(pool)} }

// An Upload is a file of contacts and how far it is imported. RowsRead = Valid + Invalid + Duplicate and
// Valid = New + Updated + Skipped, always.
type Upload struct {
	ID       uuid.UUID
	Tenant   string
	FileName string
	Blob     string // key of the file in the blob store
	Copy     string // key of its decoded copy, which the chunks are of; empty = they are of the file
	Bytes    int64
	SHA256   []byte
	Asked    []byte          // SHA-256 of the parameters of the request that made it, to know a repeated one by
	Options  json.RawMessage // what was said about how to read it
	Plan     json.RawMessage // how it is read, of WithPlan; nil until Planned
	Known    Known
	DryRun   bool
	Lists    []uuid.UUID // that its contacts become members of
	Tags     []string    // that its contacts get
	State    UploadState
	Error    string // why it failed or was canceled

	Chunks    int // found so far; all of them once the state is no longer received or splitting
	Stored    int // of them
	RowsRead  int64
	Valid     int64
	Invalid   int64
	Duplicate int64 // of a row before it in the file
	New       int64
	Updated   int64
	Skipped   int64 // known contacts that nothing was changed of
	Unlisted  int64 // of Invalid: those that are counted, and of which nothing else is kept

	RefusedBytes int64 // of those of which something is kept; they count for Room

	CreatedBy  string
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// An UploadState is how far an upload is.
type UploadState string

// The states of an upload.
const (
	UploadHeld      UploadState = "held" // it waits for Release: nothing of it is read
	UploadReceived  UploadState = "received"
	UploadSplitting UploadState = "splitting" // chunks are found, and already parsed and stored
	UploadRunning   UploadState = "running"   // all chunks are found
	UploadDone      UploadState = "done"
	UploadFailed    UploadState = "failed"
	UploadCanceled  UploadState = "canceled"
)

// UploadStates are all of them.
var UploadStates = []UploadState{
	UploadHeld, UploadReceived, UploadSplitting, UploadRunning, UploadDone, UploadFailed, UploadCanceled,
}

// Open says whether the upload goes on.
func (s UploadState) Open() bool {
	return s == UploadHeld || s == UploadReceived || s == UploadSplitting || s == UploadRunning
}

// A plan may have megabytes, so that only WithPlan reads it.
const (
	sqlUploadFirst = `
    id, tenant, file_name, blob, copy, bytes, sha256, asked, options, `

	sqlUploadRest = `, known, dry_run, lists, tags, state, error, chunks,
    stored, rows_read, valid, invalid, duplicate, new, updated, skipped, unlisted, refused_bytes,
    created_by, created_at, started_at, finished_at`

	sqlUploadColumns = sqlUploadFirst + `NULL::jsonb` + sqlUploadRest
)

const (
	sqlUploadAdd = `/* sqlUploadAdd */
INSERT INTO uploads (id, tenant, file_name, blob, bytes, sha256, options, known, dry_run, lists, tags, created_by,
    created_at, state, asked, received_at)
VALUES ($2, $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (id) DO NOTHING RETURNING id`

	sqlListsKnown = `/* sqlListsKnown */
SELECT count(*) FROM contact_lists WHERE tenant = $1 AND id = ANY ($2) AND deleted_at IS NULL`
)

// ErrUploadsFull is the error of an upload for which its tenant has no Room.
var ErrUploadsFull = db.QuotaFull("max_bytes", "bytes of files")

// ErrMayBeStored is in the error of Create where Postgres has not answered its COMMIT, or what it stored is not seen.
var ErrMayBeStored = errors.New("it may be stored")

// Create stores an upload that was received, or held when that is its state, with an audit record, and returns it as it
// is stored: one of the same ID that is there already stays as it is. Lists must be of the tenant, else it is
// fault.Invalid; a tenant that is stopped is fault.Conflict, one without room for the file ErrUploadsFull. Of any other
// error but ErrMayBeStored it is known that nothing is stored.
func (s *Uploads) Create(ctx context.Context, u Upload) (Upload, error) {
	if u.Known == "" {
		u.Known = KnownUpdate
	}
	if err := CheckKnown(u.Known); err != nil {
		return u, err
	}
	if u.Options == nil {
		u.Options = json.RawMessage("{}")
	}
	var received *time.Time
	if u.State != UploadHeld {
		u.State, received = UploadReceived, &u.CreatedAt
	}
	if u.Asked == nil {
		u.Asked = []byte{}
	}
	commits := false
	err := db.TenantTx(ctx, s.pool, u.Tenant, func(tx pgx.Tx) error {
		if err := tenantWorks(ctx, tx, u.Tenant); err != nil {
			return err
		}
		var lists int
		if err := tx.QueryRow(ctx, sqlListsKnown, u.Tenant, u.Lists).Scan(&lists); err != nil {
			return err
		}
		if lists != len(u.Lists) {
			return fault.Newf(fault.Invalid, "lists: %d of the %d lists are not there", len(u.Lists)-lists, len(u.Lists))
		}
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, u.Tenant); err != nil {
			return err
		}
		added, err := db.Rows(ctx, tx, pgx.RowTo[uuid.UUID],
			sqlUploadAdd, u.Tenant, u.ID, db.Storable(u.FileName), u.Blob, u.Bytes, u.SHA256, u.Options, u.Known, u.DryRun,
			db.Some(u.Lists), db.Some(u.Tags), db.Storable(u.CreatedBy), u.CreatedAt, u.State, u.Asked, received)
		if err != nil || len(added) == 0 {
			return db.Refused(err)
		}
		left, err := uploadsRoom(ctx, tx, u.Tenant)
		if err != nil {
			return err
		}
		if left != nil && *left < 0 {
			return ErrUploadsFull
		}
		err = db.AuditTx(ctx, tx, db.AuditEntry{
			At: u.CreatedAt, Actor: u.CreatedBy, Action: "upload.created", Subject: "upload/" + u.ID.String(),
			Detail: map[string]any{
				"tenant": u.Tenant, "bytes": u.Bytes, "known": u.Known, "dry_run": u.DryRun, "state": u.State,
			},
		})
		commits = err == nil
		return err
	})
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.SeverityUnlocalized == "ERROR" {
		commits = false // it is rolled back
	}
	if err == nil {
		u, err = s.Get(ctx, u.Tenant, u.ID)
	}
	if err != nil && commits {
		err = fmt.Errorf("%w: %w", ErrMayBeStored, err)
	}
	return u, fault.Wrap(err, "create upload %s", u.ID)
}

const sqlTenantState = `/* sqlTenantState */ SELECT state FROM tenants WHERE id = $1`

// tenantWorks refuses, as fault.Conflict, work for a tenant that is stopped; one that is not there is fault.Gone.
func tenantWorks(ctx context.Context, tx pgx.Tx, tenant string) error {
	var state db.TenantState
	err := tx.QueryRow(ctx, sqlTenantState, tenant).Scan(&state)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	case err != nil:
		return err
	case state != db.TenantActive:
		return fault.Newf(fault.Conflict, "the tenant %s is stopped", tenant)
	}
	return nil
}

const sqlUploadRead = `/* sqlUploadRead */ SELECT ` + sqlUploadColumns + ` FROM uploads WHERE tenant = $1 AND id = $2`

// Get returns an upload with its counts, without its Plan, as all other methods do but WithPlan.
func (s *Uploads) Get(ctx context.Context, tenant string, id uuid.UUID) (Upload, error) {
	u, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Upload], sqlUploadRead, tenant, id))
	return u, uploadFault(err, "read", id)
}

const sqlUploadWithPlan = `/* sqlUploadWithPlan */
SELECT ` + sqlUploadFirst + `plan` + sqlUploadRest + ` FROM uploads WHERE tenant = $1 AND id = $2`

// WithPlan returns an upload as Get does, and its Plan.
func (s *Uploads) WithPlan(ctx context.Context, tenant string, id uuid.UUID) (Upload, error) {
	u, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Upload], sqlUploadWithPlan, tenant, id))
	return u, uploadFault(err, "read", id)
}

// uploadFault makes an error of a method: no row is fault.Gone.
func uploadFault(err error, verb string, id uuid.UUID) error {
	return db.Gone(fault.Wrap(err, "%s upload %s", verb, id), "there is no upload %s", id)
}

const sqlUploadsList = `/* sqlUploadsList */
SELECT ` + sqlUploadColumns + ` FROM uploads
WHERE tenant = $1 AND ($2::text[] IS NULL OR state = ANY ($2))
    AND ($3::uuid IS NULL OR (created_at, id) < ($4::timestamptz, $3))
ORDER BY created_at DESC, id DESC LIMIT $5`

// List returns up to limit uploads of a tenant, in one of the states, or in any for none, after a position (nil
// begins), the newest first, and the position to go on from: nil when these were the last.
func (s *Uploads) List(ctx context.Context, tenant string, states []string, after *db.Position, limit int) (
	[]Upload, *db.Position, error,
) {
	id, at := after.Keys()
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Upload], sqlUploadsList, tenant,
		db.Among(states), id, at, limit+1)
	list, next := db.CutPage(list, limit, func(u Upload) db.Position { return db.Position{At: u.CreatedAt, ID: u.ID} })
	return list, next, fault.Wrap(err, "list uploads")
}

const (
	sqlUploadRelease = `/* sqlUploadRelease */
UPDATE uploads SET state = 'received', received_at = $3 WHERE tenant = $1 AND id = $2 AND state = 'held'`

	sqlUploadOptions = `/* sqlUploadOptions */
UPDATE uploads SET options = $3 WHERE tenant = $1 AND id = $2 AND state = 'held'`
)

// Release makes a held upload one that was received, with an audit record, and returns it. Repeated, it changes
// nothing. One that is over is fault.Conflict.
func (s *Uploads) Release(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) (
	Upload, error,
) {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		if err != nil || u.State != UploadHeld {
			return err
		}
		if err := tenantWorks(ctx, tx, tenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUploadRelease, tenant, id, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "upload.started", "upload/"+id.String(), actor, now, nil))
	})
	if err != nil {
		return Upload{}, uploadFault(err, "start", id)
	}
	return s.Get(ctx, tenant, id)
}

// SetOptions replaces what was said about how to read a held upload, with an audit record, and returns it. One that is
// no longer held is fault.Conflict.
func (s *Uploads) SetOptions(ctx context.Context, tenant string, id uuid.UUID, options json.RawMessage, actor string,
	now time.Time) (Upload, error) {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		if u.State != UploadHeld {
			return fault.Newf(fault.Conflict, "it is %s, and its options are settled; upload the file with hold=true", u.State)
		}
		if _, err := tx.Exec(ctx, sqlUploadOptions, tenant, id, options); err != nil {
			return db.Refused(err)
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "upload.changed", "upload/"+id.String(), actor, now, nil))
	})
	if err != nil {
		return Upload{}, uploadFault(err, "change", id)
	}
	return s.Get(ctx, tenant, id)
}

const sqlUploadPlanned = `/* sqlUploadPlanned */
UPDATE uploads SET state = 'splitting', plan = $3, copy = $4, started_at = $5
WHERE tenant = $1 AND id = $2 AND state = 'received'`

// Planned stores how an upload is read and, where it had to be decoded, the key of the copy; it is being split then.
// Repeated, it changes nothing. An upload that is over is fault.Conflict.
func (s *Uploads) Planned(ctx context.Context, tenant string, id uuid.UUID, plan json.RawMessage, copied string,
	now time.Time) error {
	return s.move(ctx, tenant, id, "plan", sqlUploadPlanned, plan, copied, now)
}

const sqlUploadSplit = `/* sqlUploadSplit */
UPDATE uploads SET state = 'running' WHERE tenant = $1 AND id = $2 AND state = 'splitting' AND chunks = $3`

// Split ends the splitting of an upload that has this many chunks. Repeated, it changes nothing. An upload that is over
// is fault.Conflict; another number of chunks is an error.
func (s *Uploads) Split(ctx context.Context, tenant string, id uuid.UUID, chunks int) error {
	err := s.move(ctx, tenant, id, "split", sqlUploadSplit, chunks)
	if err != nil {
		return err
	}
	u, err := s.Get(ctx, tenant, id)
	if err == nil && (u.State == UploadSplitting || u.Chunks != chunks) {
		err = fmt.Errorf("split upload %s: it has %d chunks, expected %d", id, u.Chunks, chunks)
	}
	return err
}

// move applies a change of an upload that is open.
func (s *Uploads) move(ctx context.Context, tenant string, id uuid.UUID, verb, text string, args ...any) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := uploadHold(ctx, tx, tenant, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, text, append([]any{tenant, id}, args...)...)
		return err
	})
	return uploadFault(err, verb, id)
}

const sqlUploadHold = `/* sqlUploadHold */ ` + sqlUploadRead + ` FOR NO KEY UPDATE`

// uploadHold locks an upload. One that is over is fault.Conflict.
func uploadHold(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID) (Upload, error) {
	u, err := db.Row(ctx, tx, pgx.RowToStructByPos[Upload], sqlUploadHold, tenant, id)
	if err == nil && !u.State.Open() {
		err = fault.Newf(fault.Conflict, "it is %s", u.State)
	}
	return u, err
}

const (
	sqlUploadEnd = `/* sqlUploadEnd */
UPDATE uploads SET state = $3, error = $4, finished_at = $5 WHERE tenant = $1 AND id = $2`

	sqlChunksEnd = `/* sqlChunksEnd */
UPDATE upload_chunks SET state = $3 WHERE tenant = $1 AND upload = $2 AND state IN ('pending', 'parsed')`

	// Its dead letters are of failures before a replay.
	sqlUploadResolve = `/* sqlUploadResolve */
UPDATE dead_letters SET state = 'resolved' WHERE ` + db.SQLLettersOver + `$2 AND tenant = $1`
)

// Finish ends an upload whose chunks are all stored, with the event contacts.imported unless it is a dry run, and
// returns it. Repeated, it changes nothing. One that is not there yet, or that failed or was canceled, is
// fault.Conflict.
func (s *Uploads) Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (Upload, error) {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		switch {
		case u.State == UploadDone:
			return nil
		case err != nil:
			return err
		case u.State != UploadRunning || u.Stored != u.Chunks:
			return fault.Newf(fault.Conflict, "it is %s, and %d of %d chunks are stored", u.State, u.Stored, u.Chunks)
		}
		b := new(pgx.Batch)
		db.RememberTrace(ctx, b)
		b.Queue(sqlUploadEnd, tenant, id, UploadDone, "", now)
		b.Queue(sqlUploadResolve, tenant, contact.ImportWorkflowID(id))
		if !u.DryRun {
			m, err := contactsImported(u, now)
			if err != nil {
				return err
			}
			db.OutboxAdd(b, m)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return Upload{}, uploadFault(err, "finish", id)
	}
	s.added.Wake(ctx)
	return s.Get(ctx, tenant, id)
}

// contactsImported is the event of the end of u.
func contactsImported(u Upload, now time.Time) (db.Message, error) {
	id := uuid.NewSHA1(u.ID, []byte("imported"))
	return db.TenantEvent(contract.ContactsImported, u.Tenant, id, contract.ContactsData{
		UploadID: u.ID.String(), FileName: u.FileName, Rows: u.RowsRead, Valid: u.Valid, Invalid: u.Invalid,
		Duplicate: u.Duplicate, New: u.New, Updated: u.Updated, Skipped: u.Skipped,
	}, now)
}

// Fail ends an upload that cannot be imported, and its chunks that wait, with a dead letter; what is stored stays.
// Repeated, it changes nothing. One that is done or canceled is fault.Conflict.
func (s *Uploads) Fail(ctx context.Context, tenant string, id uuid.UUID, why contact.Failure, now time.Time) error {
	return s.stop(ctx, tenant, id, UploadFailed, why.Reason, now, func(b *pgx.Batch, u Upload) {
		db.DeadLetterAdd(b, db.DeadLetter{
			Key: contact.ImportWorkflowID(id) + "/" + why.Queue, Tenant: tenant, Route: contract.Route{Queue: why.Queue},
			MessageID: id.String(), Body: fmt.Appendf(nil, `{"upload":%q}`, id), Reason: why.Reason, Class: why.Class,
			WorkflowID: why.WorkflowID, RunID: why.RunID, At: now,
		})
	})
}

// Cancel ends an upload, and its chunks that wait, with an audit record; what is stored stays, and is returned. It
// waits for a transaction that is storing chunks. Repeated, it changes nothing. One that is done or failed is
// fault.Conflict.
func (s *Uploads) Cancel(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) (
	Upload, error,
) {
	err := s.stop(ctx, tenant, id, UploadCanceled, "canceled by "+actor, now, func(b *pgx.Batch, u Upload) {
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: actor, Action: "upload.canceled", Subject: "upload/" + id.String(),
			Detail: map[string]any{
				"tenant": tenant, "stored": u.Stored, "chunks": u.Chunks, "new": u.New, "updated": u.Updated,
			},
		})
	})
	if err != nil {
		return Upload{}, err
	}
	return s.Get(ctx, tenant, id)
}

// stop ends an upload with what with adds.
func (s *Uploads) stop(ctx context.Context, tenant string, id uuid.UUID, to UploadState, reason string, now time.Time,
	with func(b *pgx.Batch, u Upload)) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		if u.State == to {
			return nil
		}
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlUploadEnd, tenant, id, to, db.Storable(reason), now)
		chunks := "failed"
		if to == UploadCanceled {
			chunks = "canceled"
		}
		b.Queue(sqlChunksEnd, tenant, id, chunks)
		with(b, u)
		return tx.SendBatch(ctx, b).Close()
	})
	return uploadFault(err, "end", id)
}

const (
	sqlUploadReopen = `/* sqlUploadReopen */
UPDATE uploads SET state = 'received', received_at = $3, error = '', finished_at = NULL, swept_at = NULL, readings = 0,
    previews = '{}'
WHERE tenant = $1 AND id = $2`

	sqlChunksReopen = `/* sqlChunksReopen */
UPDATE upload_chunks SET state = 'pending', parsed_at = NULL, created_at = $3
WHERE tenant = $1 AND upload = $2 AND state = 'failed'`
)

// uploadReopen has an upload that failed go on where it was. Its workflow is started by Unswept.
func uploadReopen(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, now time.Time) error {
	u, err := db.Row(ctx, tx, pgx.RowToStructByPos[Upload], sqlUploadHold, tenant, id)
	switch {
	case err != nil:
		return uploadFault(err, "reopen", id)
	case u.State.Open():
		return nil
	case u.State != UploadFailed:
		return fault.Newf(fault.Conflict, "upload %s is %s", id, u.State)
	case u.Blob == "":
		return fault.Newf(fault.Conflict, "the file of upload %s is no longer kept; upload it anew", id)
	}
	b := new(pgx.Batch)
	b.Queue(sqlUploadReopen, tenant, id, now)
	b.Queue(sqlChunksReopen, tenant, id, now)
	return tx.SendBatch(ctx, b).Close()
}

// The rows are found by ctid alone: an upload that the statistics do not know yet looks small, and Postgres would read
// all of its rows and compare each with each ctid.
const sqlUploadKeysSweep = `/* sqlUploadKeysSweep */
DELETE FROM upload_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM upload_keys WHERE tenant = $1 AND upload = $2 LIMIT $3))`

// It may have been replayed since it was looked at.
const sqlUploadSwept = `/* sqlUploadSwept */
UPDATE uploads SET swept_at = $3, copy = CASE WHEN state = 'failed' THEN copy ELSE '' END,
    copy_bytes = CASE WHEN state = 'failed' THEN copy_bytes ELSE 0 END
WHERE tenant = $1 AND id = $2 AND swept_at IS NULL AND state IN ('done', 'failed', 'canceled')`

// Sweep deletes up to most of what an upload that is over needed to find duplicates by, and says whether there may be
// more; its copy counts no more, and is to be deleted before. It may be repeated. An upload that is open is
// fault.Conflict. One that failed may be replayed, and keeps it.
func (s *Uploads) Sweep(ctx context.Context, tenant string, id uuid.UUID, most int, now time.Time) (
	more bool, err error,
) {
	u, err := s.Get(ctx, tenant, id)
	if err != nil {
		return false, err
	}
	if u.State.Open() {
		return false, fault.Newf(fault.Conflict, "upload %s is %s", id, u.State)
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if u.State == UploadFailed {
			_, err := tx.Exec(ctx, sqlUploadSwept, tenant, id, now)
			return err
		}
		tag, err := tx.Exec(ctx, sqlUploadKeysSweep, tenant, id, most)
		if more = int(tag.RowsAffected()) == most; err == nil && !more {
			_, err = tx.Exec(ctx, sqlUploadSwept, tenant, id, now)
		}
		return err
	})
	return more, uploadFault(err, "sweep", id)
}

const sqlUploadsUnswept = `/* sqlUploadsUnswept */
SELECT tenant, id, file_name, created_at FROM uploads
WHERE swept_at IS NULL AND created_at < $1 AND state <> 'held' AND (created_at, id) > ($3, $4)
ORDER BY created_at, id LIMIT $2`

// An UnsweptUpload is one whose workflow has something to do.
type UnsweptUpload struct {
	Tenant    string
	ID        uuid.UUID
	FileName  string
	CreatedAt time.Time
}

// Unswept returns up to limit uploads of all tenants, after one (nil = from the oldest), that were received before a
// time and are not over, or have left something to delete: each must have a workflow. Those that are held are none of
// them.
func (s *Uploads) Unswept(ctx context.Context, before time.Time, after *UnsweptUpload, limit int) (
	[]UnsweptUpload, error,
) {
	var from UnsweptUpload
	if after != nil {
		from = *after
	}
	list, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[UnsweptUpload], sqlUploadsUnswept, before, limit,
		from.CreatedAt, from.ID)
	return list, fault.Wrap(err, "find uploads without a workflow")
}

// Shown records in the audit that rows of an upload were given out: action says how.
func (s *Uploads) Shown(ctx context.Context, tenant, action, subject, actor string, now time.Time,
	detail map[string]any) error {
	return shown(ctx, s.pool, contactDeed(tenant, action, subject, actor, now, detail))
}
