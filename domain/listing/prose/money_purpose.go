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
		if w := p.word(k); p.sym(k) == ':' || w == "of" || w == "de" || w == "is" || w == "est" {
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
		a.role == forRent && p.ofIncome(a) { // "que j'ai payé 800 $"
		a.role, a.worth = forOther, true
	}
	if limit := ceilings[a.role]; limit > 0 && a.cents > limit && !a.worth && a.per != perYear {
		a.role = forRent
	}
	if a.per == perYear && a.role == forRent && !p.yearOfRent(a, next) {
		a.role = forOther
	}
}

// ofIncome tells whether a sum is what the tenant must earn: "revenu entre 19 000 et 27 400 $, ou couple : 33 500 $".
func (p *Prose) ofIncome(a *amount) bool {
	if a.cents < 10_000_00 {
		return false
	}
	for k := a.from - 1; k >= 0 && k >= a.from-20 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "revenu", "revenus", "salaire", "salaires", "income", "salary", "earn", "earning":
			return true
		}
	}
	return false
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
		!p.about(i+1, aUtility):
		return i + 1
	}
	return i
}

// connectors may stand between a cost and its amount: "Indoor parking is $59", "électricité en moyenne 125 $".
var connectors = set("is est sont a de d environ env about approx approximately approximatif moyenne en average avg " +
	"at for only seulement le la un une l cost " +
	"costs coute coutent cout mensuel monthly par mois month supplementaire supplementaires disponible disponibles " +
	"available dispo dispos " +
	"int ext exterieur exterieure exterieurs interieur interieure interieurs possible additionnel additionnelle " +
	"additional " +
	"indoor outdoor per " +
	"egalement aussi also peu pres will run runs sera are stall stalls spot spots space spaces place places " +
	"estimated estime estimee estimes approximative around autour prevoir minimum maximum max souterrain if si desire " +
	"desiree optional nearby couvert covered rate an can could peut etre loue separement be rented had separately " +
	"option optionnel chaque each sont non obligatoire mensuelle of chauffe chauffee heated moyennant contre")

// before reads the words that lead to the amount.
func (p *Prose) before(a *amount, used int) {
	plus, first, about, in := false, len(p.money) == 0, false, false
	priced := false // the parking that is not in the rent has the amount: "stationnement non inclus, 60 $"
	for k, n := a.from-1, 0; k > used && n < 11; k, n = k-1, n+1 {
		t := &p.words[k]
		if p.words[k+1].line && n > 0 {
			break
		}
		priced = priced || n < 2 && p.parkingOut(k) && p.besideRent(a)
		switch t.sym {
		case '(', ':', '=', '~', '-', '"', '@':
			if t.sym == '-' && n == 0 && p.num(k-1) != nil && p.num(k-1).digits >= 3 && !p.num(k-1).half && k-1 > used {
				if low := p.num(k - 1).cents; low < a.cents && low*2 >= a.cents && low >= 100_00 { // "900-1000 $"
					a.cents, a.from, a.least = low, k-1, true
					continue
				}
			}
			if t.sym == '(' && n > 0 && !plus && !about {
				return
			}
			continue
		case '+':
			plus = plus || !first || p.about(k-1, aCost) || p.about(k-1, aFurnishing) ||
				p.sym(k-1) == '(' && p.sym(k+1) != '-' && p.about(k-2, aCost)
			if !plus {
				return
			}
			continue
		case 0:
		case ',':
			if about && n == 1 || n == 0 && p.parkingOut(k-1) && p.besideRent(a) {
				continue // "électricité aux frais du locataire, environ 70 $"
			}
			if n == 0 && a.per != perWeek && p.parkingSentence(k) && a.cents <= ceilings[forParking] {
				a.role = forParking
				return
			}
			if plus && a.role == forRent {
				a.role = forExtra
			}
			return
		case '.':
			if !p.stop(k) { // "stat. int. 100 $"
				continue
			}
			if plus && a.role == forRent {
				a.role = forExtra
			}
			return
		default:
			if plus && a.role == forRent {
				a.role = forExtra
			}
			return
		}
		if t.kind == number {
			break
		}
		switch t.w {
		case "partir", "compter", "from", "starting", "des", "low", "least", "minimum", "between", "entre":
			if t.w != "des" || n == 0 {
				a.least = true
			}
			continue
		case "as", "a":
			if n == 0 && t.w == "a" { // "900 à 1000 $"
				if l := p.num(k - 1); l != nil && k-1 > used && l.digits >= 3 && !l.half && l.cents < a.cents &&
					l.cents*2 >= a.cents {
					a.cents, a.from, a.least = l.cents, k-1, true
					k--
				}
			}
			continue
		case "prix", "loyer", "loyers", "rent", "price", "louer", "location":
			if t.w == "louer" && p.word(k-1) == "a" && costs[p.word(k-2)] == forParking { // "garage à louer 225 $"
				a.role = forParking
				return
			}
			a.named = true
			return
		case "plus", "extra", "supplement", "surplus", "ajoutez", "add":
			plus = true
			continue
		case "moyenne", "environ", "env", "about", "approx", "average", "estime", "approximativement":
			about = true
			continue
		case "non", "pas", "not", "compris", "comprise", "inclus", "incluse", "included", "charge", "frais", "du", "au",
			"aux", "locataire", "tenant", "quebec":
			if about || priced { // "électricité non comprise, moyenne 125 $"
				continue
			}
		case "sus":
			if p.sym(k+1) == '(' || priced { // "stationnement en sus (60 $)"
				continue
			}
		}
		if t.w == "pour" && n == 0 || t.w == "for" && n == 0 {
			in = true // "stationnement pour 40 $", but "internet inclus pour 640 $"
			continue
		}
		if worths[t.w] && (p.word(k+1) == "de" || p.word(k+1) == "of") { // "appareils d'une valeur de 1000 $"
			a.role, a.worth = forOther, true
			return
		}
		if role, ok := costs[t.w]; ok {
			switch {
			case in && role != forParking:
			case parkingStalls[t.w] && (p.word(k-1) == "second" || p.word(k-1) == "additional" || p.word(k-2) == "second"):
				a.role = forOther // "a second spot at $120" prices no first one
			case role == forFurniture && !plus: // "4 1/2 meublé 800 $"
				break
			case role == forFurniture && (p.word(k-1) == "semi" || p.sym(k-1) == '-' && p.word(k-2) == "semi"):
				a.role = forSemi
			case role == forParking && featured(p.word(k-1)) && !plus: // "avec stationnement 300 $"
			default:
				a.role = role
			}
			return
		}
		if !connectors[t.w] {
			break
		}
	}
	if plus && a.role == forRent {
		a.role = forExtra
	}
}

