package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// DispatchInput is one struct so that a field can be added while old runs are open.
type DispatchInput struct {
	Tenant string `json:"tenant"`
	Slices int    `json:"slices,omitempty"` // of the runs that this one continues, for people
	Sent   int    `json:"sent,omitempty"`   // requests that those have made
}

const (
	// A slice is how long an activity sends the messages of one tenant: then another tenant that waits for a slot has its
	// turn. Replays do not compare it: change it freely.
	dispatchSlice = 20 * time.Second
	// recordWithin is how long an activity that sends may take with what it has to store: while our database is away it
	// keeps what it knows of its requests, which nobody else does. A worker that has died is noticed by its heartbeat.
	recordWithin = 24 * time.Hour
	// DispatchHeartbeat is how long a worker that sends may be silent before another takes over.
	DispatchHeartbeat = 8 * time.Second
	// dispatchFirst is how long a run waits for its first slice before it looks at what else there is to do. Most messages
	// are sent by then.
	dispatchFirst = 2 * time.Second
)

// planWork are the options of a look at the queue: a tenant waits for it after our database was away.
var planWork = workflow.LocalActivityOptions{
	StartToCloseTimeout: storeWork.StartToCloseTimeout, ScheduleToCloseTimeout: endless,
	RetryPolicy: retries(5 * time.Second),
}

// The priorities of slices; 3 is that of everything that has none.
const (
	priorityTransactional = 2
	priorityCampaign      = 3
)

// A lane is one of the two kinds of slices of a tenant, which do not wait for each other.
type lane struct {
	queue   string
	tried   bool
	summary string
	running workflow.Future
	held    time.Time // nothing can be sent before
}

// Dispatch supervises the sending of a tenant's messages. Its ID is campaign.DispatchWorkflowID of the tenant. It
// keeps no state: the queue is in Postgres, so it can be terminated and started again at any time. A WakeSignal has it
// look at the queue. It sleeps while no message is due and completes when none waits.
func Dispatch(ctx workflow.Context, in DispatchInput) error {
	wake := workflow.GetSignalChannel(ctx, WakeSignal)
	first := &lane{queue: QueueDispatch, summary: "first tries"}
	tried := &lane{queue: QueueRetry, tried: true, summary: "further tries"}
	if in.Slices == 0 && wake.ReceiveAsync(nil) { // a message was stored: no time is lost on a look
		first.start(ctx, in.Tenant, priorityTransactional)
		if err := awaitSlices(ctx, wake, dispatchFirst, &in, first); err != nil {
			return err
		}
	}
	for {
		for wake.ReceiveAsync(nil) { // what it is about is read after this
			first.held, tried.held = time.Time{}, time.Time{}
		}
		ends := long(ctx)
		wait := time.Duration(-1)
		if first.running == nil || tried.running == nil && !ends { // else nothing can be started
			plan, err := local(workflow.WithLocalActivityOptions(ctx, planWork), do.PlanDispatch,
				activities.DispatchQuery{Tenant: in.Tenant})
			if err != nil {
				return err
			}
			// A run that is to continue as new waits for no slice but the one that is running.
			wait = tried.proceed(ctx, in.Tenant, plan.Tried, !ends)
			wait = sooner(wait, first.proceed(ctx, in.Tenant, plan.First, !ends || tried.running != nil))
		}
		if first.running == nil && tried.running == nil {
			switch {
			case wake.Len() > 0:
				continue
			case wait < 0:
				return nil
			case ends:
				return workflow.NewContinueAsNewError(ctx, Dispatch, in)
			}
		}
		if err := awaitSlices(ctx, wake, wait, &in, first, tried); err != nil {
			return err
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d requests in %d slices", in.Sent, in.Slices))
	}
}

// sooner is the shorter of two waits; one below 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// proceed starts a slice where messages are due, and returns how long it is until some are; -1 = it waits for none.
func (l *lane) proceed(ctx workflow.Context, tenant string, kind activities.DispatchKind, may bool) time.Duration {
	if l.running != nil || !kind.Any {
		return -1
	}
	wait := max(kind.Wait, l.held.Sub(workflow.Now(ctx)))
	if wait > 0 || !may {
		return max(wait, 0)
	}
	priority := priorityCampaign
	if kind.Transactional {
		priority = priorityTransactional
	}
	l.start(ctx, tenant, priority)
	return -1
}

// start starts a slice. One for messages to one person begins in this process at once while it has a slot that nothing
// waits for; all others wait for their turn among the tenants, which is the queue's to give.
func (l *lane) start(ctx workflow.Context, tenant string, priority int) {
	l.running = start(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:             l.queue,
		StartToCloseTimeout:   recordWithin,
		HeartbeatTimeout:      DispatchHeartbeat,
		RetryPolicy:           retries(5 * time.Second),
		DisableEagerExecution: priority != priorityTransactional,
		Priority:              temporal.Priority{PriorityKey: priority, FairnessKey: tenant},
		Summary:               l.summary,
	}), do.DispatchMessages, activities.DispatchJob{Tenant: tenant, Tried: l.tried, Slice: dispatchSlice}).Future
}

// awaitSlices waits for the end of a slice, for a WakeSignal, or for as long as wait says (< 0 = without end).
func awaitSlices(
	ctx workflow.Context, wake workflow.ReceiveChannel, wait time.Duration, in *DispatchInput, lanes ...*lane,
) (err error) {
	s := workflow.NewSelector(ctx)
	s.AddReceive(wake, func(workflow.ReceiveChannel, bool) {}) // the caller takes it
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = ctx.Err() })
	for _, l := range lanes {
		if l.running == nil {
			continue
		}
		s.AddFuture(l.running, func(f workflow.Future) {
			var done activities.DispatchDone
			l.running = nil
			if err = f.Get(ctx, &done); err == nil {
				l.held = workflow.Now(ctx).Add(done.Hold)
				in.Slices, in.Sent = in.Slices+1, in.Sent+done.Requests()
			}
		})
	}
	if wait >= 0 {
		timed, cancel := workflow.WithCancel(ctx)
		defer cancel()
		timer := workflow.NewTimerWithOptions(timed, max(wait, time.Millisecond), workflow.TimerOptions{
			Summary: "until a message is due",
		})
		s.AddFuture(timer, func(workflow.Future) {})
	}
	s.Select(ctx)
	return err
}
