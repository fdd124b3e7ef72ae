// Package prose reads rental adverts: what their words say about rent, rooms, pets and all else, and how that and the
// platform's own fields become one Listing. The words of each topic are data in tables where they can be. It does no
// I/O and reads no clock.
package prose

import (
	"strings"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/page"
)

// Prose is a text taken apart once, so that every topic (rent, rooms, pets …) reads words instead of characters. It
// is made by Read and not changed afterwards; it is not safe for concurrent use, since amounts are found on demand.
type Prose struct {
	text  string // as given
	fold  string // lower-case ASCII
	at    []int32
	words []token

	money   []amount
	counted bool

	loud, heard bool // allCapitals, and whether it is known
	marked      struct {
		from, to int // the bytes of a line
		trail    bool
	} // see marksTrail
}

type kind uint8

const (
	symbol kind = iota
	word
	number
)

// A token is a word, a number or a symbol. Numbers are split from letters that touch them: "SUPERFICIE4 1/2" is two.
type token struct {
	w     string // the folded word
	cents int64  // the value × 100
	start int32
	end   int32
	topic topic // the subjects that the word may be about

	kind   kind
	sym    byte // the symbol itself
	space  bool // white space comes before it
	line   bool // a line end comes before it
	digits int8 // of the whole part; 0 for "½" alone
	dec    int8 // digits after the separator
	half   bool // written "4 1/2" or "4 et demi": a room count, hardly ever anything else
}

// Read takes plain text apart. Pass the result of page.Text or page.Line.
func Read(plain string) *Prose {
	s, at := page.FoldAt(plain)
	p := &Prose{text: plain, fold: s, at: at}
	p.words = make([]token, 0, len(s)/4+8)
	var space, line bool
	line = true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			space, line = true, true
			i++
			continue
		case c == ' ':
			space = true
			i++
			continue
		case c == '\'', c == ',' && elided(s, i): // "salle d,entraînement"
			i++
			continue
		}
		t := token{start: int32(i), space: space, line: line}
		space, line = false, false
		switch {
		case isLetter(c):
			j := i + 1
			for j < len(s) && isLetter(s[j]) {
				j++
			}
			t.kind, t.w = word, s[i:j]
			t.topic = topics[t.w]
			if t.topic == 0 || j-i == 1 || j-i <= 4 && alsoShort[t.w] {
				if words, end := p.shortAt(i, j); len(words) > 0 {
					p.addWhole(t, words, end)
					i = end
					continue
				}
			}
			if t.topic == 0 && j-i >= 6 {
				if k := p.seam(i, j); k < j {
					j, line = k, true // words that a lost tag held apart were lines of their own
					t.w = s[i:j]
					t.topic = topics[t.w]
				} else {
					j = t.respell(s, i, j)
				}
			}
			i = j
		case isDigit(c):
			t.kind = number
			i = t.readNumber(s, i, p.figureEnd(i))
		case c == '.' && p.leader(i) > i: // "Chauffage.....locataire"
			t.sym, i = ':', p.leader(i)
		default:
			t.sym = c
			i++
			if w := p.mark(int(t.start)); w != "" { // "Hydro: ❌"
				t.kind, t.w, t.sym = word, w, 0
				t.topic = topics[w]
			} else if words := p.pictured(int(t.start)); len(words) > 0 {
				p.addWhole(t, words, i)
				continue
			} else if p.crossed(int(t.start)) { // "❌ Hydro"
				t.end = int32(i)
				p.words = append(p.words, t)
				t = token{start: t.start, kind: word, w: "no", topic: topics["no"]}
			}
		}
		t.end = int32(i)
		p.words = append(p.words, t)
	}
	p.answerQuestions()
	p.dropPage()
	return p
}

// elided tells whether the comma at i is a slip of the apostrophe behind "d" or "l", on the key beside it.
func elided(s string, i int) bool {
	c := char(s, i-1)
	return (c == 'd' || c == 'l') && isLetter(char(s, i+1)) && char(s, i-2) == ' '
}

