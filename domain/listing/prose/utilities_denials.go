package prose

// shortBoth reads "ch/écl" and "C/É" at i: heated and lit.
func (p *Prose) shortBoth(i int) bool {
	w := p.word(i)
	if w != "c" && w != "ch" || p.denied(i) || p.word(i-1) == "n" || p.word(i-2) == "n" {
		return false
	}
	if s := p.sym(i + 1); s != '/' && s != '-' {
		return false
	}
	e := p.word(i + 2)
	return w == "ch" && (e == "ecl" || e == "eclair") || w == "c" && e == "e" && !p.bare(i+2)
}

// shortDenial reads "n-ch.", "non écl." and "NC" at i.
func (p *Prose) shortDenial(i int) utility {
	k := i + 1
	if before := i - 1; rentBefore[p.word(before)] || p.sym(before) == ':' && rentBefore[p.word(before-1)] {
		return noUtility // "prix n.c.", which is not given
	}
	if p.word(i) == "nc" && (!p.bare(i) || p.sumEnds(i)) || p.word(i) == "n" && p.word(i+2) == "c" && (p.sym(k) == '.' ||
		(p.sym(k) == '/' || p.sym(k) == '-') && p.sumEnds(i)) { // "1250 $ n/c"
		if p.notHeatedNotLit(i) == i {
			return heat
		}
		return noUtility
	}
	switch s := p.sym(k); {
	case p.word(i) == "n" && (s == '-' || s == '.' || s == '/'), p.word(i) == "non" && s == '-':
		k++
	case p.word(i) != "non":
		return noUtility
	}
	switch p.word(k) {
	case "ch", "chauff":
		return heat
	case "ecl", "ecli", "eclair":
		return electricity
	}
	return noUtility
}

// nothing tells whether "rien", "nothing" or "aucun service" is what the verdict at i is about, and from where; -1 when
// not.
func (p *Prose) nothing(i, from int) int {
	k := from - 1
	for p.word(k) == "d" || p.word(k) == "de" || p.word(k) == "n" || p.word(k) == "est" || p.word(k) == "is" ||
		p.word(k) == "are" {
		k--
	}
	switch p.word(k) {
	case "rien", "nothing":
		return k
	case "service":
		if p.word(k-1) == "aucun" {
			return k - 1
		}
	}
	if n := p.word(i + 1); n == "rien" || n == "nothing" {
		return i
	}
	return -1
}

// Heated things that are not the home, before "chauffé" and after "heated".
var (
	heatedBefore = set("piscine piscines plancher planchers garage garages stationnement stationnements parking sol spa " +
		"interieur interieure interieurs souterrain terrasse pool rangement rangements locker casier remise atelier")
	heatedFillers = set("et non exterieure exterieur exterieures creusee creuse au sel salee")
	heatedAfter   = set("roof driveway pool floor floors garage parking indoor underground bathroom towel swimming inground salt")
)

// heatedThing tells whether "chauffé" at i is said of a pool, a floor or a garage.
func (p *Prose) heatedThing(i int) bool {
	for k := i - 1; k >= i-6 && k >= 0 && !p.words[k+1].line; k-- {
		w := p.word(k)
		if heatedBefore[w] {
			return w != "sol" || !p.homeInBasement(k)
		}
		if !heatedFillers[w] {
			break
		}
	}
	if p.word(i) == "chauffe" && p.sym(i+1) == '-' && p.word(i+2) == "eau" && p.word(i+3) != "chaude" { // "chauffe-eau"
		return true
	}
	if w := p.word(i + 2); p.orAnd(i+1) && (w == "lit" || w == "lighted") && heatedAfter[p.word(i+3)] {
		return true // "heated and lit parking"
	}
	return heatedAfter[p.word(i+1)] || (p.word(i+2) == "floor" || p.word(i+2) == "floors")
}

// homeInBasement tells whether "sous-sol", of which "sol" is at k, follows the size of a home: "3 ½ sous-sol chauffé",
// but not "garage au sous-sol chauffé".
func (p *Prose) homeInBasement(k int) bool {
	if k--; p.sym(k) == '-' {
		k--
	}
	if p.word(k) != "sous" || k == 0 {
		return false
	}
	if k--; p.word(k) == "demi" && k > 0 {
		k--
	}
	t := p.num(k)
	return t != nil && (t.half || t.cents == 50 && t.digits == 0) // "3 1/2 1/2 sous-sol"
}

