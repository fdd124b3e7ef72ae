package prose

import "github.com/mtlrent/conveyor/domain/page"

// The words near "meublé", by the value of Listing.Furnished that they make of it.
var (
	furnishedBefore = meanings(map[string]string{
		"semi":     "semi demi half partiellement partially partly part mi partialy semie",
		"no":       "non not pas un sans no jamais", // "un" of "un-furnished"
		"optional": "be etre possibilite option optionally optionnel either",
	})
	furnishedAnswers = meanings(map[string]string{ // after a colon
		"no":   "non no unfurnished not",
		"semi": "semi partiellement partially",
	})
	furnishedOptions = set("possible optional optionnel optionnelle option disponible available")
	furnishedOrNot   = set("non pas not unfurnished")                   // "meublé ou non"
	furnishedIfAsked = set("desire desiree voulu besoin needed wanted") // "si désiré", "as needed"
	// ownMeubles stand before "meubles" where these are pieces of furniture, and not apartments.
	ownMeubles = set("les mes des de vos nos ses quelques certains ces leurs the plusieurs")
	// The words that lead to "louer meublé": "possibilité de le louer meublé".
	furnishedOffers = set("possibilite possibility possible poss peut pouvons could can option")
	offerFillers    = set("de d l le la a etre be louer loue louee offert offerte avoir have rent rented come to it of " +
		"logement appartement s il aussi also laisser chambre vous fournir ajouter livre offrir getting having renting " +
		"entierement completement totalement fully completely")
)

// ParseFurnished returns yes, no, semi (stove and fridge, usually), optional, or "" when s says nothing. "Semi-meublé
// ou non meublé" and "possibilité meublé" are optional; "équipé" says nothing about furniture.
func ParseFurnished(s string) string {
	v, _, _ := Read(page.Text(s)).furnished()
	return v
}

func (p *Prose) furnished() (value string, from, to int) {
	from, to = -1, -1
	for i := range p.words {
		if !p.about(i, aFurnishing) {
			continue
		}
		v, a, b := p.furnishedAt(i)
		switch {
		case v == "":
		case value == "":
			value, from, to = v, a, b
		case value != v && (p.nearOr(to, a)):
			return "optional", from, b
		case v == "optional":
			return v, a, b
		}
	}
	return value, from, to
}

var (
	furnitureLeads = set("including includes include inclut incluant incluent comprend comprennent")
	furnitureWords = set("les tous tout toutes all basic the new des ses with avec some")
)

// furnitureSaid reads whether the furniture at i comes with the home: "comes with furniture", "les meubles sont
// inclus", "furniture and appliances are included". Furniture that is only spoken of gives "".
func (p *Prose) furnitureSaid(i int) (v string, from, to int) {
	if w := p.word(i - 1); w == "outdoor" || w == "patio" || w == "garden" {
		return "", i, i
	}
	if w := p.word(i + 1); w == "optional" || w == "optionnel" || w == "optionnels" || p.seq(i+1, "en", "option") ||
		w == "disponibles" && p.seq(i+2, "en", "option") {
		return "optional", i, i + 1
	}
	k, with := i-1, false
	for furnitureWords[p.word(k)] {
		with = with || p.word(k) == "with" || p.word(k) == "avec"
		k--
	}
	if with {
		if o := p.offered(k + 1); o >= 0 { // "possibilité de louer avec les meubles"
			return "optional", o, i
		}
	}
	if w := p.word(k); furnitureLeads[w] || with && (w == "come" || w == "comes" || w == "vient" || w == "viennent" ||
		w == "loue" || w == "louee" || w == "rented") {
		if l := p.word(k - 1); l == "n" || l == "not" {
			return "", i, i
		}
		return "yes", k, i
	}
	if w := p.word(k); k < i-1 && !with && (w == "sans" || w == "without") {
		return "no", k, i
	}
	if end := p.pricedMore(i + 1); end > i {
		return "optional", i, end
	}
	if k == i-1 && ownMeubles[p.word(k)] { // "certains meubles"
		return "", i, i
	}
	for n := i + 1; n <= i+9 && !p.stop(n) && p.word(n) != "peuvent" && p.word(n) != "can"; n++ {
		if yes, _, end, ok := p.verdict(n); ok && inclusionWords[p.word(n)] == saysIncluded && !active[p.word(n)] {
			if !yes || p.denied(n) {
				return "no", i, end
			}
			return "yes", i, end
		}
	}
	return "", i, i
}

