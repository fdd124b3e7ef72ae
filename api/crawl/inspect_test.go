package crawl_test

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/warc"
)

// site serves the API over a run of dbtest.CrawlSite, whose path it returns too.
func site(t *testing.T) (d *apitest.Door, path string) {
	t.Helper()

	d = apitest.Open(t)
	return d, fmt.Sprintf("/crawl-runs/%d", dbtest.CrawlSite(t, d.Pool))
}

func idsOf(rows []apicrawl.CrawlURL) (out []int64) {
	for _, u := range rows {
		out = append(out, u.ID)
	}
	return out
}

func TestCrawlURLs(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	for query, want := range map[string]struct {
		ids  []int64
		page apicrawl.CrawlPagination
	}{
		"limit=2":           {[]int64{100, 101}, apicrawl.CrawlPagination{Total: 14, TotalExact: true, Returned: 2, HasMore: true, Limit: 2}},
		"limit=5&offset=12": {[]int64{112, 113}, apicrawl.CrawlPagination{Total: 14, TotalExact: true, Returned: 2, Limit: 5, Offset: 12}},
		"status=VISITED&sort=visited_at&order=desc": {[]int64{105, 101, 100},
			apicrawl.CrawlPagination{Total: 3, TotalExact: true, Returned: 3, Limit: 50}},
		"status=NOT_FOUND,failed&status=SKIPPED": {[]int64{102, 104, 111, 112},
			apicrawl.CrawlPagination{Total: 4, TotalExact: true, Returned: 4, Limit: 50}},
		"status=": {[]int64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113},
			apicrawl.CrawlPagination{Total: 14, TotalExact: true, Returned: 14, Limit: 50}},
		"host=www.example.org&q=deep": {[]int64{105}, apicrawl.CrawlPagination{Total: 1, TotalExact: true, Returned: 1, Limit: 50}},
		"q=nothing":                   {nil, apicrawl.CrawlPagination{TotalExact: true, Limit: 50}},
	} {
		got := apitest.Read[apicrawl.CrawlURLPage](t, d.Get(t, run+"/urls?"+query), http.StatusOK)
		require.Equal(t, want.ids, idsOf(got.URLs), query)
		require.Equal(t, want.page, got.Pagination, query)
		require.NotNil(t, got.URLs, query)
	}
	// What is not known is null, and & is itself.
	r := d.Get(t, run+"/urls?status=NOT_FOUND")
	require.Contains(t, r.Body, `"normalized_url":"https://example.org/missing?x=1&y=2","raw_url":"+missing","discovered_from_url_id":100`)
	require.Contains(t, r.Body, `"error":null`)
	listed := apitest.Read[apicrawl.CrawlURLPage](t, d.Get(t, run+"/urls?limit=2"), http.StatusOK).URLs
	require.Nil(t, listed[0].DiscoveredFromURL)
	require.Equal(t, listed[0].NormalizedURL, *listed[1].DiscoveredFromURL)
	for query, field := range map[string]string{
		"status=LOST": "query.status[0]", "sort=size": "query.sort", "order=up": "query.order", "limit=0": "query.limit",
		"limit=50001": "query.limit", "offset=-1": "query.offset", "page=2": "query.page", "q=%00": "query.q",
	} {
		require.Equal(t, []string{field}, apitest.Refused(t, d.Get(t, run+"/urls?"+query), 422).Fields(), query)
	}
	for _, rest := range []string{
		"/urls", "/urls/100", "/export", "/export?format=warc", "/graph", "/lineage", "/why", "/broken-links", "/rate",
	} {
		p := apitest.Refused(t, d.Get(t, "/crawl-runs/9999"+rest), http.StatusNotFound)
		require.Contains(t, p.Detail, "9999", rest)
		apitest.Refused(t, d.Get(t, "/crawl-runs/x"+rest), http.StatusUnprocessableEntity)
	}
	apitest.Refused(t, d.Get(t, run+"/urls/9999"), http.StatusNotFound)
}

