package launch

import (
	"context"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

// StartCampaign starts the workflow of a tenant's campaign, which begins it; one that is running is joined.
func (l *Launch) StartCampaign(ctx context.Context, tenant string, id uuid.UUID) error {
	_, err := l.join(ctx, ofTenant(campaign.WorkflowID(id), workflows.QueueCampaigns, tenant), workflows.RunCampaign,
		workflows.CampaignInput{Tenant: tenant, ID: id})
	return err
}

// WakeCampaign has the workflow of a campaign read its state. It returns nil also when the workflow has ended or is not
// known.
func (l *Launch) WakeCampaign(ctx context.Context, id uuid.UUID) error {
	err := l.Temporal.SignalWorkflow(ctx, campaign.WorkflowID(id), "", workflows.WakeSignal, nil)
	return over("signal "+campaign.WorkflowID(id), err)
}

// WakeDispatch has a tenant's messages sent that were queued before the call: it starts the tenant's workflow, or has
// the one that is running look at the queue.
func (l *Launch) WakeDispatch(ctx context.Context, tenant string) error {
	o := ofTenant(campaign.DispatchWorkflowID(tenant), workflows.QueueDispatch, tenant)
	_, err := l.Temporal.SignalWithStartWorkflow(ctx, o.ID, workflows.WakeSignal, nil, o, workflows.Dispatch,
		workflows.DispatchInput{Tenant: tenant})
	return fault.Wrap(err, "start %s", o.ID)
}
