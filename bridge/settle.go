package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Headers of a dead letter.
const (
	headerError    = "x-error"
	headerClass    = "x-error-class"
	headerQueue    = "x-origin-queue"
	headerExchange = "x-origin-exchange"
	headerKey      = "x-origin-routing-key"
	headerAttempt  = "x-attempt"
	headerVersion  = "x-conveyor-version"
	headerDeath    = contract.DeathHeader
	headerWorkflow = "x-workflow-id" // where one was started and failed
	headerRun      = "x-workflow-run"
)

// Headers that the broker adds to a delivery: how often it was delivered or taken before.
const (
	headerDeliveries = "x-delivery-count"
	headerAcquired   = "x-acquired-count"
)

// settle acks. A message that was handled is acked; one that failed for good, or is not to be tried again, is acked
// once its dead letter is safe. The rest is returned, still unacked: a message is not requeued before the end of its
// hold, for it comes back at once and spins.
//
// An ack that fails means that the channel is gone and the broker will deliver again, which every handler allows for.
func (c *consumer) settle(ctx context.Context, batch []amqp.Delivery, errs []error, held *held) (
	left []amqp.Delivery, why error,
) {
	for i, d := range batch {
		err := errs[i]
		class := fault.ClassOf(err)
		outcome := "done"
		var failed *launch.Failed
		switch {
		case err == nil:
		case class.Final(), errors.As(err, &failed):
			end := c.slowly(ctx, held, len(batch)-i+len(left), "the broker does not confirm a dead letter")
			cause := c.dead.bury(ctx, c.Queue, d, class, err)
			end()
			if cause != nil {
				left, why = append(left, d), cause
				continue
			}
			outcome = "dead"
			c.log.WarnContext(c.spans.sender(ctx, d), "message is dead-lettered", "id", d.MessageId, "class", class, "err", err)
		default:
			left, why = append(left, d), err
			continue
		}
		c.metrics.settled(c.Name, outcome)
		if err := d.Ack(false); err != nil {
			c.log.InfoContext(ctx, "ack came too late: the message will be delivered again", "err", err)
		}
	}
	return left, why
}

// deadLetterer moves messages to the dead-letter exchange, with what is wrong with them.
type deadLetterer struct {
	publisher *publisher
	archive   *db.DeadLetters
	version   string
	now       func() time.Time
	confirm   time.Duration // of a dead letter, at most, while the broker does not block publishers
}

// bury returns nil when the dead letter is safe: confirmed by its queue or, where it was not in time (the broker has no
// queue for it in the topology of another team, or one without its majority), stored in Postgres. While the broker
// blocks publishers it returns errBlocked: the message is held, which costs the broker no more memory than before.
func (l *deadLetterer) bury(ctx context.Context, q Queue, d amqp.Delivery, class fault.Class, cause error) error {
	if l.publisher.connect.blocked() {
		return errBlocked
	}
	d.Body = q.kept(d.Body)
	headers := alone(d.Headers)
	attempt, _ := strconv.Atoi(fmt.Sprint(headers[headerAttempt])) // 0 when absent or no number
	headers[headerError] = storable(cause.Error())
	headers[headerClass] = string(class)
	headers[headerQueue] = q.Name
	headers[headerExchange] = d.Exchange
	headers[headerKey] = d.RoutingKey
	headers[headerAttempt] = int64(attempt + 1)
	headers[headerVersion] = l.version
	headers[headerDeath] = uuid.NewString()
	delete(headers, headerWorkflow) // set by the sender, or by an earlier death
	delete(headers, headerRun)
	if failed, ok := errors.AsType[*launch.Failed](cause); ok {
		headers[headerWorkflow], headers[headerRun] = failed.WorkflowID, failed.RunID
	}
	publishing, published := l.publisher.connect.patience(ctx, l.confirm)
	defer published(nil)
	letter := resent(d, headers)
	letter.Timestamp, letter.Expiration = l.now(), "" // as the broker's own dead letters, it does not expire
	errs := l.publisher.publish(publishing, []outgoing{{exchange: q.DLX, key: q.Name, mandatory: true, message: letter}})
	if errs[0] == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	if err := l.archive.Archive(ctx, deadLetter(q, headers, d, l.now())); err != nil {
		return fmt.Errorf("bury message: %w; %w", errs[0], err)
	}
	return nil
}

// resend sends a message to its queue once more, as it came. It returns nil when the queue has it.
func (l *deadLetterer) resend(ctx context.Context, q Queue, d amqp.Delivery) error {
	if l.publisher.connect.blocked() {
		return errBlocked
	}
	headers := alone(d.Headers)
	delete(headers, headerDeliveries)
	delete(headers, headerAcquired)
	return l.publisher.publish(ctx, []outgoing{{key: q.Name, mandatory: true, message: resent(d, headers)}})[0]
}

// resent is a delivery as it came, to be sent with headers. Its UserId is left out: the broker refuses that of others.
func resent(d amqp.Delivery, headers amqp.Table) amqp.Publishing {
	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, Priority: d.Priority,
		CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageId: d.MessageId,
		Timestamp: d.Timestamp, Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
}

// alone copies the headers of a message that goes to one queue, without those by which the broker puts it into others.
func alone(headers amqp.Table) amqp.Table {
	out := amqp.Table{}
	for k, v := range headers {
		if !strings.EqualFold(k, "cc") && !strings.EqualFold(k, "bcc") {
			out[k] = v
		}
	}
	return out
}

// storable makes an error fit for a header: valid, and short enough for a frame.
func storable(s string) string {
	const most = 8 << 10
	if s = strings.ToValidUTF8(s, "\ufffd"); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
