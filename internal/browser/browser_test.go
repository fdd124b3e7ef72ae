package browser_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// site answers by path and records the requests.
type site struct {
	*http.ServeMux
	*httptest.Server

	mu    sync.Mutex
	asked []string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{ServeMux: http.NewServeMux()}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		s.ServeMux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Server.Close)
	return s
}

func (s *site) page(path, contentType string, status int, body string) {
	s.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func (s *site) html(path, body string) { s.page(path, "text/html; charset=utf-8", 200, body) }

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// patience is the timeout of pages where it is not what is tested: for a machine that is busy.
var patience = servicetest.Patience()

// dial connects to the sites, and to no other address of this machine.
func dial(sites []*site) func(ctx context.Context, network, addr string) (net.Conn, error) {
	var listed []string
	for _, s := range sites {
		address := s.Listener.Addr().String()
		listed = append(listed, address, strings.Replace(address, "127.0.0.1", "localhost", 1))
	}
	return fetch.Dial(listed, nil)
}

// launch returns a browser that may ask the sites. It fails, and names the command, where there is no Chromium.
func launch(t testing.TB, o browser.Options, sites ...*site) *browser.Browser {
	t.Helper()
	if o.Dial == nil {
		o.Dial = dial(sites)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Timeout = cmp.Or(o.Timeout, patience)
	o.Executable, o.Driver = os.Getenv("CONVEYOR_BROWSER"), os.Getenv("CONVEYOR_BROWSER_DRIVER")
	b := browser.New(o)
	require.NoError(t, b.Check())
	t.Cleanup(b.Close)
	return b
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := launch(t, browser.Options{Pages: 2}, s)
	s.html("/plain", `<!DOCTYPE html><title>4½</title><script id="__NEXT_DATA__" type="application/json">{"a":"\u003c"}</script>`+
		`<p>Montréal<img src="/photo.jpg"><video src="/film.mp4" autoplay></video><style>@font-face{font-family:x;src:url(/x.woff2)}`+
		`p{font-family:x;background:url(/wall.png)}</style><script>document.body.append("made")</script>`)
	s.page("/latin1", "text/html; charset=iso-8859-1", 200, "<p>Montr\xe9al")
	s.page("/json", "application/json", 200, `{"city":"Montréal","n":[1,2]}`)
	s.page("/text", "text/plain; charset=iso-8859-1", 200, "Montr\xe9al")
	s.page("/404", "text/html", 404, "<p>gone")
	s.page("/503", "text/html", 503, "")
	s.HandleFunc("/429", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	s.HandleFunc("/removed", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/plain?adRemoved=1", http.StatusFound)
	})
	s.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		rest, _ := io.ReadAll(r.Body) // what is no form
		fmt.Fprintf(w, "%s %s %s%s", r.Method, r.Header.Get("X-Requested-With"), r.PostForm.Encode(), rest)
	})
	s.html("/late", `<div id=list></div><script>setTimeout(()=>list.innerHTML="<b class=card>4½</b>", 300)</script>`)
	s.html("/dialogs", `<script>alert(1);confirm(2);onbeforeunload=()=>1</script><p>after`)
	s.HandleFunc("/401", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("the site was given credentials: %v", r.Header)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "<p>who")
	})
	s.html("/goes-on", `<script>addEventListener("DOMContentLoaded",()=>setTimeout(()=>location.replace("/there"),300))</script>`)
	s.HandleFunc("/hop/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		n, _ := strconv.Atoi(path.Base(r.URL.Path))
		next := fmt.Sprintf("/hop/%d", n-1)
		if n == 0 {
			next = "/there"
		}
		_, _ = fmt.Fprintf(w, `<script>addEventListener("DOMContentLoaded",()=>location.replace(%q))</script>`, next)
	})
	s.html("/goes-on-to-503", `<p>page<script>addEventListener("DOMContentLoaded",()=>location.replace("/503"))</script>`)
	s.page("/there", "text/html", 404, "<b class=there>second")
	s.html("/starts", `<p id=p>page<script>addEventListener("DOMContentLoaded",()=>{location="/file.zip";
		setTimeout(()=>p.className="card",300)})</script>`)
	s.HandleFunc("/file.zip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=x.zip")
		_, _ = w.Write([]byte("PK"))
	})
	s.html("/fetched", `<div id=app></div><script>fetch("/echo").then(r=>r.text()).then(t=>setTimeout(()=>{
		app.innerHTML="<a href=/x>"+t.slice(0,3)+"</a>"},100))</script>`)
	s.html("/polls", `<p>page<script>setInterval(()=>fetch("/echo"),100)</script>`)
	s.html("/shadow", `<html lang=fr><x-a>light</x-a><script>const a=document.querySelector("x-a").attachShadow({mode:"open"});
		a.innerHTML="<a href=/s>in</a><x-b></x-b>";
		a.querySelector("x-b").attachShadow({mode:"open"}).innerHTML="<b>deep</b>"</script>`)
	s.html("/named", `<form name=documentElement></form><form name=querySelectorAll><input name=shadowRoot></form>
		<fieldset name=shadowRoot form=f><form id=f></form></fieldset><x-a></x-a>
		<script>document.body.lastElementChild.previousElementSibling.attachShadow({mode:"open"}).innerHTML="<a href=/s>in</a>"</script>`)
	s.html("/shadows", `<a href=/x>light</a><script>for(let i=0;i<400;i++){const e=document.createElement("x-a");
		e.attachShadow({mode:"open"}).innerHTML="<style>/*"+"x".repeat(30<<10)+"*/</style>";document.body.append(e)}</script>`)
	s.html("/cyrillic", `<a href=/x>light</a><x-a></x-a><script>document.querySelector("x-a").attachShadow({mode:"open"}).innerHTML=
		"\u0416".repeat(6<<20)</script>`)
	s.page("/xhtml", "application/xhtml+xml", 200, `<html xmlns="http://www.w3.org/1999/xhtml"><body><p>light</p><script>
		document.querySelector("p").attachShadow({mode:"open"}).innerHTML="in"</script></body></html>`)
	s.HandleFunc("/33.bin", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 33<<20)) })
	s.html("/heavy", `<p id=p>page<script>addEventListener("DOMContentLoaded",()=>setTimeout(()=>fetch("/33.bin").then(r=>r.text())
		.catch(()=>p.append("cut")),300))</script>`)
	s.html("/refreshes", `<meta http-equiv=refresh content=2><p>page<script>setInterval(()=>fetch("/echo"),100)</script>`)
	s.html("/replaced", `<script>history.replaceState(null,"","/else")</script><p>page`)
	s.page("/spaced", "text/html ; charset=utf-8", 200, `<script>document.write("made")</script>`)
	for _, tt := range []struct {
		name string
		r    web.Request
		want web.Page
		body string // a part of it
	}{
		{"what scripts load", web.Request{URL: "/fetched", Quiet: true}, web.Page{URL: "/fetched", Status: 200}, `<a href="/x">GET</a>`},
		{"loading for ever", web.Request{URL: "/polls", Quiet: true}, web.Page{URL: "/polls", Status: 200}, "<p>page"},
		{"shadow roots", web.Request{URL: "/shadow"}, web.Page{URL: "/shadow", Status: 200}, `<html lang="fr"><head></head><body><x-a>` +
			`<template shadowrootmode="open"><a href="/s">in</a><x-b><template shadowrootmode="open"><b>deep</b></template></x-b>` +
			`</template>light</x-a>`},
		{"elements by the names of properties", web.Request{URL: "/named"}, web.Page{URL: "/named", Status: 200},
			`<x-a><template shadowrootmode="open"><a href="/s">in</a></template></x-a>`},
		{"too much in shadow roots", web.Request{URL: "/shadows"}, web.Page{URL: "/shadows", Status: 200}, `<a href="/x">light`},
		{"too many bytes in them", web.Request{URL: "/cyrillic"}, web.Page{URL: "/cyrillic", Status: 200}, `<a href="/x">light`},
		{"shadow roots of XHTML", web.Request{URL: "/xhtml"}, web.Page{URL: "/xhtml", Status: 200},
			`<p><template shadowrootmode="open">in</template>light</p>`},
		{"loading much", web.Request{URL: "/heavy", Quiet: true}, web.Page{URL: "/heavy", Status: 200}, "</script>cut"},
		{"loading itself again", web.Request{URL: "/refreshes", Quiet: true}, web.Page{URL: "/refreshes", Status: 200}, "<p>page"},
		{"another address of the same document", web.Request{URL: "/replaced"}, web.Page{URL: "/replaced", Status: 200}, "<p>page"},
		{"a type with a space", web.Request{URL: "/spaced"}, web.Page{URL: "/spaced", Status: 200}, "made"},
		{"a page", web.Request{URL: "/plain"}, web.Page{URL: "/plain", Status: 200}, "<!DOCTYPE html><html><head><title>4½</title>" +
			`<script id="__NEXT_DATA__" type="application/json">{"a":"\u003c"}</script>`},
		{"after its scripts", web.Request{URL: "/plain"}, web.Page{URL: "/plain", Status: 200}, "made"},
		{"another charset", web.Request{URL: "/latin1"}, web.Page{URL: "/latin1", Status: 200}, "<p>Montréal"},
		{"json", web.Request{URL: "/json"}, web.Page{URL: "/json", Status: 200}, `{"city":"Montréal","n":[1,2]}`},
		{"text", web.Request{URL: "/text"}, web.Page{URL: "/text", Status: 200}, "Montréal"},
		{"not found", web.Request{URL: "/404"}, web.Page{URL: "/404", Status: 404}, "<p>gone"},
		{"failed, empty", web.Request{URL: "/503"}, web.Page{URL: "/503", Status: 503}, ""},
		{"too many", web.Request{URL: "/429"}, web.Page{URL: "/429", Status: 429, RetryAfter: 2 * time.Minute}, ""},
		{"redirected", web.Request{URL: "/removed"}, web.Page{URL: "/plain?adRemoved=1", Status: 200}, "made"},
		{"a form", web.Request{URL: "/echo", Form: map[string][]string{"ville": {"Montréal"}}, Header: map[string]string{
			"X-Requested-With": "XMLHttpRequest"}}, web.Page{URL: "/echo", Status: 200}, "POST XMLHttpRequest ville=Montr%C3%A9al"},
		{"JSON is sent", web.Request{URL: "/echo", JSON: `{"page":2}`}, web.Page{URL: "/echo", Status: 200}, `POST  {"page":2}`},
		{"made by a script", web.Request{URL: "/late", Wait: ".card"}, web.Page{URL: "/late", Status: 200}, `<b class="card">4½</b>`},
		{"dialogs", web.Request{URL: "/dialogs"}, web.Page{URL: "/dialogs", Status: 200}, "<p>after"},
		{"going on by a script", web.Request{URL: "/goes-on", Wait: ".there"}, web.Page{URL: "/there", Status: 404}, "second"},
		{"going on many times", web.Request{URL: "/hop/30", Wait: ".there"}, web.Page{URL: "/there", Status: 404}, "second"},
		{"going on to an error without a body", web.Request{URL: "/goes-on-to-503", Quiet: true}, web.Page{URL: "/503", Status: 503}, ""},
		{"with a download", web.Request{URL: "/starts", Wait: ".card"}, web.Page{URL: "/starts", Status: 200}, "page"},
		{"asked to authenticate", web.Request{URL: "/401"}, web.Page{URL: "/401", Status: 401}, "<p>who"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.r.URL = s.URL + tt.r.URL
			p, err := b.Load(t.Context(), tt.r)
			require.NoError(t, err)
			body := string(p.Body)
			p.Body, p.ContentType, tt.want.Asked, tt.want.URL = nil, "", tt.r.URL, s.URL+tt.want.URL
			if fmt.Sprint(p) != fmt.Sprint(tt.want) || p.Status == 503 && body != "" || !strings.Contains(body, tt.body) {
				t.Errorf("Load = %+v, %q; want %+v with %q", p, body, tt.want, tt.body)
			}
		})
	}
	t.Cleanup(func() {
		again := 0
		for _, asked := range s.requests() {
			if strings.HasSuffix(asked, "/refreshes") {
				again++
			}
		}
		if again > 15 { // with five seconds for each document there are over forty
			t.Errorf("a page was read when it had loaded itself %d times", again)
		}
		for _, asked := range s.requests() {
			for _, kind := range []string{".jpg", ".png", ".mp4", ".woff2", ".ico"} {
				assert.False(t, strings.HasSuffix(asked, kind), asked)
			}
		}
	})
}

