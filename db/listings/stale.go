package listings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// An advert r that a scraper of ours remembers, and has not found to be gone, is offered though it was not scraped for
// long: the scraper had no request to spare for it, or could not look. Not that of a disabled platform: nobody will
// look. Whatever asks whether an advert is still offered asks this as well.
const sqlScraperKnows = `
    EXISTS (SELECT FROM platforms p WHERE p.name = r.platform AND coalesce(p.set_enabled, p.enabled) AND (
        EXISTS (SELECT FROM platform_adverts a
            WHERE a.platform = r.platform AND a.platform_id = r.platform_id AND a.gone_at IS NULL)
        OR EXISTS (SELECT FROM platform_units u JOIN platform_adverts a USING (platform, platform_id)
            WHERE u.listing_id = r.id AND a.gone_at IS NULL)))`

// A listing is stale when its advert was not scraped since $1, is no longer offered by its platform, or has been
// rejected since before then: a listing whose advert was edited into something that cannot be published would stay
// visible for ever, for the advert is still scraped.
const sqlStale = `(r.last_scraped_at < $1 AND NOT ` + sqlScraperKnows + ` OR r.gone_at IS NOT NULL
    OR r.status = 'rejected' AND r.refused_at < $1)`

// The stale ones of the next $4 active listings, the newest first, at most $5 of them, and how far that is: the last of
// $5, or else the last that was looked at. Nothing is locked. There is no index on last_scraped_at, which would cost
// every scrape more than this costs every few hours.
const sqlListingsStale = `/* sqlListingsStale */
WITH looked AS MATERIALIZED (
    SELECT published_at, id FROM listings
    WHERE status = 'active' AND (published_at, id) < (coalesce($2, 'infinity'::timestamptz), $3::uuid)
    ORDER BY published_at DESC, id DESC LIMIT $4
), stale AS MATERIALIZED (
    SELECT k.published_at, k.id FROM looked k JOIN raw_listings r ON r.id = k.id WHERE ` + sqlStale + `
    ORDER BY k.published_at DESC, k.id DESC LIMIT $5
)
SELECT published_at, id, ARRAY(SELECT id FROM stale) FROM (
    SELECT * FROM stale WHERE (SELECT count(*) FROM stale) = $5
    UNION ALL
    SELECT * FROM looked WHERE (SELECT count(*) FROM stale) < $5) p
ORDER BY published_at, id LIMIT 1`

// Both rows are locked, and looked at again, so that a concurrent scrape is either visible here or sees the result;
// rows locked by others are left for the next time.
const sqlListingsStaleLock = `/* sqlListingsStaleLock */
SELECT l.id, l.platform, l.platform_id, l.revision, l.url, l.title, l.rent_cents, l.bedrooms, l.neighbourhood,
    l.updated_at
FROM listings l JOIN raw_listings r ON r.id = l.id
WHERE l.id = ANY ($2) AND l.status = 'active' AND ` + sqlStale + `
ORDER BY l.id
FOR UPDATE OF l, r SKIP LOCKED`

const sqlListingsArchive = `/* sqlListingsArchive */
UPDATE listings SET status = 'archived', updated_at = $2 WHERE id = ANY ($1)`

// A rejected advert cannot be published again until it changes.
const sqlRawArchive = `/* sqlRawArchive */
UPDATE raw_listings SET archived_at = $2 WHERE id = ANY ($1) AND status <> 'rejected'`

const sqlEventArchived = `/* sqlEventArchived */
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
SELECT id, revision, 'status', $2, 'active', 'archived' FROM listings WHERE id = ANY ($1)`

// ArchiveStale looks at the next n.Look active listings after the cursor, the newest first, and archives those whose
// advert is gone, or was not scraped or could not be published since before: at most n.Take. The history and the
// listings.archived events are written in the same transaction. Claimed listings are left alone. It returns how far it
// has come, zero after the last, and the number of archived listings.
func (s *Listings) ArchiveStale(ctx context.Context, before time.Time, after listing.Cursor, n listing.Window,
	now time.Time) (next listing.Cursor, archived int, err error) {
	var stale []uuid.UUID
	err = s.pool.QueryRow(ctx, sqlListingsStale, before, db.Stated(after.At), after.ID, n.Look, n.Take).
		Scan(&next.At, &next.ID, &stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return listing.Cursor{}, 0, nil
	}
	if err == nil && len(stale) > 0 {
		archived, err = s.archive(ctx, before, stale, now)
	}
	if err != nil {
		return after, 0, fmt.Errorf("archive stale listings: %w", err)
	}
	next.At = next.At.UTC()
	return next, archived, nil
}

// archive archives those of the listings that are stale still.
func (s *Listings) archive(ctx context.Context, before time.Time, stale []uuid.UUID, now time.Time) (n int, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		ids, err := db.Rows(ctx, tx, func(row pgx.CollectableRow) (uuid.UUID, error) {
			return listingTellArchived(b, row, now)
		}, sqlListingsStaleLock, before, stale)
		if n = len(ids); err != nil || n == 0 {
			return err
		}
		b.Queue(sqlEventArchived, ids, now)
		b.Queue(sqlStepsArchived, ids, now)
		b.Queue(sqlListingsArchive, ids, now)
		b.Queue(sqlRawArchive, ids, now)
		db.RememberTrace(ctx, b)
		return tx.SendBatch(ctx, b).Close()
	})
	return n, err
}

