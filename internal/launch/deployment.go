package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Deployment is a Worker Deployment of Temporal: the builds of the workers that share a name. New workflows, and
// those that are not pinned, go to the build that is current.
type Deployment struct {
	Temporal  client.Client
	Namespace string
	Name      string // as in CONVEYOR_DEPLOYMENT
}

// The states of a build.
const (
	BuildCurrent  = "current"  // it gets new workflows, and the next tasks of all that are not pinned
	BuildRamping  = "ramping"  // it gets a share of them
	BuildDraining = "draining" // it was current or ramping, and workflows may be pinned to it
	BuildDrained  = "drained"  // no open workflow is pinned to it: its workers may be stopped
	BuildInactive = "inactive" // it was never current or ramping
)

// DeploymentState is a Deployment as Temporal has it.
type DeploymentState struct {
	Name    string  `json:"name"`
	Current string  `json:"current"` // build; "" = none: new workflows go to workers without a deployment
	Ramping string  `json:"ramping"` // build; "" = none
	Percent float32 `json:"percent"` // of new and unpinned workflows that the ramping one gets
	Builds  []Build `json:"builds"`  // the newest first
}

// A Build is one version of a Deployment.
type Build struct {
	ID        string    `json:"id"`
	State     string    `json:"state"` // current ramping draining drained inactive
	CreatedAt time.Time `json:"created_at"`
	Workers   int       `json:"workers"` // processes that have polled lately; of the task queue that has the most
	Missing   []string  `json:"missing"` // its task queues that no process polls, as "listings workflow"
	Pinned    int64     `json:"pinned"`  // open workflows that only this build goes on with
}

// Stuck reports whether work waits for workers of the build, and there are none for it.
func (b Build) Stuck() bool {
	switch b.State {
	case BuildCurrent, BuildRamping:
		return len(b.Missing) > 0
	}
	return b.Pinned > 0 && len(b.Missing) > 0
}

// Build returns a build of the state.
func (s DeploymentState) Build(id string) (Build, bool) {
	n := slices.IndexFunc(s.Builds, func(b Build) bool { return b.ID == id })
	if n < 0 {
		return Build{}, false
	}
	return s.Builds[n], true
}

// State describes the deployment. One that no worker has reported yet has no builds. Every error is transient.
func (d Deployment) State(ctx context.Context, now time.Time) (DeploymentState, error) {
	s, err := d.routes(ctx)
	if err != nil || len(s.Builds) == 0 {
		return s, err
	}
	return s, d.look(ctx, s.Builds, now)
}

// routes says which builds there are, and which one is current. Their workers, and what is pinned to them, are left
// open.
func (d Deployment) routes(ctx context.Context) (DeploymentState, error) {
	s := DeploymentState{Name: d.Name, Builds: []Build{}}
	have, err := d.handle().Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("describe deployment %s: %w", d.Name, err)
	}
	routing := have.Info.RoutingConfig
	if v := routing.CurrentVersion; v != nil {
		s.Current = v.BuildID
	}
	if v := routing.RampingVersion; v != nil {
		s.Ramping, s.Percent = v.BuildID, routing.RampingVersionPercentage
	}
	for _, v := range have.Info.VersionSummaries {
		b := Build{ID: v.Version.BuildID, CreatedAt: v.CreateTime.UTC(), Missing: []string{}}
		b.State = s.stateOf(b.ID, v.DrainageStatus)
		s.Builds = append(s.Builds, b)
	}
	slices.SortStableFunc(s.Builds, func(a, b Build) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return s, nil
}

// Draining returns the builds to which open workflows are pinned though they are not current any more. Every error is
// transient.
func (d Deployment) Draining(ctx context.Context, now time.Time) (list []backlog.Build, err error) {
	s, err := d.routes(ctx)
	if err != nil {
		return nil, err
	}
	s.Builds = slices.DeleteFunc(s.Builds, func(b Build) bool { return b.State != BuildDraining })
	if len(s.Builds) == 0 {
		return nil, nil
	}
	if err := d.look(ctx, s.Builds, now); err != nil {
		return nil, err
	}
	for _, b := range s.Builds {
		if b.Pinned > 0 {
			list = append(list, backlog.Build{ID: b.ID, Pinned: b.Pinned, Missing: b.Missing})
		}
	}
	return list, nil
}

func (s DeploymentState) stateOf(build string, drainage client.WorkerDeploymentVersionDrainageStatus) string {
	switch {
	case build == s.Current:
		return BuildCurrent
	case build == s.Ramping:
		return BuildRamping
	case drainage == client.WorkerDeploymentVersionDrainageStatusDraining:
		return BuildDraining
	case drainage == client.WorkerDeploymentVersionDrainageStatusDrained:
		return BuildDrained
	}
	return BuildInactive
}

// look counts the workers of builds, and what is pinned to them.
func (d Deployment) look(ctx context.Context, builds []Build, now time.Time) error {
	polled, err := (&Launch{Temporal: d.Temporal}).polls(ctx, d.Namespace, now)
	if err != nil {
		return err
	}
	for i := range builds {
		if err := d.lookAt(ctx, &builds[i], polled); err != nil {
			return err
		}
	}
	return nil
}

