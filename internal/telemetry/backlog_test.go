package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// says is the probe of a part that has an answer.
func says[T any](part backlog.Part[T], v T) telemetry.Probe {
	return telemetry.Ask(part, func(context.Context) (T, error) { return v, nil })
}

// fails is the probe of a part whose question is not answered.
func fails[T any](part backlog.Part[T], why func(context.Context) error) telemetry.Probe {
	return telemetry.Ask(part, func(ctx context.Context) (v T, err error) { return v, why(ctx) })
}

// replace has probes of the same services and parts instead.
func replace(b *telemetry.Backlog, probes ...telemetry.Probe) {
	for _, p := range probes {
		b.Probes[slices.IndexFunc(b.Probes, func(old telemetry.Probe) bool {
			return old.Service == p.Service && old.Part == p.Part
		})] = p
	}
}

// waits returns a backlog in which a little of everything waits. asked counts the questions to Postgres.
func waits(asked *atomic.Int32) *telemetry.Backlog {
	unacked, rate := int64(2), 1.5
	b := &telemetry.Backlog{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }}
	b.Probes = []telemetry.Probe{
		telemetry.Alive(backlog.Postgres, func(context.Context) error { return nil }),
		says(backlog.PartCommits, backlog.Commits{}),
		telemetry.Ask(backlog.PartOutbox, func(context.Context) (backlog.Outbox, error) {
			asked.Add(1)
			return backlog.Outbox{Pending: 3, Refused: 1, OldestAgeSeconds: 4}, nil
		}),
		says(backlog.PartDeadLetters, []backlog.DeadCount{{Queue: "scraped.kijiji", Class: "invalid", Open: 5}}),
		says(backlog.PartQueues, []backlog.Queue{
			{Name: "scraped.kijiji", Ready: 7, Consumers: 1, Ours: true},
			{Name: "listings.published", Ready: 8},
			{Name: "listings.published.dlq", Missing: true, Ours: true, DeadLetters: true},
		}),
		says(backlog.PartRates, map[string]backlog.Rates{"scraped.kijiji": {Unacked: &unacked, AckRate: &rate}}),
		says(backlog.PartTaskQueues, []backlog.TaskQueue{
			{Name: "images", Type: "activity", Backlog: 9, OldestAgeSeconds: 10, Workers: 1, Others: 2},
		}),
		says(backlog.PartPlatforms, []backlog.Scraper{
			{Name: "kijiji", State: "blocked", Refusals: 2, LastSuccessAt: new(noon.Add(-time.Minute)), OverdueSeconds: 12,
				OldestVisitAt: new(noon.Add(-time.Hour)), CycleSeconds: 7200,
				Adverts: backlog.AdvertCount{Known: 13, Failed: 14, Gone: 15}},
			{Name: "kangalou", State: "disabled"},
		}),
		says(backlog.PartUnfinished, backlog.Unfinished{Listings: 16, Images: 17}),
		says(backlog.PartCrawls, backlog.CrawlCount{
			Running: 18, Paused: 19, OpenURLs: 20, StalledRun: 1, StalledSeconds: 21, Unpublished: 47,
		}),
		says(backlog.PartSegments, int64(22)),
		says(backlog.PartImports, backlog.ImportCount{Uploads: 23, Chunks: 24, Rows: 24_000, OldestAgeSeconds: 25}),
		says(backlog.PartMessages, backlog.MessagesWaiting{Held: 26, Waiting: []backlog.MessageWait{
			{Tier: "standard", Kind: "transactional", Waiting: 27, OldestAgeSeconds: 28}, {Tier: "standard", Kind: "campaign"},
		}}),
		says(backlog.PartWebhooks, backlog.WebhookCount{Waiting: 29, OldestAgeSeconds: 30}),
		says(backlog.PartNews, backlog.NewsCount{Events: 51, EventAgeSeconds: 52, NoticeAgeSeconds: 53, TurnAgeSeconds: 54}),
		says(backlog.PartPartitions, []backlog.Partitioned{{Table: "audit", Until: noon.AddDate(0, 3, 0)}}),
		says(backlog.PartLimits, []backlog.Host{{Limiter: "images", Host: "a.example", WaitSeconds: 11}}),
		says(backlog.PartBuilds, []backlog.Build{
			{ID: "1.0", Pinned: 31}, {ID: "1.1", Pinned: 32, Missing: []string{"drafts workflow"}},
		}),
	}
	return b
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestBacklog(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	b, now := waits(&asked), time.Date(2026, 10, 1, 8, 0, 0, 0, time.FixedZone("EDT", -4*3600))
	b.Now = func() time.Time { return now }
	r := b.Read(t.Context())
	require.Equal(t, now.UTC(), r.At)
	require.Equal(t, map[string]string{
		"postgres": "ok", "rabbitmq": "ok", "management": "ok", "temporal": "ok", "redis": "ok",
	}, r.Services)
	require.Equal(t, []string{"outbox: messages that the broker refuses: 1",
		"adverts that were begun more than an hour ago and are not finished: 16",
		"build 1.1: 32 workflows are pinned to it, and no worker of it polls drafts workflow"}, r.Warnings)
	require.Empty(t, r.Unknown)
	require.EqualValues(t, 2, *r.Queues[0].Unacked)
	require.Nil(t, r.Queues[1].Unacked)
	require.EqualValues(t, 5, r.DeadLetters[0].Open)

	now = now.Add(900 * time.Millisecond)
	require.Equal(t, r, b.Read(t.Context()))
	require.EqualValues(t, 1, asked.Load(), "services are asked once a second")
	now = now.Add(time.Second)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, "ok", b.Read(ended).Services["postgres"], "others may wait for it")
	require.EqualValues(t, 2, asked.Load())
}

