package launch_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

// A wire is the network between a worker and Temporal. Once it is cut, the worker is as one that was killed or is frozen.
type wire struct {
	mu   sync.Mutex
	open []net.Conn
	cut  bool
}

func (w *wire) dial(ctx context.Context, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.New("the network is away")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		w.open = append(w.open, c)
	}
	return c, err
}

func (w *wire) away() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.open {
		_ = c.Close()
	}
}

func (w *wire) worker(t *testing.T, namespace, queue string, every time.Duration, says ...worker.Plugin) worker.Worker {
	t.Helper()

	o := client.Options{
		HostPort: servicetest.Address(t, "TEMPORAL_ADDRESS"), Namespace: namespace, Identity: t.Name() + " " + queue,
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), WorkerHeartbeatInterval: every,
	}
	o.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithContextDialer(w.dial)}
	c, err := client.Dial(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	made := worker.New(c, queue, worker.Options{WorkerStopTimeout: time.Second, Plugins: says})
	made.RegisterWorkflow(workflows.CrawlRun)
	require.NoError(t, made.Start())
	return made
}

// beatOf is the time of the last heartbeat of the worker of a task queue.
func beatOf(t *testing.T, l *launch.Launch, queue string) (at time.Time) {
	t.Helper()

	list, err := l.Temporal.WorkflowService().ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: l.Namespace})
	require.NoError(t, err)
	for _, w := range list.GetWorkersInfo() { //nolint:staticcheck // the other list has no times of heartbeats
		if b := w.GetWorkerHeartbeat(); b.GetTaskQueue() == queue {
			at = b.GetHeartbeatTime().AsTime()
		}
	}
	return at
}

// A worker that can reach Temporal no more is missed before its last poll is old. One that sends no heartbeats is known
// by its polls alone, and one that is stopped is gone at once.
func TestTaskQueuesWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	name := "test-" + uuid.NewString() // its workers would be seen by the tests of the other one
	l := &launch.Launch{Temporal: connect(t, name), Namespace: name}
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second, StaleEvery: time.Hour}
	require.NoError(t, b.Apply(t.Context(), l.Temporal))
	workersAt := func(l *launch.Launch, queue string, ahead time.Duration) (n int64) {
		list, err := l.TaskQueues(t.Context(), l.Namespace, time.Now().Add(ahead))
		require.NoError(t, err)
		for _, q := range list {
			if q.Name == queue && q.Type == "workflow" {
				n += q.Workers
			}
		}
		return n
	}
	var lost, mute wire
	unused := func(ahead time.Duration) (names []string) {
		list, err := l.TaskQueues(t.Context(), l.Namespace, time.Now().Add(ahead))
		require.NoError(t, err)
		for _, q := range list {
			if q.Unused && q.Type == "activity" {
				names = append(names, q.Name)
			}
		}
		return names
	}
	require.Empty(t, unused(0))
	w := lost.worker(t, l.Namespace, workflows.QueueCrawl, time.Second, launch.Without(workflows.QueueDrafts),
		launch.Without(workflows.QueueSearch))
	defer w.Stop()
	quiet := mute.worker(t, l.Namespace, workflows.QueueSearch, -1)
	stopped := mute.worker(t, l.Namespace, workflows.QueueCampaigns, time.Second)
	for _, queue := range []string{workflows.QueueCrawl, workflows.QueueSearch, workflows.QueueCampaigns} {
		require.Eventually(t, func() bool { return workersAt(l, queue, 0) == 1 }, servicetest.Patience(), 50*time.Millisecond, queue)
	}
	require.Equal(t, []string{workflows.QueueDrafts}, unused(0), "a process polls that of the search, or did lately")
	stopped.Stop()
	require.Zero(t, workersAt(l, workflows.QueueCampaigns, 0))

	// The clock of this process is an hour behind that of the worker: that makes it no older.
	skewed := &launch.Launch{Temporal: l.Temporal, Namespace: l.Namespace}
	seen := map[time.Time]bool{}
	require.Eventually(t, func() bool {
		workersAt(l, workflows.QueueCrawl, 0)
		seen[beatOf(t, l, workflows.QueueCrawl)] = true
		return workersAt(skewed, workflows.QueueCrawl, time.Minute) == 1 && len(seen) > 2
	}, servicetest.Patience(), 50*time.Millisecond)

	lost.away()
	const later = 30 * time.Second        // its silence is over then
	workersAt(l, workflows.QueueCrawl, 0) // it sees the last heartbeat
	require.Eventually(t, func() bool { return workersAt(l, workflows.QueueCrawl, later) == 0 }, servicetest.Patience(), 200*time.Millisecond)
	require.Empty(t, unused(later), "who left it out is lost")
	fresh := &launch.Launch{Temporal: l.Temporal, Namespace: l.Namespace}
	require.EqualValues(t, 1, workersAt(fresh, workflows.QueueCrawl, 0), "its last poll is not old, so heartbeats have told it")
	require.EqualValues(t, 1, workersAt(l, workflows.QueueSearch, time.Minute), "it sends none")
	quiet.Stop()
}

// Where no worker has sent a heartbeat, and each would, the only one counts no more once its last poll must have ended.
func TestKilledBeforeAnyHeartbeat(t *testing.T) {
	t.Parallel()
	name := "test-" + uuid.NewString()
	l := &launch.Launch{Temporal: connect(t, name), Namespace: name}
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second, StaleEvery: time.Hour}
	require.NoError(t, b.Apply(t.Context(), l.Temporal))
	workers := func(ahead time.Duration) (n int64) {
		list, err := l.TaskQueues(t.Context(), l.Namespace, time.Now().Add(ahead))
		require.NoError(t, err)
		for _, q := range list {
			if q.Name == workflows.QueueCrawl && q.Type == "workflow" {
				n += q.Workers
			}
		}
		return n
	}
	var lost wire
	w := lost.worker(t, name, workflows.QueueCrawl, -1)
	defer w.Stop()
	require.Eventually(t, func() bool { return workers(0) == 1 }, servicetest.Patience(), 50*time.Millisecond)
	lost.away()
	require.EqualValues(t, 1, workers(time.Minute), "it may be in a poll")
	require.Eventually(t, func() bool { return workers(150*time.Second) == 0 }, servicetest.Patience(), 200*time.Millisecond)
}
