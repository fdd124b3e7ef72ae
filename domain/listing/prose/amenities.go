package prose

import (
	"slices"
	"strings"
)

// An amenityName is one way to name an amenity, as folded words.
type amenityName struct {
	amenity string
	words   []string
}

// amenityNames lists the names in both languages. "*" matches any one word.
var amenityNames = func() (list []amenityName) {
	for amenity, names := range map[string]string{
		"air_conditioning": "climatisation|climatiseur|climatiseurs|climatise|climatisee|climatisees|air climatise|air climatiser|" +
			"aire climatise|aire climatiser|air conditioning|air " +
			"conditioned|air conditioner|airconditioning|air conditionne|air condition|thermopompe|thermopompes|" +
			"heat pump|heat pumps|central air|central ac|" +
			"full ac|ac unit|ac units|window ac|wall ac|portable ac|split ac|aircon|airco|air climatisation|air con|air cond|" +
			"mini split|minisplit",
		"balcony": "balcon|balcons|balcony|balconies|terrasse|terrasses|terrace|patio|galerie|grandes galeries|" +
			"galeries avant|galeries arriere|galeries privees|deux galeries",
		"yard": "cour arriere|cour privee|cour|cours arriere|cours avant|cours exterieure|cours privee|grande cours|yard|" +
			"backyard|jardin|terrain prive",
		"dishwasher": "lave vaisselle|lave - vaisselle|lave v|dishwasher|lavevaisselle",
		"washer_dryer": "washers and dryers|washers & dryers|washers / dryers|laveuses et secheuses|" +
			"laveuses secheuses|laveuses / secheuses|laveuses et les secheuses|laveuse secheuse|laveuse + secheuse|" +
			"laveuse et secheuse|laveuse et la secheuse|washer and a dryer|laveuse / secheuse|laveuse , secheuse|" +
			"laveuse & secheuse|" +
			"washer , and dryer|laveuse , une secheuse|laveuse et une secheuse|washer and dryer|washer / dryer|washer dryer|" +
			"washer & dryer|washer , dryer|washer + dryer|" +
			"machine a laver secheuse|machine a laver et secheuse|lave linge et seche linge|lave linge seche linge|lave linge / seche linge|lave linge , seche linge|" +
			"lave linge et d un seche linge|machine a laver et seche linge|machine a laver seche linge",
		"washer_dryer_hookups": hookupForms(),
		"laundry_in_building": "salle lavage|buanderie|buanderies|laundry room|laundry rooms|salle de lavage commune|" +
			"laundromat|laverie|buandrie|salle de buanderie|salles de buanderie|salle de lavage|laundry",
		"fridge":   "frigo|refrigerateur|frigidaire|fridge|refrigerator",
		"stove":    "poele|cuisiniere|stove|oven",
		"elevator": "elevateur|elevateurs|ascenseur|ascenseurs|elevator|elevators",
		"gym": "gym|salle d entrainement|salle dentrainement|salle d exercice|salle d exercices|salle de sport|exercise room|gymnase|fitness|" +
			"workout room|work out room|salle de conditionnement|centre de conditionnement",
		"pool":      "piscine|piscines|pool|swimming pool",
		"sauna":     "sauna",
		"fireplace": "foyer|fireplace",
		"storage": "rangement|rangements|casier|casiers|locker|lockers|loker|lokers|cabanon|cabanons|storage|remise|" +
			"remises|shed|entreposage|dentreposage",
		"intercom":        "intercom|interphone|intercoms|interphones",
		"security":        "systeme de securite|camera|cameras|gardien|security system|systeme d alarme|alarme",
		"concierge":       "concierge|concierges|conciergerie|janitor|doorman|superintendent",
		"wheelchair":      "mobilite reduite|wheelchair|handicape|fauteuil roulant",
		"central_vacuum":  "aspirateur central|central vacuum|balayeuse centrale",
		"hardwood_floors": "wood floor|wood floors|bois franc|bois francs|hardwood|plancher de bois|parquet",
		"bicycle_storage": "rangement velo|rangement a velo|rangement a velos|garage a velo|garage a velos|local a velos|" +
			"support a velo|support a velos|bike storage|bicycle parking|bike room",
	} {
		for name := range strings.SplitSeq(names, "|") {
			list = append(list, amenityName{amenity, strings.Fields(name)})
		}
	}
	slices.SortFunc(list, func(a, b amenityName) int { // the longest name first: "rangement vélo" before "rangement"
		if n := len(b.words) - len(a.words); n != 0 {
			return n
		}
		return strings.Compare(a.amenity+strings.Join(a.words, " "), b.amenity+strings.Join(b.words, " "))
	})
	return list
}()

