package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// crawled is a run in the middle of its work.
func crawled() apicrawl.CrawlSummary {
	return apicrawl.CrawlSummary{
		CrawlRun: apicrawl.CrawlRun{
			ID: 7, Status: crawl.Running, SeedURL: "https://example.org", RootURL: "https://example.org/",
			AllowedHosts: []string{"example.org", "www.example.org"}, RunConfig: apicrawl.CrawlConfig(crawl.Defaults),
			CreatedBy: "olga\x1b[2J", StartedAt: noon, Workflow: api.WorkflowLink{URL: "http://ui/crawl-run"},
			Totals: apicrawl.CrawlTotals{
				Discovered: 120, Queued: 30, InProgress: 8, Visited: 70, Redirect301: 2, NotFound: 6, HTTPTerminal: 1, Failed: 1,
				Skipped: 2, Fetches: 90, Retries: 10, Edges: 1500, Bytes: 3 << 20, LostLeases: 1, Dropped: 4,
			},
		},
		Pace:        apicrawl.CrawlPace{OverSeconds: 60, PagesPerSecond: 1.25, FetchesPerSecond: 1.5, MeanMS: 80.4},
		SecondsLeft: new(30.4),
	}
}

func TestPrintCrawl(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printCrawl(&b, crawled()))
	require.Equal(t, `crawl run        7
state            RUNNING
seed             https://example.org/
scope            same_host of example.org, www.example.org, at most 5000 URLs and 25 links deep
URLs             120
  queued         30
  in progress    8
  visited        70
  redirect 301   2
  not found      6
  http terminal  1
  failed         1
  skipped        2
requests         90, 10 of them retries; 3.0 MB
links            1500
lost leases      1
dropped links    4, beyond the limits
pace             1.2 pages/s, 1.5 requests/s, 80 ms a request
time left        30s for the URLs known so far
started          by olga [2J at 2026-11-21T12:00:00Z
workflow         http://ui/crawl-run
`, b.String())
	b.Reset()
	done := crawled()
	done.Status, done.SecondsLeft, done.FinishedAt = crawl.Completed, nil, new(noon.Add(90*time.Second))
	done.Totals = apicrawl.CrawlTotals{Discovered: 1, Visited: 1, Fetches: 1, Bytes: 5}
	require.NoError(t, printCrawl(&b, done))
	require.Contains(t, b.String(), "ended      2026-11-21T12:01:30Z, after 1m30s\n")
	require.NotContains(t, b.String(), "pace")
	require.Equal(t, []string{"5 bytes", "2.0 kB", "3.0 GB"}, []string{size(5), size(2 << 10), size(3 << 30)})
}

func TestCrawlLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "crawl run 7 running: 82 of 120 URLs done, 70 visited, 8 broken, 1.2 pages/s, 30s left of those known",
		crawlLine(crawled()))
	done := crawled()
	done.Status, done.Totals = crawl.Completed, apicrawl.CrawlTotals{Discovered: 9, Visited: 9}
	require.Equal(t, "crawl run 7 completed: 9 of 9 URLs done, 9 visited", crawlLine(done))
}

// A time left that is far from that of the line before is not shown.
func TestCrawlLinesAreSteady(t *testing.T) {
	t.Parallel()
	line, shown := crawlLines(), []bool{}
	for _, left := range []float64{100, 90, 300, 250, 0, 60, 31, 15} {
		s := crawled()
		if s.SecondsLeft = nil; left > 0 {
			s.SecondsLeft = &left
		}
		shown = append(shown, strings.Contains(line(s), " left of those known"))
	}
	require.Equal(t, []bool{false, true, false, true, false, false, true, false}, shown)
}

