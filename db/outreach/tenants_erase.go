package outreach

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// Erasures take tenants out: they export all that is kept of one, and delete it. Their methods are for operators.
type Erasures struct {
	pool *pgxpool.Pool
	key  *OptOutKey
}

// NewErasures returns the erasures kept in pool. Opt-outs that are hashed by key are found, too.
func NewErasures(pool *pgxpool.Pool, key *OptOutKey) *Erasures {
	return &Erasures{pool: pool, key: key}
}

// An Erasure is how far the deletion of a tenant is, and its report when it has ended.
type Erasure struct {
	Tenant      string
	RequestedAt time.Time
	RequestedBy string
	Origin      db.Origin
	Passes      int    // over all tables that have ended
	Table       string // that is gone through; "" = it has ended
	Rows        map[string]int64
	Files       int64 // uploaded ones
	Bytes       int64 // of them and their decoded copies
	FinishedAt  *time.Time
}

// detail is the report in the audit.
func (e Erasure) detail() map[string]any {
	return map[string]any{"rows": e.Rows, "files": e.Files, "bytes": e.Bytes, "request_id": e.Origin.RequestID}
}

const (
	sqlErasureRead = `/* sqlErasureRead */
SELECT tenant, requested_at, requested_by, remote, request_id, key_id, passes, step, at, rows, files, bytes, finished_at
FROM tenant_erasures WHERE tenant = $1`

	sqlErasureHold = `/* sqlErasureHold */ ` + sqlErasureRead + ` FOR UPDATE`

	sqlErasureAdd = `/* sqlErasureAdd */
INSERT INTO tenant_erasures (tenant, requested_at, requested_by, remote, request_id, key_id)
VALUES ($1, $2, $3, $4, $5, $6)`

	sqlErasureBegin = `/* sqlErasureBegin */ UPDATE tenants SET erasing = true, updated_at = $2 WHERE id = $1`

	sqlErasureStep = `/* sqlErasureStep */
UPDATE tenant_erasures SET passes = $2, step = $3, at = $4, rows = $5, files = $6, bytes = $7 WHERE tenant = $1`

	sqlErasuresOpen = `/* sqlErasuresOpen */
SELECT tenant FROM tenant_erasures WHERE finished_at IS NULL AND requested_at < $1 ORDER BY requested_at LIMIT 100`

	sqlErasureFinish = `/* sqlErasureFinish */ UPDATE tenant_erasures SET finished_at = $2 WHERE tenant = $1`

	// The three below have the arguments and columns of tenantTable.eraseText.
	sqlKeysErase = `/* sqlKeysErase */
WITH gone AS (UPDATE api_keys SET revoked_at = now() WHERE tenant = $1 AND revoked_at IS NULL RETURNING 1)
SELECT $2::text, $3::int < 0, (SELECT count(*) FROM gone), 0::bigint, 0::bigint`

	sqlTenantErase = `/* sqlTenantErase */
WITH gone AS (
    UPDATE tenants SET name = 'erased', region = NULL, stopped_reason = 'erased', contacts = 0
    WHERE id = $1 AND (name, region, stopped_reason, contacts) IS DISTINCT FROM ('erased', NULL, 'erased', 0)
    RETURNING 1
)
SELECT $2::text, $3::int < 0, (SELECT count(*) FROM gone), 0::bigint, 0::bigint`

	sqlNoneErase = `/* sqlNoneErase */ SELECT $2::text, $1::text = '' AND $3::int < 0, 0::bigint, 0::bigint, 0::bigint`
)

// scanErasure reads a row; step and at are where it is.
func scanErasure(row pgx.CollectableRow, step *int, at *string) (e Erasure, err error) {
	err = row.Scan(&e.Tenant, &e.RequestedAt, &e.RequestedBy, &e.Origin.Remote, &e.Origin.RequestID, &e.Origin.KeyID,
		&e.Passes, step, at, &e.Rows, &e.Files, &e.Bytes, &e.FinishedAt)
	if err == nil && e.FinishedAt == nil && *step < len(tenantTables) {
		e.Table = tenantTables[*step].name
	}
	return e, err
}

// Request stores that a tenant is to be erased, revokes its keys, and returns how far that is; a second request changes
// nothing. From then on the tenant cannot be changed or resumed. One that is not stopped is fault.Conflict, an unknown
// one fault.Gone.
func (s *Erasures) Request(ctx context.Context, tenant, actor string, now time.Time) (e Erasure, err error) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		t, err := db.Row(ctx, tx, pgx.RowToStructByPos[db.Tenant], db.SQLTenantHold, tenant)
		if err != nil {
			return db.Gone(err, "there is no tenant %.80q", tenant)
		}
		if t.Erasing {
			e, err = readErasure(ctx, tx, sqlErasureRead, tenant, new(int), new(string))
			return err
		}
		if t.State != db.TenantStopped {
			return fault.Newf(fault.Conflict, "the tenant %q is active: stop it before it is erased", tenant)
		}
		o := db.OriginOf(ctx)
		b := new(pgx.Batch)
		b.Queue(sqlErasureAdd, append([]any{tenant, now, db.Storable(actor)}, o.Args()...)...)
		b.Queue(sqlErasureBegin, tenant, now)
		b.Queue(sqlKeysErase, tenant, "", 0)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: actor, Action: "tenant.erasure_requested", Subject: "tenant/" + tenant,
		})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		e, err = readErasure(ctx, tx, sqlErasureRead, tenant, new(int), new(string))
		return err
	})
	return e, erasureFault(err, "request", tenant)
}

