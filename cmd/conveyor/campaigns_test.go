package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
	"github.com/mtlrent/conveyor/workflows"
)

// hooked is an API that takes webhooks into a database, with the tenant acme, its sender 101 and a message of it.
func hooked(t *testing.T) (h *house, hooks *dboutreach.Webhooks, url string, message uuid.UUID) {
	t.Helper()

	ctx, pool := t.Context(), dbtest.New(t)
	h = &house{pool: pool, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
	h.config.Worker.Queues = []string{workflows.QueueDispatch}
	hooks = dboutreach.NewWebhooks(pool, nil)
	server := httptest.NewServer(api.New(api.Options{
		Metrics: h.registry, Registerer: h.registry, Log: h.log, URL: "http://conveyor.test", Now: time.Now,
	}, apioutreach.Webhooks{Store: hooks, AppSecrets: []string{"s3cret"}, VerifyTokens: []string{"t0ken"}}))
	t.Cleanup(server.Close)

	now, sender := time.Now(), uuid.New()
	require.NoError(t, db.NewTenants(pool).Create(ctx, db.Tenant{
		ID: "acme", Name: "acme", Tier: campaign.Standard, CreatedAt: now,
	}, "test"))
	require.NoError(t, dboutreach.NewSenders(pool).Add(ctx, dboutreach.Sender{
		ID: sender, Tenant: "acme", Name: "Support", PhoneNumberID: "101", BusinessAccountID: "7", CreatedAt: now,
	}, db.Sealed{Key: "k", Box: []byte("sealed")}, "test"))
	message = uuid.New()
	_, err := dboutreach.NewMessages(pool, nil).Put(ctx, "acme", dboutreach.NewMessage{
		ID: message, Sender: sender, Recipient: "+15145550100",
		Body: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "hi"}},
	}, now)
	require.NoError(t, err)
	return h, hooks, server.URL + "/webhooks/whatsapp", message
}

// What Meta reports comes through the API to the messages, and a person who writes STOP gets no more of them.
func TestWebhooksAreApplied(t *testing.T) {
	t.Parallel()

	h, hooks, url, message := hooked(t)
	cloud := cloudapi.New(cloudapi.Options{
		Webhook: url, Secret: "s3cret", Retry: 10 * time.Millisecond,
		Statuses: cloudapi.Statuses{Sent: time.Millisecond, Delivered: 2 * time.Millisecond, Read: 3 * time.Millisecond},
	})
	site := httptest.NewServer(cloud)
	t.Cleanup(site.Close)
	ctx, stop := context.WithCancel(t.Context())
	var both sync.WaitGroup
	t.Cleanup(func() { stop(); both.Wait() })
	metrics := telemetry.NewWebhooks(h.registry)
	both.Go(func() { _ = cloud.Run(ctx) })
	t.Cleanup(h.tend(workflows.QueueDispatch, "applying webhooks", webhooksEvery, func(ctx context.Context) error {
		return h.applyWebhooks(ctx, hooks, metrics)
	}))
	require.NoError(t, cloud.Verify(ctx, "t0ken"))

	client, err := whatsapp.New(whatsapp.Options{URL: site.URL, Version: "v23.0"})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	_, err = client.Send(ctx, whatsapp.Sender{PhoneNumberID: "101", Token: "x"}, whatsapp.Message{
		ID: message, To: "+15145550100", Body: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "hi"}},
	})
	require.NoError(t, err)
	cloud.Inbound("101", "15145550188", "Stop.")
	messages := dboutreach.NewMessages(h.pool, nil)
	require.Eventually(t, func() bool {
		m, _, err := messages.Get(ctx, "acme", message)
		return err == nil && m.State == campaign.MessageRead
	}, servicetest.Patience(), 20*time.Millisecond)
	require.Eventually(t, func() bool {
		m, err := messages.Put(ctx, "acme", dboutreach.NewMessage{
			ID: uuid.New(), Sender: senderOf(t, h), Recipient: "+15145550188",
			Body: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "hi"}},
		}, time.Now())
		return err == nil && m.State == campaign.MessageSkipped
	}, servicetest.Patience(), 20*time.Millisecond)

	cloud.Inbound("101", cloudapi.UserID("+15145550100"), "STOP") // whose number is not told
	require.Eventually(t, func() bool {
		m, err := messages.Put(ctx, "acme", dboutreach.NewMessage{
			ID: uuid.New(), Sender: senderOf(t, h), Recipient: "+15145550100",
			Body: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "hi"}},
		}, time.Now())
		return err == nil && m.State == campaign.MessageSkipped
	}, servicetest.Patience(), 20*time.Millisecond)

	_, err = hooks.Store(ctx, []byte("not an event"), 0, 0, time.Now())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		waiting, _, err := hooks.Backlog(ctx, 10, time.Now())
		return err == nil && waiting == 0
	}, servicetest.Patience(), 20*time.Millisecond)
	require.Equal(t, 4, testutil.CollectAndCount(h.registry, "conveyor_webhook_delay_seconds", "conveyor_webhook_opt_outs_total",
		"conveyor_webhooks_applied_total"))
}

