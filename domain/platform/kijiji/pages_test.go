package kijiji_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const (
	searchAt = "https://www.kijiji.ca/b-apartments-condos/ville-de-montreal/c37l1700281"
	advertAt = "https://www.kijiji.ca/v-apartments-condos/ville-de-montreal/annonce-inventee/1700000001"
)

// app wraps the site's data into a page.
func app(data string) []byte {
	return []byte(`<!DOCTYPE html><html><body><script id="__NEXT_DATA__" type="application/json">` + data +
		`</script></body></html>`)
}

// TestRealSearch reads a page that the site served in May 2025.
func TestRealSearch(t *testing.T) {
	t.Parallel()
	body := sharedtest.Read(t, filepath.Join(sharedtest.Dir(t, "a real search page of Kijiji"), "data/kijiji/search_toronto_2025-05.reduced.html"))
	const address = "https://www.kijiji.ca/b-apartments-condos/city-of-toronto/c37l1700273"
	p := web.Page{Asked: address, URL: address, Status: 200, Body: body}
	r, err := kijiji.Platform{}.ReadSearch(p)
	require.NoError(t, err)
	if len(r.Cards) != 45 || r.Total != 9018 || r.Last {
		t.Errorf("%d cards, total %d, last %t; want 45, 9018, false", len(r.Cards), r.Total, r.Last)
	}
	prints := map[string]bool{}
	for i, want := range map[int][3]string{ // by hand from the file: six paid ones, then the others as they are listed
		0: {"1704787423", "bachelor-apartment-for-rent", "BACHELOR APARTMENT FOR RENT"},
		1: {"1630118945", "renovated-2-bdm-apt-for-rent-in-torontos-danforth-village",
			"Renovated 2 Bdm.  Apt. for Rent in Toronto's Danforth Village!"},
		2:  {"1710378530", "2-bedroom-apartment-for-rent", "2 BEDROOM APARTMENT FOR RENT"},
		6:  {"1712762542", "2-bedroom-apartments-available-in-etobicoke", "2 BEDROOM APARTMENTS AVAILABLE IN ETOBICOKE!!"},
		44: {"1716446187", "lawrence-and-victoria-park-ave-1-bedroom-1mrf", "Lawrence and Victoria Park Ave - 1 Bedroom - 1MRF!"},
	} {
		c := r.Cards[i]
		assert.Equal(t, want, [3]string{c.PlatformID, strings.Split(c.URL, "/")[5], c.Title}, i)
		assert.Equal(t, "https://www.kijiji.ca/v-apartments-condos/city-of-toronto/"+want[1]+"/"+want[0], c.URL, i)
		prints[c.Fingerprint] = true
	}
	require.Len(t, prints, 5)

	// The same page, had it no cache: its JSON-LD lists the same adverts.
	at := bytes.Index(p.Body, []byte("<body>"))
	p.Body = append(slices.Clone(p.Body[:at]), "<body><h1>9018 apartments</h1></body></html>"...)
	ld, err := kijiji.Platform{}.ReadSearch(p)
	require.NoError(t, err)
	if len(ld.Cards) != 45 || ld.Total != -1 || ld.Last {
		t.Fatalf("JSON-LD: %d cards, total %d, last %t", len(ld.Cards), ld.Total, ld.Last)
	}
	for i, c := range ld.Cards {
		if c.PlatformID != r.Cards[i].PlatformID || c.URL != r.Cards[i].URL || c.Title != r.Cards[i].Title {
			t.Errorf("JSON-LD: card %d = %+v; want %+v", i, c, r.Cards[i])
		}
	}
}

