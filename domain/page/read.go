package page

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"
)

// ReadOptions say what Read takes from a page.
type ReadOptions struct {
	XML      bool   // the page was served as XHTML: <script/> is closed, and prefixes are namespaces
	LinkRel  bool   // also the href of link elements
	Text     bool   // also the text
	Agent    string // product token of our robot, in lower case: meta elements of that name count as those named robots
	MaxLinks int    // 0 = DefaultMaxLinks
	MaxText  int    // bytes; 0 = DefaultMaxText
}

// The bounds of a Reading that does not state others.
const (
	DefaultMaxLinks = 50_000
	DefaultMaxText  = 1 << 20
)

// Bounds of what a Reading has once, in bytes.
const (
	maxTitle = 1024
	maxMeta  = 4096
	maxHref  = 16 << 10 // of an address as it is written
)

// A Reading is what a crawler wants to know of a page.
type Reading struct {
	Title       string // white space folded
	Description string // of its meta element, likewise
	Lang        string // of the html element, as written
	Base        string // href of the first base element that has one, as written; "" = the page's own address
	NoIndex     bool   // by a robots meta element
	NoFollow    bool   // likewise
	Links       []Link // in document order, each address once (a fragment makes none other)
	Text        string // lower case, white space folded, NFC; blocks are apart, inline elements are not
	Cut         bool   // there are more links or more text than was asked for
}

// A Link is an address on a page.
type Link struct {
	Href     string // as written, without white space around it
	Nofollow bool   // by rel=nofollow of every element that has this address
}

// Read takes from a page of UTF-8 its links (a, area, iframe, frame, meta refresh, also those in noscript, none in
// template) and what else a Reading has. It never fails: whatever the page holds, a browser's tokenizer makes something
// of it. Its time is linear in the size of the page.
func Read(body []byte, o ReadOptions) Reading {
	if o.MaxLinks <= 0 {
		o.MaxLinks = DefaultMaxLinks
	}
	if o.MaxText <= 0 {
		o.MaxText = DefaultMaxText
	}
	r := reader{o: o, z: html.NewTokenizer(bytes.NewReader(body)), seen: map[string]int{}}
	r.z.AllowCDATA(o.XML)
	r.read()
	r.Title = fold1(r.title)
	r.Text = string(r.text.b)
	if !norm.NFC.IsNormalString(r.Text) {
		r.Text = norm.NFC.String(r.Text)
	}
	return r.Reading
}

type reader struct {
	Reading
	o      ReadOptions
	z      *html.Tokenizer
	seen   map[string]int // href without its fragment → index of Links
	title  []byte
	titled bool
	text   folder

	inert    []bool // open template elements: true = a browser does not render it
	hidden   int    // how many of them are true
	foreign  int    // open svg and math elements
	mute     atom.Atom
	noscript bool
}

func (r *reader) read() {
	for {
		switch r.z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			r.chars()
		case html.StartTagToken:
			r.start(false)
		case html.SelfClosingTagToken:
			r.start(true)
		case html.EndTagToken:
			name, _ := r.z.TagName()
			r.end(atom.Lookup(local(name, r.o.XML)))
		}
	}
}

// local is a name without its prefix, where prefixes are namespaces.
func local(name []byte, xml bool) []byte {
	if xml {
		if i := bytes.IndexByte(name, ':'); i >= 0 {
			return name[i+1:]
		}
	}
	return name
}

func (r *reader) chars() {
	switch {
	case r.mute == atom.Title:
		if len(r.title) < maxTitle {
			t := r.z.Text()
			r.title = append(r.title, t[:min(len(t), maxTitle)]...)
		}
	case r.mute == 0 && r.hidden == 0 && !r.noscript && r.o.Text:
		if len(r.text.b) > r.o.MaxText {
			return
		}
		r.text.add(r.z.Text())
		if len(r.text.b) > r.o.MaxText {
			r.text.b = r.text.b[:validLen(r.text.b, r.o.MaxText)]
			r.Cut = true
		}
	}
}

