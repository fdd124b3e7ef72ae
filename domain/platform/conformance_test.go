package platform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
)

var names = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// TestConformance is what every platform must hold to, whatever its site looks like.
func TestConformance(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range platform.All {
		if seen[p.Name()] {
			t.Errorf("two platforms are called %q", p.Name())
		}
		seen[p.Name()] = true
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			if !names.MatchString(p.Name()) {
				t.Errorf("Name() = %q; want %s", p.Name(), names)
			}
			if got, ok := platform.ByName(p.Name()); !ok || got.Name() != p.Name() {
				t.Errorf("ByName(%q) = %v, %t", p.Name(), got, ok)
			}
			t.Run("nothing is rejected with every reason", func(t *testing.T) { rejectsNothing(t, p) })
			t.Run("a plain advert passes", func(t *testing.T) { accepts(t, p) })
			t.Run("ugly input", func(t *testing.T) { survives(t, p) })
		})
	}
	if p, ok := platform.ByName("nobody"); ok {
		t.Errorf("ByName of nobody = %v", p)
	}
}

func rejectsNothing(t *testing.T, p platform.Platform) {
	t.Parallel()
	_, err := p.Normalize(listing.Raw{})
	var r *listing.Rejection
	if !errors.As(err, &r) {
		t.Fatalf("Normalize of nothing = %v; want a rejection", err)
	}
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	for _, field := range []string{"title", "price", "bedrooms"} {
		if !slices.ContainsFunc(r.Reasons, func(r listing.Reason) bool { return r.Field == field }) {
			t.Errorf("no reason about %s in %+v", field, r.Reasons)
		}
	}
}

func plainAdvert(p platform.Platform) listing.Raw {
	cents, lat, lon := int64(95_000), 45.53, -73.6
	posted := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return listing.Raw{
		Ref: listing.Ref{Platform: p.Name(), PlatformID: "17"}, URL: "https://example.org/17",
		ScrapedAt: posted.Add(time.Hour),
		Title:     "Grand 4 ½ chauffé à louer", Description: "<p>2 chambres, balcon</p><p>Pas d'animaux</p>",
		Price:   listing.RawPrice{AmountCents: &cents, Type: "FIXED"},
		Address: "7078 rue Clark, Montréal, QC H2S 3G1", Latitude: &lat, Longitude: &lon,
		ImageURLs: []string{"https://example.org/1.jpg"}, PostedAt: &posted,
	}
}

func accepts(t *testing.T, p platform.Platform) {
	t.Parallel()
	raw := plainAdvert(p)
	l, err := p.Normalize(raw)
	require.NoError(t, err)
	if l.Ref != raw.Ref || l.URL != raw.URL || !l.ScrapedAt.Equal(raw.ScrapedAt) || l.PostedAt == nil ||
		l.RentCents != 95_000 || l.Rooms != 4.5 || l.Bedrooms != 2 ||
		len(l.ImageURLs) != 1 || l.Latitude == nil || l.Utilities.Heat == nil || l.Pets.Policy != "no" {
		t.Errorf("Normalize = %+v", l)
	}
	for _, field := range []string{"rent_cents", "rooms", "bedrooms", "utilities.heat", "pets", "amenities", "address"} {
		assert.NotEmpty(t, l.Sources[field].From, field)
	}
}

// ugly is what pages, scrapers and people have put into fields.
var ugly = []string{
	"", " ", "\x00", "\xff\xfe", "½", "1/2", "$", "0", "-1", "NaN", "Inf", "1e309", "99999999999999999999", "null", "[]",
	"{}", "<", "<b", "&", "&#0;", "&#x110000;",
	"'", "\"", "\\", "/", "#", "- - -", "4 1/2 4 1/2 4 1/2", "1/2/3/4/5", "$1$2$3", "é́́́", "👨‍👩‍👧‍👦", "\u202e4 ½\u202c",
	"١٢٣", "𝟒 𝟏/𝟐", "% d %s %v", "limited", "2.5", "25",
	"2025-06-01T00:00:00Z", "2025-99-99", "criteria-", "criteria-cat-allowed", "pas", "non", "inclus", "inclus :", "chien",
	"sauf", "de", "(", ")", "((((((", "demi", "et demi",
}

