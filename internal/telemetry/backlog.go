package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

const (
	askTimeout = 2 * time.Second // for each question; a service that answers none of its questions in time is away
	fresh      = time.Second     // the least time between two questions to the services, however many requests there are
)

// Backlog reads the work that waits in all services, concurrently, and exports it as metrics. Each of its functions
// asks one service, and may return later than its context ends, but not never. Its methods may be called by several
// goroutines at once.
type Backlog struct {
	Postgres    func(context.Context) error // whether it answers at all
	Files       func(context.Context) error // whether they are there; nil: this is not known
	Commits     func(context.Context) (backlog.Commits, error)
	Outbox      func(context.Context) (backlog.Outbox, error)
	DeadLetters func(context.Context) ([]backlog.DeadCount, error)
	Queues      func(context.Context) ([]backlog.Queue, error)
	Rates       func(context.Context) (map[string]backlog.Rates, error) // by queue
	TaskQueues  func(context.Context) ([]backlog.TaskQueue, error)
	Builds      func(context.Context) ([]backlog.Build, error) // nil: workers are of no deployment
	Limits      func(context.Context) ([]backlog.Host, error)
	Platforms   func(context.Context) ([]backlog.Scraper, error)       // of Postgres
	Unfinished  func(context.Context) (backlog.Unfinished, error)      // of Postgres
	Crawls      func(context.Context) (backlog.CrawlCount, error)      // of Postgres
	Segments    func(context.Context) (int64, error)                   // of Postgres
	Imports     func(context.Context) (backlog.ImportCount, error)     // of Postgres
	Messages    func(context.Context) (backlog.MessagesWaiting, error) // of Postgres
	Webhooks    func(context.Context) (backlog.WebhookCount, error)    // of Postgres
	News        func(context.Context) (backlog.NewsCount, error)       // of Postgres
	Partitions  func(context.Context) ([]backlog.Partitioned, error)
	Log         *slog.Logger
	Now         func() time.Time

	mu   sync.Mutex
	last backlog.Report
}

// Read returns the work that waits, or a report that is at most a second old. It takes little more than two seconds at
// most, and never fails: a service that does not answer is away in the report, and one that leaves questions unanswered
// is slow. No list of the report is nil. It must not be changed.
func (b *Backlog) Read(ctx context.Context) backlog.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Now()
	if age := now.Sub(b.last.At); age >= 0 && age < fresh {
		return b.last
	}
	// Other callers may wait for this report, so it does not end with the request of one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	r := backlog.Report{
		At: now.UTC(), Services: map[string]string{}, Unknown: []string{}, DeadLetters: []backlog.DeadCount{},
		Queues: []backlog.Queue{}, TaskQueues: []backlog.TaskQueue{}, Limits: []backlog.Host{},
		Platforms: []backlog.Scraper{}, Messages: backlog.MessagesWaiting{Waiting: []backlog.MessageWait{}},
	}
	var rates map[string]backlog.Rates
	questions := []question{
		alive(backlog.Postgres, b.Postgres),
		ask(backlog.Postgres, backlog.PartCommits, b.Commits, &r.Commits),
		ask(backlog.Postgres, backlog.PartOutbox, b.Outbox, &r.Outbox),
		list(backlog.Postgres, backlog.PartDeadLetters, b.DeadLetters, &r.DeadLetters),
		list(backlog.RabbitMQ, backlog.PartQueues, b.Queues, &r.Queues),
		ask(backlog.Management, backlog.PartRates, b.Rates, &rates),
		list(backlog.Temporal, backlog.PartTaskQueues, b.TaskQueues, &r.TaskQueues),
		list(backlog.Postgres, backlog.PartPlatforms, b.Platforms, &r.Platforms),
		ask(backlog.Postgres, backlog.PartUnfinished, b.Unfinished, &r.Unfinished),
		ask(backlog.Postgres, backlog.PartCrawls, b.Crawls, &r.Crawls),
		ask(backlog.Postgres, backlog.PartSegments, b.Segments, &r.Segments),
		ask(backlog.Postgres, backlog.PartImports, b.Imports, &r.Imports),
		ask(backlog.Postgres, backlog.PartMessages, b.Messages, &r.Messages),
		ask(backlog.Postgres, backlog.PartWebhooks, b.Webhooks, &r.Webhooks),
		ask(backlog.Postgres, backlog.PartNews, b.News, &r.News),
		ask(backlog.Postgres, backlog.PartPartitions, b.Partitions, &r.Partitions),
		list(backlog.Redis, backlog.PartLimits, b.Limits, &r.Limits),
	}
	if b.Files != nil {
		questions = append(questions, alive(backlog.Files, b.Files))
	}
	if b.Builds != nil {
		questions = append(questions, ask(backlog.Temporal, backlog.PartBuilds, b.Builds, &r.Builds))
	}
	b.gather(ctx, &r, questions)
	if r.Services[backlog.Postgres] != backlog.Away && r.Commits.Stuck() {
		r.Services[backlog.Postgres] = backlog.Stuck
	}
	for i := range r.Queues {
		r.Queues[i].Rates = rates[r.Queues[i].Name]
	}
	r.Judge()
	b.last = r
	return r
}

