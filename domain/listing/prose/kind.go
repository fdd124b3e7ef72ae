package prose

import "github.com/mtlrent/conveyor/domain/page"

// ParsePropertyType returns what kind of home s offers: apartment, condo, house, townhouse, duplex-triplex, basement,
// studio, loft, room or "" when s does not say. "Style condo" is no condo, and a logement in a house is no house.
func ParsePropertyType(s string) string {
	p := Read(page.Line(s))
	v, _, _ := p.kind()
	if v == "" {
		if b, _ := p.building(); b == "duplex" || b == "triplex" {
			return "duplex-triplex"
		}
		if f, _, _ := p.floor(true); f == "basement" {
			return f
		}
	}
	return v
}

var kinds = map[string]string{
	"condo": "condo", "condos": "condo", "condominium": "condo", "condominiums": "condo", "condominum": "condo",
	"condominio": "condo",
	"loft":       "loft", "lofts": "loft", "townhouse": "townhouse", "townhouses": "townhouse", "townhome": "townhouse",
	"maison": "house", "maisons": "house", "house": "house", "houses": "house", "cottage": "house", "bungalow": "house",
	"chalet": "house",
	"jumele": "house", "jumelee": "house", "storey": "house", "stories": "house", "unifamiliale": "house",
	"detached": "house", "villa": "house", "split": "house",
	"appartement": "apartment", "appartements": "apartment", "apartment": "apartment", "apartments": "apartment",
	"appart":  "apartment",
	"apparts": "apartment", "apt": "apartment", "logement": "apartment", "logements": "apartment", "flat": "apartment",
	"app":  "apartment",
	"appt": "apartment", "appartment": "apartment", "appartments": "apartment", "apartement": "apartment",
	"appartemant": "apartment", "penthouse": "apartment",
}

// rank orders the kinds that a text names side by side: "grand loft (studio)" is a loft, "condo style loft" a condo.
var rank = map[string]int{"townhouse": 6, "condo": 5, "loft": 4, "studio": 3, "house": 2, "apartment": 1}

// kind finds the kind of home that a text names: the one of the highest rank, and the first of these. A house that has
// flats is an apartment, and a "tour de condos" a condo where nothing else is named.
func (p *Prose) kind() (value string, from, to int) {
	flats, tower := false, -1
	from, to = -1, -1
	for i := range p.words {
		v, a, b := p.kindAt(i)
		if v == "condo" && p.ofTower(i) {
			tower = i
			continue
		}
		if rank[v] > rank[value] {
			value, from, to = v, a, b
		}
		flats = flats || v == "apartment" || v == "condo"
	}
	if value == "" && tower >= 0 {
		value, from, to = "condo", tower, tower
	}
	if value == "house" && flats {
		value = "apartment"
	}
	return value, from, to
}

// kindAt reads the kind of home that the word at i names, "maison de ville", and its tokens; "" when it names none, as
// in "style loft", "open house" or "app. 4".
func (p *Prose) kindAt(i int) (value string, from, to int) {
	if p.about(i, aStudio) && !p.likened(i) && !p.artStudio(i) {
		return "studio", i, i
	}
	if !p.about(i, aType) {
		return "", i, i
	}
	w, last, next := p.word(i), p.word(i-1), p.word(i+1)
	value, from, to = kinds[w], i, i
	none := false
	switch w {
	case "town":
		return townhouses[next], i, i + 1
	case "family":
		if last == "single" {
			return "house", i - 1, i
		}
	case "maison", "maisons":
		if p.seq(i+1, "de", "ville") || p.seq(i+1, "en", "rangee") {
			value, to = "townhouse", i+2
		} else {
			none = p.inHouse(i)
		}
	case "house", "houses":
		if last == "row" {
			return "townhouse", i - 1, i
		}
		none = last == "town" || last == "open" || last == "full" || last == "a" && p.word(i-2) == "in"
	case "app", "apt": // "app. 4" is an address
		t, dotted := p.num(i+1), p.num(i+2)
		none = t != nil && !t.half || p.sym(i+1) == '#' || p.sym(i+1) == '.' && dotted != nil && !dotted.half
	case "semi": // "3 bed semi", a half of a house
		if p.about(i-1, aBedroom) && (p.stop(i+1) || p.sym(i+1) == ',' || p.sym(i+1) == '-' && p.words[i+1].space) {
			return "house", i, i
		}
	case "split":
		none = next != "level" && p.word(i+2) != "level"
	}
	if none || value == "" || p.likened(i) || p.many(i) {
		return "", i, i
	}
	return value, from, to
}

// townhouses follow "town".
var townhouses = map[string]string{
	"house": "townhouse", "home": "townhouse", "houses": "townhouse", "homes": "townhouse",
}

// likened tells whether the home at i is only compared: "style loft", "type condo", "condo-style".
func (p *Prose) likened(i int) bool {
	switch p.word(i - 1) {
	case "style", "type", "genre", "comme", "look", "qualite", "facon", "inspire":
		return true
	case "un", "une", "d", "a":
		n := i - 2
		if w := p.word(n); w == "d" || w == "of" { // "the feel of a townhouse", "l'allure d'une maison"
			n--
		}
		if w := p.word(n - 1); (p.word(n) == "a" || p.word(n) == "to") && (w == "ressemble" || w == "semblable" ||
			w == "similar") {
			return true
		}
		switch p.word(n) {
		case "comme", "like", "style", "air", "ambiance", "allure", "feel", "look", "proprietaire", "owner":
			return true
		}
	}
	k := i + 1
	if p.sym(k) == '-' {
		k++
	}
	switch p.word(k) {
	case "style", "type", "like", "quality": // "condo style building", but "condo style loft" is a condo
		return kinds[p.word(k+1)] == "" || k == i+2
	}
	return false
}

