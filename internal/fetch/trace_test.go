package fetch_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// A download is a span of its caller's trace, which the foreign host learns nothing of.
func TestTraces(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	srv, site, c := world(t, fetch.Options{Traces: provider})
	site.Handle("/secret", "/secret", "checks the request", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} {
			assert.Empty(t, r.Header.Get(name), r.Header)
		}
		_, _ = w.Write(demosite.Photo("secret", 1))
	}))
	ctx, parent := provider.Tracer("t").Start(t.Context(), "step")
	if _, err := c.Photo(ctx, srv.URL+"/secret?token=hunter2"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Photo(ctx, srv.URL+"/bad/404"); err == nil {
		t.Fatal("there is a picture")
	}
	parent.End()
	ended := recorder.Ended()
	require.Len(t, ended, 3)
	for i, want := range []map[string]string{
		{"http.request.method": "GET", "server.address": "127.0.0.1", "http.response.status_code": "200"},
		{"http.request.method": "GET", "server.address": "127.0.0.1", "http.response.status_code": "404",
			"error.type": "gone"},
	} {
		got := map[string]string{}
		for _, a := range ended[i].Attributes() {
			got[string(a.Key)] = a.Value.String()
		}
		if len(got) != len(want) || ended[i].Name() != "GET" || ended[i].Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("span %d: %s %v; want %v", i, ended[i].Name(), got, want)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("span %d: %s is %q; want %q", i, k, got[k], v)
			}
		}
	}
}
