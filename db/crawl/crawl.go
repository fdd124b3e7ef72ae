// Package crawl keeps the runs of crawls: their settings, their frontier of URLs and what became of each.
package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A claim sorts nothing and joins by loops, so that each of its scans has one index that gives its order, whatever the
// planner believes of the table: its plan is kept, which is a third of its time. The plan has all partitions, of which
// each execution looks at that of the run; left to itself, Postgres would plan anew for that one each time. It does not
// wait for the disk either: a claim that a crash of Postgres takes back is made again, and the first result of the two
// counts.
const sqlCrawlClaimPlan = `/* sqlCrawlClaimPlan */ SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('synchronous_commit', 'off', true), ` + db.SQLCrawlByIndex

// Retries whose time has come are claimed like URLs that were never tried. Usually there are none.
const sqlCrawlDue = `/* sqlCrawlDue */
UPDATE crawl_urls u SET due_at = NULL, updated_at = u.due_at
FROM (
    SELECT ctid FROM crawl_urls
    WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NOT NULL AND due_at <= now()
    ORDER BY due_at LIMIT 500 FOR UPDATE SKIP LOCKED
) d
WHERE u.run_id = $1 AND u.ctid = d.ctid AND u.status = 'QUEUED'`

// The hosts with URLs that wait come from a loose index scan that goes round from the cursor, so a claim looks at as
// many hosts as it takes URLs of, however many there are, and each has its turn. Nothing sorts, so the scan ends with
// the batch. Nothing is claimed for a run that publishes while many pages wait for it: each would add its text. The
// rows that are picked are found again by ctid in any plan, also one that is kept since the partition was empty: for
// that, bounds of turn that all meet leave the planner with one row to begin with. $4 and $5 are how many URLs may be
// taken of the hosts that are known to the caller; it may be 0.
const sqlCrawlClaim = `/* sqlCrawlClaim */
WITH RECURSIVE run AS (
    SELECT id FROM crawl_runs WHERE id = $1 AND status = 'RUNNING'
        AND (NOT (run_config->>'publish')::bool OR NOT EXISTS (
            SELECT FROM outbox WHERE lane = ` + db.SQLCrawlLane + ` AND published_at IS NULL
            ORDER BY lane, due_at, id LIMIT 1 OFFSET $9))
), later AS (
    (SELECT u.host, 1 AS turn FROM run CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > $2
        ORDER BY host LIMIT 1) u)
    UNION ALL
    SELECT u.host, t.turn + 1 FROM later t CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > t.host
        ORDER BY host LIMIT 1) u
), earlier AS (
    (SELECT u.host, 1000000000 AS turn FROM run CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host <= $2
        ORDER BY host LIMIT 1) u)
    UNION ALL
    SELECT u.host, t.turn + 1 FROM earlier t CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > t.host
            AND host <= $2 ORDER BY host LIMIT 1) u
), picked AS (
    SELECT u.ctid, u.updated_at, t.turn
    FROM (SELECT host, turn FROM later UNION ALL SELECT host, turn FROM earlier) t
    CROSS JOIN LATERAL (
        SELECT ctid, updated_at FROM crawl_urls
        WHERE run_id = $1 AND host = t.host AND status = 'QUEUED' AND due_at IS NULL
        ORDER BY depth, id
        LIMIT coalesce((SELECT k.room FROM unnest($4::text[], $5::int[]) AS k(host, room) WHERE k.host = t.host), $6)
        FOR UPDATE SKIP LOCKED
    ) u
    LIMIT $3
)
UPDATE crawl_urls u
SET status = 'IN_PROGRESS', lease = u.lease + 1, claimed_at = now(), claimed_by_worker = $7,
    lease_until = now() + $8::interval, updated_at = now()
FROM picked p
WHERE u.run_id = $1 AND u.ctid = p.ctid AND p.turn BETWEEN 1 AND 2000000000
RETURNING u.id, u.normalized_url, u.host, u.depth, u.tries, u.lost_leases, u.lease, p.updated_at, p.turn`

// sqlCrawlSearched is a condition on a URL u: it was not removed from the search, or has come back since.
const sqlCrawlSearched = `(SELECT r.url_key FROM page_removals r
        WHERE r.url_key BETWEEN u.url_key AND u.url_key AND NOT EXISTS (
            SELECT FROM pages p WHERE p.url_key = r.url_key AND p.crawled_at > r.removed_at)
        ORDER BY r.url_key LIMIT 1) IS NULL`

