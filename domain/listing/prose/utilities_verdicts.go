package prose

import "strings"

// An inclusionWord is how a word says whether something is in the rent.
type inclusionWord uint8

const (
	saysIncluded inclusionWord = iota + 1
	saysExcluded
	saysExtra    // "extra", "en sus"
	saysFree     // unless it is a month
	saysPays     // "tenant pays"
	saysPaid     // "payé par le locataire", "à payer"
	saysCost     // "at renter's cost"
	saysCharge   // "à la charge du locataire", "à vos frais"
	saysHeading  // "Inclusions :"
	saysAddition // "in addition"
	saysDuty     // "tenant responsible for"
	saysBurden   // "the tenant's responsibility"
	saysShared   // "split with upstairs"
	saysNamed    // "au nom du locataire"
)

var (
	inclusionWords = meanings(map[inclusionWord]string{
		saysIncluded: "inclus incluse incluses inclue inclues inclu included incl include includes including inclut incluant " +
			"incluent inclure inclusive inclusif compris comprise comprises comprend comprennent " +
			"comprenant fourni fournis fournie fournies founie provided supplied",
		saysExcluded: "excluded exclu exclus exclue exclues separate separately excluding excludes exclude exclut excluent " +
			"exclusion exclusions",
		saysHeading:  "inclusion inclusions",
		saysAddition: "addition",
		saysDuty:     "responsible responsable",
		saysBurden:   "responsibility responsabilite",
		saysShared:   "shared share split",
		saysNamed:    "nom name",
		saysExtra:    "sus extra",
		saysFree:     "gratuit gratuits gratuite free complimentary",
		saysPays: "pays pay paie paies payez payons assume assumes assument assumer cover covers couvre " +
			"provide provides supply supplies fournit fournissons",
		saysPaid:   "paye payes payee payees paid payable payables payer covered",
		saysCost:   "cost expense expenses",
		saysCharge: "charge frais solde",
	})
	tenants   = set("locataire locataires tenant tenants renter renters you vous tu")
	landlords = set("landlord landlords owner owners proprietaire proprietaires proprio proprios")
	// ourselves are what a landlord calls himself before a verb: "we pay the heat".
	ourselves = set("we i on je nous")
	// ours stand before what is the landlord's: "à notre charge", "in my name".
	ours       = set("notre nos mon ma mes our my")
	dutyWords  = set("for de des d of the to")
	payFillers = set("to must will should doit doivent the is are a s only qui who")
	// answers stand alone after a colon: "Heat included: No".
	answers = meanings(map[inclusionWord]string{saysIncluded: "yes oui", saysExcluded: "no non none aucun aucune"})
	// payers stand alone after a colon: "Hydro: tenant".
	payers = meanings(map[inclusionWord]string{saysIncluded: "landlord owner proprietaire proprio",
		saysExcluded: "tenant renter locataire"})
)

// toTenant tells whether the word at i ends "chauffage et électricité au locataire" and no longer verdict, and returns
// the last token of the list.
func (p *Prose) toTenant(i int) (end int, ok bool) {
	k := i - 2
	switch w := p.word(i); {
	case (w == "locataire" || w == "locataires") && (p.word(i-1) == "au" || p.word(i-1) == "aux"):
	case w == "part" && p.word(i-1) == "a": // "hydro à part"
	case (w == "plus" || w == "surplus") && p.word(i-1) == "en": // "hydro en plus"
	case w == "own" && p.word(i-1) == "your": // "internet your own", "cable on your own"
		if p.word(k) == "on" {
			k--
		}
	case w == "yours": // "hydro is yours"
		for k = i - 1; copulas[p.word(k)]; {
			k--
		}
	case tenants[w] && p.word(i-1) == "on": // "hydro is on you", "all utilities on tenant"
		for copulas[p.word(k)] {
			k--
		}
	case tenants[w] && p.sym(i-1) == '(' && p.sym(i+1) == ')': // "Chauffage : électrique (locataire)"
		if w := p.word(k); fuels[w] || w == "electrique" || w == "electric" || w == "gas" {
			k--
		}
		if p.sym(k) == ':' {
			k--
		}
	case (w == "toi" || w == "vous") && p.word(i-1) == "a", // "l'hydro est à toi"
		w == "votre" && p.seq(i-2, "a", "la"), tenants[w] && p.seq(i-2, "pour", "le"):
		if w == "votre" || w != "vous" && w != "toi" {
			k--
		}
		for copulas[p.word(k)] {
			k--
		}
	case tenants[w] && p.word(i-1) == "the" && p.word(i+1) == "s": // "electricity is the tenant's"
		for copulas[p.word(k)] {
			k--
		}
	case tenants[w] && (p.word(i-1) == "by" || p.seq(i-2, "by", "the")):
		// "hydro, internet, insurance by tenant", "hydro to be set up by tenant"
		if p.word(i-1) == "the" {
			k--
		}
		for setUp[p.word(k)] {
			k--
		}
		if what, _ := p.thing(k); what == otherThing {
			return k, p.listEnds(i + 1)
		}
	default:
		return 0, false
	}
	what, _ := p.thing(k)
	if halfNames[p.word(k)] {
		what, _ = p.thing(k - 1)
	}
	next := i + 1
	if p.word(next) == "s" {
		next++
	}
	if w := p.word(next); w == "aussi" || w == "egalement" || w == "also" || w == "too" {
		next++
	} else if p.seq(next, "de", "payer") { // "l'internet est à vous de payer"
		next += 2
	}
	return k, (what != noUtility && what < parkingPlace || what == collective) && (p.listEnds(next) || p.sym(next) == '(')
}

