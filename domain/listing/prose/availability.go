package prose

import (
	"github.com/mtlrent/conveyor/domain/page"
)

// ParseAvailable returns when s says that the home is free: a day ("2026-07-01"), a month ("2018-07"), a day of any
// year ("07-01"; a month without a day is its first, when Quebec leases begin, "mi-août" its 15th and "fin juin" its
// last), "now", and "<=" before it for "juillet ou avant" and "au plus tard". It is "" when s says nothing. The clock
// is not consulted: a year that is not written is not guessed.
func ParseAvailable(s string) string {
	p := Read(page.Line(s))
	v, _, _ := p.available(true)
	if v == "" {
		v, _, _ = p.vacant()
	}
	return v
}

// vacant finds a bare "libre": with no date beside it, it means now.
func (p *Prose) vacant() (value string, from, to int) {
	for i := range p.words {
		if w := p.word(i); w != "libre" && w != "libres" {
			continue
		}
		switch p.word(i - 1) {
		case "visite", "visites", "air", "temps", "non", "pas", "acces", "espace", "aire":
			continue
		}
		if p.word(i+1) != "service" && p.word(i+2) != "service" && p.word(i+1) != "en" && p.word(i+1) != "sur" {
			return "now", i, i
		}
	}
	return "", -1, -1
}

// vacantItem finds "libre" as an item of its own in a text, or as its first word: "5 ½ LIBRE, rue d'Alger", "libre beau
// 4 ½". With no date beside it, it means now.
func (p *Prose) vacantItem() (value string, from, to int) {
	for i := range p.words {
		if w := p.word(i); w == "disponible" && i > 0 && p.stop(i-1) && p.words[i-1].kind == symbol && p.stop(i+1) {
			return "now", i, i // "Excellent rapport qualité/prix. Disponible."
		} else if w != "libre" && w != "libres" {
			continue
		}
		if p.word(i+1) == "rapidement" || p.word(i-1) == "deja" {
			return "now", i - 1, i + 1
		}
		before := i == 0 || p.words[i].line || p.words[i-1].half || p.words[i-1].kind == symbol && p.sym(i-1) != ':'
		after := p.stop(i+1) || p.sym(i+1) == ',' || p.sym(i+1) == '-' || p.sym(i+1) == '*'
		if before && (after || i == 0 && (adjectives[p.word(1)] || p.num(1) != nil && p.words[1].half)) {
			return "now", i, i
		}
	}
	return "", -1, -1
}

// available finds when the home is free. In a headline any month is that; in running text it must be said.
func (p *Prose) available(headline bool) (value string, from, to int) {
	for i := range p.words {
		if p.words[i].topic&aFreedom == 0 {
			continue
		}
		// "visite libre", an open house
		if w := p.word(i - 1); w == "visite" || w == "visites" || w == "air" || w == "temps" || p.toFindOut(i) ||
			w != "" && months[w] > 0 && p.ofSpecial(i-1) || p.dayNumber(i-1) > 0 && p.ofSpecial(i-1) {
			continue
		}
		if v, a, b := p.freeAt(i); v != "" {
			return v, a, b
		}
	}
	for i := range p.words {
		if p.words[i].topic&aMonth == 0 || !headline && !p.announced(i) && !p.occupied(i) && !p.orSooner(i) &&
			!p.letFor(i) {
			continue
		}
		if p.until(i) || p.ofVisit(i) || p.ofSpecial(i) {
			continue
		}
		if w := p.word(i - 1); w == "loyer" || w == "rent" || p.about(i+1, aPromotion) || p.word(i+1) == "rent" {
			continue // a month without rent
		}
		if p.word(i-1) == "en" && works[p.word(i-2)] || p.ofWorks(i) { // "à être rénové en juin"
			continue
		}
		if d, a, b, ok := p.date(i); ok {
			v, end := p.orBefore(d, b)
			return v, a, end
		}
	}
	if i := p.soonest(); i >= 0 {
		return "now", i, i
	}
	return "", -1, -1
}

