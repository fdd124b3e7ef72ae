package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// listings serves /listings.
type listings struct {
	store     ListingReader
	launch    Starter
	log       *slog.Logger
	workflows func(listing.Ref) workflowLink
}

func (h *listings) register(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "search-listings", Method: http.MethodGet, Path: "/listings", Tags: []string{"listings"},
		Summary: "Search listings", Errors: []int{422, 503},
		Description: "Filters combine. Pages are by position, not by number: pass next_cursor as cursor.",
	}, h.search)
	huma.Register(a, huma.Operation{
		OperationID: "get-listing", Method: http.MethodGet, Path: "/listings/{id}", Tags: []string{"listings"},
		Summary: "Get a listing and its way", Errors: []int{404, 422, 503},
		Description: "Also for adverts that were rejected or are duplicates: audit says why. The ID is the listing's.",
	}, h.get)
	huma.Register(a, huma.Operation{
		OperationID: "process-listing", Method: http.MethodPost, Path: "/listings/{platform}/{platform_id}/process",
		Tags: []string{"listings"}, Summary: "Take an advert through the pipeline again",
		DefaultStatus: http.StatusAccepted, Errors: []int{404, 422, 503},
		Description: "Starts at a stage with what is stored, changed or not. While the advert is being processed the " +
			"request joins its workflow.",
	}, h.process)
}

type searchInput struct {
	Platform      string  `query:"platform" maxLength:"32" example:"kijiji"`
	Status        string  `query:"status" enum:"active,archived,claimed,any" default:"active"`
	Neighbourhood string  `query:"neighbourhood" maxLength:"100" doc:"key, as in the answer"`
	MinPrice      float64 `query:"min_price" minimum:"0" maximum:"100000000" doc:"CAD a month, inclusive"`
	MaxPrice      float64 `query:"max_price" minimum:"0" maximum:"100000000" doc:"CAD a month, inclusive"`
	Bedrooms      []int   `query:"bedrooms" maxItems:"10" doc:"any of these; 0 is a studio" example:"[2,3]"`
	MinBedrooms   int     `query:"min_bedrooms" minimum:"0" maximum:"50"`
	BBox          string  `query:"bbox" maxLength:"100" doc:"west,south,east,north in degrees" example:"-73.6,45.5,-73.5,45.6"`
	Text          string  `query:"text" maxLength:"200" doc:"words in title and description; \"a phrase\", -without"`
	Sort          string  `query:"sort" enum:"newest,price,-price" default:"newest"`
	Limit         int     `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor        string  `query:"cursor" maxLength:"400" doc:"next_cursor of the page before"`
}

type searchOutput struct {
	Body struct {
		Items      []db.Summary `json:"items"`
		NextCursor string       `json:"next_cursor,omitempty" doc:"absent on the last page"`
	}
}

func (h *listings) search(ctx context.Context, in *searchInput) (*searchOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	f := db.Filter{
		Platform: in.Platform, Neighbourhood: in.Neighbourhood, Text: in.Text, Sort: db.Sort(in.Sort), Limit: in.Limit,
		Bedrooms: in.Bedrooms,
	}
	if in.Status != "any" {
		f.Status = in.Status
	}
	if in.MinPrice > 0 {
		f.MinRentCents = cents(in.MinPrice)
	}
	if in.MaxPrice > 0 {
		f.MaxRentCents = cents(in.MaxPrice)
	}
	if in.MinBedrooms > 0 {
		f.MinBedrooms = &in.MinBedrooms
	}
	var err error
	if f.Box, err = parseBox(in.BBox); err != nil {
		return nil, err
	}
	if f.After, err = parseCursor(in.Cursor, in.Sort); err != nil {
		return nil, err
	}
	page, next, err := h.store.Search(ctx, f)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := new(searchOutput)
	out.Body.Items = page
	if next != nil {
		out.Body.NextCursor = writeCursor(*next, in.Sort)
	}
	return out, nil
}

func cents(dollars float64) *int64 {
	c := int64(dollars*100 + 0.5)
	return &c
}

// parseBox reads west,south,east,north, the order of GeoJSON. "" is no box.
func parseBox(s string) (*db.Box, error) {
	if s == "" {
		return nil, nil
	}
	wrong := func(reason string) error { return invalidQuery("bbox", s, reason) }
	parts := strings.Split(s, ",")
	if len(parts) != 4 {
		return nil, wrong("expected west,south,east,north in degrees")
	}
	var v [4]float64
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		limit := 180.0
		if i%2 == 1 {
			limit = 90
		}
		if err != nil || !(f >= -limit && f <= limit) { // NaN is neither
			return nil, wrong("expected west,south,east,north in degrees")
		}
		v[i] = f
	}
	b := &db.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
	if b.West > b.East || b.South > b.North {
		return nil, wrong("expected west <= east and south <= north")
	}
	return b, nil
}

// cursor is a position with the order that it belongs to, so that it cannot be used with another.
type cursor struct {
	Sort string `json:"s"`
	db.Position
}

func writeCursor(p db.Position, sort string) string {
	doc, err := json.Marshal(cursor{sort, p})
	if err != nil {
		panic(err) // a time, a number and an ID
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

func parseCursor(s, sort string) (*db.Position, error) {
	if s == "" {
		return nil, nil
	}
	var c cursor
	doc, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(doc, &c)
	}
	if err != nil || c.Position.ID == uuid.Nil {
		return nil, invalidQuery("cursor", s, "expected a next_cursor of an earlier page")
	}
	if c.Sort != sort {
		return nil, invalidQuery("cursor", s, "belongs to sort="+c.Sort)
	}
	return &c.Position, nil
}

func invalidQuery(name string, value any, reason string) error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Message: reason, Location: "query." + name, Value: value,
	})
}

type getInput struct {
	ID string `path:"id" format:"uuid" doc:"the listing's ID"`
}

type getOutput struct {
	Body struct {
		ID uuid.UUID `json:"id"`
		db.Detail
		Workflow workflowLink `json:"workflow"`
	}
}

// A workflowLink says where an advert's workflow can be looked at.
type workflowLink struct {
	ID  string `json:"id"`
	URL string `json:"url" doc:"in the Temporal Web UI; gone there after the retention"`
}

func workflowLinks(o Options) func(listing.Ref) workflowLink {
	base := strings.TrimSuffix(o.TemporalUI, "/") + "/namespaces/" + url.PathEscape(o.Namespace) + "/workflows/"
	return func(ref listing.Ref) workflowLink {
		id := launch.ListingID(ref)
		return workflowLink{ID: id, URL: base + url.PathEscape(id)}
	}
}

func (h *listings) get(ctx context.Context, in *getInput) (*getOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, err := uuid.Parse(in.ID)
	if err != nil {
		return nil, problem(ctx, h.log, fault.Newf(fault.Invalid, "id: %q is not a UUID", in.ID))
	}
	d, err := h.store.Detail(ctx, id)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := new(getOutput)
	out.Body.ID, out.Body.Detail = id, d
	out.Body.Workflow = h.workflows(listing.Ref{Platform: d.Audit.Platform, PlatformID: d.Audit.PlatformID})
	return out, nil
}

type processInput struct {
	Platform   string `path:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	PlatformID string `path:"platform_id" maxLength:"100"`
	Body       struct {
		Stage string `json:"stage,omitempty" enum:"normalize,dedupe,import" default:"normalize" doc:"where to enter"`
	} `required:"false"`
}

