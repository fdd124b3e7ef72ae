package prose

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/page"
)

// ParseBathrooms returns the bathrooms that s counts, in halves from 0.5 to 12: "2.5 salles de bain",
// "1,5 salle de bain", "1½ bath", "2 sdb", "salle de bain complète" (1), "1+1 bathrooms" (1.5). "Salle d'eau", "powder
// room" and "half bath" count half a bathroom each where a bathroom is counted as well. A bathroom that is only spoken
// of ("salle de bain rénovée", "en-suite bathroom") is not counted. It is 0 when s counts none.
func ParseBathrooms(s string) float64 {
	c, ok := Read(page.Line(s)).bathrooms()
	if !ok {
		return 0
	}
	return c.value
}

// A bathTally is what the mentions of bathrooms say so far: in count the clearest number of whole ones.
type bathTally struct {
	p *Prose
	count
	ok             bool // whole ones are counted
	halves, halfAt int  // half ones, and the token of the last
	pieced         int  // whole ones that are counted by their pieces alone, "4-piece bath"
	named          int  // the first one that is named alone, or -1
	others         int  // "une autre salle de bain"
}

// bathrooms counts the bathrooms that a text names. A label's number, "Salles de bain : 1,5", settles all.
func (p *Prose) bathrooms() (c count, ok bool) {
	b := bathTally{p: p, named: -1}
	for i := range p.words {
		if v, end := p.piecedBaths(i); v > 0 && !b.ok {
			return count{value: v, from: i, to: end}, true
		}
		if v, end := p.piecedBaths(i + 2); v > 0 && !b.ok && p.sym(i+1) == ':' && p.about(i, aBathroom) {
			return count{value: v, from: i + 2, to: end}, true // "Bathrooms: 4-pc, 3-pc", before its 4 is a number of them
		}
		if v := p.bareBaths(i); v > 0 && !b.ok {
			b.count, b.ok = count{value: v, from: i, to: i}, true
		}
		if !p.about(i, aBathroom) {
			continue
		}
		if n := p.powderRooms(i); n > 0 {
			b.halves, b.halfAt = b.halves+n, i
		} else if start := p.bathroomStart(i); start >= 0 && !p.ofSome(start) {
			if v, end := p.labelledBaths(i); v > 0 {
				return count{value: v, from: start, to: end}, true
			}
			b.note(start, i)
		}
	}
	return b.total()
}

// powderRooms counts the powder rooms named at i, "2 salles d'eau", or returns 0. "Salle de lavage / salle d'eau
// chaude" is none.
func (p *Prose) powderRooms(i int) int {
	switch w, next, room := p.word(i), p.word(i+1), p.word(i-2); {
	case w == "powder" && (next == "room" || next == "rooms"):
		return max(1, p.countBefore(i-1))
	case (w == "eau" || w == "deau") && next != "chaude" &&
		(room == "salle" || room == "salles" || w == "deau" && p.word(i-1) == "salle"):
		return max(1, p.countBefore(i-3))
	}
	return 0
}

// bathroomStart returns the first token of the bathroom that is named up to i, "salle de bain", or -1 when the word at
// i names none: "douche", "bath tub".
func (p *Prose) bathroomStart(i int) int {
	switch p.word(i) {
	case "bain", "bains":
		if n, _ := p.smallAt(i - 1); n > 0 && p.listEnds(i+1) || p.sym(i+1) == ':' && p.num(i+2) != nil && p.itemBegins(i) {
			return i // "2 chambres, 1 bain", "Bain : 1"
		}
		return p.salleDeBain(i)
	case "eau", "deau", "powder", "toilette", "toilettes", "douche":
		return -1
	case "bath":
		if w := p.word(i + 1); w == "tub" || w == "tubs" {
			return -1
		}
	case "ba", "sb", "wash":
		if p.sym(i+1) == ':' && p.num(i+2) != nil && p.itemBegins(i) { // "BR: 3 / BA: 2"
			return i
		}
		if w := p.word(i + 1); p.num(i-1) == nil || w == "machine" || w == "machines" { // "2 wash machines"
			return -1
		}
	case "b": // "2B2B", "2B/1B"
		k := i - 2
		if p.sym(k) == '/' {
			k--
		}
		if p.num(i-1) == nil || p.word(k) != "b" || p.num(k-1) == nil || p.words[i].space || p.ofUnit(k-1) {
			return -1
		}
	}
	return i
}

