package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// Crawls are the runs of the crawler, and the frontier of each.
type Crawls struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
	known *knownURLs
}

// NewCrawls returns the crawls kept in pool.
func NewCrawls(pool *pgxpool.Pool) *Crawls { return &Crawls{pool, db.NewWaker(pool), new(knownURLs)} }

// A NewRun is a run to be created.
type NewRun struct {
	SeedURL      string // as given
	Root         web.Address
	AllowedHosts []string
	Settings     crawl.Settings // all of them
	By           string         // the caller, for the audit
	Key          uuid.UUID      // of the request, by which a repeated one is known; uuid.Nil = none
}

// Links of an unchanged page are those of the base run, so that must have kept the same ones: all of them, or as many
// as this run may have.
const sqlCrawlRunAdd = `/* sqlCrawlRunAdd */
INSERT INTO crawl_runs (seed_url, normalized_seed_url, root_url, allowed_hosts, run_config, base_run_id, status, seq,
    discovered, admitted, created_by, request_key, created_at, updated_at)
VALUES ($1, $2, $2, $3, $4, CASE WHEN $5 THEN (
        SELECT max(id) FROM crawl_runs
        WHERE normalized_seed_url = $2 AND status = 'COMPLETED' AND run_config @> $6::jsonb
            AND (dropped = 0 OR (run_config->>'maxPages')::int >= ($4::jsonb->>'maxPages')::int
                AND (run_config->>'maxDepth')::int >= ($4::jsonb->>'maxDepth')::int)
    ) END, 'RUNNING', 1, 1, 1, $7, $8, $9, $9)
ON CONFLICT (request_key) WHERE request_key IS NOT NULL DO NOTHING
RETURNING id, coalesce(base_run_id, 0)`

const sqlCrawlSeedAdd = `/* sqlCrawlSeedAdd */
INSERT INTO crawl_urls (run_id, url_key, seq, depth, status, host, normalized_url, raw_url, created_at, updated_at)
VALUES ($1, $2, 1, 0, 'QUEUED', $3, $4, nullif($5, $4), $6, $6)`

const sqlCrawlRunOfRequest = `/* sqlCrawlRunOfRequest */
SELECT ` + sqlCrawlRunColumns + ` FROM crawl_runs r WHERE request_key = $1`

// Create stores a run that is RUNNING, its seed as QUEUED, and the audit entry. A conditional run gets the last
// completed run of the same seed as its base that followed the same kinds of links and, where the new one publishes,
// published too: an unchanged page is not published again. A request that is repeated with its key returns the run of
// the first, and is fault.Conflict when that was another request.
func (s *Crawls) Create(ctx context.Context, r NewRun, now time.Time) (run crawl.Run, err error) {
	same := map[string]any{
		"scopeMode": r.Settings.ScopeMode, "includeDocuments": r.Settings.IncludeDocuments,
		"followLinkRel": r.Settings.FollowLinkRel, "nofollow": r.Settings.Nofollow, "render": r.Settings.Render,
	}
	if r.Settings.Publish {
		same["publish"] = true
	}
	if r.Settings.RespectRobots { // a page with noindex is taken out of the search
		same["respectRobots"] = true
	}
	run = crawl.Run{
		SeedURL: r.SeedURL, RootURL: r.Root.URL, AllowedHosts: r.AllowedHosts, Settings: r.Settings, Status: crawl.Running,
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlCrawlRunAdd, db.Storable(r.SeedURL), r.Root.URL, r.AllowedHosts, r.Settings,
			r.Settings.Conditional, same, db.Storable(r.By), db.Stated(r.Key), now).Scan(&run.ID, &run.BaseID)
		if errors.Is(err, pgx.ErrNoRows) {
			had, err := db.Row(ctx, tx, scanCrawlRun, sqlCrawlRunOfRequest, r.Key)
			if err == nil && (had.RootURL != r.Root.URL || had.Settings != r.Settings) {
				return fault.Newf(fault.Conflict, "Idempotency-Key: crawl run %d of the same key was another request", had.ID)
			}
			run = had.Run
			return err
		}
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlCrawlSeedAdd, run.ID, db.URLKey(r.Root.URL), r.Root.Host, r.Root.URL, db.Storable(r.SeedURL), now)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: r.By, Action: "crawl_run.started", Subject: crawlSubject(run.ID),
			Detail: map[string]any{"seed": web.Show(r.Root.URL)},
		})
		return tx.SendBatch(ctx, b).Close()
	})
	return run, fault.Wrap(db.Refused(err), "store crawl run")
}

