package saved

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/search"
)

// Criteria say which listings are meant. A zero field does not filter. Amounts are whole CAD a month, coordinates
// degrees WGS 84, longitude first.
type Criteria struct {
	Platform      string      `json:"platform,omitempty"`
	Neighbourhood string      `json:"neighbourhood,omitempty"` // key
	MinPrice      int64       `json:"min_price,omitempty"`     // inclusive
	MaxPrice      int64       `json:"max_price,omitempty"`     // inclusive
	Bedrooms      []int       `json:"bedrooms,omitempty"`      // any of them
	MinBedrooms   int         `json:"min_bedrooms,omitempty"`
	Rooms         []float64   `json:"rooms,omitempty"`        // any of these Quebec room counts: 4.5 is a 4½
	MinArea       int         `json:"min_area,omitempty"`     // square feet, inclusive
	MaxArea       int         `json:"max_area,omitempty"`     // square feet, inclusive
	AvailableBy   string      `json:"available_by,omitempty"` // a day such as 2026-07-01: the home is free then or before
	Box           []float64   `json:"bbox,omitempty"`         // west, south, east, north
	Polygon       [][]float64 `json:"polygon,omitempty"`
	Near          *Near       `json:"near,omitempty"`
	listing.Traits
	HasImages bool   `json:"has_images,omitempty"` // at least one picture is stored
	Claimed   *bool  `json:"claimed,omitempty"`    // an owner has taken it over, or none has
	Text      string `json:"text,omitempty" doc:"as text of GET /listings"`
}

// Near is a circle: what is at most so far from a point, in a straight line.
type Near struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Metres    float64 `json:"metres"`
}

// Bounds on a filter.
const (
	MaxCorners  = 500
	MaxMetres   = 100_000
	MaxText     = 200 // characters
	maxBedrooms = 50
	maxPrice    = 100_000_000
	maxArea     = 100_000
)

var hoodKey = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// Check returns fault.Invalid for a filter that means nothing, naming the field.
func (f Criteria) Check() error {
	bad := func(field, expected string) error { return fault.Newf(fault.Invalid, "filter.%s: %s", field, expected) }
	switch {
	case f.Platform != "" && !contract.PlatformName.MatchString(f.Platform):
		return bad("platform", "expected a name such as kijiji")
	case f.Neighbourhood != "" && !hoodKey.MatchString(f.Neighbourhood):
		return bad("neighbourhood", "expected a key such as plateau-mont-royal")
	case f.MinPrice < 0 || f.MinPrice > maxPrice:
		return bad("min_price", "expected whole CAD from 0")
	case f.MaxPrice < 0 || f.MaxPrice > maxPrice || f.MaxPrice > 0 && f.MaxPrice < f.MinPrice:
		return bad("max_price", "expected whole CAD, at least min_price")
	case f.MinBedrooms < 0 || f.MinBedrooms > maxBedrooms:
		return bad("min_bedrooms", "expected 0 to 50")
	case len(f.Bedrooms) > 10 || slices.ContainsFunc(f.Bedrooms, func(n int) bool { return n < 0 || n > maxBedrooms }):
		return bad("bedrooms", "expected at most 10 numbers from 0 to 50")
	case len(f.Rooms) > 10 || slices.ContainsFunc(f.Rooms, func(n float64) bool { return !(n > 0 && n <= maxBedrooms) }):
		return bad("rooms", "expected at most 10 numbers above 0, to 50")
	case f.MinArea < 0 || f.MinArea > maxArea:
		return bad("min_area", "expected square feet from 0 to 100,000")
	case f.MaxArea < 0 || f.MaxArea > maxArea || f.MaxArea > 0 && f.MaxArea < f.MinArea:
		return bad("max_area", "expected square feet to 100,000, at least min_area")
	case f.AvailableBy != "" && !validDay(f.AvailableBy):
		return bad("available_by", "expected a day such as 2026-07-01")
	case f.Pets != "" && !slices.Contains(listing.PetsTraits, f.Pets):
		return bad("pets", "expected one of "+strings.Join(listing.PetsTraits, ", "))
	case f.Box != nil && !validBox(f.Box):
		return bad("bbox", "expected [west, south, east, north] in degrees")
	case f.Polygon != nil && !validPolygon(f.Polygon):
		return bad("polygon", "expected 3 to 500 corners [longitude, latitude] in degrees, around less than half the globe")
	}
	for _, v := range []struct {
		field       string
		have, known []string
	}{
		{"furnished", f.Furnished, listing.FurnishedTraits}, {"parking", f.Parking, listing.ParkingTraits},
		{"lease", f.Lease, listing.LeaseTraits},
	} {
		if len(v.have) > len(v.known) ||
			slices.ContainsFunc(v.have, func(s string) bool { return !slices.Contains(v.known, s) }) {
			return bad(v.field, "expected any of "+strings.Join(v.known, ", "))
		}
	}
	if n := f.Near; n != nil && !(onEarth(n.Longitude, n.Latitude) && n.Metres > 0 && n.Metres <= MaxMetres) {
		return bad("near", "expected latitude and longitude in degrees and more than 0 to 100,000 metres")
	}
	if f.Text == "" {
		return nil
	}
	if !utf8.ValidString(f.Text) || strings.ContainsRune(f.Text, 0) || utf8.RuneCountInString(f.Text) > MaxText {
		return bad("text", "expected at most 200 characters of UTF-8")
	}
	if _, err := Conditions(f.Text); err != nil {
		return bad("text", err.Error())
	}
	if err := WholeText(f.Text); err != nil {
		return bad("text", err.Error())
	}
	return nil
}

