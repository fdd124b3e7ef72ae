package prose

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
		"certains certain limited restricted restriction restrictions limites",
})

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

// heavy tells whether the animal at i is told apart by a size that it exceeds: "dogs over 40 lbs", "chien de grande
// taille".
func (p *Prose) heavy(i int) bool {
	for k := i + 1; k <= i+4 && !p.stop(k); k++ {
		if p.num(k) != nil && weightUnits[p.word(k+1)] {
			return exceeding[p.word(k-1)] || p.seq(k-2, "plus", "de") || p.seq(k-2, "more", "than")
		}
	}
	return p.word(i+1) == "de" && bigWords[p.word(i+2)]
}

// mustWeigh tells whether a limit of weight lets the animal at i in: "dogs must be under 30 lbs".
func (p *Prose) mustWeigh(i int) bool {
	k := i + 1
	if w := p.word(k); (w == "must" || w == "have") && (p.word(k+1) == "be" || p.seq(k+1, "to", "be")) ||
		w == "doit" || w == "doivent" {
		return p.weighed(i)
	}
	return false
}

var exceeding = set("over above exceeding than")

// petFree stand behind "pet free" and "smoke free".
var petFree = set("home building unit apartment house environment property and")

// broughtAlong tells whether tenants are asked to bring the animals: "bring your furry friends", "amenez votre chat".
func (m *petMention) broughtAlong() bool {
	p, k := m.p, m.first-1
	if w := p.word(k); w != "your" && w != "votre" && w != "vos" {
		return false
	}
	switch p.word(k - 1) {
	case "bring", "amenez", "emmenez":
	default:
		return false
	}
	return !p.denied(k-1) && p.word(k-2) != "t" && p.word(k-2) != "cannot" &&
		(p.stop(m.last+1) || p.word(m.last+1) == "along")
}

// inPark tells whether "in the park" or "au parc" follows at i: what animals may do there is said of no home.
func (p *Prose) inPark(i int) bool {
	switch p.word(i) {
	case "in", "at", "au", "aux", "dans":
	default:
		return false
	}
	for k := i + 1; k <= i+3; k++ {
		switch w := p.word(k); w {
		case "park", "parks", "parc", "parcs":
			return true
		case "the", "le", "les", "dog", "city", "nearby":
		default:
			return false
		}
	}
	return false
}

// shortNot tells whether the word at i ends "don't", "can't" or "cannot".
func (p *Prose) shortNot(i int) bool {
	return p.word(i) == "cannot" || p.word(i) == "t" && shortNots[p.word(i-1)]
}

// notLetting tells whether the word at i ends "don't accept", "do not allow".
func (p *Prose) notLetting(i int) bool {
	return acceptWords[p.word(i)] && (p.word(i-1) == "not" || p.shortNot(i-1))
}

var shortNots = set("don doesn can won isn aren wouldn couldn")
