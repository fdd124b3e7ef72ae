package api_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/secret"
)

// audited are the actions on a subject, the first one first.
func (d *door) audited(t *testing.T, subject string) (actions []string) {
	t.Helper()
	rows, err := d.pool.Query(t.Context(), "SELECT action FROM audit WHERE subject = $1 ORDER BY id", subject)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	return actions
}

func TestTenants(t *testing.T) {
	t.Parallel()
	d := open(t)
	body := `{"id":"acme","name":"Acme inc.","region":"CA","max_contacts":5}`
	r := d.ask(t, "POST", "/tenants", body)
	acme := read[api.Tenant](t, r, 201)
	require.Equal(t, "/tenants/acme", r.Header.Get("Location"))
	require.Equal(t, api.Tenant{
		ID: "acme", Name: "Acme inc.", Tier: "standard", PerSecond: 10, Region: "CA", MaxContacts: new(int64(5)),
		MaxSearches: new(int64(200)), MaxNoticesDay: new(int64(10_000)), MaxLists: new(int64(500)),
		MaxSegments: new(int64(500)), MaxBytes: new(int64(20 << 30)),
		State: "active", CreatedAt: now, UpdatedAt: now, Workflow: api.WorkflowLink{
			ID: "dispatch/acme", URL: "http://temporal.test/namespaces/conveyor/workflows/dispatch%2Facme",
		},
	}, acme)
	require.Equal(t, acme, read[api.Tenant](t, d.ask(t, "POST", "/tenants", body), 200), "the same again")
	refused(t, d.ask(t, "POST", "/tenants", `{"id":"acme","name":"Acme inc.","region":"CA"}`), 409)
	require.Equal(t, acme, read[api.Tenant](t, d.get(t, "/tenants/acme"), 200))
	refused(t, d.get(t, "/tenants/nobody"), 404)
	refused(t, d.get(t, "/tenants/NO%20BODY"), 404)

	patch := func(body string, status int) reply {
		r := d.ask(t, "PATCH", "/tenants/acme", body)
		require.Equal(t, status, r.Status, r.Body)
		return r
	}
	got := read[api.Tenant](t, patch(`{"tier":"enterprise","max_contacts":null,"max_messages_day":7}`, 200), 200)
	require.Equal(t, api.Tier("enterprise"), got.Tier)
	require.Nil(t, got.MaxContacts)
	require.EqualValues(t, 200, *got.MaxSearches)
	require.EqualValues(t, 7, *got.MaxMessagesDay)
	got = read[api.Tenant](t, patch(`{"max_searches":7,"max_bytes":null}`, 200), 200)
	require.EqualValues(t, 7, *got.MaxSearches)
	require.Nil(t, got.MaxBytes)
	got = read[api.Tenant](t, patch(`{"state":"stopped","stopped_reason":"unpaid"}`, 200), 200)
	require.Equal(t, "unpaid", got.StoppedReason)
	require.EqualValues(t, 7, *got.MaxMessagesDay, "what is left out stays")
	got = read[api.Tenant](t, patch(`{"state":"active"}`, 200), 200)
	require.Empty(t, got.StoppedReason)
	require.Contains(t, d.started.calls, "wake dispatch of acme", "its messages are sent again")
	require.Equal(t, []string{"tenant.created", "tenant.changed", "tenant.changed", "tenant.stopped", "tenant.resumed"},
		d.audited(t, "tenant/acme"))
	for body, field := range map[string]string{
		`{"tier":"gold"}`: "body.tier", `{"max_contacts":-1}`: "body.max_contacts", `{"region":"Canada"}`: "body.region",
		`{"state":"gone"}`: "body.state", `{"id":"x"}`: "body.id", `{"name":""}`: "body.name",
	} {
		require.Contains(t, refused(t, patch(body, 422), 422).fields(), field)
	}
	for body, field := range map[string]string{
		`{"name":"x"}`: "body", `{"id":"A","name":"x"}`: "body.id", `{"id":"-","name":"x"}`: "body.id",
		`{"id":"` + strings.Repeat("a", 41) + `","name":"x"}`: "body.id", `{"id":"a","name":"x","tier":"x"}`: "body.tier",
	} {
		require.Contains(t, refused(t, d.ask(t, "POST", "/tenants", body), 422).fields(), field, body)
	}
	require.Contains(t, refused(t, d.ask(t, "POST", "/tenants", `{"id":"a","name":" x"}`), 422).Detail, "name")

	for i := range 4 {
		d.ask(t, "POST", "/tenants", fmt.Sprintf(`{"id":"t%d","name":"x"}`, i))
	}
	var ids []string
	for cursor := ""; ; {
		p := read[api.TenantPage](t, d.get(t, "/tenants?limit=2&cursor="+cursor), 200)
		for _, v := range p.Items {
			ids = append(ids, v.ID)
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"acme", "t0", "t1", "t2", "t3"}, ids)
	refused(t, d.get(t, "/tenants?cursor=x"), 422)
}

