package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/semaphore"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
)

// Crawling is the activity that crawls: it claims URLs of a run, requests and reads them, and records what came of
// them.
type Crawling struct {
	Frontier CrawlFrontier
	Base     CrawlBase
	Web      CrawlWeb
	Hosts    CrawlHosts
	Robots   CrawlRobots
	Recent   CrawlRecent
	Bodies   CrawlBodies
	Browser  CrawlBrowser
	Metrics  CrawlMetrics
	Slots    CrawlSlots
	Agent    string // product token for robots.txt and robots meta tags
	Policy   crawl.RetryPolicy
	Worker   string // names this process in leases
	Now      func() time.Time

	keeper keeper
}

// CrawlFrontier is the frontier of runs.
type CrawlFrontier interface {
	Run(ctx context.Context, id int64) (crawl.Run, error)
	Claim(ctx context.Context, t crawl.Take) (claims []crawl.Claim, status string, err error)
	Keep(ctx context.Context, run int64, worker string, urls []int64, lease time.Duration) error
	Record(ctx context.Context, run int64, worker string, results []crawl.Result) error
	// BeginReading and EndReading are around the reading of an answer whose URL was lost with a worker before, for Tend
	// to know which of the many that a worker has ended it.
	BeginReading(ctx context.Context, run int64, c crawl.Claim) error
	EndReading(ctx context.Context, run int64, c crawl.Claim) error
}

// CrawlBase knows the run that a conditional run is compared with.
type CrawlBase interface {
	LinksOfBase(ctx context.Context, run int64, urls []string) (map[string][]crawl.Link, error)
}

// CrawlWeb makes one request and follows no redirect. Its errors are faults.
type CrawlWeb interface {
	Ask(ctx context.Context, r web.Request) (web.Exchange, error)
}

// CrawlBrowser loads a page and returns it as it is after its scripts ran.
type CrawlBrowser interface {
	Check() error // nil where it can be started
	Load(ctx context.Context, r web.Request) (web.Page, error)
}

// CrawlHosts paces requests to each host, for all processes together. A turn that is too far away is fault.Limited with
// the wait.
type CrawlHosts interface {
	Enter(ctx context.Context, host string, delay time.Duration) (leave func(crawl.Verdict), err error)
}

// CrawlRobots has the robots.txt of an origin, such as "https://example.org".
type CrawlRobots interface {
	Rules(ctx context.Context, origin string) (robots.Rules, error)
}

// CrawlRecent remembers for a while which URLs were crawled. A run sees what other runs have marked.
type CrawlRecent interface {
	Seen(ctx context.Context, run int64, urls []string) ([]bool, error)
	Mark(ctx context.Context, run int64, urls []string) error
}

// CrawlBodies keeps answers as WARC records. Keeping one twice is keeping it once.
type CrawlBodies interface {
	Keep(ctx context.Context, run, url int64, e web.Exchange, at time.Time) (key string, err error)
}

// CrawlMetrics counts, by the names of the system that this one replaces.
type CrawlMetrics interface {
	Waited(time.Duration)                   // in the frontier, until it was claimed
	Fetched(time.Duration)                  // until the headers were there
	Processed(time.Duration, crawl.Outcome) // from the claim until the result
}

// CrawlSlots bound the work of a process, whatever the number of runs and shards.
type CrawlSlots struct {
	Jobs    chan struct{} // URLs that are requested or read at once: WORKER_CONCURRENCY
	Fetches chan struct{} // of these, the requests: FETCH_CONCURRENCY
	Renders chan struct{} // of these, the URLs of runs that render; the others of such a run hold no slot and no seat

	// Sitemaps are those that are requested or read at once, as many as Jobs. They wait for none of these: the shards of
	// other runs have hundreds of URLs in line, and a run has only some minutes for its sitemaps.
	Sitemaps chan struct{}

	// Suspect is that of the answer which may have ended a worker and is read: one at a time, so that none is taken for
	// another.
	Suspect chan struct{}

	ways *ways

	Results *semaphore.Weighted // bytes of results that are not recorded yet, but for small ones: unrecordedMost
}

// NewCrawlSlots makes slots for so many jobs, requests and URLs to be rendered at once.
func NewCrawlSlots(jobs, fetches, renders int) CrawlSlots {
	return CrawlSlots{
		Jobs: make(chan struct{}, jobs), Fetches: make(chan struct{}, fetches), Renders: make(chan struct{}, renders),
		Sitemaps: make(chan struct{}, jobs), Suspect: make(chan struct{}, 1), Results: semaphore.NewWeighted(unrecordedMost),
		ways: new(ways),
	}
}

// slotPatience is how long one that has a slot waits for its host.
const slotPatience = 20 * time.Millisecond

