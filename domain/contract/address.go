package contract

import "strings"

// Escaped is an address as url.Parse takes it: each bare percent sign of its path and its fragment, which browsers send
// as it is, is a %25: "/100%-cotton".
func Escaped(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !strings.Contains(rest, "%") {
		return address
	}
	begin := strings.IndexAny(rest+"/", "/?#") // the host stays
	before, fragment, _ := strings.Cut(rest[begin:], "#")
	path, _, _ := strings.Cut(before, "?")
	return scheme + "://" + rest[:begin] + escaped(path) + before[len(path):] +
		rest[begin+len(before):len(rest)-len(fragment)] + escaped(fragment)
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
