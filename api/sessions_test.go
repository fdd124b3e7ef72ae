package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// home serves the API with a guard that keeps sessions.
func home(t *testing.T, change ...func(*api.GuardOptions)) *apitest.Fort {
	t.Helper()

	pool := dbtest.New(t)
	return apitest.GuardedBy(t, pool, append([]func(*api.GuardOptions){func(o *api.GuardOptions) {
		o.Sessions, o.Audit, o.Tenants = db.NewSessions(pool), db.NewAuditLog(pool), db.NewTenants(pool)
	}}, change...)...)
}

// page is how a page of the console sends a change.
const ownPage = "Sec-Fetch-Site"

func TestSessions(t *testing.T) {
	t.Parallel()
	f := home(t)
	nobody := apitest.Read[api.Session](t, f.Get(t, "/session"), 200)
	require.Equal(t, api.SessionCaller{Name: "anonymous", Role: access.Admin}, *nobody.Caller)
	require.Equal(t, []any{false, 0}, []any{nobody.Locked, len(nobody.Login)})
	apitest.Refused(t, f.Ask(t, "POST", "/session", `{"key":"x"}`), http.StatusConflict)

	key := f.Key(t, "ana", access.Operate)
	f.Clock.Add(time.Minute)
	before := apitest.Read[api.Session](t, f.Get(t, "/session"), 200)
	require.Nil(t, before.Caller)
	require.Equal(t, []string{"key"}, before.Login)
	for _, wrong := range []string{"x", key[:len(key)-1], "cvr_aaaaaaaa_" + strings.Repeat("A", 43)} {
		r := f.Ask(t, "POST", "/session", `{"key":"`+wrong+`"}`)
		require.Equal(t, "unknown API key", apitest.Refused(t, r, 401).Detail)
		require.Empty(t, r.Header.Get("Set-Cookie"))
	}
	r := f.Ask(t, "POST", "/session", `{"key":"`+key+`"}`)
	require.Equal(t, http.StatusNoContent, r.Status)
	require.Regexp(t, `^conveyor_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`,
		r.Header.Get("Set-Cookie"))
	require.NotContains(t, r.Header.Get("Set-Cookie"), key)
	cookie := f.Login(t, key)
	in := apitest.Read[api.Session](t, f.Get(t, "/session", "Cookie", cookie), 200)
	require.Equal(t, api.SessionCaller{Name: "ana", Role: access.Operate}, *in.Caller)
	apitest.Read[apitest.Page](t, f.Get(t, "/listings", "Cookie", cookie), 200)
	apitest.Refused(t, f.Get(t, "/keys", "Cookie", cookie), 403) // its role is that of the key
	apitest.Refused(t, f.Get(t, "/listings", "Cookie", cookie, "Authorization", "Bearer x"), 401)
	apitest.Refused(t, f.Get(t, "/listings", "Cookie", cookie+"x"), 401)

	const process = "/listings/kijiji/1/process"
	for _, site := range []string{"cross-site", "same-site"} {
		p := apitest.Refused(t, f.Ask(t, "POST", process, "", "Cookie", cookie, ownPage, site), 403)
		require.Contains(t, p.Detail, "a page of another site")
	}
	p := apitest.Refused(t, f.Ask(t, "POST", process, "", "Cookie", cookie), 403)
	require.Contains(t, p.Detail, "Sec-Fetch-Site or Origin")
	apitest.Refused(t, f.Ask(t, "POST", process, "", "Cookie", cookie, ownPage, "same-origin"), 404) // there is no such advert
	apitest.Refused(t, f.Ask(t, "POST", process, "", "Cookie", cookie, "Origin", f.Address), 404)

	out := f.Ask(t, "DELETE", "/session", "", "Cookie", cookie, ownPage, "same-origin")
	require.Equal(t, http.StatusNoContent, out.Status)
	require.Contains(t, out.Header.Get("Set-Cookie"), "Max-Age=0")
	gone := f.Get(t, "/listings", "Cookie", cookie)
	require.Equal(t, "the session has ended; log in again", apitest.Refused(t, gone, 401).Detail)
	require.Contains(t, gone.Header.Get("Set-Cookie"), "Max-Age=0")
	require.Equal(t, http.StatusNoContent, f.Ask(t, "DELETE", "/session", "").Status)

	var trail []string
	rows, _, err := db.NewAuditLog(f.Pool).List(t.Context(), db.AuditFilter{Actor: []string{"ana"}}, nil, 10)
	require.NoError(t, err)
	for _, e := range rows {
		require.NotEmpty(t, e.RequestID)
		trail = append(trail, e.Action)
	}
	require.Equal(t, []string{"session.closed", "session.opened", "session.opened"}, trail)
}

