package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/npm"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// axePackage finds what keeps people from using a page.
var axePackage = npm.Package{
	Name: "axe-core@4.14.1", SHA256: "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
}

// secretKeys is a setting with which secrets can be stored.
const secretKeys = "CONVEYOR_SECRET_KEYS=k:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// consoleWorld makes a world with an API.
func consoleWorld(t *testing.T, settings ...string) *world {
	t.Helper()

	w := newWorld(t, settings...)
	w.start("api")
	w.eventually("the API answers", func() bool { return w.status("127.0.0.1", "") == 200 })
	return w
}

// A visitor is a person at the console: a Chromium of its own, and what its pages complained of.
type visitor struct {
	t       *testing.T
	w       *world
	browser playwright.BrowserContext

	mu       sync.Mutex
	expected *regexp.Regexp // complaints that a test provokes; nil = none
	troubles []string
}

// visit opens a browser. Errors in a page's console, violations of its policy, dialogs, windows and requests to other
// origins fail the test at its end.
func (w *world) visit(t *testing.T, o playwright.BrowserNewContextOptions) *visitor {
	t.Helper()

	folder := os.Getenv("CONVEYOR_BROWSER_DRIVER")
	if folder == "" {
		folder = chromium.DefaultDriver()
	}
	require.NoError(t, chromium.CheckDriver(folder))
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: folder, SkipInstallBrowsers: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pw.Stop() })
	executable := os.Getenv("CONVEYOR_BROWSER")
	if executable == "" {
		executable = chromium.Find()
	}
	// The pages are our own: no sandbox is needed against them, and a machine without one can run the test.
	b, err := pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &executable, Args: []string{"--no-sandbox", "--disable-dev-shm-usage"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	if o.Locale == nil {
		o.Locale = playwright.String("en-CA")
	}
	c, err := b.NewContext(o)
	require.NoError(t, err)
	c.SetDefaultTimeout(120_000)
	c.SetDefaultNavigationTimeout(120_000)
	v := &visitor{t: t, w: w, browser: c}
	t.Cleanup(func() { require.Empty(t, v.said(), "what the pages complained of") })
	return v
}

// size is a window of a width, in pixels.
func size(width int) playwright.BrowserNewContextOptions {
	return playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: width, Height: 900}}
}

// on does something for a test of its own: it fails by what the pages complain of meanwhile.
func (v *visitor) on(t *testing.T, do func()) {
	t.Helper()

	outer := v.t
	v.t = t
	defer func() {
		v.t = outer
		v.mu.Lock()
		defer v.mu.Unlock()
		assert.Empty(t, v.troubles, "what the pages complained of")
		v.troubles = nil
	}()
	do()
}

func (v *visitor) said() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.troubles
}

// expects leaves complaints that match a pattern out from now on: the browser's lines on answers that a test provokes.
func (v *visitor) expects(pattern string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expected = regexp.MustCompile(pattern)
}

func (v *visitor) complain(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if text := fmt.Sprintf(format, args...); v.expected == nil || !v.expected.MatchString(text) {
		v.troubles = append(v.troubles, text)
	}
}

// page opens a page of the console.
func (v *visitor) page(path string) playwright.Page {
	v.t.Helper()

	p, err := v.browser.NewPage()
	require.NoError(v.t, err)
	p.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" {
			v.complain("%s: %s", path, m.Text())
		}
	})
	p.OnPageError(func(err error) { v.complain("%s: %v", path, err) })
	p.OnDialog(func(d playwright.Dialog) {
		v.complain("%s: a dialog says %q", path, d.Message())
		go func() { _ = d.Dismiss() }() // a page with a dialog does nothing else
	})
	p.OnPopup(func(playwright.Page) { v.complain("%s: opens a window", path) })
	p.OnRequest(func(r playwright.Request) {
		if !strings.HasPrefix(r.URL(), v.w.api) && !strings.HasPrefix(r.URL(), "blob:") {
			v.complain("%s: asks %s", path, r.URL())
		}
	})
	v.open(p, path)
	return p
}

// open leads a page to a path of the console.
func (v *visitor) open(p playwright.Page, path string) {
	v.t.Helper()

	_, err := p.Goto(v.w.api + "/ui" + path)
	require.NoError(v.t, err)
}