// With the validators of the pages of the run $10, which are found by an index in its order, in any plan: those of an
// error page say nothing of the page that comes back. A page that is out of the
// search has none, so that it is asked for whole: it was removed after the run $10, and a 304 would not bring it back.
const sqlCrawlClaimAgain = `/* sqlCrawlClaimAgain */ ` + sqlCrawlClaim + `,
    CASE WHEN ` + sqlCrawlSearched + ` THEN
        (SELECT b.etag FROM crawl_urls b
        WHERE b.run_id = $10 AND b.url_key BETWEEN u.url_key AND u.url_key AND b.status = 'VISITED'
        ORDER BY b.url_key LIMIT 1) END,
    CASE WHEN ` + sqlCrawlSearched + ` THEN
        (SELECT b.last_modified FROM crawl_urls b
        WHERE b.run_id = $10 AND b.url_key BETWEEN u.url_key AND u.url_key AND b.status = 'VISITED'
        ORDER BY b.url_key LIMIT 1) END`

const sqlCrawlClaimStatus = `/* sqlCrawlClaimStatus */
SELECT CASE WHEN status = 'RUNNING' AND pauses <> $2 THEN 'PAUSED' ELSE status END FROM crawl_runs WHERE id = $1`

// Claim leases URLs that are due to a worker: at most t.Max, of as many hosts as possible, and of each host those
// nearest to the seed. No two callers ever hold the same URL. It returns the state of the run, and claims only while
// that is crawl.Running and fewer than crawl.UnpublishedMost pages wait to be published.
func (s *Crawls) Claim(ctx context.Context, t crawl.Take) (claims []crawl.Claim, status string, err error) {
	hosts, rooms := make([]string, 0, len(t.Room)), make([]int32, 0, len(t.Room))
	for host, room := range t.Room {
		hosts, rooms = append(hosts, host), append(rooms, int32(max(0, room)))
	}
	b := new(pgx.Batch)
	b.Queue(sqlCrawlClaimPlan)
	b.Queue(sqlCrawlClaimStatus, t.Run, t.Pauses).QueryRow(func(row pgx.Row) error { return row.Scan(&status) })
	b.Queue(sqlCrawlDue, t.Run)
	claim := sqlCrawlClaim
	args := []any{
		t.Run, t.Cursor, t.Max, hosts, rooms, t.Fresh, t.Worker, t.Lease, crawl.UnpublishedMost - 1,
	}
	if t.Base > 0 {
		claim, args = sqlCrawlClaimAgain, append(args, t.Base)
	}
	b.Queue(claim, args...).Query(func(rows pgx.Rows) error {
		claims, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c crawl.Claim, err error) {
			var etag, modified *string
			into := []any{&c.ID, &c.URL, &c.Host, &c.Depth, &c.Tries, &c.Lost, &c.Lease, &c.QueuedAt, &c.Turn}
			if t.Base > 0 {
				into = append(into, &etag, &modified)
			}
			err = row.Scan(into...)
			c.ETag, c.LastModified = text(etag), text(modified)
			return c, err
		})
		return err
	})
	if err = s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, "", ofCrawl(t.Run, err)
	}
	return claims, status, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

const sqlCrawlKeep = `/* sqlCrawlKeep */
UPDATE crawl_urls SET lease_until = now() + $4::interval
WHERE run_id = $1 AND id = ANY ($2) AND claimed_by_worker = $3 AND status = 'IN_PROGRESS'`

// Keep extends the leases of the URLs that a worker is still at. Others that were leased to it, by a claim whose answer
// it never got, come back when they end.
func (s *Crawls) Keep(ctx context.Context, run int64, worker string, urls []int64, lease time.Duration) error {
	_, err := s.pool.Exec(ctx, sqlCrawlKeep, run, urls, worker, lease)
	return fault.Wrap(err, "keep leases of run %d", run)
}

const sqlCrawlReading = `/* sqlCrawlReading */
UPDATE crawl_urls SET readings = CASE WHEN $4 THEN readings + 1 ELSE 0 END
WHERE run_id = $1 AND id = $2 AND lease = $3 AND status = 'IN_PROGRESS'`

