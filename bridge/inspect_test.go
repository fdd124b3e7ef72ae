package bridge_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// inspect returns an inspector of a fresh topology.
func inspect(t *testing.T, management string, change ...func(*bridge.Options)) (*bridge.Inspector, *bridgetest.Broker) {
	t.Helper()

	b := bridgetest.New(t)
	o := options(b.URL)
	require.NoError(t, bridge.Establish(t.Context(), o))
	for _, f := range change {
		f(&o)
	}
	i, err := bridge.NewInspector(o, management)
	require.NoError(t, err)
	t.Cleanup(i.Close)
	return i, b
}

func TestInspectorQueues(t *testing.T) {
	t.Parallel()
	i, b := inspect(t, os.Getenv("RABBITMQ_MANAGEMENT_URL"), func(o *bridge.Options) {
		some := listings()
		some.Stages = []string{"normalize", "import"}
		o.Queues = append(some.Queues(), drafts().Queues()...)
	})
	b.Publish("scraped", "kijiji", []byte("1"), []byte("2"), []byte("3"))
	b.Publish("listings.events", "listings.published", []byte("4"))
	ch := b.Channel()
	require.NoError(t, ch.Qos(1, 0, false))
	deliveries, err := ch.Consume("scraped.kijiji", "", false, false, false, false, nil)
	require.NoError(t, err)
	<-deliveries
	_, err = b.Channel().QueueDelete("images.pending", false, false, false)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := i.Queues(ctx)
	require.NoError(t, err)
	require.Equal(t, []backlog.Queue{
		{Name: "scraped.kijiji", Ready: 2, Consumers: 1, Ours: true},
		{Name: "scraped.kijiji.dlq", Ours: true, DeadLetters: true},
		{Name: "scraped.kangalou", Ours: true},
		{Name: "scraped.kangalou.dlq", Ours: true, DeadLetters: true},
		{Name: "listings.normalized"},
		{Name: "listings.normalized.dlq", Ours: true, DeadLetters: true},
		{Name: "listings.ready", Ours: true},
		{Name: "listings.ready.dlq", Ours: true, DeadLetters: true},
		{Name: "images.pending", Missing: true},
		{Name: "images.pending.dlq", Ours: true, DeadLetters: true},
		{Name: "listings.published", Ready: 1},
		{Name: "listings.published.dlq", Ours: true, DeadLetters: true},
		{Name: requests, Ours: true, TaskQueue: "drafts"},
		{Name: requests + ".dlq", Ours: true, DeadLetters: true},
	}, got)

	again, err := i.Queues(ctx)
	require.NoError(t, err)
	require.Equal(t, got, again)

	rates := map[string]backlog.Rates{} // sampled every five seconds
	require.Eventually(t, func() bool {
		rates, err = i.Rates(ctx)
		u := rates["scraped.kijiji"].Unacked
		return err == nil && u != nil && *u == 1
	}, patience, 100*time.Millisecond)
	require.NotNil(t, rates["scraped.kijiji"].PublishRate)
	require.NotContains(t, rates, "images.pending")
}

func TestInspectorOfABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	i, b := inspect(t, "http://127.0.0.1:1", func(o *bridge.Options) { o.URLs = []string{"amqp://u:secret@127.0.0.1:1/"} })
	_, err := i.Queues(t.Context())
	require.ErrorContains(t, err, "connect to rabbitmq")
	_, err = i.Rates(t.Context())
	require.ErrorContains(t, err, "ask the management API")
	require.NotContains(t, err.Error(), "secret")

	line := bridgetest.NewLine(t, b.URL)
	o := options(line.URL)
	back, err := bridge.NewInspector(o, "http://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(back.Close)
	_, err = back.Queues(t.Context())
	require.NoError(t, err)
	line.Cut()
	_, err = back.Queues(t.Context())
	require.Error(t, err)
	line.Mend()
	_, err = back.Queues(t.Context())
	require.NoError(t, err, "it connects again")
}

func TestInspectorCredentials(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, user, want string }{
		{"those of the broker", "", "guest:pass word"},
		{"its own", "monitor:m", "monitor:m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var who, path string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				who, path = user+":"+password, r.URL.EscapedPath()
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer server.Close()
			at, err := url.Parse(server.URL)
			require.NoError(t, err)
			if user, password, ok := strings.Cut(tt.user, ":"); ok {
				at.User = url.UserPassword(user, password)
			}
			i, err := bridge.NewInspector(options("amqp://guest:pass%20word@127.0.0.1:1/a%2Fb"), at.String()+"/")
			require.NoError(t, err)
			_, err = i.Rates(t.Context())
			require.ErrorContains(t, err, "401")
			require.Equal(t, tt.want, who)
			require.Equal(t, "/api/queues/a%2Fb", path)
		})
	}
	_, err := bridge.NewInspector(options("amqp://u:secret@%"), "http://127.0.0.1:1")
	require.ErrorContains(t, err, "RABBITMQ_URL")
	require.NotContains(t, err.Error(), "secret")
	_, err = bridge.NewInspector(options("amqp://127.0.0.1"), "127.0.0.1")
	require.ErrorContains(t, err, "RABBITMQ_MANAGEMENT_URL")
}

// One round trip after the other would take longer than a report may, where there are many queues: several are under
// way at the same time. The line holds the first questions back until there are eight of them.
func TestInspectorLooksAtQueuesAtOnce(t *testing.T) {
	t.Parallel()
	broker := bridgetest.New(t)
	require.NoError(t, bridge.Establish(t.Context(), options(broker.URL)))
	server, err := url.Parse(broker.URL)
	require.NoError(t, err)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listen.Close() })
	target := server.Host
	var dials atomic.Int32
	go func() { // ends with listen
		for {
			near, err := listen.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				return
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { holdDeclares(far, near, 8); _ = far.Close() }()
		}
	}()
	server.Host = listen.Addr().String()
	i, err := bridge.NewInspector(options(server.String()), "http://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(i.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		_, err = i.Queues(ctx)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, dials.Load(), "the connection is kept")
}

// holdDeclares copies AMQP frames to the broker. The first n that declare a queue are held back until all are there.
func holdDeclares(to io.Writer, from io.Reader, n int) {
	in := bufio.NewReader(from)
	if _, err := io.CopyN(to, in, 8); err != nil { // the protocol's name
		return
	}
	var held []byte
	for {
		head, err := in.Peek(7)
		if err != nil {
			return
		}
		frame := make([]byte, 8+binary.BigEndian.Uint32(head[3:])) // with the octet at its end
		if _, err := io.ReadFull(in, frame); err != nil {
			return
		}
		if n > 0 && frame[0] == 1 && binary.BigEndian.Uint32(frame[7:]) == 50<<16|10 { // queue.declare
			held = append(held, frame...)
			if n--; n > 0 {
				continue
			}
			frame = held
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}
