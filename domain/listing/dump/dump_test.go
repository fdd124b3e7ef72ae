package dump_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/dump"
)

// all reads every row, and the errors of those that cannot be read.
func all(text, table string) (rows []dump.Row, wrong []string) {
	for row, err := range dump.Rows(strings.NewReader(text), table) {
		if err != nil {
			wrong = append(wrong, fmt.Sprint(row.Number, " ", err))
			continue
		}
		row.Columns = nil
		rows = append(rows, row)
	}
	return rows, wrong
}

const plain = `--
-- PostgreSQL database dump
--

SET client_encoding = 'UTF8';

COPY public.users (id, name) FROM stdin;
1	Nobody
\.

COPY public.listings (id, title, "order", images) FROM stdin;
1	Beau 4 ½\t\\ \303\251t\xe9 \q	\N	{a,"b, \\"c"}
2	cut
3		3	\N
\.


COPY "public"."other" (id) FROM stdin;
9
\.
`

func TestRows(t *testing.T) {
	t.Parallel()
	row := func(n int, pairs ...string) dump.Row {
		r := dump.Row{Number: n, Values: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Values[pairs[i]] = pairs[i+1]
		}
		return r
	}
	for _, tt := range []struct {
		name, text string
		want       []dump.Row
		wrong      []string
	}{
		{"plain SQL", plain, []dump.Row{
			row(1, "id", "1", "title", "Beau 4 ½\t\\ ét\xe9 q", "images", `{a,"b, \"c"}`), row(3, "id", "3", "title", "", "order", "3"),
		}, []string{"2 has 2 fields, expected 4: the dump is cut off or damaged"}},
		{"JSON", "\n{\"id\": 1, \"t\": \"a\\nb\", \"no\": null, \"list\": [\"x\"]}\r\n{\"id\"\n{\"id\": true}", []dump.Row{
			row(1, "id", "1", "t", "a\nb", "list", `["x"]`), row(3, "id", "true"),
		}, []string{"2 unexpected end of JSON input"}},
		{"CSV", "\ufeffid,t\n1,\"a\nb\"\n2\n3,\n", []dump.Row{row(1, "id", "1", "t", "a\nb"), row(3, "id", "3")},
			[]string{"2 record on line 4: wrong number of fields"}},
		{"nothing", "", nil, nil},
		{"a custom dump", "PGDMP\x01", nil, []string{"0 it is a dump in pg_dump's custom format; make a plain one of it by " +
			"pg_restore --data-only -t listings -f listings.sql FILE"}},
		{"another table", "COPY public.users (id) FROM stdin;\n1\n\\.\n", nil,
			[]string{"0 it has no rows of public.listings (COPY … FROM stdin), but of public.users; pg_dump -t public.listings " +
				"writes them, without --inserts"}},
		{"an open quote", "id,t\n1,\"" + strings.Repeat("x", 2*dump.MaxRow) + "\n", nil,
			[]string{"0 has more than 4194304 bytes: a quote may be open"}},
		{"a line without end", `{"a": "` + strings.Repeat("x", dump.MaxRow), nil,
			[]string{"0 a row has more than 4194304 bytes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, wrong := all(tt.text, "public.listings")
			require.Equal(t, tt.want, rows)
			require.Equal(t, tt.wrong, wrong)
		})
	}
	for row := range dump.Rows(strings.NewReader(plain), "listings") {
		require.Equal(t, []string{"id", "title", "order", "images"}, row.Columns)
		break
	}
	rows, _ := all(plain, "listings")
	require.Len(t, rows, 2, "without a schema it is any")
}

var columns = []string{
	"id", "source", "sourceId", "sourceUrl", "title", "description", "price", "bedrooms", "bathrooms", "squareFeet",
	"propertyType", "address", "postalCode", "lat", "lng", "isFurnished", "petsAllowed", "availableFrom", "images",
	"amenities", "status", "createdAt", "lastScrapedAt",
}

