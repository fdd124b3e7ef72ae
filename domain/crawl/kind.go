package crawl

import (
	"bytes"
	"strings"
)

// Kind says whether an answer is a page whose links can be read, and whether it is to be read as XML. It goes by the
// content type; an answer without one is a page when it begins like one.
func Kind(contentType string, body []byte) (html, xml bool) {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch strings.TrimSpace(kind) {
	case "text/html":
		return true, false
	case "application/xhtml+xml":
		return true, true
	case "":
		start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 1024)], " \t\r\n\ufeff"))
		for _, sign := range []string{"<!doctype html", "<html", "<head", "<body", "<!--", "<title", "<frameset"} {
			if bytes.HasPrefix(start, []byte(sign)) {
				return true, false
			}
		}
	}
	return false, false
}