// salleDeBain returns the first token of "salle de bain", "salles de bains" that ends at i. It is -1 for "bain
// tourbillon", "bain podium".
func (p *Prose) salleDeBain(i int) int {
	k := i - 1
	if w := p.word(k); w == "de" || w == "des" {
		k--
	}
	if p.sym(k) == ')' && p.word(k-1) == "s" && p.sym(k-2) == '(' { // "Salle(s) de Bain"
		k -= 3
	}
	switch p.word(k) {
	case "salle", "salles", "sale", "chambre", "chambres":
		return k
	}
	return -1
}

// note takes the bathroom named in tokens start..i: a half, one more, "une autre salle de bain", or a count of whole
// ones, of which a clear one beats an unclear one and the first beats the rest.
func (b *bathTally) note(start, i int) {
	p := b.p
	if k := p.halfBath(start); k >= 0 {
		b.halves, b.halfAt = b.halves+max(1, p.countBefore(k)), i
		if full := p.fullBefore(k); full > 0 && !b.ok { // "2 full + 1 half bathrooms"
			b.count, b.ok = count{value: float64(full), from: k, to: i}, true
		}
		return
	}
	if p.otherBath(start) {
		b.others++
		return
	}
	found, counted := p.bathroomsAt(start, i)
	if n := p.piecesOf(start); n == 2 && !counted { // "4-piece bath and 2-piece bath"
		b.halves, b.halfAt = b.halves+1, i
		return
	} else if n > 2 && !counted {
		b.pieced++
	}
	if counted && (!b.ok || b.weak && !found.weak) {
		b.count, b.ok = found, true
	}
	if b.named < 0 && !plurals[p.word(start)] && !plurals[p.word(i)] {
		b.named = i
	}
}

// total adds up what all mentions say: "salle de bain et salle d'eau" is 1.5.
func (b *bathTally) total() (c count, ok bool) {
	if b.named >= 0 && (!b.ok || b.weak && b.value == 1) && b.p.oneMoreBath(b.named) {
		return count{value: 2, from: b.named, to: b.named}, true
	}
	if !b.ok && b.halves > 0 && b.named >= 0 { // "salle de bain et salle d'eau"
		b.count, b.ok = count{value: float64(max(b.pieced, 1)), weak: true, from: b.named, to: b.named}, true
	}
	if !b.ok && b.pieced > 0 && b.named >= 0 && !b.p.speaksOf("ensuite") { // "studio, 3-piece bath"
		b.count, b.ok = count{value: float64(b.pieced), weak: true, from: b.named, to: b.named}, true
	}
	if b.ok && b.value == 1 && b.weak && b.p.ensuiteBeside(b.from) { // "a master with ensuite, and a full bath"
		b.value, b.weak = 2, false
	}
	// "une salle de bain avec douche, une autre salle de bain avec bain"
	if b.ok && b.others > 0 && b.value == 1 && b.weak {
		b.value, b.weak = 1+float64(min(b.others, 2)), false
	}
	// "2 salles de bain" may count the powder room that a floor's description names further on
	if b.ok && b.halves > 0 && b.value == float64(int(b.value)) &&
		(b.value == 1 || max(b.halfAt-b.to, b.from-b.halfAt) <= 12) {
		b.value += float64(min(b.halves, 2)) / 2
	}
	return b.count, b.ok
}

