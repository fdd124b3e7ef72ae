package prose

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// A parkingWord is the meaning of a word near "stationnement".
type parkingWord uint8

const (
	parkIndoors parkingWord = iota + 1
	parkOutdoors
	parkOnStreet
	parkPermit // of the city, to park in the street
	parkNone
	parkIncluded
	parkOnOffer
	parkForMore // at a price of its own
	parkSecond  // of another place than the first
	parkTwo
	parkCars // a number before it counts places
	parkWalled
	parkTerrain // of "sous-terrain"
	parkComes   // "with the rental"
	parkToLet
	parkArticle
	parkFiller // says nothing: the words beyond it count
)

// The words before "stationnement", read from the nearest on, and those after it.
var (
	parkingBefore = meanings(map[parkingWord]string{
		parkIndoors:  "indoor underground interieur inside heated interior enclosed",
		parkOutdoors: "outdoor exterieur exterior outside",
		parkOnStreet: "street vignette vignettes",
		parkNone:     "pas sans aucun aucune no without",
		parkIncluded: "avec with incluant includes including inclut free comprend inclus included",
		parkOnOffer:  "possibilite possiblite possibility possible option",
		parkSecond:   "ieme e eme nd second deuxieme th",
		parkTwo:      "two deux",
		parkArticle:  "a an",
		parkFiller: "of renting de d une un le l place places back alley rear lane tandem surface " +
			"designated espace espaces space spaces private prive car louer rent " +
			"off valet permit petit petite " +
			"grand grande avoir secured secure covered assigned reserved dedicated large single legal " +
			"energized electrified titled powered numbered onsite site on",
	})
	parkingAfter = meanings(map[parkingWord]string{
		parkIndoors:  "interieur interieurs interieure interieures int indoor souterrain souterrains sousterrain underground inside",
		parkOutdoors: "exterieur exterieurs exterieure exterieures outdoor outside ext",
		parkOnStreet: "rue rues street",
		parkPermit:   "vignette vignettes",
		parkNone:     "non no none aucun aucune",
		parkIncluded: "inclus incluse included inclue inclut inclu compris comprise fourni fournis gratuit gratuits " +
			"gratuite free incl deneige deneiges deneigee deneigees",
		parkOnOffer: "disponible disponibles available possible possibles optionnel optional option optionel dispo " +
			"negociee negocie loue louee rented arranged",
		parkForMore: "cost fee fees frais sus extra supplement additionnel additional payant supplementaire supplementaires surplus",
		parkCars:    "chars voitures voiture autos auto char vehicules vehicule cars car vehicles vehicle",
		parkWalled:  "ferme fermes clos enclosed",
		parkTerrain: "terrain",
		parkComes:   "comes vient",
		parkToLet:   "louer",
	})
	parkingTypes  = map[string]string{"garage": "indoor", "garages": "indoor", "carport": "outdoor"}
	parkingPlaces = map[parkingWord]string{parkIndoors: "indoor", parkOutdoors: "outdoor"}
	// inStreet stand before "rue" where it is the street that one parks in, and not a part of an address.
	inStreet     = set("la les sur dans the on")
	parkingSpots = set("emplacement emplacements place places espace espaces case cases air aire space spaces spot spots stall")
)

// A parkingMention is what the words around one "stationnement" say of it, and in parking the clearest of them so far.
type parkingMention struct {
	p  *Prose
	at int // the token of "stationnement"
	listing.Parking
	rank     int // how clear: 0 nothing, 1 a bare mention, 2 a count, 3 an offer, 4 an offer that no later mention beats
	from, to int
	nth      bool // it is a second place
	both     bool // there are places inside and outside: Type is neither
	counted  bool // by a number, not by an article
	comma    bool // one stands between the parking and the word that is read
	lowest   bool // "à partir de 15 $"
}

