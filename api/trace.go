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

// traced makes a span of each request, the next one in its caller's trace. What is asked all day by machines, or for
// a page's looks, makes none.
func traced(next http.Handler, p trace.TracerProvider) http.Handler {
	if p == nil {
		return next
	}
	return otelhttp.NewHandler(next, "api", otelhttp.WithTracerProvider(p),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), // its metrics are those of a provider that nobody reads
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool {
			switch r.URL.Path {
			case "/metrics", "/health", "/ready", "/openapi.json":
				return false
			}
			return !strings.HasPrefix(r.URL.Path, "/docs") && !strings.HasPrefix(r.URL.Path, "/ui/")
		}))
}

// routed names a request's span by its route, which only the router knows: paths are too many.
func routed(c *gin.Context) {
	if route := c.FullPath(); route != "" {
		span := trace.SpanFromContext(c.Request.Context())
		span.SetName(c.Request.Method + " " + route)
		span.SetAttributes(semconv.HTTPRoute(route))
	}
}