// A page that cannot be loaded fails in bounded time, with a class of fault.
func TestLoadThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	names := func(list ...*site) browser.Options {
		listed := []string{closed.Listener.Addr().String()}
		for _, s := range list {
			listed = append(listed, s.Listener.Addr().String())
		}
		return browser.Options{Dial: fetch.Dial(listed, nil), Timeout: patience}
	}
	b := launch(t, names(s))
	o := names(s)
	o.Timeout = 1500 * time.Millisecond
	quick := launch(t, o)
	s.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	s.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop?n=1", http.StatusFound) })
	s.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=x.zip")
		_, _ = w.Write([]byte("PK"))
	})
	s.HandleFunc("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler)
	})
	s.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for line := []byte("<script type=x>" + strings.Repeat("for ever ", 100_000)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	s.html("/large", `<script>document.write("<p>"+"x".repeat(11<<20))</script>`)
	s.html("/busy", `<script>for(;;);</script>`)
	s.html("/busy-later", `<p>a<script>addEventListener("DOMContentLoaded",()=>setTimeout(()=>{for(;;);}))</script>`)
	s.html("/alerts", `<script>for(;;)alert("again")</script>`)
	s.HandleFunc("/33.bin", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 33<<20)) })
	s.html("/heavy-goes-on", `<p>page<script>addEventListener("DOMContentLoaded",()=>setTimeout(()=>fetch("/33.bin").then(r=>r.text())
		.catch(()=>location="/plain"),300))</script>`)
	s.html("/goes-nowhere", `<p>page<script>addEventListener("DOMContentLoaded",()=>setTimeout(()=>location="`+closed.URL+`",300))</script>`)
	for _, tt := range []struct {
		name, url string
		b         *browser.Browser
		class     fault.Class
		text      string
	}{
		{"private", "http://127.0.0.1/", b, fault.Invalid, "private or reserved network"},
		{"private, by tls", "https://10.0.0.1/", b, fault.Invalid, "private or reserved network"},
		{"metadata", "http://169.254.169.254/latest/meta-data/", b, fault.Invalid, "private or reserved network"},
		{"localhost", "http://localhost/", b, fault.Invalid, "private or reserved network"},
		{"redirected to private", s.URL + "/to?url=http://127.0.0.2/", b, fault.Invalid, "private or reserved network"},
		{"redirected to a port", s.URL + "/to?url=http://127.0.0.1:2/", b, fault.Invalid, ""},
		{"redirected to a file", s.URL + "/to?url=file:///etc/passwd", b, fault.Invalid, ""},
		{"a file", "file:///etc/passwd", b, fault.Invalid, "not an http or https address of a page"},
		{"its own pages", "chrome://version", b, fault.Invalid, "not an http or https address of a page"},
		{"refused", closed.URL + "/", b, fault.Throttled, "the site refuses: connection refused"},
		{"redirects for ever", s.URL + "/loop", b, fault.Invalid, "ERR_TOO_MANY_REDIRECTS"},
		{"a download", s.URL + "/download", b, fault.Invalid, "not a page"},
		{"nothing", s.URL + "/204", b, fault.Invalid, "not a page"},
		{"cut off", s.URL + "/cut", b, fault.Transient, ""},
		{"endless", s.URL + "/endless", b, fault.Invalid, "larger than 10 MiB"},
		{"large by its script", s.URL + "/large", b, fault.Invalid, "larger than 10 MiB"},
		{"going on with too much", s.URL + "/heavy-goes-on", b, fault.Invalid, "larger than 10 MiB"},
		{"going on to nothing", s.URL + "/goes-nowhere", b, fault.Transient, "it leads to a page that cannot be loaded"},
		{"slow", s.URL + "/slow?token=s3cr3t", quick, fault.Transient, "timed out after 1.5s"},
		{"busy for ever", s.URL + "/busy", quick, fault.Transient, "timed out after 1.5s"},
		{"busy later", s.URL + "/busy-later", quick, fault.Transient, "timed out after 1.5s"},
		{"alerts for ever", s.URL + "/alerts", quick, fault.Transient, "timed out after 1.5s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := tt.b.Load(t.Context(), web.Request{URL: tt.url, Quiet: strings.Contains(tt.name, "going on")})
			if tt.b == quick && testing.Short() {
				tt.text = "" // on a busy machine the time is up before the page is open
			}
			if err == nil && tt.name == "going on with too much" && testing.Short() && time.Since(began) > 5*time.Second {
				return // on a busy machine the page had its time before it had received too much
			}
			if class, _ := fault.Of(err); class != tt.class || !strings.Contains(fmt.Sprint(err), tt.text) ||
				strings.Contains(fmt.Sprint(err), "s3cr3t") {
				t.Errorf("Load = %v (%s); want %s, %q", err, class, tt.class, tt.text)
			}
		})
	}
}

