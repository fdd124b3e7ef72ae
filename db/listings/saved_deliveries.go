package listings

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// DeliveryStates are the states of a message to a target.
var DeliveryStates = []string{"waiting", "started", "sent", "failed", "dropped"}

// A SavedDelivery is a message to a target of a search, without its address.
type SavedDelivery struct {
	ID         uuid.UUID
	Target     uuid.UUID
	Kind       saved.Channel
	Label      string // of the target
	Stands     string // state of the target
	State      string // of DeliveryStates
	DueAt      time.Time
	Tries      int    // that have failed
	Reason     string // of the last failure, or why it was dropped
	Items      int    // events that it tells of
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// Of each target the newest are read by the index on target and time.
const sqlSavedDeliveries = `/* sqlSavedDeliveries */
SELECT d.id, t.id, t.kind, t.label, t.state, d.state, d.due_at, d.tries, d.reason,
    (SELECT count(*) FROM saved_items i WHERE i.delivery = d.id), d.started_at, d.finished_at
FROM saved_targets t CROSS JOIN LATERAL (
    SELECT * FROM saved_deliveries WHERE target = t.id AND ($3::text[] IS NULL OR state = ANY ($3))
        AND ($4::timestamptz IS NULL OR (due_at, id) < ($4, $5::uuid))
    ORDER BY due_at DESC, id DESC LIMIT $6) d
WHERE t.tenant = $1 AND t.search = $2 ORDER BY d.due_at DESC, d.id DESC LIMIT $6`

// Deliveries returns up to limit deliveries of a search, those that are due last first, after a position, and the
// position of the next page. States may be nil: of any state. An unknown search is fault.Gone.
func (s *Saved) Deliveries(ctx context.Context, tenant string, search uuid.UUID, states []string, after *db.Position,
	limit int) ([]SavedDelivery, *db.Position, error) {
	if _, err := db.One(db.TenantRows(ctx, s.pool, tenant, scanSaved, sqlSavedRead, tenant, search)); err != nil {
		return nil, nil, savedFault(err, "read", search)
	}
	var at *time.Time
	var id *uuid.UUID
	if after != nil {
		at, id = &after.At, &after.ID
	}
	found, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[SavedDelivery], sqlSavedDeliveries, tenant,
		search, db.Among(states), at, id, limit+1)
	found, next := db.CutPage(found, limit, func(d SavedDelivery) db.Position {
		return db.Position{At: d.DueAt, ID: d.ID}
	})
	return found, next, fault.Wrap(err, "list deliveries of saved search %s", search)
}

const sqlSavedMatches = `/* sqlSavedMatches */
SELECT ` + sqlSavedItemColumns + `
FROM (SELECT * FROM saved_matches WHERE search = $1 AND ($2::bigint IS NULL OR event < $2)
    ORDER BY event DESC LIMIT $3) m
` + sqlSavedItemJoins + `
ORDER BY m.event DESC`

// Matches returns up to limit pieces of news of a search, one an event, the newest first, before an event, and the
// event of the last one where there are more. An unknown search is fault.Gone.
func (s *Saved) Matches(ctx context.Context, tenant string, search uuid.UUID, before *int64, limit int) (
	[]saved.Item, *int64, error,
) {
	if _, err := db.One(db.TenantRows(ctx, s.pool, tenant, scanSaved, sqlSavedRead, tenant, search)); err != nil {
		return nil, nil, savedFault(err, "read", search)
	}
	found, err := db.TenantRows(ctx, s.pool, tenant, scanSavedItem, sqlSavedMatches, search, before, limit+1)
	found, next := db.CutPage(found, limit, func(i saved.Item) int64 { return i.Events[0] })
	return found, next, fault.Wrap(err, "list matches of saved search %s", search)
}
