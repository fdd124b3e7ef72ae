package prose

import "github.com/mtlrent/conveyor/domain/listing"

// A utility is one of the things that a rent may include.
type utility uint8

const (
	noUtility utility = iota
	heat
	hotWater
	electricity
	internet
	water
	cable
	parkingPlace
	furniture
	otherThing // an appliance, snow removal …: it goes on a list, nothing more
	everything
)

// inclusions are the verdicts of one text: the first about each utility, and all when "tout inclus" was said.
type inclusions struct {
	listing.Utilities
	all     bool
	parking *bool
}

// findings say which tokens a verdict was read from.
type findings [everything + 1]struct{ from, to int }

func (u *inclusions) say(what utility, yes bool) (first bool) {
	var slot **bool
	switch what {
	case heat:
		slot = &u.Heat
	case hotWater:
		slot = &u.HotWater
	case electricity:
		slot = &u.Electricity
	case internet:
		slot = &u.Internet
	case water:
		slot = &u.Water
	case cable:
		slot = &u.Cable
	case parkingPlace:
		slot = &u.parking
	default:
		return false
	}
	if *slot != nil {
		return false
	}
	v := yes
	*slot = &v
	return true
}

// utilities reads every verdict on what the rent includes.
func (p *Prose) utilities() (u inclusions, where findings) {
	all, allAt := false, [2]int{}
	say := func(what utility, yes bool, from, to int) {
		if u.say(what, yes) {
			where[what].from, where[what].to = from, to
		}
	}
	for i := range p.words {
		t := &p.words[i]
		if t.topic&(anInclusion|aUtility|aFurnishing) == 0 && t.w != "sauf" && t.w != "except" && t.w != "excepte" {
			continue
		}
		if yes, on := p.participle(i); on != noUtility {
			from := i
			for !yes && from > 0 && from > i-2 && !p.words[from].line {
				from--
			}
			say(on, yes, from, i)
			if yes {
				p.beside(i, func(what utility, k int) { say(what, true, i, k) })
			}
		}
		if p.shortBoth(i) {
			say(heat, true, i, i+2)
			say(electricity, true, i, i+2)
		}
		if what := p.onTop(i); what != noUtility {
			say(what, false, i-1, i)
		}
		if w := p.word(i - 1); (w == "avec" || w == "with") && (p.sym(i-2) == '$' || p.word(i-2) == "mois") {
			if what, end := p.thing(i); what == heat && end == i { // "560 $ avec chauffage"; "730 $ avec hydro" is a sum
				say(heat, true, i, i)
				p.beside(i, func(what utility, k int) { say(what, true, i, k) })
			}
		}
		if on := p.shortDenial(i); on != noUtility {
			say(on, false, i, i+2)
		}
		if end := p.notHeatedNotLit(i); end > i {
			say(heat, false, i, end)
			say(electricity, false, i, end)
		}
		if e := p.heatedNotLit(i); e > i {
			say(electricity, false, i, e)
		}
		if t.topic&anInclusion == 0 {
			continue
		}
		yes, from, to, ok := p.verdict(i)
		if !ok {
			continue
		}
		if k := p.nothing(i, from); k >= 0 {
			for _, what := range [...]utility{heat, hotWater, electricity} {
				say(what, false, k, to)
			}
			continue
		}
		if yes && p.everything(from) {
			all, allAt = true, [2]int{max(from-1, 0), to}
			p.list(to+1, func(what utility, k int) { say(what, true, i, k) })
			continue
		}
		if k := p.butNot(to + 1); yes && k > 0 {
			p.list(k, func(what utility, end int) { say(what, false, to+1, end) })
		}
		n := 0
		p.listBefore(from-1, func(what utility, k int) {
			n++
			say(what, yes, k, to)
		})
		if end := p.heading(to); end > 0 && n == 0 {
			p.lines(end, func(what utility, k int) { say(what, yes, k, k) })
		} else if n == 0 || p.sym(to+1) == ':' {
			p.list(to+1, func(what utility, k int) { say(what, yes, from, k) })
		}
	}
	if all {
		u.all = true
		where[everything].from, where[everything].to = allAt[0], allAt[1]
		p.exceptions(allAt[1], func(what utility, k int) {
			switch what { // an exception is nearer the truth than what was said before
			case heat:
				u.Heat = nil
			case electricity:
				u.Electricity = nil
			case hotWater:
				u.HotWater = nil
			}
			say(what, false, allAt[0], k)
		})
		for _, what := range [...]utility{heat, hotWater, electricity} {
			say(what, true, allAt[0], allAt[1])
		}
	}
	return u, where
}

