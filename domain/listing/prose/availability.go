package prose

import (
	"cmp"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/page"
)

var months = func() map[string]int {
	m := map[string]int{}
	for n, names := range []string{
		"janvier janv jan january", "fevrier fev fevr feb february", "mars mar march", "avril avr apr april", "mai may",
		"juin jun june",
		"juillet juil juill jul july", "aout aug august", "septembre sept sep september", "octobre oct october",
		"novembre nov november", "decembre dec december",
	} {
		for w := range strings.FieldsSeq(names) {
			m[w] = n + 1
		}
	}
	return m
}()

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

// A Date is a calendar date of which the year or the day may be unknown (0).
type Date struct{ Year, Month, Day int }

// ParseDate reads a printed date: "16-mars-17", "26-avr.-17", "1er juillet 2018", "July 1st, 2026",
// "2025-06-01T00:00:00Z", "01/07/2018" (day first). A two-digit year is of this century.
func ParseDate(s string) (Date, bool) {
	p := Read(page.Line(s))
	for i := range p.words {
		if d, _, _, ok := p.date(i); ok {
			return d, true
		}
	}
	return Date{}, false
}

func (d Date) String() string {
	switch {
	case d.Year > 0 && d.Day > 0:
		return itoa(d.Year) + "-" + two(d.Month) + "-" + two(d.Day)
	case d.Year > 0:
		return itoa(d.Year) + "-" + two(d.Month)
	case d.Day > 0:
		return two(d.Month) + "-" + two(d.Day)
	}
	return two(d.Month) + "-01"
}

// orEarlier spells a latest day.
func (d Date) orEarlier() string { return "<=" + Date{d.Year, d.Month, max(d.Day, 1)}.String() }

func two(n int) string {
	if n < 10 {
		return "0" + itoa(n)
	}
	return itoa(n)
}

// date reads a date that has token i in its middle (a month's name) or begins there (figures).
func (p *Prose) date(i int) (d Date, from, to int, ok bool) {
	t := &p.words[i]
	from, to = i, i
	if t.kind == number {
		return p.figures(i)
	}
	month, end := 0, -1
	if t.topic&aMonth != 0 {
		month = months[t.w]
	}
	if month == 0 {
		return d, i, i, false
	}
	if t.w == "mai" || t.w == "may" || t.w == "mars" || t.w == "mar" || t.w == "sept" || t.w == "dec" || t.w == "jan" {
		if !p.monthly(i) {
			return d, i, i, false
		}
	}
	d.Month = month
	// The day before: "1er juillet", "1 er mars", "16-mars".
	k := i - 1
	if s := p.sym(k); s == '-' || s == '.' || s == '/' {
		k--
	}
	switch p.word(k) {
	case "er", "ier", "re", "st", "nd", "rd", "th", "e", "ere", "iere":
		k--
	case "of", "de":
		if w := p.word(k - 1); w == "st" || w == "nd" || w == "rd" || w == "th" {
			k -= 2
		}
	}
	switch n := p.num(k); {
	case n != nil && n.dec == 0 && n.digits >= 1 && n.digits <= 2 && n.cents >= 100 && n.cents <= 31_00 &&
		!p.words[i].line:
		d.Day, from = int(n.cents/100), k
	case p.word(k) == "premier", p.sym(k) == '!' && p.word(k+1) == "er": // "!er", a slip of the shift key
		d.Day, from = 1, k
	case p.word(k) == "mi" || p.word(k) == "mid": // "mi-août"
		d.Day, from = 15, k
	default:
		if end = p.endOf(i); end >= 0 {
			from = end
		}
	}
	// What follows: the day in English, the year.
	k = i + 1
	if s := p.sym(k); s == '.' {
		k++
	}
	if s := p.sym(k); s == '-' || s == ',' || s == '/' {
		k++
	}
	year := func(k int) bool {
		n := p.num(k)
		if n == nil || n.dec > 0 || n.half || n.line {
			return false
		}
		y := int(n.cents / 100)
		switch {
		case n.digits == 4 && y >= 1990 && y <= 2099 && p.sym(k+1) != '$':
			d.Year = y
		case n.digits == 2 && y >= 10 && p.sym(k-1) == '-' && from < i:
			d.Year = 2000 + y
		default:
			return false
		}
		to = k
		return true
	}
	dated := year(k)
	if end >= 0 { // its last day, of a year that is not known the last that each has
		d.Day = daysOf(d.Month, cmp.Or(d.Year, 2001))
	}
	if dated {
		return d, from, to, true
	}
	if n := p.num(k); n != nil && from == i && n.dec == 0 && n.digits <= 2 && n.digits >= 1 && n.cents >= 100 &&
		n.cents <= 31_00 && !n.half && !n.line {
		after := k + 1
		switch p.word(after) {
		case "st", "nd", "rd", "th", "er":
			after++
		}
		if p.sym(after) != '$' && !p.about(after, aBedroom) && !p.about(after, aPiece) && !p.isMonthSpan(after) {
			d.Day, to = int(n.cents/100), after-1
			if p.sym(after) == ',' || p.sym(after) == '.' {
				after++
			}
			year(after)
		}
	}
	return d, from, to, true
}