// Sub-requests, WebSockets and scripts' requests pass the same guard; those it refuses are just not answered.
func TestSubRequestsAreGuarded(t *testing.T) {
	t.Parallel()
	s, inside := newSite(t), newSite(t)
	b := launch(t, browser.Options{}, s)
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	s.html("/", fmt.Sprintf(`<script src="%[1]s/script.js"></script><iframe src="%[1]s/frame"></iframe>
		<link rel=stylesheet href="%[1]s/style.css"><link rel=preconnect href="%[1]s"><link rel=prefetch href="%[1]s/prefetch">
		<script>
		const tries = ["%[1]s/fetch", "http://localhost:%[2]s/name", "http://[::1]:%[2]s/v6", "http://0.0.0.0:%[2]s/zero"]
			.map(u => fetch(u, {mode: "no-cors"}).then(() => u, () => "refused"));
		tries.push(new Promise(done => { const w = new WebSocket("ws://127.0.0.1:%[2]s/socket"); w.onopen = () => done("socket");
			w.onerror = () => done("refused") }));
		Promise.all(tries).then(r => { document.body.innerHTML = "<b class=done>" + r.join() + "</b>" });
		</script>`, inside.URL, port))
	p, err := b.Load(t.Context(), web.Request{URL: s.URL + "/", Wait: ".done"})
	require.NoError(t, err)
	require.Contains(t, string(p.Body), "<b class=\"done\">refused,refused,refused,refused,refused</b>")
	require.Empty(t, inside.requests(), "the inside was asked for")
}