// A service that is down costs no other service's numbers, and one that does not answer is not waited for.
func TestBacklogAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, backlogAway)
}

func backlogAway(t *testing.T) {
	var asked atomic.Int32
	var log syncLog
	b := waits(&asked)
	b.Log = slog.New(slog.NewTextHandler(&log, nil))
	refused := func(context.Context) error { return errors.New("refused") }
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	replace(b, fails(backlog.PartDeadLetters, refused), fails(backlog.PartRates, refused),
		fails(backlog.PartLimits, func(context.Context) error { <-stuck; return nil }))
	began := time.Now()
	r := b.Read(t.Context())
	require.Less(t, time.Since(began), 4*time.Second)
	require.Equal(t, map[string]string{
		"postgres": "away", "rabbitmq": "ok", "management": "away", "temporal": "ok", "redis": "away",
	}, r.Services)
	require.EqualValues(t, 3, r.Outbox.Pending)
	require.Len(t, r.Queues, 3)
	require.Nil(t, r.Queues[0].Unacked)
	require.NotNil(t, r.Limits, "[] and not null")
	require.Len(t, r.Platforms, 2)
	require.Equal(t, []string{"dead_letters", "rates", "limits"}, r.Unknown)
	require.Subset(t, r.Warnings, []string{"postgres is away", "management is away", "redis is away"})
	b.Now = func() time.Time { return time.Now().Add(time.Minute) }
	b.Read(t.Context())
	require.Equal(t, 3, strings.Count(log.String(), "cannot read backlog"), "said once")
}

// A database whose commits wait for a standby in vain is not up; one whose standby is only slow is.
func TestBacklogStuck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		commits backlog.Commits
		state   string
		up      float64
	}{
		{backlog.Commits{WaitSeconds: 3}, backlog.OK, 1},
		{backlog.Commits{WaitSeconds: 6}, backlog.Stuck, 0},
		{backlog.Commits{NoStandby: true}, backlog.Stuck, 0},
	} {
		b := waits(new(atomic.Int32))
		replace(b, says(backlog.PartCommits, tt.commits))
		require.Equal(t, tt.state, b.Read(t.Context()).Services["postgres"])
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(b)
		require.Equal(t, tt.up, values(t, reg)["conveyor_service_up postgres"]) //nolint:testifylint // 0 or 1
	}
}

