package listings_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Every format has each listing of the filter once, also beyond the pages that are read from the database.
func TestExportListings(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	here, there := 45.5, -73.6
	d.Publish(t, listing.Listing{
		Ref: apitest.Kijiji("1"), Title: "=HYPERLINK(1)", RentCents: 90_000, Bedrooms: 1, Latitude: &here, Longitude: &there,
	}, "anjou", apitest.Now)
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("2"), Title: "Beau \"4½\", calme", RentCents: 150_050, Rooms: 4.5, Bedrooms: 2}, "", apitest.Now)
	const more = 501
	_, err := d.Pool.Exec(t.Context(), `
		WITH r AS (INSERT INTO raw_listings SELECT r.* FROM raw_listings o, generate_series(1, $1) n, jsonb_populate_record(o,
			jsonb_build_object('id', gen_random_uuid(), 'platform_id', 'n' || n)) r WHERE o.platform_id = '2' RETURNING id, platform_id)
		INSERT INTO listings (id, platform, platform_id, revision, url, title, description, rent_cents, bedrooms, details,
			details_hash, published_at, updated_at)
		SELECT r.id, l.platform, r.platform_id, 1, '', 'x', '', 100, 3, l.details, l.details_hash, l.published_at, l.updated_at
		FROM r, listings l WHERE l.platform_id = '2'`, more)
	require.NoError(t, err)

	r := d.Get(t, "/listings/export?max_price=2000&min_price=500")
	require.Equal(t, http.StatusOK, r.Status, r.Body)
	require.Contains(t, r.Header.Get("Content-Disposition"), "listings.csv")
	rows, err := csv.NewReader(strings.NewReader(r.Body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	titles := []string{rows[1][5], rows[2][5]}
	require.ElementsMatch(t, []string{"'=HYPERLINK(1)", "Beau \"4½\", calme"}, titles, "no cell is a formula")

	r = d.Get(t, "/listings/export?format=ndjson")
	seen := map[string]bool{}
	for line := range strings.Lines(r.Body) {
		var l apilistings.ListingSummary
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		require.False(t, seen[l.PlatformID], l.PlatformID)
		seen[l.PlatformID] = true
	}
	require.Len(t, seen, more+2)

	var collection struct {
		Type     string
		Features []apilistings.Feature
	}
	require.NoError(t, json.Unmarshal([]byte(d.Get(t, "/listings/export?format=geojson").Body), &collection))
	require.Equal(t, "FeatureCollection", collection.Type)
	require.Len(t, collection.Features, 1, "the others have no coordinates")
	require.Equal(t, [2]float64{there, here}, collection.Features[0].Geometry.Coordinates)

	require.JSONEq(t, `{"type":"FeatureCollection","features":[]}`,
		d.Get(t, "/listings/export?format=geojson&platform=nobody").Body)
	for query, field := range map[string]string{
		"format=xml": "format", "bbox=1": "bbox", "limit=5": "limit", "max_price=1&min_price=2": "max_price", "sort=price": "sort",
	} {
		require.Contains(t, fmt.Sprint(apitest.Refused(t, d.Get(t, "/listings/export?"+query), 422).Fields()), field, query)
	}
	require.Equal(t, 400, d.Get(t, "/listings/export?text=%2B").Status)
}

// A group has the listings of its interval, place and bedrooms; small ones and rooms are left out.
func TestRents(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	n := 0
	publish := func(rent int64, bedrooms int, place, kind string, at time.Time) {
		n++
		d.Publish(t, listing.Listing{
			Ref: apitest.Kijiji(fmt.Sprint(n)), Title: "x", RentCents: rent, Bedrooms: bedrooms, PropertyType: kind,
		}, place, at)
	}
	last := apitest.Now.AddDate(0, -1, 0)
	for _, rent := range []int64{100, 400, 200, 300, 500} {
		publish(rent, 2, "anjou", "apartment", apitest.Now)
	}
	publish(900, 2, "anjou", "room", apitest.Now)
	publish(700, 2, "anjou", "", last)
	publish(800, 1, "", "condo", last)
	month := func(at time.Time) time.Time { return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC) }
	of := func(query string) []apilistings.RentGroup {
		return apitest.Read[apilistings.Rents](t, d.Get(t, "/stats/rents"+query), 200).Groups
	}

	five := apilistings.RentGroup{
		From: month(apitest.Now), Place: "anjou", Bedrooms: 2, Listings: 5, LowCents: 200, MidCents: 300, HighCents: 400,
	}
	until := "until=" + apitest.Now.AddDate(0, 1, 0).Format(time.DateOnly)
	require.Equal(t, []apilistings.RentGroup{five}, of("?by=neighbourhood&"+until))
	require.Equal(t, []apilistings.RentGroup{
		{From: month(last), Bedrooms: 1, Listings: 1, LowCents: 800, MidCents: 800, HighCents: 800},
		{From: month(last), Place: "anjou", Bedrooms: 2, Listings: 1, LowCents: 700, MidCents: 700, HighCents: 700}, five,
	}, of("?by=neighbourhood&least=1&"+until))
	require.Len(t, of("?least=1&bedrooms=1,3&"+until), 1)
	require.Equal(t, int64(900), of("?least=1&property_type=room&" + until)[0].MidCents)
	require.Len(t, of("?least=1&since="+month(apitest.Now).Format(time.DateOnly)+"&"+until), 1)
	require.Empty(t, of("?until="+last.AddDate(0, -1, 0).Format(time.DateOnly)))
	for query, field := range map[string]string{
		"since=x": "since", "since=2026-01-02&until=2026-01-02": "until", "since=2006-01-02&until=2026-01-02": "until",
		"by=city": "by", "least=0": "least", "bedrooms=1,3000000000": "bedrooms", "bedrooms=1&bedrooms=2": "bedrooms",
	} {
		require.Contains(t, fmt.Sprint(apitest.Refused(t, d.Get(t, "/stats/rents?"+query), 422).Fields()), field, query)
	}
	require.Contains(t, apitest.Refused(t, d.Get(t, "/stats/rents?since=1000-01-01"), 422).Detail, "ten years")
}

func TestClaimListing(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	l := listing.Listing{Ref: apitest.Kijiji("1"), Title: "4½", RentCents: 90_000}
	d.Publish(t, l, "", apitest.Now)
	for _, tt := range []struct {
		verb             string
		claimed, changed bool
	}{{"claim", true, true}, {"claim", true, false}, {"unclaim", false, true}, {"unclaim", false, false}} {
		got := apitest.Read[apilistings.ListingClaim](t, d.Ask(t, "POST", "/listings/kijiji/1/"+tt.verb, ""), 200)
		require.Equal(t, apilistings.ListingClaim{ListingID: l.ID(), Claimed: tt.claimed, Changed: tt.changed}, got)
	}
	apitest.Refused(t, d.Ask(t, "POST", "/listings/kijiji/2/claim", ""), 404)
}
