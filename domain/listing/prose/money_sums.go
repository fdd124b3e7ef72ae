package prose

import "github.com/mtlrent/conveyor/domain/listing"

// signed reads the amount of the currency sign at i: the number before it, or the one after.
func (p *Prose) signed(i, used int) (a amount, ok bool) {
	left, right := i-1, i+1
	if p.sym(left) == '.' || p.sym(left) == ',' { // "900.00.$"
		left--
	}
	l, r := p.num(left), p.num(right)
	if l != nil && (left <= used || l.half || l.digits == 0 || l.digits == 1 && l.dec == 1) {
		l = nil
	}
	if l != nil && p.words[i].line {
		l = nil
	}
	if r != nil && (r.half || r.digits == 0 || r.line) {
		r = nil
	}
	if l != nil && r != nil && p.words[i].space && !r.space { // "2018 $800"
		l = nil
	}
	switch {
	case l != nil:
		a = amount{cents: l.cents, from: left, to: i}
		p.thousandsBefore(&a, used)
	case r != nil:
		a = amount{cents: r.cents, from: i, to: right}
		for next := p.num(a.to + 1); next != nil; next = p.num(a.to + 1) { // "$1 250"
			if !next.space || next.line || next.digits != 3 || next.half || p.words[a.to].dec > 0 || p.words[a.to].digits > 3 ||
				a.cents <= 0 || a.cents > 1e12 || p.sym(a.to+2) == '$' {
				break
			}
			a.cents = a.cents*1000 + next.cents
			a.to++
		}
		if p.sym(a.to+1) == '$' && (p.num(a.to+2) == nil || p.words[a.to+2].space) { // "$850$", not "$1,700 $1,595"
			a.to++
		}
	default:
		return a, false
	}
	return a, true
}

// thousandsBefore adds "1" to "250" in "1 250 $". The group before may have three digits only when it is a whole
// number of its own: the year of "juillet 2018 800,00 $" has four, and "3 1/2" is no group.
func (p *Prose) thousandsBefore(a *amount, used int) {
	scale := int64(1000)
	for a.from-1 > used {
		t, prev := &p.words[a.from], p.num(a.from-1)
		if prev == nil || !t.space || t.line || t.digits != 3 || prev.half || prev.dec > 0 || prev.digits > 3 ||
			prev.digits < 1 ||
			prev.cents == 0 || scale > 1e9 {
			return
		}
		if p.sym(a.from-2) == '#' || p.about(a.from-2, aMonth) { // "app #3 800 $", "juillet 18 800 $"
			return
		}
		a.cents += prev.cents * scale
		a.from--
		scale *= 1000
	}
}

// unsigned reads a number without a sign that the words around it make a sum: "755.00 / m", "prix 750.00".
func (p *Prose) unsigned(i, used int) (a amount, ok bool) {
	t := &p.words[i]
	if t.half || t.digits < 2 || t.digits > 8 || t.cents < 100_00 {
		return a, false
	}
	if end, _ := p.areaUnit(i + 1); end >= 0 || listing.StreetWord(p.word(i+1)) { // "loyer de 752 pieds carrés"
		return a, false
	}
	if p.sym(i+1) == '$' || p.sym(i+1) == '.' && p.sym(i+2) == '$' || p.about(i+1, aMoney) && p.isCurrency(i+1) {
		return a, false
	}
	if next := p.num(i + 1); next != nil && next.space && next.digits == 3 && t.digits <= 3 { // "1 250 $"
		return a, false
	}
	a = amount{cents: t.cents, from: i, to: i}
	p.thousandsBefore(&a, used)
	if per, _ := p.period(i + 1); per != unstated && (p.sym(i+1) == '/' || p.word(i+1) == "par" || p.word(i+1) == "per" ||
		per == perMonth && p.word(i+1) != "m") {
		if p.word(i+1) != "mois" && p.word(i+1) != "mo" && p.word(i+1) != "month" && p.word(i+1) != "moi" {
			return a, true
		}
		return a, t.digits >= 3
	}
	if t.dec == 2 && t.cents%100 == 0 && t.digits >= 3 && t.digits <= 4 && a.from == i { // "865.00 tout inclus"
		return a, true
	}
	if p.heatFollows(i) || p.cameDown(i) {
		return a, true
	}
	k := a.from - 1
	for n := 0; n < 4 && k >= 0; n++ {
		switch p.word(k) {
		case "prix", "loyer", "rent", "price", "tarif", "asking":
			year := t.cents >= 1990_00 && t.cents <= 2040_00 && t.dec == 0 && t.digits == 4
			street := p.words[a.from].line && p.word(k-1) == "for" // "House for rent", and the address on its next line
			return a, !year && !street
		case "rate", "cout": // "Coût : 900"
			return a, k < a.from-1 && p.sym(k+1) == ':'
		case "a", "de", "est", "es", "is", "only", "seulement", "juste", "mensuel", "total", "demande", "":
			if s := p.sym(k); s != ':' && s != '=' && s != '-' && p.word(k) == "" {
				return a, false
			}
		default:
			return a, false
		}
		k--
	}
	return a, false
}

