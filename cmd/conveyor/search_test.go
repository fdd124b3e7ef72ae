package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// Whatever a message has that the contract allows is stored and found, the newest version of each address once; what can
// never be stored is refused alone.
func TestStoreOddPages(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	store, index := dbsearch.NewPages(pool), dbsearch.NewSearchIndex(pool)
	a := &activities.Searching{
		Inbox: store, Pages: pages{store}, Engines: map[string]search.Engine{search.EnginePostgres: index}, Index: index,
		Metrics: telemetry.NewSearch(prometheus.NewRegistry()), Now: time.Now,
	}
	message := func(path, content, metadata string) []byte {
		return fmt.Appendf(nil, `{"url":"https://example.org/%s",%s,"metadata":{%s}}`, path, content, metadata)
	}
	const at = `"timestamp":"2025-11-01T12:00:00Z","status_code":200`
	bodies := [][]byte{
		message("twice", `"text":"platypus first"`, `"title":"A",`+at),
		message("twice", `"text":"platypus second"`, `"title":"A",`+at),
		message("zones", `"text":"quokka later"`, `"timestamp":"2025-11-01T12:30:00.000001-02:00","status_code":200`),
		message("zones", `"text":"quokka earlier"`, `"timestamp":"2025-11-01T14:30:00Z","status_code":200`),
		message("html", `"html":"<title>Wombats</title><p>numbat"`, at),
		message("large", `"text":"`+strings.Repeat("lorem ipsum dolor ", 290_000)+`dugong"`, at),
		message("nul", `"text":"echidna\u0000bilby"`, `"title":"\u0000",`+at),
		message("status", `"text":"taipan"`, `"timestamp":"2025-11-01T12:00Z","status_code":2.0e2`),
		message("empty", `"html":""`, at),
		message("future", `"text":"emu"`, `"timestamp":"9999-12-31T23:59:59Z","status_code":200`), // the bridge refuses it
		message("past", `"text":"cassowary"`, `"timestamp":"0001-01-01T00:00:01Z","status_code":200`),
		message("types", `"text":"kookaburra"`, `"language":7,"headings":{},"content_type":[],"more":{"a":[]},`+at),
		message(strings.Repeat("é", 1500), `"text":"dingo"`, at), // percent-encoded it is longer than an address may be
	}
	keys, err := store.Inbox(t.Context(), bodies, time.Now())
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	run := func() (out activities.StoredPages) {
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(time.Minute)
		env.RegisterActivity(a)
		v, err := env.ExecuteActivity(a.StorePages, activities.PageKeys{Keys: keys})
		require.NoError(t, err)
		require.NoError(t, v.Get(&out))
		return out
	}
	got := run()
	require.Equal(t, []int{10, 2, 0, 0}, []int{got.Stored, got.Overtaken, got.Unchanged, got.Before})
	require.Len(t, got.Refused, 1)
	require.Equal(t, keys[len(keys)-1], got.Refused[0].Key)
	require.Contains(t, got.Refused[0].Reason, "at most 4096 bytes percent-encoded")
	for query, want := range map[string]string{
		"platypus": "twice", "platypus second": "twice", "quokka later": "zones", "intitle:wombats numbat": "html",
		"dugong": "large", "echidna bilby": "nul", "taipan": "status", "emu": "future", "cassowary": "past",
		"kookaburra": "types",
	} {
		r, err := index.Search(t.Context(), search.Query{Text: query, Limit: 10, Facets: true})
		require.NoError(t, err, query)
		require.Equal(t, 1, r.Total, query)
		require.Equal(t, "https://example.org/"+want, r.Hits[0].URL, query)
		require.True(t, r.Hits[0].All, query)
	}
	counts, err := store.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, dbsearch.PageCounts{Pages: 10, Refused: 1}, counts)

	// A batch whose acks were lost comes again.
	keys, err = store.Inbox(t.Context(), bodies[1:len(bodies)-1], time.Now())
	require.NoError(t, err)
	again := run()
	require.Equal(t, activities.StoredPages{Unchanged: 10, Overtaken: 1, Full: again.Full}, again)
}

// Segments that a re-index has left are merged without a batch of pages that asks for it.
func TestTendIndex(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	store, index := dbsearch.NewPages(pool), dbsearch.NewSearchIndex(pool)
	begun := 0
	compact := func(context.Context) error { begun++; return nil }
	require.NoError(t, tendIndex(t.Context(), index, compact))
	require.Zero(t, begun, "there is nothing to merge")
	var pages []search.Incoming
	for i := range 9 {
		pages = append(pages, search.Incoming{Document: search.Document{
			URL: fmt.Sprintf("https://example.org/%d", i), Site: "example.org", Text: "wombat", Language: "en", Type: "html",
			CrawledAt: dbtest.After(0),
		}, StatusCode: 200})
	}
	stored, err := store.Store(t.Context(), pages, time.Now())
	require.NoError(t, err)
	for _, page := range stored {
		current, err := store.Current(t.Context(), []int64{page.ID})
		require.NoError(t, err)
		require.NoError(t, index.Renew(t.Context(), current))
	}
	require.NoError(t, tendIndex(t.Context(), index, compact))
	require.Equal(t, 1, begun)
}
