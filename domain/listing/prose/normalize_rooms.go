package prose

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// rooms settles rooms, bedrooms, bathrooms, area and, for an advert about several homes, its units.
func (n *normalizer) rooms() {
	l := &n.l
	inTitle, inBody := n.title.rooms(true), n.body.rooms(false)
	inTitle, inBody = countsOfQuebec(n.title, inTitle), countsOfQuebec(n.body, inBody)
	distinct := distinctCounts(inTitle)
	n.units(distinct)

	// Quebec rooms: the title, then the platform, then the description's first.
	known := n.stated.has("rooms")
	switch {
	case len(l.Units) > 0:
		if u := l.Units[n.chosen()]; u.Rooms > 0 {
			if known && u.Rooms != n.stated.Rooms {
				n.conflict("rooms", number64(u.Rooms), "the unit chosen", number64(n.stated.Rooms), n.stated.from("rooms"), "")
			}
			l.Rooms = u.Rooms
		}
	case len(inTitle) > 0:
		c := inTitle[0]
		if known && c.value != n.stated.Rooms {
			n.conflict("rooms", number64(c.value), "title", number64(n.stated.Rooms), n.stated.from("rooms"),
				n.title.quote(c.from, c.to))
		}
		l.Rooms = c.value
		n.note("rooms", "title", n.title, c.from, c.to)
	// the sites' last choice is "6 ½ or more"
	case known && l.Rooms >= 6.5 && len(inBody) > 0 && inBody[0].value > l.Rooms:
		l.Rooms = inBody[0].value
		n.note("rooms", "description", n.body, inBody[0].from, inBody[0].to)
	case known:
		if len(inBody) > 0 && inBody[0].value != l.Rooms && !hasValue(inBody, l.Rooms) {
			n.conflict("rooms", number64(l.Rooms), n.stated.from("rooms"), number64(inBody[0].value), "description",
				n.body.quote(inBody[0].from, inBody[0].to))
		}
	case len(inBody) > 0:
		l.Rooms = inBody[0].value
		n.note("rooms", "description", n.body, inBody[0].from, inBody[0].to)
	}
	n.bedrooms()
	n.bathrooms()
	n.area()
}

// countsOfQuebec drops whole counts ("6 pièces") from a text that counts its bedrooms: Centris counts every room there.
func countsOfQuebec(p *Prose, list []count) []count {
	if !slices.ContainsFunc(list, whole) {
		return list
	}
	if _, _, ok := p.bedrooms(); !ok {
		return list
	}
	return slices.DeleteFunc(list, whole)
}

func whole(c count) bool { return c.value == math.Trunc(c.value) }

func hasValue(list []count, v float64) bool {
	return slices.ContainsFunc(list, func(c count) bool { return c.value == v })
}

