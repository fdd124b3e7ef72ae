package prose

import "strings"

var laundryFillers = set("in on the dans l le available facilities facility room")

// laundry tells the laundry of the home from the building's: what stands beside the words i..end for it decides, and
// "laundry" alone says neither.
func (p *Prose) laundry(i, end int) string {
	if p.coins(i, end) {
		return "laundry_in_building"
	}
	public := p.standsBy(end, sharedParts) || p.landmarkOf(i, sharedParts)
	if p.word(end) == "lavage" { // a room of the home, unless it is said to be the building's
		for k := end + 1; k <= end+7 && !p.stop(k) && p.sym(k) != ','; k++ {
			if w := p.word(k); w == "immeuble" || w == "batiment" || w == "chaque" || w == "commune" ||
				public || p.seq(k, "sous", "sol") || p.seq(k, "sous", "", "sol") {
				return "laundry_in_building"
			}
		}
		return ""
	}
	if p.amongRooms(i, end) || p.word(end+1) == "commerciale" {
		return ""
	}
	k := i - 1
	for p.sym(k) == '-' {
		k--
	}
	w := p.word(k)
	shared := (p.sym(k) == ',' || w == "and" || p.sym(k) == '&') && ownRooms[p.word(k-1)] && p.word(k-2) == "shared"
	switch w {
	case "espace": // of the home: "espace buanderie et rangement"
		return ""
	case "suite", "unit", "ensuite", "insuite", "home", "private", "own", "inunit", "exclusive":
		return "washer_dryer"
	case "separate", "dedicated", "independent": // a room of the home, with or without machines
		return ""
	case "site", "onsite", "coin", "shared", "share", "common", "card", "operated", "op", "building", "basement", "house":
		return "laundry_in_building"
	}
	if public {
		return "laundry_in_building"
	}
	if w := p.word(end + 1); p.word(end) == "room" && (w == "with" || w == "has") {
		return ""
	}
	k = end + 1
	if copulas[p.word(k)] { // "laundry is shared"
		k++
	}
	label := p.sym(k) == ':'
	for n := 0; n < 4 && (laundryFillers[p.word(k)] || p.sym(k) == '-' || n == 0 && (label || p.sym(k) == '(')); n++ {
		k++
	}
	switch p.word(k) { // "Laundry: shared", "Laundry (coin)", "Laundry: in-suite"
	case "shared", "common", "coin", "commune", "partagee", "payante":
		if !p.about(k+1, anAmenity) && !ownRooms[p.word(k+1)] { // not "Laundry - shared backyard"
			return "laundry_in_building"
		}
	case "private", "insuite":
		if label {
			return "washer_dryer"
		}
	}
	switch p.word(k) {
	case "suite", "unit", "ensuite", "apartment", "unite", "logement", "appartement", "privee", "integree", "condo":
		return "washer_dryer"
	case "building", "site", "onsite", "every", "each":
		return "laundry_in_building"
	case "basement", "main", "lower":
		if !label { // "Laundry: main floor" may be that of a whole house
			return "laundry_in_building"
		}
	}
	if shared { // "shared kitchen, laundry", not "shared kitchen, laundry in unit"
		return "laundry_in_building"
	}
	if p.seq(i, "laundry", "room") && p.roomOfHome(i) {
		return ""
	}
	if w := p.word(end + 1); end == i && p.word(i) == "laundry" && w != "facilities" && w != "facility" {
		return ""
	}
	return "laundry_in_building"
}

// roomOfHome tells whether the sentence of the laundry room at i is of the rooms of a home, and not of a building: "a
// large bathroom, balcony, laundry room".
func (p *Prose) roomOfHome(i int) bool {
	rooms := false
	for k := i - 1; k >= 0 && k >= i-14 && !p.stop(k+1); k-- {
		if buildingThings[p.word(k)] {
			return false
		}
		rooms = rooms || p.about(k, aBathroom) && p.word(k) != "eau"
	}
	for k := i + 2; rooms && k <= i+14 && !p.stop(k); k++ {
		if buildingThings[p.word(k)] {
			return false
		}
	}
	return rooms
}

// buildingThings stand on lists of what a building has.
var buildingThings = set("building bldg elevator elevators gym pool sauna site onsite common shared coin concierge " +
	"fitness basement complex card")

// coins tells whether the laundry named in tokens i..end costs by the load: "salle de lavage ($)", "coin laundry".
func (p *Prose) coins(i, end int) bool {
	if p.sym(end+1) == '(' {
		end++
	}
	return p.word(i-1) == "coin" || p.sym(end+1) == '$'
}

// nextDoor tells whether "next" at i says that a shop is next door, and not where in the building a room is: "next door
// to the unit".
func (p *Prose) nextDoor(i int) bool {
	if p.word(i+1) != "door" {
		return false
	}
	for k := i + 2; k <= i+5 && !p.stop(k) && p.sym(k) != ','; k++ {
		switch p.word(k) {
		case "building", "bldg", "unit", "suite", "apartment", "hallway", "hall":
			return false
		}
	}
	return true
}

