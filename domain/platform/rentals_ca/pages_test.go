package rentalsca_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	rentalsca "github.com/mtlrent/conveyor/domain/platform/rentals_ca"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const (
	searchAt = "https://rentals.ca/montreal"
	advertAt = searchAt + "/le-fictif"
)

func TestReadSearch(t *testing.T) {
	t.Parallel()
	all := []string{"900001 " + advertAt + " Le Fictif", "900002 " + searchAt + "/14-rue-inventee 14 rue Inventée",
		"900003 " + searchAt + "/16-rue-inventee 16 rue Inventée"}
	for _, tt := range []struct {
		name, file, address, old, now string
		cards                         []string
		total                         int
		last                          bool
		wrong                         string
	}{
		{"a page", "search.html", searchAt, "", "", all, 340, false, ""},
		{"the last", "search.html", searchAt, `"hasNextPage": true`, `"hasNextPage": false`, all, 340, true, ""},
		{"without a count", "search.html", searchAt, `"totalCount"`, `"x"`, all, -1, false, ""},
		{"directly below the store", "search.html", searchAt, `"response"`, `"answer"`, all, 340, false, ""},
		{"none", "empty.html", searchAt, "", "", nil, 0, true, ""},
		{"beyond the last", "empty.html", searchAt + "?p=9", `"totalCount": 0`, `"totalCount": 340`, nil, 340, true, ""},
		{"none and no count", "empty.html", searchAt, `"totalCount"`, `"x"`, nil, 0, false, "no entries"},
		{"none and a next page", "empty.html", searchAt, `"hasNextPage": false`, `"hasNextPage": true`, nil, 0, false, "no entries"},
		{"no edges", "search.html", searchAt, `"edges"`, `"items"`, nil, 0, false, "no App.store.search with edges"},
		{"no store", "search.html", searchAt, "App.store.search", "App.store.results", nil, 0, false, "no App.store.search"},
		{"another kind of id", "search.html", searchAt, `"id": "`, `"id": "x`, nil, 0, false, "an entry has the id"},
		{"no path", "search.html", searchAt, `"path": "montreal/`, `"path": "`, nil, 0, false, "an entry has the id"},
		{"no name", "search.html", searchAt, "rue Inventée", "", nil, 0, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := rentalsca.Platform{}.ReadSearch(sharedtest.Changed(t, "testdata/"+tt.file, tt.address, tt.old, tt.now))
			var cards []string
			for _, c := range r.Cards {
				cards = append(cards, fmt.Sprint(c.PlatformID, " ", c.URL, " ", c.Title))
			}
			if tt.name == "no name" { // its number is left of the street
				tt.cards, tt.total = []string{all[0], "900002 " + searchAt + "/14-rue-inventee 14", "900003 " + searchAt + "/16-rue-inventee 16"}, 340
			}
			if tt.wrong != "" {
				if class, _ := fault.Of(err); class != fault.Invalid || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("ReadSearch = %+v, %v; want an error with %q", r, err, tt.wrong)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(cards, tt.cards) || r.Total != tt.total || r.Last != tt.last {
				t.Errorf("ReadSearch = %q, total %d, last %t, %v", cards, r.Total, r.Last, err)
			}
		})
	}
}

