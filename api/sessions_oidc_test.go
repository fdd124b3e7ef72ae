package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// atIssuer is an API at which persons log in at an issuer.
func atIssuer(t *testing.T, change ...func(*api.GuardOptions)) (*apitest.Fort, *oidctest.Issuer) {
	t.Helper()

	i := oidctest.New(t)
	f := home(t, append([]func(*api.GuardOptions){func(o *api.GuardOptions) {
		i.At(o.Now)
		o.Tokens = oidc.New(oidc.Options{Issuer: i.URL, Audience: "conveyor", TenantClaim: "tenant", Now: o.Now})
		var err error
		o.Login, err = o.Tokens.Login(oidc.Client{
			ID: oidctest.ClientID, Secret: oidctest.ClientSecret, Redirect: "http://conveyor.test" + api.LoginCallback,
			Scopes: []string{"openid"},
		})
		require.NoError(t, err)
	}}, change...)...)
	return f, i
}

func TestLoginByOIDC(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	i.Lie(oidctest.Lies{Claims: map[string]any{"roles": "operate"}})
	require.Equal(t, []string{"oidc", "key"}, apitest.Read[api.Session](t, f.Get(t, "/session"), 200).Login)
	begun := f.Get(t, "/session/oidc")
	require.Regexp(t, `^conveyor_login=[\w-]+; Path=/; Max-Age=600; HttpOnly; SameSite=Lax$`, begun.Header.Get("Set-Cookie"))

	r := f.WalkIn(t, i, "/ui/dead-letters?queue=scraped.kijiji")
	require.Equal(t, http.StatusFound, r.Status, r.Body)
	require.Equal(t, "/ui/dead-letters?queue=scraped.kijiji", r.Header.Get("Location"))
	require.Regexp(t, `^conveyor_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`,
		r.Header.Values("Set-Cookie")[0])
	require.Regexp(t, `^conveyor_login=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax$`, r.Header.Values("Set-Cookie")[1])
	cookie := "conveyor_session=" + apitest.Cookies(r)["conveyor_session"]
	in := apitest.Read[api.Session](t, f.Get(t, "/session", "Cookie", cookie), 200)
	require.Equal(t, api.SessionCaller{Name: "oidc:jo", Role: access.Operate}, *in.Caller)
	apitest.Read[apitest.Page](t, f.Get(t, "/listings", "Cookie", cookie), 200)
	apitest.Refused(t, f.Get(t, "/keys", "Cookie", cookie), 403)

	f.Ask(t, "DELETE", "/session", "", "Cookie", cookie, ownPage, "same-origin")
	apitest.Refused(t, f.Get(t, "/listings", "Cookie", cookie), 401)
	rows, _, err := db.NewAuditLog(f.Pool).List(t.Context(), db.AuditFilter{Actor: []string{"oidc:jo"}}, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 2)
}

// A person is of the tenant that the claim names. One of none reads nothing of tenants, unless the role is operate.
func TestPersonsOfTenants(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	for _, id := range []string{"acme", "rival"} {
		apitest.Tenant(t, f.Pool, id)
	}
	for _, tt := range []struct {
		role, tenant string
		want         [3]int // of acme, of rival, of all that send
	}{
		{"read", "", [3]int{403, 403, 403}},
		{"operate", "", [3]int{200, 200, 200}},
		{"read", "acme", [3]int{200, 404, 403}},
		{"admin", "rival", [3]int{404, 200, 403}},
	} {
		claims := map[string]any{"roles": tt.role}
		if tt.tenant != "" {
			claims["tenant"] = tt.tenant
		}
		i.Lie(oidctest.Lies{Claims: claims})
		cookie := "conveyor_session=" + apitest.Cookies(f.WalkIn(t, i, "/ui/"))["conveyor_session"]
		got := [3]int{}
		for n, path := range []string{"/searches?tenant=acme", "/searches?tenant=rival", "/campaigns/shares"} {
			got[n] = f.Get(t, path, "Cookie", cookie).Status
		}
		require.Equal(t, tt.want, got, tt)
	}
}