// hookupForms lists the ways to name a place or a tap for a washer.
func hookupForms() string {
	forms := []string{"entrance washer", "space for washer", "space for a washer"}
	for _, tap := range [...]string{"entree", "entrees", "entre", "sortie", "sorties", "prise", "prises", "branchement",
		"branchements", "raccord", "raccords", "raccordement", "raccordements", "emplacement", "espace", "installation",
		"installations", "connexion", "connexions", "acces", "plomberie", "tuyauterie", "entree d eau", "entrees d eau",
		"sortie d eau", "sorties d eau", "arrivee d eau", "prise d eau", "prises d eau"} {
		for _, of := range [...]string{" ", " de ", " pour ", " pour la ", " pour les ", " pour une "} {
			forms = append(forms, tap+of+"laveuse", tap+of+"laveuses", tap+of+"machine a laver")
		}
	}
	for _, tap := range [...]string{"hookup", "hookups", "hook up", "hook ups", "hook", "outlet", "outlets", "connection",
		"connections", "inlet", "inlets", "plumbing"} {
		for _, washer := range [...]string{"washer", "washer dryer", "washer / dryer", "washer & dryer", "washer and dryer",
			"laundry", "washing machine"} {
			forms = append(forms, washer+" "+tap, tap+" for "+washer, tap+" for a "+washer, tap+" for the "+washer)
		}
	}
	for _, of := range [...]string{"plumbed for", "plumbed for a", "hooked up for", "wired for"} {
		forms = append(forms, of+" washer", of+" laundry")
	}
	return strings.Join(append(forms, "entree lav", "entrees lav"), "|")
}

// byFirstWord finds the amenity names that a word may begin.
var byFirstWord = func() map[string][]amenityName {
	m := map[string][]amenityName{}
	for _, a := range amenityNames {
		m[a.words[0]] = append(m[a.words[0]], a)
	}
	return m
}()

func (p *Prose) amenities(f func(name string, from, to int)) {
	last := -1 // of the name read before: "washer and dryer hookups" holds "washer and dryer"
	for i := range p.words {
		if from, ok := p.coldAir(i); ok {
			f("air_conditioning", from, i)
		}
		if p.word(i) == "four" && p.besideItems(i-1) && (p.besideItems(i+1) || p.sym(i+1) == ';') && !p.boughtBefore(i) { // an oven, on a French list
			f("stove", i, i)
		}
		if p.words[i].topic&anAmenity == 0 || i <= last {
			continue
		}
		for _, a := range byFirstWord[p.words[i].w] {
			end, ok := p.named(i, a.words)
			if !ok {
				continue
			}
			last = end
			name := a.amenity
			if name == "laundry_in_building" {
				name = p.laundry(i, end)
			}
			if name == "washer_dryer" {
				name = p.washer(i, end)
			}
			if name != "" && !p.deniedThing(i) && !p.deniedAmong(i, end) && !p.deniedAfter(end) && !p.elsewhere(i, name) &&
				!p.roomFor(i, name) && (!p.excludedList(i) || name == "laundry_in_building" && p.coins(i, end)) {
				f(name, i, end)
			}
			break
		}
	}
}

// excludedList tells whether the thing at i stands on the list that "non inclus :" or "exclusions :" begins.
func (p *Prose) excludedList(i int) bool {
	for k := i - 1; k > 0 && k >= i-14 && !p.words[k+1].line && p.sym(k) != '.' && p.sym(k) != ';'; k-- {
		if p.sym(k) == ':' {
			yes, _, _, ok := p.verdict(k - 1)
			return ok && !yes
		}
	}
	return false
}

