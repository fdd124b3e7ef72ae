package activities_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// crawled is a fake frontier, its site, and everything else that a shard needs. The run ends when nothing is left.
type crawled struct {
	t        *testing.T
	settings crawl.Settings
	begun    bool // of the run
	answer   func(r web.Request) (web.Exchange, error)
	rules    string
	unread   func() error // reading rules; nil = they are read
	turn     func(host string) error
	seen     []string          // crawled lately
	base     map[string]string // page → link, of the base run
	etags    map[string]string
	down     int // calls of Record that fail
	refuse   string
	status   string // of the run; "" = it runs until nothing is left
	browser  activities.CrawlBrowser
	logs     bytes.Buffer // errors
	slots    activities.CrawlSlots
	frontier activities.CrawlFrontier // instead of this one; nil = this one

	mu      sync.Mutex
	waiting []crawl.Claim
	known   map[string]bool
	leased  int
	results map[string][]crawl.Result
	asked   []string
	marked  map[string]int64 // by the run

	readings []string // that were noted
	unnoted  int      // of them, those that fail
	verdict  []crawl.Verdict
	claims   int
}

func newCrawled(t *testing.T) *crawled {
	t.Helper()

	c := &crawled{
		t: t, settings: crawl.Defaults, known: map[string]bool{}, results: map[string][]crawl.Result{},
		marked: map[string]int64{}, slots: activities.NewCrawlSlots(4, 4, 1),
	}
	c.add("https://a.example/", 0)
	return c
}

func (c *crawled) add(url string, depth int) {
	if !c.known[url] {
		c.known[url] = true
		host, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
		c.waiting = append(c.waiting, crawl.Claim{
			ID: int64(len(c.known)), URL: url, Host: host, Depth: depth, ETag: c.etags[url], QueuedAt: time.Now(),
		})
	}
}

func (c *crawled) Run(context.Context, int64) (crawl.Run, error) {
	return crawl.Run{ID: 7, RootURL: "https://a.example/", AllowedHosts: []string{"a.example", "www.a.example"},
		Settings: c.settings, Status: cmp.Or(c.status, crawl.Running), Begun: c.begun}, nil
}

func (c *crawled) Claim(_ context.Context, t crawl.Take) (claims []crawl.Claim, status string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != "" {
		return nil, c.status, nil
	}
	if c.claims++; c.claims == 2 && c.down > 0 {
		return nil, "", errors.New("connection refused")
	}
	if len(c.waiting) == 0 && c.leased == 0 {
		return nil, crawl.Completed, nil
	}
	var rest []crawl.Claim
	for _, w := range c.waiting {
		if room, ok := t.Room[w.Host]; len(claims) < t.Max && (!ok || room > 0) {
			if ok {
				t.Room[w.Host]--
			}
			w.Lease++
			claims = append(claims, w)
		} else {
			rest = append(rest, w)
		}
	}
	c.waiting, c.leased = rest, c.leased+len(claims)
	return claims, crawl.Running, nil
}

func (c *crawled) BeginReading(_ context.Context, _ int64, claim crawl.Claim) error {
	return c.reading("begin", claim)
}

func (c *crawled) EndReading(_ context.Context, _ int64, claim crawl.Claim) error {
	return c.reading("end", claim)
}

func (c *crawled) reading(what string, claim crawl.Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readings = append(c.readings, what+" "+strings.TrimPrefix(claim.URL, "https://a.example"))
	if c.unnoted > 0 {
		c.unnoted--
		return errors.New("connection refused")
	}
	return nil
}

func (c *crawled) Keep(context.Context, int64, string, []int64, time.Duration) error { return nil }

func (c *crawled) Record(_ context.Context, _ int64, _ string, results []crawl.Result) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down > 0 {
		c.down--
		return errors.New("connection refused")
	}
	for _, r := range results {
		if c.refuse != "" && r.Title == c.refuse {
			return fault.Newf(fault.Invalid, "body: postgres cannot store it")
		}
	}
	for _, r := range results {
		c.results[r.URL] = append(c.results[r.URL], r)
		c.leased--
		if r.State == crawl.Queued {
			if r.Asked {
				r.Tries++
			}
			c.waiting = append(c.waiting, r.Claim)
		}
		for _, l := range r.Links {
			c.add(l.URL, r.Depth+1)
		}
	}
	return nil
}

