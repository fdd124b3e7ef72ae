package prose

// describe finds an amount's period, whether it is a lower bound, and what it pays for.
func (p *Prose) describe(a *amount, used int) {
	if w := p.word(a.to + 1); p.sym(a.to) == '$' && (w == "cad" || w == "can" || w == "cdn") { // "1 250 $ CAD par mois"
		a.to++
	}
	next := a.to + 1
	var to int
	if a.per, to = p.period(next); a.per != unstated {
		next = to + 1
		a.named = a.per == perMonth
	} else {
		k := a.from - 1
		if w := p.word(k); w == "rate" || w == "rent" || w == "price" { // "weekly rate $250"
			k--
		}
		// "loyer hebdomadaire : 165 $"
		if w := p.word(k); p.sym(k) == ':' || w == "of" || w == "de" || w == "is" || w == "est" || w == "at" {
			k--
		}
		if p.word(k) == "rent" { // "yearly rent of $24,000"
			k--
		}
		switch p.word(k) {
		case "annuel", "annual", "yearly":
			if l, n := p.word(k-1), p.word(k+1); a.cents >= leastYearlyCents && (l == "loyer" || l == "prix" || n == "rent") {
				a.per = perYear
			}
		case "weekly", "hebdomadaire", "hebdo":
			a.per = perWeek
		case "daily", "nightly":
			a.per = perDay
		case "biweekly":
			a.per = perFortnight
		case "semaines", "weeks": // "loyer aux 2 semaines : 550 $"
			if p.fortnight(k-2) == k && (p.itemBegins(k-2) || rentBefore[p.word(k-3)]) { // not "ménage aux 2 semaines : 80 $"
				a.per = perFortnight
			}
		}
	}
	for range 2 { // "936 $ et plus par mois", "936 $ par mois et plus"
		if n := p.andUp(next); n > next {
			a.least = true
			next = n
			if a.per == unstated {
				if a.per, to = p.period(next); a.per != unstated {
					next, a.named = to+1, a.per == perMonth
				}
			}
		}
	}
	p.before(a, used)
	if a.role == forRent || a.role == forExtra {
		p.after(a, next)
	}
	if k := a.from - 1; a.role == forRent && p.word(k) == "paye" && (p.word(k-1) == "ai" || p.word(k-1) == "avons") ||
		a.role == forRent && (p.ofIncome(a) || p.ofSale(a) || p.former(a)) { // "que j'ai payé 800 $"
		a.role, a.worth = forOther, true
	}
	if p.carSum(a) {
		a.role = forParking
	}
	if limit := ceilings[a.role]; limit > 0 && a.cents > limit && !a.worth && a.per != perYear {
		a.role = forRent
	}
	if a.per == perYear && a.role == forRent && !p.yearOfRent(a, next) {
		a.role = forOther
	}
}

// leastYearlyCents is the least that a home costs a year: less is a permit's, or a month's rent of a home that is let
// by the year.
const leastYearlyCents = 7200_00

// earned or owed a year is no rent, whatever its size.
var earned = set("revenu revenus income incomes salaire salaires salary salaries earn earns earned gagne gagner " +
	"gagnez earning earnings make makes making wage wages gross household applicant applicants candidat candidats faire " +
	"evaluation condo hausse budget increase increases increased times fois triple subsidy subvention allocation " +
	"economie economies save saves saving savings assurance insurance taxe taxes tax frais fee fees scolarite tuition " +
	"bonus pension bourse bourses own minimum required requis qualify")

// rentNames name the rent of a home before a sum a year. A "yearly rental" is a home let by the year, for any sum.
var rentNames = set("loyer loyers rent")

// upTo between the name of the rent and a sum say that it is another's: "rent assistance up to $8,000 a year".
var upTo = set("up over jusqu")

