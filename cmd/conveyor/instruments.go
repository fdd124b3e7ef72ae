package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
)

// measured runs a role, with a server for its metrics when CONVEYOR_METRICS_ADDRESS is set.
func (h *house) measured(ctx context.Context, role func(context.Context) error) error {
	if err := h.checkDatabaseRole(ctx, h.pool.Config().ConnConfig.User); err != nil {
		return err
	}
	if h.config.Telemetry.Metrics == "" {
		return role(ctx)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return role(ctx) })
	both.Go(func() error { return serve(ctx, h.log, "metrics", h.config.Telemetry.Metrics, h.instruments()) })
	return both.Wait()
}

// checkDatabaseRole refuses a role of the database for which row-level security is off: only the WHERE of each
// statement would keep tenants apart. A database that is away is not waited for.
func (h *house) checkDatabaseRole(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if all, err := db.RoleSeesAll(ctx, h.pool, role); err != nil || !all {
		return nil // what is away is told by what needs it
	}
	return fmt.Errorf("row-level security is off: the role %q in DATABASE_URL is a superuser or has BYPASSRLS; use one that "+
		"is neither, so that Postgres keeps tenants apart, and name this one in DATABASE_MIGRATE_URL: conveyor migrate grants "+
		"the other what it needs", role)
}

// instruments serves the health and metrics of a role, and its profiles when CONVEYOR_PPROF is set.
func (h *house) instruments() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", alive)
	mux.Handle("/metrics", promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}))
	if h.config.Telemetry.Profile {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	}
	return mux
}

// alive answers as the API's /health does: ok while the process runs, whether or not its dependencies are up.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(api.Liveness{Status: "ok", Version: version()}) // the caller may have disconnected
}