// A question asks a service for a part of the report, and returns a function that puts its answer there.
type question struct {
	service, part string
	ask           func(context.Context) (put func(), err error)
}

func ask[T any](service, part string, f func(context.Context) (T, error), into *T) question {
	return question{service, part, func(ctx context.Context) (func(), error) {
		v, err := f(ctx)
		return func() { *into = v }, err
	}}
}

// list asks for a list, which is empty and not nil where there is nothing.
func list[T any](service, part string, f func(context.Context) ([]T, error), into *[]T) question {
	return ask(service, part, func(ctx context.Context) ([]T, error) {
		v, err := f(ctx)
		return append([]T{}, v...), err
	}, into)
}

// alive asks whether a service answers at all.
func alive(service string, f func(context.Context) error) question {
	return question{service, "", func(ctx context.Context) (func(), error) { return func() {}, f(ctx) }}
}

// gather asks all questions at once. A service is away when it has refused a question or answered none in time, and
// slow when it has answered some.
func (b *Backlog) gather(ctx context.Context, r *backlog.Report, questions []question) {
	type answer struct {
		of  int
		put func()
		err error
	}
	answers := make(chan answer, len(questions)) // with room for late answers
	for i, q := range questions {
		go func() { // ends with the question
			var put func()
			err := fault.Try("asking "+q.service, b.Log.Error, func() (err error) {
				put, err = q.ask(ctx)
				return err
			})
			answers <- answer{i, put, err}
		}()
	}
	errs := make([]error, len(questions))
	for i := range errs {
		errs[i] = context.DeadlineExceeded
	}
	for range questions {
		select {
		case a := <-answers:
			if errs[a.of] = fault.Ended(ctx, a.err); a.err == nil {
				a.put()
			}
		case <-ctx.Done():
		}
	}
	answered, refused := map[string]bool{}, map[string]bool{}
	for i, q := range questions {
		switch {
		case errs[i] == nil:
			answered[q.service] = true
			continue
		case !errors.Is(errs[i], context.DeadlineExceeded):
			refused[q.service] = true
		}
		if q.part != "" {
			r.Unknown = append(r.Unknown, q.part)
		}
	}
	for i, q := range questions {
		switch {
		case errs[i] == nil:
			r.Services[q.service] = cmp.Or(r.Services[q.service], backlog.OK)
			continue
		case answered[q.service] && !refused[q.service]:
			r.Services[q.service] = backlog.Slow
		default:
			r.Services[q.service] = backlog.Away
		}
		if b.last.Services[q.service] != r.Services[q.service] { // once
			b.Log.WarnContext(ctx, "cannot read backlog", "service", q.service, "part", q.part,
				"state", r.Services[q.service], "err", errs[i])
		}
	}
}

