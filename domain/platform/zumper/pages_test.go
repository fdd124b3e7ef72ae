package zumper_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/zumper"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const (
	host     = "https://www.zumper.com"
	searchAt = host + "/apartments-for-rent/montreal-qc"
	advertAt = host + "/listings/90000002/2-bedroom-villeray-montreal-qc"
	streetAt = host + "/address/12-rue-inventee-montreal-qc-h2s-3g1-can"
)

func TestReadSearch(t *testing.T) {
	t.Parallel()
	all := []string{"p900001 " + host + "/apartment-buildings/p900001/le-fictif Le Fictif", "90000002 " + advertAt + " 12 Rue Inventée",
		"900003p " + host + "/listings/900003p/studio-villeray-montreal-qc 14 Rue Inventée"}
	for _, tt := range []struct {
		name, file, old, now string
		cards                []string
		last                 bool
		wrong                string
	}{
		{"a page", "search.html", "", "", all, false, ""},
		{"none", "empty.html", "", "", nil, true, ""},
		{"none, and a count", "empty.html", `"numberOfItems": 0`, `"numberOfItems": 25`, nil, false, "25 adverts, and none is listed"},
		{"no count", "search.html", `"numberOfItems"`, `"x"`, nil, false, "no numberOfItems"},
		{"another type", "search.html", "SearchResultsPage", "WebPage", nil, false, "no JSON-LD of a SearchResultsPage"},
		{"no number", "search.html", "/listings/90000002/", "/listings/x/", nil, false, `the list has "12 Rue Inventée"`},
		{"no name", "search.html", `"name": "Le Fictif"`, `"name": ""`, nil, false, "the list has"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := zumper.Platform{}.ReadSearch(sharedtest.Changed(t, "testdata/"+tt.file, searchAt, tt.old, tt.now))
			var cards []string
			for _, c := range r.Cards {
				cards = append(cards, fmt.Sprint(c.PlatformID, " ", c.URL, " ", c.Title))
			}
			if tt.wrong != "" {
				if class, _ := fault.Of(err); class != fault.Invalid || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("ReadSearch = %+v, %v; want an error with %q", r, err, tt.wrong)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(cards, tt.cards) || r.Total != -1 || r.Last != tt.last {
				t.Errorf("ReadSearch = %q, total %d, last %t, %v", cards, r.Total, r.Last, err)
			}
		})
	}
}

func TestReadAdvert(t *testing.T) {
	t.Parallel()
	cents, lat, lon := int64(150_000), 45.54, -73.62
	posted := time.Date(2026, 8, 5, 1, 10, 49, 0, time.UTC)
	p := sharedtest.Page(t, "testdata/detail.html", streetAt)
	p.Asked = advertAt // the site leads to the street
	a, err := zumper.Platform{}.ReadAdvert(p)
	want := listing.Raw{
		Ref: listing.Ref{Platform: "zumper", PlatformID: "90000002"}, URL: streetAt,
		Title:       "12 Rue Inventée #3, 2 bed, 1 bath, 1,015 Sq. Ft. condo",
		Description: "Bright flat near the metro.\nNo smoking.", Price: listing.RawPrice{AmountCents: &cents},
		Address: "12 Rue Inventée #3, Montréal, QC H2S 3G1", Latitude: &lat, Longitude: &lon,
		Attributes: map[string][]string{"summary": {"2 bed, 1 bath, 1,015 Sq. Ft. condo"}, "floorSize": {"1015FTK"},
			"petsAllowed": {"true"}},
		ImageURLs: []string{"https://img.zumpercdn.com/1/1280x960", "https://img.zumpercdn.com/2/1280x960"}, PostedAt: &posted,
	}
	if err != nil || !reflect.DeepEqual(a.Raw, want) {
		got, _ := json.Marshal(a.Raw)
		want, _ := json.Marshal(want)
		t.Errorf("raw = %s, %v\nwant  %s", got, err, want)
	}
	l, err := zumper.Platform{}.Normalize(a.Raw)
	if err != nil || l.RentCents != 150_000 || l.Bedrooms != 2 || l.Bathrooms != 1 || l.AreaSqFt != 1015 ||
		l.PropertyType != "condo" || l.Pets.Policy != "yes" || l.Smoking != "no" || l.Address.Unit != "3" ||
		l.Address.PostalCode != "H2S 3G1" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	a, err = zumper.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail-building.html", host+"/apartment-buildings/p900001/le-fictif"))
	if err != nil || a.PlatformID != "p900001" || a.Price.Text != "from $1450" {
		t.Fatalf("advert = %+v, %v", a, err)
	}
	if l, err = (zumper.Platform{}).Normalize(a.Raw); err != nil || l.RentCents != 145_000 || l.Bedrooms != 2 || l.Utilities.Heat == nil {
		t.Errorf("listing = %+v, %v", l, err)
	}
}

func TestReadAdvertThatIsNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, address, old, now string
		want                    fault.Class
	}{
		{"as it is", advertAt, "", "", ""},
		{"led to a search", searchAt, "", "", fault.Gone},
		{"led to the search of a quarter", searchAt + "/villeray", "", "", fault.Gone},
		{"no residence", advertAt, "SingleFamilyResidence", "Thing", fault.Invalid},
		{"no product", advertAt, `"Product"`, `"Thing"`, fault.Invalid},
		{"no rent", advertAt, `"lowPrice"`, `"x"`, fault.Invalid},
		{"a rent in words", advertAt, `"lowPrice": 1500`, `"lowPrice": "call"`, fault.Invalid},
		{"no street", advertAt, `"streetAddress"`, `"x"`, fault.Invalid},
	} {
		p := sharedtest.Changed(t, "testdata/detail.html", tt.address, tt.old, tt.now)
		p.Asked = advertAt
		_, err := zumper.Platform{}.ReadAdvert(p)
		assert.Equal(t, tt.want, fault.ClassOf(err), tt.name)
	}
	if _, err := (zumper.Platform{}).ReadAdvert(sharedtest.Page(t, "testdata/detail.html", streetAt)); err == nil {
		t.Error("an advert without a number is read")
	}
	a, err := zumper.Platform{}.ReadAdvert(sharedtest.Changed(t, "testdata/detail.html", advertAt, `"priceCurrency": "CAD"`, `"priceCurrency": "USD"`))
	if err != nil || a.Price.AmountCents != nil || a.Price.Text != "1500 USD" {
		t.Errorf("a rent in another currency = %+v, %v", a.Price, err)
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
		{searchAt + "?page=7", 1, searchAt},
		{searchAt + "/villeray/2-beds", 3, searchAt + "/villeray/2-beds?page=3"},
		{searchAt, 0, ""},
		{searchAt + "?bedrooms=2", 1, ""},
		{advertAt, 1, ""},
		{host + "/apartments-for-rent/", 1, ""},
		{searchAt + "?%zz", 1, ""},
	} {
		r, err := zumper.Platform{}.SearchRequest(tt.start, tt.n)
		if class, _ := fault.Of(err); r.URL != tt.want || (class == fault.Invalid) != (tt.want == "") {
			t.Errorf("SearchRequest(%q, %d) = %q, %v; want %q", tt.start, tt.n, r.URL, err, tt.want)
		}
	}
}

// capture is a saved page: what its author kept of it.
type capture struct {
	JSONLD []json.RawMessage `json:"jsonLd"`
	Facts  struct {
		Bedrooms, Bathrooms *float64
		Rent                *float64
	}
}

// captured makes the page of a capture.
func captured(t *testing.T, path string) (web.Page, capture) {
	t.Helper()
	data := sharedtest.Read(t, path)
	var c capture
	require.NoError(t, json.Unmarshal(data, &c))
	page := "<html><head>"
	for _, block := range c.JSONLD {
		page += `<script type="application/ld+json">` + strings.ReplaceAll(string(block), "</", `<\/`) + "</script>"
	}
	return web.Page{Asked: advertAt, URL: streetAt, Status: 200, Body: []byte(page + "</head><body></body></html>")}, c
}

// TestRealPages reads the pages of the site that are at hand: each search page, each advert with its rent, and what its
// author read beside it.
func TestRealPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedtest.Dir(t, "reading real pages of Zumper"), "data", "platforms", "zumper")
	searches, err := filepath.Glob(filepath.Join(dir, "search", "*.json"))
	if err != nil || len(searches) != 5 {
		t.Fatalf("%d searches, %v", len(searches), err)
	}
	cards := 0
	for _, path := range searches {
		p, _ := captured(t, path)
		p.URL = searchAt
		r, err := zumper.Platform{}.ReadSearch(p)
		if err != nil || len(r.Cards) == 0 || r.Last {
			t.Errorf("%s: %+v, %v", filepath.Base(path), r, err)
		}
		cards += len(r.Cards)
	}
	require.Equal(t, 47, cards, "cards")
	details, err := filepath.Glob(filepath.Join(dir, "detail", "*.json"))
	if err != nil || len(details) != 79 {
		t.Fatalf("%d adverts, %v", len(details), err)
	}
	read, listings, compared := 0, 0, 0
	for _, path := range details {
		p, c := captured(t, path)
		if len(c.JSONLD) == 0 {
			continue // a page that was not kept
		}
		a, err := zumper.Platform{}.ReadAdvert(p)
		if err != nil || a.Price.AmountCents == nil || a.Latitude == nil || len(a.ImageURLs) == 0 || a.PostedAt == nil {
			t.Errorf("%s: %+v, %v", filepath.Base(path), a, err)
			continue
		}
		read++
		l, err := zumper.Platform{}.Normalize(a.Raw)
		if err != nil {
			continue
		}
		listings++
		if c.Facts.Rent == nil || c.Facts.Bedrooms == nil || a.Attributes["summary"] == nil {
			continue
		}
		compared++
		if l.RentCents != int64(*c.Facts.Rent*100) || l.Bedrooms != int(*c.Facts.Bedrooms) {
			t.Errorf("%s: %d cents, %d bedrooms; its author read %v and %v", filepath.Base(path), l.RentCents, l.Bedrooms,
				*c.Facts.Rent, *c.Facts.Bedrooms)
		}
	}
	if read != 78 || compared == 0 {
		t.Errorf("%d pages were read; want 78", read)
	}
	t.Logf("%d pages read, %d listings, %d compared", read, listings, compared)
}
