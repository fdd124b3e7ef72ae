package prose

import (
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// ParsePets returns which animals s lets in. Policy is yes, no or limited (some animals, small ones, on conditions);
// Cats and Dogs are set when s names them, or when a ban on animals leaves them out ("Pas d'animaux sauf un chat" is
// cats yes, dogs no). The zero value means that s says nothing.
func ParsePets(s string) listing.Pets {
	pets, _, _ := Read(page.Text(s)).pets()
	return pets
}

type verdictOnPets uint8

const (
	silent verdictOnPets = iota
	allowed
	banned
	conditional
)

var petVerdicts = meanings(map[verdictOnPets]string{
	allowed: "accepte acceptes acceptee acceptees accepter accepted permis permise permises admis admise " +
		"tolere toleres toleree bienvenu bienvenue bienvenus bienvenues ok allowed welcome friendly " +
		"autorise autorises autorisee permit welcomed oui yes opere operes degriffe degriffes sterilise sterilises " +
		"accept allow acceptable fine correct corrects okay tolerated permitted permi autoriser tolerer tolerees acept accepts",
	banned: "interdit interdits interdis interdi excluded interdite interdites refuse refuses prohibited " +
		"forbidden exclu exclus prohibe prohibes defendu defendus",
	conditional: "considere consideres considered discuter discussed discussion discretion negociable negociables " +
		"negotiable possible " +
		"possibles selon depending condition conditions conditionnel conditionnels conditional approval approbation " +
		"certains certain limited restriction restrictions limites",
})

const (
	anyPet = iota
	cats
	dogs
	petKinds
)

// petNames are the animals that are told apart; a word that is none of these is of anyPet.
var petNames = meanings(map[int]string{
	cats: "chat chats cat cats minou minous chaton chatons chatte chattes minet minets kitty kitties kitten kittens",
	dogs: "chien chiens dog dogs puppy puppies pitou pitous toutou toutous pup pups doggo doggos",
})

// A petLead is the meaning of a word before an animal.
type petLead uint8

const (
	petDenied petLead = iota + 1
	petBanned
	petLimited
	petLet
	petFiller // says nothing: the words beyond it count
)

var (
	petLeads = meanings(map[petLead]string{
		petDenied:  "pas aucun aucune aucuns no sans ni not without non neither",
		petBanned:  "interdit interdits refuse prohibe",
		petLimited: "limited certains",
		petLet:     "accepte accepted accept allow accepter acceptent acceptons droit max maximum",
		petFiller: "d de au les des petit petits petite un une le small any aux a l allowed autre autres gros large big grand " +
			"grands seul only ou domestic domestique " +
			"for suitable ideal",
	})
	petDenials    = set("pas aucun aucune no sans non")
	petExceptions = set("sauf except excepte exception but")
	smallWords    = set("petit petits petite petites small little mini")
	// petTraits describe an animal before the rule about it: "chien d'appartement, non jappeur, propre, accepté".
	petTraits   = set("jappeur jappeurs propre propres dresse dresses calme calmes tranquille tranquilles appartement race d")
	smokeWords  = set("fumeur fumeurs fumer smoking smoker fumee")
	petLimits   = set("moins under less than")
	weightUnits = set("lb lbs livres livre pounds kg")
	// Where dogs may go, after "dog" and before "à chiens".
	petPlacesAfter  = set("park parks run walking wash spa area")
	petPlacesBefore = set("parc parcs aire enclos park douche bain exercice")
	// petJoints may stand between two animals that share a verdict.
	petJoints = set("et ou and or ni les petit petits petite small un des de d le nor domestique domestiques compagnie " +
		"neither")
)

// pets reads the rules about animals and the tokens of the first one.
func (p *Prose) pets() (out listing.Pets, from, to int) {
	var said [petKinds]verdictOnPets
	var small [petKinds]bool
	from, to = -1, -1
	for i := 0; i < len(p.words); i++ {
		if !p.about(i, aPet) || p.petPlace(i) {
			continue
		}
		// A group of names that share a verdict: "chats et petits chiens".
		var group [petKinds]bool
		var little [petKinds]bool
		last := i
		start := i
		for k := i; k < len(p.words) && k <= last+8; k++ {
			if p.about(k, aPet) && !p.petPlace(k) {
				if k > last+1 && (!p.joined(last, k) || p.ownVerdict(start, last, k)) {
					break
				}
				kind := petNames[p.word(k)]
				group[kind] = true
				little[kind] = smallWords[p.word(k-1)] || smallWords[p.word(k+1)] || p.word(k-1) == "dog" && smallWords[p.word(k-2)]
				last = k
				little[kind] = little[kind] || p.sym(k-1) == '-' && smallWords[p.word(k-2)]
				little[kind] = little[kind] || p.weighed(k) || p.word(k+1) == "de" && smallWords[p.word(k+2)]
				if p.words[k].w == "pet" && p.sym(k+1) == '-' {
					continue
				}
			}
		}
		v, end := p.petVerdict(start, last)
		except, exceptEnd := p.petException(end)
		i = max(last, end, exceptEnd)
		if v == silent && except == nil && p.contrast(last+1) { // "1 chat, pas de chien"
			v = allowed
		}
		if v == silent && except == nil {
			open := start - 1
			if smallWords[p.word(open)] || p.num(open) != nil {
				open--
			}
			if w := p.word(open); w == "a" || w == "un" || w == "une" {
				open--
			}
			if p.sym(open) == '(' || p.sym(open) == ':' { // "Animaux permis (petit chien)"
				if said[anyPet] == allowed {
					v = allowed
					said[anyPet] = conditional
				}
			}
			if w := p.word(open); (w == "et" || w == "and") && petVerdictOf(p.word(open-1)) == allowed &&
				!p.denied(open-1) {
				v = allowed // "chat permis et petit chien"
			}
			if v == silent && start == last && group[anyPet] && p.slashed(start) {
				v = allowed
			}
			if v == silent && !group[anyPet] && p.petsCounted(start, last) {
				v = allowed
			}
			if v == silent {
				continue
			}
		}
		if from < 0 {
			from, to = start, i
			for from > 0 && from > start-3 && !p.words[from].line && p.words[from-1].kind == word {
				from--
			}
		}
		for kind := range petKinds {
			if group[kind] && said[kind] == silent {
				said[kind], small[kind] = v, little[kind]
			}
		}
		if said[cats] == allowed && said[dogs] == silent && group[cats] && p.nothingBut(i+1) { // "1 chat, rien d'autre"
			said[dogs] = banned
		}
		for _, kind := range except {
			said[kind] = allowed
			if v == allowed || v == conditional {
				said[kind] = banned
			}
			if smallWords[p.word(exceptEnd-1)] || smallWords[p.word(exceptEnd+1)] {
				small[kind] = true
			}
			if v != silent && group[anyPet] {
				said[anyPet] = v
			}
		}
	}
	return petPolicy(said, small), from, to
}

// nothingBut tells whether the sentence goes on from i to rule out all that it has not named: "rien d'autre".
func (p *Prose) nothingBut(i int) bool {
	for k := i; k < i+5 && !p.stop(k); k++ {
		if p.seq(k, "rien", "d", "autre") || p.seq(k, "nothing", "else") {
			return true
		}
	}
	return false
}

// petsCounted tells whether a sentence only counts the animals start..last, and so says how many may live here:
// "1 chien de moins de 35 livres et 1 chat", "2 chats maximum". In a longer one they may be anybody's: "1 chat habite
// ici".
func (p *Prose) petsCounted(start, last int) bool {
	k := start - 1
	if smallWords[p.word(k)] {
		k--
	}
	if t := p.num(k); t == nil && numberWords[p.word(k)] == 0 || t != nil && (t.digits != 1 || t.dec > 0) || !p.stop(k) &&
		(k == 0 || !p.stop(k-1)) {
		return false
	}
	for n := last + 1; n < len(p.words) && !p.stop(n); n++ {
		switch w := p.word(n); {
		case petLimits[w], smallWords[w], weightUnits[w], w == "max", w == "maximum", w == "seulement", w == "only",
			w == "de", w == "d", p.num(n) != nil, p.sym(n) == '(', p.sym(n) == ')', p.sym(n) == '.':
		default:
			return false
		}
	}
	return true
}

// slashed tells whether the word at i is alone between the slashes or bars of a list: "libre / animaux / 5 ½".
func (p *Prose) slashed(i int) bool {
	bar := func(k int) bool { return p.sym(k) == '/' || p.sym(k) == '|' }
	return bar(i-1) && bar(i+1) && p.words[i-1].space && p.words[i+1].space
}

// ownVerdict tells whether the animal at k, after a comma, has a verdict of its own while those before are denied:
// "aucun chien, chat ok".
func (p *Prose) ownVerdict(start, last, k int) bool {
	denied := false
	for n := start - 1; n >= start-3; n-- {
		denied = denied || petDenials[p.word(n)]
	}
	if !denied || p.sym(last+1) != ',' && p.sym(last+1) != '/' && p.sym(last+1) != '-' {
		return false
	}
	for n := k + 1; n <= k+2; n++ {
		if v := p.petVerdictAt(n); v == allowed || v == conditional {
			return true
		}
	}
	return false
}

func petPolicy(said [petKinds]verdictOnPets, small [petKinds]bool) (out listing.Pets) {
	pick := func(v verdictOnPets, yes string) string {
		switch v {
		case allowed:
			return yes
		case banned:
			return "no"
		case conditional:
			return "conditional"
		}
		return ""
	}
	out.Cats, out.Dogs = pick(said[cats], "yes"), pick(said[dogs], "yes")
	if small[dogs] && said[dogs] != banned && said[dogs] != silent {
		out.Dogs = "small"
	}
	switch any := said[anyPet]; {
	case any == banned:
		out.Policy = "no"
		if said[cats] == allowed || said[cats] == conditional || said[dogs] == allowed || said[dogs] == conditional {
			out.Policy = "limited"
			if out.Cats == "" {
				out.Cats = "no"
			}
			if out.Dogs == "" {
				out.Dogs = "no"
			}
		}
	case any == allowed && !small[anyPet] && said[cats] != banned && said[dogs] != banned && out.Dogs != "small" &&
		said[cats] != conditional && said[dogs] != conditional:
		out.Policy = "yes"
	case any != silent:
		out.Policy = "limited"
	case said[cats] == banned && said[dogs] == banned:
		out.Policy = "no"
	case said[cats] == allowed && said[dogs] == allowed && out.Dogs != "small" && !small[cats]:
		out.Policy = "yes"
	case said[cats] != silent || said[dogs] != silent:
		out.Policy = "limited"
	}
	return out
}

// petPlace tells whether the animal at i is part of a place: "parc à chiens", "dog park".
func (p *Prose) petPlace(i int) bool {
	if petPlacesAfter[p.word(i+1)] {
		return petNames[p.word(i)] == dogs || p.word(i) == "pet"
	}
	switch p.word(i - 1) {
	case "a", "aux", "pour":
		return petPlacesBefore[p.word(i-2)]
	case "hot":
		return true
	}
	return false
}

// joined tells whether only "et", "ou", commas and sizes stand between two animals.
func (p *Prose) joined(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if p.words[k].line {
			return false
		}
		switch w := p.word(k); {
		case petJoints[w]:
		case petLimits[w] || weightUnits[w]: // "un chien de moins de 30 lb et un chat"
			if !p.weighed(i) {
				return false
			}
		case w == "":
			if s := p.words[k].sym; s != ',' && s != '/' && s != '&' && s != '-' && p.words[k].kind != number {
				return false
			}
		default:
			return false
		}
	}
	// A denial between two animals is a new rule: "accepte un chat, pas de chien".
	return true
}

