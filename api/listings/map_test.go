package listings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

func TestListingsOnTheMap(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	const place = "westmount"
	for i, at := range [][2]float64{{45.5001, -73.6001}, {45.5002, -73.6002}, {45.5003, -73.6003}, {45.55, -73.5}, {}} {
		l := listing.Listing{
			Ref: apitest.Kijiji(fmt.Sprint(i)), Title: "4½", RentCents: int64(100_000 + 10_000*i), Bedrooms: 2, PropertyType: "apartment",
		}
		if at[0] != 0 {
			l.Latitude, l.Longitude = &at[0], &at[1]
		}
		d.Publish(t, l, place, apitest.Now)
	}
	count := func(query string) apilistings.ListingCount {
		return apitest.Read[apilistings.ListingCount](t, d.Get(t, "/listings/count"+query), 200)
	}
	require.Equal(t, apilistings.ListingCount{Count: 5, Exact: true}, count(""))
	require.Equal(t, apilistings.ListingCount{Count: 2, Exact: true}, count("?min_price=1300"))
	require.Equal(t, apilistings.ListingCount{Count: 5, Exact: true}, count("?text=4½"))
	require.Equal(t, apilistings.ListingCount{Exact: true}, count("?status=archived"))

	_, err := d.Pool.Exec(t.Context(), `
		INSERT INTO raw_listings SELECT m.* FROM raw_listings r, generate_series(1, 1100) n,
			jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'platform_id', 'x' || n)) m WHERE r.platform_id = '4'`)
	require.NoError(t, err)
	columns := "platform, revision, url, title, description, rent_cents, bedrooms, details, details_hash, published_at, updated_at"
	_, err = d.Pool.Exec(t.Context(), `INSERT INTO listings (id, platform_id, `+columns+`)
		SELECT r.id, r.platform_id, l.platform, l.revision, l.url, l.title, l.description, 500000, l.bedrooms, l.details,
			l.details_hash, l.published_at, l.updated_at
		FROM raw_listings r, listings l WHERE r.platform_id LIKE 'x%' AND l.platform_id = '4'`)
	require.NoError(t, err)
	many := count("")
	require.False(t, many.Exact)
	require.Greater(t, many.Count, int64(1000))
	require.True(t, count("?max_price=2000").Exact)

	const island = "?bbox=-73.7,45.4,-73.4,45.6"
	for zoom, want := range map[int][]int64{12: {3, 1}, 18: {3, 1}, 2: {4}} {
		got := apitest.Read[apilistings.ListingCells](t, d.Get(t, fmt.Sprint("/listings/cells", island, "&max_price=2000&zoom=", zoom)), 200)
		var counts []int64
		for _, c := range got.Cells {
			counts = append(counts, c.Count)
			require.Equal(t, c.Count == 1, c.ID != nil)
		}
		require.Equal(t, want, counts, zoom)
		require.LessOrEqual(t, 0.3/got.Width*0.2/got.Height, 400.0)
		require.Equal(t, int64(110_000), got.Cells[0].MedianRentCents)
	}
	apitest.Refused(t, d.Get(t, "/listings/cells"), 422)
	apitest.Refused(t, d.Get(t, "/listings/cells"+island+"&colour=red"), 422)

	r := d.Get(t, "/neighbourhoods?geometry=true")
	all := apitest.Read[apilistings.NeighbourhoodList](t, r, 200)
	require.Len(t, all.Items, 91)
	found := false
	for _, n := range all.Items {
		require.NotEmpty(t, n.Polygons, n.Key)
		if n.Key == place {
			found = true
			require.Equal(t, int64(5), n.Active)
			require.Equal(t, []apilistings.NeighbourhoodFor{{Bedrooms: 2, Active: 5, MedianCents: 120_000}}, n.Rents)
		}
	}
	require.True(t, found)
	require.Less(t, len(r.Body), 200_000)
	again := d.Get(t, "/neighbourhoods?geometry=true", "If-None-Match", r.Header.Get("ETag"))
	require.Equal(t, 304, again.Status)
	require.Empty(t, again.Body)
	for _, match := range []string{"W/" + r.Header.Get("ETag"), strings.Repeat(`"0123456789abcdef", `, 20) + r.Header.Get("ETag"), "*"} {
		require.Equal(t, 304, d.Get(t, "/neighbourhoods?geometry=true", "If-None-Match", match).Status, match)
	}
	require.Less(t, len(d.Get(t, "/neighbourhoods").Body), 40_000)
}
