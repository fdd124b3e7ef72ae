package contract

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// MaxCrawledPage is the size of the largest CrawledPage in bytes, as JSON: what the broker takes. A page of 5 MB fits,
// also with most of its letters escaped.
const MaxCrawledPage = 8 << 20

// CrawledPage is a page that was crawled, for the search indexer: default exchange, queue crawler_queue. Its AMQP
// MessageId names the fetch: a relay may send a message twice, always under one ID.
type CrawledPage struct {
	URL string `json:"url"` // required: normalized http(s) address
	// Required is Text or HTML. Text is read where both are there, unless it has no words. We send Text: without tags, in
	// lower case, each run of white space one space; "" for a page without words.
	Text *string `json:"text,omitempty"`
	HTML *string `json:"html,omitempty"` // of senders that leave the text to the indexer
	// Removed says that there is no such page any more, that it has moved for good, or that it asks not to be indexed. We
	// send it with the text "", so that an indexer that does not know it stores a page that no words find.
	Removed  bool            `json:"removed,omitempty"`
	Metadata CrawledMetadata `json:"metadata"`
}

// CrawledMetadata says what a page is. Language, Headings and ContentType are not in the contract of the queue: a
// message may lack them, and one that has something else there is read without.
type CrawledMetadata struct {
	Title       string    `json:"title"`                  // "" where the page has none; a message may lack it
	Description string    `json:"description,omitempty"`  // the meta element's
	Timestamp   time.Time `json:"timestamp"`              // required: when it was crawled, UTC
	StatusCode  int       `json:"status_code"`            // required: HTTP status, 100..599
	Language    string    `json:"language,omitempty"`     // as the page states it: "fr-CA"
	Headings    []string  `json:"headings,omitempty"`     // as text, in the order of the page
	ContentType string    `json:"content_type,omitempty"` // of the HTTP response
}

// instants are the forms of ISO 8601 that are read, each with or without a fraction of its seconds. A time without a
// zone is UTC: that of the contract is.
var instants = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04", "20060102T150405Z0700", "20060102T150405",
}

// TakesNUL says that a NUL character does not make the message unreadable: pages of all the web have some, and the
// indexer reads them as spaces.
func (CrawledPage) TakesNUL() {}

// UnmarshalJSON reads the timestamp in any of the usual forms, any integer that JSON Schema takes for one (200.0), and
// leaves out what the contract does not have where it has another type. Its error names the field.
func (m *CrawledMetadata) UnmarshalJSON(b []byte) error {
	var in struct {
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Timestamp   json.RawMessage `json:"timestamp"`
		StatusCode  float64         `json:"status_code"`
		Language    json.RawMessage `json:"language"`
		Headings    json.RawMessage `json:"headings"`
		ContentType json.RawMessage `json:"content_type"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*m = CrawledMetadata{Title: in.Title, Description: in.Description}
	if in.StatusCode != math.Trunc(in.StatusCode) {
		return Errors{{"metadata.status_code", fmt.Sprintf("is %v, expected an integer", in.StatusCode)}}
	}
	m.StatusCode = int(max(min(in.StatusCode, math.MaxInt32), math.MinInt32))
	if len(in.Timestamp) > 0 && string(in.Timestamp) != "null" {
		at, err := instant(in.Timestamp)
		if err != nil {
			return Errors{{"metadata.timestamp", err.Error()}}
		}
		m.Timestamp = at
	}
	if json.Unmarshal(in.Language, &m.Language) != nil {
		m.Language = ""
	}
	if json.Unmarshal(in.Headings, &m.Headings) != nil {
		m.Headings = nil
	}
	if json.Unmarshal(in.ContentType, &m.ContentType) != nil {
		m.ContentType = ""
	}
	return nil
}

// instant reads a time.
func instant(b []byte) (time.Time, error) {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return time.Time{}, fmt.Errorf("is %s, expected a string such as 2025-11-01T12:00:00Z", cut(string(b)))
	}
	upper := strings.ToUpper(s) // RFC 3339 has t and z, and a space for the T, as well
	if len(upper) > len(time.DateOnly) && upper[len(time.DateOnly)] == ' ' {
		upper = upper[:len(time.DateOnly)] + "T" + upper[len(time.DateOnly)+1:]
	}
	for _, layout := range instants {
		if at, err := time.Parse(layout, upper); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("is %q, expected an ISO 8601 time such as 2025-11-01T12:00:00Z", cut(s))
}

// maxCrawledURL is how long the address of a page may be, in bytes: longer than that of an advert.
const maxCrawledURL = 4096

// Check returns Errors when the message names no page or does not say when and how it was crawled.
func (m CrawledPage) Check() error {
	var e Errors
	checkURLUpTo(&e, "url", m.URL, maxCrawledURL)
	if m.Text == nil && m.HTML == nil && !m.Removed {
		e.add("text", "is missing, and so is html")
	}
	checkTime(&e, "metadata.timestamp", m.Metadata.Timestamp)
	if s := m.Metadata.StatusCode; s < 100 || s > 599 {
		e.add("metadata.status_code", "is %d, expected 100 to 599", s)
	}
	return e.or()
}