func number64(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func distinctCounts(list []count) []count {
	var out []count
	for _, c := range list {
		if !hasValue(out, c.value) {
			out = append(out, c)
		}
	}
	return out
}

// chosen returns the index of the unit that stands for the listing: the one at the advert's price, the only one in the
// title, among homes told apart by bedrooms the one of the platform's count; else the cheapest, else the smallest.
func (n *normalizer) chosen() int {
	if cents := n.raw.Price.AmountCents; cents != nil && *cents > 0 {
		if i := slices.IndexFunc(n.l.Units, func(u listing.Unit) bool { return u.RentCents == *cents }); i >= 0 {
			return i
		}
	}
	if n.only > 0 {
		if i := slices.IndexFunc(n.l.Units, func(u listing.Unit) bool { return u.Rooms == n.only }); i >= 0 {
			return i
		}
	}
	if n.stated.has("bedrooms") && n.l.Units[0].Rooms == 0 {
		if i := slices.IndexFunc(n.l.Units, func(u listing.Unit) bool { return u.Bedrooms == n.stated.Bedrooms }); i >= 0 {
			return i
		}
	}
	best := 0
	for i, u := range n.l.Units {
		b := n.l.Units[best]
		switch {
		case u.RentCents > 0 && (b.RentCents == 0 || u.RentCents < b.RentCents):
			best = i
		case u.RentCents == 0 && b.RentCents == 0 && u.Rooms < b.Rooms:
			best = i
		}
	}
	return best
}

// units finds the homes of an advert that offers several.
func (n *normalizer) units(distinct []count) {
	units, from, p := n.title.units(true), "title", n.title
	if len(units) < 2 || !priced(units) {
		_, _, counted := n.title.bedrooms() // a title about one home is not overruled by a list of its neighbours
		if more := n.body.units(false); len(more) >= 2 && (!counted || len(distinct) > 0) && (len(distinct) != 1 ||
			hasUnit(more, distinct[0].value)) {
			units, from, p = more, "description", n.body
			if len(distinct) == 1 {
				n.only = distinct[0].value
			}
		}
	}
	if len(units) < 2 {
		_, _, counted := n.title.bedrooms()
		if units, from, p = n.title.bedroomUnits(true), "title", n.title; len(units) < 2 && len(distinct) == 0 && !counted {
			units, from, p = n.body.bedroomUnits(false), "description", n.body
		}
	}
	if len(units) < 2 {
		if many, i := n.title.multi(); many {
			n.warn("units", listing.CodeMultiUnit, "the title offers several homes: %q", n.title.quote(i-2, i+2))
		}
		return
	}
	n.l.Units = units
	first := 0
	if counts := p.rooms(from == "title"); len(counts) > 0 && units[0].Rooms > 0 {
		first = counts[0].from
	}
	n.l.Sources["units"] = listing.Source{From: from, Text: p.quote(first, len(p.words)-1)}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = number64(u.Rooms)
		if u.Rooms == 0 {
			names[i] = strconv.Itoa(u.Bedrooms) + " bedrooms"
		}
		if u.RentCents > 0 {
			names[i] += " at " + listing.Dollars(u.RentCents)
		}
	}
	n.warn("units", listing.CodeMultiUnit, "%s offers %d homes: %s; kept %s", from, len(units), strings.Join(names, ", "),
		names[n.chosen()])
}

func priced(units []listing.Unit) bool {
	return slices.ContainsFunc(units, func(u listing.Unit) bool { return u.RentCents > 0 })
}

func hasUnit(units []listing.Unit, rooms float64) bool {
	return slices.ContainsFunc(units, func(u listing.Unit) bool { return u.Rooms == rooms })
}

// A bedroomCount is the bedrooms that a text counts.
type bedroomCount struct {
	count
	n       int // the value
	den, ok bool
	source  string // "title", "description"
	p       *Prose
}

// bedroomsIn reads what a text counts: "2 chambres et un bureau".
func bedroomsIn(source string, p *Prose) bedroomCount {
	c, den, ok := p.bedrooms()
	return bedroomCount{count: c, n: int(c.value), den: den, ok: ok, source: source, p: p}
}

// sure tells whether a number counts the bedrooms, and not an article: "2 chambres", not "une chambre lumineuse".
func (c *bedroomCount) sure() bool { return c.ok && !c.weak }

// words quotes what counts them: "2 chambres fermées".
func (c *bedroomCount) words() string { return c.p.quote(c.from, c.to) }

// bedrooms settles the bedrooms and the den: by the title, then the platform, the description, and rooms − 2. A room
// that is let and the unit that stands for the advert come before all.
func (n *normalizer) bedrooms() {
	l, title, body := &n.l, bedroomsIn("title", n.title), bedroomsIn("description", n.body)
	title.ok = title.ok && (!title.weak || l.Rooms == 0 || n.closedOne(title))
	title.den = title.den || body.sure() && body.den && body.n == title.n // "2 bedroom duplex", "2 bedrooms plus office"
	switch {
	case l.RoomRental:
		n.bedroomLet()
	case len(l.Units) > 0 && body.sure() && n.body.word(body.from-1) == "this": // "this 2 bed apartment", of several
		n.countBedrooms(body)
	case len(l.Units) > 0 && (n.only == 0 || !title.ok):
		n.bedroomsOfUnit()
	case title.ok:
		n.countBedrooms(title)
		n.odd(title)
	case n.stated.has("bedrooms"):
		n.bedroomsStated(body)
	case body.sure() && (l.Rooms == 0 || plausible(body.n, l.Rooms)):
		n.countBedrooms(body)
		n.odd(body)
	case body.ok && n.closedOne(body):
		body.den = false
		n.countBedrooms(body)
	case l.Rooms > 0:
		n.bedroomsOfRooms(body)
	default:
		n.bedroomsUncounted(body)
	}
	if !l.Den && !l.RoomRental && len(l.Units) == 0 {
		if i := n.title.hasDen(); i >= 0 {
			l.Den = true
			n.note("den", "title", n.title, i-1, i)
		} else if i := n.body.hasDen(); i >= 0 {
			l.Den = true
			n.note("den", "description", n.body, i-1, i)
		}
	}
	if l.Bedrooms < 0 || l.Bedrooms > 20 {
		n.reject("bedrooms", listing.CodeOutOfRange, "%d bedrooms; want 0 to 20", l.Bedrooms)
	}
}

