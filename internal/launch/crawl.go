package launch

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/workflows"
)

const (
	queueCrawl   = "crawl"
	crawlRun     = "CrawlRun"
	crawlControl = "control"
)

type crawlInput struct {
	RunID  int64 `json:"run_id"`
	Shards int   `json:"shards"`
}

// StartCrawl starts the workflow of a crawl run; started is false where it runs already.
func (l *Launch) StartCrawl(ctx context.Context, r crawl.Run) (started bool, err error) {
	in, o := l.crawlStart(r)
	_, err = l.Temporal.ExecuteWorkflow(ctx, o, crawlRun, in)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("start %s: %w", o.ID, err)
	}
	return true, nil
}

// WakeCrawl has the workflow of a crawl run read its state, and starts it where it does not run.
func (l *Launch) WakeCrawl(ctx context.Context, r crawl.Run) error {
	in, o := l.crawlStart(r)
	if _, err := l.Temporal.SignalWithStartWorkflow(ctx, o.ID, crawlControl, nil, o, crawlRun, in); err != nil {
		return fmt.Errorf("start %s: %w", o.ID, err)
	}
	return nil
}

// SignalCrawl has the workflow of a crawl run read its state. It returns nil also when the workflow has ended or is not
// known.
func (l *Launch) SignalCrawl(ctx context.Context, id int64) error {
	err := l.Temporal.SignalWorkflow(ctx, crawl.WorkflowID(id), "", crawlControl, nil)
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("signal %s: %w", crawl.WorkflowID(id), err)
	}
	return nil
}

// crawlStart is how the workflow of a crawl run is started when none is running.
func (l *Launch) crawlStart(r crawl.Run) (crawlInput, client.StartWorkflowOptions) {
	in := crawlInput{RunID: r.ID, Shards: r.Settings.Shards}
	return in, client.StartWorkflowOptions{
		ID:                                       crawl.WorkflowID(r.ID),
		TaskQueue:                                queueCrawl,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            workflows.Summary(web.Show(r.RootURL), 180),
		TypedSearchAttributes:                    temporal.NewSearchAttributes(workflows.HostKey.ValueSet(web.Host(r.RootURL))),
	}
}
