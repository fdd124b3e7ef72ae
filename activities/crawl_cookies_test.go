package activities_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// A page that redirects to itself until its cookie comes back is asked for once more, with the cookie.
func TestCrawlBringsCookiesBack(t *testing.T) {
	t.Parallel()

	cookies := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("n%d=1", i))
		}
		return list
	}
	for _, tt := range []struct {
		to, wants string // of the redirect, and what ends it; "" = nothing does
		set       []string
		asked     int
		state     string
	}{
		{"/", "a=1; b=\"2\"", []string{"a=1; Path=/; HttpOnly", "b=\"2\"; Secure", "c", "d=\x01"}, 2, "VISITED"},
		{"/", "id=new", []string{"id=old", "id=new"}, 2, "VISITED"},
		{"/", "a=1", []string{"a=1", "b=2", "b=deleted; Max-Age=0", "c=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, 2, "VISITED"},
		{"/", "seen=Mon, 30 Nov 2026; b=x y", []string{"seen=Mon, 30 Nov 2026; Path=/", "b=x y"}, 2, "VISITED"},
		{"/", `c={"a":1}; v[id]=1; é=ü`, []string{`c={"a":1}`, "v[id]=0", "v[id]=1", "é=ü"}, 2, "VISITED"},
		{"/", "b=2", []string{`a={"a":1}`, "b=2", `a={}; expires=Thu, 01 Jan 1970 00:00:00 GMT`}, 2, "VISITED"},
		{"/", "b=2", []string{"v[id]=1; Path=/elsewhere", "b=2"}, 2, "VISITED"},
		{"/", strings.Join(cookies(100), "; "), cookies(100), 2, "VISITED"},
		{"/", strings.Join(cookies(4000), "; "), cookies(4000), 1, "HTTP_TERMINAL"}, // megabytes a page, where it waits
		{"/", "", []string{"a=deleted; Max-Age=0"}, 1, "HTTP_TERMINAL"},
		{"/", "", []string{"a=1"}, 2, "HTTP_TERMINAL"}, {"/", "", nil, 1, "HTTP_TERMINAL"},
		{"/other", "", []string{"a=1"}, 3, "HTTP_TERMINAL"}, // it might lead back to where the run began
	} {
		c := newCrawled(t)
		c.etags = map[string]string{"https://a.example/": "1"}
		c.answer = func(r web.Request) (web.Exchange, error) {
			switch {
			case tt.wants != "" && r.Header["Cookie"] == tt.wants:
				return html(r, "<title>Behind it</title>"), nil
			case r.URL != "https://a.example/":
				return status(r, 404), nil
			}
			e := status(r, 302)
			e.RedirectTo = "https://a.example" + tt.to
			e.Header["Set-Cookie"] = tt.set
			return e, nil
		}
		require.Equal(t, tt.state, c.work()["/"], tt)
		require.Len(t, c.asked, tt.asked, tt)
		require.Len(t, c.verdict, len(c.asked), "a turn a request")
	}
}

// A page that redirects to an address which sets its cookie, or looks at it, and leads back, is asked for once more with
// it. RFC 6265, 5.3 and 5.4: what a user agent stores of one answer goes with each later request that it matches.
func TestCrawlBringsCookiesBackFromElsewhere(t *testing.T) {
	t.Parallel()

	const home = "https://a.example"
	for _, tt := range []struct {
		name, at, via, back string
		set, setVia, wants  string // of the page, of the address between, and what ends it
		asked               int
		state               string
	}{
		{"set on the way", "/a", "/check?return=/a", "/a", "", "ok=1; Path=/", "ok=1", 4, "VISITED"},
		{"set before, and looked at", "/a", "/check?u=https%3A%2F%2Fa.example%2Fa", "/a", "ok=1; Path=/", "", "ok=1", 4, "VISITED"},
		{"both", "/a", "/check?u=%2Fa", "/a", "x=1; Path=/", "ok=2; Path=/", "x=1; ok=2", 4, "VISITED"},
		{"where the run began", "/", "/check", "/", "", "ok=1; Path=/", "ok=1", 3, "VISITED"},
		{"of another path", "/a", "/check?u=/a", "/a", "", "ok=1", "ok=1", 4, "VISITED"}, // default-path is / (5.1.4)
		{"for the way alone", "/a", "/c/check?u=/a", "/a", "", "ok=1; Path=/c", "", 4, "HTTP_TERMINAL"},
		{"no way back", "/a", "/login", "/a", "ok=1; Path=/", "", "", 3, "HTTP_TERMINAL"},
		{"no way back of one that a sitemap lists", "/listed", "/check", "/listed", "", "ok=1; Path=/", "ok=1", 3, "HTTP_TERMINAL"},
		{"elsewhere", "/a", "/login?next=/a", "/b", "ok=1; Path=/", "", "", 5, "HTTP_TERMINAL"},
		{"closed by robots.txt", "/a", "/closed?u=/a", "/a", "", "ok=1; Path=/", "", 2, "HTTP_TERMINAL"},
		{"another site", "/a", "https://b.example/check?u=https://a.example/a", "/a", "", "ok=1", "", 2, "HTTP_TERMINAL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCrawled(t)
			c.rules = "User-agent: *\nDisallow: /closed\n"
			if tt.at == "/listed" {
				c.add(home+tt.at, 0)
			}
			via, err := url.Parse(home + tt.via)
			require.NoError(t, err)
			if u, err := url.Parse(tt.via); err == nil && u.IsAbs() {
				via = u
			}
			c.answer = func(r web.Request) (web.Exchange, error) {
				e := status(r, 302)
				switch {
				case r.URL == home+tt.at && tt.wants != "" && r.Header["Cookie"] == tt.wants:
					return html(r, "<title>Behind it</title>"), nil
				case r.URL == home+tt.at:
					e.RedirectTo = via.String()
					e.Header["Set-Cookie"] = strings.Fields(strings.ReplaceAll(tt.set, "; ", ";"))
				case r.URL == via.String():
					e.RedirectTo = home + tt.back
					e.Header["Set-Cookie"] = strings.Fields(strings.ReplaceAll(tt.setVia, "; ", ";"))
				case r.URL == home+"/":
					return html(r, "<a href="+tt.at+">"), nil
				default:
					return status(r, 404), nil
				}
				return e, nil
			}
			require.Equal(t, tt.state, c.work()[tt.at])
			require.Len(t, c.asked, tt.asked)
			require.Len(t, c.verdict, tt.asked, "a turn a request")
		})
	}
}

