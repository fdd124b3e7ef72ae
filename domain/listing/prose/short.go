package prose

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A short is what adverts cut a word or a pair of words to. It is read as the whole words, so that what holds of them
// (denials, lists, prices) holds of it.
type short struct {
	words []string // that it stands for; a symbol stands for itself
	when  cutWhen
}

// A cutWhen is where a short is one.
type cutWhen uint8

const (
	anywhere       cutWhen = iota
	beforeDot              // a word of its own without the point
	afterThing             // beforeDot, after what a rent may include: "Gestion Roy inc." is a company
	noBundle               // but after what is sold in packages
	noWalkout              // but before what one walks out to
	counted                // after the ordinal of a floor
	ofTenant               // after "du", "par le", "au"
	beforeAny              // before a space, or before a small letter
	dotted                 // with its point, and no number behind it
	listed                 // dotted, on a list: elsewhere "rang." is a road
	itemOnly               // on a list: elsewhere "DW" is a name
	itemEnd                // before the end of an item, or the next such pair: "N/S exposure", "exposition N/S" are no ban
	notHigh                // but not of a ceiling, and without an accent: "plafonds élev."
	beforeCentral          // dotted, before "central"
	afterHalf              // after "demi", "semi" or "½", or "au"
	afterFridge            // dotted, next to a fridge: elsewhere it is the kitchen
	afterAppliance         // next to a fridge, a stove or a washer: elsewhere "L-V" are days
	afterFloors            // after the floors that are of it
	beforeLaundry          // before a word of laundry
	afterRoom              // after the name of a room of the building
	capitals               // in capitals: "pou" is a slip of "pour"
	afterOne               // after a number of rooms
	beforeIncluded         // before "inclus" and the like
	itemIncluded           // on a list, or before "inclus": "H/W floors" are of hardwood
)

// shorts are single words. The point after one goes with it.
var shorts = shortWords(map[string]string{
	"basement": "bsmt bsmnt basmt bsmnts", "floor": "flr", "floors": "flrs", "level": "lvl", "etage": "etg etag",
	"climatisation": "clim climatis", "parking": "prkg prkng pkng prk", "utilities": "util utils", "available": "avail",
	"dryer": "dryr", "washer": "wshr", "elec": "elec",
	// Amenities cut short, as MLS sheets and LesPAC have them.
	"excluded": "excl", "aspirateur": "aspi", "dishwasher": "dishw dishwshr dishwaser",
	"vaisselle": "vaiss", "hardwood": "hdwd hrdwd hrdwood", "frigo": "frig",
	"refrigerateur": "refrig", "fridge": "fridg", "ascenseur": "ascens", "interphone": "interph",
	"furnished":   "furn",
	"immediately": "immed immd", "smoking": "smkg", "lease": "lse",
	"locker": "lckr", "storage": "stge strge", "backyard": "bkyd bkyrd bckyrd", "laundry": "lndry ldry",
	"buanderie": "buand", "indoor": "indr", "outdoor": "outdr", "building": "bldg", "fireplace": "frplc firepl",
}, map[string]short{
	"pou":    {[]string{"utilities", "extra"}, capitals}, // "pay own utilities"
	"inc":    {[]string{"incl"}, afterThing},
	"tt":     {[]string{"tout"}, beforeIncluded},
	"chauff": {[]string{"chauffage"}, beforeDot},
	"neg":    {[]string{"negotiable"}, beforeDot},
	"nego":   {[]string{"negotiable"}, anywhere},
	"pkg":    {[]string{"parking"}, noBundle},
	"fl":     {[]string{"floor"}, counted},
	"loc":    {[]string{"locataire"}, ofTenant},
	"balc":   {[]string{"balcon"}, anywhere},
	"pisc":   {[]string{"piscine"}, dotted},
	"bach":   {[]string{"bachelor"}, dotted},
	"rang":   {[]string{"rangement"}, listed},
	"lv":     {[]string{"lavevaisselle"}, itemIncluded},
	"hw":     {[]string{"hot", "water"}, itemIncluded},
	"cvac":   {[]string{"central", "vacuum"}, anywhere},
	"dw":     {[]string{"dishwasher"}, itemOnly},
	"wd":     {[]string{"washer", "/", "dryer"}, itemOnly},
	"asc":    {[]string{"ascenseur"}, itemOnly},
	"elev":   {[]string{"elevator"}, notHigh},
	"asp":    {[]string{"aspirateur"}, beforeCentral},
	"cuis":   {[]string{"cuisiniere"}, afterFridge},
	"ens":    {[]string{"ensuite"}, beforeLaundry},
	"rm":     {[]string{"room"}, afterRoom},
})