// TestRealAdvert reads an advert that the site served in March 2026, every field by hand from the file.
func TestRealAdvert(t *testing.T) {
	t.Parallel()
	body := sharedtest.Read(t, filepath.Join(sharedtest.Dir(t, "a real advert of Kijiji"), "data/kijiji/detail_montreal_2026-03.redacted.next_data.json"))
	const address = "https://www.kijiji.ca/v-apartments-condos/ville-de-montreal/" +
		"appartement-4-5-a-louer-st-leonard-condo-logement-a-louer/1691588114"
	a, err := kijiji.Platform{}.ReadAdvert(web.Page{Asked: address + "?siteLocale=en_CA", Status: 200, Body: app(string(body)),
		URL: address + "?siteLocale=en_CA"})
	require.NoError(t, err)
	cents, lat, lon := int64(188_000), 45.5879, -73.57814
	posted := time.Date(2024, 4, 23, 0, 17, 3, 0, time.UTC)
	const photos = "https://media.kijiji.ca/api/v1/ca-prod-dealer-ads/images/"
	want := listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1691588114"}, URL: address,
		Title: "Appartement 4½ 5½ a Louer ST-LEONARD/CONDO LOGEMENT A LOUER",
		Description: "<strong>Appartement/logement a louer a st-leonard - TRÈS GRANDE SUPERFICIE<br></strong><strong>4 1/2 - a " +
			"partir de 1880$ par mois </strong><em>(+1250 pi ca)</em><strong><br></strong><strong>5 1/2 - a partir de 2625$ par " +
			"mois </strong><em>(+1750 pi ca)</em><em><strong><br>Penthouse disponible sur demande </strong>(a partir de 2200 pi " +
			"ca.)</em><br><br><em><strong>Téléphone: [redacted]<br></strong></em><ul><li><p>Situé à St-Léonard près de toutes " +
			"les commodités et à 2 minutes de l'autoroute Métropolitain. [...] l'air climatisé central. [...] salle de lavage " +
			"dans les appartements</p></li><li><p>Vue magnifique, balcon double, 2 ascenseurs, 2 escaliers de service, système " +
			"de caméra et intercom.</p></li></ul><p>(English) <strong>Apartment/condo for rent in st-leonard- VERY LARGE SURFACE " +
			"AREA<br>4 1/2 starting at 1880$ per month </strong><em>(from 1250+ sq ft)</em></p><br>NO PETS - PAS D'ANIMAUX",
		Price:    listing.RawPrice{AmountCents: &cents, Type: "FIXED"},
		Address:  "6060 Jean Talon Est, St-Léonard, QC, H1S 3A9",
		Latitude: &lat, Longitude: &lon, PostedAt: &posted,
		Contact: listing.RawContact{Name: "[redacted]"}, // the phone is masked
		ImageURLs: []string{
			photos + "07/07099a6a-3dd8-4269-a133-eceb4aaf1cd6?rule=kijijica-640-webp",
			photos + "6e/6e61ad81-c424-4bdc-ad0a-8767658cac13?rule=kijijica-640-webp",
			photos + "b8/b8915f36-a0f4-4c62-8f2c-ff11eb63df6d?rule=kijijica-640-webp",
			photos + "68/68563a37-158d-4f38-ab3b-682f7a56390d?rule=kijijica-640-webp",
		},
		Attributes: map[string][]string{
			"smokingpermitted": {"2"}, "airconditioning": {"1"}, "storagelocker": {"1"}, "unittype": {"apartment"},
			"bicycleparking": {"1"}, "elevator": {"1"}, "agreementtype": {"one-year"}, "gym": {"0"}, "audioprompts": {"0"},
			"visualaids": {"0"}, "cabletv": {"0"}, "heat": {"0"}, "dishwasher": {"0"}, "braillelabels": {"0"},
			"petsallowed": {"1"}, "numberbathrooms": {"20"}, "water": {"0"}, "numberbedrooms": {"2"}, "laundryinunit": {"1"},
			"furnished": {"0"}, "numberparkingspots": {"0"}, "hydro": {"0"}, "balcony": {"1"}, "internet": {"0"},
			"concierge": {"1"}, "fridgefreezer": {"0"}, "wheelchairaccessible": {"1"}, "yard": {"0"},
			"twentyfourhoursecurity": {"0"}, "laundryinbuilding": {"0"}, "areainfeet": {},
			"barrierfreeentrancesandramps": {"1"}, "forrentbyhousing": {"reprofessional"}, "accessiblewashroomsinsuite": {"1"},
			"pool": {"1"}, "adtype": {"OFFER"},
		},
	}
	same(t, a.Raw, want)
	const extra = `{"status":"ACTIVE","end_date":"3000-01-01T00:00:00.000Z","sorting_date":"2026-03-28T11:46:46.000Z",` +
		`"ad_source":"ORGANIC","category_id":37,"location_id":1700281,"location":"City of Montréal","show_pin":true,` +
		`"neighbourhood":{"id":"g10_f25emkq4","name":"Saint-Leonard East","walk":7,"transit":6,"cycle":6},"currency":"CAD",` +
		`"flags":["isPint","isVerticalCategory","topAd"],"views":8391,"seller_type":"KMB","verified":false,` +
		`"source_provider":"9001"}`
	require.Equal(t, extra, string(a.Extra))

	l, err := kijiji.Platform{}.Normalize(a.Raw)
	require.NoError(t, err)
	if l.RentCents != 188_000 || l.Bedrooms != 2 || l.Bathrooms != 2 || l.Rooms != 4.5 || l.Pets.Policy != "conflict" ||
		l.Address.PostalCode != "H1S 3A9" || l.Lease != "one-year" || l.Smoking != "outdoors" || l.Poster != "professional" {
		t.Errorf("listing = %+v", l)
	}
}

