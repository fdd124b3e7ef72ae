package prose

import (
	"cmp"
	"strings"
)

// placed tells whether a part of a building named at i is where the home is, and not its laundry or locker. A headline
// speaks of the home unless it says otherwise.
func (p *Prose) placed(i int, headline bool) bool {
	if i == 0 {
		return true
	}
	if w := p.word(i - 2); p.sym(i-1) == ':' && (w == "level" || w == "floor" || w == "niveau" || w == "etage" ||
		w == "maintenant") {
		return true
	}
	if w := p.word(i + 1); w == "suite" || w == "unit" || kinds[w] == "apartment" {
		return true
	}
	for k := i - 1; k >= 0 && k >= i-10; k-- {
		if p.words[k+1].line {
			return true
		}
		t := &p.words[k]
		if t.half {
			return true
		}
		if heatedWords[t.w] || litWords[t.w] || t.sym == '(' || t.sym == ',' {
			continue
		}
		if (t.w == "situe" || t.w == "situee") && (p.seq(k-2, "dont", "une") || p.seq(k-2, "dont", "un")) {
			return false // "4 chambres dont une située au sous-sol"
		}
		if t.topic&aBedroom != 0 && (plurals[t.w] || p.num(k-1) != nil) || t.w == "coucher" || t.kind == number ||
			numberWords[t.w] > 1 {
			continue // "logement à 2 chambres à coucher au sous-sol"
		}
		switch t.w {
		case "situe", "situee", "situes", "situer", "logement", "appartement", "appart", "studio", "loft", "localise",
			"apartment",
			"unit", "located", "bachelor", "condo", "app", "dispo", "disponible", "libre", "unite":
			for n := k - 1; n >= k-4 && !p.stop(n+1); n-- { // "laundry rooms are located in the basement"
				if commonParts[p.word(n)] {
					return false
				}
			}
			return true
		case "au", "a", "en", "de", "le", "est", "du", "se", "trouve", "niveau", "grand", "beau", "is", "on",
			"the", "in", "et", "ou", "renove",
			"louer", "un", "dans", "demi", "semi", "entierement", "completement", "fraichement", "recemment", "nouvellement",
			"tout":
			continue
		case "rangement", "locker", "casier", "buanderie", "stationnement", "garage", "laveuse", "secheuse", "remise",
			"lavage", "storage", "laundry", "rangements":
			return false
		}
		if !headline && !adjectives[t.w] && t.topic&aFurnishing == 0 {
			return p.ofHouse(i)
		}
	}
	switch p.word(0) { // nothing but such words leads there from the beginning: "au sous-sol d'un bungalow"
	case "au", "en", "in", "on", "dans", "situe", "situee":
		return headline || i <= 5
	}
	counted := p.num(0) != nil && p.about(1, aBedroom) && (i == 2 || p.sym(2) == '(') && // "1 bedroom basement (walkout)"
		!commonParts[p.word(i+1)]
	return headline || counted
}

// ofHouse tells whether a basement at i is that of a house in which the home is: "3 chambres au sous-sol d'un triplex".
func (p *Prose) ofHouse(i int) bool {
	k := i + 1
	for p.sym(k) == '-' || p.word(k) == "sol" {
		k++
	}
	if p.word(k) != "d" && p.word(k) != "of" || p.about(i-2, anAmenity|aParking|aUtility) {
		return false
	}
	for n := k + 1; n <= k+4; n++ {
		if p.about(n, aType) {
			return true
		}
	}
	return false
}

var (
	// partVerbs go on from "au sous-sol": what follows is there, and the home is not only there.
	partVerbs = set("se vous on you there is y")
	// homeParts are rooms and shops that a sentence may place on a floor.
	homeParts = set("room rooms salle salles kitchen cuisine salon living dining mezzanine patio balcony pharmacy pharmacie " +
		"bank banque cafe bakery boulangerie depanneur store shop shops branch halte lobby reception commerce commerces " +
		"space atelier playroom workshop familiale family jeux office plafond plafonds ceiling ceilings")
)

