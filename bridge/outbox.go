package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	relayBatch    = 500                    // messages a cycle, and batchBytes of bodies
	relayLane     = 50                     // of one lane a cycle, so that a busy lane does not hold up the others
	relayLease    = 30 * time.Second       // how long the messages of a relay that died wait
	relayPoll     = 250 * time.Millisecond // for messages that cause no notification, and in case one was missed
	relayGather   = 5 * time.Millisecond
	relayBusy     = 4                     // looks in a row that found something: events come faster than looks
	relayGatherOn = 30 * time.Millisecond // while they do, so that a cycle has more than one or two
	// While a wake-up holds back others: two outlast it.
	relayLook      = db.WakeEvery/2 + time.Millisecond
	purgeEvery     = time.Minute
	purgeAtOnce    = 5000
	leaseTimeout   = 5 * time.Second
	publishTimeout = 20 * time.Second // less than the lease
	relayKeep      = 5 * time.Second  // how often a lease is extended while the broker blocks publishers
)

// A Relay publishes the outbox. Any number may run, in one process or many: each message is leased by one at a time,
// and marked when the broker has confirmed it and not returned it. A relay that dies in between leaves its messages
// to the next, which sends them again under the same MessageIds.
//
// While the broker blocks publishers, a relay leases no more messages and extends the lease of those it has sent, so
// that all of them are confirmed and marked when the broker continues.
type Relay struct {
	Outbox    *db.Outbox
	Routed    func(exchange, key string) bool // whether a message must find a queue
	Cycles    int                             // batches being published at the same time
	Retention time.Duration                   // of published rows
	GiveUp    int                             // the refusal of a message at which it becomes a dead letter; 0 = never

	connect *connector
	restore *restorer
	metrics *Metrics
	log     *slog.Logger
	now     func() time.Time
	spans   tracing
	poll    time.Duration // without a wake-up
	confirm time.Duration // of a batch, at most
	keep    time.Duration
	cursor  atomic.Pointer[string]    // the lane served last
	looked  atomic.Pointer[time.Time] // when a cycle last looked for messages
}

// NewRelay returns a relay on a connection of its own to one of the broker's nodes.
func NewRelay(nodes []string, outbox *db.Outbox, o Options, m *Metrics, log *slog.Logger, now func() time.Time) *Relay {
	topology, connect := newTopology(o), newConnector(nodes, "conveyor relay", m, log)
	return &Relay{
		Outbox: outbox, Routed: topology.routes, Cycles: o.Relays, Retention: o.Retention,
		GiveUp:  fault.Refusals(o.GiveUp),
		connect: connect, restore: &restorer{topology: topology, connect: connect, turns: outbox, log: log},
		metrics: m, log: log, now: now, spans: newTracing(o.Traces),
		poll: relayPoll, confirm: publishTimeout, keep: relayKeep,
	}
}

// Run publishes until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	var work errgroup.Group
	added := make(chan struct{}, r.Cycles) // a wake-up for each
	work.Go(func() error {
		lasting(ctx, func() {
			if err := r.Outbox.Wait(ctx, added); ctx.Err() == nil {
				r.log.WarnContext(ctx, "cannot listen for outbox notifications, polling instead", "err", err)
			}
		})
		return nil
	})
	more := make(chan struct{}, r.Cycles) // wakes the other cycles when one was full
	work.Go(func() error { r.cycles(ctx, more, added); return nil })
	for range r.Cycles - 1 {
		work.Go(func() error { r.cycles(ctx, more, more); return nil })
	}
	work.Go(func() error { r.purge(ctx); return nil })
	_ = work.Wait() // nothing in it returns an error
	r.connect.close()
}