func (c *crawled) LinksOfBase(_ context.Context, _ int64, urls []string) (map[string][]crawl.Link, error) {
	return map[string][]crawl.Link{urls[0]: {{URL: c.base[urls[0]], Host: "a.example"}}}, nil
}

func (c *crawled) Ask(_ context.Context, r web.Request) (web.Exchange, error) {
	c.mu.Lock()
	c.asked = append(c.asked, r.URL)
	c.mu.Unlock()
	return c.answer(r)
}

func (c *crawled) Enter(_ context.Context, host string, _ time.Duration) (func(crawl.Verdict), error) {
	if c.turn != nil {
		if err := c.turn(host); err != nil {
			return nil, err
		}
	}
	return func(v crawl.Verdict) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.verdict = append(c.verdict, v)
	}, nil
}

func (c *crawled) Rules(context.Context, string) (robots.Rules, error) {
	if c.unread != nil {
		if err := c.unread(); err != nil {
			return robots.Rules{}, err
		}
	}
	return robots.Parse([]byte(c.rules)), nil
}

func (c *crawled) Seen(_ context.Context, _ int64, urls []string) ([]bool, error) {
	out := make([]bool, len(urls))
	for i, url := range urls {
		out[i] = slices.Contains(c.seen, url)
	}
	return out, nil
}

func (c *crawled) Mark(_ context.Context, run int64, urls []string) error {
	for _, url := range urls {
		c.marked[url] = run
	}
	return nil
}

func (c *crawled) Waited(time.Duration)                   {}
func (c *crawled) Fetched(time.Duration)                  {}
func (c *crawled) Processed(time.Duration, crawl.Outcome) {}

// work runs a shard until the run has ended and returns the last result of each URL as "STATE reason", by path.
func (c *crawled) work() map[string]string {
	c.t.Helper()

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(&c.logs,
		&slog.HandlerOptions{Level: slog.LevelError}))))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(servicetest.Patience())
	a := &activities.Crawling{
		Frontier: cmp.Or[activities.CrawlFrontier](c.frontier, c), Base: c, Web: c, Hosts: c, Robots: c, Recent: c,
		Metrics: c, Slots: c.slots, Browser: c.browser,
		Agent: "Conveyor", Policy: crawl.RetryPolicy{Base: time.Millisecond, Max: time.Second}, Worker: "w", Now: time.Now,
	}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Slice: time.Minute})
	require.NoError(c.t, err)
	out := map[string]string{}
	for url, results := range c.results {
		last := results[len(results)-1]
		out[strings.TrimPrefix(url, "https://a.example")] = strings.TrimSpace(string(last.State) + " " + last.Reason)
	}
	return out
}

// noBrowser is a worker's browser that is not installed.
type noBrowser struct{ activities.CrawlBrowser }

func (noBrowser) Check() error { return fault.Newf(fault.Invalid, "chromium is not installed") }

// A worker without Chromium leaves the shard of a run that renders to another one: no page fails. A run that was
// cancelled ends without one.
func TestRenderWithoutABrowser(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.settings.Render = true
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &activities.Crawling{Frontier: c, Browser: noBrowser{}, Now: time.Now}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Slice: time.Minute})
	require.ErrorContains(t, err, "render pages: chromium is not installed")
	class, _ := fault.Of(err)
	require.False(t, class.Final())
	require.Zero(t, c.claims)

	c.status = crawl.Cancelled
	ended, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Slice: time.Minute})
	require.NoError(t, err)
	var done activities.CrawlShardDone
	require.NoError(t, ended.Get(&done))
	require.Equal(t, crawl.Cancelled, done.Status)
}

// lateBrowser is a browser that does not start so many times.
type lateBrowser struct{ fails int }

func (b *lateBrowser) Check() error { return nil }

func (b *lateBrowser) Load(_ context.Context, r web.Request) (web.Page, error) {
	if b.fails--; b.fails >= 0 {
		return web.Page{}, fmt.Errorf("load page: %w: fork: resource temporarily unavailable", web.ErrNoBrowser)
	}
	return html(r, "<p>rendered").Page, nil
}

