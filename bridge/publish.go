package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
)

// maxPublish is the most messages in one publish. Returns are buffered for all of them: a full buffer would hold up
// the connection's reader, heartbeats included.
const maxPublish = 500

// An outgoing is one message to publish.
type outgoing struct {
	exchange, key string
	mandatory     bool // it must find a queue
	message       amqp.Publishing
}

// The reasons for which a message is not published: errReturned, a mandatory message that no queue is bound for;
// errNacked, a negative confirm; errSilent, no confirm in time; errBlocked, a memory or disk alarm of the broker;
// errLate, its time was over before it was sent.
var (
	errReturned = errors.New("no queue is bound for it")
	errNacked   = errors.New("the broker refused it")
	errSilent   = errors.New("the broker does not answer")
	errBlocked  = errors.New("the broker blocks publishers")
	errLate     = errors.New("not sent, for what was sent before took too long")
)

// A publisher sends batches with confirms on a channel of its own, opened again when it is gone. Safe for use by
// several goroutines, one batch at a time.
type publisher struct {
	connect *connector
	turn    chan struct{} // holds one value while a batch is under way

	ch      *amqp.Channel
	returns chan amqp.Return
	gone    chan *amqp.Error // why the channel was closed

	busy int // looks of a relay's cycle in a row that found messages
}

func newPublisher(c *connector) *publisher {
	return &publisher{connect: c, turn: make(chan struct{}, 1)}
}

// publish sends up to maxPublish messages and waits for the confirm of each, however long the broker blocks publishers,
// until ctx ends. An error is errReturned, errNacked, errLate where ctx had ended before, or anything else: then it is
// not known whether the broker has the message, and it is sent again under the same MessageId. When the broker closed
// the channel, its *amqp.Error says why; what was sent and not confirmed before ctx ended has the cause of ctx. What is
// known of one message stays so whatever becomes of the others.
func (p *publisher) publish(ctx context.Context, out []outgoing) []error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return slices.Repeat([]error{fmt.Errorf("%w (%s)", errLate, context.Cause(ctx).Error())}, len(out)) // is no errSilent
	}
	conn, err := p.connect.get(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(out))
	}
	// A broker that blocks publishers stops reading, and then neither a write nor a call heeds ctx: close the
	// connection.
	defer context.AfterFunc(ctx, func() { p.connect.discard(conn) })()
	if err := p.open(conn); err != nil {
		p.drop(conn)
		return slices.Repeat([]error{err}, len(out))
	}
	errs := make([]error, len(out))
	confirms, why := p.send(ctx, out)
	for i := range out {
		known := i < len(confirms) && answered(ctx, confirms[i])
		switch {
		case known && confirms[i].Acked():
		case known && !p.ch.IsClosed(): // of one that is closed, pending confirms read "no", too
			errs[i] = errNacked
		default:
			if why == nil {
				why = p.unanswered(ctx)
			}
			errs[i] = why
		}
	}
	if why != nil || p.ch.IsClosed() {
		defer p.drop(conn)
	}
	// An unroutable message is confirmed too, after its return: the same reader delivers both, in that order.
	if len(p.returns) == 0 {
		return errs
	}
	returned := map[identity]bool{}
	for len(p.returns) > 0 {
		r := <-p.returns
		returned[identity{r.Exchange, r.RoutingKey, r.MessageId, sha256.Sum256(r.Body)}] = true
	}
	for i, o := range out {
		id := identity{o.exchange, o.key, o.message.MessageId, sha256.Sum256(o.message.Body)}
		if o.mandatory && returned[id] {
			errs[i] = errReturned
		}
	}
	return errs
}

// send writes messages to the channel, and returns the confirms to come: fewer than messages where one could not be
// written, with the reason.
func (p *publisher) send(ctx context.Context, out []outgoing) (confirms []*amqp.DeferredConfirmation, err error) {
	for _, o := range out {
		o.message.DeliveryMode = amqp.Persistent
		c, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, o.exchange, o.key, o.mandatory, false, o.message)
		if err != nil {
			return confirms, fmt.Errorf("publish to %s: %w", o.exchange, p.closed(ctx, err))
		}
		confirms = append(confirms, c)
	}
	return confirms, nil
}

// answered waits until a confirm has come, and once ctx has ended says whether it has.
func answered(ctx context.Context, c *amqp.DeferredConfirmation) bool {
	if _, err := c.WaitContext(ctx); err == nil {
		return true
	}
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// identity tells the messages of one publish apart. Replays have the MessageIds of their senders, which need not be
// unique; two messages that agree in all of it are interchangeable.
type identity struct {
	exchange, key, messageID string
	body                     [sha256.Size]byte
}

func (p *publisher) open(conn *amqp.Connection) error {
	if p.ch != nil && !p.ch.IsClosed() {
		return nil
	}
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Confirm(false); err != nil {
		_ = ch.Close()
		return fmt.Errorf("ask for confirms: %w", err)
	}
	p.ch, p.returns = ch, ch.NotifyReturn(make(chan amqp.Return, maxPublish+1))
	p.gone = ch.NotifyClose(make(chan *amqp.Error, 1))
	return nil
}

// unanswered is why messages that were sent have no confirm.
func (p *publisher) unanswered(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for confirm: %w", context.Cause(ctx))
	}
	return p.closed(ctx, errors.New("channel closed while publishing"))
}

// closed adds to err why the broker closed the channel, if it has.
func (p *publisher) closed(ctx context.Context, err error) error {
	if !p.ch.IsClosed() {
		return err
	}
	select {
	case why := <-p.gone: // at the latest when the client has cleaned up
		if why != nil {
			return fmt.Errorf("%w: %w", err, why)
		}
	case <-ctx.Done():
	}
	return err
}

// drop gives up the channel with its connection: late confirms belong to a batch that is over, and closing a channel
// alone waits for the broker's answer without end. Other users of the connection open it again. A channel that is
// closed already gets no more confirms, and its connection stays.
func (p *publisher) drop(conn *amqp.Connection) {
	if p.ch != nil && !p.ch.IsClosed() {
		p.connect.discard(conn)
	}
	p.ch = nil
}

// A Parcel is a message for a Sender: an exchange, a routing key and a body.
type Parcel struct {
	Exchange   string
	RoutingKey string
	Body       []byte
}

// A Sender publishes parcels with confirms, for tools and tests. Safe for use by several goroutines.
type Sender struct{ publisher *publisher }

// NewSender returns a sender with a connection of its own to one of the broker's nodes, dialled when first used.
func NewSender(nodes ...string) *Sender {
	return &Sender{newPublisher(newConnector(nodes, "conveyor sender", nil, slog.New(slog.DiscardHandler)))}
}

// Send returns nil when every parcel has been confirmed by a queue. After an error nothing is known of the rest.
func (s *Sender) Send(ctx context.Context, parcels []Parcel) error {
	for chunk := range slices.Chunk(parcels, maxPublish) {
		out := make([]outgoing, len(chunk))
		for i, p := range chunk {
			out[i] = outgoing{
				exchange: p.Exchange, key: p.RoutingKey, mandatory: true,
				message: amqp.Publishing{MessageId: uuid.NewString(), ContentType: "application/json", Body: p.Body},
			}
		}
		for i, err := range s.publisher.publish(ctx, out) {
			if err != nil {
				return fmt.Errorf("publish to %s with key %q: %w", chunk[i].Exchange, chunk[i].RoutingKey, err)
			}
		}
	}
	return nil
}

// Close closes the connection.
func (s *Sender) Close() { s.publisher.connect.close() }
