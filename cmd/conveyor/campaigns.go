package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// campaigns is what tenants and operators see of messages, and what Meta reports on them.
func (h *house) campaigns() system {
	c, hooks := h.config.WhatsApp, dboutreach.NewWebhooks(h.pool, h.optOuts)
	sent, messages := dboutreach.NewCampaigns(h.pool, h.optOuts), dboutreach.NewMessages(h.pool, h.optOuts)
	rates := h.config.Dispatch.Rates()
	return system{
		reopeners: dboutreach.Reopeners(),
		parts: []api.Part{
			apioutreach.Tenants{
				Wakes: h.wakes, Rates: rates, Erasures: dboutreach.NewErasures(h.pool, h.optOuts), Launch: h.launch, Files: h.blobs,
			},
			apioutreach.Senders{
				Store: dboutreach.NewSenders(h.pool), Audit: db.NewAuditLog(h.pool), Secrets: h.box,
				BindTokens: h.config.Outreach.BindTokens, Wakes: h.wakes,
			},
			apioutreach.Campaigns{
				Store: sent, Messages: messages, Senders: dboutreach.NewSenders(h.pool), Secrets: h.box,
				Launch: h.launch, Wakes: h.wakes, Rates: rates, Late: h.config.Outreach.CampaignLate,
			},
			apioutreach.Messages{Store: messages, Wakes: h.wakes},
			apioutreach.Webhooks{Store: hooks, AppSecrets: c.AppSecrets, VerifyTokens: c.VerifyTokens},
		},
		backlog: func(b *telemetry.Backlog) {
			b.Webhooks = func(ctx context.Context) (backlog.WebhookCount, error) { return hooks.Late(ctx, time.Now()) }
		},
		activities: func(context.Context) ([]workers.Row, func()) {
			metrics := telemetry.NewWebhooks(h.registry)
			stop := h.tend(workflows.QueueDispatch, "applying webhooks", webhooksEvery, func(ctx context.Context) error {
				return h.applyWebhooks(ctx, hooks, metrics)
			})
			if h.config.Outreach.KeyOptOuts {
				stop = each(stop, h.tend(workflows.QueueDispatch, "hashing opt-outs by their key", keyOptOutsEvery, h.keyOptOuts))
			}
			return nil, stop
		},
	}
}

const (
	webhooksEvery = time.Second // between two looks for events, while none comes
	webhookParts  = 2000        // reports that one transaction applies
)

const (
	keyOptOutsEvery = time.Minute
	keyOptOutsMost  = 1000 // that one transaction hashes
)

// keyOptOuts hashes by the key what was stored since it did so last; at first everything, under a new key.
func (h *house) keyOptOuts(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var err error
		more, err = h.optOuts.Rehash(ctx, keyOptOutsMost, func() (s db.Sealed, err error) {
			var key [32]byte
			_, _ = rand.Read(key[:]) // never fails
			s.Key, s.Box, err = h.box.Seal(contact.OptOutPurpose, key[:])
			return s, err
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// applyWebhooks applies the events of the WhatsApp webhook that wait; one by one where they cannot be applied together.
// Any number of processes may.
func (h *house) applyWebhooks(ctx context.Context, store *dboutreach.Webhooks, metrics *telemetry.Webhooks) error {
	for tried := int64(0); ; { // the last that was applied, or not, by itself
		done, err := store.ApplyNext(ctx, webhookParts, time.Now(), h.readWebhook)
		if err != nil {
			before := tried
			if tried = h.applyEach(ctx, store, before); tried <= before { // these were all, or Postgres is away
				return err
			}
			continue
		}
		if len(done.Received) == 0 {
			return nil
		}
		metrics.Applied(done.Received, time.Now(), done.Unreadable, done.Reports, done.Found, done.Opted, done.Unknown)
		h.unknownWriters(ctx, done.Applied)
	}
}

// unknownWriters logs that wishes of people are without effect as yet.
func (h *house) unknownWriters(ctx context.Context, done dboutreach.Applied) {
	if done.Unknown > 0 {
		h.log.WarnContext(ctx, "people who ask for no more messages, or for more again, are not known: WhatsApp left out "+
			"their numbers; what they ask for counts once a status has the number", "messages", done.Unknown)
	}
}

// applyEach applies the oldest events after one each in a transaction of its own, so that those that cannot be applied
// hold up no other, and returns the last, or 0 at the end.
func (h *house) applyEach(ctx context.Context, store *dboutreach.Webhooks, after int64) (last int64) {
	const most = 50
	events, err := store.Waiting(ctx, after, most)
	if err != nil {
		return after // Postgres is away
	}
	failed, why := 0, error(nil)
	for _, e := range events {
		reports, inbound, unread := h.readWebhook(e)
		done, err := store.ApplyRead(ctx, e.ID, reports, inbound, unread, time.Now())
		h.unknownWriters(ctx, done)
		if fault.ClassOf(err) == fault.Invalid {
			err = store.Fail(ctx, e.ID, err.Error(), time.Now())
		}
		if err != nil {
			failed, why = failed+1, fmt.Errorf("webhook %d: %w", e.ID, err)
		}
	}
	if failed > 0 && ctx.Err() == nil { // once for all: where Postgres only reads, none can be applied
		h.log.WarnContext(ctx, "webhooks could not be applied, they are tried again", "webhooks", failed, "err", why)
	}
	if len(events) < most {
		return 0
	}
	return events[most-1].ID
}

// readWebhook says what is in an event, and what of it cannot be read. One that makes it panic is as one of which
// nothing can.
func (h *house) readWebhook(e dboutreach.WebhookEvent) (
	reports []campaign.Report, inbound []campaign.Inbound, unread error,
) {
	return h.readEvent(e, whatsapp.ReadEvent)
}

func (h *house) readEvent(e dboutreach.WebhookEvent, read func([]byte) (whatsapp.Event, error)) (
	reports []campaign.Report, inbound []campaign.Inbound, unread error,
) {
	defer fault.Survive(&unread, fmt.Sprintf("reading webhook %d", e.ID), h.log.Error)
	event, err := read(e.Body)
	if err != nil {
		return nil, nil, err
	}
	if event.Unread != "" {
		unread = fault.Newf(fault.Invalid, "webhook: %s; the rest is applied", event.Unread)
	}
	return event.Reports(e.ReceivedAt), event.Inbounds(e.ReceivedAt), unread
}
