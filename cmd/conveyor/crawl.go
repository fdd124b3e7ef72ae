package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/warc"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The concrete stores and tools of the crawler implement the interfaces of its activities.
var (
	_ activities.CrawlFrontier  = (*db.Crawls)(nil)
	_ activities.CrawlBase      = (*db.Crawls)(nil)
	_ activities.CrawlTendStore = (*db.Crawls)(nil)
	_ activities.CrawlSeedStore = (*db.Crawls)(nil)
	_ activities.CrawlWeb       = (*fetch.Client)(nil)
	_ activities.CrawlRobots    = (*fetch.Robots)(nil)
)

// milliseconds is a duration as the settings of the system that this one replaces have them.
func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// crawls is the crawler.
func (h *house) crawls() system {
	c, store := h.config.Crawl, db.NewCrawls(h.pool)
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			client := fetch.New(fetch.Options{
				AllowPrivate: h.config.Images.AllowPrivate, UserAgent: c.UserAgent, Timeout: 2 * time.Minute,
				IdleConns: 4 * c.Fetches, IdlePerHost: c.PerHost, Traces: h.traces, Now: time.Now,
			})
			rules := fetch.NewRobots(client.Ask, fetch.RobotsOptions{ErrorTTL: 5 * time.Second, Now: time.Now})
			crawling := &activities.Crawling{
				Frontier: store, Base: store, Web: client, Hosts: freely{}, Robots: rules, Recent: nil,
				Bodies: bodies{h.blobs}, Metrics: nothing{}, Slots: activities.NewCrawlSlots(c.Jobs, c.Fetches),
				Agent: robotName(c.UserAgent), Policy: crawl.RetryPolicy{
					Base: milliseconds(c.RetryBaseMS), Max: milliseconds(c.RetryMaxMS),
				},
				Worker: process(), Now: time.Now,
			}
			row := workers.Row{Queue: workflows.QueueCrawl, Slots: 64, Activities: []any{
				crawling, &activities.Tending{Store: store, Metrics: nothing{}, Now: time.Now},
				&activities.Seeding{Store: store, Web: client, Robots: rules},
			}}
			return []workers.Row{row}, client.Close
		},
	}
}

// robotName is the name in robots.txt of a user agent: its first word, without a version.
func robotName(agent string) string {
	name, _, _ := strings.Cut(cmp.Or(agent, fetch.RobotName), "/")
	name, _, _ = strings.Cut(name, " ")
	return name
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
		Body: e.Raw,
	})
	if err != nil {
		return "", err
	}
	key, _, err := b.blobs.PutFile(ctx, record, "warc.gz")
	return key, err
}

type freely struct{}

func (freely) Enter(context.Context, string, time.Duration) (func(crawl.Verdict), error) {
	return func(crawl.Verdict) {}, nil
}

type nothing struct{}

func (nothing) Waited(time.Duration)                   {}
func (nothing) Fetched(time.Duration)                  {}
func (nothing) Processed(time.Duration, crawl.Outcome) {}
func (nothing) Cycle(time.Duration, int, int)          {}
