package listings_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// edit publishes a version of an advert, which is as normalized makes it but for the changes.
func (w *telling) edit(t *testing.T, id string, minutes int, changes ...func(l *listing.Listing)) {
	t.Helper()

	l := normalized(refOf(id))
	for _, change := range changes {
		change(&l)
	}
	w.scrapes[id]++
	a := arrival(l.Ref, l.Title, minutes)
	a.ContentHash = sum(fmt.Sprint(id, minutes))
	receive(t, w.listings, a)
	publish(t, w.listings, l, w.scrapes[id], minutes)
}

func rented(dollars int64) func(l *listing.Listing) {
	return func(l *listing.Listing) { l.RentCents = dollars * 100 }
}

func titled(title string) func(l *listing.Listing) {
	return func(l *listing.Listing) { l.Title = title }
}

// A home that comes to meet a search by whatever its advert is edited in is new to it, once, however often it is edited
// again; a search that it has met before is told nothing.
func TestSavedEdits(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	at := func(lat, lon float64) func(l *listing.Listing) {
		return func(l *listing.Listing) { l.Latitude, l.Longitude = &lat, &lon }
	}
	cases := []struct {
		name   string
		filter saved.Criteria
		edit   func(l *listing.Listing)
	}{
		{"bedrooms", saved.Criteria{Bedrooms: []int{3}}, func(l *listing.Listing) { l.Bedrooms = 3 }},
		{"more bedrooms", saved.Criteria{MinBedrooms: 4}, func(l *listing.Listing) { l.Bedrooms = 4 }},
		{"rooms", saved.Criteria{Rooms: []float64{5.5}}, func(l *listing.Listing) { l.Rooms = 5.5 }},
		{"area", saved.Criteria{MinArea: 800, MaxArea: 900}, func(l *listing.Listing) { l.AreaSqFt = 850 }},
		{"day", saved.Criteria{AvailableBy: "2027-07-01"}, func(l *listing.Listing) { l.Available = "2027-06-15" }},
		{"pets", saved.Criteria{Traits: listing.Traits{Pets: "cats"}}, func(l *listing.Listing) { l.Pets.Cats = "yes" }},
		{"furnished", saved.Criteria{Traits: listing.Traits{Furnished: []string{"yes"}}}, func(l *listing.Listing) { l.Furnished = "yes" }},
		{"parking", saved.Criteria{Traits: listing.Traits{Parking: []string{"indoor"}}}, func(l *listing.Listing) { l.Parking.Type = "indoor" }},
		{"lease", saved.Criteria{Traits: listing.Traits{Lease: []string{"6-month"}}}, func(l *listing.Listing) { l.Lease = "6-month" }},
		{"title", saved.Criteria{Text: "intitle:piscine"}, titled("4 ½ avec piscine")},
		{"description", saved.Criteria{Text: "foyer"}, func(l *listing.Listing) { l.Description = "Avec foyer." }},
		{"address", saved.Criteria{Text: "rachel"}, func(l *listing.Listing) { l.Address.Text = "4000 rue Rachel" }},
		{"box", saved.Criteria{Box: []float64{-73.6, 45.5, -73.5, 45.6}}, at(45.55, -73.55)},
		{"polygon", saved.Criteria{Polygon: [][]float64{{-72, 45}, {-71, 45}, {-71.5, 46}}}, at(45.1, -71.5)},
		{"circle", saved.Criteria{Near: &saved.Near{Latitude: 46, Longitude: -70, Metres: 900}}, at(46.001, -70)},
	}
	for n, tt := range cases {
		w.search(t, tt.name, tt.filter)
		w.edit(t, fmt.Sprint(n), 1)
	}
	w.search(t, "not new", cases[0].filter, func(s *saved.Search) { s.Kinds = []saved.Kind{saved.PriceDrop, saved.Back} })
	require.Zero(t, w.match(t, 1))
	for n, tt := range cases {
		id := fmt.Sprint(n)
		w.edit(t, id, 2, tt.edit)
		require.Equal(t, 1, w.match(t, 2), tt.name)
		told := w.notices(t, 2)
		require.Len(t, told, 1, tt.name)
		require.Regexp(t, "^New: ", told[0][0], tt.name)
		w.edit(t, id, 3)
		w.edit(t, id, 4, tt.edit)
		require.Zero(t, w.match(t, 4), tt.name)
	}

	place := dbtest.Query[string](t, w.pool, "SELECT min(key) FROM neighbourhoods")[0]
	w.search(t, "neighbourhood", saved.Criteria{Neighbourhood: place})
	l := normalized(refOf("0"))
	_, err := w.listings.Publish(t.Context(), listing.Publication{
		Version: listing.Version{Listing: l, Revision: w.scrapes["0"], Published: "active", Before: l}, Neighbourhood: place,
	}, runOf(l.Ref), dbtest.After(5))
	require.NoError(t, err)
	require.Equal(t, 1, w.match(t, 5))
}

