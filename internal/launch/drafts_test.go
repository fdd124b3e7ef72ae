package launch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

// A flood of one host does not hold up the only page of another, and a page that hangs can be canceled.
func TestDraftsTakeTurns(t *testing.T) {
	t.Parallel()
	name := "test-" + uuid.NewString()
	c := connect(t, name)
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second, StaleEvery: time.Hour}
	require.NoError(t, b.Apply(t.Context(), c))
	l := &launch.Launch{Temporal: c}
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	defer cancel()

	const flood = 20
	var events []uuid.UUID
	var done sync.WaitGroup
	ask := func(url string) {
		id := uuid.New()
		events = append(events, id)
		done.Go(func() {
			assert.NoError(t, l.Draft(ctx, draft.Request{EventID: id, URL: url}))
		})
		require.Eventually(t, func() bool {
			state, err := l.DraftState(ctx, id)
			return err == nil && state == launch.DraftRunning
		}, servicetest.Patience(), 5*time.Millisecond)
	}
	for n := range flood {
		ask(fmt.Sprintf("https://flood.example/%d", n))
	}
	ask("https://single.example/")

	queued, hung := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var order []string
	w := worker.New(c, workflows.QueueDrafts, worker.Options{MaxConcurrentActivityExecutionSize: 1})
	w.RegisterWorkflow(workflows.CrawlDraft)
	for name, f := range map[string]any{
		"CheckDevtools": func(ctx context.Context, r draft.Request) (draft.Request, error) {
			select {
			case <-queued:
			case <-ctx.Done():
			}
			return r, ctx.Err()
		},
		"ResolveOutDir": func(_ context.Context, r draft.Request) (draft.Request, error) { return r, nil },
		"RunCrawler": func(_ context.Context, r draft.Request) (draft.Result, error) {
			mu.Lock()
			order = append(order, r.URL)
			mu.Unlock()
			if strings.Contains(r.URL, "hang") {
				<-hung
			}
			return draft.Result{Request: r, Outcome: draft.Succeeded}, nil
		},
		"PersistDraft": func(_ context.Context, r draft.Result) (activities.Persisted, error) {
			return activities.Persisted{DraftID: draft.ID(r.EventID)}, nil
		},
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	require.NoError(t, w.Start())
	defer w.Stop()
	defer close(hung)
	for _, id := range events { // all wait for the only slot, which the first one keeps
		require.Eventually(t, func() bool {
			d, err := c.DescribeWorkflowExecution(ctx, draft.WorkflowID(id), "")
			return err == nil && len(d.GetPendingActivities()) == 1
		}, servicetest.Patience(), 5*time.Millisecond)
	}
	close(queued)
	done.Wait()
	require.Len(t, order, flood+1)
	require.Less(t, slices.Index(order, "https://single.example/"), flood/2, "it waits for the flood: %s", order)

	id, ended := uuid.New(), make(chan error, 1)
	go func() { ended <- l.Draft(ctx, draft.Request{EventID: id, URL: "https://single.example/hang"}) }()
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(order) == flood+2
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, l.CancelDraft(ctx, id))
	var failed *launch.Failed
	require.ErrorAs(t, <-ended, &failed)
	state, err := l.DraftState(ctx, id)
	require.NoError(t, err)
	require.Equal(t, launch.DraftFailed, state)
	for _, other := range []uuid.UUID{id, events[0], uuid.New()} {
		require.NoError(t, l.CancelDraft(ctx, other), "there is nothing to cancel")
	}
}
