package prose

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A cutWhen tells whether the bytes i..j, behind the tokens that are read, stand where a short is one.
type cutWhen func(p *Prose, i, j int) bool

// anywhere is a word of its own, whatever stands around it.
func anywhere(p *Prose, _, j int) bool { return !isLetter(char(p.fold, j)) }

// beforeDot is where its point stands, which ends no sentence.
func beforeDot(p *Prose, _, j int) bool {
	last := len(p.words) - 1
	return char(p.fold, j) == '.' && p.pointAfter(j) > j && !denials[p.word(last)] && (last < 0 || p.sym(last) != '-')
}

// afterThing is behind what a rent may include, "all inc", "hydro not inc": "Gestion Roy inc." is a company.
func afterThing(p *Prose, i, j int) bool {
	last := len(p.words) - 1
	if w := p.word(last); anywhere(p, i, j) &&
		((w == "all" || w == "tout") && !p.properInc(i) || denials[w] && p.rentThing(last-1)) {
		return true
	}
	return (p.rentThing(last) || p.leadsThings(last, j)) && beforeDot(p, i, j)
}

// noBundle is anywhere but after what is sold in packages.
func noBundle(p *Prose, i, j int) bool {
	last := len(p.words) - 1
	w := p.word(last)
	if w == "in" && (p.word(last-1) == "move" || p.sym(last-1) == '-' && p.word(last-2) == "move") || bundled[w] {
		return false
	}
	return anywhere(p, i, j)
}

// noWalkout is anywhere but before what one walks out to.
func noWalkout(p *Prose, i, j int) bool {
	w, _ := p.wordAhead(j)
	return !walkouts[w] && anywhere(p, i, j)
}

// counted is after the ordinal of a floor.
func counted(p *Prose, _, _ int) bool {
	w := p.word(len(p.words) - 1)
	return ordinalEnds[w] || ordinals[w] != ""
}

// ofTenant is after "du", "par le", "au".
func ofTenant(p *Prose, _, _ int) bool {
	switch p.word(len(p.words) - 1) {
	case "du", "le", "au", "par", "frais":
		return true
	}
	return false
}

// beforeAny is before a space, or before a letter where it is small itself.
func beforeAny(p *Prose, i, j int) bool {
	next := char(p.fold, j)
	return next == ' ' || isLetter(next) && p.text[p.at[i]] == 'w'
}

// dotted is with its point, and no number behind it.
func dotted(p *Prose, _, j int) bool {
	return char(p.fold, j) == '.' && !isDigit(char(p.fold, skip(p.fold, j+1)))
}

// listed is dotted, on a list: elsewhere "rang." is a road.
func listed(p *Prose, i, j int) bool { return p.besideItems(len(p.words)-1) && dotted(p, i, j) }

// itemOnly is on a list: elsewhere "DW" is a name.
func itemOnly(p *Prose, i, j int) bool {
	next := char(p.fold, skip(p.fold, j))
	return anywhere(p, i, j) &&
		(p.besideItems(len(p.words)-1) || next == ',' || next == '/' || next == '+' || next == '&')
}

// itemEnd is before the end of an item, or the next such pair: "N/S exposure", "exposition N/S" are no ban.
func itemEnd(p *Prose, i, j int) bool {
	s, last := p.fold, len(p.words)-1
	for p.sym(last) == ':' || p.sym(last) == '(' {
		last--
	}
	if last >= 0 && s[i+2] == 's' && facings[p.word(last)] && !strings.Contains(s[p.words[last].end:i], "\n") {
		return false
	}
	k := skip(s, j)
	return anywhere(p, i, j) && (!isLetter(char(s, k)) || char(s, k+1) == '/')
}

// notHigh is not of a ceiling, and without an accent: "plafonds élev."
func notHigh(p *Prose, i, j int) bool {
	s, last := p.fold, len(p.words)-1
	return anywhere(p, i, j) && (p.text[p.at[i]] < utf8.RuneSelf || p.besideItems(last)) &&
		!highThings[p.word(last)] && !isDigit(char(s, skip(s, min(j+1, len(s)))))
}

// beforeCentral is dotted, before "central".
func beforeCentral(p *Prose, _, j int) bool {
	s := p.fold
	return char(s, j) == '.' && strings.HasPrefix(s[min(skip(s, j+1), len(s)):], "centr")
}

// afterHalf is after "demi", "semi" or "½", or "au".
func afterHalf(p *Prose, i, j int) bool {
	last := len(p.words) - 1
	w, t := p.word(last), p.num(last)
	if p.sym(last) == '-' {
		w = p.word(last - 1)
	}
	return anywhere(p, i, j) && (w == "demi" || w == "semi" || w == "au" || t != nil && t.cents == 50 && t.digits == 0)
}

// afterFridge is dotted, next to a fridge: elsewhere it is the kitchen.
func afterFridge(p *Prose, _, j int) bool {
	last := len(p.words) - 1
	for last > 0 && (p.words[last].kind == symbol || p.word(last) == "et") {
		last--
	}
	return char(p.fold, j) == '.' && fridges[p.word(last)] && last >= len(p.words)-3
}

// keepsHours are amenities behind which "L-V" may be days.
var keepsHours = set("concierge concierges conciergerie gym piscine piscines pool buanderie buanderies gardien sauna")

// builtIns behind a short form say that it is an appliance.
var builtIns = set("encastre encastres integre neuf inclus fourni")

