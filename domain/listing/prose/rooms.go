package prose

import "github.com/mtlrent/conveyor/domain/page"

// A count is a number of rooms of some sort and where it was read.
type count struct {
	value  float64
	weak   bool // "une chambre": the article, not a number
	beds   bool // of a list of homes by their bedrooms
	closed bool // "chambre fermée": a bedroom even in a 2½
	from   int  // tokens
	to     int
}

// ParseRooms returns the Quebec room counts that s names, in its order and without repeats: 4.5 for "4 1/2", "4½",
// "41/2", "4-1/2", "4,5", "4.5", "41\2", "4 et demi", "5&1/2" and "quatre et demi"; a studio without a count is not
// one. A civic number ("1025 Chauvigny"), a unit code ("A31"), a half basement ("demi sous-sol"), bathrooms
// ("1,5 salle de bain"), amounts and measures are not rooms. Counts go from 1.5 to 12.5.
func ParseRooms(s string) []float64 {
	p := Read(page.Line(s))
	var out []float64
	for _, c := range p.rooms(true) {
		if !hasCount(out, c.value) {
			out = append(out, c.value)
		}
	}
	return out
}

func hasCount(list []float64, v float64) bool {
	for _, have := range list {
		if have == v {
			return true
		}
	}
	return false
}

// BedroomsOf is the Quebec rule: 3½ is one bedroom, 4½ two; 1½ and 2½ are studios.
func BedroomsOf(rooms float64) int { return max(int(rooms)-2, 0) }

// rooms finds room counts. In a headline a bare "4.5" is one; in running text it must stand by a word for a home.
func (p *Prose) rooms(headline bool) []count {
	var out []count
	for i := range p.words {
		t := &p.words[i]
		if t.kind == word {
			if t.topic&aNumber == 0 {
				continue
			}
			if end := p.wordAndHalf(i, headline); end > i {
				out = append(out, count{value: float64(numberWords[t.w]) + .5, from: i, to: end})
			} else if n := numberWords[t.w]; n > 0 && (p.seq(i+1, "et", "demi") || p.seq(i+1, "et", "demie") ||
				p.seq(i+1, "and", "a", "half") && !p.aboutBath(i+4) && !p.about(i+4, aBedroom)) &&
				!p.aboutBath(i+3) && p.word(i+3) != "sous" {
				out = append(out, count{value: float64(n) + .5, from: i, to: i + 2})
			} else if n > 0 && p.about(i+1, aPiece) && (p.seq(i+2, "et", "demi") || p.seq(i+2, "et", "demie")) &&
				p.word(i+4) != "sous" { // "cinq pièces et demie"
				out = append(out, count{value: float64(n) + .5, from: i, to: i + 3})
			}
			continue
		}
		if p.bareBaths(i) > 0 {
			continue
		}
		if t.kind != number || t.cents%100 != 50 && !p.about(i+1, aPiece) || t.dec > 1 || t.digits > 2 {
			continue
		}
		v := float64(t.cents) / 100
		andHalf := p.about(i+1, aPiece) && (p.seq(i+2, "et", "demi") || p.seq(i+2, "et", "demie")) // "1 pièce et demie"
		if v < 1.5 && !(andHalf && v == 1) || v > 12.5 || p.measured(i) {
			continue
		}
		if p.word(i-1) == "x" && p.num(i-2) != nil && !p.timesHomes(i) {
			continue
		}
		to := i
		if p.about(i+1, aPiece) {
			to++
			if half := p.num(i + 2); half != nil && half.cents == 50 && half.digits == 0 && t.cents%100 == 0 { // "4 pièces ½"
				out = append(out, count{value: v + .5, from: i, to: i + 2})
				continue
			}
			if t.cents%100 == 0 && p.bathPieces(i) { // "salle de bain de 4 pièces"
				continue
			}
			// "3 pièces et demi"
			if t.dec == 0 && (p.seq(i+2, "et", "demi") || p.seq(i+2, "et", "demie")) && p.word(i+4) != "sous" {
				out = append(out, count{value: v + .5, from: i, to: i + 3})
				continue
			}
			if w := p.word(i + 2); w == "fermee" || w == "fermees" || t.cents%100 == 0 && v < 2 { // "3 pièces fermées"
				continue
			}
		} else if !t.half && !p.bareRooms(i, headline) {
			continue
		}
		if headline && p.comparedCount(i) {
			continue
		}
		if p.madeInto(i) && len(out) > 0 { // "5 ½ converti en 4 ½" is a 4 ½
			out = out[:len(out)-1]
		}
		out = append(out, count{value: v, from: i, to: to})
	}
	return out
}

// wordAndHalf returns the last token of "trois 1/2" or "trois et ½" at i, a room count of which only the half is in
// figures, or i. "Un 1/2 sous-sol" and "trois 1/2 journées" are none.
func (p *Prose) wordAndHalf(i int, headline bool) int {
	k := i + 1
	if p.word(k) == "et" {
		k++
	}
	half := p.num(k)
	if half == nil || half.cents != 50 || half.digits != 0 || numberWords[p.word(i)] < 2 || half.line ||
		p.aboutBath(k+1) || p.about(k+1, aBedroom|anArea) || floorStarts[p.word(k+1)] || p.measured(k) {
		return i
	}
	if w := p.word(i - 1); !headline && !adjectives[w] && w != "un" && w != "mon" && w != "notre" && w != "ce" &&
		!p.about(i-1, aType) {
		return i
	}
	return k
}