// The addresses of other programs are for operators: keys of a tenant, and callers without one, are told of none.
func TestSessionLinks(t *testing.T) {
	t.Parallel()
	f := home(t)
	apitest.Tenant(t, f.Pool, "acme")
	links := api.SessionLinks{Temporal: "http://temporal.test", RabbitMQ: "http://rabbitmq.test", Grafana: "http://grafana.test", Docs: "/docs"}
	f.Serve(t, func(p *apitest.Parts) { p.Sessions.Links = links })
	require.Equal(t, links, apitest.Read[api.Session](t, f.Get(t, "/session"), 200).Links, "authentication is off")
	operator := f.Key(t, "ana", access.Read)
	theirs := f.Key(t, "acme-key", access.Operate, func(k *db.Key) { k.Tenant = "acme" })
	f.Clock.Add(time.Minute)
	for key, want := range map[string]api.SessionLinks{operator: links, theirs: {Docs: "/docs"}, "": {Docs: "/docs"}} {
		var headers []string
		if key != "" {
			headers = []string{"Authorization", "Bearer " + key}
		}
		require.Equal(t, want, apitest.Read[api.Session](t, f.Get(t, "/session", headers...), 200).Links)
	}
}

// An admin sees the sessions of all, and ends those of a caller at once; only those.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	f := home(t)
	root := "Bearer " + f.Key(t, "root", access.Admin)
	ana, bo := f.Key(t, "ana", access.Operate), f.Key(t, "bo", access.Read)
	first, second, other := f.Login(t, ana), f.Login(t, ana), f.Login(t, bo)
	for _, cookie := range []string{first, second, other} {
		require.Equal(t, 200, f.Get(t, "/listings", "Cookie", cookie).Status)
	}
	open := func() (callers []string) {
		for _, s := range apitest.Read[api.OpenSessionList](t, f.Get(t, "/sessions", "Authorization", root), 200).Items {
			require.Equal(t, []any{8, access.Role("")}, []any{len(s.KeyID), s.Role})
			require.WithinRange(t, s.EndsAt, s.CreatedAt, s.CreatedAt.Add(7*24*time.Hour))
			callers = append(callers, s.Caller)
		}
		return callers
	}
	require.ElementsMatch(t, []string{"ana", "ana", "bo"}, open())
	apitest.Refused(t, f.Get(t, "/sessions", "Cookie", first), 403)
	apitest.Refused(t, f.Ask(t, "DELETE", "/sessions?caller=bo", "", "Cookie", first, ownPage, "same-origin"), 403)
	apitest.Refused(t, f.Ask(t, "DELETE", "/sessions", "", "Authorization", root), 422)

	end := func(caller string) int64 {
		r := f.Ask(t, "DELETE", "/sessions?caller="+caller, "", "Authorization", root)
		return apitest.Read[api.SessionsEnded](t, r, 200).Ended
	}
	require.EqualValues(t, []int64{2, 0, 0}, []int64{end("ana"), end("ana"), end("nobody")})
	for _, cookie := range []string{first, second} {
		require.Equal(t, "the session has ended; log in again", apitest.Refused(t, f.Get(t, "/listings", "Cookie", cookie), 401).Detail)
	}
	require.Equal(t, 200, f.Get(t, "/listings", "Cookie", other).Status)
	require.Equal(t, []string{"bo"}, open())
	rows, _, err := db.NewAuditLog(f.Pool).List(t.Context(), db.AuditFilter{Actor: []string{"root"}, Action: []string{"session.ended"}}, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.JSONEq(t, `{"caller":"ana"}`, string(rows[0].Detail))

	f.Clock.Add(db.SessionIdle) // it has ended, though its row is there
	require.Empty(t, open())
}

