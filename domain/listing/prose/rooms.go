package prose

import "github.com/mtlrent/conveyor/domain/page"

// A count is a number of rooms of some sort and where it was read.
type count struct {
	value  float64
	weak   bool // "une chambre": the article, not a number
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
			if n := numberWords[t.w]; n > 0 && (p.seq(i+1, "et", "demi") || p.seq(i+1, "et", "demie") || p.seq(i+1, "and", "a",
				"half")) &&
				!p.aboutBath(i+3) && p.word(i+3) != "sous" {
				out = append(out, count{value: float64(n) + .5, from: i, to: i + 2})
			}
			continue
		}
		if t.kind != number || t.cents%100 != 50 && !p.about(i+1, aPiece) || t.dec > 1 || t.digits > 2 {
			continue
		}
		v := float64(t.cents) / 100
		if v < 1.5 || v > 12.5 || p.measured(i) {
			continue
		}
		to := i
		if p.about(i+1, aPiece) {
			to++
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
		out = append(out, count{value: v, from: i, to: to})
	}
	return out
}

// measured tells whether the number at i counts something other than a home's rooms.
func (p *Prose) measured(i int) bool {
	if p.aboutBath(i+1) || p.sym(i-1) == '$' && p.num(i-2) == nil {
		return true
	}
	switch p.sym(i + 1) {
	case '$':
		return !p.words[i+1].space || p.num(i+2) == nil || p.words[i+2].space // "3.5 $875"
	case '%', '"':
		return true
	}
	if w := p.word(i - 1); w == "etage" || w == "floor" {
		return !p.words[i].half
	}
	switch p.word(i + 1) {
	case "mois", "month", "months", "etage", "etages", "heure", "heures", "h", "hr", "hrs", "hours", "hour", "minute",
		"minutes", "min", "mins", "mn", "an", "ans", "year", "years", "km", "kms", "m", "metres", "pied", "pieds", "pi",
		"feet", "ft", "pouces", "po", "million", "millions", "mille", "story", "storey", "blocks", "acre", "acres", "stars",
		"etoiles", "ton", "tons", "gal", "gallons", "sous":
		if p.word(i+1) == "sous" && p.words[i].half {
			return false
		}
		return true
	case "chambre", "chambres", "bedroom", "bedrooms": // Kijiji's "2.5 bedrooms" is 2 + den
		return !p.words[i].half
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
	return p.about(i-1, aType) || p.about(i+1, aType) || p.word(i-1) == "grand" || p.word(i-1) == "beau" ||
		p.word(i-1) == "superbe"
}

// adjectives may stand between a number and what it counts.
var adjectives = set("grande grandes grand grands belle belles beau beaux bonne bonnes bon bons petite petites petit " +
	"petits large larges big spacious spacieuse spacieuses spacieux fermee fermees closed close vraie vraies vrai full " +
	"complete completes " +
	"complet nice bright huge immense immenses tres very double doubles superbe superbes magnifique magnifiques vastes " +
	"vaste " +
	"separate separated separee separees good sized size private privee privees generous master modern moderne modernes " +
	"nouvelle nouvelles new renovated jolie jolies lumineuse lumineuses sunny independantes independante demi")

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
			if w := p.word(j + 1); w == "den" || w == "bureau" || w == "office" { // Kijiji's label "2 + Den"
				return count{value: float64(n), from: i, to: j + 1}, true, true
			}
			if w := p.num(j + 1); w != nil && w.cents == 100 && p.about(j+2, aBedroom) { // "2+1 bedrooms"
				return count{value: float64(n), from: i, to: j + 2}, true, true
			}
		}
		first := j
		for j < len(p.words) && j-first < 3 && adjectives[p.word(j)] {
			j++
		}
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
				if p.word(j+1) == "froide" || p.word(j+2) == "louer" && n == 1 {
					continue
				}
			}
			if w := p.word(j); (w == "ch" || w == "cc" || w == "bd") && n > 6 || w == "ch" && p.words[j].space &&
				p.sym(j+1) == '.' && n > 6 {
				continue
			}
			if p.about(j, aBathroom) {
				continue
			}
			den = p.den(j + 1)
		case p.about(j, aPiece) && (closed || p.word(j+1) == "fermee" || p.word(j+1) == "fermees"):
			j++
		case closed && !weak && (p.word(j) == "" || p.about(j, aNegation)):
			j-- // "3 fermées"
		default:
			continue
		}
		more, end := p.moreBedrooms(j + 1)
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
	return c, weakDen, ok
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
	if p.sym(k) != ':' || t == nil || t.dec > 0 || t.half || t.digits != 1 || p.words[k+1].line ||
		char(p.fold, int(t.end)) == '\'' {
		return -1, i
	}
	if next := k + 2; next < len(p.words) && !p.words[next].line && (p.word(next) == "x" || p.sym(next) == '"' ||
		p.sym(next) == '.' && !p.stop(next) || p.about(next, anArea) || p.sym(next) == '*') {
		return -1, i
	}
	return int(t.cents / 100), k + 1
}

