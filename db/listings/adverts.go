package listings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// AdvertStatuses are those of adverts that are no listings. For the home of a duplicate another advert is shown.
var AdvertStatuses = []string{"rejected", "duplicate"}

// AdvertFilter says which of the adverts that are no listings to return. An empty string or slice and a zero time
// do not filter; of several values any will do.
type AdvertFilter struct {
	Status   []string // of AdvertStatuses; none: rejected
	Platform []string
	Code     []string  // of one of its reasons
	Since    time.Time // arrival of the newest revision, inclusive
	Text     string    // that stands in the title or the description, in any case, with accents or without
	After    *db.Position
	Limit    int // 1 to 100
}

// An AdvertSummary is an advert that is no listing.
type AdvertSummary struct {
	ListingID      uuid.UUID // of the listing that it would be
	Platform       string
	PlatformID     string
	URL            string
	Title          string // as the platform shows it; cut to 300 characters
	Status         string // of AdvertStatuses
	Reasons        []listing.Reason
	DuplicateOf    *uuid.UUID // the listing that is shown for its home
	Revision       int64      // counts different payloads
	RevisedAt      time.Time  // arrival of the newest revision
	FirstScrapedAt time.Time
	LastScrapedAt  time.Time
}

// Each status has an index of its own, on a column that nothing changes on the way of an advert that becomes a listing:
// an index with the status would make each of its updates write to all indexes of the table.
//
// Codes and a text are looked for in the 10,000 adverts of the platforms after the position, of both statuses together
// where both are meant: they have no index, and reading all adverts would take minutes. The last of them is among the
// rows whether it passes or not, for the list goes on after it.
const (
	sqlAdvertsRejected = `/* sqlAdvertsRejected */
SELECT ` + sqlAdvertsColumns + `, true, false ` + sqlAdvertsOfRejected + ` LIMIT $5`
	sqlAdvertsDuplicates = `/* sqlAdvertsDuplicates */
SELECT ` + sqlAdvertsColumns + `, true, false ` + sqlAdvertsOfDuplicates + ` LIMIT $5`
	sqlAdvertsBoth = `/* sqlAdvertsBoth */
SELECT * FROM ((` + sqlAdvertsRejected + `) UNION ALL (` + sqlAdvertsDuplicates + `)) a` + sqlAdvertsOrder + ` LIMIT $5`

	sqlAdvertsRejectedSome = `/* sqlAdvertsRejectedSome */ ` +
		sqlAdvertsSome + sqlAdvertsNextRejected + sqlAdvertsPassing
	sqlAdvertsDuplicatesSome = `/* sqlAdvertsDuplicatesSome */ ` +
		sqlAdvertsSome + sqlAdvertsNextDuplicates + sqlAdvertsPassing
	sqlAdvertsBothSome = `/* sqlAdvertsBothSome */ ` + sqlAdvertsSome + `
    SELECT * FROM ((` + sqlAdvertsNextRejected + `) UNION ALL (` + sqlAdvertsNextDuplicates + `)) a` +
		sqlAdvertsOrder + ` LIMIT 10000` + sqlAdvertsPassing

	sqlAdvertsNextRejected   = `/* sqlAdvertsNextRejected */ SELECT * ` + sqlAdvertsOfRejected + ` LIMIT 10000`
	sqlAdvertsNextDuplicates = `/* sqlAdvertsNextDuplicates */ SELECT * ` + sqlAdvertsOfDuplicates + ` LIMIT 10000`
	sqlAdvertsOfRejected     = sqlAdvertsAfter + ` AND status = 'rejected' AND refused_at IS NOT NULL` + sqlAdvertsOrder
	sqlAdvertsOfDuplicates   = sqlAdvertsAfter + ` AND status = 'duplicate' AND duplicate_of IS NOT NULL` + sqlAdvertsOrder
	sqlAdvertsAfter          = `FROM raw_listings
WHERE ($1::timestamptz IS NULL OR revised_at >= $1)
    AND ($2::uuid IS NULL OR (revised_at, id) < ($3::timestamptz, $2::uuid))
    AND ($4::text[] IS NULL OR platform = ANY ($4))`
	sqlAdvertsOrder = ` ORDER BY revised_at DESC, id DESC`

	sqlAdvertsSome = `SELECT ` + sqlAdvertsColumns + `, passes, place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY revised_at DESC, id DESC) AS place,
        ($6::text[] IS NULL OR EXISTS (SELECT FROM unnest($6) AS code
            WHERE reasons @> jsonb_build_array(jsonb_build_object('code', code))))
        AND ($7::text IS NULL OR strpos(lower(public.unaccent(concat_ws(E'\n',
            payload->>'title', payload->>'description', payload->'listing'->>'title',
            payload->'listing'->>'description'))), lower(public.unaccent($7))) > 0) AS passes
    FROM (`
	sqlAdvertsPassing = `) newest
) looked
WHERE passes OR place = 10000` + sqlAdvertsOrder + ` LIMIT $5`

	sqlAdvertsColumns = `id, platform, platform_id, url,
    left(coalesce(payload->>'title', payload->'listing'->>'title', ''), 300), status, reasons, duplicate_of, revision,
    revised_at, first_scraped_at, last_scraped_at`
)

