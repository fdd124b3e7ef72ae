package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/pressure"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workflows"
)

// holdRefused is how long after its request a caller that asks too often is told so. It is told to wait a second, at
// least.
const holdRefused = time.Second / 2

type apiCmd struct{}

func (apiCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.measured(ctx, h.api) })
}

// api serves HTTP requests until ctx ends, and finishes those under way.
func (h *house) api(ctx context.Context) error {
	guard, err := h.guard(ctx)
	if err != nil {
		return err
	}
	inspector, err := bridge.NewInspector(h.bridgeOptions(), h.config.RabbitMQ.ManagementURLs()...)
	if err != nil {
		return err
	}
	defer inspector.Close()
	waiting := h.backlog(inspector)
	h.registry.MustRegister(waiting)
	h.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conveyor_files_free_bytes", Help: "Bytes that are free where files are stored, or of the disk of Postgres where these are fewer; +Inf of a bucket, NaN of a folder that is away.",
	}, func() float64 {
		free, err := h.blobs.Free(ctx)
		if err != nil || h.blobs.Mounted() != nil {
			return math.NaN()
		}
		return bytesFree(free)
	}))
	h.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conveyor_files_reserve_bytes",
		Help: "Bytes that have to be free where files are stored for uploads to be accepted, and for pictures and bodies to be stored.",
	}, func() float64 { return float64(h.config.Outreach.UploadReserve) }))
	if h.disk != nil {
		h.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "conveyor_db_free_bytes", Help: "Bytes of CONVEYOR_DB_DISK_BYTES that Postgres does not take; +Inf before it has answered.",
		}, func() float64 { return bytesFree(h.disk.Free(ctx)) }))
	}
	handler := api.New(api.Options{
		Metrics: h.registry, Registerer: h.registry, Log: h.log, Guard: guard, Hosts: h.config.API.Hosts,
		Tenants:    db.NewTenants(h.pool),
		Conns:      int(h.config.Postgres.MaxConns),
		Short:      pressure.NewCPU(time.Now).Short,
		Hold:       holdRefused,
		Open:       h.config.API.Open,
		Proxies:    h.config.API.Proxies,
		TemporalUI: h.config.Temporal.UIURL, Namespace: h.namespace, Version: version(), URL: h.config.API.URL,
		Tiles: h.config.Console.Tiles, Traces: h.traces, Now: time.Now, Stopping: ctx.Done(),
	}, h.parts(waiting)...)
	both, ctx := errgroup.WithContext(ctx)
	serving, served := context.WithCancel(context.WithoutCancel(ctx))
	both.Go(func() error {
		defer served()
		return h.serveAPI(ctx, guard, handler)
	})
	both.Go(func() error { guard.Run(serving); return nil }) // what the last requests read is counted, too
	both.Go(func() error { h.sample(ctx, waiting); return nil })
	both.Go(func() error { h.warnOfDependencies(ctx); return nil })
	return both.Wait()
}

// parts are the endpoints of operations, and those of each system.
func (h *house) parts(waiting *telemetry.Backlog) []api.Part {
	reopeners := db.Reopeners{}
	parts := []api.Part{
		api.DeadLetters{Store: db.NewDeadLetters(h.pool, reopeners)}, api.Queues{Read: waiting.Read},
		api.Health{Checks: h.checks(), Unpolled: h.unpolled},
		api.Keys{Store: db.NewKeys(h.pool)}, api.AuditLog{Store: db.NewAuditLog(h.pool)},
		h.sessions(), api.Events{Store: db.NewMarks(h.pool), Report: waiting.Read},
		api.QueueHistory{Store: db.NewSamples(h.pool)}, api.Licences{},
		api.Find{Store: db.NewFinder(h.pool, dblistings.NewListings(h.pool).FindWords)},
	}
	flow := api.Flow{
		Store: db.NewFlow(h.pool), Report: waiting.Read, Drafting: h.launch.Drafting, Queue: h.config.DraftRequests.Queue,
		Tasks: workflows.QueueDrafts, Keep: 3 * time.Second,
	}
	for _, s := range h.systems() {
		parts = append(parts, s.parts...)
		maps.Copy(reopeners, s.reopeners)
		if s.searchable != nil {
			flow.Searchable = s.searchable
		}
	}
	return append(parts, flow)
}