func (d Deployment) lookAt(ctx context.Context, b *Build, polled []polls) error {
	v, err := d.handle().DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: b.ID})
	if err != nil {
		return fmt.Errorf("describe build %s: %w", b.ID, err)
	}
	for _, q := range polled {
		workers := q.of(d.Name, b.ID)
		b.Workers = max(b.Workers, workers)
		served := slices.ContainsFunc(v.Info.TaskQueuesInfos, func(i client.WorkerDeploymentTaskQueueInfo) bool {
			return i.Name == q.queue && enums.TaskQueueType(i.Type) == q.tasks
		})
		if served && workers == 0 {
			b.Missing = append(b.Missing, q.queue+" "+q.called)
		}
	}
	if b.State == BuildInactive || b.State == BuildDrained {
		return nil
	}
	n, err := d.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: d.Namespace, Query: d.pinned(b.ID),
	})
	if err != nil {
		return fmt.Errorf("count the workflows of build %s: %w", b.ID, err)
	}
	b.Pinned = n.GetCount()
	return nil
}

// pinned is the query for the open workflows that are pinned to a build. Visibility is up to a second late.
func (d Deployment) pinned(build string) string {
	return fmt.Sprintf(`TemporalWorkerDeploymentVersion = '%s:%s' AND TemporalWorkflowVersioningBehavior = 'Pinned'`+
		` AND ExecutionStatus = 'Running'`, d.Name, strings.ReplaceAll(build, "'", `\'`))
}

func (d Deployment) handle() client.WorkerDeploymentHandle {
	return d.Temporal.WorkerDeploymentClient().GetHandle(d.Name)
}

// Begin makes a build current if none ever was, as at the first start with a deployment, and returns the current one:
// "" when an operator has sent the work to workers without a deployment. Several processes may call it at once: one of
// them succeeds. Until a worker of the build has polled, its error is transient.
func (d Deployment) Begin(ctx context.Context, build string) (current string, err error) {
	have, err := d.handle().Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return "", fmt.Errorf("describe deployment %s: %w", d.Name, err)
	}
	if v := have.Info.RoutingConfig.CurrentVersion; v != nil {
		return v.BuildID, nil
	}
	if !have.Info.RoutingConfig.CurrentVersionChangedTime.IsZero() {
		return "", nil
	}
	_, err = d.handle().SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{
		BuildID: build, ConflictToken: have.ConflictToken,
	})
	return build, fault.Wrap(err, "make build %s current", build)
}

// SetCurrent makes a build current; with "" the work goes to workers without a deployment. It is refused while the build lacks workers for a task queue of the one before,
// unless force is set.
func (d Deployment) SetCurrent(ctx context.Context, build string, force bool) error {
	_, err := d.handle().SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{
		BuildID: build, IgnoreMissingTaskQueues: force, AllowNoPollers: force,
	})
	switch {
	case err != nil && build == "":
		return fmt.Errorf("make no build current: %w", err)
	case err != nil:
		return fmt.Errorf("make build %s current: %w", build, err)
	}
	return nil
}

// Ramp sends a share of the work, 0 to 100 percent, to a build beside the current one. At 0 it gets no more.
func (d Deployment) Ramp(ctx context.Context, build string, percent float32, force bool) error {
	if percent == 0 {
		build = ""
	}
	_, err := d.handle().SetRampingVersion(ctx, client.WorkerDeploymentSetRampingVersionOptions{
		BuildID: build, Percentage: percent, IgnoreMissingTaskQueues: force, AllowNoPollers: force,
	})
	return fault.Wrap(err, "ramp build %s", build)
}

// Move has the workflows that are pinned to a build go on with the current one, and returns how many it has told. One
// that did what the current release does otherwise waits with an error until it is moved back, or reset.
func (d Deployment) Move(ctx context.Context, build string) (moved int, err error) {
	var page []byte
	for {
		list, err := d.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: d.Namespace, Query: d.pinned(build), PageSize: 500, NextPageToken: page,
		})
		if err != nil {
			return moved, fmt.Errorf("list the workflows of build %s: %w", build, err)
		}
		for _, w := range list.GetExecutions() {
			_, err := d.Temporal.UpdateWorkflowExecutionOptions(ctx, client.UpdateWorkflowExecutionOptionsRequest{
				WorkflowId: w.GetExecution().GetWorkflowId(), RunId: w.GetExecution().GetRunId(),
				WorkflowExecutionOptionsChanges: client.WorkflowExecutionOptionsChanges{
					VersioningOverride: &client.VersioningOverrideChange{Value: &client.AutoUpgradeVersioningOverride{}},
				},
			})
			var ended *serviceerror.NotFound
			switch {
			case errors.As(err, &ended):
			case err != nil:
				return moved, fmt.Errorf("move workflow %s: %w", w.GetExecution().GetWorkflowId(), err)
			default:
				moved++
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return moved, nil
		}
	}
}
