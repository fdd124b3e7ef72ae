package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// A Scrape is the cost of scraping a demo site by one transport.
type Scrape struct {
	Transport     string             `json:"transport"`
	Adverts       int                `json:"adverts"`
	Pages         int                `json:"pages"` // of the first cycle: search pages and visits
	PerSecond     float64            `json:"pages_per_second"`
	PerReadingCPU float64            `json:"pages_per_cpu_second_of_reading"` // of the worker, its Chromium and the driver
	PerCPU        float64            `json:"pages_per_cpu_second"`            // of all processes, with the listings they make
	Saved         float64            `json:"visits_saved_percent"`            // in the second cycle over an unchanged site
	LatencyMillis map[string]float64 `json:"latency_ms"`
}

// demo is the site that is scraped, behind an address that stays.
type demo struct {
	site   atomic.Pointer[demosite.Site]
	shop   http.Handler
	server *http.Server
}

func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, shopPath) {
		d.shop.ServeHTTP(w, r)
		return
	}
	d.site.Load().ServeHTTP(w, r)
}

// open makes it a new site with so many adverts, which change only when they are told to.
func (d *demo) open(adverts int) *demosite.Site {
	s := demosite.New(demosite.Options{Adverts: adverts, Frozen: true})
	d.site.Store(s)
	return s
}

func startDemo() (*demo, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &demo{shop: newShop()}
	d.server = &http.Server{Addr: l.Addr().String(), Handler: d, ReadHeaderTimeout: time.Minute}
	d.open(1)
	go func() { _ = d.server.Serve(l) }() // ends with Close
	return d, nil
}

// scraping begins to scrape Kijiji's half of a new site, and returns the function that stops it.
func (h *system) scraping(ctx context.Context, transport string, adverts int) (*demosite.Site, func() error, error) {
	site := h.demo.open(adverts)
	_, err := h.db.Exec(ctx, "TRUNCATE platform_adverts, platform_cycles, raw_listings CASCADE")
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, h.binary, "bootstrap")
	cmd.Stderr = os.Stderr
	cmd.Env = append(h.env, "CONVEYOR_SCRAPE_TRANSPORT="+transport,
		"CONVEYOR_SCRAPE="+strings.Split(demosite.Searches("http://"+h.demo.server.Addr), ",")[0])
	if err := cmd.Run(); err != nil {
		return nil, nil, fmt.Errorf("conveyor bootstrap: %w", err)
	}
	if err := h.patch(ctx, `{"reset": true}`); err != nil {
		return nil, nil, err
	}
	return site, func() error {
		defer func() { <-time.After(5 * time.Second) }() // a page that is loading is finished
		return h.patch(ctx, `{"enabled": false}`)
	}, nil
}

func (h *system) patch(ctx context.Context, body string) error {
	_, err := ask(ctx, http.MethodPatch, h.api+"/platforms/kijiji", body)
	return err
}

// A cycle of the scraper that is over.
type cycle struct {
	complete      bool
	note          string
	pages, visits int
	seen, skipped int
	took          time.Duration
}

// cycle waits until a cycle is over and returns its counts.
func (h *system) cycle(ctx context.Context, n int) (c cycle, err error) {
	for {
		err := h.db.QueryRow(ctx, `SELECT complete, note, pages, new + changed + stale + returned + failed, seen, skipped,
				ended_at - started_at
			FROM platform_cycles WHERE platform = 'kijiji' AND cycle = $1 AND ended_at IS NOT NULL`, n).Scan(
			&c.complete, &c.note, &c.pages, &c.visits, &c.seen, &c.skipped, &c.took)
		switch {
		case err == nil && !c.complete:
			return c, fmt.Errorf("cycle %d is not complete: %s", n, c.note)
		case !errors.Is(err, pgx.ErrNoRows):
			return c, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return c, err
		}
	}
}

// scrape measures a first cycle, the second one over the unchanged site, and how soon new adverts are listings.
func (h *system) scrape(ctx context.Context, transport string, adverts int, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	before := processes()
	site, stop, err := h.scraping(ctx, transport, adverts)
	if err != nil {
		return err
	}
	first, err := h.cycle(ctx, 1)
	if err != nil {
		return err
	}
	used := spent(before, processes())
	if first.seen != adverts || first.visits != adverts {
		return fmt.Errorf("%d of %d adverts were seen, %d visited", first.seen, adverts, first.visits)
	}
	s := Scrape{Transport: transport, Adverts: adverts, Pages: first.pages + first.visits}
	s.PerSecond = float64(s.Pages) / first.took.Seconds()
	reading, all := used["worker"]+used["all roles"]+used["chromium"]+used["driver"], time.Duration(0)
	for _, cpu := range used {
		all += cpu
	}
	s.PerReadingCPU, s.PerCPU = float64(s.Pages)/reading.Seconds(), float64(s.Pages)/all.Seconds()
	second, err := h.cycle(ctx, 2)
	if err != nil {
		return err
	}
	s.Saved = 100 * float64(second.skipped) / float64(second.seen)
	if s.LatencyMillis, err = h.appear(ctx, site, 60); err != nil {
		return err
	}
	report.Scrapes = append(report.Scrapes, s)
	return stop()
}

// appear publishes adverts on the site, one each half second, and returns how long they take to be listings.
func (h *system) appear(ctx context.Context, site *demosite.Site, n int) (map[string]float64, error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := &arrivals{at: map[string]time.Time{}}
	if err := h.watch(watching, contract.QueuePublished, seen); err != nil {
		return nil, err
	}
	sent := map[string]time.Time{}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for len(sent) < n {
		a, err := site.Publish(demosite.Kijiji)
		if err != nil {
			return nil, err
		}
		if a.PriceCents != nil { // those without a rent never are listings
			sent[fmt.Sprintf("%s/%d", a.ID, *a.PriceCents)] = time.Now()
		}
		<-tick.C
	}
	for range 600 {
		if took := seen.since(sent); seen.count() >= len(sent)*9/10 && took["p50"] > 0 { // a few are rejected or repeated
			return took, nil
		}
		<-tick.C
	}
	return nil, errors.New("adverts that appeared did not become listings")
}

// scrapeMemory goes through many cycles of a site that changes a little, in Chromium, and looks at the memory.
func (h *system) scrapeMemory(ctx context.Context, cycles int, report *Report) error {
	site, stop, err := h.scraping(ctx, "browser", 60)
	if err != nil {
		return err
	}
	roles := []Memory{{Role: "200 cycles: all roles"}, {Role: "200 cycles: Chromium, driver"}}
	for n := range cycles {
		if n%10 == 9 { // something, now and then
			if _, err := site.Publish(demosite.Kijiji); err != nil {
				return err
			}
		}
		if _, err := h.cycle(ctx, n+1); err != nil {
			return err
		}
		now := held()
		for i, mib := range []int{resident(h.roles[0].Process.Pid), now["chromium"] + now["driver"]} {
			m := &roles[i]
			m.Most = max(m.Most, mib)
			switch n + 1 {
			case cycles / 10:
				m.Early = mib
			case cycles / 2:
				m.Half = mib
			case cycles:
				m.End = mib
			}
		}
	}
	report.Memory = append(report.Memory, roles...)
	return stop()
}
