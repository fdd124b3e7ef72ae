package page

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"
)

// A scanner is a tokenizer for HTML by the WHATWG standard that works on the page itself: nothing is copied, and what
// is of no interest is not decoded. It is several times as fast as golang.org/x/net/html's, which reads byte by byte,
// and a fuzz test compares the two. Every search that fails ends the page, so all of them together are linear.
type scanner struct {
	b   []byte
	pos int
	cut bool // the page ends within a tag, which is none then
}

// space is white space between attributes.
func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func letter(c byte) bool { return isLetter(c | 0x20) }

// until returns what stands before the next sep, which is skipped; the rest of the page where there is none.
func (s *scanner) until(sep string) []byte {
	rest := s.b[s.pos:]
	if i := bytes.Index(rest, []byte(sep)); i >= 0 {
		s.pos += i + len(sep)
		return rest[:i]
	}
	s.pos = len(s.b)
	return rest
}

// comment skips the rest of a comment, behind its "<!--".
func (s *scanner) comment() {
	rest := s.b[s.pos:]
	if bytes.HasPrefix(rest, []byte(">")) || bytes.HasPrefix(rest, []byte("->")) { // ended abruptly
		s.until(">")
		return
	}
	for {
		s.until("--")
		for s.pos < len(s.b) && s.b[s.pos] == '-' {
			s.pos++
		}
		switch rest := s.b[s.pos:]; {
		case len(rest) == 0:
			return
		case rest[0] == '>':
			s.pos++
			return
		case rest[0] == '!' && len(rest) > 1 && rest[1] == '>':
			s.pos += 2
			return
		}
	}
}

// attr reads the next attribute of the tag at pos, as it is written. It is not ok behind the last one, where the ">"
// has been skipped; closed says that a "/" stood before it.
func (s *scanner) attr() (key, value []byte, closed, ok bool) {
	b, i := s.b, s.pos
	for ; ; i++ {
		if i >= len(b) {
			return s.end()
		}
		c := b[i]
		if c == '>' {
			s.pos = i + 1
			return nil, nil, closed, false
		}
		closed = c == '/'
		if !closed && !space(c) {
			break
		}
	}
	from := i
	for i++; i < len(b) && b[i] != '=' && b[i] != '>' && b[i] != '/' && !space(b[i]); i++ {
	}
	key = b[from:i]
	for i < len(b) && space(b[i]) {
		i++
	}
	if i < len(b) && b[i] != '=' {
		s.pos = i
		return key, nil, false, true
	}
	for i++; i < len(b) && space(b[i]); i++ {
	}
	if i >= len(b) {
		return s.end()
	}
	switch c := b[i]; c {
	case '>':
		s.pos = i
		return key, nil, false, true
	case '"', '\'':
		from = i + 1
		n := bytes.IndexByte(b[from:], c)
		if n < 0 {
			return s.end()
		}
		s.pos = from + n + 1
		return key, b[from : from+n], false, true
	}
	for from = i; i < len(b) && b[i] != '>' && !space(b[i]); i++ {
	}
	s.pos = i
	return key, b[from:i], false, true
}

// end is the last attribute of a tag in which the page ends.
func (s *scanner) end() (key, value []byte, closed, ok bool) {
	s.pos, s.cut = len(s.b), true
	return nil, nil, false, false
}

// raw returns the text up to the end tag of an element whose content is no markup, which stays to be read.
func (s *scanner) raw(name string) []byte {
	from := s.pos
	for {
		i := bytes.IndexByte(s.b[s.pos:], '<')
		if i < 0 {
			s.pos = len(s.b)
			return s.b[from:]
		}
		s.pos += i
		if s.isTag("/", name) {
			return s.b[from:s.pos]
		}
		s.pos++
	}
}

// script skips the content of a script, whose end tag stays to be read. Within "<!--" a "<script>" has an end tag of
// its own.
func (s *scanner) script() {
	escaped, inner := false, false
	for s.pos < len(s.b) {
		if !escaped {
			i := bytes.IndexByte(s.b[s.pos:], '<')
			if i < 0 {
				s.pos = len(s.b)
				return
			}
			s.pos += i
			switch {
			case bytes.HasPrefix(s.b[s.pos:], []byte("<!--")):
				escaped = true
				s.pos++ // the dashes may already be those of "-->"
			case s.isTag("/", "script"):
				return
			}
			s.pos++
			continue
		}
		switch s.b[s.pos] {
		case '-':
			if bytes.HasPrefix(s.b[s.pos:], []byte("-->")) {
				escaped, inner = false, false
			}
		case '<':
			switch {
			case !inner && s.isTag("/", "script"):
				return
			case inner && s.isTag("/", "script"):
				inner = false
			case !inner && s.isTag("", "script"):
				inner = true
			}
		}
		s.pos++
	}
}

