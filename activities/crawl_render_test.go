package activities_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// otherBrowser answers differently from a plain client: by path, once each where the answer is a refusal.
type otherBrowser struct {
	mu    sync.Mutex
	pages map[string]web.Page
}

func (b *otherBrowser) Check() error { return nil }

func (b *otherBrowser) Load(_ context.Context, r web.Request) (web.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
		"/50%-%C3%A9"} {
		c.add("https://a.example"+path, 1)
	}
	c.browser = &otherBrowser{pages: map[string]web.Page{
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
	}}
	c.answer = func(r web.Request) (web.Exchange, error) { return html(r, "<title>As it was sent"), nil }
	require.Equal(t, map[string]string{
		"/": "VISITED", "/429": "VISITED", "/403": "FORBIDDEN", "/500": "HTTP_TERMINAL", "/410": "HTTP_TERMINAL",
		"/moved": "HTTP_TERMINAL", "/new": "VISITED", "/out": "HTTP_TERMINAL", "/file": "VISITED", "/same": "VISITED",
		"/a|b": "VISITED", "/50%|a": "VISITED", "/50%-%C3%A9": "VISITED",
	}, c.work())
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
