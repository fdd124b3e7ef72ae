package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// How long an element that is waited for may take, and all documents of a page that are to have loaded everything.
// After that the page is returned as it is.
const (
	maxWait  = 10 * time.Second
	maxQuiet = 5 * time.Second
)

// visitor loads a page as a visitor's browser does.
type visitor struct {
	session
	g       *generation
	r       web.Request
	changed bool               // the request is the one that was asked for; by handle only
	answers map[string]*answer // of the main frame's documents, by navigation; session.mu guards it
	until   time.Time          // when what scripts load is waited for no longer, on all documents together

	loaded atomic.Bool // the document is there, whatever its scripts load
	full   atomic.Bool // the page has received too much, and receives nothing more
}

// load opens a page and returns its content. Its error is a fault, the caller's own, or wraps errDied.
func (g *generation) load(ctx context.Context, r web.Request) (p web.Page, err error) {
	v := &visitor{g: g, r: r, answers: map[string]*answer{}}
	v.session = session{engine: &g.engine, proxy: g.b.proxy, timeout: g.b.o.Timeout, answer: v.continued,
		over: v.filled}
	if !r.Proxy.IsZero() {
		if g.b.o.Through == nil {
			return web.Page{}, fault.Newf(fault.Invalid, "proxy: this browser goes through none")
		}
		v.dial = g.b.o.Through(r.Proxy)
	}
	err = v.run(ctx, func(ctx context.Context, opened chan<- struct{}) error {
		p, err = v.load(ctx, opened)
		return err
	}, v.explain)
	if err != nil {
		return web.Page{}, err
	}
	return p, nil
}

// filled notes that the page has received too much. That is the end of one whose document is still coming in.
func (v *visitor) filled() {
	v.full.Store(true)
	if !v.loaded.Load() {
		v.lose(tooLarge())
	}
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
	if err != nil { // an error without a body, for which Chromium shows a page of its own
		if document == nil || !strings.Contains(err.Error(), "net::ERR_HTTP_RESPONSE_CODE_FAILURE") {
			return web.Page{}, err
		}
		return v.answered(document, nil), nil
	}
	if document == nil {
		return web.Page{}, fault.Newf(fault.Transient, "no response was received")
	}
	v.loaded.Store(true)
	if document, _, err = v.shown(ctx); err != nil {
		return web.Page{}, err
	}
	var body []byte
	switch kind, _ := web.MediaType(contentType(document.header)); {
	case kind == "" || kind == "text/html" || kind == "application/xhtml+xml":
		document, body, err = v.settled(ctx, document)
	case length(document.header) > fetch.MaxPageBytes || v.full.Load():
		err = tooLarge()
	default:
		body, err = response.Body()
		body = bytes.ToValidUTF8(body, []byte("\ufffd")) // Chromium has decoded text already
	}
	if err == nil && len(body) > fetch.MaxPageBytes {
		err = tooLarge()
	}
	return v.answered(document, body), err
}

// answered is the page of a document.
func (v *visitor) answered(document *answer, body []byte) web.Page {
	return web.Page{
		Asked: v.r.URL, URL: document.url, Status: document.status, ContentType: contentType(document.header),
		RetryAfter: fetch.RetryAfter(document.header.Get("Retry-After"), v.g.b.o.Now(), web.MaxRetryAfter), Body: body,
	}
}

