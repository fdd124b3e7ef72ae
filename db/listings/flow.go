package listings

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
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

// It comes before the statement that settles the revision: status is that of the pass before. A step that runs twice is
// counted once.
const sqlListingStep = `/* sqlListingStep */
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
` + db.SQLFlowInto + `)
SELECT date_trunc('minute', $5::timestamptz), 'listings', $8, CASE WHEN s.again THEN 'again' ELSE $4::text END,
    r.platform,
    CASE WHEN s.pass > 0 THEN -1 ELSE ` + db.SQLTook + `$5::timestamptz - r.revised_at` + db.SQLTookEnd + ` END,
    pg_backend_pid(), 1
FROM r, step s` + db.SQLFlowAdd

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
	b.Queue(sqlListingStep, s.ID, s.Revision, s.Pass, s.Step, s.At, s.Same, db.Stated(s.Status), stations[s.Step])
}

// A listing may be archived again at one revision: each return is another pass.
const sqlStepsArchived = `/* sqlStepsArchived */
INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
SELECT l.id, l.revision, r.settlements, 'archived', false, $2
FROM listings l JOIN raw_listings r ON r.id = l.id WHERE l.id = ANY ($1)
ON CONFLICT DO NOTHING`

// A WayStep is a step of an advert on its way.
type WayStep struct {
	Revision int64
	Pass     int64 // 0 = the first; replays are others
	Step     string
	At       time.Time
	TookMS   *int64 // since the step before in this pass; nil for the first
	Again    bool   // the result of an earlier pass, once more
}

const sqlListingWay = `/* sqlListingWay */
SELECT * FROM (
    SELECT revision, pass, step, at,
        (1000 * extract(epoch FROM at - lag(at) OVER (PARTITION BY revision, pass ORDER BY at, id)))::bigint, again
    FROM listing_steps WHERE listing_id = $1 ORDER BY at DESC, id DESC LIMIT 100
) s ORDER BY revision, pass, at`
