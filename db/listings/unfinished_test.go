package listings_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Adverts whose newest revision was not brought to its end are found a page at a time, the oldest first, until they are.
func TestUnfinishedListings(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	imported(t, s, "finished")
	for n := range 5 {
		receive(t, s, arrival(refOf(fmt.Sprint(n)), "4 ½ à louer", n))
	}
	l := normalized(refOf("3"))
	require.NoError(t, s.SaveNormalized(t.Context(), l, payload(1), dbtest.After(3)))
	_, err := pool.Exec(t.Context(), "UPDATE raw_listings SET gone_at = $1 WHERE platform_id = '1'", dbtest.After(9))
	require.NoError(t, err)
	receive(t, s, arrival(refOf("young"), "4 ½ à louer", 70))

	var found []string
	pages := 0
	for at := (listing.Cursor{}); ; pages++ {
		page, err := s.UnfinishedListings(t.Context(), dbtest.After(60), dbtest.After(0), at, 2)
		require.NoError(t, err)
		for _, u := range page {
			found = append(found, fmt.Sprintf("%s %d normalized %t offered %t", u.Ref.PlatformID, u.Revision, u.Normalized,
				u.Offered))
			at = u.Row
		}
		if len(page) < 2 {
			break
		}
	}
	require.Equal(t, 2, pages)
	require.Equal(t, []string{
		"0 1 normalized false offered true", "1 1 normalized false offered false", "2 1 normalized false offered true",
		"3 1 normalized true offered true", "4 1 normalized false offered true",
	}, found)

	count := func(normalizes bool) int64 {
		n, err := s.CountUnfinished(t.Context(), dbtest.After(60), dbtest.After(0), normalizes, true)
		require.NoError(t, err)
		return n.Listings
	}
	require.EqualValues(t, 4, count(true))
	require.EqualValues(t, 1, count(false), "the others wait for another team")
	publish(t, s, l, 1, 61)
	require.EqualValues(t, 3, count(true))
	page, err := s.UnfinishedListings(t.Context(), dbtest.After(60), dbtest.After(4), listing.Cursor{}, 10)
	require.NoError(t, err)
	require.Len(t, page, 4)
	require.False(t, page[0].Offered, "not seen since then")
}

// Images that stay pending are found, those of one listing together; archived listings go without.
func TestUnfinishedImages(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	want := func(id string, images, minutes int) listing.Listing {
		l := normalized(refOf(id))
		l.ImageURLs = nil
		for n := range images {
			l.ImageURLs = append(l.ImageURLs, fmt.Sprintf("https://media.example/%s/%d.jpg", id, n))
		}
		receive(t, s, arrival(l.Ref, id, minutes))
		_, err := s.Publish(t.Context(), listing.Publication{Version: listing.Version{Listing: l, Revision: 1}}, runOf(l.Ref),
			dbtest.After(minutes))
		require.NoError(t, err)
		return l
	}
	want("a", 3, 0)
	want("gone", 2, 1)
	want("b", 2, 2)
	done := want("done", 1, 3)
	want("young", 1, 70)
	require.NoError(t, s.AttachImage(t.Context(), done.Ref, listing.StoredImage{
		Image: listing.Image{URL: done.ImageURLs[0]}, SHA256: "00", Key: "k", ThumbnailKey: "t", ContentType: "image/jpeg",
	}, dbtest.After(4)))
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'archived' WHERE platform_id = 'gone'")
	require.NoError(t, err)

	var found []string
	pages := 0
	for at := (listing.Cursor{}); pages == 0 || at != (listing.Cursor{}); pages++ {
		list, next, err := s.UnfinishedImages(t.Context(), dbtest.After(60), at, 2)
		require.NoError(t, err)
		for _, i := range list {
			found = append(found, fmt.Sprintf("%s %d", i.Ref.PlatformID, i.Image.SortOrder))
		}
		at = next
	}
	require.Equal(t, []string{"a 0", "a 1", "a 2", "b 0", "b 1"}, found)
	require.Equal(t, 4, pages, "three images of a, two of gone, two of b, none")

	n, err := s.CountUnfinished(t.Context(), dbtest.After(60), dbtest.After(0), true, true)
	require.NoError(t, err)
	require.Equal(t, backlog.Unfinished{Images: 5}, n)
	n, err = s.CountUnfinished(t.Context(), dbtest.After(60), dbtest.After(0), true, false)
	require.NoError(t, err)
	require.Zero(t, n.Images, "another team fetches them")

	pool.Close()
	_, err = s.UnfinishedListings(t.Context(), dbtest.After(60), dbtest.After(0), listing.Cursor{}, 2)
	dbtest.RequireClass(t, "transient", err)
	_, _, err = s.UnfinishedImages(t.Context(), dbtest.After(60), listing.Cursor{}, 2)
	dbtest.RequireClass(t, "transient", err)
	_, err = s.CountUnfinished(t.Context(), dbtest.After(60), dbtest.After(0), true, true)
	dbtest.RequireClass(t, "transient", err)
}
