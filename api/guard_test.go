package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// openOperations are the operations that need no key; to add one is a decision.
var openOperations = []string{"health", "ready", "get-image", "verify-whatsapp-webhook", "receive-whatsapp-webhook",
	"get-feed", "show-confirmation", "confirm-subscription", "show-unsubscription", "unsubscribe",
	"get-session", "open-session", "close-session", "begin-oidc-login", "finish-oidc-login"}

// tenantOperations are the operations that keys of tenants may call; to add one is a decision, and it needs a row in walk
// for the test that it shows a tenant nothing of another one.
var tenantOperations = []string{
	"list-contact-lists", "create-contact-list", "change-contact-list", "delete-contact-list",
	"search-contacts", "count-contacts", "export-contacts", "get-contact", "export-person", "delete-contact",
	"opt-out-contact", "opt-out-person", "list-opt-outs", "put-contact", "tag-contacts",
	"list-segments", "create-segment", "get-segment", "change-segment", "change-segment-part", "delete-segment",
	"create-upload", "list-uploads", "get-upload", "preview-upload", "set-upload-options", "start-upload",
	"cancel-upload", "get-upload-errors", "watch-upload", "list-upload-refusals", "list-upload-reasons",
	"list-senders",
	"create-campaign", "list-campaigns", "get-campaign", "edit-campaign", "start-campaign", "unschedule-campaign",
	"pause-campaign", "resume-campaign", "cancel-campaign", "retry-failed-messages", "list-campaign-messages",
	"count-campaign-audience", "list-campaign-errors", "send-message", "list-messages", "get-message", "show-message-recipient", "retry-message",
	"list-search-deliveries", "list-search-matches",
	"save-search", "list-searches", "get-search", "change-search", "delete-search", "try-search",
	"add-search-target", "challenge-search-target", "delete-search-target", "rotate-search-target",
	"find",
}

// Every operation names the role that it needs, and refuses callers without it; those of tenants it refuses whatever
// their role, unless it is for them. docs/security.md has those without one.
func TestEveryOperationAsksForItsRole(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	held := map[access.Role]string{"": "cvr_aaaaaaaa_" + strings.Repeat("A", 43)}
	for _, role := range access.Roles {
		held[role] = f.Key(t, string(role), role)
	}
	apitest.Tenant(t, f.Pool, "acme")
	OfTenant := f.Key(t, "acme-admin", access.Admin, func(k *db.Key) { k.Tenant = "acme" })
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Role        string `json:"x-required-role"`
			Description string
			Security    []map[string][]string
			Responses   map[string]any
		}
		Components struct{ SecuritySchemes map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(f.Get(t, "/openapi.json").Body), &doc))
	require.Contains(t, doc.Components.SecuritySchemes, "bearer")
	page, err := os.ReadFile("../docs/security.md")
	require.NoError(t, err)
	seen := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			seen++
			name := method + " " + path
			real := strings.NewReplacer("{", "", "}", "").Replace(path)
			if slices.Contains(openOperations, o.OperationID) {
				require.Empty(t, o.Role, name)
				require.Contains(t, string(page), "`"+path+"`", "docs/security.md")
				require.NotEqual(t, http.StatusUnauthorized, f.Ask(t, strings.ToUpper(method), real, "").Status, name)
				continue
			}
			role, err := access.ParseRole(o.Role)
			require.NoErrorf(t, err, "%s: say needs(role, …) where it is registered, or make it open", name)
			require.Equal(t, []map[string][]string{{"bearer": {}}}, o.Security, name)
			require.Contains(t, o.Description, "Needs the role "+o.Role, name)
			if o.OperationID != "metrics" {
				require.Subset(t, keysOf(o.Responses), []string{"401", "403", "429"}, name)
			}
			none := apitest.Refused(t, f.Ask(t, strings.ToUpper(method), real, ""), http.StatusUnauthorized)
			require.Contains(t, none.Detail, "Authorization: Bearer")
			if !slices.Contains(tenantOperations, o.OperationID) {
				p := apitest.Refused(t, f.As(t, OfTenant, strings.ToUpper(method), real), http.StatusForbidden)
				require.Equal(t, "API keys of a tenant may not call this; acme-admin belongs to acme", p.Detail, name)
			}
			for _, has := range append([]access.Role{""}, access.Roles...) {
				r := f.As(t, held[has], strings.ToUpper(method), real)
				switch {
				case has == "":
					apitest.Refused(t, r, http.StatusUnauthorized)
				case !has.May(role):
					p := apitest.Refused(t, r, http.StatusForbidden)
					require.Equal(t, fmt.Sprintf("needs the role %s; %s has %s", role, has, has), p.Detail)
				default:
					require.NotContains(t, []int{401, 403, 429}, r.Status, name)
				}
			}
		}
	}
	require.Greater(t, seen, 8)
}