// partsFollow tells whether a sentence that begins with the floor up to token i goes on to what is there: "In the
// basement, a storage room", "Au sous-sol, vous trouverez", "On the 2nd floor: living room".
func (p *Prose) partsFollow(i int) bool {
	for k := i; k >= 0 && !p.stop(k); k-- {
		if w := p.word(k); k < i-6 || w == "situe" || w == "situee" || w == "located" || p.words[k].half ||
			kinds[w] == "apartment" || kinds[w] == "condo" {
			return false
		}
	}
	listed := p.sym(i+1) == ':' || p.sym(i+1) == ',' && p.word(i) != "etage" && p.word(i) != "floor"
	k := i + 1
	if s := p.sym(k); s == ',' || s == ':' {
		k++
	}
	if partVerbs[p.word(k)] && !p.words[k].line {
		return true
	}
	for n := k; listed && n < len(p.words) && n <= k+9 && !p.stop(n); n++ {
		switch {
		case p.words[n].half, p.about(n, aStudio), kinds[p.word(n)] != "", p.word(n) == "unit", p.word(n) == "suite":
			return false
		case homeParts[p.word(n)], commonParts[p.word(n)]:
			return true
		}
	}
	return false
}

// partThere tells whether the clause that ends with the floor in tokens k..i names a room or shop that is there, and no
// home: "a balcony on the 3rd floor", "cuisine sur le 2e étage".
func (p *Prose) partThere(k int) bool {
	part := false
	for n := k - 1; n >= 0 && n >= k-12 && !p.stop(n+1); n-- {
		switch w := p.word(n); {
		case p.sym(n) == ',', w == "situe", w == "situee", w == "located", p.words[n].half, kinds[w] != "",
			w == "unit", w == "suite", p.about(n, aStudio), w == "logement":
			return false
		case w == "its" && p.num(n+1) == nil: // not "it's 1 bed on the 7th floor"
			return true
		case p.about(n, aBedroom) && p.countBefore(n-1) > 0:
			return false
		case homeParts[w], p.about(n, aBedroom) && oneOfRooms[p.word(n-1)],
			p.about(n, aBathroom) && w != "eau" && !plurals[w]:
			part = true
		}
	}
	switch p.word(k - 1) {
	case "on", "the", "au", "le", "sur":
		return part
	}
	return false
}

// oneOfRooms before a bedroom say that the home has others.
var oneOfRooms = set("second third fourth master primary guest")

// partBefore tells whether a laundry, locker or the like stands right before the floor at k: "buanderie au demi
// sous-sol".
func (p *Prose) partBefore(k int) bool {
	for n := k - 1; n >= 0 && n >= k-5 && !p.stop(n+1) && p.sym(n) != ','; n-- {
		if commonParts[p.word(n)] {
			return true
		}
	}
	return false
}

// than tells whether the basement at i only stands in a comparison: "than a traditional basement suite".
func (p *Prose) than(i int) bool {
	for k := i - 1; k >= i-3; k-- {
		if w := p.word(k); w == "than" || w == "qu" {
			return true
		}
	}
	return false
}

// commonParts are things of a building that a floor may be named for.
var commonParts = set("gym piscine pool sauna lounge skylounge rooftop passerelle sport buanderie laundry locker lockers " +
	"rangement rangements storage casier areas aires spa jacuzzi billard cinema restaurant patio chalet")

// floorOfThing tells whether the floor in tokens k..i is not the home's: "gym on the 5th floor", "main floor locker",
// "the 2nd floor has a bathroom", "only 1 floor up".
func (p *Prose) floorOfThing(k, i int) bool {
	n := p.word(i + 1)
	if i+1 < len(p.words) && p.words[i+1].line {
		n = ""
	}
	located := false // "le studio situé au 22e étage offre une vue"
	for m := k - 1; m >= 0 && m >= k-4; m-- {
		w := p.word(m)
		located = located || w == "situe" || w == "situee" || w == "located"
	}
	switch n {
	case "has", "features", "offers", "includes", "hosts", "comprend", "comporte", "offre", "up", "amenities":
		if !located {
			return true
		}
	default:
		if commonParts[n] || p.word(k) == "main" && (homeParts[n] || p.about(i+1, aBedroom|aBathroom)) &&
			!homes[p.word(i+2)+"s"] {
			return true // "main floor office", not "main floor bedroom suite"
		}
	}
	if w := p.word(i + 2); n == "in" && (w == "the" || w == "our") && p.commonPart(i+3) {
		return true // "on the 46th floor in the residents' lounge"
	}
	if p.seq(k-2, "with", "the") || p.seq(k-2, "autres", "au") || p.partsFollow(i) {
		return true
	}
	for n := k - 1; n >= 0 && n >= k-9 && !p.stop(n+1); n-- {
		switch w := p.word(n); {
		case commonParts[w]:
			return true
		case p.sym(n) == ',', w == "situe", w == "situee", w == "located", p.words[n].half, kinds[w] != "", w == "unit":
			return false
		}
	}
	return false
}

