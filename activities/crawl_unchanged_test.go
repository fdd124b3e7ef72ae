package activities_test

import (
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// An answer without content says nothing of a page: what the search has of it stays, and no browser is asked for it.
func TestCrawlWithoutContent(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.settings.Render, c.settings.Publish = true, true
	c.browser = &lateBrowser{}
	c.answer = func(r web.Request) (web.Exchange, error) {
		code, err := strconv.Atoi(strings.TrimPrefix(r.URL, "https://a.example/"))
		if err != nil {
			return html(r, ""), nil
		}
		return status(r, code), nil
	}
	for _, code := range []string{"204", "205", "202"} {
		c.add("https://a.example/"+code, 1)
	}
	require.Equal(t, map[string]string{"/": "VISITED", "/202": "VISITED", "/204": "VISITED", "/205": "VISITED"}, c.work())
	require.Contains(t, string(c.results["https://a.example/202"][0].Message), "rendered")
	require.Nil(t, c.results["https://a.example/204"][0].Message)
	require.Nil(t, c.results["https://a.example/205"][0].Message)
}

// A page that has not changed may have another header now: a site that asks robots to leave it is obeyed. What was not
// asked for with a validator cannot be as it was.
func TestCrawlUnchanged(t *testing.T) {
	t.Parallel()

	visit := func(change func(*crawl.Settings), rules string) *crawled {
		c := newCrawled(t)
		change(&c.settings)
		c.base = map[string]string{"https://a.example/same": "https://a.example/kept"}
		c.etags = map[string]string{"https://a.example/same": `"v1"`}
		c.answer = func(r web.Request) (web.Exchange, error) {
			switch path := strings.TrimPrefix(r.URL, "https://a.example"); path {
			case "/same", "/other":
				e := status(r, 304)
				e.Header = textproto.MIMEHeader{"X-Robots-Tag": {rules}}
				return e, nil
			case "/":
				return html(r, `<a href="/same"></a><a href="/other"></a>`), nil
			}
			return html(r, ""), nil
		}
		return c
	}
	for _, tt := range []struct {
		name, rules string
		change      func(*crawl.Settings)
		removed     bool
		kept        string
	}{
		{"no rules", "", func(*crawl.Settings) {}, false, "VISITED"},
		{"noindex", "noindex", func(*crawl.Settings) {}, true, "VISITED"},
		{"noindex of another robot", "otherbot: noindex", func(*crawl.Settings) {}, false, "VISITED"},
		{"noindex that is not obeyed", "noindex", func(s *crawl.Settings) { s.RespectRobots = false }, false, "VISITED"},
		{"nofollow", "nofollow", func(s *crawl.Settings) { s.Nofollow = true }, false, ""},
		{"nofollow that is not obeyed", "nofollow", func(*crawl.Settings) {}, false, "VISITED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			c := visit(tt.change, tt.rules)
			got := c.work()
			require.Equal(t, []string{"VISITED", "VISITED", "HTTP_TERMINAL", tt.kept},
				[]string{got["/"], got["/same"], got["/other"], got["/kept"]})
			message := string(c.results["https://a.example/same"][0].Message)
			require.Equal(t, tt.removed, strings.Contains(message, `"removed":true`), message)
			require.Empty(t, c.results["https://a.example/other"][0].Message)
		})
	}
}