// same compares field by field, so that a difference can be read.
func same(t *testing.T, got, want listing.Raw) {
	t.Helper()
	for name, value := range got.Attributes { // [] and nothing at all are one
		if len(value) == 0 {
			got.Attributes[name] = []string{}
		}
	}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		a, _ := json.Marshal(g.Field(i).Interface())
		b, _ := json.Marshal(w.Field(i).Interface())
		assert.Equal(t, b, a, g.Type().Field(i).Name)
	}
}

func TestReadSearch(t *testing.T) {
	t.Parallel()
	const home = "https://www.kijiji.ca/v-apartments-condos/ville-de-montreal/annonce-inventee/"
	for _, tt := range []struct {
		file, address string
		cards         []string // the paid one first, and not again
		total         int
		last          bool
	}{
		{"search.html", searchAt, []string{"1700000002", "1700000001", "1700000003", "1700000004", "1700000005", "1700000006"},
			8, false},
		{"search-fr-inline.html", "https://www.kijiji.ca/b-appartement-condo/ville-de-montreal/page-2/c37l1700281",
			[]string{"1700000002", "1700000007", "1700000008"}, 8, true},
		{"search-jsonld.html", searchAt, []string{"1700000001", "1700000003"}, -1, false},
		{"empty.html", searchAt, nil, 0, true},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			r, err := kijiji.Platform{}.ReadSearch(sharedtest.Page(t, "testdata/"+tt.file, tt.address))
			require.NoError(t, err)
			var ids []string
			for _, c := range r.Cards {
				ids = append(ids, c.PlatformID)
				if c.URL != home+c.PlatformID || c.Title == "" || len(c.Fingerprint) != 16 {
					t.Errorf("card = %+v", c)
				}
			}
			if !slices.Equal(ids, tt.cards) || r.Total != tt.total || r.Last != tt.last {
				t.Errorf("cards %q, total %d, last %t; want %q, %d, %t", ids, r.Total, r.Last, tt.cards, tt.total, tt.last)
			}
		})
	}
}

// results is the data of a search page with those numbers and lists.
func results(pagination, top, main string) string {
	return `{"props":{"pageProps":{"__APOLLO_STATE__":{"ROOT_QUERY":{"searchResultsPageByUrl:/b-a/c37l1":{"pagination":` +
		pagination + `,"results":{"topListings":` + top + `,"mainListings({})":` + main + `}}}}}}}`
}

