package activities_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// seeded notes the links that a run begins with.
type seeded struct {
	*crawled
	seeds []string
	note  string
}

func (s *seeded) Note(_ context.Context, _ int64, note string) error {
	s.note = note
	return nil
}

func (s *seeded) Seed(_ context.Context, _ int64, links []crawl.Link) error {
	for _, l := range links {
		s.seeds = append(s.seeds, l.URL)
	}
	return nil
}

func (s *seeded) seed(t *testing.T) activities.CrawlSeeds {
	t.Helper()
	out, err := s.trySeed(t)
	require.NoError(t, err)
	return out
}

func (s *seeded) trySeed(t *testing.T) (out activities.CrawlSeeds, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &activities.Seeding{Store: s, Web: s, Hosts: s, Robots: s, Slots: s.slots, Agent: "Conveyor"}
	env.RegisterActivity(a)
	v, err := env.ExecuteActivity(a.SeedCrawl, activities.CrawlShardJob{RunID: 7})
	if err == nil {
		require.NoError(t, v.Get(&out))
	}
	return out, err
}

// A run that is paused or cancelled while its sitemaps are read asks for no more of them, until it is resumed.
func TestSeedCrawlStops(t *testing.T) {
	t.Parallel()

	for state, says := range map[string]string{crawl.Cancelled: "", crawl.Paused: "the run is paused"} {
		s := &seeded{crawled: newCrawled(t)}
		s.settings.UseSitemaps = true
		s.rules = "Sitemap: https://a.example/1.xml\nSitemap: https://a.example/2.xml\n"
		s.answer = func(web.Request) (e web.Exchange, err error) {
			s.status, e.Status = state, 200
			e.Raw = []byte("https://a.example/page\n")
			return e, nil
		}
		for range 2 {
			_, err := s.trySeed(t)
			if says == "" {
				require.NoError(t, err, state)
			} else {
				require.ErrorContains(t, err, says)
			}
			require.Equal(t, []string{"https://a.example/1.xml"}, s.asked, state)
		}
		s.status = ""
		s.answer = func(web.Request) (e web.Exchange, err error) {
			e.Status = 404
			return e, nil
		}
		s.seed(t)
		require.Len(t, s.asked, 3, state)
	}
}

// Sitemaps take slots of their own, one each until it is read, whatever the number of runs that begin at once: a sitemap
// may have 50 MiB. They do not wait for the URLs of other runs.
func TestSeedCrawlTakesSlots(t *testing.T) {
	t.Parallel()

	var now, most atomic.Int32
	slots := activities.NewCrawlSlots(2, 2, 1)
	slots.Jobs <- struct{}{}
	slots.Jobs <- struct{}{}
	var runs sync.WaitGroup
	for range 10 {
		s := &seeded{crawled: newCrawled(t)}
		s.settings.UseSitemaps, s.slots = true, slots
		s.rules = "Sitemap: https://a.example/to/1.xml\nSitemap: https://a.example/2.xml\nSitemap: https://a.example/3.xml\n"
		s.answer = func(r web.Request) (e web.Exchange, err error) {
			n := now.Add(1)
			defer now.Add(-1)
			most.Store(max(most.Load(), n))
			for range 100 {
				runtime.Gosched()
			}
			if e.Status = 200; strings.HasSuffix(r.URL, "/to/1.xml") {
				e.RedirectTo = "https://a.example/1.xml"
			}
			e.Raw = []byte("https://a.example/" + r.URL[len(r.URL)-5:] + "\n")
			return e, nil
		}
		runs.Go(func() {
			out, err := s.trySeed(t)
			assert.NoError(t, err)
			assert.Equal(t, 3, out.Sitemaps)
		})
	}
	runs.Wait()
	require.LessOrEqual(t, most.Load(), int32(2))
	require.Empty(t, slots.Sitemaps, "slots are given back")
}

// A run whose URLs are requested again does not read its sitemaps again: they may name new ones.
func TestSeedCrawlOnce(t *testing.T) {
	t.Parallel()

	s := &seeded{crawled: newCrawled(t)}
	s.settings.UseSitemaps, s.begun = true, true
	require.Zero(t, s.seed(t))
	require.Empty(t, s.asked)
}