// BeginReading notes that a worker begins to read the answer of a URL whose lease was lost before: Tend counts those
// that end meanwhile. It is fault.Conflict where the lease is lost by now.
func (s *Crawls) BeginReading(ctx context.Context, run int64, c crawl.Claim) error {
	tag, err := s.pool.Exec(ctx, sqlCrawlReading, run, c.ID, c.Lease, true)
	if err == nil && tag.RowsAffected() == 0 {
		return fault.Newf(fault.Conflict, "the lease of URL %d is lost", c.ID)
	}
	return fault.Wrap(err, "note reading of URL %d", c.ID)
}

// EndReading notes that the worker has lived through what BeginReading noted. A result does so as well.
func (s *Crawls) EndReading(ctx context.Context, run int64, c crawl.Claim) error {
	_, err := s.pool.Exec(ctx, sqlCrawlReading, run, c.ID, c.Lease, false)
	return fault.Wrap(err, "note end of reading of URL %d", c.ID)
}

// Whoever writes results takes this lock first: so the writers of one run take turns, each sees what the ones before it
// have written, and seq grows in the order of commits.
const sqlCrawlLock = `/* sqlCrawlLock */ SELECT id FROM crawl_runs WHERE id = $1 FOR NO KEY UPDATE`

// sqlCrawlLockKnown is sqlCrawlLock for a writer that knows URLs of the run, since its seq was $2 on the server that
// was started at $3. It fails, and the transaction with it, where commits may have been lost by a failover since: seq
// is lower, or another worker has raised it again on another server.
const sqlCrawlLockKnown = `/* sqlCrawlLockKnown */
SELECT seq / (seq >= $2 AND coalesce($3 = pg_postmaster_start_time(), true))::int, pg_postmaster_start_time()
FROM crawl_runs WHERE id = $1 FOR NO KEY UPDATE`

