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
	flats := false
	from, to = -1, -1
	see := func(v string, a, b int) {
		if rank[v] > rank[value] {
			value, from, to = v, a, b
		}
		flats = flats || v == "apartment" || v == "condo"
	}
	for i := range p.words {
		if p.about(i, aStudio) && !p.likened(i) {
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
				if !p.likened(i) {
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
		if v := kinds[w]; v != "" && !p.likened(i) {
			see(v, i, i)
		}
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
	case "un", "d", "a":
		switch p.word(i - 2) {
		case "comme", "like", "style", "air", "ambiance", "allure":
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

var ordinals = map[string]string{
	"premier": "1", "deuxieme": "2", "troisieme": "3", "quatrieme": "4", "dernier": "top", "first": "1", "second": "2",
	"third": "3", "top": "top",
	"haut": "top", "main": "ground", "ground": "ground", "lower": "ground", "upper": "2", "cinquieme": "5", "seconde": "2",
	"last": "top", "fourth": "4",
}

// placed tells whether a part of a building named at i is where the home is, and not its laundry or locker. A headline
// speaks of the home unless it says otherwise.
func (p *Prose) placed(i int, headline bool) bool {
	for k := i - 1; k >= 0 && k >= i-5; k-- {
		if p.words[k+1].line {
			return true
		}
		t := &p.words[k]
		if t.half {
			return true
		}
		switch t.w {
		case "situe", "situee", "situes", "logement", "appartement", "appart", "studio", "loft", "localise", "apartment",
			"unit", "located", "bachelor", "condo", "app", "dispo", "disponible":
			return true
		case "au", "a", "en", "de", "le", "est", "du", "grand", "beau", "is", "on", "the", "in", "et", "ou", "renove",
			"louer", "un", "dans", "demi", "semi":
			continue
		case "rangement", "locker", "casier", "buanderie", "stationnement", "garage", "laveuse", "secheuse", "remise",
			"lavage", "storage", "laundry", "rangements":
			return false
		}
		if !headline {
			return false
		}
	}
	return headline
}

func (p *Prose) floor(headline bool) (value string, from, to int) {
	for i := range p.words {
		if !p.about(i, aType) {
			continue
		}
		switch p.word(i) {
		case "basement", "soussol", "sousol", "sous", "ss":
			end := i
			if p.word(i) == "sous" {
				end++
				if p.sym(end) == '-' {
					end++
				}
				if w := p.word(end); w != "sol" && w != "sols" {
					continue
				}
			}
			if p.word(i) == "ss" && i > 0 && p.word(i-1) != "demi" {
				continue
			}
			k := i - 1
			for p.sym(k) == '-' {
				k--
			}
			if w := p.word(k); w == "demi" || w == "semi" || w == "half" {
				return "half-basement", k, end
			}
			if t := p.num(k); t != nil && (t.cents == 50 && t.digits == 0) {
				return "half-basement", k, end
			}
			if w := p.word(i - 1); w == "finished" || w == "le" || w == "un" || w == "avec" || w == "with" || !p.placed(i,
				headline) {
				continue
			}
			return "basement", i, end
		case "rdc", "rez":
			if p.placed(i, headline) {
				return "ground", i, i
			}
		case "etage", "floor":
			k := i - 1
			switch p.word(k) {
			case "e", "eme", "ieme", "er", "nd", "rd", "th", "st", "ier", "iem":
				k--
			}
			if t := p.num(k); t != nil && t.dec == 0 && !t.half && t.digits >= 1 && t.digits <= 2 && t.cents > 0 {
				return itoa(int(t.cents / 100)), k, i
			}
			if v := ordinals[p.word(k)]; v != "" {
				return v, k, i
			}
		case "duplex", "triplex":
			if p.word(i-1) == "de" || p.word(i-1) == "d" {
				switch p.word(i - 2) {
				case "haut":
					return "top", i - 2, i
				case "bas":
					return "ground", i - 2, i
				}
			}
		}
	}
	return "", -1, -1
}

// An offer is what an advert is about, as far as its headline tells.
type offer uint8

const (
	aHome    offer = iota
	wanted         // the advert looks for a home
	swapped        // a home for a home
	sold           // for sale
	business       // shop, office, warehouse
	carPlace       // parking or storage alone
)

func (p *Prose) offer() (o offer, from, to int) {
	rent := false
	home := false
	for i := range p.words {
		rent = rent || p.word(i) == "louer" || p.word(i) == "rent" || p.about(i, aLease|aSublet) && p.word(i) != "sous" ||
			p.word(i) == "location" || p.word(i) == "lease" && i > 0
		home = home || p.words[i].half || p.about(i, aStudio) || kinds[p.word(i)] != "" || p.about(i, aBedroom)
	}
	for i := range p.words {
		switch w := p.word(i); w {
		case "recherche", "recherchons", "cherche", "cherchons", "wanted", "looking", "recherches", "cherches", "chercher",
			"rechercher", "searching", "seeking", "desire", "iso":
			if i > 4 || w == "iso" && i > 0 || w == "desire" && p.word(i-1) != "je" {
				continue
			}
			if p.sym(i+1) == ':' && (w == "recherche" || w == "wanted") && i == 0 { // Kijiji's own prefix
				return wanted, i, i + 1
			}
			switch p.word(i - 1) { // "roommate wanted" offers a room
			case "roommate", "roommates", "coloc", "colocataire", "tenant", "locataire":
				if w == "wanted" || w == "recherche" {
					return aHome, 0, 0
				}
			}
			if i > 0 && w == "recherche" && (p.word(i-1) == "centre" || p.word(i-1) == "tres" || p.word(i-1) == "secteur" ||
				p.word(i-1) == "plus") {
				continue
			}
			for k := i + 1; k <= i+4; k++ {
				switch p.word(k) { // the home seeks people: an offer
				case "colocataire", "colocataires", "coloc", "colocs", "locataire", "locataires", "roommate", "roommates", "tenant",
					"tenants", "coloc's",
					"personne", "chambreur", "sous", "occupant", "ceder", "transferer":
					if k == i+1 || !p.about(k-1, aType) {
						return aHome, 0, 0
					}
				}
			}
			if w == "recherche" && i > 0 && !(p.word(i-1) == "je" || p.word(i-1) == "en" || p.word(i-1) == "a" ||
				p.word(i-1) == "famille" || p.word(i-1) == "couple" || p.word(i-1) == "etudiant" || p.word(i-1) == "la") {
				continue
			}
			return wanted, i, i
		case "echanger", "swap", "swapping", "echange", "troc":
			return swapped, i, i
		case "vendre", "sale", "vente":
			if !rent && !p.thingForSale(i) && (p.word(i-1) == "a" || p.word(i-1) == "for" || w == "vente") {
				return sold, i, i
			}
		case "commercial", "commerciaux", "entrepot", "warehouse", "commerciale", "commerciales":
			if !home || p.word(i-1) == "local" || p.word(i-1) == "locaux" || p.word(i-1) == "espace" {
				return business, i, i
			}
		case "bureau", "bureaux", "office":
			if !home && (p.seq(i+1, "a", "louer") || p.word(i+1) == "space" || p.seq(i+1, "for", "rent")) {
				return business, i, i
			}
		case "stationnement", "garage", "parking", "stationnements", "entreposage", "storage", "rangement":
			if !home && (p.seq(i+1, "a", "louer") || p.seq(i+1, "for", "rent") || i == 0 && len(p.words) < 8 || p.seq(i+1,
				"interieur", "a", "louer")) {
				return carPlace, i, i
			}
		}
	}
	return aHome, 0, 0
}

// thingForSale tells whether furniture is what "à vendre" at i is said of.
func (p *Prose) thingForSale(i int) bool {
	for k := i - 1; k >= 0 && k >= i-4; k-- {
		if w := p.word(k); p.about(k, aFurnishing) || w == "electromenagers" || w == "electros" || w == "tout" || things[w] {
			return true
		}
	}
	return false
}

// roomRental tells whether a room of a shared home is offered.
func (p *Prose) roomRental() (bool, int) {
	if i := p.roomFirst(); i >= 0 {
		return true, i
	}
	home := false
	for i := range p.words {
		home = home || p.words[i].half
		switch p.word(i) {
		case "coloc", "colocation", "colocataire", "colocataires", "colocs", "roommate", "roommates", "roomate", "roomates",
			"roomie", "flatmate", "cohabitation", "housemate":
			switch p.word(i - 1) {
			case "ideal", "parfait", "pour", "possible", "non":
				continue
			}
			if p.seq(i-2, "ideal", "pour") || p.seq(i-2, "parfait", "pour") || p.word(i+1) == "accepte" {
				continue
			}
			return true, i
		case "partager", "share":
			if p.word(i-1) == "a" || p.word(i-1) == "to" {
				return true, i
			}
		case "chambre", "chambres", "room", "rooms", "chambreurs":
			w := p.word(i)
			if w == "chambreurs" {
				continue
			}
			if n, weak := p.smallAt(i - 1); n > 0 && !weak && w != "room" {
				continue // "2 chambres à louer" is a count
			}
			if p.word(i-1) == "living" || p.word(i-1) == "dining" || p.word(i-1) == "bath" || home && i > 0 && w != "room" {
				continue
			}
			for k := i + 1; k <= i+4 && k < len(p.words); k++ {
				switch p.word(k) {
				case "louer", "rent", "let", "meublee", "meublees", "dans", "disponible", "available", "furnished":
					if p.word(k) == "dans" && w != "chambre" || (p.word(k) == "available" || p.word(k) == "furnished") &&
						w == "rooms" {
						break
					}
					return true, i
				}
				if adjectives[p.word(k)] || p.word(k) == "a" || p.word(k) == "sous" || p.word(k) == "for" ||
					p.word(k) == "to" || p.word(k) == "privee" || p.sym(k) == '-' {
					continue
				}
				break
			}
		}
	}
	return false, 0
}

// roomFirst finds the room that a headline begins with ("Grande chambre près de l'UQAM", "Furnished room") when it
// names no home, or returns -1.
func (p *Prose) roomFirst() int {
	at := -1
	for i := range p.words {
		t := &p.words[i]
		if t.half || t.topic&aStudio != 0 || t.topic&aType != 0 && kinds[t.w] != "" {
			return -1
		}
		if at >= 0 {
			continue
		}
		switch t.w {
		case "chambre", "room":
			if n := p.word(i + 1); n == "froide" || n == "apartment" || p.num(i+1) != nil {
				return -1
			}
			at = i
		case "furnished", "meublee", "a", "une", "rental":
		default:
			if t.kind != symbol && !adjectives[t.w] {
				return -1
			}
		}
	}
	return at
}

func (p *Prose) smallAt(i int) (int, bool) {
	if i < 0 || i >= len(p.words) {
		return -1, false
	}
	if adjectives[p.word(i)] {
		return p.smallAt(i - 1)
	}
	return p.small(i)
}

// sublet tells whether tenants pass their own lease on.
func (p *Prose) sublet(headline bool) (bool, int) {
	for i := range p.words {
		if !p.about(i, aSublet) {
			continue
		}
		switch p.word(i) {
		case "sublet", "sublease", "sublets", "subletting":
			return p.word(i-1) != "no" && p.word(i-1) != "pas", i
		case "sous":
			k := i + 1
			if p.sym(k) == '-' {
				k++
			}
			switch p.word(k) {
			case "location", "louer", "loue", "locations", "bail":
				return p.word(i-1) != "pas" && p.word(i-2) != "pas", i
			}
		case "location":
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
