package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// listings serves /listings.
type listings struct {
	store     *db.Listings
	launch    Starter
	log       *slog.Logger
	workflows func(listing.Ref) WorkflowLink
}

func (h *listings) register(a huma.API) {
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "search-listings", Method: http.MethodGet, Path: "/listings", Tags: []string{"listings"},
		Summary: "Search listings", Errors: []int{422, 503}, RejectUnknownQueryParameters: true, // a misspelt filter
		Description: "Filters combine. Pages are by position, not by number: pass next_cursor as cursor.",
	}), h.search)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-listing", Method: http.MethodGet, Path: "/listings/{id}", Tags: []string{"listings"},
		Summary: "Get a listing and its way", Errors: []int{404, 422, 503},
		Description: "Also for adverts that were rejected or are duplicates: audit says why. The ID is the listing's.",
	}), h.get)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "process-listing", Method: http.MethodPost, Path: "/listings/{platform}/{platform_id}/process",
		Tags: []string{"listings"}, Summary: "Take an advert through the pipeline again",
		DefaultStatus: http.StatusAccepted, Errors: []int{404, 409, 422, 503},
		Description: "Starts at a stage with what is stored, changed or not. While the advert is being processed the " +
			"request joins its workflow.",
	}), h.process)
}

type searchInput struct {
	Platform      string `query:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Status        string `query:"status" enum:"active,archived,claimed,any" default:"active"`
	Neighbourhood string `query:"neighbourhood" pattern:"^[a-z0-9-]{1,100}$" doc:"key, as in the answer"`
	MinPrice      int64  `query:"min_price" minimum:"0" maximum:"100000000" doc:"whole CAD a month, inclusive"`
	MaxPrice      int64  `query:"max_price" minimum:"0" maximum:"100000000" doc:"whole CAD a month, inclusive"`
	Bedrooms      []int  `query:"bedrooms" maxItems:"10" doc:"any of these, by commas; 0 is a studio" example:"[2,3]"`
	MinBedrooms   int    `query:"min_bedrooms" minimum:"0" maximum:"50"`
	BBox          string `query:"bbox" maxLength:"100" doc:"west,south,east,north in degrees" example:"-74,45,-73,46"`
	Text          string `query:"text" maxLength:"200" doc:"words in title and description; \"a phrase\", -without"`
	Sort          string `query:"sort" enum:"newest,price,-price" default:"newest"`
	Limit         int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor        string `query:"cursor" maxLength:"400" doc:"next_cursor of the page before, for the same query"`

	box   *db.Box
	after *db.Position
}

// Resolve checks what a schema cannot say. Huma calls it and reports its errors with those of the schema.
func (in *searchInput) Resolve(ctx huma.Context) (wrong []error) {
	refuse := func(name string, value any, err error) {
		if err != nil {
			wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "query." + name, Value: value})
		}
	}
	var err error
	in.box, err = parseBox(in.BBox)
	refuse("bbox", in.BBox, err)
	in.after, err = parseCursor(in.Cursor, in.Sort)
	refuse("cursor", in.Cursor, err)
	if !utf8.ValidString(in.Text) || strings.ContainsRune(in.Text, 0) {
		refuse("text", in.Text, errors.New("expected text in UTF-8 without NUL"))
	}
	if in.MaxPrice > 0 && in.MaxPrice < in.MinPrice {
		refuse("max_price", in.MaxPrice, fmt.Errorf("expected at least min_price, %d", in.MinPrice))
	}
	for _, n := range in.Bedrooms {
		if n < 0 || n > 50 {
			refuse("bedrooms", n, errors.New("expected numbers from 0 to 50"))
		}
	}
	address := ctx.URL()
	for name, values := range address.Query() {
		if len(values) > 1 { // or all but the first would be ignored
			refuse(name, values, errors.New("is given more than once; bedrooms takes several, separated by commas"))
		}
	}
	return wrong
}

// ListingPage is the answer of GET /listings.
type ListingPage struct {
	Items      []db.ListingSummary `json:"items"`
	NextCursor string              `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

type searchOutput struct{ Body ListingPage }

func (h *listings) search(ctx context.Context, in *searchInput) (*searchOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	f := db.ListingFilter{
		Platform: in.Platform, Neighbourhood: in.Neighbourhood, Text: in.Text, Sort: db.ListingSort(in.Sort), Limit: in.Limit,
		Bedrooms: in.Bedrooms, MinRentCents: cents(in.MinPrice), MaxRentCents: cents(in.MaxPrice), Box: in.box,
		After: in.after,
	}
	if in.Status != "any" {
		f.Status = in.Status
	}
	if in.MinBedrooms > 0 {
		f.MinBedrooms = &in.MinBedrooms
	}
	page, next, err := h.store.Search(ctx, f)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &searchOutput{ListingPage{Items: page}}
	if next != nil {
		out.Body.NextCursor = writeCursor(*next, in.Sort)
	}
	return out, nil
}

// cents is nil for 0 dollars: no limit.
func cents(dollars int64) *int64 {
	if dollars == 0 {
		return nil
	}
	c := dollars * 100
	return &c
}

type getInput struct {
	ID string `path:"id" format:"uuid" doc:"the listing's ID"`
}

// Advert is the answer of GET /listings/{id}.
type Advert struct {
	ID uuid.UUID `json:"id"`
	db.ListingDetail
	Workflow WorkflowLink `json:"workflow"`
}

type getOutput struct{ Body Advert }

// A WorkflowLink says where a workflow can be looked at.
type WorkflowLink struct {
	ID  string `json:"id"`
	URL string `json:"url" doc:"in the Temporal Web UI; gone there after the retention"`
}

func workflowLinks(o Options) func(listing.Ref) WorkflowLink {
	link := links(o)
	return func(ref listing.Ref) WorkflowLink { return link(ref.WorkflowID()) }
}

// links says where the newest run of a workflow can be looked at.
func links(o Options) func(workflowID string) WorkflowLink {
	address := workflowAddress(o)
	return func(id string) WorkflowLink { return WorkflowLink{ID: id, URL: address(id, "")} }
}

// workflowAddress says where the Web UI shows a run of a workflow; "" is the newest run.
func workflowAddress(o Options) func(id, run string) string {
	base := strings.TrimSuffix(o.TemporalUI, "/") + "/namespaces/" + url.PathEscape(o.Namespace) + "/workflows/"
	return func(id, run string) string {
		if run == "" {
			return base + url.PathEscape(id)
		}
		return base + url.PathEscape(id) + "/" + url.PathEscape(run)
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
	for i, r := range d.Audit.Revisions {
		d.Audit.Revisions[i].Payload = withoutContact(r.Payload)
	}
	ref := listing.Ref{Platform: d.Audit.Platform, PlatformID: d.Audit.PlatformID}
	return &getOutput{Advert{ID: id, ListingDetail: d, Workflow: h.workflows(ref)}}, nil
}

type processInput struct {
	Platform   string        `path:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	PlatformID string        `path:"platform_id" maxLength:"100"`
	Body       *ProcessStart // may be left out
}

// ProcessStart is what POST …/process takes.
type ProcessStart struct {
	Stage string `json:"stage,omitempty" enum:"normalize,dedupe,import" default:"normalize" doc:"where to enter"`
}

// ProcessStarted is the answer of POST …/process.
type ProcessStarted struct {
	ListingID uuid.UUID    `json:"listing_id"`
	Workflow  WorkflowLink `json:"workflow"`
}

type processOutput struct {
	Location string `header:"Location" doc:"where to see what came of it"`
	Body     ProcessStarted
}

// process is durably accepted when it answers; GET on Location shows what came of it.
func (h *listings) process(ctx context.Context, in *processInput) (*processOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ref := listing.Ref{Platform: in.Platform, PlatformID: in.PlatformID}
	advert, err := h.store.Advert(ctx, ref)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	stage := listing.StageNormalize
	if in.Body != nil && in.Body.Stage != "" {
		stage = in.Body.Stage
	}
	switch {
	case stage == listing.StageNormalize && advert.Staged:
		return nil, problem(ctx, h.log, fault.Newf(fault.Conflict,
			"stage: %s came normalized by another team; start it at %q", ref, listing.StageDedupe))
	case stage != listing.StageNormalize && advert.NormalizedRevision < advert.Revision:
		return nil, problem(ctx, h.log, fault.Newf(fault.Conflict,
			"stage: the newest revision of %s has no normalized form to enter at %q with; start it at %q",
			ref, stage, listing.StageNormalize))
	}
	summary := ref.String()
	if advert.Title != "" {
		summary = launch.AdvertSummary(advert.Title, advert.RentCents)
	}
	err = h.launch.Listing(ctx, ref, launch.Arrival{Stage: stage, Revision: advert.Revision, Force: true}, summary)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &processOutput{"/listings/" + ref.ID().String(), ProcessStarted{ref.ID(), h.workflows(ref)}}, nil
}