// The words for heated and for lit, and those that may stand between the two.
var (
	heatedWords = set("chauffe chauffes chauffee chauffees chauffer chauffez")
	litWords    = set("eclaire eclaires eclairee eclairees eclairer eclairez")
	litFillers  = set("et eau chaude inclus incluse inclue compris comprise fourni fournie")
)

// participle reads "chauffé", "non éclairé", "heated" at i.
func (p *Prose) participle(i int) (yes bool, on utility) {
	w := p.word(i)
	switch {
	case heatedWords[w] || w == "heated" || w == "chauf" || w == "unheated":
		if p.heatedThing(i) {
			return false, noUtility
		}
		return w != "unheated" && !p.denied(i), heat
	case litWords[w]:
		if p.denied(i) {
			return false, electricity
		}
		// Without a denial it is electricity only beside "chauffé" or "eau chaude": alone, and after "bien", it means
		// bright.
		for k := i - 1; k >= 0 && k >= i-7; k-- {
			switch w := p.word(k); {
			case heatedWords[w]:
				return !p.denied(k) || p.word(i-1) == "mais", electricity
			case w != "" && !litFillers[w]:
				return false, noUtility
			}
			if p.sym(k) == '.' || p.sym(k) == ';' || p.words[k].line {
				break
			}
		}
		switch n := p.word(i + 2); n {
		case "chauffe", "chauffee", "chauffes", "chauffees", "eau":
			if n == "eau" && p.word(i+3) != "chaude" {
				break
			}
			if p.word(i-1) != "bien" && p.word(i-1) != "tres" && (p.word(i+1) == "et" || p.sym(i+1) == '/' ||
				p.sym(i+1) == '-' && n != "eau" || p.sym(i+1) == '+') {
				return true, electricity
			}
		}
	case w == "ecl": // "chauffé/écl."
		if s := p.sym(i - 1); s == '/' || s == '-' || s == '&' {
			if w := p.word(i - 2); w == "chauffe" || w == "chauffee" || w == "chauf" || w == "ch" {
				return !p.denied(i - 2), electricity
			}
		}
	}
	return false, noUtility
}

// beside calls f when "eau chaude" or "wifi" follows the participle at i on the same list without a verdict of its own:
// "chauffé, éclairé, eau chaude". "Chauffé à l'eau chaude" is a sort of heating.
func (p *Prose) beside(i int, f func(what utility, last int)) {
	for k, n := i+1, 0; n < 9 && k < len(p.words) && !p.words[k].line; k, n = k+1, n+1 {
		switch s := p.sym(k); {
		case s == ',' || s == '/' || s == '&' || s == '+' || s == '-':
			continue
		case s != 0:
			return
		}
		if p.word(k) == "et" {
			continue
		}
		what, end := p.thing(k)
		if p.word(k) == "ec" { // "chauffé/EC"
			what = hotWater
		}
		if what != hotWater && what != internet && what != cable {
			if yes, on := p.participle(k); on == electricity && yes {
				continue
			}
			return
		}
		for m := end + 1; m <= end+3 && m < len(p.words); m++ {
			if p.about(m, anInclusion|aNegation) {
				return
			}
		}
		f(what, end)
		k = end
	}
}

