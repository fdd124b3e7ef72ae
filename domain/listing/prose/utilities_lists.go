package prose

var (
	glueWords = set("ton ta tes son sa ses pis " +
		"et and l le la les d de du des ou aussi est sont is are the avec with plus ainsi que your votre a en telles que " +
		"mais n ne or nor even any meme un une tous toutes ni both deja all own their such as")
	// halfNames are the second halves of names, read with their first.
	halfNames = set("tenant tenants renters chaude chaud fi quebec hot haute central centrale fil sans air c base basic " +
		"bi natural forced baseboard electric")
	headingWords = set("dans le la loyer prix in the rent with your votre notre au bail")
	onOffer      = set("disponible possible possibilite possibility available optional option")
	fuels        = set("gaz mazout propane gas oil electricity") // "chauffage au gaz", "heat: oil"
	exceptWords  = set("sauf except excepte exception hormis excluding hors excluant but")
)

// glue may stand between the items of a list.
func (p *Prose) glue(i int) bool {
	switch w := p.word(i); {
	case glueWords[w]:
		return true
	case w == "":
		if i < 0 || i >= len(p.words) {
			return false
		}
		switch p.words[i].sym {
		case ',', '&', '+', '/', '-', '(', ')', ':', '*', '"', '%':
			return true
		}
	}
	return false
}

// listBefore calls f for each thing of the list that ends at token i.
func (p *Prose) listBefore(i int, f func(utility, int)) {
	for k, n := i, 0; k >= 0 && n < 40; k, n = k-1, n+1 {
		if p.words[k+1].line && p.sym(k+1) == 0 && k < i || p.sym(k) == '.' || p.sym(k) == ';' || p.sym(k) == '!' {
			return
		}
		if p.words[k+1].line {
			return
		}
		if what, _ := p.thing(k); what != noUtility {
			if p.word(k) == "chaude" || p.word(k) == "chaud" || what == collective && copulas[p.word(k-1)] { // "are utilities included"
				continue
			}
			if what == electricity && p.word(k) == "electrique" { // "chauffage : électrique, non inclus"
				label := k - 1
				if p.sym(label) == ':' {
					label--
				}
				if p.word(label) == "chauffage" {
					f(heat, label)
					k = label
					continue
				}
			}
			f(what, k)
			continue
		}
		if halfNames[p.word(k)] {
			continue
		}
		if w := p.word(k); (w == "au" || w == "by") && fuels[p.word(k+1)] {
			continue
		}
		if what, _ := p.thing(k - 1); p.sym(k) == ':' && what == heat && n <= 6 &&
			(fuels[p.word(k+1)] || fuels[p.word(k+2)] || heatSorts[p.word(k+1)]) { // "heat: oil (not included)"
			f(heat, k-1)
			return
		}
		if _, on := p.participle(k); on != noUtility && n > 0 { // "câble, chauffé, internet inclus"
			continue
		}
		if p.qualifies(k) {
			continue
		}
		if n, _ := p.smallAt(k); n > 0 && k < i { // "chauffage, 1 locker sont inclus"
			if what, _ := p.thing(k + 1); what == otherThing || what == parkingPlace {
				continue
			}
		}
		if p.num(k) != nil && p.sym(k+1) == '%' && k < i { // "utilities 30% extra"
			continue
		}
		if p.sym(k) == '-' && k < i && collectives[p.word(k-1)] { // "Utilities - heat, water included"
			return
		}
		if w := p.word(k - 1); p.words[k].kind == word && (w == "by" || w == "par" || w == "via") {
			if what, _ := p.thing(k - 2); what == internet { // "internet by Bell included"
				k--
				continue
			}
		}
		if !p.glue(k) || p.sym(k) == ':' && k < i || p.sym(k) == ')' && k < i-8 {
			return
		}
	}
}

// heatSorts are what a heating may be before its fuel, or alone.
var heatSorts = set("electric electrique forced natural baseboard")

