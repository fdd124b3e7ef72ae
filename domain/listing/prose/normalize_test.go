package prose_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

func normalize(raw listing.Raw) (listing.Listing, error) {
	return prose.Normalize(raw, prose.Stated{})
}

// sample is a whole advert.
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

func codes(ws []listing.Warning) []string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Field+":"+w.Code)
	}
	return out
}

func TestNormalizeRejects(t *testing.T) {
	t.Parallel()
	cents := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name string
		raw  listing.Raw
		want []string
	}{
		{"nothing", listing.Raw{}, []string{"title:missing", "bedrooms:missing", "price:missing"}},
		{"wanted and unpriced", listing.Raw{Title: "Recherché : 4 1/2"}, []string{"title:wanted", "price:missing"}},
		{"sale price", listing.Raw{Title: "4 1/2", Price: listing.RawPrice{AmountCents: cents(42_500_000)}},
			[]string{"price:out_of_range"}},
		{"absurd price", listing.Raw{Title: "4 1/2", Price: listing.RawPrice{AmountCents: cents(1e12)}},
			[]string{"price:out_of_range"}},
		{"negative price", listing.Raw{Title: "4 1/2", Price: listing.RawPrice{AmountCents: cents(-5)}},
			[]string{"price:out_of_range"}},
		{"zero", listing.Raw{Title: "4 1/2", Price: listing.RawPrice{AmountCents: cents(0)}}, []string{"price:missing"}},
		{"swap", listing.Raw{Title: "4 1/2", Price: listing.RawPrice{Type: "SWAP_TRADE"}}, []string{"price:swap",
			"price:missing"}},
		{"per day", listing.Raw{Title: "Studio", Price: listing.RawPrice{Text: "50$ par jour"}}, []string{"price:per_day"}},
		{"no rooms", listing.Raw{Title: "Appartement", Price: listing.RawPrice{AmountCents: cents(90_000)}},
			[]string{"bedrooms:missing"}},
		{"for sale", listing.Raw{Title: "Condo 4 1/2 à vendre", Price: listing.RawPrice{AmountCents: cents(90_000)}},
			[]string{"title:sale"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := normalize(tt.raw)
			var r *listing.Rejection
			if !errors.As(err, &r) {
				t.Fatalf("Normalize = %+v, %v; want a rejection", l, err)
			}
			if class, _ := fault.Of(err); class != fault.Invalid {
				t.Errorf("class = %q", class)
			}
			var got []string
			for _, reason := range r.Reasons {
				got = append(got, reason.Field+":"+reason.Code)
				if reason.Message == "" {
					t.Errorf("%+v says nothing", reason)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("reasons = %v; want %v", got, tt.want)
			}
		})
	}
}