// timesHomes tells whether "1 x" before the count at i says how many such homes there are, and is no side of a room.
func (p *Prose) timesHomes(i int) bool {
	t := p.num(i - 2)
	return t != nil && t.digits == 1 && t.dec == 0 && p.words[i].half && (p.stop(i-2) || p.about(i+1, aFreedom)) &&
		p.word(i+1) != "x" && !p.about(i+1, anArea) && p.sym(i+1) != '\'' && p.sym(i+1) != '"'
}

// bathPieces tells whether the pieces counted at i are those of a bathroom: its bath, sink and toilet.
func (p *Prose) bathPieces(i int) bool {
	if p.aboutBath(i + 2) {
		return true
	}
	for k := i - 1; k >= i-4 && k >= 0 && !p.words[k+1].line; k-- {
		switch w := p.word(k); {
		case w == "bain" || w == "bains" || w == "sdb" || w == "bathroom":
			return true
		case w != "" && !adjectives[w] && w != "de" && w != "avec" && w != "a":
			return false
		}
	}
	return false
}

// comparedCount tells whether the count at i is only compared with: "grand comme un 4 ½".
func (p *Prose) comparedCount(i int) bool {
	k := i - 1
	if w := p.word(k); w == "un" || w == "a" {
		k--
	}
	w := p.word(k)
	return w == "comme" && p.word(k-1) != "libre" || w == "like" && p.word(k-1) != "looks"
}

// madeInto tells whether "converti en" leads to the count at i from another right before it.
func (p *Prose) madeInto(i int) bool {
	k := i - 1
	if w := p.word(k); w == "un" || w == "a" {
		k--
	}
	if w := p.word(k); w != "en" && w != "into" && w != "to" {
		return false
	}
	switch p.word(k - 1) {
	case "converti", "transforme", "amenage", "modifie", "change", "refait", "converted", "transformed", "turned":
		return true
	}
	return false
}

// measured tells whether the number at i counts something other than a home's rooms.
func (p *Prose) measured(i int) bool {
	if p.aboutBath(i+1) || p.sym(i-1) == '$' && p.num(i-2) == nil || p.word(i+1) == "x" && p.num(i+2) != nil {
		return true
	}
	switch p.sym(i + 1) {
	case '$':
		return !p.words[i+1].space || p.num(i+2) == nil || p.words[i+2].space // "3.5 $875"
	case '%':
		return true
	case '"': // inches, or the sign of the next item: "» 3½ » 2e étage"
		return !p.words[i+1].space
	}
	if w := p.word(i - 1); w == "etage" || w == "floor" {
		return !p.words[i].half
	}
	switch p.word(i + 1) {
	case "mois", "month", "months", "etage", "etages", "heure", "heures", "h", "hr", "hrs", "hours", "hour", "minute",
		"minutes", "min", "mins", "mn", "an", "ans", "year", "years", "km", "kms", "m", "metres", "pied", "pieds", "pi",
		"feet", "ft", "pouces", "po", "million", "millions", "mille", "story", "storey", "blocks", "acre", "acres", "stars",
		"mrf", "mfr", "star",
		"etoiles", "ton", "tons", "gal", "gallons", "sous":
		if p.word(i+1) == "sous" && p.words[i].half {
			return false
		}
		return true
	case "chambre", "chambres": // Kijiji's "2.5 chambres" is 2 + den
		return !p.words[i].half
	case "bedroom", "bedrooms", "bdrm", "bdrms", "bed", "beds", "br", "bdr":
		return true
	}
	return false
}

// aboutBath tells whether a bathroom word starts at i: "salle(s) de bain", "bath", "sdb".
func (p *Prose) aboutBath(i int) bool {
	switch p.word(i) {
	case "salle", "salles":
		return p.about(i+1, aBathroom) || p.about(i+2, aBathroom)
	case "bain", "bains", "bath", "baths", "bathroom", "bathrooms", "sdb", "washroom", "washrooms", "bth", "ba":
		return true
	case "full", "complete":
		return p.about(i+1, aBathroom)
	}
	return false
}

// bareRooms tells whether the plain decimal at i ("4.5", "4,5") is a room count.
func (p *Prose) bareRooms(i int, headline bool) bool {
	t := &p.words[i]
	if t.digits != 1 || t.dec != 1 {
		return false
	}
	if !t.space && i > 0 && (p.words[i-1].kind == word && len(p.words[i-1].w) == 1 || p.sym(i-1) == '#') { // "A4.5"
		return false
	}
	if headline {
		return true
	}
	switch p.word(i - 1) {
	case "un", "mon", "notre", "ce":
		return true
	}
	return p.about(i-1, aType) || p.about(i+1, aType) || adjectives[p.word(i-1)] || p.seq(i+1, "a", "louer") ||
		p.about(i+1, aFreedom) || (p.words[i].line || p.sym(i-1) == ':') && (p.word(i+1) == "au" || p.word(i+1) == "sur")
}