func card(id string) string {
	return `{"__typename":"RealEstateListing","id":"` + id + `","url":"/v-a/b/c/` + id + `","title":"t"}`
}

func TestPagination(t *testing.T) {
	t.Parallel()
	one, two := "["+card("1111")+"]", "["+card("1111")+","+card("2222")+"]"
	for _, tt := range []struct {
		name, pagination, top, main string
		cards, total                int // cards -1 = not recognized
		last                        bool
	}{
		{"a page of many", `{"offset":0,"limit":40,"totalCount":90}`, "[]", two, 2, 90, false},
		{"the last page", `{"offset":80,"limit":40,"totalCount":90}`, "[]", two, 2, 90, true},
		{"just full", `{"offset":40,"limit":40,"totalCount":80}`, "[]", two, 2, 80, true},
		{"one more", `{"offset":40,"limit":40,"totalCount":81}`, "[]", two, 2, 81, false},
		{"no paid ones", `{"offset":0,"limit":40,"totalCount":1}`, "null", one, 1, 1, true},
		{"no count", `{"offset":0,"limit":40}`, "[]", one, 1, -1, false},
		{"a null count", `{"offset":0,"limit":40,"totalCount":null}`, "[]", one, 1, -1, false},
		{"a count below what is there", `{"offset":0,"limit":40,"totalCount":1}`, "[]", two, 2, -1, false},
		{"a negative count", `{"offset":0,"limit":40,"totalCount":-1}`, "[]", two, 2, -1, false},
		{"no numbers at all", `null`, "[]", one, 1, -1, false},
		{"no limit", `{"offset":0,"totalCount":2}`, "[]", one, 1, 2, false},
		{"past the end", `{"offset":120,"limit":40,"totalCount":90}`, one, "[]", 1, 90, true},
		{"past the end, without a count", `{"offset":120,"limit":40}`, "[]", "[]", 0, -1, true},
		{"nothing", `{"offset":0,"limit":40,"totalCount":0}`, "[]", "[]", 0, 0, true},
		{"nothing, and no count", `{"offset":0,"limit":40}`, "[]", "[]", -1, 0, false},
		{"nothing but paid ones, and no count", `{"offset":0,"limit":40}`, one, "[]", -1, 0, false},
		{"a count without adverts", `{"offset":0,"limit":40,"totalCount":9}`, "[]", "[]", -1, 0, false},
		{"a count without adverts, later", `{"offset":40,"limit":40,"totalCount":90}`, one, "[]", -1, 0, false},
		{"no list", `{"offset":0,"limit":40,"totalCount":0}`, "[]", `{}`, -1, 0, false},
		{"a reference to nothing", `{"offset":0,"limit":40,"totalCount":1}`, "[]", `[{"__ref":"RealEstateListing:1"}]`, -1, 0,
			false},
		{"an advert without a title", `{"offset":0,"limit":40,"totalCount":1}`, "[]", `[{"id":"1111","url":"/x"}]`, -1, 0, false},
		{"an advert without an ID", `{"offset":0,"limit":40,"totalCount":1}`, "[]",
			`[{"__typename":"StandardListing","url":"/x","title":"t"}]`, -1, 0, false},
		{"an address that is none", `{"offset":0,"limit":40,"totalCount":1}`, "[]",
			`[{"id":"1111","url":"javascript:x","title":"t"}]`, -1, 0, false},
		{"something between the adverts", `{"offset":0,"limit":40,"totalCount":1}`, "[]",
			`[{"__typename":"Banner"},` + card("1111") + `]`, 1, 1, true},
		{"only something between the adverts", `{"offset":0,"limit":40,"totalCount":1}`, "[]", `[{"__typename":"Banner"}]`, -1, 0,
			false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := kijiji.Platform{}.ReadSearch(web.Page{Asked: searchAt, URL: searchAt, Status: 200,
				Body: app(results(tt.pagination, tt.top, tt.main))})
			if tt.cards < 0 {
				if shape := (*web.ShapeError)(nil); !errors.As(err, &shape) {
					t.Fatalf("%+v, %v; want a ShapeError", r, err)
				}
				return
			}
			if err != nil || len(r.Cards) != tt.cards || r.Total != tt.total || r.Last != tt.last {
				t.Errorf("%d cards, total %d, last %t, %v; want %d, %d, %t", len(r.Cards), r.Total, r.Last, err, tt.cards, tt.total,
					tt.last)
			}
		})
	}
}

