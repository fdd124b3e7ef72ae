// Package backlog describes the messages and tasks that wait in queues, and decides which waits are worth a warning.
package backlog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// A Report is the backlog of all services, as of At, and the answer of GET /queues. A part whose question was not
// answered is in Unknown, and empty.
type Report struct {
	At          time.Time         `json:"at"`
	Services    map[string]string `json:"services" doc:"by name: ok; slow when only some of its parts came in time; stuck when commits wait for a standby; away when it does not answer"`
	Unknown     []string          `json:"unknown" doc:"parts below that are empty because no answer came: commits, outbox, dead_letters, queues, rates, task_queues, builds, limits, platforms, unfinished, crawls, segments, imports, messages, webhooks, news"`
	Warnings    []string          `json:"warnings" doc:"everything that an operator should look at, in one list"`
	Concerns    []Concern         `json:"concerns" doc:"the warnings with what they are about, and open dead letters"`
	Commits     Commits           `json:"-"`
	Outbox      Outbox            `json:"outbox"`
	DeadLetters []DeadCount       `json:"dead_letters"`
	Queues      []Queue           `json:"queues"`
	TaskQueues  []TaskQueue       `json:"task_queues"`
	Builds      []Build           `json:"-"` // that are not current any more, and have workflows that only they go on with
	Limits      []Host            `json:"limits" doc:"hosts with no free turn now, the longest wait first"`
	Platforms   []Scraper         `json:"platforms" doc:"state of the scrapers of rental sites"`
	Unfinished  Unfinished        `json:"unfinished"`
	Crawls      CrawlCount        `json:"crawls"`
	Segments    int64             `json:"-"` // of the search index in Postgres
	Imports     ImportCount       `json:"imports"`
	Messages    MessagesWaiting   `json:"messages"`
	Webhooks    WebhookCount      `json:"webhooks"`
	News        NewsCount         `json:"news"`
	Partitions  []Partitioned     `json:"-"`
}

// The parts of a report that are asked for by themselves.
const (
	PartCommits     = "commits"
	PartOutbox      = "outbox"
	PartDeadLetters = "dead_letters"
	PartQueues      = "queues"
	PartRates       = "rates"
	PartTaskQueues  = "task_queues"
	PartBuilds      = "builds"
	PartLimits      = "limits"
	PartPlatforms   = "platforms"
	PartUnfinished  = "unfinished"
	PartCrawls      = "crawls"
	PartSegments    = "segments"
	PartImports     = "imports"
	PartMessages    = "messages"
	PartWebhooks    = "webhooks"
	PartNews        = "news"
	PartPartitions  = "partitions"
)

// OpenDeadLetters is the number of open dead letters of all queues.
func (r *Report) OpenDeadLetters() (n int64) {
	for _, d := range r.DeadLetters {
		n += d.Open
	}
	return n
}

// Knows reports whether a part of the report was answered.
func (r *Report) Knows(part string) bool { return !slices.Contains(r.Unknown, part) }

// The services whose backlogs a report holds.
const (
	RabbitMQ   = "rabbitmq"
	Management = "management" // RabbitMQ's management API: unacked messages, and rates
	Postgres   = "postgres"
	Temporal   = "temporal"
	Redis      = "redis"
	Files      = "files" // the folder or bucket of CONVEYOR_BLOB_URL
)

// Services are all of them, in the order of display.
var Services = []string{Postgres, RabbitMQ, Management, Temporal, Redis, Files}

// The states of a service in a report.
const (
	OK    = "ok"
	Slow  = "slow"  // it answers, but not every question in time
	Stuck = "stuck" // Postgres only: it answers, but stores nothing
	Away  = "away"
)