// onTop reads the cost at i that "590 $ + hydro" adds to the rent.
func (p *Prose) onTop(i int) utility {
	if p.sym(i-1) != '+' && p.word(i-1) != "plus" || i < 2 {
		return noUtility
	}
	if t := p.num(i - 2); p.sym(i-2) != '$' && p.word(i-2) != "mois" && p.word(i-2) != "month" && (t == nil ||
		t.digits < 3) {
		return noUtility
	}
	what, end := p.thing(i)
	if what != electricity && what != heat {
		return noUtility
	}
	for k := end + 1; k <= end+4; k++ {
		if p.about(k, anInclusion) {
			return noUtility
		}
	}
	return what
}

// An inclusionWord is how a word says whether something is in the rent.
type inclusionWord uint8

const (
	saysIncluded inclusionWord = iota + 1
	saysExcluded
	saysExtra  // "extra", "en sus"
	saysFree   // unless it is a month
	saysPays   // "tenant pays"
	saysPaid   // "payé par le locataire", "à payer"
	saysCost   // "at renter's cost"
	saysCharge // "à la charge du locataire", "à vos frais"
)

var (
	inclusionWords = meanings(map[inclusionWord]string{
		saysIncluded: "inclus incluse incluses inclue inclues inclu included incl include includes including inclut incluant " +
			"inclusive inclusif compris comprise comprises comprend comprenant fourni fournis fournie fournies provided",
		saysExcluded: "excluded exclu exclus exclue exclues separate separately excluding",
		saysExtra:    "sus extra",
		saysFree:     "gratuit gratuits gratuite free",
		saysPays:     "pays pay paie",
		saysPaid:     "paye payes payee payees paid payable payables payer",
		saysCost:     "cost expense expenses",
		saysCharge:   "charge frais",
	})
	tenants = set("locataire locataires tenant tenants")
)

// verdict reads a word of inclusion at i with its negation: "inclus", "non compris", "not included", "en sus", "à vos
// frais", "gratuit".
func (p *Prose) verdict(i int) (yes bool, from, to int, ok bool) {
	from, to = i, i
	switch w := p.word(i); inclusionWords[w] {
	case saysIncluded:
		if l := p.word(i - 1); l == "ne" || l == "n" { // "n'inclut pas", "ne comprend ni"
			if n := p.word(i + 1); n == "pas" || n == "ni" || n == "aucun" || w == "comprend" {
				if n == "pas" {
					to++
				}
				return false, i - 1, to, true
			}
		}
		if w == "incl" && p.sym(i+1) == '.' {
			to++
		}
		yes = true
		k := i - 1
		for p.sym(k) == '-' {
			k--
		}
		switch p.word(k) {
		case "non", "pas", "not", "ni", "no":
			yes, from = false, k
		case "t":
			if n := p.word(k - 1); n == "isn" || n == "aren" || n == "doesn" {
				yes, from = false, k-1
			}
		case "est", "sont", "is", "are", "etre", "be":
			from = k
			if n := p.word(k - 1); n == "n" || n == "ne" {
				from = k - 1
			}
		}
		if p.word(from-1) == "n" || p.word(from-1) == "ne" {
			from--
		}
		if k := from - 1; p.word(k) == "est" || p.word(k) == "sont" || p.word(k) == "is" || p.word(k) == "are" {
			from--
			if n := p.word(from - 1); n == "n" || n == "ne" {
				from--
			}
		}
		return yes, from, to, true
	case saysExcluded:
		return false, i, i, true
	case saysExtra:
		if p.word(i-1) == "en" {
			from--
		}
		return false, from, i, w == "extra" || from < i
	case saysFree:
		return true, i, i, !p.about(i-1, aMonth) && p.word(i-1) != "mois" && p.word(i-1) != "month"
	case saysPays:
		l := p.word(i - 1)
		return false, i - 1, i, l == "tenant" || l == "tenants" || l == "locataire"
	case saysPaid:
		for k := i + 1; k <= i+3; k++ {
			if tenants[p.word(k)] {
				return false, i, k, true
			}
		}
		return false, i, i, w == "payer" && p.word(i-1) == "a" && p.word(i+1) != "par"
	case saysCost: // "at renter's cost"
		for k := i - 1; k >= i-3; k-- {
			if p.word(k) == "at" {
				return false, k, i, true
			}
		}
	case saysCharge:
		if p.word(i-2) == "a" && (w == "charge" || p.word(i-1) != "pas") { // "à la charge du locataire", "à vos frais"
			return false, i - 2, i, true
		}
		for k := i + 1; k <= i+3; k++ {
			if l := p.word(k); l == "locataire" || l == "locataires" {
				if w := p.word(i - 1); w == "au" || w == "aux" || w == "la" {
					return false, i - 1, i, true
				}
				return false, i, i, true
			}
		}
	}
	return false, i, i, false
}

