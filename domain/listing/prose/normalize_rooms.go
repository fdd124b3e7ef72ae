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

func (n *normalizer) bedrooms() {
	l := &n.l
	inTitle, titleDen, okTitle := n.title.bedrooms()
	inBody, bodyDen, okBody := n.body.bedrooms()
	known := n.stated.has("bedrooms")
	okTitle = okTitle && (!inTitle.weak || l.Rooms == 0 || inTitle.closed && l.Rooms == 2.5)
	set := func(v int, den bool, from string, p *Prose, c count) {
		if known && v != n.stated.Bedrooms {
			n.conflict("bedrooms", strconv.Itoa(v), from, strconv.Itoa(n.stated.Bedrooms), n.stated.from("bedrooms"),
				p.quote(c.from, c.to))
		}
		l.Bedrooms, l.Den = v, den || n.stated.Den && v == n.stated.Bedrooms
		n.note("bedrooms", from, p, c.from, c.to)
	}
	implied := BedroomsOf(l.Rooms)
	switch {
	case l.RoomRental:
		l.Bedrooms, l.Den = 1, false
		l.Sources["bedrooms"] = l.Sources["room_rental"]
		if known && n.stated.Bedrooms != 1 {
			n.conflict("bedrooms", "1", "a room", strconv.Itoa(n.stated.Bedrooms), n.stated.from("bedrooms"), "")
		}
	case len(l.Units) > 0 && (n.only == 0 || !okTitle):
		l.Bedrooms = l.Units[n.chosen()].Bedrooms
		l.Sources["bedrooms"], l.Sources["rooms"] = l.Sources["units"], l.Sources["units"]
		if known && l.Bedrooms != n.stated.Bedrooms {
			if slices.ContainsFunc(l.Units, func(u listing.Unit) bool { return u.Bedrooms == n.stated.Bedrooms }) {
				break
			}
			n.conflict("bedrooms", strconv.Itoa(l.Bedrooms), "the unit chosen", strconv.Itoa(n.stated.Bedrooms),
				n.stated.from("bedrooms"), "")
		}
	case okTitle:
		set(int(inTitle.value), titleDen, "title", n.title, inTitle)
		n.odd(l.Bedrooms, "title", n.title, inTitle)
	case known && okBody && !inBody.weak && bodyDen && int(inBody.value) == n.stated.Bedrooms-1:
		set(int(inBody.value), true, "description", n.body, inBody)
	case known:
		if okBody && !inBody.weak && int(inBody.value) != l.Bedrooms {
			n.conflict("bedrooms", strconv.Itoa(l.Bedrooms), n.stated.from("bedrooms"), strconv.Itoa(int(inBody.value)),
				"description", n.body.quote(inBody.from, inBody.to))
		} else if l.Rooms > 0 && implied != l.Bedrooms {
			n.warn("bedrooms", listing.CodeConflict, "%s says %d, %g rooms make %d; kept %d",
				n.stated.from("bedrooms"), l.Bedrooms, l.Rooms, implied, l.Bedrooms)
		}
	case okBody && !inBody.weak && (l.Rooms == 0 || plausible(int(inBody.value), l.Rooms)):
		set(int(inBody.value), bodyDen, "description", n.body, inBody)
		n.odd(l.Bedrooms, "description", n.body, inBody)
	case l.Rooms == 2.5 && okBody && inBody.closed && inBody.value == 1: // "2½ avec chambre fermée"
		set(1, false, "description", n.body, inBody)
	case l.Rooms > 0:
		l.Bedrooms = implied
		l.Sources["bedrooms"] = l.Sources["rooms"]
		if okBody && !inBody.weak && int(inBody.value) != implied {
			n.warn("bedrooms", listing.CodeConflict, "%g rooms make %d, description says %d (%q); kept %d", l.Rooms, implied,
				int(inBody.value), n.body.quote(inBody.from, inBody.to), implied)
		}
	case n.studio:
		l.Bedrooms = 0
		l.Sources["bedrooms"] = l.Sources["property_type"]
	default:
		if i, ok := n.title.studio(); ok {
			n.note("bedrooms", "title", n.title, i, i)
			break
		}
		if okBody && inBody.weak {
			set(int(inBody.value), false, "description", n.body, inBody)
			break
		}
		if l.PropertyType == "loft" || l.PropertyType == "studio" {
			l.Sources["bedrooms"] = l.Sources["property_type"]
			break
		}
		n.reject("bedrooms", listing.CodeMissing, "neither bedrooms nor rooms are stated")
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

// plausible tells whether a home of that many Quebec rooms can have so many bedrooms. A description that counts others
// tells of another home, or of one floor.
func plausible(bedrooms int, rooms float64) bool {
	return bedrooms <= int(rooms)-1 && bedrooms >= int(rooms)-4 && (bedrooms > 0 || rooms < 3)
}

// odd warns when counted bedrooms and the rule of rooms − 2 differ.
func (n *normalizer) odd(bedrooms int, from string, p *Prose, c count) {
	if implied := BedroomsOf(n.l.Rooms); n.l.Rooms > 0 && implied != bedrooms {
		n.warn("bedrooms", listing.CodeConflict, "%s says %d (%q), %g rooms make %d; kept %d",
			from, bedrooms, p.quote(c.from, c.to), n.l.Rooms, implied, bedrooms)
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