const senderBody = `{"name":"Support","phone_number_id":"101","business_account_id":"7","token":"EAAsecret"}`

func TestSenders(t *testing.T) {
	t.Parallel()
	d := open(t)
	tenant(t, d.pool, "acme")
	tenant(t, d.pool, "umbrella")
	r := d.ask(t, "POST", "/tenants/acme/senders", senderBody)
	s := read[api.Sender](t, r, 201)
	path := "/tenants/acme/senders/" + s.ID.String()
	require.Equal(t, path, r.Header.Get("Location"))
	require.Equal(t, api.Sender{
		ID: s.ID, Name: "Support", PhoneNumberID: "101", BusinessAccountID: "7", TokenKey: "new", PerSecond: 80,
		State: "active", CreatedAt: now, UpdatedAt: now,
	}, s)
	require.Equal(t, s, read[api.Sender](t, d.get(t, path), 200))
	require.Equal(t, []api.Sender{s}, read[api.SenderList](t, d.get(t, "/tenants/acme/senders"), 200).Items)
	require.JSONEq(t, `{"items":[]}`, d.get(t, "/tenants/umbrella/senders").Body)
	refused(t, d.get(t, "/tenants/nobody/senders"), 404)
	refused(t, d.get(t, "/tenants/umbrella/senders/"+s.ID.String()), 404)
	refused(t, d.ask(t, "PATCH", "/tenants/umbrella/senders/"+s.ID.String(), `{"name":"x"}`), 404)
	refused(t, d.ask(t, "POST", "/tenants/umbrella/senders", senderBody), 409)
	refused(t, d.ask(t, "POST", "/tenants/nobody/senders", strings.Replace(senderBody, "101", "102", 1)), 404)

	token := func() string {
		sealed, err := d.Tenancy.Senders.Token(t.Context(), "acme", s.ID)
		require.NoError(t, err)
		plain, err := d.Tenancy.Secrets.Open(dboutreach.SenderPurpose(s.ID), sealed.Key, sealed.Box)
		require.NoError(t, err)
		return string(plain)
	}
	require.Equal(t, "EAAsecret", token())
	got := read[api.Sender](t, d.ask(t, "PATCH", path, `{"token":"EAAother","per_second":20}`), 200)
	require.Equal(t, 20, got.PerSecond)
	require.Equal(t, "EAAother", token())
	until := now.Add(time.Hour).Format(time.RFC3339)
	got = read[api.Sender](t, d.ask(t, "PATCH", path, `{"state":"paused","paused_until":"`+until+`","reason":"x"}`), 200)
	require.True(t, got.PausedUntil.Equal(now.Add(time.Hour)))
	got = read[api.Sender](t, d.ask(t, "PATCH", path, `{"state":"active"}`), 200)
	require.Nil(t, got.PausedUntil)
	require.Equal(t, []string{"sender.created", "sender.changed", "sender.paused", "sender.resumed"},
		d.audited(t, "sender/"+s.ID.String()))

	for body, field := range map[string]string{
		strings.Replace(senderBody, "EAAsecret", "", 1):                          "body.token",
		strings.Replace(senderBody, "EAAsecret", "a b", 1):                       "body.token",
		strings.Replace(senderBody, "EAAsecret", "é", 1):                         "body.token",
		strings.Replace(senderBody, "EAAsecret", strings.Repeat("x", 4097), 1):   "body.token",
		strings.Replace(senderBody, `"101"`, `"+1"`, 1):                          "body.phone_number_id",
		strings.Replace(senderBody, `"name"`, `"per_second":1001,"name"`, 1):     "body.per_second",
		strings.Replace(senderBody, `"name":"Support"`, `"nam":"Support"`, 1):    "body.nam",
		strings.Replace(senderBody, `"token":"EAAsecret"`, `"secret":"EAA1"`, 1): "body.secret",
	} {
		require.Contains(t, refused(t, d.ask(t, "POST", "/tenants/acme/senders", body), 422).fields(), field, body)
	}
	all := value[string](t, d, "SELECT string_agg(a::text, ' ') FROM audit a")
	for _, shown := range []string{all, d.get(t, path).Body, r.Body} {
		require.NotContains(t, shown, "EAA")
	}
}

