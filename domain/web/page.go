// Package web is what any page is, whoever reads it: the request, the page that came back, its address, and what a
// status, a refusal or a CAPTCHA means. It does no I/O.
package web

import (
	"net/url"
	"strings"
	"time"
)

// A Request is what to ask a site for. Without a form it is a GET.
type Request struct {
	URL    string
	Form   map[string][]string // sent by POST, URL-encoded
	Header map[string]string   // beside those of the transport
	Wait   string              // CSS selector of what scripts put there; a browser waits for it a while. "" = for nothing
}

// A Page is what a request was answered with, whatever the status.
type Page struct {
	Asked       string        // the request's URL
	URL         string        // where redirects led
	Status      int           // HTTP
	ContentType string        // as the site says it
	RetryAfter  time.Duration // of that header; 0 = none
	Body        []byte        // UTF-8; of a browser, the document after its scripts ran
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