// yearOfRent tells whether a sum a year is the rent of a home: it is named as such, or heads the text and is alone,
// "loyer annuel : 14 400 $", "$21,600 per year", but not "vignette 80 $ par année" or "revenu de 45 000 $ par an".
func (p *Prose) yearOfRent(a *amount, next int) bool {
	const most = 150_000_00
	if a.cents < leastYearlyCents || a.cents > most {
		return false
	}
	named, apart := false, false
	for k := a.from - 1; k >= 0 && k >= a.from-20 && !p.stop(k+1); k-- {
		w := p.word(k)
		if earned[w] {
			return false
		}
		if role, ok := costs[w]; ok && role != forRent && (!named || k >= a.from-8) && p.sym(k+1) != ',' {
			return false // "garage à louer", "parking rent"
		}
		apart = apart || p.about(k, anInclusion) || upTo[w] || p.sym(k) == ',' || k < a.from-1 && p.words[k].kind == number
		named = named || rentNames[w] && !apart && k >= a.from-6
	}
	for k := a.to + 1; k <= a.to+12 && !p.stop(k); k++ {
		if earned[p.word(k)] {
			return false
		}
	}
	return named || a.from == 0 && (p.stop(next) || p.sym(next) == ',') ||
		rentNames[p.word(next)] && p.stop(next+1)
}

// andUp passes "et plus", "et +", "and up", "+" at i.
func (p *Prose) andUp(i int) int {
	switch {
	case p.seq(i, "et", "plus") || p.seq(i, "and", "up") || p.seq(i, "ou", "plus") || p.seq(i, "and", "more"):
		return i + 2
	case (p.word(i) == "et" || p.sym(i) == '&') && (p.sym(i+1) == '+' || p.word(i+1) == "up"):
		return i + 2
	case p.sym(i) == '+' && p.num(i+1) == nil && p.sym(i+1) != '$' && !p.about(i+1, aCost) && !p.words[i].line &&
		!p.about(i+1, aUtility) && !suppliers[p.word(i+1)]:
		return i + 1
	}
	return i
}

// connectors may stand between a cost and its amount: "Indoor parking is $59", "électricité en moyenne 125 $".
var connectors = set("is est sont a de d environ env about approx approximately approximatif moyenne en average avg " +
	"at for only seulement le la un une l cost " +
	"costs coute coutent cout mensuel monthly par mois month supplementaire supplementaires disponible disponibles " +
	"available dispo dispos se louee loues louees rents goes flat averages " +
	"int ext exterieur exterieure exterieurs interieur interieure interieurs possible additionnel additionnelle " +
	"additional " +
	"indoor outdoor per " +
	"egalement aussi also peu pres will run runs sera are stall stalls spot spots space spaces place places " +
	"estimated estime estimee estimes approximative around autour prevoir minimum maximum max souterrain if si desire " +
	"desiree optional nearby couvert covered rate an can could peut etre loue separement be rented had separately " +
	"revient reviennent arriere out back electrique electric " +
	"prive privee private derriere behind c arranged " +
	"garantie requis requise required securite " +
	"option optionnel tarif chaque each sont non obligatoire mensuelle of chauffe chauffee heated moyennant contre")

// A leadWord is the meaning of a word before an amount.
type leadWord uint8

const (
	leadLeast    leadWord = iota + 1 // "à partir de 900 $"
	leadRange                        // "900 à 1000 $", "as low as 900 $"
	leadRent                         // "loyer 900 $"
	leadMore                         // "plus 60 $"
	leadAbout                        // "environ 60 $"
	leadFor                          // "stationnement pour 40 $"
	leadExcluded                     // "non inclus, environ 60 $", "aux frais du locataire, environ 60 $"
	leadOnTop                        // "stationnement en sus (60 $)"
)

// amountLeads come before the costs and connectors: "aux frais du locataire, environ 70 $" names no cost by "frais".
var amountLeads = meanings(map[leadWord]string{
	leadLeast: "partir compter from start starts starting debutant debutent des low least minimum between entre",
	leadRange: "as a",
	leadRent:  "prix loyer loyers rent price louer location",
	leadMore:  "plus extra supplement surplus ajoutez add",
	leadAbout: "moyenne environ env about approx average estime approximativement prevoir prevoyez",
	leadFor:   "pour for",
	leadExcluded: "non pas not compris comprise inclus incluse included charge frais du au aux locataire tenant " +
		"quebec vos votre your",
	leadOnTop: "sus",
})

