package opensearch_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/opensearch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/opensearchtest"
	"github.com/mtlrent/conveyor/sim/searchtest"
)

var indexes atomic.Int64

// address is a new index of a fake, or of the server at CONVEYOR_TEST_OPENSEARCH_URL.
func address(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("/conveyor-test-%d-%d", time.Now().UnixNano(), indexes.Add(1))
	if real := os.Getenv("CONVEYOR_TEST_OPENSEARCH_URL"); real != "" {
		return strings.TrimSuffix(real, "/") + name
	}
	return opensearchtest.Start(t).URL + name
}

func open(t *testing.T, address string) *opensearch.Engine {
	t.Helper()
	e, err := opensearch.New(address)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	t.Cleanup(func() {
		assert.NoError(t, e.Drop(context.WithoutCancel(t.Context())))
	})
	return e
}

// kept is a store of pages.
func kept() searchtest.Store {
	var mu sync.Mutex
	ids, revisions := map[string]int64{}, map[string]int64{}
	return func(_ context.Context, docs []search.Document) (out []search.Page, _ error) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range docs {
			if ids[d.URL] == 0 {
				ids[d.URL] = int64(len(ids) + 1)
			}
			revisions[d.URL]++
			out = append(out, search.Page{ID: ids[d.URL], Revision: revisions[d.URL], Document: d})
		}
		return out, nil
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	searchtest.EngineTest(t, func(t *testing.T) (search.Engine, searchtest.Store) {
		t.Helper()
		return open(t, address(t)), kept()
	})
}

func page(id, revision int64, text string) search.Page {
	return search.Page{ID: id, Revision: revision, Document: search.Document{
		URL: fmt.Sprintf("https://example.org/%d", id), Site: "example.org", Title: "Page", Text: text, Language: "en",
		Type: "html", CrawledAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}}
}

func ids(t *testing.T, e *opensearch.Engine, text string) (out []int64) {
	t.Helper()
	r, err := e.Search(t.Context(), search.Query{Text: text, Limit: 100})
	require.NoError(t, err)
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	slices.Sort(out)
	return out
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
	service := strings.TrimPrefix(opensearchtest.Start(t).URL, "http://")
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
			if class, _ := fault.Of(err); class == fault.Transient {
				t.Errorf("%s: %v", name, err)
			}
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

// A rebuild goes on beside searches and writes, and the searches change over in one step.
func TestRebuild(t *testing.T) {
	t.Parallel()
	e := open(t, address(t))
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	do(e.Index(t.Context(), []search.Page{page(1, 1, "first words"), page(2, 1, "second words"), page(3, 1, "third words")}))
	do(e.Begin(t.Context(), generation))
	do(e.Begin(t.Context(), generation)) // again
	do(e.Begun(t.Context(), generation))
	do(e.Index(t.Context(), []search.Page{page(4, 1, "fourth words"), page(1, 2, "renewed words")}))
	do(e.Remove(t.Context(), []int64{2}))
	require.Equal(t, []int64{1, 3, 4}, ids(t, e, "words"), "during the rebuild")
	do(e.Index(t.Context(), []search.Page{page(1, 1, "first words"), page(3, 1, "third words")})) // the walk, overtaken
	do(e.Finish(t.Context(), generation))
	do(e.Finish(t.Context(), generation))
	require.Equal(t, []int64{1, 3, 4}, ids(t, e, "words"), "after the rebuild")
	require.Equal(t, []int64{1}, ids(t, e, "renewed"), "an older revision replaced a newer one")
	require.Error(t, e.Finish(t.Context(), neverBegun), "a generation that was never begun is used")
	for range 2 { // it does not make it either
		if class, _ := fault.Of(e.Begun(t.Context(), neverBegun)); class != fault.Conflict {
			t.Errorf("a generation that was never begun goes on: %q", class)
		}
	}
}

// Indexes of another engine whose name begins as ours are not ours.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	at := address(t)
	e, other := open(t, at), open(t, at+"-other")
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	do(other.Index(t.Context(), []search.Page{page(1, 1, "other words"), page(2, 1, "and other words")}))
	do(e.Index(t.Context(), []search.Page{page(1, 2, "words")}))
	do(e.Remove(t.Context(), []int64{2}))
	do(e.Begin(t.Context(), generation))
	do(e.Finish(t.Context(), generation))
	do(e.Drop(t.Context()))
	require.Equal(t, []int64{1, 2}, ids(t, other, "other"))
	if class, _ := fault.Of(e.Begin(t.Context(), "other-1")); class != fault.Invalid {
		t.Errorf("a generation that is an index of another engine is %q", class)
	}
}

