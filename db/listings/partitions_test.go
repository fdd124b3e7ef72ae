package listings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// The newest payload of an advert is shown for as long as the advert is kept.
func TestNewestRevisionOutlivesItsMonth(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s := dblistings.NewListings(pool)
	receive(t, s, arrival(refOf("1"), "first", 0))
	receive(t, s, arrival(refOf("1"), "second", 1))
	full, err := s.Detail(ctx, refOf("1").ID())
	require.NoError(t, err)
	require.Len(t, full.Audit.Revisions, 2)
	require.Equal(t, 2, dbtest.Expire(t, pool, retention.Revisions, dbtest.After(10)))
	left, err := s.Detail(ctx, refOf("1").ID())
	require.NoError(t, err)
	require.Equal(t, full.Audit.Revisions[:1], left.Audit.Revisions)
	receive(t, s, arrival(refOf("1"), "third", 2))
	left, err = s.Detail(ctx, refOf("1").ID())
	require.NoError(t, err)
	require.Equal(t, int64(3), left.Audit.Revisions[0].Revision)
	require.Len(t, left.Audit.Revisions, 1)
}

// What is written twice is there once, also where the second time is in another month.
func TestNothingTwiceInPartitions(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s, l := dblistings.NewListings(pool), normalized(refOf("1"))
	receive(t, s, arrival(l.Ref, "first", 0))
	require.NoError(t, s.SaveNormalized(ctx, l, payload(1), dbtest.Start))
	v, err := s.Load(ctx, l.ID())
	require.NoError(t, err)
	now := time.Now()
	for _, months := range []int{0, 0, 4, 5} {
		_, err := s.Publish(ctx, listing.Publication{Version: v}, runOf(l.Ref), now.AddDate(0, months, 0))
		require.NoError(t, err)
	}
	require.Equal(t, int64(1), dbtest.Count(t, pool, "listing_events"))
	for _, months := range []int{0, 4} {
		dbtest.Exec(t, pool, `INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
			VALUES ($1, -5, '', '{}', now(), $2) ON CONFLICT DO NOTHING`, l.ID(), now.AddDate(0, months, 0))
	}
	require.Equal(t, int64(1), dbtest.Count(t, pool, "raw_listing_revisions WHERE revision = -5"))
}
