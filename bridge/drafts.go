package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Drafts are the queues of the drafts system.
type Drafts struct {
	Launch  DraftStarter
	Store   *dbdrafts.Drafts
	Secrets *secret.Box // seals headers and cookies; without a key, requests that have some die
	Now     func() time.Time
	// Where requests arrive: the topic exchange that they are published to, their routing key and their queue.
	Exchange, Queue, RoutingKey string
	Prefetch                    int    // requests in hand at once in a bridge, 1 or more
	TaskQueue                   string // whose workers make drafts
}

// DraftStarter makes product drafts.
type DraftStarter interface {
	// DraftsServed returns nil while a worker makes drafts, and an error when none has asked for work lately.
	DraftsServed(ctx context.Context) error
	// Draft returns when the draft is stored, or with a *launch.Failed when it never will be.
	Draft(ctx context.Context, r draft.Request) error
}

// Queues returns the row of the queue that draft requests arrive on. They stay there while no worker makes drafts.
// Each request takes as long as its page takes to load, so each has a consumer of its own and waits for no other. The
// dead-letter exchange is a topic: the contract of this queue says so.
func (s *Drafts) Queues() []Queue {
	return []Queue{{
		Name: s.Queue, Exchange: s.Exchange, Key: s.RoutingKey, DLX: s.Exchange + contract.SuffixDLX,
		DLXKind: amqp.ExchangeTopic, MaxBody: contract.MaxBody, Prefetch: 1, Consumers: s.Prefetch,
		Handle: each(s.requested), Ready: s.ready, TaskQueue: s.TaskQueue, Strip: contract.StripCrawlRequest,
		Waits: true, // and the next consumer joins the workflow that is running
	}}
}

func (s *Drafts) ready(ctx context.Context) error { return s.Launch.DraftsServed(ctx) }

// requested makes a draft, and returns when it is stored. A draft that cannot be made is never tried again: its message
// is dead-lettered, and an operator decides. A request that was canceled, before or meanwhile, is settled, and so is
// one that has its draft, which may be older than what Temporal remembers.
func (s *Drafts) requested(ctx context.Context, _ source, d amqp.Delivery, m contract.CrawlRequested) error {
	if d.MessageId != "" && !strings.EqualFold(d.MessageId, m.EventID) && letterOf(d.Headers) == 0 {
		return &fault.Error{Class: fault.Invalid, Err: contract.Errors{{
			Field: "event_id", Reason: "is not the message's MessageId; leave that out, or make it the same",
		}}}
	}
	id, err := uuid.Parse(m.EventID)
	if err != nil {
		return fault.Newf(fault.Invalid, "event_id: %w", err)
	}
	if settled, err := s.Store.DraftSettled(ctx, id); err != nil || settled {
		return err
	}
	r := draft.Request{
		EventID: id, URL: strings.TrimSpace(m.Data.URL), OutDir: strings.TrimSpace(m.Data.OutDir),
		Locale: strings.TrimSpace(m.Data.Locale), Sealed: m.Data.Sealed,
	}
	if secrets := (draft.Secrets{URL: r.URL, Headers: m.Data.Headers, Cookies: m.Data.Cookies}); !secrets.None() {
		r.Sealed = true
		if err := s.seal(ctx, id, secrets); err != nil {
			return err
		}
	}
	err = s.Launch.Draft(ctx, r)
	if _, ok := errors.AsType[*launch.Failed](err); !ok {
		return err
	}
	if settled, looked := s.Store.DraftSettled(ctx, id); looked != nil || settled {
		return looked
	}
	return err
}

// seal keeps the secrets of a request, before its workflow is started without them.
func (s *Drafts) seal(ctx context.Context, event uuid.UUID, secrets draft.Secrets) error {
	plain, err := json.Marshal(secrets)
	if err != nil {
		return fault.Newf(fault.Invalid, "headers and cookies cannot be written") // the cause may quote them
	}
	key, box, err := s.Secrets.Seal(draft.SecretsPurpose(event), plain)
	if err != nil {
		return fault.Newf(fault.Conflict, "headers and cookies cannot be kept: %w", err)
	}
	return s.Store.SealDraft(ctx, event, db.Sealed{Key: key, Box: box}, s.Now())
}