// serve answers every request with what answer returns for it: a value as JSON, a text as it is.
func serve(t *testing.T, answer func(asked string) any) string {
	t.Helper()
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch v := answer(strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))).(type) {
		case nil:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail": "there is none"}`)
		case string:
			_, _ = io.WriteString(w, v)
		case error: // an answer that breaks off
			_, _ = io.WriteString(w, v.Error())
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			_ = json.NewEncoder(w).Encode(v)
		}
	}))
	t.Cleanup(door.Close)
	return door.URL
}

// A run below a path says which, and one that found nothing why.
func TestPrintCrawlScope(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	run := crawled()
	run.RunConfig.ScopeMode, run.Prefix, run.NoPage = crawl.Prefix, "/docs/", "No page was visited: the seed answered 403."
	require.NoError(t, printStarted(&b, run.CrawlRun))
	require.NoError(t, printCrawl(&b, run))
	require.Contains(t, b.String(), "crawl run 7: https://example.org/, prefix /docs/ of example.org, www.example.org\n")
	require.Contains(t, b.String(), "scope            prefix /docs/ of example.org, www.example.org, at most 5000 URLs")
	require.Contains(t, b.String(), "why              No page was visited: the seed answered 403.\n")
}

// Each command sends the one request that it stands for.
func TestCrawlCommands(t *testing.T) {
	t.Parallel()
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		switch {
		case strings.Contains(ask, "/crawl-runs/9"):
			return nil
		case strings.Contains(ask, "/crawl-runs?"):
			return apicrawl.CrawlRunPage{Items: []apicrawl.CrawlRun{crawled().CrawlRun}}
		case strings.Contains(ask, "/retry"):
			return apicrawl.CrawlRetried{Retried: 3, Run: crawled().CrawlRun}
		case strings.Contains(ask, "/urls"):
			return apicrawl.CrawlURLPage{}
		case strings.Contains(ask, "/why"):
			return apicrawl.CrawlWhy{}
		case strings.Contains(ask, "format=csv"):
			return "url\n"
		case strings.Contains(ask, "/broken-links"):
			return apicrawl.CrawlBrokenLinks{}
		}
		return crawled()
	})
	for _, tt := range []struct{ args, want, err string }{
		{"crawl start https://example.org", `POST /crawl-runs {"seedUrl":"https://example.org"}`, ""},
		{"crawl start https://example.org --max-pages 5 --max-depth 0 --scope-mode prefix --demo-delay-ms 1000 --request-timeout-ms 2000 --max-retries 0 " +
			"--shards 2 --json",
			`POST /crawl-runs {"seedUrl":"https://example.org","settings":{"demoDelayMs":1000,"maxDepth":0,"maxPages":5,` +
				`"maxRetries":0,"requestTimeoutMs":2000,"scopeMode":"prefix","shards":2}}`, ""},
		{"crawl start https://example.org --no-respect-robots --use-sitemaps --no-follow-redirects --include-documents --follow-link-rel " +
			"--nofollow --render --store-bodies --skip-recent --conditional --no-publish",
			`POST /crawl-runs {"seedUrl":"https://example.org","settings":{"conditional":true,"followLinkRel":true,` +
				`"followRedirects":false,"includeDocuments":true,"nofollow":true,"publish":false,"render":true,` +
				`"respectRobots":false,"skipRecent":true,"storeBodies":true,"useSitemaps":true}}`, ""},
		{"crawl list", "GET /crawl-runs?limit=50", ""},
		{"crawl list --state PAUSED --limit 3 --json", "GET /crawl-runs?limit=3&state=PAUSED", ""},
		{"crawl show 7", "GET /crawl-runs/7/summary", ""},
		{"crawl show 7 --json", "GET /crawl-runs/7/summary", ""},
		{"crawl show 9", "GET /crawl-runs/9/summary", "there is none"},
		{"crawl pause 7", "POST /crawl-runs/7/pause", ""},
		{"crawl resume 7", "POST /crawl-runs/7/resume", ""},
		{"crawl cancel 7", "POST /crawl-runs/7/cancel", ""},
		{"crawl cancel 9", "POST /crawl-runs/9/cancel", "there is none"},
		{"crawl retry 7", "POST /crawl-runs/7/retry {}", ""},
		{"crawl retry 7 --state failed,NOT_FOUND", `POST /crawl-runs/7/retry {"states":["FAILED","NOT_FOUND"]}`, ""},
		{"crawl visited 7", "GET /crawl-runs/7/urls?limit=20&order=desc&sort=visited_at&status=VISITED", ""},
		{"crawl visited 7 3 --json", "GET /crawl-runs/7/urls?limit=3&order=desc&sort=visited_at&status=VISITED", ""},
		{"crawl why 7", "GET /crawl-runs/7/why?hosts=20", ""},
		{"crawl why 7 --json --hosts 100", "GET /crawl-runs/7/why?hosts=100", ""},
		{"crawl broken-links 7", "GET /crawl-runs/7/broken-links?limit=100&pages=10", ""},
		{"crawl broken-links 7 --limit 0", "GET /crawl-runs/7/broken-links?limit=1000&pages=10", ""},
		{"crawl broken-links 7 --pages 0", "", "read --pages: is 0, expected 1 to 100"},
		{"crawl broken-links 7 --csv --limit 5", "GET /crawl-runs/7/broken-links?format=csv&limit=5&pages=10", ""},
		{"crawl broken-links 7 --csv --pages 100", "GET /crawl-runs/7/broken-links?format=csv&pages=100", ""},
		{"crawl broken-links 9 --csv", "GET /crawl-runs/9/broken-links?format=csv&pages=10", "there is none"},
		{"crawl export 7", "GET /crawl-runs/7/export?format=json&limit=0", ""},
		{"crawl export 7 --format csv --status failed,visited --limit 4",
			"GET /crawl-runs/7/export?format=csv&limit=4&status=FAILED%2CVISITED", ""},
		{"crawl export 9", "GET /crawl-runs/9/export?format=json&limit=0", "there is none"},
	} {
		asked = nil
		err := run(t, url, strings.Fields(tt.args)...)
		if tt.err == "" {
			require.NoError(t, err, tt.args)
		} else {
			require.EqualError(t, err, tt.err, tt.args)
		}
		require.Equal(t, tt.want, strings.Join(asked, "\n"), tt.args)
	}
	require.NoError(t, run(t, "http://127.0.0.1:1", "crawl", "--api", url, "show", "7"), "the API of CRAWLER_API")
}

