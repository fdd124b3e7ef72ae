package prose

import (
	"github.com/mtlrent/conveyor/domain/listing"
)

// A utility is one of the things that a rent may include.
type utility uint8

const (
	noUtility utility = iota
	heat
	hotWater
	electricity
	internet
	water
	cable
	parkingPlace
	furniture
	otherThing // an appliance, snow removal …: it goes on a list, nothing more
	collective // "utilities", "services": heat, hot water and electricity, unless one is named apart
	everything
)

// inclusions are the verdicts of one text: the first about each utility, and all when "tout inclus" was said.
type inclusions struct {
	listing.Utilities
	all     bool
	parking *bool
}

// findings say which tokens a verdict was read from.
type findings [everything + 1]struct{ from, to int }

func (u *inclusions) say(what utility, yes bool) (first bool) {
	var slot **bool
	switch what {
	case heat:
		slot = &u.Heat
	case hotWater:
		slot = &u.HotWater
	case electricity:
		slot = &u.Electricity
	case internet:
		slot = &u.Internet
	case water:
		slot = &u.Water
	case cable:
		slot = &u.Cable
	case parkingPlace:
		slot = &u.parking
	default:
		return false
	}
	if *slot != nil {
		return false
	}
	v := yes
	*slot = &v
	return true
}

// amenitiesOf are subjects of "include" of which the things may cost extra.
var amenitiesOf = set("amenities commodites caracteristiques facilities")

