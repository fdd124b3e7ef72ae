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
	"github.com/mtlrent/conveyor/domain/saved"
)

// told registers the operations on what saved searches have found and told.
func (h Searches) told(d *api.Door) {
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("searches", "list-search-deliveries",
		"GET /searches/{search}/deliveries", "List the deliveries of a saved search",
		"Each is a message to one of its targets, those that are due last first. One that has failed is a dead letter of the "+
			"queue notify, and can be replayed.")), h.deliveries)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("searches", "list-search-matches",
		"GET /searches/{search}/matches", "List what a saved search has found",
		"One item for each event, the newest first, sent or not.")), h.matches)
}

// The orders of these lists, for their cursors.
const (
	deliveriesOrder = "deliveries"
	matchesOrder    = "matches"
)

// A SearchDelivery is a message to a target of a saved search.
type SearchDelivery struct {
	ID         uuid.UUID        `json:"id" doc:"that webhooks have in Conveyor-Delivery"`
	Target     SearchTarget     `json:"target"`
	State      string           `json:"state"`
	DueAt      time.Time        `json:"due_at"`
	Tries      int              `json:"tries" doc:"that have failed"`
	Reason     string           `json:"reason,omitempty" doc:"of the last failure, or why it was dropped"`
	Items      int              `json:"items" doc:"events in it"`
	StartedAt  *time.Time       `json:"started_at,omitempty" doc:"when it was begun last; in the future, when it is tried again"`
	FinishedAt *time.Time       `json:"finished_at,omitempty"`
	Workflow   api.WorkflowLink `json:"workflow"`
}

// TransformSchema implements huma.SchemaTransformer.
func (SearchDelivery) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "state", dblistings.DeliveryStates)
}

// SearchDeliveries is the answer of GET /searches/{search}/deliveries.
type SearchDeliveries api.Page[SearchDelivery]

type searchDeliveriesInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	State  string    `query:"state" example:"failed,dropped"`
	Cursor string    `query:"cursor" maxLength:"1000"`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"50"`

	states []string
	after  *db.Position
}

// Resolve reads the cursor and the states.
func (in *searchDeliveriesInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, deliveriesOrder, in.Filters()...)
	return wrong
}

func (in *searchDeliveriesInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: dblistings.DeliveryStates}}
}

func (h Searches) deliveries(
	ctx context.Context, tenant string, in *searchDeliveriesInput,
) (*api.Body[SearchDeliveries], error) {
	found, next, err := h.Store.Deliveries(ctx, tenant, in.Search, in.states, in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := api.PageOf(found, func(d dblistings.SavedDelivery) SearchDelivery {
		return SearchDelivery{
			ID: d.ID, Target: SearchTarget{ID: d.Target, Kind: string(d.Kind), Label: d.Label, State: d.Stands},
			State: d.State, DueAt: d.DueAt, Tries: d.Tries, Reason: d.Reason, Items: d.Items,
			StartedAt: d.StartedAt, FinishedAt: d.FinishedAt,
			Workflow: h.door.WorkflowFor(ctx, saved.WorkflowID(d.ID)),
		}
	}, api.CursorAt(next, deliveriesOrder))
	return api.BodyOf(SearchDeliveries(out)), nil
}

// A SearchMatch is a piece of news that a saved search has found.
type SearchMatch struct {
	FoundHome

	Event   int64 `json:"event" doc:"grows with time"`
	Offered bool  `json:"offered" doc:"it is not archived by now"`
}

// SearchMatches is the answer of GET /searches/{search}/matches.
type SearchMatches api.Page[SearchMatch]

type searchMatchesInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	Cursor string    `query:"cursor" maxLength:"1000"`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"50"`

	before int64
}

// Resolve reads the cursor.
func (in *searchMatchesInput) Resolve(huma.Context) []error {
	var err error
	in.before, err = api.ParseIDCursor(in.Cursor, matchesOrder)
	return api.WrongCursor(in.Cursor, err)
}

func (h Searches) matches(
	ctx context.Context, tenant string, in *searchMatchesInput,
) (*api.Body[SearchMatches], error) {
	found, next, err := h.Store.Matches(ctx, tenant, in.Search, db.Stated(in.before), in.Limit)
	if err != nil {
		return nil, err
	}
	out := api.PageOf(found, func(i saved.Item) SearchMatch { return SearchMatch{showFound(i), i.Events[0], i.Offered} },
		api.CursorOf(next, matchesOrder))
	return api.BodyOf(SearchMatches(out)), nil
}
