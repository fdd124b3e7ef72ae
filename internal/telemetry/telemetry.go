// Package telemetry makes the logs, metrics and traces of a process.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/mtlrent/conveyor/internal/metric"
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
	return metric.With(r).Counters("conveyor_tender_panics_total",
		"Panics in work of the worker that is done over and over: it goes on, and what causes them is in the log.", "doing")
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
var inSeconds = sdkmetric.NewView(sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram}, sdkmetric.Stream{
	Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{
		.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400,
	}},
})

// Temporal returns the handler that makes the Temporal SDK's own metrics part of r, and those of our activities.
func Temporal(r prometheus.Registerer, log *slog.Logger) (client.MetricsHandler, error) {
	export, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("export metrics: %w", err)
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(export), sdkmetric.WithView(inSeconds)).Meter("temporal-sdk")
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter:                meter,
		UseMonotonicCounters: true,
		OnError:              func(err error) { log.Warn("cannot record a metric of the Temporal SDK", "err", err) },
	}), nil
}
