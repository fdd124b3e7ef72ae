package crawl

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// A Scope says which addresses belong to a run.
type Scope struct {
	hosts  []string // as web.Address has them
	domain string   // registrable; its hosts are in scope too. "" = only hosts are
	port   string   // that hosts of domain must have; "" = none
	prefix string   // that a path must begin with
}

// NewScope is the scope of a run from root: the host of root and its www. twin (SameHost), those below a path (Prefix)
// or the whole registrable domain (SameDomain; of an IP address or a name that is a public suffix itself, the host). An
// unknown mode is fault.Invalid.
func NewScope(root web.Address, mode string) (Scope, error) {
	if !slices.Contains(ScopeModes, mode) {
		return Scope{}, fault.Newf(fault.Invalid, "settings.scopeMode: is %.40q, expected one of %v", mode, ScopeModes)
	}
	return ScopeOf(root, mode, twins(root.Host)), nil
}

// ScopeOf is the scope of a run whose hosts were decided when it began: allowed. An unknown mode is SameHost.
func ScopeOf(root web.Address, mode string, allowed []string) Scope {
	s := Scope{hosts: allowed}
	switch mode {
	case SameDomain:
		s.domain, s.port = registrable(root.Host)
	case Prefix:
		path, _, _ := strings.Cut(root.Path, "?")
		s.prefix = path[:strings.LastIndexByte(path, '/')+1]
	}
	return s
}

// Hosts are those that the scope names: the seed's and its www. twin, with their port.
func (s Scope) Hosts() []string { return s.hosts }

// Prefix is what the paths of the scope begin with; "" is any path.
func (s Scope) Prefix() string { return s.prefix }

// Has says that a belongs to the run.
func (s Scope) Has(a web.Address) bool {
	if !slices.Contains(s.hosts, a.Host) && !s.below(a.Host) {
		return false
	}
	return strings.HasPrefix(a.Path, s.prefix)
}

// below says that host is one of the scope's domain, on its port.
func (s Scope) below(host string) bool {
	if s.domain == "" {
		return false
	}
	name, port := split(host)
	if port != s.port {
		return false
	}
	sub, ok := strings.CutSuffix(strings.TrimSuffix(name, "."), s.domain)
	return ok && (sub == "" || strings.HasSuffix(sub, "."))
}

// twins are a host and the same with or without "www.". An IP address and a name without a dot have none.
func twins(host string) []string {
	name, _ := split(host)
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return []string{host}
	}
	if bare, ok := strings.CutPrefix(host, "www."); ok {
		return []string{bare, host}
	}
	return []string{host, "www." + host}
}

// registrable returns the registrable domain of a host, "" where it has none, and its port.
func registrable(host string) (domain, port string) {
	name, port := split(host)
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return "", port
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(name, "."))
	if err != nil {
		return "", port
	}
	return domain, port
}

// split takes the port, "" for none, off a host.
func split(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return host, ""
}