// utilities reads every verdict on what the rent includes.
func (p *Prose) utilities() (u inclusions, where findings) {
	all, none, allAt := false, false, [2]int{}
	say := func(what utility, yes bool, from, to int) {
		if what == parkingPlace && yes && p.noParking(from) {
			return
		}
		if what == collective && !all && !none {
			all, none, allAt = yes, !yes, [2]int{max(from, 0), to}
		}
		if u.say(what, yes) {
			where[what].from, where[what].to = from, to
		}
	}
	p.answered(func(what utility, yes bool, from, to int) { say(what, yes, from, to) })
	for i := range p.words {
		t := &p.words[i]
		if t.topic&(anInclusion|aUtility|aFurnishing) == 0 && t.w != "sauf" && t.w != "except" && t.w != "excepte" {
			if k, ok := p.toTenant(i); ok {
				p.listBefore(k, func(what utility, k int) { say(what, false, k, i) })
			} else if k, ok := p.inRent(i); ok {
				p.listBefore(k, func(what utility, k int) { say(what, true, k, i) })
			} else if yes, k := p.priceHeads(i); k > 0 {
				p.list(k, func(what utility, k int) { say(what, yes, i, k) })
			}
			continue
		}
		if yes, on := p.participle(i); on != noUtility {
			from := i
			for !yes && from > 0 && from > i-2 && !p.words[from].line {
				from--
			}
			say(on, yes, from, i)
			if yes && on == electricity && p.word(i) == "ecl" { // "ch-écl"
				say(heat, true, i-2, i)
			}
			if yes {
				p.beside(i, func(what utility, k int) { say(what, true, i, k) })
			}
		}
		if p.shortBoth(i) {
			say(heat, true, i, i+2)
			say(electricity, true, i, i+2)
		}
		if what := p.onTop(i); what != noUtility {
			say(what, false, i-1, i)
		}
		if w := p.word(i - 1); (w == "avec" || w == "with") && (p.sym(i-2) == '$' || p.word(i-2) == "mois") {
			what, end := p.thing(i)
			if what == heat && end == i { // "560 $ avec chauffage"; "730 $ avec hydro" is a sum
				say(heat, true, i, i)
				p.beside(i, func(what utility, k int) { say(what, true, i, k) })
			} else if w := p.word(end + 1); what == internet && (w == "et" || w == "and") { // "780 $ avec wifi et hydro"
				p.list(i, func(what utility, k int) { say(what, true, i, k) })
			}
		}
		if on := p.shortDenial(i); on != noUtility {
			say(on, false, i, i+2)
		}
		if end := p.notHeatedNotLit(i); end > i {
			say(heat, false, i, end)
			say(electricity, false, i, end)
		}
		if e := p.heatedNotLit(i); e > i {
			say(electricity, false, i, e)
		}
		if p.allUtilities(i) {
			say(collective, true, i-1, i)
			yes := true
			from := i + 1
			if exceptWords[p.word(from)] { // "all utilities but hydro"
				yes, from = false, from+1
			}
			p.list(from, func(what utility, k int) { say(what, yes, i, k) })
		}
		if p.shareOf(i) {
			p.list(i, func(what utility, k int) { say(what, false, i, k) })
		}
		if t.topic&anInclusion == 0 {
			continue
		}
		yes, from, to, ok := p.verdict(i)
		if !ok {
			continue
		}
		if p.word(i) == "including" && p.word(i+1) == "rent" { // "details, including rent and utilities, may change"
			continue
		}
		answered := false
		if said := p.answerAfter(to); said != 0 { // "Heat included: No"
			answered, yes = true, said == saysIncluded
		}
		if k := p.nothing(i, from); k >= 0 {
			for _, what := range [...]utility{heat, hotWater, electricity} {
				say(what, false, k, to)
			}
			continue
		}
		if k := p.exceptBefore(from); k >= 0 { // "all utilities except hydro are included"
			say(collective, yes, k-1, to)
			p.list(k+1, func(what utility, end int) {
				if end < from {
					say(what, !yes, k, end)
				}
			})
			continue
		}
		if p.byOwner(i, to) {
			p.listBefore(from-1, func(what utility, k int) {
				if !p.upkeepOf(k) {
					say(what, yes, k, to)
				}
			})
			continue
		}
		if ok, enumerated := p.everything(from, to); ok && (yes || collectives[p.lastWord(from)]) {
			if !enumerated && yes {
				all, none, allAt = true, false, [2]int{max(from-1, 0), to}
			} else if !enumerated {
				say(collective, false, max(from-1, 0), to)
			}
			next := to + 1
			if p.sym(next) == ';' && next+1 < len(p.words) && !p.words[next+1].line { // "loué tout inclus; internet, télé"
				next++
			}
			p.list(next, func(what utility, k int) { say(what, yes, i, k) })
			p.listBefore(from-2, func(what utility, k int) { // "internet, tout compris"
				if yes && (what == internet || what == cable) {
					say(what, true, k, to)
				}
			})
			continue
		}
		if yes && p.allOf(i, to+1) {
			all, none, allAt = true, false, [2]int{i, to + 1}
			continue
		}
		if k := p.butNot(to + 1); yes && k > 0 {
			p.list(k, func(what utility, end int) { say(what, false, to+1, end) })
		}
		if k := p.butNotLater(to + 1); yes && k > 0 { // "inclut l'eau chaude, mais pas l'électricité"
			p.list(k, func(what utility, end int) { say(what, false, k, end) })
		}
		n := 0
		if p.word(i) != "inclure" && !p.paysFor(i, to+1) { // "en plus d'inclure l'internet": what it is about follows
			p.listBefore(from-1, func(what utility, k int) {
				n++
				say(what, yes, k, to)
			})
		}
		if yes && n > 0 && !answered {
			p.inBrackets(to+1, func(what utility, k int) { say(what, true, from, k) })
		}
		if yes && n > 0 && !answered && p.word(i) != "inclure" && p.unruled(to+1) {
			p.beside(to, func(what utility, k int) { say(what, true, from, k) })
		}
		if end := p.heading(to); end > 0 && n == 0 && !answered {
			p.lines(end, func(what utility, k int) { say(what, yes, k, k) })
		} else if !answered && (n == 0 || p.sym(to+1) == ':') {
			p.list(to+1, func(what utility, k int) {
				if what != parkingPlace || !amenitiesOf[p.word(from-1)] { // what there is, not what the rent includes
					say(what, yes, from, k)
				}
			})
		}
	}
	p.itemsAlone(say)
	if all {
		u.all = true
		where[everything].from, where[everything].to = allAt[0], allAt[1]
		p.exceptions(allAt[1], func(what utility, k int) {
			switch what { // an exception is nearer the truth than what was said before
			case heat:
				u.Heat = nil
			case electricity:
				u.Electricity = nil
			case hotWater:
				u.HotWater = nil
			}
			say(what, false, allAt[0], k)
		})
		for _, what := range [...]utility{heat, hotWater, electricity} {
			say(what, true, allAt[0], allAt[1])
		}
	}
	if none {
		for _, what := range [...]utility{heat, hotWater, electricity} {
			say(what, false, allAt[0], allAt[1])
		}
	}
	return u, where
}

