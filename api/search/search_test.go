package search_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apisearch "github.com/mtlrent/conveyor/api/search"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/launch"
)

// desk is an engine that answers every query alike, and keeps the last one.
type desk struct {
	query   search.Query
	err     error
	results search.Results
	removed []int64
}

func (*desk) Index(context.Context, []search.Page) error { return nil }

func (k *desk) Remove(_ context.Context, ids []int64) error {
	k.removed = append(k.removed, ids...)
	return k.err
}

func (k *desk) Search(_ context.Context, q search.Query) (search.Results, error) {
	k.query = q
	return k.results, k.err
}

func (k *desk) Suggest(_ context.Context, text string, most int) ([]string, error) {
	last := text[strings.LastIndexByte(text, ' ')+1:]
	return []string{last + "mp", last + "mps"}[:min(2, most)], k.err
}

func (k *desk) Stats(context.Context) (search.Stats, error) {
	return search.Stats{
		Engine: "postgres", Pages: 3, Terms: 40, Bytes: 5000, Segments: 2, Sites: []search.Count{{Value: "example.org", Pages: 3}},
	}, k.err
}

// found is a page of results in which everything is set.
func found() search.Results {
	return search.Results{
		Total: 12, AtLeast: true, Relaxed: true, Corrected: []string{"pump"}, DidYouMean: "heat pump",
		Took: 1500 * time.Microsecond, Next: &search.Position{All: true, Score: 1.1, ID: 7},
		Facets: &search.Facets{
			Sites: []search.Count{{Value: "example.org", Pages: 12}}, Languages: []search.Count{{Value: "en", Pages: 12}},
			Types: []search.Count{{Value: "html", Pages: 12}}, Months: []search.Count{{Value: "2026-11", Pages: 12}},
		},
		Hits: []search.Hit{{
			ID: 7, URL: "https://example.org/a", Site: "example.org", Title: "Été: heat pump", Language: "en", Type: "html",
			CrawledAt: apitest.Now, Score: 1.1, All: true, Duplicates: 2, Marks: []search.Range{{Start: 5, End: 9}},
			Snippet: search.Snippet{Text: "… the heat …", Marks: []search.Range{{Start: 6, End: 10}}},
		}},
	}
}

// searching serves the API with an engine.
func searching(t *testing.T, k *desk) *apitest.Door {
	t.Helper()
	return apitest.Bare(t, func(p *apitest.Parts) { p.Search.Engines, p.Search.Use = map[string]search.Engine{"desk": k}, "desk" })
}

func TestPageSearch(t *testing.T) {
	t.Parallel()
	k := &desk{results: found()}
	d := searching(t, k)
	ask := url.Values{
		"q": {`heat "pump"`}, "site": {"Example.org", "https://bücher.example:8443/x"}, "lang": {"EN", "fr-CA"}, "type": {"html"},
		"from": {"2026-01-01T00:00:00Z"}, "to": {"2026-12-31T19:00:00-05:00"}, "facets": {"true"}, "limit": {"5"},
	}
	r := d.Get(t, "/search?"+ask.Encode())
	got := apitest.Read[apisearch.SearchAnswer](t, r, 200)
	count := func(v string) []apisearch.SearchCount { return []apisearch.SearchCount{{Value: v, Pages: 12}} }
	require.Equal(t, apisearch.SearchAnswer{
		Total: 12, AtLeast: true, Relaxed: true, Corrected: []string{"pump"}, DidYouMean: "heat pump", TookMS: 1.5,
		Next: got.Next,
		Facets: &apisearch.SearchFacets{
			Sites: count("example.org"), Languages: count("en"), Types: count("html"), Months: count("2026-11"),
		},
		Hits: []apisearch.SearchHit{{
			ID: 7, URL: "https://example.org/a", Site: "example.org", Title: "Été: heat pump", Language: "en", Type: "html",
			CrawledAt: apitest.Now, Score: 1.1, AllWords: true, Duplicates: 2, TitleMarks: []apisearch.SearchMark{{Start: 5, End: 9}},
			Snippet: apisearch.SearchSnippet{Text: "… the heat …", Marks: []apisearch.SearchMark{{Start: 6, End: 10}}},
		}},
	}, got)
	want := search.Query{
		Text: `heat "pump"`, Sites: []string{"example.org", "xn--bcher-kva.example:8443"}, Languages: []string{"en", "fr"},
		Types: []string{"html"}, From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		Facets: true, Limit: 5,
	}
	require.Equal(t, want, k.query)

	// The next page is of the same query, however its filters are ordered, and whatever is shown of it.
	ask.Set("after", got.Next)
	ask.Set("limit", "9")
	ask.Del("facets")
	ask["lang"] = []string{"fr", "en"}
	apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?"+ask.Encode()), 200)
	require.Equal(t, &search.Position{All: true, Score: 1.1, ID: 7}, k.query.After)
	ask.Set("q", "heat")
	p := apitest.Refused(t, d.Get(t, "/search?"+ask.Encode()), 422)
	require.Equal(t, []string{"query.after"}, p.Fields())
	require.Equal(t, "belongs to another query; keep q and all filters unchanged, or start without after", p.Errors[0].Message)
}

