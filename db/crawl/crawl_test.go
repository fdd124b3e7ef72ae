package crawl_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// frontier is a run on a database of its own.
type frontier struct {
	*dbcrawl.Crawls
	pool *pgxpool.Pool
	run  crawl.Run
}

func newFrontier(t *testing.T, change func(*crawl.Settings)) frontier {
	t.Helper()

	f := frontier{pool: dbtest.New(t)}
	f.Crawls = dbcrawl.NewCrawls(f.pool)
	settings := crawl.Defaults
	if change != nil {
		change(&settings)
	}
	root, err := web.Canonical("https://a.example/")
	require.NoError(t, err)
	f.run, err = f.Create(t.Context(), dbcrawl.NewRun{
		SeedURL: root.URL, Root: root, AllowedHosts: []string{"a.example"}, Settings: settings,
	}, time.Now())
	require.NoError(t, err)
	return f
}

// claim leases URLs for a worker.
func (f frontier) claim(t *testing.T, worker string, most int) []crawl.Claim {
	t.Helper()

	claims, _, err := f.Claim(t.Context(), crawl.Take{
		Run: f.run.ID, Base: f.run.BaseID, Worker: worker, Max: most, Fresh: most, Lease: time.Minute,
	})
	require.NoError(t, err)
	return claims
}

// stored are the URLs of the run as "path depth state reason", sorted.
func (f frontier) stored(t *testing.T) (all []string) {
	t.Helper()

	rows, err := f.pool.Query(t.Context(), `SELECT concat_ws(' ', replace(normalized_url, 'https://a.example', ''), depth,
		status, reason) FROM crawl_urls WHERE run_id = $1 ORDER BY 1`, f.run.ID)
	require.NoError(t, err)
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		all = append(all, s)
	}
	require.NoError(t, rows.Err())
	return all
}

// recovers waits until one lease has ended: none does in the first seconds of a Postgres.
func (f frontier) recovers(t *testing.T) {
	t.Helper()

	f.recoversAll(t, 1)
}

func (f frontier) recoversAll(t *testing.T, n int) {
	t.Helper()

	require.Eventually(t, func() bool {
		p, err := f.Tend(t.Context(), f.run.ID, true)
		return err == nil && p.Recovered == n
	}, servicetest.Patience(), 100*time.Millisecond)
}

// A run goes from its seed to its end, with every state, link, count and message on the way.
func TestFrontier(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	seed := f.claim(t, "w", 10)
	require.Len(t, seed, 1)
	require.Equal(t, "https://a.example/", seed[0].URL)
	require.Empty(t, f.claim(t, "v", 10), "it is leased")

	r := dbtest.Visited(seed[0], "/b", "/c", "/", "/b")
	r.Message = []byte(`{"url":"https://a.example/"}`)
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}))
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}), "a repeated one changes nothing")
	require.Equal(t, []string{"/ 0 VISITED", "/b 1 QUEUED", "/c 1 QUEUED"}, f.stored(t))

	claims := f.claim(t, "w", 10)
	require.Len(t, claims, 2)
	missing := crawl.Result{Claim: claims[1], State: crawl.NotFound, Asked: true, HTTPStatus: 404}
	missing.Message = []byte(`{"url":"https://a.example/c","removed":true}`)
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(claims[0], "/c"), missing}))

	p, err := f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.Equal(t, crawl.Progress{
		Status: crawl.Running, Discovered: 3, Visited: 2, Broken: 1, Fetches: 3, StableEmpty: 1,
		Pauses: new(0),
	}, p)
	p, err = f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.Equal(t, crawl.Completed, p.Status)

	var edges, messages, pages int
	require.NoError(t, f.pool.QueryRow(ctx, `SELECT (SELECT edges FROM crawl_runs),
		(SELECT count(*) FROM outbox WHERE routing_key = 'crawler_queue'), (SELECT count(*) FROM crawl_links)`).Scan(
		&edges, &messages, &pages))
	require.Equal(t, []int{4 + 1, 2, 2}, []int{edges, messages, pages}, "links of a page as it has them, and what is gone")
}