// The words for heated and for lit, and those that may stand between the two.
var (
	heatedWords = set("chauffe chauffes chauffee chauffees chauffer chauffez")
	litWords    = set("eclaire eclaires eclairee eclairees eclairer eclairez")
	litFillers  = set("et eau chaude inclus incluse inclue compris comprise fourni fournie")
)

// participle reads "chauffé", "non éclairé", "heated" at i.
func (p *Prose) participle(i int) (yes bool, on utility) {
	w := p.word(i)
	switch {
	case heatedWords[w] || w == "heated" || w == "chauf" || w == "unheated":
		if l := p.word(i - 1); p.heatedThing(i) || w == "chauffe" && (l == "qui" || l == "se") { // "qui chauffe"
			return false, noUtility
		}
		return w != "unheated" && !p.denied(i) && !p.deniedBehind(i), heat
	case litWords[w]:
		if p.denied(i) || p.seq(i+1, "en", "sus") || p.deniedBehind(i) {
			return false, electricity
		}
		// Without a denial it is electricity only beside "chauffé" or "eau chaude": alone, and after "bien", it means
		// bright.
		for k := i - 1; k >= 0 && k >= i-7; k-- {
			switch w := p.word(k); {
			case heatedWords[w]:
				return !p.denied(k) || p.word(i-1) == "mais", electricity
			case w != "" && !litFillers[w]:
				return false, noUtility
			}
			if p.sym(k) == '.' || p.sym(k) == ';' || p.words[k].line {
				break
			}
		}
		switch n := p.word(i + 2); n {
		case "chauffe", "chauffee", "chauffes", "chauffees", "eau":
			if n == "eau" && p.word(i+3) != "chaude" {
				break
			}
			if p.word(i-1) != "bien" && p.word(i-1) != "tres" && (p.word(i+1) == "et" || p.sym(i+1) == '/' ||
				(p.sym(i+1) == '-' || p.sym(i+1) == ',') && n != "eau" || p.sym(i+1) == '+') {
				return true, electricity
			}
		}
	case w == "lighted": // "Heated, lighted", a translation of "chauffé, éclairé"
		for k := i - 1; k >= i-3; k-- {
			if p.word(k) == "heated" {
				return !p.denied(k), electricity
			}
		}
	case w == "ecl": // "chauffé/écl."
		if s := p.sym(i - 1); s == '/' || s == '-' || s == '&' {
			if w := p.word(i - 2); w == "chauffe" || w == "chauffee" || w == "chauf" || w == "ch" {
				return !p.denied(i - 2), electricity
			}
		}
	}
	return false, noUtility
}

// deniedBehind tells whether "non" alone follows the participle at i: "chauffé oui, éclairé non".
func (p *Prose) deniedBehind(i int) bool {
	w := p.word(i + 1)
	return (w == "non" || w == "no") && (p.stop(i+2) || p.sym(i+2) == ',' || p.sym(i+2) == ')')
}