func keysOf(m map[string]any) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// Of the routes that are no operations, those of the console and the documentation are open; others do not exist.
func TestOpenRoutes(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	f.Key(t, "ci", access.Read)
	for path, status := range map[string]int{
		"/": 302, "/ui/": 200, "/ui/listings": 200, "/ui/assets/none.js": 404, "/docs": 200, "/docs/swagger-ui.css": 200, "/openapi.json": 200, "/openapi.yaml": 200,
		"/openapi-3.0.json": 200, "/health": 200, "/ready": 200, "/nothing": 404, "/debug/pprof/": 404,
	} {
		require.Equal(t, status, f.Get(t, path).Status, path)
	}
	require.Equal(t, http.StatusMethodNotAllowed, f.Ask(t, http.MethodPost, "/listings", "").Status)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t, func(o *api.GuardOptions) {
		grant, err := access.ParseGrant("fixed:read:cvr_bbbbbbbb_" + strings.Repeat("B", 43))
		require.NoError(t, err)
		o.Fixed = []access.Grant{grant, {Name: "weak", Role: access.Admin, Sum: access.SumOf("hunter2")}}
	})
	good := f.Key(t, "ci", access.Read)
	soon := apitest.Now.Add(time.Hour)
	short := f.Key(t, "short", access.Read, func(k *db.Key) { k.ExpiresAt = &soon })
	other := good[:len(good)-1] + "A"
	if other == good {
		other = good[:len(good)-1] + "Q"
	}
	for _, tt := range []struct {
		name, header string
		status       int
		detail       string
	}{
		{"a key", "Bearer " + good, 200, ""},
		{"a key, lower case", "bearer " + good, 200, ""},
		{"a key, more spaces", "Bearer   " + good + " ", 200, ""},
		{"a key of the settings", "Bearer cvr_bbbbbbbb_" + strings.Repeat("B", 43), 200, ""},
		{"a key that is good for an hour", "Bearer " + short, 200, ""},
		{"nothing", "", 401, "no credentials: send the header Authorization: Bearer KEY, with an API key or a token"},
		{"another secret", "Bearer " + other, 401, "unknown API key"},
		{"another ID", "Bearer cvr_aaaaaaaa_" + strings.Repeat("A", 43), 401, "unknown API key"},
		{"a piece of a key", "Bearer " + good[:20], 401, "unknown API key"},
		{"a token, where no issuer is", "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln", 401, "unknown API key"},
		{"the name", "Bearer ci", 401, "unknown API key"},
		{"a text whose sum is in the settings", "Bearer hunter2", 401, "unknown API key"},
		{"another scheme", "Basic " + good, 401, "the header Authorization is not of the form Bearer KEY"},
		{"the key alone", good, 401, "the header Authorization is not of the form Bearer KEY"},
		{"no key", "Bearer ", 401, "the header Authorization is not of the form Bearer KEY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := f.Get(t, "/listings", "Authorization", tt.header)
			if tt.status == 200 {
				apitest.Read[apitest.Page](t, r, 200)
				return
			}
			require.Equal(t, tt.detail, apitest.Refused(t, r, tt.status).Detail)
			challenge := r.Header.Get("WWW-Authenticate")
			require.True(t, strings.HasPrefix(challenge, `Bearer realm="conveyor"`), challenge)
			require.Equal(t, tt.header != "", strings.Contains(challenge, "invalid_token"))
		})
	}
	for _, elsewhere := range []string{"?key=" + good, "?access_token=" + good} {
		apitest.Refused(t, f.Get(t, "/listings"+elsewhere), http.StatusUnauthorized) // or it would stand in every log
	}
	apitest.Refused(t, f.Get(t, "/listings", "X-API-Key", good), http.StatusUnauthorized)

	f.Clock.Add(time.Hour)
	require.Equal(t, "the API key has expired", apitest.Refused(t, f.As(t, short, "GET", "/listings"), 401).Detail)
	_, err := f.KeyStore.Revoke(t.Context(), "ci", "test", apitest.Now)
	require.NoError(t, err)
	f.Clock.Add(api.KeysFresh)
	require.Equal(t, "the API key was revoked", apitest.Refused(t, f.As(t, good, "GET", "/listings"), 401).Detail)
	require.Equal(t, "unknown API key", apitest.Refused(t, f.As(t, other, "GET", "/listings"), 401).Detail,
		"a caller without the key learns nothing of it")
}