type processOutput struct {
	Location string `header:"Location"`
	Body     struct {
		ListingID uuid.UUID    `json:"listing_id"`
		Workflow  workflowLink `json:"workflow"`
	}
}

// process is durably accepted when it answers; GET on Location shows what came of it.
func (h *listings) process(ctx context.Context, in *processInput) (*processOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ref := listing.Ref{Platform: in.Platform, PlatformID: in.PlatformID}
	d, err := h.store.Detail(ctx, ref.ID())
	if class, _ := fault.Of(err); class == fault.Gone {
		return nil, problem(ctx, h.log, fault.Newf(fault.Gone, "there is no advert %s", ref))
	}
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	stage := in.Body.Stage
	if stage == "" {
		stage = listing.StageNormalize
	}
	if stage != listing.StageNormalize && d.Details == nil {
		return nil, problem(ctx, h.log, fault.Newf(fault.Conflict,
			"stage: %s has no normalized form to enter at %q with; start it at %q", ref, stage, listing.StageNormalize))
	}
	summary := ref.String()
	if d.Summary != nil {
		summary = launch.AdvertSummary(d.Summary.Title, &d.Summary.RentCents)
	}
	err = h.launch.Listing(ctx, ref, launch.Arrival{Stage: stage, Revision: d.Audit.Revision, Force: true}, summary)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &processOutput{Location: "/listings/" + ref.ID().String()}
	out.Body.ListingID, out.Body.Workflow = ref.ID(), h.workflows(ref)
	return out, nil
}
