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

// Chunks that are read again are noted, and one that has ended three workers is refused with that reason.
func TestChunksThatEndWorkers(t *testing.T) {
	t.Parallel()

	read := func(f *fakeUpload) error {
		parsing := f.parsing()
		f.first = errAway
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivity(parsing)
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				StartToCloseTimeout: time.Minute,
				RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: 2},
			})
			job := activities.ParseJob{ImportJob: f.job(), To: 2}
			return workflow.ExecuteActivity(ctx, parsing.ParseChunks, job).Get(ctx, nil)
		})
		return env.GetWorkflowError()
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