// afterAppliance is next to a fridge, a stove or a washer, between amenities on a list, or built in: elsewhere "L-V"
// are days.
func afterAppliance(p *Prose, i, j int) bool {
	last := len(p.words) - 1
	if w, end := p.wordAhead(j); builtIns[w] && anywhere(p, i, j) && !isDigit(char(p.fold, skip(p.fold, end))) {
		return true
	}
	if next := skip(p.fold, j); p.joinsItems(last) && p.about(last-1, anAmenity) &&
		!keepsHours[p.word(last-1)] && anywhere(p, i, j) &&
		(next >= len(p.fold) || strings.IndexByte(",/+&.\n;", p.fold[next]) >= 0) &&
		!isDigit(char(p.fold, skip(p.fold, next+1))) {
		return true
	}
	for last > 0 && p.joinsItems(last) {
		last--
	}
	return anywhere(p, i, j) && !isDigit(char(p.fold, skip(p.fold, j))) && kitchenThings[p.word(last)] &&
		last >= len(p.words)-3
}

// afterFloors is after the floors that are of it.
func afterFloors(p *Prose, _, _ int) bool {
	last := len(p.words) - 1
	w := p.word(last)
	if w == "en" || w == "de" {
		w = p.word(last - 1)
	}
	return w == "plancher" || w == "planchers"
}

// beforeLaundry is before a word of laundry.
func beforeLaundry(p *Prose, _, j int) bool {
	k := skip(p.fold, min(j+1, len(p.fold)))
	return k > j && beforeAnyOf(p.fold, k, "laundry", "lndry", "ldry")
}

// afterRoom is after the name of a room of the building.
func afterRoom(p *Prose, i, j int) bool {
	return anywhere(p, i, j) && roomsOfHouse[p.word(len(p.words)-1)]
}

// capitals is in capitals, and the word behind it is not: "LOGEMENT POU ETUDIANT" is a slip of "pour".
func capitals(p *Prose, i, j int) bool {
	next := skip(p.fold, j)
	return anywhere(p, i, j) && p.upperAt(i) && p.upperAt(j-1) && !(isLetter(char(p.fold, next)) && p.upperAt(next))
}

// afterOne is after a number of rooms.
func afterOne(p *Prose, i, j int) bool {
	t := p.num(len(p.words) - 1)
	return t != nil && t.digits == 1 && t.dec == 0 && !t.half && anywhere(p, i, j)
}

// beforeIncluded is before "inclus" and the like.
func beforeIncluded(p *Prose, _, j int) bool {
	return beforeAnyOf(p.fold, min(j, len(p.fold)), " inc", " comp")
}

// itemIncluded is on a list, or before "inclus": "H/W floors" are of hardwood.
func itemIncluded(p *Prose, i, j int) bool {
	return itemOnly(p, i, j) || anywhere(p, i, j) && beforeIncluded(p, i, j)
}

// properInc tells whether "Inc" at the byte i is written as in the name of a company.
func (p *Prose) properInc(i int) bool { return p.upperAt(i) && !p.upperAt(i+1) }

// upperAt tells whether the byte i of what was folded was a capital.
func (p *Prose) upperAt(i int) bool {
	c := p.text[p.at[i]]
	return c >= 'A' && c <= 'Z'
}

// joinsItems tells whether the token at i joins short items of a list. A bracket or a dash does not: the days of
// "laveuse et sécheuse (L-V 8h-20h)" are no dishwasher.
func (p *Prose) joinsItems(i int) bool {
	switch p.sym(i) {
	case ',', '/', '+', '&':
		return true
	}
	return p.word(i) == "et"
}

const fridgeWords = "frigo refrigerateur frigidaire fridge refrigerator"

var (
	bundled = set("internet cable tv television wifi fi appliance appliances furniture welcome movein")
	// walkouts are what "W/O" leads out to.
	walkouts = set("patio patios deck decks balcony balconies terrace yard backyard basement bsmt")
	fridges  = set(fridgeWords)
	// kitchenThings stand beside a dishwasher on a list.
	kitchenThings = set(fridgeWords + " poele cuisiniere four laveuse secheuse hotte stove")
	highThings    = set("plafond plafonds ceiling ceilings")
	// facings are before a direction.
	facings = set("exposition exposure exposed expose exposee orientation oriented oriente orientee " +
		"facade facades facing faces traversant traversante")
	roomsOfHouse = set("laundry living dining family exercise rec games party storage bike")
	// rentThings are what a rent may include, beside the topics.
	rentThings = set("tout tous toutes all everything taxes stats electros electromenagers appliances appliance fi tv " +
		"lights light gas gaz clim climatisation ac washer dryer laveuse secheuse laundry deneigement locker")
)

// rentThing tells whether the token at i, or before a point or bracket there, is a thing that a rent may include.
func (p *Prose) rentThing(i int) bool {
	for n := 0; n < 2 && (p.sym(i) == '.' || p.sym(i) == '(' || p.sym(i) == ':'); n++ {
		i--
	}
	return p.about(i, aUtility|aParking|aFurnishing) || rentThings[p.word(i)]
}

// besideItems tells whether the token at i may stand before an item of a list.
func (p *Prose) besideItems(i int) bool {
	switch p.sym(i) {
	case ',', '/', '+', '&':
		return true
	}
	w := p.word(i)
	return w == "et" || w == "and" || w == "avec" || w == "with"
}

// beforeAnyOf tells whether one of the words is at the byte i.
func beforeAnyOf(s string, i int, words ...string) bool {
	return i <= len(s) && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(s[i:], w) })
}

// leadsThings tells whether the "inc." that ends at j leads from a price or the start to a thing: "975 $ inc.
// chauffage".
func (p *Prose) leadsThings(last, j int) bool {
	if last >= 0 && p.words[last].kind == word && !p.about(last, aMoney) {
		return false
	}
	w, _ := p.wordAhead(min(j+1, len(p.fold)))
	return topics[w]&(aUtility|aParking|aFurnishing) != 0 || rentThings[w]
}
