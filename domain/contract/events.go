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
	ImageAttached     = "images.attached"     // an image of a listing is stored
	PlatformSuspect   = "platform.suspect"    // a scraped site's pages are not what they were: a person should look
)

// Event is the envelope of every event that is published. EventID is also the AMQP MessageId: a relay may send an event
// twice, always under one ID.
type Event struct {
	EventID   string          `json:"event_id"` // UUID
	EventName string          `json:"event_name"`
	TS        time.Time       `json:"ts"` // UTC
	Platform  string          `json:"platform"`
	Tenant    string          `json:"tenant,omitempty"`
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
	Change        string   `json:"change,omitempty"` // listings.published: created updated returned
	Reasons       []Reason `json:"reasons,omitempty"`
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
