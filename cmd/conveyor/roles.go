package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/internal/config"
)

type (
	apiCmd       struct{}
	workerCmd    struct{}
	bridgeCmd    struct{}
	migrateCmd   struct{}
	bootstrapCmd struct{}
	configCmd    struct{}
)

// with opens the house for f.
func with(ctx context.Context, f func(context.Context, *house) error) error {
	c, err := config.Load()
	if err != nil {
		return err
	}
	h, err := openHouse(ctx, c)
	if err != nil {
		return err
	}
	defer h.close()
	return f(ctx, h)
}

func (apiCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.api(ctx) })
}

func (workerCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.measured(ctx, h.worker) })
}

func (bridgeCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.measured(ctx, h.bridge) })
}

// measured runs a role that has no door of its own beside one for its metrics, where that is asked for.
func (h *house) measured(ctx context.Context, role func(context.Context) error) error {
	if h.config.Telemetry.Metrics == "" {
		return role(ctx)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return role(ctx) })
	both.Go(func() error { return serve(ctx, h.log, "metrics", h.config.Telemetry.Metrics, h.instruments()) })
	return both.Wait()
}

// instruments are what a role shows of itself.
func (h *house) instruments() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", alive)
	mux.Handle("/metrics", promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

// alive answers as the API's /health does: the process lives, whatever is away.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(api.Liveness{Status: "ok", Version: version()}) // the asker may have gone
}

func (migrateCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.migrate(ctx) })
}

func (bootstrapCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.bootstrap(ctx) })
}

func (configCmd) Run() error {
	c, err := config.Load()
	if err != nil {
		return err
	}
	return c.Print(os.Stdout)
}

// all runs every role in this process until ctx ends or one of them fails.
func (h *house) all(ctx context.Context) error {
	roles, ctx := errgroup.WithContext(ctx)
	roles.Go(func() error { return h.bridge(ctx) })
	roles.Go(func() error { return h.worker(ctx) })
	roles.Go(func() error { return h.api(ctx) })
	return roles.Wait()
}

// printAddresses says what runs where, and what to do next.
func (h *house) printAddresses(w io.Writer, demo string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"API", h.config.API.URL},
		{"API documentation", h.config.API.URL + "/docs"},
		{"Temporal Web UI", h.config.Temporal.UIURL + "/namespaces/" + h.namespace + "/workflows"},
		{"RabbitMQ management", h.config.RabbitMQ.ManagementURL + "  (mtlrent / mtlrent)"},
		{"demo site", demo},
		{"metrics", h.config.API.URL + "/metrics"},
	} {
		fmt.Fprintf(t, "  %s\t%s\n", row[0], row[1])
	}
	_ = t.Flush() // to a terminal
	fmt.Fprintln(w, "\nconveyor: all roles run; next, in another terminal: bin/conveyor platforms")
}