// A revoked key is remembered for at most five seconds, a new one is found at once, and its use is noted.
func TestKeysAreCached(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	first := f.Key(t, "first", access.Read)
	apitest.Read[apitest.Page](t, f.As(t, first, "GET", "/listings"), 200)
	_, err := f.KeyStore.Revoke(t.Context(), "first", "test", apitest.Now)
	require.NoError(t, err)
	f.Clock.Add(4900 * time.Millisecond)
	apitest.Read[apitest.Page](t, f.As(t, first, "GET", "/listings"), 200)
	second := f.Key(t, "second", access.Read)
	apitest.Read[apitest.Page](t, f.As(t, second, "GET", "/listings"), 200)
	apitest.Refused(t, f.As(t, first, "GET", "/listings"), 401)

	used := func() *time.Time {
		locks, err := f.KeyStore.List(t.Context())
		require.NoError(t, err)
		return locks[1].LastUsedAt
	}
	require.Eventually(t, func() bool { return used() != nil }, servicetest.Patience(), 10*time.Millisecond)
	at := f.Clock.Now()
	for range 5 {
		f.Clock.Add(6 * time.Second)
		apitest.Read[apitest.Page](t, f.As(t, second, "GET", "/listings"), 200)
	}
	require.True(t, used().Equal(at.Truncate(time.Microsecond)), "once a minute is enough")
	f.Clock.Add(time.Minute)
	apitest.Read[apitest.Page](t, f.As(t, second, "GET", "/listings"), 200)
	require.Eventually(t, func() bool { return used().After(at) }, servicetest.Patience(), 10*time.Millisecond)
}

// The first key turns authentication on while the API runs, and nothing turns it off again: neither a revocation nor a
// database that is down.
func TestTheFirstKeyTurnsAuthenticationOn(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	apitest.Read[apitest.Page](t, f.Get(t, "/listings"), 200)
	made := apitest.Read[struct{ ID, Key string }](t, f.Ask(t, "POST", "/keys", `{"name":"root","role":"admin"}`), 201)
	apitest.Refused(t, f.Get(t, "/listings"), 401)
	apitest.Read[apitest.Page](t, f.As(t, made.Key, "GET", "/listings"), 200)

	apitest.Read[api.Key](t, f.As(t, made.Key, "DELETE", "/keys/root"), 200)
	require.Equal(t, "the API key was revoked", apitest.Refused(t, f.As(t, made.Key, "GET", "/keys"), 401).Detail)
	f.Clock.Add(time.Hour)
	apitest.Refused(t, f.Get(t, "/listings"), 401)
	f.Pool.Close()
	f.Clock.Add(time.Hour)
	apitest.Refused(t, f.Get(t, "/listings"), 401)
}

