package listings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// What Waits sees is what Next and Begin find.
func TestSavedWaits(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	waits := func(before, now time.Time) dblistings.Waiting {
		is, err := w.Waits(t.Context(), before, now)
		require.NoError(t, err)
		return is
	}
	w.search(t, "hourly", saved.Criteria{}, func(s *saved.Search) { s.Schedule.Pace = saved.Hourly })
	require.Zero(t, waits(dbtest.Start, dbtest.After(1)), "nothing has happened")
	w.advert(t, "1", 1000, 1)
	require.Equal(t, dblistings.Waiting{Events: true}, waits(dbtest.Start, dbtest.After(1)), "an event")
	require.Equal(t, 1, w.match(t, 1))
	require.Zero(t, waits(dbtest.Start, dbtest.After(2)), "its delivery is not due")
	require.Equal(t, dblistings.Waiting{Notices: true}, waits(dbtest.Start, dbtest.After(60)), "now it is")
	_, err := w.Begin(t.Context(), 10, 10, dbtest.Start, dbtest.After(60))
	require.NoError(t, err)
	require.Zero(t, waits(dbtest.Start, dbtest.After(61)), "it was begun")
	require.Equal(t, dblistings.Waiting{Notices: true}, waits(dbtest.After(62), dbtest.After(63)),
		"its process may have died")
}
