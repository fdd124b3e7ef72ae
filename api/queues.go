package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// Queues serves /queues.
type Queues struct {
	Read func(context.Context) backlog.Report // never fails; bounds itself
}

// Register implements Part.
func (h Queues) Register(d *Door) {
	Serve(d, Needs(access.Read, huma.Operation{
		OperationID: "queues", Method: http.MethodGet, Path: "/queues", Tags: []string{"operations"},
		Summary: "Get the backlog of every queue",
		Description: "Depth, consumers and rates of every queue; the outbox; open dead letters; backlog and " +
			"schedule-to-start of Temporal's task queues; hosts delayed by the rate limiter; adverts and images that were " +
			"not finished; crawl runs; imports of contacts, messages and webhooks that wait. A part that a service did not answer in time is empty and listed in unknown. The answer is at " +
			"most a second old.",
	}), h.report)
}

func (h Queues) report(ctx context.Context, _ *struct{}) (*Body[Report], error) {
	return BodyOf(NewReport(h.Read(ctx))), nil
}

// A Report is the answer of GET /queues.
type Report struct {
	At          time.Time         `json:"at"`
	Services    map[string]string `json:"services" doc:"by name: ok; slow when only some of its parts came in time; stuck when commits wait for a standby; away when it does not answer"`
	Unknown     []string          `json:"unknown" doc:"parts below that are empty because no answer came: commits, outbox, dead_letters, queues, rates, task_queues, builds, limits, platforms, unfinished, crawls, segments, imports, messages, webhooks, news"`
	Warnings    []string          `json:"warnings" doc:"everything that an operator should look at, in one list"`
	Concerns    []Concern         `json:"concerns" doc:"the warnings with what they are about, and open dead letters"`
	Outbox      Outbox            `json:"outbox"`
	DeadLetters []DeadCount       `json:"dead_letters"`
	Queues      []Queue           `json:"queues"`
	TaskQueues  []TaskQueue       `json:"task_queues"`
	Limits      []Host            `json:"limits" doc:"hosts with no free turn now, the longest wait first"`
	Platforms   []Scraper         `json:"platforms" doc:"state of the scrapers of rental sites"`
	Unfinished  Unfinished        `json:"unfinished"`
	Crawls      CrawlCount        `json:"crawls"`
	Imports     ImportCount       `json:"imports"`
	Messages    MessagesWaiting   `json:"messages"`
	Webhooks    WebhookCount      `json:"webhooks"`
	News        NewsCount         `json:"news"`
}

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

// OpenDeadLetters is the number of open dead letters of all queues.
func (r *Report) OpenDeadLetters() (n int64) {
	for _, d := range r.DeadLetters {
		n += d.Open
	}
	return n
}

// A Queue is one queue of RabbitMQ.
type Queue struct {
	Name        string `json:"name"`
	Ready       int64  `json:"ready" doc:"messages ready for delivery"`
	Consumers   int64  `json:"consumers"`
	Ours        bool   `json:"ours" doc:"a bridge of this system should consume it"`
	DeadLetters bool   `json:"dead_letters" doc:"it holds messages that could not be processed"`
	Missing     bool   `json:"missing,omitempty" doc:"the queue does not exist"`
	Rates
	Warning string `json:"warning,omitempty"`
}

// Rates are the numbers of a queue that only RabbitMQ's management API has, up to 5 seconds old; nil is unknown.
type Rates struct {
	Unacked     *int64   `json:"unacked" doc:"messages delivered and not yet acknowledged"`
	PublishRate *float64 `json:"publish_rate" doc:"messages a second that are published to it"`
	DeliverRate *float64 `json:"deliver_rate" doc:"messages a second that are delivered to consumers"`
	AckRate     *float64 `json:"ack_rate" doc:"messages a second that are acknowledged"`
}

// Outbox is the messages that wait to be published.
type Outbox struct {
	Pending          int64   `json:"pending" doc:"messages, counted up to 100000: there may be more"`
	Refused          int64   `json:"refused" doc:"pending ones that the broker has returned or refused before"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"age of the oldest pending message; 0 when there is none"`
}