func TestKeysOverTheAPI(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	admin := f.Key(t, "root", access.Admin)
	r := f.As(t, admin, "POST", "/keys", `{"name":"ci","role":"operate","expires_at":"2027-01-01T00:00:00Z"}`)
	made := apitest.Read[api.KeyMade](t, r, http.StatusCreated)
	require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	require.Equal(t, "root", made.CreatedBy)
	id, ok := access.KeyID(made.Secret)
	require.True(t, ok)
	require.Equal(t, made.ID, id)
	apitest.Read[apitest.Page](t, f.As(t, made.Secret, "GET", "/listings"), 200)

	r = f.As(t, admin, "GET", "/keys")
	require.Len(t, apitest.Read[api.KeyList](t, r, 200).Items, 2)
	require.NotContains(t, r.Body, made.Secret)

	for body, status := range map[string]int{
		`{"name":"ci","role":"read"}`: 409, `{"name":"cli:x","role":"read"}`: 422, `{"name":"","role":"read"}`: 422,
		`{"name":"x","role":"root"}`: 422, `{"name":"x"}`: 422, `{"name":"anonymous","role":"read"}`: 422,
		`{"name":"x","role":"read","expires_at":"2020-01-01T00:00:00Z"}`: 422,
	} {
		apitest.Refused(t, f.As(t, admin, "POST", "/keys", body), status)
	}
	for range 2 {
		require.NotNil(t, apitest.Read[api.Key](t, f.As(t, admin, "DELETE", "/keys/"+made.ID), 200).RevokedAt)
	}
	apitest.Refused(t, f.As(t, admin, "DELETE", "/keys/nobody"), 404)
	require.Equal(t, "the API key was revoked", apitest.Refused(t, f.As(t, made.Secret, "GET", "/listings"), 401).Detail)
	var deeds int
	require.NoError(t, f.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM audit WHERE actor = 'root' AND subject = $1", "api-key/"+made.ID).Scan(&deeds))
	require.Equal(t, 2, deeds)
}

// A known key goes on being accepted for a minute without the database; a caller with an unknown one is not refused but
// told to try again.
func TestKeysWithoutPostgres(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	key := f.Key(t, "ci", access.Read)
	stranger := "cvr_aaaaaaaa_" + strings.Repeat("A", 43)
	require.Equal(t, 200, f.As(t, key, "GET", "/metrics").Status)
	f.Pool.Close()
	f.Clock.Add(time.Minute)
	require.Equal(t, 200, f.As(t, key, "GET", "/metrics").Status)
	apitest.ComesBack(t, f.As(t, stranger, "GET", "/metrics"))
	f.Clock.Add(time.Second)
	apitest.ComesBack(t, f.As(t, key, "GET", "/metrics"))
	require.Equal(t, 200, f.Get(t, "/health").Status)

	// An API that has never read the table of keys does not know whether authentication is off.
	pool, err := db.Open(t.Context(), "postgres://conveyor@"+nowhere+"/conveyor", 2)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	unknown := apitest.GuardedBy(t, pool)
	apitest.ComesBack(t, unknown.Get(t, "/metrics"))
	apitest.ComesBack(t, unknown.As(t, key, "GET", "/metrics"))
	require.Equal(t, 200, unknown.Get(t, "/docs").Status)

	// A key of the settings needs no table.
	fixed := apitest.GuardedBy(t, pool, func(o *api.GuardOptions) {
		o.Fixed = []access.Grant{{Name: "ci", Role: access.Read, Sum: access.SumOf(key)}}
	})
	require.Equal(t, 200, fixed.As(t, key, "GET", "/metrics").Status)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	f := apitest.Guarded(t, func(o *api.GuardOptions) {
		o.Tokens = oidc.New(oidc.Options{Issuer: issuer.URL, Audience: "conveyor", Now: o.Now})
	})
	key := f.Key(t, "ci", access.Read)
	token := func(change map[string]any) string { return issuer.Token(t, issuer.Claims(apitest.Now, change)) }
	apitest.Read[apitest.Page](t, f.As(t, token(map[string]any{"roles": "read"}), "GET", "/listings"), 200)
	apitest.Read[apitest.Page](t, f.As(t, key, "GET", "/listings"), 200)
	apitest.Refused(t, f.Get(t, "/listings"), 401)
	for detail, bad := range map[string]string{
		"the token has expired":         token(map[string]any{"exp": apitest.Now.Add(-time.Hour).Unix()}),
		"the token is invalid: expecte": token(map[string]any{"aud": "grafana"}),
		"the token is invalid: id toke": token(map[string]any{"iss": "https://evil.example"}),
		"the token is invalid: malform": issuer.Unsigned(t, issuer.Claims(apitest.Now, map[string]any{"roles": "admin"})),
		"the token is invalid: failed ": issuer.Stranger(t, issuer.Claims(apitest.Now, map[string]any{"roles": "admin"})),
		"the token is malformed":        "hunter2",
	} {
		require.Contains(t, apitest.Refused(t, f.As(t, bad, "GET", "/listings"), 401).Detail, detail)
	}
	shared := issuer.Shared(t, issuer.Claims(apitest.Now, map[string]any{"roles": "admin"}))
	require.Contains(t, apitest.Refused(t, f.As(t, shared, "GET", "/listings"), 401).Detail, "the token is invalid")
	p := apitest.Refused(t, f.As(t, token(nil), "GET", "/listings"), 403)
	require.Equal(t, "needs the role read; oidc:jo has none", p.Detail)
	p = apitest.Refused(t, f.As(t, token(map[string]any{"roles": "operate"}), "GET", "/keys"), 403)
	require.Equal(t, "needs the role admin; oidc:jo has operate", p.Detail)
	apitest.Read[api.KeyMade](t, f.As(t, token(map[string]any{"roles": "admin"}), "POST", "/keys", `{"name":"x","role":"read"}`), 201)
	list := apitest.Read[api.KeyList](t, f.As(t, token(map[string]any{"roles": "admin"}), "GET", "/keys"), 200)
	require.True(t, slices.ContainsFunc(list.Items, func(k api.Key) bool { return k.CreatedBy == "oidc:jo" }))

	// While the issuer is down, a token gets 503 and not 401, and a caller with a key is let in.
	issuer.Away.Store(true)
	issuer.Rotate(t, "second")
	f.Clock.Add(time.Minute)
	apitest.ComesBack(t, f.As(t, token(map[string]any{"roles": "read"}), "GET", "/listings"))
	apitest.Read[apitest.Page](t, f.As(t, key, "GET", "/listings"), 200)
}

func TestRateOfACaller(t *testing.T) {
	t.Parallel()
	calls := apitest.Rates(t, 1, 3)
	f := apitest.Guarded(t, func(o *api.GuardOptions) { o.Calls = calls })
	busy, idle := f.Key(t, "busy", access.Admin), f.Key(t, "idle", access.Read)
	for left := 2; left >= 0; left-- {
		r := f.As(t, busy, "GET", "/listings")
		require.Equal(t, 200, r.Status)
		require.Equal(t, "3", r.Header.Get("RateLimit-Limit"))
		require.Equal(t, fmt.Sprint(left), r.Header.Get("RateLimit-Remaining"))
		require.NotEmpty(t, r.Header.Get("RateLimit-Reset"))
	}
	r := f.As(t, busy, "GET", "/listings")
	p := apitest.Refused(t, r, http.StatusTooManyRequests)
	require.Contains(t, p.Detail, "too many requests by busy; try again in 3")
	require.Regexp(t, `^3[56]\d\d$`, r.Header.Get("Retry-After"))
	apitest.Refused(t, f.As(t, busy, "POST", "/listings/kijiji/1/process"), http.StatusTooManyRequests)
	require.Equal(t, 200, f.As(t, idle, "GET", "/listings").Status)
	require.Empty(t, f.Get(t, "/health").Header.Get("RateLimit-Limit"))
}

// A caller that asks too often is told so late, which is no time of answering.
func TestRefusalsAreHeld(t *testing.T) {
	t.Parallel()
	const hold = 300 * time.Millisecond
	reg, pool := telemetry.Registry(), dbtest.New(t)
	f := &apitest.Fort{Pool: pool, KeyStore: db.NewKeys(pool), Clock: &apitest.Clock{At: apitest.Now}}
	f.Door = apitest.Bare(t, func(p *apitest.Parts) {
		p.Listings.Store, p.Keys.Store, p.Metrics, p.Registerer = dblistings.NewListings(pool), f.KeyStore, reg, reg
		p.Hold = hold
		p.Guard = api.NewGuard(api.GuardOptions{Keys: f.KeyStore, Log: apitest.Quiet, Now: f.Clock.Now, Calls: apitest.Rates(t, 1, 1)})
	})
	began := time.Now()
	require.Equal(t, 200, f.Get(t, "/listings").Status)
	apitest.Refused(t, f.Get(t, "/listings"), http.StatusTooManyRequests)
	took := time.Since(began)
	require.GreaterOrEqual(t, took, hold)
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "conveyor_api_request_seconds" {
			require.Len(t, family.GetMetric(), 1)
			answering := family.GetMetric()[0].GetHistogram()
			require.EqualValues(t, 2, answering.GetSampleCount())
			require.LessOrEqual(t, answering.GetSampleSum(), (took - hold).Seconds())
			return
		}
	}
	require.Fail(t, "it is not measured")
}

