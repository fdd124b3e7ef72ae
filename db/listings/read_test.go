package listings_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestSearchFilters(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	hood := place.All()[0].Key
	add := func(platform, id, title, description string, rent int64, bedrooms int,
		lat, lon float64, neighbourhood string) {
		l := normalized(listing.Ref{Platform: platform, PlatformID: id})
		l.Title, l.Description, l.RentCents, l.Bedrooms = title, description, rent, bedrooms
		if lat != 0 {
			l.Latitude, l.Longitude = &lat, &lon
		}
		receive(t, s, arrival(l.Ref, id, 0))
		_, err := s.Publish(t.Context(), listing.Publication{
			Version: listing.Version{Listing: l, Revision: 1}, Neighbourhood: neighbourhood,
		}, runOf(l.Ref), dbtest.After(len(id)))
		require.NoError(t, err)
	}
	add("kijiji", "a", "Studio à Montréal", "près du métro Jarry", 90_000, 0, 45.54, -73.63, hood)
	add("kijiji", "bb", "4 ½ rénové", "chauffé, balcon", 120_000, 2, 45.50, -73.60, "")
	add("kangalou", "ccc", "Grand 5 ½", "rue Saint-Denis, rénovée", 180_000, 3, 45.51, -73.55, hood)
	add("kangalou", "dddd", "Loft", "no balcony here", 150_000, 1, 0, 0, "")
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'archived' WHERE platform_id = 'dddd'")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "INSERT INTO listing_images (listing_id, url, sort_order, state, key, thumbnail_key, created_at)"+
		" SELECT id, 'https://example.org/' || platform_id, 0, CASE platform_id WHEN 'a' THEN 'failed' ELSE 'attached' END, 'k', 't', now()"+
		" FROM listings WHERE platform_id IN ('a', 'bb')")
	require.NoError(t, err)

	for _, tt := range []struct {
		name string
		f    dblistings.ListingFilter
		want []string
	}{
		{"nothing asked", dblistings.ListingFilter{}, []string{"dddd", "ccc", "bb", "a"}},
		{"newest", dblistings.ListingFilter{Sort: dblistings.Newest}, []string{"dddd", "ccc", "bb", "a"}},
		{"cheapest", dblistings.ListingFilter{Sort: dblistings.Cheapest}, []string{"a", "bb", "dddd", "ccc"}},
		{"dearest", dblistings.ListingFilter{Sort: dblistings.Dearest}, []string{"ccc", "dddd", "bb", "a"}},
		{"last changed", dblistings.ListingFilter{Sort: dblistings.Updated}, []string{"dddd", "ccc", "bb", "a"}},
		{"changed since, inclusive", dblistings.ListingFilter{UpdatedSince: dbtest.After(3)}, []string{"dddd", "ccc"}},
		{"with a picture", dblistings.ListingFilter{HasImages: ptr(true)}, []string{"bb"}},
		{"without one", dblistings.ListingFilter{HasImages: ptr(false)}, []string{"dddd", "ccc", "a"}},
		{"active", dblistings.ListingFilter{Status: []string{"active"}}, []string{"ccc", "bb", "a"}},
		{"archived", dblistings.ListingFilter{Status: []string{"archived"}}, []string{"dddd"}},
		{"a platform", dblistings.ListingFilter{Platform: []string{"kijiji"}}, []string{"bb", "a"}},
		{"an unknown platform", dblistings.ListingFilter{Platform: []string{"x"}}, nil},
		{"a neighbourhood", dblistings.ListingFilter{Neighbourhood: []string{hood}}, []string{"ccc", "a"}},
		{"a rent from, inclusive", dblistings.ListingFilter{MinRentCents: ptr(int64(150_000))}, []string{"dddd", "ccc"}},
		{"a rent up to, inclusive", dblistings.ListingFilter{MaxRentCents: ptr(int64(120_000))}, []string{"bb", "a"}},
		{"a studio", dblistings.ListingFilter{Bedrooms: []int{0}}, []string{"a"}},
		{"two or three bedrooms", dblistings.ListingFilter{Bedrooms: []int{2, 3}}, []string{"ccc", "bb"}},
		{"at least one bedroom", dblistings.ListingFilter{MinBedrooms: ptr(1)}, []string{"dddd", "ccc", "bb"}},
		{"a part of the map", dblistings.ListingFilter{Box: &dblistings.Box{West: -73.61, South: 45.49, East: -73.54, North: 45.52}},
			[]string{"ccc", "bb"}},
		{"a word with its accents", dblistings.ListingFilter{Text: "métro"}, []string{"a"}},
		{"a word without them", dblistings.ListingFilter{Text: "metro montreal"}, []string{"a"}},
		{"accents that the advert has not", dblistings.ListingFilter{Text: "Dénis"}, []string{"ccc"}},
		{"a phrase", dblistings.ListingFilter{Text: `"saint denis"`}, []string{"ccc"}},
		{"another form of a word", dblistings.ListingFilter{Text: "rénovés"}, []string{"ccc", "bb"}},
		{"a word and not another", dblistings.ListingFilter{Text: "balcon -loft"}, []string{"bb"}},
		{"marks between words", dblistings.ListingFilter{Text: `" & | ! ( ' loft`}, []string{"dddd"}},
		{"several at once",
			dblistings.ListingFilter{Status: []string{"active"}, Platform: []string{"kijiji"}, MaxRentCents: ptr(int64(100_000)), Text: "studio"},
			[]string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.f.Limit = 10
			page, next, err := s.Search(t.Context(), tt.f)
			require.NoError(t, err)
			require.Nil(t, next)
			var got []string
			for _, l := range page {
				got = append(got, l.PlatformID)
			}
			require.Equal(t, tt.want, got)
		})
	}
	for _, text := range []string{`" & | ! ( '`, "\x00", "-", "loft site:a.example"} {
		_, _, err = s.Search(t.Context(), dblistings.ListingFilter{Text: text, Limit: 10})
		dbtest.RequireClass(t, fault.Invalid, err)
	}
}

