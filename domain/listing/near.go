package listing

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
