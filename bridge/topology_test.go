package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/contract"
)

// A declared queue or exchange, as the management API shows it.
type declared struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Durable    bool           `json:"durable"`
	AutoDelete bool           `json:"auto_delete"`
	Exclusive  bool           `json:"exclusive"`
	Internal   bool           `json:"internal"`
	Arguments  map[string]any `json:"arguments"`
}

// TestTopologyOnRabbitMQ4 requires that the declarations are valid on RabbitMQ 4.0 to 4.3. These refuse queues that are
// neither durable nor exclusive, mirroring and x-queue-mode, give every quorum queue a delivery limit of 20, drop a
// message that reaches it where there is no dead-letter exchange, and need reject-publish for dead letters that are not
// lost on the way.
func TestTopologyOnRabbitMQ4(t *testing.T) {
	t.Parallel()

	queues := map[string]string{ // and their exchanges
		"scraped.kijiji": "scraped", "scraped.kangalou": "scraped", "listings.normalized": "listings",
		"listings.ready": "listings", "images.pending": "listings", "listings.published": "listings.events",
		"crawler.url.requested.v1": "events",
	}
	for _, kind := range []string{amqp.QueueTypeQuorum, amqp.QueueTypeClassic} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			broker := bridgetest.New(t)
			o := options(broker.URL)
			o.QueueType = kind
			require.NoError(t, bridge.Establish(t.Context(), o))

			want := map[string]map[string]any{}
			for name, exchange := range queues {
				want[name] = map[string]any{
					"x-queue-type": kind, "x-dead-letter-exchange": exchange + ".dlx", "x-dead-letter-routing-key": name,
				}
				want[name+".dlq"] = map[string]any{"x-queue-type": kind}
				if kind == amqp.QueueTypeQuorum {
					want[name]["x-delivery-limit"] = 1000.0
					want[name]["x-dead-letter-strategy"] = "at-least-once"
					want[name]["x-overflow"] = "reject-publish"
					want[name+".dlq"]["x-delivery-limit"] = 1e6
				}
			}
			var declaredQueues, exchanges []declared
			broker.Call("GET", "/api/queues/"+broker.Vhost, nil, &declaredQueues)
			got := map[string]map[string]any{}
			for _, q := range declaredQueues {
				require.Equal(t, kind, q.Type, q.Name)
				require.True(t, q.Durable, q.Name)
				require.False(t, q.AutoDelete || q.Exclusive, q.Name)
				got[q.Name] = q.Arguments
			}
			require.Equal(t, want, got, "anything else here is an argument that RabbitMQ 4 may not take")

			broker.Call("GET", "/api/exchanges/"+broker.Vhost, nil, &exchanges)
			for _, e := range exchanges {
				if e.Name != "" && !strings.HasPrefix(e.Name, "amq.") {
					require.True(t, e.Durable && !e.AutoDelete && !e.Internal && len(e.Arguments) == 0, e.Name)
				}
			}
			requireNoneDeprecated(t, broker)
		})
	}
}

// requireNoneDeprecated requires that no deprecated feature is in use, on brokers that list those, from 3.13 on.
func requireNoneDeprecated(t *testing.T, broker *bridgetest.Broker) {
	t.Helper()

	var overview struct {
		Version string `json:"rabbitmq_version"`
	}
	broker.Call("GET", "/api/overview", nil, &overview)
	var major, minor int
	_, err := fmt.Sscanf(overview.Version, "%d.%d", &major, &minor)
	require.NoError(t, err, overview.Version)
	if major > 3 || minor >= 13 {
		var used []map[string]any
		broker.Call("GET", "/api/deprecated-features/used", nil, &used)
		require.Empty(t, used)
	}
}

// A page is a message of a queue on the default exchange.
type page struct {
	URL  string `json:"url"`
	HTML string `json:"html"`
}

func (p page) Check() error {
	if p.URL == "" {
		return contract.Errors{{Field: "url", Reason: "is missing"}}
	}
	return nil
}