func senderOf(t *testing.T, h *house) uuid.UUID {
	t.Helper()

	list, err := dboutreach.NewSenders(h.pool).List(t.Context(), "acme")
	require.NoError(t, err)
	return list[0].ID
}

// However many events cannot be applied for now, those behind them are, without a pause.
func TestWebhooksBehindOthersAreApplied(t *testing.T) {
	t.Parallel()

	h, hooks, _, _ := hooked(t)
	dbtest.Alter(t, h.pool, `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'not now'; END $$;
		CREATE TRIGGER late BEFORE UPDATE ON webhook_events FOR EACH ROW WHEN (old.statuses = 1) EXECUTE FUNCTION late()`)
	const bad = 60
	for i := range bad + 1 {
		_, err := hooks.Store(t.Context(), []byte(fmt.Sprint(i)), 1-i/bad, 0, time.Now())
		require.NoError(t, err)
	}
	require.Error(t, h.applyWebhooks(t.Context(), hooks, telemetry.NewWebhooks(h.registry)))
	waiting, _, err := hooks.Backlog(t.Context(), 100, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, bad, waiting)
}

// An event that cannot be read is marked with the reason, and those beside it are applied, as is what is read of it.
func TestWebhooksAreAppliedOneByOne(t *testing.T) {
	t.Parallel()

	for name, odd := range map[string]string{"whole": "", "in part": "7,"} {
		for _, each := range []bool{true, false} {
			t.Run(fmt.Sprint(name, each), func(t *testing.T) {
				t.Parallel()

				h, hooks, _, message := hooked(t)
				ctx := t.Context()
				for _, body := range []string{
					"not an event",
					`{"object":"whatsapp_business_account","entry":[` + odd + `{"changes":[{"field":"messages","value":{
						"metadata":{"phone_number_id":"101"},"statuses":[{"id":"w1","status":"delivered","timestamp":"1",
						"biz_opaque_callback_data":"` + message.String() + `"}]}}]}]}`,
				} {
					_, err := hooks.Store(ctx, []byte(body), 1, 0, time.Now())
					require.NoError(t, err)
				}
				if each {
					require.Zero(t, h.applyEach(ctx, hooks, 0))
				} else {
					require.NoError(t, h.applyWebhooks(ctx, hooks, telemetry.NewWebhooks(h.registry)))
				}
				waiting, err := hooks.Waiting(ctx, 0, 10)
				require.NoError(t, err)
				require.Empty(t, waiting)
				m, _, err := dboutreach.NewMessages(h.pool, nil).Get(ctx, "acme", message)
				require.NoError(t, err)
				require.Equal(t, campaign.MessageDelivered, m.State)
				kept, err := db.SystemRows(ctx, h.pool, pgx.RowTo[int], "SELECT count(*)::int FROM webhook_events WHERE error <> '' AND body <> ''")
				require.NoError(t, err)
				require.Equal(t, []int{1 + len(odd)/2}, kept)
			})
		}
	}
}

// An event that makes its reader panic is marked with the reason, and those beside it are applied.
func TestWebhookThatPanics(t *testing.T) {
	t.Parallel()

	h, hooks, _, message := hooked(t)
	for _, body := range []string{"bad", `{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages",
		"value":{"metadata":{"phone_number_id":"101"},"statuses":[{"id":"w1","status":"delivered","timestamp":"1",
		"biz_opaque_callback_data":"` + message.String() + `"}]}}]}]}`} {
		_, err := hooks.Store(t.Context(), []byte(body), 1, 0, time.Now())
		require.NoError(t, err)
	}
	done, err := hooks.ApplyNext(t.Context(), 100, time.Now(), func(e dboutreach.WebhookEvent) (
		[]campaign.Report, []campaign.Inbound, error,
	) {
		return h.readEvent(e, func(body []byte) (whatsapp.Event, error) {
			if string(body) == "bad" {
				panic(body)
			}
			return whatsapp.ReadEvent(body)
		})
	})
	require.NoError(t, err)
	require.Equal(t, 1, done.Unreadable)
	require.Equal(t, 1, done.Changed)
	waiting, err := hooks.Waiting(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, waiting)
}
