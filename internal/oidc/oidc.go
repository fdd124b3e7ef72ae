// Package oidc verifies bearer tokens of an OpenID Connect issuer, maps their claims to roles, and logs persons in.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Options name the issuer whose tokens are accepted. Issuer and Audience must be set.
type Options struct {
	Issuer      string                 // as it stands in iss; its discovery document must be below it
	Audience    string                 // must be in aud
	TenantClaim string                 // a claim's name, or such a path, with the tenant that the caller is of; "" = none
	RolesClaim  string                 // a claim's name, or a path of names with dots between; default roles
	Roles       map[string]access.Role // the role that a value of the claim gives; nil = the values are our roles' names

	Client *http.Client     // default: one that gives up after 5 s
	Now    func() time.Time // default time.Now
}

// A Verifier checks tokens. It fetches the issuer's keys when it first needs them, and again when a token is signed
// with an unknown one.
type Verifier struct {
	o    Options
	http context.Context // holds the client, for go-oidc takes it so

	mu       sync.Mutex
	provider *oidc.Provider // nil until discovery succeeded
	tryNext  time.Time      // earliest time of the next discovery
	away     error          // of the last discovery
}

// asymmetric are the signature algorithms that are accepted: only the issuer can sign with them. HMAC and "none" are
// not among them.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

const (
	patience = 5 * time.Second // for a request to the issuer; also the least time between two fetches of its keys
	pause    = 2 * time.Second // after a discovery that failed
	longest  = 16 << 10        // bytes of a token
)

// New returns a verifier. It sends no request: an issuer that is unavailable is an error of the first Verify.
func New(o Options) *Verifier {
	if o.RolesClaim == "" {
		o.RolesClaim = "roles"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: patience}
	}
	calm := *o.Client
	calm.Transport = &sparing{next: calm.Transport, now: o.Now}
	return &Verifier{o: o, http: oidc.ClientContext(context.Background(), &calm)}
}

// Verify returns the caller that a token is of: "oidc:" and its subject, with the highest role that its claim gives, or
// none. An invalid token is fault.Invalid, in words for its sender; an issuer that is unavailable is fault.Transient.
func (v *Verifier) Verify(ctx context.Context, token string) (access.Caller, error) {
	if strings.Count(token, ".") != 2 || len(token) > longest {
		return access.Caller{}, fault.Newf(fault.Invalid, "the token is malformed")
	}
	t, claims, err := v.check(ctx, token, v.o.Audience)
	if err != nil {
		return access.Caller{}, err
	}
	return v.caller(t.Subject, claims)
}

// caller is who claims are of.
func (v *Verifier) caller(subject string, claims map[string]any) (who access.Caller, err error) {
	who = access.Caller{Name: "oidc:" + subject, Role: v.role(claims)}
	if v.o.TenantClaim == "" {
		return who, nil
	}
	if who.Tenant, err = tenant(claims, v.o.TenantClaim); err != nil {
		return access.Caller{}, err
	}
	return who, nil
}

// tenant is the one that a claim names, alone or in a list; "" without the claim, or where it is null. A claim that is
// there and does not name exactly one is fault.Invalid: its caller would reach all tenants, or nobody would know which
// is meant.
func tenant(claims map[string]any, name string) (string, error) {
	claim, err := claimAt(claims, name)
	if err != nil {
		return "", fault.Newf(fault.Invalid, "the token is invalid: %w", err)
	}
	if claim == nil {
		return "", nil
	}
	if list, ok := claim.([]any); ok {
		if len(list) != 1 {
			return "", fault.Newf(fault.Invalid, "the token is invalid: it names %d tenants", len(list))
		}
		claim = list[0]
	}
	text, ok := claim.(string)
	switch of := strings.TrimSpace(text); {
	case !ok:
		return "", fault.Newf(fault.Invalid, "the token is invalid: its claim %q names no tenant as a text", name)
	case !access.IsTenant(of):
		return "", fault.Newf(fault.Invalid, "the token is invalid: it names no tenant but %.80q", of)
	default:
		return of, nil
	}
}

// check verifies a token for an audience, and returns its claims. Errors are those of Verify.
func (v *Verifier) check(ctx context.Context, token, audience string) (*oidc.IDToken, map[string]any, error) {
	provider, err := v.issuer()
	if err != nil {
		return nil, nil, fault.Newf(fault.Transient, "discover the token issuer: %w", err)
	}
	tokens := provider.Verifier(&oidc.Config{ClientID: audience, SupportedSigningAlgs: asymmetric, Now: v.o.Now})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := tokens.Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, nil, fault.Newf(fault.Invalid, "the token has expired")
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // go-oidc wraps nothing here
		return nil, nil, fault.Newf(fault.Transient, "fetch the keys of the token issuer: %w", err)
	case err != nil:
		says := strings.TrimPrefix(err.Error(), "oidc: ")
		return nil, nil, fault.Newf(fault.Invalid, "the token is invalid: %.300s", says)
	case t.Subject == "":
		return nil, nil, fault.Newf(fault.Invalid, "the token is invalid: it has no subject")
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return nil, nil, fault.Newf(fault.Invalid, "the token is invalid: its claims are not an object")
	}
	return t, claims, nil
}

// issuer discovers the issuer, once.
func (v *Verifier) issuer() (*oidc.Provider, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.provider != nil {
		return v.provider, nil
	}
	if v.o.Now().Before(v.tryNext) {
		return nil, v.away
	}
	provider, err := oidc.NewProvider(v.http, v.o.Issuer)
	if err != nil {
		v.tryNext, v.away = v.o.Now().Add(pause), fmt.Errorf("discover %s: %.300s", v.o.Issuer, err)
		return nil, v.away
	}
	v.provider = provider
	return provider, nil
}

// role is the highest role that the claims give, "" when they give none.
func (v *Verifier) role(claims map[string]any) (role access.Role) {
	for _, value := range values(claims, v.o.RolesClaim) {
		r := access.Role(value)
		if v.o.Roles != nil {
			r = v.o.Roles[value]
		}
		if slices.Contains(access.Roles, r) && (role == "" || r.May(role)) {
			role = r
		}
	}
	return role
}

// claimAt is the value of a claim, nil where there is none. A name with dots is that of a claim, or when there is no
// such claim, a path: realm_access.roles. A path through what is no object is an error.
func claimAt(claims map[string]any, name string) (any, error) {
	claim, ok := claims[name]
	first, rest, dotted := strings.Cut(name, ".")
	if ok || !dotted {
		return claim, nil
	}
	inner, ok := claims[first].(map[string]any)
	if !ok && claims[first] != nil {
		return nil, fmt.Errorf("its claim %q is no object", first)
	}
	return claimAt(inner, rest)
}

// values are the texts in a claim: a list of them, or one text with spaces between, as in scope.
func values(claims map[string]any, name string) (out []string) {
	claim, _ := claimAt(claims, name) // where there is no such path, there are no values
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, v := range claim {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
