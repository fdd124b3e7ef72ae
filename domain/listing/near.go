package listing

import "math"

// Bounds are what a listing must lie within to be compared with another by SameHome. All are inclusive.
type Bounds struct {
	South, North, West, East   float64 // degrees WGS 84
	MinRentCents, MaxRentCents int64   // a month
	Bedrooms                   int     // just as many
}

// How far a home may be from another to be compared with it: about 55 m to the north and south and 62 m to the east and
// west at Montréal's latitude, about twice what SameHome allows, and a tenth of the rent.
const (
	nearLatitude  = 0.0005
	nearLongitude = 0.0008
)

// HomeBounds returns what the listings that may be the same home as l lie within, and false when l has no coordinates.
func HomeBounds(l Listing) (Bounds, bool) {
	if !located(l) {
		return Bounds{}, false
	}
	return Bounds{
		South: *l.Latitude - nearLatitude, North: *l.Latitude + nearLatitude,
		West: *l.Longitude - nearLongitude, East: *l.Longitude + nearLongitude,
		MinRentCents: l.RentCents * 9 / 10, MaxRentCents: l.RentCents * 11 / 10,
		Bedrooms: l.Bedrooms,
	}, true
}

// SameHomeBounds returns what other listings with coordinates lie within that SameHome can take for the same home as l,
// which has coordinates, by anything but a Centris number. The rents are those of HomeBounds.
func SameHomeBounds(l Listing) Bounds {
	b, _ := HomeBounds(l)
	const reach = 1.01 * sameHomeMetres / MetresPerDegree // a little more, as a float is not exact
	b.South, b.North = *l.Latitude-reach, *l.Latitude+reach
	east := 360.0 // at the poles, any
	if c := math.Cos((math.Abs(*l.Latitude) + reach) * math.Pi / 180); c > 1e-6 {
		east = reach / c
	}
	b.West, b.East = *l.Longitude-east, *l.Longitude+east
	return b
}
