package e2e

import (
	"github.com/google/uuid"
	batch "go.temporal.io/api/batch/v1"
	common "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/emptypb"
)

func count(namespace, query string) *workflowservice.CountWorkflowExecutionsRequest {
	return &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query}
}

func countRunning(namespace string) *workflowservice.CountWorkflowExecutionsRequest {
	return count(namespace, `ExecutionStatus="Running"`)
}

// resetAllFailed is the request that the CLI sends for temporal workflow reset --query 'WorkflowType="Listing" AND
// ExecutionStatus="Failed"' --type FirstWorkflowTask.
func resetAllFailed(namespace string) *workflowservice.StartBatchOperationRequest {
	return &workflowservice.StartBatchOperationRequest{
		Namespace: namespace, JobId: uuid.NewString(), Reason: "a rule has changed",
		VisibilityQuery: `WorkflowType="Listing" AND ExecutionStatus="Failed"`,
		Operation: &workflowservice.StartBatchOperationRequest_ResetOperation{
			ResetOperation: &batch.BatchOperationReset{
				Options: &common.ResetOptions{
					Target: &common.ResetOptions_FirstWorkflowTask{FirstWorkflowTask: new(emptypb.Empty)},
				},
			},
		},
	}
}
