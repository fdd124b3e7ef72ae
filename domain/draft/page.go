package draft

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/domain/price"
)

// A page is a document laid flat: its elements in document order, and its visible text as one string in which each
// block stands on lines of its own. Text offsets tell which element holds which text.
type page struct {
	w       weights
	base    *url.URL
	address *url.URL // that the page was loaded from; nil = not known
	site    string   // see siteOf
	hint    price.Hint
	els     []element
	text    string
	scripts []string
	options []int  // the <option> elements, whose text is not in text
	links   int    // how many links and pictures there are
	cards   []bool // see findCards; nil = not known yet
	besides []bool // the elements that are beside the product, see findBesides; nil = not known yet
	veils   []bool // those that are veiled, likewise

	stated map[*markup.Item]offer // see statedOffer
	reads  int                    // how many offers were looked at, see mostReads

	amounts []amountShown
	quotes  []*quote // the amounts of the data and of the text; set by likeliestQuote
	spans   []span   // where they stand, in order

	called   []string // names of the product outside the visible text
	name     string   // the product's name as the page shows it, else the first of called
	outNames []string // see outNames
	title    int      // the element that shows the product's name, -1 = none
	button   int      // the element that buys, -1 = none
	boxOut   bool     // the own buy box says that the product cannot be had; set by stockShown

	price string      // canonical, "" = none; known when the availability is looked for
	lost  []Candidate // see lose

	unheeded bool // something is said to be sold out that is not the whole product; set by stockShown
}

// A span is text[start:end].
type span struct{ start, end int }

// An element is one element of a page. The text inside it is text[start:end], the elements inside it are those after
// it up to last.
type element struct {
	node       *html.Node
	tag        atom.Atom
	parent     int // -1 = none
	last       int
	start, end int
	own        mark // of its own tag, names and style
	marks      mark // the same, its ancestors' too
	links      int  // how many links and pictures come before it
}

// inside says that the element i is e itself (which is at index at) or within it.
func (e *element) inside(at, i int) bool { return at <= i && i <= e.last }

// A pageWalk builds a page.
type pageWalk struct {
	p     *page
	seen  seenMarks
	text  strings.Builder
	space bool // white space waits to be written
	line  bool // a line end does
	gap   bool // a space does, where a digit follows: "$400" and "5 bids"
	seam  bool // an element began or ended since the last text
}

// mostForeseen is how many elements room is made for before there are any: the rest of a larger page grows.
const mostForeseen = 20_000

// What a page has, about: names of elements, and bytes of text an element.
const (
	someNames = 400
	someText  = 8
)

// maxDepth bounds recursion; a browser nests no deeper than 512 either.
const maxDepth = 512

// newPage lays a document out, of about so many elements.
func newPage(w weights, doc *html.Node, base *url.URL, elements int) *page {
	p := &page{w: w, base: base, site: siteOf(base.Hostname()), title: -1, button: -1}
	p.els = make([]element, 0, min(elements, mostForeseen))
	walk := pageWalk{p: p, seen: seenMarks{make(map[string]mark, someNames), make(map[string]mark, someNames),
		map[string]mark{}}}
	walk.text.Grow(min(elements, mostForeseen) * someText)
	walk.node(doc, -1, 0)
	p.text = walk.text.String()
	return p
}

// node lays out what shows of a node. Text outside of all elements is none.
func (w *pageWalk) node(n *html.Node, parent, depth int) {
	switch {
	case n.Type == html.TextNode && parent >= 0:
		w.write(n.Data)
	case n.Type == html.DocumentNode:
		w.children(n, parent, depth)
	case n.Type == html.ElementNode && depth <= maxDepth:
		w.element(n, parent, depth)
	}
}

// element lays out an element, and of one that is not shown keeps the scripts: <div hidden><script>…</script></div>.
func (w *pageWalk) element(n *html.Node, parent, depth int) {
	own := mark(0)
	switch n.DataAtom {
	case atom.Script:
		w.script(n)
		return
	case atom.Head:
		w.scriptsOf(n)
		return
	case atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Textarea, atom.Video,
		atom.Audio, atom.Canvas:
		return
	case atom.Html, atom.Body: // their names are of the site, their style is of a moment
	default:
		own = marksOf(n, w.seen)
	}
	if own&hidden != 0 && n.DataAtom != atom.Input {
		w.scriptsOf(n)
		return
	}
	i := w.open(n, own, parent)
	w.content(n, i, depth)
	w.close(i)
}

