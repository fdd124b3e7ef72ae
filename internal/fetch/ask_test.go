package fetch_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// squeeze compresses by a Content-Encoding.
func squeeze(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "deflate-raw":
		w, _ = flate.NewWriter(&b, 5)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// site serves h on a loopback port, with a client that may ask it and the number of connections it has taken.
func site(t testing.TB, h http.HandlerFunc, o fetch.Options) (*httptest.Server, *fetch.Client, *atomic.Int64) {
	t.Helper()
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	o.AllowPrivate, o.Now = []string{srv.Listener.Addr().String()}, at
	c := fetch.New(o)
	t.Cleanup(c.Close)
	return srv, c, &conns
}

func TestAskEncodings(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>Montréal 4½</p>", 3000))
	srv, c, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		coding := strings.TrimPrefix(r.URL.Path, "/")
		assert.Equal(t, "gzip, br, zstd", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", strings.TrimSuffix(coding, "-raw"))
		switch coding {
		case "empty":
			w.Header().Set("Content-Encoding", "br")
		case "gzip, identity", "identity,x-gzip":
			_, _ = w.Write(squeeze(t, "gzip", page))
		case "gzip,gzip":
			_, _ = w.Write(squeeze(t, "gzip", squeeze(t, "gzip", page)))
		case "gzip, br":
			_, _ = w.Write(squeeze(t, "br", squeeze(t, "gzip", page)))
		case "compress", "gzip,gzip,gzip", "identity", "utf-8", "none", "identity, identity", ",":
			_, _ = w.Write(page)
		default:
			_, _ = w.Write(squeeze(t, coding, page))
		}
	}, fetch.Options{})
	for _, coding := range []string{
		"gzip", "x-gzip", "br", "zstd", "deflate", "deflate-raw", "identity", "empty",
		"utf-8", "none", "identity, identity", ",", "gzip, identity", "identity,x-gzip", "gzip,gzip", "gzip, br",
	} {
		for range 3 { // the decompressors are used again
			x, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/" + url.PathEscape(coding)})
			want := page
			if coding == "empty" {
				want = nil
			}
			if err != nil || !bytes.Equal(x.Body, want) || !bytes.Equal(x.Raw, want) || x.Length != int64(len(want)) || x.Cut {
				t.Errorf("%s: %d bytes, length %d, cut %t, %v; want %d", coding, len(x.Body), x.Length, x.Cut, err, len(want))
			}
		}
	}
	for _, coding := range []string{"compress", "gzip,gzip,gzip"} {
		x, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/" + url.PathEscape(coding)})
		if class, _ := fault.Of(err); class != fault.Invalid || x.Status != 200 {
			t.Errorf("%s: status %d, %v", coding, x.Status, err)
		}
	}
}

// What follows the data of the other codings does not count for browsers either, and data that break off do.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>Montréal 4½</p>", 3000))
	tails := map[string][]byte{"line": []byte("\r\n"), "zeros": make([]byte, 500), "much": make([]byte, 100<<10)}
	srv, c, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		coding, tail, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", coding)
		packed := squeeze(t, coding, page)
		if tail == "half" {
			packed = packed[:len(packed)/2]
		}
		_, _ = w.Write(append(packed, tails[tail]...))
	}, fetch.Options{})
	for _, coding := range []string{"br", "deflate", "zstd"} {
		for _, tail := range []string{"line", "zeros", "half", "much", "line"} { // the decompressors are used again
			x, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/" + coding + "/" + tail})
			if broken := tail == "half"; broken != (err != nil) || !broken && !bytes.Equal(x.Body, page) {
				t.Errorf("%s, %s: %d bytes of %d, %v", coding, tail, len(x.Body), len(page), err)
			}
		}
	}
}

// A body in zstd may have several frames, empty ones among them and those that are to be skipped.
func TestAskZstdFrames(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>Montréal 4½</p>", 30000)) // of several blocks
	long := bytes.Repeat([]byte("x"), 1<<20)                    // of bytes that are said once
	frame := squeeze(t, "zstd", page)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	require.NoError(t, err)
	skipped := []byte("\x5a\x2a\x4d\x18\x05\x00\x00\x00<p>no")
	body := slices.Concat(skipped, frame, z.EncodeAll(nil, nil), skipped, z.EncodeAll(long, nil), skipped, frame[:3])
	srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "zstd")
		_, _ = w.Write(body)
	}, fetch.Options{})
	x, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
	if want := slices.Concat(page, long); err != nil || !bytes.Equal(x.Body, want) {
		t.Errorf("%d bytes of %d, %v", len(x.Body), len(want), err)
	}
}

