package listings_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// publicity is what readers of the API see of adverts: whether and since when they are offered, with the history that
// they carry over from those they repost. What archiving and publishing again adds to a history is no part of it.
func publicity(t testing.TB, s *dblistings.Listings, all ...listing.Listing) (out []string) {
	t.Helper()
	for _, l := range all {
		d, err := s.Detail(t.Context(), l.ID())
		require.NoError(t, err)
		line := fmt.Sprint(l.Ref, " ", d.Audit.Status, " first ", d.FirstPublishedAt.UTC())
		if d.Summary != nil {
			line += fmt.Sprint(" ", d.Summary.Status, " rent ", d.Summary.RentCents)
		}
		for _, e := range d.History {
			if e.Kind != "status" || e.OldStatus == nil {
				line += fmt.Sprint("; ", e.ListingID, " ", e.Kind, " ", e.At.UTC())
			}
		}
		out = append(out, line)
	}
	return out
}

// eventsOf is how often an event was told.
func eventsOf(t testing.TB, pool *pgxpool.Pool, key string) int64 {
	t.Helper()
	return dbtest.Count(t, pool, "outbox WHERE routing_key = $1", key)
}

// A rule merges two adverts when one changes; a person says that they are two: all that readers see is as before.
func TestUndoAMergeByARule(t *testing.T) {
	t.Parallel()

	for _, platform := range []string{"kangalou", "kijiji"} { // a duplicate, and a repost
		t.Run(platform, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			first, second, third := flat("kijiji", 1), flat(platform, 1), flat(platform, 1)
			second.PlatformID, second.RentCents = "2", 200_000
			third.PlatformID = "3"
			pass(t, s, first, 0)
			require.True(t, pass(t, s, second, 1).Alone)
			second.RentCents = first.RentCents
			require.False(t, pass(t, s, second, 2).Alone, "now its rent is that of the first")
			require.EqualValues(t, 1, eventsOf(t, pool, contract.ListingMerged))
			pass(t, s, third, 3)
			require.EqualValues(t, 2, eventsOf(t, pool, contract.ListingMerged))

			decided := decide(t, s, first.ID(), listing.SayDifferent, first, 4)
			require.EqualValues(t, 1, eventsOf(t, pool, contract.ListingSplit))
			for _, l := range []listing.Listing{first, second, third} {
				again(t, s, l, 5) // as the workflows that are started do
			}
			require.EqualValues(t, 1, eventsOf(t, pool, contract.ListingSplit), "it is told once")
			require.EqualValues(t, 2, eventsOf(t, pool, contract.ListingMerged))
			d, err := s.Detail(t.Context(), second.ID())
			require.NoError(t, err)
			require.Equal(t, dbtest.After(1), d.FirstPublishedAt.UTC(), "the history of the other home is not its own")
			require.NotContains(t, fmt.Sprint(publicity(t, s, second, third)), first.ID().String())
			if platform == "kijiji" {
				require.Equal(t, []uuid.UUID{second.ID()}, dbtest.Query[uuid.UUID](t, pool,
					"SELECT repost_of FROM listings WHERE repost_of IS NOT NULL"), "the third reposts the second")
			}

			require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(6)))
			d, err = s.Detail(t.Context(), third.ID())
			require.NoError(t, err)
			if platform == "kijiji" {
				require.Equal(t, dbtest.Start, d.FirstPublishedAt.UTC(), "it is of the first one's home again")
			}
		})
	}
}

// A person merges adverts with histories of their own, and takes it back: every row is as it was, and what readers see.
func TestUndoAMergeByAPerson(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	old, first, second, twin := flat("kijiji", 1), flat("kijiji", 1), flat("kangalou", 2), flat("centris", 2)
	old.PlatformID = "0"
	pass(t, s, old, 0)
	archive(t, s, 1)
	require.Equal(t, old.ID(), pass(t, s, first, 100).RepostOf)
	pass(t, s, second, 101)
	require.True(t, pass(t, s, twin, 102).Hidden)
	second.RentCents += 500 // within what one home may differ by, so its price history has an entry
	pass(t, s, second, 103)
	all := []listing.Listing{old, first, second}
	before, seen := homesNow(t, pool), publicity(t, s, all...)
	merged, split := eventsOf(t, pool, contract.ListingMerged), eventsOf(t, pool, contract.ListingSplit)

	decided := decide(t, s, first.ID(), listing.SaySame, second, 110)
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
	moved := eventsOf(t, pool, contract.ListingMerged) - merged
	require.Positive(t, moved)
	require.EqualValues(t, split, eventsOf(t, pool, contract.ListingSplit))
	require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(111)))
	require.Equal(t, before, homesNow(t, pool))
	require.Equal(t, seen, publicity(t, s, all...))
	require.EqualValues(t, 2, moved, "the second, and its twin with it")
	require.EqualValues(t, split+moved, eventsOf(t, pool, contract.ListingSplit), "each is told once")
	require.EqualValues(t, merged+moved+1, eventsOf(t, pool, contract.ListingMerged), "the twin is with the second again")
	dbtest.RequireClass(t, fault.Conflict, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(112)))
	require.EqualValues(t, split+moved, eventsOf(t, pool, contract.ListingSplit))
}

