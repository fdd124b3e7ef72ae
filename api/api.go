// Package api is the HTTP door: gin routes, huma checks what comes in and describes itself, problem turns faults into
// RFC 9457 answers.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
	"go.opentelemetry.io/otel/trace"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Options is what the API stands on.
type Options struct {
	Listings      *db.Listings
	Replays       *db.Replays
	Audit         *db.AuditLog
	Letters       *db.DeadLetters
	Platforms     *db.Platforms
	Drafts        *db.Drafts
	DraftRequests DraftRequests
	Launch        Starter
	Blobs         *blob.Store
	Checks        map[string]func(context.Context) error // what /ready asks, by name
	Backlog       func(context.Context) backlog.Report   // what /queues answers
	Metrics       prometheus.Gatherer
	Registerer    prometheus.Registerer // takes the API's own metrics; nil = none are registered
	Log           *slog.Logger
	Keys          *db.Keys
	Guard         *Guard   // says who asks; nil = everybody is welcome
	Proxies       []string // addresses and networks whose X-Forwarded-For is believed
	TemporalUI    string   // address of the Web UI, for links
	Namespace     string   // of Temporal, for links
	Version       string
	URL           string               // address that others reach us at
	Traces        trace.TracerProvider // where spans of requests go; nil is no tracing
	Now           func() time.Time
}

// New returns the whole API. It holds no state: any number may run.
func New(o Options) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	if err := r.SetTrustedProxies(o.Proxies); err != nil {
		panic(err) // they were checked when the settings were read
	}
	gate := newGate(o)
	r.Use(gate.measure, recovered(o.Log))
	if o.Traces != nil {
		r.Use(routed)
	}
	r.Use(gate.bound, gate.admit)
	conf := huma.DefaultConfig("Conveyor", o.Version)
	conf.Info.Description = "Listings, their images and their way from the advert; product drafts; and the doors to start work. " +
		"Errors are RFC 9457 problems that name the field."
	conf.Servers = []*huma.Server{{URL: o.URL}}
	conf.DocsPath = ""    // served below, without a foreign host's scripts
	conf.SchemasPath = "" // the schemas are in the one document
	conf.CreateHooks = nil
	conf.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{securityScheme: {
		Type: "http", Scheme: "bearer", BearerFormat: "API key or JWT",
		Description: "A key of `conveyor keys create`, or a token of the OIDC issuer. A house without either asks for none.",
	}}
	a := humagin.New(r, conf)

	(&listings{store: o.Listings, launch: o.Launch, log: o.Log, workflows: workflowLinks(o)}).register(a)
	(&deadLetters{store: o.Letters, log: o.Log, now: o.Now, runs: workflowAddress(o)}).register(a)
	(&replays{store: o.Replays, start: o.Launch, log: o.Log, link: links(o), now: o.Now}).register(a)
	(&staleness{start: o.Launch, audit: o.Audit, log: o.Log, link: links(o), now: o.Now}).register(a)
	(&platforms{store: o.Platforms, start: o.Launch, log: o.Log, link: links(o), now: o.Now}).register(a)
	(&drafts{
		store: o.Drafts, start: o.Launch, blobs: o.Blobs, requests: o.DraftRequests, log: o.Log, link: links(o), now: o.Now,
	}).register(a)
	(&images{blobs: o.Blobs, log: o.Log}).register(a, r)
	(&health{checks: o.Checks, version: o.Version}).register(a)
	(&keys{store: o.Keys, guard: gate.guard, log: o.Log}).register(a)
	(&queues{read: o.Backlog}).register(a)
	registerMetrics(a, r, o.Metrics)
	docs := documented(v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Conveyor", SwaggerJSON: "/openapi.json", BasePath: "/docs",
		SettingsUI: map[string]string{"defaultModelsExpandDepth": "-1"},
	}))
	r.GET("/docs", gin.WrapH(docs))
	r.GET("/docs/*file", gin.WrapH(docs))
	r.GET("/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	r.NoRoute(func(c *gin.Context) {
		answer(c, huma.Error404NotFound(c.Request.Method+" "+c.Request.URL.Path+" is not here; see /docs"))
	})
	r.NoMethod(func(c *gin.Context) {
		answer(c, huma.Error405MethodNotAllowed(c.Request.URL.Path+" takes "+c.Writer.Header().Get("Allow")))
	})
	gate.learn(a, r.Routes())
	return front(traced(r, o.Traces), strings.HasPrefix(o.URL, "https://"))
}

// registerMetrics serves what Prometheus asks for. It is a gin route; huma is told of it for the gate and the document.
func registerMetrics(a huma.API, r gin.IRouter, metrics prometheus.Gatherer) {
	o := needs(access.Read, huma.Operation{
		OperationID: "metrics", Method: http.MethodGet, Path: "/metrics", Tags: []string{"operations"},
		Summary: "Metrics, as Prometheus reads them",
		Responses: map[string]*huma.Response{
			"200": {Description: "The metrics", Content: map[string]*huma.MediaType{"text/plain": {}}},
		},
	})
	a.OpenAPI().AddOperation(&o)
	r.GET("/metrics", gin.WrapH(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
}

// Lists in answers are [] when they are empty, never null. The switch is huma's, for the whole process.
func init() { huma.DefaultArrayNullable = false }

// uuidSchema tells huma what a uuid.UUID is.
type uuidSchema struct{}

// Schema is for huma.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// recovered answers 500 for a handler that panicked, and logs where.
func recovered(log *slog.Logger) gin.HandlerFunc {
	return gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, cause any) {
		log.ErrorContext(c, "handler panicked", "path", c.FullPath(), "panic", cause, "stack", string(debug.Stack()))
		c.Abort()
		answer(c, huma.Error500InternalServerError("this is our fault; the log says more"))
	})
}

// Starter starts work: *launch.Launch.
type Starter interface {
	Listing(ctx context.Context, ref listing.Ref, a launch.Arrival, summary string) error
	Replay(ctx context.Context, r listing.Replay) error
	CancelReplay(ctx context.Context, id uuid.UUID) error
	ArchiveStale(ctx context.Context) (workflowID string, joined bool, err error)
	Scraper(ctx context.Context, platform, summary string) error
	DraftState(ctx context.Context, event uuid.UUID) (string, error)
}

// requestTimeout bounds what one request may ask of the database or of Temporal.
const requestTimeout = 10 * time.Second
