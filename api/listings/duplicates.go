package listings

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Duplicates serves /duplicates.
type Duplicates struct {
	Store  *dblistings.Listings
	Launch ListingStarter
	Prefer []string // platforms whose adverts are rather shown, the best first

	door *api.Door
}

// Register implements api.Part.
func (h Duplicates) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Read, api.Query("listings", "list-duplicates", "GET /duplicates",
		"List homes with several adverts, the last changed first",
		"Each with its adverts, why they are taken for one home, which one is shown, and what persons have said. "+
			"Pages are by position: pass next_cursor as cursor. Kind and reviewed=no are looked for in the next 10,000: a "+
			"page may have fewer than there are, or none, and a next_cursor all the same.")), h.list)
	api.Serve(d, api.Needs(access.Operate, api.Op("listings", "decide-duplicate", "POST /duplicates/{id}",
		"Decide whether an advert belongs to a home, or which advert is shown",
		"The ID is that of a home, or of a listing: then its home is meant. No rule overrules it. What is visible "+
			"changes at once; adverts that were never published go through the pipeline first, and those that were hidden for "+
			"what is new of them. It can be undone by the number in the answer. The last decision about the adverts, said "+
			"again by the same caller, is that decision.", 409)), h.decide)
	api.Serve(d, api.Needs(access.Operate, api.Op("listings", "undo-duplicate", "POST /duplicates/verdicts/{number}/undo",
		"Undo a decision", "409 while a later decision about the same adverts stands: that one is to be undone first.", 409)),
		h.undo)
}

type listDuplicatesInput struct {
	Kind     string `query:"kind" doc:"with such an advert: of another platform (duplicate), or of the same one (repost)"`
	Reviewed string `query:"reviewed" enum:"yes,no" doc:"whether a person has decided on it"`
	Listing  string `query:"listing" format:"uuid" doc:"the home of this listing, also one that it is alone in by a decision that can be undone"`
	Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor   string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	kinds []string
	after *db.Position
}

// homesOrder is the only order of homes, for its cursors.
const homesOrder = "homes"

// Resolve checks what a schema cannot express.
func (in *listDuplicatesInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, homesOrder, in.Filters()...)
	return wrong
}

func (in *listDuplicatesInput) Filters() []api.Filter {
	return []api.Filter{{Name: "kind", Values: &in.kinds, Known: api.Strung(listing.MatchKinds)}}
}