// A browser that has loaded no page closes, and loads none afterwards.
func TestCloseWithoutLoad(t *testing.T) {
	t.Parallel()
	b := launch(t, browser.Options{})
	b.Close()
	if _, err := b.Load(t.Context(), web.Request{URL: "http://example.test/"}); !errors.Is(err, browser.ErrClosed) {
		t.Errorf("Load = %v; want ErrClosed", err)
	}
}

// told is the data that a page sees of its visitor.
type told struct {
	UserAgent, Platform, Language, Zone, Locale string
	Languages, Brands                           []string
	Webdriver                                   bool
	Plugins, Mime                               int
	Chrome, Notifications, Permission           string
	Screen, Inner, Outer                        [2]int
	Left                                        []string // traces of automation
	Frame, Worker                               *told
}

const tell = `function tell() { return {UserAgent: navigator.userAgent, Platform: navigator.platform, Language: navigator.language,
	Languages: navigator.languages, Webdriver: !!navigator.webdriver,
	Brands: navigator.userAgentData.brands.map(b => '"' + b.brand + '";v="' + b.version + '"'),
	Zone: Intl.DateTimeFormat().resolvedOptions().timeZone, Locale: Intl.DateTimeFormat().resolvedOptions().locale} }`

// A visitor is the same in headers and scripts, in the page, in its frames and in its workers; and the next is another.
func TestIdentity(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := launch(t, browser.Options{}, s)
	var mu sync.Mutex
	headers := map[string]http.Header{}
	keep := func(path, contentType, body string) {
		s.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			headers[path] = r.Header.Clone()
			mu.Unlock()
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(body))
		})
	}
	keep("/worker.js", "text/javascript", tell+`; postMessage(tell())`)
	keep("/frame", "text/html", "<script>"+tell+`; parent.postMessage(tell(), "*")</script>`)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	keep("/{$}", "text/html", "<body><script>"+tell+`;
		const frame = new Promise(done => addEventListener("message", e => done(e.data)));
		const worker = new Promise(done => { new Worker("/worker.js").onmessage = e => done(e.data) });
		(async () => {
			const all = Object.assign(tell(), {Plugins: navigator.plugins.length, Mime: navigator.mimeTypes.length,
				Chrome: typeof chrome, Notifications: Notification.permission,
				Permission: (await navigator.permissions.query({name: "notifications"})).state,
				Screen: [screen.width, screen.height], Inner: [innerWidth, innerHeight], Outer: [outerWidth, outerHeight],
				Left: [...Object.getOwnPropertyNames(window), ...Object.getOwnPropertyNames(document)]
					.filter(n => /playwright|pw_|cdc_|selenium|webdriver|phantom|domAutomation/i.test(n))});
			all.Frame = await frame; all.Worker = await worker;
			await fetch("/told", {method: "POST", body: JSON.stringify(all)});
			document.body.innerHTML = "<b class=done></b>";
		})();
	</script><iframe src="`+other+`/frame"></iframe>`)
	answers := make(chan told, 1)
	s.HandleFunc("/told", func(_ http.ResponseWriter, r *http.Request) {
		var x told
		_ = json.NewDecoder(r.Body).Decode(&x)
		answers <- x
	})
	seen := map[string]bool{}
	for range 8 {
		if _, err := b.Load(t.Context(), web.Request{URL: s.URL + "/", Wait: ".done"}); err != nil {
			t.Fatal(err)
		}
		var x told
		select {
		case x = <-answers:
		default:
			t.Fatal("the page told nothing")
		}
		checkIdentity(t, x, headers)
		seen[fmt.Sprint(x.UserAgent, x.Brands, x.Screen)] = true
	}
	require.GreaterOrEqual(t, len(seen), 2, "kinds among eight visitors")
}

