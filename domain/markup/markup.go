// Package markup reads the structured data of a page: JSON-LD, microdata, RDFa, and its meta elements.
package markup

import (
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A Syntax is how an item is written into the page.
type Syntax string

// The syntaxes that are read.
const (
	JSONLD    Syntax = "json-ld"
	Microdata Syntax = "microdata"
	RDFa      Syntax = "rdfa"
)

// An Item is a thing that the page describes, such as a product or its offer.
type Item struct {
	Syntax Syntax
	Types  []string           // without their vocabulary: "Product", "Offer"
	ID     string             // @id, itemid or resource, absolute where it is an address
	Props  map[string][]Value // by name, without its vocabulary; texts as they stand, addresses of JSON-LD not resolved
	Node   *html.Node         // where it stands; for JSON-LD its script
}

// A Value is a text or an item; exactly one is set, except that a text may be empty. A microdata or RDFa value that is
// an address is absolute.
type Value struct {
	Text string
	Item *Item

	line string // Text with its white space folded
}

// Data is the structured data of a page.
type Data struct {
	// Items are those that are not a part of another, in the order of the document. An item may be a part of several,
	// so that going through all paths may take for ever where Find does not; no item is a part of itself.
	Items []*Item
	// Meta is the content of meta elements by property, name, or, outside of items, itemprop; names in lower case.
	Meta map[string][]string
}

// Limits against hostile pages. Data beyond them is left out.
const (
	maxDepth = 64      // of objects in objects
	maxItems = 20_000  // of a page
	maxWork  = 4 << 20 // elements that are visited, and values of JSON-LD
	maxTerms = 100     // names that a context gives
	maxText  = 1 << 17 // bytes of one text
	maxNames = 50      // names in one attribute, and types of an item
	// Values of a property: items may be shared, so that each of thousands leads to all of them.
	maxValues = 5_000
)

// Read takes the structured data out of a page. Broken JSON is read as far as it makes sense. base resolves addresses,
// and may be nil; the page's own base element is the caller's matter.
func Read(doc *html.Node, base *url.URL) Data {
	r := &reader{base: base, work: maxWork, items: maxItems, meta: map[string][]string{}}
	s := survey(doc)
	r.jsonld(s.scripts)
	r.microdata(doc, s)
	r.rdfa(doc, s)
	return Data{Items: inOrder(doc, r.top), Meta: r.meta}
}

// A surveyed page has in it what the readers of the syntaxes begin with, so that the document is gone through once.
type surveyed struct {
	scripts, metas, scopes []*html.Node // script elements, meta elements, and those with an itemscope
	refers, typed          bool         // an element has an itemref, or a typeof
}

func survey(doc *html.Node) (s surveyed) {
	for n := following(doc, doc); n != nil; n = following(n, doc) {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			s.scripts = append(s.scripts, n)
		case "meta":
			s.metas = append(s.metas, n)
		}
		for k := range n.Attr {
			if n.Attr[k].Namespace != "" {
				continue
			}
			switch n.Attr[k].Key {
			case "itemscope":
				if len(s.scopes) == 0 || s.scopes[len(s.scopes)-1] != n {
					s.scopes = append(s.scopes, n)
				}
			case "itemref":
				s.refers = true
			case "typeof":
				s.typed = true
			}
		}
	}
	return s
}

// following is the node after n, within all, in the order of the document; nil = n is the last one.
func following(n, all *html.Node) *html.Node {
	if n.FirstChild != nil {
		return n.FirstChild
	}
	for ; n != all; n = n.Parent {
		if n.NextSibling != nil {
			return n.NextSibling
		}
	}
	return nil
}

type reader struct {
	base  *url.URL
	work  int // left to do
	items int // left to make
	top   []*Item
	meta  map[string][]string
}

// item makes an item, or nil where the page has too many.
func (r *reader) item(s Syntax, n *html.Node) *Item {
	if r.items--; r.items < 0 {
		return nil
	}
	return &Item{Syntax: s, Node: n, Props: map[string][]Value{}}
}

// visit counts an element and tells whether there may be another.
func (r *reader) visit() bool {
	r.work--
	return r.work >= 0
}

// address makes an address absolute where it can.
func (r *reader) address(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || r.base == nil || strings.HasPrefix(ref, "_:") {
		return ref
	}
	u, err := r.base.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}

func (i *Item) add(prop string, v Value) {
	if prop != "" && len(i.Props[prop]) < maxValues {
		i.Props[prop] = append(i.Props[prop], v)
	}
}

// textOf is the value that a text is.
func textOf(s string) Value { return Value{Text: s, line: collapse(s)} }

// Is tells whether the item has one of the types. Upper and lower case are the same, as pages confuse them.
func (i *Item) Is(types ...string) bool {
	for _, t := range i.Types {
		if slices.ContainsFunc(types, func(want string) bool { return strings.EqualFold(t, want) }) {
			return true
		}
	}
	return false
}

