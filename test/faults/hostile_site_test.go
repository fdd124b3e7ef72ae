package faults

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// Sites that are all traps harm their own crawls: other runs find what is on their site, at their pace, while the
// sitemaps of one and the pages of another are read, until all traps were tried. They cost nobody else anything:
// nothing that is published is refused, the runs' books balance, and no process grows beyond its memory.
func TestAHostileSiteHarmsItself(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: 200, Chain: 5, Delay: 10 * time.Millisecond})
	good := crawlsite.New(g)
	maps, traps := crawlsite.New(newVillain(*seed)), crawlsite.New(newVillain(*seed)) // two sites, each with a pace of its own
	home, mapped, trapped := httptest.NewServer(good), httptest.NewServer(maps), httptest.NewServer(traps)
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	hosts := []string{host(home), host(mapped), host(trapped)}
	for _, s := range []*httptest.Server{home, mapped, trapped} {
		t.Cleanup(s.Close)
	}
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false", "CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.Join(hosts, ","))
	w.tempt = func() {}
	l := &Ledger{Seed: *seed, Wrong: []string{}}

	settings := crawling.Defaults
	settings.MaxDepth, settings.MaxPages = 1000, 10_000
	want := g.Expected(home.URL, settings)
	var runs []int64
	crawl := func() time.Duration {
		began := time.Now()
		run, err := w.startCrawl(home.URL+"/", settings)
		require.NoError(t, err)
		runs = append(runs, run)
		require.NoError(t, eventually(w.ctx, 2*servicetest.Patience(), func() bool {
			return w.crawlState(run) == crawling.Completed
		}), "run %d: %s", run, w.crawlProgress(run))
		return time.Since(began)
	}
	w.say("seed %d: %s, in peace", *seed, g)
	quiet := crawl()
	w.say("in peace %.1f s; beside hostile sites …", quiet.Seconds())
	greedy := settings
	greedy.FollowLinkRel, greedy.IncludeDocuments = true, true
	var hostile []int64
	for _, s := range []*httptest.Server{mapped, trapped} {
		greedy.UseSitemaps = s == mapped
		run, err := w.startCrawl(s.URL+"/", greedy)
		require.NoError(t, err)
		hostile = append(hostile, run)
	}
	for _, site := range []*crawlsite.Watch{maps, traps} {
		require.NoError(t, eventually(w.ctx, servicetest.Patience(), func() bool { return len(site.Open()) > 0 }),
			"a hostile site is not asked")
	}
	missed := func() []string {
		return append(untried(maps.Hits(), mapTraps()), untried(traps.Hits(), pathTraps())...)
	}
	var beside []time.Duration
	for last, moved := 0, time.Now(); len(beside) == 0 || len(missed()) > 0; {
		beside = append(beside, crawl())
		if n := len(missed()); n != last {
			last, moved = n, time.Now()
		}
		w.say("beside them %.1f s; %d traps are not tried", beside[len(beside)-1].Seconds(), last)
		if last > 0 && time.Since(moved) > servicetest.Patience() {
			w.say("given up: %s; %s", w.crawlPending(hostile[0]), w.crawlPending(hostile[1]))
			break
		}
	}
	for _, run := range hostile {
		w.say("a hostile site's run: %s", w.crawlProgress(run))
		code, answer, err := w.ask(w.ctx, http.DefaultClient, "", "POST", fmt.Sprintf("/crawl-runs/%d/cancel", run), nil)
		require.NoError(t, err)
		require.Less(t, code, 300, "%s", answer)
	}

	w.rest(l)
	l.crawls(w, home.URL, runs, want, good.Hits())
	slices.Sort(beside)
	middle := beside[(len(beside)-1)/2]
	l.within("rate of the good site's crawl, in percent of that in peace", int(100*quiet/middle), 50, 1<<30)
	l.row("crawls of it beside the hostile sites", len(beside), "%.1f s one, %.1f to %.1f s; %.1f in peace", middle.Seconds(),
		beside[0].Seconds(), beside[len(beside)-1].Seconds(), quiet.Seconds())
	l.row("requests to the hostile sites", maps.Total()+traps.Total(), "%d and %d at once at most",
		maps.Pace(hosts[1]).Most, traps.Pace(hosts[2]).Most)
	l.none("traps that were not tried", missed())
	for _, run := range hostile {
		state := w.crawlState(run)
		l.row("a hostile site's run", int(run), "%s", state)
		if state != crawling.Cancelled {
			l.Wrong = append(l.Wrong, "a hostile site's run is "+state)
		}
	}
	letters, err := table[struct{ Reason string }](w, "SELECT reason FROM dead_letters")
	require.NoError(t, err)
	var dead []string
	for _, d := range letters {
		dead = append(dead, d.Reason)
	}
	l.none("dead letters", dead)
	l.processes(w)
	l.close(w)
}

