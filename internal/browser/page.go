package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// maxWait is how long an element that is waited for may take. Without it the page is returned as it is.
const maxWait = 10 * time.Second

var (
	errTimeout = errors.New("timed out")
	errCrashed = fmt.Errorf("page crashed: %w", errDied)
)

// visitor is one page in a context of its own.
type visitor struct {
	g      *generation
	r      web.Request
	visit  *visit
	cancel context.CancelCauseFunc

	context playwright.BrowserContext
	once    sync.Once // closes context
	page    playwright.Page
	session playwright.CDPSession
	events  chan event

	mu       sync.Mutex
	frame    string  // the main one
	document *answer // what the main document was answered with, redirects followed
	changed  bool    // the request is the one that was asked for
}

// answer is the beginning of a response.
type answer struct {
	url    string
	status int
	header http.Header
}

// event is a message of the DevTools protocol. They are handled one by one, outside the library's goroutine.
type event struct {
	method string
	params map[string]any
}

// load opens a page and returns its content. Its error is a fault, the caller's own, or wraps errDied.
func (g *generation) load(ctx context.Context, r web.Request) (p web.Page, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.b.o.Timeout, errTimeout)
	defer cancel()
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	defer context.AfterFunc(g.ctx, func() { lose(context.Cause(g.ctx)) })()
	v := &visitor{g: g, r: r, cancel: lose, events: make(chan event, 1024)}
	v.visit = g.b.proxy.begin(func() { lose(tooLarge()) })
	defer g.b.proxy.end(v.visit)

	// Calls to the driver know no context: they are made to fail by closing what they are about.
	done := make(chan struct{})
	var owned sync.WaitGroup
	opened := make(chan struct{})
	owned.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		g.bounded(callGrace, func() {
			select {
			case <-opened:
				v.close()
			case <-done:
			}
			<-done
		})
	})
	owned.Go(func() { v.handle(done) })
	p, err = v.load(ctx, opened)
	// Before nobody answers Chromium's questions any more: it goes on with what was not answered when its page is closed.
	g.b.proxy.end(v.visit)
	close(done)
	g.bounded(callGrace, func() {
		if v.context != nil {
			v.close()
		}
		owned.Wait()
	})
	if err != nil {
		return web.Page{}, v.explain(ctx, err)
	}
	return p, nil
}

// load does the work. Its error is the driver's or a fault.
func (v *visitor) load(ctx context.Context, opened chan<- struct{}) (web.Page, error) {
	if err := v.open(opened); err != nil {
		return web.Page{}, err
	}
	deadline, _ := ctx.Deadline()
	response, err := v.page.Goto(v.r.URL, playwright.PageGotoOptions{
		WaitUntil: playwright.WaitUntilStateDomcontentloaded, Timeout: milliseconds(time.Until(deadline) + time.Second),
	})
	v.mu.Lock()
	document := v.document
	v.mu.Unlock()
	if err != nil && (document == nil || !strings.Contains(err.Error(), "net::ERR_HTTP_RESPONSE_CODE_FAILURE")) {
		return web.Page{}, err
	}
	if document == nil {
		return web.Page{}, fault.Newf(fault.Transient, "no answer was seen")
	}
	p := web.Page{
		Asked: v.r.URL, URL: document.url, Status: document.status, ContentType: document.header.Get("Content-Type"),
		RetryAfter: fetch.RetryAfter(document.header.Get("Retry-After"), v.g.b.o.Now(), web.MaxRetryAfter),
	}
	switch kind, _, _ := strings.Cut(strings.ToLower(p.ContentType), ";"); {
	case err != nil: // an error without a body, for which Chromium shows a page of its own
		return p, nil
	case kind == "" || kind == "text/html" || kind == "application/xhtml+xml":
		p.Body, err = v.content(ctx)
	case length(document.header) > fetch.MaxPageBytes:
		err = tooLarge()
	default:
		p.Body, err = response.Body()
		p.Body = bytes.ToValidUTF8(p.Body, []byte("\ufffd")) // Chromium has decoded text already
	}
	if err == nil && len(p.Body) > fetch.MaxPageBytes {
		err = tooLarge()
	}
	return p, err
}

// close ends the page, whatever it is doing: calls to the driver about it fail.
func (v *visitor) close() { v.once.Do(func() { _ = v.context.Close() }) }

func tooLarge() error {
	return fault.Newf(fault.Invalid, "page is larger than %d MiB", fetch.MaxPageBytes>>20)
}

func milliseconds(d time.Duration) *float64 { return playwright.Float(float64(d.Milliseconds())) }

