// Command bench feeds adverts through Conveyor on this machine and prints their cost: listings a second, latency from
// publish to listings.published, CPU time by process group, Postgres transactions and Temporal state transitions.
// Beside it, on the same services, it measures two yardsticks of its own: a bare RabbitMQ pipeline and a textbook
// Temporal one. It also scrapes a site, crawls sites beside colly, makes product drafts through a Chromium, and grades
// the drafts of real pages. It looks at the console as a browser does.
// `make bench` runs it with services of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/internal/confine"
)

// A Result is one scenario's figures.
type Result struct {
	Scenario         string             `json:"scenario"`
	Messages         int                `json:"messages"`
	Seconds          float64            `json:"seconds"`     // from the first publish to the last effect
	PerSecond        float64            `json:"per_second"`  // messages
	CPUMillis        float64            `json:"cpu_ms_each"` // all processes
	CPUByGroup       map[string]float64 `json:"cpu_ms_each_by_group"`
	CPUByDatabase    map[string]float64 `json:"cpu_ms_each_by_database"` // of Postgres
	WALBytes         float64            `json:"wal_bytes_each"`
	LatencyMillis    map[string]float64 `json:"latency_ms,omitempty"` // publish to listings.published
	StateTransitions float64            `json:"state_transitions_each,omitempty"`
	Transactions     map[string]float64 `json:"postgres_transactions_each"` // by database
}

// options are the command line.
type options struct {
	n          int
	binary     string
	oneProcess bool
	only       string
	without    string
	adverts    int
	history    int
	pages      int
	rows       int
	soak       time.Duration
}

