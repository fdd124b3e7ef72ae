package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// checkTimeout is how long each of the services may take to answer /ready.
const checkTimeout = 2 * time.Second

// health serves /health and /ready.
type health struct {
	checks  map[string]func(context.Context) error
	version string
}

func (h *health) register(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/health", Tags: []string{"operations"},
		Summary: "Say that the process lives", Description: "It asks nobody: what is away does not make us unhealthy.",
	}, h.live)
	huma.Register(a, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/ready", Tags: []string{"operations"},
		Summary: "Say what is away", Description: "200 when all that we depend on answers, 503 when something does not.",
		Errors: []int{503},
	}, h.ready)
}

type liveOutput struct {
	Body struct {
		Status  string `json:"status" enum:"ok"`
		Version string `json:"version"`
	}
}

func (h *health) live(context.Context, *struct{}) (*liveOutput, error) {
	out := new(liveOutput)
	out.Body.Status, out.Body.Version = "ok", h.version
	return out, nil
}

type readyOutput struct {
	Status int
	Body   struct {
		Status   string            `json:"status" enum:"ready,degraded"`
		Services map[string]string `json:"services" doc:"ok, or why not"`
	}
}

func (h *health) ready(ctx context.Context, _ *struct{}) (*readyOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out := &readyOutput{Status: http.StatusOK}
	out.Body.Status, out.Body.Services = "ready", map[string]string{}
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
	return out, nil
}
