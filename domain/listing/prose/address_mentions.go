package prose

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/listing"
)

// address finds the first address: a civic number and a street with its type, or in a headline with its name alone.
func (p *Prose) address(headline bool) (a listing.Address, from, to int, ok bool) {
	for i := range p.words {
		m := addressMention{p: p, at: i, door: i}
		if !m.doors() || !m.ofStreet(headline) {
			continue
		}
		if a, ok = m.read(); ok {
			return a, i, m.end, true
		}
	}
	return listing.Address{}, 0, 0, false
}

// An addressMention is a number that may begin an address, and where its parts stand.
type addressMention struct {
	p      *Prose
	at     int  // the number
	door   int  // the civic number, behind the unit of "302-55 Charles Street"
	street int  // the first token of the street
	apart  bool // more than its own letter stands between the number and the street, and it is no row of doors
	typed  bool // the street has its type: "rue", "Avenue"
	end    int  // the last token
}

// doors passes the civic numbers, "120, 124 et 128", "415A", and tells whether a street may follow.
func (m *addressMention) doors() bool {
	p, i := m.p, m.at
	t := &p.words[i]
	if t.kind != number || t.digits < 1 || t.digits > 5 || t.dec > 0 || t.half || t.cents < 100 {
		return false
	}
	row, before, after := p.rowOfDoors(i), p.sym(i-1), p.sym(i+1)
	if before == '$' || after == '$' || before == '#' && !p.unitBefore(i) || before == '/' || after == '/' && row == i {
		return false
	}
	k, own := row+1, i+1
	for n := 0; n < 8 && p.nextCivic(k); n++ {
		k += 2
	}
	if w := p.word(k); len(w) == 1 && row == i && t.digits > 1 && (!p.words[k].space ||
		t.digits > 2 && p.capital(k) && doorLetterBefore[p.word(k+1)]) { // "415A Bronson Avenue", "5650 B rue Hutchison"
		k, own = k+1, own+1
	}
	if h := p.num(k); row == i && t.digits > 2 && h != nil && h.cents == 50 && h.digits == 0 { // "1235½ rue Wolfe"
		k, own = k+1, own+1
	}
	if end := p.dashedLetter(i); row == i && end > i { // "118-B, rue Notre-Dame"
		k, own = end+1, end+1
	}
	if p.sym(k) == '#' && p.num(k+1) != nil { // "1120 # 3 rue Villebon"
		k += 2
	}
	if p.sym(k) == ',' {
		k++
	}
	if p.sym(k) == '(' && p.sym(k+2) == ')' && p.words[k+1].kind == word && listing.StreetWord(p.word(k+3)) {
		k += 3 // "6245 (bas) rue Chabot"
	}
	if n := p.ofNamed(k); n > k && t.digits > 1 && !nearWords[p.word(i-1)] &&
		(p.streetBegins(n) || p.numberedStreet(n)) {
		k = n // "situé au 200 de la rue Cartier"
	}
	m.street, m.apart = k, row == i && k > own
	return k < len(p.words) && !p.words[k].line
}

// doorLetterBefore are the types of streets before which a letter by itself is the door's. "12 E Street" is a street E.
var doorLetterBefore = set("rue boul boulevard chemin")

// ofStreet finds the end of the street, and tells whether it is one.
func (m *addressMention) ofStreet(headline bool) bool {
	if m.english() {
		return true
	}
	if m.p.numberedStreet(m.street) {
		if m.end, m.typed = m.p.compassBehind(m.street+2), true; m.p.eastWest(m.end + 1) {
			m.end++
		}
		return true
	}
	m.typed = m.p.streetBegins(m.street)
	n := m.street + 1 // "12, rue tranquille" has no name
	if m.p.ofOffice(m.at) || m.typed && noNames[m.p.word(n)] && !m.p.capital(n) {
		return false
	}
	if !m.typed && !((headline || m.situated() || m.item() || m.proven()) && m.nameAlone()) {
		return false
	}
	m.end = m.p.streetEnd(m.street, m.typed)
	if k := m.p.ofNamed(m.street); !m.typed && k > m.street {
		m.end = m.p.streetEnd(k, false)
		for m.end > k && !m.p.capital(m.end) && m.p.words[m.end].space { // "du Loiret ainsi"
			m.end--
		}
	}
	return true
}

// english reads a street of which the type comes last: "Maple Avenue", "1508-120 Homewood Avenue".
func (m *addressMention) english() bool {
	p, i, k := m.p, m.at, m.street
	end := p.namedStreet(k)
	if end == 0 || p.noDoor(i) || p.sym(k-1) == ',' ||
		p.words[i].digits < 2 && !p.itemStart(i) && p.word(i-1) != "at" { // "close to the 401, Yonge Street"
		return false
	}
	if m.apart {
		if k != i+3 || !p.unitBefore(i) {
			return false
		}
		m.door = i + 2
	}
	m.end, m.typed = p.compassBehind(end), true
	return true
}