// ofSpecial tells whether the month at i only names a promotion: "July 1 move-in special", "October sale".
func (p *Prose) ofSpecial(i int) bool {
	for k := i + 1; k <= i+6 && !p.stop(k) && p.sym(k) != ',' && (p.sym(k) != '-' || p.word(k-1) == "move"); k++ {
		switch p.word(k) {
		case "special", "specials", "promo", "promotion", "deal", "sale":
			return true
		case "move", "in", "st", "th", "canada", "day", "moving", "rent", "":
		default:
			return false
		}
	}
	return false
}

// soonest finds "à louer le plus tôt possible" and "available as soon as possible", or returns -1. "Appelez le plus tôt
// possible" is when to call.
func (p *Prose) soonest() int {
	for i := range p.words {
		if !p.seq(i, "plus", "tot", "possible") && !p.seq(i, "des", "que", "possible") && !p.seq(i, "as", "soon", "as") {
			continue
		}
		k := i - 1
		for w := p.word(k); w == "le" || w == "au" || w == "et" || w == "pour"; w = p.word(k) {
			k--
		}
		if w := p.word(k); w == "louer" || w == "ceder" || w == "rent" || w == "reprendre" || p.about(k, aFreedom) {
			return i
		}
	}
	return -1
}

// letFor tells whether a rent stands right before the month at i: "5 ½ à 843 $ en juillet". "Rabais de 100 $ en
// juillet" is none.
func (p *Prose) letFor(i int) bool {
	t := p.num(i - 3)
	if p.word(i-1) != "en" || p.sym(i-2) != '$' || t == nil || t.digits < 3 || p.word(i-4) != "a" {
		return false
	}
	for k := i - 4; k >= i-10 && k >= 0 && !p.stop(k+1); k-- {
		if p.about(k, aPromotion) || raises[p.word(k)] {
			return false
		}
	}
	return true
}

// toFindOut tells whether the "available" or "now" at i is what a reader may find out: "see if it's available now".
func (p *Prose) toFindOut(i int) bool {
	for k := i - 1; k >= i-6 && !p.stop(k+1); k-- {
		if p.word(k) == "if" && (p.word(k-1) == "see" || p.word(k-1) == "check") {
			return true
		}
	}
	return false
}

// raises are said of a rent that changes: "le loyer passe à 900 $ en juillet".
var raises = set("passe passera passer augmente augmentera augmentation hausse monte montera")

// works are done "en juin".
var works = set("renove renovee renoves construit construite refait refaite bati terminee")

// ofWorks tells whether the sentence up to the date at i is about building: "les travaux de la toiture seront finis
// pour juin".
func (p *Prose) ofWorks(i int) bool {
	for k := i - 1; k >= 0 && k >= i-16 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case w == "travaux", w == "renovations":
			return true
		case p.about(k, aFreedom|aLease|aSublet), p.words[k].half:
			return false
		}
	}
	return false
}

// visits are what a date may be of.
var visits = set("visite visites viewing viewings showing showings")

// visitFillers may stand between a visit and its date.
var visitFillers = set("a partir compter du de des le la er st from starting on possible possibles only seulement")

// ofVisit tells whether the date at i is when the home may be seen: "visites à partir du 1er juin".
func (p *Prose) ofVisit(i int) bool {
	k := i - 1
	for n := 0; n < 8 && !p.stop(k+1) && (visitFillers[p.word(k)] || p.num(k) != nil || p.sym(k) == ':'); n++ {
		k--
	}
	return visits[p.word(k)]
}

// booked tells whether the "maintenant" or "now" at i is when to act: "réservez dès maintenant votre appartement".
func (p *Prose) booked(i int) bool {
	for k := i - 1; k >= 0 && k >= i-6 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if l := p.word(k); acts[l] || l != "des" && p.about(k, aFreedom) {
			return acts[l]
		}
	}
	return false
}

// acts are what readers are told to do now.
var acts = set("reservez reserver appelez contactez communiquez ecrivez inscrivez visitez book reserve call apply contact " +
	"planifiez schedule")