// oneMoreBath tells whether the sentence about the bathroom at i goes on with another: "une salle de bain à l'étage
// plus une autre au sous-sol", "ensuite bathroom, a second bedroom, and a full bathroom".
func (p *Prose) oneMoreBath(i int) bool {
	ensuite := p.ensuiteBath(i)
	for k := i + 1; k < len(p.words) && k <= i+16 && !p.stop(k); k++ {
		w := p.word(k - 1)
		joined := w == "et" || w == "plus" || w == "and" || p.sym(k-1) == '+' || p.sym(k-1) == '&'
		if k <= i+8 && joined && (p.seq(k, "une", "autre") || p.seq(k, "another", "one")) {
			if p.stop(k+2) || p.sym(k+2) == ',' {
				return true
			}
			switch p.word(k + 2) {
			case "avec", "au", "a", "sur", "dans", "en", "with", "in", "on", "upstairs", "downstairs":
				return true
			}
			return false
		}
		if w := p.word(k); w == "douche" || w == "toilette" || w == "eau" { // what the bathroom has
			continue
		}
		if p.about(k, aBathroom) {
			full := p.word(k-1) == "full" && (p.word(k-2) == "a" || p.word(k-2) == "another")
			return ensuite && (full && (p.word(k-3) == "and" || p.sym(k-3) == ',') || p.word(k-1) == "complete")
		}
		if !ensuite && p.about(k, aBedroom) { // "une chambre et une autre au sous-sol"
			return false
		}
	}
	return false
}

// ensuiteBath tells whether the bathroom at i belongs to a bedroom.
func (p *Prose) ensuiteBath(i int) bool {
	switch w := p.word(i - 1); w {
	case "ensuite", "adjoining":
		return true
	case "suite":
		return p.word(i-2) == "en" || p.sym(i-2) == '-' && p.word(i-3) == "en"
	}
	return p.word(i+1) == "attenante"
}

// speaksOf tells whether the text has a word.
func (p *Prose) speaksOf(w string) bool {
	return slices.ContainsFunc(p.words, func(t token) bool { return t.w == w })
}

// ensuiteBeside tells whether a bedroom has an ensuite beside the bathroom that begins at i: "master with ensuite, plus
// a full bath". "Ensuite laundry" and "full ensuite bath" are none.
func (p *Prose) ensuiteBeside(i int) bool {
	for k := max(i-20, 1); k <= i+20 && k < len(p.words); k++ {
		if p.word(k) != "ensuite" || !p.listEnds(k+1) && p.word(k+1) != "and" && p.word(k+1) != "plus" {
			continue
		}
		for n := k - 1; n >= 0 && n >= k-5 && !p.stop(n+1); n-- {
			if p.about(n, aBedroom) || p.word(n) == "master" || p.word(n) == "primary" {
				return true
			}
		}
	}
	return false
}

// piecesOf reads how many pieces the bathroom that begins at i has, "2-piece bath", or returns 0.
func (p *Prose) piecesOf(i int) int {
	k := i - 1
	if w := p.word(k); w != "piece" && w != "pieces" && w != "pc" && w != "pce" {
		return 0
	}
	if k--; p.sym(k) == '-' {
		k--
	}
	return p.countBefore(k)
}

// otherBath tells whether the bathroom at i is one more than another: "une autre salle de bain", "another bathroom".
func (p *Prose) otherBath(i int) bool {
	k := i - 1
	for w := p.word(k); adjectives[w] && w != "demi"; w = p.word(k) {
		k--
	}
	return p.word(k) == "another" || p.word(k) == "autre" && p.word(k-1) == "une"
}

