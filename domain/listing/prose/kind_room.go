package prose

// roomRental tells whether a room of a shared home is offered.
func (p *Prose) roomRental() (bool, int) {
	if i := p.roomFirst(); i >= 0 {
		return true, i
	}
	home := false
	for i := range p.words {
		home = home || p.words[i].half
		switch p.word(i) {
		case "coloc", "colocation", "colocataire", "colocataires", "colocs", "roommate", "roommates", "roomate", "roomates",
			"roomie", "flatmate", "cohabitation", "housemate":
			switch p.word(i - 1) {
			case "ideal", "parfait", "pour", "possible", "non":
				continue
			}
			if p.word(i-1) == "for" && p.word(i-2) != "looking" && p.word(i-2) != "searching" {
				continue
			}
			if p.seq(i-2, "ideal", "pour") || p.seq(i-2, "parfait", "pour") || p.word(i+1) == "accepte" {
				continue
			}
			return true, i
		case "shared":
			switch p.word(i + 1) {
			case "accommodation", "accommodations", "house", "home", "apartment", "condo", "basement", "unit", "room", "rental",
				"living":
				if i <= 2 || p.word(i-1) == "in" || p.word(i-1) == "a" {
					return true, i
				}
			}
		case "bedroom":
			if i <= 3 && p.num(i-1) == nil && numberWords[p.word(i-1)] == 0 && p.sym(i-1) != '-' && (p.seq(i+1, "for", "rent") ||
				p.seq(i+1, "in", "shared") || p.seq(i+1, "in", "a", "shared")) {
				return true, i
			}
		case "partager", "share":
			if p.word(i-1) == "a" || p.word(i-1) == "to" {
				return true, i
			}
		case "chambre", "chambres", "room", "rooms", "chambreurs":
			w := p.word(i)
			if w == "chambreurs" {
				continue
			}
			if n, weak := p.smallAt(i - 1); n > 0 && !weak && w != "room" {
				continue // "2 chambres à louer" is a count
			}
			if p.word(i-1) == "living" || p.word(i-1) == "dining" || p.word(i-1) == "bath" || home && i > 0 && w != "room" {
				continue
			}
			if (w == "room" || w == "rooms") && p.word(i+1) == "in" && p.leads(i) {
				return true, i
			}
			for k := i + 1; k <= i+4 && k < len(p.words); k++ {
				switch p.word(k) {
				case "louer", "rent", "let", "meublee", "meublees", "dans", "disponible", "available", "furnished":
					if p.word(k) == "dans" && w != "chambre" || (p.word(k) == "available" || p.word(k) == "furnished") &&
						w == "rooms" {
						break
					}
					return true, i
				}
				if adjectives[p.word(k)] || p.word(k) == "a" || p.word(k) == "sous" || p.word(k) == "for" ||
					p.word(k) == "to" || p.word(k) == "privee" || p.sym(k) == '-' {
					continue
				}
				break
			}
		}
	}
	return false, 0
}

// roomFirst finds the room that a headline begins with ("Grande chambre près de l'UQAM", "Furnished room") when it
// names no home, or returns -1.
func (p *Prose) roomFirst() int {
	at := -1
	for i := range p.words {
		t := &p.words[i]
		if t.half || t.topic&aStudio != 0 || t.topic&aType != 0 && kinds[t.w] != "" {
			return -1
		}
		if at >= 0 {
			continue
		}
		switch t.w {
		case "chambre", "room":
			if n := p.word(i + 1); n == "froide" || n == "apartment" || p.num(i+1) != nil {
				return -1
			}
			at = i
		case "furnished", "meublee", "a", "une", "rental":
		default:
			if t.kind != symbol && !adjectives[t.w] {
				return -1
			}
		}
	}
	return at
}

// roomOffered finds the room of a shared home that the beginning of a description offers: "Private room for rent",
// "chambre à louer dans un 6 ½", "rooms with shared bathroom". It returns -1 when there is none.
func (p *Prose) roomOffered() int {
	for i := 0; i < len(p.words) && i < 25; i++ {
		w := p.word(i)
		if w == "rm" && p.word(i-1) == "my" { // "subletting my rm"
			return i
		}
		if p.seeksRoommate(i) || w == "chambres" && p.stop(i) && p.seq(i+1, "a", "louer") {
			return i
		}
		if w != "room" && w != "rooms" && w != "chambre" {
			continue
		}
		if b := p.word(i - 1); b == "living" || b == "dining" || b == "bath" || b == "family" || b == "laundry" {
			continue
		}
		if p.pricedRoom(i) || w != "chambre" && p.word(i-1) == "my" {
			return i
		}
		switch {
		case w == "chambre" && p.about(i+1, aFreedom) && p.word(i+2) == "dans", // "chambre libre dans 6 ½"
			w == "room" && p.word(i-1) == "furnished":
			return i
		case w == "chambre":
			k := i + 1
			for n := 0; n < 3 && (adjectives[p.word(k)] || p.about(k, aFurnishing)); n++ { // "chambre meublée à louer"
				k++
			}
			if p.seq(k, "a", "louer") && (p.word(k+2) == "dans" || i < 3) {
				return i
			}
		case w == "room" && !sideRooms[p.word(i-1)] && p.inCounted(i+1):
			return i
		case p.seq(i+1, "for", "rent"), p.seq(i+1, "available", "in"), p.seq(i+1, "in", "a", "shared"), p.seq(i+1, "with",
			"shared"):
			return i
		case p.word(i-1) == "private" || p.word(i-2) == "private": // "furnished private bright room with bathroom"
			if n := p.word(i + 1); n == "with" || n == "available" || n == "in" {
				return i
			}
		}
	}
	return -1
}

