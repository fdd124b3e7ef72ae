package draft

import (
	"cmp"
	"slices"
	"strings"
)

// A lexicon is a list of words that are looked for together: at each place of a text only those are compared that begin
// with the two bytes there, so that a long list costs no more than a short one.
type lexicon struct {
	list  []string
	order []word       // as they are in the list
	words []word       // by head
	from  [1025]uint16 // head → the first of words with it
	heads [16]uint64   // a bit for each head that has words
}

// A word of a lexicon stands for itself. An open one may be the end of a longer word, a stem the beginning.
type word struct {
	text       string
	open, stem bool
}

// phrasesOf is the lexicon of a list in which long words may go on, and those that end in a letter of another alphabet.
func phrasesOf(list []string) *lexicon {
	return newLexicon(list, func(s string) word { return word{text: s, stem: longWord(s)} })
}

// cuesOf is the lexicon of a list in which "*" lets a word go on, or begin earlier.
func cuesOf(list []string) *lexicon {
	return newLexicon(list, func(s string) word {
		s, open := strings.CutPrefix(s, "*")
		s, stem := strings.CutSuffix(s, "*")
		return word{s, open, stem}
	})
}

// partsOf is the lexicon of a list whose texts count wherever they stand, in words as well.
func partsOf(list []string) *lexicon {
	return newLexicon(list, func(s string) word { return word{s, true, true} })
}

func newLexicon(list []string, read func(string) word) *lexicon {
	l := &lexicon{list: list}
	for _, s := range list {
		w := read(s)
		h := headOf(w.text[0], w.text[1]) // no list has a word of one byte
		l.heads[h>>6] |= 1 << (h & 63)
		l.order = append(l.order, w)
	}
	l.words = slices.Clone(l.order)
	slices.SortStableFunc(l.words, func(a, b word) int {
		return cmp.Compare(headOf(a.text[0], a.text[1]), headOf(b.text[0], b.text[1]))
	})
	n := 0
	for h := range uint(len(l.from)) {
		for n < len(l.words) && headOf(l.words[n].text[0], l.words[n].text[1]) < h {
			n++
		}
		l.from[h] = uint16(n)
	}
	return l
}

func headOf(a, b byte) uint { return (uint(a)<<4 ^ uint(b)) & 1023 }

// in says that one of the words stands in a text.
func (l *lexicon) in(s string) bool {
	start, _ := l.find(s)
	return start >= 0
}

// find is where the first of the words stands in a text, the longest of those that begin there; -1 = there is none.
func (l *lexicon) find(s string) (start, end int) {
	for i := 1; i < len(s); i++ {
		h := headOf(s[i-1], s[i])
		if l.heads[h>>6]>>(h&63)&1 == 0 {
			continue
		}
		end := -1
		for _, w := range l.words[l.from[h]:l.from[h+1]] {
			if stop := i - 1 + len(w.text); stop > end && strings.HasPrefix(s[i-1:], w.text) && w.whole(s, i-1) {
				end = stop
			}
		}
		if end >= 0 {
			return i - 1, end
		}
	}
	return -1, -1
}

// first is the first word of the list that stands in a text, and where it does first; "" = there is none.
func (l *lexicon) first(s string) (text string, start int) {
	if !l.in(s) {
		return "", -1
	}
	for _, w := range l.order {
		for from := 0; ; from++ {
			n := strings.Index(s[from:], w.text)
			if n < 0 {
				break
			}
			if from += n; w.whole(s, from) {
				return w.text, from
			}
		}
	}
	return "", -1
}

// whole says that a word that stands at a place of a text is not a part of another.
func (w word) whole(s string, start int) bool {
	if !w.open && goesOn(s, start) {
		return false
	}
	end := start + len(w.text)
	if w.stem || !goesOn(s, end) {
		return true
	}
	if s[end] == 's' && 'a' <= s[end-1] && s[end-1] <= 'z' { // fees, points
		return !goesOn(s, end+1)
	}
	return false
}
