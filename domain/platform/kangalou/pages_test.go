package kangalou_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kangalou"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const (
	searchAt = "https://www.kangalou.com/fr/recherche/"
	mapAt    = searchAt + "ajax/search-map/"
	advertAt = "https://www.kangalou.com/fr/appartement/studio-invente/123457/"
)

func TestReadSearch(t *testing.T) {
	t.Parallel()
	both := []string{"https://www.kangalou.com/fr/montreal/123456/logement-invente Logement dans Villeray",
		advertAt + " Studio meublé"}
	pins := []string{"https://www.kangalou.com/fr/appartement/logement-invente/123456/ Logement dans Villeray",
		advertAt + " Studio meublé"}
	of2019 := []string{"https://www.kangalou.com/fr/annonce/46005/ Rosemont", "https://www.kangalou.com/fr/annonce/046420/ Joliette"}
	for _, tt := range []struct {
		name, file, address string
		old, now            string // replaced in the file
		cards               []string
		total               int
		last                bool
	}{
		{"cards", "search.html", searchAt + "?page=2", "", "", both, 1234, false},
		{"the last page", "search.html", searchAt + "?page=3", "", "", both, 1234, true},
		{"relation instead of numbers", "search.html", searchAt, `<nav><a href="?page=1">1</a> <b>2</b> <a href="?page=3">`,
			`<nav><a rel="next">`, both, 1234, false},
		{"only back", "search.html", searchAt + "?page=3", `<nav><a href="?page=1">1</a> <b>2</b> <a href="?page=3">`,
			`<nav><a rel="prev">`, both, 1234, true},
		{"no links to pages", "search.html", searchAt, `<a href="?page=1">1</a> <b>2</b> <a href="?page=3">`, "<a>", both, 1234,
			false},
		{"no count", "search.html", searchAt + "?page=2", "1 234 logements", "Logements", both, -1, false},
		{"zero in words", "empty.html", searchAt, "", "", nil, 0, true},
		{"zero, later", "empty.html", searchAt + "?page=9", "", "", nil, -1, true},
		{"zero in English", "empty.html", searchAt, "Aucun résultat ne correspond", "No results match", nil, 0, true},
		{"zero in numbers", "empty.html", searchAt, "Aucun résultat ne correspond", "0 logements pour", nil, 0, true},
		{"of 2019", "search-2019.html", searchAt + "?page=2", "", "", of2019, -1, false},
		{"of 2019, the last", "search-2019.html", searchAt + "?page=2", `data-page="141"`, `data-page="2"`, of2019, -1, true},
		{"of 2019, by its inputs", "search-2019.html", searchAt + "?page=2", `id="totalPages" value="0"`,
			`id="totalPages" value="142"`, of2019, -1, false},
		{"of 2019, without links", "search-2019.html", searchAt + "?page=2", `data-page="141"`, "", of2019, -1, false},
		{"none, of 2019", "empty-2019.html", searchAt, "", "", nil, 0, true},
		{"pins", "search-map.json", mapAt, "", "", pins, 2, true},
		{"pins without a count", "search-map.json", mapAt, `"total": 2,`, "", pins, -1, true},
		{"pins under another name", "search-map.json", mapAt, `"pins"`, `"markers"`, pins, 2, true},
		{"pins in Chromium", "search-map.json", mapAt, `{"_"`,
			`<html><head></head><body><pre style="word-wrap: break-word;">{"_"`, pins, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sharedtest.Page(t, "testdata/"+tt.file, tt.address)
			p.Body = bytes.Replace(p.Body, []byte(tt.old), []byte(tt.now), 1)
			r, err := kangalou.Platform{}.ReadSearch(p)
			require.NoError(t, err)
			var cards []string
			for _, c := range r.Cards {
				cards = append(cards, c.URL+" "+c.Title)
				if !strings.Contains(c.URL, c.PlatformID) || len(c.Fingerprint) != 16 {
					t.Errorf("card = %+v", c)
				}
			}
			if !reflect.DeepEqual(cards, tt.cards) || r.Total != tt.total || r.Last != tt.last {
				t.Errorf("cards %q, total %d, last %t; want %q, %d, %t", cards, r.Total, r.Last, tt.cards, tt.total, tt.last)
			}
		})
	}
}

