package contact

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// byteMarked says that a text begins with a byte order mark, and is as that says: some programs put that of UTF-8
// before a text of another encoding.
func byteMarked(text []byte) bool {
	if behind, ok := bytes.CutPrefix(text, []byte(utf8BOM)); ok {
		name, _, err := sniffEncoding(behind)
		return err == nil && name == UTF8
	}
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

// twice says that a text is UTF-8 that a program took for Windows-1252 and wrote as UTF-8 again, all of it: "ZoÃ©".
func twice(text []byte, whole bool) bool {
	if !whole {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	found := false
	for line := range bytes.Lines(bytes.TrimPrefix(text, mark)) {
		if s := string(line); !isASCII(s) {
			if _, found = once(s); !found {
				return false
			}
		}
	}
	return found
}

// once is a text as it was before that; ok is false for another.
func once(s string) (text string, ok bool) {
	text, err := charmap.Windows1252.NewEncoder().String(s)
	return text, err == nil && utf8.ValidString(text)
}

// readOnce makes cells what they were before they were written twice, those that were.
func readOnce(cells []string) {
	for i, c := range cells {
		if text, ok := once(c); ok {
			cells[i] = text
		}
	}
}

// unmarked is a text without the byte order mark of UTF-8 before it.
func unmarked(text io.Reader) io.Reader {
	r := bufio.NewReader(text)
	if head, _ := r.Peek(len(utf8BOM)); string(head) == utf8BOM {
		_, _ = r.Discard(len(utf8BOM))
	}
	return r
}

// headerEncodings are tried on the headers of a text that is not UTF-8, those of the commonest files first: as Windows,
// old Macs and DOS write the languages whose headers are known.
var headerEncodings = []string{
	Windows1252, Macintosh, IBM850, "windows-1251", "windows-1250", "windows-1254", "windows-1256", "koi8-r", "ibm866",
	"gb18030", "big5", "windows-1253", "windows-1255", "windows-874", "shift_jis", "euc-jp", "euc-kr",
}

// spelled are the known names of columns that have letters beyond ASCII, as they are written: without their accents
// "Imię" of Windows-1250 is known when read as Windows-1252, too.
var spelled = func() map[string]bool {
	m := map[string]bool{}
	for _, g := range headersAbroad {
		for name := range strings.SplitSeq(g.names, "|") {
			if name = strings.TrimSpace(name); !isASCII(name) {
				m[name] = true
			}
		}
	}
	return m
}()

// headerBytes of a text are looked at for its headers.
const headerBytes = 16 << 10

// byHeaderNames is the encoding that makes the most names of columns that are known, and have letters beyond ASCII, of
// the first lines of a text; "" where none does.
func byHeaderNames(b []byte) (name string) {
	b = b[:min(len(b), headerBytes)]
	var cells [][]byte
	lines := 0
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if lines++; lines > preambleMax {
			break
		}
		for cell := range bytes.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t|", r) }) {
			if bytes.ContainsFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) {
				cells = append(cells, bytes.Trim(cell, ` "'`))
			}
		}
	}
	most := 0
	for _, in := range headerEncodings {
		enc, err := encodingOf(in)
		if err != nil {
			continue
		}
		points := 0
		for _, cell := range cells {
			text, err := enc.NewDecoder().String(string(cell))
			switch {
			case err != nil:
			case spelled[strings.ToLower(text)]:
				points += 2
			case knownHeader(text):
				points++
			}
		}
		if points > most {
			name, most = in, points
		}
	}
	return name
}

// byAccents is Macintosh or IBM850 where the letters of a text that is not UTF-8 are where that has them and
// Windows-1252 has none: read as Windows-1252, "Zoé" of a Mac is "ZoŽ". One or two of them prove nothing: a Windows file
// has its own oddities.
func byAccents(b []byte) (name string) {
	fits, _, least := letterwise(b, charmap.Windows1252)
	if least*8 <= fits {
		return ""
	}
	least = (least + 2) / 3
	for _, of := range []struct {
		name  string
		table *charmap.Charmap
	}{{Macintosh, charmap.Macintosh}, {IBM850, charmap.CodePage850}} {
		if _, accents, odd := letterwise(b, of.table); accents >= 3 && odd < least {
			name, least = of.name, odd
		}
	}
	return name
}

// letterwise counts the bytes beyond ASCII that an encoding makes a fitting letter of, and those that it makes
// something odd of: a capital behind a small letter, a sign within a word. Accents are those of fits that are letters
// and stand beside one: a dash of Windows-1252 is a letter in DOS. Dashes, blanks that do not break and the signs that
// people write without a space are neither.
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
			case strings.ContainsRune("–—™®…\u00a0", r):
			case r == utf8.RuneError, unicode.IsControl(r):
				odd++
			case unicode.IsUpper(r) && unicode.IsLower(before),
				unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(after):
				odd++
			case unicode.IsLetter(r):
				fits++
				if unicode.IsLetter(before) || unicode.IsLetter(after) {
					accents++
				}
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