// A page that a browser of ours cannot be started for waits, however often, and its host is not blamed.
func TestRenderWaitsForTheBrowser(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.settings.Render, c.settings.MaxRetries = true, 1
	c.browser = &lateBrowser{fails: 2}
	c.answer = pages(map[string]string{"/": "<p>as it was sent"})
	require.Equal(t, map[string]string{"/": "VISITED"}, c.work())
	results := c.results["https://a.example/"]
	require.Len(t, results, 3)
	for _, r := range results[:2] {
		require.Equal(t, crawl.Queued, r.State)
		require.False(t, r.Asked, "it is no try")
		require.Positive(t, r.Pause)
	}
	require.NotContains(t, c.verdict, crawl.Judge(0, 0, errors.New("connection refused")))
	var m contract.CrawledPage
	require.NoError(t, json.Unmarshal(results[2].Message, &m))
	require.Equal(t, "rendered", *m.Text)
}

// html is an answer with a page.
func html(r web.Request, body string) web.Exchange {
	return web.Exchange{Page: web.Page{Asked: r.URL, URL: r.URL, Status: 200, ContentType: "text/html", Body: []byte(body)},
		Header: textproto.MIMEHeader{}, Raw: []byte(body), Length: int64(len(body))}
}

func status(r web.Request, code int) web.Exchange {
	e := html(r, "")
	e.Status = code
	return e
}

// pages answers by path; others are 404.
func pages(bodies map[string]string) func(web.Request) (web.Exchange, error) {
	return func(r web.Request) (web.Exchange, error) {
		if body, ok := bodies[strings.TrimPrefix(r.URL, "https://a.example")]; ok {
			return html(r, body), nil
		}
		return status(r, 404), nil
	}
}

func TestCrawlShard(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.rules = "User-agent: *\nDisallow: /private"
	c.answer = pages(map[string]string{
		"/": `<title>Home</title><meta name="description" content="All of it"><a href="/b#x">b</a> <a href="b">b again</a>
			<a href="/private/x">no</a> <a href="https://other.example/">out</a> <a href="paper.pdf">pdf</a>
			<a href="/gone">gone</a>
			<p>Café &amp; <b>Co</b></p>`,
		"/b": `<a href="/">home</a><iframe src="/frame"></iframe>`, "/frame": `x`,
	})
	require.Equal(t, map[string]string{
		"/": "VISITED", "/b": "VISITED", "/private/x": "SKIPPED robots", "/gone": "NOT_FOUND", "/frame": "VISITED",
	}, c.work())
	home := c.results["https://a.example/"][0]
	require.Equal(t, "Home", home.Title)
	require.Equal(t, []crawl.Link{
		{URL: "https://a.example/b", Raw: "/b#x", Host: "a.example"},
		{URL: "https://a.example/private/x", Raw: "/private/x", Host: "a.example"},
		{URL: "https://a.example/gone", Raw: "/gone", Host: "a.example"},
	}, home.Links)
	var m contract.CrawledPage
	require.NoError(t, json.Unmarshal(home.Message, &m))
	require.NoError(t, m.Check())
	require.Equal(t, "b b again no out pdf gone café & co", *m.Text)
	require.Equal(t, "All of it", m.Metadata.Description)
	var gone contract.CrawledPage
	require.NoError(t, json.Unmarshal(c.results["https://a.example/gone"][0].Message, &gone))
	require.NoError(t, gone.Check())
	require.True(t, gone.Removed, "the search is told that it is no page")
	require.Equal(t, 404, gone.Metadata.StatusCode)
	require.Nil(t, c.results["https://a.example/private/x"][0].Message)
	require.Len(t, c.asked, 4, "what robots.txt disallows is not asked")
}