// Who asks a longer question than is read is told so, whatever the engine.
func TestPageSearchOfALongQuestion(t *testing.T) {
	t.Parallel()
	d := searching(t, &desk{})
	for words, cut := range map[int]bool{search.MaxClauses: false, search.MaxClauses + 1: true} {
		var q strings.Builder
		for n := range words {
			fmt.Fprintf(&q, "w%d ", n)
		}
		got := apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?q="+url.QueryEscape(q.String())), 200)
		require.Equal(t, cut, got.Cut, "%d words", words)
	}
}

// What is absent is absent, and lists are never null.
func TestPageSearchFindsNothing(t *testing.T) {
	t.Parallel()
	d := searching(t, &desk{})
	r := d.Get(t, "/search?q=x")
	require.JSONEq(t, `{"hits":[],"total":0,"at_least":false,"relaxed":false,"took_ms":0}`, r.Body)
	d = searching(t, &desk{results: search.Results{Hits: []search.Hit{{ID: 1}}}})
	require.NotContains(t, d.Get(t, "/search?q=x").Body, "null")
}

// What is wrong with q is a 400, anything else a 422; each names the parameter.
func TestPageSearchRefused(t *testing.T) {
	t.Parallel()
	d := searching(t, &desk{results: found()})
	later := apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?q=a"), 200).Next
	for _, tt := range []struct {
		query  string
		status int
		fields []string
		says   string
	}{
		{"", 400, []string{"query.q"}, "expected at least one word"},
		{"q=%20%09", 400, []string{"query.q"}, "expected at least one word"},
		{"q=a%00b", 400, []string{"query.q"}, "expected text in UTF-8 without NUL"},
		{"q=%ff", 400, []string{"query.q"}, "expected text in UTF-8 without NUL"},
		{"q=a&q=b", 422, []string{"query.q"}, "is given more than once"},
		{"q=a&site=%20", 422, []string{"query.site"}, "expected a host, such as example.org"},
		{"q=a&site=example.org&site=a%20b", 422, []string{"query.site"}, "expected a host, such as example.org"},
		{"q=a&lang=f", 422, []string{"query.lang"}, "expected a language, such as fr"},
		{"q=a&type=.pdf", 422, []string{"query.type"}, "expected one of html, text, pdf, document, spreadsheet, presentation, data"},
		{"q=a&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", 422, []string{"query.to"}, "expected a time after from"},
		{"q=a&to=9999-12-31T23:59:59-01:00", 422, []string{"query.to"}, "expected a year from 1 to 9999, in UTC"},
		{"q=a&from=0000-01-01T00:00:00%2B01:00", 422, []string{"query.from"}, "expected a year from 1 to 9999, in UTC"},
		{"q=a&from=0000-06-01T00:00:00Z", 422, []string{"query.from"}, "expected a year from 1 to 9999, in UTC"},
		{"q=a&after=" + later + "&to=9999-12-31T23:59:59-01:00", 422, []string{"query.to"}, "expected a year from 1 to 9999, in UTC"},
		{"q=a&from=yesterday", 422, []string{"query.from"}, "expected a time such as 2026-01-31T09:30:00Z"},
		{"q=a&limit=101", 422, []string{"query.limit"}, "expected number <= 100"},
		{"q=a&after=e30", 422, []string{"query.after"}, "expected the next of an earlier page"},
		{"q=a&after=%21", 422, []string{"query.after"}, "expected the next of an earlier page"},
		{"q=a&sites=example.org", 422, []string{"query.sites"}, "unknown query parameter"},
	} {
		r := d.Get(t, "/search?"+tt.query)
		require.Equal(t, tt.status, r.Status, tt.query)
		p := apitest.Refused(t, r, tt.status)
		require.Equal(t, tt.fields, p.Fields(), tt.query)
		require.Equal(t, tt.says, p.Errors[0].Message, tt.query)
	}
	p := apitest.Refused(t, d.Get(t, "/search/suggest?q="), 400)
	require.Equal(t, []string{"query.q"}, p.Fields())
	p = apitest.Refused(t, d.Get(t, "/search/suggest?q=a&limit=21"), 422)
	require.Equal(t, []string{"query.limit"}, p.Fields())
}