func shortWords(plain map[string]string, more map[string]short) map[string]short {
	for whole, list := range plain {
		for w := range strings.FieldsSeq(list) {
			more[w] = short{words: []string{whole}}
		}
	}
	return more
}

// shortPairs are letters around a stroke or points, by their first letter: the longer first where one begins another.
var shortPairs = map[byte][]struct {
	form string
	short
}{
	'w': {
		{"w/d", short{[]string{"washer", "/", "dryer"}, anywhere}},
		{"w&d", short{[]string{"washer", "/", "dryer"}, anywhere}},
		{"w+d", short{[]string{"washer", "/", "dryer"}, anywhere}},
		{"w & d", short{[]string{"washer", "/", "dryer"}, anywhere}},
		{"w/o", short{[]string{"without"}, noWalkout}},
		{"w/", short{[]string{"with"}, beforeAny}},
	},
	'h': {
		{"h/w", short{[]string{"hot", "water"}, itemIncluded}}, {"h.w.", short{[]string{"hot", "water"}, itemIncluded}},
	},
	'c': {{"c/air", short{[]string{"central", "air"}, anywhere}}},
	'd': {{"d/w", short{[]string{"dishwasher"}, anywhere}}},
	'l': {
		{"l/s", short{[]string{"laveuse", "/", "secheuse"}, anywhere}},
		{"l-v", short{[]string{"lavevaisselle"}, afterAppliance}},
		{"l/v", short{[]string{"lavevaisselle"}, afterAppliance}},
		{"l.v.", short{[]string{"lavevaisselle"}, afterAppliance}},
	},
	'b': {
		{"b.f.", short{[]string{"bois", "franc"}, afterFloors}},
		{"b. franc", short{[]string{"bois", "franc"}, anywhere}}, {"b.franc", short{[]string{"bois", "franc"}, anywhere}},
	},
	'e': {
		{"e/l/s", short{[]string{"entree", "laveuse", "/", "secheuse"}, anywhere}},
		{"e.c.", short{[]string{"eau", "chaude"}, itemOnly}},
	},
	'n': {
		{"n/s", short{[]string{"no", "smoking"}, itemEnd}},
		{"n/p", short{[]string{"no", "pets"}, itemEnd}},
	},
	'f': {
		{"f/p", short{[]string{"fireplace"}, anywhere}},
		{"f/s", short{[]string{"fridge", "/", "stove"}, itemIncluded}}, // elsewhere it is "for sale"
	},
	's': {
		{"s-e", short{[]string{"salle", "d", "eau"}, afterOne}}, {"s.e.", short{[]string{"salle", "d", "eau"}, afterOne}},
		{"s.d.b.", short{[]string{"sdb"}, anywhere}}, {"s.d.b", short{[]string{"sdb"}, anywhere}},
		{"s.-s.", short{[]string{"soussol"}, anywhere}}, {"s-s", short{[]string{"soussol"}, afterHalf}},
		{"s/s", short{[]string{"soussol"}, afterHalf}},
		{"s.s.", short{[]string{"soussol"}, afterHalf}},
		{"s.-sol", short{[]string{"soussol"}, anywhere}}, {"s. sol", short{[]string{"soussol"}, anywhere}},
		{"s-sol", short{[]string{"soussol"}, anywhere}}, {"s.sol", short{[]string{"soussol"}, anywhere}},
		{"s/sol", short{[]string{"soussol"}, anywhere}},
	},
	'r': {
		{"r.d.c.", short{[]string{"rdc"}, anywhere}}, {"r.d.c", short{[]string{"rdc"}, anywhere}},
		{"r-d-c", short{[]string{"rdc"}, anywhere}}, {"r/c", short{[]string{"rdc"}, anywhere}},
	},
	'u': {{"u/g", short{[]string{"underground"}, anywhere}}},
}

