package browser_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/png"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// startChromium starts a Chromium with its DevTools port open, as `conveyor up` does.
func startChromium(t testing.TB) *devstack.Stack {
	t.Helper()
	s, err := chromiumIn(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func chromiumIn(dir string) (*devstack.Stack, error) {
	return devstack.Start(context.Background(), devstack.Options{
		Dir: dir, FreePorts: true, Services: []string{devstack.Chromium}, NoInstall: true,
		External: devstack.External{
			Browser: os.Getenv("CONVEYOR_BROWSER"), BrowserDriver: os.Getenv("CONVEYOR_BROWSER_DRIVER"),
		},
		Log: slog.New(slog.DiscardHandler),
	})
}

// shared is the Chromium of the tests that neither end it nor count what it does.
var shared struct {
	once  sync.Once
	dir   string
	stack *devstack.Stack
	err   error
}

func sharedChromium(t testing.TB) *devstack.Stack {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "conveyor-chromium-"); shared.err == nil {
			shared.stack, shared.err = chromiumIn(shared.dir)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.stack
}

func TestMain(m *testing.M) {
	chromium.StandIn()
	lend()
	code := m.Run()
	if shared.stack != nil {
		_ = shared.stack.Stop(context.Background())
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

// drive returns a Devtools at that Chromium that may ask the sites.
func drive(t testing.TB, stack *devstack.Stack, o browser.DevtoolsOptions, sites ...*site) *browser.Devtools {
	t.Helper()
	if o.Dial == nil {
		o.Dial = dial(sites)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if stack != nil {
		o.URL = stack.Vars()["CHROME_DEVTOOLS_URL"]
	}
	if o.Driver == "" {
		o.Driver = os.Getenv("CONVEYOR_BROWSER_DRIVER")
	}
	o.Timeout = cmp.Or(o.Timeout, patience)
	d := browser.NewDevtools(o)
	t.Cleanup(d.Close)
	return d
}

// classified says whether an error was given a class, as errors about pages are.
func classified(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

// size is that of a PNG.
func size(t testing.TB, shot []byte) (width, height int) {
	t.Helper()
	c, err := png.DecodeConfig(bytes.NewReader(shot))
	require.NoErrorf(t, err, "screenshot of %d bytes", len(shot))
	return c.Width, c.Height
}

// shop is a product page as shops make them: a style sheet, a script that fills in the price, and pictures.
func shop(s *site) {
	dot := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><rect width="400" height="300" fill="teal"/></svg>`)
	s.HandleFunc("/photo/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(dot)
	})
	s.page("/price.json", "application/json", 200, `{"price":"19,99 €"}`)
	s.page("/shop.css", "text/css", 200, `body{font:16px sans-serif;margin:2em}.price{color:#b00;font-size:2em}`)
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><title>Théière</title><link rel=stylesheet href=/shop.css><h1>Théière en fonte</h1>` +
		`<p class=price id=price></p><script>fetch("/price.json").then(r=>r.json()).then(p=>price.textContent=p.price)</script>`)
	for i := range 24 {
		fmt.Fprintf(&b, `<p><img src="/photo/%d" width=400 height=300 alt="photo %d"> 1,2 litre, émaillée à l'intérieur</p>`, i, i)
	}
	fmt.Fprintf(&b, `<script type="application/json">%q</script>`, strings.Repeat("x", 90_000))
	s.html("/shop", b.String())
}

// Pages as they are, and as they misbehave: each is taken.
// It is not beside others: they would keep the processor from pages that have seconds to be read and drawn.
func TestCapture(t *testing.T) {
	s, other := newSite(t), newSite(t)
	stack := startChromium(t)
	shop(s)
	shop(other)
	s.html("/plain", `<p>plain`)
	s.page("/latin1", "text/html; charset=iso-8859-1", 200, "<p>Montr\xe9al")
	s.page("/404", "text/html", 404, "<p>gone")
	s.page("/500", "text/html", 500, "<p>broken")
	s.page("/503", "text/html", 503, "")
	s.page("/json", "application/json", 200, `{"n":1}`)
	for from, to := range map[string]string{"/a": "/b?x=1", "/b": "/c", "/c": "/plain"} {
		s.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	}
	s.html("/meta", `<meta http-equiv=refresh content="0;url=/js">`)
	s.html("/js", `<script>location.replace("/plain")</script>`)
	s.html("/tall", `<p>tall<div style="height:50000px;background:linear-gradient(red,blue)">`)
	s.html("/inline", `<p>inline<script>const a="`+strings.Repeat("x", 5<<20)+`"; document.body.append("ran")</script>`)
	s.html("/alerts", `<p>alerts<script>for(;;)alert("again")</script>`)
	s.html("/dialogs", `<p>dialogs<script>alert(1);confirm(2);prompt(3);onbeforeunload=()=>"stay"</script><p>after`)
	s.html("/print", `<p>print<script>print()</script><p>after`)
	s.html("/popups", `<p>popups<script>for(let i=0;i<300;i++)open("/plain?"+i,"_blank","width=100");document.body.append("ran")</script>`)
	s.html("/popups-for-ever", `<p>popups<script>setInterval(()=>open("/plain"),10)</script>`)
	s.html("/permissions", `<p>permissions<script>navigator.geolocation.getCurrentPosition(()=>{});Notification.requestPermission();
		navigator.mediaDevices?.getUserMedia({audio:true})</script>`)
	s.html("/busy", `<p>busy<script>for(;;);</script>`)
	s.html("/busy-later", `<p>busy<script>onload=()=>setTimeout(()=>{for(;;);})</script>`)
	s.html("/mutates", `<p>mutates<script>setInterval(()=>{document.body.append("x")},20)</script>`)
	s.html("/moves", `<p id=p>moves<script>let n=0;setInterval(()=>{p.style.marginLeft=n+++"px"},20)</script>`)
	s.html("/tampers", `<p>real<script>
		for (const o of [Document.prototype, Element.prototype, Node.prototype]) for (const k of ["outerHTML","documentElement","doctype"])
			try { Object.defineProperty(o, k, {get() { return "fake" }}) } catch {}
		window.XMLSerializer = window.MutationObserver = null; JSON.stringify = () => "fake"; Promise = null;
		Object.defineProperty(document, "readyState", {get() { return "loading" }}); performance.now = () => 0</script>`)
	s.HandleFunc("/401", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("the site was given credentials: %v", r.Header)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "<p>who")
	})
	s.html("/401-inside", `<p>inside<img src=/401>`)
	s.html("/401-inside2", `<p>inside<iframe src=/401></iframe>`)
	s.html("/401-inside3", `<p>inside<iframe src="`+strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+`/401"></iframe>`)
	other.Handle("/401", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="y"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	s.HandleFunc("/drips", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>drips")
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				fmt.Fprint(w, " on")
				_ = http.NewResponseController(w).Flush()
			}
		}
	})
	s.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.html("/long-poll", `<p>polls<script>fetch("/hangs")</script>`)
	s.html("/stream", `<p>stream<script>new EventSource("/drips")</script>`)
	s.HandleFunc("/large.bin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(make([]byte, 8<<20))
	})
	heavy := "<p>heavy"
	for i := range 9 {
		heavy += fmt.Sprintf(`<img src="/large.bin?%d">`, i)
	}
	s.html("/heavy", heavy)
	otherName := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s.html("/frames", `<p>frames<iframe src="`+otherName+`/shop"></iframe><script>
		new Worker(URL.createObjectURL(new Blob(["fetch('`+s.URL+`/price.json')"])))</script>`)
	type row struct {
		name      string
		want      draft.Capture // URL and Redirects without the site
		body      string        // a part of it
		unstable  bool
		unlimited bool // both are fine: on a slow machine a large or restless page is stopped
	}
	rows := []row{
		{name: "/shop", body: "19,99 €"},
		{name: "/latin1", body: "<p>Montréal"},
		{name: "/404", want: draft.Capture{Status: 404}, body: "<p>gone"},
		{name: "/500", want: draft.Capture{Status: 500}, body: "<p>broken"},
		{name: "/503", want: draft.Capture{Status: 503}},
		{name: "/json", body: `{"n":1}`},
		{name: "/a", want: draft.Capture{URL: "/plain", Redirects: []string{"/a", "/b?x=1", "/c"}}, body: "<p>plain"},
		{name: "/meta", want: draft.Capture{URL: "/plain", Redirects: []string{"/meta", "/js"}}, body: "<p>plain"},
		{name: "/tall", body: "<p>tall"},
		{name: "/inline", body: "<p>inline", unlimited: true}, // 5 MB
		{name: "/dialogs", body: "<p>after"},
		{name: "/print", body: "<p>after"},
		{name: "/permissions", body: "<p>permissions"},
		{name: "/moves", body: "moves"},
		{name: "/tampers", body: "<p>real"},
		{name: "/401", want: draft.Capture{Status: 401}, body: "<p>who"},
		{name: "/401-inside", body: "<p>inside"},
		{name: "/401-inside2", body: "<p>inside"},
		{name: "/401-inside3", body: "<p>inside"},
		{name: "/frames", body: "<p>frames"},
	}
	restless := []row{ // they settle late or never, and some keep the processor or the connection
		{name: "/popups", body: "<p>popups", unlimited: true},
		{name: "/mutates", body: "<p>mutates", unstable: true},
		{name: "/stream", body: "<p>stream", unlimited: true},
		{name: "/heavy", body: "<p>heavy", unlimited: true},
		{name: "/busy", body: "<p>busy", unstable: true},
	}
	if !testing.Short() {
		restless = append(restless,
			row{name: "/drips", body: "<p>drips on on", unstable: true},
			row{name: "/alerts", body: "<p>alerts", unstable: true},
			row{name: "/popups-for-ever", body: "<p>popups", unlimited: true},
			row{name: "/busy-later", body: "<p>busy", unstable: true},
			row{name: "/long-poll", body: "<p>polls", unstable: true})
	}
	take := func(t *testing.T, d *browser.Devtools, tt row) {
		began := time.Now()
		c, err := d.Capture(t.Context(), s.URL+tt.name, "", draft.Secrets{})
		took := time.Since(began)
		require.NoError(t, err, took)
		t.Logf("took %s, %d bytes, screenshot %d bytes", took.Round(10*time.Millisecond), len(c.HTML), len(c.Screenshot))
		if tt.want.Status == 0 {
			tt.want.Status = 200
		}
		if tt.want.URL == "" {
			tt.want.URL = tt.name
		}
		for i, r := range tt.want.Redirects {
			tt.want.Redirects[i] = s.URL + r
		}
		if c.Asked != s.URL+tt.name || c.URL != s.URL+tt.want.URL || c.Status != tt.want.Status ||
			!slices.Equal(c.Redirects, tt.want.Redirects) || !strings.Contains(string(c.HTML), tt.body) {
			t.Errorf("Capture = %q, %d, %q, %.300q; want %+v with %q", c.URL, c.Status, c.Redirects, c.HTML, tt.want, tt.body)
		}
		if c.Unstable != tt.unstable && !tt.unlimited {
			t.Errorf("Unstable = %t after %s", c.Unstable, took)
		}
		width, height := size(t, c.Screenshot)
		if tt.name == "/tall" && height != 8000 || width != 1365 || height < 1024 || height > 8000 {
			t.Errorf("screenshot is %d × %d", width, height)
		}
		if dir := os.Getenv("CONVEYOR_TEST_SHOTS"); dir != "" {
			_ = os.WriteFile(filepath.Join(dir, tt.name+".png"), c.Screenshot, 0o644)
		}
	}
	for _, group := range []struct {
		name           string
		settle, takeAt time.Duration // whatever comes after it has all of the patience
		rows           []row
	}{
		{"ends", patience / 2, 0, rows}, {"restless", 5 * time.Second, 10 * time.Second, restless},
	} {
		t.Run(group.name, func(t *testing.T) {
			d := drive(t, stack, browser.DevtoolsOptions{Pages: 4, Settle: group.settle, TakeAt: group.takeAt}, s, other)
			for _, tt := range group.rows {
				t.Run(tt.name[1:], func(t *testing.T) {
					t.Parallel()
					take(t, d, tt)
				})
			}
		})
	}
}

// However much a page asks for at once, all of it is answered.
func TestCaptureAsksForAll(t *testing.T) {
	t.Parallel()
	const pictures = 500
	s := newSite(t)
	var b strings.Builder
	for i := range pictures {
		fmt.Fprintf(&b, `<img src="/dot/%d">`, i)
	}
	s.html("/gallery", "<p>gallery"+b.String())
	s.HandleFunc("/dot/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/gif")
		fmt.Fprint(w, "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")
	})
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{Timeout: patience}, s)
	began := time.Now()
	c, err := d.Capture(t.Context(), s.URL+"/gallery", "", draft.Secrets{})
	if err != nil || c.Unstable {
		t.Errorf("Capture: unstable %t, %v after %s", c.Unstable, err, time.Since(began))
	}
	asked := map[string]bool{}
	for _, path := range s.requests() {
		if strings.HasPrefix(path, "GET /dot/") {
			asked[path] = true
		}
	}
	require.Len(t, asked, pictures)
}

