package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The run of an advert is terminated, and its histories are deleted as soon as they can be found.
func TestForgetRuns(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	require.NoError(t, l.EndListing(ctx, ref), "there is none")
	require.NoError(t, l.DeleteListingRuns(ctx, ref))
	require.NoError(t, l.Listing(ctx, ref, launch.Arrival{Stage: listing.StageNormalize, Revision: 1}, "a"))
	for range 2 {
		require.NoError(t, l.EndListing(ctx, ref))
	}
	require.Eventually(t, func() bool {
		require.NoError(t, l.DeleteListingRuns(ctx, ref))
		_, err := l.Temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID(), "")
		var gone *serviceerror.NotFound
		return errors.As(err, &gone)
	}, servicetest.Patience(), 200*time.Millisecond)
}

// A second request begins anew: the advert may have come back, which the run of the first would spare.
func TestForget(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	state := func(runID string) (run string, status enums.WorkflowExecutionStatus) {
		d, err := l.Temporal.DescribeWorkflowExecution(ctx, "forget/"+ref.ID().String(), runID)
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetExecution().GetRunId(), d.GetWorkflowExecutionInfo().GetStatus()
	}
	var runs []string
	for range 2 {
		id, err := l.Forget(ctx, ref)
		require.NoError(t, err)
		require.Equal(t, "forget/"+ref.ID().String(), id)
		run, status := state("")
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, status)
		require.NotContains(t, runs, run)
		runs = append(runs, run)
	}
	_, status := state(runs[0])
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, status)
}
