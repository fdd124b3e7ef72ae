package bridge

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
)

// archive moves what lies in a dead-letter queue to Postgres. The queue's rows are keyed by message, so that a
// delivery that comes twice is counted, not stored twice.
func (b *Bridge) archive(ctx context.Context, _ queue, batch []amqp.Delivery) []error {
	letters := make([]db.DeadLetter, len(batch))
	for i, d := range batch {
		from, _ := d.Headers[headerQueue].(string)
		letters[i] = deadLetter(from, d.Headers, d, b.Now())
	}
	err := b.DeadLetters.Archive(ctx, letters...)
	errs := make([]error, len(batch))
	for i := range errs {
		errs[i] = err
	}
	return errs
}