// An edit is no news of a home that met the search before it, though it was listed before the search, or that the search
// was told of, and none while it is not offered. A search that misses it as new may be told of its rent.
func TestSavedEditsThatAreNoNews(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	three := func(l *listing.Listing) { l.Bedrooms = 3 }
	for _, id := range []string{"old", "small", "gone"} {
		w.edit(t, id, 0)
	}
	since := func(s *saved.Search) { s.Since = dbtest.After(1) }
	w.search(t, "all", saved.Criteria{}, since)
	w.search(t, "words", saved.Criteria{Text: "louer"}, since)
	w.search(t, "three", saved.Criteria{Bedrooms: []int{3}}, since)
	w.search(t, "later", saved.Criteria{Bedrooms: []int{3}}, func(s *saved.Search) { s.Since = dbtest.After(5) })
	w.edit(t, "old", 2, titled("4 ½ à louer, rénové"), func(l *listing.Listing) { l.Description = "Neuf" })
	require.Zero(t, w.match(t, 2), "it met all of these before")

	w.edit(t, "small", 3, three)
	require.Equal(t, 1, w.match(t, 3))
	require.Equal(t, [][]string{{"New: 4 ½ à louer, 1,250 $ a month"}}, w.notices(t, 3))
	w.edit(t, "small", 6)
	w.edit(t, "small", 7, three)
	require.Equal(t, 1, w.match(t, 7), "new to the later search alone")
	require.Len(t, w.notices(t, 7), 1)

	archive(t, w.listings, 3)
	require.Zero(t, w.match(t, 60*48))
	w.edit(t, "gone", 60*48+1, three)
	require.Equal(t, 4, w.match(t, 60*48+2), "it is back, and told as that alone")
	require.Equal(t, []int64{0}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches WHERE kind = 'new' AND at > '"+
		dbtest.After(60).Format("2006-01-02 15:04:05Z07")+"'"))
}

// What changes at once with the rent is compared first: a home that both bring into a search is new to it, and told
// once. Events that are compared late are compared with what the advert was before each.
func TestSavedEditsWithTheRent(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	three := func(l *listing.Listing) { l.Bedrooms = 3 }
	for _, id := range []string{"cheaper", "dearer", "late"} {
		w.edit(t, id, 0)
	}
	f := saved.Criteria{Bedrooms: []int{3}, MaxPrice: 1300}
	since := func(s *saved.Search) { s.Since = dbtest.After(1) }
	w.search(t, "any", f, since)
	w.search(t, "drops", f, since, func(s *saved.Search) { s.Kinds = []saved.Kind{saved.PriceDrop} })
	w.edit(t, "cheaper", 2, three, rented(1200))
	w.edit(t, "dearer", 2, three, rented(1300))
	require.Equal(t, 3, w.match(t, 2))
	require.ElementsMatch(t, [][]string{
		{"New: 4 ½ à louer, 1,200 $ a month", "New: 4 ½ à louer, 1,300 $ a month"},
		{"Price drop: 4 ½ à louer, 1,200 $ a month instead of 1,250 $"},
	}, w.notices(t, 2))

	w.edit(t, "late", 3, three, rented(1400))
	w.edit(t, "late", 4, three, rented(1300), titled("5 ½ à louer"))
	w.edit(t, "late", 5, three, rented(1100))
	require.Equal(t, 2, w.match(t, 5))
	require.ElementsMatch(t, [][]string{
		{"New: 4 ½ à louer, 1,100 $ a month"}, {"Price drop: 4 ½ à louer, 1,100 $ a month instead of 1,250 $"},
	}, w.notices(t, 5))
}

