package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Cycles are the activities that begin and end the cycles of a platform's scraper. All of them are short steps on our
// own database, made to run as local activities.
type Cycles struct {
	Store CycleStore
	Now   func() time.Time
}

// CycleStore keeps the cycles of platforms. Each write is one transaction with its messages.
type CycleStore interface {
	Begin(ctx context.Context, name string, now time.Time) (scrape.Plan, error)
	End(ctx context.Context, name string, cycle int64, note string, now time.Time) error
}

// Visits is the activity that reads the pages of rental sites. Its state is in the stores, so any worker can continue
// it.
type Visits struct {
	Sites   SiteStore
	Trouble TroubleStore
	Adverts AdvertStore
	Results VisitStore
	Pages   map[scrape.Transport]PageSource
	Reader  PageReader
	Robots  RobotsSource
	Secrets SecretOpener // of the credentials of proxies
	Now     func() time.Time
	Dice    func() float64 // from 0 to 1
	Cycled  func()         // called after each cycle of a platform whose pages a browser loads
}

// SiteStore keeps when and how pages of a platform's site are requested.
type SiteStore interface {
	Turn(ctx context.Context, of scrape.Search, atLeast time.Duration, now time.Time) (scrape.Turn, error)
	Settings(ctx context.Context, of scrape.Search) (scrape.Turn, error)
	Looked(ctx context.Context, of scrape.Search, now time.Time) error
	NoResults(ctx context.Context, of scrape.Search, cycle int64, page, total int, wrong string, now time.Time) (
		suspect string, err error)
}

// TroubleStore keeps what goes wrong with a platform's site. Each write is one transaction with its messages.
type TroubleStore interface {
	Refused(ctx context.Context, name string, cycle int64, reason string, asked time.Duration, dice float64,
		now time.Time) (until time.Time, err error)
	Suspect(ctx context.Context, name string, s scrape.Suspicion, now time.Time) error
	Trouble(ctx context.Context, name, message string, now time.Time) error
	Unreached(ctx context.Context, of scrape.Search, reason string, until, now time.Time) error
}

// AdvertStore keeps which adverts a platform shows, and which of them are to be visited.
type AdvertStore interface {
	Seen(ctx context.Context, of scrape.Search, cycle int64, page int, r scrape.Results, now time.Time) ([]scrape.Visit,
		error)
	Newest(ctx context.Context, of scrape.Search, cycle int64, r scrape.Results, now time.Time) (visits []scrape.Visit,
		unknown, pages int, err error)
	Chores(ctx context.Context, name string, cycle int64, now time.Time) (scrape.Chores, error)
	Due(ctx context.Context, name string, cycle int64, visits []scrape.Visit, now time.Time) ([]scrape.Visit, error)
}

// VisitStore keeps the results of visits. Each write is one transaction with its messages.
type VisitStore interface {
	Found(ctx context.Context, cycle int64, f scrape.FoundAdvert) error
	Gone(ctx context.Context, ref listing.Ref, cycle int64, reason string, now time.Time) error
	Failed(ctx context.Context, ref listing.Ref, cycle int64, reason string, now time.Time) error
}

// PageSource loads pages. Any response of the site is a page, whatever its status; an error means that there was none:
// fault.Throttled with a *web.Refusal when the site refused the connection.
type PageSource interface {
	Load(ctx context.Context, r web.Request) (web.Page, error)
}

// PageReader reads the pages of a platform as scrape.Reader does, apart from this process: one that takes too much
// memory or time is fault.Invalid.
type PageReader interface {
	ReadSearch(ctx context.Context, platform string, p web.Page) (scrape.Results, error)
	ReadAdvert(ctx context.Context, platform string, p web.Page) (scrape.Advert, error)
}

// RobotsSource knows which addresses sites allow robots to request. An error means that this cannot be known now.
type RobotsSource interface {
	// Allowed says whether an address may be requested, and how far apart requests must be at least. What is asked for
	// that goes through the proxy, where it is not zero.
	Allowed(ctx context.Context, address string, through web.Proxy) (ok bool, delay time.Duration, err error)
}

