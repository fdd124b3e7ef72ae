package prose

import (
	"regexp"
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
	rest, code := cutPostalCode(strings.ReplaceAll(halfDoor.ReplaceAllString(text, "$1 1/2"), "|", ", "))
	a.PostalCode = code
	rest, inBrackets := cutBrackets(roundBrackets.Replace(rest))
	rest, first := cutUnitFirst(rest)
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '\n' || r == ';' })
	kept := parts[:0]
	for _, part := range parts {
		part = strings.Trim(part, " -.")
		if part = cutProvince(part); part != "" {
			kept = append(kept, part)
		}
	}
	parts = kept
	if len(parts) > 1 && cities[cityKey(parts[1])] == "" {
		if door, u := cutUnit(parts[0]); u != "" && civicList(door) { // "559 # 6, rue Boisseau"
			parts[0], first = door, u
		}
	}
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
	if a.Unit == "" {
		a.Unit = first
	}
	if early != "" && cities[cityKey(a.City)] == "" { // "Le Cartier, 10 rue des Pins, Laval" has its building first
		a.City = cityName(early)
	}
	if a.City == "" && cities[cityKey(inBrackets)] != "" {
		a.City = cityName(inBrackets)
	}
	if a.City == "" {
		a.Street, a.City = cutCity(a.Street)
	}
	return a
}

// halfDoor is the end of a civic number with a half: "2245½, rue Dézéry". "4½" are rooms.
var halfDoor = regexp.MustCompile(`(\d{3})½`)

// unitFirst is a unit that leads to the civic number, and a penthouse before a comma.
var unitFirst = regexp.MustCompile(`(?i)^\s*(?:(?:apt|app|appt|apartment|appartement|unit|unité|suite|bureau|condo)\b\.?\s*#?\s*` +
	`(\w{1,6})\s*-\s*(\d)|(PH[- ]?\d{0,3})\s*[,-]\s*(\d))`)

// dottedUnit is "App.01", of which the unit touches its mark.
var dottedUnit = regexp.MustCompile(`(?i)\b(app|apt|appt)\.(\d)`)

// cutUnitFirst takes "apt. 3 - " and "PH-02, " off the beginning of an address.
func cutUnitFirst(s string) (rest, unit string) {
	if isDigit(char(s, 0)) { // most addresses
		return s, ""
	}
	m := unitFirst.FindStringSubmatchIndex(s)
	switch {
	case m == nil:
		return s, ""
	case m[2] >= 0:
		return s[m[4]:], s[m[2]:m[3]]
	default:
		return s[m[8]:], s[m[6]:m[7]]
	}
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
		if isDigit(char(part, 0)) && len(strings.Fields(part)) > 1 && namesStreet(part) && !isDigit(char(s, 0)) {
			city := "" // "Montréal (1234 rue Saint-Denis)"; "The Atrium (310-1265 Barclay St), Vancouver" has it behind
			if head := strings.Trim(s[:i], " ,-"); cities[cityKey(head)] != "" {
				city = "," + head
			}
			s = part + city + "," + s[i+n+1:]
			continue
		}
		if key := cityKey(part); key != "quebec" && key != "ontario" { // "Montréal (Québec)" names the province
			inside = part
		}
		s = s[:i] + "," + unit + s[i+n+1:]
	}
}

// roundBrackets makes all brackets round ones.
var roundBrackets = strings.NewReplacer("[", "(", "]", ")")

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
	words := strings.Fields(spaceHyphens(strings.ReplaceAll(afterBuilding(part), "½", " 1/2 ")))
	if len(words) == 0 {
		return false
	}
	if len(words) > 3 && len(words[0]) == 1 && words[1] == "-" && isCivic(words[2]) && !isCivic(words[0]) { // "C - 6971 …"
		unit, words = words[0], words[2:]
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
	if len(civic) > 0 && k+2 < len(words) && len(words[k]) == 1 && words[k][0] >= 'A' && words[k][0] <= 'Z' &&
		doorLetterBefore[page.Fold(strings.Trim(words[k+1], ".,"))] { // "5650 A rue Hutchison"
		civic[len(civic)-1] += words[k]
		k++
	}
	civic, k = numbersOfStreet(civic, words, k)
	if u, left := unitOfDoors(civic, words, k, part); u != "" {
		civic, unit = left, u
	}
	if len(civic) == 1 && unit == "" && leadsCivic(words, k) { // "103 1485 Garnet Rd"
		civic, unit = []string{words[k]}, civic[0]
		k++
	}
	if len(civic) > 0 && k < len(words) && words[k] == "1/2" {
		civic[len(civic)-1] += " 1/2"
		k++
	}
	street := strings.Join(words[k:], " ")
	if strings.IndexByte(street, '-') >= 0 {
		street = closeHyphens.Replace(street)
	}
	if m := ofType.FindStringSubmatch(street); m != nil && (isDigit(m[2][0]) || listing.StreetWord(page.Fold(m[2]))) {
		street = street[len(m[1]):]
	}
	if s, u := cutUnit(street); u != "" {
		street, unit = strings.TrimSpace(s), u
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

// ofType joins a civic number to the type of its street: "200 de la rue Cartier", "15 du boulevard Laurier".
var ofType = regexp.MustCompile(`(?i)^((?:du|de la|de) (?:l['’])?)(\d*\pL+) `)

// civicJoint may stand between the civic numbers of one street.
func civicJoint(w string) bool {
	switch w {
	case "-", "/", "&", "@", "à", "au", "et", "and", "ou", "or", "to":
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
	apart := max(doorOf(x)-doorOf(y), doorOf(y)-doorOf(x))
	return apart == 2 && doorOf(y)%100 != 0 || doorOf(x) > 999 && apart <= row
}

// spaceHyphens sets hyphens between numbers apart, so that "4500-4520" is two words and "Saint-Jean" one. It does so
// with the stroke of "310/312", but not with that of "12 1/2".
func spaceHyphens(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '-' && i > 0 && i+1 < len(s) && isDigit(s[i+1]) &&
			(isDigit(s[i-1]) || i > 1 && isLetter(s[i-1]|0x20) && isDigit(s[i-2])) { // "102A-1644"
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
	words := strings.Fields(dottedUnit.ReplaceAllString(s, "$1. $2"))
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
