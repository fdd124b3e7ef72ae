package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/activities"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// messaging sends the messages of tenants.
func (h *house) messaging() system {
	c := h.config.Dispatch
	return system{
		backlog: func(b *telemetry.Backlog) { b.Messages = dboutreach.NewMessages(h.pool, h.optOuts).Backlog },
		activities: func(context.Context) ([]workers.Row, func()) {
			client := must(whatsapp.New(h.config.WhatsApp.Options()))
			metrics := telemetry.NewMessages(h.registry)
			store, sent := dboutreach.NewMessages(h.pool, h.optOuts), dboutreach.NewCampaigns(h.pool, h.optOuts)
			dispatching := &activities.Dispatching{
				Queue: store, Rest: store, Metrics: metrics,
				Accounts: accounts{store, h.box, client},
				Flow: flow{limit.NewFlow(h.redis, limit.FlowOptions{
					Name: "messages", Ahead: messageAhead, Registerer: h.registry,
				})},
				Slots: make(activities.MessageSlots, c.Requests), Rates: c.Rates(),
				Lease: h.config.WhatsApp.Timeout + messageLease, Now: time.Now, Dice: rand.Float64,
			}
			tender := &messageTender{house: h, store: store, metrics: metrics, calm: time.Now().Add(expireAfter)}
			// A loop of its own for each: leases end while Temporal is away.
			tenders := each(
				h.tend(workflows.QueueDispatch, "ending leases of messages", messagesEvery, tender.expire),
				resume[string]{
					queue: workflows.QueueDispatch, doing: "waking tenants", every: messagesEvery, most: messagesMost,
					list: store.Tenants, start: seldom(messagesSlow*messagesEvery, h.launch.WakeDispatch),
				}.tend(h),
				resume[dboutreach.OpenCampaign]{
					queue: workflows.QueueCampaigns, doing: "starting campaigns", every: messagesSlow * messagesEvery,
					most: messagesMost,
					list: func(ctx context.Context, after dboutreach.OpenCampaign, most int) ([]dboutreach.OpenCampaign, error) {
						return sent.Open(ctx, after.ID, most)
					},
					start: func(ctx context.Context, c dboutreach.OpenCampaign) error {
						return h.launch.StartCampaign(ctx, c.Tenant, c.ID)
					},
				}.tend(h),
			)
			slices := []any{dispatching}
			return []workers.Row{
				{Queue: workflows.QueueDispatch, Slots: c.Slots, Activities: slices},
				{Queue: workflows.QueueRetry, Slots: c.Slots, Activities: slices},
				{Queue: workflows.QueueCampaigns, Activities: []any{&activities.Campaigns{
					Store: campaigns{sent}, Messages: sent, Cycle: sent, Start: h.launch, Now: time.Now,
				}}},
			}, each(tenders, client.Close)
		},
	}
}

const (
	// messageAhead is how long an urgent message waits behind passes that are handed out already.
	messageAhead = 100 * time.Millisecond
	// messageLease is how long a worker has to record what became of a request.
	messageLease = 20 * time.Second
	// expireAfter is how long our database has to answer before leases are ended: a worker could not record what became of
	// its messages while it was away, and tries each second.
	expireAfter = 5 * time.Second
)

// answers says whether our database does.
func (h *house) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	return fault.Wrap(h.pool.Ping(ctx), "our database does not answer")
}

// messagesEvery is how often messages are tended, and messagesSlow how many of these times make one of what is less
// urgent.
const (
	messagesEvery = 2 * time.Second
	messagesSlow  = 5
	messagesMost  = 500 // rows that are looked at together
)

// messageTender ends the leases of workers that are gone.
type messageTender struct {
	*house

	store   *dboutreach.Messages
	metrics *telemetry.Messages
	calm    time.Time // no lease is ended before
}

