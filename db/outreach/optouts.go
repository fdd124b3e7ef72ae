package outreach

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// OptOutKey is the key of this installation that opt_outs and opt_ins are hashed by. A digest of 16 bytes in them is
// that of contacts and messages; one of 32 bytes is its HMAC by the key. Statements write the former and look for
// both; Rehash turns one into the other. Where there is no key yet, all are of 16 bytes. Where there is one that
// cannot be opened, nothing is looked up, for an opt-out that is not found would be taken for one that does not exist.
//
// A nil one is no key.
type OptOutKey struct {
	pool *pgxpool.Pool
	open func(db.Sealed) ([]byte, error)

	rests time.Duration // after a key was made, in which nothing is hashed: a process may not know it yet

	lock  sync.Mutex
	key   contact.Pads
	asked time.Time // when it was read last that there is no key
}

// NewOptOutKey returns the key in pool, which open opens: it is sealed for contact.OptOutPurpose.
func NewOptOutKey(pool *pgxpool.Pool, open func(db.Sealed) ([]byte, error)) *OptOutKey {
	return &OptOutKey{pool: pool, open: open, rests: 12 * optOutKeyNone}
}

// optOutKeyNone is how long a process goes on as if there were no key. Messages.Claim does not: it takes nothing then.
const optOutKeyNone = 5 * time.Second

const (
	sqlOptOutKey = `/* sqlOptOutKey */ SELECT box_key, box FROM opt_out_key`

	sqlOptOutKeyAdd = `/* sqlOptOutKeyAdd */
INSERT INTO opt_out_key (id, box_key, box) VALUES ('00000000-0000-0000-0000-000000000002', $1, $2)
ON CONFLICT DO NOTHING`
)

// pads are the key, or none where there is none.
func (k *OptOutKey) pads(ctx context.Context) (contact.Pads, error) {
	if k == nil {
		return contact.Pads{}, nil
	}
	k.lock.Lock()
	key, none := k.key, time.Since(k.asked) < optOutKeyNone
	k.lock.Unlock()
	if key.Outer != nil || none {
		return key, nil
	}
	sealed, err := db.One(db.SystemRows(ctx, k.pool, pgx.RowToStructByPos[db.Sealed], sqlOptOutKey))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		k.lock.Lock()
		k.asked = time.Now()
		k.lock.Unlock()
		return contact.Pads{}, nil
	case err != nil:
		return contact.Pads{}, fmt.Errorf("read the key of opt-outs: %w", err)
	}
	plain, err := k.open(sealed)
	if err != nil {
		return contact.Pads{}, fmt.Errorf("open the key of opt-outs, without which no person can be checked against them: %w", err)
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.key = contact.NewPads(plain)
	return k.key, nil
}

// keyText hashes up to $1 rows of a table by the pads $2 and $3, if the key is older than $4. Those that are stored in
// both forms, o and l, become one, with what is set of it. Otherwise a digest is changed where it is: who waits for the
// row, to delete it, finds it still.
func keyText(name, table, set string) string {
	return fmt.Sprintf(`/* %[3]s */
WITH looked AS (
    SELECT *, opt_out_keyed(digest, $2, $3) AS keyed FROM %[1]s
    WHERE octet_length(digest) = 16 AND EXISTS (SELECT FROM opt_out_key WHERE created_at <= now() - $4::interval)
    ORDER BY tenant, digest LIMIT $1 FOR UPDATE SKIP LOCKED
), merged AS (
    UPDATE %[1]s o SET %[2]s
    FROM looked l WHERE o.tenant = l.tenant AND o.digest = l.keyed RETURNING l.tenant, l.digest
), gone AS (
    DELETE FROM %[1]s o USING merged m WHERE o.tenant = m.tenant AND o.digest = m.digest
), changed AS (
    UPDATE %[1]s o SET digest = l.keyed FROM looked l
    WHERE o.tenant = l.tenant AND o.digest = l.digest AND (l.tenant, l.digest) NOT IN (SELECT * FROM merged)
)
SELECT count(*) FROM looked`, table, set, name)
}