// A Queue is one queue of RabbitMQ.
type Queue struct {
	Name        string `json:"name"`
	Ready       int64  `json:"ready" doc:"messages ready for delivery"`
	Consumers   int64  `json:"consumers"`
	Ours        bool   `json:"ours" doc:"a bridge of this system should consume it"`
	TaskQueue   string `json:"-"` // the one without whose workers it is not consumed; "" = it is in any case
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

// MostPending is how far the outbox is counted: where as many wait, there may be more.
const MostPending = 100_000

// Outbox is the messages that wait to be published.
type Outbox struct {
	Pending          int64   `json:"pending" doc:"messages, counted up to 100000: there may be more"`
	Refused          int64   `json:"refused" doc:"pending ones that the broker has returned or refused before"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"age of the oldest pending message; 0 when there is none"`
}

// Partitioned says how far a table that grows by time is prepared for what comes: for months, or for runs of crawls.
type Partitioned struct {
	Table  string
	Until  time.Time // rows from then on belong to no partition; zero: its partitions are of runs
	Runs   int64     // the runs that will have a partition, where Until is zero
	Strays int64     // rows that belong to none, counted up to 1,000
}

// MostLetters is how many open dead letters are counted, of all queues together: where there are as many, there may be
// more.
const MostLetters = 100_000

// DeadCount counts the open dead letters of a queue and class of failure.
type DeadCount struct {
	Queue string `json:"queue"`
	Class string `json:"class"`
	Open  int64  `json:"open" doc:"counted up to 100000, of all queues together: there may be more"`
}

// The types of tasks in Temporal.
const (
	WorkflowTasks = "workflow"
	ActivityTasks = "activity"
)

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
	Restarts         bool    `json:"-"` // it has no worker, and they may only be started anew
	Unused           bool    `json:"unused,omitempty" doc:"no worker polls it on purpose: by CONVEYOR_UNUSED_TASK_QUEUES, or as workers say that leave it out"`
	Warning          string  `json:"warning,omitempty"`
}

// A Build is one of the Worker Deployment's that drains: new workflows go to another one.
type Build struct {
	ID      string
	Pinned  int64    // open workflows that only this build goes on with
	Missing []string // its task queues that no process of it polls, as "drafts workflow"
}

// A Host is one that the rate limiter delays.
type Host struct {
	Limiter     string  `json:"limiter" doc:"the limited kind of request: images"`
	Host        string  `json:"host"`
	WaitSeconds float64 `json:"wait_seconds" doc:"until the next free turn: how long a request made now would wait"`
}

// A Scraper is the state of a rental site's scraper.
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
	OldestVisitAt  *time.Time  `json:"-"` // of the adverts that are not gone; nil = none was visited
	CycleSeconds   float64     `json:"-"` // that a cycle takes, as predicted; 0 = not known yet
	Adverts        AdvertCount `json:"adverts"`
}

// AdvertCount counts the adverts that a scraper has on record.
type AdvertCount struct {
	Known  int64 `json:"known" doc:"seen on a search page and not gone"`
	Failed int64 `json:"failed" doc:"known ones that could not be read on the last visit"`
	Gone   int64 `json:"gone"`
}

// MostUnfinished is how many unfinished adverts, and images, are counted among: where there are as many, there may be
// more.
const MostUnfinished = 1000

// Unfinished counts what has been on its way for more than an hour, while nothing may be working on it. The staleness
// check resumes it.
type Unfinished struct {
	Listings int64 `json:"listings" doc:"adverts whose newest version was not brought to its end, counted up to 1000"`
	Images   int64 `json:"images" doc:"images of visible listings that were neither fetched nor given up, counted up to 1000; some may wait for their host"`
}

// CrawlCount counts the crawl runs that have not ended.
type CrawlCount struct {
	Running            int64   `json:"running"`
	Paused             int64   `json:"paused"`
	OpenURLs           int64   `json:"open_urls" doc:"URLs of these runs that wait or are in progress"`
	FinishedLastMinute int64   `json:"finished_last_minute" doc:"URLs of these runs that came to a final state"`
	StalledRun         int64   `json:"stalled_run" doc:"the running one that has finished no URL for the longest time while some could be requested; 0 when there is none"`
	StalledSeconds     float64 `json:"stalled_seconds" doc:"that time"`
	Unpublished        int64   `json:"unpublished_pages" doc:"pages that wait in the outbox, counted up to 10000: while there are as many, no URL of a run that publishes is claimed"`
}

// How far chunks, messages and webhooks are counted: where as many wait, there may be more.
const (
	MostChunks   = 100_000
	MostMessages = 100_000 // transactional ones, and unknown ones; those of campaigns are all counted
	MostWebhooks = 10_000
	MostNews     = 100_000
)

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
	Unknown int64         `json:"unknown" doc:"those whose answer was lost, and which no webhook has reported for an hour; counted up to 100000"`
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
	NoticeAgeSeconds float64 `json:"notice_age_seconds" doc:"since the oldest delivery was due that nothing has tried to send, beyond its turn among those of its tenant, its target or its server; 0 when there is none"`
	TurnAgeSeconds   float64 `json:"turn_age_seconds" doc:"since the oldest delivery was due that waits for its turn among those of its tenant; 0 when there is none"`
}

