package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/workflows"
)

// Failed is a workflow that ended in failure. It has the class of the last error, and is not retried.
type Failed struct {
	WorkflowID, RunID string
	Err               error
}

func (f *Failed) Error() string { return f.Err.Error() }
func (f *Failed) Unwrap() error { return f.Err }

// Draft makes a draft of a page and returns nil when it is stored, by this call or one before. A workflow that fails
// is a *Failed, and a call after that is another run; every other error is transient, and the workflow may still be
// running: call again, which joins it.
func (l *Launch) Draft(ctx context.Context, r draft.Request) error {
	id := draft.WorkflowID(r.EventID)
	host := web.Host(r.URL)
	run, err := l.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueDrafts, EnableEagerStart: !l.Versioned,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Priority:                 temporal.Priority{FairnessKey: workflows.FairnessKey(r.URL)}, // its activities inherit it
		StaticSummary:            workflows.Summary(web.Show(r.URL), 180),
		TypedSearchAttributes:    temporal.NewSearchAttributes(workflows.HostKey.ValueSet(host)),
	}, workflows.CrawlDraft, workflows.DraftInput{Request: r})
	if err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	err = run.Get(ctx, nil) // of the run that this call has started or joined
	if ended, ok := errors.AsType[*temporal.WorkflowExecutionError](err); ok {
		return &Failed{WorkflowID: id, RunID: run.GetRunID(), Err: workflows.Fault(ended)}
	}
	return fault.Wrap(err, "wait for %s", id)
}

// DraftsServed returns nil when a worker has asked for the workflows of drafts lately. Every error is transient.
func (l *Launch) DraftsServed(ctx context.Context) error { return l.served(ctx, workflows.QueueDrafts) }

// served returns nil when a worker has asked for the workflows of a task queue lately: what is lately says Temporal,
// which forgets a poll after remembered. Its time is by Temporal's clock, so our clock cannot tell its age.
func (l *Launch) served(ctx context.Context, queue string) error {
	q, err := l.Temporal.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return fmt.Errorf("describe task queue %s: %w", queue, err)
	}
	if len(q.GetPollers()) == 0 {
		return fmt.Errorf("no worker polls the task queue %s", queue)
	}
	return nil
}

// CancelDraft has the workflow of a crawl request that was canceled in Postgres end at once. It returns nil also when
// the workflow has ended or is not known.
func (l *Launch) CancelDraft(ctx context.Context, event uuid.UUID) error {
	id := draft.WorkflowID(event)
	err := l.Temporal.CancelWorkflow(ctx, id, "")
	return over("cancel "+id, err)
}

// How far the workflow of a crawl request has come.
const (
	DraftUnknown = ""        // there is no such workflow, or its retention is over
	DraftRunning = "running" // its draft is being made
	DraftEnded   = "ended"   // its draft is stored
	DraftFailed  = "failed"  // its message is dead-lettered, or about to be
)

// DraftState returns how far the workflow of a crawl request has come.
func (l *Launch) DraftState(ctx context.Context, event uuid.UUID) (string, error) {
	id := draft.WorkflowID(event)
	d, err := l.Temporal.DescribeWorkflowExecution(ctx, id, "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return DraftUnknown, nil
	case err != nil:
		return "", fmt.Errorf("describe %s: %w", id, err)
	}
	switch d.GetWorkflowExecutionInfo().GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return DraftRunning, nil
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return DraftEnded, nil
	default:
		return DraftFailed, nil
	}
}

// Drafting counts the crawl requests whose workflows run, as visibility knows them: up to a second late.
func (l *Launch) Drafting(ctx context.Context) (int64, error) {
	n, err := l.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", "CrawlDraft"),
	})
	return n.GetCount(), fault.Wrap(err, "count workflows of drafts")
}
