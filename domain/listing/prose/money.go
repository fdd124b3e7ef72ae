package prose

import "github.com/mtlrent/conveyor/domain/listing"

// A period is the time that an amount pays for.
type period uint8

const (
	unstated period = iota
	perMonth
	perWeek
	perDay
	perYear
)

var periodNames = [...]string{"", "month", "week", "day", "year"}

// An amount is a sum of money in a text, and its purpose.
type amount struct {
	cents int64
	role  role
	per   period
	least bool // "from 795 $", "900–1000 $", "936 $ et plus"
	named bool // said to be the rent, or said to be a month's
	worth bool // what a thing is worth, and no rent whatever its size
	from  int  // tokens
	to    int
}

// A role is the purpose of an amount.
type role string

const (
	forRent      role = ""
	forParking   role = "parking"
	forHydro     role = "electricity"
	forFurniture role = "furnished"
	forSemi      role = "semi_furnished"
	forDeposit   role = "deposit"
	forDiscount  role = "discount"
	forExtra     role = "extra" // a supplement for something unnamed
	forOther     role = "other"
)

// costs are the nouns that an amount may belong to instead of the rent.
var costs = map[string]role{
	"stationnement": forParking, "stationnements": forParking, "parking": forParking, "garage": forParking,
	"stationement": forParking, "stat": forParking, "vignette": forParking, "cabanon": forOther,
	"hydro": forHydro, "electricite": forHydro, "electricity": forHydro, "chauffage": forHydro, "heating": forHydro,
	"energie": forHydro, "elec": forHydro, "utilities": forHydro, "heat": forHydro, "bills": forHydro, "bill": forHydro,
	"meuble": forFurniture, "meubles": forFurniture, "furnished": forFurniture, "furniture": forFurniture,
	"meublee": forFurniture,
	"depot":   forDeposit, "deposit": forDeposit, "caution": forDeposit, "cle": forDeposit, "cles": forDeposit,
	"key":    forDeposit,
	"rabais": forDiscount, "remise": forDiscount, "ristourne": forDiscount, "reduction": forDiscount,
	"discount": forDiscount, "promotion": forDiscount, "promo": forDiscount,
	"economie": forDiscount, "economisez": forDiscount, "save": forDiscount, "credit": forDiscount, "cadeau": forDiscount,
	"carte": forDiscount, "gift": forDiscount,
	"recevez": forDiscount, "rebate": forDiscount, "referencement": forDiscount, "prime": forDiscount, "off": forDiscount,
	"valeur": forOther, "value": forOther, "worth": forOther, "frais": forOther, "fee": forOther, "fees": forOther,
	"taxe": forOther, "taxes": forOther, "tax": forOther, "assurance": forOther, "assurances": forOther,
	"internet": forOther, "wifi": forOther, "cable": forOther, "buanderie": forOther, "laundry": forOther,
	"rangement": forOther, "locker": forOther, "casier": forOther, "storage": forOther, "climatiseur": forOther,
	"climatisation": forOther, "laveuse": forOther, "secheuse": forOther, "brassee": forOther, "lavage": forOther,
	"chat": forOther, "chien": forOther, "animal": forOther, "animaux": forOther, "pet": forOther, "pets": forOther,
	"cat": forOther, "dog": forOther, "invite": forOther, "personne": forOther, "enquete": forOther, "gym": forOther,
	"spot": forParking, "spots": forParking, "stall": forParking, "stalls": forParking, "appliances": forOther,
	"electromenagers": forOther, "electros": forOther, "remote": forDeposit,
	"options": forOther, "deneigement": forOther, "balance": forOther, "penalite": forOther,
}

// worths lead to what a thing is worth.
var worths = set("valeur value")

// parkingStalls are the costs of which a second one says nothing of the first.
var parkingStalls = set("spot spots stall stalls")

// ceilings are the most that a side cost can be a month, in cents. "4 1/2 avec stationnement 800 $" is a rent.
var ceilings = map[role]int64{forParking: 350_00, forHydro: 450_00, forFurniture: 600_00, forSemi: 400_00,
	forOther: 600_00}

// amounts finds the sums of money in the text, in its order.
func (p *Prose) amounts() []amount {
	if p.counted {
		return p.money
	}
	p.counted = true
	used := -1 // last token that belongs to an amount
	for i := range p.words {
		t := &p.words[i]
		if i <= used {
			continue
		}
		var a amount
		var ok bool
		switch {
		case t.w == "cad" && p.glued(i): // part of a code
		case t.sym == '$' || t.topic&aMoney != 0 && (t.w == "dollars" || t.w == "dollar" || t.w == "piastres" ||
			t.w == "cad"):
			a, ok = p.signed(i, used)
		case t.kind == number:
			a, ok = p.unsigned(i, used)
		}
		if !ok {
			continue
		}
		p.describe(&a, used)
		used = a.to
		if n := len(p.money); n > 0 && p.range2(&p.money[n-1], a) {
			continue
		}
		p.money = append(p.money, a)
	}
	return p.money
}

