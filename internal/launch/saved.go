package launch

import (
	"context"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/workflows"
)

// StartNotice starts the workflow of a tenant's delivery; one that is running is joined.
func (l *Launch) StartNotice(ctx context.Context, tenant string, id uuid.UUID) error {
	_, err := l.join(ctx, ofTenant(saved.WorkflowID(id), workflows.QueueNotify, tenant), workflows.Notify,
		workflows.NotifyInput{Tenant: tenant, ID: id})
	return err
}
