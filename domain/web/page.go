// Package web has what pages of any site have in common: the request, the answer, its address, its pictures, and what a
// status, a refusal or a CAPTCHA means. It does no I/O.
package web

import (
	"errors"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/contract"
)

// ErrNoBrowser is in the chain of an error that says nothing of a page: there was no browser to open it with.
var ErrNoBrowser = errors.New("there is no browser")

// ErrNoNetwork is in the chain of an error that says nothing of a site: the network of this process is away.
var ErrNoNetwork = errors.New("our network seems to be away")

// A Request asks a site for a page. With neither a form nor JSON it is a GET.
type Request struct {
	URL    string
	Form   map[string][]string // sent by POST, URL-encoded
	JSON   string              // sent by POST as application/json; a request has this or a form
	Header map[string]string   // beside those of the transport
	Wait   string              // CSS selector of an element that scripts add; a browser waits a while for it. "" = no wait
	Quiet  bool                // a browser waits a while for what scripts still load
	Proxy  Proxy               // that it goes through, redirects included, and never otherwise

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

// Post returns the body of a request that is a POST and its type, and false for one that is a GET.
func (r Request) Post() (contentType, body string, ok bool) {
	switch {
	case r.Form != nil:
		return "application/x-www-form-urlencoded", url.Values(r.Form).Encode(), true
	case r.JSON != "":
		return "application/json", r.JSON, true
	}
	return "", "", false
}

// An Exchange is one request and its answer; no redirect was followed.
type Exchange struct {
	Page
	Header     textproto.MIMEHeader // of the response, as it came
	Proto      string               // "HTTP/1.1", "HTTP/2.0"
	RedirectTo string               // where a redirect leads, resolved; as written where that is no address; "" = nowhere

	Raw       []byte        // the body decompressed, before conversion to UTF-8; Body may share its memory
	Length    int64         // of the body decompressed, in bytes; where it was not read, by Content-Length; -1 = not known
	Cut       bool          // Raw is not the whole body
	Charset   string        // of the text, by its name in the WHATWG Encoding Standard; "" = UTF-8
	FirstByte time.Duration // from the request until the header was there, without waiting for a turn
	Took      time.Duration // likewise, until the body was read
}

// A Photo is a picture that was downloaded, checked and decoded once, so it is whole.
type Photo struct {
	Data          []byte
	ContentType   string // by its bytes: image/jpeg, image/png, image/gif or image/webp
	Ext           string // that goes with ContentType: jpg, png, gif or webp
	Width, Height int    // pixels; of a moving picture, of its first frame
	Thumbnail     []byte // JPEG
	Perceptual    uint64 // hash of what it looks like: copies differ in a few bits; 0 = it says too little
}

// Link resolves an address on the page against the page's own: absolute http or https, without its fragment, and bare
// percent signs of its path escaped. It returns nil for any other text.
func (p Page) Link(href string) *url.URL {
	u, err := url.Parse(contract.EscapedLink(strings.TrimSpace(href)))
	if err != nil || href == "" {
		return nil
	}
	for _, own := range [...]string{p.URL, p.Asked} {
		if base, err := url.Parse(contract.Escaped(own)); err == nil && base.Host != "" {
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