var denials = set("non pas not ni no nor isn aren jamais never sans")

// denied tells whether a negation stands right before i: "non", "pas", "not", "ni".
func (p *Prose) denied(i int) bool {
	k := i - 1
	for p.sym(k) == '-' || p.sym(k) == '(' {
		k--
	}
	if p.word(k) == "t" {
		return p.word(k-1) == "isn" || p.word(k-1) == "aren"
	}
	return denials[p.word(k)] // "non chauffé et éclairé" is read as one denial by the caller
}

// denialBefore returns the "pas" of "pas d'internet ni câble" that ends before token i, or -1. Behind a comma the next
// thing has a verdict of its own: "pas de stationnement, chauffage inclus".
func (p *Prose) denialBefore(i int) int {
	for k := i - 1; k >= 0 && k >= i-12 && !p.words[k+1].line; k-- {
		switch w := p.word(k); {
		case w == "pas", w == "aucun", w == "aucune", w == "no", w == "neither", w == "ni" && p.itemStart(k):
			return k
		case listDenials[w]:
		default:
			if what, _ := p.thing(k); what == noUtility && !halfNames[w] {
				return -1
			}
		}
	}
	return -1
}

// listDenials stand between the things of a list that is denied.
var listDenials = set("d de ni nor or")

// notHeatedNotLit reads "NC/NÉ", "n.c / n.é", "nc ne", "N/C N/E" at i and returns its last token, or i. "NE" alone is
// a French word.
func (p *Prose) notHeatedNotLit(i int) int {
	first, second := byte('c'), byte('e')
	k := p.abbreviation(i, first)
	if k < 0 { // "NÉ NC"
		first, second = second, first
		if k = p.abbreviation(i, first); k < 0 {
			return i
		}
	}
	n := k + 1
	for m := 0; m < 3 && n < len(p.words) && (p.words[n].kind == symbol || p.word(n) == "et"); m++ {
		n++
	}
	if e := p.abbreviation(n, second); e >= 0 {
		return e
	}
	return i
}

// heatedNotLit reads "Chauffé / N.É." at i and returns its last token, or i.
func (p *Prose) heatedNotLit(i int) int {
	if _, on := p.participle(i); on != heat {
		return i
	}
	k := i + 1
	for n := 0; n < 2 && k < len(p.words) && (p.words[k].kind == symbol || p.word(k) == "et"); n++ {
		k++
	}
	if e := p.abbreviation(k, 'e'); e > k || e == k && !p.bare(k) { // "chauffé, ne pas déranger"
		return e
	}
	return i
}

// abbreviation reads "nc", "n.c", "n/c", "n c" for a letter c and returns its last token, or -1.
func (p *Prose) abbreviation(i int, c byte) int {
	w := p.word(i)
	if len(w) == 2 && w[0] == 'n' && w[1] == c {
		return i
	}
	if w != "n" {
		return -1
	}
	k := i + 1
	if s := p.sym(k); s == '.' || s == '/' || s == '-' {
		k++
	}
	if w := p.word(k); len(w) == 1 && w[0] == c {
		return k
	}
	return -1
}

// deniedBehind tells whether "non" alone follows the participle at i: "chauffé oui, éclairé non", "éclairé : non".
func (p *Prose) deniedBehind(i int) bool {
	label := p.sym(i+1) == ':' // "éclairé : non"
	if label {
		i++
	}
	w := p.word(i + 1)
	return (w == "non" || w == "no") && (p.listEnds(i+2) || label && p.words[i+2].kind == symbol)
}

// without tells whether "sans" or "without" at i leads to what a rent may include: "sans chauffage ni électricité".
func (p *Prose) without(i int) bool {
	if w := p.word(i); w != "sans" && w != "without" {
		return false
	}
	k := i + 1
	if articles[p.word(k)] {
		k++
	}
	what, end := p.thing(k)
	return (what == heat || what == electricity || what == collective) &&
		(p.listEnds(end+1) || p.word(end+1) == "ni" || p.orAnd(end+1))
}