var (
	allWords = set("tout toute toutes tous all everything utilities services utilites depenses charges")
	provided = set("fourni fournis fournie fournies provided")
)

// everything tells whether "tout", "all", "utilities", "everything" is what the verdict at i is about.
func (p *Prose) everything(i int) bool {
	for k := i; k <= i+3; k++ {
		if provided[p.word(k)] { // "tout est fourni": dishes and bedding
			return false
		}
	}
	w := p.word(i - 1)
	if w == "est" || w == "is" || w == "are" {
		w = p.word(i - 2)
		return w == "tout" || w == "everything" || w == "all"
	}
	return allWords[w]
}

// thingNames are the one-word names of the things that a rent may include.
var thingNames = meanings(map[utility]string{
	heat:         "chauffage heat heating",
	electricity:  "eclairage electricite electricity hydro elec electrique",
	water:        "eau water",
	internet:     "internet wifi",
	cable:        "cable cables cablo television tv tele",
	parkingPlace: "stationnement stationnements stationement parking parkings",
	furniture:    "meubles furniture",
	otherThing:   "chauffe chauffee",
})

// thing reads the name of something that a rent may include, at i, and returns its last token.
func (p *Prose) thing(i int) (utility, int) {
	w, next := p.word(i), p.word(i+1)
	switch what := thingNames[w]; {
	case what == heat && (next == "electrique" || next == "central"):
		return heat, i + 1
	case what == otherThing && (next == "eau" || p.sym(i+1) == '-' && p.word(i+2) == "eau"): // "chauffe-eau"
		return otherThing, i + 1
	case w == "hydro" && p.sym(i+1) == '-':
		return electricity, i + 2
	case w == "hydro" && next == "quebec":
		return electricity, i + 1
	case w == "water" && p.word(i-1) == "hot":
		return hotWater, i
	case what == water && (next == "chaude" || next == "ch" || next == "chaud"):
		return hotWater, i + 1
	case what == water && p.sym(i+1) == '-' && p.word(i+2) == "chaude":
		return hotWater, i + 2
	case what != noUtility:
		return what, i
	case w == "hot" && next == "water":
		return hotWater, i + 1
	case w == "wi" && (p.word(i+2) == "fi" || next == "fi"):
		return internet, i + 2
	case things[w] || p.about(i, anAmenity):
		return otherThing, i
	}
	return noUtility, i
}

// things go on lists of inclusions without being a field of Utilities.
var things = set("electromenager electromenagers electros electro refrigerateur refrigerateurs frigo frigidaire " +
	"poele cuisiniere four laveuse " +
	"secheuse lave vaisselle deneigement gym piscine casier rangement locker balcon micro ondes micros onde ac " +
	"climatiseur store stores " +
	"rideaux toiles appliances fridge stove washer dryer dishwasher microwave gaz gas tondage gazon taxes taxe " +
	"ameublement luminaires " +
	"entretien janitor conciergerie concierge snow removal garage rangements cabanon sauna spa telephone phone " +
	"buanderie laundry services " +
	"aspirateur echangeur fibre optique illimite illimitee haute vitesse unlimited high speed exterieur interieur " +
	"literie vaisselles electrique terminal videotron decodeur")