// orSooner tells whether "ou avant" follows the date at i, which is then that of a home.
func (p *Prose) orSooner(i int) bool {
	d, _, to, ok := p.date(i)
	if !ok {
		return false
	}
	v, _ := p.orBefore(d, to)
	return v == d.orEarlier()
}

// freeAt reads what follows "libre", "disponible", "available" at i.
func (p *Prose) freeAt(i int) (value string, from, to int) {
	switch p.word(i) {
	case "immediate": // "immediate occupancy", not "à proximité immédiate"
		if !p.about(i+1, aFreedom) && !p.about(i-1, aFreedom) && !p.seq(i+1, "move") && len(p.words) > 2 {
			return "", i, i
		}
		return "now", i, i
	case "immediatement", "immediately", "asap", "vacant":
		if p.word(i) == "vacant" && p.ofVacant(i) {
			return "", i, i
		}
		for k := i + 1; k < min(i+8, len(p.words)) && !p.stop(k); k++ {
			if d, _, b, ok := p.date(k); ok { // "vacant as of January 15th"
				v, end := p.orBefore(d, b)
				return v, i, end
			} else if !vacantFrom[p.word(k)] && p.num(k) == nil {
				break
			}
		}
		return "now", i, i
	case "maintenant", "now":
		if p.booked(i) {
			return "", i, i
		}
		if l := p.word(i - 1); l == "des" || l == "available" || l == "libre" || l == "disponible" || l == "dispo" ||
			p.about(i-1, aFreedom) {
			return "now", i - 1, i
		}
		return "", i, i
	}
	for k := i + 1; k < len(p.words) && k <= i+9 && !visits[p.word(k)]; k++ {
		if p.words[k].line && k > i+2 || k > i+1 && (p.sym(k) == '!' && p.word(k+1) != "er" || p.sym(k) == '.' &&
			p.stop(k)) {
			break
		}
		switch p.word(k) {
		case "immediatement", "immediate", "immediately", "maintenant", "now", "asap", "presentement", "presently",
			"actuellement", "aujourd":
			return "now", i, k
		case "today":
			if !p.booked(k) && p.word(k+1) != "only" {
				return "now", i, k
			}
		case "right":
			if p.word(k+1) == "away" {
				return "now", i, k + 1
			}
		case "suite":
			if p.word(k-1) == "de" {
				return "now", i, k
			}
		case "tot":
			if p.word(k-1) == "plus" {
				return "now", i, k
			}
		case "sur", "pour", "par", "on", "at", "dans", "a":
			if p.word(k) == "sur" || p.word(k) == "dans" || p.word(k) == "par" {
				return "", i, i
			}
		}
		if p.words[k].topic&aMonth != 0 || p.words[k].kind == number {
			if d, a, b, ok := p.date(k); ok {
				v, end := p.orBefore(d, b)
				return v, min(i, a), end
			}
		}
	}
	if w := p.word(i - 1); w == "actuellement" || w == "presentement" || w == "currently" {
		return "now", i - 1, i
	}
	if p.seq(i, "ready", "to", "move", "in") && p.listEnds(i+4) && p.sym(i+4) != '?' {
		return "now", i, i + 3
	}
	return "", i, i
}

// vacantFrom stand between "vacant" and the day from which a home is. "Since" is of one that has been.
var vacantFrom = set("as of from starting on le la du des de au a compter partir er")

// ofVacant tells whether the "vacant" at i says which homes an offer is for: "promotion sur logement vacant".
func (p *Prose) ofVacant(i int) bool {
	k := i - 1
	switch {
	case kinds[p.word(k)] != "":
		k--
	case kinds[p.word(i+1)] == "" && !homes[p.word(i+1)]:
		return false
	}
	for k > i-4 && offeredOn[p.word(k)] {
		k--
	}
	switch p.word(k) { // "3 ½ sur Cartier, logement vacant" and "tout rénové, logement vacant" are of one that is
	case "sur", "on", "tout", "any":
		return true
	}
	return false
}