// WholeText returns fault.Invalid for a text of which only the beginning would be looked for. One that was saved before
// it was refused is still looked for as far as it is read.
func WholeText(text string) error {
	if ask, err := search.Parse(text); err != nil || !ask.Cut {
		return nil
	}
	return fault.Newf(fault.Invalid, "expected at most %[1]d words or phrases, and phrases of at most %[1]d words",
		search.MaxClauses)
}

func validDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// Detailed says that a filter asks for what only the details of a listing have.
func (f *Criteria) Detailed() bool { return f.AvailableBy != "" || len(f.Groups()) > 0 }

// Conditions reads a text that listings are searched by: that of pages, without site:, lang: and type:. One without a
// word is fault.Invalid.
func Conditions(text string) ([]search.Condition, error) {
	ask, err := search.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(ask.Sites)+len(ask.NotSites)+len(ask.Languages)+len(ask.Types) > 0 {
		return nil, fault.Newf(fault.Invalid,
			"site:, lang: and type: are for pages: listings are searched by words, \"phrases\", -without, begin* and intitle:")
	}
	return search.NewPlan(ask, search.Query{}, search.AdvertLanguages...).Conditions(), nil
}

// onEarth is false for NaN, too.
func onEarth(lon, lat float64) bool { return lon >= -180 && lon <= 180 && lat >= -90 && lat <= 90 }

func validBox(b []float64) bool {
	return len(b) == 4 && onEarth(b[0], b[1]) && onEarth(b[2], b[3]) && b[0] <= b[2] && b[1] <= b[3]
}

func validPolygon(p [][]float64) bool {
	if len(p) < 3 || len(p) > MaxCorners ||
		slices.ContainsFunc(p, func(c []float64) bool { return len(c) != 2 || !onEarth(c[0], c[1]) }) {
		return false
	}
	b := boundsOf(p)
	return b.east-b.west < 180
}

// A bounds is a part of the map, in degrees.
type bounds struct{ west, south, east, north float64 }

func (b bounds) has(lon, lat float64) bool {
	return lon >= b.west && lon <= b.east && lat >= b.south && lat <= b.north
}

