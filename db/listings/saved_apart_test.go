package listings_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// ofTenant has a search be that of a tenant.
func ofTenant(id string) func(*saved.Search) { return func(s *saved.Search) { s.Tenant = id } }

// told counts the news of a tenant, and the events that wait.
func (w *telling) told(t *testing.T, tenant string) (told, waiting int64) {
	t.Helper()
	return dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_items WHERE tenant = '"+tenant+"'")[0],
		dbtest.Count(t, w.pool, "saved_queue")
}

// lock locks the targets of the tenant acme until release.
func (w *telling) lock(t *testing.T) (release func()) {
	t.Helper()
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	release = func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }
	t.Cleanup(release)
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM saved_targets WHERE tenant = 'acme' FOR UPDATE")
	require.NoError(t, err)
	return release
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
	dbtest.Exec(t, w.pool, "INSERT INTO saved_queue (event) SELECT message_id::bigint FROM dead_letters ORDER BY id LIMIT 1")
	for _, id := range dbtest.Query[int64](t, w.pool, "SELECT id FROM dead_letters") {
		_, err := db.NewDeadLetters(w.pool, dblistings.Reopeners()).Replay(t.Context(), id, false, "test", dbtest.After(3))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, dbtest.Count(t, w.pool, "saved_queue WHERE tenants IS NULL"), "one waits for all")
	require.Equal(t, 4, w.match(t, 4), "of the other tenant one again, which it was told of")
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
	release := w.lock(t)

	w.advert(t, "1", 1000, 1)
	_, err := w.matcher.Next(t.Context(), 4, dbtest.After(1))
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
	require.True(t, waits.Notices, "there are deliveries that are due")
	require.Len(t, w.notices(t, 1), 1)
	waits, err = w.Waits(t.Context(), dbtest.Start, dbtest.After(1))
	require.NoError(t, err)
	require.Zero(t, waits)
	told, waiting := w.told(t, "acme")
	require.Zero(t, told)
	require.EqualValues(t, 2, waiting)
	done, err = w.matcher.Next(t.Context(), 4, dbtest.After(3))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, done.Behind, "it is locked still")

	release()
	require.Equal(t, 1, w.match(t, 5), "new, for what it is offered for by now")
	_, waiting = w.told(t, "acme")
	require.Zero(t, waiting)
	require.Equal(t, []int64{2, 1}, dbtest.Seen(t, w.pool,
		"SELECT count(*) FROM saved_matches GROUP BY tenant ORDER BY tenant DESC"))
}

// What waits for a tenant is told before what came later, also by another process: it is no home that is back.
func TestSavedWaitsInOrder(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.matcher.Bound(100, 100, 20*time.Millisecond)
	w.search(t, "ours", saved.Criteria{})
	release := w.lock(t)
	w.advert(t, "1", 1000, 1)
	_, err := w.matcher.Next(t.Context(), 4, dbtest.After(1))
	require.Error(t, err)
	done, err := w.matcher.Next(t.Context(), 4, dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, done.Behind)
	release()
	w.advert(t, "1", 900, 1)
	w.matcher = w.Matcher()
	require.Zero(t, w.match(t, 1), "it waits, too")
	require.Equal(t, 1, w.match(t, 3))
	require.Equal(t, []string{"new"}, dbtest.Lines(t, w.pool, "SELECT kind FROM saved_matches"))
}

// A letter of one tenant that is replayed while its event is compared for another one is told.
func TestSavedReplayBesideMatch(t *testing.T) {
	t.Parallel()
	w, ctx := newTelling(t), t.Context()
	w.matcher.Bound(100, 100, 20*time.Millisecond)
	w.search(t, "theirs", saved.Criteria{}, ofTenant("other"))
	w.search(t, "ours", saved.Criteria{})
	dbtest.Alter(t, w.pool, "ALTER TABLE saved_items ADD CONSTRAINT poison CHECK (tenant <> 'other')")
	release := w.lock(t)
	w.advert(t, "1", 1000, 1)
	_, err := w.matcher.Next(ctx, 4, dbtest.After(1))
	require.Error(t, err)
	done, err := w.matcher.Next(ctx, 4, dbtest.After(1))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, done.Behind)
	require.Len(t, done.Aside, 1)
	dbtest.Alter(t, w.pool, "ALTER TABLE saved_items DROP CONSTRAINT poison")

	w.matcher.Bound(100, 100, 0)
	waiting := func() int64 {
		return dbtest.Count(t, w.pool,
			`pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	}
	var work errgroup.Group
	work.Go(func() error {
		_, err := w.matcher.Next(ctx, 4, dbtest.After(3))
		return err
	})
	require.Eventually(t, func() bool { return waiting() == 1 }, servicetest.Patience(), 5*time.Millisecond)
	var replayed atomic.Bool
	work.Go(func() error {
		defer replayed.Store(true)
		id := dbtest.Query[int64](t, w.pool, "SELECT id FROM dead_letters")[0]
		_, err := db.NewDeadLetters(w.pool, dblistings.Reopeners()).Replay(ctx, id, false, "test", dbtest.After(3))
		return err
	})
	require.Eventually(t, func() bool { return replayed.Load() || waiting() == 2 }, servicetest.Patience(),
		5*time.Millisecond)
	release()
	require.NoError(t, work.Wait())
	w.match(t, 4)
	for _, tenant := range []string{"acme", "other"} {
		told, waits := w.told(t, tenant)
		require.EqualValues(t, 1, told, tenant)
		require.Zero(t, waits)
	}
}

// A tenant that takes too long to be told of many events at once is told of one at a time.
func TestSavedTenantOfManyNews(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "theirs", saved.Criteria{}, ofTenant("other"))
	w.search(t, "ours", saved.Criteria{})
	dbtest.Alter(t, w.pool, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM made WHERE tenant = 'acme') > 1 THEN RAISE 'slow' USING ERRCODE = '57014'; END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER slow AFTER INSERT ON saved_matches REFERENCING NEW TABLE AS made
		FOR EACH STATEMENT EXECUTE FUNCTION slow()`)
	for _, id := range []string{"1", "2", "3"} {
		w.advert(t, id, 1000, 1)
	}
	_, err := w.matcher.Next(t.Context(), 4, dbtest.After(2))
	require.ErrorContains(t, err, "slow")
	for _, matches := range []int{4, 2} {
		done, err := w.matcher.Next(t.Context(), 4, dbtest.After(2))
		require.NoError(t, err)
		require.Empty(t, done.Behind)
		require.Equal(t, matches, done.Matches)
	}
	_, waiting := w.told(t, "acme")
	require.Zero(t, waiting)
}