// Every setting of a run has a flag, by its name.
func TestCrawlStartFlags(t *testing.T) {
	t.Parallel()
	var c crawlStartCmd
	v := reflect.ValueOf(&c).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Type.Kind() == reflect.Pointer {
			v.FieldByIndex(field.Index).Set(reflect.New(field.Type.Elem()))
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[crawl.Settings]()) {
		require.Contains(t, c.settings(), field.Tag.Get("json"))
	}
}

// A run that is waited for is watched until it ends; one that was cancelled is exit code 1.
func TestCrawlStartWait(t *testing.T) {
	t.Parallel()
	for _, state := range []apicrawl.CrawlState{crawl.Completed, crawl.Cancelled} {
		url := serve(t, func(ask string) any {
			out := crawled()
			if strings.HasPrefix(ask, "GET") {
				out.Status = state
			}
			return out
		})
		err := run(t, url, "crawl", "start", "https://example.org", "--wait")
		if state == crawl.Completed {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ExitError(1))
		}
	}
}

// What is started and waited for as JSON is one document on standard output. Not parallel: see printed.
func TestCrawlWaitedForAsJSON(t *testing.T) {
	url := serve(t, func(string) any {
		out := crawled()
		out.Status = crawl.Completed
		return out
	})
	text := printed(t, func() error {
		return run(t, url, "crawl", "start", "https://example.org", "--wait", "--json")
	})
	var done apicrawl.CrawlSummary
	require.NoError(t, json.Unmarshal([]byte(text), &done), text)
	require.EqualValues(t, 7, done.ID)
}

