package prose

// namesParking tells whether the word at i names a place for a car. "Stat" is one with its point, its number or its
// verdict: "1 stat. ext.", "2 stats", "stat inclus".
func (p *Prose) namesParking(i int) bool {
	if !p.about(i, aParking) || p.word(i) == "abri" {
		return false
	}
	if w := p.word(i); w == "stat" && (p.sym(i+1) == '.' || p.sym(i+1) == ':' || p.about(i+1, anInclusion)) ||
		w != "stat" && w != "stats" {
		return true
	}
	if i == 0 {
		return false
	}
	n, _ := p.small(i - 1)
	return n > 0
}

// inAndOut tells whether both places are named for the parking: "indoor and outdoor parking", "stationnement extérieur
// ($) et intérieur ($)". In "indoor parking and outdoor pool" the second is of another thing.
func (m *parkingMention) inAndOut() bool {
	p := m.p
	if where := parkingPlaces[parkingBefore[p.word(m.at-1)]]; where != "" && p.orAnd(m.at-2) {
		other := parkingPlaces[parkingBefore[p.word(m.at-3)]]
		return other != "" && other != where
	}
	for k := m.at + 1; m.Type != "" && k < m.at+15 && !p.stop(k) && !p.about(k, aParking); k++ {
		where := parkingPlaces[parkingAfter[p.word(k)]]
		if where != "" && where != m.Type && p.orAnd(k-1) &&
			(p.stop(k+1) || p.words[k+1].kind == symbol || parkingAfter[p.word(k+1)] != 0 || placeTraits[p.word(k+1)]) {
			return true
		}
	}
	return false
}

// placeTraits describe places for cars, and no pool or terrace.
var placeTraits = set("dedie dedies reserve reserves assigne assignes dedicated reserved assigned")

// secondIn tells whether a bracket about a second place opens at i: "un stationnement (2e possible à 40 $)".
func (p *Prose) secondIn(i int) bool {
	return p.sym(i) == '(' && (p.num(i+1) != nil && ordinalEnds[p.word(i+2)] && !p.words[i+2].space ||
		parkingBefore[p.word(i+1)] == parkSecond)
}

// offStreet tells whether the "street" at i is that of "off street" or "off-street".
func (p *Prose) offStreet(i int) bool {
	return p.word(i-1) == "off" || p.sym(i-1) == '-' && p.word(i-2) == "off"
}

// orAnd tells whether the token at i joins two words of one kind.
func (p *Prose) orAnd(i int) bool {
	switch p.word(i) {
	case "et", "and", "ou", "or":
		return true
	}
	return p.sym(i) == '/' || p.sym(i) == '&'
}

// bothOf notes that the next place, offered as clearly, is elsewhere: "outdoor parking available. Indoor parking
// available".
func (m *parkingMention) bothOf(next parkingMention) {
	if next.rank >= 3 && m.rank >= 3 && next.Type != "" && m.Type != "" && next.Type != m.Type {
		m.Type, m.both = "", true
	}
}

// carPlaces reads a place for cars that is not called a parking at i, "place pour 2 chars", "drive for 2 cars" or
// "underground stall"; its rank is 0 for none.
func (p *Prose) carPlaces(i int) parkingMention {
	m := parkingMention{p: p, at: i, from: i, to: i}
	switch w := p.word(i); w {
	case "stall", "stalls":
		if !p.parkingOfOthers(i) && (parkingPlaces[parkingBefore[p.word(i-1)]] != "" || p.word(i+1) == "underground" ||
			p.countedStall(i)) {
			return p.parkingAt(i)
		}
	case "spot", "spots", "place", "places", "emplacement", "emplacements": // "one exterior spot", "une place extérieure"
		if p.placeOfCar(i) || p.firstPlace(i) {
			return p.parkingAt(i)
		}
		if w == "place" || w == "places" {
			return p.placeForCars(i)
		}
	case "vignette", "vignettes", "street": // "vignette pour se stationner", "street permit available"
		if (w != "street" || p.word(i+1) == "permit") && !p.deniedThing(i) {
			m.Offer, m.rank = "street", 1
		}
	case "drive", "entree", "allee", "room":
		return p.placeForCars(i)
	case "stationner", "parquer", "park", "parks":
		return p.parksCars(i)
	}
	return m
}

// parksCars reads how many cars one may park, of which the verb is at i: "on peut y stationner 2 autos", "parks 2
// cars".
func (p *Prose) parksCars(i int) parkingMention {
	m := parkingMention{p: p, at: i, from: i, to: i}
	n, _ := p.smallAt(i + 1)
	if n <= 0 || parkingAfter[p.word(i+2)] != parkCars || !p.listEnds(i+3) || p.sym(i+3) == '?' {
		return m
	}
	for k := i - 1; k >= i-6 && !p.stop(k+1); k-- {
		if denials[p.word(k)] || noneOf[p.word(k)] || p.word(k) == "cannot" || shops[p.word(k)] {
			return m
		}
	}
	m.Offer, m.Spots, m.rank, m.to = "included", n, 2, i+2
	return m
}

// placeForCars reads "place pour 2 chars" and "drive for 2 cars" at i.
func (p *Prose) placeForCars(i int) parkingMention {
	m := parkingMention{p: p, at: i, from: i, to: i}
	if l := p.word(i + 1); l != "for" && l != "pour" || parkingAfter[p.word(i+3)] != parkCars ||
		!p.listEnds(i+4) && p.word(i+4) != "in" && p.word(i+4) != "on" && p.word(i+4) != "dans" {
		return m
	}
	n, _ := p.small(i + 2)
	if n == 0 || p.deniedThing(i) { // "pas de place pour 2 voitures"
		return m
	}
	m.Offer, m.Spots, m.rank, m.to = "included", n, 2, i+3
	if w := p.word(i); w == "drive" || w == "entree" {
		m.Type = "outdoor"
	}
	return m
}