// TestUnknownShape: what is not recognized is said aloud, and says what was there.
func TestUnknownShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		says       []string
	}{
		{"other members", `{"v": 2, "clusters": [{"n": 45}]}`, []string{"clusters, v"}},
		{"other members of pins", `{"pins": [{"ref": 123456, "latlng": [45.5, -73.6]}]}`, []string{"latlng, ref"}},
		{"a pin without a number", `{"pins": [{"url": "/fr/appartement/x/", "title": "t"}]}`, []string{"title, url"}},
		{"no pins, no count", `{"pins": []}`, []string{"no count"}},
		{"no pins, another count", `{"pins": [], "total": 7}`, []string{"no count of 0"}},
		{"null", `{"pins": null}`, []string{"pins"}},
		{"a list of numbers", `[1, 2]`, nil},
		{"an empty list", `[]`, nil},
		{"a string", `"x"`, nil},
		{"renamed classes", `<html><div id="slist"><div class="tile"><a href="/fr/x/123456">t</a></div></div></html>`, nil},
		{"a list not filled yet", `<html><div id="slist"></div></html>`, nil},
		{"words that are hidden", `<html><div class="js-resultListing"><div class="no-results hidden">aucun résultat</div></div></html>`,
			nil},
		{"templates alone", `<html><div class="js-infoWindowTemplate"><div class="property__inner"></div></div></html>`, nil},
		{"another page", `<html><div class="property__inner"><b class="js-propertyTitle"><a href="/fr/annonce/46005/">t</a></b></div>` +
			`<input id="currentPage" value="7"></html>`, []string{"the site shows page 7"}},
		{"zero in another place", `<html><div id="slist"></div><footer>aucun résultat</footer></html>`, nil},
		{"a card without a link", `<html><div class="property__inner"><b class="js-propertyTitle">t</b></div></html>`, nil},
		{"a card without a number",
			`<html><div class="property__inner"><b class="js-propertyTitle"><a href="/fr/x/">t</a></b></div></html>`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := kangalou.Platform{}.ReadSearch(web.Page{URL: mapAt, Status: 200, Body: []byte(tt.body)})
			if shape := (*web.ShapeError)(nil); !errors.As(err, &shape) {
				t.Fatalf("%+v, %v; want a ShapeError", r, err)
			}
			for _, says := range tt.says {
				assert.Contains(t, err.Error(), says)
			}
		})
	}
}

func TestReadAdvert(t *testing.T) {
	t.Parallel()
	lat, lon := 46.83, -71.23
	const photos = "https://www.kangalou.com/images/glide/"
	for _, tt := range []struct {
		file, address string
		want          listing.Raw
	}{
		{"detail.html", "https://www.kangalou.com/fr/montreal/123456/logement-invente?keywords=", listing.Raw{
			Ref: listing.Ref{Platform: "kangalou", PlatformID: "123456"}, Title: "Logement dans Villeray",
			URL:         "https://www.kangalou.com/fr/montreal/123456/logement-invente",
			Description: "Deux chambres fermées.<br/>Près du métro.", Price: listing.RawPrice{Text: "1 450 $"},
			Address: "7078 rue Clark, Montréal, QC H2S 3G1", ImageURLs: []string{photos + "aaaa.jpg", photos + "bbbb.jpg"},
			Attributes: map[string][]string{"appartmentsize": {"4 ½"}, "availability": {"Libre le 1er juillet 2026"}},
		}},
		{"detail-2026.html", advertAt, listing.Raw{
			Ref: listing.Ref{Platform: "kangalou", PlatformID: "123457"}, URL: advertAt, Title: "Studio meublé",
			Description: "Studio de 1 ½.", Price: listing.RawPrice{Text: "300 $"}, Address: "12 rue Inventée, Québec",
			Latitude: &lat, Longitude: &lon,
			Attributes: map[string][]string{"size": {"35 m²"}, "availability": {"Immédiatement"}, "bathroomcount": {"1"},
				"bedroomcount": {"0"}, "type": {"Condominium"}, "rentfrequency": {"Every week"},
				"criteria": {"criteria-furnished", "criteria-heated", "criteria-cat-allowed"}},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			a, err := kangalou.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/"+tt.file, tt.address))
			require.NoError(t, err)
			if !reflect.DeepEqual(a.Raw, tt.want) {
				got, _ := json.Marshal(a.Raw)
				want, _ := json.Marshal(tt.want)
				t.Errorf("raw = %s\nwant %s", got, want)
			}
		})
	}
}

