package prose

import "strings"

// noParking tells whether the parking at i is denied: "aucun stationnement inclus", "0 parking included".
func (p *Prose) noParking(i int) bool {
	t := p.num(i - 1)
	return p.deniedThing(i) || t != nil && t.cents == 0
}

// thingNames are the one-word names of the things that a rent may include.
var thingNames = meanings(map[utility]string{
	heat:         "chauffage heat heating",
	electricity:  "eclairage electricite electricity hydro elec electrique power",
	water:        "eau water",
	internet:     "internet wifi",
	cable:        "cable cables cablo television tv tele",
	parkingPlace: "stationnement stationnements stationement parking parkings garage",
	furniture:    "meubles furniture",
	otherThing:   "chauffe chauffee",
	collective:   "utilities utilites",
})

// thing reads the name of something that a rent may include, at i, and returns its last token.
func (p *Prose) thing(i int) (utility, int) {
	w, next := p.word(i), p.word(i+1)
	switch what := thingNames[w]; {
	case what == cable && (p.word(i-1) == "smart" || p.word(i-1) == "screen"): // a set, not a subscription
		return otherThing, i
	case w == "services": // "comprend tous les services", but not "près de tous les services"
		if l := p.word(i - 3); p.seq(i-2, "tous", "les") && l != "de" && l != "a" || p.word(i-1) == "all" {
			return collective, i
		}
		return otherThing, i
	case what == heat && (next == "electrique" || next == "central"):
		return heat, i + 1
	case what == otherThing && (next == "eau" || p.sym(i+1) == '-' && p.word(i+2) == "eau"): // "chauffe-eau"
		return otherThing, i + 1
	case w == "power" && powered[next]:
		return otherThing, i + 1
	case w == "hydro" && p.sym(i+1) == '-' && p.word(i+2) == "quebec":
		return electricity, i + 2
	case w == "hydro" && next == "quebec":
		return electricity, i + 1
	case w == "water" && p.word(i-1) == "hot":
		return hotWater, i
	case what == water && (next == "chaude" || next == "ch" || next == "chaud"):
		return hotWater, i + 1
	case what == water && p.sym(i+1) == '-' && p.word(i+2) == "chaude":
		return hotWater, i + 2
	case what == water && (p.seq(i-2, "a", "l") || p.word(i-1) == "d" && watersOf[p.word(i-2)]): // "chauffage à l'eau"
		return otherThing, i
	case what == water && p.sym(i-1) == '-' && p.word(i-2) == "chauffe":
		return otherThing, i
	case what != noUtility:
		return what, i
	case w == "au" && next == "chaude": // a slip of "eau chaude"
		return hotWater, i + 1
	case w == "hot" && next == "water":
		return hotWater, i + 1
	case w == "wi" && (p.word(i+2) == "fi" || next == "fi"):
		return internet, i + 2
	case things[w] || p.about(i, anAmenity):
		return otherThing, i
	}
	return noUtility, i
}

// powered are things that "power" stands before, as in "power outlets".
var powered = set("outlet outlets window windows tool tools wash washing backup generator door doors recliner " +
	"shower supply cord")

// watersOf are things "d'eau" that are not the water.
var watersOf = set("salle salles entree entrees bord point chute vue taxe taxes")

// things go on lists of inclusions without being a field of Utilities.
var things = set("electromenager electromenagers electros electro refrigerateur refrigerateurs frigo frigidaire " +
	"poele cuisiniere four laveuse " +
	"secheuse lave vaisselle deneigement gym piscine casier rangement locker balcon micro ondes micros onde ac " +
	"climatiseur store stores " +
	"rideaux toiles appliances fridge stove washer dryer dishwasher microwave gaz gas tondage gazon taxes taxe " +
	"ameublement luminaires " +
	"entretien janitor conciergerie concierge snow removal rangements cabanon sauna spa telephone phone " +
	"buanderie laundry conditioning conditioner sewer garbage recycling trash blinds curtains coverings fixtures " +
	"furnishings smart netflix linens bedding dishes maintenance lawn security cleaning housekeeping " +
	"aspirateur echangeur fibre optique illimite illimitee haute vitesse unlimited high speed exterieur interieur " +
	"lit lits commode divan sofa couch table tables chaises desk ustensiles utensils cookware " +
	"mazout propane huile " +
	"appareil appareils insurance assurance assurances literie vaisselles electrique terminal videotron decodeur")

// accentedAt tells whether the text has the word at i with an accent, whatever its case.
func (p *Prose) accentedAt(i int) bool {
	t := &p.words[i]
	from := int(p.at[t.start])
	return from+len(t.w) > len(p.text) || !strings.EqualFold(p.text[from:from+len(t.w)], t.w)
}