// ofTower tells whether "condo" at i says what building the home is in, which a studio may be too: "tour de condos".
func (p *Prose) ofTower(i int) bool {
	if w := p.word(i + 1); w == "tower" || w == "building" {
		return true
	}
	w := p.word(i - 2)
	return (p.word(i-1) == "de" || p.word(i-1) == "a") && (w == "tour" || w == "immeuble" || w == "projet" ||
		w == "complexe")
}

// many tells whether a number of two digits or more counts the homes at i: "a section of 200 townhouses" is a project.
func (p *Prose) many(i int) bool {
	t := p.num(i - 1)
	if w := p.word(i - 2); t != nil && (w == "de" || w == "of") && (p.word(i-3) == "immeuble" ||
		p.word(i-3) == "building") {
		return true // "un immeuble de 4 condos"
	}
	return t != nil && t.digits >= 2 && t.dec == 0 && !t.half && p.fold[p.words[i].end-1] == 's'
}

// inHouse tells whether the home is in the house at i, or the house is something else: "dans une maison", "à la
// maison".
func (p *Prose) inHouse(i int) bool {
	for k := i - 1; k >= i-4 && k >= 0; k-- {
		switch p.word(k) {
		case "dans", "etage", "sol", "bas", "haut", "chaussee", "la", "pres", "in", "votre", "notre", "ma":
			return true
		case "une", "d", "de", "grande", "belle", "petite", "cette":
			continue
		}
		break
	}
	return false
}

// plexes are buildings of a few homes, one above the other.
var plexes = set("duplex triplex quadruplex fourplex quadriplex quintuplex sixplex multiplex")

// building returns the building that a home is part of: duplex, triplex …
func (p *Prose) building() (value string, at int) {
	for i := range p.words {
		if !p.about(i, aType) {
			continue
		}
		switch w := p.word(i); {
		case plexes[w]:
			if w == "fourplex" || w == "quadriplex" {
				w = "quadruplex"
			}
			return w, i
		case w == "plex":
			if t := p.num(i - 1); t != nil && t.digits <= 2 {
				return itoa(int(t.cents/100)) + "-plex", i
			}
			if p.sym(i-1) == '-' && p.num(i-2) != nil && p.num(i-2).digits <= 2 {
				return itoa(int(p.num(i-2).cents/100)) + "-plex", i
			}
		}
	}
	return "", -1
}

// sublet tells whether tenants pass their own lease on.
func (p *Prose) sublet(headline bool) (bool, int) {
	for i := range p.words {
		if !p.about(i, aSublet) || p.subletDenied(i) {
			continue
		}
		switch p.word(i) {
		case "sublet", "sublease", "sublets", "subletting":
			if p.word(i-1) == "no" || p.word(i-1) == "pas" || p.deniedList(i) >= 0 || subletDenials[p.word(i+1)] ||
				p.seq(i+1, "is", "not") || p.answeredNo(i) {
				continue
			}
			return true, i
		case "sous":
			k := i + 1
			if p.sym(k) == '-' {
				k++
			}
			switch p.word(k) {
			case "bail": // "sous bail de 12 mois" is a lease
				return k == i+2, i
			case "location", "louer", "loue", "locations", "loc":
				return p.word(i-1) != "pas" && p.word(i-2) != "pas", i
			}
		case "location":
		case "taking", "take":
			if p.word(i+1) == "over" && (p.about(i+2, aLease) || p.about(i+3, aLease)) {
				return true, i
			}
		default: // "cession de bail", "je cède mon 4 ½", "à céder"
			own := false
			for k := i - 2; k <= i+4; k++ {
				switch p.word(k) {
				case "bail", "lease", "baux":
					return true, i
				case "mon", "notre", "my", "our":
					own = k > i
				case "appartement", "appart", "logement", "studio", "loft", "condo", "apartment":
					if own {
						return true, i
					}
				}
				if t := p.num(k); own && t != nil && t.half {
					return true, i
				}
			}
			if headline && p.word(i) == "ceder" && p.word(i-1) == "a" {
				return true, i
			}
		}
	}
	return false, 0
}

// subletDenials stand after "sublets" where they are not allowed.
var subletDenials = set("not prohibited forbidden interdit interdite interdites interdits")

// subletDenied tells whether the sentence goes on to forbid what begins at i: "sous-location ou cession interdites".
func (p *Prose) subletDenied(i int) bool {
	for k := i + 1; k <= i+7 && k < len(p.words) && !p.stop(k) && p.sym(k) != ','; k++ {
		if w := p.word(k); subletDenials[w] && w != "not" {
			return true
		}
	}
	return false
}

// answeredNo tells whether ": no" follows the label that token i is part of: "Sublease & Subletting: No".
func (p *Prose) answeredNo(i int) bool {
	for k := i + 1; k <= i+4 && k < len(p.words) && !p.words[k].line; k++ {
		if p.sym(k) == ':' {
			return answers[p.word(k+1)] == saysExcluded
		}
	}
	return false
}

// multi tells whether a headline offers more than one thing without counting them: "À louer ou chambreurs".
func (p *Prose) multi() (bool, int) {
	for i := range p.words {
		switch p.word(i) {
		case "chambreurs", "chambreur":
			if w := p.word(i - 1); w == "ou" || w == "et" {
				return true, i
			}
		case "plusieurs", "several", "multiple", "various", "differents":
			for k := i + 1; k <= i+3; k++ {
				if p.about(k, aType) || p.word(k) == "grandeurs" || p.word(k) == "formats" || p.word(k) == "sizes" ||
					p.word(k) == "units" || p.word(k) == "unites" {
					return true, i
				}
			}
		}
	}
	return false, 0
}