// glued tells whether digits or letters touch the number and currency at i-1 and i: "a640cad9f".
func (p *Prose) glued(i int) bool {
	if i+1 < len(p.words) && !p.words[i+1].space && p.words[i+1].kind == number {
		return true
	}
	return i >= 2 && !p.words[i].space && !p.words[i-1].space && p.words[i-2].kind == word
}

// range2 tells whether b is the upper end of a range that a begins: "850 $ - 950 $".
func (p *Prose) range2(a *amount, b amount) bool {
	if b.from-a.to != 2 || a.role != forRent || b.role != forRent || b.cents <= a.cents || b.cents > 2*a.cents ||
		p.words[b.from].line {
		return false
	}
	if w := p.word(a.to + 1); w != "a" && w != "to" && p.sym(a.to+1) != '-' {
		return false
	}
	a.least, a.to = true, b.to
	if a.per == unstated {
		a.per, a.named = b.per, b.named
	}
	return true
}

// signed reads the amount of the currency sign at i: the number before it, or the one after.
func (p *Prose) signed(i, used int) (a amount, ok bool) {
	left, right := i-1, i+1
	if p.sym(left) == '.' || p.sym(left) == ',' { // "900.00.$"
		left--
	}
	l, r := p.num(left), p.num(right)
	if l != nil && (left <= used || l.half || l.digits == 0 || l.digits == 1 && l.dec == 1) {
		l = nil
	}
	if l != nil && p.words[i].line {
		l = nil
	}
	if r != nil && (r.half || r.digits == 0 || r.line) {
		r = nil
	}
	if l != nil && r != nil && p.words[i].space && !r.space { // "2018 $800"
		l = nil
	}
	switch {
	case l != nil:
		a = amount{cents: l.cents, from: left, to: i}
		p.thousandsBefore(&a, used)
	case r != nil:
		a = amount{cents: r.cents, from: i, to: right}
		for next := p.num(a.to + 1); next != nil; next = p.num(a.to + 1) { // "$1 250"
			if !next.space || next.line || next.digits != 3 || next.half || p.words[a.to].dec > 0 || p.words[a.to].digits > 3 ||
				a.cents <= 0 || a.cents > 1e12 || p.sym(a.to+2) == '$' {
				break
			}
			a.cents = a.cents*1000 + next.cents
			a.to++
		}
		if p.sym(a.to+1) == '$' { // "$850$"
			a.to++
		}
	default:
		return a, false
	}
	return a, true
}

// thousandsBefore adds "1" to "250" in "1 250 $". The group before may have three digits only when it is a whole
// number of its own: the year of "juillet 2018 800,00 $" has four, and "3 1/2" is no group.
func (p *Prose) thousandsBefore(a *amount, used int) {
	scale := int64(1000)
	for a.from-1 > used {
		t, prev := &p.words[a.from], p.num(a.from-1)
		if prev == nil || !t.space || t.line || t.digits != 3 || prev.half || prev.dec > 0 || prev.digits > 3 ||
			prev.digits < 1 ||
			prev.cents == 0 || scale > 1e9 {
			return
		}
		if p.sym(a.from-2) == '#' || p.about(a.from-2, aMonth) { // "app #3 800 $", "juillet 18 800 $"
			return
		}
		a.cents += prev.cents * scale
		a.from--
		scale *= 1000
	}
}

