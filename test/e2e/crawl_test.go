package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/sharedtest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// served serves a site, and counts its requests.
func served(t *testing.T, site http.Handler) (watch *crawlsite.Watch, origin string) {
	t.Helper()

	watch = crawlsite.New(site)
	server := httptest.NewServer(watch)
	t.Cleanup(server.Close)
	return watch, server.URL
}

// crawling makes a world with an API and so many workers that may crawl the origins, without gaps.
func crawling(t *testing.T, workers int, origins []string, settings ...string) *world {
	t.Helper()

	hosts := strings.ReplaceAll(strings.Join(origins, ","), "http://", "")
	w := newWorld(t, append([]string{
		"CONVEYOR_ALLOW_PRIVATE_HOSTS=" + hosts, "FETCH_MIN_GAP_PER_HOST_MS=0", "FETCH_GAP_JITTER_MS=0",
		"RETRY_BASE_DELAY_MS=100",
	}, settings...)...)
	w.start("api")
	for range workers {
		w.start("worker")
	}
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	return w
}

// crawl starts a run. Pages are not published unless the settings say so.
func (w *world) crawl(seed string, settings map[string]any) (run int64) {
	w.t.Helper()

	all := map[string]any{"publish": false}
	maps.Copy(all, settings)
	body, err := json.Marshal(map[string]any{"seedUrl": seed, "settings": all})
	require.NoError(w.t, err)
	resp, err := http.Post(w.api+"/crawl-runs", "application/json", strings.NewReader(string(body)))
	require.NoError(w.t, err)
	defer resp.Body.Close()
	var out struct {
		ID      int64  `json:"id"`
		Warning string `json:"warning"`
	}
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&out))
	require.Less(w.t, resp.StatusCode, 300, "start a crawl of %s", seed)
	require.NotZero(w.t, out.ID)
	return out.ID
}

// completed waits until a run is over, and returns what it found, by URL.
func (w *world) completed(run int64) map[string]crawlsite.Want {
	w.t.Helper()

	w.eventually(fmt.Sprintf("run %d is completed", run), func() bool {
		return one[string](w, "SELECT status FROM crawl_runs WHERE id = $1", run) == crawl.Completed
	})
	w.balanced(run)
	return w.found(run)
}

// found are the URLs of a run.
func (w *world) found(run int64) map[string]crawlsite.Want {
	w.t.Helper()

	rows, _ := w.db.Query(w.ctx(), `
		SELECT normalized_url, depth, status, coalesce(http_status, 0) FROM crawl_urls WHERE run_id = $1`, run)
	out := map[string]crawlsite.Want{}
	var url string
	var found crawlsite.Want
	_, err := pgx.ForEachRow(rows, []any{&url, &found.Depth, &found.State, &found.Status}, func() error {
		out[url] = found
		return nil
	})
	require.NoError(w.t, err)
	return out
}

// sqlCrawlOff are the counts of a run that its URLs contradict.
const sqlCrawlOff = `
SELECT coalesce(string_agg(format('%s is %s, of the rows %s', c.name, c.counted, c.real), '; '), '')
FROM crawl_runs r,
LATERAL (
    SELECT count(*) AS discovered, count(*) FILTER (WHERE status = 'VISITED') AS visited,
        count(*) FILTER (WHERE status = 'REDIRECT_301') AS redirect_301,
        count(*) FILTER (WHERE status = 'FORBIDDEN') AS forbidden,
        count(*) FILTER (WHERE status = 'NOT_FOUND') AS not_found,
        count(*) FILTER (WHERE status = 'HTTP_TERMINAL') AS http_terminal,
        count(*) FILTER (WHERE status = 'FAILED') AS failed, count(*) FILTER (WHERE status = 'SKIPPED') AS skipped,
        sum(tries) AS fetches, sum(retry_count) AS retries, sum(lost_leases) AS lost_leases,
        count(*) FILTER (WHERE status IN ('QUEUED', 'IN_PROGRESS')) AS open
    FROM crawl_urls WHERE run_id = r.id
) u,
LATERAL (SELECT coalesce(sum(cardinality(to_ids)), 0) AS edges FROM crawl_links WHERE run_id = r.id) l,
LATERAL (VALUES ('discovered', r.discovered, u.discovered), ('visited', r.visited, u.visited),
    ('redirect_301', r.redirect_301, u.redirect_301), ('forbidden', r.forbidden, u.forbidden),
    ('not_found', r.not_found, u.not_found), ('http_terminal', r.http_terminal, u.http_terminal),
    ('failed', r.failed, u.failed), ('skipped', r.skipped, u.skipped), ('fetches', r.fetches, u.fetches),
    ('retries', r.retries, u.retries), ('lost_leases', r.lost_leases, u.lost_leases), ('edges', r.edges, l.edges),
    ('open', 0, u.open)) AS c(name, counted, real)
WHERE r.id = $1 AND c.counted <> c.real`

