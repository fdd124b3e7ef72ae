package db

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// SQLFlowInto begins a statement that counts into the flow. The parenthesis is left open, for the test that prepares
// whole statements.
const SQLFlowInto = `INSERT INTO flow AS f (minute, line, station, outcome, source, took, backend, n`

// SQLFlowAdd ends it.
const SQLFlowAdd = ` ON CONFLICT (minute, line, station, outcome, source, took, backend) DO UPDATE SET n = f.n + excluded.n`

// Between the two is how long something took, an interval. Logarithms of numeric would be slow, and an advert has some.
const (
	SQLTook    = `least(120, round(4 / ln(2::float8) * ln(greatest(1, 1000 * extract(epoch FROM `
	SQLTookEnd = `))::float8)))::smallint`
)

// Flow is what passed through the stations of the pipelines.
type Flow struct{ pool *pgxpool.Pool }

// NewFlow returns the flow counted in pool.
func NewFlow(pool *pgxpool.Pool) *Flow { return &Flow{pool} }

// A FlowCount is what left a station with an outcome.
type FlowCount struct {
	Line    string // listings
	Station string
	Outcome string
	Source  string // a platform
	Took    int    // -1 = not measured; see TookMillis
	N       int64
}

const sqlFlow = `/* sqlFlow */
SELECT line, station, outcome, source, took::int, sum(n)::bigint FROM flow
WHERE minute >= $1 AND minute < $2 AND line = 'listings' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`

// Between returns the counts of the line of listings in whole minutes, [since, until).
func (s *Flow) Between(ctx context.Context, since, until time.Time) ([]FlowCount, error) {
	counts, err := Rows(ctx, s.pool, pgx.RowToStructByPos[FlowCount], sqlFlow, since, until)
	return counts, fault.Wrap(err, "read flow")
}

// TookMillis is the time that Took stands for, within a tenth.
func (c FlowCount) TookMillis() int64 { return int64(math.Round(math.Exp2(float64(c.Took) / 4))) }

// Rows of one key cannot be taken twice: whoever comes second finds none.
const sqlFlowRoll = `/* sqlFlowRoll */
WITH apart AS (
    DELETE FROM flow WHERE ctid IN (
        SELECT ctid FROM flow WHERE minute < $1 AND backend <> 0 ORDER BY minute LIMIT 10000 FOR UPDATE SKIP LOCKED)
    RETURNING minute, line, station, outcome, source, took, n
)
` + SQLFlowInto + `)
SELECT minute, line, station, outcome, source, took, 0, sum(n) FROM apart GROUP BY 1, 2, 3, 4, 5, 6` + SQLFlowAdd

const sqlFlowExpire = `/* sqlFlowExpire */ DELETE FROM flow WHERE minute < $1`

// Tidy adds up the rows of the connections for the minutes before rolled, and deletes the minutes before kept.
func (s *Flow) Tidy(ctx context.Context, rolled, kept time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlFlowRoll, rolled)
	b.Queue(sqlFlowExpire, kept)
	return fault.Wrap(Write(ctx, s.pool, b), "tidy flow")
}

// A FeedRow is something that happened to an advert.
type FeedRow struct {
	Seq           int64
	At            time.Time
	Kind          string // new changed back archived refused twin
	ListingID     uuid.UUID
	Platform      string
	PlatformID    string
	URL           string
	Title         string // cut to 300 characters
	RentCents     *int64
	OldRentCents  *int64 // before it changed
	Rooms         *float64
	Bedrooms      *int
	Neighbourhood *string
	Codes         []string // of the reasons for which it is refused or a twin
	TwinOf        *uuid.UUID
}

// A transaction that is under way may have taken an earlier number: what a later transaction has stored waits until it
// is over. It may be one of another database, and long; ours end within a minute. A transaction takes its number later
// than it begins, so one that began later may still have taken an earlier number: the feed shows that too late.
const sqlFeed = `/* sqlFeed */
SELECT s.id, s.at, s.step, s.listing_id, r.platform, r.platform_id, r.url,
    left(coalesce(l.title, r.payload->>'title', r.payload->'listing'->>'title', ''), 300), l.rent_cents,
    (SELECT max(e.old_rent_cents) FROM listing_events e
        WHERE e.listing_id = s.listing_id AND e.revision = s.revision AND e.kind = 'price' AND s.step = 'changed'),
    l.rooms::float8, l.bedrooms, n.name,
    ARRAY(SELECT DISTINCT e->>'code' FROM jsonb_array_elements(r.reasons) e WHERE s.step IN ('refused', 'twin')),
    CASE WHEN s.step = 'twin' THEN r.duplicate_of END
FROM (
    SELECT * FROM listing_steps
    WHERE step IN ('refused', 'twin', 'new', 'changed', 'back', 'archived') AND NOT again
        AND ($1::bigint IS NULL OR id > $1) AND (xid < pg_snapshot_xmin(pg_current_snapshot()) OR at < $3)
    ORDER BY id DESC LIMIT $2
) s
JOIN raw_listings r ON r.id = s.listing_id
LEFT JOIN listings l ON l.id = s.listing_id
LEFT JOIN neighbourhoods n ON n.key = l.neighbourhood
ORDER BY s.id DESC`

// feedPatience is how long the feed waits for older transactions. Sessions end theirs earlier.
const feedPatience = 65 * time.Second

// Recent returns the newest limit rows of the feed after a number (nil = all), the newest first. The listing is shown
// as it is now.
func (s *Flow) Recent(ctx context.Context, after *int64, limit int, now time.Time) ([]FeedRow, error) {
	found, err := Rows(ctx, s.pool, pgx.RowToStructByPos[FeedRow], sqlFeed, after, limit, now.Add(-feedPatience))
	return found, fault.Wrap(err, "read feed")
}
