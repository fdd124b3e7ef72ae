package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
)

// The client library closes its connection on headers that it cannot read. They cost a message only themselves: it is
// handled, and so are those beside it; with a body that cannot be read it is a dead letter like any other.
func TestHeadersThatTheClientCannotRead(t *testing.T) {
	t.Parallel()

	deep, wide, large := amqp.Table{}, amqp.Table{}, amqp.Table{"large": strings.Repeat("x", 128<<10-200)}
	for range 33 {
		deep = amqp.Table{"deep": []any{deep}}
	}
	for n := range 9000 {
		wide[fmt.Sprint(n)] = nil
	}
	r := newRig(t)
	stop := r.start(t)
	ch := r.broker.Channel()
	_, err := ch.QueueDeclare("others", true, false, false, false, amqp.Table{ // the broker adds x-death to what it held
		"x-dead-letter-exchange": "scraped.dlx", "x-dead-letter-routing-key": "scraped.kijiji", "x-message-ttl": 0,
	})
	require.NoError(t, err)
	send := func(exchange, key string, headers amqp.Table, body []byte) {
		r.broker.Send(exchange, key, amqp.Publishing{
			MessageId: uuid.NewString(), ContentType: "application/json", ContentEncoding: "utf-8", Headers: headers, Body: body,
		})
	}
	for name, headers := range map[string]amqp.Table{
		"deep": deep, "wide": wide, "large": large, "array": {"array": make([]any, 9000)}, "plain": {"plain": int32(1)},
	} {
		send("scraped", "kijiji", headers, message(t, name))
		if name != "wide" { // whatever is beyond the limits is dropped
			headers["kept"] = amqp.Table{"a": []any{int64(1), "b"}}
		}
		send("scraped", "kijiji", headers, []byte("{"+name))
		send("", "others", headers, []byte(name))
	}
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/p"), "") // in another queue
	r.eventually(t, func() bool { return r.temp.called() == 6 }, "adverts and the request are started")
	require.Equal(t, 5, r.temp.started())
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 10 }, "dead letters are archived")
	stop()
	require.NotContains(t, r.logs.String(), "lost its session")
	require.Zero(t, r.broker.Ready("scraped.kijiji")+r.broker.Ready("scraped.kijiji.dlq"))
	require.Equal(t, 8, r.rows(t, "dead_letters WHERE headers->>'kept' = 'map[a:[1 b]]'"))
	require.Equal(t, 5, r.rows(t, "dead_letters WHERE headers ? 'x-error' AND class = 'invalid' AND body LIKE '{%'"))
	require.Equal(t, 6, r.rows(t, `dead_letters WHERE $1 IN (headers->>'deep', headers->>'large', headers->>'array')`,
		"(left out: too large, or nested too deeply)"))
}
