package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Search has the metrics of a process that stores pages for the search. Its methods may be called by several
// goroutines at once.
type Search struct {
	pages *prometheus.CounterVec
	index *prometheus.HistogramVec
}

// NewSearch registers the metrics with r.
func NewSearch(r prometheus.Registerer) *Search {
	s := &Search{
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_search_pages_total",
			Help: "Crawled pages by outcome: stored, unchanged, overtaken by a version that was crawled later, removed, " +
				"refused.",
		}, []string{"outcome"}),
		index: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "conveyor_search_index_seconds",
			Help:    "Time in which an engine made a batch of pages findable, by engine.",
			Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"engine"}),
	}
	for _, outcome := range []string{"stored", "unchanged", "overtaken", "removed", "refused"} {
		s.pages.WithLabelValues(outcome) // 0, so that the first increase is seen
	}
	r.MustRegister(s.pages, s.index)
	return s
}

// Stored counts the pages of a batch by outcome.
func (s *Search) Stored(n map[string]int) {
	for outcome, n := range n {
		s.pages.WithLabelValues(outcome).Add(float64(n))
	}
}

// Indexed counts a call of an engine.
func (s *Search) Indexed(engine string, _ int, took time.Duration) {
	s.index.WithLabelValues(engine).Observe(took.Seconds())
}