// A SecretOpener opens what internal/secret has sealed for a purpose.
type SecretOpener interface {
	Open(purpose, key string, sealed []byte) ([]byte, error)
}

// BeginCycle returns what the platform's scraper does now, and begins a cycle when one is due.
func (a *Cycles) BeginCycle(ctx context.Context, name string) (scrape.Plan, error) {
	return a.Store.Begin(ctx, name, a.Now())
}

// CycleEnd is a cycle that has ended.
type CycleEnd struct {
	Platform string `json:"platform"`
	Cycle    int64  `json:"cycle"`
	Note     string `json:"note,omitempty"` // why it is not complete
}

// EndCycle ends a cycle, once. Adverts that were in neither of the last two complete cycles of each search that used to
// show them are gone.
func (a *Cycles) EndCycle(ctx context.Context, e CycleEnd) (CycleEnd, error) {
	return e, a.Store.End(ctx, e.Platform, e.Cycle, e.Note, a.Now())
}

// ScrapeJob is one search page of a platform.
type ScrapeJob struct {
	Platform string `json:"platform"`
	Cycle    int64  `json:"cycle"`
	Page     int    `json:"page"`             // 1 is the first
	Search   string `json:"search,omitempty"` // whose page it is; "" = scrape.DefaultSearch
}

// ScrapedPage is the result of a search page and the visits to the adverts on it.
type ScrapedPage struct {
	Adverts  int    `json:"adverts"`           // on the page
	Visits   int    `json:"visits"`            // detail pages that were due
	Found    int    `json:"found"`             // adverts stored and published
	Gone     int    `json:"gone,omitempty"`    // adverts that were removed
	Failed   int    `json:"failed,omitempty"`  // visits that gave no advert
	Last     bool   `json:"last,omitempty"`    // no page comes after this one
	Partial  string `json:"partial,omitempty"` // after the last page, why the search pages do not show every advert
	Stopped  string `json:"stopped,omitempty"` // disabled or paused meanwhile, or its proxy fails
	Suspect  string `json:"suspect,omitempty"` // why the page does not look as expected
	MaxPages int    `json:"max_pages,omitempty"`
}

// cursor is how far a page has come, in the activity's heartbeats.
type cursor struct {
	ScrapedPage
	Rest []scrape.Visit `json:"rest"` // still to be visited
}

// kept is what a heartbeat keeps of c. Adverts that the search page stated whole are too large for it: the worker that
// takes over reads that page again. It does not change when c does: heartbeats write it down at any time.
func (c cursor) kept() cursor {
	for _, visit := range c.Rest {
		if visit.Advert != nil {
			return cursor{}
		}
	}
	c.Rest = slices.Clone(c.Rest)
	return c
}

// ScrapePage reads a search page, visits the adverts on it that are new, changed or back, and stores and publishes each
// before it goes on. Between two requests it does what scrape.Moment says: looks at the newest search pages, and visits
// adverts again. A worker that takes over continues with the next advert. When the site refuses, it
// fails with fault.Throttled and the time to wait. A page that does not look as expected is no error: the platform
// becomes suspect, and the result says why.
func (a *Visits) ScrapePage(ctx context.Context, job ScrapeJob) (ScrapedPage, error) {
	site, ok := platform.ByName(job.Platform)
	if !ok {
		return ScrapedPage{}, fault.Newf(fault.Invalid, "platform: no reader for %q", job.Platform)
	}
	v := newVisitor(a, site, job)
	at, resumed := cursor{}, false
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &at) == nil {
		resumed = at.Adverts > 0
	}
	var err error
	if resumed { // more may be done than the last heartbeat says
		at.Rest, err = a.Adverts.Due(ctx, job.Platform, job.Cycle, at.Rest, a.Now())
	} else {
		at, err = v.open(ctx)
	}
	if err != nil {
		return at.ScrapedPage, v.explain(ctx, err)
	}
	if err := v.work(ctx, &at); err != nil {
		return at.ScrapedPage, v.explain(ctx, err)
	}
	if v.transport == scrape.Browser && (at.Last || at.Suspect != "" || job.Page >= at.MaxPages) {
		a.Cycled()
	}
	return at.ScrapedPage, nil
}

