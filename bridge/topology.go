package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Queue is one row of the message table in docs/architecture.md: a queue, the exchange that feeds it, the place of
// its dead letters, and the code that consumes it. Each system returns its rows; the bridge, the relay and the
// inspector read the same ones.
type Queue struct {
	Name string
	// Exchange is the topic exchange that the queue is bound to by Key. "" is the default exchange, which is never
	// declared, checked or bound: every queue is bound to it by its own name, and Key is that name.
	Exchange, Key string
	// DLX is the exchange that dead letters are published to, with Name as their key: the original key may be anything.
	// The dead-letter queue bound to it is Name and contract.SuffixDLQ.
	DLX, DLXKind string  // kind: direct or topic
	MaxBody      int     // size of the largest body that is read, in bytes; a larger one is dead-lettered
	Prefetch     int     // unacked deliveries of each consumer, 1 or more
	Consumers    int     // consumers in each bridge, 1 or more
	Handle       Handler // nil: the queue is declared and bound for other services, which consume it
	// Most is how many messages a queue without a handler keeps: the oldest beyond that are dropped, where the topology is
	// declared here. 0 keeps all.
	Most int
	// Ready returns an error while Handle could not do its work: the queue is not consumed then. nil: it always can.
	Ready func(ctx context.Context) error
	// TaskQueue is the one of Temporal without whose workers the queue is not consumed. "" = it is in any case.
	TaskQueue string
	// Strip returns a body without what must not be stored or shown with a dead letter; a replay sends what it returned.
	// nil: bodies are kept as they are.
	Strip func(body []byte) []byte
	// Waits says that Handle waits for the end of the work, for as long as RABBITMQ_HOLD; other handlers have
	// handleTimeout.
	Waits bool
}

// kept is what a dead letter has of a body.
func (q Queue) kept(body []byte) []byte {
	if q.Strip == nil {
		return body
	}
	return q.Strip(body)
}

// dlq is the name of the dead-letter queue.
func (q Queue) dlq() string { return q.Name + contract.SuffixDLQ }

// ours says whether this bridge consumes the queue. One without a handler is declared and bound for other services.
func (q Queue) ours() bool { return q.Handle != nil }

// topology is every queue that Conveyor knows, as in the table of docs/architecture.md.
type topology struct {
	queues    []Queue
	queueType string
	declare   bool
	archive   bool
	absent    map[string]bool // dead-letter queues that were not declared by their owners; known after establish
}

func newTopology(o Options) topology {
	return topology{
		queues: o.Queues, queueType: o.QueueType, declare: o.Declare, archive: o.ArchiveDeadLetters,
		absent: map[string]bool{},
	}
}

// consumed are the queues that this bridge reads: those with a handler, and the dead-letter queue of every row.
// prefetch is that of a dead-letter queue whose bodies have contract.MaxBody bytes; where they may be larger, as many
// fewer are in memory. archive makes the handler of the dead-letter queue of q.
func (t topology) consumed(prefetch int, archive func(q Queue) Handler) []Queue {
	var out []Queue
	for _, q := range t.queues {
		if q.ours() {
			out = append(out, q)
		}
		if t.archive && !t.absent[q.dlq()] {
			dead := q
			dead.Name, dead.Handle, dead.Consumers = q.dlq(), archive(q), 1
			dead.Ready, dead.Waits = nil, false // it stores a row, whatever the work on its messages needs
			dead.Prefetch = max(1, prefetch*contract.MaxBody/max(q.MaxBody, contract.MaxBody))
			out = append(out, dead)
		}
	}
	return out
}

// limited are the queues whose oldest messages are dropped when there are too many. Queues that are only checked belong
// to others, who limit them.
func (t topology) limited() (out []Queue) {
	for _, q := range t.queues {
		if t.declare && q.Most > 0 && !q.ours() {
			out = append(out, q)
		}
	}
	return out
}

// routes says whether a message must reach a queue: one for a queue of ours must, an event without subscribers need
// not.
func (t topology) routes(exchange, key string) bool {
	return slices.ContainsFunc(t.queues, func(q Queue) bool { return q.Exchange == exchange && q.Key == key })
}

// agree returns an error when two rows have one dead-letter exchange and differ in its kind.
func (t topology) agree() error {
	kinds := map[string]string{}
	for _, q := range t.queues {
		if kind, known := kinds[q.DLX]; known && kind != q.DLXKind {
			return fmt.Errorf("queue %s: its dead-letter exchange %s is a %s, for another queue a %s", q.Name, q.DLX, q.DLXKind, kind)
		}
		kinds[q.DLX] = q.DLXKind
	}
	return nil
}

// inTurn establishes the topology; where a queue is missing, while no other bridge does. Several that declare the same
// quorum queue in the same second, on different nodes of an empty broker that is busy, can leave a queue in RabbitMQ
// 3.10 that can neither be used nor declared (cluster_not_formed). Without a database nothing is waited for: the queues
// must be there, whatever else is away.
func (t topology) inTurn(ctx context.Context, conn *amqp.Connection, turns *db.Outbox, log *slog.Logger) error {
	if t.declare && !t.stands(conn) {
		end, err := turns.Turn(ctx, conn.Config.Vhost)
		switch {
		case err != nil && ctx.Err() != nil: // the caller's time is over, and another one may be declaring
			return err
		case err != nil:
			log.WarnContext(ctx, "declares queues without waiting for other bridges", "err", err)
		case t.stands(conn): // another one has declared them meanwhile
			end()
		default:
			defer end()
		}
	}
	return t.establish(conn, log)
}

