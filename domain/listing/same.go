package listing

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

// MatchKind is how two adverts for one home are treated.
type MatchKind string

// The kinds of match.
const (
	Duplicate MatchKind = "duplicate" // on two platforms: one home, two adverts
	Repost    MatchKind = "repost"    // on one platform: link them, merge nothing
)

// MatchKinds are all of them.
var MatchKinds = []MatchKind{Duplicate, Repost}

// A Match is the verdict on two adverts. Its zero value means two homes, or too little to tell.
type Match struct {
	Kind    MatchKind `json:"kind,omitempty"`
	Reasons []string  `json:"reasons,omitempty"` // for a person, the gates first; for a non-match, the difference
	Figures Figures   `json:"figures,omitzero"`  // what the rules measured, as far as they came
	// The two would match but for their rents, which are near. It does not make them one home; two adverts that are taken
	// for one stay so while one platform shows a new rent and the other does not yet.
	Near bool `json:"near,omitempty"`
}

// Figures are what each rule of SameHome measured. A rule that had nothing to compare left none.
type Figures struct {
	Metres  *float64 `json:"metres,omitempty"`
	RentGap float64  `json:"rent_gap"`          // of the dearer one, 0 to 1
	Title   float64  `json:"title"`             // likeness, 0 to 1
	Text    float64  `json:"text"`              // of the descriptions, 0 to 1
	Address bool     `json:"address,omitempty"` // the same civic number and street, or postal code
	Unit    bool     `json:"unit,omitempty"`    // the same one
	Centris bool     `json:"centris,omitempty"` // the same number
	Photos  *float64 `json:"photos,omitempty"`  // share of the pictures of the one with fewer that the other has too
}

// The gates of SameHome.
const (
	sameHomeMetres = 30
	sameRentCents  = 100  // rents this near are one rent
	closeRent      = 0.01 // rents this near are one rent where the texts are one
	nearRent       = 0.10 // beyond it the unit is another one
	nearArea       = 0.15
	sameText       = 0.80 // of descriptions
	samePhotoBits  = 4    // of a hash, that copies of one picture may differ in
	leastPhotos    = 3    // of each advert; fewer are a landlord's logo and a front door
)

