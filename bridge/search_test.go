package bridge_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	dbsearch "github.com/mtlrent/conveyor/db/search"
)

// TestCrawlerQueueOfOthers: where another indexer consumes crawler_queue, it is declared with its dead-letter queue, and
// while that indexer does not run, the newest pages are kept.
func TestCrawlerQueueOfOthers(t *testing.T) {
	t.Parallel()

	const queue = "crawler_queue"
	r := newRig(t)
	search := bridge.Search{Most: 3, Prefetch: 300, Consumers: 2}
	r.more = search.Queues()
	r.TrimEvery(50 * time.Millisecond)
	r.arrange()
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	var q declared
	r.broker.Call("GET", "/api/queues/"+r.broker.Vhost+"/"+queue, nil, &q)
	require.Equal(t, "quorum", q.Type)
	require.Equal(t, "crawler.dlx", q.Arguments["x-dead-letter-exchange"])
	var dlx declared
	r.broker.Call("GET", "/api/exchanges/"+r.broker.Vhost+"/crawler.dlx", nil, &dlx)
	require.Equal(t, amqp.ExchangeDirect, dlx.Type)
	require.Zero(t, r.broker.Ready(queue+".dlq"))

	batch := make([]amqp.Publishing, 10)
	for i := range batch {
		batch[i] = amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte("{}")}
	}
	r.broker.Send("", queue, batch...)
	r.start(t)
	r.eventually(t, func() bool { return r.broker.Ready(queue) == 3 }, "too many remain")
	for i, d := range r.broker.Get(queue, 3) {
		require.Equal(t, fmt.Sprint(7+i), d.MessageId, "the newest remain")
	}
}

const crawled = "crawler_queue"

// searching is a rig that consumes crawler_queue.
func searching(t *testing.T) *rig {
	t.Helper()

	r := newRig(t)
	s := bridge.Search{Ours: true, Store: dbsearch.NewPages(r.pool), Launch: r.temp, Prefetch: 300, Consumers: 2}
	r.more = s.Queues()
	r.arrange()
	return r
}

func crawledPage(url, text string) []byte {
	return fmt.Appendf(nil, `{"url":%q,"text":%q,"metadata":{"title":"x","timestamp":"2025-11-01T12:00:00Z","status_code":200}}`,
		url, text)
}

// A message that says that a page is gone goes the way of the others.
func TestCrawledPagesThatAreGone(t *testing.T) {
	t.Parallel()
	r := searching(t)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	r.broker.Publish("", crawled,
		[]byte(`{"url":"https://example.org/1","removed":true,"metadata":{"timestamp":"2025-11-01T12:00:00Z","status_code":404}}`),
		crawledPage("https://example.org/2", "x"))
	r.start(t)
	r.eventually(t, func() bool { return r.rows(t, "page_inbox") == 2 && r.broker.Ready(crawled) == 0 }, "both are taken")
	require.Zero(t, r.rows(t, "dead_letters"))
}

// A page is acked when its batch is stored, and not before. What waits is one batch.
func TestCrawledPages(t *testing.T) {
	t.Parallel()
	r := searching(t)
	slow := make(chan struct{})
	r.temp.set(func(string) error { <-slow; return nil })
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	var bodies [][]byte
	for n := range 700 {
		bodies = append(bodies, crawledPage(fmt.Sprintf("https://example.org/%d", n%690), "x"))
	}
	r.broker.Publish("", crawled, bodies...)
	stop := r.start(t)
	r.eventually(t, func() bool { return r.temp.called() == 2 && r.broker.Ready(crawled) == 100 }, "two batches are in hand")
	require.Positive(t, r.rows(t, "page_inbox"))
	close(slow)
	r.eventually(t, func() bool { return r.rows(t, "page_inbox") == 690 && r.broker.Ready(crawled) == 0 }, "all are taken")
	stop()
	require.Zero(t, r.broker.Ready(crawled), "unacked pages are in the queue again")
	require.Zero(t, r.rows(t, "dead_letters"))
	r.temp.mu.Lock()
	defer r.temp.mu.Unlock()
	most := 0
	for _, keys := range r.temp.pages {
		most = max(most, len(keys))
	}
	require.Greater(t, most, 50, "they are stored together")
	require.LessOrEqual(t, most, 300)
	require.Len(t, r.temp.pages, r.temp.merges, "a full index is merged, and its errors hold nothing up")
}

