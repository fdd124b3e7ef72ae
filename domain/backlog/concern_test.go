package backlog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
)

// Every warning is a concern that says what it is about; dead letters are concerns only.
func TestConcerns(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 14, 32, 0, 0, time.UTC)
	since := at.Add(-time.Hour)
	r := backlog.Report{
		At: at, Services: map[string]string{backlog.Redis: backlog.Away},
		Outbox:      backlog.Outbox{Pending: 12, OldestAgeSeconds: 60},
		Queues:      []backlog.Queue{{Name: "scraped.kijiji", Ready: 7, Ours: true}},
		Platforms:   []backlog.Scraper{{Name: "kangalou", Refusals: 4, RefusedReason: "429", SuspectSince: &since}},
		DeadLetters: []backlog.DeadCount{{Queue: "scraped.kijiji", Class: "invalid", Open: 15}},
	}
	r.Judge()
	minute := at.Add(-time.Minute)
	want := []backlog.Concern{
		{Code: "service_away", Severity: "failed", Subject: "redis", Text: "redis is away"},
		{Code: "outbox_late", Severity: "failed", Subject: "outbox", Since: &minute, Count: 12,
			Text: "outbox: the oldest of 12 messages waits for 1m0s"},
		{Code: "queue_unconsumed", Severity: "failed", Subject: "scraped.kijiji", Count: 7,
			Text: "queue scraped.kijiji: no consumer"},
		{Code: "platform_suspect", Severity: "failed", Subject: "kangalou", Since: &since,
			Text: "platform kangalou: suspect since 1h0m: ", Filter: map[string]string{"platform": "kangalou"}},
		{Code: "platform_blocked", Severity: "look", Subject: "kangalou", Count: 4,
			Text: "platform kangalou: blocked, 4 refusals in a row (429)", Filter: map[string]string{"platform": "kangalou"}},
		{Code: "dead_letters_open", Severity: "failed", Subject: "scraped.kijiji", Count: 15,
			Text: "dead letters of scraped.kijiji (invalid): 15", Filter: map[string]string{"queue": "scraped.kijiji", "class": "invalid"}},
	}
	require.Equal(t, want, r.Concerns)
	for i, text := range r.Warnings {
		assert.Equal(t, r.Concerns[i].Text, text, i)
	}
	require.Equal(t, len(want)-1, len(r.Warnings))
}
