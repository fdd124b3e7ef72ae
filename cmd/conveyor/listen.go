package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/oidc"
)

// guard builds the authenticator of the API.
func (h *house) guard(ctx context.Context) (*api.Guard, error) {
	c := h.config
	grants, err := c.API.Grants()
	if err != nil {
		return nil, err
	}
	o := api.GuardOptions{
		Keys: db.NewKeys(h.doorPool), Fixed: grants, Audit: db.NewAuditLog(h.pool), Log: h.log, Now: time.Now,
		Sessions: db.NewSessions(h.doorPool), TLS: strings.HasPrefix(c.API.URL, "https://"), MaxAge: c.API.KeysWithin(),
		Tenants: db.NewTenants(h.doorPool),
	}
	if c.OIDC.Issuer != "" {
		mapping, err := c.OIDC.Mapping()
		if err != nil {
			return nil, err
		}
		o.Tokens = oidc.New(oidc.Options{
			Issuer: c.OIDC.Issuer, Audience: c.OIDC.Audience, RolesClaim: c.OIDC.RolesClaim, Roles: mapping,
			TenantClaim: c.OIDC.TenantClaim,
		})
		if c.OIDC.ClientID != "" {
			o.Login, err = o.Tokens.Login(oidc.Client{
				ID: c.OIDC.ClientID, Secret: c.OIDC.ClientSecret, Scopes: c.OIDC.Scopes,
				Redirect: strings.TrimSuffix(c.API.URL, "/") + api.LoginCallback,
			})
			if err != nil {
				return nil, err
			}
		}
	}
	if c.API.Rate > 0 {
		o.Calls = limit.NewRate(h.redis, limit.RateOptions{
			Name: "api", Events: c.API.Rate, Period: time.Second, Burst: c.API.Burst, Registerer: h.registry,
		})
	}
	if c.API.WriteRate > 0 {
		o.Writes = limit.NewRate(h.redis, limit.RateOptions{
			Name: "api-writes", Events: c.API.WriteRate, Period: time.Second, Burst: 5 * c.API.WriteRate, Registerer: h.registry,
		})
	}
	if c.API.AddressRate > 0 { // of this process alone: an open route costs no request to Redis
		o.Addresses = limit.NewRate(nil, limit.RateOptions{
			Name: "api-addresses", Events: c.API.AddressRate, Period: time.Second, Burst: 5 * c.API.AddressRate,
		})
	}
	o.Refusals = limit.NewRate(h.redis, limit.RateOptions{
		Name: "api-refusals", Events: 20, Period: time.Minute, Burst: 20, Registerer: h.registry,
	})
	guard := api.NewGuard(o)
	return guard, guard.Check(ctx)
}

// lockedEvery is the interval at which an API on the loopback interface looks for the first key.
const lockedEvery = 2 * time.Second

// serveAPI listens on CONVEYOR_API_ADDRESS while authentication is on, or when CONVEYOR_API_OPEN allows it to be off.
// Until then it listens on the loopback interface only, and moves to its address once there is a key.
func (h *house) serveAPI(ctx context.Context, guard *api.Guard, handler http.Handler) error {
	wide := h.config.API.Address
	narrow := loopback(wide)
	locked, err := guard.Locked(ctx)
	const how = "conveyor keys create NAME --role admin"
	switch {
	case locked:
	case h.config.API.Open:
		h.log.WarnContext(ctx, "authentication is off: every caller that reaches the API has the role admin; create a key",
			"address", wide, "command", how)
	case err != nil:
		h.log.WarnContext(ctx, "cannot read API keys: the API listens on the loopback interface only until it can",
			"address", narrow, "err", err)
	default:
		h.log.WarnContext(ctx, "there are no API keys: the API listens on the loopback interface only, and every local "+
			"caller has the role admin; create a key, or set CONVEYOR_OIDC_ISSUER", "address", narrow, "command", how)
	}
	if locked || h.config.API.Open || narrow == wide {
		return h.serveBounded(ctx, wide, handler)
	}
	inside, widen := context.WithCancel(ctx)
	defer widen()
	both, inside := errgroup.WithContext(inside)
	both.Go(func() error { return h.serveBounded(inside, narrow, handler) })
	both.Go(func() error { defer widen(); return untilLocked(inside, guard) })
	if err := both.Wait(); err != nil || ctx.Err() != nil {
		return err
	}
	return h.serveBounded(ctx, wide, handler)
}

// serveBounded serves the API with no more connections than are configured.
func (h *house) serveBounded(ctx context.Context, address string, handler http.Handler) error {
	return serve(ctx, h.log, "api", address, handler, bounded(h.config.API.Connections, h.config.API.Proxies))
}

// untilLocked waits until authentication is on, or ctx ends.
func untilLocked(ctx context.Context, guard *api.Guard) error {
	return again(ctx, lockedEvery, func() (bool, error) {
		locked, err := guard.Locked(ctx)
		return locked && err == nil, nil
	})
}

// loopback is the loopback address with the port of address; address itself when it is one already.
func loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address // Listen reports what is wrong with it
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return address
	}
	return net.JoinHostPort("127.0.0.1", cmp.Or(port, "0"))
}
