package launch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/workflows"
)

// serve polls for drafts as a build does. Its workflow waits for a signal, and says of which build it ended.
func serve(t *testing.T, c client.Client, deployment, build string) worker.Worker {
	t.Helper()

	w := worker.New(c, workflows.QueueDrafts, worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: deployment, BuildID: build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (string, error) {
		workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
		return build, nil
	}, workflow.RegisterOptions{Name: "Waiting"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return w
}

// A first build becomes current by itself, a second one when it is told to. Workflows that are pinned to the first end
// there, or are moved.
func TestDeployment(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	name := "test-" + uuid.NewString()
	c := connect(t, name)
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: time.Second, StaleEvery: time.Hour}
	require.NoError(t, b.Apply(ctx, c))
	d := launch.Deployment{Temporal: c, Namespace: name, Name: "conveyor"}
	start := func(id string) client.WorkflowRun {
		t.Helper()

		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: workflows.QueueDrafts}, "Waiting")
		require.NoError(t, err)
		return run
	}
	end := func(run client.WorkflowRun) (build string) {
		t.Helper()

		require.NoError(t, c.SignalWorkflow(ctx, run.GetID(), "", "end", nil))
		require.NoError(t, run.Get(ctx, &build))
		return build
	}
	drafts := func() (q backlog.TaskQueue) {
		t.Helper()

		all, err := (&launch.Launch{Temporal: c}).TaskQueues(ctx, name, time.Now())
		require.NoError(t, err)
		for _, q = range all {
			if q.Name == workflows.QueueDrafts && q.Type == backlog.WorkflowTasks {
				break
			}
		}
		return q
	}
	eventually := func(why string, ok func(s launch.DeploymentState) bool) {
		t.Helper()

		var s launch.DeploymentState
		var err error
		if !assertEventually(func() bool {
			s, err = d.State(ctx, time.Now())
			return err == nil && ok(s)
		}) {
			t.Fatalf("%s: %+v %v", why, s, err)
		}
	}

	s, err := d.State(ctx, time.Now())
	require.NoError(t, err)
	require.Empty(t, s.Builds, "no worker has come")
	_, err = d.Begin(ctx, "one")
	require.Error(t, err, "no worker has come")

	one := serve(t, c, "conveyor", "one")
	eventually("it comes", func(s launch.DeploymentState) bool {
		b, ok := s.Build("one")
		return ok && b.State == launch.BuildInactive && b.Workers == 1
	})
	require.Equal(t, int64(1), drafts().Others, "it gets nothing yet")
	require.Zero(t, drafts().Workers)
	current, err := d.Begin(ctx, "one")
	require.NoError(t, err)
	require.Equal(t, "one", current)
	require.True(t, assertEventually(func() bool { return drafts().Build == "one" && drafts().Workers == 1 }))
	first, second := start("first"), start("second")
	eventually("they are pinned", func(s launch.DeploymentState) bool { b, _ := s.Build("one"); return b.Pinned == 2 })

	serve(t, c, "conveyor", "two")
	eventually("it comes", func(s launch.DeploymentState) bool { b, ok := s.Build("two"); return ok && b.Workers == 1 })
	current, err = d.Begin(ctx, "two")
	require.NoError(t, err)
	require.Equal(t, "one", current, "a build does not become current by itself where another one is")
	require.NoError(t, d.Ramp(ctx, "two", 100, false))
	eventually("it ramps", func(s launch.DeploymentState) bool { return s.Ramping == "two" && s.Percent == 100 })
	require.True(t, assertEventually(func() bool { return drafts().Workers == 2 }))
	require.NoError(t, d.Ramp(ctx, "two", 0, false))
	require.NoError(t, d.SetCurrent(ctx, "two", false))
	require.True(t, assertEventually(func() bool { return drafts().Build == "two" }))
	third := start("third")
	require.Equal(t, "two", end(third))
	require.Equal(t, "one", end(first), "it is pinned")

	one.Stop()
	eventually("it drains", func(s launch.DeploymentState) bool {
		b, _ := s.Build("one")
		return s.Current == "two" && b.State == launch.BuildDraining && b.Pinned == 1
	})
	require.True(t, assertEventually(func() bool {
		draining, err := d.Draining(ctx, time.Now())
		require.NoError(t, err)
		return slices.EqualFunc(draining, []backlog.Build{{ID: "one", Pinned: 1}}, func(a, b backlog.Build) bool {
			return a.ID == b.ID && a.Pinned == b.Pinned
		})
	}))
	late, err := d.Draining(ctx, time.Now().Add(time.Hour)) // its worker has polled long ago
	require.NoError(t, err)
	require.Equal(t, []backlog.Build{
		{ID: "one", Pinned: 1, Missing: []string{"drafts workflow", "drafts activity"}},
	}, late)
	require.Error(t, d.SetCurrent(ctx, "three", false), "no worker is of it")
	moved, err := d.Move(ctx, "one")
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	require.Equal(t, "two", end(second))
	require.NoError(t, d.SetCurrent(ctx, "", false))
	current, err = d.Begin(ctx, "two")
	require.NoError(t, err)
	require.Empty(t, current, "an operator wants none")
	eventually("it has drained", func(s launch.DeploymentState) bool {
		b, _ := s.Build("one")
		return b.State == launch.BuildDrained && b.Pinned == 0 && !b.Stuck()
	})
}

func assertEventually(ok func() bool) bool {
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}
