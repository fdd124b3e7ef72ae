package prose

// Subjects of sentences that say nothing of the home: who lived or lives there or near, shops, relatives, other homes.
var (
	// strangers are that with a verb of having behind them: "the neighbours have a dog", "le café offre le wifi".
	strangers = set("voisin voisins voisine voisines neighbour neighbours neighbor neighbors soeur frere ami amie amis " +
		"sister brother friend friends cousin cousine people " +
		"couple gens daycare library bibliotheque church eglise clinic clinique")
	strangersHave = set("has have had offers offer offre offrent ont avait avaient possede possedent own owns keep " +
		"keeps loue louent rents provides sells vend paid pays paie payait payaient")
	// formerly stand before or behind those who hold a lease today, or held one.
	formerly = set("previous former last old past current present ancien anciens ancienne dernier derniers derniere " +
		"precedent precedents precedente actuel actuels actuelle sortant sortants")
	holders = set("tenant tenants renter renters locataire locataires occupant occupants")
	// vacating tell when the home of those is free.
	vacating = set("leave leaves leaving moves moving moved out vacate vacates vacating quitte quittent quittera " +
		"quitteront part partent partira demenage demenagent libere liberera liberent disponible libre available " +
		"cede cedent ceder looking cherche sublet subletting transfer transferring transfere until")
	lives  = set("lives live habite habitent vit occupe reside")
	someOf = phrases("other|autres|autre|not all|not every|pas tous les|pas toutes les")
	// otherDoors stand beside another home of the building, of which gone says that it is not on offer.
	otherDoors = phrases("below|above|upstairs|downstairs|next door|across the hall|du haut|du bas|du dessus|du dessous|" +
		"d en haut|d en bas|d a cote|au dessus|en dessous|a cote|voisin|voisine|d en face|du coin|across the street|" +
		"around the corner")
	gone = set("loue louee loues louees rented leased taken occupe occupee occupied")
	// toldTo begin what a reader is told to do where a condition holds, but not if it is to look for a home.
	toldTo = set("ask tell write mention please svp veuillez call contact see check demandez ecrivez mentionnez " +
		"dites avisez appelez contactez consultez voyez")
	seekingHomes = set("looking cherchez cherches recherchez want wish interested interesse interessee interesses " +
		"voulez desirez")
	// councils are strangers behind an article, with what they do right behind them: "la ville vend des vignettes". A
	// "city view" is none.
	councils   = set("ville municipalite arrondissement city town borough municipality")
	councilsDo = set("has offers offer offre vend sells rents loue issues emet interdit bans forbids prohibits deneige")
	// subjectLeads stand before a subject.
	subjectLeads = set("the our my his her le la l les nos mon ma mes notre un une a an all tous")
)

// strangersAt returns the token behind a sentence that begins at i and is not about the home, or i: "Previous tenants
// paid $1,100", "La garderie d'en face a un stationnement", "Le 5 ½ du haut vient d'être loué 1 750 $".
func (p *Prose) strangersAt(i int) int {
	k := i
	for subjectLeads[p.word(k)] && k < i+2 {
		k++
	}
	end := k + 1
	for end < len(p.words) && end < k+mostAsked && !p.stop(end) {
		end++
	}
	has := func(from, to int, words map[string]bool) bool {
		for n := from; n < min(to, end); n++ {
			if words[p.word(n)] {
				return true
			}
		}
		return false
	}
	w, next := p.word(k), p.word(k+1)
	if k == i && (w == "if" || w == "si") {
		for n := k + 2; n < end && !seekingHomes[p.word(n)]; n++ {
			if p.sym(n) == ',' && toldTo[p.word(n+1)] { // "if you need parking, ask the city"
				return end
			}
		}
		return i
	}
	isHome := k < len(p.words) && p.words[k].half || homes[w+"s"] || kinds[w] != "" ||
		p.about(k, aFurnishing|aStudio|aType)
	verb := k + 1 // up to where the verb may stand: "school nearby, the building has a gym" is of the building
	for verb < min(k+7, end) && p.sym(verb) != ',' {
		verb++
	}
	having := has(k+1, verb, strangersHave) || p.hasThing(k+1, verb)
	switch {
	case formerly[w] && holders[next] || holders[w] && (formerly[next] || next == "before"):
		if !having || has(k+2, end, vacating) || p.namesUtility(k+2, end) { // "l'ancien locataire payait 60 $ d'hydro"
			return i
		}
	case formerly[w] && w != "current" && w != "present" && (next == "bail" || next == "lease" || next == "loyer" ||
		next == "rent"), landlords[w] && lives[next]:
		for n := k + 2; n < end; n++ {
			if p.sym(n) == ',' { // "ancien loyer 1250 $, nouveau loyer 1195 $", "owner lives upstairs, no pets"
				return n
			}
		}
	case p.phraseAt(k, someOf) > 0:
		next = p.word(p.phraseAt(k, someOf))
		if !having || !homes[next] && !homes[next+"s"] { // "other units have a balcony"
			return i
		}
	case strangers[w] || shops[w]:
		if !having {
			return i
		}
	case councils[w] && k > i:
		return p.councilAt(i, k, end)
	case having && !isHome && (p.phraseAt(k+1, otherDoors) > 0 || p.phraseAt(k+2, otherDoors) > 0):
		// "the hair salon below has a parking lot"
	case isHome:
		if p.phraseAt(k+1, otherDoors) == 0 || !has(k+2, end, gone) {
			return i
		}
	default:
		return i
	}
	return end
}

