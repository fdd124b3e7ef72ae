package launch

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

// Forget starts the workflow that deletes an advert and all that was made of it, and returns its ID, which names the
// advert by its hash only. One that runs is replaced: it spares an advert that has come back, which a second request is
// about, and its steps may be repeated. When it returns nil the work is durably accepted.
func (l *Launch) Forget(ctx context.Context, ref listing.Ref) (workflowID string, err error) {
	id := "forget/" + ref.ID().String()
	_, err = l.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueListings, StaticSummary: "delete an advert and all that was made of it",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, workflows.ForgetListing, workflows.ForgetInput{Ref: ref})
	return id, fault.Wrap(err, "start %s", id)
}

// EndListing terminates the workflow of an advert. It returns nil also when none is running.
func (l *Launch) EndListing(ctx context.Context, ref listing.Ref) error {
	err := l.Temporal.TerminateWorkflow(ctx, ref.WorkflowID(), "", "the advert is forgotten")
	return over("terminate the workflow of a forgotten advert", err)
}

// DeleteListingRuns deletes the histories of an advert's workflow that have ended, as far as the visibility store of
// Temporal knows them: one that ended a moment ago may be missing. It may be repeated.
func (l *Launch) DeleteListingRuns(ctx context.Context, ref listing.Ref) error {
	query := fmt.Sprintf("WorkflowId = %q AND ExecutionStatus != 'Running'", ref.WorkflowID())
	var page []byte
	for {
		list, err := l.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, NextPageToken: page,
		})
		if err != nil {
			return fmt.Errorf("list the runs of a forgotten advert: %w", err)
		}
		for _, w := range list.GetExecutions() {
			if err := l.deleteRun(ctx, w.GetExecution()); err != nil {
				return err
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return nil
		}
	}
}

func (l *Launch) deleteRun(ctx context.Context, run *commonpb.WorkflowExecution) error {
	_, err := l.Temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: l.Namespace, WorkflowExecution: run,
	})
	return over("delete a run of a forgotten advert", err)
}
