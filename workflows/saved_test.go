package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/workflows"
)

// A try lasts as long as our database may be away: it knows of a notice that it was sent, which nothing else does.
func TestNotifyOutlastsTheDatabase(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	a := new(activities.Notices)
	env.RegisterActivity(a)
	var within, silent time.Duration
	env.OnActivity(a.TellNotice, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, _ activities.NoticeJob) (activities.NoticeDone, error) {
			info := activity.GetInfo(ctx)
			within, silent = info.StartToCloseTimeout, info.HeartbeatTimeout
			return activities.NoticeDone{State: "sent"}, nil
		})
	env.ExecuteWorkflow(workflows.Notify, workflows.NotifyInput{Tenant: "acme", ID: uuid.New()})
	require.NoError(t, env.GetWorkflowError())
	require.GreaterOrEqual(t, within, time.Hour)
	require.LessOrEqual(t, silent, time.Minute, "a worker that has died is noticed by its heartbeat")
}