// follow watches run 7 of an API.
func follow(ctx context.Context, url string, change func(*watch[apicrawl.CrawlSummary])) (apicrawl.CrawlSummary, error) {
	w := watchCrawl(Client{URL: url}, 7)
	change(&w)
	return w.run(ctx)
}

func TestCrawlWatch(t *testing.T) {
	t.Parallel()
	url := serve(t, func(string) any {
		out := crawled()
		out.Status = crawl.Completed
		return out
	})
	var b strings.Builder
	last, err := follow(t.Context(), url, func(w *watch[apicrawl.CrawlSummary]) { w.out, w.every = &b, time.Hour })
	require.NoError(t, err)
	require.Equal(t, "crawl run 7 completed: 82 of 120 URLs done, 70 visited, 8 broken\n", b.String())
	require.EqualValues(t, 7, last.ID)
	b.Reset()
	_, err = follow(t.Context(), url, func(w *watch[apicrawl.CrawlSummary]) { w.out, w.live = &b, true })
	require.NoError(t, err)
	require.Equal(t, "\r\x1b[Kcrawl run 7 completed: 82 of 120 URLs done, 70 visited, 8 broken\r\x1b[K", b.String())

	ctx, stop := context.WithCancel(t.Context())
	url = serve(t, func(string) any { stop(); return crawled() })
	_, err = follow(ctx, url, func(w *watch[apicrawl.CrawlSummary]) { w.out = io.Discard })
	require.EqualError(t, err, "stopped watching; the run goes on: conveyor crawl show 7")

	asked := 0
	url = serve(t, func(string) any { asked++; return nil })
	_, err = follow(t.Context(), url, func(w *watch[apicrawl.CrawlSummary]) { w.out = io.Discard })
	require.EqualError(t, err, "there is none")
	require.Equal(t, 1, asked, "what does not exist is not asked for again")
}

func TestCrawlExportFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.json")
	whole := `{"run":{"id":7},"urls":[]}`
	require.NoError(t, run(t, serve(t, func(string) any { return whole }), "crawl", "export", "7", "-o", path))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, whole, string(got))

	broken := serve(t, func(string) any { return errors.New(`{"run":{"id":7},"urls":[`) })
	require.ErrorContains(t, run(t, broken, "crawl", "export", "7", "-o", path), "read export")
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, whole, string(again), "what is not whole replaces nothing")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{path}, left)
	require.ErrorContains(t, run(t, broken, "crawl", "export", "7", "-o", filepath.Join(path, "x")), "not a directory")
}

// A new file has the mode of any new file, one that is replaced keeps its own, a link stays a link, and a pipe a pipe.
func TestExportFileStaysWhatItIs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	url := serve(t, func(string) any { return "[]" })
	export := func(name string) { require.NoError(t, run(t, url, "crawl", "export", "7", "-o", at(name))) }
	usual, err := os.Create(at("usual"))
	require.NoError(t, err)
	require.NoError(t, usual.Close())
	export("new")
	require.Equal(t, modeOf(t, usual.Name()), modeOf(t, at("new")))

	require.NoError(t, os.WriteFile(at("mine"), nil, 0o600))
	require.NoError(t, os.Symlink("mine", at("link")))
	export("link")
	require.Equal(t, os.ModeSymlink, modeOf(t, at("link")).Type())
	require.Equal(t, os.FileMode(0o600), modeOf(t, at("mine")))
	got, err := os.ReadFile(at("mine"))
	require.NoError(t, err)
	require.Equal(t, "[]", string(got))

	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(at("pipe"))
		read <- string(text)
	}()
	export("pipe")
	require.Equal(t, os.ModeNamedPipe, modeOf(t, at("pipe")).Type())
	require.Equal(t, "[]", <-read)
}