// Messages that can never be stored are dead letters with their reasons, at once or when their workflow says so; the
// others of their batch are stored.
func TestCrawledPagesThatDie(t *testing.T) {
	t.Parallel()
	r := searching(t)
	refused := crawledPage("https://example.org/refused", "x")
	r.temp.refuse = map[uuid.UUID]string{dbsearch.InboxKey(refused): "no engine takes it"}
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	invalid := map[string]string{
		"{": "body is not JSON",
		`{"url":"https://example.org/","metadata":{"title":"","timestamp":"2025-11-01T12:00:00Z","status_code":200}}`:                  "text: is missing",
		`{"url":"https://example.org/","text":7,"metadata":{"title":"","timestamp":"2025-11-01T12:00:00Z","status_code":200}}`:         "text: is a number",
		`{"url":"https://example.org/","text":"x","metadata":{"title":"","timestamp":"soon","status_code":200}}`:                       "metadata.timestamp: is \"soon\"",
		`{"url":"https://example.org/","text":"x","metadata":{"title":"","timestamp":"2999-11-01T12:00:00Z","status_code":200}}`:       "metadata.timestamp: is 2999",
		`{"url":"https://example.org/\u0000","text":"x","metadata":{"title":"","timestamp":"2025-11-01T12:00:00Z","status_code":200}}`: "url: ",
	}
	for body := range invalid {
		r.broker.Publish("", crawled, []byte(body), crawledPage("https://example.org/good", body))
	}
	r.broker.Publish("", crawled, refused)
	stop := r.start(t)
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = $1", crawled) == len(invalid)+1 }, "dead letters")
	r.eventually(t, func() bool { return r.rows(t, "page_inbox") == len(invalid)+1 }, "good ones")
	stop()
	require.Zero(t, r.broker.Ready(crawled))
	for body, reason := range invalid {
		var got, class, workflow string
		require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT reason, class, workflow_id FROM dead_letters WHERE body = $1`,
			[]byte(body)).Scan(&got, &class, &workflow))
		require.Contains(t, got, reason)
		require.Equal(t, []string{"invalid", ""}, []string{class, workflow})
	}
	var reason, class, workflow, run string
	require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT reason, class, workflow_id, run_id FROM dead_letters WHERE body = $1`,
		refused).Scan(&reason, &class, &workflow, &run))
	require.Equal(t, []string{"no engine takes it", "invalid", "index/x", "run"}, []string{reason, class, workflow, run})
}

// While a service of ours is away, pages are held, and none of them dies, whatever the error's class.
func TestCrawledPagesHeld(t *testing.T) {
	t.Parallel()
	r := searching(t)
	r.temp.set(func(string) error { return errors.New("temporal is away") })
	stop := r.start(t)
	r.broker.Publish("", crawled, crawledPage("https://example.org/", "x"))
	r.eventually(t, func() bool { return r.temp.called() >= 3 }, "it is tried again")
	require.Zero(t, r.rows(t, "dead_letters"))
	r.temp.set(nil)
	r.eventually(t, func() bool { r.temp.mu.Lock(); defer r.temp.mu.Unlock(); return len(r.temp.pages) == 1 }, "it is stored")
	stop()
	require.Zero(t, r.broker.Ready(crawled))
	require.Equal(t, 1, r.rows(t, "page_inbox"), "one row, however often it was tried")
}

// Pages stay in their queue while no worker stores them.
func TestCrawledPagesWaitForAWorker(t *testing.T) {
	t.Parallel()
	r := searching(t)
	r.WatchEvery(20 * time.Millisecond)
	r.temp.serve(false)
	r.start(t)
	r.broker.Publish("", crawled, crawledPage("https://example.org/", "x"))
	require.Zero(t, r.consumers(crawled))
	require.Equal(t, 1, r.broker.Ready(crawled))
	r.temp.serve(true)
	r.eventually(t, func() bool { return r.temp.called() == 1 }, "it is not taken")
}