// Home is adverts that are taken for one home.
type Home struct {
	ID        uuid.UUID     `json:"id"`
	Shown     uuid.UUID     `json:"shown" doc:"the listing that is shown for the others"`
	Chosen    *uuid.UUID    `json:"chosen,omitempty" doc:"the listing that a person wants to be shown"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	Members   []HomeAdvert  `json:"members" doc:"the one that is shown first"`
	Verdicts  []HomeVerdict `json:"verdicts" doc:"what persons have said, the newest first, at most 20"`
}

// HomeAdvert is one advert of a home.
type HomeAdvert struct {
	ListingID   uuid.UUID        `json:"listing_id"`
	Platform    string           `json:"platform"`
	PlatformID  string           `json:"platform_id"`
	URL         string           `json:"url"`
	Title       string           `json:"title,omitempty"`
	RentCents   int64            `json:"rent_cents" doc:"CAD cents a month"`
	Status      string           `json:"status,omitempty" doc:"of the listing; absent when it was never published"`
	Advert      string           `json:"advert" doc:"status of the advert, as in the audit of the listing"`
	Kind        string           `json:"kind,omitempty" doc:"duplicate: of another platform; repost: of the same one; absent for the first"`
	Matched     *uuid.UUID       `json:"matched,omitempty" doc:"the listing that it was found to be the same as"`
	Reasons     []listing.Reason `json:"reasons" doc:"why"`
	Figures     listing.Figures  `json:"figures" doc:"what each rule measured"`
	Hidden      bool             `json:"hidden" doc:"the shown one stands for it"`
	Pinned      bool             `json:"pinned" doc:"a person put it there: no rule takes it away"`
	ReviewedBy  string           `json:"reviewed_by,omitempty"`
	PublishedAt *time.Time       `json:"published_at,omitempty"`
	JudgedAt    time.Time        `json:"judged_at"`
}

// HomeVerdict is what a person said of an advert and a home.
type HomeVerdict struct {
	Number    int64      `json:"number" doc:"for undo"`
	ListingID uuid.UUID  `json:"listing_id"`
	OtherID   *uuid.UUID `json:"other_id,omitempty" doc:"the listing that it was compared with"`
	Verdict   string     `json:"verdict" enum:"same,different,show"`
	Reviewer  string     `json:"reviewer"`
	At        time.Time  `json:"at"`
	UndoneAt  *time.Time `json:"undone_at,omitempty"`
	UndoneBy  string     `json:"undone_by,omitempty"`
}

// HomePage is the answer of GET /duplicates.
type HomePage api.Page[Home]

func (h Duplicates) list(ctx context.Context, in *listDuplicatesInput) (*api.Body[HomePage], error) {
	f := dblistings.HomeFilter{Kind: in.kinds, After: in.after, Limit: in.Limit}
	if in.Reviewed != "" {
		yes := in.Reviewed == "yes"
		f.Reviewed = &yes
	}
	if in.Listing != "" {
		id, err := uuid.Parse(in.Listing) // the schema has checked it
		if err != nil {
			return nil, huma.Error422UnprocessableEntity("listing: expected a UUID")
		}
		f.Listing = &id
	}
	homes, next, err := h.Store.Homes(ctx, f)
	return api.BodyOf(HomePage(api.PageOf(homes, showHome, api.CursorAt(next, homesOrder)))), err
}

func showHome(h dblistings.Home) Home {
	return Home{
		ID: h.ID, Shown: h.Shown, Chosen: h.Chosen, CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt,
		Members: api.Each(h.Members, func(m dblistings.HomeAdvert) HomeAdvert {
			return HomeAdvert{
				ListingID: m.ListingID, Platform: m.Platform, PlatformID: m.PlatformID, URL: m.URL, Title: m.Title,
				RentCents: m.RentCents, Status: m.Status, Advert: m.Raw, Kind: m.Kind, Matched: m.Matched, Reasons: m.Reasons,
				Figures: m.Figures, Hidden: m.Hidden, Pinned: m.Pinned, ReviewedBy: m.ReviewedBy, PublishedAt: m.PublishedAt,
				JudgedAt: m.JudgedAt,
			}
		}),
		Verdicts: api.Listed(h.Verdicts, func(v dblistings.HomeVerdict) HomeVerdict {
			return HomeVerdict{v.ID, v.ListingID, v.OtherID, v.Verdict, v.Reviewer, v.At, v.UndoneAt, v.UndoneBy}
		}),
	}
}

type decideDuplicateInput struct {
	ID   uuid.UUID `path:"id" doc:"of a home, or of a listing of it"`
	Body DuplicateDecision
}

// DuplicateDecision is the body of POST /duplicates/{id}.
type DuplicateDecision struct {
	Verdict   string    `json:"verdict" enum:"same,different,show" doc:"same: the listing's home and this one are one; different: the listing is not of this home; show: it is to be shown in place of the others"`
	ListingID uuid.UUID `json:"listing_id"`
}

// DuplicateDecided is the answer of POST /duplicates/{id}.
type DuplicateDecided struct {
	Number    int64     `json:"number" doc:"for undo"`
	Home      uuid.UUID `json:"home" doc:"that the listing belongs to now"`
	Restarted int       `json:"restarted" doc:"adverts that go through the pipeline, to be published"`
}

// decide starts the workflows after the decision is stored. One that cannot be started is resumed by the staleness
// check.
func (h Duplicates) decide(ctx context.Context, in *decideDuplicateInput) (*api.Body[DuplicateDecided], error) {
	got, err := h.Store.DecideHome(ctx, dblistings.HomeDecision{
		Home: in.ID, Verdict: in.Body.Verdict, Listing: in.Body.ListingID, By: api.CallerOf(ctx).Name, At: h.door.Now(),
	}, h.Prefer)
	if err != nil {
		return nil, err
	}
	out := DuplicateDecided{Number: got.Verdict, Home: got.Home}
	for _, r := range got.Restart {
		a := launch.Arrival{Stage: r.Stage, Revision: r.Revision, Force: true}
		if err := h.Launch.Listing(ctx, r.Ref, a, launch.AdvertSummary(r.Title, r.RentCents)); err == nil {
			out.Restarted++
		}
	}
	return api.BodyOf(out), nil
}

type undoDuplicateInput struct {
	Number int64 `path:"number" minimum:"1" doc:"of the decision"`
}

func (h Duplicates) undo(ctx context.Context, in *undoDuplicateInput) (*struct{}, error) {
	return nil, h.Store.UndoHomeVerdict(ctx, in.Number, api.CallerOf(ctx).Name, h.door.Now())
}