// After a failover that lost commits, URLs that were known before are found anew: no link leads nowhere.
func TestRecordAfterLostCommits(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		seq    int  // of the run, as the new server has it
		server bool // it is another one
	}{
		{"a run that was lost in part", 0, false},
		{"another worker has caught up", 100, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			f, ctx := newFrontier(t, nil), t.Context()
			seed := f.claim(t, "w", 1)
			require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(seed[0], "/b", "/c")}))
			require.Equal(t, []string{"/ 0 VISITED", "/b 1 QUEUED", "/c 1 QUEUED"}, f.stored(t))

			dbtest.Exec(t, f.pool, "DELETE FROM crawl_links")
			dbtest.Exec(t, f.pool, "DELETE FROM crawl_urls WHERE depth > 0")
			dbtest.Exec(t, f.pool, `UPDATE crawl_urls SET status = 'IN_PROGRESS', lease = $1, lease_until = now() + '1 min',
				links = NULL`, seed[0].Lease)
			dbtest.Exec(t, f.pool, `UPDATE crawl_runs SET seq = $1, discovered = 1, admitted = 1, visited = 0, fetches = 0,
				edges = 0`, tt.seq)
			if tt.server {
				f.KnownFrom(f.run.ID, dbtest.Start)
			}
			require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(seed[0], "/b", "/c")}))
			require.Equal(t, []string{"/ 0 VISITED", "/b 1 QUEUED", "/c 1 QUEUED"}, f.stored(t))
			require.Equal(t, []string{"0"}, dbtest.Query[string](t, f.pool, `
				SELECT count(*)::text FROM crawl_links l, unnest(l.to_ids) AS e(id)
				WHERE NOT EXISTS (SELECT FROM crawl_urls u WHERE u.run_id = l.run_id AND u.id = e.id)`))
		})
	}
}

// A worker that did not look while a run was paused and resumed is told afterwards, and one that began since is not.
func TestPauseBetweenTwoLooks(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	before, err := f.Run(ctx, f.run.ID)
	require.NoError(t, err)
	for _, to := range []string{crawl.Paused, crawl.Running} {
		_, err := f.SetState(ctx, f.run.ID, to, "olga", time.Now())
		require.NoError(t, err)
	}
	after, err := f.Run(ctx, f.run.ID)
	require.NoError(t, err)
	for _, run := range []crawl.Run{before, after} {
		_, status, err := f.Claim(ctx, crawl.Take{Run: run.ID, Pauses: run.Pauses, Worker: "w", Lease: time.Minute})
		require.NoError(t, err)
		require.Equal(t, run.Pauses == before.Pauses, status == crawl.Paused, run.Pauses)
	}
	p, err := f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.Equal(t, []any{crawl.Running, before.Pauses + 1}, []any{p.Status, *p.Pauses})
}

