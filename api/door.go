package api

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// Door is what a Part registers its operations with.
type Door struct {
	Options

	API    huma.API
	Router gin.IRouter // for routes that huma cannot serve; the document must be told of them
	guard  *Guard      // never nil
	Given  Given
	lanes  laneTurns
}

// RequestTimeout bounds the work of one request in Postgres and Temporal, where the operation sets no time of its own.
const RequestTimeout = 10 * time.Second

// Serve registers an operation. The context of its handler ends after RequestTimeout, or the operation's TimeoutKey,
// and when the handler returns. A fault that the handler returns becomes a problem.
func Serve[I, O any](d *Door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	timeout := RequestTimeout
	if own, ok := o.Metadata[TimeoutKey].(time.Duration); ok {
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

// A Body is an output that is nothing else.
type Body[T any] struct{ Body T }

// BodyOf makes one.
func BodyOf[T any](body T) *Body[T] { return &Body[T]{body} }

// Stream registers an operation whose answer goes on being written after its handler has returned: only the gate bounds
// it. A fault that the handler returns becomes a problem.
func Stream[I, O any](d *Door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[streamKey] = true
	register(d, o, handle)
}

// streamKey is the metadata of an operation whose answer is streamed.
const streamKey = "stream"

func register[I, O any](d *Door, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	o, handle = inTurn(d, o, handle)
	o.BodyReadTimeout = bodyTimeout // huma's own is five seconds
	in, lists := any(new(I)).(filtered)
	if !lists && o.DefaultStatus != http.StatusFound { // lists say what else is wrong, too; a login leads a browser on
		o.Middlewares = append(o.Middlewares, once(d.API))
	}
	if o.Method != http.MethodGet { // with a misspelt dry_run the real thing would be done
		o.RejectUnknownQueryParameters, o.Errors = true, also(o.Errors, http.StatusUnprocessableEntity)
	}
	if _, ok := reflect.TypeFor[I]().FieldByName("Body"); ok { // none, late, too large, of another type
		o.Errors = also(o.Errors, 400, 408, 413, 415)
	}
	times := bodyTimes(reflect.TypeFor[I]())
	huma.Register(d.API, o, func(ctx context.Context, in *I) (*O, error) {
		if wrong := wrongTimes(in, times); wrong != nil {
			return nil, huma.Error422UnprocessableEntity("validation failed", wrong...)
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, Problem(ctx, d.Log, err)
		}
		return out, nil
	})
	if lists {
		describe(d.API.OpenAPI().Paths[o.Path].Get, in.Filters())
	}
}

// once refuses parameters that are given more than once: huma reads the first.
func once(a huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if wrong := Repeated(ctx); wrong != nil {
			_ = huma.WriteErr(a, ctx, http.StatusUnprocessableEntity, "validation failed", wrong...)
			return
		}
		next(ctx)
	}
}

// A WorkflowLink is the address of a workflow in the Temporal Web UI.
type WorkflowLink struct {
	ID  string `json:"id"`
	URL string `json:"url" doc:"in the Temporal Web UI; not found there after the retention period; empty for keys of a tenant"`
}

// Workflow links to the newest run of a workflow.
func (d *Door) Workflow(id string) WorkflowLink { return d.run(id, "") }

// WorkflowFor is workflow for the caller of a request: one of a tenant is not told where the Web UI is.
func (d *Door) WorkflowFor(ctx context.Context, id string) WorkflowLink {
	link := d.Workflow(id)
	if CallerOf(ctx).Tenant != "" {
		link.URL = ""
	}
	return link
}

// run links to a run of a workflow; "" is the newest run.
func (d *Door) run(id, run string) WorkflowLink {
	address := strings.TrimSuffix(d.TemporalUI, "/") + "/namespaces/" + url.PathEscape(d.Namespace) + "/workflows/" +
		url.PathEscape(id)
	if run != "" {
		address += "/" + url.PathEscape(run)
	}
	return WorkflowLink{ID: id, URL: address}
}

// ReachWithin bounds a call to Temporal: while that is away, the rest of the request's time is left for the answer.
const ReachWithin = 2 * time.Second

// Reach calls a workflow after a change is stored. It returns a warning for the caller, and "" when all is well.
func (d *Door) Reach(ctx context.Context, id string, call func(context.Context) error) (warning string) {
	calling, cancel := context.WithTimeout(ctx, ReachWithin)
	defer cancel()
	err := call(calling)
	if err == nil {
		return ""
	}
	d.Log.WarnContext(ctx, "cannot reach a workflow", "workflow_id", id, "err", err)
	return "the change is stored; the workflow could not be reached, and follows when Temporal is back"
}

// Ended says that the caller of a request may not go on reading its answer: its key was revoked or has expired, or its
// session has ended.
func (d *Door) Ended(ctx context.Context) bool { return d.guard.ended(ctx, CallerOf(ctx)) }

// Charge counts a request of a kind that is refused. Its error is the answer when there were too many from the network
// of the caller.
func (d *Door) Charge(c *gin.Context, kind, says string) error {
	return take(c.Request.Context(), d.guard.o.Refusals, kind+" "+Network(c), says)
}

// Each converts a list. nil stays nil.
func Each[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// Listed converts a list as Each does, to one that is never null.
func Listed[A, B any](list []A, convert func(A) B) []B { return append([]B{}, Each(list, convert)...) }

// Maybe converts what v points to. nil stays nil.
func Maybe[A, B any](v *A, convert func(A) B) *B {
	if v == nil {
		return nil
	}
	return new(convert(*v))
}

// Streamed documents an answer of a type that is written piece by piece.
func Streamed(description, contentType string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description, Content: map[string]*huma.MediaType{contentType: {}},
	}}
}

// Answered documents an answer with a T that an operation has besides its usual one.
func Answered[T any](d *Door, description string) *huma.Response {
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{JSONType: {
		Schema: d.API.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, ""),
	}}}
}

// Set sets v to what was said, if anything was.
func Set[T any](v, said *T) {
	if said != nil {
		*v = *said
	}
}
