package outreach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// mailer is an API with the tenant acme, which has a sender.
func mailer(t *testing.T, change ...func(*apitest.Parts)) (*apitest.Door, uuid.UUID) {
	t.Helper()

	d := apitest.Open(t, change...)
	apitest.Tenant(t, d.Pool, "acme")
	return d, apitest.AddSender(t, d.Pool, "acme", "Support")
}

func TestCreateCampaign(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	body := apitest.CampaignBody(sender.String())
	r := d.Ask(t, "POST", "/campaigns?tenant=acme", body, "Idempotency-Key", "k")
	c := apitest.Read[apioutreach.Campaign](t, r, 201)
	require.Equal(t, "/campaigns/"+c.ID.String(), r.Header.Get("Location"))
	require.Equal(t, apioutreach.Campaign{
		ID: c.ID, State: "draft", CreatedBy: "anonymous", CreatedAt: apitest.Now, UpdatedAt: apitest.Now,
		CampaignPlan: apioutreach.CampaignPlan{
			Name: "Spring", Sender: sender, Audience: campaign.Audience{To: campaign.Groups{Tags: []string{"vip"}}},
			Template: campaign.Body{Type: "text", Text: &campaign.Text{Body: "Hi {{given_name|you}}"}},
		},
		Workflow: api.WorkflowLink{
			ID: "campaign/" + c.ID.String(), URL: "http://temporal.test/namespaces/conveyor/workflows/campaign%2F" + c.ID.String(),
		},
	}, c)
	require.Equal(t, c, apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", body, "Idempotency-Key", "k"), 201))
	require.NotEqual(t, c.ID, apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", body), 201).ID)
	other := strings.Replace(body, "Spring", "Summer", 1)
	apitest.Refused(t, d.Ask(t, "POST", "/campaigns?tenant=acme", other, "Idempotency-Key", "k"), 409)

	path := "/campaigns/" + c.ID.String()
	got := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "PUT", path+"?tenant=acme", other), 200)
	require.Equal(t, "Summer", got.Name)
	require.Equal(t, []string{"campaign.created", "campaign.edited"}, d.Audited(t, "campaign/"+c.ID.String()))
	require.Empty(t, d.Started.Calls)
	for _, tt := range []struct{ old, new, field string }{
		{`"name":"Spring"`, `"name":""`, "body.name"},
		{`"name":"Spring"`, `"name":"a\u0000"`, "body.name"},
		{`"name":"Spring",`, ``, "body"},
		{`Hi {{given_name|you}}`, ``, "body.template.text.body"},
		{`Hi {{given_name|you}}`, `{{`, "body.template.text.body"},
		{`"type":"text"`, `"type":"fax"`, "body.template.type"},
		{`"tags":["vip"]`, ``, "body.audience.to"},
		{`"tags":["vip"]`, `"tags":[" "]`, "body.audience.to.tags"},
		{`"to":{`, `"all":true,"to":{`, "body.audience.all"},
		{`"to":{`, `"filter":{"tag":"a","country":"FR"},"to":{`, "body.audience.filter"},
		{`"to":{`, `"whole":true,"to":{`, "body.audience.whole"},
	} {
		p := apitest.Refused(t, d.Ask(t, "POST", "/campaigns?tenant=acme", strings.Replace(body, tt.old, tt.new, 1)), 422)
		require.Contains(t, p.Fields(), tt.field, tt.new)
	}
	p := apitest.Refused(t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(uuid.NewString())), 422)
	require.Contains(t, p.Detail, "sender: there is no")
	list := strings.Replace(body, `"tags":["vip"]`, `"lists":["`+uuid.NewString()+`"]`, 1)
	require.Contains(t, apitest.Refused(t, d.Ask(t, "POST", "/campaigns?tenant=acme", list), 422).Detail, "audience: list: there is no")

	apitest.Read[apioutreach.Tenant](t, d.Ask(t, "PATCH", "/tenants/acme", `{"max_conditions":1}`), 200)
	apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", body), 201)
	r = d.Ask(t, "POST", "/campaigns?tenant=acme", strings.Replace(body, `"vip"`, `"vip","more"`, 1))
	require.Contains(t, apitest.Refused(t, r, 429).Detail, "audience: has 2 conditions")
	require.Contains(t, apitest.Refused(t, r, 429).Detail, "the quota max_conditions of its tenant")
	require.Empty(t, r.Header.Get("Retry-After"))
}