// sitemapTraps are by the end of their path.
var sitemapTraps = map[string]http.HandlerFunc{
	// 1 GB of addresses, of spaces, and of elements within each other.
	"bomb.xml.gz":   packedFile("<urlset>", strings.Repeat("<url><loc>/ok/0</loc></url>", 2000), 20_000),
	"blank.xml.gz":  packedFile("<urlset>", strings.Repeat(" ", 1<<16), 16_000),
	"nested.xml.gz": packedFile("<urlset>", strings.Repeat("<a>", 20_000), 16_000),
	// 50,000 more sitemaps, itself among them, each of which has as many.
	"index.xml": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<sitemapindex>")
		for i := range 50_000 {
			fmt.Fprintf(w, "<sitemap><loc>http://%s/sitemaps/%d/index.xml</loc></sitemap>\n", r.Host, i)
		}
		_, _ = io.WriteString(w, "</sitemapindex>")
	},
	"endless.xml": endless("<urlset>", func(i int) string { return fmt.Sprintf("<url><loc>/ok/%d</loc></url>\n", i%9) }),
	"entities.xml": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, entities("urlset", "<urlset><url><loc>/ok/&j;</loc></url></urlset>"))
	},
	"line.txt":   endless("http://", func(int) string { return strings.Repeat("a", 1<<16) }),
	"silent.xml": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
}

// pageTraps are by their path; those of crawlsite.Traps are traps besides.
var pageTraps = map[string]http.HandlerFunc{
	"/xhtml/entities": xhtml(entities("html", `<html xmlns="http://www.w3.org/1999/xhtml"><body><p>&j;</p><a href="/ok/&j;">1</a></body></html>`)),
	"/xhtml/nested":   xhtml(strings.Repeat("<div>", 500_000)),
	"/xhtml/attributes": xhtml("<html><body " + strings.Join(slices.Collect(func(yield func(string) bool) {
		for i := range 300_000 {
			if !yield(fmt.Sprintf(`a%d="%d"`, i, i)) {
				return
			}
		}
	}), " ") + "></body></html>"),
	"/endless/comment": endless("<!doctype html><!--", func(int) string { return strings.Repeat("-", 1<<16) }),
	"/endless/links": endless("<!doctype html>", func(i int) string {
		return strings.Repeat(fmt.Sprintf("<a href=/links/of/%d>", i), 1000)
	}),
	"/endless/title": endless("<!doctype html><title>", func(int) string { return strings.Repeat("é", 1<<15) }),
	"/endless/base":  endless("<!doctype html>", func(i int) string { return fmt.Sprintf("<base href=/%s>", strings.Repeat("b", 1+i%4000)) }),
	"/cookies": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 500 {
			w.Header().Add("Set-Cookie", fmt.Sprintf("c%d=%s", i, strings.Repeat("x", 60)))
		}
		_, _ = io.WriteString(w, "<!doctype html><a href=/ok/0>1</a>")
	},
}

// trapsOf are more of crawlsite.Traps, which are asked for once each.
var trapsOf = []string{
	"/calendar/2026/11", "/deep/", "/session/", "/facets?a=1&b=1", "/loop/a", "/self", "/hop/1", "/silent", "/drip", "/huge", "/bomb",
	"/links", "/long", "/far", "/headers", "/header", "/reset", "/cut", "/nested", "/untyped", "/wrong-length", "/bad-gzip",
	"/redirect-to-private", "/flaky/reset,slow:2,200/1", "/ok/3",
}

