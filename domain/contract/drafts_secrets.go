package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CrawlCookie is a cookie that a page is asked with.
type CrawlCookie struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Path  string `json:"path,omitempty"` // that requests begin with; "" = /
}

// Limits of the headers and cookies of one crawl request.
const (
	maxHeaders     = 32
	maxHeaderName  = 100
	maxHeaderValue = 4096
	maxHeaderBytes = 16 << 10 // of all names and values
	maxCookies     = 50
	maxCookieBytes = 4096 // of name and value: browsers keep no larger one
	maxCookiePath  = 1024
)

// httpToken is the name of a header or a cookie.
var httpToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// ownHeaders are those that the browser or the connection sets, with what to do instead.
var ownHeaders = map[string]string{
	"host": "is made of the URL", "cookie": "is refused: use cookies", "cookie2": "is refused: use cookies",
	"content-length": "is refused: the request has no body", "content-type": "is refused: the request has no body",
	"content-encoding": "is refused: the request has no body", "expect": "is refused: the request has no body",
	"accept-encoding": "is refused: the browser knows what it can read",
	"range":           "is refused: a part of a page cannot be read",
	"connection":      ofConnection, "keep-alive": ofConnection, "te": ofConnection, "trailer": ofConnection,
	"transfer-encoding": ofConnection, "upgrade": ofConnection, "http2-settings": ofConnection, "via": ofConnection,
}

const ofConnection = "is refused: it belongs to the connection"

// checkHeaders quotes no value, and no name that could be one.
func checkHeaders(e *Errors, headers map[string]string) {
	if len(headers) > maxHeaders {
		e.add("data.headers", "has %d headers, the most is %d", len(headers), maxHeaders)
		return
	}
	seen, total := map[string]bool{}, 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, low := headers[name], strings.ToLower(name)
		total += len(name) + len(value)
		if len(name) > maxHeaderName || !httpToken.MatchString(name) {
			e.add("data.headers", "has a name that is not the name of a header")
			continue
		}
		field := "data.headers." + name
		switch {
		case ownHeaders[low] != "":
			e.add(field, "%s", ownHeaders[low])
		case strings.HasPrefix(low, "proxy-"), strings.HasPrefix(low, "if-"), strings.HasPrefix(low, "sec-"),
			strings.HasPrefix(low, "access-control-"):
			e.add(field, "is refused: the browser sets it")
		case seen[low]:
			e.add(field, "is there twice")
		case len(value) > maxHeaderValue:
			e.add(field, "has %d bytes, the most is %d", len(value), maxHeaderValue)
		case !printable(value, "") || strings.TrimSpace(value) != value || value == "":
			e.add(field, "is not one line of printable ASCII without spaces around it")
		}
		seen[low] = true
	}
	if total > maxHeaderBytes {
		e.add("data.headers", "has %d bytes, the most is %d", total, maxHeaderBytes)
	}
}

// checkCookies quotes neither names nor values. secure says that the page is asked for by https.
func checkCookies(e *Errors, cookies []CrawlCookie, secure bool) {
	if len(cookies) > maxCookies {
		e.add("data.cookies", "has %d cookies, the most is %d", len(cookies), maxCookies)
		return
	}
	type key struct{ name, path string }
	seen := map[key]bool{}
	for i, c := range cookies {
		field := "data.cookies." + strconv.Itoa(i)
		as := key{c.Name, c.Path}
		host := hasPrefix(c.Name, "__Host-")
		switch {
		case !httpToken.MatchString(c.Name):
			e.add(field+".name", "is not the name of a cookie")
		case !printable(c.Value, ";") || strings.TrimSpace(c.Value) != c.Value:
			e.add(field+".value", "is not printable ASCII without semicolons and without spaces around it")
		case len(c.Name)+len(c.Value) > maxCookieBytes:
			e.add(field, "has %d bytes, the most is %d", len(c.Name)+len(c.Value), maxCookieBytes)
		case c.Path != "" && (c.Path[0] != '/' || len(c.Path) > maxCookiePath || !printable(c.Path, ";")):
			e.add(field+".path", "is not a path of at most %d bytes that begins with a slash", maxCookiePath)
		case (host || hasPrefix(c.Name, "__Secure-")) && !secure:
			e.add(field, "has a name that browsers take from https pages only")
		case host && c.Path != "" && c.Path != "/":
			e.add(field+".path", "is not /, as its name demands")
		case seen[as]:
			e.add(field, "is there twice")
		}
		seen[as] = true
	}
}

// hasPrefix says that the name of a cookie has a prefix, as browsers see it: whatever the case.
func hasPrefix(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// printable says that s is ASCII from space to tilde, without those of but.
func printable(s, but string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(but, r) })
}

// unreadRequest stands for a body that is no JSON and may have headers or cookies all the same.
const unreadRequest = `{"note":"the message was not JSON, and is not kept: it may have held headers or cookies"}`

// StripCrawlRequest returns the body of a crawl request without headers and cookies, wherever they stand, to be stored
// and shown. A body that has none is returned as it is, whatever it is. The data of one that had some is sealed then,
// which makes a replay find what is kept of them, or say that it is gone.
func StripCrawlRequest(body []byte) []byte {
	if !json.Valid(body) {
		low := bytes.ToLower(body)
		if bytes.Contains(low, []byte("headers")) || bytes.Contains(low, []byte("cookie")) {
			return []byte(unreadRequest)
		}
		return body
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var m any
	if err := d.Decode(&m); err != nil {
		return []byte(unreadRequest)
	}
	if !strip(m) {
		return body
	}
	if message, ok := m.(map[string]any); ok {
		for name, data := range message {
			if inner, ok := data.(map[string]any); ok && strings.EqualFold(name, "data") {
				inner["sealed"] = true
			}
		}
	}
	out, err := json.Marshal(m)
	if err != nil { // what was decoded can be encoded
		return []byte(unreadRequest)
	}
	return out
}

// strip deletes members that encoding/json would read as headers or cookies, at any depth, and says whether it did.
func strip(m any) (found bool) {
	switch v := m.(type) {
	case map[string]any:
		for name, value := range v {
			if strings.EqualFold(name, "headers") || strings.EqualFold(name, "cookies") {
				delete(v, name)
				found = true
			} else if strip(value) {
				found = true
			}
		}
	case []any:
		for _, value := range v {
			if strip(value) {
				found = true
			}
		}
	}
	return found
}