// The metrics of a backlog. Every process that serves them asks the same services: dashboards take the maximum.
var (
	up        = gauge("conveyor_service_up", "1 when the service answers, and stores what it gets, by service.", "service")
	slow      = gauge("conveyor_service_slow", "1 when the service answers, but not every question in time.", "service")
	ready     = gauge("conveyor_queue_ready", "Messages that wait in a RabbitMQ queue.", "queue")
	unacked   = gauge("conveyor_queue_unacked", "Messages that are delivered and not acked, by queue.", "queue")
	consumers = gauge("conveyor_queue_consumers", "Consumers of a queue; ours is true when Conveyor should consume it.",
		"queue", "ours")
	pending = gauge("conveyor_outbox_pending", "Messages that wait to be published, counted up to 100,000.")
	refused = gauge("conveyor_outbox_refused", "Messages that wait because the broker returned or refused them.")
	oldest  = gauge("conveyor_outbox_oldest_age_seconds", "How long the oldest unpublished message has waited.")
	letters = gauge("conveyor_dead_letters_open", "Dead letters that wait for an operator, by queue and class of failure.",
		"queue", "class")
	tasks   = gauge("conveyor_task_queue_backlog", "Tasks that wait in a Temporal task queue.", "task_queue", "type")
	taskAge = gauge("conveyor_task_queue_oldest_age_seconds", "How long the next task in a Temporal task queue has waited.",
		"task_queue", "type")
	workers = gauge("conveyor_task_queue_workers", "Processes that poll a Temporal task queue; absent for 45 seconds when "+
		"the last of them leave by themselves, as for a restart.", "task_queue", "type")
	others = gauge("conveyor_task_queue_other_workers",
		"Processes that poll a Temporal task queue too, and are not of the build that gets its tasks.", "task_queue", "type")
	pinned = gauge("conveyor_pinned_workflows",
		"Open workflows that only builds go on with that are not current any more; 0 without a Worker Deployment.")
	stranded = gauge("conveyor_pinned_workflows_stranded", "Of those, the ones whose build has no worker any more.")
	turn     = gauge("conveyor_limiter_host_wait_seconds", "Time until a host that is rate limited may be requested again.",
		"limiter", "host")
	scraper = gauge("conveyor_platform_state", "1 for the state that a platform's scraper is in, 0 for the others.",
		"platform", "state")
	lastPage = gauge("conveyor_platform_last_success_age_seconds",
		"Time since a page of the platform was last read.", "platform")
	overdue = gauge("conveyor_platform_overdue_seconds",
		"Time without a page read, beyond the scraper's own pauses; 0 while it is stopped.", "platform")
	oldestVisit = gauge("conveyor_platform_oldest_visit_age_seconds",
		"Time since the oldest of the last visits to the platform's adverts that are not gone.", "platform")
	cycleTime = gauge("conveyor_platform_cycle_predicted_seconds",
		"How long a cycle takes if things go on as in the last one.", "platform")
	refusals = gauge("conveyor_platform_refusals", "Consecutive refusals by the platform.", "platform")
	adverts  = gauge("conveyor_platform_adverts",
		"Adverts that a scraper remembers: known, failed at the last visit (a part of known), and gone.", "platform", "state")
)

var (
	lateListings = gauge("conveyor_listings_unfinished",
		"Adverts that were begun more than an hour ago and not finished, counted up to 1,000.")
	lateImages = gauge("conveyor_images_unfinished",
		"Images of visible listings that have been pending for more than an hour, counted up to 1,000.")
)

var (
	crawlRuns        = gauge("conveyor_crawl_runs", "Crawl runs that have not ended, by status.", "status")
	crawlUnpublished = gauge("conveyor_crawl_pages_unpublished",
		"Crawled pages that wait in the outbox, counted up to 10,000: while there are as many, no URL is claimed.")
	crawlOpen    = gauge("conveyor_crawl_urls_open", "URLs of these runs that wait or are in progress.")
	crawlStalled = gauge("conveyor_crawl_stalled_seconds",
		"The longest time for which a running crawl has finished no URL while some could be requested; 0 when none has.")
)

