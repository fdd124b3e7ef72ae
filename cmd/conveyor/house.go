package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/outdir"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The concrete stores are what the activities ask for.
var (
	_ activities.ListingStore = (*db.Listings)(nil)
	_ activities.ImageStore   = (*db.Listings)(nil)
	_ activities.ReplayStore  = (*db.Replays)(nil)
	_ activities.StaleStore   = (*db.Listings)(nil)
	_ activities.ScrapeStore  = (*db.Platforms)(nil)
	_ activities.DraftStore   = (*db.Drafts)(nil)
	_ activities.DraftBrowser = (*browser.Devtools)(nil)
	_ activities.DraftBlobs   = (*blob.Store)(nil)
	_ activities.DraftFolders = outdir.Root{}
	_ activities.Starter      = (*launch.Launch)(nil)
	_ activities.ImageBlobs   = (*blob.Store)(nil)
	_ activities.ImageSource  = (*fetch.Client)(nil)
	_ activities.PageSource   = (*fetch.Client)(nil)
	_ activities.PageSource   = (*browser.Browser)(nil)
	_ activities.RobotsSource = (*fetch.Robots)(nil)
)

// house is what the roles share, opened once a process. Opening asks nobody anything, but for the blob store: what is
// away is waited for by the role that needs it.
type house struct {
	config    config.Config
	namespace string
	log       *slog.Logger
	traces    trace.TracerProvider // nil while tracing is off
	flush     func()               // sends the last spans
	registry  *prometheus.Registry
	pool      *pgxpool.Pool
	temporal  client.Client
	redis     *redis.Client
	blobs     *blob.Store
	launch    *launch.Launch
}

// temporalOptions reads Temporal's own variables and profile file. The namespace is conveyor unless they say another.
func temporalOptions() (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return o, fmt.Errorf("read temporal's settings: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = "conveyor"
	}
	return o, nil
}

func openHouse(ctx context.Context, c config.Config) (h *house, err error) {
	if _, said := os.LookupEnv("GOGC"); !said {
		debug.SetGCPercent(400) // a listing costs less, for some 100 MB; GOGC and GOMEMLIMIT say otherwise
	}
	h = &house{
		config: c, log: telemetry.Logger(os.Stderr, c.Telemetry.Level, c.Telemetry.Format), registry: telemetry.Registry(),
	}
	if h.traces, h.flush, err = telemetry.Tracing(ctx, version(), roleOf(ctx), h.log); err != nil {
		return h, err
	}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	o, err := temporalOptions()
	if err != nil {
		return h, err
	}
	var opened []db.Option
	if h.traces != nil { // what traces costs nothing while tracing is off: it is not there
		h.log = telemetry.WithTraceIDs(h.log)
		opened = append(opened, db.Traced(h.traces))
		tracing, err := telemetry.TemporalTraces(h.traces)
		if err != nil {
			return h, err
		}
		o.Interceptors = append(o.Interceptors, tracing) // the workers take it from the client
	}
	if h.pool, err = db.Open(ctx, c.Postgres.URL, c.Postgres.MaxConns, opened...); err != nil {
		return h, err
	}
	h.namespace = o.Namespace
	o.Logger = sdklog.NewStructuredLogger(h.log)
	if o.MetricsHandler, err = telemetry.Temporal(h.registry, h.log); err != nil {
		return h, err
	}
	if h.temporal, err = client.NewLazyClient(o); err != nil {
		return h, fmt.Errorf("read temporal's settings: %w", err)
	}
	r, err := redis.ParseURL(c.Redis.URL)
	if err != nil {
		return h, fmt.Errorf("read REDIS_URL: %w", err)
	}
	// The limiter has its own answer to a Redis that is away, and its metric says so.
	r.MaxRetries, r.DialerRetries = -1, 1
	redis.SetLogger(quietly{h.log})
	h.redis = redis.NewClient(r)
	if h.blobs, err = blob.Open(ctx, c.Images.BlobURL); err != nil {
		return h, err
	}
	h.launch = &launch.Launch{Temporal: h.temporal, Stages: c.Listings.Stages}
	return h, nil
}

