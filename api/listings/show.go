package listings

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A ListingSummary is a listing in a list.
type ListingSummary struct {
	ID                uuid.UUID  `json:"id"`
	Platform          string     `json:"platform"`
	PlatformID        string     `json:"platform_id"`
	Status            string     `json:"status"`
	URL               string     `json:"url"`
	Title             string     `json:"title"`
	RentCents         int64      `json:"rent_cents" doc:"CAD cents a month"`
	Bedrooms          int        `json:"bedrooms" doc:"0 is a studio"`
	Rooms             *float64   `json:"rooms,omitempty" doc:"Quebec room count: 4.5 is a 4½"`
	Bathrooms         *float64   `json:"bathrooms,omitempty"`
	AreaSqFt          *int       `json:"area_sqft,omitempty"`
	PropertyType      string     `json:"property_type,omitempty"`
	Address           string     `json:"address,omitempty"`
	Latitude          *float64   `json:"latitude,omitempty"`
	Longitude         *float64   `json:"longitude,omitempty"`
	Neighbourhood     *string    `json:"neighbourhood,omitempty" doc:"key of the neighbourhood"`
	NeighbourhoodName *string    `json:"neighbourhood_name,omitempty"`
	Borough           *string    `json:"borough,omitempty"`
	Thumbnail         *string    `json:"thumbnail,omitempty" doc:"key for GET /images/{key}"`
	Images            int        `json:"images" doc:"attached so far"`
	PublishedAt       time.Time  `json:"published_at"`
	UpdatedAt         time.Time  `json:"updated_at"`
	PostedAt          *time.Time `json:"posted_at,omitempty"`
}

// TransformSchema implements huma.SchemaTransformer.
func (ListingSummary) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "status", listing.Statuses)
}

func showListing(l dblistings.ListingSummary) ListingSummary { return ListingSummary(l) }

// Advert is the answer of GET /listings/{id}: everything known of one advert, published or not.
type Advert struct {
	ID       uuid.UUID        `json:"id"`
	Listing  *ListingSummary  `json:"listing,omitempty" doc:"as published; absent for an advert that is not"`
	Details  *listing.Listing `json:"details,omitempty" doc:"the newest normalized form, with the source of every field and its warnings"`
	Images   []ImageDetail    `json:"images"`
	History  []HistoryEvent   `json:"history" doc:"prices and states, oldest first; of the adverts that this one reposts as well"`
	Audit    Audit            `json:"audit"`
	Workflow api.WorkflowLink `json:"workflow"`

	FirstPublishedAt *time.Time `json:"first_published_at,omitempty" doc:"of this advert, or of the first one that it reposts"`

	Enrichment *Enrichment     `json:"enrichment,omitempty" doc:"what is known beyond the fields of the advert; absent until it is enriched"`
	Rent       *RentComparison `json:"rent_comparison,omitempty" doc:"the rent beside those of listings with as many bedrooms; absent where there are fewer than 10"`

	Way     []WayStep        `json:"way" doc:"the last 100 steps of its revisions, in their order; kept for longer than the workflow"`
	Letters []api.LetterItem `json:"dead_letters" doc:"of its workflow, the latest deaths first; at most 20"`
}

// A WayStep is a step of an advert on its way.
type WayStep struct {
	Revision int64     `json:"revision"`
	Pass     int64     `json:"pass" doc:"0 is the first; replays are others"`
	Step     string    `json:"step" enum:"received,normalized,refused,twin,new,changed,unchanged,back,withheld,archived"`
	At       time.Time `json:"at"`
	TookMS   *int64    `json:"took_ms,omitempty" doc:"since the step before; absent for the first of a pass"`
	Again    bool      `json:"again" doc:"the result of an earlier pass, once more"`
}

// An ImageDetail is one picture of a listing.
type ImageDetail struct {
	URL          string  `json:"url"`
	SortOrder    int     `json:"sort_order"`
	State        string  `json:"state" enum:"pending,attached,repeated,failed,dropped"`
	Key          *string `json:"key,omitempty" doc:"for GET /images/{key}"`
	ThumbnailKey *string `json:"thumbnail_key,omitempty"`
	SHA256       *string `json:"sha256,omitempty"`
	Width        *int    `json:"width,omitempty" doc:"pixels"`
	Height       *int    `json:"height,omitempty" doc:"pixels"`
	Attempts     int     `json:"attempts" doc:"failed fetches"`
	Reason       string  `json:"reason,omitempty" doc:"why it failed"`
}