// secretBox has keys of these IDs, which tell their first letters apart.
func secretBox(t *testing.T, keys ...string) *secret.Box {
	t.Helper()

	for i, k := range keys {
		keys[i] = k + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(k[:1], 32)))
	}
	b, err := secret.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	return b
}

// Without a key there is no way to store a token.
func TestSendersWithoutKeys(t *testing.T) {
	t.Parallel()
	d := open(t, func(p *parts) {
		var err error
		p.Tenancy.Secrets, err = secret.Parse("")
		require.NoError(t, err)
	})
	tenant(t, d.pool, "acme")
	p := refused(t, d.ask(t, "POST", "/tenants/acme/senders", senderBody), 409)
	require.Contains(t, p.Detail, "CONVEYOR_SECRET_KEYS")
	refused(t, d.ask(t, "POST", "/senders/reseal", ""), 409)
}

// A token stays readable while keys are replaced.
func TestResealTokens(t *testing.T) {
	t.Parallel()
	var current *secret.Box
	d := open(t, func(p *parts) { current = p.Tenancy.Secrets; *current = *secretBox(t, "a") })
	tenant(t, d.pool, "acme")
	tenant(t, d.pool, "umbrella")
	for _, id := range []string{"acme", "umbrella"} {
		body := strings.Replace(senderBody, "101", fmt.Sprint(len(id)), 1)
		read[api.Sender](t, d.ask(t, "POST", "/tenants/"+id+"/senders", body), 201)
	}
	require.Equal(t, api.Resealed{Key: "a"}, read[api.Resealed](t, d.ask(t, "POST", "/senders/reseal", ""), 200))
	*current = *secretBox(t, "b", "a")
	require.Equal(t, api.Resealed{Key: "b", Resealed: 2}, read[api.Resealed](t, d.ask(t, "POST", "/senders/reseal", ""), 200))
	require.Equal(t, []string{"senders.resealed"}, d.audited(t, "secret-key/b"))
	s := read[api.SenderList](t, d.get(t, "/tenants/acme/senders"), 200).Items[0]
	require.Equal(t, "b", s.TokenKey)
	sealed, err := d.Tenancy.Senders.Token(t.Context(), "acme", s.ID)
	require.NoError(t, err)
	plain, err := secretBox(t, "b").Open(dboutreach.SenderPurpose(s.ID), sealed.Key, sealed.Box)
	require.NoError(t, err)
	require.Equal(t, "EAAsecret", string(plain))

	*current = *secretBox(t, "c")
	p := refused(t, d.ask(t, "POST", "/senders/reseal", ""), 409)
	require.Contains(t, p.Detail, `no key with the ID "b"`)
}

// A change is answered while Temporal is away, and by operators of the system only.
func TestTenantsWithoutTemporal(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.started.err = errors.New("connection refused")
	tenant(t, d.pool, "acme")
	read[api.Tenant](t, d.ask(t, "PATCH", "/tenants/acme", `{"name":"x"}`), 200)
	d.pool.Close()
	comesBack(t, d.ask(t, "PATCH", "/tenants/acme", `{"name":"y"}`))
}

// A bound token opens for its tenant and number only. One that is not is read, and bound by rekey; without the setting
// rekey makes it one that releases before 0.5 read.
func TestBoundTokens(t *testing.T) {
	t.Parallel()
	d := open(t)
	tenant(t, d.pool, "acme")
	s := read[api.Sender](t, d.ask(t, "POST", "/tenants/acme/senders", senderBody), 201)
	sealed := func() db.Sealed {
		sealed, err := d.Tenancy.Senders.Token(t.Context(), "acme", s.ID)
		require.NoError(t, err)
		return sealed
	}
	opens := func(purposes ...string) bool {
		plain, err := d.Tenancy.Secrets.OpenAny(sealed().Key, sealed().Box, purposes...)
		return err == nil && string(plain) == "EAAsecret"
	}
	both := dboutreach.SenderPurposes("acme", s.ID, "101", true)
	require.True(t, opens(dboutreach.SenderPurpose(s.ID)), "releases before 0.5 read it")
	require.True(t, opens(both...))
	resealed := func(bound bool, want int) {
		t.Helper()
		with := open(t, func(p *parts) {
			p.Tenants, p.Tenancy, p.Audit = d.Tenants, d.Tenancy, d.Audit
			p.Tenancy.BindTokens = bound
		})
		require.Equal(t, want, read[api.Resealed](t, with.ask(t, "POST", "/senders/reseal", ""), 200).Resealed)
		read[api.Sender](t, with.ask(t, "PATCH", "/tenants/acme/senders/"+s.ID.String(), `{"token":"EAAsecret"}`), 200)
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