func TestNormalizeMends(t *testing.T) {
	t.Parallel()
	nan, big, zero, lat, lon := math.NaN(), 91.0, 0.0, 45.5, -73.6
	never := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -5*60*60))
	for _, tt := range []struct {
		name   string
		change func(*listing.Raw)
		want   string
		check  func(listing.Listing) bool
	}{
		{"long title", func(r *listing.Raw) { r.Title = "4 1/2 " + strings.Repeat("é", 10_000) }, "title:truncated",
			func(l listing.Listing) bool { return len([]rune(l.Title)) == listing.MaxTitle }},
		{"long description", func(r *listing.Raw) { r.Description = strings.Repeat("mot ", 10_000) }, "description:truncated",
			func(l listing.Listing) bool { return len([]rune(l.Description)) <= listing.MaxDescription }},
		{"nul", func(r *listing.Raw) { r.Description = "a\x00b" }, "description:cleaned",
			func(l listing.Listing) bool { return l.Description == "ab" }},
		{"not utf-8", func(r *listing.Raw) { r.Title = "4 1/2 \xff" }, "title:cleaned",
			func(l listing.Listing) bool { return l.Title == "4 1/2" }},
		{"posted after all years", func(r *listing.Raw) { r.PostedAt = &never }, "posted_at:out_of_range",
			func(l listing.Listing) bool { return l.PostedAt == nil }},
		{"latitude out of range", func(r *listing.Raw) { r.Latitude, r.Longitude = &big, &lon }, "latitude:out_of_range",
			func(l listing.Listing) bool { return l.Latitude == nil && l.Longitude == nil }},
		{"not a number", func(r *listing.Raw) { r.Latitude, r.Longitude = &nan, &lon }, "latitude:out_of_range",
			func(l listing.Listing) bool { return l.Latitude == nil }},
		{"null island", func(r *listing.Raw) { r.Latitude, r.Longitude = &zero, &zero }, "latitude:placeholder",
			func(l listing.Listing) bool { return l.Latitude == nil }},
		{"half a place", func(r *listing.Raw) { r.Latitude = &lat }, "latitude:placeholder",
			func(l listing.Listing) bool { return l.Latitude == nil }},
		{"bad images", func(r *listing.Raw) {
			r.ImageURLs = []string{"ftp://x/y", "/relative.jpg", "javascript:alert(1)", "http://", "%zz",
				"https://ok.example/1.jpg", "https://ok.example/salon-100%.jpg"}
		}, "image_urls:invalid_url", func(l listing.Listing) bool {
			return slices.Equal(l.ImageURLs,
				[]string{"https://ok.example/1.jpg", "https://ok.example/salon-100%.jpg"})
		}},
		{"many images", func(r *listing.Raw) {
			for i := range 80 {
				r.ImageURLs = append(r.ImageURLs, fmt.Sprintf("https://ok.example/%d.jpg", i))
			}
		}, "image_urls:too_many", func(l listing.Listing) bool { return len(l.ImageURLs) == listing.MaxImages }},
		{"placeholder price", func(r *listing.Raw) { *r.Price.AmountCents = 100; r.Description = "850 $ par mois" },
			"rent_cents:conflict",
			func(l listing.Listing) bool { return l.RentCents == 850_00 }},
		{"doubtful price", func(r *listing.Raw) { *r.Price.AmountCents = 2000 }, "rent_cents:doubtful",
			func(l listing.Listing) bool { return l.RentCents == 2000 }},
		{"weekly price", func(r *listing.Raw) { *r.Price.AmountCents = 15_900; r.Title = "Studio 159$/semaine" },
			"rent_cents:weekly",
			func(l listing.Listing) bool { return l.RentCents == 689_00 }},
		{"other province", func(r *listing.Raw) { r.Address = "12 Main St, Ottawa, ON K1A 0A1" }, "address:elsewhere", nil},
		{"price in the title", func(r *listing.Raw) { r.Title = "4 1/2 950$" }, "rent_cents:conflict",
			func(l listing.Listing) bool { return l.RentCents == 900_00 }},
		{"a room", func(r *listing.Raw) { r.Title = "Chambre à louer" }, "room_rental:room",
			func(l listing.Listing) bool { return l.RoomRental && l.PropertyType == "room" && l.Bedrooms == 1 }},
		{"several homes", func(r *listing.Raw) { r.Title = "3 1/2 900$ et 4 1/2 1100$" }, "units:multi_unit",
			func(l listing.Listing) bool { return len(l.Units) == 2 && l.Rooms == 3.5 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cents := int64(900_00)
			raw := listing.Raw{Title: "4 1/2", Price: listing.RawPrice{AmountCents: &cents}}
			tt.change(&raw)
			l, err := normalize(raw)
			require.NoError(t, err)
			n := 0
			for _, c := range codes(l.Warnings) {
				if c == tt.want {
					n++
				}
			}
			if n != 1 {
				t.Errorf("warnings = %+v; want one %s", l.Warnings, tt.want)
			}
			if tt.check != nil && !tt.check(l) {
				t.Errorf("listing = %+v", l)
			}
		})
	}
}

// TestNormalizeSources: an operator sees where each value comes from, and no telephone number.
func TestNormalizeSources(t *testing.T) {
	t.Parallel()
	l, err := normalize(listing.Raw{
		Title: "Grand 4 1/2 chauffé 850$",
		Description: "Meublé. Chats acceptés, texto 418-555-1234 ou jean@exemple.ca. Libre le 1er juillet. 2 " +
			"stationnements inclus. 900 pi2",
		Address: "74 Rue Saint-Joseph O, Québec, QC G1K 1W9",
	})
	require.NoError(t, err)
	for field, want := range map[string]listing.Source{
		"rent_cents": {From: "title", Text: "850$"}, "rooms": {From: "title", Text: "4 1/2"}, "bedrooms": {From: "title",
			Text: "4 1/2"},
		"utilities.heat": {From: "title", Text: "chauffé"}, "furnished": {From: "description", Text: "Meublé"},
		"available": {From: "description", Text: "Libre le 1er juillet"}, "area_sqft": {From: "description", Text: "900 pi2"},
		"address": {From: "address", Text: "74 Rue Saint-Joseph O, Québec, QC G1K 1W9"},
	} {
		got := l.Sources[field]
		assert.Equal(t, want, got, field)
	}
	for field, s := range l.Sources {
		if strings.Contains(s.Text, "555") || strings.Contains(s.Text, "@") || len([]rune(s.Text)) > 120 {
			t.Errorf("Sources[%s] = %q", field, s.Text)
		}
	}
}

func TestListingJSON(t *testing.T) {
	t.Parallel()
	raw := sample()
	l, err := normalize(raw)
	require.NoError(t, err)
	b, err := json.Marshal(l)
	require.NoError(t, err)
	var back listing.Listing
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, back, l)
	raw.Title = ""
	_, err = normalize(listing.Raw{})
	var r, again *listing.Rejection
	if !errors.As(err, &r) {
		t.Fatal(err)
	}
	if b, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("rejection round trip: %s, %+v, %v", b, again, err)
	}
}

// TestNormalizeLeavesItsInputAlone: the raw advert is stored after it was normalized.
func TestNormalizeLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	raw := sample()
	l, err := normalize(raw)
	require.NoError(t, err)
	*l.Latitude = 0
	l.ImageURLs[0] = ""
	assert.Equal(t, sample(), raw, "the raw advert changed")
}
