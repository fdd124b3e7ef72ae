package prose

import "unicode/utf8"

// facilities are what homes have in common with the neighbourhood, by one word of their names.
var facilities = set("gym gyms piscine piscines pool pools sauna entrainement sport fitness ymca")

// aroundPhrases end in these words, behind the words given: what follows "across the street" is not in the home.
var aroundPhrases = map[string][]string{
	"face": {"en"}, "street": {"the"}, "road": {"the"}, "corner": {"the"}, "bord": {"autre"}, "cote": {"autre", "a"},
	"voisin": {""}, "voisine": {""}, "to": {"next", "steps"}, "beside": {""}, "from": {"steps", "step"},
	"distance": {"walking"}, "marche": {"de"}, "walk": {"min", "minute", "minutes"},
	"pas": {"deux", "quelques"}, "pres": {""}, "proche": {""}, "proches": {""}, "proximite": {"a"}, "near": {""},
	"close": {""}, "min": {""}, "mins": {""}, "minutes": {""},
}

// aroundHeads stand in a heading of what is around a home, "In the neighbourhood:", as do aroundPhrases. "Côté
// loisirs :" and "Au bord du fleuve :" are of the home.
var aroundHeads = set("across distance quartier neighbourhood neighborhood near nearby pres proche proximite alentours")

// ownPlaces say that a thing is in the home or its building.
var ownPlaces = set("immeuble building batiment complexe complex tour tower condo condos site place onsite inclus " +
	"incluse included inclut includes has have offers offre avec with logement appartement apartment unit unite suite residents")

// aroundHome tells whether the gym, pool or sauna at i is one of the neighbourhood: "en face : gym et piscine", "steps
// from IGA, a gym and the metro", "salle de sport à côté". "Près du métro, gym et piscine dans l'immeuble" are the
// home's.
func (p *Prose) aroundHome(i int) bool {
	return !p.ownBehind(i) && (p.aroundBefore(i, false) || p.aroundBehind(i))
}

// ownBehind tells whether the words behind the thing at i say that it is in the building.
func (p *Prose) ownBehind(i int) bool {
	for k := i + 1; k <= i+8 && !p.stop(k); k++ {
		if ownPlaces[p.word(k)] {
			return true
		}
	}
	return false
}

// aroundBefore tells whether words that say where the neighbourhood is lead to the thing at i: right before it, or
// before a list that begins with another such thing, or goes on to a shop. Behind a colon they need only head the list.
// Far asks for the other side of the street, or further down.
func (p *Prose) aroundBefore(i int, far bool) bool {
	listed := false
	for k := i - 1; k >= 0 && k >= i-24 && !p.stop(k+1); k-- {
		w := p.word(k)
		switch {
		case p.sym(k) == ':':
			return p.headsAround(k - 1)
		case p.sym(k) == ')': // "(en face du métro) gym"
			return false
		case p.listMark(k):
			listed = true
		case ownPlaces[w], p.sym(k) == '$':
			return false
		case p.aroundEnds(k, far):
			if !listed {
				return k >= i-9
			}
			if k++; p.seq(k, "de", "la", "rue") {
				k += 3
			}
			return p.facilityFirst(k) || p.shopFollows(i)
		}
	}
	return false
}

// listMark tells whether the sign at i parts the items of a list: "en face du métro - gym / piscine".
func (p *Prose) listMark(i int) bool {
	switch p.sym(i) {
	case ',', '/', '|':
		return true
	case '-':
		return p.words[i].space && i+1 < len(p.words) && p.words[i+1].space
	}
	return false
}

// aroundEnds tells whether a phrase for what is around ends at i: "across the street", "à côté".
func (p *Prose) aroundEnds(i int, far bool) bool {
	for _, before := range aroundPhrases[p.word(i)] {
		if before != "" && p.word(i-1) != before {
			continue
		}
		switch w := p.word(i); w {
		case "street", "road": // not "on the street"
			return p.word(i-2) == "across" || p.word(i-2) == "down"
		case "face", "bord":
			return true
		case "cote":
			return !far || before == "autre"
		case "corner":
			return !far && p.word(i-2) == "around"
		}
		return !far
	}
	return false
}

// headsAround tells whether a heading of what is around ends at i, before its colon.
func (p *Prose) headsAround(i int) (around bool) {
	for k := i; k >= 0 && k >= i-7; k-- {
		if ownPlaces[p.word(k)] {
			return false
		}
		around = around || aroundHeads[p.word(k)] || p.aroundEnds(k, false) ||
			p.word(k) == "pas" && p.num(k-1) != nil // "à 2 pas :"
		if p.stop(k) || p.sym(k) == ',' {
			break
		}
	}
	return around
}

// facilityFirst tells whether the list at i begins with a gym, a pool or the like.
func (p *Prose) facilityFirst(i int) bool {
	if p.sym(i) == ',' { // "en face, il y a un gym"
		i++
	}
	for k := i; k < i+8 && !p.stop(k) && !p.listMark(k); k++ {
		if facilities[p.word(k)] {
			return true
		}
	}
	return false
}

// shopFollows tells whether the list goes on from the thing at i to a shop or the like, and not by another phrase for
// what is around: "en face du parc, gym et piscine, près des écoles".
func (p *Prose) shopFollows(i int) bool {
	for k := i + 1; k < i+9 && !p.stop(k) && !p.aroundEnds(k, false); k++ {
		if shops[p.word(k)] {
			return true
		}
	}
	return false
}

// shopBefore tells whether the list on which the thing at i stands has a shop before it, and nothing of the building.
func (p *Prose) shopBefore(i int) bool {
	for k := i - 1; k >= 0 && k >= i-10 && !p.stop(k+1); k-- {
		if ownPlaces[p.word(k)] {
			return false
		}
		if shops[p.word(k)] {
			return true
		}
	}
	return false
}

// aroundBehind tells whether the words behind the thing at i, or behind its list that began with a shop, say that it is
// around: "gym à côté", "épicerie, gym, piscine à proximité". In "gym, restaurant à proximité" only the last is.
func (p *Prose) aroundBehind(i int) bool {
	shop, listed := p.shopBefore(i), false
	for k := i + 1; k <= i+14 && !p.stop(k); k++ {
		w := p.word(k)
		ends := p.listEnds(k + 1)
		switch {
		case p.sym(k) == ',':
			listed = true
		case w == "nearby" && ends, w == "proximite" && ends, w == "away",
			w == "distance" && p.word(k-1) == "walking" && ends,
			minuteWords[w] && p.num(k-1) != nil && p.sym(k-2) != ',' && ends:
			return !listed || shop
		case w == "cote" && p.word(k-1) == "a" && ends, w == "door" && p.word(k-1) == "next" && ends,
			w == "coin" && p.word(k-1) == "au", w == "corner" && p.seq(k-2, "around", "the"),
			p.seq(k, "coins", "de", "rue"), w == "blocks" && p.num(k-1) != nil:
			return !listed
		case w == "dans", w == "in", w == "sur", w == "on", p.sym(k) == '$':
			return false
		}
	}
	return false
}

// bullets begin an item of its own where no line ends before it.
var bullets = set("• ● ▪ ■ · ★ ⭐ ✔ ✓ ✅ ☑ ➡ ► ▶ ✨")

// bullet tells whether the token at i is a sign that begins an item of its own, and no semicolon.
func (p *Prose) bullet(i int) bool {
	if p.sym(i) != ';' {
		return false
	}
	_, size := utf8.DecodeRuneInString(p.text[p.at[p.words[i].start]:])
	return bullets[p.text[p.at[p.words[i].start]:][:size]]
}
