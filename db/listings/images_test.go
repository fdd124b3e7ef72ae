package listings_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// picture is a stored image whose bytes are named by one hex digit.
func picture(url string, bytes string) listing.StoredImage {
	sum := strings.Repeat(bytes, 64)
	return listing.StoredImage{
		Image: listing.Image{URL: url}, SHA256: sum, Key: "images/" + sum + ".jpg",
		ThumbnailKey: "thumbnails/" + sum + ".jpg",
		ContentType:  "image/jpeg", Bytes: 1000, Width: 800, Height: 600,
	}
}

// states returns the state of each image of a listing, by the last part of its address.
func states(t testing.TB, s *dblistings.Listings, l listing.Listing) map[string]string {
	t.Helper()

	d, err := s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	out := map[string]string{}
	for _, i := range d.Images {
		out[i.URL[strings.LastIndexByte(i.URL, '/')+1:]] = i.State
	}
	return out
}

// revise publishes another version of l that shows these images, and returns those to be fetched.
func revise(t testing.TB, s *dblistings.Listings, l listing.Listing, revision int, urls ...string) []listing.Image {
	t.Helper()

	receive(t, s, arrival(l.Ref, fmt.Sprint("revision ", revision), revision))
	l.ImageURLs = nil
	for _, u := range urls {
		l.ImageURLs = append(l.ImageURLs, "http://i.example/"+u)
	}
	return publish(t, s, l, int64(revision), revision)
}

// attached counts the images.attached events.
func attached(t testing.TB, pool *pgxpool.Pool) int64 {
	t.Helper()
	return dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ImageAttached)
}

func TestImagesOfAPublication(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := normalized(refOf("1"))
	receive(t, s, arrival(l.Ref, "x", 0))
	require.Equal(t, []listing.Image{
		{URL: "http://i.example/1.jpg", SortOrder: 0}, {URL: "http://i.example/2.jpg", SortOrder: 1},
	}, publish(t, s, l, 1, 0))
	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/1.jpg", "a"), dbtest.After(1)))

	require.Equal(t, []listing.Image{
		{URL: "http://i.example/2.jpg", SortOrder: 0}, {URL: "http://i.example/3.jpg", SortOrder: 2},
	}, revise(t, s, l, 2, "2.jpg", "1.jpg", "3.jpg"), "in another order, with a new one")
	require.Equal(t, map[string]string{"1.jpg": "attached", "2.jpg": "pending", "3.jpg": "pending"}, states(t, s, l))

	require.Len(t, revise(t, s, l, 3, "3.jpg"), 1)
	require.Equal(t, map[string]string{"1.jpg": "dropped", "2.jpg": "dropped", "3.jpg": "pending"}, states(t, s, l))

	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/2.jpg", "b"), dbtest.After(4)))
	require.Equal(t, "dropped", states(t, s, l)["2.jpg"], "a download that ends too late")
	require.Equal(t, int64(1), attached(t, pool))

	require.Len(t, revise(t, s, l, 4, "1.jpg", "3.jpg"), 2, "wanted again")
	require.Equal(t, map[string]string{"1.jpg": "pending", "2.jpg": "dropped", "3.jpg": "pending"}, states(t, s, l))

	require.Empty(t, revise(t, s, l, 5))
	require.Equal(t, map[string]string{"1.jpg": "dropped", "2.jpg": "dropped", "3.jpg": "dropped"}, states(t, s, l))
}

// TestImageWantedAgainHasItsAttempts: an image that failed, was dropped and is wanted again starts from zero.
func TestImageWantedAgainHasItsAttempts(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	l := imported(t, s, "1")
	for range 4 {
		_, err := s.CountImageAttempt(t.Context(), l.ID(), "http://i.example/1.jpg", "timeout")
		require.NoError(t, err)
	}
	revise(t, s, l, 2, "2.jpg")
	revise(t, s, l, 3, "1.jpg", "2.jpg")
	attempts, err := s.CountImageAttempt(t.Context(), l.ID(), "http://i.example/1.jpg", "timeout")
	require.NoError(t, err)
	require.Equal(t, 1, attempts)
}