func (r *reader) start(closed bool) {
	name, more := r.z.TagName()
	a := atom.Lookup(local(name, r.o.XML))
	closed = closed && (r.o.XML || r.foreign > 0)
	if r.o.XML || closed {
		r.z.NextIsNotRawText()
	}
	if !inline[a] {
		r.text.space = true
	}
	switch a {
	case atom.Noscript:
		r.z.NextIsNotRawText()
		r.noscript = !closed
	case atom.Body:
		r.noscript = false
	case atom.Svg, atom.Math:
		if !closed {
			r.foreign++
		}
	case atom.Template:
		if !closed {
			inert := !r.has("shadowrootmode", more)
			r.inert = append(r.inert, inert)
			if inert {
				r.hidden++
			}
		}
	case atom.Title:
		if r.foreign == 0 && !r.titled && !closed && r.mute == 0 {
			r.titled = true
			r.mute = atom.Title
		} else if !closed && r.foreign == 0 {
			r.mute = atom.Textarea
		}
	case atom.Script, atom.Style, atom.Textarea, atom.Iframe, atom.Noembed, atom.Noframes:
		if a == atom.Iframe {
			r.link(more, "src")
		}
		if !closed && r.mute == 0 {
			r.mute = a
		}
	case atom.A, atom.Area:
		r.link(more, "href")
	case atom.Frame:
		r.link(more, "src")
	case atom.Link:
		if r.o.LinkRel {
			r.link(more, "href")
		}
	case atom.Base:
		if r.Base == "" && r.hidden == 0 && r.foreign == 0 {
			r.Base = r.attr("href", more)
		}
	case atom.Html:
		if r.Lang == "" {
			r.Lang = r.attr("lang", more)
		}
	case atom.Meta:
		r.meta(more)
	}
}

func (r *reader) end(a atom.Atom) {
	if !inline[a] {
		r.text.space = true
	}
	if r.mute != 0 && a == r.mute || r.mute == atom.Textarea && a == atom.Title {
		r.mute = 0
	}
	switch a {
	case atom.Noscript, atom.Head:
		r.noscript = false
	case atom.Svg, atom.Math:
		r.foreign = max(0, r.foreign-1)
	case atom.Template:
		if n := len(r.inert); n > 0 {
			if r.inert[n-1] {
				r.hidden--
			}
			r.inert = r.inert[:n-1]
		}
	}
}

func (r *reader) has(key string, more bool) (found bool) {
	for more {
		var k []byte
		k, _, more = r.z.TagAttr()
		found = found || string(k) == key
	}
	return found
}

func (r *reader) attr(key string, more bool) string {
	for more {
		var k, v []byte
		k, v, more = r.z.TagAttr()
		if string(k) == key {
			return string(v[:min(len(v), maxHref)])
		}
	}
	return ""
}

func (r *reader) link(more bool, key string) {
	if r.hidden > 0 || r.mute != 0 {
		return
	}
	var href []byte
	found, nofollow := false, false
	for more {
		var k, v []byte
		k, v, more = r.z.TagAttr()
		switch {
		case !found && string(k) == key:
			found, href = true, v
		case string(k) == "rel":
			nofollow = word(v, "nofollow")
		}
	}
	if found {
		r.add(href, nofollow)
	}
}

func (r *reader) add(href []byte, nofollow bool) {
	href = bytes.TrimFunc(href, func(c rune) bool { return c <= ' ' })
	if len(href) > maxHref {
		return
	}
	key := href
	if i := bytes.IndexByte(href, '#'); i >= 0 {
		key = href[:i]
	}
	if i, ok := r.seen[string(key)]; ok {
		r.Links[i].Nofollow = r.Links[i].Nofollow && nofollow
		return
	}
	if len(r.Links) >= r.o.MaxLinks {
		r.Cut = true
		return
	}
	s := string(href)
	r.seen[s[:len(key)]] = len(r.Links)
	r.Links = append(r.Links, Link{s, nofollow})
}

