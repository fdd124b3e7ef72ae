package outreach_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// post sends the messages of acme by a fake of the Cloud API, whose webhooks are applied.
type post struct {
	*mailing
	t      *testing.T
	api    *cloudapi.API
	client *whatsapp.Client
	flow   *limit.Flow
	from   whatsapp.Sender
}

const webhookSecret = "app secret"

func newPost(t *testing.T) *post {
	t.Helper()

	p := &post{mailing: newMailing(t), t: t, from: whatsapp.Sender{PhoneNumberID: "106540352242922", Token: "token"}}
	p.mailing.sender = p.addSender(t, "acme", p.from.PhoneNumberID)
	hooks := httptest.NewServer(p)
	t.Cleanup(hooks.Close)
	p.api = cloudapi.New(cloudapi.Options{
		Webhook: hooks.URL, Secret: webhookSecret, Retry: 10 * time.Millisecond, Limits: cloudapi.Limits{PerSecond: -1},
		Statuses: cloudapi.Statuses{Sent: time.Millisecond, Delivered: 20 * time.Millisecond, Read: 40 * time.Millisecond},
	})
	server := httptest.NewServer(p.api)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- p.api.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ran)
	})
	var err error
	p.client, err = whatsapp.New(whatsapp.Options{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(p.client.Close)
	p.flow = limit.NewFlow(nil, limit.FlowOptions{})
	return p
}

// ServeHTTP takes a webhook.
func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = p.apply(r.Context(), body, r.Header.Get(whatsapp.SignatureHeader))
	}
	if err != nil {
		p.t.Errorf("webhook: %v", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (p *post) apply(ctx context.Context, body []byte, signature string) error {
	if !whatsapp.Signed(body, signature, []string{webhookSecret}) {
		return fmt.Errorf("it is not signed")
	}
	now := time.Now()
	e, err := whatsapp.ReadEvent(body)
	if err != nil {
		return err
	}
	id, err := p.hooks.Store(ctx, body, len(e.Statuses), len(e.Messages), now)
	if err != nil {
		return err
	}
	_, err = p.hooks.Apply(ctx, id, e.Reports(now), e.Inbounds(now), now)
	return err
}

// work claims, sends and records until nothing is due; dies is how many claims it takes, sends and forgets.
func (p *post) work(ctx context.Context, dies int) {
	for ctx.Err() == nil {
		passes, again := p.flow.Take(ctx, 8, limit.Cap{Key: "acme", PerSecond: 1000})
		if len(passes) == 0 {
			<-time.After(again)
			continue
		}
		token, claims := p.claim(p.t, len(passes))
		if len(claims) == 0 {
			waiting, err := p.Waiting(ctx, "acme")
			require.NoError(p.t, err)
			if len(waiting) == 0 {
				return
			}
			<-time.After(min(max(waiting[0].Wait, time.Millisecond), 100*time.Millisecond))
		}
		results := make([]campaign.Result, len(claims))
		var wg sync.WaitGroup
		for i, c := range claims {
			wg.Go(func() { results[i] = p.send(ctx, c) })
		}
		wg.Wait()
		if dies--; dies >= 0 {
			p.exec(p.t, `WITH held AS (SELECT id FROM messages WHERE lease = $1 AND state = 'sending' ORDER BY id FOR UPDATE)
				UPDATE messages m SET lease_until = now() - interval '1 s' FROM held h WHERE m.id = h.id`, token)
			_, err := p.Expire(ctx, 1000, time.Now())
			require.NoError(p.t, err)
			continue
		}
		_, err := p.Record(ctx, "acme", token, results, time.Now())
		require.NoError(p.t, err)
	}
}

func (p *post) send(ctx context.Context, c campaign.Claim) campaign.Result {
	at := time.Now()
	a, err := p.client.Send(ctx, p.from, whatsapp.Message{ID: c.ID, To: c.Recipient, Body: c.Body})
	if err != nil {
		p.t.Errorf("send: %v", err)
	}
	return a.Result(c, at, time.Since(at), 0)
}

// Connections die before and after the acceptance, workers die after it, a limit is hit, and webhooks come late, twice
// and in the wrong order: no message is accepted twice, each that was accepted is known to be, and what stays unknown
// is what the API has said nothing about.
func TestMessagesAreSentOnce(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()

	p := newPost(t)
	const each = 12
	kinds := []struct {
		prefix string
		rule   cloudapi.Rule
		want   campaign.Status
		n      int // accepts
	}{
		{"1514001", cloudapi.Rule{}, campaign.MessageRead, 1},
		{"1514002", cloudapi.Rule{Cut: cloudapi.CutAfter}, campaign.MessageRead, 1},
		{"1514003", cloudapi.Rule{Cut: cloudapi.CutBefore}, campaign.MessageUnknown, 0},
		{"1514004", cloudapi.Rule{Cut: cloudapi.CutAfter, Webhooks: cloudapi.Lost}, campaign.MessageUnknown, 1},
		{"1514005", cloudapi.Rule{Webhooks: cloudapi.Reversed}, campaign.MessageRead, 1},
		{"1514006", cloudapi.Rule{Webhooks: cloudapi.Twice, Delay: 30 * time.Millisecond}, campaign.MessageRead, 1},
		{"1514007", cloudapi.Rule{Fail: 131026, Webhooks: cloudapi.Reversed}, campaign.MessageFailed, 1},
		{"1514008", cloudapi.Rule{Code: 131026}, campaign.MessageFailed, 0},
		{"1514009", cloudapi.Rule{Status: 504}, campaign.MessageUnknown, 0},
	}
	ids := map[uuid.UUID]int{}
	for i := range each {
		for k, kind := range kinds {
			to := fmt.Sprintf("+%s%04d", kind.prefix, i)
			ids[p.put(t, to, to)] = k
		}
	}
	for _, kind := range kinds {
		kind.rule.To = kind.prefix
		require.NoError(t, p.api.Script(kind.rule))
	}
	require.NoError(t, p.api.Script(cloudapi.Rule{Code: 130429, Times: 2})) // the sender is paused, and nothing is lost

	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { p.work(ctx, i%2) })
	}
	wg.Wait()
	require.NoError(t, p.api.Settled(ctx))
	refused := 0
	for id, k := range ids {
		state, accepts, kind := p.state(t, id), p.api.Accepts(id.String()), kinds[k]
		switch {
		case state == kind.want && accepts == kind.n:
		case state == campaign.MessageUnknown && accepts == 0 && kind.n == 0: // a worker died with the answer
		case state == campaign.MessageUnknown && accepts == 0:
			refused++ // the same, where the answer was that of the limit
		default:
			t.Errorf("%s: %s, accepted %d times; want %s, %d", kind.prefix, state, accepts, kind.want, kind.n)
		}
	}
	require.LessOrEqual(t, refused, 2)
	require.Empty(t, p.api.Repeated())
	c := p.api.Counts()
	require.GreaterOrEqual(t, c.CutAfter, 2*each-refused)
	require.Zero(t, c.Waiting)
}

