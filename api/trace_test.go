package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A request is a span named by its route, in its caller's trace; /health, /ready, /metrics and the documentation are
// none.
func TestTraces(t *testing.T) {
	t.Parallel()

	recorder := tracetest.NewSpanRecorder()
	d := open(t, func(p *parts) { p.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(recorder)) })
	for _, path := range []string{"/health", "/metrics", "/ready", "/docs", "/openapi.json"} {
		d.get(t, path)
	}
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.Equal(t, http.StatusOK, d.get(t, "/listings?text=secret", "traceparent", caller).Status)
	require.Equal(t, http.StatusNotFound, d.ask(t, http.MethodPost, "/listings/kijiji/1/process", "").Status)
	require.Equal(t, http.StatusNotFound, d.get(t, "/nowhere").Status)
	require.Eventually(t, func() bool { return len(recorder.Ended()) == 3 }, 10*time.Second, 5*time.Millisecond)
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
