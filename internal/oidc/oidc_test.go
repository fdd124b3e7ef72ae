package oidc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
)

var start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// verifier checks tokens of i by a clock that the test moves.
func verifier(i *oidctest.Issuer, change ...func(*oidc.Options)) (v *oidc.Verifier, now *time.Time) {
	at := start
	o := oidc.Options{Issuer: i.URL, Audience: "conveyor", Now: func() time.Time { return at }}
	for _, f := range change {
		f(&o)
	}
	return oidc.New(o), &at
}

func TestVerify(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	v, _ := verifier(i)
	with := func(name string, value any) map[string]any { return i.Claims(start, map[string]any{name: value}) }
	for _, tt := range []struct {
		name, token string
		wrong       string // the message to the sender
	}{
		{"good", i.Token(t, with("roles", []string{"operate"})), ""},
		{"one audience", i.Token(t, with("aud", "conveyor")), ""},
		{"expired", i.Token(t, with("exp", start.Add(-time.Second).Unix())), "the token has expired"},
		{"never expires", i.Token(t, with("exp", nil)), "the token has expired"},
		{"not yet", i.Token(t, with("nbf", start.Add(time.Hour).Unix())), "not before"},
		{"another audience", i.Token(t, with("aud", "grafana")), `expected audience "conveyor"`},
		{"no audience", i.Token(t, with("aud", nil)), `expected audience "conveyor"`},
		{"another issuer", i.Token(t, with("iss", "https://evil.example")), "different provider"},
		{"no issuer", i.Token(t, with("iss", nil)), "different provider"},
		{"no subject", i.Token(t, with("sub", nil)), "no subject"},
		{"a stranger's signature", i.Stranger(t, with("roles", "admin")), "signature"},
		{"alg none", i.Unsigned(t, with("roles", "admin")), "the token is invalid"},
		{"alg HS256 by the public key", i.Shared(t, with("roles", "admin")), "the token is invalid"},
		{"changed after it was signed", tampered(i.Token(t, with("roles", "read"))), "the token is invalid"},
		{"without its signature", strings.TrimRight(i.Token(t, with("roles", "admin")), "abcdefghijklmnopqrstuvwxyz"+
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"), "the token is invalid"},
		{"no token", "hunter2", "the token is malformed"},
		{"JSON", `{"payload":"e30","signatures":[{},{}]}..`, "the token is invalid"},
		{"without end", strings.Repeat("a.", 2) + strings.Repeat("a", 1<<20), "the token is malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Verify(t.Context(), tt.token)
			if tt.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, "oidc:jo", got.Name)
				return
			}
			require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
			require.ErrorContains(t, err, tt.wrong)
			require.Zero(t, got)
		})
	}
}

// tampered gives a token another payload under its old signature.
func tampered(token string) string {
	parts := strings.Split(token, ".")
	parts[1] = "eyJzdWIiOiJhZG1pbiJ9" // {"sub":"admin"}
	return strings.Join(parts, ".")
}

