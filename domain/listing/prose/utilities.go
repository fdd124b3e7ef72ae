package prose

import (
	"strings"

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

// lineFillers describe internet or a television on a line that has nothing else.
var lineFillers = set("haute vitesse illimite illimitee high speed unlimited et and de base tele tv television cable " +
	"cables gratuit inclus incluse included fi")

// itemsAlone calls f for internet and cable that are a line of a list by themselves, "- Internet haute vitesse", and
// for "éclairé" that is: what is bright is "bien éclairé".
func (p *Prose) itemsAlone(f func(what utility, yes bool, from, to int)) {
	for i := range p.words {
		if i == 0 || !p.words[i].line {
			continue
		}
		k := i
		for p.sym(k) == '-' || p.sym(k) == '*' || p.sym(k) == ';' || p.sym(k) == '+' {
			k++
		}
		what, last := p.thing(k)
		lit := litWords[p.word(k)]
		if what != internet && what != cable && !lit || k >= len(p.words) || p.words[k].line && k > i {
			continue
		}
		if lit {
			what, last = electricity, k
		}
		end := last + 1
		for end < len(p.words) && !p.words[end].line && (lineFillers[p.word(end)] && !lit || p.words[end].kind == symbol &&
			p.sym(end) != '$' && p.sym(end) != ':' && p.sym(end) != '(') {
			end++
		}
		if end < len(p.words) && !p.words[end].line || end == len(p.words) && lit {
			continue
		}
		for n := k; n < end; n++ {
			if thing, to := p.thing(n); thing == internet || thing == cable {
				f(thing, true, n, to)
			}
		}
		if lit {
			f(what, true, k, k)
		}
	}
}

// answered calls f for each thing that "yes" or "no" answers as on a form: "Chauffage : oui", "Hydro - NO", "internet
// (non)". The answer ends its item, "Internet : no limit" is none, and nothing more is said of it: "Internet: yes
// ($60)". A television may be furniture.
func (p *Prose) answered(f func(what utility, yes bool, from, to int)) {
	for i := range p.words {
		s := p.sym(i)
		if s != ':' && s != '-' && s != '(' && s != '=' {
			continue
		}
		said := answers[p.word(i+1)]
		if s == ':' && said == 0 { // "Chauffage : locataire"
			said = payers[p.word(i+1)]
		}
		if said == 0 || !p.stop(i+2) && p.words[i+2].kind != symbol && !p.valueEnds(int(p.words[i+1].end)) ||
			p.qualified(i+2) {
			continue
		}
		k := i - 1
		if w := p.word(k); w == "chaude" || w == "water" && p.word(k-1) == "hot" {
			k--
		} else if w == "fi" { // "wi-fi"
			if k--; p.sym(k) == '-' {
				k--
			}
		}
		if w := p.word(k); w == "tv" || w == "television" {
			continue
		}
		if what, end := p.thing(k); end == i-1 && what != noUtility && what < parkingPlace && p.itemBegins(k) &&
			!p.underExcluded(k) {
			f(what, said == saysIncluded, k, i+1)
		}
	}
}

// underExcluded tells whether the item at k is on a form under what the tenant pays or the rent has not, where "yes"
// says the contrary: "Tenant pays: Heat: yes", "Not included - Internet: yes". What is said of one thing, "Hydro:
// tenant pays, Heat: yes", is no heading.
func (p *Prose) underExcluded(k int) bool {
	for end := k - 1; end >= 0 && !p.stop(end+1); {
		from := end
		for from > 0 && (p.words[from].kind != symbol || p.sym(from) == '$') && !p.stop(from) {
			from--
		}
		excluded, thing := false, false
		for m := from; m <= end; m++ {
			yes, _, _, ok := p.verdict(m)
			excluded = excluded || ok && !yes || tenants[p.word(m)]
			what, _ := p.thing(m)
			thing = thing || what != noUtility
		}
		s, next := p.sym(from), p.sym(end+1)
		label, _ := p.thing(from - 1)
		heads := next == ':' || next == '(' || next == '-'
		value := label != noUtility && label != collective && (s == ':' || s == '-' || s == '(' || s == '=') ||
			s == ':' && label == noUtility && !heads // "Pets: extra, Heat: yes"
		if excluded && !value && (!thing || heads) {
			return true
		}
		if p.stop(from) {
			return false
		}
		end = from - 1
	}
	return false
}

// qualified tells whether an answer that ends before k goes on to a sum or to who pays: "oui, en sus", before the next
// label.
func (p *Prose) qualified(k int) bool {
	for n := k; n <= k+7 && !p.stop(n); n++ {
		switch s := p.sym(n); {
		case s == '$', p.about(n, anInclusion|aMoney), tenants[p.word(n)], p.word(n) == "extra":
			return true
		case s == ':', s == '=', s == '*', s == '|', s == '(' && n > k:
			return false
		}
	}
	return false
}

// itemBegins tells whether an item of a list or form begins at i.
func (p *Prose) itemBegins(i int) bool {
	if i == 0 || p.words[i].line || p.words[i-1].kind == symbol {
		return true
	}
	w := p.word(i - 1)
	return p.sym(i-2) == ':' && (answers[w] != 0 || payers[w] != 0) // "Hydro: no Heat: yes"
}

// noParking tells whether the parking at i is denied: "aucun stationnement inclus", "0 parking included".
func (p *Prose) noParking(i int) bool {
	t := p.num(i - 1)
	return p.deniedThing(i) || t != nil && t.cents == 0
}

// thingNames are the one-word names of the things that a rent may include.
var thingNames = meanings(map[utility]string{
	heat:         "chauffage heat heating",
	electricity:  "eclairage electricite electricity hydro elec electrique power",
	water:        "eau water",
	internet:     "internet wifi",
	cable:        "cable cables cablo television tv tele",
	parkingPlace: "stationnement stationnements stationement parking parkings garage",
	furniture:    "meubles furniture",
	otherThing:   "chauffe chauffee",
	collective:   "utilities utilites",
})

// thing reads the name of something that a rent may include, at i, and returns its last token.
func (p *Prose) thing(i int) (utility, int) {
	w, next := p.word(i), p.word(i+1)
	switch what := thingNames[w]; {
	case what == cable && (p.word(i-1) == "smart" || p.word(i-1) == "screen"): // a set, not a subscription
		return otherThing, i
	case w == "services": // "comprend tous les services", but not "près de tous les services"
		if l := p.word(i - 3); p.seq(i-2, "tous", "les") && l != "de" && l != "a" || p.word(i-1) == "all" {
			return collective, i
		}
		return otherThing, i
	case what == heat && (next == "electrique" || next == "central"):
		return heat, i + 1
	case what == otherThing && (next == "eau" || p.sym(i+1) == '-' && p.word(i+2) == "eau"): // "chauffe-eau"
		return otherThing, i + 1
	case w == "power" && powered[next]:
		return otherThing, i + 1
	case w == "hydro" && p.sym(i+1) == '-' && p.word(i+2) == "quebec":
		return electricity, i + 2
	case w == "hydro" && next == "quebec":
		return electricity, i + 1
	case w == "water" && p.word(i-1) == "hot":
		return hotWater, i
	case what == water && (next == "chaude" || next == "ch" || next == "chaud"):
		return hotWater, i + 1
	case what == water && p.sym(i+1) == '-' && p.word(i+2) == "chaude":
		return hotWater, i + 2
	case what == water && (p.seq(i-2, "a", "l") || p.word(i-1) == "d" && watersOf[p.word(i-2)]): // "chauffage à l'eau"
		return otherThing, i
	case what == water && p.sym(i-1) == '-' && p.word(i-2) == "chauffe":
		return otherThing, i
	case what != noUtility:
		return what, i
	case w == "au" && next == "chaude": // a slip of "eau chaude"
		return hotWater, i + 1
	case w == "hot" && next == "water":
		return hotWater, i + 1
	case w == "wi" && (p.word(i+2) == "fi" || next == "fi"):
		return internet, i + 2
	case things[w] || p.about(i, anAmenity):
		return otherThing, i
	}
	return noUtility, i
}

// powered are things that "power" stands before, as in "power outlets".
var powered = set("outlet outlets window windows tool tools wash washing backup generator door doors recliner " +
	"shower supply cord")

// watersOf are things "d'eau" that are not the water.
var watersOf = set("salle salles entree entrees bord point chute vue taxe taxes")

// things go on lists of inclusions without being a field of Utilities.
var things = set("electromenager electromenagers electros electro refrigerateur refrigerateurs frigo frigidaire " +
	"poele cuisiniere four laveuse " +
	"secheuse lave vaisselle deneigement gym piscine casier rangement locker balcon micro ondes micros onde ac " +
	"climatiseur store stores " +
	"rideaux toiles appliances fridge stove washer dryer dishwasher microwave gaz gas tondage gazon taxes taxe " +
	"ameublement luminaires " +
	"entretien janitor conciergerie concierge snow removal rangements cabanon sauna spa telephone phone " +
	"buanderie laundry conditioning conditioner sewer garbage recycling trash blinds curtains coverings fixtures " +
	"furnishings smart netflix linens bedding dishes maintenance lawn security cleaning housekeeping " +
	"aspirateur echangeur fibre optique illimite illimitee haute vitesse unlimited high speed exterieur interieur " +
	"lit lits commode divan sofa couch table tables chaises desk ustensiles utensils cookware " +
	"mazout propane huile " +
	"appareil appareils insurance assurance assurances literie vaisselles electrique terminal videotron decodeur")

// accentedAt tells whether the text has the word at i with an accent, whatever its case.
func (p *Prose) accentedAt(i int) bool {
	t := &p.words[i]
	from := int(p.at[t.start])
	return from+len(t.w) > len(p.text) || !strings.EqualFold(p.text[from:from+len(t.w)], t.w)
}