// parking reads the mentions of parking; a clear offer beats an unclear one, the first beats the rest. Sure is the rank
// of the mention.
func (p *Prose) parking() (out listing.Parking, sure, from, to int) {
	best := parkingMention{p: p, from: -1, to: -1}
	for i := range p.words {
		if p.namesParking(i) && !p.parkingOfOthers(i) {
			best.join(p.parkingAt(i))
		} else if place := p.carPlaces(i); place.rank > 0 {
			best.join(place)
		}
	}
	best.priced()
	best.pricedUnsigned()
	if best.lowest && (best.Offer == "available" || best.Offer == "included" && best.rank == 2 && !best.counted) {
		best.Offer, best.Spots = "extra", 0 // "un stationnement intérieur … Stationnement à partir de 15 $"
	}
	return best.Parking, best.rank, best.from, best.to
}

// join takes the next mention if it is clearer, or else what m lacks of it: "stationnement inclus. 2 stationnements".
func (m *parkingMention) join(next parkingMention) {
	next.lowest = next.lowest || m.lowest
	m.lowest = next.lowest
	switch {
	case next.Offer == "street" && m.Spots > 0: // "2 stationnements, et l'on peut stationner dans la rue"
	case m.rank == 2 && m.Spots > 0 && next.rank == 3 && (next.Offer == "available" || next.Offer == "extra") &&
		next.Type != "" && next.Type != m.Type: // "1 stationnement extérieur, garage disponible 150 $"
	case next.rank > m.rank:
		if next.Type == "" && !next.both {
			next.Type, next.both = m.Type, m.both
		}
		if next.Spots == 0 && m.Spots > 0 && next.at <= m.at+3 && m.p.unbroken(m.at, next.at) { // "1 parking on driveway"
			next.Spots = m.Spots
		}
		*m = next
	case next.Offer == m.Offer:
		m.bothOf(next)
		if m.Type == "" && !m.both {
			m.Type = next.Type
		}
		if m.Spots == 0 && m.Offer == "included" && next.Type == m.Type {
			m.Spots = next.Spots
		}
	}
}

// priced adds the first sum that is for this place: "stationnement 50 $ par mois".
func (m *parkingMention) priced() {
	for _, a := range m.p.amounts() {
		switch {
		case a.role != forParking, a.per == perYear, a.per.short(), m.pricedElse(a.from, a.to):
			continue
		case m.Offer == "included" && m.Spots > 0 && !(m.at > 0 && m.p.sumOfPlace(&a) == m.at) && !m.itsSum(a.from) &&
			(m.rank > 2 || a.from < m.at || a.from > m.at+6 || !m.p.unbroken(m.at, a.from)):
			return
		case m.from < 0: // "underground spot can be had for $125"
			m.Type, m.from, m.to = m.p.pricedSpot(a.from), a.from, a.to
		}
		m.Offer, m.PriceCents, m.rank = "extra", a.cents, 4
		return
	}
}

// pricedElse tells whether the sum from..to is of another place than the one that is included: "stationnement inclus,
// garage 100 $".
func (m *parkingMention) pricedElse(from, to int) bool {
	return m.Offer == "included" && m.rank == 4 && (m.p.secondCar(from, to) ||
		from > m.to+6 || to < m.from-6 || m.p.ended(to, m.from) ||
		m.p.parkingBetween(m.to, from))
}

// pricedUnsigned adds a sum without a sign, where no other was found: "parking available, added for 75".
func (m *parkingMention) pricedUnsigned() {
	if m.rank == 0 || m.PriceCents > 0 || m.Offer == "none" || m.Offer == "street" {
		return
	}
	for i := range m.p.words {
		if !m.p.about(i, aParking) {
			continue
		}
		if cents, at := m.p.parkingSum(i); cents > 0 {
			m.Offer, m.PriceCents, m.rank, m.from, m.to = "extra", cents, 4, i, at
			if m.Spots == 1 {
				m.Spots = 0 // "one spot for an extra 100" counts what is sold
			}
			return
		}
	}
}

