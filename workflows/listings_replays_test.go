package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	replays *activities.Replays
	stales  *activities.Staleness
	resumes *activities.Unfinished
	rerun   = listing.Replay{
		ID: uuid.MustParse("0e0d5b2e-9f5e-4c8e-8d3f-0f5f4b1f7a10"), Stage: listing.StageNormalize, Rate: 20, By: "olga",
		Filter: listing.ReplayFilter{Platform: "kijiji"},
	}
)

func newReplayEnv(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()

	env := newEnv(t)
	env.RegisterActivity(replays)
	env.RegisterActivity(stales)
	env.RegisterActivity(resumes)
	return env
}

// batches returns one batch after the other; the request is always the same.
func batches(t *testing.T, env *testsuite.TestWorkflowEnvironment, answers ...activities.ReplayBatch) {
	t.Helper()

	n := 0
	env.OnActivity(replays.RunReplayBatch, mock.Anything, activities.ReplayBatch{ID: rerun.ID}).Return(
		func(_ context.Context, b activities.ReplayBatch) (activities.ReplayBatch, error) {
			require.Less(t, n, len(answers), "there is another batch after the end")
			a := answers[n]
			a.ID = b.ID
			n++
			return a, nil
		}).Times(len(answers))
}

func running(started, looked int) activities.ReplayBatch {
	return activities.ReplayBatch{State: listing.ReplayRunning, Rate: 20, Started: started, Looked: looked}
}

// A replay is stored first, goes on at its rate, skips without waiting, and waits for the adverts under way at its end.
func TestReplayOfListings(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	env.OnActivity(replays.OpenReplay, mock.Anything, rerun).Return(rerun, nil).Once()
	batches(t, env, running(20, 25), running(10, 10), running(0, 500), running(0, 0),
		activities.ReplayBatch{State: listing.ReplayCompleted, Rate: 20})
	began := env.Now()
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun})
	require.NoError(t, env.GetWorkflowError())
	var result workflows.ReplayResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.ReplayResult{State: "completed", Started: 30}, result)
	require.InDelta(t, 2.5, env.Now().Sub(began).Seconds(), 0.3, "a second, half a second, nothing, a tick")
}

// A long replay goes on as a new run that knows only its ID.
// A replay goes on when the database is back.
func TestReplayOutlastsTheDatabase(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	began := env.Now()
	away := func(until time.Duration) error {
		if env.Now().Sub(began) < until {
			return failing(fault.Transient)
		}
		return nil
	}
	env.OnActivity(replays.OpenReplay, mock.Anything, rerun).Return(
		func(context.Context, listing.Replay) (listing.Replay, error) { return rerun, away(10 * time.Minute) })
	env.OnActivity(replays.RunReplayBatch, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ReplayBatch) (activities.ReplayBatch, error) {
			return activities.ReplayBatch{ID: rerun.ID, State: listing.ReplayCompleted, Rate: 20}, away(20 * time.Minute)
		})
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun})
	require.NoError(t, env.GetWorkflowError())
}

func TestReplayContinuesAsNew(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	env.OnActivity(replays.OpenReplay, mock.Anything, mock.Anything).Return(rerun, nil).Once()
	batches(t, env, running(20, 20))
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var in workflows.ReplayInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	require.Equal(t, workflows.ReplayInput{Replay: listing.Replay{ID: rerun.ID}, Stored: true}, in)

	env = newReplayEnv(t)
	batches(t, env, activities.ReplayBatch{State: listing.ReplayCompleted, Rate: 20})
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: listing.Replay{ID: rerun.ID}, Stored: true})
	require.NoError(t, env.GetWorkflowError())
}

// A replay that is canceled in Postgres completes. One that is canceled in Temporal is canceled in Postgres too.
func TestReplayCanceled(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	batches(t, env, running(20, 20), activities.ReplayBatch{State: listing.ReplayCanceled, Rate: 20})
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun, Stored: true})
	require.NoError(t, env.GetWorkflowError())

	env = newReplayEnv(t)
	batches(t, env, running(20, 20))
	end := activities.ReplayEnd{ID: rerun.ID, State: listing.ReplayCanceled}
	env.OnActivity(replays.EndReplay, mock.Anything, end).Return(end, nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 500*time.Millisecond)
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun, Stored: true})
	var canceled *temporal.CanceledError
	require.ErrorAs(t, env.GetWorkflowError(), &canceled)
}

