package contract

import "time"

// MaxCrawledPage is the size of the largest CrawledPage in bytes, as JSON. The broker takes 8 MiB.
const MaxCrawledPage = 5 << 20

// CrawledPage is a page that was crawled, for the search indexer: default exchange, queue crawler_queue. Its AMQP
// MessageId names the fetch: a relay may send a message twice, always under one ID.
type CrawledPage struct {
	URL string `json:"url"` // required: normalized http(s) address
	// Required is Text or HTML. We send Text: without tags, in lower case, each run of white space one space; "" for a
	// page without words.
	Text     *string         `json:"text,omitempty"`
	HTML     string          `json:"html,omitempty"` // of senders that leave the text to the indexer
	Metadata CrawledMetadata `json:"metadata"`
}

// CrawledMetadata says what a page is.
type CrawledMetadata struct {
	Title       string    `json:"title"`                 // "" where the page has none
	Description string    `json:"description,omitempty"` // the meta element's
	Timestamp   time.Time `json:"timestamp"`             // required: when it was crawled, UTC
	StatusCode  int       `json:"status_code"`           // required: HTTP status, 100..599
}

// maxCrawledURL is how long the address of a page may be, in bytes: longer than that of an advert.
const maxCrawledURL = 4096

// Check returns Errors when the message names no page or does not say when and how it was crawled.
func (m CrawledPage) Check() error {
	var e Errors
	checkURLUpTo(&e, "url", m.URL, maxCrawledURL)
	if m.Text == nil && m.HTML == "" {
		e.add("text", "is missing, and so is html")
	}
	if m.Metadata.Timestamp.IsZero() {
		e.add("metadata.timestamp", "is missing")
	}
	if s := m.Metadata.StatusCode; s < 100 || s > 599 {
		e.add("metadata.status_code", "is %d, expected 100 to 599", s)
	}
	return e.or()
}