func TestListCampaigns(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	plan := dboutreach.Plan{
		Name: "x", Sender: sender, Template: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}},
		Audience: campaign.Audience{All: true},
	}
	ids := map[string]bool{}
	for range 5 {
		ids[apitest.NewCampaign(t, d.Campaigns.Store, "acme", plan, campaign.Draft).String()] = true
	}
	paused := apitest.NewCampaign(t, d.Campaigns.Store, "acme", plan, campaign.Paused)
	seen := 0
	for cursor := ""; ; {
		p := apitest.Read[apioutreach.CampaignPage](t, d.Get(t, "/campaigns?tenant=acme&limit=2&state=draft&cursor="+cursor), 200)
		for _, c := range p.Items {
			require.True(t, ids[c.ID.String()])
			seen++
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, 5, seen)
	items := apitest.Read[apioutreach.CampaignPage](t, d.Get(t, "/campaigns?tenant=acme&state=paused"), 200).Items
	require.Len(t, items, 1)
	require.Equal(t, paused, items[0].ID)
	require.JSONEq(t, `{"items":[]}`, d.Get(t, "/campaigns?tenant=acme&state=done").Body)
	for query, field := range map[string]string{"state=x": "state", "limit=0": "limit", "cursor=x": "cursor", "q=x": "q"} {
		require.Contains(t, apitest.Refused(t, d.Get(t, "/campaigns?tenant=acme&"+query), 422).Fields(), "query."+field)
	}
}

// A campaign goes from one state to the next by the store; its workflow is told, and started where it has to be there.
func TestControlCampaign(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	id := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(sender.String())), 201).ID
	do := func(action, body string, status int) (c apioutreach.Campaign) {
		d.Started.Calls = nil
		r := d.Ask(t, "POST", "/campaigns/"+id.String()+"/"+action+"?tenant=acme", body)
		if status >= 400 {
			apitest.Refused(t, r, status)
			return c
		}
		return apitest.Read[apioutreach.Campaign](t, r, status)
	}
	start, wake := fmt.Sprintf("start campaign %s of acme", id), fmt.Sprintf("wake campaign %s", id)
	do("pause", "", 409)
	hint := func(action, says string) {
		r := d.Ask(t, "POST", "/campaigns/"+id.String()+"/"+action+"?tenant=acme", "")
		require.Contains(t, apitest.Refused(t, r, 409).Detail, says)
	}
	hint("resume", "is draft: start it instead")
	do("unschedule", "", 200)

	later := apitest.Now.Add(time.Hour)
	c := do("start", `{"at":"`+later.Format(time.RFC3339)+`"}`, 202)
	require.Equal(t, apioutreach.CampaignState("queued"), c.State)
	require.True(t, c.ScheduledAt.Equal(later))
	require.Empty(t, d.Started.Calls, "the schedule starts it")
	hint("pause", "is queued: unschedule it instead")
	require.True(t, do("start", `{"at":"`+later.Add(time.Hour).Format(time.RFC3339)+`"}`, 202).ScheduledAt.After(later))
	require.Equal(t, apioutreach.CampaignState("draft"), do("unschedule", "", 200).State)
	c = do("start", `{"at":"2020-01-01T00:00:00Z"}`, 202)
	require.True(t, c.ScheduledAt.Equal(apitest.Now))
	require.Equal(t, []string{start}, d.Started.Calls)
	_, err := d.Campaigns.Store.Begin(t.Context(), "acme", id, apitest.Now)
	require.NoError(t, err)
	require.Equal(t, apioutreach.CampaignState("running"), do("start", "", 202).State, "it is the same request")
	require.Equal(t, apioutreach.CampaignState("running"), do("start", `{"at":"2020-01-01T00:00:00Z"}`, 202).State)
	require.Empty(t, d.Started.Calls)
	do("start", `{"at":"`+later.Format(time.RFC3339)+`"}`, 409)
	hint("unschedule", "is running: pause or cancel it instead")
	apitest.Refused(t, d.Ask(t, "PUT", "/campaigns/"+id.String()+"?tenant=acme", apitest.CampaignBody(sender.String())), 409)

	c = do("pause", `{"reason":"wrong text"}`, 200)
	require.Equal(t, "wrong text", c.Reason)
	require.Equal(t, []string{wake}, d.Started.Calls)
	require.Equal(t, "wrong text", do("pause", `{"reason":"another"}`, 200).Reason, "it is paused already")
	hint("start", "is paused: resume it instead")
	require.Equal(t, apioutreach.CampaignState("running"), do("resume", "", 200).State)
	require.Equal(t, []string{start, wake, "wake dispatch of acme"}, d.Started.Calls)
	c = do("cancel", "", 200)
	require.Equal(t, apioutreach.CampaignState("canceled"), c.State)
	require.Equal(t, []string{start, wake}, d.Started.Calls, "the workflow brings it to its end")
	hint("resume", "is canceled: it has ended, and another one is created")
	do("retry-failed", "", 409)
	require.Equal(t, []string{
		"campaign.created", "campaign.scheduled", "campaign.scheduled", "campaign.unscheduled", "campaign.scheduled",
		"campaign.paused", "campaign.resumed", "campaign.canceled",
	}, d.Audited(t, "campaign/"+id.String()))
	do("explode", "", 404)
}

