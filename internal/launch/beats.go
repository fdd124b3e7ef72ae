package launch

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	worker "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/worker"
)

// HeartbeatEvery is how often a worker tells Temporal that it lives. A poll lasts for a minute, so polls alone show
// only minutes later that a worker was killed.
const HeartbeatEvery = 5 * time.Second

// A worker is silent when it has missed missedBeats heartbeats in a row, and for leastSilence.
const (
	missedBeats  = 4
	leastSilence = missedBeats * HeartbeatEvery
)

// LostWithin is how soon a worker that was killed counts no more: the clocks may be taken for apart by a heartbeat.
const LostWithin = leastSilence + HeartbeatEvery

// RestartGrace is for how long a task queue may have no worker before that is more than a restart: one that is asked to
// end takes up to 15 s, twice where activities run inside workflow tasks, and another some seconds to start.
const RestartGrace = 45 * time.Second

// Without has the heartbeats of a worker say that its process leaves a task queue out which it is set to serve, because
// it lacks what the queue needs. Heartbeats carry the names of plugins; this one does nothing else.
func Without(queue string) sdk.Plugin { return says{name: withoutPrefix + queue} }

// Beats has the heartbeats of a worker say how often they come, as Without has them say something else: the first one,
// of a worker that may not live to send another, tells it by nothing else.
func Beats() sdk.Plugin { return says{name: beatsPrefix + HeartbeatEvery.String()} }

type says struct {
	sdk.PluginBase

	name string
}

const (
	withoutPrefix = "conveyor-without-"
	beatsPrefix   = "conveyor-beats-"
)

// Name implements worker.Plugin.
func (s says) Name() string { return s.name }

// beats are what is remembered of the heartbeats of workers between two looks. Its zero value is ready.
type beats struct {
	mu     sync.Mutex
	seen   map[string]beat      // by instance of a worker
	served map[string]bool      // task queues whose workers were seen alive
	left   map[string]time.Time // by task queue: when a worker of it was last found to have left by itself
	lacks  map[kind]time.Time   // when it was first found that no worker polls it
	polls  map[pollOf]poll      // of processes that no heartbeat has told of
}

// pollLasts is longer than a poll does: a process that has begun no other for so long does not poll.
const pollLasts = time.Minute + leastSilence

// A pollOf names the polls of a process for one kind of tasks.
type pollOf struct {
	kind
	identity string
}

// A poll is the last one of a process.
type poll struct {
	at    time.Time // by Temporal's clock
	found time.Time // when it was first found, by ours
}

// heard is what heartbeats tell.
type heard struct {
	silent map[place]bool // places of which each worker that Temporal knows is silent; without a queue, whole processes
	// leftOut are task queues that a worker which lives leaves out, for want of what they need, and that no other was seen
	// to serve: the loss of one that did is no purpose. Polls and tasks that wait may tell otherwise: see leaveOut.
	leftOut map[string]bool
	none    bool // each worker of the namespace would send heartbeats, and none does
}

// A beat is what is remembered of one.
type beat struct {
	place
	at       time.Time     // by the worker's clock
	interval time.Duration // 0 = it has sent one only, and does not say it
	skew     time.Duration // the least by which a heartbeat was behind our clock: what of its age is not silence
	listed   time.Time     // when Temporal knew the worker last: it forgets one that says that it stops
	without  []string      // task queues that its process leaves out
	quiet    bool          // when it was listed last
	gone     bool          // it is not listed any more, or says that it stops
}

// A place is where a worker polls: one process and task queue.
type place struct{ identity, queue string }

// lost says that the process that polls a place is silent. One tells of its first task queue when it begins to poll it,
// and of the others with the next heartbeat: if it was killed before, it is silent as a whole.
func (h heard) lost(p place) bool {
	if quiet, told := h.silent[p]; told {
		return quiet
	}
	return h.silent[place{identity: p.identity}]
}

// unheard says that heartbeats tell of other processes, or would, and not of the one that polls a place.
func (h heard) unheard(p place) bool {
	_, told := h.silent[place{identity: p.identity}]
	return !told && (h.none || len(h.silent) > 0)
}

// listen is what heartbeats tell. Workers that send none, or have sent one only and do not say how often they will, are
// silent in no place: only their polls tell of them. So do those of all where Temporal does not answer.
func (l *Launch) listen(ctx context.Context, namespace string, now time.Time) heard {
	list, err := l.heartbeats(ctx, namespace)
	if err != nil {
		return heard{}
	}
	told := l.beats.judge(list, now)
	if len(told.silent) == 0 {
		d, err := l.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
			Namespace: namespace,
		})
		told.none = err == nil && d.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats()
	}
	return told
}

func (l *Launch) heartbeats(ctx context.Context, namespace string) (list []*worker.WorkerHeartbeat, err error) {
	r := &workflowservice.ListWorkersRequest{Namespace: namespace, PageSize: 500}
	for {
		answer, err := l.Temporal.WorkflowService().ListWorkers(ctx, r)
		if err != nil {
			return nil, err // describing the task queues fails too, or the server has no such call
		}
		for _, w := range answer.GetWorkersInfo() { //nolint:staticcheck // the other list has no times of heartbeats
			list = append(list, w.GetWorkerHeartbeat())
		}
		if r.NextPageToken = answer.GetNextPageToken(); len(r.NextPageToken) == 0 {
			return list, nil
		}
	}
}

