package contract

import (
	"encoding/json"
	"time"
)

// The events, each also its routing key on the topic exchange listings.events.
const (
	ListingNormalized = "listings.normalized" // an advert was understood
	ListingPublished  = "listings.published"  // a version of a listing is visible; its images may follow
	ListingRejected   = "listings.rejected"   // an advert cannot become a listing
	ListingArchived   = "listings.archived"   // a listing is no longer offered
	ListingClaimed    = "listings.claimed"    // an owner has taken a listing over: it is not archived when it is not seen
	ListingUnclaimed  = "listings.unclaimed"  // that is over: the listing is active again
	ListingMerged     = "listings.merged"     // an advert was found to be of the same home as others
	ListingSplit      = "listings.split"      // an advert is not of the same home as others any more
	ListingEnriched   = "listings.enriched"   // more is known of a listing than listings.published has told
	ImageAttached     = "images.attached"     // an image of a listing is stored
	PlatformSuspect   = "platform.suspect"    // a scraped site's pages are not what they were: a person should look
	ContactsImported  = "contacts.imported"   // a file of a tenant's contacts was read to its end
	CampaignCompleted = "campaign.completed"  // no message of a campaign waits any more
	MessageStatus     = "message.status"      // a message was sent, delivered, read, failed, or its answer was lost
	DraftCompleted    = "drafts.completed"    // a crawl request has come to its end: a draft, or why there is none
)

// Event is the envelope of every event that is published. EventID is also the AMQP MessageId: a relay may send an event
// twice, always under one ID.
type Event struct {
	EventID   string          `json:"event_id"` // UUID
	EventName string          `json:"event_name"`
	TS        time.Time       `json:"ts"`                 // UTC
	Platform  string          `json:"platform,omitempty"` // of the events of listings, images and platforms
	Tenant    string          `json:"tenant,omitempty"`   // of the events of contacts, campaigns and messages
	Data      json.RawMessage `json:"data"`
}

// ListingData is the data of every listings.* event; members that an event knows nothing about are left out.
type ListingData struct {
	ListingID     string   `json:"listing_id"` // UUID
	PlatformID    string   `json:"platform_id"`
	Revision      int64    `json:"revision"` // counts the advert's different payloads, from 1
	URL           string   `json:"url"`
	Title         string   `json:"title,omitempty"`
	RentCents     int64    `json:"rent_cents,omitempty"` // CAD cents a month
	Bedrooms      *int     `json:"bedrooms,omitempty"`
	Neighbourhood string   `json:"neighbourhood,omitempty"`
	Reasons       []Reason `json:"reasons,omitempty"`

	// Of listings.published.
	Change    string   `json:"change,omitempty"`  // created updated returned
	Changes   []Change `json:"changes,omitempty"` // of updated and returned, by field
	Address   string   `json:"address,omitempty"`
	Latitude  *float64 `json:"latitude,omitempty"`  // degrees, WGS 84
	Longitude *float64 `json:"longitude,omitempty"` // degrees, WGS 84
	ImageURL  string   `json:"image_url,omitempty"` // of the first picture, on the platform; images.attached has ours
	// What is known beyond the advert's fields; left out where it is what was known before, or nothing.
	Enrichment *Enrichment `json:"enrichment,omitempty"`
}

// Change is a field of a listing whose value is another than in the version that was visible before. From and To have
// the form of the field in GET /listings/{id}; one that is left out was, or is, not stated. description and image_urls
// have neither.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from,omitempty"`
	To    json.RawMessage `json:"to,omitempty"`
}

// HomeData is the data of listings.merged and listings.split.
type HomeData struct {
	ListingData        // of the advert that joined the home, or left it
	HomeID      string `json:"home_id"`            // UUID
	ShownID     string `json:"shown_id"`           // UUID of the listing that is shown for the home's others
	Kind        string `json:"kind,omitempty"`     // of merged: duplicate (on two platforms), repost (on one)
	Reviewer    string `json:"reviewer,omitempty"` // the caller that decided it; "" = a rule
}

// EnrichedData is the data of listings.enriched.
type EnrichedData struct {
	ListingID  string `json:"listing_id"` // UUID
	PlatformID string `json:"platform_id"`
	Revision   int64  `json:"revision"`
	URL        string `json:"url"`
	Enrichment
}

// Enrichment is what is known of a listing beyond its advert's fields: all of it, not only what is new.
type Enrichment struct {
	Facts       []Fact   `json:"facts"`
	Places      []Nearby `json:"places"`                // by kind, the nearest first
	Attribution string   `json:"attribution,omitempty"` // to be shown with the places
}