// A page that cannot be captured fails in bounded time, with a class of fault.
func TestCaptureThatCannotBe(t *testing.T) {
	t.Parallel()
	s, closed := newSite(t), newSite(t)
	closed.Server.Close()
	stack := sharedChromium(t)
	d := drive(t, stack, browser.DevtoolsOptions{Pages: 3, Timeout: patience}, s, closed)
	quick := drive(t, stack, browser.DevtoolsOptions{Timeout: 3 * time.Second}, s)
	s.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	s.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop?n=1", http.StatusFound) })
	s.html("/reloads", `<p>again<script>location.href = "/reloads?" + Math.random()</script>`)
	s.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=x.zip")
		_, _ = w.Write([]byte("PK"))
	})
	s.html("/far", `<script>location = "/p?" + "a".repeat(9000)</script>`)
	s.HandleFunc("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for line := []byte("<p>" + strings.Repeat("for ever ", 10_000)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	s.html("/large", `<script>document.write("<p>"+"x".repeat(11<<20))</script>`)
	for _, tt := range []struct {
		name, url string
		class     fault.Class
		text      string
	}{
		{"private", "http://127.0.0.1/", fault.Invalid, "private or reserved network"},
		{"private, by tls", "https://10.0.0.1/", fault.Invalid, "private or reserved network"},
		{"metadata", "http://169.254.169.254/latest/meta-data/", fault.Invalid, "private or reserved network"},
		{"localhost", "http://localhost/", fault.Invalid, "private or reserved network"},
		{"redirected to private", s.URL + "/to?url=http://127.0.0.2/", fault.Invalid, "private or reserved network"},
		{"redirected to a file", s.URL + "/to?url=file:///etc/passwd", fault.Invalid, ""},
		{"a file", "file:///etc/passwd", fault.Invalid, "not an http or https address of a page"},
		{"its own pages", "chrome://version", fault.Invalid, "not an http or https address of a page"},
		{"data", "data:text/html,x", fault.Invalid, "not an http or https address of a page"},
		{"credentials", "http://user:s3cr3t@example.org/", fault.Invalid, "not an http or https address of a page"},
		{"connection refused", closed.URL + "/", fault.Throttled, "the site refuses: connection refused"},
		{"redirects for ever", s.URL + "/loop", fault.Invalid, "ERR_TOO_MANY_REDIRECTS"},
		{"goes on for ever by itself", s.URL + "/reloads", fault.Invalid, "endless redirects"},
		{"leads to a long address", s.URL + "/far", fault.Invalid, "leads to an address of 90"},
		{"a download", s.URL + "/download", fault.Invalid, "not a page"},
		{"nothing", s.URL + "/204", fault.Invalid, "not a page"},
		{"cut off", s.URL + "/cut", fault.Transient, ""},
		{"endless", s.URL + "/endless", fault.Invalid, "larger than 10 MiB"},
		{"large by its script", s.URL + "/large", fault.Invalid, "larger than 10 MiB"},
		{"no answer", s.URL + "/slow?token=s3cr3t", fault.Transient, "timed out after 3s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := d
			if tt.name == "no answer" {
				d = quick
				if testing.Short() {
					tt.text = "" // on a busy machine the time is up before the page is open
				}
			}
			_, err := d.Capture(t.Context(), tt.url, "", draft.Secrets{})
			if class, _ := fault.Of(err); err == nil || class != tt.class || !strings.Contains(fmt.Sprint(err), tt.text) ||
				strings.Contains(fmt.Sprint(err), "s3cr3t") {
				t.Errorf("Capture = %v (%s); want %s, %q", err, class, tt.class, tt.text)
			}
		})
	}
}