// A query that the engine refuses is a 400 that repeats a part of it; an engine that is away is a 503.
func TestPageSearchFails(t *testing.T) {
	t.Parallel()
	k := &desk{err: fault.Newf(fault.Invalid, "only excludes; add a word to look for")}
	d := searching(t, k)
	for _, path := range []string{"/search?q=", "/search/suggest?q="} {
		p := apitest.Refused(t, d.Get(t, path+"-"+strings.Repeat("%C3%A9", 300)), 400)
		require.Equal(t, []string{"query.q"}, p.Fields())
		require.Equal(t, "only excludes; add a word to look for", p.Errors[0].Message)
		require.Less(t, len(p.Errors[0].Value.(string)), 210)
	}
	k.err = errors.New("connection refused")
	for _, path := range []string{"/search?q=a", "/search/suggest?q=a", "/search/stats"} {
		apitest.ComesBack(t, d.Get(t, path))
	}
}

func TestPageSearchSuggests(t *testing.T) {
	t.Parallel()
	d := searching(t, &desk{})
	got := apitest.Read[apisearch.SearchSuggestions](t, d.Get(t, "/search/suggest?q=heat+pu"), 200)
	require.Equal(t, []string{"pump", "pumps"}, got.Suggestions)
	got = apitest.Read[apisearch.SearchSuggestions](t, d.Get(t, "/search/suggest?q=heat+pu&limit=1"), 200)
	require.Equal(t, []string{"pump"}, got.Suggestions)
}

func TestGetPage(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	p := d.Page(t, "https://example.org/a", "example.org", "Été", strings.Repeat("é", 1_000_001))
	path := fmt.Sprint("/pages/", p.ID)
	got := apitest.Read[apisearch.StoredPage](t, d.Get(t, path), 200)
	require.Equal(t, strings.Repeat("é", 1_000_000), *got.Text)
	require.True(t, got.TextCut)
	want := apisearch.StoredPage{
		ID: p.ID, URL: p.URL, Site: "example.org", Title: "Été", Description: "about", Headings: []string{"One", "Two"},
		Language: "en", Type: "html", StatusCode: 200, CrawledAt: apitest.Now, StoredAt: apitest.Now.Add(time.Second), Revision: 1,
	}
	require.Equal(t, want, apitest.Read[apisearch.StoredPage](t, d.Get(t, path+"?text=false"), 200))
	p = d.Page(t, "https://example.org/b", "example.org", "", "")
	got = apitest.Read[apisearch.StoredPage](t, d.Get(t, fmt.Sprint("/pages/", p.ID)), 200)
	require.Equal(t, new(""), got.Text)
	p = d.Page(t, "https://example.org/c", "example.org", "", "🏠 A week-end; weekends end")
	got = apitest.Read[apisearch.StoredPage](t, d.Get(t, fmt.Sprint("/pages/", p.ID, "?q=-house+weekend")), 200)
	require.Equal(t, []apisearch.SearchMark{{Start: 4, End: 12}, {Start: 14, End: 22}}, got.TextMarks)
	apitest.Refused(t, d.Get(t, fmt.Sprint("/pages/", p.ID, "?q=*")), 400)
	apitest.Refused(t, d.Get(t, "/pages/99"), 404)
	apitest.Refused(t, d.Get(t, "/pages/0"), 422)
	apitest.Refused(t, d.Get(t, path+"?tekst=false"), 422)
}