// open begins an element, and returns its index.
func (w *pageWalk) open(n *html.Node, own mark, parent int) int {
	e := element{node: n, tag: n.DataAtom, parent: parent, own: own, marks: own, links: w.p.links}
	if n.DataAtom == atom.A || n.DataAtom == atom.Img {
		w.p.links++
	}
	if parent >= 0 {
		e.marks |= w.p.els[parent].marks &^ notInherited
	}
	switch {
	case isBlock(n.DataAtom):
		w.line = true
	case w.endsInDigit() && w.cents(n, own, parent): // "12" and <sup>99</sup>
		w.text.WriteByte('.')
	case w.endsInDigit() && begins(n), w.endsInSymbol() && complete(n), w.endsInWord() && beginsLabel(n),
		own&aloud != 0 && w.endsInWord() && !w.endsInDigit():
		w.space = true
	}
	e.start = w.text.Len()
	i := len(w.p.els)
	w.p.els = append(w.p.els, e)
	return i
}

// content lays out what is in an element. Of a form's fields, a button alone shows its value:
// <input type="submit" value="Add to cart">.
func (w *pageWalk) content(n *html.Node, i, depth int) {
	switch n.DataAtom {
	case atom.Option:
		w.p.options = append(w.p.options, i)
	case atom.Select:
		w.selected(n, i, depth)
	case atom.Input:
		if t := strings.ToLower(attr(n, "type")); t == "submit" || t == "button" {
			w.write(attr(n, "value"))
		}
	default:
		w.seam = true
		w.children(n, i, depth)
		w.seam = true
	}
}

// close ends an element. Behind one that is all of an amount, a number is another: <b>$400</b>5 bids.
func (w *pageWalk) close(i int) {
	e := &w.p.els[i]
	e.last, e.end = len(w.p.els)-1, w.text.Len()
	text := w.text.String()
	switch s := strings.TrimSpace(text[e.start:]); {
	case isBlock(e.tag):
		w.line = true
	case len(s) > 1 && len(s) < 20 && isDigit(s[len(s)-1]) && (s[0] == '$' || s[0] >= utf8.RuneSelf), endsInCents(text):
		w.gap = true
	}
}

// endsInCents says that a text ends in an amount with its cents behind the currency: "109€90".
func endsInCents(s string) bool {
	n := len(s) - 2
	if n < 2 || !isDigit(s[n]) || !isDigit(s[n+1]) {
		return false
	}
	sign, size := utf8.DecodeLastRuneInString(s[:n])
	return unicode.Is(unicode.Sc, sign) && n > size && isDigit(s[n-size-1])
}

func (w *pageWalk) children(n *html.Node, parent, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c, parent, depth+1)
	}
}

// selected keeps the options of a select as elements without text: of a closed list nothing but the choice shows.
func (w *pageWalk) selected(n *html.Node, parent, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.DataAtom == atom.Option:
			w.node(c, parent, depth+1)
		case c.DataAtom == atom.Optgroup:
			w.selected(c, parent, depth+1)
		}
	}
}

// scriptsOf keeps the scripts inside elements that are not shown.
func (w *pageWalk) scriptsOf(n *html.Node) {
	for d := range n.Descendants() {
		w.script(d)
	}
}

// script keeps a node that is a script: <script>var product = {"price": 49.90}</script>.
func (w *pageWalk) script(n *html.Node) {
	if n.DataAtom == atom.Script && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
		w.p.scripts = append(w.p.scripts, n.FirstChild.Data)
	}
}

// write adds text with its white space folded.
func (w *pageWalk) write(s string) {
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		} else if r > ' ' && r < 0x7f && !w.space && !w.line && !w.gap && !w.seam { // in a word
			for i+size < len(s) && s[i+size] > ' ' && s[i+size] < 0x7f {
				size++
			}
		}
		switch {
		case r <= ' ' || r >= utf8.RuneSelf && unicode.IsSpace(r):
			w.space = true
		case r == '\u200b' || r == '\u200e' || r == '\u200f' || r == '\ufeff' || r == '\u00ad' || r == '\u2060' ||
			r == '\u061c' || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
		default:
			switch {
			case w.text.Len() == 0:
			case w.line:
				w.text.WriteByte('\n')
			case w.space || w.gap && r <= '9' && isDigit(byte(r)) || w.seam && w.parts(r):
				w.text.WriteByte(' ')
			}
			w.space, w.line, w.gap, w.seam = false, false, false, false
			w.text.WriteString(s[i : i+size])
		}
		i += size
	}
}

