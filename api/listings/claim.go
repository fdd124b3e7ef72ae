package listings

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
)

// registerClaims serves what says that a listing's owner has taken it over.
func (h Listings) registerClaims(d *api.Door) {
	op := func(id, verb, summary, description string) huma.Operation {
		return api.Needs(access.Operate, api.Op("listings", id, "POST /listings/{platform}/{platform_id}/"+verb, summary,
			description))
	}
	api.Serve(d, op("claim-listing", "claim", "Claim a listing for its owner",
		"It stays visible as claimed, whether its platform still offers it or not, until the claim is lifted. One that was "+
			"archived is shown as it was stored, and is not imported anew: …/process does that, and fetches images that were "+
			"deleted since. Claiming it twice is claiming it once."), h.claim)
	api.Serve(d, op("unclaim-listing", "unclaim", "Lift the claim of a listing",
		"It is active again. The next check of staleness archives it if its platform no longer offers it. One that was "+
			"claimed while another advert of its home was shown in its place is archived again."), h.unclaim)
}

type claimListingInput struct {
	Platform   string `path:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	PlatformID string `path:"platform_id" maxLength:"100"`
}

// ListingClaim is the answer of POST …/claim and …/unclaim.
type ListingClaim struct {
	ListingID uuid.UUID `json:"listing_id"`
	Claimed   bool      `json:"claimed"`
	Changed   bool      `json:"changed" doc:"false: it was so already"`
}

func (h Listings) claim(ctx context.Context, in *claimListingInput) (*api.Body[ListingClaim], error) {
	return h.setClaimed(ctx, in, true)
}

func (h Listings) unclaim(ctx context.Context, in *claimListingInput) (*api.Body[ListingClaim], error) {
	return h.setClaimed(ctx, in, false)
}

func (h Listings) setClaimed(
	ctx context.Context, in *claimListingInput, claimed bool,
) (*api.Body[ListingClaim], error) {
	ref := listing.Ref{Platform: in.Platform, PlatformID: in.PlatformID}
	changed, err := h.Store.Claim(ctx, ref, claimed, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(ListingClaim{ref.ID(), claimed, changed}), err
}
