package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"
)

// Why a generation ends.
const (
	reasonMemory = "memory"
	reasonCrash  = "crash"
	reasonHung   = "hung"
	reasonClosed = "closed" // with the Browser
	reasonFailed = "failed" // it never came up
)

const (
	watchEvery = time.Second      // processes and their memory are looked at
	startGrace = 30 * time.Second // for driver and Chromium to come up
	callGrace  = 5 * time.Second  // for a call of the driver that should be quick, before Chromium counts as hung
)

// generation is one Chromium and its driver.
type generation struct {
	b      *Browser
	born   time.Time
	ctx    context.Context // cancelled with the generation: its pages are lost
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when it is up, or err says why not
	idle   chan struct{} // closed when it is retired and its last page has ended
	err    error

	languages []string // of its identities

	pw      *playwright.Playwright
	browser playwright.Browser
	version string

	family struct {
		sync.Mutex
		family
	}

	// Browser.mu guards these.
	pages   int
	cycles  int
	retired string // reason, "" while it takes pages
	ended   bool   // idle is closed
}

func newGeneration(b *Browser) *generation {
	g := &generation{b: b, born: b.o.Now(), ready: make(chan struct{}), idle: make(chan struct{})}
	g.languages = languages[b.o.Rand(len(languages))]
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// endWhenIdle lets run go on to the end. The caller holds Browser.mu.
func (g *generation) endWhenIdle() {
	if g.retired != "" && g.pages == 0 && !g.ended {
		g.ended = true
		close(g.idle)
	}
}

func (g *generation) retire(reason string) {
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	g.b.retire(g, reason)
}

// lost retires a generation whose Chromium or driver is gone, and gives up its pages.
func (g *generation) lost(reason string) {
	g.retire(reason)
	g.cancel(errDied)
}

// run is a generation's life.
func (g *generation) run() {
	if g.err = g.start(); g.err != nil {
		g.retire(reasonFailed)
	}
	close(g.ready)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for watching := true; watching; {
		select {
		case <-g.idle:
			watching = false
		case <-tick.C:
			g.watch()
		}
	}
	g.cancel(errDied)
	g.end()
	g.b.mu.Lock()
	delete(g.b.all, g)
	g.b.mu.Unlock()
	g.b.metrics.rss.Set(0)
}

// watch looks after a generation that runs.
func (g *generation) watch() {
	g.family.Lock()
	alive, rss := g.family.alive(), g.family.rss()
	g.family.Unlock()
	g.b.metrics.rss.Set(float64(rss))
	switch {
	case !alive:
		g.lost(reasonCrash)
	case rss > 2*g.b.o.MaxRSS: // no time for the pages to end: one of them eats the machine
		g.lost(reasonMemory)
	case rss > g.b.o.MaxRSS:
		g.retire(reasonMemory)
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	if g.retired == "" {
		g.b.retireWhenDue(g)
	}
}

// starting is held while a driver starts, so that it can be told from others of this process.
var starting sync.Mutex

// start brings up the driver and Chromium.
func (g *generation) start() error {
	if err := g.b.Check(); err != nil {
		return err
	}
	var err error
	g.bounded(startGrace, func() { err = g.launch() })
	if err != nil {
		return fmt.Errorf("start browser: %w", err)
	}
	return nil
}

func (g *generation) launch() error {
	if err := g.runDriver(); err != nil {
		return err
	}
	g.b.mu.Lock()
	unsandbox := g.b.unsandbox || os.Geteuid() == 0 // Chromium refuses to sandbox for root
	g.b.mu.Unlock()
	browser, err := g.pw.Chromium.Launch(g.launchOptions(!unsandbox))
	if err != nil && !unsandbox && strings.Contains(err.Error(), "sandbox") {
		g.b.o.Log.Warn("Chromium runs without its sandbox: the kernel or the container allows no user namespaces")
		g.b.mu.Lock()
		g.b.unsandbox = true
		g.b.mu.Unlock()
		browser, err = g.pw.Chromium.Launch(g.launchOptions(false))
	}
	if err != nil {
		return briefly(err)
	}
	g.browser, g.version = browser, browser.Version()
	g.family.Lock()
	g.family.find()
	g.family.Unlock()
	browser.OnDisconnected(func(playwright.Browser) { g.lost(reasonCrash) })
	return nil
}

// runDriver starts the driver and remembers its process.
func (g *generation) runDriver() error {
	starting.Lock()
	defer starting.Unlock()
	others := drivers(g.b.o.Driver)
	seen := func() {
		for pid, p := range drivers(g.b.o.Driver) {
			if _, other := others[pid]; !other {
				g.family.Lock()
				g.family.driver = p
				g.family.Unlock()
			}
		}
	}
	// A driver that hangs is found by then, and killed by bounded.
	t := time.AfterFunc(callGrace, seen)
	defer t.Stop()
	pw, err := playwright.Run(&playwright.RunOptions{
		DriverDirectory: g.b.o.Driver, SkipInstallBrowsers: true, Stdout: io.Discard, Stderr: io.Discard, Logger: g.b.o.Log,
	})
	seen()
	if err != nil {
		return briefly(err)
	}
	g.pw = pw
	return nil
}

func (g *generation) launchOptions(sandbox bool) playwright.BrowserTypeLaunchOptions {
	return playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &g.b.o.Executable, ChromiumSandbox: &sandbox,
		Proxy:             &playwright.Proxy{Server: g.b.proxy.url()}, // Playwright adds <-loopback>: nothing bypasses it
		IgnoreDefaultArgs: []string{"--enable-automation"},
		Args: []string{
			"--disable-blink-features=AutomationControlled", // navigator.webdriver
			"--disable-site-isolation-trials",               // a process a page, and one identity in all its frames
			"--accept-lang=" + strings.Join(g.languages, ","),
			"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", // nothing around the proxy
			"--blink-settings=imagesEnabled=false", "--disable-remote-fonts", "--mute-audio",
			"--disable-gpu", "--disable-sync", "--disable-domain-reliability", "--no-pings",
		},
	}
}

// bounded calls f, and kills the generation's processes when that takes longer: f's calls to the driver then fail.
func (g *generation) bounded(most time.Duration, f func()) {
	t := time.AfterFunc(most, func() {
		g.retire(reasonHung)
		g.kill()
	})
	f()
	t.Stop()
}

func (g *generation) kill() {
	g.family.Lock()
	defer g.family.Unlock()
	g.family.kill()
}

// end closes Chromium and the driver, and makes sure that nothing of them is left.
func (g *generation) end() {
	g.bounded(callGrace, func() {
		if g.browser != nil {
			_ = g.browser.Close()
		}
		if g.pw != nil {
			_ = g.pw.Stop()
		}
	})
	g.family.Lock()
	defer g.family.Unlock()
	// Until all are gone: one that is dying still writes to the profile.
	for end := time.Now().Add(callGrace); len(g.family.members()) > 0 && time.Now().Before(end); {
		g.family.kill()
		time.Sleep(10 * time.Millisecond)
	}
	g.family.cleanUp()
}

// briefly cuts what Playwright adds to its messages: a log of the call, and of Chromium.
func briefly(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\nCall log:")
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return errors.New(strings.TrimPrefix(strings.TrimSpace(text), "playwright: "))
}
