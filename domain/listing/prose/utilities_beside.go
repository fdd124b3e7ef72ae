package prose

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
		for m := end + 1; m <= end+3 && !p.stop(m); m++ {
			if w := p.word(m + 1); p.sym(m) == ',' && (w == "non" || w == "pas") { // "chauffé, eau chaude, non éclairé"
				lit := m + 2
				if p.sym(lit) == '-' { // "non-éclairé"
					lit++
				}
				if _, on := p.participle(lit); on == electricity {
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

// addedList tells whether a list begins at i that is all that a sentence adds to the rent: "$1,550 plus gas, hydro &
// water".
func (p *Prose) addedList(i int) bool {
	if i < 2 || p.sym(i-1) != '+' && p.word(i-1) != "plus" || p.words[i].line {
		return false
	}
	if !p.rentEnds(i - 2) {
		return false
	}
	what, end := p.thing(i)
	return what != noUtility && p.sym(end+1) != '+' && p.onlyThings(i) // "+ heat + water" may go on to what the rent has
}

// rentEnds tells whether a rent ends with the token at i: "$1,550", "590 $", "950 per month".
func (p *Prose) rentEnds(i int) bool {
	t, w := p.num(i), p.word(i)
	return p.sym(i) == '$' || w == "mois" || w == "month" || w == "mth" || w == "mo" || t != nil && t.digits >= 3
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
	if before, _ := p.thing(i - 2); !p.rentEnds(i-2) && (what == heat || before != noUtility) { // "water + hydro"
		k := i - 2
		for n := 0; n < 3 && before != noUtility; n++ { // "$1,650 + heat + hydro", "$1,500 + $75 parking + hydro"
			plus := k - 1
			if before == parkingPlace {
				for plus > 0 && (p.sym(plus) == '$' || p.num(plus) != nil) {
					plus--
				}
			}
			if p.sym(plus) != '+' {
				break
			}
			k = plus - 1
			before, _ = p.thing(k)
		}
		if !p.rentEnds(k) {
			return noUtility
		}
	}
	for k := end + 1; k <= end+4 && !p.stop(k); k++ {
		if p.sym(k) == ',' && !(p.about(k+1, anInclusion|aNegation) && p.listEnds(k+2)) {
			break // "plus electricity, everything else included", "+ hydro, free parking", but not "+ hydro, extra"
		}
		if p.about(k, anInclusion) {
			return noUtility
		}
	}
	return what
}

// hotBefore returns where the hot water begins that is an item right before the participle at i, "eau chaude, chauffé",
// "eau chaude/chauffé", or -1. "Pas d'eau chaude, chauffé" and "chauffage à l'eau chaude, chauffé" have none.
func (p *Prose) hotBefore(i int) int {
	if s := p.sym(i - 1); s != ',' && s != '/' && s != '+' && s != '&' && s != '-' || p.words[i].line {
		return -1
	}
	for k := i - 2; k >= i-4 && k >= 0; k-- {
		if what, end := p.thing(k); what == hotWater && end == i-2 {
			if w := p.word(k - 1); p.deniedThing(k) || w == "l" || w == "a" || w == "d" || w == "de" || w == "un" {
				return -1
			}
			return k
		}
	}
	return -1
}
