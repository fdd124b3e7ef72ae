package listing

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// A Payload is the message that an advert's newest revision arrived in.
type Payload struct {
	Revision  int64     // counts different payloads, from 1
	Body      []byte    // JSON, as it arrived
	Staged    bool      // it is a contract.StagedListing, normalized by another team: there is no raw advert to normalize
	ScrapedAt time.Time // as Body says, but not after its arrival
	Pass      int64     // counts, for the IDs of events, how often it was brought to its end; 0 = it is new
}

// Statuses are those of a published listing.
var Statuses = []string{"active", "archived", "claimed"}

// A Version is the normalized form of one revision of an advert, and how it compares with the published listing.
type Version struct {
	Listing   Listing
	Revision  int64   // of the raw advert that it was made of; counts different payloads, from 1
	Published string  // status of the published listing, one of Statuses; "" = not published
	Claimed   bool    // it is to be claimed from the start; false where it is published
	Same      bool    // the published listing says the same already
	Before    Listing // the published listing; zero where Published is ""
	// When the revision arrived; zero for one that is not the newest, or was brought to its end before: a replay.
	ReceivedAt time.Time
	Gone       bool      // the platform does not offer the advert any more
	ScrapedAt  time.Time // the advert's newest scrape, also one that found nothing new
	Pass       int64     // as Payload.Pass
	Remembered bool      // its listing is archived, and a scraper of ours has not found it gone
	HiddenBy   uuid.UUID // the listing that is shown in its place, of the same home; zero = none

	Enriched   *Enrichment // as it is stored; nil = none
	EnrichedOf int64       // the revision that it was made of

	Row uint32 // state of the stored advert; 0 = it was read by itself, and what is done with it does not depend on that
}

// ErrMoved means that an advert has changed since its version was read: it is to be read again.
var ErrMoved = errors.New("it has changed since it was read; load it again")

// Enriching is the version as it is enriched.
func (v Version) Enriching() Enriching {
	return Enriching{Listing: v.Listing, Revision: v.Revision, Pass: v.Pass, Stored: v.Enriched, Of: v.EnrichedOf}
}

// Withheld reports whether the version must not become visible: its advert is gone, or its listing is archived and the
// advert has not been scraped since stale (zero = does not matter), and no scraper remembers it. A newer scrape makes
// it visible. What is visible stays so: the check for stale listings archives it.
func (v Version) Withheld(stale time.Time) bool {
	switch v.Published {
	case "":
		return v.Gone
	case "archived":
		return v.Gone || v.ScrapedAt.Before(stale) && !v.Remembered
	}
	return false
}

// A Publication is a version about to become the visible listing.
type Publication struct {
	Version
	Neighbourhood string    // key of domain/place; "" = outside of what it knows
	RepostOf      uuid.UUID // the same home under another advert of the platform; zero = none
	WithoutImages bool      // its images are not asked for now; publishing it again later asks for them

	Enrichment *Enrichment // to be stored with it; nil = the stored one stays
}

// An Image is one picture that an advert shows.
type Image struct {
	URL       string `json:"url"`
	SortOrder int    `json:"sort_order"` // 0 first
}

// A StoredImage is a picture that lies in the blob store.
type StoredImage struct {
	Image
	SHA256       string // hex
	Key          string
	ThumbnailKey string
	ContentType  string
	Bytes        int64
	Width        int    // pixels
	Height       int    // pixels
	Perceptual   uint64 // as web.Photo.Perceptual
}

// A Run names the workflow run on whose behalf something is stored.
type Run struct{ WorkflowID, RunID string }

// A Handover is work for a stage that another team owns.
type Handover struct {
	Ref        Ref
	Revision   int64
	Exchange   string
	RoutingKey string
	Bodies     [][]byte // one message each, JSON
	Status     string   // of the raw advert afterwards; "" leaves it
	Pass       int      // of the run, from 0: work of another pass is handed over again
}