// parts says that two elements are set apart though no white space is between them: a word or a percentage before a
// number, a small letter before a capital one. Boxes that only the style sheet tells from text are often written so.
func (w *pageWalk) parts(next rune) bool {
	last, _ := utf8.DecodeLastRuneInString(w.text.String())
	if unicode.IsDigit(next) {
		return unicode.IsLetter(last) || last == '%' || last == ')'
	}
	return unicode.IsUpper(next) && unicode.IsLower(last)
}

// endsInDigit says that the next text is glued to a digit.
func (w *pageWalk) endsInDigit() bool {
	s := w.text.String()
	return s != "" && !w.line && isDigit(s[len(s)-1])
}

// cents says that an element within an amount holds two digits and nothing else, set apart as cents are: the eye reads
// 12.99 where the text is 1299.
func (w *pageWalk) cents(n *html.Node, own mark, parent int) bool {
	if n.DataAtom != atom.Sup && n.DataAtom != atom.Small && own&fraction == 0 &&
		(parent < 0 || (w.p.els[parent].own|own)&costs == 0) {
		return false
	}
	s := innerText(n, 16)
	return len(s) >= 2 && isDigit(s[0]) && isDigit(s[1]) && (len(s) == 2 || len(s) < 8 && !strings.ContainsAny(s[2:],
		".,0123456789"))
}

// begins says that an element holds an amount of its own, which is not to be glued to the digit before it.
func begins(n *html.Node) bool {
	s := innerText(n, 16)
	digit := strings.IndexAny(s, "0123456789")
	if digit < 0 || digit > 6 {
		return false
	}
	return digit > 0 && !strings.ContainsAny(s[:1], ".,' -%") || digit == 0 && strings.ContainsAny(s, ".,")
}

// endsInSymbol says that the next text is glued to the symbol of a currency.
func (w *pageWalk) endsInSymbol() bool {
	r, _ := utf8.DecodeLastRuneInString(w.text.String())
	return !w.line && unicode.Is(unicode.Sc, r)
}

// complete says that an element begins with a number and has a currency of its own, so that the one before it belongs
// to another amount: "1 299 ₽" and "1 999 ₽".
func complete(n *html.Node) bool {
	s := innerText(n, 16)
	return s != "" && isDigit(s[0]) && strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Sc, r) })
}

// endsInWord says that the next text is glued to a letter or a digit.
func (w *pageWalk) endsInWord() bool {
	r, _ := utf8.DecodeLastRuneInString(w.text.String())
	return !w.line && !w.space && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// beginsLabel says that an element begins with a label of its own, "EAN: 4006…", which is not glued to the value before
// it.
func beginsLabel(n *html.Node) bool {
	label, _, ok := strings.Cut(innerText(n, 32), ":")
	first, _ := utf8.DecodeRuneInString(label)
	return ok && len(label) < 20 && unicode.IsUpper(first) && !strings.ContainsAny(label, ".,0123456789")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isBlock says that an element stands on lines of its own.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Button, atom.Caption, atom.Dd,
		atom.Details, atom.Dialog, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Label, atom.Legend,
		atom.Li, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Select, atom.Summary, atom.Table,
		atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul:
		return true
	}
	return false
}

// attr is an attribute's value, "" where there is none.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// has says that an attribute is there.
func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// innerText is the text inside a node with its white space folded, cut at about max bytes, and after so many nodes that
// pages of empty elements take no longer.
func innerText(n *html.Node, max int) string {
	var b strings.Builder
	nodes := 0
	for d := range n.Descendants() {
		if nodes++; nodes > 40+2*max {
			break
		}
		if d.Type == html.TextNode && d.Parent.DataAtom != atom.Script && d.Parent.DataAtom != atom.Style {
			b.WriteString(d.Data)
			b.WriteByte(' ')
			if b.Len() > max+64 {
				break
			}
		}
	}
	return fold(b.String())
}

// fold makes every run of white space one space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// of is the visible text inside an element.
func (p *page) of(i int) string { return strings.TrimSpace(p.text[p.els[i].start:p.els[i].end]) }
