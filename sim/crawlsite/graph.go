package crawlsite

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// GraphOptions are the shape of a Graph. A zero field takes its default.
type GraphOptions struct {
	Seed  uint64 // of all that is left to chance
	Pages int    // default 100, at least 10
	Links int    // of a page, those that lead out of the site included; default 8
	Chain int    // pages at the end that only lead one to the next; default a tenth of Pages, at most 30
	Text  int    // bytes of text on a page; default 500
	// Plain leaves out all but pages and links between them: no missing pages, redirects, refusals, robots.txt.
	Plain bool
	// Flaky answers every eleventh page with 503 at its first request.
	Flaky bool
	Delay time.Duration // before each answer; default none
}

// A Graph is a site of pages that link to each other at random: a ring, so that all are reached, dense pages, a chain,
// targets that are linked again and again, and links of every form. Unless it is Plain it also has missing pages,
// redirects of several kinds, refusals, and pages that its robots.txt disallows. It knows what a crawl of it must find.
type Graph struct {
	o     GraphOptions
	nodes []node
	paths map[string]int // node by path and query
	text  []byte

	mu     sync.Mutex
	failed map[int]bool // flaky pages that have failed
}

// A node is one URL.
type node struct {
	path   string // with its query
	status int    // of its answer
	to     int    // of a redirect, -1 = out of the site
	links  []edge // of a page
	robots bool   // disallowed
	flaky  bool
}

// An edge is a link to a node, or one that is none: see href.
type edge struct {
	to   int32 // -1 = not an address of this site
	form uint8
}

// external are links that a crawl of the site must not follow.
var external = []string{
	"http://elsewhere.invalid/", "https://www.elsewhere.invalid/a?b=c#d", "mailto:a@elsewhere.invalid", "tel:+15145550199",
	"javascript:void(0)", "ftp://elsewhere.invalid/file", "#top",
}

// NewGraph makes the site of a seed.
func NewGraph(o GraphOptions) *Graph {
	o.Pages = max(10, cmp.Or(o.Pages, 100))
	o.Links = cmp.Or(o.Links, 8)
	o.Chain = cmp.Or(o.Chain, min(30, o.Pages/10))
	o.Text = cmp.Or(o.Text, 500)
	g := &Graph{o: o, paths: map[string]int{}, failed: map[int]bool{}}
	dice := rand.New(rand.NewPCG(o.Seed, 1))
	for i := range o.Pages {
		path := "/g/" + strconv.Itoa(i) + ".html"
		switch {
		case i == 0:
			path = "/"
		case !o.Plain && i%13 == 5:
			path = "/g/page?id=" + strconv.Itoa(i) + "&a=%C3%A9" // what a query says is part of the address
		}
		g.add(node{path: path, status: http.StatusOK, to: -1, flaky: o.Flaky && i%11 == 7})
	}
	if !o.Plain {
		g.special(dice)
	}
	g.link(dice)
	g.text = words(dice, 2*o.Text)
	return g
}

func (g *Graph) add(n node) {
	g.paths[n.path] = len(g.nodes)
	g.nodes = append(g.nodes, n)
}

// special adds the URLs that are no pages: one of each kind for every twelve pages.
func (g *Graph) special(dice *rand.Rand) {
	for i := range max(2, g.o.Pages/12) {
		page := func() int { return dice.IntN(g.o.Pages) }
		n := strconv.Itoa(i)
		g.add(node{path: "/missing/" + n, status: http.StatusNotFound, to: -1})
		g.add(node{path: "/moved/" + n, status: http.StatusMovedPermanently, to: page()})
		g.add(node{path: "/found/" + n, status: http.StatusFound, to: page()})
		g.add(node{path: "/out/" + n, status: http.StatusMovedPermanently, to: -1})
		g.add(node{path: "/refused/" + n, status: http.StatusForbidden, to: -1})
		g.add(node{path: "/gone/" + n, status: http.StatusGone, to: -1})
		g.add(node{path: "/private/" + n, status: http.StatusOK, to: -1, robots: true})
		// A redirect to a redirect, and pages that only a redirect leads to.
		g.add(node{path: "/twice/" + n, status: http.StatusPermanentRedirect, to: len(g.nodes) - 5})
		g.add(node{path: "/behind/" + n, status: http.StatusOK, to: -1})
		g.add(node{path: "/before/" + n, status: http.StatusSeeOther, to: len(g.nodes) - 1})
	}
}

// link draws the links of every page.
func (g *Graph) link(dice *rand.Rand) {
	body := g.o.Pages - g.o.Chain // those before the chain
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.status != http.StatusOK {
			continue
		}
		if i >= body && i < g.o.Pages {
			if i+1 < g.o.Pages {
				n.links = []edge{{int32(i + 1), form(dice)}}
			}
			continue
		}
		count := g.o.Links
		if i%50 == 3 {
			count *= 4 // a dense one
		}
		n.links = make([]edge, 0, count+2)
		if i < body {
			n.links = append(n.links, edge{int32((i + 1) % body), form(dice)})
		}
		if i == 0 && g.o.Chain > 0 {
			n.links = append(n.links, edge{int32(body), form(dice)})
		}
		for len(n.links) < count {
			switch roll := dice.IntN(100); {
			case g.o.Plain, roll < 70:
				n.links = append(n.links, edge{int32(dice.IntN(body)), form(dice)})
			case roll < 85 && len(g.nodes) > g.o.Pages: // a special one
				n.links = append(n.links, edge{int32(g.o.Pages + dice.IntN(len(g.nodes)-g.o.Pages)), form(dice)})
			case roll < 93: // one of a few, again and again
				n.links = append(n.links, edge{int32(dice.IntN(min(5, body))), form(dice)})
			default:
				n.links = append(n.links, edge{-1, uint8(dice.IntN(len(external)))})
			}
		}
	}
}

