package crawl

import (
	"bytes"
	"strings"
)

// Kind says whether an answer is a page whose links can be read, and whether it is to be read as XML. It goes by the
// content type, of which some servers write two, or no semicolon behind it; an answer without one, or with one that
// says nothing, is a page when it begins like one.
func Kind(contentType string, body []byte) (html, xml bool) {
	kind := strings.TrimSpace(strings.ToLower(contentType))
	if end := strings.IndexAny(kind, ";, \t"); end >= 0 {
		kind = kind[:end]
	}
	switch kind {
	case "text/html":
		return true, false
	case "application/xhtml+xml":
		return true, true
	case "", "*/*", "unknown/unknown":
		start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 1024)], " \t\r\n\ufeff"))
		for _, sign := range []string{"<!doctype html", "<html", "<head", "<body", "<!--", "<title", "<frameset"} {
			if bytes.HasPrefix(start, []byte(sign)) {
				return true, false
			}
		}
	}
	return false, false
}