// An amountLead is what the words before an amount say of it, read from the nearest back.
type amountLead struct {
	p       *Prose
	a       *amount
	used, k int  // the last token of the amount before, and the token that is read
	n       int  // how many were read
	plus    bool // it is added to the rent
	about   bool // it is an estimate
	in      bool // "pour" stands right before it
	tenants bool // it is an estimate of what the tenant pays
	priced  bool // the parking that is not in the rent has the amount: "stationnement non inclus, 60 $"
}

// before reads the words that lead to the amount.
func (p *Prose) before(a *amount, used int) {
	l := amountLead{p: p, a: a, used: used, k: a.from - 1}
	for leads := true; leads && l.k > used && l.n < 11 && (l.n == 0 || !p.words[l.k+1].line); l.k, l.n = l.k-1, l.n+1 {
		l.priced = l.priced || l.n < 2 && p.parkingOut(l.k) && p.besideRent(a)
		switch t := &p.words[l.k]; t.kind {
		case symbol:
			leads = l.sign(t.sym)
		case word:
			leads = l.word(t.w)
		case number: // "stationnement, 1 place 25 $"
			leads = t.digits == 1 && parkingSpots[p.word(l.k+1)]
		}
	}
	if (l.plus || l.tenants) && a.role == forRent {
		a.role = forExtra
	}
}

// sign reads a sign before the amount, "parking: $60", and tells whether the words before it may lead there, too.
func (l *amountLead) sign(s byte) bool {
	p, a, k := l.p, l.a, l.k
	switch s {
	case '~':
		l.about = true
		return true
	case ':', '=', '"', '@':
		return true
	case '-':
		if p.sym(a.from) != '$' || !p.words[k].space { // "unit 453 - $520" is no range
			l.lowerEnd(100_00) // "900-1000 $"
		}
		return true
	case '(':
		if l.about && p.unlit(k-1) || (l.about || l.n == 0) && p.utilityEnds(k-1) {
			a.role = forHydro
			return false
		}
		if where := parkingPlaces[parkingAfter[p.word(k+1)]]; where != "" && p.parkingBehind(k) { // "(intérieur 110 $)"
			a.role = forParking
			return false
		}
		return l.n == 0 || l.plus || l.about
	case ')':
		return l.skipBracket()
	case '+':
		l.plus = l.plus || len(p.money) > 0 || p.about(k-1, aCost|aFurnishing) || p.pricedOption(k-1) ||
			p.sym(k-1) == '(' && p.sym(k+1) != '-' && p.about(k-2, aCost)
		return l.plus
	case ',':
		if l.about && (l.n <= 2 || l.tenants) || l.n == 0 && p.parkingOut(k-1) && p.besideRent(a) {
			return true // "électricité aux frais du locataire, environ 70 $"
		}
		if l.n == 0 && !a.per.short() && p.parkingSentence(k) && a.cents <= ceilings[forParking] {
			a.role = forParking
		}
	case '.':
		return !p.stop(k) // "stat. int. 100 $"
	}
	return false
}

// pricedOption tells whether "furnished for", "meublé possible (" or "parking: available (" ends at i, before what is
// added for it.
func (p *Prose) pricedOption(i int) bool {
	if p.sym(i) == '(' || p.word(i) == "for" || p.word(i) == "pour" {
		i--
	}
	if furnishedOptions[p.word(i)] {
		i--
	}
	if p.sym(i) == ':' {
		i--
	}
	return p.about(i, aFurnishing|aParking)
}