// listingTellArchived queues the event of one row of sqlListingsStaleLock. A listing may be archived any number of
// times at one revision; the time of its last change makes each event's ID its own.
func listingTellArchived(b *pgx.Batch, row pgx.CollectableRow, now time.Time) (uuid.UUID, error) {
	id, ref, data, since, err := listingRow(row)
	if err != nil {
		return id, err
	}
	return id, listingTell(b, contract.ListingArchived, ref, data, since.UTC().AppendFormat(nil, time.RFC3339Nano), now)
}

// listingRow reads what an event says of a listing from a row with the columns of sqlListingsStaleLock.
func listingRow(row pgx.CollectableRow) (id uuid.UUID, ref listing.Ref, data contract.ListingData, since time.Time,
	err error) {
	var neighbourhood *string
	var bedrooms int
	err = row.Scan(&id, &ref.Platform, &ref.PlatformID, &data.Revision, &data.URL, &data.Title, &data.RentCents,
		&bedrooms, &neighbourhood, &since)
	if err != nil {
		return id, ref, data, since, err
	}
	data.ListingID, data.PlatformID, data.Bedrooms = id.String(), ref.PlatformID, &bedrooms
	if neighbourhood != nil {
		data.Neighbourhood = *neighbourhood
	}
	return id, ref, data, since, nil
}

// Those of the next $3 duplicates after those of the listing $2 which are to be judged again: their original is
// archived or was never published, or has changed since they were judged, unless a person put them there. At most $4,
// or all of the listing with which there are as many; and how far that is. A listing's duplicates are not torn apart,
// so that its ID is a place to go on from.
const sqlDuplicatesOrphaned = `/* sqlDuplicatesOrphaned */
WITH looked AS MATERIALIZED (
    SELECT duplicate_of, id FROM raw_listings WHERE duplicate_of > $2
    ORDER BY duplicate_of FETCH FIRST $3 ROWS WITH TIES
), orphaned AS MATERIALIZED (
    SELECT k.duplicate_of, k.id
    FROM looked k JOIN raw_listings r ON r.id = k.id
    LEFT JOIN listings o ON o.id = k.duplicate_of
    LEFT JOIN home_members m ON m.listing_id = k.id
    WHERE (o.id IS NULL OR o.status = 'archived' OR m.hidden AND NOT m.pinned AND m.against <> o.revision)
        AND r.status = 'duplicate' AND r.gone_at IS NULL AND r.normalized_revision = r.revision
        AND (r.last_scraped_at >= $1 OR ` + sqlScraperKnows + `)
    ORDER BY k.duplicate_of FETCH FIRST $4 ROWS WITH TIES
)
SELECT duplicate_of, ARRAY(SELECT id FROM orphaned) FROM (
    SELECT duplicate_of FROM orphaned WHERE (SELECT count(*) FROM orphaned) >= $4
    UNION ALL
    SELECT duplicate_of FROM looked WHERE (SELECT count(*) FROM orphaned) < $4) p
ORDER BY duplicate_of DESC LIMIT 1`

// sqlRestart is what is read of adverts that are to go through dedupe and import.
const sqlRestart = `platform, platform_id, revision, coalesce(normalized ->> 'title', ''),
    (normalized ->> 'rent_cents')::bigint
FROM raw_listings`

func scanRestart(row pgx.CollectableRow) (r listing.Restart, err error) {
	r.Stage = listing.StageDedupe
	return r, row.Scan(&r.Ref.Platform, &r.Ref.PlatformID, &r.Revision, &r.Title, &r.RentCents)
}

const sqlDuplicates = `/* sqlDuplicates */
SELECT ` + sqlRestart + ` WHERE id = ANY ($1) AND status = 'duplicate' ORDER BY id`

// OrphanedDuplicates looks at the next n.Look duplicates of listings with IDs after last. It returns those that are
// offered, scraped since or remembered by a scraper, and whose listing is archived now, or has changed, some n.Take at
// most: their home may be shown again.
// next is the last listing whose duplicates it has looked at; zero after the last.
func (s *Listings) OrphanedDuplicates(ctx context.Context, since time.Time, last uuid.UUID, n listing.Window) (
	found []listing.Restart, next uuid.UUID, err error,
) {
	var ids []uuid.UUID
	err = s.pool.QueryRow(ctx, sqlDuplicatesOrphaned, since, last, n.Look, n.Take).Scan(&next, &ids)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, uuid.Nil, nil
	}
	if err == nil && len(ids) > 0 {
		found, err = db.Rows(ctx, s.pool, scanRestart, sqlDuplicates, ids)
	}
	if err != nil {
		return nil, last, fmt.Errorf("read duplicates of archived listings: %w", err)
	}
	return found, next, nil
}
