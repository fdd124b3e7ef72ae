package api

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// door is what a Part registers its operations with.
type door struct {
	Options

	api    huma.API
	router gin.IRouter // for routes that huma cannot serve; the document must be told of them
	guard  *Guard      // never nil
	given  given
	lanes  laneTurns
}

// requestTimeout bounds the work of one request in Postgres and Temporal, where the operation sets no time of its own.
const requestTimeout = 10 * time.Second

// serve registers an operation. The context of its handler ends after requestTimeout, or the operation's timeoutKey,
// and when the handler returns. A fault that the handler returns becomes a problem.
func serve[I, O any](d *door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	timeout := requestTimeout
	if own, ok := o.Metadata[timeoutKey].(time.Duration); ok {
		timeout = own
	}
	if h, ok := heavyOperations[o.OperationID]; ok {
		timeout = h.within
	}
	register(d, o, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return handle(ctx, in)
	})
}

// stream registers an operation whose answer goes on being written after its handler has returned: only the gate bounds
// it. A fault that the handler returns becomes a problem.
func stream[I, O any](d *door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[streamKey] = true
	register(d, o, handle)
}

// streamKey is the metadata of an operation whose answer is streamed.
const streamKey = "stream"

func register[I, O any](d *door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	o, handle = inTurn(d, o, handle)
	huma.Register(d.api, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, problem(ctx, d.Log, err)
		}
		return out, nil
	})
	if in, ok := any(new(I)).(filtered); ok {
		describe(d.api.OpenAPI().Paths[o.Path].Get, in.filters())
	}
}

// A WorkflowLink is the address of a workflow in the Temporal Web UI.
type WorkflowLink struct {
	ID  string `json:"id"`
	URL string `json:"url" doc:"in the Temporal Web UI; not found there after the retention period; empty for keys of a tenant"`
}

// workflow links to the newest run of a workflow.
func (d *door) workflow(id string) WorkflowLink { return d.run(id, "") }

// workflowFor is workflow for the caller of a request: one of a tenant is not told where the Web UI is.
func (d *door) workflowFor(ctx context.Context, id string) WorkflowLink {
	link := d.workflow(id)
	if callerOf(ctx).Tenant != "" {
		link.URL = ""
	}
	return link
}

// run links to a run of a workflow; "" is the newest run.
func (d *door) run(id, run string) WorkflowLink {
	address := strings.TrimSuffix(d.TemporalUI, "/") + "/namespaces/" + url.PathEscape(d.Namespace) + "/workflows/" +
		url.PathEscape(id)
	if run != "" {
		address += "/" + url.PathEscape(run)
	}
	return WorkflowLink{ID: id, URL: address}
}

// reachWithin bounds a call to Temporal: while that is away, the rest of the request's time is left for the answer.
const reachWithin = 2 * time.Second

// reach calls a workflow after a change is stored. It returns a warning for the caller, and "" when all is well.
func (d *door) reach(ctx context.Context, id string, call func(context.Context) error) (warning string) {
	calling, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	err := call(calling)
	if err == nil {
		return ""
	}
	d.Log.WarnContext(ctx, "cannot reach a workflow", "workflow_id", id, "err", err)
	return "the change is stored; the workflow could not be reached, and follows when Temporal is back"
}

// each converts a list. nil stays nil.
func each[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// listed converts a list as each does, to one that is never null.
func listed[A, B any](list []A, convert func(A) B) []B { return append([]B{}, each(list, convert)...) }

// maybe converts what v points to. nil stays nil.
func maybe[A, B any](v *A, convert func(A) B) *B {
	if v == nil {
		return nil
	}
	return new(convert(*v))
}
