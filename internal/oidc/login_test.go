package oidc_test

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
)

const back = "http://conveyor.test/session/oidc/callback"

// login is the login of a client at i, by a clock that the test moves.
func login(t *testing.T, i *oidctest.Issuer) (l *oidc.Login, now *time.Time) {
	t.Helper()

	v, now := verifier(i)
	i.At(func() time.Time { return *now })
	l, err := v.Login(oidc.Client{
		ID: oidctest.ClientID, Secret: oidctest.ClientSecret, Redirect: back, Scopes: []string{"openid", "groups"},
	})
	require.NoError(t, err)
	return l, now
}

func TestLogin(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	i.Lie(oidctest.Lies{Claims: map[string]any{"roles": []string{"operate"}}})
	l, _ := login(t, i)
	address, sealed, err := l.Begin("/ui/listings?text=é")
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	q := u.Query()
	require.Equal(t, []string{"console", back, "openid groups", "S256", "code"}, []string{
		q.Get("client_id"), q.Get("redirect_uri"), q.Get("scope"), q.Get("code_challenge_method"), q.Get("response_type"),
	})
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		require.GreaterOrEqual(t, len(q.Get(name)), 26, name)
		require.NotContains(t, sealed, q.Get(name))
	}
	answer := i.Visit(t, address)
	who, to, err := l.Finish(t.Context(), sealed, answer)
	require.NoError(t, err)
	require.Equal(t, access.Caller{Name: "oidc:jo", Role: access.Operate}, who)
	require.Equal(t, "/ui/listings?text=é", to)

	_, _, err = l.Finish(t.Context(), sealed, answer)
	reasoned(t, oidc.Stale, err) // the code was exchanged
}

func reasoned(t *testing.T, want oidc.Reason, err error) {
	t.Helper()

	f, ok := errors.AsType[*oidc.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, f.Reason, "%v", err)
}

// A role that the ID token does not give may be in the access token, if that is a good one of the API and the person.
func TestRolesOfLogins(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lies oidctest.Lies
		want access.Role
	}{
		"none":                  {oidctest.Lies{}, ""},
		"of the access token":   {oidctest.Lies{Access: map[string]any{"roles": "admin"}}, access.Admin},
		"of another person":     {oidctest.Lies{Access: map[string]any{"roles": "admin", "sub": "kim"}}, ""},
		"of another API":        {oidctest.Lies{Access: map[string]any{"roles": "admin", "aud": "grafana"}}, ""},
		"of the ID token first": {oidctest.Lies{Access: map[string]any{"roles": "admin"}, Claims: map[string]any{"roles": "read"}}, access.Read},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := oidctest.New(t)
			i.Lie(tt.lies)
			l, _ := login(t, i)
			address, sealed, err := l.Begin("/ui/")
			require.NoError(t, err)
			who, _, err := l.Finish(t.Context(), sealed, i.Visit(t, address))
			require.NoError(t, err)
			require.Equal(t, tt.want, who.Role)
		})
	}
}

// Whatever an issuer, or who speaks in its place, says wrong is refused, with a reason that a person can act on.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	says := func(name string, value ...string) oidctest.Lies {
		return oidctest.Lies{Redirect: url.Values{name: value}}
	}
	claims := func(name string, value any) oidctest.Lies {
		return oidctest.Lies{Claims: map[string]any{"roles": "admin", name: value}}
	}
	for name, tt := range map[string]struct {
		lies oidctest.Lies
		want oidc.Reason
	}{
		"another state":             {says("state", "x"), oidc.Stale},
		"no state":                  {says("state"), oidc.Stale},
		"an unknown code":           {says("code", "x"), oidc.Stale},
		"no code":                   {says("code"), oidc.Stale},
		"an expired code":           {oidctest.Lies{Status: 400, Error: "invalid_grant"}, oidc.Stale},
		"denied":                    {says("error", "access_denied"), oidc.Denied},
		"out of order":              {says("error", "temporarily_unavailable"), oidc.Away},
		"a scope that is not":       {says("error", "<script>"), oidc.Setup},
		"an unknown client":         {oidctest.Lies{Status: 401, Error: "invalid_client"}, oidc.Setup},
		"an exchange that fails":    {oidctest.Lies{Status: 502}, oidc.Away},
		"an exchange that leads on": {oidctest.Lies{Status: 307}, oidc.Away},
		"the answer of another":     {says("iss", "https://evil.example"), oidc.Invalid},
		"no ID token":               {oidctest.Lies{NoToken: true}, oidc.Invalid},
		"a stranger's signature":    {oidctest.Lies{Stranger: true}, oidc.Invalid},
		"another nonce":             {claims("nonce", "x"), oidc.Invalid},
		"no nonce":                  {claims("nonce", nil), oidc.Invalid},
		"another audience":          {claims("aud", "conveyor"), oidc.Invalid},
		"issued to another":         {claims("azp", "grafana"), oidc.Invalid},
		"another issuer":            {claims("iss", "https://evil.example"), oidc.Invalid},
		"expired":                   {claims("exp", start.Add(-time.Minute).Unix()), oidc.Invalid},
		"no subject":                {claims("sub", ""), oidc.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := oidctest.New(t)
			i.Lie(tt.lies)
			l, _ := login(t, i)
			address, sealed, err := l.Begin("/ui/keys")
			require.NoError(t, err)
			who, to, err := l.Finish(t.Context(), sealed, i.Visit(t, address))
			reasoned(t, tt.want, err)
			require.Zero(t, who)
			require.Equal(t, "/ui/keys", to)
		})
	}
}

func TestWhatALoginKeeps(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	l, now := login(t, i)
	address, sealed, err := l.Begin("/ui/")
	require.NoError(t, err)
	answer := i.Visit(t, address)
	_, other, err := l.Begin("/ui/")
	require.NoError(t, err)
	forged := "A" + sealed[1:]
	if sealed[0] == 'A' {
		forged = "B" + sealed[1:]
	}
	for name, wrong := range map[string]string{
		"none": "", "of another login": other, "changed": forged, "no base64": "é", "short": "AAAA",
	} {
		_, _, err := l.Finish(t.Context(), wrong, answer)
		require.Error(t, err, name)
		reasoned(t, oidc.Stale, err)
	}
	*now = now.Add(oidc.LoginTime)
	_, _, err = l.Finish(t.Context(), sealed, answer)
	reasoned(t, oidc.Stale, err)
	*now = start

	i.Away.Store(true)
	_, _, err = l.Finish(t.Context(), sealed, answer)
	reasoned(t, oidc.Away, err)
	unknown, _ := login(t, i)
	_, _, err = unknown.Begin("/ui/")
	reasoned(t, oidc.Away, err)

	// A secret that the issuer does not know opens nothing that another one sealed.
	v, _ := verifier(i)
	stranger, err := v.Login(oidc.Client{ID: oidctest.ClientID, Secret: "another", Redirect: back})
	require.NoError(t, err)
	_, _, err = stranger.Finish(t.Context(), sealed, answer)
	reasoned(t, oidc.Stale, err)
	_, err = v.Login(oidc.Client{ID: oidctest.ClientID, Redirect: back})
	require.ErrorContains(t, err, "CONVEYOR_OIDC_CLIENT_SECRET is missing")
}
