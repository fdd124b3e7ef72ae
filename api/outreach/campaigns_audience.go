package outreach

import (
	"context"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/access"
)

// registerAudience registers what tells how many a campaign would be sent to.
func (h Campaigns) registerAudience(d *api.Door) {
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("campaigns", "count-campaign-audience",
		"GET /campaigns/{id}/audience", "Count whom a campaign would be sent to if it started now",
		"A list or a segment that was deleted since the campaign was made is an error.")), h.audience)
}

// CampaignAudience is the answer of GET /campaigns/{id}/audience.
type CampaignAudience struct {
	Contacts     int64 `json:"contacts" doc:"of the audience, at most 100,000"`
	OptedOut     int64 `json:"opted_out" doc:"of contacts: nothing is sent to them"`
	WithoutPhone int64 `json:"without_phone" doc:"of contacts that have not opted out: nothing can be sent to them"`
	ToSend       int64 `json:"to_send" doc:"the others; those without a field that the template needs fail"`
	More         bool  `json:"more" doc:"there may be more than these"`
}

func (h Campaigns) audience(
	ctx context.Context, tenant string, in *campaignInput,
) (*api.Body[CampaignAudience], error) {
	a, err := h.Store.Audience(ctx, tenant, in.ID, api.AudienceMost)
	return api.BodyOf(CampaignAudience{a.Contacts, a.OptedOut, a.WithoutPhone, a.ToSend(), a.More}), err
}