// TestSearchForTraits filters by what only the details of a listing say.
func TestSearchForTraits(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for i, change := range []func(l *listing.Listing){
		func(l *listing.Listing) { l.Pets.Policy, l.Available = "yes", "now" },
		func(l *listing.Listing) { l.Pets = listing.Pets{Policy: "limited", Cats: "yes"} },
		func(l *listing.Listing) { l.Pets = listing.Pets{Policy: "yes", Dogs: "no"} },
		func(l *listing.Listing) { l.Pets.Policy, l.Furnished, l.Available = "no", "semi", "2026-12" },
		func(l *listing.Listing) { l.Parking.Offer, l.Parking.Type, l.Available = "extra", "indoor", "<=12-15" },
		func(l *listing.Listing) { l.Parking.Offer, l.Furnished, l.Available = "none", "yes", "2027-07-01" },
		func(l *listing.Listing) {
			l.Lease, l.Rooms, l.AreaSqFt, l.Available = "month-to-month", 4.5, 800, "07-01"
		},
		func(l *listing.Listing) { l.Lease, l.Rooms, l.AreaSqFt, l.Available = "one-year", 5.5, 1000, "10-31" },
		func(l *listing.Listing) { l.Available = "summer" },
	} {
		l := normalized(listing.Ref{Platform: "kijiji", PlatformID: string(rune('a' + i))})
		l.ScrapedAt = time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)
		change(&l)
		receive(t, s, arrival(l.Ref, l.PlatformID, 0))
		_, err := s.Publish(t.Context(), listing.Publication{Version: listing.Version{Listing: l, Revision: 1}}, runOf(l.Ref),
			dbtest.After(i))
		require.NoError(t, err)
	}
	either := func(traits ...string) [][]string { return [][]string{traits} }
	on := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name string
		f    dblistings.ListingFilter
		want string
	}{
		{"any pets", dblistings.ListingFilter{Traits: either("pets_yes")}, "cba"},
		{"cats", dblistings.ListingFilter{Traits: either("pets_cats")}, "cba"},
		{"dogs", dblistings.ListingFilter{Traits: either("pets_dogs")}, "a"},
		{"no pets", dblistings.ListingFilter{Traits: either("pets_no")}, "d"},
		{"furnished, or half", dblistings.ListingFilter{Traits: either("furnished_yes", "furnished_semi")}, "fd"},
		{"a parking space", dblistings.ListingFilter{Traits: either("parking_yes")}, "e"},
		{"indoor", dblistings.ListingFilter{Traits: either("parking_indoor")}, "e"},
		{"no parking, furnished", dblistings.ListingFilter{Traits: [][]string{{"parking_none"}, {"furnished_yes"}}}, "f"},
		{"a lease", dblistings.ListingFilter{Traits: either("lease_month-to-month")}, "g"},
		{"Quebec counts", dblistings.ListingFilter{Rooms: []float64{4.5, 5.5}}, "hg"},
		{"large enough", dblistings.ListingFilter{MinAreaSqFt: ptr(801)}, "h"},
		{"small enough", dblistings.ListingFilter{MaxAreaSqFt: ptr(800)}, "g"},
		{"on the day of the scrape; in October past", dblistings.ListingFilter{AvailableBy: on(11, 20)}, "ha"},
		{"a day before", dblistings.ListingFilter{AvailableBy: on(11, 19)}, "h"},
		{"in a month", dblistings.ListingFilter{AvailableBy: on(12, 1)}, "hda"},
		{"until a day without a year", dblistings.ListingFilter{AvailableBy: on(12, 15)}, "heda"},
		{"in July of the next year", dblistings.ListingFilter{AvailableBy: on(12+7, 1)}, "hgfeda"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, _ := found(t, s, tt.f)
			require.Equal(t, tt.want, strings.Join(page, ""))
			tt.f.Sort, tt.f.Text = dblistings.Relevance, "louer"
			page, _ = found(t, s, tt.f)
			require.Len(t, page, len(tt.want), "by relevance")
		})
	}
}