func TestMessage(t *testing.T) {
	t.Parallel()
	plan, err := dump.Find(columns, dump.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"createdAt", "id"}, plan.Ignored)
	good := map[string]string{
		"id": "7", "source": "Kijiji", "sourceId": "123", "sourceUrl": "https://www.kijiji.ca/v/123", "title": "4 ½ Rosemont",
		"description": "Près du métro", "price": "1,450.50", "bedrooms": "2", "bathrooms": "1.5", "squareFeet": "812.4",
		"propertyType": "Apartment", "address": "12 rue X, Montréal", "postalCode": "H2L 3Z1", "lat": "45.5", "lng": "-73.6",
		"isFurnished": "t", "petsAllowed": "f", "availableFrom": "2026-07-01 00:00:00+00",
		"images": `[{"url": "https://i.example/1.jpg"}, "https://i.example/2.jpg"]`, "amenities": `{gym,"air conditioning"}`,
		"status": "Active", "lastScrapedAt": "2026-03-04 12:30:00.5+00",
	}
	m, err := plan.Message(dump.Row{Number: 1, Values: good})
	require.NoError(t, err)
	require.Equal(t, "active", plan.Status(dump.Row{Values: good}))
	at := time.Date(2026, 3, 4, 12, 30, 0, 500_000_000, time.UTC)
	var l listing.Listing
	require.NoError(t, json.Unmarshal(m.Listing, &l))
	require.Equal(t, contract.StagedListing{
		Platform: "kijiji", PlatformID: "123", URL: "https://www.kijiji.ca/v/123", ScrapedAt: at, Listing: m.Listing,
	}, m)
	good["status"] = "Claimed"
	claimed, err := plan.Message(dump.Row{Number: 1, Values: good})
	require.NoError(t, err)
	require.True(t, claimed.Claimed)
	lat, lon := 45.5, -73.6
	require.Equal(t, listing.Listing{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "123"}, URL: m.URL, ScrapedAt: at, Title: "4 ½ Rosemont",
		Description: "Près du métro", RentCents: 145_050, Bedrooms: 2, Bathrooms: 1.5, AreaSqFt: 812,
		PropertyType: "apartment", Address: listing.Address{Text: "12 rue X, Montréal", PostalCode: "H2L 3Z1"},
		Latitude: &lat, Longitude: &lon, Furnished: "yes", Pets: listing.Pets{Policy: "no"}, Available: "2026-07-01",
		ImageURLs: []string{"https://i.example/1.jpg", "https://i.example/2.jpg"},
		Amenities: []string{"air conditioning", "gym"}, Sources: map[string]listing.Source{},
	}, l)

	for _, tt := range []struct{ column, value, want string }{
		{"price", "call us", `rent: is "call us", expected CAD a month`},
		{"price", "", "listing.rent_cents: is 0, expected CAD cents above 0"},
		{"bedrooms", "", "bedrooms: is missing"},
		{"bedrooms", "2.5", `bedrooms: is "2.5", expected a whole number`},
		{"lat", "NaN", `latitude: is "NaN", expected degrees from -90 to 90`},
		{"bathrooms", "-1", `bathrooms: is "-1", expected a number`},
		{"sourceUrl", "javascript:1", `url: "javascript:1" is not an absolute http(s) address`},
		{"lastScrapedAt", "yesterday", `scraped_at: is "yesterday", expected a time such as 2026-03-04 12:00:00+00`},
		{"lastScrapedAt", "", "scraped_at: is missing"},
		{"images", "none", `image_urls: is "none", expected a list`},
	} {
		row := dump.Row{Number: 1, Values: map[string]string{}}
		maps.Copy(row.Values, good)
		row.Values[tt.column] = tt.value
		_, err := plan.Message(row)
		require.ErrorContains(t, err, tt.want)
	}
}