// The lines below a title have no fixed order: an advert with priority has no address.
func TestReadAdvertOf2019(t *testing.T) {
	t.Parallel()
	const address = "https://www.kangalou.com/fr/annonce/46005/"
	p := sharedtest.Page(t, "testdata/detail-2019.html", address)
	a, err := kangalou.Platform{}.ReadAdvert(p)
	if err != nil || a.PlatformID != "46005" || a.URL != address || a.Title != "Annonce 46005" || a.Address != "Rosemont" ||
		a.Price.Text != "1 820$" || !reflect.DeepEqual(a.Attributes["availability"], []string{"01 juillet 2026"}) {
		t.Fatalf("advert = %+v, %v", a, err)
	}
	l, err := kangalou.Platform{}.Normalize(a.Raw)
	if err != nil || l.RentCents != 182_000 || l.Rooms != 4.5 || l.Available != "2026-07-01" {
		t.Errorf("listing = %+v, %v", l, err)
	}
	p.Body = bytes.Replace(p.Body, []byte("#046005"), []byte("#046006"), 1)
	if _, err := (kangalou.Platform{}).ReadAdvert(p); err == nil || !strings.Contains(err.Error(), "says that it is advert 46006") {
		t.Errorf("another number: %v", err)
	}
}

// TestRealPages holds the reader to the one page of the site that is at hand, and to what a scraper of 2019 read of 55
// adverts. The page is as the site serves it, before its script has searched: it holds no advert, and words that there is
// none, which are hidden.
func TestRealPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedtest.Dir(t, "reading the real page of Kangalou"), "data", "platforms", "kangalou")
	body := sharedtest.Read(t, filepath.Join(dir, "search_cote-des-neiges_fr_2019-03.text.html"))
	r, err := kangalou.Platform{}.ReadSearch(web.Page{Asked: searchAt, URL: searchAt, Status: 200, Body: body})
	if shape := (*web.ShapeError)(nil); !errors.As(err, &shape) || !strings.Contains(err.Error(), "no word that there are no results") {
		t.Errorf("the page before its script = %+v, %v; want a ShapeError", r, err)
	}
	adverts := map[string]bool{}
	for _, name := range []string{"annonces_data", "annonces_donne", "annonces_nvdata"} {
		data := sharedtest.Read(t, filepath.Join(dir, name+"_2019-03.json"))
		for _, object := range regexp.MustCompile(`\{[^{}]*\}`).FindAll(data, -1) { // between them, odd brackets and commas
			var said struct {
				URL, Adresse, Annonce, Titre string
				Available                    string `json:"disponibilité"`
				Cost                         any
			}
			require.NoError(t, json.Unmarshal(object, &said), name)
			adverts[said.URL] = true
			page := fmt.Sprintf(`<html><div class="details-header"><h1>%s</h1><span class="cost">%v</span><p class="details-title-meta">`+
				"\n%s\n%s\n%s\n</p></div></html>", said.Titre, said.Cost, said.Adresse, said.Available, said.Annonce)
			a, err := kangalou.Platform{}.ReadAdvert(web.Page{Asked: said.URL, URL: said.URL, Status: 200, Body: []byte(page)})
			shifted := strings.HasPrefix(said.Available, "Annonce")
			if err != nil || (a.Attributes["availability"] == nil) != shifted || (a.Address == "") != (said.Adresse == "") {
				t.Errorf("%s: %q, %q, %q: %+v, %v", said.URL, said.Adresse, said.Available, said.Annonce, a.Raw, err)
			}
		}
	}
	require.Len(t, adverts, 55)
}

