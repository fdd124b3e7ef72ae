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

func (p *Prose) kind() (value string, from, to int) {
	flats, tower := false, -1
	from, to = -1, -1
	see := func(v string, a, b int) {
		if rank[v] > rank[value] {
			value, from, to = v, a, b
		}
		flats = flats || v == "apartment" || v == "condo"
	}
	for i := range p.words {
		if p.about(i, aStudio) && !p.likened(i) && !p.artStudio(i) {
			see("studio", i, i)
			continue
		}
		if !p.about(i, aType) {
			continue
		}
		w := p.word(i)
		switch w {
		case "town":
			if n := p.word(i + 1); n == "house" || n == "home" || n == "houses" || n == "homes" {
				see("townhouse", i, i+1)
			}
			continue
		case "maison", "maisons":
			if p.seq(i+1, "de", "ville") || p.seq(i+1, "en", "rangee") {
				if !p.likened(i) && !p.many(i) {
					see("townhouse", i, i+2)
				}
				continue
			}
			if p.inHouse(i) {
				continue
			}
		case "house", "houses":
			if p.word(i-1) == "town" || p.word(i-1) == "open" || p.word(i-1) == "row" || p.word(i-1) == "full" ||
				p.word(i-1) == "a" && p.word(i-2) == "in" {
				if p.word(i-1) == "row" {
					see("townhouse", i-1, i)
				}
				continue
			}
		case "app", "apt":
			if t := p.num(i + 1); t != nil && !t.half || p.sym(i+1) == '#' || p.sym(i+1) == '.' && p.num(i+2) != nil &&
				!p.num(i+2).half {
				continue // "app. 4" is an address
			}
		case "family":
			if p.word(i-1) == "single" {
				see("house", i-1, i)
			}
			continue
		case "split":
			if p.word(i+1) != "level" && p.word(i+2) != "level" {
				continue
			}
		}
		if v := kinds[w]; v != "" && !p.likened(i) && !p.many(i) {
			if v == "condo" && p.ofTower(i) {
				tower = i
				continue
			}
			see(v, i, i)
		}
	}
	if value == "" && tower >= 0 {
		value, from, to = "condo", tower, tower
	}
	if value == "house" && flats {
		value = "apartment"
	}
	return value, from, to
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

// building returns the building that a home is part of: duplex, triplex …
func (p *Prose) building() (value string, at int) {
	for i := range p.words {
		if !p.about(i, aType) {
			continue
		}
		switch w := p.word(i); w {
		case "duplex", "triplex", "quadruplex", "fourplex", "quadriplex", "quintuplex", "sixplex", "multiplex":
			if w == "fourplex" || w == "quadriplex" {
				w = "quadruplex"
			}
			return w, i
		case "plex":
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
