package listings

import (
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
	sqlAddressKey = `/* sqlAddressKey */ SELECT box_key, box FROM saved_address_key`

	sqlAddressKeyAdd = `/* sqlAddressKeyAdd */
INSERT INTO saved_address_key (id, box_key, box) VALUES ('00000000-0000-0000-0000-000000000001', $1, $2)
ON CONFLICT DO NOTHING`
)

// AddressKey returns the key that e-mail addresses and chats are hashed by, sealed for saved.AddressesPurpose. Where
// there is none it stores what generate returns.
func (s *Saved) AddressKey(ctx context.Context, generate func() (db.Sealed, error)) (db.Sealed, error) {
	key, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[db.Sealed], sqlAddressKey))
	if errors.Is(err, pgx.ErrNoRows) {
		var made db.Sealed
		if made, err = generate(); err != nil {
			return db.Sealed{}, err
		}
		b := new(pgx.Batch)
		b.Queue(sqlAddressKeyAdd, made.Key, made.Box)
		if err = db.SystemWrite(ctx, s.pool, b); err == nil {
			key, err = db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[db.Sealed], sqlAddressKey))
		}
	}
	return key, fault.Wrap(err, "read the key of e-mail addresses")
}

// The row of a tenant is locked before that of an address, by all who lock both.
const (
	sqlAsksCount = `/* sqlAsksCount */
INSERT INTO saved_asks AS a (tenant, since, asked) VALUES ($1, $2, 1)
ON CONFLICT (tenant) DO UPDATE SET since = CASE WHEN a.since <= $3 THEN $2 ELSE a.since END,
    asked = CASE WHEN a.since <= $3 THEN 1 ELSE a.asked + 1 END
WHERE a.since <= $3 OR a.asked < $4`

	sqlAsksCountHooks = `/* sqlAsksCountHooks */
INSERT INTO saved_asks AS a (tenant, since, asked, hooks_since, hooks) VALUES ($1, $2, 0, $2, 1)
ON CONFLICT (tenant) DO UPDATE SET hooks_since = CASE WHEN a.hooks_since > $3 THEN a.hooks_since ELSE $2 END,
    hooks = CASE WHEN a.hooks_since > $3 THEN a.hooks + 1 ELSE 1 END
WHERE a.hooks_since IS NULL OR a.hooks_since <= $3 OR a.hooks < $4`

	sqlAddressAsk = `/* sqlAddressAsk */
INSERT INTO saved_addresses AS a (sum, asked_at) VALUES ($1, $2)
ON CONFLICT (sum) DO UPDATE SET asked_at = $2 WHERE NOT a.refused AND a.asked_at <= $3`
)

// asksCount counts that a tenant has a target asked to confirm: webhooks by themselves, e-mail addresses and chats
// together. It is fault.Conflict when it has asked too many.
func asksCount(ctx context.Context, tx pgx.Tx, tenant string, kind saved.Channel, now time.Time) error {
	text, most, things := sqlAsksCount, saved.MaxAsked, "e-mail addresses and Telegram chats"
	if kind == saved.Webhook {
		text, most, things = sqlAsksCountHooks, saved.MaxAskedHooks, "webhooks"
	}
	tag, err := tx.Exec(ctx, text, tenant, now, now.Add(-saved.AskedWithin), most)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return fault.Newf(fault.Conflict, "the tenant has had %d %s asked in %s that are not confirmed: no more can be asked "+
			"for now", most, things, saved.AskedWithin)
	}
	return nil
}

// addressAsk notes that an address is asked to confirm. It is fault.Conflict when that is too often, or when its owner
// has refused. Which of the two it is is not said: it may be another tenant's.
func addressAsk(ctx context.Context, tx pgx.Tx, kind saved.Channel, sum []byte, now time.Time) error {
	tag, err := tx.Exec(ctx, sqlAddressAsk, sum, now, now.Add(-saved.AskedWithin))
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		what := "email: the address"
		if kind == saved.Telegram {
			what = "chat: it"
		}
		return fault.Newf(fault.Conflict, "%s was asked to confirm in the last %s and has not, or its owner wants no "+
			"messages: it is not asked now", what, saved.AskedWithin)
	}
	return nil
}

const (
	sqlAsksConfirm = `/* sqlAsksConfirm */ UPDATE saved_asks SET asked = asked - 1 WHERE tenant = $1 AND asked > 0`

	sqlAddressConfirm = `/* sqlAddressConfirm */ DELETE FROM saved_addresses WHERE sum = $1 AND NOT refused`
)

// addressConfirm lets an address that has confirmed be asked about another search.
func addressConfirm(ctx context.Context, tx pgx.Tx, tenant string, sum []byte) error {
	_, err := tx.Exec(ctx, sqlAsksConfirm, tenant)
	if err == nil {
		_, err = tx.Exec(ctx, sqlAddressConfirm, sum)
	}
	return err
}

// The question that a delivery was reached nobody. It comes after sqlNoticeEnd and sqlNoticeStop: the target is locked
// before its address, as by all who lock both.
const sqlAddressUnask = `/* sqlAddressUnask */
DELETE FROM saved_addresses a USING saved_deliveries d, saved_targets t
WHERE d.tenant = $1 AND d.id = $2 AND d.confirms AND d.state = 'failed' AND d.finished_at = $3 AND t.id = d.target
    AND a.sum = t.address AND NOT a.refused`

const (
	sqlAddressRefuse = `/* sqlAddressRefuse */
INSERT INTO saved_addresses (sum, asked_at, refused) VALUES ($1, $2, true)
ON CONFLICT (sum) DO UPDATE SET refused = true`

	// One that is locked is being answered itself.
	sqlAddressStop = `/* sqlAddressStop */
UPDATE saved_targets SET state = 'stopped', reason = $2, updated_at = $3
WHERE id IN (SELECT id FROM saved_targets WHERE address = $1 AND state = 'unconfirmed' FOR UPDATE SKIP LOCKED)
RETURNING tenant, search`
)

// addressRefuse notes that the owner of an address wants nothing, and stops what waits for its confirmation, with audit
// records.
func addressRefuse(ctx context.Context, tx pgx.Tx, sum []byte, reason, actor string, now time.Time) error {
	if _, err := tx.Exec(ctx, sqlAddressRefuse, sum, now); err != nil {
		return err
	}
	type target struct {
		Tenant string
		Search uuid.UUID
	}
	stopped, err := db.Rows(ctx, tx, pgx.RowToStructByPos[target], sqlAddressStop, sum, reason, now)
	for _, t := range stopped {
		if err == nil {
			err = db.AuditTx(ctx, tx, savedDeed(t.Tenant, "search.target_stopped", t.Search, actor, now))
		}
	}
	return err
}
