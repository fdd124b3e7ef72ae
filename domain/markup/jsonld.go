package markup

import (
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"

	dom "golang.org/x/net/html"
)

// jsonld reads the scripts of a page.
func (r *reader) jsonld(scripts []*dom.Node) {
	var items []*Item
	for _, n := range scripts {
		if n.FirstChild == nil {
			continue
		}
		if kind, _ := attr(n, "type"); !strings.Contains(strings.ToLower(kind), "ld+json") {
			continue
		}
		ld := &linked{reader: r, script: n}
		for _, v := range parseJSON(n.FirstChild.Data, &r.work) {
			ld.items(v, nil, 1)
		}
		items = append(items, ld.top...)
	}
	resolve(items)
	r.top = append(r.top, items...)
}

// linked makes items of one script.
type linked struct {
	*reader
	script *dom.Node
	top    []*Item
}

// items adds the items of a value that is not a part of an item.
func (ld *linked) items(n *node, terms map[string]string, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	if n.kind == '[' {
		for _, v := range n.vals {
			ld.items(v, terms, depth+1)
		}
		return
	}
	if n.kind != '{' {
		return
	}
	terms = context(n.get("@context"), terms)
	if i := ld.item(n, terms, depth); i != nil && (len(i.Props) > 0 || len(i.Types) > 0) {
		ld.top = append(ld.top, i)
	}
	ld.items(n.get("@graph"), terms, depth+1)
}

// item makes an item of an object.
func (ld *linked) item(n *node, terms map[string]string, depth int) *Item {
	i := ld.reader.item(JSONLD, ld.script)
	if i == nil {
		return nil
	}
	kind := n.get("@type")
	if kind == nil {
		kind = n.get("type") // as the vocabulary's own context has it
	}
	i.Types = distinct(slices.Values(texts(kind)))
	id := n.get("@id")
	if id == nil {
		id = n.get("id")
	}
	if ids := texts(id); len(ids) > 0 {
		i.ID = ld.address(ids[0])
	}
	last := map[string]int{}
	for k, key := range n.keys {
		last[key] = k
	}
	for k, key := range n.keys {
		prop, ok := terms[key]
		if !ok {
			prop = small(local(key))
			if _, both := last[prop]; both && prop != local(key) {
				continue // "Name" beside "name" is the program's own
			}
		}
		if strings.HasPrefix(key, "@") || last[key] != k {
			continue
		}
		for _, v := range ld.values(n.vals[k], terms, depth+1) {
			i.add(prop, v)
		}
	}
	return i
}

// small is the name of a property that begins with a capital, "Offers" or "SKU", as the vocabulary has it: none of its
// properties does.
func small(prop string) string {
	if prop == "" || prop[0] < 'A' || prop[0] > 'Z' {
		return prop
	}
	if prop == strings.ToUpper(prop) {
		return strings.ToLower(prop)
	}
	return strings.ToLower(prop[:1]) + prop[1:]
}

// values reads a property.
func (ld *linked) values(n *node, terms map[string]string, depth int) []Value {
	switch {
	case n == nil || depth > maxDepth:
		return nil
	case n.kind == '"':
		text := unescape(unquote(n.text))
		if len(text) > maxText {
			text = inlinePicture.ReplaceAllString(text, "")
		}
		if len(text) > maxText {
			text = strings.ToValidUTF8(text[:maxText], "")
		}
		return []Value{textOf(text)}
	case n.kind == '[':
		var all []Value
		for _, v := range n.vals {
			all = append(all, ld.values(v, terms, depth+1)...)
		}
		return all
	}
	for _, wrap := range []string{"@value", "@list", "@set", "@graph"} {
		if v := n.get(wrap); v != nil {
			return ld.values(v, terms, depth+1)
		}
	}
	if i := ld.item(n, context(n.get("@context"), terms), depth); i != nil {
		return []Value{{Item: i}}
	}
	return nil
}

// inlinePicture is one that is written into a text, and may be longer than all that is kept of it.
var inlinePicture = regexp.MustCompile(`data:image/[^"'<>()\s]*`)

// context adds the names that a context object gives to properties: {"title": "schema:name"}.
func context(n *node, terms map[string]string) map[string]string {
	if n == nil || n.kind == '"' {
		return terms
	}
	if n.kind == '[' {
		for _, v := range n.vals {
			terms = context(v, terms)
		}
		return terms
	}
	terms = maps.Clone(terms)
	if terms == nil {
		terms = map[string]string{}
	}
	for k, key := range n.keys {
		v := n.vals[k]
		if v != nil && v.kind == '{' {
			v = v.get("@id")
		}
		if len(terms) == maxTerms {
			break
		}
		// A prefix, such as "schema": "https://schema.org/", is no name.
		if v == nil || v.kind != '"' || strings.HasPrefix(key, "@") || strings.HasPrefix(v.text, "@") ||
			strings.HasSuffix(v.text, "/") || strings.HasSuffix(v.text, "#") {
			continue
		}
		if name := local(v.text); name != "" {
			terms[key] = name
		}
	}
	return terms
}

// texts returns the texts of a value, or of an array.
func texts(n *node) []string {
	switch {
	case n == nil:
		return nil
	case n.kind == '"':
		return []string{n.text}
	}
	var all []string
	if n.kind == '[' {
		for _, v := range n.vals {
			if v.kind == '"' {
				all = append(all, v.text)
			}
		}
	}
	return all
}

var entity = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});`)

// unquote takes off the quotes of a text that was made JSON twice, "\"EUR\"".
func unquote(s string) string {
	if in := strings.Trim(s, `"`); in != "" && len(in) == len(s)-2 && s[0] == '"' && !strings.Contains(in, `"`) {
		return in
	}
	return s
}

// unescape reads entities of HTML, which mean nothing in a script, but which shops write there. The address
// "?a=1&copy=2" holds none.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return entity.ReplaceAllStringFunc(s, html.UnescapeString)
}

// resolve puts items in the place of references to them, {"@id": "#shop"}. Where that would make an item a part of
// itself, the reference stays.
func resolve(items []*Item) {
	known := map[string]*Item{}
	all := (Data{Items: items}).all()
	for _, i := range all {
		if old := known[i.ID]; i.ID != "" && len(i.Props) > 0 && (old == nil || len(old.Props) < len(i.Props)) {
			known[i.ID] = i
		}
	}
	if len(known) == 0 {
		return
	}
	const open, done = 1, 2
	state := map[*Item]int{}
	var visit func(i *Item)
	visit = func(i *Item) {
		state[i] = open
		for _, prop := range slices.Sorted(maps.Keys(i.Props)) {
			for k, v := range i.Props[prop] {
				if v.Item == nil {
					continue
				}
				if len(v.Item.Props) == 0 && known[v.Item.ID] != nil && state[known[v.Item.ID]] != open {
					v.Item = known[v.Item.ID]
					i.Props[prop][k] = v
				}
				if state[v.Item] == 0 {
					visit(v.Item)
				}
			}
		}
		state[i] = done
	}
	for _, i := range all {
		if state[i] == 0 {
			visit(i)
		}
	}
}
