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
	"github.com/mtlrent/conveyor/internal/confine"
)

// measured runs a role, with a server for its metrics when CONVEYOR_METRICS_ADDRESS is set. Its environment, which has
// passwords and keys, is closed to other processes of its user. It ends when Postgres says that row-level security does
// not hold for its role.
func (h *house) measured(ctx context.Context, role func(context.Context) error) error {
	if err := confine.Shield(); err != nil {
		return err
	}
	user := h.pool.Config().ConnConfig.User
	known, err := h.checkDatabaseRole(ctx, user)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer end()
		return role(ctx)
	})
	if !known {
		all.Go(func() error { return h.checkDatabaseRoleUntilKnown(ctx, user, databaseRoleEvery) })
	}
	if h.config.Telemetry.Metrics != "" {
		all.Go(func() error { return serve(ctx, h.log, "metrics", h.config.Telemetry.Metrics, h.instruments()) })
	}
	return all.Wait()
}

// databaseRoleEvery is how often a Postgres that was away is asked about the role.
const databaseRoleEvery = 5 * time.Second

// checkDatabaseRole refuses a role of the database for which row-level security is off: only the WHERE of each
// statement would keep tenants apart. A database that is away is not waited for: then known is false.
func (h *house) checkDatabaseRole(ctx context.Context, role string) (known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	all, err := db.RoleSeesAll(ctx, h.pool, role)
	if err != nil {
		return false, nil // what is away is told by what needs it
	}
	if all {
		return true, fmt.Errorf("row-level security is off: the role %q in DATABASE_URL is a superuser or has BYPASSRLS; use one "+
			"that is neither, so that Postgres keeps tenants apart, and name this one in DATABASE_MIGRATE_URL: conveyor migrate "+
			"grants the other what it needs", role)
	}
	return true, nil
}

// checkDatabaseRoleUntilKnown is checkDatabaseRole once the database answers. It returns nil when ctx ends before.
func (h *house) checkDatabaseRoleUntilKnown(ctx context.Context, role string, every time.Duration) error {
	return again(ctx, every, func() (bool, error) { return h.checkDatabaseRole(ctx, role) })
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
