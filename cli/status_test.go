package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
)

// busy is a report with a backlog everywhere; change alters it before it is judged.
func busy(change ...func(*backlog.Report)) backlog.Report {
	unacked, in, out := int64(200), 12.25, 9.0
	r := backlog.Report{
		At: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC),
		Services: map[string]string{
			"postgres": "ok", "rabbitmq": "ok", "management": "ok", "temporal": "ok", "redis": "ok", "files": "ok",
		},
		Outbox:      backlog.Outbox{Pending: 7, OldestAgeSeconds: 0.25},
		DeadLetters: []backlog.DeadCount{{Queue: "scraped.kijiji", Class: "invalid", Open: 3}},
		Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ready: 1249, Consumers: 1, Ours: true,
				Rates: backlog.Rates{Unacked: &unacked, PublishRate: &in, DeliverRate: &out, AckRate: &out}},
			{Name: "scraped.kijiji.dlq", Consumers: 1, Ours: true, DeadLetters: true},
			{Name: "listings.published", Ready: 5},
		},
		TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: "activity", Backlog: 231, OldestAgeSeconds: 112.4, AddRate: 2, DispatchRate: 2, Workers: 2},
		},
		Imports: backlog.ImportCount{Uploads: 2, Chunks: 312, Rows: 312_000, OldestAgeSeconds: 12},
		Messages: backlog.MessagesWaiting{Held: 40, Waiting: []backlog.MessageWait{
			{Tier: "standard", Kind: "transactional", Waiting: 3, OldestAgeSeconds: 0.25},
			{Tier: "standard", Kind: "campaign", Waiting: 4200, OldestAgeSeconds: 600},
			{Tier: "enterprise", Kind: "transactional"},
		}},
		Webhooks: backlog.WebhookCount{Waiting: 10_000, OldestAgeSeconds: 30},
		Limits:   []backlog.Host{{Limiter: "images", Host: "media.kijiji.ca", WaitSeconds: 12.5}},
		Platforms: []backlog.Scraper{
			{Name: "kangalou", State: "disabled", Next: "nothing until it is enabled"},
			{Name: "kijiji", State: "scraping", Next: "goes on with cycle 2, page 3",
				LastSuccessAt: new(time.Date(2026, 10, 1, 11, 59, 51, 0, time.UTC)),
				Adverts:       backlog.AdvertCount{Known: 1200, Failed: 3, Gone: 45}},
		},
	}
	for _, f := range change {
		f(&r)
	}
	r.Judge()
	return r
}

func TestStatusFrame(t *testing.T) {
	t.Parallel()
	s := &statusScreen{api: Client{URL: "http://127.0.0.1:8080"}}
	require.Equal(t, `conveyor status  http://127.0.0.1:8080  2026-10-01 12:00:00 UTC

services      postgres ok · rabbitmq ok · management ok · temporal ok · redis ok · files ok
outbox        7 pending, the oldest for 0.2 s
dead letters  3 open: 3 scraped.kijiji (invalid)
imports       312 chunks of 2 files wait, the oldest for 12s
webhooks      10000 or more wait, the oldest for 30s
messages      40 held back, 0 unknown for more than an hour

QUEUE               READY  UNACKED  IN/S  OUT/S  DONE/S  CONSUMERS
scraped.kijiji       1249      200  12.2    9.0     9.0          1
listings.published      5        –     –      –       –          0  for others

TASK QUEUE         WAIT  OLDEST  IN/S  OUT/S  WORKERS
images (activity)   231   1m52s   2.0    2.0        2

MESSAGES                  WAIT  OLDEST
transactional (standard)     3   0.2 s
campaign (standard)       4200   10m0s

PLATFORM           ADVERTS  FAILED  GONE  REFUSALS  LAST PAGE
kijiji (scraping)     1200       3    45         0  9.0 s ago  goes on with cycle 2, page 3

HOST HELD BACK            NEXT TURN IN
media.kijiji.ca (images)           13s

nothing is wrong
`, s.frame(busy(), nil))
}