// A person of a tenant that is erased gets no session, however often it is tried, and the audit has who it was.
func TestPersonOfAnErasedTenant(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	apitest.Tenant(t, f.Pool, "acme")
	i.Lie(oidctest.Lies{Claims: map[string]any{"roles": "admin", "tenant": "acme"}})
	require.NotEmpty(t, apitest.Cookies(f.WalkIn(t, i, "/ui/"))["conveyor_session"])
	stopped := func(t *db.Tenant) { t.State = db.TenantStopped }
	_, err := db.NewTenants(f.Pool).Change(t.Context(), "acme", "test", apitest.Now, stopped)
	require.NoError(t, err)
	require.NotEmpty(t, apitest.Cookies(f.WalkIn(t, i, "/ui/"))["conveyor_session"], "one that is stopped may look")
	_, err = dboutreach.NewErasures(f.Pool, nil).Request(t.Context(), "acme", "test", apitest.Now)
	require.NoError(t, err)
	f.Clock.Add(api.KeysFresh)
	for range 2 {
		r := f.WalkIn(t, i, "/ui/keys")
		require.Regexp(t, "^/ui/login\\?failed=tenant&", r.Header.Get("Location"))
		require.Equal(t, map[string]string{"conveyor_login": ""}, apitest.Cookies(r))
	}
	f.Recorded(t)
	require.Equal(t, 2, apitest.Value[int](t, &apitest.Door{Pool: f.Pool}, `SELECT sum((detail->'reasons'->>'erased_tenant')::int)::int FROM audit
		WHERE action = 'access.refused' AND actor = 'oidc:jo'`))
}

// Nor is anything told to a person of such a tenant who has a token, or a session that is not deleted yet.
func TestTokenOfAnErasedTenant(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	apitest.Tenant(t, f.Pool, "acme")
	claims := map[string]any{"roles": "admin", "tenant": "acme"}
	i.Lie(oidctest.Lies{Claims: claims})
	token := "Bearer " + i.Token(t, i.Claims(apitest.Now, claims))
	cookie := "conveyor_session=" + apitest.Cookies(f.WalkIn(t, i, "/ui/"))["conveyor_session"]
	ask := func() [2]apitest.Reply {
		return [2]apitest.Reply{f.Get(t, "/searches", "Authorization", token), f.Get(t, "/searches?tenant=acme", "Cookie", cookie)}
	}
	stopped := func(t *db.Tenant) { t.State = db.TenantStopped }
	_, err := db.NewTenants(f.Pool).Change(t.Context(), "acme", "test", apitest.Now, stopped)
	require.NoError(t, err)
	for _, r := range ask() {
		require.Equal(t, 200, r.Status, r.Body)
	}
	_, err = dboutreach.NewErasures(f.Pool, nil).Request(t.Context(), "acme", "test", apitest.Now)
	require.NoError(t, err)
	f.Clock.Add(api.KeysFresh)
	for _, r := range ask() {
		require.Contains(t, apitest.Refused(t, r, 403).Detail, `oidc:jo belongs to the tenant "acme", which is erased`)
	}
	f.Recorded(t)
	require.Equal(t, 2, apitest.Value[int](t, &apitest.Door{Pool: f.Pool}, `SELECT sum((detail->'reasons'->>'erased_tenant')::int)::int FROM audit
		WHERE action = 'access.refused' AND actor = 'oidc:jo'`))
}

// Sessions of persons end after 12 hours without a request, and after a week.
func TestSessionsOfPersonsEnd(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	i.Lie(oidctest.Lies{Claims: map[string]any{"roles": "read"}})
	enter := func() string {
		return "conveyor_session=" + apitest.Cookies(f.WalkIn(t, i, "/ui/"))["conveyor_session"]
	}
	asks := func(cookie string) int { return f.Get(t, "/listings", "Cookie", cookie).Status }
	idle, busy := enter(), enter()
	for range 15 {
		require.Equal(t, 200, asks(busy))
		require.Eventually(t, func() bool { return used(t, f) }, servicetest.Patience(), 5*time.Millisecond)
		f.Clock.Add(11 * time.Hour)
	}
	require.Equal(t, []int{401, 200}, []int{asks(idle), asks(busy)})
	f.Clock.Add(3 * time.Hour)
	require.Equal(t, 401, asks(busy), "a week is the end")
}