// What is gone for good, and what asks not to be indexed, is taken out of the search; what may come back is not. A run
// that publishes nothing removes nothing either.
func TestCrawlTellsWhatIsGone(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		publish, robots bool
		want            []string
	}{
		{true, true, []string{"/301", "/308", "/404", "/410", "/header", "/noindex"}},
		{true, false, []string{"/301", "/308", "/404", "/410"}}, {false, true, nil},
	} {
		c := newCrawled(t)
		c.settings.Publish, c.settings.RespectRobots = tt.publish, tt.robots
		c.answer = func(r web.Request) (web.Exchange, error) {
			switch path := strings.TrimPrefix(r.URL, "https://a.example"); path {
			case "/":
				return html(r, `<a href="/404"></a><a href="/410"></a><a href="/noindex"></a><a href="/401"></a><a href="/403"></a>
					<a href="/500"></a><a href="/header"></a><a href="/other"></a>
					<a href="/301"></a><a href="/308"></a><a href="/302"></a><a href="/303"></a><a href="/307"></a>
					<a href="/301/itself"></a><a href="/301/nowhere"></a>`), nil
			case "/noindex":
				return html(r, `<meta name="robots" content="noindex"><p>secret`), nil
			case "/header", "/other":
				e := html(r, "<p>secret")
				e.Header.Set("X-Robots-Tag", map[string]string{"/header": "noarchive, noindex", "/other": "otherbot: noindex"}[path])
				return e, nil
			case "/301/itself":
				e := status(r, 301)
				e.RedirectTo = r.URL
				return e, nil
			case "/301/nowhere":
				return status(r, 301), nil
			default:
				code, err := strconv.Atoi(path[1:])
				require.NoError(t, err)
				e := status(r, code)
				if code/100 == 3 {
					e.RedirectTo = "https://elsewhere.example/" + path
				}
				return e, nil
			}
		}
		c.work()
		var gone []string
		for url, results := range c.results {
			for _, r := range results {
				var m contract.CrawledPage
				if r.Message == nil || json.Unmarshal(r.Message, &m) != nil || !m.Removed {
					continue
				}
				require.Empty(t, *m.Text)
				require.Equal(t, url, m.URL)
				gone = append(gone, strings.TrimPrefix(url, "https://a.example"))
			}
		}
		slices.Sort(gone)
		require.Equal(t, tt.want, gone)
	}
}

// Answers that may pass are tried again, as often as the run says, and others are not.
func TestCrawlRetries(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	tries := map[string]int{}
	var mu sync.Mutex
	c.answer = func(r web.Request) (web.Exchange, error) {
		path := strings.TrimPrefix(r.URL, "https://a.example")
		mu.Lock()
		defer mu.Unlock()
		tries[path]++
		switch path {
		case "/":
			return html(r, `<a href="/503"></a><a href="/flaky"></a><a href="/401"></a><a href="/reset"></a><a href="/bomb"></a>
				<a href="/301"></a><a href="/302"></a>`), nil
		case "/503":
			return status(r, 503), nil
		case "/flaky":
			return status(r, map[bool]int{true: 429, false: 200}[tries[path] == 1]), nil
		case "/401":
			return status(r, 401), nil
		case "/reset":
			return web.Exchange{}, fault.Newf(fault.Transient, "connection reset")
		case "/301", "/302":
			e := status(r, map[string]int{"/301": 301, "/302": 302}[path])
			e.RedirectTo = "https://www.a.example/to" + path
			return e, nil
		}
		return web.Exchange{}, fault.Newf(fault.Invalid, "body is larger than 10 MiB")
	}
	got := c.work()
	require.Equal(t, map[string]string{
		"/": "VISITED", "/503": "HTTP_TERMINAL", "/flaky": "VISITED", "/401": "HTTP_TERMINAL", "/reset": "FAILED",
		"/bomb": "FAILED", "/301": "REDIRECT_301", "/302": "HTTP_TERMINAL",
		"https://www.a.example/to/301": "FAILED", "https://www.a.example/to/302": "FAILED",
	}, got)
	require.Equal(t, map[string]int{"/": 1, "/503": 3, "/flaky": 2, "/401": 1, "/reset": 3, "/bomb": 1, "/301": 1, "/302": 1,
		"https://www.a.example/to/301": 1, "https://www.a.example/to/302": 1}, tries)
	require.Contains(t, c.verdict, crawl.Refused(0))
}

// A host whose turn is far away goes back to the frontier without a try, and holds up no other host.
func TestCrawlPutsBack(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.answer = func(r web.Request) (web.Exchange, error) {
		return html(r, `<a href="https://www.a.example/slow"></a><a href="https://a.example/fast"></a>`), nil
	}
	var mu sync.Mutex
	turns := 0
	c.turn = func(host string) error {
		mu.Lock()
		defer mu.Unlock()
		if host == "www.a.example" {
			if turns++; turns < 3 {
				return &fault.Error{Class: fault.Limited, After: 50 * time.Millisecond, Err: errors.New("not yet")}
			}
		}
		return nil
	}
	require.Equal(t, map[string]string{"/": "VISITED", "/fast": "VISITED", "https://www.a.example/slow": "VISITED"}, c.work())
	slow := c.results["https://www.a.example/slow"]
	require.Len(t, slow, 3)
	require.False(t, slow[0].Asked, "a URL that was put back was not tried")
	require.Zero(t, slow[0].After)
}

