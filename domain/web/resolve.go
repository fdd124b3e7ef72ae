package web

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

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

// parser is the library's, with "^" escaped in paths, as the standard wants it since 2024.
var parser = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))

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
	url    *whatwg.Url
}

// NewBase reads an absolute address as Canonical does.
func NewBase(address string) (Base, error) {
	if len(address) <= maxHref {
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
	b := Base{Address: a, origin: a.URL[:len(a.URL)-len(a.Path)], url: u}
	b.scheme, _, _ = strings.Cut(a.URL, ":")
	b.query = len(a.Path)
	if i := strings.IndexByte(a.Path, '?'); i >= 0 {
		b.query = i
	}
	b.folder = strings.LastIndexByte(a.Path[:b.query], '/') + 1
	return b
}

// Resolve reads an address as it stands on the page. It is not ok for one that Canonical refuses.
func (b Base) Resolve(href string) (a Address, ok bool) {
	if b.url == nil || len(href) > maxHref {
		return Address{}, false
	}
	u, err := b.url.Parse(href)
	if err != nil {
		return Address{}, false
	}
	return canonical(u)
}

// canonical applies the rules of ours to an address that was read by the standard's.
func canonical(u *whatwg.Url) (Address, bool) {
	if s := u.Scheme(); s != "http" && s != "https" || u.Username() != "" || u.Password() != "" || u.Hostname() == "" {
		return Address{}, false
	}
	a := Address{URL: u.Href(true), Host: u.Host()}
	a.Path = a.URL[len(u.Scheme())+len("://")+len(a.Host):]
	return a, len(a.URL) <= MaxAddress
}