// commonPart tells whether a room of the building is named from token i on, before any home or building.
func (p *Prose) commonPart(i int) bool {
	for k := i; k <= i+5 && !p.stop(k) && p.sym(k) != ','; k++ {
		switch {
		case commonParts[p.word(k)]:
			return true
		case p.about(k, aType), p.word(k) == "with":
			return false
		}
	}
	return false
}

// livesOn tells whether somebody lives on the floor at k: "superintendent lives on the ground floor".
func (p *Prose) livesOn(k int) bool {
	for n := k - 1; n >= k-4 && !p.stop(n+1); n-- {
		switch p.word(n) {
		case "lives", "habite", "reside", "vit", "resides", "demeure":
			return true
		}
	}
	return false
}

// bareFloor reads "au 2e" and "au deuxième" at i, where no street, day or other noun follows.
func (p *Prose) bareFloor(i int, headline bool) (value string, from int) {
	k := i - 1
	value = ordinals[p.word(i)]
	if p.num(i-1) != nil && !p.words[i].space {
		value, k = p.floorNumber(i-1), i-2
	}
	if k == i-2 && p.sym(k) == ',' && (headline && (p.sym(i+1) == ',' || i+1 == len(p.words)) || !headline &&
		p.floorItem(i)) { // "4 ½, 2e, propre"
		return value, i - 1
	}
	if w := p.word(i + 3); value != "" && p.seq(i+1, "d", "un") && (plexes[w] || w == "bloc" || w == "immeuble") &&
		p.itemStart(k+1) { // "2e d'un triplex"
		return value, k + 1
	}
	if value == "" || p.word(k) != "au" {
		return "", i
	}
	switch p.word(i + 1) {
	case "":
		if p.word(i) != "er" || p.stop(i+1) { // not "aires communes au 1er, 2e et 21e étage"
			return value, k
		}
	case "d", "du", "dans", "avec", "sans", "libre":
		return value, k
	case "et": // "au troisième et dernier", as "au 3e et dernier étage"
		if ordinals[p.word(i+2)] == "top" && p.listEnds(i+3) {
			return "top", k
		}
	}
	return "", i
}

// floorItem tells whether the ordinal that ends at i, after a comma, is an item by itself of what a text says of a
// home: "4 ½ rénové, 3e, balcon". "Coin 2e, 3e avenue" and "1er, 2e, 3e" are none.
func (p *Prose) floorItem(i int) bool {
	if p.word(i) == "er" || !p.listEnds(i+1) || p.sym(i+1) == ',' && p.num(i+2) != nil && ordinalEnds[p.word(i+3)] {
		return false
	}
	for k := i - 3; k >= 0 && k >= i-14 && !p.stop(k+1); k-- {
		switch {
		case p.words[k].half:
			return true
		case ordinalEnds[p.word(k)] || p.word(k) == "coin" || p.word(k) == "rue":
			return false
		}
	}
	return false
}

// houseLevels are the homes of a house that is let by its levels.
var houseLevels = map[string]string{"main": "ground", "ground": "ground", "upper": "2", "lower": "basement"}

// levelOf tells whether a level of a house ends at i, which is what the advert offers: "main level of a bungalow".
// "Main level of the home: kitchen, living room" is on a list of all levels.
func (p *Prose) levelOf(i int) bool {
	if houseLevels[p.word(i-1)] == "" || p.word(i+1) != "of" || !p.placed(i-1, false) {
		return false
	}
	first := i + 2
	if w := p.word(first); w == "a" || w == "an" {
		first++
	} else if !p.about(first, aType) {
		return false
	}
	home := false
	for k := first; k <= i+6 && !p.stop(k); k++ {
		home = home || p.about(k, aType) && p.word(k) != "building"
		if p.sym(k) == ':' {
			return false
		}
	}
	for k := range p.words {
		if p.word(k) == "level" && k != i && otherLevels[p.word(k-1)] {
			return false
		}
	}
	return home
}