// TestLedBack: a site that answers a page past its end with the first one has no more.
func TestLedBack(t *testing.T) {
	t.Parallel()
	p := sharedtest.Page(t, "testdata/search.html", searchAt)
	p.Asked = strings.Replace(searchAt, "/c37", "/page-9/c37", 1)
	if r, err := (kijiji.Platform{}).ReadSearch(p); err != nil || !r.Last {
		t.Errorf("last = %t, %v; want true", r.Last, err)
	}
}

// TestFingerprint changes one thing of a card at a time.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	print := func(old, now string) string {
		t.Helper()
		p := sharedtest.Page(t, "testdata/search.html", searchAt)
		body := p.Body
		if old != "" {
			body = bytes.ReplaceAll(p.Body, []byte(old), []byte(now))
		}
		if old != "" && bytes.Equal(body, p.Body) {
			t.Fatalf("%q is not in the page", old)
		}
		p.Body = body
		r, err := kijiji.Platform{}.ReadSearch(p)
		require.NoError(t, err)
		return r.Cards[1].Fingerprint
	}
	was := print("", "")
	for _, tt := range []struct {
		old, now string
		edited   bool
	}{
		{"Grand 4 ½ rénové", "Grand 4 ½", true},
		{`"amount": 145000`, `"amount": 139500`, true},
		{`"type": "FIXED"`, `"type": "CONTACT"`, true},
		{"7000 Rue Clark", "7002 Rue Clark", true},
		{"texte inventé", "texte changé", true},
		{`"imageCount": 3`, `"imageCount": 4`, true},
		{"2026-03-01T12:00:00.000Z", "2026-03-02T12:00:00.000Z", false}, // bumped
		{`"adSource": "ORGANIC"`, `"adSource": "TOP_AD"`, false},        // promoted
		{`"topAd": false`, `"topAd": true`, false},
		{"images/1700000001-1", "images/1700000001-2", false},
		{"Grand 4 ½ rénové", "Grand  4 ½ rénové ", false},
	} {
		if got := print(tt.old, tt.now); (got != was) != tt.edited {
			t.Errorf("%q → %q: fingerprint %s → %s; want edited %t", tt.old, tt.now, was, got, tt.edited)
		}
	}
}

