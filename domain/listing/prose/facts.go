package prose

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// factNames lists the ways to state facts that need no number, in both languages, as folded words. "=" is between a
// field and its value.
var factNames = func() map[string][]amenityName {
	m := map[string][]amenityName{}
	for fact, names := range map[string]string{
		"amenity=ev_charger": "borne de recharge|bornes de recharge|borne electrique|bornes electriques|ev charger|ev chargers|" +
			"ev charging|ev charging stations|electric car charging|electric vehicle charging|ev parking",
		"amenity=rooftop": "toit terrasse|terrasse sur le toit|terrasse sur toit|terrasse au toit|terrasse commune sur le " +
			"toit|rooftop|roof top|roof terrace|terrasse toit",
		"amenity=hot_tub":        "jacuzzi|hot tub|bain tourbillon|bain a remous|bains tourbillons",
		"amenity=walk_in_closet": "walk in closet|walk in closets|walkin closet|walk in|garde robe walk in|walkin",
		"amenity=microwave":      "micro onde|micro ondes|microonde|microondes|microwave|microwaves",
		"amenity=freezer":        "congelateur|congelateurs|freezer",
		"amenity=mezzanine":      "mezzanine",
		"amenity=high_ceilings": "plafond haut|plafonds hauts|hauts plafonds|haut plafond|plafond eleve|plafonds " +
			"eleves|high ceilings|high ceiling",
		"amenity=skylight": "puits de lumiere|puit de lumiere|skylight|skylights|sky light",
		"amenity=heated_floors": "plancher chauffant|planchers chauffants|plancher chauffants|heated floor|heated " +
			"floors|radiant floor|radiant floors",
		"amenity=soundproofed": "insonorise|insonorisee|insonorises|insonorisation|soundproof|soundproofed|sound " +
			"proof",
		"amenity=exposed_brick": "mur de brique|mur de briques|murs de brique|murs de briques|brique apparente|" +
			"briques apparentes|exposed brick|brick wall|brick walls",
		"amenity=coworking": "coworking|co working|espace de travail partage|espaces de travail partages",
		"amenity=ceiling_fan": "ventilateur de plafond|ventilateur au plafond|ventilateurs de plafond|ceiling fan|" +
			"ceiling fans",
		"amenity=cinema": "salle de cinema|cinema room|cinema maison|home theater|home theatre|movie theater|movie " +
			"room|theatre room",
		"amenity=games_room": "salle de jeux|salle de jeu|games room|game room",
		"amenity=private_entrance": "entree privee|entrees privees|entree independante|entree separee|private " +
			"entrance|separate entrance|own entrance",
		"amenity=bathtub": "bain podium|bain sur pattes|bain sur patte|bain autoportant|bathtub|bath tub|soaker " +
			"tub|clawfoot tub",

		"heating=electric": "chauffage electrique|chauffage a l electricite|chauffe a l electricite|chauffee a l electricite|" +
			"plinthes electriques|plinthe electrique|calorifere electrique|caloriferes electriques|electric heat|electric " +
			"heating|electric heater|electric heaters|electric baseboard|electric baseboards|heating : electric|chauffage : electrique",
		"heating=gas": "chauffage au gaz|chauffage gaz|chauffe au gaz|chauffage : gaz|gas heat|gas heating|gas " +
			"furnace|heating : gas|natural gas heating|fournaise au gaz",
		"heating=hot_water": "chauffage a l eau chaude|chauffe a l eau chaude|radiateurs a l eau chaude|radiateurs a eau " +
			"chaude|calorifere a l eau chaude|caloriferes a l eau chaude|caloriferes a eau chaude|hot water heating|hot " +
			"water radiators|hot water radiator|hot water heat",
		"heating=oil": "chauffage a l huile|chauffage au mazout|chauffe a l huile|oil heat|oil heating|oil furnace|" +
			"heating : oil",
		"heating=forced_air": "air pulse|forced air",

		"renovated=all": "renove|renovee|renoves|renovees|renovated|refait a neuf|refaite a neuf|remis a neuf|" +
			"remise a neuf|rafraichi|rafraichie",
		"construction=new": "construction neuve|constructions neuves|nouvelle construction|nouvelles constructions|construction " +
			"recente|nouveau batiment|nouvel immeuble|immeuble neuf|condo neuf|condos neufs|logement neuf|appartement neuf|new " +
			"construction|newly built|newly constructed|brand new building|new building|brand new construction|brand new condo",
		"view=city": "vue sur la ville|vue de la ville|vue sur le centre ville|vue du centre ville|vue centre " +
			"ville|city view|city views|downtown view|downtown views|view of downtown|view of the city|views of the " +
			"city|views of downtown|skyline",
		"view=mountain": "vue sur la montagne|vue sur le mont royal|vue sur les montagnes|vue montagne|vue sur le " +
			"mont|mountain view|mountain views|view of the mountain|views of the mountain|view of mont royal|view of " +
			"mount royal|vue laurentides|vue sur les laurentides",
		"view=park": "vue sur le parc|vue sur parc|vue sur un parc|park view|view of the park|vue parc",
		"view=water": "vue sur le fleuve|vue fleuve|vue sur fleuve|vue du fleuve|vue sur l eau|vue sur le lac|vue " +
			"lac|vue sur la riviere|vue sur riviere|vue riviere|vue sur le canal|river view|view of the river|lake " +
			"view|lake views|view of the lake|ocean view|ocean views|harbour view|harbour views|water view|water " +
			"views|waterfront view|canal view|view of the canal",

		"credit_check=yes": "enquete de credit|enquete credit|enquetes de credit|verification de credit|verification du " +
			"credit|verification credit|etude de credit|dossier de credit|cote de credit|rapport de credit|bon credit|credit " +
			"check|credit checks|credit report|credit score|credit verification|good credit|credit history",
		"references=yes": "references requises|references exigees|references demandees|references obligatoires|reference " +
			"requise|reference exigee|references required|references needed|references a l appui|bonnes references|avec " +
			"references|references please|references are required|good references|reference required|reference letter|" +
			"reference letters|references et|references and",
		"for=seniors": "retraite autonome|retraites autonomes|retraitees autonomes|residence pour aines|residence pour " +
			"personnes agees|residences pour aines|pour personnes agees|senior living|senior residence|seniors residence|" +
			"seniors building|adult living",
		"for=students": "ideal pour etudiant|ideal pour etudiants|ideal pour etudiante|ideal etudiant|ideal etudiants|parfait " +
			"pour etudiant|parfait pour etudiants|pour etudiants|pour etudiant|etudiants bienvenus|ideal for students|ideal for a student|" +
			"perfect for students|great for students|students welcome|for students|student housing|student residence",
	} {
		field, value, _ := strings.Cut(fact, "=")
		for name := range strings.SplitSeq(names, "|") {
			words := strings.Fields(name)
			m[words[0]] = append(m[words[0]], amenityName{field + "=" + value, words})
		}
	}
	for _, list := range m { // the longest name first
		slices.SortFunc(list, func(a, b amenityName) int {
			if n := len(b.words) - len(a.words); n != 0 {
				return n
			}
			return strings.Compare(a.amenity+strings.Join(a.words, " "), b.amenity+strings.Join(b.words, " "))
		})
	}
	return m
}()

