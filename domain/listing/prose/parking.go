package prose

import "github.com/mtlrent/conveyor/domain/listing"

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
	parkCars   // a number before it counts places
	parkFiller // says nothing: the words beyond it count
)

// The words before "stationnement", read from the nearest on, and those after it.
var (
	parkingBefore = meanings(map[parkingWord]string{
		parkIndoors:  "indoor underground interieur inside heated",
		parkOutdoors: "outdoor exterieur exterior outside",
		parkOnStreet: "street vignette vignettes",
		parkNone:     "pas sans aucun aucune no without",
		parkIncluded: "avec with incluant includes including inclut free comprend inclus included",
		parkOnOffer:  "possibilite possiblite possibility possible option",
		parkSecond:   "ieme e eme nd second deuxieme th",
		parkTwo:      "two deux",
		parkFiller: "de d une un le l a place places espace espaces space spaces private prive car louer rent " +
			"avoir",
	})
	parkingAfter = meanings(map[parkingWord]string{
		parkIndoors:  "interieur interieurs interieure int indoor souterrain souterrains underground inside",
		parkOutdoors: "exterieur exterieurs exterieure outdoor outside ext",
		parkOnStreet: "rue rues street",
		parkPermit:   "vignette vignettes",
		parkNone:     "non",
		parkIncluded: "inclus incluse included inclue inclut inclu compris comprise fourni fournis gratuit gratuits " +
			"gratuite free incl deneige deneiges deneigee deneigees",
		parkOnOffer: "disponible disponibles available possible possibles optionnel optional option optionel dispo",
		parkForMore: "sus extra supplement additionnel additional payant supplementaire supplementaires surplus",
		parkCars:    "voitures voiture autos auto vehicules cars",
	})
	parkingTypes = map[string]string{"garage": "indoor", "garages": "indoor", "carport": "outdoor"}
	// inStreet stand before "rue" where it is the street that one parks in, and not a part of an address.
	inStreet     = set("la les sur dans the on")
	parkingSpots = set("place places espace espaces case cases air aire")
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
		if rank <= best {
			if out.Type == "" && rank > 0 && m.Offer == out.Offer {
				out.Type = m.Type
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
		if out.Offer != "included" || out.Spots == 0 {
			out.Offer, out.PriceCents, best = "extra", a.cents, 4
			if from < 0 {
				from, to = a.from, a.to
			}
		}
		break
	}
	return out, best, from, to
}

// parkingAt reads one mention. Rank 0 says nothing; the higher, the clearer.
func (p *Prose) parkingAt(i int) (m listing.Parking, rank, from, to int) {
	from, to = i, i
	k := i - 1
	if p.word(k) == "de" && parkingSpots[p.word(k-1)] {
		k -= 2
		from = k + 1
	}
	if p.sym(k) == '(' {
		k--
	}
	m.Type = parkingTypes[p.word(i)]
	nth := false
	for n := 0; n < 5 && k >= 0 && !p.words[k+1].line; n, k = n+1, k-1 {
		switch w := p.word(k); parkingBefore[w] {
		case parkIndoors:
			m.Type = "indoor"
			continue
		case parkOutdoors:
			m.Type = "outdoor"
			continue
		case parkOnStreet:
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
			if (w == "un" || w == "une") && m.Spots == 0 && !nth && k == i-1 {
				m.Spots = 1
				rank = max(rank, 2)
			}
			continue
		case parkTwo:
			m.Spots = 2
			rank = max(rank, 2)
			from = k
		default:
			if t := p.num(k); t != nil && t.dec == 0 && t.digits == 1 && t.cents > 0 && !nth {
				m.Spots = int(t.cents / 100)
				rank, from = max(rank, 2), k
			}
		}
		break
	}
	end := i + 1
	for n := 0; n < 14 && end < len(p.words); n, end = n+1, end+1 {
		t := &p.words[end]
		if t.line || p.stop(end) && (end > i+1 || p.word(i) != "stat") || p.about(end, aParking) && end > i+1 {
			break
		}
		switch parkingAfter[t.w] {
		case parkIndoors:
			if m.Type == "" {
				m.Type = "indoor"
			}
		case parkOutdoors:
			if m.Type == "" {
				m.Type = "outdoor"
			}
		case parkOnStreet:
			if inStreet[p.word(end-1)] || t.w == "street" {
				return listing.Parking{Offer: "street"}, 3, i, end
			}
		case parkCars:
			if t := p.num(end - 1); t != nil && t.dec == 0 && t.digits == 1 && t.cents > 0 && m.Spots == 0 {
				m.Spots = int(t.cents / 100)
				rank = max(rank, 2)
			}
		case parkPermit:
			return listing.Parking{Offer: "street"}, 3, i, end
		case parkIncluded:
			if rank == 3 && m.Offer != "included" {
				break
			}
			if p.denied(end) || p.word(end-2) == "pas" {
				m.Offer, rank, to = "available", 3, end
				break
			}
			m.Offer, rank, to = "included", 4, end
		case parkOnOffer:
			if rank < 3 {
				m.Offer, rank, to = "available", 3, end
			}
		case parkForMore:
			if rank < 4 && !p.about(end+1, anInclusion) { // "rangement supplémentaire inclus"
				m.Offer, rank, to = "extra", 3, end
			}
		case parkNone:
			if rank == 0 && end == i+1 {
				return listing.Parking{Offer: "none"}, 3, i, end
			}
		default:
			if t.kind == number && m.Spots == 0 && t.dec == 0 && t.digits == 1 && t.cents > 0 && p.sym(end-1) == '(' &&
				p.sym(end+1) == ')' {
				m.Spots = int(t.cents / 100)
				rank = max(rank, 2)
			}
			if t.kind == number && p.sym(end-1) == ':' && end == i+2 && t.dec == 0 && t.digits == 1 {
				m.Spots = int(t.cents / 100)
				rank = max(rank, 2)
			}
		}
		if t.sym == '$' {
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
	if m.Offer != "included" && (rank < 3 || m.Spots == 1) {
		m.Spots = 0
	}
	return m, rank, from, max(to, i)
}
