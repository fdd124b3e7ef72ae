// Package api is the HTTP door: gin routes, huma checks what comes in and describes itself, problem turns faults into
// RFC 9457 answers.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Options is what the API stands on.
type Options struct {
	Listings   *db.Listings
	Letters    *db.DeadLetters
	Launch     Starter
	Blobs      *blob.Store
	Checks     map[string]func(context.Context) error // what /ready asks, by name
	Metrics    prometheus.Gatherer
	Log        *slog.Logger
	TemporalUI string // address of the Web UI, for links
	Namespace  string // of Temporal, for links
	Version    string
	URL        string // address that others reach us at
	Now        func() time.Time
}

// New returns the whole API. It holds no state: any number may run.
func New(o Options) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.Use(recovered(o.Log))
	conf := huma.DefaultConfig("Conveyor", o.Version)
	conf.Info.Description = "Listings, their images and their way from the advert, and the doors to start work. " +
		"Errors are RFC 9457 problems that name the field."
	conf.Servers = []*huma.Server{{URL: o.URL}}
	conf.DocsPath = ""    // served below, without a foreign host's scripts
	conf.SchemasPath = "" // the schemas are in the one document
	conf.CreateHooks = nil
	conf.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	a := humagin.New(r, conf)

	(&listings{store: o.Listings, launch: o.Launch, log: o.Log, workflows: workflowLinks(o)}).register(a)
	(&deadLetters{store: o.Letters, log: o.Log, now: o.Now, runs: workflowAddress(o)}).register(a)
	(&images{blobs: o.Blobs, log: o.Log}).register(a, r)
	(&health{checks: o.Checks, version: o.Version}).register(a)
	r.GET("/metrics", gin.WrapH(promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{})))
	docs := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Conveyor", SwaggerJSON: "/openapi.json", BasePath: "/docs",
		SettingsUI: map[string]string{"defaultModelsExpandDepth": "-1"},
	})
	r.GET("/docs", gin.WrapH(docs))
	r.GET("/docs/*file", gin.WrapH(docs))
	r.GET("/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	r.NoRoute(func(c *gin.Context) {
		answer(c, huma.Error404NotFound(c.Request.Method+" "+c.Request.URL.Path+" is not here; see /docs"))
	})
	r.NoMethod(func(c *gin.Context) {
		answer(c, huma.Error405MethodNotAllowed(c.Request.URL.Path+" takes "+c.Writer.Header().Get("Allow")))
	})
	return front(r)
}

// Lists in answers are [] when they are empty, never null. The switch is huma's, for the whole process.
func init() { huma.DefaultArrayNullable = false }

// uuidSchema tells huma what a uuid.UUID is.
type uuidSchema struct{}

// Schema is for huma.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// front is what holds for every answer, redirects and refusals included: browsers do not guess types, and HEAD is
// answered wherever GET is, for net/http leaves the body out.
func front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodHead {
			get := *r
			get.Method = http.MethodGet
			r = &get
		}
		next.ServeHTTP(w, r)
	})
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
}

// requestTimeout bounds what one request may ask of the database or of Temporal.
const requestTimeout = 10 * time.Second