func TestReadAdvert(t *testing.T) {
	t.Parallel()
	cents := func(n int64) *int64 { return &n }
	lat, lon, posted := 45.5, -73.6, time.Date(2023, 3, 15, 12, 49, 44, 0, time.UTC)
	unit := func(id, name string, price listing.RawPrice, images []string, own map[string][]string) listing.Raw {
		attributes := map[string][]string{"building": {"900001"}, "property_type": {"apartment"}, "pet_friendly": {"true"},
			"lease_term": {"1-year"}, "utilities": {"heating", "water"}, "amenities": {"elevator", "balcony"},
			"parking": {"visitor", "underground 200"}}
		for name, values := range own {
			attributes[name] = values
		}
		return listing.Raw{
			Ref: listing.Ref{Platform: "rentals_ca", PlatformID: "900001-" + id}, URL: advertAt, Title: "Le Fictif, " + name,
			Description: "<p>Au cœur de la ville fictive. No smoking.</p>", Price: price,
			Address: "12 rue Inventée, Montréal, QC H2S 3G1", Latitude: &lat, Longitude: &lon, Attributes: attributes,
			ImageURLs: images, PostedAt: &posted,
		}
	}
	const at = "https://assets.rentsync.com/x/images/gallery/1152/"
	want := []listing.Raw{
		unit("8000001", "Studio", listing.RawPrice{AmountCents: cents(145_000)}, []string{at + "front.jpg"},
			map[string][]string{"beds": {"0"}, "baths": {"1"}, "dimensions": {"329"}, "furnished": {"yes"}, "available": {"now"}}),
		unit("8000002", "2 Bedroom", listing.RawPrice{AmountCents: cents(200_000), Text: "from $2000"},
			[]string{at + "kitchen.jpg", at + "front.jpg"}, map[string][]string{"beds": {"2"}, "baths": {"1.5"}, "furnished": {"no"},
				"parking_spots": {"1"}, "available": {"2026-07-01"}}),
	}
	a, err := rentalsca.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail.html", advertAt))
	if err != nil || a.PlatformID != "900001" || a.Title != "Le Fictif" || len(a.Units) != 2 {
		t.Fatalf("advert = %+v, %v", a, err)
	}
	for i, u := range a.Units {
		if !reflect.DeepEqual(u.Raw, want[i]) {
			got, _ := json.Marshal(u.Raw)
			want, _ := json.Marshal(want[i])
			t.Errorf("unit = %s\nwant   %s", got, want)
		}
		assert.NotContains(t, string(u.Extra), "555", u.Extra)
	}
	studio, err := rentalsca.Platform{}.Normalize(a.Units[0].Raw)
	if err != nil || studio.RentCents != 145_000 || studio.Bedrooms != 0 || studio.Bathrooms != 1 || studio.AreaSqFt != 329 ||
		studio.Furnished != "yes" || studio.Available != "now" || studio.Lease != "one-year" || studio.Pets.Policy != "yes" ||
		studio.Utilities.Heat == nil || studio.Utilities.Water == nil || studio.Utilities.Electricity != nil ||
		studio.Parking.Offer != "extra" || studio.Parking.PriceCents != 20_000 || studio.Smoking != "no" ||
		!reflect.DeepEqual(studio.Amenities, []string{"balcony", "elevator"}) || studio.Address.PostalCode != "H2S 3G1" {
		j, _ := json.Marshal(studio)
		t.Errorf("listing = %s, %v", j, err)
	}
	two, err := rentalsca.Platform{}.Normalize(a.Units[1].Raw)
	if err != nil || two.RentCents != 200_000 || two.Bedrooms != 2 || two.Bathrooms != 1.5 || two.Available != "2026-07-01" ||
		two.Parking.Offer != "included" || two.Parking.Spots != 1 {
		t.Errorf("listing = %+v, %v", two, err)
	}
}

func TestReadAdvertThatIsNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, address, old, now string
		want                          fault.Class
	}{
		{"as it is", "detail.html", advertAt, "", "", ""},
		{"not active", "detail.html", advertAt, `"active": true`, `"active": false`, fault.Gone},
		{"nothing to let", "detail.html", advertAt, `"is_available": true`, `"is_available": false`, fault.Gone},
		{"led to a search", "search.html", searchAt, "", "", fault.Gone},
		{"no store", "detail.html", advertAt, "App.store.listing", "App.store.home", fault.Invalid},
		{"no word of being active", "detail.html", advertAt, `"active"`, `"x"`, fault.Invalid},
		{"no units", "detail.html", advertAt, `"units"`, `"x"`, fault.Invalid},
		{"a unit without a number", "detail.html", advertAt, `"id": 8000002`, `"x": 1`, fault.Invalid},
		{"a unit twice", "detail.html", advertAt, `"id": 8000002`, `"id": 8000001`, fault.Invalid},
		{"units that do not say whether they are to let", "detail.html", advertAt, `"is_available"`, `"x"`, fault.Invalid},
		{"an id in words", "detail.html", advertAt, `"id": 900001`, `"id": "900001"`, fault.Invalid},
	} {
		p := sharedtest.Changed(t, "testdata/"+tt.file, tt.address, tt.old, tt.now)
		p.Asked = advertAt
		_, err := rentalsca.Platform{}.ReadAdvert(p)
		assert.Equal(t, tt.want, fault.ClassOf(err), tt.name)
	}
}