// seeksRoommate tells whether a text looks for somebody to live with at i: "cherche une colocataire", "looking for a
// roommate".
func (p *Prose) seeksRoommate(i int) bool {
	switch p.word(i) {
	case "cherche", "recherche", "cherchons", "recherchons":
		i++
	case "looking":
		if p.word(i+1) != "for" {
			return false
		}
		i += 2
	default:
		return false
	}
	if n, _ := p.small(min(i, len(p.words)-1)); n == 1 || p.word(i) == "a" {
		i++
	}
	switch p.word(i) {
	case "coloc", "colocs", "colocataire", "colocataires", "roommate", "roomate", "roommates":
	default:
		return false
	}
	for k := i + 1; k <= i+12 && !p.stop(k); k++ { // of which home, or at what rent: without it may be an aside
		if p.words[k].half || p.sym(k) == '$' || p.about(k, aType) {
			return true
		}
	}
	return false
}

// sideRooms are not let alone: "rec room in a 3 bedroom semi".
var sideRooms = set("rec recreation storage extra spare sun mud game games tv media utility play powder guest common")

// inCounted tells whether "in" at i leads to a home by its bedrooms: a room "in 5 bed unit", "in a 4 bedroom house".
func (p *Prose) inCounted(i int) bool {
	if p.word(i) != "in" {
		return false
	}
	k := i + 1
	for w := p.word(k); w == "a" || w == "my" || w == "our" || w == "the" || w == "shared"; w = p.word(k) {
		k++
	}
	n, _ := p.smallAt(k)
	return n > 1 && p.about(k+1, aBedroom) || n > 1 && p.sym(k+1) == '-' && p.about(k+2, aBedroom)
}

// pricedRoom tells whether the room at i has a price of its own, or is in a home that others live in: "Room @ $240/wk",
// "rooms $650 each", "185 $/sem. par chambre", "chambre meublée dans maison tranquille".
func (p *Prose) pricedRoom(i int) bool {
	if w := p.word(i - 1); w == "par" || w == "per" || p.sym(i-1) == '/' && p.sym(i-2) == '$' {
		for k := i - 2; k >= i-6 && k >= 0 && !p.ended(k, i-1); k-- {
			if p.sym(k) == '$' {
				return true
			}
		}
		return false
	}
	if !p.stop(i) && p.sym(i-1) != ',' {
		return false
	}
	k := i + 1
	for n := 0; n < 6 && (p.sym(k) == '@' || adjectives[p.word(k)] || p.about(k, aFurnishing|aBathroom) ||
		roomFillers[p.word(k)]); n++ {
		k++
	}
	if p.sym(k) == '$' && p.num(k+1) != nil {
		return k == i+1 || p.sym(k-1) == '@'
	}
	if w := p.word(i + 1); p.word(i) == "chambre" && (k == i+1 || w == "a") && p.sum(k) { // "chambre 190$/sem"
		return true
	}
	if w := p.word(k); w != "dans" && w != "in" {
		return false
	}
	for n := k + 1; n <= k+3; n++ {
		if w := p.word(n); kinds[w] != "" || w == "home" || n < len(p.words) && p.words[n].half {
			return true
		}
	}
	return false
}

// sum tells whether a number with its sign, or "à" before it, is at i: "190$", "à 550 $".
func (p *Prose) sum(i int) bool {
	if p.word(i) == "a" {
		i++
	}
	t := p.num(i)
	return t != nil && !t.half && t.digits >= 2 && p.sym(i+1) == '$'
}

// roomFillers may stand between a room and the home that it is in.
var roomFillers = set("avec with salle de privee private own")

func (p *Prose) smallAt(i int) (int, bool) {
	if i < 0 || i >= len(p.words) {
		return -1, false
	}
	if adjectives[p.word(i)] {
		return p.smallAt(i - 1)
	}
	return p.small(i)
}
