package prose

// A namedThing is a thing that a rent may include, and the last token of its name.
type namedThing struct {
	what utility
	last int
}

// thingsFrom reads the things that are listed from token i on and returns the token that ends the list: "hydro and
// internet, no pets". A comma ends it, unless a utility follows. It returns 0 when the sentence goes on otherwise, as to
// a verdict: "hydro and internet are extra".
func (p *Prose) thingsFrom(i int) (list []namedThing, end int) {
	if w := p.word(i); w == "of" || w == "for" || w == "from" || w == "than" { // "with the exception of", "except for"
		i++
	}
	for k := i; ; k++ {
		what, last := p.thing(k)
		switch {
		case what != noUtility && !p.stop(k):
			list, k = append(list, namedThing{what, last}), last
		case len(list) == 0:
			if p.stop(k) || !articles[p.word(k)] && p.word(k) != "d" {
				return nil, 0
			}
		case p.stop(k), p.sym(k) == ')', (p.sym(k) == ',' || p.word(k) == "et" || p.word(k) == "and") &&
			!p.utilityAt(k+1):
			return list, k
		case !p.glue(k) || copulas[p.word(k)]:
			return nil, 0
		}
	}
}

// utilityAt tells whether a utility is named at i, behind an article or a denial.
func (p *Prose) utilityAt(i int) bool {
	for w := p.word(i); articles[w] || w == "et" || w == "and" || w == "d"; w = p.word(i) {
		i++
	}
	what, _ := p.thing(i)
	return what != noUtility && what < parkingPlace && !p.stop(i)
}

// sayEach notes a verdict that begins at from on each of the things.
func (r *inclusionReader) sayEach(things []namedThing, yes bool, from int) {
	for _, t := range things {
		if t.what <= parkingPlace {
			r.say(t.what, yes, from, t.last)
		}
	}
}

// allExcept notes the verdict in the tokens from..to that is of all but what stands before it: "all utilities except
// hydro are included".
func (r *inclusionReader) allExcept(from, to int, yes bool) bool {
	k := r.p.exceptBefore(from)
	if k < 0 {
		return false
	}
	r.say(collective, yes, k-1, to)
	r.p.list(k+1, func(what utility, end int) {
		if end < from {
			r.say(what, !yes, k, end)
		}
	})
	return true
}

// allBut reads an item that has no verdict and says that a rent has all but a few things: "everything except hydro". It
// returns these and the token that ends the item, 0 where what everything is may be another thing, or what the tenant
// pays: "renovated: all but the heating", "you pay everything but heat".
func (p *Prose) allBut(i int) (list []namedThing, end int) {
	if w := p.word(i); w != "everything" && w != "tout" && w != "all" || !p.excepts(i+1) {
		return nil, 0
	}
	switch k := i - 1; {
	case p.sym(k) == ':':
		if label, _ := p.thing(k - 1); label != collective && !p.about(k-1, aMoney|anInclusion) && !rentNames[p.word(k-1)] {
			return nil, 0
		}
	case p.itemBegins(i), p.rentEnds(k), copulas[p.word(k)] && rentNames[p.word(k-1)]:
	default:
		return nil, 0
	}
	if p.underExcluded(i) {
		return nil, 0
	}
	list, end = p.thingsFrom(i + 2)
	for _, t := range list {
		if t.what < parkingPlace {
			return list, end
		}
	}
	return nil, 0
}

// thingsAllIn returns the last token of the list that "all in" behind it says the rent has, "heat and hydro all in,
// $1550", of which "in" is at i, or -1.
func (p *Prose) thingsAllIn(i int) int {
	k := i - 1
	if p.sym(k) == '-' {
		k--
	}
	if p.word(i) != "in" || p.word(k) != "all" || p.words[k].line {
		return -1
	}
	k--
	if p.sym(k) == ',' {
		k--
	}
	if what, _ := p.thing(k); what == noUtility || what > internet && what != water && what != cable {
		return -1
	}
	next := i + 1
	if w := p.word(next); w == "for" || w == "at" {
		next++
	}
	if p.listEnds(i+1) || p.sym(next) == '$' || p.num(next) != nil {
		return k
	}
	return -1
}