// balanced checks the counts of a run that is over against its rows, and that every URL is reached from its parent.
func (w *world) balanced(run int64) {
	w.t.Helper()

	require.Empty(w.t, one[string](w, sqlCrawlOff, run), "counts of run %d", run)
	require.Zero(w.t, one[int](w, `
		SELECT count(*) FROM crawl_urls u WHERE run_id = $1 AND discovered_from_url_id IS NOT NULL AND NOT EXISTS (
			SELECT FROM crawl_urls p JOIN crawl_links l ON l.run_id = p.run_id AND l.from_id = p.id
			WHERE p.run_id = $1 AND p.id = u.discovered_from_url_id AND p.depth = u.depth - 1 AND u.id = ANY (l.to_ids))`, run),
		"URLs without a way from their parent")
}

// exported is what GET /export says of the URLs of a run.
func (w *world) exported(run int64) map[string]crawlsite.Want {
	w.t.Helper()

	resp, err := http.Get(fmt.Sprintf("%s/crawl-runs/%d/export?format=ndjson&limit=1000000", w.api, run))
	require.NoError(w.t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		require.Fail(w.t, "the export fails", "%s: %s", resp.Status, body)
	}
	out := map[string]crawlsite.Want{}
	for lines := json.NewDecoder(resp.Body); lines.More(); {
		var row struct {
			URL    string      `json:"normalized_url"`
			Depth  int         `json:"depth"`
			Status crawl.State `json:"status"`
			HTTP   int         `json:"http_status"`
		}
		require.NoError(w.t, lines.Decode(&row))
		out[row.URL] = crawlsite.Want{Depth: row.Depth, State: row.Status, Status: row.HTTP}
	}
	return out
}

// deep are the settings of a run that must find all of a generated site.
var deep = map[string]any{"maxDepth": 1000}

// expected is what a run with those settings finds.
func expected(g *crawlsite.Graph, origin string) map[string]crawlsite.Want {
	s := crawl.Defaults
	s.MaxDepth = 1000
	return g.Expected(origin, s)
}

// A crawl finds what is there, and what was crawled can be found.
func TestCrawls(t *testing.T) {
	// Not beside the others: it takes all cores, and they have deadlines.
	sites := crawled(t)
	origins := make([]string, len(sites))
	for i, s := range sites {
		origins[i] = s.origin
	}
	w := crawling(t, 1, origins)
	t.Run("a crawl finds what is there", func(t *testing.T) { w.in(t).findsWhatIsThere(sites) })
	t.Run("crawled pages are found", func(t *testing.T) { w.in(t).indexes() })
}

// A crawledSite is served, and it is known what a crawl from its seed finds.
type crawledSite struct {
	name, seed string
	want       func(origin string) map[string]crawlsite.Want
	watch      *crawlsite.Watch
	origin     string
}

// crawled serves the fixed sites of the system that this one replaces, and generated ones.
func crawled(t *testing.T) (sites []*crawledSite) {
	t.Helper()

	add := func(name, seed string, handler func(origin, other string) http.Handler,
		want func(origin string) map[string]crawlsite.Want) {
		s := &crawledSite{name: name, want: want}
		var inner http.Handler
		s.watch, s.origin = served(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(rw, r)
		}))
		inner = handler(s.origin, strings.Replace(s.origin, "127.0.0.1", "localhost", 1))
		s.seed = s.origin + seed
		sites = append(sites, s)
	}
	for _, f := range crawlsite.Fixtures {
		add(f.Name, f.Seed, f.Site, func(origin string) map[string]crawlsite.Want {
			return f.Expected(origin, strings.Replace(origin, "127.0.0.1", "localhost", 1))
		})
	}
	seeds := []uint64{42424, 91817, servicetest.Seed(t)}
	if set := os.Getenv("TEST_GRAPH_SEED"); set != "" {
		n, err := strconv.ParseUint(set, 10, 64)
		require.NoError(t, err)
		seeds = append(seeds, n)
	}
	for i, seed := range seeds {
		pages := []int{11, 40, 250}[min(i, 2)]
		g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: seed, Pages: pages, Flaky: i > 0})
		t.Logf("TEST_GRAPH_SEED=%d makes the %s", seed, g)
		add(g.String(), "/", func(string, string) http.Handler { return g },
			func(origin string) map[string]crawlsite.Want { return expected(g, origin) })
	}
	return sites
}

