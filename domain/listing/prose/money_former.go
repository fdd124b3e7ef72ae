package prose

var (
	// pastVerbs lead to what a rent was.
	pastVerbs = set("was were etait etaient louait louaient payait payaient paid rented")
	// pastFillers stand between a verb or a name and its sum.
	pastFillers = set("de d at for a about around only just seulement environ loue")
	// bygone stand beside the rent of another time. Those "actuels" hold today.
	bygone = set("previous former last old past ancien anciens dernier derniers precedent precedents")
	// longAgo say in a sentence with a verb in the past that it tells of another time.
	longAgo = phrases("last year|last winter|last summer|years ago|year ago|months ago|back then|previously|formerly|" +
		"an dernier|annee derniere|annee passee|epoque|autrefois|jadis|auparavant")
)

// former tells whether a sum is the rent of another time: "in 2019 the rent was $900", "se louait 800 $ il y a cinq
// ans", "the previous rent was $825". What a rent "was" before a discount has no time of its own.
func (p *Prose) former(a *amount) bool {
	then, k := false, a.from-1
	for ; k >= a.from-7 && k >= 0 && !p.stop(k+1); k-- {
		if p.yearPast(k) {
			then = true
			k--
		} else if !pastFillers[p.word(k)] && p.sym(k) != ':' {
			break
		}
	}
	if k < 0 || p.stop(k+1) {
		return false
	}
	if p.word(k) == "be" && p.seq(k-2, "used", "to") {
		return true
	}
	was := pastVerbs[p.word(k)]
	if was || p.word(k) == "is" || p.word(k) == "est" {
		k--
	}
	if w, l := p.word(k), p.word(k-1); bygone[w] && rentNames[l] || rentNames[w] && bygone[l] {
		return true
	}
	for n := k; was && n >= 0 && n >= k-14 && !p.stop(n+1); n-- {
		then = then || p.timePast(n)
	}
	for n := a.to + 1; was && n <= a.to+8 && !p.stop(n) && p.sym(n) != ','; n++ {
		then = then || p.timePast(n)
	}
	return was && then
}

// timePast tells whether the words at i name a time before: "in 2019", "last year", "il y a cinq ans".
func (p *Prose) timePast(i int) bool {
	w := p.word(i + 4)
	return p.yearPast(i) || p.phraseAt(i, longAgo) > 0 ||
		p.seq(i, "il", "y", "a") && (w == "an" || w == "ans" || w == "annees" || w == "mois")
}

// yearPast tells whether "in" or "en" leads to the year at i.
func (p *Prose) yearPast(i int) bool {
	t, w := p.num(i), p.word(i-1)
	return t != nil && t.mayBeYear() && (w == "in" || w == "en" || w == "until")
}
