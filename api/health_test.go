package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Health.Checks = map[string]func(context.Context) error{
			"postgres": func(context.Context) error { return errors.New("away") },
		}
	})
	got := apitest.Read[map[string]string](t, d.Get(t, "/health?probe=1"), http.StatusOK)
	require.Equal(t, map[string]string{"status": "ok", "version": "1.2.3"}, got)
}

func TestReady(t *testing.T) {
	t.Parallel()
	type state struct {
		Status   string
		Services map[string]string
	}
	good := func(context.Context) error { return nil }
	broken := func(context.Context) error { return errors.New("dial tcp 10.0.0.7:5672: connect: refused") }
	stuck := func(context.Context) error { return fmt.Errorf("%w: 12s", backlog.ErrStuck) }
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name   string
		checks map[string]func(context.Context) error
		status int
		want   state
	}{
		{"all answer", map[string]func(context.Context) error{"postgres": good, "redis": good}, http.StatusOK,
			state{"ready", map[string]string{"postgres": "ok", "redis": "ok"}}},
		{"one is away", map[string]func(context.Context) error{"postgres": good, "rabbitmq": broken},
			http.StatusServiceUnavailable, state{"degraded", map[string]string{"postgres": "ok", "rabbitmq": "away"}}},
		{"one does not answer", map[string]func(context.Context) error{"postgres": good, "temporal": silent},
			http.StatusServiceUnavailable, state{"degraded", map[string]string{"postgres": "ok", "temporal": "away"}}},
		{"one stores nothing", map[string]func(context.Context) error{"postgres": stuck},
			http.StatusServiceUnavailable, state{"degraded", map[string]string{"postgres": "stuck"}}},
		{"there is nothing to ask", nil, http.StatusOK, state{"ready", map[string]string{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := apitest.Bare(t, func(p *apitest.Parts) { p.Health.Checks = tt.checks }).Get(t, "/ready")
			require.Equal(t, tt.want, apitest.Read[state](t, r, tt.status))
			require.NotContains(t, r.Body, "10.0.0.7")
		})
	}
}

// A task queue that no worker polls is no readiness, and is named. That Temporal does not answer is told by its own check.
func TestReadyNamesTaskQueuesWithoutWorkers(t *testing.T) {
	t.Parallel()
	type state struct {
		Status   string
		Unpolled []string
	}
	ask := func(queues []string, err error, status int) state {
		return apitest.Read[state](t, apitest.Bare(t, func(p *apitest.Parts) {
			p.Health.Checks = nil
			p.Health.Unpolled = func(context.Context) ([]string, error) { return queues, err }
		}).Get(t, "/ready"), status)
	}
	require.Equal(t, state{"degraded", []string{"listings", "crawl"}}, ask([]string{"listings", "crawl"}, nil, http.StatusServiceUnavailable))
	require.Equal(t, state{Status: "ready"}, ask(nil, nil, http.StatusOK))
	require.Equal(t, state{Status: "ready"}, ask([]string{"listings"}, errors.New("temporal is away"), http.StatusOK))
}

// A check that does not heed its time, as one of a mount that hangs, keeps no request: what others say is told.
func TestReadyWaitsForNoCheck(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	t.Cleanup(func() { close(hangs) })
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Health.Checks = map[string]func(context.Context) error{
			"postgres": func(context.Context) error { return nil }, "files": func(context.Context) error { <-hangs; return nil },
		}
		p.Health.Unpolled = func(context.Context) ([]string, error) { <-hangs; return []string{"late"}, nil }
	})
	for range 2 {
		r := apitest.Read[struct{ Services map[string]string }](t, d.Get(t, "/ready"), http.StatusServiceUnavailable)
		require.Equal(t, map[string]string{"postgres": "ok", "files": "away"}, r.Services)
	}
}

// A check that panics ends no process: its service is away.
func TestReadySurvivesAPanic(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Health.Checks = map[string]func(context.Context) error{
			"postgres": func(context.Context) error { return nil }, "redis": func(context.Context) error { panic("redis") },
		}
		p.Health.Unpolled = func(context.Context) ([]string, error) { panic("temporal") }
	})
	r := apitest.Read[struct{ Services map[string]string }](t, d.Get(t, "/ready"), http.StatusServiceUnavailable)
	require.Equal(t, map[string]string{"postgres": "ok", "redis": "away"}, r.Services)
}

// Every client may ask for readiness, so frequent requests do not mean frequent dials.
func TestReadyIsAskedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Health.Checks = map[string]func(context.Context) error{
			"rabbitmq": func(context.Context) error { asked.Add(1); return nil },
		}
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { d.Get(t, "/ready") })
	}
	all.Wait()
	require.Less(t, asked.Load(), int32(4))
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t, func(p *apitest.Parts) {
		r := telemetry.Registry()
		r.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "conveyor_test_total", Help: "For this test."}))
		p.Metrics = r
	})
	r := d.Get(t, "/metrics")
	require.Equal(t, http.StatusOK, r.Status)
	require.Contains(t, r.Header.Get("Content-Type"), "text/plain")
	require.Contains(t, r.Body, "\nconveyor_test_total 0\n")
	require.Contains(t, r.Body, "\ngo_goroutines ")
}
