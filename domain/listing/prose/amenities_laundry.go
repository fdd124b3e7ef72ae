package prose

var laundryFillers = set("in on the dans l le available facilities facility room")

// laundry tells the laundry of the home from the building's: what stands beside the words i..end for it decides, and
// "laundry" alone says neither.
func (p *Prose) laundry(i, end int) string {
	if p.coins(i, end) {
		return "laundry_in_building"
	}
	if p.word(end) == "lavage" { // a room of the home, unless it is said to be the building's
		for k := end + 1; k <= end+7 && !p.stop(k) && p.sym(k) != ','; k++ {
			if w := p.word(k); w == "immeuble" || w == "batiment" || w == "chaque" || w == "commune" ||
				p.seq(k, "sous", "sol") || p.seq(k, "sous", "", "sol") {
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
	if w := p.word(end + 1); p.word(end) == "room" && (w == "with" || w == "has") {
		return ""
	}
	k = end + 1
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
