package launch

import (
	"context"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/workflows"
)

// StartImport starts the workflow that imports an upload of a tenant; one that is running is joined.
func (l *Launch) StartImport(ctx context.Context, tenant string, id uuid.UUID) error {
	o := ofTenant(contact.ImportWorkflowID(id), workflows.QueueUploadJobs, tenant)
	o.Priority = temporal.Priority{FairnessKey: tenant} // its activities inherit it
	_, err := l.join(ctx, o, workflows.ImportContacts, workflows.ImportInput{Tenant: tenant, ID: id})
	return err
}

// CancelImport has the workflow of an upload, which was canceled in Postgres, end at once. It returns nil also when the
// workflow has ended or is not known.
func (l *Launch) CancelImport(ctx context.Context, id uuid.UUID) error {
	err := l.Temporal.CancelWorkflow(ctx, contact.ImportWorkflowID(id), "")
	return over("cancel "+contact.ImportWorkflowID(id), err)
}