// Adverts returns the page of adverts after f.After that are no listings, the newest revision first, and the position
// to go on from: nil when this was the last. Codes and a text are looked for in the next 10,000 only: where fewer
// than a page are found, the position is that of the last of them.
func (s *Listings) Adverts(ctx context.Context, f AdvertFilter) ([]AdvertSummary, *db.Position, error) {
	id, at := f.After.Keys()
	hidden := slices.Contains(f.Status, "duplicate")
	rejected := !hidden || slices.Contains(f.Status, "rejected")
	text, some := sqlAdvertsRejected, sqlAdvertsRejectedSome
	switch {
	case hidden && rejected:
		text, some = sqlAdvertsBoth, sqlAdvertsBothSome
	case hidden:
		text, some = sqlAdvertsDuplicates, sqlAdvertsDuplicatesSome
	}
	args := []any{db.Stated(f.Since), id, at, db.Among(f.Platform), f.Limit + 1}
	if len(f.Code)+len(f.Text) > 0 {
		text, args = some, append(args, db.Among(f.Code), db.Stated(f.Text))
	}
	rows, err := db.Rows(ctx, s.pool, scanAdvert, text, args...)
	found, next := db.CutLooked(rows, f.Limit, func(a AdvertSummary) db.Position {
		return db.Position{At: a.RevisedAt, ID: a.ListingID}
	})
	return found, next, fault.Wrap(err, "list adverts")
}

func scanAdvert(row pgx.CollectableRow) (r db.Looked[AdvertSummary], err error) {
	a := &r.Row
	return r, row.Scan(&a.ListingID, &a.Platform, &a.PlatformID, &a.URL, &a.Title, &a.Status, &a.Reasons, &a.DuplicateOf,
		&a.Revision, &a.RevisedAt, &a.FirstScrapedAt, &a.LastScrapedAt, &r.Passes, &r.Last)
}

// ReasonCount is how many adverts of a platform have a reason, by the day on which their newest revision came.
type ReasonCount struct {
	Day      time.Time // its start, UTC
	Platform string
	Code     string
	Adverts  int
}

// An advert with one code twice, for two fields, counts once.
const sqlAdvertReasons = `/* sqlAdvertReasons */
SELECT date_trunc('day', r.revised_at, 'UTC') AS day, r.platform, c.code, count(*)::int
FROM raw_listings r
CROSS JOIN LATERAL (SELECT DISTINCT e->>'code' AS code FROM jsonb_array_elements(r.reasons) e) c
WHERE r.status = 'rejected' AND r.refused_at IS NOT NULL AND r.revised_at >= $1
    AND ($2::text[] IS NULL OR r.platform = ANY ($2))
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

// AdvertReasons counts the adverts that are rejected now, by day, platform and code of the reason, in this order. An
// advert with several reasons counts with each.
func (s *Listings) AdvertReasons(ctx context.Context, since time.Time, platforms []string) ([]ReasonCount, error) {
	counts, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[ReasonCount], sqlAdvertReasons, since, db.Among(platforms))
	if err != nil {
		return nil, fmt.Errorf("count reasons: %w", err)
	}
	for i := range counts {
		counts[i].Day = counts[i].Day.UTC()
	}
	return counts, nil
}
