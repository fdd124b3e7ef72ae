package launch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func countOf(workflowID string) *workflowservice.CountWorkflowExecutionsRequest {
	return &workflowservice.CountWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId=%q", workflowID)}
}

// state has the settings of Bootstrap as the server has them.
type state struct {
	retention  time.Duration
	attributes []string
	perSecond  float32 // images of one host
	staleEvery time.Duration
	paused     bool // the schedule
}

func stateOf(t *testing.T, c client.Client, namespace string) (s state) {
	t.Helper()

	ctx := t.Context()
	ns, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(t, err)
	s.retention = ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	attributes, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(attributes.GetCustomAttributes())) {
		require.Equal(t, enums.INDEXED_VALUE_TYPE_KEYWORD, attributes.GetCustomAttributes()[name], name)
		s.attributes = append(s.attributes, name)
	}
	queue, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: "images"},
		TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportConfig: true,
	})
	require.NoError(t, err)
	s.perSecond = queue.GetConfig().GetFairnessKeysRateLimitDefault().GetRateLimit().GetRequestsPerSecond()
	d, err := c.ScheduleClient().GetHandle(ctx, "staleness").Describe(ctx)
	require.NoError(t, err)
	require.Len(t, d.Schedule.Spec.Intervals, 1)
	s.staleEvery, s.paused = d.Schedule.Spec.Intervals[0].Every, d.Schedule.State.Paused
	require.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, d.Schedule.Policy.Overlap)
	require.Equal(t, 10*time.Minute, d.Schedule.Policy.CatchupWindow)
	action, ok := d.Schedule.Action.(*client.ScheduleWorkflowAction)
	require.True(t, ok)
	require.Equal(t, "ArchiveStale", action.Workflow)
	require.Equal(t, "listings", action.TaskQueue)
	return s
}

// Bootstrap creates the missing parts of a namespace, keeps those that are right, and changes those that differ.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	name := "test-" + uuid.NewString()
	c := connect(t, name)
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: 500 * time.Millisecond,
		StaleEvery: 4 * time.Hour, ExpireEvery: 24 * time.Hour}
	want := state{72 * time.Hour, []string{
		"ConveyorHost", "ConveyorOutcome", "ConveyorPlatform", "ConveyorStage", "ConveyorTenant",
	}, 2, 4 * time.Hour, false}
	for range 2 {
		require.NoError(t, b.Apply(t.Context(), c))
		require.Equal(t, want, stateOf(t, c, name))
	}
	// A pause by an operator is kept.
	require.NoError(t, c.ScheduleClient().GetHandle(t.Context(), "staleness").
		Pause(t.Context(), client.SchedulePauseOptions{Note: "the scraper is down"}))
	b.Retention, b.ImageInterval, b.StaleEvery = 48*time.Hour, 2*time.Second, time.Hour
	require.NoError(t, b.Apply(t.Context(), c))
	want.retention, want.perSecond, want.staleEvery, want.paused = 48*time.Hour, 0.5, time.Hour, true
	require.Equal(t, want, stateOf(t, c, name))
	d, err := c.ScheduleClient().GetHandle(t.Context(), "retention").Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, d.Schedule.Spec.Intervals[0].Every)
	action, ok := d.Schedule.Action.(*client.ScheduleWorkflowAction)
	require.True(t, ok)
	require.Equal(t, "ApplyRetention", action.Workflow)
}

// A server that is still starting is waited for, so that containers may start in any order.
func TestBootstrapWaits(t *testing.T) {
	t.Parallel()
	address, name := servicetest.Address(t, "TEMPORAL_ADDRESS"), "test-"+uuid.NewString()
	var dials atomic.Int32
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Namespace: name, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				if dials.Add(1) < 3 {
					return nil, errors.New("connection refused")
				}
				return new(net.Dialer).DialContext(ctx, "tcp", address)
			}),
		}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second,
		StaleEvery: 4 * time.Hour}
	require.NoError(t, b.Apply(t.Context(), c))
	require.Equal(t, 72*time.Hour, stateOf(t, c, name).retention)
	require.GreaterOrEqual(t, dials.Load(), int32(3))
}

func TestBootstrapAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	b := launch.Bootstrap{Namespace: "conveyor", Retention: 72 * time.Hour, ImageInterval: time.Second}
	require.ErrorContains(t, b.Apply(ctx, dial(t, "127.0.0.1:1", "conveyor")), "register namespace conveyor")
	require.Less(t, time.Since(start), servicetest.Patience())
}
