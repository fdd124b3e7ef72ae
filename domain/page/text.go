// Package page turns the HTML of a page, or of a field, into plain text, and makes texts comparable. It knows nothing
// of their subject.
package page

import (
	"html"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text turns HTML or text into plain text: block tags become line ends and other tags spaces (so that
// "Superficie<br>4 1/2" does not glue), scripts and comments vanish, entities are decoded once, every Unicode space is
// a space, runs of white space fold, composed accents are used. NUL and other control characters, zero-width
// characters and bytes that are not UTF-8 are dropped. A "<" that starts no tag stays: "< 25 lbs".
func Text(s string) string {
	out, _ := Clean(s, true)
	return out
}

// Line is Text for one line: line ends become spaces too.
func Line(s string) string {
	out, _ := Clean(s, false)
	return out
}

// Clean is Text, or Line where lines is false; dirty says that bytes were dropped that no text should hold (NUL,
// controls, invalid UTF-8).
func Clean(s string, lines bool) (out string, dirty bool) {
	if strings.IndexByte(s, '<') >= 0 {
		s = stripTags(s)
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	b := make([]byte, 0, len(s))
	space, line, blank := false, false, 0 // white space that waits to be written
	for i, size := 0, 0; i < len(s); i += size {
		r := rune(s[i])
		size = 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r > ' ' && r < 0x7f:
		case r == '\n' || r == '\r' && !strings.HasPrefix(s[i+1:], "\n") || r == '\u2028' || r == '\u2029':
			line, space = line || lines, true
			blank++
			continue
		case r == ' ' || r == '\t' || r == '\r' || r == '\v' || r == '\f' || r >= utf8.RuneSelf && unicode.IsSpace(r):
			space = true
			continue
		case r == utf8.RuneError && size <= 1, r < ' ' || r == 0x7f, r >= 0x80 && r < 0xa0:
			dirty = true
			continue
		case r == '\u200b', r == '\u200c', r == '\u200e', r == '\u200f', r == '\u2060', r == '\ufeff', r == '\u00ad',
			r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			continue
		}
		if space {
			switch {
			case len(b) == 0:
			case line && blank > 1:
				b = append(b, '\n', '\n')
			case line:
				b = append(b, '\n')
			default:
				b = append(b, ' ')
			}
			space, line, blank = false, false, 0
		}
		if size == 1 {
			b = append(b, s[i])
		} else {
			b = append(b, s[i:i+size]...)
		}
	}
	return norm.NFC.String(string(b)), dirty
}

// blockTags end a line.
var blockTags = map[string]bool{
	"br": true, "p": true, "div": true, "li": true, "ul": true, "ol": true, "tr": true, "table": true, "h1": true,
	"h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "hr": true, "section": true, "article": true,
	"dt": true, "dd": true, "blockquote": true, "pre": true,
}

// stripTags is linear in its input: every search that fails is made once, and what another finds is behind it.
func stripTags(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	open := true                                   // there may be a closing "-->" or "</script>" ahead
	rest := len(s) - strings.LastIndexByte(s, '>') // that begins with the last ">"
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if open && strings.HasPrefix(s, "<!--") {
			if end := strings.Index(s, "-->"); end >= 0 {
				s = s[end+3:]
				continue
			}
			open = false
		}
		name, closing := tagName(s)
		end := -1
		if name != "" {
			end = strings.IndexByte(s, '>')
		}
		if end < 0 {
			b.WriteByte('<')
			s = s[1:]
			if len(s) < rest { // no tag can follow
				b.WriteString(s)
				return b.String()
			}
			continue
		}
		s = s[end+1:]
		if open && !closing && (name == "script" || name == "style") {
			end := indexFold(s, "</"+name)
			if end < 0 {
				open = false
			} else {
				s = s[end:]
			}
		}
		if blockTags[name] {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
}

// tagName reads the lower-case name of the tag that s starts with, and "" when s starts none.
func tagName(s string) (name string, closing bool) {
	i := 1
	if i < len(s) && s[i] == '/' {
		closing = true
		i++
	}
	if i < len(s) && s[i] == '!' {
		return "!", closing
	}
	from := i
	for i < len(s) && i-from < 16 && (isLetter(s[i]|0x20) || i > from && isDigit(s[i])) {
		i++
	}
	if i == from || i == len(s) || strings.IndexByte(" />\t\r\n:", s[i]) < 0 {
		return "", closing
	}
	return strings.ToLower(s[from:i]), closing
}

// indexFold is strings.Index without regard to ASCII case; sub is lower case.
func indexFold(s, sub string) int {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i]|0x20 == sub[0]|0x20 && strings.EqualFold(s[i:i+len(sub)], sub) {
			return i
		}
	}
	return -1
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// Cut shortens s to at most n runes, and says whether it had to.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return strings.TrimRight(s[:i], " \n"), true
		}
		n--
	}
	return s, false
}

// Short is s in at most n characters, the last of which is … where it is shortened.
func Short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(0, n-1)]) + "…"
	}
	return s
}