// shortAt reads a short form in the folded bytes i..j, a word that no reader knows or a letter, and returns the words
// that it stands for and where it ends.
func (p *Prose) shortAt(i, j int) (words []string, end int) {
	s := p.fold
	if j-i == 1 {
		for _, pair := range shortPairs[s[i]] {
			if end := i + len(pair.form); strings.HasPrefix(s[i:], pair.form) && !isDigit(char(s, i-1)) &&
				char(s, i-1) != '\'' && p.mayCut(pair.when, i, end) {
				return pair.words, end
			}
		}
		return nil, j
	}
	switch w := s[i:j]; {
	case w == "lav" || w == "sech" || w == "sec":
		return p.shortLaundry(i, j)
	case w == "ns" || w == "np":
		return p.shortBans(i, j)
	case w == "et":
		return p.shortFloor(i, j)
	case w == "furry" || w == "fur": // "no furry friends"
		k := skip(s, j)
		n := k
		for n < len(s) && isLetter(s[n]) {
			n++
		}
		if n > k && furry[s[k:n]] {
			return []string{"pets"}, n
		}
		return nil, j
	case w == "ch": // "eau ch."; it counts bedrooms elsewhere
		if p.word(len(p.words)-1) == "eau" {
			return []string{"chaude"}, p.pointAfter(j)
		}
		return nil, j
	case w == "entr" && p.word(len(p.words)-1) == "d" && p.word(len(p.words)-2) == "salle": // "salle d'entr."
		return []string{"entrainement"}, p.pointAfter(j)
	case w == "sep": // "sep. entrance", "sep ent"; it is a month elsewhere
		end := j
		if char(s, j) == '.' {
			end++
		}
		k := skip(s, end)
		n := k
		for n < len(s) && isLetter(s[n]) {
			n++
		}
		if last := len(p.words) - 1; k > j && entrances[s[k:n]] && p.num(last) == nil && !p.about(last, aFreedom) &&
			!ordinalEnds[p.word(last)] {
			return []string{"separate"}, end
		}
		return nil, j
	}
	if cut, ok := shorts[s[i:j]]; ok && p.mayCut(cut.when, i, j) {
		if last := len(p.words) - 1; s[i:j] == "excl" && char(s, j) == '.' && (last < 0 || p.words[last].kind == symbol ||
			strings.Contains(s[p.words[last].end:i], "\n")) {
			return cut.words, j + 1 // "Excl. Hydro"
		}
		return cut.words, p.pointAfter(j)
	}
	return nil, j
}

// alsoShort are words of the trade that are short forms of others beside some words.
var alsoShort = set("et ch sep elec")

// mayCut tells whether the bytes i..j stand where a short form is one.
func (p *Prose) mayCut(when cutWhen, i, j int) bool {
	s, last := p.fold, len(p.words)-1
	switch when {
	case beforeIncluded:
		return strings.HasPrefix(s[min(j, len(s)):], " inc") || strings.HasPrefix(s[min(j, len(s)):], " comp")
	case itemIncluded:
		return p.mayCut(itemOnly, i, j) || !isLetter(char(s, j)) && p.mayCut(beforeIncluded, i, j)
	case beforeDot, afterThing:
		if w := p.word(last); when == afterThing && !isLetter(char(s, j)) &&
			((w == "all" || w == "tout") && !p.properInc(i) || denials[w] && p.rentThing(last-1)) { // "all inc", "hydro not inc"
			return true
		}
		if when == afterThing && !p.rentThing(last) && !p.leadsThings(last, j) {
			return false
		}
		return char(s, j) == '.' && p.pointAfter(j) > j && !denials[p.word(last)] && (last < 0 || p.sym(last) != '-')
	case noBundle:
		w := p.word(last)
		if w == "in" && (p.word(last-1) == "move" || p.sym(last-1) == '-' && p.word(last-2) == "move") || bundled[w] {
			return false
		}
	case noWalkout:
		k := skip(s, j)
		n := k
		for n < len(s) && isLetter(s[n]) {
			n++
		}
		if n > k && walkouts[s[k:n]] {
			return false
		}
	case counted:
		return last >= 0 && (ordinalEnds[p.word(last)] || ordinals[p.word(last)] != "")
	case ofTenant:
		switch p.word(last) {
		case "du", "le", "au", "par", "frais":
			return true
		}
		return false
	case beforeAny:
		next := char(s, j)
		return next == ' ' || isLetter(next) && p.text[p.at[i]] == 'w'
	case dotted:
		return char(s, j) == '.' && !isDigit(char(s, skip(s, j+1)))
	case listed:
		return p.besideItems(last) && p.mayCut(dotted, i, j)
	case itemOnly:
		next := char(s, skip(s, j))
		return !isLetter(char(s, j)) && (p.besideItems(last) || next == ',' || next == '/' || next == '+' || next == '&')
	case itemEnd:
		for p.sym(last) == ':' || p.sym(last) == '(' {
			last--
		}
		if last >= 0 && s[i+2] == 's' && facings[p.word(last)] && !strings.Contains(s[p.words[last].end:i], "\n") {
			return false
		}
		k := skip(s, j)
		next := char(s, k)
		return !isLetter(char(s, j)) && (!isLetter(next) || char(s, k+1) == '/')
	case notHigh:
		return !isLetter(char(s, j)) && (p.text[p.at[i]] < utf8.RuneSelf || p.besideItems(last)) &&
			!highThings[p.word(last)] && !isDigit(char(s, skip(s, min(j+1, len(s)))))
	case beforeCentral:
		return char(s, j) == '.' && strings.HasPrefix(s[min(skip(s, j+1), len(s)):], "centr")
	case afterFloors:
		w := p.word(last)
		if w == "en" || w == "de" {
			w = p.word(last - 1)
		}
		return w == "plancher" || w == "planchers"
	case afterAppliance:
		for last > 0 && p.joinsItems(last) {
			last--
		}
		return !isLetter(char(s, j)) && !isDigit(char(s, skip(s, j))) && kitchenThings[p.word(last)] && last >= len(p.words)-3
	case afterHalf:
		w := p.word(last)
		if p.sym(last) == '-' {
			w = p.word(last - 1)
		}
		t := p.num(last)
		return !isLetter(char(s, j)) && (w == "demi" || w == "semi" || w == "au" ||
			t != nil && t.cents == 50 && t.digits == 0)
	case afterFridge:
		for last > 0 && (p.words[last].kind == symbol || p.word(last) == "et") {
			last--
		}
		return char(s, j) == '.' && fridges[p.word(last)] && last >= len(p.words)-3
	case beforeLaundry:
		k := skip(s, min(j+1, len(s)))
		return k > j && beforeAnyOf(s, k, "laundry", "lndry", "ldry")
	case afterRoom:
		return !isLetter(char(s, j)) && roomsOfHouse[p.word(last)]
	case capitals:
		next := skip(s, j) // "LOGEMENT POU ETUDIANT" is a slip
		return !isLetter(char(s, j)) && p.upperAt(i) && p.upperAt(j-1) && !(isLetter(char(s, next)) && p.upperAt(next))
	case afterOne:
		t := p.num(last)
		return t != nil && t.digits == 1 && t.dec == 0 && !t.half && !isLetter(char(s, j))
	case anywhere:
	}
	return !isLetter(char(s, j))
}