// washer tells the home's washer and dryer, named in tokens i..end, from the building's and from a place where tenants
// may put theirs.
func (p *Prose) washer(i, end int) string {
	k := i - 1
	for w := p.word(k); w == "votre" || w == "vos" || w == "une" || w == "la" || w == "your" || w == "own" ||
		w == "propre" || w == "propres"; w = p.word(k) {
		k--
	}
	if w := p.word(k); (w == "coin" || w == "card") && strings.HasPrefix(p.word(i), "wash") {
		return "laundry_in_building"
	} else if w == "installer" || w == "brancher" || w == "install" || broughtIn[w] && k < i-1 || hookupNames[p.word(end+1)] ||
		p.sym(end+1) == ':' && hookupNames[p.word(end+2)] || p.hookupBefore(i) ||
		p.seq(k-1, "dessus", "de") { // "unité murale au-dessus de la laveuse"
		return "washer_dryer_hookups"
	} else if w == "shared" || w == "common" || w == "coin" || w == "operated" || w == "op" {
		return "laundry_in_building"
	} else if p.word(end+1) == "ready" && p.listEnds(end+2) {
		return "washer_dryer_hookups"
	}
	for k := end + 1; k <= end+7 && !p.stop(k) && p.sym(k) != ',' && !p.buildingBegins(k); k++ {
		if laundryShared[p.word(k)] {
			return "laundry_in_building"
		}
		switch p.word(k) {
		case "immeuble":
			if w := p.word(k - 2); p.word(k-1) == "l" && (w == "dans" || w == "de") {
				return "laundry_in_building"
			}
		case "building":
			if p.word(k-1) == "the" {
				return "laundry_in_building"
			}
		case "site", "place":
			if w := p.word(k - 1); w == "on" || w == "sur" {
				return "laundry_in_building"
			}
		case "logement", "appartement", "unit", "unite", "suite":
			return "washer_dryer"
		}
		if p.sym(k+1) == ',' && laundryShared[p.word(k+2)] { // "in the basement, shared with upstairs"
			return "laundry_in_building"
		}
	}
	if w := p.word(i); w == "washers" || w == "laveuses" { // those of each home would be one
		return "laundry_in_building"
	}
	return "washer_dryer"
}

// broughtIn stand before "your own washer": there is a place for it.
var broughtIn = set("bring apportez amenez apporter")

// noNeedOf tells whether the laundromat at i is one that nobody needs: "no need for a laundromat", "plus besoin d'aller
// à la buanderie".
func (p *Prose) noNeedOf(i int) bool {
	for k := i - 1; k >= i-7 && !p.stop(k+1) && p.sym(k) != ','; k-- {
		if w := p.word(k); w == "need" || w == "besoin" {
			w := p.word(k - 1)
			return denials[w] || w == "plus" || w == "t"
		}
	}
	return false
}

// laundryShared behind a washer say that it is the building's.
var laundryShared = set("commune communes partagee partagees shared common payante payantes monnaie cout")

// hookupNames are what a washer is joined to, or its place, before or after it.
var hookupNames = set("inlet inlets outlet outlets hookup hookups connection connections connexion connexions entry " +
	"entree entrees entre entrer acces prise prises sortie sorties installation installations branchement branchements " +
	"emplacement espace placard raccordement raccordements place pret prets prevu prevue plomberie plumbing plumbed " +
	"tuyauterie raccord raccords drain drains renvoi renvois")

// hookupBefore tells whether a hookup or a place leads to the washer at i: "raccordement pour la laveuse", "entrée
// lave-vaisselle, laveuse".
func (p *Prose) hookupBefore(i int) bool {
	for k := i - 1; k >= 0 && k >= i-6 && !p.words[k+1].line && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case hookupNames[w], w == "room" && p.word(k+1) == "for", p.volts(k), w == "eau" && p.word(k+1) == "pour",
			k == i-1 && (w == "coin" || w == "salle"):
			return p.word(k+1) != "a" && !p.deniedThing(k)
		case w == "mettre", w == "installer", w == "brancher", w == "vos", w == "le",
			w == "pour", w == "de", w == "for", w == "la", w == "une", w == "et", w == "lave", w == "vaisselle",
			w == "a", w == "lavage", w == "your" || w == "votre" || w == "own",
			p.words[k].kind == symbol && p.word(k+1) == "vaisselle", p.sym(k) == ',' && p.word(k-1) == "vaisselle":
		default:
			return false
		}
	}
	return false
}

// volts tells whether the number at i is of the outlet that a dryer needs: "220 et eau pour laveuse-sécheuse".
func (p *Prose) volts(i int) bool {
	t := p.num(i)
	return t != nil && (t.cents == 220_00 || t.cents == 240_00)
}

// sharedAfter tells whether the washer at i is the building's, costs by the load or comes on request.
func (p *Prose) sharedAfter(i int) bool {
	for k := i + 1; k < len(p.words) && k <= i+7 && !p.words[k].line && !p.stop(k) && p.sym(k) != ','; k++ {
		if p.buildingBegins(k) {
			return false
		}
		switch w := p.word(k); w {
		case "immeuble", "buanderie", "demande", "load", "loads", "brassee", "coin", "building", "hook", "hookup", "hookups",
			"connections":
			return true
		default:
			if laundryShared[w] {
				return true
			}
		}
	}
	return false
}

// buildingBegins tells whether the building is the subject from token k on, as where writers leave the full stop out:
// "laveuse et sécheuse L'immeuble inclut un gym". "Dans l'immeuble" and "in the building" say where something is.
func (p *Prose) buildingBegins(k int) bool {
	w, before := p.word(k+1), p.word(k-1)
	if p.word(k) == "l" && w == "immeuble" || p.word(k) == "the" && w == "building" {
		switch before {
		case "dans", "de", "a", "par", "in", "of", "inside", "at", "by", "for", "within":
			return false
		}
		v := p.word(k + 2)
		return active[v] || copulas[v] || v == "inclus" || v == "offre" || v == "possede" || v == "dispose" ||
			v == "offers" || v == "has"
	}
	return false
}

// loadBefore tells whether a sum for a load stands before the washer at i: "(1,25 $ laveuse/sécheuse)".
func (p *Prose) loadBefore(i int) bool {
	t := p.num(i - 2)
	return p.sym(i-1) == '$' && t != nil && t.cents < 10_00
}
