package launch

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/workflows"
)

// StartCrawl starts the workflow of a crawl run; started is false where it runs already.
func (l *Launch) StartCrawl(ctx context.Context, r crawl.Run) (started bool, err error) {
	in, o := l.crawlStart(r)
	return l.join(ctx, o, workflows.CrawlRun, in)
}

// WakeCrawl has the workflow of a crawl run read its state, and starts it where it does not run.
func (l *Launch) WakeCrawl(ctx context.Context, r crawl.Run) error {
	in, o := l.crawlStart(r)
	_, err := l.Temporal.SignalWithStartWorkflow(ctx, o.ID, workflows.ControlSignal, nil, o, workflows.CrawlRun, in)
	return fault.Wrap(err, "start %s", o.ID)
}

// SignalCrawl has the workflow of a crawl run read its state. It returns nil also when the workflow has ended or is not
// known.
func (l *Launch) SignalCrawl(ctx context.Context, id int64) error {
	err := l.Temporal.SignalWorkflow(ctx, crawl.WorkflowID(id), "", workflows.ControlSignal, nil)
	return over("signal "+crawl.WorkflowID(id), err)
}

// crawlStart is how the workflow of a crawl run is started when none is running.
func (l *Launch) crawlStart(r crawl.Run) (workflows.CrawlInput, client.StartWorkflowOptions) {
	seed := web.Show(r.RootURL)
	in := workflows.CrawlInput{RunID: r.ID, Seed: seed, Shards: r.Settings.Shards}
	return in, client.StartWorkflowOptions{
		ID: crawl.WorkflowID(r.ID), TaskQueue: workflows.QueueCrawl, StaticSummary: workflows.Summary(seed, 180),
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.HostKey.ValueSet(web.Host(r.RootURL))),
	}
}