// beside calls f when "eau chaude" or "wifi" follows the participle at i on the same list without a verdict of its own:
// "chauffé, éclairé, eau chaude". "Chauffé à l'eau chaude" is a sort of heating.
func (p *Prose) beside(i int, f func(what utility, last int)) {
	for k, n := i+1, 0; n < 9 && k < len(p.words) && !p.words[k].line; k, n = k+1, n+1 {
		switch s := p.sym(k); {
		case s == ',' || s == '/' || s == '&' || s == '+' || s == '-':
			continue
		case s != 0:
			return
		}
		if w := p.word(k); w == "et" || w == "and" {
			continue
		}
		what, end := p.thing(k)
		if p.word(k) == "ec" && p.accentedAt(k) { // "chauffé/éc", cut off
			return
		} else if p.word(k) == "ec" { // "chauffé/EC"
			what = hotWater
		}
		if what != hotWater && what != internet && what != cable {
			if yes, on := p.participle(k); on == electricity && yes {
				continue
			}
			if what == otherThing && n < 6 { // "chauffé, éclairé, laveuse-sécheuse, wifi"
				k = end
				continue
			}
			return
		}
		for m := end + 1; m <= end+3 && m < len(p.words); m++ {
			if w := p.word(m + 1); p.sym(m) == ',' && (w == "non" || w == "pas") { // "chauffé, eau chaude, non éclairé"
				if _, on := p.participle(m + 2); on == electricity {
					break
				}
			}
			if p.about(m, anInclusion|aNegation) {
				return
			}
		}
		f(what, end)
		k = end
	}
}

// unruled tells whether the rest of the sentence from token i on has no rule of its own: "chauffage inclus, câble et
// internet", but not "chauffage inclus, câble et internet aux frais du locataire".
func (p *Prose) unruled(i int) bool {
	for k := i; k < len(p.words) && !p.stop(k); k++ {
		if p.about(k, anInclusion|aNegation|aMoney) || exceptWords[p.word(k)] || onOffer[p.word(k)] || p.sym(k) == '$' ||
			p.sym(k) == ':' || p.word(k) == "plus" || p.word(k) == "mais" {
			return false
		}
	}
	return true
}

// inBrackets calls f for each thing of a list in brackets that begins at i, if nothing else is in them: "électricité
// incluse (chauffage + eau chaude)", but not "chauffage inclus (à l'eau chaude)".
func (p *Prose) inBrackets(i int, f func(what utility, last int)) {
	if p.sym(i) != '(' {
		return
	}
	var found []utility
	k := i + 1
	for ; k < len(p.words) && k < i+14 && p.sym(k) != ')'; k++ {
		what, end := p.thing(k)
		if what != noUtility {
			found = append(found, what)
			k = end
			continue
		}
		switch w := p.word(k); {
		case w == "et", w == "and", w == "le", w == "la", w == "l", w == "les", p.sym(k) == ',', p.sym(k) == '+',
			p.sym(k) == '&', p.sym(k) == '/':
		default:
			return
		}
	}
	if p.sym(k) == ')' {
		for _, what := range found {
			f(what, k)
		}
	}
}

// onTop reads the cost at i that "590 $ + hydro", "lease + hydro" or "plus utilities" adds to the rent.
func (p *Prose) onTop(i int) utility {
	if i < 1 || p.sym(i-1) != '+' && p.word(i-1) != "plus" || p.words[i].line {
		return noUtility
	}
	what, end := p.thing(i)
	if what != electricity && what != heat && what != collective {
		return noUtility
	}
	t := p.num(i - 2)
	priced := p.sym(i-2) == '$' || p.word(i-2) == "mois" || p.word(i-2) == "month" || t != nil && t.digits >= 3
	if before, _ := p.thing(i - 2); !priced && (what == heat || before != noUtility) { // "water + hydro", on a list
		k := i - 2
		for n := 0; n < 3 && before != noUtility && p.sym(k-1) == '+'; n++ { // "$1,650 + heat + hydro"
			k -= 2
			before, _ = p.thing(k)
		}
		if t := p.num(k); k == i-2 || p.sym(k) != '$' && p.word(k) != "mois" && p.word(k) != "month" && (t == nil ||
			t.digits < 3) {
			return noUtility
		}
	}
	for k := end + 1; k <= end+4 && !p.stop(k); k++ {
		if w := p.word(k + 1); p.sym(k) == ',' && (w == "everything" || w == "all" || w == "tout" || w == "le") {
			break // "plus electricity, everything else included"
		}
		if p.about(k, anInclusion) {
			return noUtility
		}
	}
	return what
}