// setUp stand before "by tenant".
var setUp = set("set up arranged handled to be is are must")

// inRent tells whether the word at i ends a list of what the rent includes without a verdict of its own, and returns
// the last token of the list: "$1,280 heat + hydro in", "the hot water is on us", "chauffage, wifi, rien d'autre à
// payer".
func (p *Prose) inRent(i int) (end int, ok bool) {
	k := i - 1
	switch p.word(i) {
	case "in":
		if !p.listEnds(i + 1) {
			return 0, false
		}
		for copulas[p.word(k)] { // "bills are in"
			k--
		}
	case "rent", "price", "loyer", "prix": // "heat and water are in the rent"
		if l, in := p.word(k), p.word(k-1); !p.listEnds(i+1) || l != "the" && l != "le" || in != "in" && in != "dans" {
			return 0, false
		}
		for k -= 2; copulas[p.word(k)]; k-- {
		}
	case "ours": // "hydro yours, heat ours"
		for copulas[p.word(k)] {
			k--
		}
	case "us", "nous":
		if w := p.word(k); w != "on" && w != "sur" {
			return 0, false
		}
		for k--; copulas[p.word(k)] || p.word(k) == "s"; k-- {
		}
	case "rien", "nothing":
		if !p.seq(i+1, "d", "autre", "a", "payer") && !p.seq(i+1, "de", "plus", "a", "payer") &&
			!p.seq(i+1, "else", "to", "pay") && !p.seq(i+1, "more", "to", "pay") {
			return 0, false
		}
		for n := 0; n < 8 && (nothingElse[p.word(k)] || p.words[max(k, 0)].kind == symbol); n++ {
			k--
		}
	default:
		return 0, false
	}
	first := k
	if halfNames[p.word(k)] {
		first--
	}
	what, _ := p.thing(first)
	return k, what != noUtility && what < parkingPlace && !p.denied(first) || what == collective && p.word(k-1) != "no"
}

// nothingElse stand between a list and "nothing else to pay".
var nothingElse = set("vous avez n avez y a il aura you ll have there is s and et with avec")

// priceHeads reads "dans le prix :" or "pas dans le loyer :", of which the price is at i, and returns the token
// after it that begins the list, or 0.
func (p *Prose) priceHeads(i int) (yes bool, next int) {
	if w := p.word(i); w != "prix" && w != "loyer" || p.sym(i+1) != ':' || p.word(i-1) != "le" {
		return false, 0
	}
	k := i - 2
	if w := p.word(k); w != "dans" && w != "ds" || p.about(k-1, anInclusion) {
		return false, 0
	}
	return !denials[p.word(k-1)], i + 1
}

