package db

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Sessions are the sessions of browsers. The table holds no secrets, only their sums.
type Sessions struct{ pool *pgxpool.Pool }

// NewSessions returns the sessions kept in pool.
func NewSessions(pool *pgxpool.Pool) *Sessions { return &Sessions{pool} }

// SessionIdle is how long a session lasts without a request.
const SessionIdle = 12 * time.Hour

// A Session is an exchange of credentials for a cookie.
type Session struct {
	ID        uuid.UUID // its name in the audit
	Caller    string
	KeyID     string      // of the API key that opened it; empty: a person, by OIDC
	KeySum    []byte      // of that key; empty, not nil, without one
	Role      access.Role // of a person; empty: that of the key, which is asked for at each request
	Tenant    string      // of a person; empty: of none, or that of the key
	CreatedAt time.Time
	UsedAt    time.Time // to about a minute
	EndsAt    time.Time // at the latest
}

const sqlSessionAdd = `/* sqlSessionAdd */
INSERT INTO sessions (sum, id, caller, key_id, key_sum, role, created_at, used_at, ends_at, caller_tenant)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// Few rows have ended at any time, so whoever opens a session deletes them. Idle ones go when their time is over.
const sqlSessionsExpire = `/* sqlSessionsExpire */
DELETE FROM sessions WHERE sum IN (SELECT sum FROM sessions WHERE ends_at <= $1 ORDER BY ends_at LIMIT 100)`

// Open stores a session with the sum of its secret, and an audit entry, and deletes some that have ended.
func (s *Sessions) Open(ctx context.Context, n Session, sum access.Sum) error {
	b := new(pgx.Batch)
	b.Queue(sqlSessionAdd, sum[:], n.ID, Storable(n.Caller), n.KeyID, n.KeySum, n.Role, n.CreatedAt, n.UsedAt, n.EndsAt,
		n.Tenant)
	b.Queue(sqlSessionsExpire, n.CreatedAt)
	AuditAdd(ctx, b, AuditEntry{
		At: n.CreatedAt, Actor: n.Caller, Action: "session.opened", Subject: "session/" + n.ID.String(),
		Detail: map[string]any{"ends_at": n.EndsAt},
	})
	return fault.Wrap(Write(ctx, s.pool, b), "open session of %s", n.Caller)
}

const sqlSessionColumns = `id, caller, key_id, key_sum, role, caller_tenant, created_at, used_at, ends_at`

const sqlSession = `/* sqlSession */ SELECT ` + sqlSessionColumns + ` FROM sessions WHERE sum = $1`

// Get returns the session of a secret by its sum, also one that has ended. An unknown one is fault.Gone.
func (s *Sessions) Get(ctx context.Context, sum access.Sum) (Session, error) {
	n, err := Row(ctx, s.pool, pgx.RowToStructByPos[Session], sqlSession, sum[:])
	return n, Gone(fault.Wrap(err, "read session"), "there is no such session")
}

const sqlSessionUsed = `/* sqlSessionUsed */ UPDATE sessions SET used_at = $2 WHERE sum = $1 AND used_at < $2`

// Used stores the last use of a session.
func (s *Sessions) Used(ctx context.Context, sum access.Sum, at time.Time) error {
	_, err := s.pool.Exec(ctx, sqlSessionUsed, sum[:], at)
	return fault.Wrap(err, "note use of a session")
}

const sqlSessionClose = `/* sqlSessionClose */
WITH closed AS (DELETE FROM sessions WHERE sum = $1 RETURNING id, caller)
INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
SELECT $2, caller, 'session.closed', 'session/' || id, '{}', $3, $4, $5 FROM closed`

// Close ends a session, with an audit entry. One that is not there is none to end.
func (s *Sessions) Close(ctx context.Context, sum access.Sum, at time.Time) error {
	args := append([]any{sum[:], at}, OriginOf(ctx).Args()...)
	_, err := s.pool.Exec(ctx, sqlSessionClose, args...)
	return fault.Wrap(err, "close session")
}

const sqlSessionsOpen = `/* sqlSessionsOpen */
SELECT ` + sqlSessionColumns + ` FROM sessions
WHERE ends_at > $1 AND used_at > $2 ORDER BY used_at DESC, id LIMIT 1000`

// List returns the sessions that are open at a time, the last used first, at most 1,000.
func (s *Sessions) List(ctx context.Context, at time.Time) ([]Session, error) {
	list, err := Rows(ctx, s.pool, pgx.RowToStructByPos[Session], sqlSessionsOpen, at, at.Add(-SessionIdle))
	return list, fault.Wrap(err, "list sessions")
}

const sqlSessionsEnd = `/* sqlSessionsEnd */
WITH ended AS (DELETE FROM sessions WHERE caller = $1 RETURNING id, caller)
INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
SELECT $2, $3, 'session.ended', 'session/' || id, jsonb_build_object('caller', caller), $4, $5, $6 FROM ended`

// End ends all sessions of a caller, with an audit entry each, and says how many there were.
func (s *Sessions) End(ctx context.Context, caller, actor string, at time.Time) (int64, error) {
	args := append([]any{Storable(caller), at, actor}, OriginOf(ctx).Args()...)
	tag, err := s.pool.Exec(ctx, sqlSessionsEnd, args...)
	return tag.RowsAffected(), fault.Wrap(err, "end sessions of %.80q", caller)
}
