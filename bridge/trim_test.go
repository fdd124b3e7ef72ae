package bridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
)

// TestPublishedIsLimited: of the events that no service consumes, the oldest are dropped; work for stages of other teams
// and dead letters are not, and neither are events where another team declares the queues.
func TestPublishedIsLimited(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Published, r.listings.Stages = 1000, []string{"normalize"}
	r.ArchiveDeadLetters = false
	registry := prometheus.NewRegistry()
	r.Metrics = bridge.NewMetrics(registry)
	r.TrimEvery(50 * time.Millisecond)
	r.arrange()
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	const events = 2700
	batch := make([]amqp.Publishing, events)
	for i := range batch {
		batch[i] = amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte("{}")}
	}
	queues := []string{"listings.published", "listings.ready", "listings.published.dlq"}
	for _, queue := range queues {
		r.broker.Send("", queue, batch...)
	}
	r.Declare = false
	stop := r.start(t)
	r.eventually(t, func() bool { return r.consumers("scraped.kangalou") == 1 }, "no consumer")
	require.Zero(t, total(t, registry, "conveyor_queue_limit"))
	stop()
	require.Equal(t, events, r.broker.Ready("listings.published"), "the queue is that of another team")

	r.Declare = true
	stop = r.start(t)
	r.eventually(t, func() bool { return r.broker.Ready("listings.published") == 1000 }, "too many remain")
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "its oldest messages were dropped") }, "no log")
	require.Equal(t, 1000.0, total(t, registry, "conveyor_queue_limit"))
	require.Equal(t, events-1000.0, total(t, registry, "conveyor_queue_dropped_total"))
	stop()
	for _, queue := range queues[1:] {
		require.Equal(t, events, r.broker.Ready(queue), queue)
	}
	got := r.broker.Get("listings.published", 1000)
	require.Equal(t, fmt.Sprint(events-1000), got[0].MessageId, "the newest remain")
	require.Equal(t, fmt.Sprint(events-1), got[999].MessageId)
	require.False(t, got[0].Redelivered, "none was taken and given back")
}
