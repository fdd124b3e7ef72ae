// Package field reads the fields of an advert that rental sites state alike: a platform has a table of its own names,
// and these readers for the values.
package field

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
)

// A Reader puts the value of the attribute of that name into s, or leaves s alone when it does not understand it.
type Reader func(s *prose.Stated, name, value string)

// Read reads the attributes of an advert by a table of folded names (page.Fold). What the table does not name says
// nothing. The order is that of the names, so that warnings do not depend on the map.
func Read(raw listing.Raw, table map[string]Reader) (s prose.Stated) {
	for _, name := range slices.Sorted(maps.Keys(raw.Attributes)) {
		read := table[page.Fold(strings.TrimSpace(name))]
		if read == nil {
			continue
		}
		for _, v := range raw.Attributes[name] {
			if v = strings.TrimSpace(v); v != "" {
				read(&s, name, v)
			}
		}
	}
	return s
}

// Bedrooms reads a count, 0 (studio) to 20, alone or with its word: "3", "3 chambres", "2 + den". Of "2.5" the half is
// a den.
func Bedrooms(s *prose.Stated, name, value string) {
	if v, err := strconv.ParseFloat(value, 64); err == nil {
		if !(v >= 0 && v <= 20) {
			s.Warn("bedrooms", listing.CodeOutOfRange, "attribute %s is %q; want 0 to 20", name, value)
			return
		}
		s.Bedrooms, s.Den = int(v), v != float64(int(v))
		s.Note("bedrooms", name, value)
		return
	}
	n, den, ok := prose.ParseBedrooms(value)
	if !ok || n < 0 || n > 20 {
		return
	}
	s.Bedrooms, s.Den = n, den
	s.Note("bedrooms", name, value)
}

// Bathrooms reads a count, 0.5 to 12, alone or with its words: "1.5", "1 salle de bain et 1 salle d'eau".
func Bathrooms(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		v = prose.ParseBathrooms(value)
	}
	if !(v >= .5 && v <= 12) {
		if v != 0 {
			s.Warn("bathrooms", listing.CodeOutOfRange, "attribute %s is %q; want 0.5 to 12", name, value)
		}
		return
	}
	s.Bathrooms = v
	s.Note("bathrooms", name, value)
}

// Area reads square feet as a number, or an area with its unit: "1 240 pc", "1115 sqft", "131.9 m2". 0 is a field left
// blank.
func Area(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		v = float64(prose.ParseArea(value))
	}
	switch {
	case v == 0:
	case !(v >= listing.MinAreaSqFt && v <= listing.MaxAreaSqFt):
		s.Warn("area_sqft", listing.CodePlaceholder, "attribute %s is %q; want %d to %d sq ft", name, value,
			listing.MinAreaSqFt, listing.MaxAreaSqFt)
	default:
		s.AreaSqFt = int(v + .5)
		s.Note("area_sqft", name, value)
	}
}

// Available reads a date (2026-07-01, with or without a time of day) or the words for now.
func Available(s *prose.Stated, name, value string) {
	if d, ok := prose.ParseDate(value); ok && d.Year > 0 {
		s.Available = d.String()
	} else if page.Fold(value) == "now" {
		s.Available = "now"
	} else if s.Available = prose.ParseAvailable(value); s.Available == "" {
		return
	}
	s.Note("available", name, value)
}

// Furnished reads yes, no, partly, or the words for it.
func Furnished(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "yes", "true", "oui", "1":
		s.Furnished = "yes"
	case "semi", "partially":
		s.Furnished = "semi"
	case "optional", "negotiable", "mixed":
		s.Furnished = "optional"
	case "no", "false", "non", "0":
		s.Furnished = "no"
		s.NoteBlank("furnished", name, value)
		return
	default:
		if s.Furnished = prose.ParseFurnished(value); s.Furnished == "" {
			return
		}
	}
	s.Note("furnished", name, value)
}

// Pets reads yes and no. The no may be a field left alone, so words may overrule it.
func Pets(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "yes", "true", "oui", "1":
		s.Pets = listing.Pets{Policy: "yes"}
		s.Note("pets", name, value)
	case "no", "false", "non", "0":
		s.Pets = listing.Pets{Policy: "no"}
		s.NoteBlank("pets", name, value)
	}
}

// Parking reads the number of places that come with the home: "2", or "Garage (1)". 0 says nothing: the site counts
// none where nobody filled the field in.
func Parking(s *prose.Stated, name, value string) {
	digits := strings.TrimFunc(value, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 50 {
		return
	}
	s.Parking.Offer, s.Parking.Spots = "included", n
	s.Note("parking", name, value)
}

// Heat, HotWater, Electricity, Internet, Water and Cable note a utility that the rent includes, whatever the value.
var (
	Heat        = utility("utilities.heat", func(u *listing.Utilities) **bool { return &u.Heat })
	HotWater    = utility("utilities.hot_water", func(u *listing.Utilities) **bool { return &u.HotWater })
	Electricity = utility("utilities.electricity", func(u *listing.Utilities) **bool { return &u.Electricity })
	Internet    = utility("utilities.internet", func(u *listing.Utilities) **bool { return &u.Internet })
	Water       = utility("utilities.water", func(u *listing.Utilities) **bool { return &u.Water })
	Cable       = utility("utilities.cable", func(u *listing.Utilities) **bool { return &u.Cable })
)

func utility(field string, slot func(*listing.Utilities) **bool) Reader {
	return func(s *prose.Stated, name, value string) {
		*slot(&s.Utilities) = new(true)
		s.Note(field, name, value)
	}
}

// Amenity notes that the home or its building has what key names, whatever the value.
func Amenity(key string) Reader {
	return func(s *prose.Stated, name, value string) { s.AddAmenity(key, name, value) }
}

// Kind reads the kind of home by a table of folded names.
func Kind(table map[string]string) Reader {
	return func(s *prose.Stated, name, value string) {
		if t := table[page.Fold(value)]; t != "" {
			s.PropertyType = t
			s.Note("property_type", name, value)
		}
	}
}

// Each reads every word of a list by a table of folded words: the amenities of an advert, as its site names them.
func Each(table map[string]Reader) Reader {
	return func(s *prose.Stated, name, value string) {
		if read := table[page.Fold(value)]; read != nil {
			read(s, name, value)
		}
	}
}

// Dollars makes an amount in dollars one in cents; nil for one that is no amount, or 0: nobody lets a home for that.
func Dollars(amount float64) *int64 {
	if !(amount > 0 && amount < 1e10) {
		return nil
	}
	return new(int64(amount*100 + .5))
}

// NoHome adds to err, of prose.Normalize, that the site itself says that the advert is about something that is no home.
func NoHome(err error, field, value string) error {
	var r *listing.Rejection
	if !errors.As(err, &r) {
		r = &listing.Rejection{}
	}
	for _, reason := range r.Reasons {
		if reason.Code == listing.CodeNotAHome {
			return r
		}
	}
	r.Reasons = append(r.Reasons, listing.Reason{Field: field, Code: listing.CodeNotAHome,
		Message: "no home: the site's kind is " + strconv.Quote(value)})
	return r
}
