package dbtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// CrawlNow is when CrawlSite is as it is.
var CrawlNow = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// CrawlSite stores a run that is going on, with 14 URLs in all states, whose IDs are 100 (the seed) to 113, and returns
// its ID. /missing is linked from three pages, /gone from one; /error is where a redirect leads. www.example.org is
// held back for half a minute.
func CrawlSite(t testing.TB, pool *pgxpool.Pool) (run int64) {
	t.Helper()

	ctx := t.Context()
	require.NoError(t, pool.QueryRow(ctx, `
		INSERT INTO crawl_runs (seed_url, normalized_seed_url, root_url, allowed_hosts, run_config, status, seq, discovered,
			admitted, dropped, visited, redirect_301, not_found, http_terminal, failed, skipped, created_at, updated_at)
		VALUES ('https://example.org', 'https://example.org/', 'https://example.org/', '{example.org,www.example.org}',
			'{"maxPages": 5000, "storeBodies": true}', 'RUNNING', 3, 14, 12, 7, 3, 1, 1, 1, 1, 2, $1::timestamptz - '1 hour'::interval, $1)
		RETURNING id`, CrawlNow).Scan(&run))
	_, err := pool.Exec(ctx, `
		INSERT INTO crawl_urls (run_id, id, url_key, seq, discovered_from_url_id, depth, status, host, normalized_url,
			raw_url, tries, http_status, title, error, error_class, redirect_to, reason, took_ms, visited_at, due_at, claimed_at,
			lease_until, claimed_by_worker, retry_count, created_at, updated_at)
		OVERRIDING SYSTEM VALUE
		SELECT $1, id, md5(scheme || host || path)::uuid, seq, parent, depth, status, host, scheme || host || path, raw,
			tries, http_status, title, error, class, redirect, reason, CASE WHEN tries > 0 THEN 40 END,
			CASE WHEN status NOT IN ('QUEUED', 'IN_PROGRESS', 'SKIPPED') THEN $2::timestamptz - (200 - id) * '1 s'::interval END,
			$2::timestamptz + due * '1 s'::interval, $2::timestamptz + claimed * '1 s'::interval,
			$2::timestamptz + lease * '1 s'::interval, worker, greatest(tries - 1, 0),
			$2::timestamptz - '1 hour'::interval, $2::timestamptz - (200 - id) * '1 s'::interval
		FROM (VALUES
			(100, 1, NULL::bigint, 0, 'VISITED', 'https://', 'example.org', '/', 'https://example.org', 1, 200, 'Home', NULL, NULL, NULL, NULL, NULL::int, NULL::int, NULL::int, NULL),
			(101, 2, 100, 1, 'VISITED', 'https://', 'example.org', '/a/', NULL, 1, 200, '=A', NULL, NULL, NULL, NULL, NULL, -10, NULL, 'w1'),
			(102, 2, 100, 1, 'NOT_FOUND', 'https://', 'example.org', '/missing?x=1&y=2', '+missing', 1, 404, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'w1'),
			(103, 2, 100, 1, 'REDIRECT_301', 'https://', 'example.org', '/old', NULL, 1, 301, NULL, NULL, NULL, 'https://example.org/error', NULL, NULL, NULL, NULL, 'w1'),
			(104, 3, 105, 3, 'FAILED', 'https://', 'example.org', '/gone', NULL, 3, NULL, NULL, 'connection refused', 'transient', NULL, NULL, NULL, NULL, NULL, 'w2'),
			(105, 3, 101, 2, 'VISITED', 'http://', 'www.example.org', '/Deep/Path', NULL, 1, 200, 'Deep', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'w2'),
			(106, 3, 101, 2, 'QUEUED', 'https://', 'example.org', '/later', NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 60, NULL, NULL, NULL),
			(107, 3, 101, 2, 'QUEUED', 'http://', 'www.example.org', '/held', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(108, 3, 101, 2, 'QUEUED', 'https://', 'example.org', '/ready', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(109, 3, 101, 2, 'IN_PROGRESS', 'https://', 'example.org', '/now', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -10, 60, 'w1'),
			(110, 3, 101, 2, 'IN_PROGRESS', 'https://', 'example.org', '/lost', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -90, -1, 'w2'),
			(111, 3, 101, 2, 'SKIPPED', 'https://', 'example.org', '/private', NULL, 0, NULL, NULL, NULL, NULL, NULL, 'robots', NULL, NULL, NULL, NULL),
			(112, 3, 101, 2, 'SKIPPED', 'https://', 'example.org', '/far', NULL, 0, NULL, NULL, NULL, NULL, NULL, 'max_depth', NULL, NULL, NULL, NULL),
			(113, 3, 103, 1, 'HTTP_TERMINAL', 'https://', 'example.org', '/error', NULL, 1, 500, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'w1')
		) AS r(id, seq, parent, depth, status, scheme, host, path, raw, tries, http_status, title, error, class, redirect,
			reason, due, claimed, lease, worker)`, run, CrawlNow)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `
		INSERT INTO crawl_links (run_id, from_id, to_ids)
		VALUES ($1, 100, '{101,102,103,108}'), ($1, 101, '{105,102,100}'), ($1, 105, '{104,102}')`, run)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `
		INSERT INTO crawl_tries (run_id, url_id, try, at, worker, http_status, error, error_class, took_ms)
		VALUES ($1, 106, 1, $2, 'w1', 503, NULL, 'transient', 20), ($1, 104, 1, $2, 'w1', NULL, 'timeout', 'transient', 5000),
			($1, 104, 2, $2, 'w2', 502, NULL, 'transient', 30)`, run, CrawlNow.Add(-time.Minute))
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `
		INSERT INTO crawl_rates (run_id, at, fetches, finished, failed, bytes, took_ms)
		VALUES ($1, $2::timestamptz - '30 s'::interval, 20, 10, 1, 4000, 800),
			($1, $2::timestamptz - '10 s'::interval, 4, 4, 0, 500, 100)`,
		run, CrawlNow)
	require.NoError(t, err)
	Exec(t, pool, "INSERT INTO crawl_holds VALUES ($1, 'www.example.org', $2, 'crawl_delay', '30s')", run,
		CrawlNow.Add(30*time.Second))
	return run
}

