package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/web"
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

// Keyed is the ID of what is made by a request with an Idempotency-Key: the same for the same owner and key. Without a
// key it is another one.
func Keyed(namespace uuid.UUID, owner, key string, another uuid.UUID) uuid.UUID {
	if key == "" {
		return another
	}
	return uuid.NewSHA1(namespace, []byte(owner+"\x00"+key))
}

// Set sets v to what was said, if anything was.
func Set[T any](v, said *T) {
	if said != nil {
		*v = *said
	}
}

// Keys of an operation's metadata.
const (
	roleKey    = "role"    // the access.Role it needs
	tenantKey  = "tenant"  // true: the operation is for keys of tenants
	ManyKey    = "many"    // true: a change that callers make all the time, so that only the rate of requests counts it
	TimeoutKey = "timeout" // the time.Duration its answer may take, instead of RequestTimeout and wholeTimeout
)

// securityScheme is the name of the document's only security scheme.
const securityScheme = "bearer"

// Op is an operation and what the document says of it: its tag and name, its method and path in one, a line on what it
// does, what else its callers should know, and statuses: one below 300 is that of success, 200 or 204 where none is.
func Op(tag, id, route, summary, description string, statuses ...int) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	o := huma.Operation{
		OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary, Description: description,
	}
	for _, status := range statuses {
		if status < 300 {
			o.DefaultStatus = status
		} else {
			o.Errors = append(o.Errors, status)
		}
	}
	return o
}

// Query is Op for a GET with filters: unknown parameters are refused, as a misspelt filter would let all through.
func Query(tag, id, route, summary, description string, statuses ...int) huma.Operation {
	o := Op(tag, id, route, summary, description, statuses...)
	o.RejectUnknownQueryParameters = true
	return o
}

// Within sets the time that an answer may take, instead of RequestTimeout.
func Within(timeout time.Duration, o huma.Operation) huma.Operation {
	o.Metadata = map[string]any{TimeoutKey: timeout}
	return o
}

// Needs sets the role that an operation requires, for the gate and for the document. An operation without a role that
// is not in openOperations is for admins. Of the statuses that are errors, 401, 403, 429, 503 and, where the path has a
// parameter, 404 are added here, and 422 and 500 by huma: an operation names the others.
func Needs(role access.Role, o huma.Operation) huma.Operation {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[roleKey] = role
	if o.Extensions == nil {
		o.Extensions = map[string]any{}
	}
	o.Extensions["x-required-role"] = string(role)
	o.Security = []map[string][]string{{securityScheme: {}}}
	if o.Description != "" {
		o.Description += " "
	}
	o.Description += "Needs the role " + string(role) + "."
	o.Errors = also(o.Errors, 401, 403, 429, 503)
	if strings.Contains(o.Path, "{") {
		o.Errors = also(o.Errors, http.StatusNotFound)
	}
	return o
}

// also adds statuses to those that an operation is documented with.
func also(documented []int, statuses ...int) []int {
	all := slices.Concat(documented, statuses)
	slices.Sort(all)
	return slices.Compact(all)
}

// openOperations require no credentials: a load balancer polls health and readiness, and <img> loads pictures without
// sending a key. The pictures are of public adverts, under names that cannot be guessed. Meta signs its webhooks.
// Addresses of feeds, and links of e-mails, have a token. A session is opened with a key, and asked for before there is
// one.
var openOperations = []string{
	"health", "ready", "get-image", "verify-whatsapp-webhook", "receive-whatsapp-webhook", "get-feed",
	"show-confirmation", "confirm-subscription", "show-unsubscription", "unsubscribe",
	"get-session", "open-session", "close-session", "begin-oidc-login", "finish-oidc-login",
}

// openRoutes are the open routes that are no operations: the files of the console, and the documentation.
var openRoutes = []string{
	"/", consoleRoute, "/docs", "/docs/*file", "/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml",
}

const consoleRoute = web.Prefix + "*file"

type callerKey struct{}

// anonymous is the caller while authentication is off.
var anonymous = access.Caller{Name: "anonymous", Role: access.Admin}

// CallerOf is the caller whose request ctx belongs to.
func CallerOf(ctx context.Context) access.Caller {
	if c, ok := ctx.Value(callerKey{}).(access.Caller); ok {
		return c
	}
	return anonymous
}

type sessionKey struct{}

// inSession is a context of a request that was let in by a session, by the sum of its secret.
func inSession(ctx context.Context, sum access.Sum) context.Context {
	return context.WithValue(ctx, sessionKey{}, sum)
}

