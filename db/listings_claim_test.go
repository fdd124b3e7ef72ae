package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A claim outlasts staleness and scrapes; each change of it is told, recorded and in the history, once.
func TestClaim(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewListings(pool)
	imported(t, s, "1")
	claim := func(claimed, changed bool) {
		t.Helper()
		got, err := s.Claim(t.Context(), refOf("1"), claimed, "ops", after(61))
		require.NoError(t, err)
		require.Equal(t, changed, got)
	}
	status := func() string { return query[string](t, pool, "SELECT status FROM listings")[0] }
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
		query[string](t, pool, "SELECT old_status || ' ' || new_status FROM listing_events WHERE kind = 'status' ORDER BY id"))
	require.Equal(t, []string{"listings.claimed", "listings.unclaimed", "listings.archived", "listings.claimed"},
		query[string](t, pool, "SELECT routing_key FROM outbox WHERE routing_key ~ 'claim|archive' ORDER BY id"))
	require.Equal(t, []string{"ops listing.claimed", "ops listing.unclaimed", "ops listing.claimed"},
		query[string](t, pool, "SELECT actor || ' ' || action FROM audit ORDER BY id"))

	_, err := s.Claim(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "2"}, true, "ops", after(61))
	class, _ := fault.Of(err)
	require.Equal(t, fault.Gone, class, "%v", err)
}
