package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/domain/page"
)

// A Token is one word of a text.
type Token struct {
	Word       string // folded: see Fold
	Position   int32  // among the words of the text, from 0
	Start, End int32  // the bytes of the text that it was read from: [Start, End)
}

// MaxWord is how many bytes of a word count. What is longer is cut there, in pages and queries alike.
const MaxWord = 64

// Tokenize calls f for each word of s until f returns false. Positions never fall; words at one position follow one
// another, the whole first.
//
//   - A word is letters, digits and their marks, folded; invisible characters within it do not count. Everything else
//     separates words: punctuation, emoji, NUL and what is not UTF-8.
//   - "l'eau" is eau, "dell'acqua" acqua, "John's" john, "we'll" we; other apostrophes count for nothing ("don't" is
//     dont).
//   - "two-part" is two, part, and twopart at the place of two; so is "sant'Angelo". Longer chains are their parts.
//     "E-Bike-Akku" is ebike at the place of e, too.
//   - foo_bar, a.b.c, foo::bar and 3.14 are the whole and, one position after another from that of the whole, the
//     parts, so that the phrase "foo bar" finds foo_bar. The parts of self.foo_bar.x are self, foo_bar, foo, bar, x and
//     foo_bar.x. "U.S.A." is usa, u, s and a.
//   - v1.2.3 is 1.2.3 at the same position, too.
//   - fooBar is foobar, and foo and bar at the same position: pages in lower case have the same positions.
//   - C++, C# and .NET are whole, and without their signs. 1,000 is 1000; 4½ is 4, 1 and 2.
//   - Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are pairs of characters that overlap; a character alone
//     is a word.
//
// The time is linear in s. Words in lower-case ASCII are parts of s: nothing is allocated for them.
func Tokenize(s string, f func(Token) bool) {
	t := tokenizer{s: s, f: f}
	for i := 0; i < len(s) && !t.done; {
		switch c := class[s[i]]; c {
		case separator:
			i++
		case lower, digit:
			j := i + 1
			for j < len(s) && class[s[j]] <= digit {
				j++
			}
			if j-i <= MaxWord && (j == len(s) || class[s[j]] == separator ||
				class[s[j]] == sign && s[j] != '#' && (j+1 == len(s) || class[s[j+1]] == separator)) {
				t.emit(s[i:j], i, j)
				t.position++
				i = j
				continue
			}
			i = t.chain(i)
		case upper:
			i = t.chain(i)
		case high:
			r, size := utf8.DecodeRuneInString(s[i:])
			switch kindOf(r, size) {
			case isWord:
				i = t.chain(i)
			case isGram:
				i = t.grams(i)
			case isSplit:
				t.pieces(r, i, i+size)
				i += size
			default:
				i += size
			}
		default: // a sign that may stand within a word
			if s[i] == '.' && (i == 0 || s[i-1] == ' ' || s[i-1] == '(') && i+1 < len(s) && isLetter(s[i+1]) {
				i = t.chain(i)
				continue
			}
			i++
		}
	}
}

// LastWord is the last word of a text, which may go on; "" = it has none.
func LastWord(s string) (word string) {
	Tokenize(s, func(t Token) bool {
		word = strings.Clone(t.Word)
		return true
	})
	return word
}

// A tokenizer is the state of one call of Tokenize.
type tokenizer struct {
	s        string
	f        func(Token) bool
	position int32
	done     bool

	buf  []byte // a word as it is folded
	unit []atom // an identifier as it is read
}

// maxAtoms is how many parts an identifier may have; what follows is another one.
const maxAtoms = 8

// An atom is letters and digits without a sign between them.
type atom struct {
	word       string
	start, end int
	joint      string // what joins it to the atom before
	letters    bool   // it has a letter
	caps       []int  // where its parts end in word: fooBar
	signed     string // with the signs that belong to it; "" = none do
	from, to   int    // where these begin and end
}

func (t *tokenizer) emit(word string, start, end int) { t.emitAt(t.position, word, start, end) }

func (t *tokenizer) emitAt(position int32, word string, start, end int) {
	if !t.done && !t.f(Token{Word: word, Position: position, Start: int32(start), End: int32(end)}) {
		t.done = true
	}
}

