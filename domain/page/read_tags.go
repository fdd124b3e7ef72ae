package page

// A tag is a start tag that has been read.
type tag struct {
	element
	attrs       // of block, inline and heading elements only closed, which open takes back where HTML has no closed tags
	markup bool // even in elements whose content is raw otherwise: in XML, and in svg and math
}

// open reads a start tag, and the content of elements that have no markup in it.
func (r *reader) open() {
	t, name := r.tag()
	if r.cut {
		return
	}
	if t.parts() {
		r.text.space = true
	}
	if r.foreign > 0 && !r.o.XML && breaksOut(name) {
		r.foreign = 0
	}
	t.markup = r.o.XML || r.foreign > 0
	t.closed = t.closed && (t.markup || t.element == svg)
	switch t.element {
	case heading:
		r.head(true)
	case anchor, area:
		if r.linked == len(r.text.b) { // two links in a row are shown apart, as those of a menu are
			r.text.space = true
		}
		r.anchored = len(r.text.b)
		r.anchor(&t)
	case frame:
		r.frame(t.src)
	case iframe:
		r.frame(t.src)
		r.srcdoc(t.srcdoc)
		r.content(&t)
	case link:
		r.resource(&t)
	case base:
		r.baseAddress(&t)
	case document:
		r.language(&t)
	case meta:
		r.meta(&t)
	case noscript:
		r.noscript = !t.closed
	case body:
		r.noscript = false
	case svg:
		if !t.closed {
			r.foreign++
		}
	case template:
		r.template(&t)
	case title:
		r.titleElement(&t)
	case xmp, plaintext:
		r.verbatim(&t)
	case script, style, textarea, noembed, noframes:
		r.content(&t)
	}
}

// tag reads a start tag up to its content, and its name. The namespaces of XML that it declares hold for its own name;
// they end with it where it is closed.
func (r *reader) tag() (t tag, name []byte) {
	var whole []byte
	if r.o.XML {
		whole = r.tagName()
		r.namespaces()
	}
	t.element, name = r.name()
	switch t.element {
	case block, inline, heading:
		t.closed = r.skip()
	default:
		t.attrs = r.attrs()
	}
	if r.o.XML && t.closed {
		r.leave(whole)
	}
	return t, name
}

// visible says that a browser renders what is read now, and that it is no content of a title, a script or the like.
func (r *reader) visible() bool { return r.inert == 0 && r.mute == 0 }

// anchor notes the link of an a or area element: <a href="/en">, and in SVG <a xlink:href="/en">.
func (r *reader) anchor(t *tag) {
	if t.href == nil && r.foreign > 0 { // of SVG 1.1
		t.href = t.xlink
	}
	r.link(t.href, t.rel)
}

// resource notes the link of a link element: <link rel=alternate href="/en">. Hints to connect name a host, no page.
func (r *reader) resource(t *tag) {
	if r.o.LinkRel && !word(t.rel, "preconnect") && !word(t.rel, "dns-prefetch") {
		r.link(t.href, t.rel)
	}
}

// baseAddress keeps the address of the first base element that has one: <base href="/en/">. An empty one is that of the
// page, and that of SVG is none.
func (r *reader) baseAddress(t *tag) {
	if !r.based && t.href != nil && r.visible() && r.foreign == 0 {
		r.Base, r.based = string(trim(value(t.href))), true
	}
}

// language keeps the first language of an html element that has one: <html lang="fr-CA">.
func (r *reader) language(t *tag) {
	if r.Lang == "" {
		r.Lang = string(trim(value(t.lang[:min(len(t.lang), maxLang)])))
	}
}

// template begins a template element. A browser renders the one of a shadow root: <template shadowrootmode=open>.
func (r *reader) template(t *tag) {
	if t.closed {
		return
	}
	inert := t.shadow == nil
	r.templates = append(r.templates, inert)
	if inert {
		r.inert++
	}
}

// titleElement reads a title element. The first visible one is the page's: not that of an image, <svg><title>.
func (r *reader) titleElement(t *tag) {
	first := r.visible() && !r.titled && r.foreign == 0
	r.titled = r.titled || first
	switch {
	case !t.markup:
		if content := r.raw("title"); first {
			r.title.write(content, true)
		}
	case first && !t.closed:
		r.mute = title
	default:
		t.element = notitle
		r.content(t)
	}
}

// verbatim reads the content of an xmp element, or the rest of the page behind <plaintext>, as text without markup.
func (r *reader) verbatim(t *tag) {
	switch {
	case t.markup:
	case t.element == xmp:
		r.chars(r.raw("xmp"), false)
	default:
		r.chars(r.b[r.pos:], false)
		r.pos = len(r.b)
	}
}

// content passes over the content of an element that is no text of the page: at once where it is raw, and otherwise
// until its end tag.
func (r *reader) content(t *tag) {
	switch {
	case t.markup && !t.closed && r.mute == 0:
		r.mute = t.element
	case t.markup:
	case t.element == script:
		r.script()
	default:
		r.raw(rawNames[t.element])
	}
}

// close reads an end tag.
func (r *reader) close() {
	if r.o.XML {
		defer r.leave(r.tagName())
	}
	e, _ := r.name()
	r.skip()
	if r.cut {
		return
	}
	if e.parts() {
		r.text.space = true
	}
	if r.mute == e || r.mute == notitle && e == title {
		r.mute = 0
	}
	switch e {
	case heading:
		r.head(false)
	case anchor:
		if len(r.text.b) > r.anchored {
			r.linked = len(r.text.b)
		}
	case noscript, head:
		r.noscript = false
	case svg:
		r.foreign = max(0, r.foreign-1)
	case template:
		if n := len(r.templates); n > 0 {
			if r.templates[n-1] {
				r.inert--
			}
			r.templates = r.templates[:n-1]
		}
	}
}
