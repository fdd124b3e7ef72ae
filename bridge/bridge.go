// Package bridge carries messages between RabbitMQ and Conveyor: consumers that store what arrives and start its
// workflow, the relay that publishes the outbox, and the archive of dead letters.
//
// Every connection is supervised here, not by the client library: its automatic recovery acks the wrong message
// after a reconnect. A session has a channel of its own, so an ack of the session before fails instead.
package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Options is what a bridge is told. There are no zero values to rely on: config sets them all.
type Options struct {
	URL                string        // amqp://user:password@host:port/vhost
	Stages             []string      // the listing stages that are ours; we consume only their queues
	Platforms          []string      // whose scraped.<platform> queues there are
	QueueType          string        // quorum or classic, for queues that we declare
	Declare            bool          // declare the topology; false checks that it is there
	Prefetch           int           // deliveries of one queue in hand at once, that of crawl requests aside
	DraftRequests      DraftRequests // where crawl requests come from
	Hold               time.Duration // how long deliveries are held while something is away; then they go back
	ArchiveDeadLetters bool          // move dead letters to Postgres; false leaves them in the broker
	Relays             int           // outbox cycles under way at once
	Retention          time.Duration // how long published outbox rows are kept
	Version            string        // for the header x-conveyor-version

	Traces trace.TracerProvider // where spans go; nil is no tracing
}

// DraftRequests is where wishes for product drafts come from.
type DraftRequests struct {
	Ours                        bool // false leaves them, and their queue, to others
	Exchange, Queue, RoutingKey string
	Prefetch                    int // in hand at once
}

// Starter starts the work that messages ask for. Its methods return nil when the work is durably accepted.
type Starter interface {
	Listing(ctx context.Context, ref listing.Ref, a launch.Arrival, summary string) error
	Image(ctx context.Context, job launch.ImageJob, givenUp time.Time) error
	// Draft returns when the draft is stored, or with a *launch.Failed when it never will be.
	Draft(ctx context.Context, r draft.Request) error
}

// Bridge is everything between RabbitMQ and the rest.
type Bridge struct {
	Options
	Listings    *db.Listings
	DeadLetters *db.DeadLetters
	Outbox      *db.Outbox
	Launch      Starter
	Metrics     *Metrics
	Log         *slog.Logger
	Now         func() time.Time
}

// Run works until ctx ends, and then finishes what is in hand. A broker that is away is waited for, without end; the
// only errors are those of a topology that cannot be right.
func (b *Bridge) Run(ctx context.Context) error {
	consume := newConnector(b.URL, "conveyor consumers", b.Metrics, b.Log)
	publish := newConnector(b.URL, "conveyor publishers", b.Metrics, b.Log)
	defer consume.close()
	defer publish.close()

	topology := newTopology(b.Options)
	if err := b.prepare(ctx, publish, topology); err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	dead := &deadLetterer{
		publisher: &publisher{connect: publish}, archive: b.DeadLetters, version: b.Version, now: b.Now,
	}
	for _, q := range topology.consumed() {
		c := consumer{
			connect: consume, queue: q, prefetch: b.Prefetch, hold: b.Hold, handle: b.handler(q), dead: dead,
			metrics: b.Metrics, log: b.Log.With("queue", q.queue), spans: newTracing(b.Traces),
		}
		consumers := 1
		if q.drafts { // each takes as long as its page: none waits for its neighbours
			c.prefetch, consumers = 1, b.DraftRequests.Prefetch
		}
		for range consumers {
			work.Go(func() error { c.run(ctx); return nil })
		}
	}
	relay := NewRelay(b.URL, b.Outbox, b.Options, b.Metrics, b.Log, b.Now)
	work.Go(func() error { relay.Run(ctx); return nil })
	return work.Wait()
}

// prepare declares or checks the topology, waiting for a broker that is away.
func (b *Bridge) prepare(ctx context.Context, connect *connector, t topology) error {
	var failed error
	again(ctx, func() bool {
		conn, err := connect.get(ctx)
		if err != nil {
			b.Log.WarnContext(ctx, "rabbitmq is away", "err", err)
			return false
		}
		failed = t.establish(conn, b.Log)
		if failed != nil && conn.IsClosed() {
			b.Log.WarnContext(ctx, "rabbitmq went away", "err", failed)
			return false
		}
		return true
	})
	if failed != nil {
		return fmt.Errorf("establish queues: %w", failed)
	}
	return nil
}
