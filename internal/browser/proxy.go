package browser

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxWireBytes is what one page may receive over the network, everything on it included. No real one comes near.
const maxWireBytes = 32 << 20

// proxy is the only way out of Chromium: a forward proxy on the loopback that dials as it is told, so what the guard
// refuses is refused to redirects, sub-requests and WebSockets too, at the moment of connecting. Each page has
// credentials of its own, and may go on through another proxy. A client without them is refused: another process of
// this machine, or Chromium on its own.
type proxy struct {
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	listener  net.Listener
	at        string // where Chromium reaches it
	server    *http.Server
	transport *http.Transport
	work      sync.WaitGroup // the server and its requests

	mu     sync.Mutex
	closed bool
	visits map[string]*visit
}

// visit is the traffic of one page.
type visit struct {
	user, password string

	// dial and transport make its connections: those of the proxy, or through another proxy.
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	transport *http.Transport

	left atomic.Int64 // bytes that it may still receive
	last atomic.Int64 // when it received some, in nanoseconds since 1970; 0 is never
	over func()       // called when there are none

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{} // its tunnels, both ends
	failed error                 // the first dial that failed: the document's, for nothing is asked for before it
}

// newProxy opens a proxy at an address such as 127.0.0.1:0.
func newProxy(at string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*proxy, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("open the browser's proxy: %w", err)
	}
	p := &proxy{
		dial: dial, listener: l, at: l.Addr().String(), visits: map[string]*visit{},
		transport: &http.Transport{
			Proxy: nil, DialContext: dial, DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 10 * time.Second,
		},
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 256 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	p.work.Go(func() { _ = p.server.Serve(l) })
	return p, nil
}

func (p *proxy) url() string { return "http://" + p.at }

// close ends every connection and returns when all are gone.
func (p *proxy) close() {
	_ = p.server.Close()
	p.mu.Lock()
	p.closed = true
	open := make([]*visit, 0, len(p.visits))
	for _, v := range p.visits {
		open = append(open, v)
	}
	p.mu.Unlock()
	for _, v := range open {
		p.end(v)
	}
	p.work.Wait()
	p.transport.CloseIdleConnections()
}

// begin lets a page through until end. over is called, perhaps more than once, when it has received too much. dial
// makes its connections where it is not nil, and those are not shared with other pages.
func (p *proxy) begin(over func(), dial func(ctx context.Context, network, addr string) (net.Conn, error)) *visit {
	v := &visit{
		user: rand.Text(), password: rand.Text(), dial: p.dial, transport: p.transport, over: over,
		conns: map[net.Conn]struct{}{},
	}
	if dial != nil {
		v.dial, v.transport = dial, p.transport.Clone()
		v.transport.DialContext = dial
	}
	v.left.Store(maxWireBytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visits[v.user] = v
	return v
}

// end cuts the page's connections.
func (p *proxy) end(v *visit) {
	p.mu.Lock()
	delete(p.visits, v.user)
	p.mu.Unlock()
	if v.transport != p.transport {
		v.transport.CloseIdleConnections()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for c := range v.conns {
		_ = c.Close()
	}
}

// failure is why the page's document could not be asked for, nil where the network was not the reason.
func (v *visit) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

func (v *visit) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = err
	}
}

// quiet is how long ago the page received anything.
func (v *visit) quiet() time.Duration { return time.Since(time.Unix(0, v.last.Load())) }

// credentials answer a Fetch.authRequired: the proxy's question with its page's, a site's own with none.
func (v *visit) credentials(asked map[string]any) map[string]any {
	if text(asked, "authChallenge", "source") != "Proxy" {
		return map[string]any{"response": "CancelAuth"}
	}
	return map[string]any{"response": "ProvideCredentials", "username": v.user, "password": v.password}
}

// hold ties a connection to the page; it is closed at once where the page has ended.
func (v *visit) hold(c net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		_ = c.Close()
		return
	}
	v.conns[c] = struct{}{}
}

func (v *visit) drop(c net.Conn) {
	_ = c.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.conns, c)
}

// metered counts the bytes that a page receives.
type metered struct {
	io.ReadCloser
	v *visit
}

var errTooMuch = errors.New("page receives too much data")

func (m metered) Read(b []byte) (int, error) {
	n, err := m.ReadCloser.Read(b)
	m.v.last.Store(time.Now().UnixNano())
	if m.v.left.Add(-int64(n)) < 0 {
		m.v.over()
		return 0, errTooMuch
	}
	return n, err
}

// visitOf is the page that a request comes from, nil where it does not say.
func (p *proxy) visitOf(r *http.Request) *visit {
	encoded, _ := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	decoded, _ := base64.StdEncoding.DecodeString(encoded)
	user, password, _ := strings.Cut(string(decoded), ":")
	p.mu.Lock()
	v := p.visits[user]
	p.mu.Unlock()
	if v == nil || subtle.ConstantTimeCompare([]byte(password), []byte(v.password)) != 1 {
		return nil
	}
	return v
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.work.Add(1)
	p.mu.Unlock()
	defer p.work.Done()
	v := p.visitOf(r)
	switch {
	case v == nil:
		w.Header().Set("Proxy-Authenticate", `Basic realm="conveyor"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.tunnel(w, r, v)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.forward(w, r, v)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// tunnel is for https and WebSockets: bytes to and fro.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, v *visit) {
	far, err := v.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		v.fail(err)
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	v.hold(far)
	defer v.drop(far)
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	v.hold(near)
	defer v.drop(near)
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, buffered) // bytes that the server has read already come first
		closeWrite(far)
	})
	both.Go(func() {
		if _, err := io.Copy(near, metered{far, v}); err != nil {
			_ = near.Close()
			_ = far.Close()
		}
		closeWrite(near)
	})
	both.Wait()
}

// closeWrite says that nothing more comes, where a connection has two halves.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// forward is for plain http.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, v *visit) {
	(&httputil.ReverseProxy{
		Transport:     v.transport,
		FlushInterval: -1,
		ErrorLog:      p.server.ErrorLog,
		Rewrite:       asSent, // headers for us are removed
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode != http.StatusSwitchingProtocols {
				resp.Body = metered{resp.Body, v}
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			v.fail(err)
			panic(http.ErrAbortHandler) // Chromium must not take an answer of ours for the site's
		},
	}).ServeHTTP(w, r)
}

// asSent gives a request what httputil has taken from it: of a query what url.ParseQuery does not read, "?a;b", and
// what it says of proxies before us.
func asSent(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if said, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = said
		}
	}
}