// otherLevels of a home tell that it is more than its main one.
var otherLevels = set("upper lower second top nd")

// floorOfAll reads "on 38 of 39" that ends at i.
func (p *Prose) floorOfAll(i int) (value string, from int) {
	all, n := p.num(i), p.num(i-2)
	if all == nil || n == nil || p.word(i-1) != "of" || p.word(i-3) != "on" && p.word(i-3) != "floor" ||
		n.dec+all.dec > 0 || n.half || all.half || n.cents < 100 || n.cents > all.cents || all.cents > 99_00 ||
		!p.stop(i+1) && p.sym(i+1) != ',' {
		return "", i
	}
	return itoa(int(n.cents / 100)), i - 3
}

// floor finds the first floor that the text gives the home: a number, "ground", "top", "basement" or "half-basement".
func (p *Prose) floor(headline bool) (value string, from, to int) {
	for i := range p.words {
		if value, from, to = p.floorNamed(i, headline); value != "" && !p.eitherFloor(from, to) && !p.otherOffer(from, to) &&
			!p.ofOtherHome(from) && !p.bedroomsElsewhere(from, to) && !p.notOnFloor(from) {
			return value, from, to
		}
	}
	return "", -1, -1
}

var (
	floorNouns   = set("etage etages palier floor basement sol soussol chaussee chausse rdc level")
	floorLeads   = set("au a le la l the on in demi semi half un")
	floorStarts  = set("sous soussol sousol basement rez rdc rc")
	floorLeaving = set("de sol suite unit")
)

// eitherFloor tells whether the floor in tokens from..to is one of two that may be had: "2e ou 3e étage", "2nd floor or
// basement".
func (p *Prose) eitherFloor(from, to int) bool {
	or := func(i int) bool { return p.word(i) == "ou" || p.word(i) == "or" }
	k := from - 1
	for floorLeads[p.word(k)] {
		k--
	}
	if l := k - 1; or(k) && (floorNouns[p.word(l)] || ordinals[p.word(l)] != "" ||
		ordinalEnds[p.word(l)] && p.num(l-1) != nil) {
		return true
	}
	k = to + 1
	for floorLeaving[p.word(k)] || p.sym(k) == '-' || strings.HasPrefix(p.word(k), "chauss") {
		k++
	}
	if !or(k) || p.stop(k) {
		return false
	}
	k++
	for floorLeads[p.word(k)] {
		k++
	}
	if t := p.num(k); t != nil {
		return ordinalEnds[p.word(k+1)] || t.digits == 0 && floorStarts[p.word(k+1)]
	}
	return floorStarts[p.word(k)] || ordinals[p.word(k)] != "" && floorNouns[p.word(k+1)]
}

// notOnFloor tells whether the home is said not to be on the floor that begins at i: "ce n'est pas un demi sous-sol".
func (p *Prose) notOnFloor(i int) bool {
	k := i - 1
	for floorLeads[p.word(k)] || p.word(k) == "de" {
		k--
	}
	w := p.word(k)
	return !p.stop(k+1) && (w == "not" || w == "pas" || w == "t" && p.shortNot(k))
}

// otherOffer tells whether the floor in tokens from..to is that of another home at a price of its own: "aussi demi
// sous-sol à 725 $".
func (p *Prose) otherOffer(from, to int) bool {
	if w := p.word(from - 1); w != "aussi" && w != "egalement" && w != "also" {
		return false
	}
	for k := to + 1; k <= to+6 && !p.stop(k); k++ {
		if p.sym(k) == '$' {
			return true
		}
	}
	return false
}

