package launch

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/backlog"
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
		if len(q.Workflows) > 0 {
			out = append(out, kind{q.Name, backlog.WorkflowTasks, enums.TASK_QUEUE_TYPE_WORKFLOW})
		}
		if q.Activities {
			out = append(out, kind{q.Name, backlog.ActivityTasks, enums.TASK_QUEUE_TYPE_ACTIVITY})
		}
	}
	return out
}

// gone is how long after its last poll a worker counts as gone. A worker polls at least once a minute, or, while images
// take all its slots, as soon as one of them is done.
const gone = time.Minute + workflows.ImageTimeout

// TaskQueues returns the tasks that wait in Temporal for workers of the namespace: one entry for each kind of tasks of
// each task queue, in the order of workflows.Queues, workflow tasks first. Every error is transient.
func (l *Launch) TaskQueues(ctx context.Context, namespace string, now time.Time) ([]backlog.TaskQueue, error) {
	list := kinds()
	out := make([]backlog.TaskQueue, len(list))
	asking, ctx := errgroup.WithContext(ctx)
	for i, q := range list {
		asking.Go(func() error {
			d, err := l.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: q.queue}, TaskQueueType: q.tasks, ReportStats: true,
			})
			if err != nil {
				return fmt.Errorf("describe task queue %s: %w", q.queue, err)
			}
			s := d.GetStats()
			out[i] = backlog.TaskQueue{
				Name: q.queue, Type: q.called, Backlog: s.GetApproximateBacklogCount(),
				OldestAgeSeconds: s.GetApproximateBacklogAge().AsDuration().Seconds(),
				AddRate:          float64(s.GetTasksAddRate()), DispatchRate: float64(s.GetTasksDispatchRate()),
			}
			for _, p := range d.GetPollers() {
				if now.Sub(p.GetLastAccessTime().AsTime()) < gone {
					out[i].Workers++
				}
			}
			return nil
		})
	}
	return out, asking.Wait()
}
