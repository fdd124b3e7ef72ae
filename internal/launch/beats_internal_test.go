package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	taskqueue "go.temporal.io/api/taskqueue/v1"
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
	silent := func(b *beats, now time.Time, list ...*worker.WorkerHeartbeat) bool {
		return b.judge(list, now).silent[at]
	}

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

	var young beats
	first := of("w", after(0), 0)
	require.False(t, silent(&young, after(time.Second), first))
	require.False(t, silent(&young, after(4*time.Minute), first), "who knows when the second one is due")
	first.Plugins = []*worker.PluginInfo{{Name: "another"}, {Name: Beats().Name()}}
	young = beats{}
	require.False(t, silent(&young, after(time.Second), first))
	require.False(t, silent(&young, after(20*time.Second), first))
	require.True(t, silent(&young, after(22*time.Second), first), "it did not live to send another")

	var stopped beats
	require.False(t, silent(&stopped, after(0), of("w", after(0), 5*time.Second)))
	require.False(t, silent(&stopped, after(5*time.Second)), "a server that starts anew knows none")
	require.True(t, silent(&stopped, after(21*time.Second)))
	_, remembered := stopped.judge(nil, after(time.Hour)).silent[at]
	require.False(t, remembered)
}

// A queue that a worker leaves out has none on purpose, while the worker lives, and until another one was seen to serve
// it: that one is missed.
func TestQueuesLeftOut(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	of := func(instance, queue string, at time.Time, without ...string) *worker.WorkerHeartbeat {
		w := &worker.WorkerHeartbeat{
			WorkerInstanceKey: instance, WorkerIdentity: "1@" + instance, TaskQueue: queue,
			HeartbeatTime: timestamppb.New(at), ElapsedSinceLastHeartbeat: durationpb.New(5 * time.Second),
			Plugins: []*worker.PluginInfo{{Name: "another"}},
		}
		for _, q := range without {
			w.Plugins = append(w.Plugins, &worker.PluginInfo{Name: Without(q).Name()})
		}
		return w
	}
	out := func(b *beats, now time.Time, list ...*worker.WorkerHeartbeat) bool {
		return b.judge(list, now).leftOut["drafts"]
	}

	var alone beats
	require.False(t, out(&alone, after(0)))
	require.False(t, out(&alone, after(0), of("a", "crawl", after(0))), "it says nothing")
	require.True(t, out(&alone, after(1), of("a", "crawl", after(0)), of("b", "crawl", after(1), "drafts")))
	require.True(t, out(&alone, after(6)), "a server that starts anew knows none")
	require.False(t, out(&alone, after(60), of("b", "crawl", after(1), "drafts")), "it does not live")
	require.True(t, out(&alone, after(61), of("c", "crawl", after(61), "drafts"), of("b", "crawl", after(1), "drafts")))

	var mixed beats
	require.True(t, out(&mixed, after(0), of("a", "crawl", after(0), "drafts"), of("d", "drafts", after(-3))))
	require.True(t, out(&mixed, after(5), of("a", "crawl", after(5), "drafts"), of("d", "drafts", after(-3))),
		"of a process that was killed before")
	require.False(t, out(&mixed, after(10), of("a", "crawl", after(10), "drafts"), of("d", "drafts", after(9))))
	require.False(t, out(&mixed, after(1000), of("a", "crawl", after(1000), "drafts")), "it is missed")
}

// A queue with tasks, or with polls of a process that may be gone, is missed as a whole, whoever leaves it out.
func TestLeaveOut(t *testing.T) {
	t.Parallel()

	of := func(queue string, waiting int64, polled bool) polls {
		return polls{
			kind: kind{queue: queue}, stats: &taskqueue.TaskQueueStats{ApproximateBacklogCount: waiting}, polled: polled,
		}
	}
	list := []polls{
		of("drafts", 0, false), of("drafts", 0, false), of("waits", 0, false), of("waits", 1, false),
		of("polled", 0, true), of("polled", 0, false), of("crawl", 0, false), {kind: kind{queue: "unheard"}},
	}
	leaveOut(list, map[string]bool{"drafts": true, "waits": true, "polled": true, "unheard": true, "none": true})
	got := map[string]int{}
	for _, p := range list {
		if p.leftOut {
			got[p.queue]++
		}
	}
	require.Equal(t, map[string]int{"drafts": 2, "unheard": 1}, got)
}