// endOf returns where "fin", "fin du mois de" or "end of" begins before the month at i, or -1: a home that is free "fin
// juin" is not free on the first of June. "Toronto West End - July 1" has no end of July.
func (p *Prose) endOf(i int) int {
	if p.words[i].line {
		return -1
	}
	k := i - 1
	for n := 0; n < 3 && (p.word(k) == "de" || p.word(k) == "du" || p.word(k) == "mois" || p.word(k) == "of" ||
		p.word(k) == "d") && !p.words[k].line; n++ {
		k--
	}
	switch p.word(k) {
	case "fin":
		return k
	case "end":
		if w := p.word(k - 1); p.word(k+1) == "of" && w != "west" && w != "east" && w != "north" && w != "south" ||
			w == "the" || w == "at" || w == "by" || w == "from" || w == "starting" || p.about(k-1, aFreedom) {
			return k
		}
	}
	return -1
}

func (p *Prose) isMonthSpan(i int) bool {
	return p.word(i) == "mois" || p.word(i) == "month" || p.word(i) == "months"
}

// mayVerbs follow "may" where it is no month.
var mayVerbs = set("be vary differ have change not apply require need include contain depend also still show offer")

// monthly tells whether a word that is a month's name among other things ("may", "mars") is one here.
func (p *Prose) monthly(i int) bool {
	if p.words[i].w == "may" && mayVerbs[p.word(i+1)] {
		return false
	}
	if p.endOf(i) >= 0 || p.word(i-1) == "mi" || p.sym(i-1) == '-' && p.word(i-2) == "mi" {
		return true
	}
	if w := p.words[i].w; (w == "mars" || w == "mai") && (p.seq(i-2, "a", "partir") || p.seq(i-3, "a", "partir", "de") ||
		p.seq(i-2, "mois", "de") ||
		p.word(i-1) == "en" || p.word(i-1) == "debut" || p.word(i-1) == "fin" || p.about(i-1, aSublet|aLease) ||
		p.words[i-min(i, 1)].half) {
		return true
	}
	for _, k := range [...]int{i - 1, i - 2, i - 3, i + 1, i + 2} {
		if k < 0 || k >= len(p.words) {
			continue
		}
		t := &p.words[k]
		if t.kind == number && t.dec == 0 && !t.half && (k >= i-2 || p.word(i-1) == "of") && p.sym(k+1) != '$' {
			return true
		}
		if t.topic&(aFreedom|aMonth) != 0 || t.w == "pour" || t.w == "des" || t.w == "from" || t.w == "premier" ||
			t.w == "for" && k == i-1 {
			return true
		}
	}
	return len(p.words) <= 2
}

// figures reads "2026-07-01", "01/07/2018", "01/07" at i.
func (p *Prose) figures(i int) (d Date, from, to int, ok bool) {
	a, b, c := p.num(i), p.num(i+2), p.num(i+4)
	s := p.sym(i + 1)
	if a == nil || b == nil || s != '-' && s != '/' && s != '.' || a.dec > 0 || b.dec > 0 || a.half || b.half ||
		p.words[i+1].space || b.space {
		return d, i, i, false
	}
	x, y := int(a.cents/100), int(b.cents/100)
	switch {
	case a.digits == 4 && x >= 1990 && x <= 2099 && b.digits == 2 && y >= 1 && y <= 12:
		d.Year, d.Month, to = x, y, i+2
		if c != nil && p.sym(i+3) == s && c.digits == 2 && c.cents >= 100 && c.cents <= 31_00 && c.dec == 0 {
			if d.Day, to = int(c.cents/100), i+4; d.Day > daysOf(y, x) {
				return Date{}, i, i, false
			}
		}
		return d, i, to, true
	case a.digits <= 2 && b.digits <= 2 && c != nil && p.sym(i+3) == s && c.dec == 0 && (c.digits == 4 || c.digits == 2):
		z := int(c.cents / 100)
		if c.digits == 2 {
			z += 2000
		}
		if y > 12 && x <= 12 { // month first
			x, y = y, x
		}
		if y < 1 || y > 12 || x < 1 || x > daysOf(y, z) || z < 1990 || z > 2099 {
			return d, i, i, false
		}
		return Date{z, y, x}, i, i + 4, true
	case a.digits == 2 && b.digits == 2 && s == '/' && p.fold[a.start] <= '3' && (p.fold[a.start] == '0' ||
		p.fold[b.start] == '0') &&
		y >= 1 && y <= 12 && x >= 1 && x <= 31:
		return Date{0, y, x}, i, i + 2, true
	}
	return d, i, i, false
}

