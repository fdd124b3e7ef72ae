package web

import (
	"net/url"
	"strings"

	"github.com/mtlrent/conveyor/domain/contract"
)

// maxShown is how much of an address Show returns, in bytes.
const maxShown = 200

// Show is an address as logs, errors, IDs and summaries may hold it: without its user, query and fragment, where
// secrets are, and at most 200 bytes of it. A query that was there shows as "?…". It is "" where address is none.
func Show(address string) string {
	u, err := url.Parse(contract.Escaped(address))
	if err != nil {
		return ""
	}
	return ShowURL(u)
}

// ShowURL is Show for an address that has been read.
func ShowURL(u *url.URL) string {
	s := u.Scheme + "://" + u.Host + u.EscapedPath()
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	if u.RawQuery != "" {
		s += "?…"
	}
	return s
}

// Host is the name or IP address in an address, in lower case and without a port; "" where it has none.
func Host(address string) string {
	u, err := url.Parse(contract.Escaped(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// HostPort is the host of an address that politeness is owed to: in lower case, with its port unless that is the one of
// the scheme.
func HostPort(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return host
}