// TestSearchPages reads 200 listings page by page in every order. All have one rent and one of two times, so that only
// the ID tells them apart.
func TestSearchPages(t *testing.T) {
	t.Parallel()

	const listings = 200
	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	arrivals := make([]dblistings.Arrival, listings)
	for i := range arrivals {
		arrivals[i] = arrival(refOf(fmt.Sprint(i)), "x", 0)
	}
	_, err := s.Receive(t.Context(), arrivals, dbtest.Start)
	require.NoError(t, err)
	for i, a := range arrivals {
		_, err := s.Publish(t.Context(), listing.Publication{
			Version: listing.Version{Listing: normalized(a.Ref), Revision: 1},
		}, runOf(a.Ref), dbtest.After(i%2))
		require.NoError(t, err)
	}
	for _, order := range []dblistings.ListingSort{dblistings.Newest, dblistings.Updated, dblistings.Cheapest, dblistings.Dearest} {
		for _, limit := range []int{1, 7, 100} {
			t.Run(fmt.Sprintf("%s by %d", order, limit), func(t *testing.T) {
				t.Parallel()

				var ids []uuid.UUID
				f := dblistings.ListingFilter{Sort: order, Limit: limit}
				for {
					page, next, err := s.Search(t.Context(), f)
					require.NoError(t, err)
					for _, l := range page {
						ids = append(ids, l.ID)
					}
					if next == nil {
						break
					}
					require.Len(t, page, limit)
					cursor, err := json.Marshal(next) // as the API hands it out
					require.NoError(t, err)
					f.After = new(db.Position)
					require.NoError(t, json.Unmarshal(cursor, f.After))
				}
				require.Len(t, ids, listings)
				slices.SortFunc(ids, func(a, b uuid.UUID) int { return cmp.Compare(a.String(), b.String()) })
				require.Len(t, slices.Compact(ids), listings, "no listing twice")
			})
		}
	}
}