// While robots.txt cannot be read and is not asked for, URLs wait: that is no try of them, however often. The one whose
// visit has asked for it has tried.
func TestCrawlWaitsForRobots(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	for n := range 9 {
		c.add(fmt.Sprintf("https://a.example/%d", n), 1)
	}
	var asked atomic.Int64
	rules := fetch.NewRobots(func(context.Context, web.Request) (e web.Exchange, err error) {
		if e.Status = 404; asked.Add(1) == 1 {
			e.Status, e.RetryAfter = 429, 200*time.Millisecond
		}
		return e, nil
	}, fetch.RobotsOptions{ErrorTTL: time.Millisecond})
	c.unread = func() error {
		_, err := rules.Rules(t.Context(), "https://a.example")
		return err
	}
	c.answer = func(r web.Request) (web.Exchange, error) { return html(r, ""), nil }
	for url, state := range c.work() {
		require.Equal(t, "VISITED", state, url)
	}
	tries := 0
	for _, results := range c.results {
		for _, r := range results[:len(results)-1] {
			if r.Asked {
				tries++
			} else {
				require.Positive(t, r.Pause)
			}
		}
	}
	require.Equal(t, 1, tries)
	require.EqualValues(t, 2, asked.Load())
}

// A request that our own network held back is no try: more of them than there are tries do not end the URL.
func TestCrawlOutlastsTheNetwork(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	asked := 0
	c.answer = func(r web.Request) (web.Exchange, error) {
		if asked++; asked <= 2*c.settings.MaxRetries+2 {
			return web.Exchange{}, &fault.Error{Class: fault.Limited, After: time.Millisecond, Err: errors.New("away")}
		}
		return html(r, ""), nil
	}
	require.Equal(t, map[string]string{"/": "VISITED"}, c.work())
	results := c.results["https://a.example/"]
	last := results[len(results)-1]
	require.Zero(t, last.Tries)
	require.False(t, results[0].Asked)
	require.True(t, last.Asked)
	require.NotContains(t, c.verdict, crawl.Refused(time.Millisecond), "the host did not refuse")
}

// What was fetched while our database was away is recorded when it is back, and not fetched again.
func TestCrawlOutlastsTheDatabase(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.down = 3
	c.answer = pages(map[string]string{"/": `<a href="/b"></a>`, "/b": ""})
	require.Equal(t, map[string]string{"/": "VISITED", "/b": "VISITED"}, c.work())
	require.Len(t, c.asked, 2)
}

// One page that cannot be stored, or whose reading panics, fails alone. The log says where it panicked.
func TestCrawlPoison(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.refuse = "poison"
	c.answer = func(r web.Request) (web.Exchange, error) {
		switch {
		case strings.HasSuffix(r.URL, "/poison"):
			return html(r, "<title>poison</title>"), nil
		case strings.HasSuffix(r.URL, "/panic"):
			panic("no such page")
		}
		return html(r, `<a href="/poison"></a><a href="/panic"></a><a href="/good"></a>`), nil
	}
	require.Equal(t, map[string]string{"/": "VISITED", "/good": "VISITED", "/poison": "FAILED", "/panic": "FAILED"}, c.work())
	require.Contains(t, c.logs.String(), "reading the page panicked")
	require.Contains(t, c.logs.String(), "crawl_test.go")
}

