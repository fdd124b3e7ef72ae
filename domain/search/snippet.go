package search

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/page"
)

// MaxMarks is how many ranges Mark returns.
const MaxMarks = 50

const (
	maxRead    = 256 << 10      // bytes of a text that Mark and Snip read
	maxSnippet = 240            // characters, with the signs that it goes on
	room       = maxSnippet - 4 // without them
)

// Mark returns where the words of a query are in a text, as the index finds them in a page of that language: in other
// forms, as beginnings, phrases as a whole. Ranges are in order and do not overlap, at most MaxMarks. Words that tell
// nothing ("the") are marked only when there are no others; those that must not be there are not. The first 256 KiB of
// the text are read.
func Mark(text string, a Ask, language string) []Range {
	return newFinder(a, language).mark(page.CutBytes(text, maxRead), MaxMarks)
}

// MarkAll is Mark of all of a text, with so many ranges at most.
func MarkAll(text string, a Ask, language string, most int) []Range {
	return newFinder(a, language).mark(text, most)
}

// Snip returns the part of a page that answers a query best: of at most 240 characters, that with the most different
// words of the query, where a phrase counts as two; the first of these. It is a part of the text, and of the
// description when more words are there. When neither has any, it is the beginning of the description; when there is
// none, of the text after the title. The time is linear in the text, of which the first 256 KiB are read.
func Snip(title, description, text string, a Ask, language string) Snippet {
	f := newFinder(a, language)
	text, description = page.CutBytes(text, maxRead), page.CutBytes(description, maxRead)
	best, in := f.best(text), text
	if best.score < f.most {
		if d := f.best(description); d.score > best.score {
			best, in = d, description
		}
	}
	if best.score == 0 {
		in = description
		if strings.TrimSpace(in) == "" {
			in = withoutTitle(text, title)
		}
	}
	s := around(in, best.start, best.end)
	return Snippet{Text: s, Marks: f.mark(s, MaxMarks)}
}

// withoutTitle is a text without the title that it begins with.
func withoutTitle(text, title string) string {
	text, title = strings.TrimSpace(text), strings.TrimSpace(title)
	if title != "" && len(text) > len(title) && strings.EqualFold(text[:len(title)], title) {
		if rest := strings.TrimLeft(text[len(title):], " \t\r\n|-–—:·."); rest != "" {
			return rest
		}
	}
	return text
}

// A finder finds the words of a query.
type finder struct {
	language string
	words    map[string][]int // by their stems in the language, or themselves: the clauses
	prefixes []beginning
	phrases  []phrase
	in       map[string][]partOf // where words are in phrases
	begins   [256]uint32         // by the first bytes of all these, the bits of their second ones: see begin
	clauses  int
	most     int // the score of all clauses
}

type beginning struct {
	word   string
	clause int
}

type phrase struct {
	clause, words, score int
}

type partOf struct{ phrase, word int }

func newFinder(a Ask, language string) *finder {
	f := &finder{language: language, words: map[string][]int{}, in: map[string][]partOf{}, clauses: len(a.Clauses)}
	tells := slices.ContainsFunc(a.Clauses, func(c Clause) bool { return !c.Not && !idle(c) })
	inARow := func(clause, score int, words []string) {
		for n, w := range words {
			f.begin(w)
			f.in[w] = append(f.in[w], partOf{len(f.phrases), n})
		}
		f.phrases = append(f.phrases, phrase{clause, len(words), score})
	}
	for i, c := range a.Clauses {
		switch {
		case c.Not || len(c.Words) == 0 || tells && idle(c):
			continue
		case c.Phrase:
			score := min(len(c.Words), 2)
			inARow(i, score, c.Words[:min(len(c.Words), maxPhrase)])
			f.most += score
			continue
		case c.Prefix:
			f.prefixes = append(f.prefixes, beginning{c.Words[0], i})
		default:
			key := f.key(c.Words[0])
			for _, w := range c.Others() {
				other := f.key(w)
				f.words[other] = append(f.words[other], i)
				f.begin(other)
			}
			if words := c.Apart(); words != nil {
				inARow(i, 1, words)
			}
			if _, same := f.words[key]; same {
				continue
			}
			f.words[key] = []int{i}
		}
		f.begin(c.Words[0])
		f.most++
	}
	return f
}

// begin notes how a word begins: words that begin otherwise need no stem, as no stemmer changes the first two letters
// but the y of dying (TestStemBegins).
func (f *finder) begin(word string) { f.begins[word[0]] |= second(word) }