// bathroomsAt counts the bathrooms named in tokens start..i: by a number, an article, or "complète" after them.
func (p *Prose) bathroomsAt(start, i int) (found count, ok bool) {
	k := start - 1
	sure := p.word(i+1) == "complete" || p.word(i+1) == "completes"
	if w := p.word(k); w == "piece" || w == "pieces" || w == "pc" || w == "pce" { // "a 4-piece bathroom"
		if k--; p.sym(k) == '-' {
			k--
		}
		k--
	}
	plural := plurals[p.word(start)] || plurals[p.word(i)]
	for n := 0; n < 4 && k >= 0 && !p.words[k+1].line; n++ {
		w := p.word(k)
		if bathsApart[w] {
			return found, false
		}
		if w == "half" {
			break
		}
		own := w == "private" || w == "full" || w == "complete"
		sure = sure || own
		if !adjectives[w] && p.sym(k) != '-' && p.sym(k) != '(' && p.sym(k) != '+' && !(plural && p.words[k].kind == word &&
			p.words[k].topic&^(aFurnishing|inEnglish|inFrench|aUtility) == 0 && !noAdjectives[w]) {
			break
		}
		k--
	}
	found = count{value: 1, weak: true, from: start, to: i}
	andHalf := 0.
	if p.seq(i+1, "et", "demie") || p.seq(i+1, "et", "demi") && p.word(i+3) != "sous" { // "une salle de bain et demie"
		andHalf = .5
	}
	if p.sym(k) == ')' && p.num(k-1) != nil && p.sym(k-2) == '(' { // "two (2) bathrooms"
		k--
	}
	if t := p.num(k); t != nil {
		v := float64(t.cents) / 100
		if t.cents%50 != 0 || v < .5 || v > 12 || p.cutNumber(k) {
			return found, false
		}
		if first := p.num(k - 2); p.sym(k-1) == '+' && first != nil && first.digits == 1 && v <= 2 && !t.space { // "1+1"
			v = float64(first.cents)/100 + v/2
		}
		return count{value: v + andHalf, from: k, to: i}, true
	}
	if p.seq(k-2, "and", "a", "half") && numberWords[p.word(k-3)] > 0 {
		return count{value: float64(numberWords[p.word(k-3)]) + .5, from: k - 3, to: i}, true
	}
	if n := numberWords[p.word(k)]; n > 0 && andHalf > 0 {
		return count{value: float64(n) + andHalf, from: k, to: i + 2}, true
	} else if n > 0 {
		choice := p.word(i+1) == "ou" || p.word(i+1) == "or" // "une nouvelle salle de bain ou une nouvelle cuisine"
		return count{value: float64(n), weak: n == 1, from: k, to: i}, n > 1 || !choice
	}
	return found, (sure || p.word(k) == "a" && !plural) && !p.masterBefore(start)
}

// masterBefore tells whether a sentence about the main bedroom leads to i: "Master bedroom has a private bathroom".
func (p *Prose) masterBefore(i int) bool {
	joined := false
	for k := i - 1; k >= 0 && k >= i-12 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if joined && p.word(k) == "ensuite" { // "primary bedroom with ensuite plus full bath"
			return false
		}
		joined = joined || p.listJoint(k)
		if !p.about(k, aBedroom) {
			continue
		}
		if w := p.word(k - 1); w == "master" || w == "primary" {
			return true
		} else if plurals[p.word(k)] { // "a master with ensuite and two bedrooms sharing a full bath"
			return false
		}
	}
	return false
}

// bathsApart describe one bathroom of several.
var bathsApart = set("ensuite suite attenante adjoining master primary second shared common principale commune main " +
	"partagee separate")

// countBefore reads a small number before the thing that begins after token i, or 0.
func (p *Prose) countBefore(i int) int {
	if i < 0 {
		return 0
	}
	if n, _ := p.smallAt(i); n > 0 && n <= 4 {
		return n
	}
	return 0
}

// halfBath returns the token before "half" when a half bathroom begins at i, or -1.
func (p *Prose) halfBath(i int) int {
	k := i - 1
	if p.sym(k) == '-' {
		k--
	}
	if p.word(k) != "half" || p.seq(k-2, "and", "a") && (numberWords[p.word(k-3)] > 0 || p.num(k-3) != nil) {
		return -1 // "one and a half"
	}
	return k - 1
}

// fullBefore reads "2 full +" or "2 full and" before the number at i.
func (p *Prose) fullBefore(i int) int {
	k := i - 1
	if p.sym(k) != '+' && p.sym(k) != '&' && p.word(k) != "and" && p.sym(k) != ',' || p.word(k-1) != "full" {
		return 0
	}
	return p.countBefore(k - 2)
}