// shown is the document that the page shows now. The last answer may be that of one which follows by a script, or of a
// download. It counts where the document has no answer of its own. own says that Chromium shows a page of its own, for
// an answer without a body; a page for no answer at all is an error.
func (v *visitor) shown(ctx context.Context) (document *answer, own bool, err error) {
	tree, err := v.call(ctx, "Page.getFrameTree", nil)
	if err != nil {
		return nil, false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	document = v.answers[text(tree, "frameTree", "frame", "loaderId")]
	own = text(tree, "frameTree", "frame", "unreachableUrl") != ""
	if own && document == nil {
		return nil, false, fault.Newf(fault.Transient, "it leads to a page that cannot be loaded")
	}
	return cmp.Or(document, v.document), own, nil
}

// settled is the content of the document that the page shows, and that document. A page that goes on by a script is
// read again, a few times.
func (v *visitor) settled(ctx context.Context, document *answer) (*answer, []byte, error) {
	for tries := 0; ; tries++ {
		body, failed := v.content(ctx)
		if ctx.Err() != nil {
			return document, nil, context.Cause(ctx)
		}
		now, own, err := v.shown(ctx)
		switch {
		case v.full.Load() && (err != nil || now != document):
			return document, nil, tooLarge()
		case err != nil:
			return document, nil, err
		case own:
			return now, nil, nil
		}
		if now == document || tries == maxDocuments {
			return now, body, failed
		}
		document, v.world = now, nil
	}
}

// open makes a context with an identity of its own and an empty page.
func (v *visitor) open(opened chan<- struct{}) error {
	id := pick(v.g.languages)
	err := v.session.open(playwright.BrowserNewContextOptions{
		UserAgent: playwright.String(id.userAgent(v.g.version)),
		Locale:    &id.languages[0], TimezoneId: playwright.String("America/Toronto"),
		NoViewport: playwright.Bool(true),
	}, opened)
	if err != nil {
		return err
	}
	found, err := v.cdp.Send("Browser.getWindowForTarget", nil)
	if err != nil {
		return err
	}
	window, _ := found.(map[string]any)
	return v.send(
		// Playwright has said it too, without brands and with one language only.
		command{"Emulation.setUserAgentOverride", id.override(v.g.version)},
		command{"Page.enable", nil},
		command{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": hide}},
		// A window as large as its screen, and a page that is smaller by the window's bars: not one size for all, as
		// Playwright's viewport is.
		command{"Browser.setWindowBounds", map[string]any{"windowId": window["windowId"], "bounds": map[string]any{
			"left": 0, "top": 0, "width": id.width, "height": id.height,
		}}},
		command{"Emulation.setDeviceMetricsOverride", map[string]any{
			"width": 0, "height": 0, "deviceScaleFactor": id.scale, "mobile": false,
			"screenWidth": id.width, "screenHeight": id.height,
		}},
		// Documents are paused to be read and changed, images and the like to be refused.
		command{"Fetch.enable", map[string]any{"handleAuthRequests": true, "patterns": patterns()}},
	)
}

// hide takes away what Playwright leaves in every frame for scripts in the page's own world: we run none there. The
// second can be deleted only in a driver that package chromium has patched.
const hide = `delete globalThis.__playwright__binding__; delete globalThis.__playwright_builtins__`

func patterns() []map[string]string {
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

// continued answers a request that was paused. A document goes on, changed into the request that was asked for, and its
// response is noted; images and the like are not loaded.
func (v *visitor) continued(paused map[string]any) (method string, params map[string]any) {
	if paused["resourceType"] != "Document" {
		return "Fetch.failRequest", map[string]any{"errorReason": "BlockedByClient"}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	frame, params := text(paused, "frameId"), map[string]any{}
	if v.frame == "" {
		v.frame = frame // the first document is the page's own
	}
	request, _ := paused["request"].(map[string]any)
	if status, ok := number(paused["responseStatusCode"]); ok {
		if frame == v.frame {
			v.document = &answer{url: text(request, "url"), status: status, header: headers(paused["responseHeaders"])}
			if len(v.answers) > maxDocuments { // a page that goes on without end; the latest is all that can be shown
				clear(v.answers)
			}
			v.answers[text(paused, "networkId")] = v.document
		}
		return "Fetch.continueRequest", params
	}
	_, _, post := v.r.Post()
	asks := post || len(v.r.Header) > 0
	if asks && paused["responseErrorReason"] == nil && frame == v.frame && !v.changed {
		v.changed = true
		params = v.requested(request)
	}
	return "Fetch.continueRequest", params
}

// requested changes the document's request into the one that was asked for: its headers, its form.
func (v *visitor) requested(request map[string]any) map[string]any {
	out := map[string]any{}
	header := map[string]string{}
	given, _ := request["headers"].(map[string]any)
	for name, value := range given {
		header[http.CanonicalHeaderKey(name)], _ = value.(string)
	}
	if contentType, body, post := v.r.Post(); post {
		out["method"] = http.MethodPost
		out["postData"] = base64.StdEncoding.EncodeToString([]byte(body))
		header["Content-Type"] = contentType
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

// content is the document once the element that is waited for is there and scripts load nothing more, or both have had
// their time.
func (v *visitor) content(ctx context.Context) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	if v.r.Quiet && v.until.IsZero() {
		v.until = time.Now().Add(min(maxQuiet, time.Until(deadline)/2))
	}
	if left := time.Until(v.until); left >= time.Millisecond { // 0 is for ever
		err := v.page.WaitForLoadState(playwright.PageWaitForLoadStateOptions{
			State: playwright.LoadStateNetworkidle, Timeout: milliseconds(left),
		})
		if err != nil && !errors.Is(err, playwright.ErrTimeout) {
			return nil, err
		}
	}
	if v.r.Wait != "" {
		err := v.page.Locator(v.r.Wait).First().WaitFor(playwright.LocatorWaitForOptions{
			State: playwright.WaitForSelectorStateAttached, Timeout: milliseconds(min(maxWait, time.Until(deadline)/2)),
		})
		if err != nil && !errors.Is(err, playwright.ErrTimeout) {
			return nil, err
		}
	}
	return v.html(ctx)
}

// explain turns an error into a fault by its cause: time, network, page or Chromium.
func (v *visitor) explain(ctx context.Context, err error) error {
	if known := v.known(ctx, err); known != nil {
		return known
	}
	said := briefly(err).Error()
	if _, code, ok := strings.Cut(said, "net::"); ok {
		code, _, _ = strings.Cut(code, " ")
		return unreached(code, v.visit)
	}
	switch {
	case strings.Contains(said, "Download is starting"):
		return noPage()
	case errors.Is(err, playwright.ErrTimeout):
		return fault.Newf(fault.Transient, "%w after %s", errTimeout, v.timeout)
	}
	v.g.watch() // the driver says little about the state of Chromium
	if !v.g.browser.IsConnected() {
		v.g.lost(reasonCrash)
	}
	return fmt.Errorf("%w: %s", errDied, said)
}

// contentType is the type that a header says, all of them where it says several.
func contentType(h http.Header) string { return strings.Join(h.Values("Content-Type"), ", ") }

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
