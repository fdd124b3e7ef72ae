package workers

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/activities"
)

// beat sends Temporal the heartbeats of an activity until the returned function is called. When they end, because the
// worker was killed, another worker takes over after the heartbeat timeout and not only after that of the whole try. An
// activity that ends before the first heartbeat costs the server nothing. A local one has no heartbeat timeout. Each
// heartbeat carries the progress that the activity has reported last, in the context that is returned.
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
