package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/chromium"
)

// DevtoolsOptions are the settings of Devtools. A zero field takes its default.
type DevtoolsOptions struct {
	// URL is the DevTools endpoint of a Chromium; default http://127.0.0.1:9222. ws, wss and https will do too. Its path
	// does not matter. Its user, password and query are passed on, and shown nowhere.
	URL    string
	Driver string // as in Options
	// Dial makes the connections of pages, see fetch.Dial. Required.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// ProxyHost is where Chromium reaches our proxy: a host, or host:port for a fixed port. Default is the address of this
	// process on the way to URL. With a name the proxy listens on all interfaces: it serves no client but our pages.
	ProxyHost string

	Pages   int           // at once; default 2
	Timeout time.Duration // for one page, all in all; default 30 s
	TakeAt  time.Duration // after which a page that is there is taken as it is; default 5/6 of Timeout
	Settle  time.Duration // after its load event, in which a page may become stable; default 10 s

	Now        func() time.Time // default time.Now
	Log        *slog.Logger     // default slog.Default
	Registerer prometheus.Registerer
}

// Devtools captures pages in a Chromium that another process runs. It is safe for concurrent use, and several processes
// may share one Chromium.
//
// Each page has a browser context of its own. Chromium itself ends those of a client that is gone. All requests of a
// page go through our proxy, and ask for an http address as such, if Chromium is started with chromium.Advised: without
// them WebRTC sends UDP past the proxy.
type Devtools struct {
	o       DevtoolsOptions
	metrics *devtoolsMetrics
	slots   *semaphore.Weighted
	owned   sync.WaitGroup // the links' goroutines

	mu     sync.Mutex
	closed bool
	proxy  *proxy
	link   *link // nil before the first page, and after its end
	all    map[*link]struct{}
}