// An opt-out that was imported, or came by the API, stays as it is, as in sqlOptOutLatest.
var (
	optOutsKey = keyText("sqlOptOutsKey", "opt_outs", `source = CASE WHEN o.source = 'message' THEN l.source ELSE o.source END,
        at = CASE WHEN o.source <> 'message' THEN o.at WHEN l.source <> 'message' THEN l.at
            ELSE greatest(o.at, l.at) END`)
	optInsKey = keyText("sqlOptInsKey", "opt_ins", `at = greatest(o.at, l.at)`)
)

// Rehash hashes up to most opt-outs by the key, and as many of those that were taken back, and reports whether there
// may be more. Where there is no key it stores the one that generate makes, sealed; a minute later it begins to hash,
// when no process goes on as if there were none. It may be repeated, and run in several processes.
func (k *OptOutKey) Rehash(ctx context.Context, most int, generate func() (db.Sealed, error)) (more bool, err error) {
	key, err := k.pads(ctx)
	if err == nil && key.Outer == nil {
		key, err = k.create(ctx, generate)
	}
	if err != nil {
		return false, err
	}
	err = db.SystemTx(ctx, k.pool, func(tx pgx.Tx) error {
		more = false
		for _, text := range []string{optOutsKey, optInsKey} {
			var n int
			if err := tx.QueryRow(ctx, text, most, key.Inner, key.Outer, k.rests).Scan(&n); err != nil {
				return err
			}
			more = more || n == most
		}
		return nil
	})
	return more, fault.Wrap(err, "hash opt-outs by the key")
}

// A ContactOptOut is the wish of a contact for no more messages.
type ContactOptOut struct {
	Contact int64
	Phone   string
	Email   string
	Name    string
	Source  string // import, api, message
	At      time.Time
}

// Of several that a contact has, by its phone and its address, it is the first that holds for good. The next 10,000
// contacts are looked at: the last of them is among the rows, whether it has one or not, for the list goes on after it.
const sqlOptOutsList = `/* sqlOptOutsList */
SELECT c.id, c.phone, c.email, c.name, coalesce(o.source, ''), coalesce(o.at, 'epoch'), o.source IS NOT NULL,
    c.place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY id) AS place
    FROM (SELECT * FROM contacts WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT 10000) looked
) c LEFT JOIN LATERAL (
    SELECT source, at FROM opt_outs WHERE tenant = $1 AND digest = ANY (ARRAY[
        c.digest, c.email_digest, opt_out_keyed(c.digest, $3, $4), opt_out_keyed(c.email_digest, $3, $4)])
    ORDER BY source = 'message', at LIMIT 1) o ON true
WHERE o.source IS NOT NULL OR c.place = 10000
ORDER BY c.id LIMIT $5`

// OptOuts returns up to limit contacts of a tenant that have opted out, after a number (0 begins), the oldest first,
// and the number to go on from: nil when these were the last. It looks at the next 10,000 contacts only.
func (s *Contacts) OptOuts(ctx context.Context, tenant string, after int64, limit int) (
	[]ContactOptOut, *int64, error,
) {
	pads, err := s.key.pads(ctx)
	if err != nil {
		return nil, nil, err
	}
	scan := func(row pgx.CollectableRow) (r db.Looked[ContactOptOut], err error) {
		o := &r.Row
		return r, row.Scan(&o.Contact, &o.Phone, &o.Email, &o.Name, &o.Source, &o.At, &r.Passes, &r.Last)
	}
	rows, err := db.TenantRows(ctx, s.pool, tenant, scan, sqlOptOutsList, tenant, after, pads.Inner, pads.Outer, limit+1)
	found, next := db.CutLooked(rows, limit, func(o ContactOptOut) int64 { return o.Contact })
	return found, next, fault.Wrap(err, "list opt-outs")
}

func (k *OptOutKey) create(ctx context.Context, generate func() (db.Sealed, error)) (contact.Pads, error) {
	made, err := generate()
	if err != nil {
		return contact.Pads{}, err
	}
	b := new(pgx.Batch)
	b.Queue(sqlOptOutKeyAdd, made.Key, made.Box)
	if err := db.SystemWrite(ctx, k.pool, b); err != nil {
		return contact.Pads{}, fmt.Errorf("store the key of opt-outs: %w", err)
	}
	k.lock.Lock()
	k.asked = time.Time{}
	k.lock.Unlock()
	return k.pads(ctx) // another process may have been first
}