// A result counts only under the lease that it was made under. A URL whose way from the seed became shorter while it
// was fetched passes that on: sqlCrawlSpread.
const sqlCrawlFinish = `/* sqlCrawlFinish */
WITH run AS (
    SELECT id, seq + 1 AS seq FROM crawl_runs WHERE id = $1
), said AS (
    SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::interval[], $7::bool[], $8::int[],
        $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
        $17::text[], $18::int[], $19::int[], $20::int[], $21::bytea[], $22::uuid[], $25::bigint[])
        AS r(id, lease, status, reason, after, asked, http_status, content_type, content_length, etag, last_modified,
            redirect_to, error, error_class, title, body_key, took_ms, links, depth, message, message_id, bytes)
), done AS (
    UPDATE crawl_urls u
    SET status = r.status, reason = nullif(r.reason, ''), due_at = CASE WHEN r.after > '0' THEN now() + r.after END,
        tries = u.tries + r.asked::int, retry_count = u.retry_count + (r.asked AND r.status = 'QUEUED')::int,
        http_status = coalesce(nullif(r.http_status, 0), CASE WHEN r.asked THEN NULL ELSE u.http_status END),
        content_type = nullif(r.content_type, ''),
        content_length = CASE WHEN r.asked AND r.content_length >= 0 THEN r.content_length END,
        etag = nullif(r.etag, ''), last_modified = nullif(r.last_modified, ''), redirect_to = nullif(r.redirect_to, ''),
        error = nullif(r.error, ''), error_class = nullif(r.error_class, ''), title = nullif(r.title, ''),
        body_key = nullif(r.body_key, ''), took_ms = CASE WHEN r.asked THEN r.took_ms END, links = r.links,
        visited_at = CASE WHEN r.asked AND r.status <> 'QUEUED' THEN now() END,
        updated_at = now(), lease_until = NULL, readings = 0,
        seq = CASE WHEN r.asked OR r.status <> 'QUEUED' THEN run.seq ELSE u.seq END,
        claimed_at = CASE WHEN r.status = 'QUEUED' THEN NULL ELSE u.claimed_at END,
        claimed_by_worker = CASE WHEN r.status = 'QUEUED' THEN NULL ELSE u.claimed_by_worker END,
        spread = coalesce(r.links, 0) > 0 AND u.depth < r.depth
    FROM said r, run
    WHERE u.run_id = $1 AND u.id = ANY ($2) AND u.id = r.id AND u.lease = r.lease AND u.status = 'IN_PROGRESS'
    RETURNING u.id, u.tries, u.status, r.asked, r.http_status, r.error, r.error_class, r.took_ms, r.bytes,
        r.message, r.message_id
), tried AS (
    INSERT INTO crawl_tries (run_id, url_id, try, at, worker, http_status, error, error_class, took_ms)
    SELECT $1, id, tries, now(), $23, nullif(http_status, 0), nullif(error, ''), nullif(error_class, ''), took_ms
    FROM done WHERE asked AND status = 'QUEUED'
    ON CONFLICT DO NOTHING
), paced AS (
    INSERT INTO crawl_rates AS c (run_id, at, fetches, finished, failed, bytes, took_ms)
    SELECT $1, date_bin('10 s', now(), 'epoch'), count(*) FILTER (WHERE asked),
        count(*) FILTER (WHERE status <> 'QUEUED'),
        count(*) FILTER (WHERE status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED')),
        coalesce(sum(bytes), 0), coalesce(sum(took_ms), 0)
    FROM done WHERE asked OR status <> 'QUEUED' HAVING count(*) > 0
    ON CONFLICT (run_id, at) DO UPDATE SET fetches = c.fetches + excluded.fetches,
        finished = c.finished + excluded.finished, failed = c.failed + excluded.failed,
        bytes = c.bytes + excluded.bytes, took_ms = c.took_ms + excluded.took_ms
), told AS (
    INSERT INTO outbox (message_id, lane, exchange, routing_key, type, body, created_at)
    SELECT message_id, ` + db.SQLCrawlLane + `, '', $24, '', message, now() FROM done
    WHERE message IS NOT NULL AND status <> 'QUEUED'
    ON CONFLICT (message_id) DO NOTHING
)
UPDATE crawl_runs c
SET seq = run.seq, visited = c.visited + n.visited, redirect_301 = c.redirect_301 + n.redirect_301,
    forbidden = c.forbidden + n.forbidden, not_found = c.not_found + n.not_found,
    http_terminal = c.http_terminal + n.http_terminal, failed = c.failed + n.failed, skipped = c.skipped + n.skipped,
    fetches = c.fetches + n.fetches, retries = c.retries + n.retries, bytes = c.bytes + n.bytes, updated_at = now()
FROM run, (
    SELECT count(*) FILTER (WHERE status = 'VISITED') AS visited,
        count(*) FILTER (WHERE status = 'REDIRECT_301') AS redirect_301,
        count(*) FILTER (WHERE status = 'FORBIDDEN') AS forbidden,
        count(*) FILTER (WHERE status = 'NOT_FOUND') AS not_found,
        count(*) FILTER (WHERE status = 'HTTP_TERMINAL') AS http_terminal,
        count(*) FILTER (WHERE status = 'FAILED') AS failed,
        count(*) FILTER (WHERE status = 'SKIPPED') AS skipped,
        count(*) FILTER (WHERE asked) AS fetches, count(*) FILTER (WHERE asked AND status = 'QUEUED') AS retries,
        coalesce(sum(bytes), 0) AS bytes
    FROM done) n
WHERE c.id = $1`

// What holds a host back is what was said of it last. Of a cooldown not every worker knows the cause.
const sqlCrawlHold = `/* sqlCrawlHold */
INSERT INTO crawl_holds AS c (run_id, host, until, by, cause)
SELECT r.id, h.host, now() + h.pause, h.by, h.cause
FROM crawl_runs r, unnest($2::text[], $3::interval[], $4::text[], $5::text[]) AS h(host, pause, by, cause)
WHERE r.id = $1
ON CONFLICT (run_id, host) DO UPDATE SET until = excluded.until, by = excluded.by,
    cause = CASE WHEN excluded.cause = '' AND c.by = excluded.by THEN c.cause ELSE excluded.cause END`

// holdLeast is the shortest pause of a host that is worth to be known.
const holdLeast = time.Second

// holdArgs are the arguments of sqlCrawlHold: of each host the result with the longest pause; nil where there is none.
func holdArgs(run int64, results []crawl.Result) []any {
	longest := map[string]crawl.Result{}
	for _, r := range results {
		if r.State == crawl.Queued && r.Pause >= holdLeast && r.Pause > longest[r.Host].Pause {
			longest[r.Host] = r
		}
	}
	var (
		hosts, by, causes []string
		pauses            []time.Duration
	)
	for host, r := range longest {
		hosts, pauses = append(hosts, host), append(pauses, r.Pause)
		by, causes = append(by, string(r.Held)), append(causes, db.Storable(r.Cause))
	}
	if hosts == nil {
		return nil
	}
	return []any{run, hosts, pauses, by, causes}
}

