package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Campaigns are the activities that start campaigns and bring them to their end.
type Campaigns struct {
	Store    CampaignStore
	Messages CampaignMessages
	Cycle    CampaignCycle
	Start    CampaignStarter
	Now      func() time.Time
}

// CampaignStore has campaigns as they are. Its methods may be repeated.
type CampaignStore interface {
	Progress(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (campaign.Progress, error)
	Begin(ctx context.Context, tenant string, id uuid.UUID, now time.Time) error
	// Abandon cancels a campaign that cannot be carried out.
	Abandon(ctx context.Context, tenant string, id uuid.UUID, reason string, now time.Time) error
	// Finish ends it where none of its messages waits.
	Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (campaign.Progress, error)
}

// CampaignMessages writes the messages of a campaign.
type CampaignMessages interface {
	// Freeze writes those of the next n contacts and reports whether there may be more.
	Freeze(ctx context.Context, tenant string, id uuid.UUID, n int, now time.Time) (more bool, err error)
	// Drop skips up to n that wait, of a campaign that is canceled, and says how many.
	Drop(ctx context.Context, tenant string, id uuid.UUID, n int) (int64, error)
}

// CampaignCycle is what the scheduler chooses from.
type CampaignCycle interface {
	Ready(ctx context.Context, now time.Time) ([]campaign.Ready, error)
	Lease(ctx context.Context, ids []uuid.UUID, now, until time.Time) ([]uuid.UUID, error)
	// Wait notes that the others are waiting for their turn.
	Wait(ctx context.Context, now time.Time) error
}

// CampaignStarter starts workflows. A running one is joined.
type CampaignStarter interface {
	StartCampaign(ctx context.Context, tenant string, id uuid.UUID) error
	WakeDispatch(ctx context.Context, tenant string) error
}

// CampaignJob names a campaign.
type CampaignJob struct {
	Tenant string    `json:"tenant"`
	ID     uuid.UUID `json:"id"`
}

const (
	freezeAtOnce = 1000
	campaignWork = 3 * time.Second // until the progress is shown
)

// TendCampaign does what a campaign needs next, for a while: it begins it, writes its messages, drops those of one that
// was canceled, and ends it. It may be repeated. A campaign that is not to run, or no longer, has ended; one that was
// started by a clock ahead of this one is looked at again.
func (a *Campaigns) TendCampaign(ctx context.Context, job CampaignJob) (campaign.Progress, error) {
	p, err := a.Store.Progress(ctx, job.Tenant, job.ID, a.Now())
	if err != nil {
		return p, err
	}
	if p.State == campaign.Queued && p.Due {
		err := a.Store.Begin(ctx, job.Tenant, job.ID, a.Now())
		if err != nil && fault.ClassOf(err) != fault.Conflict { // it was changed meanwhile
			return p, err
		}
		if p, err = a.Store.Progress(ctx, job.Tenant, job.ID, a.Now()); err != nil {
			return p, err
		}
	}
	more := false
	switch p.State {
	case campaign.Draft, campaign.Queued: // a person has put it off
		p.Ended = !p.Soon
		return p, nil
	case campaign.Running, campaign.Paused:
		more, err = a.freeze(ctx, job, p)
	case campaign.Canceled:
		more, err = a.drop(ctx, job)
	case campaign.Done:
	}
	if err != nil {
		return p, err
	}
	p, err = a.Store.Finish(ctx, job.Tenant, job.ID, a.Now())
	p.More = more
	return p, err
}

// freeze writes messages and has them sent. A campaign whose audience is gone is abandoned: nothing of it was written.
// Whatever else keeps them from being written is tried again.
func (a *Campaigns) freeze(ctx context.Context, job CampaignJob, p campaign.Progress) (more bool, err error) {
	end := a.Now().Add(campaignWork)
	for more = !p.Written; more && a.Now().Before(end); {
		more, err = a.Messages.Freeze(ctx, job.Tenant, job.ID, freezeAtOnce, a.Now())
		if fault.ClassOf(err) == fault.Invalid {
			return true, a.Store.Abandon(ctx, job.Tenant, job.ID, err.Error(), a.Now())
		}
		if err == nil && p.State == campaign.Running {
			err = a.Start.WakeDispatch(ctx, job.Tenant)
		}
		if err != nil {
			return false, err
		}
	}
	if p.Written && p.State == campaign.Running && p.Counts.Waiting > 0 {
		return more, a.Start.WakeDispatch(ctx, job.Tenant)
	}
	return more, nil
}

func (a *Campaigns) drop(ctx context.Context, job CampaignJob) (more bool, err error) {
	for end := a.Now().Add(campaignWork); a.Now().Before(end); {
		n, err := a.Messages.Drop(ctx, job.Tenant, job.ID, freezeAtOnce)
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// ScheduleJob is empty, so that a field can be added while old runs are open.
type ScheduleJob struct{}

// CampaignsStarted is what a cycle of the scheduler did.
type CampaignsStarted struct {
	Ready   int `json:"ready"` // whose time has come; no more than the cycle looks at
	Started int `json:"started"`
}

// StartReadyCampaigns starts campaigns whose time has come, in turns between tenants. It may be repeated: one that is
// started is leased, and its workflow joined.
func (a *Campaigns) StartReadyCampaigns(ctx context.Context, _ ScheduleJob) (out CampaignsStarted, err error) {
	now := a.Now()
	ready, err := a.Cycle.Ready(ctx, now)
	if err != nil || len(ready) == 0 {
		return out, err
	}
	out.Ready = len(ready)
	tenants, ids := map[uuid.UUID]string{}, []uuid.UUID{}
	for _, r := range campaign.Select(ready) {
		tenants[r.ID], ids = r.Tenant, append(ids, r.ID)
	}
	leased, err := a.Cycle.Lease(ctx, ids, now, now.Add(campaign.Lease))
	if err != nil {
		return out, err
	}
	var failed []error
	for _, id := range leased {
		if err := a.Start.StartCampaign(ctx, tenants[id], id); err != nil {
			failed = append(failed, err) // the others are leased, too: nobody else would start them meanwhile
			continue
		}
		out.Started++
	}
	return out, errors.Join(append(failed, a.Cycle.Wait(ctx, now))...)
}
