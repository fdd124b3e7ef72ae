package listings

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Forget serves DELETE /listings/{platform}/{platform_id}.
type Forget struct {
	Store  *dblistings.Forgets
	Launch Forgetter

	door *api.Door
}

// A Forgetter starts the workflow that deletes an advert: *launch.Launch.
type Forgetter interface {
	// Forget starts the workflow, in place of one that runs.
	Forget(ctx context.Context, ref listing.Ref) (workflowID string, err error)
}

// Register implements api.Part.
func (h Forget) Register(d *api.Door) {
	h.door = d
	forget := api.Needs(access.Admin, api.Op("listings", "forget-listing", "DELETE /listings/{platform}/{platform_id}",
		"Delete an advert and all that was made of it",
		"Payloads, revisions, listing, history, images, dead letters, waiting messages and workflow histories are deleted "+
			"at once, files of the blob store that no other advert shows after fifteen minutes. Unless it is blocked, the "+
			"advert comes back when it is scraped again. The audit names it by its ID only.", 202))
	forget.Errors = []int{401, 403, 429, 503} // an advert that is not there is no error
	api.Serve(d, forget, h.forget)
}

type forgetInput struct {
	Platform   string `path:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	PlatformID string `path:"platform_id" maxLength:"100"`
	Block      bool   `query:"block" doc:"the advert may not come back: its messages are acknowledged and not stored"`
	DryRun     bool   `query:"dry_run" doc:"only count what is stored"`
}

// ForgetHoldings counts what is stored of an advert. Dead letters, messages and files are not counted before.
type ForgetHoldings struct {
	Adverts   int  `json:"adverts"`
	Revisions int  `json:"revisions"`
	Listings  int  `json:"listings"`
	Images    int  `json:"images"`
	Events    int  `json:"events" doc:"of the price and status history"`
	Blocked   bool `json:"blocked" doc:"the advert may not come back"`

	BlockedAt *time.Time `json:"blocked_at,omitempty" doc:"absent where this request is what blocks it"`
}

// ForgetStarted is the answer of DELETE /listings/{platform}/{platform_id}.
type ForgetStarted struct {
	ListingID uuid.UUID         `json:"listing_id"`
	Stored    ForgetHoldings    `json:"stored" doc:"before anything is deleted"`
	Workflow  *api.WorkflowLink `json:"workflow,omitempty" doc:"its result has what was deleted; not set in a dry run"`
}

// forget is durably accepted when it answers, and may be repeated.
func (h Forget) forget(ctx context.Context, in *forgetInput) (*api.Body[ForgetStarted], error) {
	ref := listing.Ref{Platform: in.Platform, PlatformID: in.PlatformID}
	have, err := h.Store.Holdings(ctx, ref)
	if err != nil {
		return nil, err
	}
	out := ForgetStarted{ListingID: ref.ID(), Stored: showHoldings(have)}
	if in.DryRun {
		return api.BodyOf(out), nil
	}
	if err := h.Store.RequestForget(ctx, ref, in.Block, api.CallerOf(ctx).Name, h.door.Now()); err != nil {
		return nil, err
	}
	id, err := h.Launch.Forget(ctx, ref)
	if err != nil {
		return nil, err
	}
	out.Stored.Blocked = out.Stored.Blocked || in.Block
	out.Workflow = new(h.door.Workflow(id))
	return api.BodyOf(out), nil
}

func showHoldings(f retention.Forgotten) ForgetHoldings {
	return ForgetHoldings{
		Adverts: f.Adverts, Revisions: f.Revisions, Listings: f.Listings, Images: f.Images, Events: f.Events,
		Blocked: f.Blocked, BlockedAt: f.BlockedAt,
	}
}