// weighed tells whether a limit of weight follows the animal at i: "chiens de moins de 30 livres".
func (p *Prose) weighed(i int) bool {
	for k := i + 1; k <= i+6 && k < len(p.words) && !p.stop(k); k++ {
		if p.about(k, aPet) {
			return false
		}
		if weightUnits[p.word(k)] {
			return p.num(k-1) != nil
		}
	}
	return false
}

// contrast tells whether the tokens from i deny other animals: ", pas de chien", "mais aucun chien".
func (p *Prose) contrast(i int) bool {
	if i < len(p.words) && p.words[i].line {
		return false
	}
	if s := p.sym(i); s == ',' || s == '-' || s == '/' || p.word(i) == "mais" || p.word(i) == "but" || p.word(i) == "et" {
		i++
	}
	switch p.word(i) {
	case "pas", "aucun", "no", "sans":
		for k := i + 1; k <= i+3; k++ {
			if petNames[p.word(k)] != anyPet {
				return true
			}
			if w := p.word(k); w != "de" && w != "d" && w != "les" && w != "gros" {
				return false
			}
		}
	}
	return false
}

// petVerdictAt is what the word at i says of pets. A "fine" is a verdict after "is" and the like only: "a $250 fine" is
// none.
func (p *Prose) petVerdictAt(i int) verdictOnPets {
	if w := p.word(i); w == "fine" && !fineAfter[p.word(i-1)] {
		return silent
	}
	return petVerdictOf(p.word(i))
}