// amongRooms tells whether the laundry in tokens i..end is one of the home's rooms: "cuisine à aire ouverte, buanderie,
// salle de bain".
func (p *Prose) amongRooms(i, end int) bool {
	if p.sym(i-1) != ',' || p.sym(end+1) != ',' && p.word(end+1) != "et" {
		return false
	}
	for k := end + 2; k <= end+4 && !p.stop(k) && p.sym(k) != ','; k++ {
		if p.about(k, aBathroom|aBedroom) || ownRooms[p.word(k)] {
			return true
		}
	}
	return false
}

// ownRooms are rooms that a building does not share.
var ownRooms = set("salon cuisine cuisinette boudoir vivoir kitchen living dining")

// deniedAfter tells whether "non incluses", "not included" or ": no" follows the thing that ends at i.
func (p *Prose) deniedAfter(i int) bool {
	if p.sym(i+1) == ':' {
		return answers[p.word(i+2)] == saysExcluded
	}
	if p.sym(i+1) == '(' && p.sym(i+3) == ')' {
		return answers[p.word(i+2)] == saysExcluded
	}
	w := p.word(i + 1)
	return !p.stop(i+1) && ((w == "non" || w == "not") && p.about(i+2, anInclusion) ||
		answers[w] == saysExcluded && p.listEnds(i+2))
}

// named matches the words of a name from token i, over hyphens.
func (p *Prose) named(i int, words []string) (end int, ok bool) {
	k := i
	for n, w := range words {
		if n > 0 {
			k++
			if p.sym(k) == '-' && w != "-" {
				k++
			}
		}
		switch {
		case len(w) == 1 && !isLetter(w[0]):
			if p.sym(k) != w[0] {
				return 0, false
			}
		case p.word(k) != w:
			return 0, false
		}
	}
	return k, true
}

// deniedThing tells whether "pas de", "sans", "no" stands before the thing at i.
func (p *Prose) deniedThing(i int) bool {
	for k := i - 1; k >= 0 && k >= i-4 && !p.words[k+1].line; k-- {
		switch p.word(k) {
		case "pas", "sans", "aucun", "aucune", "no", "without", "ni":
			return true
		case "have":
			return p.word(k-1) == "not" || p.word(k-1) == "t" // "doesn't have a balcony"
		case "a", "an":
			if p.word(k-1) == "have" {
				continue
			}
		case "de", "d", "any", "more", "onsite", "on", "site", "in", "unit", "suite", "ensuite", "private", "shared",
			"central":
			continue // "no on-site laundry"
		}
		if p.sym(k) != '-' || p.words[k].space { // not "Smoking: no - Central air"
			return false
		}
	}
	return false
}

// roomFor tells whether there is only a place or a tap for the thing at i: "espace pour lave-vaisselle", "porte patio".
func (p *Prose) roomFor(i int, amenity string) bool {
	switch amenity {
	case "balcony":
		if w := p.word(i + 1); p.word(i) == "galerie" && (shopGalleries[w] || w == "de" && p.num(i+2) == nil ||
			nearHeadings[p.word(i-1)] || nearHeadings[p.word(i-3)] || p.word(i-3) == "pas" ||
			p.shopItem(i)) {
			return true // "galerie de la Capitale", "galerie d'art", "musées, galerie, cafés"
		}
		return p.word(i) == "patio" && (p.word(i-1) == "porte" || p.word(i-1) == "portes" || p.sym(i-1) == '-' &&
			(p.word(i-2) == "porte" || p.word(i-2) == "portes"))
	case "storage": // "remise de 400 $" is money, "remise à l'état neuf" is work
		next := p.word(i + 1)
		return (p.word(i) == "remise" || p.word(i) == "remises") && (next == "de" || next == "en" ||
			next == "a" && !(p.word(i+2) == "l" && outerPlaces[p.word(i+3)]))
	case "hardwood_floors": // "laminate wood floors"
		return imitations[p.word(i-1)]
	case "dishwasher", "fridge", "stove", "washer_dryer":
	case "washer_dryer_hookups":
		return p.addedBefore(i)
	case "air_conditioning":
		if p.roughIn(i) || p.word(i-1) == "non" && strings.HasPrefix(p.word(i), "climatise") {
			return true
		}
		for k := i + 1; k <= i+5 && !p.stop(k) && p.words[k].kind != symbol && !p.about(k, aPet); k++ {
			if petVerdictOf(p.word(k)) == allowed { // "climatiseurs permis", "window units are allowed"
				return true
			}
		}
		for k := i - 1; k >= max(i-4, 0) && !p.listEnds(k+1); k-- {
			if w := p.word(k); w == "prevoir" || w == "installer" || w == "install" {
				return true
			}
		}
		return false
	default:
		return false
	}
	if amenity == "washer_dryer" && (p.sharedAfter(i) || p.loadBefore(i)) || p.boughtBefore(i) || p.optionalBefore(i) {
		return true
	}
	comma := false
	for k := i - 1; k >= 0 && k >= i-8 && !p.words[k+1].line && (!p.stop(k+1) || p.dotted(k+1)); k-- {
		comma = comma || p.sym(k) == ','
		switch p.word(k) {
		case "salle": // "salle de lavage, lave-vaisselle" is of two things
			return !comma
		case "coin", "possibilite", "acheter", "vendre":
			return true
		case "pour", "de", "d", "et", "laveuse", "secheuse", "for", "eau", "lave", "vaisselle", "lavage", "une", "la", "":
			continue
		case "un", "le", "l", "votre", "a", "your": // "et un lave-vaisselle" is one that is there
			if w := p.word(k - 1); w == "pour" || w == "for" {
				continue
			}
		}
		return hookupNames[p.word(k)]
	}
	return false
}

