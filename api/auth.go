package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/web"
)

// Keys of an operation's metadata.
const (
	roleKey    = "role"    // the access.Role it needs
	tenantKey  = "tenant"  // true: the operation is for keys of tenants
	ManyKey    = "many"    // true: a change that callers make all the time, so that only the rate of requests counts it
	TimeoutKey = "timeout" // the time.Duration its answer may take, instead of RequestTimeout and wholeTimeout
)

// securityScheme is the name of the document's only security scheme.
const securityScheme = "bearer"

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
