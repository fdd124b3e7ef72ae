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

// inclusions are the verdicts of one text: the first about each utility, and about a place for a car.
type inclusions struct {
	listing.Utilities
	parking *bool
}

// findings say which tokens a verdict was read from.
type findings [everything + 1]struct{ from, to int }

// slot is where the verdict on a utility goes, or nil.
func (u *inclusions) slot(what utility) **bool {
	switch what {
	case heat:
		return &u.Heat
	case hotWater:
		return &u.HotWater
	case electricity:
		return &u.Electricity
	case internet:
		return &u.Internet
	case water:
		return &u.Water
	case cable:
		return &u.Cable
	case parkingPlace:
		return &u.parking
	}
	return nil
}

// An inclusionReader gathers the verdicts of one text.
type inclusionReader struct {
	p *Prose
	inclusions
	where     findings // of everything: from where all or none was read
	all, none bool     // "tout inclus", "utilities not included"
	own       bool     // something was said of the advert's own home
}

// utilities reads every verdict on what the rent includes. The first about a thing stands, so the order of rules tells.
func (p *Prose) utilities() (inclusions, findings) {
	r := inclusionReader{p: p}
	p.answered(r.say)
	for i := range p.words {
		r.noBill(i)
		if p.addedList(i) {
			r.list(i, false, i-1)
		}
		if yes, ok := p.answersThing(i); ok {
			r.listBefore(i-1, yes, i)
		}
		if !p.about(i, anInclusion|aUtility|aFurnishing) {
			r.worded(i)
			continue
		}
		r.heatedOrLit(i)
		r.priced(i)
		r.short(i)
		r.shared(i)
		if p.about(i, anInclusion) {
			r.verdict(i)
		}
	}
	p.itemsAlone(r.say)
	p.checked(r.say)
	r.settle()
	return r.inclusions, r.where
}

// say notes a verdict on a thing, unless there is one: "chauffage inclus" in the tokens from..to.
func (r *inclusionReader) say(what utility, yes bool, from, to int) {
	other := r.p.ofOtherHome(from) // counts where nothing is said of the advert's own home
	if yes && (what == parkingPlace && r.p.noParking(from) || what == internet && (r.p.inCommon(from) ||
		r.p.shopGives(from))) || other && r.own {
		return
	}
	r.own = r.own || !other
	if what == collective && !r.all && !r.none {
		r.sayAll(yes, from, to)
	}
	if slot := r.slot(what); slot != nil && *slot == nil {
		*slot = new(yes)
		r.where[what].from, r.where[what].to = from, to
	}
}

// inCommon tells whether what is said from token i on is of rooms that are shared: "free wifi in common areas".
func (p *Prose) inCommon(i int) bool {
	for k := i + 1; k <= i+7 && !p.stop(k); k++ {
		if p.seq(k, "common", "areas") || p.seq(k, "aires", "communes") || p.seq(k, "espaces", "communs") {
			return p.word(k-1) == "in" || p.word(k-1) == "the" || p.word(k-1) == "les"
		}
	}
	return false
}

// sayAll notes a verdict on whatever is not named, "tout inclus", in place of an earlier one.
func (r *inclusionReader) sayAll(yes bool, from, to int) {
	r.all, r.none = yes, !yes
	r.where[everything].from, r.where[everything].to = max(from, 0), to
}

// sayServices notes a verdict on what "utilities" are.
func (r *inclusionReader) sayServices(yes bool, from, to int) {
	for _, what := range [...]utility{heat, hotWater, electricity} {
		r.say(what, yes, from, to)
	}
}

// list notes a verdict that begins at from on the list that begins at i: "inclus : chauffage, internet".
func (r *inclusionReader) list(i int, yes bool, from int) {
	r.p.list(i, func(what utility, last int) { r.say(what, yes, from, last) })
}

// listBefore notes a verdict that ends at to on the list that ends at i, "chauffage et eau chaude inclus", and tells
// whether there was one.
func (r *inclusionReader) listBefore(i int, yes bool, to int) (found bool) {
	r.p.listBefore(i, func(what utility, k int) {
		found = true
		r.say(what, yes, k, to)
	})
	return found
}

