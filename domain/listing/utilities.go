package listing

// ParseUtilities returns what s says the rent includes, field by field; nil = not said. It takes lists with the verdict
// before or after ("Chauffage, eau chaude et électricité non inclus", "inclus : chauffage, internet"), participles
// ("chauffé", "heated"), the abbreviations "NC/NÉ", and "tout inclus" with its exceptions ("sauf l'hydro"). "Bien
// éclairé" is a bright room, not electricity; "chauffage électrique" is a sort of heating, not an inclusion.
func ParseUtilities(s string) Utilities {
	u, _ := Read(Plain(s)).utilities()
	return u.Utilities
}

// A utility is what a rent may include.
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
	Utilities
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

// utilities reads every verdict about what is included.
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

// participle reads "chauffé", "non éclairé", "heated" at i.
func (p *Prose) participle(i int) (yes bool, on utility) {
	w := p.word(i)
	switch w {
	case "chauffe", "chauffes", "chauffee", "chauffees", "chauffer", "chauffez", "heated", "chauf", "unheated":
		if p.heatedThing(i) {
			return false, noUtility
		}
		return w != "unheated" && !p.denied(i), heat
	case "eclaire", "eclaires", "eclairee", "eclairees", "eclairer", "eclairez":
		if p.denied(i) {
			return false, electricity
		}
		// Without a denial it is electricity only beside "chauffé" or "eau chaude": alone, and after "bien", it means
		// bright.
		for k := i - 1; k >= 0 && k >= i-7; k-- {
			switch p.word(k) {
			case "chauffe", "chauffes", "chauffee", "chauffees", "chauffer", "chauffez":
				return !p.denied(k) || p.word(i-1) == "mais", electricity
			case "et", "", "eau", "chaude", "inclus", "incluse", "inclue", "compris", "comprise", "fourni", "fournie":
			default:
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
	case "ecl": // "chauffé/écl."
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

// shortBoth reads "ch/écl" and "C/É" at i: heated and lit.
func (p *Prose) shortBoth(i int) bool {
	w := p.word(i)
	if w != "c" && w != "ch" || p.denied(i) || p.word(i-1) == "n" || p.word(i-2) == "n" {
		return false
	}
	if s := p.sym(i + 1); s != '/' && s != '-' {
		return false
	}
	e := p.word(i + 2)
	return w == "ch" && (e == "ecl" || e == "eclair") || w == "c" && e == "e" && !p.bare(i+2)
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

// shortDenial reads "n-ch.", "non écl." and "NC" at i.
func (p *Prose) shortDenial(i int) utility {
	k := i + 1
	if p.word(i) == "nc" && !p.bare(i) || p.word(i) == "n" && p.sym(k) == '.' && p.word(i+2) == "c" {
		if p.notHeatedNotLit(i) == i {
			return heat
		}
		return noUtility
	}
	switch s := p.sym(k); {
	case p.word(i) == "n" && (s == '-' || s == '.' || s == '/'), p.word(i) == "non" && s == '-':
		k++
	case p.word(i) != "non":
		return noUtility
	}
	switch p.word(k) {
	case "ch", "chauff":
		return heat
	case "ecl", "eclair":
		return electricity
	}
	return noUtility
}

// nothing tells whether "rien", "nothing" or "aucun service" is what the verdict at i is about, and from where; -1 when
// not.
func (p *Prose) nothing(i, from int) int {
	k := from - 1
	for p.word(k) == "d" || p.word(k) == "de" || p.word(k) == "n" || p.word(k) == "est" || p.word(k) == "is" ||
		p.word(k) == "are" {
		k--
	}
	switch p.word(k) {
	case "rien", "nothing":
		return k
	case "service":
		if p.word(k-1) == "aucun" {
			return k - 1
		}
	}
	if n := p.word(i + 1); n == "rien" || n == "nothing" {
		return i
	}
	return -1
}

// heatedThing tells whether "chauffé" at i is said of a pool, a floor or a garage.
func (p *Prose) heatedThing(i int) bool {
	for k := i - 1; k >= i-3 && k >= 0; k-- {
		switch p.word(k) {
		case "piscine", "piscines", "plancher", "planchers", "garage", "garages", "stationnement", "stationnements",
			"parking",
			"sol", "spa", "interieur", "interieure", "interieurs", "souterrain", "terrasse", "pool":
			return true
		case "et", "non", "exterieure", "exterieur", "creusee", "creuse":
			continue
		}
		break
	}
	switch p.word(i + 1) {
	case "pool", "floor", "floors", "garage", "parking", "indoor", "underground", "bathroom", "towel", "swimming",
		"inground", "salt":
		return true
	}
	return false
}

// denied tells whether a negation stands right before i: "non", "pas", "not", "ni".
func (p *Prose) denied(i int) bool {
	k := i - 1
	for p.sym(k) == '-' || p.sym(k) == '(' {
		k--
	}
	switch p.word(k) {
	case "non", "pas", "not", "ni", "no", "nor", "isn", "aren", "jamais", "never", "sans":
		return true
	case "ou", "et": // "non chauffé et éclairé" is read as one denial by the caller
		return false
	case "t":
		return p.word(k-1) == "isn" || p.word(k-1) == "aren"
	}
	return false
}

// notHeatedNotLit reads "NC/NÉ", "n.c / n.é", "nc ne", "N/C N/E" at i and returns its last token, or i. "NE" alone is
// a French word.
func (p *Prose) notHeatedNotLit(i int) int {
	first, second := byte('c'), byte('e')
	k := p.abbreviation(i, first)
	if k < 0 { // "NÉ NC"
		first, second = second, first
		if k = p.abbreviation(i, first); k < 0 {
			return i
		}
	}
	n := k + 1
	for m := 0; m < 3 && n < len(p.words) && (p.words[n].kind == symbol || p.word(n) == "et"); m++ {
		n++
	}
	if e := p.abbreviation(n, second); e >= 0 {
		return e
	}
	return i
}

// heatedNotLit reads "Chauffé / N.É." at i and returns its last token, or i.
func (p *Prose) heatedNotLit(i int) int {
	if _, on := p.participle(i); on != heat {
		return i
	}
	k := i + 1
	for n := 0; n < 2 && k < len(p.words) && (p.words[k].kind == symbol || p.word(k) == "et"); n++ {
		k++
	}
	if e := p.abbreviation(k, 'e'); e > k || e == k && !p.bare(k) { // "chauffé, ne pas déranger"
		return e
	}
	return i
}

// abbreviation reads "nc", "n.c", "n/c", "n c" for a letter c and returns its last token, or -1.
func (p *Prose) abbreviation(i int, c byte) int {
	w := p.word(i)
	if len(w) == 2 && w[0] == 'n' && w[1] == c {
		return i
	}
	if w != "n" {
		return -1
	}
	k := i + 1
	if s := p.sym(k); s == '.' || s == '/' || s == '-' {
		k++
	}
	if w := p.word(k); len(w) == 1 && w[0] == c {
		return k
	}
	return -1
}

// verdict reads a word of inclusion at i with its negation: "inclus", "non compris", "not included", "en sus", "à vos
// frais", "gratuit".
func (p *Prose) verdict(i int) (yes bool, from, to int, ok bool) {
	from, to = i, i
	switch w := p.word(i); w {
	case "inclus", "incluse", "incluses", "inclue", "inclues", "inclu", "included", "incl", "include", "includes",
		"including",
		"inclut", "incluant", "inclusive", "inclusif", "compris", "comprise", "comprises", "comprend", "comprenant",
		"fourni", "fournis", "fournie", "fournies", "provided":
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
	case "excluded", "exclu", "exclus", "exclue", "exclues", "separate", "separately":
		return false, i, i, true
	case "excluding":
		return false, i, i, true
	case "sus", "extra":
		if p.word(i-1) == "en" {
			from--
		}
		return false, from, i, w == "extra" || from < i
	case "gratuit", "gratuits", "gratuite", "free":
		return true, i, i, !p.about(i-1, aMonth) && p.word(i-1) != "mois" && p.word(i-1) != "month"
	case "pays", "pay", "paie":
		l := p.word(i - 1)
		return false, i - 1, i, l == "tenant" || l == "tenants" || l == "locataire"
	case "paye", "payes", "payee", "payees", "paid", "payable", "payables", "payer":
		for k := i + 1; k <= i+3; k++ {
			if l := p.word(k); l == "locataire" || l == "locataires" || l == "tenant" || l == "tenants" {
				return false, i, k, true
			}
		}
		return false, i, i, w == "payer" && p.word(i-1) == "a" && p.word(i+1) != "par"
	case "cost", "expense", "expenses": // "at renter's cost"
		for k := i - 1; k >= i-3; k-- {
			if p.word(k) == "at" {
				return false, k, i, true
			}
		}
	case "charge", "frais":
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

// everything tells whether "tout", "all", "utilities", "everything" is what the verdict at i is about.
func (p *Prose) everything(i int) bool {
	for k := i; k <= i+3; k++ {
		switch p.word(k) {
		case "fourni", "fournis", "fournie", "fournies", "provided": // "tout est fourni": dishes and bedding
			return false
		}
	}
	switch p.word(i - 1) {
	case "tout", "toute", "toutes", "tous", "all", "everything", "utilities":
		return true
	case "est", "is", "are":
		w := p.word(i - 2)
		return w == "tout" || w == "everything" || w == "all"
	case "services", "utilites", "depenses", "charges":
		return true
	}
	return false
}

// thing reads the name of something that a rent may include, at i, and returns its last token.
func (p *Prose) thing(i int) (utility, int) {
	switch w := p.word(i); w {
	case "chauffage", "heat", "heating":
		if p.word(i+1) == "electrique" || p.word(i+1) == "central" {
			return heat, i + 1
		}
		if p.seq(i+1, "et", "eclairage") {
			return heat, i
		}
		return heat, i
	case "chauffe", "chauffee":
		if p.seq(i+1, "eau") || p.sym(i+1) == '-' && p.word(i+2) == "eau" { // "chauffe-eau"
			return otherThing, i + 1
		}
		return otherThing, i
	case "eclairage", "electricite", "electricity", "hydro", "elec":
		if w == "hydro" && p.sym(i+1) == '-' {
			return electricity, i + 2
		}
		if w == "hydro" && p.word(i+1) == "quebec" {
			return electricity, i + 1
		}
		return electricity, i
	case "electrique":
		return electricity, i
	case "eau", "water":
		if w == "water" && p.word(i-1) == "hot" {
			return hotWater, i
		}
		if n := p.word(i + 1); n == "chaude" || n == "ch" || n == "chaud" {
			return hotWater, i + 1
		}
		if p.sym(i+1) == '-' && p.word(i+2) == "chaude" {
			return hotWater, i + 2
		}
		return water, i
	case "hot":
		if p.word(i+1) == "water" {
			return hotWater, i + 1
		}
	case "internet", "wifi":
		return internet, i
	case "wi":
		if p.word(i+2) == "fi" || p.word(i+1) == "fi" {
			return internet, i + 2
		}
	case "cable", "cables", "cablo", "television", "tv", "tele":
		return cable, i
	case "stationnement", "stationnements", "stationement", "parking", "parkings":
		return parkingPlace, i
	case "meubles", "furniture":
		return furniture, i
	}
	if w := p.word(i); things[w] || p.about(i, anAmenity) {
		return otherThing, i
	}
	return noUtility, i
}

// things go on lists of what is included without being a field of Utilities.
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

// glue may stand between the items of a list.
func (p *Prose) glue(i int) bool {
	switch p.word(i) {
	case "et", "and", "l", "le", "la", "les", "d", "de", "du", "des", "ou", "aussi", "est", "sont", "is", "are", "the",
		"avec", "with",
		"plus", "ainsi", "que", "your", "votre", "a", "en", "mais", "n", "ne", "or", "un", "une", "tous", "ni", "both",
		"deja":
		return true
	case "":
		if i < 0 || i >= len(p.words) {
			return false
		}
		switch p.words[i].sym {
		case ',', '&', '+', '/', '-', '(', ')', ':', '*', '"':
			return true
		}
	}
	return false
}

// listBefore calls f for each thing of the list that ends at token i.
func (p *Prose) listBefore(i int, f func(utility, int)) {
	for k, n := i, 0; k >= 0 && n < 40; k, n = k-1, n+1 {
		if p.words[k+1].line && p.sym(k+1) == 0 && k < i || p.sym(k) == '.' || p.sym(k) == ';' || p.sym(k) == '!' {
			return
		}
		if p.words[k+1].line {
			return
		}
		if what, _ := p.thing(k); what != noUtility {
			if p.word(k) == "chaude" {
				continue
			}
			if what == electricity && p.word(k) == "electrique" && p.word(k-1) == "chauffage" {
				f(heat, k-1)
				k--
				continue
			}
			f(what, k)
			continue
		}
		switch p.word(k) {
		case "chaude", "fi", "quebec", "hot", "haute", "central", "centrale":
			continue
		}
		if !p.glue(k) || p.sym(k) == ':' || p.sym(k) == ')' && k < i-8 {
			return
		}
	}
}

// list calls f for each thing of the list that starts at token i. After a colon the list may go on over lines.
func (p *Prose) list(i int, f func(utility, int)) {
	colon := p.sym(i) == ':' || p.sym(i) == '-'
	strange := 0
	for k, n := i, 0; k < len(p.words) && n < 40; k, n = k+1, n+1 {
		if p.words[k].line && k > i && !colon || p.sym(k) == ';' && !colon || p.sym(k) == '!' || p.sym(k) == '.' {
			return
		}
		if _, on := p.participle(k); on != noUtility {
			continue
		}
		what, end := p.thing(k)
		if what != noUtility {
			// the next verdict has its own list
			if _, _, to, ok := p.verdict(end + 1); ok && to > 0 && p.word(end+1) != "included" {
				return
			}
			f(what, end)
			k = end
			continue
		}
		if k < len(p.words) && (p.sym(k) == ';' || adjectives[p.word(k)] || p.word(k) == "chaude" ||
			p.words[k].kind == number) {
			continue
		}
		if !p.glue(k) {
			if s := p.sym(k + 1); strange >= 2 || p.words[k].kind != word || s != ',' && s != '/' && s != '+' &&
				p.word(k+1) != "et" && p.word(k+1) != "and" {
				return
			}
			strange++ // an item that we do not know
		}
	}
}

// heading tells whether the verdict that ends at token i heads a list of lines ("INCLUS DANS LE LOYER"): it returns the
// first token of the next line, or 0.
func (p *Prose) heading(i int) int {
	k := i + 1
	for n := 0; n < 5 && k < len(p.words) && !p.words[k].line; n++ {
		switch p.word(k) {
		case "dans", "le", "la", "loyer", "prix", "in", "the", "rent", "with", "your", "au", "bail", "":
			if s := p.sym(k); s != 0 && s != ':' || p.words[k].kind == number {
				return 0
			}
			k++
			continue
		}
		return 0
	}
	if k >= len(p.words) || !p.words[k].line {
		return 0
	}
	return k
}

// lines calls f for each short line from token i that names a thing, until a line that is a sentence, a heading of its
// own or names money.
func (p *Prose) lines(i int, f func(utility, int)) {
	for n := 0; n < 15 && i < len(p.words); n++ {
		end := i + 1
		for end < len(p.words) && !p.words[end].line {
			end++
		}
		if end-i > 9 {
			return
		}
		for k := i; k < end; k++ {
			if p.sym(k) == '$' || p.about(k, anInclusion) && p.word(k) != "gratuit" && p.word(k) != "free" {
				return
			}
			if w := p.word(k); w == "disponible" || w == "possible" || w == "available" || w == "optional" || w == "option" {
				k = end
				i = end
			}
		}
		strange := 0
		for k := i; k < end && strange < 2; k++ {
			if what, last := p.thing(k); what != noUtility {
				f(what, last)
				k = last
			} else if !p.glue(k) && p.sym(k) != ';' {
				strange++
			}
		}
		i = end
	}
}

// butNot passes "mais pas", "but not" at i and returns the next token, or 0.
func (p *Prose) butNot(i int) int {
	if p.sym(i) == ',' {
		i++
	}
	if w := p.word(i); w != "mais" && w != "but" && w != "et" {
		return 0
	}
	if w := p.word(i + 1); w != "pas" && w != "not" {
		return 0
	}
	return i + 2
}

// exceptions calls f for what follows "sauf" after token i.
func (p *Prose) exceptions(i int, f func(utility, int)) {
	for k := i + 1; k < len(p.words) && k < i+8; k++ {
		if p.stop(k) && k > i+1 && p.words[k].line {
			return
		}
		switch p.word(k) {
		case "sauf", "except", "excepte", "excluding", "hors", "excluant", "but":
			p.list(k+1, f)
			return
		}
	}
}
