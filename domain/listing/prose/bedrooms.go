package prose

import "github.com/mtlrent/conveyor/domain/page"

// ParseBedrooms returns the bedrooms that s counts: "2 chambres à coucher", "3 Bdrs", "deux grandes chambres",
// "3 pièces fermées", "2 + den", 0 for a studio. It is false when s counts none.
func ParseBedrooms(s string) (bedrooms int, den, ok bool) {
	p := Read(page.Line(s))
	if c, d, found := p.bedrooms(); found {
		return int(c.value), d, true
	}
	if i, found := p.studio(); found && i >= 0 {
		return 0, false, true
	}
	return 0, false, false
}

// bedrooms finds the first count of bedrooms. An article ("une chambre") counts only when nothing better does.
func (p *Prose) bedrooms() (c count, den, ok bool) {
	weakDen := false
	for i := range p.words {
		n, weak := p.small(i)
		if half := p.halfBedroom(i); half >= 0 { // Kijiji's "2.5 bedrooms"
			return count{value: float64(half), from: i, to: i + 1}, true, true
		}
		if n >= 0 && (p.otherHomes(i) || p.word(i-1) == "to" && (p.num(i-2) != nil ||
			p.sym(i-2) == '-' && p.num(i-3) != nil)) { // "units have 0 to 3 bedrooms"
			continue
		}
		if n < 0 {
			if n, end := p.labelled(i, aBedroom); n >= 0 {
				return count{value: float64(n), from: i, to: end}, false, true
			}
			if !ok && p.about(i, aBedroom) && p.word(i+1) == "fermee" {
				c, ok = count{value: 1, weak: true, closed: true, from: i, to: i + 1}, true
			}
			continue
		}
		j := i + 1
		if p.sym(j) == ')' || p.sym(j) == '-' { // "deux (2) chambres", "2-bedroom"
			j++
		}
		den := false
		if p.sym(j) == '+' || p.word(j) == "plus" {
			if dens[p.word(j+1)] { // Kijiji's label "2 + Den"
				return count{value: float64(n), from: i, to: j + 1}, true, true
			}
			noun := j + 2
			for m := 0; m < 2 && adjectives[p.word(noun)]; m++ {
				noun++
			}
			if w := p.num(j + 1); w != nil && w.cents <= 200 && w.dec == 0 && !w.half && w.digits == 1 && (p.about(noun,
				aBedroom) || n > 0 && !w.space && !p.words[j].space && p.about(j+2, aType)) { // "2+1 bedrooms", "1+1 condo"
				return count{value: float64(n), from: i, to: noun}, w.cents > 0, true
			}
		}
		if p.word(j) == "b" && !p.words[j].space && p.num(j+1) != nil && (p.word(j+2) == "b" || p.word(j+2) == "ba") { // "2B2B"
			return count{value: float64(n), from: i, to: j}, false, true
		}
		if t := p.num(j + 1); p.sym(j) == '+' && t != nil && t.cents == 100 && t.digits == 1 && t.dec == 0 && !t.half &&
			i == 0 && (p.stop(j+2) || p.word(j+2) == "avec" || p.word(j+2) == "with") { // "1+1 avec balcon"
			return count{value: float64(n), from: i, to: j + 1}, true, true
		}
		first := j
		for j < len(p.words) && j-first < 3 && adjectives[p.word(j)] {
			j++
		}
		kind, apart := false, false
		for k := j; k < j+3 && (adjectives[p.word(k)] || roomKinds[p.word(k)]); k++ { // "1 king bedroom", not "1 king bed"
			apart = apart || apartRooms[p.word(k)]
			if w := p.word(k + 1); p.about(k+1, aBedroom) && w != "bed" && w != "beds" && !ofBedroom[p.word(k+2)] {
				j, kind = k+1, true
				break
			}
		}
		if n >= 2 && !p.about(j, aBedroom|aPiece) {
			if k := p.described(j, aBedroom); k > j { // "3 cozy bedrooms"
				j = k
			}
		}
		sized := j > first && sizes[p.word(first)]
		closed := j > first && (p.word(j-1) == "fermee" || p.word(j-1) == "fermees" || p.word(j-1) == "closed")
		if end := p.initials(j); end > 0 && !weak {
			return count{value: float64(n), from: i, to: end}, p.den(end + 1), true
		}
		switch {
		case p.about(j, aBedroom):
			switch p.word(j + 1) {
			case "de":
				if p.about(j+2, aBathroom) { // "2 chambres de bain"
					continue
				}
			case "froide", "a":
				if p.word(j+1) == "froide" || p.word(j+2) == "louer" && n == 1 && !(p.word(i-1) == "d" && p.about(i-2, aType)) {
					continue
				}
			}
			if w := p.word(j); (w == "ch" || w == "cc" || w == "bd") && n > 6 || w == "ch" && p.words[j].space &&
				p.sym(j+1) == '.' && n > 6 {
				continue
			}
			if p.about(j, aBathroom) || p.furnitureBed(j) {
				continue
			}
			den = p.den(j+1) || p.sym(j+1) == '(' && p.sym(j+2) == '+' && p.num(j+3) != nil && p.num(j+3).cents == 100 &&
				p.sym(j+4) == ')' // "1 chambre (+1)"
		case p.word(j) == "lit" || p.word(j) == "lits": // "1 lit, 1 salle de bain", a translation
			k := j + 1
			if p.sym(k) == ',' || p.sym(k) == '/' || p.word(k) == "et" {
				k++
			}
			if p.num(k) == nil || !p.about(k+1, aBathroom) && !p.seq(k+1, "salle", "de") && !p.seq(k+1, "salles", "de") {
				continue
			}
		case p.about(j, aPiece) && (closed || p.word(j+1) == "fermee" || p.word(j+1) == "fermees"):
			j++
		case closed && !weak && (p.word(j) == "" || p.about(j, aNegation)):
			j-- // "3 fermées"
		default:
			continue
		}
		more, end := p.moreBedrooms(j+1, sized)
		if more == 0 {
			more, end = p.bedroomsApart(j + 1)
		}
		if more == 0 && p.floorLeads(i) {
			more, end = p.bedroomsByFloor(j + 1)
		}
		if rest, last := p.bedroomsListed(i, max(j, end), n, more > 0); rest > 0 {
			more, end = more+rest, last
		}
		if k := p.mainBefore(i); k >= 0 && more == 0 { // "master + two small bedrooms"
			return count{value: float64(n + 1), from: k, to: j}, den, true
		}
		if kind && n == 1 && more == 0 { // "1 guest bedroom" is beside others, "1 queen bedroom" may be
			if apart {
				continue
			}
			weak = true
		}
		found := count{value: float64(n + more), weak: weak && more == 0 || p.oneOfSeveral(i), from: i, to: max(j, end),
			closed: closed || p.word(j+1) == "fermee"}
		weak = found.weak
		if !weak {
			return found, den, true
		}
		if !ok {
			c, weakDen, ok = found, den, true
		}
	}
	if !ok || c.weak && c.value == 1 {
		if n, from, to := p.nthBedroom(); n > 0 {
			return count{value: float64(n), from: from, to: to}, weakDen, true
		}
	}
	return c, weakDen, ok
}

