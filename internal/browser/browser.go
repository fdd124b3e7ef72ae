// Package browser loads pages as a visitor's browser does: in a Chromium of its own, driven by Playwright, a fresh
// context a page. Everything that Chromium asks for goes through a proxy of ours, which dials as it is told, so a page
// reaches no private network.
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// Options are the settings of a Browser. A zero field takes its default.
type Options struct {
	Executable string // of Chromium; default the first of chromium, chromium-browser and google-chrome on the PATH
	// Driver is the folder of Playwright's driver: package/cli.js of the npm package playwright-core, and node, a link to
	// Node 18 or newer. Default the tool cache of `conveyor install-browser`.
	Driver string
	// URL is that of a chromium.Lender, whose Chromium is used: http, with its password. Default "": Chromium is run
	// beside this process. With it Executable and NoSandbox say nothing, and MaxRSS bounds the driver alone; the program
	// has to call chromium.StandIn first.
	URL string
	// NoSandbox runs Chromium without its own sandbox. Otherwise a Chromium that cannot have it is an error.
	NoSandbox bool
	// Dial makes the connections of pages, see fetch.Dial. Required.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Through makes the connections of pages whose request has a proxy, see fetch.Through. nil = there are none.
	Through func(web.Proxy) fetch.Dialer

	Pages     int           // at once; default 2
	MaxCycles int           // calls of CycleDone after which Chromium is restarted; default 50
	MaxAge    time.Duration // of a Chromium; default 2 h
	MaxRSS    int64         // bytes of Chromium and the driver together, Linux only; default 1.5 GiB
	Timeout   time.Duration // for one page, from an open slot to its content; default 30 s

	Now        func() time.Time // default time.Now
	Log        *slog.Logger     // default slog.Default
	Registerer prometheus.Registerer
}

// Browser is safe for concurrent use.
//
// Chromium is started by the first Load, and anew after MaxCycles, MaxAge, a crash, or when it has grown above MaxRSS.
// A new one takes the new pages while the old one finishes its own: one such Chromium with its driver is a generation.
type Browser struct {
	o       Options
	metrics *metrics
	slots   *semaphore.Weighted
	owned   sync.WaitGroup // the generations' goroutines

	mu      sync.Mutex
	closed  bool
	proxy   *proxy
	current *generation // nil before the first page, and after its end
	all     map[*generation]struct{}
}

// ErrClosed is what Load returns after Close.
var ErrClosed = errors.New("browser is closed")

// New returns a browser. It opens nothing.
func New(o Options) *Browser {
	o.Pages = cmp.Or(o.Pages, 2)
	o.MaxCycles = cmp.Or(o.MaxCycles, 50)
	o.MaxAge = cmp.Or(o.MaxAge, 2*time.Hour)
	o.MaxRSS = cmp.Or(o.MaxRSS, 3<<29)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Executable == "" {
		o.Executable = chromium.Find()
	}
	o.Driver = cmp.Or(o.Driver, chromium.DefaultDriver())
	b := &Browser{o: o, slots: semaphore.NewWeighted(int64(o.Pages)), all: map[*generation]struct{}{}}
	b.metrics = newMetrics(o.Registerer)
	return b
}

// Check returns nil where Load can start Chromium. Its error names the command that installs what is missing.
func (b *Browser) Check() error {
	if b.o.URL != "" {
		if _, err := parseEndpoint("CONVEYOR_BROWSER_URL", b.o.URL); err != nil {
			return err
		}
		return chromium.CheckDriver(b.o.Driver)
	}
	if err := chromium.Check(b.o.Executable); err != nil {
		return err
	}
	return chromium.CheckDriver(b.o.Driver)
}

// errDied marks a page that was lost with its Chromium: it may be loaded again.
var errDied = errors.New("browser ended while the page was open")

// Load opens the page, waits until its document is there and, with Wait, until that element is or has had its time,
// and returns what came back whatever the status. Images, fonts and media are not loaded. A request with a form or
// JSON is a navigation by POST; a document that is not HTML comes back as the bytes that were sent.
//
// The faults: a *web.Refusal (Throttled) where the connection is refused; Gone for a host that does not exist;
// Transient for timeouts, trouble of the network, and a Chromium that died twice; Invalid for an address that is not
// public http(s), a download, an endless redirect and a page above fetch.MaxPageBytes. Where Chromium does not start it
// is web.ErrNoBrowser.
func (b *Browser) Load(ctx context.Context, r web.Request) (web.Page, error) {
	u, err := pageAddress(r.URL)
	if err != nil {
		return web.Page{}, fmt.Errorf("load page: %w", err)
	}
	if err := b.slots.Acquire(ctx, 1); err != nil {
		return web.Page{}, err
	}
	defer b.slots.Release(1)
	b.metrics.open.Inc()
	began := time.Now()
	p, err := b.load(ctx, r)
	b.metrics.open.Dec()
	b.metrics.seconds.Observe(time.Since(began).Seconds())
	b.metrics.pages.WithLabelValues(outcome(ctx, err)).Inc()
	return p, fault.Wrap(err, "load %s", web.Show(u))
}