// Two campaigns of a tenant start at once; the next waits for the tenant's turn.
func TestStartCampaignsInTurns(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	for n := range 4 {
		c := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(sender.String())), 201)
		d.Started.Calls = nil
		c = apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns/"+c.ID.String()+"/start?tenant=acme", ""), 202)
		require.Equal(t, apioutreach.CampaignState("queued"), c.State)
		require.Equal(t, n < 2, len(d.Started.Calls) == 1, n)
		if n == 1 { // the first has not begun when the second one is started, nor the second when the third one is
			_, err := d.Campaigns.Store.Begin(t.Context(), "acme", c.ID, apitest.Now)
			require.NoError(t, err)
		}
	}
}

// A change that cannot reach Temporal is stored, and says so; one that cannot reach Postgres is refused.
func TestControlCampaignWithoutTemporal(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	d.Started.Err = errors.New("connection refused")
	c := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(sender.String())), 201)
	path := "/campaigns/" + c.ID.String()
	require.Contains(t, apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", path+"/start?tenant=acme", ""), 202).Warning, "is stored")
	_, err := d.Campaigns.Store.Begin(t.Context(), "acme", c.ID, apitest.Now)
	require.NoError(t, err)
	for _, act := range []string{"pause", "resume", "cancel"} {
		require.NotEmpty(t, apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", path+"/"+act+"?tenant=acme", ""), 200).Warning, act)
	}
	d.Pool.Close()
	apitest.Refused(t, d.Get(t, path+"?tenant=acme"), 503)
}

func TestGetCampaign(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	plan := dboutreach.Plan{
		Name: "x", Sender: sender, Template: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}},
		Audience: campaign.Audience{All: true},
	}
	id := apitest.NewCampaign(t, d.Campaigns.Store, "acme", plan, campaign.Running)
	other := apitest.NewCampaign(t, d.Campaigns.Store, "acme", plan, campaign.Running)
	sending := fmt.Sprintf("/tenants/acme/senders/%s", sender)
	require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"token":"EAAB"}`).Status)
	get := func() apioutreach.CampaignDetail {
		return apitest.Read[apioutreach.CampaignDetail](t, d.Get(t, "/campaigns/"+id.String()+"?tenant=acme"), 200)
	}
	require.Nil(t, get().SecondsLeft, "its messages are not written yet")
	d.System(t, `UPDATE campaigns SET waiting = 60, sent = 20, delivered = 15, failed = 5, written_at = now() WHERE id = $1`, id)
	d.System(t, `UPDATE campaigns SET waiting = 5000 WHERE id = $1`, other)
	got := get()
	require.Equal(t, apioutreach.CampaignCounts{Total: 100, Waiting: 60, Sent: 20, Delivered: 15, Failed: 5}, got.Counts)
	require.InDelta(t, .4, got.Progress, 1e-9)
	require.Equal(t, 10, got.PerSecond)
	require.InDelta(t, 12, *got.SecondsLeft, 1e-9, "they take turns")
	require.Empty(t, got.Held)

	// A token that cannot be opened leaves its messages where they are.
	for _, wrong := range []string{"token_key = 'lost'", "token = 'sealed for another'"} {
		d.System(t, "UPDATE senders SET "+wrong+" WHERE id = $1", sender)
		got = get()
		require.Contains(t, got.Held, "the sender's access token cannot be opened: put its key")
		require.Contains(t, got.Held, "(conveyor tenants sender set acme "+sender.String()+" --token-file FILE)")
		require.Nil(t, got.SecondsLeft)
		require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"token":"EAAB"}`).Status)
		require.Empty(t, get().Held)
	}

	require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"per_second":2}`).Status)
	require.InDelta(t, 60, *get().SecondsLeft, 1e-9)
	require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"state":"paused","reason":"lunch"}`).Status)
	require.Equal(t, "the sender is paused: lunch", get().Held)
	require.Nil(t, get().SecondsLeft)
	require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"state":"paused","paused_until":"2026-10-01T13:00:00Z"}`).Status)
	require.Equal(t, "the sender is paused until 2026-10-01T13:00:00Z: lunch", get().Held)
	require.Equal(t, 200, d.Ask(t, "PATCH", sending, `{"state":"stopped","reason":"token"}`).Status)
	require.Equal(t, "the sender is stopped: token", get().Held)
	require.Equal(t, 200, d.Ask(t, "PATCH", "/tenants/acme", `{"state":"stopped","stopped_reason":"unpaid"}`).Status)
	require.Equal(t, "the tenant is stopped: unpaid", get().Held)
	d.System(t, `UPDATE campaigns SET state = 'queued', scheduled_at = $2 WHERE id = $1`, id, apitest.Now)
	require.Equal(t, "the tenant is stopped: unpaid", get().Held, "its time has come")
	d.System(t, `UPDATE campaigns SET scheduled_at = $2 WHERE id = $1`, id, apitest.Now.Add(time.Hour))
	require.Empty(t, get().Held)
	apitest.Refused(t, d.Get(t, "/campaigns/"+uuid.NewString()+"?tenant=acme"), 404)
	apitest.Refused(t, d.Get(t, "/campaigns/x?tenant=acme"), 422)

	audience := "/campaigns/" + id.String() + "/audience?tenant=acme"
	require.Equal(t, apioutreach.CampaignAudience{}, apitest.Read[apioutreach.CampaignAudience](t, d.Get(t, audience), 200))
	d.System(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone) VALUES
		('acme', now(), now(), 'a', 'a', '+15145550101'), ('acme', now(), now(), 'b', 'b', '')`)
	require.Equal(t, apioutreach.CampaignAudience{Contacts: 2, WithoutPhone: 1, ToSend: 1},
		apitest.Read[apioutreach.CampaignAudience](t, d.Get(t, audience), 200))
	apitest.Refused(t, d.Get(t, "/campaigns/"+uuid.NewString()+"/audience?tenant=acme"), 404)
}

