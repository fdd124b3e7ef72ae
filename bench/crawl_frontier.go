package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// A shape is how the URLs of a frontier lie on hosts.
type shape struct {
	shape string
	host  string // an expression of the number n of a URL, from 0: the number of its host
}

// frontiers have a million URLs on a thousand hosts.
var frontiers = []shape{
	{"a million URLs on 1,000 hosts", "n % 1000"},
	{"a million URLs on 1,000 hosts, 900,000 on one", "CASE WHEN n < 900000 THEN 500 ELSE n % 1000 END"},
}

// A Frontier is how claims go through a large frontier.
type Frontier struct {
	Shape   string             `json:"shape"`
	Claims  int                `json:"claims"`
	URLs    int                `json:"urls"` // that were claimed and finished
	Millis  map[string]float64 `json:"claim_ms"`
	Record  map[string]float64 `json:"record_ms"` // of the results of a claim
	Hosts   int                `json:"hosts"`     // that had a turn
	Least   int                `json:"least"`     // URLs of the host with the fewest turns
	Most    int                `json:"most"`      // and of the one with the most
	PerSec  float64            `json:"urls_per_second"`
	Seconds float64            `json:"seconds"`
}

// The claims of a frontier, as four shards make them.
const (
	frontierURLs    = 1_000_000
	frontierShards  = 4
	frontierClaims  = 300 // of each shard
	frontierMax     = 64
	frontierPerHost = 8
)

// sqlFrontierFill makes the URLs of a run. Their keys are any that differ.
const sqlFrontierFill = `
INSERT INTO crawl_urls (run_id, url_key, seq, depth, status, host, normalized_url, created_at, updated_at)
SELECT $1, md5(h.host || '/' || n)::uuid, 1, 1 + n %% 5, 'QUEUED', h.host, 'https://' || h.host || '/page/' || n, now(),
    now()
FROM generate_series(0, %d) n CROSS JOIN LATERAL (SELECT 'host-' || lpad((%s)::text, 4, '0') || '.example' AS host) h`

// fillFrontier makes a run with a large frontier.
func (h *system) fillFrontier(ctx context.Context, crawls *dbcrawl.Crawls, of shape) (crawl.Run, error) {
	root, err := web.Canonical("https://host-0000.example/")
	if err != nil {
		return crawl.Run{}, err
	}
	settings := crawl.Defaults
	settings.MaxPages = 5_000_000
	// Workers start runs that have no workflow a while after their creation. This one is not for them.
	run, err := crawls.Create(ctx, dbcrawl.NewRun{
		SeedURL: root.URL, Root: root, AllowedHosts: []string{root.Host}, Settings: settings, By: "bench",
	}, time.Now().Add(24*time.Hour))
	if err != nil {
		return run, err
	}
	if _, err := h.db.Exec(ctx, fmt.Sprintf(sqlFrontierFill, frontierURLs-1, of.host), run.ID); err != nil {
		return run, fmt.Errorf("fill: %w", err)
	}
	for _, sql := range []string{
		fmt.Sprintf("UPDATE crawl_runs SET discovered = discovered + %d, admitted = admitted + %[1]d", frontierURLs),
		"VACUUM ANALYZE crawl_urls",
	} {
		if _, err := h.db.Exec(ctx, sql); err != nil {
			return run, err
		}
	}
	return run, nil
}

// frontier claims URLs of a large frontier and finishes them, as workers do but for the requests.
func (h *system) frontier(ctx context.Context, of shape, report *Report) error {
	pool, err := pgxpool.New(ctx, h.db.Config().ConnString())
	if err != nil {
		return err
	}
	defer pool.Close()
	crawls := dbcrawl.NewCrawls(pool)
	defer func() { // it is in the way of what is measured next
		_, _ = h.db.Exec(context.WithoutCancel(ctx),
			"TRUNCATE crawl_runs, crawl_urls, crawl_links, crawl_tries, crawl_rates, crawl_holds")
	}()
	run, err := h.fillFrontier(ctx, crawls, of)
	if err != nil {
		return err
	}
	f := Frontier{Shape: of.shape}
	var mu sync.Mutex
	var claimed, recorded []time.Duration
	turns := map[string]int{}
	began := time.Now()
	work, ctx2 := errgroup.WithContext(ctx)
	for shard := range frontierShards {
		work.Go(func() error {
			take := crawl.Take{
				Run: run.ID, Worker: fmt.Sprintf("bench-%d", shard), Max: frontierMax, Fresh: frontierPerHost, Lease: time.Hour,
			}
			for range frontierClaims {
				before := time.Now()
				claims, _, err := crawls.Claim(ctx2, take)
				if err != nil {
					return err
				}
				claim := time.Since(before)
				results := make([]crawl.Result, len(claims))
				last := int64(-1)
				for i, c := range claims {
					results[i] = crawl.Result{
						Claim: c, State: crawl.Visited, Asked: true, HTTPStatus: 200, ContentLength: 1000, Bytes: 1000,
					}
					if c.Turn > last {
						last, take.Cursor = c.Turn, c.Host
					}
				}
				before = time.Now()
				if err := crawls.Record(ctx2, run.ID, take.Worker, results); err != nil {
					return err
				}
				mu.Lock()
				claimed, recorded = append(claimed, claim), append(recorded, time.Since(before))
				for _, c := range claims {
					turns[c.Host]++
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	f.Seconds = time.Since(began).Seconds()
	f.Claims, f.Millis, f.Record = len(claimed), percentiles(claimed), percentiles(recorded)
	counts := slices.Sorted(maps.Values(turns))
	if len(counts) == 0 {
		return errors.New("nothing was claimed")
	}
	f.Hosts, f.Least, f.Most = len(counts), counts[0], counts[len(counts)-1]
	for _, n := range counts {
		f.URLs += n
	}
	f.PerSec = float64(f.URLs) / f.Seconds
	report.Frontiers = append(report.Frontiers, f)
	return nil
}
