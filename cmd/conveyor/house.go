package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// house holds the connections and tools that the roles share, opened once a process. Opening connects to the blob
// store only: a role that needs another dependency waits for it.
type house struct {
	config    config.Config
	namespace string
	log       *slog.Logger
	traces    trace.TracerProvider // nil while tracing is off
	registry  *prometheus.Registry
	panics    *prometheus.CounterVec // of tenders
	outage    *fetch.Outage          // of the network that sites are reached by
	pool      *pgxpool.Pool
	disk      *db.Disk      // of Postgres; nil = it is not watched
	doorPool  *pgxpool.Pool // for the keys of callers and GET /ready: requests that hold all of pool lock nobody out
	temporal  client.Client
	redis     redis.UniversalClient
	blobs     *blob.Store
	launch    *launch.Launch
	box       *secret.Box // of stored secrets
	wakes     *apioutreach.Wakes
	index     *dbsearch.SearchIndex // of pages
	optOuts   *dboutreach.OptOutKey
	browser   sync.Once
	browsing  *browser.Browser // nil until chromium was called
	closers   []func()         // of what is open, in the order in which it was opened
}

// doorConns is how many connections the pool of the door has; it opens them when they are needed.
const doorConns = 8

func openHouse(ctx context.Context, c config.Config) (h *house, err error) {
	paceCollector()
	boundMemory(roleOf(ctx))
	if c.Temporal.Deployment != "" && c.Temporal.BuildID == "" {
		if c.Temporal.BuildID, err = buildID(); err != nil {
			return &house{}, err
		}
	}
	h = &house{
		config: c, log: telemetry.Logger(os.Stderr, c.Telemetry.Level, c.Telemetry.Format), registry: telemetry.Registry(),
	}
	h.panics = telemetry.NewPanics(h.registry)
	h.outage = fetch.NewOutage(time.Now)
	telemetry.WatchNetwork(h.registry, h.outage.Active)
	var flush func()
	if h.traces, flush, err = telemetry.Tracing(ctx, version(), roleOf(ctx), h.log); err != nil {
		return h, err
	}
	h.opened(flush)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	o, err := temporalOptions()
	if err != nil {
		return h, err
	}
	if h.traces != nil { // while tracing is off, no tracing code is installed
		h.log = telemetry.WithTraceIDs(h.log)
		tracing, err := telemetry.TemporalTraces(h.traces)
		if err != nil {
			return h, err
		}
		o.Interceptors = append(o.Interceptors, tracing) // workers inherit interceptors from the client
	}
	if err := h.openPools(ctx); err != nil {
		return h, err
	}
	h.index = dbsearch.NewSearchIndex(h.pool)
	h.opened(h.index.Close)
	if h.box, err = c.Outreach.Box(); err != nil {
		return h, err
	}
	h.optOuts = dboutreach.NewOptOutKey(h.pool, func(s db.Sealed) ([]byte, error) {
		return h.box.Open(contact.OptOutPurpose, s.Key, s.Box)
	})
	h.namespace = o.Namespace
	o.Logger = sdklog.NewStructuredLogger(h.log)
	if o.MetricsHandler, err = telemetry.Temporal(h.registry, h.log); err != nil {
		return h, err
	}
	if h.temporal, err = client.NewLazyClient(o); err != nil {
		return h, fmt.Errorf("read settings of temporal: %w", err)
	}
	h.opened(h.temporal.Close)
	redis.SetLogger(quietly{h.log})
	h.redis, err = limit.Dial(limit.Server{URL: c.Redis.URL, CA: c.Redis.CA, Cert: c.Redis.Cert, Key: c.Redis.Key})
	if err != nil {
		return h, err
	}
	h.opened(func() { _ = h.redis.Close() })
	if h.blobs, err = blob.Open(ctx, c.Images.BlobURL); err != nil {
		return h, err
	}
	h.opened(func() { _ = h.blobs.Close() })
	h.blobs.SpareWith(db.NewRetention(h.pool).SpareBlob)
	h.blobs.KeepFree(c.Outreach.UploadReserve)
	if c.Postgres.Disk > 0 {
		h.disk = db.NewDisk(h.pool, c.Postgres.Disk, time.Now)
		h.blobs.Beside(h.disk.Free)
	}
	h.launch = &launch.Launch{
		Temporal: h.temporal, Namespace: h.namespace, Stages: c.Listings.Stages, Enrich: c.Listings.Enrich,
		Versioned: c.Temporal.Deployment != "",
	}
	h.wakes = apioutreach.NewWakes(h.launch, apioutreach.WakeEvery, h.log)
	h.opened(h.wakes.Close)
	return h, nil
}

// openPools opens the pools of connections to Postgres.
func (h *house) openPools(ctx context.Context) (err error) {
	var o []db.Option
	if h.traces != nil {
		o = append(o, db.Traced(h.traces))
	}
	c := h.config.Postgres
	if c.ListenURL != "" {
		o = append(o, db.Pooled)
	}
	if h.pool, err = db.Open(ctx, c.URL, c.MaxConns, o...); err != nil {
		return err
	}
	h.opened(h.pool.Close)
	if h.doorPool, err = db.Open(ctx, c.URL, doorConns, o...); err != nil {
		return err
	}
	h.opened(h.doorPool.Close)
	return nil
}

// quietly logs, at debug level, the lines that go-redis would write to standard error.
type quietly struct{ log *slog.Logger }

func (q quietly) Printf(ctx context.Context, format string, args ...any) {
	q.log.DebugContext(ctx, fmt.Sprintf(format, args...))
}

type roleKey struct{}

// withRole puts the name of the role into ctx, for traces: the first word of the command.
func withRole(ctx context.Context, command string) context.Context {
	role, _, _ := strings.Cut(command, " ")
	return context.WithValue(ctx, roleKey{}, role)
}

func roleOf(ctx context.Context) string {
	role, _ := ctx.Value(roleKey{}).(string)
	return role
}

// chromium is the browser of this process, one for all its systems. It starts with the first page that needs it.
func (h *house) chromium() *browser.Browser {
	h.browser.Do(func() {
		h.browsing = newBrowser(h.config, h.log, h.registry)
		h.opened(h.browsing.Close)
	})
	return h.browsing
}

// opened notes how what was opened is closed.
func (h *house) opened(closer func()) { h.closers = append(h.closers, closer) }

// close releases everything, last opened first, after the roles have ended.
func (h *house) close() {
	for _, closer := range slices.Backward(h.closers) {
		closer()
	}
}

// with opens the house for f, and closes it afterwards.
func with(ctx context.Context, f func(context.Context, *house) error) error {
	c, err := settings()
	if err != nil {
		return err
	}
	h, err := openHouse(ctx, c)
	if err != nil {
		return err
	}
	defer h.close()
	if names := config.Strangers(os.Environ()); len(names) > 0 {
		h.log.WarnContext(ctx, "variables are set that are no settings: they do nothing", "variables", names)
	}
	return f(ctx, h)
}