// Text returns the first text of a property that is not blank, the name where it is an item; "" = there is none. Runs
// of white space are one space.
func (i *Item) Text(prop string) string {
	for _, v := range i.Props[prop] {
		text := v.line
		if v.Item != nil {
			for _, name := range v.Item.Props["name"] {
				if text = name.line; name.Text != "" {
					break
				}
			}
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// Ref is Text for a property that is an address, or a word of a vocabulary: where that is a reference to an item
// without properties, {"@id": "https://schema.org/InStock"}, it is the ID of that.
func (i *Item) Ref(prop string) string {
	for _, v := range i.Props[prop] {
		if v.Item != nil && len(v.Item.Props) == 0 && v.Item.ID != "" {
			return v.Item.ID
		}
		if v.line != "" {
			return v.line
		}
	}
	return i.Text(prop)
}

// Items returns the items of a property.
func (i *Item) Items(prop string) []*Item {
	var items []*Item
	for _, v := range i.Props[prop] {
		if v.Item != nil {
			items = append(items, v.Item)
		}
	}
	return items
}

// Find returns the items of the types, wherever they stand, each once: those that contain others first.
func (d Data) Find(types ...string) []*Item {
	return slices.DeleteFunc(d.all(), func(i *Item) bool { return !i.Is(types...) })
}

// all returns every item once, those that contain others first.
func (d Data) all() []*Item {
	var found []*Item
	seen := map[*Item]bool{}
	var visit func(i *Item)
	visit = func(i *Item) {
		if seen[i] {
			return
		}
		seen[i] = true
		found = append(found, i)
		for _, prop := range slices.Sorted(maps.Keys(i.Props)) {
			for _, part := range i.Items(prop) {
				visit(part)
			}
		}
	}
	for _, i := range d.Items {
		visit(i)
	}
	return found
}

// inOrder sorts items by where they stand; those of one script stay as they are.
func inOrder(doc *html.Node, items []*Item) []*Item {
	at := map[*html.Node]int{}
	for _, i := range items {
		at[i.Node] = 0
	}
	if len(at) < 2 {
		return items
	}
	n, left := 0, len(at)
	for node := range doc.Descendants() {
		n++
		if _, ok := at[node]; ok {
			at[node] = n
			if left--; left == 0 {
				break
			}
		}
	}
	slices.SortStableFunc(items, func(a, b *Item) int { return at[a.Node] - at[b.Node] })
	return items
}

// local is a name without its vocabulary: Product of "https://schema.org/Product" and of "schema:Product".
func local(name string) string {
	name = strings.TrimRight(strings.TrimSpace(name), "/#")
	return name[strings.LastIndexAny(name, "/#:")+1:]
}

func locals(names string) []string { return distinct(strings.FieldsSeq(names)) }

// distinct are the first names of a list without their vocabulary, each once, at most maxNames.
func distinct(names iter.Seq[string]) []string {
	var list []string
	for name := range names {
		if name = local(name); name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
		if len(list) == maxNames {
			break
		}
	}
	return list
}

// collapse makes every run of white space one space.
func collapse(s string) string {
	if collapsed(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// collapsed says that collapse would change nothing.
func collapsed(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return s == "" || before != ' '
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

// blocks are elements that part words.
var blocks = map[string]bool{"br": true, "p": true, "div": true, "li": true, "ul": true, "ol": true, "tr": true,
	"td": true, "th": true, "table": true, "dt": true, "dd": true, "h1": true, "h2": true, "h3": true, "h4": true,
	"h5": true, "h6": true, "section": true, "article": true, "hr": true, "option": true}

// raised writes digits as they stand in a sup element, so that the cents of "63<sup>07</sup>" and the mark of a
// footnote are told from the number before them.
var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
	"8", "⁸", "9", "⁹")

// text is the text of an element as a reader sees it.
func (r *reader) text(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil && b.Len() < maxText && r.visit(); c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				text := c.Data[:min(len(c.Data), maxText)]
				if n.Data == "sup" {
					text = raised.Replace(text)
				}
				b.WriteString(text)
			case c.Type == html.ElementNode && c.Data != "script" && c.Data != "style" && c.Data != "template":
				if blocks[c.Data] {
					b.WriteByte(' ')
				}
				walk(c)
				if blocks[c.Data] {
					b.WriteByte(' ')
				}
			}
		}
	}
	walk(n)
	return strings.ToValidUTF8(collapse(b.String()), "")
}

// textual are properties that are no address even where they stand on a link: its text is meant.
var textual = map[string]bool{"name": true, "brand": true, "manufacturer": true, "title": true, "sku": true,
	"mpn": true, "price": true, "description": true, "category": true}

// value is the value that an element gives a property. The content attribute counts on every element, as search
// engines have it, unless it is blank and a text is there.
func (r *reader) value(n *html.Node, prop string) string {
	if v, ok := attr(n, "content"); ok && (strings.TrimSpace(v) != "" || n.FirstChild == nil) {
		return strings.TrimSpace(v)
	}
	var name string
	switch n.Data {
	case "a", "area", "link":
		name = "href"
		if textual[prop] && n.Data == "a" {
			return r.text(n)
		}
	case "img":
		if src, _ := attr(n, "src"); src == "" || strings.HasPrefix(src, "data:") || standsIn(src) { // it is loaded later
			if late := ImageAddress(n); late != "" {
				return r.address(late)
			}
		}
		name = "src"
	case "audio", "embed", "iframe", "source", "track", "video":
		name = "src"
	case "object":
		name = "data"
	case "data", "input", "meter":
		v, _ := attr(n, "value")
		return strings.TrimSpace(v)
	case "time":
		if v, ok := attr(n, "datetime"); ok {
			return strings.TrimSpace(v)
		}
	}
	if v, ok := attr(n, name); ok && name != "" {
		return r.address(v)
	}
	if n.Data == "meta" || n.Data == "link" {
		v, _ := attr(n, "itemtype") // <meta itemprop="priceType" itemtype="https://schema.org/ListPrice">
		return v
	}
	return r.text(n)
}