// beside notes what is included as well behind i, in a list that has its verdict: "chauffé, éclairé, eau chaude".
func (r *inclusionReader) beside(i, from int) {
	r.p.beside(i, func(what utility, last int) { r.say(what, true, from, last) })
}

// worded reads the verdict without a word of inclusion at i: "hydro au locataire", "heat + hydro in", "dans le prix :".
func (r *inclusionReader) worded(i int) {
	if k, ok := r.p.toTenant(i); ok {
		r.listBefore(k, false, i)
	} else if k, ok := r.p.inRent(i); ok {
		if !r.allExcept(k+1, i, true) {
			r.listBefore(k, true, i)
		}
	} else if yes, k := r.p.takesOn(i); k > 0 {
		r.list(k, yes, i)
	} else if r.p.without(i) {
		r.list(i+1, false, i)
	} else if what, k := r.p.ownContract(i); what != noUtility {
		r.say(what, false, k, i)
	} else if yes, k := r.p.priceHeads(i); k > 0 {
		r.list(k, yes, i)
	} else if r.p.allIn(i) {
		r.sayAll(true, i-1, i)
		if r.p.sym(i+1) == '(' { // "$1,000 all in (heat, hydro, internet)"
			r.list(i+1, true, i)
		}
	} else if k := r.p.thingsAllIn(i); k >= 0 {
		r.listBefore(k, true, i)
	} else if things, end := r.p.allBut(i); end > 0 {
		r.sayAll(true, i, end-1)
		r.sayEach(things, false, i+1)
	}
}

// heatedOrLit reads the participle at i and what is beside it: "chauffé, éclairé, wifi", "non chauffé".
func (r *inclusionReader) heatedOrLit(i int) {
	yes, on := r.p.participle(i)
	if on == noUtility {
		return
	}
	from := i
	for !yes && from > 0 && from > i-2 && !r.p.words[from].line {
		from--
	}
	r.say(on, yes, from, i)
	if !yes {
		r.neither(i, from)
		return
	}
	if r.p.word(i) == "ecl" { // "ch-écl"
		r.say(heat, true, i-2, i)
	}
	r.beside(i, i)
	if k := r.p.hotBefore(i); on == heat && k >= 0 {
		r.say(hotWater, true, k, i)
	}
}

// neither reads what is denied as well behind the participle at i: "pas chauffé, ni électricité".
func (r *inclusionReader) neither(i, from int) {
	k := i + 1
	if r.p.sym(k) == ',' {
		k++
	}
	if w := r.p.word(k); w != "ni" && w != "nor" {
		return
	}
	if what, end := r.p.thing(k + 1); what != noUtility {
		r.say(what, false, from, end)
	}
}

// priced reads what stands at i beside the rent: "590 $ + hydro", "560 $ avec chauffage".
func (r *inclusionReader) priced(i int) {
	p := r.p
	if what := p.onTop(i); what != noUtility {
		r.say(what, false, i-1, i)
		if more, end := p.thing(i + 2); (p.orAnd(i + 1)) && more != noUtility && p.listEnds(end+1) {
			r.say(more, false, i-1, end) // "$1,450 plus heat and hydro, water taxes paid"
		}
		if what == collective && p.sym(i+1) == '(' { // "+ utilities (hydro, gas, water)"
			r.list(i+1, false, i)
		}
	}
	if w := p.word(i - 1); w != "avec" && w != "with" || !p.rentEnds(i-2) {
		return
	}
	what, end := p.thing(i)
	if what == collective && p.listEnds(end+1) { // "$1,350 with utilities, wifi not included"
		r.say(what, true, i-1, end)
		return
	}
	w := p.word(i + 1)
	if what == heat && end == i && w != "not" && w != "non" && w != "en" && w != "extra" {
		// "560 $ avec chauffage"; "730 $ avec hydro" is a sum
		r.say(heat, true, i, i)
		r.beside(i, i)
	} else if w := p.word(end + 1); what == internet && (w == "et" || w == "and") { // "780 $ avec wifi et hydro"
		r.list(i, true, i)
	}
}

