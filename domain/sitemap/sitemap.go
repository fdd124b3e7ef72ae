// Package sitemap reads the sitemaps of a site: lists of addresses that it wants robots to know.
package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/safexml"
	"github.com/mtlrent/conveyor/domain/web"
)

// The bounds of the protocol. What lies beyond them is not read.
const (
	MaxSize    = 50 << 20 // bytes, decompressed
	MaxEntries = 50_000
	maxDepth   = 32       // of elements
	maxBytes   = 32 << 20 // of addresses, canonical
	maxLine    = 32 << 10 // bytes
)

// A Sitemap is what one file says.
type Sitemap struct {
	URLs     []string // addresses of pages, canonical, each once, in the order of the file
	Sitemaps []string // addresses of further sitemaps, likewise
	Cut      bool     // the file is broken or beyond the bounds: there may be more that was not read
}

// Parse reads a sitemap at the address at, which relative addresses in it stand below: XML (a urlset, an index, RSS or
// Atom) or text with an address a line, either one compressed by gzip or not. A broken file gives what can be read of
// it, with Cut. A file that is no sitemap is fault.Invalid.
func Parse(body []byte, at string) (Sitemap, error) {
	base, err := web.NewBase(at)
	if err != nil {
		return Sitemap{}, err
	}
	r := &reader{base: base, seen: map[string]bool{}}
	src := r.unpack(body)
	if head, _ := src.Peek(len(mark)); bytes.Equal(head, mark) {
		_, _ = src.Discard(len(mark))
	}
	skipSpace(src)
	skipWords(src)
	if utf16 := wide(src); utf16 != nil {
		src, r.decoded = r.capped(utf16.NewDecoder().Reader(src)), true
		skipSpace(src)
	}
	if head, _ := src.Peek(1); string(head) != "<" {
		r.text(src)
	} else if err := r.xml(src); err != nil {
		return Sitemap{}, err
	}
	return r.Sitemap, nil
}

var mark = []byte("\xef\xbb\xbf")

func skipSpace(src *bufio.Reader) {
	for {
		head, _ := src.Peek(1)
		if len(head) == 0 || !bytes.Contains([]byte(" \t\r\n"), head) {
			return
		}
		_, _ = src.Discard(1)
	}
}

// skipWords passes over what stands before an XML declaration: the warnings of a program, another byte order mark.
func skipWords(src *bufio.Reader) {
	head, _ := src.Peek(src.Size())
	if i := bytes.Index(head, []byte("<?xml ")); i > 0 && !root.Match(head[:i]) {
		_, _ = src.Discard(i)
	}
}

// wide is the encoding of a file in UTF-16, by its byte order mark or by the < that it begins with; nil = it is none.
func wide(src *bufio.Reader) encoding.Encoding {
	head, _ := src.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case len(head) < 4 || head[2]|head[3] == 0: // UTF-32
	case head[0] == '<' && head[1]|head[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case head[1] == '<' && head[0]|head[2] == 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// root finds the first element of a sitemap.
var root = regexp.MustCompile(`(?i)<([\w-]+:)?(urlset|sitemapindex|rss|feed|rdf)\b`)

type reader struct {
	Sitemap
	base    web.Base
	seen    map[string]bool
	bytes   int  // of the addresses
	decoded bool // the file is UTF-8 now, whatever it says itself
}

// add keeps an address, and says whether there is room for another.
func (r *reader) add(to *[]string, href string) bool {
	if len(r.seen) >= MaxEntries || r.bytes > maxBytes {
		r.Cut = true
		return false
	}
	if href = strings.TrimSpace(href); href == "" || strings.ContainsRune(href, utf8.RuneError) { // it is not whole
		return true
	}
	if a, ok := r.base.Resolve(href); ok && !r.seen[a.URL] {
		r.seen[a.URL] = true
		r.bytes += len(a.URL)
		*to = append(*to, a.URL)
	}
	return true
}

// text reads an address a line. A line that is too long for one is left out.
func (r *reader) text(src io.Reader) {
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, 2*maxLine)
	long := false
	lines.Split(func(data []byte, eof bool) (advance int, line []byte, err error) {
		switch i := bytes.IndexAny(data, "\r\n"); {
		case i >= 0:
			if advance = i + 1; !long {
				line = data[:i]
			}
			long = false
		case len(data) >= maxLine:
			advance, long = len(data), true
		case eof && !long && !r.Cut && len(data) > 0: // the last one of a file that was cut may be half an address
			advance, line = len(data), data
		}
		return advance, line, nil
	})
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if text := string(line); isAbsolute(text) && !r.add(&r.URLs, text) {
			return
		}
	}
}