// TestQueueOnTheDefaultExchange: a row whose queue has no exchange of its own, larger bodies than others and a
// dead-letter exchange that is not named after its exchange.
func TestQueueOnTheDefaultExchange(t *testing.T) {
	t.Parallel()

	const queue = "crawler_queue"
	publish := func(r *rig) {
		body := func(bytes int) []byte {
			return []byte(`{"url":"https://shop.example/","html":"` + strings.Repeat("x", bytes) + `"}`)
		}
		r.broker.Send("", queue,
			amqp.Publishing{MessageId: "too large", Body: body(6 << 20)},
			amqp.Publishing{MessageId: "bad", Body: []byte(`{"html":""}`)},
			amqp.Publishing{MessageId: "good", Body: body(4 << 20)},
		)
	}
	row := func(pages chan<- page) bridge.Queue {
		return bridge.Queue{
			Name: queue, Key: queue, DLX: "crawler.dlx", DLXKind: amqp.ExchangeDirect, MaxBody: 5 << 20, Prefetch: 10,
			Consumers: 2, Handle: bridge.Each(func(_ context.Context, p page) error { pages <- p; return nil }),
		}
	}
	reasons := map[string]string{"too large": "the most is 5242880", "bad": "url: is missing"}

	t.Run("dead letters stay in the broker", func(t *testing.T) {
		t.Parallel()

		r, pages := newRig(t), make(chan page, 3)
		r.more, r.ArchiveDeadLetters = []bridge.Queue{row(pages)}, false
		r.start(t)
		r.eventually(t, func() bool { return r.consumers(queue) == 2 }, "the row says how many consumers there are")
		publish(r)
		require.Len(t, (<-pages).HTML, 4<<20)
		for _, d := range r.broker.Get(queue+".dlq", 2) {
			require.Equal(t, "crawler.dlx", d.Exchange)
			require.Equal(t, queue, d.RoutingKey)
			require.Contains(t, d.Headers["x-error"], reasons[d.MessageId], d.MessageId)
			require.Equal(t, "invalid", d.Headers["x-error-class"])
			require.Empty(t, d.Headers["x-origin-exchange"])
			require.Equal(t, queue, d.Headers["x-origin-routing-key"])
		}
		require.Empty(t, pages)
	})

	t.Run("dead letters are archived and replayed", func(t *testing.T) {
		t.Parallel()

		r, pages := newRig(t), make(chan page, 3)
		r.more = []bridge.Queue{row(pages)}
		stop := r.start(t)
		publish(r)
		r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = $1", queue) == 2 }, "not archived")
		for id, reason := range reasons {
			require.Equal(t, 1, r.rows(t, `dead_letters WHERE message_id = $1 AND position($2 IN reason) > 0
				AND exchange = '' AND routing_key = $3`, id, reason, queue), id)
		}
		r.replay(t, one[int64](t, r, "SELECT id FROM dead_letters WHERE message_id = 'too large'"))
		r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE deaths = 2") == 1 }, "it dies again")
		stop()
		require.Len(t, pages, 1)
		require.Zero(t, r.broker.Ready(queue))
		require.Zero(t, r.broker.Ready(queue+".dlq"))
	})

	t.Run("only checked", func(t *testing.T) {
		t.Parallel()

		r, pages := newRig(t), make(chan page, 3)
		r.more = []bridge.Queue{row(pages)}
		r.arrange()
		require.NoError(t, bridge.Establish(t.Context(), r.Options))
		r.Declare = false
		require.NoError(t, bridge.Establish(t.Context(), r.Options))
		_, err := r.broker.Channel().QueueDelete(queue, false, false, false)
		require.NoError(t, err)
		require.ErrorContains(t, bridge.Establish(t.Context(), r.Options), "check queue "+queue)
	})

	t.Run("declared", func(t *testing.T) {
		t.Parallel()

		broker := bridgetest.New(t)
		o := options(broker.URL)
		o.Queues = []bridge.Queue{row(nil)}
		require.NoError(t, bridge.Establish(t.Context(), o))
		var dlx declared
		broker.Call("GET", "/api/exchanges/"+broker.Vhost+"/crawler.dlx", nil, &dlx)
		require.Equal(t, amqp.ExchangeDirect, dlx.Type)
		var q declared
		broker.Call("GET", "/api/queues/"+broker.Vhost+"/"+queue, nil, &q)
		require.Equal(t, "crawler.dlx", q.Arguments["x-dead-letter-exchange"])
		require.Equal(t, queue, q.Arguments["x-dead-letter-routing-key"])
		var bindings []map[string]any
		broker.Call("GET", "/api/bindings/"+broker.Vhost, nil, &bindings)
		require.Len(t, bindings, 3, "of both queues to the default exchange, and of the dead-letter queue to its own")
	})
}

// Rows that disagree about an exchange are an error at startup: the broker would keep the kind that came first.
func TestRowsDisagree(t *testing.T) {
	t.Parallel()

	o := options(bridgetest.New(t).URL)
	o.Queues = []bridge.Queue{
		{Name: "a", Exchange: "events", Key: "a", DLX: "events.dlx", DLXKind: amqp.ExchangeTopic},
		{Name: "b", Exchange: "events", Key: "b", DLX: "events.dlx", DLXKind: amqp.ExchangeDirect},
	}
	require.ErrorContains(t, bridge.Establish(t.Context(), o),
		"queue b: its dead-letter exchange events.dlx is a direct, for another queue a topic")
}

