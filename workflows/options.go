package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/domain/fault"
)

// endless is the ScheduleToCloseTimeout of steps on our own database. The SDK's default for a local activity is its
// StartToCloseTimeout, retries and the wait for a slot included: fifteen seconds without the database would be the end.
const endless = 365 * 24 * time.Hour

// storeWork are the options of a short step on our own database. It is retried until the database is back; faults of a
// final class are not retried.
var storeWork = workflow.LocalActivityOptions{
	StartToCloseTimeout: 15 * time.Second, ScheduleToCloseTimeout: endless,
	RetryPolicy: retries(30 * time.Second),
}

// batchWork is storeWork for a step that reads, starts and writes more, and takes longer.
func batchWork(within time.Duration, summary string) workflow.LocalActivityOptions {
	work := storeWork
	work.StartToCloseTimeout, work.Summary = within, summary
	return work
}

// retries are those of work of our own: soon at first, and without end.
func retries(most time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: most}
}

// longHistory is how many events a history may get.
const longHistory = 600

// long says that a run should continue as new.
func long(ctx workflow.Context) bool {
	i := workflow.GetInfo(ctx)
	return i.GetContinueAsNewSuggested() || i.GetCurrentHistoryLength() > longHistory
}

// ImageTimeout bounds one try at an image: waiting for its host's turn, the download, and storing it.
const ImageTimeout = 2 * time.Minute

// ImageHeartbeat is how long a worker that fetches an image may be silent before another worker takes it over. Package
// workers sends the heartbeats.
const ImageHeartbeat = 20 * time.Second

// ImageRetries paces the tries at an image. The activity limits their number: it counts them in the table, by the
// fault's class. The crash of a worker costs none, but for an image at which one worker after another crashes.
func ImageRetries() *temporal.RetryPolicy { return retriesOf(fault.Transient) }

// retriesOf are those of a class of faults, without end.
func retriesOf(c fault.Class) *temporal.RetryPolicy {
	_, first, most := c.Retry()
	return &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: most}
}

// modelWork is how a language model is asked. It ends, with or without an answer: the workflow waits for it.
var modelWork = workflow.ActivityOptions{
	TaskQueue:              QueueEnrich,
	StartToCloseTimeout:    ModelTimeout,
	HeartbeatTimeout:       20 * time.Second, // after which a worker that was killed is given up
	ScheduleToCloseTimeout: time.Hour,        // also where no worker serves the queue
	RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: 10 * time.Second, BackoffCoefficient: 4, MaximumInterval: 5 * time.Minute, MaximumAttempts: 3,
	},
	DisableEagerExecution: true, // another worker may serve the queue
	Summary:               "ask model",
}

// ModelTimeout bounds one try at asking the language model.
const ModelTimeout = 2 * time.Minute
