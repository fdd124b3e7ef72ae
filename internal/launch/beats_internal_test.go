package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
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

// A process that was killed before the heartbeat of one of its task queues is silent there, too: it has told of the first.
func TestSilentProcesses(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	first := func(instance, queue string, seconds int) *worker.WorkerHeartbeat {
		return &worker.WorkerHeartbeat{
			WorkerInstanceKey: instance, WorkerIdentity: "1@a", TaskQueue: queue,
			HeartbeatTime: timestamppb.New(start.Add(time.Duration(seconds) * time.Second)),
			Plugins:       []*worker.PluginInfo{{Name: Beats().Name()}},
		}
	}
	var b beats
	lost := func(seconds int, queue string, list ...*worker.WorkerHeartbeat) bool {
		return b.judge(list, start.Add(time.Duration(seconds)*time.Second)).lost(place{"1@a", queue})
	}
	a := first("w", "crawl", 0)
	require.False(t, lost(1, "search", a))
	require.False(t, lost(20, "search", a))
	require.True(t, lost(22, "search", a))
	require.True(t, lost(22, "crawl", a))
	require.False(t, b.judge([]*worker.WorkerHeartbeat{a}, start.Add(23*time.Second)).lost(place{"2@a", "search"}),
		"of this process nothing is known")
	require.False(t, lost(24, "search", a, first("v", "crawl", 24)), "another process has its identity")
	require.True(t, lost(60, "search", a), "it has ended, too")
}

// A process that was killed between its first poll and its first heartbeat counts no more once that poll must have ended,
// whatever Temporal's clock says; one that goes on to poll lives, and so do all where nobody sends heartbeats.
func TestKilledBeforeItsFirstHeartbeat(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var b beats
	told := b.judge([]*worker.WorkerHeartbeat{{
		WorkerInstanceKey: "w", WorkerIdentity: "1@a", TaskQueue: "crawl", HeartbeatTime: timestamppb.New(start),
	}}, start)
	require.False(t, told.unheard(place{"1@a", "search"}), "its process is known")
	require.True(t, told.unheard(place{"2@a", "search"}))
	require.False(t, new(beats).judge(nil, start).unheard(place{"2@a", "search"}))
	require.False(t, heard{}.unheard(place{"2@a", "search"}), "Temporal does not answer")
	require.True(t, heard{none: true}.unheard(place{"2@a", "search"}))

	of := pollOf{kind{queue: "search"}, "2@a"}
	ahead := func(seconds int) time.Time { return after(seconds + 3600) } // by its clock
	require.False(t, b.stopped(of, ahead(0), after(5)))
	require.False(t, b.stopped(of, ahead(0), after(65)))
	require.False(t, b.stopped(of, ahead(62), after(80)), "another poll")
	require.False(t, b.stopped(of, ahead(62), after(150)))
	require.True(t, b.stopped(of, ahead(62), after(165)))
	require.False(t, b.stopped(pollOf{kind{queue: "crawl"}, "2@a"}, ahead(62), after(165)), "of another task queue")
	b.judge(nil, after(1000))
	require.Empty(t, b.polls, "Temporal has forgotten it")
}

// watch looks every 15 s, as Prometheus does, from begin to end seconds at a task queue whose workers are listed and
// poll as at says, and returns when the metric is 0.
func watch(b *beats, begin, end int, at func(second int) (list []*worker.WorkerHeartbeat, polls []place)) (zero []int) {
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for s := begin; s <= end; s += 15 {
		list, polled := at(s)
		now := start.Add(time.Duration(s) * time.Second)
		told, alive, lost := b.judge(list, now), 0, false
		for _, p := range polled {
			if told.lost(p) {
				lost = true
			} else {
				alive++
			}
		}
		if !b.restarts(kind{queue: "crawl"}, alive > 0, lost, now) && alive == 0 {
			zero = append(zero, s)
		}
	}
	return zero
}

// The alert of a task queue without a worker compares a metric that says so by the first look that is LostWithin or more
// behind the death of the last worker, whenever Prometheus looks, and not before the workers that left by themselves are overdue. It is
// evaluated every 15 s, without further delay: see TestAlertsOutwaitRestarts.
func TestMetricTellsLossFromRestart(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	beat := func(name string, s int) *worker.WorkerHeartbeat { // every 5 s
		return &worker.WorkerHeartbeat{
			WorkerInstanceKey: name, WorkerIdentity: name, TaskQueue: "crawl",
			HeartbeatTime:             timestamppb.New(start.Add(time.Duration(s/5*5) * time.Second)),
			ElapsedSinceLastHeartbeat: durationpb.New(5 * time.Second),
		}
	}
	type list = []*worker.WorkerHeartbeat
	at := func(name string) place { return place{name, "crawl"} }
	stopping := func(name string, s int) *worker.WorkerHeartbeat {
		w := beat(name, s)
		w.Status = enums.WORKER_STATUS_SHUTTING_DOWN
		return w
	}
	for begin := range 15 {
		killed := watch(new(beats), begin, 300, func(s int) (list, []place) { // at 101 s
			return list{beat("a", min(s, 100))}, []place{at("a")}
		})
		require.LessOrEqual(t, killed[0], 101+int(LostWithin.Seconds())+15, begin)
		require.Greater(t, killed[0], 115, begin)

		for name, gone := range map[string]func(s int) (list, []place){
			"it is listed no more":    func(int) (list, []place) { return nil, nil },
			"it says so":              func(s int) (list, []place) { return list{stopping("a", min(s, 130))}, nil },
			"its polls are not ended": func(int) (list, []place) { return nil, []place{at("a")} },
		} {
			back := watch(new(beats), begin, 400, func(s int) (list, []place) {
				switch {
				case s <= 100:
					return list{beat("a", s)}, []place{at("a")}
				case s < 141: // the longest restart
					return gone(s)
				}
				found, polls := gone(s)
				return append(found, beat("b", s)), append(polls, at("b"))
			})
			require.Empty(t, back, "%d %s", begin, name)
			overdue := watch(new(beats), begin, 400, func(s int) (list, []place) {
				if s <= 100 {
					return list{beat("a", s)}, []place{at("a")}
				}
				return gone(s)
			})
			require.LessOrEqual(t, overdue[0], 100+15+int(RestartGrace.Seconds())+15, "%d %s", begin, name)
		}

		// One was killed, and another is started anew soon after it took its place.
		again := watch(new(beats), begin, 400, func(s int) (list, []place) {
			polls := []place{at("a")} // Temporal knows it for five minutes
			switch {
			case s <= 103:
				return list{beat("a", min(s, 100))}, polls
			case s <= 200:
				return list{beat("a", 100), beat("b", s)}, append(polls, at("b"))
			case s < 241:
				return list{beat("a", 100)}, polls
			}
			return list{beat("a", 100), beat("c", s)}, append(polls, at("c"))
		})
		require.Empty(t, again, begin)

		// A server that starts anew knows nobody until they poll again.
		anew := watch(new(beats), begin, 400, func(s int) (list, []place) {
			if s > 100 && s < 130 {
				return nil, nil
			}
			return list{beat("a", s)}, []place{at("a")}
		})
		require.Empty(t, anew, begin)

		// An API that starts while workers are started anew has never seen one.
		fresh := watch(new(beats), 105+begin, 400, func(s int) (list, []place) {
			if s < 141 {
				return nil, nil
			}
			return list{beat("a", s)}, []place{at("a")}
		})
		require.Empty(t, fresh, begin)
	}
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
