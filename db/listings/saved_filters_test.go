package listings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A saved search finds the listings that GET /listings finds by the same filter, when they are new and in a trial.
func TestSavedFiltersAreThoseOfListings(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	dice := rand.New(rand.NewPCG(3, 4))
	pick := func(values ...string) string { return values[dice.IntN(len(values))] }
	some := func(values []string) (out []string) {
		for dice.IntN(3) == 0 {
			out = append(out, values[dice.IntN(len(values))])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	const searches, listings = 80, 50
	filters := map[uuid.UUID]dblistings.ListingFilter{}
	criteria := map[uuid.UUID]saved.Criteria{}
	for n := range searches {
		var c saved.Criteria
		f := dblistings.ListingFilter{Status: []string{"active", "claimed"}, Sort: dblistings.Newest, Limit: listings}
		if dice.IntN(4) == 0 {
			c.MaxPrice = int64(1000 + dice.IntN(1000))
			f.MaxRentCents = new(c.MaxPrice * 100)
		}
		if dice.IntN(4) == 0 {
			c.Bedrooms = []int{dice.IntN(4)}
			f.Bedrooms = c.Bedrooms
		}
		if dice.IntN(4) == 0 {
			c.Rooms = []float64{3.5, 4.5}[:1+dice.IntN(2)]
			f.Rooms = c.Rooms
		}
		if dice.IntN(4) == 0 {
			c.MinArea = 500 + 100*dice.IntN(5)
			f.MinAreaSqFt = &c.MinArea
		}
		if dice.IntN(4) == 0 {
			c.MaxArea = c.MinArea + 100*dice.IntN(5) + 1
			f.MaxAreaSqFt = &c.MaxArea
		}
		if dice.IntN(4) == 0 {
			f.AvailableBy = dbtest.Start.AddDate(0, 0, dice.IntN(400)-100).Truncate(24 * time.Hour)
			c.AvailableBy = f.AvailableBy.Format(time.DateOnly)
		}
		if dice.IntN(4) == 0 {
			c.HasImages = true
			f.HasImages = &c.HasImages
		}
		switch dice.IntN(6) {
		case 0:
			c.Claimed, f.Status = new(true), []string{"claimed"}
		case 1:
			c.Claimed, f.Status = new(false), []string{"active"}
		}
		if dice.IntN(3) == 0 {
			c.Pets = pick(listing.PetsTraits...)
		}
		c.Furnished, c.Parking, c.Lease = some(listing.FurnishedTraits), some(listing.ParkingTraits), some(listing.LeaseTraits)
		f.Traits = c.Groups()
		id := w.search(t, fmt.Sprint(n), c)
		filters[id], criteria[id] = f, c
	}
	for n := range listings {
		l := normalized(refOf(fmt.Sprint(n)))
		l.RentCents, l.Bedrooms = int64(1000+dice.IntN(1000))*100, dice.IntN(4)
		l.Rooms = []float64{0, 3.5, 4.5, 5.5}[dice.IntN(4)]
		l.AreaSqFt = []int{0, 500, 600, 700, 800, 900}[dice.IntN(6)]
		l.Available = pick("", "now", "2026-07", "07-01", "<=12-15", "2027-01-01", "summer")
		l.Furnished, l.Lease = pick("", "yes", "semi", "optional", "no"), pick("", "one-year", "6-month", "month-to-month")
		l.Parking.Offer, l.Parking.Type = pick("", "included", "available", "extra", "street", "none"), pick("", "indoor", "outdoor")
		l.Pets = listing.Pets{
			Policy: pick("", "yes", "no", "limited", "conflict"), Cats: pick("", "yes", "no", "conditional"),
			Dogs: pick("", "yes", "no", "small", "conditional"),
		}
		receive(t, w.listings, arrival(l.Ref, fmt.Sprint("advert ", n), 1))
		publish(t, w.listings, l, 1, 1)
		if n%2 == 0 {
			require.NoError(t, w.listings.AttachImage(t.Context(), l.Ref, picture(l.ImageURLs[0], "a"), dbtest.After(1)))
		}
	}
	for n := 0; n < listings; n += 3 {
		_, err := w.listings.Claim(t.Context(), refOf(fmt.Sprint(n)), true, "jo", dbtest.After(1))
		require.NoError(t, err)
	}
	w.match(t, 2)

	found := map[uuid.UUID][]uuid.UUID{}
	b := new(pgx.Batch)
	b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
	b.Queue("SELECT search, listing FROM saved_matches").Query(func(rows pgx.Rows) error {
		var search, of uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&search, &of}, func() error {
			found[search] = append(found[search], of)
			return nil
		})
		return err
	})
	require.NoError(t, w.pool.SendBatch(t.Context(), b).Close())
	matches := 0
	for id, f := range filters {
		var want, tried []uuid.UUID
		list, _, err := w.listings.Search(t.Context(), f)
		require.NoError(t, err)
		for _, l := range list {
			want = append(want, l.ID)
		}
		items, _, _, err := w.Try(t.Context(), criteria[id], dbtest.Start, listings)
		require.NoError(t, err)
		for _, i := range items {
			tried = append(tried, i.Listing)
		}
		require.ElementsMatch(t, want, found[id], "%+v", criteria[id])
		require.ElementsMatch(t, want, tried, "%+v", criteria[id])
		matches += len(want)
	}
	require.Greater(t, matches, searches/2)
	require.Less(t, matches, searches*listings/2)
}
