package listing

import (
	"time"

	"github.com/google/uuid"
)

// A Replay takes stored adverts through the pipeline again, on an operator's request.
type Replay struct {
	ID     uuid.UUID    `json:"id"`
	Stage  string       `json:"stage,omitempty"` // where they enter: normalize dedupe import
	Filter ReplayFilter `json:"filter,omitzero"`
	Rate   int          `json:"rate,omitempty"` // adverts a second, 1 or more
	By     string       `json:"by,omitempty"`   // the caller that asked for it, for the audit
	At     time.Time    `json:"at,omitzero"`    // when; adverts that are scraped anew after that are not replayed
}

// ReplayWorkflowID is the ID of a replay's workflow, a workflows.Replay.
func ReplayWorkflowID(replay uuid.UUID) string { return "replay/" + replay.String() }

// A ReplayFilter says which raw listings a replay is about. Conditions combine; a zero one does not filter.
type ReplayFilter struct {
	Platform     string      `json:"platform,omitempty"`
	Status       []string    `json:"status,omitempty"`        // any of: scraped normalized imported duplicate rejected
	ScrapedSince *time.Time  `json:"scraped_since,omitempty"` // last scraped then or later
	ScrapedUntil *time.Time  `json:"scraped_until,omitempty"` // last scraped before
	IDs          []uuid.UUID `json:"ids,omitempty"`           // any of these listings
	Reason       string      `json:"reason,omitempty"`        // code of one of the reasons why it was rejected
}

// How a replay stands.
const (
	ReplayRunning   = "running"
	ReplayCompleted = "completed" // every advert was brought to its end, skipped or given up
	ReplayCanceled  = "canceled"  // an operator stopped it; adverts that were started go on
	ReplayFailed    = "failed"    // it could not go on
)

// ReplayStates are all of them.
var ReplayStates = []string{ReplayRunning, ReplayCompleted, ReplayCanceled, ReplayFailed}

// Why a replay passes an advert by.
const (
	SkipStaged        = "staged"         // it came normalized by another team: there is no raw advert to normalize
	SkipNotNormalized = "not_normalized" // its newest revision has no normalized form to enter a later stage with
	SkipArchived      = "archived"       // its listing is no longer offered: a replay would show it again
	SkipGone          = "gone"           // the platform does not offer it, or no scrape has seen it for too long
)

// A Restart is one advert that is to go through the pipeline again although nothing new was scraped.
type Restart struct {
	Ref       Ref
	Stage     string // where it enters
	Revision  int64
	Title     string // as published; "" when it is not
	RentCents *int64
}

// A ReplayItem is one advert of a replay.
type ReplayItem struct {
	Restart
	Settlements int64  // how often it had been brought to an end before it was started
	Skip        string // why it is not started; "" = it is
}

// A ReplayPosition is how far a replay has come.
type ReplayPosition struct {
	State     string
	Rate      int       // adverts a second
	Last      uuid.UUID // the last one that was looked at; zero = none yet
	Exhausted bool      // all were looked at
	UnderWay  int       // started and not yet brought to an end
	Counted   bool      // its total is final
}

// A ReplayPage is a stretch of the stored adverts that a replay has looked at.
type ReplayPage struct {
	Items []ReplayItem // those that match, in the order of their IDs
	Last  uuid.UUID    // the last one that was looked at, whether it matches or not
	More  bool         // others follow
}