func TestAttachImage(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	for range 2 {
		require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/2.jpg", "a"), dbtest.After(1)))
	}
	require.Equal(t, map[string]string{"1.jpg": "pending", "2.jpg": "attached"}, states(t, s, l))
	bodies := dbtest.Query[[]byte](t, pool, "SELECT body FROM outbox WHERE routing_key = $1", contract.ImageAttached)
	require.Len(t, bodies, 1)
	var e contract.Event
	require.NoError(t, json.Unmarshal(bodies[0], &e))
	var data contract.ImageData
	require.NoError(t, json.Unmarshal(e.Data, &data))
	require.Equal(t, contract.ImageData{
		ListingID: l.ID().String(), URL: "http://i.example/2.jpg", Key: picture("", "a").Key, SHA256: strings.Repeat("a", 64),
		Width: 800, Height: 600, SortOrder: 1,
	}, data)
	require.Equal(t, dbtest.Query[string](t, pool, "SELECT message_id::text FROM outbox WHERE routing_key = $1",
		contract.ImageAttached), []string{e.EventID})

	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/unknown.jpg", "b"), dbtest.After(1)))
	require.Equal(t, int64(1), attached(t, pool))
	require.Zero(t, dbtest.Count(t, pool, "unused_blobs"))

	// A listing that was forgotten meanwhile has no rows that name the files, which go when no other can be given them.
	gone := stored("http://i.example/1.jpg", "b")
	require.NoError(t, s.AttachImage(t.Context(), refOf("none"), gone, dbtest.After(1)))
	require.Equal(t, int64(1), attached(t, pool))
	require.ElementsMatch(t, []string{gone.Key, gone.ThumbnailKey}, dbtest.Query[string](t, pool,
		"SELECT key FROM unused_blobs WHERE due_at = $1", dbtest.After(1).Add(retention.ForgetWait)))
}

// TestAttachImageConcurrently: two addresses with the same bytes show one picture, whichever is first.
func TestAttachImageConcurrently(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	errs := make(chan error, 8)
	var work sync.WaitGroup
	for n := range 8 {
		work.Go(func() {
			errs <- s.AttachImage(t.Context(), l.Ref, picture(fmt.Sprintf("http://i.example/%d.jpg", n%2+1), "a"), dbtest.After(1))
		})
	}
	work.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	got := states(t, s, l)
	require.ElementsMatch(t, []string{"attached", "repeated"}, []string{got["1.jpg"], got["2.jpg"]})
	require.Equal(t, int64(1), attached(t, pool))
}

// TestRepeatedImageOutlivesItsTwin: when the address that shows a picture leaves the advert, the other address of the
// same picture takes its place.
func TestRepeatedImageOutlivesItsTwin(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	for _, u := range []string{"1.jpg", "2.jpg"} {
		require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/"+u, "a"), dbtest.After(1)))
	}
	require.Equal(t, map[string]string{"1.jpg": "attached", "2.jpg": "repeated"}, states(t, s, l))
	require.Equal(t, []listing.Image{{URL: "http://i.example/2.jpg"}}, revise(t, s, l, 2, "2.jpg"))
	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/2.jpg", "a"), dbtest.After(3)))
	require.Equal(t, map[string]string{"1.jpg": "dropped", "2.jpg": "attached"}, states(t, s, l))
	require.Equal(t, int64(2), attached(t, pool))
}

