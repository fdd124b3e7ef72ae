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

// taskQueues are those with tasks of their own, for TaskQueues. Add a task queue here and in package workers.
var taskQueues = []struct {
	name string
	kind enums.TaskQueueType
}{
	{workflows.QueueListings, enums.TASK_QUEUE_TYPE_WORKFLOW}, // its activities are local: they are in no queue
	{workflows.QueueImages, enums.TASK_QUEUE_TYPE_ACTIVITY},
	{workflows.QueueBrowser, enums.TASK_QUEUE_TYPE_ACTIVITY},
	{workflows.QueueDrafts, enums.TASK_QUEUE_TYPE_ACTIVITY},
}

// A worker asks at least once a minute, and when all its slots are taken by images for as long as one may take; who has
// not for longer is gone.
const gone = time.Minute + workflows.ImageTimeout

// TaskQueues says what waits in Temporal for workers of the namespace.
func (l *Launch) TaskQueues(ctx context.Context, namespace string, now time.Time) ([]backlog.TaskQueue, error) {
	out := make([]backlog.TaskQueue, len(taskQueues))
	asking, ctx := errgroup.WithContext(ctx)
	for i, q := range taskQueues {
		asking.Go(func() error {
			d, err := l.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: q.name}, TaskQueueType: q.kind, ReportStats: true,
			})
			if err != nil {
				return fmt.Errorf("describe task queue %s: %w", q.name, err)
			}
			s := d.GetStats()
			out[i] = backlog.TaskQueue{
				Name: q.name, Type: backlog.WorkflowTasks, Backlog: s.GetApproximateBacklogCount(),
				OldestAgeSeconds: s.GetApproximateBacklogAge().AsDuration().Seconds(),
				AddRate:          float64(s.GetTasksAddRate()), DispatchRate: float64(s.GetTasksDispatchRate()),
			}
			if q.kind == enums.TASK_QUEUE_TYPE_ACTIVITY {
				out[i].Type = backlog.ActivityTasks
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