// A question that takes too long costs no other question's numbers, and its service is slow, not away.
func TestBacklogSlow(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	b := waits(&asked)
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("read platforms: %w", ctx.Err())
	}
	replace(b, fails(backlog.PartPlatforms, hang))
	r := b.Read(t.Context())
	require.Equal(t, backlog.Slow, r.Services["postgres"])
	require.Equal(t, []string{"platforms"}, r.Unknown)
	require.Contains(t, r.Warnings, "postgres is slow")
	require.Contains(t, r.Warnings, "unknown (timed out): platforms")
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(b)
	got := values(t, reg)
	require.EqualValues(t, 1, got["conveyor_service_up postgres"])
	require.EqualValues(t, 1, got["conveyor_service_slow postgres"])
	require.EqualValues(t, 3, got["conveyor_outbox_pending"])
	require.NotContains(t, got, "conveyor_platform_refusals kijiji")

	b = waits(&asked) // a server that is stopped answers nothing
	replace(b, telemetry.Alive(backlog.Postgres, hang), fails(backlog.PartCommits, hang), fails(backlog.PartOutbox, hang),
		fails(backlog.PartDeadLetters, hang), fails(backlog.PartPlatforms, hang), fails(backlog.PartUnfinished, hang),
		fails(backlog.PartCrawls, hang), fails(backlog.PartSegments, hang), fails(backlog.PartImports, hang),
		fails(backlog.PartMessages, hang), fails(backlog.PartWebhooks, hang), fails(backlog.PartNews, hang),
		fails(backlog.PartPartitions, hang))
	r = b.Read(t.Context())
	require.Equal(t, backlog.Away, r.Services["postgres"])
	require.Equal(t, []string{"commits", "outbox", "dead_letters", "platforms", "unfinished", "crawls", "segments", "imports",
		"messages", "webhooks", "news", "partitions"}, r.Unknown)
	doc, err := json.Marshal(r)
	require.NoError(t, err)
	for _, list := range []string{"concerns", "dead_letters", "platforms", "unknown", "waiting", "warnings"} {
		require.Contains(t, string(doc), `"`+list+`":[`)
	}
}

