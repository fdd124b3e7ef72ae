package listings

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

const (
	sqlSavedTargetAdd = `/* sqlSavedTargetAdd */
INSERT INTO saved_targets (id, tenant, search, kind, label, box, box_key, token, created_at, updated_at, state, address)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11 WHERE ` + db.SQLTenantStands

	// No two deliveries of a target are due at one time.
	sqlSavedTargetAsk = `/* sqlSavedTargetAsk */
INSERT INTO saved_deliveries (id, tenant, target, due_at, confirms)
SELECT gen_random_uuid(), $1, $2, greatest($3, max(due_at) + '1 microsecond'::interval), true
FROM saved_deliveries WHERE target = $2 AND due_at <= $3`
)

// targetAdd stores a target of a search, and for all but a feed the delivery that asks for its confirmation.
func targetAdd(ctx context.Context, tx pgx.Tx, tenant string, search uuid.UUID, t NewTarget, now time.Time) error {
	if t.Address.Box == nil {
		t.Address.Box = []byte{}
	}
	if t.State = saved.TargetActive; t.Kind.Asks() {
		t.State = saved.TargetUnconfirmed
	}
	tag, err := tx.Exec(ctx, sqlSavedTargetAdd, t.ID, tenant, search, t.Kind, t.Label, t.Address.Box, t.Address.Key,
		t.Token, now, t.State, t.Sum)
	if err == nil && tag.RowsAffected() == 0 {
		return cmp.Or(db.TenantStands(ctx, tx, tenant), fault.Newf(fault.Gone, "the tenant %q took no target", tenant))
	}
	if err != nil || t.State != saved.TargetUnconfirmed {
		return err
	}
	if err := asksCount(ctx, tx, tenant, t.Kind, now); err != nil {
		return err
	}
	if t.Kind.Owned() {
		if err := addressAsk(ctx, tx, t.Kind, t.Sum, now); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, sqlSavedTargetAsk, tenant, t.ID, now)
	return err
}

const (
	sqlSavedTargetHold = `/* sqlSavedTargetHold */
SELECT id, kind, label, state, reason FROM saved_targets t
WHERE tenant = $1 AND search = $2 AND id = $3
    AND EXISTS (SELECT FROM saved_searches s WHERE s.id = t.search AND s.deleted_at IS NULL) FOR NO KEY UPDATE`

	sqlSavedTargetAsked = `/* sqlSavedTargetAsked */
SELECT EXISTS (
    SELECT FROM saved_deliveries WHERE tenant = $1 AND target = $2 AND confirms AND state IN ('waiting', 'started'))`
)

// Challenge asks the host of a webhook once more to confirm that it wants news, with an audit record: one that was not
// confirmed, or was stopped, which is unconfirmed from then on. While it is being asked already, it changes nothing. A
// target that is active, or is no webhook, is fault.Conflict, as is one question more than a tenant may ask; one that
// is not there is fault.Gone.
func (s *Saved) Challenge(ctx context.Context, tenant string, search, target uuid.UUID, actor string, now time.Time) (
	t SavedTarget, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		var err error
		t, err = db.Row(ctx, tx, pgx.RowToStructByPos[SavedTarget], sqlSavedTargetHold, tenant, search, target)
		if err != nil {
			return err
		}
		switch {
		case t.Kind != saved.Webhook:
			return fault.Newf(fault.Conflict, "the target %s is no webhook: it has no challenge", target)
		case t.State == saved.TargetActive:
			return fault.Newf(fault.Conflict, "the target %s is confirmed", target)
		}
		var asked bool
		if err := tx.QueryRow(ctx, sqlSavedTargetAsked, tenant, target).Scan(&asked); err != nil || asked {
			return err
		}
		if err := asksCount(ctx, tx, tenant, t.Kind, now); err != nil {
			return err
		}
		t.State, t.Reason = saved.TargetUnconfirmed, ""
		if _, err := tx.Exec(ctx, sqlTargetState, tenant, target, t.State, t.Reason, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSavedTargetAsk, tenant, target, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.target_challenged", search, actor, now))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return t, fault.Newf(fault.Gone, "the saved search %s has no target %s", search, target)
	}
	return t, savedFault(err, "challenge a target of", search)
}