// A HistoryEvent is a change of price or state.
type HistoryEvent struct {
	Kind         string    `json:"kind" enum:"created,price,status"`
	Revision     int64     `json:"revision"`
	At           time.Time `json:"at"`
	OldRentCents *int64    `json:"old_rent_cents,omitempty"`
	NewRentCents *int64    `json:"new_rent_cents,omitempty"`
	OldStatus    *string   `json:"old_status,omitempty"`
	NewStatus    *string   `json:"new_status,omitempty"`
	ListingID    uuid.UUID `json:"listing_id" doc:"whose it is: this advert's, or that of one that it reposts"`
}

// Audit is how an advert was processed: the payloads received, the outcome, and the reasons.
type Audit struct {
	Platform       string           `json:"platform"`
	PlatformID     string           `json:"platform_id"`
	URL            string           `json:"url"`
	Status         string           `json:"status" enum:"scraped,normalized,imported,duplicate,rejected"`
	Reasons        []listing.Reason `json:"reasons" doc:"why it was rejected or is a duplicate: every reason"`
	DuplicateOf    *uuid.UUID       `json:"duplicate_of,omitempty"`
	Revision       int64            `json:"revision" doc:"counts different payloads"`
	Settled        bool             `json:"settled" doc:"the newest revision has been processed to its end"`
	Scrapes        int64            `json:"scrapes" doc:"messages received"`
	FirstScrapedAt time.Time        `json:"first_scraped_at"`
	LastScrapedAt  time.Time        `json:"last_scraped_at"`
	Revisions      []RawRevision    `json:"revisions" doc:"newest first"`
}

// A RawRevision is one payload of an advert as received, without contact data, and for the role read without all that
// is not known to be free of personal data.
type RawRevision struct {
	Revision    int64           `json:"revision"`
	ContentHash string          `json:"content_hash"`
	ScrapedAt   time.Time       `json:"scraped_at"`
	ReceivedAt  time.Time       `json:"received_at"`
	Payload     json.RawMessage `json:"payload"`
	Hidden      int             `json:"hidden" doc:"members of the payload that are left out for this caller"`
}

// showAdvert leaves out of the payloads what a caller with a role may not see.
func showAdvert(
	id uuid.UUID, d dblistings.ListingDetail, workflow api.WorkflowLink, letter func(db.LetterSummary) api.LetterItem,
	role access.Role,
) Advert {
	a := d.Audit
	return Advert{
		ID: id, Listing: api.Maybe(d.Summary, showListing), Details: d.Details, Workflow: workflow,
		FirstPublishedAt: d.FirstPublishedAt, Enrichment: showEnrichment(d.Enrichment),
		Rent:    api.Maybe(d.Rent, func(c listing.RentComparison) RentComparison { return RentComparison(c) }),
		Way:     api.Each(d.Way, func(s dblistings.WayStep) WayStep { return WayStep(s) }),
		Letters: api.Each(d.Letters, letter),
		Images:  api.Each(d.Images, func(i dblistings.ImageDetail) ImageDetail { return ImageDetail(i) }),
		History: api.Each(d.History, func(e dblistings.HistoryEvent) HistoryEvent { return HistoryEvent(e) }),
		Audit: Audit{
			Platform: a.Platform, PlatformID: a.PlatformID, URL: a.URL, Status: a.Status, Reasons: a.Reasons,
			DuplicateOf: a.DuplicateOf, Revision: a.Revision, Settled: a.Settled, Scrapes: a.Scrapes,
			FirstScrapedAt: a.FirstScrapedAt, LastScrapedAt: a.LastScrapedAt,
			Revisions: api.Each(a.Revisions, func(r dblistings.RawRevision) RawRevision {
				payload, hidden := api.Visible(r.Payload, role)
				return RawRevision{r.Revision, r.ContentHash, r.ScrapedAt, r.ReceivedAt, payload, hidden}
			}),
		},
	}
}