// imitations stand before a wood that is none.
var imitations = set("laminate laminated faux fake imitation vinyl")

// dotted tells whether the full stop at i parts a washer and a dryer, or stands behind both: "Entrée laveuse. Sécheuse.
// Lave-vaisselle." In "Entrée laveuse-sécheuse. Lave-vaisselle inclus" it ends what there is only a place for.
func (p *Prose) dotted(i int) bool {
	return p.sym(i) == '.' && (p.word(i-1) == "laveuse" && p.word(i+1) == "secheuse" ||
		p.word(i-1) == "secheuse" && p.sym(i-2) == '.' && p.word(i-3) == "laveuse")
}

// outerPlaces are where a shed is: "remise à l'extérieur".
var outerPlaces = set("exterieur arriere avant interieur")

// shopGalleries follow "galerie" where it is none of a home: "galerie d'art", "galerie marchande", "galerie photos".
var shopGalleries = set("d des marchande commerciale capitale charlesbourg photo photos images")

// elsewhere tells whether the thing at i is a sight of the neighbourhood: "près d'un gym", "piscine municipale".
func (p *Prose) elsewhere(i int, amenity string) bool {
	switch amenity {
	case "sauna":
		return p.farBehind(i) || p.aroundHome(i)
	case "laundry_in_building":
		return p.noNeedOf(i) || !p.standsBy(i, sharedParts) && !p.landmarkOf(i, sharedParts) && (p.aroundBefore(i, true) &&
			!p.ownBehind(i) || p.nearbyList(i) || p.underNearby(i) || p.amongShops(i) || p.theirs(i))
	case "gym", "pool", "yard", "concierge", "storage", "washer_dryer":
	default:
		return false
	}
	if p.standsBy(i, buildingParts) || p.landmarkOf(i, buildingParts) {
		return false
	}
	if p.theirs(i) || p.underNearby(i) || p.amongNear(i) {
		return true
	}
	for k, near := i-1, true; k >= 0 && k >= i-30 && !p.words[k+1].line && p.sym(k) != '.' && p.sym(k) != '!'; k-- {
		near = near && k >= i-5 && p.sym(k) != ',' && !p.bullet(k)
		switch p.word(k) {
		case "pres", "proche", "proximite", "near", "close", "pas", "minutes", "min", "recherche", "public":
			if near || p.sym(k+1) == ':' {
				return true
			}
		}
	}
	w := p.word(i + 1)
	return w == "municipale" || w == "publique" || w == "publiques" ||
		(amenity == "gym" || amenity == "pool") && (p.farBehind(i) || p.aroundHome(i))
}

