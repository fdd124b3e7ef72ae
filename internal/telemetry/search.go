package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

// Search has the metrics of a process that stores pages for the search. Its methods may be called by several
// goroutines at once.
type Search struct {
	pages *prometheus.CounterVec
	index *prometheus.HistogramVec
}

// NewSearch registers the metrics with r.
func NewSearch(r prometheus.Registerer) *Search {
	m := metric.With(r)
	return &Search{
		pages: m.Counters("conveyor_search_pages_total",
			"Crawled pages by outcome: stored, unchanged, overtaken by a version that was crawled later, removed, refused.",
			"outcome", "stored", "unchanged", "overtaken", "removed", "refused"),
		index: m.Histograms("conveyor_search_index_seconds",
			"Time in which an engine made a batch of pages findable, by engine.", "engine",
			.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30),
	}
}

// Stored counts the pages of a batch by outcome.
func (s *Search) Stored(n map[string]int) {
	for outcome, n := range n {
		s.pages.WithLabelValues(outcome).Add(float64(n))
	}
}

// Indexed counts a call of an engine.
func (s *Search) Indexed(engine string, took time.Duration) {
	s.index.WithLabelValues(engine).Observe(took.Seconds())
}
