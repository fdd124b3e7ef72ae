package kijiji_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
)

func advert(attributes map[string][]string) listing.Raw {
	cents := int64(188_000)
	return listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, Title: "Annonce",
		Price: listing.RawPrice{AmountCents: &cents, Type: "FIXED"}, Attributes: attributes,
	}
}

// TestAttributes reads the names and values that the site sends today.
func TestAttributes(t *testing.T) {
	t.Parallel()
	l, err := kijiji.Platform{}.Normalize(advert(map[string][]string{
		"numberbedrooms": {"2.5"}, "numberbathrooms": {"15"}, "unittype": {"duplex-triplex"},
		"forrentbyhousing": {"reprofessional"},
		"agreementtype":    {"one-year"}, "petsallowed": {"limited"}, "smokingpermitted": {"2"}, "numberparkingspots": {"2"},
		"furnished": {"1"}, "dateavailable": {"2025-06-01T00:00:00Z"}, "areainfeet": {"950"}, "heat": {"1"}, "hydro": {"0"},
		"water": {"1"}, "laundryinunit": {"1"}, "balcony": {"1"}, "gym": {"0"},
		"srpLogoUrl":            {"https://example.org/logo.jpg"},
		"rentalsvirtualoptions": {"a", "b"}, "wheelchairaccessible": {"1"}, "braillelabels": {"1"},
	}))
	require.NoError(t, err)
	if l.Bedrooms != 2 || !l.Den || l.Rooms != 0 || l.Bathrooms != 1.5 || l.PropertyType != "duplex-triplex" ||
		l.Poster != "professional" ||
		l.Lease != "one-year" || l.Pets.Policy != "limited" || l.Smoking != "outdoors" || l.Furnished != "yes" ||
		l.Available != "2025-06-01" || l.AreaSqFt != 950 || l.Parking.Offer != "included" || l.Parking.Spots != 2 {
		t.Errorf("listing = %+v", l)
	}
	if u := l.Utilities; u.Heat == nil || !*u.Heat || u.Water == nil || u.Electricity != nil {
		t.Errorf("utilities = %+v: a box that is not ticked says nothing", u)
	}
	require.Equal(t, []string{"balcony", "washer_dryer", "wheelchair"}, l.Amenities)
	assert.Equal(t, (listing.Source{From: "attribute", Name: "numberbedrooms", Text: "2.5"}), l.Sources["bedrooms"])
	require.Empty(t, l.Warnings)
}

func TestAttributeAgainstText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		attributes map[string][]string
		title      string
		body       string
		warning    string
		holds      func(listing.Listing) bool
	}{
		{"a yes that the words deny", map[string][]string{"numberbedrooms": {"2"}, "petsallowed": {"1"}}, "",
			"NO PETS - PAS D'ANIMAUX",
			"pets", func(l listing.Listing) bool { return l.Pets.Policy == "conflict" }},
		{"a blank no that the words overrule", map[string][]string{"numberbedrooms": {"2"}, "petsallowed": {"0"}}, "",
			"1 chat accepté",
			"pets", func(l listing.Listing) bool { return l.Pets.Policy == "limited" && l.Pets.Cats == "yes" }},
		{"blank furniture", map[string][]string{"numberbedrooms": {"2"}, "furnished": {"0"}}, "Joli meublé", "",
			"furnished", func(l listing.Listing) bool { return l.Furnished == "yes" }},
		{"the attribute beats rooms less two", map[string][]string{"numberbedrooms": {"2"}}, "Spacieux 5½", "",
			"bedrooms", func(l listing.Listing) bool { return l.Bedrooms == 2 && l.Rooms == 5.5 }},
		{"the title beats the attribute", map[string][]string{"numberbedrooms": {"4"}}, "6 ½ 3 pièces fermées", "",
			"bedrooms", func(l listing.Listing) bool { return l.Bedrooms == 3 }},
		{"an office counted as a bedroom", map[string][]string{"numberbedrooms": {"3"}}, "5 1/2", "2 chambres et 1 bureau",
			"bedrooms", func(l listing.Listing) bool { return l.Bedrooms == 2 && l.Den }},
		{"a category's rooms", map[string][]string{"numrooms": {"3.5"}}, "Jolie 4½", "",
			"rooms", func(l listing.Listing) bool { return l.Rooms == 4.5 && l.Bedrooms == 2 }},
		{"six and a half or more", map[string][]string{"numrooms": {"6.5"}}, "", "très joli 8 1/2",
			"", func(l listing.Listing) bool { return l.Rooms == 8.5 && l.Bedrooms == 6 }},
		{"one square foot", map[string][]string{"numberbedrooms": {"2"}, "areainfeet": {"1"}}, "", "",
			"area_sqft", func(l listing.Listing) bool { return l.AreaSqFt == 0 }},
		{"a room", map[string][]string{"numberbedrooms": {"3"}}, "chambres meublée fermée a louer", "",
			"room_rental", func(l listing.Listing) bool { return l.RoomRental && l.Bedrooms == 1 }},
		{"bright is not electricity", map[string][]string{"numberbedrooms": {"2"}}, "", "bien éclairé",
			"", func(l listing.Listing) bool { return l.Utilities.Electricity == nil }},
		{"nonsense", map[string][]string{"numberbedrooms": {"2", "3"}, "numberbathrooms": {"NaN"}, "areainfeet": {"-5"},
			"unittype": {"castle"}, "dateavailable": {"soon"}, "petsallowed": {"maybe"}}, "", "",
			"area_sqft", func(l listing.Listing) bool {
				return l.Bedrooms == 2 && l.Bathrooms == 0 && l.PropertyType == "" && l.Available == ""
			}},
		{"no number of bedrooms", map[string][]string{"numberbedrooms": {"nan"}}, "", "appartement de 3 chambres",
			"bedrooms", func(l listing.Listing) bool { return l.Bedrooms == 3 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := advert(tt.attributes)
			raw.Description = tt.body
			if tt.title != "" {
				raw.Title = tt.title
			}
			l, err := kijiji.Platform{}.Normalize(raw)
			require.NoError(t, err)
			assert.True(t, tt.holds(l), l)
			warned := slices.ContainsFunc(l.Warnings, func(w listing.Warning) bool { return w.Field == tt.warning })
			if tt.warning == "" && len(l.Warnings) > 0 || tt.warning != "" && !warned {
				t.Errorf("warnings = %+v; want one about %q", l.Warnings, tt.warning)
			}
		})
	}
}
