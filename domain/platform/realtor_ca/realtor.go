// Package realtorca reads the answers of the API of realtor.ca, which state each advert whole.
package realtorca

import (
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

// Platform is realtor.ca.
type Platform struct{}

// Name returns "realtor_ca".
func (Platform) Name() string { return "realtor_ca" }

// Normalize interprets one advert. Raw.Attributes holds members of the API's result by their own names, and under
// "centris_number" the number of the same advert at Centris, where the result leads there.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	return prose.Normalize(raw, field.Read(raw, map[string]field.Reader{
		"bedrooms": field.Bedrooms, "bathroomtotal": field.Bathrooms, "sizeinterior": field.Area,
		"parkingspacetotal": field.Parking,
		"type": field.Kind(map[string]string{
			"apartment": "apartment", "house": "house", "row / townhouse": "townhouse", "duplex": "duplex-triplex",
			"triplex": "duplex-triplex", "fourplex": "duplex-triplex",
		}),
	}))
}
