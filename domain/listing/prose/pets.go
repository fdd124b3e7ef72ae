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
		petLet:     "accepte accepted accept allow accepter acceptent acceptons droit max maximum uniquement",
		petFiller: "d de au les des petit petits petite un une le small any aux a l allowed autre autres gros large big grand " +
			"grands seul only ou domestic domestique " +
			"for suitable ideal more indoor older adult quiet calm clean spayed neutered trained behaved well",
	})
	petDenials    = set("pas aucun aucune no sans non")
	petExceptions = set("sauf except excepte exception but")
	smallWords    = set("petit petits petite petites small little mini")
	bigWords      = set("gros large big grand grands")
	// petTraits describe an animal before the rule about it: "chien d'appartement, non jappeur, propre, accepté".
	petTraits   = set("jappeur jappeurs propre propres dresse dresses calme calmes tranquille tranquilles appartement race d")
	smokeWords  = set("fumeur fumeurs fumer smoking smoker fumee")
	smokeKinds  = set("fumeur fumeurs fumer smoking smoker smokers smoke vaping vape cannabis")
	petMost     = set("max maximum")
	petLimits   = set("moins under less than")
	weightUnits = set("lb lbs livres livre pounds kg")
	// Where dogs may go, after "dog" and before "à chiens".
	petPlacesAfter  = set("park parks run walking wash spa area")
	petPlacesBefore = set("parc parcs aire enclos park douche bain exercice")
	// petJoints may stand between two animals that share a verdict.
	petJoints = set("et ou and or ni les petit petits petite small un des de d le nor domestique domestiques compagnie " +
		"neither")
)

// A petMention is a group of animals that share a rule, "chats et petits chiens", and what the words around it say.
type petMention struct {
	p                    *Prose
	first, last          int // the animals
	named, little        [petKinds]bool
	denied, limited, let bool // by a word before: "pas de", "certains", "accepte"
	big                  bool // "gros chiens"
	verdict              verdictOnPets
	except               []int // the animals after "sauf"
	end                  int   // the last token of the rule and its exception
}

// petsSaid is what all mentions say, and the tokens of the first one.
type petsSaid struct {
	said     [petKinds]verdictOnPets
	small    [petKinds]bool // only small ones
	from, to int
}

// pets reads the rules about animals and the tokens of the first one.
func (p *Prose) pets() (out listing.Pets, from, to int) {
	s := petsSaid{from: -1, to: -1}
	for i := 0; i < len(p.words); i++ {
		if !p.namesPet(i) {
			continue
		}
		m := p.petMentionAt(i)
		i = m.end
		if p.inPark(m.end + 1) {
			continue
		}
		if m.verdict == silent && m.except == nil {
			if !s.implies(&m) {
				continue
			}
			m.verdict = max(m.verdict, allowed)
		}
		s.note(&m)
		s.narrow(&m)
		s.exempt(&m)
	}
	return petPolicy(s.said, s.small), s.from, s.to
}

// implies tells whether animals without a verdict are let in by what stands beside them: "1 chat, pas de chien". It
// notes that an animal in brackets is the only one that "animaux permis" lets in.
func (s *petsSaid) implies(m *petMention) bool {
	p, open := m.p, m.first-1
	if smallWords[p.word(open)] || p.num(open) != nil {
		open--
	}
	if w := p.word(open); w == "a" || w == "un" || w == "une" {
		open--
	}
	switch w := p.word(open); {
	case p.contrast(m.last + 1): // "1 chat, pas de chien"
	case petMost[p.word(m.last+1)] && p.contrast(m.last+2): // "un chat max, pas de chien"
	case p.sym(open) == ':' && p.namesPet(open-1) && !m.named[anyPet] &&
		(p.stop(m.last+1) || p.words[m.last+1].kind == symbol): // "Animaux : chats"
	case s.said[anyPet] == allowed && (p.sym(open) == '(' || p.sym(open) == ':'): // "Animaux permis (petit chien)"
		s.said[anyPet] = conditional
	case (w == "et" || w == "and") && petVerdictOf(p.word(open-1)) == allowed && !p.denied(open-1):
		// "chat permis et petit chien"
	case m.first == m.last && m.named[anyPet] && p.slashed(m.first): // "libre / animaux / 5 ½"
	case !m.named[anyPet] && (petMost[p.word(m.last+1)] && p.petNumber(m.first) || p.petsCounted(m.first, m.last)):
		// "2 chats maximum"
	case m.named[anyPet] && petMost[p.word(m.last+1)] && p.petsCounted(m.first, m.last): // "1 pet max."
		m.verdict = conditional
	default:
		return false
	}
	return true
}