// offeredOn may stand between "on" and the homes that an offer is for.
var offeredOn = set("un nos les des certains our all select selected")

// occupied tells whether "occupancy" or "possession" follows the date at i: "May 1st possession".
func (p *Prose) occupied(i int) bool {
	for k := i + 1; k <= i+4 && !p.stop(k); k++ {
		switch p.word(k) {
		case "possession", "poss", "occupancy", "occupation", "movein":
			return true
		case "move": // "Jan 15th move-in", not "July 1 move-in special"
			in := k + 1
			if p.sym(in) == '-' {
				in++
			}
			return p.word(in) == "in" && !bargains[p.word(in+1)]
		}
	}
	return false
}

// bargains are offered to who moves in by a date, which says nothing of when the home is free.
var bargains = set("special specials promo promotion deal deals bonus offer incentive incentives")

// until tells whether the month at i ends something: "rabais jusqu'à juin".
func (p *Prose) until(i int) bool {
	for k := i - 1; k >= i-4; k-- {
		switch p.word(k) {
		case "jusqu", "jusque", "until", "till", "finit", "termine", "ends", "ending", "expire", "expires", "echeance":
			return true
		case "a", "au", "en", "le", "la", "fin", "the", "end", "of":
		default:
			if p.num(k) == nil {
				return false
			}
		}
	}
	return false
}

// announced tells whether the month at i is said to be a beginning: "pour le 1er juillet", "starting July 1".
func (p *Prose) announced(i int) bool {
	if i == 0 || p.words[i].line { // "Juillet 2018", on its own
		if y := p.num(i + 1); y != nil && y.digits == 4 && y.dec == 0 {
			return true
		}
	}
	if p.besideHome(i) || p.ofSublet(i) || p.alone(i) || p.rentedFor(i) {
		return true
	}
	part := false // "fin", "mid"
	for k := i - 1; k >= 0 && k >= i-7; k-- {
		if p.words[k+1].line {
			return false
		}
		switch p.word(k) {
		case "as": // "free as of the 1st of December", not "under new management as of March 1"
			return p.word(k+1) == "of" && (p.about(k-1, aFreedom|aLease|aSublet) || freeAsOf[p.word(k-1)])
		case "mi", "mid", "fin", "debut", "end", "beginning", "early", "late", "vers", "around":
			part = true
			continue
		case "pour", "des", "starting", "partir", "compter", "compte", "debutant", "from", "entree", "commencant",
			"livraison":
			if p.word(k-1) == "a" && k > 0 && !p.words[k].line { // "à partir de"
				k--
			}
			return !part || p.opensOffer(k) && (p.about(k-1, aLease|aSublet|aFreedom) || !p.seasonAfter(i))
		case "bail", "lease", "loue", "location", "sublet", "sublease": // "sous-location du 21 mars au 21 juin"
			d, _, _, _ := p.date(i)
			return p.word(k+1) == "du" || p.num(k+1) != nil || k+1 == i ||
				p.sym(k+1) == ':' && p.itemStart(k) && !part && (d.Day > 0 || p.word(k) != "location") // not "Location: March Road"
		case "on":
			if w := p.word(k - 1); w != "starts" && w != "begins" {
				return false
			}
			continue
		case "starts", "begins", "debute", "commence":
			return p.about(k-1, aLease)
		case "date":
			return p.word(k-1) == "start" || p.sym(k+1) == ':' && p.itemStart(k) && !p.openHouse(k)
		case "free": // "Free Dec 1", not "Free August!"
			return k == i-1 && p.itemStart(k) && p.dayNumber(i+1) > 0
		case "for": // "For August 1st"
			return k == i-1 && p.stop(k)
		case "logement", "appart", "appartement", "place": // "nous quittons le logement le 1er août"
			return leaves[p.word(k-1)] || leaves[p.word(k-2)]
		case "out": // "we are moving out May 1st"
			return p.word(k-1) == "moving" || p.word(k-1) == "move"
		case "possible": // "le plus tôt possible 1er février"
			return p.seq(k-2, "plus", "tot")
		case "le", "er", "premier", "first", "st", "of", "the", "du", "de", "mois":
			continue
		case "":
			if p.words[k].kind == number || p.sym(k) == ':' || p.sym(k) == '-' && p.word(k-1) == "mi" {
				continue
			}
			return false
		default:
			return leaves[p.word(k)] && (p.word(k) != "part" || leavers[p.word(k-1)])
		}
	}
	return false
}

