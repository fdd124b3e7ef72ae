package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
)

func TestStartCrawl(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Crawls.Defaults.MaxPages = 77 })
	r := d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":" HTTP://Example.org:80/a/b?q=1#x ",
		"settings":{"maxDepth":3,"scopeMode":"prefix","respectRobots":false,"maxRetries":null}}`)
	run := apitest.Read[apicrawl.CrawlRun](t, r, 201)
	require.Equal(t, fmt.Sprint("/crawl-runs/", run.ID), r.Header.Get("Location"))
	want := crawl.Defaults
	want.MaxPages, want.MaxDepth, want.ScopeMode, want.RespectRobots = 77, 3, crawl.Prefix, false
	require.Equal(t, apicrawl.CrawlRun{
		ID: run.ID, CrawlRunID: run.ID, Status: crawl.Running, SeedURL: "HTTP://Example.org:80/a/b?q=1#x",
		NormalizedURL: "http://example.org/a/b?q=1", RootURL: "http://example.org/a/b?q=1",
		AllowedHosts: []string{"example.org", "www.example.org"}, Prefix: "/a/", RunConfig: apicrawl.CrawlConfig(want),
		CreatedBy: "anonymous", CreatedAt: apitest.Now, StartedAt: apitest.Now, UpdatedAt: apitest.Now, Seq: 1, Totals: apicrawl.CrawlTotals{Discovered: 1, Queued: 1, Admitted: 1},
		Workflow: api.WorkflowLink{
			ID:  fmt.Sprint("crawl-run/", run.ID),
			URL: fmt.Sprint("http://temporal.test/namespaces/conveyor/workflows/crawl-run%2F", run.ID),
		},
	}, run)
	require.Equal(t, []string{fmt.Sprintf("start crawl %d of http://example.org/a/b?q=1", run.ID)}, d.Started.Calls)
	require.Equal(t, run, apitest.Read[apicrawl.CrawlRun](t, d.Get(t, fmt.Sprint("/crawl-runs/", run.ID)), 200))
	for _, name := range []string{
		`"id"`, `"seed_url"`, `"normalized_seed_url"`, `"allowed_hosts"`, `"run_config"`, `"root_url"`, `"status"`,
	} {
		require.Contains(t, r.Body, name)
	}
}

// A start that cannot reach Temporal is stored, and says so; one that cannot reach Postgres is refused.
func TestStartCrawlWithoutTemporal(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	d.Started.Err = errors.New("connection refused")
	run := apitest.Read[apicrawl.CrawlRun](t, d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":"https://example.org"}`), 201)
	require.Equal(t, apicrawl.CrawlState(crawl.Running), run.Status)
	require.Contains(t, run.Warning, "is stored")
	for _, act := range []string{"pause", "resume", "cancel"} {
		run = apitest.Read[apicrawl.CrawlRun](t, d.Ask(t, "POST", fmt.Sprintf("/crawl-runs/%d/%s", run.ID, act), ""), 200)
		require.NotEmpty(t, run.Warning, act)
	}
	d.Pool.Close()
	r := d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":"https://example.org"}`)
	apitest.Refused(t, r, 503)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
}

// hanging is a Temporal that does not answer.
type hanging struct{}

func (hanging) StartCrawl(ctx context.Context, _ crawl.Run) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (hanging) WakeCrawl(ctx context.Context, _ crawl.Run) error { <-ctx.Done(); return ctx.Err() }

func (hanging) SignalCrawl(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

// What is stored is answered as stored, however long Temporal takes.
func TestStartCrawlWhileTemporalHangs(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Crawls.Launch = hanging{} })
	run := apitest.Read[apicrawl.CrawlRun](t, d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":"https://example.org"}`), 201)
	require.Contains(t, run.Warning, "is stored")
}

func TestStartCrawlAgain(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	start := func(body, key string, status int) apitest.Reply {
		r := d.Ask(t, "POST", "/crawl-runs", body, "Idempotency-Key", key)
		require.Equal(t, status, r.Status, r.Body)
		return r
	}
	body := `{"seedUrl":"https://example.org"}`
	first := apitest.Read[apicrawl.CrawlRun](t, start(body, "a", 201), 201)
	require.Equal(t, first, apitest.Read[apicrawl.CrawlRun](t, start(body, "a", 201), 201))
	require.NotEqual(t, first.ID, apitest.Read[apicrawl.CrawlRun](t, start(body, "b", 201), 201).ID)
	apitest.Refused(t, start(`{"seedUrl":"https://example.org","settings":{"maxPages":3}}`, "a", 409), 409)
	apitest.Refused(t, start(`{"seedUrl":"https://example.com"}`, "a", 409), 409)
}