// answerAfter reads the answer to the label that ends a few words after token i: ": No", "in rent? Yes". It is 0 when
// there is none.
func (p *Prose) answerAfter(i int) inclusionWord {
	for k := i + 1; k <= i+4 && k < len(p.words) && !p.words[k].line; k++ {
		switch {
		case p.sym(k) == ':' || p.sym(k) == '?':
			if !p.stop(k+2) && (p.sym(k+2) != ',' || answers[p.word(k+1)] != saysExcluded) {
				return 0
			}
			return answers[p.word(k+1)]
		case !headingWords[p.word(k)]:
			return 0
		}
	}
	return 0
}

var maybe = set("peut peuvent pourrait pourraient possible possibilite can could may might possibility")

// could tells whether the word of inclusion at i is of what may be had: "possibilité d'inclure", "can be included".
func (p *Prose) could(i int) bool {
	k := i - 1
	for w := p.word(k); w == "d" || w == "etre" || w == "be"; w = p.word(k) {
		k--
	}
	return maybe[p.word(k)]
}

// listEnds tells whether a list, with its verdict, ends before token i: "(heat paid)", "hydro on tenant, cats ok".
func (p *Prose) listEnds(i int) bool { return p.stop(i) || p.sym(i) == ',' || p.sym(i) == ')' }

// verdict reads a word of inclusion at i with its negation: "inclus", "non compris", "not included", "en sus", "à vos
// frais", "gratuit". Only ok tells whether it is one: the rest means nothing without.
func (p *Prose) verdict(i int) (yes bool, from, to int, ok bool) {
	switch w, l := p.word(i), p.word(i-1); inclusionWords[w] {
	case saysIncluded:
		return p.included(i)
	case saysExcluded:
		if l == "metered" || l == "billed" { // "hydro is metered separately"
			return false, i - 1, i, true
		}
		return false, i, i, true
	case saysExtra:
		if l == "en" {
			return false, i - 1, i, true
		}
		return false, i, i, w == "extra"
	case saysFree:
		return true, i, i, !p.about(i-1, aMonth) && l != "mois" && l != "month"
	case saysPays:
		return p.pays(i)
	case saysPaid:
		return p.paid(i)
	case saysHeading:
		return true, i, i, p.sym(i+1) == ':' || p.seq(i+1, "telles", "que") || p.seq(i+1, "such", "as") ||
			i+1 < len(p.words) && p.words[i+1].line && p.words[i].line
	case saysAddition:
		return false, i - 1, i, l == "in"
	case saysNamed:
		return p.inName(i)
	case saysShared:
		return p.split(i)
	case saysDuty:
		return p.responsible(i)
	case saysBurden:
		return p.responsibility(i)
	case saysCost: // "at renter's cost"
		for k := i - 1; k >= i-4; k-- {
			if w := p.word(k); landlords[w] || ours[w] {
				yes = true
			} else if w == "at" {
				return yes, k, i, true
			}
		}
	case saysCharge:
		return p.charged(i)
	}
	return false, i, i, false
}

// included reads "inclus", "non compris", "n'est pas inclus", "n'inclut pas", but not "peut être inclus".
func (p *Prose) included(i int) (yes bool, from, to int, ok bool) {
	w, next := p.word(i), p.word(i+1)
	switch negated := p.passNe(i) < i; {
	case negated && next == "pas":
		return false, i - 1, i + 1, true
	case negated && (next == "ni" || next == "aucun" || w == "comprend"): // "ne comprend ni"
		return false, i - 1, i, true
	case p.could(i):
		return false, i, i, false
	}
	yes, from, to = true, i, i
	if w == "incl" && p.sym(i+1) == '.' || w == "inclusive" && next == "of" {
		to++
	}
	k := i - 1
	for p.sym(k) == '-' {
		k--
	}
	switch l := p.word(k); {
	case l == "non", l == "pas", l == "not", l == "ni", l == "no":
		yes, from = false, k
	case l == "t":
		if n := p.word(k - 1); n == "isn" || n == "aren" || n == "doesn" {
			yes, from = false, k-1
		}
	case copulas[l], l == "etre":
		from = p.passNe(k)
	default:
		yes = p.denialBefore(i) < 0 // "pas d'internet ni câble d'inclus"
	}
	from = p.passNe(from)
	if l := p.word(from - 1); copulas[l] && l != "be" {
		from = p.passNe(from - 1)
	}
	return yes, from, to, true
}

// passNe returns the "ne" or "n'" right before token i, or i.
func (p *Prose) passNe(i int) int {
	if l := p.word(i - 1); l == "ne" || l == "n" {
		return i - 1
	}
	return i
}

