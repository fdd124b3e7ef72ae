package workers

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/activities"
)

// beat tells Temporal that the activity's worker lives, until the returned function is called: when the beats end,
// because the worker was killed, another takes over after the heartbeat timeout and not only after that of the whole
// try. An activity that ends before the first beat costs the server nothing. A local one has no timeout to keep. Each
// beat repeats what the activity has last said of its progress, in the context that is returned.
func beat(ctx context.Context) (_ context.Context, stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 {
		return ctx, func() {}
	}
	done := make(chan struct{})
	ctx, pulse := activities.WithPulse(ctx)
	go func() { // ends with the activity
		tick := time.NewTicker(timeout / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				pulse.Beat(ctx)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { close(done) }
}
