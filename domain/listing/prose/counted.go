package prose

import (
	"unicode"
	"unicode/utf8"
)

// adjectives may stand between a number and what it counts.
var adjectives = set("grande grandes grand grands belle belles beau beaux bonne bonnes bon bons petite petites petit " +
	"petits large larges big spacious spacieuse spacieuses spacieux fermee fermees closed close vraie vraies vrai full " +
	"complete completes " +
	"complet joli nice bright huge immense immenses tres very double doubles superbe superbes magnifique magnifiques vastes " +
	"vaste " +
	"separate separated separee separees good sized size private privee privees generous master modern moderne modernes " +
	"nouvelle nouvelles beautiful gorgeous stylish elegant cozy comfortable lovely new renovated jolie jolies lumineuse lumineuses lumineux " +
	"ensoleille ensoleillee ensoleilles ensoleillees charmant charmante sunny independantes independante demi")

// plurals count several rooms, whatever stands before them.
var plurals = set("chambres bedrooms bdrms bedrms bdrs bdms brs salles bathrooms baths washrooms")

// noAdjectives cannot describe a room that a number counts.
var noAdjectives = set("of from to with for in on at by near de des du d a au aux la le les l sur dans avec pour par " +
	"minutes min mins steps blocks km levels level floors story storey units suites people persons personnes lits " +
	"appliances closets balconies decks locker lockers stars years ans mois months homes the this that our your")

// described passes up to four words that describe rooms ("generously sized", "spacious and bright") from token i and
// returns the noun of that topic, which must be a plural, or i.
func (p *Prose) described(i int, of topic) int {
	for k := i; k < len(p.words) && k < i+5 && !p.words[k].line; k++ {
		t := &p.words[k]
		switch {
		case t.topic&of != 0 && plurals[t.w]:
			return k
		case t.kind == symbol && t.sym == '-':
		case t.kind != word, noAdjectives[t.w], t.topic&^(aFurnishing|inEnglish|inFrench|aUtility) != 0 && !adjectives[t.w]:
			return i
		}
	}
	return i
}

// small reads a whole number from 0 to 9 at i, in digits or in a word; -1 when there is none. Ordinals ("2e") and
// parts of dates, fractions and codes are none.
func (p *Prose) small(i int) (n int, weak bool) {
	t := &p.words[i]
	switch t.kind {
	case number:
		if t.dec > 0 || t.digits != 1 || t.half || t.digits == 0 {
			return -1, false
		}
		if i > 0 && !t.space && (p.sym(i-1) == '#' || p.sym(i-1) == '.' && p.num(i-2) != nil || p.sym(i-1) == '$') {
			return -1, false
		}
		return int(t.cents / 100), false
	case word:
		if t.topic&aNumber != 0 {
			n := numberWords[t.w]
			return n, n == 1 && t.w != "one"
		}
	}
	return -1, false
}

// capital tells whether the word at i begins with a capital.
func (p *Prose) capital(i int) bool {
	if i < 0 || i >= len(p.words) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at[p.words[i].start]:])
	return unicode.IsUpper(r)
}

// ofSome tells whether the thing at i is that of some homes of the building: "certaines unités ont 2 salles de bain".
func (p *Prose) ofSome(i int) bool {
	for k := i - 1; k >= 0 && k >= i-12 && !p.stop(k+1); k-- {
		if someHomes[p.word(k)] && someWords[p.word(k-1)] {
			return true
		}
	}
	return false
}

var (
	someWords = set("certains certaines quelques some select")
	someHomes = set("unites appartements logements condos units suites apartments homes")
)
