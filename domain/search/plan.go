package search

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

const (
	// mostClauses is how many clauses a query has at most (see Parse).
	mostClauses = 32
	// relaxBelow is how many pages must have all words: below it those with some of them follow.
	relaxBelow = MaxLimit
	// refined is how many of the best answers are put in order by the distance of the words, too.
	refined = 300
	// mostBytes bounds the postings that a query reads, about two and a half bytes each. Positions cost a quarter of them.
	mostBytes      = 3_000_000 * 5 / 2
	positionsShare = 4
	// mostBytesLong is that of a long question. Its commonest words cost most and say least: the others order its answers.
	mostBytesLong = 3_000_000
)

// A Plan is what a query needs of an index. It is one goroutine's.
//
// The caller expands Prefixes, reads the Terms and has them ranked (Rank, or CountWords and Answer). If Ranking.Samples
// names pages, it has Learn read their texts and reads the terms of that Expansion for Ranking.Expand. Then it reads
// what Ranking.Near wants for Refine.
type Plan struct {
	ask    Ask
	groups []group
	query  Query
	stems  []string // the languages that words are stemmed in
	words  bool     // something ranks
	cut    bool
	rows   [][]spot // words that were typed in a row
}

// A group is a clause of the query: the terms that count as one word, or the words of a phrase.
type group struct {
	clause          int
	words           []string // of the clause
	others          []string // words that pages may have in place of it: Clause.Others
	terms           []lookup // without those of a phrase
	alone           []lookup // terms of the part of a word that rejoin has put together
	apart           *group   // words that count as this one's where they are in a row; nil = none
	skipped         []bool   // words of a phrase that are too common to be looked for; nil = none
	phrase          bool
	not, must       bool // a page that has it is none; a page that has it not is none
	title           bool // only titles count
	silent          bool // it is not asked for after all: a stop word, or too common to be read
	aside           bool // it ranks, and no answer needs it: "it" in "it jobs"
	prefix, several bool // several: of a great many terms
}

// A lookup is a term and what it is to the word of its group.
type lookup struct {
	term     string
	role     role
	language string // whose stem it is
	of       string // the one of the others that it is a form of; "" = of the word itself
}

type role uint8

const (
	exactForm role = iota
	stemForm       // language:stem, which covers all forms in that language but the stem itself
	plainForm      // the stem as a word; it counts in pages of its language
	otherForm      // a correction
)

// sought are the words of a phrase that are looked for, by their place.
func (g *group) sought() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, w := range g.words {
			if (g.skipped == nil || !g.skipped[i]) && !yield(i, w) {
				return
			}
		}
	}
}

// NewPlan finds out what a query needs of pages in these languages; none = in all.
func NewPlan(a Ask, q Query, languages ...string) *Plan {
	p := &Plan{ask: a, query: q, stems: slices.Clone(stemLanguages)}
	for _, of := range [][]string{languages, q.Languages, a.Languages} {
		p.stems = slices.DeleteFunc(p.stems, func(l string) bool { return len(of) > 0 && !slices.Contains(of, l) })
	}
	for i, c := range a.Clauses[:min(len(a.Clauses), mostClauses)] {
		g := group{clause: i, words: c.Words, not: c.Not, title: c.Title, prefix: c.Prefix,
			phrase: len(c.Words) > 1}
		g.must = !c.Not && (g.phrase || c.Title)
		switch {
		case g.phrase || g.prefix || len(c.Words) == 0:
		case c.Phrase:
			g.terms = []lookup{{term: c.Words[0], role: exactForm}}
		default:
			g.terms = p.forms(c.Words[0])
		}
		at := slices.IndexFunc(p.groups, func(o group) bool { // a word that is also a part counts once
			other := a.Clauses[o.clause]
			other.Joined = c.Joined
			return c.same(other)
		})
		if at < 0 {
			p.groups, at = append(p.groups, g), len(p.groups)
		}
		for _, w := range c.Others() {
			if g := &p.groups[at]; !slices.Contains(g.others, w) {
				g.others = append(g.others, w)
			}
		}
	}
	p.hush()
	p.hear()
	p.rows = p.inRows(q.Text)
	if p.asked() < longQuestion { // the answers to longer ones are worse with them (TestCranfield)
		p.rejoin()
		for i := range p.groups {
			g := &p.groups[i]
			if g.alone != nil {
				continue
			}
			for _, w := range g.others {
				for _, t := range p.forms(w) {
					t.of = w
					g.terms = append(g.terms, t)
				}
			}
			if words := a.Clauses[g.clause].Apart(); words != nil {
				g.apart = inARow(g, words)
			}
		}
	}
	return p
}