// CutBytes shortens s to at most n bytes: whole characters.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// latin maps the accented Latin letters to those that look like them without accents, in lower case.
var latin = func() (t [0x180]string) {
	for r := rune(0xa0); r < 0x180; r++ {
		if d := norm.NFD.String(string(r)); d[0] < utf8.RuneSelf {
			t[r] = strings.ToLower(d[:1])
		}
	}
	t['œ'], t['Œ'], t['æ'], t['Æ'], t['ß'], t['ø'], t['Ø'] = "oe", "oe", "ae", "ae", "ss", "o", "o"
	t['½'], t['¼'], t['¾'], t['²'], t['³'], t['º'], t['ª'], t['´'] = " 1/2", " 1/4", " 3/4", "2", "3", "o", "a", "'"
	t['«'], t['»'], t['·'], t['°'], t['¹'] = "\"", "\"", ";", " ", "1"
	return t
}()

// foldRune spells r in lower-case ASCII as well as it can. Bullets and pictures become ";", for they end a thought.
func foldRune(r rune) string {
	if r < 0x180 {
		return latin[r]
	}
	switch r {
	case '’', '‘', '‛', 'ʼ', '′', '`':
		return "'"
	case '“', '”', '„', '″':
		return "\""
	case '–', '—', '‐', '‑', '‒', '−':
		return "-"
	case '⁄', '∕':
		return "/"
	case '\ufe0f', '\u20e3':
		return ""
	case '≈', '≃', '∼':
		return "~"
	case '…':
		return ";"
	case '\u0301', '\u0300', '\u0302', '\u0308', '\u0327':
		return ""
	}
	if d := norm.NFKD.String(string(r)); d[0] < utf8.RuneSelf { // "𝟒", "４", "ﬁ"
		return strings.ToLower(d)
	}
	if unicode.IsLetter(r) {
		return " "
	}
	return ";"
}

// Fold spells s in lower-case ASCII without accents, for comparing: "4½ À LOUER" is "4 1/2 a louer".
func Fold(s string) string {
	b, _ := fold(s, false)
	return string(b)
}

// FoldAt is Fold, and for every byte of its result the place in s that it comes from.
func FoldAt(s string) (folded string, at []int32) {
	b, at := fold(s, true)
	return string(b), at
}

// fold also returns, when asked, for every byte of its result the place in s that it comes from.
func fold(s string, places bool) (out []byte, at []int32) {
	out = make([]byte, 0, len(s)+16)
	if places {
		at = make([]int32, 0, len(s)+16)
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			if c == '`' {
				c = '\''
			}
			out = append(out, c)
			if places {
				at = append(at, int32(i))
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError {
			n := len(out)
			out = append(out, foldRune(r)...)
			if places {
				for range len(out) - n {
					at = append(at, int32(i))
				}
			}
		}
		i += size
	}
	return out, at
}

// Mask replaces telephone numbers and e-mail addresses by "[phone]" and "[email]". Anything with seven to fifteen
// digits, written with the usual separators, counts as a number; a price does not reach seven, and a date as standards
// write it, "2026-07-01", is none.
func Mask(s string) string {
	digits, at := 0, false
	for i := range len(s) {
		if isDigit(s[i]) {
			digits++
		}
		at = at || s[i] == '@'
	}
	if digits < 7 && !at {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if isDigit(s[i]) || s[i] == '(' || s[i] == '+' {
			if end := dateEnd(s, i); end > 0 {
				b.WriteString(s[i:end])
				i = end
				continue
			}
			if end := phoneEnd(s, i); end > 0 {
				b.WriteString("[phone]")
				i = end
				continue
			}
			if isDigit(s[i]) { // the whole run, or its tail would be tried again
				for i < len(s) && isDigit(s[i]) {
					b.WriteByte(s[i])
					i++
				}
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	out := b.String()
	if !at {
		return out
	}
	words := strings.Fields(out)
	for i, w := range words {
		if strings.IndexByte(w, '@') >= 0 {
			words[i] = "[email]"
		}
	}
	return strings.Join(words, " ")
}

// dateEnd returns the end of the date "2026-07-01" at i, before its time or a word, or 0.
func dateEnd(s string, i int) int {
	const layout = time.DateOnly
	end := i + len(layout)
	if end > len(s) || end < len(s) && (isDigit(s[end]) || strings.IndexByte("-./", s[end]) >= 0 && end+1 < len(s) &&
		isDigit(s[end+1])) || i > 0 && (isDigit(s[i-1]) || s[i-1] == '-') {
		return 0
	}
	if d, err := time.Parse(layout, s[i:end]); err != nil || d.Year() < 1990 || d.Year() > 2099 {
		return 0
	}
	return end
}

// phoneEnd returns the end of the telephone number at i, or 0. Where more digits stand in a row than a number has, as
// in "514-555-1234/438-555-9876", it ends at their first whole group with ten digits, or with seven before a slash.
func phoneEnd(s string, i int) int {
	digits, end, gap, first, whole := 0, 0, 0, 0, false
	for ; i < len(s) && gap <= 3; i++ {
		switch c := s[i]; {
		case isDigit(c):
			if digits++; digits > 15 {
				return first
			}
			end, gap = i+1, 0
		case strings.IndexByte(" -.()+/", c) >= 0:
			if digits >= 7 && !whole {
				first, whole = end, digits >= 10 || c == '/'
			}
			gap++
		default:
			gap = 4
		}
	}
	if digits >= 7 {
		return end
	}
	return 0
}