// numberedStreet tells whether a street with a number for its name begins at k: "4500 4e Avenue", "965 18e rue".
func (p *Prose) numberedStreet(k int) bool {
	n := p.num(k)
	if n == nil || n.dec > 0 || n.half || n.digits > 3 {
		return false
	}
	switch p.word(k + 1) {
	case "e", "eme", "ieme", "er", "ere", "re", "st", "nd", "rd", "th":
		return listing.StreetWord(p.word(k + 2))
	}
	return false
}

// nameAlone tells whether the name of a street stands without its type: "250 Joseph-Isabelle", not "2026 Bordeaux".
func (m *addressMention) nameAlone() bool {
	t := &m.p.words[m.at]
	k := m.p.ofNamed(m.street)
	proper := m.p.properName(k) || k > m.street && !m.p.words[min(k, len(m.p.words)-1)].space && m.p.capital(k) // l'Oural
	named := proper && (k == m.street || m.p.words[m.street].space &&
		(m.p.capital(m.street) || m.situated() || m.item() || m.proven())) // "860 Des Jésuites", "situé au 1397 de la Ronde"
	return t.digits >= 2 && !t.mayBeYear() && named && (m.p.sym(m.street-1) != ',' || k > m.street)
}

// item tells whether number and name are an item by themselves, and the name is joined: "5132 Henri-Bourassa. 615 $",
// ", 4225, des Cyprès,". "1535 Crossfit", the lines of buses, and a rent before a quarter, "750, Les Saules",
// "850 Centre-Ville", are none.
func (m *addressMention) item() bool {
	p, k := m.p, m.p.ofNamed(m.street)
	if p.words[m.at].digits < 3 || !p.itemStart(m.at) && p.sym(m.at-1) != ',' || p.noDoor(m.at) || k >= len(p.words) {
		return false
	}
	end := p.streetEnd(k, false)
	if k > m.street && p.word(m.street)[0] != 'd' || k == m.street && (end == k ||
		p.words[m.at].digits < 4 && !p.itemStart(m.at)) {
		return false
	}
	return p.stop(end+1) || p.sym(end+1) == ','
}

// ofNamed passes what leads to the name of a street at i, "de la", "Des".
func (p *Prose) ofNamed(i int) int {
	for n := 0; n < 3 && ofNames[p.word(i)]; n++ {
		i++
	}
	return i
}

// situated tells whether a text says that its home is at the number: "à voir au 3275 Duval", "Au 845 Isidore-Garon".
// "Face au 1200 Sherbrooke" is another's, and "de 900 au 1200" a range.
func (m *addressMention) situated() bool {
	p, k := m.p, m.at-1
	if w := p.word(k - 1); p.word(k) == "at" && (w == "located" || w == "situated") || p.unitAhead(m.at) != "" {
		return true // "located at 3450 Drummond", "#7 - 3450 Drummond"
	}
	if p.word(k) != "au" || p.num(m.street) != nil || p.num(k-1) != nil && !p.words[k-1].half {
		return false
	}
	w := p.word(k - 1)
	return p.itemStart(k) || p.words[k-1].half || p.words[m.at].digits > 3 && !nearWords[w] && w != "jusqu" ||
		homeLeads[w]
}

// homeLeads stand before "au" and the civic number of a home.
var homeLeads = set("voir situe situee situes louer appartement logement libre est trouve visites visite habite sis")

// read takes the address from its tokens, with the postal code or city that follows: "120 rue Laurier, Québec G1R 2K8".
func (m *addressMention) read() (a listing.Address, ok bool) {
	p := m.p
	m.end = p.unitBehind(m.end)
	near := m.end
	line := p.addressLine(m.door, m.end)
	if _, code := cutPostalCode(line); m.typed && code == "" { // the code may come a little later
		if far := p.addressTail(m.end); far > m.end {
			m.end, line = far, p.addressLine(m.door, far)
		}
	}
	a = ParseAddress(line)
	if len(a.Civic) == 0 || a.Street == "" || nameless(a.Street) {
		return a, false
	}
	a.Street = strings.TrimRight(a.Street, " (") // "3560 Ch. Ste-Foy (#103)"
	if !m.typed {
		a.Street = titleCase(a.Street)
	}
	if a.City == "" {
		a.City = cmp.Or(p.cityBehind(m.end), p.cityBehind(near))
	}
	if m.door > m.at && a.Unit == "" {
		a.Unit = strings.Trim(p.original(m.at, m.at), " -")
	}
	a.Unit = cmp.Or(a.Unit, p.unitAhead(m.at))
	return a, true
}

