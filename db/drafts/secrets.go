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

// A request that has its draft, or was canceled, needs no secrets. Of a request that is sent again the last ones count:
// those before may have let nobody in.
const sqlDraftSecretsAdd = `/* sqlDraftSecretsAdd */
INSERT INTO draft_secrets AS s (event_id, box_key, box, sealed_at)
SELECT $1, $2, $3, $4
WHERE NOT EXISTS (SELECT FROM product_drafts WHERE event_id = $1)
    AND NOT EXISTS (SELECT FROM draft_cancels WHERE event_id = $1)
ON CONFLICT (event_id) DO UPDATE SET box_key = excluded.box_key, box = excluded.box, sealed_at = excluded.sealed_at`

// SealDraft keeps the sealed draft.Secrets of a request until its draft is stored, it is canceled, or its dead letter
// is discarded; of one that has come to its end it keeps nothing.
func (s *Drafts) SealDraft(ctx context.Context, event uuid.UUID, sealed db.Sealed, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlDraftTurn, draft.WorkflowID(event))
	b.Queue(sqlDraftSecretsAdd, event, sealed.Key, sealed.Box, now)
	return fault.Wrap(db.Write(ctx, s.pool, b), "store secrets of crawl request %s", event)
}

const sqlDraftSecretsGet = `/* sqlDraftSecretsGet */ SELECT box_key, box FROM draft_secrets WHERE event_id = $1`

// SealedDraft returns the sealed draft.Secrets of a request. Those that are gone are fault.Gone.
func (s *Drafts) SealedDraft(ctx context.Context, event uuid.UUID) (sealed db.Sealed, err error) {
	err = s.pool.QueryRow(ctx, sqlDraftSecretsGet, event).Scan(&sealed.Key, &sealed.Box)
	return sealed, db.Gone(fault.Wrap(err, "read secrets of crawl request %s", event),
		"the headers and cookies of crawl request %s are gone: request it again", event)
}

const sqlDraftSecretsDelete = `/* sqlDraftSecretsDelete */ DELETE FROM draft_secrets WHERE event_id = $1`