func TestCrawlURL(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	got := apitest.Read[apicrawl.CrawlURLDetail](t, d.Get(t, run+"/urls/104"), http.StatusOK)
	require.Equal(t, "https://example.org/gone", got.NormalizedURL)
	require.Len(t, got.Path, 4)
	require.Len(t, got.LinksIn, 1)
	require.NotNil(t, got.LinksOut)
	require.Len(t, got.Requests, 3)
	require.Equal(t, []bool{false, false, true}, []bool{got.Requests[0].Last, got.Requests[1].Last, got.Requests[2].Last})
	require.Equal(t, "connection refused", *got.Requests[2].Error)
	waiting := apitest.Read[apicrawl.CrawlURLDetail](t, d.Get(t, run+"/urls/106"), http.StatusOK)
	require.Len(t, waiting.Requests, 1)
	require.Equal(t, 503, *waiting.Requests[0].HTTPStatus)
}

func TestCrawlExport(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	r := d.Get(t, run+"/export")
	require.Contains(t, r.Header.Get("Content-Disposition"), `.json"`)
	whole := apitest.Read[apicrawl.CrawlExport](t, r, http.StatusOK)
	require.Len(t, whole.URLs, 14)
	require.Equal(t, "https://example.org/", whole.Run.NormalizedURL)
	require.Equal(t, []int64{102, 113}, idsOf(apitest.Read[apicrawl.CrawlExport](t,
		d.Get(t, run+"/export?status=NOT_FOUND,HTTP_TERMINAL&limit=0"), http.StatusOK).URLs))
	require.Len(t, apitest.Read[apicrawl.CrawlExport](t, d.Get(t, run+"/export?format=json&limit=3"), http.StatusOK).URLs, 3)

	r = d.Get(t, run+"/export?format=ndjson")
	require.Equal(t, "application/x-ndjson", r.Header.Get("Content-Type"))
	var lines []apicrawl.CrawlURL
	for line := range strings.Lines(r.Body) {
		var u apicrawl.CrawlURL
		require.NoError(t, json.Unmarshal([]byte(line), &u))
		lines = append(lines, u)
	}
	require.Equal(t, whole.URLs, lines)

	r = d.Get(t, run+"/export?format=csv")
	require.Contains(t, r.Header.Get("Content-Type"), "text/csv")
	rows, err := csv.NewReader(strings.NewReader(r.Body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 15)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	require.Equal(t, []string{"id", "normalized_url", "raw_url", "discovered_from_url_id", "depth", "status"}, rows[0][:6])
	require.Equal(t, "'=A", rows[2][at["title"]], "no formula")
	require.Equal(t, "'+missing", rows[3][at["raw_url"]])
	require.Equal(t, whole.URLs[2].NormalizedURL, rows[3][at["normalized_url"]])
	require.Equal(t, "404", rows[3][at["http_status"]])
	require.Empty(t, rows[1][at["discovered_from_url_id"]])

	require.Empty(t, d.Get(t, run+"/export?format=csv", "Accept-Encoding", "identity").Header.Get("Content-Encoding"))
	for accept, want := range map[string]string{"gzip": "gzip", "br, GZIP;q=0.5": "gzip", "gzip;q=0": "", "br": ""} {
		r := d.Get(t, run+"/export?format=csv", "Accept-Encoding", accept)
		require.Equal(t, want, r.Header.Get("Content-Encoding"), accept)
		require.Equal(t, "Accept-Encoding", r.Header.Get("Vary"))
		if want == "" {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(r.Body))
		require.NoError(t, err)
		unpacked, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Contains(t, string(unpacked), "https://example.org/gone")
	}
	apitest.Refused(t, d.Get(t, run+"/export?format=xml"), 422)
}

// The records of a WARC export are those that were stored, in the order of the URLs, behind one about the export.
func TestCrawlExportWARC(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	for _, id := range []int64{105, 101} {
		record, err := warc.Record(warc.Response{
			RunID: 1, URLID: id, URL: fmt.Sprintf("https://example.org/%d", id), At: apitest.Now, Proto: "HTTP/1.1", Status: 200,
			Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("body"),
		})
		require.NoError(t, err)
		key, err := d.Pictures.PutRecord(t.Context(), record)
		require.NoError(t, err)
		_, err = d.Pool.Exec(t.Context(), "UPDATE crawl_urls SET body_key = $2 WHERE id = $1", id, key)
		require.NoError(t, err)
	}
	gone := "warc/" + "00/00/" + strings.Repeat("0", 64) + ".warc.gz"
	_, err := d.Pool.Exec(t.Context(), "UPDATE crawl_urls SET body_key = $1 WHERE id = 102", gone)
	require.NoError(t, err)
	r := d.Get(t, run+"/export?format=warc", "Accept-Encoding", "gzip")
	require.Equal(t, http.StatusOK, r.Status)
	require.Equal(t, "application/warc", r.Header.Get("Content-Type"))
	require.Empty(t, r.Header.Get("Content-Encoding"))
	var found []string
	in := bufio.NewReader(strings.NewReader(r.Body))
	z, err := gzip.NewReader(in)
	require.NoError(t, err)
	for {
		z.Multistream(false)
		record, err := io.ReadAll(z)
		require.NoError(t, err)
		for line := range strings.Lines(string(record)) {
			if strings.HasPrefix(line, "WARC-Type") || strings.HasPrefix(line, "WARC-Target-URI") {
				found = append(found, strings.TrimSpace(line))
			}
		}
		if z.Reset(in) != nil {
			break
		}
	}
	require.Equal(t, []string{
		"WARC-Type: warcinfo", "WARC-Type: response", "WARC-Target-URI: https://example.org/101", "WARC-Type: response",
		"WARC-Target-URI: https://example.org/105",
	}, found)

	_, err = d.Pool.Exec(t.Context(), `UPDATE crawl_runs SET run_config = '{}'`)
	require.NoError(t, err)
	require.Contains(t, apitest.Refused(t, d.Get(t, run+"/export?format=warc"), http.StatusConflict).Detail, "storeBodies")
}

// An export whose source fails on the way is not taken for a whole one.
func TestCrawlExportCutOff(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	_, err := d.Pool.Exec(t.Context(), `
		INSERT INTO crawl_urls (run_id, id, url_key, seq, depth, status, host, normalized_url, created_at, updated_at, title)
		OVERRIDING SYSTEM VALUE
		SELECT run_id, 1000 + i, gen_random_uuid(), 4, 1, 'VISITED', host, normalized_url || i, created_at, updated_at,
			md5(i::text) || md5((i+1)::text) || md5((i+2)::text) || md5((i+3)::text)
		FROM crawl_urls, generate_series(1, 3000) i WHERE id = 100`)
	require.NoError(t, err)
	// The last row, which is beyond the first batches, cannot be read.
	dbtest.Alter(t, d.Pool, "ALTER TABLE crawl_urls ALTER COLUMN retry_count TYPE numeric")
	_, err = d.Pool.Exec(t.Context(), "UPDATE crawl_urls SET retry_count = 'NaN' WHERE id = 4000")
	require.NoError(t, err)
	for _, accept := range []string{"gzip", "identity"} {
		for _, format := range []string{"json", "csv", "ndjson"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address+run+"/export?limit=0&format="+format, nil)
			require.NoError(t, err)
			r.Header.Set("Accept-Encoding", accept)
			answer, err := http.DefaultTransport.RoundTrip(r)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s %s", format, accept)
		}
	}
}