func (r *reader) meta(more bool) {
	if r.hidden > 0 {
		return
	}
	var name, equiv, content string
	for more {
		var k, v []byte
		k, v, more = r.z.TagAttr()
		v = v[:min(len(v), maxHref)]
		switch string(k) {
		case "name":
			name = strings.ToLower(strings.TrimSpace(string(v)))
		case "http-equiv":
			equiv = string(v)
		case "content":
			content = string(v)
		}
	}
	switch {
	case name == "description":
		if r.Description == "" {
			r.Description = fold1([]byte(content[:min(len(content), maxMeta)]))
		}
	case name == "robots" || name != "" && name == r.o.Agent:
		for rule := range strings.FieldsFuncSeq(strings.ToLower(content), func(c rune) bool { return c == ',' || c <= ' ' }) {
			r.NoIndex = r.NoIndex || rule == "noindex" || rule == "none"
			r.NoFollow = r.NoFollow || rule == "nofollow" || rule == "none"
		}
	case strings.EqualFold(strings.TrimSpace(equiv), "refresh"):
		if href, ok := refresh(content); ok {
			r.add([]byte(href), false)
		}
	}
}

// refresh reads the address of a meta refresh by the rules of the HTML standard.
func refresh(content string) (href string, ok bool) {
	const space = " \t\n\f\r"
	s := strings.TrimLeft(content, space)
	rest := strings.TrimLeft(s, "0123456789")
	if len(rest) == len(s) && !strings.HasPrefix(s, ".") {
		return "", false
	}
	s = strings.TrimLeft(rest, "0123456789.")
	if s == "" || !strings.ContainsRune(";,"+space, rune(s[0])) {
		return "", false
	}
	s = strings.TrimLeft(s, space)
	if s != "" && (s[0] == ';' || s[0] == ',') {
		s = s[1:]
	}
	s = strings.TrimLeft(s, space)
	if len(s) > 3 && strings.EqualFold(s[:3], "url") {
		if after, found := strings.CutPrefix(strings.TrimLeft(s[3:], space), "="); found {
			s = strings.TrimLeft(after, space)
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s, _, _ = strings.Cut(s[1:], s[:1])
	}
	return s, s != ""
}

// word says that one of the words in v is w, in any case.
func word(v []byte, w string) bool {
	for f := range bytes.FieldsSeq(v) {
		if len(f) == len(w) && strings.EqualFold(string(f), w) {
			return true
		}
	}
	return false
}

// inline elements do not part the words around them.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true,
	atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Nobr: true, atom.Q: true, atom.Rp: true, atom.Rt: true,
	atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true,
	atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true,
	atom.Wbr: true, atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
}

// A folder writes text in lower case with its white space folded.
type folder struct {
	b     []byte
	space bool // a word ended
	keep  bool // leave capitals
}

func (f *folder) add(t []byte) {
	for i := 0; i < len(t); {
		c := t[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == ' ' || c >= '\t' && c <= '\r':
				f.space = true
				continue
			case c < ' ' || c == 0x7f:
				continue
			}
			f.part()
			if c >= 'A' && c <= 'Z' && !f.keep {
				c |= 0x20
			}
			f.b = append(f.b, c)
			continue
		}
		r, size := utf8.DecodeRune(t[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			f.space = true
			continue
		case r == utf8.RuneError && size <= 1, unicode.IsControl(r), invisible(r):
			continue
		}
		f.part()
		if !f.keep {
			r = unicode.ToLower(r)
		}
		f.b = utf8.AppendRune(f.b, r)
	}
}

func (f *folder) part() {
	if f.space && len(f.b) > 0 {
		f.b = append(f.b, ' ')
	}
	f.space = false
}

// fold1 is one line of text, with its capitals.
func fold1(t []byte) string {
	f := folder{keep: true}
	f.add(t)
	return norm.NFC.String(string(f.b))
}

// invisible characters are dropped, as Clean does.
func invisible(r rune) bool {
	switch r {
	case '\u200b', '\u200c', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00ad':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// validLen is the end of the last whole character within n bytes of b.
func validLen(b []byte, n int) int {
	if n >= len(b) {
		return len(b)
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}
