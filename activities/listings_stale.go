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
	ArchiveStale(ctx context.Context, before time.Time, last uuid.UUID, n int, now time.Time) (
		next uuid.UUID, archived int, err error)
	OrphanedDuplicates(ctx context.Context, since time.Time, last uuid.UUID, n int) ([]listing.Restart, error)
}

// StaleBatch is where a batch of the staleness check begins, and its count.
type StaleBatch struct {
	Last uuid.UUID `json:"last,omitzero"` // the listing before it
	Done int       `json:"done"`          // archived, or started
	More bool      `json:"more,omitempty"`
}

const (
	staleAtOnce      = 500
	duplicatesAtOnce = 100
)

// ArchiveStaleListings archives the next active listings whose advert was not seen for After. Claimed ones are left
// alone. It is idempotent.
func (a *Staleness) ArchiveStaleListings(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	now := a.Now()
	next, n, err := a.Store.ArchiveStale(ctx, now.Add(-a.After), b.Last, staleAtOnce, now)
	return StaleBatch{Last: next, Done: n, More: n == staleAtOnce}, err
}

// RestartDuplicates takes adverts through the pipeline again that are still seen, and were held back as duplicates of
// a listing that is archived now. It reads the state of all listings, not only of those just archived: duplicates that
// an earlier check has not restarted are restarted by the next.
func (a *Staleness) RestartDuplicates(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	list, err := a.Store.OrphanedDuplicates(ctx, a.Now().Add(-a.After), b.Last, duplicatesAtOnce)
	if err != nil || len(list) == 0 {
		return StaleBatch{}, err
	}
	last := list[len(list)-1].Ref.ID()
	return StaleBatch{Last: last, Done: len(list), More: len(list) == duplicatesAtOnce}, restart(ctx, a.Start, list)
}