// second is the bit of the second byte of a word, all bits where it has none.
func second(word string) uint32 {
	switch {
	case len(word) < 2:
		return math.MaxUint32
	case word[1] == 'y':
		return 1 << ('i' & 31)
	}
	return 1 << (word[1] & 31)
}

// idle clauses are words that tell nothing.
func idle(c Clause) bool {
	return len(c.Words) == 1 && !c.Phrase && !c.Prefix && !c.Title && !c.Name && Stop("", c.Words[0])
}

// key is what the forms of a word have in common.
func (f *finder) key(word string) string {
	if s := Stem(f.language, word); s != "" {
		return s
	}
	return word
}

// A found clause of the query, at bytes of the text.
type found struct {
	start, end    int
	clause, score int
}

// find calls g for the clauses in a text, in the order of their ends, until it returns false.
func (f *finder) find(text string, g func(found) bool) {
	if f.most == 0 {
		return
	}
	var (
		at       = int32(-1)                      // position
		states   = make([]uint32, len(f.phrases)) // bit n: words up to n are there, the last one at the position
		next     = make([]uint32, len(f.phrases)) // bit n: word n is at the position
		starts   [maxPhrase]int                   // of the words of phrases, by position
		end      int
		finished bool
	)
	step := func() {
		for i, p := range f.phrases {
			states[i] = (states[i]<<1 | 1) & next[i]
			next[i] = 0
			if states[i]>>(p.words-1)&1 == 1 && !finished {
				start := starts[(int(at)-p.words+1)%maxPhrase]
				finished = !g(found{min(start, end), end, p.clause, p.score})
			}
		}
	}
	Tokenize(text, func(t Token) bool {
		for ; at < t.Position; at++ {
			if at >= 0 && len(f.phrases) > 0 {
				step()
			}
		}
		if finished || f.begins[t.Word[0]]&second(t.Word) == 0 {
			return !finished
		}
		start, stop := int(t.Start), int(t.End)
		for _, clause := range f.words[f.key(t.Word)] {
			if !g(found{start, stop, clause, 1}) {
				finished = true
				return false
			}
		}
		for _, b := range f.prefixes {
			if strings.HasPrefix(t.Word, b.word) && !g(found{start, stop, b.clause, 1}) {
				finished = true
				return false
			}
		}
		if of := f.in[t.Word]; len(of) > 0 {
			starts[int(at)%maxPhrase], end = start, stop
			for _, p := range of {
				next[p.phrase] |= 1 << p.word
			}
		}
		return true
	})
	if !finished && at >= 0 && len(f.phrases) > 0 {
		step()
	}
}

// mark returns where the clauses are in a text, so many ranges at most. What is found ends behind what was found before
// and begins less than maxPhrase words earlier: ranges further back stay as they are.
func (f *finder) mark(text string, most int) []Range {
	var all []found // of which none overlap
	f.find(text, func(x found) bool {
		for n := len(all) - 1; n >= 0 && all[n].end > x.start; n-- {
			x.start, x.end = min(x.start, all[n].start), max(x.end, all[n].end)
			all = all[:n]
		}
		all = append(all, x)
		return len(all) < most+maxPhrase
	})
	var ranges []Range
	bytes, characters := 0, 0
	count := func(n int) int {
		if n > bytes {
			characters += utf8.RuneCountInString(text[bytes:n])
			bytes = n
		}
		return characters
	}
	for _, x := range all[:min(len(all), most)] {
		r := Range{Start: count(x.start)}
		r.End = count(x.end)
		ranges = append(ranges, r)
	}
	return ranges
}

// A window is a part of a text, in bytes, and how well it answers.
type window struct{ start, end, score int }

// best is the first of the shortest windows with the most different clauses.
func (f *finder) best(text string) (best window) {
	var (
		open   []found // of the window
		counts = make([]int, f.clauses)
		scores = 0
	)
	drop := func() {
		first := open[0]
		open = open[1:]
		if counts[first.clause]--; counts[first.clause] == 0 {
			scores -= first.score
		}
	}
	f.find(text, func(x found) bool {
		open = append(open, x)
		if counts[x.clause]++; counts[x.clause] == 1 {
			scores += x.score
		}
		for len(open) > 1 && (counts[open[0].clause] > 1 || wider(text, open[0].start, x.end, room*5/6)) {
			drop()
		}
		if scores > best.score {
			start := x.start
			for _, o := range open {
				start = min(start, o.start)
			}
			best = window{start, x.end, scores}
		}
		return best.score < f.most
	})
	return best
}

