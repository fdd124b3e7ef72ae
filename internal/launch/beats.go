package launch

import (
	"context"
	"sync"
	"time"

	worker "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// HeartbeatEvery is how often a worker tells Temporal that it lives. A poll lasts for a minute, so polls alone show
// only minutes later that a worker was killed.
const HeartbeatEvery = 5 * time.Second

// A worker is silent when it has missed missedBeats heartbeats in a row, and for leastSilence.
const (
	missedBeats  = 4
	leastSilence = missedBeats * HeartbeatEvery
)

// beats are what is remembered of the heartbeats of workers between two looks. Its zero value is ready.
type beats struct {
	mu   sync.Mutex
	seen map[string]beat // by instance of a worker
}

// A beat is what is remembered of one.
type beat struct {
	place
	at       time.Time     // by the worker's clock
	interval time.Duration // 0 = it has sent one only
	skew     time.Duration // the least by which a heartbeat was behind our clock: what of its age is not silence
	listed   time.Time     // when Temporal knew the worker last: it forgets one that says that it stops
}

// A place is where a worker polls: one process and task queue.
type place struct{ identity, queue string }

// silent are the places of which each worker that Temporal knows is silent. Workers that send no heartbeats, or have
// sent one only, are in no place: only their polls tell of them. So do those of all where Temporal does not answer.
func (l *Launch) silent(ctx context.Context, namespace string, now time.Time) map[place]bool {
	list, err := l.heartbeats(ctx, namespace)
	if err != nil {
		return nil
	}
	return l.beats.judge(list, now)
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

func (b *beats) judge(list []*worker.WorkerHeartbeat, now time.Time) map[place]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.seen
	b.seen = make(map[string]beat, len(list))
	silent := make(map[place]bool, len(list))
	mark := func(at place, quiet bool) {
		others, some := silent[at]
		silent[at] = quiet && (!some || others)
	}
	for _, w := range list {
		at := w.GetHeartbeatTime().AsTime()
		age := now.Sub(at)
		least := age
		// One that has beaten since a look just before is not silent: what it is behind by are the clocks, and one of
		// them may have been set.
		if was, known := before[w.GetWorkerInstanceKey()]; known && (at.Equal(was.at) || now.Sub(was.listed) > leastSilence) {
			least = min(age, was.skew)
		}
		where := place{w.GetWorkerIdentity(), w.GetTaskQueue()}
		// The interval is that of the worker: one of a release before this beats once a minute.
		interval := w.GetElapsedSinceLastHeartbeat().AsDuration()
		b.seen[w.GetWorkerInstanceKey()] = beat{where, at, interval, least, now}
		mark(where, interval > 0 && age-least > max(leastSilence, missedBeats*interval))
	}
	for instance, was := range before {
		if _, known := b.seen[instance]; known || now.Sub(was.listed) >= gone {
			continue
		}
		b.seen[instance] = was // a server that starts anew knows none for as long as a heartbeat takes
		mark(was.place, now.Sub(was.listed) > max(leastSilence, missedBeats*was.interval))
	}
	return silent
}