// TestNormalizeWhatWasRead: the names that the reader fills are those that the normalizer knows.
func TestNormalizeWhatWasRead(t *testing.T) {
	t.Parallel()
	a, err := kangalou.Platform{}.ReadAdvert(sharedtest.Page(t, "testdata/detail-2026.html", advertAt))
	require.NoError(t, err)
	l, err := kangalou.Platform{}.Normalize(a.Raw)
	if err != nil || l.RentCents != 130_000 || l.Bedrooms != 0 || l.Bathrooms != 1 || l.AreaSqFt != 377 || l.Available != "now" ||
		l.Furnished != "yes" || l.Pets.Cats != "yes" || l.Pets.Dogs != "" || l.Utilities.Heat == nil {
		t.Errorf("listing = %+v, %v", l, err)
	}
	if a, err = (kangalou.Platform{}).ReadAdvert(sharedtest.Page(t, "testdata/detail.html", "https://www.kangalou.com/fr/x/123456/y")); err != nil {
		t.Fatal(err)
	}
	l, err = kangalou.Platform{}.Normalize(a.Raw)
	if err != nil || l.RentCents != 145_000 || l.Rooms != 4.5 || l.Bedrooms != 2 || l.Available != "2026-07-01" ||
		l.Address.PostalCode != "H2S 3G1" {
		t.Errorf("listing = %+v, %v", l, err)
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address string
		status  int
		want    fault.Class
	}{
		{advertAt, 200, ""},
		{advertAt, 404, fault.Gone},
		{advertAt, 410, fault.Gone},
		{searchAt, 200, fault.Gone},
		{searchAt + "?keywords=x", 200, fault.Gone},
		{"https://www.kangalou.com/fr/location/montreal", 200, fault.Gone},
		{"https://www.kangalou.com/en/search", 200, fault.Gone},
	} {
		p := sharedtest.Page(t, "testdata/detail-2026.html", tt.address)
		p.Asked, p.Status = advertAt, tt.status
		_, err := kangalou.Platform{}.ReadAdvert(p)
		if class, _ := fault.Of(err); class != tt.want {
			t.Errorf("%d at %s: %v is %q; want %q", tt.status, tt.address, err, class, tt.want)
		}
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
		{searchAt, 2, searchAt + "?page=2"},
		{searchAt + "?page=7", 1, searchAt},
		{searchAt + "?page=7&keywords=villeray", 1000, searchAt + "?keywords=villeray&page=1000"},
		{"http://127.0.0.1:8090/fr/recherche/", 3, "http://127.0.0.1:8090/fr/recherche/?page=3"},
		{"https://www.kangalou.com/en/location/montreal?q=S1Y%3D", 2,
			"https://www.kangalou.com/en/location/montreal?page=2&q=S1Y%3D"},
		{mapAt, 1, mapAt},
		{mapAt + "?c[]=223&c[]=194", 1, mapAt},
		{searchAt, 0, ""},
		{advertAt, 1, ""},
		{"https://www.kangalou.com/", 1, ""},
		{"https://www.kangalou.com/fr/recherchez", 1, ""},
		{"ftp://www.kangalou.com/fr/recherche/", 1, ""},
		{searchAt + "?%zz", 1, ""},
		{"", 1, ""},
	} {
		r, err := kangalou.Platform{}.SearchRequest(tt.start, tt.n)
		if class, _ := fault.Of(err); r.URL != tt.want || (class == fault.Invalid) != (tt.want == "") {
			t.Errorf("SearchRequest(%q, %d) = %q, %v; want %q", tt.start, tt.n, r.URL, err, tt.want)
		}
		if err == nil && (r.Wait == "") != (r.Form != nil) {
			t.Errorf("SearchRequest(%q, %d) waits for %q", tt.start, tt.n, r.Wait)
		}
		if (r.Form != nil) != (strings.HasPrefix(r.URL, mapAt)) {
			t.Errorf("SearchRequest(%q, %d) has the form %v", tt.start, tt.n, r.Form)
		}
	}
	r, err := kangalou.Platform{}.SearchRequest(mapAt+"?c[]=223&c[]=194&pmax=1500", 1)
	want := map[string][]string{"c[]": {"223", "194"}, "z[]": {""}, "pmin": {""}, "pmax": {"1500"}, "s": {"newest"},
		"pinsOnly": {"true"}}
	if err != nil || !reflect.DeepEqual(r.Form, want) || r.Header["X-Requested-With"] != "XMLHttpRequest" {
		t.Errorf("the map's request = %+v, %v; want the form %v", r, err, want)
	}
}