// word reads a word before the amount, "loyer 900 $", and tells whether those before it may lead there, too.
func (l *amountLead) word(w string) bool {
	p, a, k := l.p, l.a, l.k
	switch amountLeads[w] {
	case leadLeast:
		a.least = a.least || w != "des" || l.n == 0
		return true
	case leadRange:
		if w == "a" && l.lowerEnd(0) { // "900 à 1000 $"
			l.k--
		}
		return true
	case leadRent:
		if w == "prix" && l.atCost(k-1) {
			return true
		}
		if (w == "louer" && p.word(k-1) == "a" || w == "location" && p.word(k-1) == "en" ||
			w == "rent" && p.word(k-1) == "for") && a.cents <= ceilings[forParking] &&
			p.parkingBehind(k-1) { // "garage à louer 225 $", "stationnement intérieur en location 175 $"
			a.role = forParking
		} else {
			a.named, l.plus = true, false
		}
		return false
	case leadMore:
		l.plus = true
		return true
	case leadAbout:
		l.about = true
		return true
	case leadFor:
		if l.n == 0 {
			l.in = true
			return true
		}
	case leadExcluded:
		l.tenants = l.tenants || l.about && w == "frais" // "chauffage électrique, à vos frais (environ 120 $)"
		if l.about || l.priced || l.atCost(k) {          // "électricité non comprise, moyenne 125 $"
			return true
		}
	case leadOnTop:
		if l.priced || l.about || p.sym(k+1) == '(' { // "stationnement en sus (60 $)", "hydro en sus, env. 80 $"
			return true
		}
	}
	if pays, ok := costs[w]; ok {
		l.cost(w, pays)
		return false
	}
	return connectors[w] || wasWords[w]
}

// cost takes the amount for what the word w costs, unless it is the rent of a home that has it: "meublé 800 $".
func (l *amountLead) cost(w string, pays role) {
	p, a := l.p, l.a
	switch last, next := p.word(l.k-1), p.word(l.k+1); {
	case (w == "achat" || w == "achats") && p.word(l.k-2) != "bon" && p.word(l.k-2) != "bons": // "centre d'achat 850 $"
	case worths[w] && (next == "de" || next == "of"): // "appareils d'une valeur de 1000 $"
		a.role, a.worth = forOther, true
	case pays == forDiscount && (next == "applique" || last == "apres" || last == "after"): // "rabais appliqué : 723 $"
		a.named = true
	case l.in && pays != forParking: // "stationnement pour 40 $", but "internet inclus pour 640 $"
		l.plus = false
	case parkingStalls[w] && (last == "second" || last == "additional" || p.word(l.k-2) == "second"):
		a.role = forOther // "a second spot at $120" prices no first one
	case pays == forFurniture && !l.plus: // "4 1/2 meublé 800 $"
	case pays == forFurniture && (last == "semi" || p.sym(l.k-1) == '-' && p.word(l.k-2) == "semi"):
		a.role = forSemi
	case pays == forParking && featured(last) && !l.plus: // "avec stationnement 300 $"
	default:
		a.role = pays
	}
}

// unlit tells whether "non éclairé" ends at i: what a bracket behind it estimates is the electricity's.
func (p *Prose) unlit(i int) bool {
	for k := i; k >= i-2 && k >= 0; k-- {
		if end := p.notHeatedNotLit(k); end == i && end > k {
			return true
		}
	}
	_, on := p.participle(i)
	return on == electricity && p.denied(i) || p.abbreviation(i-2, 'e') == i || p.abbreviation(i, 'e') == i
}

// utilityEnds tells whether a list of utilities ends at i, so that a bracket behind it says what they cost: "tenant
// pays heat, hydro & water (approx $120)".
func (p *Prose) utilityEnds(i int) bool {
	if halfNames[p.word(i)] {
		i--
	}
	what, _ := p.thing(i)
	return what != noUtility && what < parkingPlace && what != internet && what != cable || what == collective
}

// skipBracket passes a remark without a number: "stationnement intérieur (garage non chauffé) à 50 $".
func (l *amountLead) skipBracket() bool {
	for k := l.k - 1; l.n > 0 && k > l.used && k >= l.k-6; k-- {
		if l.p.sym(k) == '(' {
			l.k = k
			return true
		}
		if l.p.words[k].kind == number {
			return false
		}
	}
	return false
}

