package drafts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A draft is stored and its request canceled one at a time, by the ID of its workflow: one of the two is the outcome.
const sqlDraftTurn = `/* sqlDraftTurn */ SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`

const sqlDraftCancelFind = `/* sqlDraftCancelFind */
SELECT EXISTS (SELECT FROM draft_cancels WHERE event_id = $1), EXISTS (SELECT FROM product_drafts WHERE event_id = $1),
    EXISTS (SELECT FROM draft_requests WHERE event_id = $1)`

const sqlDraftCancelAdd = `/* sqlDraftCancelAdd */
INSERT INTO draft_cancels (event_id, canceled_by, canceled_at) VALUES ($1, $2, $3)`

// CancelDraft calls a crawl request off: from its commit on no draft is stored for it, and its message is dropped when
// it is consumed. running says that it has a workflow or a dead letter, which is how one that came through RabbitMQ is
// known. Its dead letters are resolved, and its secrets deleted. A request that is canceled already stays as it is;
// one with a draft is fault.Conflict, and one that is not known fault.Gone.
func (s *Drafts) CancelDraft(ctx context.Context, event uuid.UUID, running bool, by string, now time.Time) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlDraftTurn, draft.WorkflowID(event)); err != nil {
			return err
		}
		var canceled, made, requested bool
		if err := tx.QueryRow(ctx, sqlDraftCancelFind, event).Scan(&canceled, &made, &requested); err != nil {
			return err
		}
		switch {
		case canceled:
			return nil
		case made:
			return fault.Newf(fault.Conflict, "crawl request %s has its draft: %s", event, draft.ID(event))
		case !requested && !running:
			return fault.Newf(fault.Gone, "there is no crawl request %s", event)
		}
		b := new(pgx.Batch)
		b.Queue(sqlDraftCancelAdd, event, db.Storable(by), now)
		b.Queue(sqlDraftResolve, draft.WorkflowID(event), event.String())
		b.Queue(sqlDraftSecretsDelete, event)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: by, Action: "crawl_request.canceled", Subject: "crawl-request/" + event.String(),
		})
		return tx.SendBatch(ctx, b).Close()
	})
	return fault.Wrap(err, "cancel crawl request")
}

const sqlDraftCanceled = `/* sqlDraftCanceled */ SELECT EXISTS (SELECT FROM draft_cancels WHERE event_id = $1)`

const sqlDraftSettled = `/* sqlDraftSettled */
SELECT EXISTS (SELECT FROM draft_cancels WHERE event_id = $1)
    OR EXISTS (SELECT FROM product_drafts WHERE event_id = $1)`

// DraftSettled says whether a crawl request has come to its end: its draft is stored, or it was called off.
func (s *Drafts) DraftSettled(ctx context.Context, event uuid.UUID) (settled bool, err error) {
	err = s.pool.QueryRow(ctx, sqlDraftSettled, event).Scan(&settled)
	return settled, fault.Wrap(err, "read outcome of %s", event)
}
