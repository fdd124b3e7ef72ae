package page

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Canonical returns the address that a page says it has, by its canonical link or its og:url, as it stands there; ""
// for a page that does not say.
func Canonical(body []byte) string {
	graph := ""
	for z := html.NewTokenizer(bytes.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return graph
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		name, more := z.TagName()
		tag, values := string(name), map[string]string{}
		if tag != "link" && tag != "meta" {
			continue
		}
		for more {
			var key, value []byte
			key, value, more = z.TagAttr()
			values[string(key)] = string(value)
		}
		switch {
		case tag == "link" && word([]byte(values["rel"]), "canonical") && strings.TrimSpace(values["href"]) != "":
			return strings.TrimSpace(values["href"])
		case tag == "meta" && graph == "" && values["property"] == "og:url":
			graph = values["content"]
		}
	}
}
