package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	dialTimeout  = 10 * time.Second
	nodeTimeout  = 4 * time.Second // to dial each node, where there are several
	closeTimeout = 2 * time.Second
	firstBackoff = 100 * time.Millisecond
	mostBackoff  = 15 * time.Second
)

// heartbeat is agreed with the broker, unless RABBITMQ_URL has another one (?heartbeat=). Both sides send twice in it.
// The client closes a connection on which nothing came for one and a half, so a node that is cut off is given up after
// 9 seconds at most; the broker does after two, and gives out again what it had delivered. A shorter one ends
// connections to a broker that is only busy. TCP_USER_TIMEOUT would be no help: it also ends connections whose
// publishers the broker blocks, for it stops reading from them.
const heartbeat = 6 * time.Second

// A connector keeps one shared connection, to one node of the broker, and dials again when it is gone: the nodes in
// turn, beginning with one at random, so that they share the clients. Consumers and publishers have one each: a broker
// that blocks publishers must not stop acks.
type connector struct {
	nodes   []string // URLs
	name    string
	metrics *Metrics
	log     *slog.Logger

	mu   sync.Mutex
	node int // that is dialled next: not the one that was connected last, which may be what is gone
	conn *amqp.Connection
	gate atomic.Pointer[gate] // of conn
}

func newConnector(nodes []string, name string, m *Metrics, log *slog.Logger) *connector {
	return &connector{nodes: nodes, name: name, metrics: m, log: log, node: rand.IntN(len(nodes))}
}

// A gate is shut while the broker blocks publishers on a connection because it is out of memory or disk.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil while it is open
}

// watch opens and shuts the gate of conn. The broker tells a connection that it is blocked only when that publishes.
func (c *connector) watch(conn *amqp.Connection) {
	g := new(gate)
	c.gate.Store(g)
	said := conn.NotifyBlocked(make(chan amqp.Blocking, 1))
	set := func(shut bool, reason string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		switch {
		case shut && g.shut == nil:
			g.shut = make(chan struct{})
			c.metrics.blocked(c.name, 1)
			c.log.Warn("broker blocks publishers, messages to be sent wait", "connection", c.name, "reason", reason)
		case !shut && g.shut != nil:
			close(g.shut)
			g.shut = nil
			c.metrics.blocked(c.name, 0)
			c.log.Info("broker no longer blocks publishers, or its connection is gone", "connection", c.name)
		}
	}
	go func() { // ends with the connection
		for b := range said {
			set(b.Active, b.Reason)
		}
		set(false, "")
	}()
}

// blocked says whether the broker blocks publishers, as far as it has told this connection.
func (c *connector) blocked() bool { return c.shut() != nil }

// shut is nil while the broker takes messages; otherwise the channel is closed when it takes them again, or when the
// connection ends.
func (c *connector) shut() <-chan struct{} {
	g := c.gate.Load()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// unblocked waits until the broker takes messages; false when ctx ended first.
func (c *connector) unblocked(ctx context.Context) bool {
	for shut := c.shut(); shut != nil; shut = c.shut() {
		select {
		case <-shut:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// patience returns a context that ends, by errSilent, when the broker has not answered for d. Time in which it blocks
// publishers does not count.
func (c *connector) patience(ctx context.Context, d time.Duration) (context.Context, context.CancelCauseFunc) {
	out, cancel := context.WithCancelCause(ctx)
	go func() { // ends with out
		for c.unblocked(out) && pause(out, d) {
			if !c.blocked() {
				cancel(errSilent)
			}
		}
	}()
	return out, cancel
}

// get returns the open connection, dialled when there is none.
func (c *connector) get(ctx context.Context) (*amqp.Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && !c.conn.IsClosed() {
		return c.conn, nil
	}
	var failed error
	for left := len(c.nodes); left > 0; left-- {
		conn, err := c.dial(ctx, c.nodes[c.node], left)
		c.node = (c.node + 1) % len(c.nodes)
		if err == nil {
			c.metrics.connected(c.name)
			c.conn = conn
			c.watch(conn)
			return conn, nil
		}
		failed = errors.Join(failed, fmt.Errorf("connect to rabbitmq: %w", err))
	}
	return nil, failed
}

// dial connects to a node. One that does not answer leaves time for the others, of which so many are left with it.
func (c *connector) dial(ctx context.Context, node string, left int) (*amqp.Connection, error) {
	within := dialTimeout
	if len(c.nodes) > 1 {
		within = nodeTimeout
	}
	until := time.Now().Add(within) // for the handshake, too; the client clears it
	if d, ok := ctx.Deadline(); ok {
		if share := time.Now().Add(time.Until(d) / time.Duration(left)); share.Before(until) {
			until = share
		}
	}
	plain, address, secure, err := bare(node)
	if err != nil {
		return nil, err
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(c.name)
	config := amqp.Config{
		Heartbeat:  heartbeat,
		FrameSize:  frameSize,
		Properties: properties,
		Dial:       func(_, _ string) (net.Conn, error) { return open(ctx, address, until, secure) },
	}
	// The client may find its connection closed before it has read why, as by a broker that refuses its certificate.
	for range 4 {
		conn, err := amqp.DialConfig(plain, config)
		if !errors.Is(err, amqp.ErrClosed) && !errors.Is(err, net.ErrClosed) {
			return conn, err
		}
	}
	return amqp.DialConfig(plain, config)
}

// channel opens a channel on the connection.
func (c *connector) channel(ctx context.Context) (*amqp.Channel, error) {
	conn, err := c.get(ctx)
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	return ch, fault.Wrap(err, "open channel")
}

// close ends the connection. It does not wait for a broker that has stopped listening, as one does that is out of
// memory or disk.
func (c *connector) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

// discard closes conn, which was found broken; a connection that was opened since stays.
func (c *connector) discard(conn *amqp.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.end()
	}
}

func (c *connector) end() {
	if c.conn != nil {
		_ = c.conn.CloseDeadline(time.Now().Add(closeTimeout)) // it may be closed already
		c.conn = nil
	}
}

// again calls f until it returns true or ctx ends, with growing pauses and jitter: clients should not reconnect all at
// once.
func again(ctx context.Context, f func() bool) { repeat(ctx, firstBackoff, f) }

// repeat is again with a first pause of its own.
func repeat(ctx context.Context, first time.Duration, f func() bool) {
	for wait := first; !f(); wait = min(2*wait, max(first, mostBackoff)) {
		if !pause(ctx, wait) {
			return
		}
	}
}

// lasting calls f, which returns when its connection breaks, again and again until ctx ends: at once after it had
// worked for a while, with growing pauses while it keeps failing.
func lasting(ctx context.Context, f func()) {
	for ctx.Err() == nil {
		again(ctx, func() bool {
			began := time.Now()
			f()
			return ctx.Err() != nil || time.Since(began) > mostBackoff
		})
	}
}

// pause waits about d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	jittered := time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter, not a secret
	select {
	case <-time.After(jittered):
		return true
	case <-ctx.Done():
		return false
	}
}

// Ping returns nil when a node of the broker opens a connection.
func Ping(ctx context.Context, nodes ...string) error {
	c := newConnector(nodes, "conveyor ping", nil, slog.New(slog.DiscardHandler))
	defer c.close()
	_, err := c.get(ctx)
	return err
}
