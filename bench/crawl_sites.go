package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// A crawlSite is a site to be crawled. Its server is a process of its own, so that its CPU time is not ours.
type crawlSite struct {
	name    string
	seed    string // path
	want    int    // URLs
	make    func() (http.Handler, error)
	rounds  int  // crawls that are measured together, for a small site
	scaling bool // it is there to compare numbers of workers
}

// crawlSites are the generated site, and the real one where the shared data is there.
func crawlSites() ([]crawlSite, error) {
	graph := func(name string, pages, links int) crawlSite {
		build := func() *crawlsite.Graph {
			return crawlsite.NewGraph(crawlsite.GraphOptions{
				Seed: 1, Pages: pages, Links: links, Text: 8_000, Chain: 1, Plain: true,
			})
		}
		return crawlSite{name: name, seed: "/", want: pages, rounds: 1,
			make: func() (http.Handler, error) { return build(), nil }}
	}
	small := graph("3,000 pages with 30 links", 3_000, 30)
	small.scaling = true
	all := []crawlSite{graph("10,000 pages with 100 links", 10_000, 100), small}
	dir := os.Getenv("CONVEYOR_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "shared")
	}
	site, err := crawlsite.OpenReal(filepath.Join(dir, "data", "sites"), "hamcrest-javadoc")
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "bench: %s is missing: no real site is crawled (CONVEYOR_SHARED may name another folder)\n",
			dir)
		return all, nil
	}
	return append(all, crawlSite{name: "hamcrest javadoc", seed: site.Seed, want: len(site.Want), rounds: 5,
		make: func() (http.Handler, error) { return crawlsite.Static(site.Files), nil }}), err
}

// serveCrawlSite is the process of a site's server. It writes the address to stdout, and ends with the context. /-/hits
// is the number of requests so far.
func serveCrawlSite(ctx context.Context, name string) error {
	all, err := crawlSites()
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.name != name {
			continue
		}
		site, err := s.make()
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		var hits atomic.Int64
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/-/hits" {
					fmt.Fprint(w, hits.Load())
					return
				}
				hits.Add(1)
				site.ServeHTTP(w, r)
			})}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		fmt.Println("http://" + l.Addr().String())
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return fmt.Errorf("there is no site %q", name)
}

// open starts the server of a site, and returns its origin.
func (s crawlSite) open(ctx context.Context) (origin string, closeSite func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-crawl-site", s.name)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	closeSite = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		closeSite()
		return "", nil, fmt.Errorf("serve %s: %w", s.name, err)
	}
	return strings.TrimSpace(line), closeSite, nil
}

// A Crawl is the cost of crawling a site.
type Crawl struct {
	Site      string             `json:"site"`
	Tool      string             `json:"tool"`
	Workers   int                `json:"worker_processes"`
	Pages     int                `json:"pages"`             // answers that were read, all rounds together
	Requests  int                `json:"requests"`          // as the site counted them
	Seconds   float64            `json:"seconds"`           // from the beginning to the last result
	Completed float64            `json:"seconds_completed"` // and until the run was over
	PerSecond float64            `json:"pages_per_second"`  // until the last result
	PerCPU    float64            `json:"pages_per_cpu_second"`
	CPU       map[string]float64 `json:"cpu_ms_a_page"`      // by group; the site's server is not part of PerCPU
	Postgres  float64            `json:"postgres_ms_a_page"` // time that our database spent in statements
	PeakMiB   int                `json:"peak_mib"`           // resident, of the largest process that crawls
}

// crawlSiteGroup is the group of the site's server in CPU times.
const crawlSiteGroup = "crawl site"

// collyName is the yardstick of crawls.
const collyName = "colly 2.3.0"

// collyConcurrency is the number of requests at once of the yardstick: as many as ours.
const collyConcurrency = 12

// runColly is the yardstick's process: it crawls a site in memory, so many times, and writes its figures.
func runColly(seed string, rounds int) error {
	u, err := url.Parse(seed)
	if err != nil {
		return err
	}
	var c Crawl
	for range rounds {
		var pages atomic.Int64
		var last atomic.Int64
		var seen sync.Map
		began := time.Now()
		crawler := colly.NewCollector(colly.Async(true), colly.AllowedDomains(u.Hostname()))
		crawler.WithTransport(&http.Transport{MaxIdleConnsPerHost: collyConcurrency})
		if err := crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: collyConcurrency}); err != nil {
			return err
		}
		for selector, attribute := range map[string]string{
			"a[href], area[href]": "href", "iframe[src], frame[src]": "src",
		} {
			crawler.OnHTML(selector, func(e *colly.HTMLElement) {
				// Left to itself it would request each fragment as a page of its own, and some pages twice, for it looks
				// and notes in two steps; and resolving by net/url is cheaper than AbsoluteURL.
				to, err := e.Request.URL.Parse(e.Attr(attribute))
				if err != nil || to.Host != u.Host {
					return
				}
				to.Fragment, to.RawFragment = "", ""
				if _, known := seen.LoadOrStore(to.String(), true); !known {
					_ = e.Request.Visit(to.String()) // what cannot be requested is no page
				}
			})
		}
		crawler.OnScraped(func(*colly.Response) {
			pages.Add(1)
			last.Store(int64(time.Since(began)))
		})
		seen.Store(seed, true)
		if err := crawler.Visit(seed); err != nil {
			return err
		}
		crawler.Wait()
		c.Pages += int(pages.Load())
		c.Seconds += time.Duration(last.Load()).Seconds()
		c.Completed += time.Since(began).Seconds()
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// colly measures the yardstick in a process of its own.
func (s crawlSite) colly(ctx context.Context, origin string) (c Crawl, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	before, err := hits(ctx, origin)
	if err != nil {
		return c, err
	}
	served := processes()[crawlSiteGroup]
	cmd := exec.CommandContext(ctx, self, "-colly", origin+s.seed, "-rounds", fmt.Sprint(s.rounds))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return c, fmt.Errorf("%s: %w", collyName, err)
	}
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		return c, fmt.Errorf("%s: %w", collyName, err)
	}
	after, err := hits(ctx, origin)
	if err != nil {
		return c, err
	}
	c.Site, c.Tool, c.Workers, c.Requests = s.name, collyName, 1, after-before
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.cost(map[string]time.Duration{
		"colly": cpu, crawlSiteGroup: processes()[crawlSiteGroup] - served,
	})
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.PeakMiB = int(usage.Maxrss >> 10)
	}
	return c, nil
}

// cost fills in the figures that follow from the pages, the time and the CPU time.
func (c *Crawl) cost(cpu map[string]time.Duration) {
	c.CPU = map[string]float64{}
	var all time.Duration
	for group, used := range cpu {
		c.CPU[group] = float64(used.Microseconds()) / 1000 / float64(c.Pages)
		if group != crawlSiteGroup {
			all += used
		}
	}
	c.PerSecond, c.PerCPU = float64(c.Pages)/c.Seconds, float64(c.Pages)/all.Seconds()
}

// hits is the number of requests that a site has had.
func hits(ctx context.Context, origin string) (n int, err error) {
	answer, err := ask(ctx, http.MethodGet, origin+"/-/hits", "")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(answer))
}