// isTag says that a tag of the name, which is lower case, is at pos: "<", slash, the name, and what ends a name.
func (s *scanner) isTag(slash, name string) bool {
	rest := s.b[s.pos+1:]
	if len(rest) <= len(slash)+len(name) || string(rest[:len(slash)]) != slash {
		return false
	}
	rest = rest[len(slash):]
	for i := range len(name) {
		if c := rest[i]; c|0x20 != name[i] {
			return false
		}
	}
	c := rest[len(name)]
	return space(c) || c == '/' || c == '>'
}

// is says that an attribute's key is the name, which is lower case.
func is(key []byte, name string) bool {
	if len(key) != len(name) {
		return false
	}
	for i, c := range key {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// value decodes the value of an attribute. The result is v itself where there is nothing to decode.
func value(v []byte) []byte {
	i := bytes.IndexByte(v, '&')
	if i < 0 {
		return v
	}
	out := append(make([]byte, 0, len(v)), v[:i]...)
	for i < len(v) {
		if v[i] != '&' {
			out = append(out, v[i])
			i++
			continue
		}
		n := reference(v[i:], true)
		out = appendReference(out, v[i:i+n])
		i += n
	}
	return out
}

// maxName is longer than the name of any character reference.
const maxName = 40

// reference is the length of the character reference at the "&" that b starts with, 1 where there is none. In an
// attribute, "&copy=" and "&copyright" are no references: they are parameters of a query.
func reference(b []byte, attribute bool) int {
	i := 1
	if len(b) > 2 && b[1] == '#' {
		i = 2
		hex := b[2]|0x20 == 'x'
		if hex {
			i = 3
		}
		from := i
		for i < len(b) && (isDigit(b[i]) || hex && b[i]|0x20 >= 'a' && b[i]|0x20 <= 'f') {
			i++
		}
		if i == from {
			return 1
		}
		if i < len(b) && b[i] == ';' {
			i++
		}
		return i
	}
	for i < len(b) && i <= maxName && (letter(b[i]) || isDigit(b[i])) {
		i++
	}
	switch {
	case i == 1:
		return 1
	case i < len(b) && b[i] == ';':
		if name := string(b[:i+1]); attribute && !exact(name) {
			return 1
		}
		return i + 1
	case attribute && i < len(b) && b[i] == '=':
		return 1
	case attribute && !exact(string(b[:i])):
		return 1
	}
	return i
}

// exact says that all of a named reference is its name: "&amp;" and "&amp", but not "&ampere".
func exact(ref string) bool {
	switch ref {
	case "&amp;", "&lt;", "&gt;", "&quot;", "&nbsp;", "&amp":
		return true
	}
	if !strings.HasSuffix(ref, ";") {
		return html.UnescapeString(ref) == html.UnescapeString(ref+";")
	}
	decoded := html.UnescapeString(ref)
	return decoded != ref && !strings.HasSuffix(decoded, ";") || ref == "&semi;"
}

// appendReference writes what the character reference stands for, and it itself where it stands for nothing.
func appendReference(out, ref []byte) []byte {
	switch string(ref) {
	case "&":
		return append(out, '&')
	case "&amp;":
		return append(out, '&')
	case "&lt;":
		return append(out, '<')
	case "&gt;":
		return append(out, '>')
	case "&quot;":
		return append(out, '"')
	case "&nbsp;", "&#160;":
		return append(out, "\u00a0"...)
	}
	if ref[1] != '#' {
		return append(out, html.UnescapeString(string(ref))...)
	}
	digits, base := ref[2:], rune(10)
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	var n rune
	for _, c := range digits {
		switch {
		case c == ';':
			continue
		case isDigit(c):
			n = n*base + rune(c-'0')
		default:
			n = n*base + rune(c|0x20-'a') + 10
		}
		n = min(n, utf8.MaxRune+1)
	}
	if n >= 0x80 && n < 0xa0 { // of Windows-1252
		return append(out, html.UnescapeString(string(ref[:2])+string(ref[2:]))...)
	}
	if n == 0 {
		n = utf8.RuneError
	}
	return utf8.AppendRune(out, n) // U+FFFD where it is none
}
