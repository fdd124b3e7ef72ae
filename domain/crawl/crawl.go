// Package crawl knows what the crawl of a site is: its settings and scope, the states of a URL in the frontier, what an
// HTTP answer makes of one, and when it is tried again.
package crawl

import (
	"errors"
	"strconv"
	"time"
)

// A State is how far a URL of a run has come. The names are those of the system that this one replaces, and Skipped.
type State string

// The states. Queued and InProgress are open, the others final: Final.
const (
	Queued       State = "QUEUED"        // waits for its turn, or for its next try
	InProgress   State = "IN_PROGRESS"   // leased by a worker
	Visited      State = "VISITED"       // 2xx, or 304 on a re-crawl
	Redirect301  State = "REDIRECT_301"  // 301; other redirects are HTTPTerminal with their status
	Forbidden    State = "FORBIDDEN"     // 403
	NotFound     State = "NOT_FOUND"     // 404
	HTTPTerminal State = "HTTP_TERMINAL" // any other status, or a retryable one whose tries are used up
	Failed       State = "FAILED"        // no whole answer: the network, a time or size limit, or our own failure
	Skipped      State = "SKIPPED"       // never requested; the reason says why
)

// States are all of them, in the order in which they are shown.
var States = []State{Queued, InProgress, Visited, Redirect301, Forbidden, NotFound, HTTPTerminal, Failed, Skipped}

// Open says that the URL keeps its run from completing.
func (s State) Open() bool { return s == Queued || s == InProgress }

// Broken are the states of links that lead nowhere, but for redirects that lead to another URL.
var Broken = []State{Forbidden, NotFound, HTTPTerminal, Failed}

// Retried are the states of URLs that are requested again where nothing else is asked for, with the same exception.
var Retried = []State{Failed, HTTPTerminal}

// The reasons of Skipped.
const (
	SkippedRobots   = "robots"    // robots.txt disallows it
	SkippedRecent   = "recent"    // crawled within the time of the indexer contract
	SkippedMaxPages = "max_pages" // the run has as many URLs as it may
	SkippedMaxDepth = "max_depth" // further from the seed than the run may go
)

// The states of a run.
const (
	Running   = "RUNNING"
	Paused    = "PAUSED"
	Completed = "COMPLETED"
	Cancelled = "CANCELLED"
)

// RunStates are all of them.
var RunStates = []string{Running, Paused, Completed, Cancelled}

// Ended says that a run in this state does no more work.
func Ended(state string) bool { return state == Completed || state == Cancelled }

// A Run is a crawl from one seed.
type Run struct {
	ID           int64
	SeedURL      string   // as given
	RootURL      string   // its canonical form
	AllowedHosts []string // hosts whose URLs are in scope, by Settings.ScopeMode
	Settings     Settings
	Status       string
	BaseID       int64 // the run whose validators are sent with requests, and whose links stand for a 304; 0 = none
	Begun        bool  // URLs of it were requested: its sitemaps had been read before
	Pauses       int   // how often it was paused so far
}

// WorkflowID is that of the workflow that supervises run id.
func WorkflowID(id int64) string { return "crawl-run/" + strconv.FormatInt(id, 10) }

// UnpublishedMost is how many pages may wait for RabbitMQ: while there are as many, no URL is claimed, or the texts
// would fill the disk of Postgres, where all other work is. It is some hundred megabytes of usual pages.
const UnpublishedMost = 10_000

// HeldMost is how many URLs that are to be tried again are looked at for one whose host may be asked. A run of which as
// many wait for hosts is no stalled one.
const HeldMost = 5000

// EmptyLooks is how many looks in a row at an empty frontier complete a run.
const EmptyLooks = 2

// A Claim is a URL that a worker has leased.
type Claim struct {
	ID           int64
	URL          string // canonical
	Host         string // lower case, with a port that is not the scheme's
	Depth        int
	Tries        int       // fetches before this one
	Lost         int       // leases before this one that ended, with their worker or while it was away
	Lease        int64     // of this claim; a result under another one is of a lease that was lost
	QueuedAt     time.Time // when it could first have been claimed
	ETag         string    // of the base run's answer; "" = none
	LastModified string    // likewise
	Turn         int64     // of its host in the claim
}