// sees waits until a page shows a text.
func (v *visitor) sees(p playwright.Page, text string) {
	v.t.Helper()
	v.shown(p, p.GetByText(text).Locator("visible=true"), text)
}

// shown waits until something can be seen on a page.
func (v *visitor) shown(p playwright.Page, l playwright.Locator, what string) {
	v.t.Helper()

	if err := l.First().WaitFor(); err != nil {
		text, _ := p.Locator("body").InnerText()
		require.NoErrorf(v.t, err, "%q is not on %s, which says:\n%s", what, p.URL(), text)
	}
}

// until waits until a function is true in a page. Playwright's own wait would compile it there, which the policy of the
// page refuses.
func (v *visitor) until(p playwright.Page, what, js string) {
	v.t.Helper()

	is := func() bool {
		is, err := p.Evaluate("() => !!(" + js + ")()")
		return err == nil && is == true // it fails while the page is changing
	}
	if !assert.Eventually(v.t, is, servicetest.Patience(), 100*time.Millisecond, what) {
		text, _ := p.Locator("body").InnerText()
		require.FailNow(v.t, what, "%s says:\n%s", p.URL(), text)
	}
}

// fits requires that nothing makes a page wider than its window.
func (v *visitor) fits(p playwright.Page) {
	v.t.Helper()

	wider, err := p.Evaluate(`() => document.documentElement.scrollWidth <= innerWidth + 1 ? '' :
		[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 &&
			!e.closest('.scroll, pre')).map((e) => e.outerHTML.slice(0, 200)).slice(0, 3).join('\n') || 'something is wider'`)
	require.NoError(v.t, err)
	assert.Empty(v.t, wider, "wider than the window: %s", p.URL())
}

// axe requires that a page has no fault by the rules of WCAG 2.2, levels A and AA, that a program can find: by all, or by
// those that a theme or a width may break.
func (v *visitor) axe(p playwright.Page, all bool) {
	v.t.Helper()

	source, err := axe()
	require.NoError(v.t, err)
	_, err = p.Evaluate(source)
	require.NoError(v.t, err)
	found, err := p.Evaluate(`async (all) => {
		const rules = all ? ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
			: { type: 'rule', values: ['color-contrast', 'target-size', 'scrollable-region-focusable'] }
		const r = await axe.run(document, {
			resultTypes: ['violations'], runOnly: rules,
		})
		return JSON.stringify(r.violations.map((x) => x.id + ': ' + x.help + ': ' +
			x.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 200) + (n.any[0] ? ' ' + n.any.map((a) => a.message).join('; ') : '')).join(' | ')))
	}`, all)
	require.NoError(v.t, err)
	var faults []string
	require.NoError(v.t, json.Unmarshal([]byte(found.(string)), &faults))
	for _, f := range faults {
		v.complain("%s: %s", strings.TrimPrefix(p.URL(), v.w.api), f)
	}
}

// axe returns the source of axe-core. It is got once, and kept beside the driver of the browser.
var axe = sync.OnceValues(func() (string, error) {
	driver := chromium.DefaultDriver()
	if driver == "" {
		return "", fmt.Errorf("there is no folder to keep %s in: set HOME", axePackage.Name)
	}
	folder := filepath.Join(filepath.Dir(driver), axePackage.Name)
	source := filepath.Join(folder, "package", "axe.min.js")
	if data, err := os.ReadFile(source); err == nil {
		return string(data), nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "axe-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := axePackage.Unpack(context.Background(), fresh); err != nil {
		return "", err
	}
	_ = os.Rename(fresh, folder) // fails where another test was quicker
	data, err := os.ReadFile(source)
	return string(data), err
})

// screenshot keeps what a page shows in the folder CONVEYOR_SHOTS, where it is set.
func (v *visitor) screenshot(p playwright.Page, name string) {
	v.t.Helper()

	shots := os.Getenv("CONVEYOR_SHOTS")
	if shots == "" {
		return
	}
	name = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name, "-")
	_, err := p.Screenshot(playwright.PageScreenshotOptions{
		Path: playwright.String(filepath.Join(shots, name+".png")), FullPage: playwright.Bool(true),
	})
	require.NoError(v.t, err)
}
