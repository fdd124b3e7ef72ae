package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
)

// A Refresh header leads on as a meta refresh does, from whatever answer has it. It is read before any base element.
func TestCrawlFollowsRefresh(t *testing.T) {
	t.Parallel()

	refresh := map[string]string{
		"/": "0; url=start/", "/start/": "5", "/start/a": "0;URL='/b'", "/b": "3; https://other.example/", "/c": "0; url=/c",
		"/start/b": "0; url=/closed",
	}
	c := newCrawled(t)
	c.settings.Nofollow = true
	c.answer = func(r web.Request) (web.Exchange, error) {
		path := strings.TrimPrefix(r.URL, "https://a.example")
		e := html(r, map[string]string{
			"/": `<base href="/no/">`, "/start/": "<a href=a>a</a><a href=b>b</a><a href=/c>c</a>",
		}[path])
		e.Header.Set("Refresh", refresh[path])
		switch path {
		case "/start/a":
			e.ContentType = "text/plain"
		case "/start/b":
			e.ContentType = "text/plain"
			e.Header.Set("X-Robots-Tag", "nofollow")
		}
		return e, nil
	}
	require.Equal(t, map[string]string{
		"/": "VISITED", "/start/": "VISITED", "/start/a": "VISITED", "/start/b": "VISITED", "/b": "VISITED",
		"/c": "VISITED",
	}, c.work())
	require.Len(t, c.asked, 6)
}