// labelledBaths reads "Salles de bain : 1,5" from the label's last token i.
func (p *Prose) labelledBaths(i int) (v float64, end int) {
	k := i + 1
	if p.sym(k) == '(' && p.word(k+1) == "s" && p.sym(k+2) == ')' {
		k += 3
	}
	if v := p.valueBelow(i, k-1); v != nil && v.digits == 1 && v.cents > 0 {
		return float64(v.cents) / 100, k
	}
	if n := p.barelyLabelled(i, k); n > 0 { // "Baths 2"
		return float64(n), k
	}
	t := p.num(k + 1)
	if p.sym(k) != ':' && !p.dashLabels(i, k) || t == nil || t.cents%50 != 0 || t.digits != 1 || t.cents == 0 ||
		p.words[k+1].line ||
		char(p.fold, int(t.end)) == '\'' || p.sym(k+2) == '"' || p.word(k+2) == "x" || p.about(k+2, anArea|aPiece) {
		return 0, i
	}
	return float64(t.cents) / 100, k + 1
}

// cutNumber tells whether the number at i is a piece of something longer: "2018-2", "#3", "$5".
func (p *Prose) cutNumber(i int) bool {
	if i <= 0 || p.words[i].space {
		return false
	}
	switch p.sym(i - 1) {
	case '#', '$':
		return true
	case '-', '/', '.':
		return p.num(i-2) != nil && !p.words[i-1].space
	}
	return false
}

// bareBaths reads the bathrooms that a second number alone counts at i, "2 bed 1.5 condo", or returns 0. Rooms counted
// in the Quebec manner, "2 bed 4.5", are more than the bedrooms by two or so.
func (p *Prose) bareBaths(i int) float64 {
	t := p.num(i)
	if t == nil || t.cents%100 != 50 || t.dec != 1 || t.half || t.digits != 1 || t.line {
		return 0
	}
	k := i - 1
	if s := p.sym(k); s == '/' || s == ',' || s == '&' || s == '+' {
		k--
	}
	if !bareBeds[p.word(k)] {
		return 0
	}
	beds, _ := p.smallAt(k - 1)
	next := i + 1
	if beds < 1 || t.cents > int64(beds)*100+50 || !p.listEnds(next) && kinds[p.word(next)] == "" &&
		!bathFollowers[p.word(next)] {
		return 0
	}
	return float64(t.cents) / 100
}

// piecedBaths counts the bathrooms of a list that begins at i and names their pieces alone, "4pc, 2pc, 2pc ensuite" or
// "Baths: 4pc, 2pc": those of two pieces are half ones. It is 0 for a list that may be of homes.
func (p *Prose) piecedBaths(i int) (v float64, end int) {
	baths := p.sym(i-1) == ':' && p.about(i-2, aBathroom)
	items := 0
	for k := i; ; {
		t := p.num(k)
		if t == nil || t.dec > 0 || t.digits != 1 || t.cents < 2_00 || t.cents > 6_00 {
			break
		}
		if k++; p.sym(k) == '-' {
			k++
		}
		if w := p.word(k); w != "pc" && w != "pce" && w != "piece" && w != "pieces" {
			break
		}
		if items++; t.cents == 2_00 {
			v += .5
		} else {
			v++
		}
		for end = k; bathNames[p.word(end+1)] && !p.words[end+1].line; end++ {
			baths = true
		}
		k = end + 1
		if s := p.sym(k); s != ',' && s != '/' && s != '&' && s != '+' && p.word(k) != "and" && p.word(k) != "et" {
			break
		}
		k++
	}
	if items < 2 || !baths || p.about(i-1, aPiece) {
		return 0, i
	}
	return v, end
}

// bathNames may stand behind the pieces of a bathroom.
var bathNames = set("ensuite bath baths bathroom bathrooms washroom washrooms")

// bareBeds name bedrooms before a number of bathrooms, and bathFollowers may stand behind it.
var (
	bareBeds      = set("bed beds br brs bd bds bdrm bdrms bedroom bedrooms")
	bathFollowers = set("fully furnished in on at near downtown for with by house unit suite apt " +
		"apartment home upper lower main")
)
