package launch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Tasks that no worker polls for wait, and their age is known. Each kind of tasks of a queue has an entry.
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
	var names []string
	for _, q := range got {
		require.Zero(t, q.Workers, q.Name)
		names = append(names, q.Name+" "+q.Type)
	}
	require.Equal(t, []string{
		"listings workflow", "images activity", "browser activity", "drafts workflow", "drafts activity",
	}, names)

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "nowhere")}
	_, err = away.TaskQueues(t.Context(), "nowhere", time.Now())
	require.Error(t, err)
}
