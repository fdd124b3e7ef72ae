package markup

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A node is a value of JSON. Numbers, true and false are texts as written; null is a nil node.
type node struct {
	kind byte // '{', '[' or '"'
	text string
	keys []string // of an object; of two equal ones the last counts
	vals []*node  // of an object or an array
}

// get returns a member of an object.
func (n *node) get(key string) *node {
	for i, v := range slices.Backward(n.keys) {
		if v == key {
			return n.vals[i]
		}
	}
	return nil
}

// A parser reads JSON in one pass. Valid JSON it reads as it is. The rest it repairs to the most probable meaning of
// the author: comments, raw line ends and quotes in texts, commas too many or too few, several values, names without
// quotes, NaN, a missing end. It never fails; libraries that repair JSON were tried and take quadratic time or worse on
// it.
type parser struct {
	text string
	at   int
	work *int
	bare bool // names have been seen without quotes
}

// Ways in which all quotes of a text are written otherwise: as entities or typographic ones, and with a backslash,
// where JSON is written as a text of JSON.
var (
	otherQuote = regexp.MustCompile(`(?:&(?:quot|ldquo|rdquo|bdquo|#0?34|#822[012]|#8243);|[“”„″])@`)
	straight   = strings.NewReplacer("&quot;", `"`, "&#34;", `"`, "&#034;", `"`, "&ldquo;", `"`, "&rdquo;", `"`,
		"&bdquo;", `"`, "&#8220;", `"`, "&#8221;", `"`, "&#8222;", `"`, "&#8243;", `"`, "“", `"`, "”", `"`, "„", `"`,
		"″", `"`)
	escaped   = regexp.MustCompile(`^\s*"?(?:[\s{[]|\\[nrt])+\\"`)
	unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\/`, "/", `\n`, "\n", `\r`, "\r", `\t`, "\t")
)

// parseJSON returns the objects and arrays at the top of a text.
func parseJSON(text string, work *int) []*node {
	switch {
	case !strings.Contains(text, `"`) && otherQuote.MatchString(text):
		text = straight.Replace(text)
	case escaped.MatchString(text):
		text = unescaped.Replace(text)
	}
	p := &parser{text: text, work: work}
	var all []*node
	for {
		p.skip()
		if p.at >= len(p.text) || *work < 0 {
			return all
		}
		if c := p.text[p.at]; c != '{' && c != '[' {
			p.at++
			continue
		}
		if n := p.value(1, false); n != nil {
			all = append(all, n)
		}
	}
}

// skip passes over white space, comments, the marks that hide a script from browsers of the last century, and tags of
// lines.
func (p *parser) skip() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch c := rest[0]; {
		case c <= ' ':
			p.at++
		case c == '/' && strings.HasPrefix(rest, "//"):
			p.at += 2
			line := strings.TrimLeft(rest[2:min(len(rest), 16)], " \t")
			if !strings.HasPrefix(line, "<![CDATA[") && !strings.HasPrefix(line, "]]>") {
				p.to("\n")
			}
		case c == '/' && strings.HasPrefix(rest, "/*"):
			p.at += 2
			p.to("*/")
		case strings.HasPrefix(rest, "<!--"):
			p.at += 4
		case strings.HasPrefix(rest, "-->") || strings.HasPrefix(rest, "]]>"):
			p.at += 3
		case strings.HasPrefix(rest, "<![CDATA["):
			p.at += 9
		case c == '<' && lineTag(rest) > 0:
			p.at += lineTag(rest)
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(rest)
			if !blank(r) {
				return
			}
			p.at += size
		default:
			return
		}
	}
}

// lineTag is the length of the tag of a line or a paragraph at the beginning of a text, 0 = there is none. Editors of
// shops set them at the ends of lines, in scripts too.
func lineTag(s string) int {
	name, _, ok := strings.Cut(s[1:min(len(s), 80)], ">")
	size := 1 + len(name) + 1
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "/"), " ")
	if name = strings.ToLower(strings.TrimSuffix(name, "/")); !ok || name != "br" && name != "p" {
		return 0
	}
	return size
}

