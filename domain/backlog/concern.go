package backlog

import (
	"fmt"
	"time"
)

// A Concern is something that an operator should look at.
type Concern struct {
	Code     string // one of the codes below
	Severity string // Failed or Look
	Subject  string // the queue, platform, service, … it is about; "" = all of a kind
	Since    *time.Time
	Count    int64             // of what the text names; 0 = it counts nothing
	Text     string            // as in Warnings
	Filter   map[string]string // that lists show what it counts with; nil = there is none
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