// A session ends with its key, with its time, and when nobody uses it.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	f := home(t, func(o *api.GuardOptions) {
		o.Fixed = []access.Grant{{Name: "fixed", Role: access.Read, Sum: access.SumOf("cvr_bbbbbbbb_" + strings.Repeat("B", 43))}}
	})
	key := f.Key(t, "ana", access.Admin)
	asks := func(cookie string) int { return f.Get(t, "/listings", "Cookie", cookie).Status }
	revoked, fixed := f.Login(t, key), f.Login(t, "cvr_bbbbbbbb_"+strings.Repeat("B", 43))
	require.Equal(t, []int{200, 200}, []int{asks(revoked), asks(fixed)})
	_, err := f.KeyStore.Revoke(t.Context(), "ana", "test", apitest.Now)
	require.NoError(t, err)
	f.Clock.Add(api.KeysFresh)
	require.Equal(t, "the API key was revoked", apitest.Refused(t, f.Get(t, "/listings", "Cookie", revoked), 401).Detail)
	require.Nil(t, apitest.Read[api.Session](t, f.Get(t, "/session", "Cookie", revoked), 200).Caller)

	idle := f.Login(t, "cvr_bbbbbbbb_"+strings.Repeat("B", 43))
	for range 14 * 2 { // used every six hours
		require.Equal(t, 200, asks(fixed))
		require.Eventually(t, func() bool { return used(t, f) }, servicetest.Patience(), 5*time.Millisecond)
		f.Clock.Add(6*time.Hour - time.Second)
	}
	require.Equal(t, 401, asks(idle))
	require.Equal(t, 200, asks(fixed))
	f.Clock.Add(time.Minute)
	require.Equal(t, 401, asks(fixed), "a week is the end")
}

// used says whether the last request is stored as the use of a session.
func used(t *testing.T, f *apitest.Fort) (ok bool) {
	t.Helper()

	at := f.Clock.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, f.Pool.QueryRow(t.Context(),
		"SELECT exists(SELECT FROM sessions WHERE used_at = $1)", at).Scan(&ok))
	return ok
}

func TestSessionsOverTLS(t *testing.T) {
	t.Parallel()
	f := home(t, func(o *api.GuardOptions) { o.TLS = true })
	r := f.Ask(t, "POST", "/session", `{"key":"`+f.Key(t, "ana", access.Read)+`"}`)
	require.Regexp(t, `^__Host-conveyor_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict$`,
		r.Header.Get("Set-Cookie"))
}

// Wrong keys of an address are slowed down at the login as everywhere, and made-up cookies do not ask the database.
func TestSessionsAreNotGuessed(t *testing.T) {
	t.Parallel()
	f := home(t, func(o *api.GuardOptions) {
		o.Refusals = limit.NewRate(nil, limit.RateOptions{Name: "refusals", Events: 1, Period: time.Hour, Burst: 2})
		o.Addresses = limit.NewRate(nil, limit.RateOptions{Name: "addresses", Events: 1, Period: time.Hour, Burst: 6})
	})
	cookie := f.Login(t, f.Key(t, "ana", access.Read))
	for _, status := range []int{401, 401, 429} {
		apitest.Refused(t, f.Ask(t, "POST", "/session", `{"key":"x"}`), status)
	}
	apitest.Read[apitest.Page](t, f.Get(t, "/listings", "Cookie", cookie), 200)
	for _, status := range []int{401, 429, 429} {
		apitest.Refused(t, f.Get(t, "/listings", "Cookie", cookie+strings.Repeat("y", status)), status)
	}
	apitest.Read[apitest.Page](t, f.Get(t, "/listings", "Cookie", cookie), 200) // it is known
}
