package prose

import (
	"slices"
	"strings"
)

// An amenityName is one way to name an amenity, as folded words.
type amenityName struct {
	amenity string
	words   []string
}

// amenityNames lists the names in both languages. "*" matches any one word.
var amenityNames = func() (list []amenityName) {
	for amenity, names := range map[string]string{
		"air_conditioning": "climatisation|climatiseur|climatise|climatisee|air climatise|air conditioning|air " +
			"conditioned|air conditioner|airconditioning|air conditionne|thermopompe",
		"balcony":    "balcon|balcons|balcony|balconies|terrasse|terrasses|terrace|patio",
		"yard":       "cour arriere|cour privee|cour|yard|backyard|jardin|terrain prive",
		"dishwasher": "lave vaisselle|lave - vaisselle|dishwasher|lavevaisselle",
		"washer_dryer": "laveuse secheuse incluses|laveuse et secheuse incluses|laveuse / secheuse " +
			"incluses|washer and dryer|washer / dryer|washer dryer|in unit laundry",
		"washer_dryer_hookups": "entree laveuse|entrees laveuse|entree laveuses|entree pour laveuse|entrees pour " +
			"laveuse|entree lav|sortie laveuse|sorties laveuse|washer dryer hookups|washer / dryer hookups|installation " +
			"laveuse|prise laveuse|branchement laveuse|entree de laveuse|entrees de laveuse|entrees lav",
		"laundry_in_building": "buanderie|buanderies|laundry room|salle de lavage commune|laundromat|coin operated " +
			"laundry|salle de buanderie",
		"fridge":          "frigo|refrigerateur|frigidaire|fridge|refrigerator",
		"stove":           "poele|cuisiniere|stove|oven",
		"elevator":        "ascenseur|ascenseurs|elevator|elevators",
		"gym":             "gym|salle d entrainement|salle d exercice|gymnase|fitness|salle de conditionnement",
		"pool":            "piscine|piscines|pool|swimming pool",
		"sauna":           "sauna",
		"fireplace":       "foyer|fireplace",
		"storage":         "rangement|casier|locker|lockers|cabanon|storage|remise",
		"intercom":        "intercom|interphone",
		"security":        "systeme de securite|camera|cameras|gardien|security system|systeme d alarme|alarme",
		"concierge":       "concierge|conciergerie|janitor",
		"wheelchair":      "mobilite reduite|wheelchair|handicape|fauteuil roulant",
		"central_vacuum":  "aspirateur central|central vacuum|balayeuse centrale",
		"hardwood_floors": "bois franc|hardwood|plancher de bois|parquet",
		"bicycle_storage": "rangement velo|rangement a velo|support a velo|support a velos|bike storage|bicycle " +
			"parking|bike room",
	} {
		for name := range strings.SplitSeq(names, "|") {
			list = append(list, amenityName{amenity, strings.Fields(name)})
		}
	}
	slices.SortFunc(list, func(a, b amenityName) int { // the longest name first: "rangement vélo" before "rangement"
		if n := len(b.words) - len(a.words); n != 0 {
			return n
		}
		return strings.Compare(a.amenity+strings.Join(a.words, " "), b.amenity+strings.Join(b.words, " "))
	})
	return list
}()

// byFirstWord finds the amenity names that a word may begin.
var byFirstWord = func() map[string][]amenityName {
	m := map[string][]amenityName{}
	for _, a := range amenityNames {
		m[a.words[0]] = append(m[a.words[0]], a)
	}
	return m
}()

func (p *Prose) amenities(f func(name string, from, to int)) {
	for i := range p.words {
		if p.words[i].topic&anAmenity == 0 {
			continue
		}
		for _, a := range byFirstWord[p.words[i].w] {
			end, ok := p.named(i, a.words)
			if !ok {
				continue
			}
			if !p.deniedThing(i) && !p.elsewhere(i, a.amenity) && !p.roomFor(i, a.amenity) {
				f(a.amenity, i, end)
			}
			break
		}
	}
}