// newVisitor makes a visitor for a job.
func newVisitor(a *Visits, site platform.Platform, job ScrapeJob) *visitor {
	return &visitor{
		Visits: a, site: site, job: job,
		of: scrape.Search{Platform: job.Platform, Name: cmp.Or(job.Search, scrape.DefaultSearch)},
	}
}

// visitor reads one search page and the detail pages that it links to.
type visitor struct {
	*Visits
	site      platform.Platform
	job       ScrapeJob
	of        scrape.Search    // of the job
	transport scrape.Transport // of the page before
	asked     time.Time        // when that page was requested
	bad, gone int              // visits in a row that gave no advert, and that found it removed
	again     int              // re-visits since the search page
}

// open reads the search page and says which adverts to visit.
func (v *visitor) open(ctx context.Context) (at cursor, err error) {
	results, err := v.read(ctx, &at, v.of, v.job.Page)
	if stopped, ok := errors.AsType[errStopped](err); ok {
		at.Stopped = stopped.why
		return at, nil
	}
	if fault.ClassOf(err).Final() {
		at.Suspect = err.Error()
		return at, v.suspect(ctx, scrape.SearchPages, at.Suspect)
	}
	if err != nil {
		return at, err
	}
	if at.Adverts, at.Last = len(results.Cards), results.Last; at.Last {
		at.Partial = v.site.Site().Unseen(results.Total)
	}
	if at.Adverts == 0 {
		wrong := ""
		if !results.Last {
			wrong = "no adverts on a page that is not the last"
		}
		at.Suspect, err = v.Sites.NoResults(ctx, v.of, v.job.Cycle, v.job.Page, results.Total, wrong, v.Now())
		return at, err
	}
	if at.Rest, err = v.Adverts.Seen(ctx, v.of, v.job.Cycle, v.job.Page, results, v.Now()); err != nil {
		return at, err
	}
	if at.Visits = len(at.Rest); at.Visits > 0 { // a page with nothing new costs no heartbeat
		progress(ctx, at.kept())
	}
	return at, nil
}

// read loads and reads the n-th page of a search.
func (v *visitor) read(ctx context.Context, at *cursor, of scrape.Search, n int) (results scrape.Results, err error) {
	page, err := v.load(ctx, at, of, func(start string) (web.Request, error) { return v.site.SearchRequest(start, n) })
	if err == nil {
		results, err = v.Reader.ReadSearch(ctx, v.job.Platform, page)
	}
	v.loaded(ctx, "search", err)
	return results, err
}

// visit loads an advert's detail page and stores the result. Only the content of a page is held against the advert: an
// error is the site's or our own, and leaves the advert as it was.
func (v *visitor) visit(ctx context.Context, at *cursor, next scrape.Visit) error {
	ref := listing.Ref{Platform: v.job.Platform, PlatformID: next.PlatformID}
	find, err := v.advert(ctx, at, next)
	if err == nil {
		err = v.Results.Found(ctx, v.job.Cycle, find)
		if err != nil && !fault.ClassOf(err).Final() {
			return err
		}
	}
	var stopped errStopped
	var ours errOurs
	class := fault.ClassOf(err)
	switch {
	case err == nil:
		v.bad, v.gone = 0, 0
		at.Found++
		v.count(ctx, "conveyor_scrape_adverts", "outcome", next.Why)
	case errors.As(err, &stopped):
		v.stopped(at, stopped, next.Search)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ours), web.RefusalOf(err) != nil, class == fault.Limited:
		return err
	case class == fault.Gone:
		if next.Why != scrape.Missing { // of the others the search says that they are there
			v.gone++
		}
		if v.gone >= scrape.GoneInARow {
			at.Suspect = fmt.Sprintf("%d adverts in a row that the search shows are removed: %v", v.gone, err)
			return v.suspect(ctx, scrape.DetailPages, at.Suspect)
		}
		v.bad = 0
		at.Gone++
		v.count(ctx, "conveyor_scrape_adverts", "outcome", "gone")
		if err := v.Results.Gone(ctx, ref, v.job.Cycle, err.Error(), v.Now()); err != nil {
			return err
		}
	default:
		if err := v.failed(ctx, at, ref, err); err != nil {
			return err
		}
	}
	return nil
}

