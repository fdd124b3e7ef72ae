package launch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/launch"
)

// What nobody works on waits, and its age is known.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	l := open(t)
	name, err := namespace()
	require.NoError(t, err)
	require.NoError(t, l.Listing(t.Context(), newRef(), launch.Arrival{Stage: "normalize"}, ""))
	var got []backlog.TaskQueue
	require.Eventually(t, func() bool {
		got, err = l.TaskQueues(t.Context(), name, time.Now())
		return err == nil && got[0].Backlog > 0 && got[0].OldestAgeSeconds > 0
	}, time.Minute, 100*time.Millisecond)
	require.Len(t, got, 4)
	require.Equal(t, "listings", got[0].Name)
	require.Equal(t, backlog.WorkflowTasks, got[0].Type)
	require.Zero(t, got[0].Workers)
	require.Equal(t, "images", got[1].Name)
	require.Equal(t, backlog.ActivityTasks, got[1].Type)
	require.Equal(t, "browser", got[2].Name)
	require.Equal(t, "drafts", got[3].Name)

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "nowhere")}
	_, err = away.TaskQueues(t.Context(), "nowhere", time.Now())
	require.Error(t, err)
}
