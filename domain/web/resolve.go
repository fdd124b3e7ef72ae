package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/mtlrent/conveyor/domain/fault"
)

// MaxAddress is the length of the longest canonical address, in bytes.
const MaxAddress = 4096

// maxHref is how long an address may be before it is read: every byte may become three.
const maxHref = 4 * MaxAddress

// An Address is a canonical http or https address: read by the WHATWG URL standard, without fragment, default port and
// credentials, with its query as that standard writes it.
type Address struct {
	URL  string // the whole of it, at most MaxAddress bytes
	Host string // as HostPort gives it: lower case, IDNA in ASCII, with a port that is not the scheme's
	Path string // from the first slash on, with the query
}

// Target is the address as net/http takes it for a request of exactly this address. url.Parse refuses "/100%" and
// rewrites "/a%2Fb|c", both of which the standard leaves as they are.
func (a Address) Target() *url.URL {
	u, err := url.Parse(a.URL)
	if err == nil && u.RequestURI() == a.Path {
		return u
	}
	path, query, has := strings.Cut(a.Path, "?")
	scheme, _, _ := strings.Cut(a.URL, ":")
	u = &url.URL{Scheme: scheme, Host: a.Host, Opaque: path, RawQuery: query, ForceQuery: has}
	if strings.HasPrefix(path, "//") { // would be taken for a host
		u.Opaque, u.Path = "", path
	}
	return u
}

// parser is the library's, with "^" escaped in paths, as the standard wants it since 2024, and without signs in the
// numbers of an IP address, which the library takes: "http://-1/" would be 255.255.255.255.
var parser = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')),
	whatwg.WithPreParseHostFunc(func(_ *whatwg.Url, host string) string {
		if strings.ContainsAny(host, "+-%") && signed(host) {
			return "<" // refused by any host
		}
		return host
	}))

