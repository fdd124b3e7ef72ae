package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// maxRequests bounds the requests of a page that are counted while under way, and held back until they are answered.
const maxRequests = 10_000

var (
	errTimeout = errors.New("timed out")
	errCrashed = fmt.Errorf("page crashed: %w", errDied)
)

// session is one page in a browser context of its own, from its opening to its end. A visitor loads it, a tab captures
// it.
type session struct {
	engine  *engine
	proxy   *proxy
	timeout time.Duration
	// answer returns the command for a request of the page that Chromium has paused; the request's ID is added to it.
	answer func(paused map[string]any) (method string, params map[string]any)
	over   func() // called when the page has received too much
	// dial makes the page's connections, through another proxy; nil = those of proxy.
	dial fetch.Dialer

	visit   *visit
	lose    context.CancelCauseFunc // gives the page up
	owned   sync.WaitGroup          // its goroutines
	context playwright.BrowserContext
	once    sync.Once // closes context
	page    playwright.Page
	cdp     playwright.CDPSession
	asked   chan struct{} // has room for one: there are questions
	world   any           // ours in the page, nil where there is none yet

	mu        sync.Mutex
	questions []map[string]any // of Chromium's, to be answered in their order
	frame     string           // the main one
	document  *answer          // the beginning of the main document's response, redirects followed
}

// answer is the beginning of a response.
type answer struct {
	url    string
	status int
	header http.Header
}

// command is a call of the DevTools protocol.
type command struct {
	method string
	params map[string]any
}

// run calls work with a context that ends after the session's timeout and with the engine, and then ends the page and
// all that was begun for it. work opens the page with the channel that it is given. Its error is explained once the
// page has ended: by then the driver has reported a crash that may be the reason.
func (s *session) run(
	ctx context.Context, work func(ctx context.Context, opened chan<- struct{}) error,
	explain func(ctx context.Context, err error) error,
) error {
	s.engine.open.Add(1)
	defer s.engine.open.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	ctx, s.lose = context.WithCancelCause(ctx)
	defer s.lose(nil)
	defer context.AfterFunc(s.engine.ctx, func() { s.lose(context.Cause(s.engine.ctx)) })()
	s.asked = make(chan struct{}, 1)
	s.visit = s.proxy.begin(s.over, s.dial)
	defer s.proxy.end(s.visit)

	// Calls to the driver take no context: they are made to fail by closing their page.
	done, opened := make(chan struct{}), make(chan struct{})
	s.owned.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		s.engine.bounded(callGrace, func() {
			select {
			case <-opened:
				s.close()
			case <-done:
			}
			<-done
		})
	})
	s.owned.Go(func() { s.handle(done) })
	err := work(ctx, opened)
	// Before the questions go unanswered: Chromium goes on with such requests when it closes their page.
	s.proxy.end(s.visit)
	close(done)
	s.engine.bounded(callGrace, func() {
		if s.context != nil {
			s.close()
		}
		s.owned.Wait()
	})
	if err != nil {
		return explain(ctx, err)
	}
	return nil
}

// close ends the page, whatever it is doing: calls to the driver about it fail.
func (s *session) close() { s.once.Do(func() { _ = s.context.Close() }) }

// open makes a context with an empty page, and a connection to it by the DevTools protocol.
func (s *session) open(o playwright.BrowserNewContextOptions, opened chan<- struct{}) error {
	o.AcceptDownloads = playwright.Bool(false)
	c, err := s.engine.browser.NewContext(o)
	if err != nil {
		return err
	}
	s.context = c
	close(opened)
	if s.page, err = c.NewPage(); err != nil {
		return err
	}
	s.page.OnCrash(func(playwright.Page) { s.lose(errCrashed) })
	if s.cdp, err = c.NewCDPSession(s.page); err != nil {
		return err
	}
	s.cdp.On("Fetch.requestPaused", s.ask)
	s.cdp.On("Fetch.authRequired", s.ask)
	return nil
}

// send makes calls of the protocol in their order, to the first that fails.
func (s *session) send(commands ...command) error {
	for _, c := range commands {
		if _, err := s.cdp.Send(c.method, c.params); err != nil {
			return fmt.Errorf("%s: %w", c.method, err)
		}
	}
	return nil
}

// ask passes on a question of Chromium's. Each is a request that waits for its answer, and the page for it. Beyond
// maxRequests of them some are lost, and not loaded. The library calls it, so it must not call the library.
func (s *session) ask(params map[string]any) {
	s.mu.Lock()
	if len(s.questions) < maxRequests {
		s.questions = append(s.questions, params)
	}
	s.mu.Unlock()
	select {
	case s.asked <- struct{}{}:
	default:
	}
}

