package outreach

import (
	"context"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
)

// registerCauses registers what tells why messages are not sent, and whose are.
func (h Campaigns) registerCauses(d *api.Door) {
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("campaigns", "list-campaign-errors",
		"GET /campaigns/{id}/errors", "Count the failed and skipped messages of a campaign by their causes",
		"The first 10,000 of each of the two states are counted.")), h.causes)
	api.Serve(d, api.Needs(access.Read, api.Op("campaigns", "list-campaign-shares", "GET /campaigns/shares",
		"List the tenants whose campaigns run or are paused, with what each may send",
		"Those with the most waiting messages first, at most 200.")), h.shares)
}

// CampaignErrors is the answer of GET /campaigns/{id}/errors.
type CampaignErrors struct {
	Items []CampaignError `json:"items" doc:"failed ones first, then skipped ones; the most frequent first"`
}

// A CampaignError is a cause for which messages are not sent.
type CampaignError struct {
	State    MessageState `json:"state" enum:"failed,skipped"`
	Class    string       `json:"class" doc:"of the last error, or why they were skipped"`
	Code     int          `json:"code" doc:"of the last error, Meta's; 0: none"`
	Messages int64        `json:"messages" doc:"GET /campaigns/{id}/messages with state, class and code lists them"`
	Error    string       `json:"error,omitempty" doc:"of one of them"`
}

func (h Campaigns) causes(ctx context.Context, tenant string, in *campaignInput) (*api.Body[CampaignErrors], error) {
	if _, err := h.Store.Get(ctx, tenant, in.ID); err != nil {
		return nil, err
	}
	rows, err := h.Messages.Causes(ctx, tenant, in.ID)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(CampaignErrors{api.Each(rows, func(e dboutreach.MessageErrors) CampaignError {
		return CampaignError{MessageState(e.State), string(e.Class), e.Code, e.N, e.Error}
	})}), nil
}

// CampaignShares is the answer of GET /campaigns/shares.
type CampaignShares struct {
	Items []CampaignShare `json:"items"`
}

// A CampaignShare is what a tenant has of the sending now.
type CampaignShare struct {
	Tenant         string `json:"tenant"`
	Name           string `json:"name"`
	Tier           Tier   `json:"tier"`
	State          string `json:"state" enum:"active,stopped"`
	Running        int64  `json:"running" doc:"campaigns"`
	Paused         int64  `json:"paused" doc:"campaigns"`
	Waiting        int64  `json:"waiting" doc:"messages of those that run"`
	PerSecond      int    `json:"per_second" doc:"messages that it may send: the rate of its tier, whatever others send"`
	SentToday      int64  `json:"sent_today" doc:"messages of this day, UTC, that count against max_messages_day; 0 where there is no limit"`
	MaxMessagesDay *int64 `json:"max_messages_day,omitempty" doc:"absent: no limit"`
}

func (h Campaigns) shares(ctx context.Context, _ *struct{}) (*api.Body[CampaignShares], error) {
	if err := api.ReachesTenants(ctx); err != nil {
		return nil, err
	}
	rows, err := h.Messages.Shares(ctx, h.door.Now())
	if err != nil {
		return nil, err
	}
	return api.BodyOf(CampaignShares{api.Each(rows, func(s dboutreach.TenantShare) CampaignShare {
		return CampaignShare{
			Tenant: s.Tenant, Name: s.Name, Tier: Tier(s.Tier), State: string(s.State), Running: s.Campaigns,
			Paused: s.Paused, Waiting: s.Waiting, PerSecond: h.Rates.of(s.Tier), SentToday: s.Today,
			MaxMessagesDay: s.MaxPerDay,
		}
	})}), nil
}
