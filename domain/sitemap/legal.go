package sitemap

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// legal is XML in UTF-8 without what a feed may have and XML may not (XML 1.0, production 2): in place of controls are
// spaces, and in place of U+FFFE, U+FFFF and bytes that are no UTF-8 is U+FFFD; so of references to such characters.
func legal(src io.Reader) io.Reader {
	return transform.NewReader(src, transform.Chain(runes.Map(legible), references{}))
}

// legible is a character, or what is in its place.
func legible(c rune) rune {
	switch {
	case c < ' ' && c != '\t' && c != '\n' && c != '\r':
		return ' '
	case c >= 0xd800 && c < 0xe000, c == 0xfffe, c == 0xffff, c > unicode.MaxRune:
		return unicode.ReplacementChar
	}
	return c
}

// maxReference is how many bytes of a reference to a character are looked at: some have zeros before.
const maxReference = 64

// references has the character that is in its place for each reference to one that is not legal.
type references struct{ transform.NopResetter }

func (references) Transform(dst, src []byte, atEOF bool) (written, read int, err error) {
	for read < len(src) {
		rest := src[read:]
		if rest[0] == '&' {
			if len(rest) < maxReference && !atEOF && bytes.IndexByte(rest, ';') < 0 {
				return written, read, transform.ErrShortSrc
			}
			if c, n := illegal(rest); n > 0 {
				if len(dst)-written < utf8.UTFMax {
					return written, read, transform.ErrShortDst
				}
				written += utf8.EncodeRune(dst[written:], c)
				read += n
				continue
			}
		}
		plain := len(rest)
		if next := bytes.IndexByte(rest[1:], '&'); next >= 0 {
			plain = next + 1
		}
		n := copy(dst[written:], rest[:plain])
		written, read = written+n, read+n
		if n < plain {
			return written, read, transform.ErrShortDst
		}
	}
	return written, read, nil
}

// illegal is what is in place of the reference that a text begins with, and how many bytes that has: 0 where there is
// none, or it is legal.
func illegal(text []byte) (instead rune, size int) {
	end := bytes.IndexByte(text[:min(len(text), maxReference)], ';')
	if end < 0 || !bytes.HasPrefix(text, []byte("&#")) {
		return 0, 0
	}
	digits, hex := strings.CutPrefix(string(text[2:end]), "x")
	base := 10
	if hex {
		base = 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, 0
	}
	c := rune(min(n, unicode.MaxRune+1))
	if instead = legible(c); instead == c {
		return 0, 0
	}
	return instead, end + 1
}
