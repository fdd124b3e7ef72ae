package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/contract"
)

// A system is a Conveyor to be measured: its own database, vhost and namespace on the services of the environment.
type system struct {
	binary   string
	env      []string
	db       *pgxpool.Pool
	broker   *amqp.Connection
	temporal client.Client
	name     string // of its database, vhost and namespace
	api      string // where its API answers
	roles    []*exec.Cmd
	demo     *demo
	undo     []func()
}

func open(ctx context.Context, binary string, oneProcess bool) (h *system, err error) {
	for _, v := range []string{"DATABASE_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL", "TEMPORAL_ADDRESS"} {
		if os.Getenv(v) == "" {
			return nil, fmt.Errorf("%s is not set; run: make bench", v)
		}
	}
	name := "bench_" + uuid.NewString()[:8]
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	h = &system{binary: binary, name: name, api: fmt.Sprintf("http://127.0.0.1:%d", ports[0])}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	// All of it as the owner of the database: what is measured does not depend on the role.
	owner := cmp.Or(os.Getenv("DATABASE_MIGRATE_URL"), os.Getenv("DATABASE_URL"))
	admin, err := pgx.Connect(ctx, owner)
	if err != nil {
		return h, fmt.Errorf("connect: %w", err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return h, fmt.Errorf("make database: %w", err)
	}
	database, err := url.Parse(owner)
	if err != nil {
		return h, err
	}
	database.Path = "/" + name
	if err := vhost(ctx, http.MethodPut, name); err != nil {
		return h, err
	}
	h.undo = append(h.undo, func() { _ = vhost(context.WithoutCancel(ctx), http.MethodDelete, name) })
	broker, err := url.Parse(os.Getenv("RABBITMQ_URL"))
	if err != nil {
		return h, err
	}
	broker.Path = "/" + name
	if h.demo, err = startDemo(); err != nil {
		return h, err
	}
	h.undo = append(h.undo, func() { _ = h.demo.server.Close() })
	h.env = h.environment(database.String(), broker.String(), ports)
	for _, command := range []string{"migrate", "bootstrap"} {
		cmd := exec.CommandContext(ctx, binary, command)
		cmd.Env, cmd.Stderr = h.env, os.Stderr
		if err := cmd.Run(); err != nil {
			return h, fmt.Errorf("conveyor %s: %w", command, err)
		}
	}
	if h.db, err = pgxpool.New(ctx, database.String()); err != nil {
		return h, err
	}
	if h.broker, err = amqp.Dial(broker.String()); err != nil {
		return h, fmt.Errorf("dial: %w", err)
	}
	h.temporal, err = client.NewLazyClient(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: name})
	if err != nil {
		return h, err
	}
	roles := []string{"worker", "bridge", "api"}
	if oneProcess {
		roles = []string{"up"}
		home, err := os.MkdirTemp("", "conveyor-bench-")
		if err != nil {
			return h, err
		}
		h.undo = append(h.undo, func() { _ = os.RemoveAll(home) })
		h.env = append(h.env, "CONVEYOR_HOME="+home)
	}
	for _, role := range roles {
		if err := h.start(binary, role); err != nil {
			return h, err
		}
	}
	return h, h.ready(ctx, contract.QueueScraped("kijiji"))
}

// environment is that of its processes; the API and the demo have a port each.
func (h *system) environment(database, broker string, ports []int) []string {
	return append(os.Environ(), "DATABASE_URL="+database, "DATABASE_MIGRATE_URL=",
		"RABBITMQ_URL="+broker,
		"TEMPORAL_NAMESPACE="+h.name, "CONVEYOR_LOG_LEVEL=error", "CONVEYOR_IMAGES=false",
		"CONVEYOR_STALENESS_EVERY=87600h", // the adverts are old
		fmt.Sprintf("CONVEYOR_API_ADDRESS=127.0.0.1:%d", ports[0]), "CONVEYOR_API_RATE=0", "CONVEYOR_API_WRITE_RATE=0",
		fmt.Sprintf("CONVEYOR_API_PORT=%d", ports[0]),
		fmt.Sprintf("CONVEYOR_DEMO_PORT=%d", ports[1]),
		"CONVEYOR_SCRAPE=", "CONVEYOR_SCRAPE_DELAY=0s", "CONVEYOR_SCRAPE_COOLDOWN=0s",
		"CONVEYOR_DEMO=true", "CONVEYOR_ALLOW_PRIVATE_HOSTS="+h.demo.server.Addr)
}