// lowerEnd makes the number before the token that is read the amount, of which that is the upper end: "900 à 1000 $".
func (l *amountLead) lowerEnd(least int64) bool {
	a, low := l.a, l.p.num(l.k-1)
	if l.n > 0 || low == nil || l.k-1 <= l.used || low.digits < 3 || low.half || low.cents < least ||
		low.cents >= a.cents || low.cents*2 < a.cents {
		return false
	}
	a.cents, a.from, a.least = low.cents, l.k-1, true
	return true
}

// besideRent tells whether the amount after "stationnement non inclus" may be the parking's, and is not the rent of a
// room or of a week: "stationnement non inclus, 325 $ par mois".
func (p *Prose) besideRent(a *amount) bool {
	const most = 150_00 // unless a bracket or a colon ties it to the parking
	before := p.sym(a.from - 1)
	switch {
	case a.per.short(), a.from < len(p.words) && p.words[a.from].line:
		return false
	case before == '(', before == ':':
		return true
	case a.cents > most:
		return false
	}
	if a.per != perMonth || a.cents < lowRentCents {
		return true
	}
	for _, b := range p.money {
		if b.role == forRent && b.cents > a.cents {
			return true
		}
	}
	for k := a.to + 1; k < len(p.words) && k < a.to+100; k++ { // the rent may come later
		if t := p.num(k); t != nil && t.cents > a.cents && (p.sym(k+1) == '$' || p.sym(k-1) == '$') {
			return true
		}
	}
	return false
}

// parkingSentence tells whether the sentence up to the comma at k begins with parking and is of nothing else: "parking
// can be arranged through the office, $185 monthly".
func (p *Prose) parkingSentence(k int) bool {
	first := k
	for first > 0 && !p.stop(first) {
		if first--; p.sym(first) == ',' || p.sym(first) == '$' || p.about(first, aUtility) {
			return false
		}
	}
	for n := first; n < first+3 && n < k; n++ {
		if costs[p.word(n)] == forParking && p.word(n) != "vignette" {
			return true
		}
	}
	return false
}

// parkingOut tells whether the word at k ends "stationnement non inclus", "parking not included" or "stat. en sus".
func (p *Prose) parkingOut(k int) bool {
	switch inclusionWords[p.word(k)] {
	case saysIncluded:
		if !p.denied(k) {
			return false
		}
	case saysExtra:
		if p.word(k) != "sus" || p.word(k-1) != "en" {
			return false
		}
	default:
		return false
	}
	for m := k - 1; m >= k-5 && m >= 0 && !p.stop(m+1); m-- {
		if costs[p.word(m)] == forParking {
			return true
		}
	}
	return false
}

func featured(w string) bool {
	return w == "avec" || w == "with" || w == "et" || w == "and" || w == "incluant"
}

// after reads what follows the amount: "pour le garage", "de plus", "de rabais", "off".
func (p *Prose) after(a *amount, i int) {
	if p.feeBehind(a, i) || p.evenPayment(a, i) {
		return
	}
	if p.firstMonths(a, i) {
		a.role = forDiscount
		return
	}
	if p.sym(i) == '(' {
		i++
	}
	if p.stop(i) {
		return
	}
	switch p.word(i) {
	case "a":
		if p.seq(i, "a", "la", "location") || p.seq(i, "a", "la", "signature") { // a bonus for signing
			a.role = forDiscount
		}
	case "pour", "for", "de", "d":
		p.paidFor(a, i)
	case "extra":
		if w := p.word(i + 1); w == "for" || w == "pour" { // "50 $ extra for parking"
			p.paidFor(a, i+1)
			return
		}
		p.addedOnTop(a, i)
	case "plus", "en", "additionnel", "supplementaire", "supplementaires", "additional", "more":
		p.addedOnTop(a, i)
	case "off", "rabais", "discount", "rebate", "cashback", "cash":
		k := i + 1
		if p.word(k) == "de" || p.sym(k) == ':' {
			k++
		}
		if p.num(k) == nil && p.sym(k) != '$' { // "850 $, rabais 50 $" is two amounts
			a.role = forDiscount
		}
	case "depot", "deposit":
		a.role = forDeposit
	case "stationnement", "parking", "garage": // "+ 60 $ stationnement"
		if p.sym(a.from-1) == '+' && p.listEnds(i+1) && a.cents <= ceilings[forParking] {
			a.role = forParking
		}
	default:
		if role, ok := costs[p.word(i)]; ok && a.role == forExtra {
			a.role = role
		}
	}
}