// A page that has not changed keeps the links that it had, and one that was crawled lately is not asked for.
func TestCrawlConditional(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.settings.SkipRecent = true
	c.seen = []string{"https://a.example/recent"}
	c.base = map[string]string{"https://a.example/same": "https://a.example/kept"}
	c.etags = map[string]string{"https://a.example/same": `"v1"`}
	var sent map[string]string
	c.answer = func(r web.Request) (web.Exchange, error) {
		switch {
		case strings.HasSuffix(r.URL, "/same"):
			sent = maps.Clone(r.Header)
			return status(r, 304), nil
		case strings.HasSuffix(r.URL, "/kept"):
			return html(r, ""), nil
		}
		return html(r, `<a href="/same"></a><a href="/recent"></a>`), nil
	}
	require.Equal(t, map[string]string{
		"/": "VISITED", "/same": "VISITED", "/kept": "VISITED", "/recent": "SKIPPED recent",
	}, c.work())
	require.Equal(t, map[string]string{"If-None-Match": `"v1"`}, sent)
	require.Equal(t, map[string]int64{
		"https://a.example/": 7, "https://a.example/same": 7, "https://a.example/kept": 7,
	}, c.marked)
}

// A page with more links than a shard takes at once, on many hosts, is crawled to its end.
func TestCrawlManyLinks(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	c.answer = func(r web.Request) (web.Exchange, error) {
		if r.URL != "https://a.example/" {
			return html(r, ""), nil
		}
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `<a href="/%d">`, i)
		}
		return html(r, b.String()), nil
	}
	require.Len(t, c.work(), 1001)
	require.Len(t, c.asked, 1001)
}

// A shard that finds nothing to claim leaves its slot to other runs before its slice is over; the first one stays.
func TestIdleShardsLeave(t *testing.T) {
	t.Parallel()
	for shard := range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := newCrawled(t)
			c.status = crawl.Running
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetTestTimeout(2 * time.Hour)
			a := &activities.Crawling{Frontier: c, Worker: "w", Now: time.Now}
			env.RegisterActivity(a)
			const slice = 5 * time.Minute // the environment gives an activity ten
			began := time.Now()
			_, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Shard: shard, Slice: slice})
			require.NoError(t, err)
			took := time.Since(began)
			require.Equal(t, shard == 0, took >= slice, "shard %d took %s", shard, took)
		})
	}
}

// fullDisk keeps nothing until a time, or until it was tried a thousand times. A record of an answer has its address as
// its key.
type fullDisk struct {
	mu    sync.Mutex
	until time.Time
	kept  map[string]int
	tries int // that kept nothing
}

func (d *fullDisk) Keep(_ context.Context, _, _ int64, e web.Exchange, at time.Time) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.Before(d.until) && d.tries < 1000 {
		d.tries++
		return "", fault.Newf(fault.Transient, "write: the disk is full")
	}
	d.kept[e.URL]++
	return e.URL, nil
}

func (d *fullDisk) fill(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = until
}

// While no answer can be kept, a site is asked for one page now and then, not for all of them again and again; then
// every page is kept, and none has failed.
func TestNothingIsAskedForThatCannotBeKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const full, slice = 3 * time.Minute, 5 * time.Minute // the environment gives an activity ten
		c := newCrawled(t)
		c.settings.StoreBodies = true
		var home strings.Builder
		bodies := map[string]string{}
		for n := range 40 {
			fmt.Fprintf(&home, `<a href="/%d">%d</a>`, n, n)
			bodies[fmt.Sprintf("/%d", n)] = "x"
		}
		bodies["/"] = home.String()
		disk := &fullDisk{kept: map[string]int{}}
		serve := pages(bodies)
		var fill sync.Once
		c.answer = func(r web.Request) (web.Exchange, error) {
			if r.URL != "https://a.example/" {
				fill.Do(func() { disk.fill(time.Now().Add(full)) })
			}
			return serve(r)
		}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(2 * time.Hour)
		a := &activities.Crawling{
			Frontier: c, Base: c, Web: c, Hosts: c, Robots: c, Recent: c, Metrics: c, Bodies: disk,
			Slots: activities.NewCrawlSlots(4, 4, 1), Agent: "Conveyor", Worker: "w", Now: time.Now,
			Policy: crawl.RetryPolicy{Base: 500 * time.Millisecond, Max: 30 * time.Second},
		}
		env.RegisterActivity(a)
		_, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Slice: slice})
		require.NoError(t, err)
		require.Len(t, disk.kept, 41)
		require.Len(t, c.asked, 41+disk.tries)
		require.Positive(t, disk.tries)
		require.LessOrEqual(t, disk.tries, 4+12, "those in hand when it filled up, then after 0.5 s, 1 s, … 30 s, 30 s")
		for url, results := range c.results {
			require.Equal(t, crawl.Visited, results[len(results)-1].State, url)
		}
	})
}