func TestDetail(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	_, err := s.Detail(t.Context(), refOf("none").ID())
	dbtest.RequireClass(t, fault.Gone, err)

	// A rejected advert has its audit trail and no listing.
	rejected := arrival(refOf("rejected"), "À vendre", 1)
	rejected.Payload = append(rejected.Payload[:len(rejected.Payload)-1],
		`,"contact":{"phone":"514"},"extra":{"kept":1}}`...)
	receive(t, s, rejected)
	reasons := []listing.Reason{{Field: "price", Code: "missing", Message: "none"},
		{Field: "title", Code: "wanted", Message: "x"}}
	require.NoError(t, s.Reject(t.Context(), listing.Raw{Ref: rejected.Ref}, listing.Payload{Revision: 1, Body: rejected.Payload},
		&listing.Rejection{Reasons: reasons}, runOf(rejected.Ref), dbtest.After(2)))
	d, err := s.Detail(t.Context(), rejected.Ref.ID())
	require.NoError(t, err)
	require.Nil(t, d.Summary)
	require.Nil(t, d.Details)
	require.Equal(t, "rejected", d.Audit.Status)
	require.Equal(t, reasons, d.Audit.Reasons)
	require.True(t, d.Audit.Settled)
	require.Len(t, d.Audit.Revisions, 1)
	require.NotContains(t, string(d.Audit.Revisions[0].Payload), "514", "contact data is not for readers")
	require.Contains(t, string(d.Audit.Revisions[0].Payload), "kept")
	require.Equal(t, []dblistings.ImageDetail{}, d.Images, "the API shows [], not null")
	require.Equal(t, []dblistings.HistoryEvent{}, d.History, "the API shows [], not null")

	// A published one has all of it.
	l := imported(t, s, "1")
	require.NoError(t, s.AttachImage(t.Context(), l.Ref, picture("http://i.example/2.jpg", "a"), dbtest.After(1)))
	d, err = s.Detail(t.Context(), l.ID())
	require.NoError(t, err)
	require.Equal(t, l.Title, d.Summary.Title)
	require.Equal(t, 1, d.Summary.Images)
	require.Equal(t, picture("", "a").ThumbnailKey, *d.Summary.Thumbnail)
	require.Equal(t, l.RentCents, d.Details.RentCents)
	require.Len(t, d.Images, 2)
	require.Equal(t, "attached", d.Images[1].State)
	require.Equal(t, picture("", "a").SHA256, *d.Images[1].SHA256)
	require.Len(t, d.History, 1)
	require.Equal(t, "imported", d.Audit.Status)

	// A duplicate names the listing that it duplicates.
	two := refOf("2")
	receive(t, s, arrival(two, "x", 1))
	require.NoError(t, s.SaveDuplicate(t.Context(), two, 1, l.ID(), reasons[:1], runOf(two), dbtest.Start))
	d, err = s.Detail(t.Context(), two.ID())
	require.NoError(t, err)
	require.Equal(t, l.ID(), *d.Audit.DuplicateOf)
	require.Equal(t, reasons[:1], d.Audit.Reasons)
}

// A text that takes long to find in the order of the answer is looked for in another way, and found.
func TestSearchForATextThatTakesLong(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	imported(t, s, "1")
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE listings")
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	waits := func() []time.Time { // the transactions that wait for the table
		return dbtest.Query[time.Time](t, pool, `SELECT xact_start FROM pg_stat_activity WHERE datname = current_database()
			AND wait_event_type = 'Lock' AND backend_type = 'client backend'`)
	}
	found := make(chan []dblistings.ListingSummary, 1)
	go func() {
		got, _, err := s.Search(t.Context(), dblistings.ListingFilter{Text: "louer", Limit: 10})
		if err == nil {
			found <- got
		}
		close(found)
	}()
	var first []time.Time
	require.Eventually(t, func() bool { first = waits(); return len(first) == 1 }, servicetest.Patience(), 10*time.Millisecond)
	require.Eventually(t, func() bool {
		second := waits()
		return len(second) == 1 && second[0].After(first[0])
	}, servicetest.Patience(), 10*time.Millisecond, "it takes too long, and another way is tried")
	require.NoError(t, tx.Commit(t.Context()))
	got, ok := <-found
	require.True(t, ok)
	require.Len(t, got, 1)
}