// While many pages wait to be published, no run claims: each page would add its text. Published ones are gone at once.
func TestUnpublishedPagesHoldClaims(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	add := func(lane string, n int) {
		dbtest.Exec(t, f.pool, `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
			SELECT gen_random_uuid(), $1, '', 'crawler_queue', '{"text":"…"}', now() FROM generate_series(1, $2)`, lane, n)
	}
	add("kijiji", 10)
	add("crawl", crawl.UnpublishedMost)
	claims, status, err := f.Claim(ctx, crawl.Take{Run: f.run.ID, Worker: "w", Max: 10, Fresh: 10, Lease: time.Minute})
	require.NoError(t, err)
	require.Equal(t, crawl.Running, status)
	require.Empty(t, claims)
	s, err := f.Status(ctx)
	require.NoError(t, err)
	require.EqualValues(t, crawl.UnpublishedMost, s.Unpublished)
	dbtest.Exec(t, f.pool, `UPDATE crawl_runs SET run_config = jsonb_set(run_config, '{publish}', 'false')`)
	claims, _, err = f.Claim(ctx, crawl.Take{Run: f.run.ID, Worker: "w", Max: 10, Fresh: 10, Lease: time.Minute})
	require.NoError(t, err)
	require.Len(t, claims, 1, "a run that publishes nothing")
	dbtest.Exec(t, f.pool, `UPDATE crawl_runs SET run_config = jsonb_set(run_config, '{publish}', 'true')`)
	dbtest.Exec(t, f.pool, "UPDATE crawl_urls SET status = 'QUEUED', lease_until = NULL, claimed_by_worker = NULL, claimed_at = NULL")

	o, token := dbtest.Outbox(t, f.pool), uuid.New()
	leased, err := o.Lease(ctx, token, "", 50, 500, 16<<20, time.Minute)
	require.NoError(t, err)
	var ids []int64
	for _, m := range leased {
		ids = append(ids, m.ID)
	}
	n, err := o.Published(ctx, token, ids, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 60, n)
	require.Equal(t, []string{"crawl 9950", "kijiji 10"}, dbtest.Query[string](t, f.pool,
		"SELECT lane || ' ' || count(*) FROM outbox GROUP BY lane ORDER BY 1"))
	require.Len(t, f.claim(t, "w", 10), 1)
}

// A result of a lease that was lost does not count, and nobody's lease is taken while it holds.
func TestLostLease(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	old := f.claim(t, "dead", 1)[0]
	p, err := f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.Zero(t, p.Recovered)
	require.True(t, p.Working)
	_, err = f.pool.Exec(ctx, "UPDATE crawl_urls SET lease_until = now() + interval '9 s'")
	require.NoError(t, err)
	p, err = f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.False(t, p.Working, "the worker has not extended it")
	_, err = f.pool.Exec(ctx, "UPDATE crawl_urls SET lease_until = now() - interval '1 s'")
	require.NoError(t, err)
	p, err = f.Tend(ctx, f.run.ID, false)
	require.NoError(t, err)
	require.Zero(t, p.Recovered, "not after an outage")
	f.recovers(t)

	again := f.claim(t, "alive", 1)[0]
	require.Equal(t, old.ID, again.ID)
	require.NoError(t, f.Record(ctx, f.run.ID, "dead", []crawl.Result{{Claim: old, State: crawl.NotFound, Asked: true}}))
	require.Equal(t, []string{"/ 0 IN_PROGRESS"}, f.stored(t))
	require.NoError(t, f.Record(ctx, f.run.ID, "alive", []crawl.Result{dbtest.Visited(again)}))
	require.Equal(t, []string{"/ 0 VISITED"}, f.stored(t))
}

// A URL that ends the workers that read it fails after the third. What they had beside it, and what they read before, is
// not taken for it, however often they are killed.
func TestAURLThatKillsItsReader(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{
		dbtest.Visited(f.claim(t, "w", 1)[0], "/kills", "/read", "/waits"),
	}))
	byURL := func() map[string]crawl.Claim {
		claims := map[string]crawl.Claim{}
		for _, c := range f.claim(t, "w", 10) {
			claims[strings.TrimPrefix(c.URL, "https://a.example")] = c
		}
		return claims
	}
	dies := func() {
		dbtest.Exec(t, f.pool, "UPDATE crawl_urls SET lease_until = now() - interval '1 s' WHERE status = 'IN_PROGRESS'")
		f.recoversAll(t, 3)
	}
	require.Zero(t, byURL()["/kills"].Lost)
	dies()
	for range 2 {
		require.Equal(t, "/ 0 VISITED /kills 1 QUEUED /read 1 QUEUED /waits 1 QUEUED", strings.Join(f.stored(t), " "))
		claims := byURL()
		require.Positive(t, claims["/kills"].Lost)
		require.NoError(t, f.BeginReading(ctx, f.run.ID, claims["/read"]))
		require.NoError(t, f.EndReading(ctx, f.run.ID, claims["/read"]))
		require.NoError(t, f.BeginReading(ctx, f.run.ID, claims["/kills"]))
		dies()
	}
	require.Equal(t, []string{"/ 0 VISITED", "/kills 1 FAILED", "/read 1 QUEUED", "/waits 1 QUEUED"}, f.stored(t))
	require.Equal(t, []string{"3 workers died or hung with it, the last 2 while they read it: invalid"}, dbtest.Query[string](t,
		f.pool, "SELECT error || ': ' || error_class FROM crawl_urls WHERE status = 'FAILED'"))
	n, err := f.Run(ctx, f.run.ID)
	require.NoError(t, err)
	require.Equal(t, crawl.Running, n.Status)

	claims := byURL()
	require.NoError(t, f.BeginReading(ctx, f.run.ID, claims["/waits"]))
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{{Claim: claims["/waits"], State: crawl.Queued, Asked: true}}))
	require.Equal(t, []int{0}, dbtest.Query[int](t, f.pool, "SELECT readings::int FROM crawl_urls WHERE id = $1", claims["/waits"].ID),
		"a result ends it as well")
	require.Equal(t, fault.Conflict, fault.ClassOf(f.BeginReading(ctx, f.run.ID, claims["/waits"])), "its lease is over")
}