// allBills tells whether "all bills", or "bills" that begin an item, end at i.
func (p *Prose) allBills(i int) bool {
	for copulas[p.word(i)] {
		i--
	}
	return p.word(i) == "bills" && (p.word(i-1) == "all" || p.itemBegins(i))
}

// freeThing tells whether the word at i says that the thing behind it is free, and nothing of those before a comma:
// "hydro, free parking".
func (p *Prose) freeThing(i int) bool {
	if w := p.word(i); w != "free" && w != "complimentary" || p.sym(i-1) != ',' {
		return false
	}
	what, _ := p.thing(i + 1)
	return what != noUtility
}

// billNames are what a utility is paid by.
var billNames = set("bill bills facture factures compte comptes account accounts")

// noneOf say that there is none of what follows.
var noneOf = set("no without zero pas sans aucun aucune jamais never")

// noBill notes the utilities of which there is no bill, as the word at i says, so that the rent has them: "no hydro
// bill", "pas de facture de chauffage".
func (r *inclusionReader) noBill(i int) {
	p := r.p
	if !billNames[p.word(i)] {
		return
	}
	var list []namedThing
	k := i - 1
	for ; k >= i-7 && !p.stop(k+1); k-- {
		w := p.word(k)
		if what, last := p.thing(k); what != noUtility {
			list = append(list, namedThing{what, last})
		} else if w == "utility" {
			list = append(list, namedThing{collective, k})
		} else if !p.orAnd(k) && p.sym(k) != ',' && !articles[w] && w != "de" && w != "d" && w != "a" && w != "monthly" {
			break
		}
	}
	end := i + 1
	if len(list) == 0 {
		if p.word(end) == "mensuelle" {
			end++
		}
		for p.word(end) == "de" || p.word(end) == "du" || p.word(end) == "d" {
			end++
		}
		list, end = p.thingsOrNor(end)
	}
	if p.stop(k+1) || p.sym(k+1) == ',' { // the "no" of another line or item: "Pets: no, hydro bill to pay"
		return
	}
	if !noneOf[p.word(k)] || len(list) == 0 || !p.listEnds(end) && !p.seq(end, "to", "pay") && !p.seq(end, "a", "payer") &&
		!p.seq(end, "a", "ouvrir") && !p.seq(end, "to", "worry") && !p.seq(end, "to", "open") {
		return
	}
	for _, t := range list {
		r.say(t.what, true, k, max(i, t.last))
	}
}

// thingsOrNor reads the things of a list that "ni" and the like join from token i on, and the token behind it.
func (p *Prose) thingsOrNor(i int) (list []namedThing, end int) {
	for end = i; !p.stop(end); end++ {
		what, last := p.thing(end)
		if what == noUtility {
			if w := p.word(end); !p.orAnd(end) && w != "ni" && w != "nor" && w != "d" && w != "de" && !articles[w] {
				break
			}
			continue
		}
		list, end = append(list, namedThing{what, last}), last
	}
	return list, end
}

// leadOf returns the word that the list of things that ends at i stands behind: the "only" of "only hydro and heat".
func (p *Prose) leadOf(i int) string {
	found := false
	for k := i; k >= i-8 && !p.stop(k+1); k-- {
		what, _ := p.thing(k)
		switch {
		case what != noUtility && what != otherThing, halfNames[p.word(k)]:
			found = true
		case found && (onlyWords[p.word(k)] || noneOf[p.word(k)]):
			return p.word(k)
		case !p.orAnd(k) && !articles[p.word(k)] && p.word(k) != "have":
			return ""
		}
	}
	return ""
}

// shopGives tells whether the thing at i is what a shop of the neighbourhood has: "le dépanneur offre le wifi gratuit".
func (p *Prose) shopGives(i int) bool {
	for k := i - 1; k >= i-5 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if w := p.word(k); w == "offre" || w == "offers" || w == "has" || w == "gives" || w == "donne" {
			return shops[p.word(k-1)]
		}
	}
	return false
}
