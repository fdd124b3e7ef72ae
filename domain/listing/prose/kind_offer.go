package prose

// An offer is what an advert is about, as far as its headline tells.
type offer uint8

const (
	aHome    offer = iota
	wanted         // the advert looks for a home
	swapped        // a home for a home
	sold           // for sale
	business       // shop, office, warehouse
	carPlace       // parking, storage or land alone
)

// An offerWord is the meaning of a word of a headline that may say what the advert is about.
type offerWord uint8

const (
	offersToBuy offerWord = iota + 1
	offersNeed
	offersSearch
	offersSwap
	offersSale
	offersTrade
	offersOffice
	offersStorage // or a place for a car, or land
)

var offerWords = meanings(map[offerWord]string{
	offersToBuy: "down own",
	offersNeed:  "search need needs besoin",
	offersSearch: "recherche recherchons cherche cherchons wanted looking recherches cherches chercher rechercher " +
		"searching seeking desire iso",
	offersSwap:   "echanger swap swapping echange troc",
	offersSale:   "vendre sale vente",
	offersTrade:  "commercial commerciaux entrepot warehouse commerciale commerciales",
	offersOffice: "bureau bureaux office",
	offersStorage: "stationnement garage parking stationnements entreposage storage rangement locker lockers casier " +
		"cabanon shed terrain lot land",
})

// offer tells what a headline is about, by the first of its words that says so, and the tokens that say it.
func (p *Prose) offer() (o offer, from, to int) {
	rent, home := false, false
	for i := range p.words {
		w := p.word(i)
		rent = rent || w == "louer" || w == "rent" || p.about(i, aLease|aSublet) && w != "sous" || w == "location" ||
			w == "lease" && i > 0
		home = home || p.words[i].half || p.about(i, aStudio|aBedroom) || kinds[w] != ""
	}
	if i, ok := p.workplace(home, rent); ok {
		return business, i, i
	}
	for i := range p.words {
		if o, to, settled := p.offerAt(i, home, rent); settled {
			return o, i, to
		}
	}
	return aHome, 0, 0
}

// offerAt tells whether the word at i settles what a headline is about. Home tells whether a home is named in it, and
// rent whether something is to let: "condo à louer ou à vendre" is not for sale.
func (p *Prose) offerAt(i int, home, rent bool) (o offer, to int, settled bool) {
	w, last := p.word(i), p.word(i-1)
	switch offerWords[w] {
	case offersToBuy: // "rent to own", "zero down"
		return sold, i, p.seq(i-2, "rent", "to") ||
			w == "down" && (p.word(i+1) == "payment" || p.num(i-1) != nil || last == "zero")
	case offersNeed: // "In search of a 3 ½", "need a room"
		return wanted, i, i <= 4 && (w != "search" || p.seq(i-1, "in", "search", "of")) && p.seeksHome(i)
	case offersSearch:
		return p.searched(i)
	case offersSwap:
		return swapped, i, true
	case offersSale:
		return sold, i, !rent && !p.thingForSale(i) && (last == "a" || last == "for" || w == "vente")
	case offersTrade:
		return business, i, !home || (last == "local" || last == "locaux" || last == "espace") && !aboveTrade[p.word(i-2)]
	case offersOffice:
		return business, i, !home && (p.toLet(i+1) || p.word(i+1) == "space")
	case offersStorage:
		return carPlace, i, !home && p.placeAlone(i)
	}
	return aHome, i, false
}

// aboveTrade stand before the shop that a home is above: "au-dessus d'un local commercial".
var aboveTrade = set("un d du au")

// Words around "recherche" or "wanted" that tell who seeks and what.
var (
	wantedPeople = set("roommate roommates coloc colocataire tenant locataire")
	researchPart = set("centre tres secteur plus") // "secteur recherché", "centre de recherche"
	searchers    = set("je en a famille couple etudiant la")
	peopleSought = set("colocataire colocataires coloc colocs locataire locataires roommate roommates tenant tenants " +
		"coloc's personne quelqu someone chambreur sous occupant ceder transferer")
)