// Sitemaps are requested in their host's turn, which hears how it went; a host that refuses is asked no more, and a
// host that is not of the run only what its robots.txt allows.
func TestSeedCrawlPolitely(t *testing.T) {
	t.Parallel()

	s := &seeded{crawled: newCrawled(t)}
	s.settings.UseSitemaps = true
	s.rules = "User-agent: *\nDisallow: /private/\nSitemap: https://a.example/1.xml\nSitemap: https://b.example/1.xml\n" +
		"Sitemap: https://b.example/2.xml\nSitemap: https://c.example/private/1.xml\nSitemap: https://a.example/private/2.xml\n"
	var turns []string
	full := 1 // times that a.example has no turn
	s.turn = func(host string) error {
		if full--; full >= 0 {
			return &fault.Error{Class: fault.Limited, After: time.Millisecond, Err: errors.New("no turn")}
		}
		turns = append(turns, host)
		return nil
	}
	s.answer = func(r web.Request) (e web.Exchange, err error) {
		if e.Status = 200; strings.HasPrefix(r.URL, "https://b.example/") {
			e.Status = 429
		}
		e.Raw = []byte("https://a.example/from" + strings.TrimPrefix(r.URL, "https://a.example") + "\n")
		return e, nil
	}
	out := s.seed(t)
	require.Equal(t, []string{"https://a.example/1.xml", "https://b.example/1.xml", "https://a.example/private/2.xml"}, s.asked)
	require.Equal(t, []string{"a.example", "b.example", "a.example"}, turns, "one turn a request")
	require.Len(t, s.verdict, 3, "each turn ends")
	require.Equal(t, crawl.Judge(429, 0, nil), s.verdict[1])
	require.Equal(t, []string{"https://a.example/from/1.xml", "https://a.example/from/private/2.xml"}, s.seeds)
	require.Equal(t, 2, out.Sitemaps)
	require.Contains(t, out.Note, "robots.txt disallows it")
	require.Equal(t, out.Note, s.note)
}

// Each file is requested once, however often it is named: relative, in another spelling, by an index or by a redirect.
func TestSeedCrawlOfFilesNamedTwice(t *testing.T) {
	t.Parallel()

	s := &seeded{crawled: newCrawled(t)}
	s.settings.UseSitemaps = true
	s.rules = "Sitemap: /index.xml\nSitemap: HTTPS://A.example:443/index.xml\nSitemap: https://a.example/old.xml\n" +
		"Sitemap: https://a.example/older.xml\nSitemap: https://a.example/new.xml\nSitemap: https://a.example/loop.xml\n"
	s.answer = func(r web.Request) (e web.Exchange, err error) {
		switch path := strings.TrimPrefix(r.URL, "https://a.example"); path {
		case "/index.xml":
			e.Raw = []byte("<sitemapindex><sitemap><loc>/index.xml</loc></sitemap><sitemap><loc>/led.xml</loc></sitemap></sitemapindex>")
		case "/old.xml", "/loop.xml", "/older.xml":
			e.RedirectTo = "https://a.example" + strings.NewReplacer("older", "new", "old", "led").Replace(path)
		default:
			e.Raw = []byte("https://a.example/from" + path + "\n")
		}
		if e.Status = 200; e.RedirectTo != "" {
			e.Status = 301
		}
		return e, nil
	}
	out := s.seed(t)
	asked := map[string]int{}
	for _, url := range s.asked {
		asked[strings.TrimPrefix(url, "https://a.example")]++
	}
	require.Equal(t, map[string]int{
		"/index.xml": 1, "/old.xml": 1, "/led.xml": 1, "/older.xml": 1, "/new.xml": 1, "/loop.xml": 1,
	}, asked)
	require.ElementsMatch(t, []string{"https://a.example/from/led.xml", "https://a.example/from/new.xml"}, s.seeds)
	require.Equal(t, 3, out.Sitemaps)
	require.Equal(t, "https://a.example/loop.xml: redirects in a loop", out.Note)
}

