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
		parkFiller: "de d une un le l place places back alley rear lane tandem surface " +
			"designated espace espaces space spaces private prive car louer rent " +
			"avoir secured secure covered assigned reserved dedicated large single legal",
	})
	parkingAfter = meanings(map[parkingWord]string{
		parkIndoors:  "interieur interieurs interieure int indoor souterrain souterrains sousterrain underground inside",
		parkOutdoors: "exterieur exterieurs exterieure outdoor outside ext",
		parkOnStreet: "rue rues street",
		parkPermit:   "vignette vignettes",
		parkNone:     "non no",
		parkIncluded: "inclus incluse included inclue inclut inclu compris comprise fourni fournis gratuit gratuits " +
			"gratuite free incl deneige deneiges deneigee deneigees",
		parkOnOffer: "disponible disponibles available possible possibles optionnel optional option optionel dispo " +
			"negociee negocie loue louee rented arranged",
		parkForMore: "cost fee fees frais sus extra supplement additionnel additional payant supplementaire supplementaires surplus",
		parkCars:    "chars voitures voiture autos auto vehicules vehicule cars car vehicles vehicle",
	})
	parkingTypes = map[string]string{"garage": "indoor", "garages": "indoor", "carport": "outdoor"}
	// inStreet stand before "rue" where it is the street that one parks in, and not a part of an address.
	inStreet     = set("la les sur dans the on")
	parkingSpots = set("emplacement emplacements place places espace espaces case cases air aire space spot stall")
)

// parking reads the mentions of parking; a clear offer beats an unclear one, the first beats the rest. Best tells how
// clear: 0 nothing, 1 a bare mention.
func (p *Prose) parking() (out listing.Parking, best, from, to int) {
	from, to = -1, -1
	for i := range p.words {
		if !p.about(i, aParking) || p.word(i) == "abri" || p.word(i) == "stat" && p.sym(i+1) != '.' &&
			!p.about(i+1, anInclusion) {
			continue
		}
		m, rank, a, b := p.parkingAt(i)
		if m.Offer == "street" && out.Spots > 0 { // "2 stationnements, et l'on peut stationner dans la rue"
			continue
		}
		if rank <= best {
			if out.Type == "" && rank > 0 && m.Offer == out.Offer {
				out.Type = m.Type
			}
			if out.Spots == 0 && out.Offer == "included" && m.Offer == out.Offer && m.Type == out.Type {
				out.Spots = m.Spots
			}
			continue
		}
		best = rank
		if m.Type == "" {
			m.Type = out.Type
		}
		out, from, to = m, a, b
	}
	for _, a := range p.amounts() {
		if a.role != forParking {
			continue
		}
		if a.per == perYear || a.per == perWeek || a.per == perDay {
			continue
		}
		if out.Offer == "included" && best == 4 && (a.from > to+6 || a.to < from-6 || p.ended(a.to, from) ||
			p.parkingBetween(to, a.from)) { // the price of another place
			continue
		}
		if out.Offer != "included" || out.Spots == 0 {
			out.Offer, out.PriceCents, best = "extra", a.cents, 4
			if from < 0 { // "underground spot can be had for $125"
				from, to = a.from, a.to
				out.Type = p.pricedSpot(a.from)
			}
		}
		break
	}
	for i := range p.words {
		if best == 0 || out.PriceCents > 0 || out.Offer == "none" || out.Offer == "street" {
			break
		}
		if !p.about(i, aParking) {
			continue
		}
		if cents, at := p.parkingSum(i); cents > 0 {
			out.Offer, out.PriceCents, best, from, to = "extra", cents, 4, i, at
			if out.Spots == 1 {
				out.Spots = 0 // "one spot for an extra 100" counts what is sold
			}
		}
	}
	return out, best, from, to
}

