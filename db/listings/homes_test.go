package listings_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// flat is an advert for a home, on a platform. Flats of one number are one home.
func flat(platform string, number int) listing.Listing {
	l := normalized(listing.Ref{Platform: platform, PlatformID: fmt.Sprint(number)})
	l.Latitude, l.Longitude = ptr(45.5), ptr(-73.6)
	l.Address = listing.Address{Civic: []string{fmt.Sprint(1000 + number)}, Street: "Rue Cartier", City: "Montréal"}
	l.ImageURLs = nil
	return l
}

// pass takes an advert through dedupe and import as its workflow does.
func pass(t testing.TB, s *dblistings.Listings, l listing.Listing, minutes int, prefer ...string) listing.HomeJudgement {
	t.Helper()

	r := receive(t, s, arrival(l.Ref, fmt.Sprint(l.Title, l.RentCents), minutes))
	p := payload(r.Revision)
	require.NoError(t, s.SaveNormalized(t.Context(), l, p, dbtest.After(minutes)))
	return again(t, s, l, minutes, prefer...)
}

// again takes an advert that is normalized through dedupe and import.
func again(t testing.TB, s *dblistings.Listings, l listing.Listing, minutes int, prefer ...string) listing.HomeJudgement {
	t.Helper()

	v, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	j, _, err := s.JoinHome(t.Context(), v, prefer, runOf(l.Ref), dbtest.After(minutes))
	require.NoError(t, err)
	if !j.Hidden {
		v, err = s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		p := listing.Publication{Version: v, RepostOf: j.RepostOf}
		_, err = s.Publish(t.Context(), p, runOf(l.Ref), dbtest.After(minutes))
		require.NoError(t, err)
	}
	return j
}

// visible are the adverts that are shown.
func visible(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool,
		"SELECT platform || '/' || platform_id FROM listings WHERE status IN ('active', 'claimed') ORDER BY 1")
}

// homeEvents are the names of the events about homes, in the order of writing.
func homeEvents(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, "SELECT routing_key FROM outbox WHERE routing_key IN ($1, $2) ORDER BY id",
		contract.ListingMerged, contract.ListingSplit)
}

func TestJoinHome(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first := flat("kijiji", 1)
	require.True(t, pass(t, s, first, 0).Alone)
	require.Empty(t, homeEvents(t, pool))

	twin := flat("kangalou", 1)
	j := pass(t, s, twin, 1)
	require.True(t, j.Hidden)
	require.Equal(t, first.ID(), j.Shown)
	require.Equal(t, first.ID(), j.Home)
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
	d, err := s.Detail(t.Context(), twin.ID())
	require.NoError(t, err)
	require.Equal(t, first.ID(), *d.Audit.DuplicateOf)
	require.Equal(t, "duplicate", d.Audit.Status)
	require.NotEmpty(t, d.Audit.Reasons)
	require.Equal(t, []string{contract.ListingMerged}, homeEvents(t, pool))
	require.Equal(t, []bool{true}, dbtest.Query[bool](t, pool,
		"SELECT (figures ->> 'metres')::float8 = 0 FROM home_members WHERE listing_id = $1", twin.ID()))

	again(t, s, twin, 2)
	require.Len(t, homeEvents(t, pool), 1, "it is told once")

	other := flat("kangalou", 2)
	require.True(t, pass(t, s, other, 3).Alone, "another civic number")

	// Without coordinates, by the address alone.
	third := flat("centris", 1)
	third.Latitude, third.Longitude = nil, nil
	require.Equal(t, first.ID(), pass(t, s, third, 4).Shown)

	// The original changes into another home: the others are judged again, and one of them is shown.
	first.RentCents = 200_000
	require.False(t, pass(t, s, first, 5).Left, "it is the one that is shown")
	orphans, _, err := s.OrphanedDuplicates(t.Context(), dbtest.Start, uuid.Nil, tenOfAll)
	require.NoError(t, err)
	require.Len(t, orphans, 2)
	j = again(t, s, twin, 6)
	require.True(t, j.Left)
	require.False(t, j.Hidden)
	j = again(t, s, third, 7)
	require.Equal(t, twin.ID(), j.Shown)
	require.Equal(t, []string{"kangalou/1", "kangalou/2", "kijiji/1"}, visible(t, pool))
	require.Equal(t, []string{contract.ListingMerged, contract.ListingMerged, contract.ListingSplit, contract.ListingSplit,
		contract.ListingMerged}, homeEvents(t, pool))
	orphans, _, err = s.OrphanedDuplicates(t.Context(), dbtest.Start, uuid.Nil, tenOfAll)
	require.NoError(t, err)
	require.Empty(t, orphans)
}