// chain reads the words that hyphens join, from i, and returns where they end.
func (t *tokenizer) chain(i int) int {
	for chained := false; ; chained = true {
		end := t.read(i)
		next := t.hyphen(end)
		if next == 0 || t.done {
			t.flush()
			return end
		}
		if chained || len(t.unit) != 1 || t.unit[0].signed != "" {
			t.flush()
			i = next
			continue
		}
		first := t.unit[0]
		last := t.read(next)
		second := t.unit[0]
		if len(t.unit) == 1 && second.signed == "" && t.hyphen(last) == 0 && (first.letters || second.letters) {
			t.emit(cut(first.word+second.word), first.start, second.end)
			t.emit(first.word, first.start, first.end)
			t.emitAt(t.position+1, second.word, second.start, second.end)
			t.position += 2
			return last
		}
		if second.letters && len(second.word) >= leastPart && utf8.RuneCountInString(first.word) == 1 && first.letters {
			t.emit(cut(first.word+second.word), first.start, second.end)
		}
		t.unit = append(t.unit[:0], first)
		t.flush()
		i = next
	}
}

// hyphen returns where a word goes on after a hyphen at i; 0 = it does not.
func (t *tokenizer) hyphen(i int) int {
	if i >= len(t.s) {
		return 0
	}
	r, size := utf8.DecodeRuneInString(t.s[i:])
	switch {
	case r == '-', r == '\u2010', r == '\u2011':
	case kindOf(r, size) == isApostrophe && t.unit[len(t.unit)-1].word == saint:
	default:
		return 0
	}
	if !t.starts(i + size) {
		return 0
	}
	return i + size
}

// starts says that a word begins at i.
func (t *tokenizer) starts(i int) bool {
	if i >= len(t.s) {
		return false
	}
	if c := class[t.s[i]]; c != high {
		return c <= upper
	}
	r, size := utf8.DecodeRuneInString(t.s[i:])
	return kindOf(r, size) == isWord
}

// read reads one identifier from i into t.unit and returns where it ends.
func (t *tokenizer) read(i int) int {
	t.unit = t.unit[:0]
	lead := ""
	if t.s[i] == '.' {
		lead = "."
		i++
	}
	joint := ""
	for {
		a, end := t.atom(i)
		a.joint = joint
		t.unit = append(t.unit, a)
		if joint = t.joint(end); joint == "" || len(t.unit) == maxAtoms {
			if len(t.unit) == 1 && end == a.end {
				end = t.signed(lead)
			}
			return end
		}
		i = end + len(joint)
	}
}

// joint returns the sign at i that joins two parts of an identifier.
func (t *tokenizer) joint(i int) string {
	n := i
	for n < len(t.s) && t.s[n] == '_' {
		n++
	}
	switch {
	case n > i && n <= i+2:
	case n == i && n < len(t.s) && t.s[n] == '.':
		n++
	case n == i && n+1 < len(t.s) && t.s[n] == ':' && t.s[n+1] == ':':
		n += 2
	default:
		return ""
	}
	if !t.starts(n) {
		return ""
	}
	return t.s[i:n]
}

// signed reads the signs that belong to the only atom of an identifier (C++, C#, .NET), and returns where they end.
func (t *tokenizer) signed(lead string) (end int) {
	a := &t.unit[0]
	tail, s := "", t.s[a.end:]
	switch {
	case len(s) >= 2 && s[:2] == "++" && (len(s) == 2 || s[2] != '+'):
		tail = "++"
	case len(s) >= 1 && s[0] == '#' && !t.starts(a.end+1):
		tail = "#"
	}
	if lead+tail == "" || !a.letters {
		return a.end
	}
	a.signed, a.from, a.to = cut(lead+a.word+tail), a.start-len(lead), a.end+len(tail)
	return a.to
}

// flush emits the identifier that was read, whole and in parts.
func (t *tokenizer) flush() {
	u := t.unit
	for i, a := range u {
		if len(u) > 1 && a.joint != "_" && a.joint != "__" { // the beginning, or after a dot
			if i == 0 || a.letters && class[a.word[0]] != digit && !initials(u) {
				t.whole(u[i:])
			}
			if i == 0 && t.versioned(u) {
				v := append(make([]atom, 0, maxAtoms), u...)
				v[0].word, v[0].start = a.word[1:], a.start+1
				t.whole(v)
			}
			n := i + 1
			for n < len(u) && u[n].joint[0] == '_' {
				n++
			}
			if n > i+1 && n < len(u) {
				t.whole(u[i:n])
			}
		}
		if i == 0 && t.versioned(u) {
			t.emit(a.word, a.start, a.end)
			a.word, a.start = a.word[1:], a.start+1
		}
		if a.signed != "" {
			t.emit(a.signed, a.from, a.to)
		}
		t.emit(a.word, a.start, a.end)
		from := 0
		for _, to := range a.caps {
			t.emit(a.word[from:to], a.start, a.end)
			from = to
		}
		t.position++
	}
}