// A result of a lease that was lost brings no links in place of those of the result that counted, also where a page
// that was stored with it has a shorter way to its URL.
func TestLostLeaseLeavesTheLinks(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	record := func(results ...crawl.Result) {
		require.NoError(t, f.Record(ctx, f.run.ID, "w", results))
	}
	record(dbtest.Visited(f.claim(t, "w", 1)[0], "/near", "/1"))
	near := f.claim(t, "w", 1)[0]
	for _, next := range []string{"/2", "/far"} {
		record(dbtest.Visited(f.claim(t, "w", 1)[0], next))
	}
	old := f.claim(t, "dead", 1)[0]
	require.Equal(t, "https://a.example/far", old.URL)
	_, err := f.pool.Exec(ctx, "UPDATE crawl_urls SET lease_until = now() - interval '1 s' WHERE id = $1", old.ID)
	require.NoError(t, err)
	f.recovers(t)
	record(dbtest.Visited(f.claim(t, "alive", 1)[0], "/1"))

	require.NoError(t, f.Record(ctx, f.run.ID, "dead", []crawl.Result{
		dbtest.Visited(old, "/1", "/2"), dbtest.Visited(near, "/far"),
	}))
	require.Contains(t, f.stored(t), "/far 2 VISITED")
	var edges, counted int
	require.NoError(t, f.pool.QueryRow(ctx, `SELECT (SELECT sum(cardinality(to_ids)) FROM crawl_links), edges
		FROM crawl_runs`).Scan(&edges, &counted))
	require.Equal(t, []int{6, 6}, []int{edges, counted})
}

// A shorter way that is found late shortens all that follows from it, and lets in what was too far away.
func TestShorterWay(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, func(s *crawl.Settings) { s.MaxDepth = 4 }), t.Context()
	record := func(results ...crawl.Result) {
		require.NoError(t, f.Record(ctx, f.run.ID, "w", results))
	}
	record(dbtest.Visited(f.claim(t, "w", 1)[0], "/late", "/1"))
	late := f.claim(t, "w", 1)[0]
	for _, next := range []string{"/2", "/3", "/4", "/5"} {
		record(dbtest.Visited(f.claim(t, "w", 1)[0], next))
	}
	require.Equal(t, []string{"/ 0 VISITED", "/1 1 VISITED", "/2 2 VISITED", "/3 3 VISITED", "/4 4 VISITED",
		"/5 5 SKIPPED max_depth", "/late 1 IN_PROGRESS"}, f.stored(t))
	record(dbtest.Visited(late, "/3"))
	for range 5 {
		_, err := f.Tend(ctx, f.run.ID, true)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"/ 0 VISITED", "/1 1 VISITED", "/2 2 VISITED", "/3 2 VISITED", "/4 3 VISITED", "/5 4 QUEUED",
		"/late 1 VISITED"}, f.stored(t))
	p, err := f.Tend(ctx, f.run.ID, true)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 7}, []int{p.Open, p.Skipped, p.Discovered})
}

