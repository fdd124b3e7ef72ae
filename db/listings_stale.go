package db

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A listing is stale when its advert was not scraped since $1, is no longer offered by its platform, or has been
// rejected since before then: a listing whose advert was edited into something that cannot be published would stay
// visible for ever, for the advert is still scraped. Both rows are locked, so that a concurrent scrape is either
// visible here or sees the result; rows locked by others are left for the next time. There is no index on
// last_scraped_at: it would cost every scrape more than this scan costs every few hours.
const sqlListingsStale = `
SELECT l.id, l.platform, l.platform_id, l.revision, l.url, l.title, l.rent_cents, l.bedrooms, l.neighbourhood,
    l.updated_at
FROM listings l JOIN raw_listings r ON r.id = l.id
WHERE l.status = 'active' AND l.id > $2
    AND (r.last_scraped_at < $1 OR r.gone_at IS NOT NULL OR r.status = 'rejected' AND r.refused_at < $1)
ORDER BY l.id LIMIT $3
FOR UPDATE OF l, r SKIP LOCKED`

const sqlListingsArchive = `UPDATE listings SET status = 'archived', updated_at = $2 WHERE id = ANY ($1)`

// A rejected advert cannot be published again until it changes.
const sqlRawArchive = `
UPDATE raw_listings SET archived_at = $2 WHERE id = ANY ($1) AND status <> 'rejected'`

const sqlEventArchived = `
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
SELECT id, revision, 'status', $2, 'active', 'archived' FROM listings WHERE id = ANY ($1)`

// ArchiveStale archives up to n active listings with IDs after last whose advert is gone, or was not scraped or could
// not be published since before. The history and the listings.archived events are written in the same transaction.
// Claimed listings are left alone. It returns the ID of the last listing that it archived and their number: fewer than
// n are the last.
func (s *Listings) ArchiveStale(ctx context.Context, before time.Time, last uuid.UUID, n int, now time.Time) (
	next uuid.UUID, archived int, err error,
) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		rows, _ := tx.Query(ctx, sqlListingsStale, before, last, n)
		ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (uuid.UUID, error) {
			return listingTellArchived(b, row, now)
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		b.Queue(sqlEventArchived, ids, now)
		b.Queue(sqlListingsArchive, ids, now)
		b.Queue(sqlRawArchive, ids, now)
		next, archived = ids[len(ids)-1], len(ids)
		rememberTrace(ctx, b)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return last, 0, fmt.Errorf("archive stale listings: %w", err)
	}
	return next, archived, nil
}

// listingTellArchived queues the event of one row of sqlListingsStale. A listing may be archived any number of times at
// one revision; the time of its last change makes each event's ID its own.
func listingTellArchived(b *pgx.Batch, row pgx.CollectableRow, now time.Time) (uuid.UUID, error) {
	var (
		id            uuid.UUID
		ref           listing.Ref
		neighbourhood *string
		bedrooms      int
		since         time.Time
		data          contract.ListingData
	)
	err := row.Scan(&id, &ref.Platform, &ref.PlatformID, &data.Revision, &data.URL, &data.Title, &data.RentCents,
		&bedrooms, &neighbourhood, &since)
	if err != nil {
		return id, err
	}
	data.ListingID, data.PlatformID, data.Bedrooms = id.String(), ref.PlatformID, &bedrooms
	if neighbourhood != nil {
		data.Neighbourhood = *neighbourhood
	}
	return id, listingTell(b, contract.ListingArchived, ref, data, since.UTC().AppendFormat(nil, time.RFC3339Nano), now)
}

const sqlDuplicatesOrphaned = `
SELECT r.platform, r.platform_id, r.revision, coalesce(r.normalized ->> 'title', ''),
    (r.normalized ->> 'rent_cents')::bigint
FROM raw_listings r JOIN listings o ON o.id = r.duplicate_of
WHERE r.status = 'duplicate' AND o.status = 'archived' AND r.last_scraped_at >= $1
    AND r.gone_at IS NULL AND r.normalized_revision = r.revision AND r.id > $2
ORDER BY r.id LIMIT $3`

// OrphanedDuplicates returns up to n adverts with IDs after last that were scraped since, and were held back as
// duplicates of a listing that is archived now: their home may be shown again.
func (s *Listings) OrphanedDuplicates(ctx context.Context, since time.Time, last uuid.UUID, n int) (
	[]listing.Restart, error,
) {
	rows, _ := s.pool.Query(ctx, sqlDuplicatesOrphaned, since, last, n)
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r listing.Restart, err error) {
		r.Stage = listing.StageDedupe
		return r, row.Scan(&r.Ref.Platform, &r.Ref.PlatformID, &r.Revision, &r.Title, &r.RentCents)
	})
	if err != nil {
		return nil, fmt.Errorf("read duplicates of archived listings: %w", err)
	}
	return out, nil
}
