package workflows_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workflows"
)

// unreleased are the workflows that no release has yet: they need no history.
var unreleased = map[string]bool{}

// A workflow has a history, or an unguarded change of it would pass.
func TestReplayKnowsAllWorkflows(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("testdata/replay/*.json")
	require.NoError(t, err)
	known := maps.Clone(unreleased)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		h, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
		require.NoError(t, err)
		known[h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
	}
	for _, f := range workflows.All {
		_, name, _ := strings.Cut(filepath.Base(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()), ".")
		require.True(t, known[name], "%s has no history: record one, or name it in unreleased", name)
	}
}

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