// qualifies tells whether the word at i describes the thing before it: "électroménagers en stainless", "toiles
// solaires".
func (p *Prose) qualifies(i int) bool {
	if i < 1 || p.words[i].kind != word || p.words[i].line || p.glue(i) || allWords[p.word(i)] ||
		p.about(i, anInclusion|aNegation|aFreedom) {
		return false
	}
	k := i - 1
	if w := p.word(k); w == "en" || w == "in" {
		k--
	}
	what, _ := p.thing(k)
	return what == otherThing && (p.sym(i+1) != '.' || i+2 < len(p.words))
}

// list calls f for each thing of the list that starts at token i. After a colon the list may go on over lines.
func (p *Prose) list(i int, f func(utility, int)) {
	for k := i; k < i+6; k++ { // "included in your rent: heat"
		if p.sym(k) == ':' || p.sym(k) == '(' || p.word(k) == "such" || p.word(k) == "telles" {
			i = k
			break
		}
		if !headingWords[p.word(k)] {
			break
		}
	}
	colon := p.word(i) == "such" || p.word(i) == "telles" || p.sym(i) == ':' || p.sym(i) == '-'
	strange := 0
	for k, n := i, 0; k < len(p.words) && n < 40; k, n = k+1, n+1 {
		if p.words[k].line && k > i && !colon || p.sym(k) == ';' && !colon || p.sym(k) == '!' || p.sym(k) == '.' {
			return
		}
		if _, on := p.participle(k); on != noUtility {
			continue
		}
		what, end := p.thing(k)
		if what != noUtility {
			// the next verdict has its own list
			if p.itsVerdict(end + 1) {
				return
			}
			if what != collective || !p.enumerates(end+1) {
				f(what, end)
			}
			k = end
			continue
		}
		if k < len(p.words) && (p.sym(k) == ';' || adjectives[p.word(k)] || p.word(k) == "chaude" || p.word(k) == "basic" ||
			p.words[k].kind == number) {
			continue
		}
		if !p.glue(k) {
			if next := p.nextItem(k); next > k && colon && strange < 6 {
				k = next
				strange++
				continue
			}
			if s := p.sym(k + 1); strange >= 2 || p.words[k].kind != word || s != ',' && s != '/' && s != '+' &&
				p.word(k+1) != "et" && p.word(k+1) != "and" {
				return
			}
			strange++ // an item that we do not know
		}
	}
}

// itsVerdict tells whether the thing of a list before token i has one: "tout inclus, l'électricité est en sus".
func (p *Prose) itsVerdict(i int) bool {
	if i < len(p.words) && p.words[i].line { // "Inclusions : chauffage, eau\nExclusions : hydro"
		return false
	}
	k := i
	for copulas[p.word(k)] || p.word(k) == "en" || p.sym(k) == ':' {
		k++
	}
	if k > i && p.sym(k-1) == ':' && answers[p.word(k)] != 0 { // "utilities: included, internet: no"
		return true
	}
	if denials[p.word(k)] && p.about(k+1, anInclusion) { // "all utilities included, internet not included"
		return true
	}
	yes, _, to, ok := p.verdict(k)
	if k > i { // "all but hydro are included" is of them all
		return ok && !yes
	}
	return ok && to > 0 && p.word(i) != "included"
}

// nextItem returns the comma that ends the unknown item at token k of a list ("draps de lit,"), or k.
func (p *Prose) nextItem(k int) int {
	for n := k; n <= k+7 && n < len(p.words) && (n == k || !p.words[n].line); n++ {
		if p.about(n, anInclusion|aNegation) || p.words[n].kind == number {
			return k
		}
		switch p.sym(n) {
		case ',':
			return n
		case '.', ';', '!', '?', ':', '$':
			return k
		}
	}
	return k
}

// heading tells whether the verdict that ends at token i heads a list of lines ("INCLUS DANS LE LOYER"): it returns the
// first token of the next line, or 0.
func (p *Prose) heading(i int) int {
	k := i + 1
	for n := 0; n < 5 && k < len(p.words) && !p.words[k].line; n++ {
		if s := p.sym(k); s != ':' && !headingWords[p.word(k)] {
			return 0
		}
		k++
	}
	if k >= len(p.words) || !p.words[k].line {
		return 0
	}
	return k
}