func TestRoles(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	mapped := map[string]access.Role{"ops-admins": access.Admin, "ops": access.Operate}
	for _, tt := range []struct {
		name, claim string
		mapping     map[string]access.Role
		claims      map[string]any
		want        access.Role
	}{
		{"a role's name", "", nil, map[string]any{"roles": []string{"operate"}}, access.Operate},
		{"the highest of several", "", nil, map[string]any{"roles": []string{"read", "admin", "x", "operate"}}, access.Admin},
		{"words in one text", "scope", nil, map[string]any{"scope": "openid read operate"}, access.Operate},
		{"none of ours", "", nil, map[string]any{"roles": []string{"root"}}, ""},
		{"no claim", "", nil, nil, ""},
		{"a claim of another kind", "", nil, map[string]any{"roles": 7}, ""},
		{"not only texts", "", nil, map[string]any{"roles": []any{7, "read", nil}}, access.Read},
		{"a path", "realm_access.roles", nil,
			map[string]any{"realm_access": map[string]any{"roles": []string{"admin"}}}, access.Admin},
		{"a path that ends early", "realm_access.roles", nil, map[string]any{"realm_access": "roles"}, ""},
		{"a name with dots", "https://conveyor.example/roles", nil,
			map[string]any{"https://conveyor.example/roles": []string{"read"}}, access.Read},
		{"a mapped value", "groups", mapped, map[string]any{"groups": []string{"staff", "ops"}}, access.Operate},
		{"the highest mapped", "groups", mapped, map[string]any{"groups": []string{"ops-admins", "ops"}}, access.Admin},
		{"with a mapping our names are nothing", "groups", mapped, map[string]any{"groups": []string{"admin"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, _ := verifier(i, func(o *oidc.Options) { o.RolesClaim, o.Roles = tt.claim, tt.mapping })
			got, err := v.Verify(t.Context(), i.Token(t, i.Claims(start, tt.claims)))
			require.NoError(t, err)
			require.Equal(t, access.Caller{Name: "oidc:jo", Role: tt.want}, got)
		})
	}
}

// A token is of the tenant that its claim names, and of no two.
func TestTenantClaim(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	for _, tt := range []struct {
		claim  string
		claims map[string]any
		want   string
		err    string
	}{
		{"", map[string]any{"tenant": "acme"}, "", ""},
		{"tenant", map[string]any{"tenant": "acme"}, "acme", ""},
		{"org.tenant", map[string]any{"org": map[string]any{"tenant": []string{"acme"}}}, "acme", ""},
		{"tenant", nil, "", ""},
		{"tenant", map[string]any{"tenant": []string{"acme", "other"}}, "", "names 2 tenants"},
		{"tenant", map[string]any{"tenant": "*"}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": nil}, "", ""},
		{"org.tenant", map[string]any{"org": nil}, "", ""},
		{"org.tenant", map[string]any{"org": map[string]any{"name": "x"}}, "", ""},
		{"org.tenant", map[string]any{"org.tenant": "acme", "org": 1}, "acme", ""},
		{"tenant", map[string]any{"tenant": ""}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": " "}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": 42}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": false}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": map[string]any{"acme": map[string]any{}}}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": []string{}}, "", "names 0 tenants"},
		{"tenant", map[string]any{"tenant": []any{nil}}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": []any{""}}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": []any{map[string]any{"id": "acme"}}}, "", "names no tenant"},
		{"tenant", map[string]any{"tenant": []any{42, "acme"}}, "", "names 2 tenants"},
		{"org.tenant", map[string]any{"org": "acme"}, "", "is no object"},
		{"org.tenant", map[string]any{"org": []any{map[string]any{"tenant": "acme"}}}, "", "is no object"},
		{"tenant", map[string]any{"tenant": "acme other"}, "", "names no tenant"},
	} {
		v, _ := verifier(i, func(o *oidc.Options) { o.TenantClaim = tt.claim })
		got, err := v.Verify(t.Context(), i.Token(t, i.Claims(start, tt.claims)))
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
			require.Equal(t, fault.Invalid, fault.ClassOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, got.Tenant)
	}
}

// A new key of the issuer is found when it is first seen. Tokens with made-up signatures do not make us ask each time.
func TestRotation(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	v, now := verifier(i)
	good := i.Claims(start, map[string]any{"roles": "read"})
	_, err := v.Verify(t.Context(), i.Token(t, good))
	require.NoError(t, err)
	old := i.Token(t, good)

	i.Rotate(t, "second")
	*now = now.Add(time.Minute)
	for _, token := range []string{i.Token(t, good), old} {
		_, err = v.Verify(t.Context(), token)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, i.Fetches.Load())

	for n := range 20 {
		_, err = v.Verify(t.Context(), i.Stranger(t, i.Claims(start, map[string]any{"roles": "read", "jti": n})))
		require.Error(t, err)
	}
	require.EqualValues(t, 2, i.Fetches.Load())
	*now = now.Add(time.Minute)
	_, err = v.Verify(t.Context(), i.Stranger(t, good))
	require.Error(t, err)
	require.EqualValues(t, 3, i.Fetches.Load())
}

// An issuer that is away is not the token's fault, and is found when it is back.
func TestIssuerIsAway(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	i.Away.Store(true)
	v, now := verifier(i)
	token := i.Token(t, i.Claims(start, map[string]any{"roles": "read"}))
	transient := func(token string) {
		t.Helper()
		_, err := v.Verify(t.Context(), token)
		require.Equal(t, fault.Transient, fault.ClassOf(err), "%v", err)
	}
	transient(token)
	transient(token)
	i.Away.Store(false)
	*now = now.Add(time.Minute)
	_, err := v.Verify(t.Context(), token)
	require.NoError(t, err)

	// Its known keys go on being good while it is away; an unknown one cannot be judged.
	i.Away.Store(true)
	*now = now.Add(time.Minute)
	_, err = v.Verify(t.Context(), token)
	require.NoError(t, err)
	i.Rotate(t, "second")
	transient(i.Token(t, i.Claims(start, nil)))

	// An issuer that says it is another one is never believed.
	wrong, _ := verifier(i, func(o *oidc.Options) { o.Issuer = i.URL + "/" })
	i.Away.Store(false)
	_, err = wrong.Verify(t.Context(), token)
	require.ErrorContains(t, err, "did not match")
}