// Results that hold several senders lock them in the order of their IDs: whatever comes first in a batch, two of them do
// not wait for each other.
func TestResultsLockSendersInOrder(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	const senders = 16
	for i := range senders {
		id := uuid.New()
		require.NoError(t, dboutreach.NewSenders(m.pool).Add(ctx, dboutreach.Sender{
			ID: id, Tenant: "acme", Name: fmt.Sprint(i), PhoneNumberID: fmt.Sprint(i), BusinessAccountID: "1", CreatedAt: time.Now(),
		}, db.Sealed{Key: "k", Box: []byte("sealed")}, "test"))
		_, err := m.Put(ctx, "acme", dboutreach.NewMessage{
			ID: uuid.New(), Sender: id, Recipient: fmt.Sprintf("+1514555%04d", i), Body: text("a"),
		}, time.Now())
		require.NoError(t, err)
	}
	token, claims := m.claim(t, senders)
	require.Len(t, claims, senders)
	lowest := slices.MinFunc(claims, func(a, b campaign.Claim) int { return bytes.Compare(a.Sender[:], b.Sender[:]) }).Sender
	var results []campaign.Result
	for _, c := range claims {
		results = append(results, campaign.Result{Claim: c, Verdict: refusal(130429), At: time.Now(), Status: 400})
	}
	tx, err := m.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM senders WHERE id = $1 FOR NO KEY UPDATE", lowest)
	require.NoError(t, err)
	var work errgroup.Group
	work.Go(func() error {
		_, err := m.Record(context.Background(), "acme", token, results, time.Now())
		return err
	})
	m.waiting(t, 1)
	var free int
	require.NoError(t, tx.QueryRow(ctx, `SELECT count(*) FROM (
		SELECT FROM senders WHERE tenant = 'acme' AND id > $1 FOR NO KEY UPDATE SKIP LOCKED) s`, lowest).Scan(&free))
	require.GreaterOrEqual(t, free, senders-1, "none is locked before the lowest")
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.Equal(t, []string{fmt.Sprint(senders)}, m.lines(t, "SELECT count(*) FROM senders WHERE paused_until > now()"))
}
