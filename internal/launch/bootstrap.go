package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mtlrent/conveyor/workflows"
)

// Bootstrap has the settings of the namespace that must exist in Temporal before anything runs.
type Bootstrap struct {
	Namespace     string
	Retention     time.Duration // how long closed workflows can be read; Postgres keeps the business history
	ImageInterval time.Duration // between two downloads from one host
	StaleEvery    time.Duration // between two checks for stale listings
	ExpireEvery   time.Duration // between two deletions of what is old enough; 0 = there is no schedule for it
	Log           *slog.Logger  // for what the server does not let us change; needed where there may be such a thing
}

// The IDs of the schedules, and the prefixes of the IDs of their workflows.
const (
	stalenessSchedule = "staleness"
	retentionSchedule = "retention"
	campaignSchedule  = "campaigns"
)

// searchAttributes are Conveyor's own, all keywords: five of the ten that SQL visibility has room for.
var searchAttributes = []string{
	workflows.PlatformKey.GetName(), workflows.StageKey.GetName(), workflows.OutcomeKey.GetName(),
	workflows.HostKey.GetName(), workflows.TenantKey.GetName(),
}

// Apply creates what is missing and changes what differs. It may run any number of times, in several processes. A
// server that is still starting is waited for, up to startsWithin a step. It returns when the namespace can be used.
func (b Bootstrap) Apply(ctx context.Context, c client.Client) error {
	if err := until(ctx, func(ctx context.Context) error { return b.register(ctx, c) }); err != nil {
		return fmt.Errorf("register namespace %s: %w", b.Namespace, err)
	}
	// The servers see a new namespace and new attributes when they refresh their caches.
	added := false
	if err := until(ctx, func(ctx context.Context) (err error) {
		added, err = b.addSearchAttributes(ctx, c)
		return err
	}); err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	if err := until(ctx, func(ctx context.Context) error { return b.probe(ctx, c) }); err != nil {
		return fmt.Errorf("wait for namespace %s: %w", b.Namespace, err)
	}
	if err := until(ctx, func(ctx context.Context) error { return b.limitImages(ctx, c) }); err != nil {
		return fmt.Errorf("limit task queue %s: %w", workflows.QueueImages, err)
	}
	for _, s := range []schedule{
		{stalenessSchedule, b.StaleEvery, workflows.QueueListings, workflows.ArchiveStale, workflows.StaleInput{}},
		{retentionSchedule, b.ExpireEvery, workflows.QueueListings, workflows.ApplyRetention, workflows.RetentionInput{}},
		{campaignSchedule, time.Minute, workflows.QueueCampaigns, workflows.ScheduleCampaigns, workflows.ScheduleInput{}},
	} {
		if s.every == 0 {
			continue
		}
		if err := until(ctx, func(ctx context.Context) error { return s.apply(ctx, c) }); err != nil {
			return fmt.Errorf("make schedule %s: %w", s.id, err)
		}
	}
	if added { // the history service sees them later than the frontend, and fails workflow tasks until then
		select {
		case <-time.After(refreshed):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// refreshed is how long the services of a server may take to refresh their namespace caches, where it is configured to
// refresh often, as ours is. Elsewhere the first workflow tasks after a first bootstrap are retried.
const refreshed = 3 * time.Second

// register creates the namespace, or sets the retention of the one that exists. Temporal Cloud lets nobody do that
// here, and a server with an authorizer admins only: there a namespace is used as it is.
func (b Bootstrap) register(ctx context.Context, c client.Client) error {
	have, err := c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: b.Namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		// Where another process was faster it exists now, and the next try sets its retention.
		_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: b.Namespace, Description: "Conveyor",
			WorkflowExecutionRetentionPeriod: durationpb.New(b.Retention),
		})
		if refused(err) {
			return fmt.Errorf("there is none, and the server does not let us make it (make it by hand: in Temporal Cloud with "+
				"tcld namespace create, elsewhere with temporal operator namespace create): %w", err)
		}
		return err
	}
	if err != nil {
		return err
	}
	return b.retain(ctx, c, have.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
}

// A schedule starts a workflow again and again.
type schedule struct {
	id       string
	every    time.Duration
	queue    string
	workflow any
	input    any
}

// apply creates the schedule, or changes its interval. What an operator has changed is kept: a pause, and its note. A
// run that is due while one is going is skipped, and so are those that were due while the server was down for longer
// than the catch-up window: the next run does their work.
func (s schedule) apply(ctx context.Context, c client.Client) error {
	const catchUp = 10 * time.Minute
	want := client.ScheduleOptions{
		ID:   s.id,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: s.every}}},
		Action: &client.ScheduleWorkflowAction{
			ID: s.id, Workflow: s.workflow, Args: []any{s.input},
			TaskQueue: s.queue, StaticSummary: "every " + s.every.String(),
		},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUp,
	}
	_, err := c.ScheduleClient().Create(ctx, want)
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return c.ScheduleClient().GetHandle(ctx, s.id).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(have client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			had := have.Description.Schedule
			if every := had.Spec.Intervals; len(every) == 1 && every[0].Every == s.every &&
				had.Policy.Overlap == want.Overlap && had.Policy.CatchupWindow == catchUp {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			had.Spec, had.Action = &want.Spec, want.Action
			had.Policy.Overlap, had.Policy.CatchupWindow = want.Overlap, catchUp
			return &client.ScheduleUpdate{Schedule: &had}, nil
		},
	})
}