func TestReadExport(t *testing.T) {
	t.Parallel()
	want := map[string]string{"https://a/": "VISITED", "https://a/x,y": "NOT_FOUND"}
	one, two := `{"id":1,"normalized_url":"https://a/","status":"VISITED","x":{"urls":[1]}}`,
		`{"id":2,"status":"NOT_FOUND","normalized_url":"https://a/x,y","error":null}`
	csv := "id,normalized_url,raw_url,status\n1,https://a/,\"a\nb\",VISITED\n2,\"https://a/x,y\",,NOT_FOUND\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := io.WriteString(z, csv)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, doc := range map[string]string{
		"json":     `{"run":{"id":1,"normalized_seed_url":"https://a/"},"urls":[` + one + "," + two + "]}\n",
		"original": `{"crawl_run_id":1,"limit":5,"count":2,"urls":[` + one + "," + two + `]}`,
		"array":    " \n[" + one + "," + two + "]", "ndjson": one + "\n" + two + "\n", "csv": csv, "gzip": zipped.String(),
		"csv of a spreadsheet": "\ufeff" + strings.ReplaceAll(csv, "\n", "\r\n"),
	} {
		got, err := readExport(strings.NewReader(doc))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for name, doc := range map[string]string{"nothing": "", "empty": " \n", "json": `{"run":{},"urls":[]}`, "csv": "normalized_url,status\n"} {
		got, err := readExport(strings.NewReader(doc))
		require.NoError(t, err, name)
		require.Empty(t, got, name)
	}
	for doc, want := range map[string]string{
		`{"run":{"id":1},"urls":[` + one:       "unexpected EOF",
		`{"run":{"id":1},"urls":[` + one + `]`: "unexpected EOF",
		`{"urls":7}`:                           "expected an array",
		`{"detail":"no such run"}`:             "row 1 has no normalized_url",
		`[{"url":"x"}]`:                        "row 1 has no normalized_url",
		one + "\n" + one[:20]:                  "unexpected EOF",
		"url,state\na,b\n":                     "expected the columns normalized_url and status",
		"normalized_url,status\na\n":           "wrong number of fields",
		"<html>":                               "expected the columns",
		`{"urls":[]} 7`:                        "expected objects",
	} {
		_, err := readExport(strings.NewReader(doc))
		require.ErrorContains(t, err, want, doc)
	}
}

// Two runs are compared by their IDs or their exports: 0 the same, 1 different, 2 an error.
func TestCrawlCompare(t *testing.T) {
	t.Parallel()
	row := func(path, state string) string {
		return fmt.Sprintf(`{"normalized_url":"https://a/%s","status":"%s"}`+"\n", path, state)
	}
	url := serve(t, func(ask string) any {
		switch ask {
		case "GET /crawl-runs/1/export?format=ndjson&limit=0":
			return row("x", "VISITED") + row("y", "VISITED") + row("a1", "FAILED") + row("a2", "FAILED")
		case "GET /crawl-runs/3/export?format=ndjson&limit=0":
			return errors.New(row("x", "VISITED"))
		}
		return nil
	})
	file := filepath.Join(t.TempDir(), "b.csv")
	require.NoError(t, os.WriteFile(file, []byte("normalized_url,status\nhttps://a/x,VISITED\nhttps://a/y,NOT_FOUND\nhttps://a/b,VISITED\n"), 0o600))
	require.NoError(t, run(t, url, "crawl", "compare", "1", "1"))
	require.ErrorIs(t, run(t, url, "crawl", "compare", "1", file), ExitError(1))
	for _, wrong := range []string{"2", "3", filepath.Join(t.TempDir(), "none.json")} {
		require.ErrorIs(t, run(t, url, "crawl", "compare", "1", wrong), ExitError(2), wrong)
		require.ErrorIs(t, run(t, url, "crawl", "compare", wrong, "1"), ExitError(2), wrong)
	}
	connect := func() (Client, error) { return Client{URL: url}, nil }
	var b strings.Builder
	same, err := (&crawlCompareCmd{A: "1", B: file, Limit: 1}).run(t.Context(), connect, &b)
	require.NoError(t, err)
	require.False(t, same)
	require.Equal(t, `A  1: 4 URLs
B  `+file+`: 3 URLs
only in A: 2
  https://a/a1  FAILED
  … and 1 more
only in B: 1
  https://a/b  VISITED
in different states: 1
  https://a/y  VISITED → NOT_FOUND
`, b.String())
}

