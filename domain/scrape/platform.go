package scrape

import (
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
)

// WorkflowID is the ID of the workflow, a workflows.ScrapePlatform, that scrapes the platform of that name.
func WorkflowID(platform string) string { return "scrape/" + platform }

// Settings are how a platform is scraped.
type Settings struct {
	URL     string `json:"url"` // of the first search page
	Enabled bool   `json:"enabled"`
	Pace
	Proxy SealedProxy `json:"-"` // that requests go through
}

// A SealedProxy is a proxy as it is kept: credentials are sealed, see internal/secret. The zero one is none.
type SealedProxy struct {
	Shown   string // the address without credentials
	Purpose string // that Box is sealed for
	Key     string // that it is sealed with; "" = there are no credentials
	Box     []byte
}

// ProxyPurpose is what the credentials of a proxy are sealed for: they are useless with another address, and for
// another platform or search. search is "" for the proxy of a platform.
func ProxyPurpose(platform, search, shown string) string {
	return "proxy/" + platform + "/" + search + "/" + shown
}

// Direct stands for the proxy of a search that goes through none though its platform does.
const Direct = "direct"

// ProxyWait is how long a search gets no request after its proxy has failed. Nothing is requested without it.
const ProxyWait = time.Minute

// The states of a platform's scraper.
const (
	Disabled = "disabled" // it is not to be scraped
	Paused   = "paused"   // an operator stopped it for a while
	Blocked  = "blocked"  // the site refuses; it gets no requests for a while
	Suspect  = "suspect"  // its pages do not look as expected: an operator should look
	Scraping = "scraping" // in the middle of a cycle
	Cooling  = "cooling"  // between two cycles
	Waiting  = "waiting"  // for its first cycle
)

// States are all of them.
var States = []string{Disabled, Paused, Blocked, Suspect, Scraping, Cooling, Waiting}

// A Condition is everything that decides a platform's state.
type Condition struct {
	Enabled, Paused bool
	BlockedUntil    time.Time // zero = it is not
	SuspectAt       time.Time // zero = it is not
	Cycling         bool      // a cycle has begun and not ended
	Cycles          int64     // begun so far
}

// State returns the scraper's state at now: one of States.
func (c Condition) State(now time.Time) string {
	switch {
	case !c.Enabled:
		return Disabled
	case c.Paused:
		return Paused
	case now.Before(c.BlockedUntil):
		return Blocked
	case !c.SuspectAt.IsZero():
		return Suspect
	case c.Cycling:
		return Scraping
	case c.Cycles > 0:
		return Cooling
	}
	return Waiting
}

// A Plan is the next step of a scraper.
type Plan struct {
	Go    bool          `json:"go"`              // a cycle is under way: continue it at Page
	Look  bool          `json:"look,omitempty"`  // between two cycles: a look at the newest search pages is due
	Wait  time.Duration `json:"wait,omitempty"`  // until the next cycle or look; 0 without either = until an operator acts
	Cycle int64         `json:"cycle,omitempty"` // of a look: the one before
	Page  int           `json:"page,omitempty"`  // 1 for a cycle that has just begun
	// Search is the one whose cycle or look it is; "" is DefaultSearch, as in plans from before there were several.
	Search string `json:"search,omitempty"`
}

// A Turn is a grant to start one request to a site.
type Turn struct {
	At       time.Time // when the request may start
	Stopped  string    // Disabled or Paused: no request now
	Settings Settings
}

// The reasons for a visit to an advert's detail page. The names are those of a cycle's counts.
const (
	New      = "new"      // never visited
	Changed  = "changed"  // its card differs from that of the last visit
	Stale    = "stale"    // the last visit is long ago
	Returned = "returned" // it was gone
	Missing  = "missing"  // the search does not show it any more; it counts as stale where it is there all the same
)

// A Visit is an advert whose detail page is to be loaded.
type Visit struct {
	Card
	Why string `json:"why"`
	// Search is the one whose look found the advert, where it is not the one that is being read: the page is loaded by its
	// transport and at its pace.
	Search string `json:"search,omitempty"`
}

// A FoundAdvert is an advert as its detail page shows it, ready to be stored and published. Of a building only the
// units are: its Raw says what was visited and when, and there is no Payload.
type FoundAdvert struct {
	Visit
	Raw     listing.Raw
	Payload []byte // the scraped.<platform> message
	Units   []FoundUnit
}

// A FoundUnit is a home of a building, an advert of its own, with its scraped.<platform> message.
type FoundUnit struct {
	Raw     listing.Raw
	Payload []byte
}

// Messages are the adverts to be stored and published.
func (f FoundAdvert) Messages() []FoundUnit {
	if f.Units != nil {
		return f.Units
	}
	return []FoundUnit{{f.Raw, f.Payload}}
}

// StaleAfter is how long an advert that did not change goes without a visit at least. It goes longer where the budget
// of requests does not allow a visit: see Moment.
const StaleAfter = 6 * time.Hour

// A Suspicion says that pages of a site do not look as expected.
type Suspicion struct {
	Of     string // SearchPages, DetailPages or Cycles: a good one of that kind ends it
	Reason string // for operators
	Search string // whose pages they are; a good page of another search does not end it. "" = of detail pages
	Cycle  int64
	Page   int // of the search, from 1; 0 = of the cycle as a whole
}

// The kinds of suspicions, by their subject.
const (
	SearchPages = "search"
	DetailPages = "detail"
	Cycles      = "cycle"
)
