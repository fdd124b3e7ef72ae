package page

// An element is what a tag means to a reader.
type element uint8

// The elements. Those from block on part the words around them.
const (
	inline element = iota + 1
	anchor
	area
	base
	link
	meta
	head
	document // html
	noscript
	template
	title
	notitle // a title that is not the page's
	script
	style
	block
	heading // h1, h2, h3
	body
	frame
	iframe
	svg // and math
	textarea
	noembed
	noframes
	xmp
	plaintext
)

// parts says that text before the tag and text behind it are not one word.
func (e element) parts() bool { return e >= block }

// rawNames are the elements whose content is text for HTML, and none of the page's.
var rawNames = map[element]string{
	style: "style", textarea: "textarea", iframe: "iframe", noembed: "noembed", noframes: "noframes",
}

// elementOf knows an element by its name.
func elementOf(name []byte) element {
	var lower [10]byte
	if len(name) > len(lower) {
		return block
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "a":
		return anchor
	case "area":
		return area
	case "base":
		return base
	case "link":
		return link
	case "meta":
		return meta
	case "head":
		return head
	case "html":
		return document
	case "noscript":
		return noscript
	case "template":
		return template
	case "title":
		return title
	case "script":
		return script
	case "style":
		return style
	case "body":
		return body
	case "h1", "h2", "h3":
		return heading
	case "frame":
		return frame
	case "iframe":
		return iframe
	case "svg", "math":
		return svg
	case "textarea":
		return textarea
	case "noembed":
		return noembed
	case "noframes":
		return noframes
	case "xmp":
		return xmp
	case "plaintext":
		return plaintext
	case "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
		"kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
		"sup", "time", "tt", "u", "var", "wbr":
		return inline
	}
	return block
}

// breaksOut says that a tag ends the svg or math element that it is in, by the HTML standard.
func breaksOut(name []byte) bool {
	var lower [10]byte
	if len(name) > len(lower) {
		return false
	}
	for i, c := range name {
		lower[i] = c | 0x20
	}
	switch string(lower[:len(name)]) {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
		"h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby",
		"s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}
