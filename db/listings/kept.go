package listings

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// keptMost is how many versions are kept at once: more than runs have steps under way in one process.
const keptMost = 512

// A keeper has versions of adverts that were never published as they were last stored, until the next step of their
// run, which mostly is the same process a moment later. That step need not read them, but tells with the version in
// which state the advert's row was: where that has changed since, it is refused, and reads.
type keeper struct {
	mu sync.Mutex
	of map[uuid.UUID]listing.Version
}

func newKeeper() *keeper { return &keeper{of: map[uuid.UUID]listing.Version{}} }

func (k *keeper) put(v listing.Version) {
	if v.Row == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of) >= keptMost {
		for id := range k.of { // any: its run reads it then
			delete(k.of, id)
			break
		}
	}
	k.of[v.Listing.ID()] = v
}

// Kept returns the version that Load would return, if it is known what that was a moment ago, and forgets it. JoinHome
// and Publish fail with listing.ErrMoved where it has changed since.
func (s *Listings) Kept(id uuid.UUID, revision int64) (listing.Version, bool) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	v, ok := s.kept.of[id]
	delete(s.kept.of, id)
	return v, ok && v.Revision == revision
}

// The columns of keptOf, of an advert whose normalized form was written: as in sqlRawLoad, where there is no listing,
// enrichment nor home that hides it, and the advert is neither gone nor another team's. Its row has another xmin after
// each change.
const sqlKeptColumns = `
    CASE WHEN r.staged OR r.gone_at IS NOT NULL OR EXISTS (SELECT FROM listings l WHERE l.id = r.id)
        OR EXISTS (SELECT FROM listing_enrichments e WHERE e.listing_id = r.id)
        OR EXISTS (SELECT FROM home_members m WHERE m.listing_id = r.id AND m.hidden) THEN '0'::xid ELSE r.xmin END,
    CASE WHEN r.revision = r.normalized_revision AND r.settled_revision < r.revision THEN r.revised_at END,
    r.last_scraped_at,
    CASE WHEN r.settled_revision >= r.normalized_revision THEN r.settlements ELSE 0 END`

// keptOf reads sqlKeptColumns, if there is a row, into v, whose listing is doc as it is read from Postgres.
func keptOf(v *listing.Version, doc []byte) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var row listing.Version
		var received *time.Time
		_, err := pgx.ForEachRow(rows, []any{&row.Row, &received, &row.ScrapedAt, &row.Pass}, func() error {
			if row.Row == 0 {
				return nil
			}
			row.Revision, row.ScrapedAt = v.Revision, row.ScrapedAt.UTC()
			if received != nil {
				row.ReceivedAt = received.UTC()
			}
			*v = row
			return json.Unmarshal(doc, &v.Listing)
		})
		return fault.Wrap(err, "read what was stored of a listing")
	}
}
