package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// post is a world whose tenants send by a fake of the Cloud API.
type post struct {
	*world

	api      *cloudapi.API
	messages *dboutreach.Messages
	launch   *launch.Launch
	box      *secret.Box
}

func newPost(t *testing.T, settings ...string) *post {
	t.Helper()

	var w *world
	hook := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { // the API has no address yet
		to, _ := url.Parse(w.api)
		r.SetURL(to)
	}})
	t.Cleanup(hook.Close)
	const appSecret = "app secret"
	api := cloudapi.New(cloudapi.Options{
		Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}, Webhook: hook.URL + "/webhooks/whatsapp", Secret: appSecret,
		Statuses: cloudapi.Statuses{Sent: time.Millisecond, Delivered: 10 * time.Millisecond, Read: 20 * time.Millisecond},
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	keys := "k1:" + base64.StdEncoding.EncodeToString(key)
	box, err := secret.Parse(keys)
	require.NoError(t, err)
	w = newWorld(t, append(settings, "CONVEYOR_WHATSAPP_URL="+server.URL, "CONVEYOR_SECRET_KEYS="+keys,
		"CONVEYOR_WHATSAPP_APP_SECRETS="+appSecret)...)
	return &post{
		world: w, api: api, messages: dboutreach.NewMessages(w.db, nil), box: box,
		launch: &launch.Launch{Temporal: w.temporal, Namespace: w.space},
	}
}

// tenant adds a tenant with a sender, and returns the sender.
func (p *post) tenant(id string, tier campaign.Tier) uuid.UUID {
	p.t.Helper()

	ctx, now, sender := p.t.Context(), time.Now(), uuid.New()
	require.NoError(p.t, db.NewTenants(p.db).Create(ctx, db.Tenant{ID: id, Name: id, Tier: tier, CreatedAt: now}, "test"))
	name, box, err := p.box.Seal(dboutreach.SenderPurpose(sender), []byte("token-of-"+id))
	require.NoError(p.t, err)
	require.NoError(p.t, dboutreach.NewSenders(p.db).Add(ctx, dboutreach.Sender{
		ID: sender, Tenant: id, Name: "main", PhoneNumberID: digits(sender), BusinessAccountID: "1", CreatedAt: now,
	}, db.Sealed{Key: name, Box: box}, "test"))
	return sender
}

// digits is a number that stands for an ID.
func digits(id uuid.UUID) string { return fmt.Sprintf("%d", uint64(id.ID())+1e10) }

// put queues a transactional message of a tenant and wakes its workflow.
func (p *post) put(tenant string, sender uuid.UUID, to string) uuid.UUID {
	p.t.Helper()

	id := uuid.New()
	_, err := p.messages.Put(p.t.Context(), tenant, dboutreach.NewMessage{
		ID: id, Sender: sender, Recipient: to, Body: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "Bonjour"}},
	}, time.Now())
	require.NoError(p.t, err)
	require.NoError(p.t, p.launch.WakeDispatch(p.t.Context(), tenant))
	return id
}

func (p *post) state(tenant string, id uuid.UUID) campaign.Status {
	m, _, err := p.messages.Get(p.t.Context(), tenant, id)
	require.NoError(p.t, err)
	return m.State
}

// What tenants do: they import files, and send messages. The cases share a world and have tenants of their own.
func TestOutreach(t *testing.T) {
	t.Parallel()

	p := newPost(t)
	worker := p.start("worker")
	t.Run("a message is sent", func(t *testing.T) { p.in(t).sends() })
	t.Run("files are imported", func(t *testing.T) { p.world.in(t).imports(worker).takesFiles() })
}

// in is the world as a case of its test has it.
func (p *post) in(t *testing.T) *post {
	c := *p
	c.world = p.world.in(t)
	return &c
}

// A message that is queued is sent once, within a moment, and its tenant's workflow ends.
func (p *post) sends() {
	t := p.t
	const tenant = "sender"
	sender := p.tenant(tenant, campaign.Standard)
	id := p.put(tenant, sender, "+15145550101")
	p.eventually("it is sent", func() bool { return p.state(tenant, id) == campaign.MessageSent })
	require.Equal(t, 1, p.api.Accepts(id.String()))
	_, attempts, err := p.messages.Get(t.Context(), tenant, id)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.NoError(t, p.temporal.GetWorkflow(t.Context(), campaign.DispatchWorkflowID(tenant), "").Get(t.Context(), nil))
	d, err := p.temporal.DescribeWorkflowExecution(t.Context(), campaign.DispatchWorkflowID(tenant), "")
	require.NoError(t, err)
	t.Logf("%d state transitions, %d events", d.GetWorkflowExecutionInfo().GetStateTransitionCount(),
		d.GetWorkflowExecutionInfo().GetHistoryLength())
	again := p.put(tenant, sender, "+15145550102")
	p.eventually("another is sent", func() bool { return p.state(tenant, again) == campaign.MessageSent })
}

