package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A DueNotice is a delivery whose workflow is to be started.
type DueNotice struct {
	ID     uuid.UUID
	Tenant string
}

// A delivery that was begun and has not ended is due again after a while: the process that was to start its workflow
// may have been killed. A workflow that is running is joined.
const sqlNoticesBegin = `
UPDATE saved_deliveries d SET state = 'started', started_at = $1
FROM (
    SELECT id FROM saved_deliveries WHERE state = 'waiting' AND due_at <= $1 OR state = 'started' AND started_at <= $2
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
) o
WHERE d.id = o.id RETURNING d.id, d.tenant`

// Begin marks up to n deliveries that are due as started, and those that were begun before a time and have not ended,
// and returns them. From then on a delivery takes no further items.
func (s *Saved) Begin(ctx context.Context, n int, before, now time.Time) ([]DueNotice, error) {
	due, err := systemRows(ctx, s.pool, pgx.RowToStructByPos[DueNotice], sqlNoticesBegin, now, before, n)
	if err != nil {
		return nil, fmt.Errorf("begin notices: %w", err)
	}
	return due, nil
}

const (
	sqlNotice = `
SELECT d.id, d.tenant, d.state, d.due_at, d.tries, s.id, s.name, t.id, t.kind, s.state = 'active',
    t.box_key, t.box
FROM saved_deliveries d JOIN saved_targets t ON t.id = d.target JOIN saved_searches s ON s.id = t.search
WHERE d.tenant = $1 AND d.id = $2`

	sqlNoticeItems = `
SELECT ` + sqlSavedItemColumns + `
FROM saved_items i JOIN saved_matches m ON m.search = i.search AND m.event = i.event ` + sqlSavedItemJoins + `
WHERE i.delivery = $1 ORDER BY m.event`
)

// Notice returns a delivery with its items, each home once, and its address sealed. One that is not there, because its
// search was deleted, is fault.Gone.
func (s *Saved) Notice(ctx context.Context, tenant string, id uuid.UUID) (n saved.Notice, err error) {
	n, err = one(tenantRows(ctx, s.pool, tenant, func(row pgx.CollectableRow) (n saved.Notice, err error) {
		return n, row.Scan(&n.ID, &n.Tenant, &n.State, &n.Due, &n.Tries, &n.Search, &n.Name, &n.Target, &n.Channel, &n.On,
			&n.Sealed.Key, &n.Sealed.Box)
	}, sqlNotice, tenant, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return n, fault.Newf(fault.Gone, "there is no notice %s", id)
	}
	var items []saved.Item
	if err == nil {
		items, err = tenantRows(ctx, s.pool, tenant, scanSavedItem, sqlNoticeItems, id)
	}
	if err != nil {
		return n, fmt.Errorf("read notice %s: %w", id, err)
	}
	n.Items = saved.Together(items)
	return n, nil
}

const (
	sqlNoticeTried = `
UPDATE saved_deliveries SET tries = tries + 1, reason = $3
WHERE tenant = $1 AND id = $2 AND state IN ('waiting', 'started') RETURNING tries`

	sqlNoticeEnd = `
UPDATE saved_deliveries SET state = $3, reason = $4, finished_at = $5
WHERE tenant = $1 AND id = $2 AND state IN ('waiting', 'started')`
)

// CountNoticeTry counts a try that has failed, and returns how many have. One that has ended is fault.Conflict.
func (s *Saved) CountNoticeTry(ctx context.Context, tenant string, id uuid.UUID, reason string) (tries int, err error) {
	tries, err = one(tenantRows(ctx, s.pool, tenant, pgx.RowTo[int], sqlNoticeTried, tenant, id, storable(reason)))
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fault.Newf(fault.Conflict, "notice %s has ended", id)
	}
	if err != nil {
		return 0, fmt.Errorf("count try of notice %s: %w", id, err)
	}
	return tries, nil
}

// EndNotice ends a delivery: sent, or dropped for a reason. Repeated, it changes nothing.
func (s *Saved) EndNotice(ctx context.Context, tenant string, id uuid.UUID, state, reason string, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlNoticeEnd, tenant, id, state, storable(reason), now)
	if err := tenantWrite(ctx, s.pool, tenant, b); err != nil {
		return fmt.Errorf("end notice %s: %w", id, err)
	}
	return nil
}

// FailNotice ends a delivery that cannot be made, as a dead letter of the tenant. A replay of it makes the delivery
// again.
func (s *Saved) FailNotice(ctx context.Context, tenant string, id uuid.UUID, class fault.Class, reason string,
	now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlNoticeEnd, tenant, id, "failed", storable(reason), now)
	if err := deadLetterAdd(b, DeadLetter{
		Key: saved.WorkflowID(id), Tenant: tenant, Route: contract.Route{Queue: saved.Queue}, MessageID: id.String(),
		Body: fmt.Appendf(nil, `{"notice":%q}`, id), Reason: reason, Class: string(class),
		WorkflowID: saved.WorkflowID(id), At: now,
	}); err != nil {
		return err
	}
	if err := tenantWrite(ctx, s.pool, tenant, b); err != nil {
		return fmt.Errorf("fail notice %s: %w", id, err)
	}
	return nil
}

const sqlNoticeReopen = `
UPDATE saved_deliveries SET state = 'waiting', tries = 0, finished_at = NULL
WHERE tenant = $1 AND id = $2 AND state = 'failed'`

const sqlNoticeStands = `SELECT state FROM saved_deliveries WHERE tenant = $1 AND id = $2`

// noticeReopen is the reopener of deliveries.
func noticeReopen(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, _ time.Time) error {
	tag, err := tx.Exec(ctx, sqlNoticeReopen, tenant, id)
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	var state string
	switch err := tx.QueryRow(ctx, sqlNoticeStands, tenant, id).Scan(&state); {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Newf(fault.Gone, "there is no notice %s", id)
	case err != nil:
		return err
	case state == "waiting" || state == "started":
		return nil
	}
	return fault.Newf(fault.Conflict, "notice %s is %s: it is not sent again", id, state)
}