// forms are how a link can be written.
const forms = 4

func form(dice *rand.Rand) uint8 { return uint8(dice.IntN(forms)) }

// href is a link as it stands on a page of a folder, "/" or "/g/".
func (g *Graph) href(b *bytes.Buffer, e edge, origin string) {
	if e.to < 0 {
		b.WriteString(external[e.form])
		return
	}
	path := g.nodes[e.to].path
	switch e.form {
	case 1: // relative to every folder of the site
		b.WriteString("../..")
	case 2:
		b.WriteString(origin)
	}
	for _, c := range []byte(path) {
		if c == '&' {
			b.WriteString("&amp;")
			continue
		}
		b.WriteByte(c)
	}
	if e.form == 3 {
		b.WriteString("#part-")
		b.WriteString(strconv.Itoa(int(e.to) % 7))
	}
}

func (g *Graph) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.o.Delay > 0 {
		select {
		case <-time.After(g.o.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if r.URL.Path == "/robots.txt" && !g.o.Plain {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /private/\n"))
		return
	}
	i, ok := g.paths[r.URL.RequestURI()]
	if !ok {
		http.NotFound(w, r)
		return
	}
	n := g.nodes[i]
	switch {
	case n.status >= 300 && n.status < 400:
		to := "http://elsewhere.invalid/moved"
		if n.to >= 0 {
			to = g.nodes[n.to].path
		}
		w.Header().Set("Location", to)
		w.WriteHeader(n.status)
	case n.status != http.StatusOK:
		http.Error(w, http.StatusText(n.status), n.status)
	case n.flaky && g.fails(i):
		http.Error(w, "not now", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(g.page(i, "http://"+r.Host))
	}
}

// fails says once of each page that it fails.
func (g *Graph) fails(i int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.failed[i]
	g.failed[i] = true
	return !was
}

// page is the HTML of a node: its links in elements of every kind, with text between them.
func (g *Graph) page(i int, origin string) []byte {
	var b bytes.Buffer
	links := g.nodes[i].links
	b.Grow(g.o.Text + 60*len(links) + 400)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=en><head><title>Page %d</title></head>\n<body><h1>Page %d</h1>\n", i, i)
	from := i % max(1, g.o.Text)
	text := g.text[from : from+g.o.Text]
	step := len(text) / (len(links) + 1)
	for k, e := range links {
		tag, end := "<a href=\"", "\">more</a>\n"
		switch {
		case g.o.Plain:
		case k%17 == 5:
			tag, end = "<map><area href=\"", "\"></map>\n"
		case k%17 == 9:
			tag, end = "<iframe src=\"", "\"></iframe>\n"
		case k%17 == 13:
			tag, end = "<noscript><p><a href='", "'>more</a></noscript>\n"
		}
		b.WriteString("<p>")
		b.Write(text[k*step : (k+1)*step])
		b.WriteString(tag)
		g.href(&b, e, origin)
		b.WriteString(end)
	}
	b.WriteString("<p>")
	b.Write(text[len(links)*step:])
	b.WriteString("\n</body></html>\n")
	return b.Bytes()
}

// Expected is what a crawl from origin + "/" must find, by canonical URL, with the settings that it depends on:
// FollowRedirects, RespectRobots, MaxDepth. It must reach all, so MaxPages must be at least their number.
func (g *Graph) Expected(origin string, s crawl.Settings) map[string]Want {
	out := map[string]Want{}
	next := []int{0}
	for depth := 0; len(next) > 0; depth++ {
		var found []int
		for _, i := range next {
			n := g.nodes[i]
			if _, seen := out[origin+n.path]; seen {
				continue
			}
			w := Want{Depth: depth, Status: n.status, State: state(n.status)}
			switch {
			case depth > s.MaxDepth, n.robots && s.RespectRobots:
				w.State, w.Status = crawl.Skipped, 0
			case n.to >= 0 && s.FollowRedirects:
				found = append(found, n.to)
			default:
				for _, e := range n.links {
					if e.to >= 0 {
						found = append(found, int(e.to))
					}
				}
			}
			out[origin+n.path] = w
		}
		next = found
	}
	return out
}

// String names the site, for a test to print.
func (g *Graph) String() string {
	return fmt.Sprintf("graph of %d URLs, seed %d", len(g.nodes), g.o.Seed)
}

// state is what the answer of a status makes of a URL, when it stays so.
func state(status int) crawl.State {
	switch {
	case status < 300:
		return crawl.Visited
	case status == http.StatusMovedPermanently:
		return crawl.Redirect301
	case status == http.StatusForbidden:
		return crawl.Forbidden
	case status == http.StatusNotFound:
		return crawl.NotFound
	}
	return crawl.HTTPTerminal
}

// words is text of n bytes.
func words(dice *rand.Rand, n int) []byte {
	out := make([]byte, 0, n+16)
	for len(out) < n {
		for range 2 + dice.IntN(9) {
			out = append(out, byte('a'+dice.IntN(26)))
		}
		out = append(out, ' ')
	}
	return out[:n]
}
