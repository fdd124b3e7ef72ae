package prose

import "maps"

// A period is the time that an amount pays for.
type period uint8

const (
	unstated period = iota
	perMonth
	perWeek
	perDay
	perYear
	perFortnight
)

var periodNames = [...]string{"", "month", "week", "day", "year", "two weeks"}

// short tells whether a period is shorter than a month.
func (p period) short() bool { return p == perWeek || p == perDay || p == perFortnight }

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

// costs are the nouns that an amount may belong to instead of the rent, and their plurals.
var costs = func() map[string]role {
	m := meanings(map[role]string{
		forParking:   "stationnement stationement parking garage driveway stat vignette spot stall",
		forHydro:     "hydro electricite electricity elec energie chauffage heating heat utilities bill power",
		forFurniture: "meuble meublee furnished furniture",
		forDeposit:   "depot deposit caution cle key remote",
		forDiscount: "rabais remise ristourne reduction discount promotion promo economie economisez save credit cadeau " +
			"carte gift achat recevez cheque rebate referencement prime off",
		forOther: "cabanon valeur value worth frais fee taxe tax assurance internet wifi cable buanderie laundry rangement " +
			"locker casier storage climatiseur climatisation laveuse secheuse brassee lavage chat chien animal animaux pet " +
			"cat dog invite personne enquete gym appliances electromenagers electros options deneigement balance penalite",
	})
	for w, r := range maps.Clone(m) {
		if w != "personne" { // "pour 2 personnes 550 $" is a rent
			m[w+"s"] = r
		}
	}
	return m
}()

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

// period reads "/ mois", "par semaine", "weekly", "mensuel" at i and returns its last token.
func (p *Prose) period(i int) (period, int) {
	k := i
	for p.sym(k) == '.' || p.sym(k) == ')' {
		k++
	}
	if p.seq(k, "pour", "l", "annee") || p.seq(k, "for", "the", "year") { // "1050 $ pour l'année"
		return perYear, k + 2
	}
	if end := p.fortnight(k); end > 0 {
		return perFortnight, end
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
		p.word(k) == "every" || p.word(k) == "au" || p.word(k) == "aux":
		k++
		slashed = p.word(k) != "m"
	}
	if slashed && (p.word(k) == "le" || p.word(k) == "la" || p.word(k) == "pers") {
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
		for m := i; m <= k; m++ {
			if p.stop(m) { // "Rent: $4,500. Annually renewable."
				return unstated, i
			}
		}
		if l := p.word(k + 1); p.about(k+1, aLease) || l == "lease" || l == "leases" || l == "bail" || l == "contract" ||
			l == "contrat" { // "$1,500. Yearly lease"
			return unstated, i
		}
		return perYear, k
	}
	return unstated, i
}

// fortnight returns the last token of "aux 2 semaines", "every two weeks", "bi-weekly" at i, or 0.
func (p *Prose) fortnight(i int) int {
	switch w := p.word(i); {
	case w == "biweekly", w == "bihebdomadaire", w == "bihebdo":
		return i
	case w == "bi":
		if p.sym(i+1) == '-' {
			i++
		}
		if w := p.word(i + 1); w == "weekly" || w == "hebdo" || w == "hebdomadaire" {
			return i + 1
		}
		return 0
	case w == "toutes":
		i += 2
	case p.sym(i) == '/', w == "aux", w == "every", w == "per", w == "par", w == "chaque":
		i++
	default:
		return 0
	}
	if n, _ := p.smallAt(i); n != 2 && p.word(i) != "other" { // "every other week"
		return 0
	}
	switch p.word(i + 1) {
	case "semaines", "semaine", "sem", "weeks", "wks", "week":
		return i + 1
	}
	return 0
}