func TestRateOfRefusals(t *testing.T) {
	t.Parallel()
	refusals := apitest.Rates(t, 1, 2)
	f := apitest.Guarded(t, func(o *api.GuardOptions) { o.Refusals = refusals })
	good, bad := f.Key(t, "ci", access.Read), "cvr_aaaaaaaa_"+strings.Repeat("A", 43)
	for range 5 {
		apitest.Refused(t, f.Get(t, "/listings"), 401) // a request without a key is no guess
	}
	apitest.Refused(t, f.As(t, bad, "GET", "/listings"), 401)
	apitest.Refused(t, f.As(t, bad, "GET", "/listings"), 401)
	r := f.As(t, bad, "GET", "/listings")
	require.Contains(t, apitest.Refused(t, r, http.StatusTooManyRequests).Detail, "from your address")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Equal(t, 200, f.As(t, good, "GET", "/listings").Status, "a neighbour behind the same address is let in")
	r = f.Get(t, "/listings", "Authorization", "Bearer "+bad, "X-Forwarded-For", "192.0.2.7")
	apitest.Refused(t, r, http.StatusTooManyRequests) // a client does not choose the address that is counted
}

// Without keys, and for changes, there are limits too, and open routes have one of their own that no probe meets.
func TestRateWithoutKeys(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t, func(o *api.GuardOptions) {
		o.Calls, o.Writes, o.Addresses = apitest.Rates(t, 1, 4), apitest.Rates(t, 1, 1), apitest.Rates(t, 1, 3)
	})
	require.Equal(t, 404, f.Ask(t, "DELETE", "/keys/x", "").Status)
	r := f.Ask(t, "DELETE", "/keys/x", "")
	require.Contains(t, apitest.Refused(t, r, 429).Detail, "too many changes by anonymous@127.0.0.1; try again in 3")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	for range 2 {
		require.Equal(t, 200, f.Get(t, "/listings").Status)
	}
	require.Contains(t, apitest.Refused(t, f.Get(t, "/listings"), 429).Detail, "too many requests by anonymous@127.0.0.1")
	for range 3 {
		require.Equal(t, 200, f.Get(t, "/docs").Status)
	}
	for _, path := range []string{"/docs", "/images/x", "/nothing"} {
		require.Contains(t, apitest.Refused(t, f.Get(t, path), 429).Detail, "from your address", path)
	}
	require.Equal(t, 200, f.Get(t, "/health").Status)
	require.Equal(t, 200, f.Get(t, "/ready").Status)
}

