// Package bridge carries messages between RabbitMQ and Conveyor: consumers that store the messages that arrive and
// start their workflows, the relay that publishes the outbox, and the archive of dead letters.
//
// Connections are supervised here, not by the client library, whose automatic recovery acks the wrong message after a
// reconnect. Each session has a channel of its own, so a late ack of the session before fails instead.
package bridge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
)

// Options are the settings of a bridge. There are no zero values to rely on: config sets them all.
type Options struct {
	URLs               []string      // of the broker's nodes, amqp://user:password@host:port/vhost: one is connected to
	Queues             []Queue       // the rows of all systems: Listings.Queues, Drafts.Queues, …
	QueueType          string        // quorum or classic, for the queues that are declared here
	Declare            bool          // declare the topology; false checks that it exists
	Prefetch           int           // unacked deliveries of each dead-letter queue; fewer for larger bodies
	Hold               time.Duration // how long deliveries are held while a dependency is down
	ArchiveDeadLetters bool          // move dead letters to Postgres; false leaves them in the broker
	Relays             int           // outbox batches being published at the same time
	Retention          time.Duration // how long published outbox rows are kept
	GiveUp             time.Duration // how long the broker may refuse a message before it is a dead letter; 0 = for ever
	Version            string        // for the header x-conveyor-version

	Traces trace.TracerProvider // receives the spans; nil turns tracing off
}

// Bridge connects RabbitMQ to the database and to Temporal: it consumes the queues of its Options, archives their dead
// letters and publishes the outbox.
type Bridge struct {
	Options
	DeadLetters *db.DeadLetters
	Outbox      *db.Outbox
	Metrics     *Metrics
	Log         *slog.Logger
	Now         func() time.Time

	within, slow time.Duration // as in source; 0 is the default
	watch        time.Duration // as in source; 0 is the default
	retry, grace time.Duration // as in source; 0 is the default
	budget       int64         // as in source; 0 is the default
	confirm      time.Duration // as in deadLetterer; 0 is the default
	trim         time.Duration // between two looks at the queues that are limited; 0 is the default
}

// Run works until ctx ends, and then finishes what is in hand. It waits without end for a broker that is down; the
// only errors are those of a topology that cannot be right.
func (b *Bridge) Run(ctx context.Context) error {
	consume := newConnector(b.URLs, "conveyor consumers", b.Metrics, b.Log)
	publish := newConnector(b.URLs, "conveyor publishers", b.Metrics, b.Log)
	defer consume.close()
	defer publish.close()

	topology := newTopology(b.Options)
	if err := b.prepare(ctx, publish, topology); err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	dead := &deadLetterer{
		publisher: newPublisher(publish), archive: b.DeadLetters, version: b.Version, now: b.Now,
		confirm: cmp.Or(b.confirm, publishTimeout),
	}
	restore := &restorer{topology: topology, connect: consume, turns: b.Outbox, log: b.Log}
	work.Go(func() error { restore.watch(ctx); return nil })
	for _, q := range topology.consumed(b.Prefetch, b.archive) {
		c := consumer{
			source: source{
				Queue: q, hold: b.Hold, within: cmp.Or(b.within, handleTimeout), slow: cmp.Or(b.slow, slowHandling),
				watch: cmp.Or(b.watch, watchEvery), budget: cmp.Or(b.budget, prefetchBytes),
				retry: cmp.Or(b.retry, firstBackoff), grace: cmp.Or(b.grace, drainGrace),
				metrics: b.Metrics, log: b.Log.With("queue", q.Name),
				spans: newTracing(b.Traces), now: b.Now,
			},
			connect: consume, restore: restore, dead: dead,
		}
		for range q.Consumers {
			work.Go(func() error { c.run(ctx); return nil })
		}
	}
	trim := trimmer{
		queues: topology.limited(), connect: consume, metrics: b.Metrics, log: b.Log, every: cmp.Or(b.trim, trimEvery),
	}
	work.Go(func() error { trim.run(ctx); return nil })
	relay := NewRelay(b.URLs, b.Outbox, b.Options, b.Metrics, b.Log, b.Now)
	work.Go(func() error { relay.Run(ctx); return nil })
	return work.Wait()
}

// prepare declares or checks the topology, waiting for a broker that is down.
func (b *Bridge) prepare(ctx context.Context, connect *connector, t topology) error {
	var failed error
	again(ctx, func() bool {
		conn, err := connect.get(ctx)
		if err != nil {
			b.Log.WarnContext(ctx, "cannot connect to rabbitmq, trying again", "err", err)
			return false
		}
		failed = t.inTurn(ctx, conn, b.Outbox, b.Log)
		switch {
		case failed == nil:
			return true
		case conn.IsClosed():
			b.Log.WarnContext(ctx, "lost the connection to rabbitmq, trying again", "err", failed)
			return false
		case notYet(failed, t.declare):
			b.Log.WarnContext(ctx, "rabbitmq has not yet what was declared, trying again", "err", failed)
			return false
		}
		return true
	})
	if failed != nil && ctx.Err() == nil {
		return fmt.Errorf("establish queues: %w", failed)
	}
	return nil
}