func boundsOf(p [][]float64) bounds {
	b := bounds{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range p {
		b.west, b.east = min(b.west, c[0]), max(b.east, c[0])
		b.south, b.north = min(b.south, c[1]), max(b.north, c[1])
	}
	return b
}

// bounds is the part of the map that a filter is about: false where it says nothing of places by coordinates.
func (f *Criteria) bounds() (b bounds, ok bool) {
	b = bounds{-180, -90, 180, 90}
	both := func(o bounds) {
		b = bounds{max(b.west, o.west), max(b.south, o.south), min(b.east, o.east), min(b.north, o.north)}
		ok = true
	}
	if f.Box != nil {
		both(bounds{f.Box[0], f.Box[1], f.Box[2], f.Box[3]})
	}
	if f.Polygon != nil {
		both(boundsOf(f.Polygon))
	}
	if n := f.Near; n != nil {
		// At the latitude of the circle that is nearest to a pole a degree of longitude is the shortest.
		dy := n.Metres / listing.MetresPerDegree
		dx := 360.0
		if c := math.Cos((math.Abs(n.Latitude) + dy) * math.Pi / 180); c > 0.01 && math.Abs(n.Latitude)+dy < 90 {
			dx = dy / c * 1.001
		}
		west, east := n.Longitude-dx, n.Longitude+dx
		if west < -180 || east > 180 { // it goes on at the other edge of the map
			west, east = -180, 180
		}
		both(bounds{west, n.Latitude - dy, east, n.Latitude + dy})
	}
	return b, ok
}

// Bounds is the part of the map, in degrees, that a filter is about, edges included; it may be larger than the place.
// ok is false where the filter says nothing of places by coordinates.
func (f *Criteria) Bounds() (west, south, east, north float64, ok bool) {
	b, ok := f.bounds()
	return b.west, b.south, b.east, b.north, ok
}

// ring is a polygon as inRing reads it, in a third of the memory: longitudes and latitudes in turn. Of no polygon it is
// nil.
func ring(p [][]float64) []float64 {
	if p == nil {
		return nil
	}
	out := make([]float64, 0, 2*len(p))
	for _, c := range p {
		out = append(out, c...)
	}
	return out
}

// inRing counts the sides that a ray to the east crosses. A side owns its southern end only.
func inRing(p []float64, lon, lat float64) (in bool) {
	for i, j := 0, len(p)-2; i < len(p); j, i = i, i+2 {
		if (p[i+1] > lat) != (p[j+1] > lat) && lon < (p[j]-p[i])*(lat-p[i+1])/(p[j+1]-p[i+1])+p[i] {
			in = !in
		}
	}
	return in
}

// fits reports whether a listing meets a filter, but for its text. A listing without coordinates is in no
// place, and what it does not state meets no filter on it.
func (f *Criteria) fits(l *Listing) bool {
	switch {
	case f.Platform != "" && f.Platform != l.Platform,
		f.Neighbourhood != "" && f.Neighbourhood != l.Neighbourhood,
		l.RentCents < f.MinPrice*100,
		f.MaxPrice > 0 && l.RentCents > f.MaxPrice*100,
		l.Bedrooms < f.MinBedrooms,
		len(f.Bedrooms) > 0 && !slices.Contains(f.Bedrooms, l.Bedrooms),
		len(f.Rooms) > 0 && (l.Rooms == nil || !slices.Contains(f.Rooms, *l.Rooms)),
		f.MinArea > 0 && (l.AreaSqFt == nil || *l.AreaSqFt < f.MinArea),
		f.MaxArea > 0 && (l.AreaSqFt == nil || *l.AreaSqFt > f.MaxArea),
		f.AvailableBy != "" && (l.Available == "" || l.Available > f.AvailableBy),
		f.HasImages && !l.HasImages,
		f.Claimed != nil && *f.Claimed != l.Claimed:
		return false
	}
	for _, group := range f.Groups() {
		if !slices.ContainsFunc(group, func(t string) bool { return slices.Contains(l.Traits, t) }) {
			return false
		}
	}
	if f.Box == nil && f.Polygon == nil && f.Near == nil {
		return true
	}
	if l.Latitude == nil || l.Longitude == nil {
		return false
	}
	lat, lon := *l.Latitude, *l.Longitude
	return (f.Box == nil || bounds{f.Box[0], f.Box[1], f.Box[2], f.Box[3]}.has(lon, lat)) &&
		(f.Polygon == nil || inRing(ring(f.Polygon), lon, lat)) &&
		(f.Near == nil || listing.Metres(f.Near.Latitude, f.Near.Longitude, lat, lon) <= f.Near.Metres)
}