// An advert that was not offered when its home was decided on, and is offered again since, stays visible when that is
// undone: the decision did not make it so. It is judged again, as part of the home that it is of.
func TestUndoAfterAnAdvertCameBack(t *testing.T) {
	t.Parallel()

	for _, platform := range []string{"kijiji", "kangalou"} { // a repost, and what is a duplicate now
		t.Run(platform, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			old, first := flat(platform, 1), flat("kijiji", 1)
			old.PlatformID = "0"
			pass(t, s, old, 0)
			require.Equal(t, platform == "kangalou", pass(t, s, first, 70).Hidden)
			archive(t, s, 1)
			again(t, s, first, 100)
			require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
			decided := decide(t, s, first.ID(), listing.SayDifferent, first, 110)
			require.True(t, receive(t, s, arrival(old.Ref, fmt.Sprint(old.Title, old.RentCents), 111)).Archived)
			require.False(t, again(t, s, old, 112).Hidden)
			require.Equal(t, []string{old.Ref.String(), "kijiji/1"}, visible(t, pool))
			told := eventsOf(t, pool, contract.ListingArchived)

			require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(113)))
			require.Equal(t, []string{old.Ref.String(), "kijiji/1"}, visible(t, pool))
			require.Equal(t, told, eventsOf(t, pool, contract.ListingArchived))
			require.Equal(t, []string{old.Ref.String()}, dbtest.Query[string](t, pool,
				"SELECT platform || '/' || platform_id FROM raw_listings WHERE settled_revision < revision"))
			require.Equal(t, platform == "kangalou", again(t, s, old, 114).Hidden)
			require.Contains(t, visible(t, pool), "kijiji/1")
			require.Zero(t, dbtest.Count(t, pool, "raw_listings WHERE settled_revision < revision"))
		})
	}
}

// An advert that has changed while it was merged is published as it is now once that is undone: its newest revision was
// settled as a duplicate.
func TestUndoAMergeOfAnAdvertThatChanged(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first, second := flat("kijiji", 1), flat("kangalou", 2)
	pass(t, s, first, 0)
	pass(t, s, second, 1)
	decided := decide(t, s, first.ID(), listing.SaySame, second, 2)
	second.RentCents = 199_900
	require.True(t, pass(t, s, second, 3).Hidden, "a person's word stands")
	require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(4)))
	require.Equal(t, []string{"kangalou/2", "kijiji/1"}, visible(t, pool))
	require.Zero(t, dbtest.Count(t, pool, "raw_listings WHERE status = 'duplicate' OR duplicate_of IS NOT NULL"))
	require.Equal(t, []string{"kangalou/2"}, dbtest.Query[string](t, pool,
		"SELECT platform || '/' || platform_id FROM raw_listings WHERE settled_revision < revision"))
	require.False(t, again(t, s, second, 5).Hidden)
	require.Equal(t, []int64{199_900}, dbtest.Query[int64](t, pool, "SELECT rent_cents FROM listings WHERE platform = 'kangalou'"))
}