// A URL is deleted at once, from every engine before its row; a dry run and a URL that is not there delete nothing.
func TestDeletePage(t *testing.T) {
	t.Parallel()
	other := &desk{}
	d := apitest.Open(t, func(p *apitest.Parts) { p.Search.Engines["opensearch"] = other })
	p := d.Page(t, "https://example.org/a?secret=1", "example.org", "A", "words")
	d.Page(t, "https://example.org/b", "example.org", "B", "words")
	query := "/pages?url=" + url.QueryEscape("HTTPS://Example.org:443/a?secret=1#x")
	require.Equal(t, apisearch.PagesDeleted{Pages: 1, DryRun: true}, apitest.Read[apisearch.PagesDeleted](t, d.Ask(t, "DELETE", query+"&dry_run=true", ""), 200))
	apitest.Read[apisearch.StoredPage](t, d.Get(t, fmt.Sprint("/pages/", p.ID)), 200)
	require.Empty(t, d.Deeds(t))

	other.err = errors.New("connection refused")
	apitest.ComesBack(t, d.Ask(t, "DELETE", query, ""))
	apitest.Read[apisearch.StoredPage](t, d.Get(t, fmt.Sprint("/pages/", p.ID)), 200)
	other.err = nil
	require.Equal(t, apisearch.PagesDeleted{Pages: 1}, apitest.Read[apisearch.PagesDeleted](t, d.Ask(t, "DELETE", query, ""), 200))
	require.Equal(t, []int64{p.ID, p.ID}, other.removed)
	apitest.Refused(t, d.Get(t, fmt.Sprint("/pages/", p.ID)), 404)
	require.Equal(t, 1, apitest.Read[apisearch.SearchStats](t, d.Get(t, "/search/stats"), 200).Pages)
	deeds := d.Deeds(t)
	require.Len(t, deeds, 2)
	require.NotContains(t, fmt.Sprint(deeds), "secret=")
	require.Equal(t, apisearch.PagesDeleted{}, apitest.Read[apisearch.PagesDeleted](t, d.Ask(t, "DELETE", query, ""), 200))
	require.Empty(t, d.Started.Calls)
}

func TestDeleteSite(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for i, site := range []string{"example.org", "www.example.org", "notexample.org"} {
		d.Page(t, fmt.Sprintf("https://%s/%d", site, i), site, "A", "words")
	}
	dry := d.Ask(t, "DELETE", "/pages?dry_run=true&site=Example.org", "")
	require.Equal(t, apisearch.PagesDeleted{Pages: 2, DryRun: true}, apitest.Read[apisearch.PagesDeleted](t, dry, 200))
	require.Empty(t, d.Started.Calls)
	got := apitest.Read[apisearch.PagesDeleted](t, d.Ask(t, "DELETE", "/pages?site=Example.org", ""), 202)
	require.Equal(t, 2, got.Pages)
	require.Equal(t, search.DeleteWorkflowID("example.org"), got.Workflow.ID)
	require.Contains(t, got.Workflow.URL, "http://temporal.test/namespaces/conveyor/workflows/delete-pages%2F")
	require.Equal(t, []string{"delete pages of example.org"}, d.Started.Calls)
	require.Zero(t, apitest.Read[apisearch.PagesDeleted](t, d.Ask(t, "DELETE", "/pages?site=nowhere.example", ""), 200).Pages)
	for query, field := range map[string]string{
		"": "query.url", "?url=https://a.example/&site=a.example": "query.url", "?url=ftp://a.example/": "query.url",
		"?site=a%20b": "query.site", "?site=a.example&site=b.example": "query.site", "?host=a.example": "query.host",
	} {
		require.Contains(t, apitest.Refused(t, d.Ask(t, "DELETE", "/pages"+query, ""), 422).Fields(), field, query)
	}
}

