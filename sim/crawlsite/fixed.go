package crawlsite

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// A Fixture is a small site that is written by hand, with what a crawl of it must find.
type Fixture struct {
	Name  string
	Seed  string            // path
	Pages map[string]string // HTML by path; {origin} is the site's, {other} the same server under another host name
	Want  map[string]Want   // by path and query; "{other}/" begins those of the other host
}

// Fixtures are the fixed sites that the system which this one replaces was tested with: single page, duplicates,
// broken link, cycle, host scope.
var Fixtures = []Fixture{
	{
		Name: "single page", Seed: "/",
		Pages: map[string]string{"/": "<p>alone"},
		Want:  map[string]Want{"/": visited(0)},
	},
	{
		Name: "duplicate, fragment, external", Seed: "/index.html",
		Pages: map[string]string{
			"/index.html": `<a href="/a.html">1<a href="a.html">2<a href="{origin}/a.html#part">3<a href="./a.html#">4
				<a href="https://example.com/">out<a href="mailto:a@example.com">mail<a href="tel:1">tel
				<a href="javascript:void(0)">js<a href="#here">here<a href="?">itself with an empty query`,
			"/a.html":      `<a href="/index.html#top">back`,
			"/index.html?": `<a href="/a.html">1`,
		},
		Want: map[string]Want{"/index.html": visited(0), "/a.html": visited(1), "/index.html?": visited(1)},
	},
	{
		Name: "broken link", Seed: "/",
		Pages: map[string]string{"/": `<a href="/good">good<a href="/broken">broken`, "/good": `<a href="/broken">broken`},
		Want: map[string]Want{
			"/": visited(0), "/good": visited(1), "/broken": {1, crawl.NotFound, http.StatusNotFound},
		},
	},
	{
		Name: "cycle", Seed: "/a",
		Pages: map[string]string{
			"/a": `<a href="b">b`, "/b": `<a href="c">c<a href="b">itself`, "/c": `<a href="a">a<a href="/b">b`,
		},
		Want: map[string]Want{"/a": visited(0), "/b": visited(1), "/c": visited(2)},
	},
	{
		Name: "host scope", Seed: "/",
		Pages: map[string]string{
			"/":  `<a href="{origin}/a">here<a href="{other}/a">another host<a href="//cdn.invalid/x">another one`,
			"/a": `<a href="{other}/">another host<a href="/">back`,
		},
		Want: map[string]Want{"/": visited(0), "/a": visited(1)},
	},
}

// WWW is the fixture of a seed whose www. twin, {other}, belongs to the run as well.
var WWW = Fixture{
	Name: "www", Seed: "/",
	Pages: map[string]string{
		"/":     `<a href="{other}/twin">twin<a href="//cdn.{host}/x">another subdomain`,
		"/twin": `<a href="{origin}/">back<a href="/more">more`,
		"/more": `the same path on both hosts<a href="{origin}/more">`,
	},
	Want: map[string]Want{
		"/": visited(0), "{other}/twin": visited(1), "{other}/more": visited(2), "/more": visited(3),
	},
}

func visited(depth int) Want { return Want{depth, crawl.Visited, http.StatusOK} }

// Site serves the pages. Both origins, http://127.0.0.1:8080 and http://localhost:8080, lead to it.
func (f Fixture) Site(origin, other string) http.Handler {
	_, host, _ := strings.Cut(origin, "//")
	fill := strings.NewReplacer("{origin}", origin, "{other}", other, "{host}", host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := f.Pages[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>%s</title>%s", f.Name, fill.Replace(page))
	})
}

// Expected is Want by URL.
func (f Fixture) Expected(origin, other string) map[string]Want {
	out := map[string]Want{}
	for path, w := range f.Want {
		if at, ok := strings.CutPrefix(path, "{other}"); ok {
			out[other+at] = w
		} else {
			out[origin+path] = w
		}
	}
	return out
}