const (
	sqlSavedTargetSealed = `/* sqlSavedTargetSealed */ SELECT box_key, box FROM saved_targets WHERE tenant = $1 AND id = $2`

	sqlSavedTargetRotate = `/* sqlSavedTargetRotate */
UPDATE saved_targets SET box_key = $3, box = $4, token = coalesce($5, token), updated_at = $6
WHERE tenant = $1 AND id = $2`
)

// Rotate replaces what a target is signed or read by, with an audit record: rotate has the target and its address as it
// is sealed, and returns the new one, and of a feed the SHA-256 sum of its new token; nil = the token stays. An error
// of rotate changes nothing. A target that is not there is fault.Gone.
func (s *Saved) Rotate(ctx context.Context, tenant string, search, target uuid.UUID, actor string, now time.Time,
	rotate func(t SavedTarget, had db.Sealed) (made db.Sealed, token []byte, err error)) (t SavedTarget, err error) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		var err error
		t, err = db.Row(ctx, tx, pgx.RowToStructByPos[SavedTarget], sqlSavedTargetHold, tenant, search, target)
		if err != nil {
			return err
		}
		had, err := db.Row(ctx, tx, pgx.RowToStructByPos[db.Sealed], sqlSavedTargetSealed, tenant, target)
		if err != nil {
			return err
		}
		made, token, err := rotate(t, had)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSavedTargetRotate, tenant, target, made.Key, made.Box, token, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.target_rotated", search, actor, now))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return t, fault.Newf(fault.Gone, "the saved search %s has no target %s", search, target)
	}
	return t, savedFault(err, "rotate a target of", search)
}

const sqlSavedTargetsFull = `/* sqlSavedTargetsFull */
SELECT EXISTS (SELECT FROM tenants t WHERE t.id = $1 AND t.max_targets < $2 + (
    SELECT count(*) FROM saved_searches s JOIN saved_targets k ON k.search = s.id
    WHERE s.tenant = $1 AND s.deleted_at IS NULL))`

// targetsFit refuses so many more targets than the tenant's quota allows. It comes behind db.SQLQuotaTurn.
func targetsFit(ctx context.Context, tx pgx.Tx, tenant string, more int) error {
	var full bool
	err := tx.QueryRow(ctx, sqlSavedTargetsFull, tenant, more).Scan(&full)
	if err == nil && full {
		err = db.QuotaFull("max_targets", "targets of saved searches")
	}
	return err
}

const sqlSavedTargetCount = `/* sqlSavedTargetCount */
SELECT count(*) FROM saved_targets WHERE tenant = $1 AND search = $2`

// AddTarget adds a target to a search, with an audit record. It is told what is found from then on. One more than
// saved.MaxTargets, or than the tenant's quota of them, is fault.Conflict.
func (s *Saved) AddTarget(ctx context.Context, tenant string, search uuid.UUID, t NewTarget, actor string,
	now time.Time) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, tenant); err != nil {
			return err
		}
		if _, err := db.Row(ctx, tx, scanSaved, sqlSavedHold, tenant, search); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, sqlSavedTargetCount, tenant, search).Scan(&n); err != nil {
			return err
		}
		if n >= saved.MaxTargets {
			return fault.Newf(fault.Conflict, "the search has %d targets: no more can be added", saved.MaxTargets)
		}
		if err := targetsFit(ctx, tx, tenant, 1); err != nil {
			return err
		}
		if err := targetAdd(ctx, tx, tenant, search, t, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.target_added", search, actor, now))
	})
	return savedFault(err, "add a target to", search)
}

// The target moves to a deleted search of its own, $5, which nobody sees: what hides and empties one does so with the
// target. Its name is longer than any that a person may give one.
const sqlSavedTargetDelete = `/* sqlSavedTargetDelete */
WITH grave AS (
    INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at, slots,
        deleted_at)
    SELECT $5::uuid, tenant, rpad('deleted ' || $5::uuid, $6 + 1), '{}', kinds, '{}', 'paused', since, created_at, $3,
        0, $3
    FROM saved_searches WHERE tenant = $1 AND id = $2 AND deleted_at IS NULL AND ` + db.SQLTenantStands + `
    RETURNING id
)
UPDATE saved_targets t SET search = g.id, reason = 'it was deleted', updated_at = $3, ` + sqlSavedTargetBlank + `
FROM grave g WHERE t.tenant = $1 AND t.search = $2 AND t.id = $4
RETURNING t.id`

