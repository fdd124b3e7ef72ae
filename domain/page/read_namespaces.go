package page

import (
	"bytes"
)

// A scope is an element of XML that declares a namespace.
type scope struct {
	name   []byte // of the element, as written
	open   int    // elements of that name, itself included, that have not ended
	prefix []byte // that it declares; empty = that of elements without one
	known  bool   // as one of ours
}

// maxScopes bounds how many declarations are kept at once.
const maxScopes = 16

// ours says that elements with a prefix, or without one, are of HTML, SVG or MathML. A page that declares no namespace
// for those without means HTML.
func (r *reader) ours(prefix []byte, prefixed bool) bool {
	if !prefixed {
		prefix = nil
	}
	for i := len(r.scopes) - 1; i >= 0; i-- {
		if s := &r.scopes[i]; bytes.Equal(s.prefix, prefix) {
			return s.known
		}
	}
	return !prefixed
}

// namespaces notes what the tag at pos, which stays to be read, declares.
func (r *reader) namespaces() {
	at, name := r.scanner, r.tagName()
	for i := range r.scopes {
		if bytes.Equal(r.scopes[i].name, name) {
			r.scopes[i].open++
		}
	}
	at.pos += len(name)
	for {
		key, v, _, ok := at.attr()
		if !ok {
			return
		}
		prefix, declares := bytes.CutPrefix(key, []byte("xmlns"))
		if !declares || len(r.scopes) == maxScopes || len(prefix) > 0 && prefix[0] != ':' {
			continue
		}
		known := false
		switch string(trim(v)) {
		case "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML":
			known = true
		}
		if len(prefix) == 0 && string(name) == "html" { // however the address is written: the page says that it is HTML
			known = true
		}
		r.scopes = append(r.scopes, scope{name, 1, bytes.TrimPrefix(prefix, []byte(":")), known})
	}
}

// leave ends the declarations of an element that ends.
func (r *reader) leave(name []byte) {
	ended := -1
	for i := range r.scopes {
		if s := &r.scopes[i]; bytes.Equal(s.name, name) {
			if s.open--; s.open == 0 && ended < 0 {
				ended = i
			}
		}
	}
	if ended >= 0 { // and those of elements within it, which have no end
		r.scopes = r.scopes[:ended]
	}
}