// xml reads any of the XML forms. An address stands in loc of url or sitemap, in link of an RSS item, or in the href of
// a link of an Atom entry.
func (r *reader) xml(src *bufio.Reader) error {
	d := safexml.NewDecoder(begun(src), true, func(label string, input io.Reader) (io.Reader, error) {
		e, name := charset.Lookup(label)
		if !r.decoded && e != nil && !strings.HasPrefix(name, "utf-16") { // whose declaration could not be read so far
			input = e.NewDecoder().Reader(input)
		}
		return legal(input), nil
	})
	e := elements{reader: r}
	known := false
	for {
		t, err := d.RawToken()
		if err != nil && d.Resume() {
			r.Cut, e.in = true, false
			continue
		}
		if err != nil {
			r.Cut = r.Cut || !errors.Is(err, io.EOF) || len(e.path) > 0
			break
		}
		more := true
		switch t := t.(type) {
		case xml.StartElement:
			name := strings.ToLower(t.Name.Local)
			if known = known || slices.Contains(roots, name); !known {
				return fault.Newf(fault.Invalid, "read sitemap: the root element is %.40q", name)
			}
			more = e.begin(name, t.Attr)
		case xml.CharData:
			if e.in && len(e.value)+len(t) <= 4*web.MaxAddress {
				e.value = append(e.value, t...)
			}
		case xml.EndElement:
			more = e.end(strings.ToLower(t.Name.Local))
		}
		if !more {
			return nil
		}
	}
	if !known {
		return fault.Newf(fault.Invalid, "read sitemap: no XML element")
	}
	return nil
}

var roots = []string{"urlset", "sitemapindex", "rss", "feed", "rdf"}

// elements are what is read of an XML form.
type elements struct {
	*reader
	path  []string // names of the open ones
	outer []scope  // bases that those with an xml:base have replaced
	value []byte   // text of the innermost
	in    bool     // it is an address

	linked bool   // the item of RSS that is read has a link
	guid   string // and its guid, where that is an address
}

// A scope is the base outside of the element at a place of the path.
type scope struct {
	at   int
	base web.Base
}

// begin opens an element, and says whether there is room for more.
func (e *elements) begin(name string, attrs []xml.Attr) bool {
	if len(e.path) >= maxDepth {
		e.Cut = true
		return false
	}
	parent := ""
	if len(e.path) > 0 {
		parent = e.path[len(e.path)-1]
	}
	for _, a := range attrs {
		if a.Name.Space == "xml" && a.Name.Local == "base" {
			e.outer = append(e.outer, scope{len(e.path), e.base})
			e.base = e.base.Rebase(a.Value)
		}
	}
	e.path = append(e.path, name)
	e.value = e.value[:0]
	e.in = name == "loc" && (parent == "url" || parent == "sitemap") || name == "link" && parent == "item"
	switch {
	case name == "item":
		e.linked, e.guid = false, ""
	case name == "guid" && parent == "item":
		e.in = permanent(attrs)
	case name == "link" && parent == "entry":
		return e.add(&e.URLs, alternate(attrs))
	}
	return true
}