// The site is told the locale of a request by headers and scripts alike, and another page at the same time its own.
func TestCaptureOfALocale(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{}, s)
	s.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<body>asked in %s<script>document.body.append("; read in " + navigator.languages.join() + ": " +
			(1234.5).toLocaleString())</script>`, r.Header.Get("Accept-Language"))
	})
	var all sync.WaitGroup
	for locale, want := range map[string]string{
		"":      "asked in en-US,en;q=0.9<script>|read in en-US,en: 1,234.5",
		"de-DE": "asked in de-DE,de;q=0.9<script>|read in de-DE,de: 1.234,5",
		"fr":    "asked in fr<script>|read in fr: 1\u202f234,5",
	} {
		all.Go(func() {
			c, err := d.Capture(t.Context(), s.URL+"/", locale, draft.Secrets{})
			for part := range strings.SplitSeq(want, "|") {
				if err != nil || !strings.Contains(string(c.HTML), part) {
					t.Errorf("Capture in %q = %q, %v; want %q", locale, c.HTML, err, part)
				}
			}
		})
	}
	all.Wait()
}

// A page's requests pass the guard, of any kind; those it refuses are just not answered.
func TestCaptureIsGuarded(t *testing.T) {
	t.Parallel()
	s, inside := newSite(t), newSite(t)
	stack := sharedChromium(t)
	d := drive(t, stack, browser.DevtoolsOptions{}, s)
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	s.HandleFunc("/to-inside", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL+"/redirected", http.StatusFound)
	})
	s.page("/sw.js", "text/javascript", 200, `fetch("`+inside.URL+`/service-worker")`)
	s.html("/", fmt.Sprintf(`<body><script src="%[1]s/script.js"></script><iframe src="%[1]s/frame"></iframe><img src="%[1]s/image">
		<iframe src="/to-inside"></iframe><img src="/to-inside"><link rel=stylesheet href="%[1]s/style.css">
		<link rel=preconnect href="%[1]s"><link rel=prefetch href="%[1]s/prefetch"><script>
		navigator.serviceWorker?.register("/sw.js").catch(() => {}); open("%[1]s/popup"); navigator.sendBeacon("%[1]s/beacon");
		const tries = ["%[1]s/fetch", "http://localhost:%[2]s/name", "http://[::1]:%[2]s/v6", "http://0.0.0.0:%[2]s/zero", "%[3]s/json/list"]
			.map(u => fetch(u, {mode: "no-cors"}).then(() => u, () => "refused"));
		tries.push(new Promise(done => { const w = new WebSocket("ws://127.0.0.1:%[2]s/socket"); w.onopen = () => done("socket");
			w.onerror = () => done("refused") }));
		tries.push(new Promise(done => new Worker(URL.createObjectURL(new Blob(["fetch('%[1]s/worker', {mode: 'no-cors'})" +
			".then(() => postMessage('worker'), () => postMessage('refused'))"]))).onmessage = e => done(e.data)));
		Promise.all(tries).then(r => { document.body.append("got " + r.join()) });
		</script>`, inside.URL, port, stack.Vars()["CHROME_DEVTOOLS_URL"]))
	c, err := d.Capture(t.Context(), s.URL+"/", "", draft.Secrets{})
	require.NoError(t, err)
	require.Contains(t, string(c.HTML), "got refused,refused,refused,refused,refused,refused,refused")
	require.Empty(t, inside.requests(), "the inside was asked for")
}

// The answers of servers that are no Chromium, and of a Chromium that is asked by name.
func TestCheckDevtools(t *testing.T) {
	t.Parallel()
	stack := startChromium(t)
	at := strings.TrimPrefix(stack.Vars()["CHROME_DEVTOOLS_URL"], "http://") // with user and password
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	byName := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as Chromium does
		if host, _, _ := net.SplitHostPort(r.Host); net.ParseIP(host) == nil {
			http.Error(w, "Host header is specified and is not an IP address or localhost.", http.StatusInternalServerError)
			return
		}
		http.Error(w, "asked by address", http.StatusTeapot)
	}))
	t.Cleanup(byName.Close)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hangs.Close)
	t.Cleanup(hangs.CloseClientConnections)
	closed := httptest.NewServer(nil)
	closed.Close()
	name := func(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }
	for _, tt := range []struct{ name, url, text string }{
		{"by address", "http://" + at, ""},
		{"by name", name("http://" + at), ""},
		{"a socket", "ws://" + at + "/devtools/browser/x", ""},
		{"with secrets", "http://" + at + "?token=s3cr3t", ""},
		{"a wrong password", "http://user:s3cr3t@" + at[strings.Index(at, "@")+1:], "the answer is status 401"},
		{"a name is resolved", name(byName.URL), "the answer is status 418"},
		{"refused", closed.URL, "connection refused"},
		{"refused, with advice", closed.URL, strings.Join(chromium.Advised, " ")},
		{"hangs", hangs.URL, "no answer within 2s"},
		{"hangs, with secrets", strings.Replace(hangs.URL, "http://", "http://user:s3cr3t@", 1) + "?token=s3cr3t", "no answer within 2s"},
		{"refuses names", answer(500, "Host header is specified and is not an IP address or localhost."), "the answer is status 500: \"Host header"},
		{"no Chromium", answer(200, "<html>"), "no webSocketDebuggerUrl"},
		{"no socket", answer(200, "{}"), "no webSocketDebuggerUrl"},
		{"a socket that is none", answer(200, `{"webSocketDebuggerUrl":"ws://x/devtools/browser/1?token=s3cr3t"}`) + "?token=s3cr3t",
			"connect to its browser"},
		{"no host", "http://", "has no host"},
		{"not an address", "://s3cr3t", "cannot be read"},
		{"another scheme", "ftp://s3cr3t@x/", "is not an http"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, nil, browser.DevtoolsOptions{URL: tt.url, Dial: fetch.Dial(nil, nil)})
			began := time.Now()
			err := d.CheckDevtools(t.Context())
			switch class, _ := fault.Of(err); {
			case tt.text == "":
				assert.NoError(t, err)
			case class != fault.Transient || !errors.Is(err, web.ErrNoBrowser) || !strings.Contains(fmt.Sprint(err), tt.text) || strings.Contains(fmt.Sprint(err), "s3cr3t"):
				t.Errorf("CheckDevtools = %v (%s); want %q", err, class, tt.text)
			}
			if took := time.Since(began); tt.name == "hangs" && took > patience {
				t.Errorf("it took %s", took)
			}
		})
	}
	for _, call := range []struct {
		name string
		of   func(context.Context, *browser.Devtools) error
	}{
		{"check", func(ctx context.Context, d *browser.Devtools) error { return d.CheckDevtools(ctx) }},
		{"capture", func(ctx context.Context, d *browser.Devtools) error {
			_, err := d.Capture(ctx, "http://example.test/", "", draft.Secrets{})
			return err
		}},
	} {
		for _, how := range []string{"given up", "closed"} {
			t.Run(call.name+", "+how, func(t *testing.T) {
				t.Parallel()
				asked := make(chan struct{}, 1)
				slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					asked <- struct{}{}
					<-r.Context().Done()
				}))
				t.Cleanup(slow.Close)
				d := drive(t, nil, browser.DevtoolsOptions{URL: slow.URL, Dial: fetch.Dial(nil, nil)})
				want := errors.New("the worker stops")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				go func() {
					arrives(t, asked)
					if how == "closed" {
						d.Close()
						return
					}
					cancel(want)
				}()
				err := call.of(ctx, d)
				if how == "closed" {
					want = browser.ErrClosed
				}
				if !errors.Is(err, want) || classified(err) {
					t.Errorf("it returns %v; want %q, without a class", err, want)
				}
			})
		}
	}
}
