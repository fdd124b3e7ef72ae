package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks has the metrics of a process that applies the events of the WhatsApp webhook. Its methods may be called by
// several goroutines at once.
type Webhooks struct {
	events, statuses *prometheus.CounterVec
	optOuts          prometheus.Counter
	delay            prometheus.Histogram
}

// NewWebhooks registers the metrics with r.
func NewWebhooks(r prometheus.Registerer) *Webhooks {
	w := &Webhooks{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_webhooks_applied_total",
			Help: "Events of the WhatsApp webhook by result: applied, or unreadable, which are kept and have no effect.",
		}, []string{"result"}),
		statuses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_webhook_statuses_total",
			Help: "Statuses in them: known are those of messages of this system, unknown are others.",
		}, []string{"message"}),
		optOuts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "conveyor_webhook_opt_outs_total", Help: "Messages in them that ask for no more messages, such as STOP.",
		}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "conveyor_webhook_delay_seconds",
			Help:    "Time from the receipt of an event until it was applied.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		}),
	}
	for vec, values := range map[*prometheus.CounterVec][]string{
		w.events: {"applied", "unreadable"}, w.statuses: {"known", "unknown"},
	} {
		for _, v := range values {
			vec.WithLabelValues(v) // 0, so that the first increase is seen
		}
	}
	r.MustRegister(w.events, w.statuses, w.optOuts, w.delay)
	return w
}

// Applied counts events that came at these times, some of which were unreadable, and what was in them.
func (w *Webhooks) Applied(received []time.Time, now time.Time, unreadable, statuses, known, optOuts int) {
	for _, at := range received {
		w.delay.Observe(max(0, now.Sub(at).Seconds())) // another clock may be ahead
	}
	w.events.WithLabelValues("applied").Add(float64(len(received) - unreadable))
	w.events.WithLabelValues("unreadable").Add(float64(unreadable))
	w.statuses.WithLabelValues("known").Add(float64(known))
	w.statuses.WithLabelValues("unknown").Add(float64(statuses - known))
	w.optOuts.Add(float64(optOuts))
}