// nearOr tells whether "ou" stands between two tokens of one thought.
func (p *Prose) nearOr(i, j int) bool {
	for k := i + 1; k < j && k < i+10; k++ {
		if p.words[k].line {
			return false
		}
		if w := p.word(k); w == "ou" || w == "or" {
			return true
		}
		if p.sym(k) == '/' && j-i <= 3 {
			return true
		}
	}
	return false
}

// A furnishedMention is what the words around one "meublé" make of it.
type furnishedMention struct {
	p        *Prose
	at       int // the token of "meublé"
	value    string
	from, to int
}

// furnishedAt reads the mention at i by the first rule that settles it. A plain "meublé" is a yes.
func (p *Prose) furnishedAt(i int) (value string, from, to int) {
	m := furnishedMention{p: p, at: i, value: "yes", from: i, to: i}
	if !m.ofThing() && !m.form() && !m.before() && !m.choiceBehind() && !m.extraBehind() {
		m.answered()
	}
	return m.value, m.from, m.to
}

// only settles what the mention says, by the words from..to: "sans meubles".
func (m *furnishedMention) only(value string, from, to int) (settled bool) {
	m.value, m.from, m.to = value, from, to
	return true
}

// sharedRooms are kitchens, and rooms of a building, whose furniture is none of the home's: "salons meublés".
var sharedRooms = set("cuisine cuisines salon salons terrasse terrasses lobby hall lounge lounges rooftop terrace terraces patio patios")

// ofThing finds what is not let furnished: "salons meublés",
// "meubles à vendre", "kitchens are furnished with three appliances".
func (m *furnishedMention) ofThing() (settled bool) {
	p, i := m.p, m.at
	if p.seq(i+1, "d", "a", "cote") || p.seq(i+1, "next", "door") || p.seq(i+2, "next", "door") { // another home
		return m.only("", i, i)
	}
	if sharedRooms[p.word(i-1)] || p.word(i) == "furnished" && sharedRooms[p.word(i+1)] {
		return m.only("", i, i)
	}
	return p.excludedList(i) && m.only("no", i, i) || (p.boughtBefore(i) || p.seq(i, "furnished", "with") &&
		p.kitchenBefore(i)) && m.only("", i, i)
}

// form reads the words that mean more than a plain "meublé": "unfurnished", "furniture", "meubles".
func (m *furnishedMention) form() (settled bool) {
	p, i := m.p, m.at
	l, n := p.word(i-1), p.word(i+1)
	switch p.word(i) {
	case "unfurnished":
		m.value = "no"
	case "semimeuble":
		m.value = "semi"
	case "furniture", "meublement":
		switch {
		case l == "without" && p.seq(i-3, "with", "or"):
			return m.only("optional", i-3, i)
		case l == "without":
			return m.only("no", i-1, i)
		case n != "included" && n != "provided" && (p.sym(i+1) != ':' || !p.about(i+2, anInclusion|aNegation)):
			return m.only(p.furnitureSaid(i))
		}
	case "meuble":
		if l == "les" { // "tout les meuble"
			return m.only(p.furnitureSaid(i))
		}
		if p.accented() && p.bare(i) && l != "tout" && l != "semi" && l != "non" && l != "sans" && p.sym(i-1) != '-' &&
			p.sym(i+1) != ':' { // "meuble lavabo": a writer who uses accents means a piece of furniture
			return m.only("", i, i)
		}
	case "meubles":
		return m.meubles()
	case "meubler":
		switch {
		case p.seq(i-2, "possibilite", "de"):
			return m.only("optional", i-2, i)
		case l == "a", l == "pour", l == "de", l == "le", l == "l":
			return m.only("", i, i)
		}
	}
	return false
}

