package telemetry_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

var quiet = slog.New(slog.DiscardHandler)

// Nothing is traced unless a variable asks for it.
func TestTracingIsOff(t *testing.T) {
	for _, env := range []map[string]string{
		{},
		{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		{"OTEL_TRACES_SAMPLER": "always_on", "OTEL_SERVICE_NAME": "conveyor"},
	} {
		t.Run("", func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			p, flush, err := telemetry.Tracing(t.Context(), "1", "worker", quiet)
			require.NoError(t, err)
			require.Nil(t, p)
			flush()
		})
	}
}

func TestTracingSettingsThatAreWrong(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "pigeon")
	_, _, err := telemetry.Tracing(t.Context(), "1", "worker", quiet)
	require.ErrorContains(t, err, "OTEL_TRACES_EXPORTER")
}

// Exported spans name their service and role, and hold no personal data.
func TestTracing(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if proto.Unmarshal(body, &in) == nil {
			got <- &in
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL+"/v1/traces")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	p, flush, err := telemetry.Tracing(t.Context(), "1.2", "bridge", quiet)
	require.NoError(t, err)
	_, span := p.Tracer("t").Start(t.Context(), "work")
	span.SetAttributes(attribute.String("client.address", "192.0.2.7"), attribute.String("url.full", "https://a/?token=x"),
		attribute.String("url.query", "token=x"), attribute.String("url.path", "/feeds/x.atom"),
		attribute.String("http.route", "/feeds/:file"))
	span.End()
	flush()
	in := (<-got).GetResourceSpans()[0]
	about := map[string]string{}
	for _, a := range in.GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	require.Equal(t, []string{"conveyor", "1.2", "bridge", "test"}, []string{about["service.name"],
		about["service.version"], about["conveyor.role"], about["deployment.environment.name"]})
	sent := in.GetScopeSpans()[0].GetSpans()[0]
	require.Equal(t, "work", sent.GetName())
	require.Len(t, sent.GetAttributes(), 1)
	require.Equal(t, "http.route", sent.GetAttributes()[0].GetKey())
}

// A collector that is away costs spans, not time and not the process.
func TestTracingCollectorAway(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	var log bytes.Buffer
	p, flush, err := telemetry.Tracing(t.Context(), "1", "worker", slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	_, span := p.Tracer("t").Start(t.Context(), "work")
	span.End()
	began := time.Now()
	flush()
	require.Less(t, time.Since(began), servicetest.Patience())
	require.Contains(t, log.String(), "cannot export spans")
}

func TestTraceIDsInLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.WithTraceIDs(telemetry.Logger(&out, "info", "json")).With("queue", "q")
	ctx, span := trace.NewTracerProvider().Tracer("t").Start(t.Context(), "work")
	log.InfoContext(ctx, "within")
	log.InfoContext(t.Context(), "without")
	log.DebugContext(ctx, "not written")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var line map[string]string
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	require.Equal(t, span.SpanContext().TraceID().String(), line["trace_id"])
	require.Equal(t, span.SpanContext().SpanID().String(), line["span_id"])
	require.Equal(t, "q", line["queue"])
	require.NotContains(t, lines[1], "trace_id")
}
