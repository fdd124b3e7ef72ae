package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/fault"
)

// FlowLines are the figures of the lines of crawls, drafts and outreach. What is not said to be so now is of a window.
type FlowLines struct {
	Crawl    CrawlFlow
	Drafts   DraftFlow
	Outreach OutreachFlow
}

// A CrawlFlow is how far crawls are. Read and Broken are of the runs that are open, or have ended in the window.
type CrawlFlow struct {
	Running  int64   // runs, now
	Frontier int64   // URLs of them that wait, now
	Fetching int64   // URLs of them in progress, now
	Read     int64   // pages
	Broken   int64   // URLs that were refused, are not there or failed
	Storing  int64   // messages with pages that are being stored, now
	Stored   int64   // versions of pages
	Runs     []int64 // that are running: the newest ten
}

// A DraftFlow counts requests for drafts that came by REST in the window, and the drafts of all requests.
type DraftFlow struct {
	Requested int64
	Read      int64 // pages with an answer
	Stored    int64
	Failed    int64
}

// An OutreachFlow is of the files that came in the window, and of the campaigns that are under way or ended in it.
type OutreachFlow struct {
	Tenants    int64 // that there are, now
	Uploaded   int64 // rows that were read
	Valid      int64
	Invalid    int64
	Contacts   int64 // that there are, now
	Scheduled  int64 // campaigns that are to begin, running or paused, now
	Dispatched int64 // messages that Meta has accepted
	Failed     int64
	Delivered  int64
	Read       int64
}

// Counts are those in the rows of runs, which are few; what is in progress is the end of an index for each.
const sqlFlowCrawl = `/* sqlFlowCrawl */
WITH runs AS (
    SELECT id, status, discovered, visited, redirect_301, skipped,
        forbidden + not_found + http_terminal + failed AS broken
    FROM crawl_runs WHERE status IN ('RUNNING', 'PAUSED')
    UNION ALL
    SELECT id, status, discovered, visited, redirect_301, skipped, forbidden + not_found + http_terminal + failed
    FROM crawl_runs WHERE finished_at >= $1 AND status NOT IN ('RUNNING', 'PAUSED')
), running AS (
    SELECT r.id, r.discovered - r.visited - r.redirect_301 - r.broken - r.skipped AS open, (
        SELECT count(*) FROM crawl_urls WHERE run_id = r.id AND status = 'IN_PROGRESS') AS fetching
    FROM runs r WHERE r.status = 'RUNNING'
), now AS (
    SELECT count(*) AS n, coalesce(sum(open - fetching), 0)::bigint AS frontier,
        coalesce(sum(fetching), 0)::bigint AS fetching
    FROM running
)
SELECT n.n, n.frontier, n.fetching, coalesce(sum(r.visited), 0)::bigint, coalesce(sum(r.broken), 0)::bigint,
    (SELECT count(*) FROM page_inbox WHERE error IS NULL),
    (SELECT coalesce(sum(f.n), 0)::bigint FROM flow f
        WHERE f.minute >= $1 AND f.line = 'crawl' AND f.station = 'stored'),
    ARRAY(SELECT id FROM running ORDER BY id DESC LIMIT 10)
FROM now n LEFT JOIN runs r ON true GROUP BY n.n, n.frontier, n.fetching`

const sqlFlowDrafts = `/* sqlFlowDrafts */
SELECT (SELECT count(*) FROM draft_requests WHERE requested_at >= $1), count(*) FILTER (WHERE http_status IS NOT NULL),
    count(*) FILTER (WHERE outcome = 'succeeded'), count(*) FILTER (WHERE outcome = 'failed')
FROM product_drafts WHERE created_at >= $1`

// It sees all tenants. Their rows are few, and those of files and campaigns are found by indexes.
const sqlFlowOutreach = `/* sqlFlowOutreach */
WITH files AS (
    SELECT coalesce(sum(u.rows_read), 0)::bigint AS uploaded, coalesce(sum(u.valid), 0)::bigint AS valid,
        coalesce(sum(u.invalid), 0)::bigint AS invalid
    FROM tenants t CROSS JOIN LATERAL (
        SELECT rows_read, valid, invalid FROM uploads WHERE tenant = t.id AND created_at >= $1) u
), sending AS (
    SELECT sent, delivered, read, failed FROM campaigns WHERE started_at IS NOT NULL AND finished_at IS NULL
    UNION ALL
    SELECT sent, delivered, read, failed FROM campaigns WHERE finished_at >= $1
), said AS (
    SELECT coalesce(sum(sent + delivered + read), 0)::bigint AS dispatched, coalesce(sum(failed), 0)::bigint AS failed,
        coalesce(sum(delivered + read), 0)::bigint AS delivered, coalesce(sum(read), 0)::bigint AS read
    FROM sending
)
SELECT (SELECT count(*) FROM tenants), f.uploaded, f.valid, f.invalid,
    (SELECT coalesce(sum(contacts), 0)::bigint FROM tenants),
    (SELECT count(*) FROM campaigns WHERE state = 'queued')
        + (SELECT count(*) FROM campaigns WHERE state IN ('running', 'paused')),
    s.dispatched, s.failed, s.delivered, s.read
FROM files f, said s`

// Lines returns the figures of the other lines since a time.
func (s *Flow) Lines(ctx context.Context, since time.Time) (out FlowLines, err error) {
	c, d, o := &out.Crawl, &out.Drafts, &out.Outreach
	err = SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		b.Queue(sqlFlowCrawl, since).QueryRow(func(row pgx.Row) error {
			return row.Scan(&c.Running, &c.Frontier, &c.Fetching, &c.Read, &c.Broken, &c.Storing, &c.Stored, &c.Runs)
		})
		b.Queue(sqlFlowDrafts, since).QueryRow(func(row pgx.Row) error {
			return row.Scan(&d.Requested, &d.Read, &d.Stored, &d.Failed)
		})
		b.Queue(sqlFlowOutreach, since).QueryRow(func(row pgx.Row) error {
			return row.Scan(&o.Tenants, &o.Uploaded, &o.Valid, &o.Invalid, &o.Contacts, &o.Scheduled, &o.Dispatched,
				&o.Failed, &o.Delivered, &o.Read)
		})
		return tx.SendBatch(ctx, b).Close()
	})
	return out, fault.Wrap(err, "read flow of crawls, drafts and outreach")
}
