package listings

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

// MostCounted is how far listings are counted: beyond it their number is the planner's estimate.
const MostCounted = 1000

// $13 and $14 are those of a page's position: none here.
const sqlListingsAll = `/* sqlListingsAll */ ` + sqlListingFilter + `$14::timestamptz IS NULL) LIMIT $15`

const sqlListingsCount = `/* sqlListingsCount */ SELECT count(*) FROM (` + sqlListingsAll + `) l`

const sqlListingsEstimate = `/* sqlListingsEstimate */ EXPLAIN (FORMAT JSON) ` + sqlListingsAll

// Count returns how many listings match a filter: exactly up to MostCounted, and above that about. Its Sort, After and
// Limit count for nothing. A text is as for Search.
func (s *Listings) Count(ctx context.Context, f ListingFilter) (n int64, exact bool, err error) {
	q, err := f.text()
	if err != nil {
		return 0, false, err
	}
	none := any(nil)
	read := func(on interface {
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}) error {
		if err := on.QueryRow(ctx, sqlListingsCount, f.args(q, nil, none, MostCounted+1)...).Scan(&n); err != nil {
			return err
		}
		if exact = n <= MostCounted; exact {
			return nil
		}
		var plan []byte
		if err := on.QueryRow(ctx, sqlListingsEstimate, f.args(q, nil, none, 1<<30)...).Scan(&plan); err != nil {
			return err
		}
		var doc []struct {
			Plan struct {
				Rows float64 `json:"Plan Rows"`
			}
		}
		if err := json.Unmarshal(plan, &doc); err != nil || len(doc) == 0 {
			return errors.Join(errors.New("read a plan"), err)
		}
		n = max(n, int64(doc[0].Plan.Rows))
		return nil
	}
	if f.Text != "" {
		err = s.searchText(ctx, q, func(tx pgx.Tx) error { return read(tx) })
	} else {
		err = read(s.pool)
	}
	return n, exact, db.Refused(fault.Wrap(err, "count listings"))
}

// text reads the text of a filter; the zero query without one.
func (f ListingFilter) text() (q textQuery, err error) {
	if f.Text == "" {
		return q, nil
	}
	return parseText(f.Text)
}

// A ListingCell is the listings of a square of the map.
type ListingCell struct {
	Longitude       float64 // of their middle
	Latitude        float64
	Count           int64
	MedianRentCents int64
	ID              *uuid.UUID // of the only one
}

const sqlListingCells = `/* sqlListingCells */
SELECT avg(longitude), avg(latitude), count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY rent_cents),
    CASE WHEN count(*) = 1 THEN min(id::text)::uuid END
FROM (` + sqlListingsAll + `) l
WHERE longitude IS NOT NULL AND latitude IS NOT NULL
GROUP BY floor(longitude / $25::float8), floor(latitude / $26::float8)
ORDER BY count(*) DESC LIMIT $27`

// mostMapped is how many listings are looked at for a map.
const mostMapped = 250_000

// Cells returns the listings of a filter by squares of the map, of a width and a height in degrees, the fullest first:
// at most limit. Listings without coordinates are in none.
func (s *Listings) Cells(ctx context.Context, f ListingFilter, width, height float64, limit int) (
	cells []ListingCell, err error,
) {
	q, err := f.text()
	if err != nil {
		return nil, err
	}
	args := append(f.args(q, nil, nil, mostMapped), width, height, limit)
	collectCells := func(rows pgx.Rows, _ error) error { // CollectRows reports the error
		cells, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ListingCell])
		return err
	}
	if f.Text != "" {
		err = s.searchText(ctx, q, func(tx pgx.Tx) error { return collectCells(tx.Query(ctx, sqlListingCells, args...)) })
	} else {
		err = collectCells(s.pool.Query(ctx, sqlListingCells, args...))
	}
	return cells, db.Refused(fault.Wrap(err, "map listings"))
}

// PlaceRents is the rents of the active listings of a neighbourhood.
type PlaceRents struct {
	Key         string
	Bedrooms    *int // 0 is a studio; nil = of any size
	Active      int64
	MedianCents int64
}

const sqlPlaceRents = `/* sqlPlaceRents */
SELECT neighbourhood, bedrooms, count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY rent_cents)
FROM listings WHERE status = 'active' AND neighbourhood IS NOT NULL AND property_type <> 'room'
GROUP BY GROUPING SETS ((neighbourhood), (neighbourhood, bedrooms))
ORDER BY neighbourhood, bedrooms NULLS FIRST`

// placesFor is for how long the rents of neighbourhoods stand: a statement that reads every active listing.
const placesFor = time.Minute

// placesRead are the rents of neighbourhoods at a time.
type placesRead struct {
	places []PlaceRents
	at     time.Time
}

// PlaceRents returns the rents of active listings by neighbourhood, and by bedrooms in each, as they were within the
// last minute: one caller at a time reads them. Rooms in shared homes are left out. Nobody changes what it returns.
func (s *Listings) PlaceRents(ctx context.Context) ([]PlaceRents, error) {
	var last placesRead
	select {
	case last = <-s.rents:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.rents <- last }()
	if now := time.Now(); now.Sub(last.at) > placesFor {
		places, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[PlaceRents], sqlPlaceRents)
		if err != nil {
			return nil, fault.Wrap(err, "read rents of neighbourhoods")
		}
		last = placesRead{places, now}
	}
	return last.places, nil
}
