package page

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"
)

// ReadOptions say what Read takes from a page.
type ReadOptions struct {
	XML      bool   // the page was served as XHTML: <script/> is closed, and prefixes are namespaces
	LinkRel  bool   // also the href of link elements
	Text     bool   // also the text, and the headings
	Agent    string // product token of our robot, in lower case: meta elements of that name count as those named robots
	MaxLinks int    // 0 = DefaultMaxLinks
	MaxText  int    // bytes; 0 = DefaultMaxText
	within   bool   // it is the document of an iframe's srcdoc: another within it is not read
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
	maxLang  = 64
)

// maxDocuments is how many documents of iframes are read.
const maxDocuments = 1000

// Bounds of the headings.
const (
	maxHeadings = 50
	maxHeading  = 200 // characters of each
)

// A Reading is what a crawler wants to know of a page.
type Reading struct {
	Title       string   // white space folded
	Description string   // of its meta element, likewise
	Lang        string   // of the html element, as written
	Base        string   // href of the first base element that has one, as written; "" = the page's own address
	NoIndex     bool     // by a robots meta element
	NoFollow    bool     // likewise
	Links       []Link   // in document order, each address once (a fragment makes none other)
	Text        string   // lower case, white space folded, NFC; blocks are apart, and links in a row; no others are
	Headings    []string // the text of h1, h2 and h3 elements, as in Text: the first 50, 200 characters of each
	Cut         bool     // there are more links or more text than was asked for
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
	r := readers.Get().(*reader)
	defer r.free()
	r.o, r.scanner = o, scanner{b: body}
	r.title.most, r.text.most = maxTitle, o.MaxText
	r.read()
	r.Title = r.title.String()
	r.Text = r.text.String()
	r.Headings = r.headings()
	r.Links = r.links()
	r.Cut = r.Cut || r.text.full()
	return r.Reading
}

// readers keep their buffers.
var readers = sync.Pool{New: func() any {
	return &reader{seen: map[uint64]int32{}, seed: maphash.MakeSeed(), title: folder{keep: true}}
}}

type reader struct {
	Reading
	scanner
	o     ReadOptions
	title folder
	text  folder

	heads []span // of headings in text; the last one may be open

	hrefs []byte // one behind the other
	found []found
	seen  map[uint64]int32 // hash of an href without its fragment → index of found
	seed  maphash.Seed

	scopes    []scope // of XML: the namespaces that are declared, the innermost last
	templates []bool  // open template elements: true = a browser does not render it
	inert     int     // how many of them are true
	foreign   int     // open svg and math elements
	mute      element // whose content is no text of the page; in XML and foreign elements, where it is markup
	anchored  int     // where the text was when an a element began
	linked    int     // where it was when one that has text ended
	titled    bool
	based     bool // a base element with an address was read
	noscript  bool
	documents int // of iframes, that were read
}

// A span of text; to < 0 while its end has not been read.
type span struct{ from, to int }

// A found link is hrefs[from:to].
type found struct {
	from, to int32
	nofollow bool
}

// free makes r fit for another page. What a huge page has grown is dropped.
func (r *reader) free() {
	const most = 1 << 20
	if len(r.seen) > 4096 || cap(r.hrefs) > most || cap(r.text.b) > most || cap(r.templates) > most {
		return
	}
	clear(r.seen)
	*r = reader{seen: r.seen, seed: r.seed, hrefs: r.hrefs[:0], found: r.found[:0], templates: r.templates[:0],
		heads: r.heads[:0],
		title: folder{b: r.title.b[:0], keep: true}, text: folder{b: r.text.b[:0]}}
	readers.Put(r)
}

// head begins a heading at the end of the text so far, or ends the one that is open.
func (r *reader) head(begins bool) {
	at := len(r.text.b)
	if n := len(r.heads); n > 0 && r.heads[n-1].to < 0 {
		if r.heads[n-1].to = at; at == r.heads[n-1].from {
			r.heads = r.heads[:n-1]
		}
	}
	if begins && r.o.Text && len(r.heads) < maxHeadings {
		r.heads = append(r.heads, span{at, -1})
	}
}