// properInc tells whether "Inc" at the byte i is written as in the name of a company.
func (p *Prose) properInc(i int) bool { return p.upperAt(i) && !p.upperAt(i+1) }

// upperAt tells whether the byte i of what was folded was a capital.
func (p *Prose) upperAt(i int) bool {
	c := p.text[p.at[i]]
	return c >= 'A' && c <= 'Z'
}

// joinsItems tells whether the token at i joins short items of a list. A bracket or a dash does not: the days of
// "laveuse et sécheuse (L-V 8h-20h)" are no dishwasher.
func (p *Prose) joinsItems(i int) bool {
	switch p.sym(i) {
	case ',', '/', '+', '&':
		return true
	}
	return p.word(i) == "et"
}

const fridgeWords = "frigo refrigerateur frigidaire fridge refrigerator"

var (
	bundled = set("internet cable tv television wifi fi appliance appliances furniture welcome movein")
	// furry are animals after "fur" and "furry".
	furry = set("friend friends baby babies kid kids companion companions members child children")
	// walkouts are what "W/O" leads out to.
	walkouts = set("patio patios deck decks balcony balconies terrace yard backyard basement bsmt")
	fridges  = set(fridgeWords)
	// kitchenThings stand beside a dishwasher on a list.
	kitchenThings = set(fridgeWords + " poele cuisiniere four laveuse secheuse hotte stove")
	highThings    = set("plafond plafonds ceiling ceilings")
	entrances     = set("ent entr entrance entrances entry")
	// facings are before a direction.
	facings = set("exposition exposure exposed expose exposee orientation oriented oriente orientee " +
		"facade facades facing faces traversant traversante")
	roomsOfHouse = set("laundry living dining family exercise rec games party storage bike")
	// rentThings are what a rent may include, beside the topics.
	rentThings = set("tout tous toutes all everything taxes stats electros electromenagers appliances appliance fi tv " +
		"lights light gas gaz clim climatisation ac washer dryer laveuse secheuse laundry deneigement locker")
)

// rentThing tells whether the token at i, or before a point or bracket there, is a thing that a rent may include.
func (p *Prose) rentThing(i int) bool {
	for n := 0; n < 2 && (p.sym(i) == '.' || p.sym(i) == '(' || p.sym(i) == ':'); n++ {
		i--
	}
	return p.about(i, aUtility|aParking|aFurnishing) || rentThings[p.word(i)]
}

// besideItems tells whether the token at i may stand before an item of a list.
func (p *Prose) besideItems(i int) bool {
	switch p.sym(i) {
	case ',', '/', '+', '&':
		return true
	}
	w := p.word(i)
	return w == "et" || w == "and" || w == "avec" || w == "with"
}

