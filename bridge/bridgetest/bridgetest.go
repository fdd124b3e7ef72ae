// Package bridgetest gives each test a RabbitMQ virtual host of its own, and lines that can be cut.
package bridgetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A Broker is one virtual host. It is deleted, with all that is in it, when its test ends.
type Broker struct {
	URL   string // amqp://…/vhost
	Vhost string

	t          testing.TB
	management *url.URL
	line       *line
}

// A line is the connection that the calls of a test and of its cases share.
type line struct {
	once sync.Once
	conn *amqp.Connection
}

// In is the virtual host as a case of its test has it: what fails there fails the case.
func (b *Broker) In(t testing.TB) *Broker {
	c := *b
	c.t = t
	return &c
}

// New returns a fresh virtual host. Without a broker the test fails with the command that starts one.
func New(t testing.TB) *Broker {
	t.Helper()

	server, api := servicetest.Address(t, "RABBITMQ_URL"), servicetest.Address(t, "RABBITMQ_MANAGEMENT_URL")
	at, err := url.Parse(server)
	require.NoError(t, err)
	management, err := url.Parse(api)
	require.NoError(t, err)
	b := &Broker{Vhost: "test-" + uuid.NewString(), t: t, management: management, line: new(line)}
	at.Path = "/" + b.Vhost
	b.URL = at.String()
	b.Call(http.MethodPut, "/api/vhosts/"+b.Vhost, nil, nil)
	t.Cleanup(func() {
		if b.line.conn != nil {
			_ = b.line.conn.Close() // the test may have closed it
		}
		b.Call(http.MethodDelete, "/api/vhosts/"+b.Vhost, nil, nil)
	})
	b.Call(http.MethodPut, "/api/permissions/"+b.Vhost+"/"+url.PathEscape(at.User.Username()),
		map[string]string{"configure": ".*", "write": ".*", "read": ".*"}, nil)
	return b
}

// Call asks the management API: path with in as its body, the answer decoded to out when that is not nil.
func (b *Broker) Call(method, path string, in, out any) {
	b.t.Helper()

	body, err := json.Marshal(in)
	require.NoError(b.t, err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), servicetest.Patience())
	defer cancel()
	at := *b.management
	at.User = nil
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(at.String(), "/")+path,
		bytes.NewReader(body))
	require.NoError(b.t, err)
	password, _ := b.management.User.Password()
	request.SetBasicAuth(b.management.User.Username(), password)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.Less(b.t, answer.StatusCode, 300, "%s %s: %s", method, path, text)
	if out != nil {
		require.NoError(b.t, json.Unmarshal(text, out))
	}
}

// Cut closes every connection of a given name, as an operator may, and returns how many there were.
func (b *Broker) Cut(name string) int {
	b.t.Helper()

	var all []struct {
		Name       string         `json:"name"`
		Properties map[string]any `json:"client_properties"`
	}
	b.Call(http.MethodGet, "/api/vhosts/"+b.Vhost+"/connections", nil, &all)
	n := 0
	for _, c := range all {
		if c.Properties["connection_name"] == name {
			b.Call(http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil, nil)
			n++
		}
	}
	return n
}

// Channel returns a new channel on a connection that all calls of the test share.
func (b *Broker) Channel() *amqp.Channel {
	b.t.Helper()

	b.line.once.Do(func() {
		var err error
		b.line.conn, err = amqp.Dial(b.URL)
		require.NoError(b.t, err)
	})
	ch, err := b.line.conn.Channel()
	require.NoError(b.t, err)
	return ch
}

// Publish sends bodies and waits until a queue has each; a message that none is bound for fails the test.
func (b *Broker) Publish(exchange, key string, bodies ...[]byte) {
	b.t.Helper()

	messages := make([]amqp.Publishing, len(bodies))
	for i, body := range bodies {
		messages[i] = amqp.Publishing{MessageId: uuid.NewString(), Body: body}
	}
	b.Send(exchange, key, messages...)
}