func readErasure(ctx context.Context, tx pgx.Tx, text, tenant string, step *int, at *string) (Erasure, error) {
	return db.Row(ctx, tx, func(row pgx.CollectableRow) (Erasure, error) {
		return scanErasure(row, step, at)
	}, text, tenant)
}

// erasureFault says of which tenant an error is. One without an erasure is fault.Gone.
func erasureFault(err error, verb, tenant string) error {
	return db.Gone(fault.Wrap(err, "%s erasure of tenant %.80q", verb, tenant),
		"there is no erasure of the tenant %.80q", tenant)
}

// Get returns how far an erasure is. A tenant without one is fault.Gone.
func (s *Erasures) Get(ctx context.Context, tenant string) (Erasure, error) {
	e, err := db.One(db.TenantRows(ctx, s.pool, tenant, func(row pgx.CollectableRow) (Erasure, error) {
		return scanErasure(row, new(int), new(string))
	}, sqlErasureRead, tenant))
	return e, erasureFault(err, "read", tenant)
}

// Open returns up to 100 tenants whose erasure was requested before a time and has not ended.
func (s *Erasures) Open(ctx context.Context, before time.Time) ([]string, error) {
	list, err := db.SystemRows(ctx, s.pool, pgx.RowTo[string], sqlErasuresOpen, before)
	return list, fault.Wrap(err, "read open erasures")
}

// Erase makes a step of an erasure: it looks at up to most rows of a table, deletes those of the tenant, and stores in
// the same transaction how far it has come. So it may be repeated, and interrupted at any instant. more is false with
// the end of a pass over all tables; another call begins a pass that finds what was written behind the one before.
func (s *Erasures) Erase(ctx context.Context, tenant string, most int) (more bool, err error) {
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		var (
			step         int
			at           string
			n            int64
			files, bytes int64
			again        bool
		)
		e, err := readErasure(ctx, tx, sqlErasureHold, tenant, &step, &at)
		if err != nil || e.FinishedAt != nil {
			return err
		}
		if step >= len(tenantTables) { // of a release with more tables
			step, at = 0, ""
		}
		t := tenantTables[step]
		if at == "" {
			at = t.first()
		}
		if t.name == "saved_searches" {
			if _, err := tx.Exec(ctx, db.SQLSavedTurn); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, t.eraseText(), tenant, at, most).Scan(&at, &again, &n, &files, &bytes); err != nil {
			return fmt.Errorf("delete from %s: %w", t.name, err)
		}
		if n > 0 {
			e.Rows[t.name] += n
		}
		if more = true; !again {
			at = ""
			if step++; step == len(tenantTables) {
				step, more = 0, false
				e.Passes++
			}
		}
		_, err = tx.Exec(ctx, sqlErasureStep, tenant, e.Passes, step, at, e.Rows, e.Files+files, e.Bytes+bytes)
		return err
	})
	return more, erasureFault(err, "go on with the", tenant)
}

// Finish ends an erasure, with an audit record that has its report. It may be repeated.
func (s *Erasures) Finish(ctx context.Context, tenant string, now time.Time) error {
	err := db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		e, err := readErasure(ctx, tx, sqlErasureHold, tenant, new(int), new(string))
		if err != nil || e.FinishedAt != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlErasureFinish, tenant, now)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: e.RequestedBy, Action: "tenant.erased", Subject: "tenant/" + tenant, Detail: e.detail(),
			Origin: e.Origin,
		})
		return tx.SendBatch(ctx, b).Close()
	})
	return erasureFault(err, "finish", tenant)
}

// What of a tenant has a workflow that may run.
const sqlTenantRuns = `/* sqlTenantRuns */
SELECT kind, id FROM (
    SELECT 'campaign' AS kind, id FROM campaigns
    WHERE tenant = $1 AND (state = 'queued' OR started_at IS NOT NULL AND finished_at IS NULL)
    UNION ALL SELECT 'import', id FROM uploads WHERE tenant = $1 AND swept_at IS NULL
    UNION ALL SELECT 'notify', id FROM saved_deliveries WHERE tenant = $1 AND state = 'started'
) r WHERE id > $2 ORDER BY id LIMIT $3`

// Runs returns the IDs of up to most workflows that may run for campaigns, files and deliveries of a tenant with IDs
// after the one given, and the last of those: uuid.Nil when these are all.
func (s *Erasures) Runs(ctx context.Context, tenant string, after uuid.UUID, most int) (
	workflows []string, last uuid.UUID, err error,
) {
	type run struct {
		Kind string
		ID   uuid.UUID
	}
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[run], sqlTenantRuns, tenant, after, most)
	if err != nil {
		return nil, last, fmt.Errorf("read what runs for tenant %.80q: %w", tenant, err)
	}
	named := map[string]func(uuid.UUID) string{
		"campaign": campaign.WorkflowID, "import": contact.ImportWorkflowID, "notify": saved.WorkflowID,
	}
	for _, r := range list {
		workflows = append(workflows, named[r.Kind](r.ID))
	}
	if len(list) == most {
		last = list[most-1].ID
	}
	return workflows, last, nil
}

// A KeptTable is a table in which an erasure leaves rows of the tenant.
type KeptTable struct{ Table, Why string }

// Kept are the tables in which an erasure leaves rows, and why.
func (s *Erasures) Kept() (list []KeptTable) {
	for _, t := range tenantTables {
		if t.kept != "" {
			list = append(list, KeptTable{t.name, t.kept})
		}
	}
	return list
}
