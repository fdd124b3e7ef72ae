package prose

// dens are the rooms too many for a bedroom.
var dens = set("bureau den office boudoir solarium flex")

// aDen tells whether the word at i is such a room. "+ flex lease" is none.
func (p *Prose) aDen(i int) bool {
	w, n := p.word(i), p.word(i+1)
	return dens[w] && (w != "flex" || p.listEnds(i+1) || p.sym(i+1) == '/' || n == "room" || n == "space" || n == "den")
}

// beforeDen stand between the bedrooms and a den, beside kinds of homes: "2 chambres fermées et petit bureau".
var beforeDen = set(`unit suite home a coucher et and un une plus with avec fermees fermee large spacious small one petit closed separate ferme`)

// den tells whether "et 1 bureau", "+ bureau", "and den" follows, also after a word for the home.
func (p *Prose) den(i int) bool {
	for k := i; k < i+6 && k < len(p.words); k++ {
		switch w := p.word(k); {
		case p.aDen(k):
			n := p.word(k + 1)
			return n != "de" && n != "building" && n != "hours"
		case kinds[w] != "" || beforeDen[w]:
		case w == "":
			if p.words[k].kind == number && p.words[k].cents != 100 || p.stop(k) && k > i {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// hasDen finds a den that is not counted with the bedrooms: "and a versatile den", or returns -1.
func (p *Prose) hasDen() int {
	for i := range p.words {
		if p.word(i) == "bureau" && i > 0 && p.words[i-1].half && !p.words[i].line { // "4 ½ bureau, stationnement"
			return i
		}
		if w := p.word(i); w != "den" && w != "solarium" || i == 0 || p.words[i].line && p.sym(i+1) == '.' {
			continue
		}
		if p.word(i) == "den" && p.listItem(i) {
			return i
		}
		for k := i - 1; k >= i-4 && k >= 0; k-- {
			switch w := p.word(k); {
			case w == "a" || w == "an" || w == "un" || w == "with" || w == "avec" || w == "plus" ||
				p.sym(k) == '+' || p.sym(k) == '&':
				return i
			case p.words[k].kind != word && p.sym(k) != '-' || w == "no" || w == "the" || p.words[k+1].line:
				k = -1
			}
		}
	}
	return -1
}

// listItem tells whether the word at i is an item by itself of a list, right behind bedrooms or bathrooms: "1 bed • 1
// bath • den • parking", "2 bed, den, 2 bath".
func (p *Prose) listItem(i int) bool {
	mark := func(k int) bool {
		s := p.sym(k)
		return s == ';' || s == '|' || s == ',' || s == '/'
	}
	return mark(i-1) && (i+1 == len(p.words) || mark(i+1)) && p.about(i-2, aBedroom|aBathroom)
}

// bedroomFurniture stands beside beds that are furniture.
var bedroomFurniture = set("sofa sofas couch desk desks table tables mattress mattresses dresser nightstand nightstands")

// furnitureBed tells whether the beds at i are furniture: "with 2 beds, sofa, dining table".
func (p *Prose) furnitureBed(i int) bool {
	if w := p.word(i); w != "bed" && w != "beds" {
		return false
	}
	for k := i + 1; k <= i+4 && !p.stop(k); k++ {
		if bedroomFurniture[p.word(k)] {
			return true
		}
	}
	return false
}