// closedOne tells whether one closed bedroom counts whatever rooms there are: "2½ avec chambre fermée", "4 ½, une
// chambre fermée et un salon double".
func (n *normalizer) closedOne(c bedroomCount) bool {
	return c.closed && c.n == 1 && (n.l.Rooms == 2.5 || c.p.doubleLiving())
}

// doubleLiving tells whether a living room takes the place of a bedroom: "salon double".
func (p *Prose) doubleLiving() bool {
	for i := range p.words {
		if p.seq(i, "salon", "double") || p.seq(i, "double", "salon") || p.seq(i, "double", "living") {
			return true
		}
	}
	return false
}

// countBedrooms takes what a text counts, and warns where the platform's field is another: "3 chambres" against 2.
func (n *normalizer) countBedrooms(c bedroomCount) {
	words := c.words()
	n.apartFromStated(c.n, c.source, words)
	n.l.Bedrooms, n.l.Den = c.n, c.den || n.stated.Den && c.n == n.stated.Bedrooms
	n.l.Sources["bedrooms"] = listing.Source{From: c.source, Text: words}
}

// apartFromStated warns where the bedrooms that are kept are not those of the platform's field.
func (n *normalizer) apartFromStated(kept int, from, words string) {
	if n.stated.has("bedrooms") && kept != n.stated.Bedrooms {
		n.conflict("bedrooms", strconv.Itoa(kept), from, strconv.Itoa(n.stated.Bedrooms), n.stated.from("bedrooms"), words)
	}
}

// bedroomLet counts the one bedroom of a room that is let, whatever the home has: "chambre dans un 5 ½".
func (n *normalizer) bedroomLet() {
	n.l.Bedrooms, n.l.Den = 1, false
	n.l.Sources["bedrooms"] = n.l.Sources["room_rental"]
	n.apartFromStated(1, "a room", "")
}

// bedroomsOfUnit takes those of the unit chosen. A field that agrees with another of the units is no conflict: "3 ½ et
// 4 ½ à louer".
func (n *normalizer) bedroomsOfUnit() {
	l := &n.l
	l.Bedrooms = l.Units[n.chosen()].Bedrooms
	l.Sources["bedrooms"], l.Sources["rooms"] = l.Sources["units"], l.Sources["units"]
	if !slices.ContainsFunc(l.Units, func(u listing.Unit) bool { return u.Bedrooms == n.stated.Bedrooms }) {
		n.apartFromStated(l.Bedrooms, "the unit chosen", "")
	}
}

// bedroomsStated keeps the platform's count, unless the description tells that one of them is a den: "2 chambres et un
// bureau" against a field of 3.
func (n *normalizer) bedroomsStated(body bedroomCount) {
	l, implied := &n.l, BedroomsOf(n.l.Rooms)
	switch {
	case body.sure() && body.den && body.n == n.stated.Bedrooms-1:
		n.countBedrooms(body)
	case body.sure() && body.n != l.Bedrooms:
		n.conflict("bedrooms", strconv.Itoa(l.Bedrooms), n.stated.from("bedrooms"), strconv.Itoa(body.n), "description",
			body.words())
	case l.Rooms > 0 && implied != l.Bedrooms:
		n.warn("bedrooms", listing.CodeConflict, "%s says %d, %g rooms make %d; kept %d",
			n.stated.from("bedrooms"), l.Bedrooms, l.Rooms, implied, l.Bedrooms)
	}
}

