package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/internal/warc"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// milliseconds is a duration as the settings of the system that this one replaces have them.
func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// renders is how many URLs of runs that render are under way at once: while the browser loads as many as it has pages,
// as many others are requested. One job is left to the other runs.
func renders(jobs, pages int) int { return max(1, min(2*pages, jobs-1)) }

// crawls is the crawler.
func (h *house) crawls() system {
	c, store := h.config.Crawl, dbcrawl.NewCrawls(h.pool)
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			metrics := telemetry.NewCrawl(h.registry)
			client := fetch.New(fetch.Options{
				AllowPrivate: h.config.Images.AllowPrivate, UserAgent: c.UserAgent, Timeout: crawlRequestMost,
				IdleConns: 4 * c.Fetches, IdlePerHost: c.Idle, Traces: h.traces, Outage: h.outage, Now: time.Now,
			})
			visits := limit.NewVisits(h.redis, limit.VisitOptions{
				Name: "crawl", PerHost: c.PerHost, Gap: milliseconds(c.GapMS), Jitter: milliseconds(c.JitterMS),
				CooldownBase: milliseconds(c.CooldownBaseMS), CooldownMax: milliseconds(c.CooldownMaxMS),
				MaxRetryAfter: milliseconds(c.RetryMaxMS),
				Registerer:    h.registry,
			})
			rules := fetch.NewRobots(politely(visits, client), fetch.RobotsOptions{ErrorTTL: 5 * time.Second})
			slots := activities.NewCrawlSlots(c.Jobs, c.Fetches, renders(c.Jobs, h.config.Browser.Pages))
			crawling := &activities.Crawling{
				Frontier: store, Base: store, Web: client, Hosts: visits, Robots: rules,
				Recent: limit.NewRecent(h.redis, limit.RecentOptions{
					Name: "crawled", TTL: c.TTL, Registerer: h.registry,
				}),
				Bodies: bodies{h.blobs}, Browser: h.chromium(), Metrics: metrics,
				Slots: slots,
				Agent: robotName(c.UserAgent), Policy: crawl.RetryPolicy{
					Base: milliseconds(c.RetryBaseMS), Max: milliseconds(c.RetryMaxMS),
				},
				Worker: process(), Now: time.Now,
			}
			// A shard waits for hosts most of the time; c.Jobs bounds what it does.
			row := workers.Row{Queue: workflows.QueueCrawl, Slots: c.Shards, Activities: []any{
				crawling, &activities.Tending{Store: store, Metrics: metrics, Now: time.Now},
				&activities.Seeding{
					Store: store, Web: client, Hosts: visits, Robots: rules, Slots: slots, Agent: robotName(c.UserAgent),
				},
			}}
			stop := resume[crawl.Run]{
				queue: workflows.QueueCrawl, doing: "starting crawl runs", every: crawlsEvery, most: 100,
				list: func(ctx context.Context, after crawl.Run, most int) ([]crawl.Run, error) {
					return store.Unstarted(ctx, time.Now().Add(-crawlsEvery), after.ID, most)
				},
				start: func(ctx context.Context, r crawl.Run) error {
					started, err := h.launch.StartCrawl(ctx, r)
					if started {
						h.log.InfoContext(ctx, "crawl run had no workflow, it is started", "run", r.ID)
					}
					return err
				},
			}.tend(h)
			return []workers.Row{row}, each(stop, visits.Close, client.Close)
		},
		backlog: func(b *telemetry.Backlog) { b.Crawls = store.Status },
		parts:   []api.Part{apicrawl.Crawls{Store: store, Launch: h.launch, Defaults: c.Settings(), Blobs: h.blobs}},
	}
}

// crawlsEvery is how often runs without a workflow are looked for.
const crawlsEvery = 30 * time.Second

// crawlRequestMost is more than any run may allow a request.
const crawlRequestMost = 2*time.Minute + time.Second

// politely makes requests in their host's turn, as those of shards are made.
func politely(visits *limit.Visits, client *fetch.Client) func(context.Context, web.Request) (web.Exchange, error) {
	return func(ctx context.Context, r web.Request) (web.Exchange, error) {
		at, err := web.Canonical(r.URL)
		if err != nil {
			return web.Exchange{}, err
		}
		leave, err := visits.Enter(ctx, at.Host, 0)
		if err != nil {
			return web.Exchange{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, robotsTimeout)
		defer cancel()
		x, err := client.Ask(ctx, r)
		leave(crawl.Judge(x.Status, x.RetryAfter, err))
		return x, err
	}
}

// robotsTimeout bounds one request for a robots.txt.
const robotsTimeout = 10 * time.Second

// robotName is the name in robots.txt of a user agent, without a version: its first word, or, where that is the one of
// all browsers, the one that is compatible: "Mozilla/5.0 (compatible; AcmeBot/2.1; +https://acme.example/bot)".
func robotName(agent string) string {
	first := func(s string) string {
		s = strings.TrimSpace(s) + ";"
		return s[:strings.IndexAny(s, "/ ;)")]
	}
	name := first(agent)
	if _, named, _ := strings.Cut(agent, "compatible;"); name == "Mozilla" {
		name = cmp.Or(first(named), name)
	}
	return cmp.Or(name, fetch.RobotName)
}

// process names this process among all that crawl.
func process() string {
	name, err := os.Hostname()
	if err != nil {
		name = "worker"
	}
	return fmt.Sprintf("%s-%d", name, os.Getpid())
}

// bodies keeps answers as WARC records in the blob store.
type bodies struct{ blobs *blob.Store }

// Keep implements activities.CrawlBodies.
func (b bodies) Keep(ctx context.Context, run, url int64, e web.Exchange, at time.Time) (string, error) {
	record, err := warc.Record(warc.Response{
		RunID: run, URLID: url, URL: e.URL, At: at, Proto: e.Proto, Status: e.Status, Header: map[string][]string(e.Header),
		Body: e.Raw, Truncated: e.Cut,
	})
	if err != nil {
		return "", err
	}
	return b.blobs.PutRecord(ctx, record)
}
