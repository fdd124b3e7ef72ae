package launch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A restart comes after all adverts that were scraped, and joins a run that is there.
func TestRestartListing(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	rent := int64(150_000)
	r := listing.Restart{Ref: ref, Stage: listing.StageDedupe, Revision: 3, Title: "Beau 4½", RentCents: &rent}
	require.NoError(t, l.RestartListing(ctx, r))
	require.NoError(t, l.RestartListing(ctx, r))
	d, err := l.Temporal.DescribeWorkflow(ctx, ref.WorkflowID(), "")
	require.NoError(t, err)
	summary, err := d.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "Beau 4½ · 1500 $", summary)

	signals := 0
	events := l.Temporal.GetWorkflowHistory(ctx, ref.WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if e.GetWorkflowExecutionSignaledEventAttributes() != nil {
			signals++
		}
		if start := e.GetWorkflowExecutionStartedEventAttributes(); start != nil {
			require.EqualValues(t, 5, start.GetPriority().GetPriorityKey())
			require.False(t, start.GetEagerExecutionAccepted())
			var in struct{ Arrival launch.Arrival }
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(start.GetInput(), &in))
			require.Equal(t, launch.Arrival{Stage: listing.StageDedupe, Revision: 3, Force: true}, in.Arrival)
		}
	}
	require.Equal(t, 1, signals)

	unknown := listing.Restart{Ref: newRef(), Stage: listing.StageNormalize, Revision: 1}
	require.NoError(t, l.RestartListing(ctx, unknown))
	d, err = l.Temporal.DescribeWorkflow(ctx, unknown.Ref.WorkflowID(), "")
	require.NoError(t, err)
	summary, err = d.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, unknown.Ref.String(), summary)
}

// One ID is one replay. Its workflow is started again after it was ended by hand; cancelling one that is not there is no error.
func TestReplay(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	r := listing.Replay{
		ID: uuid.New(), Stage: listing.StageNormalize, Rate: 20, By: "olga",
		Filter: listing.ReplayFilter{Platform: "kijiji", Status: []string{"rejected"}, IDs: []uuid.UUID{uuid.New()}},
	}
	require.NoError(t, l.Replay(ctx, r))
	before, err := l.Temporal.DescribeWorkflow(ctx, "replay/"+r.ID.String(), "")
	require.NoError(t, err)
	require.Equal(t, "Replay", before.WorkflowType.Name)
	summary, err := before.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "from normalize · kijiji · rejected · 1 listings by ID · 20 a second", summary)
	require.NotContains(t, summary, r.By)
	require.NoError(t, l.Replay(ctx, r))
	joined, err := l.Temporal.DescribeWorkflow(ctx, listing.ReplayWorkflowID(r.ID), "")
	require.NoError(t, err)
	require.Equal(t, before.WorkflowExecution.RunID, joined.WorkflowExecution.RunID)
	require.NoError(t, l.CancelReplay(ctx, r.ID))
	require.NoError(t, l.Temporal.TerminateWorkflow(ctx, listing.ReplayWorkflowID(r.ID), "", "the test has seen enough"))
	require.NoError(t, l.Replay(ctx, r))
	after, err := l.Temporal.DescribeWorkflow(ctx, listing.ReplayWorkflowID(r.ID), "")
	require.NoError(t, err)
	require.NotEqual(t, before.WorkflowExecution.RunID, after.WorkflowExecution.RunID, "it was ended by hand")
	require.NoError(t, l.CancelReplay(ctx, r.ID))
	require.NoError(t, l.CancelReplay(ctx, uuid.New()))
	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
	require.ErrorContains(t, away.Replay(soon(t), r), "start replay/")
	require.ErrorContains(t, away.CancelReplay(soon(t), r.ID), "cancel replay/")
}

// soon is a context that ends soon.
func soon(t *testing.T) context.Context {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// A check that runs is joined, whether an operator or the schedule started it.
func TestArchiveStale(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context() // there are no workers: started workflows stay running
	id, joined, err := l.ArchiveStale(ctx)
	require.NoError(t, err)
	require.Equal(t, "staleness-by-hand", id)
	require.False(t, joined)
	id, joined, err = l.ArchiveStale(ctx)
	require.NoError(t, err)
	require.Equal(t, "staleness-by-hand", id)
	require.True(t, joined)

	require.NoError(t, l.Temporal.ScheduleClient().GetHandle(ctx, "staleness").Trigger(ctx, client.ScheduleTriggerOptions{}))
	require.Eventually(t, func() bool {
		id, joined, err = l.ArchiveStale(ctx)
		return err == nil && joined && strings.HasPrefix(id, "staleness-2")
	}, servicetest.Patience(), 200*time.Millisecond)
	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
	_, _, err = away.ArchiveStale(soon(t))
	require.Error(t, err)
}
