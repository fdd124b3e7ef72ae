package draft

import (
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Request asks for one draft. The event's ID is its whole identity: the same one twice is one draft.
type Request struct {
	EventID uuid.UUID `json:"event_id"`
	URL     string    `json:"url"`
	OutDir  string    `json:"out_dir"`          // below the folder of all drafts; "" = DefaultOutDir
	Locale  string    `json:"locale,omitempty"` // of the browser, fr-CA; "" = en-US
	Sealed  bool      `json:"sealed,omitempty"` // it has Secrets, which are kept under EventID
}

// DefaultOutDir is where a draft's files go when a request does not say.
const DefaultOutDir = "out"

var namespace = uuid.MustParse("5a1c1d8e-6f0f-5b55-9a0f-0c2f6e0d7b11")

// ID is a draft's own, made of its event's, so that others may name it without knowing about events.
func ID(eventID uuid.UUID) uuid.UUID { return uuid.NewSHA1(namespace, eventID[:]) }

// WorkflowPrefix is what the IDs of workflows begin with; the event's ID follows.
const WorkflowPrefix = "draft/"

// WorkflowID is the ID of the workflow, a workflows.CrawlDraft, that makes the draft of an event.
func WorkflowID(eventID uuid.UUID) string { return WorkflowPrefix + eventID.String() }

// How a crawl ends.
const (
	Succeeded = "succeeded"
	Failed    = "failed" // for a reason of the page's
	Unmade    = "unmade" // for a reason of our own, which says nothing of the page: it is not stored
)

// Outcomes are those of crawls that are stored.
var Outcomes = []string{Succeeded, Failed}

// A Result is the outcome of one crawl. A failure has the same shape, so that it is kept as a draft is.
type Result struct {
	Request
	Outcome   string      `json:"outcome"`          // Succeeded, Failed or Unmade
	Class     fault.Class `json:"class,omitempty"`  // of the failure
	Error     string      `json:"error,omitempty"`  // of the failure
	Status    int         `json:"status,omitempty"` // HTTP; 0 = there was no answer
	Files     []File      `json:"files,omitempty"`  // the files that could be kept; the document of a draft is DocumentName
	CrawledAt time.Time   `json:"crawled_at"`
	TookMS    int64       `json:"took_ms"`
}

// Fail returns the failure-shaped result of a request.
func Fail(r Request, class fault.Class, reason string, now time.Time) Result {
	return Result{Request: r, Outcome: Failed, Class: class, Error: reason, CrawledAt: now}
}

// The names of a draft's files.
const (
	DocumentName   = "draft.json"
	PageName       = "page.html"
	ScreenshotName = "screenshot.png"
)

// A File is kept under the hash of its content.
type File struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// A Document is draft.json: the draft, and the page that it was made of.
type Document struct {
	EventID   *uuid.UUID `json:"event_id,omitempty"`  // nil where no message asked for it
	URL       string     `json:"url,omitempty"`       // "" where it is not known, as of a saved page
	FinalURL  string     `json:"final_url,omitempty"` // where redirects led
	Redirects []string   `json:"redirects,omitempty"` // the addresses on the way, URL being the first
	Locale    string     `json:"locale,omitempty"`    // as asked for
	Sealed    bool       `json:"sealed,omitempty"`    // it was asked for with headers or cookies
	Status    int        `json:"status,omitempty"`    // HTTP
	Unstable  bool       `json:"unstable,omitempty"`  // the page was still changing
	CrawledAt time.Time  `json:"crawled_at,omitzero"`
	Draft     Draft      `json:"draft"`

	Candidates []Candidate `json:"candidates,omitempty"` // see Draft.Candidates
}