// runner is an API with a tenant whose sender has a running campaign to everybody.
func runner(t *testing.T) (d *apitest.Door, sender, id uuid.UUID) {
	t.Helper()
	d, sender = mailer(t)
	return d, sender, apitest.NewCampaign(t, d.Campaigns.Store, "acme", dboutreach.Plan{
		Name: "x", Sender: sender, Template: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}},
		Audience: campaign.Audience{All: true},
	}, campaign.Running)
}

// A campaign waits where the messages of the tenant's day are used up, and has no time left that would not be kept.
func TestCampaignBeyondTheDay(t *testing.T) {
	t.Parallel()
	d, sender, id := runner(t)
	require.Equal(t, 200, d.Ask(t, "PATCH", fmt.Sprintf("/tenants/acme/senders/%s", sender), `{"token":"EAAB"}`).Status)
	d.System(t, `UPDATE campaigns SET waiting = 2, written_at = now() WHERE id = $1`, id)
	d.System(t, `INSERT INTO messages (id, tenant, campaign, sender, kind, recipient, digest, body, due_at, queued_at)
		SELECT gen_random_uuid(), 'acme', $1, $2, 'campaign', '+1514555010' || n, n::text::bytea, '{}', now(), now()
		FROM generate_series(1, 2) n`, id, sender)
	get := func(quota string) apioutreach.CampaignDetail {
		require.Equal(t, 200, d.Ask(t, "PATCH", "/tenants/acme", `{"max_messages_day":`+quota+`}`).Status)
		return apitest.Read[apioutreach.CampaignDetail](t, d.Get(t, "/campaigns/"+id.String()+"?tenant=acme"), 200)
	}
	c := get("2")
	require.Empty(t, c.Held)
	require.NotNil(t, c.SecondsLeft)
	c = get("1")
	require.Empty(t, c.Held, "one may be sent")
	require.Nil(t, c.SecondsLeft)
	c = get("0")
	require.Regexp(t, `^the tenant's max_messages_day is used up: first attempts go on at \S+T00:00:00Z$`, c.Held)
	require.Nil(t, c.SecondsLeft)
	d.System(t, `UPDATE messages SET attempts = 1 WHERE campaign = $1 AND recipient = '+15145550101'`, id)
	require.NotNil(t, get("1").SecondsLeft, "the day lasts for the one first attempt")
	require.Nil(t, get("0").SecondsLeft)
	d.System(t, `UPDATE messages SET attempts = 1 WHERE campaign = $1`, id)
	c = get("0")
	require.Empty(t, c.Held, "further attempts do not count")
	require.NotNil(t, c.SecondsLeft)
	require.Empty(t, get("null").Held)
}

