package prose

var (
	// nowWords lead to what a rent is now, behind what it was.
	nowWords = set("now maintenant desormais reduit reduite reduced lowered baisse abaisse ramene rabaisse dropped")
	// loweredWords before a rent say that it is not what it was: "passé de 1400 $ à 1300 $", "down from $1,500 to $1,400".
	loweredWords = set("passe reduit reduite reduced lowered baisse abaisse ramene rabaisse dropped down")
	// wasWords before a rent say that it is that before a discount: "prix original 823 $", "was $1,600".
	wasWords = set("original originale regulier reguliere regular ancien ancienne old courant was were etait lieu instead")
)

// lowered tells whether the rent b is what the rent a before it came down to: "1600 $, maintenant 1525 $", "passé de
// 1400 $ à 1300 $", "prix original 823 $ … 723 $", or right behind it, where the first is struck out, "1700 $ 1595 $".
func (p *Prose) lowered(a, b amount) bool {
	if b.cents >= a.cents || b.cents <= a.cents/2 {
		return false
	}
	if p.was(a) && !p.was(b) {
		return true
	}
	if b.from > a.to+8 {
		return false
	}
	if b.from == a.to+1 && a.per == unstated && !p.words[b.from].line {
		return true
	}
	for k := a.to + 1; k < b.from; k++ {
		if nowWords[p.word(k)] && !p.about(k-1, aFreedom) { // "1600 $, libre maintenant"
			return true
		}
	}
	if w := p.word(b.from - 1); w == "a" || w == "to" {
		for k := a.from - 1; k >= a.from-3; k-- {
			if loweredWords[p.word(k)] {
				return true
			}
		}
	}
	return false
}

// was tells whether the words that lead to an amount say that it is the rent no more.
func (p *Prose) was(a amount) bool {
	for k := a.from - 1; k >= 0 && k >= a.from-6 && !p.words[k+1].line; k-- {
		w := p.word(k)
		if wasWords[w] {
			return true
		}
		if s := p.sym(k); amountLeads[w] == 0 && !connectors[w] && s != ':' && s != '=' && s != '-' && s != '"' {
			return false
		}
	}
	return false
}

// cameDown tells whether the number at i, without a sign, is either rent of "was 1600, now 1450". Years and measures
// are none.
func (p *Prose) cameDown(i int) bool {
	is := func(k int) bool {
		t := p.num(k)
		return t != nil && t.dec == 0 && !t.half && t.digits >= 3 && t.digits <= 4 && t.cents >= 300_00 && t.cents <= 9000_00
	}
	if !is(i) {
		return false
	}
	k := i + 1 // to what it is now
	if p.sym(k) == ',' {
		k++
	}
	if nowWords[p.word(k)] && p.wasBefore(i) {
		return p.isNow(i, p.pastOnly(k+1), is)
	}
	k = i - 1 // to what it was
	if w := p.word(k); w == "only" || w == "just" || w == "seulement" || w == "juste" {
		k--
	}
	if !nowWords[p.word(k)] {
		return false
	}
	if k--; p.sym(k) == ',' {
		k--
	}
	return k >= 0 && is(k) && p.wasBefore(k) && p.isNow(k, i, is)
}

// wasBefore tells whether "was" or "était" leads to the number at i.
func (p *Prose) wasBefore(i int) bool {
	switch p.word(i - 1) {
	case "was", "etait", "avant":
		return true
	}
	return false
}

// pastOnly passes "only" at k.
func (p *Prose) pastOnly(k int) int {
	if w := p.word(k); w == "only" || w == "just" || w == "seulement" || w == "juste" {
		k++
	}
	return k
}

// isNow tells whether the number at j may be the rent that the one at i came down to.
func (p *Prose) isNow(i, j int, is func(int) bool) bool {
	if !is(j) || p.words[j].line {
		return false
	}
	was, now := &p.words[i], &p.words[j]
	per, _ := p.period(j + 1)
	return now.cents < was.cents && now.cents > was.cents/2 && !(was.mayBeYear() && now.mayBeYear()) &&
		(p.listEnds(j+1) || per != unstated || p.sym(j+1) == '$')
}

