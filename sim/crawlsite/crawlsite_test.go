package crawlsite_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/sharedtest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

const (
	origin = "http://site.test"
	twin   = "http://www.site.test"
)

// crawl1 crawls a site in the plainest way: one page after the other, by net/url and a DOM. It checks what the sites
// say that a crawl of them finds.
func crawl1(t *testing.T, site http.Handler, seed string, s crawl.Settings, hosts ...string) map[string]crawlsite.Want {
	t.Helper()

	out := map[string]crawlsite.Want{}
	inScope := map[string]bool{}
	for _, h := range hosts {
		inScope[strings.TrimPrefix(h, "http://")] = true
	}
	next := []string{seed}
	for depth := 0; len(next) > 0; depth++ {
		var found []string
		for _, at := range next {
			if _, seen := out[at]; seen {
				continue
			}
			r := httptest.NewRequest(http.MethodGet, at, nil)
			if s.RespectRobots && strings.HasPrefix(r.URL.Path, "/private/") {
				out[at] = crawlsite.Want{Depth: depth, State: crawl.Skipped}
				continue
			}
			rec := httptest.NewRecorder()
			site.ServeHTTP(rec, r)
			for rec.Code == http.StatusServiceUnavailable {
				rec = httptest.NewRecorder()
				site.ServeHTTP(rec, r)
			}
			w := crawlsite.Want{Depth: depth, Status: rec.Code, State: crawl.HTTPTerminal}
			switch rec.Code {
			case 200:
				w.State = crawl.Visited
			case 301:
				w.State = crawl.Redirect301
			case 403:
				w.State = crawl.Forbidden
			case 404:
				w.State = crawl.NotFound
			}
			out[at] = w
			hrefs := []string{}
			if rec.Code == http.StatusOK && strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
				hrefs = hrefsOf(t, rec.Body.String())
			}
			if to := rec.Header().Get("Location"); to != "" && s.FollowRedirects {
				hrefs = append(hrefs, to)
			}
			for _, href := range hrefs {
				u, err := r.URL.Parse(href)
				require.NoError(t, err)
				if u.Fragment = ""; u.Scheme == "http" && inScope[u.Host] {
					found = append(found, u.String())
				}
			}
		}
		next = found
	}
	return out
}

func hrefsOf(t *testing.T, page string) (out []string) {
	t.Helper()

	doc, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch n.Data + " " + a.Key {
			case "a href", "area href", "iframe src", "frame src":
				out = append(out, a.Val)
			}
		}
	}
	return out
}

func settings(f func(*crawl.Settings)) crawl.Settings {
	s := crawl.Defaults
	s.MaxDepth = 1000
	f(&s)
	return s
}

func TestGraphExpected(t *testing.T) {
	t.Parallel()

	all := settings(func(*crawl.Settings) {})
	for _, seed := range []uint64{42424, 91817, 3} {
		for name, o := range map[string]crawlsite.GraphOptions{
			"small": {Seed: seed, Pages: 11}, "flaky": {Seed: seed, Pages: 300, Flaky: true},
			"plain": {Seed: seed, Pages: 500, Links: 20, Plain: true},
		} {
			for _, s := range []crawl.Settings{
				all, settings(func(s *crawl.Settings) { s.FollowRedirects = false }),
				settings(func(s *crawl.Settings) { s.RespectRobots = false }),
			} {
				g := crawlsite.NewGraph(o)
				want := g.Expected(origin, s)
				require.Equal(t, want, crawl1(t, g, origin+"/", s, origin), "%s, %s", name, g)
				states := map[crawl.State]int{}
				for _, w := range want {
					states[w.State]++
				}
				if name == "flaky" && s == all {
					require.Len(t, states, 6, "every state, %s", g)
				}
				require.Equal(t, want, crawlsite.NewGraph(o).Expected(origin, s), "the same again")
			}
		}
	}
}

func TestGraphDepth(t *testing.T) {
	t.Parallel()

	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: 1, Pages: 200, Chain: 15})
	deepest, skipped := 0, 0
	for _, w := range g.Expected(origin, settings(func(s *crawl.Settings) { s.MaxDepth = 6 })) {
		deepest = max(deepest, w.Depth)
		if w.State == crawl.Skipped && w.Depth == 7 {
			skipped++
		}
	}
	require.Equal(t, 7, deepest)
	require.Positive(t, skipped, "those beyond the limit are known")
}