// A preferred platform takes over from another, whose listing is archived and told of; a claimed one stays.
func TestJoinHomeByPreference(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	pass(t, s, flat("kijiji", 1), 0, "kangalou")
	j := pass(t, s, flat("kangalou", 1), 1, "kangalou")
	require.False(t, j.Hidden)
	require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	require.EqualValues(t, 1, dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ListingArchived))
	require.Equal(t, []string{"duplicate"}, dbtest.Query[string](t, pool,
		"SELECT status FROM raw_listings WHERE platform = 'kijiji' AND duplicate_of IS NOT NULL"))

	pass(t, s, flat("kijiji", 2), 0, "kangalou")
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'claimed' WHERE platform_id = '2'")
	require.NoError(t, err)
	require.True(t, pass(t, s, flat("kangalou", 2), 1, "kangalou").Hidden)
}

// An advert that another takes over from while its worker is frozen, between reading a version and publishing it, does
// not become visible beside the other.
func TestPublishOfAHiddenAdvert(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first := flat("kijiji", 1)
	pass(t, s, first, 0, "kangalou")
	first.RentCents -= 500
	r := receive(t, s, arrival(first.Ref, "changed", 1))
	require.NoError(t, s.SaveNormalized(t.Context(), first, payload(r.Revision), dbtest.After(1)))
	v, err := s.Load(t.Context(), first.ID())
	require.NoError(t, err)
	require.False(t, pass(t, s, flat("kangalou", 1), 2, "kangalou").Hidden)

	told := dbtest.Count(t, pool, "outbox")
	_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(first.Ref), dbtest.After(3))
	dbtest.RequireClass(t, fault.Transient, err)
	require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	require.Equal(t, told, dbtest.Count(t, pool, "outbox"))
	v, err = s.Load(t.Context(), first.ID())
	require.NoError(t, err)
	require.NotZero(t, v.HiddenBy, "it is settled as a duplicate once it is read again")
}

// An original that was archived and returns does not push away the advert that took its place.
func TestJoinHomeAfterAReturn(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first, twin := flat("kijiji", 1), flat("kangalou", 1)
	pass(t, s, first, 0)
	pass(t, s, twin, 200)
	archive(t, s, 1)
	require.False(t, again(t, s, twin, 201).Hidden)
	require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	r := receive(t, s, arrival(first.Ref, fmt.Sprint(first.Title, first.RentCents), 202))
	require.False(t, r.Settled)
	require.True(t, again(t, s, first, 202).Hidden)
	require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	require.True(t, receive(t, s, arrival(first.Ref, fmt.Sprint(first.Title, first.RentCents), 203)).Settled)
}

// A repost is linked with the advert before it, also when that is gone, and both have one history.
func TestJoinHomeOfARepost(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first, second := flat("kijiji", 1), flat("kijiji", 1)
	second.PlatformID = "2"
	pass(t, s, first, 0)
	archive(t, s, 1)
	j := pass(t, s, second, 100)
	require.Equal(t, first.ID(), j.RepostOf)
	require.Equal(t, first.ID(), j.Home)
	require.Equal(t, []string{"kijiji/2"}, visible(t, pool))
	d, err := s.Detail(t.Context(), second.ID())
	require.NoError(t, err)
	require.Equal(t, dbtest.Start, d.FirstPublishedAt.UTC())
	require.Len(t, d.History, 3, "created and archived, and created again")
	require.Equal(t, first.ID(), d.History[0].ListingID)
	again(t, s, second, 101)
	require.Equal(t, []uuid.UUID{first.ID()}, dbtest.Query[uuid.UUID](t, pool,
		"SELECT repost_of FROM listings WHERE repost_of IS NOT NULL"))
}