// Browsers show what a gzip body holds, whatever follows its data.
func TestAskGzipEnds(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>Montréal 4½</p>", 3000))
	packed := squeeze(t, "gzip", page)
	data := packed[:len(packed)-8]
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	head := []byte("\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\x03\x03\x00abcname\x00a comment\x00\x00\x00")
	bodies := map[string][]byte{
		"a-line-end": join(packed, []byte("\n")), "zeros": join(packed, make([]byte, 500)), "no-sum": data,
		"half-a-sum": packed[:len(packed)-5], "a-wrong-sum": join(data, make([]byte, 8)), "twice": join(packed, packed),
		"a-broken-header": join(packed, []byte("\x1f\x8b\x08\xff\x00\x00\x00\x00\x00\x03")),
		"a-long-header":   join(head, packed[10:]),
	}
	broken := map[string][]byte{
		"half": packed[:len(packed)/2], "no-data": packed[:10], "half-a-header": head[:14], "no-gzip": page,
		"half-of-more": join(packed, packed[:len(packed)/2]),
	}
	srv, c, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		name := strings.TrimPrefix(r.URL.Path, "/")
		_, _ = w.Write(join(bodies[name], broken[name]))
	}, fetch.Options{})
	for name := range bodies {
		want := page
		if name == "twice" {
			want = join(page, page)
		}
		for range 2 { // the decompressors are used again
			x, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/" + name})
			if err != nil || !bytes.Equal(x.Raw, want) || x.Cut {
				t.Errorf("%s: %d bytes, cut %t, %v; want %d", name, len(x.Raw), x.Cut, err, len(want))
			}
		}
	}
	for name := range broken {
		if _, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/" + name}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAskCharsets(t *testing.T) {
	t.Parallel()
	const xml = `<?xml version="1.0" encoding="ISO-8859-1"?>`
	late := "<html><head>" + strings.Repeat("<!-- generated -->", 200) + `<meta charset="shift_jis">`
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"header", "text/html; charset=ISO-8859-1", "Montr\xe9al", "Montréal"},
		{"quoted header", `text/html; charset="windows-1252"`, "4\xbd \x80", "4½ €"},
		{"utf-8", "text/html; charset=UTF-8", "Montréal", "Montréal"},
		{"broken utf-8", "text/html; charset=UTF-8", "Montr\xe9al", "Montr\ufffdal"},
		{"bom", "text/html; charset=ISO-8859-1", "\xef\xbb\xbfMontréal", "Montréal"},
		{"utf-16", "text/html", "\xff\xfea\x00\xe9\x00", "aé"},
		{"meta", "text/html", "<meta charset=windows-1251>\xcf\xf0\xe8", "<meta charset=windows-1251>При"},
		{"meta that lies", "text/html", "<meta charset=iso-8859-1>Montréal", "<meta charset=iso-8859-1>Montréal"},
		{"late meta", "text/html", late + "\x93\xfa\x96\x7b", late + "日本"},
		{"seven bits", "text/html", "<meta charset=iso-2022-jp>\x1b$BF|K\\\x1b(B", "<meta charset=iso-2022-jp>日本"},
		{"xml declaration", "application/xhtml+xml", xml + "<p>Montr\xe9al", xml + "<p>Montréal"},
		{"xml declaration of a page", "text/html", xml + "<p>Montr\xe9al", xml + "<p>Montréal"},
		{"xml declaration, utf-8", "text/xml", `<?xml version="1.0"?>Montréal`, `<?xml version="1.0"?>Montréal`},
		{"empty parameter", "text/html;;charset=windows-1251", "\xcf\xf0\xe8", "При"},
		{"two types", "text/html, text/html; charset=windows-1251", "\xcf\xf0\xe8", "При"},
		{"two charsets", "text/html; charset=windows-1251; charset=utf-8", "\xcf\xf0\xe8", "При"},
		{"single quotes", "text/html; charset='windows-1251'", "\xcf\xf0\xe8", "При"},
		{"unknown charset", "text/html; charset=x-none", "Montr\xe9al", "Montréal"},
		{"a charset of scripts", "text/html", "<meta charset=x-user-defined>Montr\xe9al", "<meta charset=x-user-defined>Montréal"},
		{"nothing", "", "Montr\xe9al", "Montréal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tt.contentType}
				_, _ = w.Write([]byte(tt.body))
			}, fetch.Options{})
			x, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
			if err != nil || string(x.Body) != tt.want || string(x.Raw) != tt.body {
				t.Errorf("Ask = %q, raw %q, %v; want %q", x.Body, x.Raw, err, tt.want)
			}
		})
	}
}