func TestPrintCrawlDetails(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printVisited(&b, apicrawl.CrawlURLPage{
		Pagination: apicrawl.CrawlPagination{Returned: 2, Total: 70},
		URLs: []apicrawl.CrawlURL{
			{NormalizedURL: "https://a/", VisitedAt: &noon, HTTPStatus: new(200), TookMS: new(31)},
			{NormalizedURL: "https://a/x", Depth: 1},
		},
	}))
	require.Equal(t, `VISITED AT            STATUS  DEPTH  MS  URL
2026-11-21T12:00:00Z  200     0      31  https://a/
–                     –       1      –   https://a/x
2 of 70 visited URLs
`, b.String())
	b.Reset()
	soon := noon.Add(1500 * time.Millisecond)
	require.NoError(t, printWhy(&b, apicrawl.CrawlWhy{
		ID: 7, Status: crawl.Running, At: noon, Text: []string{"3 URLs are open.", "1 waits\x1b[2J."},
		Hosts: []apicrawl.CrawlOpenHost{
			{Host: "a", Ready: 1, Again: 1, InProgress: 1, NextDue: &soon, PerSecond: 2.25},
			{Host: "b", Held: 1, NextDue: &soon, HeldUntil: &soon, HeldBy: new("crawl_delay"), HeldCause: new("10s")},
			{Host: "c", Again: 1, HeldUntil: &soon, HeldBy: new("cooldown"), HeldCause: new("")},
		},
		Leases: apicrawl.CrawlLeases{Workers: []apicrawl.CrawlWorker{{Worker: "w/1", Count: 1, NextUntil: &noon}}},
		Next:   []apicrawl.CrawlWaiting{{NormalizedURL: "https://a/x", DueAt: soon, Tries: 1, HTTPStatus: new(503)}},
	}))
	require.Equal(t, `crawl run 7 is RUNNING
3 URLs are open.
1 waits [2J.

HOST  READY  AGAIN  HELD  IN PROGRESS  NEXT     URLS/S  HELD BY
a     1      1      0     1            in 1.5s  2.2     –
b     0      0      1     0            in 1.5s  0.0     crawl delay: 10s, in 1.5s
c     0      1      0     0            –        0.0     cooldown, in 1.5s

WORKER  URLS  EXPIRED  LEASE ENDS
w/1     1     0        now

NEXT     AFTER  TRIES  URL
in 1.5s  503    1      https://a/x
`, b.String())
	b.Reset()
	url := serve(t, func(string) any {
		return apicrawl.CrawlBrokenLinks{Items: []apicrawl.CrawlBrokenLink{
			{
				NormalizedURL: "https://a/x", Status: "NOT_FOUND", HTTPStatus: new(404), LinkedTotal: 3,
				LinkedFrom: []apicrawl.CrawlPage{{NormalizedURL: "https://a/", Title: new("Home")}, {NormalizedURL: "https://a/y"}},
			},
			{NormalizedURL: "https://a/z", Status: "FAILED", Error: new("no answer")},
		}}
	})
	links := (&crawlBrokenCmd{crawlID: crawlID{7}}).links(map[string][]string{})
	shown, more, err := links.print(t.Context(), &b, Client{URL: url})
	require.NoError(t, err)
	require.Equal(t, []any{2, false}, []any{shown, more})
	require.Equal(t, `https://a/x  NOT_FOUND 404
  ← https://a/  Home
  ← https://a/y
  ← and 1 more pages
https://a/z  FAILED: no answer
`, b.String())
}
