// Package scrape knows how a rental site is read: which pages to request, what they hold, how fast to request them, how
// long to wait after a refusal, and when an advert is gone. It does no I/O: internal/fetch and internal/browser load
// pages.
package scrape

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/web"
)

// Transport names the client that loads a site's pages.
type Transport string

// The transports. A site's parser is the same for both.
const (
	Browser Transport = "browser" // Chromium
	HTTP    Transport = "http"    // a plain client, for sites that need no scripts
)

// A Pace is how often pages of a site are requested, and how many.
type Pace struct {
	Transport Transport
	Delay     time.Duration // between two requests, those of search pages included
	MaxPages  int           // search pages in a cycle, 1 or more
	Cooldown  time.Duration // between two cycles
	// Look is the time between two looks of the fast lane at the newest search pages; 0 = there are none.
	Look time.Duration
	// Cycle is how long a cycle should take. It takes longer where search pages and adverts that are new or changed need
	// more, and less where no advert is due for a re-visit.
	Cycle time.Duration
}

// The pace of sites that nothing is known of which speaks against it.
const (
	DefaultLook  = 5 * time.Minute
	DefaultCycle = 2 * time.Hour
)

// A Site holds the facts about a platform that need no request.
type Site struct {
	Start string // address of the first search page
	Pace         // unless an operator says otherwise
	// Partial says why the search pages do not show every advert of the search: a cycle through all of them is then not
	// complete, and adverts that it did not see are not missing; "" = they do.
	Partial string
	// Most is how many adverts the search pages show of one search, the rest of a larger one never; 0 = all. What a cycle
	// through a larger one did not see is not missing, for it may have moved behind the last page.
	Most int
	// Whole says that search pages state all of each advert: no detail page can be visited.
	Whole bool
	// Unproven says, for operators, what of the site's pages nobody has seen, and what was guessed for lack of them; "" =
	// nothing.
	Unproven string
}

// Unseen says why a cycle through all pages of a search that states so many adverts (-1 = it states none) is not
// complete; "" = it is.
func (s Site) Unseen(total int) string {
	if s.Partial == "" && s.Most > 0 && total > s.Most {
		return fmt.Sprintf("the site shows %d of the %d adverts of this search, so none counts as removed: replace it by "+
			"smaller ones", s.Most, total)
	}
	return s.Partial
}

// A Card is an advert as a search page shows it.
type Card struct {
	PlatformID string `json:"platform_id"`
	URL        string `json:"url"` // of the detail page, absolute
	Title      string `json:"title"`
	// Fingerprint is a short hash of the home on the card: title, price, address, the beginning of the text, the number of
	// images. It changes when the advert is edited and not when it is bumped, promoted or moves in the list.
	Fingerprint string `json:"fingerprint"`
	// Advert is all of the advert, where the search states that: its detail page is then not visited. nil = it is.
	Advert *Advert `json:"advert,omitempty"`
}

// Results are the content of one search page.
type Results struct {
	Cards []Card `json:"cards"` // each advert once, in the order of the page
	Total int    `json:"total"` // adverts of the whole search, as the site states; -1 = it does not
	Last  bool   `json:"last"`  // no page comes after this one
}

// Read is web.Read of a search page, with each advert once.
func Read(p web.Page, read func(web.Page) (Results, error)) (Results, error) {
	return Once(web.Read(p, read))
}

// Once keeps the first card of each advert: sites show some also beside their place in the list.
func Once(r Results, err error) (Results, error) {
	seen := map[string]bool{}
	r.Cards = slices.DeleteFunc(r.Cards, func(c Card) bool {
		again := seen[c.PlatformID]
		seen[c.PlatformID] = true
		return again
	})
	return r, err
}

// StartOf reads the address of a search of any site, of which the n-th page is to be asked for, and its query. What is
// no address, and a page below 1, are fault.Invalid.
func StartOf(start string, n int) (u *url.URL, query url.Values, err error) {
	u, err = url.Parse(start)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, nil, fault.Newf(fault.Invalid, "search %q: not an http or https address, or one with a fragment", start)
	}
	if query, err = url.ParseQuery(u.RawQuery); err != nil {
		return nil, nil, fault.Newf(fault.Invalid, "search %q: its query cannot be read: %v", start, err)
	}
	if n < 1 {
		return nil, nil, fault.Newf(fault.Invalid, "search %q: page %d, want 1 or more", start, n)
	}
	return u, query, nil
}

// An Advert is the content of a detail page. Raw.ScrapedAt is zero: the caller sets it.
type Advert struct {
	listing.Raw
	Extra json.RawMessage `json:"raw,omitempty"` // an object: further content of the page, for the audit
	// Units are the homes of a building, an advert each, with IDs of their own and the attribute "building" in common;
	// nil = the advert is one home. Of a building nothing but the units becomes a listing.
	Units []Advert `json:"units,omitempty"`
}

// A Reader knows one site's pages: bytes in, values out.
type Reader interface {
	Site() Site
	// SearchRequest returns the request for the n-th page, 1 being the first, of the search whose first page is at start.
	// An address that is no search of this site is fault.Invalid.
	SearchRequest(start string, n int) (web.Request, error)
	// ReadSearch reads a search page. A page that it does not recognize is a *web.ShapeError, never empty Results; a
	// CAPTCHA is a *web.Refusal. Results are empty only when the site itself says that there are none.
	ReadSearch(p web.Page) (Results, error)
	// ReadAdvert reads a detail page, of a home or of a building with its units. An advert that was removed is fault.Gone,
	// also where the site leads to another page instead; a page that is not recognized is a *web.ShapeError, a CAPTCHA a
	// *web.Refusal.
	ReadAdvert(p web.Page) (Advert, error)
}
