package browser

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/fetch"
)

const (
	pageWidth, pageHeight = 1365, 1024 // of the window, in pixels
	maxScreenshotHeight   = 8000
	maxScreenshotBytes    = 5 << 20

	maxDocuments = 20 // that lead to one another, by redirects or by themselves
	maxNuisances = 20 // dialogs and popups

	lookEvery = 50 * time.Millisecond
	stopGrace = 2 * time.Second // for a page that is busy, before its scripts are stopped
)

// tab captures a page once it is stable.
type tab struct {
	session
	l         *link
	address   string
	languages []string        // that the site is told, the most wanted first
	secrets   draft.Secrets   // that the address is asked with
	enough    context.Context // ends when the page has shown too many dialogs and popups
	bother    context.CancelFunc
	stopped   bool // its scripts are

	// session.mu guards these.
	responses map[string]*answer // of documents, by navigation
	trail     []string           // addresses of the documents that were asked for, without repetitions
	documents int
	waiting   map[string]struct{} // requests under way
	active    time.Time           // when the last one began or ended
	nuisances int
	size      int    // bytes of the document that is coming in
	coming    string // its request
}

// capture opens a page and takes it. Its error is a fault, the caller's own, or wraps errDied. It wraps errUnopened
// where the site was asked for nothing.
func (l *link) capture(ctx context.Context, address, locale string, s draft.Secrets) (c draft.Capture, err error) {
	began := time.Now()
	t := &tab{l: l, address: address, languages: languagesOf(locale), secrets: s, responses: map[string]*answer{},
		waiting: map[string]struct{}{}, active: began}
	t.session = session{engine: &l.engine, proxy: l.d.proxy, timeout: l.d.o.Timeout,
		answer: withHeaders(address, s.Headers), over: func() {}} // the rest is not loaded
	err = t.run(ctx, func(ctx context.Context, opened chan<- struct{}) error {
		t.enough, t.bother = context.WithCancel(ctx)
		defer t.bother()
		c, err = t.capture(ctx, opened, began.Add(l.d.o.TakeAt))
		return err
	}, explained)
	return c, err
}

// languagesOf are those of a browser that is set to a locale: fr-CA, fr.
func languagesOf(locale string) []string {
	locale = cmp.Or(locale, "en-US")
	language, _, more := strings.Cut(locale, "-")
	if !more {
		return []string{locale}
	}
	return []string{locale, language}
}

// explained is for an error that was explained while its page was open: whether the page then ends in time does not
// change it.
func explained(_ context.Context, err error) error { return err }

// continued lets a request that was paused go on: only the questions of proxy and sites for credentials matter.
func continued(map[string]any) (method string, params map[string]any) {
	return "Fetch.continueRequest", map[string]any{}
}

// capture does the work. At the time takeAt a page that is there is taken as it is.
func (t *tab) capture(ctx context.Context, opened chan<- struct{}, takeAt time.Time) (draft.Capture, error) {
	if err := t.open(opened); err != nil {
		return draft.Capture{}, fmt.Errorf("%w: %w", errUnopened, t.explain(ctx, err))
	}
	if err := t.navigate(ctx); err != nil {
		return draft.Capture{}, t.explain(ctx, err)
	}
	stable, err := t.settle(ctx, takeAt)
	if err != nil {
		return draft.Capture{}, t.explain(ctx, err)
	}
	html, err := t.content(ctx)
	if err != nil {
		return draft.Capture{}, t.explain(ctx, err)
	}
	c := draft.Capture{HTML: html, Screenshot: t.screenshot(ctx), Unstable: !stable || t.stopped}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.document == nil {
		return draft.Capture{}, fault.Newf(fault.Transient, "no response was received")
	}
	c.URL, c.Status, c.ContentType = t.document.url, t.document.status, contentType(t.document.header)
	for _, a := range t.trail {
		if a != c.URL || len(c.Redirects) == 0 && len(t.trail) > 1 {
			c.Redirects = append(c.Redirects, a)
		}
	}
	return c, nil
}

// interruptible puts a function around each dialog: in a loop of the bare ones V8 looks for an end of its script only
// after hundreds of them.
const interruptible = `for (const f of ["alert", "confirm", "prompt"]) {
	const ask = window[f]; window[f] = (...said) => ask(...said);
}`