// A page is bounded, but each of its units is an advert with all that the building has.
func TestReadAdvertBounds(t *testing.T) {
	t.Parallel()
	unit := `{"id": %d, "beds": 1, "rent": 1000, "is_available": true},`
	var units, photos strings.Builder
	for i := range 200 {
		fmt.Fprintf(&units, unit, 9_000_000+i)
		fmt.Fprintf(&photos, `{"url": "https://example.org/%d.jpg"},`, i)
	}
	p := sharedtest.Changed(t, "testdata/detail.html", advertAt, `"photos": [`, `"photos": [`+photos.String())
	p.Body = []byte(strings.Replace(string(p.Body), `"description": "<p>`, `"description": "<p>`+strings.Repeat("x", 100_000), 1))
	full := strings.Replace(string(p.Body), `"units": [`, `"units": [`+strings.TrimSuffix(units.String(), ",")+`], "old": [`, 1)
	p.Body = []byte(full)
	a, err := rentalsca.Platform{}.ReadAdvert(p)
	if err != nil || len(a.Units) != 200 || len(a.Units[0].ImageURLs) != listing.MaxImages || len(a.Units[0].Description) > 35_000 {
		t.Errorf("%d units, %d images, %v", len(a.Units), len(a.Units[0].ImageURLs), err)
	}
	p.Body = []byte(strings.Replace(full, `"units": [`, `"units": [`+fmt.Sprintf(unit, 1), 1))
	if _, err := (rentalsca.Platform{}).ReadAdvert(p); err == nil || !strings.Contains(err.Error(), "201 units") {
		t.Errorf("201 units: %v", err)
	}
}

func TestSearchRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		start string
		n     int
		want  string // "" = fault.Invalid
	}{
		{searchAt, 1, searchAt},
		{searchAt + "?p=7&rentrange=1160-3954", 1, searchAt + "?rentrange=1160-3954"},
		{searchAt, 3, searchAt + "?p=3"},
		{"https://rentals.ca/fr/a-louer-montreal", 2, "https://rentals.ca/fr/a-louer-montreal?p=2"},
		{"https://louer.ca/quebec-city?types=all-apartments", 2, "https://louer.ca/quebec-city?p=2&types=all-apartments"},
		{searchAt, 0, ""},
		{advertAt, 1, ""},
		{"https://rentals.ca/", 1, ""},
		{searchAt + "?%zz", 1, ""},
	} {
		r, err := rentalsca.Platform{}.SearchRequest(tt.start, tt.n)
		if class, _ := fault.Of(err); r.URL != tt.want || (class == fault.Invalid) != (tt.want == "") {
			t.Errorf("SearchRequest(%q, %d) = %q, %v; want %q", tt.start, tt.n, r.URL, err, tt.want)
		}
	}
}

// TestRealPages reads the pages of the site that are at hand and compares them with what a person has read there.
func TestRealPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedtest.Dir(t, "reading real pages of Rentals.ca"), "data", "platforms", "rentals_ca")
	for _, tt := range []struct {
		file, id, address string
		rents             []int64
		beds, areas       []int
	}{
		{"detail_1001-lucien-l-allier_2026-03.excerpt.html", "704308", "1001 Lucien-L'Allier, Montréal, QC H3G 0G7",
			[]int64{145_000, 159_500, 195_000, 197_500, 329_500}, []int{0, 1, 1, 2, 3}, []int{329, 444, 0, 608, 923}},
		{"detail_haleco_2026-03.excerpt.html", "799526", "997 de la Commune W. St, Montréal, QC H3C 4H5",
			[]int64{150_000, 183_800, 244_400}, []int{0, 1, 2}, []int{0, 0, 0}},
	} {
		a, err := rentalsca.Platform{}.ReadAdvert(sharedtest.Page(t, filepath.Join(dir, "flatbot_2026-03", tt.file), "https://rentals.ca/montreal/x"))
		if err != nil || a.PlatformID != tt.id || a.Address != tt.address {
			t.Errorf("%s: %s at %q, %v", tt.file, a.PlatformID, a.Address, err)
			continue
		}
		var rents []int64
		var beds, areas []int
		for _, u := range a.Units {
			l, err := rentalsca.Platform{}.Normalize(u.Raw)
			if err != nil || l.PropertyType == "" || l.Utilities.Water == nil || l.Pets.Policy == "" || len(l.ImageURLs) == 0 {
				j, _ := json.Marshal(l)
				t.Errorf("%s: listing = %s, %v", u.PlatformID, j, err)
			}
			rents, beds, areas = append(rents, l.RentCents), append(beds, l.Bedrooms), append(areas, l.AreaSqFt)
		}
		if !reflect.DeepEqual(rents, tt.rents) || !reflect.DeepEqual(beds, tt.beds) || !reflect.DeepEqual(areas, tt.areas) {
			t.Errorf("%s: rents %v, bedrooms %v, areas %v", tt.file, rents, beds, areas)
		}
	}
	_, err := rentalsca.Platform{}.ReadAdvert(sharedtest.Page(t, filepath.Join(dir, "blocked_cloudflare_2026-07.html"), advertAt))
	if r := web.RefusalOf(err); r == nil || r.Reason != "captcha" {
		t.Errorf("the challenge: %v; want a refusal", err)
	}
}
