package listings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
)

// An advert goes from the bridge through the pipeline and out of sight again by roles of their own: what triggers do on
// the way is theirs to do, too.
func TestListingByPartsOfTheApplication(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	bridge, worker := dblistings.NewListings(dbtest.Part(t, pool, "bridge")), dblistings.NewListings(dbtest.Part(t, pool, "listings"))
	l := normalized(refOf("1"))
	receive(t, bridge, arrival(l.Ref, l.Title, 0))
	publish(t, worker, l, 1, 0)
	require.Equal(t, []int{1}, dbtest.Query[int](t, pool, "SELECT count(*)::int FROM saved_queue"))

	receive(t, bridge, arrival(l.Ref, l.Title, 1))
	changed := l
	changed.Title = "Another title"
	publish(t, worker, changed, 2, 1)
	v, err := worker.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.EqualValues(t, 2, v.Revision)
}
