package crawl_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// noon is when everything in the tests of crawls happens, unless they say otherwise.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// newRun asks for a crawl of a site.
func newRun(change ...func(*dbcrawl.NewRun)) dbcrawl.NewRun {
	r := dbcrawl.NewRun{
		SeedURL: "HTTPS://Example.org#top", Root: web.Address{URL: "https://example.org/", Host: "example.org", Path: "/"},
		AllowedHosts: []string{"example.org", "www.example.org"}, Settings: crawl.Defaults, By: "olga",
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// addURLs adds n URLs in a state to a run, as if they had been found and tried.
func addURLs(t *testing.T, pool *pgxpool.Pool, run int64, state crawl.State, n int) {
	t.Helper()
	column := map[crawl.State]string{
		crawl.Queued: "dropped = dropped", crawl.InProgress: "dropped = dropped", crawl.Visited: "visited = visited + $2",
		crawl.Redirect301: "redirect_301 = redirect_301 + $2", crawl.Forbidden: "forbidden = forbidden + $2",
		crawl.NotFound: "not_found = not_found + $2", crawl.HTTPTerminal: "http_terminal = http_terminal + $2",
		crawl.Failed: "failed = failed + $2", crawl.Skipped: "skipped = skipped + $2",
	}[state]
	_, err := pool.Exec(t.Context(), "UPDATE crawl_runs SET discovered = discovered + $2, admitted = admitted + $2, "+column+
		" WHERE id = $1", run, n)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `
		INSERT INTO crawl_urls (run_id, url_key, seq, depth, tries, retry_count, lost_leases, http_status, visited_at, created_at,
			updated_at, status, host, normalized_url)
		SELECT $1, gen_random_uuid(), 1, 1, 3, 2, 1, 500, $4, $4, $4, $3, 'example.org', 'https://example.org/' || $3 || i
		FROM generate_series(1, $2) i`, run, n, state, noon)
	require.NoError(t, err)
}

func TestCrawlCreate(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	require.Equal(t, crawl.Run{
		ID: run.ID, SeedURL: "HTTPS://Example.org#top", RootURL: "https://example.org/",
		AllowedHosts: []string{"example.org", "www.example.org"}, Settings: crawl.Defaults, Status: crawl.Running,
	}, run)
	got, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, run, got)

	var seed, host, raw, status string
	var key uuid.UUID
	require.NoError(t, pool.QueryRow(ctx, `SELECT normalized_url, host, raw_url, status, url_key FROM crawl_urls
		WHERE run_id = $1 AND depth = 0 AND seq = 1 AND discovered_from_url_id IS NULL`, run.ID).
		Scan(&seed, &host, &raw, &status, &key))
	require.Equal(t, []string{"https://example.org/", "example.org", "HTTPS://Example.org#top", "QUEUED"},
		[]string{seed, host, raw, status})
	require.Equal(t, "8198d1ba-c40a-1033-653a-78e48800cefc", key.String())
	var deed string
	require.NoError(t, pool.QueryRow(ctx, "SELECT actor || ' ' || action || ' ' || subject || ' ' || detail FROM audit").
		Scan(&deed))
	require.Equal(t, fmt.Sprintf(`olga crawl_run.started crawl-run/%d {"seed": "https://example.org/"}`, run.ID), deed)

	counted, err := s.Counted(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, dbcrawl.CrawlRun{
		Run: run, CreatedBy: "olga", CreatedAt: counted.CreatedAt, UpdatedAt: counted.UpdatedAt, Seq: 1,
		Counts: dbcrawl.CrawlCounts{Discovered: 1, Admitted: 1, Queued: 1},
	}, counted)
	require.True(t, counted.CreatedAt.Equal(noon) && counted.UpdatedAt.Equal(noon))
	for _, f := range []func() error{
		func() error { _, err := s.Run(ctx, 99); return err },
		func() error { _, err := s.Counted(ctx, 99); return err },
		func() error { _, _, err := s.Summary(ctx, 99, noon); return err },
		func() error { _, err := s.SetState(ctx, 99, crawl.Paused, "olga", noon); return err },
		func() error { _, err := s.Retry(ctx, 99, crawl.Broken, nil, "olga", noon); return err },
	} {
		err := f()
		require.ErrorContains(t, err, "there is no crawl run 99")
		require.Equal(t, fault.Gone, fault.ClassOf(err))
	}
}

