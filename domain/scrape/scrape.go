// Package scrape is how a rental site is read: what is asked for, what a page that came back says, how fast to ask, and
// how long to stay away after a refusal. It does no I/O: package internal/fetch and internal/browser load the pages.
package scrape

import (
	"encoding/json"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/web"
)

// Transport is what loads a site's pages.
type Transport string

// The transports. A site's parser is the same for both.
const (
	Browser Transport = "browser" // Chromium, as a visitor's
	HTTP    Transport = "http"    // a plain client, where no script has to run
)

// A Pace is how often a site is asked, and for how much.
type Pace struct {
	Transport Transport
	Delay     time.Duration // between two requests, those of search pages included
	MaxPages  int           // search pages in a cycle, 1 or more
	Cooldown  time.Duration // between two cycles
}

// A Site is what is known of a platform before it is asked for anything.
type Site struct {
	Start string // address of the first search page
	Pace         // unless an operator says otherwise
}

// A Card is an advert as a search page shows it.
type Card struct {
	PlatformID string `json:"platform_id"`
	URL        string `json:"url"` // of the detail page, absolute
	Title      string `json:"title"`
	// Fingerprint is a short hash of what the card says of the home: title, price, address, the beginning of the text, how
	// many images. It changes when the advert is edited and not when it is bumped, promoted or moves in the list.
	Fingerprint string `json:"fingerprint"`
}

// Results are what one search page holds.
type Results struct {
	Cards []Card `json:"cards"` // each advert once, in the order of the page
	Total int    `json:"total"` // adverts of the whole search, as the site says it; -1 = it does not
	Last  bool   `json:"last"`  // no page comes after this one
}

// An Advert is a detail page as values. Raw.ScrapedAt is left to who asked for the page.
type Advert struct {
	listing.Raw
	Extra json.RawMessage `json:"raw,omitempty"` // an object: what the page says beside, for the audit
}

// A Reader knows one site's pages: bytes in, values out.
type Reader interface {
	Site() Site
	// SearchRequest asks for the n-th page, 1 being the first, of the search whose first page is at start. An address that
	// is no search of this site is fault.Invalid.
	SearchRequest(start string, n int) (web.Request, error)
	// ReadSearch reads a search page. A page that it does not recognize is a *web.ShapeError, never empty Results; a CAPTCHA
	// is a *web.Refusal. Empty Results mean that the site itself says so.
	ReadSearch(p web.Page) (Results, error)
	// ReadAdvert reads a detail page. An advert that was removed is fault.Gone, also where the site leads to another page
	// instead; a page that is not recognized is a *web.ShapeError, a CAPTCHA a *web.Refusal.
	ReadAdvert(p web.Page) (Advert, error)
}
