package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
)

// traced makes a span of each request. It is a child of its caller's span when the caller's key is known; otherwise it
// begins a trace of its own, with a link to the caller's, so that strangers do not decide what is sampled. Probes,
// scrapes of metrics, and the files of the documentation make none.
func traced(next http.Handler, p trace.TracerProvider, guard *Guard) http.Handler {
	if p == nil {
		return next
	}
	return otelhttp.NewHandler(next, "api", otelhttp.WithTracerProvider(p),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), // the API has its own metrics
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithPublicEndpointFn(func(r *http.Request) bool { return !guard.knows(r.Header.Get("Authorization")) }),
		otelhttp.WithFilter(func(r *http.Request) bool {
			switch r.URL.Path {
			case "/metrics", "/health", "/ready", "/openapi.json":
				return false
			}
			return !strings.HasPrefix(r.URL.Path, "/docs") && !strings.HasPrefix(r.URL.Path, "/ui/")
		}))
}

// routed names the span of a request by its route, which only the router knows: paths are too many for names.
func routed(c *gin.Context) {
	if route := c.FullPath(); route != "" {
		span := trace.SpanFromContext(c.Request.Context())
		span.SetName(c.Request.Method + " " + route)
		span.SetAttributes(semconv.HTTPRoute(route))
	}
}