// Unfinished counts the work that was begun more than an hour ago, while nothing may be working on it. The staleness
// check resumes it.
type Unfinished struct {
	Listings int64 `json:"listings" doc:"adverts whose newest version was not brought to its end, counted up to 1000"`
	Images   int64 `json:"images" doc:"images of visible listings that were neither fetched nor given up, counted up to 1000; some may wait for their host"`
}

// CrawlCount counts the crawl runs that have not ended. GET /crawl-runs lists them.
type CrawlCount struct {
	Running            int64   `json:"running"`
	Paused             int64   `json:"paused"`
	OpenURLs           int64   `json:"open_urls" doc:"URLs of these runs that wait or are in progress"`
	FinishedLastMinute int64   `json:"finished_last_minute" doc:"URLs of these runs that came to a final state"`
	StalledRun         int64   `json:"stalled_run" doc:"the running one that has finished no URL for the longest time while some could be requested; 0 when there is none"`
	StalledSeconds     float64 `json:"stalled_seconds" doc:"that time"`
	Unpublished        int64   `json:"unpublished_pages" doc:"pages that wait in the outbox, counted up to 10000: while there are as many, no URL of a run that publishes is claimed"`
}

// ImportCount counts the files of contacts that are not imported.
type ImportCount struct {
	Uploads          int64   `json:"uploads" doc:"files"`
	Chunks           int64   `json:"chunks" doc:"of these files, those that are not stored, counted up to 100000"`
	Rows             int64   `json:"rows" doc:"of these chunks"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"age of the oldest of these chunks; 0 when there is none"`
}

// MessagesWaiting counts the messages that are to be sent.
type MessagesWaiting struct {
	Waiting []MessageWait `json:"waiting" doc:"those that may be sent now, by tier of their tenant and kind"`
	Held    int64         `json:"held" doc:"those that a pause or a stop of their campaign, sender or tenant holds back"`
	Unknown int64         `json:"unknown" doc:"those whose answer was lost, and of which no webhook has told for an hour; counted up to 100000"`
}

// MessageWait counts the messages of the tenants of a tier, and of a kind, whose time has come.
type MessageWait struct {
	Tier             string  `json:"tier" enum:"standard,enterprise"`
	Kind             string  `json:"kind" enum:"transactional,campaign"`
	Waiting          int64   `json:"waiting" doc:"transactional ones are counted up to 100000"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"since the oldest was due; 0 when there is none"`
}

// WebhookCount counts the deliveries of webhooks that were not applied to their messages.
type WebhookCount struct {
	Waiting          int64   `json:"waiting" doc:"counted up to 10000"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"since the oldest came; 0 when there is none"`
}

// NewsCount is what saved searches are to be told.
type NewsCount struct {
	Events           int64   `json:"events" doc:"of listings that wait to be compared with the searches, counted up to 100000"`
	EventAgeSeconds  float64 `json:"event_age_seconds" doc:"since the oldest happened; 0 when there is none"`
	NoticeAgeSeconds float64 `json:"notice_age_seconds" doc:"since the oldest delivery was due that nothing has tried to send; 0 when there is none"`
}

// DeadCount counts the open dead letters of a queue and class of failure.
type DeadCount struct {
	Queue string `json:"queue"`
	Class string `json:"class"`
	Open  int64  `json:"open" doc:"counted up to 100000, of all queues together: there may be more"`
}

// A TaskQueue is one type of tasks of one of Temporal's task queues. A task that a worker got with the start of its
// workflow, or from its cache, was never in it.
type TaskQueue struct {
	Name             string  `json:"name"`
	Type             string  `json:"type" enum:"workflow,activity"`
	Backlog          int64   `json:"backlog" doc:"tasks waiting, approximately; 0 some minutes after the last worker left"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"schedule-to-start of the task whose turn is next; 0 when none waits"`
	AddRate          float64 `json:"add_rate" doc:"tasks a second that are added, over the last 30 s"`
	DispatchRate     float64 `json:"dispatch_rate" doc:"tasks a second that workers get, over the last 30 s"`
	Workers          int64   `json:"workers" doc:"processes that poll it, and get what is not pinned: one that was killed counts for half a minute, or for five minutes where it sends no heartbeats"`
	Build            string  `json:"build,omitempty" doc:"the current one of the Worker Deployment; without it tasks go to workers without a deployment"`
	Others           int64   `json:"others,omitempty" doc:"processes that have polled too, and are of other builds or without one"`
	Unused           bool    `json:"unused,omitempty" doc:"no worker polls it on purpose: by CONVEYOR_UNUSED_TASK_QUEUES, or as workers say that leave it out"`
	Warning          string  `json:"warning,omitempty"`
}