// bedroomsOfRooms counts by the rule of rooms − 2: a 4 ½ has two.
func (n *normalizer) bedroomsOfRooms(body bedroomCount) {
	l, implied := &n.l, BedroomsOf(n.l.Rooms)
	l.Bedrooms = implied
	l.Sources["bedrooms"] = l.Sources["rooms"]
	if body.sure() && body.n != implied {
		n.warn("bedrooms", listing.CodeConflict, "%g rooms make %d, description says %d (%q); kept %d", l.Rooms, implied,
			body.n, body.words(), implied)
	}
}

// bedroomsUncounted finds a studio, or the bedroom that an article counts: "loft", "une chambre lumineuse".
func (n *normalizer) bedroomsUncounted(body bedroomCount) {
	l := &n.l
	if n.studio {
		l.Bedrooms = 0
		l.Sources["bedrooms"] = l.Sources["property_type"]
	} else if i, ok := n.title.studio(); ok {
		n.note("bedrooms", "title", n.title, i, i)
	} else if body.ok && body.weak {
		body.den = false
		n.countBedrooms(body)
	} else if i, ok := n.body.studio(); ok && i < 45 && l.PropertyType == "condo" { // "condo studio au 19e étage"
		n.note("bedrooms", "description", n.body, i, i)
	} else if l.PropertyType == "loft" || l.PropertyType == "studio" {
		l.Sources["bedrooms"] = l.Sources["property_type"]
	} else {
		n.reject("bedrooms", listing.CodeMissing, "neither bedrooms nor rooms are stated")
	}
}

// plausible tells whether a home of that many Quebec rooms can have so many bedrooms. A description that counts others
// tells of another home, or of one floor.
func plausible(bedrooms int, rooms float64) bool {
	return bedrooms <= int(rooms)-1 && bedrooms >= int(rooms)-4 && (bedrooms > 0 || rooms < 3)
}

// odd warns when counted bedrooms and the rule of rooms − 2 differ: "4 ½, 3 chambres".
func (n *normalizer) odd(c bedroomCount) {
	if implied := BedroomsOf(n.l.Rooms); n.l.Rooms > 0 && implied != c.n {
		n.warn("bedrooms", listing.CodeConflict, "%s says %d (%q), %g rooms make %d; kept %d",
			c.source, c.n, c.words(), n.l.Rooms, implied, c.n)
	}
}

func (n *normalizer) bathrooms() {
	c, ok := n.title.bathrooms()
	from, p := "title", n.title
	if !ok || c.weak {
		if b, found := n.body.bathrooms(); found && (!ok || !b.weak) {
			c, ok, from, p = b, true, "description", n.body
		}
	}
	switch {
	case !ok:
	case n.stated.has("bathrooms"):
		if !c.weak && c.value != n.l.Bathrooms {
			n.conflict("bathrooms", number64(n.l.Bathrooms), n.stated.from("bathrooms"), number64(c.value), from, p.quote(c.from,
				c.to))
		}
	default:
		n.l.Bathrooms = c.value
		n.note("bathrooms", from, p, c.from, c.to)
	}
}

func (n *normalizer) area() {
	if len(n.l.Units) > 0 {
		if u := n.l.Units[n.chosen()]; u.AreaSqFt > 0 && !n.stated.has("area_sqft") {
			n.l.AreaSqFt = u.AreaSqFt
			n.l.Sources["area_sqft"] = n.l.Sources["units"]
			return
		}
	}
	c, ok := n.title.area(0, 1<<30)
	from, p := "title", n.title
	if !ok {
		c, ok = n.body.area(0, 1<<30)
		from, p = "description", n.body
	}
	switch {
	case !ok:
	case n.l.Rooms >= 3.5 && c.value < 250: // a terrace, or a storage room
		n.warn("area_sqft", listing.CodeDoubtful, "%s says %g sq ft (%q), too small for %g rooms; dropped", from, c.value,
			p.quote(c.from, c.to), n.l.Rooms)
	case n.stated.has("area_sqft"):
		if have := float64(n.l.AreaSqFt); math.Abs(have-c.value) > have/10 {
			n.conflict("area_sqft", strconv.Itoa(n.l.AreaSqFt), n.stated.from("area_sqft"), number64(c.value), from,
				p.quote(c.from, c.to))
		}
	default:
		n.l.AreaSqFt = int(c.value)
		n.note("area_sqft", from, p, c.from, c.to)
	}
}
