package prose

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// The readers of single topics, for tests.

// AddressIn finds an address inside running text or a headline: "LE BARON II6060 Rue Jean Talon Est, St Leonard, Quebec
// H1S 3A9", "(7078 CLARK)", "250 Joseph-Isabelle - 4.5". It wants a civic number and either a street word or, in a
// headline, a name beside it.
func AddressIn(s string, headline bool) (listing.Address, bool) {
	p := Read(s)
	a, _, _, ok := p.address(headline)
	return a, ok
}

// ParseAmenities returns what s says the home or its building has, sorted, in the vocabulary of Listing.Amenities.
// What is denied ("pas de balcon", "sans ascenseur") is left out.
func ParseAmenities(s string) []string {
	var out []string
	Read(page.Text(s)).amenities(func(name string, _, _ int) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return out
}

// ParseSmoking returns no, yes, outdoors, or "" when s says nothing.
func ParseSmoking(s string) string {
	v, _, _ := Read(page.Text(s)).smoking()
	return v
}

// ParseFloor returns where in its building s puts the home: basement, half-basement, ground, top, or the number of
// the floor; "" when s does not say.
func ParseFloor(s string) string {
	v, _, _ := Read(page.Line(s)).floor(true)
	return v
}

// A Headline is what a title says about the advert as a whole.
type Headline struct {
	Kind string // "" for a home to let; wanted swap sale commercial parking
	Room bool   // a room in a shared home
}

// ParseHeadline reads a title.
func ParseHeadline(s string) Headline {
	p := Read(page.Line(s))
	o, _, _ := p.offer()
	room, _ := p.roomRental()
	return Headline{Kind: [...]string{"", "wanted", "swap", "sale", "commercial", "parking"}[o], Room: room}
}

// ParseParking returns what s says about a place for a car: included, available, extra (with its price a month),
// street or none, indoor or outdoor, and how many. A price per year (a street permit) is not kept.
func ParseParking(s string) listing.Parking {
	out, _, _, _ := Read(page.Text(s)).parking()
	return out
}

// ParseRent reads a printed monthly rent and returns it in CAD cents. It takes the forms the platforms print, French
// ("1 250,50 $", any Unicode space) and English ("$1,250.50 / month"), and ignores amounts that pay for something else
// ("parking 59 $", "hydro 65 $", "meublé + 100 $") and what follows the first rent. A rent per week is converted at
// 52/12, rounded to the nearest cent; a rent per day has no monthly equivalent. No rent, or one outside
// listing.MinRentCents..MaxRentCents, is fault.Invalid.
func ParseRent(s string) (int64, error) {
	r := ParsePrice(s)
	switch {
	case r.Per == "day" && r.Cents == 0:
		return 0, fault.Newf(fault.Invalid, "read rent %q: a price per day is not a monthly rent", quoted(s))
	case r.Cents == 0 && r.Stated == 0:
		return 0, fault.Newf(fault.Invalid, "read rent %q: no amount", quoted(s))
	case r.Cents < listing.MinRentCents || r.Cents > listing.MaxRentCents:
		return 0, fault.Newf(fault.Invalid, "read rent %q: want 0.01 to 100,000 $ a month", quoted(s))
	}
	return r.Cents, nil
}

// ParseUnits returns the homes that s offers, when it offers at least two with different room counts:
// "Studio à partir de 795$ 3½ à partir de 890$". A studio without a count has 1.5 rooms.
func ParseUnits(s string) []listing.Unit {
	p := Read(page.Line(s))
	if u := p.units(true); len(u) >= 2 {
		return u
	}
	return nil
}

// ParseUtilities returns what s says the rent includes, field by field; nil = not said. It takes lists with the verdict
// before or after ("Chauffage, eau chaude et électricité non inclus", "inclus : chauffage, internet"), participles
// ("chauffé", "heated"), the abbreviations "NC/NÉ", and "tout inclus" with its exceptions ("sauf l'hydro"). "Bien
// éclairé" is a bright room, not electricity; "chauffage électrique" is a sort of heating, not an inclusion.
func ParseUtilities(s string) listing.Utilities {
	u, _ := Read(page.Text(s)).utilities()
	return u.Utilities
}

// Meanings is a table of words by what they mean.
var Meanings = meanings[int]

// Language is the language of a text.
func Language(s string) string { return Read(s).language() }
