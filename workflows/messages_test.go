package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	dispatching *activities.Dispatching
	campaigning *activities.Campaigns
)

// dispatchEnv has a tenant of which these plans are found, one after the other, and then the last one again. slices gets
// the queue of each slice.
func dispatchEnv(t *testing.T, plans ...activities.DispatchPlan) (env *testsuite.TestWorkflowEnvironment, slices *[]string) {
	t.Helper()

	env, slices = newEnv(t), new([]string)
	env.RegisterActivity(dispatching)
	n := 0
	env.OnActivity(dispatching.PlanDispatch, mock.Anything, activities.DispatchQuery{Tenant: "acme"}).Return(
		func(context.Context, activities.DispatchQuery) (activities.DispatchPlan, error) {
			n++
			return plans[min(n, len(plans))-1], nil
		})
	env.OnActivity(dispatching.DispatchMessages, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.DispatchJob) (activities.DispatchDone, error) {
			name := "first"
			if job.Tried {
				name = "tried"
			}
			*slices = append(*slices, name)
			return activities.DispatchDone{Accepted: 1}, nil
		}).Maybe()
	return env, slices
}

var (
	nothing  = activities.DispatchPlan{}
	now      = activities.DispatchKind{Any: true}
	tomorrow = activities.DispatchKind{Any: true, Wait: 24 * time.Hour}
	acme     = workflows.DispatchInput{Tenant: "acme"}
)

// A slice has the time to store what it knows after our database was away for hours: a worker that has died is noticed by
// its heartbeat.
func TestDispatchOutlastsDatabase(t *testing.T) {
	t.Parallel()

	env, _ := dispatchEnv(t, activities.DispatchPlan{First: now, Tried: now}, nothing)
	var within []time.Duration
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "DispatchMessages" {
			within = append(within, info.StartToCloseTimeout)
			require.Equal(t, workflows.DispatchHeartbeat, info.HeartbeatTimeout)
		}
	})
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{24 * time.Hour, 24 * time.Hour}, within)
}

func TestDispatch(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		plans []activities.DispatchPlan
		want  []string
		took  time.Duration
	}{
		"nothing waits":     {[]activities.DispatchPlan{nothing}, nil, 0},
		"a message":         {[]activities.DispatchPlan{{First: now}, nothing}, []string{"first"}, 0},
		"a further try":     {[]activities.DispatchPlan{{Tried: tomorrow}, {Tried: now}, nothing}, []string{"tried"}, 24 * time.Hour},
		"two slices":        {[]activities.DispatchPlan{{First: now}, {First: now}, nothing}, []string{"first", "first"}, 0},
		"one of each queue": {[]activities.DispatchPlan{{First: now, Tried: now}, nothing}, []string{"first", "tried"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, slices := dispatchEnv(t, tt.plans...)
			began := env.Now()
			env.ExecuteWorkflow(workflows.Dispatch, acme)
			require.NoError(t, env.GetWorkflowError())
			require.ElementsMatch(t, tt.want, *slices)
			require.GreaterOrEqual(t, env.Now().Sub(began), tt.took)
		})
	}
}

// A message that is queued while the workflow sleeps is sent at once.
func TestDispatchIsWoken(t *testing.T) {
	t.Parallel()

	env, slices := dispatchEnv(t, activities.DispatchPlan{Tried: tomorrow}, activities.DispatchPlan{First: now}, nothing)
	began := env.Now()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.WakeSignal, nil) }, time.Minute)
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"first"}, *slices)
	require.Less(t, env.Now().Sub(began), time.Hour)
}

// While nothing can be sent, no slice holds a slot.
func TestDispatchHolds(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(dispatching)
	env.OnActivity(dispatching.PlanDispatch, mock.Anything, mock.Anything).
		Return(activities.DispatchPlan{First: now}, nil).Times(3)
	env.OnActivity(dispatching.PlanDispatch, mock.Anything, mock.Anything).Return(nothing, nil).Once()
	env.OnActivity(dispatching.DispatchMessages, mock.Anything, mock.Anything).
		Return(activities.DispatchDone{Hold: 30 * time.Second}, nil).Twice()
	began := env.Now()
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	require.NoError(t, env.GetWorkflowError())
	require.GreaterOrEqual(t, env.Now().Sub(began), 30*time.Second)
}

