package launch

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

// A kind is one kind of tasks of a task queue, and its name in reports.
type kind struct {
	queue, called string
	tasks         enums.TaskQueueType
}

// kinds are those of all workflows.Queues. A queue of workflows and activities has two.
func kinds() (out []kind) {
	for _, q := range workflows.Queues {
		if len(q.Functions()) > 0 {
			out = append(out, kind{q.Name, backlog.WorkflowTasks, enums.TASK_QUEUE_TYPE_WORKFLOW})
		}
		if q.Activities {
			out = append(out, kind{q.Name, backlog.ActivityTasks, enums.TASK_QUEUE_TYPE_ACTIVITY})
		}
	}
	return out
}

// remembered is how long after its last poll Temporal knows a process, and counts it among the pollers of a task queue:
// its matching.PollerHistoryTTL. A worker polls at least once a minute, or, while images take all its slots, as soon as
// one of them is done.
const remembered = 5 * time.Minute

// TaskQueues returns the tasks that wait in Temporal for workers of the namespace: one entry for each kind of tasks of
// each task queue, in the order of workflows.Queues, workflow tasks first. A process counts among the workers while
// Temporal knows that it has polled, and its heartbeats have not stopped. A queue that workers leave out, and none was
// seen to serve or has polled lately, is unused while nothing waits in it. Every error is transient.
func (l *Launch) TaskQueues(ctx context.Context, namespace string, now time.Time) ([]backlog.TaskQueue, error) {
	list, err := l.polls(ctx, namespace, now)
	out := make([]backlog.TaskQueue, len(list))
	for i, q := range list {
		s := q.stats
		out[i] = backlog.TaskQueue{
			Name: q.queue, Type: q.called, Backlog: s.GetApproximateBacklogCount(),
			OldestAgeSeconds: s.GetApproximateBacklogAge().AsDuration().Seconds(),
			AddRate:          float64(s.GetTasksAddRate()), DispatchRate: float64(s.GetTasksDispatchRate()),
			Build: q.current.GetBuildId(), Unused: q.leftOut,
		}
		for _, v := range q.builds {
			if q.gets(v) {
				out[i].Workers++
			} else {
				out[i].Others++
			}
		}
		out[i].Restarts = err == nil && l.beats.restarts(q.kind, out[i].Workers > 0, q.lost, now)
	}
	return out, err
}

// polls are the workers of one kind of tasks of a task queue, and what waits for them.
type polls struct {
	kind
	stats            *taskqueue.TaskQueueStats
	current, ramping *deployment.WorkerDeploymentVersion   // that get its tasks; nil = workers without a deployment
	builds           []*deployment.WorkerDeploymentVersion // one a process that has polled lately; nil = without
	leftOut          bool                                  // on purpose: see heard and leaveOut
	polled           bool                                  // lately, by a process that may be gone
	lost             bool                                  // by one of a build that gets its tasks, and it is silent
}

// gets says that processes of a build get the tasks.
func (p polls) gets(v *deployment.WorkerDeploymentVersion) bool {
	return same(v, p.current) || v != nil && same(v, p.ramping)
}

// of counts the processes of a build.
func (p polls) of(name, build string) (n int) {
	for _, v := range p.builds {
		if v != nil && v.GetDeploymentName() == name && v.GetBuildId() == build {
			n++
		}
	}
	return n
}

func same(a, b *deployment.WorkerDeploymentVersion) bool {
	return a.GetDeploymentName() == b.GetDeploymentName() && a.GetBuildId() == b.GetBuildId()
}

// polls asks for all of kinds, in their order.
func (l *Launch) polls(ctx context.Context, namespace string, now time.Time) ([]polls, error) {
	list := kinds()
	out := make([]polls, len(list))
	told := l.listen(ctx, namespace, now)
	asking, ctx := errgroup.WithContext(ctx)
	for i, q := range list {
		asking.Go(func() (err error) {
			defer fault.Survive(&err, "asking for the workers of "+q.queue, nil)
			d, err := l.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: q.queue}, TaskQueueType: q.tasks, ReportStats: true,
			})
			if err != nil {
				return fmt.Errorf("describe task queue %s: %w", q.queue, err)
			}
			v := d.GetVersioningInfo()
			out[i] = polls{kind: q, stats: d.GetStats(), current: v.GetCurrentDeploymentVersion()}
			if v.GetRampingVersionPercentage() > 0 {
				out[i].ramping = v.GetRampingDeploymentVersion()
			}
			for _, p := range d.GetPollers() {
				out[i].polled = true
				v := buildOf(p.GetDeploymentOptions())
				at := place{p.GetIdentity(), q.queue}
				last := p.GetLastAccessTime().AsTime()
				if told.lost(at) || told.unheard(at) && l.beats.stopped(pollOf{q, at.identity}, last, now) {
					out[i].lost = out[i].lost || out[i].gets(v)
				} else {
					out[i].builds = append(out[i].builds, v)
				}
			}
			return nil
		})
	}
	err := asking.Wait()
	leaveOut(out, told.leftOut)
	return out, err
}

// leaveOut marks the task queues that are left out. One that a process has polled lately, or for which tasks wait, is
// missed, also by an API that has started since and never saw its workers alive.
func leaveOut(list []polls, leftOut map[string]bool) {
	used := map[string]bool{}
	for _, p := range list {
		used[p.queue] = used[p.queue] || p.polled || p.stats.GetApproximateBacklogCount() > 0
	}
	for i := range list {
		list[i].leftOut = leftOut[list[i].queue] && !used[list[i].queue]
	}
}

// buildOf is the version of a worker, nil for one that is not versioned.
func buildOf(o *deployment.WorkerDeploymentOptions) *deployment.WorkerDeploymentVersion {
	if o.GetWorkerVersioningMode() != enums.WORKER_VERSIONING_MODE_VERSIONED {
		return nil
	}
	return &deployment.WorkerDeploymentVersion{DeploymentName: o.GetDeploymentName(), BuildId: o.GetBuildId()}
}
