package bridge_test

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
)

// TestCrawlerQueue: crawler_queue is declared with its dead-letter queue for the search indexer, and while that does
// not consume it, the newest pages are kept.
func TestCrawlerQueue(t *testing.T) {
	t.Parallel()

	const queue = "crawler_queue"
	r := newRig(t)
	crawl := bridge.Crawl{Pages: 3}
	r.more = crawl.Queues()
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