// Messages of a campaign are listed by state, and those that failed for a passing cause are sent again.
func TestMessagesOfCampaign(t *testing.T) {
	t.Parallel()
	d, sender, id := runner(t)
	d.System(t, `INSERT INTO messages (id, tenant, campaign, contact, sender, due_at, queued_at, kind, state, digest, recipient,
			class, body)
		SELECT gen_random_uuid(), 'acme', $1, i, $2, $3, $3, 'campaign', s.state, '', '+1514555010' || i, s.class, '{"type":"text"}'
		FROM (VALUES ('failed', 'transient'), ('failed', 'recipient'), ('sent', '')) s(state, class), generate_series(1, 3) i`,
		id, sender, apitest.Now)
	d.System(t, `UPDATE campaigns SET failed = 6, sent = 3, written_at = now(), state = 'done', finished_at = now() WHERE id = $1`,
		id)
	path := "/campaigns/" + id.String()
	states := map[apioutreach.MessageState]int{}
	for cursor := ""; ; {
		p := apitest.Read[apioutreach.MessagePage](t, d.Get(t, path+"/messages?tenant=acme&limit=2&cursor="+cursor), 200)
		for _, m := range p.Items {
			states[m.State]++
			require.Equal(t, id, *m.Campaign)
			require.NotEmpty(t, m.To)
			require.Nil(t, m.Body)
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, map[apioutreach.MessageState]int{"failed": 6, "sent": 3}, states)
	require.Len(t, apitest.Read[apioutreach.MessagePage](t, d.Get(t, path+"/messages?tenant=acme&state=sent"), 200).Items, 3)
	for query, n := range map[string]int{
		"state=sent,failed": 9, "state=sent&state=failed": 9, "state=sent,any": 9, "class=transient,recipient": 6,
		"class=transient&code=0,131026": 3,
	} {
		require.Len(t, apitest.Read[apioutreach.MessagePage](t, d.Get(t, path+"/messages?tenant=acme&"+query), 200).Items, n, query)
	}
	apitest.Refused(t, d.Get(t, path+"/messages?tenant=acme&state=sent,x"), 422)
	causes := apitest.Read[apioutreach.CampaignErrors](t, d.Get(t, path+"/errors?tenant=acme"), 200).Items
	require.Equal(t, []apioutreach.CampaignError{
		{State: "failed", Class: "recipient", Messages: 3}, {State: "failed", Class: "transient", Messages: 3},
	}, causes)
	for _, c := range causes { // the list shows as many
		query := fmt.Sprintf("/messages?tenant=acme&state=%s&class=%s&code=%d", c.State, c.Class, c.Code)
		require.Len(t, apitest.Read[apioutreach.MessagePage](t, d.Get(t, path+query), 200).Items, int(c.Messages))
	}
	require.Empty(t, apitest.Read[apioutreach.MessagePage](t, d.Get(t, path+"/messages?tenant=acme&code=131026"), 200).Items)
	apitest.Refused(t, d.Get(t, path+"/messages?tenant=acme&code=x"), 422)
	apitest.Refused(t, d.Get(t, "/campaigns/"+uuid.NewString()+"/errors?tenant=acme"), 404)
	apitest.Refused(t, d.Get(t, path+"/messages?tenant=acme&cursor=x"), 422)
	apitest.Refused(t, d.Get(t, "/campaigns/"+uuid.NewString()+"/messages?tenant=acme"), 404)

	got := apitest.Read[apioutreach.CampaignRetried](t, d.Ask(t, "POST", path+"/retry-failed?tenant=acme", ""), 200)
	require.Equal(t, 3, got.Retried)
	require.Equal(t, apioutreach.CampaignState("running"), got.Campaign.State)
	require.EqualValues(t, 3, got.Campaign.Counts.Waiting)
	require.Equal(t, []string{
		fmt.Sprintf("start campaign %s of acme", id), fmt.Sprintf("wake campaign %s", id), "wake dispatch of acme",
	}, d.Started.Calls)
	require.Zero(t, apitest.Read[apioutreach.CampaignRetried](t, d.Ask(t, "POST", path+"/retry-failed?tenant=acme", ""), 200).Retried)
	shares := apitest.Read[apioutreach.CampaignShares](t, d.Get(t, "/campaigns/shares"), 200).Items
	require.Len(t, shares, 1)
	require.Equal(t, []any{"acme", int64(1), int64(3)}, []any{shares[0].Tenant, shares[0].Running, shares[0].Waiting})
}

// A campaign with a time starts by its not_after, or within the lateness that is set; one without, whenever it can.
func TestCampaignLatestStart(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t, func(p *apitest.Parts) { p.Campaigns.Late = time.Hour })
	started := func(body string) apioutreach.Campaign {
		t.Helper()
		c := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(sender.String())), 201)
		return apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns/"+c.ID.String()+"/start?tenant=acme", body), 202)
	}
	at := apitest.Now.Add(24 * time.Hour)
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	require.Equal(t, at.Add(time.Hour), started(`{"at":"`+stamp(at)+`"}`).NotAfter.UTC())
	require.Equal(t, at.Add(2*time.Hour),
		started(`{"at":"`+stamp(at)+`","not_after":"`+stamp(at.Add(2*time.Hour))+`"}`).NotAfter.UTC())
	require.Nil(t, started("").NotAfter)
	c := apitest.Read[apioutreach.Campaign](t, d.Ask(t, "POST", "/campaigns?tenant=acme", apitest.CampaignBody(sender.String())), 201)
	for _, field := range []string{"at", "not_after"} {
		p := apitest.Refused(t, d.Ask(t, "POST", "/campaigns/"+c.ID.String()+"/start?tenant=acme",
			`{"`+field+`":"9999-12-31T23:59:59-05:00"}`), 422)
		require.Equal(t, []string{"body." + field}, p.Fields())
	}
	require.Nil(t, started(`{"at":"9999-12-31T23:59:59Z"}`).NotAfter) // an hour later it is a year that JSON does not have
	require.True(t, json.Valid([]byte(d.Get(t, "/campaigns?tenant=acme").Body)))
	p := apitest.Refused(t, d.Ask(t, "PATCH", "/tenants/acme/senders/"+sender.String(),
		`{"state":"paused","paused_until":"9999-12-31T23:59:59-05:00"}`), 422)
	require.Equal(t, []string{"body.paused_until"}, p.Fields())
	apitest.Refused(t, d.Ask(t, "POST", "/campaigns/"+c.ID.String()+"/start?tenant=acme",
		`{"at":"`+stamp(at)+`","not_after":"`+stamp(apitest.Now)+`"}`), 422)
}
