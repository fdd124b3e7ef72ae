package backlog

import (
	"fmt"
	"time"
)

// A Concern is something that an operator should look at.
type Concern struct {
	Code     string            `json:"code" enum:"service_away,service_slow,commits_wait,not_known,outbox_late,outbox_refused,adverts_unfinished,queue_missing,queue_unconsumed,task_queue_late,crawl_stalled,search_segments,partitions_missing,imports_many,imports_late,messages_late,messages_unknown,webhooks_late,news_late,platform_suspect,platform_blocked,platform_silent,dead_letters_open"`
	Severity string            `json:"severity" enum:"failed,look" doc:"failed: something does not work, or has to be decided; look: it goes on, and not as it should"`
	Subject  string            `json:"subject" doc:"the queue, platform, service or run that it is about; empty: all of a kind"`
	Since    *time.Time        `json:"since,omitempty"`
	Count    int64             `json:"count" doc:"of what text names; 0 where it counts nothing"`
	Text     string            `json:"text"`
	Filter   map[string]string `json:"filter,omitempty" doc:"parameters of the list that shows what it counts"`
}

// The severities of a concern.
const (
	Failed = "failed" // something does not work, or has to be decided
	Look   = "look"   // it goes on, and not as it should
)

// The codes of concerns.
const (
	ServiceAway       = "service_away"
	ServiceSlow       = "service_slow"
	CommitsWait       = "commits_wait"
	NotKnown          = "not_known"
	OutboxLate        = "outbox_late"
	OutboxRefused     = "outbox_refused"
	AdvertsUnfinished = "adverts_unfinished"
	QueueMissing      = "queue_missing"
	QueueUnconsumed   = "queue_unconsumed"
	TaskQueueLate     = "task_queue_late"
	CrawlStalled      = "crawl_stalled"
	SearchSegments    = "search_segments"
	PartitionsMissing = "partitions_missing"
	ImportsMany       = "imports_many"
	ImportsLate       = "imports_late"
	MessagesLate      = "messages_late"
	MessagesUnknown   = "messages_unknown"
	WebhooksLate      = "webhooks_late"
	NewsLate          = "news_late"
	PlatformSuspect   = "platform_suspect"
	PlatformBlocked   = "platform_blocked"
	PlatformSilent    = "platform_silent"
	DeadLettersOpen   = "dead_letters_open"
)

// warn adds a warning, and the concern that it is of.
func (r *Report) warn(c Concern, format string, args ...any) {
	c.Text = fmt.Sprintf(format, args...)
	r.Warnings = append(r.Warnings, c.Text)
	r.Concerns = append(r.Concerns, c)
}

// before is the time of something that has lasted for age.
func (r *Report) before(age time.Duration) *time.Time { return new(r.At.Add(-age)) }
