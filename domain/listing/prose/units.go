package prose

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/listing"
)

// units pairs room counts with the rents and areas that follow them. In a headline counts alone make units; in running
// text each needs a rent of its own, or "aussi 3 ½ disponible" would do.
func (p *Prose) units(headline bool) []listing.Unit {
	counts := p.rooms(headline)
	if len(counts) == 0 {
		return nil
	}
	if i, ok := p.studio(); ok && !(len(counts) > 0 && counts[0].value <= 2.5) { // "studio (1½)" is one home
		near := slices.ContainsFunc(counts, func(c count) bool { return c.value <= 2.5 })
		if !near && (p.moneyNear(i) || headline && len(counts) >= 1 && i < counts[0].from && p.listed(i, counts[0].from)) {
			counts = append(counts, count{value: 1.5, from: i, to: i})
			slices.SortFunc(counts, func(a, b count) int { return a.from - b.from })
		}
	}
	if len(distinctCounts(counts)) < 2 {
		return nil
	}
	out := p.paired(counts)
	if !headline {
		priced := slices.DeleteFunc(slices.Clone(out), func(u listing.Unit) bool { return u.RentCents == 0 })
		if len(priced) >= 2 || !p.roomList(counts) {
			out = priced
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// paired makes a unit of each count, with the rent and the area that belong to it. Equal counts are one unit.
func (p *Prose) paired(counts []count) []listing.Unit {
	var rents []amount
	for _, a := range p.amounts() {
		if a.role == forRent && a.cents >= lowRentCents && (a.per == unstated || a.per == perMonth) {
			rents = append(rents, a)
		}
	}
	first := len(rents) > 0 && rents[0].from < counts[0].from && len(rents) >= len(counts) // the price comes before
	var out []listing.Unit
	for i, c := range counts {
		u := listing.Unit{Rooms: c.value, Bedrooms: BedroomsOf(c.value)}
		if c.beds {
			u = listing.Unit{Bedrooms: int(c.value)}
		}
		end := len(p.words)
		if i+1 < len(counts) {
			end = counts[i+1].from
		}
		begin := c.to
		if first {
			begin, end = 0, c.from
			if i > 0 {
				begin = counts[i-1].to
			}
		}
		for _, a := range rents {
			if a.from >= begin && a.to <= end {
				u.RentCents = a.cents
				break
			}
		}
		if area, ok := p.area(c.to, end); ok {
			u.AreaSqFt = int(area.value)
		}
		same := func(o listing.Unit) bool { return o.Rooms == u.Rooms && o.Bedrooms == u.Bedrooms }
		if k := slices.IndexFunc(out, same); k >= 0 {
			if out[k].RentCents == 0 {
				out[k].RentCents = u.RentCents
			}
			if out[k].AreaSqFt == 0 {
				out[k].AreaSqFt = u.AreaSqFt
			}
			continue
		}
		if len(out) < 12 {
			out = append(out, u)
		}
	}
	return out
}

// moneyNear tells whether a rent follows within a few words of i.
func (p *Prose) moneyNear(i int) bool {
	return slices.ContainsFunc(p.amounts(), func(a amount) bool {
		return a.role == forRent && a.from > i &&
			a.from <= i+7
	})
}

// listed tells whether only separators stand between the tokens.
func (p *Prose) listed(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if w := p.word(k); p.words[k].kind != symbol && w != "et" && w != "ou" && w != "and" || p.words[k].sym == '(' {
			return false
		}
	}
	return true
}

// homes are words for several homes, after or before a list of their sizes.
var homes = set("apartments appartements suites units unites logements condos condominiums homes rentals layouts options " +
	"apparts lofts houses maisons residences apts flats")

// roomList tells whether the room counts of a running text are those of several homes: "appartements de 3½, 4½ et 5½".
func (p *Prose) roomList(counts []count) bool {
	for i := 1; i < len(counts); i++ {
		if !p.listed(counts[i-1].to, counts[i].from) {
			return false
		}
	}
	first, second := counts[0], counts[1]
	if sep := first.to + 1; p.words[first.from].line && second.from == sep+1 && (p.sym(sep) == '&' ||
		p.word(sep) == "et") {
		return true // "3 ½ & 4 ½ à Sainte-Foy"
	}
	return len(counts) >= 3 || p.homesNear(counts[0].from, counts[len(counts)-1].to)
}

// homesNear tells whether a word for several homes stands within a few words of the tokens from..to.
func (p *Prose) homesNear(from, to int) bool {
	for k := from - 1; k >= 0 && k >= from-4 && !p.stop(k+1); k-- {
		if w := p.word(k); homes[w] || w == "plusieurs" || w == "several" || w == "offers" || w == "offer" {
			return true
		}
	}
	for k := to + 1; k <= to+4 && !p.stop(k); k++ {
		if homes[p.word(k)] {
			return true
		}
	}
	return false
}

// bedroomUnits reads the homes that a text tells apart by their bedrooms: "Studio, 1 & 2 bedroom suites", "1 bedroom
// $1500, 2 bedroom $1900". The counts rise; "1, 2 bedrooms" without a third may be an address.
func (p *Prose) bedroomUnits(headline bool) []listing.Unit {
	for i := range p.words {
		if p.words[i].topic&(aStudio|aNumber) == 0 && p.words[i].kind != number {
			continue
		}
		if counts := p.bedroomList(i, headline); len(counts) >= 2 && !p.otherHomes(i) {
			return p.paired(counts)
		}
	}
	return nil
}

func (p *Prose) bedroomList(i int, headline bool) (list []count) {
	if i > 0 && !p.words[i].line {
		switch prev := &p.words[i-1]; {
		case prev.kind == number, prev.topic&aMonth != 0, prev.sym == '#', prev.sym == '$', prev.sym == '-' && !prev.space:
			return nil
		}
		switch p.word(i - 1) {
		case "apt", "app", "unit", "suite", "no", "floor", "level", "phase", "er", "chambre", "bedroom", "plan":
			return nil
		}
	}
	named, loose, studio := 0, false, false
	k := i
	for {
		c, isNamed, ok := p.bedroomItem(k)
		if !ok || len(list) > 0 && c.value <= list[len(list)-1].value {
			break
		}
		list = append(list, c)
		if isNamed {
			named = len(list)
		}
		studio = studio || p.about(c.from, aStudio)
		k = p.pastRent(c.to + 1)
		sep := k
		for sep < len(p.words) && sep < k+2 && !p.words[sep].line {
			w := p.word(sep)
			if s := p.sym(sep); s != ',' && s != '&' && s != '/' && s != '|' && w != "and" && w != "et" &&
				!(s == '-' && !isNamed) {
				if w != "or" && w != "ou" && w != "to" && w != "a" && w != "au" && w != "aux" {
					break
				}
				loose = true
				if w == "aux" && homes[p.word(sep+1)] && p.word(sep+2) == "de" { // "des studios aux suites de 3 chambres"
					sep += 2
				}
			}
			loose = loose || p.sym(sep) == '-' || p.sym(sep) == ',' && !isNamed && sep == k
			sep++
		}
		// a home and its rent are a line: "1 bedroom $1,450"
		if priced := k > c.to+1 && k < len(p.words) && p.words[k].line; sep == k && !priced {
			break
		}
		k = sep
	}
	list = list[:named]
	if len(list) < 2 || p.about(list[len(list)-1].to, aStudio) {
		return nil
	}
	last := list[len(list)-1].to
	near := studio || homes[p.word(last)] || len(list) >= 3 || p.homesNear(list[0].from, last)
	every := 0
	for _, c := range list {
		if p.about(c.to, aBedroom) {
			every++
		}
	}
	if near || (every == len(list) || headline) && !loose {
		return list
	}
	return nil
}

// bedroomItem reads "studio", "2", "two-bedroom" or "3+ bedrooms" at i. Named says that the word for bedrooms is there.
func (p *Prose) bedroomItem(i int) (c count, named, ok bool) {
	if p.about(i, aStudio) {
		return count{from: i, to: i, beds: true}, true, true
	}
	if i >= len(p.words) {
		return c, false, false
	}
	n, _ := p.small(i)
	if n < 1 || n > 6 {
		return c, false, false
	}
	c = count{value: float64(n), from: i, to: i, beds: true}
	k := i + 1
	for p.sym(k) == '+' || p.sym(k) == '-' && p.about(k+1, aBedroom) {
		k++
	}
	if p.about(k, aBedroom) && !p.about(k, aBathroom) {
		c.to, named = k, true
		if p.seq(k+1, "a", "coucher") {
			c.to += 2
		} else if w := p.word(k + 1); (homes[w] || w == "apartment" || w == "suite" || w == "unit") && p.words[k+1].space {
			c.to = k + 1
			return c, true, true
		}
	}
	return c, named, true
}

// pastRent passes the rent of a home on a list, "from $1500/month", and returns the next token.
func (p *Prose) pastRent(i int) int {
	k := i
	for n := 0; n < 3 && (p.word(k) == "from" || p.word(k) == "at" || p.word(k) == "starting" || p.sym(k) == ':' ||
		p.sym(k) == '-' || p.sym(k) == '('); n++ {
		k++
	}
	for _, a := range p.amounts() {
		if a.from == k {
			k = a.to + 1
			if per, to := p.period(k); per != unstated {
				k = to + 1
			}
			return k
		}
	}
	return i
}
