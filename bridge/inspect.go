package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/certificate"
)

// An Inspector looks at the queues of the topology and changes nothing. It may be used by several goroutines at once.
type Inspector struct {
	topology   topology
	connect    *connector
	vhost      string
	management []managementAPI // each node has one

	mu     sync.Mutex
	missed map[string]time.Time // queues that were not there, and when they were looked for

	asks atomic.Int32 // the index of the management API that answered last
}

// lookAgain is how long a missing queue is not looked for again: each look is an error in the broker's log.
const lookAgain = time.Minute

// A managementAPI is that of one node. Its URL has credentials.
type managementAPI struct {
	*url.URL
	client *http.Client
}

// NewInspector returns an inspector of the broker in o. management are the addresses of its management API; credentials
// are in them or those of the broker, and certificates in their queries, as those of the broker are in its own.
func NewInspector(o Options, management ...string) (*Inspector, error) {
	broker, err := amqp.ParseURI(o.URLs[0])
	if err != nil {
		return nil, errors.New("read RABBITMQ_URL: not an AMQP URL") // the cause may quote the password
	}
	var apis []managementAPI
	for _, address := range management {
		at, err := url.Parse(address)
		if err != nil || at.Host == "" {
			return nil, errors.New("read RABBITMQ_MANAGEMENT_URL: not a URL")
		}
		if at.User == nil {
			at.User = url.UserPassword(broker.Username, broker.Password)
		}
		transport, err := certificate.Transport(at)
		if err != nil {
			return nil, fmt.Errorf("read RABBITMQ_MANAGEMENT_URL: %w", err)
		}
		if at.RawQuery != "" {
			return nil, errors.New("read RABBITMQ_MANAGEMENT_URL: has settings other than cacertfile, certfile and keyfile")
		}
		at.Path = strings.TrimSuffix(at.Path, "/")
		apis = append(apis, managementAPI{at, &http.Client{Transport: transport}})
	}
	return &Inspector{
		topology: newTopology(o), connect: newConnector(o.URLs, "conveyor inspector", nil, slog.New(slog.DiscardHandler)),
		vhost: broker.Vhost, management: apis, missed: map[string]time.Time{},
	}, nil
}

// Close ends the connection.
func (i *Inspector) Close() {
	i.connect.close()
	for _, api := range i.management {
		api.client.CloseIdleConnections()
	}
}

// looks is how many queues are looked at at the same time, each on a channel of one connection: with 500 platforms
// there are a thousand queues, and one round trip after the other takes longer than a report may.
const looks = 16

// Queues asks the broker for every queue that Conveyor knows, dead-letter queues included: how many messages are
// ready, and how many consumers there are. It needs no plugin, and is exact.
func (i *Inspector) Queues(ctx context.Context) ([]backlog.Queue, error) {
	conn, err := i.connect.get(ctx)
	if err != nil {
		return nil, err
	}
	// The client waits for a broker without end; closing the connection ends the calls.
	defer context.AfterFunc(ctx, i.connect.close)()
	out := i.known()
	var next atomic.Int64
	var looking errgroup.Group
	for range min(looks, len(out)) {
		looking.Go(func() error {
			var ch *amqp.Channel
			defer func() {
				if ch != nil && !ch.IsClosed() {
					_ = ch.Close() // nothing depends on it
				}
			}()
			for n := next.Add(1) - 1; n < int64(len(out)); n = next.Add(1) - 1 {
				err := fault.Try("looking at a queue", nil, func() (err error) {
					ch, err = i.look(conn, ch, &out[n])
					return err
				})
				if err != nil {
					next.Store(int64(len(out))) // the others stop
					return err
				}
			}
			return nil
		})
	}
	if err := looking.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// look fills in a queue. It returns the channel for the next one: ch, or one that was opened because there was none.
func (i *Inspector) look(conn *amqp.Connection, ch *amqp.Channel, q *backlog.Queue) (*amqp.Channel, error) {
	if q.Missing = i.missing(q.Name); q.Missing {
		return ch, nil
	}
	if ch == nil || ch.IsClosed() {
		var err error
		if ch, err = conn.Channel(); err != nil {
			return nil, fmt.Errorf("open channel: %w", err)
		}
	}
	found, err := ch.QueueDeclarePassive(q.Name, true, false, false, false, nil)
	var refusal *amqp.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == amqp.NotFound: // and the channel is gone
		q.Missing = true
		i.miss(q.Name)
	case err != nil:
		return ch, fmt.Errorf("look at queue %s: %w", q.Name, err)
	default:
		q.Ready, q.Consumers = int64(found.Messages), int64(found.Consumers)
	}
	return ch, nil
}

// missing says whether a queue was found missing within lookAgain.
func (i *Inspector) missing(queue string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	at, ok := i.missed[queue]
	return ok && time.Since(at) < lookAgain
}

func (i *Inspector) miss(queue string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missed[queue] = time.Now()
}

// known are the queues of the topology, the work first and each followed by its dead letters.
func (i *Inspector) known() []backlog.Queue {
	var out []backlog.Queue
	for _, q := range i.topology.queues {
		out = append(out,
			backlog.Queue{Name: q.Name, Ours: q.ours(), TaskQueue: q.TaskQueue},
			backlog.Queue{Name: q.dlq(), Ours: i.topology.archive, DeadLetters: true})
	}
	return out
}

// maxRates is the most bytes that are read of an answer of the management API: it has a few hundred for each queue.
const maxRates = 8 << 20

// Rates asks the management API for the unacked messages and the rates of each queue, which AMQP does not tell. That
// API is not always enabled, its numbers are some seconds old, and its user needs the tag monitoring or management.
func (i *Inspector) Rates(ctx context.Context) (map[string]backlog.Rates, error) {
	var failed error
	first := int(i.asks.Load())
	for k := range i.management {
		n := (first + k) % len(i.management)
		rates, err := i.rates(ctx, i.management[n])
		if err == nil {
			i.asks.Store(int32(n)) //nolint:gosec // a handful
			return rates, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (i *Inspector) rates(ctx context.Context, api managementAPI) (map[string]backlog.Rates, error) {
	at := *api.URL
	at.User = nil
	columns := "name,messages_unacknowledged,message_stats.publish_details.rate," +
		"message_stats.deliver_get_details.rate,message_stats.ack_details.rate"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		at.String()+"/api/queues/"+url.PathEscape(i.vhost)+"?columns="+columns, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the management API: %w", err)
	}
	password, _ := api.User.Password()
	request.SetBasicAuth(api.User.Username(), password)
	answer, err := api.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the management API: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the management API: it answers %s", answer.Status)
	}
	type rate struct {
		Rate float64 `json:"rate"`
	}
	var queues []struct {
		Name    string `json:"name"`
		Unacked *int64 `json:"messages_unacknowledged"`
		Stats   struct {
			Publish rate `json:"publish_details"`
			Deliver rate `json:"deliver_get_details"`
			Ack     rate `json:"ack_details"`
		} `json:"message_stats"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxRates)).Decode(&queues); err != nil {
		return nil, fmt.Errorf("read the answer of the management API: %w", err)
	}
	out := make(map[string]backlog.Rates, len(queues))
	for _, q := range queues { // no stats yet means that nothing has moved
		s := q.Stats
		out[q.Name] = backlog.Rates{
			Unacked: q.Unacked, PublishRate: &s.Publish.Rate, DeliverRate: &s.Deliver.Rate, AckRate: &s.Ack.Rate,
		}
	}
	return out, nil
}