// A rent is read as it is printed in French and in English, and as databases write numbers; what is none is refused
// instead of being published.
func TestRent(t *testing.T) {
	t.Parallel()
	names := []string{"source", "sourceId", "sourceUrl", "title", "bedrooms", "lastScrapedAt"}
	for _, tt := range []struct {
		column, value string
		cents         int64
		wrong         string
	}{
		{"price", "850", 85_000, ""},
		{"price", "850.00", 85_000, ""},
		{"price", "850.5", 85_050, ""},
		{"price", "850.1234", 85_012, ""},
		{"price", "1450.0000000000001", 145_000, ""},
		{"price", "1450.000", 145_000, ""},
		{"price", "850,00", 85_000, ""},
		{"price", "850,5", 85_050, ""},
		{"price", "1.450,00", 145_000, ""},
		{"price", "1.450", 145_000, ""},
		{"price", "1,450", 145_000, ""},
		{"price", "1,450.50", 145_050, ""},
		{"price", "$1,450.50 / month", 145_050, ""},
		{"price", "1 450,50 $", 145_050, ""},
		{"price", "1\u202f450 $ / mois", 145_000, ""},
		{"price", "1\u00a0450,00 $", 145_000, ""},
		{"price", "CAD 1450", 145_000, ""},
		{"price", "100000", 10_000_000, ""},
		{"price", "100000.01", 0, `rent: is "100000.01", expected 0.01 $ to 100000 $ a month`},
		{"price", "425 000 $", 0, `rent: is "425 000 $", expected 0.01 $ to 100000 $ a month`},
		{"price", "850.000", 0, `rent: is "850.000", expected 0.01 $ to 100000 $ a month`},
		{"price", "0", 0, `rent: is "0", expected 0.01 $ to 100000 $ a month`},
		{"price", "-850", 0, `rent: is "-850", expected 0.01 $ to 100000 $ a month`},
		{"price", "-850,00", 0, `rent: is "-850,00", expected CAD a month`},
		{"price", "NaN", 0, `rent: is "NaN", expected 0.01 $ to 100000 $ a month`},
		{"price", "300 $ / semaine", 0, `rent: is "300 $ / semaine", expected CAD a month`},
		{"price", "900 €", 0, `rent: is "900 €", expected CAD a month`},
		{"price", "900 - 1200 $", 0, `rent: is "900 - 1200 $", expected CAD a month`},
		{"price", "sur demande", 0, `rent: is "sur demande", expected CAD a month`},
		{"rent_cents", "85000", 85_000, ""},
		{"rent_cents", "10000001", 0, `rent_cents: is "10000001", expected 0.01 $ to 100000 $ a month`},
		{"rent_cents", "850,00", 0, `rent_cents: is "850,00", expected a number`},
	} {
		t.Run(tt.column+" "+tt.value, func(t *testing.T) {
			t.Parallel()
			plan, err := dump.Find(append([]string{tt.column}, names...), dump.Options{})
			require.NoError(t, err)
			m, err := plan.Message(dump.Row{Number: 1, Values: map[string]string{
				"source": "kijiji", "sourceId": "1", "sourceUrl": "https://a.example/1", "title": "Loft", "bedrooms": "1",
				"lastScrapedAt": "2026-03-04", tt.column: tt.value,
			}})
			if tt.wrong != "" {
				require.EqualError(t, err, tt.wrong)
				return
			}
			require.NoError(t, err)
			var l listing.Listing
			require.NoError(t, json.Unmarshal(m.Listing, &l))
			require.Equal(t, tt.cents, l.RentCents)
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	few := []string{"nr", "href", "title", "rent_cents", "price", "beds", "seen"}
	o := dump.Options{Platform: "kijiji", Columns: map[string]string{"platform_id": "nr", "url": "href", "scraped_at": "seen"}}
	plan, err := dump.Find(few, o)
	require.NoError(t, err)
	require.Equal(t, "rent_cents", plan.Columns["rent_cents"])
	m, err := plan.Message(dump.Row{Number: 1, Values: map[string]string{
		"nr": "1", "href": "https://a.example/1", "title": "Loft", "rent_cents": "90000", "beds": "Studio", "seen": "2026-01-02",
	}})
	require.NoError(t, err)
	require.Contains(t, string(m.Listing), `"rent_cents":90000`)

	for _, tt := range []struct {
		change func(*dump.Options)
		want   string
	}{
		{func(o *dump.Options) { o.Platform = "" }, "no column was found for platform among nr, href"},
		{func(o *dump.Options) { delete(o.Columns, "url") }, "no column was found for url among"},
		{func(o *dump.Options) { o.Columns["colour"] = "nr" }, `there is no field "colour"; there are address, amenities`},
		{func(o *dump.Options) { o.Columns["city"] = "town" }, `field city: there is no column "town"; there are nr`},
	} {
		bad := dump.Options{Platform: o.Platform, Columns: map[string]string{}}
		maps.Copy(bad.Columns, o.Columns)
		tt.change(&bad)
		_, err := dump.Find(few, bad)
		require.ErrorContains(t, err, tt.want)
	}
}