func TestReindex(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Search.Engines["opensearch"] = &desk{} })
	d.Page(t, "https://example.org/a", "example.org", "A", "words")
	link := api.WorkflowLink{
		ID: "reindex/pages", URL: "http://temporal.test/namespaces/conveyor/workflows/reindex%2Fpages",
	}
	show := func() apisearch.Reindex { return apitest.Read[apisearch.Reindex](t, d.Get(t, "/search/reindex"), 200) }
	require.Equal(t, apisearch.Reindex{State: "none", Total: 1, Workflow: link}, show())

	started := apitest.Read[apisearch.Reindex](t, d.Ask(t, "POST", "/search/reindex", ""), 202)
	require.Equal(t, apisearch.Reindex{State: "running", To: "postgres", Total: 1, Workflow: link}, started)
	apitest.Read[apisearch.Reindex](t, d.Ask(t, "POST", "/search/reindex", `{"to":"opensearch"}`), 202)
	require.Equal(t, []string{"re-index to postgres", "re-index to opensearch"}, d.Started.Calls)

	d.Started.Index = launch.Reindexing{To: "opensearch", Pages: 5, Failed: 1, Running: true, Started: apitest.Now}
	joined := apisearch.Reindex{
		State: "running", To: "opensearch", Pages: 5, Failed: 1, Total: 1, Joined: true, StartedAt: &apitest.Now, Workflow: link,
	}
	require.Equal(t, joined, apitest.Read[apisearch.Reindex](t, d.Ask(t, "POST", "/search/reindex", `{"to":"opensearch"}`), 202))
	joined.Joined = false
	require.Equal(t, joined, show())
	p := apitest.Refused(t, d.Ask(t, "POST", "/search/reindex", `{"to":"postgres"}`), 409)
	require.Equal(t, "to: opensearch is being filled; wait until that is done, or cancel workflow reindex/pages", p.Detail)

	d.Started.Index.Running, d.Started.Index.Ended, d.Started.Index.Closed = false, true, apitest.Now.Add(time.Minute)
	require.Equal(t, "completed", show().State)
	d.Started.Index.Ended, d.Started.Index.Error = false, "no engine"
	got := show()
	require.Equal(t, []string{"failed", "no engine"}, []string{got.State, got.Reason})
	require.Equal(t, apitest.Now.Add(time.Minute), *got.EndedAt)
	d.Started.Err = errors.New("connection refused")
	apitest.ComesBack(t, d.Ask(t, "POST", "/search/reindex", ""))
	apitest.ComesBack(t, d.Get(t, "/search/reindex"))
}

// An engine that is not there cannot be filled.
func TestReindexRefused(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	p := apitest.Refused(t, d.Ask(t, "POST", "/search/reindex", `{"to":"opensearch"}`), 422)
	require.Equal(t, "to: opensearch is not configured, only postgres; see CONVEYOR_SEARCH_URL", p.Detail)
	p = apitest.Refused(t, d.Ask(t, "POST", "/search/reindex", `{"to":"lucene"}`), 422)
	require.Equal(t, []string{"body.to"}, p.Fields())
	require.Empty(t, d.Started.Calls)
}