// An advert that moves into another home while a decision about it is undone is taken back from there: what it was of is
// read once its keys are locked.
func TestUndoBesideAJudgement(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	first, twin, third := flat("kijiji", 1), flat("kangalou", 1), flat("centris", 9)
	for n, l := range []listing.Listing{first, twin, third} {
		pass(t, s, l, n)
	}
	decided := decide(t, s, first.ID(), listing.SayDifferent, twin, 3)
	again(t, s, twin, 4)
	twin.Address.Civic = third.Address.Civic
	r := receive(t, s, arrival(twin.Ref, "moved", 5))
	require.NoError(t, s.SaveNormalized(ctx, twin, payload(r.Revision), dbtest.After(5)))
	v, err := s.Load(ctx, twin.ID())
	require.NoError(t, err)

	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, "SELECT FROM raw_listings WHERE id = $1 FOR UPDATE", twin.ID())
	require.NoError(t, err)
	var work errgroup.Group
	work.Go(func() error { // holds the locks of its keys, and waits for the advert
		j, _, err := s.JoinHome(ctx, v, nil, runOf(twin.Ref), dbtest.After(5))
		if err == nil && j.Shown != third.ID() {
			err = fmt.Errorf("it is shown as %s", j.Shown)
		}
		return err
	})
	locked(t, pool, 1)
	work.Go(func() error { return s.UndoHomeVerdict(ctx, decided.Verdict, "Ginette", dbtest.After(6)) })
	locked(t, pool, 2)
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.Zero(t, dbtest.Count(t, pool, "homes WHERE id = $1", third.ID()), "the third is alone again")
	require.Equal(t, []uuid.UUID{first.ID()}, dbtest.Query[uuid.UUID](t, pool,
		"SELECT home_id FROM home_members WHERE listing_id = $1", twin.ID()))
	require.Equal(t, []string{"centris/9", "kijiji/1"}, visible(t, pool))
}

// An advert that a decision shows and that was never published has no listing to lock: the decision is undone while it
// is published for the first time.
func TestUndoBesideAFirstPublication(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	first, twin := flat("kijiji", 1), flat("kangalou", 1)
	pass(t, s, first, 0)
	require.True(t, pass(t, s, twin, 1).Hidden)
	decided := decide(t, s, first.ID(), listing.SayDifferent, twin, 2)
	v, err := s.Load(ctx, twin.ID())
	require.NoError(t, err)
	require.Zero(t, v.HiddenBy)

	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, "SELECT FROM raw_listings WHERE id = $1 FOR UPDATE", twin.ID())
	require.NoError(t, err)
	var undo, publish errgroup.Group
	undo.Go(func() error { return s.UndoHomeVerdict(ctx, decided.Verdict, "Ginette", dbtest.After(3)) })
	locked(t, pool, 1)
	publish.Go(func() error {
		_, err := s.Publish(ctx, listing.Publication{Version: v}, runOf(twin.Ref), dbtest.After(4))
		return err
	})
	locked(t, pool, 2)
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, undo.Wait())
	dbtest.RequireClass(t, fault.Transient, publish.Wait())
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
}

// locked waits until n sessions wait for a lock.
func locked(t *testing.T, pool *pgxpool.Pool, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") == n
	}, servicetest.Patience(), 5*time.Millisecond)
}

// An advert that a person split from a home and that is posted anew, again and again, does not join that home; once the
// decision is undone nothing holds them apart.
func TestRepostsAreHeldApart(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first, twin := flat("kijiji", 1), flat("kangalou", 1)
	pass(t, s, first, 0)
	require.True(t, pass(t, s, twin, 1).Hidden)
	decided := decide(t, s, first.ID(), listing.SayDifferent, twin, 2)
	again(t, s, twin, 3)
	dbtest.Exec(t, pool, "UPDATE home_apart SET verdict = NULL") // as of an earlier release
	was := twin
	for n := range 2 {
		_, err := pool.Exec(t.Context(), `WITH gone AS (UPDATE raw_listings SET gone_at = $2 WHERE id = $1)
			UPDATE listings SET status = 'archived' WHERE id = $1`, was.ID(), dbtest.After(4))
		require.NoError(t, err)
		twin.PlatformID = fmt.Sprint(n + 2)
		for range 2 {
			j := pass(t, s, twin, 5+n)
			require.Equal(t, was.ID(), j.RepostOf)
			require.False(t, j.Hidden)
		}
		require.Equal(t, []string{twin.Ref.String(), "kijiji/1"}, visible(t, pool))
		require.EqualValues(t, 4+2*n, dbtest.Count(t, pool, "home_apart"))
		if n == 0 { // the oldest is forgotten: the next one is held apart all the same
			_, err = pool.Exec(t.Context(), "DELETE FROM home_members WHERE listing_id = $1", was.ID())
			require.NoError(t, err)
		}
		was = twin
	}
	require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(9)))
	require.Zero(t, dbtest.Count(t, pool, "home_apart"))
}