// URLs that a shorter way lets in are pages of the budget too, after the new ones that are found with them.
func TestShorterWaysKeepTheBudget(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, func(s *crawl.Settings) { s.MaxDepth, s.MaxPages = 2, 6 }), t.Context()
	record := func(c crawl.Claim, paths ...string) {
		require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(c, paths...)}))
	}
	record(f.claim(t, "w", 1)[0], "/a", "/b")
	a, late := f.claim(t, "w", 1)[0], f.claim(t, "w", 1)[0]
	record(a, "/c")
	record(f.claim(t, "w", 1)[0], "/x1", "/x2", "/x3")
	record(late, "/x1", "/x2", "/x3", "/new")
	require.Equal(t, []string{"/ 0 VISITED", "/a 1 VISITED", "/b 1 VISITED", "/c 2 VISITED", "/new 2 QUEUED", "/x1 2 QUEUED",
		"/x2 2 SKIPPED max_depth", "/x3 2 SKIPPED max_depth"}, f.stored(t))
	got, err := f.Counted(ctx, f.run.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{6, 2, 2}, []int64{got.Counts.Admitted, got.Counts.Skipped, got.Counts.Queued})
}

// A trap fills neither the frontier nor the disk.
func TestBudget(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, func(s *crawl.Settings) { s.MaxPages = 10 }), t.Context()
	var paths []string
	for i := range 3000 {
		paths = append(paths, fmt.Sprintf("/%04d", i))
	}
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(f.claim(t, "w", 1)[0], paths...)}))
	var admitted, discovered, skipped, dropped int
	require.NoError(t, f.pool.QueryRow(ctx, "SELECT admitted, discovered, skipped, dropped FROM crawl_runs").Scan(
		&admitted, &discovered, &skipped, &dropped))
	require.Equal(t, []int{10, 1010, 1000, 1991}, []int{admitted, discovered, skipped, dropped})
	require.Len(t, f.claim(t, "w", 100), 9)
}

// A run that only skips URLs is no run that stands still.
func TestSkippingIsProgress(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	skipped := crawl.Result{Claim: f.claim(t, "w", 1)[0], State: crawl.Skipped, Reason: crawl.SkippedRecent}
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{skipped}))
	var fetches, finished, bytes int
	require.NoError(t, f.pool.QueryRow(ctx, "SELECT fetches, finished, bytes FROM crawl_rates").Scan(
		&fetches, &finished, &bytes))
	require.Equal(t, []int{0, 1, 0}, []int{fetches, finished, bytes})
}

// A URL that is tried again has the links of its newest answer, each of which is counted once.
func TestRetriedLinks(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	answer := func(r crawl.Result, edges int64) {
		t.Helper()
		require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}))
		got, err := f.Counted(ctx, f.run.ID)
		require.NoError(t, err)
		require.Equal(t, edges, got.Counts.Edges)
		require.Equal(t, edges, dbtest.Query[int64](t, f.pool,
			"SELECT coalesce(sum(cardinality(to_ids)), 0)::bigint FROM crawl_links")[0])
	}
	moved := func(c crawl.Claim) crawl.Result {
		r := dbtest.Visited(c, "/there")
		r.State, r.HTTPStatus = crawl.HTTPTerminal, 302
		return r
	}
	again := func() crawl.Claim {
		n, err := f.Retry(ctx, f.run.ID, []crawl.State{crawl.HTTPTerminal}, nil, "olga", time.Now())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		return f.claim(t, "w", 1)[0]
	}
	answer(moved(f.claim(t, "w", 1)[0]), 1)
	answer(moved(again()), 1)
	answer(crawl.Result{Claim: again(), State: crawl.NotFound, Asked: true, HTTPStatus: 404}, 0)
}