// lines calls f for each short line from token i that names a thing, until a line that is a sentence, a heading of its
// own or names money.
func (p *Prose) lines(i int, f func(utility, int)) {
	for n := 0; n < 15 && i < len(p.words); n++ {
		end := i + 1
		for end < len(p.words) && !p.words[end].line {
			end++
		}
		if end-i > 9 {
			if n == 0 { // "Inclus dans le loyer", and all of it on one line
				p.list(i, f)
			}
			return
		}
		for k := i; k < end; k++ {
			if p.sym(k) == '$' || p.about(k, anInclusion) && p.word(k) != "gratuit" && p.word(k) != "free" {
				return
			}
			if onOffer[p.word(k)] {
				k = end
				i = end
			}
		}
		strange := 0
		for k := i; k < end && strange < 2; k++ {
			if what, last := p.thing(k); what != noUtility {
				f(what, last)
				k = last
			} else if !p.glue(k) && p.sym(k) != ';' {
				strange++
			}
		}
		i = end
	}
}

// butNot passes "mais pas", "but not", "sauf", or "pas" before a thing, at i and returns the next token, or 0.
func (p *Prose) butNot(i int) int {
	if p.sym(i) == ',' || p.sym(i) == '(' {
		i++
	}
	if w := p.word(i); exceptWords[w] && w != "but" && !p.words[i].line {
		return i + 1
	}
	if w := p.word(i); (w == "pas" || w == "not") && !p.words[i].line { // "hydro incluse pas internet"
		k := i + 1
		for w := p.word(k); w == "l" || w == "le" || w == "la" || w == "d" || w == "de" || w == "the"; w = p.word(k) {
			k++
		}
		if what, end := p.thing(k); what != noUtility && what < parkingPlace && p.listEnds(end+1) {
			return i + 1
		}
	}
	if w := p.word(i); w != "mais" && w != "but" && w != "et" {
		return 0
	}
	if w := p.word(i + 1); w != "pas" && w != "not" && w != "ni" {
		return 0
	}
	return i + 2
}

// butNotLater finds the "mais pas" that ends a list from token i on and returns the token behind it, or 0.
func (p *Prose) butNotLater(i int) int {
	for k := i + 1; k < i+16 && !p.stop(k); k++ {
		if w := p.word(k); w == "mais" || w == "but" || p.sym(k) == '(' && (p.word(k+1) == "pas" || p.word(k+1) == "not") {
			return p.butNot(k)
		}
		if p.about(k, anInclusion) {
			return 0
		}
	}
	return 0
}

// contrary passes the words at i that deny what was said before, or, where that was a denial, affirm it: "is not",
// "ne l'est pas", "oui". It returns the next token, or i.
func (p *Prose) contrary(i int, denial bool) int {
	for _, said := range contraries[denial] {
		if p.seq(i, said...) {
			return i + len(said)
		}
	}
	return i
}

var contraries = map[bool][][]string{
	true: {{"is", "not"}, {"isn", "t"}, {"are", "not"}, {"aren", "t"}, {"ne", "l", "est", "pas"},
		{"ne", "le", "sont", "pas"}, {"non"}, {"no"}, {"pas"}},
	false: {{"is"}, {"are"}, {"l", "est"}, {"le", "sont"}, {"oui"}, {"yes"}},
}

// bracketEnds returns the end of a bracket of up to a dozen words on one line that opens at i, or i. "(except
// internet)" is not passed.
func (p *Prose) bracketEnds(i int) int {
	if p.sym(i) != '(' || exceptWords[p.word(i+1)] {
		return i
	}
	for k := i + 1; k <= i+12 && k < len(p.words) && !p.words[k].line; k++ {
		if p.sym(k) == ')' {
			return k
		}
	}
	return i
}

// excepts tells whether the word at i leads to what is left out: "sauf", "minus", "apart from".
func (p *Prose) excepts(i int) bool {
	w := p.word(i)
	return exceptWords[w] || w == "minus" || (w == "apart" || w == "aside") && p.word(i+1) == "from" ||
		w == "other" && p.word(i+1) == "than"
}

