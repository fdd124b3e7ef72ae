package browser

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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
	with := promauto.With(r)
	return &metrics{
		pages: with.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_browser_pages_total", Help: "Pages loaded, by outcome: ok, cancelled or the class of the failure.",
		}, []string{"outcome"}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "conveyor_browser_page_seconds", Help: "Time from a free slot to the page's content.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 11),
		}),
		restarts: with.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_browser_restarts_total",
			Help: "Restarts of Chromium, by reason: cycles, age, memory, crash or hung.",
		}, []string{"reason"}),
		rss: with.NewGauge(prometheus.GaugeOpts{
			Name: "conveyor_browser_rss_bytes", Help: "Resident memory of Chromium and its driver, shared memory counted once a process.",
		}),
		open: with.NewGauge(prometheus.GaugeOpts{
			Name: "conveyor_browser_pages_open", Help: "Pages being loaded.",
		}),
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
	with := promauto.With(r)
	return &devtoolsMetrics{
		pages: with.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_devtools_pages_total",
			Help: "Pages captured, by outcome: ok, unstable, cancelled or the class of the failure.",
		}, []string{"outcome"}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "conveyor_devtools_page_seconds", Help: "Time from a free slot to the page's content and screenshot.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 10),
		}),
		connects: with.NewCounter(prometheus.CounterOpts{
			Name: "conveyor_devtools_connects_total", Help: "Connections made to a Chromium by DevTools.",
		}),
		open: with.NewGauge(prometheus.GaugeOpts{
			Name: "conveyor_devtools_pages_open", Help: "Pages being captured.",
		}),
	}
}
