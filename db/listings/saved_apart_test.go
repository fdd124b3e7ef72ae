package listings_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// ofTenant has a search be that of a tenant.
func ofTenant(id string) func(*saved.Search) { return func(s *saved.Search) { s.Tenant = id } }

// told counts the news of a tenant, and the events that wait.
func (w *telling) told(t *testing.T, tenant string) (told, waiting int64) {
	t.Helper()
	return dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_items WHERE tenant = '"+tenant+"'")[0],
		dbtest.Count(t, w.pool, "saved_queue")
}

// What of one tenant cannot be written is a dead letter of its events, one each: all others are told, at once. A replay
// is for that tenant alone.
func TestSavedPoisonIsOfItsTenant(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "theirs", saved.Criteria{}, ofTenant("other"))
	w.search(t, "ours", saved.Criteria{})
	dbtest.Alter(t, w.pool, "ALTER TABLE saved_items ADD CONSTRAINT poison CHECK (tenant <> 'acme')")
	for _, id := range []string{"1", "2", "3"} {
		w.advert(t, id, 1000, 1)
	}
	failed := 0
	for range 4 {
		if _, err := w.matcher.Next(t.Context(), 4, dbtest.After(2)); err != nil {
			failed++
		}
	}
	told, waiting := w.told(t, "other")
	require.EqualValues(t, 3, told)
	require.Zero(t, waiting)
	require.Equal(t, 1, failed)
	require.Equal(t, []string{"open searches of tenant acme"}, dbtest.Query[string](t, w.pool,
		"SELECT DISTINCT state || ' ' || split_part(reason, ':', 1) FROM dead_letters"))

	dbtest.Alter(t, w.pool, "ALTER TABLE saved_items DROP CONSTRAINT poison")
	for _, id := range dbtest.Query[int64](t, w.pool, "SELECT id FROM dead_letters") {
		_, err := db.NewDeadLetters(w.pool, dblistings.Reopeners()).Replay(t.Context(), id, false, "test", dbtest.After(3))
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.match(t, 4))
	told, _ = w.told(t, "acme")
	require.EqualValues(t, 3, told)
	told, waiting = w.told(t, "other")
	require.EqualValues(t, 3, told, "not once more")
	require.Zero(t, waiting)
}

// While rows of one tenant are locked, the others are told, and what that one is to be told waits in the queue, in its
// order, without being tried each time.
func TestSavedLocksHoldUpTheirTenantAlone(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.matcher.Bound(100, 100, 20*time.Millisecond)
	w.search(t, "theirs", saved.Criteria{}, ofTenant("other"))
	w.search(t, "ours", saved.Criteria{})
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM saved_targets WHERE tenant = 'acme' FOR UPDATE")
	require.NoError(t, err)

	w.advert(t, "1", 1000, 1)
	_, err = w.matcher.Next(t.Context(), 4, dbtest.After(1))
	require.ErrorContains(t, err, "lock timeout")
	done, err := w.matcher.Next(t.Context(), 4, dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, done.Behind)
	require.Equal(t, 1, done.Matches, "of the other tenant")
	w.advert(t, "1", 900, 1)
	done, err = w.matcher.Next(t.Context(), 4, dbtest.After(1))
	require.NoError(t, err)
	require.Empty(t, done.Behind, "it is not tried before its time")
	require.Equal(t, 1, done.Matches)
	waits, err := w.Waits(t.Context(), dbtest.Start, dbtest.After(1))
	require.NoError(t, err)
	require.True(t, waits, "there are deliveries that are due")
	require.Len(t, w.notices(t, 1), 1)
	waits, err = w.Waits(t.Context(), dbtest.Start, dbtest.After(1))
	require.NoError(t, err)
	require.False(t, waits)
	told, waiting := w.told(t, "acme")
	require.Zero(t, told)
	require.EqualValues(t, 2, waiting)
	done, err = w.matcher.Next(t.Context(), 4, dbtest.After(3))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, done.Behind, "it is locked still")

	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 1, w.match(t, 5), "new, for what it is offered for by now")
	_, waiting = w.told(t, "acme")
	require.Zero(t, waiting)
	require.Equal(t, []int64{2, 1}, dbtest.Seen(t, w.pool,
		"SELECT count(*) FROM saved_matches GROUP BY tenant ORDER BY tenant DESC"))
}
