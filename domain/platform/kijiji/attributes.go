package kijiji

import (
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

// attributes is everything that the site states in fields of their own. Those of the first group are the canonical
// names of today; those of the second are what older pages and their scrapers called the same things.
var attributes = map[string]field.Reader{
	"numberbedrooms":     bedrooms,
	"numberbathrooms":    bathrooms,
	"unittype":           unitType,
	"areainfeet":         area,
	"forrentbyhousing":   poster,
	"agreementtype":      lease,
	"dateavailable":      field.Available,
	"petsallowed":        pets,
	"smokingpermitted":   smoking,
	"furnished":          field.Furnished,
	"numberparkingspots": parkingSpots,

	"heat":     utility("utilities.heat", func(u *listing.Utilities) **bool { return &u.Heat }),
	"hydro":    utility("utilities.electricity", func(u *listing.Utilities) **bool { return &u.Electricity }),
	"water":    utility("utilities.water", func(u *listing.Utilities) **bool { return &u.Water }),
	"internet": utility("utilities.internet", func(u *listing.Utilities) **bool { return &u.Internet }),
	"cabletv":  utility("utilities.cable", func(u *listing.Utilities) **bool { return &u.Cable }),

	"airconditioning":              amenity("air_conditioning"),
	"balcony":                      amenity("balcony"),
	"yard":                         amenity("yard"),
	"laundryinunit":                amenity("washer_dryer"),
	"laundryinbuilding":            amenity("laundry_in_building"),
	"dishwasher":                   amenity("dishwasher"),
	"fridgefreezer":                amenity("fridge"),
	"elevator":                     amenity("elevator"),
	"gym":                          amenity("gym"),
	"pool":                         amenity("pool"),
	"concierge":                    amenity("concierge"),
	"twentyfourhoursecurity":       amenity("security"),
	"bicycleparking":               amenity("bicycle_storage"),
	"storagelocker":                amenity("storage"),
	"wheelchairaccessible":         amenity("wheelchair"),
	"barrierfreeentrancesandramps": amenity("wheelchair"),
	"accessiblewashroomsinsuite":   amenity("wheelchair"),

	"numrooms":    quebecRooms, // the category of 2018 and before: "4 1/2", never bedrooms
	"forrentby":   poster,
	"rentedby":    poster,
	"isfurnished": field.Furnished,

	// The page's JSON-LD: bathrooms are not in tenths there, and "rooms" are bedrooms.
	"numberofbathroomstotal": bathrooms,
	"numberofrooms":          bedrooms,
	"numberofbedrooms":       bedrooms,
	"floorsize.value":        area,
	"leaselength":            lease,
}

// bedrooms reads 0 (studio) to 5 (five or more); 2.5 is "2 + den" and never the Quebec 2½. The page's labels
// ("Bachelor/Studio", " 1 + Den", "5+") are taken too.
func bedrooms(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(value, "+"), 64)
	if err != nil {
		n, den, ok := prose.ParseBedrooms(value)
		if !ok {
			if t := strings.ToLower(value); !strings.Contains(t, "studio") && !strings.Contains(t, "bachelor") {
				return
			}
		}
		s.Bedrooms, s.Den = n, den
		s.Note("bedrooms", name, value)
		studio(s, name, value)
		return
	}
	if !(v >= 0 && v <= 20) {
		s.Warn("bedrooms", listing.CodeOutOfRange, "attribute %s is %q; want 0 to 20", name, value)
		return
	}
	s.Bedrooms = int(v)
	s.Den = v != float64(int(v))
	s.Note("bedrooms", name, value)
}

// studio notes the kind of home that a label names beside the count.
func studio(s *prose.Stated, name, value string) {
	if prose.ParsePropertyType(value) == "studio" && s.PropertyType == "" {
		s.PropertyType = "studio"
		s.Note("property_type", name, value)
	}
}

// bathrooms reads tenths: 15 is one and a half. A value below ten is the count itself, as pages before 2022 had it.
func bathrooms(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(value, "+"), 64)
	if err != nil {
		v = prose.ParseBathrooms(value)
	} else if v >= 10 {
		v /= 10
	}
	if !(v >= .5 && v <= 12) {
		if v != 0 {
			s.Warn("bathrooms", listing.CodeOutOfRange, "attribute %s is %q; want 5 to 120", name, value)
		}
		return
	}
	s.Bathrooms = v
	s.Note("bathrooms", name, value)
}