// whole emits several atoms as one word.
func (t *tokenizer) whole(u []atom) {
	if len(u) == 1 {
		return
	}
	b := t.buf[:0]
	for i, a := range u {
		if i > 0 {
			b = append(b, a.joint...)
		}
		b = append(b, a.word...)
	}
	if initials(u) {
		b = b[:0]
		for _, a := range u {
			b = append(b, a.word...)
		}
	}
	t.buf = b
	t.emit(strings.TrimRight(cut(string(b)), "._:"), u[0].start, u[len(u)-1].end)
}

// versioned says that an identifier is v and numbers with dots between them: v1.2.3.
func (t *tokenizer) versioned(u []atom) bool {
	if len(u) == 1 || len(u[0].word) < 2 || t.s[u[0].start]|0x20 != 'v' {
		return false
	}
	for _, a := range u[1:] {
		if a.joint != "." || !number(a.word) {
			return false
		}
	}
	return number(u[0].word[1:])
}

// initials says that all parts are letters with dots between them: U.S.A.
func initials(u []atom) bool {
	for i, a := range u {
		if len(a.word) != 1 || !a.letters || i > 0 && a.joint != "." {
			return false
		}
	}
	return true
}

// atom reads letters and digits from i, where a word begins, and returns where to read on.
func (t *tokenizer) atom(i int) (a atom, next int) {
	b, same, caps := t.buf[:0], true, capitals{}
	compose := false // it may have marks that combine with letters before them
	a.start, a.end = i, i
reading:
	for i < len(t.s) {
		r, size := rune(t.s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(t.s[i:])
		}
		switch kindOf(r, size) {
		case isWord:
			a.letters = a.letters || !unicode.IsNumber(r)
			compose = compose || int(r) >= len(small)
			same = same && r < utf8.RuneSelf && class[r] <= digit && len(b) < MaxWord
			if len(b) < MaxWord {
				caps.add(r, len(b), i+1 < len(t.s) && class[t.s[i+1]] == lower)
				b = foldRune(b, r)
			}
			i += size
			a.end = i
		case isDropped:
			same = false
			i += size
			if optional(r) { // an accent belongs to its letter
				a.end = i
			}
		case isApostrophe:
			after, use := t.apostrophe(i+size, b)
			switch use {
			case ends:
				break reading
			case drops:
				i = after
				break reading
			case elides:
				b, same, caps = b[:0], true, capitals{}
				a.start, a.end, a.letters = after, after, false
			case joins:
				same = false
			}
			i = after
		default:
			if r != ',' || a.letters || !grouped(t.s, a.start, i) {
				break reading
			}
			same = false
			i++
		}
	}
	t.buf = b
	switch {
	case same:
		a.word = t.s[a.start:a.end]
	case compose:
		a.word = cut(norm.NFC.String(string(b)))
	default:
		a.word = cut(string(b))
	}
	if len(b) < MaxWord && a.word == string(b) { // else its letters are not where its capitals were
		a.caps = caps.parts(len(a.word))
	}
	return a, i
}

// saint is a word before an apostrophe that is one part of two, as with a hyphen: Sant'Angelo.
const saint = "sant"

// What an apostrophe within a word means.
const (
	ends   = iota // the word ends here
	drops         // what follows is not part of it: John's
	elides        // what was before is not part of it: l'eau
	joins         // it counts for nothing: aujourd'hui
)

// apostrophe says what an apostrophe after the letters word means, and where to read on. The letters after it are at i.
func (t *tokenizer) apostrophe(i int, word []byte) (next, use int) {
	if !t.starts(i) {
		return 0, ends
	}
	n := i
	for n < len(t.s) && n < i+3 && isLetter(t.s[n]) {
		n++
	}
	if n == len(t.s) || !t.starts(n) && t.s[n] < utf8.RuneSelf {
		switch strings.ToLower(t.s[i:n]) {
		case "s", "d", "m", "ll", "re", "ve":
			return n, drops
		}
	}
	switch string(word) {
	case "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un", "all", "dall", "dell",
		"nell", "sull", "quell", "quest", "bell", "tutt", "quand", "dov", "anch", "senz", "mezz", "nessun", "alcun",
		"ciascun":
		return i, elides
	case saint:
		return 0, ends
	}
	if len(word) == 0 || word[len(word)-1] <= '9' || class[t.s[i]] == digit {
		return 0, ends
	}
	return i, joins
}