// A text that is larger than a page, as a sitemap may be, is not converted: the copy would have up to three times its
// size.
func TestAskLargeText(t *testing.T) {
	t.Parallel()
	srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml; charset=iso-8859-1")
		_, _ = w.Write(bytes.Repeat([]byte("\xe9"), fetch.MaxPageBytes+1))
	}, fetch.Options{})
	x, err := c.Ask(t.Context(), web.Request{URL: srv.URL, Most: 2 * fetch.MaxPageBytes})
	if err != nil || len(x.Raw) != fetch.MaxPageBytes+1 || len(x.Body) != len(x.Raw) || x.Charset != "" {
		t.Errorf("%d bytes, %d converted, %q, %v", len(x.Raw), len(x.Body), x.Charset, err)
	}
}

// What is taken of an answer depends on its status and its type, and the connection is used again.
func TestAskTakes(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	srv, c, conns := site(t, func(w http.ResponseWriter, r *http.Request) {
		var status, size int
		_, _ = fmt.Sscan(r.URL.Query().Get("is"), &status, &size)
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Retry-After", "7")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.Header.Get("Cookie") != "" || r.Header.Get("Accept-Language") == "" || r.UserAgent() != "robot" {
			t.Errorf("asked with %v", r.Header)
		}
		w.WriteHeader(status)
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
	}, fetch.Options{UserAgent: "robot"})
	for _, tt := range []struct {
		name   string
		query  string
		r      web.Request
		body   int
		length int64
		cut    bool
		to     string
	}{
		{"a page", "is=200+5000&type=text/html", web.Request{}, 5000, 5000, false, ""},
		{"no type", "is=200+5000&type=", web.Request{}, 5000, 5000, false, ""},
		{"a file", "is=200+5000&type=application/pdf", web.Request{}, 0, 5000, true, ""},
		{"a file that is wanted", "is=200+5000&type=application/pdf", web.Request{Files: true}, 5000, 5000, false, ""},
		{"the beginning", "is=200+5000&type=application/gzip", web.Request{Most: 4999}, 4999, 5000, true, ""},
		{"all of it", "is=200+5000&type=application/gzip", web.Request{Most: 5000}, 5000, 5000, false, ""},
		{"nothing", "is=204+0&type=text/html", web.Request{}, 0, 0, false, ""},
		{"unchanged", "is=304+0&type=text/html", web.Request{}, 0, 0, false, ""},
		{"an error page", "is=404+5000&type=text/html", web.Request{}, 5000, 5000, false, ""},
		{"a large error page", "is=500+70000&type=text/html", web.Request{}, 64 * kib, 70000, true, ""},
		{"an error of a file", "is=500+5000&type=image/png", web.Request{Files: true}, 0, 5000, true, ""},
		{"a redirect", "is=302+5000&type=text/html&to=../b%23part", web.Request{}, 0, 5000, false, "/b"},
		{"to another host", "is=308+0&type=text/html&to=HTTPS://Other.example:443/é", web.Request{}, 0, 0, false,
			"https://other.example/%C3%A9"},
		{"to bytes that are no UTF-8", "is=301+0&type=text/html&to=/caf%E9%3Fq=%E9", web.Request{}, 0, 0, false, "/caf%E9?q=%E9"},
		{"to UTF-8", "is=301+0&type=text/html&to=/caf%C3%A9", web.Request{}, 0, 0, false, "/caf%C3%A9"},
		{"to no address", "is=301+0&type=text/html&to=javascript:1", web.Request{}, 0, 0, false, "javascript:1"},
		{"to nothing", "is=301+9&type=text/html&to=", web.Request{}, 9, 9, false, ""},
		{"no redirect", "is=201+9&type=text/html&to=/b", web.Request{}, 9, 9, false, ""},
	} {
		tt.r.URL = srv.URL + "/a?" + tt.query
		if strings.HasPrefix(tt.to, "/") {
			tt.to = srv.URL + tt.to
		}
		x, err := c.Ask(t.Context(), tt.r)
		if err != nil || len(x.Body) != tt.body || len(x.Raw) != tt.body || x.Length != tt.length || x.Cut != tt.cut ||
			x.RedirectTo != tt.to || x.Asked != tt.r.URL || x.Header.Get("ETag") == "" || x.RetryAfter != 7*time.Second ||
			x.Proto != "HTTP/1.1" || x.FirstByte <= 0 || x.Took < x.FirstByte {
			t.Errorf("%s: %d bytes of %d, cut %t, to %q, %s, %v", tt.name, len(x.Body), x.Length, x.Cut, x.RedirectTo, x.Proto, err)
		}
	}
	if n := conns.Load(); n > 2 { // one is closed with what is left of the large error page
		t.Errorf("%d connections", n)
	}
}

func TestAskByHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/headers" {
			for i := range 5000 {
				w.Header().Set(fmt.Sprintf("X-Header-Number-%d", i), "value")
			}
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(r.Proto))
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the certificate that is refused
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	listed := []string{srv.Listener.Addr().String()}
	c := fetch.New(fetch.Options{AllowPrivate: listed, RootCAs: roots})
	t.Cleanup(c.Close)
	x, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
	if err != nil || x.Proto != "HTTP/2.0" || string(x.Body) != "HTTP/2.0" {
		t.Errorf("Ask = %s %q, %v", x.Proto, x.Body, err)
	}
	if _, err := c.Ask(t.Context(), web.Request{URL: srv.URL + "/headers"}); err == nil {
		t.Error("5,000 headers were taken")
	}
	if _, err := c.Ask(t.Context(), web.Request{URL: srv.URL}); err != nil {
		t.Errorf("after too many headers: %v", err)
	}
	other := fetch.New(fetch.Options{AllowPrivate: listed})
	t.Cleanup(other.Close)
	if _, err := other.Ask(t.Context(), web.Request{URL: srv.URL}); err == nil {
		t.Error("an unknown certificate was accepted")
	}
}

// rude answers each connection by a script: it writes to it as it likes. wrote counts the bytes.
func rude(t testing.TB, script func(conn net.Conn, path string)) (address string, wrote *atomic.Int64) {
	t.Helper()
	wrote = new(atomic.Int64)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				defer conn.Close()
				b := make([]byte, 4096)
				n, _ := conn.Read(b)
				_, path, _ := strings.Cut(string(b[:n]), " ")
				path, _, _ = strings.Cut(path, " ")
				script(counted{conn, wrote}, path)
			}()
		}
	}()
	return ln.Addr().String(), wrote
}

type counted struct {
	net.Conn
	wrote *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote.Add(int64(n))
	return n, err
}