func (b *beats) judge(list []*worker.WorkerHeartbeat, now time.Time) heard {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.seen
	maps.DeleteFunc(b.polls, func(_ pollOf, p poll) bool { return now.Sub(p.found) > 2*remembered })
	b.seen = make(map[string]beat, len(list))
	if b.served == nil {
		b.served, b.left = map[string]bool{}, map[string]time.Time{}
	}
	out := heard{silent: make(map[place]bool, len(list)), leftOut: map[string]bool{}}
	mark := func(w beat, quiet bool) {
		for _, p := range []place{w.place, {identity: w.identity}} {
			others, some := out.silent[p]
			out.silent[p] = quiet && (!some || others)
		}
		for _, queue := range w.without {
			out.leftOut[queue] = out.leftOut[queue] || !quiet
		}
	}
	for _, w := range list {
		at := w.GetHeartbeatTime().AsTime()
		age := now.Sub(at)
		least := age
		// One that has beaten since a look just before is not silent: what it is behind by, and is more than the time
		// since then, are the clocks, and one of them may have been set.
		was, known := before[w.GetWorkerInstanceKey()]
		apart := now.Sub(was.listed)
		if known && (at.Equal(was.at) || apart > leastSilence || age-was.skew <= apart) {
			least = min(age, was.skew)
		}
		if known && !at.Equal(was.at) { // Temporal lists one that was killed for some minutes more
			b.served[w.GetTaskQueue()] = true
		}
		where := place{w.GetWorkerIdentity(), w.GetTaskQueue()}
		// The interval is that of the worker: one of a release before this beats once a minute.
		interval := w.GetElapsedSinceLastHeartbeat().AsDuration()
		if interval == 0 {
			interval = beatsEvery(w)
		}
		quiet := interval > 0 && age-least > max(leastSilence, missedBeats*interval)
		stops := w.GetStatus() == enums.WORKER_STATUS_SHUTTING_DOWN || w.GetStatus() == enums.WORKER_STATUS_SHUTDOWN
		if stops && !was.gone && !quiet {
			b.left[where.queue] = now
		}
		this := beat{where, at, interval, least, now, queuesWithout(w), quiet, stops}
		b.seen[w.GetWorkerInstanceKey()] = this
		mark(this, quiet)
	}
	for instance, was := range before {
		if _, known := b.seen[instance]; known || now.Sub(was.listed) >= remembered {
			continue
		}
		if !was.gone && !was.quiet { // one that was killed stays listed for some minutes
			b.left[was.queue] = now
		}
		was.gone = true
		b.seen[instance] = was // a server that starts anew knows none for as long as a heartbeat takes
		mark(was, now.Sub(was.listed) > max(leastSilence, missedBeats*was.interval))
	}
	for queue := range out.leftOut {
		out.leftOut[queue] = out.leftOut[queue] && !b.served[queue]
	}
	return out
}

// restarts says that a task queue without a worker may soon have one again: its workers left by themselves, or are not
// known to have been there, as with a server that starts anew. Where one was found lost, nobody starts another on
// purpose.
func (b *beats) restarts(k kind, served, lost bool, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if served {
		delete(b.lacks, k)
		return false
	}
	if b.lacks == nil {
		b.lacks = map[kind]time.Time{}
	}
	if _, known := b.lacks[k]; !known {
		b.lacks[k] = now
	}
	from := b.left[k.queue]
	if !lost && b.lacks[k].After(from) {
		from = b.lacks[k]
	}
	return now.Sub(from) < RestartGrace
}

// stopped says that a process of which no heartbeat tells has begun no poll for longer than one lasts: it was killed
// before it could send one. at is when Temporal saw its last poll begin, by another clock than ours.
func (b *beats) stopped(of pollOf, at, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known := b.polls[of]
	if !known || !last.at.Equal(at) {
		if b.polls == nil {
			b.polls = map[pollOf]poll{}
		}
		b.polls[of] = poll{at, now}
		return false
	}
	return now.Sub(last.found) > pollLasts
}

// beatsEvery is how often a worker says that it beats; 0 = it does not say.
func beatsEvery(w *worker.WorkerHeartbeat) time.Duration {
	for _, p := range w.GetPlugins() {
		if text, ok := strings.CutPrefix(p.GetName(), beatsPrefix); ok {
			every, _ := time.ParseDuration(text) // 0 where another release says it otherwise
			return every
		}
	}
	return 0
}

// queuesWithout are the task queues that the process of a worker leaves out.
func queuesWithout(w *worker.WorkerHeartbeat) (queues []string) {
	for _, p := range w.GetPlugins() {
		if queue, ok := strings.CutPrefix(p.GetName(), withoutPrefix); ok {
			queues = append(queues, queue)
		}
	}
	return queues
}