func crawlSubject(id int64) string { return "crawl-run/" + strconv.FormatInt(id, 10) }

// A CrawlRun is a run as it is stored, with its counts.
type CrawlRun struct {
	crawl.Run
	CreatedBy  string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time // nil while it is RUNNING or PAUSED
	Seq        int64      // of the last change to its URLs
	Note       string     // what an operator should know of its sitemaps
	Counts     CrawlCounts
}

// CrawlCounts counts the URLs of a run by state, and what was done for them.
type CrawlCounts struct {
	Discovered   int64 // all URLs, those skipped included
	Admitted     int64 // that may be requested: at most maxPages
	Dropped      int64 // links that were not stored: too many are beyond the limits
	Queued       int64
	InProgress   int64
	Visited      int64
	Redirect301  int64
	Forbidden    int64
	NotFound     int64
	HTTPTerminal int64
	Failed       int64
	Skipped      int64
	Fetches      int64
	Retries      int64
	LostLeases   int64
	Edges        int64 // links between its URLs
	Bytes        int64 // of bodies
}

// All but those queued and in progress are counted in the run's row. Writers change that row and the URLs in one
// transaction, so the numbers of one statement agree.
const sqlCrawlRunColumns = `
    r.id, r.seed_url, r.root_url, r.allowed_hosts, r.run_config, r.status, coalesce(r.base_run_id, 0), r.created_by,
    r.created_at, r.updated_at, r.finished_at, r.seq, r.discovered, r.admitted, r.dropped, r.visited, r.redirect_301,
    r.forbidden, r.not_found, r.http_terminal, r.failed, r.skipped, r.fetches, r.retries, r.lost_leases, r.edges,
    r.bytes, r.note,
    (SELECT count(*) FROM crawl_urls u WHERE u.run_id = r.id AND u.status = 'IN_PROGRESS')`

// scanCrawlRun reads the columns of sqlCrawlRunColumns.
func scanCrawlRun(row pgx.CollectableRow) (r CrawlRun, err error) {
	n := &r.Counts
	err = row.Scan(&r.ID, &r.SeedURL, &r.RootURL, &r.AllowedHosts, &r.Settings, &r.Status, &r.BaseID, &r.CreatedBy,
		&r.CreatedAt, &r.UpdatedAt, &r.FinishedAt, &r.Seq, &n.Discovered, &n.Admitted, &n.Dropped, &n.Visited, &n.Redirect301,
		&n.Forbidden, &n.NotFound, &n.HTTPTerminal, &n.Failed, &n.Skipped, &n.Fetches, &n.Retries, &n.LostLeases, &n.Edges,
		&n.Bytes, &r.Note, &n.InProgress)
	n.Queued = n.Discovered - n.InProgress - n.Visited - n.Redirect301 - n.Forbidden - n.NotFound - n.HTTPTerminal -
		n.Failed - n.Skipped
	r.Begun = n.Fetches > 0
	return r, err
}

const sqlCrawlRun = `/* sqlCrawlRun */
SELECT id, seed_url, root_url, allowed_hosts, run_config, status, coalesce(base_run_id, 0), fetches > 0, pauses
FROM crawl_runs WHERE id = $1`

