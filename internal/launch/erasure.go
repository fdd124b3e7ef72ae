package launch

import (
	"context"

	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/workflows"
)

// Erase starts the workflow that deletes all that is kept of a tenant. One that is running already is joined. When it
// returns nil the work is durably accepted.
func (l *Launch) Erase(ctx context.Context, tenant string) error {
	_, err := l.join(ctx, client.StartWorkflowOptions{
		ID: access.ErasureWorkflowID(tenant), TaskQueue: workflows.QueueListings,
		StaticSummary: "delete all that is kept of a tenant",
	}, workflows.EraseTenant, workflows.ErasureInput{Tenant: tenant})
	return err
}

// EndRun terminates the run of a workflow that is going. It returns nil also when none is.
func (l *Launch) EndRun(ctx context.Context, workflowID, reason string) error {
	err := l.Temporal.TerminateWorkflow(ctx, workflowID, "", reason)
	return over("terminate "+workflowID, err)
}
