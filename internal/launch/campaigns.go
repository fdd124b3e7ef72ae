package launch

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

// StartCampaign starts the workflow of a tenant's campaign, which begins it; one that is running is joined. Its
// summary in the Web UI is the tenant: the name of the campaign may be personal.
func (l *Launch) StartCampaign(ctx context.Context, tenant string, id uuid.UUID) error {
	_, err := l.join(ctx, client.StartWorkflowOptions{
		ID: campaign.WorkflowID(id), TaskQueue: workflows.QueueCampaigns, StaticSummary: tenant,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
	}, workflows.RunCampaign, workflows.CampaignInput{Tenant: tenant, ID: id})
	return err
}

// WakeCampaign has the workflow of a campaign read its state. It returns nil also when the workflow has ended or is not
// known.
func (l *Launch) WakeCampaign(ctx context.Context, id uuid.UUID) error {
	err := l.Temporal.SignalWorkflow(ctx, campaign.WorkflowID(id), "", workflows.WakeSignal, nil)
	return over("signal "+campaign.WorkflowID(id), err)
}

// WakeDispatch has a tenant's messages sent that were queued before the call: it starts the tenant's workflow, or has
// the one that is running look at the queue. Calls that come while one is under way for the same tenant share the next
// one.
func (l *Launch) WakeDispatch(ctx context.Context, tenant string) error {
	return l.wakes.do(ctx, tenant, func(ctx context.Context) error {
		o := client.StartWorkflowOptions{
			ID: campaign.DispatchWorkflowID(tenant), TaskQueue: workflows.QueueDispatch, StaticSummary: tenant,
			TypedSearchAttributes: temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
		}
		_, err := l.Temporal.SignalWithStartWorkflow(ctx, o.ID, workflows.WakeSignal, nil, o, workflows.Dispatch,
			workflows.DispatchInput{Tenant: tenant})
		return fault.Wrap(err, "start %s", o.ID)
	})
}

// wakes lets callers share calls: what is asked for while a call of the same key is under way is done by one after it.
type wakes struct {
	mu   sync.Mutex
	keys map[string]*waking
}

// waking is the call of a key that is under way, and the one that follows.
type waking struct {
	now, next *waked
}

// waked is a call.
type waked struct {
	over chan struct{} // closed at its end
	err  error
}

// do returns when a call has ended that began after do did.
func (w *wakes) do(ctx context.Context, key string, call func(context.Context) error) error {
	w.mu.Lock()
	if w.keys == nil {
		w.keys = map[string]*waking{}
	}
	k := w.keys[key]
	if k == nil {
		k = &waking{}
		w.keys[key] = k
	}
	before := k.now
	switch {
	case before == nil:
		k.now = &waked{over: make(chan struct{})}
	case k.next != nil: // another caller makes it
		shared := k.next
		w.mu.Unlock()
		return shared.wait(ctx)
	default:
		k.next = &waked{over: make(chan struct{})}
	}
	mine := k.now
	if before != nil {
		mine = k.next
	}
	w.mu.Unlock()
	if before != nil {
		<-before.over // it is bounded by its own context
		w.mu.Lock()
		k.now, k.next = mine, nil
		w.mu.Unlock()
	}
	mine.err = w.bounded(ctx, call)
	w.mu.Lock()
	if k.next == nil {
		delete(w.keys, key)
	}
	close(mine.over)
	w.mu.Unlock()
	return mine.err
}

// wakeWithin bounds a call of a caller without a deadline.
const wakeWithin = 10 * time.Second

// bounded makes a call that others wait for too: it goes on when its caller has gone, until that one's deadline.
func (w *wakes) bounded(ctx context.Context, call func(context.Context) error) error {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(wakeWithin)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return call(ctx)
}

func (w *waked) wait(ctx context.Context) error {
	select {
	case <-w.over:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
