// Package metric makes Prometheus metrics, each in a line.
package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A Maker makes metrics and registers them. Those whose names are in the plural have a label.
type Maker struct{ promauto.Factory }

// With registers with r; nil registers nothing.
func With(r prometheus.Registerer) Maker { return Maker{promauto.With(r)} }

// Counter makes a counter.
func (m Maker) Counter(name, help string) prometheus.Counter {
	return m.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Counters begin at 0 for the values that are known, so that their first increase is seen.
func (m Maker) Counters(name, help, label string, values ...string) *prometheus.CounterVec {
	vec := m.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		vec.WithLabelValues(v)
	}
	return vec
}

// Gauge makes a gauge.
func (m Maker) Gauge(name, help string) prometheus.Gauge {
	return m.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Gauges make a gauge for each value of a label.
func (m Maker) Gauges(name, help, label string) *prometheus.GaugeVec {
	return m.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
}

// Histogram makes a histogram.
func (m Maker) Histogram(name, help string, buckets ...float64) prometheus.Histogram {
	return m.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// Histograms make a histogram for each value of a label.
func (m Maker) Histograms(name, help, label string, buckets ...float64) *prometheus.HistogramVec {
	return m.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
}