// quietly takes the lines that go-redis would write to standard error by itself.
type quietly struct{ log *slog.Logger }

func (q quietly) Printf(ctx context.Context, format string, args ...any) {
	q.log.DebugContext(ctx, fmt.Sprintf(format, args...))
}

type roleKey struct{}

// withRole says what this process is, for its traces: the command that was typed.
func withRole(ctx context.Context, command string) context.Context {
	role, _, _ := strings.Cut(command, " ")
	return context.WithValue(ctx, roleKey{}, role)
}

func roleOf(ctx context.Context) string {
	role, _ := ctx.Value(roleKey{}).(string)
	return role
}

// close releases everything, last opened first. The roles have ended by then.
func (h *house) close() {
	if h.blobs != nil {
		_ = h.blobs.Close()
	}
	if h.redis != nil {
		_ = h.redis.Close()
	}
	if h.temporal != nil {
		h.temporal.Close()
	}
	if h.pool != nil {
		h.pool.Close()
	}
	if h.flush != nil {
		h.flush()
	}
}

// migrate brings the schema up to date.
func (h *house) migrate(ctx context.Context) error { return db.Migrate(ctx, h.pool) }

// bootstrap creates what must exist in Temporal.
func (h *house) bootstrap(ctx context.Context) error {
	b := launch.Bootstrap{
		Namespace: h.namespace, Retention: h.config.Temporal.Retention, ImageInterval: h.config.Images.Interval,
		StaleEvery: h.config.Listings.StaleEvery,
	}
	if err := b.Apply(ctx, h.temporal); err != nil {
		return err
	}
	return h.scrapers(ctx)
}

// scrapers writes down how each platform is scraped and starts the scrapers of those that are wanted. The others are
// started when an operator enables them.
func (h *house) scrapers(ctx context.Context) error {
	for _, p := range h.config.Scrape.Platforms {
		name, _, _ := strings.Cut(strings.TrimSpace(p), "=")
		if _, ok := platform.ByName(name); !ok {
			return fmt.Errorf("CONVEYOR_SCRAPE: there is no platform %q; known are %s", name, strings.Join(platform.Names(), ", "))
		}
	}
	store := db.NewPlatforms(h.pool)
	for _, site := range platform.All {
		name := site.Name()
		settings := h.config.Scrape.Of(name, site.Site())
		if _, err := site.SearchRequest(settings.URL, 1); err != nil {
			return fmt.Errorf("CONVEYOR_SCRAPE: %s: %w", name, err)
		}
		if err := store.Configure(ctx, name, settings, time.Now()); err != nil {
			return err
		}
		p, err := store.Get(ctx, name, time.Now())
		if err != nil {
			return err
		}
		if !p.Settings.Enabled {
			continue
		}
		if err := h.launch.Scraper(ctx, name, settings.URL); err != nil {
			return err
		}
	}
	return nil
}

// bridge carries messages until ctx ends.
func (h *house) bridge(ctx context.Context) error {
	b := &bridge.Bridge{
		Options:  h.bridgeOptions(),
		Listings: db.NewListings(h.pool), DeadLetters: db.NewDeadLetters(h.pool), Outbox: db.NewOutbox(h.pool),
		Launch: h.launch, Metrics: bridge.NewMetrics(h.registry), Log: h.log, Now: time.Now,
	}
	return b.Run(ctx)
}

func (h *house) bridgeOptions() bridge.Options {
	return bridge.Options{
		URL: h.config.RabbitMQ.URL, Stages: h.config.Listings.Stages, Platforms: platform.Names(),
		QueueType: h.config.RabbitMQ.QueueType, Declare: h.config.RabbitMQ.Declare, Prefetch: h.config.RabbitMQ.Prefetch,
		DraftRequests: bridge.DraftRequests{
			Ours: h.config.DraftRequests.Ours, Exchange: h.config.DraftRequests.Exchange, Queue: h.config.DraftRequests.Queue,
			RoutingKey: h.config.DraftRequests.RoutingKey, Prefetch: h.config.DraftRequests.Prefetch,
		},
		Hold: h.config.RabbitMQ.Hold, ArchiveDeadLetters: h.config.Listings.ArchiveDeadLetters,
		Relays: h.config.Outbox.Relays, Retention: h.config.Outbox.Retention, Version: version(), Traces: h.traces,
	}
}

