package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/proxy"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// connecting is how long a proxy may take to make a connection.
const connecting = 15 * time.Second

// Through makes connections through a proxy: by CONNECT, whatever the port, or by SOCKS5. Its errors are a
// *web.ProxyError, and fault.Invalid for what Dial would refuse as far as the address shows it: the proxy looks up the
// names, so a name of its own network is for the proxy to refuse. The proxy itself may be anywhere: an operator gives
// its address. allowPrivate is as in Options. It never connects otherwise. nil roots are the system's, for an https
// proxy.
func Through(p web.Proxy, allowPrivate []string, roots *x509.CertPool) Dialer {
	listed := listedHosts(allowPrivate)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		addr = strings.ToLower(addr)
		if err := outward(addr, listed); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, connecting)
		defer cancel()
		var conn net.Conn
		var err error
		if p.Scheme() == "socks5" {
			conn, err = socks(ctx, p, network, addr)
		} else {
			conn, err = tunnel(ctx, p, addr, roots)
		}
		if err != nil {
			return nil, &web.ProxyError{Proxy: p.String(), Reason: err.Error()}
		}
		return conn, nil
	}
}

// outward refuses a target that is not on the public internet, by what its address says.
func outward(addr string, listed map[string]bool) error {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return fault.Newf(fault.Invalid, "address has no valid host")
	case listed[addr] || listed[host]:
		return nil
	case port != "80" && port != "443":
		return Fault(ssrf.ErrProhibitedPort)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	ip, err := netip.ParseAddr(host)
	if err != nil {
		if !publicName(host) {
			return Fault(ssrf.ErrProhibitedIP)
		}
		return nil
	}
	network := "tcp4"
	if ip.Is6() {
		network = "tcp6"
	}
	if err := ssrf.New().Safe(network, net.JoinHostPort(host, port), nil); err != nil {
		return Fault(err)
	}
	return nil
}

// publicName says whether a host, in lower case and without the last dot, can be a name of the public internet. None
// ends in a label that begins with a digit; resolvers take those for addresses: 127.1, 0x7f.1, 0177.0.0.1.
func publicName(host string) bool {
	i := strings.LastIndexByte(host, '.')
	switch last := host[i+1:]; last {
	case "", "local", "localhost", "internal":
		return false
	default:
		return i > 0 && (last[0] < '0' || last[0] > '9')
	}
}

// socks connects by SOCKS5.
func socks(ctx context.Context, p web.Proxy, network, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if name, password, ok := p.User(); ok {
		auth = &proxy.Auth{User: name, Password: password}
	}
	d, err := proxy.SOCKS5("tcp", p.HostPort(), auth, new(net.Dialer))
	if err != nil {
		return nil, err
	}
	by, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("no dialer with a context")
	}
	return by.DialContext(ctx, network, addr)
}

// tunnel connects by CONNECT.
func tunnel(ctx context.Context, p web.Proxy, addr string, roots *x509.CertPool) (_ net.Conn, err error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", p.HostPort())
	if err != nil {
		return nil, err
	}
	cut := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !cut() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = raw.Close()
		}
	}()
	conn := raw
	if p.Scheme() == "https" {
		host, _, _ := net.SplitHostPort(p.HostPort())
		secure := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secure
	}
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if name, password, ok := p.User(); ok {
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
	}
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxHeader}
	read := bufio.NewReader(limited)
	resp, err := http.ReadResponse(read, r) //nolint:bodyclose // of CONNECT there is none: what follows is the site's
	switch {
	case err != nil:
		return nil, fmt.Errorf("no answer to CONNECT: %w", err)
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, errors.New("it refuses the credentials (407)")
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, fmt.Errorf("it does not connect: status %d", resp.StatusCode)
	}
	if n := read.Buffered(); n > 0 { // of the site, which speaks first
		early, _ := read.Peek(n)
		return &begun{Conn: conn, early: early}, nil
	}
	return conn, nil
}

// begun is a connection of which something was read already.
type begun struct {
	net.Conn
	early []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.early) > 0 {
		n := copy(p, b.early)
		b.early = b.early[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// maxProxies is for how many proxies connections, and what robots.txt says, are kept.
const maxProxies = 100

// byProxy keeps one thing for each proxy. It forgets all of them when there are too many.
type byProxy[T any] struct {
	make func(web.Proxy) T
	drop func(T)

	mu   sync.Mutex
	kept map[web.Proxy]T
}

func (b *byProxy[T]) of(p web.Proxy) T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v, ok := b.kept[p]; ok {
		return v
	}
	if len(b.kept) >= maxProxies || b.kept == nil {
		b.clear()
		b.kept = map[web.Proxy]T{}
	}
	v := b.make(p)
	b.kept[p] = v
	return v
}

// clear drops them all; b.mu is held, or nobody else has b.
func (b *byProxy[T]) clear() {
	if b.drop != nil {
		for _, v := range b.kept {
			b.drop(v)
		}
	}
}

// RobotsBy knows the robots.txt of origins as they are read through each proxy, and directly.
type RobotsBy struct{ by byProxy[*Robots] }

// NewRobotsBy returns RobotsBy that ask by ask, as NewRobots does.
func NewRobotsBy(ask func(context.Context, web.Request) (Exchange, error), o RobotsOptions) *RobotsBy {
	return &RobotsBy{by: byProxy[*Robots]{make: func(p web.Proxy) *Robots {
		return NewRobots(func(ctx context.Context, r web.Request) (Exchange, error) {
			r.Proxy = p
			return ask(ctx, r)
		}, o)
	}}}
}

// Allowed is Robots.Allowed, through a proxy; the zero one is none.
func (r *RobotsBy) Allowed(ctx context.Context, address string, through web.Proxy) (bool, time.Duration, error) {
	return r.by.of(through).Allowed(ctx, address)
}