// An advert that another team publishes is not about to be visible: its twin is handed over as well.
func TestJoinHomeAfterAHandover(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	judge := func(platform string, minutes int) listing.HomeJudgement {
		l := flat(platform, 1)
		r := receive(t, s, arrival(l.Ref, l.Title, minutes))
		require.NoError(t, s.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(minutes)))
		v, err := s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		j, _, err := s.JoinHome(t.Context(), v, nil, runOf(l.Ref), dbtest.After(minutes))
		require.NoError(t, err)
		return j
	}
	judge("kijiji", 1)
	for range 2 {
		require.NoError(t, s.HandOver(t.Context(), listing.Handover{
			Ref: flat("kijiji", 1).Ref, Revision: 1, Exchange: "listings", RoutingKey: "listings.ready",
			Bodies: [][]byte{[]byte(`{}`)}, Status: "normalized",
		}, listing.Run{}, dbtest.After(2)))
	}
	require.False(t, judge("kangalou", 3).Hidden)
	require.True(t, judge("centris", 4).Hidden, "kangalou/1 is about to be visible")
	require.Empty(t, visible(t, pool))
}

// Adverts of one home that arrive at one instant do not both pass, whatever they have in common.
func TestJoinHomeAtOnce(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	const rounds = 40
	for n := range rounds {
		a, b, c := flat("kijiji", n), flat("kangalou", n), flat("centris", n)
		b.Latitude = ptr(45.50001)
		c.Latitude, c.Longitude = nil, nil
		var work errgroup.Group
		for _, l := range []listing.Listing{a, b, c} {
			r := receive(t, s, arrival(l.Ref, l.Title, 0))
			require.NoError(t, s.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(0)))
			v, err := s.Load(t.Context(), l.ID())
			require.NoError(t, err)
			work.Go(func() error {
				j, _, err := s.JoinHome(t.Context(), v, nil, runOf(l.Ref), dbtest.After(1))
				if err != nil || j.Hidden {
					return err
				}
				_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(1))
				return err
			})
		}
		require.NoError(t, work.Wait())
	}
	require.Len(t, visible(t, pool), rounds)
	require.EqualValues(t, 2*rounds, dbtest.Count(t, pool, "raw_listings WHERE status = 'duplicate'"))
	require.Len(t, homeEvents(t, pool), 2*rounds)
}

// The pictures of both adverts are compared where they are stored.
func TestJoinHomeByPictures(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	lat, lon := 45.5432, -73.6281
	advert := func(platform string) listing.Listing {
		l := normalized(listing.Ref{Platform: platform, PlatformID: "1"})
		l.Title, l.Latitude, l.Longitude = "Un titre "+platform, &lat, &lon
		l.ImageURLs = []string{"http://i.example/1.jpg", "http://i.example/2.jpg", "http://i.example/3.jpg"}
		receive(t, s, arrival(l.Ref, "1", 0))
		publish(t, s, l, 1, 1)
		return l
	}
	var judged listing.HomeJudgement
	for i, l := range []listing.Listing{advert("kijiji"), advert("kangalou")} {
		for n, url := range l.ImageURLs {
			require.NoError(t, s.AttachImage(t.Context(), l.Ref, listing.StoredImage{
				Image: listing.Image{URL: url}, SHA256: fmt.Sprintf("%064x", 10*i+n), Key: fmt.Sprint(i, n), ContentType: "image/jpeg",
				Perceptual: 0xf0f0_1234_5678_9abc ^ uint64(n)*0x0101_0101_0101_0101,
			}, dbtest.After(2)))
		}
		v, err := s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		judged, _, err = s.JoinHome(t.Context(), v, nil, runOf(l.Ref), dbtest.After(3))
		require.NoError(t, err)
	}
	require.Equal(t, listing.Duplicate, judged.Kind)
	require.Contains(t, judged.Match.Reasons, "same pictures")
	require.InDelta(t, 1, *judged.Match.Figures.Photos, 0)
}