// DeleteTarget deletes a target of a search with its address, with an audit record. What waits is not sent. What it was
// told may be very much: retention.Searches deletes that. One that is not there is fault.Gone.
func (s *Saved) DeleteTarget(ctx context.Context, tenant string, search, target uuid.UUID, actor string,
	now time.Time) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlSavedTargetDelete, tenant, search, now, target, uuid.New(), saved.MaxName).
			Scan(&target); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.target_deleted", search, actor, now))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Newf(fault.Gone, "the saved search %s has no target %s", search, target)
	}
	return savedFault(err, "delete a target of", search)
}

// A Subscription is a target as the owner of its e-mail address or Telegram chat sees it.
type Subscription struct {
	Search   uuid.UUID
	Target   uuid.UUID
	Tenant   string
	Name     string // of the search
	Label    string
	State    string
	Language saved.Language
	Address  []byte // its Sum; nil = it is older than these
}

const (
	sqlSubscription = `/* sqlSubscription */
SELECT t.search, t.id, t.tenant, s.name, t.label, t.state, s.language, t.address
FROM saved_targets t JOIN saved_searches s ON s.id = t.search
WHERE t.token = $1 AND t.kind IN ('email', 'telegram')`

	sqlSubscriptionHold = `/* sqlSubscriptionHold */ ` + sqlSubscription + ` FOR NO KEY UPDATE OF t`

	sqlTargetState = `/* sqlTargetState */
UPDATE saved_targets SET state = $3, reason = $4, updated_at = $5 WHERE tenant = $1 AND id = $2`
)

// Subscription returns the target whose messages have links with a token of the SHA-256 sum. An unknown one is
// fault.Gone.
func (s *Saved) Subscription(ctx context.Context, sum []byte) (Subscription, error) {
	found, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[Subscription], sqlSubscription, sum))
	return found, subscriptionFault(err)
}

func subscriptionFault(err error) error {
	return db.Gone(fault.Wrap(err, "read subscription"), "there is no such subscription")
}

// Confirm lets a target that waits for it be told news from now on, with an audit record. One that is active stays so;
// one that was stopped is fault.Conflict, and stays stopped.
func (s *Saved) Confirm(ctx context.Context, sum []byte, actor string, now time.Time) (Subscription, error) {
	return s.subscribe(ctx, sum, saved.TargetActive, "", "search.target_confirmed", actor, now)
}

// Unsubscribe stops a target for good, with an audit record. One that was not confirmed has its address asked never
// again, whichever search names it, and what waits for its confirmation is stopped, too. Repeated, it changes nothing.
func (s *Saved) Unsubscribe(ctx context.Context, sum []byte, actor string, now time.Time) (Subscription, error) {
	return s.subscribe(ctx, sum, saved.TargetStopped, "its owner unsubscribed", "search.target_stopped", actor, now)
}

func (s *Saved) subscribe(ctx context.Context, sum []byte, state, reason, action, actor string, now time.Time) (
	found Subscription, err error,
) {
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		if found, err = db.Row(ctx, tx, pgx.RowToStructByPos[Subscription], sqlSubscriptionHold, sum); err != nil {
			return err
		}
		switch found.State {
		case state:
			return nil
		case saved.TargetStopped:
			return fault.Newf(fault.Conflict, "the subscription was ended: it has to be made anew")
		}
		before := found.State
		found.State = state
		if _, err := tx.Exec(ctx, sqlTargetState, found.Tenant, found.Target, state, reason, now); err != nil {
			return err
		}
		if err := db.AuditTx(ctx, tx, savedDeed(found.Tenant, action, found.Search, actor, now)); err != nil {
			return err
		}
		switch {
		case before != saved.TargetUnconfirmed || found.Address == nil:
			return nil
		case state == saved.TargetActive:
			return addressConfirm(ctx, tx, found.Tenant, found.Address)
		}
		return addressRefuse(ctx, tx, found.Address, reason, actor, now)
	})
	if class, _ := fault.Of(err); class == fault.Conflict {
		return found, err
	}
	return found, subscriptionFault(err)
}
