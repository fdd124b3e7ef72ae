package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

// Imports has the metrics of a process that imports files of contacts. Its methods may be called by several goroutines
// at once.
type Imports struct {
	rows   *prometheus.CounterVec
	chunks *prometheus.HistogramVec
}

// NewImports registers the metrics with r.
func NewImports(r prometheus.Registerer) *Imports {
	m := metric.With(r)
	return &Imports{
		rows: m.Counters("conveyor_import_rows_total",
			"Rows of uploaded files by what became of them: new, updated, skipped, invalid, duplicate.", "result",
			"new", "updated", "skipped", "invalid", "duplicate"),
		chunks: m.Histograms("conveyor_import_chunk_seconds",
			"Time that a chunk of up to 1,000 rows takes, by step: split, parse, store.", "step",
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60),
	}
}

// Rows counts rows by what became of them.
func (m *Imports) Rows(result string, n int64) {
	m.rows.WithLabelValues(result).Add(float64(max(n, 0)))
}

// Chunk counts a chunk that went through a step.
func (m *Imports) Chunk(step string, took time.Duration) {
	m.chunks.WithLabelValues(step).Observe(took.Seconds())
}
