package crawl_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/crawl"
)

func TestCrawlStatus(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dbcrawl.NewCrawls(pool)
	status := func() backlog.CrawlCount {
		c, err := s.Status(t.Context())
		require.NoError(t, err)
		return c
	}
	require.Zero(t, status())

	began := time.Now()
	running, paused := dbtest.CrawlRun(t, pool, "running", "RUNNING", nil), dbtest.CrawlRun(t, pool, "paused", "PAUSED", nil)
	dbtest.CrawlURLs(t, pool, dbtest.CrawlRun(t, pool, "completed", "COMPLETED", &dbtest.Start), 5)
	for _, run := range []int64{running, paused} {
		dbtest.CrawlURLs(t, pool, run, 5)
		dbtest.Exec(t, pool, `UPDATE crawl_runs SET discovered = 100, visited = 1, redirect_301 = 2, forbidden = 3, not_found = 4,
			http_terminal = 5, failed = 6, skipped = 7, created_at = now() - interval '1 hour' WHERE id = $1`, run)
	}
	dbtest.Exec(t, pool, `UPDATE crawl_rates SET at = now() - interval '10 min' - (at - $1::timestamptz)`, dbtest.Start)
	dbtest.Exec(t, pool, `INSERT INTO crawl_rates VALUES ($1, now() - interval '70 s', 1, 10, 0, 0, 0),
		($1, now() - interval '50 s', 1, 20, 0, 0, 0), ($1, now(), 1, 30, 0, 0, 0)`, running)
	young := func() (got backlog.CrawlCount) { // while what was finished is not ten seconds older
		for since := time.Now(); ; since = time.Now() {
			dbtest.Exec(t, pool, `UPDATE crawl_rates SET at = now() + CASE finished WHEN 10 THEN '-70 s' WHEN 20 THEN '-50 s'
				ELSE '0 s' END::interval WHERE run_id = $1 AND finished IN (10, 20, 30)`, running)
			if got = status(); time.Since(since) < 5*time.Second {
				return got
			}
		}
	}
	want := backlog.CrawlCount{Running: 1, Paused: 1, OpenURLs: 144, FinishedLastMinute: 50}
	require.Equal(t, want, young(), "nothing can be done")

	dbtest.Exec(t, pool, "UPDATE crawl_urls SET status = 'QUEUED', due_at = now() + interval '1 hour' WHERE url_key = md5('1')::uuid")
	require.Equal(t, want, young(), "nothing is due")
	for _, due := range []string{"due_at = NULL", "due_at = now()", "status = 'IN_PROGRESS', lease_until = now()"} {
		dbtest.Exec(t, pool, "UPDATE crawl_urls SET "+due+" WHERE status <> 'VISITED'")
		dbtest.Exec(t, pool, "UPDATE crawl_rates SET at = at - interval '20 min' WHERE at > now() - interval '9 min'")
		got := status()
		require.Equal(t, running, got.StalledRun, due)
		dbtest.Aged(t, 610, got.StalledSeconds, began)
		require.EqualValues(t, 144, got.OpenURLs)
	}
	held := func(host string) {
		dbtest.Exec(t, pool, `INSERT INTO crawl_holds SELECT id, $1, now() + interval '1 hour', 'robots', '' FROM crawl_runs`, host)
	}
	held("other")
	for _, due := range []string{"due_at = NULL", "due_at = now()", "status = 'IN_PROGRESS'"} {
		dbtest.Exec(t, pool, "UPDATE crawl_urls SET status = 'QUEUED', due_at = NULL WHERE status <> 'VISITED'")
		dbtest.Exec(t, pool, "UPDATE crawl_urls SET "+due+" WHERE status <> 'VISITED'")
		require.Equal(t, running, status().StalledRun, "another host is held back")
		held("h")
		require.Zero(t, status().StalledRun, "the host is not to be asked: "+due)
		dbtest.Exec(t, pool, "UPDATE crawl_urls SET host = 'later' WHERE status <> 'VISITED' AND run_id = $1", running)
		require.Equal(t, running, status().StalledRun, "one that may be asked comes after it")
		dbtest.Exec(t, pool, "UPDATE crawl_urls SET host = 'h'")
		dbtest.Exec(t, pool, "UPDATE crawl_holds SET by = 'ours' WHERE host = 'h'")
		require.Equal(t, running, status().StalledRun, "the site does not want that")
		since := time.Now()
		dbtest.Exec(t, pool, "UPDATE crawl_holds SET by = 'robots', until = now() - interval '100 s' WHERE host = 'h'")
		got := status()
		require.Equal(t, running, got.StalledRun)
		dbtest.Aged(t, 100, got.StalledSeconds, since) // since it might be asked
		dbtest.Exec(t, pool, "DELETE FROM crawl_holds WHERE host = 'h'")
	}
	dbtest.Exec(t, pool, "DELETE FROM crawl_rates")
	dbtest.Aged(t, 3600, status().StalledSeconds, began) // since it was started
	dbtest.Exec(t, pool, "INSERT INTO crawl_rates VALUES ($1, now(), 1, 0, 0, 0, 0)", running)
	dbtest.Aged(t, 3600, status().StalledSeconds, began) // retries finish nothing
}

// However many retries wait for hosts that are held back, some are looked at: each scrape asks whether a run is stalled.
func TestCrawlStatusOfManyRetries(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	run := dbtest.CrawlRun(t, pool, "running", "RUNNING", nil)
	dbtest.Exec(t, pool, `INSERT INTO crawl_urls (run_id, url_key, seq, depth, created_at, updated_at, status, host,
			normalized_url, due_at)
		SELECT $1, gen_random_uuid(), n, 0, now(), now(), 'QUEUED', 'h', '', now() FROM generate_series(1, $2) n`, run,
		crawl.HeldMost+1000)
	dbtest.Exec(t, pool, "INSERT INTO crawl_holds VALUES ($1, 'h', now() + interval '1 hour', 'robots', '')", run)
	var plans []struct{ Plan dbtest.Explained }
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT "+db.SQLCrawlByIndex)
		require.NoError(t, err)
		return tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+dbtest.Statements(t)["sqlCrawlStatus"],
			crawl.UnpublishedMost, crawl.HeldMost).Scan(&plans)
	}))
	require.LessOrEqual(t, plans[0].Plan.Most(), crawl.HeldMost, "rows that one step looked at")
}