// Whatever a host does costs its own request at most its time, little memory, and nothing that comes after it.
func TestAskOfARudeHost(t *testing.T) {
	zeros := make([]byte, 12<<20)
	bombs := map[string][]byte{}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		bombs[coding] = squeeze(t, coding, zeros)
	}
	member := squeeze(t, "gzip", nil)
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	forever := func(conn net.Conn, b []byte) {
		b = bytes.Repeat(b, 64<<10/len(b)+1)
		for {
			if _, err := conn.Write(b); err != nil {
				return
			}
		}
	}
	drip := func(conn net.Conn) {
		for i := 0; ; i++ {
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	address, wrote := rude(t, func(conn net.Conn, path string) {
		say := func(s string) { _, _ = conn.Write([]byte(s)) }
		switch path {
		case "/silent":
			_, _ = conn.Read(make([]byte, 1))
		case "/drip-header":
			say("HTTP/1.1 200 OK\r\nX-A: ")
			drip(conn)
		case "/drip":
			say(ok + "Content-Length: 1000\r\n\r\n")
			drip(conn)
		case "/drip-404":
			say("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
			drip(conn)
		case "/drip-chunks":
			say(ok + "Transfer-Encoding: chunked\r\n\r\n")
			for {
				if _, err := conn.Write([]byte("1\r\nx\r\n")); err != nil {
					return
				}
				<-time.After(20 * time.Millisecond)
			}
		case "/10GB":
			say(ok + "Content-Length: 10737418240\r\n\r\n")
			forever(conn, zeros[:64<<10])
		case "/endless":
			say(ok + "\r\n")
			forever(conn, zeros[:64<<10])
		case "/endless-file":
			say("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")
			forever(conn, zeros[:64<<10])
		case "/endless-404":
			say("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")
			forever(conn, zeros[:64<<10])
		case "/endless-redirect":
			say("HTTP/1.1 301 Moved\r\nLocation: /next\r\n\r\n")
			forever(conn, zeros[:64<<10])
		case "/endless-header":
			say("HTTP/1.1 200 OK\r\n")
			forever(conn, []byte("X-A: b\r\n"))
		case "/headers":
			say("HTTP/1.1 200 OK\r\n")
			for i := range 5000 {
				say(fmt.Sprintf("X-Header-Number-%d: value\r\n", i))
			}
			say("\r\n")
		case "/continue":
			forever(conn, []byte("HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n"))
		case "/empty-members":
			say(ok + "Content-Encoding: gzip\r\n\r\n")
			forever(conn, member)
		case "/closed":
		case "/ssh":
			say("SSH-2.0-OpenSSH_9.2\r\n")
		case "/cut":
			say(ok + "Content-Length: 1000\r\n\r\nhalf a page")
		case "/links":
			say(ok + "Connection: close\r\n\r\n")
			for i := range 100_000 {
				say(fmt.Sprintf(`<a href="/page/%d">`, i))
			}
		default:
			coding := strings.TrimPrefix(path, "/bomb/")
			say(ok + "Content-Encoding: " + coding + "\r\nContent-Length: " + fmt.Sprint(len(bombs[coding])) + "\r\n\r\n")
			_, _ = conn.Write(bombs[coding])
		}
	})
	c := fetch.New(fetch.Options{AllowPrivate: []string{address}})
	t.Cleanup(c.Close)
	const timeout = 400 * time.Millisecond
	for _, tt := range []struct {
		path   string
		class  fault.Class
		text   string
		status int
		slow   bool // it takes all of its time
	}{
		{"/silent", fault.Transient, "timed out after", 0, true},
		{"/drip-header", fault.Transient, "timed out after", 0, true},
		{"/drip", fault.Transient, "timed out after", 200, true},
		{"/drip-chunks", fault.Transient, "timed out after", 200, true},
		{"/drip-404", "", "", 404, true},
		{"/10GB", fault.Invalid, "body is 10240.0 MiB, the most is 10 MiB", 200, false},
		{"/endless", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/endless-file", "", "", 200, false},
		{"/endless-404", "", "", 404, false},
		{"/endless-redirect", "", "", 301, false},
		{"/endless-header", fault.Invalid, "the header is larger than 64 KiB", 0, false},
		{"/headers", fault.Invalid, "the header is larger than 64 KiB", 0, false},
		{"/continue", fault.Invalid, "the header is larger than 64 KiB", 0, false},
		{"/empty-members", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/bomb/gzip", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/bomb/br", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/bomb/zstd", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/bomb/deflate", fault.Invalid, "body is larger, the most is 10 MiB", 200, false},
		{"/closed", fault.Transient, "EOF", 0, false},
		{"/ssh", fault.Transient, "malformed HTTP", 0, false},
		{"/cut", fault.Transient, "read body after 11 bytes", 200, false},
		{"/links", "", "", 200, false},
		{"/" + strings.Repeat("x", 1<<20), fault.Invalid, "at most 4096 bytes", 0, false},
	} {
		t.Run(tt.path[:min(len(tt.path), 20)], func(t *testing.T) {
			limit := timeout
			if !tt.slow {
				limit = servicetest.Patience()
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began, sent := time.Now(), wrote.Load()
			x, err := c.Ask(ctx, web.Request{URL: "http://" + address + tt.path})
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if class, _ := fault.Of(err); class != tt.class || !strings.Contains(fmt.Sprint(err), tt.text) || x.Status != tt.status {
				t.Errorf("Ask = status %d, %v (%s); want %d, %s, %q", x.Status, err, class, tt.status, tt.class, tt.text)
			}
			if took > servicetest.Patience() { // or for ever
				t.Errorf("it took %s", took)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 96 {
				t.Errorf("it used %d MiB", used)
			}
			if n := (wrote.Load() - sent) >> 20; n > 24 {
				t.Errorf("the host could send %d MiB", n)
			}
		})
	}
}

// The caller's own end is not a fault of the site.
func TestAskGivenUp(t *testing.T) {
	t.Parallel()
	srv, c, _ := site(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := c.Ask(ctx, web.Request{URL: srv.URL}); !strings.Contains(fmt.Sprint(err), "context canceled") {
		t.Errorf("Ask = %v; want the context's error", err)
	}
	absent := fetch.New(fetch.Options{AllowPrivate: []string{"127.0.0.1:1"}})
	_, err := absent.Ask(t.Context(), web.Request{URL: "http://127.0.0.1:1/"})
	if web.RefusalOf(err) == nil {
		t.Errorf("Ask = %v; want a refusal", err)
	}
	_, err = absent.Ask(t.Context(), web.Request{URL: "http://10.0.0.1/?token=s3cr3t"})
	if class, _ := fault.Of(err); class != fault.Invalid || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("Ask = %v; want the guard's refusal", err)
	}
}

func BenchmarkAsk(b *testing.B) {
	page := []byte("<html>" + strings.Repeat(`<p>Some text with <a href="/page">a link</a></p>`, 400))
	srv, c, _ := site(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", fmt.Sprint(len(page)))
		_, _ = w.Write(page)
	}, fetch.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Ask(b.Context(), web.Request{URL: srv.URL}); err != nil {
			b.Fatal(err)
		}
	}
}
