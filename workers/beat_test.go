package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/workers"
)

// An activity that takes long is kept alive without a word of its own.
func TestActivitiesBeat(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workers.Faults}})
	beats := make(chan struct{}, 10)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		select {
		case beats <- struct{}{}:
		default:
		}
	})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		for range 2 {
			select {
			case <-beats:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}, activity.RegisterOptions{Name: "wait"})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 20 * time.Second, HeartbeatTimeout: 400 * time.Millisecond,
		})
		return workflow.ExecuteActivity(ctx, "wait").Get(ctx, nil)
	})
	require.NoError(t, env.GetWorkflowError())
}