// meubles tells furniture from furnished apartments: "certains meubles", "avec ou sans meubles", "logements meublés".
func (m *furnishedMention) meubles() (settled bool) {
	p, i := m.p, m.at
	switch l, n := p.word(i-1), p.word(i+1); {
	case p.sym(i+2) == ':' && p.about(i+1, anInclusion) && p.about(i+3, anAmenity): // "meubles inclus : poêle, frigo"
		return m.only("semi", i, i+3)
	case ownMeubles[l]:
		return n != "inclus" && n != "fournis" && n != "compris" && m.only(p.furnitureSaid(i))
	case l == "sans" && p.seq(i-3, "avec", "ou"):
		return m.only("optional", i-3, i)
	case l == "sans", l == "no", l == "aucun", l == "aucuns":
		return m.only("no", i-1, i)
	case l == "avec" && p.offered(i-1) >= 0:
		return m.only("optional", p.offered(i-1), i)
	case p.seq(i+1, "disponibles", "en", "option"):
		return m.only("optional", i, i+3)
	}
	return false
}

// before reads the words that lead to "meublé": "semi-meublé", "non meublé", "possibilité de louer meublé".
func (m *furnishedMention) before() (settled bool) {
	p, i, k := m.p, m.at, m.at-1
	for p.sym(k) == '-' || p.sym(k) == '/' && p.word(k-1) == "semi" {
		k--
	}
	half := p.num(k)
	switch said := furnishedBefore[p.word(k)]; {
	case said == "semi" && p.words[k+1].line, p.word(k) == "un" && (p.words[i].space || p.sym(k+1) != '-'):
	case said != "":
		m.value, m.from = said, k
	case half != nil && half.cents == 50 && half.digits == 0 && p.word(k+1) != "": // "1/2 meublé"
		m.value, m.from = "semi", k
	}
	if m.value == "semi" && p.denied(m.from) {
		m.value, m.from = "no", m.from-1
	}
	if l := p.word(m.from - 1); l == "etre" || l == "be" || l == "possibilite" || p.seq(m.from-2, "possibilite", "de") {
		return m.only("optional", m.from-1, i)
	}
	k = p.offered(m.from)
	return (k >= 0 || p.atPrice(i+1)) && m.only("optional", max(k, 0), i)
}

// choiceBehind finds that the furniture is a choice, or asked for: "meublé ou non", "meublé si désiré", "meublé?".
func (m *furnishedMention) choiceBehind() (settled bool) {
	p, i := m.p, m.at
	for n := i + 1; n <= i+4 && n < len(p.words) && !p.words[n].line; n++ {
		switch w, l := p.word(n), p.word(n-1); {
		case (w == "ou" || w == "or") && furnishedOrNot[p.word(n+1)]:
			return m.only("optional", m.from, n+1)
		case furnishedOptions[w] && (n == i+1 || l == "si" || n == i+2 && (l == "est" || l == "en" || p.sym(i+1) == '(')) &&
			(w != "disponible" && w != "available" || p.optionalOffer(i)),
			furnishedIfAsked[w] && (l == "si" || l == "if" || l == "as" || l == "au"):
			return m.only("optional", m.from, n)
		case p.sym(n) == '?':
			return m.only("", i, i)
		}
	}
	return false
}

// extraBehind finds that the furniture costs more: "peut être loué meublé pour un petit supplément".
func (m *furnishedMention) extraBehind() (settled bool) {
	p := m.p
	if end := p.pricedMore(m.at + 1); m.value == "yes" && end > m.at {
		return m.only("optional", m.from, end)
	}
	for n := m.at + 1; m.value == "yes" && n <= m.at+7 && !p.stop(n) && p.sym(n) != ','; n++ {
		if p.word(n) == "supplement" {
			return m.only("optional", m.from, n)
		}
	}
	return false
}