// Of files that lead to one another none is read, and the run says so. What is no address is not asked for.
func TestSeedCrawlOfFilesThatLeadToOneAnother(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ to, note string }{
		{"https://a.example/b.xml", "https://a.example/b.xml: redirects in a loop"},
		{"https://a.example/" + strings.Repeat("x", 64<<10), "https://a.example/a.xml: read address"},
	} {
		s := &seeded{crawled: newCrawled(t)}
		s.settings.UseSitemaps = true
		s.rules = "Sitemap: /a.xml\nSitemap: /b.xml\n"
		s.answer = func(r web.Request) (e web.Exchange, err error) {
			if e.Status, e.RedirectTo = 301, "https://a.example/a.xml"; strings.HasSuffix(r.URL, "/a.xml") {
				e.RedirectTo = tt.to
			}
			return e, nil
		}
		out := s.seed(t)
		require.Zero(t, out.Sitemaps)
		require.Contains(t, out.Note, tt.note)
		require.Equal(t, out.Note, s.note)
		require.Len(t, s.asked, 2)
	}
}

// What a site names of sitemaps beyond those that are asked for is not kept, and one that cannot be read counts. It
// measures the heap, so it is not parallel.
func TestSeedCrawlOfIndexesOfIndexes(t *testing.T) {
	const names, read = 4000, 8 // files in an index, and indexes that are read: 64 MB of addresses
	var index strings.Builder
	index.WriteString("<sitemapindex>")
	for i := range names {
		fmt.Fprintf(&index, "<sitemap><loc>https://a.example/%d/%s</loc></sitemap>", i, strings.Repeat("x", 1950))
	}
	index.WriteString("</sitemapindex>")
	s := &seeded{crawled: newCrawled(t)}
	s.settings.UseSitemaps = true
	s.rules = "Sitemap: https://a.example/index.xml\n"
	raw := []byte(index.String())
	var heap [2]int64
	measure := func(i int) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		heap[i] = int64(m.HeapAlloc)
	}
	measure(0)
	s.answer = func(web.Request) (e web.Exchange, err error) {
		if e.Status, e.Raw = 200, raw; len(s.asked) > read {
			e.Status = 404
		}
		if len(s.asked) == read+1 {
			measure(1)
		}
		return e, nil
	}
	out := s.seed(t)
	require.Less(t, heap[1]-heap[0], int64(24<<20))
	require.Len(t, s.asked, 1000)
	require.Equal(t, read, out.Sitemaps)
	require.Contains(t, out.Note, "more than 1000 sitemaps are named, and the rest left out; https://a.example/")
}

// The files of a large site are all read: its newest pages are in the last ones.
func TestSeedCrawlOfManySitemaps(t *testing.T) {
	t.Parallel()

	const files = 150
	s := &seeded{crawled: newCrawled(t)}
	s.settings.UseSitemaps = true
	s.answer = func(r web.Request) (e web.Exchange, err error) {
		e.Status = 200
		if name, ok := strings.CutPrefix(r.URL, "https://a.example/posts/"); ok {
			e.Raw = fmt.Appendf(nil, "<urlset><url><loc>https://a.example/%s</loc></url></urlset>", name)
			return e, nil
		}
		e.Raw = []byte("<sitemapindex>")
		for i := range files {
			e.Raw = fmt.Appendf(e.Raw, "<sitemap><loc>https://a.example/posts/%d</loc></sitemap>", i)
		}
		e.Raw = append(e.Raw, "</sitemapindex>"...)
		return e, nil
	}
	require.Equal(t, activities.CrawlSeeds{Sitemaps: files + 1, URLs: files}, s.seed(t))
}

// The queries of a page's links are in its encoding.
func TestCrawlInTheEncodingOfThePage(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.answer = func(web.Request) (e web.Exchange, err error) {
		e.Status, e.ContentType, e.Charset = 200, "text/html; charset=iso-8859-1", "windows-1252"
		e.Body = []byte(`<a href="/prix-€">x</a><a href="/recherche?q=café">x</a>`)
		return e, nil
	}
	got := c.work()
	require.Contains(t, got, "/prix-%E2%82%AC")
	require.Contains(t, got, "/recherche?q=caf%E9")
	require.Len(t, got, 3)
}