func outcome(ctx context.Context, err error) string {
	class := fault.ClassOf(err)
	switch {
	case err == nil:
		return "ok"
	case ctx.Err() != nil:
		return "cancelled"
	}
	return string(class)
}

// load tries a second time where the first was lost with its Chromium.
func (b *Browser) load(ctx context.Context, r web.Request) (web.Page, error) {
	for again := false; ; again = true {
		g, err := b.enter(ctx)
		if err != nil {
			return web.Page{}, err
		}
		p, err := g.load(ctx, r)
		b.leave(g)
		switch {
		case !errors.Is(err, errDied):
			return p, err
		case ctx.Err() != nil:
			return p, ctx.Err()
		case again:
			return p, &fault.Error{Class: fault.Transient, Err: err}
		}
		b.o.Log.Warn("Chromium ended while a page was loading; loading it again", "err", err)
	}
}

// enter returns a generation that takes pages, a new one if need be, and waits until it is up. Leave it afterwards.
func (b *Browser) enter(ctx context.Context) (*generation, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, ErrClosed
	}
	if b.proxy == nil {
		p, err := b.newProxy(ctx)
		if err != nil {
			b.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", web.ErrNoBrowser, err)
		}
		b.proxy = p
	}
	if b.current != nil {
		b.retireWhenDue(b.current)
	}
	if b.current == nil {
		g := newGeneration(b)
		b.current = g
		b.all[g] = struct{}{}
		b.owned.Go(g.run)
	}
	g := b.current
	g.pages++
	b.mu.Unlock()
	select {
	case <-g.ready:
	case <-ctx.Done():
		b.leave(g)
		return nil, ctx.Err()
	}
	if g.err != nil {
		b.leave(g)
		return nil, fmt.Errorf("%w: %w", web.ErrNoBrowser, g.err)
	}
	return g, nil
}

// newProxy opens the proxy where Chromium reaches it.
func (b *Browser) newProxy(ctx context.Context) (*proxy, error) {
	host := "127.0.0.1"
	if b.o.URL != "" {
		e, err := parseEndpoint("CONVEYOR_BROWSER_URL", b.o.URL)
		if err == nil {
			host, err = e.facing(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return newProxy(net.JoinHostPort(host, "0"), b.o.Dial)
}

func (b *Browser) leave(g *generation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g.pages--
	g.endWhenIdle()
}

// retireWhenDue ends a generation's time if it is up. The caller holds mu.
func (b *Browser) retireWhenDue(g *generation) {
	switch age := b.o.Now().Sub(g.born); {
	case g.cycles >= b.o.MaxCycles:
		b.retire(g, "cycles")
	case age >= b.o.MaxAge:
		b.retire(g, "age")
	}
}

// retire gives a generation no more pages; it ends with its last one. The caller holds mu.
func (b *Browser) retire(g *generation, reason string) {
	if g.retired != "" {
		return
	}
	g.retired = reason
	if b.current == g {
		b.current = nil
	}
	if reason != reasonClosed && reason != reasonFailed {
		b.metrics.restarts.WithLabelValues(reason).Inc()
		b.o.Log.Info("restarting Chromium", "reason", reason, "pages", g.pages)
	}
	g.endWhenIdle()
}

// CycleDone tells the browser that a cycle of a platform has ended.
func (b *Browser) CycleDone() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current != nil {
		b.current.cycles++
	}
}

// Close ends Chromium, the driver and the proxy, with the pages that are loading, and waits until all are gone.
func (b *Browser) Close() {
	b.mu.Lock()
	b.closed = true
	p := b.proxy
	for g := range b.all {
		b.retire(g, reasonClosed)
		g.cancel(ErrClosed)
	}
	b.mu.Unlock()
	b.owned.Wait()
	if p != nil {
		p.close()
	}
}
