package launch

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/workflows"
)

// Scraper makes sure that a platform's scraper runs, and that it reads its settings at once. It is idempotent.
func (l *Launch) Scraper(ctx context.Context, platform, summary string) error {
	o := client.StartWorkflowOptions{
		ID: scrape.WorkflowID(platform), TaskQueue: workflows.QueueListings, StaticSummary: summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.PlatformKey.ValueSet(platform)),
	}
	_, err := l.Temporal.SignalWithStartWorkflow(ctx, o.ID, workflows.WakeSignal, nil, o, workflows.ScrapePlatform,
		workflows.ScrapeInput{Platform: platform})
	return fault.Wrap(err, "start %s", o.ID)
}