// heatFollows tells whether a bare number that may be a rent stands before what it includes: "975 non chauffé",
// "1350 all inclusive".
func (p *Prose) heatFollows(i int) bool {
	t, k := &p.words[i], i+1
	if t.dec > 0 || t.digits < 3 || t.cents < 300_00 || t.cents > 6000_00 || t.cents >= 1900_00 && t.cents <= 2040_00 ||
		listing.StreetWord(p.word(i-1)) {
		return false
	}
	if denials[p.word(k)] {
		k++
	}
	if k > i+1 {
		pet := k
		if w := p.word(pet); w == "d" || w == "de" {
			pet++
		}
		if p.about(pet, aPet) && !p.words[i+1].line { // "5 ½ St-Léonard 1700 pas d'animaux"
			return true
		}
	}
	if what, _ := p.thing(k + 1); (p.sym(k) == '+' || p.word(k) == "plus") && !p.words[k].line &&
		(what == electricity || what == heat || what == collective) { // "1100 + hydro"
		return true
	}
	if w := p.word(k); (w == "all" || w == "tout") && inclusionWords[p.word(k+1)] == saysIncluded {
		return !p.words[k].line
	}
	if k >= len(p.words) || p.words[k].line {
		return false
	}
	if k == i+1 && (p.about(k, aMonth) || p.about(k, aFreedom) && p.sym(k) == 0) { // "4 ½ Hochelaga 1400 libre"
		return p.roundBehindRooms(i)
	}
	return (heatedWords[p.word(k)] || p.word(k) == "heated") && !p.heatedThing(k)
}

func (p *Prose) isCurrency(i int) bool {
	switch p.word(i) {
	case "dollar", "dollars", "piastres", "cad":
		return true
	}
	return false
}

// atCost tells whether the word at k begins what a parking costs: "stationnement disponible au coût de 35 $", "garage
// au prix de 75 $ par mois".
func (l *amountLead) atCost(k int) bool {
	if l.p.word(k) != "au" || l.a.cents > ceilings[forParking] || !l.p.parkingBehind(l.a.from) {
		return false
	}
	switch l.p.word(k + 1) {
	case "cout", "tarif", "prix":
		return true
	}
	return false
}

// firstMonths tells whether the amount is that of the first months alone, for the text goes on to a higher one: "575 $
// pendant 1 mois et 725 $ par la suite", "$999 for the first month, $1,350 after".
func (p *Prose) firstMonths(a *amount, i int) bool {
	k, n := i, 0
	for ; n < 5 && monthLeads[p.word(k)] || p.num(k) != nil && p.num(k).digits <= 2; k, n = k+1, n+1 {
	}
	if w := p.word(k); n < 2 || w != "mois" && w != "month" && w != "months" || !p.fewMonths(i, k) {
		return false
	}
	if w := p.word(k + 1); w == "gratuit" || w == "gratuits" || w == "free" || w == "est" || w == "is" {
		return false
	}
	for k++; k < len(p.words) && k < i+60; k++ {
		if t := p.num(k); t != nil && t.cents > a.cents && t.cents < 3*a.cents && (p.sym(k+1) == '$' || p.sym(k-1) == '$') {
			return true
		}
	}
	return false
}

// monthLeads stand between an amount and the months for which it is the rent.
var monthLeads = set("pendant durant pour for the le les during first premier premiers two deux three trois")

// fewMonths tells whether the tokens from..to count no more than six months, or name the first ones.
func (p *Prose) fewMonths(from, to int) bool {
	for k := from; k < to; k++ {
		if w := p.word(k); w == "first" || w == "premier" || w == "premiers" {
			return true
		}
	}
	n, _ := p.small(to - 1)
	return n > 0 && n <= 6
}