func TestCrawlGraph(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	r := d.Get(t, run+"/graph")
	got := apitest.Read[apicrawl.CrawlGraph](t, r, http.StatusOK)
	require.Len(t, got.Edges, 13)
	require.Equal(t, apicrawl.CrawlEdge{DiscoveredFromURLID: 100, ID: 101}, got.Edges[0])
	require.Contains(t, r.Body, `{"discovered_from_url_id":100,"id":101}`)
	require.False(t, got.HasMore)
	got = apitest.Read[apicrawl.CrawlGraph](t, d.Get(t, run+"/graph?limit=12"), http.StatusOK)
	require.True(t, got.HasMore)
	require.Equal(t, 12, got.Returned)
	got = apitest.Read[apicrawl.CrawlGraph](t, d.Get(t, fmt.Sprintf("%s/graph?after=%d", run, got.Next)), http.StatusOK)
	require.Equal(t, []apicrawl.CrawlEdge{{DiscoveredFromURLID: 103, ID: 113}}, got.Edges)

	got = apitest.Read[apicrawl.CrawlGraph](t, d.Get(t, run+"/graph?kind=links&limit=5"), http.StatusOK)
	require.Len(t, got.Edges, 7, "a page is not cut")
	require.True(t, got.HasMore)
	require.Equal(t, apicrawl.CrawlEdge{FromID: 100, ToID: 101}, got.Edges[0])
	got = apitest.Read[apicrawl.CrawlGraph](t, d.Get(t, fmt.Sprintf("%s/graph?kind=links&after=%d", run, got.Next)), http.StatusOK)
	require.Equal(t, []apicrawl.CrawlEdge{{FromID: 105, ToID: 104}, {FromID: 105, ToID: 102}}, got.Edges)
	require.False(t, got.HasMore)
}

