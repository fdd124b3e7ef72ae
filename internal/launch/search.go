package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/workflows"
)

// Indexed is what became of a batch of crawled pages.
type Indexed struct {
	WorkflowID, RunID string
	Refused           map[uuid.UUID]string // why a message can never be stored
	Full              bool                 // the index should be compacted
}

// IndexPages stores the messages of the inbox that have these keys, and returns when each is findable or refused. It
// joins a batch of the same keys that is being stored. Every error is transient: a batch is tried until it is stored,
// and one whose workflow was ended by an operator may begin anew.
func (l *Launch) IndexPages(ctx context.Context, keys []uuid.UUID, hosts []string) (Indexed, error) {
	keys = search.DistinctKeys(keys)
	o := client.StartWorkflowOptions{
		ID: search.IndexWorkflowID(keys), TaskQueue: workflows.QueueSearch, EnableEagerStart: !l.Versioned,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
	if len(hosts) > 0 {
		o.StaticSummary = workflows.IndexSummary(hosts)
	}
	run, err := l.Temporal.ExecuteWorkflow(ctx, o, workflows.IndexPages, workflows.IndexInput{Keys: keys})
	if err != nil {
		return Indexed{}, fmt.Errorf("start %s: %w", o.ID, err)
	}
	var done workflows.StoredPages
	if err := run.Get(ctx, &done); err != nil { // of the run that this call has started or joined
		return Indexed{}, fmt.Errorf("wait for %s: %w", o.ID, err)
	}
	out := Indexed{WorkflowID: o.ID, RunID: run.GetRunID(), Refused: map[uuid.UUID]string{}, Full: done.Full}
	for _, r := range done.Refused {
		out.Refused[r.Key] = r.Reason
	}
	return out, nil
}

// SearchServed returns nil when a worker has asked for the workflows of the search lately. Every error is transient.
func (l *Launch) SearchServed(ctx context.Context) error { return l.served(ctx, workflows.QueueSearch) }

// CompactIndex merges segments of the index, unless that is being done.
func (l *Launch) CompactIndex(ctx context.Context) error {
	_, err := l.join(ctx, client.StartWorkflowOptions{
		ID: search.CompactWorkflowID, TaskQueue: workflows.QueueSearch,
	}, workflows.CompactIndex, workflows.CompactInput{})
	return err
}

// ReindexPages starts writing all pages to an engine anew and returns the ID of the workflow. One that is running is
// joined, whichever engine it writes to.
func (l *Launch) ReindexPages(ctx context.Context, to string) (workflowID string, joined bool, err error) {
	return l.startSearchWork(ctx, search.ReindexWorkflowID, "to "+to, workflows.ReindexPages,
		workflows.ReindexInput{To: to})
}

// DeletePages starts the deletion of the pages of a site and its subdomains, and returns the ID of the workflow. One of
// the same site that is running is joined.
func (l *Launch) DeletePages(ctx context.Context, site string) (workflowID string, joined bool, err error) {
	return l.startSearchWork(ctx, search.DeleteWorkflowID(site), workflows.Summary(site, 200), workflows.DeletePages,
		workflows.DeletePagesInput{Site: site})
}

func (l *Launch) startSearchWork(
	ctx context.Context, id, summary string, workflow, in any,
) (workflowID string, joined bool, err error) {
	started, err := l.join(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueSearch, StaticSummary: summary,
	}, workflow, in)
	if err != nil {
		return "", false, err
	}
	return id, !started, nil
}

// Reindexing is how far the newest re-index has come.
type Reindexing struct {
	To         string // the engine
	Pages      int    // that were written
	Failed     int    // that the engine refused
	Running    bool
	Ended      bool   // all pages were written
	Error      string // why it failed
	Started    time.Time
	Closed     time.Time // zero while it is running
	WorkflowID string
	RunID      string
}

// Reindexing returns how far the newest re-index has come; ok is false when Temporal remembers none.
func (l *Launch) Reindexing(ctx context.Context) (r Reindexing, ok bool, err error) {
	const id = search.ReindexWorkflowID
	d, err := l.Temporal.DescribeWorkflowExecution(ctx, id, "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return r, false, nil
	case err != nil:
		return r, false, fmt.Errorf("describe %s: %w", id, err)
	}
	about := d.GetWorkflowExecutionInfo()
	r = Reindexing{
		WorkflowID: id, RunID: about.GetExecution().GetRunId(), Started: about.GetStartTime().AsTime(),
		Running: about.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}
	if about.GetFirstRunId() != "" && about.GetExecutionTime() != nil {
		r.Started = about.GetExecutionTime().AsTime()
	}
	if !r.Running {
		r.Closed = about.GetCloseTime().AsTime()
	}
	answer, err := l.Temporal.QueryWorkflow(ctx, id, r.RunID, workflows.ReindexQuery)
	var p workflows.Reindexed
	if err == nil {
		err = answer.Get(&p)
	}
	if err != nil {
		return r, false, fmt.Errorf("query %s: %w", id, err)
	}
	r.To, r.Pages, r.Failed, r.Ended = p.To, p.Pages, p.Failed, p.Ended
	if about.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_FAILED {
		if err := l.Temporal.GetWorkflow(ctx, id, r.RunID).Get(ctx, nil); err != nil {
			r.Error = workflows.Fault(err).Error()
		}
	}
	return r, true, nil
}