// stands says whether every queue exists and its process runs.
func (t topology) stands(conn *amqp.Connection) bool {
	return nil == on(conn, func(ch *amqp.Channel) error {
		for _, q := range t.queues {
			for _, name := range []string{q.Name, q.dlq()} {
				if _, err := ch.QueueDeclarePassive(name, true, false, false, false, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// establish declares what is missing, or only checks. A queue that another team has declared with other arguments is
// used as it is, with a warning that names the difference.
func (t topology) establish(conn *amqp.Connection, log *slog.Logger) error {
	if err := t.agree(); err != nil {
		return err
	}
	for _, q := range t.queues {
		if !t.declare {
			if err := q.check(conn); err != nil {
				return fmt.Errorf("%w; declare it, or set RABBITMQ_DECLARE_TOPOLOGY=true", err)
			}
			if err := there(conn, q.dlq()); notYet(err, false) {
				return fmt.Errorf("check queue %s: %w", q.dlq(), err)
			} else if err != nil {
				log.Info("dead-letter queue does not exist: dead letters go to Postgres at once", "queue", q.dlq())
				t.absent[q.dlq()] = true
			}
			continue
		}
		for name, kind := range map[string]string{q.Exchange: amqp.ExchangeTopic, q.DLX: q.DLXKind} {
			if name == "" {
				continue
			}
			err := on(conn, func(ch *amqp.Channel) error {
				return ch.ExchangeDeclare(name, kind, true, false, false, false, nil)
			})
			if err := asItIs(err, log, "exchange", name); err != nil {
				return err
			}
		}
		if err := t.queue(conn, log, q.dlq(), q.DLX, q.Name, nil); err != nil {
			return err
		}
		if err := t.queue(conn, log, q.Name, q.Exchange, q.Key, amqp.Table{
			"x-dead-letter-exchange": q.DLX, "x-dead-letter-routing-key": q.Name,
		}); err != nil {
			return err
		}
	}
	return nil
}

// complete returns an error when an exchange does not exist, or a queue that is not consumed here; the broker closes ch
// then. A consumer is told when its queue is deleted.
func (t topology) complete(ch *amqp.Channel) error {
	seen := map[string]bool{"": true} // the default exchange always exists
	for _, q := range t.queues {
		for name, consumed := range map[string]bool{q.Name: q.ours(), q.dlq(): t.archive} {
			if consumed {
				continue
			}
			if _, err := ch.QueueDeclarePassive(name, true, false, false, false, nil); err != nil {
				return err
			}
		}
		for name, kind := range map[string]string{q.Exchange: amqp.ExchangeTopic, q.DLX: q.DLXKind} {
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := ch.ExchangeDeclarePassive(name, kind, true, false, false, false, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns an error when the queue or its exchange does not exist. The dead-letter queue is optional: without one,
// dead letters go to Postgres at once.
func (q Queue) check(conn *amqp.Connection) error {
	if q.Exchange != "" {
		err := on(conn, func(ch *amqp.Channel) error {
			return ch.ExchangeDeclarePassive(q.Exchange, amqp.ExchangeTopic, true, false, false, false, nil)
		})
		if err != nil {
			return fmt.Errorf("check exchange %s: %w", q.Exchange, err)
		}
	}
	return fault.Wrap(there(conn, q.Name), "check queue %s", q.Name)
}

// there returns nil for a queue that exists.
func there(conn *amqp.Connection, queue string) error {
	return on(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
}

// queue declares a queue and binds it. args are those of a queue with dead letters; nil for one that keeps them.
func (t topology) queue(conn *amqp.Connection, log *slog.Logger, name, exchange, key string, args amqp.Table) error {
	all := amqp.Table{"x-queue-type": t.queueType}
	maps.Copy(all, args)
	if t.queueType == amqp.QueueTypeQuorum {
		// Both limits are set because the default of RabbitMQ 4 is 20. A message that comes back a thousand times kills
		// its consumer, and becomes a dead letter; one that is given back because a dependency is down never comes so far
		// (giveBack). A dead letter that reached its limit would be dropped.
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
	if exchange == "" {
		return nil
	}
	return on(conn, func(ch *amqp.Channel) error { return ch.QueueBind(name, key, exchange, false, nil) })
}

// asItIs turns the error that a queue or exchange exists with other arguments into a warning.
func asItIs(err error, log *slog.Logger, kind, name string) error {
	var e *amqp.Error
	if errors.As(err, &e) && e.Code == amqp.PreconditionFailed {
		log.Warn("declared with other arguments; used as it is", kind, name, "difference", e.Reason)
		return nil
	}
	return fault.Wrap(err, "declare %s %s", kind, name)
}

// notYet says whether err may be another one in a moment. The broker may know a queue whose process does not run:
// another connection is declaring it, its node is starting, or its leader is being elected. The code is that of what
// does not exist, whose reason begins with "no queue" or "no exchange": for one who declares it too, it was deleted
// after it was declared and before it was bound.
func notYet(err error, declares bool) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.NotFound &&
		(declares || strings.Contains(e.Reason, "down or inaccessible"))
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