// Messages are sent all the time: the limit of changes does not count them, and that of requests does.
func TestRateOfMessages(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t, func(o *api.GuardOptions) { o.Calls, o.Writes = apitest.Rates(t, 1, 4), apitest.Rates(t, 1, 1) })
	for range 3 {
		require.Equal(t, 422, f.Ask(t, "POST", "/messages", "{}").Status)
	}
	require.Equal(t, 404, f.Ask(t, "DELETE", "/keys/x", "").Status)
	require.Equal(t, 429, f.Ask(t, "POST", "/messages", "{}").Status)
}

// Of the tokens of an address, so many are verified: junk costs no more signatures. A key is let in all the same.
func TestTokensOfAnAddressAreVerifiedSlowly(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	f := apitest.Guarded(t, func(o *api.GuardOptions) {
		o.Tokens = oidc.New(oidc.Options{Issuer: issuer.URL, Audience: "conveyor", Now: o.Now})
		o.Addresses = limit.NewRate(nil, limit.RateOptions{Name: "strange", Events: 1, Period: time.Hour, Burst: 3})
	})
	key := f.Key(t, "ci", access.Read)
	good := issuer.Token(t, issuer.Claims(apitest.Now, map[string]any{"roles": "read"}))
	junk := issuer.Stranger(t, issuer.Claims(apitest.Now, map[string]any{"roles": "admin"}))
	for range 2 {
		apitest.Refused(t, f.As(t, junk, "GET", "/listings"), 401)
	}
	apitest.Read[apitest.Page](t, f.As(t, good, "GET", "/listings"), 200)
	for _, token := range []string{junk, good} { // not even a good one is verified
		require.Contains(t, apitest.Refused(t, f.As(t, token, "GET", "/listings"), 429).Detail, "too many tokens from your address")
	}
	apitest.Read[apitest.Page](t, f.As(t, key, "GET", "/listings"), 200)
	apitest.Refused(t, f.As(t, "cvr_aaaaaaaa_"+strings.Repeat("A", 43), "GET", "/listings"), 401)
}

// A trusted proxy names the address that a request comes from.
func TestProxies(t *testing.T) {
	t.Parallel()
	refusals := apitest.Rates(t, 1, 1)
	pool := dbtest.New(t)
	d := apitest.Bare(t, func(o *apitest.Parts) {
		o.Proxies = []string{"127.0.0.0/8"}
		o.Guard = api.NewGuard(api.GuardOptions{
			Keys: db.NewKeys(pool), Refusals: refusals, Fixed: []access.Grant{{Name: "x", Role: access.Read}},
		})
	})
	bad := "Bearer cvr_aaaaaaaa_" + strings.Repeat("A", 43)
	apitest.Refused(t, d.Get(t, "/metrics", "Authorization", bad, "X-Forwarded-For", "192.0.2.7"), 401)
	apitest.Refused(t, d.Get(t, "/metrics", "Authorization", bad, "X-Forwarded-For", "192.0.2.7"), 429)
	apitest.Refused(t, d.Get(t, "/metrics", "Authorization", bad, "X-Forwarded-For", "192.0.2.8"), 401)
}