// SameHome decides whether two adverts are one home. Place, rooms and rent are gates; words only confirm.
//
//   - A Centris number that both state settles it.
//   - At most 30 m apart (or, where an advert has no coordinates, the same civic number with the same street or postal
//     code), the same bedrooms and room count, one rent. A different unit, floor or civic number, when both are known,
//     tells them apart; so does a room against a home, or areas more than 15 % apart.
//   - Equal rents then suffice: French and English twins of one unit have nothing in common as text. Rents up to 1 %
//     apart need nearly the same description. Rents further apart are other units, also with the same words and the
//     same unit number, which is often that of the landlord's office.
//   - Room counts may differ where rent and description are the same: one home is a 5½ to one and a 6½ to another.
//   - Without a civic number in either advert the coordinates are those of a postal code, which a street shares, so
//     alike words, or the same pictures, are needed there too. Between adverts of one building (BuildingRef) that name
//     no unit, and between two that both offer several homes (Units), all else has to be the same: their landlord has
//     more of them.
//   - Pictures confirm nothing else: a developer shows one model home for all units. Measured elsewhere, pairs that a
//     person merged shared 1.000 of their pictures, and pairs that a person rejected .996.
//
// The effect, measured on 1,249 adverts of one city: of the 573 pairs within 30 m three quarters are other units of
// one building, and so are 71 % of the pairs with nearly equal descriptions, for landlords copy their texts; neither
// place nor text is evidence alone. Identical units of one tower at one rent still pass, by nature of the data: a match
// is a link that a person can undo, never a deletion. The verdict is symmetric.
func SameHome(a, b Listing) Match {
	if a.Ref == b.Ref {
		return Match{}
	}
	kind := Duplicate
	if a.Platform == b.Platform {
		kind = Repost
	}
	if a.CentrisNumber != "" && a.CentrisNumber == b.CentrisNumber {
		why := []string{"same Centris number: " + a.CentrisNumber}
		return Match{Kind: kind, Reasons: why, Figures: Figures{Centris: true}}
	}
	var f Figures
	differ := func(format string, args ...any) Match {
		return Match{Reasons: []string{fmt.Sprintf(format, args...)}, Figures: f}
	}
	if a.RentCents <= 0 || b.RentCents <= 0 {
		return differ("a rent is unknown")
	}
	f.RentGap = math.Abs(float64(a.RentCents-b.RentCents)) / float64(max(a.RentCents, b.RentCents))
	if f.RentGap > nearRent {
		return differ("rents differ: %s and %s", Dollars(min(a.RentCents, b.RentCents)),
			Dollars(max(a.RentCents, b.RentCents)))
	}
	if why := otherUnit(a, b); why != "" {
		return differ("%s", why)
	}
	shared := sharesCivic(a, b)
	street := shared && a.Address.Street != "" && sameStreet(a.Address.Street, b.Address.Street)
	code := fullPostalCode(a.Address.PostalCode)
	postal := code != "" && code == fullPostalCode(b.Address.PostalCode)
	coarse := len(a.Address.Civic) == 0 && len(b.Address.Civic) == 0
	var reasons []string
	switch {
	case located(a) && located(b):
		m := Metres(*a.Latitude, *a.Longitude, *b.Latitude, *b.Longitude)
		if f.Metres = &m; m > sameHomeMetres {
			return differ("%.0f m apart", m)
		}
		reasons = append(reasons, fmt.Sprintf("%.0f m apart", m))
		f.Address = street
	case postal && (shared || coarse), street && oneTown(a.Address, b.Address):
		f.Address = true
	default:
		return differ("coordinates are missing and the addresses do not settle it")
	}
	if f.Address {
		reasons = append(reasons, "same address")
	}
	f.Unit = a.Address.Unit != "" && shared && page.Fold(a.Address.Unit) == page.Fold(b.Address.Unit)
	f.Title = alike(page.Fold(a.Title), page.Fold(b.Title), 3)
	f.Text = alike(page.Fold(head(a.Description)), page.Fold(head(b.Description)), 8)
	f.Photos = photosShared(a.Photos, b.Photos)
	equal := max(a.RentCents, b.RentCents)-min(a.RentCents, b.RentCents) <= sameRentCents
	words := f.Title >= .6 || f.Text >= .5
	rooms := a.Rooms == 0 || b.Rooms == 0 || a.Rooms == b.Rooms
	if !rooms && (!equal || f.Text < sameText) {
		return differ("rooms differ: %g and %g", min(a.Rooms, b.Rooms), max(a.Rooms, b.Rooms))
	}
	return weighed(a, b, f, append(reasons, rentAndRooms(a, b, equal)...), kind, verdicts{
		one: equal || f.RentGap <= closeRent && f.Text >= sameText, words: words || f.Unit || samePhotos(a, b, f),
		coarse: coarse,
		building: a.Platform == b.Platform && (a.BuildingRef != "" && a.BuildingRef == b.BuildingRef ||
			len(a.Units) > 1 && len(b.Units) > 1),
	})
}

// verdicts are what the rules of SameHome say of two adverts that passed its gates.
type verdicts struct {
	one      bool // their rents are one
	words    bool // title, description, unit number or pictures are alike
	coarse   bool // neither has a civic number
	building bool // they are of one building or landlord, whose homes one platform lists one by one
}