// addressLine returns the advert's own words from token i to token j, without the signs around them.
func (p *Prose) addressLine(i, j int) string { return strings.Trim(p.original(i, j), " ,-()") }

// unitBefore tells whether the number at i is the unit before the civic number of an English street: "302-55 Charles
// Street". Two years or hours are none.
func (p *Prose) unitBefore(i int) bool {
	t, door := &p.words[i], p.num(i+2)
	return (t.digits >= 3 || p.sym(i-1) == '#') && t.digits <= 4 && !t.mayBeYear() && door != nil && p.sym(i+1) == '-' &&
		!p.words[i+1].space && !door.space
}

// mayBeYear tells whether a number is no door since it may be a year: "1985", "2026".
func (t *token) mayBeYear() bool { return t.digits == 4 && t.cents >= 1950_00 && t.cents <= 2040_00 }

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
		case s == '/' && k+1 < len(p.words) && p.words[k].space == p.words[k+1].space: // "77 / 79 Cartier Ave"
		case s == '-' || s == '/':
			if p.words[k].space || k+1 < len(p.words) && p.words[k+1].space {
				return i
			}
		case s == ',':
			if p.num(k+1) == nil {
				break joints
			}
			most = step
		case s == '&' || w == "et" || w == "and" || w == "ou" || w == "or":
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
	if end > i && !p.streetBegins(k) && p.namedStreet(k) == 0 && !p.numberedStreet(k) {
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
	case "ch": // "2276 ch Ste-Foy"; it counts bedrooms elsewhere
		if p.sym(k+1) == '.' {
			k++
		}
		n := p.word(k + 1)
		t := p.num(k - 1)
		if p.sym(k) == '.' {
			t = p.num(k - 2)
		}
		return t != nil && t.digits >= 3 && !t.half && (n == "ste" || n == "st" || n == "sainte" || n == "saint" ||
			ofNames[n] && p.properName(p.ofNamed(k+1)))
	case "st", "cours", "place", "voie", "passage":
		return false
	case "square": // "979 square foot apartment"
		return !p.about(k+1, anArea)
	case "bd", "rue": // "2 bd suite", "à 1 rue du parc", but "à 5 rue Principale"
		t := p.num(k - 1)
		return t == nil || t.digits > 1 || w == "rue" && (p.word(k-2) != "a" || p.capital(k+1))
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
	if p.sym(k) == '.' && p.stop(k) && p.num(k-1) != nil { // "May 1st 2027. 184 Division Street"
		return false
	}
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
var streetTypes = set("street st avenue ave road rd drive dr crescent cres boulevard blvd lane court crt ct parkway " +
	"way place pl terrace circle trail")

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
		"steps step walking driving test shared single double dual lane easy short scenic plus along walk score shops " +
		"restaurants fire rooftop hole")
)

// namedStreet returns the last token of the English street that begins at i, "Maple Avenue", "Park Lawn Road", or 0.
// Its words have capitals and are no words of the trade: "5 Minutes To Park Avenue" is none.
func (p *Prose) namedStreet(i int) int {
	const trade = inEnglish | aMonth | aBedroom | aBathroom | aPiece | anArea | aFreedom | aMoney | anInclusion |
		aParking | aFurnishing
	for k := i; k < len(p.words) && k <= i+3; k++ {
		t := &p.words[k]
		if end := p.numberedName(i, k); end > 0 {
			return end
		}
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
	if i >= len(p.words) {
		return false
	}
	t := &p.words[i]
	if t.kind != word || len(t.w) < 4 && t.w != "st" && t.w != "ste" || t.topic != 0 || adjectives[t.w] || notNames[t.w] ||
		!t.space {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at[t.start]:])
	return unicode.IsUpper(r)
}

var notNames = set("pieces personnes dollars minutes grand grande tout avec pour dans ideal superbe beau belle neuf " +
	"neuve luxueux " +
	"near next steps from with vacant louer renove renovee renovated location rental rent week weekly jours heures " +
	"places secteur quartier metro centre haute basse vieux " +
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
		if t.kind == word && p.sym(k-1) == '-' && !t.space && !p.words[k-1].space &&
			(ofNames[t.w] || ofNames[p.word(k-2)]) { // "606 Marquis-de-Vaudreuil", "chemin du Bord-du-Lac"
			end = k
			continue
		}
		if typed && ofNames[t.w] && k < i+5 && p.oneLine(k, k+1) && p.words[k+1].kind == word &&
			(k == end+1 && end == i || ofNames[p.word(k-1)] || p.capital(k+1)) {
			continue // "rue des Érables", "rue du Parc"
		}
		if typed && ofNames[p.word(k-1)] && !p.about(k, aMonth) {
			end = k
			continue
		}
		if typed && end > i && p.capital(end) && !p.capital(k) && t.space && !compass[t.w] {
			break // "rue Prospect rénové"
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