// New URLs come with the shortest way to them among the pages of the batch, or with none where a sitemap lists them;
// of those, the ones nearest to the seed are admitted first. Others are stored as skipped, as many again as the run
// may have, so that a trap does not fill the disk. A URL that is known gets the shorter way. One that was skipped as
// too far away may be near enough then, where new ones leave room for it.
const sqlCrawlDiscover = `/* sqlCrawlDiscover */
WITH run AS (
    SELECT id, seq, admitted, discovered, (run_config->>'maxPages')::bigint AS pages,
        (run_config->>'maxDepth')::int AS depth
    FROM crawl_runs WHERE id = $1
), found AS (
    SELECT l.key, l.url, l.raw, l.host, l.ord, p.id AS parent, coalesce(p.depth + 1, 0) AS depth
    FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[])
        WITH ORDINALITY AS l(key, url, raw, host, parent, ord)
    LEFT JOIN LATERAL (SELECT id, depth FROM crawl_urls WHERE run_id = $1 AND id = l.parent LIMIT 1) p ON true
), nearest AS (
    SELECT DISTINCT ON (key) * FROM found ORDER BY key, depth, ord
), fresh AS (
    SELECT n.*, n.depth > run.depth AS far,
        row_number() OVER (PARTITION BY n.depth > run.depth ORDER BY n.depth, n.ord) AS rank
    FROM nearest n CROSS JOIN run
    LEFT JOIN LATERAL (SELECT id FROM crawl_urls WHERE run_id = $1 AND url_key = n.key LIMIT 1) u ON true
    WHERE u.id IS NULL
), judged AS (
    SELECT f.*, CASE WHEN f.far THEN 'max_depth' WHEN f.rank > run.pages - run.admitted THEN 'max_pages' END AS reason
    FROM fresh f CROSS JOIN run
), ranked AS (
    SELECT j.*, row_number() OVER (PARTITION BY j.reason IS NULL ORDER BY j.depth, j.ord) AS place FROM judged j
), added AS (
    INSERT INTO crawl_urls (run_id, url_key, seq, discovered_from_url_id, depth, created_at, updated_at, status, reason,
        host, normalized_url, raw_url)
    SELECT $1, r.key, run.seq, r.parent, r.depth, now(), now(),
        CASE WHEN r.reason IS NULL THEN 'QUEUED' ELSE 'SKIPPED' END, r.reason, r.host, r.url, nullif(r.raw, '')
    FROM ranked r CROSS JOIN run
    WHERE r.reason IS NULL OR r.place <= greatest(run.pages, 1000) - (run.discovered - run.admitted)
    ORDER BY r.depth, r.ord
    RETURNING reason
), closer AS (
    SELECT n.depth, n.parent, k.id, k.near AND row_number() OVER (PARTITION BY k.near ORDER BY n.depth, n.ord)
        <= run.pages - run.admitted - (SELECT count(*) FROM judged WHERE reason IS NULL) AS again
    FROM nearest n CROSS JOIN run CROSS JOIN LATERAL (
        SELECT id, depth, status = 'SKIPPED' AND reason = 'max_depth' AND n.depth <= run.depth AS near
        FROM crawl_urls WHERE run_id = $1 AND url_key = n.key LIMIT 1) k
    WHERE k.depth > n.depth
), nearer AS (
    UPDATE crawl_urls u
    SET depth = s.depth, discovered_from_url_id = s.parent, seq = run.seq,
        spread = u.spread OR coalesce(u.links, 0) > 0,
        status = CASE WHEN s.again THEN 'QUEUED' ELSE u.status END, reason = CASE WHEN NOT s.again THEN u.reason END,
        updated_at = CASE WHEN s.again THEN now() ELSE u.updated_at END
    FROM closer s, run
    WHERE u.run_id = $1 AND u.id = ANY (ARRAY(SELECT id FROM closer)) AND u.id = s.id
    RETURNING s.again
)
UPDATE crawl_runs c
SET discovered = c.discovered + n.added, admitted = c.admitted + n.admitted + m.again,
    skipped = c.skipped + n.added - n.admitted - m.again,
    dropped = c.dropped + (SELECT count(*) FROM fresh) - n.added
FROM (SELECT count(*) AS added, count(*) FILTER (WHERE reason IS NULL) AS admitted FROM added) n,
    (SELECT count(*) FILTER (WHERE again) AS again FROM nearer) m
WHERE c.id = $1`