func TestReadAdvert(t *testing.T) {
	t.Parallel()
	a, err := kijiji.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail.html", advertAt))
	require.NoError(t, err)
	cents, lat, lon := int64(145_000), 45.53, -73.61
	posted := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	want := listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1700000001"}, URL: advertAt, Title: "Grand 4 ½ rénové",
		Description: "<strong>Grand 4 ½</strong><br>2 chambres fermées, balcon.<ul><li>Chauffage inclus</li></ul>",
		Price:       listing.RawPrice{AmountCents: &cents, Type: "FIXED"}, Address: "7000 Rue Clark, Montréal, QC, H2S 3G1",
		Latitude: &lat, Longitude: &lon, PostedAt: &posted, Contact: listing.RawContact{Name: "Gestion Inventée inc."},
		ImageURLs: []string{"https://media.example.org/images/a?rule=kijijica-640-webp",
			"https://media.example.org/images/b?rule=kijijica-640-webp", "https://media.example.org/images/c"},
		Attributes: map[string][]string{"numberbedrooms": {"2"}, "numberbathrooms": {"15"}, "unittype": {"apartment"},
			"petsallowed": {"limited"}, "areainfeet": {}, "dateavailable": {"2026-07-01T00:00:00Z"},
			"rentalsvirtualoptions": {"a", "b"}, "adtype": {"OFFER"}},
	}
	same(t, a.Raw, want)
	const extra = `{"status":"ACTIVE","end_date":"3000-01-01T00:00:00.000Z","sorting_date":"2026-03-01T12:00:00.000Z",` +
		`"ad_source":"ORGANIC","category_id":37,"location_id":1700281,"location":"City of Montréal","show_pin":false,` +
		`"neighbourhood":{"id":"g1","name":"Villeray","walk":9,"transit":8,"cycle":10},"original_amount_cents":150000,` +
		`"currency":"CAD","flags":["priceDrop"],"views":12,"seller_type":"KMB","verified":true,"source_provider":"9001",` +
		`"virtual_tour_url":"https://tour.example.org/1"}`
	require.Equal(t, extra, string(a.Extra))
}

// TestReadAdvertInPlace: the listing stands in the query itself, its ID is a number and its address relative; an
// owner who is no business shows a phone number and has no name.
func TestReadAdvertInPlace(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:8090/v-appartement-condo/ville-de-montreal/annonce-inventee/1700000010"
	a, err := kijiji.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail-fr-inline.html", address+"?x=1#top"))
	require.NoError(t, err)
	posted := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	same(t, a.Raw, listing.Raw{
		Ref:         listing.Ref{Platform: "kijiji", PlatformID: "1700000010"},
		URL:         "http://127.0.0.1:8090/v-apartments-condos/ville-de-montreal/annonce-inventee/1700000010",
		Title:       "À louer: 5 ½ 'tout inclus'",
		Description: "Beau logement, texte inventé pour les tests. La suite du texte ...",
		Price:       listing.RawPrice{Type: "CONTACT"}, Address: "Montréal, QC H2S 3G1",
		Contact: listing.RawContact{Phone: "514 555-0199"}, PostedAt: &posted,
		ImageURLs:  []string{"https://media.example.org/images/1700000010-1?rule=kijijica-200-jpg"},
		Attributes: map[string][]string{"numberbedrooms": {"2"}, "numberbathrooms": {"10"}, "adtype": {"OFFER"}},
	})
}

