package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
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

// TestTopologyOnRabbitMQ4 holds what is declared to what RabbitMQ 4.0 to 4.3 takes. They refuse queues that are neither
// durable nor exclusive, mirroring and x-queue-mode, give every quorum queue a delivery limit of 20, drop what reaches
// it where there is no dead-letter exchange, and need reject-publish for dead letters that are not lost on the way.
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

// requireNoneDeprecated asks brokers that know it, those from 3.13 on, what of them is used and will be removed.
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