// signed says that a host may be taken for an IP address with signed numbers. No name in the DNS is like that.
func signed(host string) bool {
	if plain, err := url.PathUnescape(host); err == nil {
		host = strings.ToLower(plain)
	}
	number := func(label string) bool {
		digits, hex := strings.CutPrefix(label, "0x")
		if digits == "" || digits[0] != '+' && digits[0] != '-' {
			return false
		}
		rest := strings.TrimLeft(digits[1:], "0123456789")
		return len(digits) > 1 && (rest == "" || hex && strings.Trim(rest, "0123456789abcdef") == "")
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	return last != "" && (isDigit(last[0]) || number(last)) && slices.ContainsFunc(labels, number)
}

// errAuthority is the error of an authority that is not read.
var errAuthority = errors.New("long credentials or host")

// excessive says that an address has credentials of more than maxUser bytes, or more than MaxAddress with the host.
// They are refused anyway, and the library's time for them is quadratic: two seconds for 16,000 times "@".
func excessive(href string) bool {
	if len(href) <= maxUser {
		return false
	}
	const slashes = "/\\"
	href = strings.TrimLeftFunc(href, func(c rune) bool { return c <= ' ' })
	rest := strings.TrimLeft(href, slashes+"\t\n\r")
	if colon := strings.IndexByte(rest, ':'); colon >= 0 && colon < strings.IndexAny(rest+"/", "/\\?#@") {
		rest = strings.TrimLeft(rest[colon+1:], slashes+"\t\n\r")
	} else if lead := href[:len(href)-len(rest)]; strings.Count(lead, "/")+strings.Count(lead, "\\") < 2 {
		return false // of no authority
	}
	authority := rest[:strings.IndexAny(rest+"/", "/\\?#")]
	return len(authority) > MaxAddress || strings.LastIndexByte(authority, '@') > maxUser
}

// maxUser is how long credentials may be to be read, in bytes.
const maxUser = 256

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Canonical reads an absolute address. It returns fault.Invalid for one that is not http or https, has credentials or
// no host, or is longer than MaxAddress.
func Canonical(address string) (Address, error) {
	b, err := NewBase(address)
	return b.Address, err
}

// A Base is the address that the links of a page are relative to.
type Base struct {
	Address
	origin string // scheme, host and port
	scheme string
	folder int // end of the folder of Path: behind its last slash
	query  int // end of the path proper in Path
	*library
	encoding encoding.Encoding // of the page, for the queries of its links; nil = UTF-8
}

// Encoded is the base of a page in an encoding, a label of the WHATWG Encoding Standard: letters outside of ASCII in
// the queries of its links are sent in it, as browsers do. Of one that is not known, and of UTF-16, that is UTF-8.
func (b Base) Encoded(label string) Base {
	b.encoding = nil
	if e, err := htmlindex.Get(label); err == nil && label != "" {
		if name, _ := htmlindex.Name(e); name != "utf-8" && name != "replacement" && !strings.HasPrefix(name, "utf-16") {
			b.encoding = e
		}
	}
	return b
}

// encoded is an address with the letters of its query in the encoding of the page. What the encoding does not have is
// written as a reference of HTML.
func (b *Base) encoded(href string) string {
	before, fragment, _ := strings.Cut(href, "#")
	path, query, has := strings.Cut(before, "?")
	if !has || b.encoding == nil || isASCII(query) {
		return href
	}
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	out.WriteString(path)
	out.WriteByte('?')
	for _, r := range query {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		bytes, err := b.encoding.NewEncoder().Bytes([]byte(string(r)))
		if err != nil || r == utf8.RuneError {
			fmt.Fprintf(&out, "%%26%%23%d%%3B", r)
			continue
		}
		for _, c := range bytes {
			if c > ' ' && c < 0x7f && strings.IndexByte("\"#<>'", c) < 0 {
				out.WriteByte(c)
			} else {
				out.WriteString(string([]byte{'%', hex[c>>4], hex[c&15]}))
			}
		}
	}
	out.WriteByte('#')
	out.WriteString(fragment)
	return out.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// A library is an address as the library holds it, read when that is first needed.
type library struct {
	once sync.Once
	url  *whatwg.Url
}

// NewBase reads an absolute address as Canonical does.
func NewBase(address string) (Base, error) {
	if a, ok, known := new(Base).plain(address); known && ok && len(a.URL) <= MaxAddress {
		return newBase(a, nil), nil
	}
	if len(address) <= maxHref && !excessive(address) {
		if u, err := parser.Parse(address); err == nil {
			if a, ok := canonical(u); ok {
				return newBase(a, u), nil
			}
		}
	}
	return Base{}, fault.Newf(fault.Invalid, "read address %q: expected http or https, a host and no credentials, "+
		"at most %d bytes", Show(address), MaxAddress)
}

func newBase(a Address, u *whatwg.Url) Base {
	b := Base{Address: a, origin: a.URL[:len(a.URL)-len(a.Path)], library: &library{url: u}}
	b.scheme, _, _ = strings.Cut(a.URL, ":")
	b.query = len(a.Path)
	if i := strings.IndexByte(a.Path, '?'); i >= 0 {
		b.query = i
	}
	b.folder = strings.LastIndexByte(a.Path[:b.query], '/') + 1
	return b
}

// parse resolves by the library.
func (b *Base) parse(href string) (*whatwg.Url, error) {
	if excessive(href) {
		return nil, errAuthority
	}
	b.library.once.Do(func() {
		if b.library.url == nil {
			b.library.url, _ = parser.Parse(b.URL) // it is canonical
		}
	})
	return b.library.url.Parse(href)
}

// Rebase is the base of a page that has a base element with this href.
func (b Base) Rebase(href string) Base {
	if b.library == nil || len(href) > maxHref || strings.TrimSpace(href) == "" {
		return b
	}
	u, err := b.parse(href)
	if err != nil || u.Scheme() == "data" || u.Scheme() == "javascript" {
		return b
	}
	if a, ok := canonical(u); ok {
		return newBase(a, u)
	}
	return Base{library: &library{url: u}} // absolute addresses still resolve
}

// Resolve reads an address as it stands on the page. It is not ok for one that Canonical refuses.
func (b Base) Resolve(href string) (a Address, ok bool) {
	if b.library == nil || len(href) > maxHref {
		return Address{}, false
	}
	if a, ok, known := b.plain(href); known {
		return a, ok && len(a.URL) <= MaxAddress
	}
	return b.slow(b.encoded(href))
}

// slow resolves by the library.
func (b *Base) slow(href string) (Address, bool) {
	u, err := b.parse(href)
	if err != nil {
		return Address{}, false
	}
	return canonical(u)
}

// plain resolves what most links look like, without the library: the same (a fuzz test compares them), at a tenth of
// the time. It does not know an address whose characters the standard would change, or whose host is unusual.
func (b *Base) plain(href string) (a Address, ok, known bool) {
	for href != "" && href[0] <= ' ' {
		href = href[1:]
	}
	for href != "" && href[len(href)-1] <= ' ' {
		href = href[:len(href)-1]
	}
	if i := strings.IndexByte(href, '#'); i >= 0 {
		href = href[:i]
	}
	path, query := href, ""
	if i := strings.IndexByte(href, '?'); i >= 0 {
		path, query = href[:i], href[i:]
	}
	colon, dots := -1, false
	for i := range len(path) {
		c := path[i]
		switch classes[c] {
		case special, inPath:
			return a, false, false
		case separator:
			if c == ':' && colon < 0 {
				colon = i
			}
			dots = dots || c == '.' || c == '%'
		}
	}
	for i := range len(query) {
		if c := classes[query[i]]; c == special || c == inQuery {
			return a, false, false
		}
	}
	if colon > 0 {
		if slash := strings.IndexByte(path, '/'); slash < 0 || slash > colon {
			switch scheme := path[:colon]; {
			case !isScheme(scheme):
			case scheme == "http" || scheme == "https":
				return absolute(path, query, colon)
			case strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"):
				return a, false, false
			default:
				return a, false, true
			}
		}
	}
	if b.origin == "" {
		return a, false, false
	}
	switch {
	case href == "":
		return b.Address, true, true
	case path == "":
		path = b.Path[:b.query]
		return b.at("", path, query), true, true
	case strings.HasPrefix(path, "//"):
		return absolute(b.scheme+":"+path, query, len(b.scheme))
	case path[0] == '/':
		return b.join("", path, query, dots)
	}
	return b.join(b.Path[:b.folder], path, query, dots)
}

// at is an address on the base's host.
func (b *Base) at(folder, path, query string) Address {
	a := Address{URL: b.origin + folder + path + query, Host: b.Host}
	a.Path = a.URL[len(b.origin):]
	return a
}

// join is an address on the base's host, whose path may have dot segments.
func (b *Base) join(folder, path, query string, dots bool) (a Address, ok, known bool) {
	if !dots {
		return b.at(folder, path, query), true, true
	}
	for rest := path; ; { // the usual "../" in front, and none behind
		after, up := strings.CutPrefix(rest, "../")
		if !up || folder == "" {
			break
		}
		rest, path = after, after
		if folder != "/" {
			folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
		}
	}
	if hasDots(path) {
		if folder, ok = withoutDots(folder + path); !ok {
			return a, false, false
		}
		path = ""
	}
	return b.at(folder, path, query), true, true
}

// absolute is an address with a scheme, "http" or "https" before the colon, and a host.
func absolute(address, query string, colon int) (a Address, ok, known bool) {
	rest, found := strings.CutPrefix(address[colon:], "://")
	if !found {
		return a, false, false
	}
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if name, port, has := strings.Cut(host, ":"); !plainHost(name) || has && !plainPort(port, address[:colon]) {
		return a, false, false
	}
	if hasDots(path) {
		if path, ok = withoutDots(path); !ok {
			return a, false, false
		}
		a.URL = address[:colon] + "://" + host + path + query
	} else if path == "" {
		a.URL = address[:colon] + "://" + host + "/" + query
	} else {
		a.URL = address + query
	}
	from := colon + len("://")
	a.Host, a.Path = a.URL[from:from+len(host)], a.URL[from+len(host):]
	return a, true, true
}

// hasDots says that a path may have a dot segment.
func hasDots(path string) bool {
	for i := 0; i < len(path); i++ {
		if (path[i] == '.' || path[i] == '%') && (i == 0 || path[i-1] == '/') {
			return true
		}
		if path[i] == '%' && strings.HasPrefix(path[i:], "%2e") || strings.HasPrefix(path[i:], "%2E") {
			return true
		}
	}
	return false
}

// withoutDots resolves the dot segments of an absolute path. It is not ok where one is escaped.
func withoutDots(path string) (string, bool) {
	out := make([]byte, 0, len(path))
	for rest := path[1:]; ; {
		segment, after, more := strings.Cut(rest, "/")
		switch segment {
		case "..":
			out = out[:max(0, bytes.LastIndexByte(out, '/'))]
			if !more {
				out = append(out, '/')
			}
		case ".":
			if !more {
				out = append(out, '/')
			}
		default:
			if len(segment) <= len("%2e%2e") && strings.Contains(segment, "%2") {
				return "", false
			}
			out = append(append(out, '/'), segment...)
		}
		if !more {
			return string(out), true
		}
		rest = after
	}
}

// plainHost says that a host is a name of ASCII in lower case that the standard does not change, not of IDNA, or an
// IPv4 address in its usual form.
func plainHost(host string) bool {
	if len(host) == 0 || len(host) > 253 {
		return false
	}
	label := 0 // where the last one begins
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		case i == label || i == len(host)-1 || host[i-1] == '-':
			return false
		case c == '-':
		case c == '.':
			if i-label > 63 {
				return false
			}
			label = i + 1
		default:
			return false
		}
	}
	if host[label] >= 'a' {
		return len(host)-label <= 63
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// plainPort says that a port is written as the standard does, and not the one of the scheme.
func plainPort(port, scheme string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && port[0] != '0' && (scheme != "http" || n != 80) && (scheme != "https" || n != 443)
}

// isScheme says that s may be the scheme of an address.
func isScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// The classes of characters in a path.
const (
	_         = iota
	separator // means something to plain
	special   // the standard may change it
	inPath    // likewise in a path, not in a query
	inQuery   // likewise in a query
)

// classes are those of every byte.
var classes = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>", c) >= 0:
			t[i] = special
		case strings.IndexByte("?^`{|}\\", c) >= 0:
			t[i] = inPath
		case c == '\'':
			t[i] = inQuery
		case strings.IndexByte(":.%", c) >= 0:
			t[i] = separator
		}
	}
	return t
}()

// canonical applies the rules of ours to an address that was read by the standard's.
func canonical(u *whatwg.Url) (Address, bool) {
	if s := u.Scheme(); s != "http" && s != "https" || u.Username() != "" || u.Password() != "" || u.Hostname() == "" {
		return Address{}, false
	}
	a := Address{URL: u.Href(true), Host: u.Host()}
	a.Path = a.URL[len(u.Scheme())+len("://")+len(a.Host):]
	return a, len(a.URL) <= MaxAddress
}
