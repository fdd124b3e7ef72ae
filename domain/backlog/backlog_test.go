package backlog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// scraper is a report of one platform that nothing is wrong with, but for change.
func scraper(change func(*backlog.Scraper)) backlog.Report {
	p := backlog.Scraper{Name: "kijiji", State: "scraping", LastSuccessAt: new(noon.Add(-time.Minute))}
	change(&p)
	return backlog.Report{At: noon, Platforms: []backlog.Scraper{p}}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		r    backlog.Report
		want []string
	}{
		{"nothing waits", backlog.Report{}, []string{}},
		{"a service is away", backlog.Report{Services: map[string]string{backlog.Redis: backlog.Away}},
			[]string{"redis is away"}},
		{"commits that wait", backlog.Report{
			Services: map[string]string{backlog.Postgres: backlog.Stuck},
			Commits:  backlog.Commits{WaitSeconds: 12.3, NoStandby: true},
		}, []string{"postgres: commits wait, for no standby is connected, the oldest for 12s: bring a standby back, or " +
			"go on without one by ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()"}},
		{"events on their way", backlog.Report{Outbox: backlog.Outbox{Pending: 500, OldestAgeSeconds: 2}}, []string{}},
		{"events that wait", backlog.Report{Outbox: backlog.Outbox{Pending: 5, OldestAgeSeconds: 90.4}},
			[]string{"outbox: the oldest of 5 messages waits for 1m30s"}},
		{"events that nobody takes", backlog.Report{Outbox: backlog.Outbox{Pending: 5, Refused: 2}},
			[]string{"outbox: messages that the broker refuses: 2"}},
		{"a long queue that is consumed", backlog.Report{Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ready: 1e6, Consumers: 1, Ours: true}}}, []string{}},
		{"a queue of ours without a consumer", backlog.Report{Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ours: true}}}, []string{"queue scraped.kijiji: no consumer"}},
		{"a bridge that is gone", backlog.Report{Queues: []backlog.Queue{
			{Name: "a", Ours: true}, {Name: "a.dlq", Ours: true, DeadLetters: true}, {Name: "b", Ours: true},
			{Name: "c", Ours: true}, {Name: "d", Ours: true, Consumers: 1}, {Name: "e", Missing: true}}},
			[]string{"queue e: there is no such queue", "queues a, a.dlq, b and 1 more: no consumer"}},
		{"one whose work no worker is to do", backlog.Report{
			Queues: []backlog.Queue{{Name: "requests", Ours: true, TaskQueue: "drafts"}},
			TaskQueues: []backlog.TaskQueue{
				{Name: "drafts", Type: backlog.WorkflowTasks, Unused: true}, {Name: "drafts", Type: backlog.ActivityTasks, Unused: true},
			}}, []string{}},
		{"one whose work waits all the same", backlog.Report{
			Queues:     []backlog.Queue{{Name: "requests", Ours: true, Ready: 1, TaskQueue: "drafts"}},
			TaskQueues: []backlog.TaskQueue{{Name: "drafts", Type: backlog.WorkflowTasks, Unused: true}}},
			[]string{"queue requests: no consumer"}},
		{"one whose workers are gone", backlog.Report{
			Queues:     []backlog.Queue{{Name: "requests", Ours: true, TaskQueue: "drafts"}, {Name: "pages", Ours: true, TaskQueue: "search"}},
			TaskQueues: []backlog.TaskQueue{{Name: "drafts", Type: backlog.WorkflowTasks}}},
			[]string{"queue requests, pages: no consumer", "task queue drafts (workflow): no worker"}},
		{"one of others", backlog.Report{Queues: []backlog.Queue{{Name: "listings.published", Ready: 9}}}, []string{}},
		{"a queue that there is not", backlog.Report{Queues: []backlog.Queue{{Name: "listings.ready", Missing: true}}},
			[]string{"queue listings.ready: there is no such queue"}},
		{"dead letters without a queue go to Postgres", backlog.Report{Queues: []backlog.Queue{
			{Name: "listings.ready.dlq", Missing: true, DeadLetters: true, Ours: true}}}, []string{}},
		{"no worker", backlog.Report{TaskQueues: []backlog.TaskQueue{{Name: "images", Type: backlog.ActivityTasks}}},
			[]string{"task queue images (activity): no worker"}},
		{"no worker, as it is set", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: backlog.ActivityTasks, Unused: true},
			{Name: "search", Type: backlog.WorkflowTasks, Unused: true, Build: "1.1", Others: 2, OldestAgeSeconds: 61}}}, []string{}},
		{"a build that is current and has no worker", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: backlog.ActivityTasks, Build: "1.1", Others: 2}}},
			[]string{"task queue images (activity): no worker of build 1.1, which is current"}},
		{"builds of which none is current", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: backlog.ActivityTasks, Others: 2}}},
			[]string{"task queue images (activity): no build is current: see conveyor deployment set-current --help"}},
		{"builds that drain", backlog.Report{Builds: []backlog.Build{
			{ID: "1.0", Pinned: 2}, {ID: "0.9", Pinned: 1, Missing: []string{"drafts workflow", "drafts activity"}}}},
			[]string{"build 0.9: 1 workflows are pinned to it, and no worker of it polls drafts workflow, drafts activity"}},
		{"images wait for their host", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: backlog.ActivityTasks, Workers: 1, Backlog: 1e4, OldestAgeSeconds: 3600}}}, []string{}},
		{"workflows wait for a worker", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "listings", Type: backlog.WorkflowTasks, Workers: 1, Backlog: 10, OldestAgeSeconds: 61}}},
			[]string{"task queue listings (workflow): a task waits for 1m1s"}},
		{"crawls that wait for the broker", backlog.Report{Crawls: backlog.CrawlCount{Running: 2, Unpublished: 10_000}},
			[]string{"crawl runs wait: 10000 or more pages are to be published before a URL is claimed"}},
		{"pages on their way", backlog.Report{Crawls: backlog.CrawlCount{Running: 2, Unpublished: 9_999}}, []string{}},
		{"a search index that is merged", backlog.Report{Segments: 49}, []string{}},
		{"a table with partitions", backlog.Report{Partitions: []backlog.Partitioned{
			{Table: "audit", Until: time.Time{}.AddDate(0, 1, 0)}}}, []string{}},
		{"rows that fit none", backlog.Report{Partitions: []backlog.Partitioned{
			{Table: "audit", Until: time.Time{}.AddDate(0, 1, 0), Strays: 2}}},
			[]string{"table audit: it has partitions until 0001-02-01, and 2 rows in none of them"}},
		{"runs of crawls that fit none", backlog.Report{Partitions: []backlog.Partitioned{
			{Table: "crawl_urls", Runs: 120}, {Table: "crawl_links", Strays: 7}}},
			[]string{"table crawl_links: it has partitions for 0 more runs, and 7 rows in none of them"}},
		{"a table without its next month", backlog.Report{Partitions: []backlog.Partitioned{
			{Table: "audit", Until: time.Time{}.AddDate(0, 0, 29)}}},
			[]string{"table audit: it has partitions until 0001-01-30, and 0 rows in none of them"}},
		{"one that is not", backlog.Report{Segments: 101}, []string{"search index: 101 segments are not merged"}},
		{"imports and messages on their way", backlog.Report{
			Imports: backlog.ImportCount{Uploads: 3, Chunks: 50_000, Rows: 5e7, OldestAgeSeconds: 3600},
			Messages: backlog.MessagesWaiting{Held: 5000, Waiting: []backlog.MessageWait{
				{Tier: "standard", Kind: "campaign", Waiting: 100_000, OldestAgeSeconds: 8 * 3600},
				{Tier: "enterprise", Kind: "transactional", Waiting: 9, OldestAgeSeconds: 60}}},
			News:     backlog.NewsCount{Events: 500, EventAgeSeconds: 60, NoticeAgeSeconds: 300, TurnAgeSeconds: 3600},
			Webhooks: backlog.WebhookCount{Waiting: 500, OldestAgeSeconds: 60}}, []string{}},
		{"news that is late", backlog.Report{
			News: backlog.NewsCount{Events: 100_000, EventAgeSeconds: 125, NoticeAgeSeconds: 3660}},
			[]string{"saved searches: the oldest of 100000 or more events waits for 2m to be compared with them",
				"saved searches: a delivery has been due for 1h1m, and nothing has tried to send it"}},
		{"imports that pile up", backlog.Report{Imports: backlog.ImportCount{Chunks: 50_001, OldestAgeSeconds: 3661}},
			[]string{"imports: 50001 chunks wait", "imports: a chunk waits for 1h1m"}},
		{"messages and webhooks that are late", backlog.Report{
			Messages: backlog.MessagesWaiting{Unknown: 2, Waiting: []backlog.MessageWait{
				{Tier: "standard", Kind: "transactional", Waiting: 100_000, OldestAgeSeconds: 61}}},
			Webhooks: backlog.WebhookCount{Waiting: 10_000, OldestAgeSeconds: 125}},
			[]string{"messages: the oldest of 100000 or more transactional ones (standard) waits for 1m",
				"messages: 2 have no delivery report yet, and their answers were lost",
				"webhooks: the oldest of 10000 or more waits for 2m"}},
		{"a platform that is scraped", scraper(func(*backlog.Scraper) {}), []string{}},
		{"one that is suspect", scraper(func(p *backlog.Scraper) {
			p.State, p.SuspectSince, p.SuspectReason = "suspect", new(noon.Add(-12*time.Minute)), "no adverts"
		}), []string{"platform kijiji: suspect since 12m: no adverts"}},
		{"suspect and blocked", scraper(func(p *backlog.Scraper) {
			p.State, p.SuspectSince, p.SuspectReason = "blocked", new(noon.Add(-20*time.Second)), "no adverts"
			p.Refusals, p.RefusedReason, p.OverdueSeconds = 6, "429", 3600
		}), []string{"platform kijiji: suspect since 20s: no adverts",
			"platform kijiji: blocked, 6 refusals in a row (429)"}},
		{"two refusals are in every day", scraper(func(p *backlog.Scraper) {
			p.State, p.Refusals, p.RefusedReason = "blocked", 2, "429"
		}), []string{}},
		{"one that is silent", scraper(func(p *backlog.Scraper) {
			p.LastSuccessAt, p.OverdueSeconds = new(noon.Add(-100*time.Minute)), 1801
		}), []string{"platform kijiji: no page read for 1h40m"}},
		{"one that asked for a long rest", scraper(func(p *backlog.Scraper) {
			p.State, p.Refusals, p.LastSuccessAt, p.OverdueSeconds = "blocked", 1, new(noon.Add(-2*time.Hour)), 7000
		}), []string{"platform kijiji: no page read for 2h0m"}},
		{"one that never gave a page", scraper(func(p *backlog.Scraper) {
			p.LastSuccessAt, p.OverdueSeconds = nil, 2400
		}), []string{"platform kijiji: no page read yet, for 40m"}},
		{"a pause that is not over", scraper(func(p *backlog.Scraper) { p.OverdueSeconds = 1800 }), []string{}},
		{"one that nobody wants scraped", scraper(func(p *backlog.Scraper) {
			p.State, p.SuspectSince, p.Refusals, p.OverdueSeconds = "paused", new(noon), 9, 9999
		}), []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.r
			r.Judge()
			require.Equal(t, tt.want, r.Warnings)
		})
	}
}

// A task queue counts once, whichever of its types has no worker, and not while no worker is meant to poll it.
func TestUnpolled(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"listings", "crawl"}, backlog.Unpolled([]backlog.TaskQueue{
		{Name: "listings", Type: backlog.WorkflowTasks}, {Name: "images", Type: backlog.ActivityTasks, Workers: 1},
		{Name: "drafts", Type: backlog.WorkflowTasks, Unused: true}, {Name: "crawl", Type: backlog.WorkflowTasks},
		{Name: "crawl", Type: backlog.ActivityTasks}, {Name: "enrich", Type: backlog.ActivityTasks, Unused: true, Workers: 1},
	}))
}
