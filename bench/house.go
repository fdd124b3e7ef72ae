package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/bridge/contract"
)

// A house is a Conveyor to be measured: its own database, vhost and namespace on the services of the environment.
type house struct {
	binary   string
	env      []string
	db       *pgxpool.Pool
	broker   *amqp.Connection
	temporal client.Client
	roles    []*exec.Cmd
	undo     []func()
}

func open(ctx context.Context, binary string, oneProcess bool) (h *house, err error) {
	for _, v := range []string{"DATABASE_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL", "TEMPORAL_ADDRESS"} {
		if os.Getenv(v) == "" {
			return nil, fmt.Errorf("%s is not set; run: make bench", v)
		}
	}
	h = &house{binary: binary}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	name := "bench_" + uuid.NewString()[:8]
	admin, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return h, fmt.Errorf("connect: %w", err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return h, fmt.Errorf("make database: %w", err)
	}
	database, err := url.Parse(os.Getenv("DATABASE_URL"))
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
	h.env = append(os.Environ(), "DATABASE_URL="+database.String(), "RABBITMQ_URL="+broker.String(),
		"TEMPORAL_NAMESPACE="+name, "CONVEYOR_LOG_LEVEL=warn", "GOGC=400")
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
	roles := []string{"worker", "bridge"}
	if oneProcess {
		roles = []string{"up"}
		home, err := os.MkdirTemp("", "conveyor-bench-")
		if err != nil {
			return h, err
		}
		h.undo = append(h.undo, func() { _ = os.RemoveAll(home) })
		h.env = append(h.env, "CONVEYOR_HOME="+home, "CONVEYOR_API_PORT=18181", "CONVEYOR_DEMO_PORT=18191")
	}
	for _, role := range roles {
		cmd := exec.Command(binary, role)
		cmd.Env, cmd.Stderr = h.env, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return h, fmt.Errorf("start %s: %w", role, err)
		}
		h.roles = append(h.roles, cmd)
	}
	return h, h.ready(ctx)
}

// vhost makes or removes a broker of our own.
func vhost(ctx context.Context, method, name string) error {
	req, err := http.NewRequestWithContext(ctx, method, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/vhosts/"+name, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s vhost: %w", method, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s vhost: %s", method, resp.Status)
	}
	return nil
}

// ready waits until the bridge consumes.
func (h *house) ready(ctx context.Context) error {
	for range 200 {
		ch, err := h.broker.Channel()
		if err != nil {
			return err
		}
		q, err := ch.QueueDeclarePassive("scraped.kijiji", true, false, false, false, nil)
		_ = ch.Close()
		if err == nil && q.Consumers > 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the bridge does not consume")
}

func (h *house) close() {
	for _, r := range h.roles {
		_ = r.Process.Signal(syscall.SIGTERM)
	}
	for _, r := range h.roles {
		_ = r.Wait()
	}
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
	mu   sync.Mutex
	at   map[string]time.Time
	last time.Time
}

// watch reads listings.published until ctx ends.
func (h *house) watch(ctx context.Context, a *arrivals) error {
	ch, err := h.broker.Channel()
	if err != nil {
		return err
	}
	deliveries, err := ch.ConsumeWithContext(ctx, "listings.published", "bench", true, false, false, false, nil)
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
				a.last = now
				a.mu.Unlock()
			}
		}
	}()
	return nil
}