// Facts reads what title and description of a listing state and no field of a listing has: each with the words that it
// was read from. A field with one value has that of the title first. The result is in the order of listing.FactFields.
func Facts(l listing.Listing) []listing.Fact {
	return listing.JoinFacts(Read(l.Title).facts("title"), Read(l.Description).facts("description"))
}

// facts reads the facts of one text.
func (p *Prose) facts(from string) []listing.Fact {
	var out []listing.Fact
	add := func(field, value string, i, j int) {
		f := listing.Fact{Field: field, Value: value, From: from, Text: p.quote(i, j)}
		if f.Valid() {
			out = listing.JoinFacts(out, []listing.Fact{f})
		}
	}
	last := -1 // of the name read before
	for i := range p.words {
		if p.words[i].kind == number {
			p.factAt(i, add)
			continue
		}
		if i <= last {
			continue
		}
		for _, name := range factNames[p.words[i].w] {
			end, ok := p.named(i, name.words)
			if !ok || p.broken(i, end) {
				continue
			}
			last = end
			field, value, _ := strings.Cut(name.amenity, "=")
			switch {
			case p.deniedThing(i) || p.deniedAfter(end) || negations[p.word(i-1)]:
			case value == "walk_in_closet" && noClosets[p.word(end+1)]:
			case field == "renovated":
				p.renovated(i, end, add)
			default:
				add(field, value, i, end)
			}
			break
		}
	}
	return out
}

// noClosets are other things that one walks into.
var noClosets = set("shower showers tub tubs bath clinic clinics douche freezer")

var negations = set("non not pas never jamais mal peu poorly")

// broken tells whether a line ends among the tokens i..end: two items of a list are no name.
func (p *Prose) broken(i, end int) bool {
	for k := i + 1; k <= end; k++ {
		if p.words[k].line {
			return true
		}
	}
	return false
}