// A run that is long enough waits for the slice that is running, though a further try is due, and looks at nothing.
func TestDispatchEndsWithItsSlice(t *testing.T) {
	t.Parallel()

	env, looks := newEnv(t), 0
	env.RegisterActivity(dispatching)
	env.OnActivity(dispatching.PlanDispatch, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.DispatchQuery) (activities.DispatchPlan, error) {
			if looks++; looks == 1 {
				return activities.DispatchPlan{First: now}, nil
			}
			return activities.DispatchPlan{First: now, Tried: now}, nil
		})
	env.OnActivity(dispatching.DispatchMessages, mock.Anything, mock.Anything).After(20*time.Second).
		Return(activities.DispatchDone{Accepted: 1}, nil).Once()
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow(workflows.WakeSignal, nil)
	}, time.Second)
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.LessOrEqual(t, looks, 2)
}

// A run that a message has started sends first and looks then.
func TestDispatchIsStartedByAMessage(t *testing.T) {
	t.Parallel()

	env, slices := dispatchEnv(t, nothing)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.WakeSignal, nil) }, 0)
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"first"}, *slices)
}

// A message to one person is not kept waiting for a way through the queue. Campaigns take turns in it.
func TestDispatchBeginsAtOnce(t *testing.T) {
	t.Parallel()

	single := activities.DispatchKind{Any: true, Transactional: true}
	env, slices := dispatchEnv(t, activities.DispatchPlan{First: single}, activities.DispatchPlan{First: now}, nothing)
	var queued []bool
	spyOptions(env, func(name string, o workflow.ActivityOptions) {
		require.Equal(t, "DispatchMessages", name)
		require.Equal(t, "acme", o.Priority.FairnessKey)
		queued = append(queued, o.DisableEagerExecution)
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.WakeSignal, nil) }, 0)
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, *slices, 3)
	require.Equal(t, []bool{false, false, true}, queued, "of the message that has started it, of another one, and of a campaign")
}

func TestDispatchContinues(t *testing.T) {
	t.Parallel()

	env, slices := dispatchEnv(t, activities.DispatchPlan{First: now})
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(workflows.Dispatch, acme)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Empty(t, *slices)
}

func TestRunCampaign(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(campaigning)
	job := activities.CampaignJob{Tenant: "acme", ID: uuid.New()}
	running := func(waiting int64) campaign.Progress {
		return campaign.Progress{State: campaign.Running, Written: true, Counts: campaign.Counts{Waiting: waiting, Sent: 100 - waiting}}
	}
	done := campaign.Progress{State: campaign.Done, Written: true, Counts: campaign.Counts{Sent: 100}, Ended: true}
	env.OnActivity(campaigning.TendCampaign, mock.Anything, job).Return(campaign.Progress{}, failing(fault.Transient)).Times(5)
	env.OnActivity(campaigning.TendCampaign, mock.Anything, job).Return(campaign.Progress{State: campaign.Running, More: true}, nil).Twice()
	for _, n := range []int64{100, 90, 90, 40, 10} {
		env.OnActivity(campaigning.TendCampaign, mock.Anything, job).Return(running(n), nil).Once()
	}
	env.OnActivity(campaigning.TendCampaign, mock.Anything, job).Return(done, nil).Once()
	env.ExecuteWorkflow(workflows.RunCampaign, workflows.CampaignInput{Tenant: "acme", ID: job.ID})
	require.NoError(t, env.GetWorkflowError())
	var got campaign.Progress
	require.NoError(t, env.GetWorkflowResult(&got))
	require.Equal(t, done, got)
}

// A campaign that stands still is looked at seldom, and at once when it is resumed.
func TestRunCampaignIsWoken(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(campaigning)
	paused := campaign.Progress{State: campaign.Paused, Written: true, Counts: campaign.Counts{Waiting: 5}}
	looks, resumed := 0, false
	env.OnActivity(campaigning.TendCampaign, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.CampaignJob) (campaign.Progress, error) {
			if looks++; resumed {
				return campaign.Progress{State: campaign.Done, Ended: true}, nil
			}
			return paused, nil
		})
	began := env.Now()
	env.RegisterDelayedCallback(func() {
		resumed = true
		env.SignalWorkflow(workflows.WakeSignal, nil)
	}, 10*time.Hour)
	env.ExecuteWorkflow(workflows.RunCampaign, workflows.CampaignInput{Tenant: "acme", ID: uuid.New()})
	require.NoError(t, env.GetWorkflowError())
	require.Less(t, looks, 140)
	require.Less(t, env.Now().Sub(began), 10*time.Hour+time.Minute)
}

func TestScheduleCampaigns(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(campaigning)
	env.OnActivity(campaigning.StartReadyCampaigns, mock.Anything, mock.Anything).
		Return(activities.CampaignsStarted{Ready: 3, Started: 2}, nil).Once()
	env.ExecuteWorkflow(workflows.ScheduleCampaigns, workflows.ScheduleInput{})
	require.NoError(t, env.GetWorkflowError())
}