// short reads the abbreviations at i: "ch/écl", "n-ch.", "NC/NÉ", "chauffé / N.É.".
func (r *inclusionReader) short(i int) {
	if r.p.shortBoth(i) {
		r.say(heat, true, i, i+2)
		r.say(electricity, true, i, i+2)
	}
	if on := r.p.shortDenial(i); on != noUtility {
		r.say(on, false, i, i+2)
	}
	if end := r.p.notHeatedNotLit(i); end > i {
		r.say(heat, false, i, end)
		r.say(electricity, false, i, end)
	}
	if end := r.p.heatedNotLit(i); end > i {
		r.say(electricity, false, i, end)
	}
}

// shared reads the services at i that need no verdict: "all utilities but hydro", "40 % of hydro".
func (r *inclusionReader) shared(i int) {
	if r.p.allUtilities(i) {
		r.say(collective, true, i-1, i)
		if r.p.excepts(i + 1) { // "all utilities but hydro"
			things, _ := r.p.thingsFrom(i + 2)
			r.sayEach(things, false, i)
		} else {
			r.list(i+1, true, i)
		}
	}
	if r.p.shareOf(i) {
		r.list(i, false, i)
	}
	if r.p.pricedApart(i) {
		r.say(collective, false, i, i)
	}
	if what, end := r.p.thing(i); (what == internet || what == cable) && r.p.sumBehind(end+1, 150_00) {
		r.say(what, false, i, end)
	}
}

// settle says what "tout inclus, sauf l'hydro" means for what was not named.
func (r *inclusionReader) settle() {
	at := r.where[everything]
	if r.all || r.none {
		r.p.exceptions(at.to, func(what utility, k int) {
			if r.none && r.p.ended(at.to, k) { // of another sentence
				return
			}
			switch what { // an exception is nearer the truth than what was said before
			case heat, electricity, hotWater:
				*r.slot(what) = nil
			}
			r.say(what, r.none, at.from, k)
		}, r.none)
		r.sayServices(r.all, at.from, at.to)
	}
}

// An inclusion is one verdict of words, "inclus", "not included", in the tokens from..to: the word is at i.
type inclusion struct {
	*inclusionReader
	i, from, to int
	yes         bool
	answered    bool // "Heat included: No"
}

// verdict reads what the word of inclusion at i is about.
func (r *inclusionReader) verdict(i int) {
	yes, from, to, ok := r.p.verdict(i)
	if !ok || r.p.seq(i, "including", "rent") { // "details, including rent and utilities, may change"
		return
	}
	v := inclusion{r, i, from, to, yes, false}
	if said := r.p.answerAfter(to); said != 0 {
		v.answered, v.yes = true, said == saysIncluded
	}
	switch { // the first that finds something ends the reading
	case v.ofNothing(), v.ofAllExcept(), v.byOwner(), v.ofEverything(), v.ofAllBehind(), v.ofAllPaid(), v.ofSum():
	default:
		v.ofLists()
	}
}

// ofNothing reads "rien d'inclus", "aucun service compris".
func (v *inclusion) ofNothing() bool {
	k := v.p.nothing(v.i, v.from)
	switch said := inclusionWords[v.p.word(v.i)]; {
	case k < 0:
	case said == saysPays || said == saysPaid: // "you pay nothing else", "rien à payer sauf Hydro"
		if next := v.to + 1; v.p.excepts(next) {
			things, _ := v.p.thingsFrom(next + 1)
			v.sayEach(things, false, next)
		}
	case said != saysExtra: // "nothing extra" is no denial
		v.sayAll(false, k, v.to)
	}
	return k >= 0
}

// ofAllExcept reads "all utilities except hydro are included".
func (v *inclusion) ofAllExcept() bool {
	return v.allExcept(v.from, v.to, v.yes)
}

// byOwner reads "heat paid by the landlord": it is about what stands before it alone, and not about the upkeep of a
// thing, "entretien du chauffage payé par le propriétaire".
func (v *inclusion) byOwner() bool {
	if inclusionWords[v.p.word(v.i)] != saysPaid || !landlords[v.p.word(v.to)] {
		return false
	}
	if v.p.allBills(v.from - 1) {
		v.sayAll(v.yes, v.from-1, v.to)
		return true
	}
	v.p.listBefore(v.from-1, func(what utility, k int) {
		if !v.p.upkeepOf(k) {
			v.say(what, v.yes, k, v.to)
		}
	})
	return true
}

