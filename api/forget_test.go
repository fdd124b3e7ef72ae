package api_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestForget(t *testing.T) {
	t.Parallel()
	d := open(t)
	ref := kijiji("4711")
	d.scrape(t, ref, "a", now)
	id := ref.ID().String()
	const path = "/listings/kijiji/4711"

	dry := read[api.ForgetStarted](t, d.ask(t, http.MethodDelete, path+"?dry_run=true", ""), http.StatusAccepted)
	require.Equal(t, api.ForgetStarted{
		ListingID: ref.ID(), Stored: api.ForgetHoldings{Adverts: 1, Revisions: 1},
	}, dry)
	require.Empty(t, d.started.calls)
	require.Empty(t, d.deeds(t))

	got := read[api.ForgetStarted](t, d.ask(t, http.MethodDelete, path, ""), http.StatusAccepted)
	require.Equal(t, dry.Stored, got.Stored)
	require.Equal(t, "forget/"+id, got.Workflow.ID)
	blocked := read[api.ForgetStarted](t, d.ask(t, http.MethodDelete, path+"?block=true", ""), http.StatusAccepted)
	require.True(t, blocked.Stored.Blocked)
	require.Equal(t, []string{"forget kijiji/4711", "forget kijiji/4711"}, d.started.calls)
	require.Equal(t, []string{
		"anonymous listing.forgotten listing/" + id, "anonymous listing.forgotten listing/" + id,
	}, d.deeds(t))

	// One that is not stored may have dead letters, or be blocked.
	none := read[api.ForgetStarted](t, d.ask(t, http.MethodDelete, "/listings/kijiji/none", ""), http.StatusAccepted)
	require.Zero(t, none.Stored)

	d.started.err = fault.Newf(fault.Transient, "temporal: %w", errors.New("away"))
	require.Equal(t, http.StatusServiceUnavailable, d.ask(t, http.MethodDelete, path, "").Status)
	require.Equal(t, http.StatusUnprocessableEntity, d.ask(t, http.MethodDelete, "/listings/KIJIJI/1", "").Status)
}
