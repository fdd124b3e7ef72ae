package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A request is a span named by its route, in its caller's trace; /health, /ready, /metrics and the documentation are
// none.
func TestTraces(t *testing.T) {
	t.Parallel()

	recorder := tracetest.NewSpanRecorder()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(recorder)) })
	for _, path := range []string{"/health", "/metrics", "/ready", "/docs", "/openapi.json"} {
		d.Get(t, path)
	}
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.Equal(t, http.StatusOK, d.Get(t, "/listings?text=secret", "traceparent", caller).Status)
	require.Equal(t, http.StatusNotFound, d.Ask(t, http.MethodPost, "/listings/kijiji/1/process", "").Status)
	require.Equal(t, http.StatusNotFound, d.Get(t, "/nowhere").Status)
	require.Eventually(t, func() bool { return len(recorder.Ended()) == 3 }, servicetest.Patience(), 5*time.Millisecond)
	ended := recorder.Ended()
	require.Equal(t, []string{"GET /listings", "POST /listings/:platform/:platform_id/process", "GET"},
		[]string{ended[0].Name(), ended[1].Name(), ended[2].Name()})
	require.Equal(t, "00f067aa0ba902b7", ended[0].Parent().SpanID().String())
	require.False(t, ended[1].Parent().IsValid())
	for _, s := range ended {
		require.Equal(t, codes.Unset, s.Status().Code)
		for _, a := range s.Attributes() {
			require.NotContains(t, a.Value.String(), "secret", string(a.Key))
		}
	}
}

// The header traceparent of a caller that is not known decides nothing: its request begins a trace of its own, with a
// link to the caller's.
func TestTracesOfStrangers(t *testing.T) {
	t.Parallel()

	recorder := tracetest.NewSpanRecorder()
	f := apitest.Guarded(t)
	f.Serve(t, func(p *apitest.Parts) { p.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(recorder)) })
	apitest.Read[apitest.Page](t, f.Get(t, "/listings"), 200) // the table is read: there are no keys
	const caller, span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00f067aa0ba902b7"
	f.Get(t, "/listings", "traceparent", caller)
	key := f.Key(t, "ci", access.Read)
	f.Clock.Add(time.Minute)
	apitest.Read[apitest.Page](t, f.As(t, key, "GET", "/listings"), 200)
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + key}, {"Authorization", "Bearer " + key[:len(key)-1] + "-"}, {"Authorization", "x"}, nil,
	} {
		f.Get(t, "/images/x", append(headers, "traceparent", caller)...)
	}
	require.Eventually(t, func() bool { return len(recorder.Ended()) == 7 }, servicetest.Patience(), 5*time.Millisecond)
	spans := recorder.Ended()
	require.Equal(t, span, spans[1].Parent().SpanID().String(), "without authentication every caller is known")
	spans = spans[3:]
	require.Equal(t, span, spans[0].Parent().SpanID().String())
	for _, s := range spans[1:] {
		require.False(t, s.Parent().IsValid())
		require.Len(t, s.Links(), 1)
		require.Equal(t, span, s.Links()[0].SpanContext.SpanID().String())
	}
}