// councilAt returns the token behind what the city at k is said to do, in a sentence that begins at i and ends at end,
// or i: "la ville déneige, stationnement inclus" goes on with the home.
func (p *Prose) councilAt(i, k, end int) int {
	next := p.word(k + 1)
	if !councilsDo[next] && !(next == "en" && councilsDo[p.word(k+2)]) && !p.hasThing(k+1, k+2) {
		return i
	}
	for n := k + 2; n < end; n++ {
		if p.sym(n) == ',' && !p.listGoesOn(n) {
			return n
		}
	}
	return end
}

// hasThing tells whether a French "a" among the tokens i..end-1 is of having: "a un stationnement", not "à 5 minutes".
func (p *Prose) hasThing(i, end int) bool {
	for ; i < end; i++ {
		switch p.word(i + 1) {
		case "un", "une", "du", "des", "son", "sa", "ses":
			if p.word(i) == "a" && !p.accentedAt(i) {
				return true
			}
		}
	}
	return false
}

// namesUtility tells whether the tokens i..end-1 name what heats or lights a home: what it cost another tells of it.
func (p *Prose) namesUtility(i, end int) bool {
	for ; i < end; i++ {
		if what, _ := p.thing(i); what == heat || what == electricity || what == collective {
			return true
		}
	}
	return false
}

// askedOfOthers returns the token behind a question to the reader that begins at i and names no home, and behind the
// sentence about others that answers it, "Vous cherchez un stationnement? La ville vend des vignettes.", or i.
func (p *Prose) askedOfOthers(i int) int {
	for k := i; k < len(p.words) && k < i+12 && (k == i || !p.words[k].line); k++ {
		switch {
		case p.sym(k) == '?' && k+1 < len(p.words):
			if end := p.strangersAt(k + 1); end > k+1 {
				return end
			}
			return i
		case k > i && p.stop(k), p.words[k].half, homes[p.word(k)+"s"], kinds[p.word(k)] != "", p.about(k, aBedroom|aStudio):
			return i
		}
	}
	return i
}

var oneArticles = set("a an un une")

// unlikeAt returns the token behind what the home is said not to be, and what that would have, from the "not" at i on:
// "not a hotel with a pool", "ce n'est pas une tour avec gym et ascenseur", or i.
func (p *Prose) unlikeAt(i int) int {
	if w := p.word(i); w != "not" && w != "pas" && !(w == "t" && p.shortNot(i)) || !oneArticles[p.word(i+1)] {
		return i
	}
	has := false
	for k := i + 2; ; k++ {
		w := p.word(k)
		switch {
		case p.stop(k), w == "but", w == "mais", p.sym(k) == ',' && !p.listGoesOn(k):
			if has {
				return min(k, len(p.words))
			}
			return i
		case w == "with", w == "avec":
			has = true
		case !has && (k > i+6 || p.words[k].kind != word || w == "problem" || w == "probleme" ||
			p.about(k, anAmenity|aParking|aPet|aBedroom|aFurnishing|aUtility|anInclusion)):
			return i
		}
	}
}

// listGoesOn tells whether an amenity that ends a list or has another behind it follows the comma at i: "a pool, a gym
// and a sauna".
func (p *Prose) listGoesOn(i int) bool {
	k := i + 1
	if oneArticles[p.word(k)] {
		k++
	}
	return p.about(k, anAmenity) && (p.listJoint(k+1) || p.stop(k+1) || joinsDenied(p.word(k+1)) || p.word(k+1) == "ou")
}