// retain sets the retention of the namespace, which has another one.
func (b Bootstrap) retain(ctx context.Context, c client.Client, has time.Duration) error {
	if has == b.Retention {
		return nil
	}
	_, err := c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: b.Namespace,
		Config:    &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(b.Retention)},
	})
	if refused(err) {
		b.Log.WarnContext(ctx, "the server does not let us change the retention of the namespace, which stays as it is",
			"namespace", b.Namespace, "has", has, "wanted", b.Retention, "err", err)
		return nil
	}
	return err
}

// addSearchAttributes adds those that are missing and reports whether any was. Where they may not be listed, probe
// finds out whether they are there.
func (b Bootstrap) addSearchAttributes(ctx context.Context, c client.Client) (added bool, err error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: b.Namespace})
	if refused(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range searchAttributes {
		if _, ok := have.GetCustomAttributes()[name]; !ok {
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: b.Namespace, SearchAttributes: missing,
	})
	var exists *serviceerror.AlreadyExists
	switch {
	case errors.As(err, &exists):
		return true, nil
	case refused(err):
		return false, b.addByHand(err)
	}
	return err == nil, err
}

// addByHand is the error where search attributes are missing and we may not add them, or may not ask which there are.
func (b Bootstrap) addByHand(err error) error {
	return fmt.Errorf("%s have to be there, as keywords (where the server does not let conveyor bootstrap add them, do it "+
		"by hand: in Temporal Cloud with tcld namespace search-attributes add --namespace %s --search-attribute "+
		"NAME=Keyword, elsewhere with temporal operator search-attribute create): %w",
		strings.Join(searchAttributes, ", "), b.Namespace, err)
}

// probe sends a query that only succeeds when the server knows the namespace and the attributes.
func (b Bootstrap) probe(ctx context.Context, c client.Client) error {
	_, err := c.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: b.Namespace, Query: strings.Join(searchAttributes, `="none" AND `) + `="none"`,
	})
	if _, unknown := errors.AsType[*serviceerror.InvalidArgument](err); unknown {
		return b.addByHand(err)
	}
	return err
}

// limitImages makes the server hold back images of one host, so that they do not take a worker's slots while they wait
// for their turn. The hard limit is in Redis; this one keeps the queue in order, so that a server may refuse it.
func (b Bootstrap) limitImages(ctx context.Context, c client.Client) error {
	_, err := c.WorkflowService().UpdateTaskQueueConfig(ctx, &workflowservice.UpdateTaskQueueConfigRequest{
		Namespace: b.Namespace, TaskQueue: workflows.QueueImages, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY,
		UpdateFairnessKeyRateLimitDefault: &workflowservice.UpdateTaskQueueConfigRequest_RateLimitUpdate{
			RateLimit: &taskqueue.RateLimit{RequestsPerSecond: float32(time.Second) / float32(b.ImageInterval)},
			Reason:    "one download per image interval and host",
		},
	})
	if refused(err) {
		b.Log.WarnContext(ctx, "the server does not let us limit a task queue: images of a host that wait for their turn take "+
			"slots of workers", "queue", workflows.QueueImages, "err", err)
		return nil
	}
	return err
}

// startsWithin is how long a server may take from its start until it knows a new namespace and its attributes.
const startsWithin = time.Minute

// until retries f until it succeeds, for up to startsWithin. What the server refuses is not retried.
func until(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startsWithin)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := f(ctx)
		if err == nil || refused(err) {
			return err
		}
		if last == nil || ctx.Err() == nil { // that it was interrupted says nothing
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}

// refused says that the server does not let us make a call, or has none of that name.
func refused(err error) bool {
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, unknown := errors.AsType[*serviceerror.Unimplemented](err)
	return denied || unknown
}
