package prose

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

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
	case "qc", "canada", "pq", "p.q", "q.c", "qc canada", "quebec canada", "ca", "quebec qc canada",
		"alberta", "ontario", "manitoba", "saskatchewan", "british columbia", "nova scotia", "new brunswick",
		"prince edward island", "newfoundland and labrador", "colombie-britannique", "nouvelle-ecosse", "nouveau-brunswick":
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
var cities = withCities(map[string]string{
	"quebec": "Québec", "quebec city": "Québec", "montreal": "Montréal", "levis": "Lévis",
	"saint leonard": "Saint-Léonard",
	"saint laurent": "Saint-Laurent", "montreal nord": "Montréal-Nord", "montreal est": "Montréal-Est",
	"montreal ouest": "Montréal-Ouest",
	"cote saint luc": "Côte-Saint-Luc", "mont royal": "Mont-Royal", "town of mount royal": "Mont-Royal",
	"saint michel": "Saint-Michel",
	"chambly":      "Chambly", "granby": "Granby",
	"blainville": "Blainville", "mascouche": "Mascouche",
	"vaudreuil dorion": "Vaudreuil-Dorion", "saint constant": "Saint-Constant", "candiac": "Candiac", "magog": "Magog",
	"ottawa": "Ottawa", "toronto": "Toronto", "mississauga": "Mississauga", "hamilton": "Hamilton", "halifax": "Halifax",
	"vancouver": "Vancouver", "burnaby": "Burnaby", "north york": "North York", "scarborough": "Scarborough",
	"etobicoke": "Etobicoke", "markham": "Markham", "brampton": "Brampton", "kingston": "Kingston",
	"dartmouth":      "Dartmouth",
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
}, moreCities)

func withCities(m map[string]string, names string) map[string]string {
	for name := range strings.SplitSeq(names, "|") {
		m[cityKey(name)] = name
	}
	return m
}

// moreCities are those that adverts spell in one way, or with or without accents and hyphens.
const moreCities = "" +
	"Calgary|Edmonton|Winnipeg|Regina|Saskatoon|Victoria|Surrey|Richmond|Coquitlam|Port Coquitlam|Langley|" +
	"Kelowna|Nanaimo|Kamloops|Abbotsford|Chilliwack|Prince George|New Westminster|North Vancouver|" +
	"West Vancouver|Langford|Lethbridge|Red Deer|Medicine Hat|Grande Prairie|Fort McMurray|Airdrie|London|" +
	"Windsor|Kitchener|Waterloo|Cambridge|Guelph|Barrie|Oshawa|Whitby|Ajax|Pickering|Oakville|Burlington|" +
	"Milton|Vaughan|Richmond Hill|Newmarket|Aurora|St. Catharines|Niagara Falls|Welland|Brantford|" +
	"Peterborough|Sudbury|Thunder Bay|Sault Ste. Marie|North Bay|Belleville|Cornwall|Kanata|Nepean|Orléans|" +
	"Gloucester|East York|Moncton|Dieppe|Fredericton|Saint John|Charlottetown|Summerside|St. John's|" +
	"Mount Pearl|Bedford|Truro|Whitehorse|Yellowknife|Alma|Amos|Val-d'Or|Rouyn-Noranda|Joliette|Shawinigan|" +
	"Victoriaville|Thetford Mines|Saint-Georges|Saint-Jean-sur-Richelieu|Salaberry-de-Valleyfield|Sorel-Tracy|" +
	"Rivière-du-Loup|Sept-Îles|Baie-Comeau|Jonquière|Boisbriand|Sainte-Thérèse|Rosemère|Sainte-Julie|Varennes|" +
	"Beloeil|Mirabel|Deux-Montagnes|Pierrefonds|Hull|Aylmer|La Prairie|Cowansville|Limoilou|L'Assomption|" +
	"Lorraine|Montmagny"

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
	words := strings.Fields(s)
	for i, w := range words { // "Québec secteur Duberger"
		if w := page.Fold(w); i > 0 && (w == "secteur" || w == "arrondissement" || w == "quartier") {
			return cityName(strings.Join(words[:i], " "))
		}
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