// charsets are what pages say of themselves, and are not.
var charsets = []string{
	"utf-7", "utf-16", "utf-16be", "utf-32", "iso-2022-jp", "gb18030", "hz-gb-2312", "big5", "x-user-defined", "replacement", "ibm866",
	"utf-8", "no-such", strings.Repeat("x", 10_000), "\"", "utf-8; charset=koi8-r",
}

// A villain is a site of traps.
type villain struct {
	*http.ServeMux
	links []string
}

func newVillain(seed uint64) *villain {
	v := &villain{ServeMux: http.NewServeMux(), links: slices.Clone(trapsOf)}
	for path, h := range pageTraps {
		v.links = append(v.links, path)
		v.HandleFunc(path, h)
	}
	for i := range charsets {
		v.links = append(v.links, fmt.Sprint("/charset/", i))
	}
	dice := rand.New(rand.NewPCG(seed, 3))
	slices.Sort(v.links)
	dice.Shuffle(len(v.links), func(i, j int) { v.links[i], v.links[j] = v.links[j], v.links[i] })
	v.HandleFunc("/charset/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		dice := rand.New(rand.NewPCG(seed, uint64(n)))
		noise := make([]byte, 1<<18)
		for i := range noise {
			noise[i] = byte(dice.Uint32())
		}
		w.Header().Set("Content-Type", "text/html; charset="+charsets[n%len(charsets)])
		_, _ = io.WriteString(w, "<title>\x1b$B\xff\x00</title><a href='/ok/0?\xff\xfe'>~{")
		_, _ = w.Write(noise)
	})
	v.HandleFunc("/sitemaps/{n}/{file}", func(w http.ResponseWriter, r *http.Request) {
		if h := sitemapTraps[r.PathValue("file")]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	})
	v.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "User-agent: *\nAllow: /\n")
		for file := range sitemapTraps {
			fmt.Fprintf(w, "Sitemap: http://%s/sitemaps/0/%s\n", r.Host, file)
		}
		_, _ = io.WriteString(w, strings.Repeat("Disallow: /*a*a*a*a*a*a*a*a*a*a*a*b$\n", 5000))
	})
	v.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
		for _, link := range v.links {
			fmt.Fprintf(w, "<a href=\"%s\">more</a>\n", strings.ReplaceAll(link, "&", "&amp;"))
		}
	})
	v.Handle("/", crawlsite.NewTraps())
	return v
}

// mapTraps are the paths of a villain's sitemaps, and pathTraps those of its pages.
func mapTraps() (want []string) {
	for file := range sitemapTraps {
		want = append(want, "/sitemaps/0/"+file)
	}
	return want
}

func pathTraps() []string {
	want := slices.Clone(trapsOf)
	for path := range pageTraps {
		want = append(want, path)
	}
	for i := range charsets {
		want = append(want, fmt.Sprint("/charset/", i))
	}
	return want
}

// untried are the traps of a villain that were not asked for.
func untried(hits map[string]int, traps []string) []string {
	asked := map[string]bool{}
	for url := range hits {
		path := strings.TrimPrefix(url, "http://")
		asked[path[strings.IndexByte(path, '/'):]] = true
	}
	return slices.DeleteFunc(traps, func(path string) bool { return asked[path] })
}

// entities are a document whose entity j is 10 GB.
func entities(root, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<!DOCTYPE %s [<!ENTITY a \"%s\">", root, strings.Repeat("a", 10))
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&b, "<!ENTITY %c \"%s\">", c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	return b.String() + "]>\n" + text
}

func xhtml(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xhtml+xml")
		_, _ = io.WriteString(w, text)
	}
}

// endless sends pieces until the other side has had enough.
func endless(begin string, piece func(i int) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		kind := "text/html; charset=utf-8"
		if strings.HasSuffix(r.URL.Path, ".xml") {
			kind = "application/xml"
		}
		w.Header().Set("Content-Type", kind)
		_, err := io.WriteString(w, begin)
		for i := 0; err == nil; i++ {
			_, err = io.WriteString(w, piece(i))
		}
	}
}

// packedFile is a file that is packed by gzip, with n pieces. It is packed at the first request.
func packedFile(begin, piece string, n int) http.HandlerFunc {
	data := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, begin) // writes to memory
		for range n {
			_, _ = io.WriteString(z, piece)
		}
		_ = z.Close()
		return b.Bytes()
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(data())
	}
}
