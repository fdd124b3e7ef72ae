package activities_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// otherBrowser answers differently from a plain client: by path, once each where the answer is a refusal.
type otherBrowser struct {
	mu    sync.Mutex
	pages map[string]web.Page
	asked []web.Request
}

func (b *otherBrowser) Check() error { return nil }

func (b *otherBrowser) Load(_ context.Context, r web.Request) (web.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r)
	path := strings.TrimPrefix(r.URL, "https://a.example")
	p, ok := b.pages[path]
	if !ok {
		return html(r, "<title>Good").Page, nil
	}
	if p.Status == 429 {
		delete(b.pages, path)
	}
	if p.Asked = r.URL; p.URL == "" {
		p.URL = r.URL
	}
	return p, nil
}

// What the browser was answered is the answer: an error is no page, and neither is the page of another address.
func TestRenderTakesTheAnswerOfTheBrowser(t *testing.T) {
	t.Parallel()

	const challenge = "<title>Just a moment...</title>"
	c := newCrawled(t)
	c.settings.Render = true
	for _, path := range []string{"/429", "/403", "/500", "/410", "/moved", "/out", "/file", "/same", "/a|b", "/50%|a",
		"/50%-%C3%A9", "/xhtml"} {
		c.add("https://a.example"+path, 1)
	}
	browser := &otherBrowser{pages: map[string]web.Page{
		"/429":   {Status: 429, ContentType: "text/html", Body: []byte(challenge), RetryAfter: 20 * time.Millisecond},
		"/403":   {Status: 403, ContentType: "text/html", Body: []byte(challenge)},
		"/500":   {Status: 500},
		"/410":   {Status: 410, ContentType: "text/html", Body: []byte("gone")},
		"/moved": {Status: 200, ContentType: "text/html", URL: "https://a.example/new", Body: []byte("<a href=x>")},
		"/out":   {Status: 200, ContentType: "text/html", URL: "https://other.example/", Body: []byte("<a href=x>")},
		"/file":  {Status: 200, ContentType: "text/plain", Body: []byte("<a href=x>")},
		"/a|b":   {Status: 200, ContentType: "text/html", URL: "https://a.example/a%7Cb", Body: []byte("<title>Bar")},
		"/same":  {Status: 200, ContentType: "text/html", URL: "https://A.example:443/same", Body: []byte("<title>Same")},
		"/50%|a": {Status: 200, ContentType: "text/html", URL: "https://a.example/50%%7Ca"},
		// As over http, where the browser is made to ask so.
		"/50%-%C3%A9": {Status: 200, ContentType: "text/html", URL: "https://a.example/50%25-%C3%A9"},
		"/xhtml": {Status: 200, ContentType: "application/xml; charset=iso-8859-1", Body: []byte(
			`<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="x.js"/></head><body><a href="/linked">é</a></body>` +
				`</html>`)},
	}}
	c.browser = browser
	c.answer = func(r web.Request) (web.Exchange, error) { return html(r, "<title>As it was sent"), nil }
	require.Equal(t, map[string]string{
		"/": "VISITED", "/429": "VISITED", "/403": "FORBIDDEN", "/500": "HTTP_TERMINAL", "/410": "HTTP_TERMINAL",
		"/moved": "HTTP_TERMINAL", "/new": "VISITED", "/out": "HTTP_TERMINAL", "/file": "VISITED", "/same": "VISITED",
		"/a|b": "VISITED", "/50%|a": "VISITED", "/50%-%C3%A9": "VISITED",
		"/xhtml": "VISITED", "/linked": "VISITED",
	}, c.work())
	for _, r := range browser.asked {
		require.True(t, r.Quiet, "what the scripts of %s load is waited for", r.URL)
	}
	last := func(path string) crawl.Result {
		results := c.results["https://a.example"+path]
		return results[len(results)-1]
	}
	require.Len(t, c.results["https://a.example/429"], 2)
	require.Equal(t, 429, c.results["https://a.example/429"][0].HTTPStatus)
	require.Equal(t, "Good", last("/429").Title)
	require.Contains(t, c.verdict, crawl.Refused(20*time.Millisecond))
	require.Contains(t, c.verdict, crawl.Refused(0))
	for path, to := range map[string]string{"/moved": "https://a.example/new", "/out": "https://other.example/"} {
		require.Equal(t, 302, last(path).HTTPStatus)
		require.Equal(t, to, last(path).RedirectTo)
	}
	for _, path := range []string{"/403", "/500", "/moved", "/out", "/file"} {
		require.Nil(t, last(path).Message, path)
		require.Empty(t, last(path).Title, path)
	}
	require.Contains(t, string(last("/410").Message), `"removed":true`)
	require.Equal(t, "Same", last("/same").Title)
}

// busyBrowser is a browser whose pages take until free is closed.
type busyBrowser struct{ free chan struct{} }

func (b busyBrowser) Check() error { return nil }

func (b busyBrowser) Load(ctx context.Context, r web.Request) (web.Page, error) {
	select {
	case <-b.free:
		return html(r, "<title>Good").Page, nil
	case <-ctx.Done():
		return web.Page{}, ctx.Err()
	}
}

// URLs that wait for a page of the browser take no slot of the process and no seat of their host: other runs go on.
func TestRenderTakesNothingFromOtherRuns(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		slow, plain := newCrawled(t), newCrawled(t)
		slow.settings.Render, plain.slots = true, slow.slots
		browser := busyBrowser{make(chan struct{})}
		slow.browser = browser
		var seats atomic.Int64
		slow.turn = func(string) error { seats.Add(1); return nil }
		for n := range 7 {
			slow.add(fmt.Sprintf("https://%s.example/%d", []string{"a", "b"}[n%2], n), 1)
		}
		for n := range 4 {
			plain.add(fmt.Sprintf("https://a.example/%d", n), 1)
		}
		for _, c := range []*crawled{slow, plain} {
			c.answer = func(r web.Request) (web.Exchange, error) { return html(r, "<title>As it was sent"), nil }
		}
		ended := make(chan map[string]string, 1)
		go func() { ended <- slow.work() }()
		synctest.Wait()
		taken := seats.Load()
		others := plain.work()
		time.Sleep(14 * time.Second) // of the bubble: a share is halved with each URL that is put back
		slow.mu.Lock()
		require.LessOrEqual(t, slow.leased, 3, "what waits for long is left to other workers")
		slow.mu.Unlock()
		close(browser.free)
		require.EqualValues(t, 1, taken)
		require.Equal(t, map[string]string{
			"/": "VISITED", "/0": "VISITED", "/1": "VISITED", "/2": "VISITED", "/3": "VISITED",
		}, others)
		require.Len(t, <-ended, 8)
	})
}
