package prose

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

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
	for i := range p.words {
		switch found, withDen, counts := p.bedroomsAt(i); {
		case counts && !found.weak:
			return found, withDen, true
		case counts && !ok:
			c, den, ok = found, withDen, true
		}
	}
	if !ok || c.weak && c.value == 1 {
		if n, from, to := p.nthBedroom(); n > 0 {
			return count{value: float64(n), from: from, to: to}, den, true
		}
	}
	return c, den, ok
}

// bedroomsAt reads the count of bedrooms that begins at i, with its label or its noun: "Bedrooms: 2", "2 bedrooms".
func (p *Prose) bedroomsAt(i int) (c count, den, ok bool) {
	if half := p.halfBedroom(i); half >= 0 { // Kijiji's "2.5 bedrooms"
		return count{value: float64(half), from: i, to: i + 1}, true, true
	}
	n, article := p.small(i)
	if n < 0 {
		if n, end := p.labelled(i, aBedroom); n >= 0 {
			return count{value: float64(n), from: i, to: end}, false, true
		}
		if n, end := p.bedroomSizes(i); n > 1 {
			return count{value: float64(n), from: i, to: end}, false, true
		}
		closed := p.about(i, aBedroom) && p.word(i+1) == "fermee" // "chambre fermée", without a number
		return count{value: 1, weak: true, closed: true, from: i, to: i + 1}, false, closed
	}
	if p.otherHomes(i) || p.word(i-1) == "to" && (p.num(i-2) != nil ||
		p.sym(i-2) == '-' && p.num(i-3) != nil) { // "units have 0 to 3 bedrooms"
		return c, false, false
	}
	m := bedroomMention{p: p, at: i, n: n, article: article, next: i + 1}
	if p.sym(m.next) == ')' || p.sym(m.next) == '-' { // "deux (2) chambres", "2-bedroom"
		m.next++
	}
	m.passDescription()
	for _, form := range bedroomForms {
		if to, den := form(m); to > 0 {
			return count{value: float64(n), from: i, to: to}, den, true
		}
	}
	if den, ok = m.named(); ok {
		c, ok = m.total()
	}
	return c, den, ok
}

// A bedroomMention is a number that may count bedrooms, and the words from it to their noun.
type bedroomMention struct {
	p       *Prose
	at, n   int
	article bool // "une chambre"
	next    int  // the token behind the number and its dash or bracket
	noun    int  // the token behind what describes the rooms
	ofKind  bool // the description tells one bedroom from another: "1 queen bedroom"
	apart   bool // such a bedroom is one beside others: "1 guest bedroom"
	sized   bool // "2 grandes chambres"
	closed  bool // "3 pièces fermées"
}

// passDescription finds the noun behind what describes the rooms: "2 grandes chambres", "1 king bedroom".
func (m *bedroomMention) passDescription() {
	p, j := m.p, m.next
	for j < m.next+3 && adjectives[p.word(j)] {
		j++
	}
	for k := j; k < j+3 && (adjectives[p.word(k)] || roomKinds[p.word(k)]); k++ { // "1 king bedroom", not "1 king bed"
		m.apart = m.apart || apartRooms[p.word(k)]
		if w := p.word(k + 1); p.about(k+1, aBedroom) && w != "bed" && w != "beds" && !ofBedroom[p.word(k+2)] {
			j, m.ofKind = k+1, true
			break
		}
	}
	if m.n >= 2 && !p.about(j, aBedroom|aPiece) { // "3 cozy bedrooms"
		j = p.described(j, aBedroom)
	}
	m.noun = j
	if w := p.word(j - 1); j > m.next {
		m.sized, m.closed = sizes[p.word(m.next)], w == "fermee" || w == "fermees" || w == "closed"
	}
}

// bedroomForms are the shapes of a count that need no noun for bedrooms, or count a den with them. Each returns the
// last token of the count, or 0.
var bedroomForms = [...]func(bedroomMention) (to int, den bool){
	bedroomMention.plusDen,
	bedroomMention.plusFigure,
	bedroomMention.thenBaths,
	bedroomMention.plusOneAlone,
	bedroomMention.initialed,
}

// plusDen reads Kijiji's label "2 + Den".
func (m bedroomMention) plusDen() (to int, den bool) {
	if (m.p.sym(m.next) == '+' || m.p.word(m.next) == "plus") && m.p.aDen(m.next+1) {
		return m.next + 1, true
	}
	return 0, false
}