func TestReadAdvertJSONLD(t *testing.T) {
	t.Parallel()
	a, err := kijiji.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail-jsonld.html", advertAt))
	require.NoError(t, err)
	cents, lat, lon := int64(145_050), 45.53, -73.61
	same(t, a.Raw, listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1700000001"}, URL: advertAt, Title: "L'endroit idéal, 4 1/2",
		Description: "SUPERFICIE4 1/2 & balcon", Price: listing.RawPrice{AmountCents: &cents},
		Address: "7000 Rue Clark, Montréal, H2S 3G1", Latitude: &lat, Longitude: &lon,
		ImageURLs: []string{"https://media.example.org/images/a", "https://media.example.org/images/b"},
		Attributes: map[string][]string{"numberOfRooms": {"2"}, "numberOfBathroomsTotal": {"1.5"}, "floorSize.value": {"850"},
			"petsAllowed": {"true"}, "leaseLength": {"one-year"}},
	})
	l, err := kijiji.Platform{}.Normalize(a.Raw)
	if err != nil || l.Bedrooms != 2 || l.Bathrooms != 1.5 || l.AreaSqFt != 850 || l.Pets.Policy != "yes" ||
		l.Lease != "one-year" {
		t.Errorf("listing = %+v, %v", l, err)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	n := func(cents int64) *int64 { return &cents }
	for _, tt := range []struct {
		price string
		want  listing.RawPrice
	}{
		{`{"__typename":"StandardAmountPrice","type":"FIXED","amount":188000}`, listing.RawPrice{AmountCents: n(188_000),
			Type: "FIXED"}},
		{`{"type":"FIXED","amount":188000.0,"originalAmount":190000}`, listing.RawPrice{AmountCents: n(188_000), Type: "FIXED"}},
		{`{"__typename":"NonAmountPrice","type":"CONTACT"}`, listing.RawPrice{Type: "CONTACT"}},
		{`{"__typename":"NonAmountPrice","type":"GIVE_AWAY"}`, listing.RawPrice{Type: "GIVE_AWAY"}},
		{`{"__typename":"NonAmountPrice","type":"SWAP_TRADE"}`, listing.RawPrice{Type: "SWAP_TRADE"}},
		{`{"type":"FIXED","amount":null}`, listing.RawPrice{Type: "FIXED"}},
		{`{"type":"FIXED","amount":-5}`, listing.RawPrice{Type: "FIXED"}},
		{`{"type":"FIXED","amount":1e300}`, listing.RawPrice{Type: "FIXED"}},
		{`null`, listing.RawPrice{}},
	} {
		a, err := kijiji.Platform{}.ReadAdvert(web.Page{URL: advertAt, Status: 200,
			Body: app(one(`"title":"t","price":` + tt.price))})
		if err != nil || !reflect.DeepEqual(a.Price, tt.want) {
			t.Errorf("price %s = %+v, %v; want %+v", tt.price, a.Price, err, tt.want)
		}
	}
}

// one is the data of a detail page with those members.
func one(members string) string {
	return `{"props":{"pageProps":{"__APOLLO_STATE__":{"ROOT_QUERY":{"listing({\"id\":\"1700000001\"})":{` +
		`"__typename":"RealEstateListing","id":"1700000001",` + members + `}}}}}}`
}

func TestGone(t *testing.T) {
	t.Parallel()
	active := app(one(`"title":"t","status":"ACTIVE"`))
	for _, tt := range []struct {
		name string
		page web.Page
		want fault.Class
	}{
		{"up", web.Page{Asked: advertAt, URL: advertAt, Status: 200, Body: active}, ""},
		{"of a file", web.Page{Body: active}, fault.Invalid}, // nothing says where it is
		{"404", web.Page{Asked: advertAt, URL: advertAt, Status: 404}, fault.Gone},
		{"410", web.Page{Asked: advertAt, URL: advertAt, Status: 410}, fault.Gone},
		{"led to a search", web.Page{Asked: advertAt, URL: searchAt + "?adRemoved=1700000001", Status: 200}, fault.Gone},
		{"led to a search in French", web.Page{Asked: advertAt, Status: 200,
			URL: "https://www.kijiji.ca/b-appartement-condo/ville-de-montreal/c37l1700281"}, fault.Gone},
		{"led to the front page", web.Page{Asked: advertAt, Status: 200, URL: "https://www.kijiji.ca/?adRemoved=1700000001"},
			fault.Gone},
		{"led to another advert", web.Page{Asked: advertAt, Status: 200, URL: advertAt[:len(advertAt)-1] + "2", Body: active},
			fault.Gone},
		{"another advert in its place", web.Page{URL: advertAt[:len(advertAt)-1] + "2", Status: 200, Body: active},
			fault.Invalid},
		{"no longer active", web.Page{URL: advertAt, Status: 200, Body: app(one(`"title":"t","status":"EXPIRED"`))},
			fault.Gone},
		{"an attribute without a name", web.Page{URL: advertAt, Status: 200,
			Body: app(one(`"title":"t","attributes":{"all":[{"name":"Bedrooms"}]}`))}, fault.Invalid},
		{"no title", web.Page{URL: advertAt, Status: 200, Body: app(one(`"status":"ACTIVE"`))}, fault.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := kijiji.Platform{}.ReadAdvert(tt.page)
			if class, _ := fault.Of(err); class != tt.want {
				t.Errorf("%v is %q; want %q", err, class, tt.want)
			}
		})
	}
}

