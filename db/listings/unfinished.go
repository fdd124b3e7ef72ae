package listings

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// What was scraped since $5, or is remembered by a scraper, and not removed is offered, as for sqlStale.
const sqlRawUnfinished = `/* sqlRawUnfinished */
WITH looked AS MATERIALIZED (
    SELECT revised_at, id FROM raw_listings
    WHERE settled_revision < revision AND revised_at < $1 AND (revised_at, id) > ($2, $3::uuid)
    ORDER BY revised_at, id LIMIT $4
)
SELECT k.revised_at, k.id, r.platform, r.platform_id, r.revision, coalesce(l.title, ''), l.rent_cents, r.staged,
    r.normalized_revision = r.revision, r.gone_at IS NULL AND (r.last_scraped_at >= $5 OR ` + sqlScraperKnows + `)
FROM looked k JOIN raw_listings r ON r.id = k.id LEFT JOIN listings l ON l.id = k.id
ORDER BY k.revised_at, k.id`

// UnfinishedListings returns the next n adverts after the cursor whose newest revision arrived before then and was not
// brought to its end, the oldest first. Fewer are the last. Those that are gone, or not scraped since and not
// remembered by a scraper, are not offered any more.
func (s *Listings) UnfinishedListings(ctx context.Context, before, since time.Time, after listing.Cursor, n int) (
	[]listing.Unfinished, error,
) {
	out, err := db.Rows(ctx, s.pool, func(row pgx.CollectableRow) (u listing.Unfinished, err error) {
		err = row.Scan(&u.Row.At, &u.Row.ID, &u.Ref.Platform, &u.Ref.PlatformID, &u.Revision, &u.Title, &u.RentCents,
			&u.Staged, &u.Normalized, &u.Offered)
		u.Row.At = u.Row.At.UTC()
		return u, err
	}, sqlRawUnfinished, before, after.At, after.ID, n, since)
	return out, fault.Wrap(err, "read unfinished adverts")
}

// The images of a listing that arrived together are not torn apart.
const sqlImagesUnfinished = `/* sqlImagesUnfinished */
WITH looked AS MATERIALIZED (
    SELECT created_at, listing_id, url FROM listing_images
    WHERE state = 'pending' AND created_at < $1 AND (created_at, listing_id) > ($2, $3::uuid)
    ORDER BY created_at, listing_id FETCH FIRST $4 ROWS WITH TIES
)
SELECT k.created_at, k.listing_id, l.platform, l.platform_id, k.url, i.sort_order, l.status <> 'archived'
FROM looked k JOIN listings l ON l.id = k.listing_id
    JOIN listing_images i ON i.listing_id = k.listing_id AND i.url = k.url
ORDER BY k.created_at, k.listing_id, i.sort_order`

// UnfinishedImages looks at the next n images after the cursor, and at all of the last one's listing, that were wanted
// before then and are pending, the oldest first. It returns those of listings that are not archived, and how far it has
// come: zero after the last.
func (s *Listings) UnfinishedImages(ctx context.Context, before time.Time, after listing.Cursor, n int) (
	out []listing.PendingImage, next listing.Cursor, err error,
) {
	rows, _ := s.pool.Query(ctx, sqlImagesUnfinished, before, after.At, after.ID, n)
	var (
		i      listing.PendingImage
		shown  bool
		looked int
	)
	_, err = pgx.ForEachRow(rows, []any{&i.Row.At, &i.Row.ID, &i.Ref.Platform, &i.Ref.PlatformID, &i.Image.URL,
		&i.Image.SortOrder, &shown}, func() error {
		looked++
		i.Row.At = i.Row.At.UTC()
		next = i.Row
		if shown {
			out = append(out, i)
		}
		return nil
	})
	if err != nil {
		return nil, after, fmt.Errorf("read unfinished images: %w", err)
	}
	if looked < n {
		next = listing.Cursor{}
	}
	return out, next, nil
}

// The newest of those that are late enough: what is not offered any more is old.
const sqlRawUnfinishedCount = `/* sqlRawUnfinishedCount */
SELECT count(*) FROM (
    SELECT id, staged OR normalized_revision = revision OR $3 AS ours,
        gone_at IS NULL AND (last_scraped_at >= $2 OR ` + sqlScraperKnows + `) AS offered
    FROM raw_listings r WHERE settled_revision < revision AND revised_at < $1 ORDER BY revised_at DESC LIMIT $4) r
WHERE ours AND offered`

const sqlImagesUnfinishedCount = `/* sqlImagesUnfinishedCount */
SELECT count(*) FROM (
    SELECT listing_id FROM listing_images WHERE state = 'pending' AND created_at < $1
    ORDER BY created_at DESC LIMIT $2) i
JOIN listings l ON l.id = i.listing_id WHERE l.status <> 'archived'`

// CountUnfinished counts what UnfinishedListings and UnfinishedImages return, among backlog.MostUnfinished of each.
// normalizes says that this deployment normalizes, and images that it fetches images: what waits for others is not
// counted.
func (s *Listings) CountUnfinished(ctx context.Context, before, since time.Time, normalizes, images bool) (
	n backlog.Unfinished, err error,
) {
	err = s.pool.QueryRow(ctx, sqlRawUnfinishedCount, before, since, normalizes, backlog.MostUnfinished).Scan(&n.Listings)
	if err == nil && images {
		err = s.pool.QueryRow(ctx, sqlImagesUnfinishedCount, before, backlog.MostUnfinished).Scan(&n.Images)
	}
	return n, fault.Wrap(err, "count unfinished adverts and images")
}
