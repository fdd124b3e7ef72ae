package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
)

// roleKey is where an operation's metadata says which role it needs.
const roleKey = "role"

// needs says which role an operation asks for. One that says nothing is open to everybody.
func needs(role access.Role, o huma.Operation) huma.Operation {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[roleKey] = role
	return o
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