// wider says that a part of a text has more than n characters.
func wider(text string, start, end, n int) bool {
	if end-start <= n {
		return false
	}
	return end-start > n*utf8.UTFMax || utf8.RuneCountInString(text[start:end]) > n
}

// around returns a line of a text, of about 240 characters, that has the bytes from start to end in it.
func around(text string, start, end int) string {
	free := room
	end = min(end, start+len(page.CutBytes(text[start:], 4*room)))
	for i := range text[start:end] {
		if free--; free == 0 { // longer than a snippet
			end = start + i
			break
		}
	}
	// A third of what is free goes before, or all of a sentence that begins there; the rest after. What the text does not
	// have on one side is for the other.
	after := forward(text, end, free)
	before := max(free/3, free-utf8.RuneCountInString(text[end:after]))
	from := back(text, start, before)
	if n := sentence(text[from:start]); n > 0 && n <= start-from {
		from += n
	} else if from > 0 {
		from += bound(text[from:start])
	}
	to := forward(text, end, free-utf8.RuneCountInString(text[from:start]))
	if to < len(text) {
		to = end + last(text[end:to])
	}
	from, to = whole(text, from, to)
	var b strings.Builder
	if strings.TrimSpace(text[:from]) != "" {
		b.WriteString("… ")
	}
	line(&b, text[from:to])
	if strings.TrimSpace(text[to:]) != "" {
		b.WriteString(" …")
	}
	return b.String()
}

// whole is the part of a text from one place to another without the pieces of characters, as people see them, at its
// ends: of letters with marks, of flags, of emoji that are joined. What is one such piece stays.
func whole(text string, from, to int) (start, end int) {
	start, end = from, to
	for start < to && goesOn(text, start) {
		start = forward(text, start, 1)
	}
	for end > start && goesOn(text, end) {
		end = back(text, end, 1)
	}
	if start >= end {
		return from, to
	}
	return start, end
}

// goesOn says that what is at i belongs to the character before it, as people see them: the cases of UAX #29 that
// texts have.
func goesOn(text string, i int) bool {
	if i == 0 || i == len(text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	const joiner = '\u200d'
	switch {
	case r < 0x300:
		return false
	case r == joiner, before == joiner, unicode.Is(unicode.M, r),
		r == '\u0e33', r == '\u0eb3', r == '\uff9e', r == '\uff9f',
		r >= 0x1f3fb && r <= 0x1f3ff: // colours of skin
		return true
	case !unicode.Is(unicode.Regional_Indicator, r):
		return false
	}
	n := 0 // of the letters of flags before it
	for ; i > 0; n++ {
		before, size := utf8.DecodeLastRuneInString(text[:i])
		if !unicode.Is(unicode.Regional_Indicator, before) {
			break
		}
		i -= size
	}
	return n%2 == 1
}

// forward is the place n characters after i.
func forward(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i
}

// back is the place n characters before i.
func back(text string, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return i
}

// sentence is where the first sentence in s begins that has its beginning there; 0 = none has.
func sentence(s string) int {
	for i := range s {
		if n := ending(s[i:]); n > 0 && i+n < len(s) {
			return i + n
		}
	}
	return 0
}

// ending is the length of the end of a sentence that s begins with, with the space after it.
func ending(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case '。', '！', '？':
		return n
	case '.', '!', '?', '…':
		if n < len(s) && (s[n] == ' ' || s[n] == '\n') {
			return n + 1
		}
	}
	return 0
}

// bound is where the first whole word in s begins; 0 when it has no space.
func bound(s string) int { return strings.IndexAny(s, " \t\n") + 1 }

// last is where the last whole sentence of s ends, when that is in its second half, or else the last whole word.
func last(s string) int {
	half, end := len(s)/2, 0
	for i := range s[half:] {
		if n := ending(s[half+i:]); n > 0 {
			end = half + i + n
		}
	}
	if end > 0 {
		return end
	}
	if end = strings.LastIndexAny(s, " \t\n"); end >= 0 {
		return end
	}
	if strings.IndexFunc(s, func(r rune) bool { return kindOf(r, 3) == isGram }) < 0 && len(s) < 4*MaxWord {
		return 0 // a word that is cut
	}
	return len(s)
}

// line writes a text with its white space folded, without what cannot be shown.
func line(b *strings.Builder, text string) {
	space, begun := false, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = begun
		case r == utf8.RuneError, unicode.IsControl(r):
		default:
			if space {
				b.WriteByte(' ')
			}
			space, begun = false, true
			b.WriteRune(r)
		}
	}
}