// The edges of pages whose result was taken: this is the seq of it, and of a shorter way to a page, whose result may be
// one of a lease that was lost. $4 are pages, $5 the targets of each that the caller knows, an array as text, and $6
// the leases; $2 are the keys of the other targets, and $3 the page of each.
const sqlCrawlConnect = `/* sqlCrawlConnect */
WITH ids AS (
    SELECT k.ord, k.page, u.id, u.depth FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS k(key, page, ord)
    CROSS JOIN LATERAL (SELECT id, depth FROM crawl_urls WHERE run_id = $1 AND url_key = k.key LIMIT 1) u
), others AS (
    SELECT page, array_agg(id ORDER BY ord) AS to_ids FROM ids GROUP BY page
), put AS (
    INSERT INTO crawl_links AS l (run_id, from_id, to_ids)
    SELECT $1, p.id, p.known::bigint[] || coalesce(o.to_ids, '{}')
    FROM unnest($4::bigint[], $5::text[], $6::bigint[]) AS p(id, known, lease)
    LEFT JOIN others o ON o.page = p.id
    JOIN crawl_runs c ON c.id = $1
    CROSS JOIN LATERAL (SELECT seq, lease, status FROM crawl_urls WHERE run_id = $1 AND id = p.id LIMIT 1) u
    WHERE u.seq = c.seq AND u.lease = p.lease AND u.status NOT IN ('QUEUED', 'IN_PROGRESS')
    ON CONFLICT (run_id, from_id) DO UPDATE SET to_ids = excluded.to_ids
    RETURNING cardinality(to_ids) AS n
), counted AS (
    UPDATE crawl_runs SET edges = edges + (SELECT coalesce(sum(n), 0) FROM put) WHERE id = $1
)
SELECT ord, id, depth FROM ids`

// Record stores the results of claims, with the links that were found and the messages for the indexer, as one
// transaction. A result under a lease that was lost changes nothing; so Record may be repeated.
func (s *Crawls) Record(ctx context.Context, run int64, worker string, results []crawl.Result) error {
	if len(results) == 0 {
		return nil
	}
	err := s.record(ctx, run, worker, results)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == divisionByZero { // of sqlCrawlLockKnown
		s.known.forget(run)
		err = s.record(ctx, run, worker, results)
	}
	if err != nil {
		return fmt.Errorf("record %d urls of run %d: %w", len(results), run, err)
	}
	for _, r := range results {
		if r.Message != nil {
			s.added.Wake(ctx)
			break
		}
	}
	return nil
}

const divisionByZero = "22012"

func (s *Crawls) record(ctx context.Context, run int64, worker string, results []crawl.Result) error {
	known := s.known.of(run)
	from := known.learned()
	b := new(pgx.Batch)
	b.Queue(db.SQLCrawlPlan)
	b.Queue(sqlCrawlLockKnown, run, from.seq, from.server).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&from.seq, &from.server}, func() error { return nil })
		return err
	})
	b.Queue(sqlCrawlFinish, finishArgs(run, worker, results)...)
	if held := holdArgs(run, results); held != nil {
		b.Queue(sqlCrawlHold, held...)
	}
	pages, found := known.sort(results)
	if len(found.keys) > 0 {
		b.Queue(sqlCrawlDiscover, run, found.keys, found.urls, found.raws, found.hosts, found.parents)
	}
	if len(pages.ids) > 0 {
		b.Queue(sqlCrawlConnect, run, found.keys, found.parents, pages.ids, pages.known, pages.leases).Query(found.learn)
	}
	if err := db.Write(ctx, s.pool, b); err != nil {
		return err
	}
	from.seq++ // by sqlCrawlFinish
	known.add(found, from)
	return nil
}