// split reads what is divided at i with another home: "hydro is shared", "internet: split with upstairs".
func (p *Prose) split(i int) (yes bool, from, to int, ok bool) {
	k := i - 1
	for n := 0; n < 5 && (p.sym(k) == ':' || p.sym(k) == '-' || p.word(k) == "are" || p.word(k) == "is" ||
		p.word(k) == "be" || p.sym(k) == '/' || p.sym(k) == '%' || p.num(k) != nil); n++ { // "utilities 70/30 split"
		k--
	}
	what, _ := p.thing(k)
	return false, k + 1, i, what != noUtility && what < parkingPlace || what == collective
}

// includedApart tells whether the thing that ends at k, on the list of what a tenant pays, is said to be included
// behind a comma: "vous payez l'électricité, le chauffage et l'eau chaude sont inclus".
func (p *Prose) includedApart(v *inclusion, k int) bool {
	comma := false
	for n := v.to + 1; n < k; n++ {
		comma = comma || p.sym(n) == ','
	}
	if !comma || v.yes || inclusionWords[p.word(v.i)] != saysPays {
		return false
	}
	for n := k + 1; n <= k+8 && !p.stop(n) && p.sym(n) != ','; n++ {
		if copulas[p.word(n)] {
			yes, _, _, ok := p.verdict(n + 1)
			return ok && yes
		}
	}
	return false
}

// paysFor tells whether "you pay" at i goes on to what is paid at k: what stands before it is on another list. Not
// behind a mark, or before a later verdict: "hydro: tenant pays, heat included".
func (p *Prose) paysFor(i, k int) bool {
	if inclusionWords[p.word(i)] != saysPays {
		return false
	}
	switch p.word(k) {
	case "aussi", "ainsi", "egalement", "also": // "chauffage et électricité, le locataire paie aussi l'internet"
		return false
	}
	pays := false
	for n := k; n < len(p.words) && !p.stop(n); n++ {
		switch what, _ := p.thing(n); {
		case p.about(n, anInclusion):
			return false
		case pays:
		case what != noUtility:
			pays = true
		case p.words[n].kind == symbol, n > k+5, p.word(n) == "et", p.word(n) == "and":
			return false
		case !p.glue(n) && p.word(n) != "for" && p.word(n) != "only" && p.word(n) != "seulement":
			return false
		}
	}
	return pays
}

// inPart before "paid by the landlord" say that it is of a part, or of nothing.
var inPart = set("none no neither ni nor not aucun aucune pas half moitie part partie portion some certains " +
	"certaines most plupart")

// paidInPart tells whether the words of the sentence before "paid" at i leave open what is paid: "none of the utilities
// are paid by the owner", "half of the heat is paid by the landlord".
func (p *Prose) paidInPart(i int) bool {
	for k := i - 1; k >= 0 && k >= i-12 && !p.stop(k+1); k-- {
		w := p.word(k)
		t := p.num(k)
		if inPart[w] || p.sym(k) == '%' || t != nil && t.half && t.cents == 50 ||
			w == "t" && strings.HasSuffix(p.word(k-1), "n") {
			return true
		}
	}
	return false
}

// upkeep is what is done to a thing or hired with it, and not the thing.
var upkeep = set("location entretien reparation reparations reservoir remplacement chauffe inspection maintenance " +
	"repair repairs rental heater tank service")

// upkeepOf tells whether the utility named at k is that of "entretien du chauffage", "chauffe-eau" or "heating
// maintenance".
func (p *Prose) upkeepOf(k int) bool {
	if upkeep[p.word(k+1)] {
		return true
	}
	m := k - 1
	for w := p.word(m); w == "de" || w == "du" || w == "d" || w == "l" || w == "le" || w == "la" || w == "des" ||
		w == "hot" || p.sym(m) == '-'; w = p.word(m) {
		m--
	}
	return upkeep[p.word(m)]
}

var (
	allWords    = set("tout toute toutes tous all everything rest reste")
	collectives = set("utilities utilites services depenses charges bills")
	provided    = set("fourni fournis fournie fournies provided")
	copulas     = set("est sont is are be")
	active      = set("includes include including inclut incluent inclure incluant comprennent comprend comprenant excludes exclude excluding exclut excluent")
)