// nthBedroom counts bedrooms that a text only shows one after the other: the main one, then "a second bedroom", "une
// troisième chambre". A second one alone may be any other's.
func (p *Prose) nthBedroom() (n, from, to int) {
	first := -1
	for i := range p.words {
		if !p.about(i, aBedroom) || p.about(i, aBathroom) {
			continue
		}
		k := i - 1
		for adjectives[p.word(k)] && p.word(k) != "master" {
			k--
		}
		w := p.word(k)
		if t := p.num(k - 1); t != nil && ordinalEnds[w] && !p.words[k].space && t.dec == 0 { // "2e chambre"
			switch k--; t.cents {
			case 2_00:
				w = "2e"
			case 3_00:
				w = "third"
			}
		}
		switch w {
		case "master", "primary", "principal", "main":
			if first < 0 {
				first = k
			}
		case "second", "deuxieme", "2e", "seconde":
			l := p.word(k - 1)
			if first >= 0 && n < 2 && (w == "2e" || l == "a" || l == "une" || l == "the" || l == "la" || l == "et" ||
				l == "and" ||
				p.sym(k-1) == ',') {
				n, to = 2, i
			}
		case "third", "troisieme":
			if n == 2 {
				n, to = 3, i
			}
		}
		if first < 0 && (p.word(i+1) == "principale" || p.seq(i+1, "des", "maitres") || p.seq(i+1, "a", "coucher") &&
			p.word(i+3) == "principale") {
			first = i
		}
	}
	return n, first, to
}

