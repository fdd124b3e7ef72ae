// Package backlog knows what may wait where, and when a wait means that something is wrong.
package backlog

import (
	"fmt"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/scrape"
)

// A Report is everything that waits, as of At. What could not be asked is away in Services, and its part is empty.
type Report struct {
	At          time.Time         `json:"at"`
	Services    map[string]string `json:"services" doc:"by name: ok or away; what is away has nothing to say below"`
	Warnings    []string          `json:"warnings" doc:"what an operator should look at, all in one list"`
	Outbox      Outbox            `json:"outbox"`
	DeadLetters []DeadCount       `json:"dead_letters"`
	Queues      []Queue           `json:"queues"`
	TaskQueues  []TaskQueue       `json:"task_queues"`
	Limits      []Host            `json:"limits" doc:"hosts whose next turn is not free, the longest wait first"`
	Platforms   []Scraper         `json:"platforms" doc:"how the scrapers of rental sites stand"`
}

// The services that a report is made of.
const (
	RabbitMQ   = "rabbitmq"
	Management = "management" // RabbitMQ's own page: what is unacked, and rates
	Postgres   = "postgres"
	Temporal   = "temporal"
	Redis      = "redis"
)

// Services are all of them, in the order in which people are told.
var Services = []string{Postgres, RabbitMQ, Management, Temporal, Redis}

// The states of a service in a report.
const (
	OK   = "ok"
	Away = "away"
)

// A Queue is one queue of RabbitMQ.
type Queue struct {
	Name        string `json:"name"`
	Ready       int64  `json:"ready" doc:"messages that wait"`
	Consumers   int64  `json:"consumers"`
	Ours        bool   `json:"ours" doc:"a bridge of ours should consume it"`
	DeadLetters bool   `json:"dead_letters" doc:"it holds what could not be processed"`
	Missing     bool   `json:"missing,omitempty" doc:"there is no such queue"`
	Rates
	Warning string `json:"warning,omitempty"`
}

// Rates are what only RabbitMQ's management API knows of a queue, as of up to 5 seconds ago; nil is not known.
type Rates struct {
	Unacked     *int64   `json:"unacked" doc:"messages that consumers hold"`
	PublishRate *float64 `json:"publish_rate" doc:"messages a second that come in"`
	DeliverRate *float64 `json:"deliver_rate" doc:"messages a second that consumers get"`
	AckRate     *float64 `json:"ack_rate" doc:"messages a second that are done"`
}

// Outbox is what waits to be published.
type Outbox struct {
	Pending          int64   `json:"pending" doc:"messages"`
	Refused          int64   `json:"refused" doc:"pending ones that the broker has returned or refused before"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"how long the oldest has waited; 0 when none does"`
}

// DeadCount counts the open dead letters of a queue and class of failure.
type DeadCount struct {
	Queue string `json:"queue"`
	Class string `json:"class"`
	Open  int64  `json:"open"`
}

// The kinds of tasks in Temporal.
const (
	WorkflowTasks = "workflow"
	ActivityTasks = "activity"
)

// A TaskQueue is one kind of tasks of one of Temporal's task queues. What a worker got in one step with the start, or
// because it has the workflow in its cache, has never been in it.
type TaskQueue struct {
	Name             string  `json:"name"`
	Type             string  `json:"type" enum:"workflow,activity"`
	Backlog          int64   `json:"backlog" doc:"tasks that wait, approximately; 0 some minutes after the last worker left"`
	OldestAgeSeconds float64 `json:"oldest_age_seconds" doc:"schedule-to-start of the task whose turn is next; 0 when none waits"`
	AddRate          float64 `json:"add_rate" doc:"tasks a second that come in, over the last 30 s"`
	DispatchRate     float64 `json:"dispatch_rate" doc:"tasks a second that workers get, over the last 30 s"`
	Workers          int64   `json:"workers" doc:"processes that have polled in the last three minutes"`
	Warning          string  `json:"warning,omitempty"`
}

// A Host is one that the limiter holds back.
type Host struct {
	Limiter     string  `json:"limiter" doc:"what is limited: images"`
	Host        string  `json:"host"`
	WaitSeconds float64 `json:"wait_seconds" doc:"until the next free turn: how long who asks now would wait"`
}

// A Scraper is how that of a rental site stands. GET /platforms has all of it.
type Scraper struct {
	Name           string      `json:"name"`
	State          string      `json:"state" enum:"disabled,paused,blocked,suspect,scraping,cooling,waiting"`
	Next           string      `json:"next" doc:"what it does next, in words"`
	Refusals       int         `json:"refusals" doc:"in a row, and not over"`
	RefusedReason  string      `json:"refused_reason,omitempty" doc:"of the last one" example:"429"`
	SuspectSince   *time.Time  `json:"suspect_since,omitempty" doc:"its pages are not what they were"`
	SuspectReason  string      `json:"suspect_reason,omitempty"`
	LastSuccessAt  *time.Time  `json:"last_success_at,omitempty" doc:"when a page was read last"`
	OverdueSeconds float64     `json:"overdue_seconds" doc:"how long no page was read, beyond its own pauses; 0 while it is stopped"`
	Adverts        AdvertCount `json:"adverts"`
}