// NewDevtools opens nothing.
func NewDevtools(o DevtoolsOptions) *Devtools {
	o.URL = cmp.Or(o.URL, "http://127.0.0.1:9222")
	o.Driver = cmp.Or(o.Driver, chromium.DefaultDriver())
	o.Pages = cmp.Or(o.Pages, 2)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.TakeAt = cmp.Or(o.TakeAt, o.Timeout*5/6)
	o.Settle = cmp.Or(o.Settle, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Devtools{
		o: o, metrics: newDevtoolsMetrics(o.Registerer), slots: semaphore.NewWeighted(int64(o.Pages)),
		all: map[*link]struct{}{},
	}
}

// CheckDevtools says whether Chromium answers and lets itself be driven. The connection is kept for the pages. Its
// errors are web.ErrNoBrowser, fault.Transient, and say what to do; or, where it was stopped, ErrClosed or the cause
// of ctx's end, without a class.
func (d *Devtools) CheckDevtools(ctx context.Context) error {
	_, err := d.check(ctx)
	return err
}

func (d *Devtools) check(ctx context.Context) (*link, error) {
	e, err := parseEndpoint("CHROME_DEVTOOLS_URL", d.o.URL)
	if err != nil {
		return nil, fault.Newf(fault.Transient, "check devtools: %w: %w", web.ErrNoBrowser, err)
	}
	var l *link
	ws, err := e.version(ctx)
	if err == nil {
		l, err = d.enter(ctx, e, ws)
	}
	switch {
	case err == nil:
		return l, nil
	case d.isClosed():
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fault.Newf(fault.Transient, "check devtools at %s: %w: %w", e.at, web.ErrNoBrowser, err)
}

func (d *Devtools) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Capture opens the page and takes it once it is stable: its load event was, no request is under way, and nothing is
// added to it, removed or rewritten. What only moves (style, class) does not count. A page that does not become stable
// is taken as it is, Unstable: Settle after its load event, TakeAt after it was asked for, or as soon as it has shown
// 20 dialogs and popups. A page with a status of 400 or more is returned like any other.
//
// The site is told locale, and then its language alone: fr-CA, fr. "" is en-US. Workers of the page know Chromium's own
// languages only.
//
// The headers of s are sent with each request of the page to the origin of its address, and to no other: not to another
// host or scheme that it redirects to, nor to those that its frames and pictures are of. Its cookies are sent to the
// host of the address, as cookies are.
//
// What goes beyond 32 MiB over the network is not loaded. The screenshot is of the whole page, at most 8,000 pixels
// high, or where that would be above 5 MiB of its top; it is nil where Chromium cannot make one.
//
// The faults: a *web.Refusal (Throttled) where the connection is refused; Gone for a host that does not exist;
// Transient for timeouts, trouble of the network, and a Chromium that is away or died; Invalid for an address that is
// not public http(s) or leads to one above fetch.MaxAddressBytes, a download, an endless redirect, a document above
// fetch.MaxPageBytes, and a cookie that Chromium does not take. What else fails before the site was asked for anything
// is web.ErrNoBrowser too. A Capture that is stopped says nothing of the page: its error
// is ErrClosed or the cause of ctx's end, without a class.
//
// A page that is lost because another one could not be ended is opened once more, with a Timeout of its own. So is one
// that was not opened because the connection to Chromium was lost.
func (d *Devtools) Capture(ctx context.Context, address, locale string, s draft.Secrets) (draft.Capture, error) {
	u, err := pageAddress(address)
	if err != nil {
		return draft.Capture{}, fmt.Errorf("capture page: %w", err)
	}
	if err := d.slots.Acquire(ctx, 1); err != nil {
		return draft.Capture{}, context.Cause(ctx)
	}
	defer d.slots.Release(1)
	d.metrics.open.Inc()
	began := time.Now()
	c, err := d.capture(ctx, u, locale, s)
	d.metrics.open.Dec()
	d.metrics.seconds.Observe(time.Since(began).Seconds())
	result := outcome(ctx, err)
	if c.Unstable {
		result = "unstable"
	}
	d.metrics.pages.WithLabelValues(result).Inc()
	if err != nil {
		return draft.Capture{}, fmt.Errorf("capture %s: %w", web.Show(u), err)
	}
	c.Asked = address
	return c, nil
}

var (
	errUnopened = errors.New("no page was opened")
	errKilled   = fmt.Errorf("%w: its driver was stopped because another page did not close", errDied)
)

func (d *Devtools) capture(ctx context.Context, address, locale string, s draft.Secrets) (draft.Capture, error) {
	var lost error // the first try, where there is a second
	for {
		l, err := d.current(ctx)
		var c draft.Capture
		if err == nil {
			c, err = l.capture(ctx, address, locale, s)
		}
		unopened := errors.Is(err, errUnopened) || errors.Is(err, web.ErrNoBrowser)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return c, context.Cause(ctx)
		case errors.Is(err, ErrClosed):
			return c, ErrClosed
		case lost == nil && errors.Is(err, errDied) && (unopened || errors.Is(err, errKilled)):
			lost = err
		case unopened && lost != nil && !errors.Is(lost, errUnopened): // the first try had opened it
			return c, &fault.Error{Class: fault.Transient, Err: lost}
		case errors.Is(err, errUnopened) && fault.ClassOf(err).Final(): // a cookie of the request that Chromium does not take
			return c, err
		case errors.Is(err, errUnopened):
			return c, fault.Newf(fault.Transient, "%w: %w", web.ErrNoBrowser, err)
		case errors.Is(err, errDied):
			return c, &fault.Error{Class: fault.Transient, Err: err}
		default:
			return c, err
		}
	}
}

// current is the link that takes pages, made anew where there is none.
func (d *Devtools) current(ctx context.Context) (*link, error) {
	d.mu.Lock()
	l := d.link
	d.mu.Unlock()
	if l != nil && l.up() {
		return l, nil
	}
	return d.check(ctx)
}

// enter returns a link that is up, a new one if need be.
func (d *Devtools) enter(ctx context.Context, e endpoint, ws string) (*link, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	if d.link != nil && d.link.down() {
		d.link.cancel(errDied)
		d.link = nil
	}
	if d.link == nil {
		l, err := d.newLink(ctx, e, ws)
		if err != nil {
			d.mu.Unlock()
			return nil, err
		}
		d.link = l
		d.all[l] = struct{}{}
		d.owned.Go(l.run)
	}
	l := d.link
	d.mu.Unlock()
	select {
	case <-l.ready:
		return l, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// newLink prepares a link, and the proxy with the first. The caller holds mu.
func (d *Devtools) newLink(ctx context.Context, e endpoint, ws string) (*link, error) {
	if err := chromium.CheckDriver(d.o.Driver); err != nil {
		return nil, err
	}
	if d.proxy == nil {
		host, port, err := net.SplitHostPort(d.o.ProxyHost)
		if err != nil {
			host, port = d.o.ProxyHost, "0"
		}
		if host == "" {
			if host, err = e.facing(ctx); err != nil {
				return nil, err
			}
		}
		listen := host
		if net.ParseIP(host) == nil {
			listen = ""
		}
		p, err := newProxy(net.JoinHostPort(listen, port), d.o.Dial)
		if err != nil {
			return nil, err
		}
		_, port, _ = net.SplitHostPort(p.listener.Addr().String())
		p.at = net.JoinHostPort(host, port)
		d.proxy = p
	}
	l := &link{d: d, endpoint: e, ws: ws}
	l.engine.init(d.o.Driver, d.o.Log, func() { l.lost(errKilled) })
	return l, nil
}

// Close ends the driver, the proxy and the pages that are loading, and waits until all are gone. Chromium goes on.
func (d *Devtools) Close() {
	d.mu.Lock()
	d.closed = true
	p := d.proxy
	for l := range d.all {
		l.cancel(ErrClosed)
	}
	d.mu.Unlock()
	d.owned.Wait()
	if p != nil {
		p.close()
	}
}

// connectGrace is how long a connection to Chromium may take.
const connectGrace = 10 * time.Second

// link is a driver of ours that is connected to a Chromium of others.
type link struct {
	engine
	d        *Devtools
	endpoint endpoint
	ws       string
}

// up says whether pages can be opened.
func (l *link) up() bool {
	select {
	case <-l.ready:
		return !l.down()
	default:
		return false
	}
}

// down says whether the link is lost, noticed or not.
func (l *link) down() bool {
	select {
	case <-l.ready:
		return l.err != nil || l.ctx.Err() != nil || !l.browser.IsConnected() || !l.driver.alive()
	default:
		return false
	}
}

// run is a link's life.
func (l *link) run() {
	l.live(l.connect, l.lost, l.watch, l.ctx.Done())
	l.d.mu.Lock()
	delete(l.d.all, l)
	l.d.mu.Unlock()
}

func (l *link) watch() {
	if !l.driver.alive() {
		l.lost(errDied)
	}
}

// lost gives up a link and its pages: the next page makes another.
func (l *link) lost(cause error) {
	l.cancel(cause)
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if l.d.link == l {
		l.d.link = nil
	}
}

func (l *link) connect() error {
	var err error
	l.bounded(startGrace, func() { err = l.driver.run() })
	if err != nil {
		return fmt.Errorf("start Playwright's driver: %w", err)
	}
	l.d.metrics.connects.Inc()
	l.bounded(connectGrace+callGrace, func() {
		l.browser, err = l.driver.pw.Chromium.ConnectOverCDP(l.ws, playwright.BrowserTypeConnectOverCDPOptions{
			Headers: l.endpoint.header(), Timeout: milliseconds(connectGrace),
		})
	})
	if err != nil {
		return fmt.Errorf("connect to its browser: %s", l.endpoint.clean(briefly(err).Error()))
	}
	l.browser.OnDisconnected(func(playwright.Browser) { l.lost(errDied) })
	return nil
}

// pageAddress reads the address of a page as Chromium does: http or https, with a host and without credentials. Its
// error does not quote it.
func pageAddress(address string) (string, error) {
	a, err := web.Canonical(address)
	if err != nil {
		return "", fault.Newf(fault.Invalid, "not an http or https address of a page")
	}
	if _, fragment, has := strings.Cut(strings.TrimSpace(address), "#"); has {
		return a.URL + "#" + fragment, nil
	}
	return a.URL, nil
}
