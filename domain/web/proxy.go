package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/mtlrent/conveyor/domain/fault"
)

// proxySchemes are the protocols of proxies, with their usual ports. By socks5 the proxy looks up the names of hosts.
var proxySchemes = map[string]string{"http": "80", "https": "443", "socks5": "1080"}

// A Proxy is what requests go through. It may hold credentials, so it is printed and marshalled without them. The zero
// Proxy is none.
type Proxy struct{ address string }

// ParseProxy reads an address such as socks5://user:password@10.0.0.7:1080. It may be private: an operator gives it.
// The errors are fault.Invalid and do not quote it: there may be a password in it.
func ParseProxy(s string) (Proxy, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || len(s) > 1000:
		return Proxy{}, fault.Newf(fault.Invalid, "proxy: not a valid address")
	case proxySchemes[u.Scheme] == "":
		return Proxy{}, fault.Newf(fault.Invalid, "proxy: scheme %.20q, want http, https or socks5", u.Scheme)
	case u.Hostname() == "":
		return Proxy{}, fault.Newf(fault.Invalid, "proxy: address has no host")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return Proxy{}, fault.Newf(fault.Invalid, "proxy: address has more than a host and a port")
	}
	if password, has := u.User.Password(); u.User != nil && (!has || password == "" || u.User.Username() == "") {
		return Proxy{}, fault.Newf(fault.Invalid, "proxy: credentials are not user:password")
	}
	u.Path = ""
	return Proxy{u.String()}, nil
}

// url is the address; it was read before.
func (p Proxy) url() *url.URL {
	u, err := url.Parse(p.address)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// IsZero says that there is no proxy.
func (p Proxy) IsZero() bool { return p.address == "" }

// Scheme is http, https or socks5.
func (p Proxy) Scheme() string { return p.url().Scheme }

// HostPort is where the proxy listens.
func (p Proxy) HostPort() string {
	u := p.url()
	host := u.Hostname()
	if slices.Contains([]byte(host), ':') {
		host = "[" + host + "]"
	}
	return host + ":" + cmp.Or(u.Port(), proxySchemes[u.Scheme])
}

// Credentials are user:password, URL-encoded; "" = none.
func (p Proxy) Credentials() string {
	if u := p.url(); u.User != nil {
		return u.User.String()
	}
	return ""
}

// User is what the proxy is told of the caller; ok is false where it is nothing.
func (p Proxy) User() (name, password string, ok bool) {
	u := p.url()
	if u.User == nil {
		return "", "", false
	}
	password, _ = u.User.Password()
	return u.User.Username(), password, true
}

// WithCredentials is the proxy with what Credentials returned.
func (p Proxy) WithCredentials(credentials string) (Proxy, error) {
	if credentials == "" {
		return p, nil
	}
	u := p.url()
	return ParseProxy(u.Scheme + "://" + credentials + "@" + u.Host)
}

// String is the address without credentials; "" without a proxy.
func (p Proxy) String() string {
	if p.IsZero() {
		return ""
	}
	u := p.url()
	return u.Scheme + "://" + u.Host
}

// GoString is String.
func (p Proxy) GoString() string { return p.String() }

// MarshalText is String.
func (p Proxy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// A ProxyError says that a proxy made no connection: it could not be reached, refused its caller, or did not reach the
// site. It is no word of the site, so it wraps nothing: a connection that the proxy refuses is not a site that does.
type ProxyError struct {
	Proxy  string // without credentials
	Reason string
}

// Error says which proxy, and why.
func (e *ProxyError) Error() string { return fmt.Sprintf("proxy %s: %.200s", e.Proxy, e.Reason) }
