package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/fault"
)

// batchBytes is the size at which a batch ends although more messages wait: a batch is one statement, and in memory
// several times.
const batchBytes = 16 << 20

// How long a call of a handler may take, and after how long its messages count as held: a database that hangs answers
// nothing, not even with an error. What a call has done by then is done, and the rest is tried again.
const (
	handleTimeout = 30 * time.Second
	slowHandling  = 2 * time.Second
)

// prefetchBytes is the size of unsettled bodies at which a consumer starts anew with fewer of them: the broker counts
// messages, whatever their size.
const prefetchBytes = 64 << 20

// How often a consumer asks whether its handler can work, where it may be unable to: while it cannot, and while it can.
const (
	readyEvery = 3 * time.Second
	watchEvery = 15 * time.Second
)

// drainGrace is how long the handling of received messages may take after shutdown began.
const drainGrace = 15 * time.Second

// A consumer reads one queue on a channel of its own, in one session after the other until its context ends.
type consumer struct {
	source
	connect *connector
	restore *restorer
	dead    *deadLetterer
}

// run keeps a session open until ctx ends.
func (c *consumer) run(ctx context.Context) {
	prefetch := c.Prefetch
	lasting(ctx, func() {
		if !c.ready(ctx) {
			return
		}
		err := c.session(ctx, &prefetch)
		for ctx.Err() == nil && (errors.Is(err, errLarge) || errors.Is(err, errSmall)) { // no failure: it does not wait
			c.log.InfoContext(ctx, "consumer begins anew", "prefetch", prefetch, "why", err)
			err = c.session(ctx, &prefetch)
		}
		if ctx.Err() == nil {
			c.log.WarnContext(ctx, "consumer lost its session", "err", err)
			c.restore.after(ctx, err)
		}
	})
}

// ready waits until the handler can work; false when ctx ended first.
func (c *consumer) ready(ctx context.Context) bool {
	if c.Ready == nil {
		return true
	}
	said := ""
	for ctx.Err() == nil {
		err := c.ask(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			c.log.WarnContext(ctx, "messages stay in their queue, which is not consumed", "err", err)
		}
		pause(ctx, readyEvery)
	}
	return false
}

func (c *consumer) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	return fault.Try("asking whether to consume", c.log.Error, func() error { return c.Ready(ctx) })
}