// pricedSpot returns where the place is of which the price is at i, from the words right before the place: "underground
// spot can be had for $125", not "indoor pool, one spot is $150".
func (p *Prose) pricedSpot(i int) string {
	for k := i - 1; k >= i-9 && k > 0 && !p.stop(k+1); k-- {
		if costs[p.word(k)] != forParking && !parkingSpots[p.word(k)] {
			continue
		}
		for k--; k >= 0 && !p.stop(k+1); k-- {
			switch parkingBefore[p.word(k)] {
			case parkIndoors:
				return "indoor"
			case parkOutdoors:
				return "outdoor"
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
	if t == nil || t.dec > 0 || t.digits != 1 || t.half {
		return 0
	}
	n := int(t.cents / 100)
	switch w := p.word(k - 1); {
	case p.sym(k-1) == '(' && p.sym(k+1) == ')', p.sym(k-1) == ':' && k == i+2:
		return n
	case w == "x" && k == i+2 && p.word(k+1) != "x", (w == "for" || w == "pour") && k == i+2 && p.stop(k+1):
		return n
	case k == i+1 && parkingSpots[p.word(k+1)] && p.word(k+2) != "de":
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

// parkingOfOthers tells whether the word at i is of a place for visitors, or of the garage's door.
func (p *Prose) parkingOfOthers(i int) bool {
	if p.theirs(i) {
		return true
	}
	k := i - 1
	if w := p.word(k); w == "de" || w == "du" || w == "indoor" || w == "outdoor" || w == "underground" {
		k--
	}
	switch p.word(k) {
	case "visitor", "visitors", "guest", "bike", "bicycle", "telecommande", "porte", "manette", "opener":
		return true
	}
	switch w := p.word(i - 1); p.word(i - 2) {
	case "through", "above", "over":
		if w == "the" {
			return true
		}
	case "dessus": // "chambre au-dessus du garage"
		if w == "du" {
			return true
		}
	}
	switch p.word(i + 1) {
	case "remote", "door", "opener", "visiteurs", "visiteur", "incitatif", "incitatifs", "velo", "velos":
		return true
	case "pour", "for", "a", "aux", "garage":
		w := p.word(i + 2)
		return w == "velos" || w == "velo" || w == "bikes" || w == "visiteurs" || w == "visiteur" || w == "visitors" ||
			w == "guests" || w == "remote" || w == "les" &&
			p.word(i+3) == "visiteurs"
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

// possible tells whether "possibilité de" or "possibilité de louer" leads to the count at i.
func (p *Prose) possible(i int) bool {
	k := i - 1
	for parkingBefore[p.word(k)] == parkFiller {
		k--
	}
	return parkingBefore[p.word(k)] == parkOnOffer
}

// parkingAt reads one mention. Rank 0 says nothing; the higher, the clearer.
func (p *Prose) parkingAt(i int) (m listing.Parking, rank, from, to int) {
	from, to = i, i
	if p.parkingOfOthers(i) {
		return m, 0, i, i
	}
	k := i - 1
	if p.word(k) == "de" && parkingSpots[p.word(k-1)] {
		k -= 2
		from = k + 1
	}
	if p.sym(k) == '(' {
		k--
	}
	m.Type = parkingTypes[p.word(i)]
	comma := false
	nth, counted := false, false // counted by a number, not by an article
	for n := 0; n < 5 && k >= 0 && !p.words[k+1].line; n, k = n+1, k-1 {
		switch w := p.word(k); parkingBefore[w] {
		case parkIndoors:
			m.Type = "indoor"
			continue
		case parkOutdoors:
			m.Type = "outdoor"
			continue
		case parkOnStreet:
			if p.word(k-1) == "off" || p.sym(k-1) == '-' && p.word(k-2) == "off" {
				continue
			}
			return listing.Parking{Offer: "street"}, 3, k, i
		case parkNone:
			return listing.Parking{Offer: "none"}, 3, k, i
		case parkIncluded:
			if (w == "inclus" || w == "included") && p.sym(k+1) != ':' && !p.words[k].line &&
				!(p.sym(k-1) == '-' && p.words[k-1].line) {
				break // "chauffage inclus, stationnement 50 $"
			}
			m.Offer, rank, from = "included", 3, k
		case parkOnOffer:
			m.Offer, rank, from = "available", 3, k
		case parkSecond:
			nth = true
			if p.num(k-1) != nil {
				k--
			}
			continue
		case parkFiller:
			if (w == "un" || w == "une") && m.Spots == 0 && !nth {
				m.Spots = 1
				rank = max(rank, 2)
			}
			continue
		case parkArticle: // not a French "à"
			if m.Spots == 0 && !nth && (parkingSpots[p.word(i+1)] || parkingTypes[p.word(i)] != "" && (w == "an" ||
				p.bare(k))) {
				m.Spots = 1
				rank = max(rank, 2)
			}
			continue
		case parkTwo:
			m.Spots = 2
			rank = max(rank, 2)
			from = k
			if p.possible(k) {
				m.Offer, rank = "available", 3
			}
		default:
			if t := p.num(k); t != nil && t.dec == 0 && t.digits == 1 && !nth {
				if t.cents == 0 {
					return listing.Parking{Offer: "none"}, 3, k, i
				}
				m.Spots, counted = int(t.cents/100), true
				rank, from = max(rank, 2), k
			} else if n := numberWords[w]; n > 0 && !nth {
				m.Spots, counted = n, true
				rank, from = max(rank, 2), k
			}
			if counted && p.possible(k) {
				m.Offer, rank = "available", 3
			}
			if t := p.num(k - 1); p.sym(k) == ')' && t != nil && t.digits == 1 && t.dec == 0 && p.sym(k-2) == '(' { // "deux (2)"
				k -= 2
				continue
			}
			if p.sym(k) == '-' && k < i-1 && p.num(k-1) != nil && !p.words[k].space && !p.words[k+1].space { // "3-car driveway"
				continue
			}
		}
		break
	}
	end := i + 1
	for n := 0; n < 14 && end < len(p.words); n, end = n+1, end+1 {
		t := &p.words[end]
		comma = comma || t.sym == ','
		if t.line || p.stop(end) && (end > i+1 || p.word(i) != "stat") || p.about(end, aParking) && end > i+1 {
			break
		}
		switch parkingAfter[t.w] {
		case parkIndoors:
			if m.Type == "" && (!comma || p.sym(end-1) == ',') { // "stationnement, piscine intérieure"
				m.Type = "indoor"
			}
		case parkOutdoors:
			if m.Type == "" && (!comma || p.sym(end-1) == ',') { // "1 stationnement, remise à l'extérieur"
				m.Type = "outdoor"
			}
		case parkOnStreet:
			if m.Offer == "included" && p.parksBetween(i, end) {
				break
			}
			if inStreet[p.word(end-1)] || t.w == "street" {
				return listing.Parking{Offer: "street"}, 3, i, end
			}
		case parkCars:
			if n, _ := p.small(end - 1); n > 0 && m.Spots == 0 {
				m.Spots = n
				rank = max(rank, 2)
			}
		case parkPermit:
			return listing.Parking{Offer: "street"}, 3, i, end
		case parkIncluded:
			if rank == 3 && m.Offer != "included" {
				break
			}
			if p.denied(end) && strings.HasPrefix(t.w, "deneige") { // "non déneigé" says nothing of the rent
				break
			}
			if p.denied(end) || p.word(end-2) == "pas" || p.answerAfter(end) == saysExcluded {
				m.Offer, rank, to = "available", 3, end
				break
			}
			m.Offer, rank, to = "included", 4, end
			if strings.HasPrefix(t.w, "deneige") && (parkingAfter[p.word(end+1)] == parkForMore ||
				parkingAfter[p.word(end+2)] == parkForMore) { // "déneigé, en sus"
				rank = 3
			}
		case parkOnOffer:
			if p.denied(end) && (end == i+2 || p.sym(i+1) == ':' && end == i+3) { // "parking: not available"
				return listing.Parking{Offer: "none"}, 3, i, end
			}
			if rank < 3 {
				m.Offer, rank, to = "available", 3, end
			}
		case parkForMore:
			if w := p.word(end - 1); w == "sans" || w == "no" || t.w == "frais" && (w == "aux" || w == "de") {
				break
			}
			if t.w == "additional" && (p.about(end+1, aParking) || p.about(end+2, aParking)) { // "garage and an additional parking"
				break
			}
			if rank < 4 && !p.about(end+1, anInclusion) && !(comma && t.w == "supplement") { // "rangement supplémentaire inclus"
				m.Offer, rank, to = "extra", 3, end
			}
		case parkNone:
			if rank == 0 && (end == i+1 && !p.about(end+1, anInclusion) && !strings.HasPrefix(p.word(end+1), "deneige") ||
				end == i+2 && p.sym(i+1) == ':') {
				return listing.Parking{Offer: "none"}, 3, i, end
			}
		default:
			if w := p.word(end + 1); (t.w == "comes" || t.w == "vient") && !p.words[end].line && (w == "with" || w == "avec") {
				m.Offer, rank, to = "included", 4, end+1 // "the garage comes with the rental"
			}
			if n := p.spotsAt(i, end); n > 0 && (m.Spots == 0 || p.sym(end-1) == ':') {
				m.Spots = n
				rank = max(rank, 2)
			}
		}
		if m.Type == "" && !comma && p.enclosed(i, end) {
			m.Type = "indoor"
		}
		if t.w == "terrain" && p.seq(end-2, "sous", "") && m.Type == "" { // "sous-terrain"
			m.Type = "indoor"
		}
		// "un stationnement intérieur à louer"
		if t.w == "louer" && p.word(end-1) == "a" && !comma && rank < 3 && !p.homeBefore(i) {
			m.Offer, rank, to = "available", 3, end
		}
		if t.sym == '$' {
			if p.num(end-1) == nil && p.num(end+1) == nil && rank < 4 { // "stationnement ($)"
				m.Offer, rank, to = "extra", 3, end
			}
			break
		}
	}
	if nth { // the price of a second place tells nothing of the first
		m.Spots, rank = 0, min(rank, 1)
		if m.Offer == "included" {
			m.Offer = "available"
		}
	}
	if rank == 0 {
		return listing.Parking{Offer: "available", Type: m.Type}, 1, i, i
	}
	if m.Offer == "" {
		m.Offer = "included" // "1 stationnement", on a list of what there is
		if rank == 1 {
			m.Offer = "available"
		}
	}
	if m.Offer != "included" && (rank < 3 || m.Spots == 1 && !counted) {
		m.Spots = 0
	}
	return m, rank, from, max(to, i)
}

// enclosed tells whether the word at k says that the parking at i has walls: "stationnement fermé", "couvert et fermé".
// A roof alone may be a carport's.
func (p *Prose) enclosed(i, k int) bool {
	switch p.word(k) {
	case "ferme", "fermes", "clos", "enclosed":
	default:
		return false
	}
	if p.word(k+1) == "a" || p.word(k+1) == "la" || p.word(k+1) == "le" { // "fermé à clé", "fermé la nuit": a gate
		return false
	}
	for n := i + 1; n < k; n++ {
		switch p.word(n) {
		case "couvert", "couverts", "covered", "et", "and", "chauffe", "chauffes", "prive", "prives", "private":
		default:
			return false
		}
	}
	return true
}
