package prose

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// unitMarks lead to the unit of an address.
var unitMarks = set("app apt appt appart appartement apartment unit unite suite")

// unitBehind returns the last token of the unit that follows a street up to token i, "rue Fabre, app. 3", "Bloor St W
// #204", "Sherbrooke O (NDG), apt 12", or i. "34 rue Whitaker, appartement 2 chambres" has none.
func (p *Prose) unitBehind(i int) int {
	k := p.pastStreet(i)
	if end := p.unitFrom(i, k); end > i {
		return end
	}
	if p.sym(k-1) != '(' {
		return i
	}
	for n := k; n <= k+4 && p.words[min(n, len(p.words)-1)].kind != number; n++ {
		if p.sym(n) != ')' {
			continue
		}
		if n++; p.sym(n) == ',' {
			n++
		}
		return p.unitFrom(i, n)
	}
	return i
}

// unitFrom returns the last token of the unit at k of the street up to token i, or i.
func (p *Prose) unitFrom(i, k int) int {
	from := k
	if unitMarks[p.word(k)] {
		if k++; p.sym(k) == '.' || p.sym(k) == ':' {
			k++
		}
	}
	if p.sym(k) == '#' {
		k++
	}
	if k == from || !p.oneLine(i, k) {
		return i
	}
	if t := p.num(k); t != nil && t.digits > 0 && t.digits <= 4 && t.dec == 0 && !t.half && p.sym(k+1) != '$' &&
		!p.about(k+1, aBedroom|aPiece|aBathroom|anArea) {
		if w := p.word(k + 1); len(w) == 1 && !p.words[k+1].space {
			k++
		}
		return k
	}
	if len(p.word(k)) == 1 && p.capital(k) && p.sym(k+1) != '/' { // not "Unit A/C"
		return k
	}
	return i
}

// pastStreet returns the token behind what may stand between a street up to token i and the rest of its address: a
// comma, and the point of "Ave." or "St. W.".
func (p *Prose) pastStreet(i int) int {
	k := i + 1
	if w := p.word(i); p.sym(k) == '.' && (listing.StreetWord(w) || compass[w]) {
		k++
	}
	if s := p.sym(k); s == ',' || s == '-' || s == '(' {
		k++
	}
	return k
}

// oneLine tells whether the tokens behind i up to j are there and no line ends before them.
func (p *Prose) oneLine(i, j int) bool {
	for k := i + 1; k <= j; k++ {
		if k >= len(p.words) || p.words[k].line {
			return false
		}
	}
	return true
}

// unitAhead returns the unit that leads to the civic number at i, "Unit 312, 6083 Maynard Way", "501 - 1285 West 8th
// Ave", or "".
func (p *Prose) unitAhead(i int) string {
	k := i - 1
	at := p.word(k) == "at" || p.word(k) == "au" // "Unit 12 at 2050 Bank St."
	if s := p.sym(k); s != ',' && s != '-' && !at || p.words[i].line {
		return ""
	}
	t := p.num(k - 1)
	if t == nil || t.digits == 0 || t.digits > 4 || t.dec > 0 || t.half || !p.oneLine(k-1, i) {
		return ""
	}
	lead := k - 2
	marked := p.sym(lead) == '#'
	if marked || p.sym(lead) == '.' {
		lead--
	}
	marked = marked && !at || unitMarks[p.word(lead)]
	apart := p.sym(k) == '-' && p.words[k].space && t.digits > 1 && (p.words[k-1].line || lead < 0 ||
		p.sym(lead) == '|' || p.sym(lead) == ',' || p.sym(lead) == '(')
	if !marked && !apart {
		return ""
	}
	return strings.Trim(p.original(k-1, k-1), " ,-")
}

// cityBehind reads the city that follows an address up to token i: ", Lévis", or a town before its province, "Truro,
// NS".
func (p *Prose) cityBehind(i int) string {
	k := p.pastStreet(i)
	if city := p.cityAt(i, k); city != "" || p.sym(k-1) != '(' {
		return city
	}
	for n := k; n <= k+5 && p.oneLine(i, n); n++ { // "rue Sherbrooke Ouest (Le Linton), Montréal"
		if p.sym(n) == ')' {
			if n++; p.sym(n) == ',' {
				n++
			}
			return p.cityAt(i, n)
		}
	}
	return ""
}

// cityAt reads the city at k of an address up to token i.
func (p *Prose) cityAt(i, k int) string {
	joined := p.word(k) == "a" || p.word(k) == "in" // "rue Christophe-Colomb (Rosemont), à Montréal", "rue Fabre à laval"
	if joined {
		k++
	}
	if !joined && !p.capital(k) {
		return ""
	}
	if p.seq(k, "ville", "de") || p.seq(k, "city", "of") {
		k += 2
	}
	for end := min(k+6, len(p.words)-1); end >= k; end-- {
		if !p.oneLine(i, end) {
			continue
		}
		name := strings.Trim(p.original(k, end), " ,.-()")
		after := end + 1
		if key := cityKey(name); cities[key] != "" && // not "Windsor Park"
			!(alsoStreets[key] && p.wordOn(after) && (!joined || p.capital(after))) {
			return cityName(name)
		}
		comma := p.sym(after) == ','
		if comma {
			after++
		}
		if end >= k+3 || !p.oneLine(end, after) || !p.wordsOnly(k, end) || !p.capital(k) {
			continue
		}
		w := strings.Trim(p.original(after, after), " ,.()")
		if provinces[w] && !(w == "ON" && p.wordOn(after+1)) || comma && p.word(after) == "quebec" { // not "ON BUS ROUTE"
			return cityName(name)
		}
	}
	return ""
}

