package bridge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

// Metrics are the counters of the bridge. Make them once in a process.
type Metrics struct {
	messages     *prometheus.CounterVec
	refusedN     *prometheus.CounterVec
	unchangedN   *prometheus.CounterVec
	overtakenN   *prometheus.CounterVec
	heldN        *prometheus.GaugeVec
	consumers    *prometheus.GaugeVec
	batches      *prometheus.HistogramVec
	handling     *prometheus.HistogramVec
	connections  *prometheus.CounterVec
	blockedN     *prometheus.GaugeVec
	publishedN   *prometheus.CounterVec
	publishDelay prometheus.Histogram
	lostLeases   prometheus.Counter
	givenUp      prometheus.Counter
	limits       *prometheus.GaugeVec
	droppedN     *prometheus.CounterVec
	findableS    prometheus.Histogram
}

// NewMetrics registers the bridge's metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := metric.With(r)
	return &Metrics{
		messages: m.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_messages_total", Help: "Deliveries settled, by queue and outcome (done, dead).",
		}, []string{"queue", "outcome"}),
		unchangedN: m.Counters("conveyor_listings_unchanged_total",
			"Scraped adverts that had not changed since they were last processed, by platform.", "platform"),
		refusedN: m.Counters("conveyor_listings_blocked_total",
			"Scraped adverts that were acknowledged and not stored: they were forgotten and may not come back.",
			"platform"),
		overtakenN: m.Counters("conveyor_listings_overtaken_total",
			"Normalized adverts of other teams that a newer scrape had replaced when they arrived, by queue.", "queue"),
		heldN: m.Gauges("conveyor_messages_held",
			"Deliveries held because a dependency is down, by queue.", "queue"),
		consumers: m.Gauges("conveyor_consumer_open",
			"Consumers that have a session with the broker, by queue.", "queue"),
		batches: m.Histograms("conveyor_batch_messages",
			"Deliveries handled together, by queue.", "queue", 1, 2, 5, 10, 20, 50, 100, 200, 500),
		handling: m.Histograms("conveyor_batch_seconds",
			"Time from taking a batch to its last ack, by queue.",
			"queue", prometheus.ExponentialBuckets(0.002, 2.5, 12)...),
		connections: m.Counters("conveyor_amqp_connections_total",
			"Connections opened to RabbitMQ, by use.", "name"),
		blockedN: m.Gauges("conveyor_amqp_blocked",
			"1 while the broker blocks publishers (memory or disk alarm), by connection.", "name"),
		publishedN: m.Counters("conveyor_outbox_published_total",
			"Outbox messages confirmed by the broker, by routing key.", "key"),
		publishDelay: m.Histogram("conveyor_outbox_delay_seconds",
			"Time from an event's transaction to the broker's confirm.",
			prometheus.ExponentialBuckets(0.002, 2.5, 12)...),
		lostLeases: m.Counter("conveyor_outbox_leases_lost_total",
			"Messages confirmed after their lease had run out; must stay 0."),
		limits: m.Gauges("conveyor_queue_limit",
			"Messages that a queue of events keeps, by queue; older ones are dropped.", "queue"),
		droppedN: m.Counters("conveyor_queue_dropped_total",
			"Oldest messages dropped from a queue of events that was full, by queue.", "queue"),
		findableS: m.Histogram("conveyor_search_findable_seconds",
			"Time from the publication of a crawled page, by its whole-second AMQP timestamp, until it could be found.",
			.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200),
		givenUp: m.Counter("conveyor_outbox_given_up_total",
			"Outbox messages that the broker refused for too long and that are dead letters now."),
	}
}

func (m *Metrics) settled(queue, outcome string) { m.messages.WithLabelValues(queue, outcome).Inc() }
func (m *Metrics) unchanged(platform string, n int) {
	m.unchangedN.WithLabelValues(platform).Add(float64(n))
}
func (m *Metrics) refused(platform string, n int) {
	m.refusedN.WithLabelValues(platform).Add(float64(n))
}
func (m *Metrics) overtaken(queue string)            { m.overtakenN.WithLabelValues(queue).Inc() }
func (m *Metrics) held(queue string, n int)          { m.heldN.WithLabelValues(queue).Add(float64(n)) }
func (m *Metrics) consuming(queue string, n float64) { m.consumers.WithLabelValues(queue).Add(n) }

func (m *Metrics) connected(name string) {
	if m != nil {
		m.connections.WithLabelValues(name).Inc()
		m.blockedN.WithLabelValues(name).Set(0)
	}
}
func (m *Metrics) blocked(name string, v float64) {
	if m != nil {
		m.blockedN.WithLabelValues(name).Set(v)
	}
}
func (m *Metrics) limited(queue string, most int) {
	m.limits.WithLabelValues(queue).Set(float64(most))
	m.dropped(queue, 0) // the counter's first increase is one too
}
func (m *Metrics) dropped(queue string, n int) { m.droppedN.WithLabelValues(queue).Add(float64(n)) }

func (m *Metrics) findable(d time.Duration) { m.findableS.Observe(d.Seconds()) }

func (m *Metrics) gaveUp(n int)     { m.givenUp.Add(float64(n)) }
func (m *Metrics) leasesLost(n int) { m.lostLeases.Add(float64(n)) }
func (m *Metrics) published(key string, d time.Duration) {
	m.publishedN.WithLabelValues(key).Inc()
	m.publishDelay.Observe(d.Seconds())
}

func (m *Metrics) handled(queue string, n int, d time.Duration) {
	m.batches.WithLabelValues(queue).Observe(float64(n))
	m.handling.WithLabelValues(queue).Observe(d.Seconds())
}
