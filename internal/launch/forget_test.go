package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// A second request joins the first.
func TestForget(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	for range 2 {
		id, err := l.Forget(ctx, ref)
		require.NoError(t, err)
		require.Equal(t, "forget/"+ref.ID().String(), id)
	}
	n, err := l.Temporal.CountWorkflow(ctx, countOf("forget/"+ref.ID().String()))
	require.NoError(t, err)
	require.LessOrEqual(t, n.GetCount(), int64(1))
}
