package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

// Webhooks has the metrics of a process that applies the events of the WhatsApp webhook. Its methods may be called by
// several goroutines at once.
type Webhooks struct {
	events, statuses *prometheus.CounterVec
	optOuts, unknown prometheus.Counter
	delay            prometheus.Histogram
}

// NewWebhooks registers the metrics with r.
func NewWebhooks(r prometheus.Registerer) *Webhooks {
	m := metric.With(r)
	return &Webhooks{
		events: m.Counters("conveyor_webhooks_applied_total",
			"Events of the WhatsApp webhook by result: applied, or unreadable, wholly or in part, which are kept.", "result",
			"applied", "unreadable"),
		statuses: m.Counters("conveyor_webhook_statuses_total",
			"Statuses in them: known are those of messages of this system, unknown are others.", "message",
			"known", "unknown"),
		optOuts: m.Counter("conveyor_webhook_opt_outs_total",
			"Messages in them that ask for no more messages, such as STOP."),
		unknown: m.Counter("conveyor_webhook_unknown_writers_total",
			"Messages in them that ask for no more messages, or for more again, of people who are not known: their numbers "+
				"are left out, and no report on a message to them has come yet."),
		delay: m.Histogram("conveyor_webhook_delay_seconds", "Time from the receipt of an event until it was applied.",
			.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600),
	}
}

// Applied counts events that came at these times, some of which were unreadable, and what was in them.
func (w *Webhooks) Applied(received []time.Time, now time.Time, unreadable, statuses, known, optOuts, unknown int) {
	for _, at := range received {
		since(w.delay, now.Sub(at))
	}
	w.events.WithLabelValues("applied").Add(float64(len(received) - unreadable))
	w.events.WithLabelValues("unreadable").Add(float64(unreadable))
	w.statuses.WithLabelValues("known").Add(float64(known))
	w.statuses.WithLabelValues("unknown").Add(float64(statuses - known))
	w.optOuts.Add(float64(optOuts))
	w.unknown.Add(float64(unknown))
}