// asked is how many groups pages must have to have all words.
func (p *Plan) asked() (n int) {
	for i := range p.groups {
		if p.groups[i].needed() {
			n++
		}
	}
	return n
}

// needed says that pages without it do not have all words.
func (g *group) needed() bool { return !g.not && !g.silent && !g.aside }

// forms are the terms that count as one word: it, and in each language its stem and the words that have it.
func (p *Plan) forms(word string) []lookup {
	terms := []lookup{{term: word, role: exactForm}}
	if !alphabetic(word) {
		return terms
	}
	for _, language := range p.stems {
		s := Stem(language, word)
		if s == "" || s == word {
			terms = append(terms, lookup{term: language + ":" + word, role: stemForm, language: language})
			continue
		}
		terms = append(terms, lookup{term: language + ":" + s, role: stemForm, language: language},
			lookup{term: s, role: plainForm, language: language})
	}
	return terms
}

// hush silences stop words, unless there is nothing else that ranks.
func (p *Plan) hush() {
	stops := func(g *group) bool {
		return !g.not && !g.must && !g.prefix && idle(p.ask.Clauses[g.clause])
	}
	rest := slices.ContainsFunc(p.groups, func(g group) bool { return !g.not && !stops(&g) })
	for i := range p.groups {
		g := &p.groups[i]
		g.silent = rest && stops(g)
		p.words = p.words || !g.not
	}
}

// hear has stop words rank that are acronyms in small letters, or may be: which pages are answers stays as it is, and
// those come first that have "it jobs" as it was typed. Long questions have words that say more.
func (p *Plan) hear() {
	if p.asked() >= longQuestion {
		return
	}
	for i := range p.groups {
		g := &p.groups[i]
		if g.silent && acronyms[strings.ToUpper(g.words[0])] && p.ask.Clauses[g.clause].Joined == "" { // fix-it: rejoin
			g.silent, g.aside = false, true
		}
	}
}

// plainWords is how many words a query has, those included that are not looked for; 0 where it has anything else.
func (p *Plan) plainWords() int {
	for i := range p.groups {
		if g := &p.groups[i]; g.not || g.title || g.phrase || g.prefix {
			return 0
		}
	}
	return len(p.groups)
}

// Prefixes are those of the query that the caller expands by Expand, before it asks for Terms.
func (p *Plan) Prefixes() []string {
	var prefixes []string
	for _, g := range p.groups {
		if g.prefix && len(g.words) == 1 && !slices.Contains(prefixes, g.words[0]) {
			prefixes = append(prefixes, g.words[0])
		}
	}
	return prefixes
}

// Expand says which words of the index begin with a prefix.
func (p *Plan) Expand(prefix string, words []string) {
	for i := range p.groups {
		g := &p.groups[i]
		if !g.prefix || g.words[0] != prefix {
			continue
		}
		g.terms, g.several = nil, true
		for _, w := range words {
			g.terms = append(g.terms, lookup{term: w, role: exactForm})
		}
	}
}

// Also has other words counted, at half their weight, as if they were the word of a clause: corrections of a typing
// error.
func (p *Plan) Also(clause int, words ...string) {
	for i := range p.groups {
		g := &p.groups[i]
		if g.clause != clause || g.phrase || len(g.words) != 1 {
			continue
		}
		g.several = true
		for _, w := range words {
			for _, t := range p.forms(w) {
				g.terms = append(g.terms, lookup{term: t.term, role: otherForm, language: t.language})
			}
		}
	}
}

