package prose

import (
	"strings"
	"unicode/utf8"
)

// facilities are what homes have in common with the neighbourhood, by one word of their names.
var facilities = set("gym gyms piscine piscines pool pools sauna entrainement sport fitness ymca")

// A placeUse is what a phrase that says where something is may be used for.
type placeUse uint8

const (
	standing placeUse = 1 << iota // of two things of a building, the first stands by the second: "next to the gym"
	around                        // what follows may be of the neighbourhood: "steps from the metro"
	beyond                        // and is surely not in the home: "across the street"
)

// A placePhrase is a phrase without its last word, and its uses.
type placePhrase struct {
	before []string
	use    placeUse
}

// placePhrases are the phrases for where something is, by their last word.
var placePhrases = func() map[string][]placePhrase {
	m := map[string][]placePhrase{}
	for use, list := range map[placeUse]string{
		standing:                   "adjacent to|close to|across from|across|opposite",
		standing | around:          "next to|beside|a cote|near|pres|proche|voisin|voisine",
		standing | around | beyond: "en face",
		around: "steps to|steps from|step from|walking distance|de marche|min walk|minute walk|minutes walk|deux pas|" +
			"quelques pas|proches|a proximite|close|min|mins|minutes|around the corner",
		around | beyond: "across the street|down the street|across the road|down the road|autre bord|autre cote",
	} {
		for phrase := range strings.SplitSeq(list, "|") {
			words := strings.Fields(phrase)
			last := len(words) - 1
			m[words[last]] = append(m[words[last]], placePhrase{words[:last], use})
		}
	}
	return m
}()

// placeEnds returns the first token of the phrase for this use that ends at i, or -1.
func (p *Prose) placeEnds(i int, use placeUse) int {
	for _, phrase := range placePhrases[p.word(i)] {
		from := i - len(phrase.before)
		if phrase.use&use != 0 && p.seq(from, phrase.before...) &&
			(p.word(i) != "across" || p.word(i+1) != "from") {
			return from
		}
	}
	return -1
}

// aroundHeads stand in a heading of what is around a home, "In the neighbourhood:", as do placePhrases. "Côté
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
		w := p.word(k)
		if (w == "with" || w == "avec") && (facilities[p.word(k+1)] || facilities[p.word(k+2)]) { // "a gym with a pool"
			continue
		}
		if ownPlaces[w] {
			return true
		}
	}
	return false
}

// aroundBefore tells whether words that say where the neighbourhood is lead to the thing at i: right before it, or
// before a list that begins with another such thing, or goes on to a shop. Behind a colon they need only head the list.
// Far asks for the other side of the street, or further down.
func (p *Prose) aroundBefore(i int, far bool) bool {
	listed, use := false, around
	if far {
		use = beyond
	}
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
		case p.placeEnds(k, use) >= 0:
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

// headsAround tells whether a heading of what is around ends at i, before its colon.
func (p *Prose) headsAround(i int) (heads bool) {
	for k := i; k >= 0 && k >= i-7; k-- {
		if ownPlaces[p.word(k)] {
			return false
		}
		heads = heads || aroundHeads[p.word(k)] || p.placeEnds(k, around) >= 0 ||
			p.word(k) == "pas" && p.num(k-1) != nil // "à 2 pas :"
		if p.stop(k) || p.sym(k) == ',' {
			break
		}
	}
	return heads
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
	for k := i + 1; k < i+9 && !p.stop(k) && p.placeEnds(k, around) < 0; k++ {
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
		case w == p.word(i): // "piscine intérieure et piscine publique au centre sportif"
			return false
		case w == "nearby" && ends, w == "proximite" && ends, w == "away",
			w == "distance" && p.word(k-1) == "walking" && ends,
			minuteWords[w] && p.num(k-1) != nil && p.sym(k-2) != ',' && ends:
			return !listed || shop
		case w == "cote" && p.word(k-1) == "a" && ends, w == "door" && p.word(k-1) == "next" && ends,
			w == "coin" && p.word(k-1) == "au", w == "corner" && p.seq(k-2, "around", "the"),
			p.seq(k, "coins", "de", "rue"),
			(w == "blocks" || w == "block" || w == "rues") && (p.num(k-1) != nil || numberWords[p.word(k-1)] > 0):
			return !listed
		case publicPlaces[w] && (p.word(k-1) == "au" || p.word(k-1) == "the" || p.word(k-1) == "l" || w == "centre" &&
			p.word(k-1) == "community"): // of all that the list has: "piscine et gym au centre communautaire"
			return w != "centre" || p.word(k-1) == "community" || centres[p.word(k+1)]
		case w == "dans", w == "in", w == "sur", w == "on", p.sym(k) == '$':
			return false
		}
	}
	return false
}

// publicPlaces have gyms and pools for all.
var (
	publicPlaces = set("centre ymca arena")
	centres      = set("communautaire sportif recreatif aquatique loisirs community sports recreation")
)

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