// A request that is repeated with its key is one run.
func TestCrawlCreateAgain(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	keyed := newRun(func(r *dbcrawl.NewRun) { r.Key = uuid.New() })
	first, err := s.Create(ctx, keyed, noon)
	require.NoError(t, err)
	again, err := s.Create(ctx, keyed, noon.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, first, again)
	keyed.Settings.MaxPages++
	_, err = s.Create(ctx, keyed, noon)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	for range 2 {
		other, err := s.Create(ctx, newRun(), noon)
		require.NoError(t, err)
		require.NotEqual(t, first.ID, other.ID)
	}
	var runs, seeds, deeds int
	require.NoError(t, pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM crawl_runs), (SELECT count(*) FROM crawl_urls),
		(SELECT count(*) FROM audit)`).Scan(&runs, &seeds, &deeds))
	require.Equal(t, []int{3, 3, 3}, []int{runs, seeds, deeds})
}

// The base of a conditional run is the last one of the seed that was completed and followed the same links.
func TestCrawlBase(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	create := func(state string, change ...func(*dbcrawl.NewRun)) crawl.Run {
		run, err := s.Create(ctx, newRun(change...), noon)
		require.NoError(t, err)
		_, err = pool.Exec(ctx, "UPDATE crawl_runs SET status = $2 WHERE id = $1", run.ID, state)
		require.NoError(t, err)
		return run
	}
	conditional := func(r *dbcrawl.NewRun) { r.Settings.Conditional = true }
	require.Zero(t, create(crawl.Completed, conditional).BaseID)
	base := create(crawl.Completed)
	create(crawl.Cancelled)
	create(crawl.Running)
	create(crawl.Completed, func(r *dbcrawl.NewRun) { r.Root.URL = "https://example.org/x" })
	create(crawl.Completed, func(r *dbcrawl.NewRun) { r.Settings.ScopeMode = crawl.Prefix })
	got := create(crawl.Running, conditional, func(r *dbcrawl.NewRun) { r.Settings.MaxPages = 7 })
	require.Equal(t, base.ID, got.BaseID)
	require.Zero(t, create(crawl.Running).BaseID)

	unpublished := func(r *dbcrawl.NewRun) { r.Settings.Publish = false }
	silent := create(crawl.Completed, unpublished)
	require.Equal(t, silent.ID, create(crawl.Running, conditional, unpublished).BaseID)
	require.Equal(t, base.ID, create(crawl.Running, conditional).BaseID, "what was not published must be")
	rude := func(r *dbcrawl.NewRun) { r.Settings.RespectRobots = false }
	noindex := create(crawl.Completed, rude)
	require.Equal(t, base.ID, create(crawl.Running, conditional).BaseID, "it has published pages with noindex")
	require.Equal(t, noindex.ID, create(crawl.Running, conditional, rude).BaseID)
	rendered := func(r *dbcrawl.NewRun) { r.Settings.Render = true }
	require.Zero(t, create(crawl.Running, conditional, rendered).BaseID, "scripts add links")
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET dropped = 5")
	require.Equal(t, base.ID, create(crawl.Running, conditional).BaseID)
	for name, more := range map[string]func(*dbcrawl.NewRun){
		"more pages": func(r *dbcrawl.NewRun) { r.Settings.MaxPages++ },
		"more depth": func(r *dbcrawl.NewRun) { r.Settings.MaxDepth++ },
	} {
		require.Zero(t, create(crawl.Running, conditional, more).BaseID, name)
	}
}

func TestCrawlRunList(t *testing.T) {
	t.Parallel()
	s, ctx := dbcrawl.NewCrawls(dbtest.New(t)), t.Context()
	var ids []int64
	for range 5 {
		run, err := s.Create(ctx, newRun(), noon)
		require.NoError(t, err)
		ids = append([]int64{run.ID}, ids...)
	}
	_, err := s.SetState(ctx, ids[1], crawl.Paused, "olga", noon)
	require.NoError(t, err)
	var got []int64
	for before := int64(0); ; {
		page, next, err := s.Runs(ctx, nil, before, 2)
		require.NoError(t, err)
		for _, r := range page {
			got = append(got, r.ID)
		}
		if next == nil {
			break
		}
		before = *next
	}
	require.Equal(t, ids, got)
	page, next, err := s.Runs(ctx, []string{crawl.Paused}, 0, 2)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Len(t, page, 1)
	require.Equal(t, ids[1], page[0].ID)
}

func TestCrawlSummary(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	for i, state := range crawl.States {
		addURLs(t, pool, run.ID, state, i+1)
	}
	for at, n := range map[time.Duration]int{0: 100, 30 * time.Second: 40, 80 * time.Second: 50, 90 * time.Second: 5} {
		_, err := pool.Exec(ctx, `INSERT INTO crawl_rates (run_id, at, fetches, finished, failed, bytes, took_ms)
			VALUES ($1, $2, $3 + 1, $3, 1, $3 * 1000, $3 * 20)`, run.ID, noon.Add(at), n)
		require.NoError(t, err)
	}
	got, pace, err := s.Summary(ctx, run.ID, noon.Add(95*time.Second))
	require.NoError(t, err)
	require.Equal(t, dbcrawl.CrawlCounts{
		Discovered: 46, Admitted: 46, Queued: 2, InProgress: 2, Visited: 3, Redirect301: 4, Forbidden: 5, NotFound: 6,
		HTTPTerminal: 7, Failed: 8, Skipped: 9,
	}, got.Counts)
	require.Equal(t, dbcrawl.CrawlPace{
		Over: 55 * time.Second, Fetches: 57, Finished: 55, Failed: 2, Bytes: 55_000, Took: 1100 * time.Millisecond,
	}, pace)
	require.InDelta(t, 1.0, pace.PerSecond(), 1e-9)
	_, pace, err = s.Summary(ctx, run.ID, noon.Add(4*time.Second))
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, pace.Over)
	require.Zero(t, dbcrawl.CrawlPace{}.PerSecond())
}

// An operator changes the state of a run that has not ended; a change that is repeated changes nothing.
func TestCrawlSetState(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	for _, tt := range []struct {
		from, to string
		changed  bool
		class    fault.Class
	}{
		{crawl.Running, crawl.Paused, true, ""},
		{crawl.Running, crawl.Running, false, ""},
		{crawl.Running, crawl.Cancelled, true, ""},
		{crawl.Paused, crawl.Running, true, ""},
		{crawl.Paused, crawl.Paused, false, ""},
		{crawl.Paused, crawl.Cancelled, true, ""},
		{crawl.Completed, crawl.Paused, false, fault.Conflict},
		{crawl.Completed, crawl.Running, false, fault.Conflict},
		{crawl.Completed, crawl.Cancelled, false, fault.Conflict},
		{crawl.Cancelled, crawl.Running, false, fault.Conflict},
		{crawl.Cancelled, crawl.Cancelled, false, ""},
	} {
		run, err := s.Create(ctx, newRun(), noon)
		require.NoError(t, err)
		_, err = pool.Exec(ctx, "UPDATE crawl_runs SET status = $2, stable_empty = 1 WHERE id = $1", run.ID, tt.from)
		require.NoError(t, err)
		changed, err := s.SetState(ctx, run.ID, tt.to, "olga", noon)
		name := tt.from + " to " + tt.to
		require.Equal(t, tt.class, fault.ClassOf(err), name)
		require.Equal(t, tt.changed, changed, name)
		var (
			is       string
			finished *time.Time
			empty    int
			deeds    int
		)
		require.NoError(t, pool.QueryRow(ctx, `SELECT status, finished_at, stable_empty, (SELECT count(*) FROM audit
			WHERE subject = 'crawl-run/' || crawl_runs.id AND action <> 'crawl_run.started') FROM crawl_runs WHERE id = $1`, run.ID).
			Scan(&is, &finished, &empty, &deeds))
		if !tt.changed {
			require.Equal(t, []any{tt.from, 1, 0}, []any{is, empty, deeds}, name)
			continue
		}
		require.Equal(t, []any{tt.to, 0, 1}, []any{is, empty, deeds}, name)
		require.Equal(t, tt.to == crawl.Cancelled, finished != nil, name)
	}
}

// A retry queues broken URLs as if they were new, in batches, and the counts stay those of the rows.
func TestCrawlRetry(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	addURLs(t, pool, run.ID, crawl.Failed, 5_003)
	addURLs(t, pool, run.ID, crawl.HTTPTerminal, 2)
	addURLs(t, pool, run.ID, crawl.NotFound, 3)
	addURLs(t, pool, run.ID, crawl.Visited, 4)
	_, err = pool.Exec(ctx, `UPDATE crawl_runs SET status = 'COMPLETED', finished_at = $2, stable_empty = 2 WHERE id = $1`,
		run.ID, noon)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `INSERT INTO crawl_tries (run_id, url_id, try, at, worker)
		SELECT run_id, id, 1, $1, 'w' FROM crawl_urls WHERE status IN ('FAILED', 'NOT_FOUND')`, noon)
	require.NoError(t, err)

	n, err := s.Retry(ctx, run.ID, []crawl.State{crawl.Failed, crawl.HTTPTerminal, crawl.Visited}, nil, "olga", noon)
	require.NoError(t, err)
	require.EqualValues(t, 5_005, n)
	got, err := s.Counted(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, dbcrawl.CrawlCounts{Discovered: 5_013, Admitted: 5_013, Queued: 5_006, Visited: 4, NotFound: 3}, got.Counts)
	require.Equal(t, crawl.Running, got.Status)
	require.Nil(t, got.FinishedAt)
	require.EqualValues(t, 3, got.Seq, "a change in each of two batches")
	var queued, fresh, tries, deeds, newest int64
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE status = 'QUEUED'),
		count(*) FILTER (WHERE status = 'QUEUED' AND tries + retry_count + lost_leases = 0 AND visited_at IS NULL
			AND due_at IS NULL AND (seq > 1 OR depth = 0)),
		(SELECT count(*) FROM crawl_tries), (SELECT count(*) FROM audit WHERE action = 'crawl_run.retried'), max(seq)
		FROM crawl_urls`).Scan(&queued, &fresh, &tries, &deeds, &newest))
	require.Equal(t, []int64{5_006, 5_006, 3, 1, 3}, []int64{queued, fresh, tries, deeds, newest})

	n, err = s.Retry(ctx, run.ID, []crawl.State{crawl.Failed}, nil, "olga", noon)
	require.NoError(t, err)
	require.Zero(t, n, "nothing is left")
	_, err = s.SetState(ctx, run.ID, crawl.Paused, "olga", noon)
	require.NoError(t, err)
	var one, visited int64
	require.NoError(t, pool.QueryRow(ctx, `SELECT min(id) FILTER (WHERE status = 'NOT_FOUND'),
		min(id) FILTER (WHERE status = 'VISITED') FROM crawl_urls`).Scan(&one, &visited))
	n, err = s.Retry(ctx, run.ID, crawl.Broken, []int64{visited, one}, "olga", noon)
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "only the one that has failed")
	n, err = s.Retry(ctx, run.ID, []crawl.State{crawl.NotFound}, nil, "olga", noon)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	paused, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, crawl.Paused, paused.Status, "it stays paused")
	require.False(t, paused.Begun)
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET fetches = 1")
	begun, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.True(t, begun.Begun)
	_, err = s.SetState(ctx, run.ID, crawl.Cancelled, "olga", noon)
	require.NoError(t, err)
	_, err = s.Retry(ctx, run.ID, []crawl.State{crawl.Failed}, nil, "olga", noon)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
}

