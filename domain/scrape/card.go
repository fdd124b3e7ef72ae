package scrape

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
)

// Fingerprint hashes what a card says of the home, in an order that each platform keeps: 16 hexadecimal digits. White
// space is folded, and no two lists of parts run into each other.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		p = strings.Join(strings.Fields(p), " ")
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Link resolves an address that stands on the page against the page's own: absolute http or https, without its
// fragment. It returns nil for what is no such address.
func (p Page) Link(href string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil || href == "" {
		return nil
	}
	for _, own := range [...]string{p.URL, p.Asked} {
		if base, err := url.Parse(own); err == nil && base.Host != "" {
			u = base.ResolveReference(u)
			break
		}
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	return u
}
