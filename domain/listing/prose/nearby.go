package prose

// nearHeadings are words of a line that heads what is near a home: "À proximité :", "À moins de 40 minutes à pied :".
var nearHeadings = set("proximite pres proche minutes min near nearby close walking environs alentours voisinage")

// underNearby tells whether the thing at i is in a list under a line that says that all of it is near: "À moins de 40
// minutes à pied :\n- piscine Bernier".
func (p *Prose) underNearby(i int) bool {
	k := i
	for n := 0; n < 90 && k > 0; n++ {
		if !p.words[k].line {
			k--
			continue
		}
		if p.sym(k-1) == ':' {
			return p.headsNearby(k - 2)
		}
		if p.passBullet(k) == k {
			return false
		}
		k--
	}
	return false
}

// headsNearby tells whether the line that ends at i is a heading of what is near, and of no home: "Près de :", not
// "À Charlesbourg, près de tous les services, La Seigneurie :".
func (p *Prose) headsNearby(i int) (near bool) {
	for k := i; k >= 0; k-- {
		if p.sym(k) == '!' || p.sym(k) == '?' || p.sym(k) == '.' && p.word(k-1) != "min" {
			break // "Close to everything! Features:"
		}
		if k < i-9 || p.sym(k) == ',' || p.words[k].half || p.about(k, anInclusion|aType|aStudio) {
			return false
		}
		near = near || nearHeadings[p.word(k)]
		if p.words[k].line {
			break
		}
	}
	return near
}

// shops are what adverts list as near.
var shops = set("depanneur depanneurs epicerie epiceries pharmacie pharmacies restaurant restaurants banque banques ecole " +
	"ecoles garderie garderies parc parcs metro autobus cafe cafes boulangerie boulangeries boutique boutiques magasin " +
	"magasins commerce commerces resto restos store stores shop shops bank banks bakery bakeries pharmacy school schools " +
	"park parks grocery groceries supermarket supermarkets musee musees museum museums theatre theatres")

// amongShops tells whether the laundry at i is one of the shops of the neighbourhood: "restaurants, dépanneur,
// buanderie", "laundromat across the street".
func (p *Prose) amongShops(i int) bool {
	its := true // what follows is of the laundry, not of the building: "laundry on site 5 min from the subway"
	for k := i + 1; k <= i+4 && !p.stop(k) && p.sym(k) != ','; k++ {
		w := p.word(k)
		its = its && w != "in" && w != "on" && w != "dans" && w != "and" && w != "et"
		if p.seq(k, "down", "the", "block") || p.seq(k, "down", "the", "street") || p.seq(k, "down", "the", "road") ||
			its && (w == "nearby" || p.num(k) != nil && (minuteWords[p.word(k+1)] || p.seq(k+1, "coins", "de", "rue") ||
				p.word(k+1) == "blocks")) {
			return true
		}
		if w == "across" || w == "accross" || w == "corner" || w == "next" && p.nextDoor(k) ||
			w == "face" && p.word(k-1) == "en" ||
			w == "coin" && (p.word(k-1) == "au" || k == i+2 && p.word(k-1) == "du") {
			return true
		}
	}
	return p.shopItem(i)
}

// shopItem tells whether the thing at i stands between shops on a list, or behind two of them.
func (p *Prose) shopItem(i int) bool {
	item := func(k, step int) bool { // beside the comma or "et" at k
		return (p.sym(k) == ',' || p.word(k) == "et" || p.word(k) == "and") && shops[p.word(k+step)]
	}
	return item(i-1, -1) && (item(i-3, -1) || item(i+1, 1))
}

// amongNear tells whether the thing at i is an item between semicolons that begin with what is near, and are shops and
// the like from there: "près de l'école; épicerie; gym". "Gym dans l'immeuble" is the home's wherever it stands.
func (p *Prose) amongNear(i int) bool {
	for k := i + 1; k <= i+6 && !p.stop(k) && p.sym(k) != ','; k++ {
		switch p.word(k) {
		case "building", "immeuble", "site", "place", "tour", "inclus", "included", "onsite":
			return false
		}
	}
	shop, parts := false, 0
	for k := i - 1; k >= 0 && k >= i-30 && !p.words[k+1].line && p.sym(k) != '.' && p.sym(k) != '!'; k-- {
		switch w := p.word(k); {
		case p.sym(k) == ';':
			if p.bullet(k) { // what follows is of its own
				return false
			}
			if parts > 0 && !shop {
				return false
			}
			shop, parts = false, parts+1
		case shops[w], facilities[w]:
			shop = true
		case nearHeadings[w]:
			return shop && parts > 0
		}
	}
	return false
}

// nearbyList tells whether the thing at i stands in brackets on a list of what is near: "près de tous les services
// (épicerie, buanderie)".
func (p *Prose) nearbyList(i int) bool {
	k := i - 1
	for k >= i-14 && k > 0 && p.sym(k) != '(' {
		if p.stop(k+1) || p.sym(k) == ')' {
			return false
		}
		k--
	}
	if p.sym(k) != '(' {
		return false
	}
	for n := k - 1; n >= 0 && n >= k-14 && !p.stop(n+1); n-- {
		switch p.word(n) {
		case "pres", "proche", "proches", "proximite", "near", "close":
			return true
		}
	}
	return false
}
