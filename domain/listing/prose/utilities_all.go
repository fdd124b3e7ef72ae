package prose

// lastWord is the word that the verdict from token i on is about: colons and "are" are passed over.
func (p *Prose) lastWord(i int) string {
	k := i - 1
	for p.sym(k) == ':' && !p.words[k+1].line || copulas[p.word(k)] || p.seq(k-1, "services", "publics") {
		k--
	}
	return p.word(k)
}

// everything tells whether "tout", "all", "utilities", "everything" is what the verdict in tokens i..to is about.
// Enumerated means that what it consists of follows: "utilities included (heat, water)" are no others.
func (p *Prose) everything(i, to int) (ok, enumerated bool) {
	for k := i; k <= i+3; k++ {
		if provided[p.word(k)] { // "tout est fourni": dishes and bedding
			return false, false
		}
	}
	for k := i - 1; k >= 0 && k >= i-7 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if w := p.word(k); w == "possibilite" || w == "possibility" { // "possibilité de faire un montant tout compris"
			return false, false
		}
	}
	k := i - 1
	for p.sym(k) == ':' && !p.words[k+1].line || copulas[p.word(k)] || p.seq(k-1, "services", "publics") ||
		allWords[p.word(k-1)] && (p.word(k) == "s" || p.sym(k) == '-' && !p.words[k].space && !p.words[k+1].space) {
		k-- // "everything's included", "tout-inclus"
	}
	switch w := p.word(k); {
	case collectives[w]:
		if active[p.word(to)] || active[p.word(i)] { // "tous les services incluant le métro"
			return false, false
		}
		if copulas[p.word(k-1)] { // "heat and hydro are utilities included"
			return false, false
		}
		return true, !allWords[p.word(k-1)] && p.word(k-2) != "all" && p.word(k-2) != "tous" && p.enumerates(to+1)
	case allWords[w]:
		if w == "all" && p.words[i].kind == word && copulas[p.word(to+2)] && p.word(to+1) != "" && !p.stop(to+1) &&
			!p.about(to+1, aMoney|aUtility) && !rentNames[p.word(to+1)] { // "all included photos are recent"
			return false, false
		}
		if k < i-1 {
			return w != "toute" && w != "toutes" && w != "tous", false
		}
		if w != "tout" && w != "everything" {
			if before, _ := p.thing(k - 1); before != noUtility || copulas[p.word(k-1)] { // "heat and hydro all incl."
				return false, false
			}
		}
		return true, false
	}
	return false, false
}

// allOf tells whether everything is what the verb at i includes: "includes everything but hydro" ends at or after k.
func (p *Prose) allOf(i, k int) bool {
	if w := p.word(k); !active[p.word(i)] || w != "tout" && w != "everything" &&
		(w != "all" || p.word(i-1) != "rent") {
		return false
	}
	first, _ := p.thing(k + 2)
	return p.stop(k+1) || p.excepts(k+1) || p.sym(k+1) == ',' || p.sym(k+1) == '(' ||
		p.sym(k+1) == ':' && first != noUtility && p.word(k+2) != "stores" || // "close to everything: stores, schools"
		p.seq(k+1, "a", "l", "exception")
}

// allIn tells whether "in" at i ends "$1,100 all in", "$950/mo everything in".
func (p *Prose) allIn(i int) bool {
	k := i - 1
	if p.sym(k) == '-' {
		k--
	}
	w := p.word(k)
	if p.word(i) != "in" || w != "all" && w != "everything" {
		return false
	}
	return (p.listEnds(i+1) || p.sym(i+1) == '(') && p.sumBefore(k) || w == "all" && p.itemBegins(k) &&
		p.sym(i+1) == '$' && p.num(i+2) != nil && p.num(i+2).cents >= 300_00 // "all-in $1450"
}

// sumBefore tells whether a sum that may be a rent, with its period, ends before token i.
func (p *Prose) sumBefore(i int) bool {
	k := i - 1
	if s := p.sym(k); s == ',' || s == '-' {
		k--
	}
	if w := p.word(k); w == "month" || w == "mo" || w == "monthly" || w == "mth" || w == "m" {
		if k--; p.sym(k) == '/' || p.word(k) == "a" || p.word(k) == "per" {
			k--
		}
	}
	if p.sym(k) == '$' {
		k--
	}
	t := p.num(k)
	return t != nil && !t.half && t.cents >= 300_00 // not "parking $120 all in"
}

// enumerates tells whether a list of utilities begins at i: ": heat", "(heat", "such as heat".
func (p *Prose) enumerates(i int) bool {
	if copulas[p.word(i)] && p.sym(i+1) == ':' { // "les services inclus sont : la piscine"
		i++
	}
	switch {
	case p.sym(i) == ':' || p.sym(i) == '(':
		i++
	case p.sym(i) == ',' && p.word(i+1) == "such":
		i += 3
	case p.word(i) == "such" || p.word(i) == "tel" || p.word(i) == "telles":
		i += 2
	case p.word(i) == "like" || p.word(i) == "comme":
		i++
	default:
		return false
	}
	if i < len(p.words) && p.words[i].line {
		return p.sym(i-1) == ':'
	}
	_, on := p.participle(i)
	what, _ := p.thing(i)
	return what != noUtility || on != noUtility || p.word(i) == "le" || p.word(i) == "l"
}

// exceptBefore returns the "except" of "all utilities except hydro are included", whose verdict begins at i, or -1.
func (p *Prose) exceptBefore(i int) int {
	for k := i - 1; k > 0 && k >= i-8 && !p.words[k+1].line; k-- {
		if exceptWords[p.word(k)] {
			if collectives[p.word(k-1)] || allWords[p.word(k-1)] {
				return k
			}
			return -1
		}
		if what, _ := p.thing(k); what == noUtility && !p.glue(k) && !halfNames[p.word(k)] {
			return -1
		}
	}
	return -1
}