// open makes a context with an identity of its own and an empty page.
func (v *visitor) open(opened chan<- struct{}) error {
	id := pick(v.g.b.o.Rand, v.g.languages)
	c, err := v.g.browser.NewContext(playwright.BrowserNewContextOptions{
		AcceptDownloads: playwright.Bool(false), UserAgent: playwright.String(id.userAgent(v.g.version)),
		Locale: &id.languages[0], TimezoneId: playwright.String("America/Toronto"),
		NoViewport: playwright.Bool(true),
	})
	if err != nil {
		return err
	}
	v.context = c
	close(opened)
	if v.page, err = c.NewPage(); err != nil {
		return err
	}
	v.page.OnCrash(func(playwright.Page) { v.cancel(errCrashed) })
	if v.session, err = c.NewCDPSession(v.page); err != nil {
		return err
	}
	for _, method := range []string{"Fetch.requestPaused", "Fetch.authRequired"} {
		v.session.On(method, func(params map[string]any) {
			select {
			case v.events <- event{method, params}:
			default: // a flood; what is not answered is not loaded
			}
		})
	}
	found, err := v.session.Send("Browser.getWindowForTarget", nil)
	if err != nil {
		return err
	}
	window, _ := found.(map[string]any)
	for _, step := range []event{
		// Playwright has said it too, without brands and with one language only.
		{"Emulation.setUserAgentOverride", id.override(v.g.version)},
		{"Page.enable", nil},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": hide}},
		// A window as large as its screen, and a page that is smaller by the window's bars: not one size for all, as
		// Playwright's viewport is.
		{"Browser.setWindowBounds", map[string]any{"windowId": window["windowId"], "bounds": map[string]any{
			"left": 0, "top": 0, "width": id.width, "height": id.height,
		}}},
		{"Emulation.setDeviceMetricsOverride", map[string]any{
			"width": 0, "height": 0, "deviceScaleFactor": id.scale, "mobile": false,
			"screenWidth": id.width, "screenHeight": id.height,
		}},
		// Documents are looked at on their way; of what else would be asked for, images and the like are not.
		{"Fetch.enable", map[string]any{"handleAuthRequests": true, "patterns": v.patterns()}},
	} {
		if _, err := v.session.Send(step.method, step.params); err != nil {
			return fmt.Errorf("%s: %w", step.method, err)
		}
	}
	return nil
}

// hide takes away what Playwright leaves in every frame for scripts in the page's own world: we run none there. The
// second can be deleted only in a driver as devstack lays it out.
const hide = `delete globalThis.__playwright__binding__; delete globalThis.__playwright_builtins__`

func (v *visitor) patterns() []map[string]string {
	list := []map[string]string{
		{"resourceType": "Document", "requestStage": "Request"}, // also for the proxy's question to be passed on
		{"resourceType": "Document", "requestStage": "Response"},
		{"urlPattern": "*/favicon.ico"},
	}
	for _, kind := range []string{"Image", "Font", "Media"} {
		list = append(list, map[string]string{"resourceType": kind, "requestStage": "Request"})
	}
	return list
}

// handle answers Chromium's questions until the page is done.
func (v *visitor) handle(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case e := <-v.events:
			method, params := v.answer(e)
			_, _ = v.session.Send(method, params) // fails where the page has gone on
		}
	}
}