// wordOn tells whether a word goes on with the line at i; letters of a postal code do not.
func (p *Prose) wordOn(i int) bool {
	return len(p.word(i)) > 1 && !p.words[i].line && !provinces[strings.Trim(p.original(i, i), " ,.()")]
}

// provinces are the codes by which an address names one, and the longest names that are used for that.
var provinces = set("AB BC MB NB NL NS NT NU ON PE PEI QC SK YT Ontario Alberta Manitoba Saskatchewan")

// wordsOnly tells whether the tokens i..j are words and what joins them.
func (p *Prose) wordsOnly(i, j int) bool {
	for k := i; k <= j; k++ {
		if p.words[k].kind != word && p.sym(k) != '-' && p.sym(k) != '.' {
			return false
		}
	}
	return true
}

// ofNames stand before a name that is part of a street's: "chemin de Chambly".
var ofNames = set("de du des la le les l d")

// cutCity takes the city off the end of a street that no comma parts from it: "rue Saint-Denis Montréal", "Bridge Ave
// Windsor". A street may be named for a city: "boulevard de Laval".
func cutCity(street string) (rest, city string) {
	words := strings.Fields(street)
	for n := min(3, len(words)-2); n > 0; n-- {
		k := len(words) - n
		key, last := cityKey(strings.Join(words[k:], " ")), page.Fold(strings.Trim(words[k-1], ".,"))
		if cities[key] == "" || ofNames[last] || last == "saint" || last == "st" || last == "sainte" || last == "ste" {
			continue
		}
		if typed := listing.StreetWord(last) || compass[last]; typed || !alsoStreets[key] {
			return strings.Join(words[:k], " "), cityName(strings.Join(words[k:], " "))
		}
	}
	return street, ""
}

// alsoStreets are cities that streets are named for.
var alsoStreets = func() map[string]bool {
	m := set("victoria london windsor richmond cambridge waterloo aurora bedford milton regina kingston hamilton " +
		"sherbrooke vanier alma laval lambert halifax burlington vaughan langley kent hull aylmer")
	for _, name := range [...]string{"mont royal", "saint laurent", "saint michel", "saint hubert", "saint jerome"} {
		m[name] = true
	}
	return m
}()

// numberedName returns the last token of the English street of which the number for its name stands at k, "5th Avenue",
// "106 Avenue", with the direction before it at i, "West 5th Avenue", or 0.
func (p *Prose) numberedName(i, k int) int {
	n, end := p.num(k), k+1
	if n == nil || n.dec > 0 || n.half || n.line || !n.space || n.digits == 0 || n.digits > 3 ||
		k > i && (k > i+1 || !compass[p.word(i)]) {
		return 0
	}
	ordinal := false
	if w := p.word(end); len(w) <= 2 && w != "" && !p.words[end].space {
		ordinal = w == "st" || w == "nd" || w == "rd" || w == "th"
		if !ordinal && len(w) > 1 { // "152A Street"
			return 0
		}
		end++
	}
	switch w := p.word(end); {
	case end >= len(p.words) || p.words[end].line || !p.capital(end) || !streetTypes[w]:
		return 0
	case !ordinal && w != "street" && w != "st" && w != "avenue" && w != "ave":
		return 0
	}
	return end
}

// compassBehind returns the last token of the direction that ends an English street up to token i, "Avenue NW", "Bloor
// St W", or i. "Main St East York" ends before it.
func (p *Prose) compassBehind(i int) int {
	k := i + 1
	if p.sym(k) == '.' {
		k++
	}
	w := p.word(k)
	if !compass[w] || w == "no" || w == "so" || !p.capital(k) || !p.oneLine(i, k) ||
		len(w) > 2 && p.oneLine(k, k+1) && p.capital(k+1) {
		return i
	}
	return k
}

// nameless tells whether a street read from words has no name: "rue", "rue ouest", "Avenue NW".
func nameless(street string) bool {
	words := strings.Fields(page.Fold(street))
	types := 0
	for _, w := range words {
		switch w = strings.Trim(w, "."); {
		case listing.StreetWord(w):
			types++
		case !compass[w] && !ofNames[w]:
			return false
		}
	}
	return types < 2
}

// ofOffice tells whether the caretaker or the rental office is what the civic number at i belongs to: "Concierge : 163
// boul. Benoît XV", "le bureau de location est situé au 900 rue Laudance".
func (p *Prose) ofOffice(i int) bool {
	for k := i - 1; k >= 0 && k >= i-8 && !p.stop(k+1); k-- {
		switch w := p.word(k); {
		case w == "location" && p.seq(k-2, "bureau", "de"), (w == "concierge" || w == "conciergerie") && k >= i-2:
			return true
		}
	}
	return false
}
