package launch_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/domain/access"
)

// A second request joins the first. Ending a workflow may be repeated, and one that is not there has ended.
func TestErase(t *testing.T) {
	t.Parallel()
	l, tenant, ctx := open(t), "t-"+uuid.NewString()[:8], t.Context()
	id := access.ErasureWorkflowID(tenant)
	require.NoError(t, l.EndRun(ctx, id, "a test"), "there is none")
	run := func() string {
		d, err := l.Temporal.DescribeWorkflowExecution(ctx, id, "")
		require.NoError(t, err)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, d.GetWorkflowExecutionInfo().GetStatus())
		return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	require.NoError(t, l.Erase(ctx, tenant))
	first := run()
	require.NoError(t, l.Erase(ctx, tenant))
	require.Equal(t, first, run())
	for range 2 {
		require.NoError(t, l.EndRun(ctx, id, "a test"))
	}
	d, err := l.Temporal.DescribeWorkflowExecution(ctx, id, "")
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, d.GetWorkflowExecutionInfo().GetStatus())
}