// atMost is a count as text that goes up to a limit.
func atMost(n, limit int64) string {
	if n >= limit {
		return fmt.Sprintf("%d or more", n)
	}
	return strconv.FormatInt(n, 10)
}

// The longest waits without a warning.
const (
	lateEvent = 30 * time.Second // an outbox message is published within milliseconds
	lateTask  = 30 * time.Second // a workflow task starts within milliseconds; activities may wait for a host's turn
	lateCrawl = 15 * time.Minute // a request has two minutes at most, and retries come to an end
	latePage  = 30 * time.Minute // beyond a scraper's own pauses; after refusals it retries at least every five minutes

	lateMessage = time.Minute // a transactional one is sent within a second, but for the rate of its tenant
	lateWebhook = time.Minute // a webhook is applied within a second
	lateChunk   = time.Hour   // a file of a million rows takes minutes

	lateNews   = time.Minute     // events are compared within a second
	lateNotice = 5 * time.Minute // a delivery is tried within seconds; what waits for a slow server looks again by then

	manyRefusals = 3      // in a row; one or two are common
	manyChunks   = 50_000 // of a thousand rows each
)

// Judge fills in the warnings and the concerns.
func (r *Report) Judge() {
	r.Warnings, r.Concerns = []string{}, []Concern{}
	for _, name := range Services {
		switch r.Services[name] {
		case Away:
			r.warn(Concern{Code: ServiceAway, Severity: Failed, Subject: name}, "%s is away", name)
		case Slow:
			r.warn(Concern{Code: ServiceSlow, Severity: Look, Subject: name}, "%s is slow", name)
		case Stuck:
			r.Commits.judge(r)
		}
	}
	if len(r.Unknown) > 0 && slices.Contains(slices.Collect(maps.Values(r.Services)), Slow) {
		r.warn(Concern{Code: NotKnown, Severity: Look, Count: int64(len(r.Unknown))},
			"unknown (timed out): %s", strings.Join(r.Unknown, ", "))
	}
	if age := seconds(r.Outbox.OldestAgeSeconds); age > lateEvent {
		r.warn(Concern{
			Code: OutboxLate, Severity: Failed, Subject: PartOutbox, Since: r.before(age), Count: r.Outbox.Pending,
		}, "outbox: the oldest of %s messages waits for %s", atMost(r.Outbox.Pending, MostPending), age.Round(time.Second))
	}
	if r.Outbox.Refused > 0 {
		r.warn(Concern{Code: OutboxRefused, Severity: Failed, Subject: PartOutbox, Count: r.Outbox.Refused},
			"outbox: messages that the broker refuses: %d", r.Outbox.Refused)
	}
	if n := r.Unfinished.Listings; n > 0 {
		r.warn(Concern{Code: AdvertsUnfinished, Severity: Look, Count: n},
			"adverts that were begun more than an hour ago and are not finished: %s", atMost(n, MostUnfinished))
	}
	r.judgeQueues()
	if idle := seconds(r.Crawls.StalledSeconds); idle > lateCrawl {
		r.warn(Concern{
			Code: CrawlStalled, Severity: Look, Subject: strconv.FormatInt(r.Crawls.StalledRun, 10), Since: r.before(idle),
			Filter: map[string]string{"run": strconv.FormatInt(r.Crawls.StalledRun, 10)},
		}, "crawl run %d: URLs are due, and none was finished for %s", r.Crawls.StalledRun, ago(r.At, r.At.Add(-idle)))
	}
	if n := r.Crawls.Unpublished; n >= crawl.UnpublishedMost && r.Crawls.Running > 0 {
		r.warn(Concern{Code: CrawlStalled, Severity: Look, Count: n},
			"crawl runs wait: %s pages are to be published before a URL is claimed", atMost(n, crawl.UnpublishedMost))
	}
	if r.Segments > mostSegments {
		r.warn(Concern{Code: SearchSegments, Severity: Look, Count: r.Segments},
			"search index: %d segments are not merged", r.Segments)
	}
	for _, p := range r.Partitions {
		missing := Concern{Code: PartitionsMissing, Severity: Look, Subject: p.Table, Count: p.Strays}
		switch {
		case p.Until.IsZero() && p.Strays > 0:
			r.warn(missing, "table %s: it has partitions for %d more runs, and %d rows in none of them", p.Table, p.Runs, p.Strays)
		case p.Until.IsZero():
		case p.Strays > 0 || p.Until.Before(r.At.Add(partitionsAhead)):
			r.warn(missing, "table %s: it has partitions until %s, and %d rows in none of them", p.Table, p.Until.Format(time.DateOnly),
				p.Strays)
		}
	}
	r.judgeOutreach()
	for i := range r.Platforms {
		r.judgePlatform(&r.Platforms[i])
	}
	for _, d := range r.DeadLetters { // a person has to decide: no warning, for they may wait
		r.Concerns = append(r.Concerns, Concern{
			Code: DeadLettersOpen, Severity: Failed, Subject: d.Queue, Count: d.Open,
			Filter: map[string]string{"queue": d.Queue, "class": d.Class},
			Text:   fmt.Sprintf("dead letters of %s (%s): %d", d.Queue, d.Class, d.Open),
		})
	}
}

