package web

import "strings"

// MediaType reads a Content-Type header as browsers do, whatever is wrong with it. kind is the type in lower case,
// without its parameters, and charset the value of that parameter, as it is written. kind is "" for a header that says
// nothing of the body: an empty one, one without a type, and "*/*", "unknown/unknown" and "application/unknown". Of
// several types, as of a header that was sent twice, the last one counts, with the charset of an equal one before it.
func MediaType(header string) (kind, charset string) {
	for more := true; more; {
		var one string
		one, header, more = cutUnquoted(header, ',')
		if k, c := mediaType(one); k != "" && (k != kind || c != "") {
			kind, charset = k, c
		}
	}
	if kind == "unknown/unknown" || kind == "application/unknown" {
		return "", charset
	}
	return kind, charset
}

// mediaType reads one type with its parameters. It is "" where there is none, and for "*/*".
func mediaType(s string) (kind, charset string) {
	const space = " \t\r\n"
	kind, params, more := cutUnquoted(s, ';')
	kind = strings.ToLower(strings.Trim(kind, space))
	if i := strings.IndexAny(kind, space); i >= 0 { // "text/html charset=utf-8"
		kind = kind[:i]
	}
	if major, minor, ok := strings.Cut(kind, "/"); !ok || major == "" || minor == "" || kind == "*/*" {
		return "", ""
	}
	for more && charset == "" {
		var param string
		param, params, more = cutUnquoted(params, ';')
		if name, value, ok := strings.Cut(param, "="); ok && strings.EqualFold(strings.Trim(name, space), "charset") {
			charset = strings.Trim(value, space+`"'`)
		}
	}
	return kind, charset
}

// cutUnquoted is strings.Cut at the first separator that is not between quotation marks.
func cutUnquoted(s string, sep byte) (before, after string, found bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
