package workers

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// beat tells Temporal that the activity's worker lives, until the returned function is called: when the beats end,
// because the worker was killed, another takes over after the heartbeat timeout and not only after that of the whole
// try. An activity that ends before the first beat costs the server nothing. A local one has no timeout to keep.
func beat(ctx context.Context) (stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	go func() { // ends with the activity
		tick := time.NewTicker(timeout / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
