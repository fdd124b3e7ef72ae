// Package retention knows what is kept for how long, and in which order it is deleted.
package retention

import (
	"slices"
	"time"
)

// The kinds of things that grow for as long as Conveyor runs.
const (
	Partitions    = "partitions"     // of tables that grow by time: those that come next are made, none is deleted
	Adverts       = "adverts"        // no longer seen, and not visible: with revisions, listing, images and history
	Images        = "images"         // rows of images of archived listings
	Revisions     = "revisions"      // of adverts; the newest of each is kept with its advert
	Steps         = "steps"          // of the way of adverts; the first and the last pass of the newest revision are kept
	Events        = "events"         // of listings: their price and status history
	DeadLetters   = "dead-letters"   // resolved, discarded, or replayed without dying again; open ones are kept
	Drafts        = "drafts"         // of products, with their requests
	DraftRequests = "draft-requests" //
	DraftSecrets  = "draft-secrets"  // headers and cookies of requests that got no draft
	Replays       = "replays"        // that have ended
	Cycles        = "cycles"         // of scrapers; the newest of each platform are kept
	Seen          = "seen-adverts"   // what scrapers remember of adverts that they no longer see
	Audit         = "audit"          //
	CrawlRuns     = "crawl-runs"     // that have ended: with their URLs, links, tries and rates
	Unreported    = "unreported"     // unknown messages of which no webhook will tell any more: closed, not deleted
	Messages      = "messages"       // of campaigns that have ended, with their attempts; the campaigns are kept
	Transactional = "transactional"  // messages that are of no campaign, with their attempts
	Webhooks      = "webhooks"       // that were applied
	UploadFiles   = "upload-files"   // of contacts: their refused rows are deleted and the files marked here
	Uploads       = "uploads"        // of contacts whose files are deleted, with their chunks
	Lists         = "contact-lists"  // that were deleted: the members that the request left, then they themselves
	Notices       = "notices"        // of saved searches that were sent, dropped or failed, without an open dead letter
	News          = "news"           // what saved searches were told; the last of each search and listing is kept
	Unconfirmed   = "unconfirmed"    // addresses and chats of saved searches whose owners have not confirmed them
	Searches      = "searches"       // that were saved and deleted: what they were told, then they themselves
	Deleted       = "deleted"        // that a saved search was deleted
	Removals      = "removals"       // of pages of the search: an older version that comes later is a page again
	Unused        = "unused-files"   // of the blob store: marked here
	Files         = "files"          // of the blob store that were marked, and are still not used: deleted here
)

// Kinds are all of them, in the order in which they are deleted: rows come before the files that they refer to.
var Kinds = []string{
	Partitions, DraftSecrets,
	Adverts, Images, Revisions, Steps, Events, DeadLetters, Drafts, DraftRequests, Replays, Cycles, Seen, Audit,
	CrawlRuns, Unreported, Messages, Transactional, Webhooks, UploadFiles, Uploads, Lists, Notices, News, Unconfirmed,
	Searches, Deleted, Removals, Unused, Files,
}

// Limits say for how long each kind is kept. A kind that is missing, or 0, is kept for ever.
type Limits map[string]time.Duration

// Next returns the kind that comes after another ("" = the beginning) and has a limit; "" when there is none.
func (l Limits) Next(after string) string {
	for _, kind := range Kinds[slices.Index(Kinds, after)+1:] { // an unknown one begins anew
		if l[kind] > 0 {
			return kind
		}
	}
	return ""
}

// ListsWait is for how long the request that deletes a list of contacts may still be at work.
const ListsWait = 15 * time.Minute

// ForgetWait is how long the files of a forgotten advert stay, so that another advert that is just being given the
// same picture has either referred to it or will write it again. It is longer than any try at an image.
const ForgetWait = 15 * time.Minute

// CrawlRunsWait is for how long a run that could be deleted waits, so that all runs of its partition go at once: about
// twice the time in which as many are started.
const CrawlRunsWait = 14 * 24 * time.Hour

// A Step is how far the deletion of a kind has come.
type Step struct {
	Cursor  string // where to go on; each kind has a form of its own, and "" is the beginning
	Deleted int    // rows, or files, of this step
	More    bool   // there may be more
	Left    error  // why the first file was left that the store does not delete
}

// Forgotten counts what is stored of an advert, or was deleted when it was forgotten.
type Forgotten struct {
	Adverts     int  `json:"adverts"` // 1 or 0
	Revisions   int  `json:"revisions"`
	Listings    int  `json:"listings"` // 1 or 0
	Images      int  `json:"images"`
	Events      int  `json:"events"` // of its price and status history
	DeadLetters int  `json:"dead_letters,omitempty"`
	Messages    int  `json:"messages,omitempty"` // that waited in the outbox
	Files       int  `json:"files,omitempty"`    // marked as unused
	Blocked     bool `json:"blocked,omitempty"`  // it may not come back

	BlockedAt *time.Time `json:"-"` // nil where it may
}

// Add counts another step of forgetting the same advert.
func (f *Forgotten) Add(more Forgotten) {
	f.Adverts += more.Adverts
	f.Revisions += more.Revisions
	f.Listings += more.Listings
	f.Images += more.Images
	f.Events += more.Events
	f.DeadLetters += more.DeadLetters
	f.Messages += more.Messages
	f.Files += more.Files
	f.Blocked = f.Blocked || more.Blocked
}