// A redirect to another URL is no failure: it is requested again only where that is asked for.
func TestCrawlRetryOfRedirects(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	addURLs(t, pool, run.ID, crawl.HTTPTerminal, 4)
	addURLs(t, pool, run.ID, crawl.Failed, 1)
	ids := dbtest.Query[int64](t, pool, `UPDATE crawl_urls SET http_status = 302,
		redirect_to = (ARRAY[normalized_url, 'tel:1', 'https://example.org/there'])[substr(normalized_url, 34)::int]
		WHERE status = 'HTTP_TERMINAL' RETURNING id`)
	require.Len(t, ids, 4)
	for _, tt := range []struct {
		states []crawl.State
		urls   []int64
		want   int64
	}{{nil, nil, 4}, {nil, nil, 0}, {nil, ids, 1}} {
		n, err := s.Retry(ctx, run.ID, tt.states, tt.urls, "olga", noon)
		require.NoError(t, err)
		require.Equal(t, tt.want, n)
	}
}

func TestCrawlUnstarted(t *testing.T) {
	t.Parallel()
	s, ctx := dbcrawl.NewCrawls(dbtest.New(t)), t.Context()
	var runs []crawl.Run
	for i := range 4 {
		run, err := s.Create(ctx, newRun(), noon.Add(time.Duration(i)*time.Minute))
		require.NoError(t, err)
		runs = append(runs, run)
	}
	_, err := s.SetState(ctx, runs[1].ID, crawl.Paused, "olga", noon)
	require.NoError(t, err)
	got, err := s.Unstarted(ctx, noon.Add(3*time.Minute), 0, 10)
	require.NoError(t, err)
	require.Equal(t, []crawl.Run{runs[0], runs[2]}, got)
	got, err = s.Unstarted(ctx, noon.Add(3*time.Minute), runs[0].ID, 1)
	require.NoError(t, err)
	require.Equal(t, []crawl.Run{runs[2]}, got)
}

func TestCrawlNote(t *testing.T) {
	t.Parallel()
	s, ctx := dbcrawl.NewCrawls(dbtest.New(t)), t.Context()
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	for _, note := range []string{"a sitemap: status 404\x00", "the sitemaps are left out"} {
		require.NoError(t, s.Note(ctx, run.ID, note))
	}
	got, err := s.Counted(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, "the sitemaps are left out", got.Note)
}
