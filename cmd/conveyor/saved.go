package main

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/pressure"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

const (
	savedEvery    = time.Second      // between two looks for events and deliveries
	savedEvents   = 200              // that are compared in one transaction
	savedStarts   = 500              // deliveries whose workflows are started in one turn
	savedAgain    = 2 * time.Minute  // until a delivery that has not ended is started again: its worker may be dead
	noticeSlots   = 64               // notices on their way in a worker process
	noticeTimeout = 10 * time.Second // of one try
	mailTimeout   = 30 * time.Second // of one try by e-mail: servers make strangers wait
)

// saved is saved searches: what is told of listings, and to whom.
func (h *house) saved() system {
	store := dblistings.NewSaved(h.pool)
	return system{
		reopeners: dblistings.Reopeners(),
		parts: []api.Part{apilistings.Searches{
			Store: store, Secrets: h.box, Mail: h.config.Notices.SMTPURL != "", Telegram: h.config.Notices.TelegramToken != "",
			PlainHosts: h.config.Notices.WebhookHosts,
		}},
		backlog: func(b *telemetry.Backlog) {
			b.News = func(ctx context.Context) (backlog.NewsCount, error) { return store.Backlog(ctx, time.Now()) }
		},
		activities: func(context.Context) ([]workers.Row, func()) {
			metrics := telemetry.NewSaved(h.registry)
			send := h.notices()
			var due atomic.Bool
			match := h.tend(workflows.QueueNotify, "comparing listings with saved searches", savedEvery,
				h.savedMatcher(store, metrics, &due))
			start := h.tend(workflows.QueueNotify, "telling saved searches", savedEvery,
				h.savedStarter(store, &due, pressure.NewCPU(time.Now).Short))
			return []workers.Row{{Queue: workflows.QueueNotify, Slots: noticeSlots, Activities: []any{&activities.Notices{
				Store: store, Send: send, Metrics: metrics, Turns: new(activities.NoticeTurns), Now: time.Now,
			}}}}, each(match, start, send.close)
		},
	}
}

// savedMatcher compares the events that wait with the searches. due is what it tells savedStarter: deliveries are due,
// or may be.
func (h *house) savedMatcher(
	store *dblistings.Saved, metrics *telemetry.Saved, due *atomic.Bool,
) func(context.Context) error {
	matcher := store.Matcher()
	return func(ctx context.Context) error {
		waits, err := store.Waits(ctx, time.Now().Add(-savedAgain), time.Now())
		if err != nil {
			return err
		}
		due.Store(waits.Notices)
		for more := waits.Events; more; {
			done, err := matcher.Next(ctx, savedEvents, time.Now())
			if len(done.Left) > 0 {
				h.log.ErrorContext(ctx, "saved searches cannot be read, and find nothing until they are changed", "searches",
					done.Left)
			}
			if len(done.Aside) > 0 {
				h.log.ErrorContext(ctx, "events of listings cannot be compared with saved searches: they are dead letters of the "+
					"queue notify", "events", done.Aside, "err", done.Cause)
			}
			if len(done.Behind) > 0 {
				h.log.WarnContext(ctx, "saved searches of tenants cannot be compared now: their news wait", "tenants", done.Behind,
					"err", done.Cause)
			}
			if err != nil {
				return err
			}
			if done.Matches > 0 || done.More { // others may have come due meanwhile
				due.Store(true)
			}
			if more = done.More; done.Events > 0 {
				metrics.Compared(done.At, time.Now(), done.Events, done.Looked, done.Matches, done.Searches)
			}
		}
		return nil
	}
}

// savedStarter starts the workflows of deliveries that are due, a batch in each turn. It is no part of savedMatcher, so
// that nothing waits to be compared while Temporal is slow. Without one that is due it asks for nothing. Where the
// machine is short of cores a tenant has fewer begun.
func (h *house) savedStarter(store *dblistings.Saved, due *atomic.Bool, short func() bool) func(context.Context) error {
	var begun []dblistings.DueNotice // marked as started, but their start failed: Begin leaves them for savedAgain
	return func(ctx context.Context) error {
		if !due.Load() && len(begun) == 0 {
			return nil
		}
		share := saved.BegunAtOnce(runtime.GOMAXPROCS(0), short())
		next, err := store.Begin(ctx, savedStarts-len(begun), share, time.Now().Add(-savedAgain), time.Now())
		if err != nil {
			return err
		}
		begun = append(begun, next...)
		started := map[uuid.UUID]bool{}
		err = startEach(ctx, begun, func(ctx context.Context, n dblistings.DueNotice) error {
			err := h.launch.StartNotice(ctx, n.Tenant, n.ID)
			started[n.ID] = err == nil
			return err
		})
		begun = slices.DeleteFunc(begun, func(n dblistings.DueNotice) bool { return started[n.ID] })
		return err
	}
}

// notices opens the address of a notice and sends it by its channel.
type notices struct {
	box      *secret.Box
	hooks    *notify.Webhooks
	mail     *notify.Mail     // nil = it is not set up
	telegram *notify.Telegram // nil = it is not set up
}

func (h *house) notices() notices {
	n := notices{box: h.box, hooks: notify.NewWebhooks(notify.Options{
		Dial: fetch.Dial(h.config.Notices.WebhookHosts, nil), Plain: h.config.Notices.WebhookHosts,
		Fault: fetch.Fault, Timeout: noticeTimeout, Now: time.Now,
	})}
	if h.config.Notices.SMTPURL != "" {
		o := h.config.Notices.Mail(h.config.API.URL)
		o.Timeout, o.Now = mailTimeout, time.Now
		n.mail = must(notify.NewMail(o))
	}
	if h.config.Notices.TelegramToken != "" {
		o := h.config.Notices.Telegram(h.config.API.URL)
		o.Timeout = noticeTimeout
		n.telegram = must(notify.NewTelegram(o))
	}
	return n
}

func (s notices) close() {
	s.hooks.Close()
	if s.telegram != nil {
		s.telegram.Close()
	}
}

// Send implements activities.NoticeSender. A channel that this process is not set up for may be, later, and a key that
// it does not have is waited for.
func (s notices) Send(ctx context.Context, n saved.Notice) error {
	plain, err := s.box.Open(saved.TargetPurpose(n.Target), n.Sealed.Key, n.Sealed.Box)
	if fault.ClassOf(err) == fault.Limited {
		return err
	}
	if err == nil {
		err = json.Unmarshal(plain, &n.Address)
	}
	if err != nil {
		return fault.Newf(fault.Invalid, "the address of target %s cannot be opened", n.Target)
	}
	switch {
	case n.Channel == saved.Webhook:
		return s.hooks.Send(ctx, n)
	case n.Channel == saved.Email && s.mail != nil:
		return s.mail.Send(ctx, n)
	case n.Channel == saved.Telegram && s.telegram != nil:
		return s.telegram.Send(ctx, n)
	case n.Channel == saved.Email || n.Channel == saved.Telegram:
		return fault.Newf(fault.Transient, "this process has no settings to send by %s", n.Channel)
	}
	return fault.Newf(fault.Invalid, "nothing is sent by %s", n.Channel)
}
