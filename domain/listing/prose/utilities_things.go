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
	collective:   "utilities utilites bills",
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
	case (w == "energie" || w == "energy") && p.costOf(i): // "coûts de l'énergie à vos frais"
		return collective, i
	case (w == "lights" || w == "light" && (p.listEnds(i+1) || p.about(i+1, anInclusion) || copulas[next])) &&
		p.lightsWithHeat(i): // "heat and lights included"
		return electricity, i
	case (next == "hydro" || next == "power") && suppliers[w]: // "BC Hydro"
		return electricity, i + 1
	case w == "lumieres" && (p.sym(i-1) == '+' && (p.listEnds(i+1) || p.sym(i+1) == '(') ||
		p.lightsWithHeat(i)): // "1 650 $ + lumières"
		return electricity, i
	case w == "electric" && p.electricItem(i):
		return electricity, i
	case w == "power" && powered[next]:
		return otherThing, i + 1
	case w == "hydro" && p.sym(i+1) == '-' && p.word(i+2) == "quebec":
		return electricity, i + 2
	case w == "hydro" && next == "quebec":
		return electricity, i + 1
	case w == "eau" && next == "chaude" && (p.seq(i-3, "chauffage", "a", "l") || p.seq(i-2, "chauffage", "a")):
		// a sort of heating
		return otherThing, i + 1
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

// electricItem tells whether "electric" at i is the electricity, as an item of its own: "heat, electric and internet",
// and not "electric stove" or "heat: electric".
func (p *Prose) electricItem(i int) bool {
	if label, _ := p.thing(i - 2); label == heat && (p.sym(i-1) == ':' || p.sym(i-1) == '-' || p.sym(i-1) == '(') ||
		!p.itemBegins(i) && !p.orAnd(i-1) && !articles[p.word(i-1)] && p.word(i-1) != "own" {
		return false
	}
	s := p.sym(i + 1)
	return p.listEnds(i+1) || s == '/' || s == '+' || p.orAnd(i+1) && p.word(i+1) != "or" || copulas[p.word(i+1)] ||
		p.about(i+1, anInclusion|aNegation)
}

// costOf tells whether the thing at i is what something costs for: "frais d'énergie", "energy costs".
func (p *Prose) costOf(i int) bool {
	k := i - 1
	for w := p.word(k); w == "l" || w == "d" || w == "de" || w == "the" || w == "for" || w == "of"; w = p.word(k) {
		k--
	}
	return energyCosts[p.word(k)] || energyCosts[p.word(i+1)]
}

var energyCosts = set("cout couts frais depense depenses cost costs bill bills")

// lightsWithHeat tells whether the lights at i are electricity, for they stand beside heat or water on a list of what a
// rent includes: "heat + lights", "heat, hot water, lights".
func (p *Prose) lightsWithHeat(i int) bool {
	w := p.word(i - 2)
	if copulas[p.word(i+1)] && p.itemBegins(i) {
		switch p.word(i + 2) {
		case "extra", "not", "included", "yours": // "lights are extra"
			return true
		}
	}
	if l := p.word(i - 1); p.word(i+1) == "extra" && (p.sym(i-1) == ',' || l == "and") || l == "pay" || l == "pays" ||
		l == "own" && strings.HasPrefix(p.word(i-2), "pay") { // "lights extra", "you pay lights"
		return true
	}
	if l := p.word(i - 1); (l == "not" || l == "the" && p.word(i-2) == "not") && p.listEnds(i+1) &&
		(p.seq(i-2, "but") || p.seq(i-3, "but")) { // "heat is included but not the lights"
		return true
	}
	if l := p.word(i + 2); (p.word(i+1) == "and" || p.word(i+1) == "et" || p.sym(i+1) == '&' || p.sym(i+1) == '+') &&
		(l == "heat" || l == "heating" || l == "water" || l == "chauffage" || l == "eau") && p.word(i) != "light" &&
		(p.itemBegins(i) || p.about(i-1, anInclusion)) { // "lights and heat", "lumières et eau"
		return true
	}
	switch p.sym(i - 1) {
	case '+', '&', ',', '/':
	default:
		if p.word(i-1) != "and" {
			return false
		}
	}
	return w == "heat" || w == "heating" || w == "water" || w == "heated" || w == "chauffage" || w == "chaude"
}

// suppliers stand before "Hydro" and "Power" in the names of those who sell electricity.
var suppliers = set("bc nb ns nl toronto manitoba ottawa")

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
	"mazout propane huile oil fortis fortisbc enbridge " +
	"energy energie cac indoor outdoor underground spot spots stall stalls " +
	"appareil appareils insurance assurance assurances literie vaisselles electrique terminal videotron decodeur")

// accentedAt tells whether the text has the word at i with an accent, whatever its case.
func (p *Prose) accentedAt(i int) bool {
	t := &p.words[i]
	from := int(p.at[t.start])
	return from+len(t.w) > len(p.text) || !strings.EqualFold(p.text[from:from+len(t.w)], t.w)
}

// sumFillers stand with a sum between a thing and its verdict.
var sumFillers = set("a par per mois month mth mo m environ env about around approx approximately " +
	"approximativement de average moyenne en")

// pricedThing reads the thing before the sum that ends at i: "internet 40 $" before "extra", "electricity approx
// 35$/mth" before "not included". It is noUtility when there is none.
func (p *Prose) pricedThing(i int) (what utility, from int) {
	sum, bracket, k := false, false, i
	for ; k >= 0 && k >= i-8 && !p.stop(k+1); k-- {
		switch s := p.sym(k); {
		case s == '$':
			sum = true
		case s == ')' && k < i && !bracket && p.utilityAt(k-1): // "utilities (heat, hydro) approx. $150" before "extra"
			for k >= i-20 && k > 0 && p.sym(k) != '(' && !p.stop(k) {
				k--
			}
			i, bracket = k, true
		case s == '/' || s == '(' || s == ')' || s == '~' || s == '.' || s == ':' || s == '-' || sumFillers[p.word(k)]:
		case p.num(k) != nil:
		default:
			if halfNames[p.word(k)] { // "eau chaude"
				k--
			}
			if what, _ = p.thing(k); sum && (what < parkingPlace || what == collective) {
				return what, k
			}
			return noUtility, k
		}
	}
	return noUtility, k
}
