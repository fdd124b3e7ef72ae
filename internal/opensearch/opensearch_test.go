package opensearch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/opensearch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func page(id, revision int64, text string) search.Page {
	return search.Page{ID: id, Revision: revision, Document: search.Document{
		URL: fmt.Sprintf("https://example.org/%d", id), Site: "example.org", Title: "Page", Text: text, Language: "en",
		Type: "html", CrawledAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "search.internal:9200", "ftp://host", "https://", "https://user:secret@host/UPPER", "https://user:secret@host/a/b",
		"https://user:secret@host:port", "https://host/?a=b", "https://host/_all",
	} {
		_, err := opensearch.New(bad)
		if class, _ := fault.Of(err); class != fault.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The URL names certificates as RABBITMQ_URL does: cacertfile, certfile, keyfile.
func TestTLS(t *testing.T) {
	t.Parallel()
	service := strings.TrimPrefix(answering(t, func(string, string) (int, string, http.Header) {
		return http.StatusOK, "{}", nil
	}).URL, "http://")
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	for name, c := range map[string]struct {
		clients  bool // need a certificate
		settings string
		says     string // "" when it works
	}{
		"private authority":       {false, "?cacertfile=" + ours.CA, ""},
		"authority not named":     {false, "", "unknown authority"},
		"another authority":       {false, "?cacertfile=" + other.CA, "unknown authority"},
		"no such file":            {false, "?cacertfile=/nowhere/ca.pem", "read cacertfile: open /nowhere/ca.pem"},
		"client with certificate": {true, "?cacertfile=" + ours.CA + "&certfile=" + cert + "&keyfile=" + key, ""},
		"client without":          {true, "?cacertfile=" + ours.CA, "certificate required"},
	} {
		e, err := opensearch.New("https://admin:s3cret@" + ours.Front(service, c.clients, false) + "/pages" + c.settings)
		if err == nil {
			_, err = e.Search(t.Context(), search.Query{Text: "balcony", Limit: 5})
			e.Close()
		}
		if c.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}

// Run IDs.
const (
	generation = "019aaf2c-5d10-7cc1-9bb2-4f6a1d2e3c4b"
	neverBegun = "019aaf2c-5d10-7cc1-9bb2-4f6a1d2e3c4c"
)

// Writes: the index is made with the first page, a rebuild fills another one beside it and the searches change over in
// one step, and indexes of another engine whose name begins as ours are left alone.
func TestWrites(t *testing.T) {
	t.Parallel()
	e, x := play(t, "writes")
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	do(e.Index(t.Context(), []search.Page{page(1, 1, "First words"), page(2, 1, "second words")}))
	do(e.Begin(t.Context(), generation))
	do(e.Begin(t.Context(), generation)) // again: it is there
	do(e.Begun(t.Context(), generation))
	do(e.Index(t.Context(), []search.Page{page(1, 2, "renewed words")})) // into both
	do(e.Remove(t.Context(), []int64{2, 3}))                             // from both; of 3 there was none
	do(e.Index(t.Context(), []search.Page{page(1, 1, "first words")}))   // the walk, overtaken: a conflict of versions
	do(e.Finish(t.Context(), generation))
	do(e.Finish(t.Context(), generation)) // again
	require.Error(t, e.Finish(t.Context(), neverBegun), "a generation that was never begun is used")
	require.Equal(t, fault.Conflict, fault.ClassOf(e.Begun(t.Context(), neverBegun)))
	require.Equal(t, fault.Invalid, fault.ClassOf(e.Begin(t.Context(), "other-1")), "an index of the engine pages-other")
	x.gives(e.Stats(t.Context()))
	do(e.Drop(t.Context()))
}

// What a query asks of OpenSearch, and what is made of its answers.
func TestSearches(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, queries := range map[string][]search.Query{
		"words":   {{Text: "stone bridges", Limit: 2}, {Text: "stone bridges", Limit: 2, After: &search.Position{Rank: 2}}},
		"clauses": {{Text: `"old town" title:bridge bri* -river site:example.org e-mail`, Limit: 10}},
		"filters": {{
			Text: "pont lang:fr -site:example.net", Sites: []string{"example.org"}, Types: []string{"html"},
			From: day, To: day.AddDate(0, 1, 0), Facets: true, Limit: 10,
		}},
		"latest":  {{Text: "site:example.org", Limit: 1}},
		"relaxed": {{Text: "stonne bridge of the town", Limit: 10}},
		"nothing": {{Text: "stone", Limit: 10, Facets: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, x := play(t, "search-"+name)
			for _, q := range queries {
				r, err := e.Search(t.Context(), q)
				r.Took = 0
				x.gives(r, err)
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	e, x := play(t, "suggest")
	x.gives(e.Suggest(t.Context(), "old bri", 5))
	x.gives(e.Suggest(t.Context(), "", 5)) // asks nothing
	x.gives(e.Suggest(t.Context(), "c++", 5))
}

// A part of the index that cannot be read makes an answer incomplete; without any hit it is no answer.
func TestFailedShards(t *testing.T) {
	t.Parallel()
	hits := ""
	server := answering(t, func(string, string) (int, string, http.Header) {
		return http.StatusOK, `{"_shards": {"failed": 1}, "hits": {"hits": [` + hits + `]}}`, nil
	})
	e, err := opensearch.New(server.URL + "/pages")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	_, err = e.Search(t.Context(), search.Query{Text: "words", Limit: 1})
	require.Equal(t, fault.Transient, fault.ClassOf(err))
	hits = `{"_score": 1.5, "_source": {"id": 1, "url": "https://example.org/1"}}`
	r, err := e.Search(t.Context(), search.Query{Text: "words", Limit: 1})
	require.NoError(t, err)
	require.True(t, r.AtLeast)
	require.Len(t, r.Hits, 1)
}

// Pages are sent to the host of the URL, and to none that it names.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s", r.URL.Path)
	}))
	t.Cleanup(other.Close)
	server := answering(t, func(path, _ string) (int, string, http.Header) {
		return http.StatusTemporaryRedirect, "", http.Header{"Location": {other.URL + path}}
	})
	e, err := opensearch.New(server.URL + "/pages")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	require.Equal(t, fault.Transient, fault.ClassOf(e.Index(t.Context(), []search.Page{page(1, 1, "words")})))
	_, err = e.Search(t.Context(), search.Query{Text: "words", Limit: 1})
	require.Equal(t, fault.Transient, fault.ClassOf(err))
}

// The longest answer to a search is read, with titles and descriptions as long as they may be, and no longer one.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	title, description := strings.Repeat("\U00010348", 1000), strings.Repeat("\U00010348", 4000)
	hit := fmt.Sprintf(`{"_score": 1.5, "_source": {"id": 1, "url": "https://example.org/%s", "language": "en",
		"en": {"title": %q, "description": %q}}, "highlight": {"en.title": [%q], "en.body": [%q], "en.description": [%q]}}`,
		strings.Repeat("u", 2000), title, description, title, description[:1000], description[:1000])
	text := `{"hits": {"hits": [` + strings.Repeat(hit+",", 100) + hit + `]}}`
	server := answering(t, func(string, string) (int, string, http.Header) { return http.StatusOK, text, nil })
	e, err := opensearch.New(server.URL + "/pages")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	r, err := e.Search(t.Context(), search.Query{Text: "words", Limit: 100})
	require.NoError(t, err)
	require.Len(t, r.Hits, 100)
	text = strings.Repeat(" ", 9<<20) + text
	_, err = e.Search(t.Context(), search.Query{Text: "words", Limit: 100})
	require.ErrorContains(t, err, "longer than")
	require.Equal(t, fault.Transient, fault.ClassOf(err))
}

func TestFailures(t *testing.T) {
	t.Parallel()
	var status int
	var kind, after string
	server := answering(t, func(string, string) (int, string, http.Header) {
		return status, refusal(status, kind), http.Header{"Retry-After": {after}}
	})
	e, err := opensearch.New(strings.Replace(server.URL, "http://", "http://admin:s3cret@", 1) + "/pages")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	pages := []search.Page{page(1, 1, "words")}
	for _, tt := range []struct {
		status int
		kind   string
		retry  string // header
		class  fault.Class
		after  time.Duration
	}{
		{429, "rejected_execution_exception", "7", fault.Throttled, 7 * time.Second},
		{429, "circuit_breaking_exception", "", fault.Throttled, 0},
		{503, "master_not_discovered_exception", "3", fault.Transient, 3 * time.Second},
		{500, "exception", "", fault.Transient, 0},
		{401, "security_exception", "", fault.Transient, 0},
		{403, "cluster_block_exception", "", fault.Transient, 0},
		{400, "parsing_exception", "", fault.Invalid, 0},
		{404, "index_not_found_exception", "", fault.Transient, 0}, // between the list of indexes and the write
	} {
		status, kind, after = tt.status, tt.kind, tt.retry
		_, failed := e.Search(t.Context(), search.Query{Text: "words", Limit: 1})
		if tt.status == http.StatusNotFound { // nothing is indexed yet
			require.NoError(t, failed)
			failed = e.Index(t.Context(), pages)
		}
		for _, err := range []error{failed, e.Index(t.Context(), pages)} {
			class, wait := fault.Of(err)
			assert.Equal(t, tt.class, class, "%d: %v", tt.status, err)
			assert.Equal(t, tt.after, wait, "%d: %v", tt.status, err)
			assert.NotContains(t, fmt.Sprint(err), "s3cret")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.Index(ctx, pages), "the context was ignored")
	gone, err := opensearch.New("http://admin:s3cret@127.0.0.1:1/pages")
	require.NoError(t, err)
	err = gone.Index(t.Context(), pages)
	require.Equal(t, fault.Transient, fault.ClassOf(err), "a server that is away")
	require.NotContains(t, err.Error(), "s3cret")
}

// An index that cannot be made is no fault of the pages.
func TestNoIndex(t *testing.T) {
	t.Parallel()
	e, _ := play(t, "no-index")
	require.Equal(t, fault.Transient, fault.ClassOf(e.Index(t.Context(), []search.Page{page(1, 1, "words")})))
}

// One page that OpenSearch never takes is named; what may pass is tried again first.
func TestBadPage(t *testing.T) {
	t.Parallel()
	item := func(id, status int, kind string) string {
		if kind == "" {
			return fmt.Sprintf(`{"index": {"_id": "%d", "status": %d, "result": "created"}}`, id, status)
		}
		return fmt.Sprintf(`{"index": {"_id": "%d", "status": %d, "error": {"type": %q, "reason": "bad"}}}`, id, status, kind)
	}
	bad := item(2, 400, "mapper_parsing_exception")
	for _, tt := range []struct {
		items []string
		class fault.Class
		says  string
	}{
		{[]string{item(1, 201, ""), bad, item(3, 200, "")}, fault.Invalid, "page 2"},
		{[]string{item(1, 429, "rejected_execution_exception"), bad}, fault.Throttled, "page 1"},
		{[]string{bad, item(3, 429, "rejected_execution_exception")}, fault.Throttled, "page 3"},
		{[]string{item(1, 409, "version_conflict_engine_exception"), item(2, 201, "")}, "", ""},
	} {
		server := answering(t, func(string, string) (int, string, http.Header) {
			return http.StatusOK, `{"errors": true, "items": [` + strings.Join(tt.items, ",") + `]}`, nil
		})
		e, err := opensearch.New(server.URL + "/pages")
		require.NoError(t, err)
		t.Cleanup(e.Close)
		err = e.Index(t.Context(), []search.Page{page(1, 1, "words"), page(2, 1, "words"), page(3, 1, "words")})
		if tt.says == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
		require.ErrorContains(t, err, tt.says)
	}
}

// A batch is split by bytes, and a request that is too large for the server once more.
func TestSplit(t *testing.T) {
	t.Parallel()
	const most = 120_000
	bulks, found := 0, map[string]bool{}
	server := answering(t, func(path, body string) (int, string, http.Header) {
		assert.Equal(t, "/pages-1.write/_bulk", path)
		bulks++
		if len(body) > most || strings.Contains(body, "eight") && strings.Contains(body, "nine") {
			return http.StatusRequestEntityTooLarge, refusal(413, "content_too_large_exception"), nil
		}
		for line := range strings.Lines(body) {
			if id, ok := strings.CutPrefix(line, `{"index":{"_id":"`); ok {
				id, _, _ = strings.Cut(id, `"`)
				found[id] = true
			}
		}
		return http.StatusOK, `{"errors": false, "items": []}`, nil
	})
	e, err := opensearch.New(server.URL + "/pages")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	e.SetPartSize(100_000)
	var pages []search.Page
	for i := range 5 {
		pages = append(pages, page(int64(i+1), 1, fmt.Sprintf("page%d ", i)+strings.Repeat("lorem ipsum ", 3_500))) // 40 KB
	}
	require.NoError(t, e.Index(t.Context(), pages))
	require.Equal(t, 3, bulks)
	require.NoError(t, e.Index(t.Context(), []search.Page{page(8, 1, "eight"), page(9, 1, "nine")}))
	huge := page(10, 1, strings.Repeat("lorem ipsum ", 11_000))
	err = e.Index(t.Context(), []search.Page{huge, page(11, 1, "eleven")})
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "a page that is too large")
	require.Equal(t, map[string]bool{"1": true, "2": true, "3": true, "4": true, "5": true, "8": true, "9": true, "11": true}, found)
}

func TestDeepPage(t *testing.T) {
	t.Parallel()
	e, err := opensearch.New("http://127.0.0.1:1/pages") // asks nothing
	require.NoError(t, err)
	_, err = e.Search(t.Context(), search.Query{Text: "words", Limit: 10, After: &search.Position{Rank: 9_995}})
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}
