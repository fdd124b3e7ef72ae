package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

// lowPriority is the last of Temporal's five: such a task waits while any other of its queue does. The activities of a
// workflow, such as its images, inherit it.
const lowPriority = 5

// RestartListing takes an advert through the pipeline again, behind all adverts that were scraped. While it is being
// processed the request joins its workflow, at that one's priority.
func (l *Launch) RestartListing(ctx context.Context, r listing.Restart) error {
	return l.listing(ctx, r.Ref, Arrival{Stage: r.Stage, Revision: r.Revision, Force: true}, restartSummary(r),
		temporal.Priority{PriorityKey: lowPriority})
}

func restartSummary(r listing.Restart) string {
	if r.Title == "" {
		return r.Ref.String()
	}
	return AdvertSummary(r.Title, r.RentCents)
}

// Replay starts the workflow of a replay that runs. When it returns nil the work is durably accepted. One ID is one
// replay: a second call joins the workflow of the first, and one that was ended by hand is followed by another.
func (l *Launch) Replay(ctx context.Context, r listing.Replay) error {
	_, err := l.join(ctx, client.StartWorkflowOptions{
		ID: listing.ReplayWorkflowID(r.ID), TaskQueue: workflows.QueueListings, StaticSummary: replaySummary(r),
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.StageKey.ValueSet(r.Stage)),
	}, workflows.Replay, workflows.ReplayInput{Replay: r})
	return err
}

// replaySummary describes a replay in a line, for the Web UI.
func replaySummary(r listing.Replay) string {
	words := []string{"from " + r.Stage}
	if r.Filter.Platform != "" {
		words = append(words, r.Filter.Platform)
	}
	words = append(words, r.Filter.Status...)
	if n := len(r.Filter.IDs); n > 0 {
		words = append(words, fmt.Sprintf("%d listings by ID", n))
	}
	return workflows.Summary(strings.Join(append(words, fmt.Sprintf("%d a second", r.Rate)), " · "), 200)
}

// CancelReplay cancels a replay's workflow. It returns nil also when the workflow has ended or is not known any more.
func (l *Launch) CancelReplay(ctx context.Context, id uuid.UUID) error {
	err := l.Temporal.CancelWorkflow(ctx, listing.ReplayWorkflowID(id), "")
	return over("cancel "+listing.ReplayWorkflowID(id), err)
}

// stalenessByHand is the ID of a check that an operator has started.
const stalenessByHand = "staleness-by-hand"

// ArchiveStale starts a check for stale listings now and returns the ID of its workflow. A check that runs already,
// started by the schedule or by an operator, is joined.
func (l *Launch) ArchiveStale(ctx context.Context) (workflowID string, joined bool, err error) {
	d, err := l.Temporal.ScheduleClient().GetHandle(ctx, stalenessSchedule).Describe(ctx)
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone): // not bootstrapped with a schedule: an operator may check all the same
	case err != nil:
		return "", false, fmt.Errorf("describe schedule %s: %w", stalenessSchedule, err)
	default:
		for _, w := range d.Info.RunningWorkflows { // as the schedule knows them, which may be out of date
			if l.runs(ctx, w.WorkflowID) {
				return w.WorkflowID, true, nil
			}
		}
	}
	started, err := l.join(ctx, client.StartWorkflowOptions{
		ID: stalenessByHand, TaskQueue: workflows.QueueListings, StaticSummary: "started by an operator",
	}, workflows.ArchiveStale, workflows.StaleInput{})
	if err != nil {
		return "", false, err
	}
	return stalenessByHand, !started, nil
}

// runs reports whether a workflow is running, as far as Temporal answers.
func (l *Launch) runs(ctx context.Context, id string) bool {
	d, err := l.Temporal.DescribeWorkflowExecution(ctx, id, "")
	return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}