// session consumes until the channel or ctx ends, with up to prefetch deliveries at once: fewer for the next session
// when their bodies are large, and more again afterwards. Deliveries that are not acked by then are delivered again.
func (c *consumer) session(ctx context.Context, prefetch *int) error {
	ch, err := c.connect.channel(ctx)
	if err != nil {
		return err
	}
	defer ch.Close()
	if err := ch.Qos(*prefetch, 0, false); err != nil {
		return fmt.Errorf("set prefetch: %w", err)
	}
	gone, cancelled := ch.NotifyClose(make(chan *amqp.Error, 1)), ch.NotifyCancel(make(chan string, 1))
	tag := "conveyor-" + c.Name
	deliveries, err := ch.Consume(c.Name, tag, false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	taking, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	most := *prefetch
	var unsettled atomic.Int64 // bytes of bodies
	waiting := c.buffered(deliveries, most, &unsettled, leave)
	c.metrics.consuming(c.Name, 1)
	defer c.metrics.consuming(c.Name, -1)
	work, end := c.outliving(ctx, gone, cancelled)
	defer end()
	if c.Ready != nil {
		defer c.whileReady(taking, leave)()
	}
	handled, bytes := 0, 0
	for {
		batch, since, ok := gather(taking, waiting, most)
		if !ok && taking.Err() == nil {
			return errors.New("the broker ended the consumer")
		}
		var left []amqp.Delivery
		if ok {
			left = c.work(taking, work, batch, since)
			for _, d := range batch {
				unsettled.Add(-int64(len(d.Body)))
				bytes += len(d.Body)
			}
			handled += len(batch)
		}
		if work.Err() != nil {
			return context.Cause(work)
		}
		var err error
		switch {
		case taking.Err() != nil:
			err = context.Cause(taking)
		case len(left) > 0:
			err = fmt.Errorf("messages go back to the queue: %d were held for %s (RABBITMQ_HOLD)", len(left), c.hold)
		case most < c.Prefetch && handled >= c.Prefetch && int64(bytes/handled*2*most) < c.budget/2:
			*prefetch = min(2*most, c.Prefetch)
			err = errSmall
		default:
			continue
		}
		if errors.Is(err, errLarge) {
			*prefetch = max(1, most/8)
		}
		c.giveBack(ctx, ch, tag, left, waiting)
		return err
	}
}

// byteOrderMark is what some senders begin a text with. RFC 8259 lets a reader of JSON ignore it; Postgres refuses it.
var byteOrderMark = []byte("\ufeff")

// buffered hands on the deliveries of a channel, which its client hands over one by one: gather sees only those that
// are in the buffer. Where more bytes are unsettled than the consumer may hold, it leaves with errLarge.
func (c *consumer) buffered(
	deliveries <-chan amqp.Delivery, most int, unsettled *atomic.Int64, leave context.CancelCauseFunc,
) <-chan arrived {
	waiting := make(chan arrived, most)
	go func() { // ends with the channel; never blocks, for no more than the prefetch are unacked
		defer close(waiting)
		for d := range deliveries {
			d.Body = bytes.TrimPrefix(d.Body, byteOrderMark)
			if unsettled.Add(int64(len(d.Body))) > c.budget && most > 1 {
				leave(errLarge)
			}
			waiting <- arrived{d, time.Now()}
		}
	}()
	return waiting
}

// outliving is the context of the work in hand: it outlives ctx by the grace, and ends with the channel, for the acks
// would come too late. A consumer that the broker cancels has lost its deliveries too, though its channel is open:
// RabbitMQ 4.3 takes back what was held too long, and every version cancels when the queue is deleted. Call end
// afterwards.
func (c *consumer) outliving(ctx context.Context, gone <-chan *amqp.Error, cancelled <-chan string) (
	work context.Context, end func(),
) {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatched := context.AfterFunc(ctx, func() {
		time.AfterFunc(c.grace, func() { stop(errors.New("shutdown took too long")) })
	})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case e := <-gone:
			stop(fmt.Errorf("channel closed: %w", e))
		case _, ok := <-cancelled:
			if !ok { // it ends with its channel
				stop(fmt.Errorf("channel closed: %w", <-gone))
				return
			}
			stop(errors.New("the broker cancelled the consumer"))
		case <-work.Done():
		}
	}()
	return work, func() {
		stop(nil)
		<-closed
		unwatched()
	}
}

// whileReady has the consumer leave when what it needs is away. Call end afterwards.
func (c *consumer) whileReady(taking context.Context, leave context.CancelCauseFunc) (end func()) {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for pause(taking, c.watch) {
			if err := c.ask(taking); err != nil {
				leave(err)
			}
		}
	}()
	return func() {
		leave(nil)
		<-watched
	}
}

// The reasons for which a consumer starts anew with another prefetch.
var (
	errLarge = errors.New("its messages are large: fewer of them are taken at once")
	errSmall = errors.New("its messages are small again: more of them are taken at once")
)

// manyDeliveries is the count of deliveries from which a message that is given back is sent anew. Queues of other teams
// may have the limit of RABBITMQ 4, 20 deliveries, and lose it.
const manyDeliveries = 10

// giveBack ends the consumer and gives its unsettled deliveries back to the queue, those left of a batch and those
// that wait. Every version of RabbitMQ before 4.3 counts that as a delivery, so a message that was delivered often is
// sent to its queue again, with a count that begins anew, and acked: however long a dependency is down, it never
// reaches the queue's delivery limit. What remains goes back when the channel is closed.
func (c *consumer) giveBack(
	ctx context.Context, ch *amqp.Channel, tag string, left []amqp.Delivery, waiting <-chan arrived,
) {
	if err := ch.Cancel(tag, false); err != nil {
		return
	}
	for d := range waiting { // closed by the end of the consumer
		left = append(left, d.Delivery)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	defer cancel()
	last := uint64(0)
	for _, d := range left {
		if n, _ := d.Headers[headerDeliveries].(int64); n < manyDeliveries || c.dead.resend(ctx, c.Queue, d) != nil {
			last = max(last, d.DeliveryTag)
			continue
		}
		if err := d.Ack(false); err != nil {
			return
		}
	}
	if last > 0 {
		_ = ch.Nack(last, true, true) // fails when the channel is gone, and they go back with it
	}
}

// arrived is a delivery and the time of its arrival, from which the broker's ack timeout counts.
type arrived struct {
	amqp.Delivery
	at time.Time
}

// gather returns the deliveries that wait, at least one and at most n, and when the first of them arrived; false when
// there will be none.
func gather(ctx context.Context, deliveries <-chan arrived, n int) (batch []amqp.Delivery, since time.Time, ok bool) {
	select {
	case <-ctx.Done():
		return nil, since, false
	case d, ok := <-deliveries:
		if !ok {
			return nil, since, false
		}
		batch, since = append(batch, d.Delivery), d.at
	}
	for size := len(batch[0].Body); len(batch) < n && size < batchBytes; size += len(batch[len(batch)-1].Body) {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return batch, since, true
			}
			batch = append(batch, d.Delivery)
		default:
			return batch, since, true
		}
	}
	return batch, since, true
}

