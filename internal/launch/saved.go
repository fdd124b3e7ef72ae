package launch

import (
	"context"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/workflows"
)

// StartNotice starts the workflow of a tenant's delivery; one that is running is joined.
func (l *Launch) StartNotice(ctx context.Context, tenant string, id uuid.UUID) error {
	_, err := l.join(ctx, client.StartWorkflowOptions{
		ID: saved.WorkflowID(id), TaskQueue: workflows.QueueNotify, StaticSummary: tenant,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
	}, workflows.Notify, workflows.NotifyInput{Tenant: tenant, ID: id})
	return err
}