// cycles empties the outbox at every signal on wake, and wakes others through more while its batches are full. While
// events are written one after the other it waits for a few to gather, and longer while every look finds some: each
// cycle costs two transactions. A writer that has sent a signal sends no other for db.WakeEvery, so the outbox is
// looked at twice more, the second time when that is over.
func (r *Relay) cycles(ctx context.Context, more chan<- struct{}, wake <-chan struct{}) {
	p := newPublisher(r.connect)
	poll := time.NewTicker(r.poll)
	defer poll.Stop()
	var woken time.Time
	for ctx.Err() == nil {
		again(ctx, func() bool { return r.empty(ctx, p, more) })
		last := time.Now()
		for looks := false; !looks && ctx.Err() == nil; {
			select {
			case <-wake:
				woken, looks = time.Now(), true
				poll.Reset(relayLook)
			case <-poll.C:
				if looks = !woken.IsZero(); !looks {
					var next time.Duration
					looks, next = r.turn()
					poll.Reset(next)
				} else if time.Since(woken) > db.WakeEvery {
					woken = time.Time{}
					poll.Reset(r.poll)
				}
			case <-ctx.Done():
			}
		}
		if wait := gathering(p.busy, time.Since(last)); wait > 0 {
			pause(ctx, wait)
		}
	}
}

// turn says whether a cycle that nothing has woken looks now, and after how long it asks again. What one has looked
// for, another need not: there is one look in r.poll, by any cycle that does not wait for the broker just then.
func (r *Relay) turn() (looks bool, next time.Duration) {
	last, now := r.looked.Load(), time.Now()
	if last != nil && now.Sub(*last) < r.poll {
		return false, r.poll - now.Sub(*last)
	}
	return r.looked.CompareAndSwap(last, &now), r.poll
}

func (r *Relay) look(at time.Time) { r.looked.Store(&at) }

// gathering is how long a relay waits before it looks again: busy looks in a row have found something, the last one
// so long ago.
func gathering(busy int, since time.Duration) time.Duration {
	switch {
	case busy >= relayBusy:
		return relayGatherOn - since
	case since < relayGather:
		return relayGather
	}
	return 0
}

// empty runs cycles until one is not full: later messages come with a wake-up. It returns false when the database or
// the broker is down.
func (r *Relay) empty(ctx context.Context, p *publisher, more chan<- struct{}) bool {
	for r.connect.unblocked(ctx) {
		var full bool
		err := fault.Try("publishing the outbox", r.log.Error, func() (err error) {
			full, err = r.Cycle(ctx, p)
			return err
		})
		if err != nil {
			r.log.WarnContext(ctx, "cannot publish the outbox, trying again", "err", err)
			return false
		}
		if !full {
			return true
		}
		select {
		case more <- struct{}{}:
		default: // they are awake
		}
	}
	return true
}

// Cycle sends one batch and says whether it was full, so that more may wait: otherwise every lane gave all that it had.
// On error some of the batch may have been sent; none is lost and none marked that was not confirmed.
func (r *Relay) Cycle(ctx context.Context, p *publisher) (full bool, err error) {
	token, cursor := uuid.New(), ""
	if c := r.cursor.Load(); c != nil {
		cursor = *c
	}
	r.look(time.Now())
	// A lease that is cancelled may have been granted all the same, and would keep its messages from the next relay.
	leasing, leased := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer leased()
	batch, err := r.Outbox.Lease(leasing, token, cursor, relayLane, relayBatch, batchBytes, relayLease)
	if err != nil || len(batch) == 0 {
		p.busy = 0
		return false, err
	}
	p.busy++
	size := 0
	for _, m := range batch {
		size += len(m.Body)
	}
	full = len(batch) >= relayLane || size >= batchBytes
	last := batch[len(batch)-1].Lane
	r.cursor.Store(&last)

	publishing, published := r.patience(ctx, token, batch)
	defer published(nil)
	errs := r.send(publishing, p, batch)
	// Publishing may have used up its own time. To declare what is missing has more: others may have their turn first.
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	got := r.sort(publishing, batch, errs)
	if err := r.mark(marking, token, batch, &got); err != nil {
		return full, err
	}
	r.restore.after(ctx, got.missing) // it takes its time: the batch is marked first
	return full, fault.Wrap(got.why, "publish %d of %d messages", len(batch)-len(got.sent)-len(got.refused), len(batch))
}

// outcomes are what became of a batch.
type outcomes struct {
	sent, silent []int64
	refused      []db.Refusal
	unknown      map[string][]int64 // by reason

	missing, silence, why error // of the last that is refused for what is not there, is silent, is unknown
}

