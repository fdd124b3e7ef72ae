package fetch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// rentals is a site on a loopback port that answers by path, and a client that may ask it.
func rentals(t testing.TB, o fetch.Options) (*httptest.Server, *fetch.Client) {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(path, contentType string, status int, body []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})
	}
	squeezed := func(path string, size int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte("4½ à louer\n"), size/12+1)[:size/12*12])
			_ = z.Close()
		})
	}
	answer("/utf8", "text/html; charset=utf-8", 200, []byte("Montréal 4½"))
	answer("/latin1", "text/html; charset=iso-8859-1", 200, []byte("Montr\xe9al 4\xbd"))
	answer("/meta", "text/html", 200, []byte("<meta charset=windows-1252>Montr\xe9al 4\xbd \x80"))
	answer("/unnamed", "text/html", 200, []byte(strings.Repeat("<p>", 500)+"Montréal 4½")) // beyond where sniffing looks
	answer("/bom", "text/html", 200, []byte("\xef\xbb\xbfMontréal"))
	answer("/broken", "text/html; charset=utf-8", 200, []byte("Montr\xe9al"))
	answer("/json", "application/json", 200, []byte(`{"city":"Montréal"}`))
	answer("/404", "text/html", 404, []byte("gone"))
	answer("/empty", "text/html", 200, nil)
	answer("/large", "text/plain", 200, make([]byte, fetch.MaxPageBytes+1))
	squeezed("/gzip", 1200)
	squeezed("/bomb", 64<<20)
	mux.HandleFunc("/429", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		if _, err := r.Cookie("seen"); err != nil && n < 5 || r.Referer() != "" {
			t.Errorf("hop %d was asked with %v", n, r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", Path: "/"})
		http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), http.StatusFound)
	})
	mux.HandleFunc("/hop/0", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("arrived")) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		rest, _ := io.ReadAll(r.Body) // what is no form
		fmt.Fprintf(w, "%s %s %s %s %s%s", r.Method, r.UserAgent(), r.Header.Get("X-Requested-With"),
			r.Header.Get("Content-Type"), r.PostForm.Encode(), rest)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half a page"))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	o.AllowPrivate = append(o.AllowPrivate, srv.Listener.Addr().String())
	o.Now = at
	c := fetch.New(o)
	t.Cleanup(c.Close)
	return srv, c
}

func TestLoad(t *testing.T) {
	t.Parallel()
	srv, c := rentals(t, fetch.Options{UserAgent: "test/1"})
	for _, tt := range []struct {
		path, url string // url where it is another
		status    int
		after     time.Duration
		body      string
	}{
		{"/utf8", "", 200, 0, "Montréal 4½"},
		{"/latin1", "", 200, 0, "Montréal 4½"},
		{"/meta", "", 200, 0, "<meta charset=windows-1252>Montréal 4½ €"},
		{"/unnamed", "", 200, 0, strings.Repeat("<p>", 500) + "Montréal 4½"},
		{"/bom", "", 200, 0, "Montréal"},
		{"/broken", "", 200, 0, "Montr\ufffdal"},
		{"/json", "", 200, 0, `{"city":"Montréal"}`},
		{"/404", "", 404, 0, "gone"},
		{"/empty", "", 200, 0, ""},
		{"/gzip", "", 200, 0, strings.Repeat("4½ à louer\n", 100)[:1200]},
		{"/429?after=7", "", 429, 7 * time.Second, ""},
		{"/429?after=Fri,+20+Nov+2026+12:01:30+GMT", "", 429, 90 * time.Second, ""},
		{"/429?after=86400", "", 429, web.MaxRetryAfter, ""},
		{"/429?after=soon", "", 429, 0, ""},
		{"/hop/5", "/hop/0", 200, 0, "arrived"},
		{"/echo#part", "/echo", 200, 0, "GET test/1   "},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			p, err := c.Load(t.Context(), web.Request{URL: srv.URL + tt.path})
			if tt.url == "" {
				tt.url = tt.path
			}
			p.ContentType = ""
			want := web.Page{
				Asked: srv.URL + tt.path, URL: srv.URL + tt.url, Status: tt.status, RetryAfter: tt.after, Body: []byte(tt.body),
			}
			if len(p.Body) == 0 {
				p.Body, want.Body = nil, nil
			}
			if err != nil || !reflect.DeepEqual(p, want) {
				t.Errorf("Load = %+v, %v; want %+v", p, err, want)
			}
		})
	}
}

func TestLoadByForm(t *testing.T) {
	t.Parallel()
	srv, c := rentals(t, fetch.Options{})
	p, err := c.Load(t.Context(), web.Request{
		URL: srv.URL + "/echo", Form: map[string][]string{"ville": {"Montréal"}, "page": {"2"}},
		Header: map[string]string{"X-Requested-With": "XMLHttpRequest", "User-Agent": "visitor/1"},
	})
	const want = "POST visitor/1 XMLHttpRequest application/x-www-form-urlencoded page=2&ville=Montr%C3%A9al"
	if err != nil || string(p.Body) != want {
		t.Errorf("Load = %q, %v; want %q", p.Body, err, want)
	}
}

