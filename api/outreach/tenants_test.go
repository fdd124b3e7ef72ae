package outreach_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// What is one more than a quota is answered with 429, which names the quota. No time is given after which to try again:
// it makes no room.
func TestQuotasAreNamed(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	made := d.Ask(t, "POST", "/tenants", `{"id":"acme","name":"Acme","region":"CA","max_contacts":0,"max_lists":0,
		"max_segments":0,"max_searches":1,"max_targets":1}`)
	apitest.Read[apioutreach.Tenant](t, made, 201)
	search := d.SaveSearch(t, "a")
	for quota, ask := range map[string][3]string{
		"max_contacts": {"POST", "/contacts", `{"phone":"+15145550123"}`},
		"max_lists":    {"POST", "/contact-lists", `{"name":"x"}`},
		"max_segments": {"POST", "/segments", `{"name":"x","filter":{}}`},
		"max_searches": {"POST", "/searches", `{"name":"x","filter":{},"targets":[{"kind":"feed"}]}`},
		"max_targets":  {"POST", "/searches/" + search + "/targets", `{"kind":"feed"}`},
	} {
		r := d.Ask(t, ask[0], ask[1]+"?tenant=acme", ask[2])
		require.Contains(t, apitest.Refused(t, r, 429).Detail, "as its quota "+quota+" allows", quota)
		require.Empty(t, r.Header.Get("Retry-After"), quota)
	}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	body := `{"id":"acme","name":"Acme inc.","region":"CA","max_contacts":5}`
	r := d.Ask(t, "POST", "/tenants", body)
	acme := apitest.Read[apioutreach.Tenant](t, r, 201)
	require.Equal(t, "/tenants/acme", r.Header.Get("Location"))
	require.Equal(t, apioutreach.Tenant{
		ID: "acme", Name: "Acme inc.", Tier: "standard", PerSecond: 10, Region: "CA",
		TenantQuotas: apioutreach.TenantQuotas{
			MaxContacts: new(int64(5)), MaxMessagesDay: new(int64(1_000_000)), MaxSearches: new(int64(200)),
			MaxNoticesDay: new(int64(10_000)), MaxLists: new(int64(500)), MaxSegments: new(int64(500)),
			MaxBytes: new(int64(20 << 30)), MaxTargets: new(int64(2000)), MaxConditions: new(int64(200)),
		},
		State: "active", CreatedAt: apitest.Now, UpdatedAt: apitest.Now, Workflow: api.WorkflowLink{
			ID: "dispatch/acme", URL: "http://temporal.test/namespaces/conveyor/workflows/dispatch%2Facme",
		},
	}, acme)
	require.Equal(t, acme, apitest.Read[apioutreach.Tenant](t, d.Ask(t, "POST", "/tenants", body), 200), "the same again")
	apitest.Refused(t, d.Ask(t, "POST", "/tenants", `{"id":"acme","name":"Acme inc.","region":"CA"}`), 409)
	d.System(t, "UPDATE tenants SET max_messages_day = NULL") // as it was before there was a default
	r = d.Ask(t, "POST", "/tenants", body)
	require.Nil(t, apitest.Read[apioutreach.Tenant](t, r, 200).MaxMessagesDay, "the same again, and it keeps what it has")
	d.System(t, "UPDATE tenants SET max_messages_day = 1000000")
	require.Equal(t, acme, apitest.Read[apioutreach.Tenant](t, d.Get(t, "/tenants/acme"), 200))
	apitest.Refused(t, d.Get(t, "/tenants/nobody"), 404)
	apitest.Refused(t, d.Get(t, "/tenants/NO%20BODY"), 404)

	for _, none := range []string{"UK", "EN", "ZZ"} { // ISO 3166-1 has GB: no upload of such a tenant could be read
		p := apitest.Refused(t, d.Ask(t, "POST", "/tenants", `{"id":"other","name":"Other","region":"`+none+`"}`), 422)
		require.Contains(t, p.Detail, `region: "`+none+`" is not known`)
		apitest.Refused(t, d.Ask(t, "PATCH", "/tenants/acme", `{"region":"`+none+`"}`), 422)
	}

	patch := func(body string, status int) apitest.Reply {
		r := d.Ask(t, "PATCH", "/tenants/acme", body)
		require.Equal(t, status, r.Status, r.Body)
		return r
	}
	got := apitest.Read[apioutreach.Tenant](t, patch(`{"tier":"enterprise","max_contacts":null,"max_messages_day":7}`, 200), 200)
	require.Equal(t, apioutreach.Tier("enterprise"), got.Tier)
	require.Nil(t, got.MaxContacts)
	require.EqualValues(t, 200, *got.MaxSearches)
	require.EqualValues(t, 7, *got.MaxMessagesDay)
	got = apitest.Read[apioutreach.Tenant](t, patch(`{"max_searches":7,"max_bytes":null}`, 200), 200)
	require.EqualValues(t, 7, *got.MaxSearches)
	require.Nil(t, got.MaxBytes)
	got = apitest.Read[apioutreach.Tenant](t, patch(`{"state":"stopped","stopped_reason":"unpaid"}`, 200), 200)
	require.Equal(t, "unpaid", got.StoppedReason)
	require.EqualValues(t, 7, *got.MaxMessagesDay, "what is left out stays")
	got = apitest.Read[apioutreach.Tenant](t, patch(`{"state":"active"}`, 200), 200)
	require.Empty(t, got.StoppedReason)
	require.Contains(t, d.Started.Calls, "wake dispatch of acme", "its messages are sent again")
	require.Equal(t, []string{"tenant.created", "tenant.changed", "tenant.changed", "tenant.stopped", "tenant.resumed"},
		d.Audited(t, "tenant/acme"))
	d.System(t, "UPDATE tenants SET region = 'UK' WHERE id = 'acme'") // by an older release
	patch(`{"state":"stopped"}`, 200)
	patch(`{"state":"active","region":"CA"}`, 200)
	for body, field := range map[string]string{
		`{"tier":"gold"}`: "body.tier", `{"max_contacts":-1}`: "body.max_contacts", `{"region":"Canada"}`: "body.region",
		`{"state":"gone"}`: "body.state", `{"id":"x"}`: "body.id", `{"name":""}`: "body.name",
	} {
		require.Contains(t, apitest.Refused(t, patch(body, 422), 422).Fields(), field)
	}
	for body, field := range map[string]string{
		`{"name":"x"}`: "body", `{"id":"A","name":"x"}`: "body.id", `{"id":"-","name":"x"}`: "body.id",
		`{"id":"` + strings.Repeat("a", 41) + `","name":"x"}`: "body.id", `{"id":"a","name":"x","tier":"x"}`: "body.tier",
	} {
		require.Contains(t, apitest.Refused(t, d.Ask(t, "POST", "/tenants", body), 422).Fields(), field, body)
	}
	require.Contains(t, apitest.Refused(t, d.Ask(t, "POST", "/tenants", `{"id":"a","name":" x"}`), 422).Detail, "name")

	for i := range 4 {
		d.Ask(t, "POST", "/tenants", fmt.Sprintf(`{"id":"t%d","name":"x"}`, i))
	}
	var ids []string
	for cursor := ""; ; {
		p := apitest.Read[apioutreach.TenantPage](t, d.Get(t, "/tenants?limit=2&cursor="+cursor), 200)
		for _, v := range p.Items {
			ids = append(ids, v.ID)
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"acme", "t0", "t1", "t2", "t3"}, ids)
	apitest.Refused(t, d.Get(t, "/tenants?cursor=x"), 422)
}