// sessions are the logins of browsers.
func (h *house) sessions() api.Sessions {
	c := h.config.Console
	s := api.Sessions{TimeZone: c.TimeZone, Links: api.SessionLinks{
		Temporal: h.config.Temporal.UIURL, RabbitMQ: withoutUser(h.config.RabbitMQ.ManagementURLs()[0]), Grafana: c.Grafana,
		Docs: "/docs",
	}}
	if c.Tiles != "" {
		s.Map = &api.SessionMap{Tiles: c.Tiles, Attribution: c.Attribution}
	}
	return s
}

// backlog reads the backlog of every service, and of each system.
func (h *house) backlog(inspector *bridge.Inspector) *telemetry.Backlog {
	b := &telemetry.Backlog{
		Postgres: h.pool.Ping,
		Files:    h.blobs.Reachable,
		Commits:  func(ctx context.Context) (backlog.Commits, error) { return db.Commits(ctx, h.pool) },
		Outbox: func(ctx context.Context) (backlog.Outbox, error) {
			return db.NewOutbox(h.pool).Waiting(ctx, time.Now())
		},
		DeadLetters: db.NewDeadLetters(h.pool, nil).OpenByQueue, Queues: inspector.Queues, Rates: inspector.Rates,
		TaskQueues: h.taskQueues,
		Log:        h.log, Now: time.Now,
	}
	if h.config.Temporal.Deployment != "" {
		b.Builds = func(ctx context.Context) ([]backlog.Build, error) { return h.deployment().Draining(ctx, time.Now()) }
	}
	for _, s := range h.systems() {
		if s.backlog != nil {
			s.backlog(b)
		}
	}
	return b
}

// taskQueues are those of Temporal, with the ones marked that CONVEYOR_UNUSED_TASK_QUEUES names, too.
func (h *house) taskQueues(ctx context.Context) ([]backlog.TaskQueue, error) {
	list, err := h.launch.TaskQueues(ctx, h.namespace, time.Now())
	for i := range list {
		list[i].Unused = list[i].Unused || slices.Contains(h.config.Worker.Unused, list[i].Name)
	}
	return list, err
}

// unpolled are the task queues in use that no worker polls.
func (h *house) unpolled(ctx context.Context) ([]string, error) {
	list, err := h.taskQueues(ctx)
	if err != nil {
		return nil, err
	}
	return backlog.Unpolled(list), nil
}

// checks test the connection to each dependency, by its name in GET /ready.
func (h *house) checks() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"postgres": func(ctx context.Context) error { return db.Answers(ctx, h.doorPool) },
		"temporal": h.launch.Healthy,
		"files":    h.roomForFiles,
		"redis":    func(ctx context.Context) error { return h.redis.Ping(ctx).Err() },
		"rabbitmq": func(ctx context.Context) error { return bridge.Ping(ctx, h.config.RabbitMQ.URLs()...) },
	}
}

// bytesFree is a number of bytes for a metric, the greatest of which is no end.
func bytesFree(n int64) float64 {
	if n == math.MaxInt64 {
		return math.Inf(1)
	}
	return float64(n)
}

// roomForFiles is backlog.ErrStuck while less than the reserve is free where files are stored, or of the disk of
// Postgres, and another error while they are away.
func (h *house) roomForFiles(ctx context.Context) error {
	if err := h.blobs.Reachable(ctx); err != nil {
		return err
	}
	free, err := h.blobs.Free(ctx)
	if err == nil && free < h.config.Outreach.UploadReserve {
		err = fmt.Errorf("%w: %d bytes are free", backlog.ErrStuck, free)
	}
	return err
}

// warnOfDependencies logs once, at startup, the dependencies that GET /ready would report.
func (h *house) warnOfDependencies(ctx context.Context) {
	for name, check := range h.checks() {
		checking, done := context.WithTimeout(ctx, 2*time.Second)
		if err := check(checking); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "dependency is down at startup", "dependency", name)
		}
		done()
	}
}