// freePorts returns n ports that are free.
func freePorts(n int) ([]int, error) {
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()                                 // not before all are found
		out = append(out, l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // of a TCP listener
	}
	return out, nil
}

// start starts a process that ends with ours.
func (h *system) start(binary string, args ...string) error {
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Stderr = h.env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s %v: %w", binary, args, err)
	}
	h.roles = append(h.roles, cmd)
	return nil
}

// restart ends every role and starts it again with these settings more. Those of an earlier restart are gone.
func (h *system) restart(settings ...string) error {
	was, env := h.roles, h.env
	h.stop()
	h.roles, h.env = nil, append(slices.Clone(env), settings...)
	defer func() { h.env = env }()
	for _, r := range was {
		if err := h.start(r.Args[0], r.Args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// stop ends every role, and returns when they are gone.
func (h *system) stop() {
	for _, r := range h.roles {
		_ = r.Process.Signal(syscall.SIGTERM)
	}
	for _, r := range h.roles {
		_ = r.Wait()
	}
}

// vhost makes or removes a broker of our own.
func vhost(ctx context.Context, method, name string) error {
	if _, err := ask(ctx, method, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/vhosts/"+name, ""); err != nil {
		return fmt.Errorf("vhost: %w", err)
	}
	return nil
}

// ready waits until the queue has a consumer.
func (h *system) ready(ctx context.Context, queue string) error {
	for range 300 {
		ch, err := h.broker.Channel()
		if err != nil {
			return err
		}
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		_ = ch.Close()
		if err == nil && q.Consumers > 0 {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("queue %s has no consumer", queue)
}

func (h *system) close() {
	h.stop()
	if h.temporal != nil {
		h.temporal.Close()
	}
	if h.broker != nil {
		_ = h.broker.Close()
	}
	if h.db != nil {
		h.db.Close()
	}
	for _, f := range h.undo {
		f()
	}
}

// arrivals notes when listings.published of each advert's revision came.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

// since returns how long each message took to come out.
func (a *arrivals) since(sent map[string]time.Time) map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var took []time.Duration
	for key, at := range a.at {
		if s, ok := sent[key]; ok {
			took = append(took, at.Sub(s))
		}
	}
	return percentiles(took)
}

// percentiles are p50, p95 and p99 in milliseconds, and empty without values.
func percentiles(took []time.Duration) map[string]float64 {
	out := map[string]float64{}
	slices.Sort(took)
	for name, p := range map[string]float64{"p50": .5, "p95": .95, "p99": .99} {
		if len(took) > 0 {
			out[name] = float64(took[int(float64(len(took)-1)*p)].Microseconds()) / 1000
		}
	}
	return out
}

// watch reads a queue of listings.published until ctx ends.
func (h *system) watch(ctx context.Context, queue string, a *arrivals) error {
	ch, err := h.broker.Channel()
	if err != nil {
		return err
	}
	deliveries, err := ch.ConsumeWithContext(ctx, queue, "", true, false, false, false, nil)
	if err != nil {
		return err
	}
	go func() { // ends with ctx
		defer ch.Close()
		for d := range deliveries {
			now := time.Now()
			var e contract.Event
			var data contract.ListingData
			if json.Unmarshal(d.Body, &e) == nil && json.Unmarshal(e.Data, &data) == nil {
				a.mu.Lock()
				a.at[fmt.Sprintf("%s/%d", data.PlatformID, data.RentCents)] = now
				a.mu.Unlock()
			}
		}
	}()
	return nil
}
