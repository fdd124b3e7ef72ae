package prose

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
		if !p.parkingOfOthers(i) && (parkingPlaces[parkingBefore[p.word(i-1)]] != "" || p.word(i+1) == "underground") {
			return p.parkingAt(i)
		}
	case "drive", "place", "places", "entree", "allee":
		if l := p.word(i + 1); l != "for" && l != "pour" || parkingAfter[p.word(i+3)] != parkCars || !p.listEnds(i+4) {
			break
		}
		n, _ := p.small(i + 2)
		if n == 0 || p.deniedThing(i) { // "pas de place pour 2 voitures"
			break
		}
		m.Offer, m.Spots, m.rank, m.to = "included", n, 2, i+3
		if w == "drive" || w == "entree" {
			m.Type = "outdoor"
		}
	}
	return m
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