// pricedSpot returns where the place is of which the price is at i, from the words right before the place: "underground
// spot can be had for $125", not "indoor pool, one spot is $150".
func (p *Prose) pricedSpot(i int) string {
	for k := i - 1; k >= i-9 && k > 0 && !p.stop(k+1); k-- {
		if costs[p.word(k)] != forParking && !parkingSpots[p.word(k)] {
			continue
		}
		for k--; k >= 0 && !p.stop(k+1); k-- {
			if where := parkingPlaces[parkingBefore[p.word(k)]]; where != "" {
				return where
			}
			if costs[p.word(k)] != forParking && !parkingSpots[p.word(k)] {
				return ""
			}
		}
	}
	return ""
}

// parkingSum reads what the parking at i costs where no sign says that it is money: "parking available, added for 75",
// "a spot for an extra 100 a month". It is 0 when there is none.
func (p *Prose) parkingSum(i int) (cents int64, at int) {
	for k := i + 1; k <= i+9 && !p.stop(k); k++ {
		t := p.num(k)
		if t == nil {
			continue
		}
		if per, _ := p.period(k + 1); t.digits < 2 || t.half || t.cents > ceilings[forParking] || !p.stop(k+1) &&
			per != perMonth && !moreWords[p.word(k+1)] {
			return 0, k
		}
		for m := k - 1; m > i; m-- {
			switch w := p.word(m); {
			case p.sym(m) == '@', w == "added", w == "add", parkingAfter[w] == parkForMore:
				return t.cents, k
			case w != "for" && w != "an" && w != "a" && w != "pour" && p.sym(m) != ':':
				return 0, k
			}
		}
		return 0, k
	}
	return 0, i
}

// moreWords say after a sum that it is added to the rent.
var moreWords = set("extra more additional supplementaires supplementaire")

// spotsAt reads a count of places behind the parking at i, at token k: "(2)", ": 2", "x2", "for 2", "1 spot".
func (p *Prose) spotsAt(i, k int) int {
	t := p.num(k)
	n := numberWords[p.word(k)]
	switch {
	case t == nil && n > 0 && (p.word(k-1) == "for" || parkingSpots[p.word(k+1)]): // "for one", "- one spot"
	case t == nil || t.dec > 0 || t.digits != 1 || t.half:
		return 0
	default:
		n = int(t.cents / 100)
	}
	switch w := p.word(k - 1); {
	case p.sym(k-1) == '(' && (p.sym(k+1) == ')' || inclusionWords[p.word(k+1)] == saysIncluded && p.sym(k+2) == ')'),
		p.sym(k-1) == ':' && k == i+2,
		p.sym(k-1) == ',' && answers[p.word(k-2)] == saysIncluded,                                  // "parking: yes, 1 spot"
		(k == i+1 || k == i+2 && p.sym(i+1) == '.') && inclusionWords[p.word(k+1)] == saysIncluded: // "stat. 1 inclus"
		return n
	case w == "x" && k == i+2 && p.word(k+1) != "x", (w == "for" || w == "pour") && k == i+2 &&
		(p.stop(k+1) || p.sym(k+1) == '(' || p.word(k+1) == "off" || p.about(k+1, anInclusion)):
		return n
	case parkingSpots[p.word(k+1)] && p.word(k+2) != "de" && (k == i+1 || k <= i+3 && p.sym(k+2) != '$' &&
		p.num(k+2) == nil): // "parking: 1 place", not "parking - 1 spot $35"
		return n
	}
	return 0
}

// parkingBetween tells whether another place is named between the tokens i and j.
func (p *Prose) parkingBetween(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if p.about(k, aParking) {
			return true
		}
	}
	return false
}

// ended tells whether a sentence ends between the tokens i and j.
func (p *Prose) ended(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if p.stop(k) {
			return true
		}
	}
	return false
}

// Words around a parking that is not the tenant's: before it, after it, and after "parking pour".
var (
	othersBefore = set("bus buses visitor visitors guest bike bicycle telecommande porte manette opener")
	othersAfter  = set("remote door opener visiteurs visiteur incitatif incitatifs velo velos municipal municipaux")
	othersFor    = set("velos velo bikes visiteurs visiteur visitors guests remote")
)