// ofEverything reads "tout inclus", "utilities not included" and what is named beside it.
func (v *inclusion) ofEverything() bool {
	p := v.p
	ok, enumerated := p.everything(v.from, v.to)
	switch {
	case !ok || !v.yes && !collectives[p.lastWord(v.from)]:
		return false
	case enumerated:
	case v.yes:
		v.sayAll(true, v.from-1, v.to)
	default:
		v.say(collective, false, v.from-1, v.to)
	}
	next := v.to + 1
	if p.sym(next) == ';' && next+1 < len(p.words) && !p.words[next+1].line { // "loué tout inclus; internet, télé"
		next++
	}
	v.list(next, v.yes, v.i)
	if p.sym(next) == '.' && p.sym(next+1) == '(' {
		next++
	}
	if w := p.word(next + 1); v.yes && p.sym(next) == '(' && (w == "no" || w == "not" || w == "sans" || w == "pas") {
		v.list(next+2, false, next) // "all utilities incl. (no internet)"
	}
	if v.yes {
		p.listBefore(v.from-2, func(what utility, k int) { // "internet, tout compris"
			if what == internet || what == cable {
				v.say(what, true, k, v.to)
			}
		})
	}
	return true
}

// ofAllBehind reads "includes everything but hydro".
func (v *inclusion) ofAllBehind() bool {
	ok := v.yes && v.p.allOf(v.i, v.to+1)
	if ok {
		v.sayAll(true, v.i, v.to+1)
		if s := v.p.sym(v.to + 2); s == ':' || s == '(' { // "incluant tout : électricité, internet"
			v.list(v.to+2, true, v.i)
		}
	}
	return ok
}

// ofAllPaid reads "le locataire paie tout sauf le chauffage".
func (v *inclusion) ofAllPaid() bool {
	w := v.p.word(v.to + 1)
	ok := !v.yes && inclusionWords[v.p.word(v.i)] == saysPays && (w == "tout" || w == "everything") &&
		exceptWords[v.p.word(v.to+2)]
	if ok {
		v.sayAll(false, v.from, v.to+1)
	}
	return ok
}

// ofSum reads "$995 inclusive": all that the rent may include.
func (v *inclusion) ofSum() bool {
	ok := v.yes && v.p.word(v.i) == "inclusive" && v.p.sumBefore(v.from) && v.p.listEnds(v.to+1)
	if ok {
		v.sayAll(true, v.from, v.to)
	}
	return ok
}

// ofLists reads the list before the verdict, "chauffage et eau chaude inclus", and the one behind it, "inclus : eau".
func (v *inclusion) ofLists() {
	p, next := v.p, v.to+1
	if v.yes {
		v.butNot()
	}
	v.contrast()
	before := p.word(v.i) != "inclure" && // "en plus d'inclure l'internet": what it is about follows
		!p.paysFor(v.i, next) && !v.headed(next) && !p.freeThing(v.i) && v.listBefore(p.theOnly(v.from-1), v.yes, v.to)
	if v.answered {
		return
	}
	if what, k := p.pricedThing(v.from - 1); !v.yes && !before && what != noUtility {
		v.say(what, false, k, v.to)
		if p.sym(v.from-1) == ')' { // "heat, hydro (approx. $90) not included"
			v.listBefore(k, false, v.to)
		}
		if what == collective && p.sym(k+1) == '(' { // "utilities (heat, hydro) approx. $150 extra"
			v.list(k+1, false, v.i)
		}
		return
	}
	if v.yes && before {
		p.inBrackets(next, func(what utility, k int) { v.say(what, true, v.from, k) })
		if p.unruled(next) {
			v.beside(v.to, v.from)
		}
	}
	apart := p.sym(v.from-1) == ',' && next < len(p.words) && p.words[next].line &&
		p.parkingLine(v.from-1) // "Parking - one spot, included", a line of its own
	if end := p.heading(v.to); end > 0 && !before && !apart {
		p.lines(end, func(what utility, k int) { v.say(what, v.yes, k, k) })
	} else if (!before || p.sym(next) == ':') && !apart {
		p.list(next, func(what utility, k int) {
			if p.includedApart(v, k) {
				return
			}
			if what != parkingPlace || !amenitiesOf[p.word(v.from-1)] { // what there is, not what the rent includes
				v.say(what, v.yes, v.from, k)
			}
		})
	}
}

