package api

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
)

// What an operation's metadata may say.
const (
	roleKey    = "role"    // the access.Role it needs
	timeoutKey = "timeout" // the time.Duration its answer may take, where wholeTimeout is not right
)

// securityScheme is the name under which the document describes how a caller proves who it is.
const securityScheme = "bearer"

// needs says which role an operation asks for, to the gate and to the document. One that says nothing and is not in
// openOperations is for admins.
func needs(role access.Role, o huma.Operation) huma.Operation {
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
	for _, status := range []int{401, 403, 429, 503} {
		if !slices.Contains(o.Errors, status) {
			o.Errors = append(o.Errors, status)
		}
	}
	slices.Sort(o.Errors)
	return o
}

// openOperations are those that ask nobody who they are: a load balancer asks for health and readiness, and pictures
// are shown by <img>, which sends no key. They are public adverts' pictures under names that cannot be guessed.
var openOperations = []string{"health", "ready", "get-image"}

// openRoutes are the same among the routes that are no operations: the documentation.
var openRoutes = []string{
	"/", "/docs", "/docs/*file", "/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml",
}

type callerKey struct{}

// anonymous is who calls a house that asks for no keys.
var anonymous = access.Caller{Name: "anonymous", Role: access.Admin}

// callerOf is who sent the request of ctx, for the audit.
func callerOf(ctx context.Context) access.Caller {
	if c, ok := ctx.Value(callerKey{}).(access.Caller); ok {
		return c
	}
	return anonymous
}

// as is a context in which c is the caller.
func as(ctx context.Context, c access.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}
