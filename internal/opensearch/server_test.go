//go:build opensearch

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
	"github.com/mtlrent/conveyor/sim/searchtest"
)

var indexes atomic.Int64

// address is a new index of the server at CONVEYOR_TEST_OPENSEARCH_URL.
func address(t *testing.T) string {
	t.Helper()
	server := os.Getenv("CONVEYOR_TEST_OPENSEARCH_URL")
	require.NotEmpty(t, server, "these tests need an OpenSearch: set CONVEYOR_TEST_OPENSEARCH_URL")
	name := fmt.Sprintf("/conveyor-test-%d-%d", time.Now().UnixNano(), indexes.Add(1))
	return strings.TrimSuffix(server, "/") + name
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