// handle answers Chromium's questions until the page is done.
func (s *session) handle(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-s.asked:
		}
		s.mu.Lock()
		questions := s.questions
		s.questions = nil
		s.mu.Unlock()
		for _, asked := range questions {
			select {
			case <-done:
				return
			default:
			}
			method, params := "Fetch.continueWithAuth", map[string]any{}
			if asked["authChallenge"] != nil {
				params["authChallengeResponse"] = s.visit.credentials(asked)
			} else {
				method, params = s.answer(asked)
				if method == "Fetch.continueRequest" {
					readable(asked, params)
				}
			}
			params["requestId"] = asked["requestId"]
			_, _ = s.cdp.Send(method, params) // fails where the page has gone on
		}
	}
}

// readable has a paused request of http ask for a path that our proxy can read: the server of net/http refuses one
// with a bare percent sign, and Chromium would take that for the site's answer.
func readable(paused, params map[string]any) {
	address := text(paused, "request", "url")
	path, query, has := strings.Cut(address, "?")
	read := contract.Escaped(path)
	if _, answered := paused["responseStatusCode"]; answered || read == path || !strings.HasPrefix(address, "http:") {
		return
	}
	if has {
		read += "?" + query
	}
	params["url"] = read
}

// call is a call of the protocol that is given up when ctx ends.
func (s *session) call(ctx context.Context, method string, params map[string]any) (map[string]any, error) {
	type reply struct {
		result any
		err    error
	}
	back := make(chan reply, 1)
	s.owned.Go(func() {
		result, err := s.cdp.Send(method, params)
		back <- reply{result, err}
	})
	select {
	case r := <-back:
		result, _ := r.result.(map[string]any)
		return result, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// evaluate runs an expression in a world of ours in the page, which the page's scripts cannot change.
func (s *session) evaluate(ctx context.Context, expression string) (any, error) {
	if s.world == nil {
		s.mu.Lock()
		frame := s.frame
		s.mu.Unlock()
		made, err := s.call(ctx, "Page.createIsolatedWorld", map[string]any{"frameId": frame, "worldName": "conveyor"})
		if err != nil {
			return nil, err
		}
		s.world = made["executionContextId"]
	}
	result, err := s.call(ctx, "Runtime.evaluate", map[string]any{
		"contextId": s.world, "returnByValue": true, "expression": expression,
	})
	if err != nil {
		if ctx.Err() == nil {
			s.world = nil // it ended with its document
		}
		return nil, err
	}
	value, _ := result["result"].(map[string]any)
	return value["value"], nil
}

// serialize is null where the document is too large to be handed over. What scripts have put into shadow roots, which a
// visitor sees as any other part of the page, is written as HTML writes it, in <template shadowrootmode="open">, unless
// that is too large. Elements have properties of a document, and of a form, by their names: those are not asked for.
const serialize = `(() => {
	const get = (type, of, name) => Reflect.get(type.prototype, name, of);
	const fits = s => s.length <= %[1]d && new TextEncoder().encode(s).length <= %[1]d;
	const doctype = get(Document, document, "doctype"), root = get(Document, document, "documentElement");
	const type = doctype ? new XMLSerializer().serializeToString(doctype) : "";
	const text = type + (root ? root.outerHTML : ""), shadowRoots = [];
	for (let roots = root ? [root] : []; roots.length > 0;) {
		for (const e of roots.pop().querySelectorAll("*")) {
			const shadow = get(Element, e, "shadowRoot");
			if (shadow) {
				shadowRoots.push(shadow);
				roots.push(shadow);
			}
		}
	}
	if (shadowRoots.length > 0) {
		const shell = root.cloneNode(false).outerHTML, end = shell.lastIndexOf("</");
		const whole = type + shell.slice(0, end) + root.getHTML({shadowRoots}) + shell.slice(end);
		if (fits(whole)) return whole;
	}
	return fits(text) ? text : null;
})()`

// html is the document as it is now, in UTF-8.
func (s *session) html(ctx context.Context) ([]byte, error) {
	value, err := s.evaluate(ctx, fmt.Sprintf(serialize, fetch.MaxPageBytes))
	if err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok || len(text) > fetch.MaxPageBytes {
		return nil, tooLarge()
	}
	return bytes.ToValidUTF8([]byte(text), []byte("\ufffd")), nil
}

func tooLarge() error {
	return fault.Newf(fault.Invalid, "page is larger than %d MiB", fetch.MaxPageBytes>>20)
}

// known is the error of a page that was given up (the caller's own, ErrClosed, errDied, or a fault), or a fault as it
// is. It is nil for an error of the driver's.
func (s *session) known(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return fault.Newf(fault.Transient, "%w after %s", errTimeout, s.timeout)
	case cause != nil:
		return cause
	}
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	return nil
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
	return fault.Newf(fault.Invalid, "not a page: a download, or an empty response")
}

func milliseconds(d time.Duration) *float64 { return playwright.Float(float64(d.Milliseconds())) }

// text is a string in a message of the protocol, "" where there is none.
func text(message any, path ...string) string {
	for _, name := range path {
		object, _ := message.(map[string]any)
		message = object[name]
	}
	s, _ := message.(string)
	return s
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