// Only what a search may ask for is compared: a visit that finds nothing new, and a change of anything else, wait for
// nothing. What waits of an advert is forgotten with it.
func TestSavedEditsThatNothingAsksFor(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.edit(t, "1", 1)
	w.match(t, 1)
	w.edit(t, "1", 2)
	w.edit(t, "1", 3, func(l *listing.Listing) {
		l.Bathrooms, l.ImageURLs, l.Promotion = 2, []string{"http://i.example/9.jpg"}, "1 month free"
	})
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
	w.edit(t, "1", 4, rented(1100))
	require.Equal(t, int64(1), dbtest.Count(t, w.pool, "saved_queue"), "the event of its rent")
	w.match(t, 4)
	w.edit(t, "1", 5, titled("secret"), rented(1100))
	require.Equal(t, int64(1), dbtest.Count(t, w.pool, "saved_queue"))
	_, err := dblistings.NewForgets(w.pool).ForgetAdvert(t.Context(), refOf("1"), false, dbtest.After(6))
	require.NoError(t, err)
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
}

// A search for homes that an owner has taken over, or for those that none has, is told of one that becomes so, once; any
// other is told nothing of that.
func TestSavedClaims(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	claim := func(claimed bool, minutes int) {
		changed, err := w.listings.Claim(t.Context(), refOf("1"), claimed, "jo", dbtest.After(minutes))
		require.NoError(t, err)
		require.True(t, changed)
	}
	since := func(minutes int) func(s *saved.Search) {
		return func(s *saved.Search) { s.Since = dbtest.After(minutes) }
	}
	w.search(t, "claimed", saved.Criteria{Claimed: new(true)})
	w.search(t, "unclaimed", saved.Criteria{Claimed: new(false)})
	w.search(t, "any", saved.Criteria{})
	w.edit(t, "1", 1)
	require.Equal(t, 2, w.match(t, 1), "it is new to all but the first")
	w.search(t, "later", saved.Criteria{}, since(2))
	w.search(t, "unclaimed later", saved.Criteria{Claimed: new(false)}, since(2))
	claim(true, 2)
	require.Equal(t, 1, w.match(t, 2), "new to the first")
	w.edit(t, "1", 3, titled("of its owner"))
	require.Zero(t, w.match(t, 3))
	claim(false, 4)
	require.Equal(t, 1, w.match(t, 4), "new to the last")
	claim(true, 5)
	claim(false, 6)
	require.Zero(t, w.match(t, 6), "all were told")
	require.Equal(t, []int64{4}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches WHERE kind = 'new'"))

	archive(t, w.listings, 1)
	w.match(t, 60*48)
	w.search(t, "claimed, last", saved.Criteria{Claimed: new(true)}, since(60*48))
	claim(true, 60*48+1)
	require.Equal(t, 1, w.match(t, 60*48+1), "it is offered again, by its owner")
	for claimed, want := range map[bool]int{true: 1, false: 0} {
		_, total, _, err := w.Try(t.Context(), saved.Criteria{Claimed: &claimed}, dbtest.Start, 10)
		require.NoError(t, err)
		require.Equal(t, want, total)
	}
}

// A search for homes with pictures is told of one when its first picture is stored.
func TestSavedPictures(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "pictured", saved.Criteria{HasImages: true})
	w.search(t, "any", saved.Criteria{})
	w.edit(t, "1", 1)
	require.Equal(t, 1, w.match(t, 1))
	for n, name := range []string{"a", "a", "b"} {
		url := fmt.Sprintf("http://i.example/%d.jpg", n/2+1)
		require.NoError(t, w.listings.AttachImage(t.Context(), refOf("1"), picture(url, name), dbtest.After(2)))
	}
	require.Equal(t, int64(1), dbtest.Count(t, w.pool, "saved_queue"))
	require.Equal(t, 1, w.match(t, 2))
	w.edit(t, "1", 3, titled("3 ½ à louer"))
	require.Zero(t, w.match(t, 3))
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches WHERE kind = 'new'"))
	for has, want := range map[bool]int{true: 1, false: 2} {
		w.edit(t, "2", 4)
		_, total, _, err := w.Try(t.Context(), saved.Criteria{HasImages: has}, dbtest.Start, 10)
		require.NoError(t, err)
		require.Equal(t, want, total)
	}
}

