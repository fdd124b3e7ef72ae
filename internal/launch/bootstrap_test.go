package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

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

// cloud is a frontend that lets nobody make or change namespaces and search attributes, as that of Temporal Cloud.
type cloud struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	refusal    codes.Code
	retention  time.Duration // 0 = there is no namespace
	attributes []string
	unlisted   bool // they may not be listed
	unlimited  bool // nor may task queues be limited
	schedules  []string
	probes     int
	late       func() // is called when a probe is repeated
}

func (f *cloud) no() error { return status.Error(f.refusal, "Request unauthorized.") }

func (f *cloud) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error,
) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f *cloud) DescribeNamespace(_ context.Context, r *workflowservice.DescribeNamespaceRequest) (
	*workflowservice.DescribeNamespaceResponse, error,
) {
	if f.retention == 0 {
		return nil, serviceerror.ToStatus(serviceerror.NewNamespaceNotFound(r.GetNamespace())).Err()
	}
	return &workflowservice.DescribeNamespaceResponse{Config: &namespacepb.NamespaceConfig{
		WorkflowExecutionRetentionTtl: durationpb.New(f.retention),
	}}, nil
}

func (f *cloud) RegisterNamespace(context.Context, *workflowservice.RegisterNamespaceRequest) (
	*workflowservice.RegisterNamespaceResponse, error,
) {
	return nil, f.no()
}

func (f *cloud) UpdateNamespace(context.Context, *workflowservice.UpdateNamespaceRequest) (
	*workflowservice.UpdateNamespaceResponse, error,
) {
	return nil, f.no()
}

func (f *cloud) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (
	*operatorservice.ListSearchAttributesResponse, error,
) {
	if f.unlisted {
		return nil, f.no()
	}
	have := map[string]enums.IndexedValueType{}
	for _, name := range f.attributes {
		have[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: have}, nil
}

func (f *cloud) AddSearchAttributes(context.Context, *operatorservice.AddSearchAttributesRequest) (
	*operatorservice.AddSearchAttributesResponse, error,
) {
	return nil, f.no()
}

func (f *cloud) CountWorkflowExecutions(_ context.Context, r *workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error,
) {
	if f.probes++; f.probes > 1 {
		f.late()
	}
	for name := range strings.SplitSeq(r.GetQuery(), " AND ") {
		if name = strings.TrimSuffix(name, `="none"`); !slices.Contains(f.attributes, name) {
			return nil, status.Errorf(codes.InvalidArgument, "column name %q is not defined", name)
		}
	}
	return &workflowservice.CountWorkflowExecutionsResponse{}, nil
}

func (f *cloud) UpdateTaskQueueConfig(context.Context, *workflowservice.UpdateTaskQueueConfigRequest) (
	*workflowservice.UpdateTaskQueueConfigResponse, error,
) {
	if f.unlimited {
		return nil, f.no()
	}
	return &workflowservice.UpdateTaskQueueConfigResponse{}, nil
}

func (f *cloud) CreateSchedule(_ context.Context, r *workflowservice.CreateScheduleRequest) (
	*workflowservice.CreateScheduleResponse, error,
) {
	f.schedules = append(f.schedules, r.GetScheduleId())
	return &workflowservice.CreateScheduleResponse{}, nil
}

// Where a server lets nobody change the namespace, what was made by hand is enough, and what is missing is named with the
// command that makes it.
func TestBootstrapOfACloud(t *testing.T) {
	t.Parallel()
	all := []string{"ConveyorHost", "ConveyorOutcome", "ConveyorPlatform", "ConveyorStage", "ConveyorTenant"}
	const wanted = 72 * time.Hour
	for name, c := range map[string]struct {
		server cloud
		says   string // "" when it works
		logs   string
	}{
		"all is there":         {server: cloud{retention: wanted, attributes: all}},
		"no such call":         {server: cloud{retention: 30 * time.Hour, attributes: all, unlisted: true, refusal: codes.Unimplemented}, logs: "retention"},
		"another retention":    {server: cloud{retention: 720 * time.Hour, attributes: all}, logs: "has=720h0m0s wanted=72h0m0s"},
		"no limits of queues":  {server: cloud{retention: wanted, attributes: all, unlimited: true}, logs: "queue=images"},
		"none may be listed":   {server: cloud{retention: wanted, attributes: all, unlisted: true}},
		"no namespace":         {server: cloud{attributes: all}, says: "tcld namespace create"},
		"no attribute":         {server: cloud{retention: wanted, attributes: all[1:]}, says: "tcld namespace search-attributes add --namespace homes.a1b2c"},
		"none, and not listed": {server: cloud{retention: wanted, unlisted: true}, says: "tcld namespace search-attributes add"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &c.server
			if f.refusal == codes.OK {
				f.refusal = codes.PermissionDenied
			}
			door, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			server := grpc.NewServer()
			workflowservice.RegisterWorkflowServiceServer(server, f)
			operatorservice.RegisterOperatorServiceServer(server, f)
			go func() { _ = server.Serve(door) }() // ends with Stop
			t.Cleanup(server.Stop)
			var logged bytes.Buffer
			b := launch.Bootstrap{
				Namespace: "homes.a1b2c", Retention: wanted, ImageInterval: time.Second, StaleEvery: time.Hour,
				Log: slog.New(slog.NewTextHandler(&logged, nil)),
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f.late = cancel
			err = b.Apply(ctx, dial(t, door.Addr().String(), "homes.a1b2c"))
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				require.Empty(t, f.schedules)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"staleness", "campaigns"}, f.schedules)
			require.Contains(t, logged.String(), c.logs)
			require.Equal(t, c.logs == "", logged.Len() == 0, logged.String())
		})
	}
}
