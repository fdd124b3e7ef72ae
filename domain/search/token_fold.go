package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// small has what is often asked: Latin, Greek, Cyrillic, Hebrew, Arabic.
var small = func() (t [0x700]struct {
	kind   int
	folded string
}) {
	for r := rune(utf8.RuneSelf); int(r) < len(t); r++ {
		t[r].kind = kindOfLarge(r)
		t[r].folded = string(foldLarge(nil, r))
	}
	return t
}()

// foldRune appends a letter, digit or mark in lower case, without accent and in its usual width.
func foldRune(b []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf:
		if class[r] == upper {
			r |= 0x20
		}
		return append(b, byte(r))
	case int(r) < len(small):
		return append(b, small[r].folded...)
	}
	return foldLarge(b, r)
}

func foldLarge(b []byte, r rune) []byte {
	from := len(b)
	for _, x := range norm.NFKD.String(string(r)) {
		if x = unicode.ToLower(x); optional(x) || x == tatweel || x >= '\u02b9' && x <= '\u02bf' { // ŉ is n
			continue
		}
		if to, ok := spelled[x]; ok {
			b = append(b, to...)
			continue
		}
		switch {
		case x >= '\u0660' && x <= '\u0669': // Arabic digits
			x -= '\u0660' - '0'
		case x >= '\u06f0' && x <= '\u06f9':
			x -= '\u06f0' - '0'
		}
		b = utf8.AppendRune(b, x)
	}
	if norm.NFC.QuickSpan(b[from:]) < len(b)-from {
		b = append(b[:from], norm.NFC.Bytes(b[from:])...)
	}
	return b
}

const tatweel = '\u0640' // stretches Arabic words

// spelled letters have no accent that could be taken from them, and are typed otherwise.
var spelled = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l",
	'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ı': "i", 'ĸ': "k", 'ς': "σ",
	// Arabic letters that keyboards of several languages have as several characters, or that many do not tell apart.
	'ى': "ي", 'ی': "ي", 'ے': "ي", 'ک': "ك", 'ة': "ه", 'ہ': "ه", 'ە': "ه"}

// Fold returns a word as the index has it: in lower case, without accents, in the usual width (NFKC), without invisible
// characters. It does not look for words within s.
func Fold(s string) string {
	n := 0
	for n < len(s) && s[n] < utf8.RuneSelf && class[s[n]] != upper {
		n++
	}
	if n == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:n]...)
	for i := n; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r >= utf8.RuneSelf && kindOf(r, size) == isDropped || r == utf8.RuneError && size == 1 {
			continue
		}
		b = foldRune(b, r)
	}
	return string(norm.NFC.Bytes(b))
}
