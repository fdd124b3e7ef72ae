// Package rebind keeps web pages from reading a server that asks for no credentials. A page whose own name is made to
// resolve to the server's address (DNS rebinding) is of the same origin as the server, for its browser: it could read
// every answer. What tells its requests apart is the name in their header Host.
package rebind

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Names are the names by which a server may be called, besides IP addresses, localhost and what is below it.
type Names map[string]bool

// NamesOf are these, each with or without a port; "" is none.
func NamesOf(hosts ...string) Names {
	n := Names{"localhost": true}
	for _, host := range hosts {
		if host != "" {
			n[nameOf(host)] = true
		}
	}
	return n
}

// HostOf is the host of a URL; "" where it has none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Have says whether a request with that header Host is answered. A name without a dot is no exception: a network can
// answer for it, and add a domain to it. Addresses and localhost are not looked up, and every browser sends a Host.
func (n Names) Have(host string) bool {
	name := nameOf(host)
	_, err := netip.ParseAddr(name)
	return err == nil || host == "" || n[name] || strings.HasSuffix(name, ".localhost")
}

// nameOf is the name or address in the header Host.
func nameOf(host string) string {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	return strings.TrimSuffix(strings.Trim(name, "[]"), ".")
}

// Guard answers requests by other names itself, with 421. setting is the one whose host is a name; "" = there is none.
func (n Names) Guard(setting string, next http.Handler) http.Handler {
	says := "only requests to IP addresses and localhost are answered, so that no page of another site can read answers"
	if setting != "" {
		says += "; " + setting + " adds its host"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !n.Have(r.Host) {
			http.Error(w, says, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Proxy passes requests on to a server, with the Host that they came with, and its answers back as they come. trust are
// the authorities of its certificate; nil = the system's.
func Proxy(to *url.URL, trust *x509.CertPool, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		// Not http.DefaultTransport: the way to a server of ours leads through no proxy of the environment.
		Transport: &http.Transport{
			DialContext:        (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:    &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trust},
			DisableCompression: true, // what the browser takes is its own affair
			IdleConnTimeout:    30 * time.Second,
		},
		FlushInterval: -1, // at once
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.DebugContext(r.Context(), "a request could not be passed on", "to", to.Host, "err", err)
			http.Error(w, "the server behind this proxy does not answer: look at its log", http.StatusBadGateway)
		},
	}
}
