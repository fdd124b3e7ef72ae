package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/listing"
)

// Staleness are the activities that archive listings whose adverts are no longer seen.
type Staleness struct {
	Store StaleStore
	Start Starter
	After time.Duration // without a scrape, after which a listing is stale
	Now   func() time.Time
}

// StaleStore has the database methods of the staleness check. Each write is one transaction with its events.
type StaleStore interface {
	ArchiveStale(ctx context.Context, before time.Time, after listing.Cursor, n listing.Window, now time.Time) (
		next listing.Cursor, archived int, err error)
	OrphanedDuplicates(ctx context.Context, since time.Time, last uuid.UUID, n listing.Window) (
		found []listing.Restart, next uuid.UUID, err error)
}

// StaleBatch is where a batch of a step of the staleness check begins, and its count.
type StaleBatch struct {
	At   time.Time `json:"at,omitzero"`   // of the row before it, where the order has a time
	Last uuid.UUID `json:"last,omitzero"` // the row before it
	Done int       `json:"done"`          // archived, or started
	More bool      `json:"more,omitempty"`
}

func (b StaleBatch) cursor() listing.Cursor { return listing.Cursor{At: b.At, ID: b.Last} }

// staleBatch is a batch that has come to next: the zero Cursor is the end.
func staleBatch(next listing.Cursor, done int) StaleBatch {
	return StaleBatch{At: next.At, Last: next.ID, Done: done, More: next != listing.Cursor{}}
}

// What one batch looks at takes well under a second, and locks only the rows that it archives.
var (
	staleWindow     = listing.Window{Look: 5000, Take: 500}
	duplicateWindow = listing.Window{Look: 5000, Take: 100}
)

// ArchiveStaleListings archives those of the next active listings whose advert was not seen for After. Claimed ones are
// left alone. It is idempotent.
func (a *Staleness) ArchiveStaleListings(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	now := a.Now()
	next, n, err := a.Store.ArchiveStale(ctx, now.Add(-a.After), b.cursor(), staleWindow, now)
	return staleBatch(next, n), err
}

// RestartDuplicates takes adverts through the pipeline again that are still seen, and were held back as duplicates of
// a listing that is archived now. It reads the state of all listings, not only of those just archived: duplicates that
// an earlier check has not restarted are restarted by the next.
func (a *Staleness) RestartDuplicates(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	list, next, err := a.Store.OrphanedDuplicates(ctx, a.Now().Add(-a.After), b.Last, duplicateWindow)
	if err != nil {
		return StaleBatch{}, err
	}
	return staleBatch(listing.Cursor{ID: next}, len(list)), restart(ctx, a.Start, list)
}