// plusFigure reads "2+1 bedrooms" and "1+1 condo", of which the second figure is a den if it is 1.
func (m bedroomMention) plusFigure() (to int, den bool) {
	p, more, noun := m.p, m.added(), m.next+2
	for noun < m.next+4 && adjectives[p.word(noun)] {
		noun++
	}
	if more >= 0 && more <= 2 && (p.about(noun, aBedroom) || m.n > 0 && !p.words[m.next+1].space &&
		!p.words[m.next].space && p.about(m.next+2, aType)) {
		return noun, more == 1
	}
	return 0, false
}

// plusOneAlone reads "1+1 avec balcon", which begins the text.
func (m bedroomMention) plusOneAlone() (to int, den bool) {
	p, k := m.p, m.next+2
	if m.at == 0 && p.sym(m.next) == '+' && m.added() == 1 && (p.stop(k) || p.word(k) == "avec" || p.word(k) == "with") {
		return m.next + 1, true
	}
	return 0, false
}

// added returns the figure that "+" or "plus" joins to the count, "2+1", or -1.
func (m bedroomMention) added() int {
	if m.p.sym(m.next) != '+' && m.p.word(m.next) != "plus" || m.p.num(m.next+1) == nil {
		return -1
	}
	n, _ := m.p.small(m.next + 1)
	return n
}

// ofUnit tells whether the number at i is that of a unit: "units 2B/3B".
func (p *Prose) ofUnit(i int) bool {
	w := p.word(i - 1)
	return unitMarks[w] || w == "units" || w == "apts" || w == "suites"
}

// thenBaths reads "2B2B", "2B/1B" and "2B2Ba".
func (m bedroomMention) thenBaths() (to int, den bool) {
	p, k, baths := m.p, m.next, m.next+1
	if p.sym(baths) == '/' {
		if p.ofUnit(m.at) {
			return 0, false
		}
		baths++
	}
	if p.word(k) == "b" && !p.words[k].space && p.num(baths) != nil && (p.word(baths+1) == "b" || p.word(baths+1) == "ba") {
		return k, false
	}
	return 0, false
}

// initialed reads "2 c.c." and "2 grandes c.a.c.", chambres à coucher.
func (m bedroomMention) initialed() (to int, den bool) {
	if to = m.p.initials(m.noun); to > 0 && !m.article {
		return to, m.p.den(to + 1)
	}
	return 0, false
}

// named tells whether the noun is one for bedrooms, and whether a den is said behind it: "2 chambres et 1 bureau". It
// moves noun to the last token where that is another.
func (m *bedroomMention) named() (den, ok bool) {
	p, j := m.p, m.noun
	switch {
	case p.about(j, aBedroom):
		if m.otherThing() {
			return false, false
		}
		return p.den(j+1) || p.sym(j+1) == '(' && p.sym(j+2) == '+' && p.num(j+3) != nil && p.num(j+3).cents == 100 &&
			p.sym(j+4) == ')', true // "1 chambre (+1)"
	case p.word(j) == "lit" || p.word(j) == "lits": // "1 lit, 1 salle de bain", a translation
		k := j + 1
		if p.sym(k) == ',' || p.sym(k) == '/' || p.word(k) == "et" {
			k++
		}
		return false, p.num(k) != nil && (p.about(k+1, aBathroom) || p.seq(k+1, "salle", "de") || p.seq(k+1, "salles", "de"))
	case p.about(j, aPiece) && (m.closed || p.word(j+1) == "fermee" || p.word(j+1) == "fermees"): // "3 pièces fermées"
		m.noun++
		return false, true
	case m.closed && !m.article && (p.word(j) == "" || p.about(j, aNegation)): // "3 fermées"
		m.noun--
		return false, true
	}
	return false, false
}

// otherThing tells whether the noun for bedrooms means something else here: "2 chambres de bain", "with 2 beds, sofa".
func (m *bedroomMention) otherThing() bool {
	p, j := m.p, m.noun
	switch w, next := p.word(j), p.word(j+1); {
	case next == "de" && p.about(j+2, aBathroom), next == "froide":
		return true
	case next == "a" && p.word(j+2) == "louer" && m.n == 1 && // a room in a home: "1 chambre à louer"
		!(p.word(m.at-1) == "d" && p.about(m.at-2, aType)): // not "appartement d'une chambre à louer"
		return true
	case (w == "ch" || w == "cc" || w == "bd") && m.n > 6: // "8 ch. des Érables" is an address
		return true
	}
	return p.about(j, aBathroom) || p.furnitureBed(j)
}