// moreBedrooms reads the rest of a count in two parts, "2 grandes chambres et 1 moyenne": nothing may follow the size,
// or it is the size of something else.
func (p *Prose) moreBedrooms(i int) (n, end int) {
	for k := i; k < len(p.words) && k < i+4 && !p.words[k].line; k++ {
		switch w := p.word(k); {
		case w == "et" || w == "and":
			if k+2 >= len(p.words) {
				return 0, 0
			}
			n, _ := p.small(k + 1)
			switch p.word(k + 2) {
			case "moyenne", "moyennes", "petite", "petites", "grande", "grandes", "autre", "plus", "small", "smaller", "medium":
			default:
				return 0, 0
			}
			end := k + 2
			if p.word(end) == "plus" && (p.word(end+1) == "petite" || p.word(end+1) == "grande") {
				end++
			}
			if n > 0 && (end+1 >= len(p.words) || p.words[end+1].line || p.words[end+1].kind == symbol && p.sym(end+1) != '-') {
				return n, end
			}
			return 0, 0
		case adjectives[w], w == "moyenne", w == "moyennes", w == "a", w == "coucher", w == "plutot":
		default:
			return 0, 0
		}
	}
	return 0, 0
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

// den tells whether "et 1 bureau", "+ bureau", "and den" follows: a room too many for a bedroom.
func (p *Prose) den(i int) bool {
	for k := i; k < i+5 && k < len(p.words); k++ {
		switch p.word(k) {
		case "bureau", "den", "office", "boudoir":
			return true
		case "a", "coucher", "et", "and", "un", "une", "plus", "with", "avec", "fermees", "fermee", "":
			if p.words[k].kind == number && p.words[k].cents != 100 || p.stop(k) && k > i {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// small reads a whole number from 0 to 9 at i, in digits or in a word; -1 when there is none. Ordinals ("2e") and
// parts of dates, fractions and codes are none.
func (p *Prose) small(i int) (n int, weak bool) {
	t := &p.words[i]
	switch t.kind {
	case number:
		if t.dec > 0 || t.digits != 1 || t.half || t.digits == 0 {
			return -1, false
		}
		if i > 0 && !t.space && (p.sym(i-1) == '#' || p.sym(i-1) == '.' && p.num(i-2) != nil || p.sym(i-1) == '$') {
			return -1, false
		}
		return int(t.cents / 100), false
	case word:
		if t.topic&aNumber != 0 {
			n := numberWords[t.w]
			return n, n == 1 && t.w != "one"
		}
	}
	return -1, false
}

// studio finds a word for a one-room home that is not said of something else ("près du studio de yoga").
func (p *Prose) studio() (i int, ok bool) {
	for i := range p.words {
		if !p.about(i, aStudio) {
			continue
		}
		switch p.word(i + 1) {
		case "de", "yoga", "d":
			if p.seq(i+1, "de", "yoga") || p.seq(i+1, "de", "danse") || p.word(i+1) == "yoga" {
				continue
			}
		}
		switch p.word(i - 1) {
		case "style", "type", "genre":
			continue
		}
		return i, true
	}
	return 0, false
}