// worker runs workflows and activities until ctx ends, and lets running ones finish.
func (h *house) worker(ctx context.Context) error {
	store := db.NewListings(h.pool)
	hosts := limit.New(h.redis, limit.Options{
		Name: imageLimiter, Interval: h.config.Images.Interval, MaxWait: workflows.ImageTimeout / 4, Registerer: h.registry,
	})
	source := fetch.New(fetch.Options{AllowPrivate: h.config.Images.AllowPrivate, Turn: hosts.Wait, Traces: h.traces})
	defer source.Close()
	plain := plainClient(h.config, h.traces)
	defer plain.Close()
	chromium := chromium(h.config, h.log, h.registry)
	defer chromium.Close()
	if slices.Contains(h.config.Worker.Queues, workflows.QueueBrowser) {
		if err := chromium.Check(); err != nil {
			h.log.WarnContext(ctx, "sites that need a browser cannot be scraped here", "err", err)
		}
	}
	devtools := devtools(h.config, h.log, h.registry)
	defer devtools.Close()
	acts := workers.Activities{
		Listings: &activities.Listings{Store: store, WithoutImages: !h.config.Images.Fetch, Now: time.Now},
		Images:   &activities.Images{Store: store, Source: source, Blobs: h.blobs, Now: time.Now},
		Replays:  &activities.Replays{Store: db.NewReplays(h.pool), Start: h.launch, Now: time.Now},
		Staleness: &activities.Staleness{
			Store: store, Start: h.launch, After: h.config.Listings.StaleAfter, Now: time.Now,
		},
		Scrapers: &activities.Scrapers{
			Store:  db.NewPlatforms(h.pool),
			Pages:  map[scrape.Transport]activities.PageSource{scrape.HTTP: plain, scrape.Browser: chromium},
			Robots: fetch.NewRobots(plain), Now: time.Now, Dice: rand.Float64, Cycled: chromium.CycleDone,
		},
		Drafts: &activities.Drafts{
			Browser: devtools, Folders: outdir.New(h.config.Drafts.OutRoot), Blobs: h.blobs, Store: db.NewDrafts(h.pool),
			Now: time.Now,
		},
	}
	fatal := make(chan error, 1)
	queues := h.config.Worker.Queues
	if h.config.Drafts.DevtoolsURL == "" && slices.Contains(queues, workflows.QueueDrafts) {
		queues = slices.DeleteFunc(slices.Clone(queues), func(q string) bool { return q == workflows.QueueDrafts })
		h.log.InfoContext(ctx, "crawl requests are not worked on here: CHROME_DEVTOOLS_URL is not set")
	}
	options := workers.Options{
		Queues: queues, StoreSlots: h.config.Worker.StoreSlots, ImageSlots: h.config.Worker.ImageSlots,
		ScrapeSlots: h.config.Worker.Scrapes, DraftSlots: h.config.Drafts.Pages, StopGrace: h.config.Worker.StopGrace,
		Fatal: func(err error) {
			select {
			case fatal <- err:
			default: // one is enough
			}
		},
	}
	running, err := h.startWorkers(ctx, func() []worker.Worker { return workers.New(h.temporal, acts, options) })
	if err != nil {
		return nil // ctx ended before Temporal came
	}
	defer func() {
		for _, w := range running {
			w.Stop()
		}
	}()
	select {
	case err := <-fatal:
		return fmt.Errorf("worker gave up: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// startWorkers starts all workers, waiting for a Temporal that is away. A worker remembers how its start went, so each
// try is made with new ones.
func (h *house) startWorkers(ctx context.Context, build func() []worker.Worker) ([]worker.Worker, error) {
	for {
		list, err := build(), error(nil)
		for i, w := range list {
			if err = w.Start(); err != nil {
				for _, started := range list[:i] {
					started.Stop()
				}
				break
			}
		}
		if err == nil {
			return list, nil
		}
		h.log.WarnContext(ctx, "workers wait for temporal", "err", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// api answers HTTP requests until ctx ends, and those under way.
func (h *house) api(ctx context.Context) error {
	guard, err := h.guard()
	if err != nil {
		return err
	}
	inspector, err := bridge.NewInspector(h.bridgeOptions(), h.config.RabbitMQ.ManagementURL)
	if err != nil {
		return err
	}
	defer inspector.Close()
	waiting := h.backlog(inspector)
	h.registry.MustRegister(waiting)
	handler := api.New(api.Options{
		Listings: db.NewListings(h.pool), Letters: db.NewDeadLetters(h.pool), Replays: db.NewReplays(h.pool),
		Platforms: db.NewPlatforms(h.pool), Drafts: db.NewDrafts(h.pool), DraftRequests: api.DraftRequests{
			Target: db.Target{Exchange: h.config.DraftRequests.Exchange, RoutingKey: h.config.DraftRequests.RoutingKey},
			Queue:  h.config.DraftRequests.Queue, Ours: h.config.DraftRequests.Ours,
		},
		Audit: db.NewAuditLog(h.pool), Launch: h.launch, Blobs: h.blobs, Metrics: h.registry, Registerer: h.registry,
		Log: h.log, TemporalUI: h.config.Temporal.UIURL, Namespace: h.namespace, Version: version(), URL: h.config.API.URL,
		Checks: h.checks(), Backlog: waiting.Read, Keys: db.NewKeys(h.pool), Guard: guard, Proxies: h.config.API.Proxies,
		Traces: h.traces, Now: time.Now,
	})
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return h.serveAPI(ctx, guard, handler) })
	both.Go(func() error { h.tellWhatIsAway(ctx); return nil })
	return both.Wait()
}

// imageLimiter names the pace of image downloads, in Redis and in metrics.
const imageLimiter = "images"

// mostHosts is how many of the hosts that are held back are told of.
const mostHosts = 50

// backlog reads what waits in every service.
func (h *house) backlog(inspector *bridge.Inspector) *telemetry.Backlog {
	return &telemetry.Backlog{
		Outbox: func(ctx context.Context) (backlog.Outbox, error) {
			return db.NewOutbox(h.pool).Waiting(ctx, time.Now())
		},
		DeadLetters: db.NewDeadLetters(h.pool).OpenByQueue, Queues: inspector.Queues, Rates: inspector.Rates,
		TaskQueues: func(ctx context.Context) ([]backlog.TaskQueue, error) {
			return h.launch.TaskQueues(ctx, h.namespace, time.Now())
		},
		Limits: func(ctx context.Context) ([]backlog.Host, error) {
			return limit.Waits(ctx, h.redis, imageLimiter, mostHosts, time.Now())
		},
		Platforms: h.platforms, Log: h.log, Now: time.Now,
	}
}

// checks ask each service that we depend on whether it is there.
func (h *house) checks() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"postgres": h.pool.Ping,
		"temporal": h.launch.Healthy,
		"redis":    func(ctx context.Context) error { return h.redis.Ping(ctx).Err() },
		"rabbitmq": func(ctx context.Context) error { return bridge.Ping(ctx, h.config.RabbitMQ.URL) },
	}
}

// tellWhatIsAway logs once, at the start, what /ready would say.
func (h *house) tellWhatIsAway(ctx context.Context) {
	for name, check := range h.checks() {
		asking, done := context.WithTimeout(ctx, 2*time.Second)
		if err := check(asking); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "started without it; what needs it answers 503 until it is there", "away", name)
		}
		done()
	}
}
