package listings_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A claim outlasts staleness and scrapes; each change of it is told, recorded and in the history, once.
func TestClaim(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	imported(t, s, "1")
	claim := func(claimed, changed bool) {
		t.Helper()
		got, err := s.Claim(t.Context(), refOf("1"), claimed, "ops", dbtest.After(61))
		require.NoError(t, err)
		require.Equal(t, changed, got)
	}
	status := func() string { return dbtest.Query[string](t, pool, "SELECT status FROM listings")[0] }
	claim(false, false)
	claim(true, true)
	claim(true, false)
	archive(t, s, 0)
	require.Equal(t, "claimed", status())
	claim(false, true)
	require.Equal(t, "active", status())
	archive(t, s, 1)
	claim(true, true)
	require.Equal(t, "claimed", status(), "an archived listing can be claimed")

	require.Equal(t, []string{"active claimed", "claimed active", "active archived", "archived claimed"},
		dbtest.Query[string](t, pool, "SELECT old_status || ' ' || new_status FROM listing_events WHERE kind = 'status' ORDER BY id"))
	require.Equal(t, []string{"listings.claimed", "listings.unclaimed", "listings.archived", "listings.claimed"},
		dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox WHERE routing_key ~ 'claim|archive' ORDER BY id"))
	require.Equal(t, []string{"ops listing.claimed", "ops listing.unclaimed", "ops listing.claimed"},
		dbtest.Query[string](t, pool, "SELECT actor || ' ' || action FROM audit ORDER BY id"))

	_, err := s.Claim(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "2"}, true, "ops", dbtest.After(61))
	require.Equal(t, fault.Gone, fault.ClassOf(err), "%v", err)
}

// A listing that is taken over as claimed is so from its first publication, beside another advert of its home, and is
// told of as claimed; once that is lifted, its advert does not claim it again.
func TestPublishClaimed(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	pass(t, s, flat("kangalou", 1), 0)
	l := flat("kijiji", 1)
	a := arrival(l.Ref, l.Title, 1)
	a.Payload = []byte(`{"claimed": true}`)
	_, err := s.ReceiveStaged(t.Context(), a, 0, l, dbtest.After(1))
	require.NoError(t, err)
	first, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	require.True(t, first.Claimed)
	require.False(t, again(t, s, l, 1).Hidden)
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool), "a claimed one is shown before others")
	told := func() []string {
		return slices.Compact(dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox "+
			"WHERE routing_key ~ 'claim|publish' AND lane = 'kijiji' ORDER BY id"))
	}
	require.Equal(t, []string{"listings.published", "listings.claimed"}, told())
	require.Equal(t, []string{"created claimed"}, dbtest.Query[string](t, pool,
		"SELECT kind || ' ' || new_status FROM listing_events WHERE listing_id = $1", l.ID()))
	archive(t, s, 0)
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))

	_, err = s.Claim(t.Context(), l.Ref, false, "ops", dbtest.After(2))
	require.NoError(t, err)
	_, err = s.Publish(t.Context(), listing.Publication{Version: first}, runOf(l.Ref), dbtest.After(3)) // by a frozen worker
	require.NoError(t, err)
	again(t, s, l, 4)
	require.Equal(t, []string{"active"}, dbtest.Query[string](t, pool, "SELECT status FROM listings WHERE id = $1", l.ID()))
	require.Equal(t, []string{"listings.published", "listings.claimed", "listings.unclaimed"}, told())
}

// A duplicate that is claimed is visible beside the advert that is shown for it; when that is lifted, it is not.
func TestClaimOfADuplicate(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := flat("kijiji", 1)
	pass(t, s, l, 0)
	pass(t, s, flat("kangalou", 1), 1, "kangalou")
	for n := range 2 {
		_, err := s.Claim(t.Context(), l.Ref, true, "ops", dbtest.After(2+2*n))
		require.NoError(t, err)
		require.Equal(t, []string{"kangalou/1", "kijiji/1"}, visible(t, pool))
		changed, err := s.Claim(t.Context(), l.Ref, false, "ops", dbtest.After(3+2*n))
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	}
	require.Equal(t, []string{"active archived", "archived claimed", "claimed archived", "archived claimed", "claimed archived"},
		dbtest.Query[string](t, pool, "SELECT old_status || ' ' || new_status FROM listing_events WHERE kind = 'status' ORDER BY id"))
	require.Equal(t, []string{"listings.archived", "listings.claimed", "listings.unclaimed", "listings.archived",
		"listings.claimed", "listings.unclaimed", "listings.archived"},
		dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox WHERE routing_key ~ 'claim|archive' ORDER BY id"))
}