// grouped says that the comma at i stands between the thousands of a number that begins at start.
func grouped(s string, start, i int) bool {
	if i-start > 3 && s[i-4] != ',' || i+3 >= len(s) {
		return false
	}
	for _, c := range []byte(s[i+1 : i+4]) {
		if class[c] != digit {
			return false
		}
	}
	return i+4 == len(s) || class[s[i+4]] != digit
}

// capitals finds the parts of fooBar.
type capitals struct {
	at   [8]int // where they begin, but for the first
	n    int
	run  int // capitals in a row
	last int // where the character before begins
}

// add tells of the next character, at a place of the folded word, and whether another small letter follows it.
func (c *capitals) add(r rune, at int, more bool) {
	if c.n == len(c.at) {
		return
	}
	up := r < utf8.RuneSelf && class[r] == upper || r >= utf8.RuneSelf && unicode.IsUpper(r)
	switch {
	case up && at > 0 && c.run == 0:
		c.at[c.n] = at
		c.n++
	case !up && c.run > 1 && more && unicode.IsLower(r): // HTTPServer, but not URLs
		c.at[c.n] = c.last
		c.n++
	}
	c.last = at
	c.run++
	if !up {
		c.run = 0
	}
}

// parts returns where the parts of a word end; none when one of them is a single letter (iPhone), or they are too many.
func (c *capitals) parts(end int) []int {
	if c.n == 0 || c.n == len(c.at) {
		return nil
	}
	c.at[c.n] = end
	from := 0
	for _, to := range c.at[:c.n+1] {
		if to < from+2 {
			return nil
		}
		from = to
	}
	return slices.Clone(c.at[:c.n+1])
}

// cut returns the part of a word that counts.
func cut(word string) string { return page.CutBytes(word, MaxWord) }

// pieces emits the words of a character that is several: ½ is 1 and 2.
func (t *tokenizer) pieces(r rune, start, end int) {
	word := t.buf[:0]
	for _, x := range norm.NFKD.String(string(r)) {
		if kindOf(x, 1) == isWord {
			word = foldRune(word, x)
			continue
		}
		if len(word) > 0 {
			t.emit(string(word), start, end)
			t.position++
		}
		word = word[:0]
	}
	if len(word) > 0 {
		t.emit(string(word), start, end)
		t.position++
	}
	t.buf = word
}

// A char is a character of a script that is written without spaces, with its marks.
type char struct {
	text       string
	start, end int
}

// grams emits the pairs of characters of a run from i, and returns where it ends.
func (t *tokenizer) grams(i int) int {
	var before, last char
	n := 0
run:
	for ; i < len(t.s) && !t.done; i = last.end {
		r, size := utf8.DecodeRuneInString(t.s[i:])
		switch kind := kindOf(r, size); {
		case kind == isDropped:
		case kind == isWord && (unicode.Is(unicode.M, r) || r == '\uff9e' || r == '\uff9f'): // goes with the one before
			if len(last.text) >= 16 {
				break
			}
			with := t.s[last.start : i+size]
			if len(with) != len(last.text)+size || !norm.NFKC.IsNormalString(with) {
				with = norm.NFKC.String(last.text + string(r))
			}
			last.text = with
		case kind == isGram:
			c := char{t.s[i : i+size], i, i + size}
			if !plainGram(r) {
				c.text = norm.NFKC.String(c.text)
				if one := norm.NFC.String(last.text + c.text); n > 0 && utf8.RuneCountInString(one) == 1 { // jamo
					last.text = one
					break
				}
			}
			if n > 1 {
				t.pair(before, last)
			}
			before, last = last, c
			n++
		default:
			break run
		}
		last.end = i + size
	}
	if n > 1 {
		t.pair(before, last)
	} else {
		t.emit(last.text, last.start, last.end)
		t.position++
	}
	return last.end
}

// pair emits two characters as a word: a part of the text where they stand there as they are.
func (t *tokenizer) pair(a, b char) {
	word := t.s[a.start:b.end]
	if len(a.text)+len(b.text) != len(word) || word[:len(a.text)] != a.text || word[len(a.text):] != b.text {
		word = a.text + b.text
	}
	t.emit(word, a.start, b.end)
	t.position++
}
