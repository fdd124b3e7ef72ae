package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	trimEvery   = 30 * time.Second
	trimAtOnce  = 500
	trimTimeout = 10 * time.Second
)

// A trimmer keeps the queues of events, which other services may or may not consume, from filling the broker's disk: it
// drops the oldest messages beyond Queue.Most. A length limit of the broker's own would not do: queues refuse messages
// that are too many by an argument that cannot be changed, and what they drop instead becomes a dead letter.
type trimmer struct {
	queues  []Queue
	connect *connector
	metrics *Metrics
	log     *slog.Logger
	every   time.Duration
}

// run looks at the queues until ctx ends.
func (t *trimmer) run(ctx context.Context) {
	for _, q := range t.queues {
		t.metrics.limited(q.Name, q.Most)
	}
	for len(t.queues) > 0 && ctx.Err() == nil {
		for _, q := range t.queues {
			var dropped int
			err := fault.Try("limiting a queue", t.log.Error, func() (err error) {
				dropped, err = t.trim(ctx, q)
				return err
			})
			t.metrics.dropped(q.Name, dropped)
			if dropped > 0 {
				t.log.WarnContext(ctx, "a queue is full: its oldest messages were dropped", "queue", q.Name,
					"dropped", dropped, "kept", q.Most)
			}
			if err != nil && ctx.Err() == nil {
				t.log.WarnContext(ctx, "cannot limit a queue, trying again", "queue", q.Name, "err", err)
			}
		}
		pause(ctx, t.every)
	}
}

// trim drops messages of q until it has as many as it may have. Bridges that do so at the same time may drop up to
// trimAtOnce more each.
func (t *trimmer) trim(ctx context.Context, q Queue) (dropped int, err error) {
	for ctx.Err() == nil {
		n, err := t.drop(ctx, q)
		dropped += n
		if n == 0 || err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// drop takes up to trimAtOnce messages that are too many. No more than those are delivered to it, so that none comes
// back to the queue and counts as delivered.
func (t *trimmer) drop(ctx context.Context, q Queue) (n int, err error) {
	ch, err := t.connect.channel(ctx)
	if err != nil {
		return 0, err
	}
	defer ch.Close()
	now, err := ch.QueueDeclarePassive(q.Name, true, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	most := min(now.Messages-q.Most, trimAtOnce)
	if most <= 0 {
		return 0, nil
	}
	if err := ch.Qos(most, 0, false); err != nil {
		return 0, fmt.Errorf("set prefetch: %w", err)
	}
	tag := "conveyor-trim-" + q.Name
	deliveries, err := ch.Consume(q.Name, tag, false, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("consume: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, trimTimeout)
	defer cancel()
	var last amqp.Delivery
	for n < most && err == nil {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return 0, errors.New("the broker ended the consumer")
			}
			last = d
			n++
		case <-ctx.Done(): // others consume it, and it is not too long any more
			err = ctx.Err()
		}
	}
	if n == 0 {
		return 0, nil
	}
	if err := ch.Cancel(tag, false); err != nil {
		return 0, fmt.Errorf("end consumer: %w", err)
	}
	if err := last.Ack(true); err != nil {
		return 0, fmt.Errorf("drop messages: %w", err) // the broker puts them back
	}
	return n, nil
}
