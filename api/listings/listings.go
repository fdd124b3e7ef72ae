// Package listings is the operations of the API on adverts, homes, platforms and saved searches.
package listings

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Listings serves /listings.
type Listings struct {
	Store  *dblistings.Listings
	Launch ListingStarter
	Audit  *db.AuditLog

	door *api.Door
}

// A ListingStarter starts the workflows of adverts: *launch.Launch.
type ListingStarter interface {
	// Listing starts the workflow of an advert, or joins the one that runs.
	Listing(ctx context.Context, ref listing.Ref, a launch.Arrival, summary string) error
}

// Register implements api.Part.
func (h Listings) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Read, api.Query("listings", "search-listings", "GET /listings", "Search listings",
		"Filters combine. Pages are by position, not by number: pass next_cursor as cursor. A text that "+
			"has no word to search for is a 400. Those by neighbourhood, price, bedrooms, bbox, status and time alone take no "+
			"turns.", 400)), h.search)
	api.Serve(d, api.Needs(access.Read, api.Op("listings", "get-listing", "GET /listings/{id}",
		"Get a listing and how its advert was processed",
		"Also for adverts that were rejected or are duplicates: audit gives the reasons. The ID is that of the listing. "+
			"Contact data is left out of the payloads, and for the role read everything that is not known to be free of "+
			"personal data.")), h.get)
	api.Serve(d, api.Needs(access.Operate, api.Op("listings", "process-listing",
		"POST /listings/{platform}/{platform_id}/process", "Take an advert through the pipeline again",
		"Starts at a stage with the stored advert, changed or not. While the advert is being processed, the request joins "+
			"its workflow.", 202, 409)), h.process)
	h.registerClaims(d)
	h.registerExport(d)
	h.registerRents(d)
	h.registerAdverts(d)
	h.registerMap(d)
}

// ListingQuery is the filters that a list and an export of listings have.
type ListingQuery struct {
	Platform      string    `query:"platform" example:"kijiji"`
	Status        string    `query:"status" default:"active" example:"active,claimed"`
	Neighbourhood string    `query:"neighbourhood" doc:"keys, as in the answer"`
	MinPrice      int64     `query:"min_price" minimum:"0" maximum:"100000000" doc:"whole CAD a month, inclusive"`
	MaxPrice      int64     `query:"max_price" minimum:"0" maximum:"100000000" doc:"whole CAD a month, inclusive"`
	Bedrooms      []int     `query:"bedrooms" maxItems:"10" doc:"any of these, separated by commas; 0 is a studio" example:"[2,3]"`
	MinBedrooms   int       `query:"min_bedrooms" minimum:"0" maximum:"50"`
	Rooms         []float64 `query:"rooms" maxItems:"10" doc:"any of these Quebec room counts, separated by commas; 4.5 is a 4½" example:"[4.5]"`
	MinArea       int       `query:"min_area" minimum:"0" maximum:"100000" doc:"square feet, inclusive; only listings that state their area"`
	MaxArea       int       `query:"max_area" minimum:"0" maximum:"100000" doc:"square feet, inclusive; only listings that state their area"`
	Pets          string    `query:"pets" enum:"yes,cats,dogs,no" doc:"animals that may move in; yes: some"`
	Furnished     []string  `query:"furnished" enum:"yes,semi,optional,no" doc:"any of these, separated by commas"`
	Parking       []string  `query:"parking" enum:"yes,included,available,extra,street,none,indoor,outdoor" doc:"any of these, separated by commas; yes: included, available or extra"`
	Lease         []string  `query:"lease" enum:"one-year,6-month,month-to-month" doc:"any of these, separated by commas"`
	AvailableBy   string    `query:"available_by" format:"date" doc:"the home is free on this day or before, and the advert says so"`
	HasImages     string    `query:"has_images" enum:"yes,no" doc:"whether at least one picture is stored"`
	UpdatedSince  time.Time `query:"updated_since" doc:"last change of the listing, inclusive, RFC 3339"`
	BBox          string    `query:"bbox" maxLength:"100" doc:"west,south,east,north in degrees" example:"-74,45,-73,46"`
	Text          string    `query:"text" maxLength:"200" doc:"words in title, description and address, in any form: all of them, at most 32 words or phrases; \"a phrase\", -without, begin*, intitle:word"`

	statuses, platforms, hoods []string

	box         *dblistings.Box
	availableBy time.Time
}