// addWhole adds the words that a short form at t stands for, which ends at the byte end. Each has all of its bytes.
func (p *Prose) addWhole(t token, words []string, end int) {
	t.end = int32(end) //nolint:gosec // an advert is short
	for _, w := range words {
		t.w, t.kind, t.sym, t.topic = w, word, 0, topics[w]
		if !isLetter(w[0]) {
			t.w, t.kind, t.sym = "", symbol, w[0]
		}
		p.words = append(p.words, t)
		t.space, t.line = false, false
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// char is s[i], or 0 outside.
func char(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// skip passes spaces, at most three.
func skip(s string, i int) int {
	for n := 0; n < 3 && char(s, i) == ' '; n++ {
		i++
	}
	return i
}

// word returns the i-th token's word, and "" outside or for anything else.
func (p *Prose) word(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i].w
}

// sym returns the i-th token's symbol, or 0.
func (p *Prose) sym(i int) byte {
	if i < 0 || i >= len(p.words) {
		return 0
	}
	return p.words[i].sym
}

// num returns the i-th token when it is a number, or nil.
func (p *Prose) num(i int) *token {
	if i < 0 || i >= len(p.words) || p.words[i].kind != number {
		return nil
	}
	return &p.words[i]
}

// about tells whether the i-th word may be about any of the topics.
func (p *Prose) about(i int, t topic) bool {
	return i >= 0 && i < len(p.words) && p.words[i].topic&t != 0
}

// seq tells whether the words from i are these; "" stands for any one token.
func (p *Prose) seq(i int, words ...string) bool {
	if i < 0 || i+len(words) > len(p.words) {
		return false
	}
	for k, w := range words {
		if w != "" && p.words[i+k].w != w {
			return false
		}
	}
	return true
}

// stop tells whether a thought ends before the i-th token: a line end, or one of ". ; ! ?" there.
func (p *Prose) stop(i int) bool {
	if i <= 0 || i >= len(p.words) {
		return true
	}
	t := &p.words[i]
	if t.line {
		return true
	}
	switch t.sym {
	case ';', '!', '?':
		return true
	case '.':
		return !abbreviated[p.word(i-1)] && (i+1 >= len(p.words) || p.words[i+1].space || p.words[i+1].line)
	}
	return false
}

// itemStart tells whether the token at i begins a line, an item of a list or a sentence.
func (p *Prose) itemStart(i int) bool {
	for i > 0 && !p.words[i].line && (p.sym(i-1) == '-' || p.sym(i-1) == '*') {
		i--
	}
	return i <= 0 || p.words[i].line || p.words[i-1].kind == symbol && p.stop(i-1)
}

// passBullet returns the first token from i on that is no bullet of a list.
func (p *Prose) passBullet(i int) int {
	for s := p.sym(i); s == '-' || s == '*' || s == ';' || s == '+'; s = p.sym(i) {
		i++
	}
	return i
}

// abbreviated words end in a point that ends no thought.
var abbreviated = set("stat int ext env approx app apt appt")

// quote returns the words from token i to token j as the advert has them, without contact data.
func (p *Prose) quote(i, j int) string {
	i, j = max(i, 0), min(j, len(p.words)-1)
	if i > j {
		return ""
	}
	from, to := int(p.at[p.words[i].start]), len(p.text)
	if end := int(p.words[j].end); end < len(p.at) {
		to = int(p.at[end])
	}
	for end := int(p.words[j].end); to <= from && end < len(p.at); end++ { // inside one rune that folds to several
		to = int(p.at[end])
	}
	if to <= from {
		to = len(p.text)
	}
	return quoted(p.text[from:to])
}

// quoted prepares words for Source.Text.
func quoted(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' || c >= utf8.RuneSelf && !utf8.ValidString(s) {
			s, _ = page.Clean(s, false)
			break
		}
	}
	s, _ = page.Cut(strings.TrimSpace(s), 200)
	s = page.Mask(s)
	s, _ = page.Cut(s, 120)
	return s
}

// set is a table of words that share one meaning.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// meanings is a table of words, folded, by what they mean; the zero value means none of it. A word has one meaning: it
// panics at start otherwise.
func meanings[T comparable](words map[T]string) map[string]T {
	m := map[string]T{}
	for meaning, list := range words {
		for w := range strings.FieldsSeq(list) {
			if was, ok := m[w]; ok && was != meaning {
				panic("two meanings of " + w)
			}
			m[w] = meaning
		}
	}
	return m
}
