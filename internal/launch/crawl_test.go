package launch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/launch"
)

// One run has one workflow at a time. A change wakes it, and starts it again where it has ended.
func TestCrawl(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	r := crawl.Run{ID: time.Now().UnixNano(), RootURL: "https://example.org:8443/a?token=x", Settings: crawl.Settings{Shards: 3}}
	id := crawl.WorkflowID(r.ID)
	require.NoError(t, l.SignalCrawl(ctx, r.ID), "it is not there")
	started, err := l.StartCrawl(ctx, r)
	require.NoError(t, err)
	require.True(t, started)
	started, err = l.StartCrawl(ctx, r)
	require.NoError(t, err)
	require.False(t, started)
	require.NoError(t, l.WakeCrawl(ctx, r))
	require.NoError(t, l.SignalCrawl(ctx, r.ID))

	d, err := l.Temporal.DescribeWorkflow(ctx, id, "")
	require.NoError(t, err)
	require.Equal(t, []string{"CrawlRun", "crawl"}, []string{d.WorkflowType.Name, d.TaskQueueName})
	summary, err := d.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "https://example.org:8443/a?…", summary)
	for key, value := range d.TypedSearchAttributes.GetUntypedValues() {
		require.Equal(t, []any{"ConveyorHost", "example.org"}, []any{key.GetName(), value})
	}
	signals := 0
	events := l.Temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if s := e.GetWorkflowExecutionSignaledEventAttributes(); s != nil {
			require.Equal(t, "control", s.GetSignalName())
			signals++
		}
		if start := e.GetWorkflowExecutionStartedEventAttributes(); start != nil {
			var in map[string]any
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(start.GetInput(), &in))
			require.EqualValues(t, 3, in["shards"])
			require.Equal(t, "https://example.org:8443/a?…", in["seed"])
		}
	}
	require.Equal(t, 2, signals)

	for _, again := range []func() error{
		func() error { return l.WakeCrawl(ctx, r) },
		func() error { _, err := l.StartCrawl(ctx, r); return err },
	} {
		require.NoError(t, l.Temporal.TerminateWorkflow(ctx, id, "", "the test has seen enough"))
		require.NoError(t, l.SignalCrawl(ctx, r.ID), "it has ended")
		require.NoError(t, again())
		now, err := l.Temporal.DescribeWorkflow(ctx, id, "")
		require.NoError(t, err)
		require.NotEqual(t, d.WorkflowExecution.RunID, now.WorkflowExecution.RunID)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, now.Status)
	}

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
	_, err = away.StartCrawl(soon(t), r)
	require.ErrorContains(t, err, "start crawl-run/")
	require.ErrorContains(t, away.WakeCrawl(soon(t), r), "start crawl-run/")
	require.ErrorContains(t, away.SignalCrawl(soon(t), r.ID), "signal crawl-run/")
}