// judgeQueues warns of queues and task queues.
func (r *Report) judgeQueues() {
	for i := range r.Queues {
		if q := &r.Queues[i]; q.TaskQueue != "" && q.Ready == 0 && r.unused(q.TaskQueue) {
			q.Ours = false // nobody is to do its work
		}
		r.Queues[i].Warning = r.Queues[i].trouble()
	}
	for _, trouble := range []string{noQueue, noConsumer} { // all queues of a stopped bridge are one warning
		var names []string
		waiting := int64(0)
		for _, q := range r.Queues {
			if q.Warning == trouble {
				names = append(names, q.Name)
				waiting += q.Ready
			}
		}
		code := QueueMissing
		if trouble == noConsumer {
			code = QueueUnconsumed
		}
		if len(names) == 0 {
			continue
		}
		c := Concern{Code: code, Severity: Failed, Subject: names[0], Count: waiting}
		if most := 3; len(names) > most {
			r.warn(c, "queues %s and %d more: %s", strings.Join(names[:most], ", "), len(names)-most, trouble)
		} else {
			r.warn(c, "queue %s: %s", strings.Join(names, ", "), trouble)
		}
	}
	for i := range r.TaskQueues {
		t := &r.TaskQueues[i]
		if t.Warning = t.trouble(); t.Warning != "" {
			r.warn(Concern{Code: TaskQueueLate, Severity: Failed, Subject: t.Name, Count: t.Backlog},
				"task queue %s (%s): %s", t.Name, t.Type, t.Warning)
		}
	}
	for _, b := range r.Builds {
		if len(b.Missing) > 0 {
			r.warn(Concern{Code: TaskQueueLate, Severity: Failed, Subject: b.ID, Count: b.Pinned},
				"build %s: %d workflows are pinned to it, and no worker of it polls %s", b.ID, b.Pinned,
				strings.Join(b.Missing, ", "))
		}
	}
}

// unused says that no worker polls a task queue, on purpose.
func (r *Report) unused(name string) bool {
	known := false
	for _, t := range r.TaskQueues {
		if t.Name == name && (!t.Unused || t.Workers > 0) {
			return false
		}
		known = known || t.Name == name
	}
	return known
}

// judgeOutreach warns of imports, messages, webhooks and saved searches.
func (r *Report) judgeOutreach() {
	if r.Imports.Chunks > manyChunks {
		r.warn(Concern{Code: ImportsMany, Severity: Look, Count: r.Imports.Chunks},
			"imports: %s chunks wait", atMost(r.Imports.Chunks, MostChunks))
	}
	if age := seconds(r.Imports.OldestAgeSeconds); age > lateChunk {
		r.warn(Concern{Code: ImportsLate, Severity: Look, Since: r.before(age), Count: r.Imports.Chunks},
			"imports: a chunk waits for %s", ago(r.At, r.At.Add(-age)))
	}
	for _, m := range r.Messages.Waiting {
		if age := seconds(m.OldestAgeSeconds); m.Kind == campaign.KindTransactional && age > lateMessage {
			r.warn(Concern{Code: MessagesLate, Severity: Look, Subject: m.Tier, Since: r.before(age), Count: m.Waiting},
				"messages: the oldest of %s transactional ones (%s) waits for %s", atMost(m.Waiting, MostMessages), m.Tier,
				ago(r.At, r.At.Add(-age)))
		}
	}
	if r.Messages.Unknown > 0 {
		r.warn(Concern{Code: MessagesUnknown, Severity: Look, Count: r.Messages.Unknown},
			"messages: %s have no delivery report yet, and their answers were lost", atMost(r.Messages.Unknown, MostMessages))
	}
	if age := seconds(r.Webhooks.OldestAgeSeconds); age > lateWebhook {
		r.warn(Concern{Code: WebhooksLate, Severity: Look, Since: r.before(age), Count: r.Webhooks.Waiting},
			"webhooks: the oldest of %s waits for %s", atMost(r.Webhooks.Waiting, MostWebhooks), ago(r.At, r.At.Add(-age)))
	}
	if age := seconds(r.News.EventAgeSeconds); age > lateNews {
		r.warn(Concern{Code: NewsLate, Severity: Look, Subject: "events", Since: r.before(age), Count: r.News.Events},
			"saved searches: the oldest of %s events waits for %s to be compared with them",
			atMost(r.News.Events, MostNews), ago(r.At, r.At.Add(-age)))
	}
	if age := seconds(r.News.NoticeAgeSeconds); age > lateNotice {
		r.warn(Concern{Code: NewsLate, Severity: Look, Subject: "deliveries", Since: r.before(age)},
			"saved searches: a delivery has been due for %s, and nothing has tried to send it", ago(r.At, r.At.Add(-age)))
	}
}

