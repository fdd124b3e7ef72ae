package listing_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

// These IDs join a start to what runs already, so none may ever change.
func TestWorkflowIDs(t *testing.T) {
	t.Parallel()

	ref := listing.Ref{Platform: "kijiji", PlatformID: "1668602387"}
	require.Equal(t, "listing/kijiji/1668602387", ref.WorkflowID())
	require.Equal(t, "listing/kijiji/", listing.Ref{Platform: "kijiji"}.WorkflowID())
	require.Equal(t, "image/"+ref.ID().String()+"/100680ad546ce6a5", ref.ImageActivityID("https://example.com"))
	id := uuid.MustParse("3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11")
	require.Equal(t, "replay/3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11", listing.ReplayWorkflowID(id))
}