// weighed is the end of SameHome, for adverts that passed the gates.
func weighed(a, b Listing, f Figures, reasons []string, kind MatchKind, v verdicts) Match {
	if f.Unit {
		reasons = append(reasons, "same unit")
	}
	if f.Title >= .6 {
		reasons = append(reasons, fmt.Sprintf("titles alike: %.2f", f.Title))
	}
	if f.Text >= .5 {
		reasons = append(reasons, fmt.Sprintf("descriptions alike: %.2f", f.Text))
	}
	if f.Photos != nil && *f.Photos == 1 {
		reasons = append(reasons, "same pictures")
	}
	m := Match{Reasons: reasons, Figures: f}
	switch {
	case v.coarse && !v.words:
		m.Reasons = append(m.Reasons, "the place is only a postal code's, and nothing makes up for it")
	case v.building && !f.Unit && (!v.one || a.AreaSqFt != b.AreaSqFt || a.Available != b.Available || f.Text < sameText):
		m.Reasons = append(m.Reasons, "units of one building, and not all else is the same")
	case !v.one:
		m.Near = true
		m.Reasons = append(m.Reasons, "the rents differ and nothing makes up for it")
	default:
		m.Kind = kind
	}
	return m
}

// evidence ranks what speaks for a match beyond place, size and rent: a number or a unit, an equal rent, words and
// pictures.
func (m Match) evidence() []int {
	yes := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	f := m.Figures
	return []int{
		yes(f.Centris || f.Unit), yes(f.RentGap == 0), yes(f.Text >= sameText), yes(f.Title >= .6 || f.Text >= .5),
		yes(f.Photos != nil && *f.Photos == 1),
	}
}

// samePhotos reports whether the pictures say that two adverts of one place, size and rent are one home: all of the one
// with fewer are among the other's, and no area that both state differs.
func samePhotos(a, b Listing, f Figures) bool {
	return f.Photos != nil && *f.Photos == 1 && (a.AreaSqFt == b.AreaSqFt || a.AreaSqFt == 0 || b.AreaSqFt == 0)
}

// photosShared is the share of the pictures of the advert with fewer that the other has too, and nil where one has
// fewer than leastPhotos.
func photosShared(a, b []uint64) *float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < leastPhotos {
		return nil
	}
	n := 0
	for _, p := range a {
		if slices.ContainsFunc(b, func(q uint64) bool { return bits.OnesCount64(p^q) <= samePhotoBits }) {
			n++
		}
	}
	return new(float64(n) / float64(len(a)))
}

// rentAndRooms says in words that rents and rooms are the same, or near.
func rentAndRooms(a, b Listing, equal bool) []string {
	var out []string
	switch {
	case a.Rooms > 0 && a.Rooms == b.Rooms:
		out = append(out, fmt.Sprintf("same rooms: %g", a.Rooms))
	default:
		out = append(out, fmt.Sprintf("same bedrooms: %d", a.Bedrooms))
	}
	low, high := min(a.RentCents, b.RentCents), max(a.RentCents, b.RentCents)
	if equal {
		return append(out, "same rent: "+Dollars(high))
	}
	return append(out, fmt.Sprintf("near rents: %s and %s", Dollars(low), Dollars(high)))
}

// sharesCivic reports whether two adverts state a common civic number.
func sharesCivic(a, b Listing) bool {
	return slices.ContainsFunc(a.Address.Civic, func(c string) bool { return slices.Contains(b.Address.Civic, c) })
}

// otherUnit says what tells two adverts apart that both state: "" is nothing.
func otherUnit(a, b Listing) string {
	ua, ub := page.Fold(a.Address.Unit), page.Fold(b.Address.Unit)
	civic := len(a.Address.Civic) > 0 && len(b.Address.Civic) > 0
	switch {
	case a.CentrisNumber != "" && b.CentrisNumber != "" && a.Platform == b.Platform:
		return "Centris numbers differ"
	case a.Bedrooms != b.Bedrooms:
		return fmt.Sprintf("bedrooms differ: %d and %d", min(a.Bedrooms, b.Bedrooms), max(a.Bedrooms, b.Bedrooms))
	case a.RoomRental != b.RoomRental:
		return "one is a room, the other a home"
	case ua != "" && ub != "" && ua != ub:
		return fmt.Sprintf("units differ: %s and %s", min(a.Address.Unit, b.Address.Unit),
			max(a.Address.Unit, b.Address.Unit))
	case civic && !sharesCivic(a, b):
		return "civic numbers differ"
	case otherFloor(a.Floor, b.Floor):
		return fmt.Sprintf("floors differ: %s and %s", min(a.Floor, b.Floor), max(a.Floor, b.Floor))
	}
	if a.AreaSqFt > 0 && b.AreaSqFt > 0 {
		if d := math.Abs(float64(a.AreaSqFt-b.AreaSqFt)) / float64(max(a.AreaSqFt, b.AreaSqFt)); d > nearArea {
			return fmt.Sprintf("areas differ: %d and %d sq ft", min(a.AreaSqFt, b.AreaSqFt), max(a.AreaSqFt, b.AreaSqFt))
		}
	}
	return ""
}

