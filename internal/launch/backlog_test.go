package launch_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

// Tasks that no worker polls for wait, and their age is known. Each kind of tasks of a queue has an entry.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	l := open(t)
	name, err := namespace()
	require.NoError(t, err)
	require.NoError(t, l.Listing(t.Context(), newRef(), launch.Arrival{Stage: "normalize"}, ""))
	var got []backlog.TaskQueue
	require.Eventually(t, func() bool {
		got, err = l.TaskQueues(t.Context(), name, time.Now())
		return err == nil && got[0].Backlog > 0 && got[0].OldestAgeSeconds > 0
	}, servicetest.Patience(), 100*time.Millisecond)
	var names []string
	for _, q := range got {
		require.Zero(t, q.Workers, q.Name)
		names = append(names, q.Name+" "+q.Type)
	}
	var want []string
	for _, q := range workflows.Queues {
		if len(q.Workflows)+len(q.Pinned) > 0 {
			want = append(want, q.Name+" workflow")
		}
		if q.Activities {
			want = append(want, q.Name+" activity")
		}
	}
	require.Equal(t, want, names)

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "nowhere")}
	_, err = away.TaskQueues(t.Context(), "nowhere", time.Now())
	require.Error(t, err)
}

// Drafts are served while a worker polls for them, and for some time after its last poll.
func TestDraftsServed(t *testing.T) {
	t.Parallel()
	name := "test-" + uuid.NewString()
	c := connect(t, name)
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second, StaleEvery: time.Hour}
	require.NoError(t, b.Apply(t.Context(), c))
	l := &launch.Launch{Temporal: c}
	require.ErrorContains(t, l.DraftsServed(t.Context()), "no worker polls the task queue drafts")

	w := worker.New(c, workflows.QueueDrafts, worker.Options{})
	w.RegisterWorkflow(workflows.CrawlDraft)
	require.NoError(t, w.Start())
	defer w.Stop()
	require.Eventually(t, func() bool { return l.DraftsServed(t.Context()) == nil }, servicetest.Patience(), 50*time.Millisecond)
	// By a clock that is ahead of Temporal's a poll is no older.
	ahead, err := l.TaskQueues(t.Context(), name, time.Now().Add(time.Hour))
	require.NoError(t, err)
	for _, q := range ahead {
		if q.Name == workflows.QueueDrafts && q.Type == backlog.WorkflowTasks {
			require.EqualValues(t, 1, q.Workers)
		}
	}

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "nowhere")}
	require.Error(t, away.DraftsServed(t.Context()))
}
