package workflows

import (
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// CampaignInput is one struct so that a field can be added while old runs are open.
type CampaignInput struct {
	Tenant string    `json:"tenant"`
	ID     uuid.UUID `json:"id"`
}

// How often a campaign is looked at, whose messages are sent by Dispatch: often when its end is near, seldom while it
// stands still.
const (
	campaignLeast = time.Second
	campaignMost  = 30 * time.Second
	campaignIdle  = 5 * time.Minute
)

// RunCampaign supervises a campaign. Its ID is campaign.WorkflowID. It keeps no state: that is in Postgres, so it can
// be terminated and started again at any time. A WakeSignal has it look at the state at once. It completes when none
// of the campaign's messages waits, with its counts.
func RunCampaign(ctx workflow.Context, in CampaignInput) (campaign.Progress, error) {
	wake := workflow.GetSignalChannel(ctx, WakeSignal)
	wait, before := time.Duration(0), campaign.Progress{}
	for {
		for wake.ReceiveAsync(nil) { // the state is read after this
			wait = 0
		}
		p, err := local(workflow.WithLocalActivityOptions(ctx, batchWork(time.Minute, "tend")), do.TendCampaign,
			activities.CampaignJob{Tenant: in.Tenant, ID: in.ID})
		if err != nil {
			return p, err
		}
		workflow.SetCurrentDetails(ctx, "**"+string(p.State)+"** "+p.Counts.String())
		switch {
		case p.Ended && wake.Len() == 0:
			return p, nil
		case long(ctx):
			return p, workflow.NewContinueAsNewError(ctx, RunCampaign, in)
		case p.Ended || p.More:
			continue
		}
		wait = campaignWait(wait, before, p)
		before = p
		if err := awaitWake(ctx, wake, wait, "until the next look at its messages"); err != nil {
			return p, err
		}
	}
}

// campaignWait is how long to wait for the next look, after one that was a wait after the one before.
func campaignWait(wait time.Duration, before, now campaign.Progress) time.Duration {
	gone := before.Counts.Waiting - now.Counts.Waiting
	switch {
	case wait == 0:
		return campaignLeast
	case now.State != before.State || now.Counts != before.Counts && gone <= 0:
		return campaignLeast
	case gone <= 0: // nothing moves
		return min(2*wait, campaignIdle)
	}
	left := time.Duration(float64(wait) * float64(now.Counts.Waiting) / float64(gone)) // at this pace
	return min(max(left/2, campaignLeast), campaignMost)
}

// ScheduleInput is one struct so that a field can be added while old runs are open.
type ScheduleInput struct{}

// ScheduleCampaigns starts the campaigns whose time has come, in turns between tenants. The schedule "campaigns" starts
// it every minute, unless it is running.
func ScheduleCampaigns(ctx workflow.Context, _ ScheduleInput) (activities.CampaignsStarted, error) {
	return local(workflow.WithLocalActivityOptions(ctx, storeWork), do.StartReadyCampaigns, activities.ScheduleJob{})
}