// Send is Publish for messages with properties.
func (b *Broker) Send(exchange, key string, messages ...amqp.Publishing) {
	b.t.Helper()

	ch := b.Channel()
	defer ch.Close()
	require.NoError(b.t, ch.Confirm(false))
	returned := ch.NotifyReturn(make(chan amqp.Return, len(messages)))
	for _, m := range messages {
		m.DeliveryMode = amqp.Persistent
		c, err := ch.PublishWithDeferredConfirm(exchange, key, true, false, m)
		require.NoError(b.t, err)
		require.True(b.t, c.Wait())
	}
	require.Empty(b.t, returned, "no queue is bound to exchange %q for %q", exchange, key) // returned before confirmed
}

// Get takes n messages out of a queue, waiting for each with servicetest.Patience.
func (b *Broker) Get(queue string, n int) []amqp.Delivery {
	b.t.Helper()

	ch := b.Channel()
	defer ch.Close()
	deliveries, err := ch.Consume(queue, "", true, false, false, false, nil)
	require.NoError(b.t, err)
	var out []amqp.Delivery
	patience := time.NewTimer(servicetest.Patience())
	defer patience.Stop()
	for len(out) < n {
		select {
		case d, ok := <-deliveries:
			require.True(b.t, ok, "the queue is gone")
			out = append(out, d)
			patience.Reset(servicetest.Patience())
		case <-patience.C:
			require.Fail(b.t, "too few messages", "got %d of %d from %s", len(out), n, queue)
		}
	}
	return out
}

// Ready returns how many messages wait in a queue, not those that a consumer holds.
func (b *Broker) Ready(queue string) int {
	b.t.Helper()

	ch := b.Channel()
	defer ch.Close()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	require.NoError(b.t, err)
	return q.Messages
}

// A Line forwards connections to a server until it is cut; it can be mended. One to a broker can raise an alarm and
// keep confirms to itself. It keeps its port all the while, for another process would take one that is free: while
// cut, it resets connections.
type Line struct {
	URL string // of the server, by way of this line

	target string
	amqp   bool
	mu     sync.Mutex
	cut    bool
	cuts   int // so far
	conns  map[net.Conn]bool
	calm   chan struct{} // closed when the alarm is over; nil while there is none
	mute   string        // the routing key of messages whose confirms are not forwarded; "" = of none
	hung   chan struct{} // closed when bytes go through again; nil while they do
}

// NewLine returns a line to the server of a URL such as postgres://… or amqp://….
func NewLine(t testing.TB, server string) *Line {
	t.Helper()

	u, err := url.Parse(server)
	require.NoError(t, err)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Line{target: u.Host, amqp: u.Scheme == "amqp", conns: map[net.Conn]bool{}}
	u.Host = listen.Addr().String()
	l.URL = u.String()
	t.Cleanup(func() { _ = listen.Close(); l.Cut() })
	go l.serve(listen) // ends with listen
	return l
}

// Mend lets connections through again.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Hang stops forwarding in both directions, as a server does that is frozen or whose host vanished: connections stay
// open, and new ones are accepted and get no answer. What was sent meanwhile arrives afterwards.
func (l *Line) Hang(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.hung == nil:
		l.hung = make(chan struct{})
	case !on && l.hung != nil:
		close(l.hung)
		l.hung = nil
	}
}

// A slack is a way into a line, on which bytes wait while it hangs.
type slack struct {
	io.Reader
	line *Line
}

func (s slack) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.line.mu.Lock()
	hung := s.line.hung
	s.line.mu.Unlock()
	if hung != nil {
		<-hung
	}
	return n, err
}