// end closes an element with all in it that was left open, and says whether there is room for more.
func (e *elements) end(name string) bool {
	if name == "item" && !e.linked && !e.add(&e.URLs, e.guid) {
		return false
	}
	if e.in && len(e.path) > 1 && e.path[len(e.path)-1] == name && !e.keep(name) {
		return false
	}
	e.in = false
	for i, v := range slices.Backward(e.path) {
		if v == name {
			e.path = e.path[:i]
			break
		}
	}
	for n := len(e.outer) - 1; n >= 0 && e.outer[n].at >= len(e.path); n-- {
		e.base, e.outer = e.outer[n].base, e.outer[:n]
	}
	return true
}

// keep keeps the text of the innermost element, and says whether there is room for more.
func (e *elements) keep(name string) bool {
	text, to := strings.TrimSpace(string(e.value)), &e.URLs
	switch {
	case name == "guid" && isAbsolute(text):
		e.guid, text = text, "" // it waits: the item may have a link
	case name == "guid":
		text = ""
	case name == "link":
		e.linked = e.linked || text != ""
	case e.path[len(e.path)-2] == "sitemap":
		to = &e.Sitemaps
	}
	return e.add(to, text)
}

// begun is a file of XML, legal where it is UTF-8: of another encoding it is so when that is read.
func begun(src *bufio.Reader) io.Reader {
	head, _ := src.Peek(128)
	file := declared(src)
	if m := encoded.FindSubmatch(head); m == nil || strings.EqualFold(string(m[1]), "utf-8") {
		return legal(file)
	}
	return file
}

// encoded is the encoding that a file says it is in.
var encoded = regexp.MustCompile(`^<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)`)

// version is the declaration of XML 1.1, which encoding/xml refuses.
var version = regexp.MustCompile(`^<\?xml\s+version\s*=\s*["']1\.1["']`)

// declared is the file as one of XML 1.0: for what is read of a sitemap they are the same.
func declared(src *bufio.Reader) io.Reader {
	head, _ := src.Peek(64)
	if head = version.Find(head); head == nil {
		return src
	}
	head = bytes.Replace(head, []byte("1.1"), []byte("1.0"), 1)
	_, _ = src.Discard(len(head))
	return io.MultiReader(bytes.NewReader(head), src)
}

// alternate is the href of an Atom link to the entry itself, "" of any other.
func alternate(attrs []xml.Attr) (href string) {
	for _, a := range attrs {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			relation := strings.TrimPrefix(strings.ToLower(a.Value), "http://www.iana.org/assignments/relation/")
			if relation != "alternate" {
				return ""
			}
		}
	}
	return href
}

// permanent says that a guid of RSS is the address of its item, as it is unless it says otherwise.
func permanent(attrs []xml.Attr) bool {
	return !slices.ContainsFunc(attrs, func(a xml.Attr) bool {
		return a.Name.Local == "isPermaLink" && a.Value == "false"
	})
}

// isAbsolute says that text begins as an address of http or https does.
func isAbsolute(text string) bool {
	lower := strings.ToLower(text[:min(len(text), len("https://"))])
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// unpack reads a file that may be packed by gzip, as far as its bounds.
func (r *reader) unpack(body []byte) *bufio.Reader {
	if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		return r.capped(bytes.NewReader(body))
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		r.Cut = true
		return bufio.NewReader(bytes.NewReader(nil))
	}
	return r.capped(z)
}

// capped ends with io.EOF at MaxSize, and where the file is broken; Cut says so.
func (r *reader) capped(src io.Reader) *bufio.Reader {
	return bufio.NewReader(&capped{src: src, left: MaxSize, cut: &r.Cut})
}

type capped struct {
	src  io.Reader
	left int // bytes
	cut  *bool
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	if n > c.left {
		n, err = c.left, io.EOF
		*c.cut = true
	}
	c.left -= n
	if err != nil && !errors.Is(err, io.EOF) {
		*c.cut = true
		err = io.EOF
	}
	return n, err
}
