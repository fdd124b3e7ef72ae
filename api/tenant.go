package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// OfTenant is the part of an input that says whose rows a request is about. Every operation for keys of tenants has it.
type OfTenant struct {
	Tenant string `query:"tenant" maxLength:"40" doc:"the tenant that the request is about: required unless the API key is of one" example:"acme"`
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
	return huma.Error403Forbidden("the token is of no tenant: what is of tenants asks for the role operate, or for " +
		"the claim that CONVEYOR_OIDC_TENANT_CLAIM names")
}

// standing refuses, as fault.Blocked, a person of a tenant that is erased. Its keys are revoked; an issuer goes on to
// vouch for its persons.
func (g *Guard) standing(ctx context.Context, caller access.Caller) error {
	if caller.Tenant == "" || caller.KeyID != "" {
		return nil
	}
	if g.tenants == nil {
		return fmt.Errorf("the guard has no tenants to tell whether that of %s, %q, is erased", caller.Name, caller.Tenant)
	}
	erased, err := g.tenants.get(ctx, caller.Tenant, func(ctx context.Context, _, _ bool) (bool, error) {
		t, err := g.o.Tenants.Get(ctx, caller.Tenant)
		return t.Erasing, err
	})
	if class, _ := fault.Of(err); err != nil && class != fault.Gone { // one that is not there may be made later
		return err
	}
	if erased {
		return fault.Newf(fault.Blocked, "%s is of the tenant %q, which is erased", caller.Name, caller.Tenant)
	}
	return nil
}
