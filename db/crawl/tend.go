package crawl

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// A URL at which workers died over and over is not given to another one: after $3 deaths in a row while it was read, or
// $2 of workers that had it, whatever they did with it. After Postgres has started, workers have time to extend leases
// that ended while it was away.
const sqlCrawlExpire = `/* sqlCrawlExpire */
WITH run AS (
    SELECT id, seq + 1 AS seq FROM crawl_runs WHERE id = $1
), ended AS (
    SELECT id, CASE
        WHEN readings >= $3 THEN
            lost_leases + 1 || ' workers died or hung with it, the last ' || readings || ' while they read it'
        WHEN lost_leases + 1 >= $2 THEN 'its lease ended ' || $2 || ' times: its worker died or hung'
        END AS why
    FROM crawl_urls
    WHERE run_id = $1 AND status = 'IN_PROGRESS' AND lease_until < now()
        AND pg_postmaster_start_time() < now() - interval '10 s'
), lost AS (
    UPDATE crawl_urls u
    SET status = CASE WHEN e.why IS NULL THEN 'QUEUED' ELSE 'FAILED' END, lost_leases = u.lost_leases + 1,
        error = e.why, error_class = CASE WHEN e.why IS NOT NULL THEN 'invalid' END,
        visited_at = CASE WHEN e.why IS NOT NULL THEN now() END,
        lease_until = NULL, claimed_at = NULL, claimed_by_worker = NULL, updated_at = now(), seq = run.seq
    FROM ended e, run
    WHERE u.run_id = $1 AND u.id = ANY (ARRAY(SELECT id FROM ended)) AND u.id = e.id AND u.status = 'IN_PROGRESS'
        AND u.lease_until < now()
    RETURNING u.status
), n AS (
    SELECT count(*) AS lost, count(*) FILTER (WHERE status = 'FAILED') AS failed FROM lost
)
UPDATE crawl_runs c
SET seq = run.seq, lost_leases = c.lost_leases + n.lost, failed = c.failed + n.failed, updated_at = now()
FROM run, n WHERE c.id = $1 AND n.lost > 0
RETURNING n.lost`

// Pages whose way from the seed became shorter after they were read pass that on to the pages that they link to, step
// by step.
const sqlCrawlSpread = `/* sqlCrawlSpread */
WITH run AS (
    SELECT id, seq + 1 AS seq, admitted, (run_config->>'maxPages')::bigint AS pages,
        (run_config->>'maxDepth')::int AS depth
    FROM crawl_runs WHERE id = $1
), flagged AS (
    SELECT id, depth FROM crawl_urls WHERE run_id = $1 AND spread ORDER BY depth, id LIMIT 200
), nearest AS (
    SELECT DISTINCT ON (e.id) e.id, f.id AS parent, f.depth + 1 AS depth
    FROM flagged f CROSS JOIN LATERAL (
        SELECT to_ids FROM crawl_links WHERE run_id = $1 AND from_id = f.id LIMIT 1) l
    CROSS JOIN LATERAL unnest(l.to_ids) AS e(id)
    ORDER BY e.id, f.depth, f.id
), targets AS (
    SELECT n.*, u.status = 'SKIPPED' AND u.reason = 'max_depth' AND n.depth <= run.depth
        AND row_number() OVER (PARTITION BY u.status = 'SKIPPED' AND u.reason = 'max_depth' AND n.depth <= run.depth
            ORDER BY n.depth, n.id) <= run.pages - run.admitted AS again
    FROM nearest n CROSS JOIN run CROSS JOIN LATERAL (
        SELECT depth, status, reason FROM crawl_urls WHERE run_id = $1 AND id = n.id LIMIT 1) u
    WHERE u.depth > n.depth
), nearer AS (
    UPDATE crawl_urls u
    SET depth = t.depth, discovered_from_url_id = t.parent, seq = run.seq, spread = coalesce(u.links, 0) > 0,
        status = CASE WHEN t.again THEN 'QUEUED' ELSE u.status END, reason = CASE WHEN NOT t.again THEN u.reason END,
        updated_at = CASE WHEN t.again THEN now() ELSE u.updated_at END
    FROM targets t, run WHERE u.run_id = $1 AND u.id = ANY (ARRAY(SELECT id FROM targets)) AND u.id = t.id
), cleared AS (
    UPDATE crawl_urls u SET spread = false FROM flagged f
    WHERE u.run_id = $1 AND u.id = ANY (ARRAY(SELECT id FROM flagged)) AND u.id = f.id
        AND NOT EXISTS (SELECT FROM targets t WHERE t.id = f.id)
), n AS (
    SELECT (SELECT count(*) FROM flagged) AS flagged, (SELECT count(*) FILTER (WHERE again) FROM targets) AS again
)
UPDATE crawl_runs c
SET seq = run.seq, admitted = c.admitted + n.again, skipped = c.skipped - n.again
FROM run, n WHERE c.id = $1 AND n.flagged > 0
RETURNING n.flagged`

