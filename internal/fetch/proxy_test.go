package fetch_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// relay is a proxy that takes user "me" with the password "secret", by CONNECT or SOCKS5. It counts connections.
type relay struct {
	net.Listener
	made atomic.Int32
}

func newRelay(t *testing.T, serve func(*relay, net.Conn)) *relay {
	t.Helper()

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(r, c)
		}
	}()
	return r
}

// join sends what either side says to the other.
func (r *relay) join(near net.Conn, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		_ = near.Close()
		return
	}
	r.made.Add(1)
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
	_ = near.Close()
}

func connects(r *relay, c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || req.Method != http.MethodConnect {
		_ = c.Close()
		return
	}
	if req.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("me:secret")) {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		_ = c.Close()
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	r.join(c, req.Host)
}

func socks(r *relay, c net.Conn) {
	in := bufio.NewReader(c)
	take := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return b
	}
	take(int(take(2)[1])) // methods
	_, _ = c.Write([]byte{5, 2})
	take(1)
	name := string(take(int(take(1)[0])))
	if password := string(take(int(take(1)[0]))); name != "me" || password != "secret" {
		_, _ = c.Write([]byte{1, 1})
		_ = c.Close()
		return
	}
	_, _ = c.Write([]byte{1, 0})
	head := take(4)
	host := ""
	if head[3] == 1 {
		host = net.IP(take(4)).String()
	} else {
		host = string(take(int(take(1)[0])))
	}
	port := take(2)
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	r.join(c, net.JoinHostPort(host, (&net.TCPAddr{Port: int(port[0])<<8 | int(port[1])}).String()[1:]))
}

func proxied(t *testing.T, address string) web.Proxy {
	t.Helper()
	p, err := web.ParseProxy(address)
	require.NoError(t, err)
	return p
}

// Requests with a proxy go through it, redirects included, and nowhere when it fails.
func TestThroughAProxy(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		assert.Empty(t, r.Header.Get("Proxy-Authorization"), "the site is told the proxy's credentials")
		if r.URL.Path == "/led" {
			http.Redirect(w, r, "/page", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "<html>here</html>")
	}))
	t.Cleanup(site.Close)
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	c := fetch.New(fetch.Options{AllowPrivate: []string{strings.TrimPrefix(site.URL, "http://")}})
	t.Cleanup(c.Close)
	for _, tt := range []struct {
		name, scheme, credentials string
		serve                     func(*relay, net.Conn)
		err                       string // of the proxy
	}{
		{"http", "http", "me:secret@", connects, ""},
		{"socks5", "socks5", "me:secret@", socks, ""},
		{"http, wrong password", "http", "me:wrong@", connects, "it refuses the credentials (407)"},
		{"http, no credentials", "http", "", connects, "it refuses the credentials (407)"},
		{"socks5, wrong password", "socks5", "me:wrong@", socks, "authentication failed"},
		{"it hangs up", "http", "", func(_ *relay, c net.Conn) { _ = c.Close() }, "no answer to CONNECT"},
		{"it is not there", "http", "", nil, "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, r := closed.Addr().String(), &relay{}
			if tt.serve != nil {
				r = newRelay(t, tt.serve)
				at = r.Addr().String()
			}
			asked.Store(0)
			p := proxied(t, tt.scheme+"://"+tt.credentials+at)
			page, err := c.Load(t.Context(), web.Request{URL: site.URL + "/led", Proxy: p})
			if tt.err == "" {
				require.NoError(t, err)
				require.Equal(t, "<html>here</html>", string(page.Body))
				require.Equal(t, site.URL+"/page", page.URL)
				require.NotZero(t, r.made.Load())
				require.EqualValues(t, 2, asked.Load())
				return
			}
			var failed *web.ProxyError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, p.String(), failed.Proxy)
			require.ErrorContains(t, err, tt.err)
			require.NotContains(t, err.Error(), "wrong", "the password")
			require.Nil(t, web.RefusalOf(err), "the site has not refused")
			require.Equal(t, fault.Transient, fault.ClassOf(err))
			require.Zero(t, asked.Load(), "never otherwise")
		})
	}
}

// What the address shows to be private is refused before the proxy is asked.
func TestThroughAProxyToPrivateHosts(t *testing.T) {
	t.Parallel()
	r := newRelay(t, connects)
	dial := fetch.Through(proxied(t, "http://me:secret@"+r.Addr().String()), []string{"demo.example:8090"}, nil)
	for _, addr := range []string{"127.0.0.1:80", "10.0.0.1:443", "[::1]:443", "169.254.169.254:80", "localhost:80", "printer:80",
		"db.internal:443", "example.org:5432", "db.internal.:443", "metadata.google.INTERNAL.:80", "db.internal..:80", "localhost.:80",
		"printer.local.:80", ".printer:80", "127.1:80", "0x7f.1:80", "0X7F.0.0.1:80", "0177.0.0.1:80", "127.0.0.1.:80", "127.0.0.1..:80",
		"2130706433:80", "0x7f000001.:80", "1.0x:80", "[::ffff:127.0.0.1]:80", ".:80", ":80"} {
		_, err := dial(t.Context(), "tcp", addr)
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%s: %v", addr, err)
	}
	require.Zero(t, r.made.Load())

	away := newRelay(t, func(_ *relay, c net.Conn) { _ = c.Close() })
	dial = fetch.Through(proxied(t, "http://"+away.Addr().String()), nil, nil)
	for _, addr := range []string{"a.example.:80", "1.example:443", "0x7f.example:80", "8.8.8.8.:80", "internal.example:80"} {
		_, err := dial(t.Context(), "tcp", addr)
		require.ErrorAs(t, err, new(*web.ProxyError), "it is asked for %s", addr)
	}
}

// robots.txt is read through the proxy of the request that it is about.
func TestRobotsThroughProxies(t *testing.T) {
	t.Parallel()
	var through []string
	r := fetch.NewRobotsBy(func(_ context.Context, r web.Request) (fetch.Exchange, error) {
		through = append(through, r.Proxy.String())
		if !r.Proxy.IsZero() {
			return fetch.Exchange{}, errors.New("no route")
		}
		return fetch.Exchange{Page: web.Page{Status: 404}}, nil
	}, fetch.RobotsOptions{})
	ok, _, err := r.Allowed(t.Context(), "https://site.example/a", web.Proxy{})
	require.NoError(t, err)
	require.True(t, ok)
	_, _, err = r.Allowed(t.Context(), "https://site.example/a", proxied(t, "socks5://10.0.0.1"))
	require.ErrorContains(t, err, "no route")
	_, _, err = r.Allowed(t.Context(), "https://site.example/b", web.Proxy{})
	require.NoError(t, err)
	require.Equal(t, []string{"", "socks5://10.0.0.1"}, through)
}