// otherFloor reports whether two floors that adverts state are two. The top one may be any number, and what one calls
// the ground floor is the first to another.
func otherFloor(a, b string) bool {
	low := func(s string) bool { return s == "ground" || s == "1" }
	below := func(s string) bool { return s == "basement" || s == "half-basement" }
	switch {
	case a == "" || b == "" || a == b, low(a) && low(b), below(a) && below(b):
		return false
	case a == "top", b == "top":
		return below(a) || below(b)
	}
	return true
}

// fullPostalCode is a whole postal code without its space, in capitals: "H2L3Z1". "" is half of one, or none.
func fullPostalCode(s string) string {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) != 6 {
		return ""
	}
	return s
}

// oneTown reports whether two addresses of one street may be in one town: no postal code and no name says otherwise.
func oneTown(a, b Address) bool {
	ca, cb := fullPostalCode(a.PostalCode), fullPostalCode(b.PostalCode)
	if ca != "" && cb != "" {
		return ca == cb
	}
	ta, tb := page.Fold(a.City), page.Fold(b.City)
	return ta != "" && tb != "" && (strings.HasPrefix(ta, tb) || strings.HasPrefix(tb, ta))
}

// head is the part of a description that is compared; the cost grows with its length.
func head(s string) string {
	s, _ = page.Cut(s, 2000)
	return s
}

func located(l Listing) bool { return l.Latitude != nil && l.Longitude != nil }

// MetresPerDegree is of latitude, on a sphere.
const MetresPerDegree = 111_195

// Metres is the distance of two places on the ground, by the haversine formula.
func Metres(lat1, lon1, lat2, lon2 float64) float64 {
	const radians = math.Pi / 180
	dy, dx := (lat2-lat1)*radians/2, (lon2-lon1)*radians/2
	h := math.Sin(dy)*math.Sin(dy) + math.Cos(lat1*radians)*math.Cos(lat2*radians)*math.Sin(dx)*math.Sin(dx)
	return 2 * MetresPerDegree / radians * math.Asin(min(1, math.Sqrt(h)))
}

// alike is the Jaccard index of the n-byte pieces of two folded texts; 0 when either is too short to tell.
func alike(a, b string, n int) float64 {
	if len(a) < 4*n || len(b) < 4*n {
		return 0
	}
	if a == b {
		return 1
	}
	pieces := make(map[string]bool, len(a))
	for i := 0; i+n <= len(a); i++ {
		pieces[a[i:i+n]] = false
	}
	total, both := len(pieces), 0
	for i := 0; i+n <= len(b); i++ {
		seen, known := pieces[b[i:i+n]]
		switch {
		case !known:
			pieces[b[i:i+n]] = true
			total++
		case !seen && i+n <= len(b):
			pieces[b[i:i+n]] = true
			both++
		}
	}
	return float64(both) / float64(total)
}

// Dollars prints an amount as messages do: "1250 $", "1250.50 $".
func Dollars(cents int64) string {
	if cents%100 == 0 {
		return fmt.Sprintf("%d $", cents/100)
	}
	return fmt.Sprintf("%d.%02d $", cents/100, cents%100)
}