func TestSenders(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Tenant(t, d.Pool, "acme")
	apitest.Tenant(t, d.Pool, "umbrella")
	r := d.Ask(t, "POST", "/tenants/acme/senders", apitest.SenderBody)
	s := apitest.Read[apioutreach.Sender](t, r, 201)
	path := "/tenants/acme/senders/" + s.ID.String()
	require.Equal(t, path, r.Header.Get("Location"))
	require.Equal(t, apioutreach.Sender{
		ID: s.ID, Name: "Support", PhoneNumberID: "101", BusinessAccountID: "7", TokenKey: "new", PerSecond: 80,
		State: "active", CreatedAt: apitest.Now, UpdatedAt: apitest.Now,
	}, s)
	require.Equal(t, s, apitest.Read[apioutreach.Sender](t, d.Get(t, path), 200))
	require.Equal(t, []apioutreach.Sender{s}, apitest.Read[apioutreach.SenderList](t, d.Get(t, "/tenants/acme/senders"), 200).Items)
	require.JSONEq(t, `{"items":[]}`, d.Get(t, "/tenants/umbrella/senders").Body)
	apitest.Refused(t, d.Get(t, "/tenants/nobody/senders"), 404)
	apitest.Refused(t, d.Get(t, "/tenants/umbrella/senders/"+s.ID.String()), 404)
	apitest.Refused(t, d.Ask(t, "PATCH", "/tenants/umbrella/senders/"+s.ID.String(), `{"name":"x"}`), 404)
	apitest.Refused(t, d.Ask(t, "POST", "/tenants/umbrella/senders", apitest.SenderBody), 409)
	apitest.Refused(t, d.Ask(t, "POST", "/tenants/nobody/senders", strings.Replace(apitest.SenderBody, "101", "102", 1)), 404)

	token := func() string {
		sealed, err := d.Senders.Store.Token(t.Context(), "acme", s.ID)
		require.NoError(t, err)
		plain, err := d.Senders.Secrets.Open(dboutreach.SenderPurpose(s.ID), sealed.Key, sealed.Box)
		require.NoError(t, err)
		return string(plain)
	}
	require.Equal(t, "EAAsecret", token())
	got := apitest.Read[apioutreach.Sender](t, d.Ask(t, "PATCH", path, `{"token":"EAAother","per_second":20}`), 200)
	require.Equal(t, 20, got.PerSecond)
	require.Equal(t, "EAAother", token())
	long := strings.Repeat("x", 4096)
	apitest.Read[apioutreach.Sender](t, d.Ask(t, "PATCH", path, `{"token":"`+long+`"}`), 200)
	require.NoError(t, whatsapp.Sender{PhoneNumberID: "101", Token: whatsapp.Token(token())}.Check(), "what is stored is sent by")
	until := apitest.Now.Add(time.Hour).Format(time.RFC3339)
	got = apitest.Read[apioutreach.Sender](t, d.Ask(t, "PATCH", path, `{"state":"paused","paused_until":"`+until+`","reason":"x"}`), 200)
	require.True(t, got.PausedUntil.Equal(apitest.Now.Add(time.Hour)))
	got = apitest.Read[apioutreach.Sender](t, d.Ask(t, "PATCH", path, `{"state":"active"}`), 200)
	require.Nil(t, got.PausedUntil)
	require.Equal(t, []string{"sender.created", "sender.changed", "sender.changed", "sender.paused", "sender.resumed"},
		d.Audited(t, "sender/"+s.ID.String()))

	for body, field := range map[string]string{
		strings.Replace(apitest.SenderBody, "EAAsecret", "", 1):                          "body.token",
		strings.Replace(apitest.SenderBody, "EAAsecret", "a b", 1):                       "body.token",
		strings.Replace(apitest.SenderBody, "EAAsecret", "é", 1):                         "body.token",
		strings.Replace(apitest.SenderBody, "EAAsecret", strings.Repeat("x", 4097), 1):   "body.token",
		strings.Replace(apitest.SenderBody, `"101"`, `"+1"`, 1):                          "body.phone_number_id",
		strings.Replace(apitest.SenderBody, `"name"`, `"per_second":1001,"name"`, 1):     "body.per_second",
		strings.Replace(apitest.SenderBody, `"name":"Support"`, `"nam":"Support"`, 1):    "body.nam",
		strings.Replace(apitest.SenderBody, `"token":"EAAsecret"`, `"secret":"EAA1"`, 1): "body.secret",
	} {
		require.Contains(t, apitest.Refused(t, d.Ask(t, "POST", "/tenants/acme/senders", body), 422).Fields(), field, body)
	}
	all := apitest.Value[string](t, d, "SELECT string_agg(a::text, ' ') FROM audit a")
	for _, shown := range []string{all, d.Get(t, path).Body, r.Body} {
		require.NotContains(t, shown, "EAA")
	}
}

