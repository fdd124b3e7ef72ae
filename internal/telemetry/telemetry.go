// Package telemetry makes the logs, metrics and traces of a process.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Logger writes to w; level is debug, info, warn or error, format text or json.
func Logger(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// Registry returns a registry with the metrics of the Go runtime and the process.
func Registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// NewPanics returns the counter of panics in the work of a process that is done over and over, by what it was doing.
func NewPanics(r prometheus.Registerer) *prometheus.CounterVec {
	return with(r).counters("conveyor_tender_panics_total",
		"Panics in work of the worker that is done over and over: it goes on, and what causes them is in the log.", "doing")
}

// A maker makes metrics and registers them.
type maker struct{ promauto.Factory }

func with(r prometheus.Registerer) maker { return maker{promauto.With(r)} }

func (m maker) counter(name, help string) prometheus.Counter {
	return m.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// counters have a label. Those of the values that are known begin at 0, so that their first increase is seen.
func (m maker) counters(name, help, label string, values ...string) *prometheus.CounterVec {
	vec := m.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		vec.WithLabelValues(v)
	}
	return vec
}

func (m maker) histogram(name, help string, buckets ...float64) prometheus.Histogram {
	return m.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// histograms have a label.
func (m maker) histograms(name, help, label string, buckets ...float64) *prometheus.HistogramVec {
	return m.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
}

// since observes a time that has passed since another one, by the clock of another machine, which may be ahead.
func since(o prometheus.Observer, d time.Duration) { o.Observe(max(0, d.Seconds())) }

// WatchNetwork exports whether the network of this process is away.
func WatchNetwork(r prometheus.Registerer, away func() bool) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conveyor_network_away",
		Help: "1 while none of several sites could be reached by this process: its requests wait, and cost no attempt.",
	}, func() float64 { return number(away()) }))
}

// inSeconds are buckets for everything that is timed, from a step on the database to an advert that waited for a day.
// OpenTelemetry's own are for milliseconds: nearly all of ours would be in the first.
var inSeconds = metric.NewView(metric.Instrument{Kind: metric.InstrumentKindHistogram}, metric.Stream{
	Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: []float64{
		.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400,
	}},
})

// Temporal returns the handler that makes the Temporal SDK's own metrics part of r, and those of our activities.
func Temporal(r prometheus.Registerer, log *slog.Logger) (client.MetricsHandler, error) {
	export, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("export metrics: %w", err)
	}
	meter := metric.NewMeterProvider(metric.WithReader(export), metric.WithView(inSeconds)).Meter("temporal-sdk")
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter:                meter,
		UseMonotonicCounters: true,
		OnError:              func(err error) { log.Warn("cannot record a metric of the Temporal SDK", "err", err) },
	}), nil
}
