package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// ControlSignal makes a CrawlRun look at the state of its run, after an operator has changed it. The state is in
// Postgres, so the signal carries nothing, and a lost one only delays the change.
const ControlSignal = "control"

// CrawlInput is one struct so that a field can be added while old runs are open.
type CrawlInput struct {
	RunID  int64  `json:"run_id"`
	Seed   string `json:"seed"` // without a query, for people
	Shards int    `json:"shards"`
	Seeded bool   `json:"seeded,omitempty"` // the URLs of sitemaps are there, or are not wanted
	Note   string `json:"note,omitempty"`   // what was wrong with the sitemaps, for people
	Pauses *int   `json:"pauses,omitempty"` // how often the run was paused before the next slice; nil = not known
}

// CrawlHeartbeat is how long a worker that crawls may be silent before another takes its shard over.
const CrawlHeartbeat = 10 * time.Second

// A slice is how long a shard works before it is handed out anew: a worker process that has joined the run gets its
// share then, and the details in the Web UI are written. A history has some 30 events a slice, whatever the number of
// pages. The first slices are shorter.
const (
	crawlSliceFirst = 15 * time.Second
	crawlSliceMost  = 2 * time.Minute
)

// crawlMaintenance is the priority of maintenance, before shards, which have the usual 3: without it no lease is ended
// and no run completes.
const crawlMaintenance = 2

// crawlWork are the options of the activities of a run. They are retried without end: a URL that cannot be fetched is a
// result, and a database that is away will be back. Runs take turns.
func crawlWork(run int64, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		DisableEagerExecution: true, // or it would not wait for its turn among the runs
		Priority:              temporal.Priority{FairnessKey: crawl.WorkflowID(run)},
		TaskQueue:             QueueCrawl,
		StartToCloseTimeout:   crawlSliceMost + 10*time.Minute,
		HeartbeatTimeout:      CrawlHeartbeat,
		RetryPolicy:           retries(time.Second), // of a killed worker
		Summary:               summary,
	}
}

// CrawlRun supervises a crawl. Its ID is crawl.WorkflowID of the run. It keeps no state: the frontier is in Postgres,
// so it can be terminated and started again at any time. It completes when its run has ended.
func CrawlRun(ctx workflow.Context, in CrawlInput) (crawl.Progress, error) {
	control := workflow.GetSignalChannel(ctx, ControlSignal)
	if !in.Seeded {
		var err error
		if in.Note, err = seedCrawl(ctx, in); err != nil {
			return crawl.Progress{}, err
		}
		in.Seeded = true
	}
	slice := crawlSliceFirst
	if workflow.GetInfo(ctx).ContinuedExecutionRunID != "" {
		slice = crawlSliceMost
	}
	for before := -1; ; slice = min(2*slice, crawlSliceMost) {
		for control.ReceiveAsync(nil) { // the state is read after this
		}
		began := workflow.Now(ctx)
		p, err := crawlForAWhile(ctx, in, slice)
		if err != nil {
			return p, err
		}
		pace := 0.0
		if took := workflow.Now(ctx).Sub(began); before >= 0 && took > 0 {
			pace = float64(p.Fetches-before) / took.Seconds()
		}
		before, in.Pauses = p.Fetches, p.Pauses
		workflow.SetCurrentDetails(ctx, crawlDetails(in, p, pace))
		if err := workflow.UpsertTypedSearchAttributes(ctx, StageKey.ValueSet(p.Status)); err != nil {
			return p, err
		}
		switch {
		case crawl.Ended(p.Status) && control.Len() > 0: // it may have been told to go on
		case crawl.Ended(p.Status):
			return p, workflow.UpsertTypedSearchAttributes(ctx, OutcomeKey.ValueSet(strings.ToLower(p.Status)))
		case p.Status == crawl.Paused:
			if err := awaitWake(ctx, control, 0, "until it is resumed"); err != nil {
				return p, err
			}
		}
		if long(ctx) {
			return p, workflow.NewContinueAsNewError(ctx, CrawlRun, in)
		}
	}
}

// seedDeaths is how many workers the sitemaps of a site may end, or keep busy for too long.
const seedDeaths = 3

// seedCrawl has the sitemaps read. A store that is away is waited for, but sitemaps that end their worker, again and
// again, are left out, with a note: the run has its seed.
func seedCrawl(ctx workflow.Context, in CrawlInput) (note string, err error) {
	work := crawlWork(in.RunID, "sitemaps")
	work.RetryPolicy.MaximumAttempts = 1 // the deaths of workers are counted here
	deaths := 0
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		out, err := call(workflow.WithActivityOptions(ctx, work), do.SeedCrawl, activities.CrawlShardJob{RunID: in.RunID})
		var lost *temporal.TimeoutError
		var app *temporal.ApplicationError
		switch {
		case err == nil:
			return out.Note, nil
		case errors.As(err, &lost):
			if deaths++; deaths < seedDeaths {
				break
			}
			note = fmt.Sprintf("the sitemaps are left out: reading them has failed %d times without an answer of the worker",
				seedDeaths)
			_, err := local(workflow.WithLocalActivityOptions(ctx, storeWork), do.NoteCrawl,
				activities.CrawlNote{RunID: in.RunID, Note: note})
			return note, err
		case !errors.As(err, &app) || app.NonRetryable():
			return "", err
		}
		if err := workflow.Sleep(ctx, wait); err != nil {
			return "", err
		}
		if deaths == 0 && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return "", workflow.NewContinueAsNewError(ctx, CrawlRun, in)
		}
	}
}

// crawlForAWhile runs the shards and the maintenance for a slice.
func crawlForAWhile(ctx workflow.Context, in CrawlInput, slice time.Duration) (crawl.Progress, error) {
	job := activities.CrawlShardJob{RunID: in.RunID, Slice: slice, Pauses: in.Pauses}
	maintenance := crawlWork(in.RunID, "maintenance")
	maintenance.Priority.PriorityKey = crawlMaintenance
	tend := start(workflow.WithActivityOptions(ctx, maintenance), do.TendCrawl, job)
	shards := make([]future[activities.CrawlShardDone], in.Shards)
	for i := range shards {
		job.Shard = i
		options := crawlWork(in.RunID, fmt.Sprintf("shard %d of %d", i+1, in.Shards))
		shards[i] = start(workflow.WithActivityOptions(ctx, options), do.CrawlShard, job)
	}
	p, err := tend.get(ctx)
	for _, shard := range shards {
		if _, failed := shard.get(ctx); err == nil {
			err = failed
		}
	}
	return p, err
}

// crawlDetails is what the Web UI shows of a run.
func crawlDetails(in CrawlInput, p crawl.Progress, pace float64) string {
	text := fmt.Sprintf("**%s** run %d of %s\n\n%d URLs: %d visited, %d ended otherwise, %d skipped, %d open; %d requests",
		strings.ToLower(p.Status), in.RunID, in.Seed, p.Discovered, p.Visited, p.Broken, p.Skipped, p.Open, p.Fetches)
	if in.Note != "" {
		text += "\n\nSitemaps: " + in.Note
	}
	if crawl.Ended(p.Status) {
		return text
	}
	return text + fmt.Sprintf(", %.1f a second in the last slice\n\nNot finished: %d URLs are open. "+
		"GET /crawl-runs/%d/why says what they wait for.", pace, p.Open, in.RunID)
}
