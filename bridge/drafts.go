package bridge

import (
	"context"
	"strings"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// draftRequested makes a draft, and returns when it is stored. A draft that cannot be made is never tried again: its
// message is dead-lettered, and a person decides.
func (b *Bridge) draftRequested(ctx context.Context, d amqp.Delivery) error {
	m, err := contract.Decode[contract.CrawlRequested](d.Body)
	if err != nil {
		return &fault.Error{Class: fault.Invalid, Err: err}
	}
	if d.MessageId != "" && !strings.EqualFold(d.MessageId, m.EventID) && letterOf(d.Headers) == 0 {
		return &fault.Error{Class: fault.Invalid, Err: contract.Errors{{
			Field: "event_id", Reason: "is not the message's MessageId; leave that out, or make it the same",
		}}}
	}
	id, err := uuid.Parse(m.EventID)
	if err != nil {
		return fault.Newf(fault.Invalid, "event_id: %w", err)
	}
	// Before the broker loses its patience the message goes back to its queue; whoever gets it joins the workflow.
	ctx, cancel := context.WithTimeout(ctx, b.Hold)
	defer cancel()
	return b.Launch.Draft(ctx, draft.Request{
		EventID: id, URL: strings.TrimSpace(m.Data.URL), OutDir: strings.TrimSpace(m.Data.OutDir),
	})
}