// sort counts what was confirmed, and parts the rest by what there is to do with it.
func (r *Relay) sort(publishing context.Context, batch []db.Message, errs []error) outcomes {
	got := outcomes{unknown: map[string][]int64{}}
	for i, m := range batch {
		switch err := errs[i]; {
		case err == nil:
			got.sent = append(got.sent, m.ID)
			r.metrics.published(m.RoutingKey, r.now().Sub(m.CreatedAt))
		case errors.Is(err, errReturned), errors.Is(err, errNacked), unwelcome(err):
			got.refused = append(got.refused, db.Refusal{ID: m.ID, Reason: err.Error()})
			if unwelcome(err) {
				got.missing = err
			}
		case errors.Is(err, errSilent):
			got.silent = append(got.silent, m.ID)
			got.silence = err
		default:
			if cause := context.Cause(publishing); cause != nil && !errors.Is(err, cause) && !errors.Is(err, errLate) {
				err = fmt.Errorf("%w: %w", cause, err)
			}
			got.unknown[err.Error()] = append(got.unknown[err.Error()], m.ID)
			got.why = err
		}
	}
	return got
}

// mark writes into the outbox what became of a batch.
func (r *Relay) mark(ctx context.Context, token uuid.UUID, batch []db.Message, got *outcomes) error {
	if len(got.refused) > 0 {
		if err := r.refuse(ctx, token, batch, got.refused); err != nil {
			return err
		}
	}
	for reason, ids := range got.unknown {
		if err := r.Outbox.Release(ctx, token, ids, reason); err != nil {
			return err
		}
	}
	if len(got.silent) > 0 {
		others := len(got.sent)+len(got.refused) > 0
		if err := r.Outbox.PutOff(ctx, token, got.silent, got.silence.Error(), others); err != nil {
			return err
		}
		got.why = got.silence
	}
	if len(got.sent) == 0 {
		return nil
	}
	held, err := r.Outbox.Published(ctx, token, got.sent, r.now())
	if err != nil {
		return err
	}
	if lost := len(got.sent) - int(held); lost > 0 {
		r.metrics.leasesLost(lost)
		r.log.WarnContext(ctx, "leases ran out before the broker confirmed", "messages", lost)
	}
	return nil
}

// refuse puts off the messages that the broker did not accept, or gives them up. The log has a line for each reason,
// with the first message that has it.
func (r *Relay) refuse(ctx context.Context, token uuid.UUID, batch []db.Message, refused []db.Refusal) error {
	givenUp, err := r.Outbox.Refuse(ctx, token, refused, r.GiveUp, r.now())
	if err != nil {
		return err
	}
	r.metrics.gaveUp(len(givenUp))
	type kind struct {
		exchange, key, reason string
		givenUp               bool
	}
	counts, first := map[kind]int{}, map[kind]uuid.UUID{}
	for _, no := range refused {
		m := batch[slices.IndexFunc(batch, func(m db.Message) bool { return m.ID == no.ID })]
		k := kind{m.Exchange, m.RoutingKey, no.Reason, slices.Contains(givenUp, no.ID)}
		if counts[k]++; counts[k] == 1 {
			first[k] = m.MessageID
		}
	}
	for k, n := range counts {
		level, what := slog.LevelWarn, "broker did not accept messages, sending them again later"
		if k.givenUp {
			level, what = slog.LevelError, "broker did not accept messages again and again: they are dead letters now"
		}
		r.log.Log(ctx, level, what, "messages", n, "exchange", k.exchange, "key", k.key, "first", first[k], "err", k.reason)
	}
	return nil
}

