package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	maxMessage  = 128 << 20        // bytes of a message of Chromium's; a longer one is dropped
	maxCommand  = 32 << 20         // bytes of a message of a client's
	maxBacklog  = 256 << 20        // bytes that wait for a client; with more it is disconnected
	relayWithin = 30 * time.Second // for a write to Chromium or to a client
)

var errAway = errors.New("chromium is not running")

// Relay serves the DevTools of a Chromium to clients that know a password. Chromium itself is started with
// --remote-debugging-pipe and listens nowhere: its own port would serve every process of the machine, and
// /json/new?file:///… reads the files of the user that Chromium runs as.
//
// It answers GET /json/version and the WebSocket that is named there; nothing else of Chromium's HTTP interface. Each
// client has a session of its own, and the browser contexts that it has made end with its connection.
type Relay struct {
	log    *slog.Logger
	server *http.Server
	ended  chan struct{}

	mu  sync.Mutex
	now *pipe // nil before the first Chromium
}

// NewRelay serves on l until Close. Clients give the password by HTTP Basic authentication, with any user name.
func NewRelay(l net.Listener, password string, log *slog.Logger) *Relay {
	r := &Relay{log: log, ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /json/version", r.version)
	mux.HandleFunc("GET /json/version/{$}", r.version)
	mux.HandleFunc("GET /devtools/browser", r.drive)
	r.server = &http.Server{
		Handler: guarded(password, mux.ServeHTTP), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	go func() {
		defer close(r.ended)
		_ = r.server.Serve(l) // returns when it is closed
	}()
	return r
}

// Close ends the relay and the connections of its clients.
func (r *Relay) Close() {
	_ = r.server.Close()
	<-r.ended
	r.mu.Lock()
	p := r.now
	r.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// Attach makes cmd, a Chromium with --remote-debugging-pipe that is about to be started, the one that is relayed. Call
// started after the start, also when it failed.
func (r *Relay) Attach(cmd *exec.Cmd) (started func(), err error) {
	theirs, in, out, err := pipes()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = theirs
	p := &pipe{
		log: r.log, in: in, out: out, answers: map[int64]func(json.RawMessage, error){}, owners: map[string]*client{},
	}
	return func() {
		closeAll(theirs)
		r.mu.Lock()
		r.now = p
		r.mu.Unlock()
		go p.read() // ends with Chromium
	}, nil
}

func (r *Relay) current() *pipe {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// version asks Chromium for its version: one that hangs gives no answer.
func (r *Relay) version(w http.ResponseWriter, req *http.Request) {
	var said struct{ Product, UserAgent, ProtocolVersion string }
	result, err := r.current().call(req.Context(), "Browser.getVersion", nil, nil)
	if err == nil {
		err = json.Unmarshal(result, &said)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{
		"Browser": said.Product, "User-Agent": said.UserAgent, "Protocol-Version": said.ProtocolVersion,
		"webSocketDebuggerUrl": "ws://" + req.Host + "/devtools/browser",
	})
}

// drive is the connection of a client, from its beginning to its end.
func (r *Relay) drive(w http.ResponseWriter, req *http.Request) {
	p := r.current()
	ws, err := websocket.Accept(w, req, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // the answer says why
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxCommand)
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	c := &client{ws: ws, gone: cancel, more: make(chan struct{}, 1)}
	begin, done := context.WithTimeout(ctx, relayWithin)
	_, err = p.call(begin, "Target.attachToBrowserTarget", nil, func(result json.RawMessage) { p.adopt(c, result) })
	done()
	if err != nil {
		_ = ws.Close(websocket.StatusTryAgainLater, err.Error())
		return
	}
	defer p.abandon(c)
	var writing sync.WaitGroup
	writing.Go(func() { c.write(ctx) })
	defer writing.Wait()
	defer cancel()
	for {
		_, text, err := ws.Read(ctx)
		if err == nil {
			err = p.pass(c, text)
		}
		if err != nil {
			return
		}
	}
}

// pipe is the connection to one Chromium.
type pipe struct {
	log     *slog.Logger
	in, out *os.File
	writing sync.Mutex // of a message to out

	mu      sync.Mutex
	closed  bool
	last    int64                                  // number of our last call
	answers map[int64]func(json.RawMessage, error) // to our calls
	owners  map[string]*client                     // by session
}

// envelope is what the relay reads of a message.
type envelope struct {
	ID        int64           `json:"id"`
	Method    string          `json:"method"`
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
	Params json.RawMessage `json:"params"`
}

// call makes a call of ours and returns its result. before, if not nil, is called with it before any later message of
// Chromium's is relayed.
func (p *pipe) call(
	ctx context.Context, method string, params any, before func(json.RawMessage),
) (json.RawMessage, error) {
	if p == nil {
		return nil, errAway
	}
	type answer struct {
		result json.RawMessage
		err    error
	}
	answered := make(chan answer, 1)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errAway
	}
	p.last++
	id := p.last
	p.answers[id] = func(result json.RawMessage, err error) {
		if err == nil && before != nil {
			before(result)
		}
		answered <- answer{result, err}
	}
	p.mu.Unlock()
	message, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err == nil {
		err = p.send(message)
	}
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.answers, id)
		p.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// send writes a message to Chromium. When it cannot be written whole, the pipe is of no use any more.
func (p *pipe) send(message []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.out.SetWriteDeadline(time.Now().Add(relayWithin))
	if _, err := p.out.Write(append(message, 0)); err != nil {
		p.close()
		return fmt.Errorf("write to Chromium: %w", err)
	}
	return nil
}

// close ends Chromium, which does not outlive its pipe, and its clients.
func (p *pipe) close() {
	_, _ = p.in.Close(), p.out.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for id, answer := range p.answers {
		delete(p.answers, id)
		answer(nil, errAway)
	}
	for _, c := range p.owners {
		c.gone()
	}
}

// read relays the messages of Chromium until it ends.
func (p *pipe) read() {
	defer p.close()
	in := bufio.NewReaderSize(p.in, 1<<20)
	for {
		message, err := readMessage(in)
		switch {
		case err != nil:
			return
		case message == nil:
			p.log.Warn("a message of Chromium's was dropped", "longer_than_bytes", maxMessage)
			continue
		}
		p.relay(message)
	}
}

// readMessage reads up to the next zero byte. A message that is too long is skipped, and is nil.
func readMessage(in *bufio.Reader) ([]byte, error) {
	message := []byte{}
	for {
		part, err := in.ReadSlice(0)
		if message != nil && len(message)+len(part) > maxMessage {
			message = nil
		}
		if message != nil {
			message = append(message, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case message == nil:
			return nil, nil
		}
		return message[:len(message)-1], nil
	}
}

// relay hands a message of Chromium's to the client whose session it is of.
func (p *pipe) relay(message []byte) {
	session, rest := cutSession(message)
	if session == "" { // an answer to a call of ours, or an event that is nobody's
		var e envelope
		if json.Unmarshal(message, &e) != nil {
			return
		}
		if session = e.SessionID; session == "" {
			p.answer(e)
			return
		}
		rest = nil // it is written in an order that cutSession does not know
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.owners[session]
	if c == nil {
		return // of a client that is gone
	}
	p.follow(c, message)
	if session == c.session {
		if rest == nil {
			rest = withoutSession(message)
		}
		message = rest
	}
	c.put(message)
}

func (p *pipe) answer(e envelope) {
	p.mu.Lock()
	answer := p.answers[e.ID]
	delete(p.answers, e.ID)
	p.mu.Unlock()
	switch {
	case answer == nil:
	case e.Error != nil:
		answer(nil, errors.New(e.Error.Message))
	default:
		answer(e.Result, nil)
	}
}

// follow notes the sessions that begin and end in a session of c's. The caller holds mu.
func (p *pipe) follow(c *client, message []byte) {
	head := message[:min(len(message), 80)]
	if !bytes.Contains(head, []byte(`"Target.attachedToTarget"`)) &&
		!bytes.Contains(head, []byte(`"Target.detachedFromTarget"`)) {
		return
	}
	var e envelope
	var of struct{ SessionID string }
	if json.Unmarshal(message, &e) != nil || json.Unmarshal(e.Params, &of) != nil {
		return
	}
	switch e.Method {
	case "Target.attachedToTarget":
		p.owners[of.SessionID] = c
	case "Target.detachedFromTarget":
		delete(p.owners, of.SessionID)
	}
}

// adopt makes a new session that of the client.
func (p *pipe) adopt(c *client, result json.RawMessage) {
	var of struct{ SessionID string }
	if json.Unmarshal(result, &of) != nil || of.SessionID == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.session = of.SessionID
	p.owners[of.SessionID] = c
}

// abandon ends the sessions of a client that is gone, with all that it has made in Chromium.
func (p *pipe) abandon(c *client) {
	p.mu.Lock()
	for session, owner := range p.owners {
		if owner == c {
			delete(p.owners, session)
		}
	}
	closed := p.closed
	p.mu.Unlock()
	if !closed {
		params := map[string]string{"sessionId": c.session}
		message, _ := json.Marshal(map[string]any{"id": 0, "method": "Target.detachFromTarget", "params": params})
		_ = p.send(message) // where it fails Chromium is gone, with all of it
	}
}

// pass hands a message of a client's to Chromium, in the client's session.
func (p *pipe) pass(c *client, message []byte) error {
	var e envelope
	message = bytes.TrimSpace(message)
	if err := json.Unmarshal(message, &e); err != nil || len(message) < len(`{"id":1}`) {
		return errors.New("a message is not JSON")
	}
	if e.SessionID == "" {
		session, _ := json.Marshal(c.session)
		message = append(message[:len(message)-1:len(message)-1], `,"sessionId":`...)
		message = append(append(message, session...), '}')
		return p.send(message)
	}
	p.mu.Lock()
	owner := p.owners[e.SessionID]
	p.mu.Unlock()
	if owner == c {
		return p.send(message)
	}
	refusal, _ := json.Marshal(map[string]any{"id": e.ID, "sessionId": e.SessionID, "error": map[string]any{
		"code": -32001, "message": "Session with given id not found.",
	}})
	c.put(refusal)
	return nil
}

// tail is how Chromium ends a message of a session, before and after its number.
const tailBefore, tailAfter, sessionLength = `,"sessionId":"`, `"}`, 32

// cutSession returns the session of a message and the message without it, where the session stands at the end. That
// spares parsing a screenshot. A text inside the message cannot look like it: its quotes are escaped.
func cutSession(message []byte) (session string, rest []byte) {
	at := len(message) - len(tailAfter) - sessionLength
	if at < len(tailBefore) || !bytes.HasSuffix(message, []byte(tailAfter)) ||
		!bytes.HasSuffix(message[:at], []byte(tailBefore)) {
		return "", nil
	}
	id := message[at : at+sessionLength]
	if bytes.ContainsAny(id, `"\`) {
		return "", nil
	}
	rest = append(message[:at-len(tailBefore):at-len(tailBefore)], '}')
	return string(id), rest
}

// withoutSession is a message without its session.
func withoutSession(message []byte) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(message, &all) != nil {
		return message
	}
	delete(all, "sessionId")
	out, err := json.Marshal(all)
	if err != nil {
		return message
	}
	return out
}

// client is a connection of the relay.
type client struct {
	ws      *websocket.Conn
	gone    context.CancelFunc // ends it
	session string             // of the browser as a whole

	more  chan struct{} // has room for one: there are messages
	mu    sync.Mutex
	queue [][]byte
	size  int // bytes in queue
}

// put queues a message. A client that does not read is disconnected: the others share its pipe.
func (c *client) put(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(message); c.size > maxBacklog {
		c.gone()
		return
	}
	c.queue = append(c.queue, message)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// write sends what is queued until ctx ends, and then ends the connection.
func (c *client) write(ctx context.Context) {
	defer func() { _ = c.ws.CloseNow() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.more:
		}
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, message := range queue {
			within, done := context.WithTimeout(ctx, relayWithin)
			err := c.ws.Write(within, websocket.MessageText, message)
			done()
			if err != nil {
				c.gone()
				return
			}
			c.mu.Lock()
			c.size -= len(message)
			c.mu.Unlock()
		}
	}
}