// What is deleted while the bridge runs is declared again: the queue is consumed, and the exchange takes events.
func TestTopologyIsRestored(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	ch := r.broker.Channel()
	_, err := ch.QueueDelete("scraped.kijiji", false, false, false)
	require.NoError(t, err)
	require.NoError(t, ch.ExchangeDelete("listings.events", false, false))
	fill(t, r.pool, 1, 1)
	require.Eventually(t, func() bool {
		var queue struct {
			Consumers int `json:"consumers"`
		}
		var exchanges []declared
		r.broker.Call(http.MethodGet, "/api/exchanges/"+r.broker.Vhost, nil, &exchanges)
		if !slices.ContainsFunc(exchanges, func(d declared) bool { return d.Name == "listings.events" }) {
			return false
		}
		var queues []declared
		r.broker.Call(http.MethodGet, "/api/queues/"+r.broker.Vhost, nil, &queues)
		if !slices.ContainsFunc(queues, func(d declared) bool { return d.Name == "scraped.kijiji" }) {
			return false
		}
		r.broker.Call(http.MethodGet, "/api/queues/"+r.broker.Vhost+"/scraped.kijiji", nil, &queue)
		return queue.Consumers == 1
	}, patience, tick)
}

// Others publish to most exchanges, and consume listings.published: when one is deleted no error of ours says so.
func TestWhatOthersUseIsRestored(t *testing.T) {
	t.Parallel()

	for _, what := range []string{"exchanges/scraped", "exchanges/scraped.dlx", "queues/listings.published"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()

			r := newRig(t)
			r.start(t)
			ch := r.broker.Channel() // a queue of a subscriber, for which events are not returned
			_, err := ch.QueueDeclare("subscriber", true, false, false, false, nil)
			require.NoError(t, err)
			require.NoError(t, ch.QueueBind("subscriber", "#", "listings.events", false, nil))
			kind, name, _ := strings.Cut(what, "/")
			r.broker.Call(http.MethodDelete, "/api/"+kind+"/"+r.broker.Vhost+"/"+name, nil, nil)
			fill(t, r.pool, 1, 1)
			require.Eventually(t, func() bool {
				var all []declared
				r.broker.Call(http.MethodGet, "/api/"+kind+"/"+r.broker.Vhost, nil, &all)
				return slices.ContainsFunc(all, func(d declared) bool { return d.Name == name })
			}, patience, tick)
		})
	}
}

// A turnTracer remembers how long the wait for the turn to declare queues might take.
type turnTracer struct{ within chan time.Duration }

func (t turnTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if until, ends := ctx.Deadline(); ends && strings.Contains(q.SQL, "sqlTopologyTurn") {
		select {
		case t.within <- time.Until(until):
		default:
		}
	}
	return ctx
}

func (turnTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A relay that misses an exchange waits for its turn as everybody does, not for as long as it takes to mark its messages.
func TestRelayWaitsForItsTurn(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	ch := broker.Channel()
	_, err := ch.QueueDelete("listings.published", false, false, false) // where all queues stand, no turn is taken
	require.NoError(t, err)
	require.NoError(t, ch.ExchangeDelete("listings.events", false, false))
	fill(t, pool, 1, 1)
	conf, tracer := pool.Config(), turnTracer{make(chan time.Duration, 1)}
	conf.ConnConfig.Tracer = tracer
	traced, err := pgxpool.NewWithConfig(t.Context(), conf)
	require.NoError(t, err)
	t.Cleanup(traced.Close)
	running(t, newRelay(t, options(broker.URL), traced, time.Now))
	select {
	case within := <-tracer.within:
		require.Greater(t, within, time.Minute)
	case <-time.After(patience):
		require.Fail(t, "no turn is taken")
	}
}

// Whose time is over while another one declares queues declares none beside it.
func TestTurnThatDoesNotCome(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	ch := broker.Channel()
	_, err := ch.QueueDelete("scraped.kijiji", false, false, false)
	require.NoError(t, err)
	turns, o := dbtest.Outbox(t, pool), options(broker.URL)
	conn, err := amqp.Dial(broker.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	end, err := turns.Turn(t.Context(), conn.Config.Vhost)
	require.NoError(t, err)
	t.Cleanup(end)
	waiting, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, bridge.InTurn(waiting, o, turns), context.DeadlineExceeded)
	_, err = broker.Channel().QueueDeclarePassive("scraped.kijiji", true, false, false, false, nil)
	require.ErrorContains(t, err, "NOT_FOUND")
	end()
	require.NoError(t, bridge.InTurn(t.Context(), o, turns))
	_, err = broker.Channel().QueueDeclarePassive("scraped.kijiji", true, false, false, false, nil)
	require.NoError(t, err)
}