// AdvertCount counts what a scraper remembers.
type AdvertCount struct {
	Known  int64 `json:"known" doc:"seen on a search page and not gone"`
	Failed int64 `json:"failed" doc:"known ones whose last visit gave no advert"`
	Gone   int64 `json:"gone"`
}

// What is fine for longer than this is not.
const (
	lateEvent = 30 * time.Second // an outbox message is published within milliseconds
	lateTask  = 30 * time.Second // a workflow task starts within milliseconds; images wait for their host, on purpose
	latePage  = 30 * time.Minute // beyond a scraper's own pauses; after refusals it asks at least every five minutes

	manyRefusals = 3 // in a row; one or two are of every day
)

// Judge fills in the warnings.
func (r *Report) Judge() {
	r.Warnings = []string{}
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, name := range Services {
		if r.Services[name] == Away {
			warn("%s is away", name)
		}
	}
	if age := seconds(r.Outbox.OldestAgeSeconds); age > lateEvent {
		warn("outbox: the oldest of %d messages waits for %s", r.Outbox.Pending, age.Round(time.Second))
	}
	if r.Outbox.Refused > 0 {
		warn("outbox: messages that the broker refuses: %d", r.Outbox.Refused)
	}
	for i := range r.Queues {
		r.Queues[i].Warning = r.Queues[i].trouble()
	}
	for _, trouble := range []string{noQueue, noConsumer} { // one bridge that is gone is one thing to tell
		var names []string
		for _, q := range r.Queues {
			if q.Warning == trouble {
				names = append(names, q.Name)
			}
		}
		switch most := 3; {
		case len(names) > most:
			warn("queues %s and %d more: %s", strings.Join(names[:most], ", "), len(names)-most, trouble)
		case len(names) > 0:
			warn("queue %s: %s", strings.Join(names, ", "), trouble)
		}
	}
	for i := range r.TaskQueues {
		t := &r.TaskQueues[i]
		if t.Warning = t.trouble(); t.Warning != "" {
			warn("task queue %s (%s): %s", t.Name, t.Type, t.Warning)
		}
	}
	for i := range r.Platforms {
		for _, trouble := range r.Platforms[i].troubles(r.At) {
			warn("platform %s: %s", r.Platforms[i].Name, trouble)
		}
	}
}

// What is wrong with a queue.
const (
	noQueue    = "there is no such queue"
	noConsumer = "no consumer"
)

// trouble is what is wrong with a queue. What somebody else should consume is theirs to look at.
func (q *Queue) trouble() string {
	switch {
	case q.Missing && q.DeadLetters:
		return "" // dead letters go to Postgres at once
	case q.Missing:
		return noQueue
	case q.Ours && q.Consumers == 0:
		return noConsumer
	}
	return ""
}

func (t *TaskQueue) trouble() string {
	age := seconds(t.OldestAgeSeconds)
	switch {
	case t.Workers == 0:
		return "no worker"
	case t.Type == WorkflowTasks && age > lateTask:
		return fmt.Sprintf("a task waits for %s", age.Round(time.Second))
	}
	return ""
}

// troubles are what is wrong with a platform that somebody wants scraped.
func (p *Scraper) troubles(now time.Time) (out []string) {
	if p.State == scrape.Disabled || p.State == scrape.Paused {
		return nil
	}
	if p.SuspectSince != nil {
		out = append(out, fmt.Sprintf("suspect since %s: %s", ago(now, *p.SuspectSince), p.SuspectReason))
	}
	switch late := seconds(p.OverdueSeconds); {
	case p.Refusals >= manyRefusals:
		out = append(out, fmt.Sprintf("blocked, %d refusals in a row (%s)", p.Refusals, p.RefusedReason))
	case late > latePage && p.LastSuccessAt == nil:
		out = append(out, "no page read yet, for "+ago(now, now.Add(-late)))
	case late > latePage:
		out = append(out, "no page read for "+ago(now, *p.LastSuccessAt))
	}
	return out
}

// ago is a time up to now for people: 45s, 12m, 3h40m.
func ago(now, since time.Time) string {
	d := max(0, now.Sub(since))
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// OpenDeadLetters is how many there are in all.
func (r *Report) OpenDeadLetters() (n int64) {
	for _, d := range r.DeadLetters {
		n += d.Open
	}
	return n
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
