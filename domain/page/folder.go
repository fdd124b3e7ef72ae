package page

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A folder writes text with its white space folded, without controls and invisible characters, and in lower case.
type folder struct {
	b     []byte
	most  int  // bytes
	keep  bool // capitals stay
	space bool // white space waits to be written
	wide  bool // some of it may not be in NFC
}

// full says that there was more text than there may be.
func (f *folder) full() bool { return len(f.b) > f.most }

// String is the text, in NFC.
func (f *folder) String() string {
	b := f.b
	if len(b) > f.most {
		n := f.most
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		b = bytes.TrimRight(b[:n], " ")
	}
	if f.wide {
		return string(norm.NFC.Bytes(b))
	}
	return string(b)
}

// write adds text; with references it has character references.
func (f *folder) write(t []byte, references bool) {
	for len(t) > 0 && !f.full() {
		i := -1
		if references {
			i = bytes.IndexByte(t, '&')
		}
		if i < 0 {
			f.add(t)
			return
		}
		f.add(t[:i])
		n := reference(t[i:], false)
		var decoded [64]byte
		f.add(appendReference(decoded[:0], t[i:i+n]))
		t = t[i+n:]
	}
}

// add adds text as it is.
func (f *folder) add(t []byte) {
	if most := 4 * (f.most + 1 - len(f.b)); f.keep && len(t) > most { // a title is short, whatever its element holds
		t = t[:max(most, 0)]
	}
	b, gap := f.b, f.space
	for i := 0; i < len(t) && len(b) <= f.most; {
		if folded[t[i]] < utf8.RuneSelf {
			i += f.ascii(&b, t[i:], &gap)
			continue
		}
		r, size := utf8.DecodeRune(t[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			gap = true
			continue
		case r == utf8.RuneError && size <= 1, unicode.IsControl(r), invisible(r):
			continue
		case !f.keep:
			r = unicode.ToLower(r)
		}
		if gap && len(b) > 0 {
			b = append(b, ' ')
		}
		gap, f.wide, b = false, f.wide || composes(r), utf8.AppendRune(b, r)
	}
	f.b, f.space = b, gap
}

// ascii adds to b what t begins with, up to the first byte that is not ASCII, and returns how many bytes that were. gap
// says that white space waits to be written.
func (f *folder) ascii(b *[]byte, t []byte, gap *bool) (read int) {
	at, space := len(*b), *gap
	room := min(len(t), f.most+1-at) + 1 // a space in front is all that is added
	out := slices.Grow(*b, room)[:at+room]
	for ; read < len(t) && at <= f.most; read++ {
		c := folded[t[read]]
		if c <= ' ' {
			space = space || c == ' '
			continue
		}
		if c >= utf8.RuneSelf {
			break
		}
		if space && at > 0 {
			out[at] = ' '
			at++
		}
		if f.keep {
			c = t[read]
		}
		out[at], space = c, false
		at++
	}
	*b, *gap = out[:at], space
	return read
}

// composes says that NFC may change a character, or what stands before it. It changes none below U+0300, which are
// those of most languages of Europe, and no dash and no quotation mark that texts have besides.
func composes(r rune) bool {
	return r >= 0x300 && (r < 0x2010 || r > 0x2027) && r != '€'
}

// drop marks a byte that no text has.
const drop = 0

// folded is each byte in lower case, white space as a space.
var folded = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c == ' ' || c >= '\t' && c <= '\r':
			t[i] = ' '
		case c < ' ' || c == 0x7f:
			t[i] = drop
		case c >= 'A' && c <= 'Z':
			t[i] = c | 0x20
		default:
			t[i] = c
		}
	}
	return t
}()

// invisible characters are dropped, as Clean does.
func invisible(r rune) bool {
	switch r {
	case '\u200b', '\u200c', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00ad':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
