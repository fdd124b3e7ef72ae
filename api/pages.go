package api

import (
	"time"
)

// A StoredPage is the answer of GET /pages/{id}: a page as it is kept.
type StoredPage struct {
	ID          int64     `json:"id"`
	URL         string    `json:"url" doc:"canonical"`
	Site        string    `json:"site"`
	Title       string    `json:"title" doc:"may be empty"`
	Description string    `json:"description,omitempty"`
	Headings    []string  `json:"headings"`
	Language    string    `json:"language,omitempty" doc:"ISO 639-1; absent where it is unknown"`
	Type        string    `json:"type"`
	StatusCode  int       `json:"status_code" doc:"of the answer that the page was"`
	CrawledAt   time.Time `json:"crawled_at"`
	StoredAt    time.Time `json:"stored_at"`
	Revision    int64     `json:"revision" doc:"counts the versions that were stored"`
	Text        string    `json:"text,omitempty" doc:"without tags; its first 1,000,000 bytes"`
	TextCut     bool      `json:"text_cut,omitempty" doc:"the page has more text"`
}

// PagesDeleted is the answer of DELETE /pages.
type PagesDeleted struct {
	Pages    int           `json:"pages" doc:"that match: deleted already for a url, still to be deleted for a site"`
	DryRun   bool          `json:"dry_run" doc:"nothing is deleted"`
	Workflow *WorkflowLink `json:"workflow,omitempty" doc:"deletes the pages of a site"`
}

// ReindexStart is the body of POST /search/reindex, which may be left out.
type ReindexStart struct {
	To string `json:"to,omitempty" enum:"postgres,opensearch" doc:"engine to fill; the one in use where it is left out"`
}

// A Reindex is the progress of a re-index.
type Reindex struct {
	State     string       `json:"state" enum:"none,running,completed,failed,cancelled" doc:"none: there was none, or it is no longer known"`
	To        string       `json:"to,omitempty" doc:"engine that is filled"`
	Done      int64        `json:"done" doc:"pages that were looked at"`
	Total     int64        `json:"total" doc:"pages there are"`
	Joined    bool         `json:"joined,omitempty" doc:"one was running already"`
	StartedAt *time.Time   `json:"started_at,omitempty"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Error     string       `json:"error,omitempty" doc:"why it failed"`
	Workflow  WorkflowLink `json:"workflow"`
}
