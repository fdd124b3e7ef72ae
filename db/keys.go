package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Keys are the API keys. The table holds no secrets, only their sums.
type Keys struct{ pool *pgxpool.Pool }

// NewKeys returns the keys kept in pool.
func NewKeys(pool *pgxpool.Pool) *Keys { return &Keys{pool} }

// A Key is an API key without its secret.
type Key struct {
	ID         string // the first part of the key, after cvr_
	Name       string
	Role       access.Role
	Tenant     string // that it is of; empty = none
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  *time.Time // nil: never
	RevokedAt  *time.Time
	LastUsedAt *time.Time // to about a minute
}

// A KeyState says whether a key is valid.
type KeyState string

// The states of a key.
const (
	KeyLive    KeyState = "live"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// State is the key's state at a time.
func (k Key) State(at time.Time) KeyState {
	switch {
	case k.RevokedAt != nil:
		return KeyRevoked
	case k.ExpiresAt != nil && !at.Before(*k.ExpiresAt):
		return KeyExpired
	}
	return KeyLive
}

// Within is the key with an end: a time after its creation, or its own when that is sooner. 0 = its own.
func (k Key) Within(most time.Duration) Key {
	if end := k.CreatedAt.Add(most); most > 0 && (k.ExpiresAt == nil || k.ExpiresAt.After(end)) {
		k.ExpiresAt = &end
	}
	return k
}

const sqlKeyAdd = `/* sqlKeyAdd */
INSERT INTO api_keys (id, name, role, sum, created_at, created_by, expires_at, tenant)
VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''))`

// The codes of Postgres that Violates knows.
const (
	UniqueViolation  = "23505" // a second row of one name
	LockNotAvailable = "55P03" // of a statement that does not wait for a lock
	ForeignViolation = "23503" // a name of no row
)

// Create stores a key with the sum of its secret and an audit record. A name that was ever used is fault.Conflict; an
// expiry before the creation, an unknown role and a tenant that is unknown or erased are fault.Invalid.
func (s *Keys) Create(ctx context.Context, k Key, sum access.Sum) error {
	if k.Tenant != "" { // an erasure that is requested meanwhile revokes the key; an unknown tenant is refused below
		if t, err := NewTenants(s.pool).Get(ctx, k.Tenant); err == nil && t.Erasing {
			return fault.Newf(fault.Invalid, "tenant: %q is erased", k.Tenant)
		}
	}
	b := new(pgx.Batch)
	b.Queue(sqlKeyAdd, k.ID, k.Name, k.Role, sum[:], k.CreatedAt, Storable(k.CreatedBy), k.ExpiresAt,
		Storable(k.Tenant))
	AuditAdd(ctx, b, AuditEntry{
		At: k.CreatedAt, Actor: k.CreatedBy, Action: "api_key.created", Subject: "api-key/" + k.ID, Detail: map[string]any{
			"name": k.Name, "role": k.Role, "tenant": k.Tenant, "expires_at": k.ExpiresAt,
		},
	})
	err := Write(ctx, s.pool, b)
	if Violates(err, UniqueViolation, "api_keys_name_key") {
		return fault.Newf(fault.Conflict,
			"name: there is or was a key %q; a name is used once, so that it identifies one key in the audit", k.Name)
	}
	if Violates(err, ForeignViolation, "") {
		return fault.Newf(fault.Invalid, "tenant: there is no tenant %.80q", k.Tenant)
	}
	return fault.Wrap(err, "create key %q", k.Name)
}

const sqlKeyColumns = `
    id, name, role, coalesce(tenant, ''), created_at, created_by, expires_at, revoked_at, last_used_at`

const sqlKeyList = `/* sqlKeyList */ SELECT ` + sqlKeyColumns + ` FROM api_keys ORDER BY created_at, id`

// List returns every key ever created, the oldest first.
func (s *Keys) List(ctx context.Context) ([]Key, error) {
	keys, err := Rows(ctx, s.pool, pgx.RowToStructByPos[Key], sqlKeyList)
	return keys, fault.Wrap(err, "list keys")
}

// A Lock is a key with the sum of its secret.
type Lock struct {
	Key
	Sum []byte
}

const sqlKeyLocks = `/* sqlKeyLocks */ SELECT ` + sqlKeyColumns + `, sum FROM api_keys`

// Locks returns every key by ID, including those that are revoked or expired.
func (s *Keys) Locks(ctx context.Context) (map[string]Lock, error) {
	list, err := Rows(ctx, s.pool, pgx.RowToStructByPos[Lock], sqlKeyLocks)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	locks := make(map[string]Lock, len(list))
	for _, l := range list {
		locks[l.ID] = l
	}
	return locks, nil
}

const sqlKeyRevoke = `/* sqlKeyRevoke */
UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING ` + sqlKeyColumns

const sqlKeyFind = `/* sqlKeyFind */
SELECT ` + sqlKeyColumns + ` FROM api_keys WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1`

// Revoke ends a key, by its ID or its name, for good. One that is revoked already stays as it is. An unknown one is
// fault.Gone.
func (s *Keys) Revoke(ctx context.Context, idOrName, actor string, now time.Time) (k Key, err error) {
	err = Tx(ctx, s.pool, func(tx pgx.Tx) error {
		k, err = Row(ctx, tx, pgx.RowToStructByPos[Key], sqlKeyFind, Storable(idOrName))
		if err != nil || k.RevokedAt != nil {
			return err
		}
		revoked, err := Rows(ctx, tx, pgx.RowToStructByPos[Key], sqlKeyRevoke, k.ID, now)
		if err != nil || len(revoked) == 0 { // revoked meanwhile
			return err
		}
		k = revoked[0]
		return AuditTx(ctx, tx, AuditEntry{
			At: now, Actor: actor, Action: "api_key.revoked", Subject: "api-key/" + k.ID,
			Detail: map[string]any{"name": k.Name},
		})
	})
	return k, Gone(fault.Wrap(err, "revoke key %.80q", idOrName), "there is no key with the ID or name %.80q", idOrName)
}

const sqlKeyUsed = `/* sqlKeyUsed */
UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`

// Used stores the last use of a key.
func (s *Keys) Used(ctx context.Context, id string, at time.Time) error {
	_, err := s.pool.Exec(ctx, sqlKeyUsed, id, at)
	return fault.Wrap(err, "note use of key %s", id)
}

// A Sealed is an encrypted value, and the ID of the key that opens it.
type Sealed struct {
	Key string
	Box []byte
}