// Cut closes the open connections and resets new ones.
func (l *Line) Cut() {
	l.Alarm(false)
	l.Hang(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	l.cuts++
	for c := range l.conns {
		_ = c.Close()
	}
	clear(l.conns)
}

func (l *Line) serve(listen net.Listener) {
	for {
		near, err := listen.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		cut, cuts := l.cut, l.cuts
		l.mu.Unlock()
		if cut {
			reset(near)
			continue
		}
		far, err := net.Dial("tcp", l.target)
		if err != nil {
			reset(near)
			continue
		}
		l.mu.Lock()
		open := l.cuts == cuts
		if open {
			l.conns[near], l.conns[far] = true, true
		}
		l.mu.Unlock()
		if !open { // cut meanwhile
			reset(near)
			_ = far.Close()
			continue
		}
		toServer, toClient := io.Copy, io.Copy
		if l.amqp {
			toServer, toClient = l.frames(near)
		}
		for _, way := range []struct {
			copy     func(io.Writer, io.Reader) (int64, error)
			to, from net.Conn
		}{{toServer, far, near}, {toClient, near, far}} {
			go func() { // ends when either side is closed
				_, _ = way.copy(way.to, slack{way.from, l})
				_, _ = way.to.Close(), way.from.Close()
			}()
		}
	}
}

// reset ends a connection so that its client gets an error at once, as from a port on which nothing listens.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// Alarm makes the line behave as a broker that is out of memory or disk: a connection that publishes is told
// connection.blocked and not read from any more, until the alarm is over. All others go on.
func (l *Line) Alarm(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.calm == nil:
		l.calm = make(chan struct{})
	case !on && l.calm != nil:
		close(l.calm)
		l.calm = nil
	}
}

// frames returns how to copy AMQP frames in both directions of a connection to the client.
func (l *Line) frames(client net.Conn) (toServer, toClient func(io.Writer, io.Reader) (int64, error)) {
	var mu sync.Mutex // a frame of ours must not fall into one of the server's
	say := func(frame []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := client.Write(frame)
		return err
	}
	confirms := confirms{line: l, channels: map[uint16]*unconfirmed{}}
	toServer = func(server io.Writer, from io.Reader) (int64, error) {
		in := bufio.NewReader(from)
		if n, err := io.CopyN(server, in, 8); err != nil { // the protocol's name
			return n, err
		}
		for {
			frame, err := readFrame(in)
			if err != nil {
				return 0, err
			}
			l.mu.Lock()
			calm := l.calm
			l.mu.Unlock()
			if calm != nil && isMethod(frame, 60, 40) { // basic.publish
				if err := say(methodFrame(10, 60, 3, 'l', 'o', 'w')); err != nil { // connection.blocked
					return 0, err
				}
				<-calm
				if err := say(methodFrame(10, 61)); err != nil { // connection.unblocked
					return 0, err
				}
			}
			confirms.asked(frame)
			if _, err := server.Write(frame); err != nil {
				return 0, err
			}
		}
	}
	toClient = func(_ io.Writer, from io.Reader) (int64, error) {
		in := bufio.NewReader(from)
		for {
			frame, err := readFrame(in)
			if err != nil {
				return 0, err
			}
			for _, frame := range confirms.answered(frame) {
				if err := say(frame); err != nil {
					return 0, err
				}
			}
		}
	}
	return toServer, toClient
}

// readFrame returns one whole frame: type, channel, size, payload and end mark.
func readFrame(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(7)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 7+int(binary.BigEndian.Uint32(head[3:]))+1)
	_, err = io.ReadFull(r, frame)
	return frame, err
}

func isMethod(frame []byte, class, method uint16) bool {
	return frame[0] == 1 && len(frame) > 11 && binary.BigEndian.Uint16(frame[7:]) == class &&
		binary.BigEndian.Uint16(frame[9:]) == method
}

// methodFrame is a method of the connection itself.
func methodFrame(class, method uint16, arguments ...byte) []byte {
	out := []byte{1, 0, 0}
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(arguments)))
	out = binary.BigEndian.AppendUint16(out, class)
	out = binary.BigEndian.AppendUint16(out, method)
	return append(append(out, arguments...), 0xCE)
}