// An advert whose pictures are all replaced has pictures while the new ones are on their way: what happens to it meanwhile
// is told, and the first of them makes it new to nobody. One that had lost its pictures before gets its first one.
func TestSavedPicturesReplaced(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	pictured := func(name string) func(l *listing.Listing) {
		return func(l *listing.Listing) {
			l.ImageURLs = nil
			if name != "" {
				l.ImageURLs = []string{"http://i.example/" + name + ".jpg"}
			}
		}
	}
	attach := func(name string, minutes int) {
		img := picture("http://i.example/"+name+".jpg", name)
		require.NoError(t, w.listings.AttachImage(t.Context(), refOf("1"), img, dbtest.After(minutes)))
	}
	w.search(t, "told", saved.Criteria{HasImages: true})
	w.edit(t, "1", 1, pictured("a"))
	attach("a", 2)
	require.Equal(t, 1, w.match(t, 3))
	w.search(t, "later", saved.Criteria{HasImages: true}, func(s *saved.Search) { s.Since = dbtest.After(4) })
	w.edit(t, "1", 5, pictured("b"))
	require.Zero(t, w.match(t, 5))
	attach("b", 6)
	require.Zero(t, w.match(t, 6), "it had one before")

	w.edit(t, "1", 7, pictured("c"), rented(1100))
	require.Equal(t, 2, w.match(t, 7), "the rent fell")
	attach("c", 8)
	require.Zero(t, w.match(t, 8))
	archive(t, w.listings, 1)
	require.Zero(t, w.match(t, 60*48))
	w.edit(t, "1", 60*48+1, pictured("d"), rented(1100))
	require.Equal(t, 2, w.match(t, 60*48+2), "it is back")
	attach("d", 60*48+3)
	require.Zero(t, w.match(t, 60*48+3))
	require.Equal(t, []int64{2, 1, 2}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches GROUP BY kind ORDER BY kind"),
		"back, new, price_drop")

	w.edit(t, "1", 60*48+4, pictured(""), rented(1000))
	require.Zero(t, w.match(t, 60*48+4), "it has no picture")
	w.search(t, "last", saved.Criteria{HasImages: true}, func(s *saved.Search) { s.Since = dbtest.After(60*48 + 5) })
	w.edit(t, "1", 60*48+6, pictured("e"), rented(1000))
	require.Zero(t, w.match(t, 60*48+6))
	attach("e", 60*48+7)
	require.Equal(t, 1, w.match(t, 60*48+7))
}

// A cheaper advert of a home that was told of, and no longer meets the search, keeps no fall of the rent of another one
// from it: what is wanted of the home is offered for less.
func TestSavedDropBesideAnAdvertThatMeetsItNoMore(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	three := func(l *listing.Listing) { l.Bedrooms = 3 }
	w.search(t, "two", saved.Criteria{Bedrooms: []int{2}})
	w.search(t, "any", saved.Criteria{})
	w.edit(t, "1", 1, rented(900))
	w.edit(t, "2", 2, rented(1100))
	for _, id := range []string{"1", "2"} {
		dbtest.Exec(t, w.pool, `INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at)
			VALUES ($1, $2, '{}', 0, now())`, refOf(id).ID(), refOf("1").ID())
	}
	require.Equal(t, 2, w.match(t, 3), "once of the home, each")
	w.edit(t, "2", 4, rented(1050))
	require.Zero(t, w.match(t, 4), "it is offered for less")
	w.edit(t, "1", 5, rented(900), three)
	require.Zero(t, w.match(t, 5))
	w.edit(t, "2", 6, rented(1000))
	require.Equal(t, 1, w.match(t, 6))
	require.Equal(t, []int64{105_000}, dbtest.Seen(t, w.pool, `SELECT m.old_rent_cents
		FROM saved_matches m JOIN saved_searches s ON s.id = m.search WHERE m.kind = 'price_drop' AND s.name = 'two'`))
}