// Fact is a detail that the text of an advert states.
type Fact struct {
	Field string `json:"field"`
	Value string `json:"value"`
	From  string `json:"from"` // title description, by rules; model
}

// Nearby is a place near a listing.
type Nearby struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Metres int    `json:"metres"` // straight distance
}

// Reason is one reason for which an advert cannot become a listing.
type Reason struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ImageData is the data of images.attached.
type ImageData struct {
	ListingID string `json:"listing_id"`
	URL       string `json:"url"`
	Key       string `json:"key"` // GET /images/{key}
	SHA256    string `json:"sha256"`
	Width     int    `json:"width"`  // pixels
	Height    int    `json:"height"` // pixels
	SortOrder int    `json:"sort_order"`
}

// PlatformData is the data of platform.suspect.
type PlatformData struct {
	Cycle  int64  `json:"cycle"`
	Page   int    `json:"page,omitempty"` // of the search, from 1; 0 = of the cycle as a whole
	Reason string `json:"reason"`
}

// ContactsData is the data of contacts.imported. Rows = Valid + Invalid + Duplicate, and Valid = New + Updated +
// Skipped.
type ContactsData struct {
	UploadID  string `json:"upload_id"` // UUID
	FileName  string `json:"file_name"`
	Rows      int64  `json:"rows"`      // read
	Valid     int64  `json:"valid"`     // of them
	Invalid   int64  `json:"invalid"`   // refused: GET /uploads/{id}/errors.csv
	Duplicate int64  `json:"duplicate"` // of rows before them in the file
	New       int64  `json:"new"`       // contacts
	Updated   int64  `json:"updated"`
	Skipped   int64  `json:"skipped"` // known contacts that were to be left as they are
}

// CampaignData is the data of campaign.completed. Each message is in one of the counts; reports of Meta that come later
// move messages between them.
type CampaignData struct {
	CampaignID string    `json:"campaign_id"` // UUID
	Name       string    `json:"name"`
	State      string    `json:"state"` // done canceled
	Total      int64     `json:"total"` // messages
	Sent       int64     `json:"sent"`  // accepted by Meta, and no more is known
	Delivered  int64     `json:"delivered"`
	Read       int64     `json:"read"`
	Failed     int64     `json:"failed"`
	Unknown    int64     `json:"unknown"` // the answer was lost
	Skipped    int64     `json:"skipped"` // never sent: opted out, no phone number, or the campaign was canceled
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
}

// MessageData is the data of message.status. It names nobody: the recipient is known by the message, or by the contact.
type MessageData struct {
	MessageID  string    `json:"message_id"`            // UUID
	CampaignID string    `json:"campaign_id,omitempty"` // UUID; of a campaign's message
	Kind       string    `json:"kind"`                  // transactional campaign
	Status     string    `json:"status"`                // sent delivered read failed unknown
	At         time.Time `json:"at"`                    // by Meta's clock where Meta reports it
	WAMID      string    `json:"wamid,omitempty"`       // Meta's ID of the message
	Class      string    `json:"class,omitempty"`       // of a failure: its cause
	Code       int       `json:"code,omitempty"`        // of a failure: Meta's number
	Error      string    `json:"error,omitempty"`       // of a failure, in words
}

// DraftData is the data of drafts.completed. A member that is not on the page, or where there was no page, is left out;
// GET /drafts/{draft_id} has the rest.
type DraftData struct {
	RequestID    string    `json:"request_id"` // UUID: event_id of the crawl request
	DraftID      string    `json:"draft_id"`   // UUID
	URL          string    `json:"url"`        // as requested
	FinalURL     string    `json:"final_url,omitempty"`
	Outcome      string    `json:"outcome"`          // succeeded failed
	Class        string    `json:"class,omitempty"`  // of a failure
	Error        string    `json:"error,omitempty"`  // of a failure, in words
	Status       int       `json:"status,omitempty"` // HTTP
	Name         string    `json:"name,omitempty"`   // of the product
	Brand        string    `json:"brand,omitempty"`
	Price        string    `json:"price,omitempty"`        // decimal; of a range the lower end
	PriceTo      string    `json:"price_to,omitempty"`     // the upper end; "" = it is no range
	Currency     string    `json:"currency,omitempty"`     // ISO 4217
	Availability string    `json:"availability,omitempty"` // of schema.org, without the address
	SKU          string    `json:"sku,omitempty"`
	GTIN         string    `json:"gtin,omitempty"`
	MPN          string    `json:"mpn,omitempty"`
	CrawledAt    time.Time `json:"crawled_at"`
}