// Every host has its turn, whatever another one has waiting.
func TestClaimIsFair(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	r := dbtest.Visited(f.claim(t, "w", 1)[0])
	for host, n := range map[string]int{"big.example": 500, "m.example": 5, "z.example": 5} {
		for i := range n {
			r.Links = append(r.Links, crawl.Link{URL: fmt.Sprintf("https://%s/%d", host, i), Host: host})
		}
	}
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}))
	take := crawl.Take{Run: f.run.ID, Worker: "w", Max: 30, Fresh: 10, Lease: time.Minute}
	of := func(claims []crawl.Claim) map[string]int {
		n := map[string]int{}
		for _, c := range claims {
			n[c.Host]++
		}
		return n
	}
	claims, _, err := f.Claim(ctx, take)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"big.example": 10, "m.example": 5, "z.example": 5}, of(claims))
	take.Room, take.Fresh = map[string]int{"big.example": 0}, 10
	claims, _, err = f.Claim(ctx, take)
	require.NoError(t, err)
	require.Empty(t, claims, "it is left alone")
	take.Room["big.example"], take.Cursor = 3, "big.example"
	claims, _, err = f.Claim(ctx, take)
	require.NoError(t, err)
	require.Len(t, claims, 3)
}

// Many workers at once claim each URL once, and every count is right in the end.
func TestFrontierAtOnce(t *testing.T) {
	t.Parallel()

	const pages, workers = 300, 6
	f, ctx := newFrontier(t, nil), t.Context()
	links := func(n int) (paths []string) {
		for _, to := range []int{2*n + 1, 2*n + 2, n / 2, (n * 7) % pages} {
			if to > 0 && to < pages {
				paths = append(paths, fmt.Sprintf("/%d", to))
			}
		}
		return paths
	}
	var all errgroup.Group
	seen := make(chan int64, 10*pages)
	for w := range workers {
		store := dbcrawl.NewCrawls(f.pool) // a process of its own, with a memory of its own
		all.Go(func() error {
			worker := fmt.Sprint("w", w)
			for misses := 0; misses < 50; {
				claims, _, err := store.Claim(ctx, crawl.Take{
					Run: f.run.ID, Worker: worker, Max: 7, Fresh: 7, Lease: time.Minute,
				})
				if err != nil {
					return err
				}
				if misses++; len(claims) > 0 {
					misses = 0
				}
				var results []crawl.Result
				for _, c := range claims {
					seen <- c.ID
					n := 0
					_, _ = fmt.Sscanf(c.URL, "https://a.example/%d", &n)
					results = append(results, dbtest.Visited(c, links(n)...))
				}
				if err := store.Record(ctx, f.run.ID, worker, results); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	close(seen)
	var ids []int64
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	require.Equal(t, len(ids), len(slices.Compact(slices.Clone(ids))), "one was claimed twice")
	require.Len(t, ids, pages)
	require.Eventually(t, func() bool {
		p, err := f.Tend(context.WithoutCancel(ctx), f.run.ID, true)
		return err == nil && p.Status == crawl.Completed && p.Visited == pages && p.Discovered == pages
	}, servicetest.Patience(), 10*time.Millisecond)
	var wrong, edges int
	require.NoError(t, f.pool.QueryRow(ctx, `SELECT count(*) FROM crawl_links l CROSS JOIN unnest(l.to_ids) AS e(id)
		JOIN crawl_urls a ON a.run_id = l.run_id AND a.id = l.from_id
		JOIN crawl_urls b ON b.run_id = l.run_id AND b.id = e.id WHERE b.depth > a.depth + 1`).Scan(&wrong))
	require.Zero(t, wrong, "a link leads further than one step")
	require.NoError(t, f.pool.QueryRow(ctx, `SELECT sum(cardinality(to_ids)) FROM crawl_links`).Scan(&edges))
	want := 0
	for n := range pages {
		want += len(links(n))
	}
	require.Equal(t, want, edges)
}

// A worker keeps the leases of what it is at. Those of a claim whose answer it never got end, or a run would never.
func TestKeep(t *testing.T) {
	t.Parallel()

	f, ctx := newFrontier(t, nil), t.Context()
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(f.claim(t, "w", 1)[0], "/held", "/lost")}))
	held, lost := f.claim(t, "w", 1)[0], f.claim(t, "w", 1)[0]
	_, err := f.pool.Exec(ctx, "UPDATE crawl_urls SET lease_until = now() - interval '1 s' WHERE status = 'IN_PROGRESS'")
	require.NoError(t, err)
	require.NoError(t, f.Keep(ctx, f.run.ID, "w", []int64{held.ID}, time.Minute))
	require.NoError(t, f.Keep(ctx, f.run.ID, "another", []int64{lost.ID}, time.Minute))
	f.recovers(t)
	require.Equal(t, []string{"/ 0 VISITED", "/held 1 IN_PROGRESS", "/lost 1 QUEUED"}, f.stored(t))
}

// A conditional run asks with the validators of its base, and has the links of the pages there that are unchanged.
func TestAConditionalRunHasItsBase(t *testing.T) {
	t.Parallel()
	f, ctx := newFrontier(t, nil), t.Context()
	first := dbtest.Visited(f.claim(t, "w", 1)[0], "/2", "/3", "/5", "/6")
	first.Validators.ETag = `"one"`
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{first}))
	for _, c := range f.claim(t, "w", 4) {
		r := dbtest.Visited(c)
		if c.URL == "https://a.example/6" {
			r.State, r.HTTPStatus, r.Links = crawl.NotFound, 404, nil
		}
		r.Validators = crawl.Validators{ETag: `"more"`, LastModified: "Thu, 26 Nov 2026 12:00:00 GMT"}
		require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}))
	}
	_, err := f.pool.Exec(ctx, "UPDATE crawl_runs SET status = 'COMPLETED' WHERE id = $1", f.run.ID)
	require.NoError(t, err)
	settings := f.run.Settings
	settings.Conditional = true
	base := f.run.ID
	f.run, err = f.Create(ctx, dbcrawl.NewRun{
		SeedURL: f.run.SeedURL, Root: web.Address{URL: f.run.RootURL}, AllowedHosts: f.run.AllowedHosts, Settings: settings,
	}, time.Now())
	require.NoError(t, err)
	require.Equal(t, base, f.run.BaseID)

	seed := f.claim(t, "w", 9)
	require.Len(t, seed, 1)
	require.Equal(t, `"one"`, seed[0].ETag)
	links, err := f.LinksOfBase(ctx, f.run.ID, []string{"https://a.example/", "https://a.example/2", "https://a.example/new"})
	require.NoError(t, err)
	require.Equal(t, map[string][]crawl.Link{"https://a.example/": first.Links}, links)
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{dbtest.Visited(seed[0], "/2", "/3", "/4", "/5", "/6")}))
	// Another run, which did not complete, found a page to be gone: a 304 would leave it out of the search.
	_, err = dbsearch.NewPages(f.pool).Remove(ctx, []search.Incoming{
		{Document: search.Document{URL: "https://a.example/3", CrawledAt: time.Now()}},
	}, time.Now(), nil)
	require.NoError(t, err)
	// So was another one, which has come back since.
	page := func(text string, minutes int) search.Incoming {
		return search.Incoming{Document: search.Document{
			URL: "https://a.example/2", Site: "a.example", Text: text, Language: "en", Type: "html",
			CrawledAt: dbtest.After(minutes),
		}, StatusCode: 200}
	}
	_, err = dbsearch.NewPages(f.pool).Remove(ctx, []search.Incoming{page("", 1)}, time.Now(), nil)
	require.NoError(t, err)
	_, err = dbsearch.NewPages(f.pool).Store(ctx, []search.Incoming{page("back", 2)}, time.Now())
	require.NoError(t, err)
	// An operator has deleted one.
	deleted := page("there", 0)
	deleted.URL = "https://a.example/5"
	_, err = dbsearch.NewPages(f.pool).Store(ctx, []search.Incoming{deleted}, time.Now())
	require.NoError(t, err)
	_, err = dbsearch.NewPages(f.pool).Delete(ctx, dbsearch.PagesWhere{URL: deleted.URL}, 1, nil)
	require.NoError(t, err)
	sent := map[string]crawl.Validators{}
	for _, c := range f.claim(t, "w", 9) {
		sent[c.URL] = crawl.Validators{ETag: c.ETag, LastModified: c.LastModified}
	}
	require.Equal(t, map[string]crawl.Validators{
		"https://a.example/2": {ETag: `"more"`, LastModified: "Thu, 26 Nov 2026 12:00:00 GMT"},
		"https://a.example/3": {}, // is out of the search
		"https://a.example/4": {}, // is new
		"https://a.example/5": {}, // is out of the search
		"https://a.example/6": {}, // was no page
	}, sent)
}

