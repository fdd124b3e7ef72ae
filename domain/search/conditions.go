package search

import (
	"math"
	"slices"
	"strings"
)

// What follows is for documents that another index finds, by all words of a query: Postgres' text search, for adverts.
// It has the same terms and the same scores.

// StemTerm is the term under which documents in a language are indexed besides a folded word: the language and the
// stem. "" = there is none, as the stem is the word itself or the language has no stemmer.
func StemTerm(language, word string) string {
	if s := Stem(language, word); s != "" && s != word {
		return language + ":" + s
	}
	return ""
}

// Terms calls f for each term that a text in languages is found by, with the position of its word, which never falls,
// until f returns false.
func Terms(text string, languages []string, f func(term string, position int32) bool) {
	Tokenize(text, func(t Token) bool {
		more := t.Word == "" || f(t.Word, t.Position)
		for _, l := range languages {
			if s := StemTerm(l, t.Word); s != "" && more {
				more = f(s, t.Position)
			}
		}
		return more
	})
}

// AdvertLanguages are those that adverts, and questions for them, have stems in.
var AdvertLanguages = []string{"en", "fr"}

// Languages are those that an advert has stems in: its own, or all where there is too little to tell.
func Languages(text string) []string {
	switch l := Detect(text); {
	case l == "":
		return AdvertLanguages
	case slices.Contains(AdvertLanguages, l):
		return []string{l}
	}
	return nil
}

// A Condition is met by documents that have one of its Terms; of a phrase, by those that have them one after another.
type Condition struct {
	Terms  []Term
	Phrase bool
	Not    bool // documents that meet it are no answers
	Title  bool // in the title
	Prefix bool // words that begin with the only term
}

// A Term is what stands for a word of a query.
type Term struct {
	Text     string
	Exact    bool   // it is that word, and not another form of it
	Language string // it counts in documents of this language; "" = in all
}