// unsigned reads a number without a sign that the words around it make a sum: "755.00 / m", "prix 750.00".
func (p *Prose) unsigned(i, used int) (a amount, ok bool) {
	t := &p.words[i]
	if t.half || t.digits < 2 || t.digits > 8 || t.cents < 100_00 {
		return a, false
	}
	if end, _ := p.areaUnit(i + 1); end >= 0 || listing.StreetWord(p.word(i+1)) { // "loyer de 752 pieds carrés"
		return a, false
	}
	if p.sym(i+1) == '$' || p.sym(i+1) == '.' && p.sym(i+2) == '$' || p.about(i+1, aMoney) && p.isCurrency(i+1) {
		return a, false
	}
	if next := p.num(i + 1); next != nil && next.space && next.digits == 3 && t.digits <= 3 { // "1 250 $"
		return a, false
	}
	a = amount{cents: t.cents, from: i, to: i}
	p.thousandsBefore(&a, used)
	if per, _ := p.period(i + 1); per != unstated && (p.sym(i+1) == '/' || p.word(i+1) == "par" || p.word(i+1) == "per" ||
		per == perMonth && p.word(i+1) != "m") {
		if p.word(i+1) != "mois" && p.word(i+1) != "mo" && p.word(i+1) != "month" && p.word(i+1) != "moi" {
			return a, true
		}
		return a, t.digits >= 3
	}
	if t.dec == 2 && t.cents%100 == 0 && t.digits >= 3 && t.digits <= 4 && a.from == i { // "865.00 tout inclus"
		return a, true
	}
	k := a.from - 1
	for n := 0; n < 4 && k >= 0; n++ {
		switch p.word(k) {
		case "prix", "loyer", "rent", "price", "tarif", "asking":
			year := t.cents >= 1990_00 && t.cents <= 2040_00 && t.dec == 0 && t.digits == 4
			return a, !year
		case "rate", "cout": // "Coût : 900"
			return a, k < a.from-1 && p.sym(k+1) == ':'
		case "a", "de", "est", "is", "only", "seulement", "juste", "mensuel", "total", "":
			if s := p.sym(k); s != ':' && s != '=' && s != '-' && p.word(k) == "" {
				return a, false
			}
		default:
			return a, false
		}
		k--
	}
	return a, false
}

func (p *Prose) isCurrency(i int) bool {
	switch p.word(i) {
	case "dollar", "dollars", "piastres", "cad":
		return true
	}
	return false
}

// period reads "/ mois", "par semaine", "weekly", "mensuel" at i and returns its last token.
func (p *Prose) period(i int) (period, int) {
	k := i
	for p.sym(k) == '.' || p.sym(k) == ')' {
		k++
	}
	slashed := false
	switch {
	case p.sym(k) == '/' || p.sym(k) == '\\':
		slashed = true
		k++
	case p.word(k) == "par" || p.word(k) == "per" || p.word(k) == "by" || p.word(k) == "chaque" || p.word(k) == "each":
		slashed = true
		k++
	case p.word(k) == "a" || p.word(k) == "le" || p.word(k) == "la" || p.word(k) == "l" || p.word(k) == "the" ||
		p.word(k) == "every":
		k++
		slashed = p.word(k) != "m"
	}
	if slashed && (p.word(k) == "le" || p.word(k) == "pers") {
		k++
	}
	switch w := p.word(k); w {
	case "mois", "moi", "month", "mo", "mth", "moiss", "mos", "mosi", "months":
		if !slashed && (p.about(k+1, aPromotion) || k > i) || k+1 < len(p.words) && p.word(k+1) == "gratuit" {
			return unstated, i
		}
		return perMonth, k
	case "p":
		if !slashed && p.sym(k+1) == '/' && p.word(k+2) == "w" { // "$260 p/w"
			return perWeek, k + 2
		}
		if slashed {
			return perMonth, k
		}
	case "m":
		if slashed {
			return perMonth, k
		}
	case "pcm", "mensuel", "mensuelle", "mensuellement", "monthly", "mensuels":
		return perMonth, k
	case "semaine", "semaines", "week", "weeks", "wk", "sem":
		if slashed {
			return perWeek, k
		}
	case "weekly", "hebdomadaire", "hebdo", "pw":
		return perWeek, k
	case "jour", "jours", "day", "days", "nuit", "nuitee", "night", "nights", "soir":
		if slashed {
			return perDay, k
		}
	case "daily", "quotidien", "nightly":
		return perDay, k
	case "an", "annee", "ans", "year", "yr":
		if slashed {
			return perYear, k
		}
	case "annuel", "annuellement", "yearly", "annually":
		return perYear, k
	}
	return unstated, i
}

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
		if p.sym(k) == ':' { // "loyer hebdomadaire : 165 $"
			k--
		}
		switch p.word(k) {
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
	if limit := ceilings[a.role]; limit > 0 && a.cents > limit && !a.worth {
		a.role = forRent
	}
	if a.per == perYear && a.role == forRent {
		a.role = forOther
	}
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
	"egalement aussi also peu pres are stall stalls spot spots space spaces place places " +
	"estimated estime estimee estimes approximative around autour prevoir minimum maximum max souterrain if si desire " +
	"desiree optional nearby couvert covered rate an can could peut etre loue separement be rented had separately " +
	"option optionnel chaque each sont non obligatoire mensuelle of chauffe chauffee heated")

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
	for k := i; k < i+4 && !p.stop(k) && !p.about(k, anInclusion); k++ { // "$200 move-in fee"
		if w := p.word(k); w == "fee" || w == "deposit" || w == "gift" {
			a.role = costs[w]
			return
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
		if len(p.money) > 0 {
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
