package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// CrawlCmd starts, shows, controls, exports and compares crawl runs.
type CrawlCmd struct {
	API string `help:"URL of the API; the default is CONVEYOR_API_URL." env:"CRAWLER_API" placeholder:"URL"`

	Start       crawlStartCmd   `cmd:"" help:"Start the crawl of a site."`
	List        crawlListCmd    `cmd:"" help:"List crawl runs, newest first."`
	Show        crawlShowCmd    `cmd:"" help:"Show the state, counts and pace of a run."`
	Visited     crawlVisitedCmd `cmd:"" help:"List the URLs that were visited last."`
	Export      crawlExportCmd  `cmd:"" help:"Write the URLs of a run to a file, or its stored answers as WARC."`
	Compare     crawlCompareCmd `cmd:"" help:"Compare the URLs of two runs or exports; exit with 1 when they differ, and with 2 on an error."`
	Why         crawlWhyCmd     `cmd:"" help:"Show what keeps a run from finishing."`
	BrokenLinks crawlBrokenCmd  `cmd:"" help:"List URLs that lead nowhere, with the pages that link to them."`
	Pause       crawlChangeCmd  `cmd:"" help:"Pause a run; requests under way are finished."`
	Resume      crawlChangeCmd  `cmd:"" help:"Resume a paused run where it stopped."`
	Cancel      crawlChangeCmd  `cmd:"" help:"Cancel a run for good; requests under way are finished."`
	Retry       crawlRetryCmd   `cmd:"" help:"Request failed URLs of a run again."`
}

// ProvideClient returns the client of the API that the crawl commands call. Kong finds it by its name and calls it in
// place of Connect.
func (c *CrawlCmd) ProvideClient(connect Connect, line *kong.Context) (Client, error) {
	r, err := Provide(connect, line)
	r.URL = cmp.Or(c.API, r.URL)
	return r, err
}

