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
	skew   time.Duration // the least by which a heartbeat was behind our clock: what of its age is not silence
	listed time.Time     // when Temporal knew the worker last: it forgets one that says that it stops
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
		age := now.Sub(w.GetHeartbeatTime().AsTime())
		least := age
		if was, known := before[w.GetWorkerInstanceKey()]; known {
			least = min(age, was.skew)
		}
		at := place{w.GetWorkerIdentity(), w.GetTaskQueue()}
		b.seen[w.GetWorkerInstanceKey()] = beat{at, least, now}
		// The interval is that of the worker: one of a release before this beats once a minute.
		interval := w.GetElapsedSinceLastHeartbeat().AsDuration()
		mark(at, interval > 0 && age-least > max(leastSilence, missedBeats*interval))
	}
	for instance, was := range before {
		if _, known := b.seen[instance]; known || now.Sub(was.listed) >= gone {
			continue
		}
		b.seen[instance] = was // a server that starts anew knows none for as long as a heartbeat takes
		mark(was.place, now.Sub(was.listed) > leastSilence)
	}
	return silent
}