// A Host is one that the rate limiter delays.
type Host struct {
	Limiter     string  `json:"limiter" doc:"the limited kind of request: images"`
	Host        string  `json:"host"`
	WaitSeconds float64 `json:"wait_seconds" doc:"until the next free turn: how long a request made now would wait"`
}

// A Scraper is the state of a rental site's scraper. GET /platforms has all of it.
type Scraper struct {
	Name           string      `json:"name"`
	State          string      `json:"state" enum:"disabled,paused,blocked,suspect,scraping,cooling,waiting"`
	Next           string      `json:"next" doc:"its next action, in words"`
	Refusals       int         `json:"refusals" doc:"in a row, up to now"`
	RefusedReason  string      `json:"refused_reason,omitempty" doc:"of the last one" example:"429"`
	SuspectSince   *time.Time  `json:"suspect_since,omitempty" doc:"when a change of its pages was first noticed"`
	SuspectReason  string      `json:"suspect_reason,omitempty"`
	LastSuccessAt  *time.Time  `json:"last_success_at,omitempty" doc:"when a page was last read"`
	OverdueSeconds float64     `json:"overdue_seconds" doc:"how long no page was read, beyond its own pauses; 0 while it is stopped"`
	Adverts        AdvertCount `json:"adverts"`
}

// AdvertCount counts the adverts that a scraper has on record.
type AdvertCount struct {
	Known  int64 `json:"known" doc:"seen on a search page and not gone"`
	Failed int64 `json:"failed" doc:"known ones that could not be read on the last visit"`
	Gone   int64 `json:"gone"`
}

// NewReport shows a backlog. Its lists are never null, whatever could not be asked.
func NewReport(r backlog.Report) Report {
	return Report{
		At: r.At, Services: r.Services, Unknown: append([]string{}, r.Unknown...),
		Warnings: append([]string{}, r.Warnings...),
		Concerns: Listed(r.Concerns, func(c backlog.Concern) Concern { return Concern(c) }), Outbox: Outbox(r.Outbox),
		Unfinished: Unfinished(r.Unfinished), Crawls: CrawlCount(r.Crawls), Imports: ImportCount(r.Imports),
		Messages: MessagesWaiting{
			Waiting: Listed(r.Messages.Waiting, func(m backlog.MessageCount) MessageWait { return MessageWait(m) }),
			Held:    r.Messages.Held, Unknown: r.Messages.Unknown,
		},
		Webhooks:    WebhookCount(r.Webhooks),
		News:        NewsCount(r.News),
		DeadLetters: Listed(r.DeadLetters, func(d backlog.DeadCount) DeadCount { return DeadCount(d) }),
		Queues: Listed(r.Queues, func(q backlog.Queue) Queue {
			return Queue{
				Name: q.Name, Ready: q.Ready, Consumers: q.Consumers, Ours: q.Ours, DeadLetters: q.DeadLetters,
				Missing: q.Missing, Rates: Rates(q.Rates), Warning: q.Warning,
			}
		}),
		TaskQueues: Listed(r.TaskQueues, func(q backlog.TaskQueue) TaskQueue { return TaskQueue(q) }),
		Limits:     Listed(r.Limits, func(h backlog.Host) Host { return Host(h) }),
		Platforms: Listed(r.Platforms, func(s backlog.Scraper) Scraper {
			return Scraper{
				Name: s.Name, State: s.State, Next: s.Next, Refusals: s.Refusals, RefusedReason: s.RefusedReason,
				SuspectSince: s.SuspectSince, SuspectReason: s.SuspectReason, LastSuccessAt: s.LastSuccessAt,
				OverdueSeconds: s.OverdueSeconds, Adverts: AdvertCount(s.Adverts),
			}
		}),
	}
}
