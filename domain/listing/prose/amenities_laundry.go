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
	if p.amongRooms(i, end) {
		return ""
	}
	k := i - 1
	for p.sym(k) == '-' {
		k--
	}
	switch p.word(k) {
	case "espace": // of the home: "espace buanderie et rangement"
		return ""
	case "suite", "unit", "ensuite", "insuite", "home", "private", "own", "inunit":
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
	for n := 0; n < 4 && (laundryFillers[p.word(k)] || p.sym(k) == '-' || n == 0 && label); n++ {
		k++
	}
	if label {
		switch p.word(k) { // "Laundry: shared", "Laundry: in-suite"
		case "shared", "common", "coin", "commune", "partagee", "payante":
			return "laundry_in_building"
		case "private", "insuite":
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
	if w := p.word(end + 1); end == i && p.word(i) == "laundry" && w != "facilities" && w != "facility" {
		return ""
	}
	return "laundry_in_building"
}

// coins tells whether the laundry named in tokens i..end costs by the load: "salle de lavage ($)", "coin laundry".
func (p *Prose) coins(i, end int) bool {
	if p.sym(end+1) == '(' {
		end++
	}
	return p.word(i-1) == "coin" || p.sym(end+1) == '$'
}
