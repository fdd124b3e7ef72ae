package prose

import (
	"strings"
	"unicode/utf8"
)

// A short is what adverts cut a word or a pair of words to. It is read as the whole words, so that what holds of them
// (denials, lists, prices) holds of it.
type short struct {
	words []string // that it stands for; a symbol stands for itself
	when  cutWhen
}

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
			more[w] = short{[]string{whole}, anywhere}
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
				char(s, i-1) != '\'' && pair.when(p, i, end) {
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
		if animal, end := p.wordAhead(j); furry[animal] {
			return []string{"pets"}, end
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
		entrance, _ := p.wordAhead(end)
		if last := len(p.words) - 1; entrances[entrance] && p.num(last) == nil && !p.about(last, aFreedom) &&
			!ordinalEnds[p.word(last)] {
			return []string{"separate"}, end
		}
		return nil, j
	}
	if cut, ok := shorts[s[i:j]]; ok && cut.when(p, i, j) {
		if last := len(p.words) - 1; s[i:j] == "excl" && char(s, j) == '.' && (last < 0 || p.words[last].kind == symbol ||
			strings.Contains(s[p.words[last].end:i], "\n")) {
			return cut.words, j + 1 // "Excl. Hydro"
		}
		return cut.words, p.pointAfter(j)
	}
	return nil, j
}

var (
	// alsoShort are words of the trade that are short forms of others beside some words.
	alsoShort = set("et ch sep elec")
	// furry are animals after "fur" and "furry".
	furry     = set("friend friends baby babies kid kids companion companions members child children")
	entrances = set("ent entr entrance entrances entry")
)

// wordAhead is the folded word from the byte i on, behind spaces, and where it ends; "" for none.
func (p *Prose) wordAhead(i int) (w string, end int) {
	i = skip(p.fold, i)
	end = i
	for end < len(p.fold) && isLetter(p.fold[end]) {
		end++
	}
	return p.fold[i:end], end
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
