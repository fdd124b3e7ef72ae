package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"github.com/mtlrent/conveyor/domain/fault"
)

// flushWithin is how long sending the last spans may take at shutdown; they are lost when the collector is down.
const flushWithin = 3 * time.Second

// Tracing returns the provider of tracers, nil when tracing is off, and a function that sends the last spans at
// shutdown. The standard OTEL_* variables are its settings: tracing is on when OTEL_EXPORTER_OTLP_ENDPOINT, its form
// for traces, or OTEL_TRACES_EXPORTER is set. Every span says version and role. It opens no connection: a collector
// that is down costs spans, and a warning, never work.
func Tracing(ctx context.Context, version, role string, log *slog.Logger) (trace.TracerProvider, func(), error) {
	if !traced(os.Getenv) {
		return nil, func() {}, nil
	}
	export, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_*: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("conveyor"), semconv.ServiceVersion(version),
			attribute.String("conveyor.role", role)),
		resource.WithHost(), resource.WithProcessPID(), resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // comes last, so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	)
	if err != nil {
		return nil, nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("cannot export spans", "err", err) }))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(discreet{export}), sdk.WithResource(about))
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("cannot export the last spans", "err", err)
		}
	}, nil
}

// traced says whether the environment asks for traces. The exporters alone would send them to localhost when no
// variable is set.
func traced(env func(string) string) bool {
	exporter := env("OTEL_TRACES_EXPORTER")
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return false
	case exporter != "":
		return true
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// TemporalTraces carries the trace of a caller into what it starts on Temporal, and from there to workflows and
// activities. Set it only when tracing is on. It adds headers, never commands: histories replay with it and without it.
func TemporalTraces(p trace.TracerProvider) (interceptor.Interceptor, error) {
	i, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: p.Tracer("temporal-sdk-go"), TextMapPropagator: propagation.TraceContext{},
		DisableBaggage: true, DisableQueryTracing: true,
		AllowInvalidParentSpans: true, // a header written by another service must not fail a workflow
	})
	return i, fault.Wrap(err, "trace temporal")
}

// discreet removes what libraries put into spans and is nobody's business: the addresses and user agents of callers,
// and paths, for tokens of feeds and subscriptions are parts of them. The route of a request stays.
type discreet struct{ sdk.SpanExporter }

// ExportSpans is for the SDK.
func (d discreet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	out := make([]sdk.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = discreetSpan{s}
	}
	return d.SpanExporter.ExportSpans(ctx, out)
}

type discreetSpan struct{ sdk.ReadOnlySpan }

// Attributes is for the exporter.
func (s discreetSpan) Attributes() []attribute.KeyValue {
	all := s.ReadOnlySpan.Attributes()
	kept := make([]attribute.KeyValue, 0, len(all))
	for _, a := range all {
		switch a.Key {
		case semconv.ClientAddressKey, semconv.NetworkPeerAddressKey, semconv.NetworkPeerPortKey,
			semconv.UserAgentOriginalKey, semconv.URLPathKey, semconv.URLQueryKey, semconv.URLFullKey:
		default:
			kept = append(kept, a)
		}
	}
	return kept
}

// WithTraceIDs adds trace_id and span_id to the lines that are logged within a span.
func WithTraceIDs(log *slog.Logger) *slog.Logger { return slog.New(traceIDs{log.Handler()}) }

type traceIDs struct{ slog.Handler }

// Handle is for slog.
func (h traceIDs) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is for slog.
func (h traceIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup is for slog.
func (h traceIDs) WithGroup(name string) slog.Handler { return traceIDs{h.Handler.WithGroup(name)} }