// parkingOfOthers tells whether the word at i is of a place for visitors, or of the garage's door.
func (p *Prose) parkingOfOthers(i int) bool {
	k := i - 1
	if w := p.word(k); w == "de" || w == "du" || w == "indoor" || w == "outdoor" || w == "underground" {
		k--
	}
	if p.word(i+1) == "facile" && p.stop(i+2) { // it is easy to park there
		return true
	}
	for k := i + 1; k <= i+4 && !p.stop(k) && p.sym(k) != ','; k++ {
		// "parking lot nearby", "paid parking across the street"
		if p.word(k) == "nearby" || p.seq(k, "across", "the", "street") {
			return true
		}
	}
	if p.theirs(i) || othersBefore[p.word(k)] || othersAfter[p.word(i+1)] {
		return true
	}
	switch w := p.word(i - 2); {
	case p.word(i-1) == "the" && (w == "through" || w == "above" || w == "over"),
		p.word(i-1) == "du" && w == "dessus": // "chambre au-dessus du garage"
		return true
	}
	switch p.word(i + 1) {
	case "pour", "for", "a", "aux", "garage":
		return othersFor[p.word(i+2)] || p.seq(i+2, "les", "visiteurs")
	}
	return false
}

// parksBetween tells whether the tokens between i and j go on to where else one may park: "et possibilité de se
// stationner dans la rue".
func (p *Prose) parksBetween(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if w := p.word(k); w == "stationner" || w == "park" {
			return true
		}
	}
	return false
}

// homeBefore tells whether a home stands before i on its line: what is "à louer" after it is that home.
func (p *Prose) homeBefore(i int) bool {
	for k := i - 1; k >= 0 && !p.words[k+1].line; k-- {
		if p.words[k].half || kinds[p.word(k)] != "" || p.about(k, aStudio|aBedroom) {
			return true
		}
	}
	return false
}

// parkingAt reads the mention at i: its rank is 1 at least.
func (p *Prose) parkingAt(i int) parkingMention {
	m := parkingMention{p: p, at: i, from: i, to: i}
	m.Type = parkingTypes[p.word(i)]
	if !m.before() && !m.behind() {
		m.close()
	}
	if m.inAndOut() {
		m.Type, m.both = "", true
	}
	return m
}

// only settles that the mention says this and nothing else: "aucun stationnement".
func (m *parkingMention) only(offer string, from, to int) (settled bool) {
	m.Parking, m.rank, m.from, m.to = listing.Parking{Offer: offer}, 3, from, to
	return true
}

// says notes an offer that the words up to k make: "stationnement disponible".
func (m *parkingMention) says(offer string, rank, k int) { m.Offer, m.rank, m.to = offer, rank, k }

// counts notes a number of places: "un stationnement".
func (m *parkingMention) counts(n int) {
	if !m.p.ofSome(m.at) {
		m.Spots, m.rank = n, max(m.rank, 2)
	}
}

// before reads the words before the parking, the nearest first: "possibilité de louer un garage". It tells whether one
// of them settles all.
func (m *parkingMention) before() (settled bool) {
	p, k := m.p, m.at-1
	if p.word(k) == "de" && parkingSpots[p.word(k-1)] { // "place de stationnement"
		k -= 2
		m.from = k + 1
	}
	if p.sym(k) == '(' {
		k--
	}
	if p.word(k) == "the" && p.word(k-1) == "in" && parkingSpots[p.word(k-2)] { // "1 spot in the driveway"
		k -= 3
	}
	for n := 0; n < 5 && k >= 0 && !p.words[k+1].line; n, k = n+1, k-1 {
		switch meaning := parkingBefore[p.word(k)]; meaning {
		case parkIndoors, parkOutdoors:
			m.Type = parkingPlaces[meaning]
		case parkOnStreet:
			if !p.offStreet(k) { // not "off-street parking"
				return m.only("street", k, m.at)
			}
		case parkNone:
			return m.only("none", k, m.at)
		case parkIncluded:
			if p.denied(k) || p.word(k-1) == "come" && p.denied(k-1) || p.word(k-1) == "vient" && p.word(k-2) == "ne" {
				return m.only("none", k-1, m.at) // "does not come with parking"
			}
			if p.otherSum(k) { // "$1,695, or $1,745 with parking"
				m.Offer, m.rank, m.from = "extra", 3, k
				return false
			}
			if !m.endsItem(k) {
				m.Offer, m.rank, m.from = "included", 3, k
			}
			if p.word(k) != "free" { // "one free spot"
				return false
			}
		case parkOnOffer:
			m.Offer, m.rank, m.from = "available", 3, k
			return false
		case parkSecond:
			m.nth = true
			if p.num(k-1) != nil {
				k--
			}
		case parkFiller, parkArticle:
			if !m.nth && m.articleBefore(k) {
				m.counts(1)
			}
		case parkTwo:
			m.countedBefore(2, k)
			return false
		default:
			switch t := p.num(k - 1); {
			case p.sym(k) == ')' && t != nil && t.digits == 1 && t.dec == 0 && p.sym(k-2) == '(': // "deux (2)"
				k -= 2
			case p.sym(k) == '-' && p.word(k-1) == "off": // "off-street"
			case p.sym(k) == '-' && k < m.at-1 && t != nil && !p.words[k].space && !p.words[k+1].space: // "3-car driveway"
			default:
				return !m.nth && m.numberBefore(k)
			}
		}
	}
	return false
}