// check notes what a schema cannot express.
func (in *ListingQuery) check(ctx huma.Context, wrong *[]error) {
	var err error
	refuse := api.Refusing(wrong)
	in.box, err = parseBox(in.BBox)
	refuse("bbox", in.BBox, err)
	if !utf8.ValidString(in.Text) || strings.ContainsRune(in.Text, 0) {
		refuse("text", in.Text, errors.New("expected text in UTF-8 without NUL"))
	}
	refuse("text", in.Text, saved.WholeText(in.Text))
	if in.AvailableBy != "" {
		in.availableBy, err = time.Parse(time.DateOnly, in.AvailableBy)
		refuse("available_by", in.AvailableBy, err)
	}
	if in.MaxArea > 0 && in.MaxArea < in.MinArea {
		refuse("max_area", in.MaxArea, fmt.Errorf("expected at least min_area, %d", in.MinArea))
	}
	if in.MaxPrice > 0 && in.MaxPrice < in.MinPrice {
		refuse("max_price", in.MaxPrice, fmt.Errorf("expected at least min_price, %d", in.MinPrice))
	}
	checkBedrooms(refuse, in.Bedrooms)
	for _, n := range in.Rooms {
		if !(n > 0 && n <= 50) { // nor NaN
			refuse("rooms", fmt.Sprint(n), errors.New("expected numbers above 0, to 50"))
		}
	}
	*wrong = append(*wrong, api.AnyOf(ctx, in.Filters()...)...)
}

// checkBedrooms refuses numbers of bedrooms that no home has.
func checkBedrooms(refuse api.Refuse, numbers []int) {
	for _, n := range numbers {
		if n < 0 || n > 50 {
			refuse("bedrooms", n, errors.New("expected numbers from 0 to 50"))
		}
	}
}

// Filters are those that take several values.
func (in *ListingQuery) Filters() []api.Filter {
	return []api.Filter{
		{Name: "status", Values: &in.statuses, Known: api.OrAny(listing.Statuses)},
		{Name: "platform", Values: &in.platforms, Form: contract.PlatformName},
		{Name: "neighbourhood", Values: &in.hoods, Form: neighbourhoodKey},
	}
}

// neighbourhoodKey is the form of the key of a neighbourhood.
var neighbourhoodKey = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// filter is the query as the database has it.
func (in *ListingQuery) filter() dblistings.ListingFilter {
	f := dblistings.ListingFilter{
		Status: in.statuses, Platform: in.platforms, Neighbourhood: in.hoods, Text: in.Text, Sort: dblistings.Newest,
		Bedrooms:     in.Bedrooms,
		MinRentCents: cents(in.MinPrice), MaxRentCents: cents(in.MaxPrice), Box: in.box,
		Rooms: in.Rooms, AvailableBy: in.availableBy, UpdatedSince: in.UpdatedSince,
		Traits: listing.Traits{Pets: in.Pets, Furnished: in.Furnished, Parking: in.Parking, Lease: in.Lease}.Groups(),
	}
	if in.MinArea > 0 {
		f.MinAreaSqFt = &in.MinArea
	}
	if in.MaxArea > 0 {
		f.MaxAreaSqFt = &in.MaxArea
	}
	if in.HasImages != "" {
		f.HasImages = new(in.HasImages == "yes")
	}
	if in.MinBedrooms > 0 {
		f.MinBedrooms = &in.MinBedrooms
	}
	return f
}

type searchListingsInput struct {
	ListingQuery
	Sort   string `query:"sort" enum:"newest,-updated,price,-price,relevance" default:"newest" doc:"-updated: the last changed first; relevance: that of text, among the newest 1,000 listings that match"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	after *db.Position
}

// Resolve checks what a schema cannot express. Huma calls it and reports its errors with those of the schema.
func (in *searchListingsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.check(ctx, &wrong)
	refuse := api.Refusing(&wrong)
	var err error
	in.after, err = api.ParseCursor(in.Cursor, in.Sort)
	refuse("cursor", in.Cursor, err)
	if in.Sort == string(dblistings.Relevance) && in.Text == "" {
		refuse("sort", in.Sort, errors.New("relevance is that of text: give one, or another order"))
	}
	return wrong
}

// Weight is that of the search: one by relevance ranks a thousand listings, and one by what no index puts in order may
// look at all of them to find a page.
func (in *searchListingsInput) Weight() api.Weight {
	switch {
	case in.Sort == string(dblistings.Relevance):
		return api.Heaviest
	case in.Text != "", in.Platform != "", len(in.Rooms) > 0, in.MinArea+in.MaxArea > 0, in.Pets != "", in.AvailableBy != "",
		len(in.Furnished)+len(in.Parking)+len(in.Lease) > 0, in.HasImages != "":
		return api.Heavy
	}
	return api.Light
}

// ListingPage is the answer of GET /listings.
type ListingPage api.Page[ListingSummary]

func (h Listings) search(ctx context.Context, in *searchListingsInput) (*api.Body[ListingPage], error) {
	f := in.filter()
	f.Sort, f.Limit, f.After = dblistings.ListingSort(in.Sort), in.Limit, in.after
	rows, next, err := h.Store.Search(ctx, f)
	page := ListingPage(api.PageOf(rows, showListing, api.CursorAt(next, in.Sort)))
	return api.BodyOf(page), api.Asked("text", in.Text, err)
}

// cents is nil for 0 dollars: no limit.
func cents(dollars int64) *int64 {
	if dollars == 0 {
		return nil
	}
	c := dollars * 100
	return &c
}

type getListingInput struct {
	ID uuid.UUID `path:"id" doc:"the listing's ID"`
}

func (h Listings) get(ctx context.Context, in *getListingInput) (*api.Body[Advert], error) {
	d, err := h.Store.Detail(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	ref := listing.Ref{Platform: d.Audit.Platform, PlatformID: d.Audit.PlatformID}
	link := h.door.Workflow(ref.WorkflowID())
	return api.BodyOf(showAdvert(in.ID, d, link, h.door.Letter, api.CallerOf(ctx).Role)), nil
}

type processListingInput struct {
	Platform   string        `path:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	PlatformID string        `path:"platform_id" maxLength:"100"`
	Body       *ProcessStart // may be left out
}