// Run returns a run. An unknown one is fault.Gone.
func (s *Crawls) Run(ctx context.Context, id int64) (crawl.Run, error) {
	r, err := db.Row(ctx, s.pool, pgx.RowToStructByPos[crawl.Run], sqlCrawlRun, id)
	return r, ofCrawl(id, err)
}

// ofCrawl is the error of reading or changing a run: fault.Gone where there is no such row.
func ofCrawl(id int64, err error) error {
	return db.Gone(fault.Wrap(err, "crawl run %d", id), "there is no crawl run %d", id)
}

const sqlCrawlRunCounted = `/* sqlCrawlRunCounted */
SELECT ` + sqlCrawlRunColumns + ` FROM crawl_runs r WHERE r.id = $1`

// Counted returns a run with its counts. An unknown one is fault.Gone.
func (s *Crawls) Counted(ctx context.Context, id int64) (CrawlRun, error) {
	r, err := db.Row(ctx, s.pool, scanCrawlRun, sqlCrawlRunCounted, id)
	return r, ofCrawl(id, err)
}

const sqlCrawlRunList = `/* sqlCrawlRunList */
SELECT ` + sqlCrawlRunColumns + ` FROM crawl_runs r
WHERE ($1::text[] IS NULL OR r.status = ANY ($1)) AND ($2::bigint IS NULL OR r.id < $2)
ORDER BY r.id DESC LIMIT $3`

// Runs returns up to n runs before a run (0 begins), the newest first, of one of the states, or of any
// for none, and the ID to go on from: nil when these were the last.
func (s *Crawls) Runs(ctx context.Context, states []string, before int64, n int) ([]CrawlRun, *int64, error) {
	found, err := db.Rows(ctx, s.pool, scanCrawlRun, sqlCrawlRunList, db.Among(states), db.Stated(before), n+1)
	found, next := db.CutPage(found, n, func(r CrawlRun) int64 { return r.ID })
	return found, next, fault.Wrap(err, "list crawl runs")
}

// CrawlPace is what a run did in the last minute.
type CrawlPace struct {
	Over     time.Duration // the time it is of: less than a minute for a young run
	Fetches  int64         // requests
	Finished int64         // URLs that came to a final state
	Failed   int64         // of those: broken
	Bytes    int64
	Took     time.Duration // of all requests together
}

// PerSecond are the URLs a second that came to a final state.
func (p CrawlPace) PerSecond() float64 {
	if p.Over <= 0 {
		return 0
	}
	return float64(p.Finished) / p.Over.Seconds()
}

const sqlCrawlPace = `/* sqlCrawlPace */
SELECT coalesce(sum(fetches), 0)::bigint, coalesce(sum(finished), 0)::bigint, coalesce(sum(failed), 0)::bigint,
    coalesce(sum(bytes), 0)::bigint, coalesce(sum(took_ms), 0)::bigint
FROM crawl_rates WHERE run_id = $1 AND at >= $2`

