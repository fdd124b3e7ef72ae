package prose

// sharedParts are parts of a building that a home does not have of its own: what stands beside one is in the building.
// A door is that of the home on its floor.
var sharedParts = set("elevator elevators ascenseur ascenseurs lobby gym pool piscine corridor couloir hallway hall " +
	"mailboxes office casiers lockers unit units suite suites door porte")

// buildingParts are those, and others that may be of a house as well.
var buildingParts = func() map[string]bool {
	m := set("laundry buanderie lavage rangement rangements locker casier garage parking stationnement stairs escalier " +
		"sauna lounge party amenity rooftop reception entrance entree entrainement")
	for w := range sharedParts {
		m[w] = true
	}
	return m
}()

// placeFillers lead to what a thing stands by.
var placeFillers = set("the de du des d la le les l votre your our ton salle")

// standsBy tells whether the thing at i is said to stand by one of the parts: "laundry room next to the gym". "Piscine
// municipale" is none of a building.
func (p *Prose) standsBy(i int, parts map[string]bool) bool {
	for k := i + 1; k <= i+7 && !p.stop(k) && !p.listMark(k) && p.sym(k) != '+'; k++ {
		if p.placeEnds(k, standing) < 0 {
			continue
		}
		for k++; placeFillers[p.word(k)]; {
			k++
		}
		next := p.word(k + 1)
		return parts[p.word(k)] && next != "municipale" && next != "publique" && next != "public"
	}
	return false
}

// landmarkOf tells whether the thing at i is what one of the parts stands by: the gym of "laundry room next to the
// gym". In "près d'un gym" nothing does.
func (p *Prose) landmarkOf(i int, parts map[string]bool) bool {
	k := i - 1
	for n := 0; n < 4 && placeFillers[p.word(k)]; n++ {
		k--
	}
	from := p.placeEnds(k, standing)
	if from < 0 {
		return false
	}
	for k = from - 1; placedBy[p.word(k)]; {
		k--
	}
	return parts[p.word(k)]
}

// placedBy may stand between a part of a building and where it is.
var placedBy = set("room rooms spot spots area is est situe situee located right juste just directly directement")

// deniedAmong tells whether the thing in tokens i..end is on a list that begins with "no" and closes with "or": "no
// elevator or gym", "no gym, pool or sauna", "neither gym nor pool".
func (p *Prose) deniedAmong(i, end int) bool {
	joint := joinsDenied(p.word(i - 1))
	if p.sym(end+1) == ',' || joinsDenied(p.word(end+1)) {
		for k := end + 1; !joint && k <= end+6 && !p.stop(k); k++ {
			joint = joinsDenied(p.word(k))
		}
	}
	return joint && (p.word(i-1) == "neither" || p.deniedList(i) >= 0)
}

func joinsDenied(w string) bool { return w == "or" || w == "nor" || w == "ni" }
