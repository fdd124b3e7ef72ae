package contact

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// isMac says that the letters of a text that is not UTF-8 are where Macintosh has them and Windows-1252 has none: read
// as Windows-1252, "Zoé" of a Mac is "ZoŽ".
func isMac(b []byte) bool {
	fits, odd := letterwise(b, charmap.Windows1252)
	if odd*8 <= fits {
		return false
	}
	macFits, macOdd := letterwise(b, charmap.Macintosh)
	return macFits > 0 && macOdd*3 < odd
}

// letterwise counts the bytes beyond ASCII that an encoding makes a fitting letter of, and those that it makes
// something odd of: a capital behind a small letter, a sign within a word.
func letterwise(b []byte, in *charmap.Charmap) (fits, odd int) {
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
			case r == utf8.RuneError, unicode.IsControl(r):
				odd++
			case unicode.IsUpper(r) && unicode.IsLower(before),
				unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(after):
				odd++
			case unicode.IsLetter(r), r == '’' && within:
				fits++
			case within:
				odd++
			}
		}
		before = r
	}
	return fits, odd
}
