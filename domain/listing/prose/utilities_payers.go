package prose

// takesOn returns the token behind "you look after" or "tenant sets up", of which the verb is at i, or 0.
// The landlord's are in the rent: "owner takes care of heat".
func (p *Prose) takesOn(i int) (yes bool, next int) {
	k := i - 1
	for n := 0; n < 2 && payFillers[p.word(k)]; n++ {
		k--
	}
	if yes = landlords[p.word(k)]; !yes && !tenants[p.word(k)] {
		return false, 0
	}
	switch p.word(i) {
	case "look", "looks":
		if p.word(i+1) == "after" {
			return yes, i + 2
		}
	case "take", "takes":
		if p.seq(i+1, "care", "of") {
			return yes, i + 3
		}
	case "set", "sets":
		if p.word(i+1) == "up" {
			return yes, i + 2
		}
	case "arrange", "arranges", "handle", "handles":
		return yes, i + 1
	}
	return false, 0
}

// ownContract reads the utility for which the tenant has a contract, "bring your own internet", "open a hydro account",
// "compte Hydro à ouvrir", and its token. The word at i is "own" or "account".
func (p *Prose) ownContract(i int) (utility, int) {
	k := i + 1
	switch p.word(i) {
	case "own":
		if w := p.word(i - 1); w != "your" && w != "their" {
			return noUtility, i
		}
	case "account", "accounts":
		k = i - 1
	case "compte":
		if w := p.word(k); w == "d" || w == "de" || w == "chez" {
			k++
		}
	default:
		return noUtility, i
	}
	what, end := p.thing(k)
	if what != internet && what != cable && what != electricity || p.deniedThing(min(i, k)) ||
		p.word(i) == "own" && !p.listEnds(end+1) &&
			!p.orAnd(end+1) {
		return noUtility, i
	}
	for n := max(i, end) + 1; n <= i+9 && !p.stop(n) && p.sym(n) != ','; n++ {
		if p.about(n, anInclusion) || landlords[p.word(n)] {
			return noUtility, i
		}
	}
	return what, k
}

// inName reads whose contract a utility is: "hydro is in the owner's name", "reste à mon nom", "au nom du locataire".
func (p *Prose) inName(i int) (yes bool, from, to int, ok bool) {
	k, to := i-1, i
	for w := p.word(k); w == "s" || w == "own" || tenants[w] || landlords[w]; w = p.word(k) {
		yes = yes || landlords[w]
		k--
	}
	switch w := p.word(k); {
	case ours[w]:
		yes = true
		k--
	case w == "your" || w == "votre" || w == "ton" || w == "the":
		k--
	case w == "au": // "au nom du locataire"
		for to = i + 1; duty[p.word(to)]; to++ {
		}
		if yes = landlords[p.word(to)]; !yes && !tenants[p.word(to)] {
			return false, i, i, false
		}
	}
	w := p.word(k)
	for named[p.word(k-1)] {
		k--
	}
	return yes, k, to, w == "au" || k < i-1 && (w == "in" || w == "a" || w == "under")
}

// named stand between a utility and "in the owner's name".
var named = set("stays stay remains remain reste restent must be put needs need to doit etre mis mise")