func TestBacklogMetrics(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	b := waits(&asked)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(b)
	want := map[string]float64{
		`conveyor_service_up postgres`:                                1,
		`conveyor_service_up rabbitmq`:                                1,
		`conveyor_service_up management`:                              1,
		`conveyor_service_up temporal`:                                1,
		`conveyor_service_up redis`:                                   1,
		`conveyor_queue_ready scraped.kijiji`:                         7,
		`conveyor_queue_ready listings.published`:                     8,
		`conveyor_queue_unacked scraped.kijiji`:                       2,
		`conveyor_queue_consumers true scraped.kijiji`:                1,
		`conveyor_queue_consumers false listings.published`:           0,
		`conveyor_service_slow postgres`:                              0,
		`conveyor_service_slow rabbitmq`:                              0,
		`conveyor_service_slow management`:                            0,
		`conveyor_service_slow temporal`:                              0,
		`conveyor_service_slow redis`:                                 0,
		`conveyor_listings_unfinished`:                                16,
		`conveyor_images_unfinished`:                                  17,
		`conveyor_crawl_runs running`:                                 18,
		`conveyor_crawl_runs paused`:                                  19,
		`conveyor_crawl_urls_open`:                                    20,
		`conveyor_crawl_pages_unpublished`:                            47,
		`conveyor_crawl_stalled_seconds`:                              21,
		`conveyor_search_segments`:                                    22,
		`conveyor_partitions_ahead_seconds audit`:                     92 * 24 * 3600,
		`conveyor_partition_default_rows audit`:                       0,
		`conveyor_uploads_open`:                                       23,
		`conveyor_upload_chunks_waiting`:                              24,
		`conveyor_upload_chunks_oldest_age_seconds`:                   25,
		`conveyor_messages_paused`:                                    26,
		`conveyor_messages_unknown`:                                   0,
		`conveyor_messages_waiting transactional standard`:            27,
		`conveyor_messages_waiting campaign standard`:                 0,
		`conveyor_messages_oldest_age_seconds transactional standard`: 28,
		`conveyor_messages_oldest_age_seconds campaign standard`:      0,
		`conveyor_saved_queue_events`:                                 51,
		`conveyor_saved_queue_oldest_age_seconds`:                     52,
		`conveyor_saved_notices_oldest_age_seconds`:                   53,
		`conveyor_saved_notices_turn_age_seconds`:                     54,
		`conveyor_webhooks_waiting`:                                   29,
		`conveyor_webhooks_oldest_age_seconds`:                        30,
		`conveyor_outbox_pending`:                                     3,
		`conveyor_outbox_refused`:                                     1,
		`conveyor_outbox_oldest_age_seconds`:                          4,
		`conveyor_dead_letters_open invalid scraped.kijiji`:           5,
		`conveyor_task_queue_backlog images activity`:                 9,
		`conveyor_task_queue_oldest_age_seconds images activity`:      10,
		`conveyor_task_queue_workers images activity`:                 1,
		`conveyor_task_queue_other_workers images activity`:           2,
		`conveyor_pinned_workflows`:                                   63,
		`conveyor_pinned_workflows_stranded`:                          32,
		`conveyor_limiter_host_wait_seconds a.example images`:         11,
		`conveyor_platform_last_success_age_seconds kijiji`:           60,
		`conveyor_platform_overdue_seconds kijiji`:                    12,
		`conveyor_platform_oldest_visit_age_seconds kijiji`:           3600,
		`conveyor_platform_cycle_predicted_seconds kijiji`:            7200,
		`conveyor_platform_overdue_seconds kangalou`:                  0,
		`conveyor_platform_refusals kijiji`:                           2,
		`conveyor_platform_refusals kangalou`:                         0,
		`conveyor_platform_adverts kijiji known`:                      13,
		`conveyor_platform_adverts kijiji failed`:                     14,
		`conveyor_platform_adverts kijiji gone`:                       15,
		`conveyor_platform_adverts kangalou known`:                    0,
		`conveyor_platform_adverts kangalou failed`:                   0,
		`conveyor_platform_adverts kangalou gone`:                     0,
	}
	for _, state := range scrape.States {
		want["conveyor_platform_state kijiji "+state], want["conveyor_platform_state kangalou "+state] = 0, 0
	}
	want["conveyor_platform_state kijiji blocked"], want["conveyor_platform_state kangalou disabled"] = 1, 1
	require.Equal(t, want, values(t, reg))

	b = waits(&asked)
	away := func(context.Context) error { return errors.New("away") }
	replace(b, fails(backlog.PartOutbox, away), fails(backlog.PartQueues, away))
	reg = prometheus.NewPedanticRegistry()
	reg.MustRegister(b)
	got := values(t, reg)
	require.Zero(t, got["conveyor_service_up postgres"])
	require.NotContains(t, got, "conveyor_outbox_pending", "not known is not none")
	require.NotContains(t, got, "conveyor_queue_ready scraped.kijiji")
}

// values are the gauges of a registry by name and label values.
func values(t *testing.T, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()

	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetGauge().GetValue()
		}
	}
	return out
}

// syncLog is a log that is written and read at once.
type syncLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Files that are away are told as a service that is; where nobody asks, nothing is told of them.
func TestBacklogOfFiles(t *testing.T) {
	t.Parallel()

	var asked atomic.Int32
	b := waits(&asked)
	require.NotContains(t, b.Read(t.Context()).Services, "files")
	for err, state := range map[error]string{nil: "ok", errors.New("the folder is empty"): "away"} {
		b := waits(&asked)
		b.Probes = append(b.Probes, telemetry.Alive(backlog.Files, func(context.Context) error { return err }))
		r := b.Read(t.Context())
		require.Equal(t, state, r.Services["files"])
		require.Equal(t, err != nil, slices.Contains(r.Warnings, "files is away"))
	}
}