// exceptions calls f for what follows "sauf" after token i. After a denial, "but" may go on to anything: "utilities are
// extra but hydro is cheap".
func (p *Prose) exceptions(i int, f func(utility, int), denial bool) {
	for k := i + 1; k < len(p.words) && k < i+8; k++ {
		if p.stop(k) && k > i+1 && p.words[k].line {
			return
		}
		if end := p.bracketEnds(k); end > k { // "tout inclus (chauffage, eau chaude, électricité) sauf internet"
			i, k = i+end-k, end
			continue
		}
		if p.excepts(k) && !(denial && p.word(k) == "but") {
			if w := p.word(k + 1); w == "of" || w == "for" || w == "from" || w == "than" {
				// "with the exception of", "except for"
				k++
			}
			colon := k
			for !p.stop(colon) && p.sym(colon) != ':' { // "tout sauf le wifi : chauffage, eau chaude"
				colon++
			}
			p.list(k+1, func(what utility, end int) {
				if end < colon || colon == k+1 {
					f(what, end)
				}
			})
			return
		}
	}
}

// headed tells whether the list before the verdict has its own, which stands before it, and one follows the verdict:
// "excl. hydro, incl. heat", "inclut le chauffage, exclut l'électricité".
func (v *inclusion) headed(next int) bool {
	p := v.p
	for p.sym(next) == ':' || articles[p.word(next)] {
		next++
	}
	what, end := p.thing(next)
	if what == noUtility || p.itsVerdict(end+1) {
		return false
	}
	for k := v.from - 1; k >= 0 && k >= v.from-16 && (!p.stop(k+1) || p.word(k) == "incl"); k-- {
		if p.sym(k) == '.' && p.word(k-1) == "incl" {
			continue
		}
		if _, from, _, ok := p.verdict(k); ok {
			return active[p.word(k)] || p.itemBegins(from) || p.about(from-1, aMoney)
		}
		if what, _ := p.thing(k); what == noUtility && !p.glue(k) && !halfNames[p.word(k)] {
			return false
		}
	}
	return false
}

var articles = set("le la les l the un une")

// theOnly returns the token before "the only utility" or "est la seule chose" that ends at i, or i.
func (p *Prose) theOnly(i int) int {
	k := i
	if w := p.word(k); w == "that" || w == "que" || w == "qui" {
		k--
	}
	if w := p.word(k); (w == "only" || w == "seul") && (p.word(k-1) == "the" || p.word(k-1) == "le") { // "the only extra"
		return k - 2
	}
	if !onlyOnes[p.word(k)] {
		return i
	}
	switch p.word(k - 1) {
	case "only", "seul", "seule":
		return k - 3
	}
	return i
}

// onlyOnes are what "only" and "seule" count.
var onlyOnes = set("thing utility bill one service cost expense chose depense facture frais")

// butNot reads the contrary behind the verdict: "inclut l'eau chaude, mais pas l'électricité".
func (v *inclusion) butNot() {
	if k := v.p.butNot(v.to + 1); k > 0 {
		v.list(k, false, v.to+1)
	}
	if k := v.p.butNotLater(v.to + 1); k > 0 {
		v.list(k, false, k)
	}
}

// contrast reads the verdict behind this one that says no more than that it is the contrary: "heat is included but
// hydro is not", "n'est pas comprise, mais l'eau chaude oui".
func (v *inclusion) contrast() {
	p, k := v.p, v.to+1
	for headingWords[p.word(k)] {
		k++
	}
	s := p.sym(k)
	comma := s == ',' || s == ';' || s == '.' // "is included in the rent; hydro is not"
	if comma {
		k++
	}
	if w := p.word(k); w == "but" || w == "mais" || w == "however" {
		k++
	} else if !comma { // "lights and heat not included, water is"
		return
	}
	var things [4]utility
	for k, n := k, 0; n < len(things) && !p.stop(k); k++ {
		what, last := p.thing(k)
		if what == noUtility {
			if !p.glue(k) {
				return
			}
			continue
		}
		things[n], k = what, last
		n++
		if end := p.contrary(k+1, v.yes); end > k+1 && p.listEnds(end) {
			for _, what := range things[:n] {
				v.say(what, !v.yes, v.to+1, end-1)
			}
			return
		}
	}
}
