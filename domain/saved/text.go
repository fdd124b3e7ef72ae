package saved

import (
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/search"
)

// fieldGap is how many positions are between fields, so that no phrase goes from one into another.
const fieldGap = 10

// words are what a listing is found by: each term with the positions of its words, which grow, and up to which the
// title goes.
type words struct {
	at        map[string][]int32
	title     int32
	languages []string

	sorted, titles []string // without stems, and those of the title alone; nil = not sorted yet
}

func wordsOf(l *Listing) *words {
	w := &words{at: map[string][]int32{}, languages: search.Languages(l.Title + "\n" + l.Description)}
	base := int32(0)
	for i, field := range []string{l.Title, l.Address, l.Neighbourhood, l.Description} {
		last := int32(-1)
		search.Terms(field, w.languages, func(term string, position int32) bool {
			last = position
			w.at[term] = append(w.at[term], base+position)
			return true
		})
		if base += last + 1 + fieldGap; i == 0 {
			w.title = base
		}
	}
	return w
}

// meet reports whether a listing is an answer to a text: it has what each condition asks for, and nothing of those that
// are Not.
func (w *words) meet(conditions []search.Condition) bool {
	for i := range conditions {
		if w.has(&conditions[i]) == conditions[i].Not {
			return false
		}
	}
	return true
}

func (w *words) has(c *search.Condition) bool {
	switch {
	case c.Phrase:
		return w.phrase(c)
	case c.Prefix:
		return w.begins(c.Terms[0].Text, c.Title)
	}
	return slices.ContainsFunc(c.Terms, func(t search.Term) bool {
		at := w.at[t.Text]
		return len(at) > 0 && (t.Language == "" || slices.Contains(w.languages, t.Language)) && (!c.Title || w.inTitle(at))
	})
}

// stem says that a term is one of search.StemTerm.
func stem(term string) bool { return len(term) > 3 && term[2] == ':' && term[3] != ':' }

func (w *words) inTitle(at []int32) bool { return len(at) > 0 && at[0] < w.title }

// begins reports whether a word, or one of the title, begins so. Thousands of searches may ask for that of an advert of
// thousands of words.
func (w *words) begins(prefix string, title bool) bool {
	if w.sorted == nil {
		for term, at := range w.at {
			if stem(term) {
				continue
			}
			if w.sorted = append(w.sorted, term); w.inTitle(at) {
				w.titles = append(w.titles, term)
			}
		}
		slices.Sort(w.sorted)
		slices.Sort(w.titles)
	}
	among := w.sorted
	if title {
		among = w.titles
	}
	n, _ := slices.BinarySearch(among, prefix)
	return n < len(among) && strings.HasPrefix(among[n], prefix)
}

// phrase reports whether the terms stand one after another. It looks where the rarest of them stands.
func (w *words) phrase(c *search.Condition) bool {
	if len(c.Terms) == 0 {
		return false
	}
	rarest := 0
	for i, t := range c.Terms {
		if len(w.at[t.Text]) < len(w.at[c.Terms[rarest].Text]) {
			rarest = i
		}
	}
	return slices.ContainsFunc(w.at[c.Terms[rarest].Text], func(at int32) bool {
		from := at - int32(rarest)
		if c.Title && from >= w.title {
			return false
		}
		for i, t := range c.Terms {
			if _, ok := slices.BinarySearch(w.at[t.Text], from+int32(i)); !ok {
				return false
			}
		}
		return true
	})
}

// anchor is the longest of the terms that a listing must have to meet the conditions, with all those that may stand for
// it; nil where there are none, as with -without alone.
func anchor(conditions []search.Condition) (terms []string) {
	longest := 0
	for i := range conditions {
		c := &conditions[i]
		if c.Not || c.Prefix || len(c.Terms) == 0 {
			continue
		}
		n := len(c.Terms[0].Text)
		if n <= longest {
			continue
		}
		longest, terms = n, terms[:0]
		for _, t := range c.Terms {
			terms = append(terms, t.Text)
			if c.Phrase {
				break // the listing has all of them: one is enough
			}
		}
	}
	return terms
}
