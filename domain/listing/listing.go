// Package listing is the vocabulary of rental adverts: what one is, what identifies its content, and when two adverts
// are one home. The rules that read adverts are in domain/listing/prose. It does no I/O and reads no clock.
package listing

import (
	"time"

	"github.com/mtlrent/conveyor/domain/contract"
)

// Ref names one advert on one platform. It is the identity of a listing and the natural key of its workflow.
type Ref struct {
	Platform   string `json:"platform"`    // e.g. "kijiji"
	PlatformID string `json:"platform_id"` // the platform's own number
}

func (r Ref) String() string { return r.Platform + "/" + r.PlatformID }

// Raw is an advert as the platform shows it, before any interpretation. Its JSON is the scraped.<platform> message
// of domain/contract; members that the contract does not name are kept in raw_listings.payload and ignored here.
type Raw struct {
	Ref
	URL         string              `json:"url"`
	ScrapedAt   time.Time           `json:"scraped_at"`
	Title       string              `json:"title"`
	Description string              `json:"description"` // HTML or text
	Price       RawPrice            `json:"price"`
	Address     string              `json:"address"`
	Latitude    *float64            `json:"latitude"`   // degrees, WGS 84
	Longitude   *float64            `json:"longitude"`  // degrees, WGS 84
	Attributes  map[string][]string `json:"attributes"` // the platform's own names and values
	ImageURLs   []string            `json:"image_urls"` // in the order the advert shows them
	Contact     RawContact          `json:"contact"`
	PostedAt    *time.Time          `json:"posted_at"`
}

// RawPrice is a price as the platform states it.
type RawPrice struct {
	AmountCents *int64 `json:"amount_cents"` // CAD cents; nil = none stated
	Type        string `json:"type"`         // FIXED, CONTACT, GIVE_AWAY, SWAP_TRADE … or ""
	Text        string `json:"text"`         // as printed: "1 250 $ / mois"
}

// RawContact is personal data: it stays in raw_listings and reaches no log, event, ID or summary.
type RawContact struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
}

// Limits on the parts of an advert that a listing keeps.
const (
	MaxTitle       = 300    // runes
	MaxDescription = 20_000 // runes
	MaxImages      = 50
)

// MinRentCents and MaxRentCents bound a monthly rent.
const (
	MinRentCents int64 = 1
	MaxRentCents int64 = contract.MaxRentCents
)

// MinAreaSqFt and MaxAreaSqFt bound a plausible home. A value outside is a placeholder (Kijiji's 0 and 1) or a lot.
const (
	MinAreaSqFt = 50
	MaxAreaSqFt = 20_000
)

