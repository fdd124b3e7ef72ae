package prose

import (
	"strings"
)

// proven tells whether what follows number and name shows that they are an address: a corner, a unit, a direction, a
// borough in brackets or a city. "6834 Drolet, coin Bélanger", "8245 Chateaubriand (Villeray)", "5445 Sherbrooke O".
// A city is no street: "1250 Verdun (Desmarchais)" may have the rent before it.
func (m *addressMention) proven() bool {
	p, k := m.p, m.p.ofNamed(m.street)
	if p.words[m.at].digits < 3 || p.noDoor(m.at) || k >= len(p.words) {
		return false
	}
	if s := p.sym(m.at - 1); !p.itemStart(m.at) && s != ',' && s != '(' && s != ':' && !atWords[p.word(m.at-1)] {
		return false
	}
	end := p.streetEnd(k, false)
	if end > k && compass[p.word(end)] {
		return true
	}
	if cities[cityKey(p.original(k, end))] != "" || end == k && quarters[p.word(k)] {
		return false
	}
	next := end + 1
	if p.sym(next) == ',' {
		next++
	}
	switch w := p.word(next); {
	case w == "coin", w == "angle", w == "corner":
		return true
	case p.sym(next) == '(':
		return p.properName(next+1) || p.word(next+1) == "coin" || p.quarterAt(next+1)
	}
	return p.unitBehind(end) > end || p.cityBehind(end) != ""
}

// quarterAt tells whether a city or a quarter is named at i: "villeray", "NDG".
func (p *Prose) quarterAt(i int) bool { return quarters[p.word(i)] || cities[p.word(i)] != "" }

// quarters are parts of cities that adverts name without their city.
var quarters = set("ahuntsic bordeaux cartierville cdn chomedey duberger griffintown hochelaga homa hull maisonneuve " +
	"mercier mile montcalm ndg neufchatel notre plateau pointe rosemont rosemount saint st sillery snowdon vieux villeray")

// atWords before a number lead to an address.
var atWords = set("au at address adresse sis sise")

// streetAlone finds the street that a text without a civic number puts its home on: "situé sur la rue Marquette", "on
// Maple Crescent". It is "" when there is none.
func (p *Prose) streetAlone(headline bool) (street string, from, to int) {
	for i := range p.words {
		var end int
		k := i + 1
		switch w := p.word(i); {
		case w == "sur" && p.homeOn(i, headline):
			if w := p.word(k); w == "la" || w == "le" || w == "l" {
				k++
			}
			if end = p.typedStreet(k); end == 0 && p.properName(k) { // "sur King Ouest", "sur Cartier coin Fraser"
				end = p.streetEnd(k, false)
				if next := p.word(end + 1); next != "coin" && next != "angle" && (end == k || !compass[p.word(end)]) {
					end = 0
				}
			}
		case w == "on" && p.homeOn(i, headline):
			if end = p.namedStreet(k); end > 0 {
				end = p.compassBehind(end)
			}
		case (w == "situe" || w == "situee" || w == "sis" || w == "sise") && p.typedStreet(k) > 0 && p.homeOn(i, headline):
			end = p.typedStreet(k) // "grand 4 ½ situé rue Ontario"
		case headline && p.streetHead(i):
			k = i
			end = p.typedStreet(k)
		}
		if w := p.word(end + 1); end == 0 || (w == "et" || w == "and") && p.typedStreet(p.ofNamed(end+2)) > 0 {
			continue // "sur la rue Marié et l'avenue des Pins"
		}
		street = strings.Trim(p.original(k, end), " ,.-()")
		if p.num(k) != nil && p.words[k+1].space { // "1 ère avenue"
			street = p.original(k, k) + street[strings.IndexByte(street, ' ')+1:]
		}
		if !nameless(street) {
			return street, k, end
		}
	}
	return "", -1, -1
}

// typedStreet returns the last token of the street that begins at k with its type or its number, "rue Adam", "3e Avenue
// Est", or 0.
func (p *Prose) typedStreet(k int) int {
	switch {
	case p.numberedStreet(k):
		end := p.compassBehind(k + 2)
		if p.eastWest(end + 1) {
			end++
		}
		return end
	case p.streetBegins(k) && !noNames[p.word(k+1)] && !adjectives[p.word(k+1)] && (p.capital(k+1) ||
		ofNames[p.word(k+1)] && p.capital(p.ofNamed(k+1))):
		if end := p.streetEnd(k, true); end > k {
			return end
		}
	}
	return 0
}

// noNames follow a street that has no name, in capitals as well: "SUR RUE PASSANTE".
var noNames = set("tranquille tranquilles passante passant calme paisible residentielle residentiel commerciale privee " +
	"prive prives avec sans a et ou en pas pour public publique")

// streetHead tells whether a street may begin a headline or an item of it at i, "RUE PERRAULT, près de", "4 ½ Limoilou
// 3e avenue", and is not only near.
func (p *Prose) streetHead(i int) bool {
	w := p.word(i - 1)
	return (p.streetBegins(i) || p.numberedStreet(i)) && !nearWords[w] && !ofNames[w] && w != "et" && w != "and" &&
		w != "a" && w != "au"
}

// homeOn tells whether "sur" or "on" at i puts the home of an advert on a street: "beau 4 ½ situé sur", "the house is
// on". "Balcon donnant sur" and "cafés sur" do not, nor does "Sur la rue Masson, des commerces".
func (p *Prose) homeOn(i int, headline bool) bool {
	home := headline || p.itemStart(i) && !p.shopsAlong(i)
	for k := i - 1; k >= 0 && k >= i-14 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case otherThings[w], shops[w], nearWords[w] && w != "in" && w != "of" && w != "the" && w != "en",
			p.about(k, anAmenity|aParking):
			return false
		case homeLeads[w], p.words[k].half, kinds[w] != "", p.about(k, aType), p.about(k, aBedroom) && p.num(k-1) != nil,
			w == "located", w == "situated", w == "loue", w == "sommes", w == "immeuble", w == "building":
			home = true
		}
	}
	return home
}

// shopsAlong tells whether shops are what the sentence behind "sur" or "on" at i has on the street, and not what the
// home is near.
func (p *Prose) shopsAlong(i int) bool {
	for k := i + 1; k <= i+14 && !p.stop(k); k++ {
		switch w := p.word(k); {
		case shops[w]:
			return true
		case w == "pres", w == "proche", w == "proximite", w == "near", w == "close", w == "pas", w == "min", w == "minutes",
			w == "steps", w == "coin", w == "corner", p.words[k].half, p.about(k, aType|aBedroom):
			return false
		}
	}
	return false
}

// otherThings before "sur" or "on" and a street say that something else than the home is there, as do shops.
var otherThings = set("donnant donne donnent vue vues view views acces access fenetre fenetres windows entree entrees " +
	"entrance balcon balcons terrasse cour arret arrets stop stops transport transports commun visites bureau office marche " +
	"walk vignette services shopping")
