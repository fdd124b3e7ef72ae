// Package api is the HTTP API: gin routes requests, huma validates them and generates the OpenAPI document, and faults
// become RFC 9457 problems. The operations of each system are Parts, in a package of its own below this
// one; here is the door that they register with, and what has no system.
package api

import (
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
	"github.com/mtlrent/conveyor/web"
)

// Options are the settings of the API as a whole. What one system needs is in its Part.
type Options struct {
	Metrics    prometheus.Gatherer   // answers /metrics
	Registerer prometheus.Registerer // takes the API's own metrics; nil = none are registered
	Log        *slog.Logger
	Guard      *Guard        // authenticates callers; nil = authentication is off
	Tenants    *db.Tenants   // that requests may be about
	Conns      int           // connections to Postgres, by which heavy operations are bounded; 0 = usualPool
	Short      func() bool   // the machine has fewer cores than its work needs; nil = never
	Hold       time.Duration // until a caller that asks too often is told so; 0 = none is held
	Hosts      []string      // names by which the API may be called while authentication is off, besides that of URL
	Open       bool          // CONVEYOR_API_OPEN: callers behind proxies are answered also while authentication is off
	Proxies    []string      // addresses and networks whose X-Forwarded-For is believed
	TemporalUI string        // address of the Web UI, for links
	Namespace  string        // of Temporal, for links
	Tiles      string        // template of the addresses of map tiles; "" = the console's map has no streets
	Version    string
	URL        string               // address that callers reach the API at
	Traces     trace.TracerProvider // takes the spans of requests; nil = tracing is off
	Now        func() time.Time
	Stopping   <-chan struct{} // is closed when the process is about to end: streams without an end stop then
}

// A Part is the operations of one system: Listings, Drafts, ….
type Part interface {
	Register(d *Door)
}

//go:generate go test -vet=off -run ^TestOpenAPI$ . -update

// New returns the API with the operations of parts. It holds no state: any number may run.
func New(o Options, parts ...Part) http.Handler {
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
	d := &Door{
		Options: o, API: humagin.New(r, document(o)), Router: r, guard: gate.guard, Given: newGiven(o.Registerer),
		lanes: newLanes(o.Conns, o.Short),
	}
	for _, p := range parts {
		p.Register(d)
	}
	registerMetrics(d)
	docs := documented(v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Conveyor", SwaggerJSON: "/openapi.json", BasePath: "/docs",
		SettingsUI: map[string]string{"defaultModelsExpandDepth": "-1"},
	}))
	r.GET("/docs", gin.WrapH(docs))
	r.GET("/docs/*file", gin.WrapH(docs))
	console, err := web.Handler(web.Options{Tiles: o.Tiles})
	if err != nil {
		panic(err) // its files are in the binary, and the settings were checked when they were read
	}
	r.GET(consoleRoute, gin.WrapH(console))
	r.GET("/", home)
	r.NoRoute(func(c *gin.Context) {
		Answer(c, huma.Error404NotFound("there is no "+c.Request.Method+" "+c.Request.URL.Path+"; see /docs"))
	})
	r.NoMethod(func(c *gin.Context) {
		Answer(c, huma.Error405MethodNotAllowed(c.Request.URL.Path+" allows "+c.Writer.Header().Get("Allow")))
	})
	gate.learn(d.API, r.Routes())
	return front(traced(r, o.Traces, gate.guard), strings.HasPrefix(o.URL, "https://"))
}

// home leads browsers to the console, and programs to the documentation.
func home(c *gin.Context) {
	to := "/docs"
	if strings.Contains(c.GetHeader("Accept"), "text/html") {
		to = web.Prefix
	}
	c.Header("Vary", "Accept")
	c.Redirect(http.StatusFound, to)
}

// document is the head of the OpenAPI document: all but the operations and their types.
func document(o Options) huma.Config {
	conf := huma.DefaultConfig("Conveyor", o.Version)
	conf.Info.Description = "Listings with their images, and how each advert was processed; saved searches; product drafts; " +
		"crawl runs and the search of their pages; tenants with their contacts, campaigns and messages; and what operators " +
		"need. Errors are RFC 9457 problems that name the field. Times that are to be kept have a year from 1 to 9999."
	conf.Servers = []*huma.Server{{URL: o.URL}}
	conf.DocsPath = ""    // New serves them, without scripts of another host
	conf.SchemasPath = "" // the schemas are in the one document
	conf.CreateHooks = nil
	conf.Formats = map[string]huma.Format{JSONType: wholeJSON, "json": wholeJSON}
	conf.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	conf.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[access.Role](), reflect.TypeFor[roleSchema]())
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{securityScheme: {
		Type: "http", Scheme: "bearer", BearerFormat: "API key or JWT",
		Description: "An API key made by `conveyor keys create`, or a token of the OIDC issuer. Without keys or an issuer, " +
			"no credentials are required.",
	}}
	return conf
}

// registerMetrics serves /metrics. It is a gin route; huma knows it for the gate and the document.
func registerMetrics(d *Door) {
	o := Needs(access.Read, huma.Operation{
		OperationID: "metrics", Method: http.MethodGet, Path: "/metrics", Tags: []string{"operations"},
		Summary: "Get metrics in Prometheus format",
		Responses: map[string]*huma.Response{
			"200": {Description: "The metrics", Content: map[string]*huma.MediaType{"text/plain": {}}},
		},
	})
	d.API.OpenAPI().AddOperation(&o)
	d.Router.GET("/metrics", gin.WrapH(promhttp.HandlerFor(d.Metrics, promhttp.HandlerOpts{})))
}

// Switches of huma's, for the whole process. Empty lists in answers are [], never null. Names in bodies are read in
// their own case only: encoding/json reads them in any, so that "LIMIT" beside "limit" would not be checked.
func init() { huma.DefaultArrayNullable, huma.ValidateStrictCasing = false, true }

// uuidSchema stands for uuid.UUID in the OpenAPI document.
type uuidSchema struct{}

// Schema implements huma.SchemaProvider.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// roleSchema stands for access.Role in the OpenAPI document.
type roleSchema struct{}

// Schema implements huma.SchemaProvider.
func (roleSchema) Schema(huma.Registry) *huma.Schema { return EnumOf(access.Roles) }

// recovered answers 500 for a handler that panicked, and logs the panic with its stack.
func recovered(log *slog.Logger) gin.HandlerFunc {
	return gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, cause any) {
		log.ErrorContext(c, "handler panicked", "path", c.FullPath(), "panic", cause, "stack", string(debug.Stack()))
		c.Abort()
		Answer(c, huma.Error500InternalServerError("internal error; the log of the API has the details"))
	})
}
