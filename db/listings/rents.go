package listings

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
)

// RentQuery says which rents are counted, and how they are grouped.
type RentQuery struct {
	Since, Until time.Time // first publication, [Since, Until)
	Interval     string    // week month quarter
	By           string    // borough neighbourhood
	Bedrooms     []int     // any of them; nil = all
	PropertyType string    // "" = every home; rooms in shared homes are none
	Least        int       // groups of fewer homes are left out
}

// RentGroup is the rents asked for the homes of one place and number of bedrooms whose listing was published first in
// one interval.
type RentGroup struct {
	From      time.Time // start of the interval, UTC
	Place     string    // key of the neighbourhood, or name of the borough; "" = not known
	Bedrooms  int       // 0 is a studio
	Listings  int       // one a home
	LowCents  int64     // first quartile, CAD cents a month
	MidCents  int64     // median
	HighCents int64     // third quartile
}

// Adverts of one home count as one: the one that is shown, else the last one.
const (
	sqlHomeJoins = `LEFT JOIN home_members m ON m.listing_id = l.id LEFT JOIN homes h ON h.id = m.home_id`
	sqlHomeKey   = `coalesce(m.home_id, l.id)`
	sqlHomeFirst = sqlHomeKey + `, (h.shown = l.id) IS TRUE DESC, l.published_at DESC, l.id`
)

// The rent is the last one asked. Archived listings count: they were offered. percentile_disc is a rent that somebody
// asks.
const sqlRents = `/* sqlRents */
SELECT since, place, bedrooms, listings, rents[1], rents[2], rents[3]
FROM (
    SELECT date_trunc($3, l.published_at, 'UTC') AS since,
        coalesce(CASE WHEN $4 = 'borough' THEN n.borough ELSE l.neighbourhood END, '') AS place, l.bedrooms,
        count(*)::int AS listings,
        percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY l.rent_cents) AS rents
    FROM (
        SELECT DISTINCT ON (` + sqlHomeKey + `) l.published_at, l.neighbourhood, l.bedrooms, l.rent_cents
        FROM listings l ` + sqlHomeJoins + `
        WHERE l.published_at >= $1 AND l.published_at < $2 AND ($5::int[] IS NULL OR l.bedrooms = ANY ($5))
            AND CASE WHEN $6::text IS NULL THEN l.property_type <> 'room' ELSE l.property_type = $6 END
        ORDER BY ` + sqlHomeFirst + `
    ) l LEFT JOIN neighbourhoods n ON n.key = l.neighbourhood
    GROUP BY 1, 2, 3
) g WHERE listings >= $7 ORDER BY since, place, bedrooms`

// Rents returns what was asked, by interval, place and bedrooms, in this order.
func (s *Listings) Rents(ctx context.Context, q RentQuery) ([]RentGroup, error) {
	groups, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[RentGroup],
		sqlRents, q.Since, q.Until, q.Interval, q.By, q.Bedrooms, db.Stated(q.PropertyType), q.Least)
	if err != nil {
		return nil, fmt.Errorf("read rents: %w", err)
	}
	for i := range groups {
		groups[i].From = groups[i].From.UTC()
	}
	return groups, nil
}
