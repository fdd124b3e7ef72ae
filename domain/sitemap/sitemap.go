// Package sitemap reads the sitemaps of a site: lists of addresses that it wants robots to know.
package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// The bounds of the protocol. What lies beyond them is not read.
const (
	MaxSize    = 50 << 20 // bytes, decompressed
	MaxEntries = 50_000
	maxDepth   = 32 // of elements
)

// A Sitemap is what one file says.
type Sitemap struct {
	URLs     []string // addresses of pages, canonical, each once, in the order of the file
	Sitemaps []string // addresses of further sitemaps, likewise
	Cut      bool     // the file is broken or beyond the bounds: there may be more that was not read
}

// Parse reads a sitemap at the address at, which relative addresses in it stand below: XML (a urlset, an index, RSS or
// Atom) or text with an address a line, either one compressed by gzip or not. A broken file gives what was read before
// the fault, with Cut. A file that is no sitemap is fault.Invalid.
func Parse(body []byte, at string) (Sitemap, error) {
	base, err := web.NewBase(at)
	if err != nil {
		return Sitemap{}, err
	}
	r := reader{base: base, seen: map[string]bool{}}
	body, r.Cut = unpack(body)
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(bytes.NewReader(body))
		body, _ = io.ReadAll(io.LimitReader(utf16, MaxSize)) // reading and decoding do not fail
		body, r.decoded = bytes.TrimLeft(body, "\ufeff \t\r\n"), true
	}
	if !bytes.HasPrefix(body, []byte("<")) {
		r.text(body)
	} else if err := r.xml(body); err != nil {
		return Sitemap{}, err
	}
	return r.Sitemap, nil
}

type reader struct {
	Sitemap
	base    web.Base
	seen    map[string]bool
	decoded bool // the file is UTF-8 now, whatever it says itself
}

// add keeps an address, and says whether there is room for another.
func (r *reader) add(to *[]string, href string) bool {
	if len(r.seen) >= MaxEntries {
		r.Cut = true
		return false
	}
	if href = strings.TrimSpace(href); href == "" {
		return true
	}
	if a, ok := r.base.Resolve(href); ok && !r.seen[a.URL] {
		r.seen[a.URL] = true
		*to = append(*to, a.URL)
	}
	return true
}

// text reads an address a line.
func (r *reader) text(body []byte) {
	if r.Cut { // the last one may be half an address
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	for line := range bytes.FieldsFuncSeq(body, func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = bytes.TrimSpace(line)
		lower := bytes.ToLower(line[:min(len(line), 8)])
		if !bytes.HasPrefix(lower, []byte("http://")) && !bytes.HasPrefix(lower, []byte("https://")) {
			continue
		}
		if !r.add(&r.URLs, string(line)) {
			return
		}
	}
}

// xml reads any of the XML forms. An address stands in loc of url or sitemap, in link of an RSS item, or in the href of
// a link of an Atom entry.
func (r *reader) xml(body []byte) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, nil, xml.HTMLEntity
	d.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		if r.decoded {
			return input, nil
		}
		return charset.NewReaderLabel(label, input)
	}
	var path []string
	var value []byte
	in := false // an element whose text is an address
	known := false
	for {
		t, err := d.RawToken()
		if err != nil {
			r.Cut = r.Cut || !errors.Is(err, io.EOF) || len(path) > 0
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			name := strings.ToLower(t.Name.Local)
			if len(path) == 0 && !known {
				switch name {
				case "urlset", "sitemapindex", "rss", "feed", "rdf":
					known = true
				default:
					return fault.Newf(fault.Invalid, "read sitemap: the root element is %.40q", name)
				}
			}
			if len(path) >= maxDepth {
				r.Cut = true
				return nil
			}
			parent := ""
			if len(path) > 0 {
				parent = path[len(path)-1]
			}
			path = append(path, name)
			value = value[:0]
			in = name == "loc" && (parent == "url" || parent == "sitemap") || name == "link" && parent == "item"
			if name == "link" && parent == "entry" && !r.add(&r.URLs, alternate(t.Attr)) {
				return nil
			}
		case xml.CharData:
			if in && len(value)+len(t) <= 4*web.MaxAddress {
				value = append(value, t...)
			}
		case xml.EndElement:
			name := strings.ToLower(t.Name.Local)
			if in && len(path) > 1 && path[len(path)-1] == name {
				to := &r.URLs
				if path[len(path)-2] == "sitemap" {
					to = &r.Sitemaps
				}
				if !r.add(to, string(value)) {
					return nil
				}
			}
			in = false
			for i := len(path) - 1; i >= 0; i-- {
				if path[i] == name {
					path = path[:i]
					break
				}
			}
		}
	}
	if !known {
		return fault.Newf(fault.Invalid, "read sitemap: no XML element")
	}
	return nil
}

// alternate is the href of an Atom link to the entry itself, "" of any other.
func alternate(attrs []xml.Attr) (href string) {
	for _, a := range attrs {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			if a.Value != "alternate" {
				return ""
			}
		}
	}
	return href
}

// unpack decompresses a gzip file; cut says that there is more, or that it is broken.
func unpack(body []byte) (plain []byte, cut bool) {
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, true
		}
		body, err = io.ReadAll(io.LimitReader(z, MaxSize+1))
		cut = err != nil
	}
	if len(body) > MaxSize {
		return body[:MaxSize], true
	}
	return body, cut
}