// as is a context in which c is the caller.
func as(ctx context.Context, c access.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// OfTenant is the part of an input that says whose rows a request is about. Every operation for keys of tenants has it.
type OfTenant struct {
	Tenant string `query:"tenant" maxLength:"40" doc:"the tenant that the request is about: required unless the API key belongs to one" example:"acme"`
}

func (in OfTenant) named() string { return in.Tenant }

// A TenantOperation is one that keys of tenants may call. ServeTenant and StreamTenant register it.
type TenantOperation struct{ huma.Operation }

// NeedsTenant sets the role of an operation that keys of tenants may call.
func NeedsTenant(role access.Role, o huma.Operation) TenantOperation {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[tenantKey] = true
	o.Errors = also(o.Errors, http.StatusBadRequest, http.StatusNotFound)
	o = Needs(role, o)
	o.Description += " A key of a tenant may call it."
	o.Extensions["x-tenant-keys"] = true
	return TenantOperation{o}
}

// An ofTenant is an input *I that has OfTenant.
type ofTenant[I any] interface {
	*I
	named() string
}

// ServeTenant is Serve for an operation on what is of one tenant: that is what its handler is given, and the only one
// that it may touch.
func ServeTenant[I, O any, P ofTenant[I]](
	d *Door, o TenantOperation, handle func(ctx context.Context, tenant string, in P) (*O, error),
) {
	Serve(d, o.Operation, func(ctx context.Context, in *I) (*O, error) {
		tenant, err := d.tenantOf(ctx, P(in).named())
		if err != nil {
			return nil, err
		}
		return handle(ctx, tenant, in)
	})
}

// StreamTenant is ServeTenant for an answer that is streamed.
func StreamTenant[I, O any, P ofTenant[I]](
	d *Door, o TenantOperation, handle func(ctx context.Context, tenant string, in P) (*O, error),
) {
	Stream(d, o.Operation, func(ctx context.Context, in *I) (*O, error) {
		finding, cancel := context.WithTimeout(ctx, RequestTimeout)
		defer cancel()
		tenant, err := d.tenantOf(finding, P(in).named())
		if err != nil {
			return nil, err
		}
		return handle(ctx, tenant, in)
	})
}

// tenantOf is the tenant whose rows a request is about: that of the caller's key, and otherwise the named one, which
// must be there. To a key of a tenant another one is as unknown as one that is not there.
func (d *Door) tenantOf(ctx context.Context, named string) (string, error) {
	if err := ReachesTenants(ctx); err != nil {
		return "", err
	}
	own := CallerOf(ctx).Tenant
	switch {
	case own != "" && (named == "" || named == own):
		return own, nil
	case own != "":
		return "", fault.Newf(fault.Gone, "there is no tenant %.80q", named)
	case named == "":
		return "", huma.Error400BadRequest("no tenant: the credentials are of none, so name one: ?tenant=ID in a request, " +
			"--tenant ID in a command")
	}
	t, err := d.Tenants.Get(ctx, named)
	if err == nil && t.Erasing {
		err = fault.Newf(fault.Gone, "the tenant %q is erased", named)
	}
	return t.ID, err
}

// ReachesTenants refuses a caller that what is of tenants is not for: keys are given one by one, tokens by rule. An
// operation that shows things of several tenants asks it, others are registered by ServeTenant.
func ReachesTenants(ctx context.Context) error {
	if c := CallerOf(ctx); c.Tenant != "" || c.KeyID != "" || c.Role.May(access.Operate) {
		return nil
	}
	return huma.Error403Forbidden("the token names no tenant: data of tenants require the role operate, or the claim " +
		"that CONVEYOR_OIDC_TENANT_CLAIM names")
}

// standing refuses, as fault.Blocked, a person of a tenant that is erased. Its keys are revoked; an issuer goes on to
// vouch for its persons.
func (g *Guard) standing(ctx context.Context, caller access.Caller) error {
	if caller.Tenant == "" || caller.KeyID != "" {
		return nil
	}
	if g.tenants == nil {
		return fmt.Errorf("the guard cannot look up whether the tenant of %s, %q, is erased: it has no tenants",
			caller.Name, caller.Tenant)
	}
	erased, err := g.tenants.get(ctx, caller.Tenant, func(ctx context.Context, _, _ bool) (bool, error) {
		t, err := g.o.Tenants.Get(ctx, caller.Tenant)
		return t.Erasing, err
	})
	if err != nil && fault.ClassOf(err) != fault.Gone { // one that is not there may be made later
		return err
	}
	if erased {
		return fault.Newf(fault.Blocked, "%s belongs to the tenant %q, which is erased", caller.Name, caller.Tenant)
	}
	return nil
}