// daysOf is how many days a month has.
func daysOf(month, year int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// available finds when the home is free. In a headline any month is that; in running text it must be said.
func (p *Prose) available(headline bool) (value string, from, to int) {
	for i := range p.words {
		if p.words[i].topic&aFreedom == 0 {
			continue
		}
		// "visite libre", an open house
		if w := p.word(i - 1); w == "visite" || w == "visites" || w == "air" || w == "temps" {
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
		if p.until(i) || p.ofVisit(i) {
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
	return "", -1, -1
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
	return "", i, i
}

// occupied tells whether "occupancy" or "possession" follows the date at i: "May 1st possession".
func (p *Prose) occupied(i int) bool {
	for k := i + 1; k <= i+4 && !p.stop(k); k++ {
		switch p.word(k) {
		case "possession", "occupancy", "occupation":
			return true
		}
	}
	return false
}

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
	if p.besideHome(i) || p.ofSublet(i) || p.alone(i) {
		return true
	}
	part := false // "fin", "mid"
	for k := i - 1; k >= 0 && k >= i-7; k-- {
		if p.words[k+1].line {
			return false
		}
		switch p.word(k) {
		case "as": // "free as of the 1st of December", not "under new management as of March 1"
			return p.word(k+1) == "of" && (p.about(k-1, aFreedom) || freeAsOf[p.word(k-1)])
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
			return p.word(k+1) == "du" || p.num(k+1) != nil || k+1 == i
		case "date":
			return p.word(k-1) == "start"
		case "for": // "For August 1st"
			return k == i-1 && p.stop(k)
		case "possible": // "le plus tôt possible 1er février"
			return p.seq(k-2, "plus", "tot")
		case "le", "er", "premier", "st", "of", "the", "du", "de", "mois":
			continue
		case "":
			if p.words[k].kind == number || p.sym(k) == ':' || p.sym(k) == '-' && p.word(k-1) == "mi" {
				continue
			}
			return false
		default:
			return false
		}
	}
	return false
}

// alone tells whether a day of the month at i is all that a sentence has: "Non-fumeur. 1 juillet 2018".
func (p *Prose) alone(i int) bool {
	d, from, to, ok := p.date(i)
	if !ok || d.Day == 0 || from == 0 && to == len(p.words)-1 {
		return false
	}
	if w := p.word(from - 1); w == "au" || w == "le" || w == "pour" {
		from--
	}
	for p.sym(from-1) == '-' || p.sym(from-1) == '*' {
		from--
	}
	for k := from - 1; k >= from-4; k-- { // "Visite libre", "Open House", and the day on a line of its own
		if visits[p.word(k)] || p.word(k) == "house" || p.word(k) == "ouverte" || p.word(k) == "ouvertes" {
			return false
		}
	}
	return (p.stop(from) || p.words[from-1].kind == symbol && p.stop(from-1)) && p.stop(to+1)
}

// ofSublet tells whether the date of the month at i begins the time of a sublet of which the sentence speaks: "je
// sous-loue mon appart, du 10 janvier au 28 avril", "subletting May 1 thru Aug 31".
func (p *Prose) ofSublet(i int) bool {
	if !p.seasonAfter(i) {
		return false
	}
	for k := i - 1; k >= 0 && k >= i-20 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case w == "sous", w == "location":
		case p.about(k, aSublet), w == "loue", w == "loues":
			return true
		}
	}
	return false
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
var freeAsOf = set("free vacant possession occupancy movein")

// opensOffer tells whether the words from k on begin a thought or follow a home or its lease: "4 ½ pour fin juin", but
// not "rénovations prévues pour fin août".
func (p *Prose) opensOffer(k int) bool {
	if k == 0 || p.words[k].line || p.sym(k-1) == '-' && p.words[k].space || p.words[k-1].kind == symbol && p.stop(k-1) {
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
		case "avant", "avan", "sooner", "earlier", "before", "plus":
			if p.word(k+1) == "plus" && p.word(k+2) != "tot" {
				break
			}
			return d.orEarlier(), k + 1
		}
	}
	return d.String(), i
}