// farBehind tells whether the words behind the thing at i, up to a comma, say that it is elsewhere: "pool and rec
// centre nearby", "salle de sport de l'autre côté de la rue". "Gym with shops nearby", "gym across the hall" and
// "piscine à deux pas du métro" are the home's.
func (p *Prose) farBehind(i int) bool {
	for k := i + 1; k <= i+7 && !p.stop(k) && p.sym(k) != ',' && p.sym(k) != '+'; k++ {
		switch p.word(k) {
		case "building", "immeuble", "with", "avec", "on", "in", "dans", "sur":
			return false
		case "nearby":
			return true
		case "face":
			return p.word(k-1) == "en"
		case "down":
			return p.seq(k+1, "the", "street") || p.seq(k+1, "the", "road") || p.seq(k+1, "the", "block")
		case "across", "accross":
			return p.seq(k+1, "the", "street") || p.seq(k+1, "the", "road") || p.word(k+1) == "from"
		case "l":
			if p.seq(k, "l", "autre", "cote") || p.seq(k, "l", "autre", "bord") {
				return true
			}
		case "a":
			if p.seq(k, "a", "deux", "pas") {
				return p.listEnds(k + 3)
			}
		}
	}
	return false
}

// boughtBefore tells whether the list up to the thing at i is of what may be bought.
func (p *Prose) boughtBefore(i int) bool {
	for k := i - 1; k >= i-12 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "acheter", "vendre", "vends", "vend", "buy", "selling", "sell":
			return true
		}
	}
	for k := i + 1; k <= i+7 && !p.stop(k) && p.sym(k) != ','; k++ {
		if yes, _, _, ok := p.verdict(k); ok && yes { // "laveuse-sécheuse incluses et divan à vendre"
			return false
		}
		if p.seq(k, "a", "vendre") || p.seq(k, "for", "sale") || p.word(k) == "sold" ||
			strings.HasPrefix(p.word(k), "vendu") {
			return true
		}
	}
	return false
}

// optionalBefore tells whether the machine at i is on a list of what may be had: "possibilité de semi-meublé (four,
// laveuse et sécheuse)". A list with a verdict behind it is none.
func (p *Prose) optionalBefore(i int) bool {
	for k := i - 1; k >= 0 && k >= i-14 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case w == "possibilite" || w == "possibility":
			for n := i + 1; n < len(p.words) && n <= i+6 && !p.stop(n); n++ {
				if p.about(n, anInclusion) {
					return false
				}
			}
			return true
		case optionFillers[w], p.words[k].kind == symbol, p.about(k, anAmenity|aFurnishing):
		default:
			return false
		}
	}
	return false
}

// addedBefore tells whether the hookup at i is not there yet: "possibilité d'ajout d'entrée laveuse et sécheuse".
func (p *Prose) addedBefore(i int) bool {
	k := i - 1
	for w := p.word(k); w == "d" || w == "de" || w == "une" || w == "l" || w == "des"; w = p.word(k) {
		k--
	}
	w := p.word(k)
	return w == "ajout" || w == "ajouter" || w == "add"
}

// optionFillers may stand between "possibilité" and a machine.
var optionFillers = set("de d avoir louer avec et semi le la les l un une four ajout ajouter inclure loue appartement " +
	"logement of to with and electromenagers electros micro ondes five")

// theirs tells whether the thing at i is the neighbours': "they have their own laundry".
func (p *Prose) theirs(i int) bool {
	k := i - 1
	for n := 0; n < 3 && (p.word(k) == "own" || adjectives[p.word(k)] || p.word(k) == "propre"); n++ {
		k--
	}
	return p.word(k) == "their" || p.word(k) == "leur" || p.word(k) == "leurs"
}

// deniedList finds the "no" that a list of short items up to token i begins with, "no pets, sublets or smoking", or
// returns -1.
func (p *Prose) deniedList(i int) int {
	joint := false
	for k, n := i-1, 0; k >= 0 && n < 16 && !p.words[k+1].line; k, n = k-1, n+1 {
		switch w := p.word(k); {
		case (w == "no" || w == "aucun" || w == "pas" || w == "sans" || w == "without" || w == "neither" ||
			p.notLetting(k)) && joint:
			return k
		case p.sym(k) == ',' || w == "or" || w == "nor" || w == "ni" || p.sym(k) == '/':
			joint = true
		case p.words[k].kind != word || p.about(k, anInclusion|aFreedom|aParking) || n > 0 && joint && w == "is":
			return -1
		}
	}
	return -1
}