// pays reads who pays at i: "tenant pays hydro", "the owner pays the heat", "chauffage assumé par le locataire".
func (p *Prose) pays(i int) (yes bool, from, to int, ok bool) {
	if w := p.word(i); w == "covers" || w == "couvre" {
		switch p.word(i - 1) {
		case "rent", "price", "loyer", "prix": // "rent covers heat and hot water"
			return true, i, i, true
		}
	}
	k := i - 1
	for n := 0; n < 3 && payFillers[p.word(k)]; n++ {
		k--
	}
	if j := p.negatedVerb(i); j < i && landlords[p.word(j)] { // "the landlord does not pay for heat"
		if to = i; p.word(i+1) == "for" {
			to++
		}
		return false, j, to, true
	}
	switch {
	case p.word(i+1) == "par":
		if landlords[p.word(i+2)] || landlords[p.word(i+3)] { // "chauffage assumé par le propriétaire"
			return true, i, i + 3, true
		}
		return false, i, i + 3, tenants[p.word(i+2)] || tenants[p.word(i+3)]
	case landlords[p.word(k)], ourselves[p.word(k)] && (p.word(k) != "on" || p.word(i) != "pay"):
		if to = i; p.word(i+1) == "for" || p.word(i+1) == "pour" {
			to++
		}
		return true, k, to, !p.paidInPart(k) && !p.could(i)
	}
	to = i
	if w := p.word(i); w == "pay" || w == "pays" {
		switch p.word(i + 1) {
		case "own": // "pay own hydro"
			return false, i, i + 1, true
		case "its", "their", "his", "her": // "each unit pays its own hydro"
			if p.word(i+2) != "own" {
				return false, i, i + 1, tenants[p.word(k)]
			}
			return false, i, i + 2, true
		}
	}
	if p.word(i) == "pay" && p.word(i-1) == "to" {
		lead := p.leadOf(i - 2)
		if lead == "" && p.word(i-2) == "nothing" {
			lead = "nothing" // "nothing to pay except hydro"
		}
		if lead != "" { // "only hydro to pay", "no heat to pay"
			return noneOf[lead], i - 1, i, true
		}
	}
	if n := p.notPaid(i); n > 0 { // "you don't pay hydro"
		_, end := p.thingsFrom(n)
		return true, i - 1, n - 1, end > 0
	}
	if onlyWords[p.word(to+1)] { // "vous payez seulement l'électricité"
		to++
	}
	if w := p.word(to + 1); w == "for" || w == "pour" {
		to++
	}
	if p.word(i) == "pay" && onlyWords[p.word(i-1)] { // "only pay hydro"
		return false, min(k, i-1), to, true
	}
	if w := p.word(to + 2); w == "part" || w == "share" { // "paie sa part d'hydro"
		to += 3
	}
	return false, k, to, tenants[p.word(k)]
}

// negatedVerb returns what stands before "does not" or "doesn't" of the verb at i, or i.
func (p *Prose) negatedVerb(i int) int {
	switch w := p.word(i - 2); {
	case p.word(i-1) == "not" && (w == "does" || w == "do" || w == "will"):
		return i - 3
	case p.shortNot(i-1) && p.word(i-1) == "t":
		return i - 3
	}
	return i
}

// notPaid returns the token behind "you don't pay" or "vous ne payez pas", of which the verb is at i, or 0.
func (p *Prose) notPaid(i int) int {
	n, k := i+1, i-2
	switch w := p.word(i - 1); {
	case (w == "ne" || w == "n") && p.word(n) == "pas":
		n++
	case w == "t" || w == "not":
		if w := p.word(k); w != "don" && w != "do" && w != "doesn" && w != "does" {
			return 0
		}
		k--
	default:
		return 0
	}
	if w := p.word(n); w == "for" || w == "pour" || w == "de" || w == "d" {
		n++
	}
	if k++; p.word(k-1) == "ne" || !tenants[p.word(k-1)] {
		return 0
	}
	return n
}

// onlyWords stand between who pays and what alone is paid.
var onlyWords = set("only just seulement juste uniquement que")

