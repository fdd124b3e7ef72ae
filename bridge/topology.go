package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A queue is one row of the message table.
type queue struct {
	queue    string
	exchange string
	key      string
	platform string // of scraped.<platform>
	stage    string // whose work it carries; "" is for others to consume
	drafts   bool   // it carries crawl requests
	dead     bool   // a dead-letter queue, to be archived
}

func (q queue) dlx() string { return q.exchange + ".dlx" }
func (q queue) dlq() string { return q.queue + dlqSuffix }

// topology is every queue that Conveyor knows, as in the table of docs/architecture.md.
type topology struct {
	queues    []queue
	queueType string
	declare   bool
	ours      []string
	archive   bool
	absent    map[string]bool // dead-letter queues that others did not declare; known after establish
}

func newTopology(o Options) topology {
	t := topology{
		queueType: o.QueueType, declare: o.Declare, ours: o.Stages, archive: o.ArchiveDeadLetters,
		absent: map[string]bool{},
	}
	for _, p := range o.Platforms {
		t.queues = append(t.queues, queue{
			queue: contract.QueueScraped(p), exchange: contract.ExchangeScraped, key: p, platform: p,
			stage: listing.StageNormalize,
		})
	}
	work := func(name, stage string) queue {
		return queue{queue: name, exchange: contract.ExchangeListings, key: name, stage: stage}
	}
	t.queues = append(t.queues,
		work(contract.QueueNormalized, listing.StageDedupe),
		work(contract.QueueReady, listing.StageImport),
		work(contract.QueueImages, listing.StageImages),
		queue{
			queue: contract.QueuePublished, exchange: contract.ExchangeListingEvents, key: contract.ListingPublished,
		},
	)
	if c := o.DraftRequests; c.Ours {
		t.queues = append(t.queues, queue{queue: c.Queue, exchange: c.Exchange, key: c.RoutingKey, drafts: true})
	}
	return t
}

// isOurs says whether this bridge reads the queue.
func (t topology) isOurs(q queue) bool { return q.drafts || slices.Contains(t.ours, q.stage) }

// consumed are the queues that this bridge reads: those of our stages, and dead letters.
func (t topology) consumed() []queue {
	var out []queue
	for _, q := range t.queues {
		if t.isOurs(q) {
			out = append(out, q)
		}
		if t.archive && !t.absent[q.dlq()] {
			out = append(out, queue{queue: q.dlq(), exchange: q.exchange, key: q.key, dead: true})
		}
	}
	return out
}

// routes says whether a message must find a queue: one of ours does, an event that nobody subscribed to need not.
func (t topology) routes(exchange, key string) bool {
	return slices.ContainsFunc(t.queues, func(q queue) bool { return q.exchange == exchange && q.key == key })
}

// establish declares what is missing, or only checks. A queue that another team has declared otherwise is used as it
// is, with a warning that names the difference.
func (t topology) establish(conn *amqp.Connection, log *slog.Logger) error {
	for _, q := range t.queues {
		if !t.declare {
			if err := q.check(conn); err != nil {
				return fmt.Errorf("%w; declare it, or set RABBITMQ_DECLARE_TOPOLOGY=true", err)
			}
			if err := there(conn, q.dlq()); err != nil {
				log.Info("there is no such dead-letter queue: dead letters go to Postgres at once", "queue", q.dlq())
				t.absent[q.dlq()] = true
			}
			continue
		}
		dlx := amqp.ExchangeDirect
		if q.drafts { // as its contract has it
			dlx = amqp.ExchangeTopic
		}
		for name, kind := range map[string]string{q.exchange: amqp.ExchangeTopic, q.dlx(): dlx} {
			err := on(conn, func(ch *amqp.Channel) error {
				return ch.ExchangeDeclare(name, kind, true, false, false, false, nil)
			})
			if err := asItIs(err, log, "exchange", name); err != nil {
				return err
			}
		}
		// The queue's own name is the dead-letter key: the original one may be anything.
		if err := t.queue(conn, log, q.dlq(), q.dlx(), q.queue, nil); err != nil {
			return err
		}
		if err := t.queue(conn, log, q.queue, q.exchange, q.key, amqp.Table{
			"x-dead-letter-exchange": q.dlx(), "x-dead-letter-routing-key": q.queue,
		}); err != nil {
			return err
		}
	}
	return nil
}

// check says whether the queue and its exchange are there. A dead-letter queue need not be: without one, dead letters
// go to Postgres at once.
func (q queue) check(conn *amqp.Connection) error {
	err := on(conn, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(q.exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	})
	if err != nil {
		return fmt.Errorf("check exchange %s: %w", q.exchange, err)
	}
	if err := there(conn, q.queue); err != nil {
		return fmt.Errorf("check queue %s: %w", q.queue, err)
	}
	return nil
}

// there returns nil for a queue that exists.
func there(conn *amqp.Connection, queue string) error {
	return on(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
}

func (t topology) queue(conn *amqp.Connection, log *slog.Logger, name, exchange, key string, args amqp.Table) error {
	all := amqp.Table{"x-queue-type": t.queueType}
	for k, v := range args {
		all[k] = v
	}
	if t.queueType == amqp.QueueTypeQuorum {
		// Both limits are said, for RabbitMQ 4 would say 20. A delivery that comes back a thousand times kills its
		// consumer, or something was away for two weeks: every RABBITMQ_HOLD brings it back once. It becomes a dead
		// letter. A dead letter that reached its limit would be dropped.
		all["x-delivery-limit"] = 1_000_000
		if args != nil { // dead letters are confirmed by their queue before they leave ours
			all["x-delivery-limit"] = 1000
			all["x-dead-letter-strategy"] = "at-least-once"
			all["x-overflow"] = "reject-publish"
		}
	}
	err := on(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, all)
		return err
	})
	if err := asItIs(err, log, "queue", name); err != nil {
		return err
	}
	return on(conn, func(ch *amqp.Channel) error { return ch.QueueBind(name, key, exchange, false, nil) })
}

// asItIs forgives a thing that exists with other arguments.
func asItIs(err error, log *slog.Logger, what, name string) error {
	var e *amqp.Error
	if errors.As(err, &e) && e.Code == amqp.PreconditionFailed {
		log.Warn("used as it is: somebody declared it otherwise", what, name, "difference", e.Reason)
		return nil
	}
	if err != nil {
		return fmt.Errorf("declare %s %s: %w", what, name, err)
	}
	return nil
}

// on runs f on a channel of its own: an error of the broker closes the channel it came on.
func on(conn *amqp.Connection, f func(*amqp.Channel) error) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	return f(ch)
}
