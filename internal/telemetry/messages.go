package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/metric"
)

// Messages has the metrics of a process that sends messages. Its methods may be called by several goroutines at once.
type Messages struct {
	sent                *prometheus.CounterVec
	took, waited, slice *prometheus.HistogramVec
	expired             prometheus.Counter
}

// NewMessages registers the metrics with r.
func NewMessages(r prometheus.Registerer) *Messages {
	seconds := []float64{.01, .025, .05, .1, .2, .3, .5, 1, 2.5, 5, 10, 20, 30, 60, 300, 1800}
	m := metric.With(r)
	return &Messages{
		sent: m.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_messages_sent_total",
			Help: "Requests to send a message, by tier of the tenant, outcome and class of its error; none is \"\".",
		}, []string{"tier", "outcome", "class"}),
		took: m.Histograms("conveyor_message_request_seconds", "Time of a request to send a message, by outcome.", "outcome",
			seconds...),
		waited: m.Histograms("conveyor_message_wait_seconds", "Time from a message being due until its request, by kind.",
			"kind", seconds...),
		slice: m.Histograms("conveyor_dispatch_slice_seconds",
			"Time for which a worker sent the messages of one tenant at a stretch, by task queue.", "queue", seconds...),
		expired: m.Counter("conveyor_message_leases_expired_total",
			"Messages whose worker did not say what became of them, so that they are unknown."),
	}
}

// Sent counts a result that is stored.
func (m *Messages) Sent(tier campaign.Tier, r campaign.Result) {
	m.sent.WithLabelValues(string(tier), string(r.Outcome), string(r.Class)).Inc()
	m.took.WithLabelValues(string(r.Outcome)).Observe(r.Took.Seconds())
}

// Waited counts how long a message of a kind was due before its request.
func (m *Messages) Waited(kind string, d time.Duration) {
	since(m.waited.WithLabelValues(kind), d)
}

// Slice counts a slice of a task queue.
func (m *Messages) Slice(queue string, d time.Duration) {
	m.slice.WithLabelValues(queue).Observe(d.Seconds())
}

// Expired counts messages whose leases have ended.
func (m *Messages) Expired(n int64) { m.expired.Add(float64(n)) }