// total adds the bedrooms that the text counts beside these, "2 chambres et 1 au sous-sol". It is false for one that
// is not all: "1 guest bedroom".
func (m *bedroomMention) total() (c count, ok bool) {
	p, i := m.p, m.at
	more, end := p.moreBedrooms(m.noun+1, m.sized)
	if more == 0 {
		more, end = p.bedroomsApart(m.noun + 1)
	}
	if more == 0 && p.floorLeads(i) {
		more, end = p.bedroomsByFloor(m.noun + 1)
	}
	if rest, last := p.bedroomsListed(i, max(m.noun, end), m.n, more > 0); rest > 0 {
		more, end = more+rest, last
	}
	if otherRooms[p.word(m.next)] && p.mainEarlier(i) { // "chambre des maîtres en bas, deux autres chambres en haut"
		more++
	}
	if nth, last := p.nthOne(max(m.noun, end) + 1); nth == m.n+more+1 && m.n+more > 1 {
		more, end = more+1, last
	}
	if k := p.mainBefore(i); k >= 0 && more == 0 { // "master + two small bedrooms"
		return count{value: float64(m.n + 1), from: k, to: m.noun}, true
	}
	lone := m.ofKind && m.n == 1 && more == 0 // "1 guest bedroom" is beside others, "1 queen bedroom" may be
	return count{value: float64(m.n + more), weak: (m.article || lone) && more == 0 || p.oneOfSeveral(i), from: i,
		to: max(m.noun, end), closed: m.closed || p.word(m.noun+1) == "fermee"}, !lone || !m.apart
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
		if first >= 0 && (p.sym(k) == ',' || p.sym(k-1) == ',') && p.guestRoom(i) {
			n, to = max(n, 1)+1, i
		}
		switch w {
		case "master", "primary", "principal", "main":
			if first < 0 {
				first = k
			}
		case "second", "deuxieme", "2e", "seconde":
			l := p.word(k - 1)
			if first >= 0 && n < 2 && (w == "2e" || l == "a" || l == "une" || l == "the" || l == "la" || l == "et" ||
				l == "and" || p.sym(k-1) == ',') {
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
		if more, end := p.othersBeside(i); more > 0 && first >= 0 && n == 0 {
			n, to = 1+more, end
		}
	}
	if nth, last := p.nthOne(to + 1); n > 0 && nth == n+1 {
		n, to = nth, last
	}
	return n, first, to
}

// guestRoom tells whether the bedroom at i is one that a list names beside the main one: "chambre d'amis", "guest
// bedroom".
func (p *Prose) guestRoom(i int) bool {
	k := i + 1
	if p.word(k) == "d" || p.word(k) == "des" {
		k++
	}
	return apartRooms[p.word(k)] || apartRooms[p.word(i-1)]
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
	if v := p.valueBelow(i, k-1); v != nil && v.digits == 1 {
		return int(v.cents / 100), k
	}
	if p.sym(k) == '.' && p.sym(k+1) == ':' { // "Ch. : 2"
		k++
	}
	t := p.num(k + 1)
	if n := p.barelyLabelled(i, k); n >= 0 {
		return n, k
	}
	dash := p.sym(k) == '-' && (p.word(i-1) == "of" || p.word(i-1) == "de") || // "Number of bedrooms - 2"
		p.dashLabels(i, k)
	if p.sym(k) != ':' && !dash || t == nil || t.dec > 0 || t.half || t.digits != 1 || p.words[k+1].line ||
		char(p.fold, int(t.end)) == '\'' {
		return -1, i
	}
	if next := k + 2; next < len(p.words) && !p.words[next].line && (p.word(next) == "x" || p.sym(next) == '"' ||
		p.sym(next) == '.' && !p.stop(next) || p.about(next, anArea) || p.sym(next) == '*' && p.num(next+1) != nil) {
		return -1, i
	}
	return int(t.cents / 100), k + 1
}

// dashLabels tells whether the dash at k parts the label that its item begins with from a figure that is all else:
// "Bedrooms - 2, Bathrooms - 1".
func (p *Prose) dashLabels(i, k int) bool {
	t := p.num(k + 1)
	return p.sym(k) == '-' && p.itemBegins(i) && p.words[k].space && t != nil && t.space && !t.line &&
		(p.stop(k+2) || p.words[k+2].kind == symbol)
}

// barelyLabelled reads the figure at k that is all that its item has behind the plural that begins it, "Beds 3 /
// Baths 2", or returns -1.
func (p *Prose) barelyLabelled(i, k int) int {
	t, w := p.num(k), p.word(i)
	if t == nil || t.dec > 0 || t.half || t.digits != 1 || t.line || !strings.HasSuffix(w, "s") || !p.itemBegins(i) {
		return -1
	}
	switch p.sym(k + 1) {
	case '/', '|', ',', '*':
		if p.num(k+2) != nil {
			return -1
		}
		return int(t.cents / 100)
	}
	if p.stop(k+1) && p.itemBegins(i) && i > 0 && p.words[i-1].kind == symbol {
		return int(t.cents / 100)
	}
	return -1
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
