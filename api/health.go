package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	checkTimeout = 2 * time.Second // for the check of each service
	readyFor     = time.Second     // how long an answer is reused: /ready is open, and each check dials RabbitMQ
)

// Health serves /health and /ready.
type Health struct {
	Checks map[string]func(context.Context) error // by name of the service: nil when it answers, or backlog.ErrStuck
	// Unpolled are the task queues in use that no worker polls. An error says that Temporal does not answer.
	Unpolled func(context.Context) ([]string, error)
}

// Register implements Part.
func (h Health) Register(d *Door) {
	r := &readiness{checks: h.Checks, unpolled: h.Unpolled, log: d.Log.Error}
	Serve(d, Op("operations", "health", "GET /health", "Check that the process is alive",
		"Depends on no other service. No credentials are "+
			"required."), func(context.Context, *struct{}) (*Body[Liveness], error) {
		return BodyOf(Liveness{Status: "ok", Version: d.Version}), nil
	})
	Serve(d, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/ready", Tags: []string{"operations"},
		Summary: "Check the services that the API depends on, and that workers poll",
		Description: "200 when every service answers and each task queue in use has a worker; 503 when a service does not " +
			"answer, or stores nothing, or no worker polls a task queue. No credentials are required.",
		Responses: map[string]*huma.Response{"503": {
			Description: "A service does not answer, or stores nothing, or no worker polls a task queue",
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: d.API.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Readiness](), true, ""),
			}},
		}},
	}, r.ready)
}

// Liveness is the answer of /health.
type Liveness struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version"`
}

// Readiness is the answer of /ready.
type Readiness struct {
	Status   string            `json:"status" enum:"ready,degraded"`
	Services map[string]string `json:"services" doc:"by name: ok, away when it does not answer, or stuck when it answers and stores nothing"`
	Unpolled []string          `json:"unpolled,omitempty" doc:"task queues that no worker polls, those excepted that are meant to have none"`
}

type readyOutput struct {
	Status int
	Body   Readiness
}

// readiness runs the checks, and reuses their answer.
type readiness struct {
	checks   map[string]func(context.Context) error
	unpolled func(context.Context) ([]string, error)
	log      func(text string, args ...any)

	asking sync.Mutex // requests that come meanwhile wait for the same answer
	last   *readyOutput
	at     time.Time
}

func (h *readiness) ready(ctx context.Context, _ *struct{}) (*readyOutput, error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.last != nil && time.Since(h.at) < readyFor {
		return h.last, nil
	}
	// The answer is for later requests too, so it outlives this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	out := &readyOutput{http.StatusOK, Readiness{Status: "ready", Services: map[string]string{}}}
	asked := len(h.checks)
	answers := make(chan func(), asked+1) // with room for late ones, which are not waited for
	for name, check := range h.checks {
		out.Body.Services[name] = backlog.Away
		go func() { // ends with the check
			err := fault.Try("checking "+name, h.log, func() error { return check(ctx) })
			answers <- func() { out.Body.Services[name] = state(err) }
		}()
	}
	if h.unpolled != nil {
		asked++
		go func() {
			var queues []string
			err := fault.Try("looking for workers", h.log, func() (err error) {
				queues, err = h.unpolled(ctx)
				return err
			})
			answers <- func() {
				if err == nil { // an error is one of temporal, which is checked too
					out.Body.Unpolled = queues
				}
			}
		}()
	}
	for range asked {
		select {
		case put := <-answers:
			put()
		case <-ctx.Done():
		}
	}
	good := len(out.Body.Unpolled) == 0
	for _, is := range out.Body.Services {
		good = good && is == backlog.OK
	}
	if !good {
		out.Body.Status, out.Status = "degraded", http.StatusServiceUnavailable
	}
	h.last, h.at = out, time.Now()
	return out, nil
}

// state is that of a service by the result of its check; the log of the role that needs it has the error.
func state(err error) string {
	switch {
	case err == nil:
		return backlog.OK
	case errors.Is(err, backlog.ErrStuck):
		return backlog.Stuck
	}
	return backlog.Away
}