// numberBefore reads the number at k as a count: "3 stationnements", "one parking". "0 stationnement" settles all.
func (m *parkingMention) numberBefore(k int) (settled bool) {
	n := numberWords[m.p.word(k)]
	if t := m.p.num(k); t != nil && t.dec == 0 && t.digits == 1 {
		if t.cents == 0 {
			return m.only("none", k, m.at)
		}
		n = int(t.cents / 100)
	} else if n == 0 {
		return false
	}
	m.counted = true
	m.countedBefore(n, k)
	return false
}

// countedBefore notes the count at k, which may be only on offer: "possibilité de 2 stationnements".
func (m *parkingMention) countedBefore(n, k int) {
	m.counts(n)
	m.from = k
	if m.p.possible(k) {
		m.Offer, m.rank = "available", 3
	}
}

// behind reads the words after the parking, to the end of the thought or the next parking: "garage chauffé en sus". It
// tells whether one of them settles all.
func (m *parkingMention) behind() (settled bool) {
	p, i := m.p, m.at
	for k := i + 1; k < i+15 && !p.stop(k) && (k == i+1 || !p.about(k, aParking)) && !p.secondIn(k); k++ {
		m.comma = m.comma || p.sym(k) == ','
		switch meaning := parkingAfter[p.word(k)]; meaning {
		case parkIndoors, parkOutdoors:
			m.placed(parkingPlaces[meaning], k)
		case parkWalled:
			if m.Type == "" && !m.comma && p.enclosed(i, k) {
				m.Type = "indoor"
			}
		case parkTerrain:
			if m.Type == "" && p.word(k-2) == "sous" { // "sous-terrain"
				m.Type = "indoor"
			}
		case parkOnStreet:
			in := inStreet[p.word(k-1)] || k == i+1 && p.listEnds(k+1) || p.sym(k-1) == ':' ||
				p.word(k) == "street" && !p.offStreet(k)
			if in && !(m.Offer == "included" && p.parksBetween(i, k)) {
				return m.only("street", i, k)
			}
		case parkPermit:
			return m.only("street", i, k)
		case parkNone:
			if m.deniedBehind(k) {
				return m.only("none", i, k)
			}
		case parkOnOffer:
			if p.denied(k) && (k == i+2 || p.sym(i+1) == ':' && k == i+3) { // "parking: not available"
				return m.only("none", i, k)
			}
			m.offered(k)
		case parkToLet:
			if w := p.word(k - 1); modals[w] || w == "a" && !m.comma && !p.homeBefore(i) { // "un stationnement à louer"
				m.offered(k)
			}
		case parkIncluded:
			m.includedBehind(k)
		case parkComes:
			if w := p.word(k + 1); w == "with" || w == "avec" { // "the garage comes with the rental"
				m.says("included", 4, k+1)
			}
		case parkForMore:
			m.forMore(k)
		case parkCars:
			if n, _ := p.small(k - 1); n > 0 && m.Spots == 0 && !owns[p.word(k-2)] { // "stationnement pour 2 voitures"
				m.counts(n)
			}
		default:
			if p.sym(k) == '$' {
				if p.num(k-1) == nil && p.num(k+1) == nil && m.rank < 4 { // "stationnement ($)"
					m.says("extra", 3, k)
				}
				m.lowest = p.lowestSum(k, m.comma)
				return false
			}
			if n := p.spotsAt(i, k); n > 0 && (m.Spots == 0 || p.sym(k-1) == ':') {
				m.counts(n)
			}
		}
	}
	return false
}

