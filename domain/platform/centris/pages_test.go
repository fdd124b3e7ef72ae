package centris_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/centris"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const (
	host     = "https://www.centris.ca"
	advertAt = host + "/fr/condo-appartement~a-louer~montreal-villeray/10000017"
	laterAt  = host + "/Property/GetInscriptions?page=2"
)

var searchAt = centris.Platform{}.Site().Start

func cardsOf(r scrape.Results) (out []string) {
	for _, c := range r.Cards {
		out = append(out, c.PlatformID+" "+strings.TrimPrefix(c.URL, host)+" "+c.Title)
	}
	return out
}

func TestReadSearch(t *testing.T) {
	t.Parallel()
	at := "/fr/%~a-louer~montreal-rosemont-la-petite-patrie/"
	path := func(slug, id string) string { return strings.ReplaceAll(at, "%", slug) + id }
	both := []string{
		"10000017 " + path("condo-appartement", "10000017") +
			" Condo / Appartement à louer, 12, Rue Inventée, app. 5, Montréal (Rosemont/La Petite-Patrie)",
		"1000018 " + path("loft-studio", "1000018") +
			" Loft / Studio à louer, 14, Rue Inventée, Montréal (Rosemont/La Petite-Patrie)",
	}
	later := []string{"10000019 " + path("maison-en-copropriete", "10000019") +
		" Maison en copropriété à louer, 16, Rue Inventée, Montréal (Rosemont/La Petite-Patrie)"}
	for _, tt := range []struct {
		name, file, address string
		old, now            string // replaced in the file
		cards               []string
		total               int
		last                bool
		wrong               string
	}{
		{"the first page", "search.html", searchAt, "", "", both, 1227, false, ""},
		{"of one page", "search.html", searchAt, ">1 227<", ">20<", both, 20, true, ""},
		{"none", "empty.html", searchAt, "", "", nil, 0, true, ""},
		{"a later page, the last", "search-later.json", laterAt, "", "", later, 21, true, ""},
		{"a later page", "search-later.json", laterAt, `"count": 21`, `"count": 41`, later, 41, false, ""},
		{"beyond the end", "search-later.json", laterAt, "property-thumbnail-item", "x", nil, 20, true, "21 adverts in all"},
		{"a list that became shorter", "search-later.json", strings.Replace(laterAt, "2", "3", 1), "property-thumbnail-item", "x",
			nil, 21, true, ""},
		{"no cards and a count", "search.html", searchAt, "property-thumbnail-item", "x", nil, 0, false,
			"1227 adverts in all, and page 1 of 20 adverts each has no div.property-thumbnail-item"},
		{"cards and a count of none", "search.html", searchAt, ">1 227<", ">0<", nil, 0, false, "a count of 0"},
		{"no count", "search.html", searchAt, "numberOfResults", "x", nil, 0, false, "no #numberOfResults"},
		{"a count in words", "search.html", searchAt, ">1 227<", ">plusieurs<", nil, 0, false, "no #numberOfResults"},
		{"led back to the first page", "search.html", laterAt, "", "", nil, 0, false, "page 2 was asked for"},
		{"another number in the link", "search.html", searchAt, "patrie/10000017", "patrie/10000011", nil, 0, false, "a card has"},
		{"no category", "search.html", searchAt, `class="category"`, `class="x"`, nil, 0, false, "a card has"},
		{"failed", "search-later.json", laterAt, `"Succeeded": true`, `"Succeeded": false`, nil, 0, false, "d.Succeeded"},
		{"without HTML", "search-later.json", laterAt, `"html"`, `"text"`, nil, 0, false, "d.Result.html"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sharedtest.Page(t, "testdata/"+tt.file, tt.address)
			p.Body = []byte(strings.ReplaceAll(string(p.Body), tt.old, tt.now))
			r, err := centris.Platform{}.ReadSearch(p)
			if tt.wrong != "" {
				if class, _ := fault.Of(err); class != fault.Invalid || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("ReadSearch = %+v, %v; want an error with %q", r, err, tt.wrong)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(cardsOf(r), tt.cards) || r.Total != tt.total || r.Last != tt.last {
				t.Errorf("ReadSearch = %q, total %d, last %t, %v", cardsOf(r), r.Total, r.Last, err)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	read := func(old, now string) string {
		p := sharedtest.Page(t, "testdata/search.html", searchAt)
		p.Body = []byte(strings.Replace(string(p.Body), old, now, 1))
		r, err := centris.Platform{}.ReadSearch(p)
		require.NoError(t, err)
		return r.Cards[0].Fingerprint
	}
	was := read("", "")
	for name, change := range map[string][2]string{
		"rent": {"<span>1125 $", "<span>1150 $"}, "photos": {"\n15<i", "\n16<i"}, "bedrooms": {"'cac'>2", "'cac'>3"},
		"address": {"<div>12, Rue", "<div>11, Rue"},
	} {
		assert.NotEqual(t, read(change[0], change[1]), was, name)
	}
	if read("w=320", "w=640") != was || read("order: 0", "order: 1") != was {
		t.Error("the fingerprint depends on more than the home")
	}
}

func TestReadAdvert(t *testing.T) {
	t.Parallel()
	cents := func(n int64) *int64 { return &n }
	lat, lon := 45.552897, -73.611282
	const city = "Montréal (Villeray/Saint-Michel/Parc-Extension)"
	for _, tt := range []struct {
		file string
		want listing.Raw
	}{
		{"detail.html", listing.Raw{
			Ref: listing.Ref{Platform: "centris", PlatformID: "10000017"}, URL: advertAt,
			Title:       "Condo / Appartement à louer, 12, Rue Inventée, app. 201, " + city,
			Description: "Logement au dernier étage, deux chambres. Chiens refusés.",
			Price:       listing.RawPrice{AmountCents: cents(147_500), Text: "1 475 $ /mois"},
			Address:     "12, Rue Inventée, app. 201, " + city, Latitude: &lat, Longitude: &lon,
			Attributes: map[string][]string{"category": {"Condo / Appartement à louer"}, "centris_number": {"10000017"},
				"piece": {"5 pièces"}, "cac": {"2 chambres"}, "sdb": {"1 salle de bain"}, "Superficie brute": {"1 240 pc"},
				"Année de construction": {"2024"}, "Caractéristiques additionnelles": {"Semi-meublé, Internet inclus"},
				"Date d’emménagement": {"2026-04-01"}},
			ImageURLs: []string{"https://mspublic.centris.ca/media.ashx?id=A&t=pi&w=640&h=480&sm=c",
				"https://mspublic.centris.ca/media.ashx?id=B&t=pi&w=640&h=480&sm=c"},
		}},
		{"detail-en.html", listing.Raw{
			Ref: listing.Ref{Platform: "centris", PlatformID: "1000018"},
			URL: host + "/en/lofts-studios~for-rent~montreal-villeray/1000018", Title: "Loft / Studio for rent, 14, Rue Inventée, " + city,
			Price:   listing.RawPrice{AmountCents: cents(90_000), Text: "900 $ /month"},
			Address: "14, Rue Inventée, " + city, Latitude: &lat, Longitude: &lon,
			Attributes: map[string][]string{"category": {"Loft / Studio for rent"}, "centris_number": {"1000018"},
				"piece": {"1 room"}, "sdb": {"1 bathroom and 1 powder room"}, "Net area": {"450 sqft"},
				"Move-in date": {"2026-07-01"}},
			ImageURLs: []string{"https://mspublic.centris.ca/media.ashx?id=X1000018&t=pi&w=1260&h=1024&sm=c"},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			p := sharedtest.Page(t, "testdata/"+tt.file, tt.want.URL)
			a, err := centris.Platform{}.ReadAdvert(p)
			require.NoError(t, err)
			if !reflect.DeepEqual(a.Raw, tt.want) {
				got, _ := json.Marshal(a.Raw)
				want, _ := json.Marshal(tt.want)
				t.Errorf("raw = %s\nwant  %s", got, want)
			}
			if strings.Contains(string(a.Extra), "Personne") || string(a.Extra) != `{"from":"html","walk_score":88}` {
				t.Errorf("extra = %s", a.Extra)
			}
		})
	}
}

func TestReadAdvertThatIsNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, address, old, now string
		want                    fault.Class
	}{
		{"as it is", advertAt, "", "", ""},
		{"another advert", strings.Replace(advertAt, "17", "18", 1), "", "", fault.Invalid},
		{"led to a search", searchAt, "", "", fault.Gone},
		{"without a number", advertAt, `"ListingId"`, `"x"`, fault.Invalid},
		{"cut off", advertAt, `"ListingDisplayId"`, `"x"`, fault.Invalid},
		{"without a category", advertAt, `itemprop="category"`, "", fault.Invalid},
		{"without an address", advertAt, `<h2 itemprop="address">`, "<h2>", fault.Invalid},
		{"without a price", advertAt, `itemprop="offers"`, "", fault.Invalid},
	} {
		p := sharedtest.Page(t, "testdata/detail.html", tt.address)
		p.Asked, p.Body = advertAt, []byte(strings.ReplaceAll(string(p.Body), tt.old, tt.now))
		_, err := centris.Platform{}.ReadAdvert(p)
		assert.Equal(t, tt.want, fault.ClassOf(err), tt.name)
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	normalized := func(file, address string) (listing.Listing, error) {
		a, err := centris.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/"+file, address))
		require.NoError(t, err)
		return centris.Platform{}.Normalize(a.Raw)
	}
	l, err := normalized("detail.html", advertAt)
	if err != nil || l.RentCents != 147_500 || l.Bedrooms != 2 || l.Rooms != 0 || l.Bathrooms != 1 || l.AreaSqFt != 1240 ||
		l.Available != "2026-04-01" || l.Furnished != "semi" || l.Utilities.Internet == nil || l.Utilities.Heat != nil ||
		l.PropertyType != "apartment" || l.Address.Unit != "201" || l.Address.Street != "Rue Inventée" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	l, err = normalized("detail-en.html", host+"/en/lofts-studios~for-rent~montreal-villeray/1000018")
	if err != nil || l.RentCents != 90_000 || l.Bedrooms != 0 || l.AreaSqFt != 450 || l.Available != "2026-07-01" ||
		l.PropertyType != "loft" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	// Its microdata has the sale price only.
	l, err = normalized("detail-sale-or-rent.html", host+"/fr/maison~a-louer~montreal-villeray/10000019")
	if err != nil || l.RentCents != 407_500 || l.Bedrooms != 3 || l.Bathrooms != 2 || l.PropertyType != "house" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	a, err := centris.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail.html", advertAt))
	require.NoError(t, err)
	a.Attributes["category"] = []string{"Terrain à louer"}
	if _, err = (centris.Platform{}).Normalize(a.Raw); err == nil || !strings.Contains(err.Error(), "no home") {
		t.Errorf("land: %v", err)
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
		{searchAt + "&view=Map&sort=None&pageSize=20", 1, searchAt},
		{strings.Replace(searchAt, "/fr/propriete~a-louer", "/en/properties~for-rent", 1), 2, laterAt},
		{searchAt, 12, host + "/Property/GetInscriptions?page=12"},
		{searchAt, 0, ""},
		{strings.Split(searchAt, "?")[0], 1, ""},
		{strings.Split(searchAt, "?")[0] + "?q=H4sIAAAA", 1, ""},
		{strings.Split(searchAt, "?")[0] + "?q=%21", 1, ""},
		{advertAt, 1, ""},
		{host + "/", 1, ""},
		{laterAt, 1, ""},
		{"ftp" + strings.TrimPrefix(searchAt, "https"), 1, ""},
	} {
		r, err := centris.Platform{}.SearchRequest(tt.start, tt.n)
		if class, _ := fault.Of(err); r.URL != tt.want || (class == fault.Invalid) != (tt.want == "") {
			t.Errorf("SearchRequest(%q, %d) = %q, %v; want %q", tt.start, tt.n, r.URL, err, tt.want)
		}
		if (r.JSON != "") != strings.Contains(r.URL, "/Property/") {
			t.Errorf("SearchRequest(%q, %d) sends %q", tt.start, tt.n, r.JSON)
		}
	}
	r, err := centris.Platform{}.SearchRequest(searchAt, 3)
	const want = `{"mode":"Result","page":3,"pageSize":20,"query":{"fieldsValues":[` +
		`{"fieldId":"Category","value":"Residential"},{"fieldId":"SellingType","value":"Rent"},` +
		`{"fieldId":"CityDistrict","value":"844"}]},"region":"Quebec","searchView":"Thumbnail","sort":"None"}`
	if err != nil || r.JSON != want || r.Header["Referer"] != searchAt {
		t.Errorf("SearchRequest = %+v, %v; want the body %s", r, err, want)
	}
}

// TestRealPages reads the pages of the site that are at hand and compares them with what a person has read there.
func TestRealPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedtest.Dir(t, "reading real pages of Centris"), "data", "platforms", "centris", "flatbot_2026-03")
	r, err := centris.Platform{}.ReadSearch(sharedtest.Page(t, filepath.Join(dir, "search_rosemont_fr_2026-03.excerpt.html"), searchAt))
	if err != nil || len(r.Cards) != 20 || r.Total != 227 || r.Last {
		t.Fatalf("%d cards, total %d, last %t, %v; want 20 of 227", len(r.Cards), r.Total, r.Last, err)
	}
	if c := r.Cards[1]; c.PlatformID != "26212714" ||
		c.Title != "Condo / Appartement à louer, 6755, boulevard de l'Assomption, app. 3, Montréal (Rosemont/La Petite-Patrie)" {
		t.Errorf("the second card = %+v", c)
	}
	for _, tt := range []struct {
		file, id                   string
		rent                       int64
		bedrooms, area             int
		bathrooms                  float64
		available, unit, furnished string
		images                     int
	}{
		{"detail_26555915_fr_2026-03.excerpt.html", "26555915", 147_500, 1, 450, 1, "2026-04-01", "201", "semi", 8},
		{"detail_9538106_fr_2026-03.excerpt.html", "9538106", 175_000, 3, 1240, 1, "2026-07-01", "4", "", 0},
	} {
		a, err := centris.Platform{}.ReadAdvert(sharedtest.Page(t, filepath.Join(dir, tt.file), host+"/"))
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		l, err := centris.Platform{}.Normalize(a.Raw)
		if err != nil || l.PlatformID != tt.id || l.RentCents != tt.rent || l.Bedrooms != tt.bedrooms || l.AreaSqFt != tt.area ||
			l.Bathrooms != tt.bathrooms || l.Available != tt.available || l.Address.Unit != tt.unit ||
			l.Furnished != tt.furnished || len(l.ImageURLs) != tt.images || l.Latitude == nil {
			t.Errorf("%s: listing = %+v, %v", tt.file, l, err)
		}
	}
}
