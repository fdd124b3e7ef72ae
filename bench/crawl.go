package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// sqlCrawlEnd is the state of a run, and when its seed was first claimed and its last result recorded.
const sqlCrawlEnd = `
SELECT status, (SELECT min(visited_at - took_ms * interval '1 ms') FROM crawl_urls WHERE run_id = $1 AND depth = 0),
    (SELECT max(visited_at) FROM crawl_urls WHERE run_id = $1), created_at, finished_at, visited, discovered
FROM crawl_runs WHERE id = $1`

// crawls are the scenarios of the crawler: each site, beside the yardstick, and with several worker processes.
func (h *system) crawls(ctx context.Context, oneProcess bool, report *Report) ([]scenario, error) {
	sites, err := crawlSites()
	if err != nil {
		return nil, err
	}
	var all []scenario
	add := func(name string, s crawlSite, workers int, settings crawl.Settings) {
		all = append(all, scenario{name, func() error { return h.crawl(ctx, s, workers, settings, report) }})
	}
	plain := crawl.Defaults
	plain.MaxPages, plain.Publish = 100_000, false
	told := plain
	told.Publish = true
	for _, s := range sites {
		if s.scaling {
			continue
		}
		yardstick := func() error { return h.crawlYardstick(ctx, s, report) }
		all = append(all, scenario{"crawl: " + collyName + ", " + s.name, yardstick})
		add("crawl: "+s.name, s, 1, plain)
	}
	for _, s := range sites {
		switch {
		case !s.scaling:
		case oneProcess:
			add("crawl: "+s.name+", published to the indexer", s, 1, told)
		default:
			for _, workers := range []int{1, 2, 4} {
				add(fmt.Sprintf("crawl: %s, %d workers", s.name, workers), s, workers, plain)
			}
		}
	}
	if !oneProcess { // a claim is Postgres's work, on any system
		for _, f := range frontiers {
			all = append(all, scenario{"frontier: " + f.shape, func() error { return h.frontier(ctx, f, report) }})
		}
	}
	return all, nil
}

func (h *system) crawlYardstick(ctx context.Context, s crawlSite, report *Report) error {
	origin, closeSite, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer closeSite()
	c, err := s.colly(ctx, origin)
	report.Crawls = append(report.Crawls, c)
	return err
}

// crawl measures crawls of a site, by roles that are started anew, so many workers among them.
func (h *system) crawl(ctx context.Context, s crawlSite, workers int, settings crawl.Settings, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	origin, closeSite, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer closeSite()
	host := strings.TrimPrefix(origin, "http://")
	env := []string{
		"CONVEYOR_ALLOW_PRIVATE_HOSTS=" + h.demo.server.Addr + "," + host, "FETCH_MIN_GAP_PER_HOST_MS=0",
		"FETCH_GAP_JITTER_MS=0", "FETCH_CONCURRENCY_PER_HOST=" + strconv.Itoa(collyConcurrency),
		"WORKER_CONCURRENCY=" + strconv.Itoa(collyConcurrency), "FETCH_CONCURRENCY=" + strconv.Itoa(collyConcurrency),
	}
	if err := h.restart(env...); err != nil {
		return err
	}
	was := len(h.roles)
	defer h.stopAfter(was)
	for range workers - 1 {
		more := h.env
		h.env = append(h.env[:len(h.env):len(h.env)], env...)
		err := h.start(h.binary, "worker")
		h.env = more
		if err != nil {
			return err
		}
	}
	if err := h.answers(ctx); err != nil {
		return err
	}
	c := Crawl{Site: s.name, Tool: "conveyor", Workers: workers}
	if settings.Publish {
		c.Tool = "conveyor, published"
	}
	// Roles that begin are no part of the cost of a crawl: it crawls one page first.
	small := settings
	small.MaxPages = 1
	if _, err := h.crawlOnce(ctx, origin+s.seed, small, &Crawl{}); err != nil {
		return err
	}
	before, err := h.spentOnCrawls(ctx, origin)
	if err != nil {
		return err
	}
	for range s.rounds {
		visited, err := h.crawlOnce(ctx, origin+s.seed, settings, &c)
		if err != nil {
			return err
		}
		if visited != s.want {
			return fmt.Errorf("%d pages were visited, expected %d", visited, s.want)
		}
	}
	after, err := h.spentOnCrawls(ctx, origin)
	if err != nil {
		return err
	}
	c.Requests, c.Postgres = after.hits-before.hits, (after.active-before.active)/float64(c.Pages)
	c.cost(spent(before.cpu, after.cpu))
	for _, p := range descendants() {
		if p.group == "worker" || p.group == "all roles" {
			c.PeakMiB = max(c.PeakMiB, status(p.pid, "VmHWM:"))
		}
	}
	report.Crawls = append(report.Crawls, c)
	return nil
}

// stopAfter ends the roles after the first n.
func (h *system) stopAfter(n int) {
	more := &system{roles: h.roles[n:]}
	h.roles = h.roles[:n:n]
	more.stop()
}

// answers waits until the API is ready.
func (h *system) answers(ctx context.Context) (err error) {
	for range 300 {
		if _, err = ask(ctx, http.MethodGet, h.api+"/ready", ""); err == nil {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the API is not ready: %w", err)
}

// crawlOnce crawls a site to its end, adds pages and times to c, and returns the pages.
func (h *system) crawlOnce(ctx context.Context, seed string, settings crawl.Settings, c *Crawl) (int, error) {
	body, err := json.Marshal(map[string]any{"seedUrl": seed, "settings": settings})
	if err != nil {
		return 0, err
	}
	var run struct {
		ID int64 `json:"id"`
	}
	if err := postJSON(ctx, h.api+"/crawl-runs", string(body), &run); err != nil {
		return 0, err
	}
	for {
		var status string
		var first, last, finished *time.Time
		var created time.Time
		var visited, discovered int
		if err := h.db.QueryRow(ctx, "SELECT status FROM crawl_runs WHERE id = $1", run.ID).Scan(&status); err != nil {
			return 0, err
		}
		if crawl.Ended(status) {
			err := h.db.QueryRow(ctx, sqlCrawlEnd, run.ID).Scan(&status, &first, &last, &created, &finished, &visited,
				&discovered)
			if err != nil {
				return 0, err
			}
			if status != crawl.Completed || first == nil || last == nil || finished == nil {
				return visited, fmt.Errorf("run %d is %s with %d of %d visited", run.ID, status, visited, discovered)
			}
			c.Pages += visited
			c.Seconds += last.Sub(*first).Seconds()
			c.Completed += finished.Sub(created).Seconds()
			return visited, nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, fmt.Errorf("run %d: %w", run.ID, err)
		}
	}
}

// postJSON sends a document and decodes the answer.
func postJSON(ctx context.Context, address, body string, out any) error {
	answer, err := ask(ctx, http.MethodPost, address, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// crawlCosts are counters before or after a crawl.
type crawlCosts struct {
	cpu    map[string]time.Duration
	hits   int
	active float64 // ms that our database has spent in statements
}

func (h *system) spentOnCrawls(ctx context.Context, origin string) (c crawlCosts, err error) {
	if err := pause(ctx, 1500*time.Millisecond); err != nil { // sessions report their times about once a second
		return c, err
	}
	c.hits, err = hits(ctx, origin)
	c.cpu = processes()
	return c, errors.Join(err, h.db.QueryRow(ctx,
		"SELECT active_time FROM pg_stat_database WHERE datname = current_database()").Scan(&c.active))
}
