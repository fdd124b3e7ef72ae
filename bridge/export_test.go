package bridge

import (
	"context"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
)

// KeepEvery sets how often a lease is kept while the broker blocks publishers.
func (r *Relay) KeepEvery(d time.Duration) { r.keep = d }

// PollEvery sets how often a relay looks for messages without a wake-up.
func (r *Relay) PollEvery(d time.Duration) { r.poll = d }

// Turn says whether a cycle that nothing has woken looks now, and after how long it asks again.
func (r *Relay) Turn() (looks bool, next time.Duration) { return r.turn() }

// Look notes that a cycle looks for messages.
func (r *Relay) Look(at time.Time) { r.look(at) }

// ConfirmWithin sets for how long a relay waits for confirms from a broker that does not block publishers.
func (r *Relay) ConfirmWithin(d time.Duration) { r.confirm = d }

// RetryAfter sets the first pause before messages that are held are handled again.
func (b *Bridge) RetryAfter(d time.Duration) { b.retry = d }

// DrainWithin sets how long the handling of received messages may take after shutdown began.
func (b *Bridge) DrainWithin(d time.Duration) { b.grace = d }

// HandleWithin sets how long a call of a handler may take, and after how long its messages count as held.
func (b *Bridge) HandleWithin(most, slow time.Duration) { b.within, b.slow = most, slow }

// BuryWithin sets for how long a consumer waits for the confirm of a dead letter.
func (b *Bridge) BuryWithin(d time.Duration) { b.confirm = d }

// WatchEvery sets how often a consumer asks whether its handler can still work.
func (b *Bridge) WatchEvery(d time.Duration) { b.watch = d }

// PrefetchBytes sets the size of unsettled bodies at which a consumer takes fewer messages at once.
func (b *Bridge) PrefetchBytes(n int64) { b.budget = n }

// TrimEvery sets how often the queues that are limited are looked at.
func (b *Bridge) TrimEvery(d time.Duration) { b.trim = d }

// NotYet says whether the broker's answer to a declaration may be another one in a moment.
func NotYet(err error, declares bool) bool { return notYet(err, declares) }

// Establish declares a bridge's topology, as Run does before anything else.
func Establish(ctx context.Context, o Options) error {
	connect := newConnector(o.URLs, "conveyor test", nil, slog.New(slog.DiscardHandler))
	defer connect.close()
	conn, err := connect.get(ctx)
	if err != nil {
		return err
	}
	return newTopology(o).establish(conn, slog.New(slog.DiscardHandler))
}

// InTurn declares a bridge's topology while no other one does.
func InTurn(ctx context.Context, o Options, turns *db.Outbox) error {
	connect := newConnector(o.URLs, "conveyor test", nil, slog.New(slog.DiscardHandler))
	defer connect.close()
	conn, err := connect.get(ctx)
	if err != nil {
		return err
	}
	return newTopology(o).inTurn(ctx, conn, turns, slog.New(slog.DiscardHandler))
}

// Each makes a handler of a function for one message.
func Each[M interface{ Check() error }](f func(ctx context.Context, m M) error) Handler {
	return each(func(ctx context.Context, _ source, _ amqp.Delivery, m M) error { return f(ctx, m) })
}

// Gather is how long a relay waits before it looks again.
func Gather(busy int, since time.Duration) time.Duration { return gathering(busy, since) }
