package prose

import "strings"

// roomKinds tell one bedroom of a home from another, before or after the noun.
var roomKinds = set("master primary main principal principale maitre maitres guest guests kid kids child children " +
	"amis ami invites enfant enfants queen king double doubles simple simples single twin secondaire secondaires " +
	"moyenne moyennes medium smaller larger bigger autre other")

// shortRooms may stand for a bedroom of which the noun is left out.
var shortRooms = set("petite petites grande grandes moyenne moyennes principale secondaire secondaires amis " +
	"invites simple simples single double doubles")

// ofBedroom behind the noun says that it is no bedroom: "1 large bedroom closet", "une grande chambre de bain".
var ofBedroom = set("closet closets window windows suite set furniture dresser door bain froide rangement lavage")

// apartRooms are bedrooms beside others: "1 guest bedroom" alone is not all.
var apartRooms = set("guest guests kid kids child children smaller larger bigger other autre secondaire amis ami " +
	"invites enfant enfants medium moyenne")

// bedroomsListed adds up the bedrooms that are counted one kind after the other behind the first ones, which begin at i
// and end at j: "une chambre des maîtres, une chambre moyenne et une petite", "1 king bedroom and 2 queen bedrooms", "1
// chambre avec walk-in, 1 chambre d'amis". The first must be one, or of a kind, or counted with others before: "3
// chambres, 1 double" are three, and "2 large bedrooms, 1 king and 1 queen" are two.
func (p *Prose) bedroomsListed(i, j, first int, counted bool) (n, end int) {
	known := counted || first == 1
	for k := i + 1; k < j && !known; k++ {
		known = p.kindOfRoom(k)
	}
	k := j + 1
	tail := 0
	for ; k < len(p.words) && tail < 6 && !p.stop(k) && !p.listJoint(k); k, tail = k+1, tail+1 {
		if p.words[k].kind == number || p.about(k, aBathroom|aPiece) || p.sym(k) != 0 && p.sym(k) != '-' ||
			homes[p.word(k)] || p.word(k) == "dont" || p.word(k) == "including" || p.about(k, aType) {
			return 0, 0
		}
		if v, _ := p.small(k); v > 0 && first > 1 { // "2 chambres – une grande et une petite": what those are
			return 0, 0
		}
		known = known || p.kindOfRoom(k)
	}
	explains := first > 1 && p.sym(k) == ',' && !(ownKinds[p.word(j+1)] && !p.repeats(k, j+1)) // what those were
	for known && n < 8 && p.listJoint(k) && k+2 < len(p.words) {
		if k++; p.listJoint(k) { // ", et"
			k++
		}
		more, last := p.bedroomItemAt(k)
		if more == 0 || explains && !p.about(last, aBedroom) {
			break
		}
		n, end = n+more, last
		for k = last + 1; k < last+6 && k < len(p.words) && !p.stop(k) && !p.listJoint(k); k++ {
			if p.words[k].kind == number || p.about(k, aBathroom|aType) {
				k = len(p.words)
			}
		}
	}
	if explains && n == first {
		return 0, 0
	}
	return n, end
}

// repeats tells whether the list behind the joint at k names the kind of the word at j again: "2 chambres doubles, 1
// double au rez-de-chaussée" are two, and "2 chambres doubles, 1 simple" three.
func (p *Prose) repeats(k, j int) bool {
	kind := strings.TrimSuffix(p.word(j), "s")
	for n := k; n < len(p.words) && n <= k+6 && !p.stop(n); n++ {
		if strings.TrimSuffix(p.word(n), "s") == kind {
			return true
		}
	}
	return false
}

// listJoint tells whether the token at i stands between the items of a list.
func (p *Prose) listJoint(i int) bool {
	w := p.word(i)
	return w == "et" || w == "and" || w == "plus" || p.sym(i) == ',' || p.sym(i) == '+' || p.sym(i) == '&'
}

// jointBefore returns the first of the joints that end before the token at i.
func (p *Prose) jointBefore(i int) int {
	for i > 0 && p.listJoint(i-1) {
		i--
	}
	return i
}

func (p *Prose) kindOfRoom(i int) bool { return roomKinds[p.word(i)] || sizes[p.word(i)] }

// bedroomItemAt reads a count of bedrooms of a kind at i, "une chambre moyenne", "2 queen bedrooms" or, with the noun
// left out, "une petite", and returns its last token.
func (p *Prose) bedroomItemAt(i int) (n, end int) {
	if i >= len(p.words) {
		return 0, i
	}
	if n, _ = p.small(i); n < 1 || n > 3 {
		return 0, i
	}
	kind := false
	k := i + 1
	for m := 0; m < 3 && (adjectives[p.word(k)] || p.kindOfRoom(k)); m++ {
		kind = kind || p.kindOfRoom(k)
		k++
	}
	if !p.about(k, aBedroom) || p.about(k, aBathroom) || p.furnitureBed(k) {
		if !kind || k == i+1 || !shortRooms[p.word(k-1)] {
			return 0, i
		}
		if p.stop(k) { // "et une petite"
			return n, k - 1
		}
		if p.listJoint(k) { // "une grande et une petite", not "une grande et belle cuisine"
			if k++; p.listJoint(k) {
				k++
			}
			if more, _ := p.bedroomItemAt(k); more > 0 {
				return n, p.jointBefore(k) - 1
			}
		}
		return 0, i
	}
	if w := p.word(k); n > 1 && !plurals[w] || w == "bed" || w == "beds" { // "2 bedroom basement" is a home
		return 0, i
	}
	for m := k + 1; m <= k+4 && !p.stop(m) && !p.listJoint(m); m++ {
		if homes[p.word(m)] || p.about(m, aType) || m <= k+2 && ofBedroom[p.word(m)] {
			return 0, i
		}
		kind = kind || p.kindOfRoom(m)
	}
	if !kind {
		return 0, i
	}
	return n, k
}

// bedroomSizes counts the sizes that follow "chambres" at i, one for each: "chambres 11x15 avec garde-robe, 11x12".
func (p *Prose) bedroomSizes(i int) (n, end int) {
	if !p.about(i, aBedroom) || !plurals[p.word(i)] || p.about(i, aBathroom) {
		return 0, i
	}
	k := i + 1
	if p.sym(k) == ':' {
		k++
	}
	for p.num(k) != nil && p.word(k+1) == "x" && p.num(k+2) != nil && n < 8 {
		n, end = n+1, k+2
		for k += 3; k < end+6 && !p.stop(k) && !p.listJoint(k) && !p.about(k, aBathroom|aPiece|aBedroom); k++ {
		}
		if !p.listJoint(k) || p.stop(k) {
			break
		}
		k++
	}
	return n, end
}
