package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// An advert is resumed when nothing runs for it, and its images are fetched apart from it.
func TestResume(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	r := listing.Restart{Ref: ref, Stage: listing.StageNormalize, Revision: 3}
	images := []listing.Image{{URL: "https://media.example/1.jpg"}, {URL: "https://media.example/2.jpg", SortOrder: 1}}
	for n := range 2 {
		started, err := l.ResumeListing(ctx, r)
		require.NoError(t, err)
		require.Equal(t, n == 0, started)
	}
	started, err := l.ResumeImages(ctx, ref, images)
	require.NoError(t, err)
	require.False(t, started, "its workflow fetches them")

	require.NoError(t, l.Temporal.TerminateWorkflow(ctx, ref.WorkflowID(), "", "the test wants it"))
	for range 2 { // the second joins the first
		started, err = l.ResumeImages(ctx, ref, images)
		require.NoError(t, err)
		require.True(t, started)
	}
	started, err = l.ResumeImages(ctx, newRef(), images)
	require.NoError(t, err)
	require.True(t, started, "its workflow is not known any more")
	started, err = l.ResumeListing(ctx, r)
	require.NoError(t, err)
	require.True(t, started)

	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
	_, err = away.ResumeListing(soon(t), r)
	require.ErrorContains(t, err, "start listing/")
	_, err = away.ResumeImages(soon(t), ref, images)
	require.ErrorContains(t, err, "describe listing/")
}
