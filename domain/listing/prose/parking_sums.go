package prose

// carSum tells whether the amount a, which was taken for the rent or for a supplement, is that of a place for a car.
func (p *Prose) carSum(a *amount) bool {
	if a.cents > ceilings[forParking] || a.per.short() || a.per == perYear {
		return false
	}
	switch a.role {
	case forRent, forExtra:
		return p.rentedPlace(a) || p.sumOfPlace(a) > 0 || p.secondSum(a) || p.bracketSum(a) || p.butAvailable(a)
	case forOther: // "parking fee $75"
		k := a.from - 1
		if p.sym(k) == ':' || copulas[p.word(k)] {
			k--
		}
		return (p.word(k) == "fee" || p.word(k) == "fees") && costs[p.word(k-1)] == forParking
	}
	return false
}

// sumOfPlace returns the token of the parking that the amount a stands before, "$75 parking", "$100 a month for a
// garage spot", "50 $ de plus avec stationnement", or 0. Without "for" or "more" it begins an item and the parking ends
// it: "$300, parking" and "$300 parking included" are a rent.
func (p *Prose) sumOfPlace(a *amount) int {
	k := a.to + 1
	if per, to := p.period(k); per == perMonth {
		k = to + 1
	}
	tied := false
	for n := 0; n < 6 && !p.stop(k); n, k = n+1, k+1 {
		switch w := p.word(k); {
		case costs[w] == forParking && w != "vignette" && w != "vignettes":
			return p.placePriced(a, k, tied)
		case w == "for" || w == "pour" || w == "more" || w == "extra" || w == "plus":
			tied = true
		case w == "avec" || w == "with":
			if !tied {
				return 0
			}
		case w == "de" || w == "du" || w == "en" || w == "le" || w == "la" || w == "l" || w == "un" || w == "une" ||
			w == "the" || w == "a" || w == "an" || parkingPlaces[parkingBefore[w]] != "" || w == "surface" ||
			w == "covered" || w == "per" || w == "month" || w == "place":
		default:
			return 0
		}
	}
	return 0
}

// placePriced returns k, the token of the parking behind the amount a, if that is what it costs, or 0.
func (p *Prose) placePriced(a *amount, k int, tied bool) int {
	const most = 250_00 // a room is let for more
	end := k + 1
	for parkingSpots[p.word(end)] || parkingPlaces[parkingAfter[p.word(end)]] != "" {
		end++
	}
	before := a.from - 1
	begins := a.from == 0 || p.words[a.from].line || p.sym(before) == ',' || p.sym(before) == '+' ||
		p.sym(before) == ';' || p.sym(before) == '(' || p.stop(before)
	if !tied && (!begins || a.cents > most) || !p.listEnds(end) && p.sym(end) != '+' {
		return 0
	}
	return k
}

// secondSum tells whether the amount a is of another kind of place than the one before it: "surface parking $50,
// underground $100", "parking: $60 (surface) or $110 (indoor)".
func (p *Prose) secondSum(a *amount) bool {
	n := len(p.money) - 1
	if n < 0 || p.money[n].role != forParking || a.from-p.money[n].to > 8 {
		return false
	}
	where, joint := false, false
	for k := p.money[n].to + 1; k < a.from; k++ {
		w := p.word(k)
		switch {
		case p.words[k].line:
			return false
		case parkingPlaces[parkingBefore[w]] != "", parkingPlaces[parkingAfter[w]] != "":
			where = true
		case p.sym(k) == ',', p.orAnd(k):
			joint = true
		case p.sym(k) == '(', p.sym(k) == ')', p.sym(k) == ':', w == "surface", w == "par", w == "per", w == "mois",
			w == "month", w == "mo", parkingSpots[w], costs[w] == forParking, w == "a", w == "is", w == "at", w == "for":
		default:
			return false
		}
	}
	for k := a.to + 1; k <= a.to+2; k++ {
		where = where || parkingPlaces[parkingAfter[p.word(k)]] != ""
	}
	return where && joint
}

// bracketSum tells whether the amount a is in a bracket right behind a parking that is asked for or offered:
// "stationnement sur demande (75 $/mois)".
func (p *Prose) bracketSum(a *amount) bool {
	k := a.from - 1
	if p.sym(k) != '(' {
		return false
	}
	for k--; onRequest[p.word(k)]; {
		k--
	}
	return k < a.from-2 && costs[p.word(k)] == forParking
}

var onRequest = set("sur demande on upon request disponible disponibles available optional optionnel en option possible")

// butAvailable tells whether the amount a is what a parking costs that is not in the rent: "parking not included but
// available at $60".
func (p *Prose) butAvailable(a *amount) bool {
	k := a.from - 1
	for connectors[p.word(k)] {
		k--
	}
	w := p.word(k)
	return (w == "but" || w == "mais") && p.parkingOut(k-1)
}

// itsSum tells whether nothing but a comma stands between the one place that is counted and the sum at i: "1 parking
// spot, $40".
func (m *parkingMention) itsSum(i int) bool {
	k := m.at + 1
	for parkingSpots[m.p.word(k)] {
		k++
	}
	return m.rank == 2 && m.Spots == 1 && m.p.sym(k) == ',' && k+1 == i && !m.p.stop(k)
}

// secondCar tells whether the sum from..to is of a second place: "second spot $50", "$40 for a second one", "deuxième à
// 60 $".
func (p *Prose) secondCar(from, to int) bool {
	for k := from - 1; k >= from-6 && k >= 0 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if p.secondAt(k) {
			return true
		}
	}
	for k := to + 1; k <= to+4 && !p.stop(k) && p.sym(k) != ','; k++ {
		if p.secondAt(k) {
			return true
		}
	}
	return false
}

// secondAt tells whether "second", "deuxième", "2nd" or "2e" stands at i.
func (p *Prose) secondAt(i int) bool {
	switch p.word(i) {
	case "second", "seconde", "deuxieme":
		return true
	}
	return p.floorNumber(i) == "2" && ordinalEnds[p.word(i+1)]
}

// firstPlace tells whether the "spot" or "place" at i is the first of several for cars, and free: "first spot free,
// second spot $50".
func (p *Prose) firstPlace(i int) bool {
	if w := p.word(i - 1); w != "first" && w != "premiere" && w != "premier" || parkingAfter[p.word(i+1)] != parkIncluded {
		return false
	}
	for k := i + 2; k <= i+6; k++ {
		if p.secondAt(k) {
			return true
		}
	}
	return false
}