// leaves are verbs of a tenant who moves out on a day: "on part le 1er mai".
var leaves = set("part pars partons quitte quittons demenage demenageons")

// leavers are who "part" on a day when the home is free: "le chauffage part le 1er octobre" is none.
var leavers = set("on il elle qui locataire occupant occupante coloc colocataire actuel actuelle ami amie fille fils " +
	"personne etudiant etudiante dame monsieur couple famille copain copine conjoint conjointe mere pere frere soeur")

// alone tells whether the date of the month at i is all that a sentence has: "Non-fumeur. 1 juillet 2018", "Août ou
// septembre.", or that the lease follows it: "1er juillet, bail d'un an".
func (p *Prose) alone(i int) bool {
	d, from, to, ok := p.date(i)
	if !ok || d.Day == 0 && d.Year == 0 && mayBeMonths[p.word(i)] || from == 0 && to == len(p.words)-1 {
		return false
	}
	if w := p.word(from - 1); w == "au" || w == "le" || w == "pour" {
		from--
	}
	if p.openHouse(from) {
		return false
	}
	if w := p.word(to + 1); (w == "ou" || w == "or") && p.about(to+2, aMonth) { // "Dec 15 or Jan 1."
		if _, _, end, other := p.date(to + 2); other {
			to = end
		} else {
			to += 2
		}
	}
	leased := false
	for k := from - 2; p.sym(from-1) == ',' && k >= max(from-8, 0) && p.sym(k) != ','; k-- { // "bail d'un an, 1er mai"
		if leased = leased || p.about(k, aLease); p.stop(k) {
			break
		}
	}
	lease := p.about(to+2, aLease) || p.num(to+2) != nil && leaseUnits[p.word(to+3)]
	ends := p.stop(to+1) || p.sym(to+1) == ',' && lease || p.sym(to+1) == '(' && d.Day > 0
	before := from - 1
	if p.sym(before) == ',' {
		before--
	}
	priced := d.Day > 0 && p.sumBefore(from) || before < from-1 && kinds[p.word(before)] != ""
	if d.Day > 0 && p.barred(from-1) && (p.stop(to+1) || p.barred(to+1)) && p.homeOnLine(from) {
		return true // "$1,750 | Sept 1"
	}
	return (p.itemStart(from) || leased && d.Day > 0 || priced) && ends
}

// barred tells whether a sign between the items of a line stands at i.
func (p *Prose) barred(i int) bool {
	s := p.sym(i)
	return s == '|' || s == '*' || s == ';'
}

// homeOnLine tells whether a home or its rent is an item of the line before the token at i.
func (p *Prose) homeOnLine(i int) bool {
	for k := i - 1; k >= 0 && k >= i-30; k-- {
		if p.words[k].half || p.sym(k) == '$' || p.about(k, aBedroom) && p.num(k-1) != nil {
			return true
		}
		if p.words[k].line {
			return false
		}
	}
	return false
}

// openHouse tells whether the words before i are of a visit: "Visite libre", "Open House", and the day on a line of its
// own.
func (p *Prose) openHouse(i int) bool {
	for k := i - 1; k >= i-5; k-- {
		if visits[p.word(k)] || p.seq(k-1, "open", "house") || p.word(k) == "ouverte" || p.word(k) == "ouvertes" {
			return true
		}
	}
	return false
}

// leaseUnits count the time of a lease: "Jan 1, 12 mths."
var leaseUnits = set("mois month months mth mths an year yr")