// work handles a batch until every delivery is settled, and returns those that are not. While a dependency is down the
// rest is held and no more messages are taken, but not for ever: the broker ends a consumer that keeps a message
// unacked for half an hour, and its version decides whether that counts as a delivery.
func (c *consumer) work(ctx, work context.Context, batch []amqp.Delivery, since time.Time) (left []amqp.Delivery) {
	began, n := time.Now(), len(batch)
	held := &held{queue: c.Name, metrics: c.metrics}
	defer held.end()
	// The end of ctx, as by shutdown, does not wait for a dependency that is down: held messages go back to their queue.
	holding, cancel := context.WithDeadline(work, since.Add(c.hold))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	// Nor does it wait for a broker that blocks publishers, and so takes no dead letters.
	settling, leave := context.WithCancel(work)
	defer leave()
	defer context.AfterFunc(ctx, func() {
		if c.dead.publisher.connect.blocked() {
			leave()
		}
	})()
	repeat(holding, c.retry, func() bool {
		var why error
		batch, why = c.settle(settling, batch, c.call(work, batch, held), held)
		if len(batch) == 0 || ctx.Err() != nil {
			return true
		}
		held.set(len(batch))
		c.log.WarnContext(ctx, "messages are held, trying again", "held", len(batch), "err", why)
		return false
	})
	c.metrics.handled(c.Name, n, time.Since(began))
	return batch
}

// held is the number of messages of one batch that wait for a dependency, in the metric.
type held struct {
	queue   string
	metrics *Metrics

	mu   sync.Mutex
	n    int
	over bool
}

func (h *held) set(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.metrics.held(h.queue, n-h.n)
		h.n = n
	}
}

func (h *held) end() {
	h.set(0)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// call handles a batch within the time that a call has. Messages of a slow call are held already.
func (c *consumer) call(ctx context.Context, batch []amqp.Delivery, held *held) []error {
	within := c.within
	if c.Waits {
		within = c.hold
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !c.Waits {
		defer c.slowly(ctx, held, len(batch), "a service is slow or does not answer")()
	}
	return c.safely(ctx, batch)
}

// slowly counts n messages as held, and says why, where what follows is slow. Call end afterwards.
func (c *consumer) slowly(ctx context.Context, held *held, n int, why string) (end func() bool) {
	return time.AfterFunc(c.slow, func() {
		held.set(n)
		c.log.WarnContext(ctx, "messages are held: "+why, "held", n, "for", c.slow)
	}).Stop
}

// safely keeps a message that makes a handler panic from ending the process: it is as invalid as one that cannot be
// read. After a panic the messages of a batch are handled one by one, which finds the one that causes it.
func (c *consumer) safely(ctx context.Context, batch []amqp.Delivery) []error {
	handle := func() (errs []error, err error) {
		defer fault.Survive(&err, "handler", func(text string, args ...any) {
			c.log.ErrorContext(ctx, text, append(args, "deliveries", len(batch))...)
		})
		return c.Handle(ctx, c.source, batch), nil
	}
	errs, err := handle()
	switch {
	case err == nil:
		return errs
	case len(batch) == 1:
		return []error{err}
	}
	errs = make([]error, len(batch))
	for i := range batch {
		errs[i] = c.safely(ctx, batch[i:i+1])[0]
	}
	return errs
}
