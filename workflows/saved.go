package workflows

import (
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/saved"
)

// NotifyInput is one struct so that a field can be added while old runs are open.
type NotifyInput struct {
	Tenant string    `json:"tenant"`
	ID     uuid.UUID `json:"id"`
}

// Notify makes one delivery of a saved search: it is tried until it is made, or is a dead letter. Its ID is
// saved.WorkflowID. What it sends is in Postgres; the history has no address and nothing of what is searched for.
func Notify(ctx workflow.Context, in NotifyInput) (activities.NoticeDone, error) {
	return call(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           QueueNotify,
		StartToCloseTimeout: recordWithin,
		HeartbeatTimeout:    20 * time.Second,
		// For faults of ours, and for waits for a turn: the pauses after faults of a target are the activity's, by its own
		// count.
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: saved.RetryFirst, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
		Priority: temporal.Priority{FairnessKey: in.Tenant},
		Summary:  "tell",
	}), do.TellNotice, activities.NoticeJob{Tenant: in.Tenant, ID: in.ID})
}
