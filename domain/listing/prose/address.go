package prose

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// ParseAddress takes a printed address apart: "3515-53 avenue Lacombe, Montréal, QC, H3T 1M2" is civic 3515, unit 53;
// "4500 - 4520 - 4570, 4e Avenue Est, Québec" is three buildings; "Montréal, QC H2L 3Z1" has no street. City names lose
// "Ville de" and get their hyphens and accents ("St Leonard" → "Saint-Léonard"); a postal code may be its first half.
// Text is always all of s. Parts that cannot be told stay empty.
func ParseAddress(s string) listing.Address {
	text := page.Line(s)
	a := listing.Address{Text: text}
	rest, code := cutPostalCode(text)
	a.PostalCode = code
	rest, inBrackets := cutBrackets(rest)
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '\n' || r == ';' })
	kept := parts[:0]
	for _, part := range parts {
		part = strings.Trim(part, " -.")
		if part = cutProvince(part); part != "" {
			kept = append(kept, part)
		}
	}
	parts = kept
	// A civic number that stands alone belongs to the street after it: "4500 - 4520, 4e Avenue Est", "12, 14, 16 rue X".
	for len(parts) > 1 && civicList(parts[0]) {
		joint := " "
		words := append([]string{parts[0]}, strings.Fields(spaceHyphens(parts[1]))...)
		if len(words) > 1 && isCivic(words[1]) && !isOrdinal(words, 1) {
			joint = "-"
		}
		parts[1] = parts[0] + joint + parts[1]
		parts = parts[1:]
	}
	early := "" // a name before the street: its city, or its building
	for i, part := range parts {
		switch {
		case a.Street == "" && streetLine(&a, part, i, len(parts)):
		case a.Unit == "" && unitOf(part) != "":
			a.Unit = unitOf(part)
		case strings.ContainsAny(part, "0123456789"):
		case a.City != "":
		case a.Street == "" && early == "" && cities[cityKey(part)] == "":
			early = part
		case a.Street == "" && early != "":
		default:
			a.City = cityName(part)
		}
	}
	if early != "" && cities[cityKey(a.City)] == "" { // "Le Cartier, 10 rue des Pins, Laval" has its building first
		a.City = cityName(early)
	}
	if a.City == "" && cities[cityKey(inBrackets)] != "" {
		a.City = cityName(inBrackets)
	}
	return a
}

// cutBrackets takes the borough of "Montréal (Rosemont/La Petite-Patrie)" or "7300 19e Avenue (Rosemont), Montréal" off
// an address: what stands on either side of it are two parts. A unit in brackets is a part of its own.
func cutBrackets(s string) (rest, inside string) {
	for {
		i := strings.IndexByte(s, '(')
		n := strings.IndexByte(s[max(i, 0):], ')')
		if i < 0 || n < 0 {
			return s, inside
		}
		part, unit := strings.TrimSpace(s[i+1:i+n]), ""
		if unitOf(part) != "" {
			unit = part + ","
		}
		if key := cityKey(part); key != "quebec" && key != "ontario" { // "Montréal (Québec)" names the province
			inside = part
		}
		s = s[:i] + "," + unit + s[i+n+1:]
	}
}

// civicList tells whether a part is nothing but civic numbers: "1201", "1203 et 1205", "15 au 19".
func civicList(s string) bool {
	if isCivic(s) {
		return true
	}
	words := strings.Fields(s)
	for i, w := range words {
		if !isCivic(w) && (!civicJoint(w) || i == 0 || i == len(words)-1) {
			return false
		}
	}
	return len(words) > 0
}

var closeHyphens = strings.NewReplacer(" - ", "-", " -", "-", "- ", "-")

