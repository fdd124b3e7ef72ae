// Package rentalsca reads the adverts of rentals.ca, and those of louer.ca, which is the same site in French.
package rentalsca

import (
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

// Platform is rentals.ca.
type Platform struct{}

// Name returns "rentals_ca".
func (Platform) Name() string { return "rentals_ca" }

// Normalize interprets one unit. Raw.Attributes holds the members of the unit (beds, baths, dimensions, furnished,
// available, parking_spots) and those of its building that hold for each of its units (property_type, pet_friendly,
// lease_term, utilities, amenities, parking). "building" is the building's number: units that share it are not one home.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	return prose.Normalize(raw, field.Read(raw, attributes))
}

var attributes = map[string]field.Reader{
	"beds":          field.Bedrooms,
	"baths":         field.Bathrooms,
	"dimensions":    field.Area,
	"furnished":     field.Furnished,
	"available":     field.Available,
	"parking_spots": field.Parking,
	"parking":       parking,
	"pet_friendly":  field.Pets,
	"lease_term":    lease,
	"property_type": field.Kind(map[string]string{
		"apartment": "apartment", "studio": "studio", "bachelor": "studio", "condo": "condo", "condo-community": "condo",
		"house": "house", "single-family-home": "house", "semi-house": "house", "cottage": "house", "cabin": "house",
		"town-house": "townhouse", "town-house-community": "townhouse", "duplex": "duplex-triplex",
		"triplex": "duplex-triplex", "fourplex": "duplex-triplex", "basement": "basement", "loft": "loft", "room": "room",
	}),
	// The site lists utilities that the rent includes, and no others.
	"utilities": field.Each(map[string]field.Reader{
		"water": field.Water, "heating": field.Heat, "hydro-electricity": field.Electricity, "internet-wifi": field.Internet,
		"hot-water": field.HotWater, "cable": field.Cable,
	}),
	"amenities": field.Each(map[string]field.Reader{
		"air-conditioning": field.Amenity("air_conditioning"), "balcony": field.Amenity("balcony"),
		"ensuite-laundry": field.Amenity("washer_dryer"), "laundry-facilities": field.Amenity("laundry_in_building"),
		"dishwasher": field.Amenity("dishwasher"), "fridge": field.Amenity("fridge"), "stove": field.Amenity("stove"),
		"elevator": field.Amenity("elevator"), "gym": field.Amenity("gym"), "fitness-area": field.Amenity("gym"),
		"swimming-pool": field.Amenity("pool"), "sauna": field.Amenity("sauna"), "fireplace": field.Amenity("fireplace"),
		"storage-lockers": field.Amenity("storage"), "video-surveillance": field.Amenity("security"),
		"security-on-site": field.Amenity("security"), "concierge": field.Amenity("concierge"),
		"wheelchair-access": field.Amenity("wheelchair"), "bike-storage": field.Amenity("bicycle_storage"),
	}),
}

// indoors says of the site's kinds of parking whether they are under a roof. A "visitor" place is none for a tenant,
// and "electric" and "valet" say nothing of the roof.
var indoors = map[string]string{
	"indoor": "indoor", "underground": "indoor", "garage": "indoor", "covered": "indoor", "outdoor": "outdoor",
	"driveway": "outdoor",
}

// parking reads a kind of parking of the building with its monthly rate in dollars, if it has one: "underground 200".
// The first place that a tenant can have counts.
func parking(s *prose.Stated, name, value string) {
	kind, rate, priced := strings.Cut(value, " ")
	where, known := indoors[page.Fold(kind)]
	if s.Parking.Offer != "" || !known {
		return
	}
	s.Parking.Offer, s.Parking.Type = "available", where
	if dollars, err := strconv.ParseFloat(rate, 64); priced && err == nil && dollars > 0 && dollars < 10_000 {
		s.Parking.Offer, s.Parking.PriceCents = "extra", *field.Dollars(dollars)
	}
	s.Note("parking", name, value)
}

func lease(s *prose.Stated, name, value string) {
	switch page.Fold(value) {
	case "1-year":
		s.Lease = "one-year"
	case "month-to-month", "monthly":
		s.Lease = "month-to-month"
	case "6-months", "6-month":
		s.Lease = "6-month"
	default:
		return
	}
	s.Note("lease", name, value)
}
