package contract

import (
	"encoding/json"
	"net/url"
	"time"
)

// ScrapedListing is an advert as a scraper saw it: exchange "scraped", routing key = platform, queue
// scraped.<platform>. Members not named here are kept with the stored payload.
type ScrapedListing struct {
	Platform    string              `json:"platform"`    // required, e.g. "kijiji"
	PlatformID  string              `json:"platform_id"` // required: the platform's own number
	URL         string              `json:"url"`         // required: http(s) address of the advert
	ScrapedAt   time.Time           `json:"scraped_at"`  // required, RFC 3339: which of two scrapes is newer
	Title       string              `json:"title"`
	Description string              `json:"description"` // HTML or text
	Price       ScrapedPrice        `json:"price"`
	Address     string              `json:"address"`
	Latitude    *float64            `json:"latitude"`   // degrees, WGS 84
	Longitude   *float64            `json:"longitude"`  // degrees, WGS 84
	Attributes  map[string][]string `json:"attributes"` // the platform's own names and values
	ImageURLs   []string            `json:"image_urls"` // in the order of the advert
	Contact     ScrapedContact      `json:"contact"`
	PostedAt    *time.Time          `json:"posted_at"`
	Raw         json.RawMessage     `json:"raw,omitempty"` // further data of the scraper, kept with the stored payload
}

// ScrapedPrice is a price as the platform states it.
type ScrapedPrice struct {
	AmountCents *int64 `json:"amount_cents"` // CAD cents; null = none stated
	Type        string `json:"type"`         // FIXED, CONTACT, GIVE_AWAY, SWAP_TRADE …
	Text        string `json:"text"`         // as printed
}

// ScrapedContact is the contact of the advert: personal data, kept with the raw listing and nowhere else.
type ScrapedContact struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
}

// Check returns Errors when the advert cannot be stored; the normalizer decides whether it can become a listing.
func (m ScrapedListing) Check() error {
	var e Errors
	checkRef(&e, m.Platform, m.PlatformID)
	checkURL(&e, "url", m.URL)
	checkTime(&e, "scraped_at", m.ScrapedAt)
	return e.or()
}

// StagedListing is a normalized advert on its way between stages: exchange "listings", routing keys
// listings.normalized (next: dedupe) and listings.ready (next: import).
type StagedListing struct {
	Platform   string    `json:"platform"`    // required
	PlatformID string    `json:"platform_id"` // required
	URL        string    `json:"url"`         // required
	ScrapedAt  time.Time `json:"scraped_at"`  // required
	// Of the stored advert that the listing was made of, as we handed it over: it says which scrape that was, whatever
	// becomes of the digits of scraped_at on the way. 0 = not known.
	Revision int64 `json:"revision,omitempty"`
	// An owner has taken it over: a listing that is not published yet is claimed from the start, which keeps it from being
	// archived. Of one that is published it changes nothing.
	Claimed bool            `json:"claimed,omitempty"`
	Listing json.RawMessage `json:"listing"` // required: title, rent_cents, bedrooms, and other attributes, if known
}

// Check returns Errors when the message names no advert or lacks what every listing needs.
func (m StagedListing) Check() error {
	var e Errors
	checkRef(&e, m.Platform, m.PlatformID)
	checkURL(&e, "url", m.URL)
	checkTime(&e, "scraped_at", m.ScrapedAt)
	var l struct {
		Title     string `json:"title"`
		RentCents int64  `json:"rent_cents"`
		Bedrooms  *int   `json:"bedrooms"`
	}
	if wrong := Part("listing", m.Listing, &l); wrong != nil {
		return append(e, wrong...)
	}
	if l.Title == "" {
		e.add("listing.title", "is missing")
	}
	switch {
	case l.RentCents <= 0:
		e.add("listing.rent_cents", "is %d, expected CAD cents above 0", l.RentCents)
	case l.RentCents > MaxRentCents:
		e.add("listing.rent_cents", "is %d, expected CAD cents a month, at most %d", l.RentCents, MaxRentCents)
	}
	switch {
	case l.Bedrooms == nil:
		e.add("listing.bedrooms", "is missing")
	case *l.Bedrooms < 0 || *l.Bedrooms > 99:
		e.add("listing.bedrooms", "is %d, expected 0 to 99", *l.Bedrooms)
	}
	return e.or()
}

// MaxRentCents bounds a monthly rent. Above is a sale price or a typing error.
const MaxRentCents = 10_000_000

// PendingImage asks for one image of a published listing: exchange "listings", routing key images.pending.
type PendingImage struct {
	ListingID string `json:"listing_id"`         // required: UUID of a listing that is imported
	Platform  string `json:"platform,omitempty"` // of the listing; told to others, and not needed from them
	URL       string `json:"url"`                // required: http(s) address of the image
	SortOrder int    `json:"sort_order"`         // place in the advert, 0 first; 0..999
}

// Check returns Errors when the message names no image.
func (m PendingImage) Check() error {
	var e Errors
	if m.ListingID == "" {
		e.add("listing_id", "is missing")
	}
	checkURL(&e, "url", m.URL)
	if m.SortOrder < 0 || m.SortOrder > 999 {
		e.add("sort_order", "is %d, expected 0 to 999", m.SortOrder)
	}
	return e.or()
}

// How long an address and the name of its host may be, in bytes. No longer name can be resolved.
const (
	maxURL  = 2048
	maxHost = 253
)

func checkURL(e *Errors, field, s string) { checkURLUpTo(e, field, s, maxURL) }

// checkURLUpTo checks an address of at most so many bytes.
func checkURLUpTo(e *Errors, field, s string, most int) {
	u, err := url.Parse(Escaped(s))
	switch {
	case s == "":
		e.add(field, "is missing")
	case len(s) > most:
		e.add(field, "has %d bytes, the most is %d", len(s), most)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		e.add(field, "%q is not an absolute http(s) address", cut(s))
	case len(u.Hostname()) > maxHost:
		e.add(field, "has a host name of %d bytes, the most is %d", len(u.Hostname()), maxHost)
	}
}
