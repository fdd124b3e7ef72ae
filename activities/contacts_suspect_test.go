package activities_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// triedAgain has a step of an import fail at the first try, and be tried once more. Where that try tells, the next knows
// that its worker lives; one that dies cannot.
func triedAgain[J, R any](step func(context.Context, J) (R, error), job J, tells bool) error {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context, job J) (R, error) {
		if tells {
			ctx, _ = activities.WithPulse(ctx)
		}
		return step(ctx, job)
	}, activity.RegisterOptions{Name: "step"})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: 2},
		})
		return workflow.ExecuteActivity(ctx, "step", job).Get(ctx, nil)
	})
	return env.GetWorkflowError()
}

// A file that is cut again is noted meanwhile, and one whose cut has ended three workers is refused with that reason.
func TestFilesWhoseCutEndsWorkers(t *testing.T) {
	t.Parallel()

	planned := func() *fakeUpload {
		f := newFakeUpload(phonebook(3500))
		f.breaks = 0
		_, err := f.begin().SplitUpload(t.Context(), f.job())
		require.Error(t, err, "it is planned, and not cut")
		f.breaks, f.ended, f.first = -1, 0, errAway
		return f
	}
	for noted, refused := range []bool{false, false, true} {
		f := planned()
		f.begun = noted
		err := triedAgain(f.begin().SplitUpload, f.job(), false)
		if refused {
			require.ErrorContains(t, err, "the last 3 workers that read the file ended meanwhile")
			require.Empty(t, f.chunks)
			continue
		}
		require.NoError(t, err, noted)
		require.Equal(t, []int{0, 1}, []int{f.begun, f.ended}, "it was noted while it was cut again")
		require.Equal(t, "running", f.in.State)
	}

	f := planned()
	require.NoError(t, triedAgain(f.begin().SplitUpload, f.job(), true), "its worker lives: the store was away")
	require.Zero(t, f.ended)

	f = newFakeUpload(phonebook(3500))
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	require.Equal(t, 1, f.ended, "it is looked at; what is cut for the first time is not noted")
}

// Chunks that are read again are noted, and one that has ended three workers is refused with that reason.
func TestChunksThatEndWorkers(t *testing.T) {
	t.Parallel()

	read := func(f *fakeUpload, tells bool) error {
		parsing := f.parsing()
		f.first = errAway
		return triedAgain(parsing.ParseChunks, activities.ParseJob{ImportJob: f.job(), To: 2}, tells)
	}
	split := func() *fakeUpload {
		f := newFakeUpload(phonebook(3500))
		_, err := f.begin().SplitUpload(t.Context(), f.job())
		require.NoError(t, err)
		return f
	}
	f := split()
	f.died[0] = 1
	require.NoError(t, read(f, false), "it may have been another")
	require.Equal(t, []string{"begin 0", "end 0", "begin 1", "end 1"}, f.noted)

	f = split()
	f.died[0] = 2
	require.ErrorContains(t, read(f, false), "the last 3 workers that read the rows from line 2 on ended meanwhile")
	require.Equal(t, []string{"begin 0", "end 0"}, f.noted, "a replay begins anew")
	require.Empty(t, f.rows)

	f = split()
	f.died[0] = 2
	require.NoError(t, read(f, true), "its worker lives: the store was away")
	require.Empty(t, f.noted)
}

// A worker that is stopped while it reads a chunk, and is cut off before it has read it, was not ended by it.
func TestChunksThatAreCutOff(t *testing.T) {
	t.Parallel()

	f, pulse := newFakeUpload(phonebook(3500)), new(pulsed)
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	parsing := f.parsing()
	parse := func(ctx context.Context) error {
		_, err := parsing.ParseChunks(ctx, activities.ParseJob{ImportJob: f.job(), To: 2})
		return err
	}
	again := func() { // each try of a pulse is the first one: that one before it has died is said so
		said, ok := pulse.said.(map[string]any)
		if !ok {
			said = map[string]any{}
		}
		said["lived"] = -1
		pulse.said = said
	}
	for range 5 {
		again()
		f.away = false
		pulse.cutOff(t, func(ctx context.Context, stop func()) error {
			var once sync.Once
			f.reads = func() {
				if slices.Contains(f.noted, "begin 1") {
					once.Do(func() {
						stop()
						f.away = true // its process is gone
					})
				}
			}
			return parse(ctx)
		})
		require.Equal(t, map[int]int{0: 0, 1: 1}, f.died, "its worker was asked to stop")
		f.noted = nil
	}
	again()
	f.away, f.reads = false, nil
	require.NoError(t, pulse.try(t, parse))
	require.Len(t, f.rows, 2)
}