// note takes the verdict on animals of which none is known yet: "chats permis. Animaux interdits" lets cats in.
func (s *petsSaid) note(m *petMention) {
	p := m.p
	if s.from < 0 {
		s.from, s.to = m.first, m.end
		for s.from > 0 && s.from > m.first-3 && !p.words[s.from].line && p.words[s.from-1].kind == word {
			s.from--
		}
	}
	for kind := range petKinds {
		if m.named[kind] && s.said[kind] == silent {
			s.said[kind], s.small[kind] = m.verdict, m.little[kind]
		}
	}
	if s.said[cats] == allowed && s.said[dogs] == silent && m.named[cats] && p.nothingBut(m.end+1) {
		s.said[dogs] = banned // "1 chat, rien d'autre"
	}
}

// narrow has what was let in be the named animals alone: "pet friendly (cats only)".
func (s *petsSaid) narrow(m *petMention) {
	if w := m.p.word(m.end); (w == "only" || w == "seulement") && !m.named[anyPet] && s.said[anyPet] == allowed {
		s.said[anyPet] = conditional
	}
}

// exempt gives the animals after "sauf" the contrary verdict: "pas d'animaux sauf un petit chien".
func (s *petsSaid) exempt(m *petMention) {
	for _, kind := range m.except {
		s.said[kind] = allowed
		if m.verdict == allowed || m.verdict == conditional {
			s.said[kind] = banned
		}
		if smallWords[m.p.word(m.end-1)] || smallWords[m.p.word(m.end+1)] {
			s.small[kind] = true
		}
		if m.verdict != silent && m.named[anyPet] {
			s.said[anyPet] = m.verdict
		}
	}
}

// namesPet tells whether the word at i names an animal that would live here.
func (p *Prose) namesPet(i int) bool {
	return p.about(i, aPet) && p.word(i-1) != "nearby" && !p.petPlace(i) // "nearby pet friendly apartments"
}