// A Stage is one of listing.Entries, the stages that an advert can enter the pipeline at.
type Stage string

// Schema implements huma.SchemaProvider.
func (Stage) Schema(huma.Registry) *huma.Schema { return api.EnumOf(listing.Entries) }

// ProcessStart is the body of POST …/process.
type ProcessStart struct {
	Stage Stage `json:"stage,omitempty" default:"normalize" doc:"where to enter the pipeline"`
}

// ProcessStarted is the answer of POST …/process.
type ProcessStarted struct {
	ListingID uuid.UUID        `json:"listing_id"`
	Workflow  api.WorkflowLink `json:"workflow"`
}

type processListingOutput struct {
	Location string `header:"Location" doc:"where to see the outcome"`
	Body     ProcessStarted
}

// process is durably accepted when it answers; GET on Location shows the outcome.
func (h Listings) process(ctx context.Context, in *processListingInput) (*processListingOutput, error) {
	ref := listing.Ref{Platform: in.Platform, PlatformID: in.PlatformID}
	advert, err := h.Store.Advert(ctx, ref)
	if err != nil {
		return nil, err
	}
	stage := listing.StageNormalize
	if in.Body != nil && in.Body.Stage != "" {
		stage = string(in.Body.Stage)
	}
	switch {
	case stage == listing.StageNormalize && advert.Staged:
		return nil, fault.Newf(fault.Conflict,
			"stage: %s came normalized by another team; start it at %q", ref, listing.StageDedupe)
	case stage != listing.StageNormalize && advert.NormalizedRevision < advert.Revision:
		return nil, fault.Newf(fault.Conflict,
			"stage: the newest revision of %s has no normalized form to enter at %q with; start it at %q",
			ref, stage, listing.StageNormalize)
	}
	// The start of a workflow has no transaction to record it in. It is recorded first, so that none happens without.
	err = h.Audit.Record(ctx, db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: "listing.process_wanted", Subject: "listing/" + ref.String(),
		Detail: map[string]any{"stage": stage, "revision": advert.Revision},
	})
	if err != nil {
		return nil, err
	}
	summary := ref.String()
	if advert.Title != "" {
		summary = launch.AdvertSummary(advert.Title, advert.RentCents)
	}
	err = h.Launch.Listing(ctx, ref, launch.Arrival{Stage: stage, Revision: advert.Revision, Force: true}, summary)
	if err != nil {
		return nil, err
	}
	return &processListingOutput{
		"/listings/" + ref.ID().String(), ProcessStarted{ref.ID(), h.door.Workflow(ref.WorkflowID())},
	}, nil
}

// parseBox reads west,south,east,north, the order of GeoJSON. "" is no box. Its error says what was expected.
func parseBox(s string) (*dblistings.Box, error) {
	if s == "" {
		return nil, nil
	}
	wrong := errors.New("expected west,south,east,north in degrees")
	parts := strings.Split(s, ",")
	if len(parts) != 4 {
		return nil, wrong
	}
	var v [4]float64
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		limit := 180.0
		if i%2 == 1 {
			limit = 90
		}
		if err != nil || !(f >= -limit && f <= limit) { // NaN is neither
			return nil, wrong
		}
		v[i] = f
	}
	b := &dblistings.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
	if b.West > b.East || b.South > b.North {
		return nil, errors.New("expected west <= east and south <= north")
	}
	return b, nil
}