// nothingIsBeingSent waits until no message of a campaign that was paused or ended before is claimed: what was, is with
// Meta or left. A claim that had begun by then may still find the campaign running, and be seen when it commits only.
func (p *post) nothingIsBeingSent(tenant string, id uuid.UUID) {
	p.t.Helper()

	var now time.Time // of Postgres
	require.NoError(p.t, p.db.QueryRow(p.ctx(), "SELECT clock_timestamp()").Scan(&now))
	p.eventually("the claims that had begun are over", func() (over bool) {
		require.NoError(p.t, p.db.QueryRow(p.ctx(), `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start < $1)`, now).Scan(&over))
		return over
	})
	p.eventually("what was being sent is sent", func() bool {
		sending, _, err := p.messages.OfCampaign(p.ctx(), tenant, id,
			dboutreach.MessageFilter{State: []campaign.Status{campaign.MessageSending}}, nil, 1)
		require.NoError(p.t, err)
		return len(sending) == 0
	})
}

// campaign makes a campaign of a tenant to n new contacts, whose time has come.
func (p *post) campaign(tenant string, sender uuid.UUID, n int) uuid.UUID {
	p.t.Helper()

	id, now, store := uuid.New(), time.Now(), dboutreach.NewCampaigns(p.db, nil)
	tag := id.String()[:8]
	require.NoError(p.t, pgx.BeginTxFunc(p.t.Context(), p.db, pgx.TxOptions{
		BeginQuery: "BEGIN; SELECT set_config('conveyor.tenant', '*', true)",
	}, func(tx pgx.Tx) error {
		_, err := tx.Exec(p.t.Context(), `
			INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, tags)
			SELECT $1, now(), now(), substr(sha256(convert_to($2 || n, 'UTF8')), 1, 16), $2 || n,
				'+1514' || lpad(n::text, 7, '0'), ARRAY[$2] FROM generate_series(1, $3) n`, tenant, tag, n)
		return err
	}))
	_, err := store.Create(p.t.Context(), tenant, id, dboutreach.Plan{
		Name: tag, Sender: sender, Template: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "Bonjour"}},
		Audience: campaign.Audience{To: campaign.Groups{Tags: []string{tag}}},
	}, "test", now)
	require.NoError(p.t, err)
	_, err = store.Schedule(p.t.Context(), tenant, id, now, "test", now)
	require.NoError(p.t, err)
	return id
}

// A campaign is sent to its end. A pause holds it, and so does the end of it.
func TestCampaigns(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	p, ctx := newPost(t, "CONVEYOR_DISPATCH_STANDARD=50"), t.Context()
	store, sender := dboutreach.NewCampaigns(p.db, nil), p.tenant("acme", campaign.Standard)
	p.start("worker")
	get := func(id uuid.UUID) dboutreach.Campaign {
		c, err := store.Get(ctx, "acme", id)
		require.NoError(t, err)
		return c
	}
	id := p.campaign("acme", sender, 150)
	require.NoError(t, p.launch.StartCampaign(ctx, "acme", id))
	require.NoError(t, p.launch.StartCampaign(ctx, "acme", id), "it joins")
	p.eventually("some are sent", func() bool { return get(id).Counts.Sent > 20 })
	_, err := store.Pause(ctx, "acme", id, "wait", "test", time.Now())
	require.NoError(t, err)
	p.nothingIsBeingSent("acme", id)
	held := p.api.Counts().Accepted
	require.Less(t, held, 140)
	more := func() bool { return p.api.Counts().Accepted > held }
	require.Never(t, more, 2*time.Second, 50*time.Millisecond, "a pause holds")
	_, err = store.Resume(ctx, "acme", id, "test", time.Now())
	require.NoError(t, err)
	require.NoError(t, p.launch.WakeCampaign(ctx, id))
	var done campaign.Progress
	require.NoError(t, p.temporal.GetWorkflow(ctx, campaign.WorkflowID(id), "").Get(ctx, &done))
	require.Equal(t, campaign.Counts{Sent: 150}, done.Counts)
	require.Equal(t, campaign.Done, get(id).State)
	require.Equal(t, 150, p.api.Counts().Accepted)
	require.Empty(t, p.api.Repeated())

	id = p.campaign("acme", sender, 150)
	p.eventually("the schedule starts it", func() bool { return get(id).Counts.Sent > 0 })
	_, err = store.Cancel(ctx, "acme", id, "no", "test", time.Now())
	require.NoError(t, err)
	require.NoError(t, p.launch.WakeCampaign(ctx, id))
	require.NoError(t, p.temporal.GetWorkflow(ctx, campaign.WorkflowID(id), "").Get(ctx, &done))
	c := get(id)
	require.NotNil(t, c.FinishedAt)
	require.Positive(t, c.Counts.Skipped)
	require.EqualValues(t, 150, c.Counts.Skipped+c.Counts.Sent)
	require.NoError(t, p.launch.WakeCampaign(ctx, id), "it has ended")
}