// answer is what to say to an event.
func (v *visitor) answer(e event) (method string, params map[string]any) {
	id := e.params["requestId"]
	if e.method == "Fetch.authRequired" {
		say := v.visit.credentials(e.params)
		return "Fetch.continueWithAuth", map[string]any{"requestId": id, "authChallengeResponse": say}
	}
	if e.params["resourceType"] != "Document" {
		return "Fetch.failRequest", map[string]any{"requestId": id, "errorReason": "BlockedByClient"}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	frame, _ := e.params["frameId"].(string)
	if v.frame == "" {
		v.frame = frame // the first document is the page's own
	}
	request, _ := e.params["request"].(map[string]any)
	if status, ok := number(e.params["responseStatusCode"]); ok {
		if frame == v.frame {
			address, _ := request["url"].(string)
			v.document = &answer{url: address, status: status, header: headers(e.params["responseHeaders"])}
		}
		return "Fetch.continueRequest", map[string]any{"requestId": id}
	}
	params = map[string]any{"requestId": id}
	asks := v.r.Form != nil || len(v.r.Header) > 0
	if asks && e.params["responseErrorReason"] == nil && frame == v.frame && !v.changed {
		v.changed = true
		maps.Copy(params, v.asked(request))
	}
	return "Fetch.continueRequest", params
}

// asked changes the document's request into the one that was asked for: its headers, its form.
func (v *visitor) asked(request map[string]any) map[string]any {
	out := map[string]any{}
	header := map[string]string{}
	given, _ := request["headers"].(map[string]any)
	for name, value := range given {
		header[http.CanonicalHeaderKey(name)], _ = value.(string)
	}
	if v.r.Form != nil {
		out["method"] = http.MethodPost
		out["postData"] = base64.StdEncoding.EncodeToString([]byte(url.Values(v.r.Form).Encode()))
		header["Content-Type"] = "application/x-www-form-urlencoded"
	}
	for name, value := range v.r.Header {
		if name = http.CanonicalHeaderKey(name); name != "User-Agent" && name != "Accept-Language" { // the identity's
			header[name] = value
		}
	}
	var list []map[string]string
	for name, value := range header {
		list = append(list, map[string]string{"name": name, "value": value})
	}
	out["headers"] = list
	return out
}

// content is the document as it is now. What the page's scripts have made of JavaScript does not matter to it.
func (v *visitor) content(ctx context.Context) ([]byte, error) {
	if v.r.Wait != "" {
		deadline, _ := ctx.Deadline()
		err := v.page.Locator(v.r.Wait).First().WaitFor(playwright.LocatorWaitForOptions{
			State: playwright.WaitForSelectorStateAttached, Timeout: milliseconds(min(maxWait, time.Until(deadline)/2)),
		})
		if err != nil && !errors.Is(err, playwright.ErrTimeout) {
			return nil, err
		}
	}
	v.mu.Lock()
	frame := v.frame
	v.mu.Unlock()
	world, err := v.session.Send("Page.createIsolatedWorld", map[string]any{"frameId": frame})
	if err != nil {
		return nil, err
	}
	made, _ := world.(map[string]any)
	result, err := v.session.Send("Runtime.evaluate", map[string]any{
		"contextId": made["executionContextId"], "returnByValue": true,
		"expression": fmt.Sprintf(serialize, fetch.MaxPageBytes),
	})
	if err != nil {
		return nil, err
	}
	evaluated, _ := result.(map[string]any)
	value, _ := evaluated["result"].(map[string]any)
	text, ok := value["value"].(string)
	if !ok {
		return nil, tooLarge()
	}
	return []byte(strings.ToValidUTF8(text, "\ufffd")), nil
}

// serialize is null where the document is too large to be handed over.
const serialize = `(() => {
	const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
	const text = type + (document.documentElement ? document.documentElement.outerHTML : "");
	return text.length > %d ? null : text;
})()`

// explain turns an error into a fault by what it was about: time, network, page or Chromium.
func (v *visitor) explain(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return fault.Newf(fault.Transient, "%w after %s", errTimeout, v.g.b.o.Timeout)
	case cause != nil:
		return cause // the caller's own, ErrClosed, errDied, or a fault
	}
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	text := briefly(err).Error()
	if _, code, ok := strings.Cut(text, "net::"); ok {
		code, _, _ = strings.Cut(code, " ")
		return unreached(code, v.visit)
	}
	switch {
	case strings.Contains(text, "Download is starting"):
		return noPage()
	case errors.Is(err, playwright.ErrTimeout):
		return fault.Newf(fault.Transient, "%w after %s", errTimeout, v.g.b.o.Timeout)
	}
	v.g.watch() // the driver says little about what has become of Chromium
	if !v.g.browser.IsConnected() {
		v.g.lost(reasonCrash)
	}
	return fmt.Errorf("%w: %s", errDied, text)
}

// unreached turns Chromium's name for a failed navigation into a fault; the proxy may know more.
func unreached(code string, v *visit) error {
	if failure := v.failure(); failure != nil {
		return fetch.Fault(fetch.Refused(failure))
	}
	switch code {
	case "ERR_ABORTED":
		return noPage()
	case "ERR_TOO_MANY_REDIRECTS", "ERR_UNSAFE_PORT", "ERR_INVALID_REDIRECT", "ERR_UNSAFE_REDIRECT",
		"ERR_UNKNOWN_URL_SCHEME", "ERR_DISALLOWED_URL_SCHEME":
		return fault.Newf(fault.Invalid, "%s", code)
	}
	return fault.Newf(fault.Transient, "%s", code)
}

func noPage() error {
	return fault.Newf(fault.Invalid, "not a page: a download, or an answer without one")
}

// length is that of the header, 0 where it says none.
func length(h http.Header) int {
	n, _ := strconv.Atoi(h.Get("Content-Length"))
	return n
}

func headers(list any) http.Header {
	out := http.Header{}
	all, _ := list.([]any)
	for _, one := range all {
		h, _ := one.(map[string]any)
		name, _ := h["name"].(string)
		value, _ := h["value"].(string)
		out.Add(name, value)
	}
	return out
}

// number reads a number of JSON, whatever type the library has made of it.
func number(x any) (int, bool) {
	switch n := x.(type) {
	case float64:
		return int(n), true
	case int:
		return n, true
	}
	return 0, false
}
