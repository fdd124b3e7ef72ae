// Package workers says which process runs what: the table of task queues.
package workers

import (
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
}

// Options bound what one process does at once.
type Options struct {
	StoreSlots int           // local activities at once; not more than the database pool has connections
	ImageSlots int           // downloads at once
	StopGrace  time.Duration // how long running activities may finish at shutdown
	Fatal      func(error)   // told when a worker gives up for good, such as for a namespace that is gone
}

// New returns the workers of every task queue, not started: one entry a queue, with what runs there.
func New(c client.Client, a Activities, o Options) []worker.Worker {
	listings := worker.New(c, workflows.QueueListings, base(o, worker.Options{
		MaxConcurrentLocalActivityExecutionSize: o.StoreSlots,
		MaxConcurrentWorkflowTaskExecutionSize:  200,
		LocalActivityWorkerOnly:                 true, // all steps here are local
	}))
	registerListings(listings, a)

	images := worker.New(c, workflows.QueueImages, base(o, worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: o.ImageSlots,
	}))
	images.RegisterActivity(a.Images)

	return []worker.Worker{listings, images}
}

func registerListings(r worker.Registry, a Activities) {
	r.RegisterWorkflow(workflows.Listing)
	r.RegisterWorkflow(workflows.Replay)
	r.RegisterWorkflow(workflows.ArchiveStale)
	r.RegisterActivity(a.Listings)
	r.RegisterActivity(a.Replays)
	r.RegisterActivity(a.Staleness)
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
