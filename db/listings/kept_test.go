package listings_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A version that is kept from one step to the next is what would be read, and a step with it does nothing where the
// advert has changed since.
func TestKept(t *testing.T) {
	t.Parallel()

	odd := "caf\xe9 \u2028 <b>" // JSON stores other bytes
	for name, change := range map[string]func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing){
		"": nil,
		"it is scraped again": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			receive(t, s, arrival(l.Ref, l.Title, 5))
		},
		"it is another": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			receive(t, s, arrival(l.Ref, "another", 5))
		},
		"another run has published it": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			v, err := s.Load(t.Context(), l.ID())
			require.NoError(t, err)
			_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(3))
			require.NoError(t, err)
		},
		"another team has normalized it": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			_, err := s.ReceiveStaged(t.Context(), arrival(l.Ref, l.Title, 0), 1, l, dbtest.After(3))
			require.NoError(t, err)
		},
		"its run is replayed meanwhile": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			require.NoError(t, dblistings.NewListings(pool).SaveNormalized(t.Context(), l, payload(1), dbtest.After(3)))
		},
		"it is gone": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			dbtest.Exec(t, pool, "UPDATE raw_listings SET gone_at = now() WHERE id = $1", l.ID())
		},
		"it is forgotten": func(t *testing.T, pool *pgxpool.Pool, s *dblistings.Listings, l listing.Listing) {
			dbtest.Exec(t, pool, "DELETE FROM raw_listings WHERE id = $1", l.ID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool, ctx := dbtest.New(t), t.Context()
			s := dblistings.NewListings(pool)
			l := flat("kijiji", 1)
			l.Title, l.Description, l.ImageURLs = odd, odd, []string{}
			receive(t, s, arrival(l.Ref, l.Title, 0))
			require.NoError(t, s.SaveNormalized(ctx, l, payload(1), dbtest.After(1)))
			take := func() listing.Version {
				v, ok := s.Kept(l.ID(), 1)
				require.True(t, ok)
				_, ok = s.Kept(l.ID(), 1)
				require.False(t, ok, "for one step")
				read, err := s.Load(ctx, l.ID())
				require.NoError(t, err)
				require.NotZero(t, v.Row)
				read.Row = v.Row
				require.Equal(t, read, v)
				return v
			}
			v := take()
			if change != nil {
				change(t, pool, s, l)
				_, _, err := s.JoinHome(ctx, v, nil, runOf(l.Ref), dbtest.After(4))
				require.ErrorIs(t, err, listing.ErrMoved)
				require.Equal(t, fault.Transient, fault.ClassOf(err))
				require.Zero(t, dbtest.Count(t, pool, "home_members"))
				_, err = s.Publish(ctx, listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(4))
				require.ErrorIs(t, err, listing.ErrMoved)
				_, ok := s.Kept(l.ID(), 1)
				require.False(t, ok)
				return
			}
			_, _, err := s.JoinHome(ctx, v, nil, runOf(l.Ref), dbtest.After(2))
			require.NoError(t, err)
			_, err = s.Publish(ctx, listing.Publication{Version: take()}, runOf(l.Ref), dbtest.After(3))
			require.NoError(t, err)
			require.Equal(t, []string{"listings.normalized", "listings.published"}, told(t, pool))
			require.NoError(t, s.SaveNormalized(ctx, l, payload(1), dbtest.After(4)))
			_, ok := s.Kept(l.ID(), 1)
			require.False(t, ok, "of one that is published all is read")
			gone := flat("kijiji", 2)
			receive(t, s, arrival(gone.Ref, gone.Title, 0))
			dbtest.Exec(t, pool, "UPDATE raw_listings SET gone_at = now() WHERE id = $1", gone.ID())
			require.NoError(t, s.SaveNormalized(ctx, gone, payload(1), dbtest.After(4)))
			_, ok = s.Kept(gone.ID(), 1)
			require.False(t, ok, "nor is one kept that is withheld")
		})
	}
}

// An older version that is published meanwhile, by a worker that was frozen, leaves the advert's row as it is: what is
// kept says all the same that it is published for the first time.
func TestKeptBesideAnOlderVersion(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	l := flat("kijiji", 1)
	receive(t, s, arrival(l.Ref, l.Title, 0))
	require.NoError(t, s.SaveNormalized(ctx, l, payload(1), dbtest.After(1)))
	older, err := s.Load(ctx, l.ID())
	require.NoError(t, err)
	receive(t, s, arrival(l.Ref, "another", 2))
	l.RentCents += 100
	require.NoError(t, s.SaveNormalized(ctx, l, payload(2), dbtest.After(3)))
	v, ok := s.Kept(l.ID(), 2)
	require.True(t, ok)

	_, err = s.Publish(ctx, listing.Publication{Version: older}, runOf(l.Ref), dbtest.After(4))
	require.NoError(t, err)
	_, _, err = s.JoinHome(ctx, v, nil, runOf(l.Ref), dbtest.After(5))
	require.ErrorIs(t, err, listing.ErrMoved)
	_, err = s.Publish(ctx, listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(5))
	require.ErrorIs(t, err, listing.ErrMoved)
	read, err := s.Load(ctx, l.ID())
	require.NoError(t, err)
	_, err = s.Publish(ctx, listing.Publication{Version: read}, runOf(l.Ref), dbtest.After(6))
	require.NoError(t, err)
	require.Equal(t, []string{"created", "price"}, dbtest.Query[string](t, pool, "SELECT kind FROM listing_events ORDER BY at"))
}

// Versions whose next step never comes do not pile up.
func TestKeptAreFew(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	const n = 600
	var ids []uuid.UUID
	for i := range n {
		l := flat("kijiji", i)
		receive(t, s, arrival(l.Ref, l.Title, 0))
		require.NoError(t, s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(1)))
		ids = append(ids, l.ID())
	}
	kept := 0
	for _, id := range ids {
		if _, ok := s.Kept(id, 1); ok {
			kept++
		}
	}
	require.Equal(t, 512, kept)
}
