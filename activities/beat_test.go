package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The first heartbeat of a new try does not erase the progress of the try before.
func TestBeatsRepeatWhatWasSaid(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(map[string]int{"page": 7})
	beats := make(chan int, 10)
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var said map[string]int
		if details.HasValues() && details.Get(&said) == nil {
			beats <- said["page"]
		}
	})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		ctx, pulse := activities.WithPulse(ctx)
		pulse.Beat(ctx)
		return nil
	}, activity.RegisterOptions{Name: "wait"})
	_, err := env.ExecuteActivity("wait")
	require.NoError(t, err)
	require.Equal(t, 7, <-beats)
}

// outbound hands the heartbeats of activities on, and says whether their contexts have ended.
type outbound struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	interceptor.ActivityOutboundInterceptorBase
	ended chan error
}

func (o *outbound) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	o.ActivityInboundInterceptorBase.Next = next
	return o
}

func (o *outbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	o.ActivityOutboundInterceptorBase.Next = next
	return o.ActivityInboundInterceptorBase.Init(o)
}

func (o *outbound) RecordHeartbeat(ctx context.Context, details ...any) {
	o.ended <- ctx.Err()
	o.ActivityOutboundInterceptorBase.RecordHeartbeat(ctx, details...)
}

// What is to be told after the end of a context is told: the SDK sends nothing with one that has ended.
func TestBeatsAfterTheEnd(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	o := &outbound{ended: make(chan error, 10)}
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{o}})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		ctx, pulse := activities.WithPulse(ctx)
		ctx, end := context.WithCancel(ctx)
		end()
		pulse.Beat(ctx)
		return nil
	}, activity.RegisterOptions{Name: "late"})
	_, err := env.ExecuteActivity("late")
	require.NoError(t, err)
	require.NoError(t, <-o.ended)
}

// pulsed are the tries of an activity, of which each knows what the one before has said.
type pulsed struct {
	said  any
	stops chan struct{} // asks the worker to stop
	heard chan any      // each that is said
}

// cutOff is a try in which act has the worker asked to stop, by the function that it is given, and which is cut off when
// that returns: what is said later is not heard.
func (p *pulsed) cutOff(t *testing.T, act func(ctx context.Context, stop func()) error) {
	t.Helper()

	p.stops, p.heard = make(chan struct{}), make(chan any, 100)
	before := p.said
	_ = p.try(t, func(ctx context.Context) error {
		return act(ctx, func() {
			close(p.stops)
			for patience := time.After(servicetest.Patience()); ; {
				select {
				case before = <-p.heard:
					if said, _ := before.(map[string]any); said["untold"] == true {
						return
					}
				case <-patience:
					return
				}
			}
		})
	})
	p.said, p.stops, p.heard = before, nil, nil
}

func (p *pulsed) try(t *testing.T, act func(context.Context) error) (err error) {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(quiet))
	env := suite.NewTestActivityEnvironment()
	if p.said != nil {
		env.SetHeartbeatDetails(p.said)
	}
	if p.stops != nil {
		env.SetWorkerStopChannel(p.stops)
	}
	var mu sync.Mutex
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		mu.Lock()
		defer mu.Unlock()
		if p.said = nil; details.HasValues() {
			_ = details.Get(&p.said)
		}
		if p.heard != nil {
			p.heard <- p.said
		}
	})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		ctx, _ = activities.WithPulse(ctx)
		err = act(ctx)
		return err
	}, activity.RegisterOptions{Name: "try"})
	_, failed := env.ExecuteActivity("try")
	require.Equal(t, err == nil, failed == nil)
	mu.Lock()
	defer mu.Unlock()
	return err
}