// open makes a context with an empty page.
func (t *tab) open(opened chan<- struct{}) error {
	version := t.l.browser.Version()
	id := identity{languages: t.languages, width: pageWidth, height: pageHeight, scale: 1}
	err := t.session.open(playwright.BrowserNewContextOptions{
		Proxy:          &playwright.Proxy{Server: t.proxy.url()}, // Playwright adds <-loopback>: nothing bypasses it
		ServiceWorkers: playwright.ServiceWorkerPolicyBlock,
		Viewport:       &playwright.Size{Width: pageWidth, Height: pageHeight},
		UserAgent:      playwright.String(id.userAgent(version)), Locale: &id.languages[0],
	}, opened)
	if err != nil {
		return err
	}
	t.context.OnPage(func(p playwright.Page) {
		t.nuisance()
		t.owned.Go(func() { _ = p.Close() })
	})
	for method, see := range map[string]func(map[string]any){
		"Page.frameNavigated": t.navigated, "Page.javascriptDialogOpening": func(map[string]any) { t.nuisance() },
		"Network.requestWillBeSent": t.requested, "Network.responseReceived": t.answered,
		"Network.dataReceived": t.received, "Network.loadingFinished": t.finished, "Network.loadingFailed": t.finished,
	} {
		t.cdp.On(method, see)
	}
	tree, err := t.cdp.Send("Page.getFrameTree", nil)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.frame = text(tree, "frameTree", "frame", "id")
	t.mu.Unlock()
	err = t.send(
		// Playwright has said it too, but for the brands.
		command{"Emulation.setUserAgentOverride", id.override(version)},
		command{"Page.enable", nil},
		command{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": interruptible}},
		command{"Network.enable", map[string]any{"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}},
		// For the questions of proxy and sites to come here: Chromium would show a window for one that nothing answers.
		command{"Fetch.enable", map[string]any{
			"handleAuthRequests": true, "patterns": []map[string]string{{"urlPattern": "*"}},
		}},
	)
	if err != nil {
		return err
	}
	return t.setCookies(t.secrets)
}

// What follows is called by the library, one at a time, and must not call it.

// nuisance counts a dialog or popup of the page.
func (t *tab) nuisance() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nuisances++; t.nuisances == maxNuisances {
		t.bother()
	}
}

func (t *tab) requested(params map[string]any) {
	id, kind := text(params, "requestId"), text(params, "type")
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind == "Document" && text(params, "frameId") == t.frame {
		address, _, _ := strings.Cut(text(params, "request", "url"), "#")
		switch {
		case len(address) > fetch.MaxAddressBytes:
			t.lose(fault.Newf(fault.Invalid, "it leads to an address of %d bytes, the most is %d", len(address),
				fetch.MaxAddressBytes))
		case len(t.trail) == 0 || t.trail[len(t.trail)-1] != address:
			t.trail = append(t.trail, address)
		}
		if t.documents++; t.documents > maxDocuments+1 {
			t.lose(fault.Newf(fault.Invalid, "endless redirects"))
		}
		t.coming, t.size = id, 0
	}
	// Those of other forms are documents and workers, whose end other events report; the load event waits for them.
	if !strings.Contains(id, ".") || kind == "EventSource" || kind == "Ping" || len(t.waiting) >= maxRequests {
		return
	}
	t.waiting[id], t.active = struct{}{}, time.Now()
}

func (t *tab) answered(params map[string]any) {
	if text(params, "type") != "Document" || text(params, "frameId") != t.frame {
		return
	}
	status, _ := number(params["response"].(map[string]any)["status"])
	a := &answer{url: text(params, "response", "url"), status: status, header: http.Header{}}
	a.header.Set("Content-Type", text(params, "response", "mimeType"))
	given, _ := params["response"].(map[string]any)["headers"].(map[string]any)
	for name, value := range given {
		if said, _ := value.(string); strings.EqualFold(name, "Content-Type") {
			a.header.Set("Content-Type", said)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.responses[text(params, "loaderId")] = a
}

func (t *tab) received(params map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text(params, "requestId") != t.coming {
		return
	}
	n, _ := number(params["dataLength"])
	if t.size += n; t.size > fetch.MaxPageBytes {
		t.lose(tooLarge())
	}
}

func (t *tab) finished(params map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := text(params, "requestId"); t.waiting != nil {
		if _, ok := t.waiting[id]; ok {
			delete(t.waiting, id)
			t.active = time.Now()
		}
	}
}

func (t *tab) navigated(params map[string]any) {
	if text(params, "frame", "parentId") != "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.responses[text(params, "frame", "loaderId")]; a != nil {
		t.document = a
	}
}

// idle says whether no request was under way for that long.
func (t *tab) idle(stable time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == 0 && time.Since(t.active) >= stable && t.visit.quiet() >= stable
}

// navigate sends the page to its address and returns when the first byte of an answer is there.
func (t *tab) navigate(ctx context.Context) error {
	result, err := t.call(ctx, "Page.navigate", map[string]any{"url": t.address})
	if err != nil {
		return err
	}
	code, failed := strings.CutPrefix(text(result, "errorText"), "net::")
	switch {
	case !failed || code == "ERR_HTTP_RESPONSE_CODE_FAILURE": // a status without a body, for which there is a page of Chromium's own
		return nil
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	t.mu.Lock()
	answered := len(t.responses) > 0 || result["isDownload"] == true
	t.mu.Unlock()
	if code == "ERR_ABORTED" && !answered && t.visit.failure() == nil { // not by the site
		return errCrashed
	}
	return unreached(code, t.visit)
}

// stableAfter is the time without a request and without a change after which a page is stable.
const stableAfter = 500 * time.Millisecond

// settle waits until the page is stable, or it is time to take it as it is: then it returns false.
func (t *tab) settle(ctx context.Context, takeAt time.Time) (stable bool, err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	quiet, loaded := stableAfter, false
	until, cancel := context.WithDeadline(t.enough, takeAt)
	defer cancel()
	for {
		unchanged, complete := t.look(until)
		if complete && !loaded {
			loaded = true
			var sooner context.CancelFunc
			until, sooner = context.WithTimeout(until, t.l.d.o.Settle)
			defer sooner()
		}
		if complete && unchanged >= quiet && t.idle(quiet) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-t.enough.Done():
			t.stop()
			return false, nil
		case <-until.Done():
			return false, nil
		case <-tick.C:
		}
	}
}

// watch is since when nothing has changed in the document, in milliseconds, below 0 before its load event. It is run
// in a world of ours, which the page's scripts cannot change.
const watch = `(() => {
	globalThis.changed ??= performance.now();
	globalThis.observer ??= (() => {
		const o = new MutationObserver(() => { globalThis.changed = performance.now() });
		o.observe(document, {subtree: true, childList: true, characterData: true,
			attributeFilter: ["src", "href", "content", "value"]});
		return o;
	})();
	return document.readyState === "complete" ? performance.now() - globalThis.changed : -1;
})()`

// look is for how long the document is unchanged, and whether it is complete. A page that is busy, or between two
// documents, is neither.
func (t *tab) look(ctx context.Context) (unchanged time.Duration, complete bool) {
	result, err := t.evaluate(ctx, watch)
	if err != nil {
		return 0, false
	}
	n, ok := number(result)
	return time.Duration(n) * time.Millisecond, ok && n >= 0
}

// stop ends the page's scripts and its requests. It does not wait: a page that is busy answers late.
func (t *tab) stop() {
	t.stopped = true
	for _, step := range []command{
		{"Emulation.setScriptExecutionDisabled", map[string]any{"value": true}},
		{"Runtime.terminateExecution", nil},
		{"Page.stopLoading", nil},
	} {
		t.owned.Go(func() { _, _ = t.cdp.Send(step.method, step.params) })
	}
}

// content is the document as it is now. Scripts that keep the page busy are stopped.
func (t *tab) content(ctx context.Context) ([]byte, error) {
	for tries := 0; ; tries++ {
		soon, cancel := context.WithTimeout(ctx, stopGrace)
		html, err := t.html(soon)
		class := fault.ClassOf(err)
		busy := soon.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil || class == fault.Invalid: // too large
			return html, err
		case busy && !t.stopped:
			t.stop()
		case !busy && tries >= maxDocuments:
			return nil, err
		}
		select { // it is between two documents
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// screenshot is a PNG of the page, nil where none can be made.
func (t *tab) screenshot(ctx context.Context) []byte {
	height := float64(pageHeight)
	if sizes, err := t.call(ctx, "Page.getLayoutMetrics", nil); err == nil {
		size, _ := sizes["cssContentSize"].(map[string]any)
		if n, ok := number(size["height"]); ok {
			height = float64(min(max(n, pageHeight), maxScreenshotHeight))
		}
	}
	for _, height := range []float64{height, pageHeight} {
		soon, cancel := context.WithTimeout(ctx, 2*stopGrace)
		shot, err := t.call(soon, "Page.captureScreenshot", map[string]any{
			"format": "png", "captureBeyondViewport": height > pageHeight,
			"clip": map[string]any{"x": 0, "y": 0, "width": pageWidth, "height": height, "scale": 1},
		})
		cancel()
		png, bad := base64.StdEncoding.DecodeString(text(shot, "data"))
		if err == nil && bad == nil && len(png) > 0 && len(png) <= maxScreenshotBytes {
			return png
		}
	}
	return nil
}

// explain turns an error into a fault by its cause: time, network, page or Chromium.
func (t *tab) explain(ctx context.Context, err error) error {
	if known := t.known(ctx, err); known != nil {
		return known
	}
	if t.l.down() {
		t.l.lost(errDied)
	}
	if cause := context.Cause(t.l.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, errDied) {
		return err
	}
	return fmt.Errorf("%w: %s", errDied, briefly(err))
}
