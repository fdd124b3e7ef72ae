package listings

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// How many adverts a cycle c has seen, and how many of these had nothing new and were not visited.
const sqlCycleSeenAdverts = `
    (SELECT count(*), count(*) FILTER (WHERE a.visited_at < c.started_at AND a.visited_fingerprint = a.fingerprint
        AND a.gone_at IS NULL)
    FROM platform_sightings g JOIN platform_adverts a USING (platform, platform_id)
    WHERE g.platform = c.platform AND g.search = c.search AND g.seen_cycle = c.cycle)`

const sqlCycleEnd = `/* sqlCycleEnd */
UPDATE platform_cycles c SET ended_at = $3, note = $4, (seen, skipped) = ` + sqlCycleSeenAdverts + `
WHERE platform = $1 AND cycle = $2 AND ended_at IS NULL
RETURNING search, started_at, seen, coalesce(total, -1), (
    SELECT count(*) FROM platform_sightings g JOIN platform_adverts a USING (platform, platform_id)
    WHERE g.platform = $1 AND g.search = c.search AND g.seen_cycle < $2 AND a.gone_at IS NULL AND g.missed = 0)`

const sqlCycleNote = `/* sqlCycleNote */ UPDATE platform_cycles SET note = $3 WHERE platform = $1 AND cycle = $2`

const sqlSearchCooldown = `/* sqlSearchCooldown */
UPDATE platform_searches s SET next_cycle_at = $3::timestamptz
    + coalesce(s.cooldown_ms, p.set_cooldown_ms, p.cooldown_ms) * interval '1 ms'
FROM platforms p WHERE p.name = $1 AND s.platform = $1 AND s.search = $2`

const sqlCycleComplete = `/* sqlCycleComplete */
UPDATE platform_cycles SET complete = true WHERE platform = $1 AND cycle = $2`

const sqlSearchResultsPagesSet = `/* sqlSearchResultsPagesSet */
UPDATE platform_searches SET results_pages = (SELECT pages FROM platform_cycles WHERE platform = $1 AND cycle = $3)
WHERE platform = $1 AND search = $2`

const sqlPlatformWellCycled = `/* sqlPlatformWellCycled */
UPDATE platforms SET suspect_at = NULL WHERE name = $1 AND suspect_of = 'cycle' AND suspect_search = $2`

// An advert is missing as often as the search that misses it the least does. Which of them are gone is for
// scrape.IsGone.
const sqlAdvertsMissing = `/* sqlAdvertsMissing */
WITH missed AS (
    UPDATE platform_sightings g SET missed = g.missed + 1
    FROM platform_adverts a
    WHERE g.platform = $1 AND g.search = $2 AND g.seen_cycle < $3 AND a.platform = $1 AND a.platform_id = g.platform_id
        AND a.gone_at IS NULL
    RETURNING g.platform_id, g.missed
), least AS (
    SELECT platform_id, least(missed, (SELECT min(o.missed) FROM platform_sightings o
        WHERE o.platform = $1 AND o.platform_id = missed.platform_id AND o.search <> $2)) AS missed
    FROM missed
)
UPDATE platform_adverts a SET missed = l.missed FROM least l WHERE a.platform = $1 AND a.platform_id = l.platform_id
RETURNING a.platform_id, l.missed, coalesce(a.visited_at, '-infinity')`

const sqlAdvertsGone = `/* sqlAdvertsGone */
UPDATE platform_adverts SET gone_at = $3, gone_reason = $4 WHERE platform = $1 AND platform_id = ANY ($2)`

const sqlCycleGone = `/* sqlCycleGone */ UPDATE platform_cycles SET gone = gone + $3 WHERE platform = $1 AND cycle = $2`

// End ends a cycle; the next one of its search is due after the cooldown. note says why the cycle is not complete. ""
// means that it reached the last search page, and then scrape.Judge decides: adverts missing from scrape.GoneAfter
// complete cycles in a row of each search that used to show them are gone, and a suspicious cycle makes the platform
// suspect. A cycle that has ended is not ended again.
func (s *Platforms) End(ctx context.Context, name string, cycle int64, note string, now time.Time) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPlatformLock, name); err != nil {
			return err
		}
		c := endedCycle{Search: scrape.Search{Platform: name}, cycle: cycle}
		err := tx.QueryRow(ctx, sqlCycleEnd, name, cycle, now, clipReason(note)).
			Scan(&c.Name, &c.started, &c.seen, &c.total, &c.missing)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if note == "" {
			if err := cycleJudge(ctx, tx, c, now); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, sqlSearchCooldown, name, c.Name, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlPlatformCount, name, false)
		return err
	})
	return fault.Wrap(err, "end cycle %d of %s", cycle, name)
}

// endedCycle is a cycle that has just ended.
type endedCycle struct {
	scrape.Search
	cycle                int64
	started              time.Time
	seen, total, missing int // as scrape.Judge takes them
}

// cycleJudge stores what scrape.Judge says of a cycle that reached the last search page.
func cycleJudge(ctx context.Context, tx pgx.Tx, c endedCycle, now time.Time) error {
	verdict, note := scrape.Judge(c.seen, c.total, c.missing)
	if verdict == scrape.Complete {
		return cycleMarkMissing(ctx, tx, c, now)
	}
	if verdict == scrape.Suspicious {
		v := scrape.Suspicion{Of: scrape.Cycles, Reason: note, Search: c.Name, Cycle: c.cycle}
		if err := platformSuspect(ctx, tx, c.Platform, v, now); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, sqlCycleNote, c.Platform, c.cycle, clipReason(note))
	return err
}

// cycleMarkMissing counts a complete cycle against the adverts that it did not see, and marks those that are gone.
func cycleMarkMissing(ctx context.Context, tx pgx.Tx, c endedCycle, now time.Time) error {
	rows, _ := tx.Query(ctx, sqlAdvertsMissing, c.Platform, c.Name, c.cycle)
	var gone []uuid.UUID
	ids := []string{}
	var id string
	var missed int
	var visited pgtype.Timestamptz // which may be -infinity
	_, err := pgx.ForEachRow(rows, []any{&id, &missed, &visited}, func() error {
		if scrape.IsGone(missed, visited.Time, c.started) {
			ids = append(ids, id)
			gone = append(gone, listing.Ref{Platform: c.Platform, PlatformID: id}.ID())
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	b.Queue(sqlAdvertsGone, c.Platform, ids, now, scrape.GoneReason)
	b.Queue(sqlCycleComplete, c.Platform, c.cycle)
	b.Queue(sqlSearchResultsPagesSet, c.Platform, c.Name, c.cycle)
	b.Queue(sqlPlatformWellCycled, c.Platform, c.Name)
	b.Queue(sqlCycleGone, c.Platform, c.cycle, len(gone))
	b.Queue(sqlRawGone, gone, now)
	b.Queue(sqlUnitsGone, c.Platform, ids, []string{}, now)
	return tx.SendBatch(ctx, b).Close()
}