// failed stores that a visit gave no advert.
func (v *visitor) failed(ctx context.Context, at *cursor, ref listing.Ref, why error) error {
	activity.GetLogger(ctx).Warn("advert could not be read", "ref", ref.String(), "err", why)
	v.gone = 0
	at.Failed++
	v.count(ctx, "conveyor_scrape_adverts", "outcome", "failed")
	if err := v.Results.Failed(ctx, ref, v.job.Cycle, why.Error(), v.Now()); err != nil {
		return err
	}
	if v.bad++; v.bad < scrape.FailedInARow {
		return nil
	}
	if !fault.ClassOf(why).Final() { // the site is down: later, by the retry policy
		return why
	}
	at.Suspect = "detail pages: " + why.Error()
	return v.suspect(ctx, scrape.DetailPages, at.Suspect)
}

func (v *visitor) suspect(ctx context.Context, of, reason string) error {
	s := scrape.Suspicion{Of: of, Reason: reason, Cycle: v.job.Cycle, Page: v.job.Page}
	if of == scrape.SearchPages {
		s.Search = v.of.Name
	}
	return v.Trouble.Suspect(ctx, v.job.Platform, s, v.Now())
}

// advert loads one detail page and reads it, unless the search page has stated all of the advert.
func (v *visitor) advert(ctx context.Context, at *cursor, next scrape.Visit) (scrape.FoundAdvert, error) {
	if next.Advert != nil {
		return found(next, *next.Advert, v.asked)
	}
	page, err := v.load(ctx, at, v.search(next), func(start string) (web.Request, error) {
		return web.Request{URL: next.URL}, sameSite(start, next.URL)
	})
	var advert scrape.Advert
	if err == nil {
		advert, err = v.Reader.ReadAdvert(ctx, v.job.Platform, page)
	}
	v.loaded(ctx, "detail", err)
	if err != nil {
		return scrape.FoundAdvert{}, err
	}
	if advert.PlatformID != next.PlatformID {
		return scrape.FoundAdvert{}, web.Unrecognized("advert %s leads to advert %q", next.PlatformID, advert.PlatformID)
	}
	return found(next, advert, v.asked)
}

// found makes the messages of an advert, or of the units of a building.
func found(next scrape.Visit, advert scrape.Advert, asked time.Time) (f scrape.FoundAdvert, err error) {
	asked = asked.UTC().Truncate(time.Microsecond) // as Postgres keeps it
	advert.ScrapedAt = asked
	f = scrape.FoundAdvert{Visit: next, Raw: advert.Raw}
	if advert.Units == nil {
		f.Payload, err = payload(advert)
		return f, err
	}
	for _, u := range advert.Units {
		u.ScrapedAt = asked
		body, err := payload(u)
		if err != nil {
			return f, fmt.Errorf("unit %s: %w", u.PlatformID, err)
		}
		f.Units = append(f.Units, scrape.FoundUnit{Raw: u.Raw, Payload: body})
	}
	return f, nil
}

// payload makes the scraped.<platform> message of an advert.
func payload(advert scrape.Advert) ([]byte, error) {
	message := advert.Raw.Message(advert.Extra)
	if err := message.Check(); err != nil {
		return nil, fault.Newf(fault.Invalid, "advert as it was read: %w", err)
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "write advert: %w", err)
	}
	if len(body) > contract.MaxBody {
		return nil, fault.Newf(fault.Invalid, "advert has %d bytes, the most is %d", len(body), contract.MaxBody)
	}
	return body, nil
}
