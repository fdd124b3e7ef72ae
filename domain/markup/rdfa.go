package markup

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A scope is the context of an element of RDFa.
type scope struct {
	item *Item
	rel  []string // properties of item that the next items below are (rel, from before RDFa 1.1)
}

// rdfa reads RDFa Lite, and of older RDFa the rel and about that shops still have. It notes meta elements, too, which
// are all that there is where no element has a type.
func (r *reader) rdfa(doc *html.Node, s surveyed) {
	if !s.typed {
		for _, n := range s.metas {
			if r.visit() {
				r.rdfaElement(n, scope{})
			}
		}
		return
	}
	for c := range doc.ChildNodes() {
		r.rdfaAt(c, scope{})
	}
}

func (r *reader) rdfaAt(n *html.Node, in scope) {
	if !r.visit() {
		return
	}
	if n.Type == html.ElementNode {
		in = r.rdfaElement(n, in)
	}
	for c := range n.ChildNodes() {
		r.rdfaAt(c, in)
	}
}

// rdfaElement reads one element and returns the scope of its children.
func (r *reader) rdfaElement(n *html.Node, in scope) scope {
	names, hasProp := attr(n, "property")
	kinds, hasType := attr(n, "typeof")
	rel, _ := attr(n, "rel")
	var rels []string
	for name := range strings.FieldsSeq(rel) {
		if strings.Contains(name, ":") { // not "nofollow"
			rels = append(rels, local(name))
		}
	}
	if n.Data == "meta" {
		if name, ok := attr(n, "name"); ok {
			r.addMeta(n, name)
		}
		if hasProp && (in.item == nil || strings.Contains(names, ":")) {
			r.addMeta(n, names)
		}
	}
	props := locals(names)
	if hasType {
		i := r.item(RDFa, n)
		if i == nil {
			return in
		}
		i.Types = locals(kinds)
		for _, name := range []string{"resource", "about", "href", "src"} {
			if id, ok := attr(n, name); ok {
				i.ID = r.address(id)
				break
			}
		}
		props = slices.Concat(props, in.rel, rels)
		if in.item == nil || len(props) == 0 {
			r.top = append(r.top, i)
		} else {
			for _, prop := range props {
				in.item.add(prop, Value{Item: i})
			}
		}
		return scope{item: i}
	}
	if in.item == nil {
		return in
	}
	if hasProp {
		for _, prop := range props {
			in.item.add(prop, textOf(r.rdfaValue(n, prop)))
		}
	}
	if len(rels) > 0 {
		for _, name := range []string{"resource", "href"} {
			if ref, ok := attr(n, name); ok {
				for _, rel := range rels {
					in.item.add(rel, textOf(r.address(ref)))
				}
				return in
			}
		}
		in.rel = rels
	}
	return in
}

// rdfaValue is the value that an element gives a property.
func (r *reader) rdfaValue(n *html.Node, prop string) string {
	if _, ok := attr(n, "content"); !ok {
		if ref, ok := attr(n, "resource"); ok {
			return r.address(ref)
		}
	}
	return r.value(n, prop)
}
