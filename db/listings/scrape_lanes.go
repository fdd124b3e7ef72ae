package listings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// The searches of a platform, each with its newest cycle. The number of pages is that of results, the total of adverts
// what the site states.
const sqlPlatformLanes = `/* sqlPlatformLanes */
SELECT s.search, s.paused, s.retry_at,
    s.looked_at + nullif(coalesce(s.look_ms, p.set_look_ms, p.look_ms), 0) * interval '1 ms', s.next_cycle_at,
    coalesce(c.cycle, 0), coalesce(c.ended_at IS NULL AND c.cycle IS NOT NULL, false), c.started_at,
    coalesce(c.pages, 0),
    least(s.results_pages, coalesce(s.max_pages, p.set_max_pages, p.max_pages)),
    coalesce(s.cycle_ms, p.set_cycle_ms, p.cycle_ms)
FROM platforms p JOIN platform_searches s ON s.platform = p.name
LEFT JOIN LATERAL (
    SELECT cycle, started_at, ended_at, pages FROM platform_cycles
    WHERE platform = s.platform AND search = s.search ORDER BY cycle DESC LIMIT 1) c ON true
WHERE p.name = $1
ORDER BY s.search <> 'default', s.search`

func scanLane(row pgx.CollectableRow) (l scrape.Lane, err error) {
	var retryAt, lookAt, cycleAt, started *time.Time
	var targetMS int64
	err = row.Scan(&l.Search, &l.Paused, &retryAt, &lookAt, &cycleAt, &l.Cycle, &l.Open, &started, &l.Page, &l.Pages,
		&targetMS)
	for _, c := range []struct{ from, to *time.Time }{
		{retryAt, &l.RetryAt}, {lookAt, &l.LookAt}, {cycleAt, &l.CycleAt}, {started, &l.Started},
	} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	l.Target = time.Duration(targetMS) * time.Millisecond
	return l, err
}

const sqlSearchLooked = `/* sqlSearchLooked */
UPDATE platform_searches SET looked_at = $3 WHERE platform = $1 AND search = $2`

// Looked stores that a look at the newest pages of a search begins: the next one is due after its time between two. It
// comes before the look, so that one that fails is not repeated at once.
func (s *Platforms) Looked(ctx context.Context, of scrape.Search, now time.Time) error {
	_, err := s.pool.Exec(ctx, sqlSearchLooked, of.Platform, of.Name, now)
	return fault.Wrap(err, "begin a look at %s", of.Platform)
}

const sqlSearchPages = `/* sqlSearchPages */
SELECT s.results_pages, coalesce(s.max_pages, p.set_max_pages, p.max_pages)
FROM platforms p JOIN platform_searches s ON s.platform = p.name WHERE p.name = $1 AND s.search = $2`

// Newest stores which adverts a search page shows that a look has read, and returns the visits as Seen does, how many
// of the adverts were not known or are back, and how many search pages a look may go through: those that had adverts
// before, and no more than a cycle. The page is none of the cycle, and the adverts count as seen in it.
func (s *Platforms) Newest(ctx context.Context, of scrape.Search, cycle int64, r scrape.Results, now time.Time) (
	visits []scrape.Visit, unknown, pages int, err error,
) {
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, of.Platform)
	due := advertsSeen(b, of, cycle, r.Cards, now)
	b.Queue(sqlPlatformSuccess, of.Platform, now, "", "")
	b.Queue(sqlSearchSuccess, of.Platform, of.Name)
	b.Queue(sqlSearchPages, of.Platform, of.Name).QueryRow(func(row pgx.Row) error {
		var most int
		err := row.Scan(&pages, &most)
		if errors.Is(err, pgx.ErrNoRows) { // removed meanwhile
			return nil
		}
		pages = min(pages, most)
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, 0, 0, db.Refused(fmt.Errorf("store the newest %d adverts of %s: %w", len(r.Cards), of.Platform, err))
	}
	visits, unknown = due()
	return visits, unknown, pages, nil
}