// streetLine reads a part into a as civic number, unit and street. A part without a number is a street only if it says
// so.
func streetLine(a *listing.Address, part string, i, n int) bool {
	unit := ""
	if strings.HasPrefix(part, "#") { // "#302 - 2055 rue Principale"
		u, rest, ok := strings.Cut(part[1:], "-")
		if u = strings.TrimSpace(u); ok && isCivic(u) && len(u) <= 6 {
			unit, part = u, strings.TrimSpace(rest)
		}
	}
	words := strings.Fields(spaceHyphens(strings.ReplaceAll(part, "½", " 1/2 ")))
	if len(words) == 0 {
		return false
	}
	var civic []string
	k := 0
	for k < len(words) {
		w := words[k]
		switch {
		case civicJoint(w):
			if k == 0 || len(civic) == 0 || isLetter(w[0]) && k+1 < len(words) && !isCivic(words[k+1]) {
				break
			}
			k++
			continue
		case isCivic(w) && !isOrdinal(words, k) && len(civic) < 20:
			if len(civic) > 0 && !civicJoint(words[k-1]) && !nextDoor(words, k) {
				break
			}
			civic = append(civic, w)
			k++
			continue
		}
		break
	}
	if len(civic) == 2 && strings.Contains(part, civic[0]+"-"+civic[1]) { // "3515-53", "53-3515" or a row of doors
		x, y := civic[0], civic[1]
		switch {
		case len(y) < len(x):
			civic, unit = []string{x}, y
		case len(y) > len(x):
			civic, unit = []string{y}, x
		}
	}
	if len(civic) == 2 && k > 2 && len(civic[0]) == len(civic[1]) && civic[0] > civic[1] && words[k-2] == "-" &&
		!neighbours(civic[0], civic[1]) {
		civic, unit = civic[1:], civic[0] // "302 - 200 Main": the doors of a row ascend
	}
	if len(civic) > 0 && k < len(words) && words[k] == "1/2" {
		civic[len(civic)-1] += " 1/2"
		k++
	}
	street := strings.Join(words[k:], " ")
	if strings.IndexByte(street, '-') >= 0 {
		street = closeHyphens.Replace(street)
	}
	if s, u := cutUnit(street); u != "" {
		street, unit = s, u
	}
	if street == "" || len(civic) == 0 && !namesStreet(street) {
		return false
	}
	if len(civic) == 0 && i > 0 && n > 1 && !namesStreet(street) {
		return false
	}
	a.Civic, a.Street = civic, street
	if unit != "" {
		a.Unit = unit
	}
	return true
}

// civicJoint may stand between the civic numbers of one street.
func civicJoint(w string) bool {
	switch w {
	case "-", "/", "&", "@", "à", "au", "et", "and", "to":
		return true
	}
	return false
}

// nextDoor tells whether the civic number at k follows that before it with nothing between, "8200 8210 8220 boulevard
// Lacroix": the doors ascend, are of one length and neighbours, and the last is no numbered street's, "125 Street NW".
func nextDoor(words []string, k int) bool {
	x, y := words[k-1], words[k]
	if _, err := strconv.Atoi(x); err != nil {
		return false
	}
	if _, err := strconv.Atoi(y); err != nil || len(x) != len(y) || len(x) < 3 || x >= y || !neighbours(x, y) {
		return false
	}
	if k+1 < len(words) && !listing.StreetWord(page.Fold(strings.Trim(words[k+1], "."))) {
		return true
	}
	for _, w := range words[min(k+2, len(words)):] {
		if !compass[page.Fold(strings.Trim(w, "."))] {
			return true
		}
	}
	return false
}

// compass words end the name of a street.
var compass = set("n s e w o ne nw se sw no so north south east west nord sud est ouest")

// neighbours says that two civic numbers may be those of one building: they are the doors of a duplex, "712-710", or
// have four digits or more, for shorter ones are of units, and are close to each other, "8452-8450". At a round number,
// "202-200", the first is a unit.
func neighbours(x, y string) bool {
	const row = 50
	door := func(s string) int {
		n, _ := strconv.Atoi(strings.TrimRightFunc(s, unicode.IsLetter))
		return n
	}
	apart := max(door(x)-door(y), door(y)-door(x))
	return apart == 2 && door(y)%100 != 0 || door(x) > 999 && apart <= row
}