func TestPageSearchStats(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Search.Engines["desk"], p.Search.Use = &desk{}, "desk" })
	d.Page(t, "https://example.org/a", "example.org", "A", "words")
	_, err := d.Search.Store.Inbox(t.Context(), [][]byte{[]byte("a"), []byte("b")}, apitest.Now)
	require.NoError(t, err)
	require.NoError(t, d.Search.Store.Refuse(t.Context(), dbsearch.InboxKey([]byte("b")), "no URL"))
	require.Equal(t, apisearch.SearchStats{
		Engine: "postgres", Pages: 3, Stored: 1, Waiting: 1, Refused: 1, Terms: 40, Bytes: 5000, Segments: 2,
		Sites: []apisearch.SearchCount{{Value: "example.org", Pages: 3}},
	}, apitest.Read[apisearch.SearchStats](t, d.Get(t, "/search/stats"), 200))
	require.Equal(t, http.StatusMethodNotAllowed, d.Ask(t, "POST", "/search", "").Status)
}

// While Postgres is away everything answers that it comes back.
func TestPageSearchWithoutPostgres(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	d.Pool.Close()
	for _, path := range []string{"/search?q=a", "/search/suggest?q=a", "/search/stats", "/search/reindex", "/pages/1"} {
		apitest.ComesBack(t, d.Get(t, path))
	}
	apitest.ComesBack(t, d.Ask(t, "DELETE", "/pages?url=https://example.org/", ""))
	apitest.ComesBack(t, d.Ask(t, "POST", "/search/reindex", ""))
}

// Pages that are stored are found, filtered, counted, completed and walked through, each once.
func TestPageSearchInPostgres(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for i := range 7 {
		site := []string{"a.example", "www.b.example"}[i%2]
		d.Page(t, fmt.Sprintf("https://%s/%d", site, i), site, fmt.Sprintf("Heat pump %d", i), fmt.Sprintf("number %d heats", i))
	}
	seen, next := map[int64]bool{}, ""
	for range 4 {
		got := apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?limit=2&facets=true&q=heat+pump"+next), 200)
		require.Equal(t, 7, got.Total)
		require.Equal(t, []apisearch.SearchCount{{Value: "a.example", Pages: 4}, {Value: "www.b.example", Pages: 3}}, got.Facets.Sites)
		for _, h := range got.Hits {
			require.False(t, seen[h.ID])
			require.True(t, h.AllWords)
			require.Equal(t, h.URL, apitest.Read[apisearch.StoredPage](t, d.Get(t, fmt.Sprint("/pages/", h.ID)), 200).URL)
			seen[h.ID] = true
		}
		next = "&after=" + got.Next
	}
	require.Len(t, seen, 7)
	require.Equal(t, "&after=", next)
	got := apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?q=pump&site=b.example&lang=en&type=html&from=2026-01-01T00:00:00Z"), 200)
	require.Equal(t, 3, got.Total)
	require.Zero(t, apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?q=pump&type=pdf"), 200).Total)
	require.Zero(t, apitest.Read[apisearch.SearchAnswer](t, d.Get(t, "/search?q=pump&to=2026-01-01T00:00:00Z"), 200).Total)
	require.Contains(t, apitest.Read[apisearch.SearchSuggestions](t, d.Get(t, "/search/suggest?q=heat+pu"), 200).Suggestions, "pump")
	for _, q := range []string{
		strings.Repeat("x", 10_000), strings.Repeat("日", 10_000), `"`, `""`, "*", "-", "-heat", "'; DROP TABLE pages; --", "a:b:c", "site:",
		"site:%", strings.Repeat("a OR ", 1000), strings.Repeat("(", 1000), "\\", "AND", "lang:klingon", "\x1b[2J", "\u202e", "😀",
	} {
		r := d.Get(t, "/search?q="+url.QueryEscape(q))
		require.Contains(t, []int{200, 400}, r.Status, "%.50q: %s", q, r.Body)
	}
}