// ofSublet tells whether the date of the month at i begins the time of a sublet of which the sentence speaks: "je
// sous-loue mon appart, du 10 janvier au 28 avril", "subletting May 1 thru Aug 31".
func (p *Prose) ofSublet(i int) bool {
	if !p.seasonAfter(i) {
		return false
	}
	for k := i - 1; k >= 0 && k >= i-20 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case w == "location" && (p.word(k-1) == "sous" || p.word(k-2) == "sous"):
			return true
		case w == "sous", w == "location":
		case p.about(k, aSublet), w == "loue", w == "loues":
			return true
		}
	}
	return false
}

// rentedFor tells whether the date of the month at i begins the season that a rent is for: "1 400 $ par mois du 1er
// novembre au 1er mai".
func (p *Prose) rentedFor(i int) bool {
	_, from, _, ok := p.date(i)
	w := p.word(from - 1)
	return ok && (w == "du" || w == "from") && p.about(from-2, aMoney) && p.seasonAfter(i)
}

// seasonAfter tells whether the date of the month at i goes on to an end: "from early June to Labour Day".
func (p *Prose) seasonAfter(i int) bool {
	k := i + 1
	for n := 0; n < 3 && !p.stop(k) && (p.num(k) != nil || p.sym(k) == ',' || ordinalEnds[p.word(k)]); n++ {
		k++
	}
	switch p.word(k) {
	case "to", "until", "till", "through", "thru", "a", "au", "jusqu":
		return !p.words[k].line
	}
	return false
}

// freeAsOf before "as of" says of a home when it is free.
var freeAsOf = set("transfer free vacant possession occupancy movein")

// opensOffer tells whether the words from k on begin a thought or follow a home or its lease: "4 ½ pour fin juin", but
// not "rénovations prévues pour fin août".
func (p *Prose) opensOffer(k int) bool {
	if p.itemStart(k) || p.sym(k-1) == '-' && p.words[k].space {
		return true
	}
	return p.words[k-1].half || kinds[p.word(k-1)] != "" || p.about(k-1, aLease|aSublet|aFreedom)
}

// besideHome tells whether the month at i stands bare beside a home or its rent, as in a headline: "4 ½ juillet",
// "Condo – September 01", "juillet (prix 690 $)", "Juillet, coin Boisseau, beau 3 ½".
func (p *Prose) besideHome(i int) bool {
	if w := p.word(i + 2); p.sym(i+1) == '(' && (w == "prix" || w == "loyer") {
		return true
	}
	if i == 0 || p.words[i].line {
		for k := i + 1; k <= i+12 && !p.stop(k); k++ {
			if p.words[k].half {
				return true
			}
		}
		return false
	}
	k := i - 1
	if p.num(k) != nil && p.sym(k-1) == ',' && p.sym(i+1) == ',' { // ", 1 juillet, beau 5 ½"
		for n := i + 2; n <= i+4 && n < len(p.words); n++ {
			if p.words[n].half {
				return true
			}
		}
	}
	if p.sym(k) == '-' {
		k--
	}
	return p.words[max(k, 0)].half || k < i-1 && kinds[p.word(k)] != ""
}

// orBefore reads "ou avant", "or sooner" after token i, and "au plus tard" before the date.
func (p *Prose) orBefore(d Date, i int) (string, int) {
	for k := i - 2; k >= i-6; k-- {
		if p.word(k) == "tard" && p.word(k-1) == "plus" && p.word(k-2) == "au" {
			return d.orEarlier(), i
		}
	}
	k := i + 1
	if p.sym(k) == ',' || p.sym(k) == '(' {
		k++
	}
	if w := p.word(k); w == "ou" || w == "or" || w == "et" {
		switch p.word(k + 1) {
		case "immediatement", "maintenant", "immediately", "now":
			return "now", k + 1
		case "avant", "avan", "sooner", "earlier", "before", "plus":
			if p.word(k+1) == "plus" && p.word(k+2) != "tot" {
				break
			}
			return d.orEarlier(), k + 1
		}
	}
	return d.String(), i
}