// Words are the clauses that are a single word which ranks, and was not quoted, as indexes into Ask.Clauses: those that
// may have a typing error.
func (p *Plan) Words() []int {
	var clauses []int
	for _, g := range p.groups {
		if g.needed() && !g.prefix && !p.ask.Clauses[g.clause].Phrase && len(g.words) == 1 && g.alone == nil {
			clauses = append(clauses, g.clause)
		}
	}
	return clauses
}

// Terms are to be read from every segment: sorted, each once.
func (p *Plan) Terms() []string {
	var terms []string
	for _, g := range p.groups {
		if g.silent {
			continue
		}
		if g.phrase {
			for _, w := range g.sought() {
				terms = append(terms, w)
			}
		}
		for _, t := range g.terms {
			terms = append(terms, t.term)
		}
		if g.apart != nil {
			terms = append(terms, g.apart.words...)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Positions are those of Terms whose positions are needed too: sorted, each once.
func (p *Plan) Positions() []string {
	var terms []string
	for _, g := range p.groups {
		if g.phrase && !g.silent {
			for _, w := range g.sought() {
				terms = append(terms, w)
			}
		}
		if g.apart != nil && !g.silent {
			terms = append(terms, g.apart.words...)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Size is how many bytes of a term there are to be read.
type Size struct {
	Postings, Positions int64
}

// most is how many bytes of postings a query reads at most.
func (p *Plan) most() int64 {
	if p.asked() >= longQuestion {
		return mostBytesLong
	}
	return mostBytes
}

// Afford bounds the work, given the sizes of terms: until the rest is about three million postings, of a long question
// some more than one, phrases that have more than their share are looked for without their commonest words, but for
// two, and then the commonest words and phrases are left out. Then Ranking.AtLeast is set. Terms tells what is left.
// Calling it is optional.
func (p *Plan) Afford(sizes map[string]Size) {
	type cost struct {
		g     *group
		word  int // of a phrase
		bytes int64
	}
	var groups, words []cost
	var sum, apart int64
	most := p.most()
	for i := range p.groups {
		g := &p.groups[i]
		if g.silent {
			continue
		}
		c := cost{g: g}
		for _, t := range g.terms {
			c.bytes += sizes[t.term].Postings
		}
		if g.phrase {
			g.skipped = make([]bool, len(g.words))
			for at, w := range g.words {
				n := sizes[w].Postings + sizes[w].Positions/positionsShare
				words = append(words, cost{g, at, n})
				c.bytes += n
			}
		}
		if g.apart != nil {
			for _, w := range g.apart.words {
				apart += sizes[w].Postings + sizes[w].Positions/positionsShare
			}
		}
		sum += c.bytes
		if g.phrase || !g.not && !g.must {
			groups = append(groups, c)
		}
	}
	if sum+apart > most { // no answer needs those aside
		groups = slices.DeleteFunc(groups, func(c cost) bool {
			if c.g.aside {
				c.g.silent = true
				sum -= c.bytes
			}
			return c.g.aside
		})
	}
	if apart > 0 && sum+apart > most { // the words themselves say more
		for i := range p.groups {
			p.groups[i].apart = nil
		}
		p.cut, apart = true, 0
	}
	sum += apart
	falling := func(a, b cost) int { return cmp.Compare(b.bytes, a.bytes) }
	slices.SortStableFunc(words, falling)
	left := map[*group]int{}
	for _, c := range words {
		left[c.g]++
	}
	for _, c := range words {
		of := &groups[slices.IndexFunc(groups, func(of cost) bool { return of.g == c.g })]
		if sum > most && of.bytes > most/int64(len(groups)) && left[c.g] > 2 {
			c.g.skipped[c.word], p.cut = true, true
			left[c.g]--
			sum -= c.bytes
			of.bytes -= c.bytes
		}
	}
	slices.SortStableFunc(groups, falling)
	for i, c := range groups {
		if sum <= most || i == len(groups)-1 {
			return
		}
		c.g.silent, p.cut = true, true
		sum -= c.bytes
	}
}
