package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/metric"
)

// Saved has the metrics of a process that compares listings with saved searches and tells them. Its methods may be
// called by several goroutines at once.
type Saved struct {
	events, matches, looked prometheus.Counter
	searches                prometheus.Gauge
	notices                 *prometheus.CounterVec
	delay                   prometheus.Histogram
}

// NewSaved registers the metrics with r.
func NewSaved(r prometheus.Registerer) *Saved {
	m := metric.With(r)
	s := &Saved{
		events:  m.Counter("conveyor_saved_events_total", "Events of listings that were compared with saved searches."),
		matches: m.Counter("conveyor_saved_matches_total", "News of saved searches that were found."),
		looked:  m.Counter("conveyor_saved_looked_total", "Saved searches that were looked at for these events."),
		searches: m.Gauge("conveyor_saved_searches",
			"Active saved searches in the memory of the process that compares."),
		notices: m.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_saved_notices_total",
			Help: "Tries to send notices of saved searches by channel and result: sent, retried, failed, dropped, keyless.",
		}, []string{"channel", "result"}),
		delay: m.Histogram("conveyor_saved_delay_seconds",
			"Time from an event of a listing until it was compared with the saved searches.",
			.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600),
	}
	for _, channel := range saved.Channels { // or the first failure would be no increase
		for _, result := range []string{"sent", "retried", "failed", "dropped", "keyless"} {
			if channel != saved.Feed {
				s.notices.WithLabelValues(string(channel), result)
			}
		}
	}
	return s
}

// Told implements activities.NoticeMetrics.
func (s *Saved) Told(channel saved.Channel, result string) {
	s.notices.WithLabelValues(string(channel), result).Inc()
}

// Compared counts events that happened at these times, with what was found for them among searches.
func (s *Saved) Compared(at []time.Time, now time.Time, events, looked, matches, searches int) {
	for _, t := range at {
		since(s.delay, now.Sub(t))
	}
	s.events.Add(float64(events))
	s.looked.Add(float64(looked))
	s.matches.Add(float64(matches))
	s.searches.Set(float64(searches))
}