// initials reads "c.c." and "c.a.c." (chambres à coucher) at i and returns the last token, or 0.
func (p *Prose) initials(i int) int {
	if p.word(i) != "c" || p.sym(i+1) != '.' {
		return 0
	}
	k := i + 2
	if p.word(k) == "a" && p.sym(k+1) == '.' {
		k += 2
	}
	if p.word(k) != "c" {
		return 0
	}
	return k
}

// labelled reads a count behind its label, "Nombre de chambres : 3", "Bedrooms: 2", at i. What follows the colon may
// also be a size: "Chambre : 12 x 10", "Chambre : 9' x 10'".
func (p *Prose) labelled(i int, of topic) (n, end int) {
	if !p.about(i, of) {
		return -1, i
	}
	k := i + 1
	if p.seq(k, "a", "coucher") {
		k += 2
	}
	if p.sym(k) == '(' && p.word(k+1) == "s" && p.sym(k+2) == ')' {
		k += 3
	}
	t := p.num(k + 1)
	dash := p.sym(k) == '-' && (p.word(i-1) == "of" || p.word(i-1) == "de") // "Number of bedrooms - 2"
	if p.sym(k) != ':' && !dash || t == nil || t.dec > 0 || t.half || t.digits != 1 || p.words[k+1].line ||
		char(p.fold, int(t.end)) == '\'' {
		return -1, i
	}
	if next := k + 2; next < len(p.words) && !p.words[next].line && (p.word(next) == "x" || p.sym(next) == '"' ||
		p.sym(next) == '.' && !p.stop(next) || p.about(next, anArea) || p.sym(next) == '*') {
		return -1, i
	}
	return int(t.cents / 100), k + 1
}

// halfBedroom reads "2.5 bedrooms" and "2 1/2 bedroom" at i, a home of 2 with a den, or returns -1.
func (p *Prose) halfBedroom(i int) int {
	t := p.num(i)
	if t == nil || t.cents%100 != 50 || t.digits != 1 || t.dec != 1 || !p.about(i+1, aBedroom) ||
		t.half && p.word(i + 1)[0] == 'c' {
		return -1
	}
	return int(t.cents / 100)
}

// otherHomes tells whether the count at i is of other homes than the advert's: "other units are available (1, 2, 3
// bedrooms)".
func (p *Prose) otherHomes(i int) bool {
	for k := i - 1; k >= 0 && k >= i-24 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "other", "autres":
			return p.about(k+1, aType) || p.word(k+1) == "units" || p.word(k+1) == "unites" || p.word(k+1) == "suites"
		}
	}
	return false
}

// oneOfSeveral tells whether the number at i ends a list of counts: "1, 2 & 3 bedrooms" counts no one home.
func (p *Prose) oneOfSeveral(i int) bool {
	if i < 2 || p.words[i].line {
		return false
	}
	if n, _ := p.small(i - 2); n < 0 {
		return false
	}
	switch p.word(i - 1) {
	case "et", "and", "ou", "or", "to":
		return true
	}
	switch p.sym(i - 1) {
	case ',', '&':
		return true
	}
	return false
}
