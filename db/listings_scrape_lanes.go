package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/scrape"
)

const sqlPlatformLooked = `UPDATE platforms SET looked_at = $2 WHERE name = $1`

// Looked stores that a look at the newest search pages begins: the next one is due after the platform's time between
// two. It comes before the look, so that one that fails is not repeated at once.
func (s *Platforms) Looked(ctx context.Context, name string, now time.Time) error {
	if _, err := s.pool.Exec(ctx, sqlPlatformLooked, name, now); err != nil {
		return fmt.Errorf("begin a look at %s: %w", name, err)
	}
	return nil
}

const sqlPlatformPages = `SELECT results_pages FROM platforms WHERE name = $1`

// Newest stores which adverts a search page shows that a look has read, and returns the visits as Seen does, how many
// of the adverts were not known or are back, and how many search pages had adverts before. The page is none of the
// cycle, and the adverts count as seen in it.
func (s *Platforms) Newest(ctx context.Context, name string, cycle int64, r scrape.Results, now time.Time) (
	visits []scrape.Visit, unknown, pages int, err error,
) {
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, name)
	due := advertsSeen(b, name, cycle, r.Cards, now)
	b.Queue(sqlPlatformSuccess, name, now, "")
	b.Queue(sqlPlatformPages, name).QueryRow(func(row pgx.Row) error { return row.Scan(&pages) })
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, 0, 0, refused(fmt.Errorf("store the newest %d adverts of %s: %w", len(r.Cards), name, err))
	}
	visits, unknown = due()
	return visits, unknown, pages, nil
}

// $3 is now, and $4 is scrape.StaleAfter before. An advert that was visited in the cycle is not missing from it.
const sqlPlatformChores = `
SELECT p.looked_at + nullif(coalesce(p.set_look_ms, p.look_ms), 0) * interval '1 ms', c.started_at,
    coalesce(p.set_cycle_ms, p.cycle_ms), p.results_pages, coalesce(c.total, -1),
    coalesce(p.set_max_pages, p.max_pages),
    m.platform_id, m.url, m.fingerprint, o.platform_id, o.url, o.fingerprint, o.visited_at, o.seen_cycle < $2 - 1
FROM platforms p JOIN platform_cycles c ON c.platform = p.name AND c.cycle = $2
LEFT JOIN LATERAL (
    SELECT platform_id, url, fingerprint FROM platform_adverts
    WHERE platform = p.name AND gone_at IS NULL AND missed > 0 AND seen_cycle < $2 AND visited_at < c.started_at
        AND (retry_at IS NULL OR retry_at <= $3)
    ORDER BY visited_at LIMIT 1) m ON true
LEFT JOIN LATERAL (
    SELECT platform_id, url, fingerprint, visited_at, seen_cycle FROM platform_adverts
    WHERE platform = p.name AND gone_at IS NULL AND visited_at <= $4 AND (retry_at IS NULL OR retry_at <= $3)
    ORDER BY visited_at LIMIT 1) o ON true
WHERE p.name = $1`

// Chores returns what the scraper of a platform may do besides the search pages of an open cycle.
func (s *Platforms) Chores(ctx context.Context, name string, cycle int64, now time.Time) (w scrape.Chores, err error) {
	type advert struct{ id, url, print *string }
	var (
		lookAt, oldestAt *time.Time
		targetMS         int64
		m, o             advert
		unseen           *bool
	)
	err = s.pool.QueryRow(ctx, sqlPlatformChores, name, cycle, now, now.Add(-scrape.StaleAfter)).Scan(&lookAt, &w.Started,
		&targetMS, &w.Pages, &w.Total, &w.MaxPages, &m.id, &m.url, &m.print, &o.id, &o.url, &o.print, &oldestAt, &unseen)
	if err != nil {
		return w, fmt.Errorf("find the chores of %s: %w", name, err)
	}
	w.Target = time.Duration(targetMS) * time.Millisecond
	visit := func(a advert, why string) *scrape.Visit {
		if a.id == nil {
			return nil
		}
		return &scrape.Visit{Card: scrape.Card{PlatformID: *a.id, URL: *a.url, Fingerprint: *a.print}, Why: why}
	}
	if lookAt != nil {
		w.LookAt = *lookAt
	}
	w.Missing = visit(m, scrape.Missing)
	if w.Oldest = visit(o, scrape.Stale); w.Oldest != nil {
		if w.OldestAt = *oldestAt; *unseen { // as behind the last page that is read of a long search
			w.Oldest.Why = scrape.Missing
		}
	}
	return w, nil
}