// Each request of a page that waits for its cookies has a turn of its host: where the next one is far away, the page
// goes on from there later. An answer on the way that refuses counts for the host and for the page.
func TestCrawlBringsCookiesBackInTurn(t *testing.T) {
	t.Parallel()

	for _, refused := range []int{0, 429, 503} {
		c := newCrawled(t)
		turns, checks := 0, 0
		c.turn = func(string) error {
			if turns++; turns%2 == 0 {
				return &fault.Error{Class: fault.Limited, After: time.Millisecond, Err: errors.New("its turn is far away")}
			}
			return nil
		}
		c.answer = func(r web.Request) (web.Exchange, error) {
			e := status(r, 302)
			switch {
			case r.URL == "https://a.example/" && r.Header["Cookie"] == "ok=1":
				return html(r, "<title>Behind it</title>"), nil
			case r.URL == "https://a.example/":
				e.RedirectTo = "https://a.example/check"
			default:
				if checks++; checks == 1 && refused > 0 {
					return status(r, refused), nil
				}
				e.RedirectTo = "https://a.example/"
				e.Header["Set-Cookie"] = []string{"ok=1; Path=/"}
			}
			return e, nil
		}
		require.Equal(t, "VISITED", c.work()["/"], refused)
		if refused == 0 {
			require.Equal(t, []string{"https://a.example/", "https://a.example/check", "https://a.example/"}, c.asked)
		} else {
			require.Contains(t, c.verdict, crawl.Refused(0), refused)
		}
		require.Len(t, c.verdict, len(c.asked), refused)
	}
}

// A page that waits for the next turn of its host holds no slot meanwhile, as one that waits for its first.
func TestCrawlWaitsForCookiesWithoutSlots(t *testing.T) {
	t.Parallel()

	for _, far := range []bool{false, true} {
		c := newCrawled(t)
		turns, held := 0, 0
		c.turn = func(string) error {
			held = max(held, len(c.slots.Jobs)+len(c.slots.Fetches))
			if turns++; far && turns == 2 {
				return &fault.Error{Class: fault.Limited, After: time.Millisecond, Err: errors.New("its turn is far away")}
			}
			return nil
		}
		c.answer = func(r web.Request) (web.Exchange, error) {
			if r.Header["Cookie"] == "ok=1" {
				return html(r, "<title>Behind it</title>"), nil
			}
			e := status(r, 302)
			e.RedirectTo = r.URL
			e.Header["Set-Cookie"] = []string{"ok=1"}
			return e, nil
		}
		require.Equal(t, "VISITED", c.work()["/"], far)
		require.Len(t, c.asked, 2)
		require.Zero(t, held, far)
		require.Zero(t, len(c.slots.Jobs)+len(c.slots.Fetches), "they are given back once")
	}
}