func TestLoadByJSON(t *testing.T) {
	t.Parallel()
	srv, c := rentals(t, fetch.Options{})
	p, err := c.Load(t.Context(), web.Request{
		URL: srv.URL + "/echo", JSON: `{"page":2}`, Header: map[string]string{"User-Agent": "visitor/1"},
	})
	const want = `POST visitor/1  application/json {"page":2}`
	if err != nil || string(p.Body) != want {
		t.Errorf("Load = %q, %v; want %q", p.Body, err, want)
	}
}

func TestLoadThatCannotBe(t *testing.T) {
	t.Parallel()
	srv, c := rentals(t, fetch.Options{Resolver: newNames(t).resolver})
	srvQuick, quick := rentals(t, fetch.Options{Timeout: 100 * time.Millisecond})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	_ = l.Close()
	absent := fetch.New(fetch.Options{AllowPrivate: []string{closed}})
	t.Cleanup(absent.Close)
	for _, tt := range []struct {
		name, url string
		client    *fetch.Client
		class     fault.Class
		text      string
	}{
		{"private", "http://127.0.0.1/", c, fault.Invalid, "private or reserved network"},
		{"redirected to private", srv.URL + "/to?url=http://inside.test/", c, fault.Invalid, "private or reserved network"},
		{"redirected to a file", srv.URL + "/to?url=file:///etc/passwd", c, fault.Invalid, `scheme "file"`},
		{"six redirects", srv.URL + "/hop/6", c, fault.Invalid, "more than 5 redirects"},
		{"not an address", "::s3cr3t", c, fault.Invalid, "not a valid address"},
		{"no such host", "http://nobody.test/", c, fault.Gone, "host does not exist"},
		{"refused", "http://" + closed + "/", absent, fault.Throttled, "the site refuses: connection refused"},
		{"large", srv.URL + "/large", c, fault.Invalid, "the most is 10 MiB"},
		{"a gzip bomb", srv.URL + "/bomb", c, fault.Invalid, "the most is 10 MiB"},
		{"cut off", srv.URL + "/cut", c, fault.Transient, "read body after 11 bytes"},
		{"slow", srvQuick.URL + "/slow?token=s3cr3t", quick, fault.Transient, "timed out after 100ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.client.Load(t.Context(), web.Request{URL: tt.url})
			if class, _ := fault.Of(err); class != tt.class || !strings.Contains(fmt.Sprint(err), tt.text) ||
				strings.Contains(fmt.Sprint(err), "s3cr3t") {
				t.Errorf("Load = %v (%s); want %s, %q", err, class, tt.class, tt.text)
			}
		})
	}
}

// A redirect is followed as a browser does: a form goes on by 307 and 308 only, and no header that identifies the
// caller goes to another host. Each request is a span.
func TestLoadRedirectedForm(t *testing.T) {
	t.Parallel()
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		fmt.Fprintf(w, "%s %s|%s|%s|%s", r.Method, r.PostForm.Encode(), r.Header.Get("Content-Type"),
			r.Header.Get("Authorization"), r.Header.Get("X-Asked"))
	})
	other := httptest.NewServer(seen)
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.Handle("/seen", seen)
	mux.HandleFunc("/to/{status}", func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscan(r.PathValue("status"), &status)
		w.Header().Set("Location", r.URL.Query().Get("url"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte("moved"))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	recorder := tracetest.NewSpanRecorder()
	c := fetch.New(fetch.Options{AllowPrivate: []string{srv.Listener.Addr().String(), other.Listener.Addr().String()},
		Traces: trace.NewTracerProvider(trace.WithSpanProcessor(recorder))})
	t.Cleanup(c.Close)
	const form = "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		status   int
		to, want string
	}{
		{301, "/seen", "GET ||secret|yes"},
		{302, "/seen", "GET ||secret|yes"},
		{303, "../seen", "GET ||secret|yes"},
		{307, srv.URL + "/seen", "POST a=1|" + form + "|secret|yes"},
		{308, "/seen", "POST a=1|" + form + "|secret|yes"},
		{307, other.URL + "/seen", "POST a=1|" + form + "||yes"},
		{302, "", "moved"}, // no redirect, for it leads nowhere
		{304, "/seen", ""},
		{300, "/seen", "moved"},
	} {
		p, err := c.Load(t.Context(), web.Request{
			URL: fmt.Sprintf("%s/to/%d?url=%s", srv.URL, tt.status, tt.to), Form: map[string][]string{"a": {"1"}},
			Header: map[string]string{"authorization": "secret", "X-Asked": "yes"},
		})
		if err != nil || string(p.Body) != tt.want {
			t.Errorf("%d to %q: Load = %q, %v; want %q", tt.status, tt.to, p.Body, err, tt.want)
		}
	}
	assert.Len(t, recorder.Ended(), 9+6)
}