// Refusals are logged with the caller and the address, and never with a key, however it was sent. Every request is
// counted.
func TestRefusalsAreLoggedAndRequestsCounted(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	var mu sync.Mutex
	log := slog.New(slog.NewJSONHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return lines.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	reg := telemetry.Registry()
	pool := dbtest.New(t)
	f := &apitest.Fort{Pool: pool, KeyStore: db.NewKeys(pool), Clock: &apitest.Clock{At: apitest.Now}}
	f.Door = apitest.Bare(t, func(o *apitest.Parts) {
		o.Listings.Store, o.Keys.Store, o.Metrics, o.Registerer = dblistings.NewListings(pool), f.KeyStore, reg, reg
		o.Log, o.Guard = log, api.NewGuard(api.GuardOptions{Keys: f.KeyStore, Log: log, Now: f.Clock.Now})
	})
	key, bad := f.Key(t, "ci", access.Read), "cvr_aaaaaaaa_"+strings.Repeat("A", 43)
	made := f.Key(t, "root", access.Admin)
	f.As(t, key, "GET", "/listings")
	f.As(t, key, "POST", "/listings/kijiji/1/process")
	f.As(t, bad, "GET", "/listings?text="+bad)
	f.Get(t, "/listings")
	f.Get(t, "/nothing")
	f.Get(t, "/docs")
	f.As(t, made, "POST", "/keys", `{"name":"x","role":"read"}`)
	metrics := f.As(t, key, "GET", "/metrics").Body
	for _, line := range []string{
		`conveyor_api_requests_total{operation="search-listings",status="200"} 1`,
		`conveyor_api_requests_total{operation="search-listings",status="401"} 2`,
		`conveyor_api_requests_total{operation="process-listing",status="403"} 1`,
		`conveyor_api_requests_total{operation="none",status="404"} 1`,
		`conveyor_api_requests_total{operation="/docs",status="200"} 1`,
		`conveyor_api_request_seconds_count{operation="search-listings"} 3`,
	} {
		require.Contains(t, metrics, line)
	}
	mu.Lock()
	defer mu.Unlock()
	said := lines.String()
	for _, part := range []string{
		`"msg":"refused","operation":"process-listing","status":403,"caller":"ci","remote":"127.0.0.1"`,
		`"msg":"refused","operation":"search-listings","status":401,"caller":"","remote":"127.0.0.1"`,
		`"reason":"unknown API key"`, `"msg":"answered","operation":"search-listings","method":"GET","status":200`,
	} {
		require.Contains(t, said, part)
	}
	for _, secret := range []string{key, bad, made, key[13:]} {
		require.NotContains(t, said, secret)
	}
	require.NotContains(t, said, "cvr_")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// A foreign page in a browser on this machine can neither read from an API without keys nor make it do anything.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	f.Serve(t, func(p *apitest.Parts) { p.Hosts = []string{"api"} })
	for host, status := range map[string]int{
		"": 200, "localhost": 200, "localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "10.0.0.7": 200,
		"conveyor.test": 200, "Conveyor.Test:8080": 200, "x.localhost": 200, "localhost.": 200, "api:8080": 200, "API": 200,
		"rebind": 421, "rebind:8080": 421, "apis": 421, "xlocalhost": 421, "127.1": 421, "0x7f000001": 421, "a.api": 421,
		"evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421,
	} {
		r := f.Hosted(t, host)
		require.Equal(t, status, r.Status, host)
		if status == 421 {
			require.Contains(t, apitest.Refused(t, r, status).Detail, "set CONVEYOR_API_HOSTS")
			for _, open := range []string{"/docs", "/health", "/openapi.json", "/images/x", "/nothing"} {
				apitest.Refused(t, f.HostedAt(t, host, open), status)
			}
		}
	}
	for _, foreign := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
	} {
		p := apitest.Refused(t, f.Ask(t, "POST", "/keys", `{"name":"evil","role":"admin"}`, foreign...), 403)
		require.Contains(t, p.Detail, "a page of another site")
		apitest.Refused(t, f.Ask(t, "DELETE", "/keys/x", "", foreign...), 403)
	}
	for _, own := range [][]string{
		{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Origin", f.Address}, {"Origin", "http://conveyor.test"}, nil,
	} {
		apitest.Refused(t, f.Ask(t, "DELETE", "/keys/x", "", own...), 404)
	}
	// With keys the name does not matter, for no browser sends a key by itself.
	key := f.Key(t, "ci", access.Read)
	f.Clock.Add(time.Minute)
	require.Equal(t, 401, f.Hosted(t, "evil.example").Status)
	require.Equal(t, 200, f.Hosted(t, "conveyor.elsewhere.example", "Authorization", "Bearer "+key).Status)
	require.Equal(t, 200, f.HostedAt(t, "conveyor.elsewhere.example", "/health").Status)
}

// Without keys the API is for this machine. What a proxy on it passes on is from anywhere.
func TestForwardedWithoutKeys(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"} {
		p := apitest.Refused(t, f.Get(t, "/keys", name, "192.0.2.1"), 403)
		require.Contains(t, p.Detail, "create an API key", name)
		require.Equal(t, 200, f.Get(t, "/health", name, "192.0.2.1").Status, "is open")
	}
	require.Equal(t, 200, f.Get(t, "/keys").Status)
	f.Serve(t, func(p *apitest.Parts) { p.Open = true })
	require.Equal(t, 200, f.Get(t, "/keys", "X-Forwarded-For", "192.0.2.1").Status)
	f.Serve(t, func(*apitest.Parts) {})
	key := f.Key(t, "ci", access.Admin)
	f.Clock.Add(time.Minute)
	require.Equal(t, 200, f.Get(t, "/keys", "X-Forwarded-For", "192.0.2.1", "Authorization", "Bearer "+key).Status)
}