// finishArgs are the arguments of sqlCrawlFinish: the results by columns.
func finishArgs(run int64, worker string, results []crawl.Result) []any {
	n := len(results)
	var (
		ids, leases, lengths, sizes            = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		states, reasons, types, etags, dates   = strs(n), strs(n), strs(n), strs(n), strs(n)
		targets, faults, classes, titles, keys = strs(n), strs(n), strs(n), strs(n), strs(n)
		waits                                  = make([]time.Duration, n)
		asked                                  = make([]bool, n)
		statuses, took, links, depths          = make([]int32, n), make([]int32, n), make([]*int32, n), make([]int32, n)
		messages                               = make([][]byte, n)
		messageIDs                             = make([]uuid.UUID, n)
	)
	for i, r := range results {
		ids[i], leases[i], depths[i] = r.ID, r.Lease, int32(r.Depth)
		lengths[i], sizes[i] = r.ContentLength, r.Bytes
		states[i], reasons[i], types[i] = string(r.State), r.Reason, db.Storable(r.ContentType)
		etags[i], dates[i] = db.Storable(r.Validators.ETag), db.Storable(r.Validators.LastModified)
		targets[i] = db.Storable(r.RedirectTo)
		faults[i], classes[i], titles[i], keys[i] = db.Storable(r.Error), r.ErrorClass, db.Storable(r.Title), r.BodyKey
		waits[i], asked[i], statuses[i], took[i] = r.After, r.Asked, int32(r.HTTPStatus), int32(r.Took.Milliseconds())
		if r.Links != nil {
			count := int32(len(r.Links))
			links[i] = &count
		}
		messages[i] = r.Message
		messageIDs[i] = uuid.NewSHA1(crawlMessages, fmt.Appendf(nil, "%d/%d/%d", run, r.ID, r.Lease))
	}
	return []any{run, ids, leases, states, reasons, waits, asked, statuses, types, lengths, etags, dates, targets, faults,
		classes, titles, keys, took, links, depths, messages, messageIDs, worker, contract.QueueCrawler, sizes}
}

func strs(n int) []string { return make([]string, n) }

// crawlMessages is the namespace of the IDs of messages to the indexer: one for each lease that brought a page.
var crawlMessages = uuid.MustParse("7d0c8a54-6b0f-5e0e-9d6a-3b8f3a1f4a25")

// Seed adds URLs that a run begins with besides its seed, such as those of sitemaps. It is idempotent.
func (s *Crawls) Seed(ctx context.Context, run int64, links []crawl.Link) error {
	_, found := s.known.of(run).sort([]crawl.Result{{Claim: crawl.Claim{Depth: -1}, Links: links}})
	b := new(pgx.Batch)
	b.Queue(db.SQLCrawlPlan)
	b.Queue(sqlCrawlLock, run)
	b.Queue(sqlCrawlDiscover, run, found.keys, found.urls, found.raws, found.hosts, found.parents)
	return fault.Wrap(db.Write(ctx, s.pool, b), "add %d seeds to run %d", len(links), run)
}

const sqlCrawlNote = `/* sqlCrawlNote */ UPDATE crawl_runs SET note = $2 WHERE id = $1`

// Note keeps what an operator should know of a run, in place of the note before.
func (s *Crawls) Note(ctx context.Context, run int64, note string) error {
	_, err := s.pool.Exec(ctx, sqlCrawlNote, run, db.Storable(note))
	return fault.Wrap(err, "note of run %d", run)
}

// The base is read on its own: joined to, all partitions would be looked into.
const sqlCrawlLinksOfBase = `/* sqlCrawlLinksOfBase */
SELECT u.normalized_url, t.normalized_url, coalesce(t.raw_url, ''), t.host
FROM unnest($2::text[], $3::uuid[]) AS w(url, key)
JOIN crawl_urls u ON u.run_id = (SELECT base_run_id FROM crawl_runs WHERE id = $1) AND u.url_key = w.key
JOIN crawl_links l ON l.run_id = (SELECT base_run_id FROM crawl_runs WHERE id = $1) AND l.from_id = u.id
CROSS JOIN LATERAL unnest(l.to_ids) AS e(id)
JOIN crawl_urls t ON t.run_id = (SELECT base_run_id FROM crawl_runs WHERE id = $1) AND t.id = e.id`

// LinksOfBase returns the links that pages had in the base run of a run, by the pages' URLs: those that are unchanged
// have them still.
func (s *Crawls) LinksOfBase(ctx context.Context, run int64, urls []string) (map[string][]crawl.Link, error) {
	keys := make([]uuid.UUID, len(urls))
	for i, url := range urls {
		keys[i] = db.URLKey(url)
	}
	rows, _ := s.pool.Query(ctx, sqlCrawlLinksOfBase, run, urls, keys) // ForEachRow reports its error
	links := map[string][]crawl.Link{}
	var from string
	var l crawl.Link
	_, err := pgx.ForEachRow(rows, []any{&from, &l.URL, &l.Raw, &l.Host}, func() error {
		links[from] = append(links[from], l)
		return nil
	})
	return links, fault.Wrap(err, "read links of the base of run %d", run)
}
