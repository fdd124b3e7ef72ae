package browser

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/chromium"
)

// Why a generation ends.
const (
	reasonMemory = "memory"
	reasonCrash  = "crash"
	reasonHung   = "hung"
	reasonClosed = "closed" // with the Browser
	reasonFailed = "failed" // it never came up
)

// generation is a Chromium that we have started, and its driver.
type generation struct {
	engine
	b    *Browser
	born time.Time
	idle chan struct{} // closed when it is retired and its last page has ended

	languages []string // of its identities
	version   string

	// Browser.mu guards these.
	pages   int
	cycles  int
	retired string // reason, "" while it takes pages
	ended   bool   // idle is closed
}

func newGeneration(b *Browser) *generation {
	g := &generation{b: b, born: b.o.Now(), idle: make(chan struct{})}
	g.engine.init(b.o.Driver, b.o.Log, func() { g.retire(reasonHung) })
	g.languages = languages[rand.IntN(len(languages))]
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
	g.live(g.start, func(error) { g.retire(reasonFailed) }, g.watch, g.idle)
	g.b.mu.Lock()
	delete(g.b.all, g)
	g.b.mu.Unlock()
	g.b.metrics.rss.Set(0)
}

// watch looks after a generation that runs.
func (g *generation) watch() {
	g.driver.family.Lock()
	alive, rss := g.driver.family.alive(), g.driver.family.rss()
	g.driver.family.Unlock()
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

// start brings up the driver and Chromium.
func (g *generation) start() error {
	if err := g.b.Check(); err != nil {
		return err
	}
	var err error
	g.bounded(startGrace, func() { err = g.launch() })
	return fault.Wrap(err, "start browser")
}

func (g *generation) launch() error {
	if err := g.driver.run(); err != nil {
		return err
	}
	options := g.launchOptions()
	if g.b.o.URL != "" {
		if err := g.elsewhere(&options); err != nil {
			return err
		}
	}
	browser, err := g.driver.pw.Chromium.Launch(options)
	if err != nil && chromium.Unsandboxed(err.Error()) {
		return chromium.ErrNoSandbox
	}
	if err != nil {
		return briefly(err)
	}
	g.browser, g.version = browser, browser.Version()
	g.driver.family.Lock()
	g.driver.family.find()
	g.driver.family.Unlock()
	browser.OnDisconnected(func(playwright.Browser) { g.lost(reasonCrash) })
	return nil
}

// elsewhere has the driver start this program in place of Chromium, which passes on what it says to one of a Lender.
func (g *generation) elsewhere(o *playwright.BrowserTypeLaunchOptions) error {
	e, err := parseEndpoint("CONVEYOR_BROWSER_URL", g.b.o.URL)
	if err != nil {
		return err
	}
	ws, err := e.version(g.ctx)
	if err != nil {
		return fmt.Errorf("ask %s for a browser: %w", e.at, err)
	}
	self, err := os.Executable()
	if err == nil {
		self, err = g.driver.cell.Program(self)
	}
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.ExecutablePath, o.Env = &self, chromium.StandInEnv(ws, e.header())
	return nil
}

func (g *generation) launchOptions() playwright.BrowserTypeLaunchOptions {
	return playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &g.b.o.Executable, ChromiumSandbox: playwright.Bool(!g.b.o.NoSandbox),
		Proxy:             &playwright.Proxy{Server: g.b.proxy.url()}, // Playwright adds <-loopback>: nothing bypasses it
		IgnoreDefaultArgs: []string{"--enable-automation"},
		HandleSIGINT:      playwright.Bool(false), // Ctrl-C reaches the driver, too: pages in hand end first
		Args: slices.Concat([]string{
			"--disable-blink-features=AutomationControlled", // navigator.webdriver
			"--accept-lang=" + strings.Join(g.languages, ","),
			"--blink-settings=imagesEnabled=false", "--disable-remote-fonts", "--mute-audio",
			"--disable-gpu", "--disable-sync", "--disable-domain-reliability", "--no-pings",
		}, chromium.Guards, chromium.Bounds), // without site isolation all frames of a page have one identity, too
	}
}