// Each mistake in a start is named with its field.
func TestStartCrawlRefused(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for body, field := range map[string]string{
		`{}`:                                "body",
		`{"seedUrl":""}`:                    "body.seedUrl",
		`{"seedUrl":"example.org"}`:         "body.seedUrl",
		`{"seedUrl":"ftp://example.org/"}`:  "body.seedUrl",
		`{"seedUrl":"https://u:p@x.org/"}`:  "body.seedUrl",
		`{"seedUrl":"https:///"}`:           "body.seedUrl",
		`{"seedUrl":7}`:                     "body.seedUrl",
		`{"seedUrl":"https://x.org","a":1}`: "body.a",
		`{"seedUrl":"https://x.org","settings":{"maxPage":1}}`:            "body.settings.maxPage",
		`{"seedUrl":"https://x.org","settings":{"maxPages":0}}`:           "body.settings.maxPages",
		`{"seedUrl":"https://x.org","settings":{"maxPages":1.5}}`:         "body.settings.maxPages",
		`{"seedUrl":"https://x.org","settings":{"maxPages":"5"}}`:         "body.settings.maxPages",
		`{"seedUrl":"https://x.org","settings":{"maxDepth":-1}}`:          "body.settings.maxDepth",
		`{"seedUrl":"https://x.org","settings":{"scopeMode":"all"}}`:      "body.settings.scopeMode",
		`{"seedUrl":"https://x.org","settings":{"respectRobots":"yes"}}`:  "body.settings.respectRobots",
		`{"seedUrl":"https://x.org","settings":{"requestTimeoutMs":99}}`:  "body.settings.requestTimeoutMs",
		`{"seedUrl":"https://x.org","settings":{"shards":65}}`:            "body.settings.shards",
		`{"seedUrl":"https://x.org/` + strings.Repeat("x", 5000) + `"}`:   "body.seedUrl",
		`{"seedUrl":"https://x.org/` + strings.Repeat("x", 20_000) + `"}`: "body.seedUrl",
	} {
		p := apitest.Refused(t, d.Ask(t, "POST", "/crawl-runs", body), 422)
		require.Contains(t, p.Fields(), field, body)
	}
	require.Empty(t, d.Started.Calls)
	require.Zero(t, apitest.Value[int](t, d, "SELECT count(*) FROM crawl_runs"))
}

func TestListCrawls(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	var want []int64
	for range 5 {
		want = append([]int64{d.Crawl(t)}, want...)
	}
	var got []int64
	for cursor := ""; ; {
		p := apitest.Read[apicrawl.CrawlRunPage](t, d.Get(t, "/crawl-runs?limit=2&cursor="+cursor), 200)
		for _, r := range p.Items {
			got = append(got, r.ID)
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, want, got)
	d.Ask(t, "POST", fmt.Sprintf("/crawl-runs/%d/pause", want[2]), "")
	paused := apitest.Read[apicrawl.CrawlRunPage](t, d.Get(t, "/crawl-runs?state=PAUSED"), 200).Items
	require.Len(t, paused, 1)
	require.Equal(t, want[2], paused[0].ID)
	require.JSONEq(t, `{"items":[]}`, d.Get(t, "/crawl-runs?state=CANCELLED").Body)
	require.Len(t, apitest.Read[apicrawl.CrawlRunPage](t, d.Get(t, "/crawl-runs?state=PAUSED&state=CANCELLED"), 200).Items, 1)
	for query, field := range map[string]string{
		"state=done": "state", "limit=0": "limit", "cursor=x": "cursor", "status=RUNNING": "status",
		"limit=1&limit=2": "limit",
	} {
		require.Contains(t, apitest.Refused(t, d.Get(t, "/crawl-runs?"+query), 422).Fields(), "query."+field, query)
	}
}

func TestSummarizeCrawl(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	run := d.Crawl(t)
	path := fmt.Sprintf("/crawl-runs/%d/summary", run)
	fresh := apitest.Read[apicrawl.CrawlSummary](t, d.Get(t, path), 200)
	require.Nil(t, fresh.SecondsLeft)
	require.Equal(t, apicrawl.CrawlPace{OverSeconds: 1}, fresh.Pace)

	d.Fail(t, run, crawl.Failed, 3)
	_, err := d.Pool.Exec(t.Context(), `UPDATE crawl_runs SET discovered = 43, visited = 19, created_at = $1`,
		apitest.Now.Add(-time.Hour))
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), `INSERT INTO crawl_rates (run_id, at, fetches, finished, failed, bytes, took_ms)
		VALUES ($1, $2, 30, 25, 3, 500000, 6000)`, run, apitest.Now.Add(-20*time.Second))
	require.NoError(t, err)
	got := apitest.Read[apicrawl.CrawlSummary](t, d.Get(t, path), 200)
	require.Equal(t, apicrawl.CrawlTotals{Discovered: 43, Queued: 21, Visited: 19, Failed: 3, Admitted: 4}, got.Totals)
	require.Equal(t, apicrawl.CrawlPace{
		OverSeconds: 50, PagesPerSecond: .5, FetchesPerSecond: .6, BytesPerSecond: 10_000, Failed: 3, MeanMS: 200,
	}, got.Pace)
	require.InDelta(t, 42, *got.SecondsLeft, 1e-9)
	require.Equal(t, run, got.CrawlRunID)
	d.Ask(t, "POST", fmt.Sprintf("/crawl-runs/%d/pause", run), "")
	require.Nil(t, apitest.Read[apicrawl.CrawlSummary](t, d.Get(t, path), 200).SecondsLeft)
}