// CrawlRun stores a run and returns its ID.
func CrawlRun(t testing.TB, pool *pgxpool.Pool, seed, status string, finished *time.Time) (id int64) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		INSERT INTO crawl_runs (seed_url, normalized_seed_url, root_url, allowed_hosts, run_config, status, created_at,
			updated_at, finished_at)
		VALUES ($1, $1, $1, '{}', '{}', $2, $3, $3, $4) RETURNING id`, seed, status, Start, finished).Scan(&id))
	return id
}

// CrawlURLs gives a run n visited URLs, each with its links, two tries, a stored body and a slice of the pace.
func CrawlURLs(t testing.TB, pool *pgxpool.Pool, run int64, n int) {
	t.Helper()
	Exec(t, pool, `
		INSERT INTO crawl_urls (run_id, url_key, seq, depth, created_at, updated_at, status, host, normalized_url, body_key)
		SELECT $1::bigint, md5(i::text)::uuid, i, 0, $3, $3, 'VISITED', 'h', 'http://h/' || i, 'warc/' || $1::bigint || i
		FROM generate_series(1, $2) i`, run, n, Start)
	Exec(t, pool, `INSERT INTO crawl_links SELECT run_id, id, ARRAY[id] FROM crawl_urls WHERE run_id = $1`, run)
	Exec(t, pool, `INSERT INTO crawl_tries (run_id, url_id, try, at, worker)
		SELECT run_id, id, try, $2, '' FROM crawl_urls, generate_series(1, 2) try WHERE run_id = $1`, run, Start)
	Exec(t, pool, `INSERT INTO crawl_rates (run_id, at, fetches, finished, failed, bytes, took_ms)
		SELECT $1, $3::timestamptz + i * interval '10 s', 1, 1, 0, 0, 0 FROM generate_series(1, $2) i`, run, n, Start)
}

// Visited is the result of a claim whose page links to paths of the same host.
func Visited(c crawl.Claim, paths ...string) crawl.Result {
	r := crawl.Result{Claim: c, State: crawl.Visited, Asked: true, HTTPStatus: 200, Links: []crawl.Link{}}
	for _, path := range paths {
		r.Links = append(r.Links, crawl.Link{URL: "https://a.example" + path, Host: "a.example"})
	}
	return r
}