// placeOfCar tells whether the "spot" or "place" at i, which a number counts, is for a car by where it is, and is all
// that its item has: "one exterior spot", "une place extérieure". "One outdoor spot to relax" is none, nor is a
// "space", which may be a balcony.
func (p *Prose) placeOfCar(i int) bool {
	k, end := i-1, i+1
	if parkingPlaces[parkingBefore[p.word(k)]] != "" {
		k--
	} else if parkingPlaces[parkingAfter[p.word(end)]] != "" {
		end++
	} else if p.seq(end, "dans", "l", "entree") {
		end += 3
	} else {
		return false
	}
	n, _ := p.smallAt(k)
	return n > 0 && (p.listEnds(end) || p.about(end, anInclusion) || p.phraseAt(end, carOrders) > 0)
}

// otherSum tells whether a sum joined to another by "or" ends before i: "1 450 $ ou 1 510 $".
func (p *Prose) otherSum(i int) bool {
	k := i - 1
	for k >= i-4 && (p.num(k) != nil || p.sym(k) == '$') {
		k--
	}
	return k < i-1 && (p.word(k) == "or" || p.word(k) == "ou")
}

// carOrders say how cars stand.
var carOrders = phrases("side by side|tandem|in tandem|one behind|back to back|cote a cote|en tandem|l une derriere|" +
	"une derriere|behind|at the back|in the back|out back|a l arriere|derriere|en arriere|for cars")

// countedStall tells whether a number counts the stall at i: "1 assigned stall", "2 energized stalls". One of a shower
// is none.
func (p *Prose) countedStall(i int) bool {
	if w := p.word(i + 1); w == "shower" || w == "showers" || w == "cleaning" {
		return false
	}
	k := i - 1
	if parkingBefore[p.word(k)] == parkFiller {
		k--
	}
	if k < 0 {
		return false
	}
	n, _ := p.small(k)
	return n > 0
}

// modals lead to what a tenant may rent beside the home: "un garage que vous pouvez louer", "you can rent a spot".
var modals = set("pouvez peut pouvoir can could may")

// rentedPlace tells whether the amount a is that of a place for a car that the sentence says may be rented: "no
// parking spot but you can rent one for around $180".
func (p *Prose) rentedPlace(a *amount) bool {
	rented := false
	for k := a.from - 1; k >= 0 && k >= a.from-20 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case (w == "rent" || w == "louer") && modals[p.word(k-1)], (w == "rented" || w == "arranged") && p.word(k-1) == "be":
			rented = true
		case rented && costs[w] == forParking:
			return true
		}
	}
	return false
}

// endsItem tells whether the "inclus" at k is of what stands before it: "chauffage inclus, stationnement 50 $".
func (m *parkingMention) endsItem(k int) bool {
	p, w := m.p, m.p.word(k)
	return (w == "inclus" || w == "included") && p.sym(k+1) != ':' && !p.words[k].line &&
		!(p.sym(k-1) == '-' && p.words[k-1].line)
}

// articleBefore tells whether the word at k counts one place: "un garage", "a parking spot", not a French "à".
func (m *parkingMention) articleBefore(k int) bool {
	switch w := m.p.word(k); w {
	case "un", "une":
		return m.p.sym(m.at+1) != '?' // "besoin d'un stationnement ?"
	case "a", "an":
		return parkingSpots[m.p.word(m.at+1)] || parkingTypes[m.p.word(m.at)] != "" && (w == "an" || m.p.bare(k))
	}
	return false
}

// unbroken tells whether neither a thought nor an item of a list ends between the tokens i and j.
func (p *Prose) unbroken(i, j int) bool {
	for k := i + 1; k <= j; k++ {
		if p.stop(k) || p.sym(k) == ',' || p.sym(k) == '-' || p.sym(k) == '/' {
			return false
		}
	}
	return true
}

// possible tells whether "possibilité de" or "possibilité de louer" leads to the count at i.
func (p *Prose) possible(i int) bool {
	k := i - 1
	for parkingBefore[p.word(k)] == parkFiller || p.word(k) == "ou" || p.word(k) == "or" || p.num(k) != nil {
		k--
	}
	return parkingBefore[p.word(k)] == parkOnOffer
}

// owns stand before the car that a tenant has: "stationnement si vous avez un auto".
var owns = set("avez avoir as ont have has own possedez")

// lowestSum tells whether the sign at i is of the lowest price of a place for a car: "à partir de 15 $", "from $15".
// A comma parts it from the parking only right before it: "parking, storage from $30" is of the storage.
func (p *Prose) lowestSum(i int, comma bool) bool {
	t, at := p.num(i+1), i-1
	switch {
	case p.num(i-1) != nil && p.seq(i-4, "a", "partir", "de"):
		t, at = p.num(i-1), i-4
	case p.seq(i-2, "starting", "at"):
		at = i - 2
	case p.word(at) != "from":
		return false
	}
	return t != nil && t.cents <= ceilings[forParking] && (!comma || p.sym(at-1) == ',')
}

// enclosed tells whether the "fermé" at k says that the parking at i has walls: "stationnement fermé", "couvert et
// fermé". A roof alone may be a carport's.
func (p *Prose) enclosed(i, k int) bool {
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