// A batch that can never work ends the replay, with its reason; one that may work is tried again.
func TestReplayFails(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	tries := 0
	env.OnActivity(replays.RunReplayBatch, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.ReplayBatch) (activities.ReplayBatch, error) {
			if tries++; tries < 4 {
				return b, fmt.Errorf("temporal is down")
			}
			return b, temporal.NewNonRetryableApplicationError("there is no replay", "gone", nil)
		})
	end := activities.ReplayEnd{ID: rerun.ID, State: listing.ReplayFailed, Reason: "there is no replay"}
	env.OnActivity(replays.EndReplay, mock.Anything, end).Return(end, nil).Once()
	env.ExecuteWorkflow(workflows.Replay, workflows.ReplayInput{Replay: rerun, Stored: true})
	require.ErrorContains(t, env.GetWorkflowError(), "there is no replay")
	require.Equal(t, 4, tries)
}

// Each batch begins where the one before ended, and duplicates have their turn when all is archived.
func TestArchiveStaleInBatches(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	a, b := uuid.New(), uuid.New()
	batch := func(last uuid.UUID, done int, more bool) activities.StaleBatch {
		return activities.StaleBatch{Last: last, Done: done, More: more}
	}
	var order []string
	answer := func(name string, answers ...activities.StaleBatch) func(context.Context, activities.StaleBatch) (activities.StaleBatch, error) {
		return func(_ context.Context, in activities.StaleBatch) (activities.StaleBatch, error) {
			order = append(order, name+" after "+in.Last.String()[:4])
			out := answers[0]
			answers = answers[1:]
			return out, nil
		}
	}
	env.OnActivity(stales.ArchiveStaleListings, mock.Anything, mock.Anything).
		Return(answer("archive", batch(a, 500, true), batch(b, 3, false))).Times(2)
	env.OnActivity(stales.RestartDuplicates, mock.Anything, mock.Anything).
		Return(answer("restart", batch(b, 100, true), batch(a, 0, false))).Times(2)
	env.OnActivity(resumes.ResumeListings, mock.Anything, mock.Anything).
		Return(answer("adverts", batch(a, 4, true), batch(b, 2, false))).Times(2)
	env.OnActivity(resumes.ResumeImages, mock.Anything, mock.Anything).Return(answer("images", batch(b, 5, false))).Once()
	env.ExecuteWorkflow(workflows.ArchiveStale, workflows.StaleInput{})
	require.NoError(t, env.GetWorkflowError())
	var result workflows.StaleResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.StaleResult{Archived: 503, Restarted: 100, Resumed: 6, Images: 5}, result)
	require.Equal(t, []string{
		"archive after 0000", "archive after " + a.String()[:4], "restart after 0000", "restart after " + b.String()[:4],
		"adverts after 0000", "adverts after " + a.String()[:4], "images after 0000",
	}, order)
}

// A check that has become long goes on in another run where it was, with its counts.
func TestArchiveStaleContinues(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	at := activities.StaleBatch{At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Last: uuid.New(), Done: 9, More: true}
	env.OnActivity(resumes.ResumeListings, mock.Anything, at).Return(
		func(_ context.Context, b activities.StaleBatch) (activities.StaleBatch, error) {
			env.SetContinueAsNewSuggested(true)
			return b, nil
		}).Once()
	env.ExecuteWorkflow(workflows.ArchiveStale, workflows.StaleInput{
		Step: 2, From: at, Done: workflows.StaleResult{Archived: 3},
	})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	var in workflows.StaleInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, workflows.StaleInput{Step: 2, From: at, Done: workflows.StaleResult{Archived: 3, Resumed: 9}}, in)
}

// A run of a release before it resumed what is unfinished ends as it would have.
func TestArchiveStaleBeforeItResumed(t *testing.T) {
	t.Parallel()

	env := newReplayEnv(t)
	env.OnGetVersion("resume-unfinished", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	env.OnActivity(stales.ArchiveStaleListings, mock.Anything, mock.Anything).Return(activities.StaleBatch{Done: 1}, nil).Once()
	env.OnActivity(stales.RestartDuplicates, mock.Anything, mock.Anything).Return(activities.StaleBatch{}, nil).Once()
	env.ExecuteWorkflow(workflows.ArchiveStale, workflows.StaleInput{})
	require.NoError(t, env.GetWorkflowError())
}