// floorNamed reads the floor that the word at i ends or begins, by that word; it is "" for none.
func (p *Prose) floorNamed(i int, headline bool) (value string, from, to int) {
	switch p.word(i) {
	case "basement", "soussol", "sousol", "sous", "ss":
		return p.basement(i, headline)
	case "rdc", "rez", "rc":
		return p.groundFloor(i, headline)
	case "level", "niveau":
		return p.level(i)
	case "unit", "apartment", "house", "condo", "suite":
		return p.levelUnit(i)
	case "etage", "floor", "plancher", "palier":
		return p.countedFloor(i)
	case "etages":
		return p.floorSlip(i)
	case "duplex", "triplex":
		return p.halfOfDuplex(i)
	}
	if w := p.word(i); p.about(i, aFloor) || w == "er" || w == "premier" && !p.about(i-2, aMoney|anInclusion) {
		value, from = p.bareFloor(i, headline)
	} else {
		value, from = p.floorOfAll(i)
	}
	return value, from, i
}

// halfWords before a basement say that it is half above the ground.
var halfWords = set("demi demie semi half")

// basement reads "sous-sol", "demi sous-sol" or "basement" at i.
func (p *Prose) basement(i int, headline bool) (value string, from, to int) {
	end, k := i, i-1
	if p.word(i) == "sous" {
		if end++; p.sym(end) == '-' {
			end++
		}
		if w := p.word(end); w != "sol" && w != "sols" {
			return "", i, i
		}
	}
	for p.sym(k) == '-' {
		k--
	}
	switch w, next, t := p.word(k), p.word(end+1), p.num(k); {
	case p.word(i) == "ss" && i > 0 && !halfWords[w] && (t == nil || t.cents != 50) && w != "au",
		p.word(i) == "ss" && kitchenWords[next], p.than(i), halfWords[w] && p.partBefore(k):
		return "", i, i
	case p.word(k-1) == "le" && (next == "est" || next == "sera"): // a part of the home
		return "", i, i
	case halfWords[w], t != nil && t.cents == 50 && t.digits == 0:
		return "half-basement", k, end
	}
	switch w := p.word(i - 1); {
	case w == "finished", w == "le", w == "un", w == "avec", w == "with", p.sym(i-1) == '+', // a part of the home
		!p.placed(i, headline), p.partsFollow(end):
		return "", i, i
	}
	return "basement", i, end
}

// groundFloor reads "rez-de-chaussée", "RDC" or "RC d'un duplex" at i. An item of a list says it of the home: "4 ½,
// rez-de-chaussée, propre".
func (p *Prose) groundFloor(i int, headline bool) (value string, from, to int) {
	rez := p.word(i) == "rez"
	if p.word(i) == "rc" && p.word(i-1) != "au" && p.word(i+1) != "d" {
		return "", i, i
	}
	first, end := i, i
	for n := 0; rez && n < 4 && (p.sym(end+1) == '-' || p.word(end+1) == "de" ||
		strings.HasPrefix(p.word(end+1), "chauss")); n++ {
		end++
	}
	if p.word(i-1) == "au" {
		first--
	}
	ends := p.stop(end+1) || p.sym(end+1) == ','
	item := rez && (p.word(i-1) == "ce" || p.sym(first-1) == ',' && ends || p.itemStart(first) &&
		(ends || p.word(end+1) == "avec"))
	if !item && !p.placed(i, headline) || p.partsFollow(end) {
		return "", i, i
	}
	return "ground", i, i
}

// level reads "main level of a bungalow", "garden level" or "lower level suite", of which "level" stands at i.
func (p *Prose) level(i int) (value string, from, to int) {
	switch w, n := p.word(i-1), p.word(i+1); {
	case p.levelOf(i):
		return houseLevels[w], i - 1, i
	case w == "garden" && !homeParts[n] && !homeParts[p.word(i+2)]:
		return "half-basement", i - 1, i
	case w == "ground" && (p.itemStart(i-1) || p.sym(i-2) == ',') && p.listEnds(i+1) && !p.partsFollow(i):
		return "ground", i - 1, i // "2 bedroom, ground level, no stairs"
	case w == "lower" && (n == "suite" || n == "unit" || n == "apartment"):
		return "basement", i - 1, i + 1
	case ordinalEnds[w] && (p.itemStart(i-2) || p.sym(i-3) == ',') && (p.stop(i+1) || p.sym(i+1) == ','):
		return p.floorNumber(i - 2), i - 2, i // "4 ½, 3e niveau"
	}
	return "", i, i
}

