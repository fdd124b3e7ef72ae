// Package search knows what a search of pages is: how text becomes terms, what a query means, and which pages answer it
// best. It reads and writes nothing: db has the index in Postgres, internal/opensearch the other engine.
package search

import (
	"context"
	"time"
)

// An Engine finds pages by their text. The pages themselves are in Postgres, whatever the engine: an engine may be
// emptied and filled again from there. Errors that may pass are transient (domain/fault); a query that can never be
// answered is fault.Invalid.
type Engine interface {
	// Index makes these revisions of pages findable before it returns, in place of the revisions before them. A revision
	// that is not newer than the one that is findable changes nothing, so a call may be repeated, and overtaken.
	Index(ctx context.Context, pages []Page) error
	// Remove makes pages unfindable before it returns. Pages that are not known are ignored.
	Remove(ctx context.Context, ids []int64) error
	// Search answers a query.
	Search(ctx context.Context, q Query) (Results, error)
	// Suggest returns up to most ways in which the last word of a query may go on, the commonest first.
	Suggest(ctx context.Context, text string, most int) ([]string, error)
	// Stats says how large the index is.
	Stats(ctx context.Context) (Stats, error)
}

// A Rebuilder is an Engine that is filled anew beside what is searched, so that a re-index may change how it stores
// pages.
type Rebuilder interface {
	// Begin makes a new part, to which Index and Remove write too from now on. It may be repeated.
	Begin(ctx context.Context, generation string) error
	// Begun fails, with fault.Conflict, where that part is not there any more.
	Begun(ctx context.Context, generation string) error
	// Finish lets searches read that part, in one step, and drops all others. It may be repeated.
	Finish(ctx context.Context, generation string) error
}

// A Page is one version of a page, as it is indexed.
type Page struct {
	ID       int64 // in the table pages
	Revision int64 // grows with each version of a page
	Document
}

// A Document is what can be found of a page.
type Document struct {
	URL         string
	Site        string // host in lower case, with a port that is not the scheme's
	Title       string
	Description string
	Headings    []string
	Text        string    // without tags
	Language    string    // ISO 639-1; "" = unknown
	Type        string    // html, pdf, text …: by the address
	CrawledAt   time.Time // UTC
}

// A Query is what a person asks for.
type Query struct {
	Text      string    // as typed: see Parse
	Sites     []string  // any of them; a site has its subdomains; empty = all
	Languages []string  // any of them
	Types     []string  // any of them
	From, To  time.Time // crawled within [From, To); zero = no bound
	Facets    bool      // also count the answers by site, language, type and month
	After     *Position // the last hit of the page before
	Limit     int       // 1 to MaxLimit
}

// MaxLimit is how many hits a page of Results may have.
const MaxLimit = 100

// A Position is a place in the order of hits: those with all words first, then by falling score, then by falling ID.
type Position struct {
	All   bool
	Score float32
	ID    int64
	Rank  int // hits up to and with this one, for an engine that cannot continue by score; 0 = not counted
}

// Results are one page of the answers to a query.
type Results struct {
	Hits       []Hit
	Total      int       // answers, duplicates collapsed
	AtLeast    bool      // there may be more than Total: counting took too long
	Relaxed    bool      // too few pages have all words: pages with some of them follow
	Corrected  []string  // words that were also looked for, as few pages have those of the query
	DidYouMean string    // a query that finds more; "" = none
	Facets     *Facets   // nil unless asked for
	Next       *Position // nil when this was the last page
	Took       time.Duration
}

// A Hit is one answer.
type Hit struct {
	ID         int64
	URL        string
	Site       string
	Title      string
	Language   string
	Type       string
	CrawledAt  time.Time
	Score      float32
	All        bool    // it has all words of the query
	Duplicates int     // pages of the same text that are not shown
	Marks      []Range // the words of the query in Title
	Snippet    Snippet
}

// A Snippet is the part of a page that answers best.
type Snippet struct {
	Text  string  // one line; "…" at an end says that the page goes on there
	Marks []Range // the words of the query in Text
}

// A Range is a part of a text, in Unicode code points: [Start, End).
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Facets count answers by what they are, the commonest first, up to 20 values each.
type Facets struct {
	Sites, Languages, Types, Months []Count // Months are 2026-11
}

// A Count is how many answers have a value.
type Count struct {
	Value string `json:"value"`
	Pages int    `json:"pages"`
}

// Stats say how large an index is.
type Stats struct {
	Engine   string  // postgres or opensearch
	Pages    int     // that can be found
	Terms    int     // different ones; 0 = the engine does not tell
	Bytes    int64   // on disk, without the pages themselves
	Segments int     // parts of the index
	Sites    []Count // with the most pages, up to 20
}