// Listing is a normalized advert. A zero number, an empty string and a nil pointer mean "not stated", but for
// Bedrooms, which is always stated (0 = studio).
type Listing struct {
	Ref
	URL         string     `json:"url"`
	ScrapedAt   time.Time  `json:"scraped_at"`
	PostedAt    *time.Time `json:"posted_at,omitempty"`
	Title       string     `json:"title"`              // entities decoded, white space folded, at most 300 runes
	Description string     `json:"description"`        // plain text, paragraphs as lines, at most 20,000 runes
	Language    string     `json:"language,omitempty"` // "fr", "en" or "" when it cannot be told

	RentCents int64  `json:"rent_cents"`          // CAD cents a month
	RentFrom  bool   `json:"rent_from,omitempty"` // "from 1,315 $": the lowest of several rents
	Promotion string `json:"promotion,omitempty"` // e.g. "1 month free"
	Units     []Unit `json:"units,omitempty"`     // the homes of an advert for several; Normalize says which counts

	Rooms     float64 `json:"rooms,omitempty"` // Quebec room count: 4.5 for "4 ½"
	Bedrooms  int     `json:"bedrooms"`        // 0 = studio
	Den       bool    `json:"den,omitempty"`   // Kijiji's "2 + den"
	Bathrooms float64 `json:"bathrooms,omitempty"`
	AreaSqFt  int     `json:"area_sqft,omitempty"`
	// apartment condo house townhouse duplex-triplex basement studio loft room
	PropertyType string `json:"property_type,omitempty"`
	Building     string `json:"building,omitempty"`    // duplex triplex …: the building that the home is part of
	Floor        string `json:"floor,omitempty"`       // basement half-basement ground top 1 2 3 …
	RoomRental   bool   `json:"room_rental,omitempty"` // a room in a shared home, not a home
	Sublet       bool   `json:"sublet,omitempty"`      // sublet or lease transfer

	Furnished string    `json:"furnished,omitempty"` // yes no semi optional
	Smoking   string    `json:"smoking,omitempty"`   // yes no outdoors
	Pets      Pets      `json:"pets"`
	Parking   Parking   `json:"parking"`
	Utilities Utilities `json:"utilities"`
	Amenities []string  `json:"amenities,omitempty"` // sorted: air_conditioning balcony dishwasher elevator gym …
	Lease     string    `json:"lease,omitempty"`     // one-year month-to-month 6-month
	Available string    `json:"available,omitempty"` // 2026-07-01, 2026-07, 07-01, <=07-01 or "now"
	Poster    string    `json:"poster,omitempty"`    // owner professional

	CentrisNumber string `json:"centris_number,omitempty"` // of the brokers' register, which several platforms show
	BuildingRef   string `json:"building_ref,omitempty"`   // the platform's own name for the building that lists its units

	Address   Address  `json:"address"`
	Latitude  *float64 `json:"latitude,omitempty"`
	Longitude *float64 `json:"longitude,omitempty"`

	ImageURLs []string `json:"image_urls,omitempty"` // http(s), absolute, without repeats, in order; at most MaxImages

	// Perceptual hashes of the pictures that are stored, where SameHome is to compare them; no part of the advert.
	Photos []uint64 `json:"-"`

	Sources  map[string]Source `json:"sources"`            // field name → where its value came from
	Warnings []Warning         `json:"warnings,omitempty"` // conflicts and oddities an operator should see
}

// A Unit is one of several homes in an advert.
type Unit struct {
	Rooms     float64 `json:"rooms,omitempty"`
	Bedrooms  int     `json:"bedrooms"`
	RentCents int64   `json:"rent_cents,omitempty"` // 0 = not stated
	AreaSqFt  int     `json:"area_sqft,omitempty"`
}

// Pets says which animals may move in.
type Pets struct {
	Policy string `json:"policy,omitempty"` // yes no limited conflict
	Cats   string `json:"cats,omitempty"`   // yes no conditional
	Dogs   string `json:"dogs,omitempty"`   // yes no small conditional
}

// Parking says whether a car has a place and what it costs.
type Parking struct {
	Offer      string `json:"offer,omitempty"` // included available extra street none
	Type       string `json:"type,omitempty"`  // indoor outdoor
	Spots      int    `json:"spots,omitempty"`
	PriceCents int64  `json:"price_cents,omitempty"` // CAD cents a month, when it is extra
}

// Utilities says what the rent includes; nil = not stated.
type Utilities struct {
	Heat                     *bool `json:"heat,omitempty"`
	HotWater                 *bool `json:"hot_water,omitempty"`
	Electricity              *bool `json:"electricity,omitempty"`
	Internet                 *bool `json:"internet,omitempty"`
	Water                    *bool `json:"water,omitempty"`
	Cable                    *bool `json:"cable,omitempty"`
	ElectricityEstimateCents int64 `json:"electricity_estimate_cents,omitempty"` // CAD cents a month
}

// Address is what could be read from the advert's address. Text is always the whole of it.
type Address struct {
	Text       string   `json:"text,omitempty"`
	Civic      []string `json:"civic,omitempty"` // several for an advert about several buildings
	Unit       string   `json:"unit,omitempty"`
	Street     string   `json:"street,omitempty"`
	City       string   `json:"city,omitempty"`
	PostalCode string   `json:"postal_code,omitempty"` // "H2L 3Z1", or the first half alone
}

// A Source says where a value was read.
type Source struct {
	From string `json:"from"`           // attribute title description price address
	Name string `json:"name,omitempty"` // the attribute's name
	Text string `json:"text,omitempty"` // the words it was read from, at most 120 runes, never contact data
}

// A Warning is a conflict or oddity: the listing stands, an operator should know.
type Warning struct {
	Field   string `json:"field"`
	Code    string `json:"code"`    // e.g. conflict, multi_unit, placeholder, truncated
	Message string `json:"message"` // names both values and where they came from
}
