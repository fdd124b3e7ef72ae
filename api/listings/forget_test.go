package listings_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestForget(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	ref := apitest.Kijiji("4711")
	d.Scrape(t, ref, "a", apitest.Now)
	id := ref.ID().String()
	const path = "/listings/kijiji/4711"

	dry := apitest.Read[apilistings.ForgetStarted](t, d.Ask(t, http.MethodDelete, path+"?dry_run=true", ""), http.StatusAccepted)
	require.Equal(t, apilistings.ForgetStarted{
		ListingID: ref.ID(), Stored: apilistings.ForgetHoldings{Adverts: 1, Revisions: 1},
	}, dry)
	require.Empty(t, d.Started.Calls)
	require.Empty(t, d.Deeds(t))

	got := apitest.Read[apilistings.ForgetStarted](t, d.Ask(t, http.MethodDelete, path, ""), http.StatusAccepted)
	require.Equal(t, dry.Stored, got.Stored)
	require.Equal(t, "forget/"+id, got.Workflow.ID)
	blocked := apitest.Read[apilistings.ForgetStarted](t, d.Ask(t, http.MethodDelete, path+"?block=true", ""), http.StatusAccepted)
	require.True(t, blocked.Stored.Blocked)
	require.Equal(t, []string{"forget kijiji/4711", "forget kijiji/4711"}, d.Started.Calls)
	require.Equal(t, []string{
		"anonymous listing.forgotten listing/" + id, "anonymous listing.forgotten listing/" + id,
	}, d.Deeds(t))

	// One that is not stored may have dead letters, or be blocked.
	none := apitest.Read[apilistings.ForgetStarted](t, d.Ask(t, http.MethodDelete, "/listings/kijiji/none", ""), http.StatusAccepted)
	require.Zero(t, none.Stored)
	dry = apitest.Read[apilistings.ForgetStarted](t, d.Ask(t, http.MethodDelete, path+"?dry_run=true", ""), http.StatusAccepted)
	require.Equal(t, apitest.Now, *dry.Stored.BlockedAt)

	d.Started.Err = fault.Newf(fault.Transient, "temporal: %w", errors.New("away"))
	require.Equal(t, http.StatusServiceUnavailable, d.Ask(t, http.MethodDelete, path, "").Status)
	require.Equal(t, http.StatusUnprocessableEntity, d.Ask(t, http.MethodDelete, "/listings/KIJIJI/1", "").Status)
}
