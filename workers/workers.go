// Package workers says which process runs what: the table of task queues.
package workers

import (
	"slices"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/workflows"
)

// Activities are the built effects that workers run.
type Activities struct {
	Listings  *activities.Listings
	Images    *activities.Images
	Replays   *activities.Replays
	Staleness *activities.Staleness
	Cycles    *activities.Cycles
	Visits    *activities.Visits
	Drafts    *activities.Drafts
}

// Options bound what one process does at once.
type Options struct {
	Queues      []string      // the task queues to serve; those of Queues
	StoreSlots  int           // local activities at once; not more than the database pool has connections
	ImageSlots  int           // downloads at once
	ScrapeSlots int           // search pages at once; most of the time each waits for its turn
	DraftSlots  int           // pages of crawl requests at once
	StopGrace   time.Duration // how long running activities may finish at shutdown
	Fatal       func(error)   // told when a worker gives up for good, such as for a namespace that is gone
}

// Queues are all task queues.
var Queues = []string{workflows.QueueListings, workflows.QueueImages, workflows.QueueBrowser, workflows.QueueDrafts}

// New returns the workers of the task queues that are asked for, not started.
func New(c client.Client, a Activities, o Options) []worker.Worker {
	var list []worker.Worker
	serve := func(queue string, w worker.Options, register func(worker.Registry)) {
		if slices.Contains(o.Queues, queue) {
			made := worker.New(c, queue, base(o, w))
			register(made)
			list = append(list, made)
		}
	}
	serve(workflows.QueueListings, worker.Options{
		MaxConcurrentLocalActivityExecutionSize: o.StoreSlots,
		MaxConcurrentWorkflowTaskExecutionSize:  200,
		LocalActivityWorkerOnly:                 true, // all steps here are local
	}, func(r worker.Registry) { registerListings(r, a) })
	serve(workflows.QueueImages, worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: o.ImageSlots,
	}, func(r worker.Registry) { r.RegisterActivity(a.Images) })
	serve(workflows.QueueBrowser, worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: o.ScrapeSlots,
	}, func(r worker.Registry) { r.RegisterActivity(a.Visits) })
	serve(workflows.QueueDrafts, worker.Options{
		MaxConcurrentLocalActivityExecutionSize: o.StoreSlots,
		MaxConcurrentActivityExecutionSize:      o.DraftSlots,
	}, func(r worker.Registry) {
		r.RegisterWorkflow(workflows.CrawlDraft)
		r.RegisterActivity(a.Drafts)
	})
	return list
}

func registerListings(r worker.Registry, a Activities) {
	r.RegisterWorkflow(workflows.Listing)
	r.RegisterWorkflow(workflows.Replay)
	r.RegisterWorkflow(workflows.ArchiveStale)
	r.RegisterActivity(a.Listings)
	r.RegisterActivity(a.Replays)
	r.RegisterActivity(a.Staleness)
	r.RegisterWorkflow(workflows.ScrapePlatform)
	r.RegisterActivity(a.Cycles)
}

// base adds what every worker has in common. Pollers scale by themselves: two fixed ones, the default, are the usual
// cap on throughput.
func base(o Options, w worker.Options) worker.Options {
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	w.WorkflowTaskPollerBehavior, w.ActivityTaskPollerBehavior = pollers, pollers
	w.WorkerStopTimeout = o.StopGrace
	w.OnFatalError = o.Fatal
	w.Interceptors = []interceptor.WorkerInterceptor{&faults{}}
	return w
}
