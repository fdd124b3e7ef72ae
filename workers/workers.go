// Package workers runs workflows and activities: one Temporal worker a task queue.
package workers

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/workflows"
)

// A Row has the activities that a system runs on one task queue. (Its workflows are in workflows.Queues.) Several
// systems may have rows of one queue: one worker serves them all.
type Row struct {
	Queue         string // its name, as in workflows.Queues
	Activities    []any  // pointers to built structs; each of their exported methods is an activity, local or regular
	Slots         int    // regular activities at once; of several rows of a queue the largest counts; 0 = 1,000
	WorkflowSlots int    // workflow tasks at once; of several rows likewise; 0 = 1,000
}

// Options are what all workers of a process have in common.
type Options struct {
	Queues     []string      // the task queues to serve; those of workflows.QueueNames
	StoreSlots int           // local activities at once in a queue; at most as many as the database pool has connections
	StopGrace  time.Duration // how long running activities may finish at shutdown
	Fatal      func(error)   // called when a worker gives up for good, as when its namespace was deleted
	// Version is the Worker Deployment and the build that the workers are of. Without a name they are unversioned; with
	// one they get no task of a workflow until their build is current, or ramping.
	Version worker.WorkerDeploymentVersion
	Plugins []worker.Plugin
}

// New returns the workers of the task queues in o.Queues, in the order of workflows.Queues, not started. The rows are
// those of all queues, also of queues that this process does not serve. It panics at a row of a queue that is not in
// workflows.Queues, at activities that no row has, which would leave workflows stuck, and, as the SDK does, at two
// activities of one name.
func New(c client.Client, rows []Row, o Options) (list []worker.Worker) {
	check(rows)
	for _, q := range workflows.Queues {
		if slices.Contains(o.Queues, q.Name) {
			list = append(list, serve(c, q, rows, o))
		}
	}
	return list
}

// check panics when rows name a task queue that does not exist, or lack one of workflows.Activities.
func check(rows []Row) {
	built := map[reflect.Type]bool{}
	for _, r := range rows {
		if !slices.Contains(workflows.QueueNames(), r.Queue) {
			panic(fmt.Sprintf("build workers: there is no task queue %q", r.Queue))
		}
		for _, a := range r.Activities {
			built[reflect.TypeOf(a)] = true
		}
	}
	for _, a := range workflows.Activities() {
		if !built[reflect.TypeOf(a)] {
			panic(fmt.Sprintf("build workers: no task queue has %T", a))
		}
	}
}

// serve returns the worker of one task queue.
func serve(c client.Client, q workflows.Queue, rows []Row, o Options) worker.Worker {
	// Pollers scale by themselves: two fixed ones, the default, are the usual cap on throughput.
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	w := worker.Options{
		DisableWorkflowWorker:                   len(q.Functions()) == 0,
		LocalActivityWorkerOnly:                 !q.Activities,
		MaxConcurrentLocalActivityExecutionSize: o.StoreSlots,
		WorkflowTaskPollerBehavior:              pollers,
		ActivityTaskPollerBehavior:              pollers,
		WorkerStopTimeout:                       o.StopGrace,
		OnFatalError:                            o.Fatal,
		Interceptors:                            []interceptor.WorkerInterceptor{&faults{}},
		Plugins:                                 o.Plugins,
	}
	if o.Version.DeploymentName != "" {
		w.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true, Version: o.Version, DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
		}
	}
	var structs []any
	for _, r := range rows {
		if r.Queue == q.Name {
			structs = append(structs, r.Activities...)
			w.MaxConcurrentActivityExecutionSize = max(w.MaxConcurrentActivityExecutionSize, r.Slots)
			w.MaxConcurrentWorkflowTaskExecutionSize = max(w.MaxConcurrentWorkflowTaskExecutionSize, r.WorkflowSlots)
		}
	}
	made := worker.New(c, q.Name, w)
	for _, f := range q.Workflows {
		made.RegisterWorkflow(f)
	}
	for _, f := range q.Pinned {
		made.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorPinned})
	}
	for _, a := range structs {
		made.RegisterActivity(a)
	}
	return made
}
