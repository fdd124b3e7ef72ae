package launch

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/workflows"
)

// StartNotice starts the workflow of a tenant's delivery; one that is running is joined.
func (l *Launch) StartNotice(ctx context.Context, tenant string, id uuid.UUID) error {
	o := client.StartWorkflowOptions{
		ID:                                       saved.WorkflowID(id),
		TaskQueue:                                workflows.QueueNotify,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            tenant,
		TypedSearchAttributes:                    temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
	}
	_, err := l.Temporal.ExecuteWorkflow(ctx, o, workflows.Notify, workflows.NotifyInput{Tenant: tenant, ID: id})
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return fmt.Errorf("start %s: %w", o.ID, err)
	}
	return nil
}