func TestFailImage(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	img := listing.Image{URL: "http://i.example/1.jpg"}
	letters := func() []string { return dbtest.Query[string](t, pool, "SELECT state FROM dead_letters") }

	for n := range 3 {
		attempts, err := s.CountImageAttempt(t.Context(), l.ID(), img.URL, "status 500\x00\xff")
		require.NoError(t, err)
		require.Equal(t, n+1, attempts)
	}
	attempts, err := s.CountImageAttempt(t.Context(), l.ID(), "http://i.example/unknown.jpg", "x")
	require.NoError(t, err)
	require.Zero(t, attempts)

	for range 2 {
		require.NoError(t, s.FailImage(t.Context(), l.Ref, img, fault.Gone, "status 404\x00", runOf(l.Ref), dbtest.After(1)))
	}
	require.Equal(t, "failed", states(t, s, l)["1.jpg"])
	require.Equal(t, []string{"open"}, letters())
	body := dbtest.Query[[]byte](t, pool, "SELECT body FROM dead_letters")[0]
	m, err := contract.Decode[contract.PendingImage](body, contract.MaxBody)
	require.NoError(t, err, "the dead letter replays as a request for the image")
	require.Equal(t, contract.PendingImage{ListingID: l.ID().String(), Platform: "kijiji", URL: img.URL}, m)

	// A scrape that still shows it leaves it failed; a message that asks for it is another chance.
	require.Equal(t, []listing.Image{{URL: "http://i.example/2.jpg", SortOrder: 1}}, revise(t, s, l, 2, "1.jpg", "2.jpg"))
	want, err := s.WantImage(t.Context(), l.ID(), img, true, dbtest.After(2))
	require.NoError(t, err)
	want.GivenUp = want.GivenUp.UTC()
	require.Equal(t, dblistings.WantedImage{Ref: l.Ref, Pending: true, GivenUp: dbtest.After(1)}, want)
	attempts, err = s.CountImageAttempt(t.Context(), l.ID(), img.URL, "status 500")
	require.NoError(t, err)
	require.Equal(t, 1, attempts)

	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture(img.URL, "a"), dbtest.After(3)))
	require.Equal(t, "attached", states(t, s, l)["1.jpg"])
	require.Equal(t, []string{"resolved"}, letters())
}

func TestWantImage(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	_, err := s.WantImage(t.Context(), refOf("none").ID(), listing.Image{URL: "http://i.example/1.jpg"}, false, dbtest.Start)
	dbtest.RequireClass(t, fault.Invalid, err)

	l := imported(t, s, "1")
	img := listing.Image{URL: "http://i.example/new.jpg", SortOrder: 7}
	for range 2 {
		want, err := s.WantImage(t.Context(), l.ID(), img, false, dbtest.Start)
		require.NoError(t, err)
		require.True(t, want.GivenUp.IsZero())
		want.GivenUp = time.Time{}
		require.Equal(t, dblistings.WantedImage{Ref: l.Ref, Pending: true}, want)
	}
	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture(img.URL, "a"), dbtest.After(1)))
	want, err := s.WantImage(t.Context(), l.ID(), img, false, dbtest.Start)
	require.NoError(t, err)
	require.False(t, want.Pending, "it is there already")
	begun, err := s.BeginImage(t.Context(), l.ID(), img.URL)
	require.NoError(t, err)
	require.Zero(t, begun)
}

// Fetches that begin and do not end are counted, until one ends, however it does.
func TestBeginImage(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	l := imported(t, s, "1")
	const url = "http://i.example/1.jpg"
	begin := func(want int) {
		t.Helper()
		begun, err := s.BeginImage(t.Context(), l.ID(), url)
		require.NoError(t, err)
		require.Equal(t, want, begun)
	}
	begin(1)
	begin(2)
	begin(3)
	require.NoError(t, s.EndImage(t.Context(), l.ID(), url))
	begin(1)
	_, err := s.CountImageAttempt(t.Context(), l.ID(), url, "timeout")
	require.NoError(t, err)
	begin(1)
	require.NoError(t, s.FailImage(t.Context(), l.Ref, listing.Image{URL: url}, fault.Invalid, "x", runOf(l.Ref), dbtest.After(1)))
	begin(0)
	_, err = s.WantImage(t.Context(), l.ID(), listing.Image{URL: url}, true, dbtest.After(2))
	require.NoError(t, err)
	begin(1)
	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture(url, "a"), dbtest.After(3)))
	begin(0)
	begun, err := s.BeginImage(t.Context(), l.ID(), "http://i.example/unknown.jpg")
	require.NoError(t, err)
	require.Zero(t, begun)
}