func TestControlCrawl(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	run := d.Crawl(t)
	for _, step := range []struct {
		act, state, call string
		status           int
	}{
		{"resume", crawl.Running, "wake crawl", 200},
		{"pause", crawl.Paused, "signal crawl", 200},
		{"pause", crawl.Paused, "signal crawl", 200},
		{"resume", crawl.Running, "wake crawl", 200},
		{"pause", crawl.Paused, "signal crawl", 200},
		{"cancel", crawl.Cancelled, "signal crawl", 200},
		{"cancel", crawl.Cancelled, "signal crawl", 200},
		{"resume", "", "", 409},
		{"pause", "", "", 409},
		{"retry", "", "", 409},
	} {
		d.Started.Calls = nil
		r := d.Ask(t, "POST", fmt.Sprintf("/crawl-runs/%d/%s", run, step.act), "")
		if step.status != 200 {
			require.Contains(t, strings.ToUpper(apitest.Refused(t, r, step.status).Detail), crawl.Cancelled)
			require.Empty(t, d.Started.Calls)
			continue
		}
		got := apitest.Read[apicrawl.CrawlRun](t, r, 200)
		require.Equal(t, apicrawl.CrawlState(step.state), got.Status)
		require.Equal(t, step.state == crawl.Cancelled, got.FinishedAt != nil)
		require.Equal(t, []string{fmt.Sprintf("%s %d", step.call, run)}, d.Started.Calls)
	}
	for _, act := range []string{"pause", "resume", "cancel", "retry"} {
		apitest.Refused(t, d.Ask(t, "POST", "/crawl-runs/999/"+act, ""), 404)
		apitest.Refused(t, d.Ask(t, "POST", "/crawl-runs/0/"+act, ""), 422)
	}
	for _, path := range []string{"/crawl-runs/999", "/crawl-runs/999/summary"} {
		require.Equal(t, "there is no crawl run 999", apitest.Refused(t, d.Get(t, path), 404).Detail)
	}
}

func TestRetryCrawl(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	run := d.Crawl(t)
	for state, n := range map[crawl.State]int{crawl.Failed: 2, crawl.HTTPTerminal: 3, crawl.NotFound: 4, crawl.Forbidden: 5} {
		d.Fail(t, run, state, n)
	}
	_, err := d.Pool.Exec(t.Context(), `UPDATE crawl_runs SET status = 'COMPLETED', finished_at = $1`, apitest.Now)
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), `UPDATE crawl_urls SET http_status = 308, redirect_to = 'https://example.org/there'
		WHERE normalized_url = 'https://example.org/HTTP_TERMINAL1'`)
	require.NoError(t, err)
	path := fmt.Sprintf("/crawl-runs/%d/retry", run)
	d.Started.Calls = nil
	got := apitest.Read[apicrawl.CrawlRetried](t, d.Ask(t, "POST", path, ""), 200)
	require.EqualValues(t, 4, got.Retried)
	require.Equal(t, apicrawl.CrawlState(crawl.Running), got.Run.Status)
	require.Equal(t, apicrawl.CrawlTotals{Discovered: 15, Admitted: 15, Queued: 5, NotFound: 4, Forbidden: 5, HTTPTerminal: 1},
		got.Run.Totals)
	require.Equal(t, []string{fmt.Sprint("wake crawl ", run)}, d.Started.Calls)
	got = apitest.Read[apicrawl.CrawlRetried](t, d.Ask(t, "POST", path, `{}`), 200)
	require.Zero(t, got.Retried)
	require.Len(t, d.Started.Calls, 1)
	got = apitest.Read[apicrawl.CrawlRetried](t, d.Ask(t, "POST", path, `{"states":["NOT_FOUND"]}`), 200)
	require.EqualValues(t, 4, got.Retried)
	got = apitest.Read[apicrawl.CrawlRetried](t, d.Ask(t, "POST", path, `{"states":["HTTP_TERMINAL"]}`), 200)
	require.EqualValues(t, 1, got.Retried, "the redirect")
	for _, body := range []string{`{"states":["VISITED"]}`, `{"states":[]}`, `{"state":"FAILED"}`} {
		apitest.Refused(t, d.Ask(t, "POST", path, body), 422)
	}
}
