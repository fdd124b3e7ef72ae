package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// crawledPage is a message for the indexer, crawled at a minute of an hour.
func crawledPage(url, text string, minute int) []byte {
	return fmt.Appendf(nil, `{"url":%q,"text":%q,"metadata":{"title":"A page","timestamp":"2026-01-10T12:%02d:00Z","status_code":200}}`,
		url, text, minute)
}

// searched returns the URLs of the pages that answer a query.
func (w *world) searched(query string) (urls []string) {
	w.t.Helper()

	r, err := dbsearch.NewSearchIndex(w.db).Search(w.ctx(), search.Query{Text: query, Limit: 100})
	require.NoError(w.t, err)
	for _, h := range r.Hits {
		urls = append(urls, h.URL)
	}
	return urls
}

// indexing starts a bridge and a worker that stores pages.
func indexing(t *testing.T) *world {
	t.Helper()

	w := newWorld(t)
	w.start("worker", "CONVEYOR_TASK_QUEUES=search")
	w.takesPages()
	return w
}

// takesPages starts a bridge and waits until it takes crawled pages.
func (w *world) takesPages() {
	w.t.Helper()

	w.start("bridge")
	w.eventually("crawler_queue is consumed", func() bool {
		ch := w.broker.Channel()
		defer ch.Close()
		q, err := ch.QueueDeclarePassive("crawler_queue", true, false, false, false, nil)
		return err == nil && q.Consumers == 2
	})
}

// A crawled page can be found at once, whatever form it comes in; its newest version counts, a message that can never be
// stored is a dead letter, and an unacked one is not left behind.
func (w *world) indexes() {
	t := w.t
	w.takesPages()
	var took []time.Duration
	var ids []string
	for n := range 20 {
		began := time.Now()
		body := crawledPage(fmt.Sprintf("https://example.org/%d", n), fmt.Sprintf("the kettle number%d boils", n), 5)
		w.publish("", "crawler_queue", body)
		for len(w.searched(fmt.Sprintf("number%d", n))) == 0 {
			require.Less(t, time.Since(began), servicetest.Patience())
			time.Sleep(2 * time.Millisecond) // asked again at once, for the time is measured
		}
		took = append(took, time.Since(began))
		ids = append(ids, search.IndexWorkflowID([]uuid.UUID{dbsearch.InboxKey(body)}))
	}
	least := int64(math.MaxInt64)
	for _, id := range ids {
		w.eventually(id+" has ended", func() bool {
			d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), id, "")
			info := d.GetWorkflowExecutionInfo()
			if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				return false
			}
			least = min(least, info.GetStateTransitionCount())
			return true
		})
	}
	require.LessOrEqual(t, least, int64(4), "state transitions of one whose tasks were not tried again")
	slices.Sort(took)
	t.Logf("one page, from its publication to being found, in processes of their own: median %s, most %s",
		took[len(took)/2], took[len(took)-1])

	w.publish("", "crawler_queue",
		crawledPage("https://example.org/0#part", "an older teapot", 1),
		crawledPage("https://example.org/1", "a newer teapot", 9),
		[]byte(`{"url":"https://example.org/html","html":"<title>Of HTML</title><h1>Samovar</h1><p>for tea","metadata":`+
			`{"timestamp":"2026-01-10T12:00:00Z","status_code":200}}`),
		[]byte(`{"url":"https://a:b@example.org/refused","text":"x","metadata":{"timestamp":"2026-01-10T12:00:00Z","status_code":200}}`),
		[]byte(`{"url":"https://example.org/invalid","metadata":{}}`))
	w.eventually("dead letters", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE queue = 'crawler_queue'") == 2
	})
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM dead_letters WHERE workflow_id LIKE 'index/%'"))
	w.eventually("the others are found", func() bool { return len(w.searched("samovar")) == 1 && len(w.searched("teapot")) == 1 })
	require.Equal(t, []string{"https://example.org/1"}, w.searched("teapot"))
	require.Equal(t, 21, one[int](w, "SELECT count(*) FROM pages"))
	require.Zero(t, w.broker.Ready("crawler_queue"))
	w.eventually("the inbox has the refused one only", func() bool {
		return one[int](w, "SELECT count(*) FROM page_inbox") == 1 &&
			one[int](w, "SELECT count(*) FROM page_inbox WHERE error IS NOT NULL") == 1
	})
}

// TestHistoriesReplayOfSearch records a batch with a page that is refused, a re-index, a merge and a deletion.
func TestHistoriesReplayOfSearch(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := indexing(t)
	refused := []byte(`{"url":"https://a:b@example.org/","text":"x","metadata":{"timestamp":"2026-01-10T12:00:00Z","status_code":200}}`)
	store, l := dbsearch.NewPages(w.db), launch.Launch{Temporal: w.temporal}
	keys, err := store.Inbox(w.ctx(), [][]byte{crawledPage("https://example.org/", "a kettle", 1), refused}, time.Now())
	require.NoError(t, err)
	done, err := l.IndexPages(w.ctx(), keys, []string{"example.org"})
	require.NoError(t, err)
	require.Len(t, done.Refused, 1)
	w.replays(done.WorkflowID, "index_refused")

	id, joined, err := l.ReindexPages(w.ctx(), search.EnginePostgres)
	require.NoError(t, err)
	require.False(t, joined)
	w.replays(id, "reindex_pages")
	p, ok, err := l.Reindexing(w.ctx())
	require.NoError(t, err)
	require.True(t, ok && p.Ended && p.Pages == 1 && p.To == search.EnginePostgres && !p.Running, "%+v", p)
	require.Equal(t, []string{"https://example.org/"}, w.searched("kettle"))

	require.NoError(t, l.CompactIndex(w.ctx()))
	w.replays(search.CompactWorkflowID, "compact_index")

	id, _, err = l.DeletePages(w.ctx(), "example.org")
	require.NoError(t, err)
	w.replays(id, "delete_pages")
	require.Zero(t, one[int](w, "SELECT count(*) FROM pages"))
	require.Empty(t, w.searched("kettle"))
}
