package prose

import "github.com/mtlrent/conveyor/domain/listing"

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
	if p.word(k) == "de" && (spot(p.word(k - 1))) {
		k -= 2
		from = k + 1
	}
	if p.sym(k) == '(' {
		k--
	}
	if p.word(i) == "garage" || p.word(i) == "garages" || p.word(i) == "carport" {
		m.Type = "indoor"
		if p.word(i) == "carport" {
			m.Type = "outdoor"
		}
	}
	nth := false
	for n := 0; n < 5 && k >= 0 && !p.words[k+1].line; n, k = n+1, k-1 {
		switch w := p.word(k); w {
		case "indoor", "underground", "interieur", "inside", "heated":
			m.Type = "indoor"
			continue
		case "outdoor", "exterieur", "exterior", "outside":
			m.Type = "outdoor"
			continue
		case "street", "vignette", "vignettes":
			return listing.Parking{Offer: "street"}, 3, k, i
		case "pas", "sans", "aucun", "aucune", "no", "without":
			return listing.Parking{Offer: "none"}, 3, k, i
		case "avec", "with", "incluant", "includes", "including", "inclut", "free", "comprend", "inclus", "included":
			if (w == "inclus" || w == "included") && p.sym(k+1) != ':' && !p.words[k].line &&
				!(p.sym(k-1) == '-' && p.words[k-1].line) {
				break // "chauffage inclus, stationnement 50 $"
			}
			m.Offer, rank, from = "included", 3, k
		case "possibilite", "possiblite", "possibility", "possible", "option":
			m.Offer, rank, from = "available", 3, k
		case "ieme", "e", "eme", "nd", "second", "deuxieme", "th":
			nth = true
			if p.num(k-1) != nil {
				k--
			}
			continue
		case "de", "d", "une", "un", "le", "l", "a", "place", "places", "espace", "espaces", "space", "spaces", "private",
			"prive", "car", "louer", "rent", "avoir":
			if (w == "un" || w == "une") && m.Spots == 0 && !nth && k == i-1 {
				m.Spots = 1
				rank = max(rank, 2)
			}
			continue
		case "two", "deux":
			m.Spots = 2
			rank = max(rank, 2)
			from = k
		case "":
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
		switch w := t.w; w {
		case "interieur", "interieurs", "interieure", "int", "indoor", "souterrain", "souterrains", "underground", "inside":
			if m.Type == "" {
				m.Type = "indoor"
			}
		case "exterieur", "exterieurs", "exterieure", "outdoor", "outside", "ext":
			if m.Type == "" {
				m.Type = "outdoor"
			}
		case "rue", "rues", "street":
			if l := p.word(end - 1); l == "la" || l == "les" || l == "sur" || l == "dans" || l == "the" || l == "on" ||
				w == "street" {
				return listing.Parking{Offer: "street"}, 3, i, end
			}
		case "voitures", "voiture", "autos", "auto", "vehicules", "cars":
			if t := p.num(end - 1); t != nil && t.dec == 0 && t.digits == 1 && t.cents > 0 && m.Spots == 0 {
				m.Spots = int(t.cents / 100)
				rank = max(rank, 2)
			}
		case "vignette", "vignettes":
			return listing.Parking{Offer: "street"}, 3, i, end
		case "inclus", "incluse", "included", "inclue", "inclut", "inclu", "compris", "comprise",
			"fourni", "gratuit", "gratuits", "gratuite", "free", "incl", "deneige", "deneiges",
			"deneigee", "deneigees", "fournis":
			if rank == 3 && m.Offer != "included" {
				break
			}
			if p.denied(end) || p.word(end-2) == "pas" {
				m.Offer, rank, to = "available", 3, end
				break
			}
			m.Offer, rank, to = "included", 4, end
		case "disponible", "disponibles", "available", "possible", "possibles", "optionnel", "optional", "option", "optionel",
			"dispo":
			if rank < 3 {
				m.Offer, rank, to = "available", 3, end
			}
		case "sus", "extra", "supplement", "additionnel", "additional", "payant", "supplementaire", "supplementaires",
			"surplus":
			if rank < 4 && !p.about(end+1, anInclusion) { // "rangement supplémentaire inclus"
				m.Offer, rank, to = "extra", 3, end
			}
		case "non":
			if rank == 0 && end == i+1 {
				return listing.Parking{Offer: "none"}, 3, i, end
			}
		case "":
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
	if nth { // what a second place costs tells nothing of the first
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

func spot(w string) bool {
	switch w {
	case "place", "places", "espace", "espaces", "case", "cases", "air", "aire":
		return true
	}
	return false
}
