package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	worker "go.temporal.io/api/worker/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Silence is counted in the worker's own intervals, whatever its clock says. One of several workers of a process is
// enough, and one that Temporal has forgotten is silent once its heartbeat would have come.
func TestSilentWorkers(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return start.Add(d) }
	of := func(instance string, at time.Time, interval time.Duration) *worker.WorkerHeartbeat {
		return &worker.WorkerHeartbeat{
			WorkerInstanceKey: instance, WorkerIdentity: "1@a", TaskQueue: "crawl",
			HeartbeatTime: timestamppb.New(at), ElapsedSinceLastHeartbeat: durationpb.New(interval),
		}
	}
	at := place{"1@a", "crawl"}
	silent := func(b *beats, now time.Time, list ...*worker.WorkerHeartbeat) bool { return b.judge(list, now)[at] }

	var ours beats
	ahead := func(d time.Duration) time.Time { return after(d + time.Hour) } // of its clock
	require.False(t, silent(&ours, after(0), of("w", ahead(0), 5*time.Second)))
	require.False(t, silent(&ours, after(6*time.Second), of("w", ahead(5*time.Second), 5*time.Second)))
	require.False(t, silent(&ours, after(25*time.Second), of("w", ahead(5*time.Second), 5*time.Second)))
	require.True(t, silent(&ours, after(27*time.Second), of("w", ahead(5*time.Second), 5*time.Second)))
	require.False(t, silent(&ours, after(27*time.Second), of("w", ahead(5*time.Second), 5*time.Second), of("v", ahead(27*time.Second), 0)),
		"another one of the same process has begun")
	require.False(t, silent(&ours, after(30*time.Second), of("w", ahead(30*time.Second), 25*time.Second)), "it is back")
	for s := 35; s < 60; s += 5 { // its clock was set back by an hour
		beat := after(time.Duration(s) * time.Second)
		require.False(t, silent(&ours, beat.Add(time.Second), of("w", beat, 5*time.Second)), "the clock is no silence")
	}

	var old beats
	require.False(t, silent(&old, after(0), of("w", after(0), time.Minute)))
	require.False(t, silent(&old, after(3*time.Minute), of("w", after(0), time.Minute)), "it beats once a minute")
	require.True(t, silent(&old, after(5*time.Minute), of("w", after(0), time.Minute)))

	var stopped beats
	require.False(t, silent(&stopped, after(0), of("w", after(0), 5*time.Second)))
	require.False(t, silent(&stopped, after(5*time.Second)), "a server that starts anew knows none")
	require.True(t, silent(&stopped, after(21*time.Second)))
	_, remembered := stopped.judge(nil, after(time.Hour))[at]
	require.False(t, remembered)
}
