package launch

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/workflows"
)

// Erase starts the workflow that deletes all that is kept of a tenant. One that is running already is joined. When it
// returns nil the work is durably accepted.
func (l *Launch) Erase(ctx context.Context, tenant string) error {
	id := access.ErasureWorkflowID(tenant)
	_, err := l.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueListings, StaticSummary: "delete all that is kept of a tenant",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflows.EraseTenant, workflows.ErasureInput{Tenant: tenant})
	if err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	return nil
}

// EndRun terminates the run of a workflow that is going. It returns nil also when none is.
func (l *Launch) EndRun(ctx context.Context, workflowID, reason string) error {
	err := l.Temporal.TerminateWorkflow(ctx, workflowID, "", reason)
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("terminate %s: %w", workflowID, err)
	}
	return nil
}
