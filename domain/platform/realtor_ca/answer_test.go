package realtorca_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	realtorca "github.com/mtlrent/conveyor/domain/platform/realtor_ca"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const searchAt = "https://api2.realtor.ca/Listing.svc/PropertySearch_Post"

func TestReadSearch(t *testing.T) {
	t.Parallel()
	r, err := realtorca.Platform{}.ReadSearch(sharedtest.Page(t, "testdata/search.json", searchAt))
	if err != nil || len(r.Cards) != 2 || r.Total != 84 || r.Last {
		t.Fatalf("ReadSearch = %+v, %v; want 2 cards of 84", r, err)
	}
	cents, lat, lon := int64(310_000), 45.534606, -73.585011
	posted := time.Date(2023, 10, 1, 5, 2, 56, 630_000_000, time.UTC)
	const address = "12 Rue Inventée, #3, Montréal (Villeray/Saint-Michel/Parc-Extension), Quebec H2S3G1"
	want := listing.Raw{
		Ref: listing.Ref{Platform: "realtor_ca", PlatformID: "90000001"}, Title: "Apartment, " + address,
		URL:         "https://www.realtor.ca/real-estate/90000001/12-rue-invent%C3%A9e-montr%C3%A9al",
		Description: "Logement fictif, chauffage inclus. Non-fumeur.",
		Price:       listing.RawPrice{AmountCents: &cents, Text: "$3,100/Monthly"},
		Address:     address, Latitude: &lat, Longitude: &lon, PostedAt: &posted,
		Attributes: map[string][]string{"Bedrooms": {"3"}, "BathroomTotal": {"1"}, "StoriesTotal": {"2"}, "Type": {"Apartment"},
			"SizeInterior": {"131.9 m2"}, "ParkingSpaceTotal": {"1"}, "ParkingType": {"Garage"}, "MlsNumber": {"20000001"},
			"centris_number": {"20000001"}},
		ImageURLs: []string{"https://cdn.realtor.ca/listings/TS1/reb5/highres/8/20000001_1.jpg"},
	}
	if got := r.Cards[0].Advert.Raw; !reflect.DeepEqual(got, want) {
		got, _ := json.Marshal(got)
		want, _ := json.Marshal(want)
		t.Errorf("raw = %s\nwant  %s", got, want)
	}
	all, _ := json.Marshal(r)
	if strings.Contains(string(all), "Personne") || strings.Contains(string(all), "555") {
		t.Error("a broker's name or phone is kept")
	}
	l, err := realtorca.Platform{}.Normalize(r.Cards[0].Advert.Raw)
	if err != nil || l.RentCents != 310_000 || l.Bedrooms != 3 || l.Bathrooms != 1 || l.AreaSqFt != 1420 || l.Address.Unit != "3" ||
		l.Address.PostalCode != "H2S 3G1" || l.Utilities.Heat == nil || l.Parking.Spots != 1 || l.PropertyType != "apartment" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	second := r.Cards[1].Advert
	if second.Attributes["centris_number"] != nil || second.Price.AmountCents == nil || *second.Price.AmountCents != 200_000 {
		t.Errorf("a rent by the year = %+v, %q", second.Price, second.Attributes["centris_number"])
	}
	r, err = realtorca.Platform{}.ReadSearch(sharedtest.Changed(t, "testdata/search.json", searchAt, `"TotalPages": 2`, `"TotalPages": 1`))
	if err != nil || !r.Last {
		t.Errorf("the last page: %t, %v", r.Last, err)
	}
	a, err := realtorca.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail.json", searchAt))
	if err != nil || a.PlatformID != "90000001" {
		t.Errorf("ReadAdvert = %+v, %v", a, err)
	}
}

func TestUnknownAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, old, now, says string }{
		{"an error", "search.json", `"Id": 200`, `"Id": 500`, `the API says 500 "Success - OK"`},
		{"no results", "search.json", `"Results"`, `"Listings"`, "JSON without Results"},
		{"no count", "search.json", `"TotalRecords"`, `"Total"`, "JSON without Results"},
		{"no results and a count", "empty.json", `"TotalRecords": 0`, `"TotalRecords": 7`, "7 adverts in all"},
		{"no number", "search.json", `"Id": "90000001"`, `"Id": ""`, "a result has the Id"},
		{"another number in the path", "search.json", "/real-estate/90000001", "/real-estate/90000009", "a result has the Id"},
		{"no address", "search.json", "AddressText", "Text", "a result has the Id"},
	} {
		_, err := realtorca.Platform{}.ReadSearch(sharedtest.Changed(t, "testdata/"+tt.file, searchAt, tt.old, tt.now))
		assert.Equal(t, fault.Invalid, fault.ClassOf(err), tt.name)
		assert.ErrorContains(t, err, tt.says, tt.name)
	}
	if _, err := (realtorca.Platform{}).ReadAdvert(sharedtest.Page(t, "testdata/search.json", searchAt)); err == nil {
		t.Error("an answer with two adverts is read as one")
	}
	r, err := realtorca.Platform{}.ReadSearch(sharedtest.Changed(t, "testdata/search.json", searchAt, "$3,100/Monthly", "$3,100/Seasonal"))
	if err != nil || r.Cards[0].Advert.Price.AmountCents != nil {
		t.Errorf("a rent by the season = %+v, %v", r.Cards[0].Advert.Price, err)
	}
}

func TestSearchRequest(t *testing.T) {
	t.Parallel()
	r, err := realtorca.Platform{}.SearchRequest(searchAt+"?CultureId=2&LatitudeMin=45.5&RecordsPerPage=600&CurrentPage=9", 3)
	if err != nil || r.URL != searchAt || r.Form["CultureId"][0] != "2" || r.Form["LatitudeMin"][0] != "45.5" ||
		r.Form["RecordsPerPage"][0] != "50" || r.Form["CurrentPage"][0] != "3" || r.Form["TransactionTypeId"][0] != "3" {
		t.Errorf("SearchRequest = %+v, %v", r, err)
	}
	for _, start := range []string{"https://www.realtor.ca/map", searchAt + "/x", searchAt + "?%zz", "ftp://api2.realtor.ca" + "/Listing.svc/PropertySearch_Post"} {
		if _, err := (realtorca.Platform{}).SearchRequest(start, 1); err == nil {
			t.Errorf("SearchRequest(%q) takes it", start)
		}
	}
}

// TestRealAnswers reads the answers of the API that are at hand: every rent, and the numbers at Centris.
func TestRealAnswers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedtest.Dir(t, "reading real answers of Realtor.ca"), "data", "platforms", "realtor_ca")
	r, err := realtorca.Platform{}.ReadSearch(sharedtest.Page(t, filepath.Join(dir, "search_montreal_rent_en_2023-10-01.json"), searchAt))
	if err != nil || len(r.Cards) != 100 || r.Total != 4084 || r.Last {
		t.Fatalf("%d cards, total %d, last %t, %v; want 100 of 4084", len(r.Cards), r.Total, r.Last, err)
	}
	listings, numbers := 0, 0
	for _, c := range r.Cards {
		l, err := realtorca.Platform{}.Normalize(c.Advert.Raw)
		if err == nil {
			listings++
			if l.RentCents != *c.Advert.Price.AmountCents || l.Latitude == nil || l.Address.PostalCode == "" {
				t.Errorf("%s: %+v", c.PlatformID, l)
			}
		}
		if c.Advert.Attributes["centris_number"] != nil {
			numbers++
		}
	}
	if numbers != 90 || listings < 97 {
		t.Errorf("%d listings and %d numbers at Centris of 100; want 90 numbers", listings, numbers)
	}
	t.Logf("%d of 100 become listings", listings)
	for name, cards := range map[string]int{
		"search_montreal_rent_en_2023-09-30.json": 10, "search_calgary_sale_en_2025-06.json": 12, "search_victoria_sale_en_2020-09.json": 20,
	} {
		r, err := realtorca.Platform{}.ReadSearch(sharedtest.Page(t, filepath.Join(dir, name), searchAt))
		if err != nil || len(r.Cards) != cards {
			t.Errorf("%s: %d cards, %v; want %d", name, len(r.Cards), err, cards)
		}
	}
}