// $3 is now, and $4 is scrape.StaleAfter before. An advert that was visited in the cycle is not missing from it. The
// oldest visit is to an advert of any search; it is unseen when none has shown it in its last two cycles.
const sqlPlatformChores = `/* sqlPlatformChores */
SELECT c.search, c.started_at, coalesce(s.cycle_ms, p.set_cycle_ms, p.cycle_ms), coalesce(s.results_pages, 0),
    coalesce(c.total, -1), coalesce(s.max_pages, p.set_max_pages, p.max_pages),
    m.platform_id, m.url, m.fingerprint, o.platform_id, o.url, o.fingerprint, o.visited_at,
    NOT EXISTS (SELECT FROM platform_sightings g
        WHERE g.platform = p.name AND g.platform_id = o.platform_id AND g.seen_cycle >= coalesce(
            (SELECT cycle FROM platform_cycles WHERE platform = p.name AND search = g.search
            ORDER BY cycle DESC OFFSET 1 LIMIT 1), 0))
FROM platforms p JOIN platform_cycles c ON c.platform = p.name AND c.cycle = $2
LEFT JOIN platform_searches s ON s.platform = p.name AND s.search = c.search
LEFT JOIN LATERAL (
    SELECT platform_id, url, fingerprint FROM platform_adverts a
    WHERE platform = p.name AND gone_at IS NULL AND missed > 0 AND visited_at < c.started_at
        AND (retry_at IS NULL OR retry_at <= $3)
        AND EXISTS (SELECT FROM platform_sightings g WHERE g.platform = p.name AND g.platform_id = a.platform_id
            AND g.search = c.search AND g.seen_cycle < $2)
    ORDER BY visited_at LIMIT 1) m ON true
LEFT JOIN LATERAL (
    SELECT platform_id, url, fingerprint, visited_at FROM platform_adverts
    WHERE platform = p.name AND gone_at IS NULL AND visited_at <= $4 AND (retry_at IS NULL OR retry_at <= $3)
    ORDER BY visited_at LIMIT 1) o ON true
WHERE p.name = $1`

// Chores returns what the scraper of a platform may do besides the search pages of an open cycle.
func (s *Platforms) Chores(ctx context.Context, name string, cycle int64, now time.Time) (w scrape.Chores, err error) {
	type advert struct{ id, url, print *string }
	var (
		search   string
		oldestAt *time.Time
		targetMS int64
		m, o     advert
		unseen   bool
		lanes    []scrape.Lane
	)
	b := new(pgx.Batch)
	b.Queue(sqlPlatformChores, name, cycle, now, now.Add(-scrape.StaleAfter)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&search, &w.Started, &targetMS, &w.Pages, &w.Total, &w.MaxPages, &m.id, &m.url, &m.print, &o.id,
			&o.url, &o.print, &oldestAt, &unseen)
	})
	b.Queue(sqlPlatformLanes, name).Query(func(rows pgx.Rows) (err error) {
		lanes, err = pgx.CollectRows(rows, scanLane)
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return w, fmt.Errorf("find the chores of %s: %w", name, err)
	}
	w.Target = time.Duration(targetMS) * time.Millisecond
	w.Look, w.LookAt = scrape.NextLook(lanes)
	w.OtherAt = scrape.OtherPage(lanes, search, now)
	visit := func(a advert, why string) *scrape.Visit {
		if a.id == nil {
			return nil
		}
		return &scrape.Visit{Card: scrape.Card{PlatformID: *a.id, URL: *a.url, Fingerprint: *a.print}, Why: why}
	}
	w.Missing = visit(m, scrape.Missing)
	if w.Oldest = visit(o, scrape.Stale); w.Oldest != nil {
		if w.OldestAt = *oldestAt; unseen { // as behind the last page that is read of a long search
			w.Oldest.Why = scrape.Missing
		}
	}
	return w, nil
}