// A removed revision stays away; a newer one comes.
func TestRemoveThenLate(t *testing.T) {
	t.Parallel()
	e := open(t, address(t))
	for _, step := range []struct {
		do   func() error
		want []int64
	}{
		{func() error { return e.Index(t.Context(), []search.Page{page(1, 1, "words")}) }, []int64{1}},
		{func() error { return e.Remove(t.Context(), []int64{1}) }, nil},
		{func() error { return e.Index(t.Context(), []search.Page{page(1, 1, "words")}) }, nil},
		{func() error { return e.Index(t.Context(), []search.Page{page(1, 2, "words")}) }, []int64{1}},
	} {
		require.NoError(t, step.do())
		assert.Equal(t, step.want, ids(t, e, "words"))
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	server := opensearchtest.Start(t)
	e, err := opensearch.New(strings.Replace(server.URL, "http://", "http://admin:s3cret@", 1) + "/pages")
	require.NoError(t, err)
	pages := []search.Page{page(1, 1, "words"), page(2, 1, "words")}
	server.Fail(opensearchtest.Failure{Status: 400, Type: "validation_exception", Path: "pages-1"})
	require.Equal(t, fault.Transient, fault.ClassOf(e.Index(t.Context(), pages)), "an index that cannot be made")
	require.NoError(t, e.Index(t.Context(), pages))
	for _, tt := range []struct {
		fail  opensearchtest.Failure
		class fault.Class
		after time.Duration
	}{
		{opensearchtest.Failure{Status: 429, Type: "rejected_execution_exception", RetryAfter: "7"}, fault.Throttled, 7 * time.Second},
		{opensearchtest.Failure{Status: 429, Type: "circuit_breaking_exception"}, fault.Throttled, 0},
		{opensearchtest.Failure{Status: 503, Type: "master_not_discovered_exception", RetryAfter: "3"}, fault.Transient, 3 * time.Second},
		{opensearchtest.Failure{Status: 500, Type: "exception"}, fault.Transient, 0},
		{opensearchtest.Failure{Status: 401, Type: "security_exception"}, fault.Transient, 0},
		{opensearchtest.Failure{Status: 403, Type: "cluster_block_exception"}, fault.Transient, 0},
	} {
		tt.fail.Path = "_bulk"
		server.Fail(tt.fail)
		err := e.Index(t.Context(), pages)
		if class, after := fault.Of(err); class != tt.class || after != tt.after || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("index, %d: %v, %s %s", tt.fail.Status, err, class, after)
		}
		tt.fail.Path = "_search"
		server.Fail(tt.fail)
		_, err = e.Search(t.Context(), search.Query{Text: "words", Limit: 1})
		if class, after := fault.Of(err); class != tt.class || after != tt.after {
			t.Errorf("search, %d: %v, %s %s", tt.fail.Status, err, class, after)
		}
	}
	server.Fail(opensearchtest.Failure{Status: 504, Type: "timeout", Path: "_bulk", After: true})
	require.Error(t, e.Index(t.Context(), []search.Page{page(3, 1, "words")}), "a lost answer is no error")
	if err := e.Index(t.Context(), []search.Page{page(3, 1, "words")}); err != nil { // again
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.Index(ctx, pages), "the context was ignored")
	gone, err := opensearch.New("http://admin:s3cret@127.0.0.1:1/pages")
	require.NoError(t, err)
	err = gone.Index(t.Context(), pages)
	if class, _ := fault.Of(err); class != fault.Transient || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a server that is away: %v", err)
	}
}

// One page that OpenSearch never takes is named, and the others are found.
func TestBadPage(t *testing.T) {
	t.Parallel()
	server := opensearchtest.Start(t)
	e := open(t, server.URL)
	server.FailItem("2", opensearchtest.Failure{Status: 400, Type: "mapper_parsing_exception"})
	err := e.Index(t.Context(), []search.Page{page(1, 1, "words"), page(2, 1, "words"), page(3, 1, "words again")})
	if class, _ := fault.Of(err); class != fault.Invalid || !strings.Contains(err.Error(), "page 2") {
		t.Errorf("got %v, %s", err, class)
	}
	require.Equal(t, []int64{3}, ids(t, e, "again"))
	server.FailItem("1", opensearchtest.Failure{Status: 429, Type: "rejected_execution_exception"})
	err = e.Index(t.Context(), []search.Page{page(1, 1, "words"), page(2, 1, "words")})
	if class, _ := fault.Of(err); class != fault.Throttled { // what may pass comes first
		t.Errorf("got %v, %s", err, class)
	}
}

// A batch is split by bytes, and a request that is too large for the server once more.
func TestSplit(t *testing.T) {
	t.Parallel()
	server := opensearchtest.Start(t)
	server.MaxBody = 120_000
	e := open(t, server.URL)
	e.SetPartSize(100_000)
	var pages []search.Page
	for i := range 5 {
		pages = append(pages, page(int64(i+1), 1, fmt.Sprintf("page%d ", i)+strings.Repeat("lorem ipsum ", 3_500))) // 40 KB
	}
	require.NoError(t, e.Index(t.Context(), pages))
	if got := ids(t, e, "lorem"); len(got) != 5 {
		t.Errorf("found %d", got)
	}
	bulks := 0
	for _, r := range server.Requests() {
		if strings.Contains(r, "_bulk") {
			bulks++
			assert.Equal(t, "POST /conveyor-pages-1.write/_bulk?refresh=wait_for&require_alias=true", r)
		}
	}
	assert.EqualValues(t, 3, bulks)
	server.Fail(opensearchtest.Failure{Status: 413, Type: "content_too_large_exception", Path: "_bulk"})
	require.NoError(t, e.Index(t.Context(), []search.Page{page(8, 1, "eight"), page(9, 1, "nine")}))
	huge := page(10, 1, strings.Repeat("lorem ipsum ", 11_000))
	err := e.Index(t.Context(), []search.Page{huge, page(11, 1, "eleven")})
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "a page that is too large")
	require.Equal(t, []int64{11}, ids(t, e, "eleven"))
}

func TestDeepPage(t *testing.T) {
	t.Parallel()
	e := open(t, opensearchtest.Start(t).URL)
	_, err := e.Search(t.Context(), search.Query{Text: "words", Limit: 10, After: &search.Position{Rank: 9_995}})
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}
