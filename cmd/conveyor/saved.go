package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The concrete stores and tools of saved searches implement the interfaces of their activities.
var (
	_ activities.NoticeStore   = (*db.Saved)(nil)
	_ activities.NoticeSender  = notices{}
	_ activities.NoticeMetrics = (*telemetry.Saved)(nil)
)

const (
	savedEvery    = time.Second      // between two looks for events and deliveries
	savedEvents   = 200              // that are compared in one transaction
	savedStarts   = 500              // deliveries whose workflows are started together
	savedAgain    = 2 * time.Minute  // until a delivery that has not ended is started again
	noticeSlots   = 64               // notices on their way in a worker process
	noticeTimeout = 10 * time.Second // of one try
)

// saved is saved searches: what is told of listings, and to whom.
func (h *house) saved() system {
	box, err := h.config.Outreach.Box()
	if err != nil {
		panic(err) // internal/config has checked it
	}
	store := db.NewSaved(h.pool)
	return system{
		parts: []api.Part{api.Searches{Store: store, Secrets: box}},
		activities: func(context.Context) ([]workers.Row, func()) {
			metrics := telemetry.NewSaved(h.registry)
			hooks := notify.NewWebhooks(notify.Options{
				Dial: fetch.Dial(h.config.Images.AllowPrivate, nil), Fault: fetch.Fault, Timeout: noticeTimeout, Now: time.Now,
			})
			stop := h.tend("telling saved searches", savedEvery, h.savedTender(store, metrics))
			return []workers.Row{{Queue: workflows.QueueNotify, Slots: noticeSlots, Activities: []any{&activities.Notices{
					Store: store, Send: notices{box, hooks}, Metrics: metrics, Turns: new(activities.NoticeTurns), Now: time.Now,
				}}}}, func() {
					stop()
					hooks.Close()
				}
		},
	}
}

// savedTender compares the events that wait with the searches, and starts the workflows of deliveries that are due.
func (h *house) savedTender(store *db.Saved, metrics *telemetry.Saved) func(context.Context) error {
	matcher := store.Matcher()
	return func(ctx context.Context) error {
		for more := true; more; {
			done, err := matcher.Next(ctx, savedEvents, time.Now())
			if err != nil {
				return err
			}
			if more = done.Events == savedEvents; done.Events > 0 {
				metrics.Compared(done.At, time.Now(), done.Events, done.Looked, done.Matches, done.Searches)
			}
		}
		for more := true; more; {
			due, err := store.Begin(ctx, savedStarts, time.Now().Add(-savedAgain), time.Now())
			if err != nil {
				return err
			}
			more = len(due) == savedStarts
			if err := startEach(ctx, due, func(ctx context.Context, n db.DueNotice) error {
				return h.launch.StartNotice(ctx, n.Tenant, n.ID)
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

// notices opens the address of a notice and sends it by its channel.
type notices struct {
	box   *secret.Box
	hooks *notify.Webhooks
}

// Send implements activities.NoticeSender.
func (s notices) Send(ctx context.Context, n saved.Notice) error {
	plain, err := s.box.Open(saved.TargetPurpose(n.Target), n.Sealed.Key, n.Sealed.Box)
	if err == nil {
		err = json.Unmarshal(plain, &n.Address)
	}
	if err != nil {
		return fault.Newf(fault.Invalid, "the address of target %s cannot be opened", n.Target)
	}
	if n.Channel != saved.Webhook {
		return fault.Newf(fault.Invalid, "nothing is sent by %s", n.Channel)
	}
	return s.hooks.Send(ctx, n)
}
