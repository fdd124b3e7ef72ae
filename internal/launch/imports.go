package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/workflows"
)

// StartImport starts the workflow that imports an upload of a tenant; one that is running is joined. Its summary in the
// Web UI is the tenant: the name of the file may be personal.
func (l *Launch) StartImport(ctx context.Context, tenant string, id uuid.UUID) error {
	o := client.StartWorkflowOptions{
		ID:                                       contact.ImportWorkflowID(id),
		TaskQueue:                                workflows.QueueUploadJobs,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Priority:                                 temporal.Priority{FairnessKey: tenant}, // its activities inherit it
		StaticSummary:                            tenant,
		TypedSearchAttributes:                    temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
	}
	in := workflows.ImportInput{Tenant: tenant, ID: id}
	_, err := l.Temporal.ExecuteWorkflow(ctx, o, workflows.ImportContacts, in)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return fmt.Errorf("start %s: %w", o.ID, err)
	}
	return nil
}

// CancelImport has the workflow of an upload, which was canceled in Postgres, end at once. It returns nil also when the
// workflow has ended or is not known.
func (l *Launch) CancelImport(ctx context.Context, id uuid.UUID) error {
	err := l.Temporal.CancelWorkflow(ctx, contact.ImportWorkflowID(id), "")
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("cancel %s: %w", contact.ImportWorkflowID(id), err)
	}
	return nil
}
