package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// breaks are the faults that meet crawls, beside workers that are killed all the time. short says which are part of the
// short form.
var breaks = []fault{
	{"SIGTERM worker", 0, func(w *world) (string, error) { return w.retire("worker") }},
	{"kill -9 worker, about to store", 1, func(w *world) (string, error) {
		return w.killAt("worker", "crawl_runs", "crawl_runs WHERE id", true)
	}},
	{"Postgres killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"Redis killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
	{"Temporal killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"our Postgres killed -9, Temporal's works", 0, appDatabaseAway},
	{"our Postgres frozen, Temporal's works", 0, appDatabaseFrozen},
	{"Postgres backends terminated", 0, terminateBackends},
	{"Postgres restarted", 0, func(w *world) (string, error) { return w.restart(devstack.Postgres, false) }},
	{"RabbitMQ killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
	{"kill -9 api", 0, func(w *world) (string, error) { return w.kill("api") }},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
}

// Under faults, with a worker killed every three seconds, a crawl finds what is there, and requests a URL again only
// when a worker had it in hand that was killed or lost its database.
func TestTheLedgerOfCrawlsBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with those of drafts and scrapers
	pages := 300
	if *long {
		pages = 2000
	}
	g := crawlsite.NewGraph(crawlsite.GraphOptions{
		Seed: *seed, Pages: pages, Chain: 5, Delay: 30 * time.Millisecond, Flaky: true,
	})
	site := crawlsite.New(g)
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false", "FETCH_MIN_GAP_PER_HOST_MS=5", "FETCH_GAP_JITTER_MS=0",
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(server.URL, "http://"))
	w.say("seed %d: %s", *seed, g)

	settings := crawling.Defaults
	settings.MaxDepth, settings.MaxPages = 1000, 10*pages
	want := g.Expected(server.URL, settings)
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	left := slices.DeleteFunc(slices.Clone(breaks), func(f fault) bool {
		return f.short == 0 && !*long || !strings.Contains(f.name, *only)
	})
	rand.New(rand.NewPCG(*seed, 7)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	w.tempt = func() {} // the crawl goes on by itself
	var runs []int64
	kills := 0
	for len(runs) == 0 || len(left) > 0 {
		run, err := w.startCrawl(server.URL+"/", settings)
		require.NoError(t, err)
		runs = append(runs, run)
		w.say("run %d begins", run)
		kills += w.disturbCrawl(run, &left, l)
	}
	w.rest(l)
	l.row("runs", len(runs), "%d URLs each; workers were killed %d times besides", len(want), kills)
	l.crawls(w, server.URL, runs, want, site.Hits())
	l.processes(w)
	l.close(w)
}

// startCrawl starts a run, whatever is away.
func (w *world) startCrawl(seed string, settings crawling.Settings) (id int64, err error) {
	body, err := json.Marshal(map[string]any{"seedUrl": seed, "settings": settings})
	if err != nil {
		return 0, err
	}
	in := &content{kind: "application/json", data: body, key: uuid.NewString()}
	var run struct {
		ID int64 `json:"id"`
	}
	start := func() error {
		ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
		defer cancel()
		code, answer, err := w.ask(ctx, http.DefaultClient, "", http.MethodPost, "/crawl-runs", in)
		return decoded(code, answer, err, &run)
	}
	if e := eventually(w.ctx, servicetest.Patience(), func() bool { err = start(); return err == nil }); e != nil {
		return 0, err
	}
	return run.ID, nil
}

// disturbCrawl disturbs a crawl run until it is completed.
func (w *world) disturbCrawl(run int64, left *[]fault, l *Ledger) (kills int) {
	return w.disturb(left, l, 0, func() bool { return w.crawlState(run) == crawling.Completed }, func() string {
		return fmt.Sprintf("run %d is %s: %s; %s", run, w.crawlState(run), w.crawlProgress(run), w.crawlPending(run))
	})
}

// crawlPending is what the workflow of a run waits for, for the reader of the log.
func (w *world) crawlPending(run int64) string {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	d, err := w.temporal.DescribeWorkflowExecution(ctx, crawling.WorkflowID(run), "")
	if err != nil {
		return err.Error()
	}
	said := []string{fmt.Sprintf("workflow task %v", d.GetPendingWorkflowTask())}
	for _, a := range d.GetPendingActivities() {
		said = append(said, fmt.Sprintf("%s %s, attempt %d by %s, started %s, heard of %s", a.GetActivityType().GetName(), a.GetState(),
			a.GetAttempt(), a.GetLastWorkerIdentity(), a.GetLastStartedTime().AsTime().Format(time.TimeOnly),
			a.GetLastHeartbeatTime().AsTime().Format(time.TimeOnly)))
	}
	return strings.Join(said, "; ")
}

// crawlState is the state of a run, "" while our database is away.
func (w *world) crawlState(run int64) (state string) {
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	_ = w.db.QueryRow(ctx, "SELECT status FROM crawl_runs WHERE id = $1", run).Scan(&state)
	return state
}

const sqlCrawlProgressNow = `
SELECT concat_ws(', ', (SELECT string_agg(n || ' ' || status, ', ') FROM (
    SELECT count(*) AS n, status FROM crawl_urls WHERE run_id = $1 GROUP BY status ORDER BY status) s),
    fetches || ' requests', lost_leases || ' leases lost')
FROM crawl_runs WHERE id = $1`

// crawlProgress is how far a run is, for the reader of the log.
func (w *world) crawlProgress(run int64) (text string) {
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	if err := w.db.QueryRow(ctx, sqlCrawlProgressNow, run).Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

// A crawledURL is a URL of a run.
type crawledURL struct {
	Run    int64
	URL    string
	Depth  int
	State  crawling.State
	Status int
	Lost   int // leases
}

const sqlCrawledURLs = `
SELECT run_id, normalized_url, depth, status, coalesce(http_status, 0), lost_leases
FROM crawl_urls`

// sqlCrawlCounts are the runs whose counts are not those of their rows.
const sqlCrawlCounts = `
SELECT format('run %s: %s discovered of %s, %s visited of %s, %s skipped of %s', r.id, r.discovered, u.n, r.visited,
        u.visited, r.skipped, u.skipped)
    || format(', %s requests of %s, %s edges of %s, %s lost of %s', r.fetches, u.tries, r.edges, l.n, r.lost_leases, u.lost)
FROM crawl_runs r,
LATERAL (SELECT count(*) AS n, count(*) FILTER (WHERE status = 'VISITED') AS visited,
    count(*) FILTER (WHERE status = 'SKIPPED') AS skipped, sum(tries) AS tries, sum(lost_leases) AS lost
    FROM crawl_urls WHERE run_id = r.id) u,
LATERAL (SELECT coalesce(sum(cardinality(to_ids)), 0) AS n FROM crawl_links WHERE run_id = r.id) l
WHERE (r.discovered, r.visited, r.skipped, r.fetches, r.edges, r.lost_leases)
    IS DISTINCT FROM (u.n, u.visited, u.skipped, u.tries, l.n, u.lost)`

// The address is the first field of a message. Other sites do not know this one.
const sqlCrawlMessages = `
SELECT count(*)::int FROM told
WHERE routing_key = 'crawler_queue' AND position(convert_to('{"url":"' || $1 || '/', 'UTF8') IN body) = 1`

// crawls compares what runs of a site have found with what is there, and the requests with the reasons for them. The
// counts are those of all runs.
func (l *Ledger) crawls(w *world, origin string, runs []int64, want map[string]crawlsite.Want, hits map[string]int) {
	rows, err := table[crawledURL](w, sqlCrawledURLs)
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
		return
	}
	var wrong, often []string
	seen, reasons := map[string]int{}, map[string]int{}
	lost, requests, pages, gone := 0, 0, 0, 0
	for _, r := range rows {
		if !slices.Contains(runs, r.Run) {
			continue
		}
		expected, ok := want[r.URL]
		seen[r.URL]++
		reasons[r.URL] += 1 + r.Lost
		lost += r.Lost
		switch got := (crawlsite.Want{Depth: r.Depth, State: r.State, Status: r.Status}); {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("run %d: %s is not there", r.Run, r.URL))
		case got != expected:
			wrong = append(wrong, fmt.Sprintf("run %d: %s is %v, not %v", r.Run, r.URL, got, expected))
		}
		switch {
		case r.Status == http.StatusNotFound, r.Status == http.StatusGone,
			r.Status == http.StatusMovedPermanently, r.Status == http.StatusPermanentRedirect: // it has another address
			gone++
		case r.State == crawling.Visited:
			pages++
		}
	}
	missing := 0
	for url := range want {
		missing += len(runs) - seen[url]
	}
	for url, n := range hits {
		requests += n
		if strings.HasSuffix(url, "/robots.txt") {
			continue
		}
		if most := reasons[url] + 1; n > most { // one page in eleven fails once
			often = append(often, fmt.Sprintf("%s: %d times, for %d reasons", url, n, most))
		}
	}
	l.row("requests", requests, "%d URLs were lost with their workers, a run and URL counted as one", lost)
	l.must("URLs missing, of all runs", missing, 0)
	l.none("URLs not as the site has them", wrong)
	l.none("URLs requested too often", often)
	counts, err := table[struct{ Text string }](w, sqlCrawlCounts)
	if err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	for _, c := range counts {
		l.Wrong = append(l.Wrong, c.Text)
	}
	var messages int
	if err := w.db.QueryRow(w.ctx, sqlCrawlMessages, origin).Scan(&messages); err != nil {
		l.Wrong = append(l.Wrong, fmt.Sprintf("messages for the indexer: %v", err))
		return
	}
	least := pages + gone
	if w.release.binary != binary { // that one tells the indexer of no page that is gone
		least -= gone
	}
	l.within("messages for the indexer", messages, least, pages+gone)
}
