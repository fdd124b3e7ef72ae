package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workflows"
)

// TestReplay runs today's code over histories of runs that were made by released code. A failure means that runs which
// are going on at a customer's would get stuck: give the change a GetVersion, or a step its since. Histories are
// recorded with `make replay-fixtures` from the code that is deployed, never from a branch to make this test pass.
func TestReplay(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("testdata/replay/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()

			replay := func(o worker.WorkflowReplayerOptions) error {
				r, err := worker.NewWorkflowReplayerWithOptions(o)
				require.NoError(t, err)
				for _, f := range workflows.All {
					r.RegisterWorkflow(f)
				}
				return r.ReplayWorkflowHistoryFromJSONFile(nil, file)
			}
			require.NoError(t, replay(worker.WorkflowReplayerOptions{}))

			// Tracing may be switched on while runs are going.
			tracing, err := telemetry.TemporalTraces(trace.NewTracerProvider())
			require.NoError(t, err)
			require.NoError(t, replay(worker.WorkflowReplayerOptions{
				Interceptors: []interceptor.WorkerInterceptor{tracing},
			}), "with tracing")
		})
	}
}