const sqlCrawlLook = `/* sqlCrawlLook */
UPDATE crawl_runs c
SET stable_empty = CASE WHEN e.empty THEN c.stable_empty + 1 ELSE 0 END,
    status = CASE WHEN e.empty AND c.stable_empty + 1 >= $2 THEN 'COMPLETED' ELSE c.status END,
    finished_at = CASE WHEN e.empty AND c.stable_empty + 1 >= $2 THEN now() END, updated_at = now()
FROM (
    SELECT NOT EXISTS (SELECT FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL)
        AND NOT EXISTS (SELECT FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS')
        AND NOT EXISTS (SELECT FROM crawl_urls WHERE run_id = $1 AND spread) AS empty
) e
WHERE c.id = $1 AND c.status = 'RUNNING' AND (e.empty OR c.stable_empty > 0)`

// A worker that lives has more than half of each lease left.
const sqlCrawlProgress = `/* sqlCrawlProgress */
SELECT status, discovered,
    discovered - visited - redirect_301 - forbidden - not_found - http_terminal - failed - skipped,
    visited, redirect_301 + forbidden + not_found + http_terminal + failed, skipped, fetches, stable_empty,
    EXISTS (SELECT FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS'
        AND lease_until > now() + interval '10 s'), pauses
FROM crawl_runs WHERE id = $1`

const (
	// maxLostLeases is how often a URL may be lost with its worker: often, for most of those that are lost only waited
	// there.
	maxLostLeases = 25
	// maxReadings is how many workers in a row may die while they read a URL that was lost before: it is what killed the
	// worker before these as well, so three died of it.
	maxReadings = 2
)

// Tend does a cycle of maintenance: leases that have ended are queued again, shorter ways are passed on, and a run
// whose frontier was empty at crawl.EmptyLooks looks in a row is completed. Several callers at once do no harm. Without
// expire, leases are left alone.
func (s *Crawls) Tend(ctx context.Context, run int64, expire bool) (p crawl.Progress, err error) {
	b := new(pgx.Batch)
	b.Queue(db.SQLCrawlPlan)
	b.Queue(sqlCrawlLock, run)
	none := func(row pgx.Row, n *int) error {
		if err := row.Scan(n); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	}
	if expire {
		b.Queue(sqlCrawlExpire, run, maxLostLeases, maxReadings).QueryRow(func(row pgx.Row) error {
			return none(row, &p.Recovered)
		})
	}
	b.Queue(sqlCrawlSpread, run).QueryRow(func(row pgx.Row) error { return none(row, &p.Spread) })
	b.Queue(sqlCrawlLook, run, crawl.EmptyLooks)
	b.Queue(sqlCrawlProgress, run).QueryRow(func(row pgx.Row) error {
		return row.Scan(&p.Status, &p.Discovered, &p.Open, &p.Visited, &p.Broken, &p.Skipped, &p.Fetches, &p.StableEmpty,
			&p.Working, &p.Pauses)
	})
	return p, ofCrawl(run, s.pool.SendBatch(ctx, b).Close())
}