// placed notes where the place is, unless the word at k is of another thing: "stationnement, piscine intérieure", "1
// stationnement, remise à l'extérieur".
func (m *parkingMention) placed(where string, k int) {
	other := m.p.about(k-1, anAmenity) && !strings.HasSuffix(m.p.word(k), "s") // "stationnement et piscine extérieurs"
	if m.Type == "" && (!m.comma || m.p.sym(k-1) == ',') && !other {
		m.Type = where
	}
}

// deniedBehind tells whether the "non" at k answers the parking: "stationnement: non", not "stationnement non inclus".
func (m *parkingMention) deniedBehind(k int) bool {
	p, i := m.p, m.at
	return m.rank == 0 && (k == i+1 && answers[p.word(k)] != 0 &&
		!p.about(k+1, anInclusion) && !strings.HasPrefix(p.word(k+1), "deneige") ||
		k == i+2 && p.sym(i+1) == ':')
}

// offered notes that the place may be had, where nothing clearer is said: "stationnement disponible".
func (m *parkingMention) offered(k int) {
	if m.rank < 3 {
		m.says("available", 3, k)
	}
}

// includedBehind reads "inclus", "non compris", "déneigé, en sus" at k. "Non déneigé" says nothing of the rent.
func (m *parkingMention) includedBehind(k int) {
	p, cleared := m.p, strings.HasPrefix(m.p.word(k), "deneige")
	switch denied := p.denied(k); {
	case m.rank == 3 && m.Offer != "included", denied && cleared:
	case denied || p.word(k-2) == "pas" || p.answerAfter(k) == saysExcluded:
		m.says("available", 3, k)
	case cleared && (parkingAfter[p.word(k+1)] == parkForMore || parkingAfter[p.word(k+2)] == parkForMore):
		m.says("included", 3, k)
	default:
		m.says("included", 4, k)
	}
}

// forMore reads "en sus", "extra", "frais" at k, unless they are of another thing: "garage and an additional parking",
// "rangement supplémentaire inclus".
func (m *parkingMention) forMore(k int) {
	p, w := m.p, m.p.word(k)
	switch l := p.word(k - 1); {
	case m.Offer == "available" && m.rank == 3 && k == m.at+1 && moreWords[w]: // "possibilité de stationnements supplémentaires"
	case l == "sans" || l == "no" || p.word(k-2) == "no" || w == "frais" && (l == "aux" || l == "de"),
		w == "additional" && (p.about(k+1, aParking) || p.about(k+2, aParking)),
		m.rank == 4 || p.about(k+1, anInclusion) || m.comma && w == "supplement":
	default:
		m.says("extra", 3, k)
	}
}

// close fills in what the words leave open: "1 stationnement", on a list of what there is, is included, a bare
// "stationnement" may be had.
func (m *parkingMention) close() {
	if m.nth { // the price of a second place tells nothing of the first
		m.Spots, m.rank = 0, min(m.rank, 1)
		if m.Offer == "included" {
			m.Offer = "available"
		}
	}
	if m.rank == 0 {
		m.rank, m.from = 1, m.at
	}
	if m.Offer == "" {
		m.Offer = "included"
		if m.rank == 1 {
			m.Offer = "available"
		}
	}
	if m.Offer != "included" && (m.rank < 3 || m.Spots == 1 && !m.counted) {
		m.Spots = 0
	}
}
