package search

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
)

// Pseudo relevance feedback: the words that the best answers have in common are added to the query, RM3 of
// Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD", with the parameters that Anserini has had since 2019:
// ten answers, ten words, half of the weight for the query as it was typed; words of more than a tenth of all pages
// are left out, unless the query has them.
const (
	feedbackPages = 10
	feedbackWords = 10
	feedbackShare = 0.5 // of the query as it was typed
	feedbackRare  = 0.1 // of all pages
	feedbackTried = 3 * feedbackWords
	feedbackFrom  = 4 // words of the query
)

// A Sample is the text of one of the best answers.
type Sample struct {
	Page                  int64
	Title, Text, Language string
}

// An Expansion is words that the best answers have in common. It is one goroutine's.
type Expansion struct {
	words  []sharedWord // that may be chosen, the likeliest first
	chosen []sharedWord
	free   []func() // the memory of what was chosen
}

type sharedWord struct {
	group
	share   float32   // of the words of the samples
	typed   bool      // it is a word of the query
	entries [][]entry // by part
	df      int
}

// Samples are the pages to learn from, the best first; none where it is not worth it.
func (r *Ranking) Samples() []int64 {
	if r.plan.asked() < feedbackFrom || !r.Relaxed || r.best < feedbackPages || r.plan.cut {
		return nil
	}
	var ids []int64
	for i := range r.answers[:feedbackPages] {
		ids = append(ids, r.page(&r.answers[i]))
	}
	return ids
}

// Learn finds the words that samples, in any order, have in common, other than stop words.
func (r *Ranking) Learn(samples []Sample) *Expansion {
	scores := map[int64]float32{}
	var sum float32
	for i := range r.answers[:min(r.best, feedbackPages)] {
		a := &r.answers[i]
		scores[r.page(a)] = a.score
		sum += a.score
	}
	samples = slices.Clone(samples)
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Page, b.Page) }) // sums depend on the order
	words, lengths := make([]map[kin]int, len(samples)), make([]int, len(samples))
	side(runtime.GOMAXPROCS(0), len(samples), func(_, i int) { words[i], lengths[i] = samples[i].words() })
	shares := map[kin]float32{}
	for i, s := range samples {
		for k, times := range words[i] {
			shares[k] += scores[s.Page] / sum * float32(times) / float32(lengths[i])
		}
	}
	least := float32(0)
	if len(shares) > feedbackTried {
		falling := slices.SortedFunc(maps.Values(shares), func(a, b float32) int { return cmp.Compare(b, a) })
		least = falling[feedbackTried-1]
	}
	e := &Expansion{}
	for k, share := range shares {
		if share < least {
			continue
		}
		terms := k.terms()
		e.words = append(e.words, sharedWord{group: group{words: []string{k.word}, terms: terms}, share: share,
			typed: slices.ContainsFunc(r.groups, func(g *group) bool {
				return slices.ContainsFunc(g.terms, func(t lookup) bool { return t.term == terms[0].term })
			})})
	}
	slices.SortFunc(e.words, func(a, b sharedWord) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.terms[0].term, b.terms[0].term))
	})
	e.words = e.words[:min(len(e.words), feedbackTried)]
	return e
}

// kin are words that count as one in a language: those of a stem. Where there is no stemmer it is "", and a word is
// alone.
type kin struct{ language, word string }

// words are how often a sample has each word other than stop words, and how many those are together.
func (s *Sample) words() (words map[kin]int, n int) {
	counts := map[string]int{}
	count := func(t Token) bool {
		if len(t.Word) > 1 && !Stop(s.Language, t.Word) {
			counts[t.Word]++
			n++
		}
		return true
	}
	Tokenize(s.Title, count)
	Tokenize(s.Text, count)
	stemmed := slices.Contains(stemLanguages, s.Language)
	words = make(map[kin]int, len(counts))
	for w, times := range counts {
		k := kin{word: w}
		if stemmed {
			k.language = s.Language
			if stem := Stem(s.Language, w); stem != "" {
				k.word = stem
			}
		}
		words[k] += times
	}
	return words, n
}

func (k kin) terms() []lookup {
	if k.language == "" {
		return []lookup{{term: k.word, role: exactForm}}
	}
	return []lookup{{term: k.language + ":" + k.word, role: stemForm, language: k.language},
		{term: k.word, role: plainForm, language: k.language}}
}

// Unknown are the terms of which Leave is told in how many documents they are: sorted, each once.
func (e *Expansion) Unknown() []string {
	return termsOf(slices.DeleteFunc(slices.Clone(e.words), func(w sharedWord) bool { return w.typed }))
}

// Leave spares reading words that are too common anyway, given how many of all documents have each term at least.
// Calling it is optional.
func (e *Expansion) Leave(docs map[string]int, all int) {
	e.words = slices.DeleteFunc(e.words, func(w sharedWord) bool {
		return slices.ContainsFunc(w.terms, func(t lookup) bool { return !w.fits(docs[t.term], all) })
	})
}

// fits says whether a word that so many documents have tells enough.
func (w *sharedWord) fits(df, all int) bool {
	return w.typed || float32(df) <= feedbackRare*float32(all)
}

// Terms are to be read from every segment, without positions, for Expand: sorted, each once. When there are none the
// expansion is complete.
func (e *Expansion) Terms() []string { return termsOf(e.words[:e.missing()]) }

func (e *Expansion) missing() int { return min(feedbackWords-len(e.chosen), len(e.words)) }

func termsOf(words []sharedWord) []string {
	var terms []string
	for _, w := range words {
		for _, t := range w.terms {
			terms = append(terms, t.term)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Expand adds the words of an expansion to the scores, given the rows of its Terms, other than those that were ranked.
// It is called until there are no more Terms. Which documents are answers, and which of them have all words, stays as
// it was. It comes before Near and Refine.
func (r *Ranking) Expand(e *Expansion, rows []Posted) error {
	r.add(rows)
	tried := e.words[:e.missing()]
	e.words = e.words[len(tried):]
	groups := make([]*group, len(tried))
	for i := range tried {
		groups[i] = &tried[i].group
	}
	entries, free, err := r.mix(groups)
	if err != nil {
		return err
	}
	e.free = append(e.free, free)
	for i, w := range tried {
		w.entries = entries[i]
		for _, list := range w.entries {
			w.df += len(list)
		}
		if w.df > 0 && w.fits(w.df, r.s.docs) {
			e.chosen = append(e.chosen, w)
		}
	}
	if e.missing() == 0 {
		r.expand(e.chosen)
		for _, free := range e.free {
			free()
		}
	}
	return nil
}

func (r *Ranking) expand(chosen []sharedWord) {
	var sum float32
	for _, w := range chosen {
		sum += w.share
	}
	if sum == 0 {
		return
	}
	scale := (1 - feedbackShare) / feedbackShare * float32(len(r.groups)) / sum
	from, n := make([]int, len(r.s.parts)), 0 // of a part's documents
	for part := range r.s.parts {
		from[part] = n
		n += r.s.parts[part].Columns.Len()
	}
	t := scratches.Get().(*scratch)
	defer scratches.Put(t)
	t.reset(n)
	for part, at := range from {
		of := scratch{score: t.score[at:], mask: t.mask[at:]}
		for _, w := range chosen {
			of.add(w.entries[part], w.share*idf(w.df, r.s.docs)*scale, 0)
		}
	}
	for i := range r.answers {
		a := &r.answers[i]
		a.score += t.score[from[a.part]+int(a.ord)]
	}
	r.sortBest()
}
