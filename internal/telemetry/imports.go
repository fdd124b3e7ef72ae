package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Imports has the metrics of a process that imports files of contacts. Its methods may be called by several goroutines
// at once.
type Imports struct {
	rows   *prometheus.CounterVec
	chunks *prometheus.HistogramVec
}

// NewImports registers the metrics with r.
func NewImports(r prometheus.Registerer) *Imports {
	m := &Imports{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_import_rows_total",
			Help: "Rows of uploaded files by what became of them: new, updated, skipped, invalid, duplicate.",
		}, []string{"result"}),
		chunks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "conveyor_import_chunk_seconds",
			Help:    "Time that a chunk of up to 1,000 rows takes, by step: split, parse, store.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"step"}),
	}
	for _, result := range []string{"new", "updated", "skipped", "invalid", "duplicate"} {
		m.rows.WithLabelValues(result) // 0, so that the first increase is seen
	}
	r.MustRegister(m.rows, m.chunks)
	return m
}

// Rows counts rows by what became of them.
func (m *Imports) Rows(result string, n int64) {
	m.rows.WithLabelValues(result).Add(float64(max(n, 0)))
}

// Chunk counts a chunk that went through a step.
func (m *Imports) Chunk(step string, took time.Duration) {
	m.chunks.WithLabelValues(step).Observe(took.Seconds())
}