// answered takes the answer after a colon: "Meublé: non".
func (m *furnishedMention) answered() {
	p, i := m.p, m.at
	if said := furnishedAnswers[p.word(i+2)]; said != "" && p.sym(i+1) == ':' {
		m.only(said, i, i+2)
	} else if w := p.word(i + 1); (w == "non" || w == "no") && !p.words[i+1].line && p.itemBegins(i) &&
		(p.stop(i+2) || p.words[i+2].kind == symbol) { // "Animaux non/Meublé non"
		m.only("no", i, i+1)
	}
}

// kitchenBefore tells whether a kitchen is what the word at i is said of.
func (p *Prose) kitchenBefore(i int) bool {
	for k := i - 1; k >= i-4 && !p.stop(k+1); k-- {
		if w := p.word(k); w == "kitchen" || w == "kitchens" {
			return true
		}
	}
	return false
}

// offered returns the "possibilité", "peut" or "could" that leads to "louer meublé" before token i, or -1.
func (p *Prose) offered(i int) int {
	for k, n := i-1, 0; k >= 0 && n < 6 && !p.words[k+1].line; k, n = k-1, n+1 {
		switch w := p.word(k); {
		case furnishedOffers[w]:
			return k
		case offerFillers[w]:
		case w == "":
			if p.sym(k) != '.' || p.word(k-1) != "poss" {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// atPrice tells whether "pour 30 $", "+ 50 $" or "(frais en sus)" follows at i: furniture at a price of its own. What
// costs more is the rent.
func (p *Prose) atPrice(i int) bool {
	if p.sym(i) == '(' {
		i++
	}
	switch {
	case p.word(i) == "frais" || p.word(i) == "supplement":
		w := p.word(i + 1)
		return w == "en" || w == "supplementaire" || w == "supplementaires" || w == "additionnels"
	case p.word(i) == "pour" || p.word(i) == "for" || p.sym(i) == '+':
		i++
	default:
		return false
	}
	if p.sym(i) == '$' {
		t := p.num(i + 1)
		return t != nil && !t.half && (t.cents <= 200_00 || p.word(i+2) == "more" || p.word(i+2) == "extra")
	}
	t := p.num(i)
	return t != nil && t.cents <= 200_00 && !t.half && p.sym(i+1) == '$'
}

// pricedMore returns the last token of what is paid on top for the furniture before i, "can stay for $50 more",
// "disponibles pour 75 $ de plus", or i-1. In "furnished, parking $50 extra" it is for another thing.
func (p *Prose) pricedMore(i int) int {
	more, sum := false, false
	for k := i; k <= i+9 && !p.stop(k) && p.sym(k) != ',' && !p.about(k, aParking|aUtility|aPet); k++ {
		if t := p.num(k); t != nil {
			if t.cents > ceilings[forFurniture] || t.half {
				break
			}
			sum = sum || p.sym(k-1) == '$' || p.sym(k+1) == '$'
		}
		w, l, next := p.word(k), p.word(k-1), p.word(k+1)
		more = more || w == "extra" || w == "more" && next != "than" || w == "additional" || w == "sus" ||
			w == "supplement" || w == "plus" && (l == "de" || l == "en") && next != "de" && next != "que"
		if sum && more {
			return k
		}
	}
	return i - 1
}

// accented tells whether the text uses accents at all.
func (p *Prose) accented() bool { return len(p.text) > len(p.fold) || !isASCII(p.text) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// bare tells whether the word at i was written in lower case without accents.
func (p *Prose) bare(i int) bool {
	t := &p.words[i]
	from := int(p.at[t.start])
	return from+len(t.w) <= len(p.text) && p.text[from:from+len(t.w)] == t.w
}

// optionalOffer tells whether "meublé disponible" is an option and not "appartement meublé disponible le 1er mai".
func (p *Prose) optionalOffer(i int) bool {
	return p.word(i-1) == "aussi" || p.word(i-1) == "also" || p.word(i+2) == "aussi" ||
		p.seq(i+2, "for", "an", "extra") || p.seq(i+2, "for", "extra")
}