func TestFixtures(t *testing.T) {
	t.Parallel()

	for _, f := range crawlsite.Fixtures {
		got := crawl1(t, f.Site(origin, twin), origin+f.Seed, crawl.Defaults, origin)
		require.Equal(t, f.Expected(origin, twin), got, f.Name)
	}
	f := crawlsite.WWW
	got := crawl1(t, f.Site(origin, twin), origin+f.Seed, crawl.Defaults, origin, twin)
	require.Equal(t, f.Expected(origin, twin), got, f.Name)
}

func TestReal(t *testing.T) {
	t.Parallel()

	folder := filepath.Join(sharedtest.Dir(t, "the links of a real site"), "data", "sites")
	site, err := crawlsite.OpenReal(folder, "hamcrest-javadoc")
	require.NoError(t, err)
	require.Len(t, site.Want, 239)
	got := crawl1(t, crawlsite.Static(site.Files), origin+site.Seed, crawl.Defaults, origin)
	require.Equal(t, site.Expected(origin), got)
}

func TestStatic(t *testing.T) {
	t.Parallel()

	files, err := crawlsite.Open(filepath.Join("testdata", "static"))
	require.NoError(t, err)
	site := crawlsite.Static(files)
	get := func(path, validator string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", validator)
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, r)
		return rec.Result()
	}
	for path, want := range map[string]int{
		"/": 200, "/index.html": 200, "/folder": 301, "/folder/": 200, "/folder/index.html": 200, "/missing": 404,
		"/index.html/": 404, "/index.html?page.html": 200, "/../../index.html": 200,
	} {
		require.Equal(t, want, get(path, "").StatusCode, path)
	}
	require.Equal(t, "/folder/", get("/folder", "").Header.Get("Location"))
	first := get("/index.html", "")
	require.Equal(t, "text/html", first.Header.Get("Content-Type"))
	require.Equal(t, http.StatusNotModified, get("/index.html", first.Header.Get("ETag")).StatusCode)
}

func TestTraps(t *testing.T) {
	t.Parallel()

	site := crawlsite.New(crawlsite.NewTraps())
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	get := func(path string) (code int, after string) {
		c := &http.Client{ // without connections that are used again: a request that is cut is sent once
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		resp, err := c.Get(server.URL + path)
		if err != nil {
			return 0, ""
		}
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	for _, want := range []int{429, 0, 200, 200} {
		code, after := get("/flaky/429:1,reset,200/1")
		require.Equal(t, want, code)
		require.Equal(t, map[bool]string{true: "1"}[code == 429], after)
	}
	for path, want := range map[string]int{
		"/": 200, "/calendar/2026/11": 200, "/deep/deeper/": 200, "/session/?sid=1": 200, "/facets?a=1": 200, "/loop/a": 301,
		"/self": 301, "/hop/7": 301, "/headers": 200, "/links": 200, "/ok/3": 200, "/status/451": 451, "/long": 200,
		"/nested": 200, "/reset": 0, "/nothing": 404, "/wrong-length": 0,
	} {
		code, _ := get(path)
		require.Equal(t, want, code, path)
	}
	require.Equal(t, 4, site.Hits()[server.URL+"/flaky/429:1,reset,200/1"])
}

func TestWatch(t *testing.T) {
	t.Parallel()

	arrived, leave := make(chan struct{}), make(chan struct{})
	site := crawlsite.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	}))
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	for range 3 {
		go func() {
			resp, err := http.Get(server.URL + "/a?b=c")
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
	}
	for range 3 {
		<-arrived
	}
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	require.Equal(t, []string{server.URL + "/a?b=c"}, site.Open())
	p := site.Pace(u.Host)
	require.Equal(t, []int{3, 3}, []int{p.Requests, p.Most})
	require.Positive(t, p.Gap)
	close(leave)
	require.Eventually(t, func() bool { return len(site.Open()) == 0 }, servicetest.Patience(), time.Millisecond)
	require.Equal(t, 3, site.Total())
	require.Equal(t, 3, site.Hits()[server.URL+"/a?b=c"])
	require.Zero(t, site.Pace("other").Requests)
}
