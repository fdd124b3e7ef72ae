package contract

import "strings"

// Escaped is an address as url.Parse takes it: each bare percent sign of its path and its fragment, which browsers send
// as it is, is a %25: "/100%-cotton".
func Escaped(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	return address[:len(address)-len(rest)] + behindHost(rest)
}

// EscapedLink is Escaped for an address that may be relative, as in a link or a redirect.
func EscapedLink(href string) string {
	i := strings.Index(href, "//")
	if i == 0 || i > 0 && href[i-1] == ':' && !strings.ContainsAny(href[:i], "/?#") {
		return href[:i+2] + behindHost(href[i+2:])
	}
	return behind(href)
}

// behindHost escapes what follows the host that s begins with; that stays.
func behindHost(s string) string {
	begin := strings.IndexAny(s+"/", "/?#")
	return s[:begin] + behind(s[begin:])
}

// behind escapes a path, with a query and a fragment or not.
func behind(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	before, fragment, _ := strings.Cut(s, "#")
	path, _, _ := strings.Cut(before, "?")
	return escaped(path) + before[len(path):] + s[len(before):len(s)-len(fragment)] + escaped(fragment)
}

// escaped writes each percent sign that no two hexadecimal digits follow as %25.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
