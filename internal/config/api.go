package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/access"
)

// API is the HTTP API: its address, static keys and rate limits.
type API struct {
	Address string `env:"CONVEYOR_API_ADDRESS" envDefault:"127.0.0.1:8080" doc:"address that the API listens on"`
	URL     string `env:"CONVEYOR_API_URL" envDefault:"http://127.0.0.1:8080" doc:"URL at which clients reach the API" validate:"scheme=http https"`
	Key     string `env:"CONVEYOR_API_KEY" envDefault:"" secret:"all" doc:"key with which commands such as conveyor status call the API"`

	Keys        []string `env:"CONVEYOR_API_KEYS" envDefault:"" secret:"all" doc:"keys in addition to those of conveyor keys: name:role:sha256 by commas, as conveyor keys create --print-env prints them"`
	KeyMaxAge   int      `env:"CONVEYOR_KEY_MAX_AGE" envDefault:"0" doc:"days after its creation at which a key of conveyor keys expires at the latest; 0 sets no end" validate:"min=0,max=36500"`
	Open        bool     `env:"CONVEYOR_API_OPEN" envDefault:"false" doc:"listen on CONVEYOR_API_ADDRESS also while authentication is off; for private networks"`
	Rate        int      `env:"CONVEYOR_API_RATE" envDefault:"50" doc:"requests per second of one caller in the long run; 0 is unlimited" validate:"min=0"`
	Burst       int      `env:"CONVEYOR_API_BURST" envDefault:"100" doc:"requests of one caller at once" validate:"min=1"`
	WriteRate   int      `env:"CONVEYOR_API_WRITE_RATE" envDefault:"20" doc:"changes per second of one caller in the long run, five times as many at once; 0 is unlimited" validate:"min=0"`
	AddressRate int      `env:"CONVEYOR_API_ADDRESS_RATE" envDefault:"200" doc:"requests per second to public routes, and tokens to verify, of one address in one process, five times as many at once; 0 is unlimited" validate:"min=0"`
	Connections int      `env:"CONVEYOR_API_CONNECTIONS" envDefault:"1000" doc:"open connections per process; further ones take the places of idle ones, or wait, and one address that is no proxy has at most half" validate:"min=10"`
	Hosts       []string `env:"CONVEYOR_API_HOSTS" envDefault:"" doc:"host names, by commas, at which the API may be called while authentication is off, besides localhost, IP addresses and the host of CONVEYOR_API_URL" validate:"dive,host"`
	Proxies     []string `env:"CONVEYOR_API_PROXIES" envDefault:"" doc:"addresses and networks of trusted proxies, by commas: their X-Forwarded-For is used" validate:"dive,network"`
}

// OIDC is the issuer of bearer tokens that the API accepts, and of logins to the console.
type OIDC struct {
	Issuer      string   `env:"CONVEYOR_OIDC_ISSUER" envDefault:"" doc:"issuer of bearer tokens: an https URL, equal to the claim iss; empty turns tokens off" validate:"omitempty,issuer"`
	Audience    string   `env:"CONVEYOR_OIDC_AUDIENCE" envDefault:"" doc:"audience that tokens must have in the claim aud; required with an issuer"`
	RolesClaim  string   `env:"CONVEYOR_OIDC_ROLES_CLAIM" envDefault:"roles" doc:"claim with the roles, or a path such as realm_access.roles"`
	TenantClaim string   `env:"CONVEYOR_OIDC_TENANT_CLAIM" envDefault:"" doc:"claim with the tenant of a caller, or such a path: it reaches data of that tenant, as a key of the tenant does; a token without one reaches data of tenants with the role operate only"`
	Roles       []string `env:"CONVEYOR_OIDC_ROLES" envDefault:"" doc:"role of each value of the claim: admin=ops-admins,operate=ops; empty: the values are read, operate and admin"`

	ClientID     string   `env:"CONVEYOR_OIDC_CLIENT_ID" envDefault:"" doc:"client of the issuer that persons log in to the console by, with the redirect URL CONVEYOR_API_URL/session/oidc/callback; empty: they log in by API key"`
	ClientSecret string   `env:"CONVEYOR_OIDC_CLIENT_SECRET" envDefault:"" secret:"all" doc:"its secret; the same in every process of the API"`
	Scopes       []string `env:"CONVEYOR_OIDC_SCOPES" envDefault:"openid" doc:"scopes that a login asks for, by commas: openid, and those that the roles claim needs"`
}

// KeysWithin is CONVEYOR_KEY_MAX_AGE.
func (a API) KeysWithin() time.Duration { return time.Duration(a.KeyMaxAge) * 24 * time.Hour }

// check tests the static keys.
func (a API) check(Config) []string {
	if _, err := a.Grants(); err != nil {
		return []string{"CONVEYOR_API_KEYS " + err.Error()}
	}
	return nil
}

// check tests that an issuer has an audience, the client, and the mapping of roles. The client's secret is the API's
// alone, so that it may be missing here: oidc.Login refuses that.
func (o OIDC) check(Config) (wrong []string) {
	if o.Issuer != "" && o.Audience == "" {
		wrong = append(wrong, "CONVEYOR_OIDC_AUDIENCE is missing; without it the API would accept tokens for any other service of the issuer")
	}
	switch {
	case o.ClientID == "" && o.ClientSecret == "":
	case o.Issuer == "":
		wrong = append(wrong, "CONVEYOR_OIDC_ISSUER is missing: CONVEYOR_OIDC_CLIENT_ID is a client of it")
	case o.ClientID == "":
		wrong = append(wrong, "CONVEYOR_OIDC_CLIENT_ID is missing: CONVEYOR_OIDC_CLIENT_SECRET is of it")
	case !slices.Contains(o.Scopes, "openid"):
		wrong = append(wrong, "CONVEYOR_OIDC_SCOPES has not openid, without which an issuer does not say who logs in")
	}
	if _, err := o.Mapping(); err != nil {
		wrong = append(wrong, "CONVEYOR_OIDC_ROLES "+err.Error())
	}
	return wrong
}

// Grants returns the keys of CONVEYOR_API_KEYS. The error quotes no key.
func (a API) Grants() ([]access.Grant, error) {
	var out []access.Grant
	for i, s := range a.Keys {
		g, err := access.ParseGrant(s)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// Mapping returns the role of each value of the roles claim; nil when the values are the names of roles.
func (o OIDC) Mapping() (map[string]access.Role, error) {
	var out map[string]access.Role
	for _, s := range o.Roles {
		name, value, ok := strings.Cut(strings.TrimSpace(s), "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("has %q, expected role=value", s)
		}
		role, err := access.ParseRole(name)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]access.Role{}
		}
		if !out[value].May(role) { // the higher of two
			out[value] = role
		}
	}
	return out, nil
}

// isIssuer accepts https, and http on the loopback interface.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && address.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && local
}
