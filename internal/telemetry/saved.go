package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/domain/saved"
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
	s := &Saved{
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "conveyor_saved_events_total", Help: "Events of listings that were compared with saved searches.",
		}),
		matches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "conveyor_saved_matches_total", Help: "News of saved searches that were found.",
		}),
		looked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "conveyor_saved_looked_total", Help: "Saved searches that were looked at for these events.",
		}),
		searches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "conveyor_saved_searches", Help: "Active saved searches in the memory of the process that compares.",
		}),
		notices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_saved_notices_total",
			Help: "Tries to send notices of saved searches by channel and result: sent, retried, failed, dropped.",
		}, []string{"channel", "result"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "conveyor_saved_delay_seconds",
			Help:    "Time from an event of a listing until it was compared with the saved searches.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		}),
	}
	for _, channel := range saved.Channels { // or the first failure would be no increase
		for _, result := range []string{"sent", "retried", "failed", "dropped"} {
			if channel != saved.Feed {
				s.notices.WithLabelValues(string(channel), result)
			}
		}
	}
	r.MustRegister(s.events, s.matches, s.looked, s.searches, s.notices, s.delay)
	return s
}

// Told implements activities.NoticeMetrics.
func (s *Saved) Told(channel saved.Channel, result string) {
	s.notices.WithLabelValues(string(channel), result).Inc()
}

// Compared counts events that happened at these times, with what was found for them among searches.
func (s *Saved) Compared(at []time.Time, now time.Time, events, looked, matches, searches int) {
	for _, t := range at {
		s.delay.Observe(max(0, now.Sub(t).Seconds())) // another clock may be ahead
	}
	s.events.Add(float64(events))
	s.looked.Add(float64(looked))
	s.matches.Add(float64(matches))
	s.searches.Set(float64(searches))
}