// The bytes of a run are those that were taken, whatever lengths its answers announce or do not know.
func TestBytesAreThoseThatWereTaken(t *testing.T) {
	t.Parallel()
	f, ctx := newFrontier(t, nil), t.Context()
	seed := dbtest.Visited(f.claim(t, "w", 1)[0], "/film", "/moved", "/page")
	seed.ContentLength, seed.Bytes = 100, 100
	require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{seed}))
	said := map[string][2]int64{"/film": {4_700_000_000, 0}, "/moved": {-1, 0}, "/page": {20, 20}}
	for _, c := range f.claim(t, "w", 9) {
		r := dbtest.Visited(c)
		length := said[strings.TrimPrefix(c.URL, "https://a.example")]
		r.ContentLength, r.Bytes = length[0], length[1]
		require.NoError(t, f.Record(ctx, f.run.ID, "w", []crawl.Result{r}))
	}
	var run, rates int64
	var unknown string
	require.NoError(t, f.pool.QueryRow(ctx, `SELECT (SELECT bytes FROM crawl_runs), (SELECT sum(bytes)::bigint FROM crawl_rates),
		(SELECT string_agg(normalized_url, ' ') FROM crawl_urls WHERE content_length IS NULL)`).Scan(&run, &rates, &unknown))
	require.Equal(t, []int64{120, 120}, []int64{run, rates})
	require.Equal(t, "https://a.example/moved", unknown)
}

