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

// A Report is the backlog of all services, as of At. A part whose question was not answered is in Unknown, and empty.
type Report struct {
	At          time.Time
	Services    map[string]string // by name: ok, slow, stuck or away
	Unknown     []string          // parts without an answer: outbox dead_letters queues rates …
	Warnings    []string          // everything that an operator should look at, in one list
	Concerns    []Concern         // the same with what it is about, and the open dead letters
	Commits     Commits
	Outbox      Outbox
	DeadLetters []DeadCount
	Queues      []Queue
	TaskQueues  []TaskQueue
	Builds      []Build   // that are not current any more, and have workflows that only they go on with
	Limits      []Host    // hosts with no free turn now, the longest wait first
	Platforms   []Scraper // state of the scrapers of rental sites
	Unfinished  Unfinished
	Crawls      Crawls
	Segments    int64 // of the search index in Postgres
	Imports     Imports
	Messages    Messages
	Webhooks    Webhooks
	News        News
	Partitions  []Partitioned
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
	Name        string
	Ready       int64 // messages ready for delivery
	Consumers   int64
	Ours        bool   // a bridge of this system should consume it
	TaskQueue   string // the one without whose workers it is not consumed; "" = it is in any case
	DeadLetters bool   // it holds messages that could not be processed
	Missing     bool   // the queue does not exist
	Rates
	Warning string
}

// Rates are the numbers of a queue that only RabbitMQ's management API has, up to 5 seconds old; nil is unknown.
type Rates struct {
	Unacked     *int64   // messages delivered and not yet acknowledged
	PublishRate *float64 // messages a second that are published to it
	DeliverRate *float64 // messages a second that are delivered to consumers
	AckRate     *float64 // messages a second that are acknowledged
}

// MostPending is how far the outbox is counted: where as many wait, there may be more.
const MostPending = 100_000

// Outbox is the messages that wait to be published.
type Outbox struct {
	Pending          int64   // messages, counted up to MostPending
	Refused          int64   // of those, the ones that the broker has returned or refused before
	OldestAgeSeconds float64 // age of the oldest pending message; 0 when there is none
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
	Queue string
	Class string
	Open  int64
}

// The types of tasks in Temporal.
const (
	WorkflowTasks = "workflow"
	ActivityTasks = "activity"
)

// A TaskQueue is one type of tasks of one of Temporal's task queues. A task that a worker got with the start of its
// workflow, or from its cache, was never in it.
type TaskQueue struct {
	Name             string
	Type             string  // workflow activity
	Backlog          int64   // tasks waiting, approximately; 0 some minutes after the last worker left
	OldestAgeSeconds float64 // schedule-to-start of the task whose turn is next; 0 when none waits
	AddRate          float64 // tasks a second that are added, over the last 30 s
	DispatchRate     float64 // tasks a second that workers get, over the last 30 s
	Workers          int64   // processes that poll, and get what is not pinned: see launch.Launch.TaskQueues
	Build            string  // the current one of the Worker Deployment; "" = tasks go to workers without a deployment
	Others           int64   // processes that have polled too, and are of other builds or without one
	Unused           bool    // no worker polls it on purpose: by setting, or as workers say that leave it out
	Warning          string
}

// A Build is one of the Worker Deployment's that drains: new workflows go to another one.
type Build struct {
	ID      string
	Pinned  int64    // open workflows that only this build goes on with
	Missing []string // its task queues that no process of it polls, as "drafts workflow"
}

// A Host is one that the rate limiter delays.
type Host struct {
	Limiter     string // the limited kind of request: images
	Host        string
	WaitSeconds float64 // until the next free turn: how long a request made now would wait
}

// A Scraper is the state of a rental site's scraper.
type Scraper struct {
	Name           string
	State          string     // disabled paused blocked suspect scraping cooling waiting
	Next           string     // its next action, in words
	Refusals       int        // in a row, up to now
	RefusedReason  string     // of the last one
	SuspectSince   *time.Time // when a change of its pages was first noticed
	SuspectReason  string
	LastSuccessAt  *time.Time // when a page was last read
	OverdueSeconds float64    // how long no page was read, beyond its own pauses; 0 while it is stopped
	OldestVisitAt  *time.Time // of the adverts that are not gone; nil = none was visited
	CycleSeconds   float64    // that a cycle takes, as predicted; 0 = not known yet
	Adverts        AdvertCount
}

// AdvertCount counts the adverts that a scraper has on record.
type AdvertCount struct {
	Known  int64 // seen on a search page and not gone
	Failed int64 // known ones that could not be read on the last visit
	Gone   int64
}

// MostUnfinished is how many unfinished adverts, and images, are counted among: where there are as many, there may be
// more.
const MostUnfinished = 1000

// Unfinished counts what has been on its way for more than an hour, while nothing may be working on it. The staleness
// check resumes it.
type Unfinished struct {
	Listings int64 // adverts whose newest revision was not brought to its end
	Images   int64 // pending ones; they may also wait for their host's turn
}

// Crawls counts the crawl runs that have not ended.
type Crawls struct {
	Running            int64
	Paused             int64
	OpenURLs           int64 // that wait, or are in progress
	FinishedLastMinute int64 // URLs of these runs
	// StalledRun is the running one that has finished no URL for the longest time while some could be requested; 0 = none.
	StalledRun     int64
	StalledSeconds float64
	// Unpublished pages wait in the outbox, counted up to crawl.UnpublishedMost: while there are as many, no URL is
	// claimed.
	Unpublished int64
}

// How far chunks, messages and webhooks are counted: where as many wait, there may be more.
const (
	MostChunks   = 100_000
	MostMessages = 100_000 // transactional ones, and unknown ones; those of campaigns are all counted
	MostWebhooks = 10_000
	MostNews     = 100_000
)

// Imports are the files of contacts that are not imported.
type Imports struct {
	Uploads          int64   // files
	Chunks           int64   // of them that are not stored, counted up to MostChunks; by the size of files not split yet
	Rows             int64   // of the chunks of files that are split
	OldestAgeSeconds float64 // of the oldest of them; 0 when there is none
}

// Messages are those that are to be sent.
type Messages struct {
	Waiting []MessageCount // that may be sent now: one for each tier and kind
	Held    int64          // those that a pause or a stop of their campaign, sender or tenant holds back
	Unknown int64          // whose answer was lost, and of which no webhook has told for an hour
}

// MessageCount counts the messages of the tenants of a tier, and of a kind, whose time has come.
type MessageCount struct {
	Tier             string
	Kind             string // transactional campaign
	Waiting          int64
	OldestAgeSeconds float64 // since the oldest was due; 0 when there is none
}

// Webhooks are the deliveries of webhooks that were not applied to their messages.
type Webhooks struct {
	Waiting          int64   // counted up to MostWebhooks
	OldestAgeSeconds float64 // since the oldest came; 0 when there is none
}

// News is what saved searches are to be told.
type News struct {
	Events           int64   // of listings that wait to be compared with the searches, counted up to MostNews
	EventAgeSeconds  float64 // since the oldest happened; 0 when there is none
	NoticeAgeSeconds float64 // since the oldest delivery was due that nothing has tried to send; 0 when there is none
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
			"not known, for want of an answer in time: %s", strings.Join(r.Unknown, ", "))
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
			"messages: of %s no webhook has told whether they were accepted", atMost(r.Messages.Unknown, MostMessages))
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