// TestWanted: an advert that looks for a home says so to the site, and perhaps not in the headline.
func TestWanted(t *testing.T) {
	t.Parallel()
	for title, reasons := range map[string]int{"Famille tranquille": 1, "Recherche 4 1/2 à louer": 1} {
		a, err := kijiji.Platform{}.ReadAdvert(web.Page{URL: advertAt, Status: 200, Body: app(one(`"title":"` + title + `",` +
			`"type":"WANTED","price":{"type":"FIXED","amount":100000},"attributes":{"all":[{"canonicalName":"numberbedrooms",` +
			`"canonicalValues":["2"]}]}`))})
		require.NoError(t, err)
		l, err := kijiji.Platform{}.Normalize(a.Raw)
		var r *listing.Rejection
		if !errors.As(err, &r) || len(r.Reasons) != reasons || r.Reasons[0].Code != listing.CodeWanted || l.Title != "" {
			t.Errorf("%q: %+v, %v; want a rejection as wanted", title, l, err)
		}
	}
}

func TestSearchRequest(t *testing.T) {
	t.Parallel()
	const (
		en   = "https://www.kijiji.ca/b-apartments-condos/ville-de-montreal/"
		fr   = "https://www.kijiji.ca/b-appartement-condo/ville-de-montreal/"
		demo = "http://127.0.0.1:8090/b-apartments-condos/ville-de-montreal/"
	)
	for _, tt := range []struct {
		start string
		n     int
		want  string // "" = fault.Invalid
	}{
		{en + "c37l1700281", 1, en + "c37l1700281"},
		{en + "c37l1700281", 2, en + "page-2/c37l1700281"},
		{en + "c37l1700281", 1000, en + "page-1000/c37l1700281"},
		{en + "page-7/c37l1700281", 1, en + "c37l1700281"},
		{en + "page-7/c37l1700281", 2, en + "page-2/c37l1700281"},
		{fr + "c37l1700281", 3, fr + "page-3/c37l1700281"},
		{demo + "c37l1700281", 3, demo + "page-3/c37l1700281"},
		{en + "2+bedrooms/c37l1700281a27949001", 2, en + "2+bedrooms/page-2/c37l1700281a27949001"},
		{en + "b%C3%A9a/c37l1700281/", 2, en + "b%C3%A9a/page-2/c37l1700281"},
		{en + "c37l1700281", 0, ""},
		{en + "c37l1700281", -1, ""},
		{en + "c37l1700281?price=0__900", 1, ""},
		{en + "c37l1700281?", 1, ""},
		{en + "c37l1700281#x", 1, ""},
		{"https://www.kijiji.ca/v-apartments-condos/a/b/1691588114", 1, ""},
		{"https://www.kijiji.ca/c37l1700281", 1, ""},
		{"https://www.kijiji.ca/", 1, ""},
		{"https://user:pass@www.kijiji.ca/b-a/c37l1", 1, ""},
		{"ftp://www.kijiji.ca/b-a/c37l1", 1, ""},
		{"/b-a/c37l1", 1, ""},
		{"::", 1, ""},
		{"", 1, ""},
	} {
		r, err := kijiji.Platform{}.SearchRequest(tt.start, tt.n)
		if class, _ := fault.Of(err); r.URL != tt.want || (class == fault.Invalid) != (tt.want == "") {
			t.Errorf("SearchRequest(%q, %d) = %q, %v; want %q", tt.start, tt.n, r.URL, err, tt.want)
		}
	}
	_, err := kijiji.Platform{}.SearchRequest(en+"c37l1700281?sort=dateDesc", 1)
	if err == nil || !strings.Contains(fmt.Sprint(err), "robots.txt") {
		t.Errorf("a filter in a query: %v; want the reason", err)
	}
}