func main() {
	confine.Child() // the process may be one that only reads pages
	var o options
	flag.IntVar(&o.n, "n", 2000, "listings to feed")
	flag.StringVar(&o.binary, "conveyor", "bin/conveyor", "binary to measure")
	flag.BoolVar(&o.oneProcess, "one-process", false, "run all roles in one process, as conveyor up does")
	flag.StringVar(&o.only, "only", "", "scenarios to run after the warm-up, a regular expression; "+
		"empty is all. Some measure what those before them have left, as search: queries that of search: fill")
	flag.StringVar(&o.without, "without", "",
		"weight of extraction to leave out, such as price.struck; \"all\" leaves out each in turn")
	flag.IntVar(&o.adverts, "adverts", 3_000_000, "adverts in the tables of -only volume")
	flag.IntVar(&o.history, "history", 0, "rows of each table that grows by time in -only volume, such as 30000000")
	flag.IntVar(&o.pages, "pages", 100_000, "pages in the index of the search scenarios")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of the file of contacts that is imported")
	flag.DurationVar(&o.soak, "soak", 10*time.Minute, "how long the console is left open at six times a busy hour's events")
	yardstick := flag.String("yardstick", "", "be this yardstick's process: "+strings.Join(yardsticks(), " or "))
	site := flag.String("crawl-site", "", "be the server of this site, to be crawled")
	seed := flag.String("colly", "", "be "+collyName+" that crawls from this URL")
	rounds := flag.Int("rounds", 1, "crawls of -colly")
	out := flag.String("json", "", "file for the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case *yardstick != "":
		exit(runYardstick(ctx, *yardstick))
	case *site != "":
		exit(serveCrawlSite(ctx, *site))
	case *seed != "":
		exit(runColly(*seed, *rounds))
	}
	limit := time.Hour
	if o.history > 0 {
		limit = 4 * time.Hour // tens of millions of rows
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	report, err := run(ctx, o)
	report.print(os.Stdout) // also the results before a failure
	if err == nil && *out != "" {
		err = report.write(*out)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures every scenario on one system.
func run(ctx context.Context, o options) (report Report, err error) {
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return report, fmt.Errorf("-only: %w", err)
	}
	if alone := withoutServices(ctx, o, &report)[o.only]; alone != nil {
		return report, alone()
	}
	h, err := open(ctx, o.binary, o.oneProcess)
	if err != nil {
		return report, err
	}
	defer h.close()
	ours, adverts := h.conveyor(), generate(o.n)
	if err := ours.warmUp(ctx); err != nil {
		return report, fmt.Errorf("warm up: %w", err)
	}
	if o.only == volumeName { // not part of the others: it takes long
		return report, h.volume(ctx, o.adverts, o.history, &report)
	}
	feed := func(p *pipeline, rate float64, adverts func() []advert) func() error {
		return func() error {
			r, err := h.feed(ctx, p, adverts(), rate)
			report.Results = append(report.Results, r)
			return err
		}
	}
	from := func(first, n int) func() []advert { return func() []advert { return generateFrom(first, n) } }
	scenarios := []scenario{
		{"all new", feed(ours, 0, func() []advert { return adverts })},
		{"95 % unchanged", feed(ours, 0, func() []advert { return rescrape(adverts, 1, 5) })},
		{"all new, 10 a second", feed(ours, 10, from(2_000_000, 200))},
		{callsName, func() error { return h.calls(ctx, &report) }},
		{"100,000 listings", func() error { return h.fill(ctx, 100_000) }},
		{"all new among 100,000", feed(ours, 0, from(3_000_000, o.n))},
		{"95 % unchanged among 100,000", feed(ours, 0, func() []advert { return rescrape(adverts, 6, 5) })},
		{"10 a second while 100,000 are replayed", func() error {
			stop, err := h.replay(ctx)
			if err != nil {
				return err
			}
			return errors.Join(feed(ours, 10, from(4_000_000, 200))(), stop())
		}},
		{"homes among 100,000", func() error { return h.homes(ctx, &report) }},
		{"search among 100,000", func() error { return h.search(ctx, &report) }},
		{"memory over 50,000", func() error { return h.memory(ctx, ours, adverts, 50_000, &report) }},
	}
	others, err := h.others(ctx, o, &report)
	if err != nil {
		return report, err
	}
	scenarios = append(scenarios, others...)
	for _, name := range yardsticks() {
		y := &pipeline{}
		begin := func() error { return h.beginYardstick(ctx, name, y) }
		scenarios = append(scenarios,
			scenario{name, func() error {
				if err := begin(); err != nil {
					return err
				}
				return feed(y, 0, from(0, min(o.n, y.most)))()
			}},
			scenario{name + ", 10 a second", func() error {
				if err := begin(); err != nil {
					return err
				}
				return feed(y, 10, from(2_000_000, 100))()
			}},
		)
	}
	err = measure(scenarios, wanted, &report)
	return report, err
}

// others are the scenarios of what is not the pipeline of listings.
func (h *system) others(ctx context.Context, o options, report *Report) (scenarios []scenario, err error) {
	if o.oneProcess { // a site is scraped by one worker at a time, and a page is Chromium's work, on any system
		scenarios = append(scenarios,
			scenario{"scrape by http", func() error { return h.scrape(ctx, "http", 600, report) }},
			scenario{"scrape by browser", func() error { return h.scrape(ctx, "browser", 120, report) }},
			scenario{"scrape 200 cycles", func() error { return h.scrapeMemory(ctx, 200, report) }},
		)
		for _, name := range []string{extractionName, freshnessName, relevanceName} {
			scenarios = append(scenarios, scenario{name, withoutServices(ctx, o, report)[name]})
		}
		for _, d := range draftings {
			scenarios = append(scenarios, scenario{d.name, func() error { return h.drafts(ctx, d, report) }})
		}
	}
	crawls, err := h.crawls(ctx, o.oneProcess, report)
	if err != nil {
		return nil, err
	}
	scenarios = append(scenarios, crawls...)
	if o.oneProcess { // the pages are the same on any system
		scenarios = append(scenarios, h.searches(ctx, o.pages, report)...)
		scenarios = append(scenarios, h.imports(ctx, o.rows, report)...)
	}
	scenarios = append(scenarios, h.dispatches(ctx, report)...)
	if !o.oneProcess { // so that the worker's cost is seen
		scenarios = append(scenarios, h.savedSearches(ctx, report)...)
		scenarios = append(scenarios, scenario{"heavy reads", func() error { return h.heavy(ctx, report) }})
		scenarios = append(scenarios, h.console(ctx, o.soak, report)...)
	}
	return scenarios, nil
}

// withoutServices are the scenarios that need no services, by name.
func withoutServices(ctx context.Context, o options, report *Report) map[string]func() error {
	return map[string]func() error{
		extractionName: func() error { return extraction(report, o.without) },
		freshnessName:  func() error { return fresh(report) },
		relevanceName:  func() error { return relevance(ctx, report) },
	}
}

// beginYardstick starts a system to compare with, unless y is that already: the first scenario that is measured does.
func (h *system) beginYardstick(ctx context.Context, name string, y *pipeline) error {
	if y.system != nil {
		return nil
	}
	started, err := h.startYardstick(ctx, name)
	if err != nil {
		return err
	}
	*y = *started
	return y.warmUp(ctx)
}

// measure runs the scenarios that are wanted. A name that none of them has is no error: the other of make bench's two
// runs may have it.
func measure(scenarios []scenario, wanted *regexp.Regexp, report *Report) error {
	var names []string
	ran := false
	for _, s := range scenarios {
		if names = append(names, s.name); !wanted.MatchString(s.name) {
			continue
		}
		ran = true
		fmt.Fprintf(os.Stderr, "bench: %s …\n", s.name)
		before := len(report.Results)
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := before; i < len(report.Results); i++ {
			report.Results[i].Scenario = s.name
		}
	}
	if !ran {
		fmt.Fprintf(os.Stderr, "bench: -only %q names none of:\n  %s\n", wanted, strings.Join(names, "\n  "))
	}
	return nil
}

// A scenario is one thing that is measured.
type scenario struct {
	name string
	run  func() error
}
