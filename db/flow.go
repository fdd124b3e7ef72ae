package db

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The stations of the line of listings, and what leaves them. An advert comes in with a message; what is settled by a
// station goes no further.
//
//	receive    fresh | unchanged
//	normalize  normalized | refused
//	dedupe     twin, of a listing that is shown for its home
//	publish    new | changed | unchanged | back | withheld
//	images     attached | repeated | failed
//
// again, of any station, is the result of an earlier pass once more: a replay that changed nothing.
//
// The line of crawls has one, stored, whose only outcome counts the versions of pages that are kept.
//
// stations has those of the steps of an advert. A step without one is not counted.
var stations = map[string]string{
	"normalized": "normalize", "refused": "normalize", "twin": "dedupe", "new": "publish", "changed": "publish",
	"unchanged": "publish", "back": "publish", "withheld": "publish",
}

// The parenthesis is left open, for the test that prepares whole statements.
const sqlFlowInto = `INSERT INTO flow AS f (minute, line, station, outcome, source, took, backend, n`

const sqlFlowAdd = ` ON CONFLICT (minute, line, station, outcome, source, took, backend) DO UPDATE SET n = f.n + excluded.n`

// Between the two is how long something took, an interval. Logarithms of numeric would be slow, and an advert has some.
const (
	sqlTook    = `least(120, round(4 / ln(2::float8) * ln(greatest(1, 1000 * extract(epoch FROM `
	sqlTookEnd = `))::float8)))::smallint`
)

// It comes before the statement that settles the revision: status is that of the pass before. A step that runs twice is
// counted once.
const sqlListingStep = `
WITH r AS (
    SELECT platform, revised_at,
        coalesce($3::bigint, CASE WHEN settled_revision >= revision THEN settlements ELSE 0 END) AS pass,
        $6::boolean OR coalesce(status = $7::text, false) AS same
    FROM raw_listings WHERE id = $1 AND revision = $2
), step AS (
    INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
    SELECT $1, $2, pass, $4, pass > 0 AND same, $5 FROM r
    ON CONFLICT DO NOTHING RETURNING again, pass
)
` + sqlFlowInto + `)
SELECT date_trunc('minute', $5::timestamptz), 'listings', $8, CASE WHEN s.again THEN 'again' ELSE $4::text END,
    r.platform, CASE WHEN s.pass > 0 THEN -1 ELSE ` + sqlTook + `$5::timestamptz - r.revised_at` + sqlTookEnd + ` END,
    pg_backend_pid(), 1
FROM r, step s` + sqlFlowAdd

// A listingStep is what a pass has done with a revision.
type listingStep struct {
	ID       uuid.UUID
	Revision int64
	Pass     *int64 // nil = by what is stored
	Step     string
	Same     bool   // the result is that of the pass before
	Status   string // the result is that of the pass before if this is the advert's status
	At       time.Time
}

// stepAdd queues a step into the transaction that makes it, before the advert is settled.
func stepAdd(b *pgx.Batch, s listingStep) {
	b.Queue(sqlListingStep, s.ID, s.Revision, s.Pass, s.Step, s.At, s.Same, stated(s.Status), stations[s.Step])
}

// A listing may be archived again at one revision: each return is another pass.
const sqlStepsArchived = `
INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
SELECT l.id, l.revision, r.settlements, 'archived', false, $2
FROM listings l JOIN raw_listings r ON r.id = l.id WHERE l.id = ANY ($1)
ON CONFLICT DO NOTHING`

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

const sqlFlow = `
SELECT line, station, outcome, source, took::int, sum(n)::bigint FROM flow
WHERE minute >= $1 AND minute < $2 AND line = 'listings' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`

// Between returns the counts of the line of listings in whole minutes, [since, until).
func (s *Flow) Between(ctx context.Context, since, until time.Time) ([]FlowCount, error) {
	rows, _ := s.pool.Query(ctx, sqlFlow, since, until) // CollectRows reports its error
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[FlowCount])
	if err != nil {
		return nil, fmt.Errorf("read flow: %w", err)
	}
	return counts, nil
}

// TookMillis is the time that Took stands for, within a tenth.
func (c FlowCount) TookMillis() int64 { return int64(math.Round(math.Exp2(float64(c.Took) / 4))) }

// Rows of one key cannot be taken twice: whoever comes second finds none.
const sqlFlowRoll = `
WITH apart AS (
    DELETE FROM flow WHERE ctid IN (
        SELECT ctid FROM flow WHERE minute < $1 AND backend <> 0 ORDER BY minute LIMIT 10000 FOR UPDATE SKIP LOCKED)
    RETURNING minute, line, station, outcome, source, took, n
)
` + sqlFlowInto + `)
SELECT minute, line, station, outcome, source, took, 0, sum(n) FROM apart GROUP BY 1, 2, 3, 4, 5, 6` + sqlFlowAdd

const sqlFlowExpire = `DELETE FROM flow WHERE minute < $1`

// Tidy adds up the rows of the connections for the minutes before rolled, and deletes the minutes before kept.
func (s *Flow) Tidy(ctx context.Context, rolled, kept time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlFlowRoll, rolled)
	b.Queue(sqlFlowExpire, kept)
	if err := write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("tidy flow: %w", err)
	}
	return nil
}

// A WayStep is a step of an advert on its way.
type WayStep struct {
	Revision int64
	Pass     int64 // 0 = the first; replays are others
	Step     string
	At       time.Time
	TookMS   *int64 // since the step before in this pass; nil for the first
	Again    bool   // the result of an earlier pass, once more
}

const sqlListingWay = `
SELECT * FROM (
    SELECT revision, pass, step, at,
        (1000 * extract(epoch FROM at - lag(at) OVER (PARTITION BY revision, pass ORDER BY at, id)))::bigint, again
    FROM listing_steps WHERE listing_id = $1 ORDER BY at DESC, id DESC LIMIT 100
) s ORDER BY revision, pass, at`

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

// A transaction that is under way may have taken an earlier number: what is after it waits until it is over. It may be
// one of another database, and long; ours end within a minute.
const sqlFeed = `
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
	rows, _ := s.pool.Query(ctx, sqlFeed, after, limit, now.Add(-feedPatience)) // CollectRows reports its error
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[FeedRow])
	if err != nil {
		return nil, fmt.Errorf("read feed: %w", err)
	}
	return found, nil
}