// besideRent tells whether the amount after "stationnement non inclus" may be the parking's, and is not the rent of a
// room or of a week: "stationnement non inclus, 325 $ par mois".
func (p *Prose) besideRent(a *amount) bool {
	const most = 150_00 // unless a bracket or a colon ties it to the parking
	before := p.sym(a.from - 1)
	switch {
	case a.per == perWeek, a.per == perDay, a.from < len(p.words) && p.words[a.from].line:
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
	for k := i; k < i+4 && !p.stop(k) && !p.about(k, anInclusion) && p.sym(k) != '/' && p.sym(k) != '|'; k++ {
		// "$200 move-in fee"
		if w := p.word(k); w == "fee" || w == "deposit" || w == "gift" {
			a.role = costs[w]
			return
		}
	}
	if a.cents <= 250_00 {
		for k := i; k < i+6 && !p.stop(k) && p.sym(k) != ','; k++ { // "95 $/mois en versements égaux avec Hydro-Québec"
			if p.word(k) == "versements" || p.word(k) == "egaux" || p.word(k) == "billing" {
				a.role = forHydro
				return
			}
		}
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
		k := i + 1
		for n := 0; n < 4 && connectors[p.word(k)]; n++ {
			k++
		}
		switch p.word(k) {
		case "plus", "more":
			a.role = forExtra
			return
		case "frais":
			// "75 $ de frais d'électricité"
			if w := p.word(k + 2); (p.word(k+1) == "d" || p.word(k+1) == "de") && costs[w] == forHydro {
				a.role = forHydro
				return
			}
		}
		if role, ok := costs[p.word(k)]; ok && (p.word(i) != "de" || role != forRent) {
			if role == forFurniture && p.word(k) == "meubles" && a.role == forRent && a.cents > 300_00 {
				return
			}
			a.role = role
		}
	case "plus", "en", "extra", "additionnel", "supplementaire", "supplementaires", "additional", "more":
		if p.seq(i, "en", "plus") || p.seq(i, "en", "sus") {
			for k := a.from - 1; k >= a.from-9 && !p.stop(k+1); k-- { // "stationnement sur demande, 100 $ en plus"
				if costs[p.word(k)] == forParking && a.cents <= ceilings[forParking] {
					a.role = forParking
					return
				}
			}
		}
		if p.word(i) == "en" && costs[p.word(i+1)] == forDiscount { // "750 $ en carte cadeau"
			a.role = forDiscount
			return
		}
		if p.word(i) == "en" && p.word(i+1) != "sus" && p.word(i+1) != "extra" || p.word(i) == "plus" && !p.stop(i+1) &&
			p.word(i+1) != "par" {
			return
		}
		if len(p.money) > 0 || p.word(i) == "more" && a.cents <= ceilings[forFurniture] {
			a.role = forExtra
		}
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
	default:
		if a.role == forExtra {
			if role, ok := costs[p.word(i)]; ok {
				a.role = role
			}
		}
	}
}
