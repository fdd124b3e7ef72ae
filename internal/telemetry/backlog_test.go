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

// waits returns sources of a backlog in which a little of everything waits. asked counts the questions to Postgres.
func waits(asked *atomic.Int32) *telemetry.Backlog {
	unacked, rate := int64(2), 1.5
	return &telemetry.Backlog{
		Postgres: func(context.Context) error { return nil },
		Commits:  func(context.Context) (backlog.Commits, error) { return backlog.Commits{}, nil },
		Unfinished: func(context.Context) (backlog.Unfinished, error) {
			return backlog.Unfinished{Listings: 16, Images: 17}, nil
		},
		Crawls: func(context.Context) (backlog.CrawlCount, error) {
			return backlog.CrawlCount{Running: 18, Paused: 19, OpenURLs: 20, StalledRun: 1, StalledSeconds: 21, Unpublished: 47}, nil
		},
		Segments: func(context.Context) (int64, error) { return 22, nil },
		Partitions: func(context.Context) ([]backlog.Partitioned, error) {
			return []backlog.Partitioned{{Table: "audit", Until: noon.AddDate(0, 3, 0)}}, nil
		},
		Imports: func(context.Context) (backlog.ImportCount, error) {
			return backlog.ImportCount{Uploads: 23, Chunks: 24, Rows: 24_000, OldestAgeSeconds: 25}, nil
		},
		Messages: func(context.Context) (backlog.MessagesWaiting, error) {
			return backlog.MessagesWaiting{Held: 26, Waiting: []backlog.MessageWait{
				{Tier: "standard", Kind: "transactional", Waiting: 27, OldestAgeSeconds: 28}, {Tier: "standard", Kind: "campaign"},
			}}, nil
		},
		Webhooks: func(context.Context) (backlog.WebhookCount, error) {
			return backlog.WebhookCount{Waiting: 29, OldestAgeSeconds: 30}, nil
		},
		News: func(context.Context) (backlog.NewsCount, error) {
			return backlog.NewsCount{Events: 51, EventAgeSeconds: 52, NoticeAgeSeconds: 53, TurnAgeSeconds: 54}, nil
		},
		Outbox: func(context.Context) (backlog.Outbox, error) {
			asked.Add(1)
			return backlog.Outbox{Pending: 3, Refused: 1, OldestAgeSeconds: 4}, nil
		},
		DeadLetters: func(context.Context) ([]backlog.DeadCount, error) {
			return []backlog.DeadCount{{Queue: "scraped.kijiji", Class: "invalid", Open: 5}}, nil
		},
		Queues: func(context.Context) ([]backlog.Queue, error) {
			return []backlog.Queue{
				{Name: "scraped.kijiji", Ready: 7, Consumers: 1, Ours: true},
				{Name: "listings.published", Ready: 8},
				{Name: "listings.published.dlq", Missing: true, Ours: true, DeadLetters: true},
			}, nil
		},
		Rates: func(context.Context) (map[string]backlog.Rates, error) {
			return map[string]backlog.Rates{"scraped.kijiji": {Unacked: &unacked, AckRate: &rate}}, nil
		},
		TaskQueues: func(context.Context) ([]backlog.TaskQueue, error) {
			return []backlog.TaskQueue{{Name: "images", Type: "activity", Backlog: 9, OldestAgeSeconds: 10, Workers: 1, Others: 2}}, nil
		},
		Builds: func(context.Context) ([]backlog.Build, error) {
			return []backlog.Build{{ID: "1.0", Pinned: 31}, {ID: "1.1", Pinned: 32, Missing: []string{"drafts workflow"}}}, nil
		},
		Limits: func(context.Context) ([]backlog.Host, error) {
			return []backlog.Host{{Limiter: "images", Host: "a.example", WaitSeconds: 11}}, nil
		},
		Platforms: func(context.Context) ([]backlog.Scraper, error) {
			return []backlog.Scraper{
				{Name: "kijiji", State: "blocked", Refusals: 2, LastSuccessAt: new(noon.Add(-time.Minute)), OverdueSeconds: 12,
					OldestVisitAt: new(noon.Add(-time.Hour)), CycleSeconds: 7200,
					Adverts: backlog.AdvertCount{Known: 13, Failed: 14, Gone: 15}},
				{Name: "kangalou", State: "disabled"},
			}, nil
		},
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon },
	}
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
	b.DeadLetters = func(context.Context) ([]backlog.DeadCount, error) { return nil, errors.New("refused") }
	b.Rates = func(context.Context) (map[string]backlog.Rates, error) { return nil, errors.New("401") }
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	b.Limits = func(context.Context) ([]backlog.Host, error) { <-stuck; return nil, nil }
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
		b.Commits = func(context.Context) (backlog.Commits, error) { return tt.commits, nil }
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
	hang := func(ctx context.Context) ([]backlog.Scraper, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("read platforms: %w", ctx.Err())
	}
	b.Platforms = hang
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
	b.Platforms = hang
	b.Postgres = func(ctx context.Context) error { _, err := hang(ctx); return err }
	b.Commits = func(ctx context.Context) (backlog.Commits, error) { _, err := hang(ctx); return backlog.Commits{}, err }
	b.Outbox = func(ctx context.Context) (backlog.Outbox, error) { _, err := hang(ctx); return backlog.Outbox{}, err }
	b.DeadLetters = func(ctx context.Context) ([]backlog.DeadCount, error) { _, err := hang(ctx); return nil, err }
	b.Unfinished = func(ctx context.Context) (backlog.Unfinished, error) {
		_, err := hang(ctx)
		return backlog.Unfinished{}, err
	}
	b.Crawls = func(ctx context.Context) (backlog.CrawlCount, error) {
		_, err := hang(ctx)
		return backlog.CrawlCount{}, err
	}
	b.Segments = func(ctx context.Context) (int64, error) { _, err := hang(ctx); return 0, err }
	b.Imports = func(ctx context.Context) (backlog.ImportCount, error) {
		_, err := hang(ctx)
		return backlog.ImportCount{}, err
	}
	b.Messages = func(ctx context.Context) (backlog.MessagesWaiting, error) {
		_, err := hang(ctx)
		return backlog.MessagesWaiting{}, err
	}
	b.Webhooks = func(ctx context.Context) (backlog.WebhookCount, error) {
		_, err := hang(ctx)
		return backlog.WebhookCount{}, err
	}
	b.News = func(ctx context.Context) (backlog.NewsCount, error) {
		_, err := hang(ctx)
		return backlog.NewsCount{}, err
	}
	b.Partitions = func(ctx context.Context) ([]backlog.Partitioned, error) { _, err := hang(ctx); return nil, err }
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
	away := errors.New("away")
	b.Outbox = func(context.Context) (backlog.Outbox, error) { return backlog.Outbox{}, away }
	b.Queues = func(context.Context) ([]backlog.Queue, error) { return nil, away }
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
		b.Files = func(context.Context) error { return err }
		r := b.Read(t.Context())
		require.Equal(t, state, r.Services["files"])
		require.Equal(t, err != nil, slices.Contains(r.Warnings, "files is away"))
	}
}