// Summary returns a run with its counts, and its pace up to now. An unknown run is fault.Gone.
func (s *Crawls) Summary(ctx context.Context, id int64, now time.Time) (r CrawlRun, p CrawlPace, err error) {
	since := now.Truncate(crawlSlice).Add(crawlSlice - time.Minute) // with the slice that is not over yet
	b := new(pgx.Batch)
	b.Queue(sqlCrawlRunCounted, id).Query(func(rows pgx.Rows) (err error) {
		r, err = pgx.CollectExactlyOneRow(rows, scanCrawlRun)
		return err
	})
	var tookMS int64
	b.Queue(sqlCrawlPace, id, since).QueryRow(func(row pgx.Row) error {
		return row.Scan(&p.Fetches, &p.Finished, &p.Failed, &p.Bytes, &tookMS)
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return r, p, ofCrawl(id, err)
	}
	p.Took, p.Over = time.Duration(tookMS)*time.Millisecond, now.Sub(since)
	if age := now.Sub(r.CreatedAt); age < p.Over {
		p.Over = max(age, time.Second)
	}
	return r, p, nil
}

// crawlSlice is the length of the slices of crawl_rates.
const crawlSlice = 10 * time.Second

// crawlSteps are the states from which an operator may bring a run to another.
var crawlSteps = map[string][]string{
	crawl.Paused: {crawl.Running}, crawl.Running: {crawl.Paused}, crawl.Cancelled: {crawl.Running, crawl.Paused},
}

// crawlDeeds name the changes in the audit.
var crawlDeeds = map[string]string{
	crawl.Paused: "crawl_run.paused", crawl.Running: "crawl_run.resumed", crawl.Cancelled: "crawl_run.cancelled",
}

const sqlCrawlRunState = `/* sqlCrawlRunState */
UPDATE crawl_runs SET status = $2, updated_at = $4, stable_empty = 0, pauses = pauses + ($2 = 'PAUSED')::int,
    finished_at = CASE WHEN $2 = 'CANCELLED' THEN $4::timestamptz END
WHERE id = $1 AND status = ANY ($3)`

const sqlCrawlRunStateNow = `/* sqlCrawlRunStateNow */ SELECT status FROM crawl_runs WHERE id = $1`

// SetState pauses (crawl.Paused), resumes (crawl.Running) or cancels (crawl.Cancelled) a run for an operator, with the
// audit entry of by. A run that is in that state already stays as it is: changed is false. One that has ended otherwise
// is fault.Conflict, an unknown one fault.Gone.
func (s *Crawls) SetState(ctx context.Context, id int64, to, by string, now time.Time) (changed bool, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlCrawlRunState, id, to, crawlSteps[to], now)
		if err != nil {
			return err
		}
		if changed = done.RowsAffected() == 1; !changed {
			var is string
			if err := tx.QueryRow(ctx, sqlCrawlRunStateNow, id).Scan(&is); err != nil {
				return ofCrawl(id, err)
			}
			if is != to {
				return fault.Newf(fault.Conflict, "crawl run %d has ended: it is %s", id, is)
			}
			return nil
		}
		return db.AuditTx(ctx, tx, db.AuditEntry{At: now, Actor: by, Action: crawlDeeds[to], Subject: crawlSubject(id)})
	})
	return changed, fault.Wrap(err, "set state")
}

const sqlCrawlRunLock = `/* sqlCrawlRunLock */ SELECT status, seq FROM crawl_runs WHERE id = $1 FOR NO KEY UPDATE`

// The numbers of earlier tries begin anew, so those go, and so do the links of an answer that is asked for again.
const sqlCrawlRetry = `/* sqlCrawlRetry */
WITH again AS (
    SELECT id, status FROM crawl_urls
    WHERE run_id = $1 AND status = ANY ($2) AND id > $3 AND ($7::bigint[] IS NULL OR id = ANY ($7))
        AND status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED') AND ($8 OR NOT ` + sqlCrawlLeads + `)
    ORDER BY id LIMIT $4
), queued AS (
    UPDATE crawl_urls u SET status = 'QUEUED', seq = $5, tries = 0, retry_count = 0, lost_leases = 0, readings = 0,
        due_at = NULL, visited_at = NULL, links = NULL, updated_at = $6
    FROM again a WHERE u.run_id = $1 AND u.id = a.id
), forgotten AS (
    DELETE FROM crawl_tries t USING again a WHERE t.run_id = $1 AND t.url_id = a.id
), unlinked AS (
    DELETE FROM crawl_links l USING again a WHERE l.run_id = $1 AND l.from_id = a.id
    RETURNING cardinality(l.to_ids) AS n
)
SELECT coalesce(max(id), 0), count(*) FILTER (WHERE status = 'FORBIDDEN'), count(*) FILTER (WHERE status = 'NOT_FOUND'),
    count(*) FILTER (WHERE status = 'HTTP_TERMINAL'), count(*) FILTER (WHERE status = 'FAILED'),
    (SELECT coalesce(sum(n), 0) FROM unlinked)
FROM again`

