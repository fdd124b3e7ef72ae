package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// archive makes the handler that moves the dead letters of q to Postgres. They are keyed by message: a delivery that
// comes twice is counted, not stored twice.
func (b *Bridge) archive(q Queue) Handler {
	return together(func(ctx context.Context, from source, batch []amqp.Delivery) []error {
		letters := make([]db.DeadLetter, len(batch))
		for i, d := range batch {
			letters[i] = deadLetter(q, d.Headers, d, from.now())
		}
		err := b.DeadLetters.Archive(ctx, letters...)
		errs := make([]error, len(batch))
		for i := range errs {
			errs[i] = err
		}
		return errs
	})
}

// deadLetter is the row of a message that died in q. The reason is that of our headers, or of the broker's x-death;
// where neither names the exchange that the message was published to, it is the one that q is bound to.
func deadLetter(q Queue, headers amqp.Table, d amqp.Delivery, now time.Time) db.DeadLetter {
	d.Body = q.kept(d.Body)
	out := db.DeadLetter{
		Route: contract.Route{Exchange: q.Exchange, RoutingKey: q.Key, Queue: q.Name}, MessageID: d.MessageId, Body: d.Body,
		Reason: text(headers, headerError), Class: text(headers, headerClass), Headers: map[string]string{},
		Letter: letterOf(headers), At: now, WorkflowID: text(headers, headerWorkflow), RunID: text(headers, headerRun),
	}
	for k := range headers {
		out.Headers[k] = text(headers, k)
	}
	_, ours := headers[headerExchange]
	switch reason, exchange, key, ok := death(headers, q.Name); {
	case ours:
		out.Exchange, out.RoutingKey = text(headers, headerExchange), text(headers, headerKey)
	case ok:
		out.Exchange, out.RoutingKey = exchange, key
		if out.Reason == "" {
			out.Reason = "broker: " + reason
		}
	}
	out.Reason = cmp.Or(out.Reason, "no reason is given")
	out.Class = cmp.Or(out.Class, string(fault.Transient))
	sum := sha256.Sum256(d.Body) // a sender may use one MessageId for many bodies
	out.Key = "message/" + out.Queue + "/" + d.MessageId + "/" + hex.EncodeToString(sum[:])
	return out
}

// text is a header of any type as text; "" when there is none, or nothing in it. Some senders write text as bytes.
func text(headers amqp.Table, name string) string {
	switch v := headers[name].(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// letterOf is the dead letter that a message was replayed from; 0 when it is no replay.
func letterOf(headers amqp.Table) int64 {
	id, err := strconv.ParseInt(text(headers, contract.DeadLetterHeader), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// death reads from x-death how a message last died in a queue, and the exchange and key that it was published to then:
// [{queue, reason, exchange, routing-keys: [key, …], …}, …], the newest first.
func death(headers amqp.Table, queue string) (reason, exchange, key string, ok bool) {
	deaths, _ := headers["x-death"].([]any)
	for _, d := range deaths {
		one, _ := d.(amqp.Table)
		if text(one, "queue") != queue {
			continue
		}
		if keys, _ := one["routing-keys"].([]any); len(keys) > 0 {
			key = fmt.Sprint(keys[0])
		}
		return text(one, "reason"), text(one, "exchange"), key, true
	}
	return "", "", "", false
}
