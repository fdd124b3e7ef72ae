package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
)

// A page that redirects to itself until its cookie comes back is asked for once more, with the cookie.
func TestCrawlBringsCookiesBack(t *testing.T) {
	t.Parallel()

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
		{"/", "", []string{"a=deleted; Max-Age=0"}, 1, "HTTP_TERMINAL"},
		{"/", "", []string{"a=1"}, 2, "HTTP_TERMINAL"}, {"/", "", nil, 1, "HTTP_TERMINAL"},
		{"/other", "", []string{"a=1"}, 2, "HTTP_TERMINAL"},
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
		require.Len(t, c.verdict, len(c.results), "a turn a URL")
	}
}
