package listing_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

func sample() listing.Raw {
	cents, lat, lon := int64(85_000), 46.8, -71.2
	posted := time.Date(2018, 1, 26, 17, 16, 41, 0, time.UTC)
	return listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, URL: "https://www.kijiji.ca/v-x/1?utm=a",
		ScrapedAt: posted.Add(time.Hour),
		Title:     "Grand 4 1/2", Description: "<p>2 chambres, 850 $ par mois</p>",
		Price:   listing.RawPrice{AmountCents: &cents, Type: "FIXED", Text: "850 $"},
		Address: "74 Rue Saint-Joseph O, Québec, QC G1K 1W9", Latitude: &lat, Longitude: &lon,
		Attributes: map[string][]string{"numberbedrooms": {"2"}, "heat": {"1"}, "rentalsvirtualoptions": {"b", "a"}},
		ImageURLs: []string{"https://media.kijiji.ca/api/v1/x/1?rule=kijijica-200-jpg",
			"https://i.ebayimg.com/00/s/abc/$_59.JPG"},
		Contact: listing.RawContact{Name: "A", Phone: "1"}, PostedAt: &posted,
	}
}

func TestContentHashIgnores(t *testing.T) {
	t.Parallel()
	want := listing.ContentHash(sample())
	for name, change := range map[string]func(*listing.Raw){
		"scraped_at":     func(r *listing.Raw) { r.ScrapedAt = r.ScrapedAt.Add(time.Hour) },
		"tracking query": func(r *listing.Raw) { r.URL = "https://www.kijiji.ca/v-x/1?utm=b" },
		"size of an image": func(r *listing.Raw) {
			r.ImageURLs[0] = "https://media.kijiji.ca/api/v1/x/1?rule=kijijica-640-webp"
		},
		"size of an old image":   func(r *listing.Raw) { r.ImageURLs[1] = "https://i.ebayimg.com/00/s/abc/$_35.JPG" },
		"order of values":        func(r *listing.Raw) { r.Attributes["rentalsvirtualoptions"] = []string{"a", "b"} },
		"an empty attribute":     func(r *listing.Raw) { r.Attributes["none"] = nil },
		"time zone of posted_at": func(r *listing.Raw) { p := r.PostedAt.In(time.FixedZone("", 3600)); r.PostedAt = &p },
		"where the pointers point": func(r *listing.Raw) {
			c, l := *r.Price.AmountCents, *r.Latitude
			r.Price.AmountCents, r.Latitude = &c, &l
		},
	} {
		r := sample()
		change(&r)
		assert.Equal(t, want, listing.ContentHash(r), name)
	}
	require.Len(t, want, 64)
}

func TestContentHashSees(t *testing.T) {
	t.Parallel()
	base := listing.ContentHash(sample())
	seen := map[string]string{base: "the advert itself"}
	for name, change := range map[string]func(*listing.Raw){
		"platform":         func(r *listing.Raw) { r.Platform = "kangalou" },
		"id":               func(r *listing.Raw) { r.PlatformID = "2" },
		"title":            func(r *listing.Raw) { r.Title += "!" },
		"description":      func(r *listing.Raw) { r.Description += "!" },
		"text moved":       func(r *listing.Raw) { r.Title, r.Description = r.Title+"<", r.Description[1:] },
		"price":            func(r *listing.Raw) { *r.Price.AmountCents++ },
		"no price":         func(r *listing.Raw) { r.Price.AmountCents = nil },
		"price of 0":       func(r *listing.Raw) { *r.Price.AmountCents = 0 },
		"price type":       func(r *listing.Raw) { r.Price.Type = "CONTACT" },
		"price text":       func(r *listing.Raw) { r.Price.Text = "850$" },
		"address":          func(r *listing.Raw) { r.Address = "" },
		"latitude":         func(r *listing.Raw) { *r.Latitude += 1e-9 },
		"no longitude":     func(r *listing.Raw) { r.Longitude = nil },
		"attribute":        func(r *listing.Raw) { r.Attributes["heat"] = []string{"0"} },
		"new attribute":    func(r *listing.Raw) { r.Attributes["water"] = []string{"1"} },
		"image":            func(r *listing.Raw) { r.ImageURLs[0] = "https://media.kijiji.ca/api/v1/x/2" },
		"order of images":  func(r *listing.Raw) { r.ImageURLs[0], r.ImageURLs[1] = r.ImageURLs[1], r.ImageURLs[0] },
		"fewer images":     func(r *listing.Raw) { r.ImageURLs = r.ImageURLs[:1] },
		"query elsewhere":  func(r *listing.Raw) { r.ImageURLs[0] = "https://example.com/?id=1" },
		"query elsewhere2": func(r *listing.Raw) { r.ImageURLs[0] = "https://example.com/?id=2" },
		"contact":          func(r *listing.Raw) { r.Contact.Phone = "2" },
		"posted_at":        func(r *listing.Raw) { p := r.PostedAt.Add(time.Nanosecond); r.PostedAt = &p },
		"no posted_at":     func(r *listing.Raw) { r.PostedAt = nil },
	} {
		r := sample()
		change(&r)
		got := listing.ContentHash(r)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[got] = name
	}
}

func TestContentHashOfJSON(t *testing.T) {
	t.Parallel()
	a := `{"platform":"kijiji","platform_id":"1","title":"t",` +
		`"attributes":{"a":["1"],"b":["2"]},"price":{"amount_cents":100},"image_urls":[]}`
	b := `{"unknown":{"x":1},"price":{"text":"","amount_cents":100},` +
		`"attributes":{"b":["2"],"a":["1"]},"title":"t","platform_id":"1","platform":"kijiji"}`
	var x, y listing.Raw
	require.NoError(t, json.Unmarshal([]byte(a), &x))
	require.NoError(t, json.Unmarshal([]byte(b), &y))
	if listing.ContentHash(x) != listing.ContentHash(y) {
		t.Error("the order of members or an unknown one changes the hash")
	}
}

// TestContentHashIsPinned fails when the canonical form changes: then every stored hash is void, which must be meant.
func TestContentHashIsPinned(t *testing.T) {
	t.Parallel()
	const want = "c0edcb7125a377e4553aff7416d4160eab0f549e41a18d592472e3c07ba1b3d3"
	require.Equal(t, want, listing.ContentHash(sample()))
}
