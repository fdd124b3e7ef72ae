package listings

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

func (h Listings) registerAdverts(d *api.Door) {
	adverts := api.Needs(access.Read, api.Query("listings", "list-adverts", "GET /adverts",
		"List adverts that are no listings, with every reason",
		"Adverts that were rejected, or that another advert is shown for, the newest revision first. Pages are by "+
			"position: pass next_cursor as cursor. Reason and text are looked for in the next 10,000: a page may have fewer "+
			"than there are, or none, and a next_cursor all the same. POST /listings/{platform}/{platform_id}/process takes "+
			"one through the pipeline again, POST /replays those of a filter."))
	adverts.Metadata[api.TimeoutKey] = api.SearchTimeout
	api.Serve(d, adverts, h.adverts)
	reasons := api.Needs(access.Read, api.Query("listings", "count-advert-reasons", "GET /adverts/reasons",
		"Count rejected adverts by reason, platform and day",
		"Those that are rejected now, by the day (UTC) on which their newest revision came. One with several reasons "+
			"counts with each."))
	reasons.Metadata[api.TimeoutKey] = api.SearchTimeout
	api.Serve(d, reasons, h.advertReasons)
}

type listAdvertsInput struct {
	Status   string    `query:"status" default:"rejected" doc:"duplicate: another advert is shown for its home"`
	Platform string    `query:"platform" example:"kijiji"`
	Reason   string    `query:"reason" doc:"code of one of the reasons" example:"missing"`
	Since    time.Time `query:"since" doc:"arrival of the newest revision, inclusive, RFC 3339"`
	Text     string    `query:"text" maxLength:"200" doc:"that stands in title or description, in any case, with accents or without"`
	Limit    int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor   string    `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	statuses, platforms, codes []string
	after                      *db.Position
}

// advertsOrder is the only order of adverts, for its cursors.
const advertsOrder = "adverts"

// Resolve checks what a schema cannot express.
func (in *listAdvertsInput) Resolve(ctx huma.Context) (wrong []error) {
	var err error
	in.after, err = api.ParseCursor(in.Cursor, advertsOrder)
	api.Refusing(&wrong)("cursor", in.Cursor, err)
	return slices.Concat(wrong, api.WrongText("query.text", in.Text),
		api.AnyOf(ctx, in.Filters()...))
}

func (in *listAdvertsInput) Filters() []api.Filter {
	return []api.Filter{
		{Name: "status", Values: &in.statuses, Known: dblistings.AdvertStatuses},
		{Name: "platform", Values: &in.platforms, Form: contract.PlatformName},
		{Name: "reason", Values: &in.codes, Form: reasonCode},
	}
}

// reasonCode is the form of the code of a reason.
var reasonCode = regexp.MustCompile(`^[a-z0-9_-]{1,50}$`)

// AdvertSummary is an advert that is no listing.
type AdvertSummary struct {
	ListingID      uuid.UUID        `json:"listing_id" doc:"of the listing that it would be: GET /listings/{id} has payloads and history"`
	Platform       string           `json:"platform"`
	PlatformID     string           `json:"platform_id"`
	URL            string           `json:"url"`
	Title          string           `json:"title,omitempty" doc:"as the platform shows it; cut to 300 characters"`
	Status         string           `json:"status"`
	Reasons        []listing.Reason `json:"reasons" doc:"every one"`
	DuplicateOf    *uuid.UUID       `json:"duplicate_of,omitempty" doc:"the listing that is shown for its home"`
	Revision       int64            `json:"revision" doc:"counts different payloads"`
	RevisedAt      time.Time        `json:"revised_at" doc:"arrival of the newest revision"`
	FirstScrapedAt time.Time        `json:"first_scraped_at"`
	LastScrapedAt  time.Time        `json:"last_scraped_at"`
}

// TransformSchema implements huma.SchemaTransformer.
func (AdvertSummary) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "status", dblistings.AdvertStatuses)
}

// AdvertPage is the answer of GET /adverts.
type AdvertPage api.Page[AdvertSummary]

func (h Listings) adverts(ctx context.Context, in *listAdvertsInput) (*api.Body[AdvertPage], error) {
	rows, next, err := h.Store.Adverts(ctx, dblistings.AdvertFilter{
		Status: in.statuses, Platform: in.platforms, Code: in.codes, Since: in.Since, Text: in.Text,
		After: in.after, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	show := func(a dblistings.AdvertSummary) AdvertSummary { return AdvertSummary(a) }
	return api.BodyOf(AdvertPage(api.PageOf(rows, show, api.CursorAt(next, advertsOrder)))), nil
}

type advertReasonsInput struct {
	Platform string `query:"platform" example:"kijiji"`
	Days     int    `query:"days" minimum:"1" maximum:"366" default:"14" doc:"how many, today included"`

	Since time.Time `query:"since" doc:"of the last revision, inclusive, RFC 3339; in place of days"`

	platforms []string
}

// Resolve reads the platforms.
func (in *advertReasonsInput) Resolve(ctx huma.Context) []error {
	return api.AnyOf(ctx, in.Filters()...)
}

func (in *advertReasonsInput) Filters() []api.Filter {
	return []api.Filter{{Name: "platform", Values: &in.platforms, Form: contract.PlatformName}}
}

// ReasonCounts is the answer of GET /adverts/reasons.
type ReasonCounts struct {
	Counts []ReasonCount `json:"counts" doc:"in the order of day, platform and code"`
}

// ReasonCount is how many adverts of a platform have a reason.
type ReasonCount struct {
	Day      time.Time `json:"day" doc:"its start, UTC"`
	Platform string    `json:"platform"`
	Code     string    `json:"code"`
	Adverts  int       `json:"adverts"`
}

func (h Listings) advertReasons(ctx context.Context, in *advertReasonsInput) (*api.Body[ReasonCounts], error) {
	since := in.Since
	if since.IsZero() {
		since = h.door.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-in.Days)
	}
	counts, err := h.Store.AdvertReasons(ctx, since, in.platforms)
	if err != nil {
		return nil, err
	}
	show := func(c dblistings.ReasonCount) ReasonCount { return ReasonCount(c) }
	return api.BodyOf(ReasonCounts{api.Each(counts, show)}), nil
}