type crawlStartCmd struct {
	Seed string `arg:"" help:"URL at which to begin."`

	MaxPages         *int    `help:"Maximum of URLs that are requested." placeholder:"N"`
	MaxDepth         *int    `help:"Maximum of links between the seed and a page." placeholder:"N"`
	ScopeMode        *string `help:"URLs that belong to the run: same_host, same_domain or prefix." placeholder:"MODE"`
	IncludeDocuments *bool   `help:"Also request links to PDFs, archives and other files that are no pages." negatable:""`
	FollowRedirects  *bool   `help:"Add the target of a redirect as a URL of its own." negatable:""`
	DemoDelayMS      *int    `name:"demo-delay-ms" help:"Wait before each request, in milliseconds." placeholder:"N"`
	RequestTimeoutMS *int    `name:"request-timeout-ms" help:"Maximum time of a request, in milliseconds." placeholder:"N"`
	MaxRetries       *int    `help:"Maximum of tries after the first one." placeholder:"N"`
	RespectRobots    *bool   `help:"Obey robots.txt." negatable:""`
	UseSitemaps      *bool   `help:"Also start from the sitemaps of the site." negatable:""`
	FollowLinkRel    *bool   `help:"Also follow link elements: stylesheet, alternate, next, …" negatable:""`
	Nofollow         *bool   `help:"Leave out links with rel=nofollow." negatable:""`
	Render           *bool   `help:"Load pages in a browser, and read them after their scripts ran." negatable:""`
	StoreBodies      *bool   `help:"Keep the answers, for an export as WARC." negatable:""`
	SkipRecent       *bool   `help:"Skip URLs that a run with this setting crawled recently." negatable:""`
	Conditional      *bool   `help:"Ask whether pages have changed since the last run of the same seed." negatable:""`
	Publish          *bool   `help:"Publish pages to the search indexer." negatable:""`
	Shards           *int    `help:"Activities that crawl at once." placeholder:"N"`

	Key  string `help:"Any text: the command given again with it is the same run, and not a second one." placeholder:"TEXT"`
	Wait bool   `help:"Show the progress until the run ends; exit with 1 if it is cancelled. Ctrl-C stops watching; the run goes on."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// settings are those that were given.
func (c *crawlStartCmd) settings() apicrawl.CrawlSettings {
	out := apicrawl.CrawlSettings{}
	given(out, map[string]*int{
		"maxPages": c.MaxPages, "maxDepth": c.MaxDepth, "demoDelayMs": c.DemoDelayMS,
		"requestTimeoutMs": c.RequestTimeoutMS, "maxRetries": c.MaxRetries, "shards": c.Shards,
	})
	given(out, map[string]*bool{
		"includeDocuments": c.IncludeDocuments, "followRedirects": c.FollowRedirects, "respectRobots": c.RespectRobots,
		"useSitemaps": c.UseSitemaps, "followLinkRel": c.FollowLinkRel, "nofollow": c.Nofollow, "render": c.Render,
		"storeBodies": c.StoreBodies, "skipRecent": c.SkipRecent, "conditional": c.Conditional, "publish": c.Publish,
	})
	given(out, map[string]*string{"scopeMode": c.ScopeMode})
	return out
}

// given adds the values that are not nil.
func given[T any](out apicrawl.CrawlSettings, values map[string]*T) {
	for name, v := range values {
		if v != nil {
			out[name] = *v
		}
	}
}

// Run starts a crawl. With --wait, a run that is cancelled is ExitError 1.
func (c *crawlStartCmd) Run(ctx context.Context, r Client) error {
	var run apicrawl.CrawlRun
	in := apicrawl.CrawlStart{SeedURL: c.Seed, Settings: c.settings()}
	if err := r.again(c.Key).call(ctx, http.MethodPost, "/crawl-runs", in, &run); err != nil {
		return err
	}
	started := os.Stdout
	if c.Wait && c.JSON {
		started = os.Stderr // standard output is for how it ends
	}
	if err := printAs(started, run, c.JSON && !c.Wait, printStarted); err != nil {
		return err
	}
	warn(os.Stderr, run.Warning)
	if !c.Wait {
		return nil
	}
	return watchCrawl(r, run.ID).toEnd(ctx, c.JSON, printCrawl, func(s apicrawl.CrawlSummary) bool {
		return s.Status != crawl.Cancelled
	})
}

// printStarted writes a run that was started as text.
func printStarted(w io.Writer, run apicrawl.CrawlRun) error {
	_, err := fmt.Fprintf(w, "crawl run %d: %s, %s\n%s\n", run.ID, Plain(run.RootURL), scope(run), run.Workflow.URL)
	return err
}

// scope is which URLs belong to a run.
func scope(run apicrawl.CrawlRun) string {
	mode := run.RunConfig.ScopeMode
	if run.Prefix != "" {
		mode += " " + run.Prefix
	}
	return Plain(mode + " of " + strings.Join(run.AllowedHosts, ", "))
}

// watchCrawl follows a run until it ends.
func watchCrawl(r Client, id int64) watch[apicrawl.CrawlSummary] {
	return watch[apicrawl.CrawlSummary]{
		api: r, path: crawlID{id}.path("/summary"), line: crawlLines(),
		state: func(s apicrawl.CrawlSummary) (string, bool) { return string(s.Status), crawl.Ended(string(s.Status)) },
		left:  fmt.Sprintf("the run goes on: conveyor crawl show %d", id),
	}
}

// crawlLines returns crawlLine without a time left that is far from that of the line before, by a factor of two: while
// pages are found faster than they are visited, or the pace changes, nobody knows it.
func crawlLines() func(apicrawl.CrawlSummary) string {
	var before float64
	return func(s apicrawl.CrawlSummary) string {
		var left float64
		if s.SecondsLeft != nil {
			left = *s.SecondsLeft
		}
		if left > 2*before || before > 2*left {
			s.SecondsLeft = nil
		}
		before = left
		return crawlLine(s)
	}
}

// crawlLine is the progress of a run in a line.
func crawlLine(s apicrawl.CrawlSummary) string {
	n := s.Totals
	open := n.Queued + n.InProgress
	line := fmt.Sprintf("crawl run %d %s: %d of %d URLs done, %d visited", s.ID, strings.ToLower(string(s.Status)),
		n.Discovered-open, n.Discovered, n.Visited)
	if broken := broken(n); broken > 0 {
		line += fmt.Sprintf(", %d broken", broken)
	}
	if s.Status == crawl.Running {
		line += fmt.Sprintf(", %.1f pages/s", s.Pace.PagesPerSecond)
		if s.SecondsLeft != nil {
			line += ", " + seconds(*s.SecondsLeft).Round(time.Second).String() + " left of those known"
		}
	}
	return line
}

// broken counts the URLs that were neither visited nor moved for good.
func broken(n apicrawl.CrawlTotals) int64 {
	return n.Forbidden + n.NotFound + n.HTTPTerminal + n.Failed
}

type crawlListCmd struct {
	stateFlags `set:"states=running,paused,completed,cancelled"`
}

// Run prints page after page, up to --limit.
func (c *crawlListCmd) Run(ctx context.Context, r Client) error {
	q := c.query(url.Values{})
	setQuery(q, "state", strings.ToUpper(q.Get("state")))
	return pages[apicrawl.CrawlRun]{
		Path: "/crawl-runs", Query: q, listFlags: c.listFlags,
		Head: "ID\tSTATE\tSEED\tURLS\tOPEN\tVISITED\tBROKEN\tSTARTED BY\tSTARTED",
		Row: func(t io.Writer, r apicrawl.CrawlRun) {
			fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", r.ID, r.Status, Short(Plain(r.RootURL), 60),
				r.Totals.Discovered, r.Totals.Queued+r.Totals.InProgress, r.Totals.Visited, broken(r.Totals), Plain(r.CreatedBy),
				r.StartedAt.UTC().Format(time.RFC3339))
		},
	}.list(ctx, r, "there are no crawl runs")
}

// crawlID is the argument of the commands on one run.
type crawlID struct {
	ID int64 `arg:"" help:"ID of the run."`
}

func (c crawlID) path(rest string) string { return fmt.Sprintf("/crawl-runs/%d%s", c.ID, rest) }

type (
	crawlShowCmd struct {
		crawlID
		JSON bool `name:"json" help:"Print the answer of the API as JSON."`
	}
	crawlChangeCmd struct{ crawlID }
)

func (c *crawlShowCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, c.path("/summary"), nil, c.JSON, printCrawl)
}

// Run does with a run what the command is called, and prints its state.
func (c *crawlChangeCmd) Run(ctx context.Context, r Client, k *kong.Context) error {
	var out apicrawl.CrawlRun
	if err := r.call(ctx, http.MethodPost, c.path("/"+k.Selected().Name), nil, &out); err != nil {
		return err
	}
	fmt.Printf("crawl run %d: %s\n", out.ID, out.Status)
	warn(os.Stderr, out.Warning)
	return nil
}

type crawlRetryCmd struct {
	crawlID
	State []string `help:"URLs in these states: FORBIDDEN, NOT_FOUND, HTTP_TERMINAL, FAILED; the default is FAILED and HTTP_TERMINAL without redirects to another URL." placeholder:"STATE"`
}

func (c *crawlRetryCmd) Run(ctx context.Context, r Client) error {
	in := apicrawl.CrawlRetry{}
	for _, s := range c.State {
		in.States = append(in.States, strings.ToUpper(s))
	}
	var out apicrawl.CrawlRetried
	if err := r.call(ctx, http.MethodPost, c.path("/retry"), in, &out); err != nil {
		return err
	}
	fmt.Printf("crawl run %d: %s, %d URLs queued again\n", c.ID, out.Run.Status, out.Retried)
	warn(os.Stderr, out.Run.Warning)
	return nil
}

// printCrawl writes the state of a run as text. Counts that are zero are left out.
func printCrawl(w io.Writer, s apicrawl.CrawlSummary) error {
	t, row := newFacts(w)
	n, c := s.Totals, s.RunConfig
	row("crawl run", "%d", s.ID)
	row("state", "%s", s.Status)
	row("seed", "%s", Plain(s.RootURL))
	row("scope", "%s, at most %d URLs and %d links deep", scope(s.CrawlRun), c.MaxPages, c.MaxDepth)
	row("URLs", "%d", n.Discovered)
	tallied(row, tally{"queued", n.Queued}, tally{"in progress", n.InProgress}, tally{"visited", n.Visited},
		tally{"redirect 301", n.Redirect301}, tally{"forbidden", n.Forbidden}, tally{"not found", n.NotFound},
		tally{"http terminal", n.HTTPTerminal}, tally{"failed", n.Failed}, tally{"skipped", n.Skipped})
	if s.NoPage != "" {
		row("why", "%s", Plain(s.NoPage))
	}
	row("requests", "%d, %d of them retries; %s", n.Fetches, n.Retries, size(n.Bytes))
	row("links", "%d", n.Edges)
	if n.LostLeases > 0 {
		row("lost leases", "%d", n.LostLeases)
	}
	if n.Dropped > 0 {
		row("dropped links", "%d, beyond the limits", n.Dropped)
	}
	if s.Status == crawl.Running {
		row("pace", "%.1f pages/s, %.1f requests/s, %.0f ms a request", s.Pace.PagesPerSecond, s.Pace.FetchesPerSecond,
			s.Pace.MeanMS)
	}
	if s.SecondsLeft != nil {
		row("time left", "%s for the URLs known so far", seconds(*s.SecondsLeft).Round(time.Second))
	}
	row("started", "by %s at %s", Plain(s.CreatedBy), s.StartedAt.UTC().Format(time.RFC3339))
	if s.FinishedAt != nil {
		row("ended", "%s, after %s", s.FinishedAt.UTC().Format(time.RFC3339),
			s.FinishedAt.Sub(s.StartedAt).Round(100*time.Millisecond))
	}
	row("workflow", "%s", s.Workflow.URL)
	return t.Flush()
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