// A home counts once among the rents, by the advert that is shown of it: not again for what it was posted as before, and
// not for a twin that was visible until another was shown in its place.
func TestRentsOfHomes(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	first, second, twin := flat("kijiji", 1), flat("kijiji", 1), flat("kangalou", 1)
	second.PlatformID = "2"
	pass(t, s, first, 0)
	archive(t, s, 1)
	require.Equal(t, first.ID(), pass(t, s, second, 100).RepostOf)
	require.False(t, pass(t, s, twin, 101, "kangalou").Hidden)
	second.RentCents += 500 // within what one home may differ by
	require.True(t, pass(t, s, second, 102, "kangalou").Hidden)
	require.Equal(t, []string{"kangalou/1"}, visible(t, pool))
	other := flat("kijiji", 9)
	other.RentCents = first.RentCents + 900
	pass(t, s, other, 103)

	groups, err := s.Rents(t.Context(), dblistings.RentQuery{
		Since: dbtest.Start, Until: dbtest.After(1000), Interval: "quarter", By: "borough", Least: 1})
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, 2, groups[0].Listings)
	require.Equal(t, twin.RentCents, groups[0].LowCents)
	require.Equal(t, other.RentCents, groups[0].HighCents)
	groups, err = s.Rents(t.Context(), dblistings.RentQuery{
		Since: dbtest.Start, Until: dbtest.After(101), Interval: "quarter", By: "borough", Least: 1})
	require.NoError(t, err)
	require.Equal(t, 1, groups[0].Listings)
	require.Equal(t, twin.RentCents, groups[0].LowCents)
}

// A filter that few homes pass reads a bounded part of them, and the list goes on after it.
func TestFewOfManyHomes(t *testing.T) {
	t.Parallel()

	pool, ctx, texts := dbtest.New(t), t.Context(), dbtest.Statements(t)
	s := dblistings.NewListings(pool)
	for _, platform := range []string{"kijiji", "kangalou"} {
		pass(t, s, flat(platform, 1), 0)
	}
	twin := flat("kijiji", 1).ID()
	dbtest.Exec(t, pool, "UPDATE home_members SET reviewed_by = 'me' WHERE listing_id = $1", twin)
	dbtest.Exec(t, pool, `INSERT INTO homes (id, shown, created_at, updated_at)
		SELECT i, i, now(), now() + n * interval '1 s' FROM (SELECT n, gen_random_uuid() AS i FROM generate_series(1, 25000) n) x`)
	dbtest.Alter(t, pool, "ANALYZE homes, home_members")
	pages := func(f dblistings.HomeFilter) (found []int) {
		for f.Limit = 5; ; {
			homes, next, err := s.Homes(ctx, f)
			require.NoError(t, err)
			found = append(found, len(homes))
			if f.After = next; next == nil {
				return found
			}
		}
	}
	yes, no := true, false
	require.Equal(t, []int{0, 0, 1}, pages(dblistings.HomeFilter{Kind: []string{"duplicate"}}))
	require.Equal(t, []int{0, 0, 0}, pages(dblistings.HomeFilter{Kind: []string{"repost"}}))
	require.Equal(t, []int{0, 0, 0}, pages(dblistings.HomeFilter{Reviewed: &no}))
	require.Equal(t, []int{1}, pages(dblistings.HomeFilter{Reviewed: &yes}))
	require.Equal(t, []int{1}, pages(dblistings.HomeFilter{Reviewed: &yes, Kind: []string{"duplicate"}, Listing: &twin}))
	require.Equal(t, []int{0}, pages(dblistings.HomeFilter{Reviewed: &no, Listing: &twin}))
	require.Equal(t, []int{1}, pages(dblistings.HomeFilter{Kind: []string{"duplicate"}, Listing: &twin}))
	require.LessOrEqual(t, looked(t, pool, "on", texts["sqlHomesReviewed"], nil, nil, 6, nil, true, nil), 100)
	require.LessOrEqual(t, looked(t, pool, "off", texts["sqlHomesSome"], nil, nil, 6, []string{"repost"}, nil), 2*10_000,
		"both members that there are, for each home")
}