var unitTypes = map[string]string{
	"apartment": "apartment", "condo": "condo", "basement-apartment": "basement", "basement": "basement", "house": "house",
	"townhouse": "townhouse", "duplex-triplex": "duplex-triplex", "room": "room", "loft": "loft", "studio": "studio",
}

func unitType(s *prose.Stated, name, value string) {
	key := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(value), "/", "-"), " ", "-")
	t, ok := unitTypes[key]
	if !ok {
		if t = prose.ParsePropertyType(value); t == "" {
			return
		}
	}
	s.PropertyType = t
	s.Note("property_type", name, value)
	if t == "basement" {
		s.Floor = "basement"
		s.Note("floor", name, value)
	}
}

// area reads square feet. 0 and 1 are what people type to get past the form.
func area(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", ""), 64)
	if err != nil {
		v = float64(prose.ParseArea(value))
	}
	switch {
	case v == 0: // left blank
	case v < listing.MinAreaSqFt || v > listing.MaxAreaSqFt || v != v:
		s.Warn("area_sqft", listing.CodePlaceholder, "attribute %s is %q; want %d to %d", name, value, listing.MinAreaSqFt,
			listing.MaxAreaSqFt)
	default:
		s.AreaSqFt = int(v + .5)
		s.Note("area_sqft", name, value)
	}
}

func poster(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "ownr", "owner", "proprietaire", "private", "particulier":
		s.Poster = "owner"
	case "reprofessional", "professional", "professionnel", "agency", "business":
		s.Poster = "professional"
	default:
		return
	}
	s.Note("poster", name, value)
}

func lease(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "one-year", "1 year", "1 an", "year":
		s.Lease = "one-year"
	case "month-to-month", "mois a mois", "month":
		s.Lease = "month-to-month"
	default:
		if s.Lease = prose.ParseLease(value + " lease"); s.Lease == "" {
			return
		}
	}
	s.Note("lease", name, value)
}

// pets reads 1, 0 and limited. 0 is also what a form left blank sends, so words may overrule it.
func pets(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "1", "yes", "true", "oui":
		s.Pets.Policy = "yes"
	case "0", "no", "false", "non":
		s.Pets.Policy = "no"
		s.NoteBlank("pets", name, value)
		return
	case "limited", "limite":
		s.Pets.Policy = "limited"
	default:
		if s.Pets = prose.ParsePets(value); s.Pets.Policy == "" {
			return
		}
	}
	s.Note("pets", name, value)
}

func smoking(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "1", "yes", "true", "oui":
		s.Smoking = "yes"
	case "2", "outdoors", "outdoors only", "exterieur seulement":
		s.Smoking = "outdoors"
	case "0", "no", "false", "non":
		s.Smoking = "no"
		s.NoteBlank("smoking", name, value)
		return
	default:
		return
	}
	s.Note("smoking", name, value)
}

// parkingSpots reads 0 to 3, where 3 is three or more.
func parkingSpots(s *prose.Stated, name, value string) {
	n, err := strconv.Atoi(strings.TrimSuffix(value, "+"))
	switch {
	case err != nil || n < 0 || n > 50:
	case n == 0:
		s.Parking.Offer = "none"
		s.NoteBlank("parking", name, value)
	default:
		s.Parking.Offer, s.Parking.Spots = "included", n
		s.Note("parking", name, value)
	}
}

// quebecRooms reads the room count of the old categories: 4.5 is a 4 ½.
func quebecRooms(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", "."), 64)
	if err != nil {
		rooms := prose.ParseRooms(value)
		if len(rooms) == 0 {
			return
		}
		v = rooms[0]
	}
	if v < 1 || v > 12.5 || v != v {
		return
	}
	s.Rooms = v
	s.Note("rooms", name, value)
}

// utility reads a box of what the rent includes. Only a ticked one says something: an empty box may mean "no" or that
// nobody looked at it.
func utility(of string, slot func(*listing.Utilities) **bool) field.Reader {
	return func(s *prose.Stated, name, value string) {
		if yes, ok := ticked(value); ok && yes {
			*slot(&s.Utilities) = &yes
			s.Note(of, name, value)
		}
	}
}

func amenity(key string) field.Reader {
	return func(s *prose.Stated, name, value string) {
		if yes, ok := ticked(value); ok && yes {
			s.AddAmenity(key, name, value)
		}
	}
}

func ticked(value string) (yes, ok bool) {
	switch page.Fold(value) {
	case "1", "yes", "true", "oui", "included", "inclus":
		return true, true
	case "0", "no", "false", "non", "not included":
		return false, true
	}
	return false, false
}