func TestCrawlLineage(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	var ids []int64
	after, pages := "", 0
	for more := true; more; pages++ {
		got := apitest.Read[apicrawl.CrawlLineage](t, d.Get(t, run+"/lineage?limit=5&after="+after), http.StatusOK)
		ids = append(ids, got.IDs...)
		for _, n := range []int{len(got.Parents), len(got.Depths), len(got.States), len(got.Hosts), len(got.Paths)} {
			require.Len(t, got.IDs, n)
		}
		after, more = got.Next, got.More
	}
	require.Equal(t, []int64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113}, ids)
	require.Equal(t, 3, pages)
	require.Equal(t, "3.113", after)
	nothing := d.Get(t, run+"/lineage?after="+after)
	require.Contains(t, nothing.Body, `"seq":3,"next":"3.113","more":false,"ids":[]`)
	first := apitest.Read[apicrawl.CrawlLineage](t, d.Get(t, run+"/lineage?limit=5"), http.StatusOK)
	require.EqualValues(t, 2, first.Seq, "seq 3 did not fit")
	bySeq := apitest.Read[apicrawl.CrawlLineage](t, d.Get(t, run+"/lineage?after=2"), http.StatusOK)
	require.Equal(t, ids[4:], bySeq.IDs)
	require.EqualValues(t, 2, apitest.Read[apicrawl.CrawlLineage](t, d.Get(t, run+"/lineage?after=2&limit=3"), 200).Seq, "not all of 3")
	for _, after := range []string{"x", "1.x", "-1", "1.2.3"} {
		require.Equal(t, []string{"query.after"}, apitest.Refused(t, d.Get(t, run+"/lineage?after="+after), 422).Fields())
	}
}

func TestCrawlWhy(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	got := apitest.Read[apicrawl.CrawlWhy](t, d.Get(t, run+"/why"), http.StatusOK)
	require.False(t, got.Finished)
	require.EqualValues(t, 3, got.Counts["QUEUED"])
	require.EqualValues(t, 0, got.Counts["FORBIDDEN"])
	require.EqualValues(t, 2, got.Leases.Count)
	require.EqualValues(t, 1, got.Leases.Expired)
	require.Equal(t, apicrawl.CrawlStableEmpty{Needed: 2}, got.StableEmpty)
	require.Contains(t, got.Workflow.URL, "crawl-run")
	require.Equal(t, []string{
		"1 URL is ready to be requested; the most are on example.org (1).",
		"2 URLs are in progress on 2 workers: w1 (1), w2 (1); the oldest was claimed at 2026-10-01 11:58:30 UTC, and the " +
			"first lease runs out at 2026-10-01 11:59:59 UTC.",
		"1 lease has run out: the next maintenance cycle queues its URL again.",
		"1 URL waits to be requested again; the next one, of example.org, after HTTP 503.",
		"1 URL waits until its host may be asked again; the most are on www.example.org (1), held back until " +
			"2026-10-01 12:00:30 UTC by its Crawl-delay of 30s.",
		"Of the URLs that wait, the first is due at 2026-10-01 12:00:30 UTC and the last at 2026-10-01 12:01:00 UTC.",
		"Skipped: 1 URL beyond maxDepth.", "Skipped: 1 URL disallowed by robots.txt.",
		"Not stored: 7 links to URLs beyond maxPages or maxDepth.",
	}, got.Text)

	set := func(change string) []string {
		_, err := d.Pool.Exec(t.Context(), change)
		require.NoError(t, err)
		return apitest.Read[apicrawl.CrawlWhy](t, d.Get(t, run+"/why"), http.StatusOK).Text
	}
	braked := set(`INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
		SELECT gen_random_uuid(), 'crawl', '', 'crawler_queue', '{}', now() FROM generate_series(1, 10000)`)
	require.NotContains(t, braked[1], "wait to be published", "the run publishes nothing")
	braked = set(`UPDATE crawl_runs SET run_config = jsonb_set(run_config, '{publish}', 'true')`)
	require.Equal(t, "10000 pages or more wait to be published: no URL is claimed until the message broker has taken some.",
		braked[1])
	require.Equal(t, "The run is paused: no URL is claimed until it is resumed.",
		set("UPDATE crawl_runs SET status = 'PAUSED'")[0])
	require.Equal(t, "The run is finished: it was cancelled at 2026-10-01 12:00:00 UTC, with 5 open URLs that will not be "+
		"requested.", set("UPDATE crawl_runs SET status = 'CANCELLED', finished_at = '2026-10-01T12:00:00Z'")[0])
	_, err := d.Pool.Exec(t.Context(), "DELETE FROM crawl_urls WHERE id BETWEEN 106 AND 110")
	require.NoError(t, err)
	require.Equal(t, "The frontier is empty: 1 of the 2 consecutive maintenance cycles that complete a run found it so.",
		set("UPDATE crawl_runs SET status = 'RUNNING', discovered = 9, stable_empty = 1, finished_at = NULL")[0])
	require.Equal(t, "The run is finished: it was completed at 2026-10-01 12:00:00 UTC, with no URL queued or in progress.",
		set("UPDATE crawl_runs SET status = 'COMPLETED', finished_at = '2026-10-01T12:00:00Z'")[0])
}