// named matches the words of a name from token i, over hyphens.
func (p *Prose) named(i int, words []string) (end int, ok bool) {
	k := i
	for n, w := range words {
		if n > 0 {
			k++
			if p.sym(k) == '-' && w != "-" {
				k++
			}
		}
		switch {
		case len(w) == 1 && !isLetter(w[0]):
			if p.sym(k) != w[0] {
				return 0, false
			}
		case p.word(k) != w:
			return 0, false
		}
	}
	return k, true
}

// deniedThing tells whether "pas de", "sans", "no" stands before the thing at i.
func (p *Prose) deniedThing(i int) bool {
	for k := i - 1; k >= 0 && k >= i-3; k-- {
		switch p.word(k) {
		case "pas", "sans", "aucun", "aucune", "no", "without", "ni":
			return true
		case "de", "d", "any":
			continue
		}
		return false
	}
	return false
}

// roomFor tells whether there is only a place or a tap for the thing at i: "espace pour lave-vaisselle", "porte patio".
func (p *Prose) roomFor(i int, amenity string) bool {
	switch amenity {
	case "balcony":
		return p.word(i) == "patio" && (p.word(i-1) == "porte" || p.word(i-1) == "portes" || p.sym(i-1) == '-' &&
			(p.word(i-2) == "porte" || p.word(i-2) == "portes"))
	case "storage": // "remise de 400 $" is money
		return p.word(i) == "remise" && (p.word(i+1) == "de" || p.word(i+1) == "a" || p.word(i+1) == "en")
	case "dishwasher", "fridge", "stove", "washer_dryer":
	default:
		return false
	}
	for k := i - 1; k >= 0 && k >= i-5 && !p.words[k+1].line; k-- {
		switch p.word(k) {
		case "espace", "entree", "entrees", "prise", "prises", "sortie", "sorties", "installation", "installations",
			"branchement", "branchements", "emplacement",
			"connexion", "hookup", "hookups", "raccordement":
			return true
		case "pour", "de", "d", "et", "laveuse", "secheuse", "for", "eau", "":
			continue
		}
		return false
	}
	return false
}

// elsewhere tells whether the thing at i is a sight of the neighbourhood: "près d'un gym", "piscine municipale".
func (p *Prose) elsewhere(i int, amenity string) bool {
	switch amenity {
	case "gym", "pool", "yard", "concierge", "storage", "washer_dryer":
	default:
		return false
	}
	for k, near := i-1, true; k >= 0 && k >= i-30 && !p.words[k+1].line && p.sym(k) != '.' && p.sym(k) != '!'; k-- {
		near = near && k >= i-5 && p.sym(k) != ','
		switch p.word(k) {
		case "pres", "proche", "proximite", "near", "close", "pas", "minutes", "min", "recherche", "public":
			if near || p.sym(k+1) == ':' {
				return true
			}
		}
	}
	w := p.word(i + 1)
	return w == "municipale" || w == "publique" || w == "publiques"
}

func (p *Prose) smoking() (value string, from, to int) {
	for i := range p.words {
		if !p.about(i, aSmoke) {
			continue
		}
		k := i - 1
		for n := 0; n < 3 && (p.sym(k) == '-' || p.word(k) == "de" || p.word(k) == "d" || p.word(k) == "la" ||
			p.word(k) == "sur" || p.word(k) == "des"); n++ {
			k--
		}
		switch p.word(k) {
		case "non", "pas", "no", "not", "aucun", "sans", "ni", "interdit", "interdiction", "defense":
			return "no", k, i
		}
		for n := i + 1; n <= i+5 && n < len(p.words) && !p.words[n].line && p.sym(n) != '.'; n++ {
			switch p.word(n) {
			case "exterieur", "outdoors", "outside", "balcon", "outdoor":
				return "outdoors", i, n
			case "interdit", "interdite", "prohibited", "free", "non", "forbidden", "no", "prohibe":
				return "no", i, n
			case "accepte", "acceptes", "permis", "allowed", "permitted", "ok", "bienvenus":
				if p.denied(n) || p.word(n-2) == "pas" {
					return "no", i, n
				}
				return "yes", i, n
			}
		}
		if w := p.word(i); w == "smokefree" {
			return "no", i, i
		}
	}
	return "", -1, -1
}
