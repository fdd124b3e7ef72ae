package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// triedAgain has a step of an import fail at the first try, and be tried once more.
func triedAgain(step, job any) error {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivity(step)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: 2},
		})
		return workflow.ExecuteActivity(ctx, step, job).Get(ctx, nil)
	})
	return env.GetWorkflowError()
}

// A file that is cut again is noted meanwhile, and one whose cut has ended three workers is refused with that reason.
func TestFilesWhoseCutEndsWorkers(t *testing.T) {
	t.Parallel()

	for noted, refused := range []bool{false, false, true} {
		f := newFakeUpload(phonebook(3500))
		f.breaks = 0
		_, err := f.begin().SplitUpload(t.Context(), f.job())
		require.Error(t, err, "it is planned, and not cut")
		f.breaks, f.ended, f.begun = -1, 0, noted
		f.first = errAway
		err = triedAgain(f.begin().SplitUpload, f.job())
		if refused {
			require.ErrorContains(t, err, "the last 3 workers that read the file ended meanwhile")
			require.Empty(t, f.chunks)
			continue
		}
		require.NoError(t, err, noted)
		require.Equal(t, []int{0, 1}, []int{f.begun, f.ended}, "it was noted while it was cut again")
		require.Equal(t, "running", f.in.State)
	}

	f := newFakeUpload(phonebook(3500))
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	require.Equal(t, 1, f.ended, "it is looked at; what is cut for the first time is not noted")
}

// Chunks that are read again are noted, and one that has ended three workers is refused with that reason.
func TestChunksThatEndWorkers(t *testing.T) {
	t.Parallel()

	read := func(f *fakeUpload) error {
		parsing := f.parsing()
		f.first = errAway
		return triedAgain(parsing.ParseChunks, activities.ParseJob{ImportJob: f.job(), To: 2})
	}
	split := func() *fakeUpload {
		f := newFakeUpload(phonebook(3500))
		_, err := f.begin().SplitUpload(t.Context(), f.job())
		require.NoError(t, err)
		return f
	}
	f := split()
	f.died = 1
	require.NoError(t, read(f), "it may have been another")
	require.Equal(t, []string{"begin 0", "end 0", "begin 1", "end 1"}, f.noted)

	f = split()
	f.died = 2
	require.ErrorContains(t, read(f), "the last 3 workers that read the rows from line 2 on ended meanwhile")
	require.Equal(t, []string{"begin 0", "end 0"}, f.noted, "a replay begins anew")
	require.Empty(t, f.rows)
}
