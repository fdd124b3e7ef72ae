package markup

import (
	"strings"

	"golang.org/x/net/html"
)

// A micro reads microdata by the algorithm of the HTML standard.
type micro struct {
	*reader
	byID  map[string]*html.Node
	items map[*html.Node]*Item // those that have been begun
	open  map[*html.Node]bool  // those whose properties are being read
	part  map[*html.Node]bool  // those that are a property of another
	texts map[*html.Node]Value // of elements, which many items may refer to
}

// microdata reads the items of a page, and the meta elements that have an itemprop and belong to none.
func (r *reader) microdata(doc *html.Node, s surveyed) {
	m := &micro{r, map[string]*html.Node{}, map[*html.Node]*Item{}, map[*html.Node]bool{}, map[*html.Node]bool{},
		map[*html.Node]Value{}}
	if s.refers && len(s.scopes) > 0 {
		m.identify(doc)
	}
	for _, n := range s.scopes {
		m.item(n)
	}
	for _, n := range s.scopes {
		// An item that says whose property it is, but stands in nothing, is better than none.
		if i := m.items[n]; i != nil && !m.part[n] {
			r.top = append(r.top, i)
		}
	}
	for _, n := range s.metas {
		if names, ok := attr(n, "itemprop"); ok && !within(n, "itemscope") {
			r.addMeta(n, names)
		}
	}
}

// identify notes the elements that have an ID.
func (m *micro) identify(doc *html.Node) {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id, ok := attr(n, "id"); ok && m.byID[id] == nil {
			m.byID[id] = n
		}
	}
}

// item reads the item at an element; nil where there are too many.
func (m *micro) item(n *html.Node) *Item {
	if i, ok := m.items[n]; ok {
		return i
	}
	i := m.reader.item(Microdata, n)
	if i == nil {
		return nil
	}
	m.items[n] = i
	kinds, _ := attr(n, "itemtype")
	i.Types = locals(kinds)
	if id, ok := attr(n, "itemid"); ok {
		i.ID = m.address(id)
	}
	m.open[n] = true
	seen := map[*html.Node]bool{n: true}
	for c := range n.ChildNodes() {
		m.props(i, c, seen)
	}
	refs, _ := attr(n, "itemref")
	for id := range strings.FieldsSeq(refs) {
		if c := m.byID[id]; c != nil {
			m.props(i, c, seen)
		}
	}
	delete(m.open, n)
	return i
}

// props adds the properties at and below an element to an item.
func (m *micro) props(i *Item, n *html.Node, seen map[*html.Node]bool) {
	if n.Type != html.ElementNode || seen[n] || !m.visit() {
		return
	}
	seen[n] = true
	_, scope := attr(n, "itemscope")
	names, _ := attr(n, "itemprop")
	if props := locals(names); len(props) > 0 {
		var v Value
		switch {
		case scope && m.open[n]: // a part of itself
		case scope:
			if v.Item = m.item(n); v.Item != nil {
				m.part[n] = true
			}
		default:
			v = m.textAt(n, props[0])
		}
		if v.Item != nil || !scope {
			for _, prop := range props {
				i.add(prop, v)
			}
		}
	}
	if scope {
		return
	}
	for c := range n.ChildNodes() {
		m.props(i, c, seen)
	}
}

// textAt is the value of an element that is no item.
func (m *micro) textAt(n *html.Node, prop string) Value {
	v, ok := m.texts[n]
	if !ok {
		v = textOf(m.value(n, prop))
		m.texts[n] = v
	}
	return v
}

// within tells whether an element or one around it has an attribute.
func within(n *html.Node, name string) bool {
	for ; n != nil; n = n.Parent {
		if _, ok := attr(n, name); ok {
			return true
		}
	}
	return false
}

// addMeta notes a meta element under its names.
func (r *reader) addMeta(n *html.Node, names string) {
	content, ok := attr(n, "content")
	if !ok {
		return
	}
	for name := range strings.FieldsSeq(strings.ToLower(names)) {
		r.meta[name] = append(r.meta[name], strings.TrimSpace(content))
	}
}