// Conditions are what a document with all words of the query meets. They are in the order of the clauses; stop words
// are left out where there are others.
func (p *Plan) Conditions() []Condition {
	var out []Condition
	for _, g := range p.groups {
		if g.silent || g.aside {
			continue
		}
		c := Condition{Phrase: g.phrase, Not: g.not, Title: g.title, Prefix: g.prefix}
		if g.phrase || g.prefix {
			for _, w := range g.words {
				c.Terms = append(c.Terms, Term{Text: w, Exact: true})
			}
		}
		if !g.prefix {
			terms := g.terms
			if g.alone != nil {
				terms = g.alone
			}
			terms = slices.DeleteFunc(slices.Clone(terms), func(t lookup) bool { return t.of != "" })
			for _, w := range g.others { // in long questions, too
				terms = append(terms, p.forms(w)...)
			}
			for _, t := range terms {
				term := Term{Text: t.term, Exact: t.role == exactForm}
				if t.role == plainForm {
					term.Language = t.language
				}
				c.Terms = append(c.Terms, term)
				if other := spelt[t.term]; other != "" && term.Exact && !p.ask.Clauses[g.clause].Phrase {
					c.Terms = append(c.Terms, Term{Text: other, Exact: true})
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// spelt are words that addresses have in two spellings, as often in one as in the other. All words of a query are to be
// in a document here, so one that has the other spelling would be missed.
var spelt = map[string]string{"saint": "st", "st": "saint", "sainte": "ste", "ste": "sainte"}

// A Found is a document with all words of a query, and where it has them.
type Found struct {
	Languages []string
	Title     int // words
	Address   int // words
	Body      int // words
	Terms     []FoundTerm
}

// A FoundTerm is a term of a document, with its positions in each field, ascending. Positions of title and body are in
// one sequence, with a gap between.
type FoundTerm struct {
	Text                 string
	Title, Address, Body []int32
}

// A Scale is what the score of a document depends on besides its words and the query's.
type Scale struct {
	Weights              []float32 // of the conditions: Weight
	Title, Address, Body float32   // mean lengths in words
}

// Weight is how much a word tells that a share of all documents has: Rank's idf, among a million.
func Weight(share float64) float32 {
	const docs = 1_000_000
	return idf(int(math.Round(min(max(share, 0), 1)*docs)), docs)
}

// Score is the score that Rank and Refine would give a document, but for what a whole title counts more.
func (s *Scale) Score(conditions []Condition, d *Found) float32 {
	n := normsOf([fieldCount]float32{fieldTitle: s.Title, fieldAddress: s.Address, fieldBody: s.Body})
	var lengths Columns
	for f, length := range [fieldCount]int{fieldTitle: d.Title, fieldAddress: d.Address, fieldBody: d.Body} {
		lengths.lengths[f] = []uint32{uint32(length)}
	}
	var score float32
	var places []place
	words := 0
	for i := range conditions {
		c := &conditions[i]
		if c.Not {
			continue
		}
		spots, exact := c.spots(d)
		var has counts
		for f, at := range spots {
			most := mostSmall
			if f == fieldBody {
				most = mostBody
			}
			if !c.Title || f == fieldTitle {
				has |= one(f, uint32(min(len(at), most)))
			}
			if !c.Phrase && !c.Prefix && f != fieldAddress {
				for _, p := range at {
					places = append(places, place{uint32(p), i})
				}
			}
		}
		body := float32(has.of(fieldBody)) / (n.flat[fieldBody] + n.slope[fieldBody]*float32(d.Body))
		share := s.Weights[i] * saturate(n.short(body, &lengths, 0, has))
		if exact && !c.Phrase {
			share *= 1 + exactBonus
		}
		score += share
		words++
	}
	if words > 1 {
		slices.SortFunc(places, comparePlaces)
		norm := weights[fieldBody] * (n.flat[fieldBody] + n.slope[fieldBody]*float32(d.Body))
		score += near(places, s.Weights, norm)
	}
	return score
}

// spots are where a document meets a condition, by field: one of titles is not met elsewhere, but stands near other
// words there, too. exact says that it has the very word.
func (c *Condition) spots(d *Found) (spots [fieldCount][]int32, exact bool) {
	add := func(t *FoundTerm) {
		spots[fieldTitle] = append(spots[fieldTitle], t.Title...)
		spots[fieldAddress] = append(spots[fieldAddress], t.Address...)
		spots[fieldBody] = append(spots[fieldBody], t.Body...)
	}
	var row []FoundTerm // of a phrase
	for _, want := range c.Terms {
		if want.Language != "" && !slices.Contains(d.Languages, want.Language) {
			continue
		}
		for i := range d.Terms {
			switch t := &d.Terms[i]; {
			case c.Prefix:
				if !strings.HasPrefix(t.Text, want.Text) {
					continue
				}
				for f, at := range [fieldCount][]int32{fieldTitle: t.Title, fieldAddress: t.Address, fieldBody: t.Body} {
					if len(at) > len(spots[f]) { // as for Rank: the one that is there most often
						spots[f] = at
					}
				}
				exact = true
			case t.Text != want.Text:
			case c.Phrase:
				row = append(row, *t)
			default:
				add(t)
				exact = exact || want.Exact && (!c.Title || len(t.Title) > 0)
			}
		}
	}
	if c.Phrase {
		if len(row) < len(c.Terms) {
			return spots, false
		}
		add(&FoundTerm{
			Title:   inRow(row, func(t *FoundTerm) []int32 { return t.Title }),
			Address: inRow(row, func(t *FoundTerm) []int32 { return t.Address }),
			Body:    inRow(row, func(t *FoundTerm) []int32 { return t.Body }),
		})
		return spots, false
	}
	for f := range spots { // a word and its stem are at one position
		slices.Sort(spots[f])
		spots[f] = slices.Compact(spots[f])
	}
	return spots, exact
}

// inRow is where words stand one after another.
func inRow(words []FoundTerm, of func(*FoundTerm) []int32) (at []int32) {
	for _, first := range of(&words[0]) {
		whole := true
		for i := 1; i < len(words) && whole; i++ {
			_, whole = slices.BinarySearch(of(&words[i]), first+int32(i))
		}
		if whole {
			at = append(at, first)
		}
	}
	return at
}