// partitionsAhead is the least time for which a table has partitions while retention runs: it makes three months.
const partitionsAhead = 30 * 24 * time.Hour

// mostSegments is how many segments the search index may have: less than eight of each size when it is merged in time.
const mostSegments = 100

// The warnings of a queue.
const (
	noQueue    = "there is no such queue"
	noConsumer = "no consumer"
)

// trouble is the warning of a queue, "" for none. A queue that another system consumes has none for its consumers.
func (q *Queue) trouble() string {
	switch {
	case q.Missing && q.DeadLetters:
		return "" // dead letters are archived in Postgres at once
	case q.Missing:
		return noQueue
	case q.Ours && q.Consumers == 0:
		return noConsumer
	}
	return ""
}

// Unpolled are the names of the task queues in use of which no worker polls a type of tasks, each once and in their
// order.
func Unpolled(list []TaskQueue) (names []string) {
	for _, t := range list {
		if t.Workers == 0 && !t.Unused && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

func (t *TaskQueue) trouble() string {
	age := seconds(t.OldestAgeSeconds)
	switch {
	case t.Unused && t.Workers == 0:
		return ""
	case t.Workers == 0 && t.Build != "":
		return fmt.Sprintf("no worker of build %s, which is current", t.Build)
	case t.Workers == 0 && t.Others > 0:
		return "no build is current: see conveyor deployment set-current --help"
	case t.Workers == 0:
		return "no worker"
	case t.Type == WorkflowTasks && age > lateTask:
		return fmt.Sprintf("a task waits for %s", age.Round(time.Second))
	}
	return ""
}

// judgePlatform warns of a platform that is enabled and not paused.
func (r *Report) judgePlatform(p *Scraper) {
	if p.State == scrape.Disabled || p.State == scrape.Paused {
		return
	}
	warn := func(c Concern, text string) {
		c.Subject, c.Filter = p.Name, map[string]string{"platform": p.Name}
		r.warn(c, "platform %s: %s", p.Name, text)
	}
	if p.SuspectSince != nil {
		warn(Concern{Code: PlatformSuspect, Severity: Failed, Since: p.SuspectSince},
			fmt.Sprintf("suspect since %s: %s", ago(r.At, *p.SuspectSince), p.SuspectReason))
	}
	switch late := seconds(p.OverdueSeconds); {
	case p.Refusals >= manyRefusals:
		warn(Concern{Code: PlatformBlocked, Severity: Look, Count: int64(p.Refusals)},
			fmt.Sprintf("blocked, %d refusals in a row (%s)", p.Refusals, p.RefusedReason))
	case late > latePage && p.LastSuccessAt == nil:
		warn(Concern{Code: PlatformSilent, Severity: Look, Since: r.before(late)},
			"no page read yet, for "+ago(r.At, r.At.Add(-late)))
	case late > latePage:
		warn(Concern{Code: PlatformSilent, Severity: Look, Since: p.LastSuccessAt},
			"no page read for "+ago(r.At, *p.LastSuccessAt))
	}
}

// ago is the time from since to now as text: 45s, 12m, 3h40m.
func ago(now, since time.Time) string {
	d := max(0, now.Sub(since))
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