// beforeAnyOf tells whether one of the words is at the byte i.
func beforeAnyOf(s string, i int, words ...string) bool {
	return i <= len(s) && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(s[i:], w) })
}

// leadsThings tells whether the "inc." that ends at j leads from a price or the start to a thing: "975 $ inc.
// chauffage".
func (p *Prose) leadsThings(last, j int) bool {
	if last >= 0 && p.words[last].kind == word && !p.about(last, aMoney) {
		return false
	}
	k := skip(p.fold, min(j+1, len(p.fold)))
	n := k
	for n < len(p.fold) && isLetter(p.fold[n]) {
		n++
	}
	w := p.fold[k:n]
	return topics[w]&(aUtility|aParking|aFurnishing) != 0 || rentThings[w]
}

// pointAfter passes the point of a short form that ends at j, unless it ends the sentence as well: a capital or the end
// of the line follows.
func (p *Prose) pointAfter(j int) int {
	s := p.fold
	if char(s, j) != '.' {
		return j
	}
	k := skip(s, j+1)
	if k >= len(s) || s[k] == '\n' {
		return j
	}
	if c := p.text[p.at[k]]; k > j+1 && c >= 'A' && c <= 'Z' {
		return j
	}
	return j + 1
}

// shortLaundry reads "lav/séch", "lav. et séch.", "laveuse-séch.": either half alone is another word.
func (p *Prose) shortLaundry(i, j int) (words []string, end int) {
	s, last := p.fold, len(p.words)-1
	if s[i:j] != "lav" {
		for last > 0 && (p.words[last].kind == symbol || p.word(last) == "et") {
			last--
		}
		if p.word(last) == "laveuse" && last >= len(p.words)-3 {
			return []string{"secheuse"}, p.pointAfter(j)
		}
		return nil, j
	}
	if k := j + 1; j < len(s) && s[j] != '\n' && strings.HasPrefix(s[min(k, len(s)):], "vais") { // "lav-vais"
		for k < len(s) && isLetter(s[k]) {
			k++
		}
		return []string{"lavevaisselle"}, p.pointAfter(k)
	}
	k := j
	for n := 0; n < 4 && (strings.IndexByte(". /-&+", char(s, k)) >= 0 || char(s, k) == ',' &&
		(char(s, k-1) == '.' || beforeAnyOf(s, k, ", sech"))); n++ {
		k++
	}
	if strings.HasPrefix(s[k:], "et ") {
		k += len("et ")
	}
	if k > j && (strings.HasPrefix(s[k:], "sech") || strings.HasPrefix(s[k:], "sec") && !isLetter(char(s, k+3))) {
		return []string{"laveuse"}, p.pointAfter(j)
	}
	return nil, j
}

// shortFloor reads "ét.": "au 3e ét." is a floor, "à 2 ét." counts them. Without its accent it is "et".
func (p *Prose) shortFloor(i, j int) (words []string, end int) {
	last := len(p.words) - 1
	if p.text[p.at[i]] < utf8.RuneSelf || last < 0 {
		return nil, j
	}
	switch {
	case ordinalEnds[p.word(last)] || ordinals[p.word(last)] != "":
		return []string{"etage"}, p.pointAfter(j)
	case p.num(last) != nil:
		return []string{"etages"}, p.pointAfter(j)
	}
	return nil, j
}

// shortBans reads "NS/NP", "NS, NP": no smoking and no pets, and "NS." as a sentence. Elsewhere either alone is a
// province or nothing.
func (p *Prose) shortBans(i, j int) (words []string, end int) {
	s, other := p.fold, "np"
	if s[i:j] == other {
		other = "ns"
	}
	k := j
	for k < j+2 && (char(s, k) == '/' || char(s, k) == ',' || char(s, k) == '&' || char(s, k) == ' ') {
		k++
	}
	if n := k + len(other); k > j && beforeAnyOf(s, k, other) && !isLetter(char(s, n)) && !isDigit(char(s, n)) {
		return []string{"no", "smoking", ";", "no", "pets"}, n
	}
	// "1 pet max. NS."
	if last := len(p.words) - 1; other == "np" && p.sym(last) == '.' && !endsStreets[p.word(last-1)] &&
		(j == len(s) || char(s, j) == '.' || char(s, j) == '\n') && p.text[p.at[i]] == 'N' && p.text[p.at[i+1]] == 'S' {
		return []string{"no", "smoking"}, j
	}
	return nil, j
}

// endsStreets are the short forms that end a street, behind which "NS" is the province: "12 Barrington St. NS."
var endsStreets = set("st ave av rd dr blvd boul cres crt ct hwy ln pl")