// URLs of a run are looked up by their keys also while the planner knows only the runs before it.
func TestANewRunIsNoSurprise(t *testing.T) {
	t.Parallel()
	f, ctx := newFrontier(t, nil), t.Context()
	fill := func(run int64) {
		_, err := f.pool.Exec(ctx, `INSERT INTO crawl_urls (run_id, url_key, seq, depth, status, host, normalized_url,
			created_at, updated_at) SELECT $1, gen_random_uuid(), 1, 1, 'VISITED', 'a.example', 'https://a.example/' || n,
			now(), now() FROM generate_series(1, 20000) n`, run)
		require.NoError(t, err)
	}
	fill(f.run.ID)
	dbtest.Alter(t, f.pool, "ANALYZE crawl_urls")
	second, err := f.Create(ctx, dbcrawl.NewRun{
		SeedURL: f.run.SeedURL, Root: web.Address{URL: f.run.RootURL}, AllowedHosts: f.run.AllowedHosts, Settings: f.run.Settings,
	}, time.Now())
	require.NoError(t, err)
	fill(second.ID)
	for index, lookup := range map[string]string{
		"crawl_urls_before_key":  "url_key = md5(n::text)::uuid",
		"crawl_urls_before_pkey": "id = n",
	} {
		rows, err := f.pool.Query(ctx, fmt.Sprintf(`EXPLAIN SELECT u.depth FROM generate_series(1, 200) n
			CROSS JOIN LATERAL (SELECT depth FROM crawl_urls WHERE run_id = %d AND %s LIMIT 1) u`, second.ID, lookup))
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Contains(t, strings.Join(plan, "\n"), "using "+index+" on crawl_urls_before")
	}
}
