package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
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