// parkingLine tells whether the line of the token at i begins with parking, a few words before it.
func (p *Prose) parkingLine(i int) bool {
	for k := i - 1; k >= 0 && k >= i-8; k-- {
		if p.words[k].line || k == 0 {
			return p.about(k, aParking)
		}
	}
	return false
}

// amenitiesOf are subjects of "include" of which the things may cost extra.
var amenitiesOf = set("amenities commodites caracteristiques facilities")

// The words for heated and for lit, those that may stand between the two, and those that stand behind lit.
var (
	heatedWords = set("chauffe chauffes chauffee chauffees chauffer chauffez")
	litWords    = set("eclaire eclaires eclairee eclairees eclairer eclairez")
	litFillers  = set("et eau chaude inclus incluse inclue compris comprise fourni fournie meuble meublee meubles semi")
	litBeside   = set("chauffe chauffee chauffes chauffees eau")
)

// participle reads "chauffé", "non éclairé", "heated" at i.
func (p *Prose) participle(i int) (yes bool, on utility) {
	switch w := p.word(i); {
	case p.orNot(i):
	case heatedWords[w] || w == "heated" || w == "chauf" || w == "unheated":
		if l := p.word(i - 1); p.heatedThing(i) || w == "chauffe" && (l == "qui" || l == "se") { // "qui chauffe"
			return false, noUtility
		}
		return w != "unheated" && !p.denied(i) && !p.deniedBehind(i), heat
	case litWords[w]:
		return p.lit(i)
	case w == "lighted", w == "lit": // "Heated, lighted", a translation of "chauffé, éclairé"
		k := i - 1
		if p.denied(i) { // "not heated, not lit"
			k--
		}
		for ; k >= i-4 && !heatedAfter[p.word(i+1)]; k-- {
			if p.word(k) == "heated" {
				return !p.denied(k), electricity
			}
			if !p.glue(k) && p.word(k) != "lighted" {
				break
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

// orNot tells whether what the word at i says is a choice: "chauffé ou non", "heated or not heated".
func (p *Prose) orNot(i int) bool {
	choice := func(w, n string) bool {
		return (w == "ou" || w == "or") && (n == "non" || n == "pas" || n == "not")
	}
	return choice(p.word(i+1), p.word(i+2)) || choice(p.word(i-2), p.word(i-1))
}

// lit reads "éclairé" at i. Without a denial it is electricity only beside "chauffé" or "eau chaude": alone, and after
// "bien", it means bright.
func (p *Prose) lit(i int) (yes bool, on utility) {
	if p.denied(i) || p.seq(i+1, "en", "sus") || p.deniedBehind(i) {
		return false, electricity
	}
	if w := p.word(i - 1); p.sym(i+1) == ':' && answers[p.word(i+2)] == saysIncluded && w != "bien" && w != "tres" {
		return true, electricity // "éclairé : oui"
	}
	for k := i - 1; k >= 0 && k >= i-7; k-- {
		switch w := p.word(k); {
		case heatedWords[w]: // "chauffé et eau chaude, éclairé"
			return !p.denied(k) || p.word(i-1) == "mais", electricity
		case w != "" && !litFillers[w]:
			return false, noUtility
		}
		if p.sym(k) == '.' || p.sym(k) == ';' || p.words[k].line {
			break
		}
	}
	if p.litAndHeated(i) {
		return true, electricity
	}
	return false, noUtility
}

// litAndHeated tells whether "éclairé" at i is of "éclairé et chauffé", "éclairé/eau chaude", and not of "éclairé - eau
// chaude incluse" or "bien éclairé, chauffé".
func (p *Prose) litAndHeated(i int) bool {
	n := p.word(i + 2)
	if w := p.word(i - 1); w == "bien" || w == "tres" || !litBeside[n] || n == "eau" && p.word(i+3) != "chaude" {
		return false
	}
	s := p.sym(i + 1)
	return p.word(i+1) == "et" || s == '/' || s == '+' || (s == '-' || s == ',') && n != "eau"
}
