package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

// ResumeListing starts the workflow of an advert whose run has ended before it was finished, behind all adverts that
// were scraped. One that is running is left alone: it will finish the advert.
func (l *Launch) ResumeListing(ctx context.Context, r listing.Restart) (started bool, err error) {
	in, o := l.listingStart(r.Ref, Arrival{Stage: r.Stage, Revision: r.Revision}, restartSummary(r),
		temporal.Priority{PriorityKey: lowPriority})
	return l.join(ctx, o, workflows.Listing, in)
}

// ResumeImages fetches images of a listing whose run has ended before they were settled, each in an activity of its
// own; one that is being fetched so already is joined. While the listing's workflow runs nothing is started: that
// fetches them.
func (l *Launch) ResumeImages(ctx context.Context, ref listing.Ref, images []listing.Image) (started bool, err error) {
	d, err := l.Temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID(), "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none): // its retention is over
	case err != nil:
		return false, fmt.Errorf("describe %s: %w", ref.WorkflowID(), err)
	case d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return false, nil
	}
	for _, image := range images {
		if err := l.Image(ctx, ImageJob{Ref: ref, Image: image}, time.Time{}); err != nil {
			return started, err
		}
		started = true
	}
	return started, nil
}