// spaceHyphens sets hyphens between numbers apart, so that "4500-4520" is two words and "Saint-Jean" one. It does so
// with the stroke of "310/312", but not with that of "12 1/2".
func spaceHyphens(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '-' && i > 0 && i+1 < len(s) && isDigit(s[i-1]) && isDigit(s[i+1]) {
			b.WriteString(" - ")
			continue
		}
		if s[i] == '/' && i > 1 && i+2 < len(s) && isDigit(s[i-2]) && isDigit(s[i-1]) && isDigit(s[i+1]) &&
			isDigit(s[i+2]) {
			b.WriteString(" / ")
			continue
		}
		if s[i] == '-' && i > 0 && isDigit(s[i-1]) && i+1 < len(s) && s[i+1] == ' ' {
			b.WriteString(" -")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isCivic accepts "3515", "12A", and several of them.
func isCivic(s string) bool {
	digits, letters := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
			letters = 0
		case isLetter(c | 0x20):
			letters++
			if digits == 0 {
				return false
			}
		case c == ' ' || c == '-' || c == '/' || c == '&':
		default:
			return false
		}
		if letters > 1 || digits > 40 {
			return false
		}
	}
	return digits > 0
}

// isOrdinal tells whether the word is part of a street's name: "4e", "1re", "41st", or "4 e" as two words.
func isOrdinal(words []string, k int) bool {
	w := page.Fold(words[k])
	for _, end := range [...]string{"e", "er", "re", "ieme", "eme", "st", "nd", "rd", "th"} {
		if n := strings.TrimSuffix(w, end); n != w && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	if k+1 < len(words) {
		switch page.Fold(words[k+1]) {
		case "e", "ieme", "eme", "er", "re":
			return true
		case "avenue", "rue", "rang", "av":
			return k > 0 && len(w) <= 2 && !civicJoint(words[k-1]) // "10 au 20 rue des Pins"
		}
	}
	return false
}

// namesStreet tells whether a line names a street: "Av. Pigeon", "4e Avenue Est", "Sherbrooke Street West".
func namesStreet(s string) bool {
	words := strings.Fields(page.Fold(s))
	for i, w := range words {
		w = strings.Trim(w, ".,")
		if !listing.StreetWord(w) || len(words) == 1 {
			continue
		}
		switch {
		case w == "st" && i == 0, w == "cote" && len(words) < 3 && i == 0: // "St Leonard" is a city
			continue
		case i == 0, strings.ContainsAny(words[0], "0123456789"), i == len(words)-1, i == len(words)-2:
			return true
		}
	}
	return false
}

// cutUnit takes "#101", "app. 4", "apt 3", "unité 5" off a line.
func cutUnit(s string) (rest, unit string) {
	if i := strings.LastIndexByte(s, '#'); i >= 0 {
		u := strings.Fields(s[i+1:])
		if len(u) > 0 && len(u[0]) <= 6 {
			return strings.Trim(s[:i], " ,-") + tail(u[1:]), strings.Trim(u[0], ".,")
		}
	}
	words := strings.Fields(s)
	for i, w := range words {
		switch strings.Trim(page.Fold(w), ".:") {
		case "app", "apt", "appartement", "apartment", "apt#", "unit", "unite", "suite", "bureau", "local", "condo", "appart",
			"porte", "ste":
			if i+1 < len(words) && i > 0 && len(words[i+1]) <= 6 && strings.ContainsAny(words[i+1], "0123456789") ||
				i+1 < len(words) && len(words[i+1]) == 1 {
				return strings.Trim(strings.Join(words[:i], " "), " ,-") + tail(words[i+2:]), strings.Trim(words[i+1], ".,#")
			}
		}
	}
	return s, ""
}

func tail(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}

func unitOf(part string) string {
	_, u := cutUnit("x " + part)
	return u
}

// cutPostalCode takes a Canadian postal code, or its first half at the end, off an address.
func cutPostalCode(s string) (rest, code string) {
	best, end := -1, -1
	for i := 0; i+3 <= len(s); i++ {
		if i > 0 && (isLetter(s[i-1]|0x20) || isDigit(s[i-1])) || !isLetter(s[i]|0x20) || !isDigit(s[i+1]) ||
			!isLetter(s[i+2]|0x20) {
			continue
		}
		j := i + 3
		if char(s, j) == ' ' || char(s, j) == '-' {
			j++
		}
		if j+3 <= len(s) && isDigit(s[j]) && isLetter(s[j+1]|0x20) && isDigit(s[j+2]) && (j+3 == len(s) ||
			!isLetter(s[j+3]|0x20) && !isDigit(s[j+3])) {
			return strings.TrimRight(s[:i], " ,") + s[j+3:], strings.ToUpper(s[i:i+3] + " " + s[j:j+3])
		}
		if (i+3 == len(s) || s[i+3] == ',' || s[i+3] == ' ') && strings.IndexByte("GHJKghjk", s[i]) >= 0 {
			best, end = i, i+3
		}
	}
	if best >= 0 {
		return strings.TrimRight(s[:best], " ,") + s[end:], strings.ToUpper(s[best:end])
	}
	return s, ""
}

// cutProvince drops "QC", "Quebec" as a province, "Canada".
func cutProvince(part string) string {
	switch strings.Trim(page.Fold(part), " .()") {
	case "qc", "canada", "pq", "p.q", "q.c", "qc canada", "quebec canada", "ca", "quebec qc canada":
		return ""
	case "quebec qc", "qc quebec":
		return "Québec"
	case "quebec":
		return part
	}
	if other := province(part); other != "" {
		return strings.TrimSpace(part[:len(part)-len(other)])
	}
	words := strings.Fields(part)
	for len(words) > 1 {
		switch strings.Trim(page.Fold(words[len(words)-1]), ".()") {
		case "qc", "canada", "pq":
			words = words[:len(words)-1]
			continue
		case "quebec":
			if w := page.Fold(words[len(words)-2]); w != "de" && w != "of" {
				words = words[:len(words)-1]
				continue
			}
		}
		break
	}
	return strings.Join(words, " ")
}

// province returns the code of a province other than Quebec that a part of an address ends in, or "".
func province(part string) string {
	words := strings.Fields(part)
	if len(words) == 0 {
		return ""
	}
	switch last := words[len(words)-1]; last {
	case "AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "SK", "YT":
		return last
	}
	return ""
}

// cities spells the places that adverts spell in many ways; the key is folded, with spaces for hyphens.
var cities = map[string]string{
	"quebec": "Québec", "quebec city": "Québec", "montreal": "Montréal", "levis": "Lévis",
	"saint leonard": "Saint-Léonard",
	"saint laurent": "Saint-Laurent", "montreal nord": "Montréal-Nord", "montreal est": "Montréal-Est",
	"montreal ouest": "Montréal-Ouest",
	"cote saint luc": "Côte-Saint-Luc", "mont royal": "Mont-Royal", "town of mount royal": "Mont-Royal",
	"saint michel":   "Saint-Michel",
	"trois rivieres": "Trois-Rivières", "beaupre": "Beaupré", "sainte foy": "Sainte-Foy", "saint jerome": "Saint-Jérôme",
	"saint hubert": "Saint-Hubert", "pointe claire": "Pointe-Claire", "dollard des ormeaux": "Dollard-Des Ormeaux",
	"pointe aux trembles": "Pointe-aux-Trembles", "ancienne lorette": "L'Ancienne-Lorette",
	"l'ancienne lorette":          "L'Ancienne-Lorette",
	"saint augustin de desmaures": "Saint-Augustin-de-Desmaures", "saint romuald": "Saint-Romuald", "laval": "Laval",
	"longueuil": "Longueuil",
	"gatineau":  "Gatineau", "sherbrooke": "Sherbrooke", "verdun": "Verdun", "lasalle": "LaSalle", "anjou": "Anjou",
	"lachine":   "Lachine",
	"outremont": "Outremont", "westmount": "Westmount", "brossard": "Brossard", "terrebonne": "Terrebonne",
	"repentigny":   "Repentigny",
	"charlesbourg": "Charlesbourg", "beauport": "Beauport", "vanier": "Vanier", "wendake": "Wendake",
	"boischatel":    "Boischatel",
	"saint lambert": "Saint-Lambert", "boucherville": "Boucherville", "chateauguay": "Châteauguay",
	"saint eustache":         "Saint-Eustache",
	"saint jean chrysostome": "Saint-Jean-Chrysostome", "saint nicolas": "Saint-Nicolas",
	"saint gabriel de valcartier": "Saint-Gabriel-de-Valcartier",
	"saguenay":                    "Saguenay",
	"chicoutimi":                  "Chicoutimi",
	"rimouski":                    "Rimouski",
	"drummondville":               "Drummondville",
	"hampstead":                   "Hampstead", "dorval": "Dorval", "kirkland": "Kirkland", "beaconsfield": "Beaconsfield",
	"saint hyacinthe": "Saint-Hyacinthe",
}

func cityName(s string) string {
	folded := page.Fold(s)
	for _, prefix := range [...]string{"ville de ", "city of ", "cite de ", "municipalite de "} {
		if strings.HasPrefix(folded, prefix) && len(folded) > len(prefix) {
			n := len([]rune(prefix))
			s = string([]rune(s)[min(n, len([]rune(s))):])
			folded = folded[len(prefix):]
		}
	}
	if name := cities[cityKey(folded)]; name != "" {
		return name
	}
	return strings.TrimSpace(s)
}

// cityKey is the key of a place in cities.
func cityKey(s string) string {
	words := strings.FieldsFunc(page.Fold(s), func(r rune) bool { return r == ' ' || r == '-' || r == '.' })
	for i, w := range words {
		switch w {
		case "st":
			words[i] = "saint"
		case "ste":
			words[i] = "sainte"
		}
	}
	return strings.Join(words, " ")
}

func (p *Prose) address(headline bool) (a listing.Address, from, to int, ok bool) {
	for i := range p.words {
		t := &p.words[i]
		if t.kind != number || t.digits < 1 || t.digits > 5 || t.dec > 0 || t.half || t.cents < 100 {
			continue
		}
		row := p.rowOfDoors(i)
		if p.sym(i-1) == '$' || p.sym(i+1) == '$' || p.sym(i-1) == '#' || p.sym(i-1) == '/' || p.sym(i+1) == '/' && row == i {
			continue
		}
		k := row + 1
		for n := 0; n < 8 && p.nextCivic(k); n++ {
			k += 2
		}
		if p.sym(k) == ',' {
			k++
		}
		if p.sym(k) == '(' && p.sym(k+2) == ')' && p.words[k+1].kind == word && listing.StreetWord(p.word(k+3)) {
			k += 3 // "6245 (bas) rue Chabot"
		}
		if k >= len(p.words) || p.words[k].line {
			continue
		}
		named := p.namedStreet(k)                             // "Maple Avenue": its type comes last
		if t.digits < 2 || p.noDoor(i) || p.sym(k-1) == ',' { // "close to the 401, Yonge Street"
			named = 0
		}
		first := i
		if named > 0 && row == i && k > i+1 {
			if p.unitBefore(i) && k == i+3 { // "1508-120 Homewood Avenue"
				first = i + 2
			} else {
				named = 0
			}
		}
		typed := named > 0 || p.streetBegins(k)
		if n := p.num(k); n != nil && n.dec == 0 && !n.half && n.digits <= 3 { // "4500 4e Avenue", "965 18e rue"
			m := k + 1
			switch p.word(m) {
			case "e", "eme", "ieme", "er", "ere", "re", "st", "nd", "rd", "th":
				m++
			}
			typed = m > k+1 && listing.StreetWord(p.word(m))
		}
		year := t.digits == 4 && t.cents >= 1950_00 && t.cents <= 2040_00
		if !typed {
			if !headline || year || t.digits < 2 || !p.properName(k) || p.sym(k-1) == ',' {
				continue
			}
		}
		if t.digits == 1 && !typed {
			continue
		}
		end := named
		if named == 0 {
			end = p.streetEnd(k, typed)
		}
		line := p.original(first, end)
		if named > 0 && p.eastWest(end+1) {
			end++
			line = p.original(first, end)
		}
		line = strings.Trim(line, " ,-()")
		if _, code := cutPostalCode(line); typed && code == "" { // the code may come a little later
			if far := p.addressTail(end); far > end {
				end = far
				line = strings.Trim(p.original(first, end), " ,-()")
			}
		}
		a = ParseAddress(line)
		if len(a.Civic) == 0 || a.Street == "" {
			continue
		}
		if !typed {
			a.Street = titleCase(a.Street)
		}
		if first > i && a.Unit == "" {
			a.Unit = strings.Trim(p.original(i, i), " -")
		}
		return a, i, end, true
	}
	return a, 0, 0, false
}

// unitBefore tells whether the number at i is the unit before the civic number of an English street: "302-55 Charles
// Street". Two years or hours are none.
func (p *Prose) unitBefore(i int) bool {
	t, door := &p.words[i], p.num(i+2)
	year := t.digits == 4 && t.cents >= 1950_00 && t.cents <= 2040_00
	return t.digits >= 3 && t.digits <= 4 && !year && door != nil && p.sym(i+1) == '-' && !p.words[i+1].space &&
		!door.space
}

// rowOfDoors returns the last of several civic numbers before one street, "120, 124 et 128 rue Laurier", "55/57 Charles
// Street", that begin at i, or i. The doors of a row ascend, are of one length, near and on one side of the street:
// dates, telephones and units are not.
func (p *Prose) rowOfDoors(i int) int {
	const row, step = 100_00, 20_00
	first := &p.words[i]
	if first.digits < 2 || !p.rowMayBegin(i) {
		return i
	}
	end, k := i, i+1
joints:
	for n := 0; n < 8; n++ {
		most := int64(row)
		switch s, w := p.sym(k), p.word(k); {
		case s == '-' || s == '/':
			if p.words[k].space || k+1 < len(p.words) && p.words[k+1].space {
				return i
			}
		case s == ',':
			if p.num(k+1) == nil {
				break joints
			}
			most = step
		case s == '&' || w == "et" || w == "and":
		case w == "a" || w == "au" || w == "to": // "de 10 à 12" are hours
			if first.digits < 3 {
				return i
			}
		default:
			break joints
		}
		t := p.num(k + 1)
		if t == nil || t.dec > 0 || t.half || t.line || p.words[k].line || t.digits != first.digits ||
			t.cents-first.cents > row {
			return i
		}
		if apart := t.cents - p.words[end].cents; apart <= 0 || apart > most || apart%200 != 0 {
			return i
		}
		end, k = k+1, k+2
	}
	if p.sym(k) == ',' {
		k++
	}
	if end > i && !p.streetBegins(k) && p.namedStreet(k) == 0 {
		return i
	}
	return end
}

// rowMayBegin tells whether what stands before the number at i may lead to an address: the start of a thought, or one
// of a few words. "Apt 302, 304 rue Fabre" has one door.
func (p *Prose) rowMayBegin(i int) bool {
	if i == 0 || p.words[i].line {
		return true
	}
	switch p.sym(i - 1) {
	case 0:
		return rowLeads[p.word(i-1)]
	case ':', '(', ';', '!', '?', '|':
		return true
	case '.':
		return p.stop(i-1) && !unitWords[p.word(i-2)]
	case ',':
		return i > 1 && p.words[i-2].kind == word && !p.about(i-2, aMonth) && !unitWords[p.word(i-2)]
	case '-':
		return p.words[i].space && (p.num(i-2) == nil || p.num(i-2).half) && !unitWords[p.word(i-2)]
	}
	return false
}

// streetBegins tells whether the type of a street, of which the name follows, stands at k.
func (p *Prose) streetBegins(k int) bool {
	switch w := p.word(k); w {
	case "ch", "st", "cours", "place", "voie", "passage":
		return false
	default:
		return listing.StreetWord(w)
	}
}

// noDoor tells whether the number at i is none of an English street that follows: a year or a day, a line of buses, a
// road, a unit, or of an address nearby.
func (p *Prose) noDoor(i int) bool {
	if i == 0 || p.words[i].line {
		return false
	}
	if s := p.sym(i - 1); p.num(i-2) != nil && (s == ')' || s == '-' && !p.words[i-1].space && !p.words[i].space) {
		return true // a telephone: "604-555-1234 Granville Street area"
	}
	k := i - 1
	for n := 0; n < 2 && (p.sym(k) == ':' || p.sym(k) == '.'); n++ {
		k--
	}
	w := p.word(k)
	if p.sym(k+1) == '.' && len(w) > 3 { // "a bright unit. 140 Elm Court", not "hwy. 7"
		return false
	}
	l := p.word(k - 1)
	if p.ofOthers(k, w == "address" || w == "adresse" || w == "at" && (l == "located" || l == "situated")) {
		return true
	}
	switch {
	case w == "at":
		return false
	case nearWords[w], unitWords[w], p.about(k, aMonth|aMoney):
		return true
	case w == "and", w == "et", w == "st", w == "nd", w == "rd", w == "th", p.sym(k) == '&':
		return p.num(k-1) != nil
	case p.sym(k) == ',' && p.num(k-1) != nil: // "July 1, 2026 Park Avenue"
		return p.about(k-2, aMonth)
	}
	return p.num(k) != nil
}

var (
	// officeWords before an address say that it is the manager's or the broker's.
	officeWords = set("office offices realty realtor realtors brokerage properties management managed manager apply " +
		"call text phone tel")
	// placeWords before an address say that it is a shop's, a school's or a line of buses'.
	placeWords = set("near nearby close steps minutes minute min mins walk walking opposite beside behind mall market " +
		"store stores supermarket grocery groceries shop shops school schools university college hospital library " +
		"restaurant restaurants station stations transit ttc bus buses streetcar subway metro")
)

// ofOthers tells whether the words of the sentence up to k lead to the address of another place than the home. What is
// located right at the address is no place nearby.
func (p *Prose) ofOthers(k int, located bool) bool {
	for n := 0; n < 12 && k >= 0; n, k = n+1, k-1 {
		if w := p.word(k); officeWords[w] || placeWords[w] && !located {
			return true
		}
		if p.stop(k) {
			return false
		}
	}
	return false
}

// streetTypes end the name of an English street.
var streetTypes = set("street st avenue ave road rd drive crescent boulevard blvd lane court parkway")

var (
	// nearWords before a number say that the address is another's, "steps to 100 Queen Street", or none.
	nearWords = set("near to from behind opposite beside off pres proche face bus buses autobus route routes hwy " +
		"highway autoroute metro line lines ligne exit sortie streetcar tram ttc subway circuit express in since built depuis en " +
		"year by past along via of the between entre corner coin phase zone score until till vers toward towards")
	// unitWords before a number say that it is part of a building.
	unitWords = set("apt app appt apts apartment appartement unit units unite suite suites condo bureau office local " +
		"floor level room chambre etage logement porte building bloc lot")
	// rowLeads lead to the doors of a row.
	rowLeads = set("au aux du at located address adresse situe situes situee situees immeuble immeubles logements " +
		"appartements apartments duplex triplex buildings les")
	// afterNoStreet follow what is no street, or no address: "20 Mile Drive To Town", "501 Queen Street car".
	afterNoStreet = set("to from away thru bus buses car cars streetcar streetcars stop stops line shops station")
	// noStreets are no names of English streets: "Min Drive", "Food Court", "Bike Lane".
	noStreets = set("min mins minute minutes km kms mile miles hr hrs hour hours car cars tennis basketball volleyball " +
		"badminton squash pickleball food private block blocks storey story stories trade bike way dead busy quiet " +
		"walking driving test shared single double dual lane easy short scenic plus along walk score shops restaurants")
)

// namedStreet returns the last token of the English street that begins at i, "Maple Avenue", "Park Lawn Road", or 0.
// Its words have capitals and are no words of the trade: "5 Minutes To Park Avenue" is none.
func (p *Prose) namedStreet(i int) int {
	const trade = inEnglish | aMonth | aBedroom | aBathroom | aPiece | anArea | aFreedom | aMoney | anInclusion |
		aParking | aFurnishing
	for k := i; k < len(p.words) && k <= i+3; k++ {
		t := &p.words[k]
		typed := k > i && streetTypes[t.w]
		if t.kind != word || t.line || !t.space || !p.capital(k) || noStreets[t.w] && !typed ||
			!typed && (t.topic&trade != 0 || notNames[t.w] || adjectives[t.w]) {
			return 0
		}
		if typed && p.sym(k+1) != '-' {
			n := k + 1
			if compass[p.word(n)] {
				n++
			}
			if afterNoStreet[p.word(n)] && !p.words[n].line {
				return 0
			}
			return k
		}
		if listing.StreetWord(t.w) && k == i {
			return 0
		}
	}
	return 0
}

// nextCivic tells whether another civic number of the street follows at k: "4500-4520", "45 et 47".
func (p *Prose) nextCivic(k int) bool {
	t := p.num(k + 1)
	if t == nil || t.dec > 0 || t.half || t.digits > 5 {
		return false
	}
	w := p.word(k)
	return p.sym(k) == '-' && !t.space || t.digits >= 2 && !p.words[k].line && !t.line &&
		(p.sym(k) == '&' || w == "et" || w == "and") && listing.StreetWord(p.word(k+2))
}

// original returns the advert's own words from token i to token j, unmasked and uncut.
func (p *Prose) original(i, j int) string {
	from, to := int(p.at[p.words[i].start]), len(p.text)
	if end := int(p.words[j].end); end < len(p.at) {
		to = int(p.at[end])
	}
	if to < from {
		return ""
	}
	return p.text[from:to]
}

// properName tells whether the word at i is a name in a headline: capitalized, and not a word of the trade.
func (p *Prose) properName(i int) bool {
	t := &p.words[i]
	if t.kind != word || len(t.w) < 4 && t.w != "st" && t.w != "ste" || t.topic != 0 || adjectives[t.w] || notNames[t.w] ||
		!t.space {
		return false
	}
	r := []rune(p.text[p.at[t.start]:])
	return len(r) > 0 && unicode.IsUpper(r[0])
}

var notNames = set("pieces personnes dollars minutes grand grande tout avec pour dans ideal superbe beau belle neuf " +
	"neuve luxueux " +
	"near next steps from with vacant louer renove renovee renovated location rental rent week weekly jours heures " +
	"places secteur quartier metro " +
	"proche pres inclus incl salles logis loyers lits stationnements fermees closed bright sunny spacious beautiful " +
	"modern")

// streetEnd returns the last token of the street that starts at i.
func (p *Prose) streetEnd(i int, typed bool) int {
	end := i
	for k := i + 1; k < len(p.words) && k < i+7; k++ {
		t := &p.words[k]
		if t.line {
			break
		}
		if s := t.sym; s != 0 {
			if s == '-' && !t.space && k+1 < len(p.words) && !p.words[k+1].space && p.words[k+1].kind == word || s == '.' &&
				k == i+1 && typed {
				continue
			}
			if s == '#' && p.num(k+1) != nil {
				return k + 1
			}
			break
		}
		if t.kind == number {
			if n := p.word(k + 1); !p.words[k].half && (n == "e" || n == "eme" || n == "ieme") && k <= i+1 {
				end = k
				continue
			}
			break
		}
		if t.topic&^(aPiece|anArea|aUtility|aMoney) != 0 && !listing.StreetWord(t.w) && !(t.w == "est" && p.eastWest(k)) &&
			t.w != "mont" && t.w != "maisonneuve" ||
			t.w == "a" || t.w == "et" || t.w == "au" || t.w == "pres" || t.w == "avec" || t.w == "coin" || t.w == "dans" ||
			t.w == "est" && !p.eastWest(k) {
			break
		}
		end = k
		if !typed && !p.words[k].space && p.sym(k-1) != '-' {
			break
		}
		if !typed && (k >= i+2 || k+1 < len(p.words) && p.words[k+1].space && p.sym(k-1) != '-' && !p.eastWest(k+1)) {
			break
		}
	}
	return end
}

func (p *Prose) eastWest(i int) bool {
	switch p.word(i) {
	case "est", "ouest", "nord", "sud", "east", "west", "north", "south", "e", "o":
		return i+1 >= len(p.words) || p.words[i+1].kind != word || p.words[i+1].line || !p.words[i+1].space ||
			p.word(i+1) == "a"
	}
	return false
}

// addressTail extends an address to its postal code when city and province lead there directly.
func (p *Prose) addressTail(i int) int {
	for k := i + 1; k < len(p.words) && k <= i+9 && !p.words[k].line; k++ {
		t := &p.words[k]
		if t.kind == word && len(t.w) == 1 && t.space && p.num(k+1) != nil && !p.words[k+1].space && len(p.word(k+2)) == 1 &&
			p.num(k+3) != nil && len(p.word(k+4)) == 1 && p.num(k+5) != nil {
			return k + 5
		}
		if t.kind == symbol && t.sym != ',' && t.sym != '-' && t.sym != '(' && t.sym != ')' && t.sym != '.' ||
			t.kind == number {
			return i
		}
	}
	return i
}

func titleCase(s string) string {
	if s != strings.ToUpper(s) {
		return s
	}
	r := []rune(strings.ToLower(s))
	for i := range r {
		if i == 0 || r[i-1] == ' ' || r[i-1] == '-' || r[i-1] == '\'' {
			r[i] = unicode.ToUpper(r[i])
		}
	}
	return string(r)
}