// Without a key there is no way to store a token.
func TestSendersWithoutKeys(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) {
		var err error
		p.Senders.Secrets, err = secret.Parse("")
		require.NoError(t, err)
	})
	apitest.Tenant(t, d.Pool, "acme")
	p := apitest.Refused(t, d.Ask(t, "POST", "/tenants/acme/senders", apitest.SenderBody), 409)
	require.Contains(t, p.Detail, "CONVEYOR_SECRET_KEYS")
	apitest.Refused(t, d.Ask(t, "POST", "/senders/reseal", ""), 409)
}

// A token stays readable while keys are replaced.
func TestResealTokens(t *testing.T) {
	t.Parallel()
	var current *secret.Box
	d := apitest.Open(t, func(p *apitest.Parts) { current = p.Senders.Secrets; *current = *apitest.SecretBox(t, "a") })
	apitest.Tenant(t, d.Pool, "acme")
	apitest.Tenant(t, d.Pool, "umbrella")
	for _, id := range []string{"acme", "umbrella"} {
		body := strings.Replace(apitest.SenderBody, "101", fmt.Sprint(len(id)), 1)
		apitest.Read[apioutreach.Sender](t, d.Ask(t, "POST", "/tenants/"+id+"/senders", body), 201)
	}
	require.Equal(t, apioutreach.Resealed{Key: "a"}, apitest.Read[apioutreach.Resealed](t, d.Ask(t, "POST", "/senders/reseal", ""), 200))
	*current = *apitest.SecretBox(t, "b", "a")
	require.Equal(t, apioutreach.Resealed{Key: "b", Resealed: 2}, apitest.Read[apioutreach.Resealed](t, d.Ask(t, "POST", "/senders/reseal", ""), 200))
	require.Equal(t, []string{"senders.resealed"}, d.Audited(t, "secret-key/b"))
	s := apitest.Read[apioutreach.SenderList](t, d.Get(t, "/tenants/acme/senders"), 200).Items[0]
	require.Equal(t, "b", s.TokenKey)
	sealed, err := d.Senders.Store.Token(t.Context(), "acme", s.ID)
	require.NoError(t, err)
	plain, err := apitest.SecretBox(t, "b").Open(dboutreach.SenderPurpose(s.ID), sealed.Key, sealed.Box)
	require.NoError(t, err)
	require.Equal(t, "EAAsecret", string(plain))

	// And there and back from keys that are derived.
	*current = *apitest.SecretBox(t, "b").Derive()
	require.Equal(t, apioutreach.Resealed{Key: "b/hkdf", Resealed: 2}, apitest.Read[apioutreach.Resealed](t, d.Ask(t, "POST", "/senders/reseal", ""), 200))
	require.Equal(t, apioutreach.Resealed{Key: "b/hkdf"}, apitest.Read[apioutreach.Resealed](t, d.Ask(t, "POST", "/senders/reseal", ""), 200))
	*current = *apitest.SecretBox(t, "b")
	require.Equal(t, apioutreach.Resealed{Key: "b", Resealed: 2}, apitest.Read[apioutreach.Resealed](t, d.Ask(t, "POST", "/senders/reseal", ""), 200))

	*current = *apitest.SecretBox(t, "c")
	p := apitest.Refused(t, d.Ask(t, "POST", "/senders/reseal", ""), 409)
	require.Contains(t, p.Detail, `no key with the ID "b"`)
}