// A crawl finds exactly what is there, whatever the number of workers.
func (w *world) findsWhatIsThere(sites []*crawledSite) {
	t := w.t
	first := make([]int64, len(sites))
	for i, s := range sites {
		first[i] = w.crawl(s.seed, deep)
	}
	for i, s := range sites {
		want := s.want(s.origin)
		require.Equal(t, want, w.completed(first[i]), s.name)
		require.Equal(t, want, w.exported(first[i]), "export of %s", s.name)
		for url, n := range s.watch.Hits() {
			if r := want[url]; !strings.HasSuffix(url, "/robots.txt") {
				require.NotZero(t, r.Status, "%s was requested", url)
				require.LessOrEqual(t, n, 2, "%s: once, and again if it fails", url)
			}
		}
	}
	// Three workers find the same.
	w.start("worker")
	w.start("worker")
	for i, s := range sites {
		again := w.crawl(s.seed, deep)
		require.Equal(t, w.found(first[i]), w.completed(again), "%s, by three workers", s.name)
	}
}

// A real site, with frames, is crawled exactly.
func TestACrawlOfARealSite(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	// Not beside the others: it takes all cores, and they have deadlines.

	folder := filepath.Join(sharedtest.Dir(t, "the crawl of a real site"), "data", "sites")
	site, err := crawlsite.OpenReal(folder, "hamcrest-javadoc")
	require.NoError(t, err)
	watch, origin := served(t, crawlsite.Static(site.Files))
	w := crawling(t, 1, []string{origin})
	want := site.Expected(origin)
	require.Equal(t, want, w.completed(w.crawl(origin+site.Seed, nil)))
	require.Equal(t, len(want), watch.Pace(strings.TrimPrefix(origin, "http://")).Requests, "each URL once")
	// Nothing has changed, so no page is sent again, and all are found again.
	again := w.completed(w.crawl(origin+site.Seed, map[string]any{"conditional": true}))
	for url, found := range again {
		require.Equal(t, http.StatusNotModified, found.Status, url)
		found.Status = http.StatusOK
		again[url] = found
	}
	require.Equal(t, want, again)
}

// Workers are killed again and again: a crawl finds the same, and requests a URL again only when it was in the hands of
// a worker that was killed.
func TestACrawlSurvivesItsWorkers(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	// Not beside the others: it takes all cores, and they have deadlines.

	g := crawlsite.NewGraph(crawlsite.GraphOptions{
		Seed: servicetest.Seed(t), Pages: 250, Chain: 4, Delay: 60 * time.Millisecond,
	})
	watch, origin := served(t, g)
	w := crawling(t, 0, []string{origin}, "FETCH_CONCURRENCY_PER_HOST=3")
	workers := []*process{w.start("worker"), w.start("worker"), w.start("worker")}
	run := w.crawl(origin+"/", deep)
	t.Logf("run %d of the %s", run, g)
	inHand := map[string]int{}
	for kill := range 4 {
		asked := watch.Total()
		w.eventually("the crawl goes on", func() bool {
			return watch.Total() >= asked+40 || one[string](w, "SELECT status FROM crawl_runs") != crawl.Running
		})
		victim := kill % len(workers)
		workers[victim].kill()
		for url, n := range w.held(run, workers[victim]) {
			inHand[url] += n
		}
		workers[victim] = w.start("worker")
	}
	require.Equal(t, expected(g, origin), w.completed(run), "%s", g)
	require.NotEmpty(t, inHand, "no worker had anything in hand when it was killed")
	for url, n := range watch.Hits() {
		if !strings.HasSuffix(url, "/robots.txt") {
			require.LessOrEqual(t, n, 1+inHand[url], url)
		}
	}
}

// held are the URLs that a worker has in hand, or had when it was killed.
func (w *world) held(run int64, p *process) map[string]int {
	w.t.Helper()

	rows, _ := w.db.Query(w.ctx(), `
		SELECT normalized_url FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS' AND claimed_by_worker ~ $2`,
		run, fmt.Sprintf("-%d/", p.cmd.Process.Pid))
	urls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	out := map[string]int{}
	for _, url := range urls {
		out[url]++
	}
	return out
}