// acceptWords behind "not" begin a list of what is not let in: "we don't accept pets or smokers".
var acceptWords = set("have accept allow want take permit")

// refusedList tells whether the item at i is on a list of what is not let in: "non acceptés : fumeurs, chiens".
func (p *Prose) refusedList(i int) bool {
	for k := i - 1; k > 0 && k >= i-8 && !p.words[k+1].line && !p.stop(k+1); k-- {
		if p.sym(k) == ':' {
			return p.refused(k - 1)
		}
	}
	return false
}

// refused tells whether the word at i is "interdits" or "acceptés" behind a "non".
func (p *Prose) refused(i int) bool {
	switch petVerdictOf(p.word(i)) {
	case banned:
		return true
	case allowed:
		return p.denied(i)
	}
	return false
}

// smokersHomes stand before "fumeur" where one may smoke in them.
var smokersHomes = set("bloc appartement logement immeuble edifice appart logis building")

// outdoors returns the last of the words from i on that say where one may smoke, ": outside", "on the balcony only", or
// i-1.
func (p *Prose) outdoors(i int) int {
	for k := i; k < i+5 && !p.stop(k) && p.sym(k) != ',' && p.sym(k) != '-' && !denials[p.word(k)]; k++ {
		switch p.word(k) {
		case "outside", "outdoors", "outdoor", "dehors":
			return k
		case "exterieur", "balcon", "balcony", "patio", "deck":
			if k > i { // "acceptés sur le balcon", not "acceptés balcon"
				return k
			}
		}
	}
	return i - 1
}

func (p *Prose) smoking() (value string, from, to int) {
	for i := range p.words {
		if !p.about(i, aSmoke) {
			continue
		}
		if p.word(i) == "fume" && p.word(i+1) == "pas" { // "on ne fume pas"
			return "no", i, i + 1
		}
		k := i - 1
		for n := 0; n < 3 && (p.sym(k) == '-' || p.word(k) == "de" || p.word(k) == "d" || p.word(k) == "la" ||
			p.word(k) == "sur" || p.word(k) == "des"); n++ {
			k--
		}
		switch p.word(k) {
		case "non", "pas", "no", "not", "aucun", "aucune", "sans", "ni", "interdit", "interdiction", "defense":
			if w := p.word(k - 1); w == "sent" || w == "sentent" { // "ne sent pas la cigarette"
				continue
			}
			return "no", k, i
		}
		if p.notLetting(k) { // "we do not accept smokers or pets"
			return "no", k - 1, i
		}
		if n := p.deniedList(i); n >= 0 { // "no pets or smoking"
			return "no", n, i
		}
		if p.sym(i+1) == ':' && answers[p.word(i+2)] == saysExcluded {
			return "no", i, i + 2
		}
		for n := i + 1; n <= i+5 && n < len(p.words) && !p.words[n].line && p.sym(n) != '.'; n++ {
			switch p.word(n) {
			case "exterieur", "outdoors", "outside", "balcon", "balcony", "dehors", "outdoor", "ext":
				return "outdoors", i, n
			case "interdit", "interdite", "interdits", "interdites", "prohibited", "free", "non", "forbidden", "no", "prohibe",
				"refuse", "refuses", "abstenir":
				return "no", i, n
			case "accepte", "acceptes", "permis", "allowed", "permitted", "ok", "bienvenus":
				if p.denied(n) || p.word(n-2) == "pas" || p.sym(n+1) == ':' && answers[p.word(n+2)] == saysExcluded {
					return "no", i, n
				}
				if to := p.outdoors(n + 1); to > n {
					return "outdoors", i, to
				}
				return "yes", i, n
			}
		}
		switch w := p.word(i); {
		case w == "smokefree":
			return "no", i, i
		case p.refusedList(i):
			return "no", i, i
		case (w == "fumeur" || w == "fumeurs") && smokersHomes[p.word(i-1)] && !p.refused(i+1): // "bloc fumeur"
			return "yes", i - 1, i
		}
	}
	return "", -1, -1
}
