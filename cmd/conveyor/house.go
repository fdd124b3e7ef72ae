package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The concrete stores are what the activities ask for.
var (
	_ activities.ListingStore = (*db.Listings)(nil)
	_ activities.ImageStore   = (*db.Listings)(nil)
	_ activities.ImageBlobs   = pictures{}
	_ activities.ImageSource  = photos{}
)

// house is what the roles share, opened once a process. Opening asks nobody anything, but for the blob store: what is
// away is waited for by the role that needs it.
type house struct {
	config    config.Config
	namespace string
	log       *slog.Logger
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
	h = &house{
		config: c, log: telemetry.Logger(os.Stderr, c.Telemetry.Level, c.Telemetry.Format), registry: telemetry.Registry(),
	}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.pool, err = db.Open(ctx, c.Postgres.URL, c.Postgres.MaxConns); err != nil {
		return h, err
	}
	o, err := temporalOptions()
	if err != nil {
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
}

// migrate brings the schema up to date.
func (h *house) migrate(ctx context.Context) error { return db.Migrate(ctx, h.pool) }

// bootstrap creates what must exist in Temporal.
func (h *house) bootstrap(ctx context.Context) error {
	b := launch.Bootstrap{
		Namespace: h.namespace, Retention: h.config.Temporal.Retention, ImageInterval: h.config.Images.Interval,
	}
	return b.Apply(ctx, h.temporal)
}

// bridge carries messages until ctx ends.
func (h *house) bridge(ctx context.Context) error {
	var names []string
	for _, p := range platform.All {
		names = append(names, p.Name())
	}
	b := &bridge.Bridge{
		Options: bridge.Options{
			URL: h.config.RabbitMQ.URL, Stages: h.config.Listings.Stages, Platforms: names,
			QueueType: h.config.RabbitMQ.QueueType, Declare: h.config.RabbitMQ.Declare, Prefetch: h.config.RabbitMQ.Prefetch,
			ArchiveDeadLetters: h.config.Listings.ArchiveDeadLetters, Relays: h.config.Outbox.Relays,
			Retention: h.config.Outbox.Retention, Version: version(),
		},
		Listings: db.NewListings(h.pool), DeadLetters: db.NewDeadLetters(h.pool), Outbox: db.NewOutbox(h.pool),
		Launch: h.launch, Metrics: bridge.NewMetrics(h.registry), Log: h.log, Now: time.Now,
	}
	return b.Run(ctx)
}

// worker runs workflows and activities until ctx ends, and lets running ones finish.
func (h *house) worker(ctx context.Context) error {
	store := db.NewListings(h.pool)
	hosts := limit.New(h.redis, limit.Options{
		Name: "images", Interval: h.config.Images.Interval, MaxWait: workflows.ImageTimeout / 4, Registerer: h.registry,
	})
	source := fetch.New(fetch.Options{AllowPrivate: h.config.Images.AllowPrivate, Turn: hosts.Wait})
	defer source.Close()
	acts := workers.Activities{
		Listings: &activities.Listings{Store: store, Now: time.Now},
		Images:   &activities.Images{Store: store, Source: photos{source}, Blobs: pictures{h.blobs}, Now: time.Now},
	}
	fatal := make(chan error, 1)
	options := workers.Options{
		StoreSlots: h.config.Worker.StoreSlots, ImageSlots: h.config.Worker.ImageSlots, StopGrace: h.config.Worker.StopGrace,
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
	handler := api.New(api.Options{
		Listings: db.NewListings(h.pool), Letters: db.NewDeadLetters(h.pool), Launch: h.launch, Blobs: h.blobs,
		Metrics: h.registry, Log: h.log, TemporalUI: h.config.Temporal.UIURL, Namespace: h.namespace, Version: version(),
		URL: h.config.API.URL, Checks: h.checks(), Now: time.Now,
	})
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return serve(ctx, h.log, "api", h.config.API.Address, handler) })
	both.Go(func() error { h.tellWhatIsAway(ctx); return nil })
	return both.Wait()
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