var searchSegments = gauge("conveyor_search_segments", "Segments of the search index in Postgres.")

var (
	partitionsUntil = gauge("conveyor_partitions_ahead_seconds",
		"For how long a table that grows by time has partitions.", "table")
	partitionStrays = gauge("conveyor_partition_default_rows",
		"Rows that belong to no partition of their table, counted up to 1,000.", "table")
)

var (
	uploads = gauge("conveyor_uploads_open", "Files of contacts that are not imported.")
	chunks  = gauge("conveyor_upload_chunks_waiting", "Chunks of these files that are not stored, counted up to 100,000; "+
		"those of a file that is not split yet by its size.")
	chunkAge   = gauge("conveyor_upload_chunks_oldest_age_seconds", "How long the oldest of these chunks has waited.")
	messages   = gauge("conveyor_messages_waiting", "Messages that may be sent now, by tier of their tenant and kind.", "tier", "kind")
	messageAge = gauge("conveyor_messages_oldest_age_seconds", "How long ago the oldest of these messages was due.", "tier", "kind")
	held       = gauge("conveyor_messages_paused",
		"Messages that a pause or a stop of their campaign, sender or tenant holds back.")
	unknown = gauge("conveyor_messages_unknown",
		"Messages whose answer was lost, and which no webhook has reported for an hour, counted up to 100,000.")
	webhooks   = gauge("conveyor_webhooks_waiting", "Webhooks that were not applied to their messages, counted up to 10,000.")
	webhookAge = gauge("conveyor_webhooks_oldest_age_seconds", "How long ago the oldest of these webhooks came.")
	newsEvents = gauge("conveyor_saved_queue_events",
		"Events of listings that wait to be compared with saved searches, counted up to 100,000.")
	newsAge   = gauge("conveyor_saved_queue_oldest_age_seconds", "How long ago the oldest of these events happened.")
	noticeAge = gauge("conveyor_saved_notices_oldest_age_seconds",
		"How long the oldest notice of a saved search has been due without a try to send it, beyond its turn.")
	turnAge = gauge("conveyor_saved_notices_turn_age_seconds",
		"How long the oldest notice has been due that waits for its turn among those of its tenant.")
)

// gauges are all of them.
var gauges []*prometheus.Desc

func gauge(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	gauges = append(gauges, d)
	return d
}

// Describe is for prometheus.
func (b *Backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range gauges {
		out <- d
	}
}