func survives(t *testing.T, p platform.Platform) {
	t.Parallel()
	keys := []string{"numberbedrooms", "numberbathrooms", "unittype", "areainfeet", "petsallowed", "dateavailable",
		"numberparkingspots", "numrooms", "furnished", "criteria",
		"criteria-heated", "size", "bedroomcount", "bathroomcount", "appartmentsize", "type", "rentfrequency", "availability",
		"", "nobody knows"}
	for i, s := range ugly {
		for k := range 6 {
			raw := plainAdvert(p)
			long := strings.Repeat(s+" ", 200)
			switch k {
			case 0:
				raw.Title = s
			case 1:
				raw.Title, raw.Description = long, long
			case 2:
				raw.Price = listing.RawPrice{Type: s, Text: s}
			case 3:
				raw.Address, raw.URL, raw.ImageURLs = long, s, []string{s, long, s}
			case 4:
				raw.Attributes = map[string][]string{}
				for _, key := range keys {
					raw.Attributes[key] = []string{s, long}
				}
			case 5:
				f := []float64{math.NaN(), math.Inf(1), -1e300, 0, 90}[i%5]
				cents := []int64{math.MinInt64, math.MaxInt64, -1, 0, 1}[i%5]
				raw.Latitude, raw.Longitude, raw.Price.AmountCents = &f, &f, &cents
				raw.Attributes = map[string][]string{keys[i%len(keys)]: nil}
			}
			check(t, p, raw, fmt.Sprintf("%q in place %d", s, k))
		}
		for _, key := range keys { // each alone: together, one that is refused hides what the others are
			raw := plainAdvert(p)
			raw.Attributes = map[string][]string{key: {s}}
			check(t, p, raw, fmt.Sprintf("%q as %q", s, key))
		}
	}
}

// check holds for every advert: no panic, one result however often, clean text, a lossless JSON form.
func check(t *testing.T, p platform.Platform, raw listing.Raw, what string) {
	t.Helper()
	l, err := p.Normalize(raw)
	again, err2 := p.Normalize(raw)
	if !reflect.DeepEqual(l, again) || !reflect.DeepEqual(err, err2) {
		t.Errorf("%s: two results: %+v, %v and %+v, %v", what, l, err, again, err2)
	}
	if err != nil {
		var r *listing.Rejection
		if !errors.As(err, &r) || len(r.Reasons) == 0 {
			t.Errorf("%s: %v is no rejection with reasons", what, err)
		}
		return
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if bytes.Contains(b, []byte(`\u0000`)) { // which no database takes
		t.Errorf("%s: NUL in %s", what, b)
	}
	var back listing.Listing
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(l, back) {
		t.Errorf("%s: JSON changes %+v to %+v (%v)", what, l, back, err)
	}
	if !utf8.ValidString(l.Title+l.Description) || strings.ContainsRune(l.Title+l.Description, 0) || l.Title == "" {
		t.Errorf("%s: text %q, %q", what, l.Title, l.Description)
	}
	if l.RentCents < listing.MinRentCents || l.RentCents > listing.MaxRentCents || l.Bedrooms < 0 || l.Bathrooms < 0 ||
		l.Bathrooms > 20 || l.AreaSqFt < 0 || l.Rooms < 0 || l.Rooms > 13 {
		t.Errorf("%s: out of range: %+v", what, l)
	}
	for field, s := range l.Sources {
		if s.From == "" || utf8.RuneCountInString(s.Text) > 120 || !utf8.ValidString(s.Text) {
			t.Errorf("%s: source of %s: %+v", what, field, s)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("Grand 4 1/2 à louer", "<p>850 $ par mois, chats permis</p>", "850 $", "numberbedrooms", "2.5",
		"7078 rue Clark, Montréal", int64(85_000), 45.5)
	f.Add("Studio 159$/semaine", "inclus :\n- chauffage\n- internet", "", "petsallowed", "1", "", int64(15_900), 0.0)
	f.Add("3½ 900$ et 4½ 1100$", "", "Sur demande", "criteria", "criteria-heated", "4500-4520 rue X", int64(0), 91.0)
	f.Fuzz(func(t *testing.T, title, description, price, name, value, address string, cents int64, degrees float64) {
		raw := listing.Raw{Title: title, Description: description, Address: address,
			Price:    listing.RawPrice{AmountCents: &cents, Text: price},
			Latitude: &degrees, Longitude: &degrees, Attributes: map[string][]string{name: {value}}, ImageURLs: []string{address,
				value}}
		if cents == 0 {
			raw.Price.AmountCents = nil
		}
		for _, p := range platform.All {
			check(t, p, raw, p.Name())
		}
		assert.Len(t, listing.ContentHash(raw), 64)
	})
}
