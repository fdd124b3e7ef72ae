package contact

import (
	"strings"
	"unicode"
)

// maskMost is how many characters of a value Mask keeps the form of.
const maskMost = 60

// Mask hides a phone, an address or a name, and keeps its form: all letters and digits are dots, but for the first two
// and the last two of a value with at least eight of them. What is too long is cut.
func Mask(s string) string {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	runes := []rune(s)
	cut := len(runes) > maskMost
	if cut {
		runes = runes[:maskMost]
	}
	words := 0
	for _, r := range runes {
		if word(r) {
			words++
		}
	}
	var out strings.Builder
	n := 0
	for _, r := range runes {
		switch {
		case !word(r) && unicode.IsPrint(r):
			out.WriteRune(r)
		case !word(r): // control characters are not shown
			out.WriteRune(' ')
		default:
			if n++; words >= 8 && (n <= 2 || n > words-2) {
				out.WriteRune(r)
			} else {
				out.WriteRune('•')
			}
		}
	}
	if cut {
		out.WriteRune('…')
	}
	return out.String()
}