// searched reads "recherche", "looking for" or "wanted" at i. The advert looks for a home, or offers one to those that
// it looks for: "Looking for a place to call home?", "roommate wanted", "cherche locataire".
func (p *Prose) searched(i int) (o offer, to int, settled bool) {
	w, last := p.word(i), p.word(i-1)
	named := w == "recherche" || w == "wanted"
	switch {
	case p.asked(i): // "Looking for a place to call home?"
		return aHome, i, true
	case i > 4, w == "iso" && i > 0, w == "desire" && last != "je":
		return aHome, i, false
	case named && i == 0 && p.sym(i+1) == ':': // Kijiji's own prefix
		return wanted, i + 1, true
	case named && wantedPeople[last]: // "roommate wanted" offers a room
		return aHome, i, true
	case w == "recherche" && researchPart[last]:
		return aHome, i, false
	case p.seeksPeople(i):
		return aHome, i, true
	case w == "recherche" && i > 0 && !searchers[last]:
		return aHome, i, false
	}
	return wanted, i, true
}

// seeksPeople tells whether the home seeks people, which is an offer: "cherche un colocataire". In "cherche logement
// sous 900 $" the word behind the home is of the home.
func (p *Prose) seeksPeople(i int) bool {
	for k := i + 1; k <= i+4; k++ {
		if peopleSought[p.word(k)] && (k == i+1 || !p.about(k-1, aType)) {
			return true
		}
	}
	return false
}

// toLet tells whether "à louer" or "for rent" stands at i.
func (p *Prose) toLet(i int) bool { return p.seq(i, "a", "louer") || p.seq(i, "for", "rent") }

// placeAlone tells whether the parking or storage at i is what is let, and no part of a home: "stationnement intérieur
// à louer", not "garage inclus".
func (p *Prose) placeAlone(i int) bool {
	n := p.word(i + 1)
	return n != "inclus" && n != "included" && (p.toLet(i+1) || i == 0 && len(p.words) < 8 ||
		(n == "interieur" || n == "vacant") && p.seq(i+2, "a", "louer") || p.leads(i))
}

// workplaces are places to work or to sell, and rooms that are let by the hour.
var (
	workplaces = set("office bureau bureaux retail store lab laboratory laboratoire clinic clinique coworking desk chair " +
		"chaise restaurant warehouse entrepot industrial industriel workshop atelier commercial commerciaux salon boutique " +
		"kiosque garage reception hall")
	studioArts = set("music musique photo photography photographie dance danse recording enregistrement yoga art artist " +
		"creation creatif creative fitness entrainement gym tattoo tatouage film video podcast pilates tournage repetition rehearsal")
	leadWords = set("underground indoor outdoor place places de secure secured private heated espace un une one interieur " +
		"exterieur vacant for rent a louer car grand grande petit small large fully furnished shared " +
		"professional modern downtown")
)

// leads tells whether only words that describe it stand before the noun at i of a headline.
func (p *Prose) leads(i int) bool {
	for k := range i {
		if w := p.word(k); !leadWords[w] && !adjectives[w] && p.words[k].kind != symbol && (p.num(k) == nil ||
			p.num(k).digits > 1) {
			return false
		}
	}
	return true
}

// workplace finds the office, shop or studio by the hour that a headline without a home is about.
func (p *Prose) workplace(home, rent bool) (int, bool) {
	for i := range p.words {
		w := p.word(i)
		if p.about(i, aStudio) {
			hourly := false
			for k := range p.words {
				hourly = hourly || p.word(k) == "hourly" || p.word(k) == "hour" || p.word(k) == "heure"
			}
			arts := studioArts[p.word(i-1)] || studioArts[p.word(i+1)] || p.word(i+1) == "de" && studioArts[p.word(i+2)]
			if (hourly || arts) && (rent || hourly) && !p.seq(i+1, "apartment") {
				return i, true
			}
			return 0, false
		}
		if home || !workplaces[w] || w == "garage" || w == "salon" && p.word(i+1) != "de" || w == "reception" &&
			p.word(i-2) != "salle" && p.word(i-1) != "salle" {
			continue
		}
		n := p.word(i + 1)
		if (rent || n == "space" || n == "spaces" || p.word(i-1) == "espace") &&
			(p.leads(i) || p.word(i-1) == "salle" || w == "reception") {
			return i, true
		}
	}
	return 0, false
}