func checkIdentity(t *testing.T, x told, headers map[string]http.Header) {
	t.Helper()
	all := map[string]told{"page": x, "frame": *x.Frame, "worker": *x.Worker}
	for who, y := range all {
		if y.UserAgent != x.UserAgent || y.Platform != "Linux x86_64" || y.Webdriver || y.Zone != "America/Toronto" ||
			y.Language != x.Languages[0] || y.Locale != x.Languages[0] ||
			fmt.Sprint(y.Languages, y.Brands) != fmt.Sprint(x.Languages, x.Brands) {
			t.Errorf("%s sees %+v; want as the page: %+v", who, y, x)
		}
	}
	version := regexp.MustCompile(`"Chromium";v="(\d+)"`).FindStringSubmatch(strings.Join(x.Brands, ", "))
	if version == nil || !strings.Contains(x.UserAgent, "(X11; Linux x86_64)") ||
		!strings.Contains(x.UserAgent, " Chrome/"+version[1]+".0.0.0 ") || strings.Contains(x.UserAgent, "Headless") {
		t.Errorf("user agent is %q, brands are %q", x.UserAgent, x.Brands)
	}
	if !strings.HasSuffix(x.Languages[0], "-CA") || x.Plugins != 5 || x.Mime != 2 || x.Chrome != "object" ||
		x.Notifications != "default" || x.Permission != "prompt" || len(x.Left) > 0 {
		t.Errorf("page sees %+v", x)
	}
	if x.Outer != x.Screen || x.Inner[0] != x.Outer[0] || x.Inner[1] >= x.Outer[1] || x.Inner[1] < x.Outer[1]-150 {
		t.Errorf("screen is %v, window %v, page %v", x.Screen, x.Outer, x.Inner)
	}
	var accepts string
	for i, l := range x.Languages {
		if accepts += l; i > 0 {
			accepts += fmt.Sprintf(";q=0.%d", 10-i)
		}
		if i < len(x.Languages)-1 {
			accepts += ","
		}
	}
	for path, h := range headers {
		if h.Get("User-Agent") != x.UserAgent || h.Get("Accept-Language") != accepts {
			t.Errorf("%s was asked for with %v; want %q, %q", path, h, x.UserAgent, accepts)
		}
		hints := h.Get("Sec-Ch-Ua") == strings.Join(x.Brands, ", ") && h.Get("Sec-Ch-Ua-Platform") == `"Linux"` &&
			h.Get("Sec-Ch-Ua-Mobile") == "?0"
		if path != "/worker.js" && !hints {
			t.Errorf("%s was asked for with %v; want %q", path, h, x.Brands)
		}
	}
}
