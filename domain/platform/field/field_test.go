package field_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

func TestReaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		read  field.Reader
		value string
		field string // that is noted, "" = none
		got   func(prose.Stated) any
		want  any
	}{
		{"a count", field.Bedrooms, "3", "bedrooms", func(s prose.Stated) any { return s.Bedrooms }, 3},
		{"a count in words", field.Bedrooms, "3 chambres", "bedrooms", func(s prose.Stated) any { return s.Bedrooms }, 3},
		{"a den", field.Bedrooms, "2.5", "bedrooms", func(s prose.Stated) any { return s.Den }, true},
		{"too many", field.Bedrooms, "400", "", func(s prose.Stated) any { return s.Warnings[0].Code }, listing.CodeOutOfRange},
		{"no number", field.Bedrooms, "NaN", "", func(s prose.Stated) any { return s.Bedrooms }, 0},
		{"a half", field.Bathrooms, "1 salle de bain et 1 salle d'eau", "bathrooms", func(s prose.Stated) any { return s.Bathrooms }, 1.5},
		{"none", field.Bathrooms, "0", "", func(s prose.Stated) any { return s.Bathrooms }, 0.0},
		{"square feet", field.Area, "1 240 pc", "area_sqft", func(s prose.Stated) any { return s.AreaSqFt }, 1240},
		{"square metres", field.Area, "131.9 m2", "area_sqft", func(s prose.Stated) any { return s.AreaSqFt }, 1420},
		{"a bare number", field.Area, "329", "area_sqft", func(s prose.Stated) any { return s.AreaSqFt }, 329},
		{"left blank", field.Area, "0", "", func(s prose.Stated) any { return len(s.Warnings) }, 0},
		{"a placeholder", field.Area, "1", "", func(s prose.Stated) any { return s.Warnings[0].Code }, listing.CodePlaceholder},
		{"a date", field.Available, "2026-07-01", "available", func(s prose.Stated) any { return s.Available }, "2026-07-01"},
		{"a time", field.Available, "2026-07-01T00:00:00Z", "available", func(s prose.Stated) any { return s.Available }, "2026-07-01"},
		{"now", field.Available, "now", "available", func(s prose.Stated) any { return s.Available }, "now"},
		{"no date", field.Available, "soon", "", func(s prose.Stated) any { return s.Available }, ""},
		{"partly", field.Furnished, "Semi-meublé", "furnished", func(s prose.Stated) any { return s.Furnished }, "semi"},
		{"some of them", field.Furnished, "mixed", "furnished", func(s prose.Stated) any { return s.Furnished }, "optional"},
		{"animals", field.Pets, "true", "pets", func(s prose.Stated) any { return s.Pets.Policy }, "yes"},
		{"no animals", field.Pets, "false", "pets", func(s prose.Stated) any { return s.Pets.Policy }, "no"},
		{"a place", field.Parking, "Garage (1)", "parking", func(s prose.Stated) any { return s.Parking.Spots }, 1},
		{"no place says nothing", field.Parking, "0", "", func(s prose.Stated) any { return s.Parking.Offer }, ""},
		{"a utility", field.Heat, "heating", "utilities.heat", func(s prose.Stated) any { return *s.Utilities.Heat }, true},
		{"an amenity", field.Amenity("gym"), "gym", "amenities", func(s prose.Stated) any { return s.Amenities[0] }, "gym"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := field.Read(listing.Raw{Attributes: map[string][]string{"Théâtre": {"", " " + tt.value + " "}, "other": {"1"}}},
				map[string]field.Reader{"theatre": tt.read})
			assert.Equal(t, tt.want, tt.got(s), tt.value)
			if _, noted := s.Sources[tt.field]; noted != (tt.field != "") || len(s.Sources) > 1 {
				t.Errorf("%q notes %v; want %q", tt.value, s.Sources, tt.field)
			}
		})
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	for dollars, want := range map[float64]int64{1450: 145_000, 1450.505: 145_051, 0: 0, -1: 0, 1e10: 0, math.Inf(1): 0} {
		got := field.Dollars(dollars)
		if got == nil && want != 0 || got != nil && *got != want {
			t.Errorf("Dollars(%v) = %v; want %d", dollars, got, want)
		}
	}
	if got := field.Dollars(math.NaN()); got != nil {
		t.Errorf("Dollars of no number = %v", *got)
	}
}

func TestNoHome(t *testing.T) {
	t.Parallel()
	var r *listing.Rejection
	err := field.NoHome(nil, "category", "Terrain")
	if !errors.As(err, &r) || len(r.Reasons) != 1 || r.Reasons[0].Code != listing.CodeNotAHome || r.Reasons[0].Field != "category" {
		t.Errorf("NoHome = %v", err)
	}
	err = field.NoHome(&listing.Rejection{Reasons: []listing.Reason{{Field: "price", Code: listing.CodeMissing}}}, "category", "Terrain")
	if !errors.As(err, &r) || len(r.Reasons) != 2 {
		t.Errorf("NoHome of a rejection = %v; want both reasons", err)
	}
	if errors.As(field.NoHome(err, "category", "Terrain"), &r) && len(r.Reasons) != 2 {
		t.Errorf("the reason is there twice: %v", r)
	}
}