// asked tells whether "looking for" or "vous cherchez" at i is a question to the reader.
func (p *Prose) asked(i int) bool {
	for k := i + 1; k < len(p.words) && k <= i+12; k++ {
		if p.sym(k) == '?' {
			return p.word(0) != "je"
		}
	}
	return false
}

// seeksHome tells whether the need at i is of a home, and not of a roommate or of nothing.
func (p *Prose) seeksHome(i int) bool {
	if p.word(i-1) == "no" || p.word(i-1) == "you" || p.word(i-1) == "all" || p.asked(i) {
		return false
	}
	for k := i + 1; k <= i+5 && k < len(p.words); k++ {
		switch w := p.word(k); {
		case w == "roommate" || w == "tenant" || w == "locataire" || w == "coloc" || w == "colocataire":
			return false
		case p.about(k, aType|aBedroom|aStudio) || p.words[k].half || w == "room" || w == "place" || w == "chambre":
			return true
		}
	}
	return false
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

// storagePlaces are places for things.
var storagePlaces = set("entreposage storage locker lockers casier")

// namesHome tells whether a text counts or names a home. A condominium may as well be where a parking place is.
func (p *Prose) namesHome() bool {
	for i := range p.words {
		if k := kinds[p.word(i)]; p.words[i].half || p.about(i, aStudio|aBedroom) || k == "apartment" || k == "house" {
			return true
		}
	}
	return false
}

// offersPlace returns the parking or storage place that a description begins by offering, "1 stationnement intérieur à
// louer", or -1.
func (p *Prose) offersPlace() int {
	for i := range min(len(p.words), 6) {
		if !p.about(i, aParking) && !storagePlaces[p.word(i)] {
			continue
		}
		if !p.leads(i) || p.namesHome() {
			return -1
		}
		space := parkingSpots[p.word(i-2)] && p.word(i-1) == "de" // "espace de stationnement"
		for k := i + 1; k <= i+6 && !p.stop(k); k++ {
			switch p.word(k) {
			case "louer", "location", "rent", "lease":
				return i
			case "inclus", "incluse", "compris", "comprise", "included", "gratuit", "free":
				return -1 // it comes with a home
			}
		}
		if space {
			return i
		}
		return -1
	}
	return -1
}

var (
	seekWords    = set("recherche recherchons cherche cherchons looking searching seeking")
	seekers      = set("je j nous i we am are m re")
	seekGreeting = set("bonjour allo salut hello hi")
	soughtPeople = set("locataire locataires colocataire colocataires coloc colocs tenant tenants roommate roommates someone " +
		"somebody quelqu personne personnes person people couple famille family reprendre ceder transferer takeover")
)

// letting tells whether a headline says that something is to let.
func (p *Prose) letting() bool {
	for i := range p.words {
		if w := p.word(i); w == "louer" || w == "rent" || w == "location" || w == "lease" || p.about(i, aSublet|aLease) {
			return true
		}
	}
	return false
}

// seeks finds the home that a description begins by looking for, "Je recherche un 3 ½", "We are looking for a condo",
// and returns the tokens that say so, or -1. "Je cherche un colocataire" offers one.
func (p *Prose) seeks() (from, to int) {
	i := 0
	for seekGreeting[p.word(i)] || p.sym(i) == ',' || p.sym(i) == '!' {
		i++
	}
	from = i
	for i < from+3 && seekers[p.word(i)] {
		i++
	}
	if i == from || !seekWords[p.word(i)] {
		return -1, -1
	}
	to = -1
	for k := i + 1; k <= i+8 && !p.stop(k); k++ {
		if soughtPeople[p.word(k)] {
			return -1, -1
		}
		if to < 0 && (p.words[k].half || p.about(k, aStudio|aBedroom) || kinds[p.word(k)] != "") {
			to = k
		}
	}
	if to < 0 {
		return -1, -1
	}
	return from, to
}