// A run that has visited no page says what its seed was answered, here and in its summary.
func TestCrawlWhyNoPage(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	run := apitest.Read[apicrawl.CrawlRun](t, d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":"https://shop.example.org/a"}`), 201)
	path := fmt.Sprint("/crawl-runs/", run.ID)
	text := func() []string { return apitest.Read[apicrawl.CrawlWhy](t, d.Get(t, path+"/why"), 200).Text }
	open := text()
	require.NotContains(t, strings.Join(open, " "), "No page")
	dbtest.Exec(t, d.Pool, "UPDATE crawl_runs SET status = 'COMPLETED', finished_at = '2026-10-01T12:00:00Z'")
	for change, want := range map[string]string{
		"'REDIRECT_301', http_status = 301, redirect_to = 'https://www.example.org/shop'": "the seed answered 301, to " +
			"https://www.example.org/shop, which is out of scope: start a run from there.",
		"'HTTP_TERMINAL', http_status = 302, redirect_to = 'https://shop.example.org/b'": "the seed answered 302, to " +
			"https://shop.example.org/b.",
		"'FORBIDDEN', http_status = 403":                    "the seed answered 403.",
		"'FAILED', error = 'there is no host of that name'": "the request of the seed failed: there is no host of that name.",
	} {
		dbtest.Exec(t, d.Pool, "UPDATE crawl_urls SET due_at = NULL, http_status = NULL, error = NULL, redirect_to = NULL")
		dbtest.Exec(t, d.Pool, "UPDATE crawl_urls SET status = "+change)
		require.Equal(t, []string{
			"The run is finished: it was completed at 2026-10-01 12:00:00 UTC, with no URL queued or in progress.",
			"No page was visited: " + want,
		}, text())
		require.Equal(t, "No page was visited: "+want, apitest.Read[apicrawl.CrawlSummary](t, d.Get(t, path+"/summary"), 200).NoPage)
	}
	dbtest.Exec(t, d.Pool, "DELETE FROM crawl_urls")
	require.Len(t, text(), 1)
}

func TestCrawlBrokenLinks(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	got := apitest.Read[apicrawl.CrawlBrokenLinks](t, d.Get(t, run+"/broken-links?limit=2&pages=2"), http.StatusOK)
	require.EqualValues(t, 3, got.Total)
	require.Len(t, got.Items, 2)
	require.EqualValues(t, 3, got.Items[0].LinkedTotal)
	require.Equal(t, "https://example.org/", got.Items[0].LinkedFrom[0].NormalizedURL)
	require.Equal(t, "Home", *got.Items[0].LinkedFrom[0].Title)
	rest := apitest.Read[apicrawl.CrawlBrokenLinks](t, d.Get(t, run+"/broken-links?cursor="+got.NextCursor), http.StatusOK)
	require.Len(t, rest.Items, 1)
	require.Empty(t, rest.NextCursor)

	r := d.Get(t, run+"/broken-links?format=csv")
	rows, err := csv.NewReader(strings.NewReader(r.Body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 6, "a row a page that links there")
	require.Equal(t, []string{"102", "https://example.org/missing?x=1&y=2", "NOT_FOUND", "404", "", "3", "101",
		"https://example.org/a/", "'=A"}, rows[2])
	rows, err = csv.NewReader(strings.NewReader(d.Get(t, run+"/broken-links?format=csv&limit=1&pages=1").Body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for query, field := range map[string]string{"limit=1001": "query.limit", "cursor=x": "query.cursor", "pages=0": "query.pages"} {
		require.Equal(t, []string{field}, apitest.Refused(t, d.Get(t, run+"/broken-links?"+query), 422).Fields(), query)
	}
}

func TestCrawlRate(t *testing.T) {
	t.Parallel()
	d, run := site(t)
	got := apitest.Read[apicrawl.CrawlRates](t, d.Get(t, run+"/rate?window=1m"), http.StatusOK)
	require.EqualValues(t, 10, got.SliceSeconds)
	require.Len(t, got.Slices, 6)
	require.Equal(t, apicrawl.CrawlRate{
		At: apitest.Now.Add(-30e9), Seconds: 10, Requests: 20, Finished: 10, Failed: 1, Bytes: 4000, PagesPerSecond: 1,
		BytesPerSecond: 400, MeanMS: 40,
	}, got.Slices[3])
	require.Equal(t, apicrawl.CrawlRate{At: apitest.Now.Add(-20e9), Seconds: 10}, got.Slices[4])
	long := apitest.Read[apicrawl.CrawlRates](t, d.Get(t, run+"/rate?window=24h"), http.StatusOK)
	require.EqualValues(t, 240, long.SliceSeconds)
	require.LessOrEqual(t, len(long.Slices), 361)
	var requests int64
	for _, s := range long.Slices {
		requests += s.Requests
	}
	require.EqualValues(t, 24, requests)
	_, err := d.Pool.Exec(t.Context(), "UPDATE crawl_runs SET status = 'COMPLETED', finished_at = $1", apitest.Now.Add(-25e9))
	require.NoError(t, err)
	ended := apitest.Read[apicrawl.CrawlRates](t, d.Get(t, run+"/rate?window=10s"), http.StatusOK)
	require.Equal(t, apitest.Now.Add(-25e9), ended.Until)
	require.InDelta(t, 2, ended.Slices[len(ended.Slices)-1].PagesPerSecond, .001, "over the five seconds there were")
	for _, window := range []string{"x", "1s", "9999h"} {
		require.Equal(t, []string{"query.window"}, apitest.Refused(t, d.Get(t, run+"/rate?window="+window), 422).Fields(), window)
	}
}

func TestCompareCrawls(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	a, b := dbtest.CrawlSite(t, d.Pool), dbtest.CrawlSite(t, d.Pool)
	path := fmt.Sprintf("/crawl-runs/compare?a=%d&b=%d", a, b)
	same := d.Get(t, path)
	require.True(t, apitest.Read[apicrawl.CrawlComparison](t, same, http.StatusOK).Equal)
	require.Contains(t, same.Body, `"only_a":[]`)
	_, err := d.Pool.Exec(t.Context(), "DELETE FROM crawl_urls WHERE run_id = $1 AND id = 104", b)
	require.NoError(t, err)
	got := apitest.Read[apicrawl.CrawlComparison](t, d.Get(t, path), http.StatusOK)
	require.False(t, got.Equal)
	require.EqualValues(t, 1, got.OnlyATotal)
	require.Equal(t, "https://example.org/gone", got.OnlyA[0].NormalizedURL)
	require.Equal(t, "FAILED", got.OnlyA[0].A.Status)
	require.Nil(t, got.OnlyA[0].B)
	apitest.Refused(t, d.Get(t, "/crawl-runs/compare?a=1&b=9999"), http.StatusNotFound)
	require.Equal(t, []string{"query.b"}, apitest.Refused(t, d.Get(t, "/crawl-runs/compare?a=1"), 422).Fields())
}
