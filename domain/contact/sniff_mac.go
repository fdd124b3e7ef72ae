package contact

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// isMac says that the letters of a text that is not UTF-8 are where Macintosh has them and Windows-1252 has none: read
// as Windows-1252, "Zoé" of a Mac is "ZoŽ". One or two of them prove nothing: a Windows file has its own oddities.
func isMac(b []byte) bool {
	fits, _, odd := letterwise(b, charmap.Windows1252)
	if odd*8 <= fits {
		return false
	}
	_, accents, macOdd := letterwise(b, charmap.Macintosh)
	return accents >= 3 && macOdd*3 < odd
}

// letterwise counts the bytes beyond ASCII that an encoding makes a fitting letter of, and those that it makes
// something odd of: a capital behind a small letter, a sign within a word. Accents are those of fits that are letters.
// Dashes and the signs that people write without a space are neither.
func letterwise(b []byte, in *charmap.Charmap) (fits, accents, odd int) {
	before := ' '
	for i, c := range b {
		r := in.DecodeByte(c)
		if c >= utf8.RuneSelf {
			after := ' '
			if i+1 < len(b) {
				after = in.DecodeByte(b[i+1])
			}
			within := unicode.IsLetter(before) && unicode.IsLetter(after)
			switch {
			case strings.ContainsRune("–—™®…", r):
			case r == utf8.RuneError, unicode.IsControl(r):
				odd++
			case unicode.IsUpper(r) && unicode.IsLower(before),
				unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(after):
				odd++
			case unicode.IsLetter(r):
				fits++
				accents++
			case r == '’' && within:
				fits++
			case within:
				odd++
			}
		}
		before = r
	}
	return fits, accents, odd
}