const sqlCrawlRetried = `/* sqlCrawlRetried */
UPDATE crawl_runs SET seq = $2, updated_at = $3, stable_empty = 0, finished_at = NULL, forbidden = forbidden - $4,
    not_found = not_found - $5, http_terminal = http_terminal - $6, failed = failed - $7, edges = edges - $8,
    status = CASE WHEN status = 'COMPLETED' THEN 'RUNNING' ELSE status END
WHERE id = $1`

// retryBatch is how many URLs a transaction of Retry queues again: results of the run wait for it.
const retryBatch = 5_000

// Retry queues the URLs of a run again that are in one of states, which are of crawl.Broken, as if they had not been
// requested yet, with the audit entry of by. Where urls is not nil, only those with its IDs. States that are nil are
// crawl.Retried, and where urls is nil, too, redirects to another URL are left out. A run that was COMPLETED is RUNNING
// again. It returns their number; where that is 0 nothing has changed. A cancelled run is fault.Conflict, an unknown
// one fault.Gone. URLs are queued in batches: when it fails some may be queued, and a repeated call queues the rest.
func (s *Crawls) Retry(ctx context.Context, id int64, states []crawl.State, urls []int64, by string, now time.Time) (
	n int64, err error,
) {
	redirects := states != nil || urls != nil
	if states == nil {
		states = crawl.Retried
	}
	for last, more := int64(0), true; more; {
		err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			var (
				status     string
				seq, edges int64
			)
			if err := tx.QueryRow(ctx, sqlCrawlRunLock, id).Scan(&status, &seq); err != nil {
				return ofCrawl(id, err)
			}
			if status == crawl.Cancelled {
				return fault.Newf(fault.Conflict, "crawl run %d was cancelled; start another", id)
			}
			seq++
			counts := make([]int64, 4)
			err := tx.QueryRow(ctx, sqlCrawlRetry, id, states, last, retryBatch, seq, now, urls, redirects).
				Scan(&last, &counts[0], &counts[1], &counts[2], &counts[3], &edges)
			if err != nil {
				return err
			}
			found := counts[0] + counts[1] + counts[2] + counts[3]
			more = found == retryBatch
			if found == 0 {
				return nil
			}
			b := new(pgx.Batch)
			b.Queue(sqlCrawlRetried, id, seq, now, counts[0], counts[1], counts[2], counts[3], edges)
			if n == 0 {
				detail := map[string]any{"states": slices.Clone(states)}
				if urls != nil {
					detail["urls"] = urls
				}
				db.AuditAdd(ctx, b, db.AuditEntry{
					At: now, Actor: by, Action: "crawl_run.retried", Subject: crawlSubject(id), Detail: detail,
				})
			}
			if err := tx.SendBatch(ctx, b).Close(); err != nil {
				return err
			}
			n += found
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("retry URLs: %w", err)
		}
	}
	return n, nil
}

const sqlCrawlUnstarted = `/* sqlCrawlUnstarted */
SELECT id, seed_url, root_url, allowed_hosts, run_config, status, coalesce(base_run_id, 0), fetches > 0, pauses
FROM crawl_runs WHERE status = 'RUNNING' AND updated_at < $1 AND id > $2 ORDER BY id LIMIT $3`

// Unstarted returns up to n running runs after a run (0 begins) to which nothing has happened since a time, by ID: the
// start of their workflow may have failed.
func (s *Crawls) Unstarted(ctx context.Context, since time.Time, after int64, n int) ([]crawl.Run, error) {
	found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[crawl.Run], sqlCrawlUnstarted, since, after, n)
	return found, fault.Wrap(err, "list crawl runs to start")
}
