package browser

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

type metrics struct {
	pages    *prometheus.CounterVec
	seconds  prometheus.Histogram
	restarts *prometheus.CounterVec
	rss      prometheus.Gauge
	open     prometheus.Gauge
}

// newMetrics registers with r, unless it is nil.
func newMetrics(r prometheus.Registerer) *metrics {
	m := metric.With(r)
	return &metrics{
		pages: m.Counters("conveyor_browser_pages_total",
			"Pages loaded, by outcome: ok, cancelled or the class of the failure.", "outcome"),
		seconds: m.Histogram("conveyor_browser_page_seconds",
			"Time from a free slot to the page's content.", prometheus.ExponentialBuckets(0.05, 2, 11)...),
		restarts: m.Counters("conveyor_browser_restarts_total",
			"Restarts of Chromium, by reason: cycles, age, memory, crash or hung.", "reason"),
		rss: m.Gauge("conveyor_browser_rss_bytes",
			"Resident memory of Chromium and its driver, shared memory counted once a process."),
		open: m.Gauge("conveyor_browser_pages_open", "Pages being loaded."),
	}
}

type devtoolsMetrics struct {
	pages    *prometheus.CounterVec
	seconds  prometheus.Histogram
	connects prometheus.Counter
	open     prometheus.Gauge
}

// newDevtoolsMetrics registers with r, unless it is nil.
func newDevtoolsMetrics(r prometheus.Registerer) *devtoolsMetrics {
	m := metric.With(r)
	return &devtoolsMetrics{
		pages: m.Counters("conveyor_devtools_pages_total",
			"Pages captured, by outcome: ok, unstable, cancelled or the class of the failure.", "outcome"),
		seconds: m.Histogram("conveyor_devtools_page_seconds",
			"Time from a free slot to the page's content and screenshot.", prometheus.ExponentialBuckets(0.1, 2, 10)...),
		connects: m.Counter("conveyor_devtools_connects_total", "Connections made to a Chromium by DevTools."),
		open:     m.Gauge("conveyor_devtools_pages_open", "Pages being captured."),
	}
}