// feeBehind takes the amount for the fee that it ends in, some words on: "$200 move-in fee".
func (p *Prose) feeBehind(a *amount, i int) bool {
	for k := i; k < i+4 && !p.stop(k) && !p.about(k, anInclusion) && p.sym(k) != '/' && p.sym(k) != '|'; k++ {
		if w := p.word(k); w == "fee" || w == "deposit" || w == "gift" {
			a.role = costs[w]
			return true
		}
	}
	return false
}

// evenPayment takes a small amount for electricity: "95 $/mois en versements égaux avec Hydro-Québec".
func (p *Prose) evenPayment(a *amount, i int) bool {
	for k := i; a.cents <= 250_00 && k < i+6 && !p.stop(k) && p.sym(k) != ','; k++ {
		if w := p.word(k); w == "versements" || w == "egaux" || w == "billing" {
			a.role = forHydro
			return true
		}
	}
	return false
}

// paidFor reads what "pour" or "de" at i says that the amount pays: "40 $ pour le garage", "60 $ de plus".
func (p *Prose) paidFor(a *amount, i int) {
	k := i + 1
	for n := 0; n < 4 && connectors[p.word(k)]; n++ {
		k++
	}
	w := p.word(k)
	pays, ok := costs[w]
	switch n := p.word(k + 1); {
	case w == "plus", w == "more":
		a.role = forExtra
	case w == "frais" && (n == "d" || n == "de") && costs[p.word(k+2)] == forHydro: // "75 $ de frais d'électricité"
		a.role = forHydro
	case !ok && p.word(i) == "for" && a.cents <= ceilings[forParking] &&
		(parkingPlaces[parkingBefore[w]] != "" && costs[n] == forParking || k > i+1 && p.listEnds(k) &&
			parkingPlaces[parkingBefore[p.word(k-1)]] != ""): // "$60 for outdoor parking, $120 for indoor"
		a.role = forParking
	case !ok, pays == forRent && p.word(i) == "de": // "100 $ de loyer"
	case w == "meubles" && a.role == forRent && a.cents > 300_00: // "900 $ pour meublés" is a rent
	default:
		a.role = pays
	}
}

// addedOnTop reads "en sus" or "extra" at i: the amount is added to one before it, or is what a parking costs,
// "stationnement sur demande, 100 $ en plus". "750 $ en carte cadeau" is a discount.
func (p *Prose) addedOnTop(a *amount, i int) {
	w, next := p.word(i), p.word(i+1)
	switch en := w == "en"; {
	case en && (next == "plus" || next == "sus") && a.cents <= ceilings[forParking] && p.parkingBehind(a.from):
		a.role = forParking
	case en && costs[next] == forDiscount:
		a.role = forDiscount
	case en && next != "sus" && next != "extra", w == "plus" && !p.stop(i+1) && next != "par":
	case len(p.money) > 0, w == "more" && a.cents <= ceilings[forFurniture]:
		a.role = forExtra
	}
}

// parkingBehind tells whether parking is named in the nine words before i: "stationnement sur demande, 100 $".
func (p *Prose) parkingBehind(i int) bool {
	for k := i - 1; k >= i-9 && !p.stop(k+1); k-- {
		if costs[p.word(k)] == forParking {
			return true
		}
	}
	return false
}
