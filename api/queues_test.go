package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// The numbers stand beside the names, and an unknown number is null and not 0.
func TestQueues(t *testing.T) {
	t.Parallel()
	unacked := int64(3)
	report := backlog.Report{
		At: apitest.Now, Services: map[string]string{"rabbitmq": "ok", "management": "away"}, Warnings: []string{"management is away"},
		Concerns: []backlog.Concern{{Code: "service_away", Severity: "failed", Subject: "management", Text: "management is away"}},
		Unknown:  []string{"rates"}, Unfinished: backlog.Unfinished{Listings: 5, Images: 6},
		Crawls: backlog.CrawlCount{Running: 1, Paused: 2, OpenURLs: 3, FinishedLastMinute: 4, StalledRun: 5, StalledSeconds: 6, Unpublished: 7},
		Outbox: backlog.Outbox{Pending: 4, OldestAgeSeconds: 1.5},
		Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ready: 2, Consumers: 1, Ours: true, Rates: backlog.Rates{Unacked: &unacked}},
			{Name: "listings.published"},
		},
		Imports: backlog.ImportCount{Uploads: 1, Chunks: 2, Rows: 3, OldestAgeSeconds: 4},
		Messages: backlog.MessagesWaiting{Held: 5, Unknown: 6, Waiting: []backlog.MessageWait{
			{Tier: "standard", Kind: "campaign", Waiting: 7, OldestAgeSeconds: 8},
		}},
		Webhooks:    backlog.WebhookCount{Waiting: 9, OldestAgeSeconds: 10},
		News:        backlog.NewsCount{Events: 11, EventAgeSeconds: 12, NoticeAgeSeconds: 13, TurnAgeSeconds: 14},
		DeadLetters: []backlog.DeadCount{}, TaskQueues: []backlog.TaskQueue{}, Limits: []backlog.Host{},
		Platforms: []backlog.Scraper{{Name: "kijiji", State: "blocked", Refusals: 3, RefusedReason: "429"}},
	}
	d := apitest.Bare(t, func(p *apitest.Parts) { p.Queues.Read = func(context.Context) backlog.Report { return report } })
	r := d.Get(t, "/queues")
	require.Equal(t, http.StatusOK, r.Status)
	require.JSONEq(t, `{
		"at": "2026-10-01T12:00:00Z", "services": {"rabbitmq": "ok", "management": "away"},
		"unknown": ["rates"], "unfinished": {"listings": 5, "images": 6}, "crawls": {"running": 1, "paused": 2, "open_urls": 3,
			"finished_last_minute": 4, "stalled_run": 5, "stalled_seconds": 6,
			"unpublished_pages": 7}, "warnings": ["management is away"],
		"concerns": [{"code": "service_away", "severity": "failed", "subject": "management", "count": 0, "text": "management is away"}],
		"outbox": {"pending": 4, "refused": 0, "oldest_age_seconds": 1.5},
		"imports": {"uploads": 1, "chunks": 2, "rows": 3, "oldest_age_seconds": 4},
		"messages": {"held": 5, "unknown": 6, "waiting": [
			{"tier": "standard", "kind": "campaign", "waiting": 7, "oldest_age_seconds": 8}]},
		"webhooks": {"waiting": 9, "oldest_age_seconds": 10},
		"news": {"events": 11, "event_age_seconds": 12, "notice_age_seconds": 13, "turn_age_seconds": 14},
		"dead_letters": [], "task_queues": [], "limits": [],
		"platforms": [{"name": "kijiji", "state": "blocked", "next": "", "refusals": 3, "refused_reason": "429",
			"overdue_seconds": 0, "adverts": {"known": 0, "failed": 0, "gone": 0}}],
		"queues": [
			{"name": "scraped.kijiji", "ready": 2, "consumers": 1, "ours": true, "dead_letters": false,
			 "unacked": 3, "publish_rate": null, "deliver_rate": null, "ack_rate": null},
			{"name": "listings.published", "ready": 0, "consumers": 0, "ours": false, "dead_letters": false,
			 "unacked": null, "publish_rate": null, "deliver_rate": null, "ack_rate": null}
		]}`, r.Body)
}