// levelUnit reads "main level unit" and "ground-level apartment", of which the home stands at i.
func (p *Prose) levelUnit(i int) (value string, from, to int) {
	k := i - 2
	if p.sym(k) == '-' {
		k--
	}
	if w := p.word(k); p.word(i-1) == "level" && (w == "ground" || w == "main") {
		return "ground", k, i
	}
	return "", i, i
}

// countedFloor reads "2e étage", "30th-floor", "top floor" or "Floor: 3rd", of which the noun stands at i. "2e
// plancher" is a floor, "plancher de bois" what one walks on.
func (p *Prose) countedFloor(i int) (value string, from, to int) {
	k := i - 1
	if p.word(i) == "plancher" && !ordinalEnds[p.word(k)] && ordinals[p.word(k)] == "" {
		return "", i, i
	}
	if p.sym(k) == '-' { // "30th-floor"
		k--
	}
	label := p.sym(i+1) == ':' || p.sym(i+1) == '-' && p.itemBegins(i) && ordinalEnds[p.word(i+3)] // "Étage - 3e"
	if v := cmp.Or(p.floorNumber(i+2), ordinals[p.word(i+2)]); v != "" && label && !p.words[i+2].line &&
		!p.about(i+3, aBedroom|aBathroom|aPiece|aType) { // "Floor: 3rd", not "à l'étage : 3 chambres"
		return v, i, i + 2
	}
	n := k // the number
	if ordinalEnds[p.word(k)] || p.sym(k) == '*' {
		n--
	}
	w, counted := p.word(n-1), p.num(n) != nil
	if p.floorOfThing(k, i) || p.livesOn(k) || p.partThere(n) || p.everyFloor(n) ||
		(w == "concept" || w == "plan") && p.word(n) == "main" && !p.about(i+1, aType) && p.word(i+1) != "suite" ||
		counted && w == "sur" && n == i-1 || // "sur 1 étage" is a count
		counted && (w == "et" || w == "and") { // "aires communes au 1er, 2e et 21e étage"
		return "", i, i
	}
	if v := cmp.Or(p.floorNumber(n), p.numberedFloor(n)); v != "" {
		return v, n, i
	}
	if p.word(i+1) == "superieur" && p.word(n) == "l" && p.word(n-1) == "a" { // "à l'étage supérieur d'un duplex"
		return "top", i, i + 1
	}
	return "", i, i
}

// floorNumber spells the number of a floor at i, "2" in "2e étage", or returns "".
func (p *Prose) floorNumber(i int) string {
	t := p.num(i)
	if t == nil || t.dec > 0 || t.half || t.digits > 2 || t.cents == 0 {
		return ""
	}
	return itoa(int(t.cents / 100))
}

// floorSlip reads "au 2e étages" or "au deuxième étages" at i, a slip of "au 2e étage".
func (p *Prose) floorSlip(i int) (value string, from, to int) {
	if v := ordinals[p.word(i-1)]; p.word(i-2) == "au" && v != "top" {
		return v, i - 1, i
	}
	if t := p.num(i - 2); t != nil && ordinalEnds[p.word(i-1)] && p.word(i-3) != "et" && p.sym(i-3) != ',' &&
		t.dec == 0 && t.digits <= 2 {
		return itoa(int(t.cents / 100)), i - 2, i
	}
	return "", i, i
}

// duplexHalves are the homes of a duplex: "haut de duplex", "bas de triplex", "lower duplex".
var duplexHalves = map[string]string{"haut": "top", "bas": "ground", "upper": "2", "lower": "ground"}

// halfOfDuplex reads "haut de duplex" or "haut d'un duplex" that ends at i.
func (p *Prose) halfOfDuplex(i int) (value string, from, to int) {
	k := i - 1
	if w := p.word(k); p.word(i) == "duplex" && (w == "upper" || w == "lower") {
		return duplexHalves[w], k, i
	}
	if w := p.word(k); w == "un" || w == "a" {
		k--
	}
	if w := p.word(k); w != "de" && w != "d" && w != "of" {
		return "", i, i
	}
	return duplexHalves[p.word(k-1)], k - 1, i
}
