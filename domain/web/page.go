// Package web has what pages of any site have in common: the request, the answer, its address, its pictures, and what a
// status, a refusal or a CAPTCHA means. It does no I/O.
package web

import (
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// A Request asks a site for a page. Without a form it is a GET.
type Request struct {
	URL    string
	Form   map[string][]string // sent by POST, URL-encoded
	Header map[string]string   // beside those of the transport
	Wait   string              // CSS selector of an element that scripts add; a browser waits a while for it. "" = no wait

	// Of an exchange without redirects, see fetch.Client.Ask.
	Files bool  // the bodies of files that are no text are wanted as well, up to the largest size of a page
	Most  int64 // of any type, only the first so many bytes of the body are wanted, decompressed; 0 = a whole page
}

// A Page is the answer to a request, whatever its status.
type Page struct {
	Asked       string        // the request's URL
	URL         string        // where redirects led
	Status      int           // HTTP
	ContentType string        // as the site says it
	RetryAfter  time.Duration // of that header; 0 = none
	Body        []byte        // UTF-8; of a browser, the document after its scripts ran
}

// An Exchange is one request and its answer; no redirect was followed.
type Exchange struct {
	Page
	Header     textproto.MIMEHeader // of the answer
	Proto      string               // "HTTP/1.1" or "HTTP/2.0"
	Raw        []byte               // the body before it was made UTF-8, decompressed
	Length     int64                // bytes of the body, decompressed; of one that was not taken whole, as it says; -1 = not known
	RedirectTo string               // the address of a redirect, resolved; "" = none
	FirstByte  time.Duration        // from asking to the headers
	Took       time.Duration        // from asking to the end of the body
}

// A Photo is a picture that was downloaded, checked and decoded once, so it is whole.
type Photo struct {
	Data          []byte
	ContentType   string // by its bytes: image/jpeg, image/png, image/gif or image/webp
	Ext           string // that goes with ContentType: jpg, png, gif or webp
	Width, Height int    // pixels; of a moving picture, of its first frame
	Thumbnail     []byte // JPEG
}

// Link resolves an address on the page against the page's own: absolute http or https, without its fragment. It returns
// nil for any other text.
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
