package api

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const (
	checkTimeout = 2 * time.Second // how long each of the services may take to answer /ready
	readyFor     = time.Second     // how long an answer is good: anybody may ask, and each asking dials RabbitMQ
)

// health serves /health and /ready.
type health struct {
	checks  map[string]func(context.Context) error
	version string

	asking sync.Mutex // who comes meanwhile waits for the same answer
	last   *readyOutput
	at     time.Time
}

func (h *health) register(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/health", Tags: []string{"operations"},
		Summary: "Say that the process lives", Description: "It asks nobody: what is away does not make us unhealthy.",
	}, h.live)
	huma.Register(a, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/ready", Tags: []string{"operations"},
		Summary: "Say what is away", Description: "200 when all that we depend on answers, 503 when something does not.",
		Responses: map[string]*huma.Response{"503": {
			Description: "Something is away",
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Readiness](), true, ""),
			}},
		}},
	}, h.ready)
}

// Liveness is the answer of /health.
type Liveness struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version"`
}

type liveOutput struct{ Body Liveness }

func (h *health) live(context.Context, *struct{}) (*liveOutput, error) {
	return &liveOutput{Liveness{Status: "ok", Version: h.version}}, nil
}

// Readiness is the answer of /ready.
type Readiness struct {
	Status   string            `json:"status" enum:"ready,degraded"`
	Services map[string]string `json:"services" doc:"by name: ok or away"`
}

type readyOutput struct {
	Status int
	Body   Readiness
}

func (h *health) ready(ctx context.Context, _ *struct{}) (*readyOutput, error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.last != nil && time.Since(h.at) < readyFor {
		return h.last, nil
	}
	// The answer is for others too, whatever becomes of who asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	out := &readyOutput{http.StatusOK, Readiness{Status: "ready", Services: map[string]string{}}}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for name, check := range h.checks {
		asked.Go(func() {
			err := check(ctx)
			mu.Lock()
			defer mu.Unlock()
			out.Body.Services[name] = "ok"
			if err != nil {
				out.Body.Services[name] = "away" // the log of the role that needs it says more
				out.Body.Status, out.Status = "degraded", http.StatusServiceUnavailable
			}
		})
	}
	asked.Wait()
	h.last, h.at = out, time.Now()
	return out, nil
}