// smallPet tells whether the animal at i is small: "petit chien", "chien de petite taille", "chien de moins de 30 lb".
func (p *Prose) smallPet(i int) bool {
	return smallWords[p.word(i-1)] || smallWords[p.word(i+1)] || p.word(i+1) == "de" && smallWords[p.word(i+2)] ||
		(p.word(i-1) == "dog" || p.sym(i-1) == '-') && smallWords[p.word(i-2)] || p.weighed(i)
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
	if !p.petNumber(start) || !p.stop(k) && (k == 0 || !p.stop(k-1)) {
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

// petNumber tells whether a number counts the animals from start on: "2 small cats", "un chat".
func (p *Prose) petNumber(start int) bool {
	k := start - 1
	for smallWords[p.word(k)] || k == start-1 && petLeads[p.word(k)] == petFiller && numberWords[p.word(k)] == 0 {
		k--
	}
	t := p.num(k)
	return t == nil && numberWords[p.word(k)] > 0 || t != nil && t.digits == 1 && t.dec == 0
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
	return p.petNumber(k) && petMost[p.word(k+1)] // "no dogs, 1 cat max"
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

// petPlace tells whether the animal at i is part of a place or of a dish: "parc à chiens", "dog park", "hot dog".
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
	return true // a denial between two animals is no joint: "accepte un chat, pas de chien" has two rules
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
	case "pas", "aucun", "no", "not", "sans":
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

// petMentionAt reads the animals from i on and the rule about them.
func (p *Prose) petMentionAt(i int) petMention {
	m := petMention{p: p, first: i, last: i}
	for k := i; k < len(p.words) && k <= m.last+8; k++ {
		if !p.namesPet(k) {
			continue
		}
		if k > m.last+1 && (!p.joined(m.last, k) || p.ownVerdict(i, m.last, k)) {
			break
		}
		kind := petNames[p.word(k)]
		m.named[kind], m.little[kind], m.last = true, p.smallPet(k), k
	}
	m.end = m.last
	both, alone := p.smokeDenied(i)
	m.denied = both
	if !m.before() && !m.behind() {
		m.close()
	}
	if (alone || p.refusedList(i)) && m.verdict == silent {
		m.verdict = banned
	}
	m.except, m.end = p.petException(m.end)
	if l := p.word(m.first - 1); m.except != nil && m.verdict == silent && (l == "all" || l == "les" &&
		p.word(m.first-2) == "tous") { // "all pets but dogs"
		m.verdict = allowed
	}
	return m
}

// only settles the verdict, whatever else stands around the animals: "pet-free building".
func (m *petMention) only(v verdictOnPets, end int) (settled bool) {
	m.verdict, m.end = v, end
	return true
}

// before reads the words that lead to the animals: "pas de gros chiens", "interdit aux chiens".
func (m *petMention) before() (settled bool) {
	p := m.p
	for k := m.first - 1; k >= 0 && k >= m.first-5 && !p.words[k+1].line; k-- {
		switch petLeads[p.word(k)] {
		case petLimited:
			m.limited = true
		case petLet:
			m.let = true
		case petFiller:
			m.big = m.big || bigWords[p.word(k)]
		case petDenied:
			// the answer to another label is none to this one: "Dogs: no / Cats: yes"
			m.denied = answers[p.word(k)] == 0 || p.sym(k-1) != ':' || p.words[k+1].kind != symbol
			return false
		case petBanned:
			return k >= m.first-2 && m.only(banned, m.last)
		default:
			if p.shortNot(k) || p.shortNot(k-1) { // "we can't have dogs", "don't accept pets"
				m.denied = true
				return false
			}
			if s := p.sym(k); p.num(k) == nil && s != ':' && s != '-' && s != '/' && numberWords[p.word(k)] == 0 {
				return false
			}
		}
	}
	return false
}

// behind reads the nine words after the animals, without those that describe them: "chiens propres et calmes acceptés".
func (m *petMention) behind() (settled bool) {
	p := m.p
	for k, n := m.last+1, 0; k < len(p.words) && n < 9 && !m.endsAt(k); k, n = k+1, n+1 {
		w := p.word(k)
		if (petTraits[w] || p.sym(k) == ',') && k < m.last+20 {
			n--
		}
		switch {
		case w == "talk", w == "case" && p.word(k+1) == "by", w == "cas" && p.word(k+1) == "par", w == "ask" && k <= m.last+2:
			if m.verdict != banned { // "case by case"
				m.verdict = conditional
			}
			m.end = k
		case w == "seulement", w == "only": // "chats seulement"
			if m.verdict == silent && !m.denied {
				m.verdict, m.end = allowed, k
			}
		case m.verdict == silent && m.deniedBehind(k):
			return true
		default:
			k = m.verdictAt(k)
		}
	}
	return false
}

// smokeDenied tells whether a rule against smoking goes on to the animals at i: "no smoking or pets" is one against
// both, "no smoking/pets" is where nothing else is said of them alone.
func (p *Prose) smokeDenied(i int) (both, alone bool) {
	k := i - 1
	switch w := p.word(k); {
	case w == "or", w == "nor", w == "ou", w == "ni":
		both = true
	case w == "and", w == "et", p.sym(k) == '/', p.sym(k) == '&':
		alone = true
	default:
		return false, false
	}
	smoke := false
	for k--; k >= i-6 && (smokeKinds[p.word(k)] || p.sym(k) == ','); k-- {
		smoke = smoke || smokeKinds[p.word(k)]
	}
	if w := p.word(k); w == "de" || w == "d" {
		k--
	}
	w := p.word(k)
	denied := w == "no" || w == "pas" || w == "aucun" || w == "sans" || p.notLetting(k)
	return smoke && both && denied, smoke && alone && denied
}

// endsAt tells whether token k is no more of the rule: "chats permis, sauf …".
func (m *petMention) endsAt(k int) bool {
	t := &m.p.words[k]
	return t.line || t.sym == ';' || t.sym == '!' || t.sym == '.' && m.p.stop(k) || t.sym == ',' && m.verdict != silent ||
		petExceptions[t.w] || m.p.namesPet(k)
}

// deniedBehind reads a denial at k that is no verdict on its own: "chiens: non", "dogs are a hard no", "pet-free
// building", "pas d'animaux ni fumeurs". In "animaux, non fumeur" it is not of the animals.
func (m *petMention) deniedBehind(k int) (settled bool) {
	p := m.p
	l, n := p.word(k-1), p.word(k+1)
	switch w := p.word(k); {
	case w == "no" && (l == "hard" || l == "big" || l == "firm"),
		(w == "no" || w == "non") && (n == "" || n == "merci" || p.stop(k+1)),
		w == "free" && p.sym(k-1) == '-', (w == "aucun" || w == "none") && p.sym(k-1) == ':' && p.stop(k+1):
		return m.only(banned, k)
	case k == m.last+1 && p.contrary(k, true) > k+1 && p.listEnds(p.contrary(k, true)): // "cats allowed; dogs aren't"
		return m.only(banned, p.contrary(k, true)-1)
	case (w == "never" || w == "jamais") && k == m.last+1 && p.listEnds(k+1),
		w == "abstenir" && l == "s" && k == m.last+2: // "chiens s'abstenir"
		return m.only(banned, k)
	case w == "free" && k == m.last+1 && p.word(m.last) == "pet" && (p.listEnds(k+1) || petFree[n]): // "pet free home"
		return m.only(banned, k)
	case smokeWords[w] && m.denied:
		return m.only(banned, m.last)
	case smokeWords[w] && (l == "non" || l == "no"):
		return m.only(silent, m.last)
	}
	return false
}

// verdictAt takes the verdict at k, if there is one: "permis", "not allowed", "acceptés: non", "sur demande". It
// returns the last token that it reads.
func (m *petMention) verdictAt(k int) (end int) {
	p, w, l := m.p, m.p.word(k), m.p.word(k-1)
	v := petVerdictOf(w)
	if (l == "sur" || l == "upon") && (w == "reference" || w == "references" || w == "demande" || w == "request") {
		v = conditional
	}
	if l == "ca" && w == "va" { // "un chat, ça va"
		v = allowed
	}
	if v == silent {
		return k
	}
	switch l2 := p.word(k - 2); {
	case p.sym(k+1) == ':' && answers[p.word(k+2)] == saysExcluded:
		v = banned
		k += 2
	case p.habit(k - 1), p.habit(k - 2):
	case p.denied(k), l2 == "pas", l2 == "non", l2 == "not" && l == "be":
		v = banned
	}
	if m.verdict == silent || m.verdict == allowed && v == conditional {
		m.verdict = v
	}
	m.end = k
	return k
}

// habit tells whether the "pas" at i is of what the animal does: "chien qui ne jappe pas accepté".
func (p *Prose) habit(i int) bool {
	return p.word(i) == "pas" && petHabits[p.word(i-1)]
}

var petHabits = set("jappe jappent aboie aboient mord mordent griffe griffent jappant")

// close weighs the words before the animals against the verdict after them: "pas de chiens acceptés" bans dogs.
func (m *petMention) close() {
	switch {
	case m.denied && (m.big || m.p.heavy(m.last)) && !m.named[anyPet] && !m.named[cats]: // "pas de gros chiens"
		m.verdict, m.little[dogs] = conditional, true
	case m.denied:
		m.verdict = banned
	case m.verdict == silent && m.limited:
		m.verdict = conditional
	case m.verdict == silent && (m.let || m.broughtAlong() || m.named[dogs] && m.p.mustWeigh(m.last)):
		m.verdict = allowed
	}
}

// petException reads "sauf un chat", "except cats" after token i.
func (p *Prose) petException(i int) (kinds []int, end int) {
	end = i
	for k := i + 1; k < len(p.words) && k <= i+4; k++ {
		if petExceptions[p.word(k)] && p.word(k+1) != "not" && p.word(k+1) != "no" { // "cats but not dogs"
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