// A login that fails leads to a page that says what to do, without a word of the issuer, and gives no session.
func TestLoginsByOIDCThatFail(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	for name, tt := range map[string]struct {
		lies oidctest.Lies
		want string
	}{
		"another nonce":    {oidctest.Lies{Claims: map[string]any{"nonce": "x"}}, "invalid"},
		"another audience": {oidctest.Lies{Claims: map[string]any{"aud": "grafana"}}, "invalid"},
		"another state":    {oidctest.Lies{Redirect: url.Values{"state": {"x"}}}, "stale"},
		"an expired code":  {oidctest.Lies{Status: 400, Error: "invalid_grant"}, "stale"},
		"denied":           {oidctest.Lies{Redirect: url.Values{"error": {"access_denied"}}}, "denied"},
		"words":            {oidctest.Lies{Redirect: url.Values{"error": {"<script>"}, "error_description": {"<b>"}}}, "setup"},
		"no role":          {oidctest.Lies{}, "role"},
	} {
		i.Lie(tt.lies)
		r := f.WalkIn(t, i, "/ui/keys")
		u, err := url.Parse(r.Header.Get("Location"))
		require.NoError(t, err)
		q := u.Query()
		require.Equal(t, []string{"/ui/login", tt.want, "/ui/keys"}, []string{u.Path, q.Get("failed"), q.Get("to")}, name)
		require.Equal(t, r.Header.Get("X-Request-Id"), q.Get("request"))
		require.Len(t, q, 3)
		require.Equal(t, map[string]string{"conveyor_login": ""}, apitest.Cookies(r), name)
		require.NotContains(t, r.Body+r.Header.Get("Location"), "script")
	}
	for _, query := range []string{"", "?code=a&state=b", "?code=%ff&state=%00&error=a&error=b"} {
		r := f.Get(t, api.LoginCallback+query)
		require.Contains(t, r.Header.Get("Location"), "/ui/login?failed=stale", query)
	}
	i.Away.Store(true)
	away, _ := atIssuer(t, func(o *api.GuardOptions) {
		var err error
		o.Tokens = oidc.New(oidc.Options{Issuer: i.URL, Audience: "conveyor", Now: o.Now})
		o.Login, err = o.Tokens.Login(oidc.Client{ID: "x", Secret: "y"})
		require.NoError(t, err)
	})
	require.Contains(t, away.Get(t, "/session/oidc").Header.Get("Location"), "failed=away")

	without := home(t)
	without.Key(t, "ana", access.Read)
	for _, path := range []string{"/session/oidc", api.LoginCallback} {
		require.Contains(t, apitest.Refused(t, without.Get(t, path), 404).Detail, "no login by OIDC")
	}
}

// A login leads to pages of the console only.
func TestWhereLoginsLead(t *testing.T) {
	t.Parallel()
	f, i := atIssuer(t)
	i.Lie(oidctest.Lies{Claims: map[string]any{"roles": "read"}})
	for to, want := range map[string]string{
		"/ui/listings/1?a=b&text=é#top": "/ui/listings/1?a=b&text=%C3%A9#top",
		"/ui":                           "/ui", "": "/ui/", "/keys": "/ui/", "https://evil.example/ui/": "/ui/",
		"//evil.example/ui/": "/ui/", `/\evil.example/ui/`: "/ui/", "/ui/../keys": "/ui/", "javascript:alert(1)": "/ui/",
		"/ui/%2e%2e/keys": "/ui/", "/uix/": "/ui/", "ui/": "/ui/", "/ui/\r\nSet-Cookie: a=b": "/ui/",
		"/ui/" + strings.Repeat("é", 1900): "/ui/", "/ui/drafts?url=" + strings.Repeat("a", 2000): "/ui/",
		"/ui/keys/": "/ui/keys/", "/ui?a=b": "/ui?a=b",
		"///evil.example/../ui/": "/ui/", "////evil.example/../ui/": "/ui/", "/ui/..//evil.example/../ui/": "/ui/",
		"/.//evil.example/../ui/": "/ui/", "//me@/ui/": "/ui/", "//": "/ui/", "/ui/a/%2e%2e/%2e%2e/keys/../ui/": "/ui/",
	} {
		require.Equal(t, want, f.WalkIn(t, i, to).Header.Get("Location"), to)
	}
}

func TestLoginsByOIDCAreNotGuessed(t *testing.T) {
	t.Parallel()
	f, _ := atIssuer(t, func(o *api.GuardOptions) {
		o.TLS = true
		o.Refusals = limit.NewRate(nil, limit.RateOptions{Name: "refusals", Events: 1, Period: time.Hour, Burst: 2})
	})
	require.Regexp(t, `^__Host-conveyor_login=[\w-]+; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$`,
		f.Get(t, "/session/oidc").Header.Get("Set-Cookie"))
	for _, want := range []string{"stale", "stale", "wait"} {
		r := f.Get(t, api.LoginCallback+"?state=a&code=b", "Cookie", "__Host-conveyor_login=x")
		require.Contains(t, r.Header.Get("Location"), "failed="+want)
	}
}
