package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// lineageSite is a site of three levels, with a title that is markup and a link that leads nowhere.
func lineageSite(rw http.ResponseWriter, r *http.Request) {
	links := map[string]string{
		"/":  `<a href="/a">a</a> <a href="/b">b</a> <a href="/gone">gone</a>`,
		"/a": `<a href="/a/1">1</a> <a href="/a/2">2</a> <a href="/a/3">3</a>`,
		"/b": `<a href="/a">a</a>`, "/a/1": "", "/a/2": "", "/a/3": "",
	}
	body, known := links[r.URL.Path]
	if !known {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(rw, "<title>Page &lt;img src=x onerror=alert(1)&gt; %s</title>%s", r.URL.Path, body)
}

// The page of a crawl draws which page led to which: a URL that is chosen shows its way from the seed, by the pointer
// and by the keyboard, and what a site has written is text.
func TestConsoleDrawsTheLineageOfACrawl(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	_, origin := served(t, http.HandlerFunc(lineageSite))
	w := crawling(t, 1, []string{origin})
	run := w.crawl(origin+"/", map[string]any{"maxRetries": 0})
	urls := len(w.completed(run))
	id := func(path string) int64 {
		return one[int64](w, "SELECT id FROM crawl_urls WHERE normalized_url = $1", origin+path)
	}
	v := w.visit(t, playwright.BrowserNewContextOptions{
		Viewport: &playwright.Size{Width: 1440, Height: 900}, Locale: playwright.String("en-CA"),
	})
	p := v.page(fmt.Sprintf("/crawl/%d", run))
	shows := func(selector string) {
		t.Helper()
		require.NoError(t, p.Locator(selector).First().WaitFor(playwright.LocatorWaitForOptions{
			Timeout: playwright.Float(60_000),
		}), selector)
	}
	shows(fmt.Sprintf(`.lineage[data-drawn="%d"]`, urls))
	inked, err := p.Evaluate(`(() => {
		const copy = document.createElement('canvas')
		const from = document.querySelector('.lineage canvas')
		copy.width = from.width
		copy.height = from.height
		const g = copy.getContext('2d')
		g.drawImage(from, 0, 0)
		return new Set(new Uint32Array(g.getImageData(0, 0, copy.width, copy.height).data.buffer)).size
	})()`)
	require.NoError(t, err)
	require.Greater(t, inked, 10, "colours of the drawing")

	require.NoError(t, p.Locator("#urls").GetByRole("link", playwright.LocatorGetByRoleOptions{
		Name: "/a/2", Exact: playwright.Bool(true),
	}).Click())
	shows(fmt.Sprintf(`.lineage[data-way="%d %d %d"]`, id("/"), id("/a"), id("/a/2")))
	shows(fmt.Sprintf(`.chosen[data-url="%d"] .path li:nth-child(3)`, id("/a/2")))
	v.sees(p, "Page <img src=x onerror=alert(1)> /a")
	if shots := os.Getenv("CONVEYOR_SHOTS"); shots != "" {
		_, err := p.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(filepath.Join(shots, "crawl.png"))})
		require.NoError(t, err)
	}

	require.NoError(t, p.Locator(".lineage").Press("Backspace"))
	shows(fmt.Sprintf(`.chosen[data-url="%d"]`, id("/a")))
	require.NoError(t, p.Locator(".lineage").Press("Enter"))
	shows(`.chosen .path li:nth-child(3)`)
	require.NoError(t, p.Locator(".lineage").Press("Escape"))
	v.sees(p, "Choose a dot")

	// A counter filters the drawing and the table alike.
	require.NoError(t, p.Locator(".cnt button").Filter(playwright.LocatorFilterOptions{HasText: "not found"}).Click())
	shows(`#urls[data-rows="1"]`)
	require.NoError(t, p.Locator("#urls").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "/gone"}).Click())
	shows(fmt.Sprintf(`.chosen[data-url="%d"] .path li.failed`, id("/gone")))
	require.True(t, strings.Contains(p.URL(), "status=NOT_FOUND"), p.URL())
	require.NoError(t, p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Fetch again"}).Click())
	w.eventually("the URL is requested again", func() bool {
		return one[bool](w, "SELECT count(*) = 1 FROM audit WHERE action = 'crawl_run.retried' AND detail ? 'urls'")
	})
	// Its URL's tries began anew, so the run has more requests than the tries of its URLs.
	w.eventually("the run is completed again", func() bool {
		return one[bool](w, "SELECT status = 'COMPLETED' FROM crawl_runs WHERE id = $1", run)
	})
}