// A change is answered while Temporal is away, and by operators of the system only.
func TestTenantsWithoutTemporal(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	d.Started.Err = errors.New("connection refused")
	apitest.Tenant(t, d.Pool, "acme")
	apitest.Read[apioutreach.Tenant](t, d.Ask(t, "PATCH", "/tenants/acme", `{"name":"x"}`), 200)
	d.Pool.Close()
	apitest.ComesBack(t, d.Ask(t, "PATCH", "/tenants/acme", `{"name":"y"}`))
}

// A bound token opens for its tenant and number only. One that is not is read, and bound by rekey; without the setting
// rekey makes it one that releases before 0.5 read.
func TestBoundTokens(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Tenant(t, d.Pool, "acme")
	s := apitest.Read[apioutreach.Sender](t, d.Ask(t, "POST", "/tenants/acme/senders", apitest.SenderBody), 201)
	sealed := func() db.Sealed {
		sealed, err := d.Senders.Store.Token(t.Context(), "acme", s.ID)
		require.NoError(t, err)
		return sealed
	}
	opens := func(purposes ...string) bool {
		plain, err := d.Senders.Secrets.OpenAny(sealed().Key, sealed().Box, purposes...)
		return err == nil && string(plain) == "EAAsecret"
	}
	both := dboutreach.SenderPurposes("acme", s.ID, "101", true)
	require.True(t, opens(dboutreach.SenderPurpose(s.ID)), "releases before 0.5 read it")
	require.True(t, opens(both...))
	resealed := func(bound bool, want int) {
		t.Helper()
		with := apitest.Open(t, func(p *apitest.Parts) {
			p.Tenants, p.Senders, p.Audit = d.Tenants, d.Senders, d.Audit
			p.Senders.BindTokens = bound
		})
		require.Equal(t, want, apitest.Read[apioutreach.Resealed](t, with.Ask(t, "POST", "/senders/reseal", ""), 200).Resealed)
		apitest.Read[apioutreach.Sender](t, with.Ask(t, "PATCH", "/tenants/acme/senders/"+s.ID.String(), `{"token":"EAAsecret"}`), 200)
	}
	for range 2 {
		resealed(true, 1)
		require.True(t, opens(both[0]))
		require.False(t, opens(dboutreach.SenderPurpose(s.ID)), "nor does a row open it that names another tenant or number")
		require.False(t, opens(dboutreach.SenderPurposes("acme", s.ID, "102", true)...))
		require.False(t, opens(dboutreach.SenderPurposes("umbrella", s.ID, "101", true)...))
		resealed(true, 0)
		resealed(false, 1)
		require.True(t, opens(dboutreach.SenderPurpose(s.ID)))
	}
}
