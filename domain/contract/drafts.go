package contract

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// CrawlRequestedName is the event name of a CrawlRequested, and its AMQP type.
const CrawlRequestedName = "crawler/url.requested"

// CrawlRequested asks for a product draft of one page: exchange "events", routing key and queue
// crawler.url.requested.v1.
type CrawlRequested struct {
	EventName string       `json:"event_name"` // CrawlRequestedName; may be left out
	EventID   string       `json:"event_id"`   // required, a UUID made by the sender: the same one twice is one draft
	TS        *time.Time   `json:"ts,omitempty"`
	Data      CrawlRequest `json:"data"`
}

// CrawlRequest is the page to be crawled, how, and the folder for its files.
type CrawlRequest struct {
	URL    string `json:"url"`               // required: http(s) address
	OutDir string `json:"out_dir,omitempty"` // a folder below the one of all drafts; "" = out
	Locale string `json:"locale,omitempty"`  // of the browser, fr-CA; "" = en-US

	// What may let the requester in: stored sealed, never shown, and deleted with the end of the request.
	Headers map[string]string `json:"headers,omitempty"` // of requests to the origin of url: scheme, host and port
	Cookies []CrawlCookie     `json:"cookies,omitempty"` // of requests to the host of url
	// Sealed says that headers and cookies were taken out of this message, and are kept under its event_id. Senders leave
	// it out.
	Sealed bool `json:"sealed,omitempty"`
}

var eventID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// locale is a language, and where need be its script and country or region: what browsers are set to.
var locale = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)

// Check returns Errors when the message is no valid request for a draft.
func (m CrawlRequested) Check() error {
	var e Errors
	if m.EventName != "" && m.EventName != CrawlRequestedName {
		e.add("event_name", "is %q, expected %q", cut(m.EventName), CrawlRequestedName)
	}
	switch {
	case m.EventID == "":
		e.add("event_id", "is missing")
	case !eventID.MatchString(m.EventID):
		e.add("event_id", "%q is not a UUID", cut(m.EventID))
	}
	m.Data.check(&e)
	return e.or()
}

// Check returns Errors when the request itself is not valid.
func (r CrawlRequest) Check() error {
	var e Errors
	r.check(&e)
	return e.or()
}

// maxOutDir is how long the name of a folder may be, in bytes.
const maxOutDir = 255

func (r CrawlRequest) check(e *Errors) {
	address := strings.TrimSpace(r.URL)
	read := Escaped(address)
	checkURL(e, "data.url", read)
	if u, err := url.Parse(read); err == nil && u.User != nil {
		e.add("data.url", "contains a user name or password, which would be stored")
	}
	switch dir := strings.TrimSpace(r.OutDir); {
	case dir == "":
	case len(dir) > maxOutDir:
		e.add("data.out_dir", "has %d bytes, the most is %d", len(dir), maxOutDir)
	case strings.ContainsAny(dir, "\\\x00") || !filepath.IsLocal(dir):
		e.add("data.out_dir", "%q is not a folder below that of all drafts: it must be relative, without ..", cut(dir))
	}
	if said := strings.TrimSpace(r.Locale); said != "" && !locale.MatchString(said) {
		e.add("data.locale", "%q is not a locale such as fr-CA, de or zh-Hant-TW", cut(said))
	}
	checkHeaders(e, r.Headers)
	checkCookies(e, r.Cookies, strings.HasPrefix(strings.ToLower(address), "https:"))
}