// headings are the texts of those found.
func (r *reader) headings() (all []string) {
	r.head(false)
	for _, h := range r.heads {
		b := r.text.b[h.from:min(h.to, r.o.MaxText, h.from+maxHeading*utf8.UTFMax+1)]
		f := folder{b: trim(b), most: r.o.MaxText, wide: r.text.wide}
		text, _ := Cut(strings.ToValidUTF8(f.String(), ""), maxHeading)
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// links are those found; their texts share one string.
func (r *reader) links() []Link {
	if len(r.found) == 0 {
		return nil
	}
	all, links := string(r.hrefs), make([]Link, len(r.found))
	for i, f := range r.found {
		links[i] = Link{all[f.from:f.to], f.nofollow}
	}
	return links
}

func (r *reader) read() {
	for r.pos < len(r.b) {
		rest := r.b[r.pos:]
		i := bytes.IndexByte(rest, '<')
		if i < 0 {
			i = len(rest)
		}
		if i > 0 {
			r.chars(rest[:i], true)
			r.pos += i
			continue
		}
		c := byte(0)
		if len(rest) > 1 {
			c = rest[1]
		}
		switch {
		case letter(c):
			r.pos++
			r.open()
		case c == '/' && len(rest) > 2 && letter(rest[2]):
			r.pos += 2
			r.close()
		case c == '/' && len(rest) > 2:
			r.pos += 2
			r.until(">")
		case c == '!' || c == '?':
			r.pos += 2
			r.declaration(c)
		default:
			r.chars(rest[:1], false)
			r.pos++
		}
	}
}

// declaration skips a comment, a doctype or a processing instruction, and reads the text of a CDATA section.
func (r *reader) declaration(c byte) {
	rest := r.b[r.pos:]
	switch {
	case c == '?' && r.o.XML:
		r.until("?>")
	case c == '?':
		r.until(">")
	case bytes.HasPrefix(rest, []byte("--")):
		r.pos += len("--")
		r.comment()
	case bytes.HasPrefix(rest, []byte("[CDATA[")) && (r.o.XML || r.foreign > 0):
		r.pos += len("[CDATA[")
		r.chars(r.until("]]>"), false)
	default:
		if doctype := r.until(">"); r.o.XML && bytes.IndexByte(doctype, '[') >= 0 && bytes.IndexByte(doctype, ']') < 0 {
			r.until("]")
			r.until(">")
		}
	}
}

// chars reads text; with references it has character references.
func (r *reader) chars(t []byte, references bool) {
	switch {
	case r.mute == title:
		r.title.write(t, references)
	case r.o.Text && r.visible() && !r.noscript:
		r.text.write(t, references)
	}
}

// name reads the name of the tag at pos.
func (r *reader) name() (element, []byte) {
	name := r.tagName()
	r.pos += len(name)
	if r.o.XML {
		prefix, local, prefixed := bytes.Cut(name, []byte(":"))
		if !r.ours(prefix, prefixed) {
			return block, nil
		}
		if prefixed {
			name = local
		}
	}
	return elementOf(name), name
}

// attrs are those attributes of a tag that are of interest, as they are written; nil = not there.
type attrs struct {
	href, src, rel, lang, name, equiv, content, shadow, xlink []byte
	srcdoc                                                    []byte // a document, however long
	closed                                                    bool
}

// keep stores the first value of an attribute.
func keep(to *[]byte, v []byte) {
	if *to == nil {
		*to = v[:min(len(v), maxHref+1):min(len(v), maxHref+1)]
		if *to == nil {
			*to = []byte{}
		}
	}
}

// attrs reads all attributes of a tag whose name has been read.
func (r *reader) attrs() (a attrs) {
	for {
		key, v, closed, ok := r.attr()
		if !ok {
			a.closed = closed
			return a
		}
		switch len(key) {
		case 3:
			if is(key, "src") {
				keep(&a.src, v)
			} else if is(key, "rel") {
				keep(&a.rel, v)
			}
		case 4:
			switch {
			case is(key, "href"):
				keep(&a.href, v)
			case is(key, "name"):
				keep(&a.name, v)
			case is(key, "lang"):
				keep(&a.lang, v)
			}
		case 6:
			if is(key, "srcdoc") && a.srcdoc == nil {
				a.srcdoc = v
			}
		case 7:
			if is(key, "content") {
				keep(&a.content, v)
			}
		case 8:
			if a.lang == nil && is(key, "xml:lang") && r.o.XML {
				keep(&a.lang, v)
			}
		case 10:
			if is(key, "http-equiv") {
				keep(&a.equiv, v)
			} else if is(key, "xlink:href") {
				keep(&a.xlink, v)
			}
		case 14:
			if is(key, "shadowrootmode") {
				keep(&a.shadow, v)
			}
		}
	}
}

// skip passes over the attributes of a tag.
func (r *reader) skip() (closed bool) {
	for {
		if _, _, closed, ok := r.attr(); !ok {
			return closed
		}
	}
}

// tagName is the name of the tag at a place, as written.
func (s *scanner) tagName() []byte {
	i := s.pos
	for i < len(s.b) && s.b[i] != '>' && s.b[i] != '/' && !space(s.b[i]) {
		i++
	}
	return s.b[s.pos:i]
}

// frame notes the link of a frame; an empty one shows an empty page.
func (r *reader) frame(src []byte) {
	if len(trim(src)) > 0 {
		r.link(src, nil)
	}
}

// srcdoc notes the links of a document that an iframe has in itself. Its text is, as that of any frame, not the page's.
func (r *reader) srcdoc(document []byte) {
	if len(document) == 0 || r.o.within || !r.visible() {
		return
	}
	if r.documents++; r.documents > maxDocuments { // each costs more than its length
		r.Cut = true
		return
	}
	o := r.o
	o.XML, o.Text, o.within = false, false, true
	inner := Read(value(document), o)
	if inner.Base != "" { // its addresses are relative to another one
		return
	}
	for _, l := range inner.Links {
		r.add([]byte(l.Href), l.Nofollow || inner.NoFollow)
	}
	r.Cut = r.Cut || inner.Cut
}

// link notes the address in an attribute, nil = there is none.
func (r *reader) link(v, rel []byte) {
	if v != nil && r.visible() && len(v) <= maxHref {
		r.add(trim(value(v)), word(rel, "nofollow"))
	}
}

func (r *reader) add(href []byte, nofollow bool) {
	key := href
	if i := bytes.IndexByte(href, '#'); i >= 0 {
		key = href[:i]
	}
	hash := maphash.Bytes(r.seed, key)
	if i, ok := r.seen[hash]; ok {
		f := &r.found[i]
		if known := r.hrefs[f.from:f.to]; bytes.HasPrefix(known, key) && (len(known) == len(key) || known[len(key)] == '#') {
			f.nofollow = f.nofollow && nofollow
			return
		}
	}
	if len(r.found) >= r.o.MaxLinks {
		r.Cut = true
		return
	}
	r.seen[hash] = int32(len(r.found))
	from := len(r.hrefs)
	r.hrefs = append(r.hrefs, href...)
	r.found = append(r.found, found{int32(from), int32(len(r.hrefs)), nofollow})
}

// meta reads a description, rules for robots, or a refresh.
func (r *reader) meta(t *tag) {
	if t.content == nil || !r.visible() {
		return
	}
	switch name := strings.ToLower(string(trim(value(t.name)))); {
	case name == "description":
		if r.Description == "" {
			f := folder{keep: true, most: maxMeta}
			f.write(value(t.content), false)
			r.Description = f.String()
		}
	case name == "robots" || name != "" && name == r.o.Agent:
		index, follow := rules(string(value(t.content)))
		r.NoIndex, r.NoFollow = r.NoIndex || index, r.NoFollow || follow
	}
	if is(trim(value(t.equiv)), "refresh") {
		if href, ok := Refresh(string(value(t.content))); ok {
			r.add(trim([]byte(href)), false)
		}
	}
}

// Refresh reads the address of a meta refresh, or of a Refresh header, by the rules of the HTML standard.
func Refresh(content string) (href string, ok bool) {
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

// word says that one of the words in v is w, which is lower case.
func word(v []byte, w string) bool {
	for f := range bytes.FieldsSeq(v) {
		if is(f, w) {
			return true
		}
	}
	return false
}

// trim cuts off white space and controls, as every reader of addresses does.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}