var fineAfter = set("is are be s totally absolutely all ok")

// petVerdictOf looks w up, also with two of its letters changed over: "accpetes", "accepet".
func petVerdictOf(w string) verdictOnPets {
	if v := petVerdicts[w]; v != silent || len(w) < 7 {
		return v
	}
	return petSlips[letters(w)]
}

// petSlips are the long verdicts by their letters.
var petSlips = func() map[letterCount]verdictOnPets {
	m := map[letterCount]verdictOnPets{}
	for w, v := range petVerdicts {
		if len(w) >= 7 {
			m[letters(w)] = v
		}
	}
	return m
}()

// A letterCount is how often a word has each letter, and its first letter.
type letterCount [27]byte

func letters(w string) (n letterCount) {
	for i := range len(w) {
		n[(w[i]-'a')%26]++
	}
	n[26] = w[0]
	return n
}

// petVerdict finds the rule about the animals in tokens i..j.
func (p *Prose) petVerdict(i, j int) (v verdictOnPets, end int) {
	end = j
	deniedBefore, conditionalBefore, allowedBefore := false, false, false
	for k, n := i-1, 0; k >= 0 && n < 5; k, n = k-1, n+1 {
		if p.words[k+1].line {
			break
		}
		switch petLeads[p.word(k)] {
		case petDenied:
			deniedBefore = true
		case petLimited:
			conditionalBefore = true
			continue
		case petLet:
			allowedBefore = true
			continue
		case petFiller:
			continue
		case petBanned:
			if k == i-1 || k == i-2 {
				return banned, end
			}
		default:
			if p.words[k].kind == number || p.sym(k) == ':' || p.sym(k) == '-' || p.sym(k) == '/' {
				continue
			}
		}
		break
	}
	for k, n := j+1, 0; k < len(p.words) && n < 9; k, n = k+1, n+1 {
		if p.words[k].line || p.sym(k) == ';' || p.sym(k) == '!' || p.sym(k) == '.' && p.stop(k) {
			break
		}
		if p.about(k, aPet) && !p.petPlace(k) {
			break
		}
		w := p.word(k)
		if w == "talk" || w == "case" && p.word(k+1) == "by" || w == "cas" && p.word(k+1) == "par" || w == "ask" && k <= j+2 {
			if v == silent || v == allowed {
				v = conditional
			}
			end = k
			continue
		}
		if w == "no" && (p.word(k-1) == "hard" || p.word(k-1) == "big" || p.word(k-1) == "firm") && v == silent {
			return banned, k
		}
		if (petTraits[w] || p.sym(k) == ',') && k < j+20 {
			n--
		}
		switch {
		case w == "seulement" || w == "only":
			if v == silent && !deniedBefore {
				v, end = allowed, k
			}
			continue
		case smokeWords[w]:
			if v == silent && deniedBefore {
				return banned, j
			}
			if v == silent && (p.word(k-1) == "non" || p.word(k-1) == "no") {
				return silent, j
			}
		}
		if petExceptions[w] {
			break
		}
		if p.sym(k) == ',' && v != silent {
			break
		}
		if w == "free" && p.sym(k-1) == '-' && v == silent { // "pet-free building"
			return banned, k
		}
		u := petVerdictOf(w)
		if (w == "reference" || w == "references" || w == "demande" || w == "request") && (p.word(k-1) == "sur" ||
			p.word(k-1) == "upon") {
			u = conditional
		}
		if u != silent {
			switch {
			case p.sym(k+1) == ':' && answers[p.word(k+2)] == saysExcluded:
				u = banned
				k += 2
			case p.denied(k) || p.word(k-2) == "pas" || p.word(k-2) == "non" || p.word(k-1) == "not":
				u = banned
			case p.word(k-1) == "be" && p.word(k-2) == "not":
				u = banned
			}
			switch {
			case v == allowed && u == conditional:
				v = conditional
			case v == silent:
				v = u
			}
			end = k
			continue
		}
		if (w == "non" || w == "no") && v == silent {
			if n := p.word(k + 1); n == "" || n == "merci" {
				return banned, k
			}
		}
	}
	switch {
	case deniedBefore:
		return banned, max(end, j)
	case v == silent && conditionalBefore:
		return conditional, end
	case v == silent && allowedBefore:
		return allowed, end
	}
	return v, end
}

// petException reads "sauf un chat", "except cats" after token i.
func (p *Prose) petException(i int) (kinds []int, end int) {
	end = i
	for k := i + 1; k < len(p.words) && k <= i+4; k++ {
		if petExceptions[p.word(k)] {
			for n := k + 1; n < len(p.words) && n <= k+8; n++ {
				if p.words[n].line || p.sym(n) == '.' {
					break
				}
				if kind := petNames[p.word(n)]; kind != anyPet {
					kinds = append(kinds, kind)
					end = n
				}
			}
			return kinds, end
		}
		if p.words[k].line || p.sym(k) == '.' {
			break
		}
	}
	return nil, i
}
