package prose

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

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
			if n := numberWords[t.w]; n > 0 && (p.seq(i+1, "et", "demi") || p.seq(i+1, "et", "demie") || p.seq(i+1, "and", "a",
				"half") && !p.aboutBath(i+4) && !p.about(i+4, aBedroom)) &&
				!p.aboutBath(i+3) && p.word(i+3) != "sous" {
				out = append(out, count{value: float64(n) + .5, from: i, to: i + 2})
			}
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

// adjectives may stand between a number and what it counts.
var adjectives = set("grande grandes grand grands belle belles beau beaux bonne bonnes bon bons petite petites petit " +
	"petits large larges big spacious spacieuse spacieuses spacieux fermee fermees closed close vraie vraies vrai full " +
	"complete completes " +
	"complet joli nice bright huge immense immenses tres very double doubles superbe superbes magnifique magnifiques vastes " +
	"vaste " +
	"separate separated separee separees good sized size private privee privees generous master modern moderne modernes " +
	"nouvelle nouvelles beautiful gorgeous stylish elegant cozy comfortable lovely new renovated jolie jolies lumineuse lumineuses lumineux " +
	"ensoleille ensoleillee ensoleilles ensoleillees charmant charmante sunny independantes independante demi")

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
		if k := p.mainBefore(i); k >= 0 && more == 0 { // "master + two small bedrooms"
			return count{value: float64(n + 1), from: k, to: j}, den, true
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
		switch w := p.word(k); w {
		case "master", "primary", "principal", "main":
			if first < 0 {
				first = k
			}
		case "second", "deuxieme", "2e", "seconde":
			l := p.word(k - 1)
			if first >= 0 && n < 2 && (l == "a" || l == "une" || l == "the" || l == "la" || l == "et" || l == "and" ||
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

// sizes tell bedrooms apart.
var sizes = set("grande grandes petite petites moyenne moyennes large big small spacious spacieuse spacieuses")

// moreBedrooms reads the rest of a count in two parts, "2 grandes chambres et 1 moyenne": nothing may follow the size,
// or it is the size of something else. After a comma or "+" it is a part only if the first has a size, too, before its
// noun or behind: "2 chambres, 1 grande, 1 petite" are two.
func (p *Prose) moreBedrooms(i int, sized bool) (n, end int) {
	for k := i; k < len(p.words) && k < i+4 && !p.words[k].line; k++ {
		switch w := p.word(k); {
		case w == "et" || w == "and" || p.sym(k) == ',' || p.sym(k) == '+':
			if k+2 >= len(p.words) || p.words[k].kind == symbol && !sized {
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
			sized = sized || sizes[w]
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// mainBefore returns where the main bedroom begins that "et", "and" or "+" joins to the count at i, or -1.
func (p *Prose) mainBefore(i int) int {
	k := i - 1
	if w := p.word(k); w != "et" && w != "and" && w != "plus" && p.sym(k) != '+' && p.sym(k) != '&' || p.stop(i) {
		return -1
	}
	k--
	switch w := p.word(k); {
	case w == "maitres" || w == "maitre":
		if k -= 2; p.about(k, aBedroom) {
			return k
		}
	case w == "principale":
		for k--; p.word(k) == "coucher" || p.word(k) == "a"; k-- {
		}
		if p.about(k, aBedroom) && p.num(k-1) == nil {
			return k
		}
	case w == "master", w == "primary":
		return k
	case p.about(k, aBedroom) || w == "suite":
		if w := p.word(k - 1); (w == "master" || w == "primary" || w == "main" || w == "principal") && p.num(k-2) == nil {
			return k - 1
		}
	}
	return -1
}

// bedroomKinds follow the noun of a bedroom that is counted by itself.
var bedroomKinds = set("double doubles simple simples fermee fermees secondaire secondaires")

// ownKinds after the first bedrooms tell them from those after a comma: "1 ch. double, 1 ch. simple".
var ownKinds = set("double doubles simple simples principale maitres maitre")

// bedroomsApart reads the bedrooms that a text counts after the first ones: "2 chambres au premier et 1 au sous-sol",
// "une grande chambre et une petite chambre", "3 bdrms up, 2 down".
func (p *Prose) bedroomsApart(i int) (n, end int) {
	if p.sym(i) == '.' && i+1 < len(p.words) && !p.words[i+1].line && !p.capital(i+1) { // "2 ch. en haut"
		i++
	}
	floor, kind := false, false // of the first ones
	for k := i; k < len(p.words) && k < i+9 && !p.stop(k); k++ {
		w := p.word(k)
		joint := w == "et" || w == "and" || w == "plus" || p.sym(k) == ',' || p.sym(k) == '+'
		if !joint || k+2 >= len(p.words) {
			v, article := p.small(k) // "3 chambres dont deux en haut"
			if p.about(k, aBathroom|aPiece) || p.words[k].kind == number || v > 0 && !article {
				return n, end
			}
			floor = floor || p.floorAt(k) > k
			kind = kind || ownKinds[w]
			continue
		}
		if p.sym(k) == ',' && (p.word(k+1) == "et" || p.word(k+1) == "and" || p.word(k+1) == "plus") {
			k++
		}
		if e := p.floorAt(k + 1); e > k+1 { // "and downstairs has 2"
			if w := p.word(e); w == "has" || w == "a" || w == "have" || p.sym(e) == ':' {
				if e+1 >= len(p.words) {
					return n, end
				}
				noun := e + 2
				for m := 0; m < 3 && adjectives[p.word(noun)]; m++ {
					noun++
				}
				ends := p.about(noun, aBedroom) && !p.about(noun, aBathroom) || p.stop(e+2) || p.sym(e+2) == ','
				if more, article := p.small(e + 1); more > 0 && !article && ends {
					return n + more, e + 1
				}
			}
			return n, end
		}
		more, article := p.small(k + 1)
		if more < 1 {
			return n, end
		}
		j := k + 2
		for m := 0; m < 3 && (adjectives[p.word(j)] || p.word(j) == "autre" || p.word(j) == "other" || p.word(j) == "small" ||
			p.word(j) == "smaller"); m++ {
			j++
		}
		noun := p.about(j, aBedroom) && !p.about(j, aBathroom)
		after := j + 1
		if noun && p.sym(after) == '.' {
			after++
		}
		switch {
		case j > k+2 && noun && k < i+5 && more <= 2: // "et une petite chambre"
			n, end, i = n+more, j, j
			k = j
		case p.sym(k) == ',' && !floor && !(kind && noun && bedroomKinds[p.word(after)]):
			return n, end // "3 chambres, 1 au sous-sol" is one of the three
		case noun && j == k+2 && p.unitAt(j): // "3 bedroom main floor and 2 bedroom basement" are two homes
			return n, end
		case noun && j == k+2 && k < i+6 && (bedroomKinds[p.word(after)] || p.floorAt(after) > after):
			return n + more, after
		case article:
			return n, end
		case p.word(k+2) == "au", p.seq(k+2, "in", "the"), p.seq(k+2, "on", "the"), p.floorAt(k+2) > k+2:
			return n + more, k + 2
		default:
			return n, end
		}
	}
	return n, end
}

// unitAt tells whether the noun at i is of a home on a floor, "2 bedroom basement", and not of bedrooms there.
func (p *Prose) unitAt(i int) bool {
	w := p.word(i)
	if strings.HasSuffix(w, "s") || strings.HasPrefix(w, "ch") {
		return false
	}
	switch p.word(i + 1) {
	case "basement", "soussol", "main", "upper", "lower", "finished":
		return true
	}
	return false
}

// floorLeads tells whether a floor and a colon lead to the count at i: "À l'étage : 3 chambres".
func (p *Prose) floorLeads(i int) bool {
	if p.sym(i-1) != ':' {
		return false
	}
	for k := i - 2; k >= i-5 && k >= 0; k-- {
		if e := p.floorAt(k); e == i-1 && e > k {
			return true
		}
	}
	return p.word(i-2) == "etage" || p.word(i-2) == "floor"
}

// bedroomsByFloor adds up the counts after token i that a floor and a colon lead to.
func (p *Prose) bedroomsByFloor(i int) (n, end int) {
	for k := i; k < len(p.words) && k < i+30; k++ {
		if p.sym(k) != ':' || !p.floorLeads(k+1) || k+2 >= len(p.words) {
			continue
		}
		if more, article := p.small(k + 1); more > 0 && !article && p.about(k+2, aBedroom) && !p.about(k+2, aBathroom) {
			n, end = n+more, k+2
		}
	}
	return n, end
}

// floorAt returns the token after "en haut", "au sous-sol", "upstairs", "on main", "in the basement" or "s.-sol" at i:
// a place in the home. Where there is none it is i.
func (p *Prose) floorAt(i int) int {
	k := i
	switch w := p.word(k); {
	case w == "upstairs", w == "downstairs", w == "up", w == "down":
		return k + 1
	case w == "en" && (p.word(k+1) == "haut" || p.word(k+1) == "bas"):
		return k + 2
	case w == "a" && p.seq(k+1, "l", "etage"):
		return k + 3
	case w == "au" || w == "on" || w == "in" || w == "dans":
		if k++; p.word(k) == "the" || p.word(k) == "le" {
			k++
		}
	}
	if p.word(k) == "finished" {
		k++
	}
	switch p.word(k) {
	case "main", "upper", "lower":
		if w := p.word(k + 1); w == "floor" || w == "level" {
			return k + 2
		}
		if k > i {
			return k + 1
		}
	case "soussol", "sousol", "basement", "rdc", "premier", "deuxieme":
		return k + 1
	case "sous", "rez":
		for n := 0; n < 4 && (p.sym(k+1) == '-' || p.word(k+1) == "sol" || p.word(k+1) == "de" ||
			p.word(k+1) == "chaussee"); n++ {
			k++
		}
		return k + 1
	}
	return i
}

// capital tells whether the word at i begins with a capital.
func (p *Prose) capital(i int) bool {
	if i < 0 || i >= len(p.words) {
		return false
	}
	c := p.text[p.at[p.words[i].start]]
	return c >= 'A' && c <= 'Z'
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

// plurals count several rooms, whatever stands before them.
var plurals = set("chambres bedrooms bdrms bedrms bdrs bdms brs salles bathrooms baths washrooms")

// noAdjectives cannot describe a room that a number counts.
var noAdjectives = set("of from to with for in on at by near de des du d a au aux la le les l sur dans avec pour par " +
	"minutes min mins steps blocks km levels level floors story storey units suites people persons personnes lits " +
	"appliances closets balconies decks locker lockers stars years ans mois months homes the this that our your")

// described passes up to four words that describe rooms ("generously sized", "spacious and bright") from token i and
// returns the noun of that topic, which must be a plural, or i.
func (p *Prose) described(i int, of topic) int {
	for k := i; k < len(p.words) && k < i+5 && !p.words[k].line; k++ {
		t := &p.words[k]
		switch {
		case t.topic&of != 0 && plurals[t.w]:
			return k
		case t.kind == symbol && t.sym == '-':
		case t.kind != word, noAdjectives[t.w], t.topic&^(aFurnishing|inEnglish|inFrench|aUtility) != 0 && !adjectives[t.w]:
			return i
		}
	}
	return i
}

// otherHomes tells whether the count at i is of other homes than the advert's: "other units are available (1, 2, 3
// bedrooms)".
func (p *Prose) otherHomes(i int) bool {
	for k := i - 1; k >= 0 && k >= i-12 && !p.stop(k+1); k-- {
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

// artStudio tells whether the studio at i is a room for yoga, music or the like: "un studio de création".
func (p *Prose) artStudio(i int) bool {
	k := i + 1
	if w := p.word(k); w == "de" || w == "d" {
		k++
	}
	return studioArts[p.word(i-1)] || studioArts[p.word(k)]
}

// studio finds a word for a one-room home that is not said of something else ("près du studio de yoga").
func (p *Prose) studio() (i int, ok bool) {
	for i := range p.words {
		if !p.about(i, aStudio) {
			continue
		}
		if p.artStudio(i) {
			continue
		}
		switch p.word(i - 1) {
		case "style", "type", "genre":
			continue
		}
		return i, true
	}
	return 0, false
}