// patience returns the context of one batch. It ends when the broker has not confirmed within publishTimeout, also
// during shutdown, for messages that are sent and not marked would be sent again. Time in which the broker blocks
// publishers does not count: the lease is extended meanwhile, and only shutdown ends the wait.
func (r *Relay) patience(ctx context.Context, token uuid.UUID, batch []db.Message) (
	context.Context, context.CancelCauseFunc,
) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ids := make([]int64, len(batch))
	for i, m := range batch {
		ids[i] = m.ID
	}
	go func() { // ends with the publish
		defer cancel(errSilent)
		tick := time.NewTicker(r.keep)
		defer tick.Stop()
		stop := ctx.Done()
		for since := time.Now(); time.Since(since) < r.confirm; {
			select {
			case <-out.Done():
				return
			case <-stop:
				stop = nil
				tick.Reset(relayGather) // look soon whether the broker blocks publishers
			case <-tick.C:
			}
			if !r.connect.blocked() {
				continue
			}
			if ctx.Err() != nil {
				cancel(errBlocked)
				return
			}
			since = time.Now()
			keeping, kept := context.WithTimeout(out, leaseTimeout)
			if _, err := r.Outbox.Extend(keeping, token, ids, relayLease); err != nil && out.Err() == nil {
				r.log.WarnContext(ctx, "cannot extend the lease: its messages may be sent twice", "err", err)
			}
			kept()
		}
	}()
	return out, cancel
}

// send publishes a batch, the messages of each exchange apart: a broker that has no such exchange, or denies permission
// to publish to it, closes the channel, which would fail the others with them.
func (r *Relay) send(ctx context.Context, p *publisher, batch []db.Message) []error {
	errs := make([]error, len(batch))
	var exchanges []string
	at := map[string][]int{} // where in batch
	for i, m := range batch {
		if at[m.Exchange] == nil {
			exchanges = append(exchanges, m.Exchange)
		}
		at[m.Exchange] = append(at[m.Exchange], i)
	}
	for _, exchange := range exchanges {
		out := make([]outgoing, len(at[exchange]))
		spans := make([]trace.Span, len(out))
		for k, i := range at[exchange] {
			out[k], spans[k] = r.outgoing(batch[i])
		}
		for k, err := range r.publish(ctx, p, out) {
			errs[at[exchange][k]] = err
			failed(spans[k], err)
			spans[k].End()
		}
	}
	return errs
}

// publish sends messages of one exchange. One that is larger than the broker takes closes the channel too, and only by
// itself is it known which one that is.
func (r *Relay) publish(ctx context.Context, p *publisher, out []outgoing) []error {
	errs := p.publish(ctx, out)
	if len(out) > 1 && slices.ContainsFunc(errs, tooLarge) {
		for k := range out {
			if errs[k] != nil {
				errs[k] = p.publish(ctx, out[k:k+1])[0]
			}
		}
	}
	return errs
}

// tooLarge says whether the broker closed the channel for a message that it does not take: it is larger than its
// max_message_size.
func tooLarge(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.PreconditionFailed
}

// outgoing makes a message of a row, and the span of sending it. The trace is that of the row's own transaction, not
// the one in the headers of a replayed message.
func (r *Relay) outgoing(m db.Message) (outgoing, trace.Span) {
	headers, span := r.spans.event(m)
	if headers == nil {
		headers = amqp.Table{}
	}
	for name, value := range m.Headers {
		if _, ours := headers[name]; !ours {
			headers[name] = value
		}
	}
	return outgoing{
		exchange: m.Exchange, key: m.RoutingKey,
		mandatory: m.Exchange == "" || r.Routed(m.Exchange, m.RoutingKey), // "": the key names the queue that must get it
		message: amqp.Publishing{
			MessageId: cmp.Or(m.PublishAs, m.MessageID.String()), Headers: headers,
			ContentType: "application/json", Type: m.Type, Timestamp: m.CreatedAt, Body: m.Body,
		},
	}, span
}

// unwelcome says whether the broker closed the channel for the exchange itself, because there is none of that name or
// we may not publish to it, or for the message.
func unwelcome(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && (e.Code == amqp.NotFound || e.Code == amqp.AccessRefused) || tooLarge(err)
}

// purge deletes published rows that are old enough.
func (r *Relay) purge(ctx context.Context) {
	for pause(ctx, purgeEvery) {
		for {
			purging, cancel := context.WithTimeout(ctx, handleTimeout)
			var n int64
			err := fault.Try("purging the outbox", r.log.Error, func() (err error) {
				n, err = r.Outbox.Purge(purging, r.now().Add(-r.Retention), purgeAtOnce)
				return err
			})
			cancel()
			if err != nil && ctx.Err() == nil {
				r.log.WarnContext(ctx, "cannot purge the outbox", "err", err)
			}
			if n < purgeAtOnce {
				break
			}
		}
	}
}
