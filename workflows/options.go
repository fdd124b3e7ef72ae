package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/domain/fault"
)

// storeWork is a short step on our own database. It is retried until the database is back: final failures are
// the faults that say so.
var storeWork = workflow.LocalActivityOptions{
	StartToCloseTimeout: 15 * time.Second,
	RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second,
	},
}

// ImageTimeout bounds one try at an image: its host's turn, the download, and storing it.
const ImageTimeout = 2 * time.Minute

// ImageHeartbeat is how long a worker that fetches an image may be silent before another takes it over. The workers
// beat by themselves.
const ImageHeartbeat = 20 * time.Second

// ImageRetries paces the tries at an image. How many there are is the activity's to say: it counts them in the
// table, by the fault's class, so that a worker's death costs none.
func ImageRetries() *temporal.RetryPolicy {
	_, first, most := fault.Transient.Retry()
	return &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: most}
}