// expire ends leases that have run out, once our database has answered for expireAfter.
func (t *messageTender) expire(ctx context.Context) error {
	now := time.Now()
	err := t.answers(ctx)
	if err == nil && !now.Before(t.calm) {
		err = t.expireAll(ctx)
	}
	if err != nil {
		t.calm = time.Now().Add(expireAfter)
	}
	return err
}

func (t *messageTender) expireAll(ctx context.Context) error {
	for {
		expired, err := t.store.Expire(ctx, messagesMost, time.Now())
		if err != nil {
			return err
		}
		total := int64(0)
		for _, e := range expired {
			total += e.Messages
			t.log.InfoContext(ctx, "messages lost their worker", "tenant", e.Tenant, "unknown", e.Messages)
		}
		t.metrics.Expired(total)
		if total < messagesMost {
			return nil
		}
	}
}

// campaigns are the campaigns in Postgres, as activities see them.
type campaigns struct{ *dboutreach.Campaigns }

// Progress implements activities.CampaignStore.
func (c campaigns) Progress(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (
	campaign.Progress, error,
) {
	got, err := c.Get(ctx, tenant, id)
	if err != nil {
		return campaign.Progress{}, err
	}
	return progressOf(got, now), nil
}

func progressOf(c dboutreach.Campaign, now time.Time) campaign.Progress {
	p := campaign.Progress{State: c.State, Written: c.WrittenAt != nil, Counts: c.Counts, Ended: c.FinishedAt != nil}
	return p.At(c.ScheduledAt, now)
}

// Begin implements activities.CampaignStore.
func (c campaigns) Begin(ctx context.Context, tenant string, id uuid.UUID, now time.Time) error {
	_, err := c.Campaigns.Begin(ctx, tenant, id, now)
	return err
}

// Finish implements activities.CampaignStore.
func (c campaigns) Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (campaign.Progress, error) {
	got, err := c.Campaigns.Finish(ctx, tenant, id, now)
	if err != nil {
		return campaign.Progress{}, err
	}
	return progressOf(got, now), nil
}

// accounts are what tenants send by, as activities see them.
type accounts struct {
	*dboutreach.Messages

	box    *secret.Box
	client *whatsapp.Client
}

// Line implements activities.MessageAccounts.
func (a accounts) Line(ctx context.Context, tenant string, id uuid.UUID) (activities.MessageLine, error) {
	s, err := a.Messages.Line(ctx, tenant, id)
	if err != nil {
		return activities.MessageLine{}, err
	}
	purposes := dboutreach.SenderPurposes(tenant, id, s.PhoneNumberID, true)
	token, err := a.box.OpenAny(s.Token.Key, s.Token.Box, purposes...)
	if err != nil {
		return activities.MessageLine{}, fault.Newf(fault.Invalid, "%w", err)
	}
	from := whatsapp.Sender{PhoneNumberID: s.PhoneNumberID, Token: whatsapp.Token(token)}
	if err := from.Check(); err != nil {
		return activities.MessageLine{}, fmt.Errorf("open sender %s: %w", id, err)
	}
	return activities.MessageLine{
		PerSecond: s.PerSecond,
		Send: func(ctx context.Context, c campaign.Claim) (campaign.Answer, error) {
			return a.client.Send(ctx, from, whatsapp.Message{ID: c.ID, To: c.Recipient, Body: c.Body})
		},
	}, nil
}

// flow is a limit.Flow as activities see it.
type flow struct{ *limit.Flow }

// Take implements activities.MessageFlow.
func (f flow) Take(ctx context.Context, n int, caps ...campaign.Cap) ([]activities.MessagePass, time.Duration) {
	limits := make([]limit.Cap, len(caps))
	for i, c := range caps {
		limits[i] = limit.Cap(c)
	}
	taken, again := f.Flow.Take(ctx, n, limits...)
	passes := make([]activities.MessagePass, len(taken))
	for i, p := range taken {
		passes[i] = p
	}
	return passes, again
}