// The log says once that a proxy is not trusted.
func TestUnknownProxy(t *testing.T) {
	t.Parallel()
	for proxies, want := range map[string]int{"": 1, "127.0.0.1": 0} {
		var (
			lines strings.Builder
			mu    sync.Mutex
		)
		f := apitest.Guarded(t)
		f.Serve(t, func(p *apitest.Parts) {
			p.Log = slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return lines.Write(b)
			}), nil))
			if proxies != "" {
				p.Proxies = []string{proxies}
			}
		})
		f.Get(t, "/health")
		for range 2 {
			f.Get(t, "/health", "X-Forwarded-For", "192.0.2.1")
			f.Get(t, "/health", "X-Forwarded-For", "192.0.2.1, 127.0.0.1") // of a proxy behind this one
		}
		mu.Lock()
		require.Equal(t, want, strings.Count(lines.String(), "CONVEYOR_API_PROXIES"), lines.String())
		mu.Unlock()
	}
}

func TestNoCORS(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	for _, method := range []string{"GET", "OPTIONS"} {
		r := f.Ask(t, method, "/listings", "", "Origin", "https://evil.example",
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "Authorization")
		for name := range r.Header {
			require.False(t, strings.HasPrefix(name, "Access-Control"), name)
		}
		if method == "OPTIONS" {
			apitest.Refused(t, r, http.StatusMethodNotAllowed)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	f.Key(t, "ci", access.Read)
	for _, path := range []string{"/listings", "/health", "/nothing", "/", "/docs", "/openapi.json", "/%00"} {
		r := f.Get(t, path)
		require.Equal(t, "DENY", r.Header.Get("X-Frame-Options"), path)
		require.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", r.Header.Get("Cross-Origin-Opener-Policy"), path)
		require.Equal(t, "same-origin", r.Header.Get("Cross-Origin-Resource-Policy"), path)
		policy := r.Header.Get("Content-Security-Policy")
		require.True(t, strings.HasPrefix(policy, "default-src 'none'; "), path)
		require.Contains(t, policy, "frame-ancestors 'none'", path)
		require.NotContains(t, policy, "unsafe-eval", path)
		require.Empty(t, r.Header.Get("Strict-Transport-Security"), "it would lock out users of plain HTTP")
		require.Empty(t, r.Header.Get("Server"), path)
		want := "no-store"
		if path == "/docs" {
			want = "no-cache"
			scripts := policy[strings.Index(policy, "script-src"):]
			require.NotContains(t, scripts[:strings.Index(scripts, ";")], "unsafe-inline")
			require.Contains(t, scripts, "'sha256-")
		}
		require.Equal(t, want, r.Header.Get("Cache-Control"), path)
	}
	d, key := apitest.Gallery(t)
	require.Equal(t, "cross-origin", d.Get(t, "/images/"+key).Header.Get("Cross-Origin-Resource-Policy"))
	tls := apitest.Bare(t, func(o *apitest.Parts) { o.URL = "https://conveyor.example" })
	require.Equal(t, "max-age=31536000", tls.Get(t, "/health").Header.Get("Strict-Transport-Security"))
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	big := `{"name":"` + strings.Repeat("a", 1<<20) + `"}`
	require.Contains(t, apitest.Refused(t, f.Ask(t, "POST", "/keys", big), http.StatusRequestEntityTooLarge).Detail, "1048576")
	apitest.Refused(t, f.Ask(t, "POST", "/keys", `{"name":"`+strings.Repeat("a", 1<<19)+`"}`), 422)
}

// What is left of a body that is too large is not taken for the next request of its connection.
func TestTheRestOfABodyIsNoRequest(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.Address, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	const head, hidden, size = "POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 4 << 20
	body := strings.Repeat(" ", 1<<20) + hidden
	go func() { // the server may close the connection before it has all of it
		_, _ = io.WriteString(conn, fmt.Sprintf(head, size)+body+strings.Repeat(" ", size-len(body)))
	}()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(servicetest.Patience())))
	all, _ := io.ReadAll(conn) // the end may be a reset
	require.True(t, strings.HasPrefix(string(all), "HTTP/1.1 413 "), "%.200s", all)
	require.Equal(t, 1, strings.Count(string(all), "HTTP/1.1 "), "answers: %s", all)
	require.Contains(t, string(all), "Connection: close")
}

// A sender that asks before it sends a body is refused at once, and connections of ordinary requests are kept.
func TestARefusalBeforeTheBody(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.Address, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second))) // the server waits a minute for a body
	answers := bufio.NewReader(conn)
	for range 2 {
		_, err = io.WriteString(conn, "POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}")
		require.NoError(t, err)
		answer, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.Equal(t, 404, answer.StatusCode)
		require.False(t, answer.Close)
	}
	_, err = io.WriteString(conn, "POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"+
		"Content-Length: 2000\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.Equal(t, 404, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
}

// A caller who goes away while the table is read does not spoil the answer for others.
func TestAnImpatientCaller(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	f.Key(t, "ci", access.Read)
	g := api.NewGuard(api.GuardOptions{Keys: f.KeyStore, Now: f.Clock.Now})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	locked, err := g.Locked(gone)
	require.NoError(t, err)
	require.True(t, locked)
}
