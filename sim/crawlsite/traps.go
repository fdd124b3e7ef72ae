package crawlsite

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/sim/demosite"
)

// Traps is a site of what crawlers hang or fall over, each behind a path of its own; "/" links to those that are spaces
// of addresses without end. It may be served on several ports, so that each trap is a host of its own.
//
//	/calendar/2026/11   a month with links to the next and the last one, for ever
//	/deep/              a relative link that makes the path longer with every page
//	/session/           each answer links to addresses with a session number of its own
//	/facets?a=1&b=1     every permutation of five filters, and then more of them
//	/loop/a /self       redirects to each other, and to itself
//	/hop/1              redirects to /hop/2, and so on
//	/silent             takes the request and never answers
//	/drip               a byte a second
//	/huge               10 GB
//	/bomb               1 GB of zeros, gzipped to 1 MB
//	/links              100,000 links
//	/long               a link with an address of 1 MB, and a good one
//	/far                a redirect to an address of 1 MB
//	/headers            5,000 headers
//	/header             a header of 2 MB
//	/reset /cut         the connection is cut before the answer, and in its middle
//	/nested             100,000 elements within each other
//	/flaky/<script>/<n> answers by script, the last one again and again: 503,503,200 or 429:1,200 (Retry-After, seconds)
//	                    or reset,200 or slow:2,200 (seconds)
//	/ok/<n>             a page that links to /ok/<n-1>
type Traps struct {
	mux *http.ServeMux

	mu    sync.Mutex
	asked map[string]int // of flaky addresses
	count int            // of sessions
}

// NewTraps opens nothing.
func NewTraps() *Traps {
	t := &Traps{mux: http.NewServeMux(), asked: map[string]int{}}
	for pattern, h := range map[string]http.HandlerFunc{
		"/{$}": func(w http.ResponseWriter, _ *http.Request) {
			html(w, links("/calendar/2026/11", "/deep/", "/session/", "/facets?a=1&b=1", "/loop/a", "/self", "/hop/1", "/ok/3"))
		},
		"/calendar/{year}/{month}": calendar,
		"/deep/":                   deeper,
		"/session/":                t.session,
		"/facets":                  facets,
		"/loop/a":                  redirect("/loop/b"),
		"/loop/b":                  redirect("/loop/a"),
		"/self":                    redirect("/self"),
		"/hop/{n}":                 hop,
		"/silent":                  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/drip":                    drip,
		"/huge":                    huge,
		"/bomb":                    demosite.Bomb("text/html; charset=utf-8"),
		"/links":                   manyLinks,
		"/long": func(w http.ResponseWriter, _ *http.Request) {
			html(w, links("/ok/"+strings.Repeat("9", 1<<20), "/ok/0"))
		},
		"/far":     redirect("/ok/" + strings.Repeat("9", 1<<20)),
		"/headers": headers,
		"/header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 2<<20))
			html(w, "")
		},
		"/reset":              func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/cut":                cut,
		"/nested":             nested,
		"/flaky/{script}/{n}": t.flaky,
		"/ok/{n}":             ok,
		"/robots.txt":         http.NotFound,
		"/sitemap.xml":        http.NotFound,
		"/favicon.ico":        http.NotFound,
		"/untyped": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<a href=/ok/1>1")
		},
		"/status/{code}":       status,
		"/wrong-length":        wrongLength,
		"/bad-gzip":            badGzip,
		"/redirect-to-private": redirect("http://169.254.169.254/latest/"),
	} {
		t.mux.HandleFunc(pattern, h)
	}
	return t
}

func (t *Traps) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.mux.ServeHTTP(w, r) }

func html(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>trap</title>\n"+body)
}

func links(hrefs ...string) string {
	var b strings.Builder
	for _, h := range hrefs {
		fmt.Fprintf(&b, "<a href=\"%s\">more</a>\n", strings.ReplaceAll(h, "&", "&amp;"))
	}
	return b.String()
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

func calendar(w http.ResponseWriter, r *http.Request) {
	year, err := strconv.Atoi(r.PathValue("year"))
	month, err2 := strconv.Atoi(r.PathValue("month"))
	if err != nil || err2 != nil {
		http.NotFound(w, r)
		return
	}
	at := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
	day := func(months int) string { return at.AddDate(0, months, 0).Format("/calendar/2006/1") }
	html(w, links(day(-1), day(1), day(12)))
}

func (t *Traps) session(w http.ResponseWriter, _ *http.Request) {
	t.mu.Lock()
	t.count++
	n := t.count
	t.mu.Unlock()
	html(w, links(fmt.Sprintf("/session/?sid=%08x", 7919*n), fmt.Sprintf("/session/about;jsessionid=%08x", 7919*n)))
}

func facets(w http.ResponseWriter, r *http.Request) {
	var list []string
	for _, f := range []string{"a", "b", "c", "d", "e"} {
		for v := range 3 {
			list = append(list, fmt.Sprintf("/facets?%s&%s=%d", r.URL.RawQuery, f, v))
		}
	}
	html(w, links(list...))
}

func deeper(w http.ResponseWriter, _ *http.Request) { html(w, links("deeper/", "./deeper/still/")) }

func hop(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.PathValue("n"))
	redirect(fmt.Sprintf("/hop/%d", n+1))(w, r)
}

// ok is a page that leads to the one before it.
func ok(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	switch {
	case err != nil:
		http.NotFound(w, r)
	case n > 0:
		html(w, links(fmt.Sprintf("/ok/%d", n-1)))
	default:
		html(w, "the end")
	}
}

func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	out := http.NewResponseController(w)
	for {
		if _, err := io.WriteString(w, "x"); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	block := []byte(strings.Repeat("<p>more of the same\n", 3277))
	for sent := 0; sent < 10<<30; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func manyLinks(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&b, "<a href=/ok/0?n=%d>%d</a>\n", n, n)
	}
	html(w, b.String())
}

func headers(w http.ResponseWriter, _ *http.Request) {
	for n := range 5000 {
		w.Header().Set(fmt.Sprintf("X-Header-%d", n), strings.Repeat("v", 100))
	}
	html(w, links("/ok/0"))
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100000")
	html(w, links("/ok/0"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func nested(w http.ResponseWriter, _ *http.Request) {
	html(w, strings.Repeat("<div>", 100_000)+links("/ok/0")+strings.Repeat("</div>", 100_000))
}

func wrongLength(w http.ResponseWriter, _ *http.Request) {
	conn, out, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: -7\r\n\r\n<p>no")
	_ = out.Flush()
}

func badGzip(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	html(w, "this is not gzip")
}

func status(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.PathValue("code"))
	if err != nil || code < 200 || code > 599 {
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(code)
}

// flaky answers by the script of its address. Each address counts for itself.
func (t *Traps) flaky(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	n := t.asked[r.URL.Path]
	t.asked[r.URL.Path]++
	t.mu.Unlock()
	script := strings.Split(r.PathValue("script"), ",")
	word, value, _ := strings.Cut(script[min(n, len(script)-1)], ":")
	seconds, _ := strconv.Atoi(value)
	switch word {
	case "reset":
		panic(http.ErrAbortHandler)
	case "slow":
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-r.Context().Done():
			return
		}
		word = "200"
	}
	code, err := strconv.Atoi(word)
	if err != nil || code < 200 || code > 599 {
		http.NotFound(w, r)
		return
	}
	if value != "" {
		w.Header().Set("Retry-After", value)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
}

// Silent is a host that takes connections and never says anything. Close ends it.
func Silent() (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:0") // never accepted: the kernel alone answers
}