// allUtilities tells whether "all utilities" at i-1 stands on a list of what there is, without a verdict of its own.
func (p *Prose) allUtilities(i int) bool {
	if w := p.word(i); w != "utilities" && w != "utilites" || p.word(i-1) != "all" || p.words[i].line {
		return false
	}
	end := i + 4
	if p.excepts(i + 1) {
		if _, end = p.thingsFrom(i + 2); end == 0 {
			return false
		}
	}
	for k := i - 2; k >= 0 && k >= i-6 && !p.words[k+1].line; k-- {
		if w := p.word(k); p.about(k, anInclusion|aNegation) || exceptWords[w] || w == "plus" || w == "of" || w == "for" ||
			p.sym(k) == '+' {
			return false
		}
	}
	for k := i + 1; k <= i+4 && k < end && k < len(p.words) && !p.stop(k); k++ {
		if p.about(k, anInclusion) || copulas[p.word(k)] || k > i+1 && p.excepts(k) ||
			p.word(k) == "on" && tenants[p.word(k+1)] { // "all utilities on tenant"
			return false
		}
	}
	return true
}

// onlyThings tells whether a sentence goes on from token i with nothing but things that a rent may include: "all
// utilities but hydro", and no verdict.
func (p *Prose) onlyThings(i int) bool {
	for k := i; k < len(p.words) && !p.stop(k); k++ {
		what, end := p.thing(k)
		if what == noUtility && !p.glue(k) {
			return false
		}
		k = end
	}
	return i < len(p.words)
}

// shareOf tells whether a percentage of the utility at i is the tenant's: "40 % of hydro", "30 % des services".
func (p *Prose) shareOf(i int) bool {
	if !p.about(i, aUtility) && !collectives[p.word(i)] {
		return false
	}
	k := i - 1
	for n := 0; n < 3 && (p.word(k) == "of" || p.word(k) == "the" || p.word(k) == "des" || p.word(k) == "de" ||
		p.word(k) == "l" || p.word(k) == "all"); n++ {
		k--
	}
	named := k < i-1
	half := p.num(k) // "1/2 of hydro"
	if named && half != nil && half.cents == 50 && half.digits == 0 || !named && p.shareBehind(i+1) {
		return true
	}
	switch {
	case (p.sym(k) == '%' || p.word(k) == "percent") && p.num(k-1) != nil && p.num(k-1).cents < 100_00:
		k -= 2
	case p.sym(k-1) == '/' && p.num(k) != nil && p.num(k-2) != nil && p.num(k).digits == 1 && p.num(k-2).digits == 1:
		k -= 3
	default:
		return false
	}
	return named || collectives[p.word(i)] && (p.sym(k) == '+' || p.word(k) == "plus") // "$1,750 + 30% utilities"
}

// shareBehind tells whether a share of what is named before i follows, and nothing more: "are 40%", "50/50 with
// upstairs".
func (p *Prose) shareBehind(i int) bool {
	if copulas[p.word(i)] || p.sym(i) == ':' {
		i++
	}
	t, rest := p.num(i), p.num(i+2)
	switch {
	case t == nil || t.cents > 100_00:
		return false
	case p.sym(i+1) == '%':
		return p.listEnds(i + 2)
	}
	return p.sym(i+1) == '/' && rest != nil && t.cents+rest.cents == 100_00 && (p.listEnds(i+3) || p.word(i+3) == "with")
}

// sumBehind tells whether a sum of its own begins at i, and no verdict follows it: "share internet $25", "wifi 20 $".
func (p *Prose) sumBehind(i int, most int64) bool {
	if p.sym(i) == ':' || p.sym(i) == '(' || p.sym(i) == '~' || p.sym(i) == '+' {
		i++
	}
	t := p.num(i)
	if p.sym(i) == '$' {
		t = p.num(i + 1)
	} else if p.sym(i+1) != '$' {
		return false
	}
	for k := i; k <= i+5 && !p.stop(k) && p.sym(k) != ','; k++ {
		if p.about(k, anInclusion) {
			return false
		}
	}
	return t != nil && !t.half && t.cents > 0 && t.cents <= most
}

// pricedApart tells whether the utilities at i have a sum of their own: "utilities (hydro, gas) are $85 a month",
// "+ $100 flat for utilities".
func (p *Prose) pricedApart(i int) bool {
	if w := p.word(i); w != "utilities" && w != "utilites" {
		return false
	}
	k := i - 1
	if p.word(k) == "all" || p.word(k) == "the" {
		k--
	}
	if p.word(k) == "for" { // "$150/month flat rate for all utilities"
		for k--; flatRate[p.word(k)] || p.sym(k) == '/'; k-- {
		}
		if p.sym(k) == '$' {
			k--
		}
		return p.num(k) != nil && p.num(k).cents <= ceilings[forHydro] && (p.sym(k-1) == '$' || p.sym(k+1) == '$')
	}
	k = i + 1
	if p.sym(k) == '(' {
		for k < i+9 && p.sym(k) != ')' {
			k++
		}
		k++
	}
	if copulas[p.word(k)] {
		if k++; p.seq(k, "a", "flat") {
			k += 2
		}
	} else if k > i+1 {
		return false
	}
	return p.sym(k) == '$' && p.num(k+1) != nil && p.num(k+1).cents > 0 && p.sumBehind(k, ceilings[forHydro])
}

// flatRate stand between a sum and "for utilities".
var flatRate = set("flat fee rate month mo monthly per a charge extra")