func TestStatusFrameOfTrouble(t *testing.T) {
	t.Parallel()
	before := busy()
	now := busy(func(r *backlog.Report) {
		r.Services["management"], r.Services["postgres"] = "away", "away"
		r.Unknown = []string{"rates", "outbox", "dead_letters", "platforms"}
		r.Queues[0].Consumers, r.Queues[0].Ready, r.Queues[0].Rates = 0, 1300, backlog.Rates{}
		r.Queues[1].Consumers, r.Queues[2].Ready = 0, 2
		r.TaskQueues[0].Workers = 0
	})
	got := (&statusScreen{}).frame(now, &before)
	require.Contains(t, got, "postgres away · rabbitmq ok · management away")
	require.NotContains(t, got, "outbox  ", "it is not known")
	require.Regexp(t, `(?m)^scraped.kijiji +\+51 1300 +– +– +– +– +0  no consumer$`, got)
	require.Regexp(t, `(?m)^scraped.kijiji.dlq .*no consumer$`, got)
	require.Regexp(t, `(?m)^listings.published +-3 2 .* for others$`, got)
	require.Contains(t, got, "! postgres is away\n! management is away\n! queue scraped.kijiji, scraped.kijiji.dlq: no consumer\n")
	require.Contains(t, got, "! task queue images (activity): no worker\n")

	now.Platforms[1].State, now.Platforms[1].Refusals = "blocked", 6
	now.Platforms[1].RefusedReason, now.Platforms[1].Next = "429", "asks again in 5m0s"
	now.Judge()
	got = (&statusScreen{}).frame(now, &before)
	require.Regexp(t, `(?m)^kijiji \(blocked\) .* 6  9.0 s ago  asks again in 5m0s$`, got)
	require.Contains(t, got, "! platform kijiji: blocked, 6 refusals in a row (429)\n")
	require.Contains(t, (&statusScreen{paint: true}).frame(now, &before), "kijiji (\x1b[31mblocked\x1b[0m)")

	now.Services["postgres"], now.Unknown = "slow", []string{"dead_letters"}
	now.Outbox.Pending, now.Unfinished = backlog.MostPending, backlog.Unfinished{Listings: 3, Images: 2}
	got = (&statusScreen{}).frame(now, &before)
	require.Contains(t, got, "services      postgres slow · ")
	require.Regexp(t, `outbox +\+\d+ 100000 or more pending`, got)
	require.NotContains(t, got, "dead letters  ")
	require.Contains(t, got, "unfinished    3 adverts, 2 images, for more than an hour\n")

	now.Services["postgres"], now.Unknown = "ok", nil
	now.DeadLetters[0].Class, now.Limits[0].Host = "in\x1b[2Jvalid", "a\x1b]0;b"
	got = (&statusScreen{}).frame(now, &before)
	require.NotContains(t, got, "\x1b", "what strangers wrote does not steer the terminal")
	painted := (&statusScreen{paint: true}).frame(now, &before)
	require.Contains(t, painted, "\x1b[33m+51\x1b[0m 1300")
	require.Contains(t, painted, "\x1b[32m-3\x1b[0m 2")
	require.Contains(t, painted, "\x1b[31m! postgres is away\x1b[0m")
	for i, line := range strings.Split(painted, "\n") { // colours take no place
		require.Equal(t, shownWidth(strings.Split(got, "\n")[i]), shownWidth(line))
	}

	require.NotContains(t, got, "\ncrawls  ")
	now.Crawls = backlog.CrawlCount{Running: 2, Paused: 1, OpenURLs: 400, FinishedLastMinute: 30, StalledRun: 7, StalledSeconds: 901}
	now.Judge()
	got = (&statusScreen{}).frame(now, &before)
	require.Contains(t, got, "crawls        2 running, 1 paused: +400 400 URLs open, 30 finished in the last minute\n")
	require.Contains(t, got, "! crawl run 7: URLs are due, and none was finished for 15m\n")
}

func TestStatusLook(t *testing.T) {
	t.Parallel()
	want := busy()
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/queues" || r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(want)
	}))
	t.Cleanup(door.Close)
	got, _, err := (&statusScreen{api: Client{URL: door.URL, Key: "k"}}).look(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, _, err = (&statusScreen{api: Client{URL: door.URL}}).look(t.Context())
	require.ErrorContains(t, err, "401")
	_, _, err = (&statusScreen{api: Client{URL: "http://127.0.0.1:1"}}).look(t.Context())
	require.ErrorContains(t, err, "is it running")
	require.ErrorContains(t, (&StatusCmd{}).Run(t.Context(), Client{}), "--every")
}