// Collect is for prometheus. A part that is not known has no values.
func (b *Backlog) Collect(out chan<- prometheus.Metric) {
	r := b.Read(context.Background())
	set := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for service, state := range r.Services {
		set(up, number(state != backlog.Away && state != backlog.Stuck), service)
		set(slow, number(state == backlog.Slow), service)
	}
	if r.Knows(backlog.PartOutbox) {
		set(pending, float64(r.Outbox.Pending))
		set(refused, float64(r.Outbox.Refused))
		set(oldest, r.Outbox.OldestAgeSeconds)
	}
	if r.Knows(backlog.PartUnfinished) {
		set(lateListings, float64(r.Unfinished.Listings))
		set(lateImages, float64(r.Unfinished.Images))
	}
	if r.Knows(backlog.PartCrawls) {
		set(crawlRuns, float64(r.Crawls.Running), "running")
		set(crawlRuns, float64(r.Crawls.Paused), "paused")
		set(crawlOpen, float64(r.Crawls.OpenURLs))
		set(crawlStalled, r.Crawls.StalledSeconds)
		set(crawlUnpublished, float64(r.Crawls.Unpublished))
	}
	if r.Knows(backlog.PartSegments) {
		set(searchSegments, float64(r.Segments))
	}
	for _, p := range r.Partitions {
		if !p.Until.IsZero() { // partitions of runs have no time
			set(partitionsUntil, p.Until.Sub(r.At).Seconds(), p.Table)
		}
		set(partitionStrays, float64(p.Strays), p.Table)
	}
	collectOutreach(&r, set)
	for _, d := range r.DeadLetters {
		set(letters, float64(d.Open), d.Queue, d.Class)
	}
	for _, q := range r.Queues {
		if q.Missing && (q.DeadLetters || !q.Ours) {
			continue
		}
		set(ready, float64(q.Ready), q.Name)
		set(consumers, float64(q.Consumers), q.Name, strconv.FormatBool(q.Ours))
		if q.Unacked != nil {
			set(unacked, float64(*q.Unacked), q.Name)
		}
	}
	for _, q := range r.TaskQueues {
		set(tasks, float64(q.Backlog), q.Name, q.Type)
		set(taskAge, q.OldestAgeSeconds, q.Name, q.Type)
		if q.Workers > 0 || !q.Unused && !q.Restarts { // otherwise the alert would fire
			set(workers, float64(q.Workers), q.Name, q.Type)
		}
		set(others, float64(q.Others), q.Name, q.Type)
	}
	if r.Knows(backlog.PartBuilds) {
		all, left := int64(0), int64(0)
		for _, d := range r.Builds {
			all += d.Pinned
			if len(d.Missing) > 0 {
				left += d.Pinned
			}
		}
		set(pinned, float64(all))
		set(stranded, float64(left))
	}
	for _, h := range r.Limits {
		set(turn, h.WaitSeconds, h.Limiter, h.Host)
	}
	collectPlatforms(&r, set)
}

func collectPlatforms(r *backlog.Report, set func(d *prometheus.Desc, value float64, labels ...string)) {
	for _, p := range r.Platforms {
		for _, state := range scrape.States {
			set(scraper, number(p.State == state), p.Name, state)
		}
		if p.LastSuccessAt != nil {
			set(lastPage, max(0, r.At.Sub(*p.LastSuccessAt)).Seconds(), p.Name)
		}
		set(overdue, p.OverdueSeconds, p.Name)
		if p.OldestVisitAt != nil {
			set(oldestVisit, max(0, r.At.Sub(*p.OldestVisitAt)).Seconds(), p.Name)
		}
		if p.CycleSeconds > 0 {
			set(cycleTime, p.CycleSeconds, p.Name)
		}
		set(refusals, float64(p.Refusals), p.Name)
		set(adverts, float64(p.Adverts.Known), p.Name, "known")
		set(adverts, float64(p.Adverts.Failed), p.Name, "failed")
		set(adverts, float64(p.Adverts.Gone), p.Name, "gone")
	}
}

func collectOutreach(r *backlog.Report, set func(d *prometheus.Desc, value float64, labels ...string)) {
	if r.Knows(backlog.PartImports) {
		set(uploads, float64(r.Imports.Uploads))
		set(chunks, float64(r.Imports.Chunks))
		set(chunkAge, r.Imports.OldestAgeSeconds)
	}
	if r.Knows(backlog.PartMessages) {
		for _, m := range r.Messages.Waiting {
			set(messages, float64(m.Waiting), m.Tier, m.Kind)
			set(messageAge, m.OldestAgeSeconds, m.Tier, m.Kind)
		}
		set(held, float64(r.Messages.Held))
		set(unknown, float64(r.Messages.Unknown))
	}
	if r.Knows(backlog.PartWebhooks) {
		set(webhooks, float64(r.Webhooks.Waiting))
		set(webhookAge, r.Webhooks.OldestAgeSeconds)
	}
	if r.Knows(backlog.PartNews) {
		set(newsEvents, float64(r.News.Events))
		set(newsAge, r.News.EventAgeSeconds)
		set(noticeAge, r.News.NoticeAgeSeconds)
		set(turnAge, r.News.TurnAgeSeconds)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