// blank says that a rune shows as nothing.
func blank(r rune) bool { return r <= ' ' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// gap is what follows white space and tags of lines.
func gap(s string) string {
	for {
		s = strings.TrimLeftFunc(s, blank)
		if s == "" || s[0] != '<' || lineTag(s) == 0 {
			return s
		}
		s = s[lineTag(s):]
	}
}

// to goes behind a mark, or to the end.
func (p *parser) to(mark string) {
	if i := strings.Index(p.text[p.at:], mark); i >= 0 {
		p.at += i + len(mark)
	} else {
		p.at = len(p.text)
	}
}

// value reads a value; nil is null, or nothing where a value should be.
func (p *parser) value(depth int, member bool) *node {
	if *p.work--; *p.work < 0 || depth > maxDepth {
		p.at = len(p.text)
		return nil
	}
	p.skip()
	if p.at >= len(p.text) {
		return nil
	}
	switch c := p.text[p.at]; c {
	case '{':
		p.at++
		return p.object(depth).listed()
	case '[':
		p.at++
		return p.array(depth)
	case '"', '\'':
		return &node{kind: '"', text: p.quoted(member, false)}
	}
	return p.unquoted(member)
}

// listed makes a list of an object whose names are all numbers: PHP writes a list so that has lost an element.
func (n *node) listed() *node {
	for _, key := range n.keys {
		if key == "" || strings.Trim(key, "0123456789") != "" {
			return n
		}
	}
	if len(n.keys) > 0 {
		n.kind, n.keys = '[', nil
		n.vals = slices.DeleteFunc(n.vals, func(v *node) bool { return v == nil })
	}
	return n
}

func (p *parser) object(depth int) *node {
	n := &node{kind: '{'}
	for {
		p.skip()
		if p.at >= len(p.text) || p.text[p.at] == ']' { // which closes the value around it
			return n
		}
		var key string
		switch c := p.text[p.at]; {
		case c == '}':
			p.at++
			return n
		case c == '"' || c == '\'':
			key = p.quoted(true, true)
		case name(c):
			start := p.at
			for p.at < len(p.text) && name(p.text[p.at]) {
				p.at++
			}
			key, p.bare = p.text[start:p.at], true
		default:
			p.at++
			continue
		}
		p.skip()
		if p.at < len(p.text) && p.text[p.at] == ':' {
			p.at++
			n.keys, n.vals = append(n.keys, key), append(n.vals, p.value(depth+1, true))
		}
	}
}

func (p *parser) array(depth int) *node {
	n := &node{kind: '['}
	for {
		p.skip()
		if p.at >= len(p.text) || p.text[p.at] == '}' {
			return n
		}
		switch p.text[p.at] {
		case ']':
			p.at++
			return n
		case ',', ';', ':':
			p.at++
		default:
			if v := p.value(depth+1, false); v != nil {
				n.vals = append(n.vals, v)
			}
		}
	}
}

func name(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '@' || c == '_' || c == '$' ||
		c == '-' || c >= utf8.RuneSelf
}

// unquoted reads a value without quotes: a number, true, or a text whose quotes were forgotten.
func (p *parser) unquoted(member bool) *node {
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c == ',' && member && p.at > start && p.at+1 < len(p.text) && decimal(p.text[p.at-1]) &&
			decimal(p.text[p.at+1]) { // 1,299.00
			p.at++
			continue
		}
		if c == ',' || c == '}' || c == ']' || c == '\n' || c == ';' || c == '<' && lineTag(p.text[p.at:]) > 0 ||
			c == '/' && strings.HasPrefix(p.text[p.at:], "/*") {
			break
		}
		if c == '/' && strings.HasPrefix(p.text[p.at:], "//") && (p.at == 0 || p.text[p.at-1] != ':') {
			break
		}
		p.at++
	}
	text := strings.TrimSpace(p.text[start:p.at])
	switch text {
	case "", "null", "undefined", "NaN", "None", "nil", "Infinity", "-Infinity":
		return nil
	}
	return &node{kind: '"', text: strings.ToValidUTF8(text, "\ufffd")}
}

func decimal(c byte) bool { return c >= '0' && c <= '9' }

// quoted reads a text in quotes. A quote in it that was not escaped is told from its end by the text that follows.
func (p *parser) quoted(member, key bool) string {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		i := strings.IndexAny(p.text[p.at:], string([]byte{quote, '\\'}))
		if i < 0 {
			i = len(p.text) - p.at
		}
		b.WriteString(p.text[p.at : p.at+i])
		p.at += i
		if p.at >= len(p.text) {
			break
		}
		if p.text[p.at] == '\\' {
			p.escape(&b)
			continue
		}
		p.at++
		if p.closes(member, key) {
			break
		}
		b.WriteByte(quote)
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// escapes are the characters of JSON that follow a backslash, and their meanings.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', '\'': '\'', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t', '\n': ' '}

// escape reads from a backslash on.
func (p *parser) escape(b *strings.Builder) {
	p.at++
	if p.at >= len(p.text) {
		return
	}
	c := p.text[p.at]
	if r, ok := hex4(p.text[p.at:]); ok {
		p.at += 5
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if p.at < len(p.text) && p.text[p.at] == '\\' {
				low, _ = hex4(p.text[p.at+1:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				p.at += 6
			}
		}
		b.WriteRune(r)
		return
	}
	if r, ok := hex2(p.text[p.at:]); ok {
		p.at += 3
		b.WriteRune(r)
		return
	}
	if e, ok := escapes[c]; ok {
		p.at++
		b.WriteByte(e)
		return
	}
	b.WriteByte('\\') // "C:\path"
}

// hex4 reads "u20ac".
func hex4(s string) (rune, bool) { return hex(s, 'u', 4) }

// hex2 reads "x26", which is an escape of JavaScript.
func hex2(s string) (rune, bool) { return hex(s, 'x', 2) }

func hex(s string, mark byte, size int) (rune, bool) {
	if len(s) <= size || s[0] != mark {
		return -1, false
	}
	var r rune
	for _, c := range []byte(s[1 : 1+size]) {
		switch {
		case decimal(c):
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// closes tells whether the quote before is the end of a text.
func (p *parser) closes(member, key bool) bool {
	if key {
		return true
	}
	rest := gap(p.text[p.at:])
	if rest == "" {
		return true
	}
	switch rest[0] {
	case '}', ']', ';':
		return true
	case '/':
		return strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*")
	case '-', '<':
		return strings.HasPrefix(rest, "-->") || strings.HasPrefix(rest, "<!--")
	case '"', '\'':
		return member && isKey(rest) // the comma was forgotten
	case ',':
	default:
		return false
	}
	rest = gap(rest[1:])
	if rest == "" {
		return true
	}
	switch c := rest[0]; c {
	case '}', ']', '/', ',':
		return true
	case '"', '\'':
		return !member || isKey(rest)
	case '{', '[', '-':
		return !member
	default:
		return !member && (decimal(c) || c == 't' || c == 'f' || c == 'n') || member && p.bare && name(c)
	}
}

// isKey tells whether a text in quotes and a colon follow.
func isKey(s string) bool {
	end := strings.IndexByte(s[1:min(len(s), 130)], s[0])
	if end < 0 {
		return len(s) > 130
	}
	rest := strings.TrimLeft(s[end+2:], " \t\r\n")
	return rest == "" || rest[0] == ':' || rest[0] == '\\' || rest[0] == '/'
}
