package listings

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sqlSavedWaits = `/* sqlSavedWaits */
SELECT EXISTS (SELECT FROM saved_queue WHERE not_before IS NULL OR not_before <= $1),
    EXISTS (SELECT FROM saved_deliveries WHERE state = 'waiting' AND due_at <= $1)
        OR EXISTS (SELECT FROM saved_deliveries WHERE state = 'started' AND started_at <= $2)`

// Waiting says for whom there may be something to do.
type Waiting struct {
	Events  bool // SavedMatcher.Next
	Notices bool // Begin, whose plan alone costs many times what this look does
}

// Waits looks for events and notices that wait. It is one transaction that writes nothing.
func (s *Saved) Waits(ctx context.Context, before, now time.Time) (Waiting, error) {
	waits, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[Waiting], sqlSavedWaits, now, before))
	return waits, fault.Wrap(err, "look for events and notices that wait")
}