// renovatedParts are the rooms that are told of as renovated. A renovated thing that is no room says nothing of the
// home: its value is "".
var renovatedParts = map[string]string{
	"cuisine": "kitchen", "cuisinette": "kitchen", "kitchen": "kitchen", "bain": "bathroom", "bains": "bathroom",
	"sdb": "bathroom", "bathroom": "bathroom", "bathrooms": "bathroom", "bath": "bathroom", "washroom": "bathroom",
	"immeuble": "", "building": "", "batiment": "", "bloc": "", "balcon": "", "balcons": "", "facade": "", "plancher": "",
	"planchers": "", "floors": "", "fenetres": "", "toiture": "", "windows": "", "balcony": "", "entree": "", "lobby": "",
	"piscine": "", "gym": "", "ascenseur": "", "ascenseurs": "", "elevator": "", "elevators": "",
	"corridors": "", "hallways": "", "espaces": "", "salon": "",
}

var renovatedBetween = set("et and de la le salle les completement entierement recemment toute tout neuve modern newly " +
	"nouvellement fraichement fully recently beautifully moderne the a tres")

// renovated says what the word for renovated at i..end is about: rooms named beside it, or the home.
func (p *Prose) renovated(i, end int, add func(field, value string, i, j int)) {
	named := false
	look := func(from, step int) {
		for k, n := from, 0; k >= 0 && k < len(p.words) && n < 6; k, n = k+step, n+1 {
			if step < 0 && p.stop(k+1) || step > 0 && p.stop(k) {
				return
			}
			part, ok := renovatedParts[p.word(k)]
			switch {
			case ok && part != "":
				add("renovated", part, min(i, k), max(end, k))
				named = true
			case ok:
				named = true
			case !renovatedBetween[p.word(k)] && p.sym(k) != '-':
				return
			}
		}
	}
	look(i-1, -1)
	if !named {
		look(end+1, 1)
	}
	if !named {
		add("renovated", "all", i, end)
	}
}

var (
	applianceWords = set("electros electro electromenagers electromenager electrom appliances appliance")
	personWords    = set("personnes personne people persons person occupants occupant tenants")
	mostWords      = set("max maximum")
	storeyWords    = set("etages etage storey storeys story stories")
	buildingWords  = set("immeuble immeubles building edifice tour bloc batiment tower complexe")
	builtWords     = set("construit construite construits construction built batie bati")
	minuteWords    = set("min mins minute minutes")
	metroWords     = set("metro metros subway")
	onTheWay       = set("a pied de du des la le les l au aux marche d from to the walk walking station stations by foot " +
		"distance pour plus peine seulement only near away metro")
)

// factAt reads the facts that the number at i counts.
func (p *Prose) factAt(i int, add func(field, value string, i, j int)) {
	t := p.words[i]
	n := int(t.cents / 100)
	if t.half || t.dec > 0 || t.cents%100 != 0 {
		return
	}
	value := strconv.Itoa(n)
	// skip is the first token from k on, in the direction of step, that is none of these words.
	skip := func(k, step int, words ...string) int {
		for n := 0; n < 3 && (p.word(k) != "" && slices.Contains(words, p.word(k)) || p.sym(k) == '-' ||
			p.sym(k) == ':'); n++ {
			k += step
		}
		return k
	}
	before := skip(i-1, -1, "de", "of", "en", "in", "a", "avec", "with", "d", "to")
	next := p.word(i + 1)
	switch {
	case applianceWords[next]:
		if !p.deniedThing(i) && !p.deniedAfter(i+1) {
			add("appliances", value, i, i+1)
		}
	case personWords[next] && mostWords[p.word(before)]:
		add("occupants", value, before, i+1)
	case personWords[next] && mostWords[p.word(i+2)]:
		add("occupants", value, i, i+2)
	case minuteWords[next]:
		if end := p.toMetro(i + 2); end > 0 {
			add("metro_minutes", value, i, end)
		}
	case storeyWords[p.word(skip(i+1, 1))] && buildingWords[p.word(before)]:
		add("storeys", value, before, i+1)
	case storeyWords[p.word(skip(i+1, 1))] && buildingWords[p.word(skip(i+1, 1)+1)]:
		add("storeys", value, i, skip(i+1, 1)+1)
	case builtWords[p.word(before)] && t.digits == 4:
		add("year_built", value, before, i)
	case (next == "ans" || next == "years") && (n == 50 || n == 55 || n == 60 || n == 65):
		if p.seq(i+2, "et", "plus") || p.seq(i+2, "and", "over") || p.sym(i+2) == '+' {
			add("for", "seniors", i, i+3)
		}
	}
}

// toMetro returns where "du métro" ends that follows a number of minutes, or 0.
func (p *Prose) toMetro(i int) int {
	for k, n := i, 0; k < len(p.words) && n < 8 && !p.stop(k); k, n = k+1, n+1 {
		if metroWords[p.word(k)] {
			return k
		}
		if !onTheWay[p.word(k)] && p.sym(k) != '(' && p.sym(k) != ')' && p.sym(k) != '-' {
			return 0
		}
	}
	return 0
}