// enter waits for a host's turn and one of the slots, which the caller gives back.
func enter(ctx context.Context, slots chan struct{}, hosts CrawlHosts, host string, delay time.Duration) (
	leave func(crawl.Verdict), err error,
) {
	for {
		if leave, err = hosts.Enter(ctx, host, delay); err != nil {
			return nil, err
		}
		select {
		case slots <- struct{}{}:
			return leave, nil
		default: // a start that waits for a slot would come too close to the next one
			leave(crawl.Unasked)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		soon, cancel := context.WithTimeout(ctx, slotPatience)
		leave, err = hosts.Enter(soon, host, delay)
		cancel()
		if err == nil {
			return leave, nil
		}
		<-slots // a host that is not ready takes nobody's slot
	}
}

// A CrawlShardJob is a slice of the work on a run.
type CrawlShardJob struct {
	RunID int64         `json:"run_id"`
	Shard int           `json:"shard"` // from 0
	Slice time.Duration `json:"slice"` // nothing is claimed after it

	// Pauses is how often the run was paused before the slice: after another pause the run is Paused for all of the
	// slice, also for those who had to wait for a slot meanwhile. nil = not known.
	Pauses *int `json:"pauses,omitempty"`
}

// A CrawlShardDone is what a slice has done.
type CrawlShardDone struct {
	URLs    int    `json:"urls"`             // results that were recorded
	Fetches int    `json:"fetches"`          //
	Status  string `json:"status,omitempty"` // of the run, when the slice ended
}

// CrawlShard crawls until the slice is over or the run is not Running any more. It may be repeated, and run beside any
// number of others on the same run: what it leaves behind when it is killed is claimed again when its leases end.
func (a *Crawling) CrawlShard(ctx context.Context, job CrawlShardJob) (CrawlShardDone, error) {
	run, err := a.Frontier.Run(ctx, job.RunID)
	if err != nil {
		return CrawlShardDone{}, err
	}
	if job.Pauses != nil {
		run.Pauses = *job.Pauses
	}
	if run.Settings.Render && run.Status == crawl.Running { // one that was paused or cancelled needs none to end
		if err := a.Browser.Check(); err != nil { // another worker may have one, so that no page fails for it
			return CrawlShardDone{}, fault.Newf(fault.Transient, "render pages: %w", err)
		}
	}
	s, err := newShard(a, run, fmt.Sprintf("%s/%d-%d.%d", a.Worker, run.ID, job.Shard, activity.GetInfo(ctx).Attempt))
	if err != nil {
		return CrawlShardDone{}, err
	}
	s.first = job.Shard == 0
	return s.work(ctx, sliceEnd(activity.GetInfo(ctx), a.Now(), job.Slice))
}

// sliceEnd is when a slice is over. One that is tried again, for its worker died, is over when it was to be:
// maintenance and the other shards wait for it before they go on, and where workers die more often than a slice lasts,
// they would for ever.
func sliceEnd(info activity.Info, now time.Time, slice time.Duration) time.Time {
	end := now.Add(slice)
	if planned := info.ScheduledTime.Add(slice); info.Attempt > 1 && planned.Before(end) {
		return planned
	}
	return end
}

// Tending is the activity that keeps a run going and completes it.
type Tending struct {
	Store   CrawlTendStore
	Metrics CrawlTendMetrics
	Now     func() time.Time
}

// CrawlTendStore does a cycle of maintenance.
type CrawlTendStore interface {
	// Tend queues URLs again whose leases have ended, unless expire is false.
	Tend(ctx context.Context, run int64, expire bool) (crawl.Progress, error)
}

// CrawlTendMetrics counts what maintenance does.
type CrawlTendMetrics interface {
	Cycle(took time.Duration, recovered, requeued int)
}

// The time between two cycles of maintenance: while there is work, and while the frontier looks empty.
const (
	tendEvery      = time.Second
	tendEmptyEvery = 250 * time.Millisecond
)

// TendCrawl does cycles of maintenance until the slice is over, for shards that had to wait for slots as well, or the
// run is not Running any more, or was paused meanwhile, which shards may have seen. It may be repeated. After our
// database was away it expires no leases until the workers have had time to extend theirs. That it is tried again says
// nothing of the database: its worker may have been killed, and with it others whose leases are to end.
func (a *Tending) TendCrawl(ctx context.Context, job CrawlShardJob) (crawl.Progress, error) {
	var patient time.Time
	end := sliceEnd(activity.GetInfo(ctx), a.Now(), job.Slice)
	pauses := job.Pauses
	for {
		began := a.Now()
		p, err := a.Store.Tend(ctx, job.RunID, !began.Before(patient))
		if err == nil {
			progress(ctx, p) // the Web UI shows it
			if pauses == nil {
				pauses = p.Pauses
			}
		}
		every, late := tendEvery, !began.Before(end)
		switch {
		case err != nil && (final(err) || ctx.Err() != nil):
			return p, stopped(ctx, err)
		case err != nil:
			activity.GetLogger(ctx).Warn("crawl: maintenance failed", "err", err)
			patient = a.Now().Add(2 * keepEvery)
		case p.Status != crawl.Running || *p.Pauses != *pauses || late && !p.Working:
			return p, nil
		default:
			a.Metrics.Cycle(a.Now().Sub(began), p.Recovered, p.Recovered)
			if p.StableEmpty > 0 || p.Spread > 0 || late {
				every = tendEmptyEvery
			}
		}
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			return p, fault.Newf(fault.Limited, "the worker stops")
		case <-ctx.Done():
			return p, stopped(ctx, context.Cause(ctx))
		case <-time.After(every):
		}
	}
}

// pause waits, and returns the error of ctx when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fault.Newf(fault.Limited, "stopped: %w", context.Cause(ctx))
	}
}