// Traps end, each at its own limit, and hold up no other crawl.
func TestACrawlLeavesTraps(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	// Not beside the others: it takes all cores, and they have deadlines.

	silent, err := crawlsite.Silent()
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	traps := crawlsite.NewTraps()
	// Each trap is a host of its own.
	spaces := []string{"/calendar/2026/11", "/deep/", "/session/", "/facets?a=1&b=1", "/hop/1", "/"}
	single := map[string]crawlsite.Want{
		"/loop/a": {State: crawl.Redirect301, Status: 301}, "/self": {State: crawl.Redirect301, Status: 301},
		"/silent": {State: crawl.Failed}, "/drip": {State: crawl.Failed}, "/huge": {State: crawl.Failed},
		"/bomb": {State: crawl.Failed}, "/links": {State: crawl.Visited, Status: 200},
		"/long": {State: crawl.Visited, Status: 200}, "/far": {State: crawl.Failed}, // headers of 500 kB are too many
		"/headers": {State: crawl.Failed}, "/header": {State: crawl.Failed},
		"/reset": {State: crawl.Failed}, "/cut": {State: crawl.Failed}, "/wrong-length": {State: crawl.Failed},
		"/nested": {State: crawl.Visited, Status: 200}, "/bad-gzip": {State: crawl.Failed},
		"/redirect-to-private":     {State: crawl.Redirect301, Status: 301},
		"/flaky/503,503,200/1":     {State: crawl.Visited, Status: 200},
		"/flaky/429:1,200/1":       {State: crawl.Visited, Status: 200},
		"/flaky/reset,reset,200/1": {State: crawl.Visited, Status: 200},
		"/flaky/503/1":             {State: crawl.HTTPTerminal, Status: 503},
		"/flaky/408,425,200/1":     {State: crawl.Visited, Status: 200},
		"/status/401":              {State: crawl.HTTPTerminal, Status: 401},
		"/status/410":              {State: crawl.HTTPTerminal, Status: 410},
		"/status/204":              {State: crawl.Visited, Status: 204},
	}
	at := map[string]string{} // origin by path
	watches := map[string]*crawlsite.Watch{}
	origins := []string{silent.Addr().String()}
	for _, path := range append(slices.Sorted(maps.Keys(single)), spaces...) {
		watch, origin := served(t, traps)
		at[path], watches[path] = origin, watch
		origins = append(origins, origin)
	}
	w := crawling(t, 1, origins, "RETRY_MAX_DELAY_MS=1500", "FETCH_HOST_COOLDOWN_BASE_MS=50")
	const mostPages = 60
	runs := map[string]int64{"": w.crawl("http://"+silent.Addr().String()+"/", map[string]any{
		"requestTimeoutMs": 700, "respectRobots": false,
	})}
	for path := range single {
		runs[path] = w.crawl(at[path]+path, map[string]any{"maxPages": mostPages, "maxDepth": 3, "requestTimeoutMs": 4000})
	}
	for _, path := range spaces {
		runs[path] = w.crawl(at[path]+path, map[string]any{"maxPages": mostPages, "maxDepth": 1000})
	}
	began := time.Now()
	quick := w.completed(runs["/status/204"])
	require.Len(t, quick, 1)
	require.Less(t, time.Since(began), time.Minute, "it is held up by the others")
	for path, want := range single {
		found := w.completed(runs[path])
		assert.Equal(t, want, found[at[path]+path], path)
	}
	for _, path := range spaces {
		found := w.completed(runs[path])
		requested := 0
		for _, f := range found {
			if f.Status != 0 {
				requested++
			}
		}
		most := mostPages + 1 // robots.txt
		if path == "/hop/1" {
			most++ // where a seed leads may lead back, see keptCookies
		}
		require.LessOrEqual(t, watches[path].Total(), most, path)
		require.Equal(t, mostPages, requested, path)
	}
	require.Equal(t, crawl.Failed, w.completed(runs[""])["http://"+silent.Addr().String()+"/"].State)
	require.Len(t, w.completed(runs["/long"]), 2, "an address of 1 MB is none")
	require.Zero(t, one[int](w, "SELECT count(*) FROM crawl_urls WHERE length(normalized_url) > 4096"))
}

// Two runs over one site, by two workers, keep to its pace together.
func TestCrawlsAreGentleTogether(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	// Not beside the others: it takes all cores, and they have deadlines.

	const (
		gap     = 40 * time.Millisecond
		perHost = 2
	)
	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: 5, Pages: 60, Delay: 30 * time.Millisecond})
	watch, origin := served(t, g)
	w := crawling(t, 2, []string{origin}, "FETCH_CONCURRENCY_PER_HOST="+strconv.Itoa(perHost),
		"FETCH_MIN_GAP_PER_HOST_MS="+strconv.Itoa(int(gap.Milliseconds())))
	runs := []int64{w.crawl(origin+"/", deep), w.crawl(origin+"/", deep)}
	want := expected(g, origin)
	for _, run := range runs {
		require.Equal(t, want, w.completed(run))
	}
	p := watch.Pace(strings.TrimPrefix(origin, "http://"))
	require.LessOrEqual(t, p.Most, perHost, "requests at once")
	least := time.Duration(p.Requests-2) * gap // the first one may have been late
	require.GreaterOrEqual(t, p.Last.Sub(p.First), least, "the time of %d requests", p.Requests)
}
