package crawl

import (
	"context"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
)

// sqlCrawlHeld is a condition on a URL u of a run r: its host does not want to be asked now. It is looked up by index
// for each, as no join would be while the planner does not know how many hosts are held back.
const sqlCrawlHeld = `(SELECT true FROM crawl_holds h
    WHERE h.run_id = r.id AND h.host = u.host AND h.until > now() AND h.by <> 'ours' LIMIT 1) IS TRUE`

// Counts are those in the rows of open runs, which are few; unpublished pages are counted; the rest is a look at the
// ends of indexes for each. A run that has work it could do, and finishes none, is stalled: since it has finished
// something, or might have, as the hosts that it waited for may be asked again. Of the URLs that are due, those of the
// first host that may be asked are enough, and the ones before it are passed over host by host; of those to be tried
// again, which no index has by host, $2 are looked at.
const sqlCrawlStatus = `/* sqlCrawlStatus */
WITH open AS (
    SELECT r.id, r.status, r.discovered - r.visited - r.redirect_301 - r.forbidden - r.not_found - r.http_terminal
            - r.failed - r.skipped AS urls,
        (SELECT coalesce(sum(finished), 0) FROM crawl_rates
            WHERE run_id = r.id AND at > now() - interval '60 s') AS finished,
        CASE WHEN r.status = 'RUNNING' AND (
            EXISTS (WITH RECURSIVE u AS (
                    (SELECT host FROM crawl_urls WHERE run_id = r.id AND status = 'QUEUED' AND due_at IS NULL
                    ORDER BY host LIMIT 1)
                    UNION ALL
                    SELECT (SELECT host FROM crawl_urls WHERE run_id = r.id AND status = 'QUEUED' AND due_at IS NULL
                        AND host > u.host ORDER BY host LIMIT 1)
                    FROM u WHERE ` + sqlCrawlHeld + `)
                SELECT FROM u WHERE host IS NOT NULL AND NOT ` + sqlCrawlHeld + `)
            OR EXISTS (SELECT FROM (SELECT host FROM crawl_urls
                    WHERE run_id = r.id AND status = 'QUEUED' AND due_at <= now() LIMIT $2) u
                WHERE NOT ` + sqlCrawlHeld + `)
            OR EXISTS (SELECT FROM crawl_urls u WHERE run_id = r.id AND status = 'IN_PROGRESS'
                AND NOT ` + sqlCrawlHeld + `))
        THEN extract(epoch FROM now() - greatest(coalesce((SELECT at FROM crawl_rates
                WHERE run_id = r.id AND finished > 0 ORDER BY at DESC LIMIT 1), r.created_at),
            (SELECT max(until) FROM crawl_holds WHERE run_id = r.id AND until <= now() AND by <> 'ours'))) ELSE 0 END
            AS stalled
    FROM crawl_runs r WHERE r.status IN ('RUNNING', 'PAUSED')
), longest AS (
    SELECT id, stalled FROM open WHERE stalled > 0 ORDER BY stalled DESC, id LIMIT 1
)
SELECT count(*) FILTER (WHERE o.status = 'RUNNING'), count(*) FILTER (WHERE o.status = 'PAUSED'),
    coalesce(sum(o.urls), 0)::bigint, coalesce(sum(o.finished), 0)::bigint, coalesce(max(l.id), 0),
    coalesce(max(l.stalled), 0)::float8, (` + sqlCrawlUnpublished + `)
FROM open o LEFT JOIN longest l ON l.id = o.id`

// sqlCrawlUnpublished counts the pages that wait to be published, up to $1.
const sqlCrawlUnpublished = `/* sqlCrawlUnpublished */
SELECT count(*) FROM (SELECT FROM outbox WHERE lane = ` + db.SQLCrawlLane + ` AND published_at IS NULL LIMIT $1) o`

// Status counts the open runs and their URLs.
func (s *Crawls) Status(ctx context.Context) (c backlog.CrawlCount, err error) {
	err = s.pool.QueryRow(ctx, sqlCrawlStatus, crawl.UnpublishedMost, crawl.HeldMost).Scan(&c.Running, &c.Paused,
		&c.OpenURLs, &c.FinishedLastMinute, &c.StalledRun, &c.StalledSeconds, &c.Unpublished)
	return c, fault.Wrap(err, "count crawl runs")
}
