package bridge

import (
	"context"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// startsAtOnce is how many messages of one batch are handled, and so how many workflows are started, at the same time.
const startsAtOnce = 16

// A Handler acts on deliveries of one queue and returns an error for each: nil is done, a final fault can never be
// done, anything else is tried again. It may see a delivery any number of times. Handlers are made by each, for work
// on one message, and by together, for work on all that wait.
type Handler func(ctx context.Context, from source, batch []amqp.Delivery) []error

// A source is a queue being consumed, with everything that its handler needs to log, count and trace.
type source struct {
	Queue
	hold    time.Duration // from a delivery's arrival to its return while a dependency is down
	within  time.Duration // most time of one call of the handler, unless it waits
	budget  int64         // bytes of unsettled bodies at which fewer messages are taken at once
	watch   time.Duration // between two questions whether the handler can work
	slow    time.Duration // time of a call after which its messages count as held
	retry   time.Duration // before the second call for messages that are held; longer before each further one
	grace   time.Duration // for received messages after shutdown began
	metrics *Metrics
	log     *slog.Logger
	spans   tracing
	now     func() time.Time
}

// each makes a handler of a function for one message of type M, startsAtOnce at a time, each in its own span. A body
// that is no M, or larger than the row allows, is fault.Invalid; so is one that makes f panic.
func each[M interface{ Check() error }](f func(ctx context.Context, from source, d amqp.Delivery, m M) error) Handler {
	return func(ctx context.Context, from source, batch []amqp.Delivery) []error {
		errs := make([]error, len(batch))
		var work errgroup.Group
		work.SetLimit(startsAtOnce)
		for i, d := range batch {
			work.Go(func() error {
				errs[i] = from.message(ctx, d, func(ctx context.Context) error {
					m, err := contract.Decode[M](d.Body, from.MaxBody)
					if err != nil {
						return &fault.Error{Class: fault.Invalid, Err: err}
					}
					return f(ctx, from, d, m)
				})
				return nil
			})
		}
		_ = work.Wait() // each error is in errs
		return errs
	}
}

// together makes a handler of a function for a whole batch, in one span that is linked to those of the senders.
func together(f func(ctx context.Context, from source, batch []amqp.Delivery) []error) Handler {
	return func(ctx context.Context, from source, batch []amqp.Delivery) []error {
		ctx, span := from.spans.batch(ctx, from.Queue, batch)
		defer span.End()
		return f(ctx, from, batch)
	}
}

// message runs f in the span of one message, with a panic as its error. Every goroutine of a handler needs that: a
// panic ends the process unless it is recovered in the goroutine that it happens in.
func (s source) message(ctx context.Context, d amqp.Delivery, f func(context.Context) error) (err error) {
	defer fault.Survive(&err, "handler", func(text string, args ...any) { s.log.ErrorContext(ctx, text, args...) })
	return s.spans.message(ctx, s.Queue, d, f)
}