// A Take says which URLs a worker wants.
type Take struct {
	Run    int64
	Pauses int            // of the run when the work began: after another one it is Paused for this worker
	Base   int64          // the run whose validators come with the claims; 0 = none
	Worker string         // names the leases
	Max    int            // URLs
	Room   map[string]int // by host: how many more of it the worker takes now
	Fresh  int            // likewise, of each host that is not in Room
	Cursor string         // the host after which to begin: the last one of the call before
	Lease  time.Duration  // when it ends, the URLs are queued again
}

// A Result is what became of a claim.
type Result struct {
	Claim
	State  State
	Reason string        // of Skipped
	After  time.Duration // until the next try, where State is Queued
	Pause  time.Duration // of its host: the turn was so far away; where it was not asked
	Held   Held          // by what, where there is a Pause
	Cause  string        // of that, in words; "" = not known
	Asked  bool          // it was requested: this was a try

	HTTPStatus    int // 0 = no answer
	ContentType   string
	ContentLength int64 // bytes of the body, decompressed, or as announced; -1 = not known
	Bytes         int64 // of the body that were taken, decompressed
	Validators    Validators
	RedirectTo    string // canonical, or as written where it is no address
	Error         string // without query strings and credentials
	ErrorClass    string // a fault.Class
	Title         string
	BodyKey       string // of the stored WARC record; "" = not stored
	Took          time.Duration
	Began         time.Time // when its visit began

	Links   []Link // in scope, each URL once; nil = none, or not an HTML page
	Message []byte // for the queue of the search indexer, JSON; nil = none
}

// Held is what keeps a host from being asked.
type Held string

// All but HeldOurs are the site's wish, and no reason to look after a run.
const (
	HeldGap      Held = "gap"         // between two requests, or as many are under way as may be
	HeldDelay    Held = "crawl_delay" // of its robots.txt
	HeldCooldown Held = "cooldown"    // after it refused requests
	HeldRobots   Held = "robots"      // its robots.txt cannot be read, and is asked for again then
	HeldOurs     Held = "ours"        // our own network or browser is away
)

// ErrCooldown is in the error of a turn that is too far away because the host is in its cooldown.
var ErrCooldown = errors.New("it cools down")

// An Outcome is what a result counts as.
type Outcome string

// The outcomes.
const (
	OutcomeVisited  Outcome = "visited"
	OutcomeRetried  Outcome = "retried"
	OutcomeFailed   Outcome = "failed" // ended in another state than Visited and Skipped
	OutcomeSkipped  Outcome = "skipped"
	OutcomeReturned Outcome = "returned" // to the frontier, not requested
)

// OutcomeOf says what a result counts as.
func OutcomeOf(r Result) Outcome {
	switch {
	case r.State == Visited:
		return OutcomeVisited
	case r.State == Skipped:
		return OutcomeSkipped
	case r.State == Queued && r.Asked:
		return OutcomeRetried
	case r.State == Queued:
		return OutcomeReturned
	}
	return OutcomeFailed
}

// Validators make a later request conditional.
type Validators struct{ ETag, LastModified string }

// A Link is an in-scope address found on a page.
type Link struct {
	URL  string // canonical
	Raw  string // as written, at most 500 bytes
	Host string
}

// Progress is how far a run has come.
type Progress struct {
	Status      string `json:"status"`
	Discovered  int    `json:"discovered"` // URLs, those skipped included
	Open        int    `json:"open"`       // waiting or in progress
	Visited     int    `json:"visited"`
	Broken      int    `json:"broken"` // ended otherwise, redirects included
	Skipped     int    `json:"skipped"`
	Fetches     int    `json:"fetches"`
	StableEmpty int    `json:"stable_empty"` // looks in a row at an empty frontier; EmptyLooks end the run

	Working bool `json:"working,omitempty"` // a worker that lives has some of the open ones

	Recovered int `json:"recovered,omitempty"` // leases that had ended, in the last cycle
	Spread    int `json:"spread,omitempty"`    // pages whose shorter way was passed on, likewise

	Pauses *int `json:"pauses,omitempty"` // how often it was paused so far; nil = an older worker does not say
}