// incomes are what a tenant earns, and incomeFillers stand between that and its sum.
var (
	incomes       = set("revenu revenus salaire salaires income salary earn earning gagner gagnez earns")
	incomeFillers = set("minimum min minimal net brut gross at least de du d of moins au mensuel mensuels monthly is " +
		"est familial household minimale over total exige requis required plus un a the")
)

// ofIncome tells whether a sum is what the tenant must earn: "revenu entre 19 000 et 27 400 $, ou couple : 33 500 $",
// "minimum income of $4,500 per month". "Logement à revenu, 900 $" and "rent geared to income: $600" are rents.
func (p *Prose) ofIncome(a *amount) bool {
	for k := a.from - 1; a.cents >= 10_000_00 && k >= 0 && k >= a.from-20 && !p.stop(k+1); k-- {
		if w := p.word(k); incomes[w] && w != "gagner" && w != "gagnez" && w != "earns" {
			return true
		}
	}
	for k := a.from - 1; k >= 0 && k >= a.from-6 && !p.stop(k+1); k-- {
		w := p.word(k)
		if incomes[w] {
			l := p.word(k - 1)
			if l == "le" || l == "the" || l == "your" || l == "votre" || l == "du" || l == "of" { // "30% of income"
				if l = p.word(k - 2); p.sym(k-2) == '%' {
					return false
				}
			}
			return l != "selon" && l != "sur" && l != "a" && l != "to" && l != "low" && l != "faible" && l != "modeste" &&
				l != "on"
		}
		if !incomeFillers[w] && p.sym(k) != ':' {
			return false
		}
	}
	return false
}

// soldThings are what a tenant who leaves sells.
var soldThings = set("sofa sofas divan couch table tables lit lits bed mattress matelas commode dresser desk chaise " +
	"chaises chairs chair fauteuil bibliotheque fridge frigo poele stove micro microwave laveuse secheuse washer " +
	"dryer tv television meubles furniture causeuse futon lampe lamp tapis rug")

// ofSale tells whether a sum is what a thing is sold for, in a sentence that says so: "sofa 200 $, lit 150 $ à vendre",
// "couch for sale $250". "Condo à vendre ou à louer 1 500 $" is none.
func (p *Prose) ofSale(a *amount) bool {
	const most = 2000_00
	if a.named || a.cents > most || a.per != unstated {
		return false
	}
	thing := soldThings[p.word(a.from-1)]
	for k := a.from - 1; k >= 0 && k >= a.from-14 && !p.stop(k+1); k-- {
		if p.words[k].half || rentNames[p.word(k)] || p.word(k) == "louer" {
			return false
		}
		if p.sells(k) {
			return thing || a.cents <= ceilings[forOther] && p.thingSold(k, a.from)
		}
	}
	if w := p.word(a.from - 2); w == "avec" || w == "with" || w == "et" || w == "and" { // "studio avec lit 700 $"
		return false
	}
	for k := a.to + 1; thing && k < len(p.words) && k <= a.to+14 && !p.stop(k); k++ {
		if p.sells(k) {
			return true
		}
	}
	return false
}

// sells tells whether the word at k says that something is sold.
func (p *Prose) sells(k int) bool {
	switch p.word(k) {
	case "vendre", "acheter", "vends", "buy", "purchase", "selling":
		return true
	case "sale":
		return p.word(k-1) == "for"
	}
	return false
}

// thingSold tells whether a piece of furniture stands beside the word at k that says it is sold, before the sum at i.
func (p *Prose) thingSold(k, i int) bool {
	for n := max(k-4, 0); n < i; n++ {
		if soldThings[p.word(n)] {
			return true
		}
	}
	return false
}

// sumEnds tells whether a sum that may be a rent stands right before i, with its sign or its period: "1250 $ nc".
func (p *Prose) sumEnds(i int) bool {
	k := i - 1
	if p.sym(k) == ',' {
		k--
	}
	switch p.word(k) {
	case "mois", "month", "mo", "m":
		if k--; p.sym(k) == '/' || p.word(k) == "par" || p.word(k) == "per" {
			k--
		}
	}
	signed := p.sym(k) == '$'
	if signed {
		k--
	}
	t := p.num(k)
	thousands := t != nil && t.digits == 3 && p.num(k-1) != nil // "1 250 $"
	return t != nil && !t.half && (t.cents >= 300_00 || thousands) && (signed || p.sym(k-1) == '$')
}