// paid reads "payé par le locataire", "heat paid by the landlord", "all utilities paid", "à payer".
func (p *Prose) paid(i int) (yes bool, from, to int, ok bool) {
	by := p.word(i+1) == "by" || p.word(i+1) == "par"
	for k := i + 1; k <= i+3; k++ {
		if tenants[p.word(k)] {
			from = i
			for w := p.word(from - 1); w == "be" || w == "to"; w = p.word(from - 1) { // "heat to be paid by tenant"
				from--
			}
			return false, from, k, true
		}
		by = by && !p.stop(k) && p.sym(k) != ','
		if w := p.word(k); by && (landlords[w] || k == i+2 && (w == "us" || w == "me" || w == "nous")) {
			// "heat paid by the landlord", not "à payer. Propriétaire occupant"
			ok = !p.could(i) && p.word(k+1) != "up" && p.word(k+1) != "jusqu" // "paid by the landlord up to $50"
			if p.denied(i) {
				return false, i - 1, k, ok
			}
			return true, i, k, ok && !p.paidInPart(i)
		}
	}
	w, k := p.word(i), i-1
	if copulas[p.word(k)] {
		k--
	}
	if w == "paid" && (p.word(k) == "utilities" || p.allBills(k)) && p.listEnds(i+1) {
		return true, i, i, !p.paidInPart(k) // "all utilities paid", not "no utilities paid"
	}
	if thing, _ := p.thing(k); w == "covered" && thing != noUtility && (thing < parkingPlace || thing == otherThing &&
		k < i-1) && !p.about(i+1, aParking) { // "water and sewer are covered"
		return true, i, i, !p.paidInPart(k) && !p.denied(i)
	}
	if k = i; w == "payer" && p.word(i-1) == "a" && onlyWords[p.word(i-2)] { // "Hydro seulement à payer"
		k = i - 2
	}
	// "pas d'électricité à payer" denies that there is any
	return p.denialBefore(i-1) >= 0, k, i, w == "payer" && p.word(i-1) == "a" && p.word(i+1) != "par"
}

// charged reads "à la charge du locataire", "à vos frais", "frais au locataire".
func (p *Prose) charged(i int) (yes bool, from, to int, ok bool) {
	w, l := p.word(i), p.word(i-1)
	of := i + 1 // whose it is
	for duty[p.word(of)] {
		of++
	}
	if p.word(i-2) == "a" && (w == "charge" || l != "pas") {
		return ours[l] || landlords[p.word(of)], i - 2, i, true
	}
	if of > i+1 && landlords[p.word(of)] && l == "aux" { // "aux frais du propriétaire"
		return true, i - 1, of, true
	}
	if tenants[l] || l == "s" && tenants[p.word(i-2)] { // "at tenant's charge"
		k := i - 2
		for w := p.word(k); tenants[w] || w == "the"; w = p.word(k) {
			k--
		}
		if p.word(k) == "at" {
			return false, k, i, true
		}
	}
	for k := i + 1; k <= i+3; k++ {
		if n := p.word(k); n == "locataire" || n == "locataires" {
			if l == "au" || l == "aux" || l == "la" {
				return false, i - 1, i, true
			}
			return false, i, i, true
		}
	}
	return false, i, i, false
}

// responsible reads "tenant responsible for", but not "landlord responsible for".
func (p *Prose) responsible(i int) (yes bool, from, to int, ok bool) {
	for k := i - 1; k >= i-3; k-- {
		if landlords[p.word(k)] {
			return false, i, i, false
		}
	}
	for to = i; dutyWords[p.word(to+1)]; to++ {
	}
	return false, i, to, to > i
}

// responsibility reads "hydro is the tenant's responsibility" and "est la responsabilité du locataire", or the
// landlord's.
func (p *Prose) responsibility(i int) (yes bool, from, to int, ok bool) {
	whose, of := 0, i+1 // the token of who it is
	for duty[p.word(of)] {
		of++
	}
	if of > i+1 && (tenants[p.word(of)] || landlords[p.word(of)]) {
		whose = of
	}
	for k := i - 1; k >= i-5; k-- {
		switch l := p.word(k); {
		case (tenants[l] || l == "your" || l == "votre") && whose == 0:
			whose = k
		case duty[l] || l == "s" || l == "sous" || p.sym(k) == '-':
		case copulas[l] && l != "be":
			return landlords[p.word(whose)], k, max(i, whose), whose > 0
		default:
			return false, i, i, false
		}
	}
	return false, i, i, false
}

// duty are the words between "responsibility" and whose it is.
var duty = set("the la du of de des")
