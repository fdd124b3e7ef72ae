package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The classes of bytes. The first two are the characters of words that are folded already.
const (
	lower = iota
	digit
	upper
	high      // part of a character that is not ASCII
	sign      // may stand within a word
	separator // anything else
)

var class = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'a' && c <= 'z':
			t[i] = lower
		case c >= '0' && c <= '9':
			t[i] = digit
		case c >= 'A' && c <= 'Z':
			t[i] = upper
		case c >= utf8.RuneSelf:
			t[i] = high
		case c == '_' || c == '.' || c == ':' || c == '-' || c == '\'' || c == ',' || c == '+' || c == '#':
			t[i] = sign
		default:
			t[i] = separator
		}
	}
	return t
}()

func isLetter(c byte) bool { return class[c] == lower || class[c] == upper }

// The kinds of characters.
const (
	isSeparator  = iota
	isWord       // a letter, a digit or a mark
	isGram       // a letter of a script that is written without spaces
	isDropped    // invisible, or a mark that does not count
	isApostrophe // within a word
	isSplit      // folds into several words
)

// kindOf says what a character is of which size bytes were read.
func kindOf(r rune, size int) int {
	switch {
	case r < utf8.RuneSelf:
		if class[r] <= upper {
			return isWord
		}
		if r == '\'' {
			return isApostrophe
		}
		return isSeparator
	case int(r) < len(small):
		return small[r].kind
	case plainGram(r):
		return isGram
	case r == utf8.RuneError && size <= 1:
		return isSeparator
	}
	return kindOfLarge(r)
}

func kindOfLarge(r rune) int {
	switch {
	case r >= '\u02b9' && r <= '\u02bf', r == '\u00b4', r == '\u2018', r == '\u2019', r == '\u201b', r == '\ua78b',
		r == '\ua78c',
		r == '\uff07', r == '\u05f3', r == '\u05f4': // with those of letters: Hawaiʻi, Qurʾan
		return isApostrophe
	case r == tatweel, r == '\u00ad', unicode.Is(unicode.Cf, r), optional(r), r >= 0xfe00 && r <= 0xfe0f:
		return isDropped
	case unicode.In(r, unicode.L, unicode.N):
		if unicode.In(r, dense...) || r == '\u30fc' || r == '\uff70' {
			return isGram
		}
		for _, x := range norm.NFKD.String(string(r)) {
			switch {
			case !unicode.In(x, unicode.L, unicode.N, unicode.M):
				return isSplit
			case unicode.In(x, dense...): // in a circle
				return isGram
			}
		}
		if len(foldLarge(nil, r)) == 0 {
			return isDropped
		}
		return isWord
	case unicode.Is(unicode.M, r):
		return isWord
	}
	return isSeparator
}

// dense scripts are written without spaces; Korean words are found by their syllables.
var dense = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// plainGram says that r is one of the common characters of the dense scripts, which fold to themselves.
func plainGram(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3041 && r <= 0x3096 || r >= 0x30a1 && r <= 0x30fc && r != 0x30fb ||
		r >= 0xac00 && r <= 0xd7a3 || r >= 0x0e01 && r <= 0x0e45 && (r <= 0x0e30 || r == 0x0e32 || r >= 0x0e40)
}

// optional marks are left out by some writers: accents, vowel points of Arabic and Hebrew. Those of other scripts are
// letters like others.
func optional(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && r != '\u3099' && r != '\u309a' &&
		unicode.In(r, unicode.Inherited, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Syriac)
}
