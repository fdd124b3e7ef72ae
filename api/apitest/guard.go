package apitest

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A Fort is an API with a table of keys, and a clock that the test moves.
type Fort struct {
	*Door
	Pool     *pgxpool.Pool
	KeyStore *db.Keys
	Clock    *Clock
}

// Clock is the time of a test.
type Clock struct {
	mu sync.Mutex
	At time.Time
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.At
}

// Add lets time go by.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.At = c.At.Add(d)
}

// Guarded serves the API with a guard, over a database of its own.
func Guarded(t *testing.T, change ...func(*api.GuardOptions)) *Fort {
	t.Helper()

	pool := dbtest.New(t)
	return GuardedBy(t, pool, change...)
}

// GuardedBy is Guarded over a database that is there already.
func GuardedBy(t *testing.T, pool *pgxpool.Pool, change ...func(*api.GuardOptions)) *Fort {
	t.Helper()

	f := &Fort{Pool: pool, KeyStore: db.NewKeys(pool), Clock: &Clock{At: Now}}
	o := api.GuardOptions{Keys: f.KeyStore, Log: Quiet, Now: f.Clock.Now}
	for _, c := range change {
		c(&o)
	}
	f.Door = Bare(t, func(p *Parts) {
		p.Tenants = db.NewTenants(pool)
		p.Listings.Store, p.Keys.Store, p.Guard = dblistings.NewListings(pool), f.KeyStore, api.NewGuard(o)
		p.Audit.Store, p.Searches.Store = db.NewAuditLog(pool), dblistings.NewSaved(pool)
		p.Campaigns.Messages = dboutreach.NewMessages(pool, nil)
		p.Starting(&Starter{})
	})
	return f
}

// Key makes a key in the table.
func (f *Fort) Key(t *testing.T, name string, role access.Role, change ...func(*db.Key)) string {
	t.Helper()

	id, key, err := access.NewKey(rand.Reader)
	require.NoError(t, err)
	k := db.Key{ID: id, Name: name, Role: role, CreatedAt: f.Clock.Now(), CreatedBy: "test"}
	for _, c := range change {
		c(&k)
	}
	require.NoError(t, f.KeyStore.Create(t.Context(), k, access.SumOf(key)))
	return key
}

// As asks for a path with a key or a token.
func (d *Door) As(t *testing.T, key, method, path string, body ...string) Reply {
	t.Helper()
	return d.Ask(t, method, path, strings.Join(body, ""), "Authorization", "Bearer "+key)
}

// Tenant makes a tenant.
func Tenant(t *testing.T, pool *pgxpool.Pool, id string) {
	t.Helper()

	err := db.NewTenants(pool).Create(t.Context(), db.Tenant{
		ID: id, Name: id, Tier: campaign.Standard, CreatedAt: Now,
	}, "test")
	require.NoError(t, err)
}

// Rates are limits of a test's own.
func Rates(t *testing.T, events, burst int) *limit.Rate {
	t.Helper()

	o, err := redis.ParseURL(servicetest.Address(t, "REDIS_URL"))
	require.NoError(t, err)
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return limit.NewRate(rdb, limit.RateOptions{
		Name: "test-" + rand.Text(), Events: events, Period: time.Hour, Burst: burst, Timeout: 10 * time.Second,
	})
}

// Hosted asks for the listings under a host's name.
func (d *Door) Hosted(t *testing.T, host string, headers ...string) Reply {
	t.Helper()
	return d.HostedAt(t, host, "/listings", headers...)
}

// HostedAt asks for a path at an address, under the name of a host.
func (d *Door) HostedAt(t *testing.T, host, path string, headers ...string) Reply {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address+path, nil)
	require.NoError(t, err)
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return Reply{answer.StatusCode, answer.Header, string(body)}
}

// Login exchanges a key for the cookie of a session, as name=value.
func (f *Fort) Login(t *testing.T, key string) string {
	t.Helper()

	r := f.Ask(t, "POST", "/session", `{"key":"`+key+`"}`)
	require.Equal(t, http.StatusNoContent, r.Status, r.Body)
	cookie, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	return cookie
}

// Cookies are the cookies that an answer sets, by name, without their attributes.
func Cookies(r Reply) map[string]string {
	out := map[string]string{}
	for _, c := range (&http.Response{Header: r.Header}).Cookies() {
		out[c.Name] = c.Value
	}
	return out
}

// WalkIn does what a browser does that logs in, and returns the last answer.
func (f *Fort) WalkIn(t *testing.T, i *oidctest.Issuer, to string) Reply {
	t.Helper()

	r := f.Get(t, "/session/oidc?to="+url.QueryEscape(to))
	require.Equal(t, http.StatusFound, r.Status, r.Body)
	require.True(t, strings.HasPrefix(r.Header.Get("Location"), i.URL+"/authorize?"))
	answer := i.Visit(t, r.Header.Get("Location"))
	return f.Get(t, api.LoginCallback+"?"+answer.Encode(), "Cookie", "conveyor_login="+Cookies(r)["conveyor_login"])
}
