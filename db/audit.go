package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// AuditLog records the actions of callers. Rows are only ever added.
type AuditLog struct{ pool *pgxpool.Pool }

// NewAuditLog returns the audit kept in pool.
func NewAuditLog(pool *pgxpool.Pool) *AuditLog { return &AuditLog{pool} }

// An AuditEntry records one action of an operator.
type AuditEntry struct {
	At      time.Time
	Actor   string // name of the API key, or subject of the token
	Action  string // noun.past-tense: dead_letter.replayed
	Subject string // that it was done to: dead-letter/12
	Detail  any    // JSON; nil is {}. Never secrets or personal data
}

const sqlAuditAdd = `INSERT INTO audit (at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5)`

// auditAdd queues an entry into the transaction of the action that it records.
func auditAdd(b *pgx.Batch, d AuditEntry) error {
	detail := []byte("{}")
	if d.Detail != nil {
		var err error
		if detail, err = json.Marshal(d.Detail); err != nil {
			return fmt.Errorf("write audit of %s: %w", d.Subject, err)
		}
	}
	b.Queue(sqlAuditAdd, d.At, storable(d.Actor), d.Action, storable(d.Subject), detail)
	return nil
}

// Record stores an entry for an action that has no transaction of its own, such as the start of a workflow.
func (s *AuditLog) Record(ctx context.Context, d AuditEntry) error {
	b := new(pgx.Batch)
	if err := auditAdd(b, d); err != nil {
		return err
	}
	if err := write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("record %s of %s: %w", d.Action, d.Subject, err)
	}
	return nil
}
